#!/bin/sh
# Runs the commands of docs/guides/host.md that are marked as a transcript, and compares their output with
# the page. Inside of a machine that may be changed: `make test-vm` runs it in the virtual
# one. $L4S is the program, the current directory the project's.
set -eu

folder=$(mktemp -d)
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(realpath "$L4S")" > "$folder/l4s"
chmod +x "$folder/l4s"
PATH=$folder:$PATH

# eth0, and behind it 192.0.2.2, 10 ms away.
modprobe -a -q sch_netem || true
ip netns add far
ip link add eth0 type veth peer name eth0 netns far
for here in "" "-n far"; do
    # shellcheck disable=SC2086
    ip $here link set eth0 up && ip $here link set lo up
done
ip addr add 192.0.2.1/24 dev eth0
ip -n far addr add 192.0.2.2/24 dev eth0
ip netns exec far tc qdisc add dev eth0 root netem delay 10ms limit 100000
ip netns exec far ethtool -K eth0 tso off gso off gro off >/dev/null
ip netns exec far sysctl -qw net.ipv4.tcp_ecn=3
ip netns exec far iperf3 -s -D >/dev/null

before=$(tc qdisc show dev eth0; ip -d link show eth0 | grep -o 'gso_max_segs [0-9]*'
    cat /proc/sys/net/ipv4/tcp_congestion_control)
awk '/<!-- transcript -->/ { on = 1; next } on && /^```$/ { exit } on && !/^(```|<!--)/' docs/guides/host.md > "$folder/commands"
[ -s "$folder/commands" ] || { echo "docs/guides/host.md has no transcript" >&2; exit 1; }
while read -r line; do
    echo "# $line"
    $line < /dev/null > "$folder/said" 2>&1 || { cat "$folder/said"; echo "FAILED: $line" >&2; exit 1; }
    cat "$folder/said"
    case $line in
        "l4s host status")
            # Packets and mean wait of the L4S queue.
            awk '$1 == "L4S" { seen = $2 > 1000 && $4 < 1.0 } END { exit !seen }' "$folder/said" ||
                { echo "FAILED: the L4S queue is not what docs/guides/host.md says" >&2; exit 1; }
            ;;
    esac
done < "$folder/commands"
after=$(tc qdisc show dev eth0; ip -d link show eth0 | grep -o 'gso_max_segs [0-9]*'
    cat /proc/sys/net/ipv4/tcp_congestion_control)
[ "$before" = "$after" ] || { echo "FAILED: was: $before, is: $after" >&2; exit 1; }
left=$(ls /sys/fs/bpf/l4s 2>/dev/null) || true
[ -z "$left" ] || { echo "FAILED: left behind: $left" >&2; exit 1; }
grep -qw prague /proc/sys/net/ipv4/tcp_available_congestion_control &&
    { echo "FAILED: prague is still there" >&2; exit 1; }
echo "ok      docs/guides/host.md"
