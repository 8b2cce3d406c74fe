#!/bin/sh
# A CPython that is linked with musl, for the test of the musllinux wheels: Debian has none. It is built from
# Debian's source in a bare Debian 13 for x86-64, in four minutes, and lacks modules that the wheel does not need, such as TLS.
#
# musl-python.sh MACHINE FOLDER: x86_64 or aarch64; its place there is /opt/python. Nothing is done where it exists.
set -eu
cd "$(dirname "$0")/.."
machine=$1 folder=$2
[ ! -x "$folder/bin/python3" ] || exit 0

echo "l4s: building a Python for musl in $folder" >&2
rm -rf "$folder.part"
mkdir -p "$folder.part"
{
    echo "machine=$machine"
    cat <<'SCRIPT'
exec 3>&1 4>&2 >/tmp/log 2>&1
trap 'tail -n 40 /tmp/log >&4' EXIT
sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/source.list
case $machine in aarch64) arch=arm64 ;; *) arch=amd64 ;; esac
dpkg --add-architecture "$arch"
apt-get -qq update
apt-get -qq install -y --no-install-recommends gcc "gcc-$(echo "$machine" | tr _ -)-linux-gnu" make "musl-dev:$arch" python3 \
    xz-utils
cd /tmp
apt-get -qq source --download-only --tar-only zlib python3.13
mkdir zlib python
tar -xf zlib_*.orig.tar.* -C zlib --strip-components=1
tar -xf python3.13_*.orig.tar.* -C python --strip-components=1

export CC=$machine-linux-musl-gcc CFLAGS=-fPIC
# Functions for atomic operations in the compiler's libraries are for glibc there.
[ "$machine" = x86_64 ] || export CFLAGS="$CFLAGS -mno-outline-atomics"
(cd zlib && ./configure --static && make -j"$(nproc)" libz.a)
cd python
# Asked for its libraries' place, this compiler names that of glibc.
sed -i 's/--print-multiarch/--none/' configure
# It is built as for another machine, since nothing for musl runs here.
./configure --host="$machine-linux-musl" --build=x86_64-linux-gnu --with-build-python=python3.13 \
    --prefix=/opt/python --disable-test-modules --without-ensurepip --disable-ipv6 \
    ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_libatomic_needed=no CPPFLAGS=-I/tmp/zlib LDFLAGS=-L/tmp/zlib
make -j"$(nproc)"
make install
trap - EXIT
tar -C /opt/python -c . >&3
SCRIPT
} | scripts/root.sh trixie | tar -x -C "$folder.part"
mv "$folder.part" "$folder"
