"""Harness testbench of the output-stationary array: traffic and measurement in hardware."""

import itertools

from cyclebound.golden.harness.faults import OUTPUT_STATIONARY
from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.tb.bench import Bench, testbench

ALWAYS = 256
CYCLES = 16_000  # of each measurement without stalls, about
FOLDS = (1, 2, 7)
STALLED = 24     # products of each measurement with stalls


async def _measure(bench: Bench, **settings: int) -> dict[str, int]:
    """Make a measurement; the outputs after it."""
    settings["seed"] = bench.rng.getrandbits(64)
    word = bench.inputs.pack(settings)
    before = bench.outputs.unpack(await bench.step(word | bench.inputs["start"].mask))
    bench.drive(word)
    seen = bench.outputs.unpack(await bench.run_until("done", poll=1000))
    faults = [name for bit, name in enumerate(OUTPUT_STATIONARY) if seen["failed"] >> bit & 1]
    assert not faults, f"the harness found: {', '.join(faults)}"
    products, folds = settings["repetitions"], settings["repetitions"] * settings["folds"]
    for name in ("count", "macs_count"):
        assert seen[name] == products, f"{name} is {seen[name]} after {products} products"
    checked = (seen["checked"] - before["checked"]) % 2**32
    assert checked == folds, f"the checksums of {checked} of {folds} folds were compared"
    bench.compared += folds
    return seen


async def _observe(bench: Bench, prefix: str, what: str, seen: dict[str, int], bound: int,
                   products: int, **shape: int) -> None:
    """Observe all latencies of a histogram; every one of them is the bound."""
    known = 0
    for latency in range(seen[f"{prefix}minimum"], seen[f"{prefix}maximum"] + 1):
        word = bench.inputs.pack({"histogram_address": latency})
        await bench.step(word)
        outputs = await bench.step(word)
        count = bench.outputs[f"{prefix}histogram_count"].of(outputs)
        bench.observe_counted(what, latency, count, **shape)
        if what == "macs" and shape["m"] <= bench.parameters["rows"]:
            bench.observe_counted("fold", latency, count, **shape)
        known += count
    assert known == products, f"the histogram holds {known} of {products} {what} latencies"
    worst, least = seen[f"{prefix}maximum"], seen[f"{prefix}minimum"]
    assert least == worst == bound, f"{what}: {least} to {worst} cycles, bound {bound}"


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """Operands always on offer, a sink that is always ready: every product takes its bound."""
    rows, columns = bench.parameters["rows"], bench.parameters["columns"]
    for k, folds in itertools.product((1, 2, 3, rows + columns, 40), FOLDS):
        shape = {"m": rows * folds, "k": k, "n": columns}
        macs = eq5_6(rows=rows, columns=columns, **shape)
        product = completion(rows=rows, columns=columns, **shape)
        products = max(2, CYCLES // macs)
        seen = await _measure(bench, k=k, folds=folds, repetitions=products, offers=ALWAYS,
                              sink=ALWAYS, limit=product, macs_limit=macs)
        await _observe(bench, "", "product", seen, product, products, **shape)
        await _observe(bench, "macs_", "macs", seen, macs, products, **shape)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    for offers, sink, folds in itertools.product((50, 200, ALWAYS), (20, 150, ALWAYS), (1, 3)):
        for k in (1, bench.rng.randint(2, 9), 30):
            await _measure(bench, k=k, folds=folds, repetitions=STALLED, offers=offers, sink=sink)
