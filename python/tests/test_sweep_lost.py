"""`l4s.sweep` while workers, the scheduler or the client are killed: each result exactly once."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask
import distributed
import pytest

import l4s
from l4s.sweeps import read, sweep, tasks

# Some 30 ms each, and 4 s for two workers.
GRID = l4s.Scenario("one-against-one").with_(duration="8s").grid(seeds=60)
BATCH = 5


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What it is when nobody dies."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    with cluster(2, processes=False) as here, distributed.Client(here) as client:
        sweep(GRID, out, client=client, batch=BATCH, keep=["delays"])
    return partitions(out)


def cluster(workers, processes=True):
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=None,
        silence_logs=50,
    )


def partitions(out):
    tables = [*(out / "runs").glob("*.parquet"), *(out / "delays").glob("*.parquet")]
    return {str(path.relative_to(out)): path.read_bytes() for path in tables}


def check(out, undisturbed):
    """Every result once, in files of the same bytes."""
    done = read(out)
    assert done.runs["key"].to_pylist() == GRID.keys()
    assert done.dataset().count_rows() == len(GRID)
    assert done.failures == []
    assert partitions(out) == undisturbed
    # Nothing half-written either, but by whoever was killed.
    assert {p.suffix for p in (out / "runs").iterdir()} <= {".parquet", ".part"}


def until(true, timeout=30.0):
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def count(out):
    return len(list((out / "runs").glob("*.parquet"))) if (out / "runs").exists() else 0


def test_workers_are_killed(tmp_path, undisturbed):
    out, kills, over = tmp_path / "out", 0, threading.Event()

    def kill():
        nonlocal kills
        chance = random.Random(1)
        for after in (2, 8, 16, 24):
            until(lambda: count(out) >= after or over.is_set())  # noqa: B023
            pids = [nanny.pid for nanny in here.workers.values() if nanny.pid]
            if not over.is_set():
                os.kill(chance.choice(pids), signal.SIGKILL)
                kills += 1

    with cluster(2) as here, distributed.Client(here) as client:
        killer = threading.Thread(target=kill)
        killer.start()
        done = sweep(GRID, out, client=client, batch=BATCH, keep=["delays"])
        over.set()
        killer.join()
    assert kills == 4
    assert len(done) == len(GRID)
    check(out, undisturbed)


class Ended:
    """A future that has ended."""

    def __init__(self, status):
        self.status = status

    def add_done_callback(self, call):
        call(self)


class Forgetful:
    """A client whose scheduler cancels the task `number` the first `times[number]` times."""

    status = "running"

    def __init__(self, times):
        self.times = times

    def map(self, far, calls, **_):
        numbers = [pickle.loads(call)[1][0] for call in calls]
        cancelled = [self.times.get(number, 0) > 0 for number in numbers]
        self.times = {number: times - 1 for number, times in self.times.items()}
        return [Ended("cancelled" if gone else "finished") for gone in cancelled]

    def threads(self):
        return 4


def test_a_task_that_the_scheduler_forgets_is_submitted_again():
    client = Forgetful({1: 1, 3: 3})
    done = tasks.each(client, print, [(number,) for number in range(5)], client)
    assert [given for given, _ in done] == [(0,), (2,), (4,), (1,), (3,)]
    client = Forgetful({1: 1, 3: 4})
    with pytest.raises(l4s.SweepError, match="the tasks were cancelled"):
        list(tasks.each(client, print, [(number,) for number in range(5)], client))


class Deadly(l4s.CongestionControl):
    """Takes its worker with it, in one of the runs."""

    name = "deadly"

    def on_ack(self, window, ack):
        if ack.min_rtt_ns < 5e6:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_run_that_kills_its_workers(tmp_path, monkeypatch):
    # Workers are to find the class.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    rtts = ["10ms", "20ms", "2ms", "30ms"]
    short = l4s.Scenario("one-against-one").runs[1].with_(duration="100ms")
    grid = short.grid({"group.B.rtt": rtts})
    with (
        # One chance a task, or this takes a minute.
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(2) as here,
        distributed.Client(here) as client,
        pytest.warns(UserWarning, match="1 of 4 runs failed"),
    ):
        done = sweep(grid, tmp_path / "out", client=client, cc={"B": Deadly}, batch=4)
    assert done.runs["run"].to_pylist() == [0, 1, 3]
    assert [failure.run for failure in done.failures] == [2]


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
from test_sweep_lost import BATCH, GRID
from l4s.sweeps import sweep
sweep(GRID, sys.argv[1], batch=BATCH, keep=["delays"])
"""


def client_process(out):
    command = [sys.executable, "-c", SCRIPT, str(out), str(Path(__file__).parent)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_client_is_killed(tmp_path, undisturbed):
    """And with it the scheduler, which is in the same process."""
    out = tmp_path / "out"
    for more in (3, 3):
        before = count(out)
        process = client_process(out)
        try:
            until(lambda: count(out) >= before + more)  # noqa: B023
            workers = children(process.pid)
        finally:
            process.kill()
        process.communicate()
        assert count(out) < len(GRID) // BATCH, "it was killed in the middle"
        # Its workers see that, and go.
        until(lambda: not any(map(is_there, workers)))  # noqa: B023
    there = partitions(out)
    assert len(sweep(GRID, out, batch=BATCH, keep=["delays"])) == len(GRID)
    assert there.items() <= partitions(out).items(), "what was there is there still"
    check(out, undisturbed)


def test_interrupted(tmp_path, undisturbed):
    out = tmp_path / "out"
    process = client_process(out)
    until(lambda: count(out) >= 3)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert "KeyboardInterrupt" in errors.splitlines()[-1]
    assert process.returncode != 0
    until(lambda: not any(map(is_there, workers)))
    assert 3 <= count(out) < len(GRID) // BATCH
    sweep(GRID, out, batch=BATCH, keep=["delays"])
    check(out, undisturbed)


class Dying:
    """An interrupt comes while Python ends this one, where no exception goes any further."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("when", ["first", "last"])
def test_interrupted_in_a_finalizer(tmp_path, undisturbed, monkeypatch, when):
    out, ends = tmp_path / "out", []

    class Bar(l4s.sweeps.tqdm):
        def update(self, runs):
            ends.append(runs)
            # After the last there is nothing more to be interrupted.
            if len(ends) == 1 if when == "first" else sum(ends) == len(GRID):
                Dying()

    monkeypatch.setattr(l4s.sweeps, "tqdm", Bar)
    with cluster(2, processes=False) as here, distributed.Client(here) as client:
        with pytest.raises(KeyboardInterrupt):
            sweep(GRID, out, client=client, batch=BATCH, keep=["delays"])
        assert (sum(ends) == len(GRID)) == (when == "last")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        monkeypatch.undo()
        sweep(GRID, out, client=client, batch=BATCH, keep=["delays"])
    check(out, undisturbed)


SCHEDULER = """
import distributed, sys, time
here = distributed.LocalCluster(
    n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
)
print(here.scheduler_address, flush=True)
time.sleep(600)
"""


def test_the_scheduler_is_lost(tmp_path, undisturbed):
    out = tmp_path / "out"
    script = tmp_path / "scheduler.py"
    script.write_text(f"if __name__ == '__main__':\n    exec({SCHEDULER!r})\n")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()

    def kill():
        until(lambda: count(out) >= 3)
        process.kill()

    killer = threading.Thread(target=kill)
    try:
        with distributed.Client(address, timeout=5) as client:
            killer.start()
            with pytest.raises(l4s.SweepError, match="the scheduler is gone"):
                sweep(GRID, out, client=client, batch=BATCH, keep=["delays"])
    finally:
        process.kill()
        process.communicate()
        killer.join()
    assert 3 <= count(out) < len(GRID) // BATCH
    sweep(GRID, out, batch=BATCH, keep=["delays"])
    check(out, undisturbed)
