"""Properties of a pipeline between two streams that stands still while a result waits.

The blocks that are such a pipeline take an item whenever nothing waits at its end, and have the
result ``stages`` steps later, in order.
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Signal, Value

from cyclebound.tb.pipeline_properties import explain_pipeline
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["ElasticCheck", "delayed_while", "explain_ready"]


def delayed_while(m, value, steps, move, name):
    """``value`` of that many steps ago, where a cycle with ``move`` is a step."""
    return _each_while(m, value, steps, move, name)[-1]


def _each_while(m, value, steps, move, name):
    """``value`` now, of one step ago, and so on."""
    each = [value]
    for number in range(steps):
        later = Signal.like(value, name=f"{name}_{number + 1}", reset_less=True)
        with m.If(move):
            m.d.sync += later.eq(each[-1])
        each.append(later)
    return each


class ElasticCheck(Watcher):
    """Every item (or those of which it is known) makes one result, ``stages`` steps later; none is
    lost, doubled or overtaken.

    A step is a cycle in which no result waits, and in each of them an item may be taken.

    Parameters
    ----------
    target : wiring.Component
        The pipeline.
    source, sink : str or stream
        Names of its streams. For induction, the source may be a stream inside the target.
    stages : int
        Steps from an item to its result.
    ready : bool
        Assume a sink that is always ready, as claims about cycles do: for proofs.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    line : Signal
        Bit *n*: an item was taken *n* + 1 steps ago.
    move : Signal
        This cycle is a step.
    steps : list of Signal
        What is expected of the items that were taken one step ago, two steps ago, and so on.
    """

    def __init__(self, target, *, source, sink, stages, ready=False):
        super().__init__(target)
        self._source = getattr(self, source) if isinstance(source, str) else source
        self._sink = getattr(self, sink)
        self.stages, self._ready = stages, ready
        self.line, self.move = Signal(stages), Signal()

    def elaborate(self, platform):
        m = Module()
        source, sink = self._source, self._sink
        comes = source.valid & source.ready & self.makes(m)
        m.d.comb += self.move.eq(~sink.valid | sink.ready)
        with m.If(self.move):
            m.d.sync += self.line.eq(Cat(comes, self.line[:-1]))
        claim_kept(m, "result", sink, Assert)
        m.d.sync += [
            Assert(source.ready == self.move,
                   "an item is refused without a reason, or taken while a result waits"),
            Assert(sink.valid == self.line[-1], "a result is missing, or of no item"),
            Cover(self.line.all() & sink.valid, "the pipeline is full"),
        ]
        if self._ready:
            m.d.sync += Assume(sink.ready, "the sink is not ready")
        cared, expected = self.expected(m)
        cared = delayed_while(m, cared, self.stages, self.move, "cared")
        self.steps = _each_while(m, expected, self.stages, self.move, "expected")[1:]
        expected = self.steps[-1]
        m.d.sync += Assert(~(sink.valid & cared) | (self.followed(m, sink.payload) == expected),
                           "not the result of its item")
        return m

    def makes(self, m):
        """Whether the item on offer makes a result; called once."""
        return Const(1)

    def followed(self, m, payload):
        """What is looked at of a result."""
        return Value.cast(payload)

    def expected(self, m):
        """Of the item on offer: whether its result is known here, and what it is."""
        raise NotImplementedError

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold, while the sink is ready."""
        explain_ready(m, probes, self.line)


def explain_ready(m, probes, line):
    """Assert in ``m`` what the counters of probes of single items hold."""
    for counters in probes.values():
        for counter in counters:
            explain_pipeline(m, counter, line)
