"""Testbench of clients that share a DRAM controller: every answer to each compared in every cycle.

Each client has buffers of its own in words of its own. Requests are of every kind, refused ones and
mappings among them. On the pins is a device that objects to whatever its data sheet forbids.
"""

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import Any

from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.client_arbiter import ClientArbiterModel, ClientOffer
from cyclebound.golden.dram.controller import ControllerShown, DramControllerModel
from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BUFFERS,
    BURST_WORDS,
    TARGET_BITS,
    WORD_BITS,
    WORD_BYTES,
    Destination,
    Refusal,
)
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, interrupted, testbench

_REQUESTS = 120  # of each client
_FEW = 20         # in windows, which are long
_MAPPED = 3      # buffers that a client maps; it asks for one more
_REGION = 1 << 16  # words of a client
_BEAT_BYTES = BEAT_WORDS * WORD_BYTES
_BYTES_OF = [sum(0xF << 4 * word for word in range(BEAT_WORDS) if mask >> word & 1)
             for mask in range(1 << BEAT_WORDS)]


@dataclass
class Client:
    """What a client will ask for, and its indexes; what it offers."""

    mappings: deque[Mapping] = field(default_factory=deque)
    requests: deque[tuple[BufferRequest, list[Element]]] = field(default_factory=deque)
    taken: deque[list[Element]] = field(default_factory=deque)  # indexes of requests not started
    elements: deque[Element] = field(default_factory=deque)     # of one that is
    mapping: Mapping | None = None
    request: tuple[BufferRequest, list[Element]] | None = None
    under_way: int = 0


class ClientArbiterTester:
    """The shared controller, its models, the device and clients; one `cycle` at a time."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.part = part = part_named(p["part"])
        self.count = p["clients"]
        self.arbiter = ClientArbiterModel(self.count, p.get("windows"))
        self.model, self.device = DramControllerModel(part), DramDevice(part)
        self.clients = [Client() for _ in range(self.count)]
        self.counts: Counter[str] = Counter()
        self.idle = 0.0
        self.now = 0
        self.known: set[int] = set()

    async def cycle(self) -> None:
        """Offer, answer, and compare what each client sees."""
        bench, rng = self.bench, self.bench.rng
        values: dict[str, int] = {}
        offered = 0
        words: list[tuple[int, int]] = []
        for number, client in enumerate(self.clients):
            if client.mapping is None and client.mappings and rng.random() >= self.idle:
                client.mapping = client.mappings.popleft()
            if client.request is None and client.requests and rng.random() >= self.idle:
                client.request = client.requests.popleft()
            at = f"client.{number}"
            for port, offer in (("mapping", client.mapping),
                                ("request", client.request and client.request[0])):
                if offer is not None:
                    offered |= bench.inputs.offer(f"{at}.{port}", offer)
            if client.elements:
                offered |= bench.inputs.offer(f"{at}.indexes", client.elements[0])
            words.append((rng.getrandbits(BEAT_WORDS * WORD_BITS), rng.getrandbits(BEAT_WORDS)))
            values |= {f"{at}.store.words": words[-1][0], f"{at}.store.enable": words[-1][1]}
        read = self.device.data_out(self.now)
        values["dq_in"] = (rng.getrandbits(8 * _BEAT_BYTES) if read is None
                           else int.from_bytes(read, "little"))

        offers = [ClientOffer(
            None if client.mapping is None else (client.mapping.buffer, client.mapping),
            None if client.request is None else (client.request[0].buffer, client.request))
            for client in self.clients]
        given = self.arbiter.give(offers, free=self.model.free, table_idle=self.model.table.idle)
        seen = await bench.step(bench.inputs.pack(values) | offered)
        runner = self.clients[given.runner]
        takes_index = bench.outputs[f"client.{given.runner}.indexes.ready"].of(seen)
        element = runner.elements.popleft() if takes_index and runner.elements else None
        stored = words[given.owner or 0]
        shown = self.model.step(
            mapping=given.mapping and replace(given.mapping[1], buffer=given.mapping[0]),
            request=given.request and replace(given.request[1][0], buffer=given.request[0]),
            element=element, store=(tuple(stored[0] >> WORD_BITS * word & (1 << WORD_BITS) - 1
                                          for word in range(BEAT_WORDS)), stored[1]))
        mapper = self.arbiter.mapper
        starter = self.arbiter.end(offers, given, started=shown.started,
                                   completed=shown.completion is not None)
        self._compare(seen, given, shown, starter, mapper)
        self._pins(seen)
        for number, client in enumerate(self.clients):
            if given.takes_request[number] and client.request is not None:
                client.taken.append(client.request[1])
                client.request, client.under_way = None, client.under_way + 1
            if given.mapped == number:
                client.mapping = None
        if starter is not None:
            self.clients[starter].elements.extend(self.clients[starter].taken.popleft())
        if shown.completion is not None:
            assert given.owner is not None
            owner = self.clients[given.owner]
            owner.under_way -= 1
            if shown.completion not in (Refusal.NONE, Refusal.INDEX):  # it never started
                owner.taken.popleft()
            self.counts[f"client {given.owner}"] += 1
            self.counts[f"refused {int(shown.completion)}"] += 1
        self.now += 1

    def _compare(self, seen: int, given, shown: ControllerShown, starter: int | None,
                 mapper: int) -> None:
        expected: dict[str, int] = {"late": 0, "grants": 0 if given.granted is None
                                    else 1 << given.granted, "blocked": 0}
        for number in range(self.count):
            at, owns = f"client.{number}", given.owner == number
            expected |= {
                f"{at}.request.ready": given.takes_request[number],
                f"{at}.mapping.ready": given.mapped == number,
                f"{at}.mapped": shown.mapped is not None and mapper == number,
                f"{at}.started": starter == number,
                f"{at}.completion.valid": shown.completion is not None and owns,
                f"{at}.deliver.valid": shown.deliver is not None and owns,
                f"{at}.fetch.valid": shown.fetch is not None and owns}
            if owns and shown.completion is not None:
                expected[f"{at}.completion.payload"] = shown.completion
            if owns and shown.fetch is not None:
                expected[f"{at}.fetch.payload.enable"] = shown.fetch.enable
            if owns and shown.deliver is not None:
                beat = shown.deliver
                expected[f"{at}.deliver.payload.enable"] = beat.enable
                for word in range(BEAT_WORDS):
                    if beat.enable >> word & 1:
                        expected |= {f"{at}.deliver.payload.words.{word}": beat.words[word],
                                     f"{at}.deliver.payload.targets.{word}": beat.targets[word]}
                self.counts["delivered"] += beat.enable.bit_count()
        self.bench.check_fields(seen, {name: int(value) for name, value in expected.items()})

    def _pins(self, seen: int) -> None:
        out = self.bench.outputs
        op = Command(out["command.op"].of(seen))
        self.counts["refreshes"] += op is Command.REF
        if op is not Command.NOP:
            self.device.command(self.now, op, out["command.bank"].of(seen),
                                out["command.row"].of(seen) if op is Command.ACT else 0,
                                8 * out["command.column"].of(seen) if op in CAS else 0)
        if out["dq_out.valid"].of(seen):
            self.device.data_in(self.now, out["dq_out.payload.words"].of(seen).to_bytes(
                _BEAT_BYTES, "little"), _BYTES_OF[out["dq_out.payload.mask"].of(seen)])

    def fill(self) -> None:
        """Random words in each client's region, in the device and in the model."""
        for number in range(self.count):
            for burst in range(number * _REGION // BURST_WORDS,
                               number * _REGION // BURST_WORDS + 300):
                content = self.bench.rng.randbytes(BURST_WORDS * WORD_BYTES)
                place = place_of(self.part, burst)
                self.device.set_burst(place.bank, place.row, place.column // 8, content)
                self.model.memory[burst] = [
                    int.from_bytes(content[at:at + WORD_BYTES], "little")
                    for at in range(0, len(content), WORD_BYTES)]

    async def drain(self) -> None:
        while any(client.mappings or client.requests or client.mapping or client.request
                  or client.under_way for client in self.clients):
            await self.cycle()
        for _ in range(self.part.nCAS + 8):
            await self.cycle()

    def finish(self) -> None:
        """All that the device holds is what the model says."""
        for number, words in self.model.memory.items():
            place = place_of(self.part, number)
            self.bench.compare(self.device.burst(place.bank, place.row, place.column // 8),
                               b"".join(word.to_bytes(WORD_BYTES, "little") for word in words),
                               f"burst {number}")


async def _play(bench: Bench, *, idle: float) -> ClientArbiterTester:
    tester, rng = ClientArbiterTester(bench), bench.rng
    small = "windows" in bench.parameters  # tiles of a burst or two: windows are for such
    for what in ("slot",) if small else ("tile", "tile_refreshed"):
        bench.undeclare(what)
    tester.fill()
    for number, client in enumerate(tester.clients):
        sizes = [(rng.randint(1, 70), rng.randint(1, 20)) for _ in range(_MAPPED)]
        for buffer, (x, y) in enumerate(sizes):
            client.mappings.append(Mapping(buffer, number * _REGION + rng.randrange(3000), x, y))
    await tester.drain()
    tester.idle = idle
    for number, client in enumerate(tester.clients):
        for _ in range(_FEW if small else _REQUESTS):
            buffer = rng.randrange(_MAPPED + (rng.random() < 0.1))
            mapping = tester.model.table.buffers.get(BUFFERS * number + buffer,
                                                     Mapping(buffer, 0, 5, 5))
            common: dict[str, Any] = {
                "write": rng.random() < 0.5, "destination": Destination(rng.randrange(2)),
                "base": rng.getrandbits(TARGET_BITS), "pitch": rng.getrandbits(TARGET_BITS)}
            if rng.random() < 0.3:
                limit = mapping.x * mapping.y
                indexes = [Element(rng.randrange(limit + (rng.random() < 0.05)),
                                   rng.getrandbits(TARGET_BITS))
                           for _ in range(rng.randrange(4 if small else 12))]
                client.requests.append((BufferRequest(mapping.buffer % BUFFERS, indexed=True,
                                                      **common),
                                        [*indexes, Element(end=True)]))
                continue
            x, y = rng.randrange(mapping.x), rng.randrange(mapping.y)
            wide = rng.random() < 0.1
            client.requests.append((BufferRequest(
                mapping.buffer % BUFFERS, x, y,
                rng.randint(1, min(16, mapping.x - x) if small else mapping.x - x)
                + wide * mapping.x, 1 if small else rng.randint(1, min(6, mapping.y - y)),
                **common), []))
        for _ in range(3):
            client.mappings.append(Mapping(_MAPPED - 1, number * _REGION + rng.randrange(3000),
                                           rng.randint(1, 70), rng.randint(1, 20)))
    await tester.drain()
    tester.finish()
    assert all(tester.counts[f"client {number}"] == (_FEW if small else _REQUESTS)
               for number in range(tester.count))
    assert tester.counts["delivered"]
    assert sum(count for name, count in tester.counts.items() if name[:8] == "refused "
               ) - tester.counts["refused 0"] > tester.count, tester.counts
    return tester


@testbench
async def all_ask_at_once(bench: Bench) -> None:
    """Every client has a request whenever it may."""
    tester = await _play(bench, idle=0.0)
    assert tester.counts["refreshes"], "no refresh came in between"


@testbench
async def now_and_then(bench: Bench) -> None:
    """Requests come after a while: some find the controller idle."""
    await _play(bench, idle=0.98)


reset_in_mid_run = interrupted(all_ask_at_once, longest=400)
