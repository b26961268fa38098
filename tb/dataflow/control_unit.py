"""Testbench of the control unit: every function, every port compared in every cycle."""

from cyclebound.golden.dataflow.control import DELAY_SLOTS, Control
from cyclebound.golden.dataflow.control_unit import ControlUnitModel
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.operand_tester import OperandTester


class ControlUnitTester(OperandTester):
    """The unit under one configuration, its model, and tokens before each operand."""

    def __init__(self, bench: Bench, **configuration) -> None:
        super().__init__(bench, 3)
        self.depth = bench.parameters["depth"]
        self.model = model = ControlUnitModel(depth=self.depth, **configuration)
        self.taken = 0  # tokens
        self.got: tuple[list, list] = ([], [])
        self._fixed = {"configuration.function": int(model.function),
                       "configuration.operands": sum(1 << k for k in model.operands),
                       "configuration.inverted": sum(1 << k for k in model.inverted),
                       "configuration.slots": model.slots, "configuration.split": model.split}

    def put(self, tid: int, operands=None) -> None:
        for k in self.model.operands if operands is None else operands:
            self.queues[k].append((tid, self.bench.rng.getrandbits(32)))

    async def cycle(self, *, sink: float = 1.0, load: float = 1.0) -> None:
        bench = self.bench
        ready = [bench.rng.random() < sink for _ in range(2)]
        values = (self._fixed | {f"results.{k}.ready": ready[k] for k in range(2)}
                  | self.offer(load))
        seen = await bench.step(bench.inputs.pack(values))
        outputs = self.model.step(self.held, ready)
        self.taken += sum(outputs.taken)
        expected = self.take(outputs.taken)
        for k, token in enumerate(outputs.results):
            expected[f"results.{k}.valid"] = token is not None
            if token is not None:
                expected |= {f"results.{k}.payload.tid": token[0],
                             f"results.{k}.payload.data": token[1]}
                if ready[k]:
                    self.got[k].append(token)
        bench.check_fields(seen, expected)

    async def drain(self, *, sink: float = 1.0, load: float = 1.0) -> None:
        await self.cycle(sink=sink, load=load)
        while self.waiting or not self.model.empty:
            await self.cycle(sink=sink, load=load)


CASES = (
    {"function": Control.JOIN}, {"function": Control.JOIN, "operands": (0, 2), "inverted": (2,)},
    {"function": Control.LABEL}, {"function": Control.LABEL, "operands": (1,), "inverted": (1,)},
    {"function": Control.PHI}, {"function": Control.PHI, "split": True},
    {"function": Control.LABEL, "split": True},
)


@testbench
async def one_thread_per_cycle(bench: Bench) -> None:
    for case in CASES:
        await bench.reset()
        tester = ControlUnitTester(bench, **case)
        threads = 3 * tester.depth
        bench.declare("result", last=1)  # all tokens of a thread come in one cycle
        bench.declare("stream", threads=threads)
        for tid in range(threads):
            tester.put(tid)
        await tester.drain()
        await tester.cycle()
        assert [tid for tid, _ in tester.got[0]] == list(range(threads))


@testbench
async def epochs_in_any_order_with_stalls(bench: Bench) -> None:
    for case in CASES:
        await bench.reset()
        tester = ControlUnitTester(bench, **case)
        depth = tester.depth
        for epoch in range(4):
            for k in tester.model.operands:
                for tid in bench.rng.sample(range(depth), depth):
                    tester.put(epoch * depth + tid, [k])
        await tester.drain(sink=0.6, load=0.7)
        for _ in range(20):  # what is on offer still
            await tester.cycle()
        for k in range(1 + tester.model.split):
            assert sorted(tid for tid, _ in tester.got[k]) == list(range(4 * depth))


@testbench
async def delays_of_every_length(bench: Bench) -> None:
    for slots in range(1, DELAY_SLOTS + 1):
        for sink in (1.0, 0.5):
            await bench.reset()
            tester = ControlUnitTester(bench, function=Control.DELAY, operands=(0,), slots=slots,
                                       split=bool(slots % 2))
            threads = 24
            for tid in range(threads):
                tester.put(tid)
            if sink == 1:
                bench.declare("delay", threads=threads, slots=slots)
            await tester.drain(sink=sink)
            assert [tid for tid, _ in tester.got[0]] == list(range(threads))
            bench.undeclare("delay")


@testbench
async def a_delay_holds_as_many_tokens_as_it_has_slots(bench: Bench) -> None:
    for slots in (1, 2, 7, DELAY_SLOTS, DELAY_SLOTS + 1, 31):  # the last are more than there are
        await bench.reset()
        tester = ControlUnitTester(bench, function=Control.DELAY, operands=(0,), slots=slots)
        for tid in range(DELAY_SLOTS + 4):
            tester.put(tid)
        for _ in range(DELAY_SLOTS + 6):
            await tester.cycle(sink=0)
        assert tester.taken == min(slots, DELAY_SLOTS)
        await tester.drain()
        assert [tid for tid, _ in tester.got[0]] == list(range(DELAY_SLOTS + 4))


reset_in_mid_run = interrupted(epochs_in_any_order_with_stalls, last=300, then=one_thread_per_cycle)
