#!/bin/sh
# Tests the unit of `l4s host install --boot` under a real systemd. That is the first process of a
# namespace in the virtual machine, and has the fewest units that a machine can have. The machine is
# started twice, so that all state that a restart loses is lost; /etc/systemd/system is kept.
# Needs the program l4s, or L4S=/path/to/l4s. `make test-vm` runs it.
set -eu

systemd=/lib/systemd/systemd
if [ $# = 0 ]; then
    for program in "${L4S:-}" target/release/l4s target/debug/l4s; do
        [ -n "$program" ] && [ -x "$program" ] && break
    done
    L4S=$(realpath "$program")
    script=$(realpath "$0")
    if ! [ -x $systemd ]; then
        echo "skipped: --boot under systemd: apt-get install systemd"
        exit 0
    fi
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cd "$folder"
    mkdir etc
    export L4S
    for start in first second; do
        "$L4S" vm --time-limit 1200s -- sh "$script" $start
    done
    exit 0
fi

failed=0
# check WHAT EXPECTED FOUND
check() {
    if [ "$2" = "$3" ]; then echo "ok      $1"; return; fi
    echo "FAILED  $1: expected \"$2\", found \"$3\""
    failed=1
}

# The units of the machine. Those of /lib that are not here are not there.
units=/tmp/units
mkdir -p $units/sysinit.target.wants
for unit in basic.target sysinit.target multi-user.target network.target network-pre.target \
    shutdown.target umount.target final.target poweroff.target local-fs.target \
    local-fs-pre.target sockets.target timers.target paths.target slices.target swap.target \
    systemd-poweroff.service systemd-sysctl.service systemd-journald.service \
    systemd-journald.socket; do
    cp /lib/systemd/system/$unit $units
done
for unit in systemd-sysctl.service systemd-journald.service; do
    ln -s ../$unit $units/sysinit.target.wants/
done
# udev, for devices that come late, with the rules that announce them to systemd.
with_udev() {
    for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket; do
        cp /lib/systemd/system/$unit $units
        ln -s ../$unit $units/sysinit.target.wants/
    done
    mkdir /tmp/rules
    cp /lib/udev/rules.d/99-systemd.rules /tmp/rules
    mount -o bind /tmp/rules /lib/udev/rules.d
}

# begin: starts systemd, and waits until it can be talked to.
begin() {
    # shellcheck disable=SC2016
    unshare --pid --fork --mount --mount-proc sh -c '
        mount -t tmpfs run /run && mount -o bind etc /etc/systemd/system &&
        exec env -i PATH="$PATH" container=l4s SYSTEMD_UNIT_PATH=/etc/systemd/system:'$units' \
            '$systemd' --system --unit=multi-user.target --log-target=console --show-status=no' \
        >>console 2>&1 &
    outer=$!
    inner=
    for _ in $(seq 100); do
        inner=$(cat /proc/$outer/task/$outer/children)
        # Its last file, before that it answers nobody.
        [ -n "$inner" ] && on test -S /run/systemd/private && return
        sleep 0.1
    done 2>/dev/null
    echo "FAILED: systemd did not start"
    cat console
    exit 1
}
# Runs a command where that systemd is the machine's. It ends with systemd, or before.
on() { nsenter -t "${inner% }" -m -p -- "$@"; }
# The result of the machine's start.
started() { on systemctl is-system-running --wait 2>&1; }
# How the unit does, in systemd's words.
unit() { on systemctl show -P "$1" l4s-host; }
# Turns the machine off.
end() {
    on systemctl poweroff 2>/dev/null || true
    wait $outer || true
}

device=up-link
add() { ip link add $device type veth peer name far; }
l4s() { on "$L4S" host "$@"; }
root() {
    qdisc=$(tc qdisc show dev $device root 2>/dev/null | cut -d' ' -f2)
    echo "${qdisc:-none}"
}
# The installed state: queue, its rate, congestion control.
place() {
    prague=$(grep -ow prague /proc/sys/net/ipv4/tcp_available_congestion_control) || prague=none
    rate=$(l4s status | grep -o "^$device dualpi2 rate=[0-9a-z]*; .*ECT(1) from prague" |
        grep -o 'rate=[0-9a-z]*') || rate=none
    echo "$(root) $rate $prague"
}
add
nothing="$(root) none none"
there="l4s_dualpi2 rate=40mbit prague"
install="install --cc prague --qdisc dualpi2 --dev $device --rate 40mbit --boot"

if [ "$1" = first ]; then
    begin
    check "systemd starts" running "$(started)"
    # shellcheck disable=SC2086
    l4s $install >said 2>&1 || { cat said; check "install --boot" 0 failed; }
    check "install --boot puts all in place" "$there" "$(place)"
    check "a unit is there, and enabled" enabled "$(on systemctl is-enabled l4s-host)"
    check "it says what is in place" "active exited" "$(unit ActiveState) $(unit SubState)"
    check "systemd finds no fault in it" "" \
        "$(on systemd-analyze verify --man=no /etc/systemd/system/l4s-host.service 2>&1 |
            grep l4s-host || true)"
    end
    check "a machine that is turned off keeps its unit" "l4s-host.service yes" \
        "$(cd etc && ls -- *.service) $([ -L etc/multi-user.target.wants/l4s-host.service ] && echo yes)"
    exit $failed
fi

check "the next start finds nothing in place" "[]" "[$(ls -A /sys/fs/bpf)]"
begin
check "systemd starts" running "$(started)"
check "all is in place again" "$there" "$(place)"
check "systemctl status says so" 1 \
    "$(on systemctl status --no-pager l4s-host | grep -c 'active (exited)')"
check "set says how long it holds" 1 \
    "$(l4s set --dev $device rate=20mbit 2>&1 | grep -c 'until the next boot')"
check "and holds" "l4s_dualpi2 rate=20mbit prague" "$(place)"
on systemctl stop l4s-host
check "systemctl stop takes all back" "$nothing" "$(place)"
check "but the unit" "enabled inactive" "$(on systemctl is-enabled l4s-host) $(unit ActiveState)"
on systemctl start l4s-host
check "systemctl start puts it in place, as it was installed" "$there" "$(place)"
ip link del $device
on systemctl restart l4s-host 2>/dev/null || true
check "without the device it fails" "failed 2" "$(unit ActiveState) $(unit ExecMainStatus)"
check "and says why" 1 \
    "$(on journalctl --no-pager -u l4s-host | grep -c "there is no device \`$device\`")"
check "and leaves nothing" "[]" "[$(ls -A /sys/fs/bpf)]"
add
on systemctl start l4s-host
check "with the device it is in place" "$there" "$(place)"
l4s remove >said
check "remove names the unit" 1 "$(grep -c 'systemd unit l4s-host' said)"
check "remove takes all back" "$nothing" "$(place)"
check "and the unit, with its links" "not-found inactive []" \
    "$(unit LoadState) $(unit ActiveState) [$(find etc -name '*l4s*')]"
end
begin
check "systemd starts" running "$(started)"
check "and has nothing of it" "not-found $nothing" "$(unit LoadState) $(place)"
end

if [ -x /lib/systemd/systemd-udevd ]; then
    with_udev
    ip link del $device
    begin
    check "systemd starts, with udev" running "$(started)"
    add
    # shellcheck disable=SC2086
    l4s $install >said 2>&1 || { cat said; check "install --boot" 0 failed; }
    check "systemd finds no fault in the unit" "" \
        "$(on systemd-analyze verify --man=no /etc/systemd/system/l4s-host.service 2>&1 |
            grep l4s-host || true)"
    end
    # Two seconds late.
    ip link del $device
    begin
    sleep 2
    check "a start waits for the device" 1 \
        "$(on systemctl list-jobs --no-legend | grep -c 'device.*running')"
    add
    check "which comes late" running "$(started)"
    check "and has all" "$there active" "$(place) $(unit ActiveState)"
    end
    # Later than a start waits.
    ip link del $device
    begin
    check "a start does not wait for ever" degraded "$(started)"
    check "and says what is missing" "failed" "$(unit ActiveState)"
    add
    for _ in $(seq 20); do [ "$(unit ActiveState)" = active ] && break; sleep 1; done
    check "a device that comes later still has all" "$there active" "$(place) $(unit ActiveState)"
    l4s remove >said
    check "remove takes all back" "$nothing []" "$(place) [$(find etc -name '*l4s*')]"
    end
else
    echo "skipped: devices that come late: apt-get install udev"
fi
[ $failed = 0 ] || { echo "the end of systemd's console:"; tail -n 30 console; }
exit $failed
