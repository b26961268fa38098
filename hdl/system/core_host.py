"""A core that starts jobs on tiles: a tile of SHMAC, and beside it the registers of the jobs.

    core, RAM in tile (0, 0) --> network --> registers in the other tiles --> the jobs' tiles

Ref: SHMAC thesis, 2.3; golden/system/core_host.py, golden/system/job_table.py.

Part of the tiled system, whose testbench `tb/system/tiled_host.py` covers it, with
`tests/system/test_core_host.py`.
"""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.golden.shmac.layout import Kind
from cyclebound.golden.system.job_table import CORE, JOB_TILES, MESH
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.shmac.device import Device
from cyclebound.hdl.shmac.network import Network
from cyclebound.hdl.shmac.packet import RequestPacketLayout
from cyclebound.hdl.shmac.tile import CoreTile
from cyclebound.hdl.system.job_registers import JobRegisters

__all__ = ["CoreHost"]

_NETWORK = "accesses", "answers"


class CoreHost(wiring.Component):
    """Its program comes through the network, then it runs; the jobs' tiles are what it writes to.

    Parameters
    ----------
    words : int
        Of the core's RAM, a power of two.
    tiles : sequence of str
        The kinds of `JOB_TILES` that there are.

    Members
    -------
    load : In(stream of RequestPacketLayout)
        Plain writes that put the program into tile (0, 0).
    run : In(1)
        Low from reset until the program is in the RAM, then high.
    exited, status : Out(1), Out(32)
        The program has ended, and with what.
    dataflow, systolic, simd
        Of each of ``tiles``: all of `JobRegisters` but its ports to the network.
    """

    def __init__(self, *, words, tiles):
        rows, columns = MESH
        self.tile = CoreTile(rows=rows, columns=columns, words=words)
        self.jobs = {tile: JobRegisters(operands=JOB_TILES[tile].operands) for tile in tiles}
        super().__init__({
            "load": In(stream.Signature(RequestPacketLayout)), "run": In(1),
            "exited": Out(1), "status": Out(DATA_BITS),
            **{tile: Out(wiring.Signature({name: member for name, member
                                           in jobs.signature.members.items()
                                           if name not in _NETWORK}))
               for tile, jobs in self.jobs.items()},
        })

    def elaborate(self, platform):
        m = Module()
        rows, columns = MESH
        m.submodules.network = network = Network(rows=rows, columns=columns)
        m.submodules.tile = self.tile
        slaves = {CORE: self.tile}
        pass_through(m, self, self.tile, "run", "exited", "status")
        for name, jobs in self.jobs.items():
            m.submodules[name] = slaves[JOB_TILES[name].place] = jobs
            outer = getattr(self, name)
            pass_through(m, outer, jobs, *outer.signature.members)
        wiring.connect(m, wiring.flipped(self.load), network.host)
        for number, place in enumerate(network.shape.tiles):
            if place not in slaves:
                m.submodules[f"empty_{number}"] = slaves[place] = Device(kind=Kind.ROUTER)
            slave = slaves[place]
            wiring.connect(m, network.slave_requests[number], slave.accesses)
            wiring.connect(m, slave.answers, network.slave_responses[number])
            if slave is self.tile:
                wiring.connect(m, slave.requests, network.master_requests[number])
                wiring.connect(m, network.master_responses[number], slave.responses)
            else:
                m.d.comb += network.master_responses[number].ready.eq(1)
        return m
