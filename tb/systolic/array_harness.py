"""Measurements on the harness of a systolic array."""

import itertools
from collections.abc import Iterable

from cyclebound.golden.bound import Bound
from cyclebound.golden.harness.faults import SYSTOLIC_ARRAY
from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.scale_sim import LAYERS, total_cycles
from cyclebound.tb.bench import Bench

__all__ = ["ALWAYS", "Sweep", "expect", "measure", "stationary_back_to_back", "stationary_shapes",
           "stationary_stalls"]

ALWAYS = 256
_STALLED = 24    # products of each measurement with stalls
_CLEARING = 100  # cycles of a measurement besides its products, about


async def measure(bench: Bench, *, checks: int, poll: int = 1000,
                  **settings: int) -> dict[str, int]:
    """Make a measurement; the outputs after it.

    ``checks`` is the number of checksums that have to be compared.
    """
    settings["seed"] = bench.rng.getrandbits(64)
    word = bench.inputs.pack(settings)
    before = bench.outputs.unpack(await bench.step(word | bench.inputs["start"].mask))
    bench.drive(word)
    seen = bench.outputs.unpack(await bench.run_until("done", poll=poll))
    faults = [name for bit, name in enumerate(SYSTOLIC_ARRAY) if seen["failed"] >> bit & 1]
    assert not faults, f"the harness found: {', '.join(faults)}"
    for name in ("count", "macs_count"):
        products = settings["repetitions"]
        assert seen[name] == products, f"{name} is {seen[name]} after {products} products"
    checked = (seen["checked"] - before["checked"]) % 2**32
    assert checked == checks, f"{checked} of {checks} checksums were compared"
    bench.compared += checks
    return seen


def expect(bench: Bench, seen: dict[str, int], prefix: str, what: str, cycles: int,
           products: int, **shape: int) -> None:
    """Observe a measurement in which every product took the same time, and compare that time."""
    worst, least = seen[f"{prefix}maximum"], seen[f"{prefix}minimum"]
    bench.observe_counted(what, least, 1 if worst != least else products, **shape)
    if worst != least:
        bench.observe_counted(what, worst, products - 1, **shape)
    assert least == worst == cycles, f"{what} {shape}: {least} to {worst} cycles, bound {cycles}"


class Sweep:
    """Products of given shapes, each by itself, which must take exactly their bounds.

    Parameters
    ----------
    bench : Bench
        With a harness.
    dataflow : Dataflow
        Of its array.
    macs : str
        What the time until the last MAC is observed as.
    to_macs, to_results : Bound
        That time, and the time until the last row of results.
    by_rows : bool
        The harness counts rows of results as checked, and not folds.
    """

    def __init__(self, bench: Bench, dataflow: Dataflow, macs: str, to_macs: Bound,
                 to_results: Bound, *, by_rows: bool) -> None:
        self.bench, self.dataflow, self.macs, self.by_rows = bench, dataflow, macs, by_rows
        self.to_macs, self.to_results = to_macs, to_results
        self.size = {name: bench.parameters[name] for name in ("rows", "columns")}

    async def product(self, m: int, k: int, n: int, *, repetitions: int = 2) -> int:
        """Measure products of one shape; the cycles until the last MAC of one."""
        shape = {"m": m, "k": k, "n": n}
        mapped = map_product(self.dataflow, **self.size, **shape)
        macs = self.to_macs.of({**self.bench.parameters, **shape})
        product = self.to_results.of({**self.bench.parameters, **shape})
        each = mapped.folds * (mapped.time if self.by_rows else 1)
        seen = await measure(
            self.bench, checks=repetitions * each, poll=repetitions * product + _CLEARING, apart=1,
            steps=mapped.time, folds=mapped.folds, repetitions=repetitions, offers=ALWAYS,
            sink=ALWAYS, limit=product, macs_limit=macs)
        expect(self.bench, seen, "", "product", product, repetitions, **shape)
        expect(self.bench, seen, "macs_", self.macs, macs, repetitions, **shape)
        return macs

    async def shapes(self, shapes: Iterable[tuple[int, int, int]]) -> None:
        """Measure products of all ``shapes``, as (m, k, n)."""
        for m, k, n in shapes:
            await self.product(m, k, n)

    async def domain(self) -> None:
        """Every product of the configuration's domain, or the layers of a public simulator."""
        if self.bench.domain:
            ranges = [range(low, high + 1) for low, high in (self.bench.domain[d] for d in "mkn")]
            await self.shapes(itertools.product(*ranges))
        else:
            await self.shapes(LAYERS)

    async def public_simulator(self) -> None:
        """Every layer in the figures of a public simulator takes what it says."""
        for m, k, n in LAYERS:
            cycles = await self.product(m, k, n)
            expected = total_cycles(self.dataflow, **self.size, m=m, k=k, n=n) + 1
            assert cycles == expected, f"{m} x {k} x {n}: {cycles} cycles, {expected} there"

    async def random(self, count: int, most: int) -> None:
        """Products of random shapes up to ``most``."""
        await self.shapes([tuple(self.bench.rng.randint(1, most) for _ in "mkn")
                           for _ in range(count)])


async def stationary_shapes(sweep: Sweep) -> None:
    """Every product of the domain, or the layers of a public simulator; serially, to its cycle."""
    serial = not sweep.bench.parameters.get("double_buffer", True)
    await (sweep.public_simulator() if serial and not sweep.bench.domain else sweep.domain())


async def stationary_back_to_back(bench: Bench) -> None:
    """What stays in the array for a product comes while the one before is computed."""
    for steps, folds in itertools.product((1, 2, bench.parameters["rows"], 40), (1, 2, 7)):
        await measure(bench, checks=20 * folds * steps, steps=steps, folds=folds, repetitions=20,
                      offers=ALWAYS, sink=ALWAYS)


async def stationary_stalls(bench: Bench) -> None:
    """Operands that come late, rows that wait: with a harness of an array whose operands stay."""
    for offers, sink, folds in itertools.product((50, 200, ALWAYS), (20, 150, ALWAYS), (1, 3)):
        for steps in (1, bench.rng.randint(2, 9), 30):
            await measure(bench, checks=_STALLED * folds * steps, steps=steps, folds=folds,
                          repetitions=_STALLED, offers=offers, sink=sink)
