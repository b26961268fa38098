# amaranth: UnusedElaboratable=no
"""Checkers of single processing elements: each assertion fires on a fault, and only there."""

import random

import pytest
from amaranth.hdl import Signal

from cyclebound.hdl.systolic.output_stationary import OutputStationaryPE
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryPE
from cyclebound.tb.systolic.pe_properties import OutputStationaryPECheck, WeightStationaryPECheck
from kit.faults import Tampered, override
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit

INPUTS = {OutputStationaryPE: ("load", "left", "top", "execute", "accumulate", "first"),
          WeightStationaryPE: ("load", "left", "write", "weight", "swap", "above")}
WIDTHS = {"operand_width": 3, "accumulator_width": 8}


def wrong(name):
    """A fault in the lowest bit of an output; none without a name."""
    return override(lambda inner, outer, cycle:
                    [getattr(outer, name).eq(getattr(inner, name) ^ 1)] if name else [])


def play(dut, checker, kind, *, least=False):
    """Random inputs for some cycles; or the least operands, and sums as long as may be."""
    rng = random.Random(1)

    async def bench(ctx):
        for cycle in range(60):
            for name in INPUTS[kind]:
                port, free = getattr(dut, name), rng.getrandbits(32)
                if least:  # every product is the greatest, and none is the first of a fold
                    free = {"left": -4, "top": -4, "first": 0, "accumulate": cycle > 2}.get(name, 1)
                elif name == "first":
                    free = cycle % 3 == 0
                ctx.set(port, free if least else free & ((1 << len(port)) - 1))
            await ctx.tick()

    run_bench(dut, bench, checker(dut))


@pytest.mark.parametrize(("name", "says"), [
    (None, None), ("right", "an operand was lost"), ("bottom", "an operand was lost"),
    ("product", "not the product of the operands"), ("sum", "the sum overflows")])
def test_output_stationary(name, says):
    dut = Tampered(OutputStationaryPE(**WIDTHS), wrong(name))
    if says is None:
        play(dut, OutputStationaryPECheck, OutputStationaryPE)
        return
    with pytest.raises(AssertionError, match=says):
        play(dut, OutputStationaryPECheck, OutputStationaryPE)


def test_the_limit_is_the_greatest():
    """The least operands overflow with a MAC more; up to `limit`, nothing but it is in the way."""
    class Bolder(OutputStationaryPECheck):
        def __init__(self, target):
            super().__init__(target)
            self.limit += 2  # so that the assumption is not violated in the same cycle
            self.count = Signal(range(self.limit + 1))

    for checker, says in ((OutputStationaryPECheck, "Assumption"), (Bolder, "the sum overflows")):
        dut = OutputStationaryPE(**WIDTHS)
        with pytest.raises(AssertionError, match=says):
            play(dut, checker, OutputStationaryPE, least=True)


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize(("name", "says"), [
    (None, None), ("right", "an operand was lost"), ("sum", "not the sum")])
def test_weight_stationary(name, says, double_buffer):
    element = WeightStationaryPE(operand_width=3, above_width=8, sum_width=8,
                                 double_buffer=double_buffer)
    dut = Tampered(element, wrong(name))
    if says is None:
        play(dut, WeightStationaryPECheck, WeightStationaryPE)
        return
    with pytest.raises(AssertionError, match=says):
        play(dut, WeightStationaryPECheck, WeightStationaryPE)
