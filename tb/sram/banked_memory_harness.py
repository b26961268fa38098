"""Harness testbench of the banked memory: traffic and measurement in hardware."""

from cyclebound.golden.sram.bounds import eq1
from cyclebound.hdl.sram.banked_memory_harness import FAULTS
from cyclebound.tb.bench import Bench, testbench

BYTES = 4096        # the transaction of memory-composition, Table IV
TRANSACTIONS = 60
ALWAYS = 256


async def _start(bench: Bench, **inputs: int) -> dict[str, int]:
    """Start something, and wait until it is done; the outputs then."""
    word = bench.inputs.pack(inputs)
    await bench.step(word | bench.inputs["start"].mask)
    bench.drive(word)
    seen = await bench.run_until("done")
    outputs = bench.outputs.unpack(seen)
    faults = [name for bit, name in enumerate(FAULTS) if outputs["failed"] >> bit & 1]
    assert not faults, f"the harness found: {', '.join(faults)}"
    bench.compared += outputs["count"]
    return outputs


async def _measure(bench: Bench, requesters: int, threshold: int, *, worst: bool) -> None:
    """Transactions against ``requesters - 1`` rivals; observes all of them."""
    p = bench.parameters
    length = -(-BYTES // p["word_bytes"])
    bound = eq1(transaction_bytes=BYTES, word_bytes=p["word_bytes"], requesters=requesters)
    rivals = sum(1 << who for who in bench.rng.sample(range(1, p["requesters"]), requesters - 1))
    settings = {"rivals": rivals, "threshold": threshold, "length": length, "limit": bound,
                "transactions": TRANSACTIONS}
    outputs = await _start(bench, **settings)
    assert outputs["count"] == TRANSACTIONS, f"{outputs['count']} transactions were measured"
    known = 0
    for latency in range(outputs["minimum"], outputs["maximum"] + 1):
        word = bench.inputs.pack({**settings, "histogram_address": latency})
        await bench.step(word)
        count = bench.outputs["histogram_count"].of(await bench.step(word))
        bench.observe_counted("transaction", latency, count, transaction_bytes=BYTES,
                              requesters=requesters)
        known += count
    assert known == TRANSACTIONS, f"the histogram holds {known} of {TRANSACTIONS} transactions"
    if worst:
        assert outputs["maximum"] == bound, f"worst {outputs['maximum']}, bound {bound}"


@testbench
async def every_number_of_rivals(bench: Bench) -> None:
    """Table IV's transaction against 0 to N - 1 rivals that always ask, and that sometimes do."""
    await _start(bench, fill=1)
    for requesters in range(1, bench.parameters["requesters"] + 1):
        await _measure(bench, requesters, ALWAYS, worst=True)
        await _measure(bench, requesters, 100, worst=False)
