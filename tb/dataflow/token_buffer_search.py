"""A search on the RTL for the thread that sees most firings before its own, and threads that become
complete among others that wait."""

import functools
from collections.abc import Mapping

from cyclebound.golden.dataflow.token_buffer import TokenBufferModel
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.completion_adversary import complete_one_by_one
from cyclebound.tb.dataflow.token_buffer import TokenBufferTester
from cyclebound.tools.dataflow.token_plan import TokenPlan, TokenStreams, search
from cyclebound.tools.hill_climb import climbed

TRIES, EPOCHS = 100, 4
_STALLS = (0, 0, 0, 1, 2, 5)  # cycles for which a firing is not taken
_STUCK = 50  # and twice as many cycles as a buffer has entries, more than any pause


def renumbered(plan: TokenPlan, depth: int) -> TokenPlan:
    """The plan with each entry's threads in order, whatever entries do in between."""
    streams = []
    for stream in plan.streams:
        seen = [0] * depth
        threads = []
        for pause, tid in stream:
            entry = tid % depth
            threads.append((pause, entry + depth * seen[entry]))
            seen[entry] += 1
        streams.append(tuple(threads))
    return TokenPlan(tuple(streams), plan.times)


def firings(plan: TokenPlan, *, depth: int, needed: int, operands: int) -> dict[int, int]:
    """By thread: the firings that leave after its last token, its own included; by the model.

    Threads that wait for each other's entries for ever are left out.
    """
    model = TokenBufferModel(operands=operands, depth=depth, needed=needed)
    streams = [k for k in range(operands) if needed >> k & 1]
    tokens, waits, since = TokenStreams(plan), 0, {}
    turns: dict[int, int] = {}
    owed = {tid: len(streams) for tid in range(len(plan.times))}
    held: list[tuple[int, int] | None] = [None] * operands
    cycle = stuck = 0
    while len(turns) < len(plan.times) and stuck < _STUCK + 2 * depth:
        stuck += 1
        for k, tid in zip(streams, tokens.offers(), strict=True):
            held[k] = held[k] or (None if tid is None else (tid, 0))
        shown = model.next_offer
        ready = shown is None or waits >= plan.times[shown.tid]
        taken = model.step(held, ready).taken
        for number, k in enumerate(streams):
            token = held[k]
            if taken[k] and token is not None:
                stuck = 0
                tid, held[k] = token[0], None
                tokens.take(number, cycle)
                owed[tid] -= 1
                if owed[tid] == 0:
                    since[tid] = 0
        waits = 0 if ready else waits + 1
        if shown is not None and ready:
            stuck = 0
            since = {tid: count + 1 for tid, count in since.items()}
            turns[shown.tid] = since.pop(shown.tid)
        cycle += 1
    return turns


async def replay(bench: Bench, plan: TokenPlan, needed: int, victim: int, fire: int) -> None:
    """The same tokens on the RTL, with one thread's turn measured, until so many fire."""
    await bench.reset()
    tester, tokens, waits = TokenBufferTester(bench, needed), TokenStreams(plan), 0
    streams = [k for k in range(tester.count) if needed >> k & 1]
    bench.declare("turn", tid=victim)
    while len(tester.fired) < fire:
        now, wanted = bench.cycle, tokens.offers()
        for k, tid in zip(streams, wanted, strict=True):
            if tid is not None and tester.held[k] is None:
                tester.queues[k].append((tid, tid % 2**tester.width))
        shown = tester.model.next_offer
        ready = shown is None or waits >= plan.times[shown.tid]
        await tester.cycle(ready=ready)
        waits = 0 if ready else waits + 1
        for number, k in enumerate(streams):
            if wanted[number] is not None and tester.held[k] is None:
                tokens.take(number, now)


def _most(plan: TokenPlan, kind: Mapping[str, int]) -> int:
    return max(firings(renumbered(plan, kind["depth"]), **kind).values(), default=0)


@testbench
async def the_last_in_turn(bench: Bench) -> None:
    """Found on the model, whose every cycle the RTL is compared with, and replayed."""
    p = bench.parameters
    depth, count = p["depth"], p["operands"]
    epochs = min(EPOCHS, 2 ** p["tid_width"] // depth)
    for needed in range(1, 1 << count):
        kind = {"depth": depth, "needed": needed, "operands": count}
        found = climbed(
            search(bench.rng, tries=TRIES, streams=needed.bit_count(), depth=depth, epochs=epochs,
                   window=epochs * depth, together=False, longest_pause=2 * depth,
                   time=lambda: bench.rng.choice(_STALLS)),
            functools.partial(_most, kind=kind))
        assert found.candidate is not None  # every plan has a value
        best = renumbered(found.candidate, depth)
        turns = firings(best, **kind)
        for victim in sorted(turns, key=turns.__getitem__, reverse=True)[:4]:
            await replay(bench, best, needed, victim, len(turns))
        bench.undeclare("turn")
        bench.dut._log.info("needed %s: %d firings", bin(needed), max(turns.values()))


@testbench
async def complete_among_others_that_wait(bench: Bench) -> None:
    for needed in range(1, 1 << bench.parameters["operands"]):
        for load in (0.3, 0.8, 1.0):
            await bench.reset()
            tester = TokenBufferTester(bench, needed)
            await complete_one_by_one(
                bench, "match", tester.model, depth=tester.depth, load=load, queues=tester.queues,
                operands=[k for k in range(tester.count) if needed >> k & 1],
                threads=min(6 * tester.depth, 2 ** bench.parameters["tid_width"]),
                cycle=tester.cycle)
