"""Bound checker of the command arbiter: one legal command at a time, and requests kept apart.

Ref: Sim-D, section 3.2.2; golden/dram/rules.py for what is legal.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal, Value

from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["CommandArbiterCheck", "CommandArbiterProof"]


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

    def _distances(self, m):
        m.submodules.timing = timing = DramTimingCheck(part=self.part, refreshed=False)
        m.d.comb += Value.cast(timing.command).eq(Value.cast(self.command))

    def elaborate(self, platform):
        m = Module()
        self._distances(m)

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


class CommandArbiterProof(CommandArbiterCheck):
    """`CommandArbiterCheck` without distances, and one command at most in a cycle: for induction.

    Parameters
    ----------
    target : CommandArbiter
        The arbiter, with its state ``choices`` and ``behind``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._choices, self._behind = target.choices, target.behind

    def _distances(self, m):
        pass

    def elaborate(self, platform):
        m = super().elaborate(platform)
        chosen = Signal(4 * self.part.banks + 1)
        was_chosen = Signal()
        m.d.comb += chosen.eq(Cat(*self._choices, self.refreshed))
        m.d.sync += [
            was_chosen.eq(chosen.any()),
            Assert((chosen & (chosen - 1)) == 0, "more than one command in a cycle"),
            Assert(was_chosen == (self.command.op != Command.NOP), "a command lost, or of no one"),
            # or activates would have no order: each of three banks might wait for another
            Assert((self._behind[:-1] & ~self._behind[1:]) == 0,
                   "invariant: whoever is behind one that is behind, is"),
            Cover(self.command.op == Command.REF, "a refresh"),
            Cover(self.issue.valid, "a read or write"),
        ]
        return m
