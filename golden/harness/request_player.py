"""When a player offers each entry of its list, and when the entry is taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Offer", "PlayerModel"]


@dataclass(frozen=True)
class Offer:
    """One entry as played: offered from cycle ``first`` until it is taken in cycle ``taken``."""

    first: int
    taken: int
    payload: int


class PlayerModel:
    """Works out the whole run from the entries, without going through it cycle by cycle.

    Attributes
    ----------
    offers : list[Offer]
        What was played, in order.
    done : int
        First cycle in which the player reports that it is done.
    """

    FILL = 3
    """Cycles from start to the first offer, if its gap is 0."""

    def __init__(self, entries: Sequence[tuple[int, int]], *, start: int,
                 ready: Callable[[int], bool], repeat: int = 1) -> None:
        self.offers: list[Offer] = []
        at = start + self.FILL
        for gap, payload in list(entries) * repeat:
            first = taken = at + gap
            while not ready(taken):
                taken += 1
            self.offers.append(Offer(first, taken, payload))
            at = taken + 1
        self.done = at if self.offers else start + 2

    def at(self, cycle: int) -> int | None:
        """Payload on offer in ``cycle``, or None."""
        return next((o.payload for o in self.offers if o.first <= cycle <= o.taken), None)
