"""A testbench that waits for a count, and never looks at the parity."""

from cyclebound.tb.bench import Bench, testbench


@testbench
async def counts(bench: Bench) -> None:
    bench.declare("turns", n=1)
    for cycle in range(20):
        seen = await bench.step(bench.inputs.pack({"go": cycle % 2, "word": cycle % 4}))
        count = bench.outputs.pack({"count": cycle // 2 % 8})
        bench.check(seen, count, bench.outputs["count"].mask)
    while bench.outputs["count"].of(await bench.step(bench.inputs.pack({"go": 1}))) != 7:
        pass
