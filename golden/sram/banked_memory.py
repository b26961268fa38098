"""Golden model of the banked local memory (memory-composition, section III.A)."""

from collections.abc import Mapping
from dataclasses import dataclass

from cyclebound.golden.arbiter import RoundRobinModel

__all__ = ["BankModel", "BankResult", "WordAccess"]


@dataclass(frozen=True)
class WordAccess:
    """One word's access. ``write`` has a bit for each byte that is written; 0 is a read."""

    address: int
    write: int = 0
    data: int = 0


@dataclass(frozen=True)
class BankResult:
    """Outputs of a bank in one cycle.

    ``granted``: the requester served in this cycle. ``reader``, ``data``: whose read, granted in
    the cycle before, is answered in this cycle, and with what.
    """

    granted: int | None
    reader: int | None
    data: int


class BankModel:
    """One bank: a store of bytes, and a queue of requesters.

    Banks are independent ("concurrent accesses to different banks have no impact on bandwidth"),
    so that a memory of several banks is several of these.

    Parameters
    ----------
    requesters : int
        Number of requesters, each with a path of its own.
    word_bytes : int
        Bytes in a word; byte *i* is bits ``8 * i`` to ``8 * i + 7``.
    """

    def __init__(self, *, requesters: int, word_bytes: int) -> None:
        self._arbiter = RoundRobinModel(requesters)
        self._bytes: dict[tuple[int, int], int] = {}
        self._lanes = range(word_bytes)
        self._answer: tuple[int | None, int] = (None, 0)

    def word(self, address: int) -> int:
        """The word at ``address``; memory holds zeros at first."""
        return sum(self._bytes.get((address, lane), 0) << 8 * lane for lane in self._lanes)

    def step(self, offers: Mapping[int, WordAccess]) -> BankResult:
        """One cycle in which the requesters in ``offers`` each offer an access."""
        reader, data = self._answer
        grant = self._arbiter.step(sum(1 << who for who in offers), accept=True)
        granted = grant.bit_length() - 1 if grant else None
        self._answer = (None, 0)
        if granted is not None:
            access = offers[granted]
            if access.write:
                for lane in self._lanes:
                    if access.write >> lane & 1:
                        self._bytes[access.address, lane] = access.data >> 8 * lane & 0xFF
            else:
                self._answer = granted, self.word(access.address)
        return BankResult(granted, reader, data)
