"""Golden model of the wormhole router (memory-composition, section III.B and Figure 2)."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.noc.packet import CODE_BITS, COORDINATE_BITS
from cyclebound.golden.noc.routes import Port, Tile

__all__ = ["Flit", "RouterModel", "SenderModel", "packet"]


@dataclass(frozen=True)
class Flit:
    """One flit: data, and whether it begins or ends a packet."""

    data: int
    first: bool = False
    last: bool = False


def packet(header: int, payload: Sequence[int] = ()) -> list[Flit]:
    """The flits of a packet."""
    words = [header, *payload]
    return [Flit(word, number == 0, number == len(words) - 1) for number, word in enumerate(words)]


class SenderModel:
    """The guard at a sender: turns what it offers into packets and aborts, or drops it.

    Parameters
    ----------
    longest : int
        Flits in the longest packet allowed.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._length = 0          # flits of the packet in progress
        self._state = "between"   # "between", "lost" (counted already), "inside", "dropping"
        self.overlong = self.misplaced = 0

    def passes(self, flit: Flit) -> Flit | None:
        """The flit that would enter the network in place of ``flit``, or None; changes no state."""
        state = self._state
        if state == "dropping" or (state != "inside" and not flit.first):
            return None
        if state == "inside" and flit.first:
            return replace(flit, last=True)
        if self._length == self._longest - 1 and not flit.last:
            return replace(flit, first=True, last=True)
        return flit

    def take(self, flit: Flit) -> None:
        """The flit is taken: count it, and know what may follow."""
        gone = self.passes(flit)
        if gone is None:
            if self._state == "dropping":
                self._state = "between" if flit.last else "dropping"
                return
            self.misplaced += self._state == "between"
            self._state = "lost"
            return
        wrong = self._state == "inside" and flit.first
        self.misplaced += wrong
        self.overlong += gone != flit and not wrong
        self._length += 1
        if gone.last:
            aborted = wrong or gone != flit
            self._state = "dropping" if aborted and not flit.last else "between"
            self._length = 0
        else:
            self._state = "inside"


@dataclass
class _Input:
    queue: deque[tuple[int, Flit]] = field(default_factory=deque)  # with the cycle it was taken in
    begins: bool = True             # the next flit at the head is a header
    output: int | None = None       # of the packet at the head; None: it is dropped
    waits: bool = False             # its header is at the head, and has not been granted it


class RouterModel:
    """The router, as queues, a queue of turns for each output, and a rule for the route.

    Parameters
    ----------
    depth, delta, routing, longest, ports, width
        Of the router.
    connected : int
        Bit by output: it leads somewhere.
    position : (row, column)
        For XY routing.
    """

    def __init__(self, *, depth: int, delta: int, routing: str, longest: int, ports: int = 5,
                 width: int = 32, connected: int = 31, position: Tile = (0, 0)) -> None:
        self._depth, self._delta, self._routing = depth, delta, routing
        self.local = ports - 1
        self._width, self._connected, self._position = width, connected, position
        self.inputs = [_Input() for _ in range(ports)]
        self.offers: list[Flit | None] = [None] * ports  # the flits on offer at the outputs
        self.owners: list[int | None] = [None] * ports   # whose packet is in progress there
        self._turns = [RoundRobinModel(ports) for _ in range(ports)]
        self._space = [depth] * ports
        self.sender = SenderModel(longest)
        self.misrouted = 0
        self.cycle = 0

    def output_of(self, entrance: int, header: int) -> int | None:
        """The output that a header asks for, or None if it may not go there."""
        output: int
        if self._routing == "xy":
            column = header % (1 << COORDINATE_BITS)
            row = (header >> COORDINATE_BITS) % (1 << COORDINATE_BITS)
            away = row - self._position[0], column - self._position[1]
            if away[1]:
                output = Port.EAST if away[1] > 0 else Port.WEST
            elif away[0]:
                output = Port.SOUTH if away[0] > 0 else Port.NORTH
            else:
                output = Port.LOCAL
            output = int(output)
        else:
            output = header % (1 << CODE_BITS)
            if output == entrance:
                output = self.local  # no packet turns around, so its own direction is free for that
            elif output >= self.local:
                return None
        return output if output != entrance and self._connected >> output & 1 else None

    def ready(self, port: int, offer: Flit | None) -> bool:
        """Whether an offer would be taken in this cycle."""
        dropped = (port == self.local and offer is not None and self.sender.passes(offer) is None)
        return self._space[port] > 0 or dropped

    def _head(self, port: int) -> Flit | None:
        """The flit at the head of an input, if there is one."""
        queue = self.inputs[port].queue
        return queue[0][1] if queue and queue[0][0] + self._delta - 1 <= self.cycle else None

    def step(self, offers: Mapping[int, Flit], ready: Sequence[bool]) -> None:
        """One cycle: these offers at the inputs, and whether each output's offer is taken."""
        taken = {port: flit for port, flit in offers.items() if self.ready(port, flit)}
        self._route()
        left = self._leave(ready)
        self._route()
        for output, owner in enumerate(self.owners):
            if owner is None:
                self.owners[output] = self._grant(output, left)
        for port, flit in taken.items():
            entering: Flit | None = flit
            if port == self.local:
                entering = self.sender.passes(flit)
                self.sender.take(flit)
            if entering is not None:
                self.inputs[port].queue.append((self.cycle, entering))
                self._space[port] -= 1
        for port in left:
            self._space[port] += 1
        self.cycle += 1

    def _route(self) -> None:
        """The output of a header at the head is decided, once."""
        for port, input_port in enumerate(self.inputs):
            head = self._head(port)
            if head is not None and input_port.begins:
                input_port.begins, input_port.waits = False, True
                input_port.output = self.output_of(port, head.data)
                if self._routing == "source":
                    arrived, _ = input_port.queue[0]
                    input_port.queue[0] = arrived, replace(head, data=head.data >> CODE_BITS)

    def _grant(self, output: int, left: Sequence[int]) -> int | None:
        """Whose packet goes from the next cycle on. Headers that are at the head take turns; if
        there are none, it is one that gets there now, because the flit before it has left."""
        asking = [port for port, input_port in enumerate(self.inputs)
                  if input_port.waits and input_port.output == output]
        waiting = sum(1 << port for port in asking if port not in left)
        granted = self._turns[output].step(waiting or sum(1 << port for port in asking[:1]),
                                           accept=True)
        if not granted:
            return None
        who = granted.bit_length() - 1
        self.inputs[who].waits = False
        return who

    def _leave(self, ready: Sequence[bool]) -> list[int]:
        """Heads that leave: to the output's register if it is free, or nowhere."""
        left = []
        for port, input_port in enumerate(self.inputs):
            if self._head(port) is not None and input_port.output is None:
                left.append(port)
                self.misrouted += input_port.waits
                input_port.waits = False
        for output, (offer, who) in enumerate(zip(self.offers, self.owners, strict=True)):
            if offer is not None and not ready[output]:
                continue
            flit = self.offers[output] = None if who is None else self._head(who)
            if flit is not None and who is not None:
                left.append(who)
                if flit.last:
                    self.owners[output] = None
        for port in left:
            _, flit = self.inputs[port].queue.popleft()
            if flit.last:
                self.inputs[port].begins, self.inputs[port].output = True, None
        return left
