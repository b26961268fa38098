"""Parts of the papers' tables, number by number; rounding; contradictions."""

import dataclasses
import re

import pytest

from cyclebound.golden.dram.timing import (
    DDR3_1600_MODULE,
    DDR4_1866M_X16,
    DDR4_3200AA_X8,
    DDR4_3200AA_X16,
    MAXIMA,
    PARTS,
    TIMINGS,
    Number,
    Part,
    part_of,
)

pytestmark = pytest.mark.unit

X16 = DDR4_3200AA_X16
parts = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)

SIM_D = {  # Table 1: symbol, (1) 2BG, (2) 4BG
    "banks": (8, 16), "bank_groups": (2, 4), "rows": (65536, 65536), "columns": (1024, 1024),
    "nRCD": (22, 22), "nCAS": (22, 22), "nCWD": (16, 16), "nRP": (22, 22), "nBURST": (4, 4),
    "nRAS": (52, 52), "nRTP": (12, 12), "nWR": (24, 24), "nRFC": (560, 560),
    "nREFI": (12480, 12480), "nCCD_S": (4, 4), "nCCD_L": (8, 8), "nRRD_S": (9, 4),
    "nRRD_L": (11, 8),
}
SIM_D_MODEL = {  # what Table 1 leaves out, and Sim-D's model uses
    "nRC": (74, 74), "nWTR_S": (4, 4), "nWTR_L": (12, 12), "nFAW": (48, 34)}
TABLE_I = {  # memory-composition: ns, cycles
    "nBURST": (5, 4), "nCAS": (13.75, 11), "nRP": (13.75, 11), "nRCD": (13.75, 11),
    "nWR": (21.25, 17), "nWTR_S": (7.5, 6), "nRAS": (35, 28), "nRC": (48.75, 39),
    "nFAW": (30, 24), "nRRD_S": (6.25, 5), "nCWD": (10, 8), "nRFC": (260, 208),
    "nREFI": (3906, 3125),
}


@pytest.mark.parametrize(("part", "column"), [(X16, 0), (DDR4_3200AA_X8, 1)])
def test_table_1_of_sim_d(part, column):
    printed = SIM_D | SIM_D_MODEL
    assert {name: getattr(part, name) for name in printed} == {
        name: values[column] for name, values in printed.items()}
    assert part.tck_ps == 625
    assert (part.generation, part.nWPRE) == ("DDR4", 1)
    assert part.columns * 8 * 8 == 65536  # bits in a row: 64-bit bus
    assert {name for name in TIMINGS if name not in printed} == {"nWPRE"}


def test_table_i_of_memory_composition():
    part = DDR3_1600_MODULE
    assert (part.generation, part.tck_ps, part.banks, part.bank_groups) == ("DDR3", 1250, 8, 1)
    for name, (ns, cycles) in TABLE_I.items():
        assert part.numbers[name].picoseconds == ns * 1000
        printed = cycles if name != "nREFI" else cycles - 1  # 3906 ns are 3124.8 cycles
        assert getattr(part, name) == printed, name
    assert {name for name in TIMINGS if name not in TABLE_I} == {
        "nCCD_S", "nCCD_L", "nRTP", "nRRD_L", "nWTR_L", "nWPRE"}
    assert (part.nCCD_S, part.nRTP, part.nRRD_L, part.nWTR_L) == (4, 6, 5, 6)


def test_ddr4_1866m():
    """Times of JESD79-4 in clocks of 1.071 ns, by hand."""
    part = DDR4_1866M_X16
    assert {name: getattr(part, name) for name in TIMINGS} == {
        "nRCD": 13, "nCAS": 13, "nCWD": 10, "nRP": 13, "nBURST": 4, "nRAS": 32, "nRC": 45,
        "nRTP": 8, "nWR": 15, "nWTR_S": 3, "nWTR_L": 8, "nCCD_S": 4, "nCCD_L": 5, "nRRD_S": 5,
        "nRRD_L": 6, "nFAW": 29, "nRFC": 327, "nREFI": 7282, "nWPRE": 1}
    assert (part.banks, part.bank_groups, part.tck_ps) == (8, 2, 1071)


@parts
def test_every_number_has_a_source_and_is_safe(part):
    """In picoseconds, a minimum is never shorter than printed, nor a maximum longer."""
    assert set(part.numbers) == set(TIMINGS)
    for name, number in part.numbers.items():
        assert number.source, name
        ps, printed = getattr(part, name) * part.tck_ps, number.picoseconds
        if name in MAXIMA:
            assert not printed or printed - part.tck_ps < ps <= printed
            assert not number.clocks or getattr(part, name) <= number.clocks
        else:
            assert ps >= printed
            assert getattr(part, name) >= number.clocks
            assert getattr(part, name) == number.clocks or ps - printed < part.tck_ps


def test_names():
    assert list(PARTS) == ["ddr4-3200aa-x16", "ddr4-3200aa-x8", "ddr4-1866m-x16",
                           "ddr3-1600-module"]
    assert frozenset({"nREFI"}) == MAXIMA
    assert len(TIMINGS) == 19


@pytest.mark.parametrize(("number", "minimum", "maximum"), [
    (Number(clocks=7), 7, 7),
    (Number(picoseconds=5000), 4, 4),
    (Number(picoseconds=5001), 5, 4),
    (Number(picoseconds=6249), 5, 4),
    (Number(picoseconds=6250), 5, 5),
    (Number(clocks=4, picoseconds=7500), 6, 4),
    (Number(clocks=7, picoseconds=7500), 7, 6),
    (Number(), 0, 0),
])
def test_minima_are_rounded_up_and_maxima_down(number, minimum, maximum):
    """In clocks of 1.25 ns."""
    assert number.cycles(1250) == minimum
    assert number.cycles(1250, maximum=True) == maximum


@parts
def test_bursts(part):
    assert part.bursts_per_row == 128
    assert part.bursts_per_sweep == 128 * part.banks
    assert part.bursts * 64 == {8: 4, 16: 8}[part.banks] << 30
    groups = [part.bank_group(bank) for bank in range(part.banks)]
    assert set(groups) == set(range(part.bank_groups))
    if part.bank_groups > 1:
        assert all(groups[bank] != groups[bank ^ 1] for bank in range(part.banks))


def fields(part):
    return {name: getattr(part, name) for name in (
        "name", "generation", "tck_ps", "banks", "bank_groups", "rows", "columns")}


def test_part_of_is_the_part():
    assert part_of(**fields(X16), numbers=X16.numbers) == X16
    assert part_of(**fields(X16), numbers=X16.numbers).numbers == X16.numbers
    with pytest.raises(dataclasses.FrozenInstanceError):
        X16.nRCD = 3


@pytest.mark.parametrize(("change", "says"), [
    ({"nRCD": None, "nRP": None}, "mine: nRCD, nRP missing"),
    ({"nRDC": Number(3)}, f"mine: unknown nRDC; known are {', '.join(TIMINGS)}"),
    ({"nRP": Number(-1)}, "mine: nRP must not be negative"),
    ({"nRP": Number(picoseconds=-1)}, "mine: nRP must not be negative"),
])
def test_part_of_refuses(change, says):
    numbers = {name: number for name, number in (X16.numbers | change).items()
               if number is not None}
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        part_of(**fields(X16) | {"name": "mine"}, numbers=numbers)


@pytest.mark.parametrize(("change", "says"), [
    ({"banks": 6}, "banks must be a power of two, not 6"),
    ({"banks": 0}, "banks must be a power of two, not 0"),
    ({"bank_groups": 3}, "bank_groups must be a power of two, not 3"),
    ({"rows": 1.0}, "rows must be a power of two, not 1.0"),
    ({"columns": -8}, "columns must be a power of two, not -8"),
    ({"tck_ps": 0}, "tck_ps must be at least 1, not 0"),
    ({"nRCD": 0}, "nRCD must be at least 1, not 0"),
    ({"nRCD": 22.0}, "nRCD must be at least 1, not 22.0"),
    ({"nFAW": -1}, "nFAW must be at least 0, not -1"),
    ({"nWPRE": -1}, "nWPRE must be at least 0, not -1"),
    ({"generation": "DDR5"}, "generation must be DDR3 or DDR4, not 'DDR5'"),
    ({"bank_groups": 16}, "8 banks in 16 bank groups"),
    ({"banks": 1, "bank_groups": 1}, "1 banks in 1 bank groups"),
    ({"columns": 4}, "a row must hold a burst of 8 columns, not 4"),
    ({"nRC": 73}, "nRC must be at least nRAS + nRP, not 73"),
    ({"nRAS": 21}, "nRAS must be at least nRCD, not 21"),
    ({"nCCD_S": 3}, "nCCD_S must be at least nBURST, not 3"),
    ({"nCCD_L": 3}, "nCCD_L must be at least nCCD_S, not 3"),
    ({"nRRD_L": 8}, "nRRD_L must be at least nRRD_S, not 8"),
    ({"nWTR_L": 3}, "nWTR_L must be at least nWTR_S, not 3"),
    ({"nCAS": 15}, "nCAS must be at least nCWD, not 15"),
    ({"nREFI": 560}, "nREFI must be greater than nRFC, not 560"),
    ({"bank_groups": 1}, "with one bank group, nCCD_S and nCCD_L must be equal"),
    ({"bank_groups": 1, "nCCD_L": 4}, "with one bank group, nRRD_S and nRRD_L must be equal"),
    ({"bank_groups": 1, "nCCD_L": 4, "nRRD_L": 9},
     "with one bank group, nWTR_S and nWTR_L must be equal"),
])
def test_contradictions(change, says):
    with pytest.raises(ValueError, match=f"^{re.escape(f'{X16.name}: {says}')}$"):
        dataclasses.replace(X16, **change)


@pytest.mark.parametrize("change", [
    {"nRC": 74}, {"nRAS": 22, "nRC": 44}, {"nCCD_L": 4}, {"nRRD_L": 9}, {"nWTR_L": 4},
    {"nCAS": 16}, {"nREFI": 561}, {"nFAW": 0}, {"nWPRE": 0}, {"columns": 8}, {"rows": 1},
    {"bank_groups": 8}, {"bank_groups": 1, "nCCD_L": 4, "nRRD_L": 9, "nWTR_L": 4},
])
def test_limits_are_legal(change):
    part = dataclasses.replace(X16, **change)
    assert isinstance(part, Part)
    assert {name: getattr(part, name) for name in change} == change
