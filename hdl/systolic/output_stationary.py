"""Output-stationary systolic array: the sums stay in place, both operands stream.

Ref: thesis on AI accelerators, chapter 5.2 (Figures 5.3 to 5.5 and 5.10, Table 5.1).
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.parts import LeftLayout, check_widths, delay, delay_lines, multiply

__all__ = ["OutputStationaryArray", "OutputStationaryPE"]


class OutputStationaryPE(wiring.Component):
    """Processing element with two pipelined cycles, Load and Execute [5.2.1, Figures 5.3 to 5.5].

    Load takes the operands into the registers ``right`` and ``bottom``, from where the neighbours
    load them in turn. Execute multiplies these two, and accumulates the product in the step after:
    a DSP block between registers, and an adder between registers. One MAC per cycle.

    The accumulator wraps around (two's complement). A second register holds a finished sum, so
    that it can leave while the next fold is executed.

    Parameters
    ----------
    operand_width : int
        Bits of a signed operand, at least 1.
    accumulator_width : int
        Bits of the signed sum, at least twice the operand width.

    Members
    -------
    load : In(1)
        A step: take operands from ``left`` and ``top``.
    execute : In(1)
        Multiply those taken before.
    left, top : In(signed(operand_width))
        Operands of A and B, from the neighbours.
    right, bottom : Out(signed(operand_width))
        The operands taken last, for the neighbours.
    accumulate : In(1)
        Add the product of the step before, not added yet.
    first : In(1)
        That product is the first of its fold: it replaces the sum.
    product : Out(signed(2 * operand_width))
        The product of the operands that were taken when ``execute`` was set last.
    sum : Out(signed(accumulator_width))
        The accumulator.
    shift : In(1)
        Copy ``below`` to ``drain``, or with ``capture`` the sum.
    capture : In(1)
        What ``shift`` copies is ``sum``.
    below : In(signed(accumulator_width))
        ``drain`` of the PE below.
    drain : Out(signed(accumulator_width))
        A finished sum that moves up.
    """

    def __init__(self, *, operand_width=8, accumulator_width=32):
        check_widths(operand_width, accumulator_width)
        self.operand_width = operand_width
        self.accumulator_width = accumulator_width
        operand, total = signed(operand_width), signed(accumulator_width)
        super().__init__({
            "load": In(1), "left": In(operand), "top": In(operand), "execute": In(1),
            "right": Out(operand), "bottom": Out(operand),
            "product": Out(signed(2 * operand_width)),
            "accumulate": In(1), "first": In(1), "sum": Out(total),
            "capture": In(1), "shift": In(1), "below": In(total), "drain": Out(total),
        })

    def elaborate(self, platform):
        m = Module()

        with m.If(self.load):
            m.d.sync += [self.right.eq(self.left), self.bottom.eq(self.top)]

        m.d.comb += self.product.eq(multiply(m, self.execute, self.right, self.bottom))
        with m.If(self.accumulate):
            m.d.sync += self.sum.eq(Mux(self.first, 0, self.sum) + self.product)

        with m.If(self.shift):
            m.d.sync += self.drain.eq(Mux(self.capture, self.sum, self.below))

        return m


class OutputStationaryArray(wiring.Component):
    """Matrix multiplication, one fold after the other: C = A B of at most ``rows`` x ``columns``.

    A *step* consumes one column of A and one row of B. What is accepted in cycle *t* is executed
    by PE (*i*, *j*) in cycle *t* + 1 + *i* + *j*. After the last step of a fold of *k* steps come
    ``rows + columns - 2`` steps in which nothing is accepted, so a fold takes
    ``rows + columns + k - 2`` cycles from its first MAC to its last [Eq. 5.5], and *F* folds
    without a pause *F* times as much [Eq. 5.6]. A fold smaller than the array is padded with zeros
    by the sender, and takes the same time.

    The last MAC of a fold in cycle *T* is a product in *T* + 1, and a sum in *T* + 2, in which
    all sums are captured. Row *i* of C is on ``results`` in *T* + 3 + *i*. With a ready sink, it
    never delays the next fold.

    The array freezes as a whole while operands are missing in the middle of a fold, and while sums
    are due to be captured but more than one row of the fold before has not left.

    ``left.ready`` and ``top.ready`` depend on the other stream's ``valid``; nothing depends on
    ``results.ready`` in the same cycle.

    Parameters
    ----------
    rows, columns : int
        Shape of the array, at least 1 each.
    operand_width : int
        Bits of a signed operand, at least 1.
    accumulator_width : int
        Bits of a signed sum, at least twice the operand width. Sums wrap around.

    Members
    -------
    left : In(stream.Signature(LeftLayout(rows, operand_width)))
        Columns of A, without skew.
    top : In(stream.Signature(ArrayLayout(signed(operand_width), columns)))
        Rows of B, without skew.
    results : Out(stream.Signature(ArrayLayout(signed(accumulator_width), columns)))
        Rows of C, from row 0 on.
    active : Out(rows * columns)
        Bit ``i * columns + j``: PE (*i*, *j*) executes a MAC in this cycle [Table 5.1].

    Attributes
    ----------
    pes : list of list of OutputStationaryPE
        The processing elements, by row and column.
    skew_left, skew_top : list of list of Signal
        Delay registers in front of each row and column [Eq. 5.3], first one first.
    wave_valid, wave_first, wave_last : Signal
        The wavefront. Bit *d* speaks of the operands which the PEs with *i* + *j* = *d* hold:
        that there are any, and that they are the first and last of their fold.
    fresh, fresh_first : Signal
        Bit *d*: the product in these PEs is not added yet, and it is the first of its fold.
    in_fold, flushing, ending, finished : Signal
        A fold has begun but its last operand is not accepted; it is, but no PE may start the next
        fold; its last product is not added; its sums wait for capture.
    runs : Signal
        Sums are not due, or they are captured in this cycle: the sink does not block the array.
    rows_left : Signal
        Rows of C that were captured and have not left: bit *i* is set if there are more than *i*.
    held : Signal
        The sink refused a row: it is in ``waiting``, and not in the drain registers any more.
    waiting : list of Signal
        One for each column.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        check_widths(operand_width, accumulator_width)
        self.rows = rows
        self.columns = columns
        self.operand_width = operand_width
        self.accumulator_width = accumulator_width
        super().__init__({
            "left": In(stream.Signature(LeftLayout(rows, operand_width))),
            "top": In(stream.Signature(data.ArrayLayout(signed(operand_width), columns))),
            "results": Out(stream.Signature(data.ArrayLayout(signed(accumulator_width), columns))),
            "active": Out(rows * columns),
        })

        diagonals = rows + columns - 1
        self.wave_valid = Signal(diagonals)
        self.wave_first = Signal(diagonals)
        self.wave_last = Signal(diagonals)
        self.fresh = Signal(diagonals)
        self.fresh_first = Signal(diagonals)
        self.in_fold = Signal()
        self.flushing = Signal()
        self.ending = Signal()
        self.finished = Signal()
        self.runs = Signal(init=1)
        self.rows_left = Signal(rows + 1)
        self.held = Signal()
        self.waiting = [Signal(signed(accumulator_width), name=f"waiting_{j}")
                        for j in range(columns)]

    # Made late: a component that is only asked for its ports makes no triangle of registers.
    @cached_property
    def skew_left(self):
        return delay_lines("skew_left", range(self.rows), self.operand_width)

    @cached_property
    def skew_top(self):
        return delay_lines("skew_top", range(self.columns), self.operand_width)

    @cached_property
    def pes(self):  # made late: an array that is only asked for its ports has none
        return [[OutputStationaryPE(operand_width=self.operand_width,
                                    accumulator_width=self.accumulator_width)
                 for _ in range(self.columns)] for _ in range(self.rows)]

    def elaborate(self, platform):
        m = Module()

        # One submodule each. Against the same statements in this module, at 32x32, converting takes
        # 1.1 times the time, and Verilator's code runs twice as fast (0.93 times at 16x16).
        # Rows as submodules save nothing.
        for i, row in enumerate(self.pes):
            for j, pe in enumerate(row):
                m.submodules[f"pe_{i}_{j}"] = pe

        few, move = self._drain(m)
        step = self._accept(m)
        execute, added = self._multiply(m, step)
        self._stream(m, step, execute, added, few, move)
        self._offer_results(m)
        return m

    def _drain(self, m):
        """The registers that drain sums. Returns when they take sums, and when they move.

        A row that the sink refuses waits beside the drain, whose registers move on: what enables
        registers all over the array is a register, and not the sink. With one row left or none,
        whatever the drain takes is not a row, or it is a capture.
        """
        few, move, capture = Signal(), Signal(), Signal()
        m.d.comb += [
            few.eq(~self.rows_left[1]),
            move.eq(few | ~self.held),
            capture.eq(self.finished & self.runs),
        ]

        # A capture that is due goes ahead as soon as no more than one older row is left, and stops
        # all else until then: the next MAC of PE (0, 0) may destroy its sum.
        due, remaining, left_over = Signal(), Signal(self.rows + 1), Signal(self.rows + 1)
        m.d.comb += [
            due.eq(Mux(self.runs, self.ending, 1)),
            remaining.eq(Mux(self.results.ready, self.rows_left >> 1, self.rows_left)),
            left_over.eq(Mux(capture, Cat(Const(-1, self.rows), remaining[0]), remaining)),
        ]
        m.d.sync += [
            self.rows_left.eq(left_over),
            self.finished.eq(due),
            self.runs.eq(~(due & left_over[1])),
            self.held.eq(self.results.valid & ~self.results.ready),
        ]
        return few, move

    def _accept(self, m):
        """Operands, which are consumed together. Returns when the wavefront moves: between folds,
        without any."""
        diagonals = self.rows + self.columns - 1
        offered, accept, step = Signal(), Signal(), Signal()
        m.d.comb += [
            offered.eq(self.left.valid & self.top.valid),
            accept.eq(offered & ~self.flushing & self.runs),
            self.left.ready.eq(self.top.valid & ~self.flushing & self.runs),
            self.top.ready.eq(self.left.valid & ~self.flushing & self.runs),
            step.eq(self.runs & (offered | ~self.in_fold)),
        ]

        # Folds are strictly serial: the next one enters PE (0, 0) when the last PE finishes.
        last = self.left.payload.last
        with m.If(accept):
            m.d.sync += self.in_fold.eq(~last)
        if diagonals > 1:
            with m.If(accept & last):
                m.d.sync += self.flushing.eq(1)
            with m.Elif(step & self.wave_last[diagonals - 2]):
                m.d.sync += self.flushing.eq(0)

        with m.If(step):
            m.d.sync += [
                self.wave_valid.eq(Cat(accept, self.wave_valid)),
                self.wave_first.eq(Cat(accept & ~self.in_fold, self.wave_first)),
                self.wave_last.eq(Cat(accept & last, self.wave_last)),
            ]
        return step

    def _multiply(self, m, step):
        """Return two masks of diagonals: those whose PEs multiply, and those whose PEs add.

        Products are added in the cycle after, whatever the neighbours do: a fold is completed
        even if the next one has begun and starves. Multipliers need not know about that:
        what they make of operands that wait is not fresh, and they make it again.
        """
        diagonals = self.rows + self.columns - 1
        execute, added = Signal(diagonals), Signal(diagonals)
        m.d.comb += [execute.eq(Mux(step, self.wave_valid, 0)),
                     added.eq(Mux(self.runs, self.fresh, 0))]
        with m.If(self.runs):
            m.d.sync += [
                self.fresh.eq(execute),
                self.fresh_first.eq(self.wave_first),
                self.ending.eq(step & self.wave_last[-1]),
            ]
        return execute, added

    def _stream(self, m, step, execute, added, few, move):
        """Operands on their way through the array, and sums on theirs."""
        # Delay streaming [Eq. 5.3]: row i and column j start i and j steps late.
        lefts = delay(m, step, self.left.payload["values"], self.skew_left)
        tops = delay(m, step, self.top.payload, self.skew_top)

        # Propagation streaming [Eq. 5.4]: from neighbour to neighbour.
        for i, row in enumerate(self.pes):
            m.d.comb += self.active[i * self.columns:(i + 1) * self.columns].eq(
                execute[i:i + self.columns])
            for j, pe in enumerate(row):
                m.d.comb += [
                    pe.load.eq(step),
                    pe.execute.eq(self.runs),
                    pe.left.eq(row[j - 1].right if j else lefts[i]),
                    pe.top.eq(self.pes[i - 1][j].bottom if i else tops[j]),
                    pe.accumulate.eq(added[i + j]),
                    pe.first.eq(self.fresh_first[i + j]),
                    pe.capture.eq(few),
                    pe.shift.eq(move),
                    pe.below.eq(self.pes[i + 1][j].drain if i + 1 < self.rows else 0),
                ]

    def _offer_results(self, m):
        """The sums leave row by row, upwards."""
        m.d.comb += self.results.valid.eq(self.rows_left[0])
        for pe, register, result in zip(self.pes[0], self.waiting, self.results.payload,
                                        strict=True):
            m.d.comb += result.eq(Mux(self.held, register, pe.drain))
            with m.If(~self.held):
                m.d.sync += register.eq(pe.drain)
