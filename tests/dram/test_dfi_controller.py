"""The DRAM controller with a DFI PHY: its model, its parameters, what its testbench finds."""

import dataclasses

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dram import dfi_bounds as bounds
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.dfi_controller import DfiControllerModel
from cyclebound.golden.dram.request import Refusal
from cyclebound.hdl.dram.dfi_controller import DfiController
from cyclebound.hdl.dram.dfi_power_up import DfiPowerUp
from cyclebound.sim import catalogue
from cyclebound.sim.run.job import Job, simulate
from kit.faults import edited

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough
NAME = "dram.dfi_controller"
VALUES = {"part": "ddr3-800e-x16", "ratio": 4, "wrlat": 4, "wrdata": 1, "rddata_en": 5,
          "rdlat": 10}


@unit
def test_model_by_hand():
    model = DfiControllerModel(lambda address: 1000 + address)
    assert model.carry_out(BufferRequest(0, words=1))[0] == Refusal.UNMAPPED
    model.buffers[0] = Mapping(0, 100, 10, 2)
    read = BufferRequest(0, 8, 0, 2, 2, pitch=16)
    assert model.carry_out(read) == (
        Refusal.NONE, {0: 1108, 1: 1109, 16: 1118, 17: 1119})
    write = dataclasses.replace(read, write=True)
    assert model.carry_out(write, store=lambda target: 7 + target) == (Refusal.NONE, {})
    assert [model.word(address) for address in (107, 108, 109, 118, 119)] == [
        1107, 7, 8, 23, 24]
    indexed = BufferRequest(0, indexed=True)
    assert model.carry_out(indexed, (8, 20, 0), (1, 2, 3)) == (Refusal.INDEX, {1: 7, 3: 1100})


@unit
def test_completions_are_held_back_as_long_as_the_bound_says():
    for name, configuration in catalogue.load().find(NAME).configurations.items():
        known = dict(configuration.parameters)
        hold = DfiController(**known).hold
        known.pop("hurry", None)
        assert hold == bounds.dfi_completion_delay(**known), name


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"hurry": 0}, ValueError, r"^hurry must be at least 1, not 0$"),
    ({"hurry": 1.5}, TypeError, r"^hurry must be an integer, not 1\.5$"),
    ({"ratio": 8}, ValueError, r"^ratio must be one of 2, 4, not 8$"),
    ({"rddata_en": 0, "rdlat": 1, "wrlat": 60}, ValueError,
     (r"^rddata_en \+ rdlat must be at least 66 for nCAS 6 of DDR3-800E x16 at 1:4 and "
      "commands held back by 56, not 1$")),
])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=message):
        DfiController(**{**VALUES, **changes})


@unit
def test_power_up_takes_as_long_as_the_device_demands():
    """In controller clocks of 10 ns: 200 us, 500 us, tXPR, tMRD, tMOD, tZQinit."""
    whole = DfiController(**VALUES)
    made = DfiPowerUp(part=whole.part, seen=whole.seen, ratio=4)
    assert [cycles for cycles, *_ in made.steps] == [20_000, 50_000, 27, 1, 1, 1, 3, 128]
    assert sum(cycles for cycles, *_ in made.steps) * 10 == 701_610  # ns


@thorough
@unit
def test_converts_alone():
    assert "attribute \\top 1" in rtlil.convert(DfiController(**VALUES))


@thorough
@cosim
@pytest.mark.parametrize(("module", "name", "fault", "says"), [
    ("dfi_power_up", "DfiPowerUp", ("_ORDER = 2, 3, 1, 0", "_ORDER = 2, 3, 0, 0"), "power-up"),
    # the pipeline from a request to its first command hides some 100 DRAM clocks; that there are
    # 512 is tested above
    ("dfi_power_up", "DfiPowerUp", ("_CALIBRATE_CLOCKS = 512", "_CALIBRATE_CLOCKS = 300"),
     "tZQinit"),
    ("dfi_controller", "DfiController", ("seen.nBURST + 1 - (seen", "seen.nBURST - 8 - (seen"),
     "other words were delivered"),
], ids=["register left out", "calibration cut short", "completion too early"])
def test_testbench_finds(tmp_path, monkeypatch, module, name, fault, says):
    faulty = getattr(edited(f"cyclebound.hdl.dram.{module}", fault), name)
    block = catalogue.load().find(NAME)
    if name == "DfiController":
        block = dataclasses.replace(block, component=faulty)
    else:
        monkeypatch.setattr(f"cyclebound.hdl.dram.dfi_controller.{name}", faulty)
    outcome = simulate(block, Job(NAME, "800_1to4", "words", 1, str(tmp_path), wall_limit=900))
    assert not outcome.passed
    assert says in outcome.reason
