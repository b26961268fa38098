"""The sending half of an I/O tile: bursts of DRAM become transactions for the network.

Part of the end-to-end read, whose model, testbench and tests cover it.

Ref: memory-composition, section II, Example 2 (steps a to c), and Figure 5 (DMA Tx).
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.golden.noc.packet import LENGTH_BITS
from cyclebound.hdl.dram.page_controller import DeliverLayout
from cyclebound.hdl.dram.reorder_core import RequestLayout
from cyclebound.hdl.noc.packet_sender import TransactionLayout
from cyclebound.hdl.parameters import check_power_of_two

__all__ = ["DescriptorLayout", "DmaTx"]

_BEATS = 4  # of a burst


class DescriptorLayout(data.StructLayout):
    """A read: ``bursts`` from a place in DRAM on, within its row, to ``address`` (in words of a
    flit) at the end of ``route`` (the first flit of all packets)."""

    def __init__(self, *, part, width):
        super().__init__({"bank": (part.banks - 1).bit_length(),
                          "row": (part.rows - 1).bit_length(),
                          "column": (part.bursts_per_row - 1).bit_length(),
                          "bursts": part.bursts_per_row.bit_length(),
                          "route": unsigned(width), "address": unsigned(width - 1)})


class DmaTx(wiring.Component):
    """Asks for a descriptor's bursts, keeps what comes back, and passes it on in order.

    The buffer is a ring of ``slots`` bursts, one for each that is asked for until its last word has
    been passed on; so no burst comes that has no place. Bursts may come back in any order. One
    descriptor at a time: the next is taken when the words of the one before have been passed on.

    Latency: the first burst is on offer in the cycle after its descriptor's, the next ones each in
    the cycle after the one before was taken. A burst's first word is on offer in the cycle
    after its last beat was delivered. Throughput: a word in every cycle.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    slots : int
        Bursts in the buffer: a power of two, at least 2.
    width : int
        Bits of a flit's word: 32.

    Members
    -------
    descriptors : In(stream of DescriptorLayout)
        What to read. One that has no bursts, or that does not end in its row, is dropped.
    refused : Out(1)
        Such a one is dropped in this cycle.
    request : Out(stream of RequestLayout)
        Reads; the tag is the slot.
    deliver : In(DeliverLayout)
        Beats.
    transactions, words : Out(stream)
        To the network interface.
    """

    def __init__(self, *, part, slots, width=32):
        self.part = part = part_named(part)
        check_power_of_two("slots", slots, 2)
        self.slots, self.width = slots, width
        self.beat_bits, self.slot_bits = 8 * REQUEST_BYTES // _BEATS, (slots - 1).bit_length()
        super().__init__({
            "descriptors": In(stream.Signature(DescriptorLayout(part=part, width=width))),
            "refused": Out(1),
            "request": Out(stream.Signature(RequestLayout(part=part, tag_bits=self.slot_bits))),
            "deliver": In(DeliverLayout(tag_bits=self.slot_bits, beat_bits=self.beat_bits)),
            "transactions": Out(stream.Signature(TransactionLayout(width))),
            "words": Out(stream.Signature(width)),
        })
        self.memory = Memory(shape=unsigned(self.beat_bits), depth=slots * _BEATS, init=[])
        self._write = self.memory.write_port()
        self._read = self.memory.read_port()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        asked, descriptor = self.descriptors.payload, Signal(self.descriptors.payload.shape())
        burst_bits = (REQUEST_BYTES * 8 // self.width - 1).bit_length()
        to_ask = Signal(len(asked.bursts))   # bursts of this descriptor
        to_pass = Signal(len(asked.bursts))  # of which words are left
        transaction = self.transactions.payload
        m.d.comb += [
            transaction.route.eq(descriptor.route), transaction.address.eq(descriptor.address),
            transaction.words.eq((descriptor.bursts << burst_bits)[:LENGTH_BITS]),
        ]
        with m.If(self.transactions.ready):
            m.d.sync += self.transactions.valid.eq(0)

        # -- descriptors, and their bursts -------------------------------------------------------
        takes, good = Signal(), Signal()
        m.d.comb += [
            self.descriptors.ready.eq((to_pass == 0) & ~self.transactions.valid),
            takes.eq(self.descriptors.valid & self.descriptors.ready),
            good.eq((asked.bursts != 0) & (asked.column + asked.bursts
                                           <= self.part.bursts_per_row)),
            self.refused.eq(takes & ~good),
        ]
        # slots: `next_slot` is for the next burst, `head` has the next word, and `held` are in use
        next_slot, head = Signal(self.slot_bits), Signal(self.slot_bits)
        held = Signal(range(self.slots + 1))
        request, freed, sent = self.request.payload, Signal(), Signal()
        m.d.comb += [
            sent.eq(self.request.valid & self.request.ready),
            self.request.valid.eq((to_ask != 0) & (held != self.slots)),
            request.bank.eq(descriptor.bank), request.row.eq(descriptor.row),
            request.column.eq(descriptor.column), request.tag.eq(next_slot),
        ]
        m.d.sync += held.eq(held + sent - freed)
        with m.If(sent):
            m.d.sync += [next_slot.eq(next_slot + 1), to_ask.eq(to_ask - 1),
                         descriptor.column.eq(descriptor.column + 1)]
        with m.If(freed):
            m.d.sync += to_pass.eq(to_pass - 1)
        with m.If(takes & good):
            m.d.sync += [descriptor.eq(asked), to_ask.eq(asked.bursts), to_pass.eq(asked.bursts),
                         self.transactions.valid.eq(1)]

        # -- beats come, and words go ------------------------------------------------------------
        deliver, write, read = self.deliver, self._write, self._read
        whole = Signal(self.slots)  # slots whose words are there
        m.d.comb += [
            write.addr.eq(Cat(deliver.beat, deliver.tag)), write.data.eq(deliver.data),
            write.en.eq(deliver.valid),
        ]
        lane_bits = burst_bits - 2
        word, after = Signal(self.slot_bits + burst_bits), Signal(self.slot_bits + burst_bits)
        passes = Signal()
        m.d.comb += [
            head.eq(word[burst_bits:]),
            self.words.valid.eq(whole.bit_select(head, 1)),
            passes.eq(self.words.valid & self.words.ready),
            freed.eq(passes & word[:burst_bits].all()),
            after.eq(Mux(passes, word + 1, word)),
            read.addr.eq(after[lane_bits:]), read.en.eq(1),
            self.words.payload.eq(read.data.word_select(word[:lane_bits], self.width)),
        ]
        m.d.sync += word.eq(after)
        for slot in range(self.slots):
            with m.If(deliver.valid & (deliver.beat == _BEATS - 1) & (deliver.tag == slot)):
                m.d.sync += whole[slot].eq(1)
            with m.If(freed & (head == slot)):
                m.d.sync += whole[slot].eq(0)
        return m
