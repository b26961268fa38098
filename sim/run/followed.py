"""The progress of a simulation that is under way, from a file that its testbench writes."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["followed"]

Tell = Callable[[str, int, int], None]
_POLL = 0.5  # s


@contextlib.contextmanager
def followed(path: Path, tell: Tell, step: Callable[[int, int], tuple[str, int, int]]
             ) -> Iterator[None]:
    """Tell what the simulation has done, while it is built and runs.

    Parameters
    ----------
    path : Path
        The testbench writes a JSON list of two numbers to it, again and again.
    tell : callable
        Gets a step's name, how much of it is done, and of how much.
    step : callable
        Makes these three from the two numbers.
    """
    over = threading.Event()

    def follow() -> None:
        tell("building the simulator", 0, 1)
        while not over.wait(_POLL):
            try:
                first, second = json.loads(path.read_text())
            except (OSError, ValueError):  # not there yet, or half written
                continue
            tell("building the simulator", 1, 1)
            tell(*step(first, second))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
