"""Bound checkers of the row-stationary array: they read its ports and drive none.

Ref: golden/systolic/row_stationary.py; docs/systolic.md.
"""

from amaranth.hdl import Assert, Cat, Const, Cover, Mux, Signal

from cyclebound.tb.streams_properties import StreamsCheck

__all__ = ["RowStationaryCheck", "RowStationaryProof"]


class RowStationaryCheck(StreamsCheck):
    """A pass takes ``taps`` words of weights, and then columns of the image, each as soon as the
    PEs are done with the one before; each column but the first ``taps`` - 1 makes one column of the
    result, on offer ``rows + taps + 1`` steps later, and nothing else does; the row of PEs at the
    bottom works on it in the ``taps`` steps after it was taken, each one above a step later. In a
    step no result is refused.

    Parameters
    ----------
    target : RowStationaryArray
        The array, or a component with the same members, ``rows``, ``columns`` and ``taps``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    weighed, filled : Signal
        Weights, and columns of the image, of this pass; of these up to ``taps``.
    left_over : Signal
        Steps until the PEs are done with the last column.
    ending : Signal
        The last column of the pass has come.
    due : Signal
        Bit d: a column that makes a result was taken d + 1 steps ago.
    works : list of Signal
        By row of PEs: it executes, in a step.
    """

    def __init__(self, target):
        super().__init__(target)
        self.rows, self.columns, self.taps = target.rows, target.columns, target.taps
        self.weighed, self.filled, self.left_over = (
            Signal(range(self.taps + 1), name=name) for name in ("weighed", "filled", "left_over"))
        self.ending, self.due = Signal(), Signal(self.rows + self.taps + 1)
        self.works = [Signal(name=f"works_{row}") for row in range(self.rows)]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        weights, left, results = self.weights, self.left, self.results
        step, accept, makes, over = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            step.eq(~results.valid | results.ready),
            accept.eq(left.valid & left.ready),
            makes.eq(accept & (self.filled >= self.taps - 1)),
            over.eq(self.left_over <= 1),
            self.works[-1].eq(self.left_over != 0),
        ]
        with m.If(weights.valid & weights.ready):
            m.d.sync += self.weighed.eq(self.weighed + 1)
        with m.If(step):
            m.d.sync += [
                self.due.eq(Cat(makes, self.due)),
                self.left_over.eq(Mux(makes, self.taps, Mux(over, 0, self.left_over - 1))),
                *(above.eq(below) for above, below in zip(self.works, self.works[1:],
                                                          strict=False)),
            ]
        ends = Mux(accept, left.payload.last & ~makes, step & self.ending & over)
        with m.If(accept):
            m.d.sync += [self.filled.eq(Mux(self.filled == self.taps, self.taps, self.filled + 1)),
                         self.ending.eq(left.payload.last & makes)]
        with m.If(ends):
            m.d.sync += [self.weighed.eq(0), self.filled.eq(0), self.ending.eq(0)]
        every = self.weighed == self.taps
        m.d.sync += [
            Assert(weights.ready == (step & ~every), "weights are refused, or too many are taken"),
            Assert(left.ready == (step & every & ~self.ending & over),
                   "a column is refused without a reason, or taken before its time"),
            Assert(results.valid == self.due[-1], "a result is early, late, or of no column"),
            *(Assert(self.active[row * self.columns + column] == (step & works),
                     "a PE executes nothing, or not what it should")
              for row, works in enumerate(self.works) for column in range(self.columns)),
            Cover(results.valid & accept, "a result leaves while a column is taken"),
        ]
        return m


class RowStationaryProof(RowStationaryCheck):
    """`RowStationaryCheck`, and what holds inside: the array knows of each column what the checker
    does.

    Parameters
    ----------
    target : RowStationaryArray
        The array itself.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, taps, due = self._target, self.taps, self.due
        busy = self.left_over != 0
        m.d.sync += [
            Assert(target._loaded == self.weighed, "invariant: weights"),
            Assert(target._filled == self.filled, "invariant: columns"),
            Assert(target._ending == self.ending, "invariant: the last column"),
            Assert(target._executes == busy, "invariant: it executes"),
            Assert(target._tap == Mux(busy, taps - self.left_over, Const(0)), "invariant: the tap"),
            Assert(~self.ending | busy, "invariant: the last column is under way"),
            Assert(self.left_over <= taps, "invariant: so many steps"),
            Assert((self.weighed <= taps) & (self.filled <= taps), "invariant: so many at most"),
            Assert((self.filled == 0) | (self.weighed == taps), "invariant: weights come first"),
            Assert(~busy | (self.filled == taps), "invariant: there are columns enough"),
            *(Assert(due[number] == (self.left_over == taps - number), "invariant: it is due")
              for number in range(taps)),
            *(Assert(register == due[taps + number], "invariant: the result is on its way")
              for number, register in enumerate(target._history["done"])),
            *(Assert(executing == works, "invariant: rows follow each other") for executing, works
              in zip(target._executing[:-1], self.works[:-1], strict=True)),
        ]
        return m
