"""Bound checker of the index iterator: it reads its ports and drives none.

That no word outside the buffer is enabled, whatever the indexes, is memory protection: Sim-D,
section 3.2.4. `IndexIteratorProof` looks inside `IndexIterator` as well; it is for induction.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal, Value

from cyclebound.golden.dram.request import ADDRESS_BITS, BURST_WORDS, COUNT_BITS
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["IndexIteratorCheck", "IndexIteratorObserver", "IndexIteratorProof"]


class IndexIteratorObserver(Watcher):
    """How many indexes a request has had.

    Parameters
    ----------
    target : IndexIterator
        The iterator.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    number : Signal
        Indexes of the request under way that have been taken in earlier cycles.
    """

    def __init__(self, target):
        super().__init__(target)
        self.number = Signal(COUNT_BITS + 1)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.tile.valid & self.tile.ready):
            m.d.sync += self.number.eq(0)
        with m.Elif(self.indexes.valid & self.indexes.ready & ~self.indexes.payload.end):
            m.d.sync += self.number.eq(self.number + 1)
        return m


class IndexIteratorCheck(Watcher):
    """Protocol, protection and timing of an `IndexIterator`.

    Assumes that offers stay until they are taken, and that a buffer ends within the address space,
    which is what the buffer table sees to.

    Parameters
    ----------
    target : IndexIterator
        The iterator, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    busy, ended : Signal
        A request is under way; its end was taken.
    asked, size : View, Signal
        Its tile, and the words in its buffer.
    unknown : Signal
        A legal index was taken, and nothing after it that says whether it is the last.
    legal, illegal : Signal
        Whether an index of that kind was taken.
    decided, closing : Signal
        Bit *i*: *i* + 1 cycles ago, an element was taken that releases a burst; or the end of a
        request without a legal index.
    """

    def __init__(self, target):
        super().__init__(target)
        self.busy, self.ended = Signal(), Signal()
        self.asked = Signal(self.tile.payload.shape())
        self.size = Signal(len(self.limit))
        self.unknown, self.legal, self.illegal = Signal(), Signal(), Signal()
        self.decided, self.closing = Signal(2), Signal(2)

    def offset(self, word):
        """The offset of a word from the buffer's first word."""
        return (word - self.asked.address)[:ADDRESS_BITS]

    def elaborate(self, platform):
        m = Module()
        self._assumed(m)
        takes, within, stalls = (Signal(name=name) for name in ("takes", "within", "stalls"))
        element = self.indexes.payload
        m.d.comb += [
            takes.eq(self.indexes.valid & self.indexes.ready),
            within.eq(~element.end & (element.index < self.size)),
            stalls.eq(self.bursts.valid & ~self.bursts.ready),
        ]
        self._elements(m, takes, within, stalls)
        self._protected(m)
        claim_kept(m, "burst", self.bursts, Assert)
        self._in_time(m, takes, within, stalls)
        self._over(m, takes)
        return m

    def _assumed(self, m):
        """Offers stay, and a buffer ends within the address space."""
        for name, port, more in (("tile", self.tile, self.limit), ("index", self.indexes, 0)):
            waits, offer = Signal(name=f"{name}_waits"), Cat(port.payload, more)
            before = Signal(len(offer), name=f"{name}_before")
            m.d.sync += [waits.eq(port.valid & ~port.ready), before.eq(offer)]
            m.d.sync += owes(~waits | (port.valid & (before == offer)),
                             f"{name} on offer withdrawn or changed")
        m.d.sync += Assume(
            ~self.tile.valid | (self.tile.payload.address + self.limit <= 1 << ADDRESS_BITS),
            "buffer ends beyond the address space")

    def _elements(self, m, takes, within, stalls):
        """A request at a time; its elements up to the end."""
        begins, element = Signal(), self.indexes.payload
        m.d.comb += begins.eq(self.tile.valid & self.tile.ready)
        m.d.sync += [
            Assert(~begins | ~self.busy, "request taken before the last is done"),
            Assert(~takes | (self.busy & ~self.ended), "index taken out of a request"),
            Assert(self.indexes.ready | ~self.busy | self.ended | (stalls & self.decided[0]),
                   "index has to wait though nothing stalls"),
        ]
        with m.If(begins):
            m.d.sync += [self.busy.eq(1), self.asked.eq(self.tile.payload),
                         self.size.eq(self.limit), self.legal.eq(0), self.illegal.eq(0),
                         self.unknown.eq(0)]
        with m.If(takes):
            m.d.sync += [self.ended.eq(element.end), self.legal.eq(self.legal | within),
                         self.illegal.eq(self.illegal | ~(within | element.end)),
                         self.unknown.eq(within | (self.unknown & ~element.end))]

    def _protected(self, m):
        """Protection: one word is enabled, and it lies in the buffer.

        Since the buffer does not wrap around, a word before it has an offset (without a sign)
        beyond its size as well.
        """
        bursts, burst = self.bursts, self.bursts.payload
        lane, one = Signal(range(BURST_WORDS)), Signal()
        with m.Switch(burst.mask):
            for number in range(BURST_WORDS):
                with m.Case(1 << number):
                    m.d.comb += [lane.eq(number), one.eq(1)]
        word = Cat(lane, burst.address)
        m.d.sync += [
            Assert(~bursts.valid | self.busy, "burst without a request"),
            Assert(~bursts.valid | one, "burst with more or fewer words than one"),
            Assert(~bursts.valid | (self.offset(word) < self.size),
                   "word enabled outside its buffer"),
            Assert(~bursts.valid | burst.indexed & (burst.write == self.asked.write)
                   & (burst.destination == self.asked.destination)
                   & (burst.transform == self.asked.transform), "burst is not what was asked for"),
            Assert(~bursts.valid | ~burst.last | self.ended, "last burst before the end is known"),
        ]

    def _in_time(self, m, takes, within, stalls):
        """The bound: what decides about a burst is taken two cycles before it is on offer; while a
        burst stalls, all may stand still."""
        bursts, element = self.bursts, self.indexes.payload
        decides = takes & self.unknown & (within | element.end)
        with m.If(~stalls):
            m.d.sync += self.decided.eq(Cat(decides, self.decided[0]))
            m.d.sync += Assert(bursts.valid == self.decided[1],
                               "burst not in the third cycle after it is decided")
        with m.Else():
            m.d.sync += [self.decided.eq(Cat(decides | self.decided[0], 1)),
                         Assert(~decides | ~self.decided[0], "index taken while nothing moves")]

    def _over(self, m, takes):
        """Done: after the last burst, or where it would be if there is none."""
        leaves, element = Signal(), self.indexes.payload
        m.d.comb += leaves.eq(self.bursts.valid & self.bursts.ready)
        m.d.sync += self.closing.eq(Cat(takes & element.end & ~self.legal, self.closing[0]))
        finish = (leaves & self.bursts.payload.last) | self.closing[1]
        ends = Signal()
        m.d.sync += [ends.eq(finish), Assert(self.done == ends, "done out of place")]
        with m.If(finish):
            m.d.sync += [self.busy.eq(0), self.ended.eq(0)]
        m.d.sync += Assert(~self.done | ((self.empty == ~self.legal)
                                         & (self.refused == self.illegal)),
                           "empty or refused is wrong")


class IndexIteratorProof(IndexIteratorCheck):
    """`IndexIteratorCheck`, with invariants about the state of an `IndexIterator`."""

    def __init__(self, target):
        super().__init__(target)
        self._inside = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        inside, asked = self._inside, self.asked
        judging, holding, end = inside.judging, inside.holding, inside.end
        deciding = judging & (end | inside.legal) & holding
        m.d.sync += [
            Assert(self.busy == inside.busy, "invariant: busy"),
            Assert(self.ended == inside.ended, "invariant: ended"),
            Assert(~self.busy | (Value.cast(asked) == Value.cast(inside.wanted)),
                   "invariant: request"),
            Assert(~self.busy | (self.size == inside.size), "invariant: size"),
            Assert(asked.address + self.size <= 1 << ADDRESS_BITS, "invariant: buffer"),
            Assert(~judging | self.busy, "invariant: element of a request"),
            Assert(~holding | (self.busy & self.legal), "invariant: held of a request"),
            Assert(~(judging & inside.legal) | ~end & self.legal
                   & (self.offset(inside.word) < self.size),
                   "invariant: a legal element is in the buffer"),
            Assert(~holding | (self.offset(inside.held_word) < self.size),
                   "invariant: the held index is in the buffer"),
            Assert(self.decided[0] == deciding, "invariant: what is decided"),
            Assert(self.unknown == ((judging & inside.legal) | (holding & ~(judging & end))),
                   "invariant: what is unknown"),
            Assert(~self.busy | (self.unknown == (self.legal & ~self.ended)),
                   "invariant: until the end, the last legal index is unknown"),
            Assert(~judging | (end == self.ended), "invariant: nothing after the end"),
            Assert(~holding | ~self.ended | (judging & end), "invariant: held after the end"),
            Assert(self.closing == Cat(judging & end & ~holding, inside.nothing),
                   "invariant: what closes"),
            Assert(~inside.nothing | self.ended & ~judging & ~holding & ~self.legal,
                   "invariant: a request without bursts"),
            Assert(~self.closing[0] | ~self.legal, "invariant: a request that ends without bursts"),
            Assert(~self.bursts.valid | self.legal, "invariant: a burst has an index"),
            Assert(~(self.bursts.valid & self.bursts.payload.last)
                   | self.ended & ~judging & ~holding, "invariant: nothing after the last burst"),
            Assert(~self.busy | (judging & inside.legal) | (self.empty == ~self.legal),
                   "invariant: empty"),
            Assert(~holding | ~self.empty, "invariant: holding is not empty"),
            Assert(~self.busy | (self.illegal == (self.refused | (judging & ~inside.legal & ~end))),
                   "invariant: refused"),
        ]
        m.d.sync += Cover(self.bursts.valid & self.bursts.payload.last, "a last burst")
        m.d.sync += Cover(self.done & self.empty & self.refused, "no burst, a refused index")
        return m


