"""The figures of the L4S papers, drawn by matplotlib from tables of results.

Every function takes data that Arrow can read (a table of pyarrow or polars, a data frame of
pandas) or the path of a result folder, and returns Axes. ``draw`` makes a figure of a paper by its
id:

>>> from l4s import figures
>>> axes = figures.draw("dctth-4", "out/dctth-4")       # doctest: +SKIP
>>> figures.save(axes, "dctth-4.pdf")                   # doctest: +SKIP

Figures belong to their Axes and not to pyplot: ``save(axes, path)`` writes one, and a notebook
shows ``figure_of(axes)``.
"""

from __future__ import annotations

from .conditions import (
    delay_crosses,
    flow_mix,
    overload,
    overload_output,
    panels,
    probabilities,
    rate_balance,
    shares,
    utilization,
)
from .distributions import delay_distribution
from .downloads import completion, efficiency
from .look import AxesArray, figure_of, palette, save, style
from .matrices import matrix
from .papers import PAPERS, Paper, draw
from .squares import lights
from .times import time_series

__all__ = [
    "PAPERS",
    "AxesArray",
    "Paper",
    "completion",
    "delay_crosses",
    "delay_distribution",
    "draw",
    "efficiency",
    "figure_of",
    "flow_mix",
    "lights",
    "matrix",
    "overload",
    "overload_output",
    "palette",
    "panels",
    "probabilities",
    "rate_balance",
    "save",
    "shares",
    "style",
    "time_series",
    "utilization",
]
