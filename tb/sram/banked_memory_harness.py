"""Harness testbench of the banked memory: traffic and measurement in hardware."""

from collections.abc import Mapping

from cyclebound.golden.harness.faults import BANKED_MEMORY
from cyclebound.golden.sram.bounds import eq1
from cyclebound.tb.bench import Bench, testbench

BYTES = 4096        # the transaction of memory-composition, Table IV
TRANSACTIONS = 40
ALWAYS = 256


async def _start(bench: Bench, **inputs: int) -> dict[str, int]:
    """Start something, and wait until it is done; the outputs then.

    ``served`` and ``checked`` are those of this measurement alone.
    """
    word = bench.inputs.pack(inputs)
    began = bench.cycle
    before = bench.outputs.unpack(await bench.step(word | bench.inputs["start"].mask))
    bench.drive(word)
    outputs = bench.outputs.unpack(await bench.run_until("done"))
    for name in ("served", "checked"):
        outputs[name] = (outputs[name] - before[name]) % 2**32
    most = bench.parameters["banks"] * (bench.cycle - began)
    assert outputs["checked"] <= outputs["served"] <= most, (
        f"{outputs['served']} accesses and {outputs['checked']} answers in {most} cycles of banks")
    faults = [name for bit, name in enumerate(BANKED_MEMORY) if outputs["failed"] >> bit & 1]
    assert not faults, f"the harness found: {', '.join(faults)}"
    bench.compare(outputs["failed"], 0, "what failed", count=outputs["checked"])
    return outputs


async def _measure(bench: Bench, requesters: int, threshold: int, *, worst: bool) -> None:
    """Transactions against ``requesters - 1`` rivals."""
    p = bench.parameters
    length = -(-BYTES // p["word_bytes"])
    bench.declare("transaction", {"r": 0, "b": 0}, words=length, transaction_bytes=BYTES,
                  requesters=requesters)
    bound = eq1(transaction_bytes=BYTES, word_bytes=p["word_bytes"], requesters=requesters)
    rivals = sum(1 << who for who in bench.rng.sample(range(1, p["requesters"]), requesters - 1))
    settings = {"rivals": rivals, "threshold": threshold, "length": length, "limit": bound,
                "transactions": TRANSACTIONS}
    outputs = await _start(bench, **settings)
    assert outputs["count"] == TRANSACTIONS, f"{outputs['count']} transactions were measured"
    # Nothing of this may come from a memory that did nothing. With rivals that always ask, bank 0
    # serves a requester in every cycle.
    least = TRANSACTIONS * (bound if threshold >= ALWAYS else length)
    assert outputs["served"] >= least, f"{outputs['served']} accesses, at least {least} are due"
    # one access in two reads, at random; a quarter of them is 20 standard deviations below
    assert outputs["checked"] >= least // 4, f"only {outputs['checked']} answers were compared"
    counted = 0
    last = 2 ** bench.inputs["histogram_address"].width - 1  # the bin of all longer ones too
    for latency in range(min(outputs["minimum"], last), min(outputs["maximum"], last) + 1):
        word = bench.inputs.pack({**settings, "histogram_address": latency})
        await bench.step(word)
        counted += bench.outputs["histogram_count"].of(await bench.step(word))
    assert counted == TRANSACTIONS, f"the histogram holds {counted} of {TRANSACTIONS} transactions"
    if worst:
        assert outputs["maximum"] == bound, f"worst {outputs['maximum']}, bound {bound}"


@testbench
async def every_number_of_rivals(bench: Bench) -> None:
    """Table IV's transaction against 0 to N - 1 rivals that always ask, and that sometimes do."""
    filled = await _start(bench, fill=1)
    words = bench.parameters["banks"] * bench.parameters["words"]
    assert filled["served"] == words, f"{filled['served']} words written, not {words}"
    for requesters in range(1, bench.parameters["requesters"] + 1):
        await _measure(bench, requesters, ALWAYS, worst=True)
        await _measure(bench, requesters, 100, worst=False)


def board_script(parameters: Mapping[str, int], *, transaction_bytes: int = BYTES,
                 transactions: int = TRANSACTIONS) -> list[dict[str, int]]:
    """The same measurements for a board, which makes them by itself: inputs of the harness.

    First it fills the memory; then there are 0 to N - 1 rivals, that always ask, and that
    sometimes do.
    """
    word_bytes = parameters["word_bytes"]
    measured = [{"rivals": (1 << requesters) - 2, "threshold": threshold,
                 "length": -(-transaction_bytes // word_bytes), "transactions": transactions,
                 "limit": eq1(transaction_bytes=transaction_bytes, word_bytes=word_bytes,
                              requesters=requesters)}
                for requesters in range(1, parameters["requesters"] + 1)
                for threshold in (ALWAYS, 100)]
    return [{"fill": 1}, *measured]
