"""End-to-end bound of a write through the network to DDR3: this project's own.

The stages, and what each is assumed to do:

1. the core writes the data into local memory: Eq. 1; then tells the DMA, t_2;
2. the DMA reads one packet ahead, t_pk^SRAM each, whether the window is open or not;
3. a packet begins as soon as it has been read, the one before is out, and the window stays open for
   as long as the packet takes to cross;
4. a packet is N_req^pk requests to DDR3. While requests of this master wait, each of its requests
   crosses the front end within N_trans issues, and leaves the reorder queue within 2n - 1 more
   (which takes an age cap); an issue takes t_req at most, and t_RFC more after a refresh.
"""

import math
from dataclasses import dataclass

from cyclebound.golden.noc.composition import Transaction
from cyclebound.golden.noc.units import Duration
from cyclebound.golden.noc.visible_timing import DDR, refreshed

__all__ = ["Stages", "arrivals", "end_to_end", "packets_in_window", "wait_for_packet"]


@dataclass(frozen=True)
class Stages:
    """The bound's parts, in NoC cycles; together they are the bound.

    ``fill``: t_1 and t_2. ``read``: the first packet's path out of local memory. ``network``: until
    the packet arrives from which on DDR3 never rests. ``memory``: from there to the end.
    """

    fill: Duration
    read: Duration
    network: Duration
    memory: Duration

    @property
    def total(self) -> Duration:
        return self.fill + self.read + self.network + self.memory


def wait_for_packet(transaction: Transaction) -> Duration:
    """The longest wait until a packet that is ready may begin, in NoC cycles.

    The paper has Delta^max = T - L, for data that are ready when the window closes. But from
    t_pk^NoC - 1 cycles before that, no packet of full size fits any more: data that are ready in
    the first of those cycles wait for T - L + t_pk^NoC - 1.
    """
    path = transaction.path
    return transaction.wait + path.packet_crossing - path.noc(1)


def _spacing(transaction: Transaction) -> int:
    """Cycles from one packet's first flit to the next one's: its flits, or its reading."""
    read = transaction.packet_read.whole(transaction.path.noc).amount
    return max(transaction.path.packet_flits, int(read))


def packets_in_window(transaction: Transaction, *, prefetch: bool = True) -> int:
    """Packets that begin and arrive in one window.

    With ``prefetch``, the DMA holds a packet when the window opens; else it begins to read then,
    and reads each packet whole before its first flit leaves.
    """
    path = transaction.path
    left = path.window - int(path.packet_crossing.amount)
    if not prefetch:
        left -= int(transaction.packet_read.whole(path.noc).amount)
    return max(0, left // _spacing(transaction) + 1)


def arrivals(transaction: Transaction, ready: int) -> list[int]:
    """When each packet has arrived, in NoC cycles from the one in which the first is ready.

    ``ready`` is that cycle's place in the period, 0 where the window opens.
    """
    path, spacing = transaction.path, _spacing(transaction)
    crossing = int(path.packet_crossing.amount)
    when, cycles = ready, []
    for _ in range(transaction.packets):
        if when % path.period + crossing > path.window:  # it would not arrive in this window
            when += path.period - when % path.period
        cycles.append(when + crossing - ready)
        when += spacing
    return cycles


def end_to_end(transaction: Transaction, request: Duration, *, signal: int = 1,
               refreshes: bool = True) -> Stages:
    """Worst time of a transaction from the core's first word to DDR3, by stages.

    ``request`` is t_req; ``signal`` is t_2 in NoC cycles. Without ``refreshes`` none is counted, as
    in the paper from its section IV on.

    Derivation: the first packet has been read t_1 + t_2 + t_pk^SRAM after the core began, in any
    cycle of the period; from there `arrivals` follows the rules of the module. Let packet k be
    the first of DDR3's last busy period, in which requests of this master wait at all times. The
    (N_pk - k + 1) N_req^pk requests from there on cross the front end within N_trans issues each,
    the last one leaves the reorder queue within 2n - 1 more. So the end comes no later than
    arrival_k + ((N_pk - k + 1) N_req^pk N_trans + 2n - 1) t_req, for some k, and the bound is the
    greatest of these over k and over the period. No case distinction is left: DDR3 that keeps up
    has its maximum at a late k, DDR3 that does not at k = 1.

    DDR3's busy period from packet k on is a sequence to which `refreshed` (Eq. 2, corrected) adds
    as many refreshes as can fall into it, one that is under way at its beginning among them: an
    issue that a refresh precedes takes t_RFC more than t_req, whose precharge it shares. In whole
    DDR cycles.
    """
    path = transaction.path
    noc = path.noc
    late = [max(cycles) for cycles in zip(*(arrivals(transaction, ready)
                                            for ready in range(path.period)), strict=True)]
    waits = [(transaction.rounds((transaction.packets - k) * path.requests_per_packet)
              + 2 * path.queue - 1) * request for k in range(transaction.packets)]
    if refreshes:
        waits = [DDR(refreshed(cycles=math.ceil(wait.to(DDR).amount))) for wait in waits]
    waits = [wait.to(noc) for wait in waits]
    worst = max(((noc(arrival), memory) for arrival, memory in zip(late, waits, strict=True)),
                key=lambda parts: (parts[0] + parts[1]).amount)
    return Stages(transaction.t1.to(noc) + noc(signal), transaction.packet_read.to(noc), *worst)
