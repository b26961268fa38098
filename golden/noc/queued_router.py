"""Golden model of pipelined routers, whatever their packets are: queues of two packets.

A packet that is taken in cycle T asks for its output from T + 1 on; granted in cycle g, it is on
offer from g + 2 on.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from cyclebound.golden.arbiter import RoundRobinModel

__all__ = ["QueuedRouterModel"]

_PLACES = 2   # in the queue of an input, and of an output
_CROSSES = 2  # cycles from a grant to the offer

Packet = TypeVar("Packet")


class QueuedRouterModel(Generic[Packet]):
    """A router whose class says where packets go.

    Parameters
    ----------
    ports : int
        Of the router.

    Attributes
    ----------
    cycle : int
        The number of this cycle. A router with nothing inside needs no `step`, if this is set.
    """

    def __init__(self, ports: int) -> None:
        self._queues: list[deque[Packet]] = [deque() for _ in range(ports)]
        # with the cycle from which on it is on offer
        self._granted: list[deque[tuple[Packet, int]]] = [deque() for _ in range(ports)]
        self._turns = [RoundRobinModel(ports) for _ in range(ports)]
        self.cycle = 0

    def _output_of(self, port: int, packet: Packet) -> int | None:
        """The output that the head of an input asks for; None: it is dropped in this cycle."""
        raise NotImplementedError

    def _passes(self, port: int, output: int, packet: Packet) -> bool:
        """A packet is granted: whether it goes to the output's queue, or is dropped there."""
        return True

    @property
    def inside(self) -> int:
        """Packets in the router."""
        return sum(map(len, self._queues)) + sum(map(len, self._granted))

    @property
    def offers(self) -> list[Packet | None]:
        """The packets on offer at the outputs."""
        return [queue[0][0] if queue and queue[0][1] <= self.cycle else None
                for queue in self._granted]

    def link_ready(self, port: int) -> bool:
        """Whether an input takes a packet in this cycle, if one is offered."""
        return len(self._queues[port]) < _PLACES

    def acknowledges(self, ready: Sequence[bool]) -> list[bool]:
        """The acknowledge of each input in this cycle, whatever is ready."""
        return [self.link_ready(port) for port in range(len(ready))]

    def step(self, offers: Mapping[int, Packet], ready: Sequence[bool],
             slave_busy: bool = False) -> None:
        """One cycle: what is offered at the inputs, and whether each output's offer is taken.

        ``slave_busy`` makes no difference.
        """
        taken = [port for port in offers if self.link_ready(port)]
        leaving = []
        for queue, goes in zip(self._granted, ready, strict=True):
            if goes and queue and queue[0][1] <= self.cycle:
                queue.popleft()
        asking: dict[int, int] = {}
        for port, waiting in enumerate(self._queues):
            if not waiting:
                continue
            output = self._output_of(port, waiting[0])
            if output is None:
                leaving.append(port)
            else:
                asking[output] = asking.get(output, 0) | 1 << port
        for output in sorted(asking):
            queue = self._granted[output]
            if len(queue) == _PLACES:
                continue
            who = self._turns[output].step(asking[output], accept=True).bit_length() - 1
            leaving.append(who)
            packet = self._queues[who][0]
            if self._passes(who, output, packet):
                queue.append((packet, self.cycle + _CROSSES))
        for port in leaving:
            self._queues[port].popleft()
        for port in taken:
            self._queues[port].append(offers[port])
        self.cycle += 1
