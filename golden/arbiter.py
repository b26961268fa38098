"""Golden model of round-robin arbitration."""

__all__ = ["RoundRobinModel"]


class RoundRobinModel:
    """Round robin as a queue of requesters; the one that is served goes to its end.

    A winner that is not accepted stays the winner for as long as it asks.

    Parameters
    ----------
    count : int
        Number of requesters.
    """

    def __init__(self, count: int) -> None:
        self._queue = list(range(count))
        self._held: int | None = None

    def step(self, requests: int, accept: bool) -> int:
        """One cycle: the one-hot grant for these requests."""
        asking = [who for who in self._queue if requests >> who & 1]
        winner: int | None
        if self._held in asking:
            winner = self._held
        else:
            winner = asking[0] if asking else None
        if accept and winner is not None:
            # all requesters up to the winner have had a turn, or did not use it
            cut = self._queue.index(winner) + 1
            self._queue = self._queue[cut:] + self._queue[:cut]
        self._held = None if accept else winner
        return 0 if winner is None else 1 << winner
