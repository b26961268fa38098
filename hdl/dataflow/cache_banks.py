"""Banks of a first-level cache, and the crossbar before them; what hits is told from outside.

Ref: Voitsechov and Etsion, "Single-Graph Multiple Flows", ISCA 2014, sections 5 and 5.2, Table 1.
"""

from functools import cached_property

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.dataflow.layouts import MemoryRequestLayout, MemoryResponseLayout, Pulse
from cyclebound.hdl.dataflow.parameters import check_integer
from cyclebound.hdl.noc.arbiter import RoundRobinArbiter

__all__ = ["CacheBanks"]

_LEAST = 3  # cycles of an access: taken, read, answered


class CacheBanks(wiring.Component):
    """A word in each cycle from each bank, and answers that overtake each other.

    A request goes to bank address mod ``banks``; a bank takes one in a cycle, round robin, and
    none is kept waiting by a miss. Who misses has its answer ``miss`` cycles after it was taken,
    both included, always. Who hits has it after ``hit`` cycles, or if its port has another answer
    then, in the next cycle without one; hits of a port stay in order. As a port makes one request
    in a cycle, no hit is later than a miss of its cycle would be.

    Latency: at most ``ports - 1 + miss`` cycles from being offered to being answered, both
    included. Throughput: one access in a cycle for each bank and each port.

    Parameters
    ----------
    ports : int
        Who asks, at least 1. Each has one request with a tag under way.
    banks : int
        A power of two, at least 2.
    words : int
        Words of all banks, a power of two, more than there are banks.
    tag_width, width : int
        Bits of a tag and of a word.
    hit, miss : int
        Cycles of an access; a hit at least 3, a miss at least as many.

    Members
    -------
    ports : In(signature).array(ports)
        ``request`` and ``response`` of each.
    misses : In(banks)
        Whether what a bank takes in this cycle is a miss.
    taken : Out(banks)
        Which banks take an access in this cycle.
    """

    def __init__(self, *, ports, banks, words, tag_width, width=32, hit=4, miss=40):
        check_integer("port count", ports, least=1)
        check_integer("tag width", tag_width, least=1)
        check_integer("width", width, least=1)
        check_integer("hit time", hit, least=_LEAST)
        check_integer("miss time", miss, least=hit)
        for thing, value, least in (("bank count", banks, 2), ("word count", words, 2 * banks)):
            check_integer(thing, value, least=least)
            if value & (value - 1):
                raise ValueError(f"{thing} must be a power of two, not {value}")
        self.banks, self.words, self.tag_width, self.width = banks, words, tag_width, width
        self.hit, self.miss = hit, miss
        self.request = MemoryRequestLayout(tag_width=tag_width, address_width=exact_log2(words),
                                           width=width)
        self.response = MemoryResponseLayout(tag_width=tag_width, width=width)
        super().__init__({
            "ports": In(wiring.Signature({
                "request": Out(stream.Signature(self.request)),
                "response": In(Pulse(self.response)),
            })).array(ports),
            "misses": In(banks),
            "taken": Out(banks),
        })

    @cached_property
    def arbiters(self):  # made late: banks that are only asked for their ports have none
        return [RoundRobinArbiter(count=len(self.ports)) for _ in range(self.banks)]

    def elaborate(self, platform):
        m = Module()
        bits = exact_log2(self.banks)
        wanted = [Mux(port.request.valid, 1 << port.request.payload.address[:bits], 0)
                  for port in self.ports]
        wants = [Signal(self.banks, name=f"wants_{p}") for p in range(len(self.ports))]
        m.d.comb += [signal.eq(value) for signal, value in zip(wants, wanted, strict=True)]

        # Banks: a choice, and a word that is there in the next cycle.
        found = []
        for bank, arbiter in enumerate(self.arbiters):
            m.submodules[f"arbiter_{bank}"] = arbiter
            m.submodules[f"bank_{bank}"] = memory = Memory(
                shape=unsigned(self.width), depth=self.words // self.banks, init=[])
            write, read = memory.write_port(), memory.read_port()
            access = Signal(self.request, name=f"access_{bank}")
            chosen = 0
            for port, grant in zip(self.ports, arbiter.grant, strict=True):
                chosen |= Mux(grant, port.request.payload.as_value(), 0)
            row = access.address[bits:]
            m.d.comb += [
                arbiter.requests.eq(Cat(each[bank] for each in wants)),
                arbiter.accept.eq(1),
                self.taken[bank].eq(arbiter.grant.any()),
                access.as_value().eq(chosen),
                write.addr.eq(row), write.data.eq(access.data), write.en.eq(access.write),
                read.addr.eq(row), read.en.eq(self.taken[bank]),
            ]
            found.append(read.data)

        # Ports: which bank has taken the request, and when its word may go.
        for number, port in enumerate(self.ports):
            grants = Cat(arbiter.grant[number] for arbiter in self.arbiters)
            m.d.comb += port.request.ready.eq(grants.any())
            asked, missed, bank = Signal(), Signal(), Signal(bits)
            answer = Signal(self.response)
            m.d.sync += [
                asked.eq(grants.any()),
                missed.eq((grants & self.misses).any()),
                bank.eq(port.request.payload.address[:bits]),
                answer.tag.eq(port.request.payload.tag),
            ]
            word = Signal(self.response)
            m.d.comb += [word.tag.eq(answer.tag), word.data.eq(Array(found)[bank])]
            late = self._delayed(m, f"late_{number}", asked & missed, word, self.miss - _LEAST)
            prompt = self._delayed(m, f"prompt_{number}", asked & ~missed, word, self.hit - _LEAST)

            queue = SyncFIFO(width=len(word.as_value()), depth=2**self.tag_width)
            m.submodules[f"queue_{number}"] = queue
            m.d.comb += [
                queue.w_data.eq(prompt.payload),
                queue.w_en.eq(prompt.valid & (late.valid | queue.r_rdy)),
                queue.r_en.eq(~late.valid),
            ]
            m.d.sync += [
                port.response.valid.eq(late.valid | queue.r_rdy | prompt.valid),
                port.response.payload.eq(Mux(late.valid, late.payload, Mux(
                    queue.r_rdy, queue.r_data, prompt.payload.as_value()))),
            ]
        return m

    def _delayed(self, m, name, valid, payload, cycles):
        """A pulse so many cycles later: who is on the way in registers, what in a memory."""
        later = Pulse(self.response).create(path=(name,))
        if cycles == 0:
            m.d.comb += [later.valid.eq(valid), later.payload.eq(payload)]
            return later
        way = Signal(cycles, name=f"{name}_way")
        m.d.sync += way.eq(Cat(valid, way))
        m.d.comb += later.valid.eq(way[-1])
        if cycles == 1:
            m.d.sync += later.payload.eq(payload)
            return later
        m.submodules[name] = memory = Memory(shape=self.response, depth=cycles, init=[])
        write, read = memory.write_port(), memory.read_port()
        here, following = Signal(range(cycles)), Signal(range(cycles))
        m.d.comb += [
            following.eq(Mux(here == cycles - 1, 0, here + 1)),
            write.addr.eq(here), write.data.eq(payload), write.en.eq(valid),
            read.addr.eq(following), read.en.eq(1), later.payload.eq(read.data),
        ]
        m.d.sync += here.eq(following)
        return later
