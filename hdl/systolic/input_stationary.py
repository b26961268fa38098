"""Input-stationary systolic array: the weight-stationary one with the operands' roles exchanged.

Ref: thesis on AI accelerators, chapter 5.2 (Figure 5.7).
"""

from amaranth.hdl import Module, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from cyclebound.hdl.systolic.parts import LeftLayout
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray

__all__ = ["InputStationaryArray"]


class InputStationaryArray(wiring.Component):
    """Columns of B past a tile of A^T that stays in the array: columns of C.

    Nothing but the names of the ports is different from `WeightStationaryArray`, since
    C^T = B^T A^T; timing, parameters and freezing are documented there.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width, double_buffer
        As of `WeightStationaryArray`.

    Members
    -------
    inputs : In(stream.Signature(ArrayLayout(signed(operand_width), columns)))
        Rows of A^T: element *j* of row *i* is A[j, i].
    left : In(stream.Signature(LeftLayout(rows, operand_width)))
        Columns of B, without skew; ``last`` is the last column for this tile.
    results : Out(stream.Signature(ArrayLayout(signed(accumulator_width), columns)))
        Columns of sums.
    active : Out(rows * columns)
        Bit ``i * columns + j``: PE (*i*, *j*) executes a MAC in this cycle.

    Attributes
    ----------
    array : WeightStationaryArray
        The array.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32,
                 double_buffer=True):
        self.array = WeightStationaryArray(
            rows=rows, columns=columns, operand_width=operand_width,
            accumulator_width=accumulator_width, double_buffer=double_buffer)
        for name in ("rows", "columns", "operand_width", "accumulator_width", "double_buffer"):
            setattr(self, name, getattr(self.array, name))
        operands = data.ArrayLayout(signed(operand_width), columns)
        super().__init__({
            "inputs": In(stream.Signature(operands)),
            "left": In(stream.Signature(LeftLayout(rows, operand_width))),
            "results": Out(stream.Signature(data.ArrayLayout(signed(accumulator_width), columns))),
            "active": Out(rows * columns),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = self.array
        connect(m, flipped(self.inputs), array.weights)
        connect(m, flipped(self.left), array.left)
        connect(m, array.results, flipped(self.results))
        m.d.comb += self.active.eq(array.active)
        return m
