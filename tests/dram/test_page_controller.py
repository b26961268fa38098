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
from cyclebound.tb.dram import page_controller_properties as properties
from cyclebound.tb.dram import timing_properties
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


@unit
@pytest.mark.parametrize(("changes", "says"), [
    ({"nRAS": 60, "nRC": 71}, "a row's least time must be covered by nWR"),
    ({"nRTP": 29}, "a read's distance to a precharge must be covered by nWR"),
    ({"nFAW": 45}, "the four-activate window must be covered by nWR"),
    ({"nWR": 1}, "a row's least time must be covered by nWR"),
    ({"nRAS": 36, "nRC": 47, "nCWD": 2},
     "nRAS must be over when a write has recovered"),
])
def test_the_bound_says_what_it_covers(changes, says):
    with pytest.raises(NotCovered, match=f"^DDR3-1600 module .*: {says}$"):
        request_time(part=dataclasses.replace(DDR3_1600_MODULE, **changes), refreshes=0)


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
    seen = set()

    async def bench(ctx):
        offer, rate = None, 0.0
        for cycle in range(2500):
            if cycle % 500 == 0:
                rate = (1.0, 0.03, 0.9, 0.2, 1.0)[cycle // 500]
            if offer is None and rng.random() < rate:
                offer = _random_requests(rng)
            ctx.set(dut.sink.valid, offer is not None)
            if offer is not None:
                ctx.set(dut.sink.payload, {k: int(v) for k, v in offer._asdict().items()})
            taken, pins, closed, beat, fetched = model.step(offer)
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
            if taken:
                offer = None
            await ctx.tick()

    run_bench(dut, bench, properties.PageProof(dut))
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
