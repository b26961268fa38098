"""The functions of a control unit. Source: SGMF, sections 4.3 to 4.5 and 5.2."""

from enum import IntEnum

__all__ = ["DELAY_SLOTS", "Control"]

DELAY_SLOTS = 16  # of the longest delay; longer ones are chains


class Control(IntEnum):
    """Functions of a control unit; `split` is not one of them, for each of them can."""

    JOIN = 0
    LABEL = 1
    PHI = 2
    DELAY = 3
