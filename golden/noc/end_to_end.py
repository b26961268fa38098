"""Bounds of the end-to-end write, as the hardware does it: `composition_corrected`, and registers.

DDR3 has a cycle of 1.25 ns; network and local memory have a cycle in ``quarters`` of every four of
these: 600 MHz with three, as in the paper. Stages of network and local memory are in their cycles,
the whole is in DDR cycles: `span` is the one place where cycles of one become cycles of the other.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cyclebound.golden.bound import NotCovered, Range, bound, check_count
from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.noc.bounds import Opened
from cyclebound.golden.noc.composition import Path, Transaction
from cyclebound.golden.noc.end_to_end_data import AHEAD, WORD_BYTES, word
from cyclebound.golden.noc.packet import HEADER_FLITS, PAYLOAD_FLITS

__all__ = [
    "ASKED",
    "DDR_MHZ",
    "FIRST_OPEN",
    "GRANTED",
    "LOOKS",
    "PACKET_FLITS",
    "RECEIVED",
    "REGISTERS",
    "WRITERS",
    "arrivals",
    "contents",
    "fill",
    "first_packet",
    "flow",
    "place",
    "places",
    "sends",
    "span",
    "stages",
    "total",
    "transaction",
    "written",
]

Competitors = Annotated[int, Range(1, says="N_trans: masters of the DRAM, this one included")]
Length = Annotated[int, Range(1, says="length of the window, in cycles of the network")]
Period = Annotated[int, Range(1, says="period of the TDMA table, in cycles of the network")]
Cycles = Any  # a number, or an array of them
DDR_MHZ = 800
FIRST_OPEN = 2  # cycles after reset, and the offset, in which the first window opens
PACKET_FLITS = PAYLOAD_FLITS + HEADER_FLITS
_WORDS = PAYLOAD_FLITS // 2  # of 8 bytes in a packet
RECEIVED = 2    # from a packet's last flit until its words come out of the receiver
ASKED = 1       # from a request's last word until it is on offer to the front end
REGISTERS = 4   # from there to the page controller
LOOKS = 2       # from there to the pins
GRANTED = 2     # from a departure of the reorder core to the first offer that it is too early for
WRITERS = ("every other master of the DRAM asks in each cycle, and writes another row of the same "
           "bank every time; masters that open rows of other banks, for which nFAW may cost more, "
           "are not covered")
"""The environment of bounds among other masters."""


def contents(nbytes: int) -> bytes:
    """The bytes that memory must hold after a write of ``nbytes`` bytes."""
    words = nbytes // WORD_BYTES
    return b"".join(word(index, words).to_bytes(WORD_BYTES, "little") for index in range(words))


def transaction(*, requesters: int, competitors: int, nbytes: int = 4096, delta: int = 5,
                window: int = 512, period: int = 1024, quarters: int = 3) -> Transaction:
    """The write over a path with these clocks."""
    mhz = DDR_MHZ * quarters // 4
    return Transaction(Path(memory_mhz=mhz, noc_mhz=mhz, router_cycles=delta, window=window,
                            period=period), nbytes, requesters, competitors)


def span(cycles: int, quarters: int) -> int:
    """DDR cycles from the first to the last of ``cycles`` cycles of the network, at most.

    After each ``quarters`` of them, the network stands still for the rest of four; at worst the
    first such rest comes after the first cycle.
    """
    return cycles + -(-(cycles - 1) // quarters) * (4 - quarters)


@bound(formula="ceil(s_trans / w_mem) * N_req + 1", source="memory-composition, V.A.1 (t_1 + t_2)",
       environment="the other N_req - 1 requesters may ask for the same bank in any cycle")
def fill(*, nbytes: int, requesters: int) -> int:
    """From the core's first word on offer until the DMA has been told, both included."""
    check_count("requesters", requesters)
    return -(-nbytes // WORD_BYTES) * requesters + 1


@bound(formula="max(32 N_req + 4, 69)", source="this project",
       environment="the other N_req - 1 requesters may ask for the same bank in any cycle")
def first_packet(*, requesters: int) -> int:
    """From the cycle after the DMA was told until the first packet can begin, that not included.

    Derivation: 32 words of 8 bytes are granted within 32 N_req cycles (Eq. 1); the last one's data
    come one cycle later, are in the DMA's FIFO one later, and leave as two flits in that cycle and
    the next; the interface has the header on offer two cycles after the last flit was taken:
    32 N_req + 4 cycles go by before it. The interface takes one flit in a cycle, and the first one
    four cycles after its transaction: 4 + 64 + 1 cycles go by at least, which is more for one and
    two requesters.
    """
    check_count("requesters", requesters)
    return max(32 * requesters + 4, 69)


def arrivals(path: Transaction, ready: int) -> list[int]:
    """When each packet has arrived, from 1 in the cycle in which the first can begin.

    As `composition_corrected.arrivals`, for an interface that reads *two* packets ahead: it has
    room for the packet that leaves and the next one. ``ready`` is that cycle's place in the
    period, 0 where the window opens; less than 0, so many cycles before the first one after reset.

    Derivation: a packet is read after the one before, 32 N_req cycles (64 at least, since the
    interface takes a flit in a cycle). If the interface was full, its next word goes in two cycles
    after the last packet but one began, when that one's first word leaves; the DMA then holds four
    words, and asks for the fifth one two cycles later. 28 words take 28 N_req cycles, the last one
    goes in three later, and the packet can begin two cycles after it: 28 N_req + 8 in all. (Or 67,
    if it is the interface's flit in a cycle that counts.) It begins when it can, if the one before
    is out, and it still arrives in the window.
    """
    crossing = int(path.path.packet_crossing.amount)
    ahead = sends(ready, packets=path.packets, requesters=path.requesters, fits=crossing,
                  window=path.path.window, period=path.path.period)
    return [begin + crossing - ready for begin in ahead]


def sends(ready: Cycles, *, packets: int, requesters: int, fits: int, window: int, period: int,
          whole: Sequence[int] = ()) -> list[Cycles]:
    """When each packet of 64 words begins, by the derivation of `arrivals`; ``ready`` is when the
    first one can, in cycles from one in which the window opens: a number, or an array of them. None
    has opened before cycle 0: where ``ready`` is less, it is the first one since reset.

    A packet begins only where ``fits`` cycles are left of the window; a window as long as its
    period is none. From ``whole`` cycles after the first one, each packet can begin for another
    reason.
    """
    reading = max(_WORDS * requesters, PAYLOAD_FLITS)
    after_full = max((_WORDS - AHEAD) * requesters + 8, PAYLOAD_FLITS + 3)
    if isinstance(ready, int):
        later: Callable[..., Any] = max
    else:
        import numpy as np  # late: who loads a block's page needs none

        later = np.maximum
    can, begins = ready, [later(ready, 0)]  # when this packet can begin; when each begins
    for number in range(packets):
        if number:
            can = can + reading
            if number > 1:
                can = later(can, begins[number - 2] + after_full)
            if whole:
                can = later(can, ready + whole[number])
            begins.append(later(can, begins[-1] + PACKET_FLITS))
        if window < period:
            shut = begins[-1] % period + fits > window
            begins[-1] = begins[-1] + shut * (-begins[-1] % period)
    return begins


def places(path: Transaction, *, opened: int) -> range:
    """Where the first packet may be ready, for `arrivals`, as a range.

    The first window opens in cycle offset + 2 after reset, at most one more than the period; the
    packet is not ready sooner than with a bank for the core by itself.
    """
    period = path.path.period
    soonest = fill(nbytes=path.nbytes, requesters=1) + first_packet(requesters=1)
    return range(0 if opened else min(0, soonest - FIRST_OPEN - period + 1), period)


@bound(formula="max over the period, and the cycles before the first window, of the last packet's "
               "arrival",
       source="this project, golden/noc/end_to_end.py",
       environment="the first packet may be ready in any cycle of the table's period; other flows "
                   "send in their own windows")
def flow(*, requesters: int, nbytes: int, delta: int, window: Length, period: Period,
         opened: Opened = 0) -> int:
    """From the cycle in which the first packet can begin to the last one's last flit.

    ``opened`` is 1 if it is known that a window has opened since reset when it can.

    Derivation: `arrivals`, for each of the `places` in which the first packet can be ready. With
    Table III and 4 KiB, a core takes longer to fill the bank than it could wait for a first window.
    """
    path = transaction(requesters=requesters, competitors=1, nbytes=nbytes, delta=delta,
                       window=window, period=period)
    return max(arrivals(path, ready)[-1] for ready in places(path, opened=opened))


def place(cycles: int, phase: int, quarters: int) -> int:
    """DDR cycles from the first to the last of ``cycles`` cycles of the network, if the first is
    number ``phase`` of the ``quarters`` in a row; both included. `span` is the greatest of these.
    """
    last = phase + cycles - 1
    return last // quarters * 4 + last % quarters - phase + 1


def written(path: Transaction, ready: int, *, quarters: int, cap: int, part: Part | str) -> int:
    """DDR cycles from the core's first word on offer to the last beat on DDR3's bus, at most.

    ``ready`` is the place in the period of the cycle in which the first packet can begin. For the
    derivation see `total`. Raises `NotCovered` for a part whose refreshes are too close.
    """
    p, parts, masters = part_named(part), path.path.requests_per_packet, path.competitors
    words = path.path.payload_flits // parts  # of a request
    least = 3 * (row_change(p) + refresh_delay(p)) + 2 * words
    if p.nREFI < least:
        raise NotCovered(f"{p.name}: nREFI must be at least {least}, for what a refresh delays to "
                         f"be over before the next, not {p.nREFI}")
    if 2 * p.nCCD_S > words:
        raise NotCovered(f"{p.name}: nCCD must be at most {words // 2}, half of the time in which "
                         f"a request comes, not {p.nCCD_S}")
    before = fill(nbytes=path.nbytes, requesters=path.requesters) + first_packet(
        requesters=path.requesters)
    cycles = [before + arrival + RECEIVED + words * number
              for arrival in arrivals(path, ready) for number in range(1, parts + 1)]
    if masters == 1:
        return p.nCWD + p.nBURST - 1 + max(
            _alone([place(cycle, phase, quarters) for cycle in cycles], phase, p)
            for phase in range(quarters))
    return ASKED - GRANTED + p.nCWD + p.nBURST + max(
        span(cycle, quarters) + _waited(path, number, cap, p)
        for number, cycle in enumerate(cycles))


def _alone(whole: list[int], phase: int, part: Part) -> int:
    """When the last request is written, if all are in DDR cycles ``whole``, with one refresh.

    Cycles count from 1, in which the network has cycle ``phase`` of those in a row.
    """
    change, aligned = row_change(part), math.gcd(part.nREFI, 4)
    latest = when = 0
    for left, cycle in zip(reversed(range(len(whole))), whole, strict=True):
        before, first = when, when == 0
        when = max(cycle + ASKED + REGISTERS + LOOKS, before + part.nCCD_S)
        early = (phase + when - 2) % aligned  # since a cycle in which a refresh may fall due
        late = max(when - early + part.nRP + part.nRCD, 0 if first else before + change)
        latest = max(latest, late + refresh_delay(part) + left * part.nCCD_S)
        when += part.nRCD * first
    return max(latest, when)


def _waited(path: Transaction, first: int, cap: int, part: Part) -> int:
    """Cycles from a grant that request ``first`` just missed to the last one's decision."""
    masters, queue = path.competitors, path.path.queue
    change, hit = row_change(part), part.nCCD_S
    row = 1 + (queue - 1) // (masters - 1)  # bursts of the transaction that follow each other
    if cap:
        row = max(1, min(row, cap + 2 - queue))
    left = path.packets * path.path.requests_per_packet - first
    alone = (left - 1) % row if first == 0 else 0  # the last one's place among those of a row
    bursts = left * masters + queue + 2 - alone * (masters - 1)
    hits = left - -(-left // row)
    cycles = change * bursts - (change - hit) * hits
    # between a refresh's due cycle and the last one's, of those that fall into these cycles
    between = change - (part.nCWD + part.nBURST + part.nWR + part.nRP + part.nRCD)

    def delayed(refreshes: int) -> int:
        return refreshes * refresh_delay(part) + min(refreshes, hits) * (change - hit)

    refreshes = 0
    while refreshes * part.nREFI <= (cycles + delayed(refreshes + 1) - refresh_delay(part)
                                     + between):
        refreshes += 1
    return cycles + delayed(refreshes)


def stages(path: Transaction, ready: int, *, quarters: int, cap: int,
           part: Part | str) -> dict[str, float]:
    """The share of each stage in `written`, in cycles of the network, from first to last.

    The last one, DDR3, has the rest: from the last packet's arrival to the last beat.
    """
    shares: dict[str, float] = {
        "fill": fill(nbytes=path.nbytes, requesters=path.requesters),
        "first_packet": first_packet(requesters=path.requesters),
        "flow": arrivals(path, ready)[-1]}
    whole = written(path, ready, quarters=quarters, cap=cap, part=part) * quarters / 4
    return {**shares, "dram": whole - sum(shares.values())}


@bound(formula="N_trans = 1: span(t_1 + t_2 + read + arrival + 66) + 6 + nCWD + nBURST + nRP + "
               "nRFC + nRCD, less 0 to 3; else max over requests i of span(t_1 + t_2 + read + "
               "arrival_i + 2 + 32 (1 or 2)) - 1 + nCWD + nBURST + W + r nRFC + min(r, hits) "
               "(t_conflict - nCCD), W = (m N_trans + n + 2) t_conflict - hits (t_conflict - "
               "nCCD), hits = m - ceil(m / (1 + h)), m = N - i, h = min(floor((n - 1) / "
               "(N_trans - 1)), cap + 1 - n), r the most with (r - 1) (nREFI - nRFC) <= W + "
               "min(r, hits) (t_conflict - nCCD)",
       source="this project, from memory-composition, V",
       environment=f"all requesters ask for the same bank; {WRITERS}")
def total(*, requesters: int, competitors: Competitors, nbytes: int, delta: int, window: Length,
          period: Period, quarters: int, cap: int, part: Part | str, opened: Opened = 0) -> int:
    """From the core's first word on offer to the last beat on DDR3's bus, both included.

    ``opened`` as of `flow`. In DDR cycles; what is inside of span is in cycles of the network. The
    other masters are those of the system: each asks in every cycle, and writes another row of the
    same bank every time. For other ones there is `composition_corrected.end_to_end`. The core may
    begin in any cycle.

    Derivation: a packet's words come out of the receiver one in a cycle, the last one 66 cycles
    after its last flit; a request is on offer to the front end one DDR cycle after its last word.

    Alone, a request finds the row open and everything idle: the one before it is over, as it came
    32 words earlier. It is on offer to the page controller 4 cycles after it was to the front end,
    on the pins 2 later, and its last beat nCWD + nBURST - 1 after that. A refresh is done when it
    falls due, each nREFI cycles once eight are owed, unless a request has begun to open its row. It
    delays the last request most if it falls due in the cycle in which that would be decided on:
    all banks are precharged then, REF comes nRP later, the row is opened nRFC after it, and the
    write is on the pins another nRCD later. (Refreshes fall due in cycles that are multiples of
    nREFI, and the network's cycles have fixed places among every four: where the two never meet so,
    the refresh begins 1 to 3 cycles before.) One that delays an earlier request delays the last one
    less: requests come 32 cycles apart or more, and those that wait leave nCCD apart.

    Else DDR3 writes another row after each burst, at worst, which makes bursts t_conflict = nWR +
    nRP + nRCD + nCWD + nBURST apart: 51, not the 54 of a read after a write (`row_change`, for
    parts with other rules that are longer). A request leaves the
    reorder core's queue in the cycle in which the one before is decided on, nCWD + nBURST cycles
    before that one's last beat; in the cycle after, the next one enters the queue, and the front
    end grants: the others see to it that the queue is full. Let request i be the first since when
    some of the transaction's always wait for the front end. At worst it is on offer a cycle after a
    grant, so that the next one is t_conflict - 1 later. Round robin grants each N_trans-th time,
    and the m = N - i requests from this one on within m N_trans grants. The last one enters the
    queue at the next departure, after n - 1 others. None that comes later goes before it: their
    rows are not open, unless they are the transaction's, whose are as open as its own. So it
    departs n departures later, and is decided on at the one after that.

    A request of the transaction that follows another one finds its row open, and takes nCCD.
    The h-th that is granted after one that had to open the row enters h N_trans departures after
    it, and follows, if it is there in time, n + h - 1 departures after it; but the first of the
    others after that one, which has then seen n + h - 2 departures, goes first if these are
    ``cap``. So at least h follow, and of m at most one in 1 + h has to open the row. If i is 0,
    that one is the first, and so each (1 + h)-th; the last one, when it follows a others, departs
    a (N_trans - 1) departures earlier.

    A refresh changes no order: the request on offer to the page controller is to open its row
    again, and those of that row that wait are as good as before. It delays one burst, by nRFC if
    that had to open a row, since its precharge is that of all banks; else by t_conflict - nCCD
    more. Of r refreshes that delay bursts between the missed grant and the last decision, the first
    one was due after the grant's burst had begun to open its row, nRP + nRCD before its decision;
    the last one nRP + nRFC + nRCD before the last decision at least. So (r - 1) nREFI is W, and all
    that they add but nRFC, at most. (Eq. 2 of the paper has r = ceil(W / (nREFI - nRFC)) instead.)
    """
    path = transaction(requesters=requesters, competitors=competitors, nbytes=nbytes, delta=delta,
                       window=window, period=period, quarters=quarters)
    return max(written(path, ready, quarters=quarters, cap=cap, part=part)
               for ready in places(path, opened=opened))
