"""``l4s run --cluster``: the runs of that command on the workers of a Dask scheduler.

The command has checked the scenario and starts Python in its own place, with :func:`main`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import distributed

from l4s import _l4s
from l4s.errors import ScenarioError, SweepError
from l4s.scenario import Scenario
from l4s.sweeps import sweep
from l4s.sweeps.tasks import Client

#: Exit codes of the command: a run failed, bad input, not possible here.
FAILED, REFUSED, IMPOSSIBLE = 1, 2, 3
#: As of a process that Ctrl-C ended.
INTERRUPTED = 130
#: How long the scheduler may take to answer.
ANSWERS_WITHIN_S = 10
#: Failed runs that are named.
NAMED = 5


def main(words: Sequence[str]) -> int:
    """Does the runs; returns the exit code.

    Args:
        words: the address of the scheduler, the folder of results, the scenario, the number of
            seeds, the fingerprint of the command's code, and settings ``KEY=VALUE``.
    """
    address, out, name, seeds, code, *settings = words
    if code != _l4s.CODE:
        return _error(
            IMPOSSIBLE,
            f"--cluster: this command has the code {code}, and the Python package in {sys.prefix} "
            f"{_l4s.CODE}: expected both of one version",
        )
    # Dask says too little of its types.
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=ANSWERS_WITHIN_S)
    except (OSError, ValueError) as error:
        return _error(
            IMPOSSIBLE,
            f"--cluster {address}: no Dask scheduler answers within {ANSWERS_WITHIN_S} s: {error}; "
            "expected the address that `dask scheduler` shows, such as tcp://192.0.2.1:8786",
        )
    try:
        with client:
            return _sweep(client, out, Scenario._open(name, settings), int(seeds))
    except ScenarioError as error:
        return _error(REFUSED, error.report.removeprefix("error: "))
    except (SweepError, OSError) as error:
        return _error(FAILED, f"--cluster {address}: {error}")
    except KeyboardInterrupt:
        return _error(INTERRUPTED, "finished runs are intact: the same command does the others")


def _sweep(client: Client, out: str, scenario: Scenario, seeds: int) -> int:
    workers = len(client.nthreads())
    if not workers:
        print("note: the scheduler has no worker yet: runs begin when one comes", file=sys.stderr)
    began = time.monotonic()
    with warnings.catch_warnings():
        # Failed runs are named below.
        warnings.filterwarnings("ignore", message=r"\d+ of \d+ runs failed")
        done = sweep(scenario.grid(seeds=seeds), out, client=client)
    took = time.monotonic() - began
    for failure in done.failures[:NAMED]:
        print(f"run {failure.run + 1} failed: {failure.error}", file=sys.stderr)
    print(
        f"{len(done)} runs in {out}, by {workers} workers in {took:.1f} s; "
        f"`l4s report {out}` draws them",
        file=sys.stderr,
    )
    if done.failures:
        return _error(
            FAILED, f"{len(done.failures)} runs failed; the same command tries them again"
        )
    return 0


def _error(code: int, message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code
