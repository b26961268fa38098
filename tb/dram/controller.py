"""Testbench of the DRAM controller: every pin and every word compared in every cycle.

Random requests of every kind, those that are refused among them; and tiles at the ends of banks
and sweeps, where delays are longest. See `ControllerTester` for what is compared.
"""

import functools
from collections.abc import Callable, Sequence

from cyclebound.golden.dram.address import burst_at
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BURST_WORDS,
    COUNT_BITS,
    TARGET_BITS,
    Destination,
    Refusal,
)
from cyclebound.golden.dram.tile_search import longest_lines
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dram.controller_tester import ControllerTester, Wanted

_REQUESTS = 260
_BUFFERS = 6  # that a random test maps
_MOST = (1 << COUNT_BITS) - 1


class ControllerTraffic:
    """Random buffers, and requests of them; most are legal, some end at the very last word."""

    def __init__(self, tester: ControllerTester) -> None:
        self.tester, self.rng = tester, tester.bench.rng
        self.capacity = min(tester.part.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
        self.buffers: dict[int, Mapping] = {}  # as they will be when the next request is taken

    def remap(self, buffer: int | None = None, size: tuple[int, int] | None = None) -> None:
        """Map a buffer anew: small lines or long ones, at any word, now and then to no effect."""
        rng = self.rng
        if buffer is None:
            buffer = rng.randrange(_BUFFERS)
        x, y = size or rng.choice((
            (rng.randint(1, 15), rng.randint(1, 60)),      # bursts have words of several lines
            (rng.randint(16, 60), rng.randint(1, 30)),
            (rng.randint(500, 3000), rng.randint(1, 40)),
            (8 * rng.choice((512, 1024, 4096)), rng.randint(2, 12)),  # lines in the same bank
            (rng.randint(20_000, 400_000), rng.randint(1, 20)),
        ))
        room = self.capacity - x * y
        mapping = Mapping(buffer, rng.choice((0, room, rng.randint(0, room), rng.randint(0, room))),
                          x, y, rng.random() > 0.06)
        if rng.random() < 0.06:
            mapping = Mapping(buffer, room + 1, x, y)  # ends a word beyond the device
        self.tester.mappings.append(mapping)
        self.buffers[buffer] = mapping

    def request(self) -> Wanted:
        """One request of any kind."""
        rng, choice = self.rng, self.rng.random()
        buffer = rng.choice(list(self.buffers)) if rng.random() > 0.04 else 31
        mapping = self.buffers.get(buffer, Mapping(buffer, 0, 50, 5))
        write = rng.random() < 0.5
        destination = rng.choice((Destination.SCRATCHPAD, Destination.REGISTERS, Destination.CAM))
        request = functools.partial(
            BufferRequest, mapping.buffer, write=write, destination=destination,
            base=rng.getrandbits(TARGET_BITS), pitch=rng.getrandbits(TARGET_BITS),
            transform=rng.randrange(3))
        if choice < 0.35:
            return self._indexed(mapping, request)
        x = rng.choice((0, rng.randrange(mapping.x)))
        words = rng.choice((1, mapping.x - x, rng.randint(1, mapping.x - x)))
        words = min(words, rng.choice((20, 100, 400, 1200)))
        y = rng.randrange(mapping.y)
        most = min(mapping.y - y, max(1, 900 // words), 40)
        count = rng.choice((1, 1, most, rng.randint(1, most)))
        if rng.random() < 0.08:  # no words, no lines, or one too many
            x, y, words, count = rng.choice((
                (x, y, 0, count), (x, y, words, 0), (x, y, mapping.x - x + 1, count),
                (x, y, words, mapping.y - y + 1), (_MOST, _MOST, _MOST, _MOST)))
        return Wanted(request(x, y, words, count, False))

    def _indexed(self, mapping: Mapping, request: Callable[..., BufferRequest]) -> Wanted:
        """Indexes all over the buffer or close together, now and then beyond it, or none at all."""
        rng, limit = self.rng, mapping.x * mapping.y
        most = min(limit, _MOST + 1)
        start, span = rng.randrange(most), rng.choice((1, 40, 3000, most))
        beyond = rng.choice((0, 0, 0, 0.1, 1)) if limit <= _MOST else 0
        length = rng.choice((0, 1, 2, 3, 8, rng.randrange(60)))
        indexes = [rng.choice((limit, _MOST)) if rng.random() < beyond
                   else (start + rng.randrange(span)) % most for _ in range(length)]
        elements = [Element(index, rng.getrandbits(TARGET_BITS)) for index in indexes]
        return Wanted(request(*(rng.getrandbits(COUNT_BITS) for _ in range(4)), True),
                      [*elements, Element(rng.getrandbits(COUNT_BITS), 0, True)])


async def _play(bench: Bench, *, idle: float = 0.0, starve: float = 0.0) -> ControllerTester:
    """Random requests, and mappings that change beneath them."""
    tester = ControllerTester(bench)
    traffic, rng = ControllerTraffic(tester), bench.rng
    for buffer in range(_BUFFERS):
        # one has more words than snoopy accesses reach
        traffic.remap(buffer, None if buffer else (_MOST // 2, 3))
    await tester.drain()
    tester.idle, tester.starve = idle, starve
    for _ in range(_REQUESTS):
        while len(tester.requests) > 1:
            await tester.cycle()
        tester.requests.append(traffic.request())
        if rng.random() < 0.1:
            traffic.remap()
    await tester.drain()
    tester.finish()
    return tester


def _varied(tester: ControllerTester) -> None:
    """Check that everything that the test is about has occurred."""
    counts = tester.counts
    refused = (Refusal.UNMAPPED, Refusal.EMPTY, Refusal.SNOOP, Refusal.WIDTH, Refusal.HEIGHT,
               Refusal.INDEX)
    for what in ("read tile", "write tile", "read indexed", "write indexed", "delivered", "driven",
                 "refreshes", *(f"refused {int(refusal)}" for refusal in (Refusal.NONE, *refused))):
        assert counts[what], (what, counts)
    assert counts["refused 0"] > _REQUESTS // 2, counts


@testbench
async def back_to_back(bench: Bench) -> None:
    """A request waits whenever there is room for one, and its indexes with it."""
    tester = await _play(bench)
    _varied(tester)
    assert tester.counts["follower at once"] > _REQUESTS // 4, tester.counts
    assert tester.counts["offered while another is refused"] > _REQUESTS // 20, tester.counts


@testbench
async def now_and_then(bench: Bench) -> None:
    """Requests come after a while, and indexes one by one."""
    _varied(await _play(bench, idle=0.99, starve=0.6))


@testbench
async def slow_indexes(bench: Bench) -> None:
    """Requests wait, but hardly any index does."""
    _varied(await _play(bench, starve=0.9))


async def _one_by_one(tester: ControllerTester, requests: Sequence[Wanted]) -> None:
    """Each when all before it is over, and no refresh due."""
    part = tester.part
    for wanted in requests:
        while not tester.model.idle or tester.model_cycle % part.nREFI > part.nREFI - 20:
            await tester.cycle()
        tester.requests.append(wanted)
        await tester.drain()


@testbench
async def ends_of_banks(bench: Bench) -> None:
    """Tiles around the end of a pair of banks and of all banks, where delays are longest."""
    tester = ControllerTester(bench)
    tester.directed, part = True, tester.part
    tester.mappings.append(Mapping(0, 0, _MOST, 1))
    await tester.drain()
    ends = [burst_at(part, bank=2, row=0, column=0), part.bursts_per_sweep]
    requests = [Wanted(BufferRequest(0, BURST_WORDS * (end - before) + offset, 0,
                                     BURST_WORDS * bursts - offset, 1, False, write))
                for write in (False, True) for end in ends for bursts in range(1, 13)
                for before in range(min(bursts, 6)) for offset in (0, 15)]
    bench.rng.shuffle(requests)
    tester.requests.extend(requests)
    await tester.drain()
    longest = {(len(request.bursts), request.request.write): request for request in sorted(
        requests, key=lambda candidate: schedule(
            part, [burst.address for burst in candidate.bursts],
            write=candidate.request.write).issue_delay)}
    assert len(longest) == 24
    await _one_by_one(tester, [Wanted(request.request) for request in longest.values()])
    tester.finish()
    assert tester.counts["refused 0"] == len(requests) + len(longest)
    assert tester.counts["follower at once"] > len(requests) * 0.9


@testbench
async def lines(bench: Bench) -> None:
    """2D tiles of some kinds, from the words where they take longest, and from others.

    Lines in the same bank, in banks next to each other and half of all banks apart, with periods of
    whole bursts and others; and those for which a sum over lines was once thought to be enough.
    """
    tester = ControllerTester(bench)
    tester.directed, part, rng = True, tester.part, bench.rng
    row = BURST_WORDS * part.bursts_per_sweep
    kinds = [(1, row, 5), (3, row // 2, 6), (40, row // part.banks * 2, 7), (20, 1000, 6),
             (18, 1001, 4), (64, 500, 3), (190, 16384, 9)]
    if part.banks == 16:
        kinds.append((284, 65504, 40))
    for words, period, count in kinds:
        for write in (False, True):
            worst = longest_lines(part, words=words, period=period, count=count, write=write)
            assert worst is not None  # every one of them has a bound
            for address in (worst.address, rng.randrange(row)):
                tester.mappings.append(Mapping(0, address, period, count))
                await tester.drain()
                while tester.model_cycle % part.nREFI > part.nREFI - 20:
                    await tester.cycle()
                request = BufferRequest(0, 0, 0, words, count, False, write)
                tester.requests.extend([Wanted(request), Wanted(request)])
                await tester.drain()
    tester.finish()
    assert tester.counts["refused 0"] == 8 * len(kinds)


@testbench
async def banks_and_rows(bench: Bench) -> None:
    """Indexed requests: one row, rows of one bank by turns, all banks; also without a burst."""
    tester = ControllerTester(bench)
    part, rng = tester.part, bench.rng
    tester.mappings.append(Mapping(0, 0, _MOST, 2))
    await tester.drain()
    requests = []
    for write in (False, True):
        for length in (1, 2, 3, 5, 9, 17, 40):
            for rows in (1, 2, part.bank_groups, part.banks, 0):
                places = [burst_at(part, bank=number % part.banks if rows else 0,
                                   row=0 if rows else rng.randrange(8), column=8 * number // 64)
                          for number in (rng.randrange(rows or 1) for _ in range(length))]
                elements = [Element(BURST_WORDS * place % _MOST, number)
                            for number, place in enumerate(places)]
                requests.append(Wanted(BufferRequest(0, indexed=True, write=write, words=0),
                                       [*elements, Element(end=True)]))
    nothing = Wanted(BufferRequest(0, indexed=True), [Element(end=True)])
    tester.requests.extend(requests)
    await tester.drain()
    await _one_by_one(tester, [Wanted(request.request, request.elements)
                               for request in (*requests, nothing)])
    tester.finish()
    assert tester.counts["refused 0"] == 2 * len(requests) + 1


@testbench
async def nothing_to_do(bench: Bench) -> None:
    """Requests without a single burst after others, which must all be completed, in order."""
    tester = ControllerTester(bench)
    tester.mappings.append(Mapping(0, 0, 1000, 1))
    await tester.drain()
    for number in range(60):
        kind = number % 4
        if kind == 0:
            wanted = Wanted(BufferRequest(0, number, 0, 1 + number, 1, False, number % 8 == 0))
        elif kind == 1:
            wanted = Wanted(BufferRequest(0, indexed=True), [Element(end=True)])
        elif kind == 2:
            wanted = Wanted(BufferRequest(0, indexed=True), [Element(1000), Element(end=True)])
        else:
            wanted = Wanted(BufferRequest(bench.rng.choice((0, 1)), 0, 0, 0, 1))
        tester.requests.append(wanted)
    await tester.drain()
    tester.finish()
    assert tester.counts["refused 0"] == 30
    assert tester.counts[f"refused {int(Refusal.INDEX)}"] == 15


@testbench
async def refreshes(bench: Bench) -> None:
    """Without requests, a refresh is on the pins one cycle after it has fallen due."""
    tester = ControllerTester(bench)
    part = tester.part
    seen = []
    for _ in range(3 * part.nREFI + 5):
        shown = await tester.cycle()
        if shown.command is not None:
            seen.append(tester.model_cycle - 1)
    assert seen == [number * part.nREFI + 1 for number in (1, 2, 3)]
    tester.finish()


reset_in_mid_run = interrupted(lines, longest=400)
