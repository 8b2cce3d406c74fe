#!/bin/sh
# Draws the figures of README and docs anew: every bundled experiment at full length, about two
# minutes. `--demo` only that of the README, from the folder that `make demo` left; `--check`
# says whether that one is current.
set -eu
cd "$(dirname "$0")/.."
l4s=target/release/l4s

# keep EXPERIMENT FIGURE...: copies figures from its result folder to docs, light and dark.
keep() {
    experiment=$1 && shift
    for figure; do
        for theme in '' -dark; do
            cp "$(folder "$experiment")/figures/$figure$theme.svg" "docs/figures/$experiment-$figure$theme.svg"
        done
    done
}

folder() {
    if [ "$1" = one-against-one ]; then echo out/demo; else echo "out/$1"; fi
}

run() {
    rm -rf "$(folder "$1")"
    mkdir -p out
    $l4s run "$1" --out "$(folder "$1")" >"out/$1.txt"
}

case ${1:-} in
--check)
    cmp out/demo/figures/headline.svg docs/figures/one-against-one-headline.svg
    exit ;;
--demo)
    keep one-against-one headline
    exit ;;
esac

for experiment in one-against-one dctth-4 dctth-5 dctth-6 web changes linux-7.3-grid; do run "$experiment"; done
keep one-against-one headline delay-cdf
keep dctth-4 delay-conditions window-ratio-conditions signal-conditions utilization-conditions
keep dctth-5 delay-conditions window-ratio-conditions
keep dctth-6 delay-conditions window-ratio-conditions rate-ratio-conditions
keep web delay-cdf
keep changes rate-time delay-time
