"""The network's flits, and the fields of their headers. A specification.

A flit is ``data`` with two marks. ``first`` is on a packet's first flit, ``last`` on its last one;
a packet of one flit has both. Within a packet, both together mark an *abort*: the flit ends a
packet whose sender broke the rules, and its receiver drops the packet.

The first flit has the route. With source routing it holds two bits for each router, the first
router's lowest; each router takes its own off. They name the direction to leave by; the direction
from which the packet came stands for the local port, since no packet turns around. With XY routing
it holds the destination: the column in bits 0 to 3, the row in bits 4 to 7.

Between network interfaces, a packet's second flit is its *address header*: in its highest bit
whether the packet is the last one of its transaction, in the others the address of the packet's
first word, in words. The routers do not look at it.
"""

from collections.abc import Iterable

from cyclebound.golden.noc.routes import Port, Tile

__all__ = ["CODE_BITS", "COORDINATE_BITS", "HEADER_FLITS", "LENGTH_BITS", "PAYLOAD_FLITS",
           "ROUTINGS", "TIME_BITS", "address_header", "longest_route", "source_header", "xy_header"]

CODE_BITS = 2         # a router's share of a source route
COORDINATE_BITS = 4   # of a row, and of a column
ROUTINGS = ("source", "xy")
PAYLOAD_FLITS = 64    # s_pk^max of memory-composition, Table III
HEADER_FLITS = 2      # s_header: the route, and the address
LENGTH_BITS = 16      # of a transaction's number of words
TIME_BITS = 16        # of whatever an interface's window is made of


def longest_route(width: int) -> int:
    """Routers on the longest route that a header of ``width`` bits can say."""
    return width // CODE_BITS


def source_header(outputs: Iterable[Port], *, width: int = 32) -> int:
    """The first flit for these outputs, of which the last is ``LOCAL`` (see `routes.ports`).

    Raises `ValueError` for a route with a turn around, without an end, or too long for ``width``
    bits.
    """
    outputs = list(outputs)
    if len(outputs) > longest_route(width):
        raise ValueError(f"route must have at most {longest_route(width)} routers, not "
                         f"{len(outputs)}")
    if len(outputs) < 2 or outputs[-1] is not Port.LOCAL:
        raise ValueError("route must have a link at least, and end with LOCAL")
    header, came_from = 0, Port.LOCAL
    for place, port in enumerate(outputs):
        if port is came_from:
            raise ValueError(f"route must not turn around in router {place} of its path")
        header |= (came_from if port is Port.LOCAL else port) << CODE_BITS * place
        came_from = port.opposite
    return header


def xy_header(destination: Tile) -> int:
    """The first flit for XY routing. Raises `ValueError` for a tile beyond 16 x 16."""
    row, column = destination
    if not (0 <= row < 1 << COORDINATE_BITS and 0 <= column < 1 << COORDINATE_BITS):
        raise ValueError(f"destination must be within 16 x 16 tiles, not {destination}")
    return column | row << COORDINATE_BITS


def address_header(address: int, *, end: bool, width: int = 32) -> int:
    """The second flit of a packet between interfaces. Raises `ValueError` for a bad address."""
    if not 0 <= address < 1 << width - 1:
        raise ValueError(f"address must be from 0 to {(1 << width - 1) - 1}, not {address}")
    return address | end << width - 1
