"""The receiving half of a compute tile: words from the network go into a bank of local memory.

Part of the end-to-end read, whose model, testbench and tests cover it.

Ref: memory-composition, section II, Example 2 (step d).
"""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.end_to_end_data import WORD_BYTES
from cyclebound.hdl.interfaces import MemoryPort
from cyclebound.hdl.noc.packet_receiver import ReceivedLayout

__all__ = ["BankWriter"]


class BankWriter(wiring.Component):
    """Two words of a flit that belong to one word of the bank are written together.

    A word that has no other half (at a transaction's beginning or end) is written by itself; its
    neighbour in the bank keeps what it has.

    Latency: a write is on offer in the cycle after its second half was taken; a half by
    itself, of an even address, two cycles after it was. Throughput: two words of a flit in two
    cycles, or in as many as the bank takes for a write, if these are more: one is collected
    while another waits for its grant.

    Parameters
    ----------
    words : int
        Words of 8 bytes in the bank; addresses beyond wrap.
    width : int
        Bits of a flit's word: 32, half a word of the bank.

    Members
    -------
    received : In(stream of ReceivedLayout)
        From the network interface.
    bank : Out(MemoryPort)
        To the bank, as one of its requesters.

    Attributes
    ----------
    waits : Signal
        A lower half waits for its other one.
    """

    def __init__(self, *, words, width=32):
        self.words, self.width = words, width
        super().__init__({
            "received": In(stream.Signature(ReceivedLayout(width))),
            "bank": Out(MemoryPort(words=words, word_bytes=WORD_BYTES)),
        })
        self.waits = Signal()

    def elaborate(self, platform):
        m = Module()
        word, write = self.received.payload, self.bank.request
        half = WORD_BYTES // 2
        even = Signal(self.received.payload.shape())  # a lower half that waits for its other one
        waits = self.waits
        free, pairs, alone = Signal(), Signal(), Signal()
        place = word.address[1:]
        m.d.comb += [
            free.eq(~write.valid | write.ready),
            pairs.eq(word.address[0] & (place == even.address[1:]) & ~even.last),
            # what waits has no other half, as something else has come, or will
            alone.eq(waits & (even.last | (self.received.valid & ~pairs))),
            self.received.ready.eq(~alone & (free | ~word.address[0])),
        ]
        taken = self.received.valid & self.received.ready
        with m.If(write.ready):
            m.d.sync += write.valid.eq(0)
        with m.If(alone & free):
            m.d.sync += [write.valid.eq(1), waits.eq(0),
                         write.payload.address.eq(even.address[1:]),
                         write.payload.write.eq((1 << half) - 1),
                         write.payload.data.eq(even.data)]
        with m.If(taken & word.address[0]):
            m.d.sync += [write.valid.eq(1), waits.eq(0), write.payload.address.eq(place),
                         write.payload.write.eq(Cat(waits.replicate(half), Const(-1, half))),
                         write.payload.data.eq(Cat(even.data, word.data))]
        with m.If(taken & ~word.address[0]):
            m.d.sync += [waits.eq(1), even.eq(word)]
        return m
