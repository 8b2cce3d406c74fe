"""A cluster of the cores of this machine."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from l4s._cores import cores

if TYPE_CHECKING:
    import distributed


@contextmanager
def client() -> Iterator[distributed.Client]:
    """A process per core with one thread each, all gone at the end."""
    import distributed

    # Dask says too little of its types.
    cluster: Any = distributed.LocalCluster
    connect: Any = distributed.Client
    with (
        _nothing_of_main(),
        _without_interrupts(),
        cluster(
            n_workers=cores(),
            threads_per_worker=1,
            processes=True,
            # Or its HTTP server binds a certain port, and complains where another sweep has that.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.ERROR,
        ) as here,
        connect(here) as workers,
    ):
        yield workers


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """New processes do not receive an interrupt: a terminal sends it to all processes that it has.

    The parent ends them. One that comes meanwhile is handled when they have begun.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Otherwise it starts with the first process, and lets interrupts through after that.
    resource_tracker.ensure_running()
    # The thread that starts them, and starts others in the place of those that die, begins here
    # too: threads and processes inherit the mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _nothing_of_main() -> Iterator[None]:
    """New processes do not begin with the script that started them.

    multiprocessing would run it again in each, and a script without
    ``if __name__ == "__main__"`` would start another sweep there. Workers do not need it: Dask
    sends its definitions by value.
    """
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    main.__spec__ = None
    main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        main.__dict__.update(hidden)
