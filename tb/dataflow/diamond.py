"""Testbench of Figure 6's graph: results, and how many cycles apart."""

from cyclebound.golden.dataflow.diamond import DiamondModel
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.tb.bench import Bench, testbench


async def play(bench: Bench, threads: int, *, load: float = 1.0,
               sink: float = 1.0) -> int:
    """Run that many threads; returns the cycles until the last result."""
    constants = {name: bench.rng.getrandbits(32) for name in "abc"}
    model, rng = DiamondModel(**constants), bench.rng
    tids = 2 ** bench.parameters["tid_width"]
    xs = [rng.getrandbits(32) for _ in range(threads)]
    results, sent, offering, first = 0, 0, False, bench.cycle
    while results < threads:
        offering = offering or (sent < threads and rng.random() < load)
        values = constants | {"product.ready": rng.random() < sink}
        if offering:
            values |= {"x.valid": 1, "x.payload.tid": sent % tids, "x.payload.data": xs[sent]}
        seen = await bench.step(bench.inputs.pack(values))
        if bench.outputs["product.valid"].of(seen) and values["product.ready"]:
            wanted = {"product.payload.tid": results % tids,
                      "product.payload.data": model.product_of(xs[results])}
            results += 1
            bench.check(seen, bench.outputs.pack(wanted), bench.outputs["product.payload"].mask)
        if offering and bench.outputs["x.ready"].of(seen):
            sent, offering = sent + 1, False
    return bench.cycle - first


@testbench
async def a_few_threads(bench: Bench) -> None:
    """As many as the shorter path holds even with two entries: one per cycle."""
    for threads in (1, 2, 5, 10):
        await bench.reset()
        bench.declare("balanced", threads=threads, stages=PIPELINE_STAGES)
        await play(bench, threads)


@testbench
async def many_threads(bench: Bench) -> None:
    p = bench.parameters
    # enough for the 12 threads more that the longer path holds; less may be enough, too
    balanced = max(p["delay"], p["depth"]) >= 16
    bench.declare("unbalanced", threads=300, stages=PIPELINE_STAGES)
    if balanced:
        bench.declare("balanced", threads=300, stages=PIPELINE_STAGES)
    cycles = await play(bench, 300)
    if p["depth"] == 2 and not p["delay"]:
        assert cycles > 1.6 * 300  # the shorter path is full: most cycles are lost


@testbench
async def stalls_on_both_sides(bench: Bench) -> None:
    await play(bench, 100, load=0.6, sink=0.6)
