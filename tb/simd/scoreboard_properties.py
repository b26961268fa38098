"""Bound checker of the scoreboard: no operand is read before it is written."""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal

from cyclebound.golden.simd.isa import File
from cyclebound.tb.assumed import owes
from cyclebound.tb.simd.machine_watcher import MachineWatcher

__all__ = ["ScoreboardCheck"]


class ScoreboardCheck(MachineWatcher):
    """Follows one register, of one warp where its file has lanes.

    A prover chooses which one, so that a proof is one for every register; in a simulation it is
    that of operand 0 in the first cycle after reset, whether it issues or not.

    A token that issues in cycle *t* writes in ``t + depth``, unless it is flushed before. The check
    counts down from there; the scoreboard compares ages.
    """

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self._register = self.any_one(self.reads[0], "register")
        self._warp = self.any_one(self.warp, "warp")

    def elaborate(self, platform):
        m = Module()
        machine = self.machine
        depth = machine.decode_stages + machine.execute_stages
        self._register.follow(m, self.reads[0])
        self._warp.follow(m, self.warp)
        followed, of_warp = Signal.like(self.reads[0]), self._warp.now
        m.d.comb += followed.eq(self._register.now)

        shared = (followed.file == File.SCALAR) | (followed.file == File.SCALAR_SPECIAL)
        here = shared | (self.warp == of_warp)
        writes = here & (self.writes.file == followed.file) & (followed.file != File.NONE) & (
            (self.writes.number == followed.number) | self.several)
        left = Signal(range(depth + 1))  # cycles to the last write that is on its way
        issues, written = self.issue & ~self.wait, Signal()
        with m.If(self.flush):
            m.d.sync += left.eq(0)
        with m.Elif(issues & writes):
            m.d.sync += [left.eq(depth - 1), written.eq(1)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)

        early = []
        for operand, read in enumerate(self.reads):
            stage = min(operand, machine.decode_stages - 1)
            same = (read.file == followed.file) & (read.number == followed.number)
            early.append(here & same & (left > stage))
        early.append(self.implicit & (followed.file == File.SCALAR_SPECIAL) & (left != 0))
        names = Cat((self.reads[0] == followed) & here, left != 0)
        for operand, read in enumerate(self.reads):
            others = Cat(other.file != File.NONE for number, other in enumerate(self.reads)
                         if number != operand).any() | self.implicit
            m.d.sync += Assert(~self.wait | others | (read != followed) | ~here | (left != 0),
                               f"operand {operand} is not on its way, and it waits")
        m.d.sync += [
            owes(~(self.issue & self.wait), "a token issues that should wait"),
            Assert(~issues | ~Cat(early).any(), "an operand is read before it is written"),
            Assert(~Cat(early).any() | self.wait, "an operand would be read before it is written"),
            Cover(names.all() & self.wait, "it waits"),
            Assert(left < depth, "a write takes longer than the pipeline"),
            Cover(issues & written & (self.reads[1] == followed) & here, "it is read"),
        ]
        return m
