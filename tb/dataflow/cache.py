"""Testbench of the cache: every port compared in every cycle, and all words with a plain memory.

The memory below takes and answers each request within times that are declared beforehand.
"""

import itertools
from collections import deque
from functools import partial
from typing import Any

from cyclebound.golden.dataflow.cache import LineCacheModel
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.line_cache_tester import (
    MEMORIES,
    LineCacheTester,
    few_lines,
    flushed_with_misses,
    random_requests,
)
from cyclebound.tb.dataflow.line_ports import answer_values, expected_request


def shape_of(parameters: dict) -> CacheShape:
    """The cache's shape, from the component's parameters."""
    return CacheShape(**{name: parameters[name] for name in CacheShape.__dataclass_fields__})


class CacheTester(LineCacheTester):
    """The first level: requests are accesses of words, and all have tags.

    ``turn``, ``latency`` and ``choose`` are those of `LineCacheTester`.
    """

    bounded = "access", "taken"

    def __init__(self, bench: Bench, **memory: Any) -> None:
        p, shape = bench.parameters, shape_of(bench.parameters)
        super().__init__(bench, shape, LineCacheModel(ports=p["ports"], shape=shape,
                                                      width=p["width"]), **memory)
        self.numbers, self.tag_count = len(self.words), 2 ** p["tag_width"]
        self.tags = [deque(range(self.tag_count)) for _ in range(self.ports)]

    @property
    def writes_back(self) -> bool:
        return any(bank.read or bank.write for bank in self.model.banks)

    async def cycle(self, *, load: float = 1.0, flush: bool = False) -> bool:
        """Returns whether all lines have been given up, while ``flush`` is set."""
        bench, model, now, memory = self.bench, self.model, self.bench.cycle, self.memories[0]
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
        line_taken = memory.takes(asked)
        answer = memory.answer()
        values |= {"lines.request.ready": line_taken} | answer_values("lines.response", answer,
                                                                      self.width)
        seen = await bench.step(bench.inputs.pack(values))

        responses, done = model.responses(), model.flushed(flush)
        taken = model.step(self.held, line_taken=line_taken, line=answer, flush=flush)
        memory.step(line_taken)
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

    def pool(self, lines: int) -> list[int]:
        """Addresses in so many lines, of one set of one bank if there are as many."""
        step = self.shape.line * self.shape.banks * self.shape.sets
        rng, line = self.bench.rng, self.shape.line
        first = rng.randrange(step // line) * line
        return [(first + k * step + place) % len(self.words)
                for k in range(lines) for place in range(line)]


@testbench
async def any_port_any_word(bench: Bench) -> None:
    """Random accesses and pauses; half of them to few lines; memories of all kinds below."""
    await random_requests(bench, CacheTester, count=25, writes=(0.5, 0.3, 1.0))


@testbench
async def hits_take_three_cycles(bench: Bench) -> None:
    """Whatever other ports do; but for one bank, where they could displace its line."""
    tester = CacheTester(bench, turn=2, latency=11)
    shape, rng = tester.shape, bench.rng
    mine = range(shape.line)
    others = [address for address in range(len(tester.words))
              if address // shape.line // shape.banks % shape.sets
              or address // shape.line % shape.banks]
    tester.enqueue(1, lambda: 0, writes=0, ports=1)
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
    await few_lines(bench, CacheTester, count=20, writes=(0.5, 1.0, 0.0))


@testbench
async def flushed_while_misses_are_under_way(bench: Bench) -> None:
    """Requests wait until it is over; then they find nothing in the cache."""
    await flushed_with_misses(bench, CacheTester, MEMORIES)
    # nothing under way, each line dirty
    for turn, latency in ((1, 1), (3, 9)):
        await bench.reset()
        tester = CacheTester(bench, turn=turn, latency=latency, choose=lambda turn, latency:
                             (turn, latency))
        shape = tester.shape
        for _ in range(2):
            tester.enqueue(shape.size // shape.line, partial(next, itertools.count(0, shape.line)),
                           writes=1, ports=1)
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
            for _ in range(2):
                tester.enqueue(1, partial(int, address), writes=0.5)
            if flush:
                tester.undeclare()
                await tester.flush()
            await tester.drain()


reset_in_mid_run = interrupted(any_port_any_word, last=300, driven=True)
