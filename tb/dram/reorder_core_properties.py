"""Bound checker of a reorder core, and the invariants that prove it.

`ReorderCheck` knows only the ports: it follows the requests of one tag. Which one, and when it
sends them, a prover chooses, so a proof is one for every request.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["ReorderCheck", "ReorderProof"]


class ReorderCheck(Watcher):
    """A request is overtaken by no more than the bound's others; it leaves once, as it came.

    Which tag, the traffic decides in a simulation: that on ``sink`` in the first cycle after reset,
    whether it is on offer or not. In a proof it is any.

    Assumes that an offer stays until it is taken, and that of the tag that is followed there is
    one request at a time.

    Parameters
    ----------
    target : ReorderCore
        The core, or a component with the same members and parameters.

    Attributes
    ----------
    tag : Signal
        The tag that is followed.
    pending, inside : Signal
        The request followed was taken in the cycle before; it has been in the queue for longer.
    passed : Signal
        Requests that were chosen while it could have been, and were seen to leave.
    new : Signal
        The request on offer appears in this cycle.
    idle : Signal
        It was in the queue for two cycles in which nothing was on offer.
    """

    def __init__(self, target):
        super().__init__(target)
        self.cap, self.entries = target.cap, target.entries
        self.most = target.cap + target.entries - 2 if target.cap else None
        self.pending, self.inside, self.new = Signal(), Signal(), Signal()
        self.passed = Signal(range(target.cap + 2 * target.entries))
        self.idle = Signal()
        self._choice = self.any_one(target.sink.payload.tag, "tag")
        self.tag = self._choice.now
        self.marked, self.leaves = Signal(), Signal()
        self.kept = Signal(len(target.sink.payload.as_value()))
        self._free = Signal(init=1)

    def elaborate(self, platform):
        m = Module()
        sink, source = self.sink, self.source
        taken, kept = Signal(), self.kept
        waited, held, rests = Signal(), Signal(), Signal()
        offer, shown = Signal.like(kept), Signal.like(kept)
        self._choice.follow(m, sink.payload.tag)
        m.d.comb += [
            self.marked.eq(sink.payload.tag == self.tag),
            taken.eq(sink.valid & sink.ready & self.marked),
            self.new.eq(source.valid & self._free),
            self.leaves.eq(self.new & (source.payload.tag == self.tag)),
        ]
        m.d.sync += [
            waited.eq(sink.valid & ~sink.ready), offer.eq(sink.payload),
            held.eq(source.valid & ~source.ready), shown.eq(source.payload),
            self._free.eq(~source.valid | source.ready),
            rests.eq(self.inside & ~source.valid),
            self.idle.eq(rests & self.inside & ~source.valid),
            owes(~waited | (sink.valid & (offer == sink.payload.as_value())),
                   "offer withdrawn or changed"),
            owes(~(sink.valid & self.marked & (self.pending | self.inside)),
                   "a second request of the tag that is followed"),
            Assert(~held | (source.valid & (shown == source.payload.as_value())),
                   "choice withdrawn or changed"),
        ]
        with m.If(taken):
            m.d.sync += kept.eq(sink.payload)
        m.d.sync += [self.pending.eq(taken),
                     self.inside.eq(self.pending | (self.inside & ~self.leaves))]
        with m.If(self.pending):
            m.d.sync += self.passed.eq(0)
        with m.Elif(self.inside & self.new & ~self.leaves):
            m.d.sync += self.passed.eq(self.passed + 1)
        overtaken = self.inside & self.new & ~self.leaves
        m.d.sync += [
            Assert(~self.leaves | self.inside, "a request leaves that did not come"),
            Assert(~self.leaves | (source.payload.as_value() == kept),
                   "a request leaves in another form"),
            Assert(~self.idle | ~self.inside | source.valid, "idle while a request waits"),
        ]
        if self.most is not None:
            m.d.sync += Assert(~(overtaken & (self.passed == self.most)),
                               f"a request is overtaken more than {self.most} times")
        return m


class ReorderProof(ReorderCheck):
    """`ReorderCheck`, with invariants about the queue of a `ReorderCore` that has a cap.

    Ages fall from the oldest to the youngest, and the last one has not been overtaken. Below
    the cap, an age is what the checker has counted; at the cap, those that stand before are all
    that is still to come.

    Parameters
    ----------
    target : ReorderCore
        The core itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target
        self.fresh = Signal()  # the request followed is inside, and was not in the cycle before

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, n = self._target, self.entries
        m.d.sync += self.fresh.eq(self.pending)
        valid, ages = target.valid, target.ages

        def claim(fact, says):
            m.d.sync += Assert(fact, f"invariant: {says}")

        claim((~valid[:-1] & valid[1:]) == 0, "no gaps in the queue")
        claim(target.fresh == self.new, "fresh is new")
        claim(~valid[-1] | (ages[-1] == 0), "the last has not been overtaken")
        claim(Cat(~valid[place + 1] | (ages[place] >= ages[place + 1])
                  for place in range(n - 1)).all(), "the older, the more overtaken")
        claim(~(self.pending & self.inside), "inside once")
        pick = target.pick
        claim(~target.picked | (pick.any() & ((pick & (pick - 1)) == 0) & ((pick & ~valid) == 0)),
              "one is picked of those that wait")
        claim(~(target.picked & (ages[0] == self.cap)) | pick[0], "at the cap, it is the oldest")
        claim(~(target.picked & target.fresh), "none is picked before the banks know")
        there = Signal(n)
        m.d.comb += there.eq(Cat(valid[place] & (target.queue[place].request.tag == self.tag)
                                 for place in range(n)))
        claim(there.any() == (self.pending | (self.inside & ~self.leaves)), "in the queue")
        claim((there & (there - 1)) == 0, "in the queue once")
        total = Signal(range(self.cap + 2 * n + 1))
        m.d.comb += total.eq(self.passed + (self.inside & self.new))
        for place, age in enumerate(ages):
            counted = ~there[place] | self.pending
            claim(~valid[place] | (age <= self.cap), "ages stop at the cap")
            claim(counted | (age == self.cap) | (age == total), "ages are counted")
            claim(counted | (age != self.cap)
                  | ((total >= self.cap) & (total + place <= self.cap + n - 2)),
                  "those before it are all that is to come")
            claim(~(there[place] & self.pending) | (age == 0), "a new request has no age")
            claim(~there[place] | (target.queue[place].request.as_value() == self.kept),
                  "the request as it came")
        m.d.sync += Cover(self.leaves & (self.passed != 0), "a request is overtaken, and leaves")
        return m

    def explain(self, m, probes):
        """Assert in ``m`` what the probe's counter holds: requests that leave while this one stays.

        It may follow any request: let it be the one whose tag is followed here.
        """
        counter, = probes["residence"]
        tag, tag_before, came, came_before, stalled, stalled_too = counter.kept
        m.d.sync += [
            owes(~counter.waiting | (counter.name == self.tag), "another request is followed"),
            Assert((stalled == ~self._free) & (stalled_too == ~self._free),
                   "invariant: the probe knows what is new"),
            Assert(self.pending == (came & (tag == self.tag)),
                   "invariant: the probe knows what came"),
            Assert(self.fresh == (came_before & (tag_before == self.tag)),
                   "invariant: the probe knows what is inside now"),
            Assert(~counter.busy | (self.inside & ~self.fresh & (counter.name == self.tag)),
                   "invariant: the probe follows what is inside"),
            Assert(~counter.busy | (counter.before == self.passed),
                   "invariant: the probe counts what has passed"),
            Assert(~self.fresh | (self.inside & (self.passed == 0)),
                   "invariant: none has passed what is new inside"),
            Assert(~self.inside | (self.passed <= self.most), "invariant: overtaken by no more"),
        ]
