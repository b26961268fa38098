"""A search that keeps what is as good as the best so far, and changes it a little.

After a while without a better one it begins anew. It knows nothing of what it searches but the
values that it has seen, so that the same search serves a model and the RTL.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Generic, TypeVar

__all__ = ["Found", "climb", "climbed", "climbed_in_simulation"]

Candidate = TypeVar("Candidate")


class Found(Generic[Candidate]):
    """What a search has come to.

    Attributes
    ----------
    value : int or None
        The greatest value, None if no candidate had one.
    candidate : Candidate
        The first with that value.
    tries : int
        How many candidates were tried.
    """

    def __init__(self) -> None:
        self.value: int | None = None
        self.candidate: Candidate | None = None
        self.tries = 0


def climb(fresh: Callable[[], Candidate], changed: Callable[[Candidate], Candidate], *,
          tries: int, patience: int) -> Generator[Candidate, int | None, Found[Candidate]]:
    """Candidates to try; `send` the value of each, or None for one that is no valid one.

    Parameters
    ----------
    fresh : callable
        Returns another candidate, to begin with.
    changed : callable
        Returns a candidate that differs a little from the given one.
    tries : int
        How many are tried.
    patience : int
        Tries without a greater value after which the search begins anew.
    """
    found: Found[Candidate] = Found()
    here: int | None = None
    current: Candidate | None = None
    since = patience
    for _ in range(tries):
        if since >= patience or current is None:
            here, since, trial = None, 0, fresh()
        else:
            trial = changed(current)
        value = yield trial
        found.tries += 1
        if value is None:
            continue
        since = 0 if here is None or value > here else since + 1
        if here is None or value >= here:
            here, current = value, trial
        if found.value is None or value > found.value:
            found.value, found.candidate = value, trial
    return found


def climbed(search: Generator[Candidate, int | None, Found[Candidate]],
            value: Callable[[Candidate], int | None]) -> Found[Candidate]:
    """What ``search`` comes to with values from a function."""
    try:
        candidate = next(search)
        while True:
            candidate = search.send(value(candidate))
    except StopIteration as ended:
        return ended.value


async def climbed_in_simulation(search: Generator[Candidate, int | None, Found[Candidate]],
                                value: Callable[[Candidate], Awaitable[int | None]]
                                ) -> Found[Candidate]:
    """What ``search`` comes to with values that a testbench measures."""
    try:
        candidate = next(search)
        while True:
            candidate = search.send(await value(candidate))
    except StopIteration as ended:
        return ended.value
