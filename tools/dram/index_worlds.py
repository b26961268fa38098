"""Which bank is which, left open: sets of worlds, each of which gives every role a bank.

A search over requests does not say bank 5 before it has to. It says *a second bank of group 1*, a
role; a `Worlds` knows all ways to give the roles of each group the banks of that group, for every
place at which a buffer of so many rows can begin. A set of worlds is an integer, a bit for each.
"""

import bisect
import itertools
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np

from cyclebound.golden.dram.timing import Part

__all__ = ["AnyWorld", "Names", "Role", "Worlds"]

Role = tuple[int, int]
"""Group, and number within it."""

Names = tuple[tuple[int, ...], ...]
"""By group, the former names of the roles, in their new order."""


_LARGE = 1 << 11  # worlds: a search with sets of fewer takes less time than an outline
_HUGE = 1 << 15  # worlds: sets of fewer need no compressing
_MEMORY = 1 << 31  # bits of all sets that a cache remembers


class AnyWorld:
    """All worlds taken for one: what might be chosen in any of them, is.

    It over-approximates: infeasible requests are included, and no feasible one is left out. Only
    the number of banks of each group is known: ``sizes``, in descending order.
    """

    all = 1

    def __init__(self, part: Part, rows: int) -> None:
        self.sizes = _sizes(part, range(rows))

    def askable(self, groups: Sequence) -> list[Role]:
        """Roles that a word may have; one of those that are the same, but for their names."""
        amounts = [len(group[-1]) for group in groups]
        roles = {}
        for number, group in enumerate(groups):
            more = sorted([*amounts[:number], amounts[number] + 1, *amounts[number + 1:]])
            if all(map(int.__le__, reversed(more), self.sizes)):
                roles[group, None] = number, amounts[number]
            for role, bank in enumerate(group[-1]):
                roles[group, bank] = number, role
        return list(roles.values())

    def exists(self, role: Role) -> int:
        """Worlds in which ``role`` may be chosen: any."""
        return 1

    def nearest(self, role: Role, ready: tuple[Role, ...], current: Role | None) -> int:
        """Worlds in which ``role`` may be chosen among those that are ready: any."""
        return 1

    def fullest(self, role: Role, others: tuple[tuple[Role, int], ...], current: Role | None
                ) -> int:
        """Before the first column command, all are in front: no other has more words."""
        return int(current is not None or all(more <= 0 for _, more in others))

    def renamed(self, worlds: int, names: Names) -> int:
        """These worlds under other names of the roles: the same set."""
        return worlds


class _Place:
    """Worlds of the buffers that begin in bank ``first``; an array of as many ways as each group's
    roles can get its banks."""

    def __init__(self, part: Part, first: int, rows: int) -> None:
        covered = [sorted(bank for row in range(rows)
                          if part.bank_group(bank := (first + row) % part.banks) == group)
                   for group in range(part.bank_groups)]
        self._covered = covered
        self.first, self.sizes = first, tuple(map(len, covered))
        orders = [_orders(size) for size in self.sizes]
        self.shape = tuple(map(len, orders))
        self.worlds = math.prod(self.shape)
        self._banks = {}
        for group, banks in enumerate(covered):
            for role in range(len(banks)):
                ways = [1] * len(covered)
                ways[group] = -1
                self._banks[group, role] = np.array(
                    [banks[order[role]] for order in orders[group]], dtype=np.int8).reshape(ways)

    def banks(self, role: Role) -> np.ndarray:
        """The bank of a role in each world; -1 if there is none."""
        return self._banks.get(role, np.full((1,) * len(self.shape), -1, dtype=np.int8))

    def asked(self, banks: tuple[int, ...]) -> int:
        def turn(bank: int) -> int:
            return banks.index(bank) if bank in banks else len(banks)

        orders = [tuple(place for place, _ in sorted(enumerate(covered),
                                                     key=lambda entry: turn(entry[1])))
                  for covered in self._covered]
        return int(np.ravel_multi_index([_orders(len(order)).index(order) for order in orders],
                                        self.shape))

    def bank(self, world: int, role: Role) -> int:
        return int(np.broadcast_to(self.banks(role), self.shape).flat[world])

    def renamed(self, bits: np.ndarray, names: Names) -> np.ndarray:
        bits = bits.reshape(self.shape)
        for group, name in enumerate(names):
            if name != tuple(range(len(name))):
                bits = bits.take(_sources(self.sizes[group], name), axis=group)
        return bits.ravel()

    def before(self, world: int, names: Names) -> int:
        place = [_sources(size, name)[renaming] for size, name, renaming in zip(
            self.sizes, names, np.unravel_index(world, self.shape), strict=True)]
        return int(np.ravel_multi_index(place, self.shape))


@cache
def _orders(size: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(size)))


@cache
def _sources(size: int, name: tuple[int, ...]) -> list[int]:
    """By order, the number of the order that it was before the roles were renamed."""
    number = {order: place for place, order in enumerate(_orders(size))}
    before = [name.index(role) if role in name else role for role in range(size)]
    return [number[tuple(order[role] for role in before)] for order in _orders(size)]


def _sizes(part: Part, rows: Iterable[int]) -> list[int]:
    """Banks of each group, in descending order, if rows follow each other."""
    amounts = Counter(part.bank_group(row % part.banks) for row in rows)
    return sorted((amounts[group] for group in range(part.bank_groups)), reverse=True)


class Worlds:
    """All ways to give roles their banks, in buffers of ``rows`` rows, at most nB.

    Attributes
    ----------
    roles : int
        In a group, at most.
    all : int
        The set of all worlds.
    large : bool
        Whether a set takes so much memory that searches had better be small.
    """

    def __init__(self, part: Part, rows: int) -> None:
        self.part = part
        self._places = [_Place(part, first, rows)
                        for first in range(part.banks if rows < part.banks else 1)]
        self._begin = list(itertools.accumulate(
            (place.worlds for place in self._places), initial=0))
        self._size = self._begin[-1]
        self.roles = max(max(place.sizes) for place in self._places)
        self.all = (1 << self._size) - 1
        self.large = self._size >= _LARGE
        self.exists, self.nearer = cache(self._exists), cache(self._nearer)
        self.in_front = cache(self._in_front)
        most = min(1 << 16, _MEMORY // self._size)
        self.nearest = lru_cache(maxsize=most)(self._nearest)
        self.fullest = lru_cache(maxsize=most)(self._fullest)
        self.renamed = lru_cache(maxsize=most)(self._renamed)

    def askable(self, groups: Sequence) -> list[Role]:
        """Roles that a word may have."""
        return [(number, role) for number, group in enumerate(groups)
                for role in range(min(len(group[-1]) + 1, self.roles))]

    def _set(self, holds: list[np.ndarray]) -> int:
        bits = np.concatenate([np.broadcast_to(hold, place.shape).ravel()
                               for hold, place in zip(holds, self._places, strict=True)])
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")

    def _exists(self, role: Role) -> int:
        """Worlds in which ``role`` has a bank."""
        return self._set([place.banks(role) >= 0 for place in self._places])

    def _distance(self, place: _Place, role: Role, current: Role | None) -> np.ndarray:
        base = 0 if current is None else place.banks(current) & ~1
        return (place.banks(role) - base) % self.part.banks

    def _nearer(self, role: Role, other: Role, current: Role | None) -> int:
        """Worlds in which ``role`` is nearer after the pair of ``current`` than ``other``."""
        return self._set([self._distance(place, role, current)
                          < self._distance(place, other, current) for place in self._places])

    def _in_front(self, role: Role, current: Role | None) -> int:
        """Worlds in which ``role`` has a bank of the pair of ``current``, or of a higher number."""
        return self._set([place.banks(role) >= (0 if current is None else place.banks(current) & ~1)
                          for place in self._places])

    def _nearest(self, role: Role, ready: tuple[Role, ...], current: Role | None) -> int:
        """Worlds in which no other role of ``ready`` is nearer after the pair of ``current``."""
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
        if self._size < _HUGE:
            return worlds
        return zlib.compress(worlds.to_bytes(-(-self._size // 8), "little"), 1)

    def kept(self, kept: int | bytes) -> int:
        """The set that `keep` was given."""
        if isinstance(kept, int):
            return kept
        return int.from_bytes(zlib.decompress(kept), "little")

    def _renamed(self, worlds: int, names: Names) -> int:
        """These worlds when each role has the name of another of its group."""
        if worlds == self.all or all(name == tuple(range(len(name))) for name in names):
            return worlds
        data = np.frombuffer(worlds.to_bytes(-(-self._size // 8), "little"), dtype=np.uint8)
        bits = np.unpackbits(data, count=self._size, bitorder="little")
        for place, begin in zip(self._places, self._begin, strict=False):
            here = bits[begin:begin + place.worlds]
            if here.any():
                here[:] = place.renamed(here, names)
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")

    def asked(self, first: int, banks: Iterable[int]) -> int:
        """The number of a world in which the buffer begins in ``first``, and the roles of each
        group have their banks in the order in which they are asked for."""
        number = [place.first for place in self._places].index(first)
        return self._begin[number] + self._places[number].asked(tuple(dict.fromkeys(banks)))

    def _at(self, world: int) -> tuple[_Place, int]:
        number = bisect.bisect_right(self._begin, world) - 1
        return self._places[number], self._begin[number]

    def one_of(self, worlds: int) -> int:
        """The number of some world of a set that is not empty."""
        return (worlds & -worlds).bit_length() - 1

    def before(self, world: int, names: Names) -> int:
        """The number that a world had before its roles got their new names."""
        place, begin = self._at(world)
        return begin + place.before(world - begin, names)

    def first(self, world: int) -> int:
        """The bank of the first row of the buffer."""
        return self._at(world)[0].first

    def bank(self, world: int, role: Role) -> int:
        """The bank of a role."""
        place, begin = self._at(world)
        return place.bank(world - begin, role)
