"""Operands and products for the testbenches of the arrays in floating point."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.float_layout import OPERAND_WIDTH, SUM_WIDTH
from cyclebound.golden.systolic.mapping import Mapping
from cyclebound.tb.bench import Bench
from cyclebound.tb.stream_scoreboard import sometimes
from cyclebound.tb.systolic.products import declared_product
from cyclebound.tb.systolic.two_streams import TwoStreams, shapes_of

__all__ = ["FloatTester"]

# zeros, ones, infinities, a NaN, the least and the greatest numbers, subnormals
_SPECIAL = (0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC1, 0x0001, 0x007F, 0x0080, 0x7F7F)


class FloatTester(ABC):
    """The array and its model. Each array's own tester says how a product is cut for it.

    Attributes
    ----------
    model : type
        Of the golden model.
    ports : tuple of two str
        The streams of operands.
    macs : str
        What the time until the last MAC is called.
    """

    model: type
    ports: tuple[str, str]
    macs: str

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.rows, self.columns = p["rows"], p["columns"]
        self._streams = TwoStreams(bench, self.model(self.rows, self.columns), self.ports,
                                   OPERAND_WIDTH, SUM_WIDTH)

    @abstractmethod
    def cut(self, a: NDArray, b: NDArray) -> tuple[Sequence[Iterable], int]:
        """Both streams of a product, and how many rows of results there will be."""

    @abstractmethod
    def mapped(self, m: int, k: int, n: int) -> Mapping:
        """The mapping of a product on the array, with all folds that are computed."""

    def _operands(self, rows: int, columns: int) -> NDArray:
        """Bits of random bfloat16: any, special ones, or numbers of about the same size."""
        rng, count = self.bench.rng, rows * columns
        kind = rng.random()
        if kind < 0.3:
            bits = [rng.getrandbits(16) for _ in range(count)]
        elif kind < 0.5:
            bits = rng.choices(_SPECIAL, k=count)
        else:
            bits = [rng.getrandbits(1) << 15 | rng.randint(0x3D00, 0x4200) for _ in range(count)]
        return np.array(bits).reshape(rows, columns)

    async def _product(self, m: int, k: int, n: int, **chances: Iterable[bool]) -> None:
        """All folds of a product; sums over k are left to the caller."""
        streams, count = self.cut(self._operands(m, k), self._operands(k, n))
        await self._streams.play(streams, count, **chances)

    async def shapes(self, count: int, most: Sequence[int]) -> None:
        """Every product of the domain; where there is none, random ones."""
        for m, k, n in shapes_of(self.bench, count, most):
            with declared_product(self.bench, (self.macs, "product"), self.mapped(m, k, n),
                                  m=m, k=k, n=n):
                await self._product(m, k, n)

    async def stalls(self, least: Sequence[int], most: Sequence[int]) -> None:
        """Operands that come late, sums that wait."""
        for offer, sink in itertools.product((0.4, 1.0), (0.1, 0.6, 1.0)):
            shape = [self.bench.rng.randint(*ends) for ends in zip(least, most, strict=True)]
            await self._product(*shape, offers=sometimes(self.bench, offer),
                                sinks=sometimes(self.bench, sink))
