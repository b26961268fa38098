"""Golden model of the thread sink: which threads have ended in which operand."""

from collections.abc import Collection, Sequence

__all__ = ["ThreadSinkModel"]


class ThreadSinkModel:
    """All threads from 0 on have to arrive at every operand that is needed.

    Parameters
    ----------
    needed : collection of int
        Operands.
    threads : int
        How many are to end.
    """

    def __init__(self, *, needed: Collection[int], threads: int) -> None:
        self._threads = threads
        self._left = {operand: set(range(threads)) for operand in needed}

    @property
    def done(self) -> bool:
        return not any(self._left.values())

    @property
    def ended(self) -> int:
        """Threads that have arrived everywhere."""
        return self._threads - max(map(len, self._left.values()), default=0)

    def step(self, offers: Sequence[tuple[int, int] | None]) -> bool:
        """One cycle: the tokens (thread, value) that arrive. Returns whether all have ended."""
        done = self.done
        for operand, left in self._left.items():
            offer = offers[operand]
            if offer is not None:
                left.remove(offer[0])
        return done
