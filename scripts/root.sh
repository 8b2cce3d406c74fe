#!/bin/sh
# Runs a shell script, read from standard input, as root in a bare Debian with nothing but debootstrap's
# minbase. All that the script changes is thrown away, and no mount outlives it.
#
# root.sh SUITE [FOLDER:PLACE]... <SCRIPT: these folders are seen there, and cannot be written to.
# SUITE is bookworm or trixie, or trixie-arm64, which runs by qemu.
#
# The first use makes the file system, in L4S_ROOTS or target/roots; later ones find it there.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || exec sudo -n --preserve-env=L4S_ROOTS,DEBIAN_MIRROR "$0" "$@"

suite=$1 && shift
arch=amd64
case $suite in *-*) arch=${suite#*-} ;; esac
roots=${L4S_ROOTS:-target/roots}
mkdir -p "$roots"
root=$(cd "$roots" && pwd)/$suite
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

command -v debootstrap >/dev/null || scripts/setup.sh --packages debootstrap
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
    command -v qemu-aarch64-static >/dev/null || scripts/setup.sh --packages qemu-user-static
fi

# Mounts, processes and all that the script starts end with this namespace.
if [ "${L4S_ROOT_INSIDE:-}" != yes ]; then
    script=$(cat)
    export L4S_ROOT_INSIDE=yes
    exec unshare --mount --pid --fork --kill-child "$0" "$suite" "$@" <<TEXT
$script
TEXT
fi

# The kernel hands programs of another machine to qemu, where it is said so; it may have been said already.
formats=/proc/sys/fs/binfmt_misc
if [ "$arch" = arm64 ] && [ "$(uname -m)" != aarch64 ]; then
    [ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats
    if [ ! -e $formats/qemu-aarch64 ]; then
        trap 'echo -1 >$formats/qemu-aarch64' EXIT
        trap 'exit 130' INT TERM
        magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
        mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
        printf '%s' ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" >$formats/register
    fi
fi

if [ ! -e "$root/etc/apt/sources.list" ] || [ -e "$root.part" ]; then
    echo "l4s: making a bare Debian ($suite) in $root" >&2
    rm -rf "$root" && : >"$root.part"
    debootstrap --arch="$arch" --variant=minbase "${suite%%-*}" "$root" "$mirror" >"$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2 && exit 3; }
    rm -rf "$root.part" "$root"/var/cache/apt/archives/*.deb
fi

# A layer above it takes all changes, and goes with the namespace.
work=$root.layer
mkdir -p "$work"
mount -t tmpfs -o size=8g tmpfs "$work"
mkdir "$work/up" "$work/work" "$work/root"
mount -t overlay -o "lowerdir=$root,upperdir=$work/up,workdir=$work/work" overlay "$work/root"
new=$work/root
mount -t proc proc "$new/proc"
mount --rbind /dev "$new/dev"
mount -t sysfs -o ro sysfs "$new/sys"
cp -L /etc/resolv.conf "$new/etc/resolv.conf"
for pair; do
    mkdir -p "$new${pair#*:}"
    mount --bind "${pair%%:*}" "$new${pair#*:}"
    mount -o remount,bind,ro "$new${pair#*:}"
done
# Registries may be behind a proxy with a certificate of its own, which this machine knows.
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -e $certificates ]; then
    cp $certificates "$new/run/certificates.crt"
    export SSL_CERT_FILE=/run/certificates.crt CARGO_HTTP_CAINFO=/run/certificates.crt \
        PIP_CERT=/run/certificates.crt
fi
status=0
env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive TERM=dumb ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} \
    ${CARGO_HTTP_CAINFO:+CARGO_HTTP_CAINFO="$CARGO_HTTP_CAINFO"} ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
    chroot "$new" sh -euc "$(cat)" </dev/null || status=$?
exit $status
