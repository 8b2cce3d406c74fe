#!/usr/bin/env python3
"""Whether an example shows each public type of the crates for crates.io.

A type is shown if it has an example of its own that `cargo test --doc` runs, or if another such example of the
crate or its README names it. Lists the others with their places. Reads the JSON of rustdoc, whose
format is not stable: RUSTC_BOOTSTRAP lets a stable compiler write it.

examples.py [CRATE...]: all that `cargo publish` takes, unless named (`aqm` for l4s-aqm).
"""

import json
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["units", "model", "observe", "bottleneck"]
KINDS = {"struct", "enum", "trait", "union"}
# Attributes of a code block that rustdoc compiles and runs; `text`, `ignore` and the like are none.
RUNS = {"", "rust", "should_panic", "edition2024"}


def rustdoc(crate: str) -> dict:
    subprocess.run(
        ["cargo", "rustdoc", "--quiet", "--locked", "--lib", "-p", f"l4s-{crate}", "--"]
        + ["-Z", "unstable-options", "--output-format", "json"],
        cwd=ROOT,
        env=dict(os.environ, RUSTC_BOOTSTRAP="1"),
        check=True,
    )
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return json.loads((target / "doc" / f"l4s_{crate}.json").read_text())


def examples(docs: str):
    """The code of the examples that run."""
    for info, code in re.findall(r"^```([^\n]*)\n(.*?)^```", docs, re.M | re.S):
        if {part.strip() for part in info.split(",")} <= RUNS:
            yield code


def faults(crate: str) -> list[str]:
    items = [item for item in rustdoc(crate)["index"].values() if item["crate_id"] == 0]
    readme = (ROOT / "crates" / crate / "README.md").read_text()
    code = "\n".join(one for text in [readme] + [item["docs"] or "" for item in items] for one in examples(text))
    kinds = {item["id"]: next(iter(item["inner"])) for item in items}
    types = [item for item in items if kinds[item["id"]] in KINDS and item["visibility"] == "public"]
    names = Counter(item["name"] for item in types)
    found = []
    for item in types:
        # Several modules have a `Config`: an example says which.
        name = item["name"]
        if names[name] > 1:
            name = f"{pathlib.Path(item['span']['filename']).with_suffix('').name}::{name}"
        if not any(examples(item["docs"] or "")) and not re.search(rf"\b{name}\b", code):
            place = f"{item['span']['filename']}:{item['span']['begin'][0]}"
            found.append(f"{place}: no example of l4s-{crate} shows the {kinds[item['id']]} `{name}`")
    return sorted(found)


def main() -> int:
    found = [fault for crate in sys.argv[1:] or CRATES for fault in faults(crate)]
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
