#!/bin/sh
# Builds the kernel of `--on linux`: user-mode Linux from Debian's source package, with what is in
# this folder. Asks nothing, changes nothing of the machine's apt, and goes on where it was stopped.
#
# The kernel comes to the cache: $XDG_CACHE_HOME/l4s or ~/.cache/l4s.
set -eu

HERE=$(cd "$(dirname "$0")" && pwd)
# What is compiled here, into BPF programs and for tests.
SHARED=$HERE/../crates/bpf/src/c
HEADERS="prague.h prague_tcp.h classic_ecn.h tracers.h tracing.h"
VERSION=$(cat "$HERE/version")
. "$HERE/fetch.sh"

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/l4s/linux-$VERSION
WORK=$CACHE/build
TREE=$WORK/$SOURCE
JOBS=$(nproc)

# What the kernel is made of. Where it is the same, so is the kernel.
print=$({
    cd "$HERE"
    cat build.sh config tcp_prague.c version
    # shellcheck disable=SC2086 # a list
    (cd "$SHARED" && cat $HEADERS)
    echo "$SOURCE_SHA256"
} | sha256sum | cut -c1-16)
# The command is built with it, and refuses a kernel of other sources.
if [ "${1-}" = --print ]; then
    echo "$print"
    exit 0
fi
if [ -x "$CACHE/linux" ] && [ "$(cat "$CACHE/made-of" 2>/dev/null)" = "$print" ]; then
    say "the kernel is there: $CACHE/linux"
    rm -rf "$WORK" # where the last run was stopped at its very end
    exit 0
fi

[ "$(uname -sm)" = "Linux x86_64" ] || fail "user-mode Linux runs on Linux on x86-64 only"
need "what builds a kernel" "apt-get cc make flex bison bc xz" \
    "gcc libc6-dev make flex bison bc xz-utils"

say "building Linux $VERSION in $CACHE: 170 MB to fetch, 2 GB of disk for the time being,"
say "and five to fifteen minutes on two cores"
mkdir -p "$WORK"
[ "$(free "$WORK")" -ge 2500 ] || [ -d "$TREE" ] ||
    fail "$(free "$WORK") MB are free there: 2500 are needed"

fetch_source
if [ ! -e "$WORK/unpacked" ]; then
    unpack_source
    touch "$WORK/unpacked"
fi

# What of ours goes into it. A change is made where it is not there yet: change FILE WHAT SCRIPT.
put() { cmp -s "$1" "$2" || cp "$1" "$2"; }
change() {
    grep -qF -- "$2" "$1" || sed -i "$3" "$1"
    grep -qF -- "$2" "$1" || fail "${1#"$TREE"/} is not what it was in Linux $VERSION: $2"
}
# Chance comes from the scenario's seed alone: user-mode Linux asks the host for random numbers in
# one place, and here it is told that there are none.
change "$TREE/arch/um/os-Linux/util.c" 'return -1; /* none of the host */' \
    '/^ssize_t os_getrandom(/,/^}/s|return getrandom(.*);|return -1; /* none of the host */|'
# A clock tick every millisecond, as most distributions have.
change "$TREE/arch/um/Kconfig" 'default 1000 # not 100' \
    '/^config HZ$/,/^$/s|default 100$|default 1000 # not 100|'
# TCP Prague. Its connections send what they announced in the handshake, ECT(1); in Linux as it is
# nothing sends ECT(1) afterwards.
IPV4=$TREE/net/ipv4
put "$HERE/tcp_prague.c" "$IPV4/tcp_prague.c"
for header in $HEADERS; do
    put "$SHARED/$header" "$IPV4/$header"
done
change "$IPV4/Makefile" 'obj-$(CONFIG_TCP_CONG_PRAGUE) += tcp_prague.o' \
    '/^obj-$(CONFIG_TCP_CONG_DCTCP)/a obj-$(CONFIG_TCP_CONG_PRAGUE) += tcp_prague.o'
change "$IPV4/Kconfig" 'config TCP_CONG_PRAGUE' \
    '/^config TCP_CONG_CDG$/i config TCP_CONG_PRAGUE\n\ttristate "TCP Prague"\n'
change "$IPV4/tcp_output.c" 'INET_ECN_xmit_ect_1_negotiation(sk);' \
    '/!tcp_accecn_ace_fail_send(tp))$/{n;s/INET_ECN_xmit(sk);/INET_ECN_xmit_ect_1_negotiation(sk);/}'
put "$HERE/config" "$WORK/config"

# The kernel mixes its own version into its entropy: the same on every machine.
export KBUILD_BUILD_TIMESTAMP='2026-01-01' KBUILD_BUILD_USER=l4s KBUILD_BUILD_HOST=l4s
export KBUILD_BUILD_VERSION=1
say "configuring"
make -C "$TREE" -s ARCH=um KCONFIG_ALLCONFIG="$WORK/config" allnoconfig >"$WORK/log" 2>&1 ||
    broken "the configuration"
for option in $(grep -o '^CONFIG_[A-Z0-9_]*=y' "$WORK/config"); do
    grep -qx "$option" "$TREE/.config" || fail "this kernel has no $option"
done
say "compiling, on $JOBS cores"
make -C "$TREE" -s ARCH=um -j"$JOBS" linux >"$WORK/log" 2>&1 || broken "the build"
strip --strip-debug -o "$CACHE/linux.new" "$TREE/linux"
mv "$CACHE/linux.new" "$CACHE/linux"
echo "$print" > "$CACHE/made-of"
rm -rf "$WORK"
say "the kernel: $CACHE/linux"
