"""The SIMD accelerator: compute unit, scheduler, memories, and the clock that they share.

    host -> kernel --> program load --> work-group scheduler <--> compute unit
                            |                                        |
                      dram.controller <------- transfer unit <-------'

There is one clock, the DRAM's. The compute unit and the scheduler stand still in some of its
cycles, so that they have edges where a clock of their own would have them, or at DRAM's next edge:
compute cycle *n* begins with the first DRAM clock that is not before *n* times the compute clock's
period.

Ref: Sim-D, sections 2 and 3.
"""

from amaranth.hdl import Const, EnableInserter, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

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
from cyclebound.hdl.dram.layouts import DriveLayout, Mapping
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.access_setup import BufferSize, ScratchpadBuffer
from cyclebound.hdl.simd.compute_unit import ComputeUnit
from cyclebound.hdl.simd.interfaces import FaultLayout, KernelLayout, LaunchLayout
from cyclebound.hdl.simd.scheduler import COMPUTE, HOLD, WorkGroupScheduler
from cyclebound.hdl.simd.transfer_unit import TransferUnit

__all__ = ["Accelerator", "clock_steps"]

_PROGRAM = BUFFERS - 1  # the mapping that a program is loaded through


def clock_steps(compute_ps, dram_ps):
    """For each DRAM clock of the time after which both clocks begin together, whether it is the
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

    Members
    -------
    mapping : In(stream of Mapping)
        Maps a DRAM buffer, while ``idle``.
    chip : In(Strobe): ``number``, ``buffer``
        Maps a scratchpad buffer, while ``idle``.
    start : In(Strobe(KernelLayout))
        Run a kernel; looked at while ``idle``.
    idle : Out(1)
        No kernel runs.
    fault : Out(Strobe(FaultLayout))
        The kernel is stopped by what this says; kept until the next one.
    cycles : Out(40)
        Compute cycles of this kernel, or the last one.
    loaded : Out(1)
        Its program is in place. Not if it lies beyond the device: a fault then, `Cause.LOAD`.
    begins, stall : Out(1)
        The first DRAM clock of a kernel; the compute cycle goes on after this one.
    launch, access, scratchpad, ended, over, begin, busy
        Observers: of the scheduler and the compute unit.
    first : Out(2)
        Slots whose compute phase commits its first token in this compute cycle.
    command, dq_in, dq_out
        The DRAM's pins.
    late : Out(1)
        A refresh came too late.
    """

    def __init__(self, *, machine, part):
        self.machine, self.part = machine_named(machine), part_named(part)
        self.steps = clock_steps(self.machine.compute_ps, self.part.tck_ps)
        self.compute = ComputeUnit(machine=self.machine)
        self.scheduler = WorkGroupScheduler(machine=self.machine)
        self.controller = DramController(part=self.part)
        self.transfers = TransferUnit(machine=self.machine, words=self.compute.words)
        self._queried = Signal(BufferSize)
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
            "command": Out(CommandLayout(part=self.part)),
            "dq_in": In(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "dq_out": Out(Strobe(DriveLayout)), "late": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        compute, scheduler = self.compute, self.scheduler
        controller, transfers = self.controller, self.transfers
        stall = self.stall
        m.submodules.compute = compute
        m.submodules.scheduler = EnableInserter(~stall)(scheduler)
        m.submodules.controller = controller
        m.submodules.transfers = transfers

        # -- the clocks ------------------------------------------------------------------------
        clock = Signal(range(len(self.steps)))
        last = len(self.steps) - 1
        m.d.sync += clock.eq(Mux(clock == last, 0, clock + 1))
        goes = Signal()
        m.d.comb += [
            goes.eq(self._among(clock, [n for n in range(len(self.steps))
                                        if self.steps[(n + 1) % len(self.steps)]])),
            stall.eq(~goes),
        ]
        together = clock == 0

        # -- a kernel --------------------------------------------------------------------------
        kernel = Signal(KernelLayout(machine=self.machine))
        mapped = Signal(Mapping)  # the buffer whose place the program has meanwhile
        mapping, offers = controller.mapping, Signal()
        words = Signal(COUNT_BITS)
        m.d.comb += [
            words.eq(((kernel.instructions * 2 + BURST_WORDS - 1) >> 4) << 4),
            mapping.valid.eq(self.idle & self.mapping.valid | offers),
            mapping.payload.eq(self.mapping.payload),
            self.mapping.ready.eq(self.idle & mapping.ready & ~self.start.valid),
            controller.request.payload.eq(transfers.request.payload),
            controller.request.valid.eq(transfers.request.valid),
            transfers.request.ready.eq(controller.request.ready),
        ]
        taken = self.mapping.valid & self.mapping.ready
        with m.If(taken & (self.mapping.payload.buffer == _PROGRAM)):
            m.d.sync += mapped.eq(self.mapping.payload)
        m.d.comb += [
            transfers.buffer_write.valid.eq(taken),
            transfers.buffer_write.payload.number.eq(self.mapping.payload.buffer),
            transfers.buffer_write.payload.size.x.eq(self.mapping.payload.x),
            transfers.buffer_write.payload.size.y.eq(self.mapping.payload.y),
            transfers.chip_write.valid.eq(self.chip.valid),
            transfers.chip_write.payload.eq(self.chip.payload),
        ]
        starts, loading = Signal(), Signal()
        completed, answered = controller.completion, Signal()
        with m.FSM(name="kernel"):
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.start.valid):
                    m.d.sync += [kernel.eq(self.start.payload), self.loaded.eq(0),
                                 self.fault.valid.eq(0), self.fault.payload.eq(0)]
                    m.next = "MAP"
            with m.State("MAP"):
                m.d.comb += [offers.eq(1), mapping.payload.eq(0),
                             mapping.payload.buffer.eq(_PROGRAM), mapping.payload.valid.eq(1),
                             mapping.payload.address.eq(kernel.address),
                             mapping.payload.x.eq(words), mapping.payload.y.eq(1)]
                with m.If(mapping.ready):
                    m.next = "ALIGN"
            with m.State("ALIGN"):
                with m.If(together & controller.request.ready):
                    m.d.comb += starts.eq(1)
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += loading.eq(1)
                with m.If(controller.started | completed.valid):  # taken, or refused
                    m.next = "RESTORE"
            with m.State("RESTORE"):
                m.d.comb += [loading.eq(1), offers.eq(1), mapping.payload.eq(mapped),
                             mapping.payload.buffer.eq(_PROGRAM)]
                with m.If(mapping.ready):
                    m.next = "LOADED"
            with m.State("LOADED"):
                m.d.comb += loading.eq(1)
                with m.If(completed.valid | answered):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(scheduler.idle & transfers.quiet & goes & ~scheduler.start.valid):
                    m.next = "IDLE"
        here = Signal()  # the program is
        m.d.comb += here.eq(loading & completed.valid & (completed.payload == Refusal.NONE))
        with m.If(starts):
            m.d.sync += answered.eq(0)
        with m.Elif(loading & completed.valid):
            m.d.sync += [answered.eq(1), self.loaded.eq(here)]
            with m.If(~here):
                m.d.sync += [self.fault.valid.eq(1), self.fault.payload.cause.eq(Cause.LOAD)]
        with m.If(starts):  # the program, as a tile
            payload = controller.request.payload
            m.d.comb += [controller.request.valid.eq(1), payload.eq(0),
                         payload.buffer.eq(_PROGRAM), payload.words.eq(words),
                         payload.count.eq(1), payload.destination.eq(Destination.SCRATCHPAD)]
        m.d.comb += self.begins.eq(starts)
        self._count(m, starts, goes, scheduler)
        self._program(m, loading)

        # -- the scheduler starts in the compute cycle in which the program is there ---------------
        told, offered = Signal(), Signal()
        with m.If(starts):
            m.d.sync += told.eq(0)
        with m.Elif(goes & offered):
            m.d.sync += told.eq(1)
        m.d.comb += [
            offered.eq((here | self.loaded) & ~told & ~self.idle),
            scheduler.start.valid.eq(offered),
            scheduler.start.payload.grid.eq(kernel.grid),
            scheduler.start.payload.policy.eq(kernel.policy),
            compute.start.eq(offered), compute.grid.eq(kernel.grid),
            compute.length.eq(kernel.instructions),
            compute.exclusive.eq(kernel.policy.matches(COMPUTE, HOLD)),
            compute.hold.eq(kernel.policy == HOLD),
            compute.stall.eq(stall), transfers.stall.eq(stall),
            transfers.grid.eq(kernel.grid),
        ]
        self._couple(m, goes)

        # -- pins ------------------------------------------------------------------------------
        wiring.connect(m, controller.dq_out, wiring.flipped(self.dq_out))
        m.d.comb += [self.command.eq(controller.command), controller.dq_in.eq(self.dq_in),
                     self.late.eq(controller.late)]
        return m

    @staticmethod
    def _among(value, numbers):
        return value.matches(*numbers) if numbers else Const(0)

    def _count(self, m, starts, goes, scheduler):
        """Compute cycles of a kernel, from its first to the one in which nothing is left."""
        counting = Signal()
        with m.If(starts):
            m.d.sync += [self.cycles.eq(goes), counting.eq(1)]
        with m.Elif(counting & goes):
            with m.If((self.loaded | self.fault.valid) & scheduler.idle & ~scheduler.start.valid):
                m.d.sync += counting.eq(0)
            with m.Else():
                m.d.sync += self.cycles.eq(self.cycles + 1)

    def _program(self, m, loading):
        """Two instructions in a beat of DRAM."""
        deliver, program = self.controller.deliver, self.compute.program
        m.d.comb += [
            program.valid.eq(loading & deliver.valid),
            program.payload.index.eq(deliver.payload.targets[0] >> 2),
            program.payload.enable.eq(-1),
            program.payload.words.eq(deliver.payload.words),
        ]

    def _couple(self, m, goes):
        """Compute unit, scheduler, transfer unit and controller."""
        compute, scheduler = self.compute, self.scheduler
        controller, transfers = self.controller, self.transfers
        for slot in range(SLOTS):
            event, over = scheduler.events[slot], Signal(name=f"over_{slot}")
            completion = transfers.completion[slot]
            with m.If(goes):
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
        m.d.comb += [
            scheduler.stop.eq(compute.fault.valid),
            compute.launch.valid.eq(scheduler.launch.valid),
            compute.launch.payload.eq(scheduler.launch.payload),
            self.launch.valid.eq(scheduler.launch.valid),
            self.launch.payload.eq(scheduler.launch.payload),
            transfers.access.valid.eq(compute.access.valid),
            transfers.access.payload.eq(compute.access.payload),
            transfers.index_write.valid.eq(compute.index_write.valid),
            transfers.index_write.payload.eq(compute.index_write.payload),
            transfers.begin.eq(scheduler.begin),
            transfers.completed.valid.eq(controller.completion.valid),
            transfers.completed.payload.eq(controller.completion.payload),
            transfers.started.eq(controller.started),
            controller.store.eq(transfers.store),
            self.access.valid.eq(compute.access.valid),
            self.access.payload.eq(compute.access.payload.slot),
            self.scratchpad.eq(compute.access.payload.scratchpad),
            self.ended.valid.eq(compute.ended.valid),
            self.ended.payload.eq(compute.ended.payload.slot),
            self.begin.eq(scheduler.begin),
            self.busy.eq(compute.occupied),
        ]
        computing, first, commit = Signal(SLOTS), Signal(SLOTS), compute.commit
        m.d.comb += [first.eq(commit.valid << commit.payload.slot),
                     self.first.eq(first & ~computing)]
        with m.If(goes):
            over = ((compute.access.valid << compute.access.payload.slot)
                    | (compute.ended.valid << compute.ended.payload.slot))
            m.d.sync += computing.eq(Mux(compute.fault.valid | compute.start, 0,
                                         (computing | first) & ~over))
        wiring.connect(m, controller.deliver, transfers.deliver)
        wiring.connect(m, controller.fetch, transfers.fetch)
        wiring.connect(m, transfers.indexes, controller.indexes)
        with m.If(goes & compute.fault.valid & ~self.fault.valid):
            m.d.sync += [self.fault.valid.eq(1), self.fault.payload.eq(compute.fault.payload)]
        query = compute.buffer_query
        m.d.comb += transfers.query.eq(query.buffer)
        with m.If(goes):
            m.d.sync += [self._queried.x.eq(transfers.queried.x),
                         self._queried.y.eq(transfers.queried.y)]
        m.d.comb += [query.x.eq(self._queried.x), query.y.eq(self._queried.y)]
