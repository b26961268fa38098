"""Golden model of the memory behind a fabric: banks, hits and misses.

Source: SGMF, sections 5 and 5.2 (load/store units are connected to the banks of a first-level cache
by a crossbar), Table 1. What hits is drawn at random: a cache's own behaviour is not modelled.
"""

import random
from collections import deque
from collections.abc import MutableSequence, Sequence

from cyclebound.golden.dataflow.load_store_unit import Access
from cyclebound.golden.noc.arbiter import RoundRobinModel

__all__ = ["CacheModel"]


class CacheModel:
    """Words in banks (address modulo ``banks``), each of which takes one access in a cycle.

    Among units that want the same bank it is round robin. An access takes ``hit`` or ``miss``
    cycles from being taken to its answer, both included; a unit has one answer in a cycle, and
    those that are late go in order.

    Parameters
    ----------
    words : mutable sequence of int
        Memory; changed in place.
    units, banks : int
        Load/store units, and banks; banks 0: every unit has a path of its own.
    hit, miss : int
        Cycles of an access, at least 2.
    miss_rate : float
        The share of accesses that miss.
    seed : int
        Of the misses.
    """

    def __init__(self, words: MutableSequence[int], *, units: int, banks: int = 0, hit: int = 2,
                 miss: int = 2, miss_rate: float = 0.0, seed: int = 1) -> None:
        self.words, self.banks = words, banks
        self._hit, self._miss, self._rate = hit, miss, miss_rate
        self._rng = random.Random(seed)
        self._turns = [RoundRobinModel(units) for _ in range(banks)]
        self._due: list[dict[int, deque[tuple[int, int]]]] = [{} for _ in range(units)]
        self._late: list[deque[tuple[int, int]]] = [deque() for _ in range(units)]
        self._now = 0
        self.worst = 0         # cycles of the slowest access so far, from being offered
        self.longest_wait = 0  # cycles that an access waited to be taken
        self._asked: dict[tuple[int, int], int] = {}

    def responses(self) -> list[tuple[int, int] | None]:
        """What each unit is answered in this cycle: tag and word. Call it first in a cycle."""
        found = []
        for unit, (due, late) in enumerate(zip(self._due, self._late, strict=True)):
            late.extend(due.pop(self._now, ()))
            found.append(late.popleft() if late else None)
            if found[-1] is not None:
                asked = self._asked.pop((unit, found[-1][0]))
                self.worst = max(self.worst, self._now - asked + 1)
        return found

    def step(self, requests: Sequence[Access | None]) -> list[bool]:
        """End the cycle in which the units ask for this: who is taken."""
        taken = [request is not None and not self.banks for request in requests]
        asking: dict[int, int] = {}
        if self.banks:
            for unit, request in enumerate(requests):
                if request is not None:
                    bank = request.address % self.banks
                    asking[bank] = asking.get(bank, 0) | 1 << unit
        for bank, units in asking.items():
            taken[self._turns[bank].step(units, accept=True).bit_length() - 1] = True
        for unit, request in enumerate(requests):
            if request is not None:
                self._asked.setdefault((unit, request.tag), self._now)
            if taken[unit]:
                waited = self._now - self._asked[unit, request.tag]
                self.longest_wait = max(self.longest_wait, waited)
                word = self.words[request.address]
                if request.write:
                    self.words[request.address] = request.data
                wait = self._miss if self._rng.random() < self._rate else self._hit
                self._due[unit].setdefault(self._now + wait - 1, deque()).append(
                    (request.tag, int(word)))
        self._now += 1
        return taken
