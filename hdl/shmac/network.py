"""SHMAC's network with two channels: requests on one grid of routers, responses on another."""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.routes import Mesh, Port
from cyclebound.golden.shmac.address_map import COORDINATE_BITS, LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.golden.shmac.packet import CHANNELS
from cyclebound.hdl.noc.handshake_router import COUNTER_BITS
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared
from cyclebound.hdl.shmac.packet import check_packets, packet_layout
from cyclebound.hdl.shmac.router import Router

__all__ = ["Network"]

_LINKS = (Port.NORTH, Port.EAST, Port.SOUTH, Port.WEST)


class Network(wiring.Component):
    """Rows and columns of tiles, each with a router for requests and one for responses.

    Latency: 3 cycles in each router, without other traffic: a request that is taken in cycle T is
    on offer to a slave ``h`` links away from T + 3 (h + 1) on, and so is a response to its master.
    Tiles are numbered row by row, from the north-west; arrays have one element for each tile.

    No packet waits for one of the other channel but in a tile, where a slave that has a response
    to offer may leave requests waiting. As masters take responses at once, nothing waits for ever.
    A packet to a tile that is not there is dropped and counted: the tile that sends it sees to it
    that there is none, and that ``initiator`` is itself.

    Parameters
    ----------
    rows, columns : int
        From 1 to 16 each.
    address_bits, data_bits : int
        Of a packet: at most 24 and 32; fewer are for proofs.

    Members
    -------
    master_requests : In(stream of RequestPacketLayout).array(rows * columns)
        From each tile's master, to the tile ``target``.
    master_responses : Out(stream of ResponsePacketLayout).array(rows * columns)
        To each tile's master, which takes them at once.
    slave_requests : Out(stream of RequestPacketLayout).array(rows * columns)
        To each tile's slave.
    slave_responses : In(stream of ResponsePacketLayout).array(rows * columns)
        From each tile's slave, to the tile ``initiator``.
    host : In(stream of RequestPacketLayout)
        Plain writes from outside, which enter tile (0, 0) from the west. Responses to those that
        fail go to the master of the tile that they name as ``initiator``.
    dropped_requests, dropped_responses : Out(16).array(rows * columns)
        Packets that the routers of each tile have dropped.
    """

    def __init__(self, *, rows, columns, address_bits=LOCAL_BITS, data_bits=DATA_BITS):
        check_integer("Row count", rows, 1, 1 << COORDINATE_BITS)
        check_integer("Column count", columns, 1, 1 << COORDINATE_BITS)
        self._bits = {"address_bits": address_bits, "data_bits": data_bits}
        check_packets(**self._bits)
        self.shape = Mesh(rows, columns)
        requests, responses = (stream.Signature(packet_layout(channel, **self._bits))
                               for channel in CHANNELS)
        tiles = rows * columns
        super().__init__({
            "master_requests": In(requests).array(tiles),
            "master_responses": Out(responses).array(tiles),
            "slave_requests": Out(requests).array(tiles),
            "slave_responses": In(responses).array(tiles),
            "host": In(requests),
            "dropped_requests": Out(COUNTER_BITS).array(tiles),
            "dropped_responses": Out(COUNTER_BITS).array(tiles),
        })

    @cached_property
    def routers(self):
        """The routers of each channel, by tile, made when first used: not if only the ports are
        read."""
        return {channel: {tile: Router(channel=channel, **self._bits) for tile in self.shape.tiles}
                for channel in CHANNELS}

    def elaborate(self, platform):
        m = Module()
        for channel, sinks, sources, dropped in (
                ("request", self.master_requests, self.slave_requests, self.dropped_requests),
                ("response", self.slave_responses, self.master_responses, self.dropped_responses)):
            routers = self.routers[channel]
            for number, (tile, router) in enumerate(routers.items()):
                m.submodules["{}_{}_{}".format(channel, *tile)] = shared(
                    router, platform, alike=(channel, *self._bits.values()))
                wiring.connect(m, wiring.flipped(sinks[number]), router.sinks[Port.LOCAL])
                wiring.connect(m, router.sources[Port.LOCAL], wiring.flipped(sources[number]))
                connected = 1 << Port.LOCAL
                for port in _LINKS:
                    there = self.shape.neighbour(tile, port)
                    if there is not None:
                        connected |= 1 << port
                        wiring.connect(m, router.sources[port],
                                       routers[there].sinks[port.opposite])
                m.d.comb += [
                    router.connected.eq(connected),
                    router.position.row.eq(tile[0]), router.position.column.eq(tile[1]),
                    dropped[number].eq(router.unroutable),
                ]
        entrance = self.routers["request"][0, 0].sinks[Port.WEST]
        wiring.connect(m, wiring.flipped(self.host), entrance)
        return m
