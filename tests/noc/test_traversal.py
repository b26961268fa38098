"""Traversal bound: what exceeded an earlier version, a search for more, faults that it finds."""

import random

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.patterns import crowd
from cyclebound.golden.noc.routes import Mesh, xy_route
from cyclebound.golden.noc.traversal import Stream, Traversal
from cyclebound.tb.noc.staggered import Network, Planned, play, random_network, random_plan

pytestmark = pytest.mark.unit


def exceeded(networks, *, plans, cycles, kind=Traversal):
    """Packets that took longer than their bound: network, stream, latency, bound; and how many
    packets there were."""
    found, packets = [], 0
    for seed, network in networks:
        allowed = network.allowed if kind is Traversal else {
            name: network.analyses(kind)[0].bound(name) for name in network.streams}
        rng = random.Random(seed)
        for _ in range(plans):
            for name, taken, delivered in play(network, random_plan(network, rng, cycles), seed):
                packets += 1
                if delivered - taken + 1 > allowed[name]:
                    found.append((seed, name, delivered - taken + 1, allowed[name]))
    return found, packets


# What exceeded an earlier version

def of(mesh, ends, lengths, delta, depth):
    return Network(mesh, {str(number): Stream(xy_route(mesh, *pair), flits)
                          for number, (pair, flits) in enumerate(zip(ends, lengths, strict=True))},
                   delta, depth)


SHARED = of(Mesh(2, 3), [((1, 1), (0, 0)), ((0, 1), (1, 0)), ((1, 2), (1, 0))], [5] * 3, 2, 4)


LINE = of(Mesh(1, 4), [((0, 0), (0, 2)), ((0, 1), (0, 2)), ((0, 3), (0, 2))], [4, 15, 15], 2, 3)


@pytest.mark.parametrize(("network", "plan", "stream", "latency", "before"), [
    # Packets of 4 and of 15 flits, by an annealed search of plans: 15 flits from the tile in front
    # of the target, while packets of 4 come from the one before and of 15 from the other side.
    (LINE, {(0, 0): [(29, "0"), (31, "0")], (0, 1): [(begin, "1") for begin in (15, 43, 44, 51)],
            (0, 3): [(begin, "2") for begin in (8, 9, 17, 32, 33, 34, 36, 36, 40)]}, "1", 69, 55),
    # Stream 0 finds the channel to the west taken by a second packet of stream 2, whose first
    # one waits in the FIFO after it for the last of stream 1's.
    (SHARED, {(1, 1): [(13, "0")], (0, 1): [(3, "1"), (3, "1")], (1, 2): [(4, "2"), (4, "2")]},
     "0", 27, 26)])
def test_an_input_that_was_idle_finds_a_full_fifo(network, plan, stream, latency, before):
    """The bound was ``before`` when it counted one packet of each other input, and nothing of what
    these had left in the FIFO after it."""
    packets = {tile: [Planned(begin, name, network.streams[name].flits) for begin, name in starts]
               for tile, starts in plan.items()}
    worst = max(last - first + 1 for name, first, last in play(network, packets) if name == stream)
    assert before < worst == latency <= network.allowed[stream]


def test_the_rest_of_a_long_packet_is_in_the_way():
    """Packets of 27 flits in FIFOs of 3. A version that forgot what is left of them in the FIFO
    after a channel allowed 86 cycles."""
    ends = {"a": (4, 2), "b": (2, 0), "c": (3, 1), "d": (3, 2), "e": (2, 1)}
    network = Network(Mesh(1, 5), {name: Stream(xy_route(Mesh(1, 5), (0, here), (0, there)), 27)
                                   for name, (here, there) in ends.items()}, 2, 3)
    begins = {2: [(0, "b"), (0, "b"), (2, "e")], 3: [(0, "d"), (27, "c")],
              4: [(21, "a"), (23, "a")]}
    plan = {(0, tile): [Planned(begin, name, 27) for begin, name in starts]
            for tile, starts in begins.items()}
    worst = max(last - first + 1 for name, first, last in play(network, plan) if name == "a")
    assert worst == 87 <= network.allowed["a"]


def test_the_harness_of_four():
    """5 flits, permutation 26, tile 14: 26 cycles on the RTL, where 23 were allowed."""
    parameters = {"rows": 4, "columns": 4, "delta": 2, "depth": 4}
    assert bounds.traversal(**parameters, flits=5, pattern=26, source=14) >= 26
    assert bounds.traversal(**parameters, flits=10, pattern=56, source=8) >= 53


# The search

@pytest.mark.parametrize(("alike", "hostile"), [(True, False), (False, False), (False, True)])
def test_no_packet_of_staggered_senders_takes_longer(alike, hostile):
    networks = [(seed, random_network(seed, alike=alike, hostile=hostile)) for seed in range(8)]
    found, packets = exceeded(networks, plans=1, cycles=100)
    assert not found
    assert packets > 100


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 4000, 250))
def test_no_packet_of_many_staggered_senders_takes_longer(first):
    networks = [(seed, random_network(seed)) for seed in range(first, first + 250)]
    found, packets = exceeded(networks, plans=10, cycles=300)
    assert not found
    assert packets > 50_000


class Forgetful(Traversal):
    """A header meets a packet of each other input, and nothing of what is in the FIFO after it."""

    def _queued(self, channel, count, run):
        if channel in self._onward and run.last is not None and run.unknown == 0:
            return max(count, self._run(channel, type(run)(
                0, run.whole, run.last, run.part - self._depth - 1)))
        return super()._queued(channel, count, run)


class Hurried(Traversal):
    """No sender pauses."""

    def __init__(self, mesh, streams, **known):
        super().__init__(mesh, {name: Stream(stream.route, stream.flits, stream.least)
                                for name, stream in streams.items()}, **known)


class Ready(Traversal):
    """Receivers never stall."""

    def __init__(self, *given, stalls, **known):
        super().__init__(*given, stalls=0, **known)


class Alone(Traversal):
    """Packets that wait after others have nothing before them."""

    def _passes(self, name, channel, before, unstopped):
        return super()._passes(name, channel, 0, unstopped)


@pytest.mark.parametrize("kind", [Forgetful, Hurried, Ready, Alone])
def test_the_search_finds_what_a_bound_forgets(kind):
    for seed in range(100):
        if exceeded([(seed, random_network(seed))], plans=2, cycles=100, kind=kind)[0]:
            return
    pytest.fail("the search found nothing")


# Streams that pause, receivers that stall

def test_pauses_and_stalls_cost_what_they_last():
    """Of a packet that meets no other: its own pauses, and the stalls of each of its flits."""
    mesh, route = Mesh(2, 2), ((0, 0), (0, 1))
    parameters = {"delta": 2, "depth": 4}
    alone = Traversal(mesh, {"a": Stream(route, 6)}, **parameters).bound("a")
    assert alone == bounds.t_noc(delta=2, flits=6, routers=2)
    assert Traversal(mesh, {"a": Stream(route, 6, None, 7)}, **parameters).bound("a") == alone + 7
    stalled = Traversal(mesh, {"a": Stream(route, 6)}, stalls=3, **parameters).bound("a")
    assert stalled >= alone + 6 * 3


def test_crowds_have_bounds():
    parameters = {"rows": 2, "columns": 3, "delta": 2, "depth": 4, "longest": 7}
    streams, stalls = crowd(Mesh(2, 3), 5, 7)
    direct = Traversal(Mesh(2, 3), streams, delta=2, depth=4, stalls=stalls)
    for name in streams:
        assert bounds.crowd_traversal(**parameters, crowd=5, stream=int(name)) == direct.bound(name)
    with pytest.raises(NotCovered, match=r"^stream must be one of 0, .*, not '99' \(crowd 5\)$"):
        bounds.crowd_traversal(**parameters, crowd=5, stream=99)
    with pytest.raises(NotCovered, match=r"^crowd must be a whole number of at least 0, not -1$"):
        bounds.crowd_traversal(**parameters, crowd=-1, stream=0)
    with pytest.raises(ValueError, match=r"^longest packet must be at least 2, not 1$"):
        crowd(Mesh(2, 3), 5, 1)
    with pytest.raises(ValueError, match=r"^crowd must be at least 0, not -1$"):
        crowd(Mesh(2, 3), -1, 4)


@pytest.mark.parametrize(("wrong", "says"), [
    ({"delta": 0}, "delta must be at least 1, not 0"),
    ({"depth": 2}, "depth must be at least 3, not 2"),
    ({"stalls": -1}, "stalls must be at least 0, not -1")])
def test_refuses(wrong, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        Traversal(Mesh(1, 2), {"a": Stream(((0, 0), (0, 1)), 2)},
                  **{"delta": 2, "depth": 3} | wrong)


def test_pauses_are_counted_from_zero():
    with pytest.raises(ValueError, match=r"^pauses of a stream must be at least 0, not -1$"):
        Stream(((0, 0), (0, 1)), 4, None, -1)
    with pytest.raises(TypeError, match=r"^pauses of a stream must be an integer, not 1\.5$"):
        Stream(((0, 0), (0, 1)), 4, None, 1.5)
