"""A grid of SHMAC's tiles: a router, a core and RAM in each."""

from functools import cached_property

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.routes import Mesh as Shape
from cyclebound.golden.noc.routes import Port
from cyclebound.golden.noc.shmac_packet import DATA_BITS, ShmacPort
from cyclebound.hdl.noc.handshake_router import (
    COUNTER_BITS,
    HandshakeRouter,
    check_shmac_router,
)
from cyclebound.hdl.noc.shmac_core import MOST_CYCLES, KernelLayout, ShmacCore
from cyclebound.hdl.noc.shmac_memory import ShmacMemory
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared

__all__ = ["HandshakeMesh"]

_LINKS = (Port.NORTH, Port.EAST, Port.SOUTH, Port.WEST)


class HandshakeMesh(wiring.Component):
    """Rows and columns of SHMAC's integer processor tiles, each linked to its neighbours.

    Latency: alone, a read ``h`` links away takes its core 1 + ``to_memory_cycles`` +
    ``memory_cycles`` + ``to_core_cycles`` + 20 (h + 1) cycles, and a fetch by the bypass these
    without the last term. Tiles are numbered row by row, from the north-west.

    Parameters
    ----------
    rows, columns : int
        From 1 to 16 each.
    words : int
        Words of RAM in a tile, a power of two from 2 to 65536.
    to_memory_cycles, memory_cycles, to_core_cycles : int
        Latencies that RAMs and cores are given: see `ShmacMemory` and `ShmacCore`.
    late : bool
        Of the RAMs.
    slave_acknowledge : str
        Of the routers.

    Members
    -------
    kernels : In(KernelLayout).array(rows * columns)
        The kernel that each core repeats.
    requests, fetched, operated, busy, arrives : Out(1).array(rows * columns)
        Of each core: it has a request for the router; pulses at the end of a fetch, and of a read
        or write. Of each RAM: it is at work; a packet is on its way to the memory.
    writes, landed : Out(1).array(rows * columns)
        Of each core: its request is a write; a write of it is on its way to a memory.
    data : Out(32).array(rows * columns)
        The word that each core received last.
    unroutable, malformed : Out(16).array(rows * columns)
        Packets that each router has dropped.
    """

    def __init__(self, *, rows, columns, to_memory_cycles, memory_cycles, to_core_cycles, words=16,
                 late=False, slave_acknowledge="passed"):
        check_integer("Row count", rows, 1, 1 << COORDINATE_BITS)
        check_integer("Column count", columns, 1, 1 << COORDINATE_BITS)
        check_integer("Word count", words, 2, 1 << 16)
        if words & words - 1:
            raise ValueError(f"Word count must be a power of two, not {words}")
        if not isinstance(late, bool):
            raise TypeError(f"Late must be True or False, not {late!r}")
        check_integer("Cycles to the memory", to_memory_cycles, 1, MOST_CYCLES)
        check_integer("Cycles of the memory", memory_cycles, 2, MOST_CYCLES)
        check_integer("Cycles to the core", to_core_cycles, 1, MOST_CYCLES)
        self.to_memory_cycles, self.memory_cycles = to_memory_cycles, memory_cycles
        self.to_core_cycles = to_core_cycles
        self.shape = Shape(rows, columns)
        self.words, self.late = words, late
        self._router = {"slave_acknowledge": slave_acknowledge}
        check_shmac_router(**self._router)
        tiles = rows * columns
        bits = dict.fromkeys(("requests", "fetched", "operated", "busy", "arrives", "writes",
                              "landed"), 1)
        words = {"data": DATA_BITS, "unroutable": COUNTER_BITS, "malformed": COUNTER_BITS}
        super().__init__({"kernels": In(KernelLayout).array(tiles),
                          **{name: Out(width).array(tiles)
                             for name, width in (bits | words).items()}})

    def make_router(self):
        """The router of a tile: a new `HandshakeRouter` with this grid's parameters."""
        return HandshakeRouter(**self._router)

    @cached_property
    def routers(self):
        """The routers by tile, made when first used: not if only the ports are read."""
        return {tile: self.make_router() for tile in self.shape.tiles}

    def elaborate(self, platform):
        m, memories = Module(), []
        for number, (tile, router) in enumerate(self.routers.items()):
            name = "{}_{}".format(*tile)
            core = ShmacCore(
                words=self.words, to_core_cycles=self.to_core_cycles,
                bypass_cycles=1 + self.to_memory_cycles + self.memory_cycles + self.to_core_cycles)
            memory = ShmacMemory(words=self.words, to_memory_cycles=self.to_memory_cycles,
                                 memory_cycles=self.memory_cycles, late=self.late)
            memories.append(memory)
            m.submodules[f"router_{name}"] = shared(router, platform,
                                                    alike=tuple(self._router.values()))
            m.submodules[f"core_{name}"], m.submodules[f"memory_{name}"] = core, memory
            wiring.connect(m, core.source, router.sinks[ShmacPort.MASTER])
            wiring.connect(m, router.sources[ShmacPort.MASTER], core.sink)
            wiring.connect(m, memory.source, router.sinks[ShmacPort.SLAVE])
            wiring.connect(m, router.sources[ShmacPort.SLAVE], memory.sink)
            connected = 1 << ShmacPort.MASTER | 1 << ShmacPort.SLAVE
            for port in _LINKS:
                there = self.shape.neighbour(tile, port)
                if there is not None:
                    connected |= 1 << port
                    wiring.connect(m, router.sources[port],
                                   self.routers[there].sinks[port.opposite])
            m.d.comb += [
                router.connected.eq(connected), router.slave_busy.eq(memory.busy),
                memory.address.eq(core.address), core.word.eq(memory.word),
                core.kernel.eq(self.kernels[number]),
                self.requests[number].eq(core.source.valid), self.data[number].eq(core.data),
                self.fetched[number].eq(core.fetched), self.operated[number].eq(core.operated),
                self.busy[number].eq(memory.busy), self.arrives[number].eq(memory.arrives),
                self.writes[number].eq(core.source.valid & core.source.payload.write),
                self.unroutable[number].eq(router.unroutable),
                self.malformed[number].eq(router.malformed),
            ]
            for position in (router.position, core.position):
                m.d.comb += [position.row.eq(tile[0]), position.column.eq(tile[1])]
        for landed, (row, column) in zip(self.landed, self.routers, strict=True):
            m.d.comb += landed.eq(Cat(
                memory.arrives & packet.write & (packet.initiator.row == row)
                & (packet.initiator.column == column)
                for memory in memories for packet in (memory.sink.payload,)).any())
        return m
