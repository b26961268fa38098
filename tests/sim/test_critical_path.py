# amaranth: UnusedElaboratable=no
"""The slowest path in terms of sources, and the floor plan; nothing is placed here."""

import inspect
import json

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import to_rtlil
from cyclebound.sim.fpga import floor_plan
from cyclebound.sim.fpga.critical_path import Step, critical_path, places, signals

pytestmark = pytest.mark.unit


class Named(wiring.Component):
    """A signal in a submodule, and a memory."""

    a: In(4)
    q: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = Module()
        sum_of_all = Signal(4)
        inner.d.sync += sum_of_all.eq(self.a + sum_of_all)
        m.submodules.store = store = Memory(shape=4, depth=16, init=[])
        write, read = store.write_port(), store.read_port()
        m.d.comb += [write.en.eq(1), write.addr.eq(self.a), write.data.eq(sum_of_all),
                     read.en.eq(1), read.addr.eq(sum_of_all), self.q.eq(read.data)]
        return m


def line_of(words):
    lines, first = inspect.getsourcelines(Named)
    return first + next(number for number, line in enumerate(lines) if words in line)


def test_signals_have_the_lines_that_make_them():
    named = Named()
    known = signals(to_rtlil(named, name="top", lines=True))
    assert known["inner.sum_of_all"].startswith(f"{__file__}:{line_of('Signal(4)')}")
    assert known["store"].startswith(f"{__file__}:{line_of('Memory(shape=4')}")
    # its line is in Amaranth's library: that of the module is nearer
    assert all("/amaranth/" not in line for line in known.values())


def piece(kind, cell, delay, place=(1, 2)):
    return {"type": kind, "delay": delay, "from": {"cell": cell},
            "to": {"cell": "?", "loc": list(place)}}


REPORT = {"critical_paths": [
    {"from": "<async>", "to": "posedge clk", "path": [piece("source", "pin", 99.0)]},
    {"from": "posedge clk", "to": "posedge clk", "path": [piece("clk-to-q", "short", 1.0)]},
    {"from": "posedge clk", "to": "posedge clk", "path": [
        piece("clk-to-q", "block.busy_TRELLIS_FF_Q", 0.5),
        piece("routing", "block.busy_TRELLIS_FF_Q", 1.0, (3, 4)),
        piece("logic", "block.busy_LUT4_A_Z", 0.25),
        piece("routing", "block.busy_LUT4_A_Z", 2.0, (5, 6)),
        piece("logic", "$abc$17", 0.25),
        piece("setup", "block.busy.memory.0.9", 0.0)]}]}
KNOWN = {"block.busy": "/elsewhere/a.py:3.1-4.5", "block.bus": "/elsewhere/a.py:2",
         "block.busy.memory": "/elsewhere/b.py:7"}


def test_steps_at_one_signal_are_one_and_pins_are_no_registers():
    assert critical_path(REPORT, KNOWN) == [
        Step("block.busy", "/elsewhere/a.py:3", 0.75, 3.0, 2),
        Step("$abc$17", "", 0.25, 0.0, 1),
        Step("block.busy.memory", "/elsewhere/b.py:7", 0.0, 0.0, 1)]
    assert places(REPORT) == [(1, 2), (3, 4), (1, 2), (5, 6), (1, 2), (1, 2)]
    assert critical_path({}, KNOWN) == critical_path({"critical_paths": []}, KNOWN) == []


@pytest.fixture
def floor(tmp_path):
    cells = {"block.a": ("X1/Y2/SLICEA.K0", "TRELLIS_COMB"), "block.b": ("X1/Y2/S", "TRELLIS_FF"),
             "block.m": ("X7/Y9/EBR", "DP16KD"), "block.port$r": ("X3/Y3/S", "TRELLIS_FF"),
             "pin": ("X0Y5/IO", "IB"), "nexus": ("R10C20/S", "OXIDE_FF"), "lost": ("", "VCC")}
    nets = {"n": "X1/Y2/A;X1/Y2/p->q;1;X1/Y2/B;X4/Y2/r->s;1;G_X;;1",
            "$glbnet$clk": "X1/Y2/A;X1/Y2/p->q;1"}
    (tmp_path / "placed.json").write_text(json.dumps({"modules": {"top": {
        "cells": {name: {"type": kind, "attributes": {"NEXTPNR_BEL": bel}}
                  for name, (bel, kind) in cells.items()},
        "netnames": {name: {"attributes": {"ROUTING": route}} for name, route in nets.items()}}}}))
    floor_plan.keep(tmp_path)
    return json.loads((tmp_path / floor_plan.FILE).read_text())


def test_the_floor_plan_counts_cells_and_switches(floor):
    assert sorted(floor["cells"]) == [
        [0, 5, "harness", 1], [1, 2, "logic and registers", 2], [3, 3, "harness", 1],
        [7, 9, "block RAMs", 1], [20, 10, "harness", 1]]
    assert sorted(floor["wires"]) == [[1, 2, 1], [4, 2, 1]]


def test_the_floor_plan_is_drawn_with_the_path(floor):
    plan, crowd, _ = floor_plan.figure(floor, "a block", [(1, 2), (7, 9)]).axes
    assert [text.get_text() for text in plan.get_legend().get_texts()] == [
        "harness (3)", "logic and registers (2)", "block RAMs (1)", "critical path"]
    assert crowd.get_title() == "congestion: at most 1 on a tile, 1 on average"
    with pytest.raises(UserError, match=r"^a block: nextpnr names no places of cells"):
        floor_plan.figure({"cells": [], "wires": []}, "a block")
