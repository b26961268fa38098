"""Testbench of the end-to-end system: each stage of a write measured, its data in DRAM compared."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cyclebound.golden.dram.device import BEAT_BYTES, DramDevice
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import end_to_end as bounds
from cyclebound.golden.noc.composition import Transaction
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.tb.bench import Bench, testbench

STAGES = "stages.json"      # beside the job: what each stage took and may take, by write
WINDOW, PERIOD = 512, 1024  # section V.B
_SETTLED = 40               # cycles after which all others are under way, a multiple of four
# by N_req and N_trans: the place and the cycles from reset from which `end_to_end_search` found the
# write longest
SEARCHED = {(1, 1): (423, _SETTLED), (3, 1): (135, _SETTLED), (11, 8): (426, 220)}
_FIRST_OPEN = 2             # cycles from reset, and the offset, to the first window
_HEADER = 2                 # from a packet's last word to its header on offer


@dataclass
class Events:
    """Cycles in which something was seen, from reset; ``written`` in DDR cycles, the others in
    those of the network.
    """

    writing: int | None = None
    filled: int | None = None
    reads: list[int] = field(default_factory=list)
    headers: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    begun: int = 0  # the DDR cycle of ``writing``

    @property
    def ready(self) -> int:
        """The cycle in which the first packet could begin."""
        return self.reads[63] + _HEADER


def network_cycle(now: int, quarters: int) -> int:
    """The network's cycles before the DDR cycle ``now`` of a test."""
    return now // 4 * quarters + min(now % 4, quarters)


class Scene:
    """The system with two devices in lockstep on its pins: a bus of 128 bits."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.part = part_named(p["part"])
        self.slots, self.quarters = p["nbytes"] // REQUEST_BYTES, p["quarters"]
        self.devices = [DramDevice(self.part), DramDevice(self.part)]
        self.events = Events()
        self.start = bench.cycle
        o = bench.outputs
        self._lists = [(o[name].mask, getattr(self.events, into)) for name, into in (
            ("read", "reads"), ("header", "headers"), ("arrived", "arrived"))]
        self._writing, self._filled = o["writing"].mask, o["filled"].mask
        self._op, self._valid = o["command.op"].mask, o["bus.valid"].mask
        self._any = (sum(mask for mask, _ in self._lists) | self._writing | self._filled
                     | self._op | self._valid)

    async def cycle(self, word: int) -> None:
        """One cycle with these inputs."""
        now = self.bench.cycle - self.start
        seen = await self.bench.step(word)
        if not seen & self._any:
            return
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
            self._command(now, seen)
        if seen & self._valid:
            self._beat(now, seen)

    def _command(self, now: int, seen: int) -> None:
        o = self.bench.outputs
        bank, row, column = (o[f"command.{name}"].of(seen) for name in ("bank", "row", "column"))
        command = Command(o["command.op"].of(seen))
        assert command is not Command.REF, "no refresh was to fall into the transaction"
        for device in self.devices:
            device.command(now, command, bank, row, 8 * column)

    def _beat(self, now: int, seen: int) -> None:
        o = self.bench.outputs
        if not o["bus.write"].of(seen):
            return
        data = o["data"].of(seen).to_bytes(REQUEST_BYTES // 4, "little")
        for number, device in enumerate(self.devices):
            device.data_in(now, data[number * BEAT_BYTES:][:BEAT_BYTES])
        tag = o["bus.tag"].of(seen)
        if o["bus.beat"].of(seen) == 3 and tag < self.slots:  # of port 0
            self.events.written.append(now)

    @property
    def stored(self) -> bytes:
        """Row 0 of bank 0, as far as the transaction goes."""
        beats = []
        for burst in range(self.slots):
            halves = [device.burst(0, 0, burst) for device in self.devices]
            for beat in range(4):
                beats += [half[BEAT_BYTES * beat:][:BEAT_BYTES] for half in halves]
        return b"".join(beats)


async def write(bench: Bench, requesters: int, competitors: int, offset: int, *,
                until_ready: bool = False, settled: int = _SETTLED) -> Events:
    """One transaction after ``settled`` cycles, with so many at local memory and at DDR3."""
    await bench.reset()
    values = {"window.period": PERIOD, "window.offset": offset, "window.length": WINDOW,
              "window.crossing": 4 * (bench.parameters["delta"] + 1),
              # the core, the DMA, and other cores
              "saturate": (1 << requesters) - 1 if requesters > 1 else 0,
              "compete": (1 << competitors - 1) - 1}
    word = bench.inputs.pack(values)
    window = {"window": WINDOW, "period": PERIOD}
    bench.declare("fill", requesters=requesters)
    bench.declare("first_packet", requesters=requesters)
    bench.declare("flow", requesters=requesters, **window)
    bench.declare("total", requesters=requesters, competitors=competitors, **window)
    scene = Scene(bench)
    for _ in range(settled):  # all begin to send, the reorder core fills
        await scene.cycle(word)
    assert (bench.cycle - scene.start) % 4 == 0  # a cycle of the network
    await scene.cycle(bench.inputs.pack({**values, "start": 1}))
    while len(scene.events.reads) < 64 or (
            not until_ready and len(scene.events.written) < scene.slots):
        await scene.cycle(word)
    if not until_ready:
        assert scene.stored == bounds.contents(bench.parameters["nbytes"])
    return scene.events


def path_of(requesters: int, competitors: int, bench: Bench) -> Transaction:
    """The write, as the bounds see it."""
    p = bench.parameters
    return bounds.transaction(requesters=requesters, competitors=competitors, nbytes=p["nbytes"],
                              delta=p["delta"], window=WINDOW, period=PERIOD,
                              quarters=p["quarters"])


def worst_places(requesters: int, competitors: int, bench: Bench) -> Iterable[int]:
    """A place of the period in which, by the bounds, it is worst that the first packet is ready."""
    path, p = path_of(requesters, competitors, bench), bench.parameters
    ends = [bounds.written(path, ready, **{name: p[name] for name in ("quarters", "cap", "part")})
            for ready in range(PERIOD)]
    yield ends.index(max(ends))


async def from_searched(bench: Bench, requesters: int, competitors: int) -> list[dict]:
    """The write from one start at random, and from the longest that a search found.

    Of other systems than the one that was searched, from where the bound is greatest.
    """
    place, settled = SEARCHED.get((requesters, competitors), (
        next(iter(worst_places(requesters, competitors, bench))), _SETTLED))
    return await measure(bench, requesters, competitors, (bench.rng.randrange(PERIOD), place),
                         settled=settled)


async def measure(bench: Bench, requesters: int, competitors: int, places: Iterable[int], *,
                  settled: int = _SETTLED) -> list[dict]:
    """The write with the first packet ready in these places of the period; observed.

    For each: N_req, N_trans, and by stage what was measured and what is allowed, in cycles of the
    network.
    """
    early = await write(bench, requesters, competitors, 0, until_ready=True, settled=settled)
    return [await measure_one(bench, requesters, competitors, place, early.ready, settled=settled)
            for place in places]


def total_of(bench: Bench, requesters: int, competitors: int) -> int:
    """The bound of the whole write, in DDR cycles."""
    p = bench.parameters
    return bounds.total(requesters=requesters, competitors=competitors, window=WINDOW,
                        period=PERIOD, **{name: p[name] for name in (
                            "nbytes", "delta", "quarters", "cap", "part")})


async def measure_one(bench: Bench, requesters: int, competitors: int, place: int, ready: int,
                      *, settled: int = _SETTLED) -> dict:
    """One of `measure`, if the first packet is ready in cycle ``ready``, wherever the window is;
    and ``took``, the DDR cycles of the whole."""
    p = bench.parameters
    quarters = p["quarters"]
    path = path_of(requesters, competitors, bench)
    events = await write(bench, requesters, competitors,
                         (ready - place - _FIRST_OPEN) % PERIOD, settled=settled)
    assert events.ready == ready
    late = bounds.arrivals(path, place)
    assert all(seen - events.ready < latest
               for seen, latest in zip(events.arrived, late, strict=True))
    told = events.filled + 1
    last, end = events.arrived[-1], events.written[-1]
    whole = end - events.begun + 1
    bench.dut._log.info(
        "N_req %d, N_trans %d, place %d: fill %d, first packet %d, flow %d; in all %d DDR cycles; "
        "bound %d", requesters, competitors, place, told - events.writing + 1, ready - told - 1,
        last - ready + 1, whole, total_of(bench, requesters, competitors))
    took = {"fill": told - events.writing + 1, "first_packet": ready - told - 1,
            "flow": last - ready + 1}
    took["dram"] = whole * quarters / 4 - sum(took.values())
    return {"requesters": requesters, "competitors": competitors, "measured": took, "took": whole,
            "bound": bounds.stages(path, place, quarters=quarters, cap=p["cap"], part=p["part"])}


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


@testbench
async def every_number_of_requesters(bench: Bench) -> None:
    for requesters in range(1, bench.parameters["requesters"] + 1):
        for competitors in sorted({1, 1 + bench.parameters["rivals"]}):
            keep(await measure(bench, requesters, competitors,
                               worst_places(requesters, competitors, bench)))


@testbench
async def every_number_of_rivals(bench: Bench) -> None:
    for competitors in range(1, 2 + bench.parameters["rivals"]):
        keep(await measure(bench, 1, competitors, worst_places(1, competitors, bench)))


@testbench
async def anywhere_in_the_period(bench: Bench) -> None:
    """Any number of either, the first packet ready in any place."""
    for _ in range(8):
        await measure(bench, bench.rng.randint(1, bench.parameters["requesters"]),
                      bench.rng.randint(1, 1 + bench.parameters["rivals"]),
                      (bench.rng.randrange(PERIOD), bench.rng.randrange(PERIOD)))
