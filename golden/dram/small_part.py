"""A part that no one makes, small enough for proofs: every rule of a real one in few cycles."""

import dataclasses

from cyclebound.golden.dram.timing import DDR4_3200AA_X16

__all__ = ["SMALL"]

SMALL = dataclasses.replace(
    DDR4_3200AA_X16, name="small", banks=2, bank_groups=2, rows=2, columns=8, nRCD=2, nCAS=2,
    nCWD=1, nRP=2, nBURST=1, nRAS=3, nRC=5, nRTP=2, nWR=1, nWTR_S=1, nWTR_L=2, nCCD_S=1, nCCD_L=2,
    nRRD_S=1, nRRD_L=2, nFAW=0, nRFC=6, nREFI=100, numbers={})
"""2 banks in 2 bank groups, 2 rows of one burst; distances of 1 to 6 clocks.

Two rows are enough for every row conflict, and columns do not matter to what a command waits for.
No four-activate window: two banks, each with nRC between its activates, cannot fill one.
"""
