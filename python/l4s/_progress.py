"""The progress bar of longer operations."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

__all__ = ["off", "tqdm"]

tqdm: Any


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(name)
    # It is imported when the first bar is made. In a notebook tqdm.auto shows widgets, and
    # complains where there are none.
    widgets = importlib.util.find_spec("ipywidgets") is not None
    return importlib.import_module("tqdm.auto" if widgets else "tqdm").tqdm


def off(progress: bool | None) -> bool | None:
    """The ``disable`` of tqdm: where nobody said, a terminal or a notebook shows a bar."""
    if progress is not None:
        return not progress
    # A notebook's output is no terminal; None has tqdm ask whether it is one.
    return False if "ipykernel" in sys.modules else None
