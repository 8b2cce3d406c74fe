"""The folder of a sweep: whose it is, and where its files are.

::

    OUT/sweep.json           which code, and what is kept of a run: all runs in it are alike in that
    OUT/scenario.toml        the scenario whose runs these are; further ones scenario-2.toml, …
    OUT/algorithms.py        code of algorithms of the user's own, where there are any
    OUT/keys.npy             the keys of its runs, in the order in which they were first asked for
    OUT/runs/NAME.parquet    a partition of finished runs each: what is in here is done
    OUT/series/NAME.parquet  their time series, where they are kept; likewise delays and flows
    OUT/failures/NAME.parquet  runs that raised, with their tracebacks

Every file appears whole or not at all, that in ``runs`` after those that belong to it. NAME is made
of the keys of the runs in it, so that the same work done twice is the same file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from l4s import _l4s
from l4s.errors import SweepError
from l4s.sweeps import durable
from l4s.sweeps.depends import fingerprint
from l4s.sweeps.keys import Keys

MANIFEST = "sweep.json"
KEYS = "keys.npy"
SCENARIO = "scenario.toml"
#: The same as the JSON of the model, which ``l4s report`` reads.
SCENARIOS = "scenarios.json"
#: The user's code of algorithms: for people.
ALGORITHMS = "algorithms.py"
#: The name of the manifest on the command line, and in :meth:`l4s.Result.save`.
SAVED = "l4s.json"
#: The table of runs, and further tables that can be kept.
RUNS, FAILURES, TABLES = "runs", "failures", ("series", "delays", "flows")
_ELSE = "choose a new folder; nothing was changed"


def manifest(
    keep: Collection[str], sampling_ns: int | None, own: Mapping[str, Callable[[], Any]]
) -> dict[str, Any]:
    """The common parameters of all runs in a folder.

    ``own`` are algorithms of Python's by the place that they take, such as ``aqm``.
    """
    return {
        "l4s": "sweep",
        "version": _l4s.VERSION,
        "code": _l4s.CODE,
        "keep": [name for name in TABLES if name in keep],
        # It changes nothing else.
        "sampling_ns": sampling_ns if "series" in keep else None,
        "own": {place: fingerprint(make, place) for place, make in sorted(own.items())},
    }


def check(out: Path, mine: dict[str, Any], texts: Sequence[str]) -> None:
    """Refuses a folder that holds anything else. Changes nothing.

    Runs of one scenario are identified by their settings. So values and seeds may differ, and of
    several scenarios there may be more, or fewer, than before.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise SweepError(f"{out} is a file: expected a folder")
    names = _names(out)
    if names and MANIFEST not in names:
        found = f"{out} already holds something else, such as {names[0]}"
        raise SweepError(f"{found}\n  help: {_ELSE}")
    if not names:
        return
    there = owner(out)
    if there != mine:
        found = f"{out} already holds something else: {_difference(there, mine)}"
        raise SweepError(f"{found}\n  help: {_ELSE}")
    known = scenarios(out)
    strange = [text for text in texts if text not in known]
    if strange and not set(known) <= set(texts):
        which = _line(next(text for text in known if text not in texts), strange[0])
        found = f"{out} already holds something else: runs of another scenario, {which}"
        raise SweepError(f"{found}\n  help: {_ELSE}")


def save(
    out: Path,
    made: dict[str, Any],
    scenario: str,
    model: str,
    copies: dict[str, bytes],
    code: str,
    tables: Callable[[], object],
) -> None:
    """Puts the result of one run into a folder of its own, with its origin.

    It has the files that the command line writes, and its manifest. ``scenario`` is for people,
    ``model`` the same as JSON for the report, ``copies`` the files that its link follows.
    """
    if out.exists() and not out.is_dir():
        raise SweepError(f"{out} is a file: expected a folder")
    names = _names(out)
    if names:
        there = _saved(out)
        if there != made:
            what = "another result" if there else f"something else, such as {names[0]}"
            raise SweepError(f"{out} already holds {what}\n  help: {_ELSE}")
    out.mkdir(parents=True, exist_ok=True)
    durable.write(out / SAVED, _writes(json.dumps(made, indent=2) + "\n"))
    durable.write(out / SCENARIO, _writes(scenario))
    durable.write(out / SCENARIOS, _writes(model))
    for name, copy in copies.items():
        durable.write(out / name, _writes(copy))
    if code:
        durable.write(out / ALGORITHMS, _writes(code))
    # The last of them completes a folder.
    tables()


def _saved(out: Path) -> dict[str, Any] | None:
    """The origin of the result in a folder, without the list of files that follows from it."""
    try:
        there = json.loads((out / SAVED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(there, dict):
        return None
    there.pop("files", None)
    return there


def owner(out: Path) -> dict[str, Any]:
    """The common parameters of the runs in a folder."""
    path = out / MANIFEST
    try:
        there = json.loads(path.read_text())
    except ValueError:
        there = None
    if not isinstance(there, dict) or there.get("l4s") != "sweep":
        raise SweepError(f"{path} is not what l4s.sweep writes\n  help: {_ELSE}")
    return there


def _names(out: Path) -> list[str]:
    """The contents of a folder, without leftovers of killed processes."""
    entries = out.iterdir() if out.is_dir() else ()
    return sorted(entry.name for entry in entries if not durable.is_leftover(entry.name))


def scenarios(out: Path) -> list[str]:
    """The texts of the scenarios whose runs a folder holds."""
    texts, number = [], 1
    while (path := out / _scenario(number)).is_file():
        texts.append(path.read_text(encoding="utf-8"))
        number += 1
    return texts


def _scenario(number: int) -> str:
    return SCENARIO if number == 1 else f"scenario-{number}.toml"


def claim(out: Path, mine: dict[str, Any], texts: Sequence[str], code: str = "") -> None:
    """Takes a folder that :func:`check` has passed; ``code`` is that of the user's algorithms."""
    for name in (RUNS, FAILURES, *mine["keep"]):
        (out / name).mkdir(parents=True, exist_ok=True)
        durable.tidy(out / name)
    durable.tidy(out)
    known = scenarios(out)
    new = [text for text in texts if text not in known]
    for number, text in enumerate(new, len(known) + 1):
        durable.write(out / _scenario(number), _writes(text))
    if code and not (out / ALGORITHMS).exists():
        durable.write(out / ALGORITHMS, _writes(code))
    if not (out / MANIFEST).exists():
        text = json.dumps(mine, indent=2) + "\n"
        durable.write(out / MANIFEST, _writes(text))


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


def _writes(content: str | bytes) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda part: part.write_bytes(data)


def _line(there: str, mine: str) -> str:
    """The first line that is not the same."""
    lines = zip_longest(there.splitlines(), mine.splitlines(), fillvalue="nothing")
    number, (its, ours) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"which has in line {number} {its!r}, not {ours!r}"


def _difference(there: dict[str, Any], mine: dict[str, Any]) -> str:
    """The first thing that is not the same."""
    what = next(key for key in [*mine, *there] if there.get(key) != mine.get(key))
    if what == "own":
        return _other_algorithms(there.get("own") or {}, mine["own"])
    shown = {"sampling_ns": "sampling in ns"}.get(what, what)
    return f"{shown} {_shown(there.get(what))}, not {_shown(mine.get(what))}"


def _other_algorithms(there: Mapping[str, str], mine: Mapping[str, str]) -> str:
    """The differences, of algorithms by place."""
    if there.keys() != mine.keys():
        has, asked = (_shown(sorted(own)) for own in (there, mine))
        return f"algorithms of your own for {has}, not for {asked}"
    place = next(place for place in mine if there[place] != mine[place])
    return f"{place} of algorithms of your own was another: its code, or a value that it uses"


def _shown(value: Any) -> str:
    if not value:
        return "nothing"
    return ", ".join(value) if isinstance(value, list) else str(value)
