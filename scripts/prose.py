#!/usr/bin/env python3
"""Checks prose and spelling with vale (rules: styles/l4s) and typos (typos.toml).

    scripts/prose.py              files of AREAS; exit code 1 where a rule is broken
    scripts/prose.py PATH...      the same for these files and folders
    scripts/prose.py --report     every file that is not in AREAS yet; exit code 0

vale reads Markdown, and the comments of Rust, C, Python and TypeScript. The other text that people read,
string literals, scenarios and help lines of the Makefile, is copied to target/prose with everything else
blanked, so that a line there is the line of the source.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "target" / "tools" / "bin"
COPIES = ROOT / "target" / "prose"

# The areas that `make prose` and CI check. Add an area when its text follows the rules.
AREAS = [
    ".ci",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "STYLE.md",
    "action.yml",
    "crates/aqm/src",
    "crates/bottleneck/src",
    "crates/bpf/src/*.rs",
    "crates/cc/src",
    "crates/cli/build.rs",
    "crates/cli/src",
    "crates/evaluate/src",
    "crates/flows/src",
    "crates/host/src",
    "crates/lab/src",
    "crates/linux/src",
    "crates/live/src",
    "crates/measure/src",
    "crates/model/src",
    "crates/observe/src",
    "crates/os/src",
    "crates/papers/src",
    "crates/report/src",
    "crates/scenario/src",
    "crates/sim/src",
    "crates/simulate/src",
    "crates/substrate/src",
    "crates/trace/src",
    "crates/units/src",
    "docs/explanation",
    "docs/guides",
    "docs/index.md",
    "docs/tutorials",
    "python/build",
    "python/l4s",
    "python/src",
    "scenarios",
    "scripts",
]

# Comments that vale finds by itself.
COMMENTED = {".rs", ".c", ".h", ".py", ".ts", ".md"}

# Matched in this order: a comment, which is skipped or kept, then a string, which is kept.
RUST = r"""(?P<skip>//[^\n]*|/\*.*?\*/|'(?:\\[^']+|[^\\'\n])')|r(?P<hash>\#*)"(?P<raw>.*?)"(?P=hash)|"(?P<text>(?:\\.|[^"\\])*)\""""
TYPESCRIPT = r"""(?P<skip>//[^\n]*|/\*.*?\*/)|"(?P<text>(?:\\.|[^"\\\n])*)"|'(?P<single>(?:\\.|[^'\\\n])*)'|`(?P<raw>(?:\\.|[^`\\])*)`"""
TOML = r'''\#(?P<comment>[^\n]*)|"""(?P<raw>.*?)"""|"(?P<text>(?:\\.|[^"\\\n])*)"'''
SHELL = r"""(?:(?<=\s)|(?<=^))\#+ (?P<comment>[^\n]*)"""
PATTERNS = {".rs": RUST, ".ts": TYPESCRIPT, ".toml": TOML, ".sh": SHELL, "Makefile": SHELL}

# Files of data or of machines' making, and tests' strings, which are input and expected output.
NOT_PROSE = re.compile(r"/assets/|/golden/|^docs/traceability.md$|^styles/|^Cargo.lock$|/fuzz_targets/")
TESTS = re.compile(r"/tests/|/benches/|/tests\.rs$|^web/(e2e|test)/")


def tracked(paths):
    """The files of these paths that git knows, or will know."""
    if not paths:
        return []
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line for line in lines if not NOT_PROSE.search(line) and (ROOT / line).is_file()]


def blanked(text, pattern):
    """The prose of a source at the lines where it stands."""
    kept = [""] * (text.count("\n") + 1)
    for found in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        for name in ("text", "raw", "single", "comment"):
            part = found.groupdict().get(name)
            if part is None or " " not in part:
                continue
            part = re.sub(r"\\[nrt]|\{\w*(:[^}]*)?\}", "  ", part).replace('\\"', '"')
            first = text.count("\n", 0, found.start(name))
            for n, line in enumerate(part.split("\n")):
                kept[first + n] += " " + line.strip().removesuffix("\\")
    return "\n".join(line.strip() for line in kept)


def copy(file):
    """Writes the prose that vale does not find by itself, if there is any."""
    name = Path(file)
    pattern = PATTERNS.get(name.suffix) or PATTERNS.get(name.name)
    if pattern is None or TESTS.search("/" + file):
        return None
    text = (ROOT / file).read_text()
    if name.suffix == ".rs":
        text = text.split("#[cfg(test)]")[0]
    prose = blanked(text, pattern)
    if not prose.strip():
        return None
    target = COPIES / (file + ".txt")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(prose)
    return str(target.relative_to(ROOT))


def check(files):
    """Whether vale and typos find nothing."""
    sources = [file for file in files if Path(file).suffix in COMMENTED]
    copies = [made for file in files if (made := copy(file))]
    faults = []
    for start in range(0, len(sources + copies), 500):
        some = (sources + copies)[start : start + 500]
        command = [TOOLS / "vale", "--output=line", "--no-exit", *some]
        out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        faults += [re.sub(r"^target/prose/(.*?)\.txt:", r"\1:", line) for line in out.splitlines()]
    for line in sorted(set(faults)):
        print(line)
    spelling = subprocess.run([TOOLS / "typos", "--format=brief", "--force-exclude", *files], cwd=ROOT)
    print(f"prose: {len(files)} files, {len(set(faults))} faults", file=sys.stderr)
    return not faults and spelling.returncode == 0


def main(arguments):
    """Runs the command line."""
    if arguments == ["--report"]:
        done = set(tracked(AREAS))
        check([file for file in tracked(["."]) if file not in done])
        return 0
    files = tracked(arguments or AREAS)
    return 0 if not files or check(files) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
