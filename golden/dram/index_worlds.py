"""Which bank is which, left open: sets of worlds, each of which gives every role a bank.

A search over requests does not say bank 5 before it has to. It says *a second bank of group 1*, a
role; a `Worlds` knows all ways to give the roles of each group the banks of that group, for every
place at which a buffer of so many rows can begin. A set of worlds is an integer, a bit for each.
"""

import itertools
import zlib
from functools import cache, lru_cache

import numpy as np

from cyclebound.golden.dram.timing import Part

__all__ = ["Role", "Worlds"]

Role = tuple[int, int]
"""Group, and number within it."""

Names = tuple[tuple[int, ...], ...]
"""For each group, the roles as they were called before, in their new order."""


_LARGE = 1 << 12  # worlds: less are as large when compressed
_MEMORY = 1 << 31  # bits of all sets that a cache remembers


class Worlds:
    """All ways to give roles their banks, in buffers of ``rows`` rows, at most nB.

    Attributes
    ----------
    roles : int
        In a group, at most.
    all : int
        The set of all worlds.
    """

    def __init__(self, part: Part, rows: int) -> None:
        self.part = part
        firsts = range(part.banks if rows < part.banks else 1)
        covered = [[sorted(bank for row in range(rows)
                           if part.bank_group(bank := (first + row) % part.banks) == group)
                    for group in range(part.bank_groups)] for first in firsts]
        self.roles = max(len(banks) for each in covered for banks in each)
        self._orders = list(itertools.permutations(range(self.roles)))
        self._number = {order: number for number, order in enumerate(self._orders)}
        self._shape = (len(firsts), *[len(self._orders)] * part.bank_groups)
        padded = np.array([[banks + [-1] * (self.roles - len(banks)) for banks in each]
                           for each in covered], dtype=np.int8)
        orders = np.array(self._orders)
        self._banks = {}
        for group, role in itertools.product(range(part.bank_groups), range(self.roles)):
            shape = [1] * len(self._shape)
            shape[0], shape[1 + group] = len(firsts), len(self._orders)
            self._banks[group, role] = padded[:, group, orders[:, role]].reshape(shape)
        self._size = int(np.prod(self._shape))
        self.all = self._set(np.ones((1,), dtype=bool))
        self.exists, self.nearer = cache(self._exists), cache(self._nearer)
        self.in_front = cache(self._in_front)
        most = min(1 << 16, _MEMORY // self._size)
        self.nearest = lru_cache(maxsize=most)(self._nearest)
        self.fullest = lru_cache(maxsize=most)(self._fullest)
        self.renamed = lru_cache(maxsize=most)(self._renamed)
        self._sources = cache(self._source)

    def _set(self, holds: np.ndarray) -> int:
        bits = np.broadcast_to(holds, self._shape).ravel()
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")

    def _bits(self, worlds: int) -> np.ndarray:
        data = np.frombuffer(worlds.to_bytes(-(-self._size // 8), "little"), dtype=np.uint8)
        return np.unpackbits(data, count=self._size, bitorder="little").reshape(self._shape)

    def _exists(self, role: Role) -> int:
        """Worlds in which ``role`` has a bank."""
        return self._set(self._banks[role] >= 0)

    def _distance(self, role: Role, current: Role | None) -> np.ndarray:
        base = 0 if current is None else self._banks[current] & ~1
        return (self._banks[role] - base) % self.part.banks

    def _nearer(self, role: Role, other: Role, current: Role | None) -> int:
        """Worlds in which ``role`` is nearer behind the pair of ``current`` than ``other``."""
        return self._set(self._distance(role, current) < self._distance(other, current))

    def _in_front(self, role: Role, current: Role | None) -> int:
        """Worlds in which ``role`` has a bank of the pair of ``current``, or of a higher number."""
        base = 0 if current is None else self._banks[current] & ~1
        return self._set(self._banks[role] >= base)

    def _nearest(self, role: Role, ready: tuple[Role, ...], current: Role | None) -> int:
        """Worlds in which no other role of ``ready`` is nearer behind the pair of ``current``."""
        chosen = self.all
        for other in ready:
            if other != role:
                chosen &= self.nearer(role, other, current)
        return chosen

    def _fullest(self, role: Role, others: tuple[tuple[Role, int], ...], current: Role | None
                 ) -> int:
        """Worlds in which rule 5 chooses ``role`` and none of ``others``.

        With each of them goes whether it has more words (1), fewer (-1) or as many (0). Roles in
        front go first, then those with most words, then the lowest bank.
        """
        chosen, front = self.all, self.in_front(role, current)
        for other, more in others:
            ahead = self.in_front(other, current)
            beaten = (0 if more > 0 else self.all if more < 0 else self.nearer(role, other, None))
            chosen &= (front & ~ahead) | (beaten & ~(ahead ^ front))
        return chosen

    def keep(self, worlds: int) -> int | bytes:
        """A set in less memory, if it is large; `kept` has it back."""
        if self._size < _LARGE:
            return worlds
        return zlib.compress(worlds.to_bytes(-(-self._size // 8), "little"), 1)

    def kept(self, kept: int | bytes) -> int:
        """The set that `keep` was given."""
        if isinstance(kept, int):
            return kept
        return int.from_bytes(zlib.decompress(kept), "little")

    def _renamed(self, worlds: int, names: Names) -> int:
        """The same worlds when each role has the name of another of its group."""
        if worlds == self.all:
            return worlds
        bits = self._bits(worlds)
        for group, name in enumerate(names):
            if name != tuple(range(len(name))):
                bits = bits.take(self._sources(name), axis=1 + group)
        return self._set(bits)

    def _source(self, name: tuple[int, ...]) -> list[int]:
        before = [name.index(role) if role in name else role for role in range(self.roles)]
        return [self._number[tuple(order[role] for role in before)] for order in self._orders]

    def one_of(self, worlds: int) -> int:
        """The number of some world of a set that is not empty."""
        return (worlds & -worlds).bit_length() - 1

    def before(self, world: int, names: Names) -> int:
        """The number that a world had before its roles got their new names."""
        place = list(np.unravel_index(world, self._shape))
        for group, name in enumerate(names):
            place[1 + group] = self._sources(name)[place[1 + group]]
        return int(np.ravel_multi_index(place, self._shape))

    def first(self, world: int) -> int:
        """The bank of the first row of the buffer."""
        return int(np.unravel_index(world, self._shape)[0])

    def bank(self, world: int, role: Role) -> int:
        """The bank of a role."""
        banks = np.broadcast_to(self._banks[role], self._shape)
        return int(banks[np.unravel_index(world, self._shape)])
