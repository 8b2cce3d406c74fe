#!/bin/sh
# Checks the virtual machine of `make vm`: its kernel, its modules, its files, its clock, and the
# output and exit code of commands; then `--on qdisc` and our programs in it. Needs the
# program l4s, or L4S=/path/to/l4s.
set -eu

for program in "${L4S:-}" target/release/l4s target/debug/l4s; do
    [ -n "$program" ] && [ -x "$program" ] && break
done
[ -x "$program" ] || { echo "l4s: no program l4s: \`make build\` builds it" >&2; exit 3; }
program=$(realpath "$program")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

failed=0
# check WHAT EXPECTED FOUND
check() {
    if [ "$2" = "$3" ]; then echo "ok      $1"; return; fi
    echo "FAILED  $1: expected \"$2\", found \"$3\""
    failed=1
}

# One boot for most of it. A line per check, so that one failure does not hide others.
cat > inside.sh <<'TEXT'
uname -r
for qdisc in dualpi2 fq_codel fq_pie pie cake; do
    tc qdisc replace dev lo root $qdisc 2>/dev/null
    tc qdisc show dev lo | cut -d' ' -f2
done
[ -s /sys/kernel/btf/vmlinux ] && echo btf
touch /usr/forgotten && echo kept > kept
# A second of sleep is a second on the clock of the machine. One program does both: to read another
# from the host takes time.
perl -MTime::HiRes=time,sleep -e '$t = time; sleep 1; printf "%.0f\n", 100 * (time - $t)'
echo complaint >&2
exit 7
TEXT
code=0
"$program" vm --time-limit 300s -- sh inside.sh >out 2>err || code=$?
if [ $code = 3 ]; then
    echo "skipped: $(cat err)"
    exit 0
fi
line() { sed -n "$1p" out; }
# shellcheck disable=SC2012
check "the release of the kernel" "$(cat "${XDG_CACHE_HOME:-$HOME/.cache}"/l4s/vm-7.3/release)" "$(line 1)"
number=2
for qdisc in dualpi2 fq_codel fq_pie pie cake; do
    check "the module of $qdisc is loaded when it is asked for" $qdisc "$(line $number)"
    number=$((number + 1))
done
check "the kernel's types are there" btf "$(line 7)"
check "a second of sleep, in hundredths" 100 "$(line 8)"
check "stderr is told apart" complaint "$(cat err)"
check "the exit code comes out" 7 $code
check "the folder keeps what is written" kept "$(cat kept)"
check "nothing else is written" no "$([ -e /usr/forgotten ] && echo yes || echo no)"

code=0
"$program" vm --time-limit 300s -- sh -c 'echo c > /proc/sysrq-trigger' 2>err || code=$?
check "a panic is said to be one" "1 yes" \
    "$code $(grep -q 'Kernel panic' err && echo yes || cat err)"
code=0
"$program" vm --time-limit 5s -- sleep 1000000 2>err || code=$?
check "the limit of time holds" "1 yes" "$code $(grep -q 'limit of time' err && echo yes || cat err)"
[ $failed = 0 ] || exit 1

# The same traffic through our discipline, the kernel's own, and in the simulator, side by side. The
# warm-up is long for PIE: it answers a slow start late, with a probability that goes up to 1, and
# leaves the link idle for the 3 s in which that comes down.
cat > same.toml <<'TEXT'
duration = "10s"
warmup   = "5s"
link     = { rate = "40mbit" }
group    = [{ name = "A", cc = "prague", rtt = "10ms" }, { name = "B", cc = "cubic", rtt = "10ms" }]

[[sweep.queue]]
label        = "ours"
aqm          = { kind = "dualpi2", profile = "linux" }
kernel.qdisc = "bpf"

[[sweep.queue]]
label        = "sch_dualpi2"
aqm          = { kind = "dualpi2", profile = "linux" }

[[sweep.queue]]
label        = "fq_codel"
aqm          = { kind = "fq_codel", profile = "linux" }

[[sweep.queue]]
label        = "pie"
aqm          = { kind = "pie", profile = "linux", ecn = true }
TEXT
"$program" run same.toml --on qdisc --vm --out vm > table
"$program" run same.toml --out sim > /dev/null
"$program" compare sim vm --out both > /dev/null
cat table
for queue in ours sch_dualpi2 fq_codel pie; do
    check "$queue fills the link" yes \
        "$(awk -v queue=$queue '$1 == queue { print($2 > 90 ? "yes" : $2) }' table)"
done
check "l4s compare puts them side by side" yes "$([ -s both/report.html ] && echo yes || echo no)"
[ $failed = 0 ] || exit 1

# Our programs in that kernel, by cargo's own tests: packets of every kind, changes under load, a
# million small packets, two hundred installations. TEST_VM=quick for a few of each, and for two
# processors in the newer kernel only.
here=$OLDPWD
cd "$here"
if [ "${TEST_VM:-}" = quick ]; then packets=20000 times=5; else packets=1000000 times=200; fi
export L4S="$program" L4S_PACKETS=$packets L4S_TIMES=$times
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$here/scripts/vm-run.sh"
# part COMMAND...: one that fails does not keep the others from being tried. Long ones are announced.
part() {
    start=$(date +%s) said="ok     "
    "$@" || { said="FAILED " failed=1; }
    echo "$said $*, after $(($(date +%s) - start)) s"
}
# bpf_tests [OPTION OF l4s vm...]: not quietly, so that the last name shows which one went on until
# the limit of time. Tests that start processes all the while ("others") are for two processors
# (--plain). With one they take an hour, because its clock counts instructions and the processes take
# most of them, and nothing of theirs happens at the same time. All others measure time by that clock.
bpf_tests() {
    part env VM_OPTIONS="$*" cargo test --locked -p l4s-bpf --test kernel -- --skip others
    [ "${TEST_VM:-} $*" = "quick --kernel 6.12" ] ||
        part env VM_OPTIONS="$* --plain" cargo test --locked -p l4s-bpf --test kernel -- others
}
bpf_tests
part cargo test --locked -p l4s-host --test machine
# In an older kernel, where it was fetched, all but the queue discipline.
if [ -e "${XDG_CACHE_HOME:-$HOME/.cache}"/l4s/vm-6.12/made-of ]; then
    bpf_tests --kernel 6.12
else
    echo "skipped: Linux 6.12: linux/vm.sh 6.12 fetches it"
fi

# The statements of docs/guides/host.md hold.
if command -v iperf3 >/dev/null; then
    part "$program" vm --time-limit 600s -- scripts/host-page.sh
else
    echo "skipped: docs/guides/host.md: apt-get install iperf3"
fi
# And after a restart, under a real systemd.
part scripts/host-boot.sh
exit $failed
