"""Eq. 1 to 7 and the end-to-end bound: every printed number, and where the print fails."""

from fractions import Fraction

import pytest

from cyclebound.golden.noc import visible_timing as timing
from cyclebound.golden.noc.composition import Path, Transaction, row_conflict, row_hit
from cyclebound.golden.noc.composition_corrected import (
    arrivals,
    end_to_end,
    packets_in_window,
    wait_for_packet,
)
from cyclebound.golden.noc.units import NS, Clock

pytestmark = pytest.mark.unit
PAPER = Path()
TABLE_I = {  # ns, cycles, beats, as printed
    "CK": ("1.25", 1, 2), "BURST": ("5", 4, 8), "CAS": ("13.75", 11, 22), "RP": ("13.75", 11, 22),
    "RCD": ("13.75", 11, 22), "WR": ("21.25", 17, 34), "WTR": ("7.5", 6, 12),
    "RAS": ("35", 28, 56), "RC": ("48.75", 39, 78), "FAW": ("30", 24, 48), "RRD": ("6.25", 5, 10),
    "CWD": ("10", 8, 16), "RFC": ("260", 208, 416), "REFI": ("3906", 3125, 6250)}
TABLE_IV = {1: (512, 3), 3: (1536, 4), 5: (2560, 6), 7: (3584, 8), 9: (4608, 16), 11: (5632, 16)}


# Units

def test_durations_of_two_clocks_do_not_add_up():
    noc, ddr = Clock.at("NoC cycles", 600), timing.DDR
    for operation in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a < b,
                      lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b):
        with pytest.raises(TypeError, match=r"^90 NoC cycles and 4 DDR cycles must be converted "
                                            r"to one clock first$"):
            operation(noc(90), ddr(4))
        operation(noc(90), ddr(4).to(noc))
    with pytest.raises(TypeError, match=r"^3 must be a Duration in ns$"):
        NS(1) + 3


def test_conversion_is_exact_and_whole_rounds_up():
    noc = Clock.at("NoC cycles", 600)
    assert timing.DDR(1).to(noc) == noc(Fraction(3, 4))  # 1.25 ns
    assert timing.DDR(1).to(noc).to(timing.DDR) == timing.DDR(1)
    assert timing.DDR(5).whole(noc) == noc(4)
    assert noc(Fraction(5, 2)).whole() == noc(3)
    assert 2 * noc(3) == noc(3) * 2 == noc(6)
    assert str(timing.DDR(1).to(noc)) == "0.75 NoC cycles"


def test_clocks_refuse_no_time():
    with pytest.raises(ValueError, match=r"^frequency of x must be above 0 MHz, not 0$"):
        Clock.at("x", 0)
    with pytest.raises(ValueError, match=r"^period of x must be above 0 ns, not -1$"):
        Clock("x", Fraction(-1))


# DDR3

@pytest.mark.parametrize("name", TABLE_I)
def test_table_i(name):
    ns, cycles, beats = TABLE_I[name]
    assert timing.table_i(name) == (Fraction(ns), cycles, beats)


def test_table_i_has_all_of_it():
    assert set(timing.TABLE_I_NS) == set(TABLE_I)
    assert timing.timing("RC") == timing.timing("RAS") + timing.timing("RP")
    with pytest.raises(ValueError, match=r"^parameter must be one of CK, .*, REFI, not 'RAC'$"):
        timing.timing("RAC")


def test_example_3():
    assert timing.sequence("ACT", "RD", "RD", "RD", gap=3) == timing.DDR(37)


@pytest.mark.parametrize(("pair", "elapsed", "cycles"), [
    (("RD", "RD"), 0, 4), (("RD", "WR"), 0, 12), (("RD", "PRE"), 15, 24), (("WR", "RD"), 0, 21),
    (("WR", "WR"), 0, 4), (("WR", "PRE"), 12, 28), (("WR", "PRE"), 1, 38), (("ACT", "RD"), 0, 15),
    (("ACT", "WR"), 0, 12), (("ACT", "PRE"), 0, 39), (("PRE", "ACT"), 0, 11)])
def test_table_ii(pair, elapsed, cycles):
    assert timing.visible(*pair, elapsed=elapsed) == timing.DDR(cycles)


def test_table_ii_leaves_pairs_out():
    with pytest.raises(ValueError, match=r"^RD after PRE must be a pair of Table II$"):
        timing.sequence("ACT", "PRE", "RD")


def test_worst_request():
    assert row_conflict() == timing.DDR(54)
    assert row_conflict().to(NS) == NS(Fraction("67.5"))
    assert row_hit().to(NS) == NS(Fraction("18.75"))
    saved = 1 - row_hit().amount / row_conflict().amount
    assert round(float(saved), 4) == 0.7222  # "72 %"


def test_eq2_is_short_where_a_maximum_was_rounded_up():
    assert timing.eq2(cycles=2917) == 3125
    assert timing.eq2(cycles=2918) == 3334
    assert timing.refreshed(cycles=2915) == 2915 + 208
    assert timing.refreshed(cycles=2917) == 2917 + 2 * 208


@pytest.mark.parametrize("cycles", [1, 2915, 2916, 2917, 5832, 5833, 20000])
def test_refreshes_counted_one_by_one(cycles):
    """A refresh every 3,124 cycles, the first of them in cycle 0; work in all others."""
    now, left = 0, cycles
    while left:
        left -= now % 3124 >= 208
        now += 1
    assert now <= timing.refreshed(cycles=cycles) <= now + (208 if cycles % 2916 == 0 else 0)
    assert timing.eq2(cycles=2917) < 2917 + 2 * 208


# The network

def test_one_packet():
    assert PAPER.first_flit.amount == 24
    assert PAPER.packet_crossing == PAPER.crossing(66) == PAPER.noc(90)
    assert PAPER.packets_by_network == 7
    assert Transaction(PAPER).packets == 16


@pytest.mark.parametrize("requesters", TABLE_IV)
def test_table_iv(requesters):
    transaction = Transaction(PAPER, requesters=requesters)
    assert (transaction.t1.amount, transaction.windows) == TABLE_IV[requesters]


def test_table_iv_between_its_columns():
    found = [Transaction(PAPER, requesters=n) for n in range(1, 12)]
    assert [composed.packets_per_window for composed in found] == [7, 7, 5, 4, 3, 2, 2, 2, 1, 1, 1]
    assert [composed.windows for composed in found] == [3, 3, 4, 4, 6, 8, 8, 8, 16, 16, 16]


def test_table_iv_does_not_see_the_header_or_the_routers_alone():
    for other in (Path(router_cycles=0, routers=1), Path(header_flits=0)):
        assert [Transaction(other, requesters=n).windows for n in TABLE_IV] == [
            windows for _, windows in TABLE_IV.values()]


def test_memory_and_network_may_have_clocks_of_their_own():
    half = Transaction(Path(memory_mhz=300), requesters=2)
    assert half.t1.amount == 1024
    assert half.t1.to(half.path.noc).amount == 2048
    assert half.packets_by_memory == Transaction(PAPER, requesters=4).packets_by_memory


# Eq. 3, 4, 7 and the whole

@pytest.mark.parametrize(("competitors", "printed", "meant"), [(1, "769.5", "1174.5"),
                                                                (8, "1903.5", "5143.5")])
def test_eq7_divides_where_it_must_multiply(competitors, printed, meant):
    transaction = Transaction(PAPER, competitors=competitors)
    noc = PAPER.noc
    assert transaction.eq7.to(noc) == noc(Fraction(printed))
    assert transaction.eq7_times.to(noc) == noc(Fraction(meant))
    assert transaction.rounds(14) == 14 * competitors


def test_the_two_readings_of_eq7_land_in_different_cases():
    transaction = Transaction(PAPER)
    assert transaction.case(transaction.eq7) == 1
    assert transaction.case(transaction.eq7_times) == 2


def test_the_greater_bound_is_not_that_of_the_case():
    """Three requesters, one competitor: case 1 by Eq. 7's value, but b2 is greater."""
    transaction = Transaction(PAPER, requesters=3)
    ddr = transaction.eq7_times
    assert ddr.to(PAPER.noc).amount == Fraction("1012.5")
    assert transaction.case(ddr) == 1
    assert transaction.b1(ddr).amount == Fraction("6222.5")
    assert transaction.b2(ddr).amount == 6284
    assert transaction.total(ddr) == transaction.b2(ddr)


def test_the_printed_wait_is_not_the_longest():
    """One packet of full size, ready one cycle too late for its window."""
    transaction = Transaction(PAPER, nbytes=256)
    longest = max(arrivals(transaction, ready)[0] for ready in range(1024))
    assert transaction.wait.amount == 512
    assert longest - 90 == 601 == wait_for_packet(transaction).amount
    assert arrivals(transaction, 512 - 90 + 1) == [601 + 90]
    assert arrivals(transaction, 512 - 90) == [90]


def test_packets_arrive_in_windows():
    arrived = arrivals(Transaction(PAPER), 0)
    assert arrived[:8] == [90 + 66 * n for n in range(7)] + [1024 + 90]
    assert arrived[-1] == 2048 + 90 + 66
    assert all(when % 1024 <= 512 for when in arrived)


@pytest.mark.parametrize("requesters", range(1, 12))
def test_packets_in_a_window(requesters):
    """What a DMA reaches that reads one packet ahead, or none, against the printed count."""
    transaction = Transaction(PAPER, requesters=requesters)
    ahead = packets_in_window(transaction)
    assert ahead == sum(when <= 512 for when in arrivals(transaction, 0))
    printed = transaction.packets_per_window
    assert ahead >= printed
    assert (ahead > printed) == (requesters in (6, 9, 10, 11))
    without = packets_in_window(transaction, prefetch=False)
    assert (without < printed) == (requesters not in (6, 9, 10, 11))


@pytest.mark.parametrize("requesters", [1, 3, 11])
@pytest.mark.parametrize("competitors", [1, 8])
def test_our_bound_is_the_worst_of_a_server_of_that_speed(requesters, competitors):
    """Packets arrive as late as can be; a server of N_trans t_req a request, 2n - 1 at the end."""
    transaction = Transaction(PAPER, requesters=requesters, competitors=competitors)
    noc = PAPER.noc
    request = row_conflict().to(noc).amount
    worst = 0
    for ready in range(1024):
        free = 0
        for arrival in arrivals(transaction, ready):
            free = max(free, arrival) + 2 * competitors * request
        worst = max(worst, free + 15 * request)
    found = end_to_end(transaction, row_conflict(), refreshes=False)
    assert found.total.amount == worst + transaction.t1.amount + 1 + 32 * requesters
    assert found.fill.amount == 512 * requesters + 1


def test_our_bound_with_refreshes_by_hand():
    """Eq. 2, corrected, of DDR3's busy period from the first packet on: (32 x 8 + 15) x 54 cycles
    meet 6 refreshes of 208; those of the last packet alone, (2 + 15) x 54, meet one."""
    for competitors, requests, refreshes in ((8, 32, 6), (1, 2, 1)):
        transaction = Transaction(PAPER, competitors=competitors)
        plain, found = (end_to_end(transaction, row_conflict(), refreshes=counted)
                        for counted in (False, True))
        cycles = (requests * competitors + 15) * 54
        assert cycles // 2916 + 1 == refreshes
        assert (found.total - plain.total).amount * Fraction(4, 3) >= refreshes * 208
        if competitors == 8:
            assert (found.total - plain.total).amount * Fraction(4, 3) == refreshes * 208
            assert found.memory.amount * Fraction(4, 3) == cycles + refreshes * 208


def test_the_printed_bound_fails_and_the_other_reading_is_loose():
    one = Transaction(PAPER)
    ours = end_to_end(one, row_conflict(), refreshes=False).total
    assert one.total(one.eq7) < ours < one.total(one.eq7_times)
    packet = Transaction(PAPER, nbytes=256)  # printed with N_pk^L = 7 packets of DDR3 time
    assert end_to_end(packet, row_conflict()).total < packet.total(packet.eq7_times)


@pytest.mark.parametrize(("wrong", "kind", "message"), [
    ({"window": 1025}, ValueError,
     r"^window must be at most the period of 1024 cycles, not 1025$"),
    ({"window": 89}, ValueError,
     r"^window must be at least the crossing of one packet, 90 NoC cycles, not 89$"),
    ({"noc_mhz": 0}, ValueError, r"^noc mhz must be at least 1, not 0$"),
    ({"routers": 4.0}, TypeError, r"^routers must be an integer, not 4\.0$"),
    ({"queue": True}, TypeError, r"^queue must be an integer, not True$"),
    ({"header_flits": -1}, ValueError, r"^header flits must be at least 0, not -1$")])
def test_path_refuses(wrong, kind, message):
    with pytest.raises(kind, match=message):
        Path(**wrong)


def test_transaction_refuses():
    with pytest.raises(ValueError, match=r"^nbytes must be at least 1, not 0$"):
        Transaction(PAPER, nbytes=0)
    with pytest.raises(TypeError, match=r"^requesters must be an integer, not '3'$"):
        Transaction(PAPER, requesters="3")
    with pytest.raises(ValueError, match=r"^packets in a window must be at least 1, not 0: by "
                                         r"Eq\. 6, 17 requesters leave too few words for one$"):
        _ = Transaction(PAPER, requesters=17).windows
