"""When a random source makes its offers, and what it offers."""

from collections.abc import Iterator
from itertools import islice

from cyclebound.golden.harness.lfsr import lfsr_bits
from cyclebound.golden.harness.lfsr_spec import (
    COIN_SEED,
    COIN_STEPS,
    COIN_WIDTH,
    LANE_STEPS,
    LANE_WIDTH,
    lane_seed,
)

__all__ = ["SourceModel", "random_payloads"]


def _numbers(width: int, seed: int, bits: int) -> Iterator[int]:
    sequence = lfsr_bits(width, seed)
    while True:
        yield sum(bit << i for i, bit in enumerate(islice(sequence, bits)))


def random_payloads(width: int, seed: int = 0) -> Iterator[int]:
    """Endless payloads of ``width`` bits: a row of lanes, each a bit sequence of its own."""
    lanes = []
    for lane in range(-(-width // LANE_STEPS)):
        own = lane_seed(lane)
        lanes.append(_numbers(LANE_WIDTH, own ^ seed or own, LANE_STEPS))
    while True:
        row = (next(numbers) << LANE_STEPS * i for i, numbers in enumerate(lanes))
        yield sum(row) % 2**width


class SourceModel:
    """One call per cycle; returns ``(valid, payload)`` of that cycle."""

    def __init__(self, width: int) -> None:
        self._width, self._offered = width, False
        self._reseed(0)

    def _reseed(self, seed: int) -> None:
        own = COIN_SEED ^ seed % 2**COIN_WIDTH
        self._coins = _numbers(COIN_WIDTH, own or COIN_SEED, COIN_STEPS)
        self._payloads = random_payloads(self._width, seed)
        self._item = next(self._payloads)

    def step(self, *, enable: bool, threshold: int, ready: bool, load: bool = False,
             seed: int = 0) -> tuple[bool, int]:
        seen = self._offered, self._item
        if self._offered and ready:
            self._item, self._offered = next(self._payloads), False
            load = False
        elif self._offered:
            return seen
        if load:
            self._reseed(seed)
        elif enable:
            self._offered = next(self._coins) < threshold
        return seen
