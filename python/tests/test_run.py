"""Runs: the same as the command line's, and as they should be towards everything else in Python."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ROOT

import l4s
from l4s import _l4s

SHORT = l4s.Scenario("one-against-one").runs[0].with_(duration="4s")


def test_the_golden_tables_of_the_simulator_are_those_of_python() -> None:
    short = {"duration": "10s", "warmup": "2s"}
    for name, set_ in [("one-against-one", {}), ("changes", {}), ("web", short), ("video", short)]:
        runs = l4s.Scenario(name).with_(set_).runs
        records = [l4s.run(run, tables=False)._record for run in runs]
        assert _l4s.golden(records) == (ROOT / f"crates/sim/tests/golden/{name}.txt").read_text()


def test_the_summary_is_the_command_line_s_to_the_last_bit(command: str) -> None:
    for name, set_ in [
        ("one-against-one", {"duration": "5s"}),
        ("web", {"duration": "6s", "warmup": "1s"}),
    ]:
        options = [f"--set={key}={value}" for key, value in set_.items()]
        ran = subprocess.run(
            [command, "run", name, "--json", *options], capture_output=True, text=True, check=True
        )
        lines = []
        for line in ran.stdout.splitlines():
            wall = json.loads(line)["engine"]["wall_s"]
            lines.append(line.replace(f'"wall_s":{json.dumps(wall)},', ""))
        runs = l4s.Scenario(name).with_(set_).runs
        assert [l4s.run(run, tables=False).summary_json for run in runs] == lines
        # To look at it is no event of a run.
        assert [l4s.run(run, sampling_s=0.01).summary_json for run in runs] == lines


def test_the_tables_are_those_that_the_command_line_writes(command: str, tmp_path) -> None:
    out = tmp_path / "out"
    said = [command, "run", "one-against-one", "--set=duration=4s", "--out", str(out)]
    subprocess.run(said, capture_output=True, check=True)
    mine = tmp_path / "mine"
    l4s.run(SHORT).save(mine)
    for table in ["series", "delays", "flows"]:
        theirs = pl.read_parquet(out / f"{table}.parquet").filter(pl.col("run") == 0)
        assert pl.read_parquet(mine / f"{table}.parquet").equals(theirs), table
        assert theirs.equals(pl.DataFrame(getattr(l4s.run(SHORT), table))), table
    assert pl.read_parquet(mine / "runs.parquet").equals(pl.DataFrame(l4s.run(SHORT).runs))
    row = pl.read_parquet(mine / "runs.parquet").row(0, named=True)
    assert (
        pl.read_parquet(out / "runs.parquet").row(0, named=True)["summary_json"]
        == (row["summary_json"])
    )


def test_the_command_of_a_run_repeats_it(command: str) -> None:
    result = l4s.run(SHORT, tables=False)
    words = ["duration=4s", "case=dualpi2 dctcp:cubic"]
    assert all(word in result.command for word in words)
    again = result.command.replace("l4s", command, 1) + " --json"
    said = subprocess.run(again, shell=True, capture_output=True, text=True, check=True)
    assert json.loads(said.stdout)["queues"] == result.summary["queues"]


def test_goodput_over_time_has_the_mean_of_the_summary() -> None:
    result = l4s.run(l4s.Scenario("one-against-one").with_(duration="4s", warmup="1s").runs[0])
    series = pl.DataFrame(result.series).filter(
        (pl.col("scope") == "group") & (pl.col("time_s") > 1.05)
    )
    for group in result.summary["groups"]:
        mean = series.filter(pl.col("name") == group["name"])["goodput_bps"].mean()
        assert mean == pytest.approx(group["goodput_bps"], rel=1e-6), group["name"]


def test_tables_are_read_where_they_are() -> None:
    result = l4s.run(SHORT)
    first, second = pa.table(result.series), pa.table(result.series)
    assert first.num_rows == len(result.series) > 100
    assert first.column_names == result.series.column_names
    assert pa.schema(result.series) == first.schema
    for name in ["time_s", "packets", "name"]:
        here = [b.address for b in first[name].chunk(0).buffers() if b]
        assert here == [b.address for b in second[name].chunk(0).buffers() if b], name
    # Polars has numbers where Rust has them.
    frame = pl.DataFrame(result.series)
    numbers = frame["time_s"].to_numpy(allow_copy=False)
    assert numbers.__array_interface__["data"][0] == first["time_s"].chunk(0).buffers()[1].address
    # They outlive what they were read from.
    delays = pa.table(result.delays)
    total = sum(delays["count"].to_pylist())
    del result, first, second
    assert sum(delays["count"].to_pylist()) == total > 1000 and frame["time_s"].max() == 4.0


def test_pandas_and_duckdb_read_them_too() -> None:
    result = l4s.run(SHORT)
    # pandas reads Arrow by itself since its version 3, which Python 3.10 does not have.
    from_arrow = getattr(pd.DataFrame, "from_arrow", lambda table: pa.table(table).to_pandas())
    flows = from_arrow(result.flows)
    assert list(flows["group"]) == ["A", "B"]
    delays = pa.table(result.delays)
    rows = duckdb.sql("select sum(count) from delays where name = 'L'").fetchall()
    assert rows[0][0] == sum(
        delays.filter(pa.compute.equal(delays["name"], "L"))["count"].to_pylist()
    )


def test_without_tables_the_numbers_are_the_same() -> None:
    whole, bare = l4s.run(SHORT), l4s.run(SHORT, tables=False, sampling_s=0.5)
    assert whole.summary == bare.summary
    assert len(bare.series) == 0 and len(bare.flows) == 2
    times = pa.table(l4s.run(SHORT, sampling_s=0.5).series)["time_s"].unique().to_pylist()
    assert times == [0.5 * n for n in range(1, 9)]


def test_other_threads_go_on_and_runs_side_by_side_do_not_meet() -> None:
    want = l4s.run(SHORT).summary_json
    seen: list[str] = []
    threads = [
        threading.Thread(target=lambda: seen.append(l4s.run(SHORT).summary_json)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [want] * 4


def test_the_interpreter_is_free_while_a_run_goes_on() -> None:
    turns, stop = 0, threading.Event()

    def count() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    l4s.run(SHORT.with_(duration="300s"), progress=False)
    stop.set()
    counter.join()
    assert turns > 20


def test_control_c_stops_a_run_at_once() -> None:
    code = (
        "import l4s\n"
        "s = l4s.Scenario('one-against-one').runs[0].with_(duration='86400s')\n"
        "print('on', flush=True)\n"
        "try: l4s.run(s, tables=False)\n"
        "except KeyboardInterrupt: print('stopped', flush=True)\n"
    )
    path = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout and process.stdout.readline() == "on\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    assert process.stdout.readline() == "stopped\n"
    # A slice is 20 ms; the machine may be busy.
    assert time.monotonic() - asked < 5
    assert process.wait() == 0


def test_progress_is_shown_where_it_is_asked_for(capsys) -> None:
    l4s.run(SHORT, progress=True)
    assert "virtual s" in capsys.readouterr().err
    l4s.run(SHORT)
    assert capsys.readouterr().err == ""


def test_what_cannot_be_run_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has 3 runs: \.runs\[0\]"):
        l4s.run("one-against-one")
    with pytest.raises(ValueError, match="has the groups A, B"):
        l4s.run(SHORT, cc={"C": l4s.CongestionControl})
    for seconds in (0, -1, 1e-12, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"sampling_s = .*: expected more than zero"):
            l4s.run(SHORT, sampling_s=seconds)
    with pytest.raises(l4s.ScenarioError, match="cannot read this scenario"):
        l4s.run("nowhere.toml")


def test_more_samples_than_memory_has_room_for_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"sampling_s = 0\.000000001: \d{11,} rows") as refused:
        l4s.run(SHORT, sampling_s=1e-9)
    # The least that is accepted is so, and no less.
    least = float(re.search(r"at least (\S+),", str(refused.value))[1])  # type: ignore[index]
    one = SHORT._only()
    one.check_sampling(round(least * 1e9))
    with pytest.raises(ValueError, match="sampling_s"):
        one.check_sampling(round(least * 1e9) - 1)
    assert len(l4s.run(SHORT, sampling_s=1e-9, tables=False).series) == 0
    with pytest.raises(ValueError, match="rows of time series"):
        l4s.sweep(SHORT, tmp_path / "out", keep=["series"], sampling_s=1e-9)
    assert not (tmp_path / "out").exists()


def test_assertions_that_fail_are_said_with_what_was_found() -> None:
    that = ["link.utilization > 0.5", "queues.L.delay_ms.p99 < 1e-3"]
    scenario = SHORT.with_({"assert": [{"that": text} for text in that]})
    result = l4s.run(scenario)
    found = result.summary["queues"][0]["delay_ms"]["p99"]
    assert result.failed_assertions == [f"{that[1]}: expected < 0.001, found {found}"]
    assert l4s.run(SHORT).failed_assertions == []
    again = l4s.Scenario.from_toml(scenario.to_toml())
    assert l4s.run(again).failed_assertions == result.failed_assertions
    with pytest.raises(l4s.ScenarioError, match="there is no `Q` in `queues`, expected `L` or `C`"):
        SHORT.with_({"assert": [{"that": "queues.Q.mark < 1"}]})


def test_a_result_says_what_it_is() -> None:
    said = repr(l4s.run(SHORT))
    assert said.startswith("<Result of one-against-one: L 0.") and "link" in said
    assert repr(SHORT).startswith("<Scenario one-against-one case=")
    assert "rows" in repr(l4s.run(SHORT).series)
    assert "goodput" not in said
    # A full buffer behind the bottleneck drops what the bottleneck has carried.
    group = {"name": "A", "cc": "cubic", "rtt": "100ms", "flows": 10}
    fifo = {"kind": "fifo", "limit": "10p"}
    hop = {"name": "late", "place": "behind", "rate": "300kbit", "aqm": fifo}
    lossy = l4s.Scenario(duration="10s", link={"rate": "10mbit"}, group=[group], hop=[hop])
    assert re.search(r"A 0\.\d Mb/s \(goodput 0\.\d\)", repr(l4s.run(lossy)))


def test_no_memory_is_kept_of_results_that_are_gone() -> None:
    def resident_kb() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024

    one = SHORT.with_(duration="2s")
    for _ in range(20):
        pa.table(l4s.run(one, sampling_s=0.002).series)
    before = resident_kb()
    for _ in range(200):
        pa.table(l4s.run(one, sampling_s=0.002).series)
    # A run's series is some 600 kB: a leak of one in ten would be seen.
    assert resident_kb() - before < 12_000


def test_a_trace_is_relative_to_its_scenario_and_goes_with_the_result(
    command: str, tmp_path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.csv").write_text("time_s,rate_mbps\n0,5\n1,15\n2,\n")
    file = tmp_path / "in" / "mine.toml"
    text = 'duration = "2s"\nlink.trace = "t.csv"\n[[group]]\nname = "A"\ncc = "prague"\n'
    file.write_text(text + 'rtt = "10ms"\n')
    result = l4s.run(file)
    result.save(tmp_path / "out")
    (tmp_path / "in" / "t.csv").unlink()
    with pytest.raises(l4s.ScenarioError, match="cannot read this trace"):
        l4s.Scenario(file)
    again = l4s.run(tmp_path / "out" / "scenario.toml")
    assert again.summary_json.partition('"link"')[2] == result.summary_json.partition('"link"')[2]
    done = subprocess.run([command, "run", tmp_path / "out" / "scenario.toml"], capture_output=True)
    assert done.returncode == 0
