#!/bin/sh
# Builds the site of docs into target/site/VERSION, and fails on any dead link or anchor, in the site and in every
# Markdown file, or where the page of the Python API is not current. `--check` only looks for dead links in Markdown,
# `--python-api` only makes that page. The folder (or $SITE) keeps other versions that are there; the page's selector has
# them all. Its tools are installed into target/site-tools.
set -eu
cd "$(dirname "$0")/.."
site=${SITE:-target/site}
tools=target/site-tools
repository=https://github.com/l4s/l4s

scripts/setup.sh --python
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "site: it needs Python 3.11 or later" >&2
    exit 3
}
if ! cmp -s scripts/site-requirements.txt "$tools/installed.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/site-requirements.txt
    cp scripts/site-requirements.txt "$tools/installed.txt"
fi

# links FILE...: whether each link and anchor leads somewhere. Files of the repository are looked up here, and nothing
# is asked of the network.
links() {
    "$tools/bin/lychee" --offline --include-fragments --no-progress --format compact \
        --remap "^$repository/(blob|tree)/main/(.*) file://$PWD/\$2" --exclude-path '/404\.html$' "$@"
}

if [ "${1:-}" = --python-api ]; then
    exec "$tools/bin/python" scripts/python_api.py
fi

git ls-files --cached --others --exclude-standard '*.md' >target/markdown.txt
links --files-from target/markdown.txt
[ "${1:-}" != --check ] || exit 0

"$tools/bin/python" scripts/python_api.py --check

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n1)
rm -rf .cache target/site-build
"$tools/bin/zensical" build --strict
rm -rf .cache
links target/site-build

mkdir -p "$site"
rm -rf "${site:?}/$version"
mv target/site-build "$site/$version"
python3 - "$site" <<'PYTHON'
"""Every page is in the navigation; every version that is there is in the selector, and the newest is the first page."""
import json, pathlib, re, sys, tomllib

text = pathlib.Path("zensical.toml").read_text()
named = set(re.findall(r'"([a-z0-9/-]+\.md)"', json.dumps(tomllib.loads(text)["project"]["nav"])))
pages = {str(page.relative_to("docs")) for page in pathlib.Path("docs").rglob("*.md")}
if named != pages:
    sys.exit(f"site: zensical.toml: not in the navigation, or not there: {sorted(named ^ pages)}")

site = pathlib.Path(sys.argv[1])
versions = [folder.parent.name for folder in site.glob("*/index.html")]
versions.sort(key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)
entries = [{"version": name, "title": name, "aliases": ["latest"] * (name == versions[0])} for name in versions]
(site / "versions.json").write_text(json.dumps(entries) + "\n")
newest = f"{versions[0]}/index.html"
(site / "index.html").write_text(
    f'<!doctype html><meta charset="utf-8"><title>l4s</title><meta http-equiv="refresh" content="0; url={newest}">'
    f'<a href="{newest}">l4s</a>\n'
)
PYTHON
echo "The site: file://$(cd "$site" && pwd)/index.html"
