"""Golden model of a fabric's memory: banks, hits and misses.

Source: SGMF, sections 5 and 5.2 (load/store units are connected to the banks of a first-level cache
by a crossbar), Table 1. What hits is told from outside: a cache's own behaviour is not modelled.
"""

from collections import deque
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from functools import cache

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.golden.harness.lfsr import lfsr_bits
from cyclebound.golden.harness.lfsr_spec import COIN_STEPS, COIN_WIDTH, lane_seed

__all__ = ["CacheModel", "random_cache", "random_misses"]


class CacheModel:
    """Words in banks (address modulo ``banks``), each of which takes one access in a cycle.

    Among units that want the same bank it is round robin. A unit has one answer in a cycle. An
    access that misses is answered ``miss`` cycles after it was taken, both included; one that hits,
    after ``hit`` cycles, or in the next cycle in which the unit has no other answer, in order.

    Parameters
    ----------
    words : mutable sequence of int
        Memory; changed in place.
    units, banks : int
        Load/store units, and banks; banks 0: every unit has a path of its own.
    hit, miss : int
        Cycles of an access, at least 2.
    misses : callable
        Whether the access that a bank (by number; without banks, a unit's path) takes misses;
        called once for each access.
    late : bool
        A load has the word that is there when it is answered, and not when it was taken: memory
        may do either, as long as nothing else of the same thread is under way.
    """

    def __init__(self, words: MutableSequence[int], *, units: int, banks: int = 0, hit: int = 2,
                 miss: int = 2, misses: Callable[[int], bool] = lambda path: False,
                 late: bool = False) -> None:
        self.words, self.banks = words, banks
        self._hit, self._miss, self._misses, self._late = hit, miss, misses, late
        self._turns = [RoundRobinModel(units) for _ in range(banks)]
        # by unit: cycle in which it is due, tag, word, address of a load
        self._due: list[tuple[deque, deque]] = [(deque(), deque()) for _ in range(units)]
        self._now = 0
        self.worst = 0         # cycles of the slowest access so far, from being offered
        self.longest_wait = 0  # cycles that an access waited to be taken
        self._asked: dict[tuple[int, int], int] = {}

    def responses(self) -> list[tuple[int, int] | None]:
        """The answer to each unit in this cycle: tag and word. Call it first in a cycle."""
        answers: list[tuple[int, int] | None] = []
        for unit, queues in enumerate(self._due):
            # a miss is never late
            ripe = next((queue for queue in queues if queue and queue[0][0] <= self._now), None)
            answers.append(None)
            if ripe is not None:
                _, tag, word, address = ripe.popleft()
                answers[-1] = tag, word if address is None else int(self.words[address])
                asked = self._asked.pop((unit, tag))
                self.worst = max(self.worst, self._now - asked + 1)
        return answers

    def step(self, requests: Sequence[TaggedAccess | None]) -> list[bool]:
        """End the cycle in which the units make these requests; returns which are taken."""
        taken = [request is not None and not self.banks for request in requests]
        asking: dict[int, int] = {}
        for unit, request in enumerate(requests):
            if request is not None and self.banks:
                bank = request.address % self.banks
                asking[bank] = asking.get(bank, 0) | 1 << unit
        for bank, who in asking.items():
            taken[self._turns[bank].step(who, accept=True).bit_length() - 1] = True
        for unit, request in enumerate(requests):
            if request is not None:
                self._asked.setdefault((unit, request.tag), self._now)
            if request is not None and taken[unit]:
                waited = self._now - self._asked[unit, request.tag]
                self.longest_wait = max(self.longest_wait, waited)
                word = self.words[request.address]
                if request.write:
                    self.words[request.address] = request.data
                miss = self._misses(request.address % self.banks if self.banks else unit)
                late, prompt = self._due[unit]
                (late if miss else prompt).append(
                    (self._now + (self._miss if miss else self._hit) - 1, request.tag, int(word),
                     request.address if self._late and not request.write else None))
        self._now += 1
        return taken


def random_misses(rate: float) -> Callable[[int], bool]:
    """A share of all accesses, in 256ths, by a shift register for each bank.

    Its low byte is the coin, and it moves on with each access; over its period of 2**31 - 1
    coins, each byte comes 2**23 times (0 once less).
    """
    threshold = round(256 * rate)

    @cache
    def bits(bank: int) -> Iterator[int]:
        return lfsr_bits(COIN_WIDTH, lane_seed(bank) % 2**COIN_WIDTH)

    def misses(bank: int) -> bool:
        coin = bits(bank)
        return sum(next(coin) << i for i in range(COIN_STEPS)) < threshold

    return misses


def random_cache(words: MutableSequence[int], *, units: int, miss_rate: float = 0.0,
                 banks: int = 0, hit: int = 2, miss: int = 2, late: bool = False) -> CacheModel:
    """A `CacheModel` with these accesses that miss."""
    return CacheModel(words, units=units, banks=banks, hit=hit, miss=miss, late=late,
                      misses=random_misses(miss_rate))
