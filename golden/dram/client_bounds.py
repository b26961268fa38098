"""Bounds for clients that share a DRAM controller.

**Turns.** The arbiter grants a request when the controller is *free*: it can take a request, no
refresh is owed, and all banks will be closed within the 16 cycles that a tile takes from then to
its first command. So a request that is granted in cycle g has its first command in g + 16, its
banks are closed in g + 16 + D, where D is its issue delay, and the controller is free again in
g + D: the front end works on the next request while banks close. It can be free only after the last
command of a request was chosen, which is nRP or more before its banks are closed; where nRP is less
than 17, that costs ``17 - nRP`` cycles more. So much for one request. A request that is refused
waits until the banks are closed, and all of the front end's time is lost: 18 cycles, since it is
refused in g + 17 at the latest.

**At most one of each other client.** A request that waits is granted when all others that wait have
been granted once, at the latest (round robin). What was granted before is one request, as none is
before the controller is free again; and if that is another client's, this client has its turn
before that one has another. A client offers its next request after the one before has started; it
waits for that one and then for one of each other client.

**Refreshes.** Those that delay a request fall due after the last grant before it, or the last of
its own client, and not after its start: within ``own + waits + 6 + k nRFC`` cycles if they are k.
The least k that this time has room for is ``ceil((own + waits + 6) / (nREFI - nRFC))``. Each costs
nRFC at most, whether it is done between two requests or before a granted one has started.

**Slots (TDMA).** Each client has a window of the period, and a request is granted in the window's
first cycle or not at all, whatever the controller does. A window has room for the client's longest
request, all of the front end's time and a refresh: nothing is left of it in the next one, so that
what a client sees depends on its own requests and on when refreshes fall due, not on others.
"""

from collections.abc import Sequence
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, check_count
from cyclebound.golden.dram.bounds import Bursts, Write, tile_issue_delay
from cyclebound.golden.dram.request import CLIENTS
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["FRONT", "REFUSED", "START", "client_grant", "client_slot_completion", "client_tile",
           "client_tile_refreshed", "client_turn", "least_window"]

FRONT = 16
"""Cycles from a grant to the first command of a tile."""
REFUSED = 18
"""Cycles from the grant of a request that is refused to the next grant, at most."""
START = 6
"""Cycles from a grant to the start, from which on no refresh goes before the request."""
_MAPPING = 6  # cycles by which a mapping that was taken holds up a grant

_SHARED = ("each other client may have a request, of at most its longest, in any cycle, also one "
           "that is refused; indexes of a request come as promised; nothing is mapped")

Clients = Annotated[int, Range(1, CLIENTS, says="clients of the controller")]
Period = Annotated[int, Range(1, says="cycles of all windows")]


def client_grant(*, part: str | Part, others: Sequence[int | None], own: int = 0,
                 refreshes: bool = True, mappings: bool = False) -> int:
    """Cycles from taking a client's request to its grant, without the first.

    Parameters
    ----------
    part : str or Part
        The DRAM.
    others : sequence of int or None
        The longest request of each other client: of a tile its issue delay, of an indexed request
        ``controller_completion_indexed`` less 14; None: any.
    own : int
        That of this client's own requests before it.
    refreshes, mappings : bool
        Whether refreshes may fall due, and buffers be mapped, meanwhile.

    Raises
    ------
    NotCovered
        For a client without a longest request.
    """
    device = part_named(part)
    check_count("own longest request", own, least=0)
    waits = max(1, _turns(device, others, mappings)) + _MAPPING * mappings
    if not refreshes:
        return waits
    due = -(-(own + waits + START) // (device.nREFI - device.nRFC))
    return waits + due * device.nRFC


def _turns(device: Part, clients: Sequence[int | None], mappings: bool) -> int:
    """Cycles in which each of these clients has a request granted, until the next grant."""
    late, turns = max(0, FRONT + 1 - device.nRP), 0
    for number, longest in enumerate(clients):
        if longest is None:
            raise NotCovered(f"other client {number} has no longest request, so that a request may "
                             "wait for it without end")
        check_count(f"longest request of other client {number}", longest)
        turns += max(longest + late, REFUSED) + _MAPPING * mappings
    return turns


def client_turn(*, part: str | Part, others: Sequence[int | None], own: int,
                mappings: bool = False) -> int:
    """Cycles from the grant of a client's request of issue delay ``own`` to that of its next one,
    which is on offer in time: by the time that the controller is free. No refresh is among them.

    Arguments are those of `client_grant`. Raises `NotCovered` as it does.
    """
    check_count("own longest request", own)
    device = part_named(part)
    return _turns(device, others, mappings) + _turns(device, [own], mappings)


def _tile(part: str | Part, clients: int, bursts: int, write: int, other_bursts: int,
          other_write: int, *, refreshes: bool) -> int:
    delay = tile_issue_delay.function(part=part, bursts=bursts, write=write)
    other = tile_issue_delay.function(part=part, bursts=other_bursts, write=other_write)
    return 1 + FRONT + delay + client_grant(part=part, others=[other] * (clients - 1), own=delay,
                                            refreshes=refreshes)


@bound(formula="17 + tile_issue_delay + max(1, sum of the others' longest, each at least 18 and "
               "with 17 - nRP if that is more than 0)", source="this project",
       environment=_SHARED + "; no refresh is owed, under way or falls due meanwhile")
def client_tile(*, part: str | Part, clients: Clients, bursts: Bursts, write: Write,
                other_bursts: Bursts, other_write: Write) -> int:
    """Cycles from taking a client's tile to its completion, both included, or from the cycle after
    the completion of the client's own request before, if that is later.

    The longest requests of all other clients are alike. See the module's docstring: the request is
    on offer in the cycle after it was taken; its grant waits for one request of each other client;
    16 cycles and an issue delay later it is completed.
    """
    return _tile(part, clients, bursts, write, other_bursts, other_write, refreshes=False)


@bound(formula="client_tile + ceil((own + waits + 6) / (nREFI - nRFC)) * nRFC",
       source="this project", environment=_SHARED + "; refreshes fall due in any cycle")
def client_tile_refreshed(*, part: str | Part, clients: Clients, bursts: Bursts, write: Write,
                          other_bursts: Bursts, other_write: Write) -> int:
    """`client_tile`, with the refreshes that fall due while it waits; the client's own requests
    are alike."""
    return _tile(part, clients, bursts, write, other_bursts, other_write, refreshes=True)


def least_window(*, part: str | Part, longest: int | None) -> int:
    """The shortest window of a client whose longest request is ``longest``, in cycles.

    From a grant in its first cycle: 16 to the first command, the issue delay, and a refresh that
    fell due meanwhile. Raises `NotCovered` for a client without a longest request, and for windows
    in which two refreshes may fall due.
    """
    device = part_named(part)
    if longest is None:
        raise NotCovered("a client without a longest request has no window that is long enough")
    check_count("longest request", longest)
    window = FRONT + max(longest, REFUSED) + device.nRFC
    if window > device.nREFI:
        raise NotCovered(f"a window must be at most nREFI ({device.nREFI}), in which one refresh "
                         f"falls due, not the {window} that a request of {longest} takes")
    return window


@bound(formula="1 + period + max(16, 6 + nRFC) + tile_issue_delay", source="this project",
       environment="each client's window has room for its longest request; refreshes fall due in "
                   "any cycle; indexes of a request come as promised")
def client_slot_completion(*, part: str | Part, period: Period, bursts: Bursts, write: Write
                           ) -> int:
    """Cycles from taking a client's tile to its completion under TDMA, both included, or from the
    cycle after the completion of the client's own request before, if that is later.

    At worst it is taken in its window's first cycle, too late for that one. In the next, a refresh
    falls due in the cycle in which it would start, six cycles after its grant, and goes first. The
    period of all windows is known beforehand.

    Raises `NotCovered` for a period without room for the window of such a request and the shortest
    one of another client.
    """
    check_count("period", period)
    delay = tile_issue_delay.function(part=part, bursts=bursts, write=write)
    least = least_window(part=part, longest=delay) + FRONT
    if period < least:
        raise NotCovered(f"the period must be at least {least}, with a window for a request of "
                         f"{delay} cycles and another client's, not {period}")
    return 1 + period + max(FRONT, START + part_named(part).nRFC) + delay
