"""Checker of the TDMA gate of SHMAC's tiles, at its ports; and its proof, by induction.

The checker counts the cycles since reset, and those since a request was first on offer.
"""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal

from cyclebound.tb.watcher import Watcher

__all__ = ["GateCheck", "GateProof"]


class GateCheck(Watcher):
    """Requests go in the open cycle and in no other one; what the network asks goes through; of a
    gate that evens, answers come two cycles after their request was first on offer if the tile has
    them by then, and otherwise as it has them.

    Attributes
    ----------
    phase : Signal
        Cycles since reset, modulo the period.
    age : Signal
        For how many cycles the request that was taken last was on offer, while its answer may be
        new; 0: no longer.
    before : Signal
        For how many cycles the request on offer has been so, up to 2.
    """

    def __init__(self, target):
        super().__init__(target)
        self.period, self.opens, self.evens = target.period, target.opens, target.evens
        self.phase = Signal(range(self.period))
        self.age, self.before = Signal(2), Signal(2)

    def elaborate(self, platform):
        m = Module()
        self._watch(m)
        return m

    def _watch(self, m):
        phase, age, before = self.phase, self.age, self.before
        opened, early, seen = Signal(), Signal(), Signal(2)
        m.d.comb += [opened.eq(phase == self.opens), seen.eq(Mux(before == 2, 3, before + 1))]
        m.d.sync += [
            phase.eq(Mux(phase == self.period - 1, 0, phase + 1)),
            before.eq(Mux(self.accesses.valid & ~self.served.ready, Mux(seen == 3, 2, seen), 0)),
            age.eq(Mux(self.accesses.valid & self.served.ready, seen, 0)),
        ]
        if self.evens:
            m.d.comb += early.eq(age == 1)
        for here, there, blocked, says in (
                (self.requests, self.admitted, ~opened, "a request"),
                (self.accesses, self.served, 0, "what the network asks"),
                (self.answers, self.returned, early, "an answer")):
            m.d.sync += [
                Assert(there.valid == (here.valid & ~blocked), f"{says} goes in the wrong cycle"),
                Assert(here.ready == (there.ready & ~blocked), f"{says} is lost, or goes twice"),
                Assert(~there.valid | (there.payload.as_value() == here.payload.as_value()),
                       f"{says} is changed"),
            ]
        m.d.sync += Cover(self.requests.valid & self.requests.ready, "a request goes")
        if self.evens:
            m.d.sync += Cover(self.answers.valid & early, "an answer is held back")


class GateProof(GateCheck):
    """`GateCheck` for induction: where the gate keeps what the checker counts."""

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = Module()
        self._watch(m)
        target, phase = self._target, self.phase
        m.d.sync += [
            Assert(target.until == Mux(phase <= self.opens, self.opens - phase,
                                       self.opens + self.period - phase), "the count"),
            Assert(phase < self.period, "the phase"),
        ]
        if self.evens:
            m.d.sync += [Assert(target.holds == (self.age == 1), "held back"),
                         Assert(target.waited == (self.before != 0), "waited")]
        return m
