"""How long a unit takes for a thread that meets no other complete one: proofs of its latency.

Threads may have some of their tokens in the buffer for any time. If no two of them become complete
in one cycle, and each is sent on at once, then none that is complete waits for another, and each is
in a stage of its own. Which tokens are in the buffer follows from those that were taken.

Ref: SGMF, sections 2.2 and 5.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.control import Control
from cyclebound.tb.assumed import fixed, owes
from cyclebound.tb.elastic_properties import explain_ready
from cyclebound.tb.watcher import Watcher

__all__ = ["ControlUnitLatency", "TokenBufferLatency"]

_BUFFER = 2  # stages of a token buffer


class _AloneProof(Watcher):
    """A thread that is complete leaves so many cycles later, and none leaves without.

    Assumes that which tokens are needed does not change, that no two threads become complete in one
    cycle, and that results are taken at once.

    Parameters
    ----------
    target : wiring.Component
        The unit itself; not elaborated yet.
    buffer : TokenBuffer
        The token buffer inside it.
    stages : int
        Cycles from the last token to the result.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    line : Signal
        Bit *n*: a thread became complete *n* + 1 cycles ago.
    last : Signal
        One does in this cycle.
    """

    def __init__(self, target, *, buffer, stages):
        super().__init__(target)
        self._buffer, self.bits = buffer, exact_log2(buffer.depth)
        self._reads = [[tags.read_port(domain="comb") for _ in range(buffer.depth)]
                       for tags in buffer.tags]
        self.line, self.last = Signal(stages), Signal()

    def elaborate(self, platform):
        m = Module()
        buffer, operands = self._buffer, self.operands
        needed = Signal(len(operands))
        m.d.comb += needed.eq(self.needs())
        before, began = Signal.like(needed, init=1), Signal()
        m.d.sync += [before.eq(needed), began.eq(1),
                     fixed(~began | (before == needed), "needed changed"),
                     Assume(needed.any(), "no token is needed")]

        # What is in the buffer: by entry, the tokens that were taken since a thread left it.
        completes, whole = Signal(buffer.depth), Signal(buffer.depth)
        for entry in range(buffer.depth):
            self._entry(m, entry, needed, completes[entry], whole[entry])
        m.d.comb += self.last.eq(completes.any())
        m.d.sync += [
            self.line.eq(Cat(self.last, self.line[:-1])),
            owes((completes & (completes - 1)) == 0, "two threads become complete in one cycle"),
            Assert(buffer.complete == whole, "invariant: it is seen in the next cycle"),
            Assert(whole.any() == self.line[0], "invariant: one at a time"),
            Assert((whole & (whole - 1)) == 0, "invariant: and no other"),
            Assert(buffer.fire.valid == self.line[1], "invariant: and fires in the one after that"),
            Cover(self.line.all(), "a thread in each cycle"),
        ]
        for place, result in enumerate(self.sinks()):
            m.d.sync += [
                Assume(result.ready, "the sink is not ready"),
                Assert(result.valid == (self.line[-1] & self.used(place)),
                       "a result is missing, or of no thread"),
            ]
        self.inside(m)
        return m

    def _entry(self, m, entry, needed, completes, whole):
        """The tokens in one entry of each store: all of one thread complete it."""
        buffer, count = self._buffer, len(self.operands)
        have, then = (Signal(count, name=f"{name}_{entry}") for name in ("have", "then"))
        tags = [Signal(len(operand.payload.tid) - self.bits, name=f"tag_{entry}_{k}")
                for k, operand in enumerate(self.operands)]
        soon = []
        for k, (operand, tag) in enumerate(zip(self.operands, tags, strict=True)):
            index, upper = operand.payload.tid[:self.bits], operand.payload.tid[self.bits:]
            enters = operand.valid & needed[k] & ~have[k] & (index == entry)
            soon.append(Mux(enters, upper, tag))
            m.d.comb += [then[k].eq(have[k] | enters), self._reads[k][entry].addr.eq(entry)]
            with m.If(enters):
                m.d.sync += tag.eq(upper)
            m.d.sync += [
                have[k].eq(then[k] & ~whole),
                Assert((index != entry) | (operand.ready == (needed[k] & ~have[k])),
                       f"operand {k}: refused without a reason, or taken without room"),
                Assert(buffer.present[k][entry] == have[k], "invariant: tokens that are there"),
                Assert(~have[k] | (self._reads[k][entry].data == tag), "invariant: whose they are"),
                Assert(~have[k] | needed[k], "invariant: they are needed"),
                Assert(~whole | ~needed[k] | have[k], "invariant: a complete thread has all"),
            ]
        alike = Cat(~(needed[j] & needed[k]) | (soon[j] == soon[k])
                    for k in range(count) for j in range(k))
        m.d.comb += completes.eq(~whole & (then & needed == needed) & alike.all()
                                 & (then != have))
        m.d.sync += whole.eq(completes)
        now = Cat(~(needed[j] & needed[k]) | (tags[j] == tags[k])
                  for k in range(count) for j in range(k))
        m.d.sync += Assert(whole | ~((have & needed == needed) & now.all()),
                           "invariant: a thread with all its tokens is complete")

    def needs(self):
        """Which operands a thread needs."""
        raise NotImplementedError

    def sinks(self):
        """Streams of results."""
        raise NotImplementedError

    def used(self, place):
        """Whether one of them is used."""
        return 1

    def inside(self, m):
        """Invariants of what is behind the buffer."""

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold."""
        explain_ready(m, probes, self.line)
        for counter, in probes.values():
            m.d.sync += [Assert(kept == 0, "invariant: no result waits") for kept in counter.kept]
            if "last" in counter.declared:
                m.d.sync += Assume(counter.declared["last"] == self.last,
                                   "another token is declared the last")


class TokenBufferLatency(_AloneProof):
    """Of a `TokenBuffer`: a firing is offered in the third cycle."""

    def __init__(self, target):
        super().__init__(target, buffer=target, stages=_BUFFER)

    def needs(self):
        return self.needed

    def sinks(self):
        return [self.fire]


class ControlUnitLatency(_AloneProof):
    """Of a `ControlUnit` that is no delay: both results are offered in the third cycle."""

    def __init__(self, target):
        super().__init__(target, buffer=target.buffer, stages=_BUFFER)
        self._fork = target.fork

    def needs(self):
        return self.configuration.operands

    def sinks(self):
        return self.results

    def used(self, place):
        return self.configuration.split if place else 1

    def inside(self, m):
        m.d.sync += [
            Assume(self.configuration.function != Control.DELAY, "a delay"),
            Assert(self._fork.served == 0, "invariant: both consumers take it at once"),
        ]
