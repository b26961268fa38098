"""Testbench of the round-robin arbiter."""

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.tb.bench import Bench, interrupted, testbench

_FEW = 4  # requesters of whom every set is tried
_SETS = 100  # of requesters, of more than that a sample


async def _cycle(bench: Bench, model: RoundRobinModel, pending: int, accepted: bool) -> int:
    """One cycle, compared; the requests that are left."""
    seen = await bench.step(bench.inputs.pack({"requests": pending, "accept": accepted}))
    grant = model.step(pending, accepted)
    bench.check(seen, bench.outputs.pack({"grant": grant}))
    return pending & ~grant if accepted else pending


async def _serve(bench: Bench, model: RoundRobinModel, pending: int) -> None:
    """Run cycles until all are served, each as soon as it is granted."""
    while pending:
        pending = await _cycle(bench, model, pending, True)


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
        pending = await _cycle(bench, model, pending, bench.rng.random() < accept)


@testbench
async def all_always_ask(bench: Bench) -> None:
    await _drive(bench, 20 * bench.parameters["count"], ask=1.0, accept=1.0)


@testbench
async def random_requests_and_stalls(bench: Bench) -> None:
    for ask in (0.05, 0.5, 1.0):
        for accept in (0.2, 0.8, 1.0):
            await bench.reset(idle=0)
            await _drive(bench, 200, ask=ask, accept=accept)


@testbench
async def any_who_ask_at_once(bench: Bench) -> None:
    """After a reset and after each requester was served last: every set of requesters, or many."""
    count = bench.parameters["count"]
    sets = range(1, 1 << count)
    for last in (None, *range(count)):
        for asking in sets if len(sets) <= _SETS else bench.rng.sample(sets, _SETS):
            model = RoundRobinModel(count)
            await bench.reset(idle=0)
            bench.declare("grant", requesters=count)
            await _serve(bench, model, 0 if last is None else 1 << last)
            await _cycle(bench, model, 0, bench.rng.random() < 0.5)
            await _serve(bench, model, asking)


@testbench
async def others_wait_for_a_winner_that_stalls(bench: Bench) -> None:
    """Any ask, of which one is granted and stalls; then any come. In every order of turns."""
    count = bench.parameters["count"]
    model = RoundRobinModel(count)
    bench.declare("grant", requesters=count)
    cases = [(last, first, late) for last in range(count) for first in range(1, 1 << count)
             for late in range(1 << count)] if count <= _FEW else [
        (bench.rng.randrange(count), bench.rng.randrange(1, 1 << count),
         bench.rng.randrange(1 << count)) for _ in range(500)]
    for last, first, late in cases:
        await _serve(bench, model, 1 << last)
        pending = await _cycle(bench, model, first, False)
        await _serve(bench, model, await _cycle(bench, model, pending | late, False))


reset_in_mid_run = interrupted(random_requests_and_stalls, brief=True)
