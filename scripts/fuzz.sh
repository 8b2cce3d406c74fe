#!/bin/sh
# Runs every fuzz target for a number of seconds. cargo-fuzz requires the sanitizers of a nightly
# compiler; the stable one has them too, and offers them under RUSTC_BOOTSTRAP.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
command -v c++ >/dev/null || { echo "fuzz: needs a C++ compiler (apt-get install g++)" >&2; exit 3; }
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked --quiet
for target in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$target" .rs)
    echo "fuzz: $target, $seconds s"
    RUSTC_BOOTSTRAP=1 cargo fuzz run "$target" -- -max_total_time="$seconds" -verbosity=0 -print_final_stats=1
done
