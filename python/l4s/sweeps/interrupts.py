"""An interrupt that is not lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def kept() -> Iterator[Callable[[], None]]:
    """Raises KeyboardInterrupt when its result is called after an interrupt, and at the end.

    Python raises it wherever the main thread is. In a finalizer, such as a Dask future's, it is
    printed and goes no further, and the sweep would go on as if nobody had asked it to stop.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        # Programs that handle interrupts differently, such as by ignoring them, keep their handler.
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield lambda: None
        return
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    try:
        yield check
        check()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
