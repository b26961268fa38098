"""Harness testbench of the DRAM controller: every alignment of a tile, measured in hardware."""

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.harness.faults import DRAM_CONTROLLER
from cyclebound.tb.bench import Bench, testbench

WORDS = 16  # of a burst


async def measure(bench: Bench, **settings: int) -> dict[str, int]:
    """Run requests of one shape; the harness' outputs when they are over."""
    word = bench.inputs.pack(settings)
    await bench.step(word | bench.inputs["start"].mask)
    bench.drive(word)
    outputs = bench.outputs.unpack(await bench.run_until("done", poll=2_000))
    faults = [name for bit, name in enumerate(DRAM_CONTROLLER) if outputs["failed"] >> bit & 1]
    assert not faults, f"the harness found: {', '.join(faults)}"
    assert outputs["measured"] == settings["requests"], (
        f"{outputs['measured']} of {settings['requests']} requests were measured")
    bench.compared += outputs["measured"]
    return outputs


@testbench
async def speed(bench: Bench) -> None:
    part = part_named(bench.parameters["part"])
    import time
    for b in (1, 8, 16):
        t=time.time(); c=bench.cycle
        o = await measure(bench, dimension=(1<<20)-1, lines=1, words=WORDS*b, count=1, write=1, first=0, step=16, requests=part.bursts_per_sweep)
        print("RESULT", b, o["minimum"], o["maximum"], o["worst"], o["elapsed"], o["refreshes"], o["moved"], o["total"], (bench.cycle-c)/(time.time()-t), "cycles/s")
