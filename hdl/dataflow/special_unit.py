"""Special unit: divisions or square roots of many threads at once, by blocks that are no pipelines.

Ref: SGMF, sections 4.2 and 5.2.1.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import BLOCKS, WIDTH
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.dataflow.long_division import make_block
from cyclebound.hdl.dataflow.parameters import check_depth
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.hdl.dataflow.turn import Turn, keep_epochs
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared

__all__ = ["SpecialUnit", "SpecialUnitConfiguration"]


class SpecialUnitConfiguration(data.StructLayout):
    """``literals`` has a bit for each operand that is the constant ``value``."""

    def __init__(self):
        super().__init__({"literals": unsigned(2), "value": unsigned(WIDTH)})


class SpecialUnit(wiring.Component):
    """Several blocks that share a reservation buffer: virtually a pipeline.

    A thread fires when its operands are there, its entry of the reservation buffer (thread mod
    ``depth``) is free, and so is a block. Blocks end in any order, one result goes into the
    reservation buffer in a cycle, and threads are sent on in epochs of ``depth``.

    Latency: a result is offered 2 cycles after its block has it. Throughput: ``blocks`` threads in
    the time of one operation.

    Parameters
    ----------
    function : Special
        Of all blocks.
    depth : int
        Entries of token buffer and reservation buffer: 2, 4, 8 or 16.
    tid_width : int
        Bits of a thread identifier.
    blocks : int
        A power of two.

    Members
    -------
    configuration : In(SpecialUnitConfiguration)
        May change only in reset.
    operands : In(stream of TokenLayout).array(2)
        Tokens; a square root has the first.
    result : Out(stream of TokenLayout)
        Results.

    Attributes
    ----------
    buffer : TokenBuffer
        Fires the operations.
    blocks : list of wiring.Component
        What divides, or takes roots.
    tids : amaranth.lib.memory.Memory
        By entry of the reservation buffer, the thread in it.
    busy, done, sent : Signal
        Entries in use, with a result, sent in this epoch.
    reset : Value or None
        Resets the blocks, besides their domain's reset: a `ResetInserter` around the unit does not
        reach blocks of which a design has one module for all (`cyclebound.hdl.shared`).
    """

    def __init__(self, *, function, depth, tid_width, blocks=BLOCKS):
        if function not in tuple(Special):
            raise ValueError(f"function must be one of {', '.join(Special)}, not {function!r}")
        check_depth(depth, tid_width)
        check_integer("block count", blocks, least=2)
        if blocks & (blocks - 1):
            raise ValueError(f"block count must be a power of two, not {blocks}")
        self.function = Special(function)
        self.depth, self.tid_width, self.count = depth, tid_width, blocks
        self.buffer = TokenBuffer(operands=2, depth=depth, tid_width=tid_width, width=WIDTH,
                                  epochs=True)
        token = stream.Signature(TokenLayout(tid_width=tid_width, width=WIDTH))
        super().__init__({"configuration": In(SpecialUnitConfiguration()),
                          "operands": In(token).array(2), "result": Out(token)})
        self.reset = None
        self.busy, self.done, self.sent = (Signal(depth, name=name)
                                           for name in ("busy", "done", "sent"))

    @cached_property
    def tids(self):  # made late, like the blocks: a unit that is only asked for its ports has none
        return Memory(shape=unsigned(self.tid_width), depth=self.depth, init=[])

    @cached_property
    def blocks(self):
        return [make_block(self.function, tag_width=exact_log2(self.depth))
                for _ in range(self.count)]

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        m.submodules.turn = turn = Turn(depth=self.depth)
        m.submodules.collect = collect = Turn(depth=self.count)
        m.submodules.tids = tids = self.tids
        del self.tids  # a memory takes no more ports once it is built: the next time has its own
        m.submodules.words = words = Memory(shape=unsigned(WIDTH), depth=self.depth, init=[])
        write_tid, write_word = tids.write_port(), words.write_port()
        read_tid, read_word = tids.read_port(domain="comb"), words.read_port(domain="comb")
        configuration = self.configuration

        for outer, inner in zip(self.operands, buffer.operands, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        every = 0b01 if self.function == Special.FSQRT else 0b11
        m.d.comb += buffer.needed.eq(every & ~configuration.literals)

        # A firing takes its entry, and the first block that is free.
        fire = buffer.fire
        index = fire.payload.tid[:exact_log2(self.depth)]
        free = Signal(self.count)
        m.d.comb += fire.ready.eq(free.any() & ~self.busy.bit_select(index, 1))
        enters = fire.valid & fire.ready
        a, b = (Mux(literal, configuration.value, value) for literal, value in
                zip(configuration.literals, fire.payload["values"], strict=True))
        finished, answered = Signal(self.count), Signal(self.depth)
        tag = value = entries = 0
        for number, block in enumerate(self.blocks):
            m.submodules[f"block_{number}"] = shared(block, platform, alike=self.depth,
                                                     reset=self.reset)
            m.d.comb += [
                free[number].eq(block.operands.ready),
                block.operands.valid.eq(enters & ~free[:number].any()),
                block.operands.payload.eq(Cat(a, b, index)),
                finished[number].eq(block.result.valid),
                block.result.ready.eq(collect.grant[number]),
            ]
            granted, result = collect.grant[number], block.result.payload
            tag |= Mux(granted, result.tag, 0)
            value |= Mux(granted, result.value, 0)
            entries |= Mux(granted, 1 << result.tag, 0)  # decoded before the grant settles
        m.d.comb += [
            collect.requests.eq(finished), collect.take.eq(1), answered.eq(entries),
            write_tid.addr.eq(index), write_tid.data.eq(fire.payload.tid),
            write_tid.en.eq(enters),
            write_word.addr.eq(tag), write_word.data.eq(value), write_word.en.eq(finished.any()),
        ]

        # Who is sent on: of this epoch, and done.
        leaves, open_ = Signal(self.depth), Signal()
        m.d.comb += [
            open_.eq(~self.result.valid | self.result.ready),
            turn.requests.eq(self.done & ~self.sent), turn.take.eq(open_),
            leaves.eq(Mux(open_, turn.grant, 0)),
            read_tid.addr.eq(turn.index), read_word.addr.eq(turn.index),
        ]
        with m.If(open_):
            m.d.sync += [self.result.valid.eq(turn.requests.any()),
                         self.result.payload.tid.eq(read_tid.data),
                         self.result.payload.data.eq(read_word.data)]
        keep_epochs(m, self.sent, leaves, open_ & turn.requests.any())
        entered = Signal(self.depth)
        m.d.comb += entered.eq(Mux(enters, 1 << index, 0))
        m.d.sync += [
            self.busy.eq(self.busy & ~leaves | entered),
            self.done.eq(self.done & ~leaves | answered),
        ]
        return m
