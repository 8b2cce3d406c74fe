#!/usr/bin/env bash
# Real programs behind the bottleneck: installs or builds each of programs/ in target/programs, runs
# its scenario (as root, for Prague), and prints the table of docs/results/programs.md. `programs.sh NAME...` does these only,
# `programs.sh --build [NAME...]` does not run them, and `programs.sh --on linux [NAME...]` runs them in virtual time.
#
# A program that cannot be installed is a failure, unless its registry cannot be reached, which is said
# at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

L4S=${L4S:-target/release/l4s}
MADE=target/programs
ALL=(iperf3 iperf2 nginx-curl chromium aioquic quic-go quinn s2n-quic aiortc ping irtt)
# The messages of apt, pip, cargo and go where there is no network.
UNREACHABLE="Temporary failure|Could(n't| not) (resolve|connect)|Connection (refused|timed out|failed)|connection refused|no such host|i/o timeout|Network is unreachable|Failed to establish|timed out"

run=yes on=kernel
case ${1:-} in
--build) run= && shift ;;
--on) on=$2 && shift 2 ;;
esac
[ $# -gt 0 ] || set -- "${ALL[@]}"
RESULTS=$MADE/results/$on
mkdir -p $MADE/bin "$RESULTS"

# debian COMMAND=PACKAGE...: installs missing commands, with apt.
debian() {
    local missing=()
    for pair; do command -v "${pair%=*}" >/dev/null || missing+=("${pair#*=}"); done
    [ ${#missing[@]} = 0 ] || scripts/setup.sh --packages "${missing[@]}"
}

python() {
    scripts/setup.sh --python &&
        { [ -x $MADE/venv/bin/pip ] || python3 -m venv $MADE/venv; } &&
        $MADE/venv/bin/pip install --quiet --disable-pip-version-check -r programs/requirements.txt
}

rust() {
    cargo build --release --locked --quiet --manifest-path "programs/$1/Cargo.toml" --target-dir $MADE/cargo &&
        cp "$MADE/cargo/release/$1-transfer" $MADE/bin/
}

made() {
    case $1 in
    iperf3) debian iperf3=iperf3 ;;
    iperf2) debian iperf=iperf ;;
    nginx-curl) debian nginx=nginx curl=curl ;;
    chromium) debian nginx=nginx chromium=chromium ;;
    aioquic | aiortc | table) python ;;
    quic-go) debian go=golang-go && go build -C programs/quic-go -o "$PWD/$MADE/bin/quic-go" ;;
    quinn | s2n-quic) rust "$1" ;;
    ping) debian ping=iputils-ping ;;
    irtt) debian irtt=irtt ;;
    *) echo "there is no program $1; there are ${ALL[*]}" && return 1 ;;
    esac
}

# obtained NAME: whether it is there now; if not, why.
obtained() {
    local log=$MADE/$1.log
    made "$1" >"$log" 2>&1 && return
    cat "$log"
    if grep -qE "$UNREACHABLE" "$log"; then unreachable+=("$1"); else failed+=("$1"); fi
    return 1
}

passed=0 failed=() unreachable=()
for name; do
    obtained "$name" && [ "$run" ] || continue
    printf '\n=== %s (%s s)\n' "$name" $SECONDS
    # Results of a run that failed are of no use.
    rm -rf "${RESULTS:?}/$name"
    if "$L4S" run "programs/$name/scenario.toml" --on "$on" --out "$RESULTS/$name"; then
        passed=$((passed + 1))
    else
        failed+=("$name")
    fi
    grep -hE '^(chromium|aiortc|rtt)' "$RESULTS/$name"/programs/*/*/client.out || true
done
if [ $passed -gt 0 ] && obtained table; then
    $MADE/venv/bin/python programs/table.py "$RESULTS" || failed+=("the table")
fi
[ ${#unreachable[@]} = 0 ] || echo "not tried, as a package registry cannot be reached: ${unreachable[*]}"
[ ${#failed[@]} = 0 ] || echo "failed: ${failed[*]}"
echo "$passed passed, ${#failed[@]} failed, ${#unreachable[@]} skipped"
[ ${#failed[@]} = 0 ]
