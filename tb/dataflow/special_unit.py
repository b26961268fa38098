"""Testbench of the special unit: every port compared in every cycle."""

from collections import deque

from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import BLOCKS
from cyclebound.golden.dataflow.special_timing import cycles, longest
from cyclebound.golden.dataflow.special_unit import SpecialUnitModel
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.float_cases import SPECIAL


class SpecialUnitTester:
    """The unit under one configuration, its model, and tokens before each operand."""

    def __init__(self, bench: Bench, literals: dict[int, int] | None = None) -> None:
        self.bench, literals = bench, literals or {}
        p = bench.parameters
        self.function, self.depth = Special(p["function"]), p["depth"]
        self.blocks = p.get("blocks", BLOCKS)
        self.model = SpecialUnitModel(function=self.function, depth=self.depth,
                                      literals=literals, blocks=self.blocks)
        operands = 1 if self.function == Special.FSQRT else 2
        self.queues: dict[int, deque[tuple[int, int]]] = {
            k: deque() for k in range(operands) if k not in literals}
        self._fixed = {"configuration.literals": sum(1 << k for k in literals),
                       "configuration.value": next(iter(literals.values()), 0)}
        self.results: list[tuple[int, int]] = []

    def put(self, tid: int, *values: int) -> None:
        for k, value in zip(self.queues, values, strict=False):
            self.queues[k].append((tid, value))

    async def cycle(self, *, sink: float = 1.0, load: float = 1.0) -> None:
        bench = self.bench
        ready = sink == 1 or bench.rng.random() < sink
        values = self._fixed | {"result.ready": ready}
        offers: list[tuple[int, int] | None] = [None, None]
        for k, queue in self.queues.items():
            if queue:
                offers[k] = queue[0]
                values |= {f"operands.{k}.valid": 1, f"operands.{k}.payload.tid": queue[0][0],
                           f"operands.{k}.payload.data": queue[0][1]}
        seen = await bench.step(bench.inputs.pack(values))
        outputs = self.model.step(offers, ready)
        expected: dict[str, int] = {"result.valid": outputs.result is not None}
        for k, offer in enumerate(offers):
            if offer is not None:
                expected[f"operands.{k}.ready"] = outputs.taken[k]
            if outputs.taken[k]:
                self.queues[k].popleft()
        if outputs.result is not None:
            expected |= {"result.payload.tid": outputs.result[0],
                         "result.payload.data": outputs.result[1]}
            if ready:
                self.results.append(outputs.result)
        bench.check_fields(seen, expected)

    async def drain(self, *, sink: float = 1.0) -> None:
        await self.cycle(sink=sink)
        while any(self.queues.values()) or not self.model.empty:
            await self.cycle(sink=sink)

    def declare_epoch(self, *, operands: int, younger: int) -> None:
        """The first epoch is a measurement: its operands in so many orders, younger threads after
        it."""
        self.bench.declare("epoch", blocks=self.blocks, block=longest(self.function),
                           operands=operands, younger=younger,
                           tokens=len(self.queues) * self.depth)

    def numbers(self) -> tuple[int, int]:
        """Hard ones, and of every length."""
        rng = self.bench.rng
        one, other = (rng.choice(SPECIAL) if rng.random() < 0.4 else
                      rng.getrandbits(rng.randrange(1, 33)) for _ in range(2))
        return one, other


@testbench
async def one_thread_alone(bench: Bench) -> None:
    for number in range(60):
        if number % bench.parameters["depth"] == 0:  # no other thread of its entry has been there
            await bench.reset()
            tester = SpecialUnitTester(bench)
        numbers = tester.numbers()
        tid = number % tester.depth
        bench.declare("result", block=cycles(tester.function, *numbers))
        tester.put(tid, *numbers)
        await tester.drain()


@testbench
async def threads_in_order_with_even_operands(bench: Bench) -> None:
    function = Special(bench.parameters["function"])
    pairs = ((0x7FFFFFFF, 3), (0x12345, 77)) if function == Special.IDIV else ((
        0x3FC00000, 0x40400000),)
    for numbers in pairs:
        for threads in (1, 7, 8, 9, 40):
            await bench.reset()
            tester = SpecialUnitTester(bench)
            for tid in range(threads):
                tester.put(tid, *numbers)
            bench.declare("stream", threads=threads, blocks=tester.blocks,
                          block=cycles(function, *numbers))
            await tester.drain()


@testbench
async def epochs_stay_in_order(bench: Bench) -> None:
    """Each operand's threads in an order of its own within an epoch; stalls, and literals."""
    for literals in ({}, {0: 0x40490FDB}, {1: 7}):
        if 0 in literals and Special(bench.parameters["function"]) == Special.FSQRT:
            continue
        for sink in (1.0, 0.5):
            await bench.reset()
            tester = SpecialUnitTester(bench, literals)
            depth = tester.depth
            for epoch in range(4):
                for queue in tester.queues.values():
                    queue.extend((epoch * depth + tid, tester.numbers()[0])
                                 for tid in bench.rng.sample(range(depth), depth))
            await tester.drain(sink=sink)
            order = [tid // depth for tid, _ in tester.results]
            assert sorted(tid for tid, _ in tester.results) == list(range(4 * depth))
            assert order == sorted(order)


@testbench
async def an_epoch_alone(bench: Bench) -> None:
    """Long operations of uneven lengths, from the last operand to the last result; the operands in
    one order, or in two turned against each other, so that many are complete at the end."""
    for number in range(12):
        await bench.reset()
        tester = SpecialUnitTester(bench)
        longer = 0x80000000 if tester.function == Special.IDIV else 0x3F800000
        order = bench.rng.sample(range(tester.depth), tester.depth)
        operands = number % len(tester.queues) + 1
        for tid in order:
            even = number < 2 or bench.rng.random() < 0.7
            tester.put(tid, *((longer, 3) if even else tester.numbers()))
        for turns, queue in enumerate(tester.queues.values()):
            queue.rotate(turns * tester.depth // 2 if operands == 2 else 0)
        tester.declare_epoch(operands=operands, younger=0)
        await tester.drain()


@testbench
async def an_epoch_with_a_younger_one_after_it(bench: Bench) -> None:
    """Long operations, some short ones among them, and a younger epoch of short ones without a
    pause: their results are collected in turn with the older epoch's."""
    for number in range(24):
        await bench.reset()
        tester = SpecialUnitTester(bench)
        depth = tester.depth
        longer = {Special.IDIV: 0x80000000, Special.FDIV: 0x3F800000}.get(tester.function,
                                                                          0x40490FDB)
        quick = {number} if number < depth else {
            tid for tid in range(depth) if bench.rng.random() < 0.2}
        for tid in range(2 * depth):
            short = tid in quick or (tid >= depth and (number < depth or bench.rng.random() < 0.9))
            tester.put(tid, 0 if short else longer, 3)
        # threads come in order, with both operands in one cycle
        tester.declare_epoch(operands=1, younger=depth)
        await tester.drain()


reset_in_mid_run = interrupted(epochs_stay_in_order, last=300, then=one_thread_alone)
