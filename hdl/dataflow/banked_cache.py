"""Banks of a cache with tags, a crossbar of their ports in front, and ports of whole lines below.

Part of the first-level and of the second-level cache, whose models, testbenches and tests cover it.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.dataflow.cache_bank import CacheBank
from cyclebound.hdl.dataflow.layouts import LineRequestLayout, LineResponseLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.shared import shared

__all__ = ["BankedCache", "LinePort", "divided"]


class LinePort(wiring.Signature):
    """Asks a memory for whole lines.

    A read's ``response`` has its ``id``, and comes in any cycle from that on in which the request
    was taken; a write has none. Requests take effect in the order in which they are taken.

    Parameters
    ----------
    id_width, line_width, line, width : int
        Bits of an ``id`` and of a line's number; words of a line, and bits of a word.

    Members
    -------
    request : Out(stream of LineRequestLayout)
        Requests.
    response : In(Strobe of LineResponseLayout)
        The lines that reads have asked for.
    """

    def __init__(self, *, id_width, line_width, line, width):
        super().__init__({
            "request": Out(stream.Signature(LineRequestLayout(
                id_width=id_width, line_width=line_width, line=line, width=width))),
            "response": In(Strobe(LineResponseLayout(id_width=id_width, line=line, width=width))),
        })


def divided(value, by):
    """Quotient and remainder of ``value`` by a constant: a multiplication by its reciprocal."""
    if not by & by - 1:
        bits = ceil_log2(by)
        return value[bits:], value[:bits]
    wide = len(value) + ceil_log2(by)  # so many bits that the reciprocal's error does not count
    most = ((1 << len(value)) - 1) // by
    quotient = ((value * ((1 << wide) // by + 1)) >> wide)[:most.bit_length()]
    return quotient, (value - quotient * by)[:ceil_log2(by)]


class BankedCache(wiring.Component):
    """What a cache does between its ports and the memories below.

    Parameters
    ----------
    shape : golden.dataflow.cache_policies.CacheShape
        Sizes and policies.
    members : mapping
        The ports of requesters: ``ports``, an array of ``request`` and ``response``.
    count, tag_width, width : int
        How many ports; bits of a tag and of a word.
    whole : bool
        Requests are of lines, and only reads are answered.

    A cache has ``line_ports``, to the memories below, and `access_of`.
    """

    def __init__(self, members, *, shape, count, tag_width, width, whole):
        self.shape, self.banks, self.tag_width, self.width = shape, shape.banks, tag_width, width
        self._count, self._whole = count, whole
        super().__init__({**members, "flush": In(1), "flushed": Out(1)})

    @cached_property
    def parts(self):  # made late: a cache that is only asked for its ports has none
        return [CacheBank(shape=self.shape, ports=self._count, tag_width=self.tag_width,
                          width=self.width, whole=self._whole) for _ in range(self.banks)]

    def access_of(self, request):
        """Of a port's request its number of a line, and the other fields of a bank's request."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        banks = self.parts
        for number, bank in enumerate(banks):
            m.submodules[f"bank_{number}"] = shared(
                bank, platform, alike=(self.shape, self._count, self.tag_width, self.width,
                                       self._whole))

        # Accesses that have waited: of each port one in a cycle, before its request on offer.
        replays = []
        for p in range(self._count):
            m.submodules[f"replay_{p}"] = arbiter = RoundRobinArbiter(count=self.banks)
            m.d.comb += [arbiter.requests.eq(Cat(bank.waits & (bank.waiting.port == p)
                                                 for bank in banks)),
                         arbiter.accept.eq(1)]
            replays.append(arbiter.grant)
        occupied = Signal(self._count)
        m.d.comb += occupied.eq(Cat(grant.any() for grant in replays))

        # Requests: of each bank one in a cycle, round robin.
        grants, bank_of, accesses = [], [], []
        for p, port in enumerate(self.ports):
            number, others = self.access_of(port.request.payload)
            access = Signal(banks[0].request, name=f"access_{p}")
            local, of = divided(number, self.banks)
            bank = Signal(ceil_log2(self.banks), name=f"bank_of_{p}")
            m.d.comb += [access.line.eq(local), bank.eq(of),
                         *(access[name].eq(value) for name, value in others.items())]
            accesses.append(access)
            bank_of.append(bank)
        for number, bank in enumerate(banks):
            m.submodules[f"arbiter_{number}"] = arbiter = RoundRobinArbiter(count=self._count)
            chosen = 0
            for access, grant in zip(accesses, arbiter.grant, strict=True):
                chosen |= Mux(grant, access.as_value(), 0)
            who = 0
            for p, grant in enumerate(arbiter.grant):
                who |= Mux(grant, p, 0)
            m.d.comb += [
                arbiter.requests.eq(Cat(port.request.valid & (of == number)
                                        for port, of in zip(self.ports, bank_of, strict=True))),
                arbiter.accept.eq(bank.accepts),
                bank.valid.eq(arbiter.grant.any()), bank.port.eq(who),
                bank.access.as_value().eq(chosen),
                bank.allowed.eq(~(arbiter.grant & occupied).any()),
                bank.granted.eq(Cat(grant[number] for grant in replays).any()),
                bank.flush.eq(self.flush),
            ]
            grants.append(arbiter.grant)

        # Answers: of each port at most one access was made in the cycle before.
        for p, (port, access) in enumerate(zip(self.ports, accesses, strict=True)):
            taken = Cat(grant[p] & bank.accepts for grant, bank in zip(grants, banks, strict=True))
            at_once = Cat(grant[p] & bank.answers
                          for grant, bank in zip(grants, banks, strict=True))
            makes = Signal(self.banks, name=f"makes_{p}")
            made = Signal(self.banks, name=f"made_{p}")
            tag = Signal(self.tag_width, name=f"tag_{p}")
            waited = written = 0
            for bank, grant in zip(banks, replays[p], strict=True):
                waited |= Mux(grant, bank.waiting.tag, 0)
                written |= grant & bank.waiting.write
            found = 0
            for number, bank in enumerate(banks):
                found |= Mux(made[number], bank.found if not self._whole
                             else bank.found.as_value(), 0)
            silent = Mux(replays[p].any(), written, access.write) if self._whole else 0
            m.d.comb += [port.request.ready.eq(taken.any()),
                         makes.eq(Mux(silent, 0, at_once | replays[p]))]
            payload = port.response.payload
            m.d.sync += [
                made.eq(makes),
                tag.eq(Mux(replays[p].any(), waited, access.tag)),
                port.response.valid.eq(made.any()),
                payload.as_value().eq(Cat(tag, found)),  # a tag or an id, and a word or a line
            ]

        # The memories below: banks ask round robin; a line is in a register before it is written.
        for channel, port in enumerate(self.line_ports):
            self._below(m, channel, port, banks[channel::len(self.line_ports)])
        m.d.comb += self.flushed.eq(Cat(bank.flushed for bank in banks).all())
        return m

    def _below(self, m, channel, port, banks):
        """Connect a memory below and the banks that use it."""
        step, bits = len(self.line_ports), ceil_log2(self.banks)
        m.submodules[f"asks_{channel}"] = arbiter = RoundRobinArbiter(count=len(banks))
        request, response = port.request, port.response
        asked = request.payload
        chosen = 0
        for place, (bank, grant) in enumerate(zip(banks, arbiter.grant, strict=True)):
            ask, number = bank.ask, channel + place * step
            asks = Signal(asked.shape(), name=f"asks_{number}")
            register = ask.register[:self.shape.register_bits]
            m.d.comb += [
                asks.id.eq(Mux(ask.write, 0, register + (number << self.shape.register_bits))),
                asks.line.eq(ask.line * self.banks + number),
                asks.write.eq(ask.write), asks.mask.eq(Mux(ask.write, ask.mask, 0)),
                asks.data.as_value().eq(Mux(ask.write, ask.data.as_value(), 0)),
                ask.taken.eq(grant & request.ready)]
            chosen |= Mux(grant, asks.as_value(), 0)
        fill = Signal(response.payload.shape(), name=f"fill_{channel}")
        filling = Signal(name=f"filling_{channel}")
        m.d.comb += [arbiter.requests.eq(Cat(bank.ask.valid for bank in banks)),
                     arbiter.accept.eq(request.ready), request.valid.eq(arbiter.grant.any()),
                     asked.as_value().eq(chosen)]
        m.d.sync += [filling.eq(response.valid), fill.eq(response.payload)]
        of = fill.id[self.shape.register_bits:][:bits]
        for place, bank in enumerate(banks):
            m.d.comb += [bank.fill.valid.eq(filling & (of == channel + place * step)),
                         bank.fill.register.eq(fill.id[:self.shape.register_bits]),
                         bank.fill.data.eq(fill.data)]
