# amaranth: UnusedElaboratable=no
"""Page controller: parameters, bound, RTL against the table of rules."""

import dataclasses
import random
from functools import cached_property

import pytest
from amaranth.hdl import Assert, Assume

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.page_bounds import request_time
from cyclebound.golden.dram.page_controller import PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.small_part import SMALL_DDR3
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, DDR4_3200AA_X8
from cyclebound.golden.noc.composition import row_conflict
from cyclebound.hdl.dram.countdown import Countdown
from cyclebound.hdl.dram.page_controller import PageController
from cyclebound.sim import catalogue
from cyclebound.sim.describe.variant import Changes, varied
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.dram import page_controller_properties as properties
from cyclebound.tb.dram import timing_properties
from cyclebound.tb.dram.page_histories import LONGEST
from kit.parts import part_text, random_ddr3
from kit.run_bench import run_bench

unit = pytest.mark.unit
OFTEN = dataclasses.replace(DDR3_1600_MODULE, nREFI=400, rows=4)


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"tag_bits": 0}, ValueError, r"^tag bits must be at least 1, not 0$"),
    ({"tag_bits": "8"}, TypeError, r"^tag bits must be an integer, not '8'$"),
    ({"postpone": 9}, ValueError, r"^refreshes postponed must be from 1 to 8, not 9$"),
    ({"part": DDR4_3200AA_X8}, ValueError, r"^DDR4.*: bank groups must be 1, not 4$"),
    ({"part": dataclasses.replace(OFTEN, nBURST=2)}, ValueError,
     r"^DDR3-1600 module \(8 banks\): nBURST must be 4, not 2$"),
    ({"part": dataclasses.replace(OFTEN, nCWD=2)}, ValueError,
     r"^DDR3-1600 module \(8 banks\): nCWD must be at least 3, not 2$"),
    ({"part": dataclasses.replace(OFTEN, nCCD_S=10, nCCD_L=10)}, ValueError,
     r"^DDR3.*: nCCD must be at most 9, the least distance of a read and a write, not 10$"),
])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=message):
        PageController(**{"part": "ddr3-1600-module", "tag_bits": 3, **changes})


@unit
def test_the_bound_is_the_papers():
    assert request_time(part="ddr3-1600-module", refreshes=0) == row_conflict().amount == 54
    assert request_time(part="ddr3-1600-module", refreshes=1) == 54 + 208
    usual = dataclasses.replace(DDR3_1600_MODULE, nWR=12)  # what DDR3-1600 has
    assert request_time(part=usual, refreshes=0) == 49


def printed(*, part, refreshes):
    """t_req^max of any part by the paper's sum, which asks for no other number."""
    return part.nWR + part.nRP + part.nRCD + part.nCAS + part.nBURST + refreshes * part.nRFC


# of DDR3-1600, with other numbers: the last beat is nCAS + nBURST = 15 cycles after a read, and a
# write's activate 23 before the end of its data
@unit
@pytest.mark.parametrize(("changes", "plain", "refreshed"), [
    ({"nRTP": 40}, 25 + 22 + 15, 25 + 22 + 15 + 208),                   # nRTP - nCAS - nBURST
    ({"nRAS": 60, "nRC": 71}, 37 + 22 + 15, 37 + 22 + 15 + 208),        # nRAS - 23
    ({"nRC": 71}, 48 + 11 + 15, 48 + 11 + 15 + 208),                    # nRC - 23
    ({"nWR": 1, "nRAS": 11, "nRC": 22}, 2 + 22 + 15, 7 + 22 + 15 + 208),  # its own look; nWTR + 1
    ({"nRRD_S": 60, "nRRD_L": 60}, 37 + 11 + 15, 37 + 22 + 15 + 208),   # nRRD - 23
    # four activates are 13 apart, and 50 pass from the first one to the fourth write
    ({"nFAW": 120}, 120 - 50 - 12 + 11 + 15, 120 - 50 - 12 + 22 + 15 + 208),
    ({"nWTR_S": 50, "nWTR_L": 50}, 50 + 15, 50 + 22 + 15 + 208),
    ({"nWTR_S": 20, "nWTR_L": 20}, 54, 20 + 22 + 15 + 208),             # only with a refresh
    ({"nWPRE": 60}, 61 + 4, 61 - 8 + 22 + 12 + 208),                    # a write after a read
    ({"nRFC": 1}, 54, 54 + 2),                                          # it looks once more
])
def test_the_bound_of_other_parts_by_hand(changes, plain, refreshed):
    part = dataclasses.replace(DDR3_1600_MODULE, **changes)
    if changes == {"nWR": 1, "nRAS": 11, "nRC": 22}:
        refreshed -= 1  # nWTR is 6
    assert [request_time(part=part, refreshes=n) for n in (0, 1)] == [plain, refreshed]


@unit
def test_refreshes_must_be_further_apart_than_requests():
    part = dataclasses.replace(DDR3_1600_MODULE, nREFI=2 * 262)
    assert request_time(part=part, refreshes=1) == 262
    with pytest.raises(NotCovered, match=r"further apart than a request takes: nREFI must be at "
                                         r"least 524, not 523$"):
        request_time(part=dataclasses.replace(part, nREFI=523), refreshes=1)
    assert request_time(part=dataclasses.replace(part, nREFI=523), refreshes=0) == 54


# The bound, searched on other parts

def latencies(part, requests, begins):
    """By the model, which has a refresh at each multiple of nREFI: what each request takes, as the
    bound counts, if all are on offer one after the other from cycle ``begins`` on; with when the
    last one was first on offer, and when it was taken."""
    model, waiting, found = PageControllerModel(part, close=False, postpone=1), list(requests), []
    offered, under_way, before, taken = begins, [], -1, 0
    for now in range(begins + 20 * part.nREFI):
        request = QueuedRequest(4, *waiting[0], 0) if waiting and now >= begins else None
        goes, _, _, beat, _ = model.step(request)
        if goes:
            under_way.append(offered)
            waiting.pop(0)
            offered, taken = now + 1 if waiting else offered, now
        if beat is not None and beat.beat == part.nBURST - 1:
            found.append(now - max(under_way.pop(0) - 1, before))
            before = now
            if not waiting and not under_way:
                return found, offered, taken
    raise AssertionError("requests take for ever")


def longest(part):
    """The longest of `LONGEST`'s requests by the model, without a refresh and with one."""
    plain = refreshed = 0
    # the first refresh, as soon as the bound allows it
    part = dataclasses.replace(part, nREFI=2 * request_time(part=part, refreshes=1))
    for history in LONGEST.values():
        found, offered, taken = latencies(part, history, 0)
        plain = max(plain, *found)
        for early in range(offered, taken + 1):
            found, *_ = latencies(part, history, part.nREFI - early)
            refreshed = max(refreshed, *found)
    return plain, refreshed


def idle(part, refreshes):
    """What a request takes that finds another row open, and nothing else to wait for."""
    return part.nRP + part.nRCD + part.nCAS + part.nBURST + 2 + refreshes * max(part.nRFC, 2)


def searched(parts, bound):
    """Parts on which the longest request exceeds ``bound``, and on which it meets it."""
    above, met = [], []
    for part in parts:
        allowed = [bound(part=part, refreshes=n) for n in (0, 1)]
        found = [max(took, idle(part, n) if n == 0 else 0)
                 for n, took in enumerate(longest(part))]
        if any(took > most for took, most in zip(found, allowed, strict=True)):
            above.append(part)
        elif found == allowed:
            met.append(part)
    return above, met


def random_parts(seed, count):
    rng = random.Random(seed)
    return [random_ddr3(rng, name=f"random {seed} {number}") for number in range(count)]


@unit
@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.thorough)])
def test_random_parts_keep_the_bound(count):
    above, met = searched(random_parts(5, count), request_time)
    assert not above
    assert len(met) >= 0.75 * count


@unit
def test_the_search_fires_on_the_papers_sum():
    """Which has no nWTR and no nRRD: nWTR above nWR shows with a refresh only."""
    parts = [dataclasses.replace(DDR3_1600_MODULE, nRFC=40, **changes) for changes in (
        {"nWTR_S": 50, "nWTR_L": 50}, {"nRRD_S": 60, "nRRD_L": 60}, {"nWTR_S": 18, "nWTR_L": 18})]
    above, _ = searched(parts, printed)
    assert above == parts


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("close", ["open", "closed"])
def test_random_parts_keep_the_bound_on_the_rtl(tmp_path, number, close):
    """Each compared with the model in every cycle, and with the bound by the probe."""
    part = random_ddr3(random.Random(f"{number} {close}"), name=f"random {number}")
    part = dataclasses.replace(part, nREFI=6 * request_time(part=part, refreshes=1))
    changes = Changes((("part", "random.toml"),), part_text(part))
    block = varied(catalogue.load().find("dram.page_controller"), changes)
    allowed = [request_time(part=part, refreshes=refreshes) for refreshes in (0, 1)]
    worst = [0, 0]
    for bench in ("refreshes", "cycle"):
        outcome = run_job(Job("dram.page_controller", block.names[close], bench, 1,
                              str(tmp_path / bench), changes=changes))
        assert outcome.passed, outcome.reason
        for group in outcome.groups:
            refreshes = group.parameters["refreshes"]
            worst[refreshes] = max(worst[refreshes], group.latency)
    assert all(took <= most for took, most in zip(worst, allowed, strict=True))
    assert worst[1] > worst[0] > 0
    if close == "open":
        assert worst[1] >= 0.9 * allowed[1]


def _random_requests(rng):
    return QueuedRequest(4, rng.random() < 0.5, rng.randrange(3), rng.randrange(2),
                         rng.randrange(128), rng.randrange(8))


@unit
@pytest.mark.parametrize("close", [
    False, pytest.param(True, marks=pytest.mark.thorough)])
def test_follows_the_table_of_rules(close):
    """Every command in the very cycle in which the device's rules first allow it."""
    dut = PageController(part=OFTEN, tag_bits=3, close=close, postpone=1)
    model = PageControllerModel(OFTEN, close=close, postpone=1)
    rng = random.Random(close)
    seen, delivered = set(), 0

    async def bench(ctx):
        nonlocal delivered
        offer, rate = None, 0.0
        for cycle in range(2500):
            if cycle % 500 == 0:
                rate = (1.0, 0.03, 0.9, 0.2, 1.0)[cycle // 500]
            if offer is None and rng.random() < rate:
                offer = _random_requests(rng)
            ctx.set(dut.sink.valid, offer is not None)
            if offer is not None:
                ctx.set(dut.sink.payload, {k: int(v) for k, v in offer._asdict().items()})
            dq_in = rng.getrandbits(128)
            ctx.set(dut.dq_in, dq_in)
            taken, pins, closed, beat, fetched = model.step(offer, dq_in)
            command = ctx.get(dut.command)
            assert (ctx.get(dut.sink.ready), ctx.get(dut.closed)) == (taken, closed)
            assert command.op == (Command.NOP if pins is None else pins.op)
            if pins is not None:
                seen.add(pins.op)
                if pins.op not in (Command.PREA, Command.REF):
                    assert (command.bank, command.row, command.column) == pins[1:]
            for strobe, expected in ((ctx.get(dut.bus), beat), (ctx.get(dut.fetch), fetched)):
                assert strobe.valid == (expected is not None)
                if expected is not None:
                    assert (strobe.write, strobe.tag, strobe.beat) == tuple(expected)
            deliver = ctx.get(dut.deliver)
            assert deliver.valid == (model.delivered is not None)
            if model.delivered is not None:
                assert (deliver.tag, deliver.beat, deliver.data) == model.delivered
                delivered += 1
            if taken:
                offer = None
            await ctx.tick()

    run_bench(dut, bench, properties.PageProof(dut))
    assert delivered > 100
    c = Command
    assert seen == ({c.ACT, c.RDA, c.WRA, c.REF} if close else
                    {c.ACT, c.RD, c.WR, c.PRE, c.PREA, c.REF})


# The checker fires: (request's row, ready; command, bank, row on the pins) of each cycle, of which
# the last has the fault. A request is to bank 0, column 0, and reads.
NOP = (Command.NOP, 0, 0)
OPEN = [((1, 0), (Command.ACT, 0, 1)), ((1, 0), NOP), ((1, 1), NOP)]
FAULTS = {
    "a read or write for each request that is taken": [*OPEN, ((None, 0), NOP)],
    "another burst than the one asked for": [*OPEN, ((None, 0), (Command.WR, 0, 1))],
    "another row of bank 0 is open": [((0, 0), (Command.ACT, 0, 1)), ((0, 0), NOP),
                                      ((0, 1), NOP), ((None, 0), (Command.RD, 0, 0))],
    "request withdrawn or changed": [((1, 0), NOP), ((0, 0), NOP)],
    "bank is closed: RD, RDA, WR, WRA": [((None, 0), (Command.RD, 0, 0))],
}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(fires, says):
    check = properties.PageCheck(PageController(part=SMALL_DDR3, tag_bits=1))
    sink, pins = check.sink, check.command
    fires(says, properties, check, [
        [(sink.valid, row is not None), (sink.payload.row, row or 0), (sink.ready, ready),
         (pins.op, op), (pins.bank, bank), (pins.row, opened)]
        for (row, ready), (op, bank, opened) in FAULTS[says]])


class Hasty(PageController):
    """Reads and writes one cycle too early after an activate."""

    @cached_property
    def counters(self):
        found = super().counters
        return found | {"rcd": [Countdown(cycles=counter.cycles - 1) for counter in found["rcd"]]}


@unit
@pytest.mark.parametrize("says", ["invariant: bank nRCD",
                                  "nRCD: ACT to RD, RDA, WR, WRA, bank, 2 cycles"])
def test_the_proof_fires(only, says):
    only(says, properties, timing_properties, kinds=(Assert, Assume))
    dut = Hasty(part=SMALL_DDR3, tag_bits=1)

    async def bench(ctx):
        ctx.set(dut.sink.valid, 1)
        await ctx.tick().repeat(20)

    with pytest.raises(AssertionError, match=rf"^Assertion violated: {says}$"):
        run_bench(dut, bench, properties.PageProof(dut))
