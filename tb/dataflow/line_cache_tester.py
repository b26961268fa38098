"""What testbenches of both levels of caches share: memories below a cache, requests before it.

The memories take and answer each request within times that are declared beforehand.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.tb.bench import Bench

__all__ = ["MEMORIES", "LineCacheTester", "few_lines", "flushed_with_misses", "random_requests"]

MEMORIES = ((1, 1), (1, 2), (3, 9), (2, 25), (7, 3))  # turn and latency


class LineCacheTester(ABC):
    """A cache, its model, memories below it, a plain memory, and requests before each port.

    A port's requests are (number, write): the number of a word or of a line. Those that need a tag
    take the free ones in turn. Each level's own tester says what a request is.

    Parameters
    ----------
    bench : Bench
        The bench.
    shape : CacheShape
        The cache's.
    model : object
        Its golden model.
    memories : int
        How many there are below.
    turn, latency : int
        Of the memories below.
    choose : callable or None
        When they take and answer a request (`LineMemoryModel`); None: drawn.

    Attributes
    ----------
    bounded : tuple of str
        Requests whose bounds hold whatever other ports do.
    numbers : int
        How many there are.
    """

    bounded: tuple[str, ...]
    numbers: int

    def __init__(self, bench: Bench, shape: CacheShape, model: Any, *, memories: int = 1,
                 turn: int = 1, latency: int = 1,
                 choose: Callable[[int, int], tuple[int, int]] | None = None) -> None:
        p = bench.parameters
        self.bench, self.shape, self.model = bench, shape, model
        self.ports, self.width = p["ports"], p["width"]
        self.words = [bench.rng.getrandbits(self.width) for _ in range(1 << p["address_width"])]
        self.plain = list(self.words)
        self.turn, self.latency = turn, latency
        self.memories = [LineMemoryModel(self.words, line=shape.line, turn=turn, latency=latency,
                                         choose=choose or self._drawn) for _ in range(memories)]
        self.queues: list[deque[tuple[int, bool]]] = [deque() for _ in range(self.ports)]
        self.held: list[Any] = [None] * self.ports  # the request that each port offers
        self.since = [0] * self.ports  # when it was offered first
        # by port and tag: when it was offered, and what the answer must have
        self.under_way: dict[tuple[int, int], tuple[int, Any]] = {}
        self.longest = 0  # cycles of the slowest request

    def _drawn(self, turn: int, latency: int) -> tuple[int, int]:
        """Either end of each range half the time."""
        rng = self.bench.rng
        return tuple(rng.choice((1, most, rng.randint(1, most)))  # type: ignore[return-value]
                     for most in (turn, latency))

    @property
    def idle(self) -> bool:
        """Whether nothing is on offer or under way, in the memories below neither."""
        return not (any(self.queues) or any(self.held) or self.under_way or self.writes_back)

    @property
    @abstractmethod
    def writes_back(self) -> bool:
        """Whether the model still reads or writes lines below."""

    @abstractmethod
    async def cycle(self, *, load: float = 1.0, flush: bool = False) -> bool:
        """Returns whether all lines have been given up, while ``flush`` is set."""

    @abstractmethod
    def pool(self, lines: int) -> Sequence[int]:
        """Numbers in so many lines, of one set of one bank if there are as many."""

    async def drain(self, *, load: float = 1.0) -> None:
        """Run cycles until all is answered and written."""
        while not self.idle:
            await self.cycle(load=load)

    async def flush(self) -> None:
        """Give all lines up; then the memories below have what a plain one has."""
        while not await self.cycle(flush=True):
            pass
        self.bench.compare(self.words, self.plain, "memory after a flush", count=len(self.words))

    def declare(self) -> None:
        """All requests from now on have these memories below them, and nothing is flushed."""
        for what in self.bounded:
            self.bench.declare(what, turn=self.turn, latency=self.latency)

    def undeclare(self) -> None:
        for what in self.bounded:
            self.bench.undeclare(what)

    def declare_flush(self, *, under_way: bool) -> None:
        rows = self.shape.rows if self.shape.policy == WRITE_BACK else 0
        self.bench.declare("flush", turn=self.turn, latency=self.latency, dirty=rows,
                           under_way=under_way)

    def often_of(self, pool: Sequence[int]) -> int:
        """One of these half the time, else any number."""
        rng = self.bench.rng
        return rng.choice(pool) if rng.random() < 0.5 else rng.randrange(self.numbers)

    def enqueue(self, count: int, number: Callable[[], int], *, writes: float,
                ports: int | None = None) -> None:
        """So many more requests of each of the first ports."""
        for queue in self.queues[:ports]:
            queue.extend((number(), self.bench.rng.random() < writes) for _ in range(count))


async def random_requests(bench: Bench, tester_of: Callable[..., LineCacheTester], *, count: int,
                          writes: Sequence[float]) -> None:
    """Random requests and pauses; half of them to few lines; memories of all kinds below."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = tester_of(bench, turn=turn, latency=latency)
        tester.declare()
        ways = tester.shape.ways
        for load, lines, share in zip((1.0, 0.4, 1.0), (ways + 1, 2, 2 * ways), writes,
                                      strict=True):
            tester.enqueue(count, partial(tester.often_of, tester.pool(lines)), writes=share)
            await tester.drain(load=load)
        tester.undeclare()
        await tester.flush()
        assert {"hits", "missed"} <= {name for name, count in tester.model.counts.items() if count}


async def few_lines(bench: Bench, tester_of: Callable[..., LineCacheTester], *, count: int,
                    writes: Sequence[float]) -> None:
    """Back-to-back requests of a line whose miss is under way."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = tester_of(bench, turn=turn, latency=latency)
        tester.declare()
        for lines in (1, 2):
            for share in writes:
                tester.enqueue(count, partial(bench.rng.choice, tester.pool(lines)), writes=share)
                await tester.drain()
        tester.undeclare()
        await tester.flush()


async def flushed_with_misses(bench: Bench, tester_of: Callable[..., LineCacheTester],
                              memories: Iterable[tuple[int, int]]) -> None:
    """Requests wait until the flush is over; then they find nothing in the cache."""
    for turn, latency in memories:
        await bench.reset()
        tester = tester_of(bench, turn=turn, latency=latency)
        for before in (0, 1, 2, 5, 9, 30):
            tester.enqueue(12, partial(bench.rng.randrange, tester.numbers), writes=0.6)
            for _ in range(before):
                await tester.cycle()
            tester.declare_flush(under_way=True)
            await tester.flush()
            await tester.drain()
