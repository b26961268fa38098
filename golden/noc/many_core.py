"""What a many-core's memory path is asked for: applications on the tiles of `noc.many_core`.

From a system and its allocation (`execution_model`) follow, for the hardware, the windows of its
flows and a list of transactions with their beginnings, each with what it takes at most. Other
lists have no table: all applications at once, with banks of their own or all in one.

Ref: memory-composition, section VI.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end import PACKET_FLITS
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.golden.noc.execution_model import (
    Allocation,
    Flow,
    Hardware,
    Meeting,
    System,
    Transaction,
    meets,
)
from cyclebound.golden.noc.execution_model_bounds import (
    commanded_read,
    scheduled_read,
    scheduled_write,
)
from cyclebound.golden.noc.execution_model_check import requesters
from cyclebound.golden.noc.many_core_data import command_bits, command_words, row_bits
from cyclebound.golden.noc.routes import Mesh, Tile

__all__ = ["ANY", "Asked", "asked", "at_once", "bound", "compute_tiles", "hardware_of", "misfits",
           "windows"]

ANY = 1 << 16
"""Rows that others may open meanwhile, where nothing is known of them: one for each request."""


@dataclass(frozen=True)
class Asked:
    """A transaction, as the hardware is asked for it.

    Attributes
    ----------
    name : str
        As the execution model calls it.
    tile : int
        The compute tile's number.
    write : bool
        To DDR3; else from there.
    bank, row, column, bursts : int
        Of DDR3.
    local, word : int
        The bank of local memory, and the word of 8 bytes in it, where the buffer begins.
    start, period : int
        Cycles of the network until it first begins, and from then on until it does again.
    claim : Mapping[str, int]
        Parameters of its bound, `bound_named`.
    """

    name: str
    tile: int
    write: bool
    bank: int
    row: int
    column: int
    bursts: int
    local: int
    word: int
    start: int
    period: int
    claim: Mapping[str, int]

    @property
    def nbytes(self) -> int:
        """Bytes that it moves."""
        return self.bursts * REQUEST_BYTES

    @property
    def bound_named(self) -> str:
        """Its bound's name."""
        return ("scheduled_write" if self.write else
                "commanded_read" if "io_core" in self.claim else "scheduled_read")


def bound(one: Asked, hardware: Hardware) -> int:
    """DDR cycles that it takes at most."""
    claim = {claim.name: claim for claim in (scheduled_write, scheduled_read, commanded_read)}[
        one.bound_named]
    return claim(**one.claim, delta=hardware.delta, quarters=hardware.quarters, cap=hardware.cap,
                 part=hardware.part)


def compute_tiles(mesh: Mesh, io: Tile) -> list[Tile]:
    """The places of the compute tiles, by number: all but the I/O tile's, row by row."""
    return [tile for tile in mesh.tiles if tile != io]


def hardware_of(system: System) -> dict[str, int | str]:
    """Parameters of `noc.many_core` that are a system's."""
    hardware = system.hardware
    return {"rows": hardware.mesh.rows, "columns": hardware.mesh.columns,
            "io": hardware.mesh.tiles.index(hardware.io), "banks": hardware.banks,
            "words": hardware.bank_bytes // WORD_BYTES, "delta": hardware.delta,
            "quarters": hardware.quarters, "cap": hardware.cap, "part": hardware.part}


def misfits(system: System) -> Iterator[str]:
    """What of a system the hardware does not have, a sentence each."""
    size = system.hardware.bank_bytes
    if size & (size - 1) or size < REQUEST_BYTES:
        yield (f"bank_bytes must be a power of two of {REQUEST_BYTES} at least, not "
               f"{size}")
    tiles = len(compute_tiles(system.hardware.mesh, system.hardware.io))
    rows = 1 << row_bits(system.hardware.part, tiles)
    for t in system.transactions:
        if t.row >= rows:
            yield (f"row of {t.full_name} must be below {rows}, as an address header has no room "
                   f"for more, not {t.row}")


def windows(system: System, allocation: Allocation) -> dict[tuple[int, bool], tdma.Slot]:
    """The windows by tile's number and direction."""
    places = compute_tiles(system.hardware.mesh, system.hardware.io)
    return {(places.index(tile), write): slot
            for (tile, write), slot in allocation.windows.items()}


def asked(system: System, allocation: Allocation) -> list[Asked]:
    """What an allocation asks for, each transaction once, with its period."""
    by_name = {t.full_name: t for t in system.transactions}
    met: dict[str, set[str]] = {name: set() for name in by_name}
    for names in allocation.table:
        for name in names:
            met[name].update(names)
    return [_asked(system, allocation, t,
                   meets(system, t, (by_name[name] for name in met[t.full_name] - {t.full_name})),
                   system.masters)
            for t in system.transactions]


def _asked(system: System, allocation: Allocation, t: Transaction, meeting: Meeting, masters: int
           ) -> Asked:
    hardware, where = system.hardware, allocation.places[t.full_name]
    tile = system.of[t.application].tile
    flow: Flow = (tile, t.write)
    claim = {
        "requesters": requesters(system, allocation.places, t), "masters": masters,
        "met": meeting.met, "mixed": int(meeting.mixed), "nbytes": t.nbytes,
        "window": allocation.windows[flow].length // PACKET_FLITS * PACKET_FLITS,
        "period": hardware.period, "routers": system.routers(t), "crossing": 0}
    return Asked(
        t.full_name, compute_tiles(hardware.mesh, hardware.io).index(tile), t.write,
        allocation.banks[t.application], t.row, t.column, len(t.columns), where.bank,
        where.address // WORD_BYTES, where.start * hardware.slot, t.period, claim)


def at_once(system: System, allocation: Allocation, starts: Iterable[int], *, own_banks: bool,
            interleaved: bool = False, io_core: int = 0) -> list[Asked]:
    """The same without a table of when: each transaction from any cycle on.

    All flows may be under way at a time. With ``own_banks`` of DDR3, as ``allocation`` must say,
    each other transaction opens its row when it begins, which it may do twice; without, each
    request of any of them may find another row, and so may each of the transaction's own.
    With ``interleaved`` addresses each transaction is in all banks, so that none has its own. With
    an ``io_core``, of so many DDR cycles, compute tiles ask for their reads; raises `ValueError`
    for a tile that reads without a write.
    """
    own_banks = own_banks and not interleaved
    result = []
    for t, start in zip(system.transactions, starts, strict=True):
        others = [other for other in system.transactions if system.flow(other) != system.flow(t)]
        met = sum(1 + -(-t.period // other.period) for other in others) if own_banks else ANY
        meeting = Meeting(met, any(other.write != t.write for other in others))
        one = _asked(system, allocation, t, meeting, len(system.flows))
        spread = min(part_named(system.hardware.part).banks, one.bursts) if interleaved else 1
        result.append(replace(one, start=start, claim={**one.claim, "spread": spread}))
    return _commanded(result, system, io_core) if io_core else result


def _commanded(transactions: Iterable[Asked], system: System, io_core: int) -> list[Asked]:
    """The same, where each read is asked for by a command between its tile's writes."""
    hardware = system.hardware
    tiles = len(compute_tiles(hardware.mesh, hardware.io))
    command = command_words(command_bits(hardware.part, tiles, hardware.banks,
                                         hardware.bank_bytes // WORD_BYTES))
    every = list(transactions)
    writes = {one.tile: one for one in every if one.write}
    reads = {one.tile for one in every if not one.write}
    result = []
    for one in every:
        extra = {"command": command if one.tile in reads else 0}
        if not one.write:
            if one.tile not in writes:
                raise ValueError(f"{one.name} needs a write of its tile, in whose window commands "
                                 f"are sent")
            write = writes[one.tile]
            extra |= {"io_core": io_core, "write_window": write.claim["window"],
                      "write_nbytes": write.nbytes, "write_requesters": write.claim["requesters"]}
        result.append(replace(one, claim={**one.claim, **extra}))
    return result
