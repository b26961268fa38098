"""Worst-case formulas of the stages of the DRAM path: what each adds before and after the DRAM.

The formulas of the DRAM itself, the longest issue delays, are in ``bounds.py``.
"""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, check_count, prediction
from cyclebound.golden.dram.bounds import (
    Bursts,
    Period,
    Write,
    tile_2d_issue_delay,
    tile_issue_delay,
)
from cyclebound.golden.dram.index_bounds import Refused as Beyond
from cyclebound.golden.dram.index_bounds import Rows, Starved, indexed_issue_delay
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["arbiter_refresh", "arbiter_refresh_wait", "buffer_lookup", "buffer_mapping",
           "buffer_wait", "controller_completion", "controller_completion_2d",
           "controller_completion_indexed", "dq_deliver",
           "dq_drive", "dq_fetch", "full_load", "generator_burst", "index_burst", "index_request",
           "refresh_deadline", "refresh_gap", "refresh_request", "snoop_answer", "snoop_capture",
           "snoop_store", "stride_sequencer", "stride_sequencer_anywhere", "tile_bursts",
           "with_refreshes"]


_TABLE = ("mappings and requests may be offered in any cycle, and answers be taken in any; what is "
          "offered stays until it is taken")
_BUS = "commands come in any cycle in which the data bus will be free for them, in any order"
_ALONE = ("nothing else is under way when the request is taken, and no refresh is owed or falls "
          "due before it starts; its words lie anywhere")
_CAM = "any operation may be in any other cycle"

Mappings = Annotated[int, Range(0, 1, says="whether mappings may come while the request waits")]
Refused = Annotated[int, Range(0, says="indexes beyond the buffer between this one and the next")]
Indexes = Annotated[int, Range(0, says="indexes of the request, legal or not")]
FetchLatency = Annotated[int, Range(1, says="cycles in which the chip answers a fetch")]
Latency = Annotated[int, Range(2, says="cycles from a question to the CAMs to its answer")]
Start = Annotated[int, Range(0, 15, says="place of the first word in its burst")]
Words = Annotated[int, Range(1, says="words of a line")]
Gap = Annotated[int, Range(0, says="words between two lines")]
Lines = Annotated[int, Range(1, says="lines of the tile")]
Interval = Annotated[int, Range(2, says="cycles from one refresh falling due to the next")]
MostOwed = Annotated[int, Range(1, says="refreshes that may be owed")]
Requests = Annotated[int, Range(1, says="tiles, each waiting for the one before")]
Late = Annotated[int, Range(0, says="cycles by which the request's next burst may come late")]
After = Annotated[int, Range(0, 2, says="the request before: 0 a read, 1 a write, 2 a refresh")]

_LOOKUP = 7


@bound(formula="7", source="this project", environment=_TABLE)
def buffer_lookup() -> int:
    """Cycles from taking a buffer request to its tile or refusal on offer, both included.

    One cycle each: the request is taken; its mapping is read; partial products, beside the sums of
    the checks; the products' middle sum, beside the comparisons; the product; the address; and in
    the seventh the answer is on offer. A refusal takes as long as a tile.
    """
    return _LOOKUP


@bound(formula="7", source="this project", environment=_TABLE)
def buffer_mapping() -> int:
    """Cycles from taking a mapping to its report, both included.

    A mapping's size is the same kind of product as a tile's offset, and it passes through the
    same seven cycles; in the last one it is written to the table.
    """
    return _LOOKUP


@bound(formula="7 * (1 + mappings)", source="this project",
       environment="tiles and refusals are taken at once; with mappings, one may be asked for in "
                   "any cycle, and without, none; what is offered stays until it is taken")
def buffer_wait(*, mappings: Mappings) -> int:
    """Cycles from offering a buffer request to its being taken, both included.

    Mappings and requests take turns. At worst, a request is offered in the cycle after one was
    taken; its answer leaves in the sixth cycle from then, and the table is free in the seventh. A
    mapping that goes first occupies it for seven cycles more.
    """
    return _LOOKUP * (1 + mappings)


@prediction(formula="4 + refused", source="this project")
def index_burst(*, refused: Refused) -> int:
    """Cycles from taking an index to its burst on offer, both included.

    An element arrives in every cycle, and every burst is taken at once. ``refused`` indexes lie
    between this one and the next legal one, or the end: only then is known whether the burst is
    the last. That element is taken ``refused`` + 1 cycles after the index, judged in the next
    cycle, and the burst is on offer in the one after that.
    """
    return 4 + refused


@prediction(formula="indexes + 5", source="this project")
def index_request(*, indexes: Indexes) -> int:
    """Cycles from taking an indexed request to its ``done``, both included.

    An element arrives in every cycle, and every burst is taken at once. One cycle for the request,
    one for each of the ``indexes``, whether legal or refused, one for the end; then the end is
    judged, the last burst (or nothing, if none was legal) leaves, and ``done`` says so.
    """
    return indexes + 5


@bound(formula="nCAS + nBURST + 1", source="this project", environment=_BUS)
def dq_deliver(*, part: Part | str) -> int:
    """Cycles from a read on the pins to its last words on the chip, both included.

    The part puts the first beat on the bus nCAS cycles after the command and the last one
    nBURST - 1 cycles after that; a register at the pins adds one cycle, and both ends count.
    """
    device = part_named(part)
    return device.nCAS + device.nBURST + 1


@bound(formula="nCWD + nBURST", source="this project", environment=_BUS)
def dq_drive(*, part: Part | str) -> int:
    """Cycles from a write on the pins to its last words there, both included.

    The part demands the first beat nCWD cycles after the command, no sooner and no later, and
    the last one nBURST - 1 cycles after that.
    """
    device = part_named(part)
    return device.nCWD + device.nBURST


@bound(formula="fetch_latency + 2", source="this project", environment=_BUS)
def dq_fetch(*, fetch_latency: FetchLatency) -> int:
    """Cycles from asking the chip for words to those words on the pins, both included.

    The chip answers after ``fetch_latency`` cycles; a register holds the answer for the pins.
    """
    return fetch_latency + 2


@bound(formula="latency + 1", source="this project", environment=_CAM)
def snoop_answer(*, latency: Latency) -> int:
    """Cycles from asking for a lane's content to the answer, both included.

    One cycle compares, ``latency - 1`` climb the tree, and each ends in a register; the answer is
    there in the cycle that follows.
    """
    return latency + 1


@bound(formula="latency + 1", source="this project", environment=_CAM)
def snoop_store(*, latency: Latency) -> int:
    """Cycles from a fetch, which asks the CAMs for words, to the words, both included.

    Fetches and read-outs go through the same comparison and the same tree: see `snoop_answer`.
    Some lane has one of the words that are asked for; nothing is to be seen of an answer with none.
    """
    return latency + 1


@bound(formula="latency + 2", source="this project",
       environment="the lane is asked for in the cycle after the word has passed; any other "
                   "operation may be in any other cycle")
def snoop_capture(*, latency: Latency) -> int:
    """Cycles from a word on the bus to the first answer that holds it, both included.

    A question in the cycle after the beat is the first to find it. In that cycle the lane takes
    the word, and it is there for the tree in the next; the answer comes ``latency`` cycles after
    the question.
    """
    return latency + 2


_TILE_START = 8


def tile_bursts(*, start: int, words: int, gap: int, count: int) -> int:
    """Bursts that hold a word of a tile.

    ``start``: place of the first word within its burst; ``words`` in a line, ``gap`` of so many
    words between two lines, ``count`` lines.

    A gap of fewer than 16 words leaves no burst without a word: all between the first and the last
    count. With a wider one, no burst has words of two lines, and the lines add up: a line that
    starts at word *x* of a burst takes ``1 + (x + words - 1) // 16`` bursts, and *x* returns
    after 16 lines at the latest.

    Raises `NotCovered` for a ``start`` beyond word 15, and where there is no line or no word.
    """
    for name, value, least in (("start", start, 0), ("words", words, 1), ("gap", gap, 0),
                               ("count", count, 1)):
        check_count(name, value, least=least)
    if start > 15:
        raise NotCovered(f"start must be at most 15, not {start}")
    period = words + gap
    if gap < 16:
        return -(-(start + (count - 1) * period + words) // 16)
    return sum((count - line + 15) // 16 * (1 + ((start + line * period) % 16 + words - 1) // 16)
               for line in range(min(count, 16)))


@prediction(formula="7 + bursts(start, words, gap, count)", source="this project")
def stride_sequencer(*, start: Start, words: Words, gap: Gap, count: Lines) -> int:
    """Cycles from taking a tile to taking its last burst, both included, with a ready consumer.

    The arguments and the number of bursts are those of `tile_bursts`. Derivation: seven cycles
    before the first burst, for the tile is taken in one; constants that it is known by in the next;
    the walk is at the first burst in the third, and five registers separate it from the port, of
    which the last shows the burst in the eighth. All of them move in each cycle, and the walk goes
    from a burst to the next one that holds a word in one step: one cycle for each burst.
    """
    return _TILE_START - 1 + tile_bursts(start=start, words=words, gap=gap, count=count)


@bound(formula="7 + max over start of bursts(start, words, gap, count)", source="this project",
       environment="the tile begins at any word of a burst; its bursts are taken at once")
def stride_sequencer_anywhere(*, words: Words, gap: Gap, count: Lines) -> int:
    """`stride_sequencer` for a tile whose address is not known: the worst of its 16 alignments."""
    return max(stride_sequencer(start=start, words=words, gap=gap, count=count)
               for start in range(16))


_URGENT = ("refreshes are done at any time, and while as many are owed as may be, one before the "
           "next falls due")


@bound(formula="1", source="this project", environment=_URGENT)
def refresh_request(*, interval: Interval) -> int:
    """Cycles from a refresh falling due to its being owed: the very same cycle, which counts.

    The timer knows a cycle before that the ``interval`` ends. A refresh is owed as long as none is
    late: one that falls due while as many are owed as may be is forgotten.
    """
    return 1


@bound(formula="most * interval", source="this project", environment=_URGENT)
def refresh_deadline(*, interval: Interval, most: MostOwed) -> int:
    """Cycles from a refresh falling due to its REF, both included.

    The oldest is done first. ``most`` intervals later, as many more have fallen due, and the
    last of them found ``most`` owed unless the REF came before: in the cycle before that at the
    latest.
    """
    return most * interval


@bound(formula="(most + 1) * interval - 1", source="this project", environment=_URGENT)
def refresh_gap(*, interval: Interval, most: MostOwed) -> int:
    """Cycles from one REF to the next, the first of the two not counted.

    At worst the first REF is issued in the cycle in which its refresh falls due, and leaves none
    owed. The next one falls due ``interval`` cycles later, and a `refresh_deadline` begins with
    that cycle.
    """
    return (most + 1) * interval - 1


@bound(formula="4 + late", source="this project",
       environment="heads are popped as they come; other bursts of the request may come in any "
                   "cycle, each at most `late` cycles later than it could")
def generator_burst(*, late: Late) -> int:
    """Cycles from taking a burst to its entry at the head of its bank's FIFO, both included.

    The burst is taken in one cycle and held in the next, where the next burst has to be on
    offer, unless it is the request's last: ``late`` cycles more if it comes so much later. In the
    third cycle its entry is made, and in the fourth it is the head.
    """
    return 4 + late


@bound(formula="nRFC", source="this project",
       environment="the next request, or another refresh, waits")
def arbiter_refresh(*, part: Part | str) -> int:
    """Cycles from choosing a refresh to choosing the next command, which does not count.

    Nothing is legal within nRFC of a REF [JESD79-4]; a command is chosen in the first cycle in
    which it is legal.
    """
    return part_named(part).nRFC


@bound(formula="max(nRTP + nRP, nRC - nRCD) after a read, nCWD + nBURST + nWR + nRP after a "
               "write, nRFC after a refresh", source="this project",
       environment="no request begins while the refresh is wanted")
def arbiter_refresh_wait(*, part: Part | str, after: After) -> int:
    """Cycles from the first in which a refresh can be wanted to the one that chooses it.

    Both are included. A refresh is wanted from the cycle on after which the last command of a
    request (or a refresh) was chosen, or later. All banks are closed, and have been for nRP, that
    many cycles after the last of these commands: a read or write with precharge, whose activate was
    chosen nRCD before it or earlier, and asks for nRC; or a precharge, which only asks for nRP.
    """
    device = part_named(part)
    if after == 2:
        return device.nRFC
    if after:
        return device.nCWD + device.nBURST + device.nWR + device.nRP
    return max(device.nRTP + device.nRP, device.nRC - device.nRCD)


@bound(formula="c + (owed + ceil((c + owed * nRFC) / (nREFI - nRFC))) * nRFC",
       source="this project, from Eq. 19", environment="refreshes fall due in any cycle")
def with_refreshes(*, part: Part | str, cycles: int, owed: int = 0) -> int:
    """DRAM clocks for requests whose issue delays add up to ``cycles``, refreshes among them.

    ``owed`` refreshes had been put off when the first request began, and are done; *d* fall due
    while this lasts. That is L = c + (owed + d) * nRFC clocks, in which at most ceil(L / nREFI)
    fall due. The least d that satisfies d >= (c + (owed + d) * nRFC) / nREFI is
    ceil((c + owed * nRFC) / (nREFI - nRFC)). For owed = 0 this is Eq. 19, which does not know that
    a controller that puts off refreshes leaves them to later requests.
    """
    device = part_named(part)
    check_count("cycles", cycles, least=0)
    check_count("owed", owed, least=0)
    due = -(-(cycles + owed * device.nRFC) // (device.nREFI - device.nRFC))
    return cycles + (owed + due) * device.nRFC


@bound(formula="with_refreshes(requests * tile_issue_delay(b))", source="this project",
       environment="the tiles begin at any words; refreshes fall due in any cycle, and none is "
                   "owed when the first tile begins")
def full_load(*, part: Part | str, requests: Requests, bursts: Bursts, write: Write) -> int:
    """DRAM clocks for ``requests`` tiles of ``bursts`` bursts, each waiting for the one before.

    From the first command of the first to the first command of what follows the last, which waits
    as well: each takes its issue delay, at most `tile_issue_delay`, and refreshes are among them.
    """
    cycles = requests * tile_issue_delay.function(part=part, bursts=bursts, write=write)
    return with_refreshes.function(part=part, cycles=cycles)


@bound(formula="17 + tile_issue_delay(b)", source="this project", environment=_ALONE)
def controller_completion(*, part: Part | str, bursts: Bursts, write: Write) -> int:
    """Cycles from taking a request of a tile to its completion, both included.

    Nothing else is under way, and no refresh is owed. In the seventh cycle the tile leaves the
    buffer table and starts; seven cycles later its first burst is on offer, and three cycles
    after that, in the seventeenth, its first command is chosen. An issue delay after that is the
    cycle in which the next request's could be chosen, and that is the one of the completion.
    """
    return 17 + tile_issue_delay.function(part=part, bursts=bursts, write=write)


@bound(formula="17 + tile_2d_issue_delay(words, period, count)", source="this project",
       environment=_ALONE)
def controller_completion_2d(*, part: Part | str, words: Words, period: Period, count: Lines,
                             write: Write) -> int:
    """Cycles from taking a request of a 2D tile to its completion: see `controller_completion`.

    The sequencer has a burst in each cycle from its first one on, whatever the gaps between lines.
    """
    return 17 + tile_2d_issue_delay.function(part=part, words=words, period=period, count=count,
                                             write=write)


@bound(formula="14 + max over g of g + indexed_issue_delay(b, rows, refused + starved - g)",
       source="this project", environment=_ALONE)
def controller_completion_indexed(*, part: Part | str, bursts: Bursts, rows: Rows, write: Write,
                                  refused: Beyond = 0, starved: Starved = 0) -> int:
    """Cycles from taking an indexed request to its completion, both included.

    As `controller_completion`, with an index on offer in every cycle from the request's start on.
    That the first burst is not the last is known when the third index is taken (with fewer, their
    end), three cycles after the start; its first command is chosen four cycles later: in the
    fourteenth from taking the request. Bursts follow one in a cycle, as they do in a tile.

    **Gaps** are those of `indexed_issue_delay`, and ``starved`` counts from the request's start on.
    Of all gaps, g lie in front of the first command: each keeps that back by a cycle at most, for
    an index that is refused, or not on offer, is one cycle in which the iterator learns nothing.
    The issue delay has the others.
    """
    check_count("refused", refused, least=0)
    check_count("starved", starved, least=0)
    gaps = refused + starved
    return 14 + max(before + indexed_issue_delay.function(
        part=part, bursts=bursts, rows=rows, write=write, refused=gaps - before)
        for before in range(gaps + 1))
