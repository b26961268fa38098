"""Golden model of the work-group scheduler, one call a compute cycle.

It keeps lists where the hardware counts: all places of the grid, all work-groups that were started
and all that have finished. `golden.simd.accelerator` schedules whole kernels by other means, event
by event; tests/simd/test_scheduler.py compares the two.

Ref: Sim-D, section 4.2.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cyclebound.golden.simd.machine import SLOTS, Grid, Place

__all__ = ["CODES", "Event", "Policy", "SchedulerModel", "SchedulerShown"]


class Policy(enum.Enum):
    """Policies: which work-groups and accesses may run at the same time.

    All but the first launch work-groups in pairs: the third and fourth when the first two have
    begun their last store, or have ended; and so on. Pairs are counted.
    """

    UNCONSTRAINED = "unconstrained"
    PAIRWISE = "pairwise"
    ACCESS = "access"    # scratchpads count as DRAM: accesses one after the other, as committed
    YIELD = "yield"      # nothing issues while a scratchpad transfers; then the other one is first
    COMPUTE = "compute"  # scratchpads count as compute: after a transfer its work-group goes on


CODES = tuple(Policy)
"""The policies in the order of their numbers in hardware."""


@dataclass(frozen=True)
class Event:
    """The events of one slot's work-group in a cycle.

    Attributes
    ----------
    committed : bool
        Its access was committed in the cycle before; ``scratchpad`` or of DRAM; ``final``: it ends
        with this store.
    over : bool
        Its access is over.
    ended : bool
        It ended in the cycle before, without a last store.
    """

    committed: bool = False
    scratchpad: bool = False
    final: bool = False
    over: bool = False
    ended: bool = False


@dataclass(frozen=True)
class SchedulerShown:
    """Outputs of the scheduler in a cycle.

    ``launch``: a slot and its new work-group, which may issue from the next cycle on. ``begin``:
    the slots whose access may go on, ``waits`` those with one that waits for the other's.
    ``left``: a work-group is to come. ``idle``: no kernel runs.
    """

    launch: tuple[int, Place] | None
    begin: tuple[bool, ...]
    waits: tuple[bool, ...]
    left: bool
    idle: bool


class SchedulerModel:
    """The scheduler from one start to the next."""

    def __init__(self) -> None:
        self._policy = Policy.UNCONSTRAINED
        self._places: list[Place] = []
        self._launched = 0
        self._finished = 0
        self._slots: list[Place | None] = [None] * SLOTS
        self._accesses: list[tuple[int, Event]] = []  # by slot, in the order of their commits
        self._stopped = False

    def step(self, events: Mapping[int, Event], *, start: tuple[Grid, Policy] | None = None,
             stop: bool = False) -> SchedulerShown:
        """One cycle: what happens to slots; a kernel that starts if none runs; or one that stops.
        """
        for slot, event in events.items():
            self._over(slot, event)
        for slot, event in events.items():
            if event.committed:
                self._accesses.append((slot, event))
            if event.ended or (event.committed and event.final):
                self._finished += 1
            if event.ended:
                self._slots[slot] = None
        self._stopped |= stop
        if self._stopped:
            self._places = self._places[:self._launched]
            under_way = {slot for slot, _ in self._accesses}
            self._slots = [place if slot in under_way else None
                           for slot, place in enumerate(self._slots)]
        left = self._launched < len(self._places)
        launch = self._launch()
        begin = self._begin()
        accessing = {slot for slot, _ in self._accesses}
        waits = tuple(slot in accessing and not begin[slot] for slot in range(SLOTS))
        idle = not left and self._slots == [None] * SLOTS
        shown = SchedulerShown(launch, begin, waits, left, idle)
        if start is not None and idle and not self._stopped:
            grid, self._policy = start
            self._places, self._launched, self._finished = list(grid.places()), 0, 0
        self._stopped &= not idle
        return shown

    def _over(self, slot: int, event: Event) -> None:
        """The slot's oldest access is over; after a last store the slot is free."""
        if not event.over:
            return
        place = next(n for n, (who, _) in enumerate(self._accesses) if who == slot)
        if self._accesses.pop(place)[1].final:
            self._slots[slot] = None

    def _launch(self) -> tuple[int, Place] | None:
        free = [slot for slot, place in enumerate(self._slots) if place is None]
        paired = self._policy is not Policy.UNCONSTRAINED
        if not free or self._launched == len(self._places) or (
                paired and self._finished < self._launched // 2 * 2):
            return None
        place = self._places[self._launched]
        self._slots[free[0]] = place
        self._launched += 1
        return free[0], place

    def _begin(self) -> tuple[bool, ...]:
        may = [False] * SLOTS
        for number, (slot, event) in enumerate(self._accesses):
            before: Sequence[tuple[int, Event]] = self._accesses[:number]
            may[slot] = self._policy is not Policy.ACCESS or not any(
                event.scratchpad or earlier.scratchpad for _, earlier in before)
        return tuple(may)
