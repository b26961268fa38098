"""Planner: a layer and a matrix multiplier in, commands and their exact cycle count out.

The multiplier is `Matmul` of hdl/systolic/matmul.py. Where its memories do not hold a layer, the
planner cuts it along m and n, and where its command has no more than 16 bits for them; a cut along
k would need sums to come back, which it cannot (the accelerator can: accelerator_plan.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.golden.systolic.mapping import ceil_div
from cyclebound.golden.systolic.matmul import matmul_cycles
from cyclebound.golden.systolic.sizes import whole

__all__ = ["Command", "Cycles", "Machine", "Plan", "plan", "split"]


_MOST = 2**16 - 1
"""Greatest m, k and n of a command."""


@dataclass(frozen=True)
class Machine:
    """The parameters of a `Matmul` that decide about plans, with that component's limits.

    Raises `TypeError` and `ValueError`, which name the parameter.
    """

    rows: int
    columns: int
    double_buffer: bool = True
    a_depth: int = 1024
    b_depth: int = 1024
    sums_depth: int = 512

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "double_buffer":
                continue
            limits = (2, None) if field.name.endswith("depth") else (1, _MOST)
            object.__setattr__(self, field.name,
                               whole(field.name.replace("_", " "), value, *limits))


@dataclass(frozen=True)
class Cycles:
    """The cycles of a command, by cause.

    Attributes
    ----------
    memory : int
        Loading A and B, a word of each in each cycle.
    command : int
        Accepting the command, and reading the first words.
    preload : int
        Weights that the array waits for.
    stream : int
        Rows of A that enter.
    fill : int
        From a row of A to its last MAC, where the next fold does not overlap it.
    drain : int
        From the last MAC to the last row of C: product, sum, sum over k, output.
    """

    memory: int = 0
    command: int = 0
    preload: int = 0
    stream: int = 0
    fill: int = 0
    drain: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    def __add__(self, other: "Cycles") -> "Cycles":
        return Cycles(*(getattr(self, field.name) + getattr(other, field.name)
                        for field in fields(self)))


def split(machine: Machine, m: int, k: int, n: int) -> Cycles:
    """The parts of one command's cycles, all but ``memory`` adding up to `matmul_cycles`."""
    rows, columns = machine.rows, machine.columns
    folds = ceil_div(k, rows) * ceil_div(n, columns)
    words = ceil_div(k, rows) * m, k * ceil_div(n, columns)
    if machine.double_buffer:
        preload, fill = rows + 1 + (folds - 1) * max(0, rows - m), rows + columns - 2
    else:
        preload, fill = folds * rows, folds * (rows + columns - 2)
    return Cycles(memory=max(words), command=2, preload=preload, stream=folds * m, fill=fill,
                  drain=4)


@dataclass(frozen=True)
class Command:
    """One product for the multiplier: these rows of A times these columns of B."""

    a_rows: slice
    b_columns: slice
    m: int
    k: int
    n: int
    cycles: Cycles


@dataclass(frozen=True)
class Plan:
    """All commands of a layer, one after the other."""

    layer: Product
    machine: Machine
    commands: tuple[Command, ...]

    @property
    def cycles(self) -> Cycles:
        return sum((command.cycles for command in self.commands), Cycles())

    @property
    def utilisation(self) -> float:
        """MACs of the layer for each PE and cycle, loading the memories left out."""
        layer, cycles = self.layer, self.cycles
        return layer.m * layer.k * layer.n / (
            self.machine.rows * self.machine.columns * (cycles.total - cycles.memory))


def _pieces(size: int, most: int) -> Sequence[slice]:
    return [slice(start, min(start + most, size)) for start in range(0, size, most)]


def plan(layer: Product | Convolution, machine: Machine) -> Plan:
    """The commands of a layer, in order.

    Raises `TypeError` where ``layer`` is none, and `ValueError` where no cut of it fits the
    memories.
    """
    if isinstance(layer, Convolution):
        if layer.groups > 1:
            raise ValueError(f"{layer.name}: groups must be 1 for a matrix multiplier, not "
                             f"{layer.groups}")
        layer = layer.product
    if not isinstance(layer, Product):
        raise TypeError(f"layer must be a Product or a Convolution, not {layer!r}")
    most_k = min(machine.a_depth * machine.rows, machine.b_depth)
    if layer.k > _MOST:
        raise ValueError(f"{layer.name}: k must be at most {_MOST}, the 16 bits of a command, not "
                         f"{layer.k}")
    if layer.k > most_k:
        raise ValueError(f"{layer.name}: k must be at most {most_k}, for the memories of A and B "
                         f"to hold one row and one column of tiles, not {layer.k}")
    most_m = min(machine.sums_depth, machine.a_depth // ceil_div(layer.k, machine.rows), _MOST)
    most_n = min(machine.b_depth // layer.k, _MOST // machine.columns) * machine.columns
    commands = []
    for b_columns in _pieces(layer.n, most_n):
        for a_rows in _pieces(layer.m, most_m):
            size = (a_rows.stop - a_rows.start, layer.k, b_columns.stop - b_columns.start)
            commands.append(Command(a_rows, b_columns, *size, split(machine, *size)))
            exact = matmul_cycles(rows=machine.rows, columns=machine.columns, m=size[0],
                                  k=size[1], n=size[2], double_buffer=machine.double_buffer)
            assert commands[-1].cycles.total - commands[-1].cycles.memory == exact
    return Plan(layer, machine, tuple(commands))
