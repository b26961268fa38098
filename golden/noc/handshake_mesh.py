"""Golden model of a grid of SHMAC's tiles: a router, a core and RAM in each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cyclebound.golden.noc.handshake_router import HandshakeRouterModel
from cyclebound.golden.noc.routes import Mesh, Port, Tile
from cyclebound.golden.noc.shmac_kernel import Kernel
from cyclebound.golden.noc.shmac_packet import ShmacPacket, ShmacPort
from cyclebound.golden.noc.shmac_tile import CoreModel, SlaveModel

__all__ = ["HandshakeMeshModel", "TileEvents"]

_LINKS = (Port.NORTH, Port.EAST, Port.SOUTH, Port.WEST)
MASTER, SLAVE = ShmacPort.MASTER, ShmacPort.SLAVE


@dataclass(frozen=True)
class TileEvents:
    """Events of a tile in one cycle.

    Attributes
    ----------
    requests : bool
        Its core has a request for the router.
    ends : str
        "fetch" or "operation", in its last cycle for the core, or nothing.
    busy, arrives : bool
        Its RAM is at work; a packet is on its way from the router to the memory.
    writes, landed : bool
        Its core's request is a write; a write of its core is on its way to a memory.
    """

    requests: bool
    ends: str
    busy: bool
    arrives: bool
    writes: bool = False
    landed: bool = False


class HandshakeMeshModel:
    """Tiles that offer their packets to their neighbours.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.
    words : int
        Words of RAM in each tile.
    late : bool
        Of the RAMs: `SlaveModel`.
    make : callable
        Makes a router's model from ``position``, ``connected`` and what is in ``router``.
    """

    def __init__(self, mesh: Mesh, *, words: int = 16, late: bool = False,
                 make: Callable[..., Any] = HandshakeRouterModel,
                 **router: object) -> None:
        self.mesh = mesh
        self.routers: dict[Tile, HandshakeRouterModel] = {}
        for tile in mesh.tiles:
            connected = 1 << MASTER | 1 << SLAVE | sum(
                1 << port for port in _LINKS if mesh.neighbour(tile, port) is not None)
            self.routers[tile] = make(position=tile, connected=connected, **router)
        self.cores = {tile: CoreModel(tile, words=words) for tile in mesh.tiles}
        self.slaves = {tile: SlaveModel(tile, words=words, late=late) for tile in mesh.tiles}

    @property
    def packets(self) -> int:
        """Packets in routers."""
        return sum(router.inside for router in self.routers.values())

    def step(self, kernels: Mapping[Tile, Kernel]) -> dict[Tile, TileEvents]:
        """One cycle, and what is to be seen in it."""
        offers = {tile: router.offers for tile, router in self.routers.items()}
        arriving: dict[Tile, dict[int, ShmacPacket]] = {tile: {} for tile in self.routers}
        ready = {tile: [False] * len(ShmacPort) for tile in self.routers}
        for tile in self.routers:
            for port in _LINKS:
                there = self.mesh.neighbour(tile, port)
                offer = offers[tile][port]
                if there is not None and offer is not None:
                    arriving[there][port.opposite] = offer
                    ready[tile][port] = self.routers[there].link_ready(port.opposite)
            ready[tile][MASTER] = True
        events = {}
        landed = {slave.packet.initiator for slave in self.slaves.values()
                  if slave.arrives and slave.packet is not None and slave.packet.write}
        for tile, router in self.routers.items():
            core, slave = self.cores[tile], self.slaves[tile]
            request, response = core.request, slave.response
            for own, packet in ((MASTER, request), (SLAVE, response)):
                if packet is not None:
                    arriving[tile][own] = packet
            told = router.acknowledges(ready[tile])
            passed = response is not None and told[SLAVE]
            ready[tile][SLAVE] = slave.ready(passed)
            busy, arrives = slave.busy, slave.arrives
            ends = core.step(kernels.get(tile, Kernel()), request is not None and told[MASTER],
                             offers[tile][MASTER], slave)
            events[tile] = TileEvents(request is not None, ends, busy, arrives,
                                      request is not None and request.write, tile in landed)
            router.step(arriving[tile], ready[tile], busy)
            slave.step(offers[tile][SLAVE], passed)
        return events
