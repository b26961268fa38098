"""References of the installed kernels, in numpy, from their mathematics instead of instructions.

`REFERENCES` maps a kernel's name to its `Reference`. Floats are single precision, and every sum and
product is rounded where the kernel rounds it; reciprocals, roots and sines are the accelerator's
own functions, so that results can be compared bit by bit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.simd import special_functions
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.work_group import Memory

__all__ = ["REFERENCES", "Reference", "Results"]

Words = np.ndarray
Results = dict[int, Words]


def _f(words: Words) -> np.ndarray:
    return words.view(np.float32)


def _w(values: np.ndarray) -> Words:
    return np.ascontiguousarray(values).view(np.uint32)


def _unit(function: Callable[[Words], Words], values: np.ndarray) -> np.ndarray:
    return _f(function(_w(values)))


def _groups(values: np.ndarray, grid: Grid) -> np.ndarray:
    """A grid of one line, a row for each work-group."""
    return values.reshape(-1, grid.machine.items)


@dataclass(frozen=True)
class Reference:
    """A kernel's mathematics, and the grid of its buffers' sizes.

    Attributes
    ----------
    results : callable
        ``results(memory, grid)``: the buffers that the kernel writes, from those that it reads.
    x, y : int
        Items of the grid for the sizes in its source.
    width : int
        Of a work-group; 0 if any serves.
    paper, cycles : str and int
        The row of Sim-D's Table 4 and the cycles that it has, if it is one.
    """

    results: Callable[[Memory, Grid], Results]
    x: int
    y: int
    width: int = 0
    paper: str = ""
    cycles: int = 0


def _vector_add(memory: Memory, grid: Grid) -> Results:
    return {2: _w(_f(memory[0]) + _f(memory[1]))}


def _saxpy(memory: Memory, grid: Grid) -> Results:
    return {1: _w(_f(memory[0]) * _f(memory[2])[0, 0] + _f(memory[1]))}


def _compute_phi_mag(memory: Memory, grid: Grid) -> Results:
    real, imaginary = _f(memory[0]), _f(memory[1])
    return {2: _w(imaginary * imaginary + real * real)}


def _compute_q(memory: Memory, grid: Grid) -> Results:
    x, y, z = (_f(memory[number]) for number in range(3))
    real, imaginary = np.zeros_like(x), np.zeros_like(x)
    for kx, ky, kz, phi in _f(memory[3]):
        angle = (z * kz + (y * ky + x * kx)) * np.float32(2 * np.pi)
        real = _unit(special_functions.cos, angle) * phi + real
        imaginary = _unit(special_functions.sin, angle) * phi + imaginary
    return {4: _w(real), 5: _w(imaginary)}


def _cnn_relu(memory: Memory, grid: Grid) -> Results:
    return {1: _w(np.maximum(_f(memory[0]), np.float32(0)))}


def _squares(words: Words) -> np.ndarray:
    """The four pixels of each 2 x 2 square, of an image whose lines lie in pairs."""
    lines, width = words.shape[0], words.shape[1] // 2
    image = _f(words).reshape(2 * lines, width)
    return np.stack([image[0::2, 0::2], image[0::2, 1::2], image[1::2, 0::2], image[1::2, 1::2]])


def _cnn_max_pool(memory: Memory, grid: Grid) -> Results:
    return {1: _w(_squares(memory[0]).max(axis=0))}


def _cnn_convolution(memory: Memory, grid: Grid) -> Results:
    maps = memory[2].shape[0] // grid.y
    channels = _f(memory[0]).reshape(-1, grid.y + 2, memory[0].shape[1])
    weights = _f(memory[1]).reshape(maps, len(channels), 3, 3)
    totals = []
    for number in range(maps):
        total = np.full((grid.y, grid.x), _f(memory[3])[0, number], np.float32)
        for channel, kernel in zip(channels, weights[number], strict=True):
            for line, column in np.ndindex(3, 3):
                part = channel[line:line + grid.y, column:column + grid.x]
                total = part * kernel[line, column] + total
        totals.append(total)
    return {2: _w(np.concatenate(totals))}


def _fft(memory: Memory, grid: Grid) -> Results:
    first, second = (_f(memory[number]).reshape(grid.y, grid.x, 2) for number in (0, 1))
    angle = np.arange(grid.x).astype(np.float32) * _f(memory[3])[0, 0]
    cosine, sine = (_unit(function, angle)
                    for function in (special_functions.cos, special_functions.sin))
    real = second[..., 1] * -sine + second[..., 0] * cosine
    imaginary = second[..., 1] * cosine + second[..., 0] * sine
    turned = np.stack([real, imaginary], axis=-1)
    return {2: _w(np.concatenate([first + turned, first - turned], axis=1).reshape(grid.y, -1))}


def _depth2vertex(memory: Memory, grid: Grid) -> Results:
    scale_x, shift_x, scale_y, shift_y = _f(memory[2])[0]
    depth = np.maximum(_f(memory[0]), np.float32(0))
    x = (np.arange(grid.x).astype(np.float32) * scale_x + shift_x) * depth
    y = (np.arange(grid.y).astype(np.float32) * scale_y + shift_y)[:, None] * depth
    return {1: _w(np.stack([x, y, depth, np.zeros_like(depth)], axis=-1).reshape(grid.y, -1))}


def _half_sample_robust(memory: Memory, grid: Grid) -> Results:
    first, *others = _squares(memory[0])
    count, total = np.ones_like(first), first.copy()
    for other in others:
        close = np.abs(other - first) - _f(memory[2])[0, 0] < 0
        count = np.where(close, count + np.float32(1), count)
        total = np.where(close, total + other, total)
    return {1: _w(total * _unit(special_functions.rcp, count))}


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product of vectors along the last axis."""
    turns = [((i + 1) % 3, (i + 2) % 3) for i in range(3)]
    return np.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in turns], axis=-1)


def _vertex2normal(memory: Memory, grid: Grid) -> Results:
    points = _f(memory[0]).reshape(grid.y, grid.x, 4)[..., :3]
    framed = np.pad(points, ((1, 1), (1, 1), (0, 0)), mode="edge")
    right, left = framed[1:-1, 2:], framed[1:-1, :-2]
    down, up = framed[2:, 1:-1], framed[:-2, 1:-1]
    normal = _cross(down - up, right - left)
    squares = normal[..., 0] * normal[..., 0]
    for axis in (1, 2):
        squares = normal[..., axis] * normal[..., axis] + squares
    normals = np.zeros((grid.y, grid.x, 4), np.float32)
    normals[..., :3] = normal * _unit(special_functions.rsqrt, squares)[..., None]
    missing = np.any([neighbour[..., 2] == 0 for neighbour in (right, left, down, up)], axis=0)
    normals[missing] = (2, 0, 0, 0)
    return {1: _w(normals.reshape(grid.y, -1))}


def _chain(terms: list[tuple[np.ndarray, np.ndarray]], total: np.ndarray | None = None
           ) -> np.ndarray:
    """A sum of products, one after the other."""
    for a, b in terms:
        total = a * b if total is None else a * b + total
    assert total is not None
    return total


def _moved(matrix: np.ndarray, point: np.ndarray) -> np.ndarray:
    """A matrix of 3 x 4 times points."""
    return np.stack([_chain([(point[..., axis], row[axis]) for axis in range(3)],
                            np.full(point.shape[:-1], row[3])) for row in matrix], axis=-1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _chain([(a[..., axis], b[..., axis]) for axis in range(3)])


def _track(memory: Memory, grid: Grid) -> Results:
    point, normal, reference, reference_normal = (
        _f(memory[number]).reshape(grid.y, grid.x, 4)[..., :3] for number in range(4))
    numbers = _f(memory[4])[0]
    to_reference, to_pixels = numbers[:24].reshape(2, 3, 4)
    moved = _moved(to_reference, point)
    seen = _moved(to_pixels, moved)
    near = _unit(special_functions.rcp, seen[..., 2])
    x, y = seen[..., 0] * near + np.float32(0.5), seen[..., 1] * near + np.float32(0.5)
    outside = ((x < 0) | (y < 0) | (x - np.float32(grid.x - 1) > 0)
               | (y - np.float32(grid.y - 1) > 0))
    column, line = (np.where(outside, 0, coordinate).astype(np.int64) for coordinate in (x, y))
    there, its_normal = reference[line, column], reference_normal[line, column]
    apart = there - moved
    turned = np.stack([_chain([(normal[..., axis], row[axis]) for axis in range(3)])
                       for row in to_reference], axis=-1)
    failed = [(-1, normal[..., 0] == 2), (-2, outside), (-3, its_normal[..., 0] == 2),
              (-4, _dot(apart, apart) - numbers[24] > 0),
              (-5, _dot(turned, its_normal) - numbers[25] < 0)]
    result = np.ones((grid.y, grid.x), np.float32)
    for code, lanes in reversed(failed):
        result[lanes] = code
    good = result == 1
    tracked = np.zeros((grid.y, grid.x, 8), np.float32)
    tracked[..., 0] = result
    tracked[good, 1] = _dot(its_normal, apart)[good]
    tracked[good, 2:5] = its_normal[good]
    tracked[good, 5:] = _cross(moved, its_normal)[good]
    return {5: _w(tracked[..., :4].reshape(grid.y, -1)),
            6: _w(tracked[..., 4:].reshape(grid.y, -1))}


def _spmv(memory: Memory, grid: Grid) -> Results:
    vector, total = _f(memory[3])[0], np.zeros((1, grid.x), np.float32)
    for line, (values, columns) in enumerate(zip(_f(memory[0]), memory[1], strict=True)):
        there = memory[2].view(np.int32) > line
        picked = np.where(there, columns, 0)
        total = np.where(there, values * vector[picked] + total, total)
    return {4: _w(total)}


def _srad_reduce(memory: Memory, grid: Grid) -> Results:
    sums = []
    image = _groups(_f(memory[0]), grid)
    for values in (image, image * image):
        while values.shape[1] > 1:
            half = values.shape[1] // 2
            values = values[:, :half] + values[:, half:]
        sums.append(_w(values.T))
    return {1: sums[0], 2: sums[1]}


def _neighbours(values: np.ndarray) -> list[np.ndarray]:
    """The neighbours to the north, south, west and east; beyond the border, the pixel itself."""
    framed = np.pad(values, 1, mode="edge")
    return [framed[:-2, 1:-1], framed[2:, 1:-1], framed[1:-1, :-2], framed[1:-1, 2:]]


def _srad(memory: Memory, grid: Grid) -> Results:
    image, (q, scale) = _f(memory[0]), _f(memory[6])[0]
    apart = [neighbour - image for neighbour in _neighbours(image)]
    inverse = _unit(special_functions.rcp, image)
    gradient = _chain([(difference, difference) for difference in apart]) * (inverse * inverse)
    laplacian = (((apart[0] + apart[1]) + apart[2]) + apart[3]) * inverse
    top = gradient * np.float32(0.5) - laplacian * laplacian * np.float32(0.0625)
    below = laplacian * np.float32(0.25) + np.float32(1)
    squared = top * _unit(special_functions.rcp, below * below)
    spread = (squared - q) * scale + np.float32(1)
    coefficient = np.clip(_unit(special_functions.rcp, spread), np.float32(0), np.float32(1))
    return {**{number: _w(difference) for number, difference in enumerate(apart, 1)},
            5: _w(coefficient)}


def _srad2(memory: Memory, grid: Grid) -> Results:
    coefficient = _f(memory[5])
    _, south, _, east = _neighbours(coefficient)
    north_part, south_part, west_part, east_part = (_f(memory[number]) for number in range(1, 5))
    divergence = _chain([(coefficient, north_part), (south, south_part), (coefficient, west_part),
                         (east, east_part)])
    return {0: _w(divergence * _f(memory[6])[0, 0] + _f(memory[0]))}


def _stencil(memory: Memory, grid: Grid) -> Results:
    centre_factor, factor = _f(memory[2])[0, :2]
    lines = int(memory[2][0, 2])
    space = _f(memory[0]).reshape(-1, lines, grid.x)
    inner = (slice(1, -1),) * 3

    def moved(*steps: int) -> np.ndarray:
        return space[tuple(slice(1 + step, size - 1 + step)
                           for step, size in zip(steps, space.shape, strict=True))]

    total = moved(-1, 0, 0)
    for steps in ((1, 0, 0), (0, 0, -1), (0, 0, 1), (0, -1, 0), (0, 1, 0)):
        total = total + moved(*steps)
    stepped = space.copy()
    stepped[inner] = total * factor - space[inner] * centre_factor
    return {1: _w(stepped.reshape(grid.y, grid.x))}


def _matrix_product(memory: Memory, grid: Grid) -> Results:
    a, b = _f(memory[0]), _f(memory[1])
    total = np.zeros((grid.y, grid.x), np.float32)
    for step in range(a.shape[1]):
        total = a[:, step:step + 1] * b[step] + total
    return {2: _w(total)}


def _transposition(memory: Memory, grid: Grid) -> Results:
    return {1: memory[0].T.copy()}


def _prefix_sum(memory: Memory, grid: Grid) -> Results:
    return {1: np.cumsum(_groups(memory[0], grid), axis=1, dtype=np.uint32).reshape(1, -1)}


def _histogram(memory: Memory, grid: Grid) -> Results:
    items = grid.machine.items
    counts = [np.bincount(values[values < items], minlength=items)
              for values in _groups(memory[0], grid)]
    return {1: np.concatenate(counts).astype(np.uint32)[None]}


REFERENCES: Mapping[str, Reference] = {
    "cnn_convolution": Reference(_cnn_convolution, 224, 224, 32, "CNN Convolution", 18342388),
    "cnn_max_pool": Reference(_cnn_max_pool, 128, 3072, 0, "CNN Maxpool", 368726),
    "cnn_relu": Reference(_cnn_relu, 8192, 1024, 0, "CNN RELU", 3413172),
    "compute_phi_mag": Reference(_compute_phi_mag, 2048, 1, 0, "MRI-Q computePhiMag", 1291),
    "compute_q": Reference(_compute_q, 262144, 1, 0, "MRI-Q computeQ", 71988180),
    "depth2vertex": Reference(_depth2vertex, 640, 480, 32, "KFusion depth2vertex", 350894),
    "fft": Reference(_fft, 512, 256, 0, "FFT", 216062),
    "half_sample_robust": Reference(_half_sample_robust, 320, 240, 32, "KFusion halfSample[...]",
                                    102770),
    "histogram": Reference(_histogram, 16384, 1),
    "matrix_product": Reference(_matrix_product, 256, 256, 32),
    "prefix_sum": Reference(_prefix_sum, 65536, 1),
    "saxpy": Reference(_saxpy, 65536, 1),
    "spmv": Reference(_spmv, 16384, 1, 0, "SPMV", 1438668),
    "srad": Reference(_srad, 502, 458, 32, "SRAD", 1745937),
    "srad2": Reference(_srad2, 502, 458, 32, "SRAD2", 1653467),
    "srad_reduce": Reference(_srad_reduce, 230400, 1, 0, "SRAD reduce", 286514),
    "stencil": Reference(_stencil, 128, 4096, 32, "Stencil", 510227),
    "track": Reference(_track, 640, 480, 32, "KFusion track", 7015098),
    "transposition": Reference(_transposition, 512, 512, 32),
    "vector_add": Reference(_vector_add, 65536, 1),
    "vertex2normal": Reference(_vertex2normal, 640, 480, 32, "KFusion vertex2normal", 522664),
}
"""The references by name of the kernel."""
