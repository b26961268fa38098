"""Golden model of the refresh timer: a queue of the refreshes that are owed."""

from collections import deque
from typing import NamedTuple

__all__ = ["RefreshTimerModel", "RefreshTimerOutputs"]


class RefreshTimerOutputs(NamedTuple):
    """Outputs of the timer in one cycle: its members of the same names."""

    request: bool
    owed: int
    urgent: bool
    late: bool


class RefreshTimerModel:
    """Refreshes by the cycle in which each fell due; the oldest is done first.

    Parameters
    ----------
    interval, most : int
        Cycles from one to the next; how many may be owed.

    Attributes
    ----------
    owed : deque[int]
        The cycles in which those that are owed fell due.
    """

    def __init__(self, *, interval: int, most: int) -> None:
        self._interval, self._most = interval, most
        self._cycle, self._late = 0, False
        self.owed: deque[int] = deque()

    def step(self, done: bool) -> tuple[RefreshTimerOutputs, int | None]:
        """One cycle: the outputs, and when the refresh that is done in it fell due, if any is."""
        if self._cycle and self._cycle % self._interval == 0:
            if len(self.owed) == self._most:
                self._late = True
            else:
                self.owed.append(self._cycle)
        self._cycle += 1
        count = len(self.owed)
        shown = RefreshTimerOutputs(count > 0, count, count == self._most, self._late)
        return shown, self.owed.popleft() if done and self.owed else None
