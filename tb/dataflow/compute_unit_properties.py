"""What a compute unit makes of the firings of its token buffer, for induction.

That the buffer fires each thread with its own tokens, once, is proved of the token buffer
(`cyclebound.tb.dataflow.token_buffer_properties`); here is the rest of the way.

Ref: SGMF, section 5.2.
"""

from amaranth.hdl import Assert, Const, Signal, Value

from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.tb.assumed import fixed
from cyclebound.tb.elastic_properties import ElasticCheck

__all__ = ["ComputeUnitFirings"]


class ComputeUnitFirings(ElasticCheck):
    """Each firing of the token buffer makes one result of its thread, ``PIPELINE_STAGES`` steps
    later; none is lost, doubled or overtaken, whatever the operation and the sink are.

    Assumes that the configuration does not change.

    Parameters
    ----------
    target : ComputeUnit
        The unit itself, not elaborated yet.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target, source=target.buffer.fire, sink="result", stages=PIPELINE_STAGES)
        self._target = target

    def followed(self, m, payload):
        return payload.tid

    def expected(self, m):
        return Const(1), self._source.payload.tid

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, settings = self._target, Value.cast(self.configuration)
        before, began = Signal.like(settings), Signal()
        m.d.sync += [before.eq(settings), began.eq(1),
                     fixed(~began | (before == settings), "configuration changed")]
        m.d.sync += Assert(target.fma.valid == self.line, "invariant: which stages are taken")
        for taken, tid, step in zip(self.line, target.tids, self.steps, strict=True):
            m.d.sync += Assert(~taken | (tid == step), "invariant: whose they are")
        return m
