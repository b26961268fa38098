"""Beats through the accelerator's memory in a DRAM: each is the word that DRAM has, or gets it.

Ref: golden/systolic/dram_memory.py, "A transfer is cut".
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Signal
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, BURST_WORDS, WORD_BITS
from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.watcher import Watcher, claim_kept, delayed

__all__ = ["DramMemoryProof"]


class DramMemoryProof(Watcher):
    """Of all words of the buffer, one is followed.

    Tiles are asked for one after the other, from the transfer's first word to its last; each lies
    in a tile of the buffer. A load has ``count`` beats, each with the word that DRAM has delivered
    for its place; a store takes ``count``, and DRAM gets the word of the beat of its place. A
    transfer is over, and another one is taken, when its beats have moved and its tiles are
    complete. After a refusal no beat is taken, and no tile asked for that is not on offer.

    Assumes of the accelerator that offers stay and that transfers lie in the buffer; of the
    controller, in the words of `DramClient`, that requests are completed in order, that words come
    and go of the oldest alone, before its completion, each in the lane of its place, and of a read
    every word.

    Parameters
    ----------
    target : DramMemory
        What is proved.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._words, self._slots = target.words, target.slots
        self._tile = target.bursts * BURST_WORDS
        self._place_bits = target.memory_width + ceil_log2(target.words)
        self._followed = self.any_one(Signal(self._place_bits), "word")

    def elaborate(self, platform):
        m = Module()
        self._followed.follow(m, self.requests.payload.address)
        word = self._followed.now
        under_way, store, first, count = self._transfer(m)
        beat, moved = self._number("beat"), self._number("moved")  # of the next, in the buffer
        moves = (self.read.valid & self.read.ready) | (self.write.valid & self.write.ready)
        with m.If(self.requests.valid & self.requests.ready):
            m.d.sync += [beat.eq(self.requests.payload.address), moved.eq(0)]
        with m.Elif(moves):
            m.d.sync += [beat.eq(beat + 1), moved.eq(moved + 1)]
        outstanding, known, value = self._tiles(m, store, first, count)
        here = beat == word // self._words
        lane = word % self._words
        offered = self.write.payload.word_select(lane, WORD_BITS)
        stored, has = Signal(WORD_BITS), Signal()
        with m.If(self.requests.valid & self.requests.ready):
            m.d.sync += has.eq(0)
        with m.Elif(self.write.valid & here & store & under_way & (moved != count)):
            m.d.sync += [stored.eq(offered), has.eq(1)]
        asked, asked_at = self._fetched(m, word)
        over, request = under_way & (moved == count), self.dram.request
        beats = self._tile // self._words
        m.d.sync += [
            Assert(~(self.requests.ready & under_way) | ((moved == count) & (outstanding == 0)),
                   "a transfer ends before its beats have moved"),
            Assert(~moves | (under_way & (moved != count)), "a beat of no transfer"),
            Assert(~(self.read.valid & self.read.ready) | ~store, "a store has a beat to read"),
            Assert(~self.write.ready | store, "a load takes a beat"),
            Assert(~(self.read.valid & here & under_way & ~store)
                   | (known & (self.read.payload.word_select(lane, WORD_BITS) == value)),
                   "a load has another word than DRAM delivered"),
            Assert(~asked | has, "DRAM asks for a word that the accelerator has not offered"),
            Assert(~delayed(m, asked, 2)
                   | (Array(self.dram.store.words)[asked_at] == delayed(m, stored, 2)),
                   "DRAM gets another word than the beat of its place"),
            Assert((self.fault == 0) | ~request.valid
                   | delayed(m, request.valid & ~request.ready, 1),
                   "a tile is offered after a refusal"),
            Assert((self.fault == 0) | ~self.write.ready, "a beat is taken after a refusal"),
            Cover(over & ~store & (first % beats + count > beats), "a load from two tiles"),
            Cover(over & store & (first % beats + count > beats), "a store to two tiles"),
            Cover(self.fault != 0, "a refusal"),
        ]
        claim_kept(m, "read", self.read, Assert)
        claim_kept(m, "requests", self.requests, stays)
        claim_kept(m, "write", self.write, stays)
        claim_kept(m, "tile", request, Assert)
        return m

    def _number(self, name):
        """Of words or beats, as many as the buffer has."""
        return Signal(self._place_bits + 1, name=name)

    def _transfer(self, m):
        """Returns whether one is under way, its direction, first beat and beats."""
        wanted, under_way, store = self.requests.payload, Signal(), Signal()
        first, count = self._number("first"), self._number("count")
        taken = self.requests.valid & self.requests.ready
        with m.If(taken):
            m.d.sync += [under_way.eq(1), store.eq(wanted.write), first.eq(wanted.address),
                         count.eq(wanted.count)]
        with m.Elif(self.idle):
            m.d.sync += under_way.eq(0)
        m.d.sync += [
            Assume(~self.requests.valid | (wanted.count != 0), "a transfer without a beat"),
            Assume(~self.requests.valid | (wanted.address + wanted.count
                                           <= 1 << len(wanted.address)),
                   "a transfer leaves the buffer"),
        ]
        return under_way, store, first, count

    def _tiles(self, m, store, first, count):
        """The controller and its requests. Returns how many are under way, whether the followed
        word has come in this transfer, and the word."""
        request, completion = self.dram.request, self.dram.completion
        asked, word = request.payload, self._followed.now
        takes, left, place = (request.valid & request.ready, self._number("left"),
                              self._number("place"))
        begins, most = self.requests.valid & self.requests.ready, 2 * self._slots
        bases, sizes, places = (
            Array(self._number(f"{name}_{n}") for n in range(self._slots))
            for name in ("base", "words_of", "place_of"))
        newest, oldest, outstanding = (Signal(range(self._slots), name="newest"),
                                       Signal(range(self._slots), name="oldest"),
                                       Signal(range(most + 1), name="outstanding"))
        with m.If(begins):
            wanted = self.requests.payload
            m.d.sync += [left.eq(wanted.count * self._words),
                         place.eq(wanted.address * self._words)]
        with m.Elif(takes):
            m.d.sync += [left.eq(left - asked.words), place.eq(place + asked.words),
                         bases[newest].eq(asked.base), sizes[newest].eq(asked.words),
                         places[newest].eq(asked.x), newest.eq(newest + 1)]
        m.d.sync += outstanding.eq(outstanding + takes - completion.valid)
        with m.If(completion.valid):
            m.d.sync += oldest.eq(oldest + 1)
        base, size, at = bases[oldest], sizes[oldest], places[oldest]
        of_oldest = (word >= at) & (word < at + size)
        target = self._number("target")
        m.d.comb += target.eq(base + (word - at))
        known, value, comes = Signal(), Signal(WORD_BITS), Signal()
        deliver, fetch = self.dram.deliver, self.dram.fetch
        lanes = [(lane, deliver.valid & deliver.payload.enable[lane] & of_oldest
                  & (deliver.payload.targets[lane] == target)) for lane in range(BEAT_WORDS)]
        for lane, ours in lanes:
            with m.If(ours):
                m.d.comb += comes.eq(1)
                m.d.sync += value.eq(deliver.payload.words[lane])
        with m.If(begins):
            m.d.sync += known.eq(0)
        with m.Elif(comes):
            m.d.sync += known.eq(1)
        for moves, direction, what in ((deliver, ~store, "come"), (fetch, store, "are asked for")):
            m.d.sync += owes(~moves.valid | ((outstanding != 0) & direction),
                             f"words {what} of no request")
            for lane in range(BEAT_WORDS):
                to = moves.payload.targets[lane]
                m.d.sync += owes(
                    ~(moves.valid & moves.payload.enable[lane])
                    | ((to >= base) & (to < base + size) & (to[:ceil_log2(BEAT_WORDS)] == lane)),
                    f"words {what} that the oldest request has not, or in another lane")
        m.d.sync += [
            owes(~completion.valid | (outstanding != 0), "a completion of no request"),
            owes(~completion.valid | (completion.payload != 0) | ~of_oldest | store | known | comes,
                 "a read is complete without a word of it"),
            Assert(~takes | (asked.x == place), "a tile begins elsewhere than the last has ended"),
            Assert(~takes | ((asked.words != 0) & (asked.words <= left)),
                   "a tile has more words than are left"),
            Assert(~takes | (asked.x % self._tile + asked.words <= self._tile),
                   "a tile reaches over the end of one of the buffer"),
            Assert(~takes | ((asked.count == 1) & (asked.y == 0) & (asked.buffer == 0)
                             & ~asked.indexed & (asked.write == store)), "it is no tile"),
            Assert(~takes | (outstanding != self._slots), "more tiles than slots"),
        ]
        self._oldest = base, size, at, of_oldest, target
        return outstanding, known, value

    def _fetched(self, m, word):
        """Whether DRAM asks for the followed word in this cycle, and the lane, two cycles later."""
        _, _, _, of_oldest, target = self._oldest
        fetch, lane = self.dram.fetch, target[:ceil_log2(BEAT_WORDS)]
        asked = Signal()
        m.d.comb += asked.eq(fetch.valid & of_oldest & Array(
            fetch.payload.enable[n] & (fetch.payload.targets[n] == target)
            for n in range(BEAT_WORDS))[lane])
        return asked, delayed(m, lane, 2)
