"""The exact search for the longest indexed requests, and the table of what it found."""

import itertools
import random

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import index_table
from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.index_general import general_issue_delay
from cyclebound.golden.dram.index_table import IndexedDelay, known_delays, longest_known
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import (
    DDR3_1600_MODULE,
    DDR4_1866M_X16,
    DDR4_3200AA_X8,
    DDR4_3200AA_X16,
    PARTS,
)
from cyclebound.tools.dram.index_exact import longest_request
from cyclebound.tools.dram.index_latest import (
    Openings,
    check_search,
    latest_openings,
    latest_unforced,
)
from cyclebound.tools.dram.index_search import Order, bursts_in
from cyclebound.tools.dram.index_witnesses import witnesses
from cyclebound.tools.dram.index_worlds import Worlds

pytestmark = pytest.mark.unit

X16, X8 = DDR4_3200AA_X16, DDR4_3200AA_X8


@pytest.mark.parametrize("write", [0, 1])
@pytest.mark.parametrize(("part", "bursts", "rows"), [
    (X16, 1, 8), (X16, 3, 8), (X16, 5, 3), (X16, 3, 5), (X8, 3, 6), (X8, 3, 16), (X8, 2, 13),
    (DDR4_1866M_X16, 3, 8)])
def test_as_long_as_the_longest_of_all(part, bursts, rows, write):
    firsts = range(part.banks if rows < part.banks else 1)
    longest = max(Order(first, banks).delay(part, write=write) for first in firsts
                  for banks in itertools.product(
                      [(first + row) % part.banks for row in range(rows)], repeat=bursts))
    found = longest_request(part, bursts=bursts, rows=rows, write=write)
    assert found.delay == found.order.delay(part, write=write) == longest
    assert found.settled is None
    assert len({(bank - found.order.first) % part.banks < rows for bank in found.order.banks}) == 1
    again = longest_request(part, bursts=bursts, rows=rows, write=write, least=longest + 1)
    assert again[:2] == (None, None)
    assert again.followed < found.followed


@pytest.mark.parametrize(("write", "delay"), [(0, 150), (1, 171)])
def test_nine_words(write, delay):
    """What the derivation has for 153 and 172, and no search ever made longer."""
    found = longest_request(X16, bursts=9, rows=8, write=write, least=delay)
    assert found.delay == delay == found.order.delay(X16, write=write)
    assert longest_request(X16, bursts=9, rows=8, write=write, least=delay + 1).delay is None


def test_nothing_at_random_is_longer():
    rng = random.Random(1)
    for request in rng.sample([request for request in known_delays() if request.rows > 5], 12):
        part = PARTS[request.part]
        for _ in range(40):
            first = rng.randrange(part.banks)
            places = [(first + row) % part.banks for row in range(request.rows)]
            banks = (rng.sample(places, request.rows) + [rng.choice(places)] * request.bursts)
            order = Order(first, tuple(banks[:request.bursts]))
            assert order.delay(part, write=request.write) <= request.delay


def test_table():
    """All of it is reached by a witness, and is the bound, where the derivation is not less."""
    reached = {}
    for witness in witnesses():
        kind = witness.part, witness.write, witness.bursts
        for rows in range(witness.rows, PARTS[witness.part].banks + 1):
            reached[*kind, rows] = max(witness.delay, reached.get((*kind, rows), 0))
    for request in known_delays():
        part = PARTS[request.part]
        kind = {"bursts": request.bursts, "rows": request.rows, "write": request.write}
        assert reached[request.part, request.write, request.bursts, request.rows] == request.delay
        assert longest_known(part, **kind) == request.delay
        assert indexed_issue_delay(part=part, **kind) == request.delay
        assert general_issue_delay(part, request.bursts, request.rows,
                                   request.write) >= request.delay


def test_what_is_written_takes_as_much_longer_as_it_recovers():
    """Activates and column commands come in the same cycles as those of the read."""
    rng = random.Random(1)
    for part in (X16, X8, DDR4_1866M_X16, DDR3_1600_MODULE):
        for _ in range(30):
            places = rng.sample(range(part.banks), rng.randint(1, part.banks))
            order = Order(0, tuple(rng.choices(places, k=rng.randint(1, 50))))
            read, write = (schedule(part, bursts_in(part, order), write=writes, indexed=True)
                           for writes in (False, True))
            times = [[(command.cycle, command.bank)
                      for command in way.commands if command.op != Command.PRE]
                     for way in (read, write)]
            assert times[0] == times[1]
            assert write.issue_delay <= read.issue_delay + recovery(part, 1) - recovery(part, 0)


def test_with_more_words(monkeypatch):
    assert longest_known(X16, bursts=1 << 20, rows=9, write=1) is None
    assert longest_known(DDR4_1866M_X16, bursts=9, rows=8, write=1) is None
    assert longest_known(X16, bursts=9, rows=1, write=1) <= 171
    settled = (IndexedDelay("ddr4-3200aa-x16", 1, 8, 64, 596, 21),
               IndexedDelay("ddr4-3200aa-x16", 1, 7, 9, 165, 0))
    monkeypatch.setattr(index_table, "known_delays", lambda: settled)
    assert [longest_known(X16, bursts=bursts, rows=7, write=1)
            for bursts in (9, 10, 20, 21, 22, 64, 1024)] == [165, None, None, 252, 260, 596, 8276]


def test_activates():
    fresh = Openings((48, 48, 48, 48), 22, ((0, 0, 4), (0, 0, 4)))
    assert latest_unforced(X16, fresh) == (0, 11, 23, 35, 49, 61, 73, 85)
    assert latest_openings(X16, fresh)[:4] == (0, 11, 23, 35)
    assert latest_unforced(X16, fresh, 5)[:2] == (5, 16)
    waiting = Openings((0, 48, 48, 48), 22, ((11, 3, 0), (0, 4, 0)))
    assert latest_openings(X16, waiting)[0] == 9 < latest_unforced(X16, waiting)[0] == 11


@pytest.mark.parametrize(("part", "rows"), [(X16, 8), (X16, 5), (X8, 6), (X8, 11)])
def test_names(part, rows):
    """Roles get new names in a world, and it is found again; its banks go with them."""
    worlds, names = Worlds(part, rows), ((1, 0), *((),) * (part.bank_groups - 1))
    near = worlds.nearer((0, 0), (0, 1), None) & worlds.exists((0, 0)) & worlds.exists((0, 1))
    renamed = worlds.renamed(near, names)
    assert renamed == worlds.nearer((0, 1), (0, 0), None) & worlds.exists((0, 0)) & worlds.exists(
        (0, 1))
    world = worlds.one_of(renamed)
    before = worlds.before(world, names)
    assert near >> before & 1
    assert worlds.bank(world, (0, 0)) == worlds.bank(before, (0, 1))
    assert worlds.first(world) == worlds.first(before)
    assert worlds.renamed(worlds.all, names) == worlds.all
    first = worlds.first(world)
    asked = [(first + row) % part.banks for row in range(rows)][::-1]
    number, roles = worlds.asked(first, asked), [0] * part.bank_groups
    assert worlds.first(number) == first
    for bank in asked:
        group = part.bank_group(bank)
        assert worlds.bank(number, (group, roles[group])) == bank
        roles[group] += 1
    assert worlds.in_front((0, 0), (0, 0)) & worlds.exists((0, 0)) == worlds.exists((0, 0))


def test_not_for_every_part():
    for part, write in itertools.product((X16, X8, DDR4_1866M_X16), (0, 1)):
        check_search(part, write)
    with pytest.raises(NotCovered, match=r"^DDR3-1600 module \(8 banks\): nine words of a bank "
                                         r"must take longer than activates that they hold up$"):
        longest_request(DDR3_1600_MODULE, bursts=2, rows=2, write=0)
    with pytest.raises(NotCovered, match=r"^bursts must be a whole number of at least 1, not 0$"):
        longest_request(X16, bursts=0, rows=2, write=0)
    with pytest.raises(ValueError, match=r"^rows must be from 1 to 8, not 9$"):
        longest_request(X16, bursts=2, rows=9, write=0)
