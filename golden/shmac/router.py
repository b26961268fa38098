"""Golden model of the router of one of SHMAC's two networks."""

from typing import TypeVar

from cyclebound.golden.noc.queued_router import QueuedRouterModel
from cyclebound.golden.noc.routes import Port, Tile, xy_port
from cyclebound.golden.shmac.packet import Packet

__all__ = ["RouterModel", "reach"]


def reach(port: Port) -> int:
    """Bit by output: a packet that came by this input may ask for it.

    Dimension order is along the row first, so that who goes along a column goes on along it.
    """
    everywhere = (1 << len(Port)) - 1
    if port is Port.LOCAL:
        return everywhere
    if port in (Port.EAST, Port.WEST):
        return everywhere & ~(1 << port)
    return 1 << port.opposite | 1 << Port.LOCAL


Sent = TypeVar("Sent", bound=Packet)


class RouterModel(QueuedRouterModel[Sent]):
    """The router: a `QueuedRouterModel` in dimension order.

    Parameters
    ----------
    position : (row, column)
        Its tile.
    connected : int
        Bit by output: it leads somewhere.

    Attributes
    ----------
    unroutable : int
        Packets dropped: their output leads nowhere, or back, or from a column to a row.
    """

    def __init__(self, *, position: Tile, connected: int = 31) -> None:
        super().__init__(len(Port))
        self._position = position
        self._reach = [reach(port) & connected for port in Port]
        self.unroutable = 0

    def _output_of(self, port: int, packet: Sent) -> int | None:
        output = xy_port(self._position, packet.destination)
        if self._reach[port] >> output & 1:
            return output
        self.unroutable += 1
        return None
