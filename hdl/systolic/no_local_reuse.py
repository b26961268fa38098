"""Array without local reuse: every operand of every MAC comes from outside, in every cycle.

Ref: thesis on AI accelerators, chapter 4.2.1 ("No Stationary, also known as no local reuse").
"""

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.parts import check_widths, multiply

__all__ = ["NoLocalReuseArray"]


class NoLocalReuseArray(wiring.Component):
    """Sums plus a vector times a tile of a matrix: ``rows * columns`` MACs in each cycle.

    PEs have no registers for operands, and no sums: a tree adds the products of a column, and the
    sum that came with them, one level in each cycle. What is accepted in cycle *t* is on
    ``results`` in *t* + 2 + ceil(log2(rows)). While a result is on offer and not taken, everything
    stands still; ``operands.ready`` depends on ``results.ready``.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width : int
        As of the other arrays. Sums wrap around.

    Members
    -------
    operands : In(stream.Signature(StructLayout))
        ``left``: an element for each row; ``weights``: for each row, an element for each column;
        ``sums``: for each column, what is added.
    results : Out(stream.Signature(ArrayLayout(signed(accumulator_width), columns)))
        The sums.
    active : Out(rows * columns)
        Which PEs have a new product in this cycle: all, or none.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        check_widths(operand_width, accumulator_width)
        self.rows, self.columns = rows, columns
        self.operand_width, self.accumulator_width = operand_width, accumulator_width
        operand, total = signed(operand_width), signed(accumulator_width)
        sums = data.ArrayLayout(total, columns)
        super().__init__({
            "operands": In(stream.Signature(data.StructLayout({
                "left": data.ArrayLayout(operand, rows),
                "weights": data.ArrayLayout(data.ArrayLayout(operand, columns), rows),
                "sums": sums}))),
            "results": Out(stream.Signature(sums)), "active": Out(rows * columns),
        })

    def elaborate(self, platform):
        m = Module()
        given, levels = self.operands.payload, ceil_log2(self.rows)
        move, taken, valid = Signal(), Signal(), Signal(levels + 1)
        m.d.comb += [
            move.eq(~self.results.valid | self.results.ready),
            self.operands.ready.eq(move),
            taken.eq(self.operands.valid & move),
        ]
        m.d.sync += self.active.eq(Cat(taken for _ in self.active))
        with m.If(move):
            m.d.sync += Cat(valid, self.results.valid).eq(Cat(self.operands.valid, valid))
        for j in range(self.columns):
            level = [multiply(m, move, given.left[i], given.weights[i][j])
                     for i in range(self.rows)]
            carried = given.sums[j]
            for number in range(levels + 1):
                later = Signal(signed(self.accumulator_width), name=f"sum_{j}_{number}")
                with m.If(move):
                    m.d.sync += later.eq(carried)
                carried = later
            for number in range(levels):
                added = []
                for pair in range(0, len(level), 2):
                    whole = sum(level[pair + 1:pair + 2], level[pair])
                    place = Signal(signed(min(len(whole), self.accumulator_width)),
                                   name=f"tree_{j}_{number}_{pair}")
                    with m.If(move):
                        m.d.sync += place.eq(whole)
                    added.append(place)
                level = added
            with m.If(move):
                m.d.sync += self.results.payload[j].eq(carried + level[0])
        return m
