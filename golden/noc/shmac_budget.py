"""SHMAC's cycle budget: what the models and bounds of its network take from the thesis.

Ref: SHMAC thesis, Figure 5.7, which is the trace of one fetch in the thesis' simulator. These
numbers are given, not found. The RTL does not read them: the memory's and the adapter's are
parameters of its configurations, the router's are its own pipeline. So a number that is wrong on
either side alone is a difference, and a failure.
"""

__all__ = [
    "IN_CYCLES",
    "MEMORY_CYCLES",
    "OUT_CYCLES",
    "RELEASE_CYCLES",
    "TO_CORE_CYCLES",
    "TO_MEMORY_CYCLES",
]

IN_CYCLES = OUT_CYCLES = 5  # of a router, before and after arbitration [Figure 5.7]
RELEASE_CYCLES = 1          # that a port rests after a packet: ours, fitted to Tables 4.3 and 4.4
TO_MEMORY_CYCLES = 1        # from a router to its memory [Figure 5.7]
MEMORY_CYCLES = 3           # [Figure 5.7]
TO_CORE_CYCLES = 2          # from a router to its core [Figure 5.7]
