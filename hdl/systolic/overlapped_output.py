"""Output-stationary array whose folds overlap: neither wavefront nor drain delays the next one.

Ref: thesis on AI accelerators, chapter 5.2 (Figures 5.3 to 5.5); a second chain of registers
that drains while the next fold is executed is how mature generators of such arrays do it.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.output_stationary import OutputStationaryPE
from cyclebound.hdl.systolic.parts import LeftLayout, check_widths, delay, delay_lines

__all__ = ["OverlappedOutputArray"]


class OverlappedOutputArray(wiring.Component):
    """C = A B of at most ``rows`` x ``columns``, fold after fold, an operand in each cycle.

    What is accepted in cycle *t* is executed by PE (*i*, *j*) in cycle *t* + 1 + *i* + *j*, and
    the next fold follows in the cycle after the last operands of this one. A complete sum is
    copied into a chain that leads down its column, with two registers for each PE, so that it moves
    as fast as the wavefront does and rows leave one in each cycle. Row 0 of C lies in the last row
    of PEs: it leaves first.

    The last operands of a fold are accepted ``rows`` cycles after those of the fold before, or
    later: folds follow each other after as many cycles as they have operands, or the array
    rows, whichever is more. Row *i* of C is on ``results`` ``rows + columns + 2 + i`` cycles after
    the last operands were accepted.

    A row that is refused waits in registers of its own. From the next cycle on the array freezes as
    a whole, until and including the cycle in which that row is taken. Missing operands freeze
    nothing.

    ``left.ready`` and ``top.ready`` depend on the other stream's ``valid`` and on
    ``left.payload.last``; nothing depends on ``results.ready`` in the same cycle.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width : int
        As of `OutputStationaryArray`.

    Members
    -------
    left, top, results, active
        As of `OutputStationaryArray`.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        check_widths(operand_width, accumulator_width)
        self.rows, self.columns = rows, columns
        self.operand_width, self.accumulator_width = operand_width, accumulator_width
        super().__init__({
            "left": In(stream.Signature(LeftLayout(rows, operand_width))),
            "top": In(stream.Signature(data.ArrayLayout(signed(operand_width), columns))),
            "results": Out(stream.Signature(data.ArrayLayout(signed(accumulator_width), columns))),
            "active": Out(rows * columns),
        })

    @cached_property
    def pes(self):  # made late: an array that is only asked for its ports has none
        return [[OutputStationaryPE(operand_width=self.operand_width,
                                    accumulator_width=self.accumulator_width)
                 for _ in range(self.columns)] for _ in range(self.rows)]

    def elaborate(self, platform):
        m = Module()
        for i, row in enumerate(self.pes):
            for j, pe in enumerate(row):
                m.submodules[f"pe_{i}_{j}"] = pe
        # What enables registers all over the array is a register itself: no row waits.
        step = Signal(init=1)
        ends = self._move(m, step, *self._accept(m, step))
        self._emit(m, step, ends)
        return m

    def _accept(self, m, step):
        """Whether operands enter, and whether they are the first or the last of a fold."""
        may, accept, in_fold = Signal(), Signal(), Signal()
        to_wait = Signal(range(self.rows + 1))  # steps until a fold may end
        last = self.left.payload.last
        m.d.comb += [
            may.eq(step & (~last | (to_wait == 0))),
            accept.eq(self.left.valid & self.top.valid & may),
            self.left.ready.eq(self.top.valid & may),
            self.top.ready.eq(self.left.valid & may),
        ]
        with m.If(accept):
            m.d.sync += in_fold.eq(~last)
        with m.If(accept & last):
            m.d.sync += to_wait.eq(self.rows - 1)
        with m.Elif(step & (to_wait != 0)):
            m.d.sync += to_wait.eq(to_wait - 1)
        self._in_fold, self._to_wait = in_fold, to_wait  # the state; a proof has to speak of it
        return accept, accept & ~in_fold, accept & last

    def _move(self, m, step, accept, begins, closes):
        """The PEs, and the wavefront: bit d speaks of operands in the PEs with i + j = d, bit d + 1
        of their products, and bit d + 2 of their sums. Returns the ends of folds in it."""
        diagonals = self.rows + self.columns - 1
        valid, first = Signal(diagonals + 1), Signal(diagonals + 1)
        ends = Signal(self.rows + self.columns + 1)
        with m.If(step):
            m.d.sync += [valid.eq(Cat(accept, valid)), first.eq(Cat(begins, first)),
                         ends.eq(Cat(closes, ends))]

        values = [self.left.payload["values"][self.rows - 1 - i] for i in range(self.rows)]
        lefts = delay(m, step, values,
                      delay_lines("skew_left", range(self.rows), self.operand_width))
        tops = delay(m, step, self.top.payload,
                     delay_lines("skew_top", range(self.columns), self.operand_width))
        self._valid, self._ends = valid, ends
        executes = Signal(diagonals)
        m.d.comb += executes.eq(Mux(step, valid[:diagonals], 0))
        for i, row in enumerate(self.pes):
            m.d.comb += self.active[i * self.columns:(i + 1) * self.columns].eq(
                executes[i:i + self.columns])
            for j, pe in enumerate(row):
                link = 0
                if i:  # the second register of the chain
                    link = Signal(signed(self.accumulator_width), name=f"link_{i}_{j}")
                    with m.If(step):
                        m.d.sync += link.eq(self.pes[i - 1][j].drain)
                m.d.comb += [
                    pe.load.eq(step),
                    pe.execute.eq(step),
                    pe.left.eq(row[j - 1].right if j else lefts[i]),
                    pe.top.eq(self.pes[i - 1][j].bottom if i else tops[j]),
                    pe.accumulate.eq(step & valid[i + j + 1]),
                    pe.first.eq(first[i + j + 1]),
                    pe.capture.eq(ends[i + j + 2]),
                    pe.shift.eq(step),
                    pe.below.eq(link),
                ]
        return ends

    def _emit(self, m, step, ends):
        """Columns side by side again; of each fold, as many rows as the array has."""
        self._step, self._rows_left = step, Signal(range(self.rows + 1))
        rows_left = self._rows_left
        skew = delay_lines("skew_sums", range(self.columns - 1, -1, -1), self.accumulator_width)
        sums = delay(m, step, [pe.drain for pe in self.pes[-1]], skew)
        m.d.comb += self.results.valid.eq(~step | (rows_left != 0))
        m.d.sync += step.eq(~self.results.valid | self.results.ready)
        for j, (value, total) in enumerate(zip(self.results.payload, sums, strict=True)):
            waiting = Signal(signed(self.accumulator_width), name=f"waiting_{j}")
            m.d.comb += value.eq(Mux(step, total, waiting))
            with m.If(step):
                m.d.sync += waiting.eq(total)
        with m.If(step & ends[-1]):
            m.d.sync += rows_left.eq(self.rows)
        with m.Elif(step & (rows_left != 0)):
            m.d.sync += rows_left.eq(rows_left - 1)
