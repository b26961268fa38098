"""Control stack: masks that divergent code saves, and where execution continues.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1: "a dedicated control stack contains (PC, mask, type) 3-tuples".
"""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.machine import machine_named
from cyclebound.golden.simd.program import INSTRUCTIONS, STACK_DEPTH

__all__ = ["ControlStack"]


class ControlStack(wiring.Component):
    """Entries of an instruction, a mask's number and the mask, which passes warp by warp.

    A push or a pop takes as many cycles as there are warps, not necessarily in a row; ``last``
    marks the one in which the entry is complete, or gone.

    Latency: none to the top entry; ``level`` changes in the cycle after ``last``.

    Parameters
    ----------
    machine : Machine or str
        Lanes and warps.
    follows : bool
        Show the entry ``followed``, for a proof about what the memories hold; no hardware needs it.

    Members
    -------
    clear : In(1)
        No entries.
    push : In(1)
        ``lanes`` of ``warp`` go on top, with ``mask`` and ``target``. Not while ``full``.
    pop : In(1)
        The top entry's lanes of ``warp`` have been read. Not while ``empty``.
    last : In(1)
        The push or pop ends with this warp.
    warp : In
        The warp that passes.
    lanes, mask, target : In
        The values pushed.
    top_lanes, top_mask, top_target : Out
        The top entry, its lanes of ``warp``.
    empty, full : Out(1)
        Of entries.
    level : Out
        Number of entries.

    Attributes
    ----------
    followed, followed_warp, followed_lanes, followed_entry : Signal
        With ``follows``: place of an entry and a warp, which a checker drives; and what is there.
    """

    def __init__(self, *, machine, follows=False):
        self.machine = machine = machine_named(machine)
        self.follows = follows
        entry = {"lanes": unsigned(machine.lanes), "mask": unsigned(2),
                 "target": unsigned(ceil_log2(INSTRUCTIONS))}
        super().__init__({
            "clear": In(1), "push": In(1), "pop": In(1), "last": In(1),
            "warp": In(ceil_log2(machine.warps)),
            **{name: In(shape) for name, shape in entry.items()},
            **{f"top_{name}": Out(shape) for name, shape in entry.items()},
            "empty": Out(1), "full": Out(1), "level": Out(range(STACK_DEPTH + 1)),
        })
        self.followed = Signal(range(STACK_DEPTH))
        self.followed_warp = Signal.like(self.warp)
        self.followed_lanes = Signal(machine.lanes)
        self.followed_entry = Signal(len(self.mask) + len(self.target))

    def elaborate(self, platform):
        m = Module()
        bits = ceil_log2(STACK_DEPTH)
        top = Signal(bits)
        m.submodules.saved = saved = Memory(shape=unsigned(self.machine.lanes),
                                            depth=STACK_DEPTH * self.machine.warps, init=[])
        m.submodules.entries = entries = Memory(
            shape=unsigned(len(self.mask) + len(self.target)), depth=STACK_DEPTH, init=[])
        m.d.comb += [
            top.eq(self.level - 1), self.empty.eq(self.level == 0),
            self.full.eq(self.level == STACK_DEPTH),
        ]
        for memory, low, word, shown, followed in (
                (saved, self.warp, self.lanes, self.top_lanes,
                 (self.followed_warp, self.followed_lanes)),
                (entries, self.warp[:0], Cat(self.mask, self.target),
                 Cat(self.top_mask, self.top_target), (self.warp[:0], self.followed_entry))):
            write, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [write.addr.eq(Cat(low, self.level[:bits])), write.data.eq(word),
                         write.en.eq(self.push), read.addr.eq(Cat(low, top)), shown.eq(read.data)]
            if self.follows:
                look = memory.read_port(domain="comb")
                m.d.comb += [look.addr.eq(Cat(followed[0], self.followed)),
                             followed[1].eq(look.data)]
        with m.If(self.clear):
            m.d.sync += self.level.eq(0)
        with m.Elif(self.push & self.last):
            m.d.sync += self.level.eq(self.level + 1)
        with m.Elif(self.pop & self.last):
            m.d.sync += self.level.eq(self.level - 1)
        return m
