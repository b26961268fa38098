"""The DRAM controller between its device and its models, for testbenches.

On the pins there is a device that objects to whatever its data sheet forbids, and that keeps what
is written to it. On the chip's side, what is fetched is answered by random words, and what the
device holds must be what the model of memory says, from the first word to the last. Buses that
no client drives carry random words.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.buffer_table import Answer, BufferRequest, Mapping, decide
from cyclebound.golden.dram.controller import (
    LOOKUP,
    ControllerShown,
    DramControllerModel,
    bursts_moved,
)
from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.dq_scheduler import DataBeat
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BURST_BYTES,
    TARGET_BITS,
    WORD_BITS,
    WORD_BYTES,
    Burst,
    Destination,
    Refusal,
)
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.golden.dram.tile_lanes import Lines
from cyclebound.golden.dram.tile_search import effort
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench

__all__ = ["ControllerTester", "Wanted"]

_COMPLETIONS = "completion", "completion_lines", "completion_indexed", "refusal"
_DELAYS = "tile", "tile_lines", "indexed"
_SMALL = 1 << 17  # bursts to follow for the bound of a tile's lines
_BUS_BITS = BEAT_WORDS * WORD_BITS
_BEAT_BYTES = BEAT_WORDS * WORD_BYTES
_BYTES_OF = [sum(0xF << 4 * word for word in range(BEAT_WORDS) if mask >> word & 1)
             for mask in range(1 << BEAT_WORDS)]
_TARGETS_OF = [sum((1 << TARGET_BITS) - 1 << TARGET_BITS * word for word in range(BEAT_WORDS)
                   if not mask >> word & 1) for mask in range(1 << BEAT_WORDS)]  # of no word


def _packed(values: Sequence[int], width: int) -> int:
    return sum(value << width * number for number, value in enumerate(values))


def _split(word: int) -> tuple[int, ...]:
    return tuple(word >> WORD_BITS * number & (1 << WORD_BITS) - 1 for number in range(BEAT_WORDS))


@dataclass
class Wanted:
    """A request, its indexes, and the cycles of its events.

    ``period``: words from line to line. ``isolated``: nothing else was under way when it was taken,
    nor a refresh to come before it starts. ``pauses``: so many cycles, one for each element, its
    source takes before it offers that; none by default. ``starved``: it had to wait for an index
    that was promised earlier. ``first``: cycle of its first command. ``delay``: to the first
    command after it, if that came at once.
    """

    request: BufferRequest
    elements: Sequence[Element] = ()
    pauses: Sequence[int] = ()
    bursts: Sequence[Burst] = ()
    refusal: Refusal = Refusal.NONE
    period: int = 0
    isolated: bool = False
    started: bool = False
    starved: bool = False
    first: int | None = None
    delay: int | None = None


class ControllerTester:
    """Controller, device and models; one `cycle` at a time.

    Attributes
    ----------
    mappings, requests : deque
        What is to be offered, each in order.
    directed : bool
        Whether the bounds of all lines are worth their time, and not of small tiles only.
    counts : Counter
        Words delivered and driven, requests by kind and refusal, refreshes.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.part = part = part_named(bench.parameters["part"])
        self._pair = 2 * part.bursts_per_row
        self.model = DramControllerModel(part)
        self.device = DramDevice(part)
        self.mappings: deque[Mapping] = deque()
        self.requests: deque[Wanted] = deque()
        self.directed = False
        self.idle = self.starve = 0.0  # how often nothing is offered, though there is something
        self.counts: Counter[str] = Counter()
        self.model_cycle = 0
        self._elements: deque[tuple[int, Element]] = deque()  # after so many cycles
        self._offered: Element | None = None
        self._mapping: Mapping | None = None
        self._request: Wanted | None = None
        self._accepted: deque[Wanted] = deque()   # and not completed
        self._current: Wanted | None = None       # started last
        self._measured: tuple[Wanted, int] | None = None  # completed a cycle ago, and its `first`
        self._known: set[int] = set()             # bursts with content
        self._said: dict[str, tuple[str, dict[str, int]] | None] = {}  # declared last
        self._answers: deque[int | None] = deque([None, None])
        i, o = bench.inputs, bench.outputs
        self._dq_in, self._words, self._enable = i["dq_in"], i["store.words"], i["store.enable"]
        self._index = [i[f"indexes.{name}"] for name in (
            "valid", "payload.index", "payload.target", "payload.end")]
        self._ready = o["indexes.ready"]
        self._valid = {name: o[f"{name}.valid"] for name in ("fetch", "deliver", "dq_out",
                                                             "completion")}
        self._fields = {(side, field): o[f"{side}.payload.{field}"]
                        for side in ("fetch", "deliver")
                        for field in ("enable", "targets", "destination", "transform")}
        self._delivered, self._verdict = o["deliver.payload.words"], o["completion.payload"]
        self._driven, self._mask = o["dq_out.payload.words"], o["dq_out.payload.mask"]
        self._command = {name: o[f"command.{name}"] for name in ("op", "bank", "row", "column")}
        self._flags = {name: o[name] for name in ("mapping.ready", "request.ready", "mapped",
                                                  "started", "late", "free")}
        self._always = sum(field.mask for field in (*self._valid.values(), self._mask,
                                                    self._command["op"], *self._flags.values()))

    # -- one cycle -----------------------------------------------------------------------------

    async def cycle(self) -> ControllerShown:
        """Offer, let the device and the chip answer, and compare."""
        bench, rng, now = self.bench, self.bench.rng, self.model_cycle
        if self._mapping is None and self.mappings and rng.random() >= self.idle:
            self._mapping = self.mappings.popleft()
        if self._request is None and self.requests and rng.random() >= self.idle:
            self._request = self.requests.popleft()
        paused = False
        if self._offered is None and self._elements:
            pause, element = self._elements[0]
            if paused := pause > 0:
                self._elements[0] = pause - 1, element
            elif rng.random() >= self.starve:
                self._offered = self._elements.popleft()[1]

        read = self.device.data_out(now)
        dq = rng.getrandbits(_BUS_BITS) if read is None else int.from_bytes(read, "little")
        answer = self._answers.popleft()
        words = rng.getrandbits(_BUS_BITS)
        enable = rng.getrandbits(BEAT_WORDS) if answer is None else answer
        word = self._dq_in.to(dq) | self._words.to(words) | self._enable.to(enable)
        word |= self._offers()
        isolated = self._announce()
        seen = await bench.step(word)

        taken = None
        if self._offered is not None and self._ready.of(seen):
            taken, self._offered = self._offered, None
        elif self._ready.of(seen) and self._current is not None and not paused:
            self._current.starved = True
        request = None if self._request is None else self._request.request
        shown = self.model.step(mapping=self._mapping, request=request, element=taken,
                                store=(_split(words), enable))
        self._compare(seen, shown)
        self._pins(seen, now)
        self._answers.append(self._answer(shown.fetch))
        self._account(shown, now, isolated)
        self.model_cycle += 1
        return shown

    def _offers(self) -> int:
        word = 0
        for port, offer in (("mapping", self._mapping),
                            ("request", self._request and self._request.request)):
            if offer is not None:
                word |= self.bench.inputs.offer(port, offer)
        if self._offered is not None:
            element = self._offered
            for field, value in zip(self._index, (1, element.index, element.target, element.end),
                                    strict=True):
                word |= field.to(value)
        return word

    def _answer(self, fetch: DataBeat | None) -> int | None:
        """The words of a fetch that the chip has, as a mask: all, unless it is from the CAM."""
        if fetch is None:
            return None
        full = (1 << BEAT_WORDS) - 1
        return self.bench.rng.getrandbits(BEAT_WORDS) if (
            fetch.destination == Destination.CAM) else full

    def _compare(self, seen: int, shown: ControllerShown) -> None:
        care = self._always
        expected = sum(self._flags[name].mask for name, value in (
            ("mapping.ready", shown.takes_mapping), ("request.ready", shown.takes_request),
            ("mapped", shown.mapped is not None), ("started", shown.started),
            ("late", shown.late), ("free", shown.free)) if value)
        if shown.mapped is not None:
            refusal = self.bench.outputs["mapping_refusal"]
            expected, care = expected | refusal.to(shown.mapped), care | refusal.mask
        if shown.completion is not None:
            expected |= self._valid["completion"].mask | self._verdict.to(shown.completion)
            care |= self._verdict.mask
        if shown.command is not None:
            issued, fields = shown.command, self._command
            matters = {Command.ACT: ("bank", "row"), Command.PRE: ("bank",),
                       Command.REF: ()}.get(issued.op, ("bank", "column"))
            values = {"bank": issued.bank, "row": issued.row, "column": issued.column // 8}
            expected |= fields["op"].to(issued.op)
            for name in matters:
                expected |= fields[name].to(values[name])
                care |= fields[name].mask
        for side, beat in (("fetch", shown.fetch), ("deliver", shown.deliver)):
            if beat is not None:
                expected |= self._valid[side].mask
                for name, value in (("enable", beat.enable), ("destination", beat.destination),
                                    ("targets", _packed(beat.targets, TARGET_BITS)),
                                    ("transform", beat.transform)):
                    expected |= self._fields[side, name].to(value)
                    care |= self._fields[side, name].mask
                if beat.destination != Destination.CAM:  # which finds words by that of word 0
                    care ^= _TARGETS_OF[beat.enable] << self._fields[side, "targets"].offset
        if shown.deliver is not None:
            expected |= self._delivered.to(_packed(shown.deliver.words, WORD_BITS))
            care |= self._delivered.mask
            self.counts["delivered"] += shown.deliver.enable.bit_count()
        if shown.drive is not None:
            words, mask = shown.drive
            expected |= self._valid["dq_out"].mask | self._mask.to(mask)
            for number in range(BEAT_WORDS):
                if mask >> number & 1:
                    at = self._driven.offset + WORD_BITS * number
                    expected, care = expected | words[number] << at, care | (1 << 32) - 1 << at
            self.counts["driven"] += mask.bit_count()
        self.bench.check(seen, expected, care)

    def _pins(self, seen: int, now: int) -> None:
        """The device sees the pins of the hardware, not those of the model."""
        op = Command(self._command["op"].of(seen))
        if op is not Command.NOP:
            bank = self._command["bank"].of(seen)
            self.device.command(now, op, bank,
                                self._command["row"].of(seen) if op is Command.ACT else 0,
                                8 * self._command["column"].of(seen) if op in CAS else 0)
        if self._valid["dq_out"].of(seen):
            self.device.data_in(now, self._driven.of(seen).to_bytes(_BEAT_BYTES, "little"),
                                _BYTES_OF[self._mask.of(seen)])

    # -- requests ------------------------------------------------------------------------------

    def _account(self, shown: ControllerShown, now: int, isolated: bool) -> None:
        """Follow each request through the stages of the controller."""
        op = shown.command.op if shown.command else Command.NOP
        current = self._accepted[0] if self._accepted else None
        if op is Command.REF:
            self.counts["refreshes"] += 1
        if self._measured is not None:  # the first command after it came at once, or never
            if op in (Command.ACT, Command.REF):
                measured, first = self._measured
                measured.delay = now - first
                self.counts["refresh at once" if op is Command.REF else "follower at once"] += 1
            self._measured = None
        if op is Command.ACT and current is not None and current.first is None:
            current.first = now
            self._announce_delay(current)
        if shown.started:
            self._current = next(request for request in self._accepted if not request.started)
            self._current.started = True
        if shown.completion is not None:
            done = self._accepted.popleft()
            assert shown.completion == done.refusal, (shown.completion, done)
            self.counts[f"refused {int(done.refusal)}"] += 1
            if done.refusal and self._request is not None:
                self.counts["offered while another is refused"] += 1
            if done.first is not None:
                self._measured = done, done.first
        if self._mapping is not None and shown.takes_mapping:
            self._mapping = None
        if self._request is not None and shown.takes_request:
            self._take(self._request, isolated)
            self._request = None

    def _judge(self, wanted: Wanted) -> Answer:
        """Decide a request taken now, with the current mappings; notes refusal and bursts in it."""
        request = wanted.request
        mapping = self.model.table.buffers.get(request.buffer)
        answer = decide(mapping, request)
        wanted.refusal, wanted.bursts = answer.refusal, ()
        if mapping is not None and not answer.refusal:
            wanted.period = mapping.x
            wanted.bursts = bursts_moved(answer, request, wanted.elements)
            if request.indexed and any(element.index >= answer.limit for element in wanted.elements
                                       if not element.end):
                wanted.refusal = Refusal.INDEX
        return answer

    def _take(self, wanted: Wanted, isolated: bool) -> None:
        """A request is accepted: what becomes of it is decided by the mappings of this moment."""
        request, answer = wanted.request, self._judge(wanted)
        wanted.isolated = isolated
        wanted.started = bool(answer.refusal)  # or never
        if not answer.refusal:
            if request.indexed:
                pauses = wanted.pauses or [0] * len(wanted.elements)
                self._elements.extend(zip(pauses, wanted.elements, strict=True))
            self._fill(wanted.bursts)
            self.counts[f"{'write' if request.write else 'read'} "
                        f"{'indexed' if request.indexed else 'tile'}"] += 1
        self._accepted.append(wanted)

    def _fill(self, bursts: Sequence[Burst]) -> None:
        """Random content for bursts that were not touched yet, in the device and in the model."""
        for burst in bursts:
            if burst.address not in self._known:
                self._known.add(burst.address)
                content = self.bench.rng.randbytes(BURST_BYTES)
                place = place_of(self.part, burst.address)
                self.device.set_burst(place.bank, place.row, place.column // 8, content)
                self.model.memory[burst.address] = [
                    int.from_bytes(content[at:at + WORD_BYTES], "little")
                    for at in range(0, BURST_BYTES, WORD_BYTES)]

    def _shape(self, wanted: Wanted) -> tuple[str, dict[str, int]] | None:
        """The bounds that cover a request, and their parameters; None if none does.

        Bounds of lines take a while: of those drawn at random, only small ones have their own.
        """
        if not wanted.bursts or wanted.refusal not in (Refusal.NONE, Refusal.INDEX):
            return None
        request, write, size = wanted.request, int(wanted.request.write), len(wanted.bursts)
        if request.indexed:
            gaps = {"refused": len(wanted.elements) - 1 - size, "starved": sum(wanted.pauses)}
            return "_indexed", {
                "bursts": size, "write": write,
                "rows": self._rows([burst.address for burst in wanted.bursts]),
                **{name: clocks for name, clocks in gaps.items() if clocks}}
        if wanted.bursts[-1].address - wanted.bursts[0].address + 1 == size:
            return "", {"bursts": size, "write": write}
        lines = Lines(request.words, wanted.period, request.count)
        if self.directed or effort(self.part, lines) <= _SMALL:
            return "_lines", {**asdict(lines), "write": write}
        return None

    def _rows(self, numbers: Sequence[int]) -> int:
        """Rows of banks that a buffer from the first to the last of these bursts covers.

        ``banks`` + 1 stands for any greater number: bounds make no difference.
        """
        first, last = min(numbers), max(numbers)
        rows = 0
        while first <= last and rows <= self.part.banks:
            after = min(last + 1, (first // self._pair + 1) * self._pair)
            rows, first = rows + min(2, after - first), after
        return min(rows, self.part.banks + 1)

    def _say(self, whats: Sequence[str], kind: tuple[str, dict[str, int]] | None) -> None:
        """Declare requests to be of a kind of one of these bounds, or of none."""
        if self._said.get(whats[0]) == kind:
            return
        self._said[whats[0]] = kind
        for what in whats:
            if kind is not None and kind[0] == what:
                self.bench.declare(what, **kind[1])
            else:
                self.bench.undeclare(what)

    def _announce(self) -> bool:
        """Declare the request on offer if it is isolated; returns whether it is."""
        wanted, interval = self._request, self.part.nREFI
        isolated = (wanted is not None and self._mapping is None and self.model.idle
                    and self.model_cycle % interval < interval - 2 * LOOKUP)
        kind = None
        if wanted is not None and isolated:
            self._judge(wanted)
            shape = self._shape(wanted)
            if wanted.refusal not in (Refusal.NONE, Refusal.INDEX):
                kind = "refusal", {"alone": 1}
            elif shape is not None and not self._may_starve(wanted):
                kind = f"completion{shape[0]}", shape[1]
        self._say(_COMPLETIONS, kind)
        return isolated

    def _announce_delay(self, wanted: Wanted) -> None:
        """Declare the request whose first command is on the pins, if another one waits."""
        described = self._shape(wanted)
        if described is None or self._may_starve(wanted) or not self._followed():
            self._say(_DELAYS, None)
        else:
            kind, shape = described
            self._say(_DELAYS, ("indexed" if kind == "_indexed" else f"tile{kind}", shape))

    def _may_starve(self, wanted: Wanted) -> bool:
        """Whether its source may not offer an index that it has promised for a cycle."""
        return wanted.request.indexed and self.starve > 0

    def _followed(self) -> bool:
        """Whether a request waits whose first command comes as soon as it may."""
        if len(self._accepted) > 1:
            after = self._accepted[1]
        elif self.mappings or self._mapping is not None:
            return False
        elif self._request is not None or (self.requests and not self.idle):
            after = self._request or self.requests[0]
            self._judge(after)
        else:
            return False
        promptly = not (after.request.indexed
                        and (self._may_starve(after) or after.refusal or any(after.pauses)))
        return after.refusal in (Refusal.NONE, Refusal.INDEX) and len(after.bursts) > 0 and promptly

    # -- whole runs ----------------------------------------------------------------------------

    async def drain(self) -> None:
        """Run cycles until all requests are completed, and all data have moved."""
        while (self.requests or self.mappings or self._request is not None
               or self._mapping is not None or self._accepted):
            await self.cycle()
        for _ in range(self.part.nCAS + 8):
            await self.cycle()
        assert not self._elements
        assert self._offered is None

    def finish(self) -> None:
        """All that the device holds is what the model says, word for word."""
        self.device.finish(self.model_cycle)
        for number, words in self.model.memory.items():
            place = place_of(self.part, number)
            held = self.device.burst(place.bank, place.row, place.column // 8)
            self.bench.compare(held, b"".join(word.to_bytes(WORD_BYTES, "little")
                                              for word in words), f"burst {number}")
        self.counts["bursts"] = len(self.model.memory)
