"""Registers move into multipliers only where that changes nothing."""

import copy

import pytest

from cyclebound.sim.fpga.dsp_registers import pack

pytestmark = pytest.mark.unit

REGISTER = {"CEMUX": "CE", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET",
            "SRMODE": "LSR_OVER_CE", "GSR": "DISABLED"}


def register(bit, result, **parameters):
    return {"type": "TRELLIS_FF", "parameters": REGISTER | parameters,
            "port_directions": {"CLK": "input", "CE": "input", "LSR": "input", "DI": "input",
                                "Q": "output"},
            "connections": {"CLK": [1], "CE": [2], "LSR": [3], "DI": [bit], "Q": [result]}}


def netlist(**changes):
    """A multiplier with two registers after it, as yosys writes it."""
    cells = {"mult": {"type": "MULT18X18D", "parameters": {},
                      "port_directions": {"A0": "input", "P0": "output", "P1": "output",
                                          "P2": "output", "PURE": "output"},
                      "connections": {"A0": [9], "P0": [10], "P1": [11], "P2": [12]}},
             "low": register(10, 20), "high": register(11, 21)}
    ports = {"out": {"direction": "output", "bits": [20, 21]}}
    return {"modules": {"top": {"cells": {**cells, **changes}, "ports": ports}}}


def test_registers_go_into_the_multiplier():
    design = netlist()
    assert pack(design) == 2
    cells = design["modules"]["top"]["cells"]
    assert set(cells) == {"mult"}
    wires = cells["mult"]["connections"]
    assert (wires["P0"], wires["P1"], wires["P2"]) == ([20], [21], [12])
    assert (wires["CLK0"], wires["CE0"], wires["RST0"]) == ([1], [2], [3])
    assert cells["mult"]["parameters"]["REG_OUTPUT_CLK"] == "CLK0"
    assert pack(design) == 0


def test_registers_that_are_always_enabled_and_never_reset():
    never = {"CEMUX": "1", "LSRMUX": "LSR"}
    design = netlist(low=register(10, 20, **never), high=register(11, 21, **never))
    for name in ("low", "high"):
        del design["modules"]["top"]["cells"][name]["connections"]["LSR"]
    assert pack(design) == 2
    wires = design["modules"]["top"]["cells"]["mult"]["connections"]
    assert (wires["CE0"], wires["RST0"]) == (["1"], ["0"])


@pytest.mark.parametrize("high", [
    register(11, 21, SRMODE="ASYNC"), register(11, 21, REGSET="SET"),
    register(11, 21, CLKMUX="INV"), register(11, 21, CEMUX="INV"), register(11, 21, LSRMUX="INV"),
    {**register(11, 21), "connections": {**register(11, 21)["connections"], "CLK": [8]}},
    {**register(11, 21), "connections": {**register(11, 21)["connections"], "CE": [8]}},
    {**register(11, 21), "type": "LUT4"}])
def test_a_register_of_another_kind_keeps_all_where_they_are(high):
    design = netlist(high=high)
    before = copy.deepcopy(design)
    assert pack(design) == 0
    assert design == before


def test_a_product_that_goes_elsewhere_stays():
    assert pack(netlist(reader=register(10, 22))) == 0
    design = netlist()
    design["modules"]["top"]["ports"]["out"]["bits"].append(11)
    assert pack(design) == 0
