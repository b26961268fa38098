"""Search for arrival times, durations and placements that come closest to a response-time bound."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cyclebound.golden.gpu.stream_bounds import StreamBounds
from cyclebound.golden.gpu.streams import Gpu, Operation, Stream, StreamsRun, simulate

__all__ = ["Attack", "Finding", "attack_run", "search"]


@dataclass(frozen=True)
class Attack:
    """A scenario: launches of every stream, and seeds of what else is free.

    Attributes
    ----------
    releases : dict[str, tuple[tuple[int, ...], ...]]
        As `simulate` takes them.
    shorter : dict[tuple[str, int], int]
        Blocks, by operation and number, that take less than their greatest time.
    seed : int
        Of the placement.
    """

    releases: Mapping[str, tuple[tuple[int, ...], ...]]
    shorter: Mapping[tuple[str, int], int] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class Finding:
    """The scenario that came closest to a bound, or exceeded it.

    Attributes
    ----------
    ratio : float
        Response over bound.
    """

    ratio: float
    stream: str
    operation: str
    response: int
    bound: int
    attack: Attack
    tried: int


def attack_run(gpu: Gpu, streams: Sequence[Stream], attack: Attack) -> StreamsRun:
    """The run of a scenario in the simulator."""
    dice = random.Random(attack.seed)

    def time_of(operation: Operation, number: int) -> int:
        return attack.shorter.get((operation.name, number), operation.time)

    return simulate(gpu, streams, attack.releases, place=min if not attack.seed else dice.choice,
                    time_of=time_of)


def search(gpu: Gpu, streams: Sequence[Stream], bounds: StreamBounds, *, tries: int = 300,
           seed: int = 0, launches: int = 2) -> Finding:
    """Random scenarios, and from the best of them a climb by small changes.

    Parameters
    ----------
    launches : int
        Of a stream with a period.

    Raises
    ------
    ValueError
        If there is no bound to be attacked, or no try.
    """
    if tries < 1:
        raise ValueError(f"tries must be at least 1, not {tries}")
    if not bounds.operations:
        raise ValueError(f"there is no bound to be attacked: {bounds.problem}")
    limit: dict[tuple[str, str], int] = {}
    # the same name twice in a stream: the later bound is larger
    for operation in bounds.operations:
        limit[operation.stream, operation.operation] = max(
            operation.response, limit.get((operation.stream, operation.operation), 0))
    dice = random.Random(seed)
    span = max(operation.time for stream in streams for operation in stream.operations)
    best: Finding | None = None
    for tried in range(1, tries + 1):
        attack = (_changed(best.attack, streams, dice, span)
                  if best is not None and tried > tries // 3
                  else _random(streams, dice, span, launches))
        run = attack_run(gpu, streams, attack)
        worst = max(run.operations, key=lambda finished: finished.response / limit[
            finished.stream.name, finished.operation.name])
        bound = limit[worst.stream.name, worst.operation.name]
        if best is None or worst.response / bound >= best.ratio:
            best = Finding(worst.response / bound, worst.stream.name, worst.operation.name,
                           worst.response, bound, attack, tried)
    assert best is not None  # after one try
    return replace(best, tried=tries)


def _random(streams: Sequence[Stream], dice: random.Random, span: int, launches: int) -> Attack:
    releases, shorter = {}, {}
    for stream in streams:
        start, lists = dice.choice((0, 1, dice.randint(0, 2 * span))), []
        for _ in range(launches if stream.period else 1):
            together = dice.random() < 0.5
            times, now = [], start
            for _ in stream.operations:
                times.append(now)
                now += 0 if together else dice.randint(0, span)
            lists.append(tuple(times))
            start = times[-1] + (stream.period or 0) + dice.choice((0, dice.randint(0, span)))
        releases[stream.name] = tuple(lists)
        for operation in stream.operations:
            for number in range(max(1, operation.blocks)):
                if dice.random() < 0.2:
                    shorter[operation.name, number] = dice.randint(1, operation.time)
    return Attack(releases, shorter if dice.random() < 0.5 else {}, dice.randint(0, 9))


def _changed(attack: Attack, streams: Sequence[Stream], dice: random.Random, span: int) -> Attack:
    """A neighbour: one stream launched earlier or later, or other durations, or other places."""
    kind = dice.randrange(4)
    if kind == 0:
        return replace(attack, seed=dice.randint(0, 99))
    if kind == 1 and attack.shorter:
        left = dict(attack.shorter)
        del left[dice.choice(sorted(left))]
        return replace(attack, shorter=left)
    stream = dice.choice(streams)
    by = dice.choice((-1, 1)) * dice.choice((1, 1, dice.randint(1, max(1, span))))
    moved = tuple(tuple(max(0, time + by) for time in times)
                  for times in attack.releases[stream.name])
    if stream.period and any(after[0] - before[-1] < stream.period
                             for before, after in itertools.pairwise(moved)):
        return attack
    return replace(attack, releases={**attack.releases, stream.name: moved})
