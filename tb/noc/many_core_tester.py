"""A many-core's memory path in simulation: transactions begin when they are due, and all that they
move is compared."""

from collections.abc import Mapping, Sequence

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES, word
from cyclebound.golden.noc.many_core import Asked
from cyclebound.golden.noc.many_core_data import interleaved
from cyclebound.tb.bench import Bench
from cyclebound.tb.noc.end_to_end import network_start
from cyclebound.tb.noc.wide_dram import WideDram

__all__ = ["ManyCoreTester", "Rival"]

_PLACE = ("bank", "row", "column", "bursts", "local", "word")
_LATER = 2  # cycles of the network from a write's being taken to its first word on offer
Rival = tuple[int, int]
"""A tile and a bank of its local memory."""


class ManyCoreTester:
    """The system, from its reset on, with two devices in lockstep on its pins.

    ``windows`` by tile and direction; ``hammered`` says for a tile's bank how many requesters
    ask there in every cycle in which they have no other request: the core and the DMA's reading
    half first, then other cores. One bank a tile.
    """

    def __init__(self, bench: Bench, windows: Mapping[tuple[int, bool], tdma.Slot], period: int,
                 hammered: Mapping[Rival, int] | None = None) -> None:
        self.bench, p = bench, bench.parameters
        self.tiles = p["rows"] * p["columns"] - 1
        self.words, self._interleaved = p["words"], p["interleaved"]
        self.part = part_named(p["part"])
        self.dram = WideDram(self.part, bench.outputs)
        self.start = bench.cycle
        self.inputs: dict[str, int] = {}
        for (tile, write), slot in windows.items():
            name = f"{'write' if write else 'read'}_windows.{tile}"
            self.inputs |= {f"{name}.period": period, f"{name}.offset": slot.offset,
                            f"{name}.length": slot.length}
        for (tile, bank), many in (hammered or {}).items():
            who = [0, 1, *range(3, p["requesters"])][:many]
            self.inputs[f"saturate.{tile}"] = sum(1 << one for one in who)
            self.inputs |= {f"at.{tile}.{number}": bank for number in range(many)}
        self.done: dict[tuple[int, bool], list[int]] = {
            (tile, write): [] for tile in range(self.tiles) for write in (False, True)}
        self.moved: dict[tuple[int, bool], list[int]] = {flow: [] for flow in self.done}
        self.begun: dict[tuple[int, bool], int] = {}  # the last one's first cycle
        self.faults: list[tuple[int, str, int]] = []  # cycle, what, flows or tiles
        self.words_seen: list[int] = []
        self._left = dict.fromkeys(self.done, 0)  # bursts or words of the one under way
        self._awaited: set[int] = set()  # tiles whose core is to offer its first word
        self._under_way: dict[tuple[int, bool], tuple[Asked, int]] = {}
        self._pulses: dict[int, dict[str, int]] = {}
        self._taken: dict[int, list[tuple[str, Asked, int]]] = {}
        self._find_outputs()

    def _find_outputs(self) -> None:
        o = self.bench.outputs
        self._op, self._valid = o["command.op"].mask, o["bus.valid"].mask
        self._stored, self._seen = o["stored"], o["seen.valid"].mask
        self._writing, self._network = o["writing"], o["network"].mask
        self._wrong = [o[name] for name in ("refused", "stalled", "overrun")]
        self._bad = sum(field.mask for field in self._wrong)
        self._any = self._op | self._valid | self._stored.mask | self._seen | self._bad
        self._last = {"write": o["bus.write"], "beat": o["bus.beat"], "port": o["port"]}

    @property
    def now(self) -> int:
        """The coming cycle, from the reset."""
        return self.bench.cycle - self.start

    # -- what begins ------------------------------------------------------------------------------

    def try_bad(self, one: Asked, cycle: int) -> None:
        """Have one asked for in this cycle of the network that will be refused."""
        self._ask(one, network_start(cycle, self.bench), 0)

    def begin(self, one: Asked, cycle: int, seed: int = 0) -> None:
        """Have a transaction begin in this cycle of the network: taken two before, if it writes, so
        that its first word is on offer then."""
        taken = network_start(cycle - _LATER if one.write else cycle, self.bench)
        self._taken.setdefault(taken, []).append((self._ask(one, taken, seed), one, seed))

    def _ask(self, one: Asked, cycle: int, seed: int) -> str:
        """Put it on the flow's port in this DDR cycle; the port's name."""
        name = f"{'writes' if one.write else 'reads'}.{one.tile}"
        assert cycle >= self.now, (one.name, cycle)
        fields = {f"{name}.payload.{field}": getattr(one, field) for field in _PLACE}
        self._pulses.setdefault(cycle, {}).update({
            **fields, **({f"{name}.payload.seed": seed} if one.write else {}), f"{name}.valid": 1})
        return name

    def declare(self, one: Asked) -> None:
        """Its bound, until the flow's next one."""
        claim = one.claim if one.write else {**one.claim, "words": one.nbytes // WORD_BYTES}
        self.bench.declare(one.bound_named, {"t": one.tile}, **claim)

    # -- cycles -----------------------------------------------------------------------------------

    async def run(self, cycles: int) -> None:
        """So many cycles."""
        end = self.now + cycles
        while self.now < end:
            now = self.now
            count = min(self.part.nCAS, end - now)
            words = []
            for cycle in range(now, now + count):
                valid: list[str] = []
                if (pulse := self._pulses.pop(cycle, None)) is not None:
                    self.inputs |= pulse  # the payload stays: the probe reads it later
                    valid = [name for name in pulse if name.endswith(".valid")]
                values = dict(self.inputs)
                if (beat := self.dram.due.pop(cycle, None)) is not None:
                    values["dq_in"] = beat
                words.append(values)
                for name in valid:
                    del self.inputs[name]
            packed = self._pack(words)
            for cycle, seen in enumerate(await self.bench.play(packed), now):
                if self._awaited:
                    self._await(cycle, seen)
                if seen & self._any:
                    self._look(cycle, seen)
                for name, one, seed in self._taken.pop(cycle, ()):
                    assert seen & self.bench.outputs[f"{name}.ready"].mask, (
                        f"{one.name}: {name} is busy in cycle {cycle}")
                    flow = one.tile, one.write
                    assert not self._left[flow], f"{one.name}: {name} is under way, cycle {cycle}"
                    self._left[flow] = one.bursts if one.write else one.nbytes // WORD_BYTES
                    self._under_way[flow], self.begun[flow] = (one, seed), cycle
                    if one.write:
                        self._awaited.add(one.tile)

    def _pack(self, values: Sequence[dict[str, int]]) -> list[int]:
        """Inputs of each cycle; most are those of the one before."""
        packed, before, word = [], None, 0
        for now in values:
            if now != before:
                word, before = self.bench.inputs.pack(now), now
            packed.append(word)
        return packed

    def _await(self, now: int, seen: int) -> None:
        """A write begins when the core's first word is on offer, in a cycle of the network."""
        if seen & self._network:
            for tile in [tile for tile in self._awaited if self._writing.of(seen) >> tile & 1]:
                self._awaited.remove(tile)
                self.begun[tile, True] = now

    def _look(self, now: int, seen: int) -> None:
        if seen & self._op:
            self.dram.command(now, seen)
        if seen & self._valid:
            self.dram.beat(now, seen)
            if self._last["write"].of(seen) and self._last["beat"].of(seen) == 3:
                self._count(now, self._last["port"].of(seen), write=True)
        if stored := self._stored.of(seen):
            for tile in range(self.tiles):
                if stored >> tile & 1:
                    self._count(now, tile, write=False)
        if seen & self._seen:
            self.words_seen.append(self.bench.outputs["seen.data"].of(seen))
        if seen & self._bad:
            self.faults += [(now, field.name, field.of(seen))
                            for field in self._wrong if seen & field.mask]

    def _count(self, now: int, tile: int, *, write: bool) -> None:
        flow = tile, write
        assert self._left[flow], f"cycle {now}: a word of no transaction, tile {tile}"
        self._left[flow] -= 1
        self.moved[flow].append(now)  # a burst to DDR3, or a word to local memory
        if not self._left[flow]:
            self.done[flow].append(now)
            one, seed = self._under_way[flow]
            if write:
                self.bench.compare(self.in_dram(one), self.written(one, seed),
                                   f"what {one.name} wrote", count=one.bursts)

    # -- data -------------------------------------------------------------------------------------

    def written(self, one: Asked, seed: int) -> bytes:
        """What a write writes."""
        return b"".join(word(index, self.words, seed).to_bytes(WORD_BYTES, "little")
                        for index in range(one.nbytes // WORD_BYTES))

    def _places(self, one: Asked) -> list[tuple[int, int, int]]:
        """Bank, row and column of each of its bursts."""
        places = [(one.bank, one.row, one.column + number) for number in range(one.bursts)]
        return [interleaved(*place, self.part) for place in places] if self._interleaved else places

    def in_dram(self, one: Asked) -> bytes:
        """What DDR3 has where a transaction writes, or reads."""
        return b"".join(self.dram.burst(*place) for place in self._places(one))

    def fill_dram(self, one: Asked, data: bytes) -> None:
        """The same, before it is read."""
        for number, place in enumerate(self._places(one)):
            self.dram.fill(*place, data[number * REQUEST_BYTES:][:REQUEST_BYTES])

    async def in_local_memory(self, one: Asked) -> bytes:
        """What a core reads from a transaction's buffer; the others pause."""
        saved = dict(self.inputs)
        for name in saved:
            if name.startswith("saturate"):
                self.inputs[name] = 0
        await self.run(8)
        before = len(self.words_seen)
        for place in range(one.word, one.word + one.nbytes // WORD_BYTES):
            look = {"look.valid": 1, "look.tile": one.tile, "look.bank": one.local,
                    "look.word": place}
            granted = 0
            while not granted:
                seen = (await self.bench.play([self.bench.inputs.pack({**self.inputs, **look,
                        **self._beat_due()})]))[0]
                if seen & self._any:
                    self._look(self.now - 1, seen)
                granted = seen & self._network
        await self.run(8)
        self.inputs = saved
        return b"".join(value.to_bytes(WORD_BYTES, "little")
                        for value in self.words_seen[before:])

    def _beat_due(self) -> dict[str, int]:
        beat = self.dram.due.pop(self.now, None)
        return {} if beat is None else {"dq_in": beat}
