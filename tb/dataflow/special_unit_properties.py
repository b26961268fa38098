"""What a special unit makes of the firings of its token buffer, for induction.

That the buffer fires each thread with its own tokens, once, is proved of the token buffer
(`cyclebound.tb.dataflow.token_buffer_properties`); here is the rest of the way.

Ref: SGMF, sections 4.2 and 5.2.1.
"""

from amaranth.hdl import Array, Assert, Cover, Module, Mux, Signal
from amaranth.utils import exact_log2

from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["SpecialUnitFirings"]


class SpecialUnitFirings(Watcher):
    """Each firing of the token buffer makes one result of its thread, and none is without one; two
    threads of an entry leave in the order in which they fired.

    Any entry of the reservation buffer is followed: it holds one thread, with one of the blocks or
    with its result. In whatever order blocks end, and whatever they compute.

    Parameters
    ----------
    target : SpecialUnit
        The unit itself, not elaborated yet.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target, self._bits = target, exact_log2(target.depth)
        self._choice = self.any_one(Signal(self._bits), "entry")
        self._reads = [target.tids.read_port(domain="comb") for _ in range(target.depth)]

    def elaborate(self, platform):
        m = Module()
        target, bits, fire, result = self._target, self._bits, self._target.buffer.fire, self.result
        entry = self._choice.now
        self._choice.follow(m, self.operands[0].payload.tid[:bits])
        ours, enters, leaves = Signal(), Signal(), Signal()
        inside = Signal(range(3))
        tid, queued = Signal.like(result.payload.tid), Signal.like(result.payload.tid)  # the oldest
        m.d.comb += [
            ours.eq(result.valid & (result.payload.tid[:bits] == entry)),
            enters.eq(fire.valid & fire.ready & (fire.payload.tid[:bits] == entry)),
            leaves.eq(ours & result.ready),
        ]
        m.d.sync += inside.eq(inside + enters - leaves)
        with m.If(enters & (inside == leaves)):
            m.d.sync += tid.eq(fire.payload.tid)
        with m.Elif(leaves):
            m.d.sync += tid.eq(queued)
        with m.If(enters):
            m.d.sync += queued.eq(fire.payload.tid)

        claim_kept(m, "result", result, Assert)
        m.d.sync += [
            Assert(~ours | (inside != 0), "a result without its firing"),
            Assert(~ours | (result.payload.tid == tid), "a result of another thread"),
            Assert(~enters | (inside != 2), "a firing into an entry in use"),
            Cover(leaves, "a result leaves"),
        ]

        busy = target.busy.bit_select(entry, 1)
        whose = Array(read.data for read in self._reads)[entry]
        for number, read in enumerate(self._reads):
            m.d.comb += read.addr.eq(number)
            holds = sum(~block.operands.ready & (block.result.payload.tag == number)
                        for block in target.blocks)
            m.d.sync += [
                Assert(target.busy[number] == holds + target.done[number],
                       f"invariant: a block has entry {number}, or its result is there"),
                Assert(~target.busy[number] | (read.data[:bits] == number),
                       f"invariant: entry {number} has a thread of its own"),
            ]
        m.d.sync += [
            Assert(inside == busy + ours, "invariant: it is in its entry, or on offer"),
            Assert(~busy | (whose == Mux(ours, queued, tid)), "invariant: whose the entry is"),
        ]
        for number, block in enumerate(target.blocks):
            m.d.sync += [
                Assert(block.operands.ready == block.resting, f"invariant: block {number} is free"),
                Assert(block.result.valid == block.ending, f"invariant: block {number} is done"),
            ]
        return m
