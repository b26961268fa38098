"""Model of a latency recorder, from a plain list of requests."""

from collections import Counter, deque

__all__ = ["RecorderModel"]


class RecorderModel:
    """One call per cycle; everything else is worked out from the list of requests.

    Attributes
    ----------
    requests : list[tuple[int, int]]
        Cycles in which each request was accepted and was complete.
    """

    def __init__(self, *, depth: int, bins: int, in_flight: int) -> None:
        self.depth, self.bins, self.in_flight = depth, bins, in_flight
        self._cycle, self._busy_until = 0, -1
        self._forget()

    def _forget(self) -> None:
        self.requests: list[tuple[int, int]] = []
        self._pending: deque[int] = deque()
        self.violated = self.overflow = self.underflow = False

    def step(self, *, accept: bool, complete: bool, clear: bool = False, limit: int = 0) -> None:
        """Go through one cycle."""
        now, pending = self._cycle, self._pending
        self._cycle += 1
        if clear or self.busy(now):
            if clear:
                self._forget()
                self._busy_until = now + self.bins
            self.overflow |= accept
            self.underflow |= complete
            return
        if accept:
            pending.append(now)
        if limit and pending and now - pending[0] + 1 > limit:
            self.violated = True
        if complete and pending:
            self.requests.append((pending.popleft(), now))
        elif complete:
            self.underflow = True
        if len(pending) > self.in_flight:
            pending.pop()
            self.overflow = True

    def busy(self, cycle: int) -> bool:
        """Whether the histogram is being cleared in ``cycle``."""
        return cycle <= self._busy_until

    @property
    def outstanding(self) -> int:
        return len(self._pending)

    @property
    def latencies(self) -> list[int]:
        return [last - first + 1 for first, last in self.requests]

    @property
    def histogram(self) -> list[int]:
        """Requests of each latency; the last bin holds all from ``bins - 1`` on."""
        counts = Counter(min(latency, self.bins - 1) for latency in self.latencies)
        return [counts[latency] for latency in range(self.bins)]

    @property
    def stamps(self) -> list[tuple[int, int]]:
        return self.requests[:self.depth]

    def summary(self) -> dict[str, int]:
        """The running results, as the recorder names them; all 0 before the first request."""
        latencies = self.latencies
        worst = max(latencies, default=0)
        return {
            "count": len(latencies),
            "sum": sum(latencies),
            "minimum": min(latencies, default=0),
            "maximum": worst,
            "worst_accept": self.requests[latencies.index(worst)][0] if latencies else 0,
            "violated": int(self.violated),
        }
