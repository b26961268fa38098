"""Testbench of the cache: every port compared in every cycle, and all words with a plain memory.

The memory below takes and answers each request within times that are declared beforehand.
"""

from collections import deque
from collections.abc import Callable, Iterable

from cyclebound.golden.dataflow.cache import LineCacheModel
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.line_ports import answer_values, expected_request

BOUNDED = "access", "taken"  # requests whose bounds hold whatever others do
MEMORIES = ((1, 1), (1, 2), (3, 9), (2, 25), (7, 3))  # turn and latency


def shape_of(parameters: dict) -> CacheShape:
    """The cache's shape, from the component's parameters."""
    return CacheShape(**{name: parameters[name] for name in CacheShape.__dataclass_fields__})


class CacheTester:
    """The cache, its model, the memory below, a plain memory, and accesses before each port.

    A port's accesses are (address, write); they take the tags that are free, in turn.

    Parameters
    ----------
    bench : Bench
        The bench.
    turn, latency : int
        Of the memory below.
    choose : callable or None
        When it takes and answers a request (`LineMemoryModel`); None: drawn.
    """

    def __init__(self, bench: Bench, *, turn: int = 1, latency: int = 1,
                 choose: Callable[[int, int], tuple[int, int]] | None = None) -> None:
        p = bench.parameters
        self.bench, self.shape, self.ports = bench, shape_of(p), p["ports"]
        self.width, self.tag_count = p["width"], 2 ** p["tag_width"]
        self.words = [bench.rng.getrandbits(self.width) for _ in range(1 << p["address_width"])]
        self.plain = list(self.words)
        self.turn, self.latency = turn, latency
        self.memory = LineMemoryModel(self.words, line=self.shape.line, turn=turn, latency=latency,
                                      choose=choose or self._drawn)
        self.model = LineCacheModel(ports=self.ports, shape=self.shape, width=self.width)
        self.queues: list[deque[tuple[int, bool]]] = [deque() for _ in range(self.ports)]
        self.held: list[TaggedAccess | None] = [None] * self.ports
        self.tags = [deque(range(self.tag_count)) for _ in range(self.ports)]
        self.since = [0] * self.ports  # when what each port offers was offered first
        # by port and tag: when it was offered, and the word that a load must have
        self.under_way: dict[tuple[int, int], tuple[int, int | None]] = {}
        self.longest = 0  # cycles of the slowest access

    def _drawn(self, turn: int, latency: int) -> tuple[int, int]:
        """Either end of each range half the time."""
        rng = self.bench.rng
        return tuple(rng.choice((1, most, rng.randint(1, most)))  # type: ignore[return-value]
                     for most in (turn, latency))

    @property
    def idle(self) -> bool:
        """Whether nothing is on offer or under way, in the memory below neither."""
        return not (any(self.queues) or any(self.held) or self.under_way
                    or any(bank.read or bank.write for bank in self.model.banks))

    async def cycle(self, *, load: float = 1.0, flush: bool = False) -> bool:
        """Returns whether all lines have been given up, while ``flush`` is set."""
        bench, model, now = self.bench, self.model, self.bench.cycle
        values: dict[str, int] = {"flush": flush}
        for port, queue in enumerate(self.queues):
            if (self.held[port] is None and queue and self.tags[port]
                    and (load == 1 or bench.rng.random() < load)):
                address, write = queue.popleft()
                self.since[port] = now
                self.held[port] = TaggedAccess(self.tags[port].popleft(), address, write,
                                               bench.rng.getrandbits(self.width))
            if (access := self.held[port]) is not None:
                at = f"ports.{port}.request."
                values |= {f"{at}valid": 1, f"{at}payload.tag": access.tag,
                           f"{at}payload.address": access.address,
                           f"{at}payload.write": access.write, f"{at}payload.data": access.data}
        asked = model.line_request()
        expected, care = expected_request(bench, "lines.request", asked, self.width)
        care |= bench.outputs["flushed"].mask
        line_taken = self.memory.takes(asked)
        answer = self.memory.answer()
        values |= {"lines.request.ready": line_taken} | answer_values("lines.response", answer,
                                                                      self.width)
        seen = await bench.step(bench.inputs.pack(values))

        responses, done = model.responses(), model.flushed(flush)
        taken = model.step(self.held, line_taken=line_taken, line=answer, flush=flush)
        self.memory.step(line_taken)
        expected["flushed"] = done
        for port, (response, takes) in enumerate(zip(responses, taken, strict=True)):
            at = f"ports.{port}."
            care |= bench.outputs[f"{at}response.valid"].mask
            if response is not None:
                tag, word = response
                since, wanted = self.under_way.pop((port, tag))
                self.longest = max(self.longest, now - since + 1)
                self.tags[port].append(tag)
                expected |= {f"{at}response.valid": 1, f"{at}response.payload.tag": tag}
                care |= bench.outputs[f"{at}response.payload.tag"].mask
                if wanted is not None:
                    field = bench.outputs[f"{at}response.payload.data"]
                    bench.compare(field.of(seen), wanted, f"port {port}: word")
                    expected[f"{at}response.payload.data"] = word
                    care |= field.mask
            if (access := self.held[port]) is not None:
                expected[f"{at}request.ready"] = takes
                care |= bench.outputs[f"{at}request.ready"].mask
                if takes:
                    self.under_way[port, access.tag] = self.since[port], (
                        None if access.write else self.plain[access.address])
                    if access.write:
                        self.plain[access.address] = access.data
                    self.held[port] = None
        bench.check(seen, bench.outputs.pack(expected), care)
        return done

    async def drain(self, *, load: float = 1.0) -> None:
        """Run cycles until all is answered and written."""
        while not self.idle:
            await self.cycle(load=load)

    async def flush(self) -> None:
        """Give all lines up; then the memory below has what a plain one has."""
        while not await self.cycle(flush=True):
            pass
        self.bench.compare(self.words, self.plain, "memory after a flush", count=len(self.words))

    def declare(self) -> None:
        """All accesses from now on have this memory below them, and nothing is flushed."""
        for what in BOUNDED:
            self.bench.declare(what, turn=self.turn, latency=self.latency)

    def undeclare(self) -> None:
        for what in BOUNDED:
            self.bench.undeclare(what)

    def declare_flush(self, *, under_way: bool) -> None:
        rows = self.shape.rows if self.shape.policy == WRITE_BACK else 0
        self.bench.declare("flush", turn=self.turn, latency=self.latency, dirty=rows,
                           under_way=under_way)

    def pool(self, lines: int) -> list[int]:
        """Addresses in so many lines, of one set of one bank if there are as many."""
        step = self.shape.line * self.shape.banks * self.shape.sets
        rng, line = self.bench.rng, self.shape.line
        first = rng.randrange(step // line) * line
        return [(first + k * step + place) % len(self.words)
                for k in range(lines) for place in range(line)]

    def enqueue(self, addresses: Iterable[int], *, writes: float, ports: int | None = None) -> None:
        """An access to each of these by each of the first ports."""
        for address in addresses:
            for queue in list(self.queues)[:ports]:
                queue.append((address, self.bench.rng.random() < writes))


@testbench
async def any_port_any_word(bench: Bench) -> None:
    """Random accesses and pauses; half of them to few lines; memories of all kinds below."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = CacheTester(bench, turn=turn, latency=latency)
        tester.declare()
        rng = bench.rng
        for load, lines, writes in ((1.0, tester.shape.ways + 1, 0.5), (0.4, 2, 0.3),
                                    (1.0, 2 * tester.shape.ways, 1.0)):
            pool = tester.pool(lines)
            for queue in tester.queues:
                queue.extend((rng.choice(pool) if rng.random() < 0.5
                              else rng.randrange(len(tester.words)), rng.random() < writes)
                             for _ in range(25))
            await tester.drain(load=load)
        tester.undeclare()
        await tester.flush()
        assert {"hits", "missed"} <= {name for name, count in tester.model.counts.items() if count}


@testbench
async def hits_take_three_cycles(bench: Bench) -> None:
    """Whatever other ports do; but for one bank, where they could displace its line."""
    tester = CacheTester(bench, turn=2, latency=11)
    shape, rng = tester.shape, bench.rng
    mine = list(range(shape.line))
    others = [address for address in range(len(tester.words))
              if address // shape.line // shape.banks % shape.sets
              or address // shape.line % shape.banks]
    tester.enqueue(mine[:1], writes=0, ports=1)
    await tester.drain()
    bench.declare("hit", {"p": 0})
    tester.queues[0].extend((rng.choice(mine), rng.random() < 0.5) for _ in range(60))
    if others:
        for queue in list(tester.queues)[1:]:
            queue.extend((rng.choice(others), rng.random() < 0.5) for _ in range(60))
    await tester.drain()


@testbench
async def misses_alone(bench: Bench) -> None:
    """Each with nothing else under way, of every turn and latency; dirty victims among them."""
    ways = bench.parameters["ways"]
    now = [1, 1]
    tester = CacheTester(bench, turn=4, latency=12, choose=lambda turn, latency: (now[0], now[1]))
    for turn in range(1, 5):
        for latency in range(1, 13):
            now[:] = turn, latency
            bench.declare("miss", turn=turn, latency=latency)
            for line in range(ways + 1):  # each displaces the one that comes next
                step = tester.shape.line * tester.shape.banks * tester.shape.sets
                address = line * step % len(tester.words)
                port = bench.rng.randrange(tester.ports)
                write = bench.rng.random() < 0.5 and tester.shape.policy == WRITE_BACK
                if address // tester.shape.line in tester.model.banks[0].lines:
                    bench.undeclare("miss")
                tester.queues[port].append((address, write))
                await tester.drain()
                bench.declare("miss", turn=turn, latency=latency)


@testbench
async def one_line_again_and_again(bench: Bench) -> None:
    """Back-to-back accesses of a line whose miss is under way: loads have the stores before."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = CacheTester(bench, turn=turn, latency=latency)
        tester.declare()
        for lines in (1, 2):
            for writes in (0.5, 1.0, 0.0):
                pool = tester.pool(lines)
                for queue in tester.queues:
                    queue.extend((bench.rng.choice(pool), bench.rng.random() < writes)
                                 for _ in range(20))
                await tester.drain()
        tester.undeclare()
        await tester.flush()


@testbench
async def flushed_while_misses_are_under_way(bench: Bench) -> None:
    """Requests wait until it is over; then they find nothing in the cache."""
    for turn, latency in MEMORIES:
        await bench.reset()
        tester = CacheTester(bench, turn=turn, latency=latency)
        for before in (0, 1, 2, 5, 9, 30):
            for queue in tester.queues:
                queue.extend((bench.rng.randrange(len(tester.words)), bench.rng.random() < 0.6)
                             for _ in range(12))
            for _ in range(before):
                await tester.cycle()
            tester.declare_flush(under_way=True)
            await tester.flush()
            await tester.drain()
    # nothing under way, each line dirty
    for turn, latency in ((1, 1), (3, 9)):
        await bench.reset()
        tester = CacheTester(bench, turn=turn, latency=latency, choose=lambda turn, latency:
                             (turn, latency))
        shape = tester.shape
        for _ in range(2):
            tester.enqueue(range(0, shape.size, shape.line), writes=1.0, ports=1)
            await tester.drain()
            tester.declare_flush(under_way=False)
            await tester.flush()


@testbench
async def the_first_cycles_after_reset(bench: Bench) -> None:
    """All ports offer something in the first cycle; and flushed then."""
    for flush in (False, True):
        for address in (0, len(CacheTester(bench).words) - 1):
            await bench.reset()
            tester = CacheTester(bench, turn=1, latency=1)
            tester.declare()
            tester.enqueue([address, address], writes=0.5)
            if flush:
                tester.undeclare()
                await tester.flush()
            await tester.drain()


reset_in_mid_run = interrupted(any_port_any_word, last=300, driven=True)
