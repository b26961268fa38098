"""Golden model of the index iterator (Sim-D, section 3.2.1): a burst for each index.

The model first decides what a request's bursts are, from the whole list of its indexes, and only
then when each is offered.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from cyclebound.golden.dram.request import BURST_WORDS, COUNT_BITS, Burst, Destination

__all__ = ["Element", "IndexIteratorModel", "IndexedTile", "IteratorOutputs", "bursts_of"]


@dataclass(frozen=True)
class IndexedTile:
    """An indexed request: the buffer from word ``address`` on has ``limit`` words."""

    address: int
    limit: int
    write: bool = False
    destination: int = Destination.REGISTERS
    transform: int = 0


@dataclass(frozen=True)
class Element:
    """An index and where its word goes; or, with ``end``, what follows the last one.

    Raises
    ------
    ValueError
        For an index that hardware has no bits for: it cannot be refused, so it must not be asked.
    """

    index: int = 0
    target: int = 0
    end: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.index < 1 << COUNT_BITS:
            raise ValueError(f"index must be from 0 to {(1 << COUNT_BITS) - 1}, not {self.index}")


def bursts_of(tile: IndexedTile, elements: Iterable[Element]) -> list[Burst]:
    """The bursts of a request, given its elements up to the end; those refused have none."""
    buffer = range(tile.address, tile.address + tile.limit)
    legal = [(buffer[element.index], element.target) for element in elements
             if not element.end and element.index < len(buffer)]
    return [Burst(address=word // BURST_WORDS, mask=1 << word % BURST_WORDS,
                  targets=(target,) * BURST_WORDS, write=tile.write,
                  destination=Destination(tile.destination), transform=tile.transform,
                  indexed=True, last=number == len(legal))
            for number, (word, target) in enumerate(legal, 1)]


@dataclass(frozen=True)
class IteratorOutputs:
    """Outputs of the iterator in one cycle.

    ``empty`` and ``refused`` mean something where ``done`` is set: no burst was issued; an index
    was refused.
    """

    takes_tile: bool
    takes_index: bool
    burst: Burst | None = None
    done: bool = False
    empty: bool = False
    refused: bool = False


class IndexIteratorModel:
    """The iterator, one call a cycle.

    An element that is taken is judged in the next cycle, and then releases the burst of the legal
    one before it: a legal one with another to come, the end with the mark of the last. What is
    released is on offer in the cycle after. A judgement that finds the offer still occupied waits,
    and no element is taken meanwhile.
    """

    def __init__(self) -> None:
        self._tile: IndexedTile | None = None
        self._taken: list[Element] = []     # of this request, all that were judged
        self._judging: Element | None = None
        self._offer: Burst | None = None
        self._issued = 0
        self._nothing = self._done = False
        self._finished: deque[IteratorOutputs] = deque()

    def step(self, tile: IndexedTile | None, element: Element | None, *,
             ready: bool) -> IteratorOutputs:
        """One cycle, in which these are offered, and ``ready`` takes a burst."""
        if self._tile is None:
            done = self._finished.popleft() if self._finished else IteratorOutputs(False, False)
            self._tile, self._taken, self._issued = tile, [], 0
            return IteratorOutputs(True, False, None, done.done, done.empty, done.refused)
        burst, nothing = self._offer, self._nothing
        free = burst is None or ready
        released = self._released()
        moves = released is None or free
        ended = bool(self._taken) and self._taken[-1].end
        takes = moves and not ended and not (self._judging and self._judging.end)
        if free:
            self._offer = None
        if moves:
            if self._judging:
                self._taken.append(self._judging)
                self._nothing = self._judging.end and released is None
            if released is not None:
                self._offer = released
                self._issued += 1
            self._judging = element if takes else None
        if nothing or (burst is not None and burst.last and ready):
            legal = len(bursts_of(self._tile, self._taken))
            self._finished.append(IteratorOutputs(False, False, None, True, legal == 0,
                                                  legal < len(self._taken) - 1))
            self._tile, self._nothing = None, False
        return IteratorOutputs(False, takes, burst)

    def _released(self) -> Burst | None:
        """The burst that the element under judgement releases."""
        if self._tile is None or self._judging is None:
            return None
        bursts = bursts_of(self._tile, [*self._taken, self._judging])
        if self._judging.end:
            return bursts[-1] if bursts else None
        settled = bursts[:-1]  # what follows the last one is not known yet
        if len(settled) <= self._issued:
            return None
        burst = settled[self._issued]
        return burst
