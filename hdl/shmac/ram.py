"""RAM of SHMAC's tiles: for the network, and before it for the tile's own core."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.shmac.address_map import COORDINATE_BITS, LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS, STROBE_BITS
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shmac.packet import RequestPacketLayout, ResponsePacketLayout

__all__ = ["MOST_WORDS", "Ram", "check_words"]

MOST_WORDS = 1 << 18  # 1 MiB: the thesis has 16, which take minutes to elaborate


def check_words(words):
    """Raise an error unless a tile's RAM may have so many words."""
    check_integer("Word count", words, 2, MOST_WORDS)
    if words & words - 1:
        raise ValueError(f"Word count must be a power of two, not {words}")


class Ram(wiring.Component):
    """One read and one write in a cycle, the core's before the network's.

    Latency: the core's word is there in the cycle after it asked, always. A request of the network
    waits while the response before it is not taken, and while the core does the same, reading or
    writing, as it wants to; its response is on offer in the cycle after it was taken. Throughput: a
    request in every cycle. A read sees what was there before a write of the same cycle.

    Addresses beyond the RAM or of no word, and LL and SC of all but ``masters``, are answered with
    an error; so are plain writes then, which otherwise have no response. LL reserves its word for
    its tile, in place of an earlier one. SC succeeds if its word is reserved for its tile, which it
    is no longer then, and a write or a successful SC ends all reservations of its word.

    Parameters
    ----------
    words : int
        Its size, a power of two.
    raises : bool
        There is a core whose interrupt line may be raised here; otherwise it is an error.
    masters : sequence of (row, column)
        Tiles whose cores may reserve words.

    Members
    -------
    accesses : In(stream of RequestPacketLayout)
        From the network.
    answers : Out(stream of ResponsePacketLayout)
        To it.
    raised : Out(1)
        A request to raise the core's interrupt line is taken.
    reads, writes : In(1)
        What the core does in this cycle; without a core, 0.
    address, data, strobes : In
        Of it: the word's number, and of a write its data and bytes.
    word : Out(32)
        What it read in the cycle before.
    """

    def __init__(self, *, words, raises=False, masters=()):
        check_words(words)
        for number, master in enumerate(masters):
            for what, coordinate in zip(("Row", "Column"), master, strict=True):
                check_integer(f"{what} of master {number}", coordinate, 0,
                              (1 << COORDINATE_BITS) - 1)
        self.masters = [tuple(master) for master in masters]
        if len(set(self.masters)) < len(self.masters):
            raise ValueError(f"Masters must be different tiles, not {self.masters}")
        if raises and masters:
            raise ValueError("A core's own RAM must have no masters: its writes end no reservation")
        self.words, self.raises = words, raises
        super().__init__({
            "accesses": In(stream.Signature(RequestPacketLayout)),
            "answers": Out(stream.Signature(ResponsePacketLayout)), "raised": Out(1),
            "reads": In(1), "writes": In(1), "address": In(exact_log2(words)),
            "data": In(DATA_BITS), "strobes": In(STROBE_BITS), "word": Out(DATA_BITS),
        })
        # the state; a proof has to speak of it
        self.conditional = Signal()  # the response is an SC's
        self.valid = Signal(len(self.masters))  # of each master's reservation
        self.reserved = [Signal(exact_log2(words), name=f"reserved_{number}")
                         for number in range(len(self.masters))]

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=DATA_BITS, depth=self.words, init=[])
        read, write = memory.read_port(), memory.write_port(granularity=8)
        accesses, answers, packet = self.accesses, self.answers, self.accesses.payload
        place, posted, interrupts = Signal(LOCAL_BITS - 2), Signal(), Signal()
        takes, error, own = Signal(), Signal(), Signal()
        fails, reserved = Signal(), Signal()  # an SC; the SC's word is its tile's
        m.d.comb += [
            place.eq(packet.address[2:]), posted.eq(packet.write & ~packet.sync),
            interrupts.eq(posted & packet.interrupt),
            error.eq(Mux(interrupts, not self.raises,
                         packet.sync & ~own | place[exact_log2(self.words):].any()
                         | packet.address[:2].any())),
            fails.eq(packet.write & packet.sync & ~reserved),
            accesses.ready.eq((~answers.valid | answers.ready)
                              & ~Mux(packet.write, self.writes, self.reads)),
            takes.eq(accesses.valid & accesses.ready),
            self.raised.eq(takes & interrupts & self.raises),
            read.addr.eq(Mux(self.reads, self.address, place)),
            write.addr.eq(Mux(self.writes, self.address, place)),
            write.data.eq(Mux(self.writes, self.data, packet.data)),
            write.en.eq(Mux(self.writes, self.strobes,
                            Mux(takes & packet.write & ~interrupts & ~error & ~fails,
                                packet.strobes, 0))),
            self.word.eq(read.data),
        ]
        fresh, held = Signal(), Signal(DATA_BITS)  # the port is the core's again a cycle later
        m.d.sync += fresh.eq(takes)
        with m.If(fresh):
            m.d.sync += held.eq(read.data)
        conditional, succeeded = self.conditional, Signal()
        m.d.comb += answers.payload.data.eq(
            Mux(conditional, succeeded, Mux(fresh, read.data, held)))
        with m.If(takes):
            m.d.sync += [
                answers.valid.eq(~posted | error), answers.payload.write.eq(posted),
                answers.payload.error.eq(error), answers.payload.initiator.eq(packet.initiator),
                answers.payload.target.eq(packet.target),
                conditional.eq(packet.write & packet.sync), succeeded.eq(reserved),
            ]
        with m.Elif(answers.ready):
            m.d.sync += answers.valid.eq(0)
        self._reserve(m, takes & ~error & ~interrupts, place[:exact_log2(self.words)], own,
                      reserved)
        return m

    def _reserve(self, m, takes, place, own, reserved):
        """The reservations: who has which word. ``own``, ``reserved``: of the request on offer."""
        packet = self.accesses.payload
        writes = Signal()
        m.d.comb += writes.eq(takes & packet.write & (~packet.sync | reserved))
        mine, holds = [], []
        for (row, column), valid, word in zip(self.masters, self.valid, self.reserved,
                                              strict=True):
            is_own, is_here = Signal(), Signal()
            m.d.comb += [
                is_own.eq((packet.initiator.row == row) & (packet.initiator.column == column)),
                is_here.eq(valid & (word == place)),
            ]
            with m.If(takes & packet.sync & ~packet.write & is_own):
                m.d.sync += [valid.eq(1), word.eq(place)]
            with m.Elif((writes & is_here) | (takes & packet.sync & is_own)):
                m.d.sync += valid.eq(0)
            mine.append(is_own)
            holds.append(is_own & is_here)
        m.d.comb += [own.eq(Cat(mine).any()), reserved.eq(Cat(holds).any())]
