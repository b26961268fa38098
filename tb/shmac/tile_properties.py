"""Bound checker of a tile with a core: what it says to the network, at its ports.

Ref: SHMAC thesis, 2.3 and 5.1.
"""

from amaranth.hdl import Assert, Cover, Module, Signal, Value

from cyclebound.tb.assumed import fixed
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["TileCheck"]


class TileCheck(Watcher):
    """Requests stay until they are taken, are the tile's own, and go to tiles of the grid; past the
    router to none of its own; none comes before its program starts, or after it has ended. Answers
    to the network stay, too.

    Assumes that the position does not change, and that ``run`` stays set.

    Parameters
    ----------
    target : CoreTile
        The tile, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.rows, self.columns, self.bypass = target.rows, target.columns, target.bypass

    def elaborate(self, platform):
        m = Module()
        requests, packet = self.requests, self.requests.payload
        answers = self.answers
        position = Value.cast(self.position)
        began, before, ran = Signal(), Signal.like(position), Signal()
        m.d.sync += [began.eq(1), before.eq(position), ran.eq(self.run),
                     fixed(~began | (before == position), "the tile moves"),
                     fixed(~ran | self.run, "the core is stopped")]
        claim_kept(m, "requests", requests, Assert)
        claim_kept(m, "answers", answers, Assert)
        m.d.sync += [
            Assert(~requests.valid | (self.run & ~self.exited),
                   "a request before the program's start, or after its end"),
            Assert(~requests.valid | (Value.cast(packet.initiator) == position),
                   "a request of another tile"),
            Assert(~requests.valid | ((packet.target.row < self.rows)
                                      & (packet.target.column < self.columns)),
                   "a request to no tile"),
            Cover(requests.valid & requests.ready, "a request"),
            Cover(answers.valid & answers.ready, "an answer"),
        ]
        if self.bypass:
            m.d.sync += Assert(~requests.valid | packet.interrupt
                               | (Value.cast(packet.target) != position),
                               "a request to the tile itself")
        return m
