"""Algorithms of the user's as bytes: a worker makes them without the files that they stand in."""

from __future__ import annotations

import io
import pickle
import socket
import sys
import types
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeAlias

import cloudpickle

from l4s.errors import SweepError
from l4s.sweeps.depends import is_users

#: The functions that make algorithms, by their place: ``aqm``, ``cc``, ``cc.A``.
Own: TypeAlias = Mapping[str, Callable[[], Any]]


def _code(code: types.CodeType) -> tuple[Any, ...]:
    make, arguments = cloudpickle.Pickler.dispatch_table[types.CodeType](code)
    # cloudpickle puts this in the place of the file, which tracebacks are to name.
    named = (code.co_filename if part == "<dynamic-code>" else part for part in arguments)
    return make, tuple(named)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    dispatch_table: ClassVar[Mapping[Any, Any]] = ChainMap(
        {types.CodeType: _code}, cloudpickle.Pickler.dispatch_table
    )


def packed(own: Own) -> bytes:
    """All of them, with the present state of the user's modules that they reach."""
    if not own:
        return b""
    file = io.BytesIO()
    with _by_value():
        try:
            _Pickler(file, protocol=4).dump(dict(own))
        except Exception as error:
            names = ", ".join(own)
            raise SweepError(f"{names}: cannot be sent to workers: {error}") from error
    _remember(file.getvalue(), own)
    return file.getvalue()


# The objects of these bytes. Where they were packed they are never unpacked: cloudpickle would put
# its copies into the classes that are there.
_known: dict[bytes, Own] = {}
_MOST = 4


def _remember(packed: bytes, own: Own) -> None:
    _known[packed] = own
    while len(_known) > _MOST:
        del _known[next(iter(_known))]


def unpacked(own: bytes) -> Own:
    """The inverse of :func:`packed`.

    Raises:
        SweepError: something that it imports is not installed here.
    """
    if not own:
        return {}
    if own in _known:
        return _known[own]
    try:
        made: Own = pickle.loads(own)
    except ImportError as error:
        missing = error.name or error
        raise SweepError(
            f"worker on {socket.gethostname()} has no module `{missing}`, which an algorithm of "
            "yours imports\n  help: install it there"
        ) from None
    _remember(own, made)
    return made


@contextmanager
def _by_value() -> Iterator[None]:
    """Definitions in modules of the user's are taken by value, not by the name of the module."""
    known = cloudpickle.list_registry_pickle_by_value()
    modules = [m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)]
    ours = [m for m in modules if m.__name__ in sys.modules and is_users(m)]
    ours = [m for m in ours if m.__name__ not in known and m.__name__ != "__main__"]
    for module in ours:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for name in {module.__name__ for module in ours}:
            cloudpickle.unregister_pickle_by_value(sys.modules[name])
