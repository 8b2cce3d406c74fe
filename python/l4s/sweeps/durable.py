"""Files that appear whole or not at all: written beside their place, flushed, renamed."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# A file is being written for seconds, on a shared folder perhaps for minutes. Older ones were
# left by a process that was killed.
_LEFT_AFTER_S = 3600.0


def write(path: Path, fill: Callable[[Path], object]) -> None:
    """Puts the output of ``fill`` at ``path``: it gets a file to write to.

    On return it outlives a power failure. Two that write the same do each other no harm.
    """
    part = path.with_name(f".l4s-{path.name}-{uuid.uuid4().hex}.part")
    try:
        fill(part)
        _flush(part)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    _flush(path.parent)


def _flush(path: Path) -> None:
    """Waits until a file, or a folder's list of files, is on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def is_leftover(name: str) -> bool:
    """Whether a file of that name is one being written, or was when its process was killed."""
    return name.startswith(".l4s-") and name.endswith(".part")


def tidy(folder: Path) -> None:
    """Removes files that killed processes left in ``folder``, not those that others are writing."""
    for entry in os.scandir(folder):
        # Another process that tidies may be faster.
        with suppress(FileNotFoundError):
            if is_leftover(entry.name) and entry.stat().st_mtime < time.time() - _LEFT_AFTER_S:
                os.unlink(entry.path)
