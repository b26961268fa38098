"""A compute tile that writes a transaction into its memory and sends it to another tile.

Part of the end-to-end system, whose model, testbench and tests cover it.

Ref: memory-composition, section II, Example 1.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.end_to_end_data import AHEAD, MULTIPLIER, WORD_BYTES
from cyclebound.hdl.noc.packet_sender import TransactionLayout
from cyclebound.hdl.sram.banked_memory import SramBank

__all__ = ["ComputeTile"]


class ComputeTile(wiring.Component):
    """A core fills a bank, tells the DMA, and the DMA reads the bank and passes it on.

    A requester in ``saturate`` asks for a word in every cycle in which it has no other request;
    only so can a transaction meet the wait that Eq. 1 allows. The core is requester 0 of the
    bank, the DMA number 1: it has just had its turn when it is told, which is the worst case.

    Parameters
    ----------
    requesters : int
        Requesters of the bank: cores and DMA, at least 2.
    words : int
        Words of 8 bytes in the bank; all of them are written and sent.
    width : int
        Bits of a flit: 32.

    Members
    -------
    start : In(1)
        The core begins; with its next word, if it saturates.
    saturate : In(requesters)
        Requesters that ask in every cycle.
    route : In(width)
        First flit of all packets.
    writing : Out(1)
        The core's writes are on offer.
    filled : Out(1)
        The last of them is granted in this cycle.
    transactions, source : Out(stream)
        To the network interface.
    """

    def __init__(self, *, requesters, words, width=32):
        self.requesters, self.words, self.width = requesters, words, width
        super().__init__({
            "start": In(1), "saturate": In(requesters), "route": In(width),
            "writing": Out(1), "filled": Out(1),
            "transactions": Out(stream.Signature(TransactionLayout(width))),
            "source": Out(stream.Signature(width)),
        })

    @cached_property
    def bank(self):
        """The SRAM, made when first used."""
        return SramBank(requesters=self.requesters, words=self.words, word_bytes=WORD_BYTES)

    def elaborate(self, platform):
        m = Module()
        m.submodules.bank = bank = self.bank
        saturate = Signal(self.requesters)
        m.d.sync += saturate.eq(self.saturate)  # a setting; a request on offer is not withdrawn
        core, dma, *others = bank.ports
        for who, port in enumerate(others, 2):
            m.d.comb += port.request.valid.eq(saturate[who])

        # The core. An offer that waits stays as it is: its first write follows one that is granted.
        armed, index = Signal(), Signal(range(self.words))
        writes = core.request.payload
        m.d.comb += [
            core.request.valid.eq(self.writing | saturate[0]),
            writes.address.eq(Mux(self.writing, index, 0)),
            writes.write.eq(Mux(self.writing, -1, 0)),
            writes.data.eq(Cat(index, (index * MULTIPLIER)[:32])),
            self.filled.eq(self.writing & core.request.ready & (index == self.words - 1)),
        ]
        with m.If(self.start):
            m.d.sync += [armed.eq(1), index.eq(0)]
        with m.If(armed & (~saturate[0] | core.request.ready)):
            m.d.sync += [armed.eq(0), self.writing.eq(1)]
        with m.If(self.writing & core.request.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(index == self.words - 1):
                m.d.sync += self.writing.eq(0)

        # The DMA is told, t_2, and reads. What it asks for before is what it will read first.
        m.submodules.fifo = fifo = SyncFIFO(width=8 * WORD_BYTES, depth=AHEAD)
        told, reading, asks = Signal(), Signal(), Signal()
        address = Signal(range(self.words))
        held = Signal(range(AHEAD + 1))  # words granted, and not passed on
        granted = Signal()
        m.d.sync += told.eq(self.filled)
        transaction = self.transactions.payload
        m.d.comb += [
            self.transactions.valid.eq(asks), transaction.route.eq(self.route),
            transaction.words.eq(self.words * 8 * WORD_BYTES // self.width),
            dma.request.valid.eq(Mux(reading, held != AHEAD, saturate[1])),
            dma.request.payload.address.eq(address),
            granted.eq(reading & dma.request.valid & dma.request.ready),
        ]
        with m.If(told):
            m.d.sync += [asks.eq(1), reading.eq(1)]
        with m.Elif(self.transactions.ready):
            m.d.sync += asks.eq(0)
        with m.If(granted):
            m.d.sync += address.eq(address + 1)
            with m.If(address == self.words - 1):
                m.d.sync += reading.eq(0)

        # A word is as many flits as fit.
        mine, half = Signal(), Signal()
        passed = Signal()
        m.d.sync += [mine.eq(granted), held.eq(held + granted - passed)]
        m.d.comb += [
            fifo.w_en.eq(mine & dma.response.valid), fifo.w_data.eq(dma.response.data),
            self.source.valid.eq(fifo.r_rdy),
            self.source.payload.eq(fifo.r_data.word_select(half, self.width)),
            passed.eq(fifo.r_en & fifo.r_rdy), fifo.r_en.eq(self.source.ready & half),
        ]
        with m.If(self.source.valid & self.source.ready):
            m.d.sync += half.eq(~half)
        return m
