"""Python's values as TOML, the way people write it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import tomli_w

from l4s.errors import Fault, ScenarioError

#: The values of a scenario's keys.
Value: TypeAlias = (
    "str | int | float | bool | os.PathLike[str] | Iterable[Value] | Mapping[str, Value]"
)

# A word that TOML takes for nothing else, such as 40mbit.
_WORD = re.compile(r"(?!0[xob])[0-9.]*[A-Za-z][A-Za-z0-9_./-]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+")


def setting(key: str, value: Value) -> str:
    """``KEY=VALUE``, as after ``--set``."""
    return f"{key}={_bare(_plain(value, key))}"


def native(value: Any) -> Any:
    """Python's own in the place of a path, or of a scalar or an array of NumPy's."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__module__.partition(".")[0] != "numpy" or not hasattr(value, "tolist"):
        return value
    plain = value.tolist()
    # Of those without a counterpart, such as a long double.
    return float(value) if type(plain) is type(value) else plain


def _bare(value: Value) -> str:
    value = native(value)
    is_word = isinstance(value, str) and _WORD.fullmatch(value)
    if is_word and value not in ("true", "false") and not _is_number(str(value)):
        return str(value)
    return inline(value)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def inline(value: Value) -> str:
    """A value in one line."""
    value = native(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # The escapes of JSON are TOML's too, except that DEL must be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {inline(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(inline, value)) + "]"
    raise TypeError(f"{value!r}: a scenario has texts, numbers, truth values, lists and tables")


def _key(key: str) -> str:
    return key if _KEY.fullmatch(key) else inline(key)


def document(tables: Mapping[str, Value]) -> str:
    """A whole scenario. ``link.rate`` is a key of the table ``link``.

    Raises:
        ScenarioError: a key is given twice, or lies in something that is no table.
    """
    root: dict[str, Any] = {}
    for path, value in tables.items():
        _put(root, path.split("."), 0, _plain(value, path))
    return tomli_w.dumps(root)


def _put(table: dict[str, Any], path: list[str], at: int, value: Any) -> None:
    """Puts a value at the rest of a path, from ``at`` on; tables at the same path become one."""
    key, named = path[at], ".".join(path[: at + 1])
    if at + 1 < len(path):
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            raise _no_table(".".join(path), named, inner)
        _put(inner, path, at + 1, value)
    elif isinstance(value, dict) and isinstance(table.get(key), dict):
        for name, item in value.items():
            _put(table[key], [*path, name], at + 1, item)
    elif isinstance(table.get(key), dict):
        raise _no_table(f"{named}.{next(iter(table[key]))}", named, value)
    elif key in table:
        there = f"{inline(table[key])} and {inline(value)}"
        raise _refused(named, f"given twice, {there}", "leave one of them out")
    else:
        table[key] = value


def _no_table(key: str, outer: str, value: Value) -> ScenarioError:
    help = "a key with a dot is one of a table; .with_() sets those of groups and other lists"
    return _refused(key, f"`{outer}` is {inline(value)}, expected a table", help)


def _refused(key: str, message: str, help: str) -> ScenarioError:
    """A fault of the tables of a scenario, which have no lines."""
    fault: Fault = {
        "source": "scenario",
        "line": 1,
        "column": 1,
        "key": key,
        "message": f"`{key}`: {message}",
        "help": help,
    }
    return ScenarioError(f"error: `{key}`: {message}\n  = help: {help}\n", [fault])


def _plain(value: Value, key: str) -> Any:
    value = native(value)
    if isinstance(value, Mapping):
        return {name: _plain(item, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_plain(item, key) for item in value]
    what = "a scenario has texts, numbers, truth values, lists and tables"
    raise TypeError(f"{key} = {value!r}: {what}")
