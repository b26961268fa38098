"""Testbench of the end-to-end read: each stage measured, and what is in the bank compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import end_to_end_read as bounds
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import keep, network_cycle
from cyclebound.tb.noc.wide_dram import WideDram
from cyclebound.tools.noc.read_attack import WRITER, ReadAttack, System

WINDOW, PERIOD = 512, 1024  # section V.B
_SETTLED = 40     # cycles after which all others are under way
_TOGETHER = 256   # cycles that are simulated without a look at events while nothing is read
_FIRST_OPEN = 2   # cycles from reset, and the offset, to the first window
_OWED = 8         # refreshes that the page controller lets come together
_DECIDED = 6      # from a descriptor until its first command is decided on
FOUND = {2: (0, 24_345, 25_686), 3: (0, 23_861), 4: (0, 885, 22_461), 5: (0, 24_813),
         7: (24_069,), 8: (0, 24_516, 24_813, 25_003)}
"""By N_trans: starts that searches on the models have found, those of docs/noc.md among them."""
_ANY_START = 20_000, 30_000  # DDR cycles from reset: without a refresh, and with some


@dataclass
class ReadEvents:
    """DDR cycles from reset in which something was seen; ``words`` are those of the bank."""

    taken: list[int] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)   # bursts, by their last beat on the bus
    passed: list[int] = field(default_factory=list)  # words of a flit
    headers: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    stalled: list[int] = field(default_factory=list)
    overrun: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    refreshes: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)


class ReadTester:
    """The system with two devices in lockstep on its pins: a bus of 128 bits.

    A command is seen at the latest when its data are due: as many cycles are simulated at a time as
    a read takes to its first beat.
    """

    def __init__(self, bench: Bench, values: dict[str, int]) -> None:
        self.bench, self.values, p = bench, values, bench.parameters
        self.part = part_named(p["part"])
        self.dram = WideDram(self.part, bench.outputs)
        self.events = ReadEvents(refreshes=self.dram.refreshes)
        self.start = bench.cycle
        o, events = bench.outputs, self.events
        self._lists = [(o[name].mask, into) for name, into in (
            ("passed", events.passed), ("header", events.headers), ("arrived", events.arrived),
            ("stored", events.stored),
            ("stalled", events.stalled), ("overrun", events.overrun), ("refused", events.refused))]
        self._op, self._valid = o["command.op"].mask, o["bus.valid"].mask
        self._seen, self._ready = o["seen.valid"].mask, o["reads.ready"].mask
        self._any = (sum(mask for mask, _ in self._lists) | self._op | self._valid | self._seen)
        self._burst = o["bus.write"], o["bus.beat"], o["bus.tag"]

    @property
    def now(self) -> int:
        """The coming cycle, from the reset."""
        return self.bench.cycle - self.start

    def fill(self, row: int, data: bytes) -> None:
        """The beginning of a row of bank 0, before it is read."""
        self.dram.fill(0, row, 0, data)

    async def run(self, cycles: int, **values: int) -> list[int]:
        """So many cycles, with other inputs; what was seen in each."""
        base = self.bench.inputs.pack({**self.values, **values})
        outputs: list[int] = []
        while len(outputs) < cycles:
            now, count = self.now, min(self.part.nCAS, cycles - len(outputs))
            words = [base] * count
            for ahead in range(count):
                if (beat := self.dram.due.pop(now + ahead, None)) is not None:
                    words[ahead] = base | self.bench.inputs.pack({"dq_in": beat})
            seen = await self.bench.play(words)
            for cycle, output in enumerate(seen, now):
                self._look(cycle, output)
            outputs += seen
        return outputs

    def _look(self, now: int, seen: int) -> None:
        if not seen & self._any:
            return
        for mask, cycles in self._lists:
            if seen & mask:
                cycles.append(now)
        if seen & self._op:
            self.dram.command(now, seen)
        if seen & self._valid:
            self.dram.beat(now, seen)
            write, beat, tag = (field.of(seen) for field in self._burst)
            if not write and beat == 3 and tag < self.bench.parameters["nbytes"] // REQUEST_BYTES:
                self.events.whole.append(now)
        if seen & self._seen:
            self.events.words.append(self.bench.outputs["seen.data"].of(seen))

    async def read(self, row: int, bursts: int, **values: int) -> int:
        """Hand over a read of the beginning of that row; the cycle in which it was taken."""
        asked = {"reads.valid": 1, "reads.payload.row": row, "reads.payload.bursts": bursts,
                 **values}
        while not (await self.run(1, **asked))[0] & self._ready:
            pass
        self.events.taken.append(self.now - 1)
        return self.now - 1

    async def whole(self, words: int) -> None:
        """Until so many words of the bank have been written since reset."""
        while len(self.events.stored) < words:
            await self.run(_TOGETHER)

    async def contents(self, words: int) -> list[int]:
        """What a core reads from the bank, word by word; the others pause."""
        await self.run(8, saturate=0)
        bench, before = self.bench, len(self.events.words)
        for word in range(words):
            granted = 0
            while not granted:
                seen = await self.run(1, **{"look.valid": 1, "look.word": word, "saturate": 0})
                granted = seen[0] & bench.outputs["network"].mask
        await self.run(4, saturate=0)
        return self.events.words[before:]

    async def compare(self, row: int, data: bytes) -> None:
        """The bank against what was in that row."""
        words = len(data) // WORD_BYTES
        stored = await self.contents(words)
        assert len(stored) == words
        for word, found in enumerate(stored):
            self.bench.compare(f"{found:016x}", data[WORD_BYTES * word:][:WORD_BYTES][::-1].hex(),
                               f"word {word} of row {row}, as it is in local memory")


def window_of(requesters: int, bench: Bench) -> int:
    """The window that a receiver with so many requesters at its bank needs."""
    return bounds.longest_window(requesters=requesters, packets=bench.parameters["packets"],
                                 delta=bench.parameters["delta"], period=PERIOD, most=WINDOW)


def most_requesters(bench: Bench) -> int:
    """The most that leave the receiver a window: a packet is in the bank within a period."""
    crossing = 4 * (bench.parameters["delta"] + 1)
    return min(bench.parameters["requesters"], (PERIOD - crossing) // (REQUEST_BYTES // 4) - 1)


def inputs(requesters: int, competitors: int, offset: int, window: int,
           bench: Bench) -> dict[str, int]:
    """The settings of one read."""
    return {"window.period": PERIOD, "window.offset": offset, "window.length": window,
            "window.crossing": 4 * (bench.parameters["delta"] + 1),
            # the core, and other cores; the DMA asks when it has something
            "saturate": ((1 << requesters) - 1) & ~2 if requesters > 1 else 0,
            "compete": (1 << competitors - 1) - 1}


def declare(requesters: int, competitors: int, window: int, offset: int, tester: ReadTester
            ) -> None:
    """What the read to come may take."""
    bench = tester.bench
    opened = network_cycle(tester.now, bench.parameters["quarters"]) >= offset + _FIRST_OPEN
    table, opens = {"window": window, "period": PERIOD}, {"opened": int(opened)}
    bench.declare("data", competitors=competitors)
    bench.undeclare("flow")
    if competitors == 1:
        bench.declare("flow", requesters=requesters, competitors=1, **table, **opens)
    bench.declare("stored", requesters=requesters, **table)
    bench.declare("total", requesters=requesters, competitors=competitors, **table, **opens)


async def measure(bench: Bench, requesters: int, competitors: int, offset: int, start: int, *,
                  reads: Sequence[int] = (1, 0)) -> ReadEvents:
    """Reads of these rows, the last one from DDR cycle ``start`` after reset on; all compared.

    The one before leaves another row of the bank open.
    """
    await bench.reset()
    window, p = window_of(requesters, bench), bench.parameters
    tester = ReadTester(bench, inputs(requesters, competitors, offset, window, bench))
    data, words = {}, p["nbytes"] // WORD_BYTES
    for row in reads:
        data[row] = bench.rng.randbytes(p["nbytes"])
        tester.fill(row, data[row])
    await tester.run(min(_SETTLED, start))
    for number, row in enumerate(reads, 1):
        if number == len(reads):
            assert tester.now <= start, (tester.now, start)
            await tester.run(start - tester.now)
        declare(requesters, competitors, window, offset, tester)
        await tester.read(row, p["nbytes"] // REQUEST_BYTES)
        await tester.whole(number * words)
        assert len(tester.events.stored) == number * words
        await tester.compare(row, data[row])
    events = tester.events
    assert not events.stalled
    assert not events.overrun
    depth, allowed = queued(events), bounds.read_queue(
        **{name: p[name] for name in ("nbytes", "quarters", "part")})
    bench.compare(depth <= allowed, True, f"{depth} bursts in the DMA's queue, {allowed} allowed")
    refreshes = sum(events.taken[-1] <= cycle <= events.stored[-1] for cycle in events.refreshes)
    bench.dut._log.info(
        "N_req %d, N_trans %d, window %d from %d, start %d: %d DDR cycles with %d refreshes, up to "
        "%d bursts queued", requesters, competitors, window, offset, start, took(events), refreshes,
        depth)
    return events


def took(events: ReadEvents) -> int:
    """DDR cycles of the last read."""
    return events.stored[-1] - events.taken[-1] + 1


def queued(events: ReadEvents) -> int:
    """The most bursts of the last read that the DMA had, whole and with words left to pass on."""
    begun, words = events.taken[-1], REQUEST_BYTES // 4
    whole = [cycle for cycle in events.whole if cycle >= begun]
    gone = [cycle for cycle in events.passed if cycle >= begun][words - 1::words]
    return max(number - sum(cycle < come for cycle in gone)
               for number, come in enumerate(whole, 1))


def stages(events: ReadEvents, bench: Bench) -> dict[str, float]:
    """What each stage of the last read took, in cycles of the network."""
    ends = [events.taken[-1] - 1, events.whole[-1], events.arrived[-1], events.stored[-1]]
    return {name: (end - begin) * bench.parameters["quarters"] / 4 for name, begin, end in zip(
        ("data", "network", "stored"), ends, ends[1:], strict=False)}


def first_refresh(bench: Bench) -> int:
    """The DDR cycle in which the first refresh falls due: eight are owed."""
    return _OWED * part_named(bench.parameters["part"]).nREFI


def offset_of(start: int, shift: int, bench: Bench) -> int:
    """The window's offset with which a read from DDR cycle ``start`` has that ``shift``: to be
    added to the number of a cycle of the network, from the descriptor's phase on, for its place in
    the period."""
    quarters = bench.parameters["quarters"]
    return (start // 4 * quarters - _FIRST_OPEN - shift) % PERIOD


def later(start: int, requesters: int, competitors: int, bench: Bench) -> int:
    """That start, or the one as many intervals of refreshes later that the read before leaves."""
    p, interval = bench.parameters, part_named(bench.parameters["part"]).nREFI
    before = bounds.read_total(
        requesters=requesters, competitors=competitors, window=window_of(requesters, bench),
        period=PERIOD, **{name: p[name] for name in (
            "nbytes", "delta", "quarters", "packets", "cap", "part")})
    looks = 5 * (p["nbytes"] // WORD_BYTES) + _TOGETHER
    return start + max(0, -(-(_SETTLED + before + looks - start) // interval)) * interval


def worst(requesters: int, competitors: int, bench: Bench) -> dict[int, int]:
    """By the bounds: for each phase of the descriptor a shift with which a read is longest."""
    p = bench.parameters
    return bounds.latest(
        requesters=requesters, competitors=competitors, window=window_of(requesters, bench),
        period=PERIOD, **{name: p[name] for name in (
            "nbytes", "delta", "quarters", "packets", "cap", "part")})


async def from_worst(bench: Bench, requesters: int, competitors: int,
                     starts: Iterable[int]) -> int:
    """The longest read from these starts, where the window is as unfortunate as it can be."""
    shifts = worst(requesters, competitors, bench)
    begins = [later(start, requesters, competitors, bench) for start in starts]
    seen = [await measure(bench, requesters, competitors,
                          offset_of(start, shifts[start % 4], bench), start) for start in begins]
    longest, p = max(seen, key=took), bench.parameters
    keep([{"requesters": requesters, "competitors": competitors, "took": took(longest),
           "queue": max(map(queued, seen)), "measured": stages(longest, bench),
           "bound": bounds.read_stages(
               requesters=requesters, competitors=competitors, period=PERIOD,
               window=window_of(requesters, bench), **{name: p[name] for name in (
                   "nbytes", "delta", "quarters", "packets", "cap", "part")})}])
    return took(longest)


@testbench
async def alone(bench: Bench) -> None:
    """The first command is decided on when a refresh falls due, or a cycle or two later."""
    met = first_refresh(bench) - _DECIDED
    for requesters in (1, 2):
        await from_worst(bench, requesters, 1, range(met - 2, met + 2))


@testbench
async def without_the_rule(bench: Bench) -> None:
    """The window of the write, N_req requesters, and a receiver with room for two packets: its link
    waits, and a packet is still on its way when the window closes. What is read is right."""
    most, p = bench.parameters["requesters"], bench.parameters
    await bench.reset()
    tester = ReadTester(bench, inputs(most, 1, 0, WINDOW, bench))
    data, words = bench.rng.randbytes(p["nbytes"]), p["nbytes"] // WORD_BYTES
    tester.fill(0, data)
    await tester.run(_SETTLED)
    await tester.read(0, p["nbytes"] // REQUEST_BYTES)
    await tester.whole(words)
    await tester.compare(0, data)
    keeps_up = bounds.receiver_keeps_up(requesters=most, packets=p["packets"], delta=p["delta"],
                                        window=WINDOW, period=PERIOD)
    bench.dut._log.info("%d cycles in which the link waits, %d windows that close over a packet",
                        len(tester.events.stalled), len(tester.events.overrun))
    row = p["nbytes"] // p["packets"] // (REQUEST_BYTES * 2)  # times what there is room for
    assert not keeps_up or not tester.events.stalled
    assert keeps_up or row < 4 or tester.events.stalled
    assert keeps_up or row < 4 or most < 11 or tester.events.overrun  # a backlog of half a window


@testbench
async def parts_of_rows_and_reads_that_are_none(bench: Bench) -> None:
    """Refused and counted; the good ones between them, each on offer while its predecessor is under
    way, arrive."""
    p, rng = bench.parameters, bench.rng
    await bench.reset()
    tester = ReadTester(bench, inputs(1, 1, 0, window_of(1, bench), bench))
    slots, burst = p["nbytes"] // REQUEST_BYTES, REQUEST_BYTES // WORD_BYTES
    data, most = rng.randbytes(p["nbytes"]), tester.part.bursts_per_row
    tester.fill(3, data)
    await tester.run(_SETTLED)
    expected, words = bytearray(p["nbytes"]), 0
    first = [(0, slots, 0)]  # column, bursts, word: all of the bank, once
    some = [(column := rng.randrange(slots), bursts := rng.randint(1, slots - column),
             rng.randrange(slots * burst - bursts * burst + 1)) for _ in range(8)]
    for number, (column, bursts, word) in enumerate(first + some):
        await tester.read(3, bursts, **{"reads.payload.column": column, "reads.payload.word": word})
        got = data[REQUEST_BYTES * column:][:REQUEST_BYTES * bursts]
        expected[WORD_BYTES * word:WORD_BYTES * word + len(got)] = got
        words += burst * bursts
        for column, bursts in ((0, 0), (most - 1, 2), (1, most))[:number % 4]:
            await tester.read(3, bursts, **{"reads.payload.column": column})
    await tester.whole(words)
    assert len(tester.events.stored) == words
    assert len(tester.events.refused) == sum(number % 4 for number in range(9))
    await tester.compare(3, bytes(expected))


@testbench
async def every_number_of_requesters(bench: Bench) -> None:
    """From starts at which a refresh meets the first bursts, and from any."""
    met, rng = first_refresh(bench) - _DECIDED, bench.rng
    for requesters in range(1, most_requesters(bench) + 1):
        near = [met + early for early in (-32, -20, *range(-8, 5))]
        longest = await from_worst(bench, requesters, 1, near)
        bench.dut._log.info("N_req %d: %d DDR cycles", requesters, longest)
        await from_worst(bench, requesters, 1 + bench.parameters["rivals"],
                         [rng.randrange(met, met + 4000) for _ in range(2)])


@testbench
async def every_number_of_rivals(bench: Bench) -> None:
    for competitors in range(2, 1 + bench.parameters["rivals"]):
        await from_worst(bench, 1, competitors, [
            first_refresh(bench) + bench.rng.randrange(4000) for _ in range(4)])


@testbench
async def anywhere_in_the_period(bench: Bench) -> None:
    """Any number of either, any window, any start."""
    for _ in range(8):
        requesters = bench.rng.randint(1, most_requesters(bench))
        competitors = bench.rng.randint(1, 1 + bench.parameters["rivals"])
        start = later(bench.rng.randrange(*_ANY_START), requesters, competitors, bench)
        await measure(bench, requesters, competitors, bench.rng.randrange(PERIOD), start)


@testbench
async def right_after_reset(bench: Bench) -> None:
    """One read only, before the first window has opened or just after; also beside two other
    masters, as the reorder core's queue is still empty."""
    for offset in (0, 40, 500, PERIOD - 1, *bench.rng.sample(range(PERIOD), 4)):
        for start in (0, bench.rng.randrange(1, 60)):
            for masters in {1, min(3, 1 + bench.parameters["rivals"])}:
                await measure(bench, 1, masters, offset, start, reads=(0,))


@testbench
async def found_by_the_search(bench: Bench) -> None:
    """The starts that keep a read waiting longest on the models (`tools.noc.read_attack`): it takes
    the same number of cycles here, until its last beat on DDR3's bus."""
    p = bench.parameters
    for competitors, starts in FOUND.items():
        if competitors > 1 + p["rivals"]:
            continue
        system = System(competitors, p["nbytes"] // REQUEST_BYTES, p["cap"],
                        part_named(p["part"]), postpone=_OWED)
        for start in starts:
            events = await measure(bench, 1, competitors, bench.rng.randrange(PERIOD), start,
                                   reads=(0,))
            data = events.whole[-1] - events.taken[-1] + 1
            models = ReadAttack(start, (WRITER,) * (competitors - 1)).cycles(system)
            bench.dut._log.info("N_trans %d, start %d: %d DDR cycles until the data, %d allowed",
                                competitors, start, data, system.allowed)
            bench.compare(data, models, f"cycles of a read among {competitors} from {start}")


@testbench
async def all_at_once(bench: Bench) -> None:
    most, masters = most_requesters(bench), 1 + bench.parameters["rivals"]
    await from_worst(bench, most, masters, [first_refresh(bench) + 1000])
