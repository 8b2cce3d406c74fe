#!/bin/sh
# Chromium without a window loads the page again and again, each time as a new browser.
set -eu
for load in $(seq "${1:-5}"); do
    page=$(chromium --headless --no-sandbox --disable-gpu --user-data-dir="$(mktemp -d)" \
        --dump-dom http://server:8080/ 2>/dev/null)
    echo "chromium: $(echo "$page" | sed -n 's/.*<output>\(.*\)<\/output>.*/\1/p')"
done
