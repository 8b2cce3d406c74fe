"""The pictures of figures."""

from __future__ import annotations

from drawn import data, pictured, run_of
from matplotlib.figure import Figure

from l4s import figures


@pictured
def test_looks_conditions() -> Figure:
    return figures.figure_of(figures.draw("dctth-4", {"runs": data("grid")}))


@pictured
def test_looks_conditions_dark() -> Figure:
    with figures.style(dark=True):
        return figures.figure_of(figures.delay_crosses(data("grid")))


@pictured
def test_looks_rate_balance() -> Figure:
    return figures.figure_of(figures.rate_balance(data("grid")))


@pictured
def test_looks_flow_mix() -> Figure:
    return figures.figure_of(figures.flow_mix(data("mixes")))


@pictured
def test_looks_overload() -> Figure:
    return figures.figure_of(figures.draw("dctth-10", {"runs": data("udp")}))


@pictured
def test_looks_matrix() -> Figure:
    tables = {"series": data("mixes-series"), "delays": data("mixes-delays")}
    return figures.figure_of(figures.matrix(data("mixes"), **tables))


@pictured
def test_looks_completion() -> Figure:
    axes = figures.completion(data("web-flows"), runs=data("web"), rtt_ms=10)
    return figures.figure_of(axes)


@pictured
def test_looks_efficiency() -> Figure:
    return figures.figure_of(figures.efficiency(data("web")))


@pictured
def test_looks_time_series() -> Figure:
    tables = {"series": data("change-series"), "runs": data("change")}
    axes = figures.draw("fallback-10", tables, show=("rate", "delay", "score"))
    return figures.figure_of(axes)


@pictured
def test_looks_output_over_time() -> Figure:
    axes = figures.time_series(data("change-series"), "output", runs=data("change"))
    return figures.figure_of(axes)


@pictured
def test_looks_delay_distribution() -> Figure:
    delays = data("mixes-delays")
    axes = figures.delay_distribution(
        delays, runs=data("mixes"), run=[run_of("3", "3")], scope="group"
    )
    return figures.figure_of(axes)


@pictured
def test_looks_lights() -> Figure:
    return figures.figure_of(
        figures.draw("fallback-500", {"runs": data("lights"), "flows": data("lights-flows")})
    )
