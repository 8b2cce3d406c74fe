#!/bin/sh
# The static command l4s for Linux, with musl and the BPF programs in it: target/MACHINE-unknown-linux-musl/dist/l4s.
# zig, from PyPI, is the C compiler and linker for every machine.
#
# static.sh [MACHINE...]: x86_64 and aarch64 unless set.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/target/tools/bin:$HOME/.cargo/bin:$PATH"
[ $# -gt 0 ] || set -- x86_64 aarch64

scripts/setup.sh
scripts/setup.sh --dist
# No path of this machine in the output.
export RUSTFLAGS="--remap-path-prefix=$PWD=l4s --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
for machine; do
    target=$machine-unknown-linux-musl
    libraries=$PWD/target/libelf/$target
    scripts/libelf.sh "$libraries" python3 -m ziglang cc -target "$machine-linux-musl"
    name=$(echo "$target" | tr - _)
    # The compiler is for another machine, so that pkg-config of this one does not apply.
    env "LIBBPF_SYS_LIBRARY_PATH_$name=$libraries" LIBBPF_SYS_EXTRA_CFLAGS="-I$libraries/include" PKG_CONFIG=true \
        cargo zigbuild --profile dist --locked -p l4s --target "$target"
done
