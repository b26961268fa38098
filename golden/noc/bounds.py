"""Worst-case formulas of the networks on chip."""

import functools
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, prediction
from cyclebound.golden.noc.injection import begins, packet_sizes
from cyclebound.golden.noc.packet import HEADER_FLITS
from cyclebound.golden.noc.patterns import crowd as crowd_of
from cyclebound.golden.noc.patterns import pattern as pattern_of
from cyclebound.golden.noc.routes import Mesh, xy_route
from cyclebound.golden.noc.traversal import Stream, Traversal
from cyclebound.golden.noc.traversal_alike import AlikeTraversal

__all__ = ["crowd_traversal", "first_header", "injection", "packet_hop", "reception",
           "round_robin_wait", "t_noc", "traversal", "traversal_heads", "window_wait"]

Delta = Annotated[int, Range(1, says="delta_R, latency of a router in cycles")]
Flits = Annotated[int, Range(1, says="length of the packet, in flits")]
Side = Annotated[int, Range(1, says="rows, or columns, of the mesh")]
Depth = Annotated[int, Range(1, says="flits that a router's input holds")]
Routers = Annotated[int, Range(1, says="routers on the path, the first and the last included")]

Words = Annotated[int, Range(1, says="length of the transaction, in words")]
Payload = Annotated[int, Range(1, says="words in the longest packet")]
Period = Annotated[int, Range(1, says="period of the TDMA table, in cycles")]
Length = Annotated[int, Range(1, says="length of the window, in cycles")]
Crossing = Annotated[int, Range(0, says="cycles of a window that a packet takes beyond its flits")]
Offset = Annotated[int, Range(0, says="first cycle of the window in the period")]
Opened = Annotated[int, Range(0, 1, says="1 if it is known that a window has opened since reset "
                                         "when the first packet is ready")]

_UNDISTURBED = ("the transaction may come in any cycle in which the interface does nothing else; "
                "its words are offered, and flits taken, without a pause")

_FIRST_OPEN = 2   # cycles after reset, and the offset, in which the first window opens
_READ_AHEAD = 5  # cycles from a transaction, and one a word, until its first packet is ready


@bound(formula="N_req", source="memory-composition, III.A (round robin)",
       environment="the other requesters may ask in any cycle, a request stays until it is served, "
                   "and grants may be accepted in any cycle")
def round_robin_wait(*, requesters: Annotated[int, Range(1, says="requesters that share the "
                                                                 "arbiter")]) -> int:
    """Accepted grants from a request up to and including its own.

    Counted in grants: with a grant accepted in every cycle these are cycles, from the first cycle
    of the request to the cycle of its grant, both included. Each of the other N_req - 1
    requesters is served at most once before: after its turn it comes after the one that waits.
    """
    return requesters


@prediction(formula="N_R * (delta_R + 1) + N_flits", source="memory-composition, V.A.2 (t_NoC)")
def t_noc(*, delta: Delta, flits: Flits, routers: Routers) -> int:
    """Crossing of ``flits`` flits over ``routers`` routers, without other traffic, in NoC cycles.

    Counted from the cycle in which the first router takes the header to the cycle in which the last
    one's output delivers the last flit, both included, with the flits offered back to back and
    outputs that are ready. The paper's 1 in (delta_R + 1) is the cycle on the link, which begins in
    the output register of a router.
    """
    return routers * (delta + 1) + flits


@bound(formula="delta_R + 1 + N_flits + (N_req - 1) * F_max", source="this project",
       environment="the other inputs for the same output may offer packets of up to F_max flits in "
                   "any cycle, the flits of each back to back; the output is always ready")
def packet_hop(*, delta: Delta, flits: Flits,
               contenders: Annotated[int, Range(1, says="inputs that use the output, this one "
                                                        "among them")],
               rival_flits: Annotated[int, Range(1, says="longest packet of the others, in flits")]
               ) -> int:
    """A packet's path through one router against ``contenders`` - 1 inputs at its output.

    Counted to the cycle in which the last flit leaves, from the cycle in which the header is taken,
    or from ``delta`` cycles before its predecessor's last flit leaves the router, whichever is
    later: both are ``delta`` cycles before it can be the head of its input. Both included; outputs
    are ready, and flits are offered back to back.

    Derivation: the header is the head ``delta`` cycles later and asks from then on. The output
    is round robin among packets and never idle while there is a request, so that each of the other
    inputs has one packet before it at most: the one in progress counts as its input's. They take
    ``rival_flits`` cycles each if their flits come without gaps, and one packet follows another
    without a gap. Then the header moves into the output's register, 1, and its flits leave one in
    each cycle.
    """
    return t_noc(delta=delta, flits=flits, routers=1) + (contenders - 1) * rival_flits


@functools.cache
def _traversal(rows: int, columns: int, delta: int, depth: int, flits: int, pattern: int,
               hot: int) -> tuple[Traversal, AlikeTraversal]:
    mesh = Mesh(rows, columns)
    routes = {str(source): xy_route(mesh, source, destination) for source, destination in
              pattern_of(mesh, pattern, divmod(hot, columns)).items()}
    streams = {source: Stream(route, flits) for source, route in routes.items()}
    return (Traversal(mesh, streams, delta=delta, depth=depth),
            AlikeTraversal(mesh, routes, flits=flits, delta=delta, depth=depth))


@bound(formula="the lesser of two recursions over the channels",
       source="this project, golden/noc/traversal.py and traversal_alike.py",
       environment="every tile of the pattern may begin a packet of that size in any cycle, and "
                   "offers its flits back to back; receivers are always ready")
def traversal(*, rows: Side, columns: Side, delta: Delta, depth: Depth, flits: Flits,
              pattern: Annotated[int, Range(0, says="number of the pattern of traffic")],
              source: Annotated[int, Range(0, says="number of the tile that sends")],
              hot: Annotated[int, Range(0, says="number of a hotspot's tile")] = 0) -> int:
    """A packet's path through a mesh in which all tiles send packets of that size by XY routes.

    Counted from the cycle in which its source's router takes the header to the cycle in which the
    last flit is delivered, both included. Receivers are ready; senders may begin packets whenever
    they like, and offer the flits of each without a pause. ``pattern`` is a number of
    `golden.noc.patterns.pattern`, ``source`` and ``hot`` the numbers of tiles, row by row.

    Derivation: docs/noc.md, "What the traversal bound is made of", and
    `golden.noc.traversal_alike`; both hold. The first one is the lesser where packets follow
    others that take another path.
    """
    return sum(traversal_heads(rows=rows, columns=columns, delta=delta, depth=depth, flits=flits,
                               pattern=pattern, source=source, hot=hot)) + flits + 1


def traversal_heads(*, rows: int, columns: int, delta: int, depth: int, flits: int, pattern: int,
                    source: int, hot: int = 0) -> list[int]:
    """The shares of `traversal` that a packet's header may spend in each FIFO on its path.

    In the first one from when it was taken, in each other from when it left the one before, until
    it leaves. Raises `NotCovered` for a ``source`` that does not send in this pattern.
    """
    networks = _traversal(rows, columns, delta, depth, flits, pattern, hot)
    try:
        return min((network.heads(str(divmod(source, columns))) for network in networks), key=sum)
    except ValueError as error:
        raise NotCovered(f"tile {source} does not send in pattern {pattern}") from error


@functools.cache
def _crowd(rows: int, columns: int, delta: int, depth: int, longest: int, crowd: int) -> Traversal:
    mesh = Mesh(rows, columns)
    streams, stalls = crowd_of(mesh, crowd, longest)
    return Traversal(mesh, streams, delta=delta, depth=depth, stalls=stalls)


@bound(formula="a recursion over the channels", source="this project, golden/noc/traversal.py",
       environment="every stream of the crowd may begin a packet of its lengths in any cycle, and "
                   "its sender and receivers may pause for as long as the crowd says")
def crowd_traversal(*, rows: Side, columns: Side, delta: Delta, depth: Depth,
                    longest: Annotated[int, Range(2, says="longest packet allowed, in flits")],
                    crowd: Annotated[int, Range(0, says="number of the crowd")],
                    stream: Annotated[int, Range(0, says="number of the stream in it")]) -> int:
    """A packet's path through a mesh with other streams of packets of other lengths, by XY routes.

    Counted as in `traversal`. ``crowd`` is a number of `golden.noc.patterns.crowd`, which says
    what streams there are, how long their packets may be, for how many cycles a sender may pause
    within one, and for how many a receiver may stall a flit; between packets senders may pause for
    as long as they like. Raises `NotCovered` for a ``stream`` that the crowd does not have.

    Derivation: docs/noc.md, "What the traversal bound is made of".
    """
    try:
        return _crowd(rows, columns, delta, depth, longest, crowd).bound(str(stream))
    except ValueError as error:
        raise NotCovered(f"{error} (crowd {crowd})") from error


def _check_window(flits: int, period: int, length: int, crossing: int) -> None:
    if length > period:
        raise NotCovered(f"length must be at most the period of {period}, not {length}")
    if length < period and flits + crossing > length:
        raise NotCovered(f"a packet of {flits} flits never fits a window of {length} cycles")


def _first_opens(offset: int, period: int, opened: int) -> int:
    """Cycles after reset in which no window has opened; 0 if the first one has by then."""
    if offset >= period:
        raise NotCovered(f"offset must be less than the period of {period}, not {offset}")
    return 0 if opened else offset + _FIRST_OPEN


@bound(formula="T - L + crossing + N_flits - 1, or 0 if L = T; until the first window has opened "
               "at least offset - N_flits - 1",
       source="this project; memory-composition, V.A.2 (Delta^max) has T - L",
       environment="the packet may be ready in any cycle")
def window_wait(*, flits: Flits, period: Period, length: Length, crossing: Crossing,
                offset: Offset, opened: Opened = 0) -> int:
    """Cycles that a packet waits for its window, from the one in which it could begin otherwise.

    Counted in cycles of waiting: 0 for a packet that begins at once. ``opened`` is 1 if it is known
    that a window has opened since reset when the packet could begin. Raises `NotCovered` for a
    packet that no window has room for, and for a window or an offset longer than the period.

    Derivation: a packet takes ``crossing`` + ``flits`` cycles of a window of L. The last cycle in
    which it may begin is the one with that many left, number L - crossing - flits of it. The
    worst is to be ready in the next one: T minus its number. The paper has data that are ready
    when the window shuts wait the longest, which is crossing + flits - 1 cycles too late. See
    `composition_corrected.wait_for_packet`, which is this for packets of full size that have to
    arrive within the window.

    No window is open in the ``offset`` + 2 cycles after reset, even if windows are all of the
    period. A transaction that is taken in the first of them has a packet ready in cycle
    ``flits`` + 3, counted from 0 (2 flits are no words; see `injection`): it waits
    offset + 2 - (flits + 3) cycles.
    """
    _check_window(flits, period, length, crossing)
    first = _first_opens(offset, period, opened) - (flits - HEADER_FLITS + _READ_AHEAD)
    return max(first, 0 if length == period else period - length + crossing + flits - 1)


@bound(formula="words of the first packet + 6 + window_wait",
       source="this project, from window_wait", environment=_UNDISTURBED)
def first_header(*, words: Words, payload: Payload, period: Period, length: Length,
                 crossing: Crossing, offset: Offset, opened: Opened = 0) -> int:
    """From the cycle that takes a transaction to the one that takes its first flit, both included.

    Derivation: words are taken from the 4th cycle after the transaction, one in each, and the first
    packet is ready 2 cycles after its last one (see `injection`). It waits for `window_wait`.
    """
    first = packet_sizes(words, payload)[0]
    return min(words, payload) + _READ_AHEAD + 1 + window_wait(
        flits=first, period=period, length=length, crossing=crossing, offset=offset, opened=opened)


@bound(formula="words of the first packet + 5 + max over the period of begin of the last packet + "
               "its flits; until the first window has opened at least offset + 2 + begin of the "
               "last packet, the first one in place 0, + its flits",
       source="this project, golden/noc/injection.py", environment=_UNDISTURBED)
def injection(*, words: Words, payload: Payload, period: Period, length: Length,
              crossing: Crossing, offset: Offset, opened: Opened = 0) -> int:
    """A transaction, from the cycle that takes it to that in which its last flit is taken.

    Both included; words are offered and flits taken without a pause. ``opened`` is 1 if it is known
    that a window has opened since reset when the first packet is ready. Raises `NotCovered` as
    `window_wait` does.

    Derivation: words are taken from the 4th cycle after the transaction, one in each; the first
    packet is ready 2 cycles after its last one. From there `injection.begins` follows the windows:
    the interface holds two packets, so that the next one has been read when one is out: it takes
    two cycles less to read a packet than to send it. Which place of the period the first packet is
    ready in is not known, so the bound is the greatest of all.

    The first window after reset opens in cycle ``offset`` + 2, counted from 0. A first packet that
    is ready before waits for it, and longest from a transaction taken in cycle 0; the others follow
    from place 0 of the period.
    """
    sizes = packet_sizes(words, payload)
    _check_window(sizes[0], period, length, crossing)
    parameters = {"period": period, "length": length, "crossing": crossing}
    ready = min(words, payload) + _READ_AHEAD
    worst = ready + max(begins(sizes, at, **parameters)[-1] for at in range(period))
    first = _first_opens(offset, period, opened)
    if first > ready:
        worst = max(worst, first + begins(sizes, 0, **parameters)[-1])
    return worst + sizes[-1]


@bound(formula="max(N_payload, before - 1) + 3", source="this project",
       environment="packets of up to so many words may arrive before, in any cycle; words are "
                   "taken as soon as they are offered")
def reception(*, words: Annotated[int, Range(1, says="words in the packet")],
              before: Annotated[int, Range(0, says="words in the longest packet that arrives "
                                                   "before; 0 if none does")]) -> int:
    """A packet's time to leave the receiver, after packets of up to ``before`` words.

    Counted from the cycle in which its last flit is taken to the one in which its last word is,
    both included; the sink of the words is always ready. ``before`` is 0 if there were none.

    Derivation: let packet i be complete in cycle t_i, and its last word leave the store s_i cycles
    later; then it is on offer, and taken. The address header is taken in the cycle after t_i, or
    after the words of the packet before: s_i = max(1 + n_i, s_(i-1) + t_(i-1) - t_i + 1 + n_i).
    With its headers the packet came in n_i + 2 cycles, so that the second term is at most
    s_(i-1) - 1. Unrolled, s_i is at most the greatest of 1 + n_i and, over the packets before,
    n_j: one less than 1 + n_j. The latency is s_i + 2.
    """
    return max(words, before - 1) + 3
