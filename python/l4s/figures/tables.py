"""Results as columns: the one place that reads a caller's data."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from l4s.sweeps import results


class ArrowStream(Protocol):
    """Data that Arrow can read: a table of pyarrow, polars, pandas, or of this package."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule interface."""


class Results(Protocol):
    """A :class:`l4s.Result`, an :class:`l4s.Sweep`, or any object with such tables."""

    @property
    def runs(self) -> ArrowStream:
        """A row per run."""


#: A table, an object with several, or the path of a result folder, of one of a sweep, or of a
#: parquet file.
Source: TypeAlias = "ArrowStream | Results | str | os.PathLike[str] | Table"
Floats: TypeAlias = NDArray[np.float64]

#: Which scenario makes a column, by its beginning; the first that fits.
_MADE_BY = (
    (r"completion_|size|completion_ms", "dctth-9"),
    (r"ratio_|queue_|group_", "dctth-4"),
    (r"set_udp", "dctth-10"),
    (r"set_(traffic|schedule)", "fallback-500"),
    (r"set_group\.[AB]\.flows", "dctth-5"),
    (r"set_", "dctth-4"),
    (r"classic_ecn|fbk_", "fallback-8"),
    (r"", "dctth-4"),
)


class Table:
    """Columns by name, absent values as NaN or ``None``."""

    def __init__(self, arrow: Any, name: str) -> None:
        self._arrow = arrow
        #: Its name in messages: ``runs``, ``series``, ``delays`` or ``flows``.
        self.name = name

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._arrow.column_names)

    def floats(self, column: str) -> Floats:
        """A column of numbers; absent values are NaN."""
        values = self._column(column).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.asarray(values, dtype=np.float64)

    def maybe(self, column: str) -> Floats:
        """The same, all NaN where there is no such column."""
        if column in self.names:
            return self.floats(column)
        return np.full(len(self), np.nan)

    def texts(self, column: str) -> list[str]:
        """A column as text; absent values are empty."""
        return ["" if value is None else str(value) for value in self._column(column).to_pylist()]

    def codes(self, column: str) -> tuple[list[str], NDArray[np.int64]]:
        """The distinct texts of a long column, and for each row the place of its own."""
        encoded = self._column(column).combine_chunks().dictionary_encode()
        places = encoded.indices.to_numpy(zero_copy_only=False)
        return [str(text) for text in encoded.dictionary.to_pylist()], np.asarray(places, np.int64)

    def matching(self, pattern: str) -> dict[str, str]:
        """Columns whose whole name fits, by the pattern's first group in it."""
        found = ((re.fullmatch(pattern, name), name) for name in self.names)
        return {match[1]: name for match, name in found if match}

    def where(self, rows: NDArray[np.bool_]) -> Table:
        """Some rows."""
        return Table(self._arrow.filter(pa.array(rows)), self.name)

    def of_runs(self, runs: Sequence[int]) -> Table:
        """The rows of these runs, by their number in the column ``run``."""
        return self.where(np.isin(self.floats("run"), list(runs)))

    def needs(self, *columns: str) -> None:
        """Raises if a column is missing: names it, the nearest one, and its option."""
        for column in columns:
            if column not in self.names:
                raise missing(self, column)

    def _column(self, column: str) -> Any:
        self.needs(column)
        return self._arrow.column(column)


def missing(table: Table, column: str) -> ValueError:
    """A column that there is not."""
    near = difflib.get_close_matches(column, table.names, n=3, cutoff=0.5)
    says = f"nearest: {', '.join(near)}" if near else f"it has {', '.join(table.names[:8])}, …"
    scenario = next(name for pattern, name in _MADE_BY if re.match(pattern, column))
    return ValueError(
        f'{table.name} has no column "{column}"; {says}. "l4s run {scenario} --out DIR" makes one.'
    )


def read(source: Source, name: str) -> Table:
    """A caller's data, as the table ``name`` of a result folder.

    Paths are of a folder that :func:`l4s.read` reads, or of a parquet file; all else is left to
    ``pyarrow.table``: objects with ``__arrow_c_stream__``, record batches, data frames of
    pandas, and mappings of columns.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not os.path.isdir(path):
            return Table(pq.read_table(path), name)
        alone = os.path.join(path, f"{name}.parquet")
        if os.path.isfile(alone):
            return Table(pq.read_table(alone), name)
        source = results.read(path)
    if _holds(source, name):
        source = getattr(source, name)
    return Table(_plain(pa.table(source)), name)


def _holds(source: object, name: str) -> bool:
    """Whether it is no table, but has this one. (A data frame may have a column of that name.)"""
    return not hasattr(source, "__arrow_c_stream__") and hasattr(type(source), name)


def _plain(arrow: Any) -> Any:
    """Text as text: polars has views and pandas may have categories, which Arrow cannot filter."""
    for place, field in enumerate(arrow.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) or str(kind) in ("string_view", "large_string"):
            arrow = arrow.set_column(place, field.name, arrow.column(place).cast(pa.string()))
    return arrow


def beside(source: Source, other: Source | None, name: str) -> Table | None:
    """Another table of the same folder: the caller's, else the folder's, else nothing."""
    if other is not None:
        return read(other, name)
    if _holds(source, name):
        return read(source, name)
    if isinstance(source, (str, os.PathLike)):
        folder = os.fspath(source)
        folder = folder if os.path.isdir(folder) else os.path.dirname(folder)
        table = os.path.join(folder, name)
        # The latter is one of a sweep.
        if os.path.isfile(f"{table}.parquet") or os.path.isdir(table):
            return read(folder, name)
    return None


def pick(table: Mapping[str, Source], name: str) -> Source:
    """A table of several, or a ValueError that says which there are."""
    if name not in table:
        raise ValueError(f'this figure needs the table "{name}"; there is {", ".join(table)}')
    return table[name]
