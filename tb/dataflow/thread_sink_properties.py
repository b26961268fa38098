"""Bound checkers of the thread sink: they read its ports and drive none.

`ThreadSinkCheck` watches simulations; `ThreadSinkProof` looks inside `ThreadSink` as well, and is
for induction.

Ref: SGMF, sections 2 and 4.6.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal, Value

from cyclebound.tb.assumed import fixed
from cyclebound.tb.watcher import Watcher

__all__ = ["ThreadSinkCheck", "ThreadSinkProof"]


class ThreadSinkCheck(Watcher):
    """It takes every token, and is done while each operand that is needed has had as many tokens
    as there are threads, neither fewer nor more.

    Assumes that the configuration does not change.

    Parameters
    ----------
    target : ThreadSink
        The sink, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    had : list of Signal
        By operand, if it is needed: tokens that have come.
    last : Signal
        The last token that was to come comes in this cycle.
    """

    _init = 0  # of what is kept of the configuration

    def __init__(self, target):
        super().__init__(target)
        self.had = [Signal(target.tid_width + 1, name=f"had_{k}")
                    for k in range(len(self.operands))]
        self.last = Signal()

    def elaborate(self, platform):
        m = Module()
        threads, needed = self.configuration.threads, self.configuration.needed
        began, settings = Signal(), Value.cast(self.configuration)
        before = Signal.like(settings, init=self._init)
        whole, soon = [], []
        for k, (operand, had) in enumerate(zip(self.operands, self.had, strict=True)):
            comes = operand.valid & needed[k]
            m.d.sync += [
                had.eq(had + comes),
                Assert(operand.ready, f"operand {k}: a token is refused"),
            ]
            whole.append(~needed[k] | (had == threads))
            soon.append(~needed[k] | (had + comes == threads))
        all_here = Cat(whole).all()
        m.d.comb += self.last.eq(Cat(soon).all() & ~all_here)
        m.d.sync += [
            began.eq(1), before.eq(settings),
            fixed(~began | (settings == before), "configuration changed"),
            Assert(self.done == all_here, "done before the last token, or not after it"),
            Cover(self.done & needed.all(), "all operands have had their tokens"),
        ]
        return m


class ThreadSinkProof(ThreadSinkCheck):
    """The check, and what holds inside a `ThreadSink`, of which an operand at least is needed.

    Parameters
    ----------
    target : ThreadSink
        The sink itself.
    threads : int
        How many there are, as the claim says.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, threads):
        super().__init__(target)
        self._counts, self._threads = target.ended, threads
        self._init = 1 | threads << len(self.operands)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += [
            Assume(self.configuration.threads == self._threads, "other threads"),
            Assume(self.configuration.needed.any(), "nothing to wait for"),
        ]
        for k, (count, had) in enumerate(zip(self._counts, self.had, strict=True)):
            m.d.sync += Assert(~self.configuration.needed[k] | (count == had),
                               "invariant: its count")
        return m

    def explain(self, m, probes):
        """Assert in ``m`` what the probe of ``done`` counts: the cycle after the last token."""
        counter, = probes["done"]
        known, = counter.kept
        over = Signal(name="over_before")
        m.d.sync += [
            over.eq(self.done),
            Assume(counter.declared["last"] == self.last, "another token is declared the last"),
            Assert(known == over, "invariant: what the probe knows"),
            Assert(counter.busy == (self.done & ~over), "invariant: it ends in the next cycle"),
            Assert(~counter.busy | (counter.before == 1), "invariant: its age"),
            Assert((counter.ended == 0) & (counter.more == 0), "invariant: single events"),
        ]
