"""Errors, in the words of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class Fault(TypedDict):
    """One thing that is wrong with a scenario."""

    source: str
    """The name of the text, or ``--set`` for what was set on top."""
    line: int
    """From 1."""
    column: int
    """From 1."""
    key: str | None
    """The key that it is about, such as ``link.rate``."""
    message: str
    """What was found, and what is accepted."""
    help: str | None
    """The nearest spelling, or another way out."""


class L4sError(Exception):
    """Anything that l4s itself finds wrong."""


class ScenarioError(L4sError, ValueError):
    """A scenario is refused, and nothing was run.

    Its text is that of the command line. ``faults`` has all faults; ``key``,
    ``line``, ``column`` and ``help`` are those of the first of them.
    """

    def __init__(self, report: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(report, faults)
        self.report = report
        self.faults = tuple(faults)
        first = self.faults[0] if self.faults else None
        self.key = first["key"] if first else None
        self.line = first["line"] if first else None
        self.column = first["column"] if first else None
        self.help = first["help"] if first else None

    def __str__(self) -> str:
        return self.report


class AlgorithmError(L4sError, ValueError, TypeError):
    """An algorithm of yours has an invalid attribute or a method that is never called.

    Or it returned an invalid verdict, rate or window.
    """


class SweepError(L4sError):
    """A result folder is not this sweep's, or runs of it failed."""
