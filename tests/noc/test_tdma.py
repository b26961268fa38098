"""TDMA tables: found, proved by another route, and refused with reasons."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.noc.routes import Channel, Mesh, Port, channels, xy_route
from cyclebound.golden.noc.tdma import (
    Conflict,
    Flow,
    Infeasible,
    Network,
    Slot,
    conflicts,
    solve,
)

pytestmark = pytest.mark.unit
NETWORK = Network(Mesh(4, 4), period=1024, hop_cycles=6)
SMALL = Network(Mesh(2, 2), period=32, hop_cycles=3, payload_flits=4)


def test_the_papers_window():
    """L / T = 1 / 2 of 2,400 MB/s, less the headers."""
    assert Flow("a", (0, 0), (3, 0), 1200).window(NETWORK) == 512 + 2 * 8
    assert Flow("a", (0, 0), (3, 0), Fraction(1)).window(NETWORK) == 1 + 2
    seven = Fraction(7 * 64 * 4 * 600, 1024)  # 7 packets in a period
    assert Flow("a", (0, 0), (3, 0), seven).window(NETWORK) == 7 * 66


def test_flows_that_cross_find_a_table():
    flows = [Flow("a", (0, 0), (3, 3), 700), Flow("b", (3, 3), (0, 0), 700),
             Flow("c", (0, 3), (3, 0), 700), Flow("d", (1, 0), (1, 3), 700),
             Flow("e", (0, 1), (3, 1), 700), Flow("f", (0, 0), (0, 3), 700)]
    table = solve(NETWORK, flows)
    assert conflicts(NETWORK, flows, table) == []


def test_a_route_around_makes_room():
    """Two flows of half a period and more on one link: a detour, or nothing."""
    flows = [Flow("a", (0, 0), (0, 1), 1300), Flow("b", (1, 1), (0, 1), 800)]
    routes = {"b": [((1, 1), (1, 0), (0, 0), (0, 1))]}
    with pytest.raises(Infeasible, match=r"^no table exists for flows a, b: all their routes use "
                                         r"the east link of router \(0, 0\), for 1\d\d\d cycles "
                                         r"of a period of 1024$"):
        solve(Network(Mesh(2, 2), 1024, 6), [flows[0], Flow("b", (1, 1), (0, 1), 1200)],
              routes=routes)
    table = solve(Network(Mesh(2, 2), 1024, 6), flows)
    assert table["b"].route == ((1, 1), (0, 1))


def test_the_reason_leaves_out_who_has_nothing_to_do_with_it():
    flows = [Flow("a", (0, 0), (0, 3), 1000), Flow("far", (3, 0), (3, 3), 1000),
             Flow("b", (0, 0), (1, 0), 1000), Flow("c", (0, 0), (2, 0), 1000)]
    with pytest.raises(Infeasible) as caught:
        solve(NETWORK, flows)
    assert caught.value.flows == ("a", "b", "c")
    assert str(caught.value) == (
        "no table exists for flows a, b, c: all their routes use the interface to router (0, 0), "
        "for 1323 cycles of a period of 1024")


def test_windows_that_fit_no_choice():
    """Three flows, each two of which share a link, none of which all three do."""
    network = Network(Mesh(2, 2), period=12, hop_cycles=1, payload_flits=4, mhz=1, flit_bytes=1)
    half = Fraction(1, 3)  # 4 flits and a header of 2 in 12 cycles
    flows = [Flow("a", (0, 0), (0, 1), half), Flow("b", (0, 0), (0, 1), half),
             Flow("c", (0, 0), (0, 1), half)]
    assert solve(network, flows[:2])
    with pytest.raises(Infeasible, match=r"^no table exists for flows a, b, c: all their routes "):
        solve(network, flows)
    # a and b leave by one link, b and c end at one interface, a and c meet in between
    ring = [Flow("a", (0, 0), (1, 1), Fraction(1, 3)), Flow("b", (0, 0), (1, 0), Fraction(1, 3)),
            Flow("c", (0, 1), (1, 1), Fraction(1, 3))]
    assert conflicts(network, ring, solve(network, ring)) == []


@pytest.mark.parametrize(("bandwidth", "kind", "says"), [
    (0, ValueError, "must be above 0 MB/s, not 0"),
    (-5, ValueError, "must be above 0 MB/s, not -5"),
    (1.5, TypeError, r"must be an integer or a Fraction, not 1\.5"),
    (None, TypeError, "must be an integer or a Fraction, not None")])
def test_flow_without_bandwidth(bandwidth, kind, says):
    with pytest.raises(kind, match=f"^bandwidth of flow a {says}$"):
        Flow("a", (0, 0), (0, 1), bandwidth)


def test_window_longer_than_the_period():
    flow = Flow("a", (0, 0), (0, 1), 2400)
    with pytest.raises(Infeasible, match=r"^flow a needs a window of 1056 cycles, more than the "
                                         r"period of 1024$"):
        solve(NETWORK, [flow])
    with pytest.raises(ValueError, match=r"^window of flow a must be at most the period of 1024 "
                                         r"cycles, not 1025$"):
        conflicts(NETWORK, [Flow("a", (0, 0), (0, 1), 1)],
                  {"a": Slot(((0, 0), (0, 1)), 0, 1025)})


@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"period": 0}, ValueError, "period must be at least 1, not 0"),
    ({"hop_cycles": 1.0}, TypeError, r"hop cycles must be an integer, not 1\.0")])
def test_network_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        Network(**{"mesh": Mesh(2, 2), "period": 8, "hop_cycles": 2} | wrong)


def test_tables_that_are_none():
    flow = Flow("a", (0, 0), (0, 1), 100)
    for table, says in (({}, "flow a must have a slot in the table"),
                        ({"a": Slot(((0, 0), (0, 1)), 0, 44)},
                         "window of flow a must be at least 45 cycles, not 44"),
                        ({"a": Slot(((0, 0), (1, 0)), 0, 45)},
                         r"route must end at \(0, 1\), not at \(1, 0\)")):
        with pytest.raises(ValueError, match=f"^{says}$"):
            conflicts(NETWORK, [flow], table)
    with pytest.raises(ValueError, match=r"^names of flows must differ, not be a, a$"):
        solve(NETWORK, [flow, flow])


def test_the_checker_names_channel_cycle_and_flows():
    flows = [Flow("a", (0, 0), (0, 1), 1), Flow("b", (1, 0), (0, 1), 1)]
    table = {"a": Slot(((0, 0), (0, 1)), 30, 3),             # east of (0, 0) in 33 to 35
             "b": Slot(((1, 0), (0, 0), (0, 1)), 29, 3)}     # there in 35 to 37, modulo 32
    found = conflicts(SMALL, flows, table)
    assert found[0] == Conflict(Channel((0, 0), Port.EAST), 3, ("a", "b"))
    assert str(found[0]) == "flows a and b share the east link of router (0, 0) in cycle 3"
    assert len(found) == 2  # there, and one hop on
    table["b"] = Slot(table["b"].route, 30, 3)
    assert conflicts(SMALL, flows, table) == []


def test_a_flow_may_not_meet_itself():
    table = {"a": Slot(((0, 0), (0, 1)), 0, 32)}
    assert conflicts(SMALL, [Flow("a", (0, 0), (0, 1), 1)], table) == []


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(SMALL.mesh.tiles), st.sampled_from(SMALL.mesh.tiles),
                          st.integers(1, 900)), min_size=2, max_size=4))
def test_solver_and_checker_agree(ends):
    """What is found is proved; what is refused has no table with XY routes either."""
    flows = [Flow(f"f{number}", source, destination, bandwidth)
             for number, (source, destination, bandwidth) in enumerate(ends)]
    try:
        table = solve(SMALL, flows)
    except Infeasible as error:
        few = [flow for flow in flows if flow.name in error.flows]
        with pytest.raises(Infeasible):
            solve(SMALL, few)
        for name in error.flows if len(few) > 1 else ():  # each of them is needed
            solve(SMALL, [flow for flow in few if flow.name != name])
        assert not _by_search(few)
        return
    assert conflicts(SMALL, flows, table) == []


def _by_search(flows):
    """Whether XY routes have a table: every offset tried, windows as sets of cycles."""
    length = [flow.window(SMALL) for flow in flows]
    if max(length) > SMALL.period:
        return False
    used = [{channel: hop * SMALL.hop_cycles for hop, channel in enumerate(
        channels(xy_route(SMALL.mesh, flow.source, flow.destination)))} for flow in flows]

    def apart(a, b, offsets):
        return all(not {(offsets[a] + used[a][channel] + n) % SMALL.period
                        for n in range(length[a])}
                   & {(offsets[b] + used[b][channel] + n) % SMALL.period for n in range(length[b])}
                   for channel in used[a].keys() & used[b].keys())

    def extend(offsets):
        if len(offsets) == len(flows):
            return True
        return any(all(apart(a, len(offsets), [*offsets, new]) for a in range(len(offsets)))
                   and extend([*offsets, new])
                   for new in (range(SMALL.period) if offsets else (0,)))

    return extend([])
