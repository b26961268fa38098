"""Compute unit: two work-groups take turns on one pipeline of lanes.

    fetch -> decode (operands 0, 1, 2) -> execute -> commit
      ^                                                |
      '---- jumps, control stack, slots <--------------'

A token is one cycle's work: a scalar instruction, a warp of a vector instruction, or a pass of the
reciprocal units over a warp. Tokens never stop between the first decode stage, where they *issue*,
and their commit. Everything that changes a work-group's state happens at commit, so that masks
need no forwarding and what follows a jump or a mask without lanes is dropped in time.

Ref: Sim-D, section 3.1.
"""

import itertools

from amaranth.hdl import Array, Cat, Const, EnableInserter, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import OPCODES, SCALAR_SPECIAL, VECTOR_SPECIAL, File
from cyclebound.golden.simd.machine import SLOTS, machine_named
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.selection import Selection
from cyclebound.hdl.shared import shared
from cyclebound.hdl.simd.control_stack import ControlStack
from cyclebound.hdl.simd.decoder import MASKS, Decoded, Decoder, Source
from cyclebound.hdl.simd.divider import Divider
from cyclebound.hdl.simd.interfaces import (
    GRID_BITS,
    MEM_IDX,
    NUMBER_BITS,
    REGISTER_BANKS,
    AccessLayout,
    BufferQuery,
    CompletionLayout,
    EndLayout,
    FaultLayout,
    GridLayout,
    IndexWriteLayout,
    LaunchLayout,
    PassedLayout,
    ProgramWriteLayout,
    Transfer,
)
from cyclebound.hdl.simd.lane import Lane
from cyclebound.hdl.simd.register_file import LaneRegisters, ScalarRegisters
from cyclebound.hdl.simd.scoreboard import Scoreboard
from cyclebound.hdl.simd.special_functions import SpecialFunctions

__all__ = ["CommitLayout", "ComputeUnit"]

_RUN, _BREAK, _RET, _EXIT = range(len(MASKS))
_ZERO, _ONE, _IDX, _DATA = map(VECTOR_SPECIAL.index, ("zero", "one", "mem_idx", "mem_data"))
_SD = SCALAR_SPECIAL.index("sd_words")
_INDEX_BITS = ceil_log2(INSTRUCTIONS)


class CommitLayout(data.StructLayout):
    """The effect of a token on its work-group, for observers.

    ``lanes`` of ``warp`` are written with ``words``, or with ``bits`` if it is a predicate. Of a
    control instruction, ``bits`` are what all lanes of the mask ``writes.number`` hold now.
    ``value`` goes into a scalar register, with the ``last`` token.
    """

    def __init__(self, *, machine):
        super().__init__({
            "slot": ceil_log2(SLOTS), "index": _INDEX_BITS, "injected": 1,
            "warp": ceil_log2(machine.warps), "first": 1, "last": 1,
            "writes": data.Layout.cast(Source), "lanes": machine.lanes, "bits": machine.lanes,
            "value": 32, "words": data.ArrayLayout(unsigned(32), machine.lanes),
        })


def _either(values):
    """Bit by bit, whether one of the values has it."""
    while len(values) > 1:
        values = [left | right for left, right in
                  itertools.zip_longest(values[::2], values[1::2], fillvalue=Const(0))]
    return values[0]


def _numbers(rows):
    """The bits of the number of that one of ``rows`` in which a place's bit is set, place by place;
    they are set in one row at most."""
    return [_either([row for number, row in enumerate(rows) if number >> bit & 1])
            for bit in range(ceil_log2(len(rows)))]


class _FirstStage:
    """What the first decode stage holds: an instruction, and which of its tokens issues next."""

    def __init__(self, machine, most_passes):
        valid, index, injected = Signal(), Signal(_INDEX_BITS + 1), Signal()
        warp, number = Signal(ceil_log2(machine.warps)), Signal(range(most_passes))
        self.valid, self.index, self.injected = valid, index, injected
        self.warp, self.pass_number = warp, number
        self.blocked = Signal()  # until the flush that has to come
        self.dividing = Signal(range(machine.divider_cycles + 1))  # cycles left of a division


class ComputeUnit(wiring.Component):
    """Runs kernels, one instruction per cycle in order.

    Work-groups take turns: one computes until its access is committed or it ends; then the other
    one follows, if it is ready, else the first that becomes ready. With ``hold``, a work-group
    whose access was to its scratchpad continues before the other one.

    Latency, with *D* decode and execute stages and *W* warps: an instruction issues in the cycle
    after its fetch and commits *D* cycles later. A jump that is taken costs *D + 1* cycles, a
    vector instruction that jumps or leaves no lane *W + D + 1*. See ``golden.simd.pipeline``.

    Parameters
    ----------
    machine : Machine or str
        Sizes and stages, or their name.
    words : int or None
        Positions of the transfer bus; by default, as many as words move in a clock: those of a
        beat, or of a line of a scratchpad. Words that move together have targets that differ by
        less, or are moved line by line (`Access.split`), so that more positions save nothing.

    Members
    -------
    See `cyclebound.hdl.simd.interfaces`; and

    commit : Out(Strobe(CommitLayout))
        The token that commits in this cycle, for observers.

    Attributes
    ----------
    current : Signal
        The slot that computes, or did so last.
    running : Signal
        The slot computes: instructions are fetched, under way, or wait.
    under_way : Signal
        There is an instruction in the first stage, or a token in a later one.
    settles : Signal
        A mask was changed in the cycle before, of all warps.
    accessing : Signal
        Slots whose accesses are not over.
    tokens : list of Signal
        The token of each stage of the pipeline, the first decode stage first: that of place *n*
        issued *n* cycles ago, and the last one commits.
    """

    def __init__(self, *, machine, words=None):
        self.machine = machine = machine_named(machine)
        self.words = words = (min(machine.lanes, machine.words_moved) if words is None
                              else words)
        self.depth = machine.decode_stages + machine.execute_stages
        self.current, self.running = Signal(range(SLOTS)), Signal()
        self.under_way, self.settles, self.accessing = Signal(), Signal(), Signal(SLOTS)
        token = data.StructLayout({
            "valid": 1, "decoded": data.Layout.cast(Decoded), "cause": Cause, "index": _INDEX_BITS,
            "injected": 1, "warp": ceil_log2(machine.warps), "pass": range(self._most_passes()),
            "first": 1, "last": 1, "last_pass": 1})
        self.tokens = [Signal(token, name=f"token_{age}") for age in range(self.depth + 1)]
        super().__init__({
            "stall": In(1),
            "program": In(Strobe(ProgramWriteLayout())), "length": In(_INDEX_BITS + 1),
            "grid": In(GridLayout(machine=machine)), "exclusive": In(1), "hold": In(1),
            "start": In(1),
            "launch": In(Strobe(LaunchLayout())), "occupied": Out(SLOTS),
            "ended": Out(Strobe(EndLayout())), "fault": Out(Strobe(FaultLayout())),
            "stopped": Out(1), "access": Out(Strobe(AccessLayout())),
            "completion": In(Strobe(CompletionLayout())).array(SLOTS),
            "transfer": In(Transfer(machine=machine, words=words)).array(SLOTS),
            "active": Out(machine.items).array(SLOTS),
            "index_write": Out(Strobe(IndexWriteLayout(machine=machine))),
            "buffer_query": Out(BufferQuery()),
            "commit": Out(Strobe(CommitLayout(machine=machine))),
        })

    def elaborate(self, platform):
        m, self._free = Module(), Module()  # what stalls, and what does not
        self._flush = Signal()                # all but the one that commits are dropped
        self._values = {}
        self._slots(m)
        self._issue(m)
        self._operands(m, platform)
        self._execute(m, platform)
        self._commit(m)
        self._control(m)
        self._schedule(m)
        both = Module()
        both.submodules.pipeline = EnableInserter(~self.stall)(m)
        both.submodules.memories = self._free
        return both

    def _most_passes(self):
        machine = self.machine
        return max(machine.passes, 1 + machine.divider_cycles - machine.execute_stages)

    def _later(self, m, name, value, cycles):
        """A value of a token, after a number of pipeline registers."""
        for number in range(cycles):
            kept = Signal(value.shape(), name=f"{name}_{number}", reset_less=True)
            m.d.sync += kept.eq(value)
            value = kept
        return value

    # -- slots -------------------------------------------------------------------------------------

    def _slots(self, m):
        """Declare the state of each slot's work-group, except registers: program counter, place
        in the grid, masks, control stack."""
        machine = self.machine
        # lent: a fault has ended the slot's access for the pipeline; its registers are still read
        self._on_chip, self._closing, self._lent = (Signal(SLOTS, name=name) for name in
                                                    ("on_chip", "closing", "lent"))
        self._pc = Array(Signal(_INDEX_BITS, name=f"pc_{slot}") for slot in range(SLOTS))
        self._number, self._x, self._y = (
            Array(Signal(bits, name=f"{name}_{slot}") for slot in range(SLOTS))
            for name, bits in (("number", NUMBER_BITS), ("x", GRID_BITS), ("y", GRID_BITS)))
        self._sd = Array(Array(Signal(32, name=f"{name}_{slot}") for name in SCALAR_SPECIAL[_SD:])
                         for slot in range(SLOTS))
        # masks[slot][mask][warp]
        self._masks = Array(Array(Array(
            Signal(machine.lanes, name=f"{name}_{slot}_{warp}") for warp in range(machine.warps))
            for name in MASKS) for slot in range(SLOTS))
        self._stacks = [ControlStack(machine=machine) for _ in range(SLOTS)]
        for slot, stack in enumerate(self._stacks):
            m.submodules[f"stack_{slot}"] = stack
            rows = [self._masks[slot][_RUN][warp] & self._masks[slot][_BREAK][warp]
                    & self._masks[slot][_RET][warp] & self._masks[slot][_EXIT][warp]
                    for warp in range(machine.warps)]
            m.d.comb += self.active[slot].eq(Cat(rows))

    def _launch(self, m):
        """Lanes of a new work-group outside the grid are off."""
        machine, launched = self.machine, self.launch.payload
        heights = {machine.items // width: width for width in machine.widths}
        columns, lines = self.grid.x - launched.x, self.grid.y - launched.y
        widest, highest = max(machine.widths), max(heights)
        within = Signal(widest)   # columns that lie in the grid
        below = Signal(highest)   # lines
        m.d.comb += [within.eq(Cat(columns > column for column in range(widest))),
                     below.eq(Cat(lines > line for line in range(highest)))]
        inside = Signal(machine.items)
        with m.Switch(self.grid.width):
            for width in machine.widths:
                with m.Case(width.bit_length() - 1):
                    m.d.comb += inside.eq(Cat(
                        within[:width] & below[line].replicate(width)
                        for line in range(machine.items // width)))
        for slot in range(SLOTS):
            with m.If(self.launch.valid & (launched.slot == slot)):
                for mask in range(len(MASKS)):
                    for warp in range(machine.warps):
                        lanes = inside.word_select(warp, machine.lanes) if mask == _EXIT else -1
                        m.d.sync += self._masks[slot][mask][warp].eq(lanes)
                m.d.sync += [self._number[slot].eq(launched.number), self._x[slot].eq(launched.x),
                             self._y[slot].eq(launched.y), self.occupied[slot].eq(1),
                             self._pc[slot].eq(0),
                             self.accessing[slot].eq(0),
                             *(register.eq(1) for register in self._sd[slot])]
                m.d.comb += self._stacks[slot].clear.eq(1)

    # -- fetch and issue ---------------------------------------------------------------------------

    def _issue(self, m):
        """The first decode stage: an instruction waits for its operands, and is taken apart into
        tokens."""
        machine, tokens, now = self.machine, self.tokens, self.tokens[0]
        what = now.decoded
        stage = _FirstStage(machine, self._most_passes())
        wrong = self._decode(m, stage, self._program_word(m))
        passes = Mux(what.special, machine.passes - 1, Mux(
            what.divide, machine.divider_cycles - machine.execute_stages, 0))
        waits = (stage.pass_number == 0) & self._hazards(m, stage)
        leaves = Signal()  # the instruction's last token issues
        m.d.comb += [
            now.valid.eq(stage.valid & ~stage.blocked & ~waits), now.index.eq(stage.index),
            now.injected.eq(stage.injected), now.warp.eq(stage.warp),
            now["pass"].eq(stage.pass_number),
            now.first.eq((stage.warp == 0) & (stage.pass_number == 0)),
            now.last_pass.eq(stage.pass_number == passes),
            now.last.eq(now.last_pass & (~what.vector | (stage.warp == machine.warps - 1))),
            leaves.eq(now.valid & now.last),
        ]
        self._accepts = ~stage.valid | leaves
        m.d.comb += self.under_way.eq(stage.valid | Cat(token.valid for token in tokens[1:]).any())
        self._exit_follows = stage.valid & what.leaves
        self._next_token(m, stage, leaves, wrong)
        for age in range(self.depth):
            m.d.sync += [tokens[age + 1].eq(tokens[age]),
                         tokens[age + 1].valid.eq(tokens[age].valid & ~self._flush)]

    def _program_word(self, m):
        """The program's memory: the instruction that was fetched in the cycle before."""
        self._free.submodules.program_memory = memory = Memory(
            shape=data.ArrayLayout(unsigned(64), 2), depth=INSTRUCTIONS // 2, init=[])
        write, fetch = memory.write_port(granularity=1), memory.read_port()
        program, odd = self.program.payload, Signal()
        m.d.comb += [write.addr.eq(program.index), write.data.eq(program.words),
                     write.en.eq(Mux(self.program.valid, program.enable, 0))]
        # set by _schedule
        self._fetches, self._fetched = Signal(), Signal(_INDEX_BITS + 1)
        self._injects = Signal()
        m.d.comb += [fetch.en.eq(self._fetches & ~self.stall), fetch.addr.eq(self._fetched[1:])]
        with m.If(self._fetches):
            m.d.sync += odd.eq(self._fetched[0])
        return fetch.data[odd]

    def _decode(self, m, stage, word):
        """Decode the word, or the injected ``cpop``, into the first token.

        Returns whether it stops the kernel: there is no instruction, or an illegal one.
        """
        now = self.tokens[0]
        m.submodules.decoder = decoder = Decoder(machine=self.machine)
        m.d.comb += decoder.word.eq(Mux(stage.injected, OPCODES["cpop"], word))
        beyond = ~stage.injected & (stage.index >= self.length)
        wrong = beyond | decoder.decoded.illegal
        with m.If(beyond):
            m.d.comb += now.cause.eq(Cause.END)
        with m.Elif(wrong):
            m.d.comb += now.cause.eq(Cause.ILLEGAL)
        with m.Else():
            m.d.comb += now.decoded.eq(decoder.decoded)
        return wrong

    def _hazards(self, m, stage):
        """Whether the instruction must wait: for a register, the divider, or the control stack."""
        machine, now = self.machine, self.tokens[0]
        what = now.decoded
        m.submodules.scoreboard = scoreboard = Scoreboard(machine=machine)
        m.d.comb += [
            scoreboard.issue.eq(now.valid), scoreboard.flush.eq(self._flush),
            scoreboard.writes.eq(what.writes), scoreboard.several.eq(what.several),
            scoreboard.warp.eq(stage.warp), scoreboard.implicit.eq(what.implicit),
            *(scoreboard.reads[number].eq(what[name]) for number, name in enumerate("abc")),
        ]
        pushing = Cat(token.valid & token.decoded.push
                      for token in self.tokens[1:machine.execute_stages]).any()
        return (scoreboard.wait | (what.divide & (stage.dividing != 0))
                | (what.pop & (stage.warp == 0) & pushing))

    def _next_token(self, m, stage, leaves, wrong):
        """What the first stage holds in the next cycle."""
        now, what = self.tokens[0], self.tokens[0].decoded
        with m.If(stage.dividing != 0):
            m.d.sync += stage.dividing.eq(stage.dividing - 1)
        with m.If(now.valid):
            m.d.sync += stage.pass_number.eq(Mux(now.last_pass, 0, stage.pass_number + 1))
            with m.If(now.last_pass):
                m.d.sync += stage.warp.eq(stage.warp + 1)
            with m.If(what.divide & (stage.pass_number == 0)):
                m.d.sync += stage.dividing.eq(self.machine.divider_cycles)
        with m.If(leaves):
            m.d.sync += [stage.warp.eq(0),
                         stage.blocked.eq(what.access | what.pop | what.call | wrong)]
        with m.If(self._flush):
            # a division that is dropped delays no other, and one that commits has ended
            m.d.sync += [stage.warp.eq(0), stage.pass_number.eq(0), stage.blocked.eq(0),
                         stage.dividing.eq(0)]
        with m.If(self._fetches | self._injects):
            m.d.sync += [stage.valid.eq(1), stage.index.eq(self._fetched),
                         stage.injected.eq(self._injects)]
        with m.Elif(leaves | self._flush):
            m.d.sync += stage.valid.eq(0)

    # -- operands ----------------------------------------------------------------------------------

    def _operands(self, m, platform):
        """Fetch operand *k* in decode stage *k*, or in the last; all are there when lanes begin."""
        machine = self.machine
        stages = [min(operand, machine.decode_stages - 1) for operand in range(3)]
        fetched = [self.tokens[stage + 1] for stage in stages]  # by operand, whose word is there
        scalars = self._scalar_registers(m, fetched)
        uniform = self._uniform_operands(m, fetched, scalars)
        self._offsets(m, stages, uniform)
        self._condition(m, fetched[0].decoded.sub, scalars[0])
        self._predicates(m, fetched, stages)
        # masks as operands: a row of lanes is chosen once, not a bit in every lane
        self._read_rows = [Signal(machine.lanes, name=f"read_{name}") for name in MASKS]
        m.d.comb += [row.eq(self._masks[self.current][mask][fetched[1].warp])
                     for mask, row in enumerate(self._read_rows)]
        # While the pipeline stalls and no words come, nor came in the clock before, the lanes'
        # registers have nothing to do; simulators leave them alone.
        mine, recent = self.accessing | self._lent, Signal(SLOTS)
        self._free.d.sync += recent.eq(mine)
        self._moves = Signal()
        m.d.comb += self._moves.eq(~self.stall | mine.any() | recent.any())
        self._inputs = self._lane_inputs(m, stages)
        self._lanes = []
        self._vector = []  # operands of each lane, when it begins
        for lane in range(machine.lanes):
            self._lanes.append(self._lane_registers(m, platform, lane))
            words = self._lane_operands(m, lane, fetched, uniform)
            self._vector.append([
                self._later(m, f"{name}_of_{lane}", word, machine.decode_stages - 1 - stage)
                for name, word, stage in zip("abc", words, stages, strict=True)])
        self._transfers(m)

    def _scalar_registers(self, m, fetched):
        """The slots' scalar registers; returns what the current slot's hold, by operand."""
        self._scalars = [ScalarRegisters(machine=self.machine) for _ in range(SLOTS)]
        values = [Signal(32, name=f"scalar_{operand}") for operand in range(3)]
        for slot, scalars in enumerate(self._scalars):
            self._free.submodules[f"scalars_{slot}"] = scalars
            m.d.comb += [scalars.stall.eq(self.stall),
                         scalars.moved.eq(self.transfer[slot].scalars),
                         *(scalars.read[operand].eq(token.decoded["abc"[operand]].number)
                           for operand, token in enumerate(fetched))]
            with m.If(~self.accessing[slot]):
                m.d.comb += scalars.moved.eq(0)
            with m.If(self.current == slot):
                m.d.comb += [values[operand].eq(scalars.value[operand]) for operand in range(3)]
        return values

    def _uniform_operands(self, m, fetched, scalars):
        """The operands that are the same for all lanes: a buffer's size, a scalar, a number."""
        current = self.current
        b, c = fetched[1].decoded.b, fetched[2].decoded.c
        m.d.comb += self.buffer_query.buffer.eq(self.tokens[0].decoded.number)
        query = Mux(fetched[0].decoded.sub == 0, self.buffer_query.x, self.buffer_query.y)
        uniform = first, second, third = [Signal(32, name=f"shared_{name}") for name in "abc"]
        special = Array([self.grid.x, self.grid.y, self._x[current], self._y[current],
                         (Const(1, 32) << self.grid.width)[:32],
                         *(self._sd[current][number] for number in range(3))])
        m.d.comb += [
            first.eq(Mux(fetched[0].decoded.query, query, scalars[0])),
            second.eq(Mux(b.file == File.SCALAR, scalars[1], Mux(
                b.file == File.SCALAR_SPECIAL, special[b.number[:3]],
                fetched[1].decoded.immediate))),
            third.eq(Mux(c.file == File.SCALAR, scalars[2],
                         fetched[2].decoded.offset.as_signed())),
        ]
        return uniform

    def _offsets(self, m, stages, uniform):
        """An access's offsets, when it commits."""
        x, y = Signal(32), Signal(32)
        m.d.comb += [x.eq(uniform[1]), y.eq(uniform[2])]
        self._offset_x = self._later(m, "x", x, self.depth - stages[1] - 1)
        self._offset_y = self._later(m, "y", y, self.depth - stages[2] - 1)

    def _condition(self, m, comparison, scalar):
        """Whether a signed number compares with 0 as a jump asks, when that commits."""
        zero, below = ~scalar.any(), scalar[-1]
        holds = Signal()
        m.d.comb += holds.eq(Array([zero, ~zero, ~zero & ~below, zero | ~below, ~zero & below,
                                    zero | below])[comparison])
        self._holds = self._later(m, "holds", holds, self.depth - 1)

    def _lane_inputs(self, m, stages):
        """What the registers of all lanes are given alike. One signal for each port, not one for
        each lane: simulators keep, and pass, as many copies as there are signals."""
        self._register_files = [LaneRegisters(machine=self.machine)
                                for _ in range(self.machine.lanes)]
        members = self._register_files[0].signature.members
        inputs = {name: Signal(members[name].shape, name=f"lanes_{name}")
                  for name in ("stall", "slot", "transfers", "read", "snoop", "passed", "loads")
                  if name in members}
        m.d.comb += [inputs["stall"].eq(self.stall), inputs["slot"].eq(self.current),
                     inputs["transfers"].eq(self.accessing | self._lent)]
        for operand, stage in enumerate(stages):  # each decode stage reads the one that it fetches
            token, name = self.tokens[stage], "abc"[operand]
            source = token.decoded[name]
            register = source.number
            if not self.machine.snoopy:  # `mem_idx` and `mem_data` are among the others
                register = Mux((source.file == File.VECTOR_SPECIAL) & register[3],
                               MEM_IDX + register[0], register)
            m.d.comb += [inputs["read"][operand].warp.eq(token.warp),
                         inputs["read"][operand].register.eq(register)]
        return inputs

    def _lane_registers(self, m, platform, lane):
        """A lane's registers."""
        registers = self._register_files[lane]
        self._free.submodules[f"registers_{lane}"] = shared(registers, platform,
                                                            alike=("registers", self.machine),
                                                            enable=self._moves)
        m.d.comb += [getattr(registers, name).eq(value) for name, value in self._inputs.items()]
        return registers

    def _lane_operands(self, m, lane, fetched, uniform):
        """A lane's three operands: its own registers, or what is the same for all lanes."""
        registers, b = self._lanes[lane], fetched[1].decoded.b
        words = [Signal(32, name=f"{name}_of_{lane}") for name in "abc"]
        special = self._special(m, lane, b.number, fetched[1].warp)
        m.d.comb += words[0].eq(registers.operand[0])
        m.d.comb += words[2].eq(registers.operand[2])
        if lane == 0:  # that of the scalars
            with m.If(~fetched[0].decoded.vector):
                m.d.comb += words[0].eq(uniform[0])
            with m.If(~fetched[2].decoded.vector):
                m.d.comb += words[2].eq(uniform[2])
        with m.If(b.file == File.VECTOR):
            m.d.comb += words[1].eq(registers.operand[1])
        with m.Elif(b.file == File.VECTOR_SPECIAL):
            m.d.comb += words[1].eq(special)
        with m.Else():
            m.d.comb += words[1].eq(uniform[1])
        return words

    def _special(self, m, lane, number, warp):
        """A special vector register's word."""
        machine, current = self.machine, self.current
        item = Cat(Const(lane, ceil_log2(machine.lanes)), warp)
        column = (item & ((1 << self.grid.width) - 1))[:len(item)]
        line = item >> self.grid.width
        word = Signal(32, name=f"special_of_{lane}")
        special = (self._special_registers(m, lane, warp) if machine.snoopy
                   else [self._lanes[lane].operand[1]] * 2)
        # a work-group begins at a multiple of its width and height
        m.d.comb += word.eq(Array([
            *(row[lane] for row in self._read_rows), self._x[current] | column,
            self._y[current] | line, column, line, 0, 1, *special])[number[:4]])
        return word

    def _special_registers(self, m, lane, warp):
        """A lane's `mem_idx` and `mem_data` of the slot that computes. While a slot's registers are
        the transfer unit's, it has the choice of the warp."""
        registers, found = self._lanes[lane], [[], []]
        for slot, by_register in enumerate(registers.special):
            mine = (self.accessing | self._lent)[slot]
            for number, words in enumerate(by_register):
                asked = registers.asked[slot][number].warp
                chosen = registers.chosen[slot][number]
                m.d.comb += chosen.eq(words.as_value().word_select(Mux(mine, asked, warp), 32))
                found[number].append(chosen)
        return [Mux(self.current, second, first) for first, second in found]

    def _predicates(self, m, fetched, stages):
        """A row of predicate bits for each register and warp."""
        machine, current = self.machine, self.current
        self._predicate_writes = []
        self._predicate_row = Signal(machine.lanes)  # of what commits, as it is
        commits = self.tokens[-1]
        rows = [Signal(machine.lanes, name=f"predicate_{name}") for name in "ac"]
        for slot in range(SLOTS):
            m.submodules[f"predicates_{slot}"] = memory = Memory(
                shape=unsigned(machine.lanes), depth=4 * machine.warps, init=[])
            self._predicate_writes.append(memory.write_port())
            places = ((fetched[0].decoded.a, fetched[0].warp),
                      (fetched[2].decoded.c, fetched[2].warp),
                      (commits.decoded.writes, commits.warp))
            for row, (source, warp) in zip((*rows, self._predicate_row), places, strict=True):
                read = memory.read_port(domain="comb")
                m.d.comb += read.addr.eq(Cat(warp, source.number[:2]))
                with m.If(current == slot):
                    m.d.comb += row.eq(read.data)
        absent = fetched[0].decoded.absent
        chosen = Signal(machine.lanes)
        m.d.comb += chosen.eq(rows[0] | absent.replicate(machine.lanes))
        self._chosen = self._later(m, "chosen", chosen, self.depth - 1)
        # and, or, nand, nor
        left = self._later(m, "left", rows[0], stages[2])
        what, both = fetched[2].decoded.sub, Signal(machine.lanes)
        m.d.comb += both.eq(Mux(what[0], left | rows[1], left & rows[1])
                            ^ what[1].replicate(machine.lanes))
        self._both = self._later(m, "both", both, self.depth - stages[2] - 1)

    def _transfers(self, m):
        """Position *k* of the bus serves the lanes that are *k* modulo its positions."""
        machine = self.machine
        if machine.snoopy:
            for slot, port in enumerate(self.transfer):
                self._snoop(m, slot, port)
        rows = machine.lanes // self.words  # of the bus in a warp
        inside = ceil_log2(rows)
        for (slot, port), bank in itertools.product(enumerate(self.transfer),
                                                    range(REGISTER_BANKS)):
            for position, asked in enumerate(port.read[bank]):
                row = Signal(inside, name=f"answered_{slot}_{bank}_{position}")
                self._free.d.sync += row.eq(asked.group[:inside])
                m.d.comb += port.answer[bank][position].eq(Array(
                    self._lanes[number * self.words + position].answer[slot][bank]
                    for number in range(rows))[row])
            for lane, registers in enumerate(self._lanes):
                row, position = divmod(lane, self.words)
                write, asked = port.write[bank][position], port.read[bank][position]
                moved = registers.moved[slot][bank]
                m.d.comb += [
                    moved.enable.eq(write.enable & (write.group[:inside] == row)),
                    moved.row.eq(write.row), moved.warp.eq(write.group[inside:]),
                    registers.words[slot][bank].eq(write.data),
                    registers.asked[slot][bank].row.eq(asked.row),
                    registers.asked[slot][bank].warp.eq(asked.group[inside:]),
                ]

    def _snoop(self, m, slot, port):
        """Words that pass every lane's items; of those that have one, the lowest warp's lowest lane
        answers."""
        machine, warps = self.machine, self.machine.warps
        matches = [registers.matched[slot] for registers in self._lanes]
        matched = Signal(matches[0].shape(), name=f"matched_{slot}")
        m.d.comb += matched.eq(_either([of_lane.as_value() for of_lane in matches]))
        lower, first = Const(0, len(port.held.enable)), []  # words that a lower warp has
        for of_warp in matched:
            lowest = Signal(len(lower), name=f"first_{slot}_{len(first)}")
            m.d.comb += lowest.eq(of_warp & ~lower)
            first.append(lowest)
            lower = lower | of_warp
        m.d.comb += port.held.enable.eq(lower)

        before, owned = Const(0, len(lower)), []  # words that a lower lane has; a lane's own
        for lane, of_lane in enumerate(matches):
            has, own, until = (Signal(len(lower), name=f"{name}_{slot}_{lane}")
                               for name in ("has", "own", "until"))
            m.d.comb += [has.eq(_either([mine & here for mine, here in zip(
                of_lane, first, strict=True)])), own.eq(has & ~before), until.eq(before | has)]
            owned.append(own)
            before = until
        # the numbers of a word's warp and lane choose among all items' `mem_data`
        numbers = [*_numbers(first), *_numbers(owned)]
        places = [Signal(len(lower), name=f"place_{slot}_{bit}") for bit in range(len(numbers))]
        m.submodules[f"held_{slot}"] = held = Selection(
            words=machine.items, width=32, choices=len(lower))
        m.d.comb += [
            *(bits.eq(of) for bits, of in zip(places, numbers, strict=True)),
            held.row.eq(Cat(registers.special[slot][1] for registers in self._lanes)),
            *(number.eq(Cat(bits[word] for bits in places))
              for word, number in enumerate(held.number)),
            port.held.words.eq(held.chosen),
        ]

        passed = Signal(PassedLayout(machine=machine), name=f"passed_{slot}")
        self._free.d.sync += passed.load.eq(port.snoop.load & port.snoop.enable.any())
        with self._free.If(port.snoop.load):
            self._free.d.sync += passed.words.eq(port.snoop.words)
        inputs = self._inputs
        m.d.comb += [inputs["snoop"][slot].enable.eq(port.snoop.enable),
                     inputs["snoop"][slot].index.eq(port.snoop.index),
                     inputs["passed"][slot].eq(passed.words),
                     inputs["loads"][slot].eq(passed.load)]
        for lane, registers in enumerate(self._lanes):
            active = Cat(self.active[slot][warp * machine.lanes + lane] for warp in range(warps))
            m.d.comb += registers.active[slot].eq(active)

    # -- execute -----------------------------------------------------------------------------------

    def _execute(self, m, platform):
        """Lanes, reciprocal units and the divider; ``self._results`` are those that commit."""
        machine = self.machine
        begins, ends = self.tokens[machine.decode_stages], self.tokens[-1]
        what = begins.decoded
        results = []
        for number, (a, b, c) in enumerate(self._vector):
            lane = Lane(stages=machine.execute_stages)
            m.submodules[f"lane_{number}"] = shared(lane, platform,
                                                    alike=("lane", machine.execute_stages),
                                                    enable=~self.stall)
            m.d.comb += [lane.valid.eq(begins.valid), lane.operation.eq(what.operation),
                         lane.a.eq(Mux(what.from_b, b, a)), lane.b.eq(b), lane.c.eq(c)]
            results.append(lane.result)
        units = []
        for number in range(machine.special_units):
            unit = SpecialFunctions(stages=machine.execute_stages)
            m.submodules[f"special_unit_{number}"] = shared(
                unit, platform, alike=("special unit", machine.execute_stages),
                enable=~self.stall)
            served = Array(self._vector[number + turn * machine.special_units][0]
                           for turn in range(machine.passes))
            m.d.comb += [unit.valid.eq(begins.valid & what.special),
                         unit.function.eq(what.function),
                         unit.operand.eq(served[begins["pass"]])]
            units.append(unit.result)
        m.submodules.divider = divider = Divider(cycles=machine.divider_cycles)
        a, b, _ = self._vector[0]
        m.d.comb += [divider.start.eq(begins.valid & what.divide & (begins["pass"] == 0)),
                     divider.a.eq(a), divider.b.eq(b)]

        self._results = [Signal(32, name=f"result_{lane}") for lane in range(machine.lanes)]
        for lane, result in enumerate(self._results):
            m.d.comb += result.eq(Mux(ends.decoded.special, units[lane % machine.special_units],
                                      results[lane]))
        self._value = Signal(32)  # of a scalar
        m.d.comb += self._value.eq(results[0])
        with m.If(ends.decoded.divide):
            m.d.comb += self._value.eq(Mux(ends.decoded.opcode == OPCODES["simod"],
                                           divider.remainder, divider.quotient))

    # -- commit ------------------------------------------------------------------------------------

    def _commit(self, m):
        """Write registers."""
        machine, current, ends = self.machine, self.current, self.tokens[-1]
        what = ends.decoded
        self._commits = commits = Signal()
        self._wrong = Signal()  # what would commit stops the kernel
        self._rows = [Signal(machine.lanes, name=f"row_{name}") for name in MASKS]
        m.d.comb += [row.eq(self._masks[current][mask][ends.warp])
                     for mask, row in enumerate(self._rows)]
        self._row = active = Signal(machine.lanes)
        m.d.comb += active.eq(self._rows[_RUN] & self._rows[_BREAK] & self._rows[_RET]
                              & self._rows[_EXIT])
        served = Signal(machine.lanes)  # by the reciprocal units, in this pass
        m.d.comb += served.eq(-1)
        with m.If(what.special):
            units = machine.special_units
            m.d.comb += served.eq(((1 << units) - 1) << (ends["pass"] * units))

        file, number = what.writes.file, what.writes.number
        special = (file == File.VECTOR_SPECIAL) & number[3]  # mem_idx, mem_data
        lanes = Signal(machine.lanes)
        with m.If(commits & ((file == File.VECTOR) | (file == File.PREDICATE) | special)):
            m.d.comb += lanes.eq(active & served)
        register = Signal(7)
        m.d.comb += register.eq(Mux(special, MEM_IDX + number[0], number))
        words = [Signal(32, name=f"word_{lane}") for lane in range(machine.lanes)]
        for lane, registers in enumerate(self._lanes):
            write = registers.write
            m.d.comb += [
                words[lane].eq(self._results[lane]),
                write.enable.eq(lanes[lane] & (file != File.PREDICATE)),
                write.address.register.eq(register), write.address.warp.eq(ends.warp),
                write.data.eq(words[lane]),
            ]
            with m.If(special & ~number[0]):
                m.d.comb += words[lane][30:].eq(0)
        seen = self.index_write
        m.d.sync += [
            seen.valid.eq(lanes.any() & special), seen.payload.slot.eq(current),
            seen.payload.is_data.eq(number[0]), seen.payload.warp.eq(ends.warp),
            seen.payload.enable.eq(lanes), seen.payload.item.eq(Cat(words)),
        ]

        bits = Signal(machine.lanes)
        held = Mux(what.combine, self._both, Cat(result[0] for result in self._results))
        m.d.comb += bits.eq((self._predicate_row & ~active) | (held & active))
        for slot, write in enumerate(self._predicate_writes):
            m.d.comb += [write.addr.eq(Cat(ends.warp, number[:2])), write.data.eq(bits),
                         write.en.eq(commits & (file == File.PREDICATE) & (current == slot))]

        scalar = commits & ends.last_pass
        for slot, scalars in enumerate(self._scalars):
            m.d.comb += [scalars.write.enable.eq(scalar & (file == File.SCALAR)
                                                 & (current == slot)),
                         scalars.write.register.eq(number), scalars.write.data.eq(self._value)]
            for index in range(3):
                with m.If(scalar & (file == File.SCALAR_SPECIAL) & (current == slot)
                          & (number == _SD + index)):
                    m.d.sync += self._sd[slot][index].eq(self._value)

        shown = self.commit.payload
        m.d.comb += [
            self.commit.valid.eq(commits & ~self._wrong), shown.slot.eq(current),
            shown.index.eq(ends.index), shown.injected.eq(ends.injected), shown.warp.eq(ends.warp),
            shown.first.eq(ends.first),
            shown.last.eq(ends.last), shown.writes.eq(what.writes), shown.lanes.eq(lanes),
            shown.bits.eq(bits), shown.value.eq(self._value), shown.words.eq(Cat(words)),
        ]

    # -- control flow ------------------------------------------------------------------------------

    def _control(self, m):
        """Masks and the control stack."""
        machine, current, ends = self.machine, self.current, self.tokens[-1]
        what, commits = ends.decoded, self._commits
        chosen = self._chosen
        self._resume = Signal(_INDEX_BITS)
        self._jumped = Signal()
        top_lanes, top_mask, top_target = (
            Signal(shape, name=name) for name, shape in
            (("top_lanes", machine.lanes), ("top_mask", 2), ("top_target", _INDEX_BITS)))
        self._empty, self._full = Signal(), Signal()
        saved = Mux(what.absent & ~what.call, Array(self._rows)[what.mask], chosen)
        pushes, pops = commits & what.push & ~self._full, commits & what.pop & ~self._empty
        for slot, stack in enumerate(self._stacks):
            mine = current == slot
            m.d.comb += [
                stack.push.eq(pushes & mine), stack.pop.eq(pops & mine), stack.last.eq(ends.last),
                stack.warp.eq(ends.warp), stack.lanes.eq(saved), stack.mask.eq(what.mask),
                stack.target.eq(Mux(what.call, ends.index + 1, what.immediate)),
            ]
            with m.If(mine):
                m.d.comb += [top_lanes.eq(stack.top_lanes), top_mask.eq(stack.top_mask),
                             top_target.eq(stack.top_target), self._empty.eq(stack.empty),
                             self._full.eq(stack.full)]

        mask, after = Signal(2), Signal(machine.lanes)  # what a mask becomes
        m.d.comb += mask.eq(what.mask)
        with m.If(what.pop):
            m.d.comb += [mask.eq(top_mask), after.eq(top_lanes)]
        with m.Elif(what.call):
            m.d.comb += after.eq(chosen)
        with m.Else():  # bra takes lanes out that are not active, too
            lost = chosen & (self._row | what.push.replicate(machine.lanes))
            m.d.comb += after.eq(Array(self._rows)[what.mask] & ~lost)
        with m.If(pops | (commits & (what.clears | what.call) & ~(what.push & self._full))):
            for slot in range(SLOTS):
                for number in range(len(MASKS)):
                    for warp in range(machine.warps):
                        with m.If((current == slot) & (mask == number) & (ends.warp == warp)):
                            m.d.sync += self._masks[slot][number][warp].eq(after)
            m.d.comb += [self.commit.payload.bits.eq(after),
                         self.commit.payload.writes.number.eq(mask)]
        self._stops = Signal()  # a fault, or another kernel
        m.d.sync += [self.settles.eq(commits & what.settles & ends.last & ~self._stops),
                     self._jumped.eq(what.pop | what.call)]
        with m.If(commits & (what.pop | what.call)):
            m.d.sync += self._resume.eq(Mux(what.pop, top_target, what.immediate))

    # -- slots take turns --------------------------------------------------------------------------

    def _schedule(self, m):
        """Choose what to fetch: the next instruction, a jump's target, or another work-group's."""
        current, ends = self.current, self.tokens[-1]
        what, commits = ends.decoded, self._commits
        left = Signal()
        m.d.comb += left.eq(Array(self.active)[current].any())

        # A mask was changed in the cycle before: does anything go on, and where?
        over, again, jumps = Signal(), Signal(), Signal()
        m.d.comb += [
            over.eq(self.settles & ~left & self._empty),
            again.eq(self.settles & ~left & ~self._empty),
            jumps.eq(self.settles & left & self._jumped),
            commits.eq(ends.valid & ~(over | again | jumps) & ~self.start),
        ]
        cause = Signal(Cause)
        m.d.comb += cause.eq(ends.cause)
        with m.If(what.push & self._full):
            m.d.comb += cause.eq(Cause.OVERFLOW)
        with m.Elif(what.pop & self._empty):
            m.d.comb += cause.eq(Cause.EMPTY)
        taken, access, wrong = Signal(), Signal(), self._wrong
        m.d.comb += [
            taken.eq(commits & what.jump & (~what.conditional | self._holds)),
            access.eq(commits & what.access),
            wrong.eq(commits & (cause != Cause.NONE)),
        ]
        done, failed = self._completions(m)
        stops = self._stops
        m.d.comb += stops.eq(wrong | failed.any() | self.start | self.stopped)
        turn = self._choose(m, over, access, done)
        self._fetch(m, turn, over, again, jumps, taken, access)

        m.d.sync += [self.ended.valid.eq(over & ~stops), self.ended.payload.slot.eq(current),
                     self.ended.payload.number.eq(self._number[current])]
        with m.If(over):
            m.d.sync += self.occupied.bit_select(current, 1).eq(0)
        self._show_access(m, access & ~stops)
        self._launch(m)
        self._stop(m, wrong, cause, failed)

    def _completions(self, m):
        """Bits for slots whose accesses are over, and for those of them that failed."""
        done, failed = Signal(SLOTS), Signal(SLOTS)
        for slot, completion in enumerate(self.completion):
            valid = completion.valid & self.accessing[slot]
            m.d.comb += [done[slot].eq(valid), failed[slot].eq(valid & completion.payload.fault)]
            with m.If(valid):
                m.d.sync += self.accessing[slot].eq(0)
                with m.If(self._closing[slot]):
                    m.d.sync += self.occupied[slot].eq(0)
        return done, failed

    def _choose(self, m, over, access, done):
        """Whose turn it is, when the current work-group is over or leaves with an access.

        Returns whether a slot gets its turn, and the instruction that it goes on with.
        """
        current, running, stops = self.current, self.running, self._stops
        scratchpad = self.tokens[-1].decoded.scratchpad
        computing = Mux(running, 1 << current, 0)
        launched = Signal(SLOTS)
        m.d.comb += launched.eq(Mux(self.launch.valid, 1 << self.launch.payload.slot, 0))
        ready = Signal(SLOTS)
        m.d.comb += ready.eq((self.occupied & ~self.accessing & ~computing)
                             | (done & ~self._closing) | launched)
        held = self.exclusive & ((self.accessing & self._on_chip & ~done).any()
                                 | (access & scratchpad))
        stays = Signal()  # it was an access to its scratchpad that the current slot left with
        chooses, chosen = Signal(), Signal(range(SLOTS))
        m.d.comb += [
            chosen.eq(Mux(ready.bit_select(current ^ 1, 1)
                          & ~(stays & ready.bit_select(current, 1)), current ^ 1, current)),
            chooses.eq((~running | over | access) & ready.any() & ~held & ~stops),
        ]
        with m.If(chooses):
            m.d.sync += [current.eq(chosen), running.eq(1)]
        with m.Elif(over | access | stops):
            m.d.sync += running.eq(0)
        with m.If(access):
            m.d.sync += stays.eq(self.hold & scratchpad)
        with m.Elif(over | stops):
            m.d.sync += stays.eq(0)
        return chooses, Mux(launched.bit_select(chosen, 1), 0, self._pc[chosen])

    def _fetch(self, m, turn, over, again, jumps, taken, access):
        chooses, begins_at = turn
        after = Signal(_INDEX_BITS + 1)  # the next instruction in order
        stops = self._stops
        straight = self.running & self._accepts & ~self._flush
        m.d.comb += [
            self._flush.eq(over | again | jumps | taken | access | stops),
            self._injects.eq(again & ~stops),
            self._fetches.eq(chooses | ((taken | jumps | straight) & ~stops)),
            self._fetched.eq(after),
        ]
        with m.If(chooses):
            m.d.comb += self._fetched.eq(begins_at)
        with m.If(taken):
            m.d.comb += self._fetched.eq(self.tokens[-1].decoded.immediate)
        with m.If(jumps):
            m.d.comb += self._fetched.eq(self._resume)
        with m.If(self._fetches):
            m.d.sync += after.eq(self._fetched + 1)

    def _show_access(self, m, access):
        current, ends = self.current, self.tokens[-1]
        what, shown = ends.decoded, self.access.payload
        last = what.global_store & self._exit_follows & self._empty
        m.d.sync += [
            self.access.valid.eq(access),
            *(shown[name].eq(value) for name, value in {
                "slot": current, "opcode": what.opcode, "scratchpad": what.scratchpad,
                "store": what.store, "buffer": what.number, "target": what.target,
                "width": what.width, "count": what.count, "x": self._offset_x,
                "y": self._offset_y, "last": last, "index": ends.index,
                "number": self._number[current], "group_x": self._x[current],
                "group_y": self._y[current],
            }.items()),
            *(shown[name].eq(self._sd[current][number]) for number, name in
              enumerate(SCALAR_SPECIAL[_SD:])),
        ]
        with m.If(access):
            m.d.sync += [
                self.accessing.bit_select(current, 1).eq(1),
                self._on_chip.bit_select(current, 1).eq(what.scratchpad),
                self._closing.bit_select(current, 1).eq(last),
                self._pc[current].eq(ends.index + 1),
            ]

    def _stop(self, m, wrong, cause, failed):
        """Report a fault, after which nothing issues until the next kernel."""
        current, ends, shown = self.current, self.tokens[-1], self.fault.payload
        m.d.sync += self.fault.valid.eq((wrong | failed.any()) & ~self.start)
        slot = Signal(range(SLOTS))
        m.d.comb += slot.eq(Mux(wrong, current, failed[1]))
        m.d.sync += [
            shown.cause.eq(Mux(wrong, cause, Cause.ACCESS)), shown.slot.eq(slot),
            shown.index.eq(Mux(wrong, ends.index, (self._pc[slot] - 1)[:_INDEX_BITS])),
            shown.number.eq(self._number[slot]),
        ]
        with m.If(wrong | failed.any()):
            m.d.sync += self.stopped.eq(1)
        with m.If(self.start):
            m.d.sync += self.stopped.eq(0)
        with m.If(wrong | failed.any() | self.start):
            m.d.sync += [self.occupied.eq(0), self.accessing.eq(0)]
        done = Cat(completion.valid for completion in self.completion)
        m.d.sync += self._lent.eq(Mux(self.start, 0, (
            self._lent | Mux(wrong | failed.any(), self.accessing, 0)) & ~done))
