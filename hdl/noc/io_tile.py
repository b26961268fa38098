"""An I/O tile: words from the network become requests to DRAM.

Part of the end-to-end system, whose model, testbench and tests cover it.

Ref: memory-composition, section II, Example 1 (steps 5 and 6).
"""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.hdl.noc.packet_receiver import ReceivedLayout

__all__ = ["BEATS", "IoTile"]

BEATS = 4  # of a burst


class IoTile(wiring.Component):
    """Keeps a transaction's words, asks for a burst as soon as its words are there, and feeds it.

    The buffer holds a whole transaction, as the paper assumes ("large enough to not overflow"): a
    transaction must have been written before the next arrives.

    Parameters
    ----------
    nbytes : int
        Of a transaction: a power of two, a multiple of a request's 128 bytes.
    width : int
        Bits of a flit's word: 32.

    Members
    -------
    words : In(stream of ReceivedLayout)
        From the network interface.
    request : Out(stream)
        Number of a burst that is complete.
    fetch : In
        ``slot`` and ``beat`` of a burst whose data are on ``data`` two cycles later.
    data : Out
        A beat.
    """

    def __init__(self, *, nbytes, width=32):
        self.width, self.beat = width, 8 * REQUEST_BYTES // BEATS
        self.slots = nbytes // REQUEST_BYTES
        super().__init__({
            "words": In(stream.Signature(ReceivedLayout(width))),
            "request": Out(stream.Signature(range(self.slots))),
            "fetch": In(wiring.Signature({"slot": Out(range(self.slots)), "beat": Out(2)})),
            "data": Out(self.beat),
        })
        self.memory = Memory(shape=unsigned(self.beat), depth=self.slots * BEATS, init=[])
        self._write = self.memory.write_port(granularity=width)
        self._read = self.memory.read_port()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        write, read, address = self._write, self._read, self.words.payload.address
        lanes = self.beat // self.width
        lane_bits = (lanes - 1).bit_length()
        enough = lanes * BEATS  # words of a request

        m.d.comb += [
            self.words.ready.eq(1),
            write.addr.eq(address >> lane_bits),
            write.data.eq(self.words.payload.data.replicate(lanes)),
            write.en.eq(self.words.valid << address[:lane_bits]),
            read.addr.eq((self.fetch.slot << 2) | self.fetch.beat),
            read.en.eq(1),
        ]
        m.d.sync += self.data.eq(read.data)

        complete, asked = Signal(len(self.request.payload) + 1), Signal.like(
            self.request.payload, name="asked_so_far")
        whole = Signal()
        m.d.comb += whole.eq(self.words.valid & (address[:(enough - 1).bit_length()] == enough - 1))
        taken = self.request.valid & self.request.ready
        m.d.sync += complete.eq(complete + whole - taken)  # bursts complete, and not asked for
        m.d.comb += [self.request.valid.eq(complete != 0), self.request.payload.eq(asked)]
        with m.If(taken):
            m.d.sync += asked.eq(asked + 1)
        return m
