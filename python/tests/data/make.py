"""Makes the tables of this folder: ``python make.py L4S``, where L4S is the program ``l4s``.

Runs of a few seconds: what the figures show matters to the tests, not what comes out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

HERE = Path(__file__).parent
#: Columns of runs that no figure reads.
UNREAD = re.compile(
    r"command|summary_json|version|on|engine_.*|hop_.*|group_._delay_.*"
    r"|.*_(p25|p50|p75|p999)_ms|.*_max_ms|.*_(marks|drops)_.*|.*_retransmits|.*_packets"
    r"|.*_prague_.*|completion_.*_(flows|time_.*)"
)
SHORT = ["--set", "duration=5s", "--set", "warmup=2s"]


def run(scenario: str, out: Path, *options: str) -> dict[str, pa.Table]:
    """The tables of a scenario, run into a folder."""
    folder = out / f"{scenario}-{len(list(out.iterdir()))}"
    subprocess.run([sys.argv[1], "run", scenario, "--out", folder, *options], check=True)
    return {
        name: pq.read_table(folder / f"{name}.parquet")
        for name in ("runs", "series", "delays", "flows")
    }


def only(table: pa.Table, key: str, *values: str) -> pa.Table:
    """The runs for which the sweep set a key to one of these values."""
    return table.filter(pc.is_in(table[f"set_{key}"], pa.array(values)))


def of(table: pa.Table, runs: pa.Table) -> pa.Table:
    """The rows of these runs."""
    return table.filter(pc.is_in(table["run"], runs["run"]))


def read_by_figures(runs: pa.Table) -> pa.Table:
    """Without the columns that no figure reads."""
    return runs.select([name for name in runs.column_names if not UNREAD.fullmatch(name)])


def write(name: str, table: pa.Table) -> None:
    """One file; no picture shows more than six decimals."""
    columns = []
    for column in table.columns:
        if pa.types.is_floating(column.type):
            column = pa.chunked_array([pc.round(column.combine_chunks(), ndigits=6)])
        columns.append(column)
    table = pa.table(columns, names=table.column_names)
    pq.write_table(table, HERE / f"{name}.parquet", compression="zstd", compression_level=19)


def main() -> None:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        grid = run("dctth-4", out, *SHORT)["runs"]
        grid = only(only(grid, "link.rate", "12mbit", "120mbit"), "group.*.rtt", "10ms", "100ms")
        write("grid", read_by_figures(grid))

        mixes = run("dctth-5", out, *SHORT, "--set", "case=dualpi2 dctcp:cubic")
        few = ("0", "1", "3")
        runs = only(only(mixes["runs"], "group.A.flows", *few), "group.B.flows", *few)
        write("mixes", read_by_figures(runs))
        series = of(mixes["series"], runs)
        series = series.filter(pc.equal(series["scope"], "flow"))
        write("mixes-series", series.select(["run", "time_s", "scope", "name", "rate_bps"]))
        delays = of(mixes["delays"], runs)
        delays = delays.filter(pc.equal(delays["scope"], "group"))
        # Ten bins a decade are enough here.
        bins: Counter[tuple[int, str, float]] = Counter()
        wanted = ("run", "name", "high_ms", "count")
        for number, name, high, count in zip(
            *(delays[column].to_pylist() for column in wanted), strict=True
        ):
            top = float(10 ** (np.ceil(10 * np.log10(max(high, 1e-3))) / 10))
            bins[number, name, top] += count
        rows = [
            {"run": run, "scope": "group", "name": name, "high_ms": high, "count": count}
            for (run, name, high), count in bins.items()
        ]
        write("mixes-delays", pa.Table.from_pylist(rows))

        udp = run("dctth-10", out, *SHORT)["runs"]
        udp = only(only(udp, "udp.U.rate", "50mbit", "200mbit"), "udp.U.ecn", "ect1", "not-ect")
        write("udp", read_by_figures(udp))

        web = run(
            "dctth-9",
            out,
            "--set",
            "duration=8s",
            "--set",
            "warmup=2s",
            "--set",
            "link.rate=12mbit",
            "--set",
            "group.*.rtt=10ms",
        )
        runs = web["runs"].slice(0, 2)
        write("web", read_by_figures(runs))
        flows = of(web["flows"], runs)
        write("web-flows", flows.select(["run", "group", "size", "completion_ms", "end_s"]))

        change = run("fallback-10", out, "--set", "duration=13s")
        write("change", read_by_figures(change["runs"]))
        series = change["series"]
        columns = [
            "run",
            "time_s",
            "scope",
            "name",
            "rate_bps",
            "delay_mean_ms",
            "cwnd_pkts",
            "classic_ecn",
        ]
        write("change-series", series.select(columns).filter(pc.not_equal(series["scope"], "link")))

        lights = run("fallback-500", out, "--set", "link.rate=12mbit", "--set", "group.*.rtt=20ms")
        columns = ["run", "set_schedule", "set_traffic", "set_link.rate", "set_group.*.rtt"]
        write("lights", lights["runs"].select(columns))
        flows = lights["flows"]
        flows = flows.filter(pc.is_valid(flows["classic_ecn"]))
        columns = ["run", "size", "start_s", "end_s", "classic_ecn", "classic_ecn_rounds"]
        write("lights-flows", flows.select(columns))


if __name__ == "__main__":
    main()
