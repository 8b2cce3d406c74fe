"""One quantity, or several above each other, at each condition of a sweep.

Link rate, then RTT along the x axis; a colour and a marker per discipline and queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from .look import COLUMN, TEXT, AxesArray, given_axes, grid_of_axes, one_axes, styled, title_above
from .panel import draw_panel, draw_places
from .quantities import PANELS
from .sweep import chosen, lay_out
from .tables import Source, read

Where = Mapping[str, str]


@styled
def panels(
    runs: Source,
    show: Sequence[str] = ("delay", "window balance", "utilization", "signals"),
    *,
    by_line: bool = False,
    outer: str | None = None,
    where: Where | None = None,
    axes: Any = None,
) -> AxesArray:
    """Several quantities above each other at each condition of a sweep.

    ``show`` names them from top to bottom: ``delay``, ``window balance``, ``rate balance``,
    ``utilization``, ``signals``, ``shares`` and ``output``: the panels that the functions of this
    module draw. ``by_line`` gives each discipline a column of its own.

    DCttH figures 4, 9 and 10, Qdisc figure 3, IETF97, and Fallback figures 1 and 7 and appendix D.

    Args:
        runs: the table of runs, or a result folder; the columns are those of the quantities.
        outer: the key of the sweep that groups the x axis, such as ``link.rate``.
        where: values of keys of the sweep, such as ``{"case": "pie ecn-cubic:cubic"}``.
        axes: as many Axes as there are panels, instead of new ones.

    Returns:
        An array of Axes, a row per quantity.
    """
    unknown = [name for name in show if name not in PANELS]
    if unknown:
        raise ValueError(f'no quantity is called "{unknown[0]}"; there is {", ".join(PANELS)}')
    sweep = lay_out(chosen(read(runs, "runs"), where), outer)
    columns = [[line] for line in sweep.lines] if by_line else [sweep.lines]
    shape = (len(show), len(columns))
    heights = [PANELS[name].height for name in show]
    if axes is None:
        size = (TEXT, 0.6 + 1.15 * sum(heights))
        axes = grid_of_axes(*shape, size, sharex="col", sharey="row", heights=heights)
    array = given_axes(axes, *shape)
    for row, name in enumerate(show):
        for column, lines in enumerate(columns):
            above = draw_panel(array[row, column], PANELS[name], sweep, lines, by_line)
            if by_line and row == 0:
                title_above(array[row, column], lines[0].name, above)
            if column > 0:
                array[row, column].set_ylabel("")
    for ax in array[-1]:
        draw_places(ax, sweep)
    return array


def _alone(
    name: str, runs: Source, outer: str | None, where: Where | None, ax: Axes | None
) -> Axes:
    """One quantity in one Axes."""
    sweep = lay_out(chosen(read(runs, "runs"), where), outer)
    panel = PANELS[name]
    width = TEXT if len(sweep.x) > 8 else COLUMN
    ax = one_axes(ax, (width, 0.9 + 1.2 * panel.height))
    draw_panel(ax, panel, sweep, sweep.lines, by_line=False)
    draw_places(ax, sweep)
    return ax


@styled
def delay_crosses(
    runs: Source,
    *,
    outer: str | None = None,
    where: Where | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Queueing delay in ms, logarithmic: a dot at the mean, a line from 1st to 99th percentile.

    The first row of DCttH figures 4 and 9, and Qdisc figure 3.
    Reads ``queue_Q_delay_mean_ms``, ``_p1_ms`` and ``_p99_ms`` of every queue (L, C or Q).
    """
    return _alone("delay", runs, outer, where, ax)


@styled
def rate_balance(
    runs: Source,
    *,
    of: str = "rate",
    outer: str | None = None,
    where: Where | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rate of a flow of the first group over one of the second; the line at 1 is equal shares.

    ``of="window"`` has packets in flight instead, the quantity that the coupling balances (DCttH
    figure 4). Rates are in DCttH figure 6 and in Fallback figures 1 and 7.
    Reads ``ratio_rate_A_B`` or ``ratio_window_A_B``.
    """
    return _alone(f"{of} balance", runs, outer, where, ax)


@styled
def utilization(
    runs: Source,
    *,
    outer: str | None = None,
    where: Where | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The share of the link that was used, in percent (DCttH figures 4, 5, 6 and 9).

    Reads ``link_utilization``.
    """
    return _alone("utilization", runs, outer, where, ax)


@styled
def probabilities(
    runs: Source,
    *,
    outer: str | None = None,
    where: Where | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Packets marked (filled) and dropped (hollow) in percent; nothing where it is none.

    Marks are over forwarded packets, drops over arrived ones (DCttH figures 4, 5, 6 and 10).
    Reads ``queue_Q_mark`` and ``queue_Q_drop`` of every queue.
    """
    return _alone("signals", runs, outer, where, ax)


@styled
def shares(
    runs: Source,
    *,
    outer: str | None = None,
    where: Where | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rate of each group's flows over an equal share, with their 1st to 99th percentile.

    The bars of DCttH figures 5 and 6, of one discipline: say which with ``where``.
    Reads ``group_A_normalized_rate``, ``group_A_rate_per_flow_bps``, ``group_A_flow_rates_p1_bps``
    and ``_p99_bps`` of every group.
    """
    return _alone("shares", runs, outer, where, ax)


@styled
def overload_output(
    runs: Source,
    *,
    outer: str | None = None,
    where: Where | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The output of the link by sender, in Mb/s, stacked, beside an unresponsive sender.

    The first row of DCttH figure 10, of one discipline: say which with ``where``; IETF97.
    Reads ``group_A_rate_bps`` of every group and UDP source.
    """
    return _alone("output", runs, outer, where, ax)


@styled
def flow_mix(
    runs: Source,
    *,
    outer: str | None = None,
    where: Where | None = None,
    axes: Any = None,
) -> AxesArray:
    """Shares, delay, utilization and signals at each mix of flows or of RTTs.

    A column per discipline. DCttH figures 5 and 6. A mix is a pair of numbers of flows, or of
    RTTs: with all 121 of them choose one discipline with ``where``. Reads the columns of
    :func:`shares`, :func:`delay_crosses`, :func:`utilization` and :func:`probabilities`.
    """
    show = ("shares", "delay", "utilization", "signals")
    return panels(runs, show, by_line=True, outer=outer, where=where, axes=axes)


@styled
def overload(
    runs: Source,
    *,
    outer: str | None = "udp.U.ecn",
    where: Where | None = None,
    axes: Any = None,
) -> AxesArray:
    """The capacity that an unresponsive sender leaves to the others, over its rate.

    A column per discipline: output of the link, window ratio, signals and queueing delay (DCttH
    figure 10). Reads the columns of :func:`overload_output`, :func:`rate_balance`,
    :func:`probabilities` and :func:`delay_crosses`.
    """
    show = ("output", "window balance", "signals", "delay")
    return panels(runs, show, by_line=True, outer=outer, where=where, axes=axes)
