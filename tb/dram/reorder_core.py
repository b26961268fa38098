"""Testbench of the reorder core: every output compared in every cycle."""

import json
import os
from collections import deque
from pathlib import Path

from cyclebound.golden.dram.queued_request import HIGHEST, QueuedRequest
from cyclebound.golden.dram.reorder_core import ReorderCoreModel
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, interrupted, testbench

_STARVING = 400  # row hits that leave before a miss, without an age cap
STAYS = "stays.json"  # beside the job: requests in the queue, and from when to when


class ReorderCoreTester:
    """The core, its model, a front end that has requests, and a controller.

    Attributes
    ----------
    waiting : deque
        Requests that the front end still has.
    """

    def __init__(self, bench: Bench, *, cap: int | None = None) -> None:
        self.bench = bench
        p = bench.parameters
        self.part, self.entries = part_named(p["part"]), p["entries"]
        self.cap = p["cap"] if cap is None else cap
        self.tags = 1 << p["tag_bits"]
        self.model = ReorderCoreModel(entries=self.entries, cap=self.cap, cycle=self.part.nRC)
        self.waiting: deque[QueuedRequest] = deque()
        self._free = deque(range(self.tags))
        self._since: dict[int, int] = {}
        self._seen = 0
        self._offered = False
        self._begin = bench.cycle
        self._left: list[list[int | None]] = []  # bank, row, arrival and leaving of each stay

    def request(self, bank: int, row: int, *, priority: int = 4, write: bool = False) -> None:
        """Append a request to those waiting at the front end."""
        column = self.bench.rng.randrange(self.part.bursts_per_row)
        self.waiting.append(QueuedRequest(priority, write, bank, row, column))

    @property
    def issued(self) -> int:
        """Requests that have left the queue."""
        return len(self.model.issued)

    async def cycle(self, *, offer: bool = True, ready: bool = True, closed: bool = False) -> None:
        """One cycle, compared."""
        bench, now, request = self.bench, self.bench.cycle, None
        values: dict[str, int] = {"source.ready": ready, "closed": closed}
        self._offered = (offer or self._offered) and bool(self.waiting)  # an offer stays
        if self._offered:
            request = self.waiting[0] = self.waiting[0]._replace(tag=self._free[0])
            values["sink.valid"] = 1
            values |= {f"sink.payload.{name}": value for name, value in request._asdict().items()}
        seen = await bench.step(bench.inputs.pack(values))
        space, shown = self.model.step(request, ready, closed)
        expected = {"sink.ready": space, "source.valid": shown is not None}
        if shown is not None:
            expected |= {f"source.payload.{k}": v for k, v in shown._asdict().items()}
        bench.check_fields(seen, expected)
        if request is not None and space:
            self.waiting.popleft()
            self._offered = False
            self._since[self._free.popleft()] = now
        for left, _ in self.model.issued[self._seen:]:
            first = self._since.pop(left.tag)
            self._left.append([left.bank, left.row, first - self._begin, now - self._begin])
            self._free.append(left.tag)
        self._seen = self.issued

    def keep(self) -> None:
        """Write the requests beside the job, for a picture: bank, row, first cycle and the one in
        which it left, if it did."""
        waiting = [[queued.request.bank, queued.request.row,
                    self._since[queued.request.tag] - self._begin, None]
                   for queued in self.model.queue]
        Path(os.environ["CYCLEBOUND_JOB"]).with_name(STAYS).write_text(json.dumps(
            {"cap": self.cap, "stays": sorted(self._left + waiting, key=lambda stay: stay[2])}))

    async def drain(self) -> None:
        """Run cycles until all requests have left."""
        while self.waiting or self.model.queue:
            await self.cycle()
        await self.cycle()
        await self.cycle()


async def hold_back(tester: ReorderCoreTester) -> QueuedRequest:
    """Fill the queue with misses after a request that opens a row; returns the last of them."""
    tester.request(0, 0)
    await tester.cycle()
    for number in range(tester.entries):  # none leaves: the register is full
        tester.request(1, number % 2)
    while tester.waiting:
        await tester.cycle(ready=False)
    last = tester.model.queue[-1].request
    assert len(tester.model.queue) == tester.entries
    return last


@testbench
async def a_stream_of_row_hits(bench: Bench) -> None:
    """The oldest requests miss their rows; hits come as quickly as they leave."""
    tester = ReorderCoreTester(bench)
    for number in range(3):
        last = await hold_back(tester)
        for _ in range(2 * tester.cap + 3 * tester.entries):
            tester.request(0, 0, write=bench.rng.random() < 0.5)
        while last in [queued.request for queued in tester.model.queue]:
            await tester.cycle()
        await tester.drain()
        if not number:
            tester.keep()


@testbench
async def a_stream_of_priorities(bench: Bench) -> None:
    """Hits of the greatest priority, and a controller that often is not ready."""
    tester = ReorderCoreTester(bench)
    last = await hold_back(tester)
    for _ in range(2 * tester.cap + 3 * tester.entries):
        tester.request(0, 0, priority=HIGHEST)
    while last in [queued.request for queued in tester.model.queue]:
        await tester.cycle(ready=bench.rng.random() < 0.3)
    await tester.drain()


@testbench
async def random_requests(bench: Bench) -> None:
    """Few rows, so that there are hits; sometimes all banks are closed."""
    for offer, ready, closed in ((1.0, 1.0, 0.0), (0.4, 0.9, 0.02), (0.9, 0.2, 0.01),
                                 (1.0, 0.05, 0.0), (0.1, 1.0, 0.0)):
        await bench.reset()
        tester, rng = ReorderCoreTester(bench), bench.rng
        for _ in range(150):
            tester.request(rng.randrange(tester.part.banks), rng.randrange(2),
                           priority=rng.choice((0, 4, 4, 4, 5, 7)), write=rng.random() < 0.5)
        while tester.waiting:
            await tester.cycle(offer=rng.random() < offer, ready=rng.random() < ready,
                               closed=rng.random() < closed)
        await tester.drain()
        assert tester.issued == 150



@testbench
async def row_hits_starve_a_miss(bench: Bench) -> None:
    """The paper's four rules alone, without an age cap: a request that never leaves.

    A read of another row waits while 400 row hits that came later leave; the paper says 15.
    ``cyclebound run dram.reorder_core --testbench literal --waves`` draws it.
    """
    tester = ReorderCoreTester(bench, cap=0)
    last = await hold_back(tester)
    for _ in range(2):
        await tester.cycle(ready=False)
    while tester.issued < _STARVING:
        tester.request(0, 0)
        await tester.cycle()
        assert last in [queued.request for queued in tester.model.queue]
    waited = next(queued for queued in tester.model.queue if queued.request == last)
    assert waited.overtaken > _STARVING - 2 * tester.entries
    tester.keep()
    await tester.drain()
    assert last in [request for request, _ in tester.model.issued]


reset_in_mid_run = interrupted(random_requests)
