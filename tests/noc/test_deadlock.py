"""Rings of routes that wait for each other, found and avoided."""

import itertools

import pytest

from cyclebound.golden.noc.deadlock import acyclic_routes, dependencies, find_deadlock
from cyclebound.golden.noc.routes import Mesh, channels, xy_route

pytestmark = pytest.mark.unit

# memory-composition, Figure 3: R1 and R2 above, R4 and R3 below; each packet goes two links on
FIGURE_3 = {"F(R1)": ((1, 1), (1, 0), (0, 0)), "F(R4)": ((0, 1), (1, 1), (1, 0)),
            "F(R3)": ((0, 0), (0, 1), (1, 1)), "F(R2)": ((1, 0), (0, 0), (0, 1))}


def test_figure_3_is_a_ring_of_its_four_routers():
    found = find_deadlock(FIGURE_3)
    assert set(found.routers) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert sorted(found.flows) == sorted(FIGURE_3)
    assert str(found).endswith("can wait in a ring of routers (0, 0), (0, 1), (1, 1), (1, 0)")


@pytest.mark.parametrize("gone", FIGURE_3)
def test_figure_3_takes_all_four(gone):
    assert find_deadlock({name: route for name, route in FIGURE_3.items() if name != gone}) is None


def test_figure_3_is_gone_with_xy_or_with_a_choice_of_routes():
    flows = {name: (route[0], route[-1]) for name, route in FIGURE_3.items()}
    mesh = Mesh(2, 2)
    assert find_deadlock({name: xy_route(mesh, *ends) for name, ends in flows.items()}) is None
    chosen = acyclic_routes(mesh, flows)
    assert find_deadlock(chosen) is None
    assert {name: (route[0], route[-1]) for name, route in chosen.items()} == flows


def test_every_pair_by_xy_has_no_ring():
    mesh = Mesh(4, 4)
    routes = {f"{pair}": xy_route(mesh, *pair)
              for pair in itertools.permutations(mesh.tiles, 2)}
    assert find_deadlock(routes) is None


def test_every_pair_by_every_shortest_route_has_one():
    """XY and YX mixed: the ring is found, and each of its links is one that a flow makes."""
    mesh = Mesh(3, 3)
    routes = {}
    for pair in itertools.permutations(mesh.tiles, 2):
        routes[f"{pair} xy"] = xy_route(mesh, *pair)
        routes[f"{pair} yx"] = xy_route(mesh, *reversed(pair))[::-1]
    found = find_deadlock(routes)
    assert len(found.channels) == 4
    ring = [*found.channels, found.channels[0]]
    for flow, (here, there) in zip(found.flows, itertools.pairwise(ring), strict=True):
        used = channels(routes[flow])
        assert used.index(there) == used.index(here) + 1


def test_no_choice_of_routes_is_said_to_be_none():
    flows = {name: (route[0], route[-1]) for name, route in FIGURE_3.items()}
    assert acyclic_routes(Mesh(2, 2), flows, routes={n: [r] for n, r in FIGURE_3.items()}) is None
    other = ((1, 1), (0, 1), (0, 0))
    two = {"F(R1)": [FIGURE_3["F(R1)"], other]}
    chosen = acyclic_routes(Mesh(2, 2), flows, routes={n: [r] for n, r in FIGURE_3.items()} | two)
    assert chosen == FIGURE_3 | {"F(R1)": other}
    assert len(dependencies(FIGURE_3).edges) == 8 + 4


def test_nothing_has_no_ring():
    assert find_deadlock({}) is None
    assert find_deadlock({"at home": ((0, 0),)}) is None
