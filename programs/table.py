"""The table of docs/programs.md, from the folders of `scripts/programs.sh`: `table.py FOLDER`.

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
HEAD = """\
| program | sends | beside Cubic | queue delay, mean / p99 | marks | drops | rate | share |
|---|---|---|---|---|---|---|---|"""


def number(value, unit=""):
    """Three digits, as in the other pages."""
    if value is None:
        return "–"
    if not value:
        return "none" if unit == " %" else "0" + unit
    digits = f"{value:.3g}"
    return (digits if "e" not in digits else f"{value:.4f}".rstrip("0")) + unit


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


def row(folder, run, flows):
    """The case of a run, and the cells of its row."""
    case = " ".join(filter(None, [folder.name, run.get("set_case")]))
    flows = [flow for flow in flows if flow["group"] == "A" and flow["bytes"]]
    packets = sum(flow["not_ect"] + flow["ect0"] + flow["ect1"] for flow in flows)
    mine, other = run["group_A_rate_bps"], run["group_B_rate_bps"]
    largest = max(flows, key=lambda flow: flow["bytes"], default={})
    cells = [
        case + (" *" if run.get("engine_unfit") else ""),
        codepoints(run, flows),
        "yes" if other else "",
        " / ".join(number(largest.get(f"delay_{which}_ms")) for which in ["mean", "p99"]) + " ms",
        number(100 * sum(flow["marks"] for flow in flows) / max(packets, 1), " %"),
        number(100 * sum(flow["drops"] for flow in flows) / max(packets, 1), " %"),
        number(mine / 1e6, " Mb/s"),
        number(100 * mine / (mine + other), " %") if other else "",
    ]
    return case, cells


def main(folders):
    """Prints the table; names what is not as expected."""
    wrong = []
    print(HEAD)
    for folder in sorted(path for path in pathlib.Path(folders).iterdir() if path.is_dir()):
        runs = parquet.read_table(folder / "runs.parquet").to_pylist()
        flows = parquet.read_table(folder / "flows.parquet").to_pylist()
        for run in runs:
            case, cells = row(folder, run, [flow for flow in flows if flow["run"] == run["run"]])
            print("|", " | ".join(cells), "|")
            if cells[1] != SENDS[case]:
                wrong.append(f"{case}: sends {cells[1]}, expected {SENDS[case]}")
    print("\n\\* the machine was too busy: the run is unfit.")
    sys.exit("\n".join(wrong) or 0)


main(sys.argv[1])
