"""What a worker does: a batch of runs, one after the other, and one partition of them."""

from __future__ import annotations

import json
import socket
import traceback
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from l4s import _l4s
from l4s.errors import SweepError
from l4s.sweeps import durable, folder
from l4s.sweeps.keys import Keys, digits, name, packed


@dataclass(frozen=True)
class Work:
    """What all batches of a sweep have in common. A task carries it: a few kilobytes."""

    out: str
    manifest: dict[str, Any]
    called: str
    source: str
    text: str
    own: Mapping[str, Callable[[], Any]]

    def record(self, settings: list[str], tables: bool) -> _l4s.Record:
        """Does one run."""
        one = template(self.source, self.text).run(settings)
        cc = [(place[3:], make) for place, make in self.own.items() if place.startswith("cc.")]
        sampling_ns = self.manifest["sampling_ns"]
        return _l4s.run(one, self.called, tables, sampling_ns, self.own.get("aqm"), cc)


@lru_cache(4)
def template(source: str, text: str) -> _l4s.Template:
    """A scenario's text, read once for all of its runs."""
    return _l4s.Template(source, text)


def pack(settings: list[list[str]]) -> bytes:
    """The settings of runs, some five bytes each: Dask holds on to what tasks were given."""
    return zlib.compress(json.dumps(settings).encode(), 1)


def unpack(packed: bytes) -> list[list[str]]:
    """What :func:`pack` packed."""
    settings: list[list[str]] = json.loads(zlib.decompress(packed))
    return settings


def check(start: int, code: str, source: str, text: str, settings: bytes) -> tuple[int, bytes]:
    """Checks the runs from number ``start`` on. Returns that, and eight bytes of key for each."""
    _same(code)
    return start, packed(template(source, text).keys(unpack(settings))).tobytes()


def batch(work: Work, settings: bytes, its: bytes) -> None:
    """Does runs, given by their settings and keys, and puts their partition in the folder."""
    _same(work.manifest["code"])
    out, keys = _shared(work), np.frombuffer(its, np.uint64)
    keep: list[str] = work.manifest["keep"]
    finished: list[_Finished] = []
    failures: list[dict[str, str]] = []
    for number, set_ in enumerate(unpack(settings)):
        try:
            record = work.record(set_, "series" in keep)
            tables = {table: pa.table(getattr(record, table)) for table in keep}
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
            one.tables[table].set_column(0, "key", pa.repeat(key, one.tables[table].num_rows))
            for key, one in zip(its, finished, strict=True)
        ]
        _put(out, table, name(keys), pa.concat_tables(parts))
    runs = pa.table(_l4s.table_of_runs([(one.summary, one.command) for one in finished]))
    table = runs.set_column(0, "key", pa.array(its))
    # The last: where it is, the others are.
    _put(out, folder.RUNS, name(keys), table)


def _put(out: Path, table: str, name: str, rows: pa.Table) -> None:
    def fill(part: Path) -> None:
        pq.write_table(rows, part)

    durable.write(out / table / f"{name}.parquet", fill)


def _shared(work: Work) -> Path:
    """The folder, which this worker must have in common with whoever asked."""
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
