"""The style that figures are drawn in, without a change to anybody's ``rcParams``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from .colours import DARK, LIGHT, Palette

P = ParamSpec("P")
R = TypeVar("R")

#: Several Axes, as ``matplotlib.figure.Figure.subplots`` returns them.
AxesArray = NDArray[np.object_]

_HERE = Path(__file__).parent
#: The palette of the innermost :func:`style`; ``None`` outside of any.
_palette: ContextVar[Palette | None] = ContextVar("l4s.figures.palette", default=None)


@contextmanager
def style(*, dark: bool = False, rc: Mapping[str, Any] | None = None) -> Iterator[Palette]:
    """The style of the figures for as long as the ``with`` block lasts; gives their palette.

    Every function of this package draws in it anyway. The block is for a dark page
    (``dark=True``), for settings of one's own (``rc={"font.size": 7}``), and for axes that are
    made by hand. ``rcParams`` are as before when it ends.
    """
    sheets: list[Any] = [_HERE / "l4s.mplstyle"]
    if dark:
        sheets.append(_HERE / "l4s-dark.mplstyle")
    token = _palette.set(DARK if dark else LIGHT)
    try:
        with matplotlib.style.context([*sheets, dict(rc or {})]):
            yield DARK if dark else LIGHT
    finally:
        _palette.reset(token)


def palette() -> Palette:
    """The palette to draw with."""
    return _palette.get() or LIGHT


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Runs a function that draws in the style that there is around it, else in the light one."""

    @functools.wraps(draw)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if _palette.get() is not None:
            return draw(*args, **kwargs)
        with style():
            return draw(*args, **kwargs)

    return run


#: Widths of a column and of the whole text of a paper, in inches.
COLUMN, TEXT = 3.4, 7.0


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot."""

    def _repr_png_(self) -> bytes:
        with style(), BytesIO() as png:
            self.savefig(png, format="png", dpi=144)
            return png.getvalue()


def grid_of_axes(
    rows: int,
    columns: int,
    size: tuple[float, float],
    *,
    sharex: bool | str = False,
    sharey: bool | str = False,
    heights: list[float] | None = None,
) -> AxesArray:
    """New Axes in a figure of their own, of ``size`` inches, which pyplot does not know of."""
    figure = Picture(figsize=size, layout="constrained")
    ratios = {"height_ratios": heights} if heights else None
    axes = figure.subplots(
        rows,
        columns,
        squeeze=False,
        sharex=sharex,  # type: ignore[arg-type]  # the stubs want a Literal
        sharey=sharey,  # type: ignore[arg-type]
        gridspec_kw=ratios,
    )
    return np.asarray(axes, dtype=object)


def given_axes(axes: Any, rows: int, columns: int) -> AxesArray:
    """The caller's axes as an array of this shape, or a ValueError."""
    array = np.asarray(axes, dtype=object)
    if array.size != rows * columns:
        raise ValueError(f"{rows} x {columns} axes are needed, {array.size} were given")
    return array.reshape(rows, columns)


def one_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The caller's Axes, or new ones."""
    if ax is not None:
        return ax
    new: Axes = grid_of_axes(1, 1, size)[0, 0]
    return new


def width_of(ax: Axes) -> float:
    """How wide Axes are, about, in inches."""
    figure = ax.get_figure(root=True)
    spec = ax.get_subplotspec()
    columns = spec.get_gridspec().ncols if spec is not None else 1
    return float(figure.get_figwidth()) / columns if figure is not None else TEXT


def legend_above(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> int:
    """A legend above the Axes, in as few rows as there is room for; how many these are."""
    if not handles:
        return 0
    # A letter is some 4.3 points wide, a handle with its gaps 22.
    widths = [len(label) * 4.3 + 22 for label in labels]
    room = width_of(ax) * 72 - 20
    columns = len(widths) if sum(widths) <= room else max(1, int(room / max(widths)))
    # Entries go down a column first: the number of columns makes all rows full.
    rows = -(-len(widths) // columns)
    columns = -(-len(widths) // rows)
    ax.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0
    )
    return rows


def title_above(ax: Axes, text: str, rows: int) -> None:
    """A title above a legend of this number of rows that is above the Axes."""
    ax.set_title(text, pad=4 + 10.5 * rows)


def figure_of(axes: Axes | AxesArray | Figure) -> Figure:
    """The whole figure that something drawn here is in."""
    found: Any = axes
    if isinstance(found, np.ndarray):
        found = found.flat[0]
    if isinstance(found, Axes):
        found = found.get_figure(root=True)
    if isinstance(found, Figure) and not isinstance(found, SubFigure):
        return found
    raise ValueError("these axes are in no figure")


def save(axes: Axes | AxesArray | Figure, path: str | PathLike[str], **options: Any) -> None:
    """Writes the figure of ``axes``; PDF with fonts that can be read, SVG without a date."""
    suffix = Path(path).suffix.lower()
    if suffix in (".svg", ".pdf"):
        date = {"Date": None} if suffix == ".svg" else {"CreationDate": None}
        options.setdefault("metadata", date)
    with style():
        figure_of(axes).savefig(path, **options)
