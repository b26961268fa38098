"""Golden model of a mesh: router models, and the links between them."""

from collections.abc import Mapping
from typing import Any

from cyclebound.golden.noc.routes import Mesh, Port, Tile
from cyclebound.golden.noc.wormhole_router import Flit, RouterModel

__all__ = ["MeshModel"]


class MeshModel:
    """Routers that offer their flits to their neighbours.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.
    router : mapping
        Parameters of `RouterModel`, the same for all.
    """

    def __init__(self, mesh: Mesh, **router: Any) -> None:
        self.mesh = mesh
        self.routers: dict[Tile, RouterModel] = {}
        for tile in mesh.tiles:
            connected = 1 << Port.LOCAL | sum(1 << port for port in Port
                                              if mesh.neighbour(tile, port) is not None)
            self.routers[tile] = RouterModel(connected=connected, position=tile, **router)

    def ready(self, tile: Tile, offer: Flit | None) -> bool:
        """Whether an offer of a tile's interface would be taken in this cycle."""
        return self.routers[tile].ready(Port.LOCAL, offer)

    def delivers(self, tile: Tile) -> Flit | None:
        """The flit on offer to a tile's interface."""
        return self.routers[tile].offers[Port.LOCAL]

    def step(self, offers: Mapping[Tile, Flit], ready: Mapping[Tile, bool]) -> None:
        """One cycle: what interfaces offer, and whether they take what is offered to them."""
        arriving: dict[Tile, dict[int, Flit]] = {tile: {} for tile in self.routers}
        taken = {tile: [False] * len(Port) for tile in self.routers}
        for tile, router in self.routers.items():
            taken[tile][Port.LOCAL] = ready.get(tile, False)
            if tile in offers:
                arriving[tile][Port.LOCAL] = offers[tile]
            for port in list(Port)[:Port.LOCAL]:
                there = self.mesh.neighbour(tile, port)
                offer = router.offers[port]
                if there is not None and offer is not None:
                    arriving[there][port.opposite] = offer
                    taken[tile][port] = self.routers[there].ready(port.opposite, offer)
        for tile, router in self.routers.items():
            router.step(arriving[tile], taken[tile])
