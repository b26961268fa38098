"""Testbench of the cache's banks: every port compared in every cycle."""

from collections import deque

from cyclebound.golden.dataflow.cache_banks import CacheModel
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.tb.bench import Bench, interrupted, testbench


class CacheBanksTester:
    """The banks, their model, and a queue of accesses before each port.

    A port's accesses are (address, write); they take the tags that are free, in turn. ``words``:
    what the banks hold, which a reset leaves as it is.
    """

    def __init__(self, bench: Bench, words: list[int] | None = None) -> None:
        p = bench.parameters
        self.bench, self.ports, self.banks = bench, p["ports"], p["banks"]
        self.hit, self.miss = p["hit"], p["miss"]
        self.misses = 0  # in this cycle, by bank
        self.words = [0] * p["words"] if words is None else words
        self.model = CacheModel(self.words, units=self.ports, banks=self.banks, hit=self.hit,
                                miss=self.miss, misses=lambda bank: bool(self.misses >> bank & 1))
        self.queues: list[deque[tuple[int, bool]]] = [deque() for _ in range(self.ports)]
        self.held: list[TaggedAccess | None] = [None] * self.ports
        self.tags = [deque(range(2 ** p["tag_width"])) for _ in range(self.ports)]
        # by port and tag: when it was taken, and whether it writes
        self.taken: dict[tuple[int, int], int] = {}
        self.writes: dict[tuple[int, int], bool] = {}
        self.waits: list[int] = []  # cycles of each answer, from being taken
        self.since = [0] * self.ports  # when what each port offers was offered first
        # by port and tag: when it was offered, if it was a hit
        self.hit_since: dict[tuple[int, int], int] = {}
        self.hits: list[int] = []  # cycles of each hit, from being offered

    @property
    def under_way(self) -> bool:
        """Whether an access is on offer, or has not been answered."""
        return any(self.queues) or any(
            len(tags) < 2 ** self.bench.parameters["tag_width"] for tags in self.tags)

    async def fill(self) -> None:
        """Give every word a value, by one port."""
        self.queues[0].extend((address, True) for address in range(len(self.words)))
        await self.drain()
        self.waits.clear()

    async def cycle(self, *, misses: int = 0, load: float = 1.0) -> None:
        bench, now = self.bench, self.bench.cycle
        values: dict[str, int] = {"misses": misses}
        expected: dict[str, int] = {}
        care = bench.outputs["taken"].mask
        self.misses = misses
        for port, queue in enumerate(self.queues):
            if (self.held[port] is None and queue and self.tags[port]
                    and (load == 1 or bench.rng.random() < load)):
                address, write = queue.popleft()
                self.since[port] = now
                self.held[port] = TaggedAccess(self.tags[port].popleft(), address, write,
                                               bench.rng.getrandbits(bench.parameters["width"]))
            if (access := self.held[port]) is not None:
                at = f"ports.{port}.request."
                values |= {f"{at}valid": 1, f"{at}payload.tag": access.tag,
                           f"{at}payload.address": access.address,
                           f"{at}payload.write": access.write, f"{at}payload.data": access.data}
        seen = await bench.step(bench.inputs.pack(values))
        responses, taken = self.model.responses(), self.model.step(self.held)
        banks = 0
        for port, (response, takes) in enumerate(zip(responses, taken, strict=True)):
            at = f"ports.{port}."
            care |= bench.outputs[f"{at}response.valid"].mask
            if response is not None:
                tag, word = response
                expected |= {f"{at}response.valid": 1, f"{at}response.payload.tag": tag}
                care |= bench.outputs[f"{at}response.payload.tag"].mask
                if not self.writes[port, tag]:
                    expected[f"{at}response.payload.data"] = word
                    care |= bench.outputs[f"{at}response.payload.data"].mask
                self.tags[port].append(tag)
                self.waits.append(now - self.taken[port, tag] + 1)
                if (port, tag) in self.hit_since:
                    self.hits.append(now - self.hit_since.pop((port, tag)) + 1)
            access = self.held[port]
            if access is not None:
                expected[f"{at}request.ready"] = takes
                care |= bench.outputs[f"{at}request.ready"].mask
            if takes and access is not None:
                banks |= 1 << access.address % self.banks
                self.taken[port, access.tag] = now
                self.writes[port, access.tag] = access.write
                if not misses >> access.address % self.banks & 1:
                    self.hit_since[port, access.tag] = self.since[port]
                self.held[port] = None
        expected["taken"] = banks
        bench.check(seen, bench.outputs.pack(expected), care)

    async def drain(self, *, rate: float = 0.0, load: float = 1.0) -> None:
        """Run cycles until all is answered; a bank misses at this rate."""
        while self.under_way:
            await self.cycle(load=load, misses=sum(
                (self.bench.rng.random() < rate) << bank for bank in range(self.banks)))

    def anywhere(self) -> tuple[int, bool]:
        return self.bench.rng.randrange(len(self.words)), self.bench.rng.random() < 0.3



@testbench
async def any_port_any_bank(bench: Bench) -> None:
    """Random accesses, misses and pauses; half of them to one bank."""
    tester = CacheBanksTester(bench)
    await tester.fill()
    for rate, load in ((0.0, 1.0), (0.1, 1.0), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)):
        for queue in tester.queues:
            queue.extend(tester.anywhere() if bench.rng.random() < 0.5 else (0, False)
                         for _ in range(60))
        await tester.drain(rate=rate, load=load)


@testbench
async def hits_alone(bench: Bench) -> None:
    tester = CacheBanksTester(bench)
    bench.declare("hit")
    await tester.fill()
    for queue in tester.queues:
        queue.extend(tester.anywhere() for _ in range(60))
    await tester.drain()


@testbench
async def all_want_one_bank(bench: Bench) -> None:
    """The worst: all at once, and all of them miss."""
    tags = 2 ** bench.parameters["tag_width"]
    for accesses in (1, tags):
        await bench.reset()
        tester = CacheBanksTester(bench)
        for queue in tester.queues:
            queue.extend([(1, True)] * accesses)
        bench.declare("crowd", accesses=accesses, answers=tester.ports * accesses)
        await tester.drain(rate=1.0)


@testbench
async def a_hit_after_misses_waits_no_longer_than_one(bench: Bench) -> None:
    """Misses that are due when the hits after them are: the last hits take their turn."""
    tester = CacheBanksTester(bench)
    await tester.fill()
    many = min(tester.miss - tester.hit, 2 ** bench.parameters["tag_width"] // 2)
    tester.queues[0].extend((address, False) for address in range(many))
    for _ in range(tester.miss - tester.hit):
        await tester.cycle(misses=-1 % 2**tester.banks)
    tester.queues[0].extend((address, False) for address in range(many))
    await tester.drain()
    assert max(tester.waits[many:]) > tester.hit


reset_in_mid_run = interrupted(any_port_any_bank, last=300, driven=True)
