"""Traffic, measurement and a check of the results for the output-stationary array, in hardware.

What is checked are column checksums: with a weight w_i for each row, the sum over i of w_i C_ij
equals the sum over k of (the sum over i of w_i A_ik) B_kj.

It has no model of its own: what it must measure are the bounds in golden/systolic/bounds.py.
"""

from amaranth.hdl import Cat, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.fifo import SyncFIFO
from amaranth.utils import ceil_log2

from cyclebound.hdl.systolic.array_harness import ArrayHarness, Place, Side, Traffic
from cyclebound.hdl.systolic.output_stationary import OutputStationaryArray
from cyclebound.hdl.systolic.overlapped_output import OverlappedOutputArray

__all__ = ["OutputStationaryHarness", "OverlappedOutputHarness"]


class OutputStationaryHarness(ArrayHarness):
    """The output-stationary array in its harness.

    A product of m x k x n has ``ceil(m / rows) * ceil(n / columns)`` folds of k steps. Its MACs are
    timed from the first one. ``checked`` counts folds.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width : int
        Of the array.
    bins : int
        Of the histograms of latencies.
    """

    _make = OutputStationaryArray

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32, bins=64):
        super().__init__(self._make(
            rows=rows, columns=columns, operand_width=operand_width,
            accumulator_width=accumulator_width), bins=bins,
            in_flight=self._in_flight(rows, columns))

    def _in_flight(self, rows, columns):
        """Products that may be under way at once, and folds whose checksums may wait.

        Folds are at least ``rows + columns - 1`` apart, and the last row of one leaves
        2 rows + columns + 2 cycles after its first operands.
        """
        return (2 * rows + columns + 2) // (rows + columns - 1) + 3

    def traffic(self, m, kept, clear):
        """Track the position of each stream in its product; both operands are taken together."""
        array, steps, folds = self.array, kept["steps"], kept["folds"]
        taken, row = Signal(), Signal()
        m.d.comb += [
            taken.eq(array.left.valid & array.left.ready),
            row.eq(array.results.valid & array.results.ready),
        ]
        operand = Place(m, "operand", taken, steps, folds, clear)
        first_mac = Place(m, "first_mac", array.active[0], steps, folds, clear)
        m.d.comb += array.left.payload.last.eq(operand.last_step)
        return Traffic(
            sides=(Side("left", array.left, array.left.payload["values"], operand),
                   Side("top", array.top, array.top.payload, operand)),
            result=Place(m, "result", row, array.rows, folds, clear),
            first_mac=first_mac,
            last_mac=Place(m, "last_mac", array.active[-1], steps, folds, clear),
            macs_begin=first_mac.first)

    def check(self, m, traffic):
        """Compare the checksum of each column of each fold with the one from its operands.

        Row i has the weight 2 (rows - i) - 1. They are odd, so that no error of a single element
        is lost in the modulus, and they differ, so that rows cannot change places.
        """
        array, operand, result = self.array, traffic.sides[0].place, traffic.result
        total = signed(array.accumulator_width)
        sums = data.ArrayLayout(total, array.columns)

        # From the operands: the weighted sum of a column of A, and then its products.
        left = sum((2 * (array.rows - i) - 1) * array.left.payload["values"][i]
                   for i in range(array.rows))
        column = Signal(signed(array.operand_width + ceil_log2(array.rows**2)))
        across = Signal(array.top.payload.shape())
        moves, first, last, closed = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            moves.eq(operand.strobe), first.eq(operand.first_step),
            last.eq(operand.strobe & operand.last_step), closed.eq(last),
            column.eq(left), across.eq(array.top.payload),
        ]
        expected = Signal(sums)
        with m.If(moves):
            m.d.sync += [expected[j].eq(Mux(first, 0, expected[j]) + column * across[j])
                         for j in range(array.columns)]

        m.submodules.queue = queue = SyncFIFO(width=len(Value.cast(expected)), depth=self.in_flight)
        m.d.comb += [queue.w_data.eq(expected), queue.w_en.eq(closed)]

        # From the results: the sum of the rows, and the sum of these sums.
        plain, summed = Signal(sums), Signal(sums)
        due = Signal()
        m.d.sync += due.eq(result.strobe & result.last_step)
        with m.If(result.strobe):
            for j in range(array.columns):
                now = Mux(result.first_step, 0, plain[j]) + array.results.payload[j]
                m.d.sync += [
                    plain[j].eq(now),
                    summed[j].eq(Mux(result.first_step, 0, summed[j]) + now),
                ]
        wanted = Signal(sums)
        m.d.comb += [wanted.eq(queue.r_data), queue.r_en.eq(due)]
        differ = Cat(*(((summed[j] << 1) - plain[j] - wanted[j])[:array.accumulator_width] != 0
                       for j in range(array.columns))).any()
        m.d.sync += self.checked.eq(self.checked + (due & queue.r_rdy))
        return due & queue.r_rdy & differ, due & ~queue.r_rdy, closed & ~queue.w_rdy


class OverlappedOutputHarness(OutputStationaryHarness):
    """The output-stationary array whose folds overlap in the same harness."""

    _make = OverlappedOutputArray

    def _in_flight(self, rows, columns):
        """Folds are at least ``rows`` apart, and a row is 2 rows + columns + 3 under way."""
        return (2 * rows + columns + 3) // rows + 4
