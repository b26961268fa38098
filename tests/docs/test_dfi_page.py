"""The page about DDR3 through a DFI PHY: its tables are the bounds, its device is the file's."""

import functools
import re
from pathlib import Path

import pytest

from cyclebound.golden.dram.axi_dfi_bounds import axi_dfi_read, axi_dfi_write
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.dfi_bounds import (
    dfi_completion,
    dfi_completion_delay,
    dfi_seen,
    dfi_tile_issue_delay,
)
from cyclebound.golden.dram.part_file import load_part
from cyclebound.golden.dram.timing import part_named
from cyclebound.sim.catalogue.dram_dfi import BLOCKS
from kit.pages import Page, numbers, results

PAGE = Page("dfi.md")
FILE = Path(__file__).parents[2] / "docs" / "parts" / "ddr3-1600-x16-95mhz.toml"
BOARD = BLOCKS[1].configurations["board"].parameters
SIZES = (1, 4, 16, 64)  # bursts
LINES = (1, 4, 64, 256)  # transfers of 16 bytes
pytestmark = pytest.mark.unit


def phy(name, ratio):
    """What the bounds need to know of a row: a device's part and the PHY of the catalogue."""
    of = "1600" if name == "DDR3-1600K" else "800"
    known = {**BLOCKS[1].configurations[f"{of}_1to{ratio}"].parameters}
    del known["hurry"]
    if name == "DDR3-1600K at 380 MHz":
        known["part"] = load_part(FILE)
    return known


def test_the_part_in_controller_clocks():
    device, *through = (
        [int(numbers(cell)[0]) for cell in cells]
        for _, *cells in PAGE.rows("| in controller clocks |"))
    part = part_named("ddr3-800e-x16")
    assert device == [part.nRCD, part.nRP, part.nRAS, part.nRC, part.nRTP,
                      part.nCWD + part.nBURST + part.nWR,
                      part.nCAS + part.nBURST + 2 - part.nCWD, part.nRFC, part.nREFI]
    for ratio, row in zip((2, 4), through, strict=True):
        seen = dfi_seen(**phy("DDR3-800E", ratio))
        assert row == [seen.nRCD, seen.nRP, seen.nRAS, seen.nRC, seen.nRTP,
                       seen.nCWD + seen.nBURST + seen.nWR,
                       seen.nCAS + seen.nBURST + 2 - seen.nCWD, seen.nRFC, seen.nREFI]
    known = {name: BOARD[name] for name in ("wrlat", "wrdata", "rddata_en", "rdlat")}
    assert PAGE.says(f"PHY numbers {', '.join(f'{name} {n}' for name, n in known.items())})")


def delays(line):
    """The issue delays of a line of the table, a pair for each size, and the clock's period."""
    name, bits, ratio = re.match(
        r"(?:(DDR3-\S+(?: at 380 MHz)?), )?(\d+) bits, (?:1:(\d), )?", line).groups()
    part = {"DDR3-800E": "ddr3-800e-x16", "DDR3-1600K": "ddr3-1600k-x16"}
    return name, int(bits), ratio and int(ratio), part


@pytest.mark.thorough
def test_the_longest_issue_delays():
    name = ""
    rows = PAGE.rows("| | 1 burst |")
    assert len(rows) == 7
    for line, *cells in rows:
        own, bits, ratio, parts = delays(line)
        name = own or name
        if ratio is None:
            assert bits == 64
            period = part_named(parts[name]).tck_ps
            issue = functools.partial(tile_issue_delay, part=parts[name])
        else:
            assert bits == 64 // ratio
            period = dfi_seen(**phy(name, ratio)).tck_ps
            issue = functools.partial(dfi_tile_issue_delay, **phy(name, ratio))
        assert f"{1e6 / period:.0f} MHz" in line
        for bursts, cell in zip(SIZES, cells, strict=True):
            clocks = [issue(bursts=bursts, write=write) for write in (0, 1)]
            times = [(count * period + 500) // 1000 for count in clocks]
            assert numbers(cell) == [*times, *clocks], (line, bursts)


def test_the_front_ends_lead():
    known = phy("DDR3-800E", 4)
    seen = dfi_seen(**known)
    ours = {(bursts, write): dfi_tile_issue_delay(**known, bursts=bursts, write=write)
            for bursts in (1, 2, 3, 4) for write in (0, 1)}
    device = {(bursts, write): tile_issue_delay.function(part=seen, bursts=bursts, write=write)
              for bursts, write in ours}
    most = max(ours[request] - device[request] for request in ours)
    assert PAGE.says(f"at 1:4 it is not: up to {most} clocks per request",
                     f"a read of three bursts took {ours[3, 0]} clocks, {device[3, 0]} were "
                     "allowed")


@pytest.mark.thorough
def test_a_read_of_4_kib():
    known = phy("DDR3-1600K at 380 MHz", 4)
    period = dfi_seen(**known).tck_ps
    issue = dfi_tile_issue_delay(**known, bursts=64, write=0)
    whole = dfi_completion(**known, bursts=64, write=0)
    assert PAGE.says(
        f"A read of 4 KiB uses {256 / issue:.0%}".replace("%", " %")
        + f" of the 16-bit bus at 1:4 (256 of {issue} clocks): "
        f"{4096e3 / (issue * period):.2f} GB/s guaranteed at 95 MHz",
        f"such a read takes {whole} clocks, {whole * period / 1e6:.1f} us")


@pytest.mark.thorough
def test_axi_reads_and_writes():
    rows = PAGE.rows("| read / write / write with parts of words |")
    assert len(rows) == 4
    for line, *cells in rows:
        name, ratio = re.match(r"(.*?), 1:(\d)", line).groups()
        known = phy(name, int(ratio))
        for transfers, cell in zip(LINES, cells, strict=True):
            of = {**known, "transfers": transfers, "size": 4}
            assert numbers(cell) == [axi_dfi_read(**of), axi_dfi_write(**of, partial=0),
                                     axi_dfi_write(**of, partial=1)], (line, transfers)
    period = dfi_seen(**phy("DDR3-1600K at 380 MHz", 4)).tck_ps
    first, *_, last = (numbers(cell)[0] * period / 1000 for cell in rows[-1][1:])
    assert PAGE.says(f"a single read is there after at most {-(-first // 1)} ns",
                     f"and 4 KiB after {float(last) / 1000:.1f} us")


def test_completions_held_back():
    quarter, half = (dfi_completion_delay(**phy("DDR3-800E", ratio)) for ratio in (4, 2))
    assert PAGE.says(f"{quarter} at 1:4 and {half} at 1:2 with DDR3-800E")


def test_clock_rates():
    part = load_part(FILE)
    (slow,) = re.findall(r"89 MHz until it is: (\d+) MHz at the DRAM", PAGE.text)
    assert int(slow) == 4 * 89
    assert PAGE.says(f"`tck_ps = {-(-10**6 // int(slow))}`")
    assert round(1e6 / part.tck_ps) == 380 == 4 * 95
    assert PAGE.says(f"CL {part.nCAS}, CWL {part.nCWD}")
    assert Page("README.md").says(f"a fabric of {250_000 / part.tck_ps:.0f} MHz drives a part at "
                                  f"{1e6 / part.tck_ps:.0f} MHz")


@pytest.mark.thorough
def test_the_bounds_that_are_exact():
    """Each configuration's longest request: 16 bursts, written."""
    tiles, whole = [], []
    for name in ("800_1to4", "800_1to2", "1600_1to4", "1600_1to2"):
        known = {**BLOCKS[1].configurations[name].parameters}
        del known["hurry"]
        tiles.append(dfi_tile_issue_delay(**known, bursts=16, write=1))
        whole.append(dfi_completion(**known, bursts=16, write=1))
    assert PAGE.says(f"four (`tile` {', '.join(map(str, tiles))} clocks; "
                     f"`completion` {', '.join(map(str, whole))})")


def test_the_full_level_reaches_them():
    for request, value in (("tile", 80), ("completion", 97)):
        row = results("full")["dram.dfi_controller", "800_1to4", request]
        assert (row["worst"], row["verdict"]) == (str(value), "exact")
        assert PAGE.says(f"`{request}` {value}")


def test_the_checkers_example_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.text, re.DOTALL)
    exec(compile(code, "page", "exec"), {})
