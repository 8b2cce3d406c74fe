"""The evaluations of controls, :func:`evaluate`, and of disciplines, :func:`evaluate_aqm`."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from l4s import _l4s, _progress
from l4s._cores import cores
from l4s.errors import SweepError

if TYPE_CHECKING:
    from l4s.result import MakeAqm, MakeCc

_JSON, _TABLE, _PAGE = "evaluation.json", "evaluation.md", "index.html"


@dataclass(frozen=True)
class Worst:
    """The condition in which a control or discipline did worst."""

    value: float
    """The mean of the measure over seeds."""
    set: Mapping[str, str]
    """The settings of the condition."""
    command: str
    """The command that repeats the run of the first seed; for a class of your own, the call."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a criterion."""

    id: str
    """The name of the criterion, such as ``loss-of-many``."""
    chapter: str
    """The title of its chapter."""
    section: str
    """The document and section that ask for it."""
    asks: str
    """The question. The answer to strive for is yes."""
    measure: str
    """The measure of a run, in words."""
    unit: str
    """The unit of the measure, as it is printed behind the number."""
    accepted: Mapping[Literal["at_most", "at_least"], float]
    """The accepted range, such as ``{"at_most": 2.0}``."""
    because: str
    """The reason why the range is that."""
    outcome: Literal["pass", "fail", "not-applicable"]
    """The last where no run has the measure, as those of L4S for a control without ECT(1), or a
    discipline without an L4S queue."""
    conditions: int
    """How many conditions have the measure."""
    failed: int
    """In how many of them it is out of the range."""
    worst: Worst | None
    """The condition with the worst value; None where the criterion does not apply."""


class Evaluation:
    """The verdicts on a congestion control or a queue discipline. A notebook shows a table.

    ``evaluation["loss-of-many"]`` is the verdict on one criterion. As of a mapping, ``in``,
    ``len`` and iteration are about the names of criteria, in the order of the chapters.
    """

    name: str
    """The control or discipline: its text, or the name of its class or function."""
    verdicts: tuple[Judgement, ...]
    """The verdict on each criterion, in the order of the chapters."""
    passed: int
    """How many criteria hold."""
    of: int
    """How many criteria apply."""

    def __init__(self, evaluation: str, table: str, page: str) -> None:
        self._files = {_JSON: evaluation, _TABLE: table, _PAGE: page}
        (column,) = json.loads(evaluation)["evaluated"]
        self.name = column["name"]
        self.verdicts = tuple(map(_judgement, column["verdicts"]))
        self.passed, self.of = column["passed"], column["of"]

    def __getitem__(self, id: str) -> Judgement:
        """The verdict on a criterion."""
        for verdict in self.verdicts:
            if verdict.id == id:
                return verdict
        raise KeyError(f"{id}: {_expected(id, [verdict.id for verdict in self.verdicts])}")

    def __iter__(self) -> Iterator[str]:
        return (verdict.id for verdict in self.verdicts)

    def __len__(self) -> int:
        """How many criteria there are, also those that do not apply."""
        return len(self.verdicts)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes ``index.html``, ``evaluation.json`` and ``evaluation.md`` into ``folder``.

        Raises:
            SweepError: the folder holds something else, such as another evaluation.
        """
        # Their package brings NumPy and Arrow.
        from l4s.sweeps import durable

        out = Path(folder)
        _check(out, self._files)
        out.mkdir(parents=True, exist_ok=True)
        for name, text in self._files.items():
            durable.write(out / name, _writes(text))

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return Evaluation, tuple(self._files.values())

    def __repr__(self) -> str:
        return f"<Evaluation of {self.name}: {self.passed} of {self.of} criteria hold>"

    def __str__(self) -> str:
        return self._files[_TABLE]

    def _repr_markdown_(self) -> str:
        return self._files[_TABLE]


def evaluate(
    control: str | MakeCc,
    *,
    quick: bool = False,
    chapters: Collection[str] | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Judges a congestion control by the criteria of RFC 9743, as ``l4s evaluate`` does.

    Controls of l4s run on all cores, those of your own one run after the other, as Python has one
    lock. docs/guides/evaluate.md has the criteria. Ctrl-C stops it.

    Args:
        control: a subclass of :class:`CongestionControl`, or a function that makes one; or a text
            as on the command line, such as ``"prague"``, ``"prague:best"``, ``"cubic+classic"`` or
            ``'{ kind = "cubic", abe = true }'``.
        quick: whether runs are short: the same criteria, with more chance in them.
        chapters: their names, such as ``["alone"]`` (see ``l4s evaluate --list``); all unless set.
        progress: a bar; by default where a terminal or notebook shows it.

    Raises:
        ScenarioError: a text is refused. Nothing was run.
        ValueError: there is no chapter of that name.
        AlgorithmError: a class of yours returned something invalid.
        Exception: an exception of a class of yours, with its own traceback.
    """
    _check_entrant("control", control, "CongestionControl")
    return _evaluated("evaluate", control, quick, chapters, progress)


def evaluate_aqm(
    discipline: str | MakeAqm,
    *,
    quick: bool = False,
    chapters: Collection[str] | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Judges a queue discipline by the criteria of RFC 7928, as ``l4s evaluate-aqm`` does.

    One with an L4S queue is judged by RFC 9332 too. For the rest, see :func:`evaluate`.

    Args:
        discipline: a subclass of :class:`Aqm`, or a function that makes one; or a text as on the
            command line, such as ``"pie"``, ``"dualpi2:linux"`` or
            ``'{ kind = "pie", target = "20ms" }'``.
        quick: whether runs are short: the same criteria, with more chance in them.
        chapters: their names, such as ``["senders"]`` (see ``l4s evaluate-aqm --list``); all unless
            set.
        progress: a bar; by default where a terminal or notebook shows it.

    Raises:
        ScenarioError: a text is refused. Nothing was run.
        ValueError: there is no chapter of that name.
        AlgorithmError: a class of yours returned something invalid.
        Exception: an exception of a class of yours, with its own traceback.
    """
    _check_entrant("discipline", discipline, "Aqm")
    return _evaluated("evaluate_aqm", discipline, quick, chapters, progress)


def _check_entrant(argument: str, entrant: object, base: str) -> None:
    if not isinstance(entrant, str) and not callable(entrant):
        what = f"expected a name, a subclass of l4s.{base}, or a function that makes one"
        raise TypeError(f"{argument} = {entrant!r}: {what}")


def _evaluated(
    function: Literal["evaluate", "evaluate_aqm"],
    entrant: str | MakeCc | MakeAqm,
    quick: bool,
    chapters: Collection[str] | None,
    progress: bool | None,
) -> Evaluation:
    """The verdicts of a function of this module on that which it evaluates."""
    is_own, of_aqms = not isinstance(entrant, str), function == "evaluate_aqm"
    asked = _chosen(_l4s.chapters(entrant, quick, of_aqms), chapters)
    runs = sum(map(len, asked))
    verdicts = []
    with _progress.tqdm(total=runs, disable=_progress.off(progress), unit="run") as bar:
        for chapter in asked:
            judged = _judged(chapter, 1 if is_own else cores(), lambda: bar.update(1))
            verdicts.append(chapter.judge(judged))
    name = asked[0].entrant
    shown = name if is_own else repr(name)
    call = _call(function, shown, quick, chapters and [c.name for c in asked])
    return Evaluation(*_l4s.written(name, verdicts, quick, of_aqms, call))


def _chosen(known: list[_l4s.Chapter], names: Collection[str] | None) -> list[_l4s.Chapter]:
    """The chapters of these names, in their own order."""
    if names is None:
        return known
    names = (names,) if isinstance(names, str) else tuple(names)
    accepted = [chapter.name for chapter in known]
    for name in names:
        if name not in accepted:
            raise ValueError(f"chapters: {name!r}: {_expected(name, accepted)}")
    if not names:
        raise ValueError("chapters: expected at least one, or None for all")
    return [chapter for chapter in known if chapter.name in names]


def _expected(name: str, accepted: list[str]) -> str:
    nearest = difflib.get_close_matches(name, accepted, 1)
    help = f"\n  help: did you mean {nearest[0]!r}?" if nearest else ""
    return f"expected {', '.join(accepted)}{help}"


def _judged(chapter: _l4s.Chapter, threads: int, tell: Callable[[], object]) -> list[_l4s.Judged]:
    """Every run of a chapter, in order."""
    numbers = range(len(chapter))
    made = _one_by_one if threads == 1 else _side_by_side
    judged = {}
    for number, run in made(chapter, numbers, threads):
        judged[number] = run
        tell()
    return [judged[number] for number in numbers]


def _one_by_one(chapter: _l4s.Chapter, numbers: range, _: int) -> Iterator[tuple[int, _l4s.Judged]]:
    return ((number, chapter.run(number)) for number in numbers)


def _side_by_side(
    chapter: _l4s.Chapter, numbers: range, threads: int
) -> Iterator[tuple[int, _l4s.Judged]]:
    """Runs in threads, as they end."""
    stopped = Event()

    def go_on(_: int) -> None:
        # Ctrl-C interrupts the main thread alone.
        if stopped.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(threads) as pool:
        runs = {pool.submit(chapter.run, number, go_on): number for number in numbers}
        try:
            for run in as_completed(runs):
                yield runs[run], run.result()
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _call(function: str, entrant: str, quick: bool, chapters: Collection[str] | None) -> str:
    """The call that makes the same verdicts."""
    call = f"l4s.{function}({entrant}"
    if quick:
        call += ", quick=True"
    if chapters:
        call += f", chapters={list(chapters)!r}"
    return call + ")"


def _judgement(verdict: Mapping[str, Any]) -> Judgement:
    worst = verdict.get("worst")
    if worst is not None:
        # JSON has no infinity: a rate over one of zero is null there.
        value = math.inf if worst["value"] is None else worst["value"]
        worst = Worst(**{**worst, "value": value})
    return Judgement(**{**verdict, "worst": worst})


def _check(out: Path, files: Mapping[str, str]) -> None:
    """Refuses a folder that holds anything else. Changes nothing."""
    from l4s.sweeps import durable

    if not out.exists():
        return
    if not out.is_dir():
        raise SweepError(f"{out} is a file: expected a folder")
    for entry in sorted(out.iterdir()):
        if durable.is_leftover(entry.name):
            continue
        what = f"something else, such as {entry.name}"
        if entry.name in files:
            if entry.read_bytes() == files[entry.name].encode():
                continue
            what = "another evaluation"
        help = "choose a new folder; nothing was changed"
        raise SweepError(f"{out} already holds {what}\n  help: {help}")


def _writes(text: str) -> Callable[[Path], object]:
    return lambda part: part.write_bytes(text.encode())
