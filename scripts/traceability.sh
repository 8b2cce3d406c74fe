#!/bin/sh
# Which source file implements which section of which document: docs/reference/traceability.md, made from
# the citations in the code. `--check` only says whether the page is current.
set -eu
cd "$(dirname "$0")/.."

page() {
    cat <<'TEXT'
# Traceability

Made by `make docs` from the citations in the code; the documents are listed in
[references.md](references.md).

| document | section | where |
|---|---|---|
TEXT
    grep -roE --include='*.rs' --include='*.c' --include='*.h' --include='*.toml' '(DCttH|Qdisc|Fallback|Slides|IETF97|RFC [0-9]{3,4}) (§ ?[A-Z]?[0-9.]*[0-9A-Z]|Algorithm [0-9]|Table [0-9]|figure [0-9]+|equation \([0-9]\))' crates/*/src crates/papers/statements |
        sed -E 's/^([^:]+):(DCttH|Qdisc|Fallback|Slides|IETF97|RFC [0-9]{3,4}) (.*)$/\2\t\3\t\1/' |
        LC_ALL=C sort -u |
        awk -F'\t' '
            { key = $1 FS $2 }
            key != last { if (last != "") print row " |"; row = "| " $1 " | " $2 " | `" $3 "`"; last = key; next }
            { row = row ", `" $3 "`" }
            END { if (last != "") print row " |" }'
}

if [ "${1:-}" = --check ]; then
    page | cmp -s - docs/reference/traceability.md || {
        echo "docs/reference/traceability.md is not current: run \`make docs\`" >&2
        exit 1
    }
else
    page >docs/reference/traceability.md
fi
