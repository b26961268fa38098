"""The bound on indexed requests for any part: attacked by annealed requests on random parts.

What the attack has to find is planted: the bound without what full FIFOs of open banks hold up.
"""

import dataclasses
import random

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import index_general
from cyclebound.golden.dram.address import burst_at
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_bounds import indexed_issue_delay, indexed_origin
from cyclebound.golden.dram.index_general import general_issue_delay, latest_activates, row_cycle
from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.timing import (
    DDR3_1600_MODULE,
    DDR4_1866M_X16,
    DDR4_3200AA_X8,
    DDR4_3200AA_X16,
    PARTS,
    Part,
)
from cyclebound.tools.dram.index_search import Order, bursts_in, longest_order

pytestmark = pytest.mark.unit

X16, X8 = DDR4_3200AA_X16, DDR4_3200AA_X8
ONE_GROUP = dataclasses.replace(X16, name="one group", bank_groups=1, nRRD_S=4, nRRD_L=4, nCCD_L=4,
                                nWTR_L=4)
NARROW = dataclasses.replace(X16, name="two groups", nRRD_S=4, nRRD_L=4, nCCD_L=4)


def random_part(rng):
    """Any numbers that `Part` takes: near those of DDR3 and DDR4, or far away."""
    groups = rng.choice((1, 2, 4))
    burst = rng.choice((2, 3, 4, 4, 4, 4))
    short = burst + rng.choice((0, 0, 1))
    activate = rng.randint(2, 12)
    far = int(groups > 1)
    nRCD, nRP = rng.randint(3, 30), rng.randint(3, 30)
    nRAS = nRCD + rng.randint(0, 40)
    return Part(
        name="random", generation="DDR4", tck_ps=625, bank_groups=groups,
        banks=rng.choice([banks for banks in (2, 4, 8, 16) if banks >= groups]), rows=65536,
        columns=1024, nRCD=nRCD, nCAS=22, nCWD=rng.randint(4, 16), nRP=nRP, nBURST=burst,
        nRAS=nRAS, nRC=nRAS + nRP + rng.choice((0, 0, rng.randint(0, 40))),
        nRTP=rng.randint(2, 15), nWR=rng.randint(4, 30), nWTR_S=4, nWTR_L=4 + 4 * far,
        nCCD_S=short, nCCD_L=short + far * rng.randint(0, 5), nRRD_S=activate,
        nRRD_L=activate + far * rng.randint(0, rng.choice((3, 12))),
        nFAW=rng.choice((0, rng.randint(0, 60), rng.randint(0, 120))), nRFC=560, nREFI=12480)


def late(rng, bursts):
    """When each of so many words comes: at once, or after a few gaps or one long one."""
    arrivals, gaps = [0], rng.choice((0, 1, 3, bursts))
    places = rng.choices(range(1, bursts), k=gaps) if bursts > 1 else []
    long = rng.choice((1, 10, 30, 200))
    for number in range(1, bursts):
        arrivals.append(arrivals[-1] + 1 + sum(
            rng.randint(1, long) for place in places if place == number))
    return arrivals


def exceeding(rng, requests, *, steps, part=random_part):
    """Annealed requests that take longer than the bound: part, order, delay, bound."""
    for _ in range(requests):
        found = part(rng)
        bursts = rng.choice((rng.randint(1, 12), rng.randint(9, 24), rng.randint(9, 40)))
        rows, write = rng.randint(1, found.banks), int(rng.random() < 0.25)
        delay, order = longest_order(part=found, bursts=bursts, rows=rows, write=write, rng=rng,
                                     steps=steps)
        bound = indexed_issue_delay(part=found, bursts=bursts, rows=rows, write=write)
        if delay > bound:
            yield found, order, delay, bound


def exceeding_late(rng, requests, *, part=random_part):
    """The same with gaps between words, and buffers of any number of rows."""
    for _ in range(requests):
        found = part(rng)
        bursts, write = rng.randint(1, 24), int(rng.random() < 0.25)
        many = rng.random() < 0.4
        banks = rng.choices(rng.sample(range(found.banks), rng.randint(1, found.banks)), k=bursts)
        places = [burst_at(found, bank=bank, row=many * rng.randrange(3), column=0)
                  for bank in banks]
        rows = found.banks + 1 if many else found.banks
        arrivals = late(rng, bursts)
        delay = schedule(found, places, write=bool(write), indexed=True,
                         arrivals=arrivals).issue_delay
        gaps = arrivals[-1] - (bursts - 1)
        refused = rng.randint(0, gaps)
        bound = indexed_issue_delay(part=found, bursts=bursts, rows=rows, write=write,
                                    refused=refused, starved=gaps - refused)
        if delay > bound:
            yield found, places, arrivals, delay, bound


@pytest.mark.parametrize(("part", "bank", "other", "delay", "before"), [
    (ONE_GROUP, 0, 1, 106, 100), (NARROW, 0, 1, 106, 100)])
def test_words_held_up_by_a_full_fifo(part, bank, other, delay, before):
    """Words for one bank fill its FIFO; the last one opens another bank, which ends last.

    The bound had been ``before``.
    """
    order = Order(0, (bank,) * 11 + (other,))
    assert before < order.delay(part, write=0) <= delay
    assert delay <= indexed_issue_delay(part=part, bursts=12, rows=2, write=0)


def test_annealed_requests_on_random_parts():
    assert not list(exceeding(random.Random(1), 40, steps=40))


@pytest.mark.thorough
def test_many_annealed_requests_on_random_parts():
    assert not list(exceeding(random.Random(2), 20_000, steps=300))


def test_gaps_on_random_parts():
    assert not list(exceeding_late(random.Random(3), 150))


@pytest.mark.thorough
def test_gaps_on_many_random_parts():
    assert not list(exceeding_late(random.Random(4), 300_000))


@pytest.mark.parametrize("part", sorted(PARTS))
def test_gaps_on_the_named_parts(part):
    assert not list(exceeding_late(random.Random(part), 100, part=lambda rng: PARTS[part]))


@pytest.mark.parametrize("attack", [exceeding, exceeding_late])
def test_speed_bins(attack):
    bins, more = list(jedec_parts().values()), {"steps": 30} if attack is exceeding else {}
    assert not list(attack(random.Random(7), 20, part=lambda rng: rng.choice(bins), **more))


def test_the_attack_finds_a_planted_looseness(monkeypatch):
    """Without what full FIFOs of open banks hold up, and then without gaps."""
    request = index_general._Request
    with monkeypatch.context() as planted:
        planted.setattr(request, "_stalls", lambda self, banks, words: [0] * (banks + 1))
        planted.setattr(request, "_stalled", lambda *_: [])
        assert list(exceeding(random.Random(5), 60, steps=40, part=lambda rng: ONE_GROUP))
    monkeypatch.setattr(index_general, "general_issue_delay",
                        lambda part, *kind: general_issue_delay(part, *kind[:3]))
    monkeypatch.setattr("cyclebound.golden.dram.index_bounds.general_issue_delay",
                        index_general.general_issue_delay)
    assert list(exceeding_late(random.Random(6), 40))


@pytest.mark.parametrize(("before", "after", "refused", "delay"), [
    (4, 1, 200, 278), (1, 4, 200, 281), (1, 1, 1, 83), (1, 1, 9, 84)])
def test_refused_indexes(before, after, refused, delay):
    """All between the words of one bank and those of another."""
    order, bursts = Order(0, (0,) * before + (1,) * after), before + after
    arrivals = [*range(before), *(before + refused + number for number in range(after))]
    taken = schedule(X16, bursts_in(X16, order), indexed=True, arrivals=arrivals).issue_delay
    known = {"part": X16, "bursts": bursts, "rows": 2, "write": 0}
    assert taken == delay <= indexed_issue_delay(**known, refused=refused) <= delay + 4
    assert indexed_issue_delay(**known, starved=refused) == indexed_issue_delay(
        **known, refused=refused)


def test_a_row_cycle():
    assert [row_cycle(part, 0) for part in (X16, X8, DDR4_1866M_X16, DDR3_1600_MODULE)] == [
        74, 74, 45, 39]
    assert row_cycle(X16, 1) == 88
    assert row_cycle(dataclasses.replace(X16, nFAW=500), 0) > 473


def test_where_a_value_comes_from():
    known = {"part": X16, "bursts": 9, "rows": 8, "write": 0}
    assert indexed_origin(**known).startswith("searched: golden/dram/indexed_longest.csv")
    assert indexed_issue_delay.source_of(known) == f"this project; {indexed_origin(**known)}"
    assert indexed_origin(**known, refused=1) == "derived: docs/dram-indexed.md"
    assert indexed_origin(**{**known, "part": ONE_GROUP}) == "derived: docs/dram-indexed.md"


@pytest.mark.parametrize(("more", "message"), [
    ({"refused": -1}, r"^refused must be a whole number of at least 0, not -1$"),
    ({"starved": 1.5}, r"^starved must be a whole number of at least 0, not 1.5$"),
    ({"part": dataclasses.replace(X16, name="fast", nBURST=1, nCCD_S=1)},
     r"^fast: nCCD_S and nRRD_S must be at least 2 clocks for indexed_issue_delay, not 1 and 9$"),
])
def test_no_bound(more, message):
    with pytest.raises(NotCovered, match=message):
        indexed_issue_delay(**{"part": X16, "bursts": 2, "rows": 2, "write": 0, **more})


@pytest.mark.parametrize(("part", "rows", "single", "sticky", "times"), [
    (X16, 2, True, 2, (0, 9)),
    (X16, 4, True, 2, (0, 11, 20, 27)),   # two of a group at the end, or by turns
    (X16, 8, True, 2, (0, 11, 23, 34)),   # the third meets the first bank's read at 22
    (X16, 8, False, 9, (0, 11, 23, 35)),  # and the fourth, if a bank has two words
    (X8, 4, True, 9, (0, 4, 8, 12, 35)),  # nFAW, and the fourth bank's read
    (X8, 16, True, 9, (0, 8, 16, 24, 35)),
    (DDR3_1600_MODULE, 8, True, 2, (0, 5, 10, 15, 24)),
])
def test_latest_activates(part, rows, single, sticky, times):
    assert latest_activates(part, count=len(times), rows=rows, single=single,
                            sticky=sticky) == times
