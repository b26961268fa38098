# amaranth: UnusedElaboratable=no
"""Mesh and traversal bound: parameters, the model against the bound, the deadlock of Figure 3."""

import itertools
import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.mesh import MeshModel
from cyclebound.golden.noc.packet import source_header
from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE, pattern
from cyclebound.golden.noc.routes import Mesh, ports, xy_route
from cyclebound.golden.noc.traversal import Stream, Traversal
from cyclebound.golden.noc.traversal_alike import AlikeTraversal
from cyclebound.golden.noc.wormhole_router import packet
from cyclebound.hdl.noc.mesh import Mesh as MeshRtl
from cyclebound.tb.noc.mesh import FIGURE_3

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"rows": 0}, ValueError, "Row count must be from 1 to 16, not 0"),
    ({"columns": 17}, ValueError, "Column count must be from 1 to 16, not 17"),
    ({"columns": 2.0}, TypeError, r"Column count must be an integer, not 2\.0"),
    ({"depth": 2}, ValueError, "FIFO depth must be at least 3, not 2")])
def test_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        MeshRtl(**{"rows": 2, "columns": 2} | wrong)


def test_converts_alone_and_again():  # in place of the catalogue's, which take seconds
    mesh = MeshRtl(rows=1, columns=2, width=8, depth=3, longest=3)
    text = rtlil.convert(mesh)
    assert rtlil.convert(mesh) == text


# Patterns

def test_patterns():
    mesh = Mesh(3, 3)
    assert set(pattern(mesh, HOTSPOT).values()) == {(0, 0)}
    assert pattern(mesh, TRANSPOSE)[2, 0] == (0, 2)
    assert (1, 1) not in pattern(mesh, TRANSPOSE)
    drawn = pattern(mesh, 5)
    assert len(set(drawn.values())) == len(drawn)
    with pytest.raises(ValueError, match=r"^mesh must be square for a transpose, not 2 x 3$"):
        pattern(Mesh(2, 3), TRANSPOSE)
    with pytest.raises(ValueError, match=r"^pattern must be at least 0, not -1$"):
        pattern(mesh, -1)


# The bound

def test_alone_it_is_t_noc():
    """However many packets of its own are before it: they never stop."""
    mesh = Mesh(4, 4)
    for flits, depth, delta in ((1, 2, 1), (6, 4, 1), (66, 6, 5)):
        streams = {"a": Stream(xy_route(mesh, (0, 0), (3, 2)), flits)}
        found = Traversal(mesh, streams, delta=delta, depth=depth).bound("a")
        assert found == bounds.t_noc(delta=delta, flits=flits, routers=6)
        alike = AlikeTraversal(mesh, {"a": streams["a"].route}, flits=flits, delta=delta,
                               depth=depth)
        assert alike.bound("a") == found


def test_contenders_at_the_last_router():
    """Long packets stop each other there, and all other traffic has passed by then."""
    mesh = Mesh(3, 3)
    ends = [(0, 1), (1, 0), (1, 2), (2, 1)]
    streams = {str(end): Stream((end, (1, 1)), 40) for end in ends}
    found = Traversal(mesh, streams, delta=2, depth=4).bound(str(ends[0]))
    hop = bounds.packet_hop(delta=2, flits=40, contenders=4, rival_flits=40)
    assert hop < found < 1.2 * hop


@pytest.mark.parametrize("lengths", [(1, 14), (4, 5), (5, 11)])
def test_a_stream_of_many_lengths_takes_as_long_as_of_any(lengths):
    """A packet that is not the longest may be the worst: it ends in a place of its own."""
    mesh = Mesh(2, 3)
    ways = [xy_route(mesh, tile, (0, 0)) for tile in mesh.tiles[1:]]

    def bound(least, most):
        streams = {str(n): Stream(way, most, least) for n, way in enumerate(ways)}
        return Traversal(mesh, streams, delta=2, depth=4).bound("4")
    assert bound(*lengths) >= max(bound(length, length) for length in range(*lengths))


def test_more_streams_never_make_it_shorter():
    mesh, rng = Mesh(3, 3), random.Random(1)
    pairs = list(itertools.permutations(mesh.tiles, 2))
    streams, before = {}, 0
    for number, pair in enumerate(rng.sample(pairs, 12)):
        streams[str(number)] = Stream(xy_route(mesh, *pair), 4)
        found = Traversal(mesh, streams, delta=2, depth=4).bound("0")
        assert found >= before
        before = found


def test_routes_in_a_ring_have_no_bound():
    streams = {name: Stream(route, 6) for name, route in FIGURE_3.items()}
    with pytest.raises(ValueError, match=r"^channel dependencies must have no cycle, but flows "
                                         r".* can wait in a ring of routers \(0, 0\), \(0, 1\), "
                                         r"\(1, 1\), \(1, 0\)$"):
        Traversal(Mesh(2, 2), streams, delta=2, depth=4)
    with pytest.raises(ValueError, match=r"^channel dependencies must have no cycle, but flows "):
        AlikeTraversal(Mesh(2, 2), FIGURE_3, flits=6, delta=2, depth=4)


@pytest.mark.parametrize(("flits", "least", "kind", "says"), [
    (0, None, ValueError, "flits of a stream must be at least 1, not 0"),
    (2.0, None, TypeError, r"flits of a stream must be an integer, not 2\.0"),
    (4, 0, ValueError, "least flits of a stream must be at least 1, not 0"),
    (4, 5, ValueError, "least flits of a stream must be at most 4, its flits, not 5")])
def test_streams_that_are_none(flits, least, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        Stream(((0, 0), (0, 1)), flits, least)


def test_who_is_not_there_has_no_bound():
    parameters = {"rows": 2, "columns": 2, "delta": 1, "depth": 4, "flits": 3, "pattern": HOTSPOT}
    assert bounds.traversal(**parameters, source=3) > bounds.traversal(**parameters, source=1)
    with pytest.raises(NotCovered, match=r"^tile 0 does not send in pattern 0$"):
        bounds.traversal(**parameters, source=0)
    found = Traversal(Mesh(1, 2), {"a": Stream(((0, 0), (0, 1)), 2)}, delta=1, depth=2)
    with pytest.raises(ValueError, match=r"^stream must be one of a, not 'b'$"):
        found.bound("b")
    alike = AlikeTraversal(Mesh(1, 2), {"a": ((0, 0), (0, 1))}, flits=2, delta=2, depth=3)
    with pytest.raises(ValueError, match=r"^stream must be one of a, not 'b'$"):
        alike.bound("b")


# The model against the bound

class RandomTraffic:
    """Random routes without cycles, random lengths, on the model; latencies by stream."""

    def __init__(self, mesh, routes, lengths, *, delta, depth, cycles, seed):
        rng = random.Random(seed)
        self.model = MeshModel(mesh, depth=depth, delta=delta, routing="source",
                               longest=max(map(max, lengths.values())))
        self.worst = dict.fromkeys(routes, 0)
        queues = {tile: [] for tile in mesh.tiles}
        taken, coming = {}, {}
        for now in range(cycles):
            for tile, queue in queues.items():
                here = [name for name, route in routes.items() if route[0] == tile]
                if not queue and here:
                    name = rng.choice(here)
                    number = list(routes).index(name)
                    queue += packet(source_header(ports(routes[name])),
                                    [number] * (rng.choice(lengths[name]) - 1))
            offers = {tile: queue[0] for tile, queue in queues.items() if queue}
            for tile in mesh.tiles:
                flit = self.model.delivers(tile)
                if flit is not None:
                    coming.setdefault(tile, []).append(flit)
                    if flit.last:
                        name = list(routes)[coming.pop(tile)[1].data]
                        latency = now - taken[name].pop(0) + 1
                        self.worst[name] = max(self.worst[name], latency)
            for tile in [tile for tile, flit in offers.items() if self.model.ready(tile, flit)]:
                flit = queues[tile].pop(0)
                if flit.first:
                    name = list(routes)[queues[tile][0].data]
                    taken.setdefault(name, []).append(now)
            self.model.step(offers, dict.fromkeys(mesh.tiles, True))


def random_network(seed):
    """A small network with flows of all kinds: mesh, routes, least and greatest lengths, delta_R
    and depth."""
    rng = random.Random(seed)
    mesh = Mesh(*rng.choice([(2, 2), (2, 3), (3, 3), (1, 5), (1, 3), (3, 2)]))
    delta = rng.choice([2, 2, 3, 4])
    depth = rng.randint(delta + 1, delta + 4)
    count, hot, routes = rng.choice([4, 6, 10, 14]), rng.random() < 0.5, {}
    for number in range(count):
        source, target = rng.sample(mesh.tiles, 2)
        if hot and rng.random() < 0.7 and source != mesh.tiles[0]:
            target = mesh.tiles[0]
        routes[str(number)] = xy_route(mesh, source, target)
    if rng.random() < 0.6:  # one from each tile, so that it never pauses
        first = {}
        for route in routes.values():
            first.setdefault(route[0], route)
        routes = {str(number): route for number, route in enumerate(first.values())}
    kind, flits = rng.choice(["one", "one", "many", "each"]), rng.randint(2, 14)
    lengths = {}
    for name in routes:
        least = {"one": flits, "many": rng.randint(2, 8), "each": rng.randint(2, 14)}[kind]
        lengths[name] = least, rng.randint(least, 14) if kind == "many" else least
    return mesh, routes, lengths, delta, depth


@pytest.mark.parametrize("seed", range(6))
def test_no_packet_of_the_model_takes_longer(seed):
    mesh, routes, lengths, delta, depth = random_network(seed)
    run = RandomTraffic(mesh, routes, lengths, delta=delta, depth=depth, cycles=700, seed=seed)
    streams = {name: Stream(routes[name], max(both), min(both)) for name, both in lengths.items()}
    bound = Traversal(mesh, streams, delta=delta, depth=depth)
    assert all(worst <= bound.bound(name) for name, worst in run.worst.items())
    assert sum(worst > 0 for worst in run.worst.values()) >= len(routes) / 2


@pytest.mark.parametrize("seed", range(6))
def test_no_packet_takes_longer_if_all_are_alike(seed):
    mesh, routes, _, delta, depth = random_network(seed)
    flits = random.Random(seed).randint(2, 14)
    run = RandomTraffic(mesh, routes, dict.fromkeys(routes, (flits,)), delta=delta, depth=depth,
                        cycles=700, seed=seed)
    bound = AlikeTraversal(mesh, routes, flits=flits, delta=delta, depth=depth)
    assert all(worst <= bound.bound(name) for name, worst in run.worst.items())
    assert sum(worst > 0 for worst in run.worst.values()) >= len(routes) / 2


@pytest.mark.parametrize("flits", [2, 3, 4, 5, 9, 16])
def test_a_hotspot_reaches_the_bound(flits):
    """All tiles send to one corner: every worst case is met, however packets fit a FIFO."""
    mesh = Mesh(2, 2)
    routes = {str(n): xy_route(mesh, tile, (0, 0)) for n, tile in enumerate(mesh.tiles) if n}
    run = RandomTraffic(mesh, routes, dict.fromkeys(routes, (flits,)), delta=2, depth=4, cycles=400,
                        seed=1)
    bound = AlikeTraversal(mesh, routes, flits=flits, delta=2, depth=4)
    assert run.worst == {name: bound.bound(name) for name in routes}
    general = Traversal(mesh, {name: Stream(route, flits) for name, route in routes.items()},
                        delta=2, depth=4)
    assert all(general.bound(name) >= bound.bound(name) for name in routes)


def test_figure_3_stops_the_model():
    lengths = dict.fromkeys(FIGURE_3, (8,))
    run = RandomTraffic(Mesh(2, 2), FIGURE_3, lengths, delta=2, depth=4, cycles=300, seed=1)
    assert not any(run.worst.values())
    xy = {name: xy_route(Mesh(2, 2), route[0], route[-1]) for name, route in FIGURE_3.items()}
    run = RandomTraffic(Mesh(2, 2), xy, lengths, delta=2, depth=4, cycles=300, seed=1)
    assert all(run.worst.values())
