"""Weight-stationary array for bfloat16, with sums in single precision.

Ref: thesis on AI accelerators, chapter 5.2 (Figures 5.7 to 5.9, Table 5.2).
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from cyclebound.golden.systolic.float_layout import OPERAND_WIDTH, SUM_WIDTH
from cyclebound.hdl.float_fma import FMA_STAGES as STAGES
from cyclebound.hdl.float_fma import FloatFma
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.parts import delay

__all__ = ["FloatWeightStationaryArray"]


def _lines(name, lengths, width):
    return [[Signal(width, name=f"{name}_{lane}_{number}") for number in range(length)]
            for lane, length in enumerate(lengths)]


class FloatWeightStationaryArray(wiring.Component):
    """Rows of A times a tile of B that stays in the array, in floating point.

    PE (*i*, *j*) is a fused multiply-add: element *i* of the row of A times its weight, plus what
    the PE above has made of the row; each rounds once. A product of two bfloat16 is exact in single
    precision, so that only sums are rounded, from row 0 down.

    A PE takes `STAGES` cycles, and a row of A every cycle: a row that is accepted in cycle *t* is
    multiplied by PE (*i*, *j*) in *t* + 1 + ``STAGES`` *i* + *j*, and its row of sums is on
    ``results`` in *t* + ``STAGES`` ``rows`` + ``columns`` + 1. Results wait in a FIFO for a sink;
    a row of A is accepted only if there is room for its sums: the array itself never waits.

    A tile's first row of A is accepted when all its weights have been. Weights of the next tile
    are accepted when this one's are in use in all PEs, ``STAGES (rows - 1) + columns``
    cycles after its first row of A was accepted.

    Parameters
    ----------
    rows, columns : int
        Shape of the array, at least 1 each.

    Members
    -------
    weights : In(stream.Signature(ArrayLayout(16, columns)))
        Rows of B.
    left : In(stream.Signature(StructLayout))
        ``values``: a row of A; ``last``: the last one for this tile.
    results : Out(stream.Signature(ArrayLayout(32, columns)))
        Rows of sums, single precision.
    active : Out(rows * columns)
        Bit ``i * columns + j``: PE (*i*, *j*) begins a MAC in this cycle.

    Attributes
    ----------
    room : int
        Rows of sums that the queue holds.
    under_way : Signal
        Rows of A that were accepted, and whose sums have not left.
    queue : SyncFIFO
        Rows of sums that wait for the sink.
    """

    def __init__(self, *, rows, columns):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        self.rows, self.columns = rows, columns
        super().__init__({
            "weights": In(stream.Signature(data.ArrayLayout(OPERAND_WIDTH, columns))),
            "left": In(stream.Signature(data.StructLayout({
                "values": data.ArrayLayout(OPERAND_WIDTH, rows), "last": 1}))),
            "results": Out(stream.Signature(data.ArrayLayout(SUM_WIDTH, columns))),
            "active": Out(rows * columns),
        })
        self.room = STAGES * rows + columns + 2
        self.under_way = Signal(range(self.room + 1))

    @cached_property
    def queue(self):
        return SyncFIFO(width=SUM_WIDTH * self.columns, depth=self.room)

    @cached_property
    def pes(self):  # made late: an array that is only asked for its ports has none
        return [[FloatFma() for _ in range(self.columns)] for _ in range(self.rows)]

    def elaborate(self, platform):
        m = Module()
        lag = STAGES * (self.rows - 1) + self.columns - 1  # of the last PE, after the first
        m.submodules.queue = queue = self.queue

        filled, changing = Signal(range(self.rows + 1)), Signal(range(lag + 1))
        under_way, in_fold = self.under_way, Signal()
        take, accept, begin, leaves = Signal(), Signal(), Signal(), Signal()
        full = filled == self.rows
        m.d.comb += [
            self.weights.ready.eq(~full & (changing == 0)),
            take.eq(self.weights.valid & self.weights.ready),
            self.left.ready.eq((in_fold | full) & (under_way != self.room)),
            accept.eq(self.left.valid & self.left.ready),
            begin.eq(accept & ~in_fold),
            leaves.eq(self.results.valid & self.results.ready),
        ]
        m.d.sync += under_way.eq(under_way + accept - leaves)
        with m.If(accept):
            m.d.sync += in_fold.eq(~self.left.payload.last)
        with m.If(begin):
            m.d.sync += [filled.eq(0), changing.eq(lag)]
        with m.Else():
            m.d.sync += filled.eq(filled + take)
            with m.If(changing != 0):
                m.d.sync += changing.eq(changing - 1)

        # Bit d: a row was accepted d + 1 cycles ago, and whether it was a tile's first.
        valid, first = Signal(lag + 1), Signal(lag)
        m.d.sync += [valid.eq(Cat(accept, valid)), first.eq(Cat(begin, first))]
        swap = Cat(begin, first)

        always = Const(1)
        lefts = delay(m, always, self.left.payload["values"],
                      _lines("skew_left", range(0, STAGES * self.rows, STAGES), OPERAND_WIDTH))
        sums = []
        for i, row in enumerate(self.pes):
            value, active = lefts[i], []
            for j, pe in enumerate(row):
                m.submodules[f"pe_{i}_{j}"] = pe
                spare, held, right = (Signal(OPERAND_WIDTH, name=f"{name}_{i}_{j}")
                                      for name in ("spare", "held", "right"))
                with m.If(take & (filled == i)):
                    m.d.sync += spare.eq(self.weights.payload[j])
                with m.If(swap[STAGES * i + j]):
                    m.d.sync += held.eq(spare)
                m.d.sync += right.eq(value)
                value = right
                payload, low = pe.operands.payload, Const(0, SUM_WIDTH - OPERAND_WIDTH)
                m.d.comb += [
                    pe.operands.valid.eq(self.pes[i - 1][j].result.valid if i else valid[j]),
                    payload.a.eq(Cat(low, right)),
                    payload.b.eq(Cat(low, held)),
                    payload.c.eq(self.pes[i - 1][j].result.payload if i else 0),
                    pe.result.ready.eq(1),
                ]
                active.append(valid[STAGES * i + j])
            sums = [Cat(pe.result.payload, pe.result.valid) for pe in row]
            m.d.comb += self.active[i * self.columns:(i + 1) * self.columns].eq(Cat(*active))

        ends = delay(m, always, sums,
                     _lines("skew_sums", range(self.columns - 1, -1, -1), SUM_WIDTH + 1))
        m.d.comb += [queue.w_data.eq(Cat(end[:SUM_WIDTH] for end in ends)),
                     queue.w_en.eq(Cat(end[SUM_WIDTH] for end in ends).all()),
                     self.results.valid.eq(queue.r_rdy), queue.r_en.eq(self.results.ready),
                     self.results.payload.eq(queue.r_data)]
        return m
