#!/bin/sh
# Redraws the figures of README and docs: every bundled experiment at full length, and the papers'
# figures that pages show. `--demo` only that of the README, from the folder that `make demo` left.
# `--check` says whether that one is current. `--files` checks that every figure that a page shows is
# there, in a light and a dark form, beside the command that makes it, and none is left over.
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
    mkdir -p out
    $l4s run "$1" --out "$(folder "$1")" --replace >"out/$1.txt"
}

# draw FIGURE: as run, of the papers' figures.
draw() {
    mkdir -p out
    $l4s paper "$1" --out "out/$1" --replace >"out/$1.txt"
}

# one FOLDER EXPERIMENT SETTING...: one condition of a bundled experiment.
one() {
    folder=out/$1 experiment=$2 && shift 2
    mkdir -p out
    $l4s run "$experiment" "$@" --out "$folder" --replace >"$folder.txt"
}

# The figures of pages: `docs/figures/NAME.svg` or `.png`, light or dark, in pages of any folder.
shown() {
    grep -ohE '(docs/|\.\./|\(|")figures/[a-z0-9-]+\.(svg|png)' README.md docs/*.md docs/*/*.md |
        sed -E 's#.*figures/##; s#-dark\.(svg|png)$#.\1#' | sort -u
}

# files: whether pages and docs/figures name the same.
files() {
    fault=0
    complain() {
        echo "figures: $1" >&2
        fault=1
    }
    for figure in $(shown); do
        dark=${figure%.*}-dark.${figure##*.}
        for file in "$figure" "$dark"; do
            test -e "docs/figures/$file" || complain "docs/figures/$file is shown and does not exist"
        done
    done
    for file in docs/figures/*; do
        name=$(basename "$file" | sed -E 's#-dark\.(svg|png)$#.\1#')
        shown | grep -qxF "$name" || complain "$file is shown on no page"
    done
    for page in docs/results/*.md; do
        experiment=$(basename "$page" .md)
        if grep -qF "figures/$experiment-" "$page"; then
            grep -qE "^l4s (run|paper) $experiment( |\$)" "$page" ||
                complain "$page shows figures of $experiment without the command that makes them"
        fi
    done
    return $fault
}

case ${1:-} in
--files)
    files
    exit ;;
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
keep dctth-5 delay-conditions window-ratio-conditions rate-matrix-dualpi2 delay-matrix-dualpi2
keep dctth-6 delay-conditions window-ratio-conditions rate-ratio-conditions
one dctth-7 dctth-9 --set link.rate=40mbit --set 'group.*.rtt=10ms'
keep dctth-7 completion
one dctth-8 dctth-9 --set link.rate=120mbit --set 'group.*.rtt=10ms'
keep dctth-8 efficiency
draw dctth-10
keep dctth-10 overload
keep web delay-cdf
keep changes rate-time delay-time
for figure in 1 7 8 9 10 11 12; do draw "fallback-$figure"; done
keep fallback-1 rate-ratio-conditions
keep fallback-7 share-conditions-fallback-off share-conditions-fallback-passive rate-ratio-conditions
keep fallback-8 score-time rate-time
keep fallback-9 score-time rate-time
keep fallback-10 score-time rate-time delay-time
keep fallback-11 score-time rate-time delay-time
keep fallback-12 score-time
$l4s paper --quick
cp out/paper-quick/contact-sheet.png out/paper-quick/contact-sheet-dark.png docs/figures/

# In real time: of this machine, as root.
$l4s run lab-speed --on kernel --out out/lab-speed --replace >out/lab-speed.txt || [ $? = 3 ]
keep lab-speed lateness-conditions processor-conditions
