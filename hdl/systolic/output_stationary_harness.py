"""Traffic, measurement and a check of the results for the output-stationary array, in hardware.

Random operands, cut into products of as many folds as asked for, one behind the other. The products
are not computed a second time. What is checked are column checksums, as in algorithm-based fault
tolerance: with a weight w_i for each row, the sum over i of w_i C_ij equals the sum over k of
(the sum over i of w_i A_ik) B_kj.

Ref: Huang and Abraham, "Algorithm-based fault tolerance for matrix operations", IEEE Transactions
on Computers C-33(6), 1984. There, all weights are 1.

It has no model of its own: what it must measure are the bounds in golden/systolic/bounds.py.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.harness.faults import OUTPUT_STATIONARY
from cyclebound.golden.harness.lfsr_spec import COIN_SEED, COIN_STEPS, COIN_WIDTH, LANE_WIDTH
from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.harness.latency_recorder import LatencyRecorder
from cyclebound.hdl.harness.lfsr import Lfsr
from cyclebound.hdl.harness.lfsr_source import LfsrSource
from cyclebound.hdl.systolic.output_stationary import OutputStationaryArray

__all__ = ["OutputStationaryHarness"]

_TOP_SEED = 0xD1B5_4A32_D192_ED03   # tells the top's operands from the left ones
_SINK_SEED = 0x2545_F491            # and the sink's coin from both
_FOLDS = 4    # in flight at once: draining, finished, and accepted meanwhile; one to spare
_SETTLE = 4   # cycles from the last row to the last effect on an output


class OutputStationaryHarness(wiring.Component):
    """The array between its traffic, its recorders and the check of its results.

    A product has ``folds`` folds of ``k`` steps: it stands for an m x k x n product that is cut
    into that many tiles. Products follow each other without a pause.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width : int
        Of the array.
    bins : int
        Of the histograms of latencies.

    Members
    -------
    start : In(1)
        Begin a measurement; ignored while there is one. All inputs but ``histogram_address`` are
        read then.
    k : In(16)
        Steps of each fold, at least 1.
    folds : In(16)
        Folds of each product, at least 1.
    repetitions : In(32)
        Products, at least 1.
    offers, sink : In(9)
        Chance of a new offer of operands on either side, and that the sink is ready, in 1/256 and
        each cycle; 256: always.
    seed : In(64)
        Of the operands, and of all chances.
    limit, macs_limit : In(32)
        The bounds of a product and of its MAC steps, in cycles; 0: none.
    histogram_address : In(range(bins))
        Bin to read.
    done : Out(1)
        What was started has ended, or a fault has ended it.
    count, minimum, maximum, histogram_count : Out(32)
        Products, their least and greatest latency, and those in the bin addressed in the cycle
        before. Measured from the first operands accepted to the last row taken.
    macs_count, macs_minimum, macs_maximum, macs_histogram_count : Out(32)
        The same from the first MAC of a product to its last.
    failed : Out(len(OUTPUT_STATIONARY))
        Sticky: faults that occurred.
    checked : Out(32)
        Folds whose checksums were compared, since reset and modulo 2**32.

    Attributes
    ----------
    array : OutputStationaryArray
        The array under test.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32, bins=1024):
        self.array = OutputStationaryArray(rows=rows, columns=columns, operand_width=operand_width,
                                           accumulator_width=accumulator_width)
        self.bins = bins
        super().__init__({
            "start": In(1), "k": In(16), "folds": In(16), "repetitions": In(32),
            "offers": In(9), "sink": In(9), "seed": In(LANE_WIDTH),
            "limit": In(32), "macs_limit": In(32), "histogram_address": In(range(bins)),
            "done": Out(1), "failed": Out(len(OUTPUT_STATIONARY)), "checked": Out(32),
            **{prefix + name: Out(32) for prefix in ("", "macs_")
               for name in ("count", "minimum", "maximum", "histogram_count")},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = self.array
        m.submodules.slot = slot = CheckerSlot(count=len(OUTPUT_STATIONARY))

        # Settings in registers: a simulator would work out all that depends on an input again at
        # each edge of the clock and each change of any input.
        kept = {name: Signal(getattr(self, name).shape(), name=f"set_{name}") for name in
                ("k", "folds", "repetitions", "offers", "sink", "limit", "macs_limit")}
        running, begin = Signal(), Signal()
        m.d.comb += begin.eq(self.start & ~running)
        with m.If(begin):
            m.d.sync += [register.eq(getattr(self, name)) for name, register in kept.items()]

        # Products are told apart by counting: operands, MACs of the first and last PE, and rows.
        taken, row = Signal(), Signal()
        m.d.comb += [
            taken.eq(array.left.valid & array.left.ready),
            row.eq(array.results.valid & array.results.ready),
        ]
        k, folds = kept["k"], kept["folds"]
        operand = _Place(m, "operand", taken, k, folds, begin)
        first_mac = _Place(m, "first_mac", array.active[0], k, folds, begin)
        last_mac = _Place(m, "last_mac", array.active[-1], k, folds, begin)
        result = _Place(m, "result", row, array.rows, folds, begin)
        m.d.comb += array.left.payload.last.eq(operand.last_step)

        recorders = [self._record(m, "product", begin, operand.first, result.last, kept["limit"]),
                     self._record(m, "macs", begin, first_mac.first, last_mac.last,
                                  kept["macs_limit"])]
        busy = recorders[0].busy | recorders[1].busy

        # A measurement: the recorders forget the one before, operands flow, the last rows leave.
        clearing, flowing, settle = Signal(), Signal(), Signal(_SETTLE)
        to_offer, to_come = Signal(32), Signal(32)
        m.d.sync += settle.eq(settle << 1)
        with m.If(begin):
            m.d.sync += [running.eq(1), self.done.eq(0), clearing.eq(1),
                         to_offer.eq(self.repetitions), to_come.eq(self.repetitions)]
        with m.If(clearing & ~busy):
            m.d.sync += [clearing.eq(0), flowing.eq(1)]
        with m.If(operand.last):
            m.d.sync += [to_offer.eq(to_offer - 1), flowing.eq(to_offer != 1)]
        with m.If(result.last):
            m.d.sync += [to_come.eq(to_come - 1), settle[0].eq(to_come == 1)]
        with m.If(settle[-1] | (running & slot.any)):
            m.d.sync += [running.eq(0), flowing.eq(0), self.done.eq(1)]

        self._traffic(m, begin, flowing, kept)
        wrong, unasked, missing = self._check(m, operand, result)
        m.d.comb += [
            slot.faults.eq(Cat(wrong, unasked, missing,
                               recorders[0].violated | recorders[1].violated,
                               recorders[0].overflow | recorders[0].underflow
                               | recorders[1].overflow | recorders[1].underflow)),
            self.failed.eq(slot.failed),
        ]
        return m

    def _record(self, m, name, begin, accept, complete, limit):
        """A recorder, cleared at the beginning, whose results are outputs."""
        recorder = LatencyRecorder(depth=1, bins=self.bins, in_flight=_FOLDS)
        m.submodules[f"{name}_recorder"] = recorder
        m.d.comb += [
            recorder.clear.eq(begin),
            recorder.accept.eq(accept),
            recorder.complete.eq(complete),
            recorder.limit.eq(limit),
            recorder.histogram_address.eq(self.histogram_address),
        ]
        prefix = "" if name == "product" else f"{name}_"
        m.d.comb += [getattr(self, prefix + result).eq(getattr(recorder, result))
                     for result in ("count", "minimum", "maximum", "histogram_count")]
        return recorder

    def _traffic(self, m, begin, flowing, kept):
        """Operands on both sides while they flow, and a sink that is ready by chance."""
        array = self.array
        sides = ((array.left, array.left.payload["values"], self.seed),
                 (array.top, array.top.payload, self.seed ^ _TOP_SEED))
        for name, (side, values, seed) in zip(("left", "top"), sides, strict=True):
            m.submodules[name] = source = LfsrSource(shape=len(Value.cast(values)))
            m.d.comb += [
                source.enable.eq(flowing),
                source.threshold.eq(kept["offers"]),
                source.load.eq(begin),
                source.seed.eq(seed),
                side.valid.eq(source.source.valid & flowing),
                Value.cast(values).eq(source.source.payload),
                # what is left over is thrown away, so that the next measurement can start anew
                source.source.ready.eq(side.ready | ~flowing),
            ]
        m.submodules.coin = coin = Lfsr(width=COIN_WIDTH, steps=COIN_STEPS,
                                        init=COIN_SEED ^ _SINK_SEED)
        m.d.comb += [
            coin.enable.eq(1),
            coin.load.eq(begin),
            coin.seed.eq(self.seed ^ _SINK_SEED),
            array.results.ready.eq(coin.value[:COIN_STEPS] < kept["sink"]),
        ]

    def _check(self, m, operand, result):
        """Compare the checksum of each column of each fold with the one from its operands.

        Row i has the weight 2 (rows - i) - 1. They are odd, so that no error of a single element
        is lost in the modulus, and they differ, so that rows cannot change places.
        """
        array = self.array
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

        m.submodules.queue = queue = SyncFIFO(width=len(Value.cast(expected)), depth=_FOLDS)
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


class _Place:
    """Where the next strobe is: which step of which fold of its product.

    ``first`` and ``last`` are those strobes with which a product begins and ends; ``first_step``
    and ``last_step`` are levels, and say that the next strobe begins or ends a fold.
    """

    def __init__(self, m, name, strobe, steps, folds, clear):
        step, fold = Signal(16, name=f"{name}_step"), Signal(16, name=f"{name}_fold")
        self.strobe = strobe
        self.first_step, self.last_step = step == 0, step == steps - 1
        last_fold = fold == folds - 1
        self.first = strobe & self.first_step & (fold == 0)
        self.last = strobe & self.last_step & last_fold
        with m.If(clear):
            m.d.sync += [step.eq(0), fold.eq(0)]
        with m.Elif(strobe):
            m.d.sync += step.eq(Mux(self.last_step, 0, step + 1))
            with m.If(self.last_step):
                m.d.sync += fold.eq(Mux(last_fold, 0, fold + 1))
