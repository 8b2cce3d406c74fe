"""The division of work into tasks: the runs of a grid in batches, each a block of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from l4s import _l4s
from l4s._progress import off, tqdm
from l4s.errors import SweepError
from l4s.sweeps import tasks, work
from l4s.sweeps.asked import Asked
from l4s.sweeps.keys import Keys, digits
from l4s.sweeps.work import Work, batch, check, failure, halves, pack, write_failures

if TYPE_CHECKING:
    import distributed

# The target time of a batch. A killed worker loses that much; the overhead of a batch, some 20 ms,
# is little of it.
_SECONDS = 5.0
# Nor is it to have more runs, whose results wait in the memory of the worker.
_MOST = 1000
# Runs that are checked at once.
_CHECKED = 2000
# From how many runs on a cluster checks them faster than the client.
_MANY = 20_000


class Batches:
    """How many runs a batch has: always ``fixed``, or as the runs before suggest."""

    def __init__(self, fixed: int | None) -> None:
        if fixed is not None and fixed < 1:
            raise ValueError(f"batch = {fixed}: expected at least 1")
        self._fixed = fixed
        self._since: float | None = None
        self._runs, self._seconds = 0, 0.0

    def saw(self, runs: int, now: float, threads: int) -> None:
        """This number of further runs was done by then, in seconds of any clock."""
        # From the first on, which had to wait for processes to begin and modules to be read.
        if self._since is None:
            self._since = now
        else:
            self._runs += runs
            self._seconds = (now - self._since) * threads

    def size(self, left: int, threads: int) -> int:
        """The size of the next batch, where ``left`` runs are left for this number of threads."""
        if self._fixed is not None:
            return self._fixed
        # Small at first, to learn soon; and at the end, so that all threads end together.
        share = left // (4 * max(threads, 1))
        wanted = self._runs * _SECONDS / max(self._seconds, 1e-3) if self._runs else 10
        return max(1, int(min(share, wanted, _MOST)))


def keys_of(asked: Asked, client: distributed.Client | None, progress: bool | None) -> Keys:
    """The keys of all runs, in their order. All are checked."""
    total = len(asked)
    keys = np.empty(total, np.uint64)
    blocks = [range(start, min(start + _CHECKED, total)) for start in range(0, total, _CHECKED)]
    hidden = off(progress)
    with tqdm(total=total, disable=hidden, delay=1, leave=False, unit="run", desc="check") as bar:
        if client is None or total < _MANY:
            for block in blocks:
                runs = [(asked.texts[text], set_) for text, set_ in map(asked.of, block)]
                keys[block.start : block.stop] = work.keys_of(runs)
                bar.update(len(block))
            return keys
        given = ((block.start, _l4s.CODE, pack(asked, block)) for block in blocks)
        for _, checked in tasks.each(client, check, given, tasks.Room(client)):
            if isinstance(checked, tasks.Deadly):
                raise SweepError(f"workers died while they checked runs: {checked.why}")
            start, found = checked.result()
            its = np.frombuffer(found, np.uint64)
            keys[start : start + len(its)] = its
            bar.update(len(its))
    return keys


def run_all(
    client: distributed.Client,
    its_work: Work,
    asked: Asked,
    keys: Keys,
    missing: NDArray[np.intp],
    batches: Batches,
    tell: Callable[[int], object],
) -> None:
    """Does the runs of these numbers; ``tell`` receives the number of further finished runs."""

    room = tasks.Room(client)

    def task(numbers: NDArray[np.intp]) -> tuple[Any, ...]:
        return its_work, pack(asked, numbers.tolist()), keys[numbers].tobytes()

    def first() -> Iterator[tuple[Any, ...]]:
        at = 0
        while at < len(missing):
            size = batches.size(len(missing) - at, room.threads())
            yield task(missing[at : at + size])
            at += size

    at_most = None
    todo: Iterator[tuple[Any, ...]] | list[tuple[Any, ...]] = first()
    while todo:
        deadly: list[tuple[Any, ...]] = []
        for given, done in tasks.each(client, batch, todo, room, at_most):
            _, runs, its = given
            if not isinstance(done, tasks.Deadly):
                batches.saw(len(its) // 8, perf_counter(), room.threads())
                tell(len(its) // 8)
                continue
            # One of its runs kills workers, or one that waited there did: halves will show.
            both = halves(runs)
            if both:
                half = 8 * (len(its) // 16)
                deadly += [(its_work, both[0], its[:half]), (its_work, both[1], its[half:])]
                continue
            one = np.frombuffer(its, np.uint64)
            write_failures(Path(its_work.out), one, [failure(digits(one)[0], done.why)])
            tell(1)
        # Then nobody else waits where one kills.
        todo, at_most = deadly, 1
