"""Occupancy over block size, registers and shared memory: the calculator's three graphs."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from cyclebound.golden.gpu.compute_capability import ComputeCapability
from cyclebound.golden.gpu.occupancy import BlockResources, TableRow

__all__ = ["figure"]

_OVER = {"threads": "threads per block", "registers": "registers per thread",
         "shared": "total shared memory per block (KiB)"}


def figure(rows: Sequence[TableRow], block: BlockResources, limits: ComputeCapability,
           carve_out: int) -> Figure:
    """Resident warps over each resource; a dot marks the block itself."""
    chart = Figure(figsize=(11, 3.6), layout="constrained")
    own = {"threads": block.threads, "registers": block.registers,
           "shared": block.shared + limits.shared_reserved}
    for axes, (over, label) in zip(chart.subplots(1, 3, sharey=True), _OVER.items(), strict=True):
        scale = 1024 if over == "shared" else 1
        mine = [row for row in rows if row.over == over]
        for size in dict.fromkeys(row.carve_out for row in mine):
            line = [row for row in mine if row.carve_out == size]
            selected = size == carve_out
            axes.step([row.value / scale for row in line], [row.warps for row in line],
                      where="pre" if over != "threads" else "mid",
                      color="#4477aa" if selected else "#bbbbbb", zorder=2 if selected else 1,
                      label=f"carve-out {size // 1024} KiB" if selected else None)
        at = min((row for row in mine if row.carve_out == carve_out),
                 key=lambda row: (row.value < own[over], abs(row.value - own[over])))
        axes.plot([own[over] / scale], [at.warps], "o", color="#cc6677", zorder=3)
        axes.set_xlabel(label)
        axes.set_ylim(0, limits.warps + 2)
        axes.grid(alpha=0.3)
    chart.axes[0].set_ylabel(f"resident warps of {limits.warps}")
    chart.axes[2].legend(loc="upper right", fontsize="small")
    chart.suptitle(f"Compute capability {limits.name}: {block.threads} threads, {block.registers} "
                   f"registers, {block.shared} bytes of shared memory")
    return chart
