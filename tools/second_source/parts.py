"""DRAM parts: JEDEC's numbers turned into clocks by other arithmetic, and the papers' tables typed
from the papers.

`golden.dram.jedec` reads ``jedec_bins.csv`` and ``jedec_timing.csv``; so does this, and counts
clocks one by one instead of dividing. What is in those files is compared with data sheets, which
have the same numbers in clocks.
"""

import csv
from decimal import Decimal
from pathlib import Path

from cyclebound.golden import dram
from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.timing import PARTS, TIMINGS, part_named

__all__ = ["compare"]

# Sim-D, Table 1: columns (1) and (2); the paper's text for what follows the line
_SIM_D = {"nRCD": 22, "nCAS": 22, "nCWD": 16, "nRP": 22, "nBURST": 4, "nRAS": 52, "nRTP": 12,
          "nWR": 24, "nRFC": 560, "nREFI": 12480, "nCCD_S": 4, "nCCD_L": 8,
          "nRC": 74, "nWTR_S": 4, "nWTR_L": 12, "nWPRE": 1}
_PAPERS: dict[str, dict[str, int]] = {
    "ddr4-3200aa-x16": {**_SIM_D, "nRRD_S": 9, "nRRD_L": 11, "nFAW": 48, "banks": 8,
                        "bank_groups": 2, "rows": 65536, "columns": 1024, "tck_ps": 625},
    "ddr4-3200aa-x8": {**_SIM_D, "nRRD_S": 4, "nRRD_L": 8, "nFAW": 34, "banks": 16,
                       "bank_groups": 4, "rows": 65536, "columns": 1024, "tck_ps": 625},
    # memory-composition, Table I, its column in cycles; 3,125 there for nREFI, rounded up
    "ddr3-1600-module": {"nBURST": 4, "nCAS": 11, "nRP": 11, "nRCD": 11, "nWR": 17, "nWTR_S": 6,
                         "nWTR_L": 6, "nRAS": 28, "nRC": 39, "nFAW": 24, "nRRD_S": 5, "nRRD_L": 5,
                         "nCWD": 8, "nRFC": 208, "nREFI": 3124, "nCCD_S": 4, "nCCD_L": 4,
                         "nRTP": 6, "nWPRE": 1, "banks": 8, "bank_groups": 1, "rows": 65536,
                         "columns": 1024, "tck_ps": 1250},
}
# as data sheets of such devices have them in clocks
_SHEETS: dict[str, dict[str, int]] = {
    "ddr4-2400r-x8": {"nRCD": 16, "nRAS": 39, "nRC": 55, "nRTP": 9, "nWR": 18, "nCCD_L": 6,
                      "nRRD_S": 4, "nRRD_L": 6, "nFAW": 26, "nREFI": 9360},
    "ddr4-2400r-x16": {"nRRD_S": 7, "nRRD_L": 8, "nFAW": 36},
    "ddr4-2933y-x16": {"nRCD": 21, "nRAS": 47, "nWR": 22, "nCCD_L": 8, "nRRD_S": 8, "nRRD_L": 10,
                       "nFAW": 44, "nREFI": 11440},
    "ddr4-2133p-x4": {"nCCD_L": 6, "nRAS": 36, "nFAW": 16, "nREFI": 8320},
    "ddr3-1600k-x8": {"nRCD": 11, "nRAS": 28, "nRRD_S": 5, "nFAW": 24, "nWR": 12, "nCCD_L": 4},
    "ddr3-1600k-x16": {"nRCD": 11, "nCAS": 11, "nRP": 11, "nCWD": 8, "nRAS": 28, "nRC": 39,
                       "nRRD_S": 6, "nFAW": 32, "nWR": 12, "nRTP": 6, "nREFI": 6240},
    "ddr3-1333h-x16": {"nRRD_S": 5, "nFAW": 30, "nRAS": 24, "nRC": 33},
    "ddr3-800e-x16": {"nRCD": 6, "nCAS": 6, "nRP": 6, "nCWD": 5, "nRAS": 15, "nRC": 21,
                      "nRRD_S": 4, "nFAW": 20, "nWR": 6, "nRTP": 4, "nREFI": 3120},
}
_TRANSFERS = {1066: 3200, 1333: 4000, 1866: 5600, 2133: 6400, 2666: 8000, 2933: 8800}
"""Transfers of 3 us, where those of 1 us are no whole number."""
_PRINTED = {"ddr4-1866m-x16": 1071}  # ps: made with the clock as it is printed


def _clocks(nanoseconds: str, least: int, per_clock: tuple[int, int], *, most: bool) -> int:
    """Clocks of a time, counted one by one: the fewest not shorter, or the most not longer.

    ``per_clock`` is a clock in picoseconds, as a fraction.
    """
    above, below = per_clock
    time, number = int(Decimal(nanoseconds) * 1000 * below), 0
    while (number + 1) * above <= time:
        number += 1
    if not most and number * above < time:
        number += 1
    return number if most else max(number, least)


def _exact(rate: int) -> tuple[int, int]:
    """A clock, two transfers, in picoseconds."""
    return 6_000_000, _TRANSFERS.get(rate, 3 * rate)


def _table(name: str) -> list[dict[str, str]]:
    with (Path(str(dram.__file__)).parent / name).open(newline="") as file:
        return list(csv.DictReader(file))


def _numbers(generation: str, rate: str, bin_name: str, width: str, per_clock: tuple[int, int]
             ) -> dict[str, int]:
    row = next(row for row in _table("jedec_bins.csv") if (
        row["generation"], row["rate"], row["bin"]) == (generation, rate, bin_name))
    numbers = {"n" + one["number"][1:]: _clocks(one["ns"], int(one["nck"]), per_clock,
                                                most=one["number"] == "tREFI")
               for one in _table("jedec_timing.csv")
               if (one["generation"], one["rate"]) == (generation, rate)
               and one["width"] in ("any", width)}
    clocks = int(row["cl_rcd_rp"])
    return numbers | {"nCAS": clocks, "nRCD": clocks, "nRP": clocks, "nCWD": int(row["cwl"]),
                      "nRC": numbers["nRAS"] + clocks, "nBURST": 4, "nWPRE": 1}


def _bins() -> dict[str, dict[str, int]]:
    return {f"{row['generation']}-{row['rate']}{row['bin']}-x{width}".lower():
            _numbers(row["generation"], row["rate"], row["bin"], width, _exact(int(row["rate"])))
            for row in _table("jedec_bins.csv") for width in ("4", "8", "16")}


def compare() -> tuple[int, list[str]]:
    """Entries compared, and how any differ."""
    count, wrong = 0, []
    bins = _bins()
    if set(bins) != set(jedec_parts()):
        wrong.append(f"{len(jedec_parts())} speed bins, and not {len(bins)}")
    printed = _numbers("DDR4", "1866", "M", "16", (_PRINTED["ddr4-1866m-x16"], 1))
    named = [*((f"jedec {name}", jedec_parts().get(name), numbers)
               for name, numbers in bins.items()),
             *((name, part_named(name), numbers) for name, numbers in
               [*_PAPERS.items(), *_SHEETS.items(), ("ddr4-1866m-x16", printed)])]
    for name, part, numbers in named:
        for number, value in numbers.items() if part is not None else ():
            count += 1
            if getattr(part, number) != value:
                wrong.append(f"{name}: {number} is {getattr(part, number)}, and not {value}")
    wrong += [f"{name} has no second source"
              for name in sorted(set(PARTS) - set(_PAPERS) - set(_PRINTED))]
    wrong += [f"{timing} of {name} has no second source" for name, numbers in _PAPERS.items()
              for timing in TIMINGS if timing not in numbers]
    return count, wrong
