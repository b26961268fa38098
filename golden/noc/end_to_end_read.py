"""Bounds of the end-to-end read: DDR3, network, and the bank that it is written to.

Units as in `golden.noc.end_to_end`: network and local memory in their cycles, the whole in DDR
cycles. The paper has no formulas for a read (its Example 2 is "fairly equivalent" to a write).
"""

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclebound.golden.bound import NotCovered, Range, bound, check_count
from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.reorder_bounds import residence
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.noc.bounds import Opened
from cyclebound.golden.noc.composition import Path
from cyclebound.golden.noc.end_to_end import (
    DDR_MHZ,
    FIRST_OPEN,
    GRANTED,
    LOOKS,
    REGISTERS,
    WRITERS,
    Competitors,
    Length,
    Period,
)
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.golden.noc.packet import PAYLOAD_FLITS

if TYPE_CHECKING:  # imported by what uses it: who loads a block's page needs none
    import numpy as np

__all__ = ["latest", "longest_window", "pair_cycles", "path_of", "read_data", "read_flow",
           "read_queue", "read_stages", "read_stored", "read_total", "receiver_keeps_up"]

Packets = Annotated[int, Range(2, says="packets that the receiver has room for")]
_ASKED = 1      # from a read's descriptor until its first burst is on offer to the front end
_KEPT = 2       # from a burst's last beat until its first word is on offer to the network interface
_HEADER = 2     # from a packet's last word to its header on offer
_RECEIVED = 3   # from a packet's last flit until its first word comes out of the receiver
_PAIRED = 2     # from there until two words of a flit, one word of the bank, ask for the bank
_QUEUE = 8      # places in the reorder core


def path_of(*, delta: int, window: int, period: int, quarters: int,
            payload: int = PAYLOAD_FLITS) -> Path:
    """The four routers, with these clocks, and packets of up to ``payload`` words."""
    mhz = DDR_MHZ * quarters // 4
    return Path(memory_mhz=mhz, noc_mhz=mhz, router_cycles=delta, window=window, period=period,
                payload_flits=payload)


def _network(cycle: int, quarters: int) -> int:
    """The number of the network's first cycle from DDR cycle ``cycle`` on."""
    return cycle // 4 * quarters + min(cycle % 4, quarters)


def _ddr(number: int, quarters: int) -> int:
    """The DDR cycle of the network's cycle of that number."""
    return number // quarters * 4 + number % quarters


# DDR3

def _read_change(part: Part) -> int:
    """From a read to the next read or write, of another row of the same bank, at most."""
    opened = max(part.nRTP, part.nRAS - part.nRCD, part.nCCD_S,
                 part.nCAS + part.nBURST + max(2, 1 + part.nWPRE) - part.nCWD)
    return max(opened + part.nRP + part.nRCD, part.nRC, part.nRRD_S)


def _alone(bursts: int, phase: int, met: int | None, part: Part, *, row: str = "other"
           ) -> list[int]:
    """When each burst is on the pins, in cycles after the descriptor's, with DDR3 for itself.

    The descriptor's cycle is number ``phase`` of four from reset; a refresh falls due when burst
    ``met`` is looked at (for a later burst it delays less). Another ``row`` of the bank is open, or
    ``"none"``, or ``"its"``.
    """
    aligned, hit = math.gcd(part.nREFI, 4), max(part.nCCD_S, part.nBURST)
    precharge = _ASKED + REGISTERS + LOOKS

    def early(pins: int) -> int:
        """Cycles by which a refresh is due before what could be on the pins in this one."""
        return (phase + pins - 1) % aligned

    first = precharge + part.nRP * (row == "other")  # the activate
    if met == 0:
        first = max(first, precharge - early(precharge) + part.nRP + refresh_delay(part))
    pins = [first + part.nRCD]
    if row == "its":
        first, pins = precharge - part.nRC, [precharge]
    for number in range(1, bursts):
        pins.append(pins[-1] + hit)
        if number == met:
            closes = max(pins[-2] + part.nRTP, first + part.nRAS, pins[-1] - early(pins[-1]))
            pins[-1] = (max(closes + part.nRP, first + part.nRC) + refresh_delay(part)
                        + part.nRCD)
    return pins


def _among(bursts: int, competitors: int, cap: int, part: Part) -> list[int]:
    """When each burst is on the pins, in cycles after the descriptor's, among other masters."""
    change, rest = row_change(part), _read_change(part)
    turned = part.nCWD + part.nBURST + part.nWTR_S  # from a write to a read
    slowest, stays = max(change, rest, turned), residence(entries=_QUEUE, cap=cap)
    # instead of a read that has waited for the turn, a refresh closes its row
    refresh = refresh_delay(part) + max(0, turned + part.nRP + part.nRCD - slowest)
    if part.nREFI <= refresh:
        raise NotCovered(f"{part.name}: nREFI must be more than the {refresh} cycles by which a "
                         f"refresh delays a read, not {part.nREFI}")
    pins = []
    for number in range(bursts):
        issues = (number + 1) * competitors + stays + 2
        cycles = slowest * issues - number * (slowest - rest)
        between = slowest - (part.nCWD + part.nBURST + part.nWR + part.nRP + part.nRCD)
        refreshes = 0
        while refreshes * part.nREFI <= cycles + refreshes * refresh + between:
            refreshes += 1
        pins.append(_ASKED - GRANTED + cycles + refreshes * refresh + 1)
    return pins


def _pins(bursts: int, competitors: int, cap: int, part: Part,
          rows: tuple[str, ...] = ()) -> Iterator[tuple[int, list[int]]]:
    """`_alone` or `_among`: by phase, all courses of which one may be the longest; and those that
    begin with these ``rows``, which are over sooner.

    Raises `NotCovered` for a part of which two refreshes may fall into a read.
    """
    for phase in range(4):
        if competitors > 1:
            yield phase, _among(bursts, competitors, cap, part)
            continue
        courses = [_alone(bursts, phase, met, part) for met in range(bursts)]
        courses += [_alone(bursts, phase, met, part, row=row) for row in rows
                    for met in (None, *range(1, bursts))]
        longest = max(pins[-1] for pins in courses) + 1
        if part.nREFI < longest:
            raise NotCovered(f"{part.name}: nREFI must be at least {longest}, so that one refresh "
                             f"only meets a read, not {part.nREFI}")
        yield from ((phase, pins) for pins in courses)


def _bursts(nbytes: int) -> int:
    check_count("bytes", nbytes)
    return -(-nbytes // REQUEST_BYTES)


@bound(formula="N_trans = 1: 7 + nRP + nRCD + max(nRTP, nRAS - nRCD) + nRP + nRFC + nRCD + "
               "(N - 2) nCCD + nCAS + nBURST; else (N N_trans + cap + n + 1) t_conflict - "
               "(N - 1) (t_conflict - t_read) + nCAS + nBURST + r nRFC",
       source="this project, from memory-composition, IV.D",
       environment=f"the DMA is idle before; {WRITERS}")
def read_data(*, competitors: Competitors, nbytes: int, cap: int, part: Part | str) -> int:
    """From a read's descriptor to the last beat of its last burst on DDR3's bus, both included.

    In DDR cycles (a and b of Example 2). Raises `NotCovered` with others where the reorder core has
    no age cap, and for a part of which two refreshes may fall into a read with DDR3 for itself, or
    one delays a read among others for longer than it comes after another.

    Derivation: the first burst is on offer to the front end a cycle after the descriptor, to the
    page controller 4 later, and its first command on the pins 2 after that. Alone, DDR3 has been
    idle for as long as the DMA, so that every bank may be precharged, but another row of the bank
    may be open: precharge, nRP, activate, nRCD, read. The others are on offer since, and follow
    nCCD apart. One refresh may fall due: in the cycle in which the precharge is decided on it adds
    nRFC (a few cycles less where refreshes and the descriptor never meet so); after the first
    read it waits until the row may be closed, nRAS after its activate, and then takes nRP + nRFC +
    nRCD. After a later burst it waits no longer, and delays fewer.

    With others, the N bursts are all on offer from the first on. Of the missed grant, the turns and
    the queue `golden.noc.end_to_end.total` says the same for writes; but a read may be overtaken
    there by writes that come later, since the reorder core prefers the direction of what left
    before (rule 4): it stays for as long as `residence` says, cap + n - 1 issues, its own included,
    in place of n. Each issue takes t_conflict at most, or from a write to a read nCWD + nBURST +
    nWTR, where that is more (of a part with nWTR above nWR; a refresh in the cycle of such a read
    closes its row, and nRP and nRCD follow nRFC); t_read after each of the N - 1 own reads
    before it, whether the next one finds that row open or another has to be opened. A refresh adds
    nRFC to one of these, and r of them are due in W + r nRFC cycles if (r - 1) nREFI is at most
    W + (r - 1) nRFC.
    """
    p, bursts = part_named(part), _bursts(nbytes)
    last = max(pins[-1] for _, pins in _pins(bursts, competitors, cap, p))
    return last + p.nCAS + p.nBURST


def read_queue(*, nbytes: int, quarters: int, part: Part | str) -> int:
    """Bursts that have come to the I/O tile's DMA and have words left to pass on, at most.

    The queue of Figure 8, of a read: DDR3 brings data before the window lets packets out. The paper
    assumes that it is large enough. ``quarters``: cycles of every four in which the network
    advances. The DMA and the network interface are idle before; other masters may do anything.

    Derivation: bursts come in their order, nCCD apart or more. The interface takes the words of the
    first four, two packets, one in a cycle from `_KEPT` cycles after the first burst on, whether
    the window is open or not. So when burst i comes, at least as many of the four have gone as take
    32 cycles of the network each in the i nCCD cycles since the first. The later bursts come, the
    more have gone: so the queue is deepest where they come as soon as they may. From the fifth on,
    none need have gone.
    """
    p, words = part_named(part), REQUEST_BYTES // 4
    depth = 0
    for burst in range(_bursts(nbytes)):
        cycles = max(0, burst * max(p.nCCD_S, p.nBURST) - _KEPT)
        # at least so many of them are the network's, wherever they begin
        passed = cycles // 4 * quarters + max(0, cycles % 4 - (4 - quarters))
        depth = max(depth, burst + 1 - min(passed // words, 4))
    return depth


# The network, and local memory

def pair_cycles(requesters: int) -> int:
    """Cycles of the network in which a word of the bank is written, if words come without a pause.

    Two words of a flit come in two cycles at least; the bank takes a write within N_req (Eq. 1).
    """
    return max(2, requesters)


def _after(arrived: "np.ndarray", before: "np.ndarray | None", requesters: int,
           pairs: int) -> "np.ndarray":
    """When a packet's last word of the bank is granted, if its last flit was taken then, and the
    last word of the packet ``before`` it granted then."""
    import numpy as np

    first = arrived + _RECEIVED + _PAIRED + requesters - 1
    if before is not None:
        first = np.maximum(first, before + requesters)
    return first + (pairs - 1) * pair_cycles(requesters)


def _in_a_row(path: Path, packets: int) -> int:
    """Packets of full size that cross in one window."""
    if path.window == path.period:
        return packets
    return min(packets, path.packets_by_network)


def _lags(path: Path, packets: int, requesters: int) -> list[int]:
    """Of packets that follow each other without a gap: cycles from the last flit of each to the
    grant of its last word."""
    import numpy as np

    pairs = path.payload_flits * path.flit_bytes // WORD_BYTES
    lags: list[int] = []
    stored: np.ndarray | None = None
    for number in range(packets):
        arrived = np.array(number * path.packet_flits)
        stored = _after(arrived, stored, requesters, pairs)
        lags.append(int(stored - arrived))
    return lags


def receiver_keeps_up(*, requesters: int, packets: int, delta: int, window: int,
                      period: int, payload: int = PAYLOAD_FLITS) -> bool:
    """Whether the receiver never lets its link wait, whatever arrives in such windows.

    ``packets`` of ``payload`` words are those for which it has room. The rule: with the bank's
    N_req cycles a word, (1) of the packets of one window, no flit comes before there is room for
    it; (2) all are in the bank before the next window brings its first word. Then each window finds
    the receiver empty.

    A word leaves the receiver when the one before it of its flit's pair is taken, N_req cycles
    before the grant of the word of the bank that is last, at least, and a cycle more; the flit that
    takes its place may come in the cycle after.
    """
    path = path_of(delta=delta, window=window, period=period, quarters=4, payload=payload)
    if window == period and pair_cycles(requesters) > 2:
        return False
    many, rest = packets + 1, 0
    if window < period:
        rest = (window - int(path.packet_crossing.amount)) % path.packet_flits
        burst = path.header_flits + payload // path.requests_per_packet
        many = path.packets_by_network + (rest >= burst)
        rest *= rest < burst
    lags = _lags(path, many, requesters)
    ends = [number * path.packet_flits + lag for number, lag in enumerate(lags)]
    for number in range(packets, len(ends)):
        begins = number * path.packet_flits - path.payload_flits  # its first entry
        if ends[number - packets] - requesters >= begins:
            return False
    begins = period - path.payload_flits  # of the next window's first packet
    return window == period or ends[-1] + rest - requesters < begins


def longest_window(*, requesters: int, packets: int, delta: int, period: int,
                   most: int) -> int:
    """The longest window, up to ``most``, with which the receiver keeps up: of whole packets.

    Raises `NotCovered` where not even one packet a period may come.
    """
    path = path_of(delta=delta, window=period, period=period, quarters=4)
    crossing, flits = int(path.packet_crossing.amount), path.packet_flits
    for window in (most, *range(most - (most - crossing) % flits, crossing - 1, -flits)):
        if crossing <= window <= period and receiver_keeps_up(
                requesters=requesters, packets=packets, delta=delta, window=window, period=period):
            return window
    raise NotCovered(f"{requesters} requesters write a packet in {32 * pair_cycles(requesters)} "
                     f"cycles, which period {period} does not leave")


class _Course(NamedTuple):
    """When packets can begin, have arrived, are in the bank: cycles of the network from the one
    whose number is the descriptor's phase's.

    Arrays of int64 of shape (packets, shifts): one course for each ``shift`` of the window, which
    is open in cycles whose number plus ``shift`` is less than its length, modulo the period; and
    not before the first window after reset.
    """

    ready: "np.ndarray"
    arrived: "np.ndarray"
    stored: "np.ndarray"


def _course(path: Path, words: list[int], requesters: int, opened: int) -> _Course:
    """The packets, whose words come in these cycles (a burst's first, the others one in a cycle).

    Derivation: the interface takes a word in a cycle, and has room for two packets: word k of a
    packet goes in two cycles, and k, after the header of the last packet but one was on the link,
    when that one's k-th word has left. A packet can begin two cycles after its last word, when the
    packet before is out, and when it fits.
    """
    import numpy as np

    crossing = int(path.packet_crossing.amount)
    length = REQUEST_BYTES // path.flit_bytes  # words of a burst
    pairs = path.payload_flits * path.flit_bytes // WORD_BYTES
    shifts, first_opens = np.arange(path.period), np.zeros(path.period, int)
    if not opened:  # the descriptor may come right after reset, the window in any later cycle
        early = np.arange(path.period + FIRST_OPEN)
        shifts = np.concatenate((shifts, -early))
        first_opens = np.concatenate((first_opens, early))
    ready: list[np.ndarray] = []
    begins: list[np.ndarray] = []
    arrived: list[np.ndarray] = []
    stored: list[np.ndarray] = []
    last = np.full(len(shifts), -1)
    for number in range(0, len(words), path.requests_per_packet):
        for place, comes in enumerate(words[number:number + path.requests_per_packet]):
            first = np.maximum(comes, last + 1)
            if len(begins) > 1:
                first = np.maximum(first, begins[-2] + 2 + place * length)
            last = first + length - 1
        can = last + _HEADER
        ready.append(can)
        can = np.maximum(can, first_opens)
        if begins:
            can = np.maximum(can, begins[-1] + path.packet_flits)
        if path.window < path.period:
            within = (can + shifts) % path.period
            can = np.where(within + crossing > path.window, can + path.period - within, can)
        begins.append(can)
        arrived.append(can + crossing - 1)
        stored.append(_after(arrived[-1], stored[-1] if stored else None, requesters, pairs))
    return _Course(np.array(ready), np.array(arrived), np.array(stored))


def _check(requesters: int, packets: int, path: Path, nbytes: int) -> None:
    check_count("requesters", requesters)
    if nbytes % path.packet_bytes:
        raise NotCovered(f"bytes must be whole packets of {path.packet_bytes}, not {nbytes}")
    if not receiver_keeps_up(requesters=requesters, packets=packets, delta=path.router_cycles,
                             window=path.window, period=path.period):
        raise NotCovered(
            f"window must let a receiver with room for {packets} packets keep up with "
            f"{requesters} requesters of its bank: `longest_window`, not {path.window} of "
            f"{path.period}")


@functools.cache
def _courses(requesters: int, competitors: int, nbytes: int, delta: int, window: int, period: int,
             quarters: int, cap: int, part: Part, opened: int,
             rows: tuple[str, ...]) -> tuple[tuple[int, _Course], ...]:
    """All courses of which one may be the longest, by the descriptor's phase."""
    path = path_of(delta=delta, window=window, period=period, quarters=quarters)
    seen, courses = set(), []
    for phase, pins in _pins(_bursts(nbytes), competitors, cap, part, rows):
        words = [_network(phase + cycle + part.nCAS + part.nBURST - 1 + _KEPT, quarters)
                 for cycle in pins]
        for number in range(1, len(words)):  # a word in a cycle: so none is taken before
            words[number] = max(words[number], words[number - 1] + REQUEST_BYTES // path.flit_bytes)
        if (key := (phase, *words)) not in seen:
            seen.add(key)
            courses.append((phase, _course(path, words, requesters, opened)))
    return tuple(courses)


def _all_courses(*, requesters: int, competitors: int, nbytes: int, delta: int, window: int,
                 period: int, quarters: int, packets: int, cap: int, part: Part | str,
                 opened: int, rows: tuple[str, ...] = ()) -> tuple[tuple[int, _Course], ...]:
    path = path_of(delta=delta, window=window, period=period, quarters=quarters)
    _check(requesters, packets, path, nbytes)
    return _courses(requesters, competitors, nbytes, delta, window, period, quarters, cap,
                    part_named(part), opened, rows)


@bound(formula="N_trans = 1: max over the places in the period and refreshes of the last packet's "
               "arrival",
       source="this project, golden/noc/end_to_end_read.py",
       environment="the first packet may be ready in any cycle of the table's period; other flows "
                   "send in their own windows")
def read_flow(*, competitors: Competitors, nbytes: int, delta: int, window: Length, period: Period,
              quarters: int, packets: Packets, requesters: int, cap: int, part: Part | str,
              opened: Opened = 0) -> int:
    """From the cycle in which the first packet can begin to the last one's last flit (c).

    ``opened`` is 1 if it is known that a window has opened since reset when the descriptor comes.
    In cycles of the network, with DDR3 for itself. Raises `NotCovered` with other masters (what
    comes between the first packet and the last is `read_data`'s then), for transactions that are
    not whole packets, and for windows with which the receiver does not keep up.

    Derivation: `_course`, for each place and each burst that a refresh may meet. The sooner the
    first packet is there, the longer it may wait for the first window: so whatever row is open.
    """
    if competitors != 1:
        raise NotCovered(f"competitors must be 1, not {competitors}")
    return max(int((course.arrived[-1] - course.ready[0]).max()) + 1 for _, course in _all_courses(
        requesters=requesters, competitors=1, nbytes=nbytes, delta=delta, window=window,
        period=period, quarters=quarters, packets=packets, cap=cap, part=part, opened=opened,
        rows=("none", "its")))


@bound(formula="4 + N_req + 31 max(2, N_req) after a packet by itself; after q in a row, with "
               "N_req > 2, the backlog of those before it",
       source="this project, golden/noc/end_to_end_read.py",
       environment="the other N_req - 1 requesters may ask for the same bank in any cycle")
def read_stored(*, requesters: int, nbytes: int, delta: int, window: Length, period: Period,
                packets: Packets) -> int:
    """From the cycle after the last packet's last flit to the grant of its last word (d).

    In cycles of the network. Raises `NotCovered` as `read_flow` does.

    Derivation: the first word comes out of the receiver 3 cycles after the packet's last flit, the
    second one a cycle later, and the bank's word is on offer in the next; it is granted within
    N_req cycles. The next pair is collected meanwhile, and on offer in the cycle after that grant.
    Of packets that follow each other without a gap, each begins where the one before has ended, if
    that is later.
    """
    path = path_of(delta=delta, window=window, period=period, quarters=4)
    _check(requesters, packets, path, nbytes)
    return max(_lags(path, _in_a_row(path, nbytes // path.packet_bytes), requesters))


@bound(formula="max over the places in the period, the descriptor's phase and refreshes of the "
               "last word's grant",
       source="this project, golden/noc/end_to_end_read.py",
       environment=f"all requesters ask for the same bank; the DMA is idle before; {WRITERS}")
def read_total(*, requesters: int, competitors: Competitors, nbytes: int, delta: int,
               window: Length, period: Period, quarters: int, packets: Packets, cap: int,
               part: Part | str, opened: Opened = 0) -> int:
    """From a read's descriptor to the grant of its last word in the bank, both included.

    ``opened`` as of `read_flow`. In DDR cycles. Raises `NotCovered` as `read_data` and `read_flow`
    do.

    Derivation: `read_data` for each burst, `_course`, and `read_stored` after it. Each of these is
    never earlier for a later one before it, so the latest bursts are the worst.
    """
    return max(_ddr(int(course.stored[-1].max()), quarters) - phase + 1
               for phase, course in _all_courses(
        requesters=requesters, competitors=competitors, nbytes=nbytes, delta=delta, window=window,
        period=period, quarters=quarters, packets=packets, cap=cap, part=part, opened=opened))


def read_stages(*, quarters: int, requesters: int, competitors: int, nbytes: int, delta: int,
                window: int, period: int, packets: int, cap: int, part: Part | str
                ) -> dict[str, float]:
    """The share of each stage in `read_total`, in cycles of the network, from first to last: until
    the last beat on DDR3's bus (a, b), the last flit's arrival (c, which has the rest), and the
    last word's grant (d)."""
    of = {"requesters": requesters, "nbytes": nbytes}
    data = read_data(competitors=competitors, nbytes=nbytes, cap=cap, part=part) * quarters / 4
    stored = read_stored(**of, delta=delta, window=window, period=period, packets=packets)
    whole = read_total(**of, competitors=competitors, delta=delta, window=window, period=period,
                       quarters=quarters, packets=packets, cap=cap, part=part) * quarters / 4
    return {"data": data, "network": whole - data - stored, "stored": stored}


def latest(*, requesters: int, competitors: int, nbytes: int, delta: int, window: int, period: int,
           quarters: int, packets: int, cap: int, part: Part | str) -> dict[int, int]:
    """By the descriptor's phase, a shift of the window with which a read may take longest: added to
    the number of a cycle of the network, it gives the place in the period, if ``phase`` is the
    number of the descriptor's cycle. Raises `NotCovered` as `read_total` does.
    """
    courses = _all_courses(
        requesters=requesters, competitors=competitors, nbytes=nbytes, delta=delta, window=window,
        period=period, quarters=quarters, packets=packets, cap=cap, part=part, opened=1)
    longest: dict[int, tuple[int, int]] = {}  # by phase
    for phase, course in courses:
        shift = int(course.stored[-1].argmax())
        took = _ddr(int(course.stored[-1, shift]), quarters) - phase + 1
        longest[phase] = max(longest.get(phase, (0, 0)), (took, shift))
    return {phase: shift for phase, (_, shift) in longest.items()}
