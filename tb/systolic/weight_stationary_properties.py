"""Bound checkers of the weight-stationary array: they read its ports and drive none.

`WeightStationaryCheck` knows the protocol and the timing, at any size: what is taken and when, and
that a row of sums follows each row of A after r + c + 1 steps, so that none is lost or invented.
`WeightStationaryProductCheck` computes the sums. `WeightStationaryProof` looks inside as well; it
is for induction, and so are `WeightStationaryBoundProof`, of how long whole products take, and what
weight_stationary_values.py says of the sums.

Ref: thesis on AI accelerators, chapter 5.2 (Table 5.2).
"""

import itertools

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, signed
from amaranth.lib import data

from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.probe_state import counted
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["ArrayWatcher", "WeightStationaryBoundProof", "WeightStationaryCheck",
           "WeightStationaryProductCheck", "WeightStationaryProof"]


class ArrayWatcher(Watcher):
    """Sees the array's ports, and what is taken; knows its shape."""

    def __init__(self, target):
        self.rows, self.columns = target.rows, target.columns
        self.operand_width = target.operand_width
        self.accumulator_width = target.accumulator_width
        self.double_buffer = target.double_buffer
        super().__init__(target)
        self.in_fold = Signal()

    def strobes(self, m):
        """A step; weights, a row of A, and the first of a fold are taken."""
        step, take, accept, begin = (Signal(name=name) for name in
                                     ("step", "take", "accept", "begin"))
        m.d.comb += [
            step.eq(~self.results.valid | self.results.ready),
            take.eq(self.weights.valid & self.weights.ready),
            accept.eq(self.left.valid & self.left.ready),
            begin.eq(accept & ~self.in_fold),
        ]
        with m.If(accept):
            m.d.sync += self.in_fold.eq(~self.left.payload.last)
        return step, take, accept, begin


class WeightStationaryCheck(ArrayWatcher):
    """Protocol and timing of a `WeightStationaryArray`.

    Assumes that operands on offer stay until they are taken. Holds in any other traffic, from
    reset on.

    Parameters
    ----------
    target : WeightStationaryArray
        The array, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    in_fold : Signal
        A fold has begun, and its last row of A is not accepted.
    ahead : Signal
        Rows of weights accepted for the fold to come.
    history : Signal
        Bit *s*: a row of A was accepted *s* + 1 steps ago.
    """

    def __init__(self, target):
        super().__init__(target)
        self.ahead = Signal(range(self.rows + 1))
        self.history = Signal(self.rows + self.columns + 1)

    def elaborate(self, platform):
        m = Module()
        step, take, accept, begin = self.strobes(m)
        m.d.sync += self.ahead.eq(Mux(begin, take & self.double_buffer, self.ahead + take))
        with m.If(step):
            m.d.sync += self.history.eq(Cat(accept, self.history))

        whole = self.ahead == self.rows
        if self.double_buffer:
            weights, left = ~whole | begin, self.in_fold | whole
        else:
            macs = self.history[:self.rows + self.columns - 1].any()
            weights = ~whole & ~self.in_fold & ~macs
            left = self.in_fold | whole | (take & (self.ahead == self.rows - 1))
        front = Mux(step, self.history, 0)
        m.d.sync += [
            Assert(self.weights.ready == (step & weights), "weights out of turn, or refused"),
            Assert(self.left.ready == (step & left), "operands out of turn, or refused"),
            Assert(self.results.valid == self.history[-1], "sums are missing, or of no operands"),
            Assert(self.active == Cat(front[i:i + self.columns] for i in range(self.rows)),
                   "active PEs are not the wavefront"),
        ]
        for name, claim in (("weights", stays), ("left", stays), ("results", Assert)):
            claim_kept(m, name, getattr(self, name), claim)
        return m


class WeightStationaryProductCheck(ArrayWatcher):
    """Sums of a `WeightStationaryArray` are a row of A times the weights of its fold.

    It multiplies a row in the cycle in which it is accepted, and keeps the sums until they are due.

    Parameters
    ----------
    target : WeightStationaryArray
        The array, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    coming, used : Signal
        Weights of the fold to come, and of the one whose operands are accepted.
    place : Signal
        The next row of ``coming``.
    complete : Signal
        ``coming``, with the row that is accepted in this cycle if that is the last.
    line : list of Signal
        Sums of the rows under way, youngest first.
    """

    def __init__(self, target):
        super().__init__(target)
        tile = data.ArrayLayout(data.ArrayLayout(signed(self.operand_width), self.columns),
                                self.rows)
        self.coming, self.used, self.complete = (
            Signal(tile, name=name) for name in ("coming", "used", "complete"))
        entry = data.ArrayLayout(signed(self.accumulator_width), self.columns)
        self.line = [Signal(entry, name=f"sums_{age}")
                     for age in range(self.rows + self.columns + 1)]
        self.place = Signal(range(self.rows))

    def elaborate(self, platform):
        m = Module()
        step, take, _, begin = self.strobes(m)
        # With the last weights the first operands may come: then these are not in `coming` yet.
        complete, line = self.complete, self.line
        m.d.comb += complete.eq(self.coming)
        with m.If(take):
            m.d.sync += self.place.eq(Mux(self.place == self.rows - 1, 0, self.place + 1))
            with m.Switch(self.place):
                for i in range(self.rows):
                    with m.Case(i):
                        m.d.sync += self.coming[i].eq(self.weights.payload)
                        if not self.double_buffer:
                            m.d.comb += complete[i].eq(self.weights.payload)
        with m.If(begin):
            m.d.sync += self.used.eq(complete)

        with m.If(step):
            for j in range(self.columns):
                m.d.sync += line[0][j].eq(sum(
                    self.left.payload["values"][i] * Mux(begin, complete[i][j], self.used[i][j])
                    for i in range(self.rows)))
            m.d.sync += [later.eq(sooner) for sooner, later in itertools.pairwise(line)]
        with m.If(self.results.valid):
            m.d.sync += [Assert(self.results.payload[j] == line[-1][j], "sum is not the product")
                         for j in range(self.columns)]
        return m


class WeightStationaryProof(WeightStationaryCheck):
    """The check, and what holds inside a `WeightStationaryArray`, so that induction closes.

    Parameters
    ----------
    target : WeightStationaryArray
        The array itself.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        t = self.target
        m.d.sync += [
            Assert(t.filled == self.ahead, "weights ahead"),
            Assert(t.in_fold == self.in_fold, "in fold"),
            Assert(t.wave_valid == self.history, "wavefront"),
            Assert(self.ahead <= self.rows, "no more weights than rows"),
            Cover(self.results.valid & self.results.ready, "a row of sums leaves"),
        ]
        return m


class WeightStationaryBoundProof(WeightStationaryProof):
    """`WeightStationaryProof`, for what probes count of products of one shape.

    Assumes that every product is an ``m`` x ``k`` x ``n`` one, with as many folds of ``m`` rows of
    A as it has on this array, that its weights and its rows of A are on offer in every cycle from
    its first weights on until all are taken, that the sink is always ready, and that a product
    begins while the array is idle.

    Parameters
    ----------
    target : WeightStationaryArray
        The array itself.
    m, k, n : int
        The shape of the products.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    cycle : Signal
        The cycle of the product that is under way, from 0 on; 0 while there is none.
    weights_at, left_at : list of int
        The cycles in which rows of weights and of A are taken.
    """

    def __init__(self, target, *, m, k, n):
        super().__init__(target)
        rows, columns = self.rows, self.columns
        mapped = map_product(Dataflow.WEIGHT, rows=rows, columns=columns, m=m, k=k, n=n)
        self.time, self.folds = time, folds = mapped.time, mapped.folds
        if self.double_buffer:  # the next fold's weights come with this one's rows of A
            pace, lead = max(time, rows), rows
            loads = [0, *(rows + number * pace for number in range(folds - 1))]
        else:
            pace, lead = 2 * rows + columns + time - 2, rows - 1
            loads = [number * pace for number in range(folds)]
        self._firsts = [lead + number * pace for number in range(folds)]
        self.weights_at = [begin + row for begin in loads for row in range(rows)]
        self.left_at = [begin + row for begin in self._firsts for row in range(time)]
        self._length = self.left_at[-1] + rows + columns + 2
        self.cycle = Signal(range(self._length))

    def elaborate(self, platform):
        m = super().elaborate(platform)
        cycle, left = self.cycle, self.left
        begins, last, waits, left_waits = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq((cycle == 0) & self.weights.valid & self.weights.ready),
            # of a row on offer, which waits for its turn if it is the first of its fold
            last.eq(1 if self.time == 1 else
                    sum(cycle == first + self.time - 1 for first in self._firsts)),
        ]
        with m.If(begins | (cycle != 0)):
            m.d.sync += cycle.eq(Mux(cycle == self._length - 1, 0, cycle + 1))
        m.d.sync += [
            Assume(self.results.ready, "the sink is not ready"),
            waits.eq(self.weights.valid & ~self.weights.ready),
            left_waits.eq(left.valid & ~left.ready),
            owes((cycle == 0) | Mux(cycle <= self.weights_at[-1], self.weights.valid,
                                    ~self.weights.valid | waits),
                 "weights are late, or of the next product"),
            Assert(~waits | (cycle <= self.weights_at[-1]), "invariant: all weights are taken"),
            owes(~(self.weights.valid | (cycle != 0)) | (cycle > self.left_at[-1]) | left.valid,
                 "rows of A are late"),
            owes(~left.valid | left_waits | (left.payload.last == last),
                 "a fold of another length"),
            Assert(~left_waits | (left.payload.last == (self.time == 1)),
                   "invariant: what waits is the first of a fold"),
            Cover((cycle == self._length - 1) & self.results.valid,
                  "the last row of the last fold leaves"),
            *(Assert(fact, f"invariant: {text}") for fact, text in self.schedule()),
        ]
        return m

    def schedule(self):
        """Yield facts, with names, about the array's state in each cycle of a product."""
        yield self.cycle < self._length, "a cycle of the product"
        for cycle in range(self._length):
            here = self.cycle == cycle
            begun = sum(first < cycle for first in self._firsts)
            ahead = sum(arrival < cycle for arrival in self.weights_at) - self.rows * begun
            taken = sum(arrival < cycle for arrival in self.left_at)
            history = sum((cycle - 1 - age in self.left_at) << age
                          for age in range(len(self.history)))
            yield ~here | (self.ahead == ahead), f"weights ahead in cycle {cycle}"
            yield ~here | (self.in_fold == (taken < begun * self.time)), \
                f"whether a fold goes on in cycle {cycle}"
            yield ~here | (self.history == history), f"the wavefront in cycle {cycle}"

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold."""
        ages = {cycle: self.cycle == cycle for cycle in range(1, self._length)}
        diagonals = self.rows + self.columns - 1
        first_macs, last_macs, results = ([arrival + later for arrival in self.left_at]
                                          for later in (1, diagonals, diagonals + 2))
        events = {"fold": (first_macs, last_macs), "steps": (self.weights_at, last_macs),
                  "product": (self.weights_at, results)}
        for what, counters in probes.items():
            m.d.sync += [Assert(fact, f"invariant: {what}: {text}")
                         for fact, text in counted(counters[0], ages, ages, *events[what])]
