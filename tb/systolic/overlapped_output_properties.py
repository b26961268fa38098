"""Bound checkers of the output-stationary array whose folds overlap: they read its ports and drive
none.

Ref: thesis on AI accelerators, chapter 5.2.
"""

from amaranth.hdl import Assert, Cat, Cover, Mux, Signal

from cyclebound.tb.streams_properties import FoldRowsCheck

__all__ = ["OverlappedOutputCheck", "OverlappedOutputProof"]


class OverlappedOutputCheck(FoldRowsCheck):
    """`FoldRowsCheck`; operands are refused only while a row waits or where their fold would end
    less than ``rows`` cycles after the one before; PE (i, j) executes them 1 + i + j cycles after
    they were taken; and row i of a fold is on offer ``rows + columns + 2 + i`` cycles after its
    last operands were. Cycles in which the array is frozen, since a row was refused, do not count.

    Parameters
    ----------
    target : OverlappedOutputArray
        The array, or a component with the same members, ``rows`` and ``columns``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    frozen, soon : Signal
        A row was refused in the cycle before; no fold may end yet.
    taken, ended : Signal
        Bit d: operands were taken, or the last ones of a fold, d + 1 cycles ago.
    """

    def __init__(self, target):
        super().__init__(target)
        # the first row of a fold is on offer while its last operands are bit `first`
        self.first = self.rows + self.columns + 1
        self.frozen, self.soon = Signal(), Signal()
        self.taken = Signal(self.rows + self.columns - 1)
        self.ended = Signal(self.first + self.rows)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        left, top, results = self.left, self.top, self.results
        accept, last = Signal(), Signal()
        m.d.comb += [accept.eq(left.valid & left.ready), last.eq(left.payload.last)]
        m.d.sync += self.frozen.eq(results.valid & ~results.ready)
        with m.If(~self.frozen):
            m.d.sync += [self.taken.eq(Cat(accept, self.taken)),
                         self.ended.eq(Cat(accept & last, self.ended))]
        m.d.comb += self.soon.eq(Cat(self.ended[number] for number in range(self.rows - 1)).any())
        may = ~self.frozen & ~(last & self.soon)
        m.d.sync += [
            Assert(accept == (top.valid & top.ready), "one operand is taken without the other"),
            Assert(accept == (left.valid & top.valid & may),
                   "operands are refused without a reason, or taken before their time"),
            Assert(results.valid == (self.frozen | self.ended[self.first:].any()),
                   "a row is early, late, or of no fold"),
            *(Assert(self.active[i * self.columns + j] == (~self.frozen & self.taken[i + j]),
                     "a PE executes nothing, or not what it should")
              for i in range(self.rows) for j in range(self.columns)),
            Cover(results.valid & self.ended[:self.first].any(),
                  "a row leaves while the next fold is executed"),
        ]
        return m


class OverlappedOutputProof(OverlappedOutputCheck):
    """`OverlappedOutputCheck`, and what holds inside: the array knows of each fold what the checker
    does, and no two end less than ``rows`` cycles apart.

    Parameters
    ----------
    target : OverlappedOutputArray
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
        target, rows, ended = self._target, self.rows, self.ended
        owed = self.frozen
        for number in range(rows):
            owed = owed + Mux(ended[self.first + number], rows - number, 0)
        m.d.sync += [
            Assert(target._step == ~self.frozen, "invariant: it steps unless it is frozen"),
            Assert(target._valid[:len(self.taken)] == self.taken,
                   "invariant: operands on their way"),
            Assert(target._ends == ended[:self.first], "invariant: ends on their way"),
            Assert(self.owed == owed + rows * sum(ended[:self.first]),
                   "invariant: rows are owed"),
            *(Assert(~(ended[early] & ended[late]), "invariant: folds are apart")
              for early in range(len(ended)) for late in range(early + 1, min(early + rows,
                                                                            len(ended)))),
            *(Assert(~ended[number] | (target._to_wait == rows - 1 - number),
                     "invariant: until a fold may end") for number in range(rows - 1)),
            *(Assert(~ended[self.first + number] | (target._rows_left == rows - number),
                     "invariant: rows of the fold") for number in range(rows)),
            Assert(ended[self.first:].any() | (target._rows_left == 0), "invariant: no rows"),
        ]
        m.d.sync += Assert(self.soon | (target._to_wait == 0), "invariant: nothing to wait for")
        return m
