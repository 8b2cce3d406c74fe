#!/usr/bin/env python3
"""Runs the shell and Python snippets of README, tutorials and guides: `snippets.py [PAGE...]`.

The blocks of a page run in order, in a folder of their own, with l4s on the PATH. A comment before
a block says what else becomes of it:

    <!-- file: NAME -->        it is written to this file, and not run
    <!-- not run: REASON -->   it is only checked: bash or Python parses it, and l4s takes its
                               commands and scenarios
    <!-- exits: CODE -->       its exit code is this one, not 0
    <!-- output: varies -->    the text block after a block that ran is not compared

A text block after a block that ran is what that printed, on stdout or on stderr; a line `…` stands
for any lines, and `…` within a line for any text. A shell block that exits with 3 needs what this
machine does not have: it is skipped, and says so.

The shell blocks of all other pages are only checked: their runs take hours.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
L4S = ROOT / os.environ.get("L4S", "target/release/l4s")
SCRATCH = ROOT / "target" / "snippets"
LIMIT_S = 180
BLOCK = re.compile(
    r"^(?:<!-- (?P<word>file|not run|exits|output): (?P<value>[^\n]*?) -->\n+)?"
    r"```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)

# Python blocks of a page share their names: this runs them in one process, asked by lines of JSON.
SESSION = """
import contextlib, io, json, sys, traceback
scope = {"__name__": "__main__"}
for line in sys.stdin:
    place, code = json.loads(line)
    fault, printed = None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, place, "exec"), scope)
        except BaseException:
            fault = traceback.format_exc()
    print(json.dumps([fault, printed.getvalue()]), flush=True)
"""


@dataclass
class Block:
    """A fenced block with the comment before it."""

    place: str
    language: str
    code: str
    word: str | None
    value: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        place = f"{page.relative_to(ROOT)}:{line}"
        found.append(
            Block(place, match["language"], match["code"], match["word"], match["value"] or "")
        )
    return found


def python() -> str:
    """The interpreter that has the package: that of `make python`, or $PYTHON."""
    return str(ROOT / os.environ.get("PYTHON", ".venv/bin/python"))


def environment() -> dict[str, str]:
    """With l4s on the PATH, and, as root, a `sudo` where there is none."""
    tools = SCRATCH / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    path = [str(tools), str(Path(python()).parent), os.environ["PATH"]]
    return {**os.environ, "PATH": os.pathsep.join(path), "TERM": "dumb", "NO_COLOR": "1"}


def set_up() -> None:
    """The folder of tools."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    tools = SCRATCH / "bin"
    tools.mkdir(parents=True)
    (tools / "l4s").symlink_to(L4S)
    sudo = shutil.which("sudo")
    lines = ["#!/bin/sh", 'exec "$@"']
    if os.getuid() != 0:
        # It asks nothing, and keeps the PATH; without the right it is a machine that cannot.
        lines[1:] = [f"{sudo} -n true || exit 3", f'exec {sudo} -n env "PATH=$PATH" "$@"']
    (tools / "sudo").write_text("\n".join(lines) + "\n")
    (tools / "sudo").chmod(0o755)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command with its outputs."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(
            command, 124, "", f"it ran for {LIMIT_S} s and was stopped"
        )


def l4s_commands(code: str) -> Iterator[list[str]]:
    """The arguments of each l4s in a shell block, up to `--` or the end of the command."""
    for line in code.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
        lexer.commenters = "#"
        lexer.whitespace_split = True
        words: list[str] | None = None
        is_first = True
        for token in [*lexer, ";"]:
            is_end = set(token) <= set("|&;()<>")
            if words is not None and (token == "--" or is_end):
                yield words
                words = None
            elif words is not None:
                words.append(token)
            elif is_first and Path(token).name == "l4s":
                words = []
            is_first = is_end or (
                is_first and (token in ("sudo", "do", "then", "!") or "=" in token)
            )


def check_shell(code: str, folder: Path) -> str | None:
    """The visible faults of a shell block that does not run."""
    parsed = run(["bash", "-n", "-c", code], folder)
    if parsed.returncode:
        return parsed.stderr
    for words in l4s_commands(code):
        if not words:
            continue
        # With --help nothing runs, but the options before it are read.
        taken = run(["l4s", *words, "--help"], folder)
        if taken.returncode:
            return f"l4s {shlex.join(words)}\n{taken.stderr}"
        scenario = scenario_of(words)
        if scenario and not any("$" in word for word in words):
            shown = run(["l4s", "show", *scenario], folder)
            if shown.returncode:
                return f"l4s show {shlex.join(scenario)}\n{shown.stderr}"
    return None


def scenario_of(words: list[str]) -> list[str] | None:
    """The scenario of a command, as arguments of `l4s show`; None where that cannot have it."""
    if words[0] not in ("run", "show", "live", "shell", "validate"):
        return None
    # `l4s show` has no group `shell` and no `--on`.
    names = [word for word in words[1:2] if not word.startswith("-")]
    if not names or names[0].endswith(".toml") or words[0] == "shell":
        return None
    settings = [value for option, value in pairwise(words) if option == "--set"]
    return [names[0], *(part for value in settings for part in ("--set", value))]


def differs(expected: str, outputs: list[str]) -> str | None:
    """How every one of these outputs is another than the page says."""
    pattern = "".join(
        "(?:.*\n)*?"
        if line.strip() == "…"
        else ".*?".join(map(re.escape, line.rstrip().split("…"))) + "\n"
        for line in expected.strip("\n").splitlines()
    )
    for printed in outputs:
        if re.fullmatch(
            pattern, "".join(line.rstrip() + "\n" for line in printed.strip("\n").splitlines())
        ):
            return None
    return "\n".join(["the page says:", expected, "it printed:", *outputs])


class Session:
    """The Python of a page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def run(self, block: Block) -> tuple[str | None, str]:
        """The error, and the output."""
        if self.process is None:
            self.process = subprocess.Popen(
                [python(), "-c", SESSION],
                cwd=self.folder,
                env={**environment(), "MPLBACKEND": "agg"},
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([block.place, block.code]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return tuple(json.loads(answer)) if answer else ("Python ended", "")

    def end(self) -> None:
        """Ends it."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def run_page(page: Path) -> tuple[list[str], dict[str, int]]:
    """The blocks of a page: messages about them, and the number that passed and so on."""
    folder = SCRATCH / re.sub(r"\W+", "-", str(page.relative_to(ROOT).with_suffix("")))
    folder.mkdir()
    for name in ("target", "crates"):
        (folder / name).symlink_to(ROOT / name)
    session, says = Session(folder), []
    runs = page.parent.name not in ("explanation", "reference", "results")
    counts = dict.fromkeys(("passed", "failed", "checked", "skipped"), 0)
    printed: list[str] | None = None
    for block in blocks(page):
        start, fault, kind = time.monotonic(), None, "passed"
        before, printed = printed, None
        if block.word == "file":
            path = folder / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8")
            continue
        if block.language == "sh":
            if block.word == "not run" or not runs:
                kind, fault = "checked", check_shell(block.code, folder)
            else:
                done = run(["bash", "-eu", "-o", "pipefail", "-c", block.code], folder)
                printed = [done.stdout, done.stderr]
                wanted = int(block.value) if block.word == "exits" else 0
                if done.returncode == 3 != wanted:
                    kind, printed = "skipped", None
                    says.append(f"{block.place}: skipped: {done.stderr.strip()}")
                elif done.returncode != wanted:
                    fault = f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        elif block.language == "python" and runs:
            if block.word == "not run":
                kind = "checked"
                if ">>>" not in block.code:
                    ast.parse(block.code, block.place)
            else:
                fault, text = session.run(block)
                printed = [text]
        elif block.language == "text" and before is not None and block.word != "output":
            fault = differs(block.code, before)
        else:
            continue
        counts["failed" if fault else kind] += 1
        if fault:
            says.append(f"{block.place}: FAILED\n{fault}")
        took = time.monotonic() - start
        if took > 10:
            says.append(f"{block.place}: {took:.0f} s")
    session.end()
    return says, counts


def main() -> None:
    """Runs the pages that are asked for, or all."""
    pages = [ROOT / page for page in sys.argv[1:]]
    if not pages:
        pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    set_up()
    if subprocess.run([python(), "-c", "import l4s"], cwd=SCRATCH, check=False).returncode:
        sys.exit("snippets: the Python package is not there: `make python`")
    total = dict.fromkeys(("passed", "failed", "checked", "skipped"), 0)
    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=max(1, min(2, os.cpu_count() or 1))) as pool:
        for says, counts in pool.map(run_page, pages):
            for line in says:
                print(line, flush=True)
            for kind, count in counts.items():
                total[kind] += count
    print(f"{total['checked']} checked only; {time.monotonic() - start:.0f} s")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    sys.exit(total["failed"] > 0)


main()
