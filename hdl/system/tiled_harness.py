"""Tiles with their DRAM, whose content a host reads and writes.

Part of the tiled system, whose files cover it.
"""


from cyclebound.hdl.simd.accelerator_harness import ROWS, AcceleratorHarness
from cyclebound.hdl.system.tiled import TiledSystem

__all__ = ["TiledHarness"]

_PASSED = ("systolic_command", "systolic_idle", "systolic_cycles", "systolic_mapping",
           "systolic_mapped", "systolic_mapping_refusal", "systolic_fault", "grants", "blocked")


class TiledHarness(AcceleratorHarness):
    """A `TiledSystem` in the SIMD accelerator's harness: one DRAM, whatever tile has written it.

    Parameters
    ----------
    machine, part, size, bursts, slots, memory_width, depth, queue_depth, windows
        Of the system.
    rows : int
        Rows of a bank that the DRAM has a place for.

    Members
    -------
    All of `AcceleratorHarness`, and those of `TiledSystem` for the systolic accelerator, its
    ``grants`` and ``blocked``.
    """

    def __init__(self, *, machine, part, size=8, bursts=16, slots=8, memory_width=16,
                 depth=1024, queue_depth=64, windows=None, rows=ROWS):
        self.system = TiledSystem(machine=machine, part=part, size=size, bursts=bursts,
                                  slots=slots, memory_width=memory_width, depth=depth,
                                  queue_depth=queue_depth, windows=windows)
        super().__init__(machine=machine, part=part, slots=rows, accelerator=self.system,
                         passed=_PASSED)
