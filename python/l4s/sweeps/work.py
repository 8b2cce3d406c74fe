"""The work of a worker: a batch of runs, one after the other, and one partition of them."""

from __future__ import annotations

import json
import socket
import traceback
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from l4s import _l4s
from l4s.errors import SweepError
from l4s.result import controls
from l4s.sweeps import durable, folder, ship
from l4s.sweeps.asked import Asked, Text
from l4s.sweeps.depends import State
from l4s.sweeps.keys import Keys, digits, name, packed

#: A text, and its settings.
Run: TypeAlias = tuple[Text, list[str]]


@dataclass(frozen=True)
class Work:
    """The common parameters of all batches of a sweep. A task carries it: a few kilobytes."""

    out: str
    manifest: dict[str, Any]
    own: bytes

    def record(self, text: Text, settings: list[str], tables: bool) -> _l4s.Record:
        """Does one run."""
        one = template(text).run(settings)
        own = ship.unpacked(self.own)
        sampling_ns = self.manifest["sampling_ns"]
        aqm, cc = own.get("aqm"), controls(own, one.groups)
        return _l4s.run(one, text.called, tables, sampling_ns, aqm, cc)


@lru_cache(4)
def state(own: bytes) -> State:
    """All that the algorithms of these bytes reach, before their first run in this process."""
    return State(ship.unpacked(own))


@lru_cache(16)
def template(text: Text) -> _l4s.Template:
    """A scenario's text, read once for all of its runs."""
    return _l4s.Template(text.source, text.text, text.folder)


def pack(asked: Asked, numbers: Iterable[int]) -> bytes:
    """The runs of a batch, some five bytes each: Dask holds on to the arguments of tasks."""
    return _pack([(asked.texts[text], set_) for text, set_ in map(asked.of, numbers)])


def _pack(runs: list[Run]) -> bytes:
    places: dict[Text, int] = {}
    placed = [(places.setdefault(text, len(places)), set_) for text, set_ in runs]
    return zlib.compress(json.dumps([list(places), placed]).encode(), 1)


def unpack(packed: bytes) -> list[Run]:
    """The inverse of :func:`pack`: of each run its text and its settings."""
    texts, placed = json.loads(zlib.decompress(packed))
    made = [Text(*text) for text in texts]
    return [(made[place], set_) for place, set_ in placed]


def halves(packed: bytes) -> tuple[bytes, bytes] | None:
    """The first and the second half of the runs that :func:`pack` packed, if there are two."""
    runs = unpack(packed)
    half = len(runs) // 2
    return (_pack(runs[:half]), _pack(runs[half:])) if half else None


def ready(code: str, own: bytes) -> None:
    """Raises if this worker cannot do runs."""
    _same(code)
    ship.unpacked(own)


def check(start: int, code: str, runs: bytes) -> tuple[int, bytes]:
    """Checks the runs from number ``start`` on. Returns that, and eight bytes of key for each."""
    _same(code)
    return start, keys_of(unpack(runs)).tobytes()


def keys_of(runs: list[Run]) -> Keys:
    """The keys of runs, each of which is checked."""
    places: dict[Text, list[int]] = {}
    for place, (text, _) in enumerate(runs):
        places.setdefault(text, []).append(place)
    keys = np.empty(len(runs), np.uint64)
    for text, its in places.items():
        keys[its] = packed(template(text).keys([runs[place][1] for place in its]))
    return keys


def batch(work: Work, runs: bytes, its: bytes) -> None:
    """Does the runs with these keys, and puts their partition in the folder."""
    ready(work.manifest["code"], work.own)
    out, keys = _shared(work), np.frombuffer(its, np.uint64)
    before = state(work.own)
    keep: list[str] = work.manifest["keep"]
    finished: list[_Finished] = []
    failures: list[dict[str, str]] = []
    for number, (text, set_) in enumerate(unpack(runs)):
        try:
            record = work.record(text, set_, "series" in keep)
            before.check()
            tables = {table: arrow(getattr(record, table)) for table in keep}
            finished.append(_Finished(number, record.summary, record.command, tables))
        except (KeyboardInterrupt, SystemExit):
            raise
        # A panic of the simulator is no Exception. The other runs know nothing of it.
        except BaseException:
            failures.append(failure(digits(keys[number : number + 1])[0], traceback.format_exc()))
    if failures:
        write_failures(out, keys, failures)
    if finished:
        _write(out, keys, finished, keep)


class _Finished(NamedTuple):
    number: int
    summary: str
    command: str
    tables: dict[str, pa.Table]


def arrow(table: _l4s.Table) -> pa.Table:
    """A table as one of pyarrow. ``pyarrow.table`` would read pandas first, for a second."""
    return pa.RecordBatchReader.from_stream(table).read_all()


def failure(key: str, trace: str) -> dict[str, str]:
    """A row of the failures."""
    return {"key": key, "traceback": trace}


def write_failures(out: Path, keys: Keys, failures: list[dict[str, str]]) -> None:
    """Says of the batch of these keys which runs of it failed."""
    _put(out, folder.FAILURES, name(keys), pa.Table.from_pylist(failures))


def _write(out: Path, keys: Keys, finished: list[_Finished], keep: list[str]) -> None:
    its = digits(keys[[one.number for one in finished]])
    # In place of the number of the run, which says nothing here.
    for table in keep:
        parts = [
            one.tables[table].set_column(0, "key", _column([key] * one.tables[table].num_rows))
            for key, one in zip(its, finished, strict=True)
        ]
        _put(out, table, name(keys), pa.concat_tables(parts))
    runs = arrow(_l4s.table_of_runs([(one.summary, one.command) for one in finished]))
    table = runs.set_column(0, "key", _column(its))
    # The last: where it is, the others are.
    _put(out, folder.RUNS, name(keys), table)


def _column(its: list[str]) -> pa.Array:
    """A column of keys. ``pyarrow.array`` and ``repeat`` would read pandas first."""
    offsets = 16 * np.arange(len(its) + 1, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer("".join(its).encode())]
    return pa.Array.from_buffers(pa.string(), len(its), buffers)


def _put(out: Path, table: str, name: str, rows: pa.Table) -> None:
    def fill(part: Path) -> None:
        pq.write_table(rows, part)

    durable.write(out / table / f"{name}.parquet", fill)


def _shared(work: Work) -> Path:
    """The folder, which this worker must share with the client."""
    out = Path(work.out)
    try:
        same = folder.owner(out) == work.manifest
    except OSError as error:
        raise SweepError(
            f"worker on {socket.gethostname()}: {error}\n"
            "  help: the folder of results must be one that client and workers share"
        ) from None
    if not same:
        raise SweepError(f"{out} became the folder of another sweep")
    return out


def _same(code: str) -> None:
    """Results of two codes are never the same sweep's."""
    if code != _l4s.CODE:
        here = f"worker on {socket.gethostname()} has l4s {_l4s.VERSION}, code {_l4s.CODE}"
        raise SweepError(f"{here}; the client has code {code}\n  help: install the same l4s there")
