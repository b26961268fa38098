"""Bounds of SHMAC's network, and the search for what exceeds them, on the golden model."""

import random
import time

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.shmac import network_bounds as bounds
from cyclebound.golden.shmac.exchange import ExchangeModel
from cyclebound.golden.shmac.network_bounds import NetworkBounds, Slave
from cyclebound.golden.shmac.traffic import (
    ALONE,
    ANYWHERE,
    HOST,
    HOTSPOT,
    MANY,
    NEIGHBOURS,
    senders,
    services,
)
from cyclebound.tools.shmac.network_search import Goal, ShmacNetworkAdversary, latest, searched

unit = pytest.mark.unit
PAIR = {"rows": 1, "columns": 2, "hot": 1, "service": 3}


@unit
def test_alone_a_read_is_its_routers_and_its_service():
    for service in (1, 5):
        for master, target in (((0, 0), (0, 0)), ((0, 0), (2, 2)), ((1, 2), (0, 0))):
            found = NetworkBounds(Mesh(3, 3), {master: {target}}, service=service)
            links = sum(abs(a - b) for a, b in zip(master, target, strict=True))
            assert found.response(master, target) == bounds.alone(links=links)
            assert found.read(master, target, behind=0) == 6 * (links + 1) + service + 1 + max(
                0, service - 3 * (links + 1))
            assert found.accept(master) == service + 1


@unit
def test_all_on_one_slave():
    """Two tiles, one slave of 4 cycles a turn: by hand."""
    kind = {**PAIR, "traffic": HOTSPOT, "target": 1}
    # asks in its fourth cycle, three turns: two packets of the other in the queue, one in the slave
    assert bounds.write(**kind, master=0, behind=0) == 3 + 3 * 4 + 1
    assert bounds.read(**kind, master=0, behind=0) == 15 + 3 + 7
    # seven packets of its own, each with one of the other, and two in the queue; less the 3 cycles
    # that the place for the first of them takes to come to the master
    assert bounds.write(**kind, master=0, behind=MANY) == (7 * 2 + 2) * 4 - 3 + 1
    assert bounds.accept(**PAIR, traffic=HOTSPOT, master=0) == 2 * 4


@unit
def test_a_bound_grows_with_service_and_with_masters():
    mesh, few, many = Mesh(2, 3), senders(Mesh(2, 3), NEIGHBOURS), senders(Mesh(2, 3), ANYWHERE)
    for master, targets in few.items():
        for target in targets:
            for behind in (0, 1, MANY):
                values = [NetworkBounds(mesh, masters, service=service).read(
                    master, target, behind=behind)
                    for masters, service in ((few, 1), (few, 2), (many, 2))]
                assert values == sorted(values)
                assert values[0] <= NetworkBounds(mesh, few, service=1).read(
                    master, target, behind=MANY)


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"traffic": ALONE, "master": 0, "target": 0}, "tile 0 sends nothing to tile 0 in traffic 0"),
    ({"traffic": HOTSPOT, "hot": 2, "master": 0, "target": 0}, "tile must be below 2, not 2"),
    ({"traffic": -1, "master": 0, "target": 1}, "traffic must be a whole number of at least 0")])
def test_says_what_it_does_not_cover(wrong, says):
    with pytest.raises(NotCovered, match=says):
        bounds.write(**{**PAIR, "behind": 0, **wrong})


@unit
def test_each_slave_has_its_own_service():
    """What a slow slave needs is no part of what another one takes, if they meet nowhere."""
    mesh, masters = Mesh(1, 3), {(0, 0): {(0, 1)}, (0, 2): {(0, 2)}}
    for slow in (1, 40):
        within = NetworkBounds(mesh, masters, service={(0, 1): 2, (0, 2): slow})
        assert within.read((0, 0), (0, 1), behind=0) == 7 - 1 + 2 + 7
        assert within.accept((0, 2)) == slow + 1


@unit
def test_a_slave_that_takes_a_request_in_each_cycle():
    """Three inputs, a request each: the third is granted two cycles later than the first; and one
    that lets idle requests wait for two cycles."""
    mesh, hot = Mesh(1, 3), (0, 1)
    masters = senders(mesh, HOTSPOT, hot=hot)
    within = NetworkBounds(mesh, masters, service=Slave(1, 1))
    assert within.write(hot, hot, behind=0) == 1 + 3 + 2
    alone = [NetworkBounds(mesh, {hot: {hot}}, service=Slave(1, 1, wait)).write(hot, hot, behind=0)
             for wait in (0, 2)]
    assert alone == [4, 6]


@unit
@pytest.mark.parametrize(("numbers", "says"), [
    ((0, 1, 0), "service must be at least 1, not 0"), ((1, 0, 0), "turn must be at least 1, not 0"),
    ((1, 1, -1), "wait must be at least 0, not -1")])
def test_refuses_a_slave(numbers, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        Slave(*numbers)


@unit
def test_refuses_tiles_outside():
    for masters in ({(0, 2): {(0, 0)}}, {(0, 0): {HOST}}):
        with pytest.raises(ValueError, match=r"^tile must be in the grid of 1 x 2, not \(0, "):
            NetworkBounds(Mesh(1, 2), masters, service=1)
    with pytest.raises(ValueError, match=r"^service must be at least 1, not 0$"):
        NetworkBounds(Mesh(1, 2), {}, service=0)


def found(mesh, masters, victim, target, *, tries, service=1, write=False, most=0,
          cycles=200, overlaps=False):
    goal = Goal(masters, victim, target, write=write, most=most, cycles=cycles)
    return searched(mesh, goal, service=service, tries=tries, seed=7, overlaps=overlaps)


@unit
def test_the_search_reaches_the_bound_and_a_bound_of_a_cycle_less_is_exceeded():
    """So a bound that is too low is found."""
    mesh = Mesh(1, 2)
    masters = senders(mesh, HOTSPOT, hot=(0, 1))
    assert found(mesh, masters, (0, 0), (0, 1), tries=25) == NetworkBounds(
        mesh, masters, service=1).read((0, 0), (0, 1), behind=0)


@unit
@pytest.mark.parametrize(("behind", "cycles"), [(1, 13), (2, 16), (3, 19), (MANY, 30)])
def test_writes_behind_so_many_of_their_own_reach_their_bound(behind, cycles):
    """Each write of its own costs a turn: S = 2 for each of two inputs, less a cycle."""
    mesh = Mesh(1, 2)
    masters = senders(mesh, HOTSPOT, hot=(0, 1))
    assert found(mesh, masters, (0, 0), (0, 1), tries=60, write=True, most=behind) == cycles
    assert NetworkBounds(mesh, masters, service=1).write((0, 0), (0, 1), behind=behind) == cycles


def together(mesh, masters, victim, *, service, tries, less=0, none=None,
             overlaps=False):
    """The latest end of a request, against what all of its master may take together."""
    class Tighter(NetworkBounds):
        def held_together(self, master):
            return super().held_together(master) - less

    slaves = service if not overlaps else {tile: Slave(its, its) for tile, its in service.items()}
    within, worst = Tighter(mesh, masters, service=slaves), None
    target = min(masters[victim])
    goal = Goal(masters, victim, target, write=True, most=MANY, cycles=200)
    adversary, plan = ShmacNetworkAdversary(random.Random(5), goal), None
    for number in range(tries):
        other = adversary.fresh() if plan is None or number % 10 == 0 else adversary.changed(plan)
        over = latest(mesh, goal, other, within, service=service, overlaps=overlaps)
        if over is not None and (worst is None or over >= worst):
            worst, plan = over, other
    return none if worst is None else worst


@unit
def test_all_requests_together_reach_their_bound_and_a_cycle_less_is_found():
    mesh = Mesh(1, 2)
    masters = senders(mesh, HOTSPOT, hot=(0, 1))
    for victim in masters:
        assert together(mesh, masters, victim, service=1, tries=80) == 0
        assert together(mesh, masters, victim, service=1, tries=80, less=1) > 0


@pytest.mark.thorough
@pytest.mark.parametrize("traffic", range(4, 32))
def test_no_search_exceeds_what_all_requests_take_together(traffic):
    """Grids of several shapes, slaves of other times each; those of odd traffics overlap."""
    rows, columns = ((1, 2), (1, 3), (2, 2), (1, 5), (2, 3), (3, 1), (4, 1))[traffic % 7]
    mesh = Mesh(rows, columns)
    masters = senders(mesh, traffic)
    service = services(mesh, 1 + traffic % 3, traffic % 5)
    for victim in masters:
        assert together(mesh, masters, victim, service=service, tries=40, none=-1,
                        overlaps=bool(traffic % 2)) <= 0


@unit
def test_a_slave_that_takes_a_request_in_each_cycle_is_found_at_its_bound():
    mesh = Mesh(1, 2)
    masters = senders(mesh, HOTSPOT, hot=(0, 1))
    for master, most, cycles in (((0, 0), 0, 8), ((0, 0), MANY, 14), ((0, 1), MANY, 7)):
        assert NetworkBounds(mesh, masters, service=Slave(1, 1)).write(
            master, (0, 1), behind=most) == cycles
        assert found(mesh, masters, master, (0, 1), tries=60, write=True, most=most,
                     overlaps=True) == cycles


@unit
def test_the_search_finds_a_slave_that_is_slower_than_stated():
    mesh = Mesh(1, 2)
    masters = senders(mesh, HOTSPOT, hot=(0, 1))
    assert found(mesh, masters, (0, 0), (0, 1), tries=25, service=2) > NetworkBounds(
        mesh, masters, service=1).read((0, 0), (0, 1), behind=0)


@unit
def test_the_search_finds_an_output_that_prefers_an_input(monkeypatch):
    class Priority:
        def __init__(self, count):
            """The lowest one wins."""

        def step(self, requests, accept):
            return requests & -requests

    monkeypatch.setattr("cyclebound.golden.noc.queued_router.RoundRobinModel", Priority)
    mesh = Mesh(1, 2)
    masters = senders(mesh, HOTSPOT, hot=(0, 1))
    assert found(mesh, masters, (0, 1), (0, 1), tries=25) > NetworkBounds(
        mesh, masters, service=1).read((0, 1), (0, 1), behind=0)


def responses(mesh, masters, *, cycles, seed):
    """The longest response of each master and slave where all read without a pause."""
    rng, model = random.Random(seed), ExchangeModel(mesh, service=1)
    since, longest = {}, {}
    for cycle in range(cycles):
        seen = model.step({tile: (rng.choice(sorted(targets)), False)
                           for tile, targets in masters.items() if rng.random() < 0.3})
        for tile in seen.received:
            target, began = since.pop(tile)
            longest[tile, target] = max(longest.get((tile, target), 0), cycle - began + 1)
        for tile, slave in model.slaves.items():
            if slave.response is not None:  # on offer in the next cycle
                since.setdefault(slave.response.initiator, (tile, cycle + 1))
    return longest


CROSSING = {  # masters whose responses come by one output, and those whose meet in several
    (1, 4): {(0, 0): {(0, 3)}, (0, 1): {(0, 2)}},
    (1, 5): {(0, 0): {(0, 4)}, (0, 1): {(0, 3)}, (0, 2): {(0, 3), (0, 4)}}}


@unit
@pytest.mark.parametrize("shape", CROSSING)
def test_responses_are_within_their_bound_and_wait(shape):
    mesh, masters = Mesh(*shape), CROSSING[shape]
    within, waited = NetworkBounds(mesh, masters, service=1), 0
    for (master, target), cycles in responses(mesh, masters, cycles=3000, seed=1).items():
        links = sum(abs(a - b) for a, b in zip(master, target, strict=True))
        assert bounds.alone(links=links) <= cycles <= within.response(master, target)
        waited += cycles > bounds.alone(links=links)
        reached = cycles == within.response(master, target)
        assert reached or (master, target) != ((0, 1), (0, 2))  # meets one other, at one place
    assert waited, "no response waits"


@pytest.mark.thorough
@pytest.mark.parametrize("traffic", range(4, 18))
def test_no_search_exceeds_a_bound(traffic):
    """Grids of several shapes; targets drawn, so that packets for several slaves wait for each
    other."""
    rows, columns = ((1, 2), (1, 3), (2, 2), (1, 4), (2, 3), (3, 1), (4, 1))[traffic % 7]
    mesh, service = Mesh(rows, columns), 1 + traffic % 3
    masters = senders(mesh, traffic)
    within = NetworkBounds(mesh, masters, service=service)
    for victim, targets in masters.items():
        for target in targets:
            for write in (False, True):
                for behind in (0, 1, 2, 5, MANY):
                    bound = (within.write if write else within.read)(victim, target, behind=behind)
                    assert found(mesh, masters, victim, target, tries=25, service=service,
                                 write=write, most=behind, cycles=2 * bound + 60) <= bound


@pytest.mark.thorough
def test_the_largest_grid_takes_seconds():
    """All to all of 16 x 16; 10 CPU-s at most."""
    begun, mesh = time.process_time(), Mesh(16, 16)
    masters = {tile: frozenset(mesh.tiles) for tile in mesh.tiles}
    within = NetworkBounds(mesh, masters, service=1)
    assert within.read((0, 0), (15, 15), behind=0) > bounds.alone(links=30)
    assert time.process_time() - begun < 10
