"""A reduced case of each installed kernel: sizes of its buffers, a grid, and content that suits it.

Where the kernel allows it, the grid fills no work-group at its right and lower edges.
"""

from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import Grid, Machine
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.references import REFERENCES, Results
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.tools.simd.assembler import assemble_file
from cyclebound.tools.simd.kernels import kernel_path

__all__ = ["KernelCase", "case", "expected", "fill", "fill_worst", "runs_on"]

Sizes = dict[int, tuple[int, int]]


@dataclass
class KernelCase:
    """A kernel with buffers, a grid and content."""

    program: Program
    grid: Grid
    memory: Memory


def runs_on(name: str, machine: Machine) -> bool:
    """Whether the machine has what an installed kernel needs."""
    try:
        assemble_file(kernel_path(name)).check(machine)
    except ValueError:
        return False
    return True


def _f(values: object) -> np.ndarray:
    return np.asarray(values, np.float32).view(np.uint32)


def _sizes(name: str, machine: Machine) -> tuple[int, int, int, Sizes]:
    """The grid's x and y, a work-group's width, and (x, y) of each buffer."""
    items = machine.items
    n, full = 2 * items + items // 2 + 3, 3 * items
    w = 8 if items < 1024 else 32
    x, y = 2 * w + 3, 2 * w + 5
    if name in ("vector_add", "saxpy", "compute_phi_mag"):
        sizes = {0: (n, 1), 1: (n, 1), 2: (1 if name == "saxpy" else n, 1)}
        return n, 1, 0, sizes
    if name in ("prefix_sum", "histogram"):
        return full, 1, 0, {0: (full, 1), 1: (full, 1)}
    if name == "srad_reduce":
        return full, 1, 0, {0: (full, 1), 1: (3, 1), 2: (3, 1)}
    if name == "compute_q":
        return n, 1, 0, {**dict.fromkeys((0, 1, 2, 4, 5), (n, 1)), 3: (4, 5)}
    if name == "cnn_relu":
        return x, y, 0, {0: (x, y), 1: (x, y)}
    if name == "cnn_max_pool":
        return x, y, w, {0: (4 * x, y), 1: (x, y)}
    if name == "half_sample_robust":
        return x, y, w, {0: (4 * x, y), 1: (x, y), 2: (1, 1)}
    if name == "cnn_convolution":
        return x, y, w, {0: (x + 2, 3 * (y + 2)), 1: (9, 6), 2: (x, 2 * y), 3: (2, 1)}
    if name == "fft":
        return w, 9, w, {0: (2 * w, 9), 1: (2 * w, 9), 2: (4 * w, 9), 3: (1, 1)}
    if name == "depth2vertex":
        return x, y, w, {0: (x, y), 1: (4 * x, y), 2: (4, 1)}
    if name == "vertex2normal":
        return x, y, w, {0: (4 * x, y), 1: (4 * x, y)}
    if name == "track":
        return x, y, w, {**dict.fromkeys((0, 1, 2, 3, 5, 6), (4 * x, y)), 4: (26, 1)}
    if name == "spmv":
        return n, 1, 0, {0: (n, 7), 1: (n, 7), 2: (n, 1), 3: (50, 1), 4: (n, 1)}
    if name == "srad":
        return x, y, w, {**dict.fromkeys(range(6), (x, y)), 6: (2, 1)}
    if name == "srad2":
        return x, y, w, {**dict.fromkeys(range(6), (x, y)), 6: (1, 1)}
    if name == "stencil":
        return x, 4 * 2 * w, w, {0: (x, 4 * 2 * w), 1: (x, 4 * 2 * w), 2: (3, 1)}
    if name == "matrix_product":
        return x, y, w, {0: (64, y), 1: (x, 64), 2: (x, y)}
    assert name == "transposition"
    return 3 * w, 2 * w, w, {0: (3 * w, 2 * w), 1: (2 * w, 3 * w)}


def fill(name: str, memory: Memory, grid: Grid, rng: np.random.Generator) -> None:
    """Random content that suits a kernel, in all its buffers."""
    for words in memory.values():
        words[...] = _f(rng.standard_normal(words.shape))
    y, x = grid.y, grid.x
    if name == "prefix_sum":
        memory[0][...] = rng.integers(0, 1 << 32, memory[0].shape, dtype=np.uint32)
    elif name == "histogram":
        memory[0][...] = rng.integers(0, grid.machine.items + 9, memory[0].shape)
    elif name == "fft":
        memory[3][0, 0] = _f(-np.pi / grid.x)
    elif name == "half_sample_robust":
        memory[2][0, 0] = _f(0.7)
    elif name == "spmv":
        memory[1][...] = rng.integers(0, memory[3].shape[1], memory[1].shape)
        memory[2][...] = rng.integers(0, len(memory[0]) + 1, memory[2].shape)
    elif name == "stencil":
        memory[2][0] = [*_f([0.4, 0.1]), 2 * grid.width]
    elif name == "srad":
        memory[0][...] = _f(rng.uniform(0.1, 1, (y, x)))
        memory[6][0] = _f([0.05, 1 / (0.05 * 1.05)])
    elif name == "vertex2normal":
        memory[0].reshape(y, x, 4)[rng.random((y, x)) < 0.05, 2] = 0
    elif name == "track":
        points, normals = (_f(rng.standard_normal((y, x, 4))) for _ in range(2))
        depth = _f(rng.uniform(1, 2, (y, x)))
        lines, columns = np.mgrid[0:y, 0:x].astype(np.float32)
        for target, noise in ((points, 0), (memory[2].reshape(y, x, 4), 0.01)):
            for axis, plane in enumerate((columns, lines)):
                target[..., axis] = _f(plane * depth.view(np.float32)
                                      + noise * rng.standard_normal((y, x)))
            target[..., 2] = depth
        normals[..., 0][rng.random((y, x)) < 0.1] = _f(2)
        memory[3].reshape(y, x, 4)[...] = normals
        memory[3].reshape(y, x, 4)[..., 0][rng.random((y, x)) < 0.1] = _f(2)
        memory[0][...], memory[1][...] = points.reshape(y, -1), normals.reshape(y, -1)
        near = np.eye(3, 4)
        near[0, 3] = 1.2  # so that some fall outside
        memory[4][0] = _f([*near.ravel(), *np.eye(3, 4).ravel(), 4.0, 0.2])


def fill_worst(name: str, memory: Memory, grid: Grid, part: Part, rng: np.random.Generator) -> None:
    """`fill`, but with what drives a kernel to its worst path where data decide: the longest rows,
    no lane that leaves early, and indexes that find another row of the same bank each time."""
    fill(name, memory, grid, rng)
    sweep = part.bursts_per_sweep * BURST_WORDS  # words from a row of a bank to its next
    if name == "spmv":
        rows = max(1, memory[3].size // sweep)
        memory[1][...] = np.arange(grid.x, dtype=np.uint32) % rows * sweep
        memory[2][...] = len(memory[0])
    elif name == "track":
        rows = max(1, memory[3].size // sweep)
        items = np.arange(grid.y * grid.x).reshape(grid.y, grid.x)
        pixels = items % rows * (sweep // 4)  # of four words
        points = np.ones((grid.y, grid.x, 4))
        points[..., 0], points[..., 1] = pixels % grid.x, pixels // grid.x
        memory[0][...] = _f(points).reshape(grid.y, -1)
        for number in (1, 2, 3):
            memory[number][...] = _f(rng.standard_normal(memory[number].shape))
        memory[4][0] = _f([*np.eye(3, 4).ravel(), *np.eye(3, 4).ravel(), 1e30, -1e30])


def case(name: str, machine: Machine, seed: int = 1) -> KernelCase:
    """The reduced case of a kernel."""
    x, y, width, sizes = _sizes(name, machine)
    program = assemble_file(kernel_path(name)).with_sizes(sizes)
    grid = Grid(x, y, machine, width)
    memory = memory_of(program)
    fill(name, memory, grid, np.random.default_rng(seed))
    return KernelCase(program, grid, memory)


def expected(name: str, kernel_case: KernelCase) -> Results:
    """The results of a case by the kernel's reference."""
    with np.errstate(all="ignore"):
        return REFERENCES[name].results({number: words.copy() for number, words in
                                         kernel_case.memory.items()}, kernel_case.grid)
