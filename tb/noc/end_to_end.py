"""Testbench of the end-to-end system: each stage of a write measured, its data in DRAM compared."""

import functools
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import end_to_end as bounds
from cyclebound.golden.noc.composition import Transaction
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.wide_dram import WideDram

STAGES = "stages.json"      # beside the job: what each stage took and may take, by write
ROUTERS = 4
WINDOW, PERIOD = 512, 1024  # section V.B
_ONE_BY_ONE = 16            # cycles from one late master's beginning to the next one's
SETTLED = 40               # cycles after which all others are under way, a multiple of four
# by N_req and N_trans: the place, the cycles from reset, and the others' turn from which
# `end_to_end_search` found the write longest
SEARCHED = {(1, 1): (423, 26_629, 0), (3, 1): (135, 28_049, 2), (11, 8): (442, 27_817, 6)}
_TOGETHER = 256             # cycles that are simulated without a look at events
_FIRST_OPEN = 2             # cycles from reset, and the offset, to the first window
_HEADER = 2                 # from a packet's last word to its header on offer
_NEAR, _EVENLY = 7, 8       # starts that a sweep tries: so many on either side, and in an interval
_ANY_START = 30, 25_000     # cycles of the network from reset: with none of the refreshes, or all
_REST = "quarters", "cap", "part"  # parameters of the bound that are not the path's


@dataclass
class Events:
    """Cycles in which something was seen, from reset; ``written`` and ``refreshes`` in DDR
    cycles, the others in those of the network.
    """

    writing: int | None = None
    filled: int | None = None
    reads: list[int] = field(default_factory=list)
    headers: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    refreshes: list[int] = field(default_factory=list)
    begun: int = 0  # the DDR cycle of ``writing``

    @property
    def ready(self) -> int:
        """The cycle in which the first packet could begin."""
        return self.reads[63] + _HEADER


def network_cycle(now: int, quarters: int) -> int:
    """The network's cycles before the DDR cycle ``now`` of a test."""
    return now // 4 * quarters + min(now % 4, quarters)


class EndToEndTester:
    """The system with two devices in lockstep on its pins: a bus of 128 bits."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.part = part_named(p["part"])
        self.slots, self.quarters = p["nbytes"] // REQUEST_BYTES, p["quarters"]
        self.dram = WideDram(self.part, bench.outputs)
        self.events = Events(refreshes=self.dram.refreshes)
        self.start = bench.cycle
        o = bench.outputs
        self._lists = [(o[name].mask, getattr(self.events, into)) for name, into in (
            ("read", "reads"), ("header", "headers"), ("arrived", "arrived"))]
        self._writing, self._filled = o["writing"].mask, o["filled"].mask
        self._op, self._valid = o["command.op"].mask, o["bus.valid"].mask
        self._any = (sum(mask for mask, _ in self._lists) | self._writing | self._filled
                     | self._op | self._valid)

    async def run(self, words: Sequence[int]) -> None:
        """A cycle with each of these inputs."""
        now = self.bench.cycle - self.start
        for cycle, seen in enumerate(await self.bench.play(words), now):
            if seen & self._any:
                self._seen(cycle, seen)

    def _seen(self, now: int, seen: int) -> None:
        events = self.events
        cycle = network_cycle(now, self.quarters)
        for mask, cycles in self._lists:
            if seen & mask:
                cycles.append(cycle)
        if seen & self._writing and events.writing is None and now % 4 < self.quarters:
            events.writing, events.begun = cycle, now
        if seen & self._filled:
            events.filled = cycle
        if seen & self._op:
            self.dram.command(now, seen)
        if seen & self._valid:
            self._beat(now, seen)

    def _beat(self, now: int, seen: int) -> None:
        o = self.bench.outputs
        self.dram.beat(now, seen)
        if (o["bus.write"].of(seen) and o["bus.beat"].of(seen) == 3
                and o["bus.tag"].of(seen) < self.slots):  # of port 0
            self.events.written.append(now)

    @property
    def stored(self) -> bytes:
        """Row 0 of bank 0, as far as the transaction goes."""
        return self.dram.read(0, 0, 0, self.slots * REQUEST_BYTES)


@dataclass(frozen=True)
class Others:
    """The other masters of a table that holds: each in a bank of its own.

    Attributes
    ----------
    read : int
        How many of them read; the others write.
    late : int
        How many begin while the write is under way, and so open a row; the others go on all the
        time.
    begin : int
        DDR cycles from the core's start until the first of the late ones begins.
    """

    read: int = 0
    late: int = 0
    begin: int = 0


async def write(bench: Bench, requesters: int, competitors: int, offset: int, *,
                until_ready: bool = False, settled: int = SETTLED, turn: int = 0,
                others: Others | None = None) -> Events:
    """One transaction after ``settled`` cycles, with so many at local memory and at DDR3.

    The others ask for local memory from the network's cycle ``turn`` on: where its round robin is
    when the core begins depends on that. Those at DDR3 are rivals for the transaction's bank,
    or, with ``others``, have banks of their own.
    """
    await bench.reset()
    values = {"window.period": PERIOD, "window.offset": offset, "window.length": WINDOW,
              "window.crossing": ROUTERS * (bench.parameters["delta"] + 1),
              # the core, the DMA, and other cores
              "saturate": (1 << requesters) - 1 if requesters > 1 else 0,
              "compete": (1 << competitors - 1) - 1}
    if others is not None:
        values |= {"own_banks": 1, "reads": (1 << others.read) - 1,
                   "compete": (1 << competitors - 1 - others.late) - 1}
    word = bench.inputs.pack(values)
    opened = network_cycle(settled, bench.parameters["quarters"]) >= offset + _FIRST_OPEN
    window = {"window": WINDOW, "period": PERIOD}
    bench.declare("fill", requesters=requesters)
    bench.declare("first_packet", requesters=requesters)
    bench.declare("flow", requesters=requesters, **window, opened=int(opened))
    if others is None:
        bench.declare("total", requesters=requesters, competitors=competitors, **window,
                      opened=int(opened))
    else:
        bench.undeclare("total")
        bench.declare("scheduled_write", requesters=requesters, masters=competitors,
                      met=others.late, mixed=int(others.read > 0), routers=ROUTERS,
                      crossing=values["window.crossing"], **window)
    tester = EndToEndTester(bench)
    assert settled % 4 < tester.quarters         # a cycle of the network
    idle = network_start(turn, bench)
    await tester.run([bench.inputs.pack({**values, "saturate": 0})] * idle)
    await tester.run([word] * (settled - idle))  # all begin to send, the reorder core fills
    await tester.run([bench.inputs.pack({**values, "start": 1})])
    table = others if others is not None and not until_ready else Others()
    for late in range(table.late):
        await tester.run([word] * (table.begin if late == 0 else _ONE_BY_ONE))
        values["compete"] = values["compete"] << 1 | 1
        word = bench.inputs.pack(values)
    while len(tester.events.reads) < 64 or (
            not until_ready and len(tester.events.written) < tester.slots):
        await tester.run([word] * _TOGETHER)
    if not until_ready:
        stored = tester.stored
        bench.compare(stored, bounds.contents(bench.parameters["nbytes"]), "row 0 of bank 0",
                      count=len(stored) // REQUEST_BYTES)
    return tester.events


def path_of(requesters: int, competitors: int, bench: Bench) -> Transaction:
    """The write, as the bounds see it."""
    p = bench.parameters
    return bounds.transaction(requesters=requesters, competitors=competitors, nbytes=p["nbytes"],
                              delta=p["delta"], window=WINDOW, period=PERIOD,
                              quarters=p["quarters"])


@functools.cache
def _ends(requesters: int, competitors: int, **parameters) -> list[int]:
    """What the bound allows, by the place of the period in which the first packet is ready."""
    path = bounds.transaction(
        requesters=requesters, competitors=competitors, window=WINDOW, period=PERIOD,
        **{name: parameters[name] for name in ("nbytes", "delta", "quarters")})
    return [bounds.written(path, ready, **{name: parameters[name] for name in _REST})
            for ready in range(PERIOD)]


def ends(requesters: int, competitors: int, bench: Bench) -> list[int]:
    """`_ends` of the system that is simulated."""
    return _ends(requesters, competitors, **{
        name: bench.parameters[name] for name in ("nbytes", "delta", *_REST)})


def worst_place(requesters: int, competitors: int, bench: Bench) -> int:
    """A place of the period in which, by the bounds, it is worst that the first packet is ready."""
    found = ends(requesters, competitors, bench)
    return found.index(max(found))


def network_start(number: int, bench: Bench) -> int:
    """The DDR cycle from reset in which the network has its cycle of that number."""
    return number // bench.parameters["quarters"] * 4 + number % bench.parameters["quarters"]


def starts_in_interval(bench: Bench) -> range:
    """The network's cycles from one refresh to the next, as soon as each interval has one."""
    quarters, part = bench.parameters["quarters"], part_named(bench.parameters["part"])
    first = network_cycle(8 * part.nREFI, quarters)
    return range(first, network_cycle(9 * part.nREFI, quarters))


async def from_searched(bench: Bench, requesters: int, competitors: int) -> list[dict]:
    """The write from one start at random, and from the longest that a search found.

    Of other systems than the one that was searched, from where the bound is greatest.
    """
    place, settled, turn = SEARCHED.get((requesters, competitors), (
        worst_place(requesters, competitors, bench),
        network_start(starts_in_interval(bench)[0], bench), 0))
    await measure(bench, requesters, competitors, bench.rng.randrange(PERIOD),
                  4 * bench.rng.randrange(SETTLED // 4, SETTLED))
    if settled % 4 >= bench.parameters["quarters"]:  # no cycle of the network
        settled -= settled % 4
    return [await measure(bench, requesters, competitors, place, settled, turn)]


async def place_first_packet(bench: Bench, requesters: int, competitors: int, place: int,
                             settled: int, turn: int, others: Others | None = None,
                             after: int | None = None) -> Events:
    """The write with the window moved so that the first packet is ready in this place of it.

    ``after`` is how many cycles of the network after the core was told it is; None: it is seen in
    a write before.
    """
    begin = network_cycle(settled, bench.parameters["quarters"])
    if after is None:
        early = await write(bench, requesters, competitors, 0, until_ready=True, settled=settled,
                            turn=turn, others=others)
        after = early.ready - begin
    events = await write(bench, requesters, competitors,
                         (begin + after - place - _FIRST_OPEN) % PERIOD, settled=settled, turn=turn,
                         others=others)
    assert events.ready == begin + after
    return events


async def measure(bench: Bench, requesters: int, competitors: int, place: int,
                  settled: int = SETTLED, turn: int = 0) -> dict:
    """The write with the first packet ready in this place of the period, begun so many cycles after
    reset, in this turn of the others (`write`); observed.

    N_req, N_trans, and by stage what was measured and what is allowed, in cycles of the network;
    and ``took``, the DDR cycles of the whole, with ``refreshes`` in them.
    """
    p = bench.parameters
    quarters, path = p["quarters"], path_of(requesters, competitors, bench)
    events = await place_first_packet(bench, requesters, competitors, place, settled, turn)
    ready = events.ready
    first = ready - (ready - place - _FIRST_OPEN) % PERIOD - _FIRST_OPEN  # since the first window
    place = min(first, place)
    late = bounds.arrivals(path, place)
    assert all(seen - events.ready < latest
               for seen, latest in zip(events.arrived, late, strict=True))
    assert events.writing is not None
    assert events.filled is not None
    told = events.filled + 1
    last, end = events.arrived[-1], events.written[-1]
    whole = end - events.begun + 1
    refreshes = sum(events.begun <= cycle <= end for cycle in events.refreshes)
    bench.dut._log.info(
        "N_req %d, N_trans %d, place %d, from cycle %d, turn %d: fill %d, first packet %d, flow "
        "%d; in all %d DDR cycles with %d refreshes; bound %d", requesters, competitors, place,
        settled, turn,
        told - events.writing + 1, ready - told - 1, last - ready + 1, whole, refreshes,
        max(ends(requesters, competitors, bench)))
    took = {"fill": told - events.writing + 1, "first_packet": ready - told - 1,
            "flow": last - ready + 1}
    took["dram"] = whole * quarters / 4 - sum(took.values())
    return {"requesters": requesters, "competitors": competitors, "measured": took, "took": whole,
            "refreshes": refreshes,
            "bound": bounds.stages(path, place, quarters=quarters, cap=p["cap"], part=p["part"])}


async def worst_turn(bench: Bench, requesters: int, competitors: int, start: int) -> int:
    """The others' turn in which the core that begins in this cycle of the network waits longest."""
    waits = []
    for turn in range(requesters):
        early = await write(bench, requesters, competitors, 0, until_ready=True,
                            settled=network_start(start, bench), turn=turn)
        assert early.writing is not None
        waits.append(early.ready - early.writing)
    return waits.index(max(waits))


def met_by_a_refresh(row: dict, start: int, bench: Bench) -> Iterable[int]:
    """Starts near the one from which a refresh falls due when the last request is looked at.

    ``row`` is the write from ``start`` without one; in cycles of the network.
    """
    part, interval = part_named(bench.parameters["part"]), starts_in_interval(bench)
    end = start + network_cycle(row["took"] - part.nCWD - part.nBURST, bench.parameters["quarters"])
    near = interval[0] + start - end
    while near < interval[0]:
        near += len(interval)
    return range(near - _NEAR, near + _NEAR + 1)


def keep(rows: Iterable[dict]) -> None:
    """Put writes beside the job, for a picture; several tests may do so."""
    file = Path(os.environ["CYCLEBOUND_JOB"]).with_name(STAGES)
    before = json.loads(file.read_text()) if file.exists() else []
    whole = {(row["requesters"], row["competitors"]): row for row in [*before, *rows]}
    file.write_text(json.dumps(list(whole.values())))


@testbench
async def alone(bench: Bench) -> None:
    for requesters in (1, 3):
        keep(await from_searched(bench, requesters, 1))


@testbench
async def all_at_once(bench: Bench) -> None:
    most = bench.parameters["requesters"]
    masters = 1 + bench.parameters["rivals"]
    keep(await from_searched(bench, most, masters))


async def sweep(bench: Bench, requesters: int, competitors: int) -> None:
    """The longest of some starts: alone, of those that a refresh makes longest; with others, of
    some that lie evenly between two refreshes. And ``plain``: what it takes before the first one.
    """
    place, interval = worst_place(requesters, competitors, bench), starts_in_interval(bench)
    first = network_cycle(SETTLED, bench.parameters["quarters"])
    turn = await worst_turn(bench, requesters, competitors, first)
    plain = await measure(bench, requesters, competitors, place, SETTLED, turn)
    starts = (met_by_a_refresh(plain, first, bench) if competitors == 1
              else interval[::-(-len(interval) // _EVENLY)])
    rows = [await measure(bench, requesters, competitors, place, network_start(start, bench),
                          (turn + start - first) % requesters) for start in starts]
    keep([{**max(rows, key=lambda row: row["took"]), "plain": plain["took"]}])


@testbench
async def every_number_of_requesters(bench: Bench) -> None:
    for requesters in range(1, bench.parameters["requesters"] + 1):
        for competitors in sorted({1, 1 + bench.parameters["rivals"]}):
            await sweep(bench, requesters, competitors)


@testbench
async def every_number_of_rivals(bench: Bench) -> None:
    for competitors in range(2, 1 + bench.parameters["rivals"]):
        await sweep(bench, 1, competitors)


@testbench
async def anywhere_in_the_period(bench: Bench) -> None:
    """Any number of either, the first packet ready in any place, begun in any cycle."""
    for _ in range(8):
        await measure(bench, bench.rng.randint(1, bench.parameters["requesters"]),
                      bench.rng.randint(1, 1 + bench.parameters["rivals"]),
                      bench.rng.randrange(PERIOD),
                      network_start(bench.rng.randrange(*_ANY_START), bench))
