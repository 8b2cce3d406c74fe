#!/usr/bin/env python3
"""Instructions per packet of the simulator, and the history of benchmarks.

    scripts/bench.py            counts, and compares with the newest entry of the history
    scripts/bench.py --check    the same; exit code 1 where a count changed and the changelog has no word of it
    scripts/bench.py --record   adds an entry, with the times of `cargo bench` where they are there

The history is docs/reference/bench.json, an entry per release. A count is that of valgrind for the whole process, of
a run of 6 s less one of 3 s, per packet that leaves the bottleneck. It is the same on every machine to 0.1 %, but
not with every compiler, so entries of another rustc are not compared.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
L4S = ROOT / "target/release/l4s"
HISTORY = ROOT / "docs/reference/bench.json"
CHANGELOG = ROOT / "CHANGELOG.md"
CRITERION = ROOT / "target/criterion"
#: A larger change of a count is one that users are to read about.
NOTABLE = 0.03
#: The words of the changelog that say so.
WORDS = "instructions per packet"
#: Runs, by name: the scenario and its settings.
RUNS = {
    "DCTCP and Cubic, DualPI2, 200 Mb/s": (
        "one-against-one", ["case=dualpi2 dctcp:cubic", "link.rate=200mbit"]
    ),
    "two Cubic, PIE, 200 Mb/s": (
        "one-against-one", ["case=pie ecn-cubic:cubic", "link.rate=200mbit"]
    ),
    "2 × 500 flows, DualPI2, 1 Gb/s": (
        "one-against-one",
        ["case=dualpi2 dctcp:cubic", "link.rate=1gbit", "group.*.flows=500"],
    ),
    "Prague and Cubic, DualPI2, 200 Mb/s": (
        "prague", ["link.rate=200mbit", "group.*.rtt=10ms"]
    ),
    "Prague and Cubic, DualPI2, trace cable-1": (
        "varying-link", ["link.trace=cable-1", "link.trace_scale=200mbit", "aqm=dualpi2"]
    ),
}


def main(words: list[str]) -> int:
    unknown = set(words) - {"--check", "--record"}
    if unknown:
        print(f"bench.py: {unknown.pop()}: expected --check or --record", file=sys.stderr)
        return 2
    history = json.loads(HISTORY.read_text()) if HISTORY.exists() else []
    entry = {**made(), "instructions_per_packet": counts()}
    changed = compare(history, entry)
    if "--record" in words:
        entry["ns"] = times()
        HISTORY.write_text(json.dumps([*history, entry], indent=1, ensure_ascii=False) + "\n")
        print(f"recorded in {HISTORY.relative_to(ROOT)}")
    if "--check" in words and changed and WORDS not in unreleased():
        print(
            f"bench.py: a count changed by more than {NOTABLE:.0%}, and CHANGELOG.md has no line about "
            f'"{WORDS}" under Unreleased',
            file=sys.stderr,
        )
        return 1
    return 0


def made() -> dict[str, str]:
    """The version, its code and compiler."""
    lines = run([L4S, "--version"]).splitlines()
    found = dict(line.split(" ", 1) for line in lines if " " in line)
    return {"version": found["l4s"], "code": found["code"], "rustc": found["rustc"].split(",")[0]}


def counts() -> dict[str, float]:
    with ThreadPoolExecutor() as pool:
        both = {
            name: [pool.submit(counted, scenario, settings, seconds) for seconds in (3, 6)]
            for name, (scenario, settings) in RUNS.items()
        }
    result = {}
    for name, (short, long) in both.items():
        (i, n), (j, m) = short.result(), long.result()
        result[name] = round((j - i) / (m - n), 1)
    return result


def counted(scenario: str, settings: list[str], seconds: int) -> tuple[int, int]:
    """Instructions of a run, and the packets that left the bottleneck."""
    command = [L4S, "run", scenario, "--json", "--jobs", "1"]
    for setting in [*settings, f"duration={seconds}s", "warmup=1s"]:
        command += ["--set", setting]
    with tempfile.NamedTemporaryFile("r") as log:
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        summary = json.loads(run([*valgrind, f"--log-file={log.name}", *command]))
        collected = re.search(r"Collected : (\d+)", log.read())
    if collected is None:
        raise SystemExit("bench.py: valgrind counted nothing")
    return int(collected[1]), summary["engine"]["packets"]


def compare(history: list[dict], entry: dict) -> bool:
    """Prints the counts beside the newest ones of this compiler; whether one differs notably."""
    before = [old for old in history if old["rustc"] == entry["rustc"]]
    old = before[-1]["instructions_per_packet"] if before else {}
    changed = False
    for name, count in entry["instructions_per_packet"].items():
        change = count / old[name] - 1 if name in old else 0.0
        changed |= abs(change) > NOTABLE
        print(f"{name:42} {count:8.1f} instructions per packet" + (f" {change:+.1%}" if old else ""))
    if not before:
        print(f"no entry of the history is of rustc {entry['rustc']}: nothing to compare with")
    return changed


def times() -> dict[str, float]:
    """Nanoseconds of each benchmark of `cargo bench` that ran in this clone: medians."""
    found = {}
    for file in sorted(CRITERION.glob("**/new/estimates.json")):
        name = "/".join(file.relative_to(CRITERION).parts[:-2])
        found[name] = round(json.loads(file.read_text())["median"]["point_estimate"], 1)
    return found


def unreleased() -> str:
    return CHANGELOG.read_text().partition("## [Unreleased]")[2].partition("\n## [")[0].lower()


def run(command: list[str | Path]) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench.py: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
