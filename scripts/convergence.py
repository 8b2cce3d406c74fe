#!/usr/bin/env python3
"""How soon a new flow has its share: `convergence.py FOLDER [FROM]`, the folder of `l4s run --out`.

The flow is the last of group A that starts. Its share is the rate of the link, as IP, over the
number of long flows. Its rate is over 1 s, of the time series. From FROM seconds (10) on:

- reached: the end of the first second with at least 75 % of the share
- within: the end of the first second from which on all are within 25 % of the share, to the end
- first 5 s: the mean rate in the five seconds after FROM, over the share

Each the median of all seeds; '-' if more than half of them have none. Needs polars.
"""

import sys

import polars as pl

SAMPLES = 10  # of 100 ms


def measures(rates, start):
    """Of (time, rate/share) samples."""
    later = [(t, r) for t, r in rates if t > start + 1e-6]
    seconds = [
        (later[i][0] - start, sum(r for _, r in later[i - SAMPLES + 1 : i + 1]) / SAMPLES)
        for i in range(SAMPLES - 1, len(later))
    ]
    reached = next((t for t, r in seconds if r >= 0.75), None)
    within = None
    for t, r in reversed(seconds):
        if abs(r - 1) > 0.25:
            break
        within = t
    first = sum(r for t, r in later if t <= start + 5 + 1e-6) / (5 * SAMPLES)
    return reached, within, first


def median(values):
    """None is later than anything."""
    return sorted(values, key=lambda v: float("inf") if v is None else v)[(len(values) - 1) // 2]


def main():
    folder, start = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    runs = pl.read_parquet(f"{folder}/runs.parquet")
    flows = pl.read_parquet(f"{folder}/flows.parquet").filter(pl.col("size").is_null())
    series = pl.read_parquet(f"{folder}/series.parquet").filter(pl.col("scope") == "flow")
    keys = [name for name in runs.columns if name.startswith("set_")]
    found = {}
    for row in runs.iter_rows(named=True):
        of_run = flows.filter(pl.col("run") == row["run"])
        flow = of_run.filter(pl.col("group") == "A").sort("start_s").row(-1, named=True)
        name = f"{flow['group']}.{flow['flow']}"
        share = row["link_rate_bps"] * 1500 / 1514 / len(of_run)
        samples = series.filter((pl.col("run") == row["run"]) & (pl.col("name") == name))
        rates = [(t, r / share) for t, r in samples.select("time_s", "rate_bps").iter_rows()]
        found.setdefault(tuple(row[key] for key in keys), []).append(measures(rates, start))
    print("reached  within  first 5 s")
    for key, all_seeds in found.items():
        reached, within, first = (median(list(column)) for column in zip(*all_seeds))
        seconds = ["      -" if t is None else f"{t:5.1f} s" for t in (reached, within)]
        print(*seconds, f"{100 * first:7.0f} %  ", ", ".join(map(str, key)))


if __name__ == "__main__":
    main()
