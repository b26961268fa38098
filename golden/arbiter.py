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
        if not requests:
            self._held = None
            return 0
        asking = [who for who in self._queue if requests >> who & 1]
        winner = self._held if self._held in asking else asking[0]
        if accept:
            # all requesters up to the winner have had a turn, or did not use it
            cut = self._queue.index(winner) + 1
            self._queue = self._queue[cut:] + self._queue[:cut]
        self._held = None if accept else winner
        return 1 << winner
