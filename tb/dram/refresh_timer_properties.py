"""Bound checker of a refresh timer, and the invariants that prove it.

`RefreshTimerCheck` knows only the ports; `RefreshTimerProof` adds what induction needs to know
about the inside of `RefreshTimer`.
"""

from amaranth.hdl import Assert, Assume, Const, Cover, Module, Mux, Signal

from cyclebound.tb.watcher import Watcher

__all__ = ["REACH", "RefreshInTimeProof", "RefreshTimerCheck", "RefreshTimerProof",
           "reaches_late"]

REACH = 64
"""Cycles that a bounded check is carried to, so that `Cover` shows the longest gap."""


def reaches_late(interval, most):
    """Cycles until a refresh is late: all that may be are postponed, and one more falls due."""
    return (most + 2) * interval + 2


class RefreshTimerCheck(Watcher):
    """Counts intervals and refreshes by itself: reads every port of its target, drives none.

    Parameters
    ----------
    target : wiring.Component
        The timer, with its attributes ``interval`` and ``most``.

    Members
    -------
    done, request, owed, urgent, late : In
        The target's ports.
    """

    def __init__(self, target):
        super().__init__(target)
        self.interval, self.most = target.interval, target.most
        self.longest = (self.most + 1) * self.interval - 1
        self.phase = Signal(range(self.interval))  # this cycle, in its interval
        # Both wrap around: only their difference counts, which is `most` at the most.
        self.fallen, self.served = (Signal.like(self.owed, name=name)
                                    for name in ("fallen", "served"))
        self.over, self.missed = Signal(), Signal()  # a refresh is late; one has been
        self.since = Signal(range(self.longest + 2))  # cycles from the last refresh to this

    def elaborate(self, platform):
        m = Module()

        falls, counts, over, balance = Signal(), Signal(), self.over, Signal.like(self.owed)
        m.d.comb += [
            falls.eq(self.phase == self.interval - 1),  # one falls due in the next cycle
            counts.eq(self.done & (self.fallen != self.served)),
            balance.eq(self.fallen - self.served),
            over.eq(falls & ~counts & (balance == self.most)),
        ]
        m.d.sync += self.phase.eq(Mux(falls, 0, self.phase + 1))
        with m.If(falls & ~over):
            m.d.sync += self.fallen.eq(self.fallen + 1)
        with m.If(counts):
            m.d.sync += self.served.eq(self.served + 1)
        with m.If(over):
            m.d.sync += self.missed.eq(1)
        with m.If(counts):
            m.d.sync += self.since.eq(1)
        with m.Elif(self.since <= self.longest):
            m.d.sync += self.since.eq(self.since + 1)

        m.d.sync += Assert(self.owed == balance, "owed is not what fell due less what was done")
        m.d.sync += Assert(self.owed <= self.most, "more are owed than may be")
        m.d.sync += Assert(self.request == (self.owed != 0), "request is not owed")
        m.d.sync += Assert(self.urgent == (self.owed == self.most), "urgent is not the most owed")
        m.d.sync += Assert(self.late == self.missed, "late is not a refresh that was missed")
        m.d.sync += Assert(self.late | (self.since <= self.longest),
                           f"no refresh within {self.longest} cycles, and not late")

        return m


class RefreshTimerProof(RefreshTimerCheck):
    """`RefreshTimerCheck`, with invariants about the state of a `RefreshTimer`.

    While a request waits for a refresh, more fall due: in every ``interval`` cycles another
    is owed, so that as long as none was missed ``since`` is at most ``owed * interval`` and the
    cycles of this interval.

    Parameters
    ----------
    target : RefreshTimer
        The timer, with its state ``left``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._left = target.left

    def elaborate(self, platform):
        m = super().elaborate(platform)
        waited = Signal(range(self.longest + 2))
        steps = [Mux(self.owed[bit], Const(self.interval << bit), 0)
                 for bit in range(len(self.owed))]
        m.d.comb += waited.eq(sum(steps, self.phase))
        m.d.sync += Assert(self._left + self.phase == self.interval - 1,
                           "invariant: the timer's place in the interval")
        m.d.sync += Assert(self.late | (self.since <= waited),
                           "invariant: refreshes fell due while none was done")
        self._covers(m)
        return m

    def _covers(self, m):
        if reaches_late(self.interval, self.most) <= REACH:  # within reach of a bounded check
            m.d.sync += Cover(self.since == self.longest, "the longest gap is reached")
            m.d.sync += Cover(self.late, "one is late")


class RefreshInTimeProof(RefreshTimerProof):
    """`RefreshTimerProof` where no refresh is ever late, and what the probes count there.

    Parameters
    ----------
    target : RefreshTimer
        The timer, with its state ``left``.
    """

    def __init__(self, target):
        super().__init__(target)
        self.again = Signal()  # one has been done
        self.begun = Signal()  # an interval has ended

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.done & self.request):
            m.d.sync += self.again.eq(1)
        with m.If(self.phase == self.interval - 1):
            m.d.sync += self.begun.eq(1)
        m.d.sync += Assume(~self.over, "a refresh falls due while the most are owed, and none is "
                                       "done")
        m.d.sync += Assert(~self.missed, "invariant: none is late")
        m.d.sync += Assert(self.again | (self.served == 0), "invariant: none was done")
        return m

    def _covers(self, m):
        m.d.sync += Cover(self.done & self.request & self.again, "a second one is done")

    def explain(self, m, probes):
        """Say in ``m`` what the probes count: cycles since the last refresh, or none at all."""
        request, = probes["request"]
        gap, = probes["gap"]
        deadline, = probes["deadline"]
        left, *_ = request.kept
        place, due = deadline.kept
        # one refresh a whole interval apart from the next: those that have fallen due since
        since = Signal.like(self.owed)
        m.d.comb += since.eq(self.owed - deadline.ahead - 1)
        m.d.sync += [
            Assert(place == self.phase, "invariant: the deadline's place in the interval"),
            Assert(due == ((self.phase == 0) & self.begun),
                   "invariant: the deadline's probe knows when one falls due"),
            Assert(deadline.level + due == self.owed,
                   "invariant: as many are under way as are owed"),
            Assert(~deadline.busy | (deadline.ahead < deadline.level),
                   "invariant: the refresh that is followed is one of them"),
            Assert(~deadline.busy | (deadline.before == sum(
                [Mux(bit, Const(self.interval << number), 0) for number, bit in enumerate(since)],
                self.phase)), "invariant: the probe counts from where it fell due"),
        ]
        _, done, again = gap.kept
        m.d.sync += [
            Assert(left == self.phase, "invariant: the probe's place in the interval"),
            Assert(~request.busy, "invariant: a refresh is asked for when it falls due"),
            Assert((done == self.again) & (again == self.again),
                   "invariant: the probe knows whether one was done"),
            Assert(gap.busy == (self.again & (self.since > 1)), "invariant: the probe follows it"),
            Assert(~gap.busy | (gap.before + 1 == self.since),
                   "invariant: the probe counts from the last refresh on"),
        ]
