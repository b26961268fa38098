"""A memory beside SHMAC's core, with its reservations for LL and SC. Without any timing.

The thesis (3.2.2.2) keeps an address and a valid bit for each core: LL sets both, SC succeeds if
the bit is set, and then clears it in all entries with that address. What it does not say is decided
here so that a successful SC always means that nothing wrote the word since the LL:

- SC compares the address, too: a core that is interrupted between LL and SC may come with another;
- SC clears the own entry, whether it succeeds or not;
- a plain write clears all entries with its word's address: a lock is freed by a plain store, and
  the value may be the same as before (ABA).
"""

from collections.abc import Mapping

from cyclebound.golden.shmac.machine import CoreAccess

__all__ = ["SharedMemory"]


class SharedMemory:
    """Words, and for each master what it has reserved.

    Parameters
    ----------
    words : mapping
        Addresses of words, with their values. At all others nothing answers.
    """

    def __init__(self, words: Mapping[int, int]) -> None:
        self.words = dict(words)
        self.reserved: dict[int, int] = {}  # master: address

    def fetch(self, address: int) -> int | None:
        """The word at this address; None: nothing answers there."""
        return self.words.get(address)

    def access(self, access: CoreAccess, *, master: int = 0) -> int | None:
        """Make an access: the data of its response, or None for an error."""
        address = access.address
        if address not in self.words:
            return None
        if not access.write:
            if access.sync:
                self.reserved[master] = address
            return self.words[address]
        if access.sync and self.reserved.pop(master, None) != address:
            return 0
        mask = sum(255 << 8 * lane for lane in range(4) if access.strobes >> lane & 1)
        self.words[address] = self.words[address] & ~mask | access.data & mask
        self.reserved = {who: what for who, what in self.reserved.items() if what != address}
        return 1
