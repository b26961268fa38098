"""Flits on the packed buses, and senders that keep to the rules of streams."""

import random
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from cyclebound.golden.noc.wormhole_router import Flit
from cyclebound.tb.bus import Bus, Field

__all__ = ["FlitPort", "Sender", "surges"]

Item = TypeVar("Item")


class FlitPort:
    """The fields of one stream of flits.

    ``own`` is the bus that carries ``valid`` and the payload, ``other`` the one with ``ready``.
    """

    def __init__(self, own: Bus, other: Bus, name: str) -> None:
        self.valid: Field = own[f"{name}.valid"]
        self.payload: Field = own[f"{name}.payload"]
        self.ready: Field = other[f"{name}.ready"]
        self.width = own[f"{name}.payload.data"].width
        self.wide = self.valid.mask | self.payload.mask

    def word(self, flit: Flit | None) -> int:
        """The bus word that offers ``flit``."""
        if flit is None:
            return 0
        bits = flit.data | flit.first << self.width | flit.last << self.width + 1
        return self.valid.mask | self.payload.to(bits)


class Sender(Generic[Item]):
    """Offers flits, or packets, one by one, each until it is taken."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.waiting = deque(items)
        self.offer: Item | None = None

    def begin(self, *, come: bool = True) -> Item | None:
        """The one on offer in this cycle, or None; a new one is offered only if ``come``."""
        if self.offer is None and self.waiting and come:
            self.offer = self.waiting.popleft()
        return self.offer

    def taken(self) -> None:
        """The offer has been taken in this cycle."""
        self.offer = None

    @property
    def done(self) -> bool:
        return self.offer is None and not self.waiting


def surges(rng: random.Random, senders: int) -> Iterator[list[bool]]:
    """Which senders may begin an offer, cycle by cycle: many at once, then none for some cycles.

    So several begin in one cycle, at an output that is busy as well as at an idle one, whose
    arbiter has to remember its last turn.
    """
    while True:
        load = rng.choice((0.3, 0.6, 1.0))
        for _ in range(rng.randint(1, 4)):
            yield [rng.random() < load for _ in range(senders)]
        for _ in range(rng.choice((0, 1, 3, 9))):
            yield [False] * senders
