"""Golden model of the switch (SGMF, section 5.3)."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

__all__ = ["PLACES", "SwitchModel"]

T = TypeVar("T")

PLACES = 2  # tokens that wait at an input


class SwitchModel(Generic[T]):
    """Each input is a queue of tokens, each with those outputs that have not had it.

    Parameters
    ----------
    ports : int
        Inputs, and outputs.
    choices : mapping of int to int
        By output: the input whose tokens it has. Those that are not there have none.
    """

    def __init__(self, ports: int, choices: Mapping[int, int]) -> None:
        self.users = [frozenset(o for o, i in choices.items() if i == source and o != source)
                      for source in range(ports)]
        self.queues: list[deque[tuple[T, set[int]]]] = [deque() for _ in range(ports)]

    @property
    def empty(self) -> bool:
        return not any(self.queues)

    @property
    def ready(self) -> list[bool]:
        """Whether each input takes a token in this cycle."""
        return [len(queue) < PLACES for queue in self.queues]

    @property
    def shown(self) -> list[T | None]:
        """The token on offer at each output, or None."""
        offers: list[T | None] = [None] * len(self.queues)
        for queue in self.queues:
            if queue:
                for output in queue[0][1]:
                    offers[output] = queue[0][0]
        return offers

    def step(self, offers: Sequence[T | None], ready: Sequence[bool]) -> list[T | None]:
        """One cycle: a token or None at each input, who takes outputs. Returns what is shown."""
        shown, room = self.shown, self.ready
        for queue in self.queues:
            if queue:
                queue[0][1].difference_update([o for o in queue[0][1] if ready[o]])
                if not queue[0][1]:
                    queue.popleft()
        for source, offer in enumerate(offers):
            if offer is not None and room[source]:
                self.queues[source].append((offer, set(self.users[source])))
        return shown
