"""Operand fetch: what each operand of a token is, in the decode stages.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.isa import SCALAR_SPECIAL, File
from cyclebound.golden.simd.machine import SCALARS, SLOTS
from cyclebound.hdl.simd.decoder import MASKS
from cyclebound.hdl.simd.interfaces import GRID_BITS, MEM_IDX, BufferQuery, GridLayout
from cyclebound.hdl.simd.register_file import RegisterAddress
from cyclebound.hdl.simd.token import TokenLayout, delayed, fetch_stage

__all__ = ["SD", "OperandStages", "PredicateWrite"]

SD = SCALAR_SPECIAL.index("sd_words")
"""Place of the first of the three special scalars that an instruction writes."""
_PREDICATES = 4


class PredicateWrite(data.StructLayout):
    """A warp's row of the predicate that the committing token writes is to be ``bits``."""

    def __init__(self, *, machine):
        super().__init__({"enable": 1, "bits": machine.lanes})


class OperandStages(wiring.Component):
    """Fetches operand *k* of a token in decode stage *k*, or in the last; all three are there when
    it begins to execute. Keeps the predicates, a row of bits for each of a warp's.

    Latency: that of the decode stages, see ``operand``; ``offset_x`` to ``combined`` come with the
    token's commit.

    Parameters
    ----------
    machine : Machine
        Sizes and stages.

    Members
    -------
    tokens : In(TokenLayout) times stages + 1
        Of each stage of the pipeline, the one that issues first, the one that commits last.
    slot : In(1)
        The slot that computes.
    x, y : In(20), sd : In(3 times 32)
        Of its work-group, the place in the grid and the three special scalars that an instruction
        writes.
    mask_rows : In(4 times lanes)
        Of its work-group, each mask's row of the token whose second operand is there.
    grid : In(GridLayout)
        Of the kernel.
    buffer_query : Out(BufferQuery)
        See `cyclebound.hdl.simd.interfaces`.
    read : Out(3 times `RegisterAddress`), vector : In(lanes times 3 times 32)
        ``read`` and ``operand`` of `WorkGroupRegisters`.
    special : In(lanes times 2 times 32)
        Its ``special``, if the machine has snoopy accesses.
    scalar_read : Out(3 times 5), scalar : In(3 times 32)
        Its ports of these names.
    operand : Out(lanes times 3 times 32)
        Of the token that begins to execute.
    offset_x, offset_y : Out(32)
        Of an access that commits.
    condition : Out(1)
        The committing jump's condition does.
    chosen : Out(lanes)
        Lanes that the committing instruction's predicate marks; all, if it has none.
    combined : Out(lanes)
        Two predicates combined.
    predicate : Out(lanes)
        The row of the predicate that the committing token writes, as it is.
    predicate_write : In(PredicateWrite)
        What it is to be.
    """

    def __init__(self, *, machine):
        self.machine = machine
        self.depth = machine.decode_stages + machine.execute_stages
        super().__init__({
            "tokens": In(TokenLayout(machine=machine)).array(self.depth + 1),
            "slot": In(range(SLOTS)), "x": In(GRID_BITS), "y": In(GRID_BITS),
            "sd": In(32).array(3), "mask_rows": In(machine.lanes).array(len(MASKS)),
            "grid": In(GridLayout(machine=machine)), "buffer_query": Out(BufferQuery()),
            "read": Out(data.ArrayLayout(RegisterAddress(machine=machine), 3)),
            "vector": In(32).array(machine.lanes, 3),
            "scalar_read": Out(data.ArrayLayout(unsigned(ceil_log2(SCALARS)), 3)),
            "scalar": In(32).array(3),
            **({"special": In(32).array(machine.lanes, 2)} if machine.snoopy else {}),
            "operand": Out(32).array(machine.lanes, 3),
            "offset_x": Out(32), "offset_y": Out(32), "condition": Out(1),
            "chosen": Out(machine.lanes), "combined": Out(machine.lanes),
            "predicate": Out(machine.lanes),
            "predicate_write": In(PredicateWrite(machine=machine)),
        })

    def elaborate(self, platform):
        m = Module()
        machine = self.machine
        stages = [fetch_stage(machine, operand) for operand in range(3)]
        fetched = [self.tokens[stage + 1] for stage in stages]  # by operand, whose word is there
        self._addresses(m, stages, fetched)
        uniform = self._uniform(m, fetched)
        for offset, number in ((self.offset_x, 1), (self.offset_y, 2)):
            m.d.comb += offset.eq(delayed(m, offset.name, uniform[number],
                                          self.depth - stages[number] - 1))
        self._condition(m, fetched[0].decoded.sub)
        self._predicates(m, fetched, stages)
        for lane, operands in enumerate(self.operand):
            words = self._lane(m, lane, fetched, uniform)
            m.d.comb += [
                operand.eq(delayed(m, f"{name}_of_{lane}", word,
                                   machine.decode_stages - 1 - stage))
                for operand, name, word, stage in zip(operands, "abc", words, stages, strict=True)]
        return m

    def _addresses(self, m, stages, fetched):
        """What each decode stage asks the registers for."""
        for operand, (stage, name) in enumerate(zip(stages, "abc", strict=True)):
            token = self.tokens[stage]
            register = token.decoded[name].number
            if not self.machine.snoopy:  # `mem_idx` and `mem_data` are among the others
                special = token.decoded[name].file == File.VECTOR_SPECIAL
                register = Mux(special & register[3], MEM_IDX + register[0], register)
            m.d.comb += [self.read[operand].warp.eq(token.warp),
                         self.read[operand].register.eq(register),
                         self.scalar_read[operand].eq(fetched[operand].decoded[name].number)]

    def _uniform(self, m, fetched):
        """The operands that are the same for all lanes: a buffer's size, a scalar, a number."""
        b, c = fetched[1].decoded.b, fetched[2].decoded.c
        buffer = self.buffer_query
        m.d.comb += buffer.buffer.eq(self.tokens[0].decoded.number)
        query = Mux(fetched[0].decoded.sub == 0, buffer.x, buffer.y)
        uniform = first, second, third = [Signal(32, name=f"shared_{name}") for name in "abc"]
        special = Array([self.grid.x, self.grid.y, self.x, self.y,
                         (Const(1, 32) << self.grid.width)[:32], *self.sd])
        m.d.comb += [
            first.eq(Mux(fetched[0].decoded.query, query, self.scalar[0])),
            second.eq(Mux(b.file == File.SCALAR, self.scalar[1], Mux(
                b.file == File.SCALAR_SPECIAL, special[b.number[:3]],
                fetched[1].decoded.immediate))),
            third.eq(Mux(c.file == File.SCALAR, self.scalar[2],
                         fetched[2].decoded.offset.as_signed())),
        ]
        return uniform

    def _condition(self, m, comparison):
        """Whether a signed number compares with 0 as a jump asks, when that commits."""
        scalar = self.scalar[0]
        zero, below = ~scalar.any(), scalar[-1]
        condition = Signal()
        m.d.comb += [condition.eq(Array([zero, ~zero, ~zero & ~below, zero | ~below, ~zero & below,
                                         zero | below])[comparison]),
                     self.condition.eq(delayed(m, "condition", condition, self.depth - 1))]

    def _predicates(self, m, fetched, stages):
        """A row of predicate bits for each register and warp."""
        machine, commits = self.machine, self.tokens[-1]
        rows = [Signal(machine.lanes, name=f"predicate_{name}") for name in "ac"]
        for slot in range(SLOTS):
            m.submodules[f"predicates_{slot}"] = memory = Memory(
                shape=unsigned(machine.lanes), depth=_PREDICATES * machine.warps, init=[])
            write, mine = memory.write_port(), self.slot == slot
            m.d.comb += [write.addr.eq(Cat(commits.warp, commits.decoded.writes.number[:2])),
                         write.data.eq(self.predicate_write.bits),
                         write.en.eq(self.predicate_write.enable & mine)]
            places = ((fetched[0].decoded.a, fetched[0].warp),
                      (fetched[2].decoded.c, fetched[2].warp),
                      (commits.decoded.writes, commits.warp))
            for row, (source, warp) in zip((*rows, self.predicate), places, strict=True):
                read = memory.read_port(domain="comb")
                m.d.comb += read.addr.eq(Cat(warp, source.number[:2]))
                with m.If(mine):
                    m.d.comb += row.eq(read.data)
        chosen = Signal(machine.lanes)
        m.d.comb += [
            chosen.eq(rows[0] | fetched[0].decoded.absent.replicate(machine.lanes)),
            self.chosen.eq(delayed(m, "chosen", chosen, self.depth - 1)),
        ]
        # and, or, nand, nor
        left = delayed(m, "left", rows[0], stages[2])
        what, combined = fetched[2].decoded.sub, Signal(machine.lanes)
        m.d.comb += [
            combined.eq(Mux(what[0], left | rows[1], left & rows[1])
                        ^ what[1].replicate(machine.lanes)),
            self.combined.eq(delayed(m, "combined", combined, self.depth - stages[2] - 1)),
        ]

    def _lane(self, m, lane, fetched, uniform):
        """A lane's three operands: its own registers, or what is the same for all lanes."""
        vector, b = self.vector[lane], fetched[1].decoded.b
        words = [Signal(32, name=f"{name}_of_{lane}") for name in "abc"]
        m.d.comb += [words[0].eq(vector[0]), words[2].eq(vector[2])]
        if lane == 0:  # that of the scalars
            with m.If(~fetched[0].decoded.vector):
                m.d.comb += words[0].eq(uniform[0])
            with m.If(~fetched[2].decoded.vector):
                m.d.comb += words[2].eq(uniform[2])
        special = self._special(m, lane, b.number, fetched[1].warp)
        with m.If(b.file == File.VECTOR):
            m.d.comb += words[1].eq(vector[1])
        with m.Elif(b.file == File.VECTOR_SPECIAL):
            m.d.comb += words[1].eq(special)
        with m.Else():
            m.d.comb += words[1].eq(uniform[1])
        return words

    def _special(self, m, lane, number, warp):
        """A special vector register's word."""
        item = Cat(Const(lane, ceil_log2(self.machine.lanes)), warp)
        column = (item & ((1 << self.grid.width) - 1))[:len(item)]
        line = item >> self.grid.width
        word = Signal(32, name=f"special_of_{lane}")
        indexes = self.special[lane] if self.machine.snoopy else [self.vector[lane][1]] * 2
        # a work-group begins at a multiple of its width and height
        m.d.comb += word.eq(Array([
            *(row[lane] for row in self.mask_rows), self.x | column, self.y | line, column, line,
            0, 1, *indexes])[number[:4]])
        return word
