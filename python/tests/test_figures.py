"""Figures show what the tables hold, under the right names and in order."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from drawn import DUALPI2, PIE, crosses, data, heights, labels, run_of
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer, ErrorbarContainer

import l4s
from l4s import figures
from l4s.figures import colours, names, squares
from l4s.figures.downloads import theoretical_ms
from l4s.figures.quantities import PANELS
from l4s.figures.sweep import lay_out
from l4s.figures.tables import Table
from l4s.figures.times import QUANTITIES


def grid_rows(case: str) -> list[dict[str, Any]]:
    """The runs of a case of the grid, in the order of the x axis."""
    rows = [row for row in data("grid").to_pylist() if row["set_case"] == case]

    def key(row: dict[str, Any]) -> tuple[float, float]:
        return names.size(row["set_link.rate"]) or 0, names.size(row["set_group.*.rtt"]) or 0

    return sorted(rows, key=key)


def test_crosses_are_the_mean_and_the_percentiles_of_each_run() -> None:
    ax = figures.delay_crosses(data("grid"), where=PIE)
    rows = grid_rows(PIE["case"])
    mean, whiskers = crosses(ax)
    assert list(mean) == [row["queue_Q_delay_mean_ms"] for row in rows]
    ends = [(row["queue_Q_delay_p1_ms"], row["queue_Q_delay_p99_ms"]) for row in rows]
    assert np.allclose(whiskers, ends)
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "queueing delay (ms)"


def test_each_queue_of_each_discipline_is_a_track_with_a_name_colour_and_marker_of_its_own() -> (
    None
):
    ax = figures.delay_crosses(data("grid"))
    assert labels(ax) == ["DualPI2 L4S", "DualPI2 Classic", "PIE", "FQ-CoDel"]
    lines = [c.lines[0] for c in ax.containers if isinstance(c, ErrorbarContainer)]
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_marker() for line in lines}) == 4
    assert lines[0].get_color() == colours.LIGHT.traffic["l4s"]
    assert lines[2].get_color() == colours.LIGHT.aqm["pie"]


def test_conditions_are_in_order_of_size_under_their_spans() -> None:
    ax = figures.utilization(data("grid"))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["10", "100", "10", "100"]
    spans = [text.get_text() for text in ax.child_axes[0].get_xticklabels()]
    assert spans == ["12 Mb/s", "120 Mb/s"]
    assert ax.get_xlabel() == "RTT (ms), by link rate"


def test_the_outer_key_can_be_chosen() -> None:
    ax = figures.utilization(data("grid"), outer="group.*.rtt")
    spans = [text.get_text() for text in ax.child_axes[0].get_xticklabels()]
    assert spans == ["10 ms", "100 ms"]


def test_two_lines_of_one_discipline_differ_in_colour_queue_by_queue() -> None:
    first = data("grid").filter(pc.equal(data("grid")["set_case"], DUALPI2["case"]))
    place = first.column_names.index("set_case")
    other = first.set_column(place, "set_case", pa.array(["dualpi2 prague:cubic"] * len(first)))
    ax = figures.delay_crosses(pa.concat_tables([first, other]))
    tracks = [c.lines[0] for c in ax.containers if isinstance(c, ErrorbarContainer)]
    assert len({line.get_color() for line in tracks}) == 4


@pytest.mark.parametrize("of", ["rate", "window"])
def test_balance_is_the_ratio_of_the_table(of: str) -> None:
    ax = figures.rate_balance(data("grid"), of=of, where=DUALPI2)
    values, _ = crosses(ax)
    assert list(values) == [row[f"ratio_{of}_A_B"] for row in grid_rows(DUALPI2["case"])]
    low, high = ax.get_ylim()
    assert low * high == pytest.approx(1)
    assert 1 in np.asarray(ax.get_lines()[0].get_ydata())


def test_utilization_is_in_percent() -> None:
    values, _ = crosses(figures.utilization(data("grid"), where=PIE))
    assert list(values) == [100 * row["link_utilization"] for row in grid_rows(PIE["case"])]


def test_marks_are_filled_drops_hollow_and_none_is_nothing() -> None:
    ax = figures.probabilities(data("grid"), where=DUALPI2)
    tracks = [c for c in ax.containers if isinstance(c, ErrorbarContainer)]
    rows = grid_rows(DUALPI2["case"])
    said = [track.get_label() for track in tracks]
    assert said == ["DualPI2 L4S mark", "DualPI2 Classic drop"]
    for track, column in zip(tracks, ["queue_L_mark", "queue_C_drop"], strict=True):
        wanted = [100 * row[column] if row[column] > 0 else np.nan for row in rows]
        assert np.allclose(track.lines[0].get_ydata(), wanted, equal_nan=True)
    assert tracks[0].lines[0].get_markerfacecolor() == colours.LIGHT.traffic["l4s"]
    assert tracks[1].lines[0].get_markerfacecolor() == colours.LIGHT.paper


def test_repeated_seeds_are_averaged() -> None:
    one = data("grid").slice(0, 1)
    other = one.set_column(
        one.column_names.index("link_utilization"),
        "link_utilization",
        pa.array([one["link_utilization"][0].as_py() / 2]),
    )
    table = pa.concat_tables([one, other])
    values, _ = crosses(figures.utilization(table))
    assert list(values) == [pytest.approx(75 * one["link_utilization"][0].as_py())]


def test_shares_are_normalized_rates_with_the_percentiles_of_flows() -> None:
    ax = figures.shares(data("mixes"))
    keys = ("set_group.A.flows", "set_group.B.flows")
    rows = sorted(data("mixes").to_pylist(), key=lambda row: tuple(int(row[key]) for key in keys))
    for number, group in enumerate("AB"):
        own = [row[f"group_{group}_normalized_rate"] for row in rows]
        drawn = heights(ax, number)
        wanted = [np.nan if value is None else value for value in own]
        assert np.allclose(drawn, wanted, equal_nan=True)
    whiskers = next(c for c in ax.collections if isinstance(c, LineCollection)).get_segments()
    row = next(row for row in rows if row["group_A_flows"] == 3)
    scale = row["group_A_normalized_rate"] / row["group_A_rate_per_flow_bps"]
    ends = [row["group_A_flow_rates_p1_bps"] * scale, row["group_A_flow_rates_p99_bps"] * scale]
    whole = [segment for segment in whiskers if segment.ndim == 2]
    assert any(np.allclose(segment[:, 1], ends) for segment in whole)


def test_output_stacks_every_sender() -> None:
    ax = figures.overload_output(data("udp"), where=PIE, outer="udp.U.ecn")
    rows = [row for row in data("udp").to_pylist() if row["set_case"] == PIE["case"]]
    rows.sort(
        key=lambda row: (
            ["ect1", "not-ect"].index(row["set_udp.U.ecn"]),
            row["link_rate_bps"],
            row["set_udp.U.rate"] != "50mbit",
        )
    )
    tops = np.zeros(len(rows))
    for number, group in enumerate("ABU"):
        own = np.array([row[f"group_{group}_rate_bps"] / 1e6 for row in rows])
        bars = [c for c in ax.containers if isinstance(c, BarContainer)][number]
        assert np.allclose([bar.get_y() for bar in bars], tops)
        assert np.allclose([bar.get_height() for bar in bars], own)
        tops += own
    assert labels(ax) == ["ECN-Cubic", "Cubic", "UDP"]
    hatches = [c[0].get_hatch() for c in ax.containers if isinstance(c, BarContainer)]
    assert len(set(hatches)) == 3


def test_overload_has_a_column_per_discipline_with_shared_scales() -> None:
    axes = figures.overload(data("udp"))
    assert axes.shape == (4, 3)
    assert [ax.get_title(loc="left") for ax in axes[0]] == ["DualPI2", "PIE", "FQ-CoDel"]
    assert len({ax.get_ylim() for ax in axes[3]}) == 1
    fq = np.nanmax([row["queue_Q_delay_p99_ms"] or 0 for row in data("udp").to_pylist()])
    assert axes[3, 0].get_ylim()[1] >= fq


def test_columns_share_a_scale_that_holds_all_of_them() -> None:
    axes = figures.panels(data("grid"), ("utilization", "window balance", "signals"), by_line=True)
    for row in axes:
        assert len({ax.get_ylim() for ax in row}) == 1
        low, high = row[0].get_ylim()
        for ax in row:
            for number in range(sum(isinstance(c, ErrorbarContainer) for c in ax.containers)):
                values, _ = crosses(ax, number)
                assert np.nanmin(values) >= low
                assert np.nanmax(values) <= high


def test_a_cell_of_rates_is_the_rate_of_each_flow_over_twice_an_equal_share() -> None:
    axes = figures.matrix(data("mixes"), ("rate",), series=data("mixes-series"))
    lines = {c.get_gid(): c for c in axes[0, 0].collections}
    row = next(r for r in data("mixes").to_pylist() if r["run"] == run_of("1", "0"))
    series = data("mixes-series").to_pylist()
    rates = [r["rate_bps"] for r in series if r["run"] == row["run"] and r["name"] == "A.0"]
    share = np.array([np.mean(p) for p in np.array_split(rates, 25)]) / row["link_rate_bps"]
    # The cell of 1 : 0 is 0.92 wide and high around (1, 0).
    wanted = np.minimum(share / 2, 1) * 0.92 - 0.46
    drawn = [s for s in lines["A"].get_segments() if 0.5 < s[0][0] < 1.5 and s[0][1] < 0.5]
    assert len(drawn) == 1
    assert np.allclose(drawn[0][:, 1], wanted)
    flows = sum(r["group_A_flows"] for r in data("mixes").to_pylist())
    assert len(lines["A"].get_segments()) == flows


def test_a_cell_of_delays_is_a_distribution_that_rises_from_none_to_all() -> None:
    axes = figures.matrix(data("mixes"), ("delay",), delays=data("mixes-delays"))
    lines = {c.get_gid(): c for c in axes[0, 0].collections}
    for group in "AB":
        for segment in lines[group].get_segments():
            inside = (segment - np.round(segment.mean(axis=0)) + 0.46) / 0.92
            assert inside[0, 1] == pytest.approx(0)
            assert inside[-1, 1] == pytest.approx(1)
            assert np.all(np.diff(inside, axis=0) >= -1e-9)
    # L4S packets wait less: their lines are further left.
    left = {g: np.mean([s[:, 0].mean() % 1 for s in lines[g].get_segments()]) for g in "AB"}
    assert lines["A"].get_color()[0] is not None
    assert left["A"] != left["B"]


def test_dots_are_the_downloads_that_ended_after_the_warm_up() -> None:
    runs = data("web")
    axes = figures.completion(data("web-flows"), runs=runs, rtt_ms=10)
    assert axes.shape == (1, 2)
    rows = [r for r in data("web-flows").to_pylist() if r["run"] == 0 and r["group"] == "A"]
    done = [r for r in rows if r["completion_ms"] and r["end_s"] >= 2 and r["size"]]
    line = next(line for line in axes[0, 0].get_lines() if line.get_gid() == "A")
    assert sorted(line.get_ydata()) == sorted(r["completion_ms"] for r in done)
    assert len(done) < len([r for r in rows if r["completion_ms"]])


def test_the_theoretical_time_is_two_round_trips_and_the_bytes_at_full_rate() -> None:
    # 7 segments of 66 B around 10,000 B at 40 Mb/s, after 20 ms.
    assert theoretical_ms(np.array([10_000.0]), 10, 40e6)[0] == pytest.approx(
        20 + 10_462 * 8 / 40e3
    )
    assert theoretical_ms(np.array([0.0]), 10, 40e6)[0] == pytest.approx(20 + 66 * 8 / 40e3)
    axes = figures.completion(data("web-flows"), runs=data("web"), rtt_ms=10)
    line = next(line for line in axes[0, 0].get_lines() if line.get_gid() == "theoretical")
    assert np.allclose(line.get_ydata(), theoretical_ms(line.get_xdata() * 1e3, 10, 12e6))


def test_the_round_trip_is_that_of_the_sweep() -> None:
    axes = figures.completion(data("web-flows"), runs=data("web"))
    line = next(line for line in axes[0, 0].get_lines() if line.get_gid() == "theoretical")
    assert line.get_ydata()[0] > 20


def test_efficiency_is_that_of_each_bin() -> None:
    axes = figures.efficiency(data("web"))
    row = data("web").to_pylist()[1]
    mean, whiskers = crosses(axes[0, 1], 0)
    prefix = "completion_A_1000_3000_efficiency_"
    assert mean[0] == row[f"{prefix}mean"]
    assert whiskers[0] == pytest.approx((row[f"{prefix}p1"], row[f"{prefix}p99"]))
    ticks = [text.get_text() for text in axes[0, 1].get_xticklabels()]
    assert ticks[:3] == ["1", "3", "9"]


def test_series_are_those_of_each_flow_in_its_unit() -> None:
    axes = figures.time_series(
        data("change-series"), ("rate", "score"), runs=data("change"), marks=[10]
    )
    rows = [r for r in data("change-series").to_pylist() if r["name"] == "A.0"]
    for ax, column, scale in zip(axes[:, 0], ("rate_bps", "classic_ecn"), (1e-6, 1), strict=True):
        line = next(line for line in ax.get_lines() if line.get_gid() == "A.0")
        wanted = [np.nan if r[column] is None else r[column] * scale for r in rows]
        assert np.allclose(line.get_ydata(), wanted, equal_nan=True)
        assert list(line.get_xdata()) == [r["time_s"] for r in rows]
        assert any(list(line.get_xdata()) == [10, 10] for line in ax.get_lines())
    assert labels(axes[0, 0]) == ["Prague", "ECN-Cubic (9 flows)"]
    levels = [line.get_ydata()[0] for line in axes[1, 0].get_lines() if len(line.get_ydata()) == 2]
    assert {0.0, 1.0} <= set(levels)


def test_output_over_time_is_the_sum_of_the_groups() -> None:
    axes = figures.time_series(data("change-series"), "output", runs=data("change"))
    rows = [r for r in data("change-series").to_pylist() if r["scope"] == "group"]
    times = sorted({r["time_s"] for r in rows})
    total = [sum(r["rate_bps"] for r in rows if r["time_s"] == t) / 1e6 for t in times]
    top = axes[0, 0].collections[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(max(total))


def test_without_the_runs_series_have_plain_names() -> None:
    axes = figures.time_series(data("change-series"), "rate")
    assert labels(axes[0, 0])[0] == "A"


def test_distributions_end_at_all_packets() -> None:
    run = run_of("3", "3")
    axes = figures.delay_distribution(data("mixes-delays"), run=run, scope="group")
    for line in axes[0, 0].get_lines():
        assert line.get_ydata()[-1] == pytest.approx(100)
        assert np.all(np.diff(line.get_ydata()) > 0)


def test_lights_count_what_they_show() -> None:
    axes = figures.lights(data("lights"), flows=data("lights-flows"))
    assert axes.shape == (2, 2)
    for ax in axes.ravel().tolist():
        squares_drawn = {c.get_gid(): len(c.get_paths()) for c in ax.collections}
        assert sum(squares_drawn.values()) == 20
        right, amber, red = map(
            int, re.findall(r"(\d+) (?:right|amber|red)", ax.get_title(loc="left"))
        )
        assert right == squares_drawn.get("right", 0) + squares_drawn.get("rest", 0)
        assert (amber, red) == (squares_drawn.get("amber", 0), squares_drawn.get("red", 0))
    assert axes[0, 0].get_title(loc="left").startswith("CoDel: ")
    assert axes[1, 0].get_title(loc="left").startswith("CoDel, DualPI2 from 10 s: ")


def heard(
    score: float, rounds: float = 400, *, long: bool = True, start: float = 12
) -> squares.Heard:
    """What a detector said."""
    return squares.Heard(long, start, not long, score, rounds)


@pytest.mark.parametrize(
    ("l4s", "flows", "said"),
    [
        (False, [heard(9)], "right"),
        (False, [heard(0)], "red"),
        (True, [heard(0)], "right"),
        (True, [heard(1)], "amber"),
        (False, [heard(0.5)], "red"),
        (True, [heard(0.5)], "amber"),
        (False, [heard(9)] * 8 + [heard(-8)], "red"),
        (False, [heard(-8, 0)], "rest"),
        (False, [heard(-8, 0), heard(9)], "right"),
        (False, [heard(-8, 49, long=False)] * 10, "right"),
        (False, [heard(-8, 50, long=False)] * 10, "red"),
        (False, [heard(0.5, 80, long=False)] * 10, "right"),
        (True, [heard(2, 5, long=False)] + [heard(-8, 5, long=False)] * 2, "right"),
        (True, [heard(2, 5, long=False)] * 2 + [heard(-8, 5, long=False)] * 18, "right"),
        (True, [heard(2, 5, long=False)] * 2 + [heard(-8, 5, long=False)] * 17, "amber"),
        (True, [heard(9, 60, long=False, start=9.9)] * 3, "rest"),
        (True, [], "unknown"),
    ],
)
def test_verdicts(l4s: bool, flows: list[squares.Heard], said: str) -> None:
    assert squares.verdict(flows, l4s=l4s, since_s=10) == said


def test_the_last_discipline_judges_what_began_after_it_came() -> None:
    schedules = ["codel-dualpi2", "dualpi2-codel", "dualpi2"]
    runs = {
        "run": [0, 1, 2],
        "set_schedule": schedules,
        "set_traffic": ["L:0"] * 3,
        "set_link.rate": ["4mbit"] * 3,
        "set_group.*.rtt": ["5ms"] * 3,
    }
    # Downloads that say Classic; those of the second half alone met the last discipline.
    flows = [
        {"run": run, "size": 9000.0, "start_s": start, "end_s": start + 1, "classic_ecn": 9.0}
        for run in range(3)
        for start in (3.0, 4.0, 5.0)
    ]
    table = pa.Table.from_pylist([{**flow, "classic_ecn_rounds": 60} for flow in flows])

    def said(change_s: float) -> list[list[str]]:
        axes = figures.lights(pa.table(runs), flows=table, change_s=change_s)
        return [[c.get_gid() for c in ax.collections] for ax in axes.ravel().tolist()[:3]]

    assert said(10) == [["rest"], ["rest"], ["amber"]]
    assert said(2) == [["amber"], ["right"], ["amber"]]


def test_schedules_name_their_disciplines_in_order() -> None:
    assert squares.disciplines("dualpi2-codel") == ["dualpi2", "codel"]
    assert squares.disciplines("curvy-red") == ["curvy-red"]
    assert squares.disciplines("fq_codel") == ["fq_codel"]


def test_quantities_are_ordered_by_size_across_units() -> None:
    assert names.ordered(["1gbit", "40mbit", "750kbit"]) == ["750kbit", "40mbit", "1gbit"]
    assert names.ordered(["b", "a"]) == ["b", "a"]
    assert names.said("40mbit") == "40 Mb/s"
    assert names.said("not-ect") == "Not-ECT"
    assert names.label("dualpi2 dctcp:cubic") == "DualPI2 DCTCP:Cubic"
    assert names.digits(0.5741) == "0.574"
    assert names.digits(148.0) == "148"


def test_lines_of_one_discipline_are_told_apart_by_who_meets() -> None:
    rows = {
        "set_case": ["dualpi2 dctcp:cubic", "prague:cubic, dualpi2"],
        "link_utilization": [1.0, 1.0],
    }
    lines = lay_out(Table(pa.table(rows), "runs")).lines
    assert [line.name for line in lines] == ["DualPI2 DCTCP:Cubic", "Prague:Cubic, DualPI2"]


def test_every_figure_of_the_papers_can_be_asked_for() -> None:
    wanted = {f"dctth-{n}" for n in range(4, 11)} | {
        f"fallback-{n}" for n in (1, 7, 8, 9, 10, 11, 12, 500)
    }
    wanted |= {"slides-flows", "slides-completion", "overload-a", "overload-b", "core"}
    assert wanted <= set(figures.PAPERS)
    assert all(paper.paper and paper.shows for paper in figures.PAPERS.values())
    shown = {name for paper in figures.PAPERS.values() for name in paper.options.get("show", ())}
    assert shown <= {*PANELS, *QUANTITIES}


def test_groups_with_one_control_differ_in_name_and_colour() -> None:
    groups = [{"name": name, "cc": "cubic", "rtt": "10ms"} for name in ("A", "B")]
    groups.append({"name": "C", "cc": "reno", "rtt": "10ms"})
    three = l4s.run(l4s.Scenario(duration="2s", link={"rate": "10mbit"}, group=groups))
    axes = figures.time_series(three, ("rate", "output"))
    for ax in axes[:, 0]:
        assert sorted(labels(ax)) == ["Cubic A", "Cubic B", "Reno"]
    lines = axes[0, 0].get_lines()
    assert len({line.get_color() for line in lines}) == 3
    assert lines[-1].get_color() == colours.LIGHT.traffic["classic"]
    areas = {str(area.get_facecolor()) for area in axes[1, 0].collections}
    assert len(areas) == 3
    ax = figures.delay_distribution(three, scope="group")[0, 0]
    assert sorted(labels(ax)) == ["Cubic A", "Cubic B", "Reno"]
    assert len({line.get_color() for line in ax.get_lines()}) == 3
