"""Who waits for whom in SHMAC's grid, with one channel as in the thesis or with two.

A packet that holds a place in a channel, the queues from one router's output to the next router's
input, waits for a place in the one after it; a request that has come to a slave, for the slave;
the slave, if it has a response to offer, for a place in the channel of its responses. Masters take
responses at once. If nothing waits for itself, nothing waits for ever: what waits for nothing else
goes on, and then what waits for that (Dally and Seitz).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclebound.golden.noc.deadlock import shortest_ring
from cyclebound.golden.noc.routes import Channel, Mesh, Port
from cyclebound.golden.shmac.router import reach

if TYPE_CHECKING:  # imported by what uses them: half a second of every command
    import networkx as nx

__all__ = ["ring_of", "waits"]

_KINDS = ("request", "response")


def waits(mesh: Mesh, *, channels: int) -> nx.DiGraph:
    """The graph of all that may wait, whoever sends to whom: an edge from who waits to for what.

    Nodes are (kind, channel), where links have the kind ``""`` if requests and responses share
    them, and ("slave", its channel to the network). An edge for each turn that a router allows,
    so that there are those of the host and of wrong packets, too.
    """
    import networkx as nx

    graph = nx.DiGraph()

    def node(kind: str, channel: Channel) -> tuple[str, Channel]:
        local = channel.into or channel.port is Port.LOCAL
        return kind if local or channels > 1 else "", channel

    for kind in _KINDS:
        for tile in mesh.tiles:
            for entrance in Port:
                before = mesh.neighbour(tile, entrance)
                if entrance is not Port.LOCAL and before is None:
                    continue
                here = (Channel(tile, Port.LOCAL, into=True) if before is None
                        else Channel(before, entrance.opposite))
                for output in Port:
                    leads = output is Port.LOCAL or mesh.neighbour(tile, output) is not None
                    if leads and reach(entrance) >> output & 1:
                        graph.add_edge(node(kind, here), node(kind, Channel(tile, output)))
    for tile in mesh.tiles:
        into = Channel(tile, Port.LOCAL, into=True)
        graph.add_edge(node("request", Channel(tile, Port.LOCAL)), ("slave", into))
        graph.add_edge(("slave", into), node("response", into))
    return graph


def ring_of(mesh: Mesh, *, channels: int) -> list[tuple[str, Channel]] | None:
    """A shortest ring of what waits for each other; None if there are none."""
    return shortest_ring(waits(mesh, channels=channels))
