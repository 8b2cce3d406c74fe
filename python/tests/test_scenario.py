"""Scenarios: read, changed, unfolded, and written back."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l4s
from l4s import _toml

BASE = {"link": {"rate": "40mbit"}, "group": [{"name": "A", "cc": "prague", "rtt": "10ms"}]}


def test_tables_and_text_make_the_same_scenario() -> None:
    text = 'link.rate = "40mbit"\n[[group]]\nname = "A"\ncc = "prague"\nrtt = "10ms"\n'
    assert l4s.Scenario(**BASE) == l4s.Scenario.from_toml(text)
    dotted = {"link.rate": "40mbit", "group": BASE["group"]}
    assert l4s.Scenario(**dotted) == l4s.Scenario(**BASE)
    assert l4s.Scenario(**BASE) != l4s.Scenario(**BASE).with_(seed=2)


def test_a_bundled_scenario_unfolds_into_its_runs() -> None:
    demo = l4s.Scenario("one-against-one")
    assert (demo.name, len(demo)) == ("one-against-one", 3)
    assert demo.question and demo.question.startswith("What does L4S do")
    labels = [run.set["case"] for run in demo.runs]
    assert labels == ["dualpi2 dctcp:cubic", "pie ecn-cubic:cubic", "fq_codel ecn-cubic:cubic"]
    assert [len(run) for run in demo.runs] == [1, 1, 1]
    assert demo.runs[-1] == demo.runs[2] and demo.runs[:2] == [demo.runs[0], demo.runs[1]]
    with pytest.raises(IndexError):
        demo.runs[3]
    assert "one-against-one" in l4s.bundled() and l4s.bundled()["one-against-one"] == demo.question


def test_keys_are_set_as_on_the_command_line() -> None:
    one = l4s.Scenario(**BASE)
    faster = one.with_({"aqm": {"kind": "pie", "target": "20ms"}}, **{"link.rate": "100mbit"})
    assert faster.set == {"aqm": '{ kind = "pie", target = "20ms" }', "link.rate": "100mbit"}
    aqm = faster.to_toml().split("[aqm]")[1]
    assert [line.split()[2] for line in aqm.splitlines() if line.startswith("target")] == ['"20ms"']
    assert one.set == {} and one.with_(seed=9).seed == 9


def test_a_scenario_survives_a_pickle_and_knows_its_file(tmp_path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(l4s.Scenario(**BASE).to_toml())
    mine = l4s.Scenario(file).with_(seed=3)
    file.unlink()
    again = pickle.loads(pickle.dumps(mine))
    assert again == mine and hash(again) == hash(mine) and again.seed == 3
    grid = pickle.loads(pickle.dumps(mine.grid(seeds=4)))
    assert [run.seed for run in grid] == [3, 4, 5, 6]


def test_a_trace_is_found_from_any_folder(tmp_path, client, monkeypatch) -> None:
    inside, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    inside.mkdir(), elsewhere.mkdir()
    (inside / "t.csv").write_text("time_s,rate_mbps\n0,5\n1,15\n2,\n")
    text = 'duration = "1s"\nlink.trace = "t.csv"\n[[group]]\nname = "A"\ncc = "prague"\n'
    (inside / "mine.toml").write_text(text + 'rtt = "10ms"\n')
    monkeypatch.chdir(tmp_path)
    mine = l4s.Scenario("in/mine.toml")
    tables = l4s.Scenario(**{**BASE, "link": {"trace": "in/t.csv"}}, duration="1s")
    here, keys = l4s.run(mine).summary_json, mine.grid(seeds=2).keys()
    monkeypatch.chdir(elsewhere)
    for one in (mine, tables):
        assert one == one.runs[0] == copy.copy(one) == pickle.loads(pickle.dumps(one))
        assert one.with_({"link.trace": "in/t.csv"}) == one == one.with_(seed=1)
    assert l4s.run(mine.runs[0]).summary_json == here
    # The identity of a run does not depend on the folder.
    assert mine.grid(seeds=2).keys() == keys
    swept = l4s.sweep(mine.grid(seeds=2), tmp_path / "out", client=client)
    assert next(swept.summaries()) == l4s.run(mine).summary
    monkeypatch.chdir(tmp_path)
    assert l4s.sweep(mine.grid(seeds=2), tmp_path / "out", client=client).failures == []


def test_a_grid_is_every_combination_and_the_last_axis_varies_fastest() -> None:
    grid = l4s.Scenario("one-against-one").grid({"link.rate": ["4mbit", "40mbit"]}, seeds=[7, 8])
    assert len(grid) == 12
    seen = [(run.set["case"][:3], run.set["link.rate"], run.seed) for run in grid]
    assert seen[:4] == [("dua", r, s) for r in ("4mbit", "40mbit") for s in (7, 8)]
    assert seen == [(run.set["case"][:3], run.set["link.rate"], run.seed) for run in grid[:]]
    assert len(set(grid.keys())) == 12 and grid.keys(3, 5) == grid.keys()[3:5]
    assert grid[-1] == grid[11]
    with pytest.raises(IndexError):
        grid[12]


def test_a_grid_of_a_million_runs_is_small_and_at_once() -> None:
    grid = l4s.Scenario(**BASE).grid(seeds=1_000_000)
    assert len(grid) == 1_000_000 and grid[999_999].seed == 1_000_000


def test_keys_are_the_same_in_a_forked_process() -> None:
    code = (
        "import os, signal, l4s\n"
        "grid = l4s.Scenario('one-against-one').grid(seeds=1000)\n"
        "keys = grid.keys()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(60)\n"
        "    os._exit(0 if grid.keys() == keys else 1)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "0\n"


def test_what_cannot_be_a_grid_is_refused() -> None:
    one = l4s.Scenario(**BASE)
    for alone in ("40mbit", {"kind": "pie"}, 7):
        with pytest.raises(TypeError, match="expected its values, such as"):
            one.grid({"link.rate": alone})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="at least one value"):
        one.grid({"link.rate": []})
    with pytest.raises(ValueError, match="at least 1"):
        one.grid(seeds=0)
    with pytest.raises(l4s.ScenarioError) as refused:
        one.grid({"link.rate": ["4mbit", "40mbti"]}).keys()
    assert refused.value.key == "link.rate"


def test_a_grid_that_repeats_the_runs_of_a_sweep_is_refused() -> None:
    text = 'link.rate = "1mbit"\n[[group]]\nname = "A"\ncc = "reno"\nrtt = "10ms"\n[sweep]\n'
    swept = l4s.Scenario.from_toml(text + '"link.rate" = ["1mbit", "2mbit"]\n')
    words = r"link\.rate, seed: the \[sweep\] of scenario varies link\.rate, and with these axes"
    with pytest.raises(ValueError, match=words):
        swept.grid({"link.rate": ["4mbit", "5mbit", "6mbit"]}, seeds=2)
    assert len(swept.runs[0].grid({"link.rate": ["4mbit", "5mbit", "6mbit"]})) == 3
    assert len(set(swept.grid({"group.A.rtt": ["5ms", "6ms"]}, seeds=2).keys())) == 8
    seeds = l4s.Scenario.from_toml(text + "seed = [1, 2]\n")
    with pytest.raises(ValueError, match=r"^seed: the \[sweep\] of scenario varies seed"):
        seeds.grid(seeds=2)
    # What is refused is so when it is asked for.
    with pytest.raises(l4s.ScenarioError):
        swept.grid({"link.rate": ["4mbti"]}).keys()


def test_what_is_given_twice_is_refused() -> None:
    one = l4s.Scenario(**BASE)
    rates = {"link.rate": ["4mbit"]}
    with pytest.raises(ValueError, match=r"link\.rate is given twice: \['4mbit'\] and \['5mbit'\]"):
        one.grid(rates, **{"link.rate": ["5mbit"]})
    with pytest.raises(ValueError, match=r"seed is given twice: \(5, 6\) and seeds = "):
        one.grid({"seed": [5, 6]}, seeds=3)
    with pytest.raises(ValueError, match="seed is given twice: 1 and 2"):
        one.with_({"seed": 1}, seed=2)


def test_dotted_keys_and_tables_make_one_table() -> None:
    whole = l4s.Scenario(**BASE, aqm={"kind": "dualpi2", "target": "3ms"})
    kind = {"kind": "dualpi2"}
    assert l4s.Scenario(**BASE, **{"aqm.target": "3ms"}, aqm=kind) == whole
    assert l4s.Scenario(**BASE, aqm=kind, **{"aqm.target": "3ms"}) == whole
    for tables, words in [
        ({"aqm": "dualpi2", "aqm.target": "3ms"}, '`aqm` is "dualpi2", expected a table'),
        ({"aqm.target": "3ms", "aqm": "dualpi2"}, '`aqm.target`: `aqm` is "dualpi2", expected a'),
        ({"aqm": {"kind": "pie"}, "aqm.kind": "red"}, '`aqm.kind`: given twice, "pie" and "red"'),
        ({"group.A.rtt": "5ms"}, "`group` is [{ name"),
    ]:
        with pytest.raises(l4s.ScenarioError, match=re.escape(words)) as refused:
            l4s.Scenario(**BASE, **tables)  # type: ignore[arg-type]
        assert str(refused.value).startswith("error: ") and refused.value.key in tables


def test_a_value_that_is_none_of_toml_is_named(tmp_path) -> None:
    one = l4s.Scenario(**BASE)
    with pytest.raises(TypeError, match=r"duration = b'30s': a scenario has texts"):
        one.with_(duration=b"30s")
    with pytest.raises(TypeError, match="aqm = None: a scenario has texts"):
        l4s.Scenario(**BASE, aqm=None)
    with pytest.raises(TypeError, match=r"aqm\.target = None"):
        one.with_(aqm={"kind": "pie", "target": None})
    # A path is a text.
    path = tmp_path / "t.csv"
    path.write_text("time_s,rate_mbps\n0,5\n1,15\n2,\n")
    traced = l4s.Scenario(**{**BASE, "link": {"trace": path}})
    assert traced == l4s.Scenario(**{**BASE, "link": {"trace": str(path)}})
    assert traced.with_({"link.trace": path}) == traced


def test_a_refusal_is_that_of_the_command_line(command: str, tmp_path) -> None:
    for text, setting, key in [
        (None, ("link.rat", "40mbit"), "link.rat"),
        (None, ("group.A.cc", "prage"), "group.cc"),
        (None, ("duration", "0s"), "duration"),
        ('[lnik]\nrate = "1mbit"\n', None, "lnik"),
        ("name = ", None, None),
    ]:
        file = tmp_path / "s.toml"
        file.write_text(text or l4s.Scenario(**BASE).to_toml())
        set_ = ["--set", f"{setting[0]}={setting[1]}"] if setting else []
        said = subprocess.run([command, "run", file, *set_], capture_output=True, text=True)
        assert said.returncode == 2
        with pytest.raises(l4s.ScenarioError) as refused:
            scenario = l4s.Scenario(file)
            scenario.with_(**dict([setting] if setting else []))
        assert str(refused.value) == said.stderr
        assert key in [fault["key"] for fault in refused.value.faults]
        assert refused.value.line and refused.value.column and refused.value.faults[0]["message"]
    said = subprocess.run([command, "run", "one-agianst-one"], capture_output=True, text=True)
    with pytest.raises(l4s.ScenarioError) as refused:
        l4s.Scenario("one-agianst-one")
    assert str(refused.value) == said.stderr and refused.value.key is None


def test_a_name_and_tables_at_once_are_refused() -> None:
    with pytest.raises(TypeError, match="with_"):
        l4s.Scenario("one-against-one", link={"rate": "1mbit"})
    with pytest.raises(ValueError, match="has 3 runs"):
        l4s.Scenario("one-against-one").to_toml()
    with pytest.raises(TypeError, match="a scenario has texts"):
        l4s.Scenario(link={"rate": object()})


# --- Any scenario goes through TOML and back -----------------------------------------------------

RATES = st.integers(1, 10_000_000).map(lambda k: f"{k}kbit")
TIMES = st.integers(1, 2_000_000).map(lambda us: f"{us}us")
NAMES = st.text("ABCDEFGHabcdefgh_-019", min_size=1, max_size=8)


def kinds(key: str, table: dict[str, object]) -> list[str]:
    """The kinds that the error about an unknown one lists."""
    with pytest.raises(l4s.ScenarioError) as refused:
        l4s.Scenario(link={"rate": "1mbit"}, **table)
    message = next(
        fault["message"] for fault in refused.value.faults if f"`{key}`" in fault["message"]
    )
    found = re.findall(r"`([a-z0-9_-]+)`", message.split("expected one of")[1])
    assert len(found) > 3, message
    return found


AQMS = st.sampled_from(kinds("aqm", {"aqm": "none-such"}))
CONTROLS = st.one_of(
    st.sampled_from(kinds("group.cc", {"group": [{"name": "A", "cc": "none-such"}]})),
    st.fixed_dictionaries({"kind": st.just("reno"), "abe": st.booleans()}),
    st.fixed_dictionaries(
        {"kind": st.just("prague"), "fallback": st.sampled_from(["off", "passive", "active"])}
    ),
)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, object]:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
    groups = [
        {
            "name": name,
            "cc": draw(CONTROLS),
            "rtt": draw(TIMES),
            "flows": draw(st.integers(0, 5)),
        }
        for name in names
    ]
    tables: dict[str, object] = {
        "name": draw(st.text(min_size=1, max_size=12).filter(lambda text: text.strip() == text)),
        "duration": "20s",
        "seed": draw(st.integers(0, 2**63 - 1)),
        "host_jitter": draw(st.booleans()),
        "link": {"rate": draw(RATES), "buffer": draw(st.sampled_from(["100p", "1mb", "50ms"]))},
        "aqm": {"kind": draw(AQMS)},
        "group": groups,
    }
    if draw(st.booleans()):
        tables["udp"] = [{"name": "udp:1", "rate": draw(RATES), "ecn": "ect1"}]
    if draw(st.booleans()):
        tables["at"] = [{"time": "5s", "link.rate": draw(RATES)}]
    return tables


@settings(max_examples=150, deadline=None)
@given(scenarios())
def test_any_scenario_reads_back_as_itself(tables: dict[str, object]) -> None:
    try:
        scenario = l4s.Scenario(**tables)
    except l4s.ScenarioError as refused:
        # A name that no group may have, or the like: words, and no crash.
        assert refused.faults and str(refused).startswith("error: ")
        return
    text = scenario.to_toml()
    again = l4s.Scenario.from_toml(text)
    assert again == scenario and again.to_toml() == text
    assert hash(again) == hash(scenario)


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_a_value_in_a_line_is_toml(value: object) -> None:
    tomllib = pytest.importorskip("tomllib")
    text = _toml.inline(value)  # type: ignore[arg-type]
    assert "\n" not in text and tomllib.loads(f"x = {text}")["x"] == value
