"""Control masks of both slots' work-groups, and the control stacks that save them.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.control_stack import ControlStack
from cyclebound.hdl.simd.decoder import MASKS
from cyclebound.hdl.simd.interfaces import GridLayout, LaunchLayout
from cyclebound.hdl.simd.token import INDEX_BITS, TokenLayout

__all__ = ["ControlMasks"]

_EXIT = MASKS.index("exit")


class ControlMasks(wiring.Component):
    """Which lanes are active, and where execution goes on when none is left.

    A mask changes when a token commits. What follows from an instruction's change of all warps
    shows in the cycle after its last token's commit: ``over``, ``again`` or ``jumps``, or none.

    Parameters
    ----------
    machine : Machine
        Lanes and warps.

    Members
    -------
    launch : In(Strobe(LaunchLayout)), grid : In(GridLayout)
        A new work-group: lanes whose items lie outside the grid are off.
    slot : In(1)
        The slot that computes.
    warp : In(bits of a warp's number), read_rows : Out(4 times lanes)
        Each of its masks, of any warp.
    token : In(TokenLayout)
        In the last stage of the pipeline.
    commits : In(1)
        The token commits.
    stops : In(1)
        It does not, since it stops the kernel, or another one begins.
    chosen : In(lanes)
        Lanes that its predicate marks.
    active : Out(items) times 2
        Active lanes of each slot, warp by warp.
    row : Out(lanes)
        Those of the token's warp.
    empty, full : Out(1)
        The slot's control stack.
    changed : Out(1), mask : Out(2), after : Out(lanes)
        The token changes a row of a mask.
    settles : Out(1)
        A mask was changed in the cycle before, of all warps; one of the next three may follow.
    over : Out(1)
        With ``settles``: no lane is left, and no entry; the work-group ends.
    again : Out(1)
        With ``settles``: no lane is left; the top entry has to be popped.
    jumps : Out(1), resume : Out(11)
        With ``settles``: lanes are left, and go on at ``resume``.
    """

    def __init__(self, *, machine):
        self.machine = machine
        lanes = machine.lanes
        super().__init__({
            "launch": In(Strobe(LaunchLayout())), "grid": In(GridLayout(machine=machine)),
            "slot": In(range(SLOTS)), "warp": In(ceil_log2(machine.warps)),
            "read_rows": Out(lanes).array(len(MASKS)),
            "token": In(TokenLayout(machine=machine)), "commits": In(1), "stops": In(1),
            "chosen": In(lanes), "active": Out(machine.items).array(SLOTS), "row": Out(lanes),
            "empty": Out(1), "full": Out(1),
            "changed": Out(1), "mask": Out(2), "after": Out(lanes),
            "settles": Out(1), "over": Out(1), "again": Out(1), "jumps": Out(1),
            "resume": Out(INDEX_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        machine, slot, token = self.machine, self.slot, self.token
        # masks[slot][mask][warp]
        masks = Array(Array(Array(
            Signal(machine.lanes, name=f"{name}_{slot}_{warp}") for warp in range(machine.warps))
            for name in MASKS) for slot in range(SLOTS))
        for active, own in zip(self.active, masks, strict=True):
            m.d.comb += active.eq(Cat(
                own[0][warp] & own[1][warp] & own[2][warp] & own[3][warp]
                for warp in range(machine.warps)))
        rows = [Signal(machine.lanes, name=f"row_{name}") for name in MASKS]
        m.d.comb += [
            # as operands: a row of lanes is chosen once, not a bit in every lane
            *(row.eq(masks[slot][mask][self.warp]) for mask, row in enumerate(self.read_rows)),
            *(row.eq(masks[slot][mask][token.warp]) for mask, row in enumerate(rows)),
            self.row.eq(rows[0] & rows[1] & rows[2] & rows[3]),
        ]
        stacks = [ControlStack(machine=machine) for _ in range(SLOTS)]
        for number, stack in enumerate(stacks):
            m.submodules[f"stack_{number}"] = stack
        self._commit(m, masks, rows, stacks)
        self._launch(m, masks, stacks)
        return m

    def _commit(self, m, masks, rows, stacks):
        """What the token in the last stage does to masks and stack."""
        token, what, commits = self.token, self.token.decoded, self.commits
        top_lanes, top_mask, top_target = (
            Signal(shape, name=name) for name, shape in
            (("top_lanes", self.machine.lanes), ("top_mask", 2), ("top_target", INDEX_BITS)))
        saved = Mux(what.absent & ~what.call, Array(rows)[what.mask], self.chosen)
        pushes, pops = commits & what.push & ~self.full, commits & what.pop & ~self.empty
        for number, stack in enumerate(stacks):
            mine = self.slot == number
            m.d.comb += [
                stack.push.eq(pushes & mine), stack.pop.eq(pops & mine), stack.last.eq(token.last),
                stack.warp.eq(token.warp), stack.lanes.eq(saved), stack.mask.eq(what.mask),
                stack.target.eq(Mux(what.call, token.index + 1, what.immediate)),
            ]
            with m.If(mine):
                m.d.comb += [top_lanes.eq(stack.top_lanes), top_mask.eq(stack.top_mask),
                             top_target.eq(stack.top_target), self.empty.eq(stack.empty),
                             self.full.eq(stack.full)]

        m.d.comb += self.mask.eq(what.mask)
        with m.If(what.pop):
            m.d.comb += [self.mask.eq(top_mask), self.after.eq(top_lanes)]
        with m.Elif(what.call):
            m.d.comb += self.after.eq(self.chosen)
        with m.Else():  # bra takes lanes out that are not active, too
            lost = self.chosen & (self.row | what.push.replicate(len(self.row)))
            m.d.comb += self.after.eq(Array(rows)[what.mask] & ~lost)
        m.d.comb += self.changed.eq(
            pops | (commits & (what.clears | what.call) & ~(what.push & self.full)))
        for slot, of_slot in enumerate(masks):
            for number, mask in enumerate(of_slot):
                for warp, row in enumerate(mask):
                    with m.If(self.changed & (self.slot == slot) & (self.mask == number)
                              & (token.warp == warp)):
                        m.d.sync += row.eq(self.after)
        self._follows(m, top_target)

    def _follows(self, m, top_target):
        """A mask was changed in the cycle before: does anything go on, and where?"""
        token, what, commits = self.token, self.token.decoded, self.commits
        jumped, left = Signal(), Signal()
        m.d.sync += [self.settles.eq(commits & what.settles & token.last & ~self.stops),
                     jumped.eq(what.pop | what.call)]
        with m.If(commits & (what.pop | what.call)):
            m.d.sync += self.resume.eq(Mux(what.pop, top_target, what.immediate))
        m.d.comb += [
            left.eq(Array(self.active)[self.slot].any()),
            self.over.eq(self.settles & ~left & self.empty),
            self.again.eq(self.settles & ~left & ~self.empty),
            self.jumps.eq(self.settles & left & jumped),
        ]

    def _launch(self, m, masks, stacks):
        """Lanes of a new work-group outside the grid are off."""
        machine, launched = self.machine, self.launch.payload
        heights = {machine.items // width: width for width in machine.widths}
        columns, lines = self.grid.x - launched.x, self.grid.y - launched.y
        widest, highest = max(machine.widths), max(heights)
        columns_in_grid = Signal(widest)   # columns that lie in the grid
        lines_in_grid = Signal(highest)   # lines
        m.d.comb += [columns_in_grid.eq(Cat(columns > column for column in range(widest))),
                     lines_in_grid.eq(Cat(lines > line for line in range(highest)))]
        inside = Signal(machine.items)
        with m.Switch(self.grid.width):
            for width in machine.widths:
                with m.Case(width.bit_length() - 1):
                    m.d.comb += inside.eq(Cat(
                        columns_in_grid[:width] & lines_in_grid[line].replicate(width)
                        for line in range(machine.items // width)))
        for slot, stack in enumerate(stacks):
            with m.If(self.launch.valid & (launched.slot == slot)):
                for number, mask in enumerate(masks[slot]):
                    for warp, row in enumerate(mask):
                        lanes = (inside.word_select(warp, machine.lanes) if number == _EXIT
                                 else -1)
                        m.d.sync += row.eq(lanes)
                m.d.comb += stack.clear.eq(1)
