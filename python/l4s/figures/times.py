"""A run over time: rates, windows, delays, and verdicts of detectors of Classic ECN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from . import names
from .colours import DASHES, HATCHES
from .look import (
    TEXT,
    AxesArray,
    given_axes,
    grid_of_axes,
    legend_above,
    palette,
    styled,
    title_above,
)
from .sweep import kind_of, lay_out, sender_of, varied
from .tables import Floats, Source, Table, beside, read


@dataclass(frozen=True)
class Quantity:
    """A column over time: of flows, queues, groups or the link, and the lines to read it by."""

    label: str
    column: str
    scope: str
    scale: float = 1.0
    levels: tuple[float, ...] = ()
    stacked: bool = False
    log: bool = False


QUANTITIES: Mapping[str, Quantity] = {
    "rate": Quantity("rate (Mb/s)", "rate_bps", "flow", 1e-6),
    "goodput": Quantity("goodput (Mb/s)", "goodput_bps", "flow", 1e-6),
    "output": Quantity("link output (Mb/s)", "rate_bps", "group", 1e-6, stacked=True),
    "window": Quantity("window (packets)", "cwnd_pkts", "flow"),
    "delay": Quantity("queueing delay (ms)", "delay_mean_ms", "queue", log=True),
    "rtt": Quantity("smoothed RTT (ms)", "srtt_ms", "flow"),
    "alpha": Quantity("α", "alpha", "flow"),
    "marks": Quantity("marked (%)", "mark", "queue", 100.0),
    "probability": Quantity("base probability p′", "p_base", "link"),
    # From 1 up a flow takes the queue for a Classic one, up to 0 for an L4S one (Fallback §4.2).
    "score": Quantity("score", "classic_ecn", "flow", levels=(0.0, 1.0)),
    # Evidence for a Classic queue (Fallback §4.1).
    "depth": Quantity("depth seen (ms)", "fbk_depth_ms", "flow", levels=(2.0,)),
    "deviation": Quantity("RTT deviation (ms)", "fbk_mdev_ms", "flow", levels=(0.75,)),
}


@styled
def time_series(
    series: Source,
    show: str | Sequence[str] = ("rate", "delay"),
    *,
    runs: Source | None = None,
    run: int | Sequence[int] | None = None,
    marks: Sequence[float] = (),
    axes: Any = None,
) -> AxesArray:
    """Quantities above each other over time in s, a column per run.

    Of flows: ``rate`` and ``goodput`` in Mb/s, ``window`` in packets, ``rtt`` in ms, ``alpha``, and
    of those with a detector of Classic ECN ``score``, ``depth`` and ``deviation`` in ms. Of queues:
    ``delay`` in ms and ``marks`` in percent. Of groups and UDP sources: ``output`` in Mb/s,
    stacked. Of the link: ``probability``, the base probability of the discipline.

    Fallback figures 8 to 12 (``("rate", "window", "score")``), IETF97 (``"output"``).
    Reads ``run``, ``time_s``, ``scope``, ``name`` and the quantity's column of the series, and for
    names and colours ``group_A_cc`` of the runs.

    Args:
        series: the table of series, or a result folder.
        runs: the table of runs; that of the same folder unless given.
        run: numbers of runs; up to four of the first unless given.
        marks: instants in s to draw a line at, such as a change of the discipline.
        axes: as many Axes as there are panels, instead of new ones.

    Returns:
        An array of Axes, a row per quantity.
    """
    shown = [show] if isinstance(show, str) else list(show)
    unknown = [name for name in shown if name not in QUANTITIES]
    if unknown:
        raise ValueError(f'no quantity is called "{unknown[0]}"; there is {", ".join(QUANTITIES)}')
    about = beside(series, runs, "runs")
    table = read(series, "series")
    table.needs("run", "time_s", "scope", "name", *(QUANTITIES[name].column for name in shown))
    numbers = numbers_of(table, run)
    shape = (len(shown), len(numbers))
    if axes is None:
        height = 0.7 + (1.1 if len(shown) > 1 else 1.5) * len(shown)
        axes = grid_of_axes(*shape, (TEXT, height), sharex=True, sharey="row")
    array = given_axes(axes, *shape)
    for column, number in enumerate(numbers):
        own = table.of_runs([number])
        senders = Senders(about, number, _groups(own))
        for row, name in enumerate(shown):
            above = _draw(array[row, column], QUANTITIES[name], own, senders)
            if row == 0 and len(numbers) > 1:
                title_above(array[row, column], senders.title(), above)
            for mark in marks:
                array[row, column].axvline(mark, color=palette().soft, lw=0.8, ls=(0, (4, 3)))
            if column > 0:
                array[row, column].set_ylabel("")
        array[-1, column].set_xlabel("time (s)")
    return array


def numbers_of(table: Table, run: int | Sequence[int] | None) -> list[int]:
    """Those runs, or the first four that there are."""
    there = sorted({int(number) for number in table.floats("run")})
    if not there:
        raise ValueError(f"{table.name} has no rows: a run keeps time series with tables=True")
    if run is None:
        return there[:4]
    wanted = [int(run)] if isinstance(run, (int, np.integer)) else list(run)
    unknown = [number for number in wanted if number not in there]
    if unknown:
        raise ValueError(
            f"there is no run {unknown[0]} in the series, which have {there[0]} to {there[-1]}"
        )
    return wanted


class Senders:
    """Names and colours of the groups and queues of a run; plain ones without the table of runs.

    Of ``groups`` that answer congestion alike, each but the first has a colour of its own.
    """

    def __init__(self, runs: Table | None, number: int, groups: Sequence[str] = ()) -> None:
        self._runs = runs
        self._groups = groups
        numbers = np.zeros(0) if runs is None else runs.floats("run")
        self._row = [int(row) for row in np.flatnonzero(numbers == number)]
        self._number = number

    def kind(self, group: str) -> str:
        """How a group answers congestion."""
        if self._runs is None or f"group_{group}_cc" not in self._runs.names:
            return {"A": "l4s", "B": "classic"}.get(group, "udp")
        return kind_of(self._runs, group, self._row)

    def name(self, group: str) -> str:
        """Its congestion control."""
        if self._runs is None or f"group_{group}_cc" not in self._runs.names:
            return group
        return sender_of(self._runs, group, self._row)

    def label(self, group: str) -> str:
        """Its congestion control, with the name of the group where another one has the same."""
        name = self.name(group)
        same = [other for other in self._groups if self.name(other) == name]
        return f"{name} {group}" if len(same) > 1 and name != group else name

    def colour(self, group: str) -> str:
        """The colour of its kind, or one of its own."""
        kind = self.kind(group)
        alike = [other for other in self._groups if self.kind(other) == kind]
        nth = alike.index(group) if group in alike else 0
        return palette().rest[(nth - 1) % len(palette().rest)] if nth else palette().traffic[kind]

    def title(self) -> str:
        """The settings that distinguish the run from the others."""
        if self._runs is None:
            return f"run {self._number}"
        sweep = lay_out(self._runs)
        row = self._row[0]
        line = next(line for line in sweep.lines if row in line.all_rows())
        keys = [key for key in varied(self._runs) if key in sweep.conditions]
        texts = [names.said(self._runs.texts(f"set_{key}")[row]) for key in keys]
        return ", ".join(filter(None, [line.name, *texts]))


def _draw(ax: Axes, quantity: Quantity, table: Table, senders: Senders) -> int:
    """A quantity of a run; the rows of its legend."""
    lines = _lines(table, quantity)
    # Zero is left out of lines without data: a detector without a mark, a window of a UDP source.
    lines = {name: line for name, line in lines.items() if not np.all(np.isnan(line[1]))}
    if quantity.stacked:
        _stack(ax, lines, senders)
    else:
        _plain(ax, lines, quantity, senders)
    for level in quantity.levels:
        ax.axhline(level, color=palette().soft, linewidth=0.7, linestyle=(0, (1, 1.5)))
    ax.set_ylabel(quantity.label)
    times = table.floats("time_s")
    if times.size:
        ax.set_xlim(0, float(times.max()))
    if quantity.log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: names.digits(value))
    elif not quantity.levels:
        ax.set_ylim(bottom=0)
    handles, labels = ax.get_legend_handles_labels()
    if not quantity.stacked:
        handles, labels = handles[::-1], labels[::-1]
    return legend_above(ax, handles, labels) if any(labels) else 0


def _lines(table: Table, quantity: Quantity) -> dict[str, tuple[Floats, Floats]]:
    """Times and values of each flow, queue or group."""
    own = table.where(np.array([scope == quantity.scope for scope in table.texts("scope")]))
    found, codes = own.codes("name")
    times, values = own.floats("time_s"), own.floats(quantity.column) * quantity.scale
    order = sorted(range(len(found)), key=lambda i: _parts(found[i]))
    return {found[i]: (times[codes == i], values[codes == i]) for i in order}


def _groups(table: Table) -> list[str]:
    """The groups and UDP sources of a run, in order."""
    pairs = zip(table.texts("scope"), table.texts("name"), strict=True)
    found = {name.partition(".")[0] for scope, name in pairs if scope in ("group", "flow")}
    return sorted(found)


def _parts(name: str) -> tuple[str, int]:
    """``B.10`` as group and flow."""
    group, _, flow = name.partition(".")
    # The queue L is before C, as in the other figures.
    return {"L": "A", "C": "B"}.get(group, group), int(flow or 0)


def _plain(
    ax: Axes, lines: Mapping[str, tuple[Floats, Floats]], quantity: Quantity, senders: Senders
) -> None:
    groups = [name.split(".")[0] for name in lines]
    said: set[str] = set()
    # The first group is the subject of the figure: it is drawn last, in front.
    for (name, (times, values)), group in reversed(list(zip(lines.items(), groups, strict=True))):
        many = groups.count(group)
        label, colour, dashes = _look(quantity.scope, group, senders)
        ax.plot(
            times,
            values,
            color=colour,
            linestyle=dashes if many == 1 else "-",
            linewidth=0.9 if many == 1 else 0.5,
            alpha=1.0 if many == 1 else 0.75,
            label=None if group in said else label + (f" ({many} flows)" if many > 1 else ""),
            gid=name,
        )
        said.add(group)


def _look(scope: str, name: str, senders: Senders) -> tuple[str, str, str]:
    """Label, colour and dashes."""
    if scope == "link":
        return "", palette().ink, "-"
    if scope == "queue":
        kind = {"L": "l4s", "C": "classic"}.get(name, "udp")
        return names.QUEUES.get(name, name) or "single queue", palette().traffic[kind], DASHES[kind]
    return senders.label(name), senders.colour(name), DASHES[senders.kind(name)]


def _stack(ax: Axes, lines: Mapping[str, tuple[Floats, Floats]], senders: Senders) -> None:
    all_times = np.unique(np.concatenate([times for times, _ in lines.values()]))
    kinds = [senders.kind(name) for name in lines]
    parts = [np.interp(all_times, times, np.nan_to_num(values)) for times, values in lines.values()]
    areas = ax.stackplot(
        all_times,
        *parts,
        labels=[senders.label(name) for name in lines],
        colors=[senders.colour(name) for name in lines],
        edgecolor=palette().paper,
        linewidth=0.3,
    )
    for area, kind in zip(areas, kinds, strict=True):
        area.set_hatch(HATCHES[kind])
