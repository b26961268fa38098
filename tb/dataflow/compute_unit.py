"""Testbench of the compute unit: every operation, with every port compared in every cycle."""

from cyclebound.golden.dataflow.compute_unit import ComputeUnitModel
from cyclebound.golden.dataflow.operations import (
    OPERANDS,
    PIPELINE_STAGES,
    Operation,
    operands_of,
)
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.operand_tester import OperandTester
from cyclebound.tb.float_cases import SPECIAL, hard_triple

_INTEGERS = (0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF, 0x0001_0000)
_FLOATS = frozenset((Operation.FADD, Operation.FSUB, Operation.FMUL, Operation.FMA, Operation.FEQ,
                     Operation.FLT, Operation.FLE, Operation.TO_INT))


class DataflowComputeUnitTester(OperandTester):
    """The unit under one configuration, its model, and tokens before each operand."""

    def __init__(self, bench: Bench, operation: Operation,
                 literals: dict[int, int] | None = None) -> None:
        super().__init__(bench, OPERANDS)
        self.operation, self.literals = operation, literals or {}
        self.model = ComputeUnitModel(depth=bench.parameters["depth"], operation=operation,
                                      literals=self.literals)
        self.threads = 2 ** bench.parameters["tid_width"]
        self.results: list[tuple[int, int]] = []
        self._fixed = {"configuration.operation": int(operation),
                       "configuration.literals": sum(1 << k for k in self.literals),
                       "configuration.value": next(iter(self.literals.values()), 0)}

    def put(self, tid: int, values: tuple[int, ...]) -> None:
        for k, value in enumerate(values[:operands_of(self.operation)]):
            if k not in self.literals:
                self.queues[k].append((tid, value))

    def values(self) -> tuple[int, ...]:
        """Operands at random, half of them hard."""
        rng = self.bench.rng
        if self.operation in _FLOATS:
            a, b, c = hard_triple(rng)
            kind = rng.randrange(4)
            if kind == 0:
                return tuple(rng.choice(SPECIAL) for _ in range(OPERANDS))
            return a, (a ^ rng.choice((0, 1, 1 << 31)) if kind == 1 else b), c
        a, b, c = (rng.choice(_INTEGERS) if rng.random() < 0.4 else rng.getrandbits(32)
                   for _ in range(OPERANDS))
        return a, (a if rng.random() < 0.1 else b), c

    async def cycle(self, *, ready: bool = True, load: float = 1.0) -> None:
        bench = self.bench
        values = self._fixed | {"result.ready": ready} | self.offer(load)
        seen = await bench.step(bench.inputs.pack(values))
        outputs = self.model.step(self.held, ready)
        expected = {"result.valid": outputs.result is not None} | self.take(outputs.taken)
        if outputs.result is not None:
            expected |= {"result.payload.tid": outputs.result[0],
                         "result.payload.data": outputs.result[1]}
            if ready:
                self.results.append(outputs.result)
        bench.check_fields(seen, expected)

    async def drain(self, *, load: float = 1.0, sink: float = 1.0) -> None:
        await self.cycle()
        while self.waiting or not self.model.empty:
            await self.cycle(ready=sink == 1 or self.bench.rng.random() < sink, load=load)


@testbench
async def every_operation_one_per_cycle(bench: Bench) -> None:
    for operation in Operation:
        await bench.reset()
        tester = DataflowComputeUnitTester(bench, operation)
        threads = min(100, tester.threads)
        bench.declare("result", stages=PIPELINE_STAGES)
        bench.declare("stream", threads=threads, stages=PIPELINE_STAGES)
        for tid in range(threads):
            tester.put(tid, tester.values())
        await tester.drain()
        assert [tid for tid, _ in tester.results] == list(range(threads))


@testbench
async def every_operation_with_a_literal_and_stalls(bench: Bench) -> None:
    depth = bench.parameters["depth"]
    for operation in Operation:
        for literal in range(operands_of(operation) if operands_of(operation) > 1 else 0):
            await bench.reset()
            probe = DataflowComputeUnitTester(bench, operation)
            tester = DataflowComputeUnitTester(bench, operation, {literal: probe.values()[literal]})
            for epoch in range(min(4, tester.threads // depth)):
                for tid in bench.rng.sample(range(depth), depth):
                    tester.put(epoch * depth + tid, tester.values())
            await tester.drain(load=0.7, sink=0.7)
            assert len(tester.results) == min(4, tester.threads // depth) * depth


@testbench
async def operands_in_any_order_within_an_epoch(bench: Bench) -> None:
    depth = bench.parameters["depth"]
    for load, sink in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5)):
        await bench.reset()
        tester = DataflowComputeUnitTester(bench, Operation.FMA)
        for epoch in range(min(6, tester.threads // depth)):
            for queue in tester.queues:
                for tid in bench.rng.sample(range(depth), depth):
                    queue.append((epoch * depth + tid, bench.rng.choice(SPECIAL)))
        await tester.drain(load=load, sink=sink)
        assert len(tester.results) == min(6, tester.threads // depth) * depth


reset_in_mid_run = interrupted(operands_in_any_order_within_an_epoch, last=300,
                               then=every_operation_one_per_cycle)
