"""Scoreboard: registers with a write under way, and whether an operand would be read too soon.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1; as many entries as decode and execute stages are this project's reading.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.isa import File
from cyclebound.golden.simd.machine import machine_named
from cyclebound.hdl.simd.decoder import Source

__all__ = ["Scoreboard"]


class Scoreboard(wiring.Component):
    """A line of registers with what each token on its way will write.

    A token that issues in cycle *t* reads operand *k* in decode stage *k*, or in the last one, and
    writes in cycle ``t + decode_stages + execute_stages``, from which cycle on the value can be
    read. So an entry is in the way of operand *k* until it is as old as the stages in between.

    Latency: an entry counts from the cycle after ``issue`` on; ``wait`` follows within the cycle.

    Parameters
    ----------
    machine : Machine or str
        Stages and warps.

    Members
    -------
    issue : In(1)
        A token issues: it will write ``writes`` (of ``warp``, where the file has lanes).
    flush : In(1)
        No token under way will write, including the one that issues in this cycle.
    writes : In(Source)
        Of the instruction in the first stage.
    several : In(1)
        It writes all masks that the control stack may hold.
    warp : In
        Its warp.
    reads : In(3 times Source)
        Its operands.
    implicit : In(1)
        It reads all special scalar registers in the first stage.
    wait : Out(1)
        It must not issue: an operand would be read too soon.
    """

    def __init__(self, *, machine):
        self.machine = machine = machine_named(machine)
        source = data.Layout.cast(Source)
        super().__init__({
            "issue": In(1), "flush": In(1), "writes": In(source), "several": In(1),
            "warp": In(ceil_log2(machine.warps)), "reads": In(data.ArrayLayout(source, 3)),
            "implicit": In(1), "wait": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        decode = self.machine.decode_stages
        depth = decode + self.machine.execute_stages
        layout = data.StructLayout({"valid": 1, "writes": data.Layout.cast(Source), "several": 1,
                                    "warp": self.warp.shape()})
        entries = [Signal(layout, name=f"entry_{age}") for age in range(1, depth)]
        late = []
        for age, entry in enumerate(entries, 1):
            if age == 1:
                m.d.sync += [entry.valid.eq(self.issue & (self.writes.file != File.NONE)),
                             entry.writes.eq(self.writes), entry.several.eq(self.several),
                             entry.warp.eq(self.warp)]
            else:
                m.d.sync += entry.eq(entries[age - 2])
            with m.If(self.flush):
                m.d.sync += entry.valid.eq(0)
            written = entry.writes
            shared = (written.file == File.SCALAR) | (written.file == File.SCALAR_SPECIAL)
            here = Signal(name=f"here_{age}")  # of this warp
            m.d.comb += here.eq(entry.valid & (shared | (entry.warp == self.warp)))
            for operand, read in enumerate(self.reads):
                if age < depth - min(operand, decode - 1):
                    same = (read.number == written.number) | entry.several
                    late.append(here & (read.file == written.file) & same)
            late.append(here & self.implicit & (written.file == File.SCALAR_SPECIAL))
        m.d.comb += self.wait.eq(Cat(late).any())
        return m
