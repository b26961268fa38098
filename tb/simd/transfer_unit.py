"""Testbench of the transfer unit: two work-groups' accesses between registers and memories.

Registers and DRAM stand beside it as models: DRAM takes requests when it likes and moves their
bursts in any order, and the compute unit stands still when it likes. After each access, registers
and buffers are those that the golden model has; what is in a scratchpad shows when it is stored.
"""

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BURST_WORDS,
    TARGET_BITS,
    Destination,
    Refusal,
)
from cyclebound.golden.simd.access_setup import Committed, moves
from cyclebound.golden.simd.isa import OPCODES, TABLE
from cyclebound.golden.simd.machine import SLOTS, machine_named
from cyclebound.golden.simd.transfer_unit import MEM_DATA, MEM_IDX, SlotState, perform
from cyclebound.golden.simd.transfers import Access, Fault
from cyclebound.tb.bench import Bench, testbench

__all__ = ["TransferUnitTester"]

_BANKS = 4
_LONGEST = 5000  # clocks without an end
# of DRAM: words in a line, lines, words from the beginning of a burst to its first
_BUFFERS = ((37, 9, 0), (64, 6, 5), (16, 16, 3), (5, 20, 9), (1, 70, 2), (130, 3, 15))
_CHIPS = ((0, 8, 8), (64, 18, 18), (500, 7, 5), (16384 - 40, 40, 1), (700, 33, 4), (900, 3, 30))
_SNOOPY = "ldgbidx", "stgbidx", "ldgcidx", "stgcidx", "ldspbidx", "stspbidx"
_PAUSES = tuple(itertools.chain.from_iterable(((0, 1), (0, 1), (0,), (0, 1), (0,))))  # 5:8


@dataclass
class _Request:
    """A request that DRAM has taken."""

    fields: dict[str, int]
    wait: int          # clocks to its start
    steps: deque = field(default_factory=deque)
    started: bool = False
    elements: list = field(default_factory=list)
    complete: bool = False  # its steps are known


class _Dram:
    """Takes requests and moves their words, in an order that it chooses."""

    def __init__(self, tester: "TransferUnitTester") -> None:
        self.tester, self.rng = tester, tester.bench.rng
        o = tester.bench.outputs
        self._valid = o["request.valid"]
        self._fields = {name: o[f"request.payload.{name}"] for name in (
            "buffer", "x", "y", "words", "count", "indexed", "write", "destination", "base",
            "pitch", "transform")}
        self._index = {name: o[f"indexes.payload.{name}"] for name in ("index", "target", "end")}
        self._index_valid = o["indexes.valid"]
        self._words, self._enable = o["store.words"], o["store.enable"]
        self.requests: deque[_Request] = deque()
        self._answers: list[tuple | None] = [None, None]
        self._ready = self._index_ready = False
        self._fetched: tuple | None = None
        self.eager = False

    def inputs(self) -> dict[str, int]:
        """The inputs, by name, that it drives in this clock."""
        rng, given = self.rng, {}
        newest = self.requests[-1] if self.requests else None
        # one request after the other: the next starts when all indexes of this one have come
        if newest is not None and not newest.started and all(
                older.complete for older in list(self.requests)[:-1]):
            newest.wait -= 1
            if newest.wait <= 0:
                newest.started = True
                given["started"] = 1
        self._ready = (newest is None or newest.started) and len(self.requests) < 4 and (
            self.eager or rng.random() < 0.6)
        self._index_ready = self.eager or rng.random() < 0.7
        given |= {"request.ready": int(self._ready), "indexes.ready": int(self._index_ready)}
        self._fetched = None
        oldest = self.requests[0] if self.requests else None
        if oldest is not None and oldest.complete and oldest.started:
            self._move(oldest, given)
        return given

    def _move(self, request: _Request, given: dict[str, int]) -> None:
        rng, fields = self.rng, request.fields
        kind, *what = request.steps[0]
        if kind == "wait":
            if what[0] <= 1:
                request.steps.popleft()
            else:
                request.steps[0] = "wait", what[0] - 1
            return
        request.steps.popleft()
        if kind == "done":
            given |= {"completed.valid": 1, "completed.payload": what[0]}
            self.requests.popleft()
            return
        enable, targets, places = what
        if fields["destination"] == Destination.CAM:  # known by the one of word 0, enabled or not
            targets = {word: (target + word - first) % (1 << TARGET_BITS)
                       for first, target in list(targets.items())[:1]
                       for word in range(BEAT_WORDS)}
        name = "fetch" if fields["write"] else "deliver"
        content = self.tester.content[fields["buffer"]]
        given |= {f"{name}.valid": 1, f"{name}.payload.enable": enable,
                  f"{name}.payload.destination": fields["destination"],
                  f"{name}.payload.transform": fields["transform"]}
        for word in range(BEAT_WORDS):
            taken = enable >> word & 1
            target = targets[word] if word in targets else rng.getrandbits(TARGET_BITS)
            given[f"{name}.payload.targets.{word}"] = target
            if name == "deliver":
                given[f"deliver.payload.words.{word}"] = (
                    int(content[places[word]]) if taken else rng.getrandbits(32))
        if name == "fetch":
            self._fetched = enable, places, content
        if kind == "last" and self.eager and not fields["write"]:
            refusal = request.steps.popleft()[1]
            given |= {"completed.valid": 1, "completed.payload": refusal}
            self.requests.popleft()

    def saw(self, seen: int) -> None:
        """Take in the outputs of this clock."""
        answered, self._answers = self._answers[0], [self._answers[1], self._fetched]
        if answered is not None:
            enable, places, content = answered
            allowed = self._enable.of(seen) & enable
            words = self._words.of(seen)
            for word in range(BEAT_WORDS):
                if allowed >> word & 1:
                    content[places[word]] = words >> 32 * word & 0xFFFFFFFF
        if self._index_valid.of(seen) and self._index_ready:
            self._element({name: field.of(seen) for name, field in self._index.items()})
        if self._ready and self._valid.of(seen):
            fields = {name: field.of(seen) for name, field in self._fields.items()}
            self.tester.asked(fields)
            request = _Request(fields, 1 if self.eager else self.rng.randint(1, 5))
            self.requests.append(request)
            if not fields["indexed"]:
                self._tile(request)

    def _element(self, element: dict[str, int]) -> None:
        request = next(candidate for candidate in reversed(self.requests)
                       if candidate.fields["indexed"] and candidate.started)
        assert not request.complete, "an index after the last"
        if not element["end"]:
            request.elements.append((element["index"], element["target"]))
            return
        content = self.tester.content[request.fields["buffer"]]
        legal = [(index, target) for index, target in request.elements if index < content.size]
        steps = []
        for index, target in legal:
            place = self.rng.randrange(BEAT_WORDS)
            steps.append((1 << place, {place: target},
                          {place: np.unravel_index(index, content.shape)}))
        self._steps(request, steps, Refusal.NONE if len(legal) == len(request.elements)
                    else Refusal.INDEX)

    def _tile(self, request: _Request) -> None:
        fields = request.fields
        across, lines, offset = self.tester.shapes[fields["buffer"]]
        if not (fields["words"] and fields["count"]):
            self._steps(request, [], Refusal.EMPTY)
            return
        assert fields["x"] + fields["words"] <= across, f"beyond the line: {fields}"
        assert fields["y"] + fields["count"] <= lines, f"beyond the buffer: {fields}"
        bursts: dict[int, dict[int, tuple]] = {}
        for line, column in itertools.product(range(fields["count"]), range(fields["words"])):
            place = fields["y"] + line, fields["x"] + column
            address = offset + place[0] * across + place[1]
            pitch = across if fields["destination"] == Destination.CAM else fields["pitch"]
            target = (fields["base"] + line * pitch + column) % (1 << TARGET_BITS)
            bursts.setdefault(address // BURST_WORDS, {})[address % BURST_WORDS] = target, place
        steps = []
        for burst in self.rng.sample(sorted(bursts), len(bursts)):
            for beat in range(0, BURST_WORDS, BEAT_WORDS):
                words = {word: bursts[burst][beat + word] for word in range(BEAT_WORDS)
                         if beat + word in bursts[burst]}
                steps.append((sum(1 << word for word in words),
                              {word: target for word, (target, _) in words.items()},
                              {word: place for word, (_, place) in words.items()}))
        self._steps(request, steps, Refusal.NONE)

    def _steps(self, request: _Request, beats: list, refusal: Refusal) -> None:
        rng, steps = self.rng, request.steps
        for number, beat in enumerate(beats):
            if not self.eager and rng.random() < 0.1:
                steps.append(("wait", rng.randint(1, 4)))
            steps.append(("last" if number == len(beats) - 1 else "beat", *beat))
        if request.fields["write"]:
            steps.append(("wait", 3))  # until the words are there
        elif not self.eager:
            steps.append(("wait", rng.randint(1, 5)))
        steps.append(("done", refusal))
        request.complete = True


class _ComparedSlot:
    """A work-group: its state as the unit made it, and as the model has it."""

    def __init__(self, tester: "TransferUnitTester", number: int) -> None:
        self.tester, self.number = tester, number
        bench, machine = tester.bench, tester.machine
        self.state, self.model = SlotState(machine), SlotState(machine)
        self.access: Committed | None = None
        self.fault = False
        self.wait = self.begins = 0
        o = bench.outputs
        name = f"transfer.{number}"
        self._writes = [(bank, position, {part: o[f"{name}.write.{bank}.{position}.{part}"]
                                          for part in ("enable", "row", "group", "data")})
                        for bank in range(_BANKS) for position in range(tester.words)]
        self._any = sum(fields["enable"].mask for *_, fields in self._writes)
        self._scalars = [{part: o[f"{name}.scalars.{bank}.{part}"]
                          for part in ("enable", "row", "data")}
                         for bank in range(tester.machine.scalar_banks)]
        self._any_scalar = sum(fields["enable"].mask for fields in self._scalars)
        self._reads = [(bank, position, {part: o[f"{name}.read.{bank}.{position}.{part}"]
                                         for part in ("row", "group")})
                       for bank in range(_BANKS) for position in range(tester.words)]
        self._asked: list[tuple[int, int, int]] = []
        self._snoop = {part: o[f"{name}.snoop.{part}"] for part in
                       ("load", "enable", "index", "words")} if machine.snoopy else {}
        self._held: dict[str, int] = {}
        self.passed = 0  # words that items have taken or given

    def answers(self) -> dict[str, int]:
        """Words that were asked for in the clock before."""
        return self._held | {f"transfer.{self.number}.answer.{bank}.{position}": value
                             for bank, position, value in self._asked}

    def saw(self, seen: int) -> None:
        state, words = self.state, self.tester.words
        if seen & self._any:
            written = set()
            for bank, position, fields in self._writes:
                if fields["enable"].of(seen):
                    item = fields["group"].of(seen) * words + position
                    register = fields["row"].of(seen) * _BANKS + bank
                    state.v[register, item] = fields["data"].of(seen)
                    written.add((register, item))
            assert self.access is not None, f"slot {self.number}: words of no access: {written}"
        if seen & self._any_scalar:
            for bank, fields in enumerate(self._scalars):
                if fields["enable"].of(seen):
                    scalar = fields["row"].of(seen) * len(self._scalars) + bank
                    state.s[scalar] = fields["data"].of(seen)
        self._held = {}
        if self._snoop and (enable := self._snoop["enable"].of(seen)):
            self._compares(enable, self._snoop["index"].of(seen), self._snoop["words"].of(seen),
                           loads=self._snoop["load"].of(seen))
        self._asked = []
        if self.access is not None and self.access.name.startswith("st"):
            for bank, position, fields in self._reads:
                register = fields["row"].of(seen) * _BANKS + bank
                item = fields["group"].of(seen) * words + position
                value = int(state.v[register, item]) if register <= MEM_DATA else 0
                self._asked.append((bank, position, value))


    def _compares(self, enable: int, first: int, words: int, *, loads: int) -> None:
        """Items look for their indexes among words that pass."""
        state, held = self.state, 0
        assert self.access is not None, f"slot {self.number}: words of no access pass"
        for word in range(enable.bit_length()):
            if not enable >> word & 1:
                continue
            index = (first + word) % (1 << TARGET_BITS)
            items = np.flatnonzero(state.active & (state.v[MEM_IDX] == index))
            self.passed += bool(len(items))
            if loads:
                state.v[MEM_DATA, items] = words >> 32 * word & 0xFFFFFFFF
            elif len(items):
                held |= 1 << word
                self._held[f"transfer.{self.number}.held.words.{word}"] = int(
                    state.v[MEM_DATA, items[0]])
        if not loads:
            self._held[f"transfer.{self.number}.held.enable"] = held


class TransferUnitTester:
    """The unit between two work-groups and DRAM, a clock at a time."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.machine = machine_named(bench.parameters["machine"])
        self.words = bench.parameters["words"]
        rng = bench.rng
        # a slot's own buffers: even numbers are those of slot 0
        self.shapes = {2 * number + slot: shape for number, shape in enumerate(_BUFFERS)
                       for slot in range(SLOTS)}
        numbers = np.random.default_rng(rng.getrandbits(32))
        self.content = {number: numbers.integers(0, 1 << 32, (y, x), dtype=np.uint32)
                        for number, (x, y, _) in self.shapes.items()}
        self.model = {number: words.copy() for number, words in self.content.items()}
        self.slots = [_ComparedSlot(self, number) for number in range(SLOTS)]
        for slot in self.slots:
            slot.state.v[...] = numbers.integers(0, 1 << 32, slot.state.v.shape, dtype=np.uint32)
            slot.state.s[...] = numbers.integers(0, 1 << 32, 32, dtype=np.uint32)
            slot.state.v[MEM_IDX] = 0
            slot.model.v[...], slot.model.s[...] = slot.state.v, slot.state.s
        self.dram = _Dram(self)
        self.commits: deque[int] = deque()  # slots of accesses that DRAM has not been asked for
        self.pauses: Iterator[int] = itertools.cycle(_PAUSES)
        o = bench.outputs
        self._completions = [(o[f"completion.{slot}.valid"], o[f"completion.{slot}.payload.fault"])
                             for slot in range(SLOTS)]
        self._quiet = o["quiet"]
        self.grid = 1, self.machine.widths[-1]  # lines, width
        self.done = self.stalled = self._still = 0

    def asked(self, fields: dict[str, int]) -> None:
        """DRAM takes a request: of the slot whose access was committed first."""
        slot = fields["buffer"] % SLOTS
        assert [slot] == list(self.commits)[:1], (
            f"a request of slot {slot}, and the commits are {list(self.commits)}: {fields}, "
            f"{self.slots[slot].access}")
        access = self.slots[slot].access
        assert access is not None
        assert self.slots[slot].begins == 0, f"slot {slot} asks out of its turn"
        write = access.name.startswith("st")
        assert (fields["write"], fields["destination"]) == (
            write, Destination.CAM if access.name in _SNOOPY else Destination.SCRATCHPAD
            if access.name.endswith("tile") else Destination.REGISTERS), fields
        shape = self.shape_of(access)
        if shape is None or not shape.split or fields["y"] == self._bottom:
            self.commits.popleft()

    def shape_of(self, access: Committed) -> Access | None:
        """An access's tile; None: it has no line."""
        if access.name.endswith("idxit"):
            return None
        moved = moves(access)
        if not moved:
            return None
        lines = {move.line for move in moved}
        columns = [move.column for move in moved]
        self._bottom = max(lines)
        pitch = None if access.name in _SNOOPY else access.chip[1] if access.name.endswith(
            "tile") else access.across * access.registers
        if access.name.startswith("sld"):
            return Access("", False, 0, len(moved), len(moved), 1, 0, lambda: None)
        across = access.buffer[0] if TABLE[OPCODES[access.name]].unit.value == "dram" else (
            access.chip[1])
        return Access("", False, 0, max(columns) - min(columns) + 1, across, len(lines), 0,
                      lambda: None, pitch=pitch)

    async def tables(self) -> None:
        """All buffers, of DRAM and of scratchpads; and no indexes but 0."""
        for slot, warp in itertools.product(range(SLOTS), range(self.machine.warps)):
            await self.bench.step(self.bench.inputs.pack({
                "index_write.valid": 1, "index_write.payload.slot": slot,
                "index_write.payload.warp": warp,
                "index_write.payload.enable": (1 << self.machine.lanes) - 1}))
        for number, (x, y, _) in self.shapes.items():
            await self.bench.step(self.bench.inputs.pack({
                "buffer_write.valid": 1, "buffer_write.payload.number": number,
                "buffer_write.payload.size.x": x, "buffer_write.payload.size.y": y}))
        for number, (address, x, y) in enumerate(_CHIPS):
            await self.bench.step(self.bench.inputs.pack({
                "chip_write.valid": 1, "chip_write.payload.number": number,
                "chip_write.payload.buffer.address": address,
                "chip_write.payload.buffer.x": x, "chip_write.payload.buffer.y": y}))
        for number, (x, y, _) in self.shapes.items():
            seen = await self.bench.step(self.bench.inputs.pack({"query": number}))
            self.bench.check(seen, self.bench.outputs.pack({"queried.x": x, "queried.y": y}),
                             self.bench.outputs["queried"].mask)

    def _steady(self) -> dict[str, int]:
        given = {"grid.x": (1 << 20) - 1, "grid.y": self.grid[0],
                 "grid.width": self.grid[1].bit_length() - 1}
        for slot in self.slots:
            given[f"active.{slot.number}"] = int.from_bytes(np.packbits(
                slot.state.active, bitorder="little").tobytes(), "little")
        return given

    async def clock(self, more: dict[str, int]) -> int:
        """One DRAM clock; returns the slots whose completions the compute unit has taken."""
        stall = next(self.pauses)
        begin = 0
        for slot in self.slots:
            if slot.begins:
                slot.begins -= 1
            begin |= (slot.begins == 0) << slot.number
        given = {**self._steady(), **more, "stall": stall, "begin": begin, **self.dram.inputs()}
        for slot in self.slots:
            given |= slot.answers()
        seen = await self.bench.step(self.bench.inputs.pack(given))
        self.dram.saw(seen)
        for slot in self.slots:
            slot.saw(seen)
        over = 0
        for slot, (valid, fault) in zip(self.slots, self._completions, strict=True):
            if valid.of(seen):
                assert slot.access is not None, f"slot {slot.number}: a completion of no access"
                self.bench.compare(fault.of(seen), int(slot.fault), f"{slot.access}: fault")
                if not stall:
                    self._over(slot)
                    over |= 1 << slot.number
        self.stalled = stall
        self._still = 0 if over or not any(slot.access for slot in self.slots) else self._still + 1
        assert self._still < _LONGEST, (
            f"no end of {[slot.access for slot in self.slots]}, with {self.dram.requests}")
        return over

    def _over(self, slot: _ComparedSlot) -> None:
        """An access is over: all is as the model has it."""
        access = slot.access
        for name in ("v", "s"):
            held, wanted = getattr(slot.state, name), getattr(slot.model, name)
            self.bench.compare(held, wanted, f"{access}: {name}")
        for number in range(slot.number, len(self.shapes), SLOTS):
            self.bench.compare(self.content[number], self.model[number],
                               f"{access}: buffer {number}")
        slot.access = None
        self.done += 1

    async def shown(self, slots: dict[int, tuple[Committed, dict[str, int]]],
                    waits: dict[int, int]) -> int:
        """Show accesses, in a compute cycle each; returns slots that are over meanwhile."""
        over = 0
        for number, (access, fields) in slots.items():
            slot = self.slots[number]
            assert slot.access is None
            while self.stalled:  # a compute cycle begins
                over |= await self.clock({})
            of_dram = "access.payload.scratchpad" not in fields
            try:
                buffer = self.model[fields["access.payload.buffer"]] if of_dram else None
                slot.fault, slot.access = False, access
                perform(access, slot.model, buffer)
            except Fault:
                slot.fault = True
            if of_dram and (not slot.fault or access.name.endswith("idxit")):
                self.commits.append(number)
            slot.begins = waits[number] + 1
            while True:
                over |= await self.clock(fields)
                if not self.stalled:
                    break
        return over

    async def index(self, slot: _ComparedSlot) -> None:
        """New indexes, as the pipeline writes them: of each warp, some lanes."""
        rng, machine = self.bench.rng, self.machine
        lanes = machine.lanes
        limit = rng.choice((5, 16, 64, 1 << 10, 1 << 30))
        for warp in range(machine.warps):
            enable = rng.getrandbits(lanes)
            word = {"index_write.valid": 1, "index_write.payload.slot": slot.number,
                    "index_write.payload.warp": warp, "index_write.payload.enable": enable,
                    "index_write.payload.is_data": 0}
            for lane in range(lanes):
                value = rng.randrange(limit)
                word[f"index_write.payload.item.{lane}"] = value
                if enable >> lane & 1:
                    for holder in (slot.state, slot.model):
                        holder.v[MEM_IDX, warp * lanes + lane] = value
            await self.clock(word)

    # -- accesses ------------------------------------------------------------------------------

    def random_access(self, number: int) -> tuple[Committed, dict[str, int]]:
        """Any access of a slot, and what shows it."""
        rng = self.bench.rng
        name = rng.choice(("ldglin", "stglin", "ldg2sptile", "stg2sptile", "ldsplin", "stsplin",
                           "ldsplin", "stsplin", "sldg", "sldsp", "ldgidxit", "stgidxit",
                           *(_SNOOPY if self.machine.snoopy else ())))
        registers = rng.choice((1, 1, 2, 4)) if name.endswith("glin") else 1
        return self.access(
            number, name, buffer=rng.randrange(len(_BUFFERS)), chip=rng.randrange(len(_CHIPS)),
            registers=registers, target=rng.choice((0, 1, rng.randrange(61), MEM_DATA))
            if registers == 1 else rng.randrange(61), x=rng.choice((0, 0, rng.randint(-9, 40))),
            y=rng.choice((0, 0, rng.randint(-9, 12))), count=rng.randint(1, 32),
            sd_words=rng.choice((1, rng.randint(0, 33))), lines=rng.choice((1, rng.randint(0, 7))))

    def access(self, number: int, name: str, *, buffer: int, chip: int, registers: int = 1,
               target: int = 0, x: int = 0, y: int = 0, count: int = 1, sd_words: int = 1,
               lines: int = 1) -> tuple[Committed, dict[str, int]]:
        """An access of a slot to its ``buffer``, and what shows it."""
        rng, height, across = self.bench.rng, *self.grid
        row = name in ("sldg", "sldsp")
        if row:
            target = rng.randrange(33 - count) if name == "sldg" else rng.randrange(32)
        if name == "sldg":
            x = y = 0
        shape = self.shapes[2 * buffer + number]
        period = rng.choice((shape[0], shape[0], sd_words))
        access = Committed(name, self.machine.items, across, shape[:2], _CHIPS[chip],
                           registers=registers, target=target, x=x, y=y, count=count,
                           group_x=rng.choice((0, across)), group_y=0, grid_y=height,
                           sd_words=sd_words, sd_period=period, sd_period_cnt=lines)
        operation = TABLE[OPCODES[name]]
        of_chip = operation.unit.value == "scratchpad"
        fields = {f"access.payload.{key}": value for key, value in {
            "slot": number, "opcode": OPCODES[name], "store": int(operation.store),
            "buffer": chip if of_chip else 2 * buffer + number,
            "target": chip if name.endswith("tile") else access.target,
            "width": registers.bit_length() - 1, "count": count, "x": x, "y": y,
            "sd_words": sd_words, "sd_period": period, "sd_period_cnt": lines,
            "group_x": access.group_x}.items()}
        fields["access.valid"] = 1
        if of_chip:
            fields["access.payload.scratchpad"] = 1
        return access, fields

    def new_grid(self) -> None:
        """Another kernel, while nothing is under way."""
        across = self.bench.rng.choice(self.machine.widths)
        height = self.machine.items // across
        self.grid = self.bench.rng.choice((height, height, max(1, height - 1), 1)), across


async def _fill(tester: TransferUnitTester, number: int) -> None:
    """All words of a slot's scratchpad buffers that are read later."""
    widest = len(_BUFFERS) - 1
    for chip, (_, _, lines) in enumerate(_CHIPS):
        for y in range(0, lines, _BUFFERS[widest][1]):
            await _alone(tester, number, tester.access(number, "ldg2sptile", buffer=widest,
                                                       chip=chip, y=-y))


async def _alone(tester: TransferUnitTester, number: int,
                 access: tuple[Committed, dict[str, int]]) -> None:
    over = await tester.shown({number: access}, {number: 0})
    while not over >> number & 1:
        over = await tester.clock({})


@testbench
async def one_after_the_other(bench: Bench) -> None:
    """Each access by itself: how many clocks it takes is known."""
    tester = TransferUnitTester(bench)
    tester.dram.eager = True
    await tester.tables()
    for number in range(SLOTS):
        await _fill(tester, number)
    for _ in range(bench.parameters.get("accesses", 150)):
        number = bench.rng.randrange(SLOTS)
        tester.new_grid()
        slot = tester.slots[number]
        if bench.rng.random() < 0.3:
            await tester.index(slot)
        await _timed(tester, number, tester.random_access(number))
    assert tester.done > 100
    assert all(slot.passed for slot in tester.slots) or not tester.machine.snoopy


async def _timed(tester: TransferUnitTester, number: int,
                 access: tuple[Committed, dict[str, int]]) -> None:
    """An access by itself, with what is known of its time."""
    bench, (committed, fields) = tester.bench, access
    of_chip = "access.payload.scratchpad" in fields
    try:
        shape, fault = tester.shape_of(committed), False
    except Fault:
        shape, fault = None, True
    for what in ("dram", "resume", "scratchpad"):
        bench.undeclare(what)
    if not of_chip and not fault:
        bench.declare("dram", alone=1)
        bench.declare("resume", alone=1, clocks=2)
    if of_chip and shape is not None:
        bench.declare("scratchpad", alone=1, bus=tester.machine.scratchpad_bus,
                      words=shape.words, count=shape.count, gap=shape.period - shape.words,
                      restart=int(shape.meets(tester.machine.scratchpad_bus)))
    await _alone(tester, number, access)
    for _ in range(4):
        await tester.clock({})


@testbench
async def lines_that_meet(bench: Bench) -> None:
    """Accesses with words of two lines in one line of the bus, at one place of the registers.

    Where a work-group's lines are longer than the buffer's, or are cut off at its edge.
    """
    tester, rng = TransferUnitTester(bench), bench.rng
    tester.dram.eager = True
    await tester.tables()
    for number in range(SLOTS):
        await _fill(tester, number)
    met = 0
    while met < 40:
        number = rng.randrange(SLOTS)
        tester.new_grid()
        access = tester.access(number, rng.choice(("ldsplin", "stsplin")), buffer=0,
                               chip=rng.randrange(len(_CHIPS)), target=rng.randrange(61),
                               x=rng.randint(-2, 2))
        try:
            shape = tester.shape_of(access[0])
        except Fault:
            continue
        if shape is not None and shape.meets(tester.machine.scratchpad_bus):
            met += 1
            await _timed(tester, number, access)


@testbench
async def both_at_once(bench: Bench) -> None:
    """Random accesses of both slots, in turn or not, some lanes off."""
    tester, rng = TransferUnitTester(bench), bench.rng
    await tester.tables()
    for number in range(SLOTS):
        await _fill(tester, number)
    for _ in range(6):
        tester.new_grid()
        for slot in tester.slots:
            items = tester.machine.items
            lanes = np.array([rng.random() < rng.choice((0.5, 0.9, 1)) for _ in range(items)])
            slot.state.active, slot.model.active = lanes, lanes
        tester.pauses = (itertools.cycle(_PAUSES) if rng.random() < 0.5 else
                         (int(rng.random() < 0.5) for _ in itertools.count()))
        left = [14, 14]
        while any(left) or any(slot.access for slot in tester.slots):
            free = [slot for slot in tester.slots if slot.access is None and left[slot.number]]
            if free and rng.random() < 0.4:
                slot = rng.choice(free)
                left[slot.number] -= 1
                if rng.random() < 0.3:
                    await tester.index(slot)
                await tester.shown({slot.number: tester.random_access(slot.number)},
                                   {slot.number: rng.choice((0, 0, rng.randrange(60)))})
            else:
                await tester.clock({})
    for _ in range(10):
        await tester.clock({})
    assert tester.done > 150
    assert all(slot.passed > 10 for slot in tester.slots) or not tester.machine.snoopy
