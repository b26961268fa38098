"""Command generator and command arbiter, in series: bursts in, commands out.

The controller has the same two, with more around them; this is for proofs about both:
tb/dram/command_path_properties.py, with the bounds of golden/dram/worst_case.py.

Ref: Sim-D, section 3.2.2.
"""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_arbiter import CommandArbiter, CommandLayout, longest_holdoff
from cyclebound.hdl.dram.command_generator import CommandGenerator
from cyclebound.hdl.dram.layouts import BurstLayout

__all__ = ["CommandPath"]


class CommandPath(wiring.Component):
    """Requests' bursts to DRAM commands.

    Latency: a request's first command is chosen in the third cycle after its first burst, if the
    second one follows at once and ``holdoff`` is 0 by then; it is on the pins in the fourth.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    generator, arbiter : callable
        Make the two from ``part``.

    Members
    -------
    bursts : In(stream of BurstLayout)
        See `CommandGenerator`.
    refresh, refreshed, command, holdoff
        See `CommandArbiter`.
    pop : Out(banks)
        Heads that are completed.
    idle : Out(1)
        Nothing is under way.

    Attributes
    ----------
    generator, arbiter
        The two.
    """

    def __init__(self, *, part, generator=CommandGenerator, arbiter=CommandArbiter):
        self.part = part = part_named(part)
        self._make = generator, arbiter
        super().__init__({
            "bursts": In(stream.Signature(data.Layout.cast(BurstLayout))),
            "refresh": In(1), "refreshed": Out(1), "command": Out(CommandLayout(part=part)),
            "holdoff": Out(range(longest_holdoff(part) + 1)), "pop": Out(part.banks),
            "idle": Out(1),
        })

    @cached_property
    def generator(self):  # made late: a path that is only asked for its ports has none
        return self._make[0](part=self.part)

    @cached_property
    def arbiter(self):
        return self._make[1](part=self.part)

    def elaborate(self, platform):
        m = Module()
        m.submodules.generator, m.submodules.arbiter = generator, arbiter = (
            self.generator, self.arbiter)
        connect(m, flipped(self.bursts), generator.bursts)
        for outer, inner in zip(arbiter.heads, generator.heads, strict=True):
            m.d.comb += outer.eq(inner)
        m.d.comb += [
            generator.pop.eq(arbiter.pop), self.pop.eq(arbiter.pop),
            arbiter.in_request.eq(generator.busy),
            arbiter.refresh.eq(self.refresh), self.refreshed.eq(arbiter.refreshed),
            self.command.eq(arbiter.command), self.holdoff.eq(arbiter.holdoff),
            self.idle.eq(arbiter.idle),
        ]
        return m
