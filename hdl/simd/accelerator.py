"""The SIMD accelerator: compute unit, scheduler, memories, and the clock that they share.

::

    host -> kernel --> program load --> work-group scheduler <--> compute unit
                            |                                        |
                      dram.controller <------- transfer unit <-------'

There is one clock, the DRAM's. The compute unit and the scheduler stand still in some of its
cycles, so that they have edges where a clock of their own would have them, or at DRAM's next edge:
compute cycle *n* begins with the first DRAM clock that is not before *n* times the compute clock's
period.

Ref: Sim-D, sections 2 and 3.
"""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BURST_WORDS,
    COUNT_BITS,
    WORD_BITS,
    Destination,
    Refusal,
)
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.machine import SLOTS, machine_named
from cyclebound.golden.simd.program import BUFFERS
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.layouts import DramClient, DriveLayout, Mapping
from cyclebound.hdl.interfaces import Strobe, pass_through
from cyclebound.hdl.simd.access_setup import BufferSize, ScratchpadBuffer
from cyclebound.hdl.simd.compute_unit import ComputeUnit
from cyclebound.hdl.simd.interfaces import FaultLayout, KernelLayout, LaunchLayout
from cyclebound.hdl.simd.scheduler import COMPUTE, YIELD, WorkGroupScheduler
from cyclebound.hdl.simd.transfer_unit import TransferUnit

__all__ = ["Accelerator", "clock_steps"]

_PROGRAM = BUFFERS - 1  # the mapping that a program is loaded through


def clock_steps(compute_ps, dram_ps):
    """By DRAM clock, over the period after which both clocks begin together: whether it is the
    first of a compute cycle. Raises `ValueError` if the compute clock is the faster one."""
    if compute_ps < dram_ps:
        raise ValueError(f"the compute clock must not be faster than DRAM's: its period is "
                         f"{compute_ps} ps, and must be at least {dram_ps}")
    begins, cycle = {0}, 1
    while cycle * compute_ps % dram_ps:
        begins.add(-(-cycle * compute_ps // dram_ps))
        cycle += 1
    return [clock in begins for clock in range(cycle * compute_ps // dram_ps)]


class Accelerator(wiring.Component):
    """Runs kernels whose program and data are in DRAM.

    A kernel starts with the first DRAM clock in which a compute cycle begins together with it and
    nothing is under way, at the earliest nine clocks after ``start``: the program's buffer is
    mapped in between. ``cycles`` counts compute cycles from then on.

    Parameters
    ----------
    machine : Machine or str
        Sizes, and the compute clock's period.
    part : Part or str
        The DRAM.
    controller : bool
        Whether the DRAM's controller is part of it. If not, it is a client of one.

    Members
    -------
    mapping : In(stream of Mapping)
        Maps a DRAM buffer, while ``idle``.
    chip : In(Strobe): ``number``, ``buffer``
        Maps a scratchpad buffer, while ``idle``.
    start : In(Strobe(KernelLayout))
        Run a kernel; ignored unless ``idle``.
    idle : Out(1)
        No kernel runs.
    fault : Out(Strobe(FaultLayout))
        The fault that has stopped the kernel; kept until the next kernel.
    cycles : Out(40)
        Compute cycles of this kernel, or the last one.
    loaded : Out(1)
        Its program is in place. If it lies beyond the device: a fault instead, `Cause.LOAD`.
    begins, stall : Out(1)
        The first DRAM clock of a kernel; the compute cycle does not end with this clock.
    launch, access, scratchpad, ended, over, begin, busy
        Observers: of the scheduler and the compute unit.
    first : Out(2)
        Slots whose compute phase commits its first token in this compute cycle.
    command, dq_in, dq_out
        The DRAM's pins, of a controller that is part of it.
    late : Out(1)
        With them: a refresh came too late.
    dram : Out(DramClient)
        Instead of them, without a controller.
    """

    def __init__(self, *, machine, part, controller=True):
        self.machine, self.part = machine_named(machine), part_named(part)
        self.steps = clock_steps(self.machine.compute_ps, self.part.tck_ps)
        self.compute = ComputeUnit(machine=self.machine)
        self.scheduler = WorkGroupScheduler(machine=self.machine)
        self.controller = DramController(part=self.part) if controller else None
        self.transfers = TransferUnit(machine=self.machine, words=self.compute.words)
        super().__init__({
            "mapping": In(stream.Signature(data.Layout.cast(Mapping))),
            "chip": In(Strobe(data.StructLayout({
                "number": ceil_log2(BUFFERS), "buffer": data.Layout.cast(ScratchpadBuffer)}))),
            "start": In(Strobe(KernelLayout(machine=self.machine))), "idle": Out(1),
            "fault": Out(Strobe(FaultLayout())), "cycles": Out(40), "loaded": Out(1),
            "begins": Out(1), "stall": Out(1), "launch": Out(Strobe(LaunchLayout())),
            "access": Out(Strobe(unsigned(ceil_log2(SLOTS)))), "scratchpad": Out(1),
            "ended": Out(Strobe(unsigned(ceil_log2(SLOTS)))), "over": Out(SLOTS),
            "begin": Out(SLOTS), "busy": Out(SLOTS), "first": Out(SLOTS),
            **({"command": Out(CommandLayout(part=self.part)),
                "dq_in": In(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
                "dq_out": Out(Strobe(DriveLayout)), "late": Out(1)} if controller else
               {"dram": Out(DramClient())}),
        })
        self._dram = self.controller or wiring.flipped(self.dram)
        # what the parts of `elaborate` tell each other
        self._compute_enable = Signal()  # the compute cycle ends with this DRAM clock
        self._kernel = Signal(KernelLayout(machine=self.machine))  # that runs, or the last one
        self._words = Signal(COUNT_BITS)  # of its program: whole bursts
        self._starts = Signal()    # this is the kernel's first DRAM clock
        self._loading = Signal()   # its program is on its way,
        self._answered = Signal()  # and the controller has said what became of it,
        self._arrived = Signal()   # which is in this clock that it is in place

    def elaborate(self, platform):
        m = Module()
        m.submodules.compute = self.compute
        m.submodules.scheduler = EnableInserter(~self.stall)(self.scheduler)
        if self.controller is not None:
            m.submodules.controller = self.controller
        m.submodules.transfers = self.transfers

        together = self._divide_clock(m)
        self._run_kernel(m, together)
        self._load_program(m)
        self._count_cycles(m)
        self._start_scheduler(m)
        self._connect_units(m)
        self._connect_slots(m)
        self._answer_queries(m)
        self._observe(m)

        if self.controller is not None:
            pass_through(m, self, self.controller, "dq_out", "command", "dq_in", "late")
        return m

    def _divide_clock(self, m):
        """The compute clock. Returns whether a cycle of both begins now."""
        steps = self.steps
        clock = Signal(range(len(steps)))
        m.d.sync += clock.eq(Mux(clock == len(steps) - 1, 0, clock + 1))
        enable = self._compute_enable
        lasts = [n for n in range(len(steps)) if steps[(n + 1) % len(steps)]]
        m.d.comb += [enable.eq(clock.matches(*lasts) if lasts else Const(0)),
                     self.stall.eq(~enable)]
        return clock == 0

    def _run_kernel(self, m, together):
        """A kernel from start to end. Its program is loaded through a mapping of its own, which is
        replaced by the host's mapping of that buffer as soon as the load has begun."""
        kernel, starts, loading = self._kernel, self._starts, self._loading
        dram, completed = self._dram, self._dram.completion
        mapping = dram.mapping
        maps = Signal()  # the program's buffer, or the one whose place it had
        replaced = self._pass_mappings(m, maps)
        whole = exact_log2(BURST_WORDS)
        m.d.comb += [self._words.eq(Cat(Const(0, whole), (
            kernel.instructions * 2 + BURST_WORDS - 1)[whole:])), self.begins.eq(starts)]
        with m.FSM(name="kernel"):
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.start.valid):
                    m.d.sync += [kernel.eq(self.start.payload), self.loaded.eq(0),
                                 self.fault.valid.eq(0), self.fault.payload.eq(0)]
                    m.next = "MAP"
            with m.State("MAP"):
                m.d.comb += [maps.eq(1), mapping.payload.eq(0),
                             mapping.payload.buffer.eq(_PROGRAM), mapping.payload.valid.eq(1),
                             mapping.payload.address.eq(kernel.address),
                             mapping.payload.x.eq(self._words), mapping.payload.y.eq(1)]
                with m.If(mapping.ready):
                    m.next = "ALIGN"
            with m.State("ALIGN"):
                with m.If(together & dram.request.ready):
                    m.d.comb += starts.eq(1)
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += loading.eq(1)
                with m.If(dram.started | completed.valid):  # taken, or refused
                    m.next = "RESTORE"
            with m.State("RESTORE"):
                m.d.comb += [loading.eq(1), maps.eq(1), mapping.payload.eq(replaced),
                             mapping.payload.buffer.eq(_PROGRAM)]
                with m.If(mapping.ready):
                    m.next = "LOADED"
            with m.State("LOADED"):
                m.d.comb += loading.eq(1)
                with m.If(completed.valid | self._answered):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(self.scheduler.idle & self.transfers.quiet & self._compute_enable
                          & ~self.scheduler.start.valid):
                    m.next = "IDLE"

    def _pass_mappings(self, m, maps):
        """The host's mappings, to the controller and the transfer unit. Returns the one whose
        place the program takes."""
        mapping, transfers = self._dram.mapping, self.transfers
        m.d.comb += [
            mapping.valid.eq(self.idle & self.mapping.valid | maps),
            mapping.payload.eq(self.mapping.payload),
            self.mapping.ready.eq(self.idle & mapping.ready & ~self.start.valid),
        ]
        taken = self.mapping.valid & self.mapping.ready
        replaced = Signal(Mapping)
        with m.If(taken & (self.mapping.payload.buffer == _PROGRAM)):
            m.d.sync += replaced.eq(self.mapping.payload)
        m.d.comb += [
            transfers.buffer_write.valid.eq(taken),
            transfers.buffer_write.payload.number.eq(self.mapping.payload.buffer),
            transfers.buffer_write.payload.size.x.eq(self.mapping.payload.x),
            transfers.buffer_write.payload.size.y.eq(self.mapping.payload.y),
            transfers.chip_write.valid.eq(self.chip.valid),
            transfers.chip_write.payload.eq(self.chip.payload),
        ]
        return replaced

    def _load_program(self, m):
        """The program, as a tile: two instructions in a beat of DRAM. A refusal is a fault."""
        starts, loading, arrived = self._starts, self._loading, self._arrived
        dram, transfers = self._dram, self.transfers
        request, completed = dram.request, dram.completion
        m.d.comb += [
            request.payload.eq(transfers.request.payload),
            request.valid.eq(transfers.request.valid),
            transfers.request.ready.eq(request.ready),
        ]
        with m.If(starts):
            m.d.comb += [request.valid.eq(1), request.payload.eq(0),
                         request.payload.buffer.eq(_PROGRAM),
                         request.payload.words.eq(self._words),
                         request.payload.count.eq(1),
                         request.payload.destination.eq(Destination.SCRATCHPAD)]
        deliver, program = dram.deliver, self.compute.program
        m.d.comb += [
            program.valid.eq(loading & deliver.valid),
            program.payload.index.eq(deliver.payload.targets[0] >> 2),
            program.payload.enable.eq(-1),
            program.payload.words.eq(deliver.payload.words),
        ]
        m.d.comb += arrived.eq(loading & completed.valid & (completed.payload == Refusal.NONE))
        with m.If(starts):
            m.d.sync += self._answered.eq(0)
        with m.Elif(loading & completed.valid):
            m.d.sync += [self._answered.eq(1), self.loaded.eq(arrived)]
            with m.If(~arrived):
                m.d.sync += [self.fault.valid.eq(1), self.fault.payload.cause.eq(Cause.LOAD)]

    def _count_cycles(self, m):
        """Compute cycles of a kernel, from its first to the one in which nothing is left."""
        counting, scheduler = Signal(), self.scheduler
        with m.If(self._starts):
            m.d.sync += [self.cycles.eq(self._compute_enable), counting.eq(1)]
        with m.Elif(counting & self._compute_enable):
            with m.If((self.loaded | self.fault.valid) & scheduler.idle & ~scheduler.start.valid):
                m.d.sync += counting.eq(0)
            with m.Else():
                m.d.sync += self.cycles.eq(self.cycles + 1)

    def _start_scheduler(self, m):
        """The scheduler starts in the compute cycle in which the program has arrived."""
        compute, scheduler, transfers = self.compute, self.scheduler, self.transfers
        kernel, started, offered = self._kernel, Signal(), Signal()
        with m.If(self._starts):
            m.d.sync += started.eq(0)
        with m.Elif(self._compute_enable & offered):
            m.d.sync += started.eq(1)
        m.d.comb += [
            offered.eq((self._arrived | self.loaded) & ~started & ~self.idle),
            scheduler.start.valid.eq(offered),
            scheduler.start.payload.grid.eq(kernel.grid),
            scheduler.start.payload.policy.eq(kernel.policy),
            compute.start.eq(offered), compute.grid.eq(kernel.grid),
            compute.length.eq(kernel.instructions),
            compute.exclusive.eq(kernel.policy.matches(YIELD, COMPUTE)),
            compute.hold.eq(kernel.policy == COMPUTE),
            transfers.grid.eq(kernel.grid),
        ]

    def _connect_units(self, m):
        """Work-groups from the scheduler to the compute unit, its accesses to the transfer unit,
        and the transfer unit's tiles to the controller."""
        compute, scheduler = self.compute, self.scheduler
        dram, transfers = self._dram, self.transfers
        m.d.comb += [
            compute.stall.eq(self.stall), transfers.stall.eq(self.stall),
            scheduler.stop.eq(compute.fault.valid),
            compute.launch.valid.eq(scheduler.launch.valid),
            compute.launch.payload.eq(scheduler.launch.payload),
            transfers.access.valid.eq(compute.access.valid),
            transfers.access.payload.eq(compute.access.payload),
            transfers.index_write.valid.eq(compute.index_write.valid),
            transfers.index_write.payload.eq(compute.index_write.payload),
            transfers.begin.eq(scheduler.begin),
            transfers.completed.valid.eq(dram.completion.valid),
            transfers.completed.payload.eq(dram.completion.payload),
            transfers.started.eq(dram.started),
            dram.store.eq(transfers.store),
        ]
        wiring.connect(m, dram.deliver, transfers.deliver)
        wiring.connect(m, dram.fetch, transfers.fetch)
        wiring.connect(m, transfers.indexes, dram.indexes)

    def _connect_slots(self, m):
        """Connect each slot's accesses and their ends to the scheduler, in its layout."""
        compute, transfers = self.compute, self.transfers
        for slot in range(SLOTS):
            event, over = self.scheduler.events[slot], Signal(name=f"over_{slot}")
            completion = transfers.completion[slot]
            with m.If(self._compute_enable):
                m.d.sync += over.eq(completion.valid)
            access = compute.access.payload
            mine = compute.access.valid & (access.slot == slot)
            m.d.comb += [
                event.committed.eq(mine), event.scratchpad.eq(access.scratchpad),
                event.final.eq(access.last), event.over.eq(over),
                event.ended.eq(compute.ended.valid & (compute.ended.payload.slot == slot)),
                self.over[slot].eq(over),
                compute.completion[slot].valid.eq(completion.valid),
                compute.completion[slot].payload.eq(completion.payload),
                transfers.active[slot].eq(compute.active[slot]),
            ]
            wiring.connect(m, transfers.transfer[slot], compute.transfer[slot])

    def _answer_queries(self, m):
        """Sizes of buffers for the compute unit, a compute cycle after it asks."""
        query, queried = self.compute.buffer_query, Signal(BufferSize)
        m.d.comb += self.transfers.query.eq(query.buffer)
        with m.If(self._compute_enable):
            m.d.sync += [queried.x.eq(self.transfers.queried.x),
                         queried.y.eq(self.transfers.queried.y)]
        m.d.comb += [query.x.eq(queried.x), query.y.eq(queried.y)]

    def _observe(self, m):
        """The observers' ports, and the compute unit's fault."""
        compute, scheduler = self.compute, self.scheduler
        m.d.comb += [
            self.launch.valid.eq(scheduler.launch.valid),
            self.launch.payload.eq(scheduler.launch.payload),
            self.access.valid.eq(compute.access.valid),
            self.access.payload.eq(compute.access.payload.slot),
            self.scratchpad.eq(compute.access.payload.scratchpad),
            self.ended.valid.eq(compute.ended.valid),
            self.ended.payload.eq(compute.ended.payload.slot),
            self.begin.eq(scheduler.begin),
            self.busy.eq(compute.occupied),
        ]
        computing, commits, commit = Signal(SLOTS), Signal(SLOTS), compute.commit
        m.d.comb += [commits.eq(commit.valid << commit.payload.slot),
                     self.first.eq(commits & ~computing)]
        with m.If(self._compute_enable):
            over = ((compute.access.valid << compute.access.payload.slot)
                    | (compute.ended.valid << compute.ended.payload.slot))
            m.d.sync += computing.eq(Mux(compute.fault.valid | compute.start, 0,
                                         (computing | commits) & ~over))
        with m.If(self._compute_enable & compute.fault.valid & ~self.fault.valid):
            m.d.sync += [self.fault.valid.eq(1), self.fault.payload.eq(compute.fault.payload)]
