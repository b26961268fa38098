"""Commit: what a token writes, and what observers see of it.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.isa import File
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.decoder import Source
from cyclebound.hdl.simd.interfaces import MEM_IDX, IndexWriteLayout
from cyclebound.hdl.simd.operand_stages import SD, PredicateWrite
from cyclebound.hdl.simd.register_file import RegisterAddress, ScalarWrite
from cyclebound.hdl.simd.token import INDEX_BITS, TokenLayout

__all__ = ["CommitLayout", "CommitStage"]


class CommitLayout(data.StructLayout):
    """The effect of a token on its work-group, for observers.

    ``lanes`` of ``warp`` are written with ``words``, or with ``bits`` if it is a predicate. Of a
    control instruction, ``bits`` are what all lanes of the mask ``writes.number`` hold now.
    ``value`` goes into a scalar register, with the ``last`` token.
    """

    def __init__(self, *, machine):
        super().__init__({
            "slot": ceil_log2(SLOTS), "index": INDEX_BITS, "injected": 1,
            "warp": ceil_log2(machine.warps), "first": 1, "last": 1,
            "writes": data.Layout.cast(Source), "lanes": machine.lanes, "bits": machine.lanes,
            "value": 32, "words": data.ArrayLayout(unsigned(32), machine.lanes),
        })


class CommitStage(wiring.Component):
    """Writes registers and predicates of active lanes, and scalars.

    Latency: none; ``index_write`` follows by a cycle.

    Parameters
    ----------
    machine : Machine
        Sizes.

    Members
    -------
    slot : In(1)
        The slot that computes.
    token : In(TokenLayout), commits : In(1), wrong : In(1)
        In the last stage; whether it commits, and whether it stops the kernel.
    row : In(lanes)
        Active lanes of its warp.
    result : In(lanes times 32), value : In(32)
        Of `ExecuteStages`.
    predicate, combined : In(lanes)
        Of `OperandStages`.
    changed : In(1), mask : In(2), after : In(lanes)
        Of `ControlMasks`, for ``commit``.
    write : Out, words_written : Out(lanes times 32), scalar_write : Out(ScalarWrite)
        Those of `WorkGroupRegisters`.
    predicate_write : Out(PredicateWrite)
        That of `OperandStages`.
    sd_write : Out(3)
        The special scalars that take ``value``.
    index_write : Out(Strobe(IndexWriteLayout)), commit : Out(Strobe(CommitLayout))
        Those of the compute unit.
    """

    def __init__(self, *, machine):
        self.machine = machine
        lanes = machine.lanes
        super().__init__({
            "slot": In(range(SLOTS)), "token": In(TokenLayout(machine=machine)),
            "commits": In(1), "wrong": In(1), "row": In(lanes),
            "result": In(32).array(lanes), "value": In(32), "predicate": In(lanes),
            "combined": In(lanes), "changed": In(1), "mask": In(2), "after": In(lanes),
            "write": Out(data.StructLayout({"lanes": lanes,
                                            "address": RegisterAddress(machine=machine)})),
            "words_written": Out(32).array(lanes),
            "scalar_write": Out(ScalarWrite()),
            "predicate_write": Out(PredicateWrite(machine=machine)),
            "sd_write": Out(3),
            "index_write": Out(Strobe(IndexWriteLayout(machine=machine))),
            "commit": Out(Strobe(CommitLayout(machine=machine))),
        })

    def elaborate(self, platform):
        m = Module()
        machine, token, what, commits = (self.machine, self.token, self.token.decoded,
                                         self.commits)
        served = Signal(machine.lanes)  # by the reciprocal units, in this pass
        m.d.comb += served.eq(-1)
        with m.If(what.special):
            units = machine.special_units
            m.d.comb += served.eq(((1 << units) - 1) << (token["pass"] * units))

        file, number = what.writes.file, what.writes.number
        special = (file == File.VECTOR_SPECIAL) & number[3]  # mem_idx, mem_data
        lanes = Signal(machine.lanes)
        with m.If(commits & ((file == File.VECTOR) | (file == File.PREDICATE) | special)):
            m.d.comb += lanes.eq(self.row & served)
        m.d.comb += [
            self.write.lanes.eq(Mux(file == File.PREDICATE, 0, lanes)),
            self.write.address.register.eq(Mux(special, MEM_IDX + number[0], number)),
            self.write.address.warp.eq(token.warp),
            *(word.eq(result) for word, result in
              zip(self.words_written, self.result, strict=True)),
        ]
        with m.If(special & ~number[0]):
            m.d.comb += [word[30:].eq(0) for word in self.words_written]
        seen = self.index_write
        m.d.sync += [
            seen.valid.eq(lanes.any() & special), seen.payload.slot.eq(self.slot),
            seen.payload.is_data.eq(number[0]), seen.payload.warp.eq(token.warp),
            seen.payload.enable.eq(lanes), seen.payload.item.eq(Cat(self.words_written)),
        ]

        held = Mux(what.combine, self.combined, Cat(result[0] for result in self.result))
        scalar = commits & token.last_pass
        m.d.comb += [
            self.predicate_write.bits.eq((self.predicate & ~self.row) | (held & self.row)),
            self.predicate_write.enable.eq(commits & (file == File.PREDICATE)),
            self.scalar_write.enable.eq(scalar & (file == File.SCALAR)),
            self.scalar_write.register.eq(number), self.scalar_write.data.eq(self.value),
            self.sd_write.eq(Cat(scalar & (file == File.SCALAR_SPECIAL) & (number == SD + index)
                                 for index in range(len(self.sd_write)))),
        ]
        self._show(m, lanes)
        return m

    def _show(self, m, lanes):
        token, shown = self.token, self.commit.payload
        m.d.comb += [
            self.commit.valid.eq(self.commits & ~self.wrong), shown.slot.eq(self.slot),
            shown.index.eq(token.index), shown.injected.eq(token.injected),
            shown.warp.eq(token.warp), shown.first.eq(token.first), shown.last.eq(token.last),
            shown.writes.eq(token.decoded.writes), shown.lanes.eq(lanes),
            shown.bits.eq(self.predicate_write.bits), shown.value.eq(self.value),
            shown.words.eq(Cat(self.words_written)),
        ]
        with m.If(self.changed):
            m.d.comb += [shown.bits.eq(self.after), shown.writes.number.eq(self.mask)]
