"""SHMAC's packets and ports. A specification.

Ref: SHMAC thesis, 2.3 and 3.2.3. One packet is one transfer. A tile has the
coordinates (row, column), 4 bits each; the global address of a word is 4 + 4 + 24 bits, the tile's
coordinates and a local address. The thesis says neither which of its coordinates i and j is the row
nor which dimension comes first; here i is the row, and packets go along the row first.
"""

from dataclasses import dataclass, fields
from enum import IntEnum

from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.routes import Port, Tile, xy_port

__all__ = [
    "ADDRESS_BITS",
    "DATA_BITS",
    "FLAGS",
    "ShmacPacket",
    "ShmacPort",
    "dimension_order",
]

ADDRESS_BITS, DATA_BITS = 24, 32
FLAGS = ("response", "write", "interrupt", "sync")


class ShmacPort(IntEnum):
    """A router's six ports, in the order of its arrays."""

    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3
    MASTER = 4
    SLAVE = 5


@dataclass(frozen=True)
class ShmacPacket:
    """One packet: a memory operation's request or response.

    Attributes
    ----------
    response, write, interrupt, sync : bool
        What it is. A write without ``sync`` has no response; LL and SC carry ``sync``.
    initiator : (row, column)
        Of the tile whose master made the request.
    target : (row, column)
        Of the tile whose slave serves it: the 4 + 4 upper bits of the global address.
    address, data : int
        24 bits of local address, and 32 bits of data.
    """

    response: bool = False
    write: bool = False
    interrupt: bool = False
    sync: bool = False
    initiator: Tile = (0, 0)
    target: Tile = (0, 0)
    address: int = 0
    data: int = 0

    @property
    def destination(self) -> Tile:
        """The tile that it is on its way to."""
        return self.initiator if self.response else self.target

    @property
    def answered(self) -> bool:
        """Whether such an operation has a response: the initiator waits for it."""
        return not self.write or self.sync

    def word(self, *, address_bits: int = ADDRESS_BITS, data_bits: int = DATA_BITS) -> int:
        """Its bits, in the order of the attributes, the first one lowest."""
        bits = at = 0
        for field in fields(self):
            value, width = getattr(self, field.name), 1
            if isinstance(value, tuple):
                value, width = value[1] | value[0] << COORDINATE_BITS, 2 * COORDINATE_BITS
            elif field.name in ("address", "data"):
                width = address_bits if field.name == "address" else data_bits
            bits |= (value & (1 << width) - 1) << at
            at += width
        return bits


def dimension_order(here: Tile, there: Tile, *, response: bool) -> ShmacPort:
    """The output for a packet at ``here``: along the row, along the column, to master or slave."""
    port = xy_port(here, there)
    if port is not Port.LOCAL:
        return ShmacPort(port)
    return ShmacPort.MASTER if response else ShmacPort.SLAVE
