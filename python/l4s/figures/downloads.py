"""How long short downloads took, beside the best that any transport could do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from . import names
from .colours import MARKERS
from .look import TEXT, AxesArray, given_axes, grid_of_axes, palette, styled
from .sweep import chosen, kind_of, sender_of
from .tables import Floats, Source, Table, beside, missing, read
from .times import Senders

#: Payload of a full segment, and its headers on the wire: 14 B of Ethernet, 20 B of IPv4,
#: 20 B of TCP and 12 B of timestamps.
_SEGMENT, _HEADERS = 1448, 66
#: A share of the runs, from the rule for scenarios that do not say otherwise.
_WARMUP = 0.25


def theoretical_ms(size: Floats, rtt_ms: float, rate_bps: float) -> Floats:
    """The best time for items of ``size`` bytes: two round trips, and the bytes at full rate."""
    segments = np.maximum(np.ceil(size / _SEGMENT), 1)
    return np.asarray(2 * rtt_ms + (size + segments * _HEADERS) * 8e3 / rate_bps)


@styled
def completion(
    flows: Source,
    *,
    runs: Source | None = None,
    grid: tuple[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    rtt_ms: float | None = None,
    since_s: float | None = None,
    axes: Any = None,
) -> AxesArray:
    """A dot per download: its completion time in ms over its size in KB, both logarithmic.

    The line is the theoretical time: handshake, request, and the item at the full rate of the
    link, without a queue. Times are from just before the SYN until the close is seen.

    DCttH figure 7 on the left; with ``grid=("A", "B")`` the matrices of the Slides, "Completion
    times". Reads ``run``, ``group``, ``size``, ``completion_ms`` and ``end_s`` of the flows, and
    ``link_rate_bps`` and ``group_A_cc`` of the runs.

    Args:
        flows: the table of flows, or a result folder.
        runs: the table of runs; that of the same folder unless given.
        grid: keys of the sweep whose values make the columns and the rows, from the bottom up.
        where: values of keys of the sweep.
        rtt_ms: the base round trip; from the sweep where that sets it, and no line without it.
        since_s: leaves out downloads that ended before; the end of the warm-up unless given.
        axes: as many Axes as there are runs, instead of new ones.

    Returns:
        An array of Axes, one per run, or a row per value of the second key of ``grid``.
    """
    about = beside(flows, runs, "runs")
    if about is None:
        raise ValueError("completion needs the table of runs: runs=…")
    about = chosen(about, where)
    table = read(flows, "flows")
    table.needs("run", "group", "size", "completion_ms", "end_s")
    if not np.any(table.floats("completion_ms") > 0):
        raise ValueError("flows has no completed download: [[web]] of a scenario makes some")
    places, shape = _grid(about, grid)
    if axes is None:
        size = (TEXT, 2.3) if shape[0] == 1 else (TEXT, 0.6 + 1.15 * shape[0])
        axes = grid_of_axes(*shape, size, sharex=True, sharey=True)
    array = given_axes(axes, *shape)
    array_filled = np.zeros(shape, dtype=np.bool_)
    for row, place in places.items():
        ax = array[place]
        array_filled[place] = True
        _cloud(ax, table, about, row, since_s)
        _theory(ax, table, about, row, rtt_ms)
        if shape[0] == 1:
            ax.set_title(Senders(about, int(about.floats("run")[row])).title(), fontsize=7)
    for place in np.ndindex(*shape):
        _log_axes(array[place], shape[0] > 1)
        array[place].set_visible(bool(array_filled[place]))
    _labels(array, about, grid)
    return array


def _grid(
    runs: Table, grid: tuple[str, str] | None
) -> tuple[dict[int, tuple[int, int]], tuple[int, int]]:
    """Where each run is drawn, and how many rows and columns that makes."""
    if grid is None:
        if len(runs) > 8:
            raise ValueError(
                f"{len(runs)} runs are too many for a row: choose some with where=… or a grid=…"
            )
        return {row: (0, row) for row in range(len(runs))}, (1, len(runs))
    across, up = (runs.texts(f"set_{key}") for key in grid)
    columns, rows = names.ordered(across), names.ordered(up)
    places = {
        row: (len(rows) - 1 - rows.index(up[row]), columns.index(across[row]))
        for row in range(len(runs))
    }
    if len(set(places.values())) < len(places):
        raise ValueError(
            f"several runs have the same {grid[0]} and {grid[1]}: choose some with where=…"
        )
    return places, (len(rows), len(columns))


def _cloud(ax: Axes, flows: Table, runs: Table, row: int, since_s: float | None) -> None:
    number = int(runs.floats("run")[row])
    own = flows.of_runs([number])
    found, codes = own.codes("group")
    size, time, end = own.floats("size"), own.floats("completion_ms"), own.floats("end_s")
    since = _warmup(runs, row) if since_s is None else since_s
    there = (end >= since) & (time > 0) & (size > 0)
    # The first group in front.
    for i, group in reversed(list(enumerate(found))):
        mine = there & (codes == i)
        if not mine.any():
            continue
        ax.plot(
            size[mine] / 1e3,
            time[mine],
            linestyle="",
            marker=".",
            markersize=1.6,
            markeredgewidth=0,
            alpha=0.5,
            color=palette().traffic[kind_of(runs, group, [row])],
            label=sender_of(runs, group, [row]),
            gid=group,
            # Thousands of dots as paths would make a file of megabytes.
            rasterized=True,
        )


def _warmup(runs: Table, row: int) -> float:
    if "set_warmup" in runs.names:
        return names.size(runs.texts("set_warmup")[row]) or 0.0
    return _WARMUP * float(np.nan_to_num(runs.maybe("engine_virtual_s")[row]))


def _theory(ax: Axes, flows: Table, runs: Table, row: int, rtt_ms: float | None) -> None:
    keys = [key for key in ("set_group.*.rtt", "set_group.A.rtt") if key in runs.names]
    if rtt_ms is None and keys:
        seconds = names.size(runs.texts(keys[0])[row])
        rtt_ms = None if seconds is None else seconds * 1e3
    sizes = flows.floats("size")
    sizes = sizes[sizes > 0]
    if rtt_ms is None or not sizes.size:
        return
    size = np.geomspace(sizes.min(), sizes.max(), 60)
    time = theoretical_ms(size, rtt_ms, float(runs.floats("link_rate_bps")[row]))
    ax.plot(
        size / 1e3, time, color=palette().ink, linewidth=0.9, label="theoretical", gid="theoretical"
    )


def _log_axes(ax: Axes, small: bool) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: names.digits(value)))
        axis.set_minor_formatter(NullFormatter())
    handles, _ = ax.get_legend_handles_labels()
    if handles and not small:
        order = handles[:-1][::-1] + handles[-1:]
        ax.legend(order, [str(h.get_label()) for h in order], loc="upper left", markerscale=4)


def _labels(array: AxesArray, runs: Table, grid: tuple[str, str] | None) -> None:
    for ax in array[-1]:
        ax.set_xlabel("size (KB)")
    for ax in array[:, 0]:
        ax.set_ylabel("time (ms)")
    if grid is None:
        return
    columns, rows = (names.ordered(runs.texts(f"set_{key}")) for key in grid)
    handles: dict[str, Any] = {}
    every: list[Axes] = list(array.ravel())
    for ax in every:
        own, labels = ax.get_legend_handles_labels()
        handles |= dict(zip(labels, own, strict=True))
    figure = array[0, 0].get_figure(root=True)
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=3, markerscale=4
    )
    for ax, text in zip(array[0], columns, strict=True):
        _beside(ax, 0.5, 1.06, f"{grid[0]}: {text}", 0)
    for ax, text in zip(array[::-1, -1], rows, strict=True):
        _beside(ax, 1.06, 0.5, f"{grid[1]}: {text}", -90)


def _beside(ax: Axes, x: float, y: float, text: str, turned: float) -> None:
    ax.set_visible(True)
    ax.text(
        x, y, text, transform=ax.transAxes, ha="center", va="center", rotation=turned, weight="bold"
    )


@styled
def efficiency(
    runs: Source, *, where: Mapping[str, str] | None = None, axes: Any = None
) -> AxesArray:
    """Completion over theoretical time by size, logarithmic: 1 is ideal.

    A dot at the mean, a line from the 1st to the 99th percentile. Bins begin at 1, 3, 9,
    27, 81, 243 and 729 KB. An Axes per run.
    DCttH figure 7 on the right, and figure 8.
    Reads ``completion_A_1000_3000_efficiency_mean``, ``_p1`` and ``_p99`` of every group and bin.
    """
    table = chosen(read(runs, "runs"), where)
    bins = table.matching(r"completion_(.+)_efficiency_mean")
    if not bins:
        raise missing(table, "completion_A_1000_3000_efficiency_mean")
    if len(table) > 8:
        raise ValueError(f"{len(table)} runs are too many for a row: choose some with where=…")
    if axes is None:
        axes = grid_of_axes(1, len(table), (TEXT, 2.3), sharex=True, sharey=True)
    array = given_axes(axes, 1, len(table))
    starts = sorted({_bin(name)[1] for name in bins})
    for row, ax in enumerate(array[0]):
        ax.axhline(1, color=palette().soft, linewidth=0.8)
        _spreads(ax, table, row, [_bin(name) for name in bins], starts)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: names.digits(value)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xticks(
            range(len(starts)), [names.digits(start / 1e3) for start in starts], fontsize=6.5
        )
        ax.set_xlabel("size from (KB)")
        ax.legend(loc="upper left")
        ax.set_title(Senders(table, int(table.floats("run")[row])).title(), fontsize=7)
    array[0, 0].set_ylabel("completion / theoretical time")
    return array


def _bin(name: str) -> tuple[str, int, int]:
    """``A_1000_3000`` as group, from and to."""
    found = re.fullmatch(r"(.+)_(\d+)_(\d+)", name)
    if found is None:
        raise ValueError(f'"completion_{name}_efficiency_mean" has no bounds of a bin')
    return found[1], int(found[2]), int(found[3])


def _spreads(
    ax: Axes, table: Table, row: int, bins: list[tuple[str, int, int]], starts: list[int]
) -> None:
    groups = list(dict.fromkeys(group for group, _, _ in bins))
    for i, group in enumerate(groups):
        own = [(start, end) for other, start, end in bins if other == group]
        columns = [f"completion_{group}_{start}_{end}_efficiency_" for start, end in own]
        mean, low, high = (
            np.array([table.floats(column + part)[row] for column in columns])
            for part in ("mean", "p1", "p99")
        )
        there = ~np.isnan(mean)
        if not there.any():
            continue
        x = np.array([starts.index(start) for start, _ in own]) + (i - (len(groups) - 1) / 2) * 0.3
        ax.errorbar(
            x[there],
            mean[there],
            yerr=np.clip([(mean - low)[there], (high - mean)[there]], 0, None),
            fmt=MARKERS[i % len(MARKERS)],
            color=palette().traffic[kind_of(table, group, [row])],
            elinewidth=0.8,
            label=sender_of(table, group, [row]),
        )
