"""Testbench of the second-level cache: every port compared in every cycle, lines with a plain
memory.

The memories below take and answer each request within times that are declared beforehand.
"""

from collections import deque
from collections.abc import Callable, Sequence

from cyclebound.golden.dataflow.cache import LineRequest
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.l2 import L2Model
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.line_ports import (
    answer_values,
    expected_request,
    packed_words,
    request_values,
)

BOUNDED = "read", "taken", "served"  # requests whose bounds hold whatever other cores do
MEMORIES = ((1, 1), (1, 2), (3, 9), (2, 25), (7, 3))  # turn and latency


def shape_of(parameters: dict) -> CacheShape:
    """The cache's shape, from the component's parameters."""
    return CacheShape(policy=WRITE_BACK, **{
        name: parameters[name] for name in CacheShape.__dataclass_fields__ if name != "policy"})


class L2Tester:
    """The cache, its model, memories below, a plain memory, and requests before each port.

    A port's requests are (line, write); reads take the ids that are free, in turn.

    Parameters
    ----------
    bench : Bench
        The bench.
    turn, latency : int
        Of the memories below.
    choose : callable or None
        When they take and answer a request (`LineMemoryModel`); None: drawn.
    """

    def __init__(self, bench: Bench, *, turn: int = 1, latency: int = 1,
                 choose: Callable[[int, int], tuple[int, int]] | None = None) -> None:
        p = bench.parameters
        self.bench, self.shape, self.ports = bench, shape_of(p), p["ports"]
        self.width, self.line = p["width"], p["line"]
        self.words = [bench.rng.getrandbits(self.width) for _ in range(1 << p["address_width"])]
        self.plain = list(self.words)
        self.lines = len(self.words) // self.line
        self.turn, self.latency = turn, latency
        self.memories = [LineMemoryModel(self.words, line=self.line, turn=turn, latency=latency,
                                         choose=choose or self._drawn)
                         for _ in range(p["channels"])]
        self.model = L2Model(ports=self.ports, shape=self.shape, channels=p["channels"])
        self.queues: list[deque[tuple[int, bool]]] = [deque() for _ in range(self.ports)]
        self.held: list[LineRequest | None] = [None] * self.ports
        self.ids = [deque(range(2 ** p["id_width"])) for _ in range(self.ports)]
        self.since = [0] * self.ports  # when what each port offers was offered first
        # by port and id: when it was offered, and the line that a read must have
        self.under_way: dict[tuple[int, int], tuple[int, Sequence[int]]] = {}
        self.longest = 0  # cycles of the slowest read

    def _drawn(self, turn: int, latency: int) -> tuple[int, int]:
        """Either end of each range half the time."""
        rng = self.bench.rng
        return tuple(rng.choice((1, most, rng.randint(1, most)))  # type: ignore[return-value]
                     for most in (turn, latency))

    @property
    def idle(self) -> bool:
        """Whether nothing is on offer or under way, in the memories below neither."""
        return not (any(self.queues) or any(self.held) or self.under_way
                    or any(bank.read or bank.write or any(bank.misses)
                           for bank in self.model.banks))

    def _next(self, port: int) -> LineRequest | None:
        """The request that a port may offer now, if it has one: a read needs an id."""
        queue, rng = self.queues[port], self.bench.rng
        if not queue or not (queue[0][1] or self.ids[port]):
            return None
        number, write = queue.popleft()
        if not write:
            return LineRequest(self.ids[port].popleft(), number, False)
        every = (1 << self.line) - 1
        return LineRequest(0, number, True, rng.choice((every, rng.getrandbits(self.line))),
                           tuple(rng.getrandbits(self.width) for _ in range(self.line)))

    async def cycle(self, *, load: float = 1.0, flush: bool = False) -> bool:
        """Returns whether all lines have been given up, while ``flush`` is set."""
        bench, model, now = self.bench, self.model, self.bench.cycle
        values: dict[str, int] = {"flush": flush}
        for port in range(self.ports):
            if self.held[port] is None and (load == 1 or bench.rng.random() < load):
                self.held[port] = self._next(port)
                self.since[port] = now
            values |= request_values(f"ports.{port}.request", self.held[port], self.width)
        expected: dict[str, int] = {}
        care = bench.outputs["flushed"].mask
        takes, answers = [], []
        for number, (memory, asked) in enumerate(zip(self.memories, model.line_requests(),
                                                     strict=True)):
            its, cares = expected_request(bench, f"lines.{number}.request", asked, self.width)
            expected |= its
            care |= cares
            takes.append(memory.takes(asked))
            answers.append(memory.answer())
            values |= {f"lines.{number}.request.ready": takes[-1],
                       **answer_values(f"lines.{number}.response", answers[-1], self.width)}
        seen = await bench.step(bench.inputs.pack(values))

        responses, done = model.responses(), model.flushed(flush)
        taken = model.advance(self.held, lines_taken=takes, lines=answers, flush=flush)
        for memory, took in zip(self.memories, takes, strict=True):
            memory.step(took)
        expected["flushed"] = done
        for port, (response, took) in enumerate(zip(responses, taken, strict=True)):
            at = f"ports.{port}."
            care |= bench.outputs[f"{at}response.valid"].mask
            if response is not None:
                since, wanted = self.under_way.pop((port, response.id))
                self.longest = max(self.longest, now - since + 1)
                self.ids[port].append(response.id)
                data = bench.outputs[f"{at}response.payload.data"]
                bench.compare(data.of(seen), packed_words(tuple(wanted), self.width),
                              f"port {port}: line")
                expected |= answer_values(f"{at}response", response, self.width)
                care |= data.mask | bench.outputs[f"{at}response.payload.id"].mask
            if (request := self.held[port]) is not None:
                expected[f"{at}request.ready"] = took
                care |= bench.outputs[f"{at}request.ready"].mask
                if took:
                    self._taken(port, request)
                    self.held[port] = None
        bench.check(seen, bench.outputs.pack(expected), care)
        return done

    def _taken(self, port: int, request: LineRequest) -> None:
        first = request.line * self.line
        if not request.write:
            self.under_way[port, request.id] = (self.since[port],
                                                self.plain[first:first + self.line])
        for place, word in enumerate(request.data):
            if request.mask >> place & 1:
                self.plain[first + place] = word

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
        for what in BOUNDED:
            self.bench.declare(what, turn=self.turn, latency=self.latency)

    def undeclare(self) -> None:
        for what in BOUNDED:
            self.bench.undeclare(what)

    def declare_flush(self, *, under_way: bool) -> None:
        self.bench.declare("flush", turn=self.turn, latency=self.latency, dirty=self.shape.rows,
                           under_way=under_way)

    @property
    def groups(self) -> int:
        """Sets of all banks: lines so far apart are of one set of one bank."""
        return self.shape.banks * self.shape.sets

    def pool(self, count: int) -> list[int]:
        """So many lines of one set of one bank, if there are as many."""
        first = self.bench.rng.randrange(self.groups)
        return [(first + k * self.groups) % self.lines for k in range(count)]


@testbench
async def any_core_any_line(bench: Bench) -> None:
    """Random requests and pauses; half of them of few lines; memories of all kinds below."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = L2Tester(bench, turn=turn, latency=latency)
        tester.declare()
        rng = bench.rng
        for load, lines, writes in ((1.0, tester.shape.ways + 1, 0.5), (0.4, 2, 0.3),
                                    (1.0, 2 * tester.shape.ways, 0.8)):
            pool = tester.pool(lines)
            for queue in tester.queues:
                queue.extend((rng.choice(pool) if rng.random() < 0.5 else rng.randrange(
                    tester.lines), rng.random() < writes) for _ in range(20))
            await tester.drain(load=load)
        tester.undeclare()
        await tester.flush()
        assert {"hits", "missed"} <= {name for name, count in tester.model.counts.items() if count}


@testbench
async def hits_take_three_cycles(bench: Bench) -> None:
    """Whatever other cores do; but of one set, where they could displace its line."""
    tester = L2Tester(bench, turn=2, latency=11)
    rng = bench.rng
    others = [number for number in range(tester.lines) if number % tester.groups]
    tester.queues[0].append((0, False))
    await tester.drain()
    bench.declare("hit", {"p": 0})
    tester.queues[0].extend((0, rng.random() < 0.3) for _ in range(40))
    if others:
        for queue in list(tester.queues)[1:]:
            queue.extend((rng.choice(others), rng.random() < 0.5) for _ in range(40))
    await tester.drain()


@testbench
async def misses_alone(bench: Bench) -> None:
    """Each with nothing else under way, of every turn and latency; dirty victims among them."""
    now = [1, 1]
    tester = L2Tester(bench, turn=4, latency=12, choose=lambda turn, latency: (now[0], now[1]))
    for turn in range(1, 5):
        for latency in (1, 2, 3, 5, 12):
            now[:] = turn, latency
            for place in range(tester.shape.ways + 1):  # each displaces the one that comes next
                number = place * tester.groups % tester.lines
                port = bench.rng.randrange(tester.ports)
                if bench.rng.random() < 0.5:
                    tester.queues[port].append((number, True))
                    await tester.drain()
                    number = (place + tester.shape.ways) * tester.groups % tester.lines
                if number not in tester.model.banks[number % tester.shape.banks].lines:
                    bench.declare("miss", turn=turn, latency=latency)
                tester.queues[port].append((number, False))
                await tester.drain()
                bench.undeclare("miss")


@testbench
async def one_line_again_and_again(bench: Bench) -> None:
    """All cores read and write a line whose miss is under way: reads have the writes before."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = L2Tester(bench, turn=turn, latency=latency)
        tester.declare()
        for lines in (1, 2):
            for writes in (0.5, 0.8, 0.0):
                pool = tester.pool(lines)
                for queue in tester.queues:
                    queue.extend((bench.rng.choice(pool), bench.rng.random() < writes)
                                 for _ in range(15))
                await tester.drain()
        tester.undeclare()
        await tester.flush()


@testbench
async def flushed_while_misses_are_under_way(bench: Bench) -> None:
    """Requests wait until it is over; then they find nothing in the cache."""
    for turn, latency in MEMORIES[1:4]:
        await bench.reset()
        tester = L2Tester(bench, turn=turn, latency=latency)
        for before in (0, 1, 2, 5, 9, 30):
            for queue in tester.queues:
                queue.extend((bench.rng.randrange(tester.lines), bench.rng.random() < 0.6)
                             for _ in range(12))
            for _ in range(before):
                await tester.cycle()
            tester.declare_flush(under_way=True)
            await tester.flush()
            await tester.drain()
    # nothing under way, each line dirty
    await bench.reset()
    tester = L2Tester(bench, turn=3, latency=9, choose=lambda turn, latency: (turn, latency))
    tester.queues[0].extend((number, True) for number in range(tester.shape.size // tester.line))
    await tester.drain()
    tester.declare_flush(under_way=False)
    await tester.flush()


@testbench
async def the_first_cycles_after_reset(bench: Bench) -> None:
    """All ports offer something in the first cycle; and flushed then."""
    for flush in (False, True):
        for number in (0, L2Tester(bench).lines - 1):
            await bench.reset()
            tester = L2Tester(bench, turn=1, latency=1)
            tester.declare()
            for queue in tester.queues:
                queue.extend((number, bench.rng.random() < 0.5) for _ in range(2))
            if flush:
                tester.undeclare()
                await tester.flush()
            await tester.drain()


reset_in_mid_run = interrupted(any_core_any_line, last=300, driven=True)
