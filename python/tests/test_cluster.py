"""`l4s.sweep` on clusters that lack something: it says what and where, and does not wait."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import distributed
import pytest

import l4s
from l4s.sweeps import sweep, tasks

SHORT = l4s.Scenario("one-against-one").runs[0].with_(duration="100ms")


def without(folder: Path, *modules: str) -> dict[str, str]:
    """The environment of a Python that lacks these modules."""
    folder.mkdir()
    for module in modules:
        raising = f"raise ModuleNotFoundError(\"No module named '{module}'\", name='{module}')\n"
        (folder / f"{module}.py").write_text(raising)
    return {**os.environ, "PYTHONPATH": str(folder)}


class Cluster:
    """A scheduler and a worker as processes of their own, as on two machines."""

    def __init__(self, scheduler: dict[str, str], worker: dict[str, str], cwd: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": cwd}
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
        work = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        self._processes = [
            subprocess.Popen(
                [*dask, "--host", "127.0.0.1", "--port", port, "--no-dashboard"],
                env=scheduler,
                **quiet,
            ),
            subprocess.Popen(
                [*work, "--nthreads", "1", "--no-dashboard", "--no-nanny"], env=worker, **quiet
            ),
        ]

    def __enter__(self) -> distributed.Client:
        self.client = distributed.Client(self.address, timeout=60)
        self.client.wait_for_workers(1, timeout=60)
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        for process in self._processes:
            process.kill()
            process.wait()


def test_workers_and_a_scheduler_without_l4s(tmp_path) -> None:
    bare = without(tmp_path / "bare", "l4s")
    with Cluster(bare, bare, tmp_path) as client:
        began = time.monotonic()
        with pytest.raises(l4s.SweepError, match="has no module `l4s`") as refused:
            sweep(SHORT.grid(seeds=3), tmp_path / "out", client=client)
        assert time.monotonic() - began < 30
        assert socket.gethostname() in str(refused.value) and "install" in str(refused.value)
        assert not (tmp_path / "out").exists(), "nothing was written"
        # A worker that comes later is not asked before, but its task says the same.
        with pytest.raises(l4s.SweepError, match="has no module `l4s`"):
            list(tasks.each(client, sweep, [(1,)], tasks.Room(client)))


def test_a_scheduler_without_l4s_is_enough_and_a_class_needs_no_file_there(tmp_path) -> None:
    """The worker has l4s, but neither the module of the class nor what that imports."""
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "mine.py").write_text(
        textwrap.dedent("""
        import l4s
        import other
        class Mine(l4s.CongestionControl):
            name = "mine"
            def ssthresh(self, window, why):
                return other.half(window.cwnd)
        """)
    )
    (tmp_path / "client" / "other.py").write_text(
        "LEAST = 2\ndef half(cwnd):\n    return max(cwnd // 2, LEAST)\n"
    )
    bare = without(tmp_path / "bare", "l4s")
    sys.path.insert(0, str(tmp_path / "client"))
    try:
        import mine  # type: ignore[import-not-found]

        with Cluster(bare, without(tmp_path / "whole"), tmp_path) as client:
            done = sweep(SHORT.grid(seeds=2), tmp_path / "out", client=client, cc=mine.Mine)
        assert done.runs["group_A_cc"].to_pylist() == ["mine", "mine"]
        alone = [
            l4s.run(one, cc=mine.Mine, tables=False).summary_json for one in SHORT.grid(seeds=2)
        ]
        assert done.runs["summary_json"].to_pylist() == alone
    finally:
        sys.path.pop(0)
        for name in ("mine", "other"):
            sys.modules.pop(name, None)


def test_a_worker_without_what_a_class_imports(tmp_path) -> None:
    """Installed here, not there."""
    import duckdb

    class Mine(l4s.CongestionControl):
        def alpha(self) -> float:
            return float(duckdb is None)

    without_duckdb = without(tmp_path / "bare", "duckdb")
    with (
        Cluster(dict(os.environ), without_duckdb, tmp_path) as client,
        pytest.raises(l4s.SweepError, match="has no module `duckdb`") as refused,
    ):
        sweep(SHORT.grid(seeds=2), tmp_path / "out", client=client, cc={"A": Mine})
    assert socket.gethostname() in str(refused.value) and "install it there" in str(refused.value)


def handed_over(command: str, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`l4s run --cluster` with the Python of this test."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    short = [
        "run",
        "one-against-one",
        "--set",
        "case=dualpi2 dctcp:cubic",
        "--set",
        "duration=100ms",
    ]
    return subprocess.run(
        [command, *short, *words],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )


def test_the_command_hands_its_runs_over_and_does_only_those_that_are_missing(
    command, tmp_path
) -> None:
    with Cluster(dict(os.environ), dict(os.environ), tmp_path) as client:
        address = ["--cluster", client.scheduler.address, "--out", "out"]
        first = handed_over(command, tmp_path, *address, "--seeds", "3")
        assert first.returncode == 0, first.stderr
        assert "3 runs in out" in first.stderr and first.stdout == ""
        files = {file: file.read_bytes() for file in (tmp_path / "out" / "runs").iterdir()}
        again = handed_over(command, tmp_path, *address, "--seeds", "4")
        assert again.returncode == 0, again.stderr
        for file, content in files.items():
            assert file.read_bytes() == content
        alone = handed_over(command, tmp_path, "--seeds", "4", "--out", "alone")
        assert alone.returncode == 0, alone.stderr
        rows, expected = (l4s.read(tmp_path / name).runs for name in ("out", "alone"))
        for column in ("seed", "queue_L_delay_mean_ms", "link_utilization"):
            assert sorted(rows[column].to_pylist()) == sorted(expected[column].to_pylist())
        report = subprocess.run([command, "report", "out"], cwd=tmp_path, capture_output=True)
        assert report.returncode == 0, report.stderr
        (tmp_path / "out" / "sweep.json").write_text("{}")
        other = handed_over(command, tmp_path, *address)
        assert other.returncode == 1 and other.stderr.startswith("error: --cluster tcp://")
        assert "Traceback" not in other.stderr, other.stderr


def test_a_command_without_a_scheduler_says_so(command, tmp_path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    refused = handed_over(command, tmp_path, "--cluster", address, "--out", "out")
    assert refused.returncode == 3 and "no Dask scheduler answers" in refused.stderr
    assert "Traceback" not in refused.stderr and not (tmp_path / "out").exists()
    unknown = handed_over(command, tmp_path, "--cluster", "somewhere", "--out", "out")
    assert unknown.returncode == 3 and "no Dask scheduler answers" in unknown.stderr
