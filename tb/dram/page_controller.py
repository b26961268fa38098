"""Testbench of the page controller: every output compared, every command seen by a device."""

import itertools
from collections import deque
from collections.abc import Callable

from cyclebound.golden.dram.device import BEAT_BYTES, DramDevice
from cyclebound.golden.dram.page_bounds import request_time
from cyclebound.golden.dram.page_controller import DataBeatStrobe, PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.page_histories import LONGEST

_KINDS = [*itertools.product((False, True), (0, 1), (0, 1))]  # writes, bank, row


class PageControllerTester:
    """The controller, its model, a device on its pins, and requests that wait.

    Attributes
    ----------
    waiting : deque
        Requests, of which the first is on offer.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        p = bench.parameters
        self.part = part_named(p["part"])
        self.model = PageControllerModel(self.part, close=p["close"], postpone=p["postpone"])
        self.device = DramDevice(self.part)
        self.waiting: deque[QueuedRequest] = deque()
        self._start = bench.cycle
        self._offered = False  # the first one is on offer
        self._under_way = 0
        o = bench.outputs
        self._care = sum(o[name].mask for name in (
            "sink.ready", "command.op", "bus.valid", "fetch.valid", "deliver.valid", "closed"))
        self.tags = 1 << p["tag_bits"]
        # A refresh that falls due is over after one such time, and a request after two.
        self._far = 2 * request_time(part=self.part, refreshes=1)
        self.taken = 0  # the cycle in which the last request was taken

    @property
    def now(self) -> int:
        """The coming cycle, from the reset."""
        return self.bench.cycle - self._start

    def request(self, write: bool, bank: int, row: int) -> None:
        """Append a request to those waiting."""
        rng = self.bench.rng
        self.waiting.append(QueuedRequest(rng.randrange(8), write, bank, row,
                                          rng.randrange(self.part.bursts_per_row),
                                          rng.randrange(self.tags)))

    async def cycle(self, *, offer: bool = True) -> bool:
        """One cycle, compared; whether a request was taken."""
        bench, values, now = self.bench, {}, self.now
        request = self.waiting[0] if self.waiting and (offer or self._offered) else None
        if request is not None:
            if not self._offered:
                # Far from the cycles in which refreshes fall due, none is done.
                far = self._far <= now % self.part.nREFI <= self.part.nREFI - self._far
                bench.declare("request", refreshes=int(not far))
                self._offered = True
            values = {"sink.valid": 1, **{f"sink.payload.{name}": value
                                          for name, value in request._asdict().items()}}
        driven = self.device.data_out(now)
        if driven is not None:
            values["dq_in"] = int.from_bytes(driven, "little")
        return self._compare(await bench.step(bench.inputs.pack(values)), request, now, driven)

    async def idle(self, cycles: int) -> None:
        """So many cycles without a request, compared."""
        assert not self.waiting
        now = self.now
        for cycle, seen in enumerate(await self.bench.play([0] * cycles), now):
            self._compare(seen, None, cycle)

    def _compare(self, seen: int, request: QueuedRequest | None, now: int,
                 driven: bytes | None = None) -> bool:
        bench = self.bench
        taken, pins, closed, beat, fetched = self.model.step(
            request, int.from_bytes(driven or b"", "little"))
        expected: dict[str, int] = {"sink.ready": taken, "closed": closed}
        care = self._care
        if pins is not None:
            expected |= {"command.op": pins.op}
            if pins.op not in (Command.PREA, Command.REF):
                expected |= {"command.bank": pins.bank, "command.row": pins.row,
                             "command.column": pins.column}
                care |= bench.outputs["command"].mask
            self.device.command(now, pins.op, pins.bank, pins.row, 8 * pins.column)
        for port, strobe in (("bus", beat), ("fetch", fetched),
                             ("deliver", self.model.delivered)):
            if strobe is not None:
                expected |= {f"{port}.valid": 1, **{f"{port}.{name}": value for name, value
                                                    in strobe._asdict().items()}}
                care |= bench.outputs[port].mask
        bench.check(seen, bench.outputs.pack(expected), care)
        if taken:
            self.waiting.popleft()
            self._under_way += 1
            self._offered = False
            self.taken = now
        self._data(now, beat, driven)
        return taken

    def _data(self, now: int, beat: DataBeatStrobe | None, driven: bytes | None) -> None:
        """Beats as the device has them; the last one ends a request."""
        if beat is None:
            assert driven is None
            return
        assert (driven is None) == beat.write
        if beat.write:
            first = 4 * beat.tag + beat.beat  # each beat's bytes differ, and from others'
            self.device.data_in(now, bytes((first + 17 * place) % 256
                                           for place in range(BEAT_BYTES)))
        self._under_way -= beat.beat == self.part.nBURST - 1

    async def drain(self) -> None:
        """Run cycles until all data have been moved."""
        while self.waiting or self._under_way:
            await self.cycle()
        self.device.finish(self.now)


@testbench
async def a_read_after_a_write(bench: Bench) -> None:
    """Another row of the bank: t_req^max; and all other pairs of requests."""
    tester = PageControllerTester(bench)
    for bank, row in ((0, 0), (0, 1), (1, 0), (1, 1), (0, 1)):
        for write in (True, False):
            for _ in range(2):
                tester.request(True, 0, 0)
                tester.request(write, bank, row)
                tester.request(False, 0, 0)
                tester.request(write, bank, row)
                await tester.drain()


@testbench
async def a_refresh_between_two_requests(bench: Bench) -> None:
    """Due while a read waits for the recovery of a write, whatever cycle of it."""
    tester = PageControllerTester(bench)
    due = tester.part.nREFI * bench.parameters["postpone"]
    for early in range(8, 40, 4):
        while (tester.now + early) % due:
            await tester.cycle()
        tester.request(True, 0, 1)
        tester.request(False, 0, 0)
        await tester.drain()


async def _random(bench: Bench, pause: Callable[[], bool], requests: int) -> None:
    tester, rng = PageControllerTester(bench), bench.rng
    for _ in range(requests):
        tester.request(rng.random() < 0.5, rng.randrange(tester.part.banks), rng.randrange(2))
    while tester.waiting:
        await tester.cycle(offer=not pause())
    await tester.drain()


@testbench
async def random_requests(bench: Bench) -> None:
    await _random(bench, lambda: False, 300)


@testbench
async def random_requests_and_pauses(bench: Bench) -> None:
    await _random(bench, lambda: bench.rng.random() < 0.97, 100)


@testbench
async def every_triple(bench: Bench) -> None:
    """All sequences of three requests to two rows of two banks, one after the other.

    Each begins with the rows that the one before left open, and its third may come late.
    """
    tester = PageControllerTester(bench)
    for triple in itertools.product(_KINDS, repeat=3):
        for request in triple[:2]:
            tester.request(*request)
        for _ in range(bench.rng.choice((0, 0, 20, 30, 40, 50))):
            await tester.cycle()
        tester.request(*triple[2])
        await tester.drain()


@testbench
async def a_refresh_at_each_cycle(bench: Bench) -> None:
    """Each history of `LONGEST`, without a refresh, and with one at each cycle of the last request.

    Before each, a refresh closes all banks; its requests begin when that is over.
    """
    tester = PageControllerTester(bench)
    interval = tester.part.nREFI
    longest = request_time(part=tester.part, refreshes=1)
    due = (bench.parameters["postpone"] - 1) * interval  # after it, each interval has a refresh

    async def run(history: tuple, begins: int) -> tuple[int, int]:
        """Begin in that cycle; when the last request was first on offer, and when it was taken."""
        await tester.idle(begins - tester.now)
        for request in history[:-1]:
            tester.request(*request)
        while tester.waiting:
            await tester.cycle()
        offered = tester.now
        tester.request(*history[-1])
        while tester.waiting:
            await tester.cycle()
        taken = tester.taken
        await tester.drain()
        return offered - begins, taken - begins

    for history in LONGEST.values():
        due += interval
        first, last = await run(history, due + longest)
        for early in range(first, last + 2):
            # the refresh at `due` closes the banks, the next one falls into the last request
            due += 2 * interval
            await run(history, due + interval - early)
