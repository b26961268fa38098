"""Measurements on the harness of a systolic array."""

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
from cyclebound.tb.bench import Bench
from cyclebound.tb.systolic.products import declared_product

__all__ = ["ALWAYS", "Sweep", "expect", "input_sweep", "large_product", "measure", "output_sweep",
           "overlapped_sweep", "weight_sweep"]

ALWAYS = 256
UTILISATION = 0.95  # of the PEs, that overlapping folds have to reach in a large product
_PRODUCTS = 24   # of each measurement in which products follow each other
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
            ranges = [range(low, high + 1) for low, high in (self.bench.domain[d] for d in "mkn")]
            await self.shapes(itertools.product(*ranges))
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
        await self.shapes([tuple(self.bench.rng.randint(1, most) for _ in "mkn")
                           for _ in range(count)])

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


def output_sweep(bench: Bench) -> Sweep:
    """Of an output-stationary array."""
    return Sweep(bench, Dataflow.OUTPUT, "macs", eq5_5, eq5_6, completion)


def overlapped_sweep(bench: Bench) -> Sweep:
    """Of one whose folds overlap."""
    return Sweep(bench, Dataflow.OUTPUT, "macs", eq5_5, overlapped_macs, overlapped_completion,
                 serial=False)


def weight_sweep(bench: Bench) -> Sweep:
    """Of a weight-stationary array."""
    return Sweep(bench, Dataflow.WEIGHT, "steps", weight_fold, weight_steps, weight_completion,
                 stays=True, serial=not bench.parameters["double_buffer"])


def input_sweep(bench: Bench) -> Sweep:
    """Of an input-stationary array."""
    return Sweep(bench, Dataflow.INPUT, "steps", input_fold, input_steps, input_completion,
                 stays=True, serial=not bench.parameters["double_buffer"])


async def large_product(sweep: Sweep) -> None:
    """512 x 512 x 512 on an array of at least 16 rows: overlap has to pay."""
    if sweep.serial or sweep.size["rows"] < 16:
        sweep.bench.compared += 1
        return
    cycles = await sweep.product(512, 512, 512, repetitions=1)
    used = 512**3 / (sweep.size["rows"] * sweep.size["columns"] * cycles)
    assert used >= UTILISATION, f"{used:.4f} of all PEs and cycles are used"
