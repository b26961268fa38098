"""Testbench of the token buffer: every port compared in every cycle."""

import itertools
from collections import deque
from collections.abc import Iterable

from cyclebound.golden.dataflow.token_buffer import Firing, TokenBufferModel
from cyclebound.tb.bench import Bench, interrupted, testbench


class TokenBufferTester:
    """The buffer, its model, and a queue of tokens before each operand."""

    def __init__(self, bench: Bench, needed: int) -> None:
        self.bench, self.needed = bench, needed
        p = bench.parameters
        self.count, self.depth, self.width = p["operands"], p["depth"], p["width"]
        self.model = TokenBufferModel(operands=self.count, depth=self.depth, needed=needed)
        self.queues: list[deque[tuple[int, int]]] = [deque() for _ in range(self.count)]
        self.held: list[tuple[int, int] | None] = [None] * self.count
        self.fired: list[Firing] = []

    def put(self, tid: int, operands: Iterable[int] | None = None) -> None:
        """Queue a thread's tokens with random values."""
        for k in range(self.count) if operands is None else operands:
            if self.needed >> k & 1:
                self.queues[k].append((tid, self.bench.rng.getrandbits(self.width)))

    async def cycle(self, *, ready: bool = True, load: float = 1.0) -> None:
        """Offer the queues' heads (a new one with chance ``load``), and compare."""
        bench = self.bench
        values: dict[str, int] = {"needed": self.needed, "fire.ready": ready}
        for k, queue in enumerate(self.queues):
            if self.held[k] is None and queue and bench.rng.random() < load:
                self.held[k] = queue.popleft()
            if (token := self.held[k]) is not None:
                values |= {f"operands.{k}.valid": 1, f"operands.{k}.payload.tid": token[0],
                           f"operands.{k}.payload.data": token[1]}
        offered = [held[0] for held in self.held if held is not None]
        for k, held in enumerate(self.held):
            if held is None and offered:  # no token, though its lines look like another's companion
                values[f"operands.{k}.payload.tid"] = bench.rng.choice(offered)
        seen = await bench.step(bench.inputs.pack(values))
        result = self.model.step(self.held, ready)
        shown = result.offered
        expected: dict[str, int] = {"fire.valid": shown is not None}
        care = bench.outputs["fire.valid"].mask
        for k, offer in enumerate(self.held):
            if offer is not None:  # without an offer, ready may be anything
                expected[f"operands.{k}.ready"] = result.taken[k]
                care |= bench.outputs[f"operands.{k}.ready"].mask
            if result.taken[k]:
                self.held[k] = None
        if shown is not None:
            expected["fire.payload.tid"] = shown.tid
            expected |= {f"fire.payload.values.{k}": v for k, v in enumerate(shown.values)}
            care |= bench.outputs["fire.payload.tid"].mask
            for k in range(self.count):
                if self.needed >> k & 1:
                    care |= bench.outputs[f"fire.payload.values.{k}"].mask
            if ready:
                self.fired.append(shown)
        bench.check(seen, bench.outputs.pack(expected), care)

    @property
    def idle(self) -> bool:
        return self.model.empty and not (any(self.queues) or any(self.held))

    async def drain(self) -> None:
        """Run cycles until the buffer is idle."""
        await self.cycle()
        while not self.idle:
            await self.cycle()


def _masks(bench: Bench) -> range:
    return range(1, 1 << bench.parameters["operands"])


@testbench
async def one_thread_at_a_time(bench: Bench) -> None:
    """Every set of operands, in every order, with gaps between them: the last one fires."""
    for needed in _masks(bench):
        await bench.reset()
        tester = TokenBufferTester(bench, needed)
        operands = [k for k in range(tester.count) if needed >> k & 1]
        for tid, order in enumerate(itertools.permutations(operands)):
            for k in order:
                if k == order[-1]:
                    bench.declare("match", last=1)
                tester.put(tid, [k])
                for _ in range(bench.rng.randrange(1, 4)):
                    await tester.cycle()
            await tester.drain()
            bench.undeclare("match")


@testbench
async def threads_in_order_one_per_cycle(bench: Bench) -> None:
    for needed in _masks(bench):
        await bench.reset()
        tester = TokenBufferTester(bench, needed)
        for threads in (1, 2, 3, tester.depth + 1, 3 * tester.depth):
            tester.fired.clear()
            bench.declare("stream", threads=threads)
            for tid in range(threads):
                tester.put(tid)
            await tester.drain()
            assert [firing.tid for firing in tester.fired] == list(range(threads))


@testbench
async def the_last_in_turn(bench: Bench) -> None:
    """A thread that is complete among all others, right after the one of its own entry."""
    for needed in _masks(bench):
        await bench.reset()
        tester = TokenBufferTester(bench, needed)
        depth = tester.depth
        for entry in range(depth):
            tester.fired.clear()
            bench.declare("turn", tid=entry + depth)
            tester.put(entry)
            for _ in range(2):
                await tester.cycle(ready=False)
            # the entry's next thread comes last, when all the others are complete
            for other in range(1, depth + 1):
                tester.put((entry + other) % depth + depth)
            for _ in range(depth + 2):
                await tester.cycle(ready=False)
            assert len(tester.model.complete()) == depth
            await tester.drain()
            order = [firing.tid for firing in tester.fired]
            assert order[0] == entry
            assert order[-1] == entry + depth


@testbench
async def epochs_in_any_order_with_stalls(bench: Bench) -> None:
    """Each operand has its own order within each group of ``depth`` threads, and its own gaps."""
    for needed in _masks(bench):
        for load, sink in ((1.0, 1.0), (0.4, 1.0), (1.0, 0.4), (0.6, 0.6)):
            await bench.reset()
            tester = TokenBufferTester(bench, needed)
            depth = tester.depth
            groups = range(2 ** bench.parameters["tid_width"] // depth)
            epochs = sorted(bench.rng.sample(groups, min(8, len(groups))))  # of all numbers
            for epoch in epochs:
                for k in range(tester.count):
                    for tid in bench.rng.sample(range(depth), depth):
                        tester.put(epoch * depth + tid, [k])
            while len(tester.fired) < len(epochs) * depth:
                await tester.cycle(ready=bench.rng.random() < sink, load=load)
            await tester.drain()
            assert sorted(firing.tid for firing in tester.fired) == [
                epoch * depth + entry for epoch in epochs for entry in range(depth)]


@testbench
async def two_complete_in_one_cycle(bench: Bench) -> None:
    """The first in turn fires first: right after reset, that of the lowest entry; later, the first
    after the entry served last, however long ago that was."""
    depth = bench.parameters["depth"]
    if bench.parameters["operands"] < 2:
        return
    for served, pair in itertools.product(dict.fromkeys((None, 0, depth // 2, depth - 1)),
                                          itertools.permutations(range(depth), 2)):
        await bench.reset()
        tester = TokenBufferTester(bench, 0b11)
        if served is not None:
            tester.put(served)
            await tester.drain()
            tester.fired.clear()
        for operands in ((1, 0), (0, 1)):
            for tid, operand in zip(pair, operands, strict=True):
                tester.put(tid, [operand])
            await tester.cycle()
        await tester.drain()
        after = 0 if served is None else served + 1
        assert [firing.tid for firing in tester.fired] == sorted(
            pair, key=lambda entry: (entry - after) % depth)


@testbench
async def a_stranger_in_the_entry_is_not_matched(bench: Bench) -> None:
    """Threads that differ in one bit wait in the same entry of two stores, and stay there, whether
    they come together or one after the other."""
    p = bench.parameters
    bits = range((p["depth"] - 1).bit_length(), p["tid_width"])
    for (one, other), bit, later in itertools.product(
            itertools.permutations(range(p["operands"]), 2), bits, (False, True)):
        for first in (0, 2 ** p["tid_width"] - p["depth"]):  # all other bits 0, or 1
            await bench.reset()
            tester = TokenBufferTester(bench, 1 << one | 1 << other)
            entries = range(first, first + tester.depth)
            for entry in entries:
                tester.put(entry, [one])
            for _ in range(tester.depth * later):
                await tester.cycle()
            for entry in entries:
                tester.put(entry ^ 1 << bit, [other])
            for _ in range(4 * tester.depth):
                await tester.cycle()
            assert not tester.fired


@testbench
async def an_operand_that_is_not_needed_takes_nothing(bench: Bench) -> None:
    for needed in _masks(bench):
        await bench.reset()
        tester = TokenBufferTester(bench, needed)
        idle = [k for k in range(tester.count) if not needed >> k & 1]
        for tid in range(tester.depth):
            for k in idle:
                tester.queues[k].append((tid, bench.rng.getrandbits(tester.width)))
            tester.put(tid)
        for _ in range(3 * tester.depth):
            await tester.cycle()
        assert len(tester.fired) == tester.depth
        assert all(tester.held[k] is not None for k in idle)


reset_in_mid_run = interrupted(epochs_in_any_order_with_stalls, last=300,
                               then=threads_in_order_one_per_cycle)
