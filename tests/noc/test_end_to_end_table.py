"""DDR3 while a table holds: what `decided` allows, attacked on models of front end, reorder core
and page controller, cycle by cycle; and rivals in banks of their own, in hardware."""

import itertools
import random
from dataclasses import replace

import pytest

from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.golden.noc.end_to_end import total
from cyclebound.golden.noc.end_to_end_read import read_total
from cyclebound.golden.noc.execution_model_bounds import (
    decided,
    scheduled_read,
    scheduled_write,
)
from cyclebound.golden.noc.many_core import ANY
from cyclebound.hdl.noc.shared_dram import SharedDram
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tools.noc.ddr3_attack import (
    MINE,
    Attack,
    Master,
    WithoutRule4,
    allowed,
    longest,
    pins_after,
)
from kit.run_bench import run_bench

PART = replace(DDR3_1600_MODULE, nREFI=1200)  # refreshes sooner, for short simulations
CAP = 9


@pytest.mark.unit
@pytest.mark.parametrize("requests", [100, 300, 600])
def test_each_refresh_that_meets_a_long_transaction_counts(requests):
    """Up to three of them; with one, 300 requests took 1,688 cycles of 1,490 allowed."""
    took = max(pins_after([], requests, start, False, random.Random(1), part=PART, cap=CAP)
               for start in range(8 * PART.nREFI - 280, 8 * PART.nREFI + 60, 40))
    allowed_ = decided(requests, masters=1, met=0, mixed=0, own=1, cap=CAP, part=PART)
    assert 0.9 * allowed_ < took <= allowed_


@pytest.mark.unit
def test_a_table_allows_no_less_than_who_knows_what_others_do():
    """`scheduled_read` and `scheduled_write`, where any row may be opened, are no less than the
    bounds for others that write other rows of one bank: 48 kinds."""
    path = {"delta": 5, "window": 512, "period": 1024, "quarters": 3, "cap": CAP,
            "part": DDR3_1600_MODULE}
    for nbytes, requesters, masters in itertools.product((256, 1024, 4096), (1, 2), range(1, 9)):
        kind = {"requesters": requesters, "nbytes": nbytes, **path}
        known = {"competitors": masters, "opened": 1}
        table = {"masters": masters, "met": ANY * (masters > 1), "routers": 4, "crossing": 24}
        assert scheduled_read(**kind, **table, mixed=int(masters > 1)) >= read_total(
            **kind, **known, packets=2)
        assert scheduled_write(**kind, **table, mixed=0) >= total(**kind, **known)


def attack(rng, *, apart=True):
    """Something that others may do: cycles taken and allowed."""
    count, requests = rng.randint(2, 8), rng.choice((1, 1, 2, 3, 8))
    mixed, write = rng.random() < 0.5, rng.random() < 0.5
    start = PART.nREFI * rng.choice((1, 2)) - rng.randrange(0, 250)
    masters = [Master((rng.random() < 0.5 if mixed else write,), number if apart else MINE,
                      rng.choice((1.0, 1.0, 0.5, 0.1))) for number in range(1, count)]
    met = 0
    for master in masters:
        if not apart:
            master.rows = list(range(4000))
        elif rng.random() < 0.5:
            # a row that it goes on to shortly before may be opened afterwards
            master.rows, met = [start + rng.randrange(-120, 120)], met + 1
    took = pins_after(masters, requests, start, write, rng, part=PART, cap=CAP)
    return took, decided(requests, masters=count, met=met,
                         mixed=int(any(master.writes != (write,) for master in masters)), own=True,
                         cap=CAP, part=PART)


def attacks(seeds, **how):
    """The greatest shares of what is allowed."""
    shares = []
    for seed in seeds:
        took, allowed = attack(random.Random(seed), **how)
        shares.append(took / allowed)
    return shares


@pytest.mark.unit
def test_no_master_breaks_the_bound():
    assert 0.5 < max(attacks(range(30))) <= 1


@pytest.mark.unit
@pytest.mark.thorough
@pytest.mark.parametrize("part", range(8))
def test_no_master_of_many_breaks_the_bound(part):
    assert 0.6 < max(attacks(range(1000 * part, 1000 * part + 400))) <= 1


@pytest.mark.unit
def test_two_in_one_bank_break_it():
    """What a table is for: the same masters in the transaction's bank."""
    assert max(attacks(range(12), apart=False)) > 1


@pytest.mark.unit
def test_alone_the_bound_is_what_the_models_take():
    """A row that has to be changed, and a refresh at its worst."""
    rng = random.Random(0)
    for requests in (1, 2, 5):
        worst = max(pins_after([], requests, start, True, rng, part=PART, cap=CAP)
                    for start in range(PART.nREFI - 60, PART.nREFI + 10))
        allowed = decided(requests, masters=1, met=0, mixed=0, own=True, cap=CAP, part=PART)
        # 11: the write before, in the same bank, is over for long
        assert allowed - worst == 11


@pytest.mark.unit
def test_alone_in_several_banks():
    """Interleaved addresses: each bank's row has to be opened, and again after a refresh."""
    rng, shares = random.Random(1), []
    for spread, several in ((2, (2, 3)), (8, (5, 8, 32))):
        for requests in several:
            for write in (True, False):
                allowed = decided(requests, masters=1, met=0, mixed=0, own=spread, cap=CAP,
                                  part=PART, spread=spread)
                shares += [pins_after(
                    [], requests, start, write, rng, part=PART, cap=CAP, spread=spread) / allowed
                           for start in range(2 * PART.nREFI - 400, 2 * PART.nREFI + 20, 21)]
    assert 0.8 < max(shares) <= 1


def anywhere(rng):
    """Others whose addresses are interleaved, too: cycles taken and allowed."""
    count, requests = rng.randint(2, 8), rng.choice((1, 3, 8, 16))
    write, start = rng.random() < 0.5, PART.nREFI * rng.choice((1, 2)) - rng.randrange(0, 250)
    reads, banks = rng.choice((0, 0.5)), rng.choice((1, 1, PART.banks))
    masters = [Master((rng.random() >= reads,), 0, rng.choice((1.0, 1.0, 0.5)), anywhere=banks)
               for _ in range(1, count)]
    return (pins_after(masters, requests, start, write, rng, part=PART, cap=CAP, spread=8),
            decided(requests, masters=count, met=1 << 16, mixed=1, own=8, cap=CAP, part=PART,
                    spread=8))


@pytest.mark.unit
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.thorough)
                                       for part in range(1, 9))])
def test_interleaved_masters_keep_the_bound(part):
    shares = [took / allowed for took, allowed in (
        anywhere(random.Random(1000 * part + seed)) for seed in range(400 if part else 15))]
    assert 0.3 < max(shares) <= 1


@pytest.mark.unit
@pytest.mark.parametrize("masters", [2, 5])
def test_no_alternation_breaks_the_bound_and_rule_4_shortens_the_worst(masters):
    rng = random.Random(masters)
    worst, how = longest(masters, 4, CAP, 12, rng)
    without, other = longest(masters, 4, CAP, 12, rng, WithoutRule4)
    one_way = Attack(True, ((True,),) * (masters - 1)).cycles(4, CAP)
    assert one_way <= allowed(masters, 4, CAP, mixed=0)
    assert one_way < worst < without <= allowed(masters, 4, CAP, mixed=1)
    assert how.cycles(4, CAP) == worst
    assert other.cycles(4, CAP) < without  # the same alternation, with rule 4


@pytest.mark.unit
@pytest.mark.parametrize("private", [False, True])
def test_rivals_keep_to_their_banks_and_rows(private):
    """In hardware: with banks of their own no row is closed, but at a second beginning."""
    dram = SharedDram(masters=1, rivals=3, slot_bits=4, cap=9, part="ddr3-1600-module")
    seen = []

    async def bench(ctx):
        ctx.set(dram.own_banks, private)
        ctx.set(dram.reads, 0b010)
        for cycle in range(500):
            ctx.set(dram.compete, 0b110 if 240 <= cycle < 260 else 0b111)
            op = Command(ctx.get(dram.command.op))
            if op is not Command.NOP:
                seen.append((cycle, op, ctx.get(dram.command.bank)))
            await ctx.tick()

    run_bench(dram, bench)
    closed = [(cycle, bank) for cycle, op, bank in seen if op is Command.PRE]
    if private:
        assert [bank for _, bank in closed] == [1]
        assert closed[0][0] > 260
        assert {bank for _, op, bank in seen if op is Command.RD} == {2}
        assert {bank for _, op, bank in seen if op is Command.WR} == {1, 3}
    else:
        assert {bank for _, bank in closed} == {0}
        assert len(closed) > 5


@pytest.mark.thorough
@pytest.mark.cosim
def test_the_bound_holds_on_the_rtl(tmp_path):
    outcome = run_job(Job("noc.end_to_end", "paper", "table", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    assert "scheduled_write" in {group.what for group in outcome.groups}
    assert "total" not in {group.what for group in outcome.groups}
