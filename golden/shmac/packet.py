"""Packets of SHMAC's two networks: requests on one, responses on the other. A specification.

Ref: SHMAC thesis, 2.3 and 3.2.3, which has one network, and packets without byte strobes
and without an error flag. One packet is one transfer.

A request is about one word: ``address`` is that of its first byte in the target's memory, a
multiple of four. Strobes and data are as of the core's port (`cyclebound.golden.shmac.core_port`).
Every request but a plain write has one response; a plain write has one only if it failed, with
``write`` and ``error``, and its initiator does not wait for it.
"""

from dataclasses import dataclass

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import COORDINATE_BITS, LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS, STROBE_BITS

__all__ = ["CHANNELS", "DESTINATIONS", "POSITION", "REQUEST_PACKET", "RESPONSE_PACKET", "Packet",
           "RequestPacket", "ResponsePacket"]

POSITION = {"column": COORDINATE_BITS, "row": COORDINATE_BITS}
"""A tile, with the bits of each coordinate."""

REQUEST_PACKET = {
    "write": 1,
    "interrupt": 1,           # raise the target core's interrupt line; a plain write
    "sync": 1,                # LL or SC
    "initiator": POSITION,    # the tile whose core asks
    "target": POSITION,       # the tile whose memory serves it
    "address": LOCAL_BITS,
    "strobes": STROBE_BITS,
    "data": DATA_BITS,
}
"""Fields of a request, with their bits."""

RESPONSE_PACKET = {
    "write": 1,               # to a plain write, which failed
    "error": 1,               # nothing answers at this address
    "initiator": POSITION,    # where it goes
    "target": POSITION,       # where it comes from
    "data": DATA_BITS,
}
"""Fields of a response, with their bits."""

CHANNELS = {"request": REQUEST_PACKET, "response": RESPONSE_PACKET}
"""The two networks, each with its packets."""

DESTINATIONS = {"request": "target", "response": "initiator"}
"""The field that says where a packet of each goes."""


@dataclass(frozen=True)
class RequestPacket:
    """A request, with the fields of `REQUEST_PACKET`; tiles are (row, column)."""

    write: bool = False
    interrupt: bool = False
    sync: bool = False
    initiator: Tile = (0, 0)
    target: Tile = (0, 0)
    address: int = 0
    strobes: int = 0
    data: int = 0

    @property
    def answered(self) -> bool:
        """Whether its initiator waits for a response."""
        return not self.write or self.sync

    @property
    def destination(self) -> Tile:
        """The tile that it is on its way to."""
        return self.target


@dataclass(frozen=True)
class ResponsePacket:
    """A response, with the fields of `RESPONSE_PACKET`; tiles are (row, column)."""

    write: bool = False
    error: bool = False
    initiator: Tile = (0, 0)
    target: Tile = (0, 0)
    data: int = 0

    @property
    def destination(self) -> Tile:
        """The tile that it is on its way to."""
        return self.initiator


Packet = RequestPacket | ResponsePacket
