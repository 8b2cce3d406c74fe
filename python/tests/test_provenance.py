"""Every result, wherever it is, has what made it; and its command makes it again."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from own import Scalable

import l4s
from l4s import _toml
from l4s.sweeps import read, sweep

MINE = l4s.Scenario(
    duration="300ms",
    link={"rate": "20mbit"},
    aqm={"kind": "dualpi2", "dualq": "l4s"},
    group=[{"name": "it's", "cc": "prague", "rtt": "10ms"}],
)


BRIEF = 'link.rate = "20mbit"\ngroup = [{ name = "A", cc = "reno", rtt = "9ms" }]'


def again(command: str, said: str, cwd: Path) -> dict:
    """The summary that a command of a result prints, run in any folder."""
    line = said.replace("l4s", command, 1) + " --json"
    ran = subprocess.run(line, shell=True, cwd=cwd, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    del summary["engine"]["wall_s"]
    return summary


@pytest.mark.parametrize(
    "scenario",
    [
        MINE,
        MINE.with_(seed=7, **{"link.rate": "10mbit"}),
        MINE.with_(name="other"),
        l4s.Scenario.from_toml(MINE.to_toml(), name="a name.toml"),
        l4s.Scenario.from_toml(BRIEF, name="mine").with_(duration="200ms"),
        l4s.Scenario("one-against-one").runs[1].with_(duration="200ms"),
    ],
)
def test_the_command_does_the_same(scenario, command, tmp_path) -> None:
    result = l4s.run(scenario)
    summary = again(command, result.command, tmp_path)
    # What was set says how it came to be, not what it is.
    assert {**summary, "set": {}} == {**result.summary, "set": {}}
    result.save(tmp_path / "out")
    # The report reads the scenario as the model's JSON, not its text again.
    [model] = json.loads((tmp_path / "out" / "scenarios.json").read_text())
    assert model["link"]["rate"] == result.summary["link"]["rate_bps"]
    saved = again(command, f"l4s run {tmp_path / 'out' / 'scenario.toml'}", tmp_path)
    assert {**saved, "set": {}} == {**result.summary, "set": {}}
    (row,) = read(tmp_path / "out").runs.to_pylist()
    assert again(command, row["command"], tmp_path) == summary


def test_a_scenario_in_a_file_is_called_by_its_file(tmp_path, command, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(MINE.to_toml())
    result = l4s.run("mine.toml")
    assert result.command == "l4s run mine.toml --seed 1"
    assert again(command, result.command, tmp_path) == result.summary


def test_a_saved_result_is_not_written_over(tmp_path) -> None:
    out, result = tmp_path / "out", l4s.run(MINE)
    result.save(out)
    before = {path: path.read_bytes() for path in out.iterdir()}
    result.save(out)
    l4s.run(MINE).save(out)
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    for other in (MINE.with_(seed=2), MINE.with_(**{"link.rate": "30mbit"})):
        with pytest.raises(l4s.SweepError, match="already holds another result"):
            l4s.run(other).save(out)
    with pytest.raises(l4s.SweepError, match="already holds another result"):
        l4s.run(MINE, cc=Scalable).save(out)
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("")
    with pytest.raises(l4s.SweepError, match=r"something else, such as chapter\.tex"):
        result.save(tmp_path / "thesis")
    assert json.loads((out / "l4s.json").read_text())["scenario"] == "scenario"


def test_a_sweep_has_its_scenario_and_takes_no_other(tmp_path, command, client) -> None:
    out = tmp_path / "out"
    done = sweep(MINE.grid({"link.rate": ["10mbit", "20mbit"]}), out, client=client)
    assert l4s.Scenario(out / "scenario.toml").with_(name="scenario") == MINE
    for row, summary in zip(done.runs.to_pylist(), done.summaries(), strict=True):
        assert again(command, row["command"], tmp_path) == summary
    # The same scenario with other values and seeds is told apart by what was set.
    more = sweep(MINE.with_(seed=5).grid({"link.rate": ["5mbit"]}), out, client=client)
    assert more.runs["set_link.rate"].to_pylist() == ["5mbit"] and len(read(out)) == 3
    before = sorted(path.name for path in out.rglob("*"))
    other = l4s.Scenario(
        duration="300ms", link={"rate": "20mbit"}, group=[{"name": "A", "cc": "reno", "rtt": "9ms"}]
    )
    with pytest.raises(
        l4s.SweepError, match=r"runs of another scenario, which has in line \d"
    ) as no:
        sweep(other.grid(seeds=2), out, client=client)
    assert "choose a new folder; nothing was changed" in str(no.value)
    assert sorted(path.name for path in out.rglob("*")) == before


def test_any_list_of_scenarios(tmp_path, client) -> None:
    other = l4s.Scenario("one-against-one").with_(duration="100ms")
    grid = MINE.grid(seeds=4)
    runs = [MINE, other, grid[1:3], *grid[::3]]
    flat = [one for some in runs for one in (some if isinstance(some, list) else [some])]
    done = sweep(iter(flat), tmp_path / "out", keep=["flows"], client=client)
    alone = [l4s.run(one, tables=False) for scenario in flat for one in scenario.runs]
    # The first of the grid is the first of all.
    del alone[6]
    assert done.runs["summary_json"].to_pylist() == [one.summary_json for one in alone]
    assert done.runs["command"].to_pylist() == [one.command for one in alone]
    assert [path.name for path in sorted((tmp_path / "out").glob("scen*"))] == [
        "scenario-2.toml",
        "scenario.toml",
    ]
    # A part of them, or more, is the same sweep.
    assert len(sweep([MINE], tmp_path / "out", keep=["flows"], client=client)) == 1
    assert len(sweep(grid[:2], tmp_path / "out", keep=["flows"], client=client)) == 2
    with pytest.raises(ValueError, match="no runs"):
        sweep([], tmp_path / "none")
    with pytest.raises(TypeError, match="3: expected a scenario"):
        sweep([3], tmp_path / "none")  # type: ignore[list-item]


def halved(cwnd: int) -> int:
    return max(cwnd // 2, 2)


class Halves(l4s.CongestionControl):
    """One with a helper."""

    def ssthresh(self, window, why):
        return halved(window.cwnd)


def test_a_folder_has_the_code_of_algorithms(tmp_path, client) -> None:
    l4s.run(MINE, cc=lambda: Halves()).save(tmp_path / "one")
    sweep(MINE.grid(), tmp_path / "many", client=client, cc={"it's": Halves})
    for folder in ("one", "many"):
        code = (tmp_path / folder / "algorithms.py").read_text()
        assert code.startswith("# cc") and code.count("def ssthresh") == 1
        assert "return max(cwnd // 2, 2)" in code and "class Halves(" in code
        compile(code.replace("l4s.run", "#"), "algorithms.py", "exec")


def summary_of(result: l4s.Result) -> str:
    return result.summary_json


def test_results_and_tables_are_pickled_and_copied() -> None:
    result = l4s.run(MINE)
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert other.summary_json == result.summary_json and other.command == result.command
        assert other.wall_s == pytest.approx(result.wall_s) and repr(other) == repr(result)
        for name in ("runs", "series", "delays", "flows"):
            assert pa.table(getattr(other, name)).equals(pa.table(getattr(result, name)))
    for table in (result.runs, result.series, l4s.run(MINE, tables=False).series):
        again = pickle.loads(pickle.dumps(table))
        assert pa.table(again).equals(pa.table(table)) and len(again) == len(table)
        assert pa.table(copy.deepcopy(table)).equals(pa.table(table))
    with ProcessPoolExecutor(1) as pool:
        (from_there,) = pool.map(l4s.run, [MINE])
        assert pool.submit(summary_of, result).result() == from_there.summary_json


def test_a_table_has_what_one_of_a_sweep_has(tmp_path, client) -> None:
    result = l4s.run(MINE)
    done = sweep(MINE.grid(), tmp_path / "out", keep=["series"], client=client).series
    assert result.series.num_rows == done.num_rows
    assert result.series["time_s"].to_pylist() == done["time_s"].to_pylist()
    assert result.series.to_pandas().shape[0] == done.to_pandas().shape[0]
    assert result.series.filter(pa.compute.field("scope") == "link").num_rows > 0
    with pytest.raises(AttributeError):
        _ = result.series.nothing


def test_numbers_of_numpy() -> None:
    assert [one.seed for one in MINE.grid(seeds=np.int64(3))] == [1, 2, 3]
    assert [one.seed for one in MINE.grid(seeds=np.arange(4, 6, dtype=np.uint8))] == [4, 5]
    assert MINE.with_(seed=np.int32(9)).seed == 9
    assert MINE.grid(seeds=3)[np.int64(1)].seed == 2
    same = l4s.Scenario(
        duration="300ms",
        link={"rate": "20mbit"},
        aqm={"kind": "dualpi2", "beta": np.float64(2.5), "limit": "10000p"},
        group=[{"name": "A", "cc": "prague", "rtt": "10ms", "flows": np.int64(2)}],
    )
    plain = l4s.Scenario(
        duration="300ms",
        link={"rate": "20mbit"},
        aqm={"kind": "dualpi2", "beta": 2.5, "limit": "10000p"},
        group=[{"name": "A", "cc": "prague", "rtt": "10ms", "flows": 2}],
    )
    assert same == plain
    betas = plain.grid({"aqm.beta": np.linspace(1, 2, 3, dtype=np.float32)})
    assert [one.set["aqm.beta"] for one in betas] == ["1.0", "1.5", "2.0"]
    for kind in (np.float16, np.float64, np.longdouble, np.int8, np.bool_, np.str_):
        plain_one = kind(1).tolist() if kind is not np.longdouble else 1.0
        assert _toml.inline(kind(1)) == _toml.inline(plain_one)
    assert _toml.inline(np.array([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"
