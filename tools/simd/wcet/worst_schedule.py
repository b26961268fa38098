"""The machine's schedule if every work-group takes the worst route, and every phase its bound.

It is drawn, and it is a lower limit of what the analysis may say: the rules of the scheduler are
those of `golden.simd.accelerator`, followed phase by phase.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cyclebound.golden.simd.accelerator import Phase, Policy
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.tools.simd.wcet.access_costs import AccessCost
from cyclebound.tools.simd.wcet.graph import Node
from cyclebound.tools.simd.wcet.pairs import Clocks

__all__ = ["worst_schedule"]

Steps = Iterator[tuple[int, Node | None]]


@dataclass
class _ScheduledSlot:
    number: int
    group: int = -1
    steps: Steps | None = None
    ready: int = 0
    free: int = 0


def worst_schedule(count: int, steps_of: Callable[[int], Steps],
                   cost_of: Callable[[int, Node], AccessCost], final: set[Node], clocks: Clocks, *,
                   policy: Policy, load: int, most: int, until: int = 1 << 62
                   ) -> tuple[list[Phase], int]:
    """The first phases of a kernel, ``most`` at most and those that begin before cycle ``until``,
    and the last cycle in which one ends.

    ``steps_of`` a work-group are its compute cycles and accesses; no refreshes.
    """
    phases: list[Phase] = []
    slots = [_ScheduledSlot(number) for number in range(SLOTS)]
    finished: list[int] = []  # in ascending order, as the compute unit becomes free
    launched, compute_free, dram_rest, accessed, transferred = 0, load, 0, 0, 0
    launch_from, current, last, held = load, SLOTS - 1, load, False

    to_dram, to_compute = clocks.crossing.clock, clocks.crossing.cycle
    setup, resume = clocks.setup // clocks.dram, clocks.resume // clocks.dram

    while len(phases) < most:
        while launched < count:
            empty = [slot for slot in slots if slot.steps is None]
            needed = launched // 2 * 2
            if not empty or len(finished) < needed:
                break
            slot = min(empty, key=lambda slot: slot.free)
            when = max(slot.free, launch_from, *(finished[needed - 1:needed]))
            slot.steps, slot.group, slot.ready = steps_of(launched), launched, when + 1
            launch_from, launched = when + 1, launched + 1
        waiting = [slot for slot in slots if slot.steps is not None]
        if not waiting:
            break
        start = max(compute_free, min(slot.ready for slot in waiting))
        if policy in (Policy.YIELD, Policy.COMPUTE):
            start = max(start, transferred)
        if start >= until:
            break
        first = 0 if held else 1
        order = [slots[(current + step) % SLOTS] for step in range(first, SLOTS + first)]
        slot = next(each for each in order if each.steps is not None and each.ready <= start)
        current = slot.number
        assert slot.steps is not None
        cycles, access = next(slot.steps)
        compute_free = start + cycles
        phases.append(Phase("compute", slot.number, slot.group, start, compute_free))
        held = policy is Policy.COMPUTE and access is not None and \
            cost_of(slot.group, access).resource == "scratchpad"
        if access is None:
            last = max(last, compute_free)
            finished.append(compute_free)
            slot.steps, slot.free = None, compute_free
            continue
        cost = cost_of(slot.group, access)
        begin = compute_free
        if cost.resource == "scratchpad":
            begin = max(begin, accessed if policy is Policy.ACCESS else 0)
            over = to_compute(max(to_dram(compute_free) + setup, to_dram(begin)) + cost.delay)
            transferred = max(transferred, over)
        else:
            if policy is Policy.ACCESS:
                begin = max(begin, transferred)
            before = dram_rest
            clock = max(to_dram(compute_free) + setup, to_dram(begin))
            dram_rest = max(clock + cost.lead, before) + cost.delay
            begin = max(begin, to_compute(min(before, dram_rest) + resume))
            over = to_compute(dram_rest + resume)
        accessed, last = max(accessed, over), max(last, over)
        phases.append(Phase(cost.resource, slot.number, slot.group, begin, over))
        if access in final:
            finished.append(compute_free)
            slot.steps, slot.free = None, over
        else:
            slot.ready = over
    return list(itertools.islice(phases, most)), last
