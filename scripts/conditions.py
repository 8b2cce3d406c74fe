#!/usr/bin/env python3
"""Draws conditions at random, to hold the simulator against a kernel where nobody looked before.

    scripts/conditions.py --seed 1 > out/conditions.toml
    l4s validate out/conditions.toml --on linux

Each case has two groups of TCP flows behind one queue of Linux 7.3. Everything is drawn independently
of everything else: discipline, rate (4 to 200 Mb/s) and round trips (5 to 100 ms) with uniform
logarithms, congestion controls, and the numbers of flows. One case in five has UDP too, and one in
five web traffic. The same seed gives the same conditions.
"""

import argparse
import random

QUEUES = {
    "dualpi2": '{ kind = "dualpi2", profile = "linux" }',
    "pie": '{ kind = "pie", profile = "linux", ecn = true }',
    "codel": '{ kind = "codel", profile = "linux", ecn = true }',
    "fq_codel": '{ kind = "fq_codel", profile = "linux" }',
    "red": '{ kind = "red" }',
    "fifo": '{ kind = "fifo" }',
}
# Linux' DCTCP sends ECT(0), which DualPI2 takes for Classic: it is in the kept references instead.
SENDERS = {
    "prague": 'cc = { kind = "prague", profile = "linux" }',
    "ecn-cubic": 'cc = "cubic"\ngroup.A.ecn = "classic"',
    "cubic": 'cc = "cubic"',
    "reno": 'cc = "reno"',
}


def between(random: random.Random, low: float, high: float) -> float:
    """A number with a uniform logarithm, of three digits."""
    return float(f"{low * (high / low) ** random.random():.3g}")


def case(random: random.Random, number: int) -> str:
    """One condition, as a table of a sweep."""
    queue = random.choice(list(QUEUES))
    rate = between(random, 4, 200)
    rtt = between(random, 5, 100)
    others = rtt if random.random() < 0.7 else between(random, 5, 100)
    flows = [random.choice([1, 1, 1, 2, 3, 5, 10]) for _ in "AB"]
    sender = random.choice(["prague", *SENDERS])
    other = random.choice(["cubic", "cubic", "reno"])
    label = f"{number}: {queue} {rate:g} Mb/s {rtt:g}:{others:g} ms, {flows[0]} {sender} : {flows[1]} {other}"
    lines = [
        f"aqm = {QUEUES[queue]}",
        f'link.rate = "{rate:g}mbit"',
        f"group.A.{SENDERS[sender]}",
        f'group.B.cc = "{other}"',
        f'group.A.rtt = "{rtt:g}ms"',
        f'group.B.rtt = "{others:g}ms"',
        f"group.A.flows = {flows[0]}",
        f"group.B.flows = {flows[1]}",
    ]
    more = random.random()
    if queue == "fifo":
        # A buffer of the longer round trip.
        packets = max(rate * 1e6 / 8 * max(rtt, others) / 1e3 / 1500, 10)
        lines.append(f'link.buffer = "{packets:.0f}p"')
    if more < 0.2:
        ecn = random.choice(["not-ect", "ect0", "ect1"])
        udp = float(f"{rate * random.choice([0.3, 0.5, 0.8, 1.2]):.3g}")
        label += f", {udp:g} Mb/s of {ecn} UDP"
        lines.append(f'udp = [{{ name = "U", rate = "{udp:g}mbit", ecn = "{ecn}", packet = "1000b" }}]')
    elif more < 0.4:
        label += ", web"
        lines.append('web = [{ group = "B", rate = "0.25/mbit" }]')
    return "\n".join(["[[sweep.case]]", f'label = "{label}"', *lines, ""])


def main() -> None:
    """Writes a scenario to stdout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=20)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    print(f'name = "conditions-{arguments.seed}"\nduration = "40s"\nwarmup = "10s"\n')
    print('[link]\nrate = "40mbit"\n\n[[group]]\nname = "A"\ncc = "cubic"\nrtt = "10ms"\n')
    print('[[group]]\nname = "B"\ncc = "cubic"\nrtt = "10ms"\n')
    print("\n".join(case(chance, number) for number in range(1, arguments.count + 1)))


if __name__ == "__main__":
    main()
