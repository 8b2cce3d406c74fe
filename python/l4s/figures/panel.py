"""How a quantity is drawn in one Axes: dots with whiskers, bars, or bars on each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from . import names
from .look import legend_above, palette, width_of
from .quantities import Panel, Track
from .sweep import Line, Sweep
from .tables import Floats


def draw_panel(ax: Axes, panel: Panel, sweep: Sweep, lines: list[Line], by_line: bool) -> int:
    """A quantity of some lines, without ticks on the x axis; the rows of its legend."""
    tracks = [(panel.tracks(sweep, line)) for line in lines]
    flat = [track for own in tracks for track in own]
    x = np.asarray(sweep.x)
    ax.set_xlim(x[0] - 0.6, x[-1] + 0.6)
    if panel.log:
        ax.set_yscale("log")
    if panel.level is not None:
        ax.axhline(panel.level, color=palette().soft, linewidth=0.8, zorder=1)
    {"dots": _dots, "bars": _bars, "stack": _stack}[panel.mark](ax, x, flat)
    _y_axis(ax, panel, flat)
    short = [_without(track.name, lines[0].name) if by_line else track.name for track in flat]
    for (_, end, _), (start, _, _) in zip(sweep.spans, sweep.spans[1:], strict=False):
        ax.axvline((end + start) / 2, color=palette().soft, linewidth=0.4, alpha=0.5, zorder=0)
    return _legend(ax, short, panel)


def _without(name: str, line: str) -> str:
    """The name of a track in a column that is headed with that of its line."""
    return name.removeprefix(line).strip() or "all packets"


def _offsets(count: int, width: float) -> Floats:
    return np.asarray((np.arange(count) - (count - 1) / 2) * width, np.float64)


def _dots(ax: Axes, x: Floats, tracks: list[Track]) -> None:
    wide = min(0.18, 0.7 / max(len(tracks), 1))
    for track, shift in zip(tracks, _offsets(len(tracks), wide), strict=True):
        spread = None
        if track.low is not None and track.high is not None:
            spread = np.array([track.values - track.low, track.high - track.values])
            spread = np.clip(spread, 0, None)
        ax.errorbar(
            x + shift,
            track.values,
            yerr=spread,
            fmt=track.marker,
            color=track.colour,
            markerfacecolor=track.colour if track.filled else palette().paper,
            markersize=3.2 if len(x) < 40 else 2.0,
            capsize=1.4 if len(x) < 40 else 0,
            elinewidth=0.8,
            label=track.name,
        )


def _bars(ax: Axes, x: Floats, tracks: list[Track]) -> None:
    wide = 0.84 / max(len(tracks), 1)
    for track, shift in zip(tracks, _offsets(len(tracks), wide), strict=True):
        ax.bar(x + shift, track.values, wide, **_paint(track))
        if track.low is not None and track.high is not None:
            ink = palette().ink
            ax.vlines(x + shift, track.low, track.high, color=ink, linewidth=0.6, zorder=3)


def _stack(ax: Axes, x: Floats, tracks: list[Track]) -> None:
    bottom = np.zeros(len(x))
    for track in tracks:
        ax.bar(x, track.values, 0.8, bottom=bottom, **_paint(track))
        bottom = bottom + np.nan_to_num(track.values)


def _paint(track: Track) -> dict[str, Any]:
    return {
        "facecolor": track.colour,
        "edgecolor": palette().paper,
        "hatch": track.hatch,
        "label": track.name,
        "linewidth": 0,
        "zorder": 2,
    }


def _y_axis(ax: Axes, panel: Panel, tracks: list[Track]) -> None:
    ax.set_ylabel(panel.label)
    parts = [part for t in tracks for part in (t.values, t.high) if part is not None]
    values = np.concatenate(parts) if parts else np.array([np.nan])
    values = values[np.isfinite(values)]
    if panel.log:
        _log_axis(ax, panel, values[values > 0])
    elif panel.mark != "dots":
        ax.set_ylim(bottom=0)
    elif values.size:
        # Percent. The last few matter.
        floors = (99.0, 98.0, 95.0, 90.0, 80.0, 50.0, 0.0)
        floor = next((f for f in floors if f <= float(values.min()) - 0.1), 0.0)
        if _is_shared(ax):
            floor = min(floor, ax.get_ylim()[0])
        ax.set_ylim(floor, 100 + 0.06 * (100 - floor))


def _log_axis(ax: Axes, panel: Panel, values: Floats) -> None:
    if values.size and panel.level is not None:
        # Balance is in the middle: twice as much and half as much are as far from it.
        most = max(2.0, float(np.max(np.maximum(values, 1 / values))) * 1.4)
        shared = max(most, ax.get_ylim()[1]) if _is_shared(ax) else most
        ax.set_ylim(1 / shared, shared)
        ax.yaxis.set_major_locator(FixedLocator(_ratios(shared)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: _over(v)))
    else:
        if values.size:
            low, high = float(values.min()) / 1.6, float(values.max()) * 1.3
            if _is_shared(ax):
                low, high = min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1])
            ax.set_ylim(low, high)
            if high / low < 30:
                # A decade or less would have a single label.
                ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: names.digits(v)))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _is_shared(ax: Axes) -> bool:
    """Whether a neighbour with the same y axis has been drawn before."""
    return any(
        other is not ax and other.has_data() for other in ax.get_shared_y_axes().get_siblings(ax)
    )


def _ratios(most: float) -> list[float]:
    for step in (2.0, 4.0, 10.0, 100.0):
        up = [step**i for i in range(8) if step**i <= most]
        if len(up) <= 4:
            break
    return [1 / v for v in up[:0:-1]] + up


def _over(value: float) -> str:
    return names.digits(value) if value >= 1 else f"1/{names.digits(1 / value)}"


def _legend(ax: Axes, labels: list[str], panel: Panel) -> int:
    handles, _ = ax.get_legend_handles_labels()
    if len(handles) < 2:
        return 0
    if panel.label.startswith("marks"):
        # Filled and hollow dots are said once, not for each queue.
        ink = palette().ink
        handles = [
            Line2D([], [], marker="o", ls="", color=ink, markersize=3.2, markerfacecolor=fill)
            for fill in (ink, palette().paper)
        ]
        labels = ["marked", "dropped"]
    return legend_above(ax, handles, labels)


def draw_places(ax: Axes, sweep: Sweep) -> None:
    """Ticks at the conditions, and beneath them the names of spans."""
    longest = max(map(len, sweep.labels))
    room = width_of(ax) * 72 / len(sweep.x)
    step = max(1, math.ceil(longest * 4.5 / room))
    # Upright text needs as much as a line is high; where there is less, some places go without.
    turned = step > 1 and room > 8
    step = 1 if turned else step
    shown: list[tuple[float, str]] = []
    for start, end, _ in sweep.spans or [(sweep.x[0], sweep.x[-1], "")]:
        own = [(x, t) for x, t in zip(sweep.x, sweep.labels, strict=True) if start <= x <= end]
        shown += own[::step]
    ax.set_xticks([x for x, _ in shown], [text for _, text in shown], rotation=90 if turned else 0)
    small = 6.5 if width_of(ax) < 3 else 7.0
    ax.tick_params(axis="x", length=0, labelsize=small)
    ax.set_xlabel(sweep.title)
    if not sweep.spans:
        return
    below = small * (0.65 * longest if turned else 1.2) + 5
    second = ax.secondary_xaxis(0)
    middles = [(start + end) / 2 for start, end, _ in sweep.spans]
    second.set_xticks(middles, [text for _, _, text in sweep.spans], weight="bold")
    second.tick_params(axis="x", length=0, labelsize=small, pad=below)
    second.spines["bottom"].set_visible(False)
    ax.xaxis.labelpad = small + (9 if turned else 7)
