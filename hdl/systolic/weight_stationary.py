"""Weight-stationary systolic array: one operand stays, the other streams, and so do the sums.

Ref: thesis on AI accelerators, chapter 5.2 (Figures 5.7 to 5.9, Table 5.2).
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.parts import LeftLayout, check_widths, delay, delay_lines, multiply

__all__ = ["WeightStationaryArray", "WeightStationaryPE"]


def _check_flag(thing, value):
    if not isinstance(value, bool):
        raise TypeError(f"{thing} must be True or False, not {value!r}")


class WeightStationaryPE(wiring.Component):
    """Processing element that keeps a weight, and adds its product to a sum that passes by.

    A row of A is loaded into ``right``, multiplied by the weight one step later, and the product
    added to ``above`` another step later. One MAC per cycle.

    Parameters
    ----------
    operand_width : int
        Bits of a signed operand, at least 1.
    above_width, sum_width : int
        Bits of the signed sum that enters, and of the one that leaves; it wraps around.
    double_buffer : bool
        A second register takes the next weight while this one is in use.

    Members
    -------
    load : In(1)
        A step: everything but the weights moves.
    left, right : In, Out(signed(operand_width))
        The operand from the neighbour, and the one loaded last for the other neighbour.
    write, write_right : In, Out(1)
        The weight is for this PE; the same, one step later, for the other neighbour.
    weight : In(signed(operand_width))
        The weight to write.
    swap : In(1)
        The written weight comes into use with the operand that is loaded. Ignored if not
        double-buffered.
    above, sum : In(signed(above_width)), Out(signed(sum_width))
        Sums of the PEs above, and with this PE's product.

    Attributes
    ----------
    held, spare : Signal
        The weight in use, and the one to come if double-buffered.
    product : Signal
        Of the operand loaded last but one and its weight.
    """

    def __init__(self, *, operand_width=8, above_width=32, sum_width=32, double_buffer=True):
        self.double_buffer = double_buffer
        operand = signed(operand_width)
        super().__init__({
            "load": In(1), "left": In(operand), "right": Out(operand),
            "write": In(1), "write_right": Out(1), "weight": In(operand), "swap": In(1),
            "above": In(signed(above_width)), "sum": Out(signed(sum_width)),
        })
        self.held = Signal(operand)
        self.spare = Signal(operand)
        self.product = Signal(signed(2 * operand_width))

    def elaborate(self, platform):
        m = Module()

        with m.If(self.load):
            m.d.sync += [self.right.eq(self.left), self.write_right.eq(self.write)]
            with m.If(self.write):
                m.d.sync += (self.spare if self.double_buffer else self.held).eq(self.weight)
            if self.double_buffer:
                with m.If(self.swap):
                    m.d.sync += self.held.eq(self.spare)

        m.d.comb += self.product.eq(multiply(m, self.load, self.right, self.held))
        with m.If(self.load):
            m.d.sync += self.sum.eq(self.above + self.product)

        return m


class WeightStationaryArray(wiring.Component):
    """Rows of A times a tile of B that stays in the array: a row of sums for each row of A.

    A tile is ``rows`` rows of B with ``columns`` elements each, row 0 first. Row *i* of the array
    holds row *i* of the tile, and multiplies element *i* of each row of A. A row of A
    that is accepted in cycle *t* is multiplied by PE (*i*, *j*) in cycle *t* + 1 + *i* + *j*, and
    its row of sums is on ``results`` in cycle *t* + ``rows`` + ``columns`` + 1. What
    is smaller than the array is padded with zeros by the sender, and takes the same time.

    Double-buffered: a tile's first row of A is accepted once all its weights have been. From that
    cycle on the next tile's weights are accepted, so that folds follow each other after as many
    cycles as they have rows of A, or the array rows, whichever is more.

    Otherwise folds are strictly serial: weights are accepted when the last MAC of the fold before
    is over, and the first row of A together with the last row of weights. A fold with *T* rows of A
    takes ``2 * rows + columns + T - 2`` cycles from its first weights to its last MAC.

    The array freezes as a whole while a row of sums is on offer and not taken. Missing operands
    freeze nothing.

    ``left.ready`` depends on ``weights.valid`` without a double buffer, ``weights.ready`` on
    ``left.valid`` with one, and both on ``results.ready``; no ``valid`` depends on a ``ready``.

    Parameters
    ----------
    rows, columns : int
        Shape of the array, at least 1 each.
    operand_width : int
        Bits of a signed operand, at least 1.
    accumulator_width : int
        Bits of a signed sum, at least twice the operand width. Sums wrap around, which takes
        at least ``2 ** (accumulator_width - 2 * operand_width + 1)`` rows.
    double_buffer : bool
        Weights of the next tile may enter while this one is in use.

    Members
    -------
    weights : In(stream.Signature(ArrayLayout(signed(operand_width), columns)))
        Rows of B, without skew.
    left : In(stream.Signature(LeftLayout(rows, operand_width)))
        Rows of A, without skew; ``last`` is the last row for this tile.
    results : Out(stream.Signature(ArrayLayout(signed(accumulator_width), columns)))
        Rows of sums.
    active : Out(rows * columns)
        Bit ``i * columns + j``: PE (*i*, *j*) executes a MAC in this cycle [Table 5.2].

    Attributes
    ----------
    pes : list of list of WeightStationaryPE
        The processing elements, by row and column.
    skew_left, skew_weights, skew_sums : list of list of Signal
        Delay registers in front of each row and column, and after each column.
    wave_valid, wave_first : Signal
        The wavefront. Bit *d* speaks of the operands which the PEs with *i* + *j* = *d* hold: that
        there are any, and that they are the first of their fold. The last two bits of
        ``wave_valid`` speak of products and sums after the last PE.
    filled : Signal
        Rows of weights accepted for the next fold.
    in_fold : Signal
        A fold has begun but its last operand is not accepted.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32,
                 double_buffer=True):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        check_widths(operand_width, accumulator_width)
        _check_flag("Double buffer", double_buffer)
        self.rows = rows
        self.columns = columns
        self.operand_width = operand_width
        self.accumulator_width = accumulator_width
        self.double_buffer = double_buffer
        operands = data.ArrayLayout(signed(operand_width), columns)
        super().__init__({
            "weights": In(stream.Signature(operands)),
            "left": In(stream.Signature(LeftLayout(rows, operand_width))),
            "results": Out(stream.Signature(data.ArrayLayout(signed(accumulator_width), columns))),
            "active": Out(rows * columns),
        })

        self.wave_valid = Signal(rows + columns + 1)
        self.wave_first = Signal(rows + columns - 2)
        self.filled = Signal(range(rows + 1))
        self.in_fold = Signal()

    def _sum_width(self, products):
        """Bits in which that many products do not overflow, or those of a wrapping sum."""
        return min(self.accumulator_width, 2 * self.operand_width + ceil_log2(max(products, 1)))

    # Made late: a component that is only asked for its ports makes no triangle of registers.
    @cached_property
    def skew_left(self):
        return delay_lines("skew_left", range(self.rows), self.operand_width)

    @cached_property
    def skew_weights(self):
        return delay_lines("skew_weights", range(self.columns), self.operand_width)

    @cached_property
    def skew_sums(self):
        return delay_lines("skew_sums", range(self.columns - 1, -1, -1),
                           self._sum_width(self.rows))

    @cached_property
    def pes(self):  # made late: an array that is only asked for its ports has none
        return [[WeightStationaryPE(operand_width=self.operand_width,
                                    above_width=self._sum_width(i),
                                    sum_width=self._sum_width(i + 1),
                                    double_buffer=self.double_buffer)
                 for _ in range(self.columns)] for i in range(self.rows)]

    def elaborate(self, platform):
        m = Module()

        for i, row in enumerate(self.pes):
            for j, pe in enumerate(row):
                m.submodules[f"pe_{i}_{j}"] = pe
        step, take, accept, begin = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            step.eq(~self.results.valid | self.results.ready),
            take.eq(self.weights.valid & self.weights.ready),
            accept.eq(self.left.valid & self.left.ready),
            begin.eq(accept & ~self.in_fold),
        ]

        self._admit(m, step, take, accept, begin)
        self._move(m, step, take, accept, begin)

        sums = delay(m, step, [pe.sum for pe in self.pes[-1]], self.skew_sums)
        m.d.comb += self.results.valid.eq(self.wave_valid[-1])
        m.d.comb += [value.eq(total) for value, total in
                     zip(self.results.payload, sums, strict=True)]
        return m

    def _admit(self, m, step, take, accept, begin):
        """Which weights may come, and when a fold may begin."""
        diagonals = self.rows + self.columns - 1
        full = self.filled == self.rows
        if self.double_buffer:
            m.d.comb += [
                self.weights.ready.eq(step & (~full | begin)),
                self.left.ready.eq(step & (self.in_fold | full)),
            ]
        else:
            busy, ends = Signal(), Signal()
            m.d.comb += [
                busy.eq(self.in_fold | self.wave_valid[:diagonals].any()),
                ends.eq(self.filled == self.rows - 1),
                self.weights.ready.eq(step & ~full & ~busy),
                self.left.ready.eq(step & (self.in_fold | full | (take & ends))),
            ]
        with m.If(accept):
            m.d.sync += self.in_fold.eq(~self.left.payload.last)
        with m.If(begin):
            m.d.sync += self.filled.eq(take if self.double_buffer else 0)
        with m.Elif(take):
            m.d.sync += self.filled.eq(self.filled + 1)

    def _move(self, m, step, take, accept, begin):
        """The PEs and their wavefront.

        Each column takes its weight of the row that is accepted a step later than the one before,
        just after the wavefront that stopped using the last but one.
        """
        diagonals = self.rows + self.columns - 1
        row_taken = Signal(self.rows)
        place = Mux(begin, 0, self.filled) if self.double_buffer else self.filled
        m.d.comb += row_taken.eq(Cat(take & (place == i) for i in range(self.rows)))

        with m.If(step):
            m.d.sync += [
                self.wave_valid.eq(Cat(accept, self.wave_valid)),
                self.wave_first.eq(Cat(begin, self.wave_first)),
            ]
        swap = Cat(begin, self.wave_first)
        executes = Signal(diagonals)
        m.d.comb += executes.eq(Mux(step, self.wave_valid[:diagonals], 0))

        lefts = delay(m, step, self.left.payload["values"], self.skew_left)
        weights = delay(m, step, self.weights.payload, self.skew_weights)
        for i, row in enumerate(self.pes):
            m.d.comb += self.active[i * self.columns:(i + 1) * self.columns].eq(
                executes[i:i + self.columns])
            for j, pe in enumerate(row):
                m.d.comb += [
                    pe.load.eq(step),
                    pe.left.eq(row[j - 1].right if j else lefts[i]),
                    pe.write.eq(row[j - 1].write_right if j else row_taken[i]),
                    pe.weight.eq(weights[j]),
                    pe.swap.eq(swap[i + j]),
                    pe.above.eq(self.pes[i - 1][j].sum if i else 0),
                ]
