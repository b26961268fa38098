"""Jobs of the slots' accesses, from their commits to their completions.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.access_setup import JobLayout

__all__ = ["AccessJobs"]


class AccessJobs(wiring.Component):
    """One job a slot: being set up, then waiting for its memory, then running.

    Latency: the outputs are registers, but for ``quiet``.

    Members
    -------
    access : In(Strobe(1))
        An access of this slot has been committed.
    job : In(Strobe(JobLayout)), job_slot : In(1)
        The slot's access has been set up.
    next_line : In(2)
        The next line of the job is about to be requested: its targets begin a pitch further on.
    starts, done : In(2)
        Jobs that begin to run in this cycle, and jobs that end.
    jobs : Out(JobLayout) times 2
        Each slot's.
    waiting, running : Out(2)
        Slots with a job that has not begun, and with one that has.
    oldest : Out(1)
        The slot whose access was committed first, of those that are not over.
    quiet : Out(1)
        No access is under way.
    """

    def __init__(self):
        super().__init__({
            "access": In(Strobe(range(SLOTS))),
            "job": In(Strobe(JobLayout)), "job_slot": In(range(SLOTS)),
            "next_line": In(SLOTS), "starts": In(SLOTS), "done": In(SLOTS),
            "jobs": Out(JobLayout).array(SLOTS), "waiting": Out(SLOTS), "running": Out(SLOTS),
            "oldest": Out(range(SLOTS)), "quiet": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        committed, set_up, in_setup = Signal(SLOTS), Signal(SLOTS), Signal(SLOTS)
        m.d.comb += [
            committed.eq(Mux(self.access.valid, 1 << self.access.payload, 0)),
            set_up.eq(Mux(self.job.valid, 1 << self.job_slot, 0)),
            self.quiet.eq(~(in_setup | self.waiting | self.running | committed).any()),
        ]
        m.d.sync += [
            in_setup.eq((in_setup | committed) & ~set_up),
            self.waiting.eq((self.waiting | set_up) & ~self.starts),
            self.running.eq((self.running | self.starts) & ~self.done),
        ]
        for slot, job in enumerate(self.jobs):
            with m.If(set_up[slot]):
                m.d.sync += job.eq(self.job.payload)
            with m.If(self.next_line[slot]):
                m.d.sync += job.base.eq(job.base + job.pitch)

        slot = self.access.payload
        busy = (in_setup | committed | self.waiting | self.running) & ~self.done
        with m.If(self.access.valid):
            m.d.sync += self.oldest.eq(Mux(busy.bit_select(~slot, 1), ~slot, slot))
        with m.Elif(self.done.any()):
            m.d.sync += self.oldest.eq(Mux(self.done[0], 1, 0))
        return m
