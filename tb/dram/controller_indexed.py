"""Testbench of indexed requests through the DRAM controller: the longest that are known.

Every pin and word is compared in every cycle, as in ``controller.py``; what is added here is which
requests there are: the witnesses of the bound, an adversary's, and a thousand indexes at once.
"""

from collections.abc import Sequence

from cyclebound.golden.dram.address import burst_at
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.request import BURST_WORDS, COUNT_BITS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.controller_tester import ControllerTester, Wanted
from cyclebound.tools.dram.index_search import bursts_in, longest_order
from cyclebound.tools.dram.index_witnesses import witnesses

_MOST = (1 << COUNT_BITS) - 1
_THOUSAND = 1024
_STEPS = 150


def wanted(bench: Bench, bursts: Sequence[int], *, write: int) -> Wanted:
    """A request for some word of each burst."""
    elements = [Element(BURST_WORDS * burst + bench.rng.randrange(BURST_WORDS), number)
                for number, burst in enumerate(bursts)]
    assert all(element.index <= _MOST for element in elements)
    return Wanted(BufferRequest(0, indexed=True, write=bool(write)), [*elements, Element(end=True)])


async def replay(bench: Bench, requests: Sequence[tuple[Sequence[int], int]]) -> list[int]:
    """Bursts and direction of each request, without a pause; their delays on the RTL.

    Each must be what the golden model of the arbiter alone says.
    """
    tester = ControllerTester(bench)
    tester.mappings.append(Mapping(0, 0, _MOST, 2))
    await tester.drain()
    offered = [wanted(bench, bursts, write=write) for bursts, write in requests]
    tester.requests.extend(offered)
    tester.requests.append(Wanted(BufferRequest(0, words=1)))  # a follower for the last one
    await tester.drain()
    tester.finish()
    delays = []
    for request, (bursts, write) in zip(offered, requests, strict=True):
        assert not request.starved
        expected = schedule(tester.part, bursts, write=bool(write), indexed=True).issue_delay
        assert request.delay == expected, (
            f"{bursts}: {request.delay} clocks, the model says {expected}")
        delays.append(expected)
    return delays


@testbench
async def longest_known(bench: Bench) -> None:
    """The witnesses of this part: as long on the RTL as they are said to be."""
    kept = witnesses(bench.parameters["part"])
    if not kept:
        return  # a user's part, of which only an adversary's are known
    part = ControllerTester(bench).part
    delays = await replay(
        bench, [(bursts_in(part, witness.order), witness.write) for witness in kept])
    assert delays == [witness.delay for witness in kept]
    assert sum(witness.delay == witness.bound for witness in kept) > 4


@testbench
async def an_adversarys(bench: Bench) -> None:
    """Up to 64 words over up to all banks, the longest that a short search on the model finds."""
    part, rng = ControllerTester(bench).part, bench.rng
    requests = []
    for bursts in (*range(1, 17), 24, 32, 48, 64):
        for write in (0, 1):
            _, order = longest_order(part=part, bursts=bursts, write=write, steps=_STEPS, rng=rng,
                                     rows=rng.randint(1, part.banks))
            requests.append((bursts_in(part, order), write))
    await replay(bench, requests)


def with_gaps(bench: Bench, tester: ControllerTester) -> list[Wanted]:
    """Requests with refused indexes and pauses of their source, after their buffer's mapping.

    Four words, then a gap, then one in another bank; gaps before the first word; and words, gaps
    and banks at random.
    """
    rng, part = bench.rng, tester.part
    limit = 2 * BURST_WORDS * part.bursts_per_sweep
    tester.mappings.append(Mapping(0, 0, limit, 1))
    firsts = [burst_at(part, bank=bank, row=row, column=0) for row in (0, 1)
              for bank in range(part.banks)]
    requests: list[tuple[list[int], int | None, int, int, int]] = [
                ([firsts[0]] * before + [firsts[1]] * after, place, refused, pause, write)
                for write in (0, 1) for before, after, place in ((4, 1, 4), (1, 4, 1), (11, 1, 11),
                                                                 (2, 1, 0))
                for refused, pause in ((200, 0), (0, 100), (9, 9), (0, 1))]
    for bursts in (*range(1, 25), 40):
        places = rng.sample(firsts[:rng.choice((part.banks, 2 * part.banks))],
                            rng.randint(1, part.banks))
        requests.append((rng.choices(places, k=bursts), None, rng.choice((0, 1, 3, 30)),
                         rng.choice((0, 1, 5, 60)), rng.randrange(2)))
    offered = []
    for bursts, before, refused, pause, write in requests:
        legal = [Element(BURST_WORDS * burst, number) for number, burst in enumerate(bursts)]
        elements = [*legal, Element(end=True)]
        pauses = [0] * len(elements)
        for _ in range(refused):
            place = rng.randrange(len(elements)) if before is None else before
            elements.insert(place, Element(limit + rng.randrange(limit)))
            pauses.insert(place, 0)
        pauses[rng.randrange(len(pauses)) if before is None else before] += pause
        offered.append(Wanted(BufferRequest(0, indexed=True, write=bool(write)), elements, pauses))
    return offered


@testbench
async def refused_and_late_indexes(bench: Bench) -> None:
    """Issue delays of requests with gaps: each has a follower whose first command is there at once.
    """
    tester = ControllerTester(bench)
    offered = with_gaps(bench, tester)
    await tester.drain()
    for request in offered:
        tester.requests.extend([request, Wanted(BufferRequest(0, words=1))])
    await tester.drain()
    tester.finish()
    for request in offered:
        assert not request.starved, request
        assert request.delay is not None, request
    assert tester.counts["refused 6"] == sum(len(request.elements) - 1 > len(request.bursts)
                                             for request in offered)


@testbench
async def completions_with_gaps(bench: Bench) -> None:
    """Those requests one at a time: each takes no longer than it may from its acceptance on."""
    tester = ControllerTester(bench)
    offered = with_gaps(bench, tester)
    await tester.drain()
    for request in offered:
        tester.requests.append(request)
        await tester.drain()
    tester.finish()
    assert not any(request.starved for request in offered)
    # a refresh may have fallen into one
    assert sum(request.isolated for request in offered) > len(offered) * 3 // 4


@testbench
async def a_thousand_indexes(bench: Bench) -> None:
    """1,024 words: of one burst, one bank last, all banks at random; 128 rows of one bank."""
    part, rng = ControllerTester(bench).part, bench.rng
    firsts = [burst_at(part, bank=bank, row=0, column=0) for bank in range(part.banks)]
    anywhere = [rng.choice(firsts) for _ in range(_THOUSAND)]
    late = [*rng.sample(firsts[1:], part.banks - 1), *[firsts[0]] * _THOUSAND][:_THOUSAND]
    last_row = _MOST // BURST_WORDS // part.bursts_per_sweep
    conflicts = [burst_at(part, bank=0, row=number % last_row, column=0) for number in range(128)]
    delays = await replay(bench, [(bursts, write) for write in (0, 1) for bursts in (
        [0] * _THOUSAND, late, anywhere, conflicts)])
    assert len(set(delays)) == len(delays)
