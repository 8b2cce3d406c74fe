"""The figures of the papers: the function of each, and its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from . import conditions, downloads, matrices, squares, times
from .look import AxesArray
from .tables import Source, pick

Draw = Callable[..., AxesArray]


@dataclass(frozen=True)
class Paper:
    """A figure of a paper."""

    #: Which figure of which paper.
    paper: str
    #: Its question.
    shows: str
    #: The function that draws it.
    draw: Draw
    #: The table that it takes first, and others that it takes by name.
    table: str = "runs"
    others: tuple[str, ...] = ()
    #: Further options.
    options: Mapping[str, Any] = field(default_factory=dict)


_STATIC = ("delay", "window balance", "utilization", "signals")
_DYNAMIC = ("delay", "utilization", "signals")
_OVERLOAD = ("output", "delay", "signals")
_BALANCE = ("rate balance", "delay")
_HEARD = ("rate", "window", "score")
_CHANGE = ("rate", "delay", "score", "depth")


def _completion(paper: str) -> Paper:
    return Paper(paper, "completion times of downloads", downloads.completion, "flows", ("runs",))


def _over_time(paper: str, shows: str, show: tuple[str, ...], *marks: float) -> Paper:
    options = {"show": show, "marks": marks}
    return Paper(paper, shows, times.time_series, "series", ("runs",), options)


def _sweep(paper: str, shows: str, show: tuple[str, ...]) -> Paper:
    return Paper(paper, shows, conditions.panels, options={"show": show})


#: Every figure by its id, which ``l4s paper ID`` makes the tables of.
PAPERS: Mapping[str, Paper] = MappingProxyType(
    {
        "dctth-4": _sweep("DCttH figure 4", "one flow of each kind, any rate and RTT", _STATIC),
        "dctth-5": Paper(
            "DCttH figure 5",
            "any number of flows of either kind",
            conditions.flow_mix,
            options={"where": {"case": "dualpi2 dctcp:cubic"}},
        ),
        "dctth-6": Paper("DCttH figure 6", "unequal RTTs", conditions.flow_mix),
        "dctth-7": _completion("DCttH figure 7"),
        "dctth-7-low": _completion("DCttH figure 7, low load"),
        "dctth-8": Paper(
            "DCttH figure 8",
            "completion over theoretical time by size",
            downloads.efficiency,
            options={"where": {"group.*.rtt": "10ms"}},
        ),
        "dctth-9": _sweep("DCttH figure 9, Qdisc figure 3", "heavy web traffic", _DYNAMIC),
        "dctth-9-low": _sweep("DCttH figure 9, low load", "light web traffic", _DYNAMIC),
        "dctth-10": Paper("DCttH figure 10", "an unresponsive sender", conditions.overload),
        "slides-flows": Paper(
            "Slides, Throughput and Qsize",
            "rates and delays of any number of flows",
            matrices.matrix,
            others=("series", "delays"),
            options={"line": "Curvy RED"},
        ),
        "slides-completion": Paper(
            "Slides, Completion times",
            "completion times beside every load",
            downloads.completion,
            "flows",
            ("runs",),
            # The round trip and the warm-up of the scenario: the sweep does not change them.
            {"grid": ("A", "B"), "where": {"case": "dualq"}, "rtt_ms": 7.0},
        ),
        "overload-a": _sweep("IETF97, strategy (a)", "overload: the buffer overflows", _OVERLOAD),
        "overload-b": _sweep("IETF97, strategy (b)", "overload: Classic drop for all", _OVERLOAD),
        "fallback-1": _sweep("Fallback figure 1", "DCTCP in a Classic ECN queue", _BALANCE),
        "fallback-7": _sweep(
            "Fallback figure 7", "Prague in one, without detection and with", _BALANCE
        ),
        "fallback-8": _over_time("Fallback figure 8", "a Classic queue is found out", _HEARD),
        # The second flow starts at 10 s; disciplines change then, and the route at 20 s.
        "fallback-9": _over_time("Fallback figure 9", "a flow that comes later", _HEARD, 10.0),
        "fallback-10": _over_time("Fallback figure 10", "the queue becomes L4S", _CHANGE, 10.0),
        "fallback-11": _over_time("Fallback figure 11", "the queue becomes Classic", _CHANGE, 10.0),
        "fallback-12": _over_time(
            "Fallback figure 12", "a re-route", ("rate", "rtt", "deviation", "score"), 20.0
        ),
        "fallback-500": Paper(
            "Fallback §7.5", "500 situations, traffic lights", squares.lights, others=("flows",)
        ),
        "core": _sweep(
            "Fallback appendix D", "a core link", ("rate balance", "utilization", "delay")
        ),
    }
)


def draw(figure: str, tables: Source | Mapping[str, Source], **options: Any) -> AxesArray:
    """Draws a figure of a paper by its id, one of :data:`PAPERS`.

    Args:
        figure: such as ``dctth-4``; ``l4s paper dctth-4 --out DIR`` makes its tables.
        tables: a result folder, or tables by name: ``{"runs": …, "series": …}``.
        options: of the function, in place of the paper's.

    Returns:
        An array of Axes.
    """
    if figure not in PAPERS:
        raise ValueError(f'no figure is called "{figure}"; there is {", ".join(PAPERS)}')
    paper = PAPERS[figure]
    taken = {**paper.options, **options}
    if isinstance(tables, Mapping):
        others = {name: tables[name] for name in paper.others if name in tables}
        return paper.draw(pick(tables, paper.table), **others, **taken)
    return paper.draw(tables, **taken)
