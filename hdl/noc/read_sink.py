"""Where a read ends: packets from the network are taken apart, and written to a bank.

Part of the end-to-end read, whose model, testbench and tests cover it.

Ref: memory-composition, section II, Example 2 (step d).
"""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.end_to_end_data import WORD_BYTES
from cyclebound.hdl.interfaces import MemoryPort
from cyclebound.hdl.noc.bank_writer import BankWriter
from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.noc.packet_receiver import PacketReceiver
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.sram.banked_memory import SramBank

__all__ = ["ReadSink"]

_WIDTH = 32  # bits of a flit


class ReadSink(wiring.Component):
    """A receiver of packets, and the bank of local memory that it writes to beside others.

    Parameters
    ----------
    requesters : int
        Requesters of the bank, this one among them: at least 2.
    words : int
        Words of 8 bytes in the bank.
    payload, packets : int
        Words of a flit in the longest packet, and packets of that size that there is room for.

    Members
    -------
    sink : In(stream of FlitLayout)
        From the network.
    others : In(MemoryPort).array(requesters - 1)
        The bank's other requesters: one before the receiver's turn, all others after it.
    stored : Out(1)
        A word of the bank is written.
    malformed : Out(1)
        As of `PacketReceiver`.
    """

    def __init__(self, *, requesters, words, payload, packets):
        check_integer("requesters", requesters, 2)
        self.requesters, self.words = requesters, words
        self.payload, self.packets = payload, packets
        super().__init__({
            "sink": In(stream.Signature(FlitLayout(_WIDTH))),
            "others": In(MemoryPort(words=words, word_bytes=WORD_BYTES)).array(requesters - 1),
            "stored": Out(1), "malformed": Out(1),
        })

    @cached_property
    def parts(self):
        """The parts by name, made when first used."""
        return {
            "receiver": PacketReceiver(width=_WIDTH, payload=self.payload, packets=self.packets),
            "writer": BankWriter(words=self.words),
            "bank": SramBank(requesters=self.requesters, words=self.words, word_bytes=WORD_BYTES),
        }

    def elaborate(self, platform):
        m = Module()
        for name, part in self.parts.items():
            m.submodules[name] = part
        receiver, writer, bank = self.parts.values()
        before, mine, *after = bank.ports
        wiring.connect(m, wiring.flipped(self.sink), receiver.sink)
        wiring.connect(m, receiver.received, writer.received)
        wiring.connect(m, writer.bank, mine)
        for other, port in zip(self.others, (before, *after), strict=True):
            wiring.connect(m, wiring.flipped(other), port)
        m.d.comb += [self.stored.eq(mine.request.valid & mine.request.ready),
                     self.malformed.eq(receiver.malformed)]
        return m
