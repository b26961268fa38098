"""Golden model of the multi-port front end (memory-composition, section IV.C.3)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.dram.queued_request import HIGHEST

__all__ = ["Forwarded", "MultiPortFrontEndModel"]


class Forwarded(NamedTuple):
    """A request on its way to the reorder core; ``data`` are whatever was on offer."""

    port: int
    priority: int
    data: Any


class MultiPortFrontEndModel:
    """Ports in queues, one for each priority, and one for those that starve.

    Parameters
    ----------
    priorities : sequence of int
        Of each port.
    limits : sequence of int
        Of each port: cycles after which its request starves; 0: it never does.
    """

    def __init__(self, *, priorities: Sequence[int], limits: Sequence[int]) -> None:
        self._limits = tuple(limits)
        self._waited = [0] * len(self._limits)
        self._starving = tuple(port for port, limit in enumerate(limits) if limit)
        self._levels = [(level, tuple(port for port, priority in enumerate(priorities)
                                      if priority == level))
                        for level in sorted(set(priorities), reverse=True)]
        self._turns: dict[int | None, RoundRobinModel]
        self._turns = {level: RoundRobinModel(len(ports)) for level, ports in self._levels}
        self._turns[None] = RoundRobinModel(len(self._starving))
        self._register: Forwarded | None = None

    def starved(self, port: int) -> bool:
        """Whether the port's request has waited for its limit."""
        return 0 < self._limits[port] <= self._waited[port]

    def step(self, offers: Mapping[int, Any], ready: bool) -> tuple[int | None, Forwarded | None]:
        """One cycle: the port whose offer is taken, and what is offered to the reorder core."""
        shown, granted = self._register, None
        if shown is None or ready:
            granted, self._register = self._choose(offers)
        for port in range(len(self._limits)):
            waits = port in offers and port != granted
            self._waited[port] = self._waited[port] + 1 if waits else 0
        return granted, shown

    def _choose(self, offers: Mapping[int, Any]) -> tuple[int | None, Forwarded | None]:
        starved = tuple(port for port in offers if self.starved(port))
        for level, ports in ((None, self._starving), *self._levels):
            pool = starved if level is None else offers
            asking = sum(1 << place for place, port in enumerate(ports) if port in pool)
            if asking:
                grant = self._turns[level].step(asking, accept=True)
                port = ports[grant.bit_length() - 1]
                return port, Forwarded(port, HIGHEST if level is None else level, offers[port])
        return None, None
