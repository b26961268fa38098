"""What induction knows of the weight-stationary array for bfloat16: where its rows are.

Ref: thesis on AI accelerators, chapter 5.2 (Figures 5.7 to 5.9).
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal

from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.tb.watcher import Watcher

__all__ = ["FloatRowsProof"]


class FloatRowsProof(Watcher):
    """A row of sums for each row of A that is accepted: it enters the queue after
    ``STAGES`` cycles for each row of PEs and one for each column, and finds room there.

    Whatever is offered, and whatever the sink does: none is lost, and none comes of nothing. The
    array never waits, so that one row too many would be lost.

    Parameters
    ----------
    target : FloatWeightStationaryArray
        The array itself, not elaborated yet.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    line : Signal
        Bit *n*: a row of A was accepted *n* + 1 cycles ago, and its sums are in the array.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target
        self.line = Signal(STAGES * target.rows + target.columns)

    def elaborate(self, platform):
        m = Module()
        target, queue = self._target, self._target.queue
        accept, leaves = Signal(), Signal()
        m.d.comb += [accept.eq(self.left.valid & self.left.ready),
                     leaves.eq(self.results.valid & self.results.ready)]
        owed = Signal(range(2 * target.room))
        m.d.sync += [self.line.eq(Cat(accept, self.line[:-1])),
                     owed.eq(owed + accept - leaves)]
        inside = sum(self.line[n] for n in range(len(self.line)))
        m.d.sync += [
            Assert(queue.w_en == self.line[-1], "a row of sums is missing, late or of no row of A"),
            Assert(~queue.w_en | queue.w_rdy, "a row of sums finds no room"),
            Assert(self.results.valid == (owed > inside),
                   "rows of sums that have entered the queue are not offered, or others are"),
            Assert(owed <= target.room, "more rows under way than there is room for"),
            Assert(owed == target.under_way, "invariant: the array counts what is under way"),
            Assert(owed == inside + queue.level, "invariant: rows are in the array or the queue"),
            Cover(queue.level == 2, "two rows wait"),
        ]
        return m
