"""Bound checker of the command generator: nothing is lost, and a head stays until it is popped.

Ref: Sim-D, section 3.2.2.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal, Value

from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["CommandGeneratorCheck", "CommandGeneratorProof"]


class CommandGeneratorCheck(Watcher):
    """FIFOs keep what they hold, and every burst taken is described once.

    Assumes that a burst on offer stays until it is taken, that the bursts of a request agree in
    what they have in common, and that only heads are popped.

    Parameters
    ----------
    target : CommandGenerator
        The generator, or a component with the same members and its ``part``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    inside : Signal
        Bursts taken and not yet described.
    in_request : Signal
        A request's first burst was taken, its last was not.
    """

    def __init__(self, target):
        self.part = target.part
        super().__init__(target)
        self.inside, self.in_request = Signal(range(4)), Signal()

    def elaborate(self, platform):
        m = Module()

        # -- bursts ----------------------------------------------------------------------------
        waits, burst = Signal(), Signal.like(Value.cast(self.bursts.payload), reset_less=True)
        m.d.sync += [waits.eq(self.bursts.valid & ~self.bursts.ready),
                     burst.eq(self.bursts.payload)]
        m.d.sync += owes(~waits | (self.bursts.valid
                                   & (burst == Value.cast(self.bursts.payload))),
                         "an offer was changed or withdrawn")
        taken = self.bursts.valid & self.bursts.ready
        in_request, common, was = self.in_request, Signal(2), Signal(2, reset_less=True)
        m.d.comb += common.eq(Cat(self.bursts.payload.write, self.bursts.payload.indexed))
        with m.If(taken):
            m.d.sync += [in_request.eq(~self.bursts.payload.last), was.eq(common)]
        m.d.sync += owes(~(in_request & self.bursts.valid) | (common == was),
                           "bursts of a request disagree")
        m.d.sync += self.inside.eq(self.inside + taken - self.describe.valid)
        m.d.sync += [
            Assert((self.inside != 0) | ~self.describe.valid, "described without being taken"),
            Assert((self.inside != 3) | ~taken | self.describe.valid, "more than three under way"),
            Assert(self.busy | ~in_request, "not busy within a request"),
        ]

        # -- heads -----------------------------------------------------------------------------
        for bank, head in enumerate(self.heads):
            count = Signal(range(FIFO_DEPTH + 3), name=f"count_{bank}")  # in head and FIFO
            m.d.comb += count.eq(head.valid + head.waiting)
            before = Signal.like(count, name=f"before_{bank}")
            popped = Signal(name=f"popped_{bank}")
            shown = Signal.like(Value.cast(head.operation), name=f"operation_{bank}",
                                reset_less=True)
            kept = Signal(name=f"kept_{bank}")
            m.d.sync += [before.eq(count), popped.eq(self.pop[bank]), shown.eq(head.operation),
                         kept.eq(head.valid & ~self.pop[bank])]
            m.d.sync += [
                owes(head.valid | ~self.pop[bank], f"bank {bank}: pop without a head"),
                Assert(head.waiting <= FIFO_DEPTH, f"bank {bank}: more than the FIFO holds"),
                Assert(head.valid | (head.waiting == 0), f"bank {bank}: entries and no head"),
                Assert(~kept | head.valid, f"bank {bank}: head lost"),
                Assert(~kept | (shown == Value.cast(head.operation)), f"bank {bank}: head changed"),
                Assert((count + popped == before) | (count + popped == before + 1),
                       f"bank {bank}: an entry lost or doubled"),
            ]
        return m


class CommandGeneratorProof(CommandGeneratorCheck):
    """`CommandGeneratorCheck`, with what a `CommandGenerator`'s places hold: for induction.

    Parameters
    ----------
    target : CommandGenerator
        The generator, with its state ``held_valid``, ``work_valid`` and ``queues``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target = self._target
        m.d.sync += [
            Assert(self.inside == target.held_valid + target.work_valid + self.describe.valid,
                   "invariant: bursts are held, at work, or described"),
            Assert(self.in_request == target.in_request, "invariant: within a request"),
            Cover(target.queues[0].waiting == 2, "two wait after a head"),
        ]
        for bank, queue in enumerate(target.queues):
            m.d.sync += [
                Assert(~(queue.push & queue.full), f"bank {bank}: pushed into a full FIFO"),
                Assert(~queue.pop | queue.valid, f"bank {bank}: popped without a head"),
                Assert((queue.oldest + queue.waiting - queue.newest)[:len(queue.newest)] == 0,
                       f"invariant: bank {bank}: places in use are those that wait"),
            ]
        return m
