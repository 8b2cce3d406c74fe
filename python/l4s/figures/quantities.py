"""Quantities that can be shown at each condition of a sweep, and their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from . import names
from .colours import HATCHES
from .look import palette
from .sweep import Line, Sweep
from .tables import Floats, missing


@dataclass(frozen=True)
class Track:
    """The values of one colour and marker; ``low`` and ``high`` make a whisker."""

    name: str
    colour: str
    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    filled: bool = True
    marker: str = "o"
    hatch: str = ""


@dataclass(frozen=True)
class Panel:
    """A quantity: where its tracks come from, and how its y axis looks."""

    label: str
    tracks: Callable[[Sweep, Line], list[Track]]
    mark: Literal["dots", "bars", "stack"] = "dots"
    log: bool = False
    #: A value to compare with.
    level: float | None = None
    height: float = 1.0


def _delays(sweep: Sweep, line: Line) -> list[Track]:
    def track(queue: str) -> Track:
        mean, low, high = (
            sweep.column(f"queue_{queue}_delay_{part}_ms", line) for part in ("mean", "p1", "p99")
        )
        colour = sweep.queue_colour(palette(), line, queue)
        name, marker = _queue_name(sweep, line, queue), sweep.marker(line, queue)
        return Track(name, colour, mean, low, high, marker=marker)

    return [track(queue) for queue in sweep.queues(line)]


def _queue_name(sweep: Sweep, line: Line, queue: str) -> str:
    parts = [line.name, names.QUEUES.get(queue, queue)]
    return " ".join(filter(None, parts)) or "all packets"


def _signals(sweep: Sweep, line: Line) -> list[Track]:
    def track(queue: str, what: str, filled: bool) -> Track:
        share = 100 * sweep.column(f"queue_{queue}_{what}", line)
        share[share <= 0] = np.nan  # a logarithmic axis has no place for none
        name = f"{_queue_name(sweep, line, queue)} {what}"
        colour, marker = sweep.queue_colour(palette(), line, queue), sweep.marker(line, queue)
        return Track(name, colour, share, filled=filled, marker=marker)

    queues = sweep.queues(line)
    tracks = [track(queue, "mark", True) for queue in queues]
    tracks += [track(queue, "drop", False) for queue in queues]
    return [track for track in tracks if not np.all(np.isnan(track.values))]


def _ratio(what: str) -> Callable[[Sweep, Line], list[Track]]:
    def tracks(sweep: Sweep, line: Line) -> list[Track]:
        found = sweep.table.matching(f"(ratio_{what}_.+)")
        if not found:
            raise missing(sweep.table, f"ratio_{what}_A_B")
        return [_line_track(sweep, line, sweep.column(next(iter(found)), line))]

    return tracks


def _utilization(sweep: Sweep, line: Line) -> list[Track]:
    return [_line_track(sweep, line, 100 * sweep.column("link_utilization", line))]


def _line_track(sweep: Sweep, line: Line, values: Floats) -> Track:
    """A quantity of a whole line looks like the first of its queues."""
    queue = next(iter(sweep.queues(line)))
    colour, marker = sweep.queue_colour(palette(), line, queue), sweep.marker(line, queue)
    return Track(line.name, colour, values, marker=marker)


def _sender_tracks(
    sweep: Sweep,
    line: Line,
    of: Callable[[str], tuple[Floats, Floats | None, Floats | None]],
    keep: Callable[[str], bool] = lambda kind: True,
) -> list[Track]:
    tracks = []
    for group in sweep.groups(line):
        kind = sweep.kind(line, group)
        if keep(kind):
            colour, hatch = palette().traffic[kind], HATCHES[kind]
            tracks.append(Track(sweep.sender(line, group), colour, *of(group), hatch=hatch))
    return tracks


def _shares(sweep: Sweep, line: Line) -> list[Track]:
    def of(group: str) -> tuple[Floats, Floats, Floats]:
        share = sweep.table.floats(f"group_{group}_normalized_rate")
        rate = sweep.table.floats(f"group_{group}_rate_per_flow_bps")
        # The percentiles are of rates; in the same proportion they are of shares.
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = share / rate
        low, high = (
            sweep.table.floats(f"group_{group}_flow_rates_{part}_bps") * scale
            for part in ("p1", "p99")
        )
        return sweep.average(share, line), sweep.average(low, line), sweep.average(high, line)

    return _sender_tracks(sweep, line, of, lambda kind: kind != "udp")


def _output(sweep: Sweep, line: Line) -> list[Track]:
    def of(group: str) -> tuple[Floats, None, None]:
        return sweep.column(f"group_{group}_rate_bps", line) / 1e6, None, None

    return _sender_tracks(sweep, line, of)


PANELS: Mapping[str, Panel] = {
    "delay": Panel("queueing delay (ms)", _delays, log=True, height=1.5),
    "window balance": Panel("window ratio", _ratio("window"), log=True, level=1.0),
    "rate balance": Panel("rate ratio", _ratio("rate"), log=True, level=1.0),
    "utilization": Panel("utilization (%)", _utilization, height=0.8),
    "signals": Panel("marks, drops (%)", _signals, log=True),
    "shares": Panel("rate / equal share", _shares, "bars", level=1.0, height=1.2),
    "output": Panel("link output (Mb/s)", _output, "stack", height=1.3),
}
