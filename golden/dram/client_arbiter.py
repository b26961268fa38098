"""Several clients of one DRAM controller, cycle by cycle.

Each keeps one request here; which is granted is decided by turns, or by the windows of a period.
The controller takes what is granted at once. What it answers goes to the client whose request it
belongs to: in the order of the grants. Bounds: ``client_bounds.py``.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cyclebound.golden.dram.request import BUFFERS

__all__ = ["ClientArbiterModel", "ClientOffer", "Given"]

Named = tuple[int, Any]


@dataclass(frozen=True)
class ClientOffer:
    """What a client offers in a cycle; None: nothing. Mappings and requests are pairs: the buffer,
    and all else, whatever it is."""

    mapping: Named | None = None
    request: Named | None = None


@dataclass(frozen=True)
class Given:
    """What the controller is given in a cycle, with its own numbers of buffers, and from whom.

    ``takes_request``: by client. ``index``, ``store``: of the clients whose turn these are.
    """

    takes_request: tuple[bool, ...]
    granted: int | None
    mapped: int | None
    request: Named | None
    mapping: Named | None
    runner: int
    owner: int | None


class ClientArbiterModel:
    """The arbiter, one call a cycle.

    Parameters
    ----------
    clients : int
        Their number.
    windows : sequence of int or None
        Cycles of each client's window of the period; None: turns.

    Attributes
    ----------
    mapper : int
        Whose mapping was taken last.
    """

    def __init__(self, clients: int, windows: Sequence[int] | None = None) -> None:
        self._order, self._map_order = list(range(clients)), list(range(clients))
        self._kept: list[Named | None] = [None] * clients  # not granted yet
        self._busy = [False] * clients   # taken, and neither started nor refused
        self._owners: deque[int] = deque()  # of requests that are granted and not completed
        self._asked = False              # the last of them has not started
        self._runner = self.mapper = 0   # whose request has started, whose mapping was taken last
        self._clock = 0
        self._starts = None if windows is None else [sum(windows[:number]) for number in range(
            len(windows) + 1)]

    def give(self, offers: Sequence[ClientOffer], *, free: bool, table_idle: bool) -> Given:
        """What happens in a cycle with these offers, and a controller that is free, or would take a
        mapping."""
        granted = self._grant(free)
        mapper = self._map(offers, table_idle and granted is None)
        kept = None if granted is None else self._kept[granted]
        mapping = None if mapper is None else offers[mapper].mapping
        return Given(tuple(not busy for busy in self._busy), granted, mapper,
                     kept and (kept[0] + BUFFERS * (granted or 0), kept[1]),
                     mapping and (mapping[0] + BUFFERS * (mapper or 0), mapping[1]),
                     self._runner, self._owners[0] if self._owners else None)

    def end(self, offers: Sequence[ClientOffer], given: Given, *, started: bool, completed: bool
            ) -> int | None:
        """The end of the cycle, in which the controller has started or completed a request.
        Returns whose request was started."""
        starter = self._owners[-1] if started else None
        if starter is not None:
            self._runner, self._busy[starter], self._asked = starter, False, False
        if completed:
            done = self._owners.popleft()
            if self._asked and not self._owners:  # refused
                self._busy[done], self._asked = False, False
        if given.granted is not None:
            self._owners.append(given.granted)
            self._kept[given.granted], self._asked = None, True
            self._order = _after(given.granted, self._order)
        if given.mapped is not None:
            self.mapper = given.mapped
            self._map_order = _after(given.mapped, self._map_order)
        for client, takes in enumerate(given.takes_request):
            if takes and offers[client].request is not None:
                self._kept[client], self._busy[client] = offers[client].request, True
        self._clock += 1
        if self._starts is not None and self._clock == self._starts[-1]:
            self._clock = 0
        return starter

    def _grant(self, free: bool) -> int | None:
        waiting = [client for client in self._order if self._kept[client] is not None]
        if self._starts is None:
            return waiting[0] if free and waiting else None
        client = self._window()
        opens = self._clock == self._starts[client] and not self._owners
        return client if opens and client in waiting else None

    def _window(self) -> int:
        """Whose window this cycle is in."""
        assert self._starts is not None
        return next(client for client in range(len(self._order))
                    if self._clock < self._starts[client + 1])

    def _map(self, offers: Sequence[ClientOffer], ready: bool) -> int | None:
        able = [client for client in self._map_order if offers[client].mapping is not None]
        if self._starts is not None:
            client = self._window()
            inside = self._starts[client] < self._clock <= self._starts[client + 1] - 8
            able = [client] if inside and client in able else []
        return able[0] if ready and able else None


def _after(client: int, order: list[int]) -> list[int]:
    """The same order, with the turn of ``client`` over."""
    cut = order.index(client) + 1
    return order[cut:] + order[:cut]
