"""Testbench of the many-core's memory path: applications with a table, and without one."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end import PACKET_FLITS
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, SEED_BITS
from cyclebound.golden.noc.execution_model import (
    Allocation,
    Application,
    Flow,
    Hardware,
    System,
    Transaction,
)
from cyclebound.golden.noc.many_core import Asked, asked, at_once, bound, compute_tiles, windows
from cyclebound.golden.noc.routes import Mesh
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import network_cycle, network_start
from cyclebound.tb.noc.many_core_tester import ManyCoreTester, Rival
from cyclebound.tools.noc.allocate import Choice, at_random, greedy, settle
from cyclebound.tools.noc.drawn_systems import drawn

_AHEAD = 16      # DDR cycles by which a transaction is prepared before it begins
_TRIES = 50      # systems drawn until one has an allocation
_APPLICATIONS = 4


def hardware(bench: Bench) -> Hardware:
    """What is simulated, for the execution model; of a bank, what the I/O tile has room for."""
    p = bench.parameters
    mesh = Mesh(p["rows"], p["columns"])
    return Hardware(mesh=mesh, io=mesh.tiles[p["io"]], delta=p["delta"], quarters=p["quarters"],
                    banks=p["banks"], cap=p["cap"], part=p["part"],
                    bank_bytes=min(8 * p["words"], p["slots"] * REQUEST_BYTES))


@dataclass
class Took:
    """DDR cycles of the longest of each transaction, by name; ``times``: how often it was seen."""

    longest: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, cycles: int) -> None:
        """One more."""
        self.longest[name] = max(cycles, self.longest.get(name, 0))
        self.times[name] = self.times.get(name, 0) + 1


async def play(bench: Bench, transactions: Sequence[Asked],
               given: Mapping[tuple[int, bool], tdma.Slot], period: int, *, until: int,
               hammered: Mapping[Rival, int] | None = None,
               tell: Callable[[int], None] = lambda cycle: None) -> Took:
    """Each transaction as often as it begins before cycle ``until`` of the network, from when all
    windows have opened once; what it moves is compared, and nothing else goes wrong."""
    await bench.reset()
    bench.forget()
    tester, rng, took = ManyCoreTester(bench, given, period, hammered), bench.rng, Took()
    first = period + rng.randrange(period)
    seen: dict[tuple[int, bool], tuple[str, int]] = {}

    def collect() -> None:
        for flow, (name, count) in list(seen.items()):
            if len(tester.done[flow]) > count:
                took.add(name, tester.done[flow][count] - tester.begun[flow] + 1)
                del seen[flow]

    due = sorted((first + at, number) for number, one in enumerate(transactions)
                 for at in range(one.start, until, one.period))
    for at, number in due:
        one = transactions[number]
        tell(at - first)
        await tester.run(max(0, network_start(at, bench) - tester.now - _AHEAD))
        collect()
        if not one.write:
            tester.fill_dram(one, rng.randbytes(one.nbytes))
        tester.declare(one)
        tester.begin(one, at, rng.getrandbits(SEED_BITS))
        flow = one.tile, one.write
        assert flow not in seen, f"{one.name} begins while {seen[flow][0]} is under way"
        seen[flow] = one.name, len(tester.done[flow])
    for _ in range(100):
        if not seen:
            break
        await tester.run(1024)
        collect()
    assert not seen, f"{[name for name, _ in seen.values()]} did not end"
    assert not tester.faults, tester.faults[:4]  # refused, stalled, overrun
    for one in transactions:
        if not one.write:
            bench.compare(await tester.in_local_memory(one), tester.in_dram(one),
                          f"what {one.name} read", count=one.bursts)
    return took


def rivals(transactions: Sequence[Asked]) -> dict[Rival, int]:
    """Of each tile the bank at which most ask, and how many, besides what comes in from the
    network; those without others are left out."""
    sharing: dict[Rival, int] = {}
    for one in transactions:
        others = [key for key in sharing if key[0] == one.tile]
        many = one.claim["requesters"] - (not one.write)
        if one.claim["requesters"] > 1 and many > max([0, *(sharing[key] for key in others)]):
            for key in others:
                del sharing[key]
            sharing[one.tile, one.local] = many
    return sharing


async def allocated(bench: Bench, system: System, allocation: Allocation, until: int,
                    tell: Callable[[int], None] = lambda cycle: None) -> Took:
    """A system with its table; the longest of each transaction is logged."""
    transactions = asked(system, allocation)
    took = await play(bench, transactions, windows(system, allocation), system.hardware.period,
                      until=until, hammered=rivals(transactions), tell=tell)
    for one in transactions:
        bench.dut._log.info("%s: %d times, at most %d of %d DDR cycles", one.name,
                            took.times[one.name], took.longest[one.name],
                            bound(one, system.hardware))
    return took


def drawn_with_table(bench: Bench, most: int) -> tuple[System, Allocation]:
    """Applications drawn at random, and an allocation of them."""
    for _ in range(_TRIES):
        system = drawn(bench.rng, most, hardware(bench))
        allocation = (greedy if bench.rng.random() < 0.5 else
                      lambda system: at_random(system, bench.rng))(system)
        if allocation is not None:
            return system, allocation
    raise AssertionError(f"of {_TRIES} systems drawn none has an allocation")


@testbench
async def a_table_that_holds(bench: Bench) -> None:
    """A drawn system over a hyperperiod."""
    system, allocation = drawn_with_table(bench, _APPLICATIONS)
    await allocated(bench, system, allocation, system.hyperperiod * system.hardware.slot)


@testbench
async def many_tables(bench: Bench) -> None:
    for _ in range(6):
        system, allocation = drawn_with_table(bench, 2 + bench.rng.randrange(7))
        await allocated(bench, system, allocation, 2 * system.hyperperiod * system.hardware.slot)


# -- without a table -------------------------------------------------------------------------------


def flows_of(bench: Bench, count: int) -> list[Flow]:
    """So many flows, writes and reads in turn."""
    where = hardware(bench)
    tiles = compute_tiles(where.mesh, where.io)
    return [(tile, write) for tile in tiles for write in (True, False)][:count]


def one_each(bench: Bench, flows: Sequence[Flow], nbytes: int, *, banks: Sequence[int]
             ) -> tuple[System, Allocation]:
    """An application for each flow, each with a bank of local memory for itself, and these of
    DDR3; windows of as many packets as fit, equal for all flows of a direction."""
    base = hardware(bench)
    period = 1 << 16
    rows_apart = part_named(base.part).banks  # with interleaved addresses, too
    applications = tuple(Application(f"a{number}", tile, (Transaction(
        f"a{number}", "t", nbytes, write, period, period, (number + 1) * rows_apart),))
        for number, (tile, write) in enumerate(flows))
    system = System(base, applications)
    local = {f"a{number}.t": int(not write) for number, (_, write) in enumerate(flows)}
    most = {way: base.most_packets // max(1, sum(write == way for _, write in flows))
            for way in (False, True)}
    return system, settle(system, Choice(
        local, {f"a{number}": bank for number, bank in enumerate(banks)},
        {flow: most[flow[1]] for flow in system.flows}, dict.fromkeys(local, 0)))


def _how(bench: Bench) -> dict[str, Any]:
    return {"interleaved": bool(bench.parameters["interleaved"]),
            "io_core": bench.parameters["io_core"]}


async def without_table(bench: Bench, flows: Sequence[Flow], *, own_banks: bool, requesters: int,
                        nbytes: int, times: int, any_banks: bool = False) -> Took:
    """All of them, each a few times, from starts near each other; ``requesters`` at each writing
    bank of local memory, which ask in every cycle.

    ``any_banks``: each flow has any bank of DDR3, and each other requester asks for any bank of
    local memory; what may be taken is the same, since it is not known which.
    """
    rng = bench.rng
    banks = range(len(flows)) if own_banks else [
        rng.randrange(bench.parameters["banks"]) * any_banks for _ in flows]
    system, allocation = one_each(bench, flows, nbytes, banks=banks)
    spread = system.hardware.period
    transactions, sharing = [], {}
    for one in at_once(system, allocation, [bench.rng.randrange(spread) for _ in flows],
                       own_banks=own_banks, **_how(bench)):
        if one.write and requesters > 1:
            one = replace(one, claim={**one.claim, "requesters": requesters})
            sharing[one.tile, one.local] = requesters if not any_banks else 1 + sum(
                rng.randrange(bench.parameters["banks"]) == one.local
                for _ in range(requesters - 1))
        transactions.append(one)
    where = system.hardware
    longest = network_cycle(max(bound(one, where) for one in transactions), where.quarters)
    period = (longest // spread + 2) * spread  # a start at random, and what it takes
    transactions = [replace(one, period=period) for one in transactions]
    took = await play(bench, transactions, windows(system, allocation), spread,
                      until=times * period, hammered=sharing)
    keep("interleaved" if bench.parameters["interleaved"] else "own banks" if own_banks else
         "random banks" if any_banks else "one bank", requesters, transactions, took, where)
    return took


def keep(how: str, requesters: int, transactions: Sequence[Asked], took: Took,
         where: Hardware) -> None:
    """Put the longest write and read, and what they may take, beside the job, in DDR cycles."""
    file = Path(os.environ["CYCLEBOUND_JOB"]).with_name("applications.json")
    before = json.loads(file.read_text()) if file.exists() else []
    row = {"flows": len(transactions), "banks": how, "requesters": requesters}
    for write, name in ((True, "write"), (False, "read")):
        if some := [one for one in transactions if one.write == write]:
            row[name] = [max(took.longest[one.name] for one in some),
                         max(bound(one, where) for one in some)]
    file.write_text(json.dumps([*before, row]))


@testbench
async def everywhere_at_once(bench: Bench) -> None:
    """As many flows as there may be, all in one bank of DDR3, and all requesters at the local banks
    of those that write; then each with banks of its own."""
    flows, most = flows_of(bench, 8), bench.parameters["requesters"] - 1
    nbytes = min(1024, hardware(bench).bank_bytes)
    await without_table(bench, flows, own_banks=False, requesters=most, nbytes=nbytes, times=1)
    await without_table(bench, flows, own_banks=True, requesters=1, nbytes=nbytes, times=1)


@testbench
async def from_two_to_eight(bench: Bench) -> None:
    """Worst case everywhere, banks of their own, both, and with a table."""
    most, nbytes = bench.parameters["requesters"] - 1, min(4096, hardware(bench).bank_bytes)
    for count in (2, 4, 6, 8):
        flows = flows_of(bench, count)
        for own_banks, requesters in ((False, most), (False, 1), (True, most), (True, 1)):
            await without_table(bench, flows, own_banks=own_banks, requesters=requesters,
                                nbytes=nbytes, times=4)
        system, _ = one_each(bench, flows, nbytes, banks=range(count))
        allocation = greedy(system)
        assert allocation is not None
        took = await allocated(bench, system, allocation, 4 << 16)
        keep("table", 1, asked(system, allocation), took, system.hardware)


@testbench
async def random_banks(bench: Bench) -> None:
    """Banks that are not allocated, neither of DDR3 nor of local memory."""
    most, nbytes = bench.parameters["requesters"] - 1, min(4096, hardware(bench).bank_bytes)
    for count in (2, 4, 6, 8):
        await without_table(bench, flows_of(bench, count), own_banks=False, requesters=most,
                            nbytes=nbytes, times=4, any_banks=True)


@testbench
async def interleaved(bench: Bench) -> None:
    """One to eight flows whose addresses are interleaved: all of them meet in all banks."""
    nbytes = min(4096, hardware(bench).bank_bytes)
    for count in (1, 2, 4, 6, 8):
        await without_table(bench, flows_of(bench, count), own_banks=False, requesters=1,
                            nbytes=nbytes, times=4)


@testbench
async def commanded(bench: Bench) -> None:
    """Compute tiles ask for their reads, while they write."""
    most, nbytes = bench.parameters["requesters"] - 1, min(4096, hardware(bench).bank_bytes)
    tiles = len(compute_tiles(hardware(bench).mesh, hardware(bench).io))
    for count in range(2, 2 * min(tiles, 4) + 1, 2):
        for own_banks, requesters in ((True, 1), (True, most), (False, 1)):
            await without_table(bench, flows_of(bench, count), own_banks=own_banks,
                                requesters=requesters, nbytes=nbytes, times=4)


@testbench
async def commanded_alone(bench: Bench) -> None:
    """One read, asked for in any cycle of the period, and nothing else; its command waits for its
    tile's window."""
    nbytes = min(256, hardware(bench).bank_bytes)
    system, allocation = one_each(bench, flows_of(bench, 2), nbytes, banks=(0, 1))
    period, length = system.hardware.period, 70  # of a window: one packet, and as little as that
    _, read = at_once(system, allocation, (0, 0), own_banks=True, **_how(bench))
    claim = {"masters": 1, "met": 0, "mixed": 0, "write_nbytes": 0, "window": PACKET_FLITS,
             "write_window": length}
    read = replace(read, claim={**read.claim, **claim})
    apart = (network_cycle(bound(read, system.hardware), bench.parameters["quarters"])
             // period + 2) * period
    for offset in range(0, period, period // 8):  # of one window to the other
        read = replace(read, start=offset // 8, period=apart + 31)
        given = {(tile, write): replace(slot, offset=0 if write else offset, length=length)
                 for (tile, write), slot in windows(system, allocation).items()}
        await play(bench, [read], given, period, until=34 * read.period)


@testbench
async def transactions_that_are_none(bench: Bench) -> None:
    """Refused, each by its flow, and the good ones after them arrive."""
    system, allocation = one_each(bench, flows_of(bench, 2), 256, banks=(0, 1))
    await bench.reset()
    bench.forget()
    tester = ManyCoreTester(bench, windows(system, allocation), system.hardware.period)
    one, other = at_once(system, allocation, (0, 0), own_banks=True, **_how(bench))
    p, burst_words = bench.parameters, 16
    wrong: list[dict[str, Any]] = [
        {"bursts": 0}, {"column": tester.part.bursts_per_row - 1, "bursts": 2},
        {"word": p["words"] - burst_words, "bursts": 2},
        *([{"word": 0, "bursts": p["slots"] + 1}] if p["slots"] * burst_words < p["words"] else [])]
    at = _AHEAD + network_cycle(tester.now, p["quarters"])
    tester.fill_dram(other, bench.rng.randbytes(other.nbytes))
    for changes in wrong:
        for each in (one, other):
            tester.try_bad(replace(each, **changes), at)
        at += 8
    expected = [("refused", 1 << one.tile | 1 << tester.tiles + other.tile)] * len(wrong)
    if tester.tiles > 1:  # the flow of a tile that has no window
        tester.try_bad(replace(one, tile=tester.tiles - 1, word=0), at)
        expected.append(("refused", 1 << tester.tiles - 1))
        for _ in range(2):  # nor can its reads be asked for, the second one no less
            at += 512  # the I/O tile has dropped what it had read
            tester.try_bad(replace(other, tile=tester.tiles - 1), at)
            expected.append(("refused", 1 << 2 * tester.tiles - 1))
    await tester.run(network_start(at + 64 + 2 * one.nbytes, bench) - tester.now)
    assert [fault[1:] for fault in tester.faults] == expected, tester.faults
    tester.faults.clear()
    at = network_cycle(tester.now, p["quarters"]) + _AHEAD
    for each in (one, other):
        tester.begin(each, at, 7)
    await tester.run(8192)
    assert len(tester.done[one.tile, True]) == len(tester.done[other.tile, False]) == 1
    bench.compare(await tester.in_local_memory(other), tester.in_dram(other), "what was read")
