"""Which runs are in the partitions of a folder, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from l4s.errors import SweepError
from l4s.sweeps import durable
from l4s.sweeps.columns import column_names, widest
from l4s.sweeps.keys import Keys, Places, packed

T = TypeVar("T")
U = TypeVar("U")


class Index:
    """The runs of a folder of partitions: some 32 bytes each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        #: Of each row, in the order of names and rows.
        self.keys: Keys = np.empty(0, np.uint64)
        self.part: NDArray[np.int32] = np.empty(0, np.int32)
        self.row: NDArray[np.int32] = np.empty(0, np.int32)
        #: Of two rows with one key, that of the first partition counts.
        self.places = Places(self.keys)
        self.refresh()

    def refresh(self) -> None:
        """Looks for partitions that are new."""
        known = set(self.names)
        new = sorted(
            path.name
            for path in self.folder.glob("*.parquet")
            if path.name not in known and not durable.is_leftover(path.name)
        )
        keys = list(each(self._read, new))
        parts = range(len(self.names), len(self.names) + len(new))
        self.keys = np.concatenate([self.keys, *keys])
        self.part = np.concatenate(
            [self.part, *(np.full(len(k), p, np.int32) for p, k in zip(parts, keys, strict=True))]
        )
        self.row = np.concatenate([self.row, *(np.arange(len(k), dtype=np.int32) for k in keys)])
        self.names += new
        self.places = Places(self.keys)

    def _read(self, name: str) -> Keys:
        table = read_table(self.folder / name, ["key"])
        return packed(table["key"].to_pylist())


def each(function: Callable[[T], U], things: Iterable[T]) -> Iterator[U]:
    """The result for each, in order; files are read a few at a time."""
    with ThreadPoolExecutor(8) as threads:
        yield from threads.map(function, things)


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A partition."""
    try:
        return pq.ParquetFile(path).read(columns, use_threads=False)
    except pa.ArrowInvalid as error:
        raise SweepError(
            f"{path}: {error}\n  help: remove it; l4s.sweep does its runs again"
        ) from None


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The columns of any of them, with types that fit all."""
    different: list[pa.Schema] = []
    for schema in schemas:
        if not any(schema.equals(known) for known in different):
            different.append(schema)
    fields = []
    for name in column_names(schema.names for schema in different):
        types = [schema.field(name).type for schema in different if name in schema.names]
        fields.append(pa.field(name, widest(types)))
    return pa.schema(fields)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with exactly these columns; null where it has none."""
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
