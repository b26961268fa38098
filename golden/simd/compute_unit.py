"""The compute unit's run of a kernel, cycle by cycle, with a stand-in for all memory.

A `Plan` is laid out before the run: which work-group is launched when, how long each access takes,
and what the models of pipeline and work-group say about it: the cycle in which each instruction
issues, all registers after each phase, each access, end and fault.

Ref: Sim-D, section 3.1; `pipeline` and `work_group` have the rules.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cyclebound.golden.dram.request import TARGET_BITS, WORD_BITS, WORD_BYTES
from cyclebound.golden.simd.isa import OPCODES, SCALAR_SPECIAL, Instruction, Kind
from cyclebound.golden.simd.machine import SCALARS, SLOTS, Grid, Place
from cyclebound.golden.simd.pipeline import Pipeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.transfers import Access, Fault, snooped
from cyclebound.golden.simd.work_group import (
    MASKS,
    TAKEN,
    Code,
    KernelFault,
    Memory,
    WorkGroup,
)

__all__ = ["MEM_DATA", "Passing", "Plan", "Planner", "State"]

MEM_DATA = 65  # of a transfer, after the vector registers and mem_idx
_IDX, _SD = 10, 5


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


class Passing(NamedTuple):
    """Words that pass a slot's registers in a cycle; those that are enabled have indexes from
    ``first`` on.

    Attributes
    ----------
    words : tuple of int
        Of a load; anything where none is enabled. Empty: of a store.
    items : dict
        Position of each enabled word that an active item has, to those items.
    held : dict
        Of a store: the words that items answer with, by position.
    """

    slot: int
    enable: int
    first: int
    words: tuple[int, ...]
    items: dict[int, np.ndarray]
    held: dict[int, int]


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
    snoops : dict
        Cycle to the words of snoopy accesses: `Passing`.
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
    hold: bool = False
    launches: dict[int, tuple[int, Place]] = field(default_factory=dict)
    issues: list[tuple[int, int, int]] = field(default_factory=list)
    phases: dict[int, tuple[int, dict | None, State]] = field(default_factory=dict)
    writes: dict[int, list[tuple]] = field(default_factory=dict)
    reads: dict[int, list[tuple]] = field(default_factory=dict)
    snoops: dict[int, list[Passing]] = field(default_factory=dict)
    completions: dict[int, list[int]] = field(default_factory=dict)
    fault: tuple | None = None
    patches: dict[int, int] = field(default_factory=dict)
    length: int | None = None
    refused: int | None = None
    end: int = 0


def _stop(group: WorkGroup) -> None:
    raise Fault("here it stops")


@dataclass
class _PlannedSlot:
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
                 words: int, exclusive: bool = False, hold: bool = False, slowest: int = 60,
                 stops: Sequence[int] = (), refuses: int | None = None, prompt: bool = False
                 ) -> None:
        self.plan = Plan(program, grid, exclusive, hold)
        self._stays = False  # with hold: the last phase ended in an access to the scratchpad
        self._refuses, self._prompt = refuses, prompt
        self._rng, self._words, self._slowest = rng, words, slowest
        self._memory, self._code = memory, Code(program)
        self._pipeline = Pipeline(program, grid.machine)
        self._places = list(grid.places())
        self._slots = [_PlannedSlot() for _ in range(SLOTS)]
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
                first = 0 if self._stays else 1
                order = [(current + step) % SLOTS for step in range(first, SLOTS + first)]
                current = next(number for number in order
                               if (ready_at := self._slots[number].ready) is not None
                               and ready_at <= start)
                if self.plan.fault is not None and (self._refuses is None
                                                    or start >= self.plan.fault[0]):
                    break
                free = self._phase(current, start)
        if self.plan.fault is not None:
            self._cut(self.plan.fault[0])
        return self.plan

    def _cut(self, when: int) -> None:
        """Cut the plan off at the cycle in which the fault is shown."""
        plan, machine = self.plan, self.plan.grid.machine
        depth = machine.decode_stages + machine.execute_stages
        plan.issues = [issue for issue in plan.issues if issue[0] + depth < when]
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
            slot = min(free, key=lambda slot: slot.free)
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
        group, trace = slot.group, list[int]()
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
        self._stays = plan.hold and access is not None and access.resource == "scratchpad"
        if access is None:
            plan.phases[free] = number, None, state
            over, done = free, True
        else:
            instruction = plan.program.instructions[group.pc - 1]
            done = _last_store(plan.program, group)
            shown = _shown(instruction, group, number, last=done)
            group.make(access)
            over = self._transfer(number, instruction, access, state, State.of(group),
                                  group.active, free)
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

    def _transfer(self, slot: int, instruction: Instruction, access: Access, before: State,
                  after: State, active: np.ndarray, begin: int) -> int:
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
            now = self._snooped(slot, instruction, access, before, after, active, begin)
        elif target.kind is Kind.VECTOR:
            registers = [(number, state.v[number]) for number in
                         range(target.value, target.value + instruction.width)]
        elif target.kind is Kind.VECTOR_SPECIAL:
            registers = [(MEM_DATA, state.special[1])]
        elif target.kind is Kind.SCALAR:
            # Also where the words are those that the registers held: the model's begin with 0, the
            # machine's with what the kernel before left there.
            banks = plan.grid.machine.scalar_banks
            for row, first in enumerate(range(0, SCALARS, banks)):
                plan.writes.setdefault(now, []).append((slot, row, after.s[first:first + banks]))
                now += 1
        for register, words in registers:
            for first in range(0, len(words), self._words):
                part = slice(first, first + self._words)
                moves.setdefault(now, []).append((slot, register, first // self._words,
                                                  words[part], active[part]))
                now += 1
        now += self._rng.choice((0, 0, self._rng.randrange(self._slowest + 1)))
        return max(now, begin + 1)

    def _snooped(self, slot: int, instruction: Instruction, access: Access, before: State,
                 after: State, active: np.ndarray, begin: int) -> int:
        """Words that items have, and some that none has, in any order and at any place of a beat;
        returns the first cycle after them."""
        rng, program, operand = self._rng, self.plan.program, instruction.operand("A")
        assert operand is not None
        buffers = (program.buffers if access.resource == "dram" else program.scratchpad_buffers)
        first = access.address - buffers[operand.value].address // WORD_BYTES
        index, store = before.special[0], instruction.operation.store
        lanes = np.flatnonzero(snooped(index, active, first, access.words, access.period,
                                       access.count))
        items = {word: lanes[index[lanes] == word] for word in set(index[lanes].tolist())}
        taken = set(index[active].tolist())  # of words that may not pass unless they are wanted
        size = self.plan.grid.machine.words_moved
        shift, modulus = rng.randrange(size), 1 << TARGET_BITS
        blocks = {(item + shift) // size for item in items} | {rng.randrange(40)}
        now = begin
        for block in rng.sample(sorted(blocks), len(blocks)):
            begins = (block * size - shift) % modulus
            places = [(begins + position) % modulus for position in range(size)]
            enable = sum(1 << position for position, place in enumerate(places)
                         if place in items or (place not in taken and rng.random() < 0.5))
            here = {position: items[place] for position, place in enumerate(places)
                    if place in items}
            words = [rng.getrandbits(WORD_BITS) for _ in places]
            held = {}
            for position, those in here.items():
                words[position] = int(after.special[1][those[0]])
                held[position] = int(before.special[1][those[0]])
            self.plan.snoops.setdefault(now, []).append(Passing(
                slot, enable, begins, () if store else tuple(words), here, held if store else {}))
            now += 1
        return now


def _last_store(program: Program, group: WorkGroup) -> bool:
    """An exit of all lanes follows a store to DRAM, and the control stack is empty."""
    if group.pc >= len(program.instructions) or group.stack:
        return False
    store, then = program.instructions[group.pc - 1:group.pc + 1]
    return (store.operation.store and store.operation.unit.value == "dram" and then.name == "exit"
            and then.operand("A") is None)


def _shown(instruction: Instruction, group: WorkGroup, slot: int, *, last: bool) -> dict[str, int]:
    """The fields of ``AccessLayout`` for an access, by name."""
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
        fields["target"] = (MEM_DATA if target.kind is Kind.VECTOR_SPECIAL else target.value)
    count = instruction.operand("B")
    if instruction.name == "sldg":
        fields["count"] = 1 if count is None else count.value
    return fields
