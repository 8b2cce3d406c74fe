"""The dependencies of an algorithm in Python: its code, and all that this reaches.

A sweep takes a result from its folder only where the algorithm is the one that made it. So the
fingerprint of an algorithm covers the code of its class, its bases, attributes and defaults,
its closure, and the values of all globals that any of these names in modules of the
user's. The same holds for helpers, and theirs. For installed packages it covers the installed
files. Dependencies that cannot be seen in advance, such as a file that is read at run time, are
refused.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import os
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from l4s.errors import SweepError

# Functions that read something that no code names: of which module, and which names.
_UNSEEN: Mapping[str, frozenset[str]] = {
    "builtins": frozenset({"eval", "exec", "globals", "input", "open", "__import__"}),
    "io": frozenset({"open", "open_code"}),
    "os": frozenset({"environ", "environb", "getenv", "getenvb", "open", "popen", "read"}),
    "importlib": frozenset({"import_module", "reload"}),
    "sys": frozenset({"argv", "stdin", "modules", "_getframe"}),
}
# Values that are their own identity.
_ATOMS = (type(None), bool, float, complex, type(...), type(NotImplemented))
# Members of a class that its making puts there, or that only people read.
_OF_NO_ACCOUNT = frozenset(
    {
        "__abstractmethods__",
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
    }
)
# `CO_HAS_DOCSTRING`, from Python 3.13 on.
_HAS_DOCSTRING = 0x4000000
_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL"})
_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
# Of C types: their name identifies them.
_DESCRIPTORS = (
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)


class _UnseenError(Exception):
    """Something that a fingerprint cannot cover."""


def fingerprint(make: Callable[[], Any], what: str = "an algorithm of yours") -> str:
    """The identity of an algorithm, given by its class or by a function that makes it.

    It is the same in every process, and on every machine with the same things installed.

    Raises:
        SweepError: it depends on something that cannot be seen.
    """
    return _walk(make, what).digest()[:16]


class State:
    """All that algorithms reach, to see whether a run has changed it.

    Instances live as long as their run. Anything else is shared by all runs of a process: after a
    change of it, the results of runs would depend on which runs were there before.
    """

    def __init__(self, own: Mapping[str, Callable[[], Any]]) -> None:
        self._own = own
        self._steps = {place: _walk(make, place).steps for place, make in own.items()}

    def check(self) -> None:
        """Raises if it has changed.

        Raises:
            SweepError: with the name of the first value that has changed.
        """
        for place, before in self._steps.items():
            after = _walk(self._own[place], place).steps
            if after != before:
                pairs = zip(before, after, strict=False)
                differs = next((mine for its, mine in pairs if its != mine), after[-1])
                where = " → ".join(differs.way) or "a value that it begins with"
                raise SweepError(
                    f"{place}: {where} has changed in a run, and all runs in a process share it: "
                    "results would depend on which of them were there before\n"
                    "  help: give each instance a value of its own, in `__init__`"
                )


def _walk(make: Callable[[], Any], what: str) -> _Walk:
    walk = _Walk()
    try:
        walk.tell(make)
    except _UnseenError as unseen:
        way = " → ".join(walk.way)
        raise SweepError(
            f"{what}: {way}: {unseen}\n"
            "  help: a result would be reused although this has changed; hand it a plain value"
        ) from None
    except RecursionError:
        raise SweepError(f"{what}: it reaches things that are nested too deeply") from None
    walk.steps.append(_Step((), walk.digest()))
    return walk


class _Step(NamedTuple):
    """A part of all that a walk reaches, and the hash of everything up to its end."""

    way: tuple[str, ...]
    digest: str


def source(own: Mapping[str, Callable[[], Any]]) -> str:
    """The user's code of algorithms, for people: as far as its source is available."""
    parts = []
    for place, make in own.items():
        walk = _Walk()
        # Anything unknown has been refused, or does not matter here.
        with suppress(_UnseenError, RecursionError):
            walk.tell(make)
        parts.append(f"# {place}\n")
        classes = [code for code in walk.code if isinstance(code, type)]
        inner = tuple(f"{code.__qualname__}." for code in classes)
        for code in walk.code:
            if not code.__qualname__.startswith(inner):
                with suppress(OSError, TypeError):
                    parts.append(textwrap.dedent(inspect.getsource(code)))
    return "\n".join(dict.fromkeys(parts))


def is_users(module: types.ModuleType) -> bool:
    """Whether a module is code of the user's, not an installed package."""
    name = module.__name__
    top = name.partition(".")[0]
    if top == "l4s" or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    paths = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return not any(
        part in ("site-packages", "dist-packages")
        for path in paths
        for part in PurePath(path).parts
    )


@lru_cache
def _installed(top: str) -> str:
    """The identity of the installed files of a package."""
    if top == "l4s":
        # The folder has the fingerprint of all of l4s.
        return "l4s"
    if top in sys.stdlib_module_names:
        return f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    try:
        there = importlib.metadata.distribution(top)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(top)
        if not names:
            raise _UnseenError(f"the module {top} is of no package that is installed") from None
        there = importlib.metadata.distribution(names[0])
    # A version may be the same although the files are not: a package of the user's own.
    lines = sorted(
        line
        for line in (there.read_text("RECORD") or "").splitlines()
        if line.startswith((f"{top}/", f"{top}.")) and "sha256=" in line
    )
    files = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{there.metadata['Name']} {there.version} {files}"


class _Walk:
    """One way through all that is reached, in an order that is the same in every process."""

    def __init__(self, within: frozenset[int] = frozenset()) -> None:
        self._hash = hashlib.sha256()
        # Objects with an identity, by the order in which they were met; kept, so that no other
        # gets its id.
        self._met: dict[int, int] = {}
        self._kept: list[object] = []
        # Sets that are being hashed.
        self._within = within
        #: Classes and functions of the user's.
        self.code: list[Any] = []
        #: How it came to where it is, in words.
        self.way: list[str] = []
        #: All the parts with a name, in the order in which they ended.
        self.steps: list[_Step] = []

    def digest(self) -> str:
        """The hash of everything so far."""
        return self._hash.hexdigest()

    def _put(self, *words: str | bytes | int) -> None:
        for word in words:
            text = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            # The length first, so that no two sequences of words are the same bytes.
            self._hash.update(b"%d:" % len(text) + text)

    @contextmanager
    def _by(self, step: str) -> Iterator[None]:
        """A step of the way. Where it ends in an exception it is left for the error message."""
        self.way.append(step)
        yield
        self.steps.append(_Step(tuple(self.way), self.digest()))
        self.way.pop()

    def tell(self, what: Any) -> None:
        """Adds a value and all that it reaches."""
        kind = type(what)
        if kind in _ATOMS:
            self._put(kind.__name__, repr(what))
        elif kind is int:
            self._put("int", hex(what))
        elif kind is str or kind is bytes:
            self._put(kind.__name__, what)
        elif kind is tuple:
            # Equal tuples may be one object or two, as the compiler pleases.
            self._put("tuple", len(what))
            for item in what:
                self.tell(item)
        elif isinstance(what, (set, frozenset)):
            self._unordered(what)
        elif id(what) in self._met:
            self._put("again", self._met[id(what)])
        else:
            self._met[id(what)] = len(self._met)
            self._kept.append(what)
            self._first(what)

    def _unordered(self, what: set[Any] | frozenset[Any]) -> None:
        if id(what) in self._within:
            self._put("a set that has itself")
            return

        def alone(item: Any) -> str:
            walk = _Walk(self._within | {id(what)})
            walk.way = self.way
            walk.tell(item)
            return walk.digest()

        self._put(type(what).__name__, len(what), *sorted(map(alone, what)))

    def _first(self, what: Any) -> None:
        """Something that was not met before."""
        if what is os.environ:
            raise _UnseenError("the environment of a process is not that of another")
        if isinstance(what, types.ModuleType):
            self._module(what)
        elif isinstance(what, type):
            self._class(what)
        elif isinstance(what, types.FunctionType):
            self._function(what)
        elif type(what) in (list, dict, types.MappingProxyType):
            self._container(what)
        elif isinstance(what, types.BuiltinFunctionType):
            self._builtin(what)
        elif isinstance(what, _DESCRIPTORS):
            self._put("descriptor", what.__qualname__)
        elif isinstance(what, types.CodeType):
            self._code(what, {})
        elif isinstance(what, types.CellType):
            self._cell(what)
        elif isinstance(what, types.MethodType):
            self._parts("method", what.__func__, what.__self__)
        elif isinstance(what, (staticmethod, classmethod)):
            self._parts(type(what).__name__, what.__func__)
        elif isinstance(what, property):
            self._parts("property", what.fget, what.fset, what.fdel)
        elif isinstance(what, functools.cached_property):
            self._parts("cached_property", what.func)
        elif isinstance(what, functools._lru_cache_wrapper):
            self._parts("cached", what.__wrapped__)
        else:
            self._object(what)

    def _parts(self, what: str, *parts: Any) -> None:
        self._put(what, len(parts))
        for part in parts:
            self.tell(part)

    def _container(self, what: Any) -> None:
        self._put(type(what).__name__, len(what))
        if isinstance(what, list):
            for item in what:
                self.tell(item)
        else:
            # Their order is a program's, and the result of iteration may depend on it.
            for key, value in what.items():
                self.tell(key)
                with self._by(f"[{key!r}]"):
                    self.tell(value)

    def _named(self, names: Mapping[str, Any]) -> None:
        """A mapping whose order has no meaning."""
        self._put(len(names))
        for name in sorted(names):
            self._put(name)
            with self._by(name):
                self.tell(names[name])

    def _by_name(self, what: Any) -> bool:
        """Identifies an installed class or function by its name, if it is one."""
        name = getattr(what, "__module__", None)
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is None or is_users(module):
            return False
        found: Any = module
        for part in what.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is not what:
            return False
        self._of_installed(module, what.__qualname__)
        return True

    def _of_installed(self, module: types.ModuleType, name: str) -> None:
        top = module.__name__.partition(".")[0]
        if name in _UNSEEN.get(module.__name__, ()):
            raise _UnseenError(f"`{name}` gives what is not seen beforehand")
        self._put("installed", module.__name__, name, _installed(top))

    def _builtin(self, what: types.BuiltinFunctionType) -> None:
        of = what.__self__
        if of is None or isinstance(of, types.ModuleType):
            module = sys.modules.get(what.__module__ or "builtins") or builtins
            self._of_installed(module, what.__qualname__)
        else:
            self._put("method", what.__name__)
            self.tell(of)

    def _cell(self, what: types.CellType) -> None:
        try:
            self._parts("cell", what.cell_contents)
        except ValueError:
            self._put("an empty cell")

    def _module(self, what: types.ModuleType) -> None:
        if not is_users(what):
            self._of_installed(what, "")
            return
        # Used other than for one of its names, so any may be meant.
        self._put("module", what.__name__)
        self._named({name: value for name, value in vars(what).items() if name[:2] != "__"})

    def _class(self, what: type) -> None:
        if self._by_name(what):
            return
        self.code.append(what)
        self._put("class", what.__name__)
        if type(what) is not type:
            self.tell(type(what))
        self._parts("bases", *what.__bases__)
        with self._by(what.__name__):
            self._named({n: v for n, v in vars(what).items() if n not in _OF_NO_ACCOUNT})

    def _function(self, what: types.FunctionType) -> None:
        if self._by_name(what):
            return
        self.code.append(what)
        self._put("function")
        self._code(what.__code__, what.__globals__)
        self._parts("defaults", what.__defaults__)
        self._named(what.__kwdefaults__ or {})
        for name, cell in zip(what.__code__.co_freevars, what.__closure__ or (), strict=True):
            with self._by(name):
                self.tell(cell)
        self._named(what.__dict__)

    def _code(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        flags = code.co_flags & ~_HAS_DOCSTRING
        self._put("code", code.co_code, flags, getattr(code, "co_exceptiontable", b""))
        self._put(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._put(len(names), *names)
        for constant in _constants(code):
            if isinstance(constant, types.CodeType):
                self._code(constant, scope)
            else:
                self.tell(constant)
        for name, attributes in _names(code):
            with self._by(name):
                self._global(name, attributes, scope)
        for name, level, wanted in _imports(code):
            with self._by(f"import {name}"):
                self._import(name, level, wanted, scope)

    def _global(self, name: str, attributes: tuple[str, ...], scope: dict[str, Any]) -> None:
        self._put("global", name)
        if name in scope:
            self._attributes(scope[name], attributes)
        elif hasattr(builtins, name):
            self._of_installed(builtins, name)
        else:
            self._put("not there")

    def _attributes(self, what: Any, attributes: tuple[str, ...]) -> None:
        """Something of which these are taken: of a module only they matter."""
        while isinstance(what, types.ModuleType) and attributes:
            module, name, attributes = what, attributes[0], attributes[1:]
            self._put("of", name)
            with self._by(name):
                if not hasattr(module, name):
                    self._put("not there")
                    return
                what = getattr(module, name)
                if not is_users(module) and not isinstance(what, types.ModuleType):
                    self._setting(module, name, what)
                    return
        self.tell(what)

    def _setting(self, module: types.ModuleType, name: str, what: Any) -> None:
        """Of an installed module: it is unchanged, but a plain value may have been set since."""
        self._of_installed(module, name)
        if module.__name__.partition(".")[0] == "l4s":
            return
        if isinstance(what, (*_ATOMS, int, str, bytes, tuple, list, dict, set, frozenset)):
            walk = _Walk()
            try:
                walk.tell(what)
            except _UnseenError:
                return
            self._put("value", walk.digest())

    def _import(
        self, name: str, level: int, wanted: tuple[str, ...], scope: dict[str, Any]
    ) -> None:
        """An import in a function."""
        self._put("import", name, level, *wanted)
        try:
            module = importlib.import_module("." * level + name, scope.get("__package__"))
        except ImportError:
            self._put("not there")
            return
        if not wanted:
            top = sys.modules[module.__name__.partition(".")[0]]
            self.tell(top)
            if is_users(module):
                self.tell(module)
        for one in wanted:
            self._attributes(module, (one,))

    def _object(self, what: Any) -> None:
        """By its pickle."""
        try:
            reduce = copyreg.dispatch_table.get(type(what))
            reduced = reduce(what) if reduce else what.__reduce_ex__(4)
        except RecursionError:
            raise
        except Exception as error:
            raise _UnseenError(
                f"{_shown(what)} has no value that can be compared: {error}"
            ) from None
        self.tell(type(what))
        if isinstance(reduced, str):
            self._put("called", reduced)
            return
        parts: tuple[Any, ...] = (*reduced, None, None, None)
        made_by, arguments, state, items, pairs = parts[:5]
        self.tell(made_by)
        self.tell(arguments)
        if type(state) is dict:
            self._named({str(name): value for name, value in state.items()})
        else:
            self.tell(state)
        self._kept.append(reduced)
        self._parts("items", *(items or ()))
        for key, value in pairs or ():
            self._parts("pair", key, value)


def _shown(what: Any) -> str:
    text = repr(what)
    return text if len(text) < 60 else f"{text[:56]} …"


def _constants(code: types.CodeType) -> tuple[Any, ...]:
    """Those of code, without a docstring: only people read it."""
    if sys.version_info >= (3, 13):
        is_first = bool(code.co_flags & _HAS_DOCSTRING)
    else:
        # The first of a function is its docstring or None.
        is_first = bool(code.co_flags & inspect.CO_OPTIMIZED) and code.co_name[0] != "<"
    return code.co_consts[1:] if is_first else code.co_consts


def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    return [one for one in dis.get_instructions(code) if one.opname not in _SKIPPED]


@lru_cache(1024)
def _names(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Global names that code itself uses, each once with the attributes that it takes of it."""
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    instructions = _instructions(code)
    for at, one in enumerate(instructions):
        if one.opname not in _GLOBAL:
            continue
        attributes = []
        for next_ in instructions[at + 1 :]:
            if next_.opname not in _ATTRIBUTE:
                break
            attributes.append(str(next_.argval))
        found[str(one.argval), tuple(attributes)] = None
    return tuple(found)


@lru_cache(1024)
def _imports(code: types.CodeType) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """The imports of code itself: the module, the level, and the names."""
    instructions = _instructions(code)
    found = []
    for at, one in enumerate(instructions):
        if one.opname == "IMPORT_NAME":
            level, wanted = (before.argval for before in instructions[at - 2 : at])
            found.append((str(one.argval), int(level or 0), tuple(wanted or ())))
    return tuple(found)
