"""`l4s.sweep` where nothing goes wrong, and where it is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import l4s
from l4s import _l4s
from l4s.sweeps import batches, durable, folder, index, keys, local, read, sweep, tasks, work
from l4s.sweeps.asked import Asked

SHORT = l4s.Scenario("one-against-one").with_(duration="200ms")


def files(out):
    return {str(p.relative_to(out)): p.read_bytes() for p in Path(out).rglob("*.parquet")}


def test_equals_single_runs(tmp_path, client):
    grid = SHORT.grid(seeds=3)
    done = sweep(grid, tmp_path / "out", client=client, keep=["series", "delays", "flows"])
    assert len(done) == len(grid) == 9 == done.runs.num_rows
    alone = [l4s.run(one) for one in grid]
    assert done.runs["summary_json"].to_pylist() == [one.summary_json for one in alone]
    assert done.runs["command"].to_pylist() == [one.command for one in alone]
    assert done.runs["run"].to_pylist() == list(range(9))
    assert done.runs["key"].to_pylist() == grid.keys()
    assert list(done.summaries()) == [one.summary for one in alone]
    for name in ("series", "delays", "flows"):
        table = getattr(done, name)
        for run, one in enumerate(alone):
            rows = table.filter(pa.compute.equal(table["run"], run)).drop_columns(["run", "key"])
            alone_rows = pa.table(getattr(one, name)).drop_columns(["run"])
            assert rows.to_pylist() == alone_rows.to_pylist()
    assert done.failures == []


def test_without_time_series(tmp_path, client):
    grid = SHORT.grid(seeds=2)
    done = sweep(grid, tmp_path / "out", client=client)
    alone = [l4s.run(one, tables=False).summary_json for one in grid]
    assert done.runs["summary_json"].to_pylist() == alone


def check_columns(tmp_path, records):
    _l4s.write(os.fspath(tmp_path), records)
    theirs = pq.read_table(tmp_path / "runs.parquet")
    runs = [(record.summary, record.command) for record in records]
    assert pa.table(_l4s.table_of_runs(runs)).equals(theirs)


def test_columns_of_every_bundled_scenario(tmp_path):
    records = []
    for name in l4s.bundled():
        scenario = l4s.Scenario(name).runs[0]
        try:
            run = scenario.with_(duration="50ms")._plan.run(0)
        except l4s.ScenarioError:
            continue  # It is about something later.
        if run.duration_ns == 50_000_000:
            records.append(_l4s.run(run, name, False))
    assert len(records) > 5
    check_columns(tmp_path, records)


def test_second_call_runs_nothing(tmp_path, client, monkeypatch):
    grid = SHORT.grid(seeds=4)
    first = sweep(grid, tmp_path / "out", client=client, batch=5)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    monkeypatch.setattr(batches, "run_all", None)
    monkeypatch.setattr(client, "map", None)
    again = sweep(grid, tmp_path / "out", client=client, batch=5)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before
    assert again.runs.equals(first.runs)
    # Nor is a cluster made for nothing.
    monkeypatch.setattr(local, "client", None)
    assert len(sweep(grid, tmp_path / "out")) == 12


def test_grown_grid_runs_only_what_is_new(tmp_path, client):
    out = tmp_path / "out"
    sweep(SHORT.grid(seeds=2), out, client=client, batch=4, keep=["flows"])
    before = files(out)
    grown = SHORT.grid({"link.rate": ["40mbit", "20mbit"]}, seeds=3)
    small = sweep(SHORT.grid(seeds=3), out, client=client, batch=4, keep=["flows"])
    assert len(small) == 9
    there = files(out)
    assert before.items() <= there.items()
    new = [pq.read_table(out / name) for name in there if name not in before]
    assert sum(t.num_rows for t in new if "summary_json" in t.column_names) == 3
    done = sweep(grown, out, client=client, batch=4, keep=["flows"])
    whole = sweep(grown, tmp_path / "whole", client=client, keep=["flows"])
    assert done.runs.equals(whole.runs)
    assert done.flows.equals(whole.flows)
    assert list(done.summaries()) == list(whole.summaries())
    # The folder has all, in the order in which they were asked for.
    everything = read(out)
    assert len(everything) == 9 + 18 == everything.runs.num_rows
    asked = SHORT.grid(seeds=2).keys()
    assert everything.runs["key"].to_pylist()[:6] == asked
    assert len(set(everything.runs["key"].to_pylist())) == 27


def test_axes_in_another_order_are_the_same_runs():
    rtts, rates = {"group.B.rtt": ["2ms", "9ms"]}, {"link.rate": ["10mbit", "20mbit"]}
    one, two = (SHORT.runs[0].grid(axes) for axes in (rtts | rates, rates | rtts))
    assert one.keys(0, 4) != two.keys(0, 4)
    assert set(one.keys(0, 4)) == set(two.keys(0, 4))


def test_a_run_twice_in_the_grid_is_done_once(tmp_path, client):
    done = sweep(SHORT.runs[0].grid(seeds=[1, 2, 1]), tmp_path / "out", client=client)
    assert done.runs["run"].to_pylist() == [0, 1]
    assert done.runs["seed"].to_pylist() == [1, 2]


def test_two_partitions_with_one_run(tmp_path, client):
    """As two clients leave that began at the same time."""
    out, grid = tmp_path / "out", SHORT.grid(seeds=2)
    both = {}
    for batch in (2, 3):
        done = sweep(grid, out, client=client, batch=batch, keep=["series"])
        both |= files(out)
        for table in ("runs", "series"):
            shutil.rmtree(out / table)
    for name, content in both.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_bytes(content)
    sums = [one["seed"] for one in read(out).summaries()]
    twice = sweep(grid, out, client=client, keep=["series"])
    assert len(sums) == 6 == len(twice) and twice.dataset().count_rows() == 12
    whole = sweep(grid, tmp_path / "whole", client=client, keep=["series"])
    assert twice.runs.equals(whole.runs)
    assert twice.series.equals(whole.series)
    assert done.path == twice.path


def test_partitions_with_other_columns(tmp_path, client):
    """Queues L and C, one queue, and what only one kind of run sets."""
    cases = SHORT.grid(seeds=1)
    done = sweep(cases, tmp_path / "out", client=client, batch=1)
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 3
    names = done.runs.column_names
    assert {"queue_L_mark", "queue_C_mark", "queue_Q_mark"} <= set(names)
    assert names.index("queue_L_delay_p1_ms") == names.index("queue_L_delay_mean_ms") + 1
    assert done.runs["queue_L_mark"].null_count == 2
    assert set(done.dataset().schema.names) == set(names) - {"run"}
    in_one = sweep(cases, tmp_path / "one", client=client, batch=3)
    assert in_one.runs.select(sorted(names)).equals(done.runs.select(sorted(names)))


def test_types_that_differ():
    u, i, f, b, t = pa.uint64(), pa.int64(), pa.float64(), pa.bool_(), pa.string()
    for types, wide in [((u, u), u), ((u, i), i), ((i, f), f), ((u, b), t), ((f, t), t)]:
        schemas = [pa.schema([("x", kind)]) for kind in types]
        assert index.unified(schemas).field("x").type == wide
    one = pa.table({"x": pa.array([1, 2], u)})
    schema = index.unified([one.schema, pa.schema([("y", t), ("x", f)])])
    assert index.conform(one, schema).to_pylist() == [{"x": 1.0, "y": None}, {"x": 2.0, "y": None}]


class Breaks(l4s.CongestionControl):
    """Raises in one of the runs: the one with a short way."""

    name = "breaks"

    def on_ack(self, window, ack):
        if ack.min_rtt_ns < 5e6:
            raise RuntimeError(f"not in {ack.min_rtt_ns / 1e6:.0f} ms")


def test_a_run_that_raises_leaves_the_others(tmp_path, client):
    grid = SHORT.runs[1].grid({"group.B.rtt": ["10ms", "2ms", "20ms"]})
    with pytest.warns(UserWarning, match="1 of 3 runs failed, the first with .*not in 2 ms"):
        done = sweep(grid, tmp_path / "out", client=client, cc={"B": Breaks}, batch=3)
    assert done.runs["run"].to_pylist() == [0, 2]
    (failure,) = done.failures
    assert failure.run == 1 and failure.key == grid.keys(1, 2)[0]
    assert failure.error.startswith("RuntimeError: not in 2 ms")
    assert "in on_ack" in failure.traceback
    expected = [l4s.run(grid[i], cc={"B": Breaks}, tables=False).summary_json for i in (0, 2)]
    assert done.runs["summary_json"].to_pylist() == expected
    before = files(tmp_path / "out" / "runs")
    with pytest.warns(UserWarning, match="1 of 3"):
        again = sweep(grid, tmp_path / "out", client=client, cc={"B": Breaks}, batch=3)
    assert len(again.failures) == 1
    assert files(tmp_path / "out" / "runs") == before
    assert len(read(tmp_path / "out").failures) == 1


class Shares(l4s.CongestionControl):
    """Keeps what it has seen in a list of the class."""

    name = "shares"
    seen: ClassVar[list[int]] = []

    def on_ack(self, window, ack):
        if ack.una > 50 and not self.seen:
            self.seen.append(ack.una)


def test_what_runs_would_share_is_refused(tmp_path, client):
    """Results would depend on which runs a worker had before."""
    grid = SHORT.runs[0].grid(seeds=4)
    with pytest.warns(UserWarning, match="4 of 4 runs failed"):
        done = sweep(grid, tmp_path / "out", client=client, cc={"A": Shares}, batch=2)
    assert len(done) == 0
    for failure in done.failures:
        assert "SweepError: cc.A: Shares → seen has changed in a run, and all runs" in failure.error


def refused(tmp_path, *arguments, **more):
    """The error of a call that must leave everything as it is."""
    before = files(tmp_path)
    with pytest.raises((l4s.L4sError, ValueError, TypeError)) as caught:
        sweep(*arguments, **more)
    assert files(tmp_path) == before
    return caught.value


def test_bad_runs_are_refused_before_anything_is_written(tmp_path, client):
    out = tmp_path / "out"
    error = refused(tmp_path, SHORT.grid({"link.rate": ["40mbit", "fast"]}), out, client=client)
    assert isinstance(error, l4s.ScenarioError) and error.key == "link.rate"
    with pytest.raises(l4s.ScenarioError) as alone:
        SHORT.with_(**{"link.rate": "fast"})
    assert error.faults[0]["message"] == alone.value.faults[0]["message"]
    assert not out.exists()


def test_bad_arguments(tmp_path, client):
    grid, out = SHORT.grid(seeds=2), tmp_path / "out"
    for more, message in [
        ({"batch": 0}, "batch = 0: expected at least 1"),
        ({"keep": ["serie"]}, "keep: 'serie': expected series, delays, flows"),
        ({"sampling_s": 0}, "sampling_s = 0: expected more than zero"),
        ({"cc": {"X": Breaks}}, "one-against-one has the groups A, B"),
        ({"cc": {"A": int}}, "0: expected a subclass of l4s.CongestionControl"),
        ({"aqm": Breaks}, "expected a subclass of l4s.Aqm"),
    ]:
        assert message in str(refused(tmp_path, grid, out, client=client, **more))
        assert not out.exists()


def test_a_folder_of_something_else_is_refused(tmp_path, client, monkeypatch):
    grid, out = SHORT.runs[1].grid(seeds=2), tmp_path / "out"
    sweep(grid, out, client=client, keep=["series"], cc={"B": Breaks})
    same = {"client": client, "keep": ["series"], "cc": {"B": Breaks}}

    def told(**other):
        error = refused(tmp_path, SHORT.runs[1].grid(seeds=3), out, **{**same, **other})
        assert isinstance(error, l4s.SweepError)
        assert "choose a new folder; nothing was changed" in str(error)
        return str(error)

    assert "keep series, not nothing" in told(keep=[])
    assert "sampling in ns nothing, not 100000000" in told(sampling_s=0.1)
    assert "algorithms of your own" in told(cc={})

    class Breaks2(Breaks):
        pacing = True

    assert "algorithms of your own" in told(cc={"B": Breaks2})
    assert sweep(grid, out, **same).runs.num_rows == 2
    monkeypatch.setattr(_l4s, "CODE", "0" * 16)
    assert f"code {folder.owner(out)['code']}, not 0000000000000000" in told()
    monkeypatch.undo()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    other = refused(tmp_path, grid, tmp_path / "other", client=client)
    assert "already holds something else, such as thesis.tex" in str(other)
    assert "is a file" in str(refused(tmp_path, grid, tmp_path / "other" / "thesis.tex"))


def test_a_worker_with_another_code_or_folder(tmp_path, client):
    grid = SHORT.grid(seeds=1)
    done = sweep(grid, tmp_path / "out", client=client)
    manifest, asked = folder.owner(tmp_path / "out"), Asked(grid)
    its, runs = keys.packed(grid.keys(0, 1)).tobytes(), work.pack(asked, [0])
    other = work.Work(str(tmp_path / "out"), {**manifest, "code": "0" * 16}, b"")
    with pytest.raises(l4s.SweepError, match="install the same l4s there"):
        work.batch(other, runs, its)
    away = work.Work(str(tmp_path / "away"), manifest, b"")
    with pytest.raises(l4s.SweepError, match="one that client and workers share"):
        work.batch(away, runs, its)
    assert len(done) == 3


def test_leftovers_are_ignored_and_removed(tmp_path, client):
    grid, out = SHORT.grid(seeds=1), tmp_path / "out"
    first = sweep(grid, out, client=client)
    old, young = out / "runs" / ".l4s-a.parquet-1.part", out / "runs" / ".l4s-b.parquet-2.part"
    for part in (old, young):
        part.write_bytes(b"PAR1 and no more")
    os.utime(old, (time.time() - 7200,) * 2)
    again = sweep(grid, out, client=client)
    assert again.runs.equals(first.runs)
    assert not old.exists(), "nobody writes for two hours"
    assert young.exists(), "another client may be writing it just now"
    assert read(out).runs.equals(first.runs)
    # Time series whose runs never came count for nothing.
    with_series = sweep(grid, tmp_path / "series", client=client, keep=["series"])
    series = next((tmp_path / "series" / "series").iterdir())
    shutil.copy(series, series.with_name("0000000000000000.parquet"))
    assert sweep(grid, tmp_path / "series", client=client, keep=["series"]).series.equals(
        with_series.series
    )


def test_a_spoilt_partition_is_named(tmp_path, client):
    grid, out = SHORT.grid(seeds=1), tmp_path / "out"
    sweep(grid, out, client=client)
    spoilt = next((out / "runs").iterdir())
    spoilt.write_bytes(b"no Parquet")
    error = refused(tmp_path, grid, out, client=client)
    assert str(spoilt) in str(error) and "remove it" in str(error)
    spoilt.unlink()
    assert len(sweep(grid, out, client=client)) == 3


def test_few_tasks_at_a_time(tmp_path, client, monkeypatch):
    outstanding, most, total = set(), 0, 0
    submit, lock = client.map, threading.Lock()

    def counted(*arguments, **more):
        nonlocal most, total
        futures = submit(*arguments, **more)
        with lock:
            outstanding.update(future.key for future in futures)
            most, total = max(most, len(outstanding)), total + len(futures)
        for future in futures:
            future.add_done_callback(lambda future: outstanding.discard(future.key))
        return futures

    monkeypatch.setattr(client, "map", counted)
    sweep(SHORT.grid(seeds=30), tmp_path / "out", client=client, batch=1)
    assert total == 90
    # The threads that call back may be a little behind.
    assert most <= tasks.AHEAD * 2 + 2
    assert client.futures == {}, "what is done is released"


def test_batches_follow_the_time_that_runs_take():
    fixed = batches.Batches(7)
    assert [fixed.size(1000, 2), fixed.size(3, 2)] == [7, 7]
    own = batches.Batches(None)
    assert own.size(10_000, 2) == 10, "nothing is known yet"
    assert own.size(8, 2) == 1
    own.saw(10, 100.0, 2)
    assert own.size(10_000, 2) == 10, "when the first ends, nothing is known yet"
    own.saw(10, 100.05, 2)
    assert own.size(10_000, 2) == 500, "five seconds"
    assert own.size(800, 2) == 100, "all threads are to end together"
    own.saw(10, 150.0, 2)
    assert own.size(10_000, 2) == 1, "runs of five seconds and more"
    assert batches.Batches(None).size(1, 64) == 1


def test_a_cluster_checks_many_runs_as_the_client_does(client, monkeypatch):
    grid = SHORT.grid(seeds=40)
    here = batches.keys_of(Asked(grid), None, False)
    monkeypatch.setattr(batches, "_MANY", 1)
    monkeypatch.setattr(batches, "_CHECKED", 7)
    assert (batches.keys_of(Asked(grid), client, False) == here).all()
    assert keys.digits(here) == grid.keys()
    bad = SHORT.grid({"link.rate": ["40mbit", "fast"]})
    with pytest.raises(l4s.ScenarioError, match=r"link\.rate"):
        batches.keys_of(Asked(bad), client, False)


def test_keys():
    some = np.array([5, 2**64 - 1, 5, 0], np.uint64)
    assert keys.digits(some)[1:] == ["f" * 16, "0" * 15 + "5", "0" * 16]
    assert (keys.packed(keys.digits(some)) == some).all()
    places = keys.Places(some)
    assert len(places) == 3 and places.firsts.tolist() == [0, 1, 3]
    assert places.of(np.array([0, 5, 6], np.uint64)).tolist() == [3, 0, -1]
    assert keys.Places(some[:0]).of(some).tolist() == [-1] * 4
    assert len(keys.packed([])) == 0


def test_a_file_that_fails_leaves_nothing(tmp_path):
    def fails(part):
        part.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        durable.write(tmp_path / "whole", fails)
    assert list(tmp_path.iterdir()) == []


def test_fingerprints():
    def made(threshold):
        def make():
            return Breaks() if threshold else None

        return make

    told = folder.fingerprint
    assert told(Breaks) == told(Breaks)
    assert told(made(1)) == told(made(1)) != told(made(2))
    assert told(partial(Breaks, 1)) != told(partial(Breaks, 2))
    assert told(Breaks) != told(l4s.CongestionControl)
    texts = ["lambda: 1", "lambda: 2", "lambda: 1"]
    one, two, three = (told(eval(text)) for text in texts)
    assert one == three != two, "also where there is no text"


def test_folder_of_the_command_line(tmp_path):
    scripts = sysconfig.get_path("scripts")
    command = shutil.which("l4s") or shutil.which("l4s", path=scripts)
    if command is None:
        pytest.skip(f"no command l4s in PATH or {scripts}")
    out = tmp_path / "out"
    asked = [command, "run", "one-against-one", "--set", "duration=2s", "--out", str(out)]
    subprocess.run(asked, check=True, capture_output=True)
    done = read(out)
    assert len(done) == 3 == done.runs.num_rows == len(list(done.summaries()))
    assert done.failures == []
    assert done.series["run"].to_pylist()[-1] == 2 == done.flows["run"].to_pylist()[-1]
    assert done.delays.num_rows == done.dataset("delays").count_rows() > 0
    assert next(done.summaries())["scenario"] == "one-against-one"
    assert "already holds something else" in str(refused(tmp_path, SHORT.grid(seeds=1), out))


def test_nothing_to_read(tmp_path):
    with pytest.raises(l4s.SweepError, match="no results of l4s"):
        read(tmp_path)


def test_tables_that_were_not_kept(tmp_path, client):
    done = sweep(SHORT.grid(seeds=1), tmp_path / "out", client=client)
    with pytest.raises(l4s.SweepError, match=r"keep=\['series'\]"):
        _ = done.series


SCRIPT = """
import sys
import l4s
from l4s.sweeps import sweep

class Mine(l4s.CongestionControl):
    name = "mine"

done = sweep(
    l4s.Scenario("one-against-one").with_(duration="100ms").grid(seeds=2),
    sys.argv[1],
    cc={"B": Mine},
    progress=True,
)
print(len(done), __file__, set(done.runs["group_B_cc"].to_pylist()))
"""


def test_local_by_default_from_a_plain_script(tmp_path):
    """No ``if __name__ == "__main__"``, a class of the script's own, and a bar."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, script, tmp_path / "out"], capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == f"6 {script} {{'mine'}}\n", ran.stderr
    assert "6/6" in ran.stderr
