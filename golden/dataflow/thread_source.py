"""Golden model of the thread source (SGMF, section 2.1)."""

from collections import deque

__all__ = ["ThreadSourceModel"]


class ThreadSourceModel:
    """A list of tokens (thread, value) that is made at the start.

    Parameters
    ----------
    threads : int
        How many there are.
    value : int or None
        What each token holds; None: its thread's number.
    first : int
        The number of thread 0, of a core that has a range of them.
    width : int
        Bits of a number.
    """

    def __init__(self, *, threads: int, value: int | None, first: int = 0, width: int = 32
                 ) -> None:
        self._tokens = [(tid, (first + tid) % (1 << width) if value is None else value)
                        for tid in range(threads)]
        self.waiting: deque[tuple[int, int]] = deque()

    def step(self, start: bool, ready: bool) -> tuple[int, int] | None:
        """One cycle: the token on offer."""
        shown = self.waiting[0] if self.waiting else None
        if shown is not None:
            if ready:
                self.waiting.popleft()
        elif start:
            self.waiting.extend(self._tokens)
        return shown
