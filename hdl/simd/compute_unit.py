"""Compute unit: two work-groups take turns on one pipeline of lanes.

    fetch -> decode (operands 0, 1, 2) -> execute -> commit
      ^                                                |
      '---- jumps, control stack, slots <--------------'

A token is one cycle's work: a scalar instruction, a warp of a vector instruction, or a pass of the
reciprocal units over a warp. Tokens never stop between the first decode stage, where they *issue*,
and their commit. Everything that changes a work-group's state happens at commit, so that masks
need no forwarding and what follows a jump or a mask without lanes is dropped in time.

Each part is a component of its own: `IssueStage` (with the `ProgramMemory`), `OperandStages` with
`WorkGroupRegisters`, `ExecuteStages` and `CommitStage`; `ControlMasks` says which lanes are active
and where execution goes on, `Turns` whose turn it is. Here they are put together.

Ref: Sim-D, section 3.1.
"""

import itertools

from amaranth.hdl import Array, Cat, EnableInserter, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import SCALAR_SPECIAL
from cyclebound.golden.simd.machine import SLOTS, machine_named
from cyclebound.hdl.interfaces import Strobe, drive, pass_through
from cyclebound.hdl.simd.commit_stage import CommitLayout, CommitStage
from cyclebound.hdl.simd.control_masks import ControlMasks
from cyclebound.hdl.simd.execute_stages import ExecuteStages
from cyclebound.hdl.simd.interfaces import (
    GRID_BITS,
    NUMBER_BITS,
    AccessLayout,
    BufferQuery,
    CompletionLayout,
    EndLayout,
    FaultLayout,
    GridLayout,
    IndexWriteLayout,
    LaunchLayout,
    ProgramWriteLayout,
    Transfer,
)
from cyclebound.hdl.simd.issue_stage import IssueStage
from cyclebound.hdl.simd.operand_stages import SD, OperandStages
from cyclebound.hdl.simd.program_memory import ProgramMemory
from cyclebound.hdl.simd.token import INDEX_BITS, TokenLayout, fetch_stage
from cyclebound.hdl.simd.turns import Turns
from cyclebound.hdl.simd.work_group_registers import WorkGroupRegisters

__all__ = ["ComputeUnit"]


class _WorkGroups:
    """Of each slot's work-group: where it goes on, its number and place in the grid, and the
    special scalars that instructions write."""

    def __init__(self):
        self.pc, self.number, self.x, self.y = (
            Array(Signal(bits, name=f"{name}_{slot}") for slot in range(SLOTS))
            for name, bits in (("pc", INDEX_BITS), ("number", NUMBER_BITS), ("x", GRID_BITS),
                               ("y", GRID_BITS)))
        self.sd = Array(Array(Signal(32, name=f"{name}_{slot}") for name in SCALAR_SPECIAL[SD:])
                        for slot in range(SLOTS))


class ComputeUnit(wiring.Component):
    """Runs kernels, one instruction per cycle in order.

    Work-groups take turns, see `Turns`. With ``hold``, a work-group whose access was to its
    scratchpad continues before the other one.

    Latency, with *D* decode and execute stages and *W* warps: an instruction issues in the cycle
    after its fetch and commits *D* cycles later. A jump that is taken costs *D + 1* cycles, a
    vector instruction that jumps or leaves no lane *W + D + 1*. See ``golden.simd.pipeline``.

    Parameters
    ----------
    machine : Machine or str
        Sizes and stages, or their name.
    words : int or None
        Positions of the transfer bus; by default, as many as words move in a clock: those of a
        beat, or of a line of a scratchpad. Words that move together have targets that differ by
        less, or are moved line by line (`Access.split`), so that more positions save nothing.

    Members
    -------
    See `cyclebound.hdl.simd.interfaces`; and

    commit : Out(Strobe(CommitLayout))
        The token that commits in this cycle, for observers.

    Attributes
    ----------
    current : Signal
        The slot that computes, or did so last.
    running : Signal
        The slot computes: instructions are fetched, under way, or wait.
    under_way : Signal
        There is an instruction in the first stage, or a token in a later one.
    settles : Signal
        A mask was changed in the cycle before, of all warps.
    accessing : Signal
        Slots whose accesses are not over.
    tokens : list of Signal
        The token of each stage of the pipeline, the first decode stage first: that of place *n*
        issued *n* cycles ago, and the last one commits.
    """

    def __init__(self, *, machine, words=None):
        self.machine = machine = machine_named(machine)
        self.words = words = (min(machine.lanes, machine.words_moved) if words is None
                              else words)
        self.depth = machine.decode_stages + machine.execute_stages
        self.tokens = [Signal(TokenLayout(machine=machine), name=f"token_{age}")
                       for age in range(self.depth + 1)]
        self._program, self._issue = ProgramMemory(), IssueStage(machine=machine)
        self._registers = WorkGroupRegisters(machine=machine, words=words)
        self._operands = OperandStages(machine=machine)
        self._execute, self._commit = ExecuteStages(machine=machine), CommitStage(machine=machine)
        self._masks, self._turns = ControlMasks(machine=machine), Turns()
        self._groups = _WorkGroups()
        self.current, self.running = self._turns.slot, self._turns.running
        self.accessing, self.settles = self._turns.accessing, self._masks.settles
        self.under_way = Signal()
        super().__init__({
            "stall": In(1),
            "program": In(Strobe(ProgramWriteLayout())), "length": In(INDEX_BITS + 1),
            "grid": In(GridLayout(machine=machine)), "exclusive": In(1), "hold": In(1),
            "start": In(1),
            "launch": In(Strobe(LaunchLayout())), "occupied": Out(SLOTS),
            "ended": Out(Strobe(EndLayout())), "fault": Out(Strobe(FaultLayout())),
            "stopped": Out(1), "access": Out(Strobe(AccessLayout())),
            "completion": In(Strobe(CompletionLayout())).array(SLOTS),
            "transfer": In(Transfer(machine=machine, words=words)).array(SLOTS),
            "active": Out(machine.items).array(SLOTS),
            "index_write": Out(Strobe(IndexWriteLayout(machine=machine))),
            "buffer_query": Out(BufferQuery()),
            "commit": Out(Strobe(CommitLayout(machine=machine))),
        })

    def elaborate(self, platform):
        m, unit = Module(), Module()  # what stalls, and that with what does not
        m.submodules.issue_stage = self._issue  # `issue` is a port inside
        for name in ("operands", "execute", "commit", "masks", "turns"):
            m.submodules[name] = getattr(self, f"_{name}")
        unit.submodules.pipeline = EnableInserter(~self.stall)(m)
        unit.submodules.program, unit.submodules.registers = self._program, self._registers
        commits, wrong = Signal(), Signal()
        cause = self._commits(m, commits, wrong)
        self._pass_tokens(m, self._fetch(m, commits))
        self._read_operands(m)
        self._write_results(m, commits, wrong)
        self._change_masks(m, commits)
        self._take_turns(m, commits, wrong)
        self._show_access(m)
        self._show_ends(m, wrong, cause)
        self._launch(m)

        pass_through(m, self, self._operands, "grid", "buffer_query")
        pass_through(m, self, self._masks, "grid", "launch", "active")
        pass_through(m, self, self._turns, "exclusive", "hold", "start", "launch", "completion",
                     "occupied", "stopped")
        pass_through(m, self, self._issue, "length")
        pass_through(m, self, self._commit, "index_write", "commit")
        pass_through(m, self, self._execute, "stall")
        pass_through(unit, self, self._program, "program", "stall")
        pass_through(unit, self, self._registers, "transfer", "stall")
        return unit

    def _commits(self, m, commits, wrong):
        """Whether the last token commits, and stops the kernel; returns why it would."""
        masks, token, cause = self._masks, self.tokens[-1], Signal(Cause)
        m.d.comb += [
            commits.eq(token.valid & ~(masks.over | masks.again | masks.jumps) & ~self.start),
            wrong.eq(commits & (cause != Cause.NONE)), cause.eq(token.cause),
        ]
        with m.If(token.decoded.push & masks.full):
            m.d.comb += cause.eq(Cause.OVERFLOW)
        with m.Elif(token.decoded.pop & masks.empty):
            m.d.comb += cause.eq(Cause.EMPTY)
        return cause

    def _fetch(self, m, commits):
        """Choose what to fetch: the next instruction, a jump's target, or another work-group's.

        Returns whether all tokens but the one that commits are dropped.
        """
        issue, program, masks, turns = self._issue, self._program, self._masks, self._turns
        what, taken, flush, stops = self.tokens[-1].decoded, Signal(), Signal(), turns.stops
        index, after = Signal(INDEX_BITS + 1), Signal(INDEX_BITS + 1)  # after: in order
        straight = turns.running & issue.accepts & ~flush
        m.d.comb += [
            taken.eq(commits & what.jump & (~what.conditional | self._operands.condition)),
            flush.eq(masks.over | masks.again | masks.jumps | taken | turns.access | stops),
            issue.flush.eq(flush), issue.inject.eq(masks.again & ~stops),
            issue.fetch.eq(turns.chooses | ((taken | masks.jumps | straight) & ~stops)),
            issue.index.eq(index), issue.word.eq(program.word),
            program.fetch.eq(issue.fetch), program.index.eq(index), index.eq(after),
        ]
        with m.If(turns.chooses):
            m.d.comb += index.eq(Mux(turns.fresh, 0, self._groups.pc[turns.chosen]))
        with m.If(taken):
            m.d.comb += index.eq(what.immediate)
        with m.If(masks.jumps):
            m.d.comb += index.eq(masks.resume)
        with m.If(issue.fetch):
            m.d.sync += after.eq(index + 1)
        return flush

    def _pass_tokens(self, m, flush):
        """From stage to stage."""
        issue, tokens = self._issue, self.tokens
        m.d.comb += [
            tokens[0].eq(issue.token),
            issue.pushing.eq(Cat(token.valid & token.decoded.push
                                 for token in tokens[1:self.machine.execute_stages]).any()),
            self.under_way.eq(issue.occupied | Cat(token.valid for token in tokens[1:]).any()),
        ]
        for token, later in itertools.pairwise(tokens):
            m.d.sync += [later.eq(token), later.valid.eq(token.valid & ~flush)]

    def _read_operands(self, m):
        """Between operands, registers and masks."""
        slot, groups = self.current, self._groups
        operands, registers, masks = self._operands, self._registers, self._masks
        drive(m, operands.tokens, self.tokens)
        m.d.comb += [
            operands.slot.eq(slot),
            operands.x.eq(groups.x[slot]), operands.y.eq(groups.y[slot]),
            *(word.eq(groups.sd[slot][number]) for number, word in enumerate(operands.sd)),
            registers.slot.eq(slot), registers.accessing.eq(self.accessing),
            registers.released.eq(self._turns.released),
            registers.read.eq(operands.read), registers.scalar_read.eq(operands.scalar_read),
            masks.warp.eq(self.tokens[fetch_stage(self.machine, 1) + 1].warp),
        ]
        drive(m, operands.mask_rows, masks.read_rows)
        drive(m, operands.scalar, registers.scalar)
        drive(m, operands.vector, registers.operand)
        if self.machine.snoopy:
            drive(m, operands.special, registers.special)
            drive(m, registers.active, masks.active)
            m.d.comb += registers.special_warp.eq(masks.warp)

    def _write_results(self, m, commits, wrong):
        """Between execution, commit and registers."""
        execute, commit, operands, masks = (self._execute, self._commit, self._operands,
                                            self._masks)
        m.d.comb += [
            execute.begins.eq(self.tokens[self.machine.decode_stages]),
            execute.ends.eq(self.tokens[-1]),
            commit.slot.eq(self.current), commit.token.eq(self.tokens[-1]),
            commit.commits.eq(commits), commit.wrong.eq(wrong), commit.value.eq(execute.value),
            commit.predicate.eq(operands.predicate), commit.combined.eq(operands.combined),
            *(getattr(commit, name).eq(getattr(masks, name))
              for name in ("row", "changed", "mask", "after")),
            operands.predicate_write.eq(commit.predicate_write),
            self._registers.write.eq(commit.write),
            self._registers.scalar_write.eq(commit.scalar_write),
        ]
        drive(m, execute.operand, operands.operand)
        drive(m, commit.result, execute.result)
        drive(m, self._registers.words_written, commit.words_written)
        for slot, registers in enumerate(self._groups.sd):
            for write, register in zip(commit.sd_write, registers, strict=True):
                with m.If(write & (self.current == slot)):
                    m.d.sync += register.eq(execute.value)

    def _change_masks(self, m, commits):
        masks = self._masks
        m.d.comb += [masks.slot.eq(self.current), masks.token.eq(self.tokens[-1]),
                     masks.commits.eq(commits), masks.stops.eq(self._turns.stops),
                     masks.chosen.eq(self._operands.chosen)]

    def _take_turns(self, m, commits, wrong):
        turns, masks, what = self._turns, self._masks, self.tokens[-1].decoded
        m.d.comb += [
            turns.over.eq(masks.over), turns.access.eq(commits & what.access),
            turns.scratchpad.eq(what.scratchpad), turns.wrong.eq(wrong),
            turns.last.eq(what.global_store & self._issue.exit_follows & masks.empty),
        ]

    def _show_access(self, m):
        """An access that commits; its work-group goes on after it."""
        turns, groups, slot, token = self._turns, self._groups, self.current, self.tokens[-1]
        what, shown = token.decoded, self.access.payload
        access = turns.access & ~turns.stops
        m.d.sync += [
            self.access.valid.eq(access),
            *(shown[name].eq(value) for name, value in {
                "slot": slot, "opcode": what.opcode, "scratchpad": what.scratchpad,
                "store": what.store, "buffer": what.number, "target": what.target,
                "width": what.width, "count": what.count, "x": self._operands.offset_x,
                "y": self._operands.offset_y, "last": turns.last, "index": token.index,
                "number": groups.number[slot], "group_x": groups.x[slot],
                "group_y": groups.y[slot],
            }.items()),
            *(shown[name].eq(groups.sd[slot][number])
              for number, name in enumerate(SCALAR_SPECIAL[SD:])),
        ]
        with m.If(access):
            m.d.sync += groups.pc[slot].eq(token.index + 1)

    def _show_ends(self, m, wrong, cause):
        """A work-group's end, and a fault."""
        turns, groups = self._turns, self._groups
        m.d.sync += [self.ended.valid.eq(turns.over & ~turns.stops),
                     self.ended.payload.slot.eq(self.current),
                     self.ended.payload.number.eq(groups.number[self.current])]
        shown, slot = self.fault.payload, Signal(range(SLOTS))
        m.d.comb += slot.eq(Mux(wrong, self.current, turns.failed[1]))
        m.d.sync += [
            self.fault.valid.eq((wrong | turns.failed.any()) & ~self.start),
            shown.cause.eq(Mux(wrong, cause, Cause.ACCESS)), shown.slot.eq(slot),
            shown.index.eq(Mux(wrong, self.tokens[-1].index,
                               (groups.pc[slot] - 1)[:INDEX_BITS])),
            shown.number.eq(groups.number[slot]),
        ]

    def _launch(self, m):
        """A new work-group begins at the program's first instruction."""
        launched, groups = self.launch.payload, self._groups
        for slot in range(SLOTS):
            with m.If(self.launch.valid & (launched.slot == slot)):
                m.d.sync += [groups.number[slot].eq(launched.number),
                             groups.x[slot].eq(launched.x), groups.y[slot].eq(launched.y),
                             groups.pc[slot].eq(0),
                             *(register.eq(1) for register in groups.sd[slot])]
