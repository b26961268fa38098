"""Composability of a many-core's memory path: what a transaction's cycles owe to the others."""

import json
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end_data import SEED_BITS
from cyclebound.golden.noc.many_core import Asked, at_once, bound, windows
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import network_cycle, network_start
from cyclebound.tb.noc.many_core import flows_of, hardware, one_each
from cyclebound.tb.noc.many_core_tester import ManyCoreTester, Rival

KEPT = "bursts.json"  # beside the job: by case, direction and what the others do, each request
_AHEAD = 16       # DDR cycles by which a transaction is prepared before it begins
_TIMES = 6        # requests of each transaction
_FLOWS = 4        # masters that may be under way at a time
_NEAR = 400       # cycles of the network before a transaction, from when on others begin
_NEARER = 24      # the same of a read beside a read, which ask DDR3 for all at once
_POSTPONED = 8    # refreshes that may be owed
_STEP = 5         # so many cycles of the network later after a refresh each read begins
_MEETINGS = 40    # such reads
_STRIDE = 137     # so many later in the period each request begins
_MARK = 16        # words of local memory that a burst of DDR3 fills

Begin = tuple[int, Asked]
"""A cycle of the network, and what begins then."""


async def cycles_of(bench: Bench, one: Asked, begins: Sequence[Begin],
                    given: Mapping[tuple[int, bool], tdma.Slot], period: int,
                    hammered: Mapping[Rival, int] | None = None) -> list[list[int]]:
    """When each burst (or as many words of local memory) of each of ``one``'s requests has been
    moved, in DDR cycles since it was to begin."""
    await bench.reset()
    bench.forget()
    tester, rng = ManyCoreTester(bench, given, period, hammered), random.Random(1)
    for at, what in sorted(begins, key=lambda begin: begin[0]):
        await tester.run(max(0, network_start(at, bench) - tester.now - _AHEAD))
        if not what.write:
            tester.fill_dram(what, rng.randbytes(what.nbytes))
        tester.declare(what)
        tester.begin(what, at, rng.getrandbits(SEED_BITS))
    for _ in range(100):
        if all(len(tester.done[what.tile, what.write]) == sum(
                other.name == what.name for _, other in begins) for _, what in begins):
            break
        await tester.run(1024)
    assert not tester.faults, tester.faults[:4]
    moved = tester.moved[one.tile, one.write]
    marks = moved if one.write else moved[_MARK - 1::_MARK]
    starts = [network_start(at, bench) for at, what in begins if what.name == one.name]
    assert len(marks) == len(starts) * one.bursts, (one.name, len(marks))
    return [[mark - start for mark in marks[number * one.bursts:][:one.bursts]]
            for number, start in enumerate(starts)]


@testbench
async def composable(bench: Bench) -> None:
    """A write and a read, each beside nothing and beside other flows: one at a time as a table of
    K = 1 says, up to four at a time in banks of their own, and without a table, all in one bank of
    DDR3, with all requesters at the local bank of who writes.

    With K = 1 each burst is moved in the same cycle, whatever the others have done before, where no
    refresh meets it (`what_a_refresh_tells`); without a table, it is not. How many are with more at
    a time, is logged.
    """
    flows, p = flows_of(bench, _FLOWS), bench.parameters
    nbytes = min(4096, hardware(bench).bank_bytes)
    kept: dict[str, list[list[int]]] = {}
    for own_banks, cases in ((True, ("one at a time", "four at a time")), (False, ("no table",))):
        banks = range(len(flows)) if own_banks else [0] * len(flows)
        system, allocation = one_each(bench, flows, nbytes, banks=banks)
        given, period = windows(system, allocation), system.hardware.period
        everything = at_once(system, allocation, [0] * len(flows), own_banks=own_banks)
        most = p["requesters"] - 1
        if not own_banks:
            everything = [replace(one, claim={**one.claim, "requesters": most if one.write else
                                              one.claim["requesters"]}) for one in everything]
        slot = network_cycle(max(bound(one, system.hardware) for one in everything),
                             p["quarters"]) + _NEAR
        for one in everything[:2]:
            others = [other for other in everything if other is not one]
            apart = (len(others) + 2 if own_banks else 2) * slot
            starts = [2 * slot + number * (apart + _STRIDE) for number in range(_TIMES)]
            alone = [(start, one) for start in starts]
            silent = await cycles_of(bench, one, alone, given, period)
            for case in cases:
                rng, beside = random.Random(2), []
                for start, without in zip(starts, silent, strict=True):
                    for place, other in enumerate(others, 1):
                        ends = network_cycle(without[-1], p["quarters"])
                        span = (-_NEAR, ends) if one.write or other.write else (-_NEARER, _NEARER)
                        beside.append((start + (place * slot if case == "one at a time" else
                                                rng.randrange(*span)), other))
                active = await cycles_of(
                    bench, one, alone + beside, given, period,
                    None if own_banks else {(one.tile, one.local): most} if one.write else {})
                way = "write" if one.write else "read"
                kept |= {f"{case}, {way}, silent": silent, f"{case}, {way}, active": active}
                later = [there - here for with_others, without in zip(active, silent, strict=True)
                         for there, here in zip(with_others, without, strict=True)]
                last = [with_others[-1] - without[-1]
                        for with_others, without in zip(active, silent, strict=True)]
                bench.dut._log.info(
                    "%s, %s: %d of %d bursts in another cycle, %d to %d cycles later; the last one "
                    "%d to %d later", case, way, sum(map(bool, later)), len(later), min(later),
                    max(later), min(last), max(last))
                if case == "one at a time":
                    bench.compare(active, silent, f"a {way} beside others in their slots",
                                  count=len(later))
                assert own_banks or any(later), f"{case}: the others change nothing of a {way}"
    Path(os.environ["CYCLEBOUND_JOB"]).with_name(KEPT).write_text(json.dumps(kept))


@testbench
async def what_a_refresh_tells(bench: Bench) -> None:
    """Reads whose first burst meets a refresh, by themselves, and after others in their own slots.

    The others leave rows open, which the refresh has to close, and takes nRP for: that much later a
    burst may be, and no more, also where only one transaction is under way at a time.
    """
    part, quarters = part_named(bench.parameters["part"]), bench.parameters["quarters"]
    flows = flows_of(bench, _FLOWS)
    nbytes = min(256, hardware(bench).bank_bytes)
    system, allocation = one_each(bench, flows, nbytes, banks=range(len(flows)))
    given, period = windows(system, allocation), system.hardware.period
    everything = at_once(system, allocation, [0] * len(flows), own_banks=True)
    slot = network_cycle(max(bound(one, system.hardware) for one in everything), quarters)
    one = next(each for each in everything if not each.write)
    others = [each for each in everything if each is not one]
    every = network_cycle(part.nREFI, quarters)  # refreshes, once as many are owed as may be
    apart = (-(-(len(others) + 2) * slot // every) + _POSTPONED) * every
    first = _POSTPONED * every + apart
    starts = [first + number * (apart + _STEP) for number in range(_MEETINGS)]
    alone = [(start, one) for start in starts]
    beside = [(start - place * slot, other) for start in starts
              for place, other in enumerate(others, 1)]
    silent = await cycles_of(bench, one, alone, given, period)
    active = await cycles_of(bench, one, alone + beside, given, period)
    later = [there - here for with_others, without in zip(active, silent, strict=True)
             for there, here in zip(with_others, without, strict=True)]
    bench.dut._log.info("%d of %d bursts in another cycle, up to %d later",
                        sum(map(bool, later)), len(later), max(later))
    assert any(later), "no refresh met a read after rows of others"
    # stored in a cycle of the network, which may be one more of DDR3's four
    bench.compare([0 <= cycles <= part.nRP + 1 for cycles in later], [True] * len(later),
                  "bursts that are late by what closing rows takes", count=len(later))
