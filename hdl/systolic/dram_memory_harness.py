"""The accelerator's memory with a DRAM, beside a client that has tiles of one kind without a pause.

It has no model, testbench and tests of its own: those of ``dram_memory`` cover it, and what is read
must be what was written.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import COUNT_BITS
from cyclebound.hdl.dram.stand_in import DramStandIn
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.systolic.dram_memory import SharedDramMemory

__all__ = ["WINDOW_BITS", "DramMemoryHarness"]

WINDOW_BITS = 16
"""Bits of a word's address that its DRAM tells apart."""
_LINE = (1 << COUNT_BITS) - 1  # words of the other client's buffer


class DramMemoryHarness(wiring.Component):
    """An accelerator's memory between its ports and a DRAM's stand-in, with another client.

    Parameters
    ----------
    part, size, bursts, slots, memory_width
        As of `SharedDramMemory`.

    Members
    -------
    requests, read, write, mapping, mapped, mapping_refusal, idle, fault, late, command
        As of `SharedDramMemory`.
    other_words, other_write, other_first : In
        Words, direction and first word of the other client's tiles; their writes change nothing.
    asks : In(1)
        It may make another request.
    served : Out(32)
        Its requests that are completed.
    """

    def __init__(self, *, part, size, bursts=16, slots=8, memory_width=16):
        self.inner = SharedDramMemory(part=part, size=size, bursts=bursts, slots=slots,
                                      memory_width=memory_width)
        self.part = self.inner.part
        members = self.inner.signature.members
        self._passed = [name for name in members if name not in ("other", "dq_in", "dq_out")]
        super().__init__({
            **{name: members[name] for name in self._passed},
            "other_words": In(COUNT_BITS), "other_write": In(1), "other_first": In(COUNT_BITS),
            "asks": In(1), "served": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self.inner
        m.submodules.dram = dram = DramStandIn(part=self.part, window_bits=WINDOW_BITS)
        pass_through(m, self, inner, *self._passed)
        wiring.connect(m, inner.dq_out, dram.dq_out)
        m.d.comb += [dram.command.eq(inner.command), inner.dq_in.eq(dram.dq_in)]
        other, asked, mapped = inner.other, Signal(), Signal()
        with m.If(other.mapping.valid & other.mapping.ready):
            m.d.sync += asked.eq(1)
        with m.If(other.mapped):
            m.d.sync += mapped.eq(1)
        with m.If(other.completion.valid):
            m.d.sync += self.served.eq(self.served + 1)
        request = other.request
        m.d.sync += request.valid.eq((self.asks & mapped) | (request.valid & ~request.ready))
        m.d.comb += [
            other.mapping.valid.eq(~asked), other.mapping.payload.valid.eq(1),
            other.mapping.payload.x.eq(_LINE), other.mapping.payload.y.eq(1),
            request.payload.x.eq(self.other_first), request.payload.words.eq(self.other_words),
            request.payload.count.eq(1), request.payload.write.eq(self.other_write),
        ]
        return m
