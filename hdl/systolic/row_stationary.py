"""Row-stationary array: a row of the filter stays in each PE, and meets rows of the image.

Ref: thesis on AI accelerators, chapter 4.2.1 and Figure 4.3; the pipeline is this project's.
"""

from functools import cached_property

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.parts import LeftLayout, check_widths, multiply

__all__ = ["RowStationaryArray", "RowStationaryPE"]


class RowStationaryPE(wiring.Component):
    """Convolves a row of the image with a row of the filter, one MAC in each cycle.

    Parameters
    ----------
    taps : int
        Elements of a row of the filter.
    operand_width, accumulator_width : int
        Bits of a signed operand, and of a sum, which wraps around.

    Members
    -------
    step : In(1)
        Nothing moves without it.
    load, weight : In
        Take another weight; the first one taken is the first of the row.
    shift, pixel, passed : In, In, Out
        Take another pixel of the row; what was on ``pixel`` in the step before.
    execute, tap : In
        Multiply pixel and weight number ``tap`` of the window.
    below, total : In, Out(signed(accumulator_width))
        The sum of the PE below, and with this PE's own, three steps after its last MAC began.
    """

    def __init__(self, *, taps, operand_width=8, accumulator_width=32):
        self.taps = taps
        operand, total = signed(operand_width), signed(accumulator_width)
        super().__init__({
            "step": In(1), "load": In(1), "weight": In(operand), "shift": In(1),
            "pixel": In(operand), "passed": Out(operand), "execute": In(1),
            "tap": In(range(taps)), "below": In(total), "total": Out(total),
        })

    def elaborate(self, platform):
        m = Module()
        shape = self.pixel.shape()
        weights, window = ([Signal(shape, name=f"{name}_{number}") for number in range(self.taps)]
                           for name in ("weight", "pixel"))
        with m.If(self.step):
            m.d.sync += self.passed.eq(self.pixel)
            for enable, value, registers in ((self.load, self.weight, weights),
                                             (self.shift, self.pixel, window)):
                with m.If(enable):
                    m.d.sync += [register.eq(later) for register, later in
                                 zip(registers, [*registers[1:], value], strict=True)]

        # One step later the product is there, and is added to those before it in the row.
        product = multiply(m, self.step, Array(window)[self.tap], Array(weights)[self.tap])
        executed, first, last = Signal(), Signal(), Signal()
        partial = Signal.like(self.total)
        now = Mux(first, 0, partial) + product
        with m.If(self.step):
            m.d.sync += [executed.eq(self.execute), first.eq(self.tap == 0),
                         last.eq(self.tap == self.taps - 1)]
            with m.If(executed):
                m.d.sync += partial.eq(now)
                with m.If(last):
                    m.d.sync += self.total.eq(now + self.below)
        return m


class RowStationaryArray(wiring.Component):
    """A convolution with a filter of ``rows`` rows: ``columns`` rows of the result at once.

    PE (*i*, *j*) holds row *i* of the filter and is given row *i* + *j* of the image, which all
    PEs on that diagonal share: it enters at the lowest, and moves on to the upper right.
    Row *j* of the result is the sum over column *j* of PEs, from the bottom up.

    A pass takes ``taps`` words of weights, each with an element of every row of the filter, and
    then columns of the image, each with an element of every row. As soon as there are ``taps``
    columns, each column gives a column of the result, and keeps every PE busy for ``taps`` cycles;
    the next column is accepted in the last of them. A column of the result is on ``results``
    ``rows + taps + 1`` cycles after its last column of the image was accepted.

    The array freezes as a whole while a result is on offer and not taken. Missing operands freeze
    nothing. ``weights.ready`` and ``left.ready`` depend on ``results.ready``; no ``valid`` depends
    on a ``ready``.

    Parameters
    ----------
    rows, columns, taps : int
        Rows of the filter, rows of the result, columns of the filter; at least 1 each. A smaller
        filter is padded with zeros.
    operand_width, accumulator_width : int
        Bits of a signed operand and of a signed sum, as of the other arrays.

    Members
    -------
    weights : In(stream.Signature(ArrayLayout(signed(operand_width), rows)))
        Columns of the filter, from the left.
    left : In(stream.Signature(LeftLayout(rows + columns - 1, operand_width)))
        Columns of the image, from the left; ``last`` is the last of this pass.
    results : Out(stream.Signature(ArrayLayout(signed(accumulator_width), columns)))
        Columns of the result, from the left.
    active : Out(rows * columns)
        Bit ``i * columns + j``: PE (*i*, *j*) executes a MAC in this cycle.
    """

    def __init__(self, *, rows, columns, taps, operand_width=8, accumulator_width=32):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        check_integer("Tap count", taps, 1)
        check_widths(operand_width, accumulator_width)
        self.rows, self.columns, self.taps = rows, columns, taps
        self.operand_width, self.accumulator_width = operand_width, accumulator_width
        operand, total = signed(operand_width), signed(accumulator_width)
        super().__init__({
            "weights": In(stream.Signature(data.ArrayLayout(operand, rows))),
            "left": In(stream.Signature(LeftLayout(rows + columns - 1, operand_width))),
            "results": Out(stream.Signature(data.ArrayLayout(total, columns))),
            "active": Out(rows * columns),
        })

    @cached_property
    def pes(self):  # made late: an array that is only asked for its ports has none
        return [[RowStationaryPE(taps=self.taps, operand_width=self.operand_width,
                                 accumulator_width=self.accumulator_width)
                 for _ in range(self.columns)] for _ in range(self.rows)]

    def elaborate(self, platform):
        m = Module()
        self._history = {}  # by name, the registers of what was some steps ago
        for i, row in enumerate(self.pes):
            for j, pe in enumerate(row):
                m.submodules[f"pe_{i}_{j}"] = pe
        self._pass(m)
        self._move(m)
        self._emit(m)
        return m

    def _pass(self, m):
        """Where a pass stands: weights, columns of the image, and the tap of the last row."""
        step, take, accept = (Signal(name=name) for name in ("step", "take", "accept"))
        loaded, filled = Signal(range(self.taps + 1)), Signal(range(self.taps + 1))
        executes, tap, ending, over = Signal(), Signal(range(self.taps)), Signal(), Signal()
        m.d.comb += [
            step.eq(~self.results.valid | self.results.ready),
            over.eq(tap == self.taps - 1),
            self.weights.ready.eq(step & (loaded != self.taps)),
            take.eq(self.weights.valid & self.weights.ready),
            self.left.ready.eq(step & (loaded == self.taps) & ~ending & (~executes | over)),
            accept.eq(self.left.valid & self.left.ready),
        ]
        with m.If(take):
            m.d.sync += loaded.eq(loaded + 1)
        with m.If(accept):
            with m.If(filled >= self.taps - 1 if self.taps > 1 else Const(1)):
                m.d.sync += [executes.eq(1), tap.eq(0), filled.eq(self.taps),
                             ending.eq(self.left.payload.last)]
            with m.Else():
                m.d.sync += filled.eq(filled + 1)
                with m.If(self.left.payload.last):  # too few columns for any result
                    m.d.sync += [filled.eq(0), loaded.eq(0)]
        with m.Elif(step & executes):
            m.d.sync += tap.eq(tap + 1)
            with m.If(over):
                m.d.sync += [executes.eq(0), tap.eq(0)]
                with m.If(ending):
                    m.d.sync += [ending.eq(0), loaded.eq(0), filled.eq(0)]
        self._step, self._take, self._accept = step, take, accept
        self._executes, self._tap, self._over = executes, tap, over
        self._loaded, self._filled, self._ending = loaded, filled, ending

    def _later(self, m, name, value, steps):
        """``value`` of some steps ago."""
        self._history[name] = []
        for number in range(steps):
            register = Signal(value.shape(), name=f"{name}_{number}")
            with m.If(self._step):
                m.d.sync += register.eq(value)
            value = register
            self._history[name].append(register)
        return value

    def _move(self, m):
        """The PEs. The last row begins; each row above follows a step later."""
        step, tap = self._step, self._tap
        control = Signal(data.StructLayout({"load": 1, "shift": 1, "execute": 1,
                                            "tap": tap.shape()}))
        m.d.comb += [control.load.eq(self._take), control.shift.eq(self._accept),
                     control.execute.eq(self._executes), control.tap.eq(tap)]
        word, executing = control.as_value(), []
        for i in reversed(range(self.rows)):
            lag = self.rows - 1 - i
            if lag:
                word = self._later(m, f"control_{i}", word, 1)
            row_control = data.View(control.shape(), word)
            weight = self._later(m, f"weight_{i}", self.weights.payload[i], lag)
            from_left = self._later(m, f"image_{i}", self.left.payload["values"][i], lag)
            executing.insert(0, row_control.execute)
            for j, pe in enumerate(self.pes[i]):
                if j == 0:
                    pixel = from_left
                elif i == self.rows - 1:
                    pixel = self.left.payload["values"][i + j]
                else:
                    pixel = self.pes[i + 1][j - 1].passed
                m.d.comb += [
                    pe.step.eq(step),
                    pe.load.eq(row_control.load),
                    pe.weight.eq(weight),
                    pe.shift.eq(row_control.shift),
                    pe.pixel.eq(pixel),
                    pe.execute.eq(row_control.execute),
                    pe.tap.eq(row_control.tap),
                    pe.below.eq(self.pes[i + 1][j].total if i + 1 < self.rows else 0),
                ]
        self._executing = executing  # by row
        m.d.comb += self.active.eq(Cat(executing[i] & step for i in range(self.rows)
                                       for _ in range(self.columns)))

    def _emit(self, m):
        """The results. The first row is the last: after its last MAC a product, then the sum."""
        last_tap = Signal()
        m.d.comb += last_tap.eq(self._executes & self._over)
        done = self._later(m, "done", last_tap, self.rows)
        with m.If(self._step):
            m.d.sync += self.results.valid.eq(done)
        m.d.comb += [value.eq(pe.total) for value, pe in
                     zip(self.results.payload, self.pes[0], strict=True)]
