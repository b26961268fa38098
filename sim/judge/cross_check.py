"""Tables that model and RTL both read, against a second source: a part of every regression.

What is compared is in `cyclebound.tools.second_source`; it takes a second, at both levels.
"""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.sim.describe.block import Block
from cyclebound.tools.second_source import CROSS_CHECKS

__all__ = ["CrossChecked", "cross_check", "cross_checks_of"]

_NAMED = 3  # differences that are told


@dataclass(frozen=True)
class CrossChecked:
    """A table that was compared with its second source.

    Attributes
    ----------
    table : str
        Its name.
    says : str
        What the second source is.
    entries : int
        How many were compared.
    passed : bool
        Whether all are equal, and there are any.
    detail : str
        The first differences.
    """

    table: str
    says: str
    entries: int
    passed: bool
    detail: str = ""
    seconds: float = 0.0


def cross_checks_of(blocks: Sequence[Block]) -> list[str]:
    """The tables that blocks of these families read."""
    families = {block.family for block in blocks}
    return [check.name for check in CROSS_CHECKS if families & {*check.families}]


def cross_check(name: str) -> CrossChecked:
    """For a worker: one table; every failure is handed back."""
    check = next(check for check in CROSS_CHECKS if check.name == name)
    begun, entries = time.monotonic(), 0
    try:
        entries, wrong = check.compare()
    except Exception:  # a table of another shape than it should have
        wrong = [traceback.format_exc(limit=4).strip().splitlines()[-1]]
    if not entries and not wrong:
        wrong = ["nothing was compared"]
    detail = "; ".join(wrong[:_NAMED]) + (f"; and {len(wrong) - _NAMED:,} more"
                                          if len(wrong) > _NAMED else "")
    return CrossChecked(name, check.says, entries, not wrong, detail, time.monotonic() - begun)
