#!/bin/sh
# Checks the papers' statements: runs figures and writes their tables into
# docs/results/papers.md, between the marks that carry their names. All of them take half an hour on
# two cores; `scripts/statements.sh fallback-8 dctth-10` makes some, `--quick` shorter runs, as the
# page then says. Runs are kept in out/statements (or $OUT), and not made again.
set -eu
cd "$(dirname "$0")/.."
page=docs/results/papers.md
out=${OUT:-out/statements}
l4s=${L4S:-target/release/l4s}

quick= runs='Whole runs, seed 1.'
if [ "${1:-}" = --quick ]; then
    quick=--quick runs='Shorter runs (`--quick`), seed 1.'
    shift
fi
[ $# -gt 0 ] || set -- $(sed -n 's/^<!-- \([a-z0-9-]*\) -->$/\1/p' $page | grep -vx end)

for figure; do
    "$l4s" paper "$figure" $quick --out "$out/$figure$quick" >/dev/null
    awk -v mark="<!-- $figure -->" -v runs="$runs" -v table="$out/$figure$quick/statements.md" '
        $0 == "<!-- end -->" { inside = 0 }
        !inside { print }
        $0 == mark { inside = 1; print runs "\n"; while ((getline row < table) > 0) print row }
    ' $page >$page.new
    mv $page.new $page
done
