"""Testbench of Figure 6's graph: results, and how many cycles apart."""

from cyclebound.golden.dataflow.diamond import DiamondModel
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.tb.bench import Bench, testbench


async def play(bench: Bench, threads: int, *, load: float = 1.0,
               sink: float = 1.0) -> tuple[int, int]:
    """That many threads; returns the cycles of the first token and of the last result."""
    constants = {name: bench.rng.getrandbits(32) for name in "abc"}
    model, rng = DiamondModel(**constants), bench.rng
    tids = 2 ** bench.parameters["tid_width"]
    xs = [rng.getrandbits(32) for _ in range(threads)]
    results, sent, offering, first = [], 0, False, None
    while len(results) < threads:
        offering = offering or (sent < threads and rng.random() < load)
        values = constants | {"product.ready": rng.random() < sink}
        if offering:
            first = bench.cycle if first is None else first
            values |= {"x.valid": 1, "x.payload.tid": sent % tids, "x.payload.data": xs[sent]}
        seen = await bench.step(bench.inputs.pack(values))
        if bench.outputs["product.valid"].of(seen) and values["product.ready"]:
            number = len(results)
            results.append(bench.cycle - 1)
            wanted = {"product.payload.tid": number % tids,
                      "product.payload.data": model.product_of(xs[number])}
            bench.check(seen, bench.outputs.pack(wanted), bench.outputs["product.payload"].mask)
        if offering and bench.outputs["x.ready"].of(seen):
            sent, offering = sent + 1, False
    return first, results[-1]


@testbench
async def a_few_threads(bench: Bench) -> None:
    """As many as the shorter way holds even with two entries: one per cycle."""
    for threads in (1, 2, 5, 10):
        await bench.reset()
        first, last = await play(bench, threads)
        bench.observe("balanced", first, last, threads=threads, stages=PIPELINE_STAGES)


@testbench
async def many_threads(bench: Bench) -> None:
    p = bench.parameters
    first, last = await play(bench, 300)
    if p["delay"] or p["depth"] >= 16:  # the ways are balanced
        bench.observe("balanced", first, last, threads=300, stages=PIPELINE_STAGES)
    else:  # the shorter way is full: most cycles are lost
        assert last - first + 1 > 1.6 * 300
    bench.observe("unbalanced", first, last, threads=300, stages=PIPELINE_STAGES)


@testbench
async def stalls_on_both_sides(bench: Bench) -> None:
    await play(bench, 100, load=0.6, sink=0.6)
