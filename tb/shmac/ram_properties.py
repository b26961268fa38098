"""Checker of the RAM of SHMAC's tiles: what is answered, and when an SC succeeds.

`RamCheck` follows one word and one master, whichever that is, at ports alone. `RamProof` knows the
reservations, too, for induction.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal
from amaranth.utils import exact_log2

from cyclebound.tb.watcher import Watcher

__all__ = ["RamCheck", "RamProof"]


class RamCheck(Watcher):
    """A response comes in the cycle after each request that has one, and stays; an SC succeeds if
    and only if its master has an LL of that word behind it, with nothing written to it since, and
    no other LL or SC of the master.

    Attributes
    ----------
    which, who : Rigid
        The word that is followed, and the master, by its number.
    linked : Signal
        The master has reserved the word, before this cycle.
    owes : Signal
        A response is on offer.
    conditional, expected, others : Signal
        It is one to an SC; to one of the master and the word, which succeeds or not; to another
        master's of that word, and new.
    """

    def __init__(self, target):
        super().__init__(target)
        self.masters, self.words, self.raises = target.masters, target.words, target.raises
        self.which = self.any_one(Signal(exact_log2(self.words)), "which")
        self.who = self.any_one(Signal(range(max(2, len(self.masters)))), "who")
        self.linked, self.owes, self.conditional = Signal(), Signal(), Signal()
        self.own, self.expected, self.others = Signal(), Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        self._watch(m)
        return m

    def _watch(self, m):
        """What holds in any traffic; the signals that a proof needs as well."""
        accesses, answers, packet = self.accesses, self.answers, self.accesses.payload
        place = packet.address[2:2 + exact_log2(self.words)]
        takes, sync, posted, error = Signal(), Signal(), Signal(), Signal()
        mine = [(packet.initiator.row == row) & (packet.initiator.column == column)
                for row, column in self.masters]
        number = Signal(range(max(2, len(self.masters))))
        for index, is_it in enumerate(mine):
            with m.If(is_it):
                m.d.comb += number.eq(index)
        known = Cat(mine).any() if mine else 0
        out_of_range = packet.address[2 + exact_log2(self.words):].any() | packet.address[:2].any()
        m.d.comb += [
            takes.eq(accesses.valid & accesses.ready), sync.eq(packet.sync),
            posted.eq(packet.write & ~sync),
            error.eq(Mux(posted & packet.interrupt, not self.raises,
                         (sync & ~known) | out_of_range)),
        ]
        self.which.follow(m, place)
        self.who.follow(m, number)
        here, own, does = Signal(), Signal(), Signal()
        now = self.linked_now = Signal()
        m.d.comb += [
            here.eq(place == self.which.now), own.eq(known & (number == self.who.now)),
            does.eq(takes & ~error & ~(posted & packet.interrupt)),
            # another one's SC has ended the reservation in the cycle before, if it succeeded
            now.eq(self.linked & ~(self.others & answers.payload.data[0])),
        ]
        m.d.sync += [self.linked.eq(now), self.others.eq(0)]
        with m.If(does & sync & own):
            m.d.sync += self.linked.eq(here & ~packet.write)
        with m.Elif(does & posted & here):
            m.d.sync += self.linked.eq(0)
        with m.If(does & sync & packet.write & ~own & here):
            m.d.sync += self.others.eq(1)
        with m.If(takes):
            m.d.sync += [
                self.owes.eq(~posted | error), self.conditional.eq(sync & packet.write & ~error),
                self.own.eq(own & here & sync & packet.write & ~error), self.expected.eq(now),
            ]
        with m.Elif(answers.ready):
            m.d.sync += self.owes.eq(0)
        failed, initiator = Signal(), Signal.like(packet.initiator.as_value())
        with m.If(takes):
            m.d.sync += [failed.eq(error), initiator.eq(packet.initiator)]
        offer = answers.payload
        m.d.sync += [
            Assert(answers.valid == self.owes, "a response is missing, or there is one too many"),
            Assert(~answers.valid | (offer.error == failed), "an error"),
            Assert(~answers.valid | (offer.initiator.as_value() == initiator), "whose response"),
            Assert(~(answers.valid & self.conditional) | (offer.data[1:] == 0),
                   "an SC's response is 0 or 1"),
            Assert(~(answers.valid & self.own) | (offer.data[0] == self.expected),
                   "an SC succeeds without its reservation, or fails with it"),
            Assert(~(takes & answers.valid) | answers.ready, "a response is lost"),
        ]
        if self.masters:
            m.d.sync += [
                Cover(answers.valid & self.own & self.expected, "an SC succeeds"),
                Cover(self.others & self.linked & offer.data[0], "another one is first"),
            ]
        else:
            m.d.sync += Cover(answers.valid & ~offer.error, "a read")
        self.failed, self.initiator = failed, initiator


class RamProof(RamCheck):
    """`RamCheck` for induction: where the RAM keeps what the checker has seen."""

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = Module()
        self._watch(m)
        target, answers = self._target, self.answers
        holds = Signal()
        for index, (valid, word) in enumerate(zip(target.valid, target.reserved, strict=True)):
            with m.If(self.who.now == index):
                m.d.comb += holds.eq(valid & (word == self.which.now))
        m.d.sync += [
            Assert(self.linked_now == holds, "the reservation"),
            Assert(~self.linked | self.which.chosen, "linked after the choice"),
            Assert(~self.owes | (target.conditional == self.conditional) | self.failed,
                   "the kind of the response"),
            Assert(~self.others | answers.valid, "another one's response"),
            Assert(~(self.own | self.others) | self.conditional, "they are of SC"),
            Assert(~self.conditional | ~self.failed, "none of them failed"),
        ]
        return m
