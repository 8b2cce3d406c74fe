"""The folder of a sweep: whose it is, and where its files are.

::

    OUT/sweep.json           which code, and what is kept of a run: all runs in it are alike in that
    OUT/keys.npy             the keys of its runs, in the order in which they were first asked for
    OUT/runs/NAME.parquet    a partition of finished runs each: what is in here is done
    OUT/series/NAME.parquet  their time series, where they are kept; likewise delays and flows
    OUT/failures/NAME.parquet  runs that raised, with their tracebacks

Every file appears whole or not at all, that in ``runs`` after those that belong to it. NAME is made
of the keys of the runs in it, so that the same work done twice is the same file.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from l4s import _l4s
from l4s.errors import SweepError
from l4s.sweeps import durable
from l4s.sweeps.keys import Keys

MANIFEST = "sweep.json"
KEYS = "keys.npy"
#: The table of runs, and what else can be kept.
RUNS, FAILURES, TABLES = "runs", "failures", ("series", "delays", "flows")
_ELSE = "choose a new folder; nothing was changed"


def manifest(
    keep: Collection[str], sampling_ns: int | None, own: Mapping[str, Callable[[], Any]]
) -> dict[str, Any]:
    """What all runs in a folder have in common, besides being runs.

    ``own`` are algorithms of Python's by the place that they take, such as ``aqm``.
    """
    return {
        "l4s": "sweep",
        "version": _l4s.VERSION,
        "code": _l4s.CODE,
        "keep": [name for name in TABLES if name in keep],
        # It changes nothing else.
        "sampling_ns": sampling_ns if "series" in keep else None,
        "own": {place: fingerprint(make) for place, make in sorted(own.items())},
    }


def check(out: Path, mine: dict[str, Any]) -> None:
    """Refuses a folder that holds anything else. Changes nothing."""
    if not out.exists():
        return
    if not out.is_dir():
        raise SweepError(f"{out} is a file: expected a folder")
    names = sorted(e.name for e in out.iterdir() if not durable.is_leftover(e.name))
    if names and MANIFEST not in names:
        found = f"{out} already holds something else, such as {names[0]}"
        raise SweepError(f"{found}\n  help: {_ELSE}")
    if not names:
        return
    there = owner(out)
    if there != mine:
        found = f"{out} already holds something else: {_difference(there, mine)}"
        raise SweepError(f"{found}\n  help: {_ELSE}")


def owner(out: Path) -> dict[str, Any]:
    """What the runs in a folder have in common."""
    path = out / MANIFEST
    try:
        there = json.loads(path.read_text())
    except ValueError:
        there = None
    if not isinstance(there, dict) or there.get("l4s") != "sweep":
        raise SweepError(f"{path} is not what l4s.sweep writes\n  help: {_ELSE}")
    return there


def claim(out: Path, mine: dict[str, Any]) -> None:
    """Takes a folder that :func:`check` has passed."""
    for name in (RUNS, FAILURES, *mine["keep"]):
        (out / name).mkdir(parents=True, exist_ok=True)
        durable.tidy(out / name)
    durable.tidy(out)
    if not (out / MANIFEST).exists():
        text = json.dumps(mine, indent=2) + "\n"
        durable.write(out / MANIFEST, lambda part: part.write_text(text))


def remember(out: Path, keys: Keys) -> None:
    """Appends keys that are new to those that were asked for before."""
    before = remembered(out)
    new = keys[~np.isin(keys, before)]
    if len(new):
        _, first = np.unique(new, return_index=True)
        together = np.concatenate([before, new[np.sort(first)]])

        def fill(part: Path) -> None:
            with part.open("wb") as file:
                np.save(file, together, allow_pickle=False)

        durable.write(out / KEYS, fill)


def remembered(out: Path) -> Keys:
    """The keys that were asked for, in the order in which they were."""
    try:
        keys: Keys = np.load(out / KEYS, allow_pickle=False)
        return keys
    except FileNotFoundError:
        return np.empty(0, np.uint64)


def _difference(there: dict[str, Any], mine: dict[str, Any]) -> str:
    """The first thing that is not the same."""
    what = next(key for key in [*mine, *there] if there.get(key) != mine.get(key))
    shown = {"sampling_ns": "sampling in ns", "own": "algorithms of your own"}.get(what, what)
    return f"{shown} {_shown(there.get(what))}, not {_shown(mine.get(what))}"


def _shown(value: Any) -> str:
    if not value:
        return "nothing"
    return ", ".join(value) if isinstance(value, list) else str(value)


def fingerprint(make: Callable[[], Any]) -> str:
    """What tells an algorithm in Python from another, in any process: its text.

    What the class calls elsewhere is not seen.
    """
    return hashlib.sha256(_told(make).encode()).hexdigest()[:16]


def _told(what: Any) -> str:
    if isinstance(what, partial):
        made = [what.args, sorted(what.keywords.items())]
        return f"partial {_told(what.func)} {made!r}"
    if isinstance(what, type):
        ours = [c for c in what.__mro__ if c is not object and not c.__module__.startswith("l4s.")]
        return "\n".join(f"{c.__qualname__} {_source(c)}" for c in ours)
    if inspect.isfunction(what):
        cells = [cell.cell_contents for cell in what.__closure__ or ()]
        inner = [_told(c) if callable(c) else repr(c) for c in cells]
        return f"{_source(what)} {inner!r} {what.__defaults__!r} {what.__kwdefaults__!r}"
    # Where it does not say what it is, it is not the same in the next process, and is refused.
    return f"{_told(type(what))} {what!r}"


def _source(what: Any) -> str:
    try:
        return inspect.getsource(what)
    except (OSError, TypeError):
        # Typed in where no text is kept, such as the prompt of Python.
        return _members(what) if isinstance(what, type) else _code(what.__code__)


def _members(kind: type) -> str:
    members = {n: v for n, v in vars(kind).items() if not n.startswith("__") or callable(v)}
    shown = {n: _code(v.__code__) if inspect.isfunction(v) else repr(v) for n, v in members.items()}
    return repr(sorted(shown.items()))


def _code(code: Any) -> str:
    constants = [_code(c) if inspect.iscode(c) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames}"
