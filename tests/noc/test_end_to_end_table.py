"""DDR3 while a table holds: what `decided` allows, attacked on models of front end, reorder core
and page controller, cycle by cycle; and rivals in banks of their own, in hardware."""

import random
from dataclasses import dataclass, field, replace

import pytest

from cyclebound.golden.dram.multi_port_front_end import MultiPortFrontEndModel
from cyclebound.golden.dram.page_controller import PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.reorder_core import ReorderCoreModel
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.golden.noc.execution_model_bounds import decided
from cyclebound.hdl.noc.shared_dram import SharedDram
from cyclebound.sim.run.job import Job, run_job
from kit.run_bench import run_bench

PART = replace(DDR3_1600_MODULE, nREFI=1200)  # refreshes sooner, for short simulations
CAP = 9
MINE = 0  # port, and bank


@dataclass
class Master:
    """A master at the front end.

    Attributes
    ----------
    write : bool
        Its direction.
    rows : list of int
        Cycles in which it goes on to another row of its bank: another transaction begins.
    asks : float
        How often it has a request on offer.
    bank : int
        Its bank.
    anywhere : int
        If not 0, each of its requests is to another row, of one of so many banks.
    """

    write: bool
    bank: int
    asks: float = 1.0
    rows: list[int] = field(default_factory=list)
    row: int = 1
    anywhere: int = 0


def pins_after(masters, requests, start, write, rng, spread=1):
    """Cycles from ``requests`` requests of port 0 on offer in cycle ``start``, to rows that are not
    open, of ``spread`` banks in turn, until the last one is on the pins."""
    ports = 1 + len(masters)
    front = MultiPortFrontEndModel(priorities=[4] * ports, limits=[0] * ports)
    reorder = ReorderCoreModel(entries=8, cap=CAP, cycle=PART.nRC)
    pages = PageControllerModel(PART, close=False, postpone=1)
    offers, left, done, now = {}, requests, 0, 0
    # have opened other rows of the banks
    before = [QueuedRequest(4, True, MINE + bank, 7, 0, MINE) for bank in range(spread)]
    while done < requests:
        shown = reorder._shown
        taken, _, closed, _, _ = pages.step(shown)
        done += taken and shown.tag == MINE and shown.row == 0
        come, space = front._register, len(reorder.queue) < 8
        reorder.step(come.data if come else None, taken, closed)
        granted, _ = front.step(offers, space)
        if granted is not None:
            left -= granted == MINE and offers[MINE].row == 0
            del offers[granted]
        now += 1
        for port, master in enumerate(masters, 1):
            master.row += now in master.rows
            if port not in offers and rng.random() < master.asks:
                master.row += master.anywhere > 0
                bank = rng.randrange(master.anywhere) if master.anywhere else master.bank
                offers[port] = QueuedRequest(4, master.write, bank, master.row, 0, port)
        if start // 2 <= now and before and MINE not in offers:
            offers[MINE] = before.pop()
        if now >= start and left:
            bank = MINE + (requests - left) % spread
            offers[MINE] = QueuedRequest(4, write, bank, 0, 0, MINE)
    return now - start  # taken a cycle before it is on the pins, and counted one later


def attack(rng, *, apart=True):
    """Something that others may do: cycles taken and allowed."""
    count, requests = rng.randint(2, 8), rng.choice((1, 1, 2, 3, 8))
    mixed, write = rng.random() < 0.5, rng.random() < 0.5
    start = PART.nREFI * rng.choice((1, 2)) - rng.randrange(0, 250)
    masters = [Master(rng.random() < 0.5 if mixed else write, number if apart else MINE,
                      rng.choice((1.0, 1.0, 0.5, 0.1))) for number in range(1, count)]
    met = 0
    for master in masters:
        if not apart:
            master.rows = list(range(4000))
        elif rng.random() < 0.5:
            # a row that it goes on to shortly before may be opened afterwards
            master.rows, met = [start + rng.randrange(-120, 120)], met + 1
    took = pins_after(masters, requests, start, write, rng)
    return took, decided(requests, masters=count, met=met,
                         mixed=int(any(master.write != write for master in masters)), own=True,
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
        worst = max(pins_after([], requests, start, True, rng)
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
                shares += [pins_after([], requests, start, write, rng, spread) / allowed
                           for start in range(2 * PART.nREFI - 400, 2 * PART.nREFI + 20, 21)]
    assert 0.8 < max(shares) <= 1


def anywhere(rng):
    """Others whose addresses are interleaved, too: cycles taken and allowed."""
    count, requests = rng.randint(2, 8), rng.choice((1, 3, 8, 16))
    write, start = rng.random() < 0.5, PART.nREFI * rng.choice((1, 2)) - rng.randrange(0, 250)
    reads, banks = rng.choice((0, 0.5)), rng.choice((1, 1, PART.banks))
    masters = [Master(rng.random() >= reads, 0, rng.choice((1.0, 1.0, 0.5)), anywhere=banks)
               for _ in range(1, count)]
    return (pins_after(masters, requests, start, write, rng, 8),
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
