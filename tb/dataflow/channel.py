"""Testbench of a memory channel: every port and pin compared in every cycle, words with a memory.

On the pins is a device that objects to whatever its data sheet forbids.
"""

from collections import deque
from collections.abc import Sequence

from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest
from cyclebound.golden.dataflow.channel import ChannelModel
from cyclebound.golden.dataflow.channel_bounds import channel_times
from cyclebound.golden.dataflow.channel_shape import ChannelShape
from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.request import BEAT_WORDS, BURST_WORDS, WORD_BITS, WORD_BYTES
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.line_ports import answer_values, packed_words, request_values

__all__ = ["DataflowChannelTester", "Pins"]

_BUS_BITS = BEAT_WORDS * WORD_BITS
_STARTS = 60  # around refreshes


class Pins:
    """A DRAM on a channel's pins, at ``at`` of a bench's ports, beside the channel's model.

    Parameters
    ----------
    bench : Bench
        The bench.
    model : ChannelModel
        Of the channel.
    at : str
        Before the names of ports.
    """

    def __init__(self, bench: Bench, model: ChannelModel, at: str = "") -> None:
        self.bench, self.model = bench, model
        self.part = model.controller.part
        self.device = DramDevice(self.part)
        self._dq_in, o = bench.inputs[f"{at}dq_in"], bench.outputs
        self._command = {name: o[f"{at}command.{name}"] for name in ("op", "bank", "row", "column")}
        self._drives, self._mask, self._words = (o[f"{at}dq_out.{name}"] for name in (
            "valid", "payload.mask", "payload.words"))
        self._late = o[f"{at}late"]
        self._now = 0

    def load(self, words: Sequence[int], first: int = 0) -> None:
        """Put words into device and model, from address ``first`` on, which begins a burst."""
        for at in range(0, len(words), BURST_WORDS):
            some = [int(word) for word in words[at:at + BURST_WORDS]]
            some += [0] * (BURST_WORDS - len(some))
            number = (first + at) // BURST_WORDS
            place = place_of(self.part, number)
            self.model.controller.memory[number] = list(some)
            self.device.set_burst(place.bank, place.row, place.column // 8, b"".join(
                word.to_bytes(WORD_BYTES, "little") for word in some))

    def word(self, address: int) -> int:
        """A word, as the device has it."""
        place = place_of(self.part, address // BURST_WORDS)
        burst = self.device.burst(place.bank, place.row, place.column // 8)
        at = address % BURST_WORDS * WORD_BYTES
        return int.from_bytes(burst[at:at + WORD_BYTES], "little")

    def drive(self) -> int:
        """The inputs of this cycle: what the device drives, or any words."""
        read = self.device.data_out(self._now)
        return self._dq_in.to(self.bench.rng.getrandbits(_BUS_BITS) if read is None
                              else int.from_bytes(read, "little"))

    def expected(self) -> tuple[int, int]:
        """What the pins have to show, and which of their bits are compared; after the model's
        `takes`."""
        shown = self.model.shown
        assert shown is not None
        care = (self._command["op"].mask | self._drives.mask | self._mask.mask | self._late.mask)
        expected = self._late.to(shown.late)
        if shown.command is not None:
            issued = shown.command
            expected |= self._command["op"].to(issued.op)
            values = {"bank": issued.bank, "row": issued.row, "column": issued.column // 8}
            for name in {Command.ACT: ("bank", "row"), Command.PRE: ("bank",),
                         Command.REF: ()}.get(issued.op, ("bank", "column")):
                expected |= self._command[name].to(values[name])
                care |= self._command[name].mask
        if shown.drive is not None:
            words, mask = shown.drive
            expected |= self._drives.mask | self._mask.to(mask)
            for number in range(BEAT_WORDS):
                if mask >> number & 1:
                    at = self._words.offset + WORD_BITS * number
                    expected |= words[number] << at
                    care |= (1 << WORD_BITS) - 1 << at
        return expected, care

    def see(self, seen: int) -> None:
        """The device sees what the hardware has shown in this cycle."""
        op = Command(self._command["op"].of(seen))
        if op is not Command.NOP:
            self.device.command(self._now, op, self._command["bank"].of(seen),
                                self._command["row"].of(seen) if op is Command.ACT else 0,
                                8 * self._command["column"].of(seen) if op in CAS else 0)
        if self._drives.of(seen):
            mask = self._mask.of(seen)
            self.device.data_in(
                self._now, self._words.of(seen).to_bytes(_BUS_BITS // 8, "little"),
                sum(0xF << WORD_BYTES * word for word in range(BEAT_WORDS) if mask >> word & 1))
        self._now += 1


class DataflowChannelTester:
    """The channel, its model, its DRAM, a plain memory, and requests that wait."""

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.bench, self.line, self.part = bench, p["line"], part_named(p["part"])
        self.shape = ChannelShape(line=p["line"], address_width=p["address_width"])
        self.times = channel_times(self.part, line=self.line)
        self.model = ChannelModel(self.part, shape=self.shape)
        self.pins = Pins(bench, self.model)
        self.plain: dict[int, list[int]] = {}
        self.queue: deque[tuple[int, bool]] = deque()  # (line, write)
        self.held: LineRequest | None = None
        self.ids = deque(range(1 << p["id_width"]))
        self.reads: deque[tuple[int, list[int]]] = deque()  # ids and lines that are to come
        self.cycles = 0
        self._declared: tuple[bool, bool] | None = None

    def touch(self, number: int) -> None:
        """Content for a line that was not touched yet, and for what shares its bursts."""
        first = number * self.line // BURST_WORDS * BURST_WORDS
        if first // self.line in self.plain:
            return
        words = [self.bench.rng.getrandbits(WORD_BITS)
                 for _ in range(self.shape.bursts * BURST_WORDS)]
        self.pins.load(words, first)
        for at in range(0, len(words), self.line):
            self.plain[(first + at) // self.line] = words[at:at + self.line]

    @property
    def alone(self) -> bool:
        """Whether nothing is under way."""
        return self.held is None and not self.reads and self.model.idle

    @property
    def idle(self) -> bool:
        """Whether all is done."""
        return self.alone and not self.queue

    def _request(self, line: int, write: bool) -> LineRequest:
        rng = self.bench.rng
        self.touch(line)
        if not write:
            return LineRequest(self.ids.popleft(), line, False)
        full = (1 << self.line) - 1
        mask = rng.choice((full, 1 << rng.randrange(self.line), rng.randint(0, full)))
        return LineRequest(0, line, True, mask, tuple(
            rng.getrandbits(WORD_BITS) for _ in range(self.line)))

    def _declare(self) -> None:
        """Say of the next request whether a refresh may delay it, and whether it is alone."""
        times, since = self.times, self.cycles % self.part.nREFI  # the last one fell due
        refreshes = (since + times.turn + times.latency >= self.part.nREFI
                     or (self.cycles >= self.part.nREFI and since < 2 * times.latency))
        alone = not refreshes and self.alone and self.cycles > 30
        if self._declared == (refreshes, alone):
            return
        self._declared = refreshes, alone
        for what in ("taken", "read"):
            self.bench.declare(what, refreshes=int(refreshes))
        if alone:
            self.bench.declare("alone")
        else:
            self.bench.undeclare("alone")

    async def cycle(self, *, offer: bool = True) -> bool:
        """One cycle; whether a request was taken. ``offer``: one that waits may be offered."""
        bench = self.bench
        if offer and self.held is None and self.queue and (self.ids or self.queue[0][1]):
            self._declare()
            self.held = self._request(*self.queue.popleft())
        elif self.held is None:
            self._declare()
        word = bench.inputs.pack(request_values("lines.request", self.held, WORD_BITS))
        idle, model, held = self.model.idle, self.model, self.held
        seen = await bench.step(word | self.pins.drive())
        taken = model.takes(held)
        answer = model.answer()
        expected = {"idle": idle, **answer_values("lines.response", answer, WORD_BITS)}
        care = bench.outputs["idle"].mask | bench.outputs["lines.response.valid"].mask
        if answer is not None:
            care |= sum(bench.outputs[f"lines.response.payload.{name}"].mask
                        for name in ("id", "data"))
        if held is not None:
            expected["lines.request.ready"] = taken
            care |= bench.outputs["lines.request.ready"].mask
        pins, cares = self.pins.expected()
        bench.check(seen, bench.outputs.pack(expected) | pins, care | cares)
        self.pins.see(seen)
        model.step(taken)
        self.cycles += 1
        if answer is not None:
            self._came(answer, seen)
        if taken:
            assert held is not None
            self._taken(held)
            self.held = None
        return taken

    def _taken(self, request: LineRequest) -> None:
        line = self.plain[request.line]
        if not request.write:
            self.reads.append((request.id, list(line)))
            return
        for place, word in enumerate(request.data):
            if request.mask >> place & 1:
                line[place] = word

    def _came(self, answer: LineAnswer, seen: int) -> None:
        """The line is the one that the plain memory has; lines come in order."""
        number, line = self.reads.popleft()
        outputs = self.bench.outputs
        self.bench.compare(outputs["lines.response.payload.id"].of(seen), number, "the id")
        self.bench.compare(outputs["lines.response.payload.data"].of(seen),
                           packed_words(tuple(line), WORD_BITS), "a line")
        self.ids.append(number)

    async def drain(self) -> None:
        """All that waits; then the DRAM is compared with the plain memory."""
        most = self.cycles + (len(self.queue) + 4) * (self.times.turn + self.times.latency)
        while not self.idle:
            assert self.cycles < most, "a request is not done"
            await self.cycle()
        for _ in range(self.part.nCWD + 8):  # the last words are on their way
            await self.cycle()
        for number, line in self.plain.items():
            there = [self.pins.word(number * self.line + place) for place in range(self.line)]
            self.bench.compare(there, line, f"line {number} in the DRAM", count=self.line)

    async def until(self, cycle: int) -> None:
        """Idle cycles until then."""
        while self.cycles < cycle:
            await self.cycle()


def drawn(tester: DataflowChannelTester, lines: int = 6) -> tuple[int, bool]:
    """A request of one of a few lines, or of any."""
    rng = tester.bench.rng
    return (rng.choice((rng.randrange(min(lines, tester.shape.lines)),
                        rng.randrange(tester.shape.lines))), rng.random() < 0.5)


async def begun(bench: Bench) -> DataflowChannelTester:
    await bench.reset()
    return DataflowChannelTester(bench)


@testbench
async def first_cycles(bench: Bench) -> None:
    """Requests from the first cycle after a reset on, when the lines are not mapped yet."""
    for first in ((0, False), (1, True)):
        for pause in (0, 1, 5, 9):
            tester = await begun(bench)
            await tester.until(pause)
            tester.queue.extend([first, (1, False), (tester.shape.lines - 1, True),
                                 (tester.shape.lines - 1, False)])
            await tester.drain()


@testbench
async def one_after_the_other(bench: Bench) -> None:
    """Each by itself, in banks where it takes longest and in others."""
    tester = await begun(bench)
    for number in range(24):
        await tester.until(tester.cycles + 40 + number % 3)
        tester.queue.append((number % tester.shape.lines, number % 3 == 0))
        await tester.drain()


@testbench
async def without_a_pause(bench: Bench) -> None:
    """All that a cache may ask, with and without pauses, over several refreshes."""
    tester = await begun(bench)
    while tester.cycles < 3 * tester.part.nREFI:
        for _ in range(bench.rng.choice((1, 2, 3, 12))):
            tester.queue.append(drawn(tester))
        pause = bench.rng.choice((0, 0, 1, bench.rng.randint(1, 200)))
        while tester.queue or (pause and not tester.idle):
            await tester.cycle()
        await tester.until(tester.cycles + pause)
    await tester.drain()


@testbench
async def around_a_refresh(bench: Bench) -> None:
    """Writes and reads that begin in any cycle before a refresh falls due."""
    due = part_named(bench.parameters["part"]).nREFI
    tester = await begun(bench)
    span, number = 3 * tester.times.longest + 40, 0
    while number < _STARTS:
        next_due = (tester.cycles // due + 1) * due
        start = next_due - bench.rng.randrange(span)
        if start <= tester.cycles:
            await tester.until(next_due)
            continue
        await tester.until(start)
        kinds = bench.rng.choice(("wwr", "wwwr", "wrwr", "wwrr", "rwwr", "wr"))
        for place, kind in enumerate(kinds):
            tester.queue.append(((number + place * bench.rng.randint(0, 2)) % tester.shape.lines,
                                 kind == "w"))
        while not tester.idle:
            await tester.cycle()
        number += 1
    await tester.drain()


reset_in_mid_run = interrupted(without_a_pause, last=400)
