"""Bound checker of the command arbiter: one legal command at a time, and requests kept apart.

Ref: Sim-D, section 3.2.2; golden/dram/rules.py for what is legal.
"""

from amaranth.hdl import Assert, Assume, Cat, Module, Signal, Value

from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["CommandArbiterCheck"]


class CommandArbiterCheck(Watcher):
    """What the arbiter owes its neighbours, and what they owe it.

    Assumes that a head stays until it is popped, and that a request begins when ``rest`` is 0.
    Refreshes are somebody else's duty: the arbiter has to keep their distances only.

    Parameters
    ----------
    target : CommandArbiter
        The arbiter, or a component with the same members and its ``part``.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        self.part = target.part
        super().__init__(target)

    def elaborate(self, platform):
        m = Module()
        m.submodules.timing = timing = DramTimingCheck(part=self.part, refreshed=False)
        m.d.comb += Value.cast(timing.command).eq(Value.cast(self.command))

        # -- heads and pops --------------------------------------------------------------------
        valid = Cat(head.valid for head in self.heads)
        stays = Signal(self.part.banks)  # heads of the cycle before that were not popped
        m.d.sync += stays.eq(valid & ~self.pop)
        m.d.sync += Assume((stays & ~valid) == 0, "a head left without being popped")
        for bank, head in enumerate(self.heads):
            entry = Signal.like(Value.cast(head.entry), name=f"entry_{bank}", reset_less=True)
            m.d.sync += [
                entry.eq(head.entry),
                Assume(~stays[bank] | (entry == Value.cast(head.entry)), f"head {bank} changed"),
            ]
        m.d.sync += [
            Assert((self.pop & (self.pop - 1)) == 0, "more than one pop"),
            Assert((self.pop & ~valid) == 0, "pop of a bank without a head"),
        ]

        # -- commands --------------------------------------------------------------------------
        was_popped, was_refreshed, was_idle = Signal(), Signal(), Signal(init=1)
        m.d.sync += [was_popped.eq(self.pop.any()), was_refreshed.eq(self.refreshed),
                     was_idle.eq(self.idle)]
        op = self.command.op
        cas = Signal()
        m.d.comb += cas.eq(Cat(op == command for command in CAS).any())
        m.d.sync += [
            Assert((op == Command.REF) == was_refreshed, "REF without having been chosen"),
            Assert(~was_popped | cas | (op == Command.PRE), "pop without a command"),
            Assert(~cas | was_popped, "RD, RDA, WR, WRA without a pop"),
            Assert(self.issue.valid == cas, "issue is not RD, RDA, WR, WRA"),
            Assert(~cas | ((self.issue.payload.bank == self.command.bank)
                           & (self.issue.payload.write == ((op == Command.WR)
                                                           | (op == Command.WRA)))),
                   "issue speaks of another command"),
        ]

        # -- requests --------------------------------------------------------------------------
        m.d.sync += [
            Assert(self.idle == (~valid.any() & ~self.within), "idle while a request is under way"),
            Assert(self.refreshed == (self.refresh & self.idle & (self.rest == 0)),
                   "refresh without rest, or rest without the refresh"),
            Assume(~was_idle | self.idle | (self.rest == 0), "a request begins before rest is 0"),
        ]
        return m
