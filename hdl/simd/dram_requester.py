"""Requests of jobs to the DRAM controller, in the order of the accesses' commits.

Part of the transfer unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.2.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import COUNT_BITS, Refusal
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.dram.layouts import BufferRequest
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.access_setup import JobLayout

__all__ = ["DramRequester"]

_OUTSTANDING = 4  # requests that the controller has taken and not completed, at most


class DramRequester(wiring.Component):
    """Requests a job's tile as a whole, or line by line, and says when all of it is completed.

    Words of a request come and go before its completion, and after that of the request before, so
    that the oldest request is the one whose words are under way: ``owner`` is its slot.

    Latency: none; a job is requested in the first cycle in which it waits and may begin.

    Members
    -------
    jobs, waiting, oldest
        Of `AccessJobs`, in its directions.
    begin : In(2)
        Slots whose access need not wait for its turn.
    request : Out(stream of BufferRequest), completed : In(Strobe(3))
        Of the DRAM controller. Completions while no request is outstanding are those of others.
    out_of_range : In(2)
        Slots whose indexes were not all within the controller's bits.
    next_line, starts, done : Out(2)
        For `AccessJobs`: a line was taken; the last one was taken; it is completed.
    failed : Out(2)
        The job that is done was refused or out of range.
    owner : Out(1)
        The slot of the oldest request.
    latest : Out(1)
        The slot whose request the controller took last.
    """

    def __init__(self):
        super().__init__({
            "jobs": In(JobLayout).array(SLOTS), "waiting": In(SLOTS), "oldest": In(range(SLOTS)),
            "begin": In(SLOTS),
            "request": Out(stream.Signature(data.Layout.cast(BufferRequest))),
            "completed": In(Strobe(unsigned(3))), "out_of_range": In(SLOTS),
            "next_line": Out(SLOTS), "starts": Out(SLOTS), "done": Out(SLOTS),
            "failed": Out(SLOTS), "owner": Out(range(SLOTS)), "latest": Out(range(SLOTS)),
        })

    def elaborate(self, platform):
        m = Module()
        request, jobs = self.request, self.jobs
        line = [Signal(COUNT_BITS, name=f"line_{slot}") for slot in range(SLOTS)]
        candidates = self.waiting & Cat(~job.scratchpad & ~job.fault for job in jobs)
        # a job may not pass an older one that the controller has not taken yet
        overtaking = Cat(candidates[1] & (self.oldest == 1), candidates[0] & (self.oldest == 0))
        eligible, winner = Signal(SLOTS), Signal(range(SLOTS))
        m.d.comb += [
            eligible.eq(candidates & self.begin & ~overtaking), winner.eq(~eligible[0]),
            request.valid.eq(eligible.any()),
        ]
        taken = request.valid & request.ready
        owners = Array(Signal(range(SLOTS), name=f"owner_{number}")
                       for number in range(_OUTSTANDING))
        lasts = Array(Signal(name=f"last_{number}") for number in range(_OUTSTANDING))
        head, tail = Signal(range(_OUTSTANDING)), Signal(range(_OUTSTANDING))
        m.d.comb += self.owner.eq(owners[head])
        for slot, job in enumerate(jobs):
            last = ~job.split | (line[slot] + 1 == job.count)
            with m.If(winner == slot):
                fields = {name: job[name] for name in (
                    "buffer", "x", "words", "indexed", "write", "destination", "base", "pitch",
                    "transform")}
                m.d.comb += [
                    *(request.payload[name].eq(value) for name, value in fields.items()),
                    request.payload.y.eq(job.y + line[slot]),
                    request.payload.count.eq(Mux(job.split, 1, job.count)),
                    self.next_line[slot].eq(taken), self.starts[slot].eq(taken & last),
                ]
                with m.If(taken):
                    m.d.sync += [owners[tail].eq(slot), lasts[tail].eq(last), tail.eq(tail + 1),
                                 self.latest.eq(slot), line[slot].eq(line[slot] + 1)]
            with m.If(~self.waiting[slot]):
                m.d.sync += line[slot].eq(0)

        outstanding = Signal(range(_OUTSTANDING + 1))
        own = self.completed.valid & (outstanding != 0)  # others' are the program's
        refused = ~self.completed.payload.matches(Refusal.NONE, Refusal.EMPTY)
        m.d.sync += [outstanding.eq(outstanding + taken - own), head.eq(head + own)]
        m.d.comb += [self.done.eq(Mux(own & lasts[head], 1 << self.owner, 0)),
                     self.failed.eq(Mux(refused, self.done, self.done & self.out_of_range))]
        return m
