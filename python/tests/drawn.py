"""What tests of figures have in common: tables, and what an axes holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer

DATA = Path(__file__).parent / "data"
PIE = {"case": "pie ecn-cubic:cubic"}
DUALPI2 = {"case": "dualpi2 dctcp:cubic"}


def data(name: str) -> pa.Table:
    """A table of the folder ``data``."""
    return pq.read_table(DATA / f"{name}.parquet")


def pictured(test: Any) -> Any:
    """A test whose figure is compared with a picture; fonts differ a little between versions."""
    return pytest.mark.mpl_image_compare(
        baseline_dir="baseline", style="default", tolerance=1.5, savefig_kwargs={"dpi": 60}
    )(test)


def heights(ax: Axes, number: int = 0) -> list[float]:
    """The heights of a group of bars."""
    bars = [c for c in ax.containers if isinstance(c, BarContainer)][number]
    return [bar.get_height() for bar in bars]


def crosses(ax: Axes, number: int = 0) -> tuple[Any, list[tuple[float, float]]]:
    """The dots of a track, and the ends of their whiskers."""
    found = [c for c in ax.containers if isinstance(c, ErrorbarContainer)][number]
    whiskers = [
        (segment[0][1], segment[1][1]) for bars in found.lines[2] for segment in bars.get_segments()
    ]
    return found.lines[0].get_ydata(), whiskers


def labels(ax: Axes) -> list[str]:
    """What the legend says."""
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def run_of(a: str, b: str) -> int:
    rows = data("mixes").to_pylist()
    return next(
        int(r["run"]) for r in rows if (r["set_group.A.flows"], r["set_group.B.flows"]) == (a, b)
    )
