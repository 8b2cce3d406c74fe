"""The dictionary of columns: all of them, from one declaration."""

from __future__ import annotations

import json
import subprocess

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import l4s
from l4s.sweeps import read, sweep

TABLES = ("runs", "series", "delays", "flows")


def short(name: str) -> l4s.Scenario | None:
    """The first run of a bundled scenario, shortened where it can be."""
    try:
        return l4s.Scenario(name).runs[0].with_(duration="1s", warmup="100ms")
    except l4s.ScenarioError:
        return None


def test_every_column_of_every_bundled_scenario_is_described() -> None:
    seen = set()
    for scenario in filter(None, map(short, l4s.bundled())):
        if scenario._plan.run(0).duration_ns > 10**9:
            continue
        result = l4s.run(scenario)
        for name in TABLES:
            table = getattr(result, name)
            said = l4s.columns(table)
            assert [column.name for column in said] == table.column_names
            assert all(column.table == name and column.meaning for column in said)
            seen |= {column.name for column in said if column.unit}
    assert len(seen) > 100


def test_types_and_metadata_are_those_of_the_tables() -> None:
    result = l4s.run(l4s.Scenario("one-against-one").runs[0].with_(duration="500ms"))
    names = {"Utf8": pa.string(), "UInt64": pa.uint64(), "UInt32": pa.uint32()}
    for table in ("series", "delays", "flows"):
        schema = pa.schema(getattr(result, table))
        for column in l4s.columns(table):
            if column.name == "key":
                continue
            field = schema.field(column.name)
            assert field.type == names.get(column.type, pa.float64()), column
            if column.name != "run":
                told = json.loads(field.metadata[b"l4s"])
                assert [told["unit"], told["interval"], told["meaning"]] == list(column[3:])
    schema = pa.schema(result.runs)
    for column in l4s.columns(result.runs):
        assert schema.field(column.name).type == names.get(column.type, pa.float64()) or (
            column.type == "as the value"
        ), column


def test_of_a_column_with_names_that_look_like_others() -> None:
    named = {"name": "A_delay", "cc": "reno", "rtt": "10ms"}
    scenario = l4s.Scenario(duration="300ms", link={"rate": "5mbit"}, group=[named])
    said = {column.name: column for column in l4s.columns(l4s.run(scenario).runs)}
    assert said["group_A_delay_delay_mean_ms"].meaning == (
        "Queueing delay of its packets of 200 B or more, of all where it sends up; "
        "absent without any: mean."
    )
    assert said["group_A_delay_delay_mean_ms"].unit == "ms"
    assert said["group_A_delay_rate_bps"].unit == "bit/s"


def test_by_name_and_of_other_tables(tmp_path, client) -> None:
    units = {column.name: column.unit for column in l4s.columns("series")}
    assert (units["rate_bps"], units["srtt_ms"], units["scope"]) == ("bit/s", "ms", "")
    assert {column.table for column in l4s.columns()} == set(TABLES)
    done = sweep(
        l4s.Scenario("one-against-one").with_(duration="200ms").grid(),
        tmp_path / "out",
        client=client,
        keep=["series"],
    )
    assert l4s.columns(done.series)[1].name == "key" and len(l4s.columns(done.runs)) > 50
    assert l4s.columns(pl.DataFrame(done.series)) == l4s.columns(done.series)
    (part, *_) = (tmp_path / "out" / "series").iterdir()
    said = json.loads(pq.read_schema(part).field("rate_bps").metadata[b"l4s"])
    assert said["unit"] == "bit/s"
    for wrong in ("runz", 3, pa.table({"x": [1]})):
        with pytest.raises(ValueError, match=r"expected|no column of the table"):
            l4s.columns(wrong)


def test_the_command_reads_the_folder_of_a_sweep(tmp_path, client, command) -> None:
    grid = l4s.Scenario("one-against-one").with_(duration="500ms").grid(seeds=2)
    keep = ["series", "delays", "flows"]
    done = sweep(grid, tmp_path / "mine", client=client, keep=keep, batch=2)
    bare = sweep(grid, tmp_path / "bare", client=client)

    def said(*words: object) -> str:
        ran = subprocess.run([command, *map(str, words)], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    for path in (done.path, bare.path):
        assert "report.html" in said("report", path)
        assert (path / "report.html").stat().st_size > 10_000
        assert (
            len(read(path))
            == 6
            == len(sweep(grid, path, client=client, keep=keep[: 3 * (path == done.path)]))
        )
    theirs = tmp_path / "theirs"
    said("run", "one-against-one", "--set=duration=500ms", "--seeds=2", "--out", theirs)
    assert "0 of " in said("compare", done.path, theirs)
    assert "0 of " in said("compare", theirs, bare.path)
    # The same pictures, as the runs are the same.
    ours, reference = ((path / "figures") for path in (done.path, theirs))
    drawn = {path.name: path.read_bytes() for path in reference.glob("*.svg")}
    assert drawn and drawn == {path.name: path.read_bytes() for path in ours.glob("*.svg")}
