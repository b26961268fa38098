"""(a + x) * (b + (c + x)): the graph whose two paths have different lengths.

Ref: SGMF, Figure 6.
"""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.control import DELAY_SLOTS, Control
from cyclebound.golden.dataflow.operations import WIDTH, Operation
from cyclebound.hdl.dataflow.compute_unit import ComputeUnit
from cyclebound.hdl.dataflow.control_unit import ControlUnit
from cyclebound.hdl.dataflow.fork import Fork
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["Diamond"]


class Diamond(wiring.Component):
    """Figure 6's graph out of compute units, with a delay in its shorter path or without one.

    Latency and throughput: ``golden.dataflow.bounds``, `diamond_balanced` where the delay makes up
    for the longer path, and else `diamond_unbalanced`.

    Parameters
    ----------
    depth : int
        Entries of all token buffers.
    tid_width : int
        Bits of a thread identifier.
    delay : int
        Slots of the delay, 0 to 16; 0: none.

    Members
    -------
    x : In(stream of TokenLayout)
        The variable.
    a, b, c : In(32)
        The constants; they do not change.
    product : Out(stream of TokenLayout)
        Results, in order.
    """

    def __init__(self, *, depth, tid_width, delay=0):
        check_integer("delay", delay, least=0, most=DELAY_SLOTS)
        self.depth, self.tid_width, self.delay = depth, tid_width, delay
        self.adders = [ComputeUnit(depth=depth, tid_width=tid_width) for _ in range(3)]
        self.multiplier = ComputeUnit(depth=depth, tid_width=tid_width)
        self.layout = TokenLayout(tid_width=tid_width, width=WIDTH)
        token = stream.Signature(self.layout)
        super().__init__({"x": In(token), "product": Out(token),
                          **{name: In(WIDTH) for name in "abc"}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fork = fork = Fork(shape=self.layout, count=2)
        left, first, second = self.adders
        m.submodules.left, m.submodules.first, m.submodules.second = self.adders
        m.submodules.multiplier = multiplier = self.multiplier
        wiring.connect(m, wiring.flipped(self.x), fork.source)
        for adder, constant in ((left, self.a), (first, self.c), (second, self.b)):
            m.d.comb += [adder.configuration.operation.eq(Operation.ADD),
                         adder.configuration.literals.eq(0b010),
                         adder.configuration.value.eq(constant)]
        m.d.comb += multiplier.configuration.operation.eq(Operation.MUL)
        shorter = left.result
        if self.delay:
            m.submodules.delay = delay = ControlUnit(depth=2, tid_width=self.tid_width)
            m.d.comb += [delay.configuration.function.eq(Control.DELAY),
                         delay.configuration.slots.eq(self.delay)]
            wiring.connect(m, left.result, delay.operands[0])
            shorter = delay.results[0]
        wiring.connect(m, fork.sinks[0], left.operands[0])
        wiring.connect(m, fork.sinks[1], first.operands[0])
        wiring.connect(m, first.result, second.operands[0])
        wiring.connect(m, shorter, multiplier.operands[0])
        wiring.connect(m, second.result, multiplier.operands[1])
        wiring.connect(m, multiplier.result, wiring.flipped(self.product))
        return m
