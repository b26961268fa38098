"""Testbench of the compute unit: kernels with a stand-in for all memory, every cycle predicted.

A run is compared with its `Plan`. Words of loads go in, and those of stores come out, through the
transfer port.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cyclebound.golden.simd.compute_unit import MEM_DATA, Passing, Plan, Planner, State
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import File, Instruction, Kind, Operand, encode
from cyclebound.golden.simd.machine import SLOTS, Grid, Machine, Place, machine_named
from cyclebound.golden.simd.work_group import INJECTED, MASKS, Code, WorkGroup, memory_of
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.kernel_cases import case, runs_on
from cyclebound.tools.simd.kernels import KERNELS
from cyclebound.tools.simd.random_instructions import random_instructions
from cyclebound.tools.simd.random_kernels import random_kernel

__all__ = ["FLAWED", "HEAD", "SimdComputeUnitTester", "flawed_plan", "play", "random_plan"]

_SD = 5


class SimdComputeUnitTester:
    """The compute unit on its bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.machine: Machine = machine_named(bench.parameters["machine"])
        machine = self.machine
        self.depth = machine.decode_stages + machine.execute_stages
        inputs, outputs = bench.inputs, bench.outputs
        self.words = inputs["transfer.0.read.0"].width // inputs["transfer.0.read.0.0"].width
        self._launch = {name: inputs[f"launch.payload.{name}"] for name in
                        ("slot", "number", "x", "y")}
        self._commit = {name: outputs[f"commit.payload.{name}"] for name in
                        ("slot", "index", "injected", "warp", "first", "last", "writes.file",
                         "writes.number", "lanes", "bits", "value", "words")}
        self._seen = {name: outputs[f"index_write.payload.{name}"] for name in
                      ("slot", "is_data", "warp", "enable", "item")}
        self._dims: dict[int, tuple[int, int]] = {}
        self._before: dict[int, list[tuple]] = {}
        self.issued = 0

    async def load(self, plan: Plan) -> None:
        """Program memory, a word in each cycle; its length from then on."""
        inputs, program = self.bench.inputs, plan.program
        self._dims = {number: (buffer.x, buffer.y) for number, buffer in program.buffers.items()}
        for index, instruction in enumerate(program.instructions):
            await self.load_word(index, plan.patches.get(index, encode(instruction)))
        length = len(program.instructions) if plan.length is None else plan.length
        self._steady = inputs["length"].to(length)

    async def load_word(self, index: int, word: int) -> None:
        await self.bench.step(self.bench.inputs.pack({
            "program.valid": 1, "program.payload.index": index // 2,
            "program.payload.enable": 1 << index % 2, f"program.payload.words.{index % 2}": word}))

    def _inputs(self, plan: Plan, cycle: int) -> int:
        """The word of inputs that the plan drives in a cycle."""
        inputs = self.bench.inputs
        word = 0
        if cycle in plan.launches:
            slot, place = plan.launches[cycle]
            word |= inputs["launch.valid"].mask | sum(
                self._launch[name].to(value) for name, value in
                (("slot", slot), ("number", place.number), ("x", place.x), ("y", place.y)))
        for slot in plan.completions.get(cycle, ()):
            word |= inputs[f"completion.{slot}.valid"].mask
            if cycle == plan.refused and plan.fault is not None and plan.fault[1] == slot:
                word |= inputs[f"completion.{slot}.payload.fault"].mask
        for move in plan.writes.get(cycle, ()):
            word |= self._write(*move)
        for passing in plan.snoops.get(cycle, ()):
            word |= self._snoop(passing)
        for slot, register, group, *_ in plan.reads.get(cycle, ()):
            for position in range(self.words):
                name = f"transfer.{slot}.read.{register % 4}.{position}"
                word |= inputs[f"{name}.row"].to(register // 4) | inputs[f"{name}.group"].to(group)
        return word

    def _write(self, slot: int, register: int, *rest) -> int:
        inputs, word = self.bench.inputs, 0
        if len(rest) == 1:  # a row of scalars
            for bank, value in enumerate(rest[0]):
                name = f"transfer.{slot}.scalars.{bank}"
                word |= (inputs[f"{name}.enable"].mask | inputs[f"{name}.row"].to(register)
                         | inputs[f"{name}.data"].to(value))
            return word
        group, words, active = rest
        for position, (value, enable) in enumerate(zip(words.tolist(), active.tolist(),
                                                       strict=True)):
            if enable:
                name = f"transfer.{slot}.write.{register % 4}.{position}"
                word |= (inputs[f"{name}.enable"].mask | inputs[f"{name}.row"].to(register // 4)
                         | inputs[f"{name}.group"].to(group) | inputs[f"{name}.data"].to(value))
        return word

    def _snoop(self, passing: Passing) -> int:
        inputs, name = self.bench.inputs, f"transfer.{passing.slot}.snoop"
        return (inputs[f"{name}.enable"].to(passing.enable)
                | inputs[f"{name}.index"].to(passing.first)
                | inputs[f"{name}.load"].to(bool(passing.words))
                | sum(inputs[f"{name}.words.{position}"].to(word)
                      for position, word in enumerate(passing.words)))

    async def run(self, plan: Plan) -> None:
        """Carry a plan out from this cycle on. Raises `AssertionError` at the first difference."""
        await self.load(plan)
        bench, grid = self.bench, plan.grid
        inputs, outputs = bench.inputs, bench.outputs
        steady = (self._steady | inputs["exclusive"].to(plan.exclusive)
                  | inputs["hold"].to(plan.hold)
                  | inputs["grid.x"].to(grid.x) | inputs["grid.y"].to(grid.y)
                  | inputs["grid.width"].to(grid.width.bit_length() - 1))
        await bench.step(steady | inputs["start"].mask)
        self._shadows: list[State | None] = [None] * SLOTS
        issues = iter(plan.issues)
        due = next(issues, None)
        commits, access, ended, fault, seen_valid = (
            outputs[f"{name}.valid"].mask for name in
            ("commit", "access", "ended", "fault", "index_write"))
        buffer = outputs["buffer_query.buffer"]
        query_x, query_y = inputs["buffer_query.x"], inputs["buffer_query.y"]
        asked = 0
        answers: Sequence[tuple] = ()
        passed: Sequence[Passing] = ()
        for cycle in range(plan.end):
            x, y = self._dims.get(asked, (0, 0))
            seen = await bench.step(steady | self._inputs(plan, cycle) | query_x.to(x)
                                    | query_y.to(y))
            asked = buffer.of(seen)
            self._answered(seen, answers)
            answers = plan.reads.get(cycle, ())
            self._held(seen, passed)
            passed = plan.snoops.get(cycle, ())
            if seen & seen_valid:
                self._index_write(seen)
            faulty = plan.fault is not None and cycle == plan.fault[0]
            bench.check(seen, 0, (0 if cycle in plan.phases else access | ended)
                        | (0 if faulty else fault))
            if cycle in plan.phases:
                self._phase_over(plan, cycle, seen)
            if cycle in plan.launches:
                slot, place = plan.launches[cycle]
                self._shadows[slot] = self._fresh(plan, place)
            for move in plan.writes.get(cycle, ()):
                self._moved(*move)
            for passing in passed:
                self._taken(passing)
            if seen & commits:
                due = self._committed(seen, cycle, due, issues)
            if faulty:
                self._faulted(plan, seen)
        assert due is None, f"{due} was not issued"
        assert not outputs["occupied"].of(seen), "a slot is still occupied"

    def _fresh(self, plan: Plan, place: Place) -> State:
        group = WorkGroup(Code(plan.program), plan.grid, place, memory_of(plan.program))
        return State.of(group)

    def _lane_bits(self, bits: int) -> np.ndarray:
        lanes = self.machine.lanes
        raw = np.frombuffer(bits.to_bytes(-(-lanes // 8), "little"), np.uint8)
        return np.unpackbits(raw, bitorder="little")[:lanes].astype(bool)

    def _lane_words(self, words: int) -> np.ndarray:
        return np.frombuffer(words.to_bytes(4 * self.machine.lanes, "little"), np.uint32)

    def _committed(self, seen: int, cycle: int, due, issues: Iterator):
        """A token's effect on the shadow of its work-group; and when it was issued."""
        at = self._commit
        slot, shadow = at["slot"].of(seen), self._shadows[at["slot"].of(seen)]
        assert shadow is not None, f"cycle {cycle}: slot {slot} has no work-group"
        if at["first"].of(seen):
            index = INJECTED if at["injected"].of(seen) else at["index"].of(seen)
            self.bench.compare((cycle - self.depth, slot, index), due,
                               "(issued, slot, instruction)")
            self.issued += 1
            due = next(issues, None)
        file, number = at["writes.file"].of(seen), at["writes.number"].of(seen)
        first = at["warp"].of(seen) * self.machine.lanes
        part = slice(first, first + self.machine.lanes)
        if file == File.VECTOR:
            lanes = self._lane_bits(at["lanes"].of(seen))
            np.copyto(shadow.v[number, part], self._lane_words(at["words"].of(seen)), where=lanes)
        elif file == File.PREDICATE:
            np.copyto(shadow.p[number, part], self._lane_bits(at["bits"].of(seen)),
                      where=self._lane_bits(at["lanes"].of(seen)))
        elif file == File.VECTOR_SPECIAL and number < len(MASKS):
            shadow.masks[number, part] = self._lane_bits(at["bits"].of(seen))
        elif file == File.SCALAR and at["last"].of(seen):
            shadow.s[number] = at["value"].of(seen)
        elif file == File.SCALAR_SPECIAL and at["last"].of(seen):
            shadow.sd[number - _SD] = at["value"].of(seen)
        return due

    def _index_write(self, seen: int) -> None:
        at = self._seen
        shadow = self._shadows[at["slot"].of(seen)]
        assert shadow is not None
        first = at["warp"].of(seen) * self.machine.lanes
        np.copyto(shadow.special[at["is_data"].of(seen), first:first + self.machine.lanes],
                  self._lane_words(at["item"].of(seen)),
                  where=self._lane_bits(at["enable"].of(seen)))

    def _moved(self, slot: int, register: int, *rest) -> None:
        shadow = self._shadows[slot]
        assert shadow is not None
        if len(rest) == 1:
            first = register * len(rest[0])
            shadow.s[first:first + len(rest[0])] = rest[0]
            return
        group, words, active = rest
        file = shadow.special[1] if register == MEM_DATA else shadow.v[register]
        first = group * self.words
        np.copyto(file[first:first + self.words], words, where=active)

    def _taken(self, passing: Passing) -> None:
        """Items have taken the words that they wait for."""
        shadow = self._shadows[passing.slot]
        assert shadow is not None
        for position, items in passing.items.items():
            if passing.words:
                shadow.special[1][items] = passing.words[position]

    def _held(self, seen: int, passed: Sequence[Passing]) -> None:
        """Words of items that were asked for in the cycle before."""
        outputs = self.bench.outputs
        for passing in passed:
            if passing.words:
                continue
            name = f"transfer.{passing.slot}.held"
            enable = outputs[f"{name}.enable"].of(seen)
            answers = {position: outputs[f"{name}.words.{position}"].of(seen)
                       for position in range(enable.bit_length()) if enable >> position & 1}
            self.bench.compare(answers, passing.held, f"slot {passing.slot}: what items answer, "
                               f"from index {passing.first} on,", count=len(answers))

    def _answered(self, seen: int, answers: Sequence[tuple]) -> None:
        """Words that were asked for in the cycle before."""
        for slot, register, group, words, active in answers:
            bits = self.bench.outputs[f"transfer.{slot}.answer.{register % 4}"].of(seen)
            answer = np.frombuffer(bits.to_bytes(4 * self.words, "little"), np.uint32)
            self.bench.compare(np.where(active, answer, 0), np.where(active, words, 0),
                               f"slot {slot}: register {register}, from item "
                               f"{group * self.words} on,", count=int(active.sum()))

    def _phase_over(self, plan: Plan, cycle: int, seen: int) -> None:
        slot, shown, state = plan.phases[cycle]
        outputs, shadow = self.bench.outputs, self._shadows[slot]
        assert shadow is not None
        inside = state.masks[MASKS.index("exit")]
        for name in ("v", "p", "s", "sd", "special", "masks"):
            held, wanted = (np.asarray(getattr(holder, name)) for holder in (shadow, state))
            if name == "masks":  # bra saves what a predicate says of lanes that are not there
                held, wanted = held & inside, wanted & inside
            self.bench.compare(held, wanted, f"slot {slot}: {name}")
        lanes = outputs[f"active.{slot}"].of(seen)
        wanted = np.logical_and.reduce(state.masks)
        held = np.unpackbits(np.frombuffer(lanes.to_bytes(-(-len(wanted) // 8), "little"),
                                           np.uint8), bitorder="little")[:len(wanted)]
        self.bench.compare(held.astype(bool), wanted, f"slot {slot}: active lanes")
        name = "access" if shown is not None else "ended"
        assert outputs[f"{name}.valid"].of(seen), f"cycle {cycle}: no {name} of slot {slot}"
        fields = shown if shown is not None else {"slot": slot}
        for field_name, value in fields.items():
            got = outputs[f"{name}.payload.{field_name}"].of(seen)
            self.bench.compare(got, value, f"{name}.{field_name}")

    def _faulted(self, plan: Plan, seen: int) -> None:
        outputs = self.bench.outputs
        assert plan.fault is not None
        _, slot, index, number, *cause = plan.fault
        assert outputs["fault.valid"].of(seen), "no fault"
        reported = {name: outputs[f"fault.payload.{name}"].of(seen) for name in
                    ("slot", "index", "number")}
        self.bench.compare(reported, {"slot": slot, "index": index, "number": number}, "the fault")
        shown = outputs["fault.payload.cause"].of(seen)
        assert not cause or shown == cause[0], f"cause {shown}, and should be {cause[0]!r}"
        assert outputs["stopped"].of(seen), "it has not stopped"


def random_plan(seed: int, machine: Machine, words: int, *, exclusive: bool = False,
                hold: bool = False) -> Plan:
    """A random kernel on random content with random delays."""
    rng = random.Random(seed)
    if seed % 2:
        grid = Grid(rng.randint(1, 3 * machine.widths[0]), rng.randint(1, 50), machine,
                    rng.choice(machine.widths))
        program = assemble(random_instructions(seed, machine))
    else:
        grid = Grid(rng.randint(1, 3) * machine.items - rng.choice((0, 1, 7, machine.items // 2)),
                    1, machine, machine.items)
        program = assemble(random_kernel(seed, machine, grid.x).text)
    memory = memory_of(program)
    numbers = np.random.default_rng(seed)
    for content in memory.values():
        content[...] = numbers.integers(0, 1 << 32, content.shape, dtype=np.uint32)
    return Planner(program, grid, memory, rng, words=words, exclusive=exclusive,
                   hold=hold).made()


async def play(bench: Bench, seeds: range) -> None:
    """Random kernels and kernels of random instructions, in turn."""
    tester = SimdComputeUnitTester(bench)
    for seed in seeds:
        plan = random_plan(seed, tester.machine, tester.words, exclusive=seed % 3 == 0,
                           hold=seed % 4 < 2)
        try:
            await tester.run(plan)
        except AssertionError as wrong:
            raise type(wrong)(f"kernel {seed}: {wrong}") from None
    assert tester.issued > 50 * len(seeds)


@testbench
async def random_kernels(bench: Bench) -> None:
    await play(bench, range(40))


@testbench
async def a_thousand_random_kernels(bench: Bench) -> None:
    await play(bench, range(1000, 2000))


@testbench
async def installed_kernels(bench: Bench) -> None:
    tester = SimdComputeUnitTester(bench)
    for name in KERNELS:
        if not runs_on(name, tester.machine):
            continue
        instance = case(name, tester.machine)
        plan = Planner(instance.program, instance.grid, instance.memory, bench.rng,
                       words=tester.words).made()
        try:
            await tester.run(plan)
        except AssertionError as wrong:
            raise type(wrong)(f"{name}: {wrong}") from None


HEAD = ".data\n0 0 64 4\n.sp_data\n0 0 16 8\n.text\n"
ILLEGAL = 0x7F
SNOOPY = encode(Instruction("ldgbidx", operands=(Operand(Kind.IMMEDIATE, 0),)))
NONE_LEFT = "mov v0, vc.zero\nitest.ez p0, v0\n"
# what is wrong, where execution comes to a stop, and why
FLAWED = {
    "an illegal instruction": ("nop\nsidiv s0, s1, s2\nprinttrace\nexit", Cause.ILLEGAL),
    "one that a jump skips, and another": (
        "j l\nprinttrace\nl: printtrace\nexit", Cause.ILLEGAL),
    "one where no lane is left, and another": (
        NONE_LEFT + "cpush.if l\ncmask p0\nprinttrace\ncpop\nl: printtrace\nexit",
        Cause.ILLEGAL),
    "one after an access": ("ldglin v0, 0\nprinttrace\nexit", Cause.ILLEGAL),
    "no end": ("nop\nnop\nprinttrace\nexit", Cause.END),
    "an access that its unit refuses": (
        "smov s0, 1\nldglin v0, 0\nsiadd s0, s0, s0\nrcp v1, v0\nldgidxit v2, 0\nexit",
        Cause.ACCESS),
    "a deep stack": ("".join(f"cpush.if l{n}\n" for n in range(16)) + "nop\n"
                     + "".join(f"cpop\nl{15 - n}:\n" for n in range(16)) + "exit",
                     Cause.OVERFLOW),
    "an empty stack": ("nop\nl: cpush.if l\ncpop\nexit", Cause.EMPTY),
}


def flawed_plan(tester: "SimdComputeUnitTester", what: str, rng: random.Random) -> Plan:
    """A kernel that is stopped, in two work-groups or three."""
    text, cause = FLAWED[what]
    program = assemble(HEAD + text)
    instructions = list(program.instructions)
    if cause is Cause.OVERFLOW:  # one more
        instructions[16] = instructions[0]
    elif cause is Cause.EMPTY:
        instructions[1] = Instruction("nop")
    marks = [index
             for index, instruction in enumerate(instructions) if instruction.name == "printtrace"]
    program = replace(program, instructions=tuple(instructions))
    grid = Grid(tester.machine.items * rng.choice((2, 3)), 1, tester.machine)
    planner = Planner(program, grid, memory_of(program), rng, words=tester.words,
                      stops=marks, refuses=4 if cause is Cause.ACCESS else None)
    plan = planner.made()
    if cause is Cause.ILLEGAL:
        plan.patches = dict.fromkeys(marks, ILLEGAL if tester.machine.snoopy else SNOOPY)
    elif cause is Cause.END:
        plan.length = marks[0]
    assert plan.fault is not None
    plan.fault = (*plan.fault[:4], cause)
    return plan


@testbench
async def faults_stop_a_kernel_and_the_next_one_runs(bench: Bench) -> None:
    tester = SimdComputeUnitTester(bench)
    for what in FLAWED:
        for again in range(4):
            try:
                await tester.run(flawed_plan(tester, what, bench.rng))
                if again % 2:
                    await tester.run(random_plan(again, tester.machine, tester.words))
            except AssertionError as wrong:
                raise type(wrong)(f"{what}: {wrong}") from None
