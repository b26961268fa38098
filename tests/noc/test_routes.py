"""Meshes, routes, and what is said about a route that is none."""

import pytest

from cyclebound.golden.noc.routes import (
    Channel,
    Mesh,
    Port,
    channels,
    check_route,
    ports,
    route_of,
    routes_between,
    xy_route,
)

pytestmark = pytest.mark.unit
MESH = Mesh(3, 4)
N, E, S, W, L = Port


@pytest.mark.parametrize(("route", "says"), [
    ([(0, 3), (0, 4)], r"stay in the mesh of 3 x 4 routers, not go to \(0, 4\)"),
    ([(0, 0), (-1, 0)], r"stay in the mesh of 3 x 4 routers, not go to \(-1, 0\)"),
    ([(0, 0), (1, 1)], r"go from router to neighbour, not from \(0, 0\) to \(1, 1\)"),
    ([(0, 0), (0, 1), (0, 0)], r"visit a router once, not \(0, 0\) twice"),
    ([(0, 1), (0, 2)], r"begin at \(0, 0\), not at \(0, 1\)"),
    ([(0, 0), (0, 1)], r"end at \(0, 2\), not at \(0, 1\)"),
    ([], "have a tile at least, not none")])
def test_what_is_no_route(route, says):
    with pytest.raises(ValueError, match=f"^route must {says}$"):
        check_route(MESH, route, source=(0, 0), destination=(0, 2))


@pytest.mark.parametrize(("outputs", "says"), [
    ([N, L], r"must not leave the mesh by the north of \(0, 0\)"),
    ([E, S], "must end with LOCAL"), ([], "must end with LOCAL"),
    ([E, L, L], "must not stop before its last output"),
    ([E, W, L], r"must visit a router once, not \(0, 0\) twice")])
def test_headers_that_lead_nowhere(outputs, says):
    with pytest.raises(ValueError, match=f"^route {says}$"):
        route_of(MESH, (0, 0), outputs)


@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"rows": 0}, ValueError, "rows must be at least 1, not 0"),
    ({"columns": "2"}, TypeError, "columns must be an integer, not '2'"),
    ({"rows": True}, TypeError, "rows must be an integer, not True")])
def test_meshes_that_are_none(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        Mesh(**{"rows": 2, "columns": 2} | wrong)


def test_xy_goes_along_the_row_first():
    assert xy_route(MESH, (0, 0), (2, 1)) == ((0, 0), (0, 1), (1, 1), (2, 1))
    assert xy_route(MESH, (2, 3), (0, 2)) == ((2, 3), (2, 2), (1, 2), (0, 2))
    assert xy_route(MESH, (1, 1), (1, 1)) == ((1, 1),)


def test_every_pair_has_its_header_and_comes_back():
    for source in MESH.tiles:
        for destination in MESH.tiles:
            route = xy_route(MESH, source, destination)
            assert route_of(MESH, source, ports(route)) == route
            assert len(set(channels(route))) == len(route) + 1
            assert routes_between(MESH, source, destination) is not None
            assert route in list(routes_between(MESH, source, destination))


def test_routes_between_counts_the_shortest():
    shortest = list(routes_between(MESH, (0, 0), (2, 3)))
    assert len(shortest) == 10  # 5 over 2
    longer = list(routes_between(MESH, (0, 0), (2, 3), detour=2))
    assert longer[:10] == shortest
    assert all(len(route) == 8 for route in longer[10:])
    assert len(longer) > 10


def test_channels_have_names():
    used = channels(((0, 0), (0, 1)))
    assert [str(channel) for channel in used] == [
        "interface to router (0, 0)", "east link of router (0, 0)",
        "router (0, 1) to its interface"]
    assert used[1] == Channel((0, 0), E)
    assert (E.opposite, N.opposite, L.opposite) == (W, S, L)
