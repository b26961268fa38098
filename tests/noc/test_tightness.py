"""The search for a mesh's slowest packets: what it has to find, and what it may not miss."""

import pytest

from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.patterns import HOTSPOT, pattern
from cyclebound.golden.noc.routes import Mesh, xy_route
from cyclebound.golden.noc.traversal import Stream, Traversal
from cyclebound.tb.noc.staggered import Network, Planned, play
from cyclebound.tools.maintenance import tightness
from cyclebound.tools.maintenance.tightness import KINDS, slowest
from kit.pages import Page

pytestmark = pytest.mark.unit


def network_of(hot, flits):
    """All tiles of a row of three to one of them, as all states of the RTL are visited."""
    mesh = Mesh(1, 3)
    return Network(mesh, {str(source[1]): Stream(xy_route(mesh, source, target), flits)
                          for source, target in pattern(mesh, HOTSPOT, (0, hot)).items()}, 2, 3)


@pytest.mark.parametrize("hot", [0, 1])
@pytest.mark.parametrize("flits", [2, 3, 4, 5, 7])
def test_finds_what_a_visit_of_every_state_finds(hot, flits):
    """There, each stream meets its bound."""
    network = network_of(hot, flits)
    found = slowest(network, cycles=50_000, seed=1)
    assert {name: most.cycles for name, most in found.items()} == network.allowed == {
        name: bounds.traversal(rows=1, columns=3, delta=2, depth=3, flits=flits, pattern=HOTSPOT,
                               source=int(name), hot=hot) for name in network.streams}


class Low(Traversal):
    """A cycle too few."""

    def heads(self, name):
        first, *others = super().heads(name)
        return [first - 1, *others]


class Loose(Traversal):
    """Three cycles too many."""

    def heads(self, name):
        first, *others = super().heads(name)
        return [first + 3, *others]


@pytest.fixture
def small(monkeypatch):
    """Two networks, in which all bounds are met."""
    monkeypatch.setattr(tightness, "KINDS", {
        "a row": (2, lambda seed: network_of(seed, 3))})
    monkeypatch.setattr("sys.argv", ["tightness", "--cycles", "50000"])


def test_prints_what_meets_its_bound(small, capsys):
    with pytest.raises(SystemExit, match=r"^False$"):
        tightness.main()
    assert capsys.readouterr().out == ("a row: 2 networks, 4 streams, mean 1.000, 4 meet their "
                                       "bound, least 1.000 (network 0, stream 1)\n")


def test_a_bound_that_is_too_low_is_found(small, capsys, monkeypatch):
    monkeypatch.setattr(Network, "analyses", lambda self: [
        Low(self.mesh, self.streams, delta=self.delta, depth=self.depth)])
    with pytest.raises(SystemExit, match=r"^True$"):
        tightness.main()
    found, *_, table = capsys.readouterr().out.splitlines()
    assert found.startswith("a row, network 0, stream 1: 12 cycles of 11 allowed: ")
    assert " 4 streams, mean 1.0" in table


def test_a_bound_that_is_loose_is_seen(small, capsys, monkeypatch):
    monkeypatch.setattr(Network, "analyses", lambda self: [
        Loose(self.mesh, self.streams, delta=self.delta, depth=self.depth)])
    with pytest.raises(SystemExit, match=r"^False$"):
        tightness.main()
    table = capsys.readouterr().out
    assert " 4 streams, mean 0.8" in table
    assert " 0 meet their bound" in table


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
def test_the_program_is_the_golden_model(kind):
    """`slowest` compares them, for the slowest packet of each stream."""
    _, draw = KINDS[kind]
    for seed in range(100, 101 if "4 x 4" in kind else 106):
        found = slowest(draw(seed), cycles=20_000, seed=seed)
        assert all(most.cycles > 0 for most in found.values())


@pytest.mark.parametrize(("right", "wrong"), [
    ("output.served = who;", ""),                              # turns are not taken
    ("if (comes < 0) comes = place;", "comes = place;"),       # the last one that comes now
    ("+ delta - 1 <= now", "+ delta <= now"),                  # a cycle more in a FIFO
    ("!leaves[inputs[place]] && its < rank", "its < rank"),    # what comes now has a turn
    ], ids=["turns", "coming", "late", "waiting"])
def test_a_program_that_is_another_model_is_an_error(right, wrong, tmp_path):
    source = tightness._PROGRAM.read_text()
    assert source.count(right) == 1
    other = tmp_path / "tightness.cpp"
    other.write_text(source.replace(right, wrong))
    _, draw = KINDS["any streams, packets of one length"]

    def searches():
        for seed in range(8):
            slowest(draw(seed), cycles=20_000, seed=seed, program=other)

    with pytest.raises(RuntimeError, match=r"^the golden model has \d+ cycles for stream \d, the "
                                           r"search had \d+$"):
        searches()


def test_refuses_no_networks(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tightness", "--networks", "0"])
    with pytest.raises(SystemExit, match=r"^2$"):
        tightness.main()
    assert capsys.readouterr().err.endswith(
        "argument --networks: must be a whole number of at least 1, not '0'\n")


def test_the_least_of_a_kind_is_the_searchs():
    """A stream of which the search finds packets of 9 cycles meets its bound of 15."""
    network = KINDS["any streams, packets of one length"][1](8)
    plan = {(0, 0): [Planned(0, "0", 3)] * 13 + [Planned(0, "2", 3)],
            (1, 0): [Planned(0, "3", 3)] * 60}
    assert [last - first + 1 for name, first, last in play(network, plan, cycles=400)
            if name == "2"] == [network.allowed["2"]] == [15]


@pytest.mark.thorough
def test_the_page_has_what_is_printed(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tightness"])
    with pytest.raises(SystemExit, match=r"^False$"):
        tightness.main()
    page = Page("noc.md").text
    for line in capsys.readouterr().out.splitlines():
        assert f"\n    {line}\n" in page
