"""No result is taken for that of an algorithm that did not make it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import l4s
from l4s.sweeps import sweep

SHORT = l4s.Scenario("one-against-one").runs[1].with_(duration="100ms")

SCRIPT = """
import sys, l4s

class P(l4s.Aqm):
    def __init__(self, k):
        self.k = k
    def enqueue(self, packet):
        return "drop" if packet.waiting_packets >= self.k else None

grid = l4s.Scenario("one-against-one").runs[1].with_(duration="300ms").grid()
for k in (1, 5):
    try:
        done = l4s.sweep(grid, sys.argv[1], aqm=lambda: P(k))
        print(k, done.runs["queue_Q_drops_limit"].to_pylist())
    except l4s.SweepError as error:
        print(k, str(error).splitlines()[0])
"""


def test_a_global_of_a_loop_in_a_script(tmp_path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)

    def ran() -> str:
        command = [sys.executable, "script.py", "out"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout

    first, again = ran(), ran()
    one, five = first.splitlines()
    assert one.startswith("1 [") and "aqm of algorithms of your own was another" in five
    # In another process it is the same sweep.
    assert first == again


K = 1


class Uses(l4s.CongestionControl):
    """One whose threshold is a global."""

    def ssthresh(self, window, why):
        return max(window.cwnd // 2, K)


def test_values_of_now_are_run_by_workers(tmp_path, monkeypatch, client) -> None:
    """Also of a module that workers could read themselves, and would find as it was written."""
    monkeypatch.setattr(sys.modules[__name__], "K", 40)
    done = sweep(SHORT.grid(), tmp_path / "out", client=client, cc=Uses)
    alone = l4s.run(SHORT, cc=Uses, tables=False).summary_json
    assert done.runs["summary_json"].to_pylist() == [alone]
    monkeypatch.setattr(sys.modules[__name__], "K", 41)
    with pytest.raises(l4s.SweepError, match="cc of algorithms of your own was another"):
        sweep(SHORT.grid(), tmp_path / "out", client=client, cc=Uses)
    monkeypatch.setattr(sys.modules[__name__], "K", 40)
    assert len(sweep(SHORT.grid(), tmp_path / "out", client=client, cc=Uses)) == 1


def test_what_cannot_be_seen_or_sent_is_refused_before_anything_is_written(
    tmp_path, client
) -> None:
    class Reads(l4s.CongestionControl):
        def alpha(self):
            with open("setting") as file:
                return float(file.read())

    with pytest.raises(l4s.SweepError, match=r"cc: Reads → alpha → open: `open` gives"):
        sweep(SHORT.grid(), tmp_path / "out", client=client, cc=Reads)
    for wrong in (Uses(), 3, "reno"):
        with pytest.raises(TypeError, match=r"expected a subclass of l4s\.CongestionControl"):
            sweep(SHORT.grid(), tmp_path / "out", client=client, cc=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


class Raises(l4s.CongestionControl):
    def on_ack(self, window, ack):
        raise RuntimeError("on purpose")


def test_a_traceback_names_file_and_line(tmp_path, client) -> None:
    with pytest.warns(UserWarning, match="on purpose"):
        done = sweep(SHORT.grid(), tmp_path / "out", client=client, cc={"B": Raises})
    (failure,) = done.failures
    lines = Path(__file__).read_text().splitlines()
    line = lines.index('        raise RuntimeError("on purpose")') + 1
    assert f'File "{__file__}", line {line}, in on_ack' in failure.traceback
    assert 'raise RuntimeError("on purpose")' in failure.traceback


INTERRUPTED = """
import sys, l4s
print("on", flush=True)
grid = l4s.Scenario("one-against-one").with_(duration="60s").grid(seeds=1000)
l4s.sweep(grid, sys.argv[1], batch=1, progress=False)
"""


def test_an_interrupt_is_one_traceback(tmp_path) -> None:
    """A terminal sends it to every process that it has; workers say nothing of it."""
    (tmp_path / "script.py").write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, "script.py", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    runs = tmp_path / "out" / "runs"
    end = time.monotonic() + 60
    while not (runs.is_dir() and any(runs.glob("*.parquet"))):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (1, -signal.SIGINT, 130)
    assert said.count("Traceback") == 1 and said.rstrip().endswith("KeyboardInterrupt"), said
    # Nobody of that session stays.
    while subprocess.run(
        ["ps", "-o", "pid=", "--sid", str(process.pid)], capture_output=True
    ).stdout:
        assert time.monotonic() < end
        time.sleep(0.05)
