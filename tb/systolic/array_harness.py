"""Harness testbench of systolic arrays: traffic and measurement in hardware.

Blocks share it: `Sweep` has what tells one dataflow from another.
"""

import functools
import itertools
from collections.abc import Iterable

from cyclebound.golden.bound import Bound
from cyclebound.golden.harness.faults import SYSTOLIC_ARRAY
from cyclebound.golden.systolic.bounds import completion, eq5_5, eq5_6
from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.overlapped_output import overlapped_completion, overlapped_macs
from cyclebound.golden.systolic.scale_sim import LAYERS, total_cycles
from cyclebound.golden.systolic.stationary_bounds import (
    input_completion,
    input_fold,
    input_steps,
    weight_completion,
    weight_fold,
    weight_steps,
)
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.products import declared_product

__all__ = ["ALWAYS", "OutputSweep", "Sweep", "expect", "measure", "sweep_of"]

ALWAYS = 256
UTILISATION = 0.95  # of the PEs, that overlapping folds have to reach in a large product
_PRODUCTS = 24   # of each measurement in which products follow each other
_CYCLES = 16_000  # of each such measurement in which products take their bound, about
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
    bench.compare(checked, checks, "the number of checksums compared", count=checks)
    return seen


def expect(seen: dict[str, int], prefix: str, what: str, cycles: int, **shape: int) -> None:
    """Compare the recorder's times, of products that all have to take the same."""
    worst, least = seen[f"{prefix}maximum"], seen[f"{prefix}minimum"]
    assert least == worst == cycles, f"{what} {shape}: {least} to {worst} cycles, not {cycles}"


class Sweep:
    """Products of given shapes, each by itself, which must take exactly their bounds.

    Parameters
    ----------
    bench : Bench
        With a harness.
    dataflow : Dataflow
        Of its array.
    macs : str
        What the time until the last MAC is called.
    fold, to_macs, to_results : Bound
        From the first MAC to the last of a product that has one fold; the time of ``macs``; and
        the time until the last row of results.
    stays : bool
        An operand stays in the array: the harness counts rows of results as checked, and not folds,
        and times MACs from the first row of that operand, unless told otherwise.
    serial : bool
        A fold begins when the one before is over, as in the public simulator.
    """

    def __init__(self, bench: Bench, dataflow: Dataflow, macs: str, fold: Bound, to_macs: Bound,
                 to_results: Bound, *, stays: bool = False, serial: bool = True) -> None:
        self.bench, self.dataflow, self.macs = bench, dataflow, macs
        self.stays, self.serial = stays, serial
        self.fold, self.to_macs, self.to_results = fold, to_macs, to_results
        self.size = {name: bench.parameters[name] for name in ("rows", "columns")}

    def _checks(self, steps: int, folds: int) -> int:
        """Checksums of a product."""
        return folds * (steps if self.stays else 1)

    async def product(self, m: int, k: int, n: int, *, repetitions: int = 2) -> int:
        """Measure products of one shape; the cycles until the last MAC of one."""
        shape = {"m": m, "k": k, "n": n}
        mapped = map_product(self.dataflow, **self.size, **shape)
        macs, product = (bound.of({**self.bench.parameters, **shape})
                         for bound in (self.to_macs, self.to_results))

        async def measured(*what: str, macs_limit: int, **settings: int) -> None:
            with declared_product(self.bench, ("product", *what), mapped, **shape):
                seen = await measure(
                    self.bench, checks=repetitions * self._checks(mapped.time, mapped.folds),
                    poll=repetitions * product + _CLEARING, apart=1, steps=mapped.time,
                    folds=mapped.folds, repetitions=repetitions, offers=ALWAYS, sink=ALWAYS,
                    limit=product, macs_limit=macs_limit, **settings)
            expect(seen, "", "product", product, **shape)
            expect(seen, "macs_", what[0], macs_limit, **shape)

        single = ["fold"] if mapped.folds == 1 else []
        await measured(self.macs, *([] if self.stays else single), macs_limit=macs)
        if single and self.stays:  # the recorder times either
            await measured("fold", from_mac=1,
                           macs_limit=self.fold.of({**self.bench.parameters, **shape}))
        return macs

    async def shapes(self, shapes: Iterable[tuple[int, int, int]]) -> None:
        """Measure products of all ``shapes``, as (m, k, n)."""
        for m, k, n in shapes:
            await self.product(m, k, n)

    async def domain(self) -> None:
        """Every product of the configuration's domain; without one, the public simulator's."""
        if self.bench.domain:
            m, k, n = (range(low, high + 1) for low, high in (self.bench.domain[d] for d in "mkn"))
            await self.shapes(itertools.product(m, k, n))
        else:
            await self.public_simulator()

    async def public_simulator(self) -> None:
        """The layers of a public simulator, which take what it says if folds are serial."""
        for m, k, n in LAYERS:
            cycles = await self.product(m, k, n)
            expected = total_cycles(self.dataflow, **self.size, m=m, k=k, n=n) + 1
            assert cycles == expected or not self.serial, (
                f"{m} x {k} x {n}: {cycles} cycles, {expected} there")

    async def random(self, count: int, most: int) -> None:
        """Products of random shapes up to ``most``."""
        some = functools.partial(self.bench.rng.randint, 1, most)
        await self.shapes([(some(), some(), some()) for _ in range(count)])

    async def back_to_back(self) -> None:
        """A product is offered while the one before is computed; all checksums are right."""
        for steps, folds in itertools.product((1, 2, self.size["rows"], 40), (1, 2, 7)):
            await measure(self.bench, checks=_PRODUCTS * self._checks(steps, folds), steps=steps,
                          folds=folds, repetitions=_PRODUCTS, offers=ALWAYS, sink=ALWAYS)

    async def stalls(self) -> None:
        """Operands that come late, rows that wait: no bound speaks of these."""
        for offers, sink, folds in itertools.product((50, 200, ALWAYS), (20, 150, ALWAYS), (1, 3)):
            for steps in (1, self.bench.rng.randint(2, 9), 30):
                await measure(self.bench, checks=_PRODUCTS * self._checks(steps, folds),
                              steps=steps, folds=folds, repetitions=_PRODUCTS, offers=offers,
                              sink=sink)


class OutputSweep(Sweep):
    """Products on an output-stationary array, which take their bound even without a pause."""

    async def back_to_back(self) -> None:
        rows, columns = self.size["rows"], self.size["columns"]
        for k, folds in itertools.product((1, 2, 3, rows + columns, 40), (1, 2, 7)):
            shape = {"m": rows * folds, "k": k, "n": columns}
            macs, product = (bound.of({**self.size, **shape})
                             for bound in (self.to_macs, self.to_results))
            products = max(2, _CYCLES // macs)
            what = (self.macs, "product", *(["fold"] if folds == 1 else []))
            mapped = map_product(self.dataflow, **self.size, **shape)
            with declared_product(self.bench, what, mapped, **shape):
                seen = await measure(self.bench, checks=products * folds, steps=k, folds=folds,
                                     repetitions=products, offers=ALWAYS, sink=ALWAYS,
                                     limit=product, macs_limit=macs)
            expect(seen, "", "product", product, **shape)
            expect(seen, "macs_", self.macs, macs, **shape)


def sweep_of(bench: Bench) -> Sweep:
    """The measurements of the block that ``bench`` simulates."""
    dataflow = bench.block.partition(".")[2]
    if dataflow == "output_stationary":
        return OutputSweep(bench, Dataflow.OUTPUT, "macs", eq5_5, eq5_6, completion)
    if dataflow == "overlapped_output":
        return Sweep(bench, Dataflow.OUTPUT, "macs", eq5_5, overlapped_macs, overlapped_completion,
                     serial=False)
    stays = {"stays": True, "serial": not bench.parameters["double_buffer"]}
    if dataflow == "weight_stationary":
        return Sweep(bench, Dataflow.WEIGHT, "steps", weight_fold, weight_steps,
                     weight_completion, **stays)
    if dataflow == "input_stationary":
        return Sweep(bench, Dataflow.INPUT, "steps", input_fold, input_steps, input_completion,
                     **stays)
    raise ValueError(f"{bench.block} has no dataflow that this testbench measures")


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; without one, the layers of a public simulator, to its cycle."""
    await sweep_of(bench).domain()


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """A product is offered while the one before is computed."""
    await sweep_of(bench).back_to_back()


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    await sweep_of(bench).stalls()


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and all layers of a public simulator."""
    sweep = sweep_of(bench)
    await sweep.random(60, 128)
    await sweep.public_simulator()


@testbench
async def overlap_pays(bench: Bench) -> None:
    """512 x 512 x 512 keeps nearly all PEs of an array of at least 16 rows busy."""
    sweep = sweep_of(bench)
    if sweep.serial or sweep.size["rows"] < 16:
        return
    cycles = await sweep.product(512, 512, 512, repetitions=1)
    used = 512**3 / (sweep.size["rows"] * sweep.size["columns"] * cycles)
    assert used >= UTILISATION, f"{used:.4f} of all PEs and cycles are used"
