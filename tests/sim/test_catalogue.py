"""Every block of the catalogue has all that a block has, where docs/architecture.md puts it."""

import dataclasses
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from amaranth.lib import wiring

import cyclebound.golden
from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import FlatTop, SharedModules, fields_json, to_rtlil
from cyclebound.sim.catalogue import Catalogue, load, more_pages
from cyclebound.sim.describe.block import Block, Configuration, Property
from cyclebound.sim.describe.block import Testbench as Bench
from cyclebound.sim.describe.named_tests import named_tests

pytestmark = [pytest.mark.unit,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]

ROOT = Path(cyclebound.golden.__file__).parents[1]
BLOCKS = list(catalogue.load())
# Seconds to convert, in its least configuration: left to test_verilog.py unless all is asked for.
SLOW = {"dataflow.core", "dataflow.diamond", "dataflow.fabric", "dram.axi_port", "dram.controller",
        "dram.dfi_controller", "noc.end_to_end", "noc.end_to_end_read", "noc.handshake_mesh",
        "noc.many_core", "noc.mesh", "noc.mesh_interfaces", "noc.pipelined_mesh",
        "simd.accelerator",
        "simd.compute_unit", "simd.hosted_accelerator", "simd.transfer_unit",
        "system.tiled", "systolic.dram_memory", "systolic.float_output_stationary",
        "systolic.float_weight_stationary"}
CONFIGURED = [
    pytest.param(block, name, id=f"{block.name}-{name}",
                 marks=[pytest.mark.thorough] if number or block.name in SLOW else [])
    for block in BLOCKS for number, name in enumerate(block.configurations)]
blocks = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)


def test_there_are_blocks():
    assert len(BLOCKS) >= 3
    assert {block.family for block in BLOCKS} >= {"noc", "sram", "systolic"}


@blocks
def test_files_carry_the_blocks_name(block):
    family, name = block.name.split(".")
    for folder in ("hdl", "golden", "tb"):  # what several families are built of is in none
        assert any((ROOT / folder / place / f"{name}.py").is_file()
                   for place in (family, "")), folder
    assert list((ROOT / "tests" / family).glob(f"test_{name}*.py"))
    assert block.component.__module__ in {f"cyclebound.hdl.{family}.{name}",
                                          f"cyclebound.hdl.{name}"}
    for bench in block.testbenches:
        assert (re.fullmatch(rf"cyclebound\.tb\.{family}\.{name}\w*", bench.module)
                or len(blocks_of(bench.module)) > 1)
        assert importlib.util.find_spec(bench.module) is not None


def blocks_of(module):
    """The blocks that a testbench's module is for."""
    return [block for block in BLOCKS if module in {bench.module for bench in block.testbenches}]


@pytest.mark.parametrize("module", sorted(
    {bench.module for block in BLOCKS for bench in block.testbenches}))
def test_every_test_runs_and_there_are_no_others(module):
    """What a testbench names is in its module; what is in a module, some testbench runs."""
    known, run = set(named_tests(module)), set()
    for block in blocks_of(module):
        for bench in block.testbenches:
            if bench.module == module:
                run |= known - set(block.left_out(bench)) if bench.tests is None else set(
                    bench.tests)
    assert run == known


@blocks
def test_names_within_a_block_are_unique(block):
    for names in ([bench.name for bench in block.testbenches],
                  [claim.name for claim in block.properties],
                  [picture.name for picture in block.pictures],
                  [observed.what for observed in block.bounds],
                  [observed.bound.name for observed in block.bounds]):
        assert len(names) == len(set(names))
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert re.fullmatch(r"[a-z]\w*\.[a-z]\w*", block.name)
    assert all(re.fullmatch(r"\w+", name) for name in block.configurations)
    assert block.summary
    assert "\n" not in block.summary
    assert block.testbenches
    # it is two blocks and no more; its bounds are theirs
    assert block.bounds or block.name == "simd.hosted_accelerator"


def watched(block):
    """Whether something is proved of a block, or a checker watches each of its simulations."""
    return bool(block.properties or block.checker or all(
        bench.checker for bench in block.testbenches))


@blocks
def test_something_besides_testbenches_watches_the_block(block):
    assert watched(block)


def test_a_block_that_nothing_watches_is_found():
    bare = dataclasses.replace(catalogue.load().find("noc.arbiter"), checker=None, properties=())
    assert not watched(bare)


# of which nothing is proved yet: simulations are watched
UNPROVED = {"dataflow.channel", "dataflow.dram_processor"}


def test_every_other_block_has_a_property():
    assert {block.name for block in catalogue.load() if not block.properties} == UNPROVED


@blocks
def test_references_within_a_block_exist(block):
    claims = {claim.name for claim in block.properties}
    for observed in block.bounds:
        assert set(observed.proved_by) <= claims
        assert not observed.exhaustive or any(
            configuration.values for configuration in block.configurations.values())
    for bench in block.testbenches:
        assert set(bench.configurations or ()) <= set(block.configurations)
    for picture in block.pictures:
        assert picture.caption
        assert set(picture.testbenches) <= {bench.name for bench in block.testbenches}
        assert bool(picture.kept) == bool(picture.testbenches)
        for name in filter(None, (picture.draw, picture.trace)):
            function = inspect.signature(pkgutil.resolve_name(name))
            function.bind(*[None] * bool(picture.kept), **picture.arguments)
    if block.fpga is not None:
        assert block.fpga.configuration in block.configurations
    for claim in block.properties:
        assert claim.says
        for parameters in claim.instances:
            assert set(claim.independent) <= set(parameters)
            if claim.top is None:
                block.make(parameters)
            else:
                claim.top(**parameters)


@pytest.mark.parametrize(("block", "name"), CONFIGURED)
def test_configuration_converts_alone_and_again(block, name):
    component = block.make(block.configurations[name].parameters)
    assert isinstance(component, wiring.Component)
    first, again = (to_rtlil(component, name="top", shares=SharedModules("top")) for _ in range(2))
    assert "attribute \\top 1" in first
    assert again == first


@blocks
def test_simulated_tops_and_checkers_can_be_made(block):
    for name, configuration in block.configurations.items():
        for bench in block.testbenches:
            if name not in (bench.configurations or [name]):
                continue
            component = (bench.top or block.component)(**configuration.parameters)
            assert '"inputs"' in fields_json(component)
            FlatTop(component)
        if block.checker is not None:
            block.checker(block.make(configuration.parameters))


@blocks
def test_bounds_say_where_they_come_from(block):
    for observed in block.bounds:
        found = observed.bound
        assert isinstance(found, Bound)
        assert found.formula
        assert found.source
        assert len(found.derivation) > 20
        assert found.environment or found.kind != "bound" or observed.probe is None
        if "this project" in found.source:  # then the docstring holds the derivation
            assert len(found.derivation) > 80


@blocks
def test_what_a_case_is_besides_the_input_is_observed_and_said(block):
    """States and conditions by hardware; a bound's row says what of its environment was tried."""
    for observed in block.bounds:
        assert bool(observed.exhausts) == (observed.exhaustive and observed.bound.kind == "bound")
        for configuration in block.configurations.values() if observed.exhaustive else ():
            assert {*configuration.values} <= {
                *observed.bound.parameters, *observed.probe.request, *observed.probe.conditions}


@blocks
def test_bounds_cover_the_domain(block):
    """Where a bound claims exhaustive runs, it speaks of the least corner of the domain at least,
    and of whatever else it does as of whole cycles."""
    for configuration in block.configurations.values():
        if not configuration.values:
            continue
        corners = [{}]
        for name, values in configuration.values.items():
            corners = [{**corner, name: value} for corner in corners
                       for value in (values[0], values[-1])]
        for observed in (binding for binding in block.bounds if binding.exhaustive):
            for number, corner in enumerate(corners):
                try:
                    cycles = observed.bound.of({**configuration.parameters, **corner})
                except NotCovered:
                    assert number > 0, f"{observed.bound.name} does not cover {corner}"
                    continue
                assert type(cycles) is int
                assert cycles >= 1


def test_bounds_refuse_what_they_do_not_cover():
    eq1 = next(o.bound for o in load().find("sram.banked_memory").bounds if o.bound.name == "eq1")
    with pytest.raises(NotCovered, match=r"^bound eq1 needs transaction_bytes$"):
        eq1.of({"requesters": 2, "word_bytes": 8})


# -- the catalogue itself --------------------------------------------------------------------------


def test_a_family_may_be_left_out():
    assert load().find("arbiter") is load().find("noc.arbiter")


@pytest.mark.parametrize(("name", "message"), [
    ("noc.arbitre", r"^no block 'noc\.arbitre'; did you mean noc\.arbiter\?$"),
    ("zzz", r"^no block 'zzz'; known are .*noc\.arbiter, .*sram\.banked_memory.*$")])
def test_an_unknown_block(name, message):
    with pytest.raises(UserError, match=message):
        load().find(name)


def test_two_blocks_of_one_name():
    block = Block("a.b", "", dict, {"c": Configuration({})}, (Bench("t", "m"),), ())
    with pytest.raises(UserError, match=r"^two blocks in the catalogue are called 'a\.b'$"):
        Catalogue([block, block])


@pytest.mark.parametrize(("more", "where"), [
    ({"configurations": {"one": Configuration({"part": object()})}}, "configuration one"),
    ({"properties": (Property("holds", "so", dict, ({"part": object()},)),)},
     "property holds")])
def test_parameters_that_no_run_can_keep(more, where):
    """A regression of all blocks once met one after half an hour."""
    block = Block(**{"name": "a.b", "summary": "", "component": dict,
                     "configurations": {"c": Configuration({})},
                     "testbenches": (Bench("t", "m"),), "bounds": ()} | more)
    with pytest.raises(UserError, match=f"^a.b: {where}: part must be a number, a name, or a list "
                                        "or mapping of these, not an object of class object$"):
        Catalogue([block])


def test_where_pages_are_named(monkeypatch):
    monkeypatch.setenv("CYCLEBOUND_CATALOGUE", "one, two.three,,one")
    assert more_pages()[:2] == ("one", "two.three")


def test_a_page_that_is_none(tmp_path, monkeypatch):
    (tmp_path / "no_page_at_all.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"^catalogue page 'no_page_at_all' has no BLOCKS$"):
        load(("no_page_at_all",))
    for name, text, says in (
            ("page_that_cannot_be_read", "BLOCKS = (", "SyntaxError: .*was never closed.*"),
            ("page_that_raises", "1 / 0",
             r"ZeroDivisionError: .* \(.*page_that_raises.py, line 1\)")):
        (tmp_path / f"{name}.py").write_text(text)
        with pytest.raises(UserError, match=f"^catalogue page '{name}': {says}$"):
            load((name,))
    with pytest.raises(UserError, match=r"^catalogue page 'nowhere': No module named 'nowhere'$"):
        load(("nowhere",))


def test_what_is_wrong_with_parameters():
    block = load().find("noc.arbiter")
    with pytest.raises(UserError, match=r"^no parameter of noc\.arbiter 'cuont'; did you mean"):
        block.make({"cuont": 3})
    with pytest.raises(UserError, match=r"^noc\.arbiter: Requester count must be at least 1, not"):
        block.make({"count": 0})


def test_a_page_is_of_its_family_and_read_when_that_is_asked_for():
    known = load.__wrapped__()
    unread = set(known._unread)
    known.find("noc.arbiter")
    assert {page.partition("_")[0] for page in unread - set(known._unread)} == {"noc"}
    assert known.find("stride_sequencer").name == "dram.stride_sequencer"
    assert known._unread == {}
    for page, blocks in known._pages.items():
        assert {block.family for block in blocks} <= {page.partition("_")[0]}


def test_the_order_of_blocks_is_that_of_their_pages():
    known = load.__wrapped__()
    known.find("systolic.matmul")
    assert [block.name for block in known] == [block.name for block in load()]
