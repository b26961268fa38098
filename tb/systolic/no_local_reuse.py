"""Testbench of the array without local reuse: every output compared in every cycle."""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from cyclebound.golden.systolic.no_local_reuse import NoLocalReuseModel
from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.stream_scoreboard import StreamScoreboard, sometimes
from cyclebound.tb.systolic.two_streams import packed, random_matrix, shapes_of


class ArrayScoreboard(StreamScoreboard):
    """The array and its model."""

    withdraws = True

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.rows, self.columns = p["rows"], p["columns"]
        self.widths = p.get("operand_width", 8), p.get("accumulator_width", 32)
        super().__init__(bench, "operands", "results", NoLocalReuseModel(self.rows, self.widths[1]))

    def payload(self, shown: list[int]) -> int:
        return packed(shown, self.widths[1])

    def also(self) -> Mapping[str, int]:
        return {"active": (1 << self.rows * self.columns) - 1 if self.took else 0}

    async def product(self, m: int, k: int, n: int, *, offers: Iterable[bool] = (),
                      sinks: Iterable[bool] = (), observe: bool = False) -> None:
        """A product; what is added to a tile's sums are random numbers, and the reference knows."""
        bench, (operand, accumulator) = self.bench, self.widths
        a, b = (random_matrix(bench, operand, *shape) for shape in ((m, k), (k, n)))
        down, across = -(-k // self.rows), -(-n // self.columns)
        wide = np.pad(a, ((0, 0), (0, down * self.rows - k)))
        whole = np.pad(b, ((0, down * self.rows - k), (0, across * self.columns - n)))
        begun = random_matrix(bench, operand, m * down * across, self.columns)
        steps = []
        for number, (j, i, t) in enumerate(itertools.product(range(across), range(down),
                                                             range(m))):
            along = slice(i * self.rows, (i + 1) * self.rows)
            tile = whole[along, j * self.columns:(j + 1) * self.columns]
            steps.append((wide[t, along].tolist(), tile.ravel().tolist(), begun[number].tolist()))
        if observe:
            bench.declare("product", m=m, k=k, n=n, operands=len(steps))
        results = await self.play(
            [((left, np.reshape(weights, (self.rows, self.columns)), sums),
              {"left": packed(left, operand), "weights": packed(weights, operand),
               "sums": packed(sums, accumulator)}) for left, weights, sums in steps],
            offers=offers, sinks=sinks)
        if observe:
            bench.undeclare("product")
        own = (np.array(results) - begun).reshape(across, down, m, self.columns).sum(axis=1)
        c = wrap(np.hstack(list(own))[:, :n], accumulator)
        assert np.array_equal(c, wrap(a @ b, accumulator)), f"{m} x {k} x {n} is not numpy's"


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; where there is none, random ones."""
    scoreboard = ArrayScoreboard(bench)
    for m, k, n in shapes_of(bench, 10, (20, 20, 20)):
        await scoreboard.product(m, k, n, observe=True)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    scoreboard, rng = ArrayScoreboard(bench), bench.rng
    for offer, sink in itertools.product((0.3, 1.0), (0.2, 0.7, 1.0)):
        await scoreboard.product(rng.randint(1, 5), rng.randint(1, 9), rng.randint(1, 9),
                                 offers=sometimes(bench, offer), sinks=sometimes(bench, sink))


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128."""
    scoreboard = ArrayScoreboard(bench)
    for _ in range(15):
        m, k, n = (bench.rng.randint(1, 128) for _ in range(3))
        await scoreboard.product(m, k, n, observe=True)
