"""One bound for layers that run on different resources: systolic array, GPU, CPU tile, others.

Source: the thesis, chapter 7, names it as future work; this project. A layer list runs in order,
one layer at a time. Each resource bounds each layer in its own cycles; where a layer's resource is
not the one before's, its input goes through DRAM. The best mapping is the one with the least bound.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.controller import MOST_OWED
from cyclebound.golden.dram.pipeline_bounds import controller_completion, with_refreshes
from cyclebound.golden.dram.request import BURST_WORDS, WORD_BYTES
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.gpu.compute_capability import ComputeCapability
from cyclebound.golden.gpu.matmul_kernel import LOOP_LINE, REGISTERS, matmul_kernel
from cyclebound.golden.gpu.occupancy import BlockResources
from cyclebound.golden.gpu.safe_bound import Machine, NotSafe, kernel_bound
from cyclebound.golden.gpu.thesis_wcet import Launch
from cyclebound.golden.noc.shmac_bounds import instruction
from cyclebound.golden.noc.shmac_kernel import Operation
from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer

__all__ = ["Cell", "CpuTile", "GivenResource", "Gpu", "Mapped", "Resource", "SimD", "Systolic",
           "Transfer", "best_mapping", "table_of"]

MEASURED = "RTL"
MODELLED = "model"
"""Evidence for a number: hardware of this project that keeps it, or only a model."""

_PIECE_BURSTS = 32  # of a copy's requests


class Resource(Protocol):
    """A processor that runs layers: a GPU or a systolic array.

    Attributes
    ----------
    name : str
        In tables.
    clock_ps : int
        Of its cycle.
    kind : str
        `MEASURED` or `MODELLED`.
    evidence : str
        Where its numbers come from, in a sentence.
    """

    @property
    def name(self) -> str: ...

    @property
    def clock_ps(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def evidence(self) -> str: ...

    def cycles(self, layer: Layer) -> int:
        """Cycles of a layer at most. Raises `NotCovered` where the resource has no bound."""


@dataclass(frozen=True)
class Systolic:
    """The accelerator with the systolic array, by plan."""

    name: str
    device: Device
    memory: Memory = field(default_factory=Memory)
    clock_ps: int = 10000
    kind: str = MEASURED
    evidence: str = ("the plan's cycles; systolic.accelerator's RTL takes exactly as many with a "
                     "memory as slow as was said, on the layers of its regression")

    def cycles(self, layer: Layer) -> int:
        """The plan's cycles, loading and storing included. Raises `NotCovered` where there is no
        plan: no cut of the layer fits the device."""
        try:
            return plan_layer(layer, self.device, self.memory).cycles.total
        except ValueError as error:
            raise NotCovered(str(error)) from error


@dataclass(frozen=True)
class Gpu:
    """A GPU that runs `matmul_kernel`, by the safe bound."""

    name: str
    limits: ComputeCapability
    machine: Machine = field(default_factory=Machine)
    sms: int = 108
    threads: int = 128
    clock_ps: int = 710
    kind: str = MODELLED
    evidence: str = ("the safe bound of a plain kernel of ours: no GPU was measured, and the bound "
                     "holds under assumptions that NVIDIA does not promise")

    def cycles(self, layer: Layer) -> int:
        """The bound with one thread for each element of the result.

        Raises `NotCovered` for a layer that pools or adds a shortcut, and where `kernel_bound` has
        no bound.
        """
        if layer.window > 1 or layer.shortcut:
            raise NotCovered(f"{layer.name}: the kernel neither pools nor adds a shortcut")
        product = layer.convolution.product
        elements = product.m * product.n * layer.convolution.groups
        try:
            return kernel_bound(
                matmul_kernel(), Launch((-(-elements // self.threads), 1, 1), self.threads,
                                        self.sms),
                BlockResources(self.threads, REGISTERS), self.limits, machine=self.machine,
                loops={LOOP_LINE: product.k}, balanced=True).cycles
        except (NotSafe, ValueError) as error:
            raise NotCovered(f"{layer.name}: {error}") from error


@dataclass(frozen=True)
class CpuTile:
    """A SHMAC core beside its RAM, with instructions over the RAM's second port.

    For each multiplication two loads and five other instructions; for each result 12 and a store.
    """

    name: str
    links: int = 0
    clock_ps: int = 16667
    kind: str = MODELLED
    evidence: str = ("cycles of each instruction are noc.handshake_mesh's bounds, exact on the "
                     "RTL without other traffic; the program of 7 instructions for a "
                     "multiplication and 13 for a result is a model, and no core ran it")

    def cycles(self, layer: Layer) -> int:
        """Instructions, each by its bound. Raises `NotCovered` for a layer that pools or adds a
        shortcut."""
        if layer.window > 1 or layer.shortcut:
            raise NotCovered(f"{layer.name}: the program neither pools nor adds a shortcut")
        plain, read, write = (
            instruction(bypass=1, operation=operation, links=self.links)
            for operation in (Operation.NONE, Operation.READ, Operation.WRITE))
        product = layer.convolution.product
        results = product.m * product.n * layer.convolution.groups
        return results * (product.k * (2 * read + 5 * plain) + 12 * plain + write)


@dataclass(frozen=True)
class SimD:
    """Sim-D's accelerator, by an analysis of its kernels.

    Attributes
    ----------
    wcet : callable or None
        Cycles of a layer (`tools.simd.layer_kernel.layer_wcet`); None: the resource is left out.
    """

    name: str
    wcet: Callable[[Layer], int] | None = None
    clock_ps: int = 1000
    kind: str = MODELLED
    evidence: str = "no WCET analysis of Sim-D's kernels was given"

    def cycles(self, layer: Layer) -> int:
        """The analysis's WCET of a layer on this resource. Raises `NotCovered` without one."""
        if self.wcet is None:
            raise NotCovered(f"{self.evidence}: this resource is left out; a `given` resource "
                             "takes cycles from elsewhere")
        return self.wcet(layer)


@dataclass(frozen=True)
class GivenResource:
    """A resource whose cycles a user states."""

    name: str
    wcets: Mapping[str, int]
    clock_ps: int
    evidence: str
    kind: str = "given"

    def cycles(self, layer: Layer) -> int:
        """The cycles given for the layer's name. Raises `NotCovered` where none are."""
        if layer.name not in self.wcets:
            raise NotCovered(f"{layer.name}: no cycles are given for {self.name}")
        return self.wcets[layer.name]


@dataclass(frozen=True)
class Transfer:
    """DRAM between two resources: the result is written, and read again.

    Requests of up to 32 bursts from a burst's first word on, one after the other, each by
    `controller_completion`, which the RTL of dram.controller keeps; refreshes by `with_refreshes`,
    with as many put off before as the controller may.
    """

    part: Part
    evidence: str = "controller_completion and with_refreshes, held by dram.controller's RTL"

    def time_ps(self, count: int) -> int:
        """Picoseconds for ``count`` bytes."""
        bursts = -(-count // (BURST_WORDS * WORD_BYTES))
        whole, rest = divmod(bursts, _PIECE_BURSTS)
        clocks = sum(
            times * controller_completion(part=self.part, bursts=size, write=write)
            for times, size in ((whole, _PIECE_BURSTS), (1, rest)) if size and times
            for write in (1, 0))
        return clocks and self.part.tck_ps * with_refreshes(
            part=self.part, cycles=clocks, owed=MOST_OWED)


@dataclass(frozen=True)
class Cell:
    """A layer on a resource.

    Attributes
    ----------
    cycles : int or None
        None where the resource has no bound; ``problem`` says why.
    time_ps : int or None
        In picoseconds.
    """

    layer: str
    resource: str
    kind: str
    cycles: int | None
    time_ps: int | None
    problem: str | None = None


def table_of(layers: Sequence[Layer], resources: Sequence[Resource]) -> list[list[Cell]]:
    """The bound of every layer on every resource, a row for each layer."""
    rows = []
    for layer in layers:
        row = []
        for resource in resources:
            try:
                cycles = resource.cycles(layer)
                row.append(Cell(layer.name, resource.name, resource.kind, cycles,
                                cycles * resource.clock_ps))
            except NotCovered as error:
                row.append(Cell(layer.name, resource.name, resource.kind, None, None, str(error)))
        rows.append(row)
    return rows


@dataclass(frozen=True)
class Mapped:
    """The mapping with the least bound.

    Attributes
    ----------
    resources : tuple[int, ...]
        The resource of each layer.
    transfers_ps : tuple[int, ...]
        Before each layer; 0 where the resource stays.
    """

    resources: tuple[int, ...]
    time_ps: int
    transfers_ps: tuple[int, ...]


def best_mapping(rows: Sequence[Sequence[Cell]], transfers_ps: Sequence[int]) -> Mapped:
    """The mapping whose layers and transfers take least, by CP-SAT.

    Parameters
    ----------
    transfers_ps : Sequence[int]
        What it takes to move the input of each layer; that of the first is not read.

    Raises
    ------
    NotCovered
        If a layer has no bound on any resource.
    """
    from ortools.sat.python import cp_model  # takes a second to load

    if not rows:
        raise NotCovered("there is no layer")
    for row in rows:
        if all(cell.cycles is None for cell in row):
            raise NotCovered(f"{row[0].layer}: no resource has a bound for it: "
                             + "; ".join(cell.problem or "" for cell in row))
    model = cp_model.CpModel()
    # the solver counts in 63 bits: times are cut down to a common unit, rounded up
    most = sum(max(cell.time_ps or 0 for cell in row) for row in rows) + sum(transfers_ps)
    unit = max(1, -(-most // 2**50))
    times_ps = [{number: cell.time_ps for number, cell in enumerate(row)
                 if cell.time_ps is not None} for row in rows]
    chosen = [{number: model.new_bool_var("") for number in times} for times in times_ps]
    costs = []
    for times, picks in zip(times_ps, chosen, strict=True):
        model.add_exactly_one(picks.values())
        costs += [-(-times[number] // unit) * pick for number, pick in picks.items()]
    for place in range(1, len(rows)):
        moved = model.new_bool_var("")
        for number, pick in chosen[place].items():
            stayed = [chosen[place - 1][number]] if number in chosen[place - 1] else []
            model.add_bool_or(pick.negated(), moved, *stayed)
        costs.append(-(-transfers_ps[place] // unit) * moved)
    model.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = 1, 0
    if solver.solve(model) != cp_model.OPTIMAL:
        raise NotCovered("no best mapping was found")
    best = tuple(next(number for number, pick in cell.items() if solver.value(pick))
                 for cell in chosen)
    moves = tuple(transfers_ps[place] if place and best[place] != best[place - 1] else 0
                  for place in range(len(rows)))
    return Mapped(best, sum(times[pick] for times, pick in zip(times_ps, best, strict=True))
                  + sum(moves), moves)
