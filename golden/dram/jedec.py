"""The speed bins of JESD79-4 and JESD79-3 as parts, for devices of 4, 8 and 16 bits.

Two tables lie beside this file: ``jedec_bins.csv`` has a line for each bin (CL = tRCD = tRP and CWL
in clocks, by which a bin is named), ``jedec_timing.csv`` one for each other number, by rate and
width, as the standard prints it: "max(nCK, ns)". Times become clocks here, minima rounded up and
maxima down, of the exact clock: 833 1/3 ps at 2,400 MT/s, for which the standard prints 0.833 ns.
From the printed one, a minimum of 5 ns would be 7 clocks, and the standard's own rounding says 6.

A rank is 64 bits wide: 16, 8 or 4 devices of 8 Gb (DDR4) or 4 Gb (DDR3).
"""

import csv
import functools
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from cyclebound.golden.dram.part import MAXIMA, Number, Part, part_of

__all__ = ["jedec_parts"]

_DOCUMENTS = {"DDR4": "JESD79-4", "DDR3": "JESD79-3"}
_ORGANISATION = {  # banks, groups, rows, columns
    ("DDR4", 4): (16, 4, 131072, 1024), ("DDR4", 8): (16, 4, 65536, 1024),
    ("DDR4", 16): (8, 2, 65536, 1024), ("DDR3", 4): (8, 1, 65536, 2048),
    ("DDR3", 8): (8, 1, 65536, 1024), ("DDR3", 16): (8, 1, 32768, 1024)}
_STEP = Fraction(400, 3)  # rates are multiples of it, in MT/s; printed without their fractions


def _table(name: str) -> list[dict[str, str]]:
    with (Path(__file__).parent / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _number(document: str, row: dict[str, str], clock: Fraction) -> Number:
    """A line of the table in clocks; its ``source`` says how it is printed."""
    least, picoseconds = int(row["nck"]), Fraction(Decimal(row["ns"])) * 1000
    whole = picoseconds // clock
    if row["number"].replace("t", "n", 1) not in MAXIMA:
        whole = max(least, -(-picoseconds // clock))
    printed = [f"{row['nck']} nCK"] if least else []
    printed += [f"{row['ns']} ns"] if picoseconds else []
    text = f"max({', '.join(printed)})" if len(printed) > 1 else printed[0]
    return Number(clocks=int(whole), source=f"{document}, {row['number']}: {text}")


@functools.cache
def jedec_parts() -> dict[str, Part]:
    """All bins, by names such as ``ddr4-2400r-x8`` and ``ddr3-1600k-x16``."""
    timing = _table("jedec_timing.csv")
    parts = {}
    for row in _table("jedec_bins.csv"):
        generation, rate = row["generation"], int(row["rate"])
        document = _DOCUMENTS[generation]
        clock = Fraction(2_000_000) / (round(rate / _STEP) * _STEP)
        of_bin = f"{document}, {generation}-{rate}{row['bin']}"
        for width in (4, 8, 16):
            numbers = {row["number"].replace("t", "n", 1): _number(document, row, clock)
                       for row in timing if row["generation"] == generation
                       and int(row["rate"]) == rate and row["width"] in ("any", str(width))}
            clocks = int(row["cl_rcd_rp"])
            numbers |= {name: Number(clocks=clocks, source=of_bin)
                        for name in ("nCAS", "nRCD", "nRP")}
            numbers["nCWD"] = Number(clocks=int(row["cwl"]), source=of_bin)
            numbers["nRC"] = Number(clocks=numbers["nRAS"].clocks + clocks,
                                    source=f"{of_bin}: tRAS + tRP")
            numbers["nBURST"] = Number(clocks=4, source=f"{document}: burst of 8")
            numbers["nWPRE"] = Number(clocks=1, source=f"{document}: 1 nCK preamble")
            banks, groups, rows, columns = _ORGANISATION[generation, width]
            name = f"{generation}-{rate}{row['bin']} x{width}"
            parts[name.lower().replace(" ", "-")] = part_of(
                name=name, generation=generation, tck_ps=int(clock), banks=banks,
                bank_groups=groups, rows=rows, columns=columns, numbers=numbers)
    return parts
