"""Bound checker of the post-processing unit: it reads its ports and drives none.

Ref: thesis on AI accelerators, chapters 2.3 and 2.4; the fixed-point scale is this project's.
"""

from amaranth.hdl import Array, Assume, Cat, Const, Mux, Signal, signed

from cyclebound.golden.systolic.post_processing import STAGES
from cyclebound.tb.assumed import owes
from cyclebound.tb.elastic_properties import ElasticCheck

__all__ = ["PostProcessingCheck"]


class PostProcessingCheck(ElasticCheck):
    """Each row of sums makes a row of results, 6 steps later: of any one column, what exact
    arithmetic makes of sum, bias, scale and shortcut, rounded once, halves up, and then limited.

    Assumes that scale and limits do not change while a row is under way.

    Parameters
    ----------
    target : PostProcessing
        The unit, or a component with the same members and parameters.
    ready : bool
        As of `ElasticCheck`.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, ready=False):
        super().__init__(target, source="sums", sink="results", stages=STAGES, ready=ready)
        self.columns, self.own_scales = target.columns, target.own_scales
        self._width, self._scale = target.accumulator_width, target.multiplier_width
        self._column = self.any_one(Signal(range(max(2, self.columns))), "column")

    def elaborate(self, platform):
        m = super().elaborate(platform)
        settings = Cat(self.low, self.high,
                       *(() if self.own_scales else (self.multiplier, self.shift)))
        before = Signal.like(settings)
        m.d.sync += [
            before.eq(settings),
            owes(~self.line.any() | (settings == before), "settings changed under a row"),
            Assume(self.low <= self.high, "limits out of order"),
        ]
        return m

    def _of_column(self, elements):
        """The element of the column that is followed; of none, if a prover chooses one beyond."""
        return Array([*elements, *[Const(0, 1)] * (
            (1 << len(self._column.now)) - self.columns)])[self._column.now]

    def expected(self, m):
        self._column.follow(m, Const(0, len(self._column.now)))
        row = self.sums.payload
        multiplier, shift = ((self._of_column(row.multiplier), self._of_column(row.shift))
                             if self.own_scales else (self.multiplier, self.shift))
        twice = Signal(signed(self._width + self._scale + 3))
        rounded = Signal.like(twice)
        m.d.comb += [
            twice.eq((self._of_column(row["values"]) + self._of_column(row.bias))
                     * multiplier * 2),
            rounded.eq(((twice >> shift) + 1) >> 1),
        ]
        total = rounded + self._of_column(row.shortcut)
        return Const(1), Mux(total < self.low, self.low,
                             Mux(total > self.high, self.high, total))[:len(self.low)]

    def followed(self, m, payload):
        return self._of_column(payload)[:len(self.low)]
