"""A search for the epoch that stays longest in a special unit, with a younger epoch after it.

    python -m cyclebound.tools.dataflow.special_search FUNCTION DEPTH BLOCKS TRIES SEED

For each thread of two epochs: whether its operation is long, and how many cycles its operands come
after those of the thread before. Within an epoch, threads come in any order, the second operands
in one of their own. What is as good as the best so far is changed a little and tried again; after a
while without a better one, it begins anew.
"""

import random
import sys
from dataclasses import dataclass

from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import BLOCKS
from cyclebound.golden.dataflow.special_bounds import special_epoch
from cyclebound.golden.dataflow.special_timing import longest
from cyclebound.golden.dataflow.special_unit import SpecialUnitModel
from cyclebound.tools.hill_climb import climb, climbed

__all__ = ["Threads", "residence", "search"]

_LONG = {Special.IDIV: (0x80000000, 3), Special.FDIV: (0x3F800000, 3),
         Special.FSQRT: (0x40490FDB, 0)}
_PATIENCE = 300


@dataclass(frozen=True)
class Threads:
    """Two epochs: by operand, the order in which threads come; by thread, whether its operation is
    long, and the cycles without a token before it."""

    orders: tuple[tuple[int, ...], ...]
    late: tuple[bool, ...]
    pauses: tuple[int, ...]


def residence(threads: Threads, *, function: Special, depth: int, blocks: int) -> int:
    """Cycles from taking the last operand of the first epoch to offering its last result."""
    model = SpecialUnitModel(function=function, depth=depth, blocks=blocks)
    queues = [list(order) for order in threads.orders]
    waits = [threads.pauses[queue[0]] for queue in queues]
    taken = last = cycle = results = 0
    while results < depth:
        offers: list[tuple[int, int] | None] = [None, None]
        for k, queue in enumerate(queues):
            if queue and not waits[k]:
                offers[k] = queue[0], _LONG[function][k] if threads.late[queue[0]] else 0
            waits[k] = max(0, waits[k] - 1)
        outputs = model.step(offers, True)
        for k, queue in enumerate(queues):
            if outputs.taken[k]:
                if queue.pop(0) < depth:
                    taken = cycle
                if queue:
                    waits[k] = threads.pauses[queue[0]]
        if outputs.result is not None:
            assert outputs.result[0] < depth  # the older epoch first
            results += 1
            last = cycle
        cycle += 1
    return last - taken + 1


def _order(rng: random.Random, depth: int) -> tuple[int, ...]:
    return (*rng.sample(range(depth), depth), *rng.sample(range(depth, 2 * depth), depth))


def _fresh(rng: random.Random, depth: int, operands: int) -> Threads:
    late, share = rng.random(), rng.choice((0.0, 0.1, 0.5))
    return Threads(tuple(_order(rng, depth) for _ in range(operands)),
                   tuple(rng.random() < (late if tid < depth else share)
                         for tid in range(2 * depth)),
                   tuple(rng.choice((0, 0, 0, 1, 30)) if tid >= depth else 0
                         for tid in range(2 * depth)))


def _changed(threads: Threads, rng: random.Random, depth: int) -> Threads:
    orders, late, pauses = [list(order) for order in threads.orders], list(threads.late), list(
        threads.pauses)
    for _ in range(rng.choice((1, 1, 2, 3))):
        number = rng.randrange(2 * depth)
        kind = rng.random()
        if kind < 0.4:
            late[number] = not late[number]
        elif kind < 0.7:
            order = rng.choice(orders)
            other = number - number % depth + rng.randrange(depth)
            order[number], order[other] = order[other], order[number]
        else:
            pauses[number] = rng.choice((0, 1, 2, rng.randrange(40)))
    return Threads(tuple(map(tuple, orders)), tuple(late), tuple(pauses))


def search(function: Special, tries: int, *, depth: int, blocks: int = BLOCKS, operands: int = 1,
           seed: int = 1) -> tuple[int, Threads]:
    """The longest residence found, and the threads; ``operands``: streams in orders of their own.
    """
    if operands > 1 + (function != Special.FSQRT):
        raise ValueError(f"{function} must have 1 operand, not {operands}")
    rng = random.Random(f"{function} {depth} {blocks} {operands} {seed}")

    def both(threads: Threads) -> Threads:
        return (Threads(threads.orders * 2, threads.late, threads.pauses)
                if operands == 1 and function != Special.FSQRT else threads)

    found = climbed(
        climb(lambda: _fresh(rng, depth, operands), lambda threads: _changed(threads, rng, depth),
              tries=tries, patience=_PATIENCE),
        lambda threads: residence(both(threads), function=function, depth=depth, blocks=blocks))
    assert found.value is not None  # each has a value
    assert found.candidate is not None
    return found.value, both(found.candidate)


def main(arguments: list[str]) -> None:
    """The command line; the module's docstring has its arguments."""
    if len(arguments) != 5:
        sys.exit(__doc__)
    function, (depth, blocks, tries, seed) = Special(arguments[0]), map(int, arguments[1:])
    for operands in range(1, 2 + (function != Special.FSQRT)):
        cycles, threads = search(function, tries, depth=depth, blocks=blocks, operands=operands,
                                 seed=seed)
        alone, allowed = (special_epoch(depth=depth, blocks=blocks, operands=operands,
                                        block=longest(function), younger=younger)
                          for younger in (0, depth))
        print(f"{function}, {depth} entries, {blocks} blocks, {operands} streams: {cycles} of "
              f"{allowed} ({alone} without a younger epoch)\n{threads}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
