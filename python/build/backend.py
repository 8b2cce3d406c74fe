"""maturin, with the command ``l4s`` in the package.

maturin builds a module for Python or programs, not both. So the program is built first, and goes in
as data (PEP 427).
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import *  # noqa: F403

ROOT = Path(__file__).parents[2]
# Where pyproject.toml says that maturin looks for data.
SCRIPTS = ROOT / "target" / "l4s.data" / "scripts"
SCRIPTS.mkdir(parents=True, exist_ok=True)
# Where rustup puts Rust, which may not be in the shell's path yet.
os.environ["PATH"] += f"{os.pathsep}{Path.home() / '.cargo/bin'}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with_program()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with_program()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("l4s: there is no source distribution: install from a clone")


def with_program():
    """Builds the program for the target that maturin builds for, and puts it where that looks."""
    command = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "-p",
        "l4s",
        "--message-format=json-render-diagnostics",
    ]
    target = os.environ.get("CARGO_BUILD_TARGET")
    if target:
        command += ["--target", target]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        raise SystemExit(
            "l4s: its command line cannot be built; `make setup` installs what it needs"
        )
    messages = map(json.loads, built.stdout.splitlines())
    (program,) = (m["executable"] for m in messages if m.get("executable"))
    shutil.copy2(program, SCRIPTS / "l4s")
    strip = shutil.which(os.environ.get("L4S_STRIP", "strip"))
    if strip:
        subprocess.run([strip, SCRIPTS / "l4s"], check=True)
