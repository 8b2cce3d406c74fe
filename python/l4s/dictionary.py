"""The meaning of the columns of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from l4s import _l4s

#: Columns that only sweeps have.
_KEY = "What tells the run from any other: sixteen digits, the same on every machine."


class Column(NamedTuple):
    """One column of a table."""

    table: str
    """``runs``, ``series``, ``delays`` or ``flows``."""
    name: str
    """Its name; what a scenario names stands in braces, as in ``queue_{name}_mark``."""
    type: str
    """Its type, as Arrow calls it."""
    unit: str
    """Its unit; empty for what has none."""
    interval: str
    """Of which time it is."""
    meaning: str
    """What it is."""


def columns(table: Any = None) -> list[Column]:
    """The meaning of the columns of a table: its dictionary.

    >>> [column.unit for column in columns("delays") if column.name == "low_ms"]
    ['ms']

    Args:
        table: ``"runs"``, ``"series"``, ``"delays"`` or ``"flows"``; a table that a run, a sweep or
            a file of one gave; or None for all four.

    Raises:
        ValueError: there is no such table, or it has a column that no table of l4s has.
    """
    if table is None:
        return list(_all())
    if isinstance(table, str):
        found = [column for column in _all() if column.table == table]
        if not found:
            raise ValueError(f"{table!r}: expected runs, series, delays or flows")
        return found
    names: list[str] = list(getattr(table, "column_names", getattr(table, "columns", ())))
    if not names:
        raise ValueError(f"{table!r}: expected a table, or the name of one")
    return [_of(name, _kind(names)) for name in names]


@cache
def _all() -> tuple[Column, ...]:
    said = [Column(*column) for column in _l4s.dictionary()]
    tables = dict.fromkeys(column.table for column in said)
    keys = [Column(table, "key", "Utf8", "", "the row", _KEY) for table in tables]
    return tuple(column for key in keys for column in (*_in(said, key.table), key))


def _in(columns: Iterable[Column], table: str) -> list[Column]:
    return [column for column in columns if column.table == table]


def _kind(names: Iterable[str]) -> str:
    """Which table has these columns."""
    its = set(names)
    telling = {"summary_json": "runs", "time_s": "series", "low_ms": "delays", "flow": "flows"}
    return next((table for name, table in telling.items() if name in its), "runs")


def _of(name: str, table: str) -> Column:
    """The column of that name; where several would do, that which says the most of it."""
    fitting = [column for column in _in(_all(), table) if _pattern(column.name).fullmatch(name)]
    if not fitting:
        raise ValueError(f"{name!r}: no column of the table {table}")
    said = max(fitting, key=lambda column: len(re.sub(r"\{\w+\}", "", column.name)))
    return said._replace(name=name)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    # Two paths may give one name: then the later one is numbered.
    parts = re.split(r"\{\w+\}", name)
    end = r"(_\d+)?" if len(parts) > 1 else ""
    return re.compile(".+".join(map(re.escape, parts)) + end, re.DOTALL)
