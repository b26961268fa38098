"""Testbench of the compute unit: kernels with a stand-in for all memory, every cycle predicted.

A `Plan` lays a kernel's run out before it begins: which work-group is launched when, how long each
access takes, and what the models of pipeline and work-group say about it. The run is compared with
it: the cycle in which each instruction issues, all registers after each phase, each access and end.
Words of loads go in, and those of stores come out, through the transfer port.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import OPCODES, SCALAR_SPECIAL, File, Instruction, Kind, encode
from cyclebound.golden.simd.machine import SLOTS, Grid, Machine, Place, machine_named
from cyclebound.golden.simd.pipeline import Pipeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.transfers import Fault
from cyclebound.golden.simd.work_group import (
    INJECTED,
    MASKS,
    TAKEN,
    Code,
    KernelFault,
    Memory,
    WorkGroup,
    memory_of,
)
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.kernel_cases import case
from cyclebound.tools.simd.kernels import KERNELS
from cyclebound.tools.simd.random_instructions import random_instructions
from cyclebound.tools.simd.random_kernels import random_kernel

__all__ = ["FLAWED", "HEAD", "Plan", "Planner", "Scene", "flawed_plan", "play", "random_plan"]

_MEM_IDX, _MEM_DATA = 64, 65
_IDX, _DATA, _SD = 10, 11, 5


@dataclass
class State:
    """A work-group's registers."""

    v: np.ndarray
    p: np.ndarray
    s: list[int]
    sd: list[int]
    special: np.ndarray
    masks: np.ndarray

    @classmethod
    def of(cls, group: WorkGroup) -> "State":
        return cls(group.v.copy(), group.p.copy(), list(group.s), list(group.sc[_SD:]),
                   np.array(group.vc[_IDX:]), np.array([group.masks[name] for name in MASKS]))


@dataclass
class Plan:
    """A kernel's run, cycle by cycle, from the first launch in cycle 0.

    Attributes
    ----------
    launches : dict
        Cycle to slot and place.
    issues : list
        (cycle, slot, instruction or `INJECTED`) in order.
    phases : dict
        The first cycle after each phase to slot, access or None, and the state then.
    writes, reads : dict
        Cycle to the transfers of each slot: (slot, register, items' words or None for scalars).
    completions : dict
        Cycle to slots.
    fault : tuple or None
        Cycle, slot, instruction and work-group of what stops it; and, if it matters, the cause.
    patches : dict
        Instruction to what stands in its place.
    length : int or None
        Of the program, if not all of it.
    refused : int or None
        The cycle in which an access is refused.
    end : int
        The first cycle in which nothing is left.
    """

    program: Program
    grid: Grid
    exclusive: bool = False
    launches: dict[int, tuple[int, Place]] = field(default_factory=dict)
    issues: list[tuple[int, int, int]] = field(default_factory=list)
    phases: dict[int, tuple[int, dict | None, State]] = field(default_factory=dict)
    writes: dict[int, list[tuple]] = field(default_factory=dict)
    reads: dict[int, list[tuple]] = field(default_factory=dict)
    completions: dict[int, list[int]] = field(default_factory=dict)
    fault: tuple | None = None
    patches: dict[int, int] = field(default_factory=dict)
    length: int | None = None
    refused: int | None = None
    end: int = 0


def _stop(group: WorkGroup) -> None:
    raise Fault("here it stops")


@dataclass
class _Slot:
    group: WorkGroup | None = None
    ready: int | None = None
    free: int = 0


class Planner:
    """Makes a `Plan` with random delays of launches and accesses.

    ``slowest``: the most cycles of an access beyond its transfers. Some are as fast as can be.
    ``stops`` are instructions at which a kernel is stopped, and ``refuses`` an access. ``prompt``:
    launches are not delayed.
    """

    def __init__(self, program: Program, grid: Grid, memory: Memory, rng: random.Random, *,
                 words: int, exclusive: bool = False, slowest: int = 60,
                 stops: Sequence[int] = (), refuses: int | None = None, prompt: bool = False
                 ) -> None:
        self.plan = Plan(program, grid, exclusive)
        self._refuses, self._prompt = refuses, prompt
        self._rng, self._words, self._slowest = rng, words, slowest
        self._memory, self._code = memory, Code(program)
        self._pipeline = Pipeline(program, grid.machine)
        self._places = list(grid.places())
        self._slots = [_Slot() for _ in range(SLOTS)]
        for index in stops:
            self._code.functions[index] = _stop
        self._launch_from = 0
        self._transferred = 0

    def made(self) -> Plan:
        free, current = 0, SLOTS - 1
        with np.errstate(all="ignore"):
            while True:
                self._launch()
                ready = [slot.ready for slot in self._slots if slot.ready is not None]
                if not ready:
                    break
                start = max(free, min(ready))
                if self.plan.exclusive:
                    start = max(start, self._transferred)
                order = [(current + step) % SLOTS for step in range(1, SLOTS + 1)]
                current = next(number for number in order
                               if self._slots[number].ready is not None
                               and self._slots[number].ready <= start)
                if self.plan.fault is not None and (self._refuses is None
                                                    or start >= self.plan.fault[0]):
                    break
                free = self._phase(current, start)
        if self.plan.fault is not None:
            self._cut(self.plan.fault[0])
        return self.plan

    def _cut(self, when: int) -> None:
        """Nothing happens from the cycle on in which the fault is shown."""
        plan, machine = self.plan, self.plan.grid.machine
        depth = machine.decode_stages + machine.execute_stages
        plan.issues = [each for each in plan.issues if each[0] + depth < when]
        for kept in (plan.launches, plan.phases, plan.completions):
            for cycle in [cycle for cycle in kept if cycle >= when]:
                del kept[cycle]
        plan.end = when + 3

    def _launch(self) -> None:
        launched = len(self.plan.launches)
        while launched < len(self._places):
            free = [slot for slot in self._slots if slot.group is None]
            if not free:
                return
            slot = min(free, key=lambda each: each.free)
            when = max(slot.free, self._launch_from)
            if not self._prompt and self._rng.random() < 0.3:
                when += self._rng.randrange(30)
            place = self._places[launched]
            slot.group = WorkGroup(self._code, self.plan.grid, place, self._memory, most=200_000)
            slot.ready, self._launch_from = when + 1, when + 1
            self.plan.launches[when] = self._slots.index(slot), place
            launched += 1

    def _phase(self, number: int, start: int) -> int:
        plan, slot = self.plan, self._slots[number]
        group, trace = slot.group, []
        assert group is not None
        try:
            access = group.advance(trace)
        except KernelFault as fault:
            cycles = self._pipeline.issues(trace)
            self._issued(number, start, trace[:-1], cycles)
            machine = plan.grid.machine
            when = start + cycles[-2] + machine.decode_stages + machine.execute_stages + 1
            plan.fault = when, number, fault.index, group.place.number
            slot.ready = None
            return when
        *cycles, length = self._pipeline.issues(trace)
        free = start + length
        self._issued(number, start, trace, cycles)
        state = State.of(group)
        if access is None:
            plan.phases[free] = number, None, state
            over, done = free, True
        else:
            instruction = plan.program.instructions[group.pc - 1]
            done = _last_store(plan.program, group)
            shown = _shown(instruction, group, number, last=done)
            group.make(access)
            over = self._transfer(number, instruction, state, State.of(group), group.active, free)
            plan.phases[free] = number, shown, state
            plan.completions.setdefault(over - 1, []).append(number)
            if self._refuses == group.pc - 1 and plan.fault is None:
                plan.fault = over, number, self._refuses, group.place.number
                plan.refused = over - 1
            if access.resource == "scratchpad":
                self._transferred = max(self._transferred, over)
        slot.ready = None if done else over
        if done:
            slot.group, slot.free = None, over
        plan.end = max(plan.end, over + 3)
        return free

    def _issued(self, number: int, start: int, trace: Sequence[int], cycles: Sequence[int]) -> None:
        executed = [index for index in trace if index != TAKEN]
        self.plan.issues += [(start + cycle, number, index)
                             for index, cycle in zip(executed, cycles, strict=False)]

    def _transfer(self, slot: int, instruction: Instruction, before: State, after: State,
                  active: np.ndarray, begin: int) -> int:
        """Words through the transfer port; returns the first cycle in which the access is over."""
        plan, now = self.plan, begin
        target = instruction.operand("D")
        if instruction.operation.store or target is None:
            moves = plan.reads if instruction.operation.store else plan.writes
        else:
            moves = plan.writes
        state = before if instruction.operation.store else after
        registers: list[tuple[int, np.ndarray]] = []
        if target is None:  # snoopy: by mem_data
            registers = [(_MEM_DATA, state.special[1])]
        elif target.kind is Kind.VECTOR:
            registers = [(number, state.v[number]) for number in
                         range(target.value, target.value + instruction.width)]
        elif target.kind is Kind.VECTOR_SPECIAL:
            registers = [(_MEM_DATA, state.special[1])]
        elif target.kind is Kind.SCALAR:
            for first in range(0, len(after.s), 8):
                if after.s[first:first + 8] != before.s[first:first + 8]:
                    plan.writes.setdefault(now, []).append((slot, first, after.s[first:first + 8]))
                    now += 1
        for register, words in registers:
            for first in range(0, len(words), self._words):
                part = slice(first, first + self._words)
                moves.setdefault(now, []).append((slot, register, first // self._words,
                                                  words[part], active[part]))
                now += 1
        now += self._rng.choice((0, 0, self._rng.randrange(self._slowest + 1)))
        return max(now, begin + 1)


def _last_store(program: Program, group: WorkGroup) -> bool:
    """An exit of all lanes follows a store to DRAM, and the control stack is empty."""
    if group.pc >= len(program.instructions) or group.stack:
        return False
    store, then = program.instructions[group.pc - 1:group.pc + 1]
    return (store.operation.store and store.operation.unit.value == "dram" and then.name == "exit"
            and then.operand("A") is None)


def _shown(instruction: Instruction, group: WorkGroup, slot: int, *, last: bool) -> dict[str, int]:
    """The fields of an access."""
    def offset(name: str) -> int:
        operand = instruction.operand(name)
        if operand is None:
            return 0
        if operand.kind is Kind.IMMEDIATE:
            return operand.value
        return (group.s[operand.value] ^ 0x8000_0000) - 0x8000_0000

    target, buffer = instruction.operand("D"), instruction.operand("A")
    assert buffer is not None
    fields = {
        "slot": slot, "opcode": OPCODES[instruction.name],
        "scratchpad": int(instruction.operation.unit.value == "scratchpad"),
        "store": int(instruction.operation.store), "buffer": buffer.value,
        "width": instruction.width.bit_length() - 1, "x": offset("X"), "y": offset("Y"),
        "last": int(last), "index": group.pc - 1, "number": group.place.number,
        "group_x": group.place.x, "group_y": group.place.y,
        **dict(zip(SCALAR_SPECIAL[_SD:], group.sc[_SD:], strict=True)),
    }
    if target is not None:
        fields["target"] = (_MEM_DATA if target.kind is Kind.VECTOR_SPECIAL else target.value)
    count = instruction.operand("B")
    if instruction.name == "sldg":
        fields["count"] = 1 if count is None else count.value
    return fields


class Scene:
    """The compute unit on its bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.machine: Machine = machine_named(bench.parameters["machine"])
        machine = self.machine
        self.depth = machine.decode_stages + machine.execute_stages
        inputs, outputs = bench.inputs, bench.outputs
        self.words = inputs["transfer.0.read"].width // inputs["transfer.0.read.0"].width
        self._launch = {name: inputs[f"launch.payload.{name}"] for name in
                        ("slot", "number", "x", "y")}
        self._commit = {name: outputs[f"commit.payload.{name}"] for name in
                        ("slot", "index", "injected", "warp", "first", "last", "writes.file",
                         "writes.number", "lanes", "bits", "value", "words")}
        self._seen = {name: outputs[f"index_write.payload.{name}"] for name in
                      ("slot", "is_data", "warp", "enable", "item")}
        self._dims: dict[int, tuple[int, int]] = {}
        self._before: dict[int, list[tuple]] = {}
        self.issued = self.compared = 0

    async def load(self, plan: Plan) -> None:
        """Program memory, a word in each cycle; its length from then on."""
        inputs, program = self.bench.inputs, plan.program
        self._dims = {number: (each.x, each.y) for number, each in program.buffers.items()}
        for index, instruction in enumerate(program.instructions):
            await self.bench.step(inputs.pack({
                "program.valid": 1, "program.payload.index": index,
                "program.payload.word": plan.patches.get(index, encode(instruction))}))
        length = len(program.instructions) if plan.length is None else plan.length
        self._steady = inputs["length"].to(length)

    def _inputs(self, plan: Plan, cycle: int) -> int:
        """What the plan drives in a cycle."""
        inputs = self.bench.inputs
        word = 0
        if cycle in plan.launches:
            slot, place = plan.launches[cycle]
            word |= inputs["launch.valid"].mask | sum(
                self._launch[name].to(value) for name, value in
                (("slot", slot), ("number", place.number), ("x", place.x), ("y", place.y)))
        for slot in plan.completions.get(cycle, ()):
            word |= inputs[f"completion.{slot}.valid"].mask
            if cycle == plan.refused and plan.fault[1] == slot:
                word |= inputs[f"completion.{slot}.payload.fault"].mask
        for move in plan.writes.get(cycle, ()):
            word |= self._write(*move)
        for slot, register, group, *_ in plan.reads.get(cycle, ()):
            for position in range(self.words):
                name = f"transfer.{slot}.read.{position}"
                word |= inputs[f"{name}.register"].to(register) | inputs[f"{name}.group"].to(group)
        return word

    def _write(self, slot: int, register: int, *rest) -> int:
        inputs, word = self.bench.inputs, 0
        if len(rest) == 1:  # scalars
            for position, value in enumerate(rest[0]):
                name = f"transfer.{slot}.scalars.{position}"
                word |= (inputs[f"{name}.enable"].mask | inputs[f"{name}.row"].to(register // 8)
                         | inputs[f"{name}.data"].to(value))
            return word
        group, words, active = rest
        for position, (value, enable) in enumerate(zip(words.tolist(), active.tolist(),
                                                       strict=True)):
            if enable:
                name = f"transfer.{slot}.write.{position}"
                word |= (inputs[f"{name}.enable"].mask | inputs[f"{name}.register"].to(register)
                         | inputs[f"{name}.group"].to(group) | inputs[f"{name}.data"].to(value))
        return word

    async def run(self, plan: Plan) -> None:
        """Carry a plan out from this cycle on. Raises `AssertionError` at the first difference."""
        await self.load(plan)
        bench, grid = self.bench, plan.grid
        inputs, outputs = bench.inputs, bench.outputs
        steady = (self._steady | inputs["exclusive"].to(plan.exclusive)
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
        asked, answers = 0, {}
        for cycle in range(plan.end):
            x, y = self._dims.get(asked, (0, 0))
            seen = await bench.step(steady | self._inputs(plan, cycle) | query_x.to(x)
                                    | query_y.to(y))
            asked = buffer.of(seen)
            self._answered(seen, answers)
            answers = plan.reads.get(cycle, ())
            if seen & seen_valid:
                self._index_write(seen)
            if cycle in plan.phases:
                self._phase_over(plan, cycle, seen)
            else:
                assert not seen & (access | ended), f"cycle {cycle}: a phase ends, and should not"
            if cycle in plan.launches:
                slot, place = plan.launches[cycle]
                self._shadows[slot] = self._fresh(plan, place)
            for move in plan.writes.get(cycle, ()):
                self._moved(*move)
            if seen & commits:
                due = self._committed(seen, cycle, due, issues)
            if plan.fault is not None and cycle == plan.fault[0]:
                self._faulted(plan, seen)
            else:
                assert not seen & fault, f"cycle {cycle}: a fault"
        assert due is None, f"{due} was not issued"
        assert not outputs["occupied"].of(seen), "a slot is still occupied"
        bench.compared += plan.end

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
            found = cycle - self.depth, slot, index
            assert found == due, (f"cycle {cycle}: (issued, slot, instruction) is {found}, and "
                                  f"should be {due}")
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
            shadow.s[register:register + 8] = rest[0]
            return
        group, words, active = rest
        file = shadow.special[1] if register == _MEM_DATA else shadow.v[register]
        first = group * self.words
        np.copyto(file[first:first + self.words], words, where=active)

    def _answered(self, seen: int, answers) -> None:
        """Words that were asked for in the cycle before."""
        for slot, register, group, words, active in answers:
            found = self.bench.outputs[f"transfer.{slot}.answer"].of(seen)
            found = np.frombuffer(found.to_bytes(4 * self.words, "little"), np.uint32)
            wrong = np.flatnonzero(active & (found != words))
            assert not len(wrong), (f"slot {slot}: register {register} of item "
                                    f"{group * self.words + wrong[0]} is {found[wrong[0]]:#x}, and "
                                    f"should be {words[wrong[0]]:#x}")
            self.compared += int(active.sum())

    def _phase_over(self, plan: Plan, cycle: int, seen: int) -> None:
        slot, shown, state = plan.phases[cycle]
        outputs, shadow = self.bench.outputs, self._shadows[slot]
        assert shadow is not None
        inside = state.masks[MASKS.index("exit")]
        for name in ("v", "p", "s", "sd", "special", "masks"):
            found, wanted = (np.asarray(getattr(each, name)) for each in (shadow, state))
            differs = found != wanted
            if name == "masks":  # bra saves what a predicate says of lanes that are not there
                differs = differs & inside
            assert not differs.any(), (f"cycle {cycle}, slot {slot}: {name} differs at "
                                       f"{np.argwhere(differs)[0].tolist()}: "
                                       f"{found[differs][0]:#x}, {wanted[differs][0]:#x}")
        lanes = outputs[f"active.{slot}"].of(seen)
        wanted = np.logical_and.reduce(state.masks)
        found = np.unpackbits(np.frombuffer(lanes.to_bytes(-(-len(wanted) // 8), "little"),
                                            np.uint8), bitorder="little")[:len(wanted)]
        assert (found == wanted).all(), f"cycle {cycle}, slot {slot}: active lanes"
        name = "access" if shown is not None else "ended"
        assert outputs[f"{name}.valid"].of(seen), f"cycle {cycle}: no {name} of slot {slot}"
        fields = shown if shown is not None else {"slot": slot}
        for field_name, value in fields.items():
            got = outputs[f"{name}.payload.{field_name}"].of(seen)
            assert got == value, f"cycle {cycle}: {name}.{field_name} is {got}, not {value}"

    def _faulted(self, plan: Plan, seen: int) -> None:
        outputs = self.bench.outputs
        assert plan.fault is not None
        _, slot, index, number, *cause = plan.fault
        assert outputs["fault.valid"].of(seen), "no fault"
        found = {name: outputs[f"fault.payload.{name}"].of(seen) for name in
                 ("slot", "index", "number")}
        assert found == {"slot": slot, "index": index, "number": number}, found
        shown = outputs["fault.payload.cause"].of(seen)
        assert not cause or shown == cause[0], f"cause {shown}, and should be {cause[0]!r}"
        assert outputs["stopped"].of(seen), "it has not stopped"


def random_plan(seed: int, machine: Machine, words: int, *, exclusive: bool = False) -> Plan:
    """A random kernel on random content with random delays."""
    rng = random.Random(seed)
    if seed % 2:
        grid = Grid(rng.randint(1, 3 * machine.widths[0]), rng.randint(1, 50), machine,
                    rng.choice(machine.widths))
        program = assemble(random_instructions(seed, machine))
    else:
        grid = Grid(rng.randint(1, 3) * machine.items - rng.choice((0, 1, 7, machine.items // 2)),
                    1, machine)
        program = assemble(random_kernel(seed, machine, grid.x).text)
    memory = memory_of(program)
    numbers = np.random.default_rng(seed)
    for content in memory.values():
        content[...] = numbers.integers(0, 1 << 32, content.shape, dtype=np.uint32)
    return Planner(program, grid, memory, rng, words=words, exclusive=exclusive).made()


async def play(bench: Bench, seeds: range) -> None:
    """Random kernels and kernels of random instructions, in turn."""
    scene = Scene(bench)
    for seed in seeds:
        plan = random_plan(seed, scene.machine, scene.words, exclusive=seed % 3 == 0)
        try:
            await scene.run(plan)
        except AssertionError as wrong:
            raise AssertionError(f"kernel {seed}: {wrong}") from None
    assert scene.issued > 50 * len(seeds)


@testbench
async def random_kernels(bench: Bench) -> None:
    await play(bench, range(40))


@testbench
async def installed_kernels(bench: Bench) -> None:
    scene = Scene(bench)
    for name in KERNELS:
        found = case(name, scene.machine)
        plan = Planner(found.program, found.grid, found.memory, bench.rng,
                       words=scene.words).made()
        try:
            await scene.run(plan)
        except AssertionError as wrong:
            raise AssertionError(f"{name}: {wrong}") from None


HEAD = ".data\n0 0 64 4\n.sp_data\n0 0 16 8\n.text\n"
ILLEGAL = 0x7F
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
        "smov s0, 1\nldglin v0, 0\nsiadd s0, s0, s0\nrcp v1, v0\nldgbidx 0\nexit",
        Cause.ACCESS),
    "a deep stack": ("".join(f"cpush.if l{n}\n" for n in range(16)) + "nop\n"
                     + "".join(f"cpop\nl{15 - n}:\n" for n in range(16)) + "exit",
                     Cause.OVERFLOW),
    "an empty stack": ("nop\nl: cpush.if l\ncpop\nexit", Cause.EMPTY),
}


def flawed_plan(scene: "Scene", what: str, rng: random.Random) -> Plan:
    """A kernel that is stopped, in two work-groups or three."""
    text, cause = FLAWED[what]
    program = assemble(HEAD + text)
    instructions = list(program.instructions)
    if cause is Cause.OVERFLOW:  # one more
        instructions[16] = instructions[0]
    elif cause is Cause.EMPTY:
        instructions[1] = Instruction("nop")
    marks = [index for index, each in enumerate(instructions) if each.name == "printtrace"]
    program = replace(program, instructions=tuple(instructions))
    grid = Grid(scene.machine.items * rng.choice((2, 3)), 1, scene.machine)
    planner = Planner(program, grid, memory_of(program), rng, words=scene.words,
                      stops=marks, refuses=4 if cause is Cause.ACCESS else None)
    plan = planner.made()
    if cause is Cause.ILLEGAL:
        plan.patches = dict.fromkeys(marks, ILLEGAL)
    elif cause is Cause.END:
        plan.length = marks[0]
    assert plan.fault is not None
    plan.fault = (*plan.fault[:4], cause)
    return plan


@testbench
async def faults_stop_a_kernel_and_the_next_one_runs(bench: Bench) -> None:
    scene = Scene(bench)
    for what in FLAWED:
        for again in range(4):
            try:
                await scene.run(flawed_plan(scene, what, bench.rng))
                if again % 2:
                    await scene.run(random_plan(again, scene.machine, scene.words))
            except AssertionError as wrong:
                raise AssertionError(f"{what}: {wrong}") from None
