"""A first-level cache: banks with tags and a crossbar in front, above a port of whole lines.

Ref: SGMF, sections 2.1, 5, 5.2 and 6, Table 1.
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.hdl.dataflow.cache_bank import CacheBank
from cyclebound.hdl.dataflow.layouts import (
    LineRequestLayout,
    LineResponseLayout,
    MemoryRequestLayout,
    MemoryResponseLayout,
)
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.noc.arbiter import RoundRobinArbiter
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared

__all__ = ["Cache"]


class Cache(wiring.Component):
    """A word in each cycle from each bank; misses wait in registers, and others overtake them.

    A request goes to bank (address / ``line``) mod ``banks``; a bank takes one in a cycle, round
    robin. If its line is there, it is made at once. Else it takes one of the bank's miss registers
    and a way of its set, and asks for the line; later accesses of that line wait in the same
    register. What finds no room waits at its port, and the bank waits with it. When the line has
    come, all that waited for it are made, in order, before the bank takes anything new; of a port,
    one in a cycle, and before its request on offer. Banks ask for lines round robin, and write
    dirty ones after the line that displaces them has been asked for.

    Latency: an access whose line is there is answered two cycles after it is taken. Throughput: one
    access in a cycle for each bank and each port.

    Parameters
    ----------
    ports : int
        Requesters, at least 1. Each has at most one request with a tag under way.
    size, line : int
        Words of the cache and of a line, powers of two. Default: 64 KiB, 128 bytes.
    banks, ways : int
        Banks, and lines of a set, powers of two.
    misses, targets : int
        Miss registers of a bank, as many as it has lines at most; accesses that each has room for.
    address_width : int
        Bits of a word's address.
    tag_width, width : int
        Bits of a tag and of a word.
    policy : str
        "write-back" with write-allocate; or "write-through" with no-allocate.
    replacement : str
        "lru", or "fifo".

    Members
    -------
    ports : In(signature).array(ports)
        ``request`` and ``response`` of each.
    lines : Out(signature)
        ``request`` and ``response`` of the memory below. A read's ``response`` has its ``id``, and
        comes in any cycle from that on in which the request was taken; requests take effect in the
        order in which they are taken.
    flush : In(1)
        Write dirty lines back, and give all lines up. Set until ``flushed``; nothing new is taken.
    flushed : Out(1)
        No line is in the cache, and nothing is under way; only while ``flush`` is set.
    """

    def __init__(self, *, ports, address_width, tag_width, size=16384, line=32, banks=32, ways=4,
                 misses=4, targets=4, width=32, policy="write-back", replacement="lru"):
        check_integer("port count", ports, least=1)
        check_integer("tag width", tag_width, least=1)
        check_integer("width", width, least=1)
        self.shape = CacheShape(size=size, line=line, banks=banks, ways=ways, misses=misses,
                                targets=targets, address_width=address_width, policy=policy,
                                replacement=replacement)
        self.banks, self.tag_width, self.width = banks, tag_width, width
        self.request = MemoryRequestLayout(tag_width=tag_width, address_width=address_width,
                                           width=width)
        self.response = MemoryResponseLayout(tag_width=tag_width, width=width)
        bank_bits = (banks - 1).bit_length()
        id_width = max(1, bank_bits + self.shape.register_bits)
        offset = (line - 1).bit_length()
        self._offset, self._bank_bits = offset, bank_bits
        super().__init__({
            "ports": In(wiring.Signature({
                "request": Out(stream.Signature(self.request)),
                "response": In(Strobe(self.response)),
            })).array(ports),
            "lines": Out(wiring.Signature({
                "request": Out(stream.Signature(LineRequestLayout(
                    id_width=id_width, line_width=max(1, address_width - offset), line=line,
                    width=width))),
                "response": In(Strobe(LineResponseLayout(id_width=id_width, line=line,
                                                         width=width))),
            })),
            "flush": In(1),
            "flushed": Out(1),
        })

    @cached_property
    def parts(self):  # made late: a cache that is only asked for its ports has none
        return [CacheBank(shape=self.shape, ports=len(self.ports), tag_width=self.tag_width,
                          width=self.width) for _ in range(self.banks)]

    def elaborate(self, platform):
        m = Module()
        banks = self.parts
        for number, bank in enumerate(banks):
            m.submodules[f"bank_{number}"] = shared(
                bank, platform, alike=(self.shape, len(self.ports), self.tag_width, self.width))

        # Accesses that have waited: of each port one in a cycle, before its request on offer.
        replays = []
        for p in range(len(self.ports)):
            m.submodules[f"replay_{p}"] = arbiter = RoundRobinArbiter(count=self.banks)
            m.d.comb += [arbiter.requests.eq(Cat(bank.waits & (bank.waiting.port == p)
                                                 for bank in banks)),
                         arbiter.accept.eq(1)]
            replays.append(arbiter.grant)
        occupied = Signal(len(self.ports))
        m.d.comb += occupied.eq(Cat(grant.any() for grant in replays))

        # Requests: of each bank one in a cycle, round robin.
        grants = []
        bank_of = [port.request.payload.address[self._offset:][:self._bank_bits]
                   for port in self.ports]
        for number, bank in enumerate(banks):
            m.submodules[f"arbiter_{number}"] = arbiter = RoundRobinArbiter(count=len(self.ports))
            chosen = 0
            for port, grant in zip(self.ports, arbiter.grant, strict=True):
                chosen |= Mux(grant, port.request.payload.as_value(), 0)
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
        for p, port in enumerate(self.ports):
            taken = Cat(grant[p] & bank.accepts for grant, bank in zip(grants, banks, strict=True))
            at_once = Cat(grant[p] & bank.answers
                          for grant, bank in zip(grants, banks, strict=True))
            makes = Signal(self.banks, name=f"makes_{p}")
            made = Signal(self.banks, name=f"made_{p}")
            tag = Signal(self.tag_width, name=f"tag_{p}")
            waited = 0
            for bank, grant in zip(banks, replays[p], strict=True):
                waited |= Mux(grant, bank.waiting.tag, 0)
            word = 0
            for number, bank in enumerate(banks):
                word |= Mux(made[number], bank.word, 0)
            m.d.comb += [port.request.ready.eq(taken.any()), makes.eq(at_once | replays[p])]
            m.d.sync += [
                made.eq(makes),
                tag.eq(Mux(replays[p].any(), waited, port.request.payload.tag)),
                port.response.valid.eq(made.any()), port.response.payload.tag.eq(tag),
                port.response.payload.data.eq(word),
            ]

        # The memory below: banks ask round robin; a line is in a register before it is written.
        m.submodules.asks = arbiter = RoundRobinArbiter(count=self.banks)
        request, response = self.lines.request, self.lines.response
        asked = request.payload
        chosen = 0
        for number, (bank, grant) in enumerate(zip(banks, arbiter.grant, strict=True)):
            ask = bank.ask
            asks = Signal(asked.shape(), name=f"asks_{number}")
            m.d.comb += [
                asks.id.eq(Mux(ask.write, 0, Cat(ask.register[:self.shape.register_bits],
                                                 Const(number, self._bank_bits)))),
                asks.line.eq(Cat(Const(number, self._bank_bits), ask.line)),
                asks.write.eq(ask.write), asks.mask.eq(Mux(ask.write, ask.mask, 0)),
                asks.data.as_value().eq(Mux(ask.write, ask.data.as_value(), 0)),
                ask.taken.eq(grant & request.ready)]
            chosen |= Mux(grant, asks.as_value(), 0)
        fill = Signal(response.payload.shape())
        filling = Signal()
        m.d.comb += [arbiter.requests.eq(Cat(bank.ask.valid for bank in banks)),
                     arbiter.accept.eq(request.ready), request.valid.eq(arbiter.grant.any()),
                     asked.as_value().eq(chosen)]
        m.d.sync += [filling.eq(response.valid), fill.eq(response.payload)]
        of = fill.id[self.shape.register_bits:][:self._bank_bits]
        for number, bank in enumerate(banks):
            m.d.comb += [bank.fill.valid.eq(filling & (of == number)),
                         bank.fill.register.eq(fill.id[:self.shape.register_bits]),
                         bank.fill.data.eq(fill.data)]
        m.d.comb += self.flushed.eq(Cat(bank.flushed for bank in banks).all())
        return m
