"""The results of a sweep, or of the command line, in a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from l4s.errors import SweepError
from l4s.sweeps import folder
from l4s.sweeps.index import Index, conform, each, read_table, unified
from l4s.sweeps.keys import Keys, Places, packed

if TYPE_CHECKING:
    import pyarrow.dataset as pads

    from l4s.summary import Summary

Name: TypeAlias = Literal["runs", "series", "delays", "flows"]


@dataclass(frozen=True)
class Failure:
    """A run that raised."""

    run: int
    """Its number in the grid."""
    key: str
    """What tells it from any other, as of :meth:`l4s.Grid.keys`."""
    traceback: str
    """What it raised, and where."""

    @property
    def error(self) -> str:
        """The last line of that which is not indented: the error, without the help after it."""
        return next(one for one in reversed(self.traceback.splitlines()) if one[:1].strip())


class Sweep:
    """Results of many runs.

    A snapshot of the folder: later additions of others are not in it. Tables are read when they are
    asked for, and are in memory then as a whole; :meth:`dataset` and :meth:`summaries` are for
    those that do not fit.
    """

    def __init__(self, path: Path, keys: Keys) -> None:
        self.path = path
        """The folder."""
        self._keys = keys
        self._numbers = Places(keys)
        self._index = Index(path / folder.RUNS)

    def _refresh(self) -> None:
        self._index.refresh()

    def _at(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The numbers of the runs that are there, ascending, and their places in the index."""
        numbers = self._numbers.firsts
        places = self._index.places.of(self._keys[numbers])
        return numbers[places >= 0], places[places >= 0]

    def _missing(self) -> NDArray[np.intp]:
        """The numbers of the runs that are not there, ascending."""
        numbers = self._numbers.firsts
        return numbers[self._index.places.of(self._keys[numbers]) < 0]

    def __len__(self) -> int:
        """How many runs there are results of."""
        return len(self._at()[0])

    @cached_property
    def runs(self) -> pa.Table:
        """A row per run: the columns of ``runs.parquet`` in docs/reference/results.md.

        ``run`` is its number in the grid and ``key`` its identity. Rows are in the
        order of ``run``; a run that the grid has twice is there once, under its first number.
        """
        return self._table("runs")

    @cached_property
    def series(self) -> pa.Table:
        """Time series of all runs, by ``run``, where ``keep`` had them."""
        return self._table("series")

    @cached_property
    def delays(self) -> pa.Table:
        """Histograms of queueing delay of all runs, by ``run``, where ``keep`` had them."""
        return self._table("delays")

    @cached_property
    def flows(self) -> pa.Table:
        """A row per flow or download of all runs, by ``run``, where ``keep`` had them."""
        return self._table("flows")

    def dataset(self, name: Name = "runs") -> pads.Dataset:
        """A table as a dataset of pyarrow, which reads as much of it as is asked for.

        It is the contents of the folder: rows in no order, with their ``key``, and also those of
        runs that are in the folder but not in this grid. Where two clients did a run at the same
        time, it can be there twice, with the same numbers.
        """
        # It brings pandas, where that is.
        import pyarrow.dataset as pads

        files = [self._kept(name) / part for part in self._index.names]
        schema = unified(each(pq.read_schema, files))
        return pads.dataset(files, schema=schema, format="parquet")

    def summaries(self) -> Iterator[Summary]:
        """The summary of each run, in the order of their numbers; a few in memory at a time."""

        @lru_cache(16)
        def column(part: int) -> list[str]:
            path = self._index.folder / self._index.names[part]
            texts: list[str] = read_table(path, ["summary_json"])[0].to_pylist()
            return texts

        for place in self._at()[1]:
            texts = column(int(self._index.part[place]))
            yield cast("Summary", json.loads(texts[self._index.row[place]]))

    @property
    def failures(self) -> list[Failure]:
        """The runs that raised and were not done since, with their last exception."""
        files = sorted(
            (self.path / folder.FAILURES).glob("*.parquet"), key=lambda path: path.stat().st_mtime
        )
        last = {
            row["key"]: row["traceback"] for file in files for row in read_table(file).to_pylist()
        }
        keys = packed(list(last))
        numbers = self._numbers.of(keys)
        open_ = (numbers >= 0) & (self._index.places.of(keys) < 0)
        found = zip(numbers.tolist(), last.items(), open_.tolist(), strict=True)
        return sorted(
            (Failure(run, key, trace) for run, (key, trace), is_open in found if is_open),
            key=lambda failure: failure.run,
        )

    def _kept(self, name: Name) -> Path:
        if name != "runs" and name not in folder.owner(self.path)["keep"]:
            raise SweepError(f"{self.path} has no {name}: l4s.sweep(..., keep=[{name!r}]) keeps it")
        return self.path / name

    def _table(self, name: Name) -> pa.Table:
        kept, index = self._kept(name), self._index
        _, places = self._at()
        # Of each row of a partition, whether it is the one that counts.
        counts = np.zeros(len(index.keys), bool)
        counts[places] = True

        def part(number: int) -> pa.Table:
            table = read_table(kept / index.names[number])
            key = table["key"].combine_chunks().dictionary_encode()
            its = packed(key.dictionary.to_pylist())
            place, run = index.places.of(its), self._numbers.of(its)
            good = (place >= 0) & (run >= 0)
            good &= counts[place] & (index.part[place] == number)
            of_row = key.indices.to_numpy()
            table = table.filter(pa.array(good[of_row]))
            numbers = pa.array(run[of_row][good[of_row]], pa.uint32())
            return _sorted(table.add_column(0, "run", numbers))

        # Those whose runs are consecutive need no sorting of the whole.
        parts, first = np.unique(index.part[places], return_index=True)
        tables = list(each(part, parts[np.argsort(first)].tolist()))
        if not tables:
            return pa.table({"run": pa.array([], pa.uint32()), "key": pa.array([], pa.string())})
        schema = unified(table.schema for table in tables)
        return _sorted(pa.concat_tables([conform(table, schema) for table in tables]))

    def __repr__(self) -> str:
        missing = len(self._missing())
        rest = f", {missing:,} missing" if missing else ""
        return f"<Sweep of {len(self):,} runs{rest}: {self.path}>"


def _sorted(table: pa.Table) -> pa.Table:
    """By run; rows of a run stay in their order."""
    run = table["run"].to_numpy()
    return table if (run[:-1] <= run[1:]).all() else table.take(np.argsort(run, kind="stable"))


class _Whole(Sweep):
    """The output of the command line: a file per table, and no keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return int(pq.read_metadata(self.path / "runs.parquet").num_rows)

    def _file(self, name: Name) -> Path:
        return self.path / f"{name}.parquet"

    def _table(self, name: Name) -> pa.Table:
        return read_table(self._file(name))

    def dataset(self, name: Name = "runs") -> pads.Dataset:
        import pyarrow.dataset as pads

        return pads.dataset(self._file(name), format="parquet")

    def summaries(self) -> Iterator[Summary]:
        file = pq.ParquetFile(self._file("runs"))
        for batch in file.iter_batches(1000, columns=["summary_json"]):
            for text in batch.column(0).to_pylist():
                yield cast("Summary", json.loads(text))

    @property
    def failures(self) -> list[Failure]:
        return []

    def __repr__(self) -> str:
        return f"<Sweep of {len(self):,} runs: {self.path}>"


def read(path: str | os.PathLike[str]) -> Sweep:
    """The contents of a folder: one of :func:`l4s.sweep`, or of ``l4s run --out``.

    Of a sweep, ``run`` counts the runs in the order in which they were first asked for; where the
    folder was only ever used with one grid, it is the number in that. The command line writes no
    ``key``.

    Raises:
        SweepError: it is neither.
    """
    path = Path(path).absolute()
    if (path / folder.MANIFEST).is_file():
        folder.owner(path)
        keys = folder.remembered(path)
        there = Index(path / folder.RUNS).keys
        # Of clients that began at the same time only one may have been recorded.
        return Sweep(path, np.concatenate([keys, there[~np.isin(there, keys)]]))
    if (path / "runs.parquet").is_file():
        return _Whole(path)
    raise SweepError(f"{path}: no results of l4s: expected {folder.MANIFEST} or runs.parquet")
