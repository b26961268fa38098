"""Tokens of several epochs before a unit's operands, as an adversary plans them.

Each operand has a stream of its own, in which the threads of an epoch come in any order, each
after a pause; and each thread has a number that says how long its operation or access takes. The
streams need not keep step: one may be epochs ahead of another, as far as the unit lets it.
"""

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from cyclebound.tools.hill_climb import Found, climb

__all__ = ["TokenPlan", "TokenStreams", "search"]

_PATIENCE = 60
_TIMED, _SWAPPED = 0.4, 0.8  # shares of changes, added up


@dataclass(frozen=True)
class TokenPlan:
    """Threads before a unit.

    Attributes
    ----------
    streams : tuple of tuple of (int, int)
        By operand, in their order: the cycles without an offer before a token, and its thread.
    times : tuple of int
        By thread: how long what it does takes.
    """

    streams: tuple[tuple[tuple[int, int], ...], ...]
    times: tuple[int, ...]


@dataclass
class TokenStreams:
    """The tokens of a plan that have not been taken yet.

    Attributes
    ----------
    taken : dict of int to int
        By thread: the cycle in which its latest token was taken.
    """

    plan: TokenPlan
    taken: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = [0] * len(self.plan.streams)
        self._pauses = [stream[0][0] for stream in self.plan.streams]

    def offers(self) -> list[int | None]:
        """The thread whose token is offered in this cycle, by operand; asked once in a cycle."""
        threads: list[int | None] = []
        for k, stream in enumerate(self.plan.streams):
            left = self._places[k] < len(stream)
            threads.append(stream[self._places[k]][1] if left and not self._pauses[k] else None)
            self._pauses[k] = max(0, self._pauses[k] - 1)
        return threads

    def take(self, k: int, cycle: int) -> None:
        """The token on offer before operand ``k`` is taken."""
        stream = self.plan.streams[k]
        self.taken[stream[self._places[k]][1]] = cycle
        self._places[k] += 1
        self._pauses[k] = stream[self._places[k]][0] if self._places[k] < len(stream) else 0


def search(rng: random.Random, *, tries: int, streams: int, depth: int, epochs: int,
           time: Callable[[], int], together: bool, longest_pause: int, window: int = 0
           ) -> Generator[TokenPlan, int | None, Found[TokenPlan]]:
    """Plans to try, as `climb` does.

    Parameters
    ----------
    streams, depth, epochs : int
        Operands, threads of an epoch, and epochs.
    time : callable
        Draws how long something takes.
    together : bool
        All tokens of a thread come in the same cycle, and in one order.
    longest_pause : int
        In cycles.
    window : int
        Threads within which they come in any order; 0: those of an epoch.
    """
    window = window or depth

    def pause() -> int:
        return rng.choice((0, 0, 1, 2, rng.randrange(longest_pause)))

    def fresh() -> TokenPlan:
        paused = rng.choice((0.0, 0.0, 0.2))
        orders = [[(pause() if rng.random() < paused else 0, tid)
                   for first in range(0, epochs * depth, window)
                   for tid in rng.sample(range(first, first + window), window)]
                  for _ in range(1 if together else streams)]
        return TokenPlan(tuple(map(tuple, orders * (streams if together else 1))),
                         tuple(time() for _ in range(epochs * depth)))

    def changed(plan: TokenPlan) -> TokenPlan:
        orders, times = [list(stream) for stream in plan.streams], list(plan.times)
        for _ in range(rng.choice((1, 1, 2, 3))):
            kind, place, which = rng.random(), rng.randrange(len(times)), rng.randrange(streams)
            other = place - place % window + rng.randrange(window)
            gap = pause()
            if kind < _TIMED:
                times[place] = time()
                continue
            for k in range(streams) if together else [which]:
                (before, one), (later, two) = orders[k][place], orders[k][other]
                if kind < _SWAPPED:
                    orders[k][place], orders[k][other] = (before, two), (later, one)
                else:
                    orders[k][place] = gap, one
        return TokenPlan(tuple(map(tuple, orders)), tuple(times))

    return climb(fresh, changed, tries=tries, patience=_PATIENCE)
