"""Kernels, written anew from their mathematics.

Vector addition and a*x + y, and those of Rodinia that SGMF's Table 2 lists: what each computes is
said in its docstring. Threads beyond the data do nothing.
"""

# ruff: noqa: F821 - `sqrt` and others are the kernel language's

from cyclebound.golden.dataflow.kernel import Float, Floats, Int, Ints, Kernel, kernel

__all__ = ["KERNELS", "LOOPS"]

KERNELS: dict[str, Kernel] = {}
LOOPS: dict[str, Kernel] = {}  # with loops, unlike those of the paper's Table 2


def _listed(kernel: Kernel) -> Kernel:
    KERNELS[kernel.name] = kernel
    return kernel


@_listed
@kernel
def vector_add(tid, x: Floats, y: Floats, z: Floats):
    """z = x + y."""
    z[tid] = x[tid] + y[tid]


@_listed
@kernel
def saxpy(tid, x: Floats, y: Floats, a: Float):
    """y = a * x + y, rounded after each operation."""
    y[tid] = a * x[tid] + y[tid]


@_listed
@kernel
def euclid(tid, latitude: Floats, longitude: Floats, distance: Floats, records: Int, lat: Float,
           lng: Float):
    """Nearest neighbours: the distance of each record from a place."""
    if tid < records:
        dx = lat - latitude[tid]
        dy = lng - longitude[tid]
        distance[tid] = sqrt(dx * dx + dy * dy)


@_listed
@kernel
def fan1(tid, m: Floats, a: Floats, size: Int, t: Int):
    """Gaussian elimination: the multipliers of column t, one for each row below it."""
    if tid < size - 1 - t:
        row = size * (tid + t + 1) + t
        m[row] = a[row] / a[size * t + t]


@_listed
@kernel
def fan2(tid, m: Floats, a: Floats, b: Floats, size: Int, shift: Int, t: Int):
    """Gaussian elimination: subtract row t from those below it; a thread for each element.

    Thread = row << shift | column, both counted from t: ``m`` is padded likewise.
    """
    row = tid >> shift
    column = tid & ((1 << shift) - 1)
    if (row < size - 1 - t) & (column < size - t):
        below = size * (row + t + 1)
        factor = m[below + t]
        place = below + (column + t)
        a[place] = a[place] - factor * a[size * t + t + column]
        if column == 0:
            b[row + (t + 1)] = b[row + (t + 1)] - factor * b[t]


@_listed
@kernel
def adjust_weights(tid, delta: Floats, units: Floats, weights: Floats, old: Floats, shift: Int,
                   rate: Float, momentum: Float):
    """Back propagation: each weight moves by rate * delta * unit + momentum * its last move.

    Thread = row << shift | column; a unit for each row, a delta for each column.
    """
    move = (rate * delta[tid & ((1 << shift) - 1)] * units[tid >> shift]
            + momentum * old[tid])
    weights[tid] = weights[tid] + move
    old[tid] = move


@_listed
@kernel
def bfs_kernel2(tid, frontier: Ints, updating: Ints, visited: Ints, over: Ints, nodes: Int):
    """Breadth-first search: the nodes found in this level are the next level's frontier."""
    if tid < nodes:
        if updating[tid] == 1:
            frontier[tid] = 1
            visited[tid] = 1
            over[0] = 1
            updating[tid] = 0


@_listed
@kernel
def compute_step_factor(tid, density: Floats, mx: Floats, my: Floats, mz: Floats, energy: Floats,
                        areas: Floats, factors: Floats):
    """CFD: the time step of each element, from its speed and its speed of sound (gamma 1.4)."""
    d = density[tid]
    vx = mx[tid] / d
    vy = my[tid] / d
    vz = mz[tid] / d
    squared = vx * vx + vy * vy + vz * vz
    pressure = 0.4 * (energy[tid] - 0.5 * d * squared)
    sound = sqrt(1.4 * pressure / d)
    factors[tid] = 0.5 / (sqrt(areas[tid]) * (sqrt(squared) + sound))


@_listed
@kernel
def time_step(tid, old_density: Floats, old_mx: Floats, old_my: Floats, old_mz: Floats,
              old_energy: Floats, density: Floats, mx: Floats, my: Floats, mz: Floats,
              energy: Floats, flux_density: Floats, flux_mx: Floats, flux_my: Floats,
              flux_mz: Floats, flux_energy: Floats, factors: Floats, stage: Float):
    """CFD: a Runge-Kutta stage; each variable is its old value and a share of its flux."""
    factor = factors[tid] / stage
    density[tid] = old_density[tid] + factor * flux_density[tid]
    mx[tid] = old_mx[tid] + factor * flux_mx[tid]
    my[tid] = old_my[tid] + factor * flux_my[tid]
    mz[tid] = old_mz[tid] + factor * flux_mz[tid]
    energy[tid] = old_energy[tid] + factor * flux_energy[tid]


@_listed
@kernel
def normalize_weights(tid, weights: Floats, sums: Floats, particles: Int):
    """Particle filter: weights that add up to one; their sum has been worked out before."""
    if tid < particles:
        weights[tid] = weights[tid] / sums[0]


@kernel
def fibonacci(tid, first: Ints, second: Ints, count: Int):
    """The numbers that follow two: each variable's store must wait for its load."""
    x = first[tid]
    y = second[tid]
    for _ in range(count):
        t = x + y
        x = y
        y = t
    second[tid] = y


@kernel
def horner(tid, coefficients: Floats, x: Floats, y: Floats, threads: Int, degree: Int):
    """A polynomial, where it has not grown beyond 100 before the end: a loop after a return."""
    if tid >= threads:
        return
    total = 0.0
    for k in range(degree + 1):
        total = total * x[tid] + coefficients[k]
        if abs(total) > 100.0:
            return
    y[tid] = total


LOOPS |= {example.name: example for example in (fibonacci, horner)}
