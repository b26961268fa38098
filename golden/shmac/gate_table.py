"""Tables of TDMA gates, one for each tile of SHMAC's grid: packets of masters that never meet.

The gate of a tile is open in one cycle of each period, and lets its core's request into the
network in that cycle only. The table of these cycles is such that a request, and its response, find
every output of every router free: a tile's accesses take the same cycles whatever others do.

**Where a packet is.** Let a router take a request in cycle t, and everything be free. Its way has
h links, h + 1 routers, and the output of the router number n (from 1) has it on offer in t + 3 n
(`cyclebound.golden.shmac.network_bounds.alone`); the next router, or the slave, takes it then. The
slave's response is on offer to the network s cycles after the request was on offer to the slave,
and each router of the way back has it three cycles later. So whatever the request is, and whatever
master and target are, a *use* of an output is known by its distance from t.

**Slaves.** A slave takes a request in the cycle in which it is on offer, and answers in the next
one: s = 1. A RAM whose core reaches it past the router may be used by that core in that cycle; it
takes the request one cycle later then, never more (`tile_bounds.ram_access`), so that the request
holds the router's output for two cycles: S = 2. This would tell a master what the program in the
other tile does. So such a tile's gate holds a response back for a cycle if its request was taken at
once: s = 2 always.

**What a table has to keep.** All modulo the period, of all outputs of both channels:

- uses of two masters, to any targets of each, are apart: between masters nothing waits;
- two uses of one master at different distances are apart, too. A core has one request under way
  that it waits for, but posted writes besides, which have a response if they fail. (At one
  distance they are: of the cycles in which a gate is open, each lets one request in. Then the
  period has to be S at least.)

**Nothing waits** then, by induction over cycles: if each packet so far was where its use says, an
output is asked by one packet at a time, which its arbiter grants at once, whichever was served
last, since it never holds a grant; queue and stage have room, since what was there before has gone
on. So no packet waits, but for the cycle at a slave, which its use includes. What the routers
remember, whose turn it is, decides nothing any more.

**What a program can notice of others.** The waits of its accesses are functions of the cycle in
which it asks, modulo the period. So its time depends on its own instructions, on what it
reads (data of others, LL and SC, a UART), and on interrupts that it lets others raise; as long as
these are the same, it takes the same cycles, whatever programs there are in other tiles, when they
start and whether they end, and whether their stores fail. It depends on the cycle in which it is
let run, modulo the period. The host, which has no gate, must be silent while programs run.

A period has one cycle of each master, and not a window of several: a core has one access at a
time, and from one request to the next are more cycles than one. Not the whole access of a master
lies in its window, but a cycle of each output, as the access comes along.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cyclebound.golden.noc.routes import Mesh, Port, Tile, ports, xy_route
from cyclebound.golden.noc.tdma import Infeasible, Use, place
from cyclebound.golden.parameters import check_integer
from cyclebound.golden.shmac.layout import Kind, Layout

__all__ = ["Gates", "check_apart", "check_gates", "meetings", "solve_gates", "turn", "uses", "way"]

_ROUTER = 3  # cycles from one router to the next
_MOST_PERIOD = 1 << 12


def turn(kind: Kind, *, bypass: bool) -> int:
    """For how many cycles a request may be on offer to a slave; and from there to its response."""
    return 2 if bypass and kind is Kind.CORE else 1


@dataclass(frozen=True)
class Gates:
    """A table.

    Attributes
    ----------
    period : int
        Cycles after which it repeats, from reset on.
    opens : mapping of Tile to int
        By tile with a core: the cycle of each period in which its gate is open.
    """

    period: int
    opens: Mapping[Tile, int]


def check_gates(layout: Layout, gates: Gates) -> None:
    """Check that each core, and nothing else, has a cycle of the period.

    Raises `TypeError` for a period or cycle that is no integer, `ValueError` for another table.
    """
    check_integer("period of gates", gates.period, 1, _MOST_PERIOD)
    cores = layout.tiles(Kind.CORE)
    for tile in gates.opens:
        if tile not in cores:
            raise ValueError(f"a gate must be a core's, and tile {tile} has none")
    for tile in cores:
        if tile not in gates.opens:
            raise ValueError(f"core {tile} must have a gate")
        check_integer(f"cycle of gate {tile}", gates.opens[tile], 0, gates.period - 1)


def way(layout: Layout, master: Tile, target: Tile, *, bypass: bool = True) -> list[Use]:
    """When an access of this master to this tile uses which outputs: (channel, router, port),
    cycles after its router took the request, and for how many."""
    mesh = Mesh(layout.height, layout.width)
    there, back = xy_route(mesh, master, target), xy_route(mesh, target, master)
    kind = layout.kind(target)
    assert kind is not None
    slave = turn(kind, bypass=bypass)
    answered = _ROUTER * len(there) + slave
    return [*((("request", *output), _ROUTER * number, slave if number == len(there) else 1)
              for number, output in enumerate(zip(there, ports(there), strict=True), 1)),
            *((("response", *output), answered + _ROUTER * number, 1)
              for number, output in enumerate(zip(back, ports(back), strict=True), 1))]


def uses(layout: Layout, master: Tile, *, bypass: bool = True) -> list[Use]:
    """As `way`, of a master's accesses to all tiles.

    All tiles are targets, its own too: an interrupt to itself goes through its router.
    """
    return sorted({use for target in layout.tiles()
                   for use in way(layout, master, target, bypass=bypass)})


def _meets_itself(own: list[Use], period: int) -> bool:
    """Whether accesses of one master may meet, if it has a cycle of each such period."""
    by_resource = defaultdict(list)
    for resource, lag, length in own:
        by_resource[resource].append((lag, length))
    for several in by_resource.values():
        for lag, length in several:
            if length > period:
                return True
            for other, other_length in several:
                if other != lag and not length <= (other - lag) % period <= period - other_length:
                    return True
    return False


def meetings(layout: Layout, gates: Gates, *, bypass: bool = True) -> Iterator[str]:
    """Where two accesses meet, each as a sentence; none: the table is proved.

    It knows nothing of how a table is found: it goes through all outputs and cycles of accesses
    that begin in any of so many periods that the first one is over. Raises as `check_gates`.
    """
    check_gates(layout, gates)
    every = {tile: uses(layout, tile, bypass=bypass) for tile in gates.opens}
    longest = max((lag + length for own in every.values() for _, lag, length in own), default=0)
    by_output: dict[Any, list[tuple[Tile, int, int]]] = defaultdict(list)
    for tile, own in every.items():
        for resource, lag, length in own:
            by_output[resource].append((tile, lag, length))
    for (channel, router, port), using in by_output.items():
        # of two targets of one request only one is its own
        seen: dict[int, set[tuple[Tile, int]]] = defaultdict(set)
        for tile, lag, length in using:
            for begins in range(gates.opens[tile], 2 * longest + gates.period, gates.period):
                for cycle in range(begins + lag, begins + lag + length):
                    seen[cycle].add((tile, begins))
        for tiles in dict.fromkeys(tuple(sorted({tile for tile, _ in apart}))
                                   for apart in seen.values() if len(apart) > 1):
            whose = " and ".join(map(str, tiles)) if len(tiles) > 1 else f"{tiles[0]} twice"
            yield (f"{channel}s of core {whose} meet at the {Port(port).name.lower()} output of "
                   f"router {router}")


def check_apart(layout: Layout, gates: Gates, *, bypass: bool = True) -> None:
    """Check that it is a table of this layout in which nothing meets.

    Raises `ValueError` with a place where accesses meet, and as `check_gates`.
    """
    met = next(meetings(layout, gates, bypass=bypass), None)
    if met is not None:
        raise ValueError(f"gates with a period of {gates.period} must keep accesses apart, but "
                         f"{met}")


def solve_gates(layout: Layout, *, bypass: bool = True, period: int | None = None) -> Gates:
    """A table in which nothing meets: of this period, or else of the least one that has one.

    Raises `tdma.Infeasible` if this period has none, which names cores that exclude each other:
    one alone if it meets itself. `ValueError` for a period that is none, or a layout without cores.
    """
    if period is not None:
        check_integer("period of gates", period, 1, _MOST_PERIOD)
    cores = layout.tiles(Kind.CORE)
    if not cores:
        raise ValueError("gates are for cores, and the layout has none")
    ways = {str(tile): [uses(layout, tile, bypass=bypass)] for tile in cores}
    for tried in range(1, _MOST_PERIOD + 1) if period is None else (period,):
        itself = [name for name, (own,) in ways.items() if _meets_itself(own, tried)]
        if not itself:
            found = place(tried, ways)
            if found is not None:
                return Gates(tried, {tile: found[str(tile)][1] for tile in cores})
        if period is not None:
            left = itself[:1] or _excluding(tried, ways)
            why = "meets itself" if itself else "exclude each other"
            raise Infeasible(left, f"no gates have a period of {period} cycles: core"
                                   f"{'s' * (len(left) > 1)} {', '.join(left)} {why}")
    raise Infeasible(ways, f"no gates have a period of up to {_MOST_PERIOD} cycles")


def _excluding(period: int, ways: Mapping[str, list[list[Use]]]) -> list[str]:
    """Cores without a table, a smallest set of them."""
    left = dict(ways)
    for name in ways:
        rest = {other: way for other, way in left.items() if other != name}
        if place(period, rest) is None:
            left = rest
    return list(left)
