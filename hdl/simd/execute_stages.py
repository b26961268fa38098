"""Execution: a lane for each word of a warp, the reciprocal units and the divider.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1.
"""

from amaranth.hdl import Array, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.isa import OPCODES
from cyclebound.hdl.shared import shared
from cyclebound.hdl.simd.divider import Divider
from cyclebound.hdl.simd.lane import Lane
from cyclebound.hdl.simd.special_functions import SpecialFunctions
from cyclebound.hdl.simd.token import TokenLayout

__all__ = ["ExecuteStages"]


class ExecuteStages(wiring.Component):
    """Works out a token's results; a scalar instruction's in lane 0.

    A warp passes the reciprocal units in turns: in pass *k* they serve as many of its lanes as
    there are units, the *k*-th ones.

    Latency: ``machine.execute_stages`` cycles from ``begins`` to ``ends``.

    Parameters
    ----------
    machine : Machine
        Lanes, units and stages.

    Members
    -------
    stall : In(1)
        Nothing moves.
    begins : In(TokenLayout), operand : In(lanes times 3 times 32)
        The token whose operands are there.
    ends : In(TokenLayout)
        The token whose results show.
    result : Out(lanes times 32)
        Of a vector instruction.
    value : Out(32)
        Of a scalar instruction.
    """

    def __init__(self, *, machine):
        self.machine = machine
        super().__init__({
            "stall": In(1), "begins": In(TokenLayout(machine=machine)),
            "operand": In(32).array(machine.lanes, 3), "ends": In(TokenLayout(machine=machine)),
            "result": Out(32).array(machine.lanes), "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        lanes, units = self._lanes(m, platform), self._special_units(m, platform)
        what = self.ends.decoded
        m.d.comb += [result.eq(Mux(what.special, units[number % len(units)], lanes[number]))
                     for number, result in enumerate(self.result)]

        begins = self.begins
        m.submodules.divider = divider = Divider(cycles=self.machine.divider_cycles)
        m.d.comb += [
            divider.start.eq(begins.valid & begins.decoded.divide & (begins["pass"] == 0)),
            divider.a.eq(self.operand[0][0]), divider.b.eq(self.operand[0][1]),
            self.value.eq(lanes[0]),
        ]
        with m.If(what.divide):
            m.d.comb += self.value.eq(Mux(what.opcode == OPCODES["simod"], divider.remainder,
                                          divider.quotient))
        return m

    def _lanes(self, m, platform):
        stages, what, results = self.machine.execute_stages, self.begins.decoded, []
        for number, (a, b, c) in enumerate(self.operand):
            lane = Lane(stages=stages)
            m.submodules[f"lane_{number}"] = shared(lane, platform, alike=("lane", stages),
                                                    enable=~self.stall)
            m.d.comb += [lane.valid.eq(self.begins.valid), lane.operation.eq(what.operation),
                         lane.a.eq(Mux(what.from_b, b, a)), lane.b.eq(b), lane.c.eq(c)]
            results.append(lane.result)
        return results

    def _special_units(self, m, platform):
        machine, what, results = self.machine, self.begins.decoded, []
        for number in range(machine.special_units):
            unit = SpecialFunctions(stages=machine.execute_stages)
            m.submodules[f"special_unit_{number}"] = shared(
                unit, platform, alike=("special unit", machine.execute_stages),
                enable=~self.stall)
            served = Array(self.operand[number + turn * machine.special_units][0]
                           for turn in range(machine.passes))
            m.d.comb += [unit.valid.eq(self.begins.valid & what.special),
                         unit.function.eq(what.function),
                         unit.operand.eq(served[self.begins["pass"]])]
            results.append(unit.result)
        return results
