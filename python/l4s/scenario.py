"""Scenarios: which flows meet at which bottleneck, and the settings that vary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import index
from typing import SupportsIndex, TypeVar, overload

from l4s import _l4s, _toml
from l4s._toml import Value
from l4s.errors import ScenarioError

V = TypeVar("V")


class Scenario:
    """One scenario: a run, or several where it has a ``[sweep]``.

    It is read and checked when it is made, in the words of the command line
    (:class:`l4s.ScenarioError`), and never changes.

    >>> Scenario("one-against-one").name
    'one-against-one'
    >>> s = Scenario(link={"rate": "40mbit"}, group=[{"name": "A", "cc": "prague", "rtt": "10ms"}])
    >>> s.with_(**{"link.rate": "10mbit"}).set
    {'link.rate': '10mbit'}

    Args:
        source: the name of a bundled scenario, or the path of a TOML file.
        tables: its sections instead: ``link={...}``, ``group=[{...}, ...]``, ``duration="60s"``.
            Keys are those of docs/reference/scenario.md.

    A relative ``link.trace`` is relative to its file. In tables, and in :meth:`with_`, it is
    relative to the folder that was the current one when the first of them was made.
    """

    def __init__(self, source: str | os.PathLike[str] | None = None, /, **tables: Value) -> None:
        if source is not None and tables:
            raise TypeError("either the name of a scenario or its tables: .with_() changes keys")
        if source is None:
            self._read(None, "scenario", _toml.document(tables), (), _here())
        else:
            self._read(os.fspath(source), os.fspath(source), None, (), _here())

    @classmethod
    def from_toml(cls, text: str, *, name: str = "scenario") -> Scenario:
        """A scenario from its text; ``name`` is its name in messages."""
        return cls._of(None, name, text, (), _here())

    @classmethod
    def _open(cls, source: str, settings: Sequence[str]) -> Scenario:
        """A bundled scenario or a file with settings, which alone may have to be complete."""
        scenario = cls.__new__(cls)
        scenario._read(source, source, None, tuple(settings), _here())
        return scenario

    @classmethod
    def _of(
        cls, file: str | None, source: str, text: str, settings: tuple[str, ...], folder: str
    ) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._read(file, source, text, settings, folder)
        return scenario

    def _read(
        self,
        file: str | None,
        source: str,
        text: str | None,
        settings: tuple[str, ...],
        folder: str,
    ) -> None:
        self._plan = _l4s.plan(source, text, list(settings), folder)
        # Or the name of a bundled one; None for a scenario written in Python.
        self._file = file
        # A file may change or be elsewhere for another process: from here on its text counts.
        self._source, self._text = self._plan.source, self._plan.text
        self._settings = settings
        # Relative paths begin in it, whichever the current one is by then.
        self._folder = folder

    def _but(self, settings: tuple[str, ...]) -> Scenario:
        """The same text with these settings and no others."""
        return Scenario._of(self._file, self._source, self._text, settings, self._folder)

    @property
    def _called(self) -> str:
        """Its argument on the command line: where there is no file, the text itself."""
        return self._as_run if self._file is None else self._file

    @cached_property
    def _as_run(self) -> str:
        """Its text as a file of any name that gives the same runs."""
        text = self._text if self._text.endswith("\n") else self._text + "\n"
        # Of another name, but in the same folder: it may name files.
        other = os.path.join(os.path.dirname(self._source), "scenario")
        if _l4s.plan(other, text, list(self._settings), self._folder).name != self.name:
            return f"name = {_toml.inline(self.name)}\n{text}"
        return text

    @property
    def name(self) -> str:
        """Its name."""
        return self._plan.name

    @property
    def question(self) -> str | None:
        """The question that it answers, where it says so."""
        return self._plan.question

    @property
    def text(self) -> str:
        """Its text as read, without the settings of :meth:`with_`."""
        return self._text

    @property
    def varies(self) -> Mapping[str, Sequence[str]]:
        """The keys (or ``case``) that its ``[sweep]`` varies, and their values, as shown."""
        return dict(self._plan.sweep)

    @property
    def set(self) -> Mapping[str, str]:
        """The settings of its first run, as results show them."""
        return dict(self._plan.run(0).set)

    @property
    def seed(self) -> int:
        """The seed of its first run."""
        return self._plan.run(0).seed

    def __len__(self) -> int:
        """How many runs it has."""
        return len(self._plan)

    @property
    def runs(self) -> Sequence[Scenario]:
        """Each of its runs as a scenario of its own, in order."""
        return Grid(self, {})

    def with_(self, changes: Mapping[str, Value] | None = None, /, **settings: Value) -> Scenario:
        """The same scenario with keys set, as ``--set`` does.

        ``s.with_(seed=7)``, ``s.with_(**{"link.rate": "40mbit", "group.*.rtt": "20ms"})`` or
        ``s.with_({"aqm": {"kind": "pie"}})``.

        Raises:
            ScenarioError: the scenario is refused with them.
            ValueError: a key is given twice.
            TypeError: a value is none of TOML's.
        """
        return self._but(self._settings + _settings(changes, settings))

    def grid(
        self,
        axes: Mapping[str, Iterable[Value]] | None = None,
        /,
        *,
        seeds: SupportsIndex | Iterable[int] | None = None,
        **more: Iterable[Value],
    ) -> Grid:
        """Every combination of these values, for every run that it has.

        Args:
            axes: a key and its values each; the last varies fastest.
            seeds: the seeds of each, or how many, from the scenario's own on.

        Raises:
            ValueError: a key is given twice, has no value, or is one that the ``[sweep]`` of the
                scenario varies, so that runs of it would be the same.
            TypeError: something else than values is given.
        """
        return Grid(self, _together(axes, more), seeds)

    def to_toml(self) -> str:
        """Its only run as TOML, with every default spelled out and explained.

        :meth:`from_toml` makes an equal scenario of it.
        """
        return self._only().show()

    def _only(self) -> _l4s.Run:
        if len(self) != 1:
            raise ValueError(
                f"{self.name} has {len(self)} runs: .runs[0] is the first, l4s.sweep(...) does all"
            )
        return self._plan.run(0)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same runs, however they are written."""
        if not isinstance(other, Scenario):
            return NotImplemented
        mine, others = self._plan, other._plan
        return len(mine) == len(others) and all(
            mine.run(i) == others.run(i) for i in range(len(mine))
        )

    def __hash__(self) -> int:
        return hash((len(self), self._plan.run(0)))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        its = (self._file, self._source, self._text, self._settings, self._folder)
        return Scenario._of, its

    def __repr__(self) -> str:
        runs = f", {len(self)} runs" if len(self) > 1 else ""
        with_ = "".join(f" {setting}" for setting in self._settings)
        return f"<Scenario {self.name}{with_}{runs}>"


def _here() -> str:
    """The current folder."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        # It was removed. Absolute paths go on.
        return ""


def _settings(changes: Mapping[str, Value] | None, more: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple(_toml.setting(key, value) for key, value in _together(changes, more).items())


def _together(first: Mapping[str, V] | None, more: Mapping[str, V]) -> dict[str, V]:
    """Both, which have no key in common."""
    first = first or {}
    twice = sorted(more.keys() & first.keys())
    if twice:
        key = twice[0]
        raise ValueError(f"{key} is given twice: {first[key]!r} and {more[key]!r}")
    return {**first, **more}


class Grid(Sequence[Scenario]):
    """Many runs of one scenario: the settings that vary, not the runs themselves.

    Its runs are in the order of :attr:`axes`, the last varying fastest. Each is resolved when it
    is asked for.
    """

    def __init__(
        self,
        scenario: Scenario,
        axes: Mapping[str, Iterable[Value]],
        seeds: SupportsIndex | Iterable[int] | None = None,
    ) -> None:
        if seeds is not None and not isinstance(seeds, Iterable):
            many = index(seeds)
            if many < 1:
                raise ValueError(f"seeds = {many}: expected at least 1")
            seeds = range(scenario.seed, scenario.seed + many)
        for key, values in axes.items():
            if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
                raise TypeError(f"{key} = {values!r}: expected its values, such as [{values!r}]")
        self.scenario = scenario
        # A range stays one: a million seeds take no memory.
        self.axes: dict[str, Sequence[Value]] = {
            key: values if isinstance(values, range) else tuple(values)
            for key, values in axes.items()
        }
        if seeds is not None and "seed" in self.axes:
            raise ValueError(f"seed is given twice: {self.axes['seed']!r} and seeds = {seeds!r}")
        if seeds is not None:
            self.axes["seed"] = seeds if isinstance(seeds, range) else tuple(seeds)
        empty = [key for key, values in self.axes.items() if not values]
        if empty:
            raise ValueError(f"{empty[0]}: expected at least one value")
        self._check_own()

    def _check_own(self) -> None:
        """Refuses axes that make runs of the scenario's own sweep the same."""
        if len(self.scenario) == 1 or not self.axes:
            return
        plan, step = self.scenario._plan, len(self) // len(self.scenario)
        seen: dict[_l4s.Run, int] = {}
        for number in range(len(plan)):
            try:
                run = self._template.run(self.settings(number * step))
            except ScenarioError:
                # It is refused as any other run, when somebody asks for it.
                return
            first = seen.setdefault(run, number)
            if first != number and plan.run(first) != plan.run(number):
                pins = set(self._own[first]) ^ set(self._own[number])
                keys = ", ".join(sorted({pin.partition("=")[0] for pin in pins}))
                raise ValueError(
                    f"{', '.join(self.axes)}: the [sweep] of {self.scenario.name} varies {keys}, "
                    "and with these axes the same run is there several times\n"
                    "  help: .runs[0].grid(...) begins with one of its runs"
                )

    @cached_property
    def _own(self) -> list[list[str]]:
        """The settings of each of the scenario's own runs."""
        plan = self.scenario._plan
        return [plan.run(number).pins for number in range(len(plan))]

    def __len__(self) -> int:
        size = len(self.scenario)
        for values in self.axes.values():
            size *= len(values)
        return size

    def settings(self, number: int) -> list[str]:
        """The ``KEY=VALUE`` that make the scenario run ``number``, from 0."""
        if not 0 <= number < len(self):
            raise IndexError(f"run {number} of {len(self)}")
        chosen = []
        for key, values in reversed(self.axes.items()):
            number, digit = divmod(number, len(values))
            chosen.append(_toml.setting(key, values[digit]))
        return self._own[number] + chosen[::-1]

    def keys(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The identity of each run: sixteen digits, the same on every machine.

        Every run from ``start`` to ``stop`` is resolved and checked for it.
        """
        numbers = range(start, len(self) if stop is None else stop)
        return self._template.keys([self.settings(number) for number in numbers])

    @cached_property
    def _template(self) -> _l4s.Template:
        one = self.scenario
        return _l4s.Template(one._source, one._text, one._folder)

    @overload
    def __getitem__(self, number: SupportsIndex) -> Scenario: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Scenario]: ...
    def __getitem__(self, number: SupportsIndex | slice) -> Scenario | Sequence[Scenario]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        number = index(number)
        number = number + len(self) if number < 0 else number
        return self.scenario._but(tuple(self.settings(number)))

    def __iter__(self) -> Iterator[Scenario]:
        return (self[number] for number in range(len(self)))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Grid, (self.scenario, self.axes)

    def __repr__(self) -> str:
        sizes = "".join(f" × {key} ({len(values)})" for key, values in self.axes.items())
        return f"<Grid of {len(self):,} runs: {self.scenario.name} ({len(self.scenario)}){sizes}>"


def bundled() -> Mapping[str, str | None]:
    """The scenarios that come with l4s, and the question that each answers."""
    return {name: question for name, _, question in _l4s.bundled()}
