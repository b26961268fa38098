"""No request takes longer than the exact search takes any of its states to: `Latest`.

A request is followed through the search's own steps, in the one world that gives its roles their
banks. It ends when the golden model of the arbiter says, and no state on its way may promise less.
"""

import random

import pytest

from cyclebound.golden.dram.timing import (
    DDR3_1600_MODULE,
    DDR4_1866M_X16,
    DDR4_3200AA_X8,
    DDR4_3200AA_X16,
)
from cyclebound.tools.dram import index_latest
from cyclebound.tools.dram.index_exact import Outline
from cyclebound.tools.dram.index_latest import Latest, least_saved
from cyclebound.tools.dram.index_search import Order
from cyclebound.tools.dram.index_steps import Steps
from cyclebound.tools.dram.index_worlds import AnyWorld, Worlds

pytestmark = pytest.mark.unit

X16, X8 = DDR4_3200AA_X16, DDR4_3200AA_X8


def followed(part, worlds, order, write, rows, promised=None):
    """Issue delay of a request, and the least that any state on its way promised."""
    promised = promised or Latest(part, len(order.banks), rows, write).delay
    steps = Steps(part, worlds, len(order.banks), write)
    world = 1 << worlds.asked(order.first, order.banks)
    state, cycle, found = steps.start(), 0, []
    while not state.done:
        arrives = None
        if state.left:
            bank = order.banks[len(order.banks) - state.left]
            arrives = next(role for role in steps.arrivals(state)
                           if worlds.bank(world.bit_length() - 1, role) == bank)
        step, = steps.follow(state, world, arrives)
        state, cycle = step.state, cycle + step.cycles
        world = worlds.renamed(step.worlds, step.names)
        if not state.done:
            found.append(promised(state, cycle))
    return cycle + steps.delay(state), min(found)


def any_order(rng, part, rows):
    """Words anywhere, or several in a row, or each bank once and then one for long."""
    first = rng.randrange(part.banks) if rows < part.banks else 0
    places = [(first + row) % part.banks for row in range(rows)]
    if rng.random() < 0.5:
        places = rng.sample(places, rng.randint(1, len(places)))
    words = rng.choice((rng.randint(1, 12), rng.randint(1, 70)))
    kind = rng.randrange(3)
    if kind == 0:
        banks = rng.choices(places, k=words)
    elif kind == 1:
        banks = [bank for _ in range(words)
                 for bank in [rng.choice(places)] * rng.randint(1, 14)]
    else:
        banks = [*rng.sample(places, len(places)), *rng.choices(places, k=rng.randint(0, 6)),
                 *[rng.choice(places)] * words]
    return Order(first, tuple(banks[:words]))


def broken(part, rows, requests, seed=1):
    """Of so many requests, those for which some state promises less than they take."""
    rng, worlds, found = random.Random(seed), Worlds(part, rows), []
    for _ in range(requests):
        order = any_order(rng, part, rows)
        for write in (0, 1):
            delay, promised = followed(part, worlds, order, write, rows)
            assert delay == order.delay(part, write=write), (order, write)
            if promised < delay:
                found.append((order, write, promised, delay))
    return found


@pytest.mark.parametrize(("part", "rows", "requests"), [
    (X16, 8, 100), (X16, 5, 60), (X8, 8, 100), (X8, 6, 60), (DDR4_1866M_X16, 8, 60)])
def test_no_state_promises_less(part, rows, requests):
    assert broken(part, rows, requests) == []


@pytest.mark.parametrize(("part", "rows"), [(X16, 8), (X8, 8)])
def test_a_gap_too_many_is_found(part, rows, monkeypatch):
    """Saved: one short gap more than there is."""
    more = part.nCCD_L - part.nCCD_S
    monkeypatch.setattr(index_latest, "least_saved",
                        lambda *known: (least_saved(*known) or -more) + more)
    assert broken(part, rows, 100)


@pytest.mark.parametrize(("part", "words", "rows", "least"), [
    (X8, 4, 16, 78), (X8, 5, 12, 80), (X16, 5, 6, 84)])
@pytest.mark.parametrize("write", [0, 1])
def test_no_request_is_missing_in_the_outline(part, words, rows, least, write):
    """Each is on the way to its delay in every state, if it takes as long as was asked for."""
    worlds, rng, long, least = Worlds(part, rows), random.Random(1), 0, least + 14 * write
    outline = Outline(Latest(part, words, rows, write), write, least)
    assert outline.followed > 400
    for _ in range(300):
        first = rng.randrange(part.banks) if rows < part.banks else 0
        banks = tuple((first + rng.randrange(rows)) % part.banks for _ in range(words))
        delay, promised = followed(part, worlds, Order(first, banks), write, rows,
                                   outline.promised)
        assert promised >= delay or delay < least
        long += delay >= least
    assert long > 10


def test_a_request_that_is_missing_is_found(monkeypatch):
    """Where none of several banks with as many words may open first."""
    monkeypatch.setattr(AnyWorld, "fullest", lambda self, role, others, current: int(
        all(more < 0 for _, more in others)))
    outline = Outline(Latest(X8, 2, 16, 0), 0, 0)
    order = Order(0, (0, 1))
    assert followed(X8, Worlds(X8, 16), order, 0, 16, outline.promised) == (78, 78)
    outline = Outline(Latest(X8, 4, 16, 0), 0, 0)
    delay, promised = followed(X8, Worlds(X8, 16), Order(0, (0, 4, 1, 2)), 0, 16,
                               outline.promised)
    assert promised < delay


@pytest.mark.parametrize(("write", "first", "banks", "delay"), [
    (1, 5, (0, 6, 0), 104), (1, 0, (6, 2, 0, 5, 2, 3, 3, 2, 3, 4, 4), 152)])
def test_an_open_bank_waits_for_its_group(write, first, banks, delay):
    """The last word's bank opens while its group may not be written yet; that is no longer pause.

    The search once took it for one, and promised 99 and 148 clocks.
    """
    rows = 5 if first else 8
    found = followed(X16, Worlds(X16, rows), Order(first, banks), write, rows)
    assert found == (delay, delay)


def test_two_banks_that_close_at_once():
    """A clock more, unless one of them is the last word's, which closes by itself."""
    for banks, delay in (((6, 6, 2, 7, 7, 7, 6, 2, 7), 92), ((2, 1, 6, 1, 2, 6), None)):
        order = Order(0, banks)
        for part in (X16, DDR4_1866M_X16):
            found, _ = followed(part, Worlds(part, 8), order, 0, 8)
            assert found == order.delay(part, write=0)
            if part == X16 and delay:
                assert found == delay


def test_saved():
    """Of 8 clocks each, by words of two groups that wait: 4 for each gap."""
    def words(*amounts, time=0):
        return tuple((time, group, amount) for group, amount in enumerate(amounts))

    assert least_saved(X16, 0, words(9)) == 0
    assert least_saved(X16, 0, words(1, 1)) == 4     # one gap
    assert least_saved(X16, 0, words(3, 2)) == 12    # by turns: the two lie between the three
    assert least_saved(X16, 0, words(2, 9)) == 12
    assert least_saved(X8, 0, words(2, 9)) == 8      # of four groups, not by turns
    assert least_saved(X8, 0, words(2, 2, 2)) == 16
    assert least_saved(DDR3_1600_MODULE, 0, words(9)) == 0  # a group, a gap
    assert least_saved(DDR4_1866M_X16, 0, words(3, 2)) == 3  # 5 clocks and 4


def served(rng, part, first, words):
    """Time of the last column command, of words (time, group); None if there is a longer pause."""
    time, last, left = first, {}, list(words)
    while True:
        ready = [word for word in left if word[0] <= time
                 and time - last.get(word[1], -part.nCCD_L) >= part.nCCD_L]
        if ready:
            left.remove(word := rng.choice(ready))
            last[word[1]] = since = time
            if not left:
                return time
            time += part.nCCD_S - 1
        elif last and time - since >= part.nCCD_L:
            return None
        time += 1


@pytest.mark.parametrize("part", [X16, X8, DDR4_1866M_X16])
def test_no_more_is_saved_than_there_is(part):
    """Whichever word goes first, and whatever else comes; and it is not always less."""
    rng, tried, exact = random.Random(1), 0, 0
    groups = range(part.bank_groups)
    while tried < 3000:
        first = rng.randint(0, 8)
        known = sorted((rng.choice((0, 0, rng.randint(0, 40))), rng.choice(groups),
                        rng.randint(1, 9)) for _ in range(rng.randint(2, 4)))
        words = [(time, group) for time, group, amount in known for _ in range(amount)]
        words += [(rng.randint(0, 60), rng.choice(groups)) for _ in range(rng.choice((0, 0, 6)))]
        words += [(0, 0)] * rng.choice((0, 0, 4))
        last = served(rng, part, first, words) if any(time <= first for time, _ in words) else None
        if last is not None:
            latest = first + part.nCCD_L * (len(words) - 1) - least_saved(part, first, tuple(known))
            assert last <= latest, (first, known, words)
            tried, exact = tried + 1, exact + (last == latest and len({g for _, g in words}) > 1)
    assert exact > 10


def test_saved_by_words_that_come_later():
    """Words that open late may find few of the others left."""
    found = [least_saved(X16, 0, ((0, 0, 9), (time, 1, 3))) for time in (0, 4, 5, 13, 21, 100)]
    assert found == [20, 20, 12, 4, 0, 0]
