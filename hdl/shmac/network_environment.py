"""Masters and slaves of SHMAC's network that may do whatever its bounds allow, for explorations.

A helper of `shmac.network`, whose explorations and tests cover it.
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from cyclebound.golden.shmac.traffic import HOST, MANY
from cyclebound.hdl.shmac.network_harness import PORTS, Exchange

__all__ = ["ExchangeEnvironment"]


class ExchangeEnvironment(wiring.Component):
    """An `Exchange` whose masters begin what they choose to.

    Latency: that of the `Exchange`.

    Parameters
    ----------
    network : cyclebound.hdl.shmac.network.Network
        Whose masters and slaves these are.
    masters : Senders
        Who sends, to one slave each.
    service : int
        Of each slave.
    most : mapping of Tile to int
        How many requests of these masters may be under way where they begin one.

    Members
    -------
    choice : In
        By master, in their order: it begins, and, but for the host, whether it writes.
    master_requests, master_responses, slave_requests, slave_responses, host
        To and from the network.
    """

    def __init__(self, network, *, masters, service, most=None):
        self._exchange = Exchange(network)
        self._places = [*network.shape.tiles, HOST]
        self._masters = {master: target for master, (target,) in masters.items()}
        self._service, self._most = service, most or {}
        super().__init__({
            "choice": In(sum(1 + (master != HOST) for master in masters)),
            **{name: self._exchange.signature.members[name] for name in PORTS}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.exchange = exchange = self._exchange
        for name in PORTS:
            inner, outer = getattr(exchange, name), getattr(self, name)
            for one, other in zip(*((side if isinstance(side, list) else [side])
                                    for side in (inner, outer)), strict=True):
                wiring.connect(m, one, wiring.flipped(other))
        m.d.comb += [its.eq(self._service) for its in exchange.service]
        bits = iter(self.choice)
        for number, place in enumerate(self._places):
            target = self._masters.get(place)
            if target is None:
                continue
            wish = exchange.wishes[number]
            m.d.comb += [
                wish.begins.eq(next(bits)), wish.write.eq(1 if place == HOST else next(bits)),
                wish.target.row.eq(target[0]), wish.target.column.eq(target[1]),
                exchange.most[number].eq(self._most.get(place, MANY)),
            ]
        return m
