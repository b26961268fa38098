"""Listing the states of a component."""

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.tools.maintenance import reach as module
from cyclebound.tools.maintenance.reach import Netlist, reach

pytestmark = pytest.mark.unit


class Counter(wiring.Component):
    """Counts to 5, and stays there."""

    step: In(1)
    count: Out(3)
    full: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.full.eq(self.count == 5)
        with m.If(self.step & ~self.full):
            m.d.sync += self.count.eq(self.count + 1)
        return m


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return Netlist.of(Counter(), tmp_path_factory.mktemp("counter"))


def test_all_states_and_no_others(counter):
    def move(step):
        return lambda states: (np.ones(len(states), bool),
                               counter.step(states, {"step": step})[0])

    found = reach(np.zeros(len(counter.registers), bool), [move(0), move(1)])
    assert len(found.states) == 6
    assert found.steps == {(n, n) for n in range(6)} | {(n, n + 1) for n in range(5)}
    _, outputs = counter.step(found.states, {})
    assert outputs["full"].tolist() == [False] * 5 + [True]
    assert (outputs["count[0]"] + 2 * outputs["count[1]"] + 4 * outputs["count[2]"]).tolist() == [
        0, 1, 2, 3, 4, 5]


def test_a_move_may_be_impossible(counter):
    def never(states):
        return np.zeros(len(states), bool), states[:0]

    assert len(reach(np.zeros(len(counter.registers), bool), [never]).states) == 1


def test_yosys_that_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SCRIPT", "nonsense")
    with pytest.raises(RuntimeError, match=r"(?s)^yosys cannot write a netlist: .*nonsense"):
        Netlist.of(Counter(), tmp_path)
