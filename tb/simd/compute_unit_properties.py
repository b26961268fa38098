"""Bound checker of the compute unit: masked lanes write nothing, each work-group has its turn.

`ComputeUnitCheck` knows the ports: it watches simulations. `ComputeUnitProof` adds invariants about
the inside of `ComputeUnit`, for induction.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.golden.simd.isa import File
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.tb.assumed import owes
from cyclebound.tb.simd.machine_watcher import MachineWatcher

__all__ = ["ComputeUnitCheck", "ComputeUnitOrder", "ComputeUnitProof"]

_MASKS = 4  # special registers that are control masks


class ComputeUnitCheck(MachineWatcher):
    """Follows whose turn it is, and which lanes are active.

    Assumes what the rest of the accelerator sees to: work-groups go into free slots, and an access
    is completed once.
    """

    def elaborate(self, platform):
        m = Module()
        machine, commit = self.machine, self.commit.payload
        rows = Array(self.active[slot].word_select(warp, machine.lanes)
                     for slot in range(SLOTS) for warp in range(machine.warps))
        active = Signal(machine.lanes)
        m.d.comb += active.eq(rows[Cat(commit.warp, commit.slot)])
        # an access from the cycle in which it is shown until its completion
        transfers = Signal(SLOTS)
        shown = Mux(self.access.valid, 1 << self.access.payload.slot, 0)
        done = Cat(completion.valid for completion in self.completion)
        self.now = now = Signal(SLOTS)
        m.d.comb += now.eq(Mux(self.fault.valid, 0, transfers | shown))  # a fault ends them all

        lanes = commit.lanes
        mine = now.bit_select(commit.slot, 1)
        occupied = self.occupied.bit_select(commit.slot, 1)
        writes = commit.writes
        mask = (writes.file == File.VECTOR_SPECIAL) & (writes.number < _MASKS)
        launch = self.launch.payload.slot
        with m.If(~self.stall):  # in other clocks, inputs do not matter and outputs stay
            m.d.sync += [
                transfers.eq(Mux(self.start, 0, now & ~done)),
                owes(~self.launch.valid | (~self.occupied.bit_select(launch, 1) & ~self.stopped),
                       "a work-group for a slot that has one"),
                Assume(~(self.launch.valid & self.start), "a work-group while a kernel begins"),
                owes((done & ~now) == 0, "a completion without an access"),
            ]
        m.d.sync += [
            Assert(~self.commit.valid | ((lanes & ~active) == 0), "a masked lane writes"),
            Assert(~self.commit.valid | ~mask | ~lanes.any(), "a mask is no register"),
            Assert(~self.commit.valid | ~mine, "a work-group computes while it transfers"),
            Assert(~self.commit.valid | occupied, "an instruction of a free slot commits"),
            Assert((now & ~self.occupied) == 0, "an access of a slot that is free"),
            Assert(~self.access.valid | ~transfers.bit_select(self.access.payload.slot, 1),
                   "an access within an access"),
            Cover(self.commit.valid & lanes.any() & (lanes != active), "some lanes write"),
            Cover(self.access.valid, "an access"),
        ]
        return m


class ComputeUnitProof(ComputeUnitCheck):
    """`ComputeUnitCheck`, and what it depends on inside.

    Stalls are left out: the pipeline's registers have an enable, so nothing of all this changes in
    a clock with one, and induction would follow a token that never moves.

    Parameters
    ----------
    target : ComputeUnit
        The unit itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        inside = self._target
        mine = Signal(SLOTS)
        m.d.comb += mine.eq(1 << inside.current)
        m.d.sync += [
            Assume(~self.stall, "a cycle without the compute clock"),
            Assert(inside.accessing == self.now, "other slots transfer than are shown to"),
            Assert(~inside.running | ((mine & self.occupied).any()
                                      & ~(mine & inside.accessing).any()),
                   "what runs has no work-group that may"),
            Assert(~(inside.under_way | inside.settles) | inside.running | self.stopped,
                   "instructions of none"),
            Assert(~self.stopped | ~(inside.running | inside.under_way | inside.settles
                                     | self.occupied.any()), "it has not stopped"),
        ]
        return m


class ComputeUnitOrder(ComputeUnitProof):
    """No token reads a register that one before it is still to write.

    Of what is between the first decode stage and the commit, by what was decoded: `ScoreboardCheck`
    has the scoreboard by itself, and assumes what is proved here, that instructions wait for it.
    Operand *k* is read in decode stage *k*, or the last one. Passes of one instruction are in no
    other's way: those of the reciprocal units write other lanes than they read, and a division
    reads in its first pass only.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        inside, machine = self._target, self.machine
        tokens, depth = inside.tokens, inside.depth
        now, number = tokens[0], tokens[0]["pass"]
        early: list[Value] = []
        waited: list[Value] = []
        for age in range(1, depth):
            token, writes = tokens[age], tokens[age].decoded.writes
            shared = (writes.file == File.SCALAR) | (writes.file == File.SCALAR_SPECIAL)
            here = Signal(name=f"here_{age}")
            m.d.comb += here.eq(now.valid & token.valid & (writes.file != File.NONE)
                                & (number < age) & (shared | (token.warp == now.warp)))
            for operand, name in enumerate("abc"):
                read = now.decoded[name]
                same = (here & (read.file == writes.file)
                        & ((read.number == writes.number) | token.decoded.several))
                soon = age < depth - min(operand, machine.decode_stages - 1)
                (early if soon else waited).append(same)
            early.append(here & now.decoded.implicit & (writes.file == File.SCALAR_SPECIAL))
            m.d.sync += Assert(~now.valid | (number < age) | (
                token.valid & (token.index == now.index) & (token.warp == now.warp)
                & (token["pass"] + age == number)), f"{age} passes ago was another instruction")
        m.d.sync += [
            Assert(now.valid | (number == 0), "an instruction stops between two passes"),
            Assert(~Cat(early).any(), "an operand is read before it is written"),
            Cover(now.valid & (number != 0), "a second pass"),
            *([Cover(Cat(waited).any(), "it is read as soon as it may")] if waited else []),
        ]
        return m
