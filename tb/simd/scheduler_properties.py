"""Bound checker of a work-group scheduler, and the invariants that prove it.

`SchedulerCheck` knows only the ports; `SchedulerProof` adds what induction needs to know about the
inside of `WorkGroupScheduler`.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["SchedulerCheck", "SchedulerProof"]

_COUNT_BITS = 3  # differences of counts are at most 2
_UNCONSTRAINED, _ACCESS = 0, 2  # policies


class SchedulerCheck(Watcher):
    """Counts work-groups and follows accesses by itself: reads every port, drives none.

    It assumes what the rest of the machine owes: one work-group at a time ends or commits an
    access, one that has a slot and no access under way; an access is over once, and only if it was
    allowed to begin.

    Parameters
    ----------
    target : WorkGroupScheduler
        The scheduler, or anything with its ports.

    Members
    -------
    start, stop, events, launch, begin, waits, left, idle : In
        The target's ports.
    """

    def __init__(self, target):
        super().__init__(target)
        self.policy = Signal(3)
        self.taken, self.accessing, self.scratchpad, self.final = (
            Signal(2, name=name) for name in ("taken", "accessing", "scratchpad", "final"))
        self.launched, self.finished = (Signal(_COUNT_BITS, name=name)
                                        for name in ("launched", "finished"))
        self.stopping = Signal()
        self.allowed = Signal(2)  # accesses that were allowed to begin

    def elaborate(self, platform):
        m = Module()
        events = self.events
        committed, over, ended, final, of_scratchpad = (
            Cat(event[name] for event in events)
            for name in ("committed", "over", "ended", "final", "scratchpad"))
        computing = self.taken & ~self.accessing
        for slot in range(2):
            m.d.sync += [
                owes(~(committed[slot] | ended[slot]) | (computing[slot] & ~self.stopping),
                       "a work-group commits or ends that does not compute"),
                owes(~over[slot] | (self.accessing[slot] & self.allowed[slot]),
                       "an access is over that did not begin"),
                Assume(~(committed[slot] & final[slot] & of_scratchpad[slot]),
                       "a last store is one to DRAM"),
            ]
        m.d.sync += [
            Assume((committed[0] + committed[1] + ended[0] + ended[1]) <= 1,
                   "two work-groups compute at once"),
            Assume(~self.start.valid | ((self.start.payload.grid.x != 0)
                                        & (self.start.payload.grid.y != 0)),
                   "a grid without items"),
        ]

        # What is true in this cycle.
        taken, accessing, scratchpad, stopped, finals = (
            Signal(width, name=f"{name}_now") for name, width in (
                ("taken", 2), ("accessing", 2), ("scratchpad", 2), ("stopped", 1), ("finals", 2)))
        finished, launched = Signal(_COUNT_BITS), Signal(_COUNT_BITS)
        m.d.comb += [
            stopped.eq(self.stop | self.stopping),
            accessing.eq((self.accessing & ~over) | committed),
            scratchpad.eq((self.scratchpad & ~over) | (committed & of_scratchpad)),
            finals.eq((self.final & ~over) | (committed & final)),
            taken.eq(self.taken & ~ended & ~(over & self.final)
                     & (accessing | ~stopped.replicate(2))),
            finished.eq(self.finished + sum(
                event.ended | (event.committed & event.final) for event in events)),
            launched.eq(self.launched + self.launch.valid),
        ]
        slot = self.launch.payload.slot
        m.d.sync += [
            self.taken.eq(taken | (self.launch.valid << slot)), self.accessing.eq(accessing),
            self.scratchpad.eq(scratchpad), self.final.eq(finals),
            self.finished.eq(finished), self.launched.eq(launched),
            self.stopping.eq(stopped & ~self.idle), self.allowed.eq(self.begin),
        ]
        with m.If(stopped):
            m.d.sync += [self.launched.eq(0), self.finished.eq(0)]
        with m.Elif(self.start.valid & self.idle):
            m.d.sync += [self.policy.eq(self.start.payload.policy), self.launched.eq(0),
                         self.finished.eq(0)]

        earlier = Signal(_COUNT_BITS)  # of the work-groups before the pair, not finished
        m.d.comb += earlier.eq(self.launched - self.launched[0] - finished)
        m.d.sync += [
            Assert(~self.launch.valid | ~taken.bit_select(slot, 1),
                   "a work-group is launched into a slot that is taken"),
            Assert(~self.launch.valid | ~slot | taken[0],
                   "a work-group is launched into slot 1 while slot 0 is free"),
            Assert(~(self.launch.valid & stopped), "a work-group is launched after a stop"),
            Assert(~self.launch.valid | (self.policy == _UNCONSTRAINED)
                   | (earlier == 0) | earlier[-1],
                   "a work-group is launched before the pair before it has finished"),
            Assert((self.begin & ~accessing) == 0, "an access begins that was not committed"),
            Assert((self.waits ^ self.begin) == accessing, "an access neither begins nor waits"),
            Assert((self.policy == _ACCESS) | (self.waits == 0),
                   "an access waits though the policy does not ask for it"),
            Assert((self.policy != _ACCESS) | ~self.begin.all() | (scratchpad == 0),
                   "two accesses at once under the policy access, one of them of a scratchpad"),
            Assert(~self.waits.all(), "two accesses wait for each other"),
            Assert(self.idle == ~(self.left | taken.any()), "idle is not the end"),
        ]
        return m


class SchedulerProof(SchedulerCheck):
    """`SchedulerCheck`, with invariants about the state of a `WorkGroupScheduler`."""

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target = self._target
        unfinished = Signal(_COUNT_BITS)
        m.d.comb += unfinished.eq(self.launched - self.finished)
        for says, holds in (
                ("slots", target.active == self.taken),
                ("accesses", target.accessing == self.accessing),
                ("kinds", (target.scratchpad & self.accessing) == self.scratchpad),
                ("last stores", (target.final & self.accessing) == self.final),
                ("no last store without an access", (target.final & ~self.accessing) == 0),
                ("policy", target.kernel.policy == self.policy),
                ("parity", target.stopped | ~target.more | (target.odd == self.launched[0])),
                ("work-groups", (unfinished == target.unfinished) & (target.unfinished <= 2)),
                ("slots without an end", target.stopped | (self.taken == 0) | (
                    target.unfinished == sum(self.taken[slot] & ~self.final[slot]
                                             for slot in range(2)))),
                ("stop", target.stopped == self.stopping),
                ("accesses have slots", (self.accessing & ~self.taken) == 0),
                ("waiting for an access", ((target.waiting & ~self.accessing) == 0)
                 & (~target.waiting.any() | self.accessing.all()) & ~target.waiting.all()
                 & ((target.waiting == 0) | (self.policy == _ACCESS)))):
            m.d.sync += Assert(holds, f"invariant: {says}")
        both = self.accessing.all() & (self.policy == _ACCESS)
        m.d.sync += Assert(~both | (self.scratchpad == 0) | target.waiting.any(),
                           "invariant: one of two waits")
        m.d.sync += Assert(self.allowed == (self.accessing & ~target.waiting),
                           "invariant: what may begin")
        m.d.sync += Cover(self.launch.valid & (self.policy == _ACCESS)
                          & self.launched[1], "a second pair")
        m.d.sync += Cover(self.waits.any(), "an access waits")
        return m
