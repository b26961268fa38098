"""Testbench of the matrix multiplier: every row of every product against numpy, to the cycle."""

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.matmul import a_words, b_words, expected_rows, product_of
from cyclebound.golden.systolic.scale_sim import LAYERS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.two_streams import packed, random_matrix

_RANDOM = 25  # products where there is no domain


class MatmulTester:
    """The multiplier between memories that are filled from outside, and numpy."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.rows, self.columns = p["rows"], p["columns"]
        self.operand_width = p.get("operand_width", 8)
        self.depths = p.get("a_depth", 1024), p.get("b_depth", 1024)
        o = bench.outputs
        self._valid, self._result = o["results.valid"].mask, o["results.payload"]

    def fits(self, m: int, k: int, n: int) -> bool:
        """Whether both memories hold the operands."""
        return (-(-k // self.rows) * m <= self.depths[0]
                and -(-n // self.columns) * k <= self.depths[1])

    async def _load(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
        """Fill both memories, a word of each in each cycle."""
        bench, rows = self.bench, self.rows
        words = itertools.zip_longest(a_words(a, rows), b_words(b, rows, self.columns))
        for address, pair in enumerate(words):
            values: dict[str, int] = {}
            for name, word in zip("ab", pair, strict=True):
                if word is not None:
                    values |= {f"load_{name}.valid": 1,
                               f"load_{name}.payload.address": address,
                               f"load_{name}.payload.data": packed(word, self.operand_width)}
            await bench.step(bench.inputs.pack(values))

    async def product(self, m: int, k: int, n: int, *, sinks: Iterator[bool] | None = None) -> None:
        """One product; without ``sinks`` it has to take exactly its time."""
        a, b = (random_matrix(self.bench, self.operand_width, *shape)
                for shape in ((m, k), (k, n)))
        await self.multiply(a, b, sinks=sinks)

    async def multiply(self, a: NDArray[np.int64], b: NDArray[np.int64], *,
                       sinks: Iterator[bool] | None = None) -> NDArray[np.int64]:
        """A B, compared with numpy row by row; without ``sinks`` its time is measured."""
        bench, (m, k), n = self.bench, a.shape, b.shape[1]
        await self._load(a, b)
        expected = expected_rows(a, b, self.columns, bench.parameters.get("accumulator_width", 32))
        command = bench.inputs.pack({"command.valid": 1, "command.payload.m": m,
                                     "command.payload.k": k, "command.payload.n": n})
        ready = bench.inputs["results.ready"].mask
        if sinks is None:
            bench.declare("matmul", commands=1, rows_of_c=len(expected))
        seen = await bench.step(command)
        assert seen & bench.outputs["command.ready"].mask, "an idle multiplier refuses a command"
        rows: list[list[int]] = []
        width, mask = 32, (1 << 32) - 1
        while len(rows) < len(expected):
            sink = sinks is None or next(sinks)
            seen = await bench.step(ready if sink else 0)
            shown = expected[len(rows)]
            word = sum((value & mask) << width * i for i, value in enumerate(shown))
            care = bench.outputs["command.ready"].mask
            if seen & self._valid:
                bench.check(seen, self._valid | self._result.to(word),
                            care | self._valid | self._result.mask)
                if sink:
                    rows.append(shown)
            else:
                bench.check(seen, 0, care)
        if sinks is None:
            bench.undeclare("matmul")
        c = product_of(rows, m, n)
        assert np.array_equal(c, a @ b), f"{m} x {k} x {n} is not numpy's"
        return c


@testbench
async def every_product(bench: Bench) -> None:
    """Every product of the domain; without one, small layers of a public simulator and others."""
    tester = MatmulTester(bench)
    if bench.domain:
        ranges = [range(low, high + 1) for low, high in (bench.domain[d] for d in "mkn")]
        shapes = list(itertools.product(*ranges))
    else:
        shapes = [shape for shape in LAYERS if max(shape) <= 64 and tester.fits(*shape)]
        shapes += [tuple(bench.rng.randint(1, 40) for _ in "mkn") for _ in range(_RANDOM)]
    for shape in shapes:
        await tester.product(*shape)


@testbench
async def results_that_wait(bench: Bench) -> None:
    """A sink that is not always ready: the same products, later."""
    tester = MatmulTester(bench)
    for chance in (0.2, 0.7):
        for _ in range(10):
            m, k, n = (bench.rng.randint(1, 2 * size + 2) for size in
                       (4, tester.rows, tester.columns))
            await tester.product(m, k, n, sinks=(bench.rng.random() < chance
                                                 for _ in itertools.count()))
