"""Issue: the first decode stage, where an instruction waits and is taken apart into tokens.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import OPCODES
from cyclebound.hdl.simd.decoder import Decoder
from cyclebound.hdl.simd.scoreboard import Scoreboard
from cyclebound.hdl.simd.token import INDEX_BITS, TokenLayout, most_passes

__all__ = ["IssueStage"]


class _Held:
    """What the stage holds: an instruction, and which of its tokens issues next."""

    def __init__(self, machine):
        self.valid = Signal()
        self.index = Signal(INDEX_BITS + 1)
        self.injected = Signal()
        self.warp = Signal(ceil_log2(machine.warps))
        self.pass_number = Signal(range(most_passes(machine)))
        self.blocked = Signal()  # until the flush that has to come
        self.dividing = Signal(range(machine.divider_cycles + 1))  # cycles left of a division


class IssueStage(wiring.Component):
    """Holds an instruction until its operands may be read, and issues a token a cycle.

    Latency: an instruction is held in the cycle after ``fetch``, and issues in it at the earliest.

    Parameters
    ----------
    machine : Machine
        Sizes and stages.

    Members
    -------
    fetch : In(1), inject : In(1), index : In(12)
        In the next cycle it holds the instruction ``index``, or a ``cpop`` of the hardware's own.
        Only while it ``accepts``, or with ``flush``.
    word : In(64)
        The instruction fetched, one cycle after ``fetch``.
    length : In(12)
        Instructions of the program.
    flush : In(1)
        What it holds is dropped, and every token under way with it.
    pushing : In(1)
        A token under way pushes, and the control stack does not show it yet.
    token : Out(TokenLayout)
        The one that issues.
    occupied : Out(1)
        It holds an instruction.
    accepts : Out(1)
        It holds none in the next cycle, or could hold another.
    exit_follows : Out(1)
        What it holds is an ``exit`` of all lanes.
    """

    def __init__(self, *, machine):
        self.machine = machine
        super().__init__({
            "fetch": In(1), "inject": In(1), "index": In(INDEX_BITS + 1), "word": In(64),
            "length": In(INDEX_BITS + 1), "flush": In(1), "pushing": In(1),
            "token": Out(TokenLayout(machine=machine)), "occupied": Out(1), "accepts": Out(1),
            "exit_follows": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        machine, token, held = self.machine, self.token, _Held(self.machine)
        what = token.decoded
        wrong = self._decode(m, held)
        passes = Mux(what.special, machine.passes - 1, Mux(
            what.divide, machine.divider_cycles - machine.execute_stages, 0))
        waits = (held.pass_number == 0) & self._hazards(m, held)
        leaves = Signal()  # the instruction's last token issues
        m.d.comb += [
            token.valid.eq(held.valid & ~held.blocked & ~waits), token.index.eq(held.index),
            token.injected.eq(held.injected), token.warp.eq(held.warp),
            token["pass"].eq(held.pass_number),
            token.first.eq((held.warp == 0) & (held.pass_number == 0)),
            token.last_pass.eq(held.pass_number == passes),
            token.last.eq(token.last_pass & (~what.vector | (held.warp == machine.warps - 1))),
            leaves.eq(token.valid & token.last),
            self.occupied.eq(held.valid), self.accepts.eq(~held.valid | leaves),
            self.exit_follows.eq(held.valid & what.leaves),
        ]
        self._next(m, held, leaves, wrong)
        return m

    def _decode(self, m, held):
        """Decode the word, or the injected ``cpop``, into the first token.

        Returns whether it stops the kernel: there is no instruction, or an illegal one.
        """
        m.submodules.decoder = decoder = Decoder(machine=self.machine)
        m.d.comb += decoder.word.eq(Mux(held.injected, OPCODES["cpop"], self.word))
        past_the_end = ~held.injected & (held.index >= self.length)
        wrong = past_the_end | decoder.decoded.illegal
        with m.If(past_the_end):
            m.d.comb += self.token.cause.eq(Cause.END)
        with m.Elif(wrong):
            m.d.comb += self.token.cause.eq(Cause.ILLEGAL)
        with m.Else():
            m.d.comb += self.token.decoded.eq(decoder.decoded)
        return wrong

    def _hazards(self, m, held):
        """Whether the instruction must wait: for a register, the divider, or the control stack."""
        token, what = self.token, self.token.decoded
        m.submodules.scoreboard = scoreboard = Scoreboard(machine=self.machine)
        m.d.comb += [
            scoreboard.issue.eq(token.valid), scoreboard.flush.eq(self.flush),
            scoreboard.writes.eq(what.writes), scoreboard.several.eq(what.several),
            scoreboard.warp.eq(held.warp), scoreboard.implicit.eq(what.implicit),
            *(scoreboard.reads[number].eq(what[name]) for number, name in enumerate("abc")),
        ]
        return (scoreboard.wait | (what.divide & (held.dividing != 0))
                | (what.pop & (held.warp == 0) & self.pushing))

    def _next(self, m, held, leaves, wrong):
        """What the stage holds in the next cycle."""
        token, what = self.token, self.token.decoded
        with m.If(held.dividing != 0):
            m.d.sync += held.dividing.eq(held.dividing - 1)
        with m.If(token.valid):
            m.d.sync += held.pass_number.eq(Mux(token.last_pass, 0, held.pass_number + 1))
            with m.If(token.last_pass):
                m.d.sync += held.warp.eq(held.warp + 1)
            with m.If(what.divide & (held.pass_number == 0)):
                m.d.sync += held.dividing.eq(self.machine.divider_cycles)
        with m.If(leaves):
            m.d.sync += [held.warp.eq(0),
                         held.blocked.eq(what.access | what.pop | what.call | wrong)]
        with m.If(self.flush):
            # a division that is dropped delays no other, and one that commits has ended
            m.d.sync += [held.warp.eq(0), held.pass_number.eq(0), held.blocked.eq(0),
                         held.dividing.eq(0)]
        with m.If(self.fetch | self.inject):
            m.d.sync += [held.valid.eq(1), held.index.eq(self.index),
                         held.injected.eq(self.inject)]
        with m.Elif(leaves | self.flush):
            m.d.sync += held.valid.eq(0)
