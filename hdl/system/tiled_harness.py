"""Tiles with their DRAM, whose content a host reads and writes.

Part of the tiled system, whose files cover it.
"""


from cyclebound.hdl.simd.accelerator_harness import ROWS, AcceleratorHarness
from cyclebound.hdl.system.tiled import TiledSystem

__all__ = ["TiledHarness"]

_PASSED = ("systolic_idle", "systolic_cycles", "systolic_mapping", "systolic_mapped",
           "systolic_mapping_refusal", "systolic_fault", "grants", "blocked", "waits", "served")
_HOST = ("host_load", "host_run", "host_exited", "host_status", "host_busy", "simd_start",
         "systolic_start")
_DATAFLOW = ("dataflow_start", "dataflow_idle", "dataflow_cycles", "dataflow_outside",
             "dataflow_mapping", "dataflow_mapped", "dataflow_mapping_refusal", "dataflow_fault")


class TiledHarness(AcceleratorHarness):
    """A `TiledSystem` in the SIMD accelerator's harness: one DRAM, whatever tile has written it.

    Parameters
    ----------
    machine, part, size, bursts, slots, memory_width, depth, queue_depth, windows
    fabric, host_words
        Of the system.
    rows : int
        Rows of a bank that the DRAM has a place for.

    Members
    -------
    All of `AcceleratorHarness`, and those of `TiledSystem` for the systolic accelerator and
    the dataflow core, its ``grants``, ``blocked``, ``waits`` and ``served``.
    """

    def __init__(self, *, machine, part, size=8, bursts=16, slots=8, memory_width=16,
                 depth=1024, queue_depth=64, windows=None, fabric=None, host_words=None,
                 rows=ROWS):
        self.system = TiledSystem(machine=machine, part=part, size=size, bursts=bursts,
                                  slots=slots, memory_width=memory_width, depth=depth,
                                  queue_depth=queue_depth, windows=windows, fabric=fabric,
                                  host_words=host_words)
        starts = _HOST if host_words is not None else (
            "systolic_command", *(["dataflow_configuration"] if fabric else []))
        super().__init__(machine=machine, part=part, slots=rows, accelerator=self.system,
                         passed=(*_PASSED, *(_DATAFLOW if fabric else ()), *starts))
