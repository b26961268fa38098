"""The proof that SHMAC's network drops no packet, and brings each to the tile that it is for.

Ref: SHMAC thesis, 2.3: along the row first, then along the column.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module

from cyclebound.golden.noc.routes import Port
from cyclebound.golden.shmac.packet import DESTINATIONS
from cyclebound.tb.watcher import Watcher

__all__ = ["GridRoutesProof", "RoutesProof"]


class RoutesProof(Watcher):
    """Proves, for any number of cycles, that no router drops a packet, and that each packet that
    leaves the network leaves it at its destination.

    Assumes that what is offered to the network is for a tile of it.

    Parameters
    ----------
    target : Network
        What is watched.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._network, self._ports = target, self

    def elaborate(self, platform):
        m = Module()
        network, ports = self._network, self._ports
        shape = network.shape
        leaves = {"request": ports.slave_requests, "response": ports.master_responses}
        self._offers(m, shape)
        for channel, name in DESTINATIONS.items():
            m.d.sync += Cover(Cat(port.valid for port in leaves[channel]).any(),
                              f"a {channel} arrives")
            for number, (tile, router) in enumerate(network.routers[channel].items()):
                at, where = f"{channel} at {tile}", lambda packet, name=name: packet[name]
                drops = Cat(unit.unroutable for unit in router.inputs)
                m.d.sync += [
                    Assert(~drops.any(), f"a packet is dropped: {at}"),
                    Assert(~leaves[channel][number].valid | self._along(
                        where(leaves[channel][number].payload), tile, Port.LOCAL, shape),
                        f"a packet leaves where it is not for: {at}"),
                ]
                self._inputs(m, router, tile, where, shape)
                self._outputs(m, router, tile, where, shape)
        return m

    def _offers(self, m, shape):
        """What is offered to the network."""
        for offer in (*self.master_requests, self.host):
            m.d.sync += Assume(~offer.valid | self._inside(offer.payload.target, shape),
                               "a request to a tile that is not there")
        for offer in self.slave_responses:
            m.d.sync += Assume(~offer.valid | self._inside(offer.payload.initiator, shape),
                               "a response to a tile that is not there")

    def _inside(self, there, shape):
        return (there.row < shape.rows) & (there.column < shape.columns)

    def _along(self, there, tile, port, shape):
        """A packet for ``there`` leaves ``tile`` by ``port``."""
        row, column = tile
        across = {Port.EAST: there.column > column, Port.WEST: there.column < column}
        if port in across:
            return self._inside(there, shape) & across[port]
        along = {Port.NORTH: there.row < row, Port.SOUTH: there.row > row,
                 Port.LOCAL: there.row == row}
        return self._inside(there, shape) & (there.column == column) & along[port]

    def _came(self, there, tile, port, shape):
        """A packet for ``there`` may have come to ``tile`` by ``port``."""
        row, column = tile
        free = {Port.EAST: there.column <= column, Port.WEST: there.column >= column,
                Port.LOCAL: 1}
        if port in free:
            return self._inside(there, shape) & free[port]
        along = {Port.NORTH: there.row >= row, Port.SOUTH: there.row <= row}
        return self._inside(there, shape) & (there.column == column) & along[port]

    def _inputs(self, m, router, tile, where, shape):
        """A packet that waits at an input asks for its way on."""
        for port, unit in zip(Port, router.inputs, strict=True):
            head, queued = (where(Array(unit.places)[unit.leaves ^ place]) for place in (0, 1))
            for waits, there, decoded in ((unit.valid, head, unit.head),
                                          (unit.second, queued, unit.queued)):
                m.d.sync += [
                    Assert(~waits | self._came(there, tile, port, shape),
                           "invariant: it has come this way"),
                    Assert(~waits | (decoded.output == Cat(
                        self._along(there, tile, out, shape) for out in Port)),
                        "invariant: it asks for its way"),
                ]
            m.d.sync += [
                Assert(~unit.second | unit.valid, "invariant: a second packet needs a first"),
                Assert(unit.enters == (unit.leaves ^ (unit.valid & ~unit.second)),
                       "invariant: the next one's place is free"),
            ]

    def _outputs(self, m, router, tile, where, shape):
        """A packet that waits at an output is on its way, and so is the one that crosses."""
        for port, output in zip(Port, router.outputs, strict=True):
            m.d.sync += [
                Assert(~output.source.valid | self._along(
                    where(output.source.payload), tile, port, shape),
                    "invariant: what is on offer is on its way"),
                Assert(~output.second | self._along(where(output.queued), tile, port, shape),
                       "invariant: what is queued is on its way"),
                Assert((output.owner & (output.owner - 1)) == 0, "invariant: one owner"),
                Assert(output.moves == output.owner.any(), "invariant: an owner's packet moves"),
                Assert(~output.second | output.source.valid,
                       "invariant: a second packet needs an offer"),
                Assert(~(output.second & output.moves), "invariant: there is a place"),
            ]
            for number, unit in enumerate(router.inputs):
                m.d.sync += Assert(~output.owner[number] | self._along(
                    where(unit.packet), tile, port, shape),
                    "invariant: what crosses is on its way")


class GridRoutesProof(RoutesProof):
    """`RoutesProof` of a grid's network, whatever programs ask for: that tiles send packets to
    tiles that are there is proved, too.

    Assumes that the host's are for tiles that are there, and that so is whom it names.

    Parameters
    ----------
    target : Grid
        What is watched.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._network = self._ports = target.network

    def _offers(self, m, shape):
        network, host = self._network, self.host
        m.d.sync += Assume(~host.valid | (self._inside(host.payload.target, shape)
                                          & self._inside(host.payload.initiator, shape)),
                           "the host names a tile that is not there")
        for offer, name in (*((offer, "target") for offer in network.master_requests),
                            *((offer, "initiator") for offer in network.slave_responses)):
            m.d.sync += Assert(~offer.valid | self._inside(offer.payload[name], shape),
                               f"a packet whose {name} is not there")
        for offer in network.master_requests:
            m.d.sync += Assert(~offer.valid | self._inside(offer.payload.initiator, shape),
                               "a request of a tile that is not there")
        for router in network.routers["request"].values():
            for unit in router.inputs:
                head, queued = (Array(unit.places)[unit.leaves ^ place] for place in (0, 1))
                for waits, packet in ((unit.valid, head), (unit.second, queued)):
                    self._named(m, waits, packet, shape)
            for output in router.outputs:
                self._named(m, output.source.valid, output.source.payload, shape)
                self._named(m, output.second, output.queued, shape)
                for owner, unit in zip(output.owner, router.inputs, strict=True):
                    self._named(m, owner, unit.packet, shape)

    def _named(self, m, waits, packet, shape):
        m.d.sync += Assert(~waits | self._inside(packet.initiator, shape),
                           "invariant: the tile that a request comes from is there")
