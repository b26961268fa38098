"""Masters and slaves for SHMAC's network, by their time alone: stand-ins for cores and memories.

What they do is in golden/shmac/exchange.py. A helper of `shmac.network`: its testbenches, searches
and explorations use it, and its tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.hdl.shmac.network import Network
from cyclebound.hdl.shmac.packet import PositionLayout

__all__ = ["NUMBER_BITS", "PORTS", "SERVICE_BITS", "Exchange", "NetworkHarness", "WishLayout"]

NUMBER_BITS = 8   # of a tile's number
SERVICE_BITS = 6
_UNDER_WAY_BITS = 8
PORTS = ("master_requests", "master_responses", "slave_requests", "slave_responses", "host")

WishLayout = data.StructLayout({"begins": 1, "write": 1, "target": PositionLayout})


class Exchange(wiring.Component):
    """A master and a slave for each tile of a `Network`, and the host.

    Latency: a master that is idle offers a request in the cycle in which it wants one. A slave
    offers its response ``service`` cycles after the one in which it took the request.

    The data of a packet are the number of its master, and, 8 bits higher, that of its target: tiles
    row by row, then the host.

    Parameters
    ----------
    network : Network
        Whose they are.

    Members
    -------
    wishes : In(WishLayout).array(tiles + 1)
        What each master, and at last the host, would begin in this cycle.
    most : In(8).array(tiles + 1)
        How many requests of its own may not have come to their slaves where a master begins; all
        ones: any number.
    service : In(6).array(tiles)
        Of each slave, at least 1; constant.
    offers : Out(WishLayout).array(tiles + 1)
        What each offers.
    taken, received : Out(tiles + 1)
        Whose offer is taken, and who has a response.
    landed : Out(tiles)
        Slaves that take a request.
    landed_from : Out(8).array(tiles)
        The number of its master.
    master_requests, master_responses, slave_requests, slave_responses, host
        To the network.
    """

    def __init__(self, network):
        self._shape, tiles = network.shape, len(network.shape.tiles)
        super().__init__({
            "wishes": In(WishLayout).array(tiles + 1),
            "most": In(_UNDER_WAY_BITS).array(tiles + 1),
            "service": In(SERVICE_BITS).array(tiles), "offers": Out(WishLayout).array(tiles + 1),
            "taken": Out(tiles + 1), "received": Out(tiles + 1), "landed": Out(tiles),
            "landed_from": Out(NUMBER_BITS).array(tiles),
            **{name: network.signature.members[name].flip() for name in PORTS}})

    def elaborate(self, platform):
        m = Module()
        places = [*self._shape.tiles, (0, 0)]  # that of the host is a name for its writes
        for number, (place, sink) in enumerate(zip(
                places, [*self.master_requests, self.host], strict=True)):
            response = (self.master_responses[number] if number < len(self.master_responses)
                        else None)
            self._master(m, number, place, sink, response)
        for number in range(len(self.slave_requests)):
            self._slave(m, number)
        return m

    def _master(self, m, number, place, sink, response):
        wish, offer = self.wishes[number], self.offers[number]
        kept, pending, waits = (Signal(shape, name=f"{name}_{number}") for name, shape in (
            ("kept", WishLayout), ("pending", 1), ("waits", 1)))
        under_way = Signal(_UNDER_WAY_BITS, name=f"under_way_{number}")
        begins = Signal(name=f"begins_{number}")
        landed = Cat(there & (who == number)
                     for there, who in zip(self.landed, self.landed_from, strict=True))
        answered = 0 if response is None else response.valid
        target = offer.target
        m.d.comb += [
            begins.eq(wish.begins & ~pending & ~waits
                      & (self.most[number].all() | (under_way <= self.most[number]))),
            sink.valid.eq(pending | begins), self.taken[number].eq(sink.valid & sink.ready),
            self.received[number].eq(answered),
        ]
        with m.If(sink.valid):  # else what is beside it would make states different
            m.d.comb += [
                offer.eq(Mux(pending, kept, wish)), offer.begins.eq(1),
                sink.payload.write.eq(offer.write), sink.payload.target.eq(target),
                sink.payload.initiator.row.eq(place[0]),
                sink.payload.initiator.column.eq(place[1]),
                sink.payload.data.eq(number | (target.row * self._shape.columns + target.column)
                                     << NUMBER_BITS),
            ]
        m.d.sync += [pending.eq(sink.valid & ~sink.ready), kept.eq(offer),
                     under_way.eq(under_way + begins - sum(landed))]
        with m.If(sink.valid & sink.ready & ~offer.write):
            m.d.sync += waits.eq(1)
        with m.Elif(answered):
            m.d.sync += waits.eq(0)
        if response is not None:
            m.d.comb += response.ready.eq(1)

    def _slave(self, m, number):
        request, response = self.slave_requests[number], self.slave_responses[number]
        busy, answers, left = (Signal(shape, name=f"{name}_{number}") for name, shape in (
            ("busy", 1), ("answers", 1), ("left", SERVICE_BITS)))
        kept = Signal.like(response.payload, name=f"answer_{number}")
        done = left == 0
        m.d.comb += [
            request.ready.eq(~busy), response.valid.eq(busy & done & answers),
            response.payload.eq(kept), self.landed[number].eq(request.valid & ~busy),
            self.landed_from[number].eq(request.payload.data[:NUMBER_BITS]),
        ]
        with m.If(~busy):
            m.d.sync += busy.eq(request.valid)
            with m.If(request.valid):
                m.d.sync += [
                    answers.eq(~request.payload.write | request.payload.sync),
                    left.eq(self.service[number] - 1), kept.data.eq(request.payload.data),
                    kept.initiator.eq(request.payload.initiator),
                    kept.target.eq(request.payload.target),
                ]
        with m.Elif(~done):
            m.d.sync += left.eq(left - 1)
        with m.Elif(response.ready | ~answers):  # and nothing is left that makes states different
            m.d.sync += [busy.eq(0), answers.eq(0), kept.eq(0)]


class NetworkHarness(wiring.Component):
    """A `Network` between its `Exchange`'s masters and slaves.

    Latency: that of its parts.

    Parameters
    ----------
    rows, columns, address_bits, data_bits
        Of the network, with 16 bits of data at least.

    Members
    -------
    wishes, most, service, offers, taken, received, landed, landed_from
        Of the `Exchange`.
    """

    def __init__(self, *, rows, columns, address_bits=LOCAL_BITS, data_bits=DATA_BITS):
        self.network = Network(rows=rows, columns=columns, address_bits=address_bits,
                               data_bits=data_bits)
        self._exchange = Exchange(self.network)
        super().__init__({name: member for name, member in
                          self._exchange.signature.members.items() if name not in PORTS})

    def elaborate(self, platform):
        m = Module()
        m.submodules.network, m.submodules.exchange = self.network, self._exchange
        for name, member in self.signature.members.items():
            inner, outer = getattr(self._exchange, name), getattr(self, name)
            for one, other in zip(*((side if member.dimensions else [side])
                                    for side in (inner, outer)), strict=True):
                m.d.comb += one.eq(other) if member.flow is In else other.eq(one)
        for name in PORTS:
            inner, outer = getattr(self.network, name), getattr(self._exchange, name)
            for one, other in zip(*((side if isinstance(side, list) else [side])
                                    for side in (inner, outer)), strict=True):
                wiring.connect(m, one, other)
        return m
