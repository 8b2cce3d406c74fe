"""What ``l4s.run`` costs over the command: ``python python/benches/overhead.py [L4S]``.

The same run by both, in turns, without tables and with: the median of each. Of the command it is
the time that the simulator took, as it says itself; of Python all of the call.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from statistics import median

import l4s

TURNS = 25


def main() -> None:
    """Prints the table."""
    command = sys.argv[1] if len(sys.argv) > 1 else shutil.which("l4s")
    if command is None:
        sys.exit("there is no command l4s: name it")
    for rate in ("40mbit", "200mbit"):
        case, keys = "dualpi2 dctcp:cubic", {"link.rate": rate}
        scenario = l4s.Scenario("one-against-one").with_({"case": case, **keys})
        words = [command, "run", "one-against-one", f"--set=case={case}", f"--set=link.rate={rate}"]
        ways = {"tables=False": (["--json"], False), "tables=True": (["--json", "--out"], True)}
        for what, (options, kept) in ways.items():
            rust: list[float] = []
            python: list[float] = []
            for turn in range(TURNS):
                with tempfile.TemporaryDirectory() as folder:
                    out = [f"{folder}/{turn}"] if "--out" in options else []
                    said = subprocess.run([*words, *options, *out], capture_output=True, check=True)
                rust.append(json.loads(said.stdout)["engine"]["wall_s"])
                began = time.perf_counter()
                l4s.run(scenario, tables=kept)
                python.append(time.perf_counter() - began)
            ours, theirs = median(python) * 1e3, median(rust) * 1e3
            print(
                f"60 s at {rate}, {what}: {theirs:.1f} ms in the command's simulator, "
                f"{ours:.1f} ms in l4s.run: {ours / theirs - 1:+.1%}"
            )


if __name__ == "__main__":
    main()
