"""Bound checker of the control stack: it keeps its entries while no push meets a full stack."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.simd.program import STACK_DEPTH
from cyclebound.tb.simd.machine_watcher import MachineWatcher

__all__ = ["ControlStackCheck", "ControlStackLevelCheck", "ControlStackProof"]


class ControlStackLevelCheck(MachineWatcher):
    """Full and empty are those of a counter of entries.

    Assumes what the compute unit sees to: no push when it is full, no pop when it is empty, not
    both, warp after warp to the last.
    """

    def elaborate(self, platform):
        m = Module()
        warps = self.machine.warps
        moves = self.push | self.pop
        level, next_warp = Signal(range(STACK_DEPTH + 1)), Signal(range(max(2, warps)))
        # what is under way, if not at its first warp
        pushing, first = Signal(), Signal(len(self.mask) + len(self.target))
        entry = Cat(self.mask, self.target)
        with m.If(self.clear):
            m.d.sync += [level.eq(0), next_warp.eq(0)]
        with m.Elif(moves):
            m.d.sync += [next_warp.eq(Mux(self.last, 0, next_warp + 1)), pushing.eq(self.push),
                         first.eq(entry)]
            with m.If(self.last):
                m.d.sync += level.eq(Mux(self.push, level + 1, level - 1))

        m.d.sync += [
            Assume(~(self.push & (level == STACK_DEPTH)), "push on a full stack"),
            Assume(~(self.pop & (level == 0)), "pop of an empty stack"),
            Assume(~(self.push & self.pop), "push and pop at once"),
            Assume(~moves | (self.last == (self.warp == warps - 1)), "last is not the last warp"),
            Assume(~moves | (self.warp == next_warp), "warps out of order"),
            Assume(~moves | (next_warp == 0) | (self.push == pushing), "push turns into pop"),
            Assume(~self.push | (next_warp == 0) | (entry == first), "an entry changes"),
            Assert(self.level == level, "entries are lost, or too many"),
            Assert(self.empty == (level == 0), "empty, and not"),
            Assert(self.full == (level == STACK_DEPTH), "full, and not"),
            Cover(self.pop & self.last, "what was pushed is popped"),
        ]
        self._follow(m, level)
        # a push that has begun and not ended, the first warp that has not passed, and its entry
        self._believe(m, level, pushing & (next_warp != 0), next_warp, first)
        return m

    def _follow(self, m, level):
        """Hook for assertions of a subclass about the entries in use; asserts nothing here."""

    def _believe(self, m, level, pushing, next_warp, entry):
        """Invariants of the target's inside."""


class ControlStackCheck(ControlStackLevelCheck):
    """Counts entries, and follows one of them: its lanes of one warp.

    A prover chooses which one, so that a proof is one for every entry; in a simulation it is that
    of ``target`` and ``warp`` in the first cycle after reset.
    """

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self._at, self._of_warp = self.any_one(self.target, "at"), self.any_one(self.warp, "warp")

    def _follow(self, m, level):
        known, lanes, mask, target = (Signal(), Signal.like(self.lanes), Signal.like(self.mask),
                                      Signal.like(self.target))
        self._at.follow(m, self.target)
        self._of_warp.follow(m, self.warp)
        at, of_warp = self._at.now, self._of_warp.now
        with m.If(self.push & (level == at) & (self.warp == of_warp)):
            m.d.sync += [known.eq(1), lanes.eq(self.lanes), mask.eq(self.mask),
                         target.eq(self.target)]
        shows = known & (level == at + 1) & (self.warp == of_warp)
        m.d.sync += [
            Assert(~shows | (self.top_lanes == lanes), "other lanes than were pushed"),
            Assert(~shows | ((self.top_mask == mask) & (self.top_target == target)),
                   "another mask or target than was pushed"),
            Cover(shows & self.pop & (level != 1), "an entry above others is popped"),
        ]
        self._chosen, self._place, self._warp = self._at.chosen, self._at.kept, self._of_warp.kept
        self._known, self._lanes, self._entry = known, lanes, Cat(mask, target)


class ControlStackProof(ControlStackCheck):
    """`ControlStackCheck`, and where the entry lies that it follows.

    Parameters
    ----------
    target : ControlStack
        The stack itself, which shows an entry (``follows``).
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def _believe(self, m, level, pushing, next_warp, entry):
        inside = self._target
        there, half = Signal(), Signal()  # the entry is on the stack; its warp has passed
        m.d.comb += [
            inside.followed.eq(self._place), inside.followed_warp.eq(self._warp),
            there.eq(level > self._place),
            half.eq((level == self._place) & pushing & (next_warp > self._warp)),
        ]
        kept = self._chosen & (there | half)
        m.d.sync += [
            Assert(self._chosen | ((level == 0) & (next_warp == 0)), "invariant: it begins empty"),
            Assert(level <= STACK_DEPTH, "invariant: no more entries than there are"),
            Assert(next_warp < max(2, self.machine.warps), "invariant: a warp that there is"),
            Assert(~kept | self._known, "invariant: what was pushed is known"),
            Assert(~kept | (inside.followed_lanes == self._lanes), "invariant: its lanes"),
            Assert(~kept | (inside.followed_entry == self._entry), "invariant: its entry"),
            Assert(~(self._chosen & half) | (entry == self._entry),
                   "invariant: the entry that is pushed"),
        ]
