#!/usr/bin/env bash
# Checks that a run of programs in virtual time repeats to the packet on an idle and on a busy machine: iperf3, aioquic and
# quic-go three times each, two of them beside a busy loop on each core.
set -euo pipefail
cd "$(dirname "$0")/.."

L4S=${L4S:-target/release/l4s}
OUT=target/programs/repeats
scripts/programs.sh --build iperf3 aioquic quic-go

busy=()
trap '[ ${#busy[@]} = 0 ] || kill "${busy[@]}"' EXIT
load() {
    for _ in $(seq "$(nproc)"); do
        (while :; do :; done) &
        busy+=($!)
    done
}

rest=(--set group.B.flows=1 --set duration=8s --set warmup=0s --trace pcapng)
different=()
for time in 1 2 3; do
    [ $time = 1 ] || load
    for name in iperf3 aioquic quic-go; do
        rm -rf "$OUT/$name-$time"
        case $name in
        iperf3) this=(--set 'case=TCP, `-C cubic`') ;;
        quic-go) this=(--set 'case=as it is') ;;
        *) this=() ;;
        esac
        "$L4S" run "programs/$name/scenario.toml" --on linux --out "$OUT/$name-$time" \
            "${this[@]}" "${rest[@]}" >/dev/null
    done
done
for name in iperf3 aioquic quic-go; do
    for file in trace.pcapng flows.parquet; do
        count=$(sha256sum "$OUT/$name"-[123]/$file | cut -c1-64 | sort -u | wc -l)
        [ "$count" = 1 ] || different+=("$name/$file")
    done
done
[ ${#different[@]} = 0 ] || { echo "not the same three times: ${different[*]}"; exit 1; }
echo "3 programs, 3 times each: the same packets"
