"""Banks of a first-level cache, and the crossbar before them; an external input decides on hits.

Ref: SGMF, sections 5 and 5.2, Table 1.
"""

from functools import cached_property

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.dataflow.answer_queue import AnswerQueue
from cyclebound.hdl.dataflow.layouts import MemoryRequestLayout, MemoryResponseLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["CacheBanks"]

_LEAST = 3  # cycles of an access: taken, read, answered


class CacheBanks(wiring.Component):
    """A word in each cycle from each bank, and answers that overtake each other.

    A request goes to bank address mod ``banks``; a bank takes one in a cycle, round robin, and
    none is kept waiting by a miss. A miss is answered exactly ``miss`` cycles after it was taken,
    both included. A hit is answered after ``hit`` cycles, or if its port has another answer
    then, in the next cycle without one; hits of a port stay in order. As a port makes one request
    in a cycle, no hit is later than a miss of its cycle would be.

    Latency: at most ``ports - 1 + miss`` cycles from being offered to being answered, both
    included. Throughput: one access in a cycle for each bank and each port.

    Parameters
    ----------
    ports : int
        Requesters, at least 1. Each has at most one request with a tag under way.
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

    Attributes
    ----------
    memories : list of amaranth.lib.memory.Memory
        By bank: its words.
    asked : list of Signal
        By port: an access was taken in the cycle before.
    late, prompt : list of Signal
        By port: misses and hits that wait for their time, a bit for each cycle of it.
    queues : list of AnswerQueue
        By port: hits that wait for a cycle without another answer.
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
                "response": In(Strobe(self.response)),
            })).array(ports),
            "misses": In(banks),
            "taken": Out(banks),
        })
        self.asked, self.late, self.prompt = (
            [Signal(cycles, name=f"{name}_{number}") for number in range(ports)]
            for name, cycles in (("asked", 1), ("late", miss - _LEAST), ("prompt", hit - _LEAST)))

    @cached_property
    def arbiters(self):  # made late: banks that are only asked for their ports have none
        return [RoundRobinArbiter(count=len(self.ports)) for _ in range(self.banks)]

    @cached_property
    def memories(self):
        return [Memory(shape=unsigned(self.width), depth=self.words // self.banks, init=[])
                for _ in range(self.banks)]

    @cached_property
    def _ways(self):
        """Into each bank's memory, and out of it."""
        return [(memory.write_port(), memory.read_port()) for memory in self.memories]

    @cached_property
    def queues(self):
        return [AnswerQueue(shape=self.response, depth=2**self.tag_width) for _ in self.ports]

    def elaborate(self, platform):
        m = Module()
        bits = exact_log2(self.banks)
        wanted = [Mux(port.request.valid, 1 << port.request.payload.address[:bits], 0)
                  for port in self.ports]
        wants = [Signal(self.banks, name=f"wants_{p}") for p in range(len(self.ports))]
        m.d.comb += [signal.eq(value) for signal, value in zip(wants, wanted, strict=True)]

        # Banks: a choice, and a word that is there in the next cycle.
        words_read = []
        for bank, (arbiter, memory) in enumerate(zip(self.arbiters, self.memories, strict=True)):
            m.submodules[f"arbiter_{bank}"] = arbiter
            m.submodules[f"bank_{bank}"] = memory
            write, read = self._ways[bank]
            access = Signal(self.request, name=f"access_{bank}")
            chosen = 0
            for port, grant in zip(self.ports, arbiter.grant, strict=True):
                chosen |= Mux(grant, port.request.payload.as_value(), 0)
            row = access.address[bits:]
            m.d.comb += [
                arbiter.requests.eq(Cat(want[bank] for want in wants)),
                arbiter.accept.eq(1),
                self.taken[bank].eq(arbiter.grant.any()),
                access.as_value().eq(chosen),
                write.addr.eq(row), write.data.eq(access.data), write.en.eq(access.write),
                read.addr.eq(row), read.en.eq(self.taken[bank]),
            ]
            words_read.append(read.data)

        # Ports: which bank has taken the request, and when its word may go.
        for number, port in enumerate(self.ports):
            grants = Cat(arbiter.grant[number] for arbiter in self.arbiters)
            m.d.comb += port.request.ready.eq(grants.any())
            missed, bank = Signal(), Signal(bits)
            asked = self.asked[number]
            answer = Signal(self.response)
            m.d.sync += [
                asked.eq(grants.any()),
                missed.eq((grants & self.misses).any()),
                bank.eq(port.request.payload.address[:bits]),
                answer.tag.eq(port.request.payload.tag),
            ]
            word = Signal(self.response)
            m.d.comb += [word.tag.eq(answer.tag), word.data.eq(Array(words_read)[bank])]
            late = self._delayed(m, self.late[number], asked & missed, word)
            prompt = self._delayed(m, self.prompt[number], asked & ~missed, word)

            m.submodules[f"queue_{number}"] = queue = self.queues[number]
            waits = queue.level != 0
            m.d.comb += [
                queue.source.payload.eq(prompt.payload),
                queue.source.valid.eq(prompt.valid & (late.valid | waits)),
                queue.leaves.eq(~late.valid),
            ]
            m.d.sync += [
                port.response.valid.eq(late.valid | waits | prompt.valid),
                port.response.payload.eq(Mux(late.valid, late.payload.as_value(), Mux(
                    waits, queue.head.as_value(), prompt.payload.as_value()))),
            ]
        return m

    def _delayed(self, m, line, valid, payload):
        """A pulse as many cycles later as ``line`` has bits; its payload is in a memory."""
        name, cycles = line.name, len(line)
        later = Strobe(self.response).create(path=(f"{name}_answer",))
        if cycles == 0:
            m.d.comb += [later.valid.eq(valid), later.payload.eq(payload)]
            return later
        m.d.sync += line.eq(Cat(valid, line))
        m.d.comb += later.valid.eq(line[-1])
        if cycles == 1:
            m.d.sync += later.payload.eq(payload)
            return later
        m.submodules[f"{name}_answers"] = memory = Memory(
            shape=self.response, depth=cycles, init=[])
        write, read = memory.write_port(), memory.read_port()
        here, following = Signal(range(cycles)), Signal(range(cycles))
        m.d.comb += [
            following.eq(Mux(here == cycles - 1, 0, here + 1)),
            write.addr.eq(here), write.data.eq(payload), write.en.eq(valid),
            read.addr.eq(following), read.en.eq(1), later.payload.eq(read.data),
        ]
        m.d.sync += here.eq(following)
        return later
