"""Testbench of the round-robin arbiter."""

from cyclebound.golden.noc.arbiter import RoundRobinModel
from cyclebound.tb.bench import Bench, interrupted, testbench


async def _drive(bench: Bench, cycles: int, *, ask: float, accept: float) -> None:
    """Random requests that stay until they are served."""
    count = bench.parameters["count"]
    model = RoundRobinModel(count)
    bench.declare("grant", requesters=count)
    pending = 0
    for _ in range(cycles):
        for who in range(count):
            if not pending >> who & 1 and bench.rng.random() < ask:
                pending |= 1 << who
        accepted = bench.rng.random() < accept
        seen = await bench.step(bench.inputs.pack({"requests": pending, "accept": accepted}))
        grant = model.step(pending, accepted)
        bench.check(seen, bench.outputs.pack({"grant": grant}))
        if accepted:
            pending &= ~grant


@testbench
async def all_always_ask(bench: Bench) -> None:
    await _drive(bench, 20 * bench.parameters["count"], ask=1.0, accept=1.0)


@testbench
async def random_requests_and_stalls(bench: Bench) -> None:
    for ask in (0.05, 0.5, 1.0):
        for accept in (0.2, 0.8, 1.0):
            await bench.reset()
            await _drive(bench, 200, ask=ask, accept=accept)


reset_in_mid_run = interrupted(random_requests_and_stalls)
