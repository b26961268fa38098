"""SIGTERM, which ends a command as Ctrl-C does: with all that runs stopped, and a word."""

import contextlib
import signal
import threading
from collections.abc import Iterator

__all__ = ["on_sigterm"]


@contextlib.contextmanager
def on_sigterm() -> Iterator[list[int]]:
    """Meanwhile, the first SIGTERM raises `KeyboardInterrupt`; the list then holds its number."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def stop(number: int, _: object) -> None:
        if not came:  # a second one must not disturb the end
            came.append(number)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)
