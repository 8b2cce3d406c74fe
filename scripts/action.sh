#!/usr/bin/env bash
# The steps of action.yml, whose inputs are in the environment: `action.sh prepare`, `build` and `run`.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# The command of these sources, for this release of the system.
built=$HOME/.cache/l4s/action/${L4S_SOURCES:-none}/l4s

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Settings that the runner does not have by itself. Ubuntu 24.04 forbids user namespaces to programs that have no
# profile of AppArmor.
prepare() {
    [ "$(uname)" = Linux ] || { echo "l4s: the action needs a runner with Linux" >&2 && exit 3; }
    local restriction=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
    if [ -e $restriction ] && [ "$(cat $restriction)" != 0 ]; then
        as_root sysctl --quiet --write kernel.apparmor_restrict_unprivileged_userns=0
    fi
    [ -c /dev/net/tun ] || as_root modprobe tun
    [ -w /dev/net/tun ] || as_root chmod 666 /dev/net/tun
    # The command is linked with libraries of the system.
    sources=$(cd "$here" && find Cargo.lock Cargo.toml crates scenarios web linux /etc/os-release -type f,l -not -path '*/node_modules/*' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
    echo "sources=$sources" >>"$GITHUB_OUTPUT"
}

build() {
    # One of the cache may lack a library here.
    ! "$built" --version >/dev/null 2>&1 || return 0
    CARGO_TARGET_DIR=$here/target make -C "$here" build
    mkdir -p "$(dirname "$built")"
    # Another job of this machine never sees half of it.
    cp "$here/target/release/l4s" "$built.$$"
    mv "$built.$$" "$built"
}

# each OPTION LINES: the option once for each line, added to `words`.
each() {
    local line
    while IFS= read -r line; do
        [ -z "${line// /}" ] || words+=("$1" "$line")
    done <<<"$2"
}

run() {
    words=("${L4S_COMMAND:-$built}" shell)
    [ -z "${L4S_SCENARIO:-}" ] || words+=("$L4S_SCENARIO")
    each --server "${L4S_SERVERS:-}"
    each --set "${L4S_SET:-}"
    each --assert "${L4S_ASSERT:-}"
    each --trace "${L4S_TRACE:-}"
    local results=${L4S_OUT:-l4s-results} root=()
    case $results in /*) ;; *) results=$PWD/$results ;; esac
    printf 'results=%s\nreport=%s\n' "$results" "$results/report.html" >>"$GITHUB_OUTPUT"
    [ "${L4S_ROOT:-false}" != true ] || [ "$(id -u)" = 0 ] || root=(sudo --preserve-env env "PATH=$PATH")
    # As GitHub runs the lines of a step: the first that fails ends it, also in a pipe.
    "${root[@]}" "${words[@]}" --out "$results" -- bash -eo pipefail -c "$L4S_RUN"
}

case ${1:-} in
prepare | build | run) "$1" ;;
*) echo "usage: action.sh prepare|build|run" >&2 && exit 2 ;;
esac
