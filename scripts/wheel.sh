#!/bin/sh
# Wheels of the Python package, with the static command l4s in them, into dist/: for glibc 2.17 or later
# (manylinux) and for musl 1.2 (musllinux).
#
# wheel.sh [MACHINE...]: x86_64 and aarch64 unless set.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/target/tools/bin:$HOME/.cargo/bin:$PATH"
[ $# -gt 0 ] || set -- x86_64 aarch64

scripts/static.sh "$@"
export RUSTFLAGS="--remap-path-prefix=$PWD=l4s --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
mkdir -p dist target/l4s.data/scripts
rm -f dist/l4s-*.whl
for machine; do
    cp "target/$machine-unknown-linux-musl/dist/l4s" target/l4s.data/scripts/l4s
    maturin build --quiet --zig --profile dist --out dist --target "$machine-unknown-linux-gnu" \
        --compatibility manylinux2014
    # A module that Python loads is not linked with a libc of its own.
    RUSTFLAGS="$RUSTFLAGS -C target-feature=-crt-static" maturin build --quiet --zig --profile dist --out dist \
        --target "$machine-unknown-linux-musl" --target-dir target/musl-module --compatibility musllinux_1_2
done
