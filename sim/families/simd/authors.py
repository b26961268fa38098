"""The kernels of Sim-D's authors, in a user's copy of their public sources.

None of them comes along. Here is which file has a row of the paper's Table 4, on which grid, so
that what it takes can be set beside what is printed.

Ref: Sim-D, section 6, footnotes 1 and 2; https://github.com/RSpliet/Sim-D.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import Grid, machine_named
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Memory
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.families.simd.files import load_memory, load_program
from cyclebound.sim.families.simd.run import grid_of
from cyclebound.tools.simd.kernel_cases import fill
from cyclebound.tools.simd.published.witnesses import authors_timeline

__all__ = ["AUTHORS", "AuthorsKernel", "FullSize", "full_size"]


@dataclass(frozen=True)
class AuthorsKernel:
    """A ``file`` ending in .sas, and the grid and width of work-groups that it is run with."""

    file: str
    x: int
    y: int
    width: int


AUTHORS = {
    "cnn_convolution": AuthorsKernel("cnn_convolution_unrollx.sas", 218, 14336, 32),
    "cnn_max_pool": AuthorsKernel("cnn_maxpool.sas", 55, 4087, 32),
    "cnn_relu": AuthorsKernel("cnn_relu_fc.sas", 4096, 1, 1024),
    "compute_phi_mag": AuthorsKernel("mriq_computePhiMag.sas", 2048, 1, 1024),
    "compute_q": AuthorsKernel("mriq_computeQ_unroll4.sas", 262144, 1, 1024),
    "depth2vertex": AuthorsKernel("kfusion_depth2vertex.sas", 640, 480, 64),
    "fft": AuthorsKernel("fft_ldsp_stsp.sas", 128, 1024, 128),
    "half_sample_robust": AuthorsKernel("kfusion_halfSampleRobustImage.sas", 320, 240, 32),
    "spmv": AuthorsKernel("spmv.sas", 11948, 1, 1024),
    "srad": AuthorsKernel("srad.sas", 504, 458, 512),
    "srad2": AuthorsKernel("srad2.sas", 502, 458, 512),
    "srad_reduce": AuthorsKernel("srad_reduce.sas", 114958, 1, 1024),
    "stencil": AuthorsKernel("stencil_sp.sas", 126, 3840, 128),
    "track": AuthorsKernel("kfusion_track.sas", 640, 480, 32),
    "vertex2normal": AuthorsKernel("kfusion_vertex2normal_32x32.sas", 640, 480, 32),
}
"""By the installed kernels' names. Of the variants of a kernel, the one that takes Table 4's cycles
on the cycle model: convolution and computeQ unrolled, ReLU of a whole layer, the stencil with
scratchpads."""


@dataclass(frozen=True)
class FullSize:
    """A kernel at its full size: an installed one, or the authors', whose ``folder`` is given."""

    name: str
    program: Program
    grid: Grid
    folder: Path | None

    @cached_property
    def _content(self) -> Memory:
        memory = load_memory(self.program, {}, self.folder)
        if self.folder is None:
            fill(self.name, memory, self.grid, np.random.default_rng(1))
        return memory

    def content(self) -> Memory:
        """Its buffers before it: random ones, or those that the authors' file names."""
        return {number: words.copy() for number, words in self._content.items()}

    def timeline(self, part: Part) -> DramTimeline | None:
        """The DRAM with the authors' front end for their kernels, else the cycle model's own."""
        return None if self.folder is None else authors_timeline(part, part.nREFI)


def full_size(name: str, folder: Path | None = None) -> FullSize:
    """An installed kernel, or its counterpart in a folder with the authors' files, which runs on
    the paper's machine. Raises `UserError`, also for a line that does not assemble."""
    if folder is None:
        program = load_program(name)
        return FullSize(name, program, grid_of(program, None, None, "paper"), None)
    if name not in AUTHORS:
        raise unknown("kernel of Table 4", name, AUTHORS)
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    kernel = AUTHORS[name]
    grid = Grid(kernel.x, kernel.y, machine_named("paper"), kernel.width)
    return FullSize(name, load_program(str(folder / kernel.file)), grid, folder)
