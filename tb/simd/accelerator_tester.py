"""A kernel on the accelerator, between a DRAM device and the cycle model.

The device objects to whatever its data sheet forbids. Whenever a compute cycle ends, what happens
to work-groups at the ports (launches, first commits, commits, ends, completions) is compared with
what the cycle model says of that cycle, and the phases that follow from it with the model's; at the
end, all buffers with the model's.
"""

import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.request import BEAT_WORDS, BURST_BYTES, WORD_BITS, WORD_BYTES
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Phase, Timed
from cyclebound.golden.simd.isa import encode
from cyclebound.golden.simd.machine import SLOTS, Grid, as_built, machine_named
from cyclebound.golden.simd.memory_timing import SETTLED, DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import CODES, Policy
from cyclebound.golden.simd.work_group import Memory
from cyclebound.tb.bench import Bench

__all__ = ["AcceleratorSide", "DeviceSide", "KernelSide", "Ran", "SimdAcceleratorTester",
           "events_of", "phases_of"]

_BEAT_BYTES = BEAT_WORDS * WORD_BYTES
_BYTES_OF = [sum(0xF << 4 * word for word in range(BEAT_WORDS) if mask >> word & 1)
             for mask in range(1 << BEAT_WORDS)]
_ROW = 1 << 16  # bytes across all banks: a program begins at a row of its own
_STARTS = 8     # DRAM clocks from a start to a kernel's first, at least

Events = dict[int, list[tuple]]
"""By compute cycle, its events: kind, slot, and a launch's work-group."""


def events_of(timed: Timed) -> Events:
    """The events that a run's phases cause at ports, by cycle: commits, ends, completions."""
    by_cycle: Events = defaultdict(list)
    groups: dict[int, list[Phase]] = defaultdict(list)
    for phase in timed.phases:
        groups[phase.work_group].append(phase)
    for phases in groups.values():
        for phase, after in zip(phases, [*phases[1:], None], strict=True):
            if phase.resource != "compute":
                by_cycle[phase.end].append(("over", phase.slot))
            elif after is None:
                by_cycle[phase.end].append(("ended", phase.slot))
            else:
                by_cycle[phase.end].append((after.resource, phase.slot))
    return {cycle: sorted(events) for cycle, events in by_cycle.items()}


def _near(events: Events, cycle: int) -> list[tuple[int, list[tuple]]]:
    """The events around a cycle, for a message."""
    return [(at, events[at]) for at in sorted(events) if at >= cycle - 60][:6]


@dataclass
class Ran:
    """A run on hardware: its compute cycles, what happened when, and its fault's fields.

    Attributes
    ----------
    launches : list
        Cycle, slot and work-group of each.
    firsts : list
        Cycle and slot of the first commit of each compute phase.
    """

    cycles: int = 0
    load: int = 0
    events: Events = field(default_factory=lambda: defaultdict(list))
    launches: list[tuple[int, int, int]] = field(default_factory=list)
    firsts: list[tuple[int, int]] = field(default_factory=list)
    fault: dict[str, int] | None = None


def phases_of(ran: Ran, *, depth: int, policy: Policy) -> list[Phase]:
    """The phases in which each work-group occupied a resource, from the events at the ports.

    A compute phase began ``depth`` cycles (decode and execute stages) before its first commit. An
    access occupies its resource from its commit on, or from the end of the access before it that
    it waits for.
    """
    steps = [(cycle, 1, kind, slot, 0) for cycle, events in ran.events.items()
             for kind, slot in events]
    steps += [(cycle, 2, "launch", slot, number) for cycle, slot, number in ran.launches]
    steps += [(cycle, 0, "first", slot, 0) for cycle, slot in ran.firsts]
    phases: list[Phase] = []
    group, start = [0] * SLOTS, [-1] * SLOTS
    accesses: list[tuple[str, int]] = [("", 0)] * SLOTS
    until = {"dram": 0, "scratchpad": 0}

    def in_order(step: tuple) -> tuple:
        """Sort key within a cycle; two accesses that end together come in order of commit."""
        _, _, kind, slot, _ = step
        return accesses[slot][1] if kind == "over" else 0, kind, slot

    for cycle, _, kind, slot, number in itertools.chain.from_iterable(
            sorted(group, key=in_order) for _, group in
            itertools.groupby(sorted(steps), key=lambda step: step[:2])):
        if kind == "launch":
            group[slot] = number
        elif kind == "first":
            start[slot] = cycle - depth
        elif kind == "over":
            resource, committed = accesses[slot]
            before = (max(until.values()) if policy is Policy.ACCESS
                      else until["dram"] if resource == "dram" else 0)
            phases.append(Phase(resource, slot, group[slot], max(committed, before), cycle))
            until[resource] = cycle
        else:  # a work-group without a lane ends in its first cycle, and commits nothing
            phases.append(Phase("compute", slot, group[slot],
                                cycle - 1 if start[slot] < 0 else start[slot], cycle))
            start[slot], accesses[slot] = -1, (kind, cycle)
    return sorted(phases, key=lambda phase: (phase.start, phase.resource))


class KernelSide(ABC):
    """Puts a kernel's data into a DRAM, runs the kernel, and times it.

    Attributes
    ----------
    bench : Bench
        The bench.
    part, machine : Part and Machine
        Those of what is under test.
    now : int
        DRAM clocks since reset.
    refreshes : int
        Of the DRAM, so far; with a harness, those while kernels ran.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.part = part_named(bench.parameters["part"])
        self.machine = machine_named(bench.parameters["machine"])
        self.now = 0
        self.refreshes = 0
        self._refreshed: list[int] = []  # in which clocks they were chosen, one before the pins
        self._put: set[int] = set()

    @abstractmethod
    async def cycle(self, word: int = 0) -> int:
        """Drive the ports for one clock, and return what they show at its end."""

    @abstractmethod
    def held(self, burst: int) -> bytes:
        """The content of a burst."""

    @abstractmethod
    def keep(self, burst: int, content: bytes) -> None:
        """Change it."""

    def put(self, address: int, content: bytes) -> None:
        """Bytes into DRAM, whole bursts: what is around them is random."""
        first, last = address // BURST_BYTES, -(-(address + len(content)) // BURST_BYTES)
        for burst in range(first, last):
            held = bytearray(self.bench.rng.randbytes(BURST_BYTES))
            if burst in self._put:
                held = bytearray(self.held(burst))
            self._put.add(burst)
            at = burst * BURST_BYTES
            low, high = max(address, at), min(address + len(content), at + BURST_BYTES)
            held[low - at:high - at] = content[low - address:high - address]
            self.keep(burst, bytes(held))

    def get(self, address: int, size: int) -> bytes:
        """Bytes from DRAM."""
        first, last = address // BURST_BYTES, -(-(address + size) // BURST_BYTES)
        content = bytearray()
        for burst in range(first, last):
            content += self.held(burst)
        start = address - first * BURST_BYTES
        return bytes(content[start:start + size])

    def put_kernel(self, program: Program, memory: Memory, *, address: int | None = None,
                   words: Sequence[int] | None = None) -> int:
        """Buffers' content and the program into DRAM; the program's address.

        ``address`` is another than the first row of all banks after all buffers; ``words`` are
        other instructions than the program's, encoded.
        """
        self._put = set()
        end = 0
        for number, buffer in program.buffers.items():
            self.put(buffer.address, memory[number].astype("<u4").tobytes())
            end = max(end, buffer.end)
        address = -(-end // _ROW) * _ROW if address is None else address
        encoded = [encode(instruction)
                   for instruction in program.instructions] if words is None else words
        self.put(address, np.array(encoded, dtype="<u8").tobytes())
        return address

    def get_buffers(self, program: Program, memory: Memory) -> None:
        """Buffers' content out of DRAM."""
        for number, buffer in program.buffers.items():
            content = self.get(buffer.address, WORD_BYTES * buffer.words)
            memory[number][...] = np.frombuffer(content, "<u4").reshape(memory[number].shape)

    def phase(self, begin: int) -> tuple[int, int]:
        """Of a run that began in that DRAM clock: in which of its clocks the first refresh falls
        due, and for how many one that fell due before is still under way."""
        under_way = [clock for clock in self._refreshed if clock <= begin][-1:]
        return (self.part.nREFI - begin % self.part.nREFI,
                max([0, *(clock + self.part.nRFC - begin for clock in under_way)]))

    def timed(self, program: Program, grid: Grid, memory: Memory, policy: Policy, begin: int
              ) -> CycleModel:
        """The cycle model of a run that began in that DRAM clock; ``memory`` is its own."""
        due, rest = self.phase(begin)
        built = replace(grid, machine=as_built(grid.machine))
        timeline = DramTimeline(self.part, due=due)
        timeline.rest = rest
        return CycleModel(program, built, memory, policy=policy, part=self.part,
                          timeline=timeline)


class DeviceSide(KernelSide):
    """A DRAM at the pins of what is under test; one `cycle` of DRAM's clock at a time."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.device = DramDevice(self.part)
        i, o = bench.inputs, bench.outputs
        self._dq_in = i["dq_in"]
        self._op, self._driven = o["command.op"], o["dq_out.valid"]
        self._command = {name: o[f"command.{name}"] for name in ("bank", "row", "column")}
        self._words, self._mask = o["dq_out.payload.words"], o["dq_out.payload.mask"]
        self._late = o["late"]
        self._busy = self._op.mask | self._driven.mask | self._late.mask

    async def step(self, word: int, dq: int) -> int:
        """Drive the ports for one clock, and return what they show at its end."""
        return await self.bench.step(word | self._dq_in.to(dq))

    async def cycle(self, word: int = 0) -> int:
        """One clock: what the device drives is random where it drives nothing."""
        read = self.device.data_out(self.now)
        dq = (self.bench.rng.getrandbits(BEAT_WORDS * WORD_BITS) if read is None
              else int.from_bytes(read, "little"))
        seen = await self.step(word, dq)
        if seen & self._busy:
            assert not self._late.of(seen), "a refresh came too late"
            op = Command(self._op.of(seen))
            if op is Command.REF:
                self.refreshes += 1
                self._refreshed.append(self.now - 1)
            if op is not Command.NOP:
                self.device.command(self.now, op, self._command["bank"].of(seen),
                                    self._command["row"].of(seen) if op is Command.ACT else 0,
                                    8 * self._command["column"].of(seen) if op in CAS else 0)
            if self._driven.of(seen):
                self.device.data_in(self.now,
                                    self._words.of(seen).to_bytes(_BEAT_BYTES, "little"),
                                    _BYTES_OF[self._mask.of(seen)])
        self.now += 1
        return seen

    def _where(self, burst: int) -> tuple[int, int, int]:
        place = place_of(self.part, burst)
        return place.bank, place.row, place.column // 8

    def held(self, burst: int) -> bytes:
        return bytes(self.device.burst(*self._where(burst)))

    def keep(self, burst: int, content: bytes) -> None:
        self.device.set_burst(*self._where(burst), content)


class AcceleratorSide(KernelSide):
    """The accelerator's own ports: kernels in, and what their runs have to be.

    Attributes
    ----------
    OBSERVERS : mapping
        Where on the bench's outputs the fields of `hdl.simd.event_recorder.EventLayout` are to be
        seen, each under its name.
    """

    OBSERVERS: ClassVar[Mapping[str, str]]

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._observers = {name: bench.outputs[field] for name, field in self.OBSERVERS.items()}

    async def send(self) -> None:
        """Write what was put into the DRAM, before a kernel begins."""

    async def load(self, program: Program, memory: Memory, **more) -> int:
        """Buffers' content and the program into DRAM, all buffers mapped; the program's address.

        ``more``: as of `put_kernel`.
        """
        address = self.put_kernel(program, memory, **more)
        await self.send()
        await self.map(program)
        return address

    async def map(self, program: Program) -> None:
        """Map the buffers of a program, while no kernel runs."""
        inputs = self.bench.inputs
        for number, buffer in program.buffers.items():
            word = inputs.pack({
                "mapping.valid": 1, "mapping.payload.buffer": number, "mapping.payload.valid": 1,
                "mapping.payload.address": buffer.address // WORD_BYTES,
                "mapping.payload.x": buffer.x, "mapping.payload.y": buffer.y})
            while not self.bench.outputs["mapping.ready"].of(await self.cycle(word)):
                pass
        for number, chip in program.scratchpad_buffers.items():
            await self.cycle(inputs.pack({
                "chip.valid": 1, "chip.payload.number": number,
                "chip.payload.buffer.address": chip.address // WORD_BYTES,
                "chip.payload.buffer.x": chip.x, "chip.payload.buffer.y": chip.y}))

    async def calm(self, clocks: int) -> None:
        """Wait until no refresh is under way and none falls due within ``clocks``."""
        settled = self.part.nRFC + SETTLED
        assert settled + clocks < self.part.nREFI, f"{clocks} clocks always meet a refresh"
        while not settled < self.now % self.part.nREFI < self.part.nREFI - clocks:
            await self.cycle()

    async def due_in(self, clocks: int) -> None:
        """Wait until a kernel that is started now finds the next refresh due in ``clocks`` clocks,
        or up to seven less: it begins where DRAM's and the compute clock have an edge together."""
        while (self.now + _STARTS + clocks) % self.part.nREFI:
            await self.cycle()

    async def start(self, program: Program, grid: Grid, memory: Memory, policy: Policy, *,
                    calm: int, due: int | None, address: int | None,
                    words: Sequence[int] | None, at: int | None) -> None:
        """Load a kernel, and start it; the arguments are those of `run`."""
        address = await self.load(program, memory, address=address, words=words)
        if calm:
            await self.calm(calm)
        if due is not None:
            await self.due_in(due)
        told = address if at is None else at
        await self.cycle(self.bench.inputs.pack({
            "start.valid": 1, "start.payload.address": told // WORD_BYTES,
            "start.payload.instructions": len(program.instructions if words is None else words),
            "start.payload.grid.x": grid.x, "start.payload.grid.y": grid.y,
            "start.payload.grid.width": grid.width.bit_length() - 1,
            "start.payload.policy": CODES.index(policy)}))

    async def run(self, program: Program, grid: Grid, memory: Memory, policy: Policy, *,
                  most: int = 1 << 40, calm: int = 0, due: int | None = None,
                  address: int | None = None,
                  words: Sequence[int] | None = None, at: int | None = None,
                  tell: Callable[[int, int], None] = lambda cycle, launched: None
                  ) -> tuple[Ran, int]:
        """A kernel, from start to idle; and the first DRAM clock of its time.

        Parameters
        ----------
        most : int
            Compute cycles after which it is taken to hang.
        calm : int
            DRAM clocks from its start on in which no refresh falls due.
        due : int or None
            As of `due_in`; None: whenever it does.
        address, words
            As of `put_kernel`.
        at : int or None
            The byte at which the accelerator is told the program to be, if not where it is.
        tell : callable
            Now and then called with the compute cycle and the work-groups launched so far.
        """
        await self.start(program, grid, memory, policy, calm=calm, due=due, address=address,
                         words=words, at=at)
        ran, begin = await self.follow(most, tell)
        self.get_buffers(program, memory)
        return ran, begin

    @abstractmethod
    async def follow(self, most: int, tell: Callable[[int, int], None]) -> tuple[Ran, int]:
        """A kernel that was started, until all its words are in DRAM; as `run`."""

    def happens(self, ran: Ran, cycle: int, seen: int) -> None:
        """Add to a run what the observers show of a compute cycle."""
        of = {name: field.of(seen) for name, field in self._observers.items()}
        events = []
        if of["launch"]:
            ran.launches.append((cycle, of["launch_slot"], of["number"]))
            ran.load = ran.load or cycle
        if of["access"]:
            events.append(("scratchpad" if of["scratchpad"] else "dram", of["access_slot"]))
        if of["ended"]:
            events.append(("ended", of["ended_slot"]))
        events += [("over", slot) for slot in range(SLOTS) if of["over"] >> slot & 1]
        ran.firsts += [(cycle, slot) for slot in range(SLOTS) if of["first"] >> slot & 1]
        if events:
            ran.events[cycle] = sorted(events)

    def ended(self, ran: Ran, seen: int) -> None:
        """Add the cycles of a run, and its fault if it has one."""
        outputs = self.bench.outputs
        ran.cycles = outputs["cycles"].of(seen)
        if outputs["fault.valid"].of(seen):
            ran.fault = {name: outputs[f"fault.payload.{name}"].of(seen)
                         for name in ("cause", "slot", "index", "number")}

    async def compare(self, program: Program, grid: Grid, memory: Memory, policy: Policy, *,
                      most: int = 1 << 40) -> Timed:
        """A run, with every event in its cycle and every word as the cycle model has them.

        ``most``: as of `run`.
        """
        wanted = {number: words.copy() for number, words in memory.items()}
        ran, begin = await self.run(program, grid, memory, policy, most=most)
        timed = self.timed(program, grid, wanted, policy, begin).run()
        expected = events_of(timed)
        assert ran.fault is None, ran.fault
        for cycle in sorted({*expected, *ran.events}):
            happened, right = ran.events.get(cycle, []), expected.get(cycle, [])
            self.bench.compare(
                happened, right, f"compute cycle {cycle}" if happened == right else
                f"compute cycle {cycle} (loaded in {ran.load} and {timed.load}; found "
                f"{_near(ran.events, cycle)}, expected {_near(expected, cycle)})")
        self.bench.compare((ran.load, ran.cycles), (timed.load, timed.cycles),
                           "the cycle in which it is loaded, and its cycles")
        depth = self.machine.decode_stages + self.machine.execute_stages
        shown = phases_of(ran, depth=depth, policy=policy)
        wanted_phases = sorted(timed.phases, key=lambda phase: (phase.start, phase.resource))
        for one, other in zip(shown, wanted_phases, strict=True):
            self.bench.compare(one, other, "a phase")
        for number, words in wanted.items():
            self.bench.compare(memory[number], words, f"buffer {number}, by line and column,",
                               count=words.size)
        return timed


class SimdAcceleratorTester(AcceleratorSide, DeviceSide):
    """The accelerator and its DRAM."""

    OBSERVERS: ClassVar[Mapping[str, str]] = {
        "launch": "launch.valid", "launch_slot": "launch.payload.slot",
        "number": "launch.payload.number", "access": "access.valid",
        "access_slot": "access.payload", "scratchpad": "scratchpad", "ended": "ended.valid",
        "ended_slot": "ended.payload", "over": "over", "first": "first"}

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        o = bench.outputs
        self._stall, self._begins, self._idle = o["stall"], o["begins"], o["idle"]
        self._any = sum(o[name].mask for name in ("launch.valid", "access.valid", "ended.valid",
                                                  "over", "first"))

    async def follow(self, most: int, tell: Callable[[int, int], None]) -> tuple[Ran, int]:
        while not self._begins.of(seen := await self.cycle()):
            pass
        begin, cycle, ran = self.now - 1, 0, Ran()
        while True:
            if not self._stall.of(seen):
                if seen & self._any:
                    self.happens(ran, cycle, seen)
                cycle += 1
                assert cycle < most, f"the kernel still runs after {most} compute cycles"
                if not cycle & 0x3FF:
                    tell(cycle, len(ran.launches))
            if self._idle.of(seen):
                break
            seen = await self.cycle()
        self.ended(ran, seen)
        for _ in range(self.part.nCAS + 8):  # the last words reach the device
            await self.cycle()
        return ran, begin
