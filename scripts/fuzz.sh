#!/bin/sh
# Runs every fuzz target for a number of seconds, as many at once as there are processors. cargo-fuzz
# requires the sanitizers of a nightly compiler; the stable one has them too, and offers them under
# RUSTC_BOOTSTRAP.
#
# fuzz.sh SECONDS [--dev]: with --dev it is compiled in a third of the time, and runs slower.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
profile=${2:-}
command -v c++ >/dev/null || { echo "fuzz: needs a C++ compiler (apt-get install g++)" >&2; exit 3; }
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked --quiet
export RUSTC_BOOTSTRAP=1
# shellcheck disable=SC2086 # no word where there is none
cargo fuzz build $profile
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# Each prints all at once, when it has ended. xargs ends with an error if one of them did.
for target in fuzz/fuzz_targets/*.rs; do basename "$target" .rs; done |
    xargs -P "$(nproc)" -I TARGET sh -c '
        status=0
        cargo fuzz run $2 TARGET -- -max_total_time="$0" -verbosity=0 -print_final_stats=1 >"$1/TARGET" 2>&1 || status=$?
        echo "fuzz: TARGET, $0 s" && cat "$1/TARGET"
        exit $status' "$seconds" "$logs" "$profile"
