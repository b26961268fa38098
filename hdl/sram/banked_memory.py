"""Banked local memory with round-robin arbitration.

Ref: memory-composition, section III.A.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.interfaces import MemoryPort
from cyclebound.hdl.parameters import check_integer

__all__ = ["BankedMemory", "SramBank"]


def _check(**counts):
    for name, value in counts.items():
        check_integer(name.replace("_", " "), value, 1)


class SramBank(wiring.Component):
    """One single-port SRAM with a round-robin arbiter.

    Latency: a read's data follow its grant by one cycle. Throughput: one access per cycle, from any
    requester. One that keeps asking is granted within as many cycles as there are requesters.

    Parameters
    ----------
    requesters : int
        Number of requesters, at least 1.
    words : int
        Number of words, at least 1; an access beyond the last word reads an undefined word and
        writes none.
    word_bytes : int
        Bytes per word (w_mem), at least 1.

    Members
    -------
    ports : In(MemoryPort).array(requesters)
        A path for each requester.

    Attributes
    ----------
    arbiter : RoundRobinArbiter
        Its grant is the ``ready`` of all paths.
    memory : amaranth.lib.memory.Memory
        The words.
    """

    def __init__(self, *, requesters, words, word_bytes):
        _check(requesters=requesters, words=words, word_bytes=word_bytes)
        self.requesters, self.words, self.word_bytes = requesters, words, word_bytes
        port = MemoryPort(words=words, word_bytes=word_bytes)
        super().__init__({"ports": In(port).array(requesters)})
        self.arbiter = RoundRobinArbiter(count=requesters)
        self.memory = Memory(shape=unsigned(8 * word_bytes), depth=words, init=[])
        self._write = self.memory.write_port(granularity=8)
        self._read = self.memory.read_port()

    def elaborate(self, platform):
        m = Module()

        m.submodules.memory = self.memory
        m.submodules.arbiter = arbiter = self.arbiter
        write, read = self._write, self._read

        m.d.comb += [
            arbiter.requests.eq(Cat(port.request.valid for port in self.ports)),
            arbiter.accept.eq(1),  # the SRAM takes an access in every cycle
        ]

        # The winner's access, as an AND-OR of all: a one-hot choice needs no priority.
        access = Signal.like(self.ports[0].request.payload)
        chosen = 0
        for port, grant in zip(self.ports, arbiter.grant, strict=True):
            m.d.comb += port.request.ready.eq(grant)
            chosen |= Mux(grant, port.request.payload.as_value(), 0)
        m.d.comb += access.as_value().eq(chosen)

        reads = access.write == 0
        m.d.comb += [
            write.addr.eq(access.address),
            write.data.eq(access.data),
            write.en.eq(access.write),  # 0 without a grant: then no payload passes
            read.addr.eq(access.address),
            read.en.eq(arbiter.grant.any() & reads),
        ]

        for port, grant in zip(self.ports, arbiter.grant, strict=True):
            m.d.sync += port.response.valid.eq(grant & reads)
            m.d.comb += port.response.data.eq(read.data)

        return m


class BankedMemory(wiring.Component):
    """Local memory of a compute tile: banks of SRAM, each with a round-robin arbiter.

    Every requester has its own path to each bank, and may use several in one cycle. Banks do not
    disturb each other. Bound: ``golden.sram.bounds.eq1``.

    Parameters
    ----------
    banks : int
        Number of banks (N_bank), at least 1.
    requesters : int
        Number of requesters (N_c + N_dma), at least 1.
    words : int
        Words in each bank.
    word_bytes : int
        Bytes per word (w_mem).

    Members
    -------
    ports : In(MemoryPort).array(requesters, banks)
        ``ports[r][b]`` is requester *r*'s path to bank *b*.

    Attributes
    ----------
    srams : list of SramBank
        The banks.
    """

    def __init__(self, *, banks, requesters, words, word_bytes):
        _check(banks=banks, requesters=requesters, words=words, word_bytes=word_bytes)
        self.banks, self.requesters = banks, requesters
        self.words, self.word_bytes = words, word_bytes
        port = MemoryPort(words=words, word_bytes=word_bytes)
        super().__init__({"ports": In(port).array(requesters, banks)})

    @cached_property
    def srams(self):  # made late: a memory that is only asked for its ports has none
        return [SramBank(requesters=self.requesters, words=self.words, word_bytes=self.word_bytes)
                for _ in range(self.banks)]

    def elaborate(self, platform):
        m = Module()
        for number, bank in enumerate(self.srams):
            m.submodules[f"bank_{number}"] = bank
            for requester, paths in enumerate(self.ports):
                wiring.connect(m, wiring.flipped(paths[number]), bank.ports[requester])
        return m
