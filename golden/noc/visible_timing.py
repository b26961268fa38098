"""DDR3 timing as memory-composition counts it: Tables I and II, Eq. 2, Example 3, t_req.

Table II is what each command *makes visible* at the end of a sequence, to be added up; it is not a
table of least distances, and no trace may be checked against it (golden/dram/rules.py is for that).
"""

from fractions import Fraction

from cyclebound.golden.bound import bound, check_count
from cyclebound.golden.noc.units import Clock, Duration

__all__ = ["DDR", "TABLE_I_NS", "eq2", "refreshed", "sequence", "table_i", "timing", "visible"]

DDR = Clock("DDR cycles", Fraction(5, 4))  # DDR3-1600: tCK = 1.25 ns

TABLE_I_NS = {name: Fraction(ns) for name, ns in {
    "CK": "1.25", "BURST": "5", "CAS": "13.75", "RP": "13.75", "RCD": "13.75", "WR": "21.25",
    "WTR": "7.5", "RAS": "35", "RC": "48.75", "FAW": "30", "RRD": "6.25", "CWD": "10",
    "RFC": "260", "REFI": "3906"}.items()}
"""Table I, the column in nanoseconds."""


def table_i(name: str) -> tuple[Fraction, int, int]:
    """A row of Table I: nanoseconds, cycles (rounded up), and beats of data.

    tREFI is a maximum and would have to be rounded *down*, to 3,124; the paper prints 3,125.
    Raises `ValueError` for a parameter that the table does not have.
    """
    cycles = timing(name).amount
    return TABLE_I_NS[name], int(cycles), int(2 * cycles)


def timing(name: str) -> Duration:
    """A parameter of Table I in DDR cycles. Raises `ValueError` for one that it does not have."""
    if name not in TABLE_I_NS:
        raise ValueError(f"parameter must be one of {', '.join(TABLE_I_NS)}, not {name!r}")
    return Clock("ns", Fraction(1))(TABLE_I_NS[name]).whole(DDR)


_TABLE_II = {  # (previous, current): the parameters that are added up
    ("RD", "RD"): ("BURST",), ("RD", "WR"): ("CWD", "BURST"),
    ("WR", "RD"): ("CAS", "BURST", "WTR"), ("WR", "WR"): ("BURST",),
    ("ACT", "RD"): ("CAS", "BURST"), ("ACT", "WR"): ("CWD", "BURST"), ("ACT", "PRE"): ("RC",)}


def visible(previous: str | None, current: str, *, elapsed: int = 0) -> Duration:
    """Table II: what ``current`` adds after ``previous`` in the same bank, in DDR cycles.

    ``elapsed`` is the table's t_read^max or t_write^max: the cycles from the row's activate that
    its reads or writes have filled already; only PRE needs it. Raises `ValueError` for a pair that
    the table leaves out.
    """
    if current == "ACT":  # "X, ACT"
        return timing("RCD")
    if (previous, current) == ("RD", "PRE"):
        return timing("RC") - DDR(elapsed)
    if (previous, current) == ("WR", "PRE"):
        return max(timing("WR"), timing("RAS") - DDR(elapsed),
                   key=lambda bound: bound.amount) + timing("RP")
    if previous is None or (previous, current) not in _TABLE_II:
        raise ValueError(f"{current} after {previous} must be a pair of Table II")
    return sum((timing(name) for name in _TABLE_II[previous, current]), DDR(0))


def sequence(*commands: str, gap: int = 0) -> Duration:
    """Duration of a sequence in one bank by Table II, with ``gap`` idle cycles in it.

    Example 3 is ``sequence("ACT", "RD", "RD", "RD", gap=3)``, 37 cycles.
    """
    total, previous = DDR(gap), None
    for command in commands:
        total, previous = total + visible(previous, command), command
    return total


@bound(formula="t + ceil(t / (tREFI - tRFC)) * tRFC", source="memory-composition, Eq. 2")
def eq2(*, cycles: int) -> int:
    """A sequence of ``cycles`` DDR cycles with the refreshes that fall into it, as printed.

    The paper writes t_access where its text has t_seq. With tREFI rounded up to 3,125 it allows
    2,917 cycles of work between two refreshes; there are 2,916, so it is one refresh short for
    2,917.
    """
    check_count("cycles", cycles)
    period, length = timing("REFI").amount, int(timing("RFC").amount)
    return cycles + -(-cycles // int(period - length)) * length


@bound(formula="t + (floor(t / (floor(tREFI) - tRFC)) + 1) * tRFC",
       source="this project, from Eq. 2")
def refreshed(*, cycles: int) -> int:
    """A sequence of ``cycles`` DDR cycles with as many refreshes as can fall into it.

    Derivation: tREFI is a maximum, so it is rounded down, to 3,124 cycles, of which
    p = tREFI - tRFC = 2,916 are left to the sequence. One that begins together with a refresh
    waits for it, works for p cycles, meets the next one, and so on: refreshes come before its
    cycles 0, p, 2p, ... A sequence of t cycles meets those up to floor(t / p) p; the last of them
    counts even where t is a multiple of p, since both may want the same cycle. (Refreshes put off
    from before come on top.)
    """
    check_count("cycles", cycles)
    length = int(timing("RFC").amount)
    period = int(TABLE_I_NS["REFI"] / DDR.period_ns) - length
    return cycles + (cycles // period + 1) * length
