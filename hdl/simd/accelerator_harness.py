"""The accelerator with its DRAM and its observers in hardware: kernels without Python at a clock.

A host puts a kernel's program and buffers into the rows of a DRAM that it chooses, maps and starts
as on the accelerator itself, and takes records of its events at any time. When the
accelerator is idle, it reads the buffers.

Part of the accelerator, whose model covers it: what it has to record is what
golden/simd/accelerator.py says. Testbench and tests are its own.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.rules import Command
from cyclebound.golden.harness.faults import ACCELERATOR
from cyclebound.hdl.dram.stand_in import DramWithHost
from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.interfaces import Strobe, pass_through
from cyclebound.hdl.simd.accelerator import Accelerator
from cyclebound.hdl.simd.event_recorder import CYCLE_BITS, EventRecorder, RecordLayout

__all__ = ["ROWS", "AcceleratorHarness"]

ROWS = 64
"""Rows of banks that its DRAM has places for, by default."""

_PASSED = "mapping", "chip", "start", "idle", "fault", "cycles", "command"  # the accelerator's own
_HOSTED = "forget", "place", "put", "look", "shown"                         # the DRAM's own


class AcceleratorHarness(wiring.Component):
    """An accelerator between a DRAM's stand-in with a port for its content, and a recorder.

    Parameters
    ----------
    machine, part
        Of the accelerator.
    slots : int
        Rows of a bank that the DRAM has a place for: a kernel's program and buffers lie in as many
        at most.
    depth : int
        Records that are kept until they are taken.
    accelerator : Component or None
        Another component with an `Accelerator`'s members, such as a system with one; ``start`` may
        be absent.
    passed : sequence of str
        More of its members that are the harness's.

    Members
    -------
    mapping, chip, start, idle, fault, cycles, command
        As of `Accelerator`.
    forget, place, put, look, shown
        As of `DramWithHost`.
    level, oldest, next
        As of `EventRecorder`.
    began : Out(40)
        The number of the clock in which the last kernel began; clocks count from reset.
    refreshed : Out(Strobe(40))
        The clock in which the last refresh was chosen that was chosen by then.
    refreshes : Out(32)
        How many were on the pins from then on, until the kernel was over.
    failed : Out(len(ACCELERATOR))
        Sticky: faults that occurred.
    """

    def __init__(self, *, machine, part, slots=ROWS, depth=4096, accelerator=None, passed=()):
        self.accelerator = accelerator or Accelerator(machine=machine, part=part)
        self.machine, self.part = self.accelerator.machine, self.accelerator.part
        self.dram = DramWithHost(part=self.part, slots=slots)
        self.recorder = EventRecorder(depth=depth)
        members = self.accelerator.signature.members
        if unknown := [name for name in passed if name not in members]:
            raise ValueError(f"the accelerator has no members {', '.join(unknown)}")
        self._passed = [*(name for name in _PASSED if name in members or name != "start"), *passed]
        hosted = self.dram.signature.members
        super().__init__({
            **{name: members[name] for name in self._passed},
            **{name: hosted[name] for name in _HOSTED},
            "level": Out(range(depth + 1)), "oldest": Out(RecordLayout()), "next": In(1),
            "began": Out(CYCLE_BITS), "refreshed": Out(Strobe(unsigned(CYCLE_BITS))),
            "refreshes": Out(32), "failed": Out(len(ACCELERATOR)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.accelerator = accelerator = self.accelerator
        m.submodules.dram = dram = self.dram
        m.submodules.recorder = recorder = self.recorder
        m.submodules.slot = slot = CheckerSlot(count=len(ACCELERATOR))

        pass_through(m, self, accelerator, *self._passed)
        pass_through(m, self, dram, *_HOSTED)
        wiring.connect(m, accelerator.dq_out, dram.dq_out)
        m.d.comb += [
            dram.command.eq(accelerator.command), accelerator.dq_in.eq(dram.dq_in),
            slot.faults.eq(Cat(accelerator.late, dram.missing, dram.wrong, recorder.lost)),
            self.failed.eq(slot.failed),
        ]

        # -- what happens ----------------------------------------------------------------------
        event = recorder.event
        m.d.comb += [
            recorder.begins.eq(accelerator.begins), recorder.stall.eq(accelerator.stall),
            recorder.idle.eq(accelerator.idle),
            event.launch.eq(accelerator.launch.valid),
            event.launch_slot.eq(accelerator.launch.payload.slot),
            event.number.eq(accelerator.launch.payload.number),
            event.access.eq(accelerator.access.valid),
            event.access_slot.eq(accelerator.access.payload),
            event.scratchpad.eq(accelerator.scratchpad),
            event.ended.eq(accelerator.ended.valid),
            event.ended_slot.eq(accelerator.ended.payload),
            event.over.eq(accelerator.over), event.first.eq(accelerator.first),
            self.level.eq(recorder.level), self.oldest.eq(recorder.oldest),
            recorder.next.eq(self.next),
        ]

        # -- when a kernel began, and the refresh before it: on the pins a clock after its choice --
        now, refresh, fresh = Signal(CYCLE_BITS), Signal(), Signal()
        last = Signal(data.StructLayout({"valid": 1, "clock": CYCLE_BITS}))
        m.d.comb += refresh.eq(accelerator.command.op == Command.REF)
        m.d.sync += [now.eq(now + 1), fresh.eq(accelerator.begins)]
        with m.If(refresh):
            m.d.sync += [last.valid.eq(1), last.clock.eq(now - 1)]
        with m.If(refresh & ~accelerator.idle):
            m.d.sync += self.refreshes.eq(self.refreshes + 1)
        with m.If(accelerator.begins):
            m.d.sync += [self.began.eq(now), self.refreshes.eq(0),
                         self.refreshed.valid.eq(last.valid | refresh),
                         self.refreshed.payload.eq(Mux(refresh, now - 1, last.clock))]
        with m.Elif(fresh & refresh):
            m.d.sync += [self.refreshed.valid.eq(1), self.refreshed.payload.eq(now - 1)]
        return m
