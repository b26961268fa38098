"""Bound checker of the array without local reuse: it reads its ports and drives none.

Ref: thesis on AI accelerators, chapter 4.2.1.
"""

from amaranth.hdl import Array, Assert, Const, Signal, Value, signed

from cyclebound.tb.elastic_properties import ElasticCheck

__all__ = ["NoLocalReuseCheck"]


class NoLocalReuseCheck(ElasticCheck):
    """Each vector makes a row of sums, ``2 + ceil(log2(rows))`` steps later: what came with it plus
    the products of its column, of any one column.

    Parameters
    ----------
    target : NoLocalReuseArray
        The array, or a component with the same members and parameters.
    ready : bool
        As of `ElasticCheck`.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, ready=False):
        super().__init__(target, source="operands", sink="results",
                         stages=(target.rows - 1).bit_length() + 2, ready=ready)
        self.rows, self.columns = target.rows, target.columns
        self._width = target.accumulator_width
        self._column = self.any_one(Signal(range(max(2, self.columns))), "column")

    def elaborate(self, platform):
        m = super().elaborate(platform)
        operands, before = self.operands, Signal()
        m.d.sync += [
            before.eq(operands.valid & operands.ready),
            Assert(self.active == before.replicate(len(self.active)),
                   "PEs are active without operands, or idle with them"),
        ]
        return m

    def _of_column(self, elements):
        """The element of the column that is followed; of none, if a prover chooses one beyond."""
        return Array([*elements, *[Const(0, signed(self._width))] * (
            (1 << len(self._column.now)) - self.columns)])[self._column.now]

    def expected(self, m):
        given = self.operands.payload
        self._column.follow(m, Const(0, len(self._column.now)))
        total = Signal(signed(self._width))
        m.d.comb += total.eq(sum(
            (given.left[i] * self._of_column(list(given.weights[i])) for i in range(self.rows)),
            self._of_column(list(given.sums))))
        return Const(1), total

    def followed(self, m, payload):
        return Value.cast(self._of_column(list(payload)))
