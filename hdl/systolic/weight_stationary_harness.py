"""Traffic, measurement and a check of the results where an operand stays, in hardware.

What is checked are row checksums: with a weight w_j for each column, the sum over j of w_j C_tj
equals the sum over i of A_ti (the sum over j of w_j B_ij).

It has no model of its own: what it must measure are the bounds in
golden/systolic/stationary_bounds.py.
"""

from amaranth.hdl import Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.fifo import SyncFIFO
from amaranth.utils import ceil_log2

from cyclebound.hdl.systolic.array_harness import ArrayHarness, Place, Side, Traffic
from cyclebound.hdl.systolic.input_stationary import InputStationaryArray
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray

__all__ = ["InputStationaryHarness", "WeightStationaryHarness"]


class WeightStationaryHarness(ArrayHarness):
    """The weight-stationary array in its harness.

    A product of m x k x n has ``ceil(k / rows) * ceil(n / columns)`` folds of m steps. Its MACs are
    timed from the first row of weights, or with ``from_mac`` from the first MAC. ``checked`` counts
    rows of sums.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width, double_buffer
        Of the array.
    bins : int
        Of the histograms of latencies.
    """

    _make, _stays = WeightStationaryArray, "weights"

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32,
                 double_buffer=True, bins=64):
        # Each fold's first row is at least `rows` after the one before, and r + c + 1 under way.
        super().__init__(
            self._make(
                rows=rows, columns=columns, operand_width=operand_width,
                accumulator_width=accumulator_width, double_buffer=double_buffer),
            bins=bins, in_flight=(rows + columns + 1) // rows + 4, settings={"from_mac": 1})

    def traffic(self, m, kept, clear):
        """Rows of weights, as many as the array has for each fold, and rows of A."""
        array, steps, folds = self.array, kept["steps"], kept["folds"]
        strobes = {}
        stays = getattr(array, self._stays)
        for name in (self._stays, "left", "results"):
            port = getattr(array, name)
            strobes[name] = Signal(name=f"{name}_moves")
            m.d.comb += strobes[name].eq(port.valid & port.ready)
        weights = Place(m, "weights", strobes[self._stays], array.rows, folds, clear)
        left = Place(m, "left", strobes["left"], steps, folds, clear)
        first_mac = Place(m, "first_mac", array.active[0], steps, folds, clear)
        m.d.comb += array.left.payload.last.eq(left.last_step)
        return Traffic(
            sides=(Side("weights", stays, stays.payload, weights),
                   Side("left", array.left, array.left.payload["values"], left)),
            result=Place(m, "result", strobes["results"], steps, folds, clear),
            first_mac=first_mac,
            last_mac=Place(m, "last_mac", array.active[-1], steps, folds, clear),
            macs_begin=Mux(kept["from_mac"], first_mac.first, weights.first))

    def check(self, m, traffic):
        """Compare the checksum of each row of sums with the one from its operands.

        Column j has the weight 2 (columns - j) - 1. They are odd, so that no error of a single
        element is lost in the modulus, and they differ, so that columns cannot change places.
        """
        array = self.array
        weights, left = (side.place for side in traffic.sides)
        total = array.accumulator_width
        across = data.ArrayLayout(signed(array.operand_width + ceil_log2(array.columns**2)),
                                  array.rows)

        def weighted(values):
            return sum((2 * (array.columns - j) - 1) * values[j] for j in range(array.columns))

        # From the operands: each row of weights in one number; a row of A times these.
        coming, used = Signal(across), Signal(across)
        which = Signal(range(array.rows))
        with m.If(weights.strobe):
            m.d.sync += which.eq(Mux(weights.last_step, 0, which + 1))
            with m.Switch(which):
                for i in range(array.rows):
                    with m.Case(i):
                        m.d.sync += coming[i].eq(weighted(getattr(array, self._stays).payload))
        if array.double_buffer:  # the next fold's weights may come from now on
            with m.If(left.strobe & left.first_step):
                m.d.sync += used.eq(coming)
        else:
            m.d.comb += used.eq(coming)
        row, moves = Signal(array.left.payload["values"].shape()), Signal()
        m.d.sync += [row.eq(array.left.payload["values"]), moves.eq(left.strobe)]
        m.submodules.queue = queue = SyncFIFO(width=total, depth=array.rows + array.columns + 4)
        expected = sum(row[i] * used[i] for i in range(array.rows))
        m.d.comb += [queue.w_data.eq(expected), queue.w_en.eq(moves)]

        # From the results.
        checksum, due = Signal(total), Signal()
        m.d.sync += [checksum.eq(weighted(array.results.payload)), due.eq(traffic.result.strobe)]
        m.d.comb += queue.r_en.eq(due)
        m.d.sync += self.checked.eq(self.checked + (due & queue.r_rdy))
        return (due & queue.r_rdy & (checksum != queue.r_data), due & ~queue.r_rdy,
                moves & ~queue.w_rdy)


class InputStationaryHarness(WeightStationaryHarness):
    """The input-stationary array in its harness.

    A product of m x k x n has ``ceil(k / rows) * ceil(m / columns)`` folds of n steps.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width, double_buffer, bins
        As of `WeightStationaryHarness`.
    """

    _make, _stays = InputStationaryArray, "inputs"
