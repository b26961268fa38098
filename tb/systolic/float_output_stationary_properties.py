"""Bound checkers of the output-stationary array in floating point: they read its ports and drive
none.

Ref: golden/systolic/float_output_stationary.py; docs/systolic.md.
"""

from amaranth.hdl import Assert, Cat, Cover, Mux, Signal

from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.tb.assumed import owes
from cyclebound.tb.streams_properties import FoldRowsCheck

__all__ = ["FloatTurnsCheck", "FloatTurnsProof"]


class FloatTurnsCheck(FoldRowsCheck):
    """`FoldRowsCheck`; folds take turns: operands are refused only where it is another fold's turn,
    or where a set of folds would end while rows of the one before are to leave; each PE begins a
    MAC 1 + i + j cycles after they were taken; and the rows of a set are on offer one after the
    other from ``STAGES + rows + columns`` cycles after its very last operands.

    Assumes that the folds of a set end in turn, one after the other.

    Parameters
    ----------
    target : FloatOutputStationaryArray
        The array, or a component with the same members, ``rows`` and ``columns``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    turn, wanted : Signal
        The fold whose turn it is, and the one whose operands come next.
    collecting : Signal
        Some folds of a set have ended, and not all.
    ended : Signal
        Bit d: a set ended d + 1 cycles ago.
    left_over : Signal
        Rows of the set that leaves.
    taken : Signal
        Bit d: operands were taken d + 1 cycles ago.
    """

    def __init__(self, target):
        super().__init__(target)
        self.turn, self.wanted = Signal(range(STAGES)), Signal(range(STAGES))
        self.collecting = Signal()
        self.ended = Signal(self.rows + self.columns - 1 + STAGES)
        self.left_over = Signal(range(STAGES * self.rows + 1))
        self.taken = Signal(self.rows + self.columns - 1)

    @property
    def waits(self):
        """A set has begun to end, and not all of its rows have left."""
        return self.collecting | self.ended.any() | (self.left_over != 0)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        left, top, results = self.left, self.top, self.results
        accept, last = Signal(), Signal()
        m.d.comb += [accept.eq(left.valid & left.ready), last.eq(accept & left.payload.last)]
        m.d.sync += [
            self.turn.eq(Mux(self.turn == STAGES - 1, 0, self.turn + 1)),
            self.taken.eq(Cat(accept, self.taken)),
            self.ended.eq(Cat(last & (self.turn == STAGES - 1), self.ended)),
        ]
        with m.If(accept):
            m.d.sync += self.wanted.eq(Mux(self.wanted == STAGES - 1, 0, self.wanted + 1))
        with m.If(last):
            m.d.sync += self.collecting.eq(self.turn != STAGES - 1)
        with m.If(self.ended[-1]):
            m.d.sync += self.left_over.eq(STAGES * self.rows)
        with m.Elif(results.valid & results.ready):
            m.d.sync += self.left_over.eq(self.left_over - 1)
        may = (self.turn == self.wanted) & ~(left.payload.last & self.waits & (self.turn == 0))
        m.d.sync += [
            owes(~left.valid | (self.wanted == 0) | (left.payload.last == self.collecting),
                 "the folds of a set end apart"),
            Assert(accept == (top.valid & top.ready), "one operand is taken without the other"),
            Assert(accept == (left.valid & top.valid & may),
                   "operands are refused without a reason, or taken before their time"),
            Assert(results.valid == (self.left_over != 0), "a row is early, late, or of no fold"),
            *(Assert(self.active[i * self.columns + j] == self.taken[i + j],
                     "a PE begins nothing, or not what it should")
              for i in range(self.rows) for j in range(self.columns)),
            Cover(results.valid & accept, "a row leaves while operands are taken"),
        ]
        return m


class FloatTurnsProof(FloatTurnsCheck):
    """`FloatTurnsCheck`, and what holds inside: no sum is captured while rows leave.

    Parameters
    ----------
    target : FloatOutputStationaryArray
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
        target, ended, finish = self._target, self.ended, self._target._finish
        leaving = self.left_over != 0
        m.d.sync += [
            Assert((target._turn == self.turn) & (target._wanted == self.wanted),
                   "invariant: turns"),
            Assert((self.turn < STAGES) & (self.wanted < STAGES), "invariant: so many turns"),
            Assert(target._draining == self.waits, "invariant: a set waits"),
            Assert(target._settling == ended, "invariant: sets have ended"),
            Assert(target._left_over == self.left_over, "invariant: rows leave"),
            Assert(target._valid == self.taken, "invariant: operands on their way"),
            Assert(self.left_over <= STAGES * self.rows, "invariant: so many rows"),
            Assert((ended & (ended - 1)) == 0, "invariant: one set ends"),
            Assert(self.collecting + ended.any() + leaving <= 1, "invariant: one after the other"),
            Assert(~self.collecting | (self.wanted != 0), "invariant: the first fold has ended"),
            *(Assert(~finish[cycle] | self.collecting | ended[:cycle + 1].any(),
                     "invariant: a fold ends with its set") for cycle in range(len(finish))),
            Assert(self.owed == self.left_over + Mux(ended.any(), STAGES * self.rows, 0)
                   + Mux(self.collecting, self.rows * self.wanted, 0), "invariant: rows are owed"),
        ]
        return m
