"""Bound checker of the thread source: it reads its ports and drives none.

Ref: SGMF, section 2.1.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["ThreadSourceCheck"]


class ThreadSourceCheck(Watcher):
    """Threads start in order, from 0 on, each once, none of them before a start.

    Assumes that the configuration does not change while there are threads to start, and asks for
    1 to ``2 ** tid_width`` of them.

    Parameters
    ----------
    target : ThreadSource
        The source, or a component with the same members.
    threads : int or None
        Assume that many threads and a sink that is always ready, as the claim does: for proofs.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    running : Signal
        There are threads to start.
    next : Signal
        The first of them.
    """

    def __init__(self, target, *, threads=None):
        super().__init__(target)
        self._threads = threads
        self.running, self.next = Signal(), Signal(len(self.tokens.payload.tid) + 1)

    def elaborate(self, platform):
        m = Module()
        configuration, tokens = self.configuration, self.tokens
        settings, most = Value.cast(configuration), 1 << len(tokens.payload.tid)
        before = Signal.like(settings, init=self._threads or 1)  # the lowest field
        number = Signal.like(tokens.payload.data)
        m.d.comb += number.eq(Mux(configuration.number, configuration.value + self.next,
                                  configuration.value))
        with m.If(self.start & ~self.running):
            m.d.sync += [self.running.eq(1), self.next.eq(0)]
        with m.Elif(self.running & tokens.ready):
            m.d.sync += [self.next.eq(self.next + 1),
                         self.running.eq(self.next + 1 != configuration.threads)]
        m.d.sync += [
            before.eq(settings),
            owes(~self.running | (settings == before), "configuration changed under way"),
            Assume(~(self.start | self.running)
                   | ((configuration.threads != 0) & (configuration.threads <= most)),
                   "no threads, or more than there are"),
            Assert(self.busy == self.running, "busy without threads to start, or idle with some"),
            Assert(tokens.valid == self.running, "a token of no thread, or none of one"),
            Assert(~tokens.valid | (tokens.payload.tid == self.next), "not the next thread"),
            Assert(~tokens.valid | (tokens.payload.data == number),
                   "not the thread's number, or not the constant"),
            Cover(self.running & tokens.ready & (self.next + 1 == configuration.threads),
                  "the last thread starts"),
        ]
        if self._threads is not None:
            m.d.sync += [Assume(configuration.threads == self._threads, "other threads"),
                         Assume(tokens.ready, "the sink is not ready")]
        else:  # after reset, so that it does not count beyond
            m.d.sync += Assert(~self.running | (self.next < configuration.threads), "too many")
        return m

    def explain(self, m, probes):
        """Assert in ``m`` what the probe of ``threads`` counts."""
        counter, = probes["threads"]
        m.d.sync += [
            Assert(counter.busy == self.running, "invariant: a start is under way"),
            Assert(counter.more == 0, "invariant: it has one beginning"),
            Assert(counter.ended == Mux(self.running, self.next, 0), "invariant: threads started"),
            Assert(~self.running | ((counter.before == self.next + 1)
                                    & (counter.needs == self._threads)), "invariant: its age"),
            Assert(~self.running | (self.next < self._threads), "invariant: a thread is left"),
        ]
