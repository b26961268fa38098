"""Tiles on one DRAM: a SIMD and a systolic accelerator, and a dataflow core, on one controller.

    host --> SIMD accelerator ------------------> client 0 --.
    host --> systolic accelerator -> its memory -> client 1 ---> arbiter --> DRAM controller
    host --> dataflow core -------> its lines ---> client 2 --'

The host of all tiles may be a core of SHMAC (`CoreHost`).

Ref: golden/system/tiled.py, golden/system/fabric.py.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.system.job_table import KernelOperand
from cyclebound.hdl.dataflow.core import Core
from cyclebound.hdl.dram.client_arbiter import SharedController
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.simd.accelerator import Accelerator as SimdAccelerator
from cyclebound.hdl.simd.host import no_kernel
from cyclebound.hdl.system.command_list import CommandList
from cyclebound.hdl.system.core_host import CoreHost
from cyclebound.hdl.system.line_memory import LineMemory
from cyclebound.hdl.systolic.accelerator import Accelerator as SystolicAccelerator
from cyclebound.hdl.systolic.dram_memory import DramMemory

__all__ = ["TiledSystem"]

_PINS = "command", "dq_in", "dq_out", "late"
_ARBITER = "grants", "blocked"
_MEMORY = "mapping", "mapped", "mapping_refusal", "fault"  # of the systolic accelerator's memory
_LINES = *_MEMORY, "taken", "over"  # of the dataflow core's
_HOST = "load", "run", "exited", "status"  # of a host that is a core


class TiledSystem(wiring.Component):
    """A SIMD and a systolic accelerator, and a dataflow core if wanted, share a DRAM controller.

    The systolic accelerator has the DRAM's clock. Its beats are words of its buffer 0; a result is
    in DRAM when it is idle, so that the SIMD accelerator may read it as a buffer of its own. The
    dataflow core has that clock, too, and its memory is its own buffer 0, so likewise.

    Parameters
    ----------
    machine : Machine or str
        The SIMD accelerator's sizes and clock.
    part : Part or str
        The DRAM.
    size : int
        Rows and columns of the systolic array: 4, 8 or 16.
    bursts, slots, memory_width
        Of its memory, see `DramMemory`.
    depth : int
        Words of its scratchpads of operands, sums and results, each.
    queue_depth : int
        Commands that it keeps.
    windows : sequence of int or None
        One for each tile, see `ClientArbiter`.
    fabric : mapping or None
        Parameters of the dataflow core (`dataflow.core.Core`), but for ``line``: its lines are
        bursts. None: there is none.
    host_words : int or None
        Words of the RAM of a core of SHMAC that starts the jobs of all tiles; None: ports do.

    Members
    -------
    mapping, chip, start, idle, fault, cycles, loaded, begins, stall, launch, access, scratchpad
    ended, over, begin, busy, first
        As of `simd.accelerator.Accelerator`.
    systolic_command, systolic_active
        ``command`` and ``active`` of the systolic accelerator.
    systolic_idle : Out(1)
        It has no command, and nothing is under way, unless it has stopped with a fault.
    systolic_cycles : Out(40)
        DRAM clocks from its first command to the last in which it is not idle; of this list of
        commands, or the last one.
    systolic_mapping, systolic_mapped, systolic_mapping_refusal, systolic_fault
        As of `DramMemory`.
    dataflow_configuration, dataflow_start
        ``configuration`` and ``start`` of the dataflow core, if there is one. With a host that is a
        core they are not ports, and ``dataflow_start`` is an output, see below.
    host_load, host_run, host_exited, host_status
        ``load``, ``run``, ``exited`` and ``status`` of a host that is a core, if there is one.
        Instead of ``start``, ``systolic_command``, ``dataflow_configuration`` and
        ``dataflow_start``, its registers start jobs. It sees as a fault, of the dataflow core: a
        thread outside of its array; a line that is refused; a start without a word of a
        configuration since the last one. Of the systolic accelerator: a tile of DRAM that is
        refused; a list that is none (`CommandList`). Of the SIMD accelerator: a kernel's fault;
        operands that are no kernel (`no_kernel`). A start that is a fault starts nothing. After
        what is refused, the systolic accelerator or the dataflow core is not idle until reset.
    host_busy : Out(tiles)
        With such a host: whether a job is under way, of the SIMD and the systolic accelerator, and
        the dataflow core.
    simd_start, systolic_start, dataflow_start : Out(1)
        With such a host: a job begins.
    dataflow_idle : Out(1)
        No configuration was loaded, or all that its threads have stored is in DRAM.
    dataflow_cycles : Out(40)
        DRAM clocks from a configuration's first word to the last in which the core is not idle.
    dataflow_outside : Out(1)
        A thread of this configuration has named a word outside of its array.
    dataflow_mapping, dataflow_mapped, dataflow_mapping_refusal, dataflow_fault, dataflow_taken
    dataflow_over
        As of `LineMemory`.
    grants, blocked, command, dq_in, dq_out, late
        As of `SharedController`.
    waits, served : Out(tiles)
        Of each tile, as ``grants``: a request is kept that is not granted; one of its requests is
        the oldest that is not completed.

    Attributes
    ----------
    simd, systolic, memory, shared : Component
        The tiles, the systolic accelerator's memory, and the controller.
    core, lines : Component or None
        The dataflow core, and its lines in DRAM.
    host, list : Component or None
        A host that is a core, and its commands for the systolic accelerator.
    """

    def __init__(self, *, machine, part, size=8, bursts=16, slots=8, memory_width=16,
                 depth=1024, queue_depth=64, windows=None, fabric=None,
                 host_words=None):
        self.simd = SimdAccelerator(machine=machine, part=part, controller=False)
        self.systolic = SystolicAccelerator(
            size=size, a_depth=depth, b_depth=depth, c_depth=depth, sums_depth=depth,
            memory_width=memory_width, queue_depth=queue_depth)
        self.memory = DramMemory(size=size, bursts=bursts, slots=slots, memory_width=memory_width)
        self.core = Core(**fabric, line=BURST_WORDS) if fabric else None
        cache = self.core and self.core.cache.shape
        self.lines = cache and LineMemory(id_width=cache.id_width, line_width=cache.line_width)
        self.tiles = ("simd", "systolic", "dataflow") if fabric else ("simd", "systolic")
        self.host = self.list = None
        if host_words is not None:
            self.host = CoreHost(words=host_words, tiles=self.tiles)
            self.list = CommandList(layout=self.systolic.command.payload.shape(),
                                    depth=queue_depth)
        self.shared = SharedController(clients=len(self.tiles), part=part, windows=windows)
        self.machine, self.part = self.simd.machine, self.simd.part
        simd, shared = self.simd.signature.members, self.shared.signature.members
        array, memory = self.systolic.signature.members, self.memory.signature.members
        self._own = [name for name in simd if name != "dram" and (
            name != "start" or self.host is None)]
        super().__init__({
            **{name: simd[name] for name in self._own},
            **{name: shared[name] for name in (*_PINS, *_ARBITER)},
            "waits": Out(len(self.tiles)), "served": Out(len(self.tiles)),
            "systolic_active": array["active"],
            "systolic_idle": Out(1), "systolic_cycles": Out(40),
            **{f"systolic_{name}": memory[name] for name in _MEMORY},
            **(self._dataflow() if fabric else {}), **self._starts(array),
        })

    def _dataflow(self):
        """Members of the dataflow core."""
        lines = self.lines.signature.members
        return {"dataflow_idle": Out(1, init=1), "dataflow_cycles": Out(40),
                "dataflow_outside": Out(1),
                **{f"dataflow_{name}": lines[name] for name in _LINES}}

    def _starts(self, array):
        """Members that start jobs, besides the SIMD accelerator's own."""
        if self.host is None:
            core = self.core and self.core.signature.members
            return {"systolic_command": array["command"], **(
                {f"dataflow_{name}": core[name] for name in ("configuration", "start")}
                if core else {})}
        host = self.host.signature.members
        return {**{f"host_{name}": host[name] for name in _HOST},
                "host_busy": Out(len(self.tiles)),
                **{f"{tile}_start": Out(1) for tile in self.tiles}}

    def elaborate(self, platform):
        m = Module()
        for name in ("simd", "systolic", "memory", "shared"):
            m.submodules[name] = getattr(self, name)
        simd, array, memory, shared = self.simd, self.systolic, self.memory, self.shared
        pass_through(m, self, simd, *self._own)
        pass_through(m, self, shared, *_PINS, *_ARBITER)
        arbiter = shared.arbiter
        m.d.comb += [self.waits.eq(arbiter.waits),
                     self.served.eq(Mux(arbiter.count == 0, 0, 1 << arbiter.oldest))]
        wiring.connect(m, simd.dram, shared.client[0])
        wiring.connect(m, memory.dram, shared.client[1])
        wiring.connect(m, array.requests, memory.requests)
        wiring.connect(m, memory.read, array.read)
        wiring.connect(m, array.write, memory.write)
        wiring.connect(m, wiring.flipped(self.systolic_mapping), memory.mapping)
        m.d.comb += [
            self.systolic_idle.eq(array.idle & memory.idle), self.systolic_active.eq(array.active),
            self.systolic_fault.eq(memory.fault), self.systolic_mapped.eq(memory.mapped),
            self.systolic_mapping_refusal.eq(memory.mapping_refusal),
        ]
        with m.If(~self.systolic_idle):
            m.d.sync += self.systolic_cycles.eq(self.systolic_cycles + 1)
        with m.Elif(array.command.valid):
            m.d.sync += self.systolic_cycles.eq(1)
        if self.core is not None:
            self._connect_core(m)
        if self.host is not None:
            self._connect_host(m)
        else:
            wiring.connect(m, wiring.flipped(self.systolic_command), array.command)
            if self.core is not None:
                wiring.connect(m, wiring.flipped(self.dataflow_configuration),
                               self.core.configuration)
                m.d.comb += self.core.start.eq(self.dataflow_start)
        return m

    def _connect_core(self, m):
        m.submodules.core, m.submodules.lines = core, lines = self.core, self.lines
        wiring.connect(m, lines.dram, self.shared.client[2])
        wiring.connect(m, core.lines, lines.lines)
        wiring.connect(m, wiring.flipped(self.dataflow_mapping), lines.mapping)
        active, loads = Signal(), core.configuration.valid
        m.d.comb += [self.dataflow_idle.eq(~active),
                     *(getattr(self, f"dataflow_{name}").eq(getattr(lines, name))
                       for name in _LINES if name != "mapping")]
        with m.If(active):
            m.d.sync += self.dataflow_cycles.eq(self.dataflow_cycles + 1)
            with m.If(core.done & lines.idle):
                m.d.sync += active.eq(0)
        with m.If(loads & ~active):
            m.d.sync += [active.eq(1), self.dataflow_cycles.eq(1), self.dataflow_outside.eq(0)]
        with m.Elif(Cat(fault.valid for fault in core.faults).any()):
            m.d.sync += self.dataflow_outside.eq(1)

    def _connect_host(self, m):
        """A core starts the jobs. A start without what it takes is a fault of the next cycle, in
        which the tile is idle."""
        m.submodules.host, m.submodules.list = host, listed = self.host, self.list
        wiring.connect(m, wiring.flipped(self.host_load), host.load)
        m.d.comb += [host.run.eq(self.host_run), self.host_exited.eq(host.exited),
                     self.host_status.eq(host.status)]
        simd, fault = self.simd, {}  # fault: of a job that goes on

        kernel, operands = simd.start.payload, host.simd.operands
        starts = {"simd": ~no_kernel(simd.machine, *operands)}
        fault["simd"] = simd.fault.valid
        for operand, field in zip(KernelOperand, (
                kernel.address, kernel.instructions, kernel.grid.x, kernel.grid.y,
                kernel.grid.width, kernel.policy), strict=True):
            m.d.comb += field.eq(operands[operand])
        m.d.comb += [host.simd.word.ready.eq(1), simd.start.valid.eq(self.simd_start),
                     host.simd.idle.eq(self.idle)]

        wiring.connect(m, host.systolic.word, listed.word)
        wiring.connect(m, listed.command, self.systolic.command)
        starts["systolic"], fault["systolic"] = listed.started, self.systolic_fault != 0
        m.d.comb += [listed.start.eq(host.systolic.start),
                     host.systolic.idle.eq(self.systolic_idle & ~listed.busy)]

        if self.core is not None:
            wiring.connect(m, host.dataflow.word, self.core.configuration)
            starts["dataflow"] = configured = Signal()  # since the last job
            with m.If(host.dataflow.start):
                m.d.sync += configured.eq(0)
            with m.Elif(host.dataflow.word.valid & host.dataflow.word.ready):
                m.d.sync += configured.eq(1)
            fault["dataflow"] = self.dataflow_outside | (self.dataflow_fault != 0)
            m.d.comb += [self.core.start.eq(self.dataflow_start),
                         host.dataflow.idle.eq(self.dataflow_idle)]

        for number, tile in enumerate(self.tiles):
            jobs, begins, nothing = getattr(host, tile), getattr(self, f"{tile}_start"), Signal()
            m.d.comb += [begins.eq(jobs.start & starts[tile]),
                         jobs.fault.eq(fault[tile] | nothing), self.host_busy[number].eq(jobs.busy)]
            m.d.sync += nothing.eq(jobs.start & ~begins)
