"""Properties of a pipeline of fixed latency: one result per operation, ``stages`` cycles later.

The blocks that are such a pipeline have ``valid`` and ``done``, and an attribute ``stages``. What
the probe of single results counts follows from which stages are taken.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal

from cyclebound.tb.watcher import Watcher

__all__ = ["PipelineProof", "explain_pipeline"]


class PipelineProof(Watcher):
    """A result comes ``stages`` cycles after its operation, and none without one.

    Parameters
    ----------
    target : wiring.Component
        The pipeline.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    line : Signal
        Bit *n*: an operation came in *n* + 1 cycles ago.
    """

    def __init__(self, target):
        super().__init__(target)
        self.line = Signal(target.stages)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [
            self.line.eq(Cat(self.valid, self.line[:-1])),
            Assert(self.done == self.line[-1], "a result at the wrong time"),
            Cover(self.line.all() & self.done, "the pipeline is full"),
        ]
        return m

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold."""
        for counters in probes.values():
            for counter in counters:
                explain_pipeline(m, counter, self.line)


def explain_pipeline(m, counter, stages):
    """Assert in ``m`` in which stage of a pipeline the request is that a probe follows.

    Parameters
    ----------
    counter : FollowedCounter
        Of requests that end in the last stage.
    stages : Value
        Bit *n*: there is a request that began *n* + 1 cycles ago.
    """
    m.d.sync += Assert(counter.level == sum(stages),
                       "invariant: as many are under way as stages are taken")
    here = []
    for number, taken in enumerate(stages):
        here.append(counter.busy & (counter.before == number + 1))
        m.d.sync += Assert(~here[-1] | (taken & (counter.ahead == sum(stages[number + 1:]))),
                           f"invariant: the request in stage {number + 1}")
    m.d.sync += Assert(~counter.busy | Cat(here).any(), "invariant: the request is in a stage")
