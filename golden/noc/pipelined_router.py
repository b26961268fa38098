"""Golden model of the pipelined successor of SHMAC's router.

The thesis (6.2.6.1) asks for it and leaves its design open; what is dropped, and how ports take
turns, is as in `golden.noc.handshake_router`.
"""

from collections.abc import Mapping, Sequence

from cyclebound.golden.noc.handshake_router import fault
from cyclebound.golden.noc.queued_router import QueuedRouterModel
from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.noc.shmac_packet import ShmacPacket, ShmacPort, dimension_order

__all__ = ["PipelinedRouterModel"]


class PipelinedRouterModel(QueuedRouterModel[ShmacPacket]):
    """The router, with the methods of `HandshakeRouterModel`.

    Parameters
    ----------
    position : (row, column)
        Its tile.
    connected : int
        Bit by output: it leads somewhere.
    """

    def __init__(self, *, position: Tile, connected: int = 63) -> None:
        super().__init__(len(ShmacPort))
        self._position, self._connected = position, connected
        self.outstanding = False
        self._waited = False  # ``outstanding`` as this cycle began
        self.unroutable = self.malformed = 0

    def _output_of(self, port: int, packet: ShmacPacket) -> int | None:
        wrong = fault(port, packet, self._position, self._connected, self._waited)
        self.malformed += wrong == "malformed"
        self.unroutable += wrong == "unroutable"
        return None if wrong else dimension_order(self._position, packet.destination,
                                                  response=packet.response)

    def _passes(self, port: int, output: int, packet: ShmacPacket) -> bool:
        if output == ShmacPort.MASTER:
            if not self._waited:  # a response without a request
                self.malformed += 1
                return False
            self.outstanding = False
        if port == ShmacPort.MASTER and packet.answered:
            self.outstanding = True
        return True

    def step(self, offers: Mapping[int, ShmacPacket], ready: Sequence[bool],
             slave_busy: bool = False) -> None:
        """As of `QueuedRouterModel`."""
        self._waited = self.outstanding
        super().step(offers, ready)
