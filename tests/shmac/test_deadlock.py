"""Nothing in SHMAC's network with two channels waits for ever; with one, it may."""

import itertools

import pytest

from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.routes import Mesh, Port
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.golden.shmac import deadlock
from cyclebound.golden.shmac.deadlock import ring_of, waits
from cyclebound.golden.shmac.exchange import ExchangeModel
from cyclebound.golden.shmac.network_bounds import NetworkBounds
from cyclebound.golden.shmac.slave import SlaveModel

pytestmark = pytest.mark.unit

# who reads whom: four in a row that stop for ever where requests and responses share links
IN_A_ROW = {(0, 0): (0, 2), (0, 1): (0, 2), (0, 2): (0, 1), (0, 3): (0, 1)}


def test_nothing_waits_for_itself_in_the_largest_grid():
    """Every other one is a part of it."""
    import networkx as nx

    graph = waits(Mesh(16, 16), channels=2)
    assert nx.is_directed_acyclic_graph(graph)
    assert len(graph) == 2 * (256 * 2 + 4 * 16 * 15) + 256
    for mesh in (Mesh(1, 1), Mesh(3, 5)):
        assert set(waits(mesh, channels=2).edges) <= set(graph.edges)


@pytest.mark.parametrize("mesh", [Mesh(1, 2), Mesh(1, 4), Mesh(3, 3)])
def test_with_one_channel_there_is_a_ring(mesh):
    """Two neighbours that read each other are enough: each edge of it is one that they make."""
    ring = ring_of(mesh, channels=1)
    assert [kind for kind, _ in ring].count("slave") == 2
    graph = waits(mesh, channels=1)
    assert all(graph.has_edge(*pair) for pair in itertools.pairwise([*ring, ring[0]]))


def test_a_turn_from_a_column_to_a_row_makes_a_ring(monkeypatch):
    monkeypatch.setattr(deadlock, "reach", lambda port: 31 & ~(1 << port) | 1 << Port.LOCAL)
    assert ring_of(Mesh(1, 4), channels=2) is None
    ring = ring_of(Mesh(2, 2), channels=2)
    assert len(ring) == 4
    assert len({kind for kind, _ in ring}) == 1


def test_a_slave_that_waits_for_requests_makes_a_ring(monkeypatch):
    """As in a tile whose slave sends requests itself before it answers."""
    def slower(mesh, *, channels):
        graph = waits(mesh, channels=channels)
        graph.add_edge(("response", deadlock.Channel((0, 0), Port.LOCAL)),
                       ("request", deadlock.Channel((0, 0), Port.LOCAL, into=True)))
        return graph

    monkeypatch.setattr(deadlock, "waits", slower)
    assert ring_of(Mesh(1, 2), channels=2)


def test_four_in_a_row_stop_with_one_channel_and_go_on_with_two():
    mesh = Mesh(1, 4)
    grid = HandshakeMeshModel(mesh)
    kernels = {tile: Kernel(True, operation=Operation.READ, target=target)
               for tile, target in IN_A_ROW.items()}
    ended = [sum(event.ends == "operation" for event in grid.step(kernels).values())
             for _ in range(1000)]
    assert sum(ended[200:]) == 0

    model, last = ExchangeModel(mesh, service=3), dict.fromkeys(mesh.tiles, 0)
    bounds = NetworkBounds(mesh, {tile: {target} for tile, target in IN_A_ROW.items()}, service=3)
    reads, slowest = 0, dict.fromkeys(mesh.tiles, 0)
    for cycle in range(1000):
        seen = model.step({tile: (target, False) for tile, target in IN_A_ROW.items()})
        for tile in seen.received:
            slowest[tile] = max(slowest[tile], cycle - last[tile])
            last[tile], reads = cycle, reads + 1
    assert reads > 100
    for tile, target in IN_A_ROW.items():
        assert 0 < slowest[tile] <= bounds.read(tile, target, behind=0)


@pytest.mark.parametrize("overlaps", [False, True])
def test_a_slave_holds_requests_while_its_response_waits(overlaps):
    """That is the edge from a slave to its responses."""
    from cyclebound.golden.shmac.packet import RequestPacket

    slave = SlaveModel(1, overlaps=overlaps)
    slave.step(RequestPacket(), passed=False)
    for _ in range(3):
        assert slave.response
        assert not slave.ready(passed=False)
        slave.step(RequestPacket(), passed=False)
    assert slave.ready(passed=True) == overlaps
    slave.step(None, passed=True)
    assert slave.ready(passed=False)
