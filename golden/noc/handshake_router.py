"""Golden model of SHMAC's router (SHMACsim 2.3, 3.2.3.3, Figure 5.7): a calendar of each packet.

A packet that is taken in cycle T asks for its output from T + 5 on; granted in cycle g, it is on
offer from g + 5 on. An output rests until it has handed its packet over, and so does the input.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.noc.shmac_budget import IN_CYCLES, OUT_CYCLES
from cyclebound.golden.noc.shmac_packet import ShmacPacket, ShmacPort, dimension_order

__all__ = ["HandshakeRouterModel", "fault"]

_CHECKED = 3  # the cycle after T in which a packet is judged
_NEVER = 1 << 60


@dataclass
class _Input:
    packet: ShmacPacket | None = None
    taken: int = 0
    output: int | None = None  # None: it is dropped
    granted: bool = False


@dataclass
class _Output:
    owner: int | None = None
    granted: int = _NEVER
    void: bool = False  # a response without a request: it goes nowhere


def fault(entrance: int, packet: ShmacPacket, here: Tile, connected: int,
          waited: bool) -> str | None:
    """The fault of a packet: "malformed" or "unroutable"; None if it is legal.

    ``connected`` has a bit for each output that leads anywhere; ``waited``: the master waits for a
    response.
    """
    master, slave = entrance == ShmacPort.MASTER, entrance == ShmacPort.SLAVE
    if (packet.response and (master or not packet.answered)) or (slave and not packet.response):
        return "malformed"
    if master and (packet.initiator != here or (packet.answered and waited)):
        return "malformed"
    output = dimension_order(here, packet.destination, response=packet.response)
    return "unroutable" if output == entrance or not connected >> output & 1 else None


class HandshakeRouterModel:
    """The router.

    Parameters
    ----------
    position : (row, column)
        Its tile.
    connected : int
        Bit by output: it leads somewhere.
    slave_acknowledge : str
        When a slave's response is acknowledged: "passed" on, or "accepted" by the input port.
    """

    def __init__(self, *, position: Tile, connected: int = 63,
                 slave_acknowledge: str = "passed") -> None:
        self._position, self._connected = position, connected
        self._passed = slave_acknowledge == "passed"
        self._inputs = [_Input() for _ in ShmacPort]
        self._outputs = [_Output() for _ in ShmacPort]
        self._turns = [RoundRobinModel(len(ShmacPort)) for _ in ShmacPort]
        self.outstanding = False    # the master waits for a response
        self.unroutable = self.malformed = 0
        self.cycle = 0

    @property
    def inside(self) -> int:
        """Packets in the router."""
        return sum(input_port.packet is not None for input_port in self._inputs)

    @property
    def offers(self) -> list[ShmacPacket | None]:
        """The packets on offer at the outputs."""
        return [None if output.owner is None or output.void or not self._due(output)
                else self._inputs[output.owner].packet for output in self._outputs]

    def _due(self, state: _Output) -> bool:
        return state.owner is not None and self.cycle >= state.granted + OUT_CYCLES

    def _leaving(self, ready: Sequence[bool]) -> list[_Output]:
        """The outputs whose packet leaves in this cycle."""
        return [output for output, taken in zip(self._outputs, ready, strict=True)
                if self._due(output) and (taken or output.void)]

    def link_ready(self, port: int) -> bool:
        """Whether a link's input takes a packet in this cycle, if one is offered."""
        return self._inputs[port].packet is None

    def acknowledges(self, ready: Sequence[bool]) -> list[bool]:
        """The acknowledge of each input in this cycle; outputs' offers are taken as in ``ready``.
        """
        gone = {output.owner for output in self._leaving(ready)}
        acknowledges = []
        for port, input_port in enumerate(self._inputs):
            judged = input_port.packet is not None and self.cycle == input_port.taken + IN_CYCLES
            if port < ShmacPort.MASTER:
                acknowledges.append(input_port.packet is None)
            elif port == ShmacPort.SLAVE and self._passed:
                acknowledges.append(port in gone or (judged and input_port.output is None))
            else:
                acknowledges.append(judged)
        return acknowledges

    def step(self, offers: Mapping[int, ShmacPacket], ready: Sequence[bool],
             slave_busy: bool) -> None:
        """One cycle: what is offered at the inputs, and whether each output's offer is taken."""
        now, leaving = self.cycle, self._leaving(ready)
        waited = self.outstanding  # judges and grants of one cycle do not see each other
        for output, state in enumerate(self._outputs):  # an output in use rests for this cycle
            if state.owner is None and not (output == ShmacPort.SLAVE and slave_busy):
                self._grant(output, state, waited)
        for port, input_port in enumerate(self._inputs):
            if input_port.packet is None and port in offers:
                self._inputs[port] = _Input(offers[port], now)
            elif input_port.packet is not None and now == input_port.taken + _CHECKED:
                self._judge(port, input_port, input_port.packet, waited)
            elif (input_port.packet is not None and input_port.output is None
                    and now == input_port.taken + IN_CYCLES):
                input_port.packet = None
        for state in leaving:
            if state.owner is not None:
                self._inputs[state.owner] = _Input()
            state.owner, state.granted, state.void = None, _NEVER, False
        self.cycle += 1

    def _judge(self, port: int, state: _Input, packet: ShmacPacket, waited: bool) -> None:
        wrong = fault(port, packet, self._position, self._connected, waited)
        self.malformed += wrong == "malformed"
        self.unroutable += wrong == "unroutable"
        if wrong is None:
            state.output = dimension_order(self._position, packet.destination,
                                           response=packet.response)
            if port == ShmacPort.MASTER and packet.answered:
                self.outstanding = True

    def _grant(self, output: int, state: _Output, waited: bool) -> None:
        asking = sum(1 << port for port, one in enumerate(self._inputs)
                     if one.packet is not None and one.output == output and not one.granted
                     and self.cycle >= one.taken + IN_CYCLES)
        granted = self._turns[output].step(asking, accept=True)
        if not granted:
            return
        who = granted.bit_length() - 1
        if output == ShmacPort.MASTER:
            state.void = not waited
            self.malformed += state.void
            if waited:
                self.outstanding = False
        state.owner, state.granted = who, self.cycle
        self._inputs[who].granted = True
