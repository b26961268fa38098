# amaranth: UnusedElaboratable=no
"""AXI4 before a DFI PHY: its bounds by hand, its parameters, what its testbench finds."""

import dataclasses

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import axi_dfi_bounds as bounds
from cyclebound.golden.dram import dfi_bounds
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.axi_dfi_controller import AxiDfiController
from cyclebound.sim import catalogue
from cyclebound.sim.run.job import Job, simulate
from kit.faults import edited

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough
NAME = "dram.axi_dfi_controller"
PHY = {"part": "ddr3-800e-x16", "ratio": 4, "wrlat": 4, "wrdata": 1, "rddata_en": 5, "rdlat": 10}
SMALL = {"capacity": 1 << 10, "id_width": 1}


@unit
def test_one_burst_by_hand():
    """In controller clocks nRCD 1, nRP 2, write to PRE 8; the words of a read take 16."""
    words = dfi_bounds.dfi_read.function(**{name: PHY[name] for name in PHY if name != "part"})
    held = dfi_bounds.dfi_completion_delay(**PHY)
    assert (words, held) == (16, 9)
    one = {**PHY, "bursts": 1, "first": 0}
    # 19 clocks until ACT is chosen, nRCD, the words, one to keep them, three to R
    assert bounds.axi_dfi_read_alone.function(transfers=1, **one) == 19 + 1 + words + 1 + 4
    written = 1 + 8 + 2 + 19 + held
    assert bounds.axi_dfi_write_alone.function(partial=0, **one) == written
    assert bounds.axi_dfi_write_alone.function(partial=1, **one) == (
        written + (1 + 6 + 2) + 17 + held)
    assert bounds.axi_dfi_read.function(**PHY, transfers=1, size=4) == 41 + 26 - 10
    assert [bounds.axi_dfi_refused_read.function(**PHY, transfers=2, beyond=b) for b in (0, 1)] == [
        6, 23]
    assert [bounds.axi_dfi_refused_write.function(**PHY, beyond=b) for b in (0, 1)] == [2, 18]


@unit
def test_what_two_refreshes_may_disturb_is_not_covered():
    longest = {"transfers": 256, "size": 4, "partial": 1}
    assert bounds.axi_dfi_write.function(**PHY, **longest) == 594
    often = dataclasses.replace(part_named(PHY["part"]), nREFI=2400)  # 600 controller clocks
    with pytest.raises(NotCovered, match=r"^two refreshes may fall due within 594 clocks$"):
        bounds.axi_dfi_write.function(**{**PHY, "part": often}, **longest)


@unit
@pytest.mark.parametrize(("changes", "message"), [
    ({"ratio": 8}, r"^ratio must be one of 2, 4, not 8$"),
    ({"id_width": 0}, r"^id width must be from 1 to 32, not 0$"),
    ({"capacity": 6}, r"^words must be a multiple of 4"),
])
def test_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        AxiDfiController(**{**PHY, **SMALL, **changes})


@thorough
@unit
def test_converts_alone():
    assert "attribute \\top 1" in rtlil.convert(AxiDfiController(**PHY, **SMALL))


@thorough
@cosim
def test_testbench_finds_a_completion_that_comes_too_early(tmp_path, monkeypatch):
    """Then a read's last words are sent before they have arrived."""
    faulty = edited("cyclebound.hdl.dram.dfi_controller",
                    ("seen.nBURST + 1 - (seen", "seen.nBURST - 8 - (seen")).DfiController
    monkeypatch.setattr("cyclebound.hdl.dram.axi_dfi_controller.DfiController", faulty)
    block = dataclasses.replace(catalogue.load().find(NAME), component=AxiDfiController)
    outcome = simulate(block, Job(NAME, "small", "axi", 1, str(tmp_path), wall_limit=900))
    assert not outcome.passed
