"""Worst-case formulas of SHMAC's routers.

Of an undisturbed access these are sums of latencies that the thesis prints for its simulator
(`golden/noc/shmac_budget`), and that our RTL was given or built to have: that RTL and formula agree
says that the parts were put together right, and nothing of SHMAC's hardware. The thesis' FPGA takes
1, 3 and 2 cycles more for its three instructions. What packets do to each other is ours.
"""

from cyclebound.golden.bound import NotCovered, bound, check_count
from cyclebound.golden.noc.shmac_budget import (
    IN_CYCLES,
    MEMORY_CYCLES,
    OUT_CYCLES,
    RELEASE_CYCLES,
    TO_CORE_CYCLES,
    TO_MEMORY_CYCLES,
)
from cyclebound.golden.noc.shmac_kernel import Operation

__all__ = ["handshake_accept", "handshake_hop", "instruction", "lifetime",
           "pipelined_hop", "pipelined_instruction", "pipelined_lifetime", "service",
           "shared_read", "shared_write"]

_TURN = OUT_CYCLES + RELEASE_CYCLES  # from one grant of an output to the next


@bound(formula="1 + 5 + 5 + 6 (N - 1)", source="this project; the 5 + 5 from SHMACsim, Figure 5.7")
def handshake_hop(*, contenders: int) -> int:
    """A packet's way through one router against the other ``contenders`` - 1 inputs at its output.

    Counted from the cycle in which an input without a packet takes it, to the cycle in which the
    output hands it over, both included; receivers acknowledge at once.

    Derivation: the packet asks 5 cycles after it was taken. Round robin lets one packet of each
    other input go before it. An output is busy for 5 cycles with each, and rests for the cycle in
    which the handshake ends, so that grants are 6 cycles apart; if one of them is in progress, it
    counts as its input's. Its own 5 cycles follow its grant.
    """
    check_count("contenders", contenders)
    return 1 + IN_CYCLES + OUT_CYCLES + _TURN * (contenders - 1)


@bound(formula="5 + 6 N", source="this project; the 5 from SHMACsim, Figure 5.7")
def handshake_accept(*, contenders: int) -> int:
    """How long a master is held by a packet that it sends behind another one.

    Counted from the first cycle of the request to its acknowledge, both included; both packets are
    for an output with ``contenders`` inputs, and receivers acknowledge at once.

    Derivation: the one before was taken in cycle T at the latest, and acknowledged in T + 5; this
    one is requested in T + 6 at the earliest. The one before hands over in T + 10 + 6 (N - 1) by
    `handshake_hop`; the input takes this one in the cycle after, and acknowledges 5 later.
    """
    check_count("contenders", contenders)
    return IN_CYCLES + _TURN * contenders


@bound(formula="read: 7 + 20 (h + 1); write: 2 + 10 (h + 1)",
       source="given: the latencies, by SHMACsim, Figure 5.7; this project: their sum")
def lifetime(*, operation: int, links: int) -> int:
    """A packet's life ``links`` links from its core, with nobody in the way, in cycles.

    Counted from the first cycle of the request, the adapter's, both ends included; a read's
    (``operation`` 1; a fetch is one) ends when the core has its response, a write's (2) when it is
    on its way from the router to the memory. 1 cycle in the adapter, 5 + 5 in each router, 1 to the
    memory; for a read 3 in the memory, the routers again, and 2 in the adapter.

    All of these latencies are given, by Figure 5.7. RTL that is given others than the thesis' does
    not keep this bound, or does not reach it. The sum is 27, 47 and 22 in Table 4.4, too, whose
    22 leaves no other cycle than this one for a write to end in.
    """
    check_count("links", links, least=0)
    way = (IN_CYCLES + OUT_CYCLES) * (links + 1)
    if operation == Operation.WRITE:
        return 1 + way + TO_MEMORY_CYCLES
    if operation == Operation.READ:
        return 1 + way + TO_MEMORY_CYCLES + MEMORY_CYCLES + way + TO_CORE_CYCLES
    raise NotCovered(f"operation must be 1 or 2, not {operation}")


@bound(formula="1 + fetch + operation (+ 4 where the fetch is behind a write)",
       source="given: the latencies, by SHMACsim, Figure 5.7; this project: the rest, so that "
              "Tables 4.3 and 4.4 come out")
def instruction(*, bypass: int, operation: int, links: int) -> int:
    """Cycles for each of one core's instructions, with nobody in the way: its CPI.

    ``operation`` is 0, 1 (read) or 2 (write), ``links`` links away. One cycle in the core; a fetch
    through the router, or, with ``bypass``, through the second port of the RAM, 1 + 1 + 3 + 2; a
    read's life; of a write, what its core waits for: 1 + 5 cycles to the acknowledge. The master's
    input is busy for 5 + 5 + 1 cycles from the request of a write on, and the next fetch comes
    after 1 + 5 + 1: it waits for 4, unless it does not go through the router.

    Given are the latencies of `lifetime`, and the cycle in the core; the bypass is nothing but a
    count of them. That a write is acknowledged after 1 + 5 cycles, and that a port rests for 1, the
    thesis does not say: we chose them for its simulator's 31 and 38 to come out.
    """
    fetch = (1 + TO_MEMORY_CYCLES + MEMORY_CYCLES + TO_CORE_CYCLES if bypass
             else lifetime(operation=Operation.READ, links=0))
    if operation == Operation.NONE:
        return 1 + fetch
    if operation == Operation.READ:
        return 1 + fetch + lifetime(operation=Operation.READ, links=links)
    if operation != Operation.WRITE:
        raise NotCovered(f"operation must be from 0 to 2, not {operation}")
    stall = 1 + IN_CYCLES
    behind = 0 if bypass else IN_CYCLES + OUT_CYCLES + RELEASE_CYCLES - stall - 1
    return 1 + fetch + stall + behind


def service(slave_acknowledge: str) -> int:
    """Cycles from one grant of a slave's output to the next, for reads: 20, or 15.

    5 out, 1 to the memory, 3 in it, 1 to rest; and until the response is "passed", or "accepted".
    """
    answer = IN_CYCLES + (OUT_CYCLES if slave_acknowledge == "passed" else 0)
    return OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES + answer + RELEASE_CYCLES


@bound(formula="7 + 20 (h + 1) + S (f n - 1)", source="this project")
def shared_read(*, links: int, sharing: int, inputs: int,
                slave_acknowledge: str = "passed") -> int:
    """A read of a RAM that several masters read, each waiting for one response at a time.

    Counted as `lifetime`. ``links`` links lead to the RAM; ``inputs`` (n) inputs of its router have
    masters behind them, and ``sharing`` (f) masters share the one that leads to this master, all of
    which meet in the router before. Nobody else sends anything to that RAM, or in the way.

    Derivation: S is the time from one grant of the RAM's output to the next (`service`): 20 cycles,
    or 15 if the slave is told as soon as its response is accepted. The input
    is free 9 cycles after the grant of its packet, 5 out and 4 of the memory.
    Alone at its input (f = 1), a read asks 5 cycles after it was taken there, and round robin lets
    each of the n - 1 other inputs go before it once: (n - 1) S.
    Else it waits in the router before, in which each of the f - 1 others is before it at most
    once: it has one request at a time, and is asked again only after that was answered, when this
    one has been granted. The first of them, if all of them ask at once, passes as if it were
    alone, and holds the input for 5 + (n - 1) S + 9 cycles. Whoever follows is taken in the cycle
    in which the input is free, 9 after a grant, and asks 5 later, which is S - 14 before the next
    grant is due to anybody: it holds the input for S - 14 longer. Together, with this one's own
    wait of (n - 1) S + S - 14: (n - 1) S + (f - 1) n S, that is f n - 1 services.
    """
    for name, value in (("sharing", sharing), ("inputs", inputs)):
        check_count(name, value)
    alone = lifetime(operation=Operation.READ, links=links)
    return alone + service(slave_acknowledge) * (sharing * inputs - 1)


@bound(formula="((h + 1) f + 1) P - 9 - h + 4 [n > 1] + 4 [f > 2], P = max(14, 10 n)",
       source="this project")
def shared_write(*, links: int, sharing: int, inputs: int) -> int:
    """A write to a RAM that several masters write to, without a pause.

    Counted as `lifetime`, from any of the writes that wait for nothing but their acknowledges, and
    whenever the masters begin. ``links`` (h), ``sharing`` (f) and ``inputs`` (n) are those of
    `shared_read`. Nobody else sends anything to that RAM, or in the way.

    Derivation: from one grant of the RAM's output to the next, writes take 10 cycles: 5 out, 1 + 3
    in the memory, 1 to rest. Input of the RAM's router: free 9 cycles after the grant of its packet
    g, when it takes the next one, which asks 5 later and waits w: so 14 + w from one to the next.
    Round robin lets each other input go before it once. Of k packets in a row, the sum of w is
    10 (n k - 1) - 14 (k - 1) at most, which is k (P - 14), and 4 more if there are others.

    The router before (the master's own, with h = 1): f inputs take turns, and whatever is granted
    there is on offer before the RAM's input is free again. From c, in which a packet is handed
    over, to the handing over of the next one of the same input there are f of them. With h = 1, a
    write is requested 7 cycles after its predecessor X was taken, which was 1 after X's predecessor
    was handed over, c; with each link more, there is a packet more ahead, and a cycle less. From c
    to the write's own handing over there are (h + 1) f packets; it asks 5 cycles later, waits w,
    and is on its way to the memory 6 after its grant: in all 1 - 7 - h + 5 + 6 cycles, 14 for each
    of (h + 1) f packets, and w for these and itself.

    With three or more at an input, c may be the handing over of another one's packet, if X is the
    first one: taken so that it asks 2 cycles after c, not 6, and one after the next of the others
    was granted; that makes 4 cycles more. Of two, the other one cannot ask as early as that.
    """
    for name, value in (("links", links), ("sharing", sharing), ("inputs", inputs)):
        check_count(name, value)
    turn = OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES + RELEASE_CYCLES
    own = IN_CYCLES + OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES
    waits = ((links + 1) * sharing + 1) * max(own, turn * inputs)
    return waits - 9 - links + 4 * (inputs > 1) + 4 * (sharing > 2)


_PIPELINED = 3  # cycles from one router to the next


@bound(formula="4 + N - 1", source="this project")
def pipelined_hop(*, contenders: int) -> int:
    """A packet's way through one pipelined router against the other inputs at its output.

    Counted from the cycle in which it is taken, or from the one in which its predecessor leaves the
    queue, whichever is later, to the cycle in which the output hands it over, both included;
    receivers take in every cycle.

    Derivation: it is at the head of its queue in the next cycle, and asks. Round robin lets one
    packet of each other input go before it, one in each cycle; in the cycle after its grant it
    moves through the crossbar, and in the next it is handed over.
    """
    check_count("contenders", contenders)
    return 1 + _PIPELINED + contenders - 1


@bound(formula="read: 7 + 6 (h + 1); write: 2 + 3 (h + 1)",
       source="this project; the 7 and 2 outside the routers given, by SHMACsim, Figure 5.7")
def pipelined_lifetime(*, operation: int, links: int) -> int:
    """A packet's life with pipelined routers, counted as `lifetime`.

    Derivation: the budget of `lifetime`, with 3 cycles in each router instead of 10.
    """
    check_count("links", links, least=0)
    saved = (IN_CYCLES + OUT_CYCLES - _PIPELINED) * (links + 1)
    return (lifetime(operation=operation, links=links)
            - saved * (2 if operation == Operation.READ else 1))


@bound(formula="1 + fetch + operation",
       source="this project; what is outside the routers given, by SHMACsim, Figure 5.7")
def pipelined_instruction(*, bypass: int, operation: int, links: int) -> int:
    """Cycles for each of one core's instructions with pipelined routers, counted as `instruction`.

    Derivation: one cycle in the core; a fetch as `pipelined_lifetime` or by the bypass; a read's
    life; for a write 1 cycle, in which the router's queue takes and acknowledges it: there is a
    place in the queue, so that the next fetch is not held up.
    """
    fetch = (instruction(bypass=1, operation=0, links=0) - 1 if bypass
             else pipelined_lifetime(operation=Operation.READ, links=0))
    if operation == Operation.READ:
        return 1 + fetch + pipelined_lifetime(operation=Operation.READ, links=links)
    if operation not in (Operation.NONE, Operation.WRITE):
        raise NotCovered(f"operation must be from 0 to 2, not {operation}")
    return 1 + fetch + (1 if operation == Operation.WRITE else 0)
