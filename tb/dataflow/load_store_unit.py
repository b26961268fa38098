"""Testbench of the load/store unit: every port compared in every cycle, memory in any order."""

import functools
import itertools
from collections.abc import Callable

from cyclebound.golden.dataflow.load_store_unit import LoadStoreModel
from cyclebound.golden.dataflow.residence import DEPTH, MEMORY, witness
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.operand_tester import OperandTester

BASE, SIZE = 100, 64


class LoadStoreUnitTester(OperandTester):
    """The unit under one configuration, its model, tokens before it, and a memory after it.

    ``latency()`` gives the cycles from a request to its response; where two are due at once, one
    waits, so that order is any.
    """

    def __init__(self, bench: Bench, *, store: bool, gated: bool,
                 latency: Callable[[], int]) -> None:
        super().__init__(bench, 3)
        self.store, self.gated, self.latency = store, gated, latency
        p = bench.parameters
        self.depth, self.threads = p["depth"], 2 ** p["tid_width"]
        self.model = LoadStoreModel(depth=self.depth, store=store, gated=gated, base=BASE,
                                    size=SIZE, epochs=p.get("epochs", True))
        self.memory = {BASE + i: bench.rng.getrandbits(32) for i in range(SIZE)}
        self.due: list[tuple[int, int, int]] = []  # cycle, tag, word
        self.results: list[tuple[int, int]] = []
        self.enables: list[tuple[int, int]] = []
        self.faults: list[tuple[int, int]] = []
        self.times: dict[int, int] = {}  # cycles of an access by its address, before ``latency``
        self._fixed = {"configuration.store": store, "configuration.gated": gated,
                       "configuration.base": BASE, "configuration.size": SIZE}

    def put(self, tid: int, *, enable: int = 1, index: int | None = None) -> None:
        place = self.bench.rng.randrange(SIZE) if index is None else index
        for k, value in enumerate((place, self.bench.rng.getrandbits(32), enable)):
            if k == 0 or (k == 1 and self.store) or (k == 2 and self.gated):
                self.queues[k].append((tid, value))

    async def cycle(self, *, result: bool = True, enable: bool = True, request: bool = True,
                    load: float = 1.0) -> None:
        bench, now = self.bench, self.bench.cycle
        values = self._fixed | {"result.ready": result, "enable.ready": enable,
                                "request.ready": request} | self.offer(load)
        response = None
        ripe = [response for response in self.due if response[0] <= now]
        if ripe:
            self.due.remove(ripe[0])
            response = ripe[0][1:]
            values |= {"response.valid": 1, "response.payload.tag": response[0],
                       "response.payload.data": response[1]}
        seen = await bench.step(bench.inputs.pack(values))
        outputs = self.model.step(self.held, result_ready=result, enable_ready=enable,
                                  request_ready=request, response=response)
        expected: dict[str, int] = {}
        for name, token in (("result", outputs.result), ("enable", outputs.enable),
                            ("fault", outputs.fault)):
            expected[f"{name}.valid"] = token is not None
            if token is not None:
                expected |= {f"{name}.payload.tid": token[0], f"{name}.payload.data": token[1]}
        expected["request.valid"] = outputs.request is not None
        if outputs.request is not None:
            a = outputs.request
            expected |= {"request.payload.tag": a.tag, "request.payload.address": a.address,
                         "request.payload.write": a.write}
            if a.write:
                expected["request.payload.data"] = a.data
            if request:
                word = self.memory[a.address]
                if a.write:
                    self.memory[a.address], word = a.data, bench.rng.getrandbits(32)
                cycles = self.times.get(a.address) or self.latency()
                self.due.append((now + cycles - 1, a.tag, word))
        expected |= self.take(outputs.taken)
        if outputs.result is not None and result:
            self.results.append(outputs.result)
        if outputs.enable is not None and enable:
            self.enables.append(outputs.enable)
        if outputs.fault is not None:
            self.faults.append(outputs.fault)
        bench.check_fields(seen, expected)

    async def drain(self, *, sink: float = 1.0, load: float = 1.0) -> None:
        chance = self.bench.rng.random
        await self.cycle()
        while self.waiting or not self.model.empty:
            await self.cycle(result=chance() < sink, enable=chance() < sink,
                             request=chance() < sink, load=load)


KINDS = ((False, False), (False, True), (True, False), (True, True))


@testbench
async def one_thread_alone(bench: Bench) -> None:
    for store, gated in KINDS:
        for memory in (2, 3, 10):
            await bench.reset()
            tester = LoadStoreUnitTester(bench, store=store, gated=gated,
                                         latency=functools.partial(int, memory))
            for tid in range(tester.depth):  # no other thread of their entry has been there
                kind = bench.rng.choice(("hit", "poisoned", "outside")) if tid else "hit"
                asks = kind == "hit" or (kind == "poisoned" and not gated)
                bench.declare("access", memory=memory if asks else 0)
                tester.put(tid, enable=kind != "poisoned",
                           index=SIZE if kind == "outside" else None)
                await tester.drain()


@testbench
async def threads_in_order_through_an_even_memory(bench: Bench) -> None:
    depth = bench.parameters["depth"]
    for store, gated in KINDS:
        for memory in (2, 5, depth + 3):
            for threads in (1, depth, depth + 1, 3 * depth - 1):
                await bench.reset()
                tester = LoadStoreUnitTester(bench, store=store, gated=gated,
                                             latency=functools.partial(int, memory))
                for tid in range(threads):
                    tester.put(tid)
                bench.declare("stream", threads=threads, memory=memory)
                await tester.drain()


@testbench
async def epochs_stay_in_order_whatever_memory_does(bench: Bench) -> None:
    """Random latencies, stalls on all sides, poisoned threads and indices outside."""
    for store, gated in KINDS:
        for load, sink in ((1.0, 1.0), (0.6, 0.6)):
            await bench.reset()
            tester = LoadStoreUnitTester(bench, store=store, gated=gated,
                                         latency=lambda: bench.rng.choice((2, 2, 3, 9, 25)))
            epochs = min(6, tester.threads // tester.depth)
            outside = 0
            for tid in range(epochs * tester.depth):
                index = SIZE + bench.rng.randrange(5) if bench.rng.random() < 0.2 else None
                alive = bench.rng.random() < 0.7
                outside += index is not None and (alive or not gated)
                tester.put(tid, enable=alive, index=index)
            await tester.drain(sink=sink, load=load)
            assert len(tester.faults) == outside
            for sent in (tester.results, tester.enables):
                order = [tid // tester.depth for tid, _ in sent]
                assert sorted(tid for tid, _ in sent) == list(range(epochs * tester.depth))
                assert order == sorted(order) or not bench.parameters.get("epochs", True)


@testbench
async def an_epoch_alone(bench: Bench) -> None:
    """Operands whose threads come in turned orders: many are complete at once, at the end."""
    for store, gated in KINDS:
        operands = [0] + [1] * store + [2] * gated
        for memory in (2, 9):
            for latency in (lambda m=memory: m, lambda m=memory: bench.rng.randint(2, m)):
                await bench.reset()
                tester = LoadStoreUnitTester(bench, store=store, gated=gated, latency=latency)
                depth = tester.depth
                order = bench.rng.sample(range(depth), depth)
                for number, k in enumerate(operands):
                    by = number * depth // len(operands)
                    tester.queues[k].extend((tid, 1) for tid in order[by:] + order[:by])
                bench.declare("epoch", operands=len(operands), memory=memory,
                              tokens=depth * len(operands))
                await tester.drain()


@testbench
async def an_epoch_after_others(bench: Bench) -> None:
    """The last thread of each epoch is late, so that the last of the next waits for its entry."""
    if not bench.parameters.get("epochs", True):
        return
    for memory in (5, 20):
        await bench.reset()
        latencies = itertools.cycle((*[2] * (bench.parameters["depth"] - 1), memory))
        tester = LoadStoreUnitTester(bench, store=False, gated=False,
                                     latency=functools.partial(next, latencies))
        depth = tester.depth
        for tid in range(4 * depth):
            tester.put(tid)
        bench.declare("residence", memory=memory)
        await tester.drain()


@testbench
async def the_epoch_that_a_search_found(bench: Bench) -> None:
    """Orders of tokens and times of accesses that come nearest to the bound."""
    if bench.parameters["depth"] != DEPTH:
        return
    threads = witness()
    tester = LoadStoreUnitTester(bench, store=False, gated=False, latency=lambda: MEMORY)
    tester.times = {BASE + tid: cycles for tid, cycles in threads}
    for tid, _ in threads:
        tester.put(tid, index=tid)
    bench.declare("residence", memory=MEMORY)
    await tester.drain()


reset_in_mid_run = interrupted(epochs_stay_in_order_whatever_memory_does, last=300,
                               then=one_thread_alone)
