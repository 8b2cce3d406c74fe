#!/bin/sh
# Wheels of the Python package, with the command l4s in them, into dist/: for this machine, and for
# Linux on x86-64 and aarch64 where it is Debian or Ubuntu and may install a cross compiler.
#
# wheel.sh [TARGET...]: of these targets, such as x86_64-unknown-linux-gnu. A wheel is tagged with the
# version of glibc that its binaries require.
set -eu
cd "$(dirname "$0")/.."
PATH="$HOME/.cargo/bin:$PATH"
python=${PYTHON:-python3}
host=$(rustc -vV | sed -n 's/host: //p')
[ $# -gt 0 ] || set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu

# prepare TARGET: the tools that build another machine's programs.
prepare() {
    case $1 in
    aarch64-*) arch=arm64 gcc=aarch64-linux-gnu ;;
    x86_64-*) arch=amd64 gcc=x86-64-linux-gnu ;;
    *) echo "l4s: wheels are for x86_64 and aarch64 Linux, not $1" >&2 && exit 2 ;;
    esac
    tool=$(echo "$gcc" | sed 's/x86-64/x86_64/')
    rustup target add "$1" >/dev/null 2>&1 || { echo "l4s: rustup cannot add $1" >&2 && exit 3; }
    if ! command -v "$tool-gcc" >/dev/null || ! [ -e "/usr/lib/$tool/libelf.so" ]; then
        command -v apt-get >/dev/null || { echo "l4s: please install $tool-gcc and libelf for $arch" >&2 && exit 3; }
        echo "l4s: installing a compiler and libelf for $arch"
        root=$([ "$(id -u)" = 0 ] || echo "sudo -n")
        $root dpkg --add-architecture "$arch"
        $root env DEBIAN_FRONTEND=noninteractive sh -c "apt-get -qq update && apt-get -qq install -y \
            --no-install-recommends gcc-$gcc libc6-dev-$arch-cross libelf-dev:$arch zlib1g-dev:$arch" >/dev/null
    fi
    name=$(echo "$1" | tr 'a-z-' 'A-Z_')
    export "CARGO_TARGET_${name}_LINKER=$tool-gcc" PKG_CONFIG_ALLOW_CROSS=1
    export L4S_STRIP="$tool-strip"
}

# The newest glibc that a program asks for.
glibc() {
    readelf --wide --dyn-syms "$@" | grep -oE 'GLIBC_[0-9]+\.[0-9]+' | sort -uV | tail -n1 | sed 's/GLIBC_//; s/\./_/'
}

scripts/setup.sh
[ -x .venv/bin/pip ] || "$python" -m venv .venv
mkdir -p dist
for target; do
    if [ "$target" = "$host" ]; then
        unset CARGO_BUILD_TARGET L4S_STRIP
        built=target/release
    else
        prepare "$target"
        export CARGO_BUILD_TARGET="$target"
        built=target/$target/release
    fi
    # First the program and the module, to see their requirements; the wheel then finds them built.
    cargo build --release --locked -p l4s
    cargo build --release --locked -p l4s-python
    tag=manylinux_$(glibc "$built/l4s" "$built/lib_l4s.so")
    rm -f dist/l4s-*"${target%%-*}".whl
    MATURIN_PEP517_ARGS="--compatibility $tag" .venv/bin/pip wheel --quiet --no-deps --wheel-dir dist .
done
ls -l dist
