"""Output-stationary array for bfloat16, with sums in single precision.

Ref: thesis on AI accelerators, chapter 5.2 (Figures 5.3 to 5.5, Table 5.1). That the pipeline
of an adder can hold as many independent sums as it has stages is an old idea (C-slow circuits:
Leiserson and Saxe, 1991).
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.systolic.float_layout import OPERAND_WIDTH, SUM_WIDTH
from cyclebound.hdl.float_fma import FMA_STAGES as STAGES
from cyclebound.hdl.float_fma import FloatFma
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.parts import delay, delay_lines

__all__ = ["FloatOutputStationaryArray"]

_MINUS_ZERO = 1 << OPERAND_WIDTH - 1


class FloatOutputStationaryArray(wiring.Component):
    """C = A B of at most ``rows`` x ``columns``, for `STAGES` products at once.

    A sum in floating point takes `STAGES` cycles, and the next one needs it. So that a PE is busy
    in each of them, `STAGES` folds take turns, and the pipeline of the PE's multiply-add is where
    their sums stay: what leaves it is what it needs. Operands come in turns, too: the first ones of
    all folds, then the second ones of all, and so on; ``last`` belongs to the last of each.

    Operands that are accepted in cycle *t* are multiplied by PE (*i*, *j*) in *t* + 1 + *i* + *j*.
    A fold that misses its turn waits for the next, `STAGES` cycles later, and so do the others
    after it; its sum goes round unchanged.

    When the last fold's last operands were accepted in cycle *t*, the sums of all folds are in
    registers ``STAGES + rows + columns`` cycles later, and leave: on ``results`` are first row 0 of
    each fold, then row 1 of each, and so on. The last operands of the next folds are accepted
    when the last of these has been taken.

    ``left.ready`` and ``top.ready`` depend on the other stream's ``valid``, and on
    ``left.payload.last``; no ``valid`` depends on a ``ready``.

    Parameters
    ----------
    rows, columns : int
        Shape of the array, at least 1 each.

    Members
    -------
    left : In(stream.Signature(StructLayout))
        ``values``: a column of A of the fold whose turn it is; ``last``.
    top : In(stream.Signature(ArrayLayout(16, columns)))
        A row of its B.
    results : Out(stream.Signature(ArrayLayout(32, columns)))
        Rows of C, single precision.
    active : Out(rows * columns)
        Bit ``i * columns + j``: PE (*i*, *j*) begins a MAC in this cycle.
    """

    def __init__(self, *, rows, columns):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        self.rows, self.columns = rows, columns
        super().__init__({
            "left": In(stream.Signature(data.StructLayout({
                "values": data.ArrayLayout(OPERAND_WIDTH, rows), "last": 1}))),
            "top": In(stream.Signature(data.ArrayLayout(OPERAND_WIDTH, columns))),
            "results": Out(stream.Signature(data.ArrayLayout(SUM_WIDTH, columns))),
            "active": Out(rows * columns),
        })

    @cached_property
    def pes(self):  # made late: an array that is only asked for its ports has none
        return [[FloatFma() for _ in range(self.columns)] for _ in range(self.rows)]

    def elaborate(self, platform):
        m = Module()
        self._accept(m)
        self._multiply(m, *self._skewed(m))
        heads, shift = self._capture(m)
        self._drain(m, heads, shift)
        return m

    def _accept(self, m):
        """The folds' turns: whose operands are taken in this cycle, and what they are to it."""
        diagonals = self.rows + self.columns - 1
        turn, wanted = Signal(range(STAGES)), Signal(range(STAGES))
        in_fold, draining = Signal(STAGES), Signal()  # which folds have begun
        may, accept = Signal(), Signal()
        last = self.left.payload.last
        m.d.comb += [
            may.eq((turn == wanted) & ~(last & draining & (turn == 0))),
            accept.eq(may & self.left.valid & self.top.valid),
            self.left.ready.eq(may & self.top.valid),
            self.top.ready.eq(may & self.left.valid),
        ]
        m.d.sync += turn.eq(Mux(turn == STAGES - 1, 0, turn + 1))
        with m.If(accept):
            m.d.sync += [wanted.eq(Mux(wanted == STAGES - 1, 0, wanted + 1)),
                         in_fold.bit_select(turn, 1).eq(~last)]
        begins, ends = Signal(), Signal()  # the last operands of the first and of the last fold
        m.d.comb += [begins.eq(accept & last & (turn == 0)),
                     ends.eq(accept & last & (turn == STAGES - 1))]

        # Bit d: operands were accepted d + 1 cycles ago, they are the first or last of their fold.
        valid, first = Signal(diagonals), Signal(diagonals)
        finish = Signal(diagonals + STAGES)
        m.d.sync += [valid.eq(Cat(accept, valid)),
                     first.eq(Cat(accept & ~in_fold.bit_select(turn, 1), first)),
                     finish.eq(Cat(accept & last, finish))]
        m.d.comb += self.active.eq(Cat(valid[i + j] for i in range(self.rows)
                                       for j in range(self.columns)))
        self._valid, self._first, self._finish = valid, first, finish
        self._begins, self._ends, self._draining = begins, ends, draining
        self._turn, self._wanted = turn, wanted

    def _skewed(self, m):
        """Operands as rows and columns get them: each a cycle after the one before."""
        always = Const(1)
        lefts = delay(m, always, self.left.payload["values"],
                      delay_lines("skew_left", range(self.rows), OPERAND_WIDTH))
        tops = delay(m, always, self.top.payload,
                     delay_lines("skew_top", range(self.columns), OPERAND_WIDTH))
        return lefts, tops

    def _multiply(self, m, lefts, tops):
        valid, first = self._valid, self._first
        downwards, low = list(tops), Const(0, SUM_WIDTH - OPERAND_WIDTH)
        for i, row in enumerate(self.pes):
            value = lefts[i]
            for j, pe in enumerate(row):
                m.submodules[f"pe_{i}_{j}"] = pe
                right, bottom = (Signal(OPERAND_WIDTH, name=f"{name}_{i}_{j}")
                                 for name in ("right", "bottom"))
                m.d.sync += [right.eq(value), bottom.eq(downwards[j])]
                value, downwards[j] = right, bottom
                d, payload = i + j, pe.operands.payload
                m.d.comb += [
                    pe.operands.valid.eq(1),
                    # without operands, the sum plus -0: the sum
                    payload.a.eq(Cat(low, Mux(valid[d], right, _MINUS_ZERO))),
                    payload.b.eq(Cat(low, Mux(valid[d], bottom, 0))),
                    # and nothing stays where nothing has been yet
                    payload.c.eq(Mux((valid[d] & first[d]) | ~pe.result.valid, 0,
                                     pe.result.payload)),
                    pe.result.ready.eq(1),
                ]

    def _capture(self, m):
        """A chain of registers for each column, which sums enter where they are made.

        They leave at row 0. All of a PE's sums are captured one after the other, so that it moves
        by itself. Returns what is at row 0, and the signal that moves all chains.
        """
        shift = Signal()
        chains = [[[Signal(SUM_WIDTH, name=f"sum_{i}_{j}_{number}") for number in range(STAGES)]
                   for j in range(self.columns)] for i in range(self.rows)]
        for i, row in enumerate(chains):
            for j, registers in enumerate(row):
                below = (chains[i + 1][j][0] if i + 1 < self.rows
                         else Signal(SUM_WIDTH, name=f"sum_{self.rows}_{j}"))
                captures = self._finish[i + j + STAGES]
                with m.If(captures | shift):
                    m.d.sync += [register.eq(later) for register, later in zip(
                        registers, [*registers[1:], Mux(captures, self.pes[i][j].result.payload,
                                                        below)], strict=True)]
        return [registers[0] for registers in chains[0]], shift

    def _drain(self, m, heads, shift):
        """When the last PE has captured the last of its sums, they are all in place and leave."""
        count = STAGES * self.rows  # rows that leave
        settling = Signal(self.rows + self.columns - 1 + STAGES)
        left_over = Signal(range(count + 1))
        self._settling, self._left_over = settling, left_over
        m.d.sync += settling.eq(Cat(self._ends, settling))
        with m.If(self._begins):
            m.d.sync += self._draining.eq(1)
        with m.If(settling[-1]):
            m.d.sync += left_over.eq(count)
        with m.Elif(shift):
            m.d.sync += left_over.eq(left_over - 1)
            with m.If(left_over == 1):
                m.d.sync += self._draining.eq(0)
        m.d.comb += [self.results.valid.eq(left_over != 0),
                     shift.eq(self.results.valid & self.results.ready)]
        m.d.comb += [value.eq(head) for value, head in
                     zip(self.results.payload, heads, strict=True)]
