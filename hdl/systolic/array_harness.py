"""Traffic and measurement for systolic arrays, in hardware; what they have in common.

Random operands, cut into products of as many folds as asked for, one after the other. The products
are not computed a second time. The checks are checksums, as in algorithm-based fault
tolerance: a weighted sum of the results equals the same sum taken over the operands.

Ref: Huang and Abraham, "Algorithm-based fault tolerance for matrix operations", IEEE Transactions
on Computers C-33(6), 1984. There, all weights are 1.

It has no model of its own: what it must measure are the bounds in golden/systolic; each array's
harness and its testbench cover it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.harness.faults import SYSTOLIC_ARRAY
from cyclebound.golden.harness.lfsr_spec import COIN_SEED, COIN_STEPS, COIN_WIDTH, LANE_WIDTH
from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.harness.latency_recorder import LatencyRecorder
from cyclebound.hdl.harness.lfsr import Lfsr
from cyclebound.hdl.harness.lfsr_source import LfsrSource

__all__ = ["ArrayHarness", "Place", "Side", "Traffic"]

_SIDE_SEEDS = (0, 0xD1B5_4A32_D192_ED03)  # tell one side's operands from the other's
_SINK_SEED = 0x2545_F491                  # and the sink's coin from both
_SETTLE = 4   # cycles from the last row to the last effect on an output


class Place:
    """Position of the next strobe in its product: a step of a fold.

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


@dataclass
class Side:
    """A stream of random operands.

    Attributes
    ----------
    name : str
        Of the source.
    stream : stream interface
        The array's port.
    values : ValueCastable
        The part of its payload that is random.
    place : Place
        Where the next operand is.
    """

    name: str
    stream: object
    values: object
    place: Place


@dataclass
class Traffic:
    """Signals of the product under way: its operands, and when its results and MACs come.

    Attributes
    ----------
    sides : tuple of Side
        The streams of operands.
    result, first_mac, last_mac : Place
        Where the next row of results is, and the next MACs of the first and the last PE.
    macs_begin : Value
        Strobe from which the MACs of a product are timed.
    """

    sides: tuple[Side, ...]
    result: Place
    first_mac: Place
    last_mac: Place
    macs_begin: Value


class ArrayHarness(wiring.Component, ABC):
    """An array between its traffic, its recorders and the check of its results.

    A product has ``folds`` folds of ``steps`` steps: it stands for a product of matrices that is
    cut into that many tiles. Subclasses say which streams there are, and check the results.

    Parameters
    ----------
    array : wiring.Component
        The array under test, with ``active``, and ``results`` in rows.
    bins : int
        Of the histograms of latencies.
    in_flight : int
        Products that may be under way at once.
    settings : mapping
        More members that are settings: their shapes by name.

    Members
    -------
    start : In(1)
        Begin a measurement; ignored while there is one. All inputs but ``histogram_address`` are
        read then.
    steps : In(16)
        Steps of each fold, at least 1.
    folds : In(16)
        Folds of each product, at least 1.
    repetitions : In(32)
        Products, at least 1.
    apart : In(1)
        A product is offered when the one before has left; else as soon as it may.
    offers, sink : In(9)
        Chance of a new offer of operands on either side, and that the sink is ready, in 1/256 and
        each cycle; 256: always.
    seed : In(64)
        Of the operands, and of all chances.
    limit, macs_limit : In(32)
        The bounds of a product and of its MACs, in cycles; 0: none.
    histogram_address : In(range(bins))
        Bin to read.
    done : Out(1)
        The measurement has ended, also by a fault.
    count, minimum, maximum, histogram_count : Out(32)
        Products, their least and greatest latency, and those in the bin addressed in the cycle
        before. Measured from the first operands accepted to the last row taken.
    macs_count, macs_minimum, macs_maximum, macs_histogram_count : Out(32)
        As the four above, measured to the last MAC of a product.
    failed : Out(len(SYSTOLIC_ARRAY))
        Sticky: faults that occurred.
    checked : Out(32)
        Checksums that were compared, since reset and modulo 2**32.

    Attributes
    ----------
    array : wiring.Component
        The array under test.
    """

    def __init__(self, array, *, bins, in_flight=4, settings=None):
        self.array = array
        self.bins = bins
        self.in_flight = in_flight
        self._settings = settings or {}
        super().__init__({
            "start": In(1), "steps": In(16), "folds": In(16), "repetitions": In(32),
            "apart": In(1), "offers": In(9), "sink": In(9), "seed": In(LANE_WIDTH),
            "limit": In(32), "macs_limit": In(32), "histogram_address": In(range(bins)),
            "done": Out(1), "failed": Out(len(SYSTOLIC_ARRAY)), "checked": Out(32),
            **{prefix + name: Out(32) for prefix in ("", "macs_")
               for name in ("count", "minimum", "maximum", "histogram_count")},
            **{name: In(shape) for name, shape in self._settings.items()},
        })

    @abstractmethod
    def traffic(self, m, kept, clear):
        """The `Traffic` of the array; ``kept`` holds the settings, ``clear`` begins anew."""

    @abstractmethod
    def check(self, m, traffic):
        """Compare checksums: strobes for a wrong one, one not expected, one that got lost."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = self.array
        m.submodules.slot = slot = CheckerSlot(count=len(SYSTOLIC_ARRAY))

        # Settings in registers: a simulator would work out all that depends on an input again at
        # each edge of the clock and each change of any input.
        kept = {name: Signal(getattr(self, name).shape(), name=f"set_{name}") for name in
                ("steps", "folds", "repetitions", "apart", "offers", "sink", "limit",
                 "macs_limit", *self._settings)}
        running, begin = Signal(), Signal()
        m.d.comb += begin.eq(self.start & ~running)
        with m.If(begin):
            m.d.sync += [register.eq(getattr(self, name)) for name, register in kept.items()]

        # Products are told apart by counting: operands, MACs of the first and last PE, and rows.
        traffic = self.traffic(m, kept, begin)
        first, result = traffic.sides[0].place.first, traffic.result
        recorders = [self._record(m, "product", begin, first, result.last, kept["limit"]),
                     self._record(m, "macs", begin, traffic.macs_begin, traffic.last_mac.last,
                                  kept["macs_limit"])]
        busy = recorders[0].busy | recorders[1].busy

        # A measurement: the recorders forget the one before, operands flow, the last rows leave.
        clearing, settle, to_come = Signal(), Signal(_SETTLE), Signal(32)
        m.d.sync += settle.eq(settle << 1)
        with m.If(begin):
            m.d.sync += [running.eq(1), self.done.eq(0), clearing.eq(1),
                         to_come.eq(self.repetitions)]
        begins, ends = Signal(), Signal()
        m.d.comb += [begins.eq(clearing & ~busy), ends.eq(settle[-1] | (running & slot.any))]
        with m.If(begins):
            m.d.sync += clearing.eq(0)
        with m.If(result.last):
            m.d.sync += [to_come.eq(to_come - 1), settle[0].eq(to_come == 1)]
        with m.If(ends):
            m.d.sync += [running.eq(0), self.done.eq(1)]

        for side, mix in zip(traffic.sides, _SIDE_SEEDS, strict=True):
            self._offer(m, side, self.seed ^ mix, begin, begins, ends, result.last, kept)
        m.submodules.coin = coin = Lfsr(width=COIN_WIDTH, steps=COIN_STEPS,
                                        init=COIN_SEED ^ _SINK_SEED)
        m.d.comb += [
            coin.enable.eq(1),
            coin.load.eq(begin),
            coin.seed.eq(self.seed ^ _SINK_SEED),
            array.results.ready.eq(coin.value[:COIN_STEPS] < kept["sink"]),
        ]

        wrong, unasked, missing = self.check(m, traffic)
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
        recorder = LatencyRecorder(depth=1, bins=self.bins, in_flight=self.in_flight)
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

    def _offer(self, m, side, seed, begin, begins, ends, left, kept):
        """Operands on a side for all products, each perhaps only when the one before has left."""
        flowing = Signal(name=f"{side.name}_flowing")
        waiting = Signal(name=f"{side.name}_waiting")
        to_offer = Signal(32, name=f"{side.name}_to_offer")
        with m.If(begin):
            m.d.sync += [to_offer.eq(self.repetitions), waiting.eq(0)]
        with m.Elif(side.place.last):
            m.d.sync += [to_offer.eq(to_offer - 1), waiting.eq(kept["apart"] & ~left)]
        with m.Elif(left):
            m.d.sync += waiting.eq(0)
        with m.If(ends | (side.place.last & (to_offer == 1))):
            m.d.sync += flowing.eq(0)
        with m.Elif(begins):
            m.d.sync += flowing.eq(1)

        m.submodules[side.name] = source = LfsrSource(shape=len(Value.cast(side.values)))
        m.d.comb += [
            source.enable.eq(flowing),
            source.threshold.eq(kept["offers"]),
            source.load.eq(begin),
            source.seed.eq(seed),
            side.stream.valid.eq(source.source.valid & flowing & ~waiting),
            Value.cast(side.values).eq(source.source.payload),
            # what is left over is thrown away, so that the next measurement can start anew
            source.source.ready.eq((side.stream.ready & ~waiting) | ~flowing),
        ]
