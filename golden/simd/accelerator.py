"""A kernel cycle by cycle: two work-groups take turns on the compute unit, DRAM and scratchpads.

What the work-groups do is `work_group`'s; how long a compute phase is, `pipeline`'s; how long an
access, `memory_timing`'s. Here is what comes when: which slot gets the next work-group, which
work-group the compute unit, and when an access may begin under each of the policies (`Policy`).

Times are in compute cycles; a phase from ``start`` to ``end`` occupies its resource in the cycles
from ``start`` to ``end - 1``. An access begins with the first edge of the DRAM clock that is not
before the compute clock's, or `Machine.setup_clocks` after it, and its work-group may issue from
the first edge of the compute clock on that is not before its end.

Ref: Sim-D, sections 3 and 4.2.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import SLOTS, Crossing, Grid
from cyclebound.golden.simd.memory_timing import DramTimeline, load_cycles, scratchpad_cycles
from cyclebound.golden.simd.pipeline import Pipeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.transfers import Access
from cyclebound.golden.simd.work_group import Code, Memory, WorkGroup

__all__ = ["CycleModel", "Phase", "Policy", "Timed"]

_EXCLUSIVE = (Policy.COMPUTE, Policy.YIELD)  # nothing issues while a scratchpad transfers


class Phase(NamedTuple):
    """One resource, occupied by one work-group. ``resource``: compute, dram, scratchpad or load."""

    resource: str
    slot: int
    work_group: int
    start: int
    end: int


@dataclass
class Timed:
    """The timed run of a kernel.

    Attributes
    ----------
    cycles : int
        Compute cycles from the start to the last work-group's end.
    load : int
        Of them, for loading the program.
    phases : list of Phase
        In the order in which they begin on their resource; empty if they were not asked for.
    busy : dict
        Cycles in which each resource was occupied.
    refreshes : int
        Of the DRAM.
    operations : int
        Vector instructions times items.
    due : int
        The DRAM clock, from the start, in which the first refresh falls due.
    refreshing : int
        For how many DRAM clocks from the start on one is under way that fell due before.
    """

    cycles: int = 0
    load: int = 0
    phases: list[Phase] = field(default_factory=list)
    busy: dict[str, int] = field(default_factory=lambda: dict.fromkeys(
        ("compute", "dram", "scratchpad"), 0))
    refreshes: int = 0
    operations: int = 0
    due: int = 0
    refreshing: int = 0


@dataclass
class _WorkGroupSlot:
    """``ready``: from when on its work-group may issue; None: it has none. ``trace``: of its
    phases so far, if it is given."""

    group: WorkGroup | None = None
    ready: int | None = None
    free: int = 0
    trace: list[int] = field(default_factory=list)


class CycleModel:
    """One run of a kernel.

    Parameters
    ----------
    program : Program
        The kernel.
    grid : Grid
        Its items; the machine is the grid's.
    memory : dict
        Content of the DRAM buffers, changed in place.
    policy : Policy
        Of the work-group scheduler.
    part : Part
        The DRAM.
    timeline : DramTimeline
        Another one than the part's with the controller's delays.
    code : Code
        The program's functions, if some are to be others.

    Raises `ValueError` for a program that the machine has no room for (`Program.check`).
    """

    def __init__(self, program: Program, grid: Grid, memory: Memory, *, policy: Policy, part: Part,
                 timeline: DramTimeline | None = None, code: Code | None = None) -> None:
        program.check(grid.machine)
        self._program, self._grid, self._memory = program, grid, memory
        self._policy = policy
        self._held = False  # the last phase ended in an access to the scratchpad
        self._machine = grid.machine
        crossing = Crossing(grid.machine, part.tck_ps)
        self._to_dram, self._to_compute = crossing.clock, crossing.cycle
        self._code, self._pipeline = code or Code(program), Pipeline(program, self._machine)
        self._dram = timeline or DramTimeline(part)
        self._places = list(grid.places())
        self._slots = [_WorkGroupSlot() for _ in range(SLOTS)]
        self._launched = 0
        self._launch_from = 0
        self._finished: list[int] = []  # when each work-group began its last store, or ended
        self._accessed = 0              # until when an access runs, whichever
        self._transferred = 0           # until when a scratchpad does
        self._traced: Callable[[list[int]], None] | None = None
        self._timed = Timed()

    # -- a run -----------------------------------------------------------------------------------

    def run(self, *, keep: bool = True, most: int = 1 << 40,
            tell: Callable[[int, int], None] = lambda done, total: None,
            traced: Callable[[list[int]], None] | None = None) -> Timed:
        """The whole kernel. ``keep``: its phases, too; the rest is as in `functional.run`, but a
        trace does not have an exit that is part of the last store.

        Raises `KernelFault`.
        """
        self._traced = traced
        timed, last = self._timed, 0
        timed.due, timed.refreshing = self._dram.due, self._dram.rest
        timed.load = compute_free = self._launch_from = load_cycles(
            self._program, self._machine, self._dram)
        current = SLOTS - 1
        with np.errstate(all="ignore"):
            while True:
                ready = [slot.ready for slot in self._slots if slot.ready is not None]
                start = max(compute_free, min(ready)) if ready else None
                if start is not None and self._policy in _EXCLUSIVE:
                    start = max(start, self._transferred)
                if self._launch(start, most):
                    continue
                if start is None:
                    break
                tell(len(self._finished), len(self._places))
                # greedily its own, then the other's turn: what has waited for longer may not be it
                first = 0 if self._held else 1
                order = [(current + step) % SLOTS for step in range(first, SLOTS + first)]
                current = next(number for number in order
                               if (ready_at := self._slots[number].ready) is not None
                               and ready_at <= start)
                compute_free, over = self._phase(current, start, keep)
                last = max(last, over)
        tell(len(self._places), len(self._places))
        timed.cycles, timed.refreshes = last, self._dram.refreshes
        return timed

    def _launch(self, before: int | None, most: int) -> bool:
        """Give the next work-group to a free slot, the lower one of two that are free; or not.

        Only in a cycle up to ``before``, when the next phase begins: what comes of a phase may free
        the other slot earlier.
        """
        free = [slot for slot in self._slots if slot.group is None]
        if self._launched == len(self._places) or not free:
            return False
        earliest = self._launch_from
        if self._policy is not Policy.UNCONSTRAINED:
            needed = self._launched // 2 * 2
            if len(self._finished) < needed:
                return False
            if needed:
                earliest = max(earliest, sorted(self._finished)[needed - 1])
        slot = min(free, key=lambda slot: max(slot.free, earliest))  # the first of equal ones
        when = max(slot.free, earliest)
        if before is not None and when > before:
            return False
        slot.group = WorkGroup(self._code, self._grid, self._places[self._launched],
                               self._memory, most=most)
        slot.ready = when + 1
        self._launched += 1
        self._launch_from = when + 1
        return True

    def _phase(self, number: int, start: int, keep: bool) -> tuple[int, int]:
        """A compute phase from ``start`` on, and the access after it.

        Returns the cycles in which the compute unit is free, and in which the access is over.
        """
        slot = self._slots[number]
        group = slot.group
        assert group is not None
        trace: list[int] = []
        access = group.advance(trace)
        if self._traced is not None:
            slot.trace += trace
        self._held = (self._policy is Policy.COMPUTE and access is not None
                      and access.resource == "scratchpad")
        free = start + self._pipeline.length(trace) if trace else start + 1
        self._occupied("compute", number, start, free, keep)
        if access is None:
            self._end(slot, free, free)
            return free, free
        begun, over = self._access(group, access, free)
        group.make(access)
        self._occupied(access.resource, number, begun, over, keep)
        if self._last_store(group):
            self._end(slot, free, over)
        else:
            slot.ready = over
        return free, over

    def _occupied(self, resource: str, number: int, start: int, end: int, keep: bool) -> None:
        timed, group = self._timed, self._slots[number].group
        assert group is not None
        timed.busy[resource] += end - start
        if keep:
            timed.phases.append(Phase(resource, number, group.place.number, start, end))

    def _end(self, slot: _WorkGroupSlot, finished: int, free: int) -> None:
        assert slot.group is not None
        self._finished.append(finished)
        if self._traced is not None:
            self._traced(slot.trace)
            slot.trace = []
        self._timed.operations += slot.group.vectors * self._machine.items
        slot.group, slot.ready, slot.free = None, None, free

    def _last_store(self, group: WorkGroup) -> bool:
        """An exit of all that follows a store to DRAM at once is part of it."""
        index = group.pc
        if index >= len(self._program.instructions) or group.stack:
            return False
        store, then = self._program.instructions[index - 1:index + 1]
        return (store.name.startswith("stg") and then.name == "exit"
                and then.operand("A") is None)

    def _access(self, group: WorkGroup, access: Access, committed: int) -> tuple[int, int]:
        """The cycles in which an access begins and is over, if committed before ``committed``."""
        begin = committed
        if self._policy is Policy.ACCESS:  # DRAM keeps the order of its own requests
            before = self._accessed if access.resource == "scratchpad" else self._transferred
            begin = max(begin, before)
        clock = max(self._to_dram(committed) + self._machine.setup_clocks, self._to_dram(begin))
        if access.resource == "scratchpad":
            over = self._to_compute(clock + scratchpad_cycles(
                access, self._machine.scratchpad_bus, line_by_line=self._machine.line_by_line))
            self._transferred = max(self._transferred, over)
        else:
            before = self._dram.rest
            if access.indexes is not None:
                lanes = np.flatnonzero(group.active).tolist()
                done = self._dram.indexed(clock, access, lanes,
                                          self._machine.items)
            else:
                done = self._dram.tile(clock, access,
                                       line_by_line=self._machine.line_by_line)
            resume = self._machine.resume_clocks
            begin = max(begin, self._to_compute(min(before, done) + resume))
            over = max(self._to_compute(done + resume), begin)
        self._accessed = max(self._accessed, over)
        return begin, over
