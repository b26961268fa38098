"""Golden model of the pipelined successor of SHMAC's router: queues of two packets.

The thesis (6.2.6.1) asks for it and leaves its design open; what is dropped, and how ports take
turns, is as in `golden.noc.handshake_router`.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from cyclebound.golden.noc.arbiter import RoundRobinModel
from cyclebound.golden.noc.handshake_router import fault
from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.noc.shmac_packet import ShmacPacket, ShmacPort, dimension_order

__all__ = ["PipelinedRouterModel"]

_PLACES = 2   # in the queue of an input, and of an output
_CROSSES = 2  # cycles from a grant to the offer


class PipelinedRouterModel:
    """The router, with the methods of `HandshakeRouterModel`.

    Parameters
    ----------
    position : (row, column)
        Its tile.
    connected : int
        Bit by output: it leads somewhere.
    """

    def __init__(self, *, position: Tile, connected: int = 63) -> None:
        self._position, self._connected = position, connected
        self._queues: list[deque[ShmacPacket]] = [deque() for _ in ShmacPort]
        # with the cycle from which on it is on offer
        self._granted: list[deque[tuple[ShmacPacket, int]]] = [deque() for _ in ShmacPort]
        self._turns = [RoundRobinModel(len(ShmacPort)) for _ in ShmacPort]
        self.outstanding = False
        self.unroutable = self.malformed = 0
        self.cycle = 0

    @property
    def inside(self) -> int:
        """Packets in the router."""
        return sum(map(len, self._queues)) + sum(map(len, self._granted))

    @property
    def offers(self) -> list[ShmacPacket | None]:
        """The packets on offer at the outputs."""
        return [queue[0][0] if queue and queue[0][1] <= self.cycle else None
                for queue in self._granted]

    def link_ready(self, port: int) -> bool:
        """Whether an input takes a packet in this cycle, if one is offered."""
        return len(self._queues[port]) < _PLACES

    def acknowledges(self, ready: Sequence[bool]) -> list[bool]:
        """The acknowledge of each input in this cycle, whatever is ready."""
        return [self.link_ready(port) for port in range(len(ready))]

    def step(self, offers: Mapping[int, ShmacPacket], ready: Sequence[bool],
             slave_busy: bool) -> None:
        """One cycle: what is offered at the inputs, and whether each output's offer is taken."""
        taken = [port for port in offers if self.link_ready(port)]
        waited, leaving = self.outstanding, []
        for granted_queue, offer, goes in zip(self._granted, self.offers, ready, strict=True):
            if offer is not None and goes:
                granted_queue.popleft()
        wants: list[int | None] = [None] * len(ShmacPort)
        for port, queue in enumerate(self._queues):
            if not queue:
                continue
            wrong = fault(port, queue[0], self._position, self._connected, waited)
            self.malformed += wrong == "malformed"
            self.unroutable += wrong == "unroutable"
            if wrong is not None:
                leaving.append(port)
            else:
                wants[port] = dimension_order(self._position, queue[0].destination,
                                              response=queue[0].response)
        for output in ShmacPort:
            if len(self._granted[output]) == _PLACES:
                continue
            asking = sum(1 << port for port, want in enumerate(wants) if want == output)
            granted = self._turns[output].step(asking, accept=True)
            if not granted:
                continue
            who = granted.bit_length() - 1
            leaving.append(who)
            if output == ShmacPort.MASTER and not waited:  # a response without a request
                self.malformed += 1
                continue
            self._granted[output].append((self._queues[who][0], self.cycle + _CROSSES))
            if output == ShmacPort.MASTER:
                self.outstanding = False
            if who == ShmacPort.MASTER and self._queues[who][0].answered:
                self.outstanding = True
        for port in leaving:
            self._queues[port].popleft()
        for port in taken:
            self._queues[port].append(offers[port])
        self.cycle += 1
