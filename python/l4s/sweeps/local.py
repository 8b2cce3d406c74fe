"""A cluster of the cores of this machine."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import distributed


@contextmanager
def client() -> Iterator[distributed.Client]:
    """A process per core with one thread each, all gone at the end."""
    # Dask says too little of its types.
    cluster: Any = distributed.LocalCluster
    connect: Any = distributed.Client
    with (
        _nothing_of_main(),
        cluster(
            n_workers=_cores(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.ERROR,
        ) as here,
        connect(here) as workers,
    ):
        yield workers


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _nothing_of_main() -> Iterator[None]:
    """New processes do not begin with the script that started them.

    multiprocessing would run it again in each, and a script without
    ``if __name__ == "__main__"`` would start another sweep there. Workers need nothing of it: what
    is defined in it, Dask sends by value.
    """
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    main.__spec__ = None
    main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        main.__dict__.update(hidden)
