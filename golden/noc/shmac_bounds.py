"""Worst-case formulas of SHMAC's routers.

Of an undisturbed access these are sums of latencies that the thesis prints for its simulator
(`golden/noc/shmac_budget`), and that our RTL was given or built to have: that RTL and formula agree
says that the parts were put together right, and nothing of SHMAC's hardware. The thesis' FPGA takes
1, 3 and 2 cycles more for its three instructions. What packets do to each other is ours.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction
from cyclebound.golden.noc.shmac_budget import (
    IN_CYCLES,
    MEMORY_CYCLES,
    OUT_CYCLES,
    RELEASE_CYCLES,
    TO_CORE_CYCLES,
    TO_MEMORY_CYCLES,
)
from cyclebound.golden.noc.shmac_kernel import Operation

__all__ = [
    "handshake_accept",
    "handshake_hop",
    "instruction",
    "mixed_read",
    "mixed_write",
    "pipelined_hop",
    "pipelined_instruction",
    "pipelined_mixed_read",
    "pipelined_mixed_write",
    "pipelined_read_lifetime",
    "pipelined_write_lifetime",
    "read_lifetime",
    "service",
    "shared_read",
    "shared_write",
    "write_lifetime",
]

Contenders = Annotated[int, Range(1, says="inputs that use the output, this one among them")]
AfterWrite = Annotated[int, Range(0, 1, says="1 for a fetch that follows a write of the same core")]
Runs = Annotated[int, Range(0, 2, says="0 for an instruction that only is fetched, 1 for one that "
                                       "reads, 2 for one that writes")]
Bypass = Annotated[int, Range(0, 1, says="1 if the core fetches by the RAM's second port")]
Links = Annotated[int, Range(0, says="links between the core and the RAM")]
Sharing = Annotated[int, Range(1, says="masters that share the input of the RAM's router, this one "
                                       "among them")]
Inputs = Annotated[int, Range(1, says="inputs of the RAM's router that masters use")]

_AT_ONCE = ("the other inputs for the same output may send packets in any cycle; receivers "
            "acknowledge at once")

_TURN = OUT_CYCLES + RELEASE_CYCLES  # from one grant of an output to the next


@bound(formula="1 + 5 + 5 + 6 (N - 1)", source="this project; the 5 + 5 from SHMACsim, Figure 5.7",
       environment=_AT_ONCE)
def handshake_hop(*, contenders: Contenders) -> int:
    """A packet's path through one router against the other ``contenders`` - 1 inputs at its output.

    Counted from the cycle in which an input without a packet takes it, to the cycle in which the
    output hands it over, both included; receivers acknowledge at once.

    Derivation: the packet asks 5 cycles after it was taken. Round robin lets one packet of each
    other input go before it. An output is busy for 5 cycles with each, and rests for the cycle in
    which the handshake ends, so that grants are 6 cycles apart; if one of them is in progress, it
    counts as its input's. Its own 5 cycles follow its grant.
    """
    return 1 + IN_CYCLES + OUT_CYCLES + _TURN * (contenders - 1)


@bound(formula="5 + 6 N", source="this project; the 5 from SHMACsim, Figure 5.7",
       environment=_AT_ONCE)
def handshake_accept(*, contenders: Contenders) -> int:
    """How long a master is held by a packet that it sends after another one.

    Counted from the first cycle of the request to its acknowledge, both included; both packets are
    for an output with ``contenders`` inputs, and receivers acknowledge at once.

    Derivation: the one before was taken in cycle T at the latest, and acknowledged in T + 5; this
    one is requested in T + 6 at the earliest. The one before hands over in T + 10 + 6 (N - 1) by
    `handshake_hop`; the input takes this one in the cycle after, and acknowledges 5 later.
    """
    return IN_CYCLES + _TURN * contenders


def _after_write() -> int:
    """Cycles that a fetch waits for the write before it.

    That is requested for 1 + IN_CYCLES cycles, and the core has one of its own before the fetch.
    """
    return IN_CYCLES + OUT_CYCLES + RELEASE_CYCLES - (1 + IN_CYCLES) - 1


def _path(links: int) -> int:
    """Cycles in the routers of a path, in one direction."""
    return (IN_CYCLES + OUT_CYCLES) * (links + 1)


@prediction(
    formula="7 + 20 (h + 1), and 4 more for a fetch that follows a write",
    source="given: the latencies, by SHMACsim, Figure 5.7; this project: their sum")
def read_lifetime(*, links: Links, after_write: AfterWrite = 0) -> int:
    """A read's life ``links`` links from its core, without other traffic, in cycles.

    Counted from the first cycle of the request, the adapter's, to the one in which the core has its
    response, both included. A fetch is a read of the core's own tile. 1 cycle in the adapter, 5 + 5
    in each router, 1 to the memory, 3 in it, the routers again, and 2 in the adapter.

    A fetch is requested as early as 2 cycles after a write of its core was acknowledged
    (``after_write``), and the master's input is busy with that for 4 more.

    All of these latencies are given, by Figure 5.7. RTL that is given others than the thesis' takes
    another time. The sum is 27 and 47 in Table 4.4, too.
    """
    return (1 + _path(links) + TO_MEMORY_CYCLES + MEMORY_CYCLES + _path(links) + TO_CORE_CYCLES
            + after_write * _after_write())


@prediction(
    formula="2 + 10 (h + 1)",
    source="given: the latencies, by SHMACsim, Figure 5.7; this project: their sum")
def write_lifetime(*, links: Links) -> int:
    """A write's life, counted as `read_lifetime`, until it is on its way from router to memory.

    1 cycle in the adapter, 5 + 5 in each router, 1 to the memory. Table 4.4 has 22, so that this
    is the cycle in which the thesis counts a write as ended.
    """
    return 1 + _path(links) + TO_MEMORY_CYCLES


@prediction(
    formula="1 + fetch + operation (+ 4 where the fetch follows a write)",
    source="given: the latencies, by SHMACsim, Figure 5.7; this project: the rest, so that "
           "Tables 4.3 and 4.4 come out")
def instruction(*, bypass: Bypass, operation: Runs, links: Links) -> int:
    """Cycles for each of one core's instructions, without other traffic: its CPI.

    ``operation`` is 0, 1 (read) or 2 (write), ``links`` links away. One cycle in the core; a fetch
    through the router, or, with ``bypass``, through the second port of the RAM, 1 + 1 + 3 + 2; a
    read's life; of a write, what its core waits for: 1 + 5 cycles to the acknowledge. The master's
    input is busy for 5 + 5 + 1 cycles from the request of a write on, and the next fetch comes
    after 1 + 5 + 1: it waits for 4, unless it does not go through the router.

    Given are the latencies of `read_lifetime`, and the cycle in the core; the bypass is nothing but
    a count of them. That a write is acknowledged after 1 + 5 cycles, and that a port rests for 1,
    the thesis does not say: we chose them for its simulator's 31 and 38 to come out.
    """
    fetch = (1 + TO_MEMORY_CYCLES + MEMORY_CYCLES + TO_CORE_CYCLES if bypass
             else read_lifetime(links=0))
    if operation == Operation.NONE:
        return 1 + fetch
    if operation == Operation.READ:
        return 1 + fetch + read_lifetime(links=links)
    stall = 1 + IN_CYCLES
    return 1 + fetch + stall + (0 if bypass else _after_write())


def service(slave_acknowledge: str) -> int:
    """Cycles from one grant of a slave's output to the next, for reads: 20, or 15.

    5 out, 1 to the memory, 3 in it, 1 to rest; and until the response is "passed", or "accepted".
    """
    answer = IN_CYCLES + (OUT_CYCLES if slave_acknowledge == "passed" else 0)
    return OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES + answer + RELEASE_CYCLES


@bound(formula="7 + 20 (h + 1) + S (f n - 1), and 5 (f - 1) more if slaves acknowledge late",
       source="this project",
       environment="the other masters may read the same RAM in any cycle, each waiting for one "
                   "response at a time; no master writes, and nothing else is under way")
def shared_read(*, links: Links, sharing: Sharing, inputs: Inputs,
                slave_acknowledge: str = "passed", late: bool = False) -> int:
    """A read of a RAM that several masters read, each waiting for one response at a time.

    Counted as `read_lifetime`. ``links`` links lead to the RAM; masters' requests come by
    ``inputs`` (n) inputs of its router, those of this master by one that ``sharing`` (f) masters
    share, all of which meet in the router before. Nothing else is sent to that RAM, or crosses the
    path.

    Derivation: S is the time from one grant of the RAM's output to the next (`service`): 20 cycles,
    or 15 if the slave is told as soon as its response is accepted. The input
    is free 9 cycles after the grant of its packet, 5 out and 4 of the memory.
    Alone at its input (f = 1), a read asks 5 cycles after it was taken there, and round robin lets
    each of the n - 1 other inputs go before it once: (n - 1) S.
    Else it waits in the router before, in which each of the f - 1 others is before it at most
    once: it has one request at a time, and is asked again only after that was answered, when this
    one has been granted. The first of them, if all of them ask at once, passes as if it were
    alone, and holds the input for 5 + (n - 1) S + 9 cycles. The next one is taken in the cycle
    in which the input is free, 9 after a grant, and asks 5 later, which is S - 14 before the next
    grant is due to any other: it holds the input for S - 14 longer. Together, with this one's own
    wait of (n - 1) S + S - 14: (n - 1) S + (f - 1) n S, that is f n - 1 services.

    With ``late``, a RAM acknowledges a read together with its response: the input is free S cycles
    after a grant, and the next packet asks 5 later, when another grant may be due already. So each
    packet of the same input takes 5 cycles more.
    """
    alone = read_lifetime(links=links)
    return (alone + service(slave_acknowledge) * (sharing * inputs - 1)
            + _late(late) * (sharing - 1))


def _late(late: bool) -> int:
    """Cycles from one grant of an input to the next, besides services, if slaves are ``late``."""
    return IN_CYCLES if late else 0


@bound(formula="((h + 1) f + 1) P - 9 - h + 4 [n > 1] + 4 [f > 2], P = max(14, 10 n)",
       source="this project",
       environment="the other masters may begin at any time to write to the same RAM without a "
                   "pause, each waiting for one acknowledge at a time; no master reads, and "
                   "nothing else is under way")
def shared_write(*, links: Links, sharing: Sharing, inputs: Inputs) -> int:
    """A write to a RAM that several masters write to, without a pause.

    Counted as `write_lifetime`, from any of the writes that wait for nothing but their
    acknowledges, and whenever the masters begin. ``links`` (h), ``sharing`` (f) and ``inputs`` (n)
    are those of `shared_read`. Nothing else is sent to that RAM, or crosses the path.

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
    turn = OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES + RELEASE_CYCLES
    own = IN_CYCLES + OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES
    waits = ((links + 1) * sharing + 1) * max(own, turn * inputs)
    return waits - 9 - links + 4 * (inputs > 1) + 4 * (sharing > 2)


_MIXED = ("the other masters may read and write the same RAM in any cycle, each waiting for one "
          "response, or for one acknowledge, at a time; {}nothing else is under way")


@bound(formula="7 + 20 (h + 1) + S (n - 1) if f = 1, else S n (f + 1) - 20, and 5 f more if slaves "
               "acknowledge late",
       source="this project",
       environment=_MIXED.format("this master's own writes have landed, and "))
def mixed_read(*, links: Links, sharing: Sharing, inputs: Inputs,
               slave_acknowledge: str = "passed", late: bool = False) -> int:
    """A read of a RAM that several masters read and write.

    Counted as `read_lifetime`, with the parameters of `shared_read`.

    Derivation: a write holds the RAM for 10 cycles, less than a read's S. From one grant of an
    input of the RAM's router to its next, no more than n S go by while it has packets: after a read
    it asks again within 14 cycles, before the next grant is due, and each other input goes first
    once; after a write, one of the others may have been granted up to 13 cycles later, and the
    others follow: 13 + (n - 1) S. With ``late`` slaves it asks again S + 5 after a read: n S + 5.

    Alone at its input (f = 1), a read waits for each other input once. Else it waits in the router
    before. A master that writes is free to send again before its packet is in the RAM, so that,
    other than among reads, a packet X may be at the RAM's input when this one asks, in a cycle a,
    and another one, Y, on its way out, after which each other input but Y's goes first once: X, and
    f - 1 more. X was handed over in c < a. It is granted by c - 9 + n S: no later than n S after
    the packet before it, 9 cycles after whose grant it was handed over; or if it found the input
    idle, by c + 5 + (n - 1) S. The read follows f packets later, at c - 9 + n S + f n S, and alone
    it would have been granted 10 cycles after it asked: (f + 1) n S - 20 cycles more.
    """
    cycles = service(slave_acknowledge)
    waits = (cycles * (inputs - 1) if sharing == 1
             else (sharing + 1) * inputs * cycles - 20 + _late(late) * sharing)
    return read_lifetime(links=links) + waits


@bound(formula="((h + 1) f + 1) n S - 4 - h, and 5 (h + 1) f more if slaves acknowledge late; "
               "if f = 1, (h + 2) Q - 9 - h, Q = 14 if n = 1, else S (n - 1) + 13",
       source="this project", environment=_MIXED.format(""))
def mixed_write(*, links: Links, sharing: Sharing, inputs: Inputs,
                slave_acknowledge: str = "passed", late: bool = False) -> int:
    """A write to a RAM that several masters read and write.

    Counted as `write_lifetime`, with the parameters of `shared_write`.

    Derivation: as `mixed_read`, with this master's own writes in the routers before it, one in
    each: it is requested 7 cycles after its predecessor was taken at the earliest, which in the
    router before the RAM's asks 5 after it was taken, and in each one further out a cycle later. So
    it is requested in c + 2 + h at the earliest, where c is when the packet X at the RAM's input
    was handed over. X is granted by c - 9 + n S; (h + 1) f packets later, this one is, and it is on
    its way to the memory 6 cycles after that.

    Alone at its input (f = 1), all of these packets are this master's writes. From one grant to the
    next there are Q cycles then: 14, or while others use the RAM, 13 and theirs; and X was handed
    over 7 + h cycles before the request, as in `shared_write`.
    """
    cycles, packets = service(slave_acknowledge), (links + 1) * sharing
    if sharing == 1:
        own = IN_CYCLES + OUT_CYCLES + TO_MEMORY_CYCLES + MEMORY_CYCLES
        return (packets + 1) * (own + (inputs > 1) * (cycles * (inputs - 1) - 1)) - 9 - links
    return (packets + 1) * inputs * cycles - 4 - links + _late(late) * packets


_PIPELINED = 3  # cycles from one router to the next


@bound(formula="4 + N - 1", source="this project", environment=_AT_ONCE)
def pipelined_hop(*, contenders: Contenders) -> int:
    """A packet's path through one pipelined router against the other inputs at its output.

    Counted from the cycle in which it is taken, or from the one in which its predecessor leaves the
    queue, whichever is later, to the cycle in which the output hands it over, both included;
    receivers take in every cycle.

    Derivation: it is at the head of its queue in the next cycle, and asks. Round robin lets one
    packet of each other input go before it, one in each cycle; in the cycle after its grant it
    moves through the crossbar, and in the next it is handed over.
    """
    return 1 + _PIPELINED + contenders - 1


def _saved(links: int) -> int:
    """Cycles that pipelined routers save on a path, in one direction."""
    return (IN_CYCLES + OUT_CYCLES - _PIPELINED) * (links + 1)


@prediction(
    formula="7 + 6 (h + 1)",
    source="this project; the 7 outside the routers given, by SHMACsim, Figure 5.7")
def pipelined_read_lifetime(*, links: Links) -> int:
    """A read's life with pipelined routers, counted as `read_lifetime`.

    Derivation: the budget of `read_lifetime`, with 3 cycles in each router instead of 10.
    """
    return read_lifetime(links=links) - 2 * _saved(links)


@prediction(
    formula="2 + 3 (h + 1)",
    source="this project; the 2 outside the routers given, by SHMACsim, Figure 5.7")
def pipelined_write_lifetime(*, links: Links) -> int:
    """A write's life with pipelined routers, counted as `write_lifetime`.

    Derivation: the budget of `write_lifetime`, with 3 cycles in each router instead of 10.
    """
    return write_lifetime(links=links) - _saved(links)


@prediction(
    formula="1 + fetch + operation",
    source="this project; what is outside the routers given, by SHMACsim, Figure 5.7")
def pipelined_instruction(*, bypass: Bypass, operation: Runs, links: Links) -> int:
    """Cycles for each of one core's instructions with pipelined routers, counted as `instruction`.

    Derivation: one cycle in the core; a fetch as `pipelined_read_lifetime` or by the bypass; a
    read's life; for a write 1 cycle, in which the router's queue takes and acknowledges it: there
    is a place in the queue, so that the next fetch is not held up.
    """
    fetch = (instruction(bypass=1, operation=0, links=0) - 1 if bypass
             else pipelined_read_lifetime(links=0))
    if operation == Operation.READ:
        return 1 + fetch + pipelined_read_lifetime(links=links)
    return 1 + fetch + (1 if operation == Operation.WRITE else 0)


_ACCESS = TO_MEMORY_CYCLES + MEMORY_CYCLES + RELEASE_CYCLES  # of the RAM, one after the other
_QUEUE = 2  # packets of an input, and of an output


@bound(formula="7 + 6 (h + 1), with others at other inputs + 5 (n + 1) + 1, with others at its own "
               "+ 5 (n (f + 4) + 1) + 1",
       source="this project",
       environment=_MIXED.format("this master's own writes have landed, and "))
def pipelined_mixed_read(*, links: Links, sharing: Sharing, inputs: Inputs) -> int:
    """A read of a RAM that several masters read and write, with pipelined routers.

    Counted as `read_lifetime`, with the parameters of `shared_read`.

    Derivation: the RAM takes 5 cycles for an access, and begins with the next one at once while its
    router has one. So after the cycle in which the read would have come to it alone, the RAM rests
    only once nothing is before the read any more, and what the read waits is 5 cycles for each
    packet that goes first, and the last cycle of one in the RAM. Which are these? Two are in the
    output's queue. Alone at its input (f = 1), the read then waits for each other input once. Else
    it asks in the router before, when two packets may be in the input's queue and two in that of
    the output before it, and each other input there goes first once: with itself, f + 4 packets
    pass this input, and each other input of the RAM's router goes before each of them once. Answers
    are 5 cycles apart, and wait for nothing.
    """
    mine = 1 if sharing == 1 else 2 * _QUEUE + sharing
    waits = _ACCESS * (inputs * mine - 1 + _QUEUE) + 1
    return pipelined_read_lifetime(links=links) + (waits if inputs > 1 or sharing > 1 else 0)


@bound(formula="2 + 3 (h + 1) + 5 (n (f (4 h - 1) + 4) + 1) + 1, and without a link, "
               "2 + 3 + 5 (3 n + 1) + 1",
       source="this project", environment=_MIXED.format(""))
def pipelined_mixed_write(*, links: Links, sharing: Sharing, inputs: Inputs) -> int:
    """A write to a RAM that several masters read and write, with pipelined routers.

    Counted as `write_lifetime`, with the parameters of `shared_write`.

    Derivation: as `pipelined_mixed_read`, with this master's own writes before it. Two are in the
    queue of its own router's input, and with each link more before the router in which masters
    meet, two in an output's queue and two in the next input's: 4 h - 2 of them at that router, each
    of which lets each other input there go first once, as this write does. Four packets more may be
    in the two queues after it.
    """
    own = 1 + _QUEUE + 2 * _QUEUE * max(0, links - 1)
    mine = own if links == 0 else sharing * own + 2 * _QUEUE
    return pipelined_write_lifetime(links=links) + _ACCESS * (inputs * mine - 1 + _QUEUE) + 1
