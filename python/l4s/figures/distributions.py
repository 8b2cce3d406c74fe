"""How long packets wait: distributions of the delay of queues and groups, from histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from . import names
from .colours import DASHES
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
from .tables import Floats, Source, Table, beside, read
from .times import Senders, numbers_of

#: The left end of the axis, in ms.
_LEAST = 0.01


@styled
def delay_distribution(
    delays: Source,
    *,
    runs: Source | None = None,
    run: int | list[int] | None = None,
    scope: str = "queue",
    axes: Any = None,
) -> AxesArray:
    """Share of packets, in percent, with at most this delay in ms; an Axes per run.

    The distributions of the Slides, "Qsize". ``scope`` is ``queue`` or ``group``.
    Reads ``run``, ``scope``, ``name``, ``high_ms`` and ``count`` of the delays, and for names and
    colours the table of runs.
    """
    about = beside(delays, runs, "runs")
    table = read(delays, "delays")
    table.needs("run", "scope", "name", "high_ms", "count")
    numbers = numbers_of(table, run)
    if axes is None:
        axes = grid_of_axes(1, len(numbers), (TEXT, 2.2), sharex=True, sharey=True)
    array = given_axes(axes, 1, len(numbers))
    for ax, number in zip(array[0], numbers, strict=True):
        shares = cumulated(table.of_runs([number]), scope)
        senders = Senders(about, number, list(shares))
        for name, (ms, share) in shares.items():
            if scope == "queue":
                kind = {"L": "l4s", "C": "classic"}.get(name, "udp")
                label = names.QUEUES.get(name, name) or "single queue"
                colour = palette().traffic[kind]
            else:
                kind, label, colour = senders.kind(name), senders.label(name), senders.colour(name)
            ax.step(ms, 100 * share, where="post", color=colour, ls=DASHES[kind], label=label)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.digits(value)))
        # Packets without delay are to the left of it.
        ax.set_xlim(left=_LEAST)
        ax.set_ylim(0, 101)
        ax.set_xlabel("queueing delay (ms)")
        above = legend_above(ax, *ax.get_legend_handles_labels())
        if len(numbers) > 1:
            title_above(ax, senders.title(), above)
    array[0, 0].set_ylabel("packets (%)")
    return array


def cumulated(table: Table, scope: str) -> dict[str, tuple[Floats, Floats]]:
    """Upper ends of bins, and the share of packets up to them, for each queue or group of a run."""
    own = table.where(np.array([text == scope for text in table.texts("scope")], dtype=np.bool_))
    found, codes = own.codes("name")
    high, count = own.floats("high_ms"), own.floats("count")
    out = {}
    for i, name in enumerate(found):
        mine = codes == i
        order = np.argsort(high[mine])
        up = np.cumsum(count[mine][order])
        out[name] = (high[mine][order], up / up[-1])
    return out
