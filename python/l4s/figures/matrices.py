"""A small picture for each pair of numbers of flows: rates over time, delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle

from . import names
from .distributions import cumulated
from .look import AxesArray, given_axes, grid_of_axes, legend_above, palette, styled, title_above
from .sweep import Line, Sweep, chosen, lay_out
from .tables import Floats, Source, Table, beside, missing, read

#: The width and height of a cell; the rest is a gap.
_SIZE = 0.92
#: Points of a line in a cell: means over equal parts of the run.
_POINTS = 25
#: Ends of the axis of delays, in ms.
_LOW, _HIGH = 0.1, 100.0

Lines = list[Floats]


@dataclass(frozen=True)
class Cell:
    """One run in its place."""

    number: int
    row: int
    column: float
    up: float


@styled
def matrix(
    runs: Source,
    show: Sequence[str] = ("rate", "delay"),
    *,
    series: Source | None = None,
    delays: Source | None = None,
    line: str | None = None,
    where: Mapping[str, str] | None = None,
    axes: Any = None,
) -> AxesArray:
    """A cell for each pair of numbers of flows, those of the first group to the right.

    ``rate``: a line per flow, over the run from left to right, from none to twice an equal share
    of the link. The grey line is the equal share, and rates above twice that are cut. ``delay``:
    the share of each group's packets, from 0 to 100 % upwards, with at most this delay, from 0.1
    to 100 ms, logarithmic, with upright lines at 1 and 10 ms: the further left, the better.

    The 121 cells of the Slides, "Throughput" and "Qsize", and DCttH figure 5.
    Reads ``set_group.A.flows``, ``set_group.B.flows``, ``link_rate_bps`` and ``group_A_flows`` of
    the runs, ``rate_bps`` of flows of the series, ``high_ms`` and ``count`` of groups of the
    delays.

    Args:
        runs: the table of runs, or a result folder.
        show: ``rate``, ``delay``, or both side by side.
        series: the table of series; that of the same folder unless given.
        delays: the table of delays; likewise.
        line: the discipline, by its name in the other figures, such as ``DualPI2``; the first.
        where: values of other keys of the sweep.
        axes: as many Axes as there are pictures, instead of new ones.

    Returns:
        An array of Axes.
    """
    table = chosen(read(runs, "runs"), where)
    keys = [key for key in ("group.A.flows", "group.B.flows") if f"set_{key}" in table.names]
    if len(keys) < 2:
        raise missing(table, "set_group.A.flows" if not keys else "set_group.B.flows")
    sweep = lay_out(table)
    own = line_called(sweep, line)
    cells = _cells(sweep, own, keys)
    tables = {
        "rate": beside(runs, series, "series"),
        "delay": beside(runs, delays, "delays"),
    }
    if axes is None:
        width = 3.45 * len(show)
        axes = grid_of_axes(1, len(show), (width, _height(sweep, keys, width / len(show))))
    array = given_axes(axes, 1, len(show))
    for ax, what in zip(array[0], show, strict=True):
        if what not in tables:
            raise ValueError(f'a cell shows "rate" or "delay", not "{what}"')
        source = tables[what]
        if source is None:
            needs = "series" if what == "rate" else "delays"
            raise ValueError(f"a matrix of {what}s needs the table of {needs}: {needs}=…")
        _axes_of(ax, sweep, own, keys)
        draw = _rates if what == "rate" else _delays
        guides: Lines = [np.array([[0, 0.5], [1, 0.5]])]
        if what == "delay":
            guides = [np.array([[_place(ms)] * 2, [0, 1]]).T for ms in (1.0, 10.0)]
        above = _draw(
            ax,
            sweep,
            own,
            cells,
            guides,
            draw(sweep, source, cells),
            0.4 if what == "rate" else 0.8,
        )
        title = "rate of each flow over time" if what == "rate" else "queueing delay, distribution"
        title_above(ax, f"{own.name}: {title}" if own.name else title, above)
    return array


def line_called(sweep: Sweep, name: str | None) -> Line:
    """A line by its name; the first without one."""
    there = {line.name: line for line in sweep.lines}
    if name is None:
        return sweep.lines[0]
    if name not in there:
        raise ValueError(f'no line is called "{name}"; there is {", ".join(there)}')
    return there[name]


def _cells(sweep: Sweep, line: Line, keys: list[str]) -> list[Cell]:
    across, up = (sweep.table.texts(f"set_{key}") for key in keys)
    columns, rows = _values(sweep, keys[0]), _values(sweep, keys[1])
    numbers = sweep.table.floats("run")
    cells: dict[tuple[str, str], Cell] = {}
    for row in line.all_rows():
        # Of seeds the first.
        place = (across[row], up[row])
        cell = Cell(int(numbers[row]), row, columns.index(place[0]), rows.index(place[1]))
        cells.setdefault(place, cell)
    return list(cells.values())


def _values(sweep: Sweep, key: str) -> list[str]:
    return names.ordered(sweep.table.texts(f"set_{key}"))


def _height(sweep: Sweep, keys: list[str], width: float) -> float:
    columns, rows = (len(_values(sweep, key)) for key in keys)
    return min(0.75 + (width - 0.45) * max(rows, 1.2) / max(columns, 1.2), 8.0)


def _place(ms: float | Floats) -> Any:
    return np.log(np.clip(ms, _LOW, _HIGH) / _LOW) / np.log(_HIGH / _LOW)


def _rates(sweep: Sweep, series: Table, cells: list[Cell]) -> Callable[[Cell, str], Lines]:
    series.needs("run", "scope", "name", "time_s", "rate_bps")
    flows = np.array([scope == "flow" for scope in series.texts("scope")])
    own = series.where(flows).of_runs([cell.number for cell in cells])
    found, codes = own.codes("name")
    runs, rates = own.floats("run"), own.floats("rate_bps")
    groups = list(sweep.table.matching(r"group_([^_]+)_flows"))
    count = sum(np.nan_to_num(sweep.table.floats(f"group_{group}_flows")) for group in groups)
    equal = sweep.table.floats("link_rate_bps") / np.maximum(count, 1)

    def lines(cell: Cell, group: str) -> Lines:
        out = []
        mine = runs == cell.number
        for i in np.unique(codes[mine]):
            if found[i].split(".")[0] == group:
                parts = np.array_split(rates[mine & (codes == i)], _POINTS)
                share = np.array([part.mean() if part.size else np.nan for part in parts])
                x = (np.arange(_POINTS) + 0.5) / _POINTS
                out.append(np.column_stack([x, np.minimum(share / equal[cell.row] / 2, 1)]))
        return out

    return lines


def _delays(sweep: Sweep, delays: Table, cells: list[Cell]) -> Callable[[Cell, str], Lines]:
    delays.needs("run", "scope", "name", "high_ms", "count")
    curves = {cell.number: cumulated(delays.of_runs([cell.number]), "group") for cell in cells}

    def lines(cell: Cell, group: str) -> Lines:
        if group not in curves[cell.number]:
            return []
        ms, share = curves[cell.number][group]
        # A few points are enough for a cell, and keep files small.
        wanted = (np.arange(20) + 0.5) / 20
        quantiles = _place(ms[np.searchsorted(share, wanted).clip(max=ms.size - 1)])
        x = np.concatenate([quantiles[:1], quantiles, quantiles[-1:]])
        return [np.column_stack([x, np.concatenate([[0.0], wanted, [1.0]])])]

    return lines


def _draw(
    ax: Axes,
    sweep: Sweep,
    line: Line,
    cells: list[Cell],
    guides: Lines,
    lines: Callable[[Cell, str], Lines],
    width: float,
) -> int:
    """All cells; the rows of the legend."""

    def put(part: Floats, cell: Cell) -> Floats:
        return np.asarray(part * _SIZE + (cell.column - _SIZE / 2, cell.up - _SIZE / 2))

    grounds = [Rectangle((c.column - _SIZE / 2, c.up - _SIZE / 2), _SIZE, _SIZE) for c in cells]
    ax.add_collection(
        PatchCollection(grounds, facecolor=palette().ground, linewidth=0, gid="ground")
    )
    level = [put(guide, cell) for cell in cells for guide in guides]
    ax.add_collection(LineCollection(level, colors=palette().soft, linewidths=0.3, gid="guides"))
    # The first group in front.
    for group in reversed([g for g in sweep.groups(line) if sweep.kind(line, g) != "udp"]):
        segments = [put(part, cell) for cell in cells for part in lines(cell, group)]
        colour = palette().traffic[sweep.kind(line, group)]
        label = sweep.sender(line, group)
        ax.add_collection(
            LineCollection(segments, colors=colour, linewidths=width, label=label, gid=group)
        )
    handles, labels = ax.get_legend_handles_labels()
    return legend_above(ax, handles[::-1], labels[::-1])


def _axes_of(ax: Axes, sweep: Sweep, line: Line, keys: list[str]) -> None:
    labels = [_values(sweep, key) for key in keys]
    ax.set_xlim(-0.5, len(labels[0]) - 0.5)
    ax.set_ylim(-0.5, len(labels[1]) - 0.5)
    ax.set_xticks(range(len(labels[0])), labels[0])
    ax.set_yticks(range(len(labels[1])), labels[1])
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    who = [sweep.sender(line, group) if group in sweep.groups(line) else group for group in "AB"]
    ax.set_xlabel(f"flows of {who[0]}")
    ax.set_ylabel(f"flows of {who[1]}")
