"""Bounds of a transaction while a static table holds (memory-composition, section VI).

The table sees to it that no two transactions are under way in one bank of DDR3, and that at most
``masters`` of them are at all. Then a row is opened once for each transaction and stays open, but
for refreshes; `composition_corrected` and `end_to_end.total` are for memory without a table, where
each request may find another row.

Stages of network and local memory are in cycles of the network, the whole is in DDR cycles.
"""

from functools import lru_cache
from typing import Annotated

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.noc.end_to_end import (
    ASKED,
    GRANTED,
    LOOKS,
    PACKET_FLITS,
    RECEIVED,
    REGISTERS,
    fill,
    first_packet,
    sends,
    span,
)
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.golden.noc.packet import HEADER_FLITS, PAYLOAD_FLITS

__all__ = ["MOST_AT_SINK", "PACKET_BYTES", "QUEUE", "commanded_read", "conflict_free", "decided",
           "hits", "latest", "scheduled_read", "scheduled_write"]

PACKET_BYTES = 4 * PAYLOAD_FLITS
QUEUE = 8         # n: places of the reorder core
MOST_AT_SINK = 2  # N_req of a bank that flits arrive at: a word of 8 bytes is two of them
_WORDS = REQUEST_BYTES // 4            # cycles in which a request's words arrive
_REQUESTS = PACKET_BYTES // REQUEST_BYTES
_READ_ASKS = 4    # DDR cycles from a descriptor to its first burst on offer to the front end
_CROSSES = 1      # from there to the network's cycle that follows
_HEADER = 71      # from a packet's last beat to its first flit: its 64 words into the sender, as in
                  # `first_packet`, and two cycles out of its buffer
_TAKES = 4        # from a transaction on offer to an idle network interface to its first word
_STORED = 1       # from a word's last flit out of the receiver to its offer at the bank

Masters = Annotated[int, Range(1, 8, says="K: masters of the DRAM that may be under way at a time, "
                                          "this one included")]
Met = Annotated[int, Range(0, says="rows that other transactions may open meanwhile")]
Command = Annotated[int, Range(0, says="words of a command that its tile may send before the "
                                       "write; 0: none are sent")]
Spread = Annotated[int, Range(1, says="banks of DDR3 over which the transaction's own requests are "
                                      "spread: 1 unless addresses are interleaved")]
Mixed = Annotated[int, Range(0, 1, says="1 where others may go in the other direction meanwhile")]
Nbytes = Annotated[int, Range(PACKET_BYTES, says="bytes of the transaction, whole packets")]
Window = Annotated[int, Range(1, says="length of the window, in cycles of the network")]
Period = Annotated[int, Range(1, says="period of the TDMA table, in cycles of the network")]
Routers = Annotated[int, Range(1, says="N_R: routers on the path")]
Crossing = Annotated[int, Range(0, says="cycles that must be left of a window beside a packet's "
                                        "flits")]
_TABLE = ("a table holds: at most K masters at a time, each in a bank of DDR3 of its own and there "
          "in one row, which it opens once (or, with interleaved addresses, in any, all of which "
          "are counted as rows that others open); they may ask in any cycle; a window of the flow "
          "has opened since reset; the I/O tile has room for a whole transaction of each flow")


def hits(count: int, *, mixed: int, part: Part) -> int:
    """DDR cycles that ``count`` decisions on open rows are apart, at most."""
    if not mixed:
        return count * part.nCCD_S
    to_read, to_write = _turns(part)
    return -(-count // 2) * to_read + count // 2 * to_write


def _turns(part: Part) -> tuple[int, int]:
    """From a write to a read, and from a read to a write, as the page controller keeps them."""
    return (max(part.nCCD_S, part.nCWD + part.nBURST + part.nWTR_S),
            max(part.nCCD_S, part.nCAS + part.nBURST + max(2, 1 + part.nWPRE) - part.nCWD))


def _reopened(part: Part) -> int:
    """From one decision to the next, where each opens a row of a bank that a refresh has closed."""
    return max(part.nRCD + LOOKS, part.nRRD_S + LOOKS, part.nFAW - 3 * part.nRCD)


def conflict_free(*, requests: int, masters: int, met: int, mixed: int, own: int, cap: int,
                  part: Part, spread: int = 1) -> int:
    """DDR cycles from a grant that a request just missed to the decision on the last of
    ``requests`` that then wait, of which ``own`` may have to open a row.

    Derivation: round robin grants the transaction each K-th time, so that the requests are granted
    within m K grants; the last one enters the queue at the next departure, leaves it within its
    residence, cap + n - 1 issues whatever else is in there (`reorder_bounds.residence`), and is
    decided on at the departure after that. In all m K + cap + n + 1 decisions, each on a row that
    is open, nCCD after the one before (where directions mix, each may turn the bus, as rule 4 is
    no promise for one request), but for

    - ``met`` and ``own`` that open a row: t_conflict apart (`row_change`), since the bank's
      transaction before had another row open. (In other banks the activate may wait for nRRD and
      nFAW, too, but not for as long as that.)
    - after a refresh: the first one comes t_conflict + nRFC after the one before, as banks are
      closed and the row is opened again; the rows of the other K - 1 (and of all other banks, if
      each transaction is in ``spread`` of them) are opened again one after the other, and a
      request looks at its bank two cycles after the decision before, so that each of these is
      nRCD + 2 apart.

    As in `end_to_end.total`, the first of r refreshes is due when the missed grant's burst has
    begun, the last one before the last decision, so that (r - 1) nREFI is what the rest takes.
    """
    change = max(row_change(part), part.nFAW, *_turns(part))
    again = max((_reopened(part), *(_turns(part) if mixed else ())))
    rows = masters if spread == 1 else min(masters * spread, part.banks)
    count = requests * masters + cap + QUEUE + 1
    openings = min(count, met + own)
    cycles = hits(count - openings, mixed=mixed, part=part) + openings * change
    each = refresh_delay(part) + change + (rows - 1) * again - rows * part.nCCD_S
    refreshes = 1
    while refreshes * part.nREFI <= cycles + refreshes * each + change:
        refreshes += 1
    return cycles + refreshes * each


def _alone(requests: int, *, own: int, spread: int, part: Part) -> int:
    """The same for a transaction that has DDR3 for itself, from the first request on offer to the
    front end until the last one is on the pins; ``own`` of the requests may have to open a row,
    in one of ``spread`` banks each.

    Derivation: the first request passes the registers, and opens the row, where another one is
    open, once the write of the transaction before has recovered: its last beat was on the bus
    before the first request came. Decisions are nCCD apart from then on. A refresh delays them:
    if it is due before the first one, its precharge is that of the row; if between two, the second
    comes t_conflict + nRFC after the first, as in `conflict_free`; and so does each further one
    that is due before the last decision. Spread over several banks, a
    request that opens another row is t_conflict after the one before; a refresh has them opened
    again one after the other, as there, and those that were not open yet as well.
    """
    passes = REGISTERS + LOOKS
    opens = part.nRP + part.nRCD
    opened = (own > 0) * (max(0, part.nWR - passes) + opens)
    refreshed = max(opened, opens)
    if requests > 1:
        refreshed = max(refreshed, opened + row_change(part) - part.nCCD_S)
    cycles = passes + (requests - 1) * part.nCCD_S
    change, again = row_change(part), 0
    if spread > 1:
        change = max(change, part.nFAW)
        cycles += max(0, own - 1) * (change - part.nCCD_S)
        again = min(spread, requests) * max(0, _reopened(part) - part.nCCD_S)
    refreshes = 1
    while refreshes * part.nREFI <= cycles + refreshed + refreshes * (
            refresh_delay(part) + change + again):
        refreshes += 1
    return (cycles + refreshed + refreshes * (refresh_delay(part) + again)
            + (refreshes - 1) * change)


@lru_cache(maxsize=1 << 16)
def decided(requests: int, *, masters: int, met: int, mixed: int, own: int, cap: int,
            part: Part, spread: int = 1) -> int:
    """From ``requests`` on offer to the front end until the last one is on the pins, at most.

    In DDR cycles: `conflict_free`, and for a request that finds the queue empty the registers that
    it passes before it is looked at.
    """
    if masters == 1:
        return _alone(requests, own=min(own, requests), spread=spread, part=part)
    waits = conflict_free(requests=requests, masters=masters, met=met, mixed=mixed, own=own,
                          cap=cap, part=part, spread=spread)
    return waits + REGISTERS + LOOKS - GRANTED


@lru_cache(maxsize=1 << 16)
def latest(packets: int, requesters: int, fits: int, window: int, period: int,
           whole: tuple[int, ...] = ()) -> tuple[int, ...]:
    """When each packet begins at the latest, from 0 where the first one can, over all places of
    the period in which that may be (`end_to_end.sends`)."""
    import numpy as np

    ready = np.arange(period)
    begun = sends(ready, packets=packets, requesters=requesters, fits=fits, window=window,
                  period=period, whole=whole)
    return tuple(int((begin - ready).max()) for begin in begun)


def _command_sent(words: int, crossing: int, window: int, period: int) -> int:
    """Cycles from a command on offer to a network interface that is idle until that takes the next
    transaction: its words into the interface, the window, its flits, and a cycle back."""
    flits = words + HEADER_FLITS
    return _TAKES + words + 1 + latest(1, 1, flits + crossing, window, period)[0] + flits + 1


@bound(formula="max over requests i of span(t_1 + t_2 + read + begin_i + lambda + 66 + 2 + 32 "
               "(1 or 2)) + 5 + nCWD + nBURST + B nCCD + (o + own) (t_conflict - nCCD) + r (nRFC + "
               "t_conflict + (K - 1) (nRCD + 2) - K nCCD), B = (N - i) K + cap + n + 1; mixed: "
               "turns of the bus for nCCD; K = 1: without the others",
       source="this project, from memory-composition, V and VI", environment=_TABLE)
def scheduled_write(*, requesters: int, masters: Masters, met: Met, mixed: Mixed, nbytes: Nbytes,
                    window: Window, period: Period, routers: Routers, delta: int,
                    crossing: Crossing, quarters: int, cap: int, part: Part | str,
                    spread: Spread = 1, command: Command = 0) -> int:
    """From the core's first word on offer to the last beat on DDR3's bus, in DDR cycles.

    ``crossing``: cycles that must be left of a window beside a packet's flits for it to begin; 0
    for tables of `tdma.solve`. ``met``: how many rows the transactions under way meanwhile may
    open, their own first ones. The core may begin in any cycle.

    Derivation: the stages before DDR3 are those of `end_to_end.total`: the local bank (`fill`,
    `first_packet`), the window (`latest`, over each place in the period), the receiver. Let request
    i be the first since when some of the transaction's always wait for the front end. Then the last
    one is decided on within `conflict_free` of the N - i requests from i on. The row is opened by
    request 0: where i was on offer before that must have happened, the opening counts, too. The
    same is true of each of the first ``spread`` requests and its bank. A ``command`` that was on
    offer to the network interface first has left within `_command_sent`, and there is one at most,
    as a tile has one read under way.
    """
    part = part_named(part)
    packets = -(-nbytes // PACKET_BYTES)
    begins = latest(packets, requesters, PACKET_FLITS + crossing, window, period)
    before = fill(nbytes=nbytes, requesters=requesters) + first_packet(requesters=requesters)
    if command:
        before += _command_sent(command, crossing, window, period)
    rest = routers * (delta + 1) + PACKET_FLITS + RECEIVED
    offers = [span(before + begin + rest + _WORDS * number, quarters) + ASKED
              for begin in begins for number in range(1, _REQUESTS + 1)]

    spread = min(spread, len(offers))

    def waits(requests: int, *, own: int) -> int:
        return decided(requests, masters=masters, met=met, mixed=mixed, own=own, cap=cap,
                       part=part, spread=spread)

    opened = waits(spread, own=spread)  # since the last of them was on offer, at the earliest
    earliest = [_WORDS * number * 4 // quarters for number in range(len(offers))]
    return part.nCWD + part.nBURST - 1 + max(
        offer + waits(len(offers) - number, own=min(spread, len(offers) - number) * (
            number < spread or earliest[number] - earliest[spread - 1] <= opened))
        for number, offer in enumerate(offers))


@bound(formula="span(network cycles of the packets, each whole nCAS + nBURST after the decision on "
               "its second burst, + lambda + 66 + 2 + 64 + N_req + 1)",
       source="this project, from memory-composition, II and VI", environment=_TABLE)
def scheduled_read(*, requesters: Annotated[int, Range(1, MOST_AT_SINK)], masters: Masters,
                   met: Met, mixed: Mixed, nbytes: Nbytes, window: Window, period: Period,
                   routers: Routers, delta: int, crossing: Crossing, quarters: int, cap: int,
                   part: Part | str, spread: Spread = 1) -> int:
    """From a descriptor at the I/O tile's DMA to the last word in local memory, in DDR cycles.

    ``requesters`` are those of the bank at the sink: `MOST_AT_SINK` at most, since a word of 8
    bytes arrives in two cycles. The other parameters are those of `scheduled_write`.

    Derivation: the DMA asks for its bursts back to back, so that all wait from the first one on,
    and number k is decided on within `conflict_free` of k requests; its last beat is nCAS + nBURST
    after that. A packet is whole with its second burst, and can begin `_HEADER` cycles of the
    network later. Packets follow as `end_to_end.sends` says, at the worst place of the period;
    the last one arrives lambda + 66 cycles after it began. Its words leave the receiver one in a
    cycle, and the bank takes each pair of them before the next one is there; the last pair waits
    for N_req cycles.
    """
    part = part_named(part)
    packets = -(-nbytes // PACKET_BYTES)
    whole = []
    for packet in range(1, packets + 1):
        beats = (_READ_ASKS + ASKED + decided(
            packet * _REQUESTS, masters=masters, met=met, mixed=mixed,
            own=min(spread, packet * _REQUESTS), cap=cap, part=part, spread=spread)
            + part.nCAS + part.nBURST - 1)
        whole.append(-(-beats * quarters // 4) + _CROSSES + _HEADER)
    slack = tuple(cycle - whole[0] for cycle in whole)
    if all(cycle <= PAYLOAD_FLITS * number for number, cycle in enumerate(slack)):
        slack = ()  # the sender itself is slower
    last = whole[0] + latest(packets, 1, PACKET_FLITS + crossing, window, period, slack)[-1]
    arrived = last + routers * (delta + 1) + PACKET_FLITS
    return span(arrived + RECEIVED + PAYLOAD_FLITS + _STORED + requesters, quarters)


@bound(formula="span(1 + write under way + 4 + w + 1 + window + w + 3 + lambda + 2 + 65 + w) "
               "+ core + 1 + scheduled_read, w: words of a command",
       source="this project, from memory-composition, II, Example 2", environment=_TABLE + "; a "
       "tile has one write and one read under way at most")
def commanded_read(*, io_core: Annotated[int, Range(1, says="DDR cycles of the I/O core, from "
                                                            "a command's last word until the DMA "
                                                            "is told")],
                   command: Annotated[int, Range(1, says="words of a command")],
                   write_window: Window, write_nbytes: Annotated[int, Range(0, says=(
                       "bytes of the longest write of the tile that may be under way; 0: none"))],
                   write_requesters: Annotated[int, Range(1, says=(
                       "requesters of that write's bank"))],
                   requesters: Annotated[int, Range(1, MOST_AT_SINK)], masters: Masters, met: Met,
                   mixed: Mixed, nbytes: Nbytes, window: Window, period: Period, routers: Routers,
                   delta: int, crossing: Crossing, quarters: int, cap: int, part: Part | str,
                   spread: Spread = 1) -> int:
    """From a compute tile's core that asks for a read to the read's last word in local memory, in
    DDR cycles.

    The command is a packet of the tile's writes' flow, whose window is ``write_window``. The other
    parameters are those of `scheduled_read`.

    Derivation: at worst a write of the tile has been offered to the network interface one cycle
    before. The interface takes no other transaction until the last flit of that is loaded: its
    first packet can begin within `first_packet`, all have begun within `latest`, and 66 flits and a
    cycle follow. Then the command goes in, waits for its window and is sent, as in `_command_sent`;
    it arrives lambda after its last flit. In the I/O tile's receiver there is one packet at most
    before it: one of n entries takes n + 1 cycles to arrive, so that never more than 65 entries of
    whole packets wait. Its words come out one in a cycle, and the core has the DMA told ``io_core``
    cycles after the last one. The DMA is idle, as the tile has no other read.
    """
    sent = _command_sent(command, crossing, write_window, period)
    busy = 0
    if write_nbytes:
        begins = latest(-(-write_nbytes // PACKET_BYTES), write_requesters, PACKET_FLITS + crossing,
                        write_window, period)
        busy = first_packet(requesters=write_requesters) + begins[-1] + PACKET_FLITS + 1
    cycles = (1 + busy + sent + routers * (delta + 1) + RECEIVED + PAYLOAD_FLITS + 1 + command)
    return span(cycles, quarters) + io_core + 1 + scheduled_read(
        requesters=requesters, masters=masters, met=met, mixed=mixed, nbytes=nbytes, window=window,
        period=period, routers=routers, delta=delta, crossing=crossing, quarters=quarters, cap=cap,
        part=part, spread=spread)
