"""What an algorithm in Python costs: ``python python/benches/algorithms.py``.

Each line is the best of several runs, in nanoseconds per packet that the bottleneck forwarded,
everything included: both ends of TCP, the queue, the measurement.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from own import Pi2, Scalable, Spelled

import l4s

ONE = l4s.Scenario(Path(__file__).parents[2] / "crates/sim/examples/own_control.toml")


class Watched(Spelled, Scalable):
    """As Scalable, and every growth is Python's too."""


def cost(scenario: l4s.Scenario, **own: object) -> float:
    """Nanoseconds per packet, the best of some runs."""
    best = float("inf")
    until = time.monotonic() + 3
    while time.monotonic() < until:
        result = l4s.run(scenario, tables=False, **own)  # type: ignore[arg-type]
        best = min(best, result.wall_s / result.summary["engine"]["packets"] * 1e9)
    return best


def main() -> None:
    """Prints the table."""
    rust = cost(ONE)
    pi2 = ONE.with_({"aqm": {"kind": "pi2", "profile": "dctth"}, "group.A.cc": "cubic"})
    lines = [
        ("all of Rust: Reno and Cubic through DualPI2", rust),
        (
            "a control of Python in the place of Reno: on_ack, ssthresh",
            cost(ONE, cc={"A": Scalable}),
        ),
        ("and grow too", cost(ONE, cc={"A": Watched})),
        ("all of Rust: two Cubic through PI2", cost(pi2)),
        ("PI2 of Python: dequeue and tick", cost(pi2, aqm=Pi2)),
    ]
    for what, ns in lines:
        print(f"{what:60} {ns:7.0f} ns")


if __name__ == "__main__":
    main()
