"""Post-processing: sums of an array become operands again, with bias, scale and activation.

Ref: thesis on AI accelerators, chapters 2.3 (bias, activation) and 2.4; the fixed-point scale
is this project's.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.systolic.post_processing_layout import SHIFT_WIDTH, low_part
from cyclebound.hdl.parameters import check_integer

__all__ = ["PostProcessing"]


class PostProcessing(wiring.Component):
    """Each sum plus its bias, times ``multiplier / 2 ** shift``, rounded, plus its shortcut,
    and clamped.

    Halves are rounded up. ReLU is a lower limit of 0, ReLU6 has an upper limit, too; without an
    activation the limits are those of a result. The shortcut is a result of an earlier layer, of
    the same scale (residual connections). No bit is lost on the way.

    A row that is accepted in cycle *t* is on ``results`` in *t* + 6, and rows follow each other
    without a gap. While a result is on offer and not taken, everything stands still.
    ``sums.ready`` depends on ``results.ready``.

    Parameters
    ----------
    columns : int
        Elements of a row, at least 1.
    accumulator_width, multiplier_width, result_width : int
        Bits of a signed sum and of its bias, of the unsigned multiplier, of a signed result; at
        least 2, 1 and 2. The result must be no wider than the sum.
    own_scales : bool
        Each sum comes with its own multiplier and shift.

    Members
    -------
    multiplier, shift, low, high : In
        Scale, and the least and greatest result. They may change when no row is under way. The
        first two are not there with ``own_scales``.
    sums : In(stream.Signature(StructLayout))
        ``values``, their ``bias``, and their ``shortcut``; with ``own_scales`` their
        ``multiplier`` and ``shift``, too.
    results : Out(stream.Signature(ArrayLayout(signed(result_width), columns)))
        The rows, in their order.
    """

    def __init__(self, *, columns, accumulator_width=32, multiplier_width=16, result_width=8,
                 own_scales=False):
        check_integer("Column count", columns, 1)
        check_integer("Accumulator width", accumulator_width, 2)
        check_integer("Multiplier width", multiplier_width, 1)
        check_integer("Result width", result_width, 2)
        if result_width > accumulator_width:
            raise ValueError(f"Result width must be at most {accumulator_width}, that of the "
                             f"accumulator, not {result_width}")
        self.columns, self.accumulator_width = columns, accumulator_width
        self.multiplier_width, self.own_scales = multiplier_width, own_scales
        total, result = signed(accumulator_width), signed(result_width)
        rows = data.ArrayLayout(total, columns)
        scales = {"multiplier": multiplier_width, "shift": SHIFT_WIDTH}
        super().__init__({
            **({} if own_scales else {name: In(width) for name, width in scales.items()}),
            "low": In(result), "high": In(result),
            "sums": In(stream.Signature(data.StructLayout({
                "values": rows, "bias": rows, "shortcut": data.ArrayLayout(result, columns),
                **({name: data.ArrayLayout(width, columns) for name, width in scales.items()}
                   if own_scales else {})}))),
            "results": Out(stream.Signature(data.ArrayLayout(result, columns))),
        })

    def elaborate(self, platform):
        m = Module()
        move, held = Signal(), Signal(5)  # rows in the stages but the last
        m.d.comb += [move.eq(~self.results.valid | self.results.ready), self.sums.ready.eq(move)]
        with m.If(move):
            m.d.sync += Cat(held, self.results.valid).eq(Cat(self.sums.valid, held))
        row = self.sums.payload
        for number in range(self.columns):
            self._lane(m, move, number, row["values"][number], row.bias[number],
                       row.shortcut[number])
        return m

    def _lane(self, m, move, number, value, bias, shortcut):
        """One column: a register after each operation."""
        width, scale = self.accumulator_width + 1, self.multiplier_width

        def register(shape, name, value):
            stage = Signal(shape, name=f"{name}_{number}")
            with m.If(move):
                m.d.sync += stage.eq(value)
            return stage

        # The sum is wider than a multiplier of an FPGA: its low and its high part.
        cut = low_part(width)
        total = register(signed(width), "total", value + bias)
        if self.own_scales:  # they go with their sum, as far as each is used
            multiplier = register(scale, "multiplier", self.sums.payload.multiplier[number])
            shift = self.sums.payload.shift[number]
            for stage in range(3):
                shift = register(SHIFT_WIDTH, f"shift_{stage}", shift)
        else:
            multiplier, shift = self.multiplier, self.shift
        upper = register(signed(width - cut + scale), "upper",
                         total[cut:].as_signed() * multiplier)
        lower = register(cut + scale, "lower", total[:cut] * multiplier)
        product = register(signed(width + scale), "product", (upper << cut) + lower)
        # One more bit below: the one that rounds.
        shifted = register(signed(width + scale + 1), "shifted",
                           Cat(0, product).as_signed() >> shift)
        rounded = register(signed(width + scale), "rounded",
                           shifted[1:].as_signed() + shifted[0])
        # The shortcut moves the limits meanwhile, so that nothing has to be added before them.
        for stage in range(4):
            shortcut = register(shortcut.shape(), f"shortcut_{stage}", shortcut)
        low, high = (register(signed(len(self.low) + 1), name, limit - shortcut)
                     for name, limit in (("least", self.low), ("most", self.high)))
        shortcut = register(shortcut.shape(), "shortcut_4", shortcut)
        clamped = Mux(rounded < low, self.low, Mux(rounded > high, self.high,
                                                   (rounded + shortcut)[:len(self.low)]))
        with m.If(move):
            m.d.sync += self.results.payload[number].eq(clamped)
