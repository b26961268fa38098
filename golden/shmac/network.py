"""Golden model of SHMAC's network with two channels."""

from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from cyclebound.golden.noc.routes import Mesh, Port, Tile
from cyclebound.golden.shmac.packet import Packet, RequestPacket, ResponsePacket
from cyclebound.golden.shmac.router import RouterModel
from cyclebound.golden.shmac.tracking import ENTRY, Sight

__all__ = ["ChannelModel", "NetworkModel"]

_LINKS = (Port.NORTH, Port.EAST, Port.SOUTH, Port.WEST)
_NOTHING = (False,) * len(Port)  # of a router is taken, which has nothing


Sent = TypeVar("Sent", bound=Packet)


class ChannelModel(Generic[Sent]):
    """The routers of one channel. Those in which nothing is cost no time.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.

    Attributes
    ----------
    cycle : int
        The number of this cycle.
    watch : callable or None
        Called with each packet that is on offer in a cycle, but for those of the host.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, self.cycle = mesh, 0
        self.watch: Callable[[Sight], None] | None = None
        self._beside = {tile: [(port, there) for port in _LINKS
                               if (there := mesh.neighbour(tile, port)) is not None]
                        for tile in mesh.tiles}
        self.routers: dict[Tile, RouterModel[Sent]] = {
            tile: RouterModel(position=tile, connected=1 << Port.LOCAL | sum(
                1 << port for port, _ in self._beside[tile])) for tile in mesh.tiles}
        self._busy: set[Tile] = set()  # tiles whose routers have packets inside

    @property
    def inside(self) -> int:
        """Packets in the routers."""
        return sum(self.routers[tile].inside for tile in self._busy)

    @property
    def dropped(self) -> dict[Tile, int]:
        """Packets that each router has dropped."""
        return {tile: router.unroutable for tile, router in self.routers.items()}

    @property
    def offers(self) -> dict[Tile, Sent]:
        """By tile, what is on offer there in this cycle."""
        offers = {}
        for tile in self._busy:
            packet = self._at(tile).offers[Port.LOCAL]
            if packet is not None:
                offers[tile] = packet
        return offers

    def takes(self, tile: Tile, port: Port = Port.LOCAL) -> bool:
        """Whether a router takes what its tile, or who is at another port, offers."""
        return self.routers[tile].link_ready(port)

    def _at(self, tile: Tile) -> RouterModel[Sent]:
        router = self.routers[tile]
        router.cycle = self.cycle  # of one that was idle it stood still
        return router

    def step(self, offers: Mapping[Tile, Sent], ready: Collection[Tile] | None = None, *,
             host: Sent | None = None) -> None:
        """One cycle.

        ``offers``: by tile, what is offered to its router; ``ready``: tiles that take what is on
        offer to them (None: all do); ``host``: what is offered to the west of tile (0, 0).
        """
        arriving: dict[Tile, dict[int, Sent]] = {}
        taken: dict[Tile, list[bool]] = {}
        for tile in self._busy:
            shown = self._at(tile).offers
            goes = taken[tile] = [False] * len(Port)
            goes[Port.LOCAL] = ready is None or tile in ready
            for port, there in self._beside[tile]:
                packet = shown[port]
                if packet is not None:
                    arriving.setdefault(there, {})[port.opposite] = packet
                    goes[port] = self.routers[there].link_ready(port.opposite)
        for tile, packet in offers.items():
            arriving.setdefault(tile, {})[Port.LOCAL] = packet
        if self.watch is not None:
            self._show(self.watch, offers, taken)
        if host is not None:
            arriving.setdefault((0, 0), {})[Port.WEST] = host
        for tile in self._busy | arriving.keys():
            self._at(tile).step(arriving.get(tile, {}), taken.get(tile, _NOTHING))
        self._busy = {tile for tile in self._busy | arriving.keys() if self.routers[tile].inside}
        self.cycle += 1

    def _show(self, watch: Callable[[Sight], None], offers: Mapping[Tile, Sent],
              taken: Mapping[Tile, list[bool]]) -> None:
        for tile, packet in offers.items():
            watch(Sight(self.cycle, tile, ENTRY, packet, self.takes(tile)))
        for tile in self._busy:
            for port, shown in enumerate(self.routers[tile].offers):
                if shown is not None:
                    watch(Sight(self.cycle, tile, port, shown, taken[tile][port]))


class NetworkModel:
    """Both channels, which know nothing of each other.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.

    Attributes
    ----------
    requests, responses : ChannelModel
        Each to be stepped in every cycle.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.requests: ChannelModel[RequestPacket] = ChannelModel(mesh)
        self.responses: ChannelModel[ResponsePacket] = ChannelModel(mesh)

    @property
    def inside(self) -> int:
        """Packets in the routers."""
        return self.requests.inside + self.responses.inside

    def host_taken(self) -> bool:
        """Whether a request of the host is taken in this cycle, if it offers one."""
        return self.requests.takes((0, 0), Port.WEST)
