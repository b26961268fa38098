"""Bound checker of the CAM array, which follows one lane of any; and what proves it.

`SnoopCamCheck` knows the ports: it watches simulations. `SnoopCamProof` adds invariants about the
inside of `SnoopCam`, for induction.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal
from amaranth.lib import data

from cyclebound.golden.dram.request import BEAT_WORDS, WORD_BITS
from cyclebound.tb.watcher import Watcher

__all__ = ["SnoopCamCheck", "SnoopCamProof"]


class SnoopCamCheck(Watcher):
    """Follows one lane: what it is loaded with, what it captures, and what is answered for it.

    A prover chooses which lane, so that a proof is one for every lane; in a simulation it is that
    of ``read``'s payload in the first cycle after reset, whether it reads or not. Before the lane
    is loaded, its content is unknown.

    Assumes that there is at most one operation in a cycle.

    Parameters
    ----------
    target : SnoopCam
        The array, or a component with the same members and ``latency``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    lane : Signal
        The lane that is followed.
    loaded, index, armed, word, hit : Signal
        Whether it has been loaded; its content.
    due : list of Signal
        What is expected of the answers in 0, 1, ... cycles, the last to come first in the list.
    """

    def __init__(self, target):
        super().__init__(target)
        self.lanes, self.latency = target.lanes, target.latency
        self._choice = self.any_one(self.read.payload, "lane")
        self.chosen, self.lane = self._choice.chosen, self._choice.kept
        self.current = self._choice.now  # the same, in the first cycle as well
        self.loaded, self.armed, self.hit = Signal(), Signal(), Signal()
        self.index, self.word = Signal.like(self.load.payload.index), Signal(WORD_BITS)
        due = data.StructLayout({"asked": 1, "fetched": 1, "enable": BEAT_WORDS, "lane": 1,
                                 "match": BEAT_WORDS, "word": WORD_BITS, "hit": 1})
        self.due = [Signal(due, name=f"due_{n}") for n in range(self.latency)]

    def elaborate(self, platform):
        m = Module()
        load, snoop, fetch, read = self.load, self.snoop, self.fetch, self.read
        self._choice.follow(m, read.payload)
        m.d.sync += Assume(load.valid + snoop.valid + fetch.valid + read.valid <= 1,
                           "more than one operation in a cycle")

        def matches(lookup):
            return Cat(lookup.enable[word] & self.armed & self.loaded
                       & ((lookup.index + word)[:len(self.index)] == self.index)
                       for word in range(BEAT_WORDS))
        for word in range(BEAT_WORDS):
            with m.If(snoop.valid & matches(snoop.payload)[word]):
                m.d.sync += [self.word.eq(snoop.payload.words[word]), self.hit.eq(1)]
        with m.If(self.clear):
            m.d.sync += self.armed.eq(0)
        with m.If(load.valid & (load.payload.lane == self.current) & (self.current < self.lanes)):
            m.d.sync += [self.loaded.eq(1), self.armed.eq(load.payload.armed), self.hit.eq(0),
                         self.index.eq(load.payload.index), self.word.eq(load.payload.data)]

        first = self.due[0]
        m.d.sync += [
            first.asked.eq(read.valid), first.fetched.eq(fetch.valid),
            first.enable.eq(fetch.payload.enable), first.word.eq(self.word), first.hit.eq(self.hit),
            first.lane.eq(read.valid & self.loaded & (read.payload == self.current)),
            first.match.eq(Mux(fetch.valid, matches(fetch.payload), 0)),
        ]
        m.d.sync += [later.eq(sooner) for sooner, later in
                     zip(self.due[:-1], self.due[1:], strict=True)]

        due, store, answer = self.due[-1], self.store, self.answer
        words = Cat(store.words[word] == due.word for word in range(BEAT_WORDS))
        m.d.sync += [
            Assert(answer.valid == due.asked, "answer does not follow read"),
            Assert(due.fetched | (store.enable == 0), "store without a fetch"),
            Assert((store.enable & ~due.enable) == 0, "a word is stored that was not asked for"),
            Assert((due.match & ~store.enable) == 0, "a lane matches, and its word is not stored"),
            Assert((self.lane != 0) | ((due.match & ~words) == 0),
                   "lane 0 matches, and another word is stored"),
            Assert(~due.lane | (answer.payload.data == due.word), "a lane answers another word"),
            Assert(~due.lane | (answer.payload.hit == due.hit), "a lane's hit is wrong"),
        ]
        return m


class SnoopCamProof(SnoopCamCheck):
    """`SnoopCamCheck`, with the invariant that the lane followed is the one inside.

    Of the lanes that match, the lowest one's word is stored. Which ports do not show, but for lane
    0: here it is what the lanes before the followed one have inside.

    Parameters
    ----------
    target : SnoopCam
        The array itself, with a latency of 2.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, lane = self._target, self.current
        index, armed, content, hit, take, word, chosen = (
            Array(register)[lane] for register in (
                target.index, target.armed, target.data, target.hit, target.take, target.word,
                target.chosen))
        passing = Array(target.words[n] for n in range(BEAT_WORDS))[word]
        taken = target.taking & take
        first = self.due[0]
        m.d.sync += [
            Assert(self.chosen | ~self.loaded, "invariant: nothing is loaded at first"),
            Assert(~self.loaded | (lane < self.lanes), "invariant: lane is one"),
            Assert(~self.loaded | (self.index == index), "invariant: index"),
            Assert(~self.loaded | (self.armed == armed), "invariant: armed"),
            Assert(~self.loaded | (self.word == Mux(taken, passing, content)), "invariant: word"),
            Assert(~self.loaded | (self.hit == Mux(taken, target.passed, hit)), "invariant: hit"),
            Assert(target.asked == Cat(due.asked for due in self.due), "invariant: asked"),
            Assert(target.fetched == Cat(due.fetched for due in self.due), "invariant: fetched"),
            Assert(~(target.taking & (first.asked | first.fetched)), "invariant: one at a time"),
            Assert(~(first.asked & first.fetched), "invariant: one question"),
            Assert(~first.lane | (first.asked & self.loaded), "invariant: lane"),
            Assert((first.match == 0) | (first.fetched & self.loaded), "invariant: match"),
            Assert(~(first.lane | first.match.any()) | ((first.word == content)
                                                        & (first.hit == hit)),
                   "invariant: the word asked for is in its lane"),
            Assert(~first.lane | (chosen == 1), "invariant: a lane is chosen"),
            Assert((first.match & ~chosen) == 0, "invariant: a match is chosen"),
        ]
        for number, selected in enumerate(target.chosen):
            m.d.sync += Assert(~first.fetched | ((selected & ~first.enable) == 0),
                               "invariant: only what was asked for is chosen")
            m.d.sync += Assert(~first.lane | (lane == number) | (selected == 0),
                               "invariant: no other lane is chosen")
        self._lowest(m)
        m.d.sync += Cover(self.due[-1].lane & self.due[-1].hit, "a captured word is answered")
        m.d.sync += Cover(self.due[-1].match.any(), "a match is stored")
        return m

    def _lowest(self, m):
        """The followed lane's word is stored where it matches, and no lane before it does."""
        target, lookup, lane = self._target, self.fetch, self.current
        lower = Signal(BEAT_WORDS)  # words that a lane before it has
        m.d.comb += lower.eq(Cat(Cat(
            armed & (lane > number) & lookup.payload.enable[word]
            & ((lookup.payload.index + word)[:len(index)] == index)
            for number, (index, armed) in enumerate(zip(target.index, target.armed, strict=True))
            ).any() for word in range(BEAT_WORDS)))
        lowers = [Signal(BEAT_WORDS, name=f"lower_{stage}") for stage in range(self.latency)]
        m.d.sync += [later.eq(sooner) for sooner, later in zip([lower, *lowers], lowers,
                                                               strict=False)]
        first, due = self.due[0], self.due[-1]
        for number, selected in enumerate(target.chosen):
            m.d.sync += Assert(~first.fetched | (lane <= number) | ((selected & ~lowers[0]) == 0),
                               "invariant: a lane before it is chosen if it matches")
        other = Cat(word != due.word for word in self.store.words)
        m.d.sync += [
            Assert((due.match & ~lowers[-1] & other) == 0,
                   "the lowest lane matches, and another word is stored"),
            Cover((due.match & ~lowers[-1]).any() & (self.lane != 0), "a lane is the lowest"),
        ]
