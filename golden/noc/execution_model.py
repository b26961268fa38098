"""An execution model: applications, their transactions, and the resources that each is given.

Ref: memory-composition, section VI. Compute tiles with banks of local memory, a network with TDMA
windows, and one I/O tile in front of DDR3. An application runs on a tile, and has a bank of DDR3,
which others may have, too. Its transactions are periodic, and each is one write from local memory
to DDR3 or one read back. A static table says in which slots each is under way.

All times are in cycles of the network. `execution_model_check` says whether an `Allocation` keeps
the rules; what finds one is in ``tools/noc``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import gcd, lcm

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end import PACKET_FLITS
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.golden.noc.execution_model_bounds import (
    MOST_AT_SINK,
    PACKET_BYTES,
    scheduled_read,
    scheduled_write,
)
from cyclebound.golden.noc.packet import PAYLOAD_FLITS
from cyclebound.golden.noc.routes import Mesh, Tile, xy_route
from cyclebound.golden.parameters import check_integer

__all__ = ["DIRECTIONS", "Allocation", "Application", "Flow", "Hardware", "Meeting", "Place",
           "System", "Transaction", "bound_of", "flow_name", "least_bound", "meets", "table_of"]

DIRECTIONS = ("preferred", "required")
"""Whether transactions under way at a time should, or must, go in one direction."""
MOST_SLOTS = 1 << 16  # of a hyperperiod, which is walked slot by slot
Flow = tuple[Tile, bool]
"""A tile's data to DDR3 (True) or from there: a sender, a window, a master of the DRAM."""


@dataclass(frozen=True)
class Hardware:
    """What the applications share.

    Attributes
    ----------
    mesh, io : Mesh, Tile
        The network, and the place of the I/O tile in it; all other places are compute tiles.
    period : int
        T, of all windows.
    slot : int
        Cycles of a slot of the table.
    masters : int
        K: transactions that may be under way at a time, 1 to 8.
    directions : str
        One of `DIRECTIONS`.
    delta : int
        Latency of a router.
    quarters : int
        Cycles of the network in four of DDR3's.
    banks, bank_bytes : int
        Banks of a tile's local memory, and bytes of one.
    cap : int
        Age cap of the reorder core.
    part : str
        The DRAM; its burst is `REQUEST_BYTES` long.

    Raises
    ------
    TypeError, ValueError
        For what is out of range.
    """

    mesh: Mesh = field(default_factory=lambda: Mesh(2, 3))
    io: Tile = (0, 2)
    period: int = 1024
    slot: int = 512
    masters: int = 4
    directions: str = "preferred"
    delta: int = 5
    quarters: int = 3
    banks: int = 8
    bank_bytes: int = 16384
    cap: int = 9
    part: str = "ddr3-1600-module"

    def __post_init__(self) -> None:
        for name, least, most in (
                ("period", PACKET_FLITS, 1 << 16), ("slot", 1, 1 << 20), ("masters", 1, 8),
                ("delta", 2, 64), ("quarters", 1, 4), ("banks", 1, 64),
                ("bank_bytes", PACKET_BYTES, 1 << 24), ("cap", 1, 64)):
            check_integer(name, getattr(self, name), least, most)
        if self.io not in self.mesh:
            raise ValueError(f"the I/O tile must be one of {self.mesh.rows} x {self.mesh.columns}, "
                             f"not {list(self.io)}")
        if self.directions not in DIRECTIONS:
            raise ValueError(f"directions must be one of {', '.join(DIRECTIONS)}, not "
                             f"{self.directions!r}")
        part_named(self.part)

    @cached_property
    def dram(self):
        """The DRAM."""
        return part_named(self.part)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of DDR3, with a burst for each eight columns."""
        return self.dram.columns // 8 * REQUEST_BYTES

    @property
    def network(self) -> tdma.Network:
        """The network, for `tdma`."""
        return tdma.Network(self.mesh, self.period, self.delta + 1)

    def cycles(self, ddr: int) -> int:
        """Cycles of the network after which so many of DDR3's are over, whenever they begin."""
        return ddr // 4 * self.quarters + min(ddr % 4, self.quarters)

    @property
    def most_packets(self) -> int:
        """Packets in the longest window."""
        return self.period // PACKET_FLITS


@dataclass(frozen=True)
class Transaction:
    """A periodic transfer between local memory and DDR3.

    Attributes
    ----------
    application, name : str
        Whose, and its name there.
    nbytes : int
        Bytes, whole packets.
    write : bool
        To DDR3; else from there.
    period, deadline : int
        Cycles between its beginnings; cycles from its beginning until it must be over.
    row, column : int
        Of DDR3: the row in the application's bank, and the column in bursts.
    bank, address : int or None
        Of local memory, where they are given: the bank, and the first byte in it.
    """

    application: str
    name: str
    nbytes: int
    write: bool
    period: int
    deadline: int
    row: int
    column: int = 0
    bank: int | None = None
    address: int | None = None

    @property
    def full_name(self) -> str:
        """Application and name."""
        return f"{self.application}.{self.name}"

    @property
    def packets(self) -> int:
        """Packets that it takes."""
        return -(-self.nbytes // PACKET_BYTES)

    @property
    def columns(self) -> range:
        """The bursts of its row."""
        return range(self.column, self.column + -(-self.nbytes // REQUEST_BYTES))


@dataclass(frozen=True)
class Application:
    """A program on a tile; ``bank``: its bank of DDR3, where that is given."""

    name: str
    tile: Tile
    transactions: tuple[Transaction, ...]
    bank: int | None = None


@dataclass(frozen=True)
class System:
    """Applications on hardware.

    Raises
    ------
    TypeError, ValueError
        In the words of what is wrong: a tile without memory, a transaction over the end of a row or
        a bank, buffers that overlap, periods that are not harmonic, a deadline below what the
        transaction takes alone.
    """

    hardware: Hardware
    applications: tuple[Application, ...]

    def __post_init__(self) -> None:
        names = [application.name for application in self.applications]
        _differ("applications", names)
        _differ("transactions", [t.full_name for t in self.transactions])
        for application in self.applications:
            self._check_application(application)
        self._check_periods()
        self._check_buffers()
        for transaction in self.transactions:
            alone = least_bound(self, transaction)
            if transaction.deadline < alone:
                raise ValueError(f"deadline of {transaction.full_name} must be at least {alone}, "
                                 f"its bound with everything for itself, not "
                                 f"{transaction.deadline}")

    @cached_property
    def transactions(self) -> tuple[Transaction, ...]:
        """Of all applications."""
        return tuple(transaction for application in self.applications
                     for transaction in application.transactions)

    @cached_property
    def of(self) -> Mapping[str, Application]:
        """Applications by name."""
        return {application.name: application for application in self.applications}

    @cached_property
    def hyperperiod(self) -> int:
        """Slots until everything begins anew."""
        return lcm(*(t.period for t in self.transactions)) // self.hardware.slot

    def slots(self, transaction: Transaction) -> int:
        """Slots of its period."""
        return transaction.period // self.hardware.slot

    def flow(self, transaction: Transaction) -> Flow:
        """The flow that it is part of."""
        return self.of[transaction.application].tile, transaction.write

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """All of them."""
        return tuple(dict.fromkeys(map(self.flow, self.transactions)))

    @cached_property
    def masters(self) -> int:
        """Transactions that can be under way at a time: K, and no more than one of each flow."""
        return min(self.hardware.masters, len(self.flows))

    def routers(self, transaction: Transaction) -> int:
        """N_R: routers on its path, the shortest."""
        tile, io = self.of[transaction.application].tile, self.hardware.io
        return abs(tile[0] - io[0]) + abs(tile[1] - io[1]) + 1

    def least_packets(self, flow: Flow) -> int:
        """VI.B: packets of a window that B_app takes, L = B_app T / (s_flit f_NoC): the payload
        of a network period, in whole packets."""
        payload = sum(Fraction(t.nbytes, 4 * t.period) for t in self.transactions
                      if self.flow(t) == flow) * self.hardware.period
        return max(1, -(-payload // PAYLOAD_FLITS))

    def network_flow(self, flow: Flow, packets: int) -> tdma.Flow:
        """The flow for `tdma`, with so many packets in each period."""
        tile, write = flow
        ends = (tile, self.hardware.io) if write else (self.hardware.io, tile)
        bandwidth = Fraction(packets * PAYLOAD_FLITS * 4 * 600, self.hardware.period)
        return tdma.Flow(flow_name(flow), *ends, bandwidth)

    def route(self, flow: Flow) -> tuple[Tile, ...]:
        """Along the row first, as the bounds count its routers."""
        (tile, write), io = flow, self.hardware.io
        return xy_route(self.hardware.mesh, *((tile, io) if write else (io, tile)))

    def together(self, one: Transaction, other: Transaction) -> bool:
        """Whether they may be under way at a time, whichever banks they have: no two of a flow,
        which has one sender; none of one application, which has one bank of DDR3; and of one
        direction only, where that is required."""
        return (self.flow(one) != self.flow(other) and one.application != other.application
                and (one.write == other.write or self.hardware.directions != "required"))

    def rows_opened(self, other: Transaction, meanwhile: Transaction) -> int:
        """How often ``other`` can begin, or be under way, during ``meanwhile``: each opens a row.

        Both last until their deadlines at most.
        """
        slot = self.hardware.slot
        lasts = sum(-(-t.deadline // slot) for t in (other, meanwhile))
        return -(-(lasts - 1) // self.slots(other))

    def _check_application(self, application: Application) -> None:
        hardware = self.hardware
        if not application.transactions:
            raise ValueError(f"application {application.name} must have a transaction at least")
        if application.tile not in hardware.mesh or application.tile == hardware.io:
            why = ("is the I/O tile" if application.tile == hardware.io else
                   f"is not in the mesh of {hardware.mesh.rows} x {hardware.mesh.columns}")
            raise ValueError(f"application {application.name} must be on a tile with local memory; "
                             f"{list(application.tile)} {why}")
        if application.bank is not None:
            check_integer(f"bank of {application.name}", application.bank, 0,
                          hardware.dram.banks - 1)
        for t in application.transactions:
            self._check_transaction(t)

    def _check_transaction(self, t: Transaction) -> None:
        hardware, name = self.hardware, t.full_name
        check_integer(f"bytes of {name}", t.nbytes, PACKET_BYTES)
        if t.nbytes % PACKET_BYTES:
            raise ValueError(f"bytes of {name} must be a multiple of {PACKET_BYTES}, a packet, "
                             f"not {t.nbytes}")
        if t.nbytes > hardware.bank_bytes:
            raise ValueError(f"{name} must fit a bank of local memory, {hardware.bank_bytes} "
                             f"bytes, not have {t.nbytes}")
        check_integer(f"row of {name}", t.row, 0, hardware.dram.rows - 1)
        check_integer(f"column of {name}", t.column, 0, hardware.row_bytes // REQUEST_BYTES - 1)
        if t.columns.stop * REQUEST_BYTES > hardware.row_bytes:
            raise ValueError(f"{name} must end within its row of {hardware.row_bytes} bytes, not "
                             f"{t.columns.stop * REQUEST_BYTES - hardware.row_bytes} bytes after "
                             "its end")
        if t.address is not None:
            if t.bank is None:
                raise ValueError(f"{name} must have a bank for its address {t.address}")
            check_integer(f"address of {name}", t.address, 0)
            if t.address % WORD_BYTES:
                raise ValueError(f"address of {name} must be a multiple of {WORD_BYTES}, a word of "
                                 f"local memory, not {t.address}")
            over = t.address + t.nbytes - hardware.bank_bytes
            if over > 0:
                raise ValueError(f"{name} must end within its bank of {hardware.bank_bytes} bytes "
                                 f"of local memory, not {over} bytes after its end")
        if t.bank is not None:
            check_integer(f"bank of {name} in local memory", t.bank, 0, hardware.banks - 1)
        check_integer(f"period of {name}", t.period, 1)
        check_integer(f"deadline of {name}", t.deadline, 1)
        if t.deadline > t.period:
            raise ValueError(f"deadline of {name} must be at most its period of {t.period}, not "
                             f"{t.deadline}")

    def _check_periods(self) -> None:
        hardware = self.hardware
        for one, other in combinations(self.transactions, 2):
            shared = gcd(one.period, other.period)
            if shared == 1 and min(one.period, other.period) > 1:
                raise ValueError(f"periods of {one.full_name} and {other.full_name} must have a "
                                 f"common divisor, not be coprime as {one.period} and "
                                 f"{other.period} are")
            if shared not in (one.period, other.period):
                raise ValueError(f"periods of {one.full_name} and {other.full_name} must be "
                                 f"harmonic, one a multiple of the other, not {one.period} and "
                                 f"{other.period}")
        for t in self.transactions:
            for what, cycles in (("of the network", hardware.period), ("a slot", hardware.slot)):
                if t.period % cycles:
                    raise ValueError(f"period of {t.full_name} must be a multiple of {cycles}, "
                                     f"{'that ' if what[0] == 'o' else ''}{what}, not {t.period}")
        if self.hyperperiod > MOST_SLOTS:
            raise ValueError(f"the hyperperiod must have at most {MOST_SLOTS} slots, not "
                             f"{self.hyperperiod}")

    def _check_buffers(self) -> None:
        for one, other in combinations(self.transactions, 2):
            mine, others = self.of[one.application], self.of[other.application]
            if (mine.tile == others.tile and one.address is not None and other.address is not None
                    and one.bank == other.bank and _overlap(one.address, one.nbytes, other.address,
                                                            other.nbytes)):
                raise ValueError(f"buffers of {one.full_name} and {other.full_name} must not "
                                 f"overlap in bank {one.bank} of tile {list(mine.tile)}")
            if mine is others and one.write and other.write and self.same_bursts(one, other):
                raise ValueError(f"{one.full_name} and {other.full_name} must not write the same "
                                 f"bursts of row {one.row}")

    def same_bursts(self, one: Transaction, other: Transaction) -> bool:
        """Whether two transactions overlap in DDR3 if their banks are one."""
        return one.row == other.row and (one.column < other.columns.stop
                                         and other.column < one.columns.stop)


def _differ(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names of {what} must differ, not be {name} twice")


def _overlap(one: int, length: int, other: int, size: int) -> bool:
    return one < other + size and other < one + length


def flow_name(flow: Flow) -> str:
    """As the network's table calls it."""
    tile, write = flow
    return f"{'from' if write else 'to'} ({tile[0]}, {tile[1]})"


# -- what is given out ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """What a transaction is given.

    Attributes
    ----------
    bank, address : int
        Of its buffer in local memory.
    start, length : int
        Slots from the beginning of its period, and slots for which it is under way.
    bound : int
        What it takes at most, in cycles.
    """

    bank: int
    address: int
    start: int
    length: int
    bound: int


@dataclass(frozen=True)
class Allocation:
    """What the applications are given.

    Attributes
    ----------
    banks : Mapping[str, int]
        Of DDR3, by application.
    windows : Mapping[Flow, tdma.Slot]
        Route, offset and length of each flow's window.
    places : Mapping[str, Place]
        By full name of the transaction.
    table : tuple of tuples of str
        For each slot of the hyperperiod who is under way.
    """

    banks: Mapping[str, int]
    windows: Mapping[Flow, tdma.Slot]
    places: Mapping[str, Place]
    table: tuple[tuple[str, ...], ...]

    def ratio(self, system: System) -> Fraction:
        """The greatest bound over deadline."""
        return max(Fraction(self.places[t.full_name].bound, t.deadline)
                   for t in system.transactions)


@dataclass(frozen=True)
class Meeting:
    """Whom a transaction meets: ``met`` rows opened, ``mixed`` with the other direction."""

    met: int = 0
    mixed: bool = False


def meets(system: System, transaction: Transaction, others: Iterable[Transaction]) -> Meeting:
    """What the transactions that are under way meanwhile cost."""
    among = list(others)
    return Meeting(sum(system.rows_opened(other, transaction) for other in among),
                   any(other.write != transaction.write for other in among))


def table_of(system: System, places: Mapping[str, Place]) -> tuple[tuple[str, ...], ...]:
    """For each slot of the hyperperiod who is under way, from starts and lengths."""
    table: list[list[str]] = [[] for _ in range(system.hyperperiod)]
    for t in system.transactions:
        where = places[t.full_name]
        for first in range(where.start, system.hyperperiod, system.slots(t)):
            for slot in range(first, first + where.length):
                table[slot % system.hyperperiod].append(t.full_name)
    return tuple(map(tuple, table))


def bound_of(system: System, transaction: Transaction, *, requesters: int, packets: int,
             meeting: Meeting, masters: int | None = None) -> int:
    """Cycles from the transaction's start to its end, at most.

    ``requesters`` of its local bank, ``packets`` in a window of its flow. Raises `ValueError` for
    a read to a bank of too many requesters.
    """
    hardware = system.hardware
    if not transaction.write and requesters > MOST_AT_SINK:
        raise ValueError(f"bank of {transaction.full_name} must have at most {MOST_AT_SINK} "
                         f"requesters, since flits come one in a cycle, not {requesters}")
    claim = scheduled_write if transaction.write else scheduled_read
    return hardware.cycles(claim(
        requesters=requesters, masters=masters or system.masters, met=meeting.met,
        mixed=int(meeting.mixed), nbytes=transaction.nbytes, window=packets * PACKET_FLITS,
        period=hardware.period, routers=system.routers(transaction), delta=hardware.delta,
        crossing=0, quarters=hardware.quarters, cap=hardware.cap, part=hardware.part))


def least_bound(system: System, transaction: Transaction) -> int:
    """Its bound with everything for itself: a bank, the network, DDR3."""
    return bound_of(system, transaction, requesters=1, packets=system.hardware.most_packets,
                    meeting=Meeting(), masters=1)
