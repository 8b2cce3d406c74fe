"""The traffic lights: was the queue taken for what it is? (Fallback §7.5.)"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from . import names
from .look import TEXT, AxesArray, given_axes, grid_of_axes, palette, styled
from .sweep import chosen
from .tables import Source, Table, beside, read

#: Disciplines with a queue of its own for L4S.
_L4S = ("dualpi2", "curvy-red")
#: Round trips after which a Classic queue is known, as in figure 8 (Fallback §7.2).
_ENOUGH_ROUNDS = 50
#: The share of short flows that is a significant minority, and fewer than an accident.
_MINORITY, _LEAST_WRONG = 0.1, 2
#: A sign for each verdict, so that squares differ in more than colour.
SIGNS = {"right": "$\\checkmark$", "rest": "o", "amber": "^", "red": "x", "unknown": "_"}
MEANING = {
    "right": "right",
    "rest": "right, at rest: no mark was seen",
    "amber": "amber: Classic said of an L4S queue",
    "red": "red: L4S said of a Classic queue",
    "unknown": "no detector",
}


@dataclass(frozen=True)
class Heard:
    """The verdict of the detector of one flow."""

    long: bool
    start_s: float
    ended: bool
    score: float
    rounds: float

    def counts(self, since_s: float) -> bool:
        """Whether it is evidence: it was scored; a short one also ended and met one queue."""
        return self.rounds > 0 and (self.long or (self.ended and self.start_s >= since_s))

    def is_wrong(self, l4s: bool) -> bool:
        """Whether the last score is; a short flow is excused until it had the time to find out."""
        if 0 < self.score < 1:
            return self.long
        if l4s:
            return self.score >= 1
        return self.score <= 0 and (self.long or self.rounds >= _ENOUGH_ROUNDS)


def verdict(heard: list[Heard], *, l4s: bool, since_s: float) -> str:
    """``right``, ``rest``, ``amber``, ``red``, or ``unknown`` without a detector."""
    if not heard:
        return "unknown"
    evidence = [flow for flow in heard if flow.counts(since_s)]
    if not evidence:
        return "rest"
    short = [flow for flow in evidence if not flow.long]
    wrong = sum(flow.is_wrong(l4s) for flow in short)
    failed = any(flow.is_wrong(l4s) for flow in evidence if flow.long)
    if failed or (wrong >= _LEAST_WRONG and wrong > _MINORITY * len(short)):
        return "amber" if l4s else "red"
    return "right"


@styled
def lights(
    runs: Source,
    *,
    flows: Source | None = None,
    change_s: float = 10.0,
    where: Mapping[str, str] | None = None,
    axes: Any = None,
) -> AxesArray:
    """A square per run: green right, amber Classic said of an L4S queue, red the reverse.

    A row per mix of traffic, a column per link rate and RTT, an Axes per schedule of disciplines.
    A square is wrong if the last score of a long flow is, or those of a significant minority of
    the short ones that had a fair chance. Hollow squares are right without evidence.

    Fallback §7.5. Reads ``set_schedule``, ``set_traffic``, ``set_link.rate`` and
    ``set_group.*.rtt`` of the runs; ``run``, ``size``, ``start_s``, ``end_s``, ``classic_ecn`` and
    ``classic_ecn_rounds`` of the flows.

    Args:
        runs: the table of runs, or a result folder.
        flows: the table of flows; that of the same folder unless given.
        change_s: when a schedule of two disciplines changes: short flows that began before it
            are no evidence.
        where: values of keys of the sweep.
        axes: as many Axes as there are schedules, instead of new ones.

    Returns:
        An array of Axes.
    """
    table = chosen(read(runs, "runs"), where)
    table.needs("set_schedule", "set_traffic", "set_link.rate", "set_group.*.rtt")
    other = beside(runs, flows, "flows")
    if other is None:
        raise ValueError("the lights need the table of flows: flows=…")
    heard = _heard(other)
    schedules = list(dict.fromkeys(table.texts("set_schedule")))
    across = 2 if len(schedules) > 1 else 1
    shape = (-(-len(schedules) // across), across)
    if axes is None:
        axes = grid_of_axes(*shape, (TEXT if across > 1 else 3.6, 0.6 + 2.9 * shape[0]))
    array = given_axes(axes, *shape)
    seen: set[str] = set()
    every: list[Axes] = list(array.ravel())
    for ax, schedule in zip(every, schedules, strict=False):
        seen |= _matrix(ax, chosen(table, {"schedule": schedule}), heard, schedule, change_s)
    for ax in every[len(schedules) :]:
        ax.set_visible(False)
    _legend(array, [name for name in MEANING if name in seen])
    return array


def _heard(flows: Table) -> dict[int, list[Heard]]:
    """The verdict of every detector, by run."""
    flows.needs("run", "size", "start_s", "end_s", "classic_ecn", "classic_ecn_rounds")
    out: dict[int, list[Heard]] = {}
    columns = ("run", "size", "start_s", "end_s", "classic_ecn", "classic_ecn_rounds")
    rows = zip(*(flows.floats(column) for column in columns), strict=True)
    for run, size, start, end, score, rounds in rows:
        if not np.isnan(score):
            one = Heard(bool(np.isnan(size)), start, not np.isnan(end), score, rounds)
            out.setdefault(int(run), []).append(one)
    return out


def disciplines(schedule: str) -> list[str]:
    """``dualpi2-codel`` as its disciplines, in order."""
    known = "|".join(sorted(names.AQMS, key=len, reverse=True))
    return re.findall(rf"(?:^|(?<=[-_ ]))(?:{known})(?=$|[-_ ])", schedule)


def _matrix(
    ax: Axes, runs: Table, heard: Mapping[int, list[Heard]], schedule: str, change_s: float
) -> set[str]:
    mixes = list(dict.fromkeys(runs.texts("set_traffic")))
    rates, rtts = (names.ordered(runs.texts(f"set_{key}")) for key in ("link.rate", "group.*.rtt"))
    aqms = disciplines(schedule)
    l4s, since = bool(aqms) and aqms[-1] in _L4S, change_s if len(aqms) > 1 else 0.0
    places: dict[str, list[tuple[int, int]]] = {}
    columns = ("set_traffic", "set_link.rate", "set_group.*.rtt")
    for number, mix, rate, rtt in zip(
        runs.floats("run"), *(runs.texts(column) for column in columns), strict=True
    ):
        said = verdict(heard.get(int(number), []), l4s=l4s, since_s=since)
        at = (rates.index(rate) * len(rtts) + rtts.index(rtt), mixes.index(mix))
        places.setdefault(said, []).append(at)
    for said, own in places.items():
        _squares(ax, said, own)
    counts = Counter({said: len(own) for said, own in places.items()})
    named = [names.AQMS[aqm] for aqm in aqms] or [schedule]
    changed = f" from {names.digits(change_s)} s" if len(aqms) > 1 else ""
    good = counts["right"] + counts["rest"]
    ax.set_title(
        f"{', '.join(named)}{changed}: {good} right, {counts['amber']} amber, {counts['red']} red",
        pad=17,
        fontsize=7,
    )
    _ticks(ax, mixes, rates, rtts)
    return set(places)


def _squares(ax: Axes, said: str, places: list[tuple[int, int]]) -> None:
    fill, edge, sign = palette().lights[said]
    squares = [Rectangle((x - 0.44, y - 0.44), 0.88, 0.88) for x, y in places]
    ax.add_collection(PatchCollection(squares, facecolor=fill, edgecolor=edge, lw=0.5, gid=said))
    x, y = zip(*places, strict=True)
    hollow = said == "rest"
    ax.plot(
        x,
        y,
        linestyle="",
        marker=SIGNS[said],
        markersize=2.4,
        color=sign,
        markerfacecolor="none" if hollow else sign,
        markeredgewidth=0.5 if said != "right" else 0.1,
        gid=f"sign {said}",
    )


def _ticks(ax: Axes, mixes: list[str], rates: list[str], rtts: list[str]) -> None:
    ax.set_xlim(-0.6, len(rates) * len(rtts) - 0.4)
    ax.set_ylim(len(mixes) - 0.4, -0.6)
    ax.set_yticks(range(len(mixes)), mixes, fontsize=6)
    labels = [names.split(rtt)[0] for _ in rates for rtt in rtts]
    ax.set_xticks(range(len(labels)), labels, fontsize=6, rotation=90 if len(rtts) > 1 else 0)
    ax.set_xlabel("RTT (ms)")
    ax.set_ylabel("flows, Prague : ECN-Cubic")
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    top = ax.secondary_xaxis("top")
    middles = [i * len(rtts) + (len(rtts) - 1) / 2 for i in range(len(rates))]
    top.set_xticks(middles, [names.said(rate) for rate in rates], fontsize=6, weight="bold")
    top.tick_params(length=0, pad=1)
    top.spines["top"].set_visible(False)
    for i in range(1, len(rates)):
        ax.axvline(i * len(rtts) - 0.5, color=palette().soft, linewidth=0.4)
    kinds = [mix.split(":")[0] for mix in mixes]
    for i in range(1, len(mixes)):
        if kinds[i] != kinds[i - 1]:
            ax.axhline(i - 0.5, color=palette().soft, linewidth=0.4)


def _legend(array: AxesArray, seen: list[str]) -> None:
    figure = array[0, 0].get_figure(root=True)
    if figure is None:
        return
    handles = [
        Line2D(
            [], [], ls="", marker="s", ms=5, mfc=palette().lights[s][0], mec=palette().lights[s][1]
        )
        for s in seen
    ]
    figure.legend(handles, [MEANING[s] for s in seen], loc="outside lower center", ncols=len(seen))
