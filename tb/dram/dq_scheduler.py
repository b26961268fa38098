"""Testbench of the DQ scheduler: pins and chip compared in every cycle.

It plays all neighbours: the command generator that describes bursts, the command arbiter that
issues commands, the device that drives the bus, and the chip that answers fetches. Bus and chip
carry random words in every cycle, so that a look a cycle too early or too late takes others.
"""

import functools
from collections import deque
from collections.abc import Callable

from cyclebound.golden.dram.dq_scheduler import (
    BurstDescriptor,
    DataBeat,
    DqSchedulerModel,
    Issue,
)
from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BEATS,
    BURST_WORDS,
    SLOTS,
    TARGET_BITS,
    WORD_BITS,
)
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, interrupted, testbench

_BURSTS = 600  # of a random test
_BUS_BITS = BEAT_WORDS * WORD_BITS


def _packed(values: tuple[int, ...], width: int) -> int:
    return sum(value << width * number for number, value in enumerate(values))


class DqSchedulerTester:
    """The scheduler, its model, and slots that are free, described or on their way."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.part = part_named(bench.parameters["part"])
        self.latency = bench.parameters["fetch_latency"]
        self.model = DqSchedulerModel(self.part, self.latency)
        self.counts = {"read": 0, "write": 0, "deliver": 0, "fetch": 0, "drive": 0, "masked": 0}
        i, o = bench.inputs, bench.outputs
        self._describe = {name: i[f"describe.{name}"] for name in (
            "valid", "payload.bank", "payload.slot", *(f"payload.{field}" for field in (
                "mask", "targets", "destination", "transform")))}
        self._issue = {name: i[f"issue.{name}"] for name in (
            "valid", "payload.write", "payload.bank", "payload.slot")}
        self._dq_in, self._words, self._enable = i["dq_in"], i["store.words"], i["store.enable"]
        self._valid = {name: o[f"{name}.valid"] for name in ("fetch", "deliver", "dq_out")}
        self._fields = {(side, field): o[f"{side}.payload.{field}"]
                        for side in ("fetch", "deliver")
                        for field in ("enable", "targets", "destination", "transform")}
        self._delivered = o["deliver.payload.words"]
        self._driven, self._mask = o["dq_out.payload.words"], o["dq_out.payload.mask"]
        self._always = sum(field.mask for field in self._valid.values()) | self._mask.mask

    def burst(self, bank: int, slot: int, mask: int | None = None) -> BurstDescriptor:
        """A descriptor with random targets; without a mask, one that is often full or sparse."""
        rng = self.bench.rng
        if mask is None:
            mask = rng.choice((0xFFFF, 1 << rng.randrange(BURST_WORDS), rng.getrandbits(16)))
        return BurstDescriptor(bank, slot, mask,
                               tuple(rng.getrandbits(TARGET_BITS) for _ in range(BURST_WORDS)),
                               rng.randrange(3), rng.randrange(3))

    async def cycle(self, describe: BurstDescriptor | None = None,
                    issue: Issue | None = None) -> None:
        """One cycle, compared."""
        bench, rng = self.bench, self.bench.rng
        dq, words, enable = (rng.getrandbits(_BUS_BITS), rng.getrandbits(_BUS_BITS),
                             rng.choice((0xF, rng.getrandbits(4))))
        word = self._dq_in.to(dq) | self._words.to(words) | self._enable.to(enable)
        if describe is not None:
            for field, value in zip(self._describe.values(), (
                    1, describe.bank, describe.slot, describe.mask,
                    _packed(describe.targets, TARGET_BITS), describe.destination,
                    describe.transform), strict=True):
                word |= field.to(value)
        if issue is not None:
            for field, value in zip(self._issue.values(), (
                    1, issue.write, issue.bank, issue.slot), strict=True):
                word |= field.to(value)
        seen = await bench.step(word)
        result = self.model.step(describe=describe, issue=issue, dq_in=_split(dq),
                                 store=(_split(words), enable))
        expected, care = 0, self._always
        for side, beat in (("fetch", result.fetch), ("deliver", result.deliver)):
            if beat is not None:
                expected |= self._valid[side].mask | self._beat(side, beat)
                care |= sum(self._fields[side, name].mask for name in (
                    "enable", "targets", "destination", "transform"))
        if result.deliver is not None:
            expected |= self._delivered.to(_packed(result.deliver.words, WORD_BITS))
            care |= self._delivered.mask
        if result.drive is not None:
            words_out, mask = result.drive
            expected |= self._valid["dq_out"].mask | self._mask.to(mask)
            for number in range(BEAT_WORDS):
                if mask >> number & 1:
                    expected |= words_out[number] << self._driven.offset + WORD_BITS * number
                    care |= ((1 << WORD_BITS) - 1) << self._driven.offset + WORD_BITS * number
                else:
                    self.counts["masked"] += 1
        bench.check(seen, expected, care)
        if issue is not None:
            self.counts["write" if issue.write else "read"] += 1
        for name, port in (("fetch", "fetch"), ("deliver", "deliver"), ("drive", "dq_out")):
            self.counts[name] += self._valid[port].of(seen)

    def _beat(self, side: str, beat: DataBeat) -> int:
        return sum(self._fields[side, name].to(value) for name, value in (
            ("enable", beat.enable), ("targets", _packed(beat.targets, TARGET_BITS)),
            ("destination", beat.destination), ("transform", beat.transform)))

    async def drain(self) -> None:
        """Wait until all data have arrived; check that each command has moved four beats."""
        for _ in range(self.part.nCAS + BEATS + 2):
            await self.cycle()
        counts = self.counts
        assert counts["deliver"] == BEATS * counts["read"], counts
        assert counts["drive"] == counts["fetch"] == BEATS * counts["write"], counts


def _split(word: int) -> tuple[int, ...]:
    return tuple(word >> WORD_BITS * number & (1 << WORD_BITS) - 1 for number in range(BEAT_WORDS))


class DqTraffic:
    """Describes a burst in every free slot it finds, and issues commands when ``gap`` allows it.

    A command uses a slot two cycles after it was described, at the earliest; a slot is described
    again in the cycle after its lookup, at the earliest.
    """

    def __init__(self, tester: DqSchedulerTester, gap: Callable[[], int], write: Callable[[], bool],
                 eager: float) -> None:
        self.tester, self._gap, self._write, self._eager = tester, gap, write, eager
        part = tester.part
        self._free = [(bank, slot) for slot in range(SLOTS) for bank in range(part.banks)]
        self._ready: deque[tuple[int, int, int]] = deque()       # cycle, bank, slot
        self._pending: list[tuple[int, tuple[int, int]]] = []    # cycle in which it is free again
        self._rest = 0
        self._next: bool | None = None

    async def cycle(self, issue: bool = True) -> bool:
        """One cycle; whether a command was issued in it."""
        tester = self.tester
        rng, now = tester.bench.rng, tester.bench.cycle
        self._free += [place for cycle, place in self._pending if cycle <= now]
        self._pending = [entry for entry in self._pending if entry[0] > now]
        describe = command = None
        if self._free and rng.random() < self._eager:
            # the slot free for the shortest time, or any
            at = len(self._free) - 1 if rng.random() < 0.5 else rng.randrange(len(self._free))
            place = self._free.pop(at)
            describe = tester.burst(*place)
            self._ready.append((now + 2, *place))
        if self._next is None:
            self._next, self._rest = self._write(), self._gap()
        if issue and self._ready and self._ready[0][0] <= now and tester.model.free(self._next):
            if self._rest:
                self._rest -= 1
            else:
                at = rng.randrange(sum(cycle <= now for cycle, _, _ in self._ready))
                _, bank, slot = self._ready[at]
                del self._ready[at]
                command = Issue(self._next, bank, slot)
                lead = tester.latency + 4
                delay = tester.part.nCWD if self._next else tester.part.nCAS
                self._pending.append((now + delay - lead + 1, (bank, slot)))
                self._next = None
        await tester.cycle(describe, command)
        return command is not None


async def _play(bench: Bench, gap: Callable[[], int], write: Callable[[], bool],
                bursts: int = _BURSTS, eager: float = 1.0) -> DqSchedulerTester:
    tester = DqSchedulerTester(bench)
    traffic = DqTraffic(tester, gap, write, eager)
    issued = 0
    while issued < bursts:
        issued += await traffic.cycle()
    await tester.drain()
    assert tester.counts["read"] + tester.counts["write"] == bursts
    return tester


@testbench
async def full_bus(bench: Bench) -> None:
    """Commands as soon as the bus has room for their data, in runs of either direction."""
    state = {"write": False}

    def write() -> bool:
        state["write"] ^= bench.rng.random() < 0.2
        return state["write"]
    tester = await _play(bench, lambda: 0, write)
    assert min(tester.counts.values()) > 0, tester.counts


@testbench
async def one_direction(bench: Bench) -> None:
    """Reads only, then writes only, without a gap on the bus."""
    for direction in (False, True):
        tester = await _play(bench, lambda: 0, functools.partial(bool, direction), 200)
        assert tester.counts["write" if direction else "read"] == 200


@testbench
async def gaps_and_turnarounds(bench: Bench) -> None:
    """Any gap after the earliest moment, any order of directions, descriptors in good time."""
    rng = bench.rng
    await _play(bench, lambda: rng.choice((0, 0, 1, 2, 3, 4, 5, rng.randrange(40))),
                lambda: rng.random() < 0.5, eager=0.5)


@testbench
async def every_slot_of_every_bank(bench: Bench) -> None:
    """All descriptors are kept at once, then each is used by a read and by a write."""
    tester = DqSchedulerTester(bench)
    places = [(bank, slot) for bank in range(tester.part.banks) for slot in range(SLOTS)]
    for place in places:
        await tester.cycle(tester.burst(*place))
    for write in (False, True):
        bench.rng.shuffle(places)
        for place in places:
            while not tester.model.free(write):
                await tester.cycle()
            await tester.cycle(issue=Issue(write, *place))
    await tester.drain()
    assert tester.counts["read"] == tester.counts["write"] == len(places)


@testbench
async def every_word_alone(bench: Bench) -> None:
    """Masks with one word, and with all but one, in both directions."""
    tester = DqSchedulerTester(bench)
    for word in range(BURST_WORDS):
        for flip in (0, 0xFFFF):
            for write in (False, True):
                await tester.cycle(tester.burst(write, word, 1 << word ^ flip))
                await tester.cycle()
                while not tester.model.free(write):
                    await tester.cycle()
                await tester.cycle(issue=Issue(write, int(write), word))
            await tester.drain()
    assert tester.counts["read"] == tester.counts["write"] == 2 * BURST_WORDS


reset_in_mid_run = interrupted(one_direction, quiet=True)
