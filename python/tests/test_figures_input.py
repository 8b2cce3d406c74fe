"""The tables and axes that figures take, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn import PIE, crosses, data, labels
from matplotlib.figure import Figure

import l4s
from l4s import figures
from l4s.figures import colours
from l4s.figures.tables import read


def test_tables_come_as_arrow_as_folders_as_files_and_as_whatever_has_a_stream(
    tmp_path: Path,
) -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return data("grid").__arrow_c_stream__(requested_schema)

    pq.write_table(data("grid"), tmp_path / "runs.parquet")
    sources = [
        data("grid"),
        Stream(),
        tmp_path,
        str(tmp_path),
        tmp_path / "runs.parquet",
        read(data("grid"), "runs"),
    ]
    drawn = [list(crosses(figures.utilization(source))[0]) for source in sources]
    assert all(values == drawn[0] for values in drawn)


@pytest.mark.parametrize(
    "kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_text_of_any_kind_is_text(kind: Any) -> None:
    table = data("grid")
    for place, name in enumerate(table.column_names):
        if pa.types.is_string(table[name].type):
            table = table.set_column(place, name, table[name].cast(kind))
    ax = figures.utilization(table, where=PIE)
    assert list(crosses(ax)[0]) == list(crosses(figures.utilization(data("grid"), where=PIE))[0])


def test_the_folder_of_a_sweep_is_one_of_results(tmp_path: Path, client: Any) -> None:
    grid = l4s.Scenario("one-against-one").with_(duration="200ms").grid(seeds=2)
    swept = l4s.sweep(grid, tmp_path / "out", client=client, keep=["series"])
    drawn = [crosses(figures.delay_crosses(source))[0] for source in (swept, tmp_path / "out")]
    assert list(drawn[0]) == list(drawn[1])
    # The table of runs is that beside the series.
    axes = figures.time_series(tmp_path / "out", "rate", run=1)
    assert "DCTCP" in labels(axes[0, 0])
    with pytest.raises(l4s.SweepError, match=r"has no delays: .*keep=\['delays'\]"):
        figures.delay_distribution(tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(l4s.SweepError, match="no results of l4s"):
        figures.delay_crosses(tmp_path / "empty")


def test_a_folder_brings_its_other_tables(tmp_path: Path) -> None:
    pq.write_table(data("change"), tmp_path / "runs.parquet")
    pq.write_table(data("change-series"), tmp_path / "series.parquet")
    axes = figures.draw("fallback-10", tmp_path, show="rate")
    assert labels(axes[0, 0])[0] == "Prague"


def test_figures_are_drawn_in_the_axes_that_are_given() -> None:
    own = Figure().subplots()
    assert figures.utilization(data("grid"), ax=own) is own
    four = Figure().subplots(4, 1)
    axes = figures.panels(data("grid"), axes=four)
    assert [ax is mine for ax, mine in zip(axes[:, 0], four, strict=True)] == [True] * 4
    with pytest.raises(ValueError, match="4 x 1 axes are needed, 1 were given"):
        figures.panels(data("grid"), axes=own)


def test_nothing_global_changes() -> None:
    before = dict(matplotlib.rcParams)
    figures.draw("dctth-4", {"runs": data("grid")})
    with figures.style(dark=True, rc={"font.size": 5}):
        ax = figures.utilization(data("grid"))
        assert matplotlib.rcParams["font.size"] == 5
    assert dict(matplotlib.rcParams) == before
    assert ax.get_facecolor() == matplotlib.colors.to_rgba(colours.DARK.paper)
    assert figures.palette() is colours.LIGHT
    with pytest.raises(ZeroDivisionError), figures.style(dark=True):
        _ = 1 / 0
    assert dict(matplotlib.rcParams) == before


def test_pyplot_knows_of_no_figure() -> None:
    from matplotlib import pyplot

    figures.delay_crosses(data("grid"))
    assert pyplot.get_fignums() == []


def test_the_style_prints(tmp_path: Path) -> None:
    with figures.style():
        assert matplotlib.rcParams["pdf.fonttype"] == 42
        assert matplotlib.rcParams["font.size"] == 8
    ax = figures.utilization(data("grid").slice(0, 2))
    assert figures.figure_of(ax).get_figwidth() == pytest.approx(3.4)
    figures.save(ax, tmp_path / "a.pdf")
    figures.save(ax, tmp_path / "a.svg")
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()
    assert "<dc:date>" not in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("palette", [colours.LIGHT, colours.DARK])
@pytest.mark.parametrize(
    "meet",
    [
        ["traffic.l4s", "traffic.classic", "aqm.pie", "aqm.fq_codel"],
        ["traffic.l4s", "traffic.classic", "traffic.classic-ecn", "traffic.udp"],
        ["aqm.codel", "aqm.fq_codel", "traffic.classic"],
        ["aqm.pie", "aqm.codel", "aqm.red"],
    ],
)
def test_colours_that_meet_differ_in_lightness_and_from_the_paper(
    palette: colours.Palette, meet: list[str]
) -> None:
    of = {"traffic": palette.traffic, "aqm": palette.aqm}
    found = sorted(colours.luminance(of[kind][name]) for kind, name in (m.split(".") for m in meet))
    assert min(np.diff(found)) > 6, found
    paper = colours.luminance(palette.paper)
    assert all(abs(paper - own) > 20 for own in found)
    lights = [
        colours.luminance(palette.lights[verdict][0]) for verdict in ("right", "amber", "red")
    ]
    assert min(np.diff(sorted(lights))) > 10


def test_luminance_is_that_of_cielab() -> None:
    assert colours.luminance("#ffffff") == pytest.approx(100)
    assert colours.luminance("#000000") == pytest.approx(0)
    assert colours.luminance("#777777") == pytest.approx(50, abs=0.5)


def without(name: str, column: str) -> pa.Table:
    """A table without a column."""
    return data(name).drop([column])


def test_a_missing_column_is_named_with_what_is_nearest_and_what_makes_it() -> None:
    with pytest.raises(ValueError) as refused:
        figures.rate_balance(without("grid", "ratio_rate_A_B"))
    text = str(refused.value)
    assert 'runs has no column "ratio_rate_A_B"' in text
    assert "nearest: ratio_window_A_B" in text
    assert "l4s run dctth-4 --out DIR" in text


@pytest.mark.parametrize(
    ("draw", "column", "scenario"),
    [
        (
            lambda: figures.efficiency(data("grid")),
            "completion_A_1000_3000_efficiency_mean",
            "dctth-9",
        ),
        (
            lambda: figures.rate_balance(without("grid", "ratio_window_A_B"), of="window"),
            "ratio_window_A_B",
            "dctth-4",
        ),
        (lambda: figures.matrix(data("grid")), "set_group.A.flows", "dctth-5"),
        (
            lambda: figures.lights(data("grid"), flows=data("lights-flows")),
            "set_schedule",
            "fallback-500",
        ),
        (
            lambda: figures.utilization(without("grid", "link_utilization")),
            "link_utilization",
            "dctth-4",
        ),
        (lambda: figures.delay_crosses(data("web-flows")), "queue_Q_delay_mean_ms", "dctth-4"),
        (
            lambda: figures.time_series(without("change-series", "classic_ecn"), "score"),
            "classic_ecn",
            "fallback-8",
        ),
        (lambda: figures.delay_distribution(data("grid")), "scope", "dctth-4"),
    ],
)
def test_every_function_says_which_column_it_misses(draw: Any, column: str, scenario: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f'has no column "{column}"')) as refused:
        draw()
    assert f"l4s run {scenario} " in str(refused.value)


def test_tables_without_rows_are_refused() -> None:
    one = l4s.Scenario("one-against-one").runs[0].with_(duration="200ms")
    bare = l4s.run(one, tables=False)
    for draw in (figures.time_series, lambda bare: figures.time_series(bare, run=0)):
        with pytest.raises(ValueError, match=r"series has no rows: .* tables=True"):
            draw(bare)
    with pytest.raises(ValueError, match="flows has no completed download"):
        figures.completion(bare)
    # A number of NumPy's is one.
    figures.time_series(l4s.run(one), "rate", run=np.int64(0))


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (
            lambda: figures.draw("dctth-99", data("grid")),
            'no figure is called "dctth-99"; there is dctth-4',
        ),
        (
            lambda: figures.draw("fallback-8", {"runs": data("change")}),
            'needs the table "series"; there is runs',
        ),
        (lambda: figures.panels(data("grid"), ["delays"]), 'no quantity is called "delays"'),
        (
            lambda: figures.time_series(data("change-series"), "rates"),
            'no quantity is called "rates"',
        ),
        (lambda: figures.time_series(data("change-series"), "rate", run=7), "there is no run 7"),
        (lambda: figures.utilization(data("grid"), outer="seed"), 'do not differ in "seed"'),
        (
            lambda: figures.utilization(data("grid"), where={"case": "red"}),
            'no run has case = "red"',
        ),
        (lambda: figures.completion(data("web-flows")), "needs the table of runs"),
        (lambda: figures.lights(data("lights")), "need the table of flows"),
        (lambda: figures.matrix(data("mixes"), ("rate",)), "series=…"),
        (
            lambda: figures.matrix(data("mixes"), line="PIE", series=data("mixes-series")),
            'no line is called "PIE"',
        ),
        (lambda: figures.efficiency(pa.concat_tables([data("web")] * 5)), "10 runs are too many"),
    ],
)
def test_what_there_is_not_is_said(draw: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        draw()
