"""Golden model of the reorder core (memory-composition, section IV.C.3)."""

from collections.abc import Iterable
from dataclasses import dataclass

from cyclebound.golden.dram.queued_request import QueuedRequest

__all__ = ["ReorderCoreModel", "Rules"]


@dataclass
class _Waiting:
    request: QueuedRequest
    overtaken: int = 0  # requests issued while this one waited


class Rules:
    """The four rules, over what the banks were told so far. Without times: one issue is a step.

    ``recent(bank)`` is left to the user: by default no bank counts as recently opened, which is
    so where t_RC is over before the next issue.
    """

    def __init__(self, rows: dict[int, int] | None = None) -> None:
        self.rows = dict(rows or {})  # bank: its open row
        self.write: bool | None = None  # direction of the previous request

    def hit(self, request: QueuedRequest) -> bool:
        """Rule 2: the request's row is open."""
        return self.rows.get(request.bank) == request.row

    def key(self, request: QueuedRequest, *, recent: bool = False) -> tuple:
        """The less, the sooner: rules 1 to 4 in this order."""
        hit = self.hit(request)
        return -request.priority, not hit, not hit and recent, request.write != self.write

    def issue(self, request: QueuedRequest) -> None:
        """The request goes to the controller."""
        self.rows[request.bank] = request.row
        self.write = request.write

    def order(self, waiting: Iterable[QueuedRequest]) -> list[QueuedRequest]:
        """The order in which requests leave if none come; ties go to the first."""
        left, order = list(waiting), []
        while left:
            best = min(left, key=self.key)
            left.remove(best)
            self.issue(best)
            order.append(best)
        return order


class ReorderCoreModel:
    """A queue, the rules, and a register towards the controller; one `step` a cycle.

    Who leaves is found out in one cycle and leaves in the next; the banks learn of it in the one
    after that, in which nothing is found out.

    Parameters
    ----------
    entries : int
        n: places in the queue.
    cap : int
        Issues by which the oldest request may be overtaken before it goes first; 0: the literal
        rules.
    cycle : int
        t_RC, in cycles: how long a bank counts as recently opened from when a request that opens
        a row leaves the queue.
    """

    def __init__(self, *, entries: int, cap: int, cycle: int) -> None:
        self._entries, self._cap, self._cycle = entries, cap, cycle
        self.rules = Rules()
        self.queue: list[_Waiting] = []
        self.issued: list[tuple[QueuedRequest, int]] = []  # with how many overtook it
        self._shown: QueuedRequest | None = None
        self._fresh = False
        self._picked: _Waiting | None = None
        self._now = 0
        self._opened: dict[int, int] = {}  # bank: when its row was opened

    def _recent(self, bank: int) -> bool:
        # the register's request is told to the banks one cycle after it was chosen
        since = self._opened.get(bank)
        return since is not None and self._now < since + 1 + self._cycle

    def _choose(self) -> _Waiting | None:
        if not self.queue:
            return None
        oldest = self.queue[0]
        if self._cap and oldest.overtaken >= self._cap:
            return oldest
        return min(self.queue, key=lambda waiting: self.rules.key(
            waiting.request, recent=self._recent(waiting.request.bank)))

    def step(self, offer: QueuedRequest | None, ready: bool,
             closed: bool = False) -> tuple[bool, QueuedRequest | None]:
        """One cycle: whether there is a place for an offer, and the request on offer.

        ``closed``: all banks have been closed (for a refresh); seen from the next cycle on.
        """
        space = len(self.queue) < self._entries
        shown, fresh = self._shown, self._fresh
        self._fresh = False
        chosen = self._picked if shown is None or ready else None
        # the next to leave is chosen a cycle ahead, when the banks know of the one before
        self._picked = None if fresh or chosen is not None else self._choose()
        opens = chosen is not None and not self.rules.hit(chosen.request)
        if shown is not None and ready:
            self._shown = None
        if closed:  # but the request on offer has yet to open its row
            self.rules.rows = {bank: row for bank, row in self.rules.rows.items()
                               if shown is not None and bank == shown.bank}
        if chosen is not None:
            self._issue(chosen, opens)
        if offer is not None and space:
            self.queue.append(_Waiting(offer))
        self._now += 1
        return space, shown

    def _issue(self, chosen: _Waiting, opens: bool) -> None:
        self.queue.remove(chosen)
        for waiting in self.queue:
            waiting.overtaken += 1
        request = chosen.request
        if opens:
            self._opened[request.bank] = self._now
        self.rules.issue(request)
        self.issued.append((request, chosen.overtaken))
        self._shown, self._fresh = request, True
