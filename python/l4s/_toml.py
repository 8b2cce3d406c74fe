"""Python's values as TOML, the way people write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import tomli_w

#: The values of a scenario's keys.
Value: TypeAlias = "str | int | float | bool | Iterable[Value] | Mapping[str, Value]"

# A word that TOML takes for nothing else, such as 40mbit.
_WORD = re.compile(r"(?!0[xob])[0-9.]*[A-Za-z][A-Za-z0-9_./-]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+")


def setting(key: str, value: Value) -> str:
    """``KEY=VALUE``, as after ``--set``."""
    return f"{key}={_bare(value)}"


def native(value: Any) -> Any:
    """Python's own in the place of a scalar or an array of NumPy's."""
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
    """A whole scenario. ``link.rate`` is a key of the table ``link``."""
    root: dict[str, Any] = {}
    for path, value in tables.items():
        *parents, key = path.split(".")
        table = root
        for parent in parents:
            table = table.setdefault(parent, {})
        table[key] = _plain(value)
    return tomli_w.dumps(root)


def _plain(value: Value) -> Any:
    value = native(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    raise TypeError(f"{value!r}: a scenario has texts, numbers, truth values, lists and tables")
