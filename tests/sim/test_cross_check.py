"""Tables that model and RTL both read: a mistake in one of them is found by its second source."""

import contextlib
import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import pytest

from cyclebound.golden.dram import jedec, timing
from cyclebound.golden.dram.axi_port import AxiResponse
from cyclebound.golden.harness.lfsr_spec import POLYNOMIALS
from cyclebound.golden.simd import isa, special_tables
from cyclebound.sim import catalogue
from cyclebound.sim.judge import cross_check
from cyclebound.sim.regression.live import line_of
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import read, write_junit
from cyclebound.sim.report.report import write_report
from cyclebound.tools import second_source
from cyclebound.tools.second_source import opcodes, parts, polynomials, registers

pytestmark = pytest.mark.unit

ENTRIES = {"simd.coefficients": 1537, "simd.opcodes": 90, "harness.polynomials": 62,
           "dram.parts": 2713, "registers": 56}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_table_is_right(name):
    found = cross_check.cross_check(name)
    assert (found.passed, found.detail, found.entries) == (True, "", ENTRIES[name])


def test_these_are_all():
    assert [check.name for check in second_source.CROSS_CHECKS] == [*ENTRIES]
    blocks = {block.name: block for block in catalogue.load()}
    assert cross_check.cross_checks_of([blocks["noc.arbiter"]]) == ["harness.polynomials",
                                                                    "dram.parts"]
    assert cross_check.cross_checks_of([*blocks.values()]) == [*ENTRIES]


def detail(name):
    found = cross_check.cross_check(name)
    assert not found.passed
    return found.detail


@pytest.mark.parametrize(("row", "column", "by"), [
    (0, 0, 2), (127, 0, -2), (128, 1, 1), (200, 1, -1), (383, 2, 1), (384, 2, -1), (511, 0, 2)])
def test_a_wrong_coefficient(monkeypatch, row, column, by):
    rows = [list(one) for one in special_tables.COEFFICIENTS]
    rows[row][column] += by
    monkeypatch.setattr(special_tables, "COEFFICIENTS", tuple(map(tuple, rows)))
    assert detail("simd.coefficients").startswith(f"row {row}: ")


def test_coefficients_of_other_tables(monkeypatch):
    monkeypatch.setattr(special_tables, "TWO_OVER_PI", special_tables.TWO_OVER_PI + 1)
    assert detail("simd.coefficients") == "2 / pi differs"
    monkeypatch.setattr(special_tables, "COEFFICIENTS", special_tables.COEFFICIENTS[:-1])
    assert "511 rows" in detail("simd.coefficients")


def test_wrong_opcodes(monkeypatch):
    """Two rows have changed places, as they would for assembler, model and decoder alike."""
    swapped = {**isa.OPCODES, "add": isa.OPCODES["mul"], "mul": isa.OPCODES["add"]}
    monkeypatch.setattr(opcodes, "OPCODES", swapped)
    assert detail("simd.opcodes") == "add is 15, and not 14; mul is 14, and not 15"
    monkeypatch.undo()
    table = list(isa.TABLE)
    table[14] = dataclasses.replace(table[14], subops=table[14].subops[::-1])
    monkeypatch.setattr(opcodes, "TABLE", tuple(table))
    assert detail("simd.opcodes").startswith("sub-operations of add are neg, ")
    monkeypatch.undo()
    monkeypatch.setattr(opcodes, "FIELDS", {**isa.FIELDS, "A": (16, 6)})
    assert detail("simd.opcodes") == "field A is (21, 16), and not (22, 17)"


def test_a_polynomial_that_is_not_primitive(monkeypatch):
    """x^4 + x^2 + 1 is a square."""
    monkeypatch.setitem(POLYNOMIALS, 4, (2,))
    assert detail("harness.polynomials") == "width 4: (2,) is not primitive"
    # x^4 + x^3 + x^2 + x + 1 is irreducible, and x is of order 5
    assert not polynomials.is_primitive(4, (3, 2, 1))


@pytest.mark.parametrize(("name", "number"), [
    ("ddr4-3200aa-x16", "nRP"), ("ddr3-1600-module", "nWR"), ("ddr4-1866m-x16", "nFAW")])
def test_a_wrong_number_of_a_part(monkeypatch, name, number):
    part = timing.PARTS[name]
    value = getattr(part, number)
    wrong = dataclasses.replace(part, **{number: value - 1})
    monkeypatch.setitem(timing.PARTS, name, wrong)
    assert detail("dram.parts") == f"{name}: {number} is {value - 1}, and not {value}"


def test_wrong_arithmetic_for_all_parts(monkeypatch):
    """A minimum that is rounded down."""
    kept = jedec.jedec_parts()
    wrong = {name: dataclasses.replace(part, nRAS=part.nRAS - 1) for name, part in kept.items()}
    monkeypatch.setattr(parts, "jedec_parts", lambda: wrong)
    assert "and 132 more" in detail("dram.parts")
    monkeypatch.setattr(parts, "jedec_parts", lambda: {})
    assert "0 speed bins" in detail("dram.parts")


def test_a_part_without_a_second_source(monkeypatch):
    monkeypatch.setitem(timing.PARTS, "another", timing.PARTS["ddr3-1600-module"])
    assert detail("dram.parts") == "another has no second source"


def test_wrong_registers(monkeypatch):
    class Register(int):
        __members__ = {"CONTROL": 4}

    monkeypatch.setattr(registers, "_PUBLISHED", {Register: {"CONTROL": 0, "STATUS": 4}})
    assert detail("registers") == ("Register.CONTROL is 4, and not 0; Register.STATUS is absent, "
                                   "and not 4")
    monkeypatch.setattr(registers, "_PUBLISHED", {AxiResponse: {"OKAY": 0, "SLVERR": 2}})
    assert detail("registers") == "AxiResponse.DECERR is 3, and not there"


def test_a_check_that_compares_nothing_or_breaks_has_failed(monkeypatch):
    monkeypatch.setattr(registers, "_PUBLISHED", {})
    assert detail("registers") == "nothing was compared"
    monkeypatch.setattr(opcodes, "TABLE", ())
    assert detail("simd.opcodes") == "IndexError: tuple index out of range"


def test_a_difference_is_in_every_form(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(POLYNOMIALS, 4, (2,))
    found = cross_check.cross_check("harness.polynomials")
    says = "width 4: (2,) is not primitive"
    assert line_of(found).plain == ("DIFFERS    table harness.polynomials against primitive: of "
                                    f"order 2^n - 1: {says}")
    with contextlib.closing(Results(tmp_path, create=True)) as results:
        results.note(jobs=0)
        results.cross_check(found)
    run = read(tmp_path)
    assert run.problems == [(
        "table harness.polynomials differs from its second source, primitive: of order 2^n - 1: "
        f"{says}")]
    assert json.loads(run.as_json())["cross_checks"][0]["passed"] is False
    write_junit(run, tmp_path / "junit.xml")
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "1"
    page = write_report(tmp_path).read_text()
    assert "This run failed" in page
    assert page.count(says) == 2
