#!/usr/bin/env python3
"""What `l4s.sweep` costs, measured here and modelled for a cluster: docs/guides/scaling.md.

    scaling.py parts             CPU time of each step of a run, in one process
    scaling.py sweep RUNS        a sweep on the cores of this machine: CPU, memory
                                 (--duration 1s, --batch N, --nothing: no run is done)
    scaling.py model             10^6 runs on 1,000 cores, from the figures below
    scaling.py                   all of these, as in docs/guides/scaling.md

A busy neighbour changes wall-clock time, and CPU time less: compare ratios.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import l4s
from l4s import _l4s
from l4s.sweeps import batches, keys, sweep
from l4s.sweeps.asked import Asked
from l4s.sweeps.work import _put, arrow, pack

CORES = len(os.sched_getaffinity(0))


def grid(runs, duration="1s"):
    """DCTCP and Cubic, a flow each, at 40 Mb/s and 10 ms: seeds differ, and RTTs by a little."""
    one = l4s.Scenario("one-against-one").runs[0].with_(duration=duration)
    rtts = [f"{10_000 + extra}us" for extra in range(max(runs // 1000, 1))]
    return one.grid({"group.B.rtt": rtts}, seeds=min(runs, 1000))


def cpu(function):
    """CPU seconds of all threads of this process, and the result."""
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def table_of(summaries, commands):
    """A row per run."""
    return arrow(_l4s.table_of_runs(list(zip(summaries, commands, strict=True))))


def parts(duration="1s", runs=400):
    """Microseconds per run of each step, and per batch of a file."""
    many = grid(runs, duration)
    scenario = many.scenario
    took = {}
    took["check (client)"], digits = cpu(many.keys)
    took["settings (client)"], settings = cpu(lambda: [many.settings(n) for n in range(runs)])

    def plans():
        text = _l4s.Template(scenario._source, scenario._text)
        return [text.run(s) for s in settings]

    took["read the scenario (worker)"], planned = cpu(plans)
    took["simulate (worker)"], records = cpu(lambda: [_l4s.run(p, "x", False) for p in planned])
    took["summary (worker)"], texts = cpu(lambda: [record.summary for record in records])
    commands = [record.command for record in records]
    took["columns (worker)"], table = cpu(lambda: table_of(texts, commands))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        (Path(folder) / "runs").mkdir()
        began = time.perf_counter()
        took["file (worker)"], _ = cpu(lambda: _put(Path(folder), "runs", "x", table))
        wall = time.perf_counter() - began
        size = (Path(folder) / "runs" / "x.parquet").stat().st_size
        small = []
        for number in range(20):
            began = time.perf_counter()
            _put(Path(folder), "runs", str(number), table.slice(0, 1))
            small.append(time.perf_counter() - began)
    print(f"{runs} runs of {duration}, microseconds of CPU per run:")
    for what, seconds in took.items():
        print(f"  {what:28} {seconds / runs * 1e6:8.1f}")
    print(f"  a file of {runs} runs: {wall * 1e3:.1f} ms, {size / runs:.0f} bytes per run")
    print(f"  a file of 1 run: {sorted(small)[10] * 1e3:.1f} ms (median of 20)")
    per_task = len(pickle.dumps((pack(Asked(many), range(100)), keys.packed(digits[:100]))))
    print(f"  a task of 100 runs: {per_task} bytes")


def nothing(work, settings, its):
    """A batch of which nothing is done."""


def peak(pid):
    """The most memory that a process had, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def machine():
    """Seconds that all cores were busy, and idle, since the machine began."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / 100, idle / 100


def measured(runs, duration, batch, idle):
    """One sweep; a line of JSON. To be called in a process of its own."""
    if idle:
        batches.batch = nothing
    many = grid(runs, duration)
    began, busy, checked, own, memory = time.perf_counter(), machine(), [], [], {}
    keys_of, run_all = batches.keys_of, batches.run_all

    def timed_keys(*given):
        if idle:
            return np.arange(len(many), dtype=np.uint64)
        took, found = cpu(lambda: keys_of(*given))
        checked.extend([time.perf_counter() - began, took])
        return found

    def timed_run(client, *given):
        pids = client.run(os.getpid)
        before = [_wanted(pid) for pid in pids.values()]
        start, cpu_start = time.perf_counter(), time.process_time()
        run_all(client, *given)
        own.extend([time.perf_counter() - start, time.process_time() - cpu_start])
        # The thread that does the runs; the others of a worker are busy with Dask.
        most = [
            max(seconds - start.get(thread, 0) for thread, seconds in _wanted(pid).items())
            for pid, start in zip(pids.values(), before, strict=True)
        ]
        memory["wanted"] = sum(most) / own[0] / len(most)
        memory["workers"] = [round(peak(pid)) for pid in pids.values()]
        memory["client"] = round(peak(os.getpid()))
        memory["cpu"] = sum(map(_cpu_of, pids.values()))

    module = sys.modules["l4s.sweeps"]
    module.keys_of, module.run_all = timed_keys, timed_run
    with tempfile.TemporaryDirectory(dir=".") as folder:
        sweep(many, Path(folder) / "out", batch=batch, progress=False)
        files = len(list((Path(folder) / "out" / "runs").iterdir()))
    wall = time.perf_counter() - began
    there = machine()
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(u.ru_utime + u.ru_stime for u in used)
    now, idle_s = there[0] - busy[0], there[1] - busy[1]
    print(
        json.dumps(
            {
                "runs": runs,
                "batch": batch,
                "files": files,
                "wall_s": wall,
                "check_wall_s": checked[0] if checked else 0.0,
                "check_cpu_s": checked[1] if checked else 0.0,
                "runs_wall_s": own[0],
                "client_cpu_s": own[1],
                "workers_cpu_s": memory["cpu"],
                "wanted_share": memory["wanted"],
                "own_share": (own[1] + memory["cpu"]) / own[0] / CORES,
                "all_share": total / wall / CORES,
                "machine_share": now / (now + idle_s),
                "client_mb": memory["client"],
                "workers_mb": memory["workers"],
            }
        )
    )


def _cpu_of(pid):
    """CPU seconds of a process, its start aside or not: it is some tenths."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wanted(pid):
    """Seconds that each thread ran, or could have run had others not been on the core."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return {task.parent.name: sum(map(int, task.read_text().split()[:2])) / 1e9 for task in tasks}


def shown(runs, *more):
    """A sweep in a process of its own, shown."""
    command = [sys.executable, __file__, "sweep", str(runs), *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    print(
        f"{runs:>9,} runs {' '.join(more):32} {found['files']:6} files: check "
        f"{found['check_wall_s']:6.1f} s; runs {found['runs_wall_s']:6.1f} s, "
        f"CPU of workers {found['workers_cpu_s'] / runs * 1e6:6.0f} and client "
        f"{found['client_cpu_s'] / runs * 1e6:6.1f} us/run; workers had work "
        f"{found['wanted_share']:.0%} of the time; cores busy with it "
        f"{found['own_share']:.0%}, with all {found['machine_share']:.0%}; peak client "
        f"{found['client_mb']} MB, workers {max(found['workers_mb'])} MB",
        flush=True,
    )
    return found


# ---------------------------------------------------------------------------------------------
# The model. All that is not said to be assumed was measured; docs/guides/scaling.md has the commands.

CHECK_S = 82e-6  # of CPU, per run: on the cluster
WORKER_S = 0.16e-3  # of CPU, per run, without the simulation
FILE_S = 20e-3  # per batch: the file with its two flushes
TASK_S = 4.4e-3  # of client and scheduler, one after the other, per task
CLIENT_S = 14e-6  # of the client, per run in a task
START_S = 3.0  # assumed: until workers have read their modules


def modelled(runs, cores, run_s, batch, files_per_s, ahead=2):
    """Wall-clock seconds: a heap of cores, one server for tasks, one for files.

    Each task is handed out by the one client and scheduler, waits for its worker, is simulated,
    and its file is taken by a file system that takes this many a second. A task is handed out when
    fewer than ``ahead`` per core are under way.
    """
    server = files = START_S + runs * CHECK_S / cores
    free = [server] * cores
    heapq.heapify(free)
    under_way, end, left = [], server, runs
    while left:
        size = min(batch, left)
        left -= size
        if len(under_way) >= ahead * cores:
            server = max(server, heapq.heappop(under_way))
        server += TASK_S + size * CLIENT_S
        began = max(server, heapq.heappop(free))
        done = began + size * (run_s + WORKER_S)
        files = max(files, done - FILE_S) + 1 / files_per_s if files_per_s else done
        done = max(done + FILE_S, files)
        heapq.heappush(free, done)
        heapq.heappush(under_way, done)
        end = max(end, done)
    return end


def model():
    """10^6 runs on 1,000 cores."""
    runs, cores = 1_000_000, 1000
    for files_per_s in (5000, 200):
        print(f"10^6 runs on 1,000 cores, a file system that takes {files_per_s} files/s (assumed)")
        sizes = (1, 10, 100, 1000)
        print("  time of a run   ideal  " + "".join(f"  batch {b:>5}" for b in sizes))
        for run_s in (1.1e-3, 30e-3, 1.0, 60.0):
            ideal = runs * run_s / cores
            times = [modelled(runs, cores, run_s, b, files_per_s) for b in sizes]
            row = "".join(f"{t:10.0f} s" for t in times)
            print(f"  {run_s * 1e3:8.1f} ms {ideal:9.0f} s {row}")


def everything():
    """All that docs/guides/scaling.md says."""
    print(f"{CORES} cores, load {os.getloadavg()}")
    parts()
    for more in ([], ["--batch", "100"], ["--batch", "10"]):
        shown(10_000, *more)
    print("\nnothing is done but the tasks:")
    for runs, batch in (
        (3_000, 1),
        (10_000, 100),
        (100_000, 100),
        (1_000_000, 1000),
        (1_000_000, 100),
    ):
        shown(runs, "--nothing", "--batch", str(batch))
    print("\nshort runs, for memory:")
    for runs in (10_000, 100_000):
        shown(runs, "--duration", "20ms")
    print()
    model()


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=["parts", "sweep", "model"])
    parser.add_argument("runs", nargs="?", type=int, default=10_000)
    parser.add_argument("--duration", default="1s")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--nothing", action="store_true")
    given = parser.parse_args()
    if given.what == "parts":
        parts(given.duration)
    elif given.what == "sweep":
        measured(given.runs, given.duration, given.batch, given.nothing)
    elif given.what == "model":
        model()
    else:
        everything()


if __name__ == "__main__":
    main()
