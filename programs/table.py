"""The table of docs/results/programs.md, from the folders of `scripts/programs.sh`: `table.py FOLDER`.

Ends with exit code 1 where a program sends other codepoints than it did, or nothing.
"""

import pathlib
import sys

import pyarrow.parquet as parquet

# Program and case, and what it sends.
SENDS = {
    "iperf3 TCP, `-C cubic`": "Not-ECT",
    "iperf3 TCP, `-C bbr`": "Not-ECT",
    "iperf3 TCP, Prague": "ECT(1)",
    "iperf3 UDP, `-R --tos 1`": "Not-ECT",
    "iperf3 UDP, `--tos 2`": "ECT(0)",
    "iperf3 UDP, `--tos 1`": "ECT(1)",
    "iperf2 TCP": "Not-ECT",
    "iperf2 TCP, Prague": "ECT(1)",
    "iperf2 UDP, `-R -S 1`": "ECT(1)",
    "iperf2 UDP, `-R -S 2`": "ECT(0)",
    "nginx-curl default": "Not-ECT",
    "nginx-curl prague": "ECT(1)",
    "chromium DualPI2": "Not-ECT",
    "chromium DualPI2, Prague": "ECT(1)",
    "chromium FIFO": "Not-ECT",
    "aioquic": "Not-ECT",
    "quic-go as it is": "ECT(0)",
    "quic-go its ECT(0) changed": "Not-ECT",
    "quinn as it is": "ECT(0)",
    "quinn its ECT(0) changed": "Not-ECT",
    "s2n-quic as it is": "ECT(0), CE",
    "s2n-quic its ECT(0) changed": "Not-ECT",
    "aiortc 40 Mb/s": "Not-ECT",
    "aiortc 1 Mb/s": "Not-ECT",
    "ping": "Not-ECT",
    "irtt Not-ECT": "Not-ECT",
    "irtt ECT(1)": "ECT(1)",
}
CHANGED = "its ECT(0) changed"
CELLS = ["delay, ms", "marked, dropped, %", "Mb/s"]
HEAD = ["program", "sends", *(f"alone: {cell}" for cell in CELLS)]
HEAD += [*(f"beside Cubic: {cell}" for cell in CELLS), "share, %"]


def number(value):
    """Three digits, as in the other pages."""
    if value is None:
        return "–"
    digits = f"{value:.3g}"
    return digits if "e" not in digits else f"{value:.4f}".rstrip("0").rstrip(".")


def codepoints(run, flows):
    """The codepoints of a packet in a thousand or more; CE, where the L queue had no ECT(1)."""
    counts = {
        "Not-ECT": sum(flow["not_ect"] for flow in flows),
        "ECT(0)": sum(flow["ect0"] for flow in flows),
        "ECT(1)": sum(flow["ect1"] for flow in flows),
    }
    total = sum(counts.values())
    sent = [name for name, count in counts.items() if count > total / 1000]
    if not counts["ECT(1)"] and run.get("queue_L_packets"):
        sent.append("CE")
    return ", ".join(sent) or "nothing"


def cells(run, flows):
    """Delay, marks and drops of the program, and its rate; its share, where it is not alone."""
    packets = max(1, sum(flow["not_ect"] + flow["ect0"] + flow["ect1"] for flow in flows))
    marks, drops = (
        100 * sum(flow[what] for flow in flows) / packets for what in ["marks", "drops"]
    )
    largest = max(flows, key=lambda flow: flow["bytes"], default={})
    mine, other = run["group_A_rate_bps"], run["group_B_rate_bps"]
    unfit = " *" if run.get("engine_unfit") else ""
    return [
        " / ".join(number(largest.get(f"delay_{which}_ms")) for which in ["mean", "p99"]),
        f"{number(marks)}, {number(drops)}",
        number(mine / 1e6) + unfit,
    ] + ([number(100 * mine / (mine + other))] if other else [])


def main(folders):
    """Prints the table; names what is not as expected."""
    wrong = []
    print("|", " | ".join(HEAD), "|")
    print("|---" * len(HEAD) + "|")
    for folder in sorted(path for path in pathlib.Path(folders).iterdir() if path.is_dir()):
        if not (folder / "runs.parquet").exists():
            wrong.append(f"{folder.name}: no results")
            continue
        flows = parquet.read_table(folder / "flows.parquet").to_pylist()
        rows = {}
        for run in parquet.read_table(folder / "runs.parquet").to_pylist():
            case = " ".join(filter(None, [folder.name, run.get("set_case")]))
            # No device of the guest changes a codepoint.
            if run["on"] == "linux" and case.endswith(CHANGED):
                continue
            mine = [
                flow
                for flow in flows
                if flow["run"] == run["run"] and flow["group"] == "A" and flow["bytes"]
            ]
            sends = codepoints(run, mine)
            if sends != SENDS[case]:
                wrong.append(f"{case}: sends {sends}, expected {SENDS[case]}")
            rows.setdefault(case, [case, sends]).extend(cells(run, mine))
        for row in rows.values():
            print("|", " | ".join(row), "|")
    print("\n\\* this run is unfit: the machine was too busy.")
    sys.exit("\n".join(wrong) or 0)


main(sys.argv[1])
