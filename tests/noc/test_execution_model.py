"""Execution models: bounds while a table holds, what is refused, and a checker that fires."""

import itertools
import random
from dataclasses import replace

import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end import PACKET_FLITS, total
from cyclebound.golden.noc.execution_model import (
    Application,
    Hardware,
    Meeting,
    System,
    Transaction,
    bound_of,
    least_bound,
    table_of,
)
from cyclebound.golden.noc.execution_model_bounds import (
    conflict_free,
    latest,
    scheduled_read,
    scheduled_write,
)
from cyclebound.golden.noc.execution_model_check import faults, requesters
from cyclebound.golden.noc.routes import Mesh
from cyclebound.tools.noc.allocate import Choice, NoTable, at_random, greedy, optimum, settle
from cyclebound.tools.noc.drawn_systems import drawn
from cyclebound.tools.noc.system_file import (
    SYSTEM_EXAMPLE,
    allocation_text,
    parse_allocation,
    parse_system,
    system_text,
)

pytestmark = pytest.mark.unit
PATH = {"nbytes": 4096, "delta": 5, "window": 512, "period": 1024, "quarters": 3, "cap": 9,
        "part": "ddr3-1600-module"}
HERE = {"routers": 4, "crossing": 24}


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", range(1, 12))
def test_alone_it_is_the_write_without_a_table(many):
    alone = scheduled_write(requesters=many, masters=1, met=0, mixed=0, **PATH, **HERE)
    assert 0 <= alone - total(requesters=many, competitors=1, **PATH) <= 3


@pytest.mark.parametrize("masters", range(2, 9))
def test_a_table_gains(masters):
    """The same masters, each in a bank of its own: what rows cost is gone."""
    same = scheduled_write(requesters=1, masters=masters, met=masters - 1, mixed=0, **PATH, **HERE)
    mixed = scheduled_write(requesters=1, masters=masters, met=masters - 1, mixed=1, **PATH, **HERE)
    assert same < mixed < total(requesters=1, competitors=masters, **PATH)


def test_bounds_grow_with_all_that_others_do():
    base = {"requesters": 1, "masters": 2, "met": 0, "mixed": 0}
    for claim in (scheduled_write, scheduled_read):
        least = claim(**base, **PATH, **HERE)
        for name, more in (("requesters", 2), ("masters", 3), ("met", 1), ("mixed", 1)):
            assert claim(**{**base, name: more}, **PATH, **HERE) > least


def test_decisions_on_open_rows():
    """By hand, from the parts: K = 2, one request, nothing opened, the refresh that always may be.

    2 grants, 16 issues of residence, and two departures at nCCD = 4; the refresh: 51 + 208 for the
    first request after it, 13 for the other bank's.
    """
    part = part_named("ddr3-1600-module")
    assert conflict_free(requests=1, masters=2, met=0, mixed=0, own=False, cap=9, part=part) == (
        20 * 4 + (51 - 4) + 208 + (13 - 4))
    # each other row that is opened takes 47 more
    assert conflict_free(requests=1, masters=2, met=3, mixed=0, own=True, cap=9, part=part) == (
        80 + 47 + 208 + 9 + 4 * 47)
    # 18 from a write to a read, 9 back
    assert conflict_free(requests=1, masters=2, met=0, mixed=1, own=False, cap=9, part=part) == (
        10 * (18 + 9) + 47 + 208 + 18 - 4)


def test_latest_is_the_worst_place():
    assert latest(1, 1, 66, 66, 1024) == (1023,)  # a cycle too late
    assert latest(3, 1, 66, 1024, 1024) == (0, 66, 132)  # no window


# -- what is refused -------------------------------------------------------------------------------

TWO = """
[hardware]
{hardware}

[[application]]
name = "a"
tile = {tile}

[[application.transaction]]
name = "x"
bytes = {nbytes}
direction = "write"
period = {period}
{more}

[[application.transaction]]
name = "y"
bytes = 512
direction = "write"
period = 16384
{other}
"""
GOOD = {"hardware": "slot = 512", "tile": "[0, 0]", "nbytes": 1024, "period": 16384, "more": "",
        "other": ""}
def refused(message, **changes):
    return changes, message


REFUSED = {
    "a_row_s_end": refused(
        r"a\.x must end within its row of 16384 bytes, not 128 bytes after its end",
        more="column = 121"),
    "a_bank_s_end": refused(
        r"a\.x must end within its bank of 16384 bytes of local memory, not 256 bytes after its "
        r"end",
        more="local_bank = 0\naddress = 15616"),
    "no_word": refused(
        r"address of a\.x must be a multiple of 8, a word of local memory, not 12",
        more="local_bank = 0\naddress = 12"),
    "rows": refused(r"row of a\.x must be from 0 to 65535, not 65536", more="row = 65536"),
    "no_memory": refused(
        r"application a must be on a tile with local memory; \[0, 2\] is the I/O tile",
        tile="[0, 2]"),
    "no_tile": refused(
        r"application a must be on a tile with local memory; \[4, 2\] is not in the mesh of 2 x 3",
        tile="[4, 2]"),
    "overlap": refused(
        r"buffers of a\.x and a\.y must not overlap in bank 0 of tile \[0, 0\]",
        more="local_bank = 0\naddress = 0", other="local_bank = 0\naddress = 768"),
    "written_twice": refused(r"a\.x and a\.y must not write the same bursts of row 3",
                             more="row = 3", other="row = 3\ncolumn = 7"),
    "deadline": refused(
        r"deadline of a\.x must be at least 831, its bound with everything for itself, not 700",
        more="deadline = 700"),
    "late": refused(r"deadline of a\.x must be at most its period of 16384, not 20000",
                    more="deadline = 20000"),
    "coprime": refused(
        r"periods of a\.x and a\.y must have a common divisor, not be coprime as 16385 and 16384 "
        r"are", period=16385),
    "harmonic": refused(
        r"periods of a\.x and a\.y must be harmonic, one a multiple of the other, not 24576 and "
        r"16384", period=24576),
    "slot": refused(r"period of a\.x must be a multiple of 500, a slot, not 16384",
                    hardware="slot = 500"),
    "packets": refused(r"bytes of a\.x must be a multiple of 256, a packet, not 1000", nbytes=1000),
    "too_long": refused(r"a\.x must fit a bank of local memory, 16384 bytes, not have 32768",
                        nbytes=32768),
    "unknown": refused(
        r"line \d+: application\.1\.transaction\.1\.priority must be one of name, .*",
        more="priority = 1"),
    "directions": refused(
        r"line \d+: hardware\.directions must be one of preferred, required, not 'both'",
        hardware='directions = "both"'),
    "masters": refused(r"line \d+: masters must be from 1 to 8, not 9", hardware="masters = 9"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_named(name):
    changes, message = REFUSED[name]
    with pytest.raises(ValueError, match=rf"^{message}$"):
        parse_system(TWO.format(**GOOD | changes))


def test_without_the_mistake_it_is_read():
    assert len(parse_system(TWO.format(**GOOD)).transactions) == 2


def test_a_deadline_of_the_bound_alone_is_taken():
    system = parse_system(TWO.format(**GOOD | {"more": "deadline = 831"}))
    assert least_bound(system, system.transactions[0]) == 831


# -- the checker -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example():
    system = parse_system(SYSTEM_EXAMPLE)
    found = greedy(system)
    assert faults(system, found) == []
    return system, found


def moved(system, found, **changes):
    """An allocation in which transactions have other places, its table made anew."""
    places = dict(found.places)
    for name, change in changes.items():
        places[name.replace("__", ".")] = replace(places[name.replace("__", ".")], **change)
    return replace(found, places=places, table=table_of(system, places))


def wrong(system, found):
    return "; ".join(faults(system, found))


def test_two_in_one_bank(example):
    system, found = example
    start = found.places["camera.frame"].start
    both = moved(system, found, log__events={"start": start})
    shared = replace(both, banks=both.banks | {"log": both.banks["camera"]})
    assert "camera.frame and log.events are under way in bank 0 of DDR3" in wrong(system, shared)
    assert "are under way in bank" not in wrong(system, both)


def test_too_many_masters(example):
    system, found = example
    start = {"start": 0}
    all_at_once = moved(system, found, camera__frame=start, tracker__frame=start,
                        planner__map=start, display__screen=start)
    assert "slot 4: 4 masters are under way, more than 3" in wrong(system, all_at_once)


def test_one_flow_twice(example):
    system, found = example
    start = found.places["planner.path"].start
    assert ("log.events are under way in one flow, from (1, 0)" in wrong(
        system, moved(system, found, log__events={"start": start})))


def test_a_gap(example):
    system, found = example
    slot = found.places["camera.frame"].start + 1
    table = tuple(tuple(name for name in names if name != "camera.frame") if number == slot
                  else names for number, names in enumerate(found.table))
    assert wrong(system, replace(found, table=table)) == (
        f"the table has a gap: camera.frame is not under way in slot {slot}")
    assert "slots, and the hyperperiod 64" in wrong(system, replace(found, table=found.table[1:]))
    more = (*found.table[:-1], (*found.table[-1], "camera.frame", "nobody"))
    assert "camera.frame is under way in slot 63, where it has no place" in wrong(
        system, replace(found, table=more))
    assert "nobody, which is no transaction" in wrong(system, replace(found, table=more))


def test_windows_that_clash(example):
    system, found = example
    one, other = (flow for flow in found.windows if flow[1] and flow[0][0] == 0)
    clash = {**found.windows, one: replace(found.windows[one], offset=(
        found.windows[other].offset - 6) % 1024)}
    assert "share the" in wrong(system, replace(found, windows=clash))
    short = {**found.windows, one: replace(found.windows[one], length=65)}
    assert "no multiple of a packet's 66" in wrong(system, replace(found, windows=short))


def test_wrong_bounds_and_lengths(example):
    system, found = example
    right = found.places["camera.frame"]
    less = moved(system, found, camera__frame={"bound": right.bound - 1})
    assert wrong(system, less) == (f"the bound of camera.frame is {right.bound} cycles, not "
                                   f"{right.bound - 1}")
    short = moved(system, found, camera__frame={"length": right.length - 1})
    assert f"camera.frame takes up to {right.bound} cycles, and has" in wrong(system, short)


def test_a_window_of_a_packet_less_changes_the_bound(example):
    system, found = example
    flow = (0, 0), True
    window = found.windows[flow]
    less = {**found.windows, flow: replace(window, length=window.length - PACKET_FLITS)}
    assert "the bound of camera.frame is" in wrong(system, replace(found, windows=less))


def test_what_is_missing(example):
    system, found = example
    for name in ("banks", "windows", "places"):
        whole = dict(getattr(found, name))
        whole.pop(next(iter(whole)))
        assert " has no " in wrong(system, replace(found, **{name: whole}))


def test_local_memory(example):
    system, found = example
    assert "overlap in local memory" in wrong(system, moved(
        system, found, display__screen={"bank": found.places["camera.frame"].bank}))
    assert "over the end of its bank" in wrong(system, moved(
        system, found, camera__frame={"address": 16384 - 2048}))
    assert "which has no such bank" in wrong(system, moved(
        system, found, camera__frame={"bank": 8}))
    arrives = moved(system, found, display__screen={
        "bank": found.places["camera.frame"].bank, "address": 8192})
    assert "display.screen arrives at has 4 requesters, more than 2" in wrong(system, arrives)


def test_directions_that_must_be_one(example):
    system, found = example
    strict = replace(system, hardware=replace(system.hardware, directions="required"))
    both = any(len({t.write for t in system.transactions if t.full_name in names}) > 1
               for names in found.table)
    assert both == ("in two directions" in wrong(strict, found))
    start = {"start": 0}
    mixed = moved(strict, found, camera__frame=start, planner__map=start)
    assert "camera.frame and planner.map are under way in two directions" in wrong(strict, mixed)


def test_requesters_of_a_bank(example):
    system, found = example
    bank = found.places["camera.frame"].bank
    places = moved(system, found, display__screen={"bank": bank}).places
    both = {t.full_name: requesters(system, places, t) for t in system.transactions}
    assert both["camera.frame"] == both["display.screen"] == 4  # two cores, and both halves
    assert both["tracker.frame"] == 1


# -- files -----------------------------------------------------------------------------------------


def test_files_are_read_back(example):
    system, found = example
    assert parse_system(system_text(system)) == system
    assert parse_allocation(allocation_text(system, found), system) == found


def test_a_table_with_a_gap_is_not_read(example):
    system, found = example
    text = allocation_text(system, found)
    with pytest.raises(ValueError, match=r"slot\.6\.number must be 5, as the table must have no "
                                         r"gap, not 6$"):
        parse_allocation(text.replace("number = 5\n", "number = 6\n"), system)
    with pytest.raises(ValueError, match=r"a transaction of the system, not 'camera\.fram'$"):
        parse_allocation(text.replace('"frame"', '"fram"', 1), system)


# -- the optimum -----------------------------------------------------------------------------------


def tiny(rng, *, banks=8, **more):
    """Two or three transactions on a short table."""
    hardware = Hardware(Mesh(1, 3), (0, 2), period=256, slot=1024, masters=rng.choice((1, 2)),
                        banks=banks, directions=rng.choice(("preferred", "required")), **more)
    applications = tuple(Application(f"a{number}", rng.choice(((0, 0), (0, 1))), (Transaction(
        f"a{number}", "t", rng.choice((256, 512)), rng.random() < 0.5,
        *[rng.choice((4096, 8192))] * 2, number),), rng.choice((None, 0, 0)))
        for number in range(rng.choice((2, 3))))
    return System(hardware, applications)


def best_of_all(system):
    """The least greatest ratio over every choice there is, judged by the checker."""
    best = None
    transactions, hardware = system.transactions, system.hardware
    names = [t.full_name for t in transactions]
    for packets in itertools.product(range(1, hardware.most_packets + 1),
                                     repeat=len(system.flows)):
        windows = dict(zip(system.flows, packets, strict=True))
        if any(sum(PACKET_FLITS * many for flow, many in windows.items() if flow[1] == write)
               > hardware.period for write in (True, False)):
            continue
        for starts in itertools.product(*(range(system.slots(t)) for t in transactions[1:])):
            for local in itertools.product(range(min(hardware.banks, 2)), repeat=len(names)):
                choice = Choice(
                    dict(zip(names, local, strict=True)),
                    {name: number if application.bank is None else application.bank
                     for number, (name, application) in enumerate(system.of.items(), 1)},
                    windows, dict(zip(names, (0, *starts), strict=True)))
                found = settle(system, choice)
                if not faults(system, found):
                    ratio = found.ratio(system)
                    best = ratio if best is None else min(best, ratio)
    return best


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_the_optimum_is_the_best_of_all(seed):
    rng = random.Random(seed)
    system = tiny(rng, banks=1 + seed % 2)
    best = best_of_all(system)
    if best is None:
        with pytest.raises(NoTable):
            optimum(system)
    else:
        found = optimum(system)
        assert found.optimal
        assert faults(system, found.allocation) == []
        assert found.allocation.ratio(system) == best


def test_others_are_no_better(example):
    system, found = example
    best = optimum(system)
    assert best.optimal
    assert faults(system, best.allocation) == []
    told = []
    optimum(system, progress=lambda ratio, least: told.append(ratio))
    assert told == sorted(told, reverse=True)
    for other in (found, at_random(system, random.Random(1))):
        assert best.allocation.ratio(system) < other.ratio(system)


CROWDED = """
[hardware]
masters = 2

[[application]]
name = "fine"
tile = [1, 1]

[[application.transaction]]
name = "t"
bytes = 256
direction = "read"
period = 32768
"""


def crowd(number, direction, deadline, tile="[0, 0]", bank=""):
    return f"""
[[application]]
name = "c{number}"
tile = {tile}
{bank}

[[application.transaction]]
name = "t"
bytes = 4096
direction = "{direction}"
period = 4096
deadline = {deadline}
"""


def test_a_smallest_conflict_is_named():
    """Two in one bank of DDR3 that together last longer than their period; a third is not named."""
    system = parse_system(CROWDED + crowd(0, "write", 4096, bank="bank = 1") + crowd(
        1, "read", 4096, "[0, 1]", bank="bank = 1"))
    with pytest.raises(NoTable, match=r"^no table exists for c0\.t, c1\.t: ") as caught:
        optimum(system)
    assert caught.value.transactions == ("c0.t", "c1.t")


def test_one_that_cannot_be():
    """What it takes beside another one at DDR3 is more than alone; without the other it has a
    table."""
    system = parse_system(CROWDED + crowd(0, "write", 2050))
    with pytest.raises(NoTable, match=r"^no table exists for fine\.t, c0\.t: with 2 masters of "
                                      r"DDR3, c0\.t takes more than its deadline of 2050$"):
        optimum(system)
    alone = CROWDED[:CROWDED.index("[[application]]")] + crowd(0, "write", 2050)
    assert optimum(parse_system(alone)) is not None


def test_masters_are_no_more_than_flows():
    """Two flows are two masters of DDR3, however many are allowed."""
    text = CROWDED + crowd(0, "write", 4096)
    system = parse_system(text.replace("masters = 2", "masters = 8"))
    assert (system.hardware.masters, system.masters) == (8, 2)
    few = parse_system(text)
    meeting = Meeting(1, True)
    for t, same in zip(system.transactions, few.transactions, strict=True):
        assert (bound_of(system, t, requesters=1, packets=2, meeting=meeting)
                == bound_of(few, same, requesters=1, packets=2, meeting=meeting))


def test_three_that_cannot_be():
    """Any two have a table, and the three have none: one flow, one at a time."""
    system = parse_system(CROWDED + "".join(crowd(number, "write", 4096) for number in range(3)))
    with pytest.raises(NoTable, match=r"no two of them may be under way at a time") as caught:
        optimum(system)
    assert len(caught.value.transactions) <= 3
    assert "fine.t" not in caught.value.transactions


def test_a_bank_of_too_many_requesters_is_refused(example):
    system, _ = example
    read = next(t for t in system.transactions if not t.write)
    with pytest.raises(ValueError, match=r"must have at most 2 requesters, since flits come one in "
                                         r"a cycle, not 3$"):
        bound_of(system, read, requesters=3, packets=1, meeting=Meeting())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_drawn_systems(seed):
    """Nothing that is found by chance is better, and the checker finds no fault."""
    rng = random.Random(f"drawn {seed}")
    system = drawn(rng, 10)
    others = [found for found in (greedy(system), at_random(system, rng)) if found is not None]
    try:
        found = optimum(system)
    except NoTable:
        assert others == []
        return
    assert faults(system, found.allocation) == []
    assert all(found.allocation.ratio(system) <= other.ratio(system) for other in others)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, *range(100, 120)])
def test_the_optimum_is_the_best_of_all_of_many(seed):
    test_the_optimum_is_the_best_of_all(seed)
