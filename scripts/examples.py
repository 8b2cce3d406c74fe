#!/usr/bin/env python3
"""Checks that every public type of the published crates has an example in its documentation.

    scripts/examples.py              the crates that `cargo publish` takes
    scripts/examples.py l4s-aqm...   these crates

A type is a struct, an enum, a union or a trait that a user can reach from the root of its crate. Its
example is a code block that rustdoc compiles and runs, so `cargo test --doc` keeps it true. Blocks
with `no_run` or `compile_fail` count where a comment in them says why (`// no_run: REASON`).

A type that only serves another one may refer to that one's example: a line of its documentation is
"Example: [`Other`].". Then `Other` is an item of the same crate with an example that names the type.

Reads the JSON of rustdoc. Its format is unstable, and may change with the compiler: RUSTC_BOOTSTRAP
lets a stable rustdoc write it. Only rustdoc gets that variable, so cargo calls it by this script.
Build scripts of dependencies look at the variable: with it in the environment of cargo, most
dependencies would be built again, and once more by the next `cargo test`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Set where this script stands in for rustdoc.
STAND_IN = "L4S_EXAMPLES_RUSTDOC"
TYPES = {"struct", "enum", "union", "trait"}
# The words after ``` of blocks that rustdoc runs. Any other word is another language, or `ignore`.
RUNS = re.compile(r"rust|should_panic|edition20\d\d|standalone(_crate)?")
COMPILES = {"no_run", "compile_fail"}
# Three or more backticks or tildes open a block; as many or more of the same close it.
BLOCK = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)\n(.*?)^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
REFERENCE = re.compile(r"^Example: \[`?([^\]`]+)`?\](?:\(([^)]+)\))?\.$", re.MULTILINE)


def published(metadata: dict) -> list[str]:
    """The crates that `cargo publish` takes."""
    return [package["name"] for package in metadata["packages"] if package["publish"] != []]


def rustdoc(crate: str, target: str) -> dict:
    """The documentation of a crate, as rustdoc sees it."""
    subprocess.run(
        ["cargo", "rustdoc", "--quiet", "--locked", "--package", crate, "--lib", "--"]
        + ["-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"],
        cwd=ROOT,
        env={**os.environ, "RUSTDOC": str(Path(__file__).resolve()), STAND_IN: "1"},
        check=True,
    )
    return json.loads((Path(target) / "doc" / f"{crate.replace('-', '_')}.json").read_text())


def kind(item: dict) -> str:
    return next(iter(item["inner"]))


def place(item: dict) -> str:
    return f"{item['span']['filename']}:{item['span']['begin'][0]}"


def reachable(documentation: dict) -> list[dict]:
    """The public types of a crate that a path from its root leads to, re-exports included."""
    index, seen = documentation["index"], set()
    waiting = [documentation["root"]]
    while waiting:
        number = waiting.pop()
        item = index.get(str(number))
        # A type of another crate is that crate's to document.
        if number in seen or item is None or item["crate_id"] != 0:
            continue
        seen.add(number)
        inner = item["inner"]
        if "module" in inner:
            waiting += inner["module"]["items"]
        elif "use" in inner and inner["use"]["id"] is not None:
            waiting.append(inner["use"]["id"])
    return sorted(
        (item for number in seen if kind(item := index[str(number)]) in TYPES),
        key=lambda item: (item["span"]["filename"], item["span"]["begin"], item["name"]),
    )


def examples(docs: str) -> list[str]:
    """The code of the blocks that count as examples."""
    found = []
    for _, info, code in BLOCK.findall(docs):
        words = set(re.split(r"[\s,]+", info.strip())) - {""}
        runs = all(RUNS.fullmatch(word) for word in words - COMPILES)
        if runs and all(re.search(rf"// {word}: \S", code) for word in words & COMPILES):
            found.append(code)
    return found


def fault(item: dict, index: dict) -> str | None:
    """The reason why a type counts as one without an example."""
    docs = item["docs"] or ""
    if examples(docs):
        return None
    reference = REFERENCE.search(docs)
    if reference is None:
        return "has no example that rustdoc runs"
    name, destination = reference.groups()
    links = item["links"]
    number = next((links[key] for key in (destination, f"`{name}`", name) if key in links), None)
    other = index.get(str(number))
    if other is None:
        return f"refers to an example of `{name}`, which is no item of this crate"
    code = "\n".join(examples(other["docs"] or ""))
    if not code:
        return f"refers to `{name}`, which has no example itself"
    if not re.search(rf"\b{item['name']}\b", code):
        return f"refers to the example of `{name}`, which does not name it"
    return None


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    crates = arguments or published(metadata)
    count, missing = 0, 0
    for crate in crates:
        documentation = rustdoc(crate, metadata["target_directory"])
        for item in reachable(documentation):
            count += 1
            if reason := fault(item, documentation["index"]):
                missing += 1
                print(f"{place(item)}: the {kind(item)} `{item['name']}` {reason}")
    print(f"examples: {count} public types in {len(crates)} crates, {missing} without an example", file=sys.stderr)
    return int(missing > 0)


if __name__ == "__main__":
    if STAND_IN in os.environ:
        os.execvpe("rustdoc", ["rustdoc", *sys.argv[1:]], {**os.environ, "RUSTC_BOOTSTRAP": "1"})
    sys.exit(main(sys.argv[1:]))
