#!/usr/bin/env bash
# The steps of action.yml, whose inputs are in the environment: `action.sh prepare`, `build` and `run`.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
built=$HOME/.cache/l4s/action/l4s

# Settings that the runner does not have by itself. Ubuntu 24.04 forbids user namespaces to programs that have no
# profile of AppArmor.
prepare() {
    local restriction=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
    if [ -e $restriction ] && [ "$(cat $restriction)" != 0 ]; then
        sudo sysctl --quiet --write kernel.apparmor_restrict_unprivileged_userns=0
    fi
    [ -c /dev/net/tun ] || sudo modprobe tun
    [ -w /dev/net/tun ] || sudo chmod 666 /dev/net/tun
    sources=$(cd "$here" && find Cargo.lock Cargo.toml crates scenarios web linux -type f -not -path '*/node_modules/*' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
    echo "sources=$sources" >>"$GITHUB_OUTPUT"
}

build() {
    [ ! -x "$built" ] || return 0
    make -C "$here" build
    mkdir -p "$(dirname "$built")"
    cp "$here/target/release/l4s" "$built"
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
    [ "${L4S_ROOT:-false}" != true ] || root=(sudo --preserve-env env "PATH=$PATH")
    "${root[@]}" "${words[@]}" --out "$results" -- bash -c "$L4S_RUN"
}

case ${1:-} in
prepare | build | run) "$1" ;;
*) echo "usage: action.sh prepare|build|run" >&2 && exit 2 ;;
esac
