"""How long a grid of SHMAC's tiles lets a core wait: its memory as `MemoryWaits` has it.

`memory_waits` is of each request by itself, whatever its core has sent before; `program_waits` of
all requests of a program together, of which each posted write holds up others once. `gated_waits`
is both, where cores have gates (`cyclebound.golden.shmac.gate_table`), and knows no others.

Of the network, the bounds for stated masters (`cyclebound.golden.shmac.network_bounds`); of the
tile itself, what `cyclebound.golden.shmac.tile` says. A core waits for a request to the network
from the first cycle in which it is on offer to the last one before its response, which is one less
than the bound counts; for a plain write up to the cycle before it is taken.

Every tile answers in the cycle after it took a request, and takes the next one in the same cycle,
if its response is taken at once. The RAM of a tile whose core reaches it past the router takes none
in the cycles in which the core does the same with it, of which none follows another
(`cyclebound.golden.shmac.tile_bounds.ram_access`): one at least every two cycles.
"""

from collections.abc import Mapping

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc.routes import Mesh, Tile, xy_route
from cyclebound.golden.shmac.address_map import (
    BOOT_WORDS,
    LOCAL_BITS,
    SYSTEM_BASE,
    SystemRegister,
    tile_base,
)
from cyclebound.golden.shmac.gate import gated_read
from cyclebound.golden.shmac.gate_table import Gates, check_apart, turn
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.memory_waits import MemoryWaits, Region
from cyclebound.golden.shmac.network_bounds import NetworkBounds, Slave
from cyclebound.golden.shmac.tile_bounds import LOCAL_WAIT, LOCAL_WRITE_WAIT
from cyclebound.golden.shmac.traffic import MANY, Senders

__all__ = ["everybody", "gated_waits", "memory_waits", "program_waits"]

_END = 1 << 32


def everybody(layout: Layout) -> Senders:
    """Each core may ask each tile for anything."""
    return dict.fromkeys(layout.tiles(Kind.CORE), frozenset(layout.tiles()))


def memory_waits(layout: Layout, tile: Tile, *, masters: Senders | None = None, bypass: bool = True,
                 jump: bool = False) -> MemoryWaits:
    """The most that the core of a tile waits for a request, by address.

    Parameters
    ----------
    layout : Layout
        The grid.
    tile : (row, column)
        Where the core is.
    masters : Senders, optional
        Which tiles the cores may send to, this one among them; None: each to all. Past the router
        is not sent.
    bypass, jump : bool
        As of `cyclebound.golden.shmac.tile.TileModel`.

    Raises `NotCovered` if there is no core.
    """
    return _waits(layout, tile, masters, bypass, jump, together=False)


def program_waits(layout: Layout, tile: Tile, *, masters: Senders | None = None,
                  bypass: bool = True, jump: bool = False) -> MemoryWaits:
    """The most that the core of a tile waits for all requests of a program together, by address.

    Parameters are those of `memory_waits`. Each request to the network waits as if nothing of its
    core were under way; a posted write is taken at once, and holds up what comes later
    (`Region.holds`); what is under way where the program begins does so, too
    (`MemoryWaits.before`). Raises `NotCovered` if there is no core.
    """
    return _waits(layout, tile, masters, bypass, jump, together=True)


def gated_waits(layout: Layout, tile: Tile, *, gates: Gates, bypass: bool = True,
                jump: bool = False) -> MemoryWaits:
    """The most that the core of a tile waits with its gate, by address, whatever others do.

    Of each request, and so of all together: a posted write waits for its cycle, and the request
    after it for another one, which is in its own wait. ``gates``: the table. Other parameters are
    those of `memory_waits`. Raises `NotCovered` if there is no core, and as `check_apart` for a
    table that is none: where accesses meet, they wait for each other.
    """
    _check_core(layout, tile)
    check_apart(layout, gates, bypass=bypass)
    mesh, reads = Mesh(layout.height, layout.width), {}
    for there in layout.tiles():
        kind = layout.kind(there)
        if kind is not None and not (bypass and there == tile):
            reads[there] = gated_read(period=gates.period, turn=turn(kind, bypass=bypass),
                                      links=len(xy_route(mesh, tile, there)) - 1) - 1
    return MemoryWaits(_regions(layout, tile, reads, bypass=bypass, jump=jump,
                                sends=gates.period - 1, holds=0))


def _check_core(layout: Layout, tile: Tile) -> None:
    if layout.kind(tile) is not Kind.CORE:
        raise NotCovered(f"tile {tile} must have a core")


def _waits(layout: Layout, tile: Tile, masters: Senders | None, bypass: bool, jump: bool, *,
           together: bool) -> MemoryWaits:
    _check_core(layout, tile)
    sending = dict(everybody(layout) if masters is None else masters)
    if bypass:
        sending = {master: targets - {master} for master, targets in sending.items()}
    sending = {master: targets for master, targets in sending.items() if targets}
    network = NetworkBounds(Mesh(layout.height, layout.width), sending, service={
        there: Slave(1, 2, 1) if bypass and layout.kind(there) is Kind.CORE else Slave(1, 1)
        for there in layout.tiles()})
    sends = None
    holds = before = 0
    if tile in sending:
        sends = 0 if together else network.accept(tile) - 1
        holds, before = ((network.held_together(tile), network.backlog(tile)) if together
                         else (0, 0))
    reads = {there: network.read(tile, there, behind=0 if together else MANY) - 1
             for there in layout.tiles() if there in sending.get(tile, ())}
    return MemoryWaits(_regions(layout, tile, reads, bypass=bypass, jump=jump, sends=sends,
                                holds=holds), before=before)


def _regions(layout: Layout, tile: Tile, reads: Mapping[Tile, int], *, bypass: bool, jump: bool,
             sends: int | None, holds: int) -> list[Region]:
    """All addresses: what the tile answers, and what the network does, with the wait of a read of
    each tile that is sent to; ``sends``: that of a write; None: nothing is sent."""
    own = {"fetch": LOCAL_WAIT, "read": LOCAL_WAIT, "write": LOCAL_WRITE_WAIT,
           "load_linked": LOCAL_WAIT, "store_conditional": LOCAL_WAIT}
    boot = 0 if jump else 4 * BOOT_WORDS
    regions = [Region("bootstrap", 0, boot, **own)] if boot else []
    raises, after = int(SystemRegister.RAISE), int(SystemRegister.RAISE) + 4
    regions += [Region("system registers", SYSTEM_BASE, raises, **own),
                Region("other system registers", after, _END, **own)]
    if sends is not None:
        regions.append(Region("interrupts of others", raises, after, write=sends, holds=holds))
    for there in layout.tiles():
        start = tile_base(*there) or boot
        end = min(tile_base(*there) + (1 << LOCAL_BITS), SYSTEM_BASE)
        name = "tile ({}, {})".format(*there)
        if there == tile and bypass:
            regions.append(Region(name, start, end, **own))
        elif there in reads:
            read = reads[there]
            regions.append(Region(name, start, end, read, read, sends, read, read, holds=holds))
    return regions
