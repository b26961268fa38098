"""Worst-case formulas of the networks on chip."""

import functools

from cyclebound.golden.bound import NotCovered, bound, check_count
from cyclebound.golden.noc.patterns import pattern as pattern_of
from cyclebound.golden.noc.routes import Mesh, xy_route
from cyclebound.golden.noc.traversal import Stream, Traversal

__all__ = ["packet_hop", "round_robin_wait", "t_noc", "traversal"]


@bound(formula="N_req", source="memory-composition, III.A (round robin)")
def round_robin_wait(*, requesters: int) -> int:
    """Accepted grants from a request up to and including its own.

    Counted in grants: with a grant accepted in every cycle these are cycles, from the first cycle
    of the request to the cycle of its grant, both included. Each of the other N_req - 1
    requesters is served at most once before: after its turn it stands behind the one that waits.
    """
    check_count("requesters", requesters)
    return requesters


@bound(formula="N_R * (delta_R + 1) + N_flits", source="memory-composition, V.A.2 (t_NoC)")
def t_noc(*, delta: int, flits: int, routers: int) -> int:
    """Crossing of ``flits`` flits over ``routers`` routers, with nobody in the way, in NoC cycles.

    Counted from the cycle in which the first router takes the header to the cycle in which the last
    one's output delivers the last flit, both included, with the flits offered back to back and
    outputs that are ready. The paper's 1 in (delta_R + 1) is the cycle on the link, which begins in
    the output register of a router.
    """
    check_count("delta", delta)
    check_count("flits", flits)
    check_count("routers", routers)
    return routers * (delta + 1) + flits


@bound(formula="delta_R + 1 + N_flits + (N_req - 1) * F_max", source="this project")
def packet_hop(*, delta: int, flits: int, contenders: int, rival_flits: int) -> int:
    """A packet's way through one router against ``contenders`` - 1 inputs at its output.

    Counted to the cycle in which the last flit leaves, from the cycle in which the header is taken,
    or from ``delta`` cycles before its predecessor's last flit leaves the router, whichever is
    later: both are ``delta`` cycles before it can be the head of its input. Both included; outputs
    are ready, and flits are offered back to back.

    Derivation: the header is the head ``delta`` cycles later and asks from then on. The output
    is round robin among packets and never idle while somebody asks, so that each of the other
    inputs has one packet before it at most: the one in progress counts as its input's. They take
    ``rival_flits`` cycles each if their flits come without gaps, and one packet follows another
    without a gap. Then the header moves into the output's register, 1, and its flits leave one in
    each cycle.
    """
    check_count("contenders", contenders)
    check_count("rival_flits", rival_flits)
    return t_noc(delta=delta, flits=flits, routers=1) + (contenders - 1) * rival_flits


@functools.cache
def _traversal(rows: int, columns: int, delta: int, depth: int, flits: int,
               pattern: int) -> Traversal:
    mesh = Mesh(rows, columns)
    streams = {str(source): Stream(xy_route(mesh, source, destination), flits)
               for source, destination in pattern_of(mesh, pattern).items()}
    return Traversal(mesh, streams, delta=delta, depth=depth)


@bound(formula="ceil((depth - 1) / F) max(exit + F - 1) + delta_R + sum of hops + F",
       source="this project, golden/noc/traversal.py")
def traversal(*, rows: int, columns: int, delta: int, depth: int, flits: int, pattern: int,
              source: int) -> int:
    """A packet's way through a mesh in which everybody sends packets of that size by XY routes.

    Counted from the cycle in which its source's router takes the header to the cycle in which the
    last flit is delivered, both included; receivers are ready, senders never pause. ``pattern`` is
    a number of `golden.noc.patterns.pattern`, ``source`` the number of a tile, row by row.

    Derivation: in `golden.noc.traversal`, by recursion over the channels, which depend on each
    other without a cycle.
    """
    for name, value in (("delta", delta), ("depth", depth), ("flits", flits)):
        check_count(name, value)
    found = _traversal(rows, columns, delta, depth, flits, pattern)
    try:
        return found.bound(str(divmod(source, columns)))
    except ValueError as error:
        raise NotCovered(f"tile {source} does not send in pattern {pattern}") from error
