"""Worst-case formulas of the stages of the DRAM path: what each adds before and behind the DRAM.

The formulas of the DRAM itself, the longest issue delays, are in ``bounds.py``.
"""

from cyclebound.golden.bound import bound, check_count

__all__ = []
