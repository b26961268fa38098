"""The receiving half of an I/O tile: words from the network become bursts to DRAM.

Part of the end-to-end systems, whose models, testbenches and tests cover it.

Ref: memory-composition, section II, Example 1 (steps 5 and 6), and Figure 5 (DMA Rx).
"""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.hdl.noc.packet_receiver import ReceivedLayout
from cyclebound.hdl.parameters import check_power_of_two

__all__ = ["BEATS", "BurstLayout", "DmaRx"]

BEATS = 4  # of a burst


class BurstLayout(data.StructLayout):
    """A whole burst: its ``slot`` of the buffer, and its ``place``, the address in bursts."""

    def __init__(self, *, slots, place_bits):
        super().__init__({"slot": range(slots), "place": place_bits})


class DmaRx(wiring.Component):
    """Keeps a transaction's words, asks for a burst as soon as its words are there, and feeds it.

    The buffer is a ring of ``slots`` bursts. A slot is in use until its last beat has been fetched;
    bursts may be fetched in any order. With room for whatever is under way it takes a word in every
    cycle, as the paper assumes ("large enough to not overflow").

    Latency: a burst is on offer in the cycle after its last word was taken.

    Parameters
    ----------
    slots : int
        Bursts in the buffer: a power of two, at least 2.
    width : int
        Bits of a flit's word: 32.

    Members
    -------
    words : In(stream of ReceivedLayout)
        From the network interface: whole bursts, each from its first word on.
    request : Out(stream of BurstLayout)
        Bursts that are complete, in their order.
    fetch : In
        ``slot`` and ``beat`` of a burst whose data are on ``data`` two cycles later.
    data : Out
        A beat.
    """

    def __init__(self, *, slots, width=32):
        check_power_of_two("slots", slots, 2)
        self.slots, self.width, self.beat = slots, width, 8 * REQUEST_BYTES // BEATS
        self.word_bits = (8 * REQUEST_BYTES // width - 1).bit_length()  # of a word's place in it
        self.place_bits = width - 1 - self.word_bits
        super().__init__({
            "words": In(stream.Signature(ReceivedLayout(width))),
            "request": Out(stream.Signature(BurstLayout(slots=slots, place_bits=self.place_bits))),
            "fetch": In(data.StructLayout({"valid": 1, "slot": range(slots), "beat": 2})),
            "data": Out(self.beat),
        })
        self.memory = Memory(shape=unsigned(self.beat), depth=slots * BEATS, init=[])
        self._write = self.memory.write_port(granularity=width)
        self._read = self.memory.read_port()
        self.places = Memory(shape=unsigned(self.place_bits), depth=slots, init=[])
        self._keep = self.places.write_port()
        self._look = self.places.read_port(domain="comb")

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory, m.submodules.places = self.memory, self.places
        write, read, address = self._write, self._read, self.words.payload.address
        lanes = self.beat // self.width
        lane_bits = (lanes - 1).bit_length()
        word = address[:self.word_bits]

        slot, asked = Signal(range(self.slots)), Signal(range(self.slots))
        in_use = Signal(self.slots)  # complete, and not yet fetched
        takes, whole = Signal(), Signal()
        m.d.comb += [
            self.words.ready.eq(~in_use.bit_select(slot, 1)),
            takes.eq(self.words.valid & self.words.ready),
            whole.eq(takes & word.all()),
            write.addr.eq((slot << 2) | word[lane_bits:]),
            write.data.eq(self.words.payload.data.replicate(lanes)),
            write.en.eq(takes << word[:lane_bits]),
            self._keep.addr.eq(slot), self._keep.data.eq(address[self.word_bits:]),
            self._keep.en.eq(whole),
            read.addr.eq((self.fetch.slot << 2) | self.fetch.beat),
            read.en.eq(1),
        ]
        m.d.sync += self.data.eq(read.data)
        for number in range(self.slots):
            with m.If(whole & (slot == number)):
                m.d.sync += in_use[number].eq(1)
            with m.If(self.fetch.valid & (self.fetch.beat == BEATS - 1)
                      & (self.fetch.slot == number)):
                m.d.sync += in_use[number].eq(0)

        complete = Signal(range(self.slots + 1))  # bursts complete, and not asked for
        taken = self.request.valid & self.request.ready
        m.d.sync += [complete.eq(complete + whole - taken), slot.eq(slot + whole)]
        m.d.comb += [
            self._look.addr.eq(asked),
            self.request.valid.eq(complete != 0), self.request.payload.slot.eq(asked),
            self.request.payload.place.eq(self._look.data),
        ]
        with m.If(taken):
            m.d.sync += asked.eq(asked + 1)
        return m
