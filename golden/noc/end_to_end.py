"""Bounds of the end-to-end write, as the hardware does it: `composition_corrected`, and registers.

DDR3 has a cycle of 1.25 ns; network and local memory have a cycle in ``quarters`` of every four of
these: 600 MHz with three, as in the paper. Stages of network and local memory are in their cycles,
the whole is in DDR cycles: `span` is the one place where cycles of one become cycles of the other.
"""

import functools

from cyclebound.golden.bound import NotCovered, bound, check_count
from cyclebound.golden.noc.composition import Path, Transaction, row_conflict
from cyclebound.golden.noc.end_to_end_data import AHEAD, WORD_BYTES, word

__all__ = [
    "DDR_MHZ",
    "arrivals",
    "contents",
    "fill",
    "first_packet",
    "flow",
    "span",
    "total",
    "transaction",
]

DDR_MHZ = 800
_RECEIVED = 66   # from a packet's last flit to its 64th word out of the receiver
_ASKED = 1       # until the request is on offer to the front end
_REGISTERS = 4   # from the front end's grant to the page controller
_EXTRA = 2       # requests in registers that the paper does not have: front end, reorder core


def contents(nbytes: int) -> bytes:
    """What memory must hold in the end."""
    words = nbytes // WORD_BYTES
    return b"".join(word(index, words).to_bytes(WORD_BYTES, "little") for index in range(words))


def transaction(*, requesters: int, competitors: int, nbytes: int = 4096, delta: int = 5,
                window: int = 512, period: int = 1024, quarters: int = 3) -> Transaction:
    """The write over a path with these clocks."""
    mhz = DDR_MHZ * quarters // 4
    return Transaction(Path(memory_mhz=mhz, noc_mhz=mhz, router_cycles=delta, window=window,
                            period=period), nbytes, requesters, competitors)


def span(cycles: int, quarters: int) -> int:
    """DDR cycles from the first to the last of so many cycles of the network, at most.

    After each ``quarters`` of them, the network stands still for the rest of four; at worst the
    first such rest comes after the first cycle.
    """
    return cycles + -(-(cycles - 1) // quarters) * (4 - quarters)


@bound(formula="ceil(s_trans / w_mem) * N_req + 1", source="memory-composition, V.A.1 (t_1 + t_2)")
def fill(*, nbytes: int, requesters: int) -> int:
    """From the core's first word on offer until the DMA has been told, both included."""
    check_count("requesters", requesters)
    return -(-nbytes // WORD_BYTES) * requesters + 1


@bound(formula="max(32 N_req + 4, 69)", source="this project")
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
    room for the packet that leaves and the one behind it. ``ready`` is that cycle's place in the
    period, 0 where the window opens.

    Derivation: a packet is read behind the one before, 32 N_req cycles (64 at least, since the
    interface takes a flit in a cycle). If the interface was full, its next word goes in two cycles
    after the last packet but one began, when that one's first word leaves; the DMA then holds four
    words, and asks for the fifth one two cycles later. 28 words take 28 N_req cycles, the last one
    goes in three later, and the packet can begin two cycles behind it: 28 N_req + 8 in all. (Or 67,
    if it is the interface's flit in a cycle that counts.) It begins when it can, if the one before
    is out, and it still arrives in the window.
    """
    crossing = int(path.path.packet_crossing.amount)
    period, window = path.path.period, path.path.window
    words = path.path.payload_flits * path.path.flit_bytes // path.path.word_bytes
    behind = max(words * path.requesters, path.path.payload_flits)
    after_full = max((words - AHEAD) * path.requesters + 8, path.path.payload_flits + 3)
    can, begins = ready, [ready]  # when this packet can begin; when each begins
    for number in range(path.packets):
        if number:
            can += behind
            if number > 1:
                can = max(can, begins[number - 2] + after_full)
            begins.append(max(can, begins[-1] + path.path.packet_flits))
        if begins[-1] % period + crossing > window:
            begins[-1] += period - begins[-1] % period
    return [begin + crossing - ready for begin in begins]


@functools.cache
def _late(requesters: int, nbytes: int, delta: int, window: int, period: int) -> list[int]:
    """By packet, the latest arrival, whenever in the period the first one can begin."""
    path = transaction(requesters=requesters, competitors=1, nbytes=nbytes, delta=delta,
                       window=window, period=period)
    return [max(each) for each in zip(*(arrivals(path, ready) for ready in range(period)),
                                      strict=True)]


@bound(formula="max over the period of the last packet's arrival",
       source="this project, golden/noc/end_to_end.py")
def flow(*, requesters: int, nbytes: int, delta: int, window: int, period: int) -> int:
    """From the cycle in which the first packet can begin to the last one's last flit.

    Derivation: `arrivals`, for each place in the period in which the first packet can begin.
    """
    return _late(requesters, nbytes, delta, window, period)[-1]


@bound(formula="max over k of (span(t_1 + t_2 + read + arrival_k + 66) + 5 + "
               "((N_pk - k) N_req^pk N_trans + cap + n) t_req)",
       source="this project, from memory-composition, V")
def total(*, requesters: int, competitors: int, nbytes: int, delta: int, window: int, period: int,
          quarters: int, cap: int) -> int:
    """From the core's first word on offer to the last beat on DDR3's bus, both included.

    In DDR cycles, and so is t_req = 54; what is inside of span is in cycles of the network.

    Derivation: as in `composition_corrected.end_to_end`, with what the hardware has besides. A
    packet is kept until it is whole, so that its 64th word comes 66 cycles behind its last flit.
    Its last request is on offer in the next; four more cycles take it through front end and
    reorder core. Of requests, the front end's register holds one that the paper's has not, and
    another is executed while the reorder core, of n entries, chooses: to the N_round grants and
    the cap + n - 2 others of `reorder_bounds.residence` come two. Of a busy period that
    begins with packet k, each request's data end t_req after those of the one before at most.
    No refresh falls into it: eight may be postponed.
    """
    path = transaction(requesters=requesters, competitors=competitors, nbytes=nbytes, delta=delta,
                       window=window, period=period, quarters=quarters)
    if cap < 1:
        raise NotCovered(f"cap must be at least 1, not {cap}: without one, there is no bound")
    others = cap + path.path.queue - 2
    request = int(row_conflict().amount)
    before = (fill(nbytes=nbytes, requesters=requesters) + first_packet(requesters=requesters)
              + _RECEIVED)
    late = _late(requesters, nbytes, delta, window, period)
    return _ASKED + _REGISTERS + max(
        span(before + arrival, quarters) + request * (others + _EXTRA + path.rounds(
            (path.packets - k) * path.path.requests_per_packet))
        for k, arrival in enumerate(late))
