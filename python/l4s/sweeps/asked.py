"""The runs of a sweep by number, each a text and its settings."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from l4s.scenario import Grid, Scenario

#: The argument of :func:`l4s.sweep`.
Runs: TypeAlias = "Grid | Scenario | Iterable[Grid | Scenario | str | os.PathLike[str]]"


class Text(NamedTuple):
    """A scenario as it was written."""

    called: str
    """What the command line finds it by."""
    source: str
    """What messages call it."""
    text: str
    folder: str
    """Where its relative paths begin."""


class Asked:
    """The runs of grids and scenarios, one after the other."""

    def __init__(self, runs: Runs) -> None:
        #: Each of them, in order.
        self.parts = [_grid(one) for one in _each(runs)]
        if not self.parts:
            raise ValueError("no runs: expected a grid, a scenario, or several of them")
        first: dict[Text, Scenario] = {}
        for part in self.parts:
            first.setdefault(_text(part.scenario), part.scenario)
        numbers = {text: number for number, text in enumerate(first)}
        self._text = [numbers[_text(part.scenario)] for part in self.parts]
        #: The different texts.
        self.texts = list(first)
        self._first = list(first.values())
        self._ends = list(accumulate(map(len, self.parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    def of(self, number: int) -> tuple[int, list[str]]:
        """The number of its text, and the ``KEY=VALUE`` that make that just this run."""
        part = bisect_right(self._ends, number)
        start = self._ends[part - 1] if part else 0
        return self._text[part], self.parts[part].settings(number - start)

    def as_run(self) -> list[str]:
        """The texts, each as a file that gives the same runs."""
        return list(dict.fromkeys(scenario._as_run for scenario in self._first))

    def firsts(self) -> Iterator[Scenario]:
        """The first run of each part."""
        return (part[0] for part in self.parts)


def _each(runs: Runs) -> Iterable[object]:
    # A grid's runs are many, and need not be made for this.
    if isinstance(runs, (Grid, Scenario, str, os.PathLike)):
        return [runs]
    if not isinstance(runs, Iterable):
        raise TypeError(f"{runs!r}: expected a grid, a scenario, or several of them")
    return runs


def _grid(one: object) -> Grid:
    if isinstance(one, Grid):
        return one
    if isinstance(one, (str, os.PathLike)):
        one = Scenario(one)
    if not isinstance(one, Scenario):
        raise TypeError(f"{one!r}: expected a scenario, a grid, or the name of a scenario")
    return one.grid()


def _text(scenario: Scenario) -> Text:
    return Text(scenario._called, scenario._source, scenario._text, scenario._folder)
