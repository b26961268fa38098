"""Testbench of Figure 4's graph: every set of late memory accesses."""

from cyclebound.golden.dataflow.load_chain import LoadChainModel
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.load_chain_properties import QUICK, SLOW

CONSTANT = 5  # of the component


async def run(bench: Bench, late: int) -> None:
    """All threads, with those accesses late (a bit for each load and thread).

    The memories permute the threads, so that the address tells which thread it is. Of two answers
    that are due at once, the slow one goes first: the other may take a cycle more.
    """
    p, rng = bench.parameters, bench.rng
    threads, width = p["threads"], p["width"]
    addresses = range(2**width)
    first, second = (dict(zip(addresses, rng.sample(addresses, 2**width), strict=True))
                     for _ in range(2))
    memories = first, second
    model = LoadChainModel(memories, constant=CONSTANT, width=width)
    who = ({tid: tid for tid in range(threads)},
           {memories[0][tid]: tid for tid in range(threads)})
    due: tuple[list, list] = ([], [])
    sums: dict[int, int] = {}
    while len(sums) < threads:
        now = bench.cycle
        values = {"sums.ready": 1, "enables.0.ready": 1, "enables.1.ready": 1}
        for unit in range(2):
            values[f"memory.{unit}.request.ready"] = 1
            ripe = min((response for response in due[unit] if response[0] <= now), default=None,
                       key=lambda response: response[:2])
            if ripe is not None:
                due[unit].remove(ripe)
                values |= {f"memory.{unit}.response.valid": 1,
                           f"memory.{unit}.response.payload.tag": ripe[2],
                           f"memory.{unit}.response.payload.data": ripe[3]}
        seen = bench.outputs.unpack(await bench.step(bench.inputs.pack(values)))
        for unit in range(2):
            if seen[f"memory.{unit}.request.valid"]:
                assert not seen[f"memory.{unit}.request.payload.write"]
                address = seen[f"memory.{unit}.request.payload.address"]
                tid = who[unit].pop(address)  # each thread asks once
                slow = late >> unit * threads + tid & 1
                due[unit].append((now + (SLOW if slow else QUICK) - 1, now,
                                  seen[f"memory.{unit}.request.payload.tag"],
                                  memories[unit][address]))
        if seen["sums.valid"]:
            tid = seen["sums.payload.tid"]
            assert tid not in sums
            sums[tid] = seen["sums.payload.data"]
            bench.compare(sums[tid], model.sum_of(tid), f"the sum of thread {tid}")
            assert [total // p["depth"] for total in sums] == sorted(
                total // p["depth"] for total in sums)


@testbench
async def every_set_of_late_accesses(bench: Bench) -> None:
    low, high = bench.domain["late"]
    for late in range(low, high + 1):
        await bench.reset()
        bench.declare("completion", memory=SLOW)
        bench.undeclare("even")
        if late in (0, high):  # none, or all
            bench.declare("even", memory=SLOW if late else QUICK)
        await run(bench, late)
