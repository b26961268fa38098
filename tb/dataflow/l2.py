"""Testbench of the second-level cache: every port compared in every cycle, lines with a plain
memory.

The memories below take and answer each request within times that are declared beforehand.
"""

from collections import deque
from functools import partial
from typing import Any

from cyclebound.golden.dataflow.cache import LineRequest
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.l2 import L2Model
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.line_cache_tester import (
    MEMORIES,
    LineCacheTester,
    few_lines,
    flushed_with_misses,
    random_requests,
)
from cyclebound.tb.dataflow.line_ports import (
    answer_values,
    expected_request,
    packed_words,
    request_values,
)


def shape_of(parameters: dict) -> CacheShape:
    """The cache's shape, from the component's parameters."""
    return CacheShape(policy=WRITE_BACK, **{
        name: parameters[name] for name in CacheShape.__dataclass_fields__ if name != "policy"})


class L2Tester(LineCacheTester):
    """The second level: requests are of lines, and reads have ids.

    ``turn``, ``latency`` and ``choose`` are those of `LineCacheTester`.
    """

    bounded = "read", "taken", "served"

    def __init__(self, bench: Bench, **memory: Any) -> None:
        p, shape = bench.parameters, shape_of(bench.parameters)
        super().__init__(
            bench, shape, L2Model(ports=p["ports"], shape=shape, channels=p["channels"]),
            memories=p["channels"], **memory)
        self.line, self.numbers = p["line"], len(self.words) // p["line"]
        self.ids = [deque(range(2 ** p["id_width"])) for _ in range(self.ports)]

    @property
    def writes_back(self) -> bool:
        return any(bank.read or bank.write or any(bank.misses) for bank in self.model.banks)

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

    @property
    def groups(self) -> int:
        """Sets of all banks: lines so far apart are of one set of one bank."""
        return self.shape.banks * self.shape.sets

    def pool(self, lines: int) -> list[int]:
        first = self.bench.rng.randrange(self.groups)
        return [(first + k * self.groups) % self.numbers for k in range(lines)]


@testbench
async def any_core_any_line(bench: Bench) -> None:
    """Random requests and pauses; half of them of few lines; memories of all kinds below."""
    await random_requests(bench, L2Tester, count=20, writes=(0.5, 0.3, 0.8))


@testbench
async def hits_take_three_cycles(bench: Bench) -> None:
    """Whatever other cores do; but of one set, where they could displace its line."""
    tester = L2Tester(bench, turn=2, latency=11)
    rng = bench.rng
    others = [number for number in range(tester.numbers) if number % tester.groups]
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
                number = place * tester.groups % tester.numbers
                port = bench.rng.randrange(tester.ports)
                if bench.rng.random() < 0.5:
                    tester.queues[port].append((number, True))
                    await tester.drain()
                    number = (place + tester.shape.ways) * tester.groups % tester.numbers
                if number not in tester.model.banks[number % tester.shape.banks].lines:
                    bench.declare("miss", turn=turn, latency=latency)
                tester.queues[port].append((number, False))
                await tester.drain()
                bench.undeclare("miss")


@testbench
async def one_line_again_and_again(bench: Bench) -> None:
    """All cores read and write a line whose miss is under way: reads have the writes before."""
    await few_lines(bench, L2Tester, count=15, writes=(0.5, 0.8, 0.0))


@testbench
async def flushed_while_misses_are_under_way(bench: Bench) -> None:
    """Requests wait until it is over; then they find nothing in the cache."""
    await flushed_with_misses(bench, L2Tester, MEMORIES[1:4])
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
        for number in (0, L2Tester(bench).numbers - 1):
            await bench.reset()
            tester = L2Tester(bench, turn=1, latency=1)
            tester.declare()
            tester.enqueue(2, partial(int, number), writes=0.5)
            if flush:
                tester.undeclare()
                await tester.flush()
            await tester.drain()


reset_in_mid_run = interrupted(any_core_any_line, last=300, driven=True)
