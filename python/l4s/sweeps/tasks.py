"""Tasks on a cluster: few at a time, however many there are, and each result seen once."""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import cloudpickle

from l4s.errors import SweepError

T = TypeVar("T")
# Dask says too little of its types.
Client: TypeAlias = Any
Future: TypeAlias = Any

#: Tasks per thread of the cluster: one that runs, one that waits.
AHEAD = 2
# Of exceptions of a task, such as a shared folder that is away for a moment.
_RETRIES = 2
# Of tasks that the scheduler loses: as often as it lets workers die with a task.
_FORGOTTEN = 3
# How often it is looked for workers that came or went, and for a scheduler that is gone.
_LOOK_S = 2.0
# How long a task that is done waits for others: every thread has another one yet.
_TOGETHER_S = 0.005


@dataclass(frozen=True)
class Deadly:
    """Workers died with a task, again and again."""

    why: str


def far(call: bytes) -> object:
    """Calls a function of l4s on a worker, where l4s may not be installed.

    A task consists of this and bytes: an error in unpacking them there is an exception of
    the task. If Dask had to unpack it, before the task, a worker or the scheduler would end of it.
    """
    import pickle
    import socket

    try:
        function, arguments = pickle.loads(call)
    except ImportError as error:
        # Made again: an exception from here must be understood everywhere.
        raise ImportError(
            f"worker on {socket.gethostname()} has no module `{error.name}`\n"
            "  help: install the same l4s there"
        ) from None
    return function(*arguments)


# Cloudpickle takes definitions in __main__ by value: no worker needs l4s to have it.
far.__module__ = "__main__"


def ask(client: Client, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    """Calls a function on every worker that is there, and refuses those that cannot.

    Nothing of a sweep has begun then, and nobody waits for workers that would never do.
    """
    here = sys.version_info[:2]
    version = "__import__('sys').version_info[:2]"
    # Bytecode is that of one version of Python: the check uses only syntax of every version.
    wrong = {
        address: f"has Python {'.'.join(map(str, there))}; the client has {here[0]}.{here[1]}"
        for address, there in client.run(eval, version, on_error="ignore").items()
        if tuple(there) != here
    }
    if not wrong:
        call = cloudpickle.dumps((function, arguments))
        said = client.run(far, call, on_error="return")
        wrong = {address: error for address, error in said.items() if error is not None}
    if wrong:
        address, why = next(iter(wrong.items()))
        many = f"{len(wrong)} workers cannot do this, the first is " if len(wrong) > 1 else ""
        raise SweepError(f"{many}{address}: {why}")


def each(
    client: Client,
    function: Callable[..., object],
    arguments: Iterable[tuple[Any, ...]],
    room: Room,
    at_most: int | None = None,
) -> Iterator[tuple[tuple[Any, ...], Future | Deadly]]:
    """Calls ``function`` with each of ``arguments`` on the cluster; yields them as they are done.

    Arguments are taken when there is a thread for them soon, so that neither the client nor the
    scheduler holds more than :data:`AHEAD` tasks per thread. An exception of a task is raised, and
    the others are given up. A task that is cancelled or lost is submitted again: where a worker
    dies, the scheduler may lose a task that it had. Results stay with the workers unless the
    future's own is requested: the memory of a worker that dies does not matter then.
    """
    rest = iter(arguments)
    ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
    under_way: dict[Future, tuple[Any, ...]] = {}
    forgotten: list[tuple[Any, ...]] = []
    more = True
    try:
        while more or under_way:
            wanted = (at_most or AHEAD * room.threads()) - len(under_way)
            some = list(islice(rest, max(wanted, 0))) if more else []
            more = more and len(some) == max(wanted, 0)
            for future, given in zip(_submitted(client, function, some), some, strict=True):
                under_way[future] = given
                future.add_done_callback(ended.put)
            if not under_way:
                continue
            done = _drained(ended)
            again = []
            for future in done:
                given = under_way.pop(future)
                has_ended = future.status in ("finished", "error")
                times = sum(one is given for one in forgotten)
                if not has_ended and times < _FORGOTTEN and client.status == "running":
                    again.append(given)
                    continue
                yield given, (_deadly(future) if future.status != "finished" else future)
            if not done:
                _still_there(client, under_way)
            if again:
                forgotten += again
                rest, more = chain(again, rest), True
            # Held objects are not released.
            future, done = None, []
    finally:
        if under_way:
            with suppress(Exception):
                client.cancel(list(under_way), force=True)


def _submitted(
    client: Client, function: Callable[..., object], arguments: list[tuple[Any, ...]]
) -> list[Future]:
    """All at once: each alone costs client and scheduler three times as much."""
    if not arguments:
        return []
    name = f"l4s-{function.__name__}-{uuid4().hex}"
    keys = [f"{name}-{number}" for number in range(len(arguments))]
    calls = [cloudpickle.dumps((function, given)) for given in arguments]
    futures: list[Future] = client.map(far, calls, key=keys, pure=False, retries=_RETRIES)
    return futures


def _drained(ended: queue.SimpleQueue[Future]) -> list[Future]:
    """All ended tasks, at least one, as soon as there is one."""
    done: list[Future] = []
    with suppress(queue.Empty):
        done.append(ended.get(timeout=_LOOK_S))
        # The next few are handled with it.
        sleep(_TOGETHER_S)
        while True:
            done.append(ended.get_nowait())
    return done


def _deadly(future: Future) -> Deadly:
    """Why a task has no result, where that is not the end of all."""
    from distributed.scheduler import KilledWorker

    if future.status == "error":
        error = future.exception()
        if isinstance(error, KilledWorker):
            return Deadly(str(error))
        if isinstance(error, ImportError):
            raise SweepError(str(error)) from None
        raise error
    raise _gone()


def _still_there(client: Client, under_way: Iterable[Future]) -> None:
    if client.status != "running" or any(future.status == "lost" for future in under_way):
        raise _gone()


def _gone() -> SweepError:
    return SweepError(
        "the scheduler is gone, or the tasks were cancelled\n"
        "  help: what was finished is in the folder; the same call does the rest"
    )


class Room:
    """How many threads a cluster has. Workers come and go."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._until, self._threads = 0.0, 1

    def threads(self) -> int:
        """The threads of all workers there are now; at least 1, for which something may wait."""
        if monotonic() >= self._until:
            try:
                there = sum(self._client.nthreads().values())
            except (OSError, RuntimeError, TimeoutError):
                raise _gone() from None
            self._threads = max(there, 1)
            self._until = monotonic() + _LOOK_S
        return self._threads
