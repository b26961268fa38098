"""Golden model of the DRAM controller with AXI4 in and DFI out, from those of its two ends.

What a burst means is said by `AxiBurst`, `apply_write` and `read_lanes`; what must be on DFI, and
what the device then holds, by `DfiDevice`. The testbench compares every byte of both.

Ref: AMBA AXI Protocol Specification (IHI 0022); DFI 2.1 and 3.1.
"""

from cyclebound.golden.dram.axi_port import AxiBurst, apply_write, read_lanes
from cyclebound.golden.dram.dfi_adapter import DfiDevice

__all__ = ["AxiBurst", "DfiDevice", "apply_write", "read_lanes"]
