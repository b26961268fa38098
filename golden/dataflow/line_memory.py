"""Golden model of a memory of lines that takes and answers each request within a known time."""

from collections.abc import Callable, MutableSequence

from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest

__all__ = ["LineMemoryModel"]


class LineMemoryModel:
    """Lines below a cache. Requests take effect in the order in which they are taken.

    A request is taken within ``turn`` cycles of its offer, and a read's line is there within
    ``latency`` cycles of being taken, both with the first cycle included. There is one line in a
    cycle. Of those that may come, it is the one whose time ends first: the last moments of reads
    are different cycles, so that none is late.

    Call `takes`, then `answer`, then `step` in each cycle.

    Parameters
    ----------
    words : mutable sequence of int
        All words; changed in place. Words beyond its end are 0, and a write there is lost.
    line : int
        Words of a line.
    turn, latency : int
        At least 1.
    choose : callable
        For each request, from ``turn`` and ``latency``: the cycle in which it is taken, from 1,
        and the first in which its line may come, from 1.
    """

    def __init__(self, words: MutableSequence[int], *, line: int, turn: int = 1, latency: int = 1,
                 choose: Callable[[int, int], tuple[int, int]] = lambda turn, latency:
                 (turn, latency)) -> None:
        self.words, self._line = words, line
        self._turn, self._latency, self._choose = turn, latency, choose
        self._offered: tuple[int, int] | None = None  # cycles until it is taken, and its time
        self._due: list[tuple[int, int, LineAnswer]] = []  # last moment, first moment, line
        self._now = 0

    def takes(self, request: LineRequest | None) -> bool:
        """Whether this request is taken in this cycle."""
        if request is None:
            return False
        if self._offered is None:
            self._offered = self._choose(self._turn, self._latency)
        wait, time = self._offered
        if wait > 1:
            return False
        first = request.line * self._line
        if request.write:
            for place, word in enumerate(request.data):
                if request.mask >> place & 1 and first + place < len(self.words):
                    self.words[first + place] = word
        else:
            there = [int(word) for word in self.words[first:first + self._line]]
            self._due.append((self._now + self._latency - 1, self._now + time - 1, LineAnswer(
                request.id, tuple(there + [0] * (self._line - len(there))))))
        return True

    def answer(self) -> LineAnswer | None:
        """The line that comes in this cycle."""
        ripe = [due for due in self._due if due[1] <= self._now]
        if not ripe:
            return None
        chosen = min(ripe, key=lambda due: due[0])
        self._due.remove(chosen)
        return chosen[2]

    def step(self, taken: bool) -> None:
        """End the cycle."""
        if taken:
            self._offered = None
        elif self._offered is not None:
            self._offered = self._offered[0] - 1, self._offered[1]
        self._now += 1
