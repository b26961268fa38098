"""One of SHMAC's routers beside its model, with a sender at every input."""

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.routes import Tile
from cyclebound.tb.bench import Bench
from cyclebound.tb.noc.flits import Sender
from cyclebound.tb.noc.shmac_packets import PacketPort

__all__ = ["RouterTester", "beside", "places"]

_DELAY = 3  # cycles that the counters come later
_QUIET = 2  # that a router takes from its last packet's end until it is idle

Packet = TypeVar("Packet")


def places(rng: random.Random) -> list[Tile]:
    """Places of a router: the corners of the greatest grid, and others."""
    last = (1 << COORDINATE_BITS) - 1
    return [(0, 0), (last, last), *((rng.randint(0, last), rng.randint(0, last))
                                    for _ in range(10))]


def beside(place: Tile, rng: random.Random) -> Tile:
    """That place, or one of which a coordinate differs in a bit, or in both coordinates."""
    row, column = (at ^ rng.choice((0, 1 << rng.randrange(COORDINATE_BITS))) for at in place)
    return row, column


class RouterTester(Generic[Packet]):
    """The router, its model, and a sender at every input; one `cycle` at a time.

    Parameters
    ----------
    model
        With ``offers``, ``acknowledges``, ``step`` and ``inside``, and the counters' names.
    constant : mapping
        Inputs that stay as they are.
    counters : sequence of str
        Outputs that count packets dropped.

    Attributes
    ----------
    handed : callable
        Told the output, and the packet that it has handed over.
    """

    def __init__(self, bench: Bench, model: Any, *, ports: int, constant: Mapping[str, int],
                 counters: Sequence[str]) -> None:
        self.bench, self.model, self.ports = bench, model, ports
        bench.scramble_idle()
        self.senders: list[Sender[Packet]] = [Sender() for _ in range(ports)]
        i, o = bench.inputs, bench.outputs
        self._sinks = [PacketPort(i, o, f"sinks.{n}") for n in range(ports)]
        self._sources = [PacketPort(o, i, f"sources.{n}") for n in range(ports)]
        self._busy = i["slave_busy"].mask if "slave_busy" in i.fields else 0
        self._constant = i.pack(constant)
        self._counters = {name: (o[name], deque([0] * _DELAY, maxlen=_DELAY)) for name in counters}
        self.handed: Callable[[int, Packet], None] = lambda output, packet: None

    async def cycle(self, ready: Sequence[bool] = (), come: Sequence[bool] | None = None, *,
                    busy: bool = False) -> None:
        """Offer, and compare every output. ``ready``: without any, all are."""
        ready = ready or (True,) * self.ports
        word = self._constant | (self._busy if busy else 0)
        offers = {}
        for number, (sender, port) in enumerate(zip(self.senders, self._sinks, strict=True)):
            packet = sender.begin(come=come is None or come[number])
            if packet is not None:
                offers[number] = packet
                word |= port.word(packet)
        expected = care = 0
        leaving = []
        for number, (port, out) in enumerate(zip(self._sources, self.model.offers, strict=True)):
            care |= port.valid.mask
            if ready[number]:
                word |= port.ready.mask
            if out is not None:
                expected |= port.word(out)
                care |= port.wide
                if ready[number]:
                    leaving.append((number, out))
        told = self.model.acknowledges(ready)
        for port, tell in zip(self._sinks, told, strict=True):
            care |= port.ready.mask
            expected |= port.ready.mask if tell else 0
        for field, past in self._counters.values():
            expected |= field.to(past[0])
            care |= field.mask
        self.model.step(offers, ready, busy)
        for name, (_, past) in self._counters.items():
            past.append(getattr(self.model, name))
        self.bench.check(await self.bench.step(word), expected, care)
        for number, out in leaving:
            self.handed(number, out)
        for number in offers:
            if told[number]:
                self.senders[number].taken()

    async def finish(self) -> None:
        """Run cycles until all packets sent have left."""
        while not all(sender.done for sender in self.senders) or self.model.inside:
            await self.cycle()
        for _ in range(_QUIET + _DELAY):
            await self.cycle()
