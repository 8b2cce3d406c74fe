"""The columns of a table whose parts were written one by one."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def column_names(rows: Iterable[Iterable[str]]) -> list[str]:
    """The columns of all rows, or tables, each given by its names.

    A column that only later ones have comes after the one that it follows there, so that the
    quantities of a queue stay together.
    """
    names: list[str] = []
    seen: set[tuple[str, ...]] = set()
    known: set[str] = set()
    for row in rows:
        # The common case: nothing new.
        its = tuple(row)
        if its in seen:
            continue
        seen.add(its)
        place = 0
        for name in its:
            if name in known:
                place = names.index(name) + 1
            else:
                names.insert(place, name)
                known.add(name)
                place += 1
    return names


def widest(types: Iterable[pa.DataType]) -> pa.DataType:
    """The type of a column whose parts have these: as if all values had been written at once."""
    kinds = set(types)
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {pa.uint64(), pa.int64()}:
        return pa.int64()
    if kinds <= {pa.uint64(), pa.int64(), pa.float64()}:
        return pa.float64()
    return pa.string()
