"""Why hardware stops a kernel.

Ref: Sim-D, section 3.2.4 (memory protection); the rest is this project's.
"""

import enum

__all__ = ["Cause"]


class Cause(enum.IntEnum):
    """The first that applies to the instruction that stops it."""

    NONE = 0
    ILLEGAL = 1      # a pattern that is no instruction
    END = 2          # execution runs on after the last instruction
    OVERFLOW = 3     # the control stack is full
    EMPTY = 4        # cpop finds the control stack empty
    ACCESS = 5       # an access that the transfer unit refuses
    LOAD = 6         # the program lies beyond the device: no instruction of it has run
