"""A search for the start of a transaction at which it takes longest, within a period.

It knows nothing of what it searches but values that it has seen: no formula chooses a start.
"""

import random
from collections.abc import Awaitable, Callable, Generator

__all__ = ["APART", "OTHERS", "followed", "longest_start", "starts"]

APART, OTHERS = 96, 8  # of starts between two refreshes, in cycles of the network: a refresh delays
                       # for longer; and starts at random
TEETH = 3  # of the best starts, so many are refined


def starts(period: int, *, step: int, sample: int, rng: random.Random
           ) -> Generator[int, int, dict[int, int]]:
    """Starts to try, each at most once; `send` what each took. Returns all that was seen.

    First every ``step``-th start, from a random one on, and ``sample`` random ones. A later start
    takes a cycle less until something no longer fits, and then much more; so the best of these are
    refined by steps that are halved down to single cycles, in either direction.
    """
    seen: dict[int, int] = {}
    first = rng.randrange(step)
    todo = [*range(first, period, step), *(rng.randrange(period) for _ in range(sample))]
    for place in dict.fromkeys(todo):
        seen[place] = yield place
    best: list[int] = []
    for place in sorted(seen, key=seen.__getitem__, reverse=True):
        if all(min((place - other) % period, (other - place) % period) > step for other in best):
            best.append(place)
    for place in best[:TEETH]:
        size = step
        while size:
            for near in ((place - size) % period, (place + size) % period):
                if near not in seen:
                    seen[near] = yield near
            longest = max((place, (place - size) % period, (place + size) % period),
                          key=seen.__getitem__)
            # the same step again where it helped, for the end of a long slope
            place, size = longest, size if longest != place and size == 1 else size // 2
    return seen


def longest_start(takes: Callable[[int], int], period: int, *, step: int, sample: int,
                  rng: random.Random) -> tuple[int, dict[int, int]]:
    """The start that takes longest of all that `starts` tries, and what each took."""
    search = starts(period, step=step, sample=sample, rng=rng)
    place = next(search)
    while True:
        try:
            place = search.send(takes(place))
        except StopIteration as ended:
            return max(ended.value, key=ended.value.get), ended.value


async def followed(takes: Callable[[int], Awaitable[int]], count: int, step: int, sample: int,
                   rng: random.Random) -> tuple[int, dict[int, int]]:
    """`longest_start` of what is found out by a simulation."""
    search = starts(count, step=step, sample=sample, rng=rng)
    start = next(search)
    while True:
        try:
            start = search.send(await takes(start))
        except StopIteration as ended:
            return max(ended.value, key=ended.value.get), ended.value
