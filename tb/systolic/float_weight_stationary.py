"""Testbench of the weight-stationary array in floating point: every output, in every cycle."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from cyclebound.golden.systolic.float_weight_stationary import FloatWeightStationaryModel
from cyclebound.golden.systolic.weight_stationary import tiles_of
from cyclebound.tb.bench import Bench, testbench

# zeros, ones, infinities, a NaN, the least and the greatest numbers, subnormals
_SPECIAL = (0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC1, 0x0001, 0x007F, 0x0080, 0x7F7F)


def operands(bench: Bench, rows: int, columns: int) -> np.ndarray:
    """Bits of random bfloat16: any, special ones, or numbers of about the same size."""
    rng, count = bench.rng, rows * columns
    kind = rng.random()
    if kind < 0.3:
        bits = [rng.getrandbits(16) for _ in range(count)]
    elif kind < 0.5:
        bits = rng.choices(_SPECIAL, k=count)
    else:
        bits = [rng.getrandbits(1) << 15 | rng.randint(0x3D00, 0x4200) for _ in range(count)]
    return np.array(bits).reshape(rows, columns)


def packed(values: Sequence[int], width: int) -> int:
    """An array of bits on a bus."""
    return sum(int(value) << width * n for n, value in enumerate(values))


class Scene:
    """The array and its model."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.rows, self.columns = p["rows"], p["columns"]
        self.model = FloatWeightStationaryModel(self.rows, self.columns)

    async def product(self, m: int, k: int, n: int, *, offers: Iterator[bool],
                      sinks: Iterator[bool], observe: bool = False) -> None:
        """All folds of a product, one behind the other; sums over k are for who takes them."""
        bench = self.bench
        tiles = tiles_of(operands(bench, m, k), operands(bench, k, n), self.rows, self.columns)
        weights = iter([row for tile in tiles for row in tile.weights])
        left = iter([step for tile in tiles for step in tile.steps()])
        offered: list = [None, None]
        o, first, now, last_mac, taken = bench.outputs, None, 0, 0, 0
        while taken < m * len(tiles):
            now, sink = bench.cycle, next(sinks)
            for side, stream in enumerate((weights, left)):
                if offered[side] is None and next(offers):
                    offered[side] = next(stream, None)
            values = {"results.ready": sink}
            if offered[0] is not None:
                values |= {"weights.valid": 1, "weights.payload": packed(offered[0], 16)}
            if offered[1] is not None:
                values |= {"left.valid": 1, "left.payload.last": offered[1][1],
                           "left.payload.values": packed(offered[1][0], 16)}
            seen = await bench.step(bench.inputs.pack(values))
            takes, accepts, result, active = self.model.step(*offered, sink)
            want = {"weights.ready": takes, "left.ready": accepts, "active": active,
                    "results.valid": result is not None}
            if result is not None:
                want["results.payload"] = packed(result, 32)
                taken += sink
            bench.check(seen, bench.outputs.pack(want), sum(o[name].mask for name in want))
            last_mac = now if active else last_mac
            if takes and offered[0] is not None:
                first, offered[0] = now if first is None else first, None
            if accepts and offered[1] is not None:
                offered[1] = None
        if observe:
            bench.observe("steps", first, last_mac, m=m, k=k, n=n)
            bench.observe("product", first, now, m=m, k=k, n=n)


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; where there is none, random ones."""
    scene, always = Scene(bench), itertools.repeat(True)
    if bench.domain:
        shapes = list(itertools.product(*(range(low, high + 1) for low, high in
                                          (bench.domain[d] for d in "mkn"))))
    else:
        shapes = [tuple(bench.rng.randint(1, most) for most in (60, 9, 9)) for _ in range(8)]
    for m, k, n in shapes:
        await scene.product(m, k, n, offers=always, sinks=always, observe=True)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, sums that wait until there is no room for more."""
    scene, rng = Scene(bench), bench.rng
    for offer, sink in itertools.product((0.3, 1.0), (0.1, 0.6, 1.0)):
        await scene.product(rng.randint(20, 60), rng.randint(1, 5), rng.randint(1, 5),
                            offers=(rng.random() < offer for _ in itertools.count()),
                            sinks=(rng.random() < sink for _ in itertools.count()))
