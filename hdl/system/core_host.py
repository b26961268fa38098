"""A core that starts a tile's jobs: a tile of SHMAC, and beside it the registers of the jobs.

    core, RAM in tile (0, 0) --> network --> registers in tile (0, 1) --> the jobs' tile

Ref: SHMAC thesis, 2.3; golden/system/core_host.py.

Part of the tiled system, whose testbench `tb/system/tiled_host.py` covers it, with
`tests/system/test_core_host.py`.
"""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.shmac.network import Network
from cyclebound.hdl.shmac.packet import RequestPacketLayout
from cyclebound.hdl.shmac.tile import CoreTile
from cyclebound.hdl.system.job_registers import JobRegisters

__all__ = ["CoreHost"]

_JOBS = "start", "stop", "idle", "fault", "busy", "word"


class CoreHost(wiring.Component):
    """Its program comes through the network, then it runs; the jobs' tile is what it writes to.

    Parameters
    ----------
    words : int
        Of the core's RAM, a power of two.

    Members
    -------
    load : In(stream of RequestPacketLayout)
        Plain writes that put the program into tile (0, 0).
    run : In(1)
        Low from reset until the program is in the RAM, then high.
    exited, status : Out(1), Out(32)
        The program has ended, and with what.
    start, stop, idle, fault, busy, word
        As of `JobRegisters`.
    """

    def __init__(self, *, words):
        self.tile, self.jobs = CoreTile(rows=1, columns=2, words=words), JobRegisters()
        jobs = self.jobs.signature.members
        super().__init__({
            "load": In(stream.Signature(RequestPacketLayout)), "run": In(1),
            "exited": Out(1), "status": Out(DATA_BITS), **{name: jobs[name] for name in _JOBS},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.network = network = Network(rows=1, columns=2)
        m.submodules.tile, m.submodules.jobs = tile, jobs = self.tile, self.jobs
        pass_through(m, self, tile, "run", "exited", "status")
        pass_through(m, self, jobs, *_JOBS)
        wiring.connect(m, wiring.flipped(self.load), network.host)
        wiring.connect(m, tile.requests, network.master_requests[0])
        wiring.connect(m, network.master_responses[0], tile.responses)
        for number, slave in enumerate((tile, jobs)):
            wiring.connect(m, network.slave_requests[number], slave.accesses)
            wiring.connect(m, slave.answers, network.slave_responses[number])
        m.d.comb += network.master_responses[1].ready.eq(1)
        return m
