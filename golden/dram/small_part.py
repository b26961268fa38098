"""Parts that no one makes, small enough for proofs: every rule of a real one in few cycles."""

import dataclasses
from collections.abc import Callable

from cyclebound.golden.dram.timing import DDR3_1600_MODULE, DDR4_3200AA_X16

__all__ = ["SMALL", "SMALL_BURSTS", "SMALL_DDR3", "SMALL_DFI", "SMALL_SYSTEM",
           "SMALL_TABLE", "on_small_part"]

SMALL = dataclasses.replace(
    DDR4_3200AA_X16, name="small", banks=2, bank_groups=2, rows=2, columns=8, nRCD=2, nCAS=2,
    nCWD=1, nRP=2, nBURST=1, nRAS=3, nRC=5, nRTP=2, nWR=1, nWTR_S=1, nWTR_L=2, nCCD_S=1, nCCD_L=2,
    nRRD_S=1, nRRD_L=2, nFAW=0, nRFC=6, nREFI=100, numbers={})
"""2 banks in 2 bank groups, 2 rows of one burst; distances of 1 to 6 clocks.

Two rows are enough for every row conflict, and columns do not matter to what a command waits for.
No four-activate window: two banks, each with nRC between its activates, cannot fill one.
"""

SMALL_BURSTS = dataclasses.replace(
    SMALL, name="small bursts", columns=16, nCAS=8, nCWD=7, nRCD=3, nRP=6, nBURST=4, nRAS=7, nRC=14,
    nRTP=7, nWR=2, nWTR_S=2, nWTR_L=3, nCCD_S=4, nCCD_L=5, nRRD_S=2, nRRD_L=3, nFAW=12, nREFI=7)
"""The same with bursts of four clocks and the data late enough for a whole controller, with a
four-activate window; refreshes are due so often that a bounded check sees one."""

SMALL_DDR3 = dataclasses.replace(
    DDR3_1600_MODULE, name="small DDR3", banks=2, rows=2, columns=8, nRCD=2, nCAS=4, nCWD=3, nRP=2,
    nRAS=4, nRC=6, nRTP=2, nWR=2, nWTR_S=2, nWTR_L=2, nRRD_S=2, nRRD_L=2, nFAW=0, nRFC=5, nREFI=20,
    numbers={})
"""2 banks, 2 rows of one burst of four clocks; the other distances are 2 to 6 clocks."""

SMALL_DFI = dataclasses.replace(
    SMALL_DDR3, name="small DFI", columns=64, nCAS=5, nCWD=5, nRAS=7, nRC=10, nWR=5, nRRD_S=3,
    nRRD_L=3, nFAW=9)
"""The same with what JEDEC's mode registers can hold, and a four-activate window."""

SMALL_SYSTEM = dataclasses.replace(SMALL_DDR3, name="small system", rows=32, columns=64)
"""The same with rows and columns for several masters' requests."""

SMALL_TABLE = dataclasses.replace(SMALL_SYSTEM, name="small table", rows=4, columns=32, nREFI=64)
"""The same with few rows, and refreshes so far apart that one meets a transaction, as of a real
part."""


def on_small_part(make: Callable) -> Callable:
    """``make``, whose ``part`` may also be the name of one of these.

    The catalogue names its parts, since runs are kept by parameters; these are in no list of parts,
    where a user would find them.
    """
    named = {part.name: part for part in (SMALL, SMALL_BURSTS, SMALL_DDR3, SMALL_DFI, SMALL_SYSTEM,
                                      SMALL_TABLE)}
    return lambda *, part, **more: make(part=named.get(part, part), **more)
