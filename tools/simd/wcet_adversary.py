"""Random kernels against a WCET analysis: each is run on the cycle model with data that drives it
towards its worst path, and no run may take longer than the analysis says.

A kernel comes from a seed (`random_kernels`), and so do its number of work-groups, which is odd as
often as even, its policy, and the first refresh. Its decisions (`PATHS`) are tried all clear, all
set, by turns and at random; then bits of the best are flipped as long as a flip makes the run
longer. What is kept of a kernel is its longest run.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import Grid, Machine
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.tools.simd import random_kernels
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.random_rows import FAR, PICKS, far_words
from cyclebound.tools.simd.random_shapes import SHAPED, WIDE, random_grid

__all__ = ["BUSES", "MOST_WORK_GROUPS", "POLICIES", "Analysis", "Attack", "Bench", "attack",
           "attacks", "histogram"]

Analysis = Callable[[Program, Grid, Part, Policy], int]
"""Cycles that a kernel takes at most under a policy. It raises `NotCovered` for a kernel of which
it says nothing."""

POLICIES = (Policy.ACCESS, Policy.COMPUTE)
"""The paper's policies (Sim-D, section 4.2)."""
BUSES = (4, 8, 16, 32)  # words of a scratchpad's bus
MOST_WORK_GROUPS = 9
_MOST_INSTRUCTIONS = 200_000


@dataclass(frozen=True)
class Bench:
    """The machine and the DRAM that kernels run on.

    Attributes
    ----------
    machine : Machine
        Its sizes.
    part : Part
        The DRAM.
    lookup, lead : int or None
        The DRAM front end (`DramTimeline`); None: the controller's.
    mix : Mix
        What kernels have.
    flips : int
        Runs of each kernel besides the first four.
    policies : sequence of Policy
        Of which each kernel has one.
    buses : sequence of int
        Words of a scratchpad's bus, of which each kernel has one; none: the machine's.
    """

    machine: Machine
    part: Part
    mix: random_kernels.Mix
    lookup: int | None = None
    lead: int | None = None
    flips: int = 3
    policies: Sequence[Policy] = POLICIES
    buses: Sequence[int] = ()

    def timeline(self, due: int | None = None) -> DramTimeline:
        """A DRAM whose first refresh falls due in a cycle, by default after nREFI."""
        ends = {name: value for name, value in (("lookup", self.lookup), ("lead", self.lead))
                if value is not None}
        return DramTimeline(self.part, due=due, **ends)


@dataclass(frozen=True)
class Attack:
    """A kernel's longest run, in compute cycles, and what the analysis says.

    ``grid``: items across, lines, and a work-group's width; ``bus``: words of a scratchpad's.
    ``bound`` is None if the analysis does not cover the kernel; ``said`` then has why.
    """

    seed: int
    text: str
    policy: Policy
    grid: tuple[int, int, int]
    bus: int
    decisions: tuple[int, ...]
    due: int
    measured: int
    bound: int | None
    said: str = ""

    @property
    def ratio(self) -> float:
        """Measured over bound."""
        return self.measured / self.bound if self.bound else 0.0

    @property
    def violated(self) -> bool:
        return self.bound is not None and self.measured > self.bound

    @property
    def record(self) -> dict[str, object]:
        """All fields, for JSON."""
        return {**asdict(self), "policy": self.policy.value}

    @classmethod
    def of(cls, record: dict) -> "Attack":
        """The attack of a `record`."""
        return cls(**{**record, "policy": Policy(record["policy"]), "grid": tuple(record["grid"]),
                      "decisions": tuple(record["decisions"])})

    def __str__(self) -> str:
        x, y, width = self.grid
        return (f"seed {self.seed}: grid {x} x {y} in work-groups {width} wide, scratchpad bus "
                f"{self.bus}, policy {self.policy.value}, decisions "
                f"{[f'{word:#x}' for word in self.decisions]}, first refresh due in DRAM cycle "
                f"{self.due}: {self.measured} cycles measured, bound {self.bound}")


def _memory(program: Program, seed: int, part: Part) -> Memory:
    memory = memory_of(program)
    rng = np.random.default_rng(seed)
    loaded = (random_kernels.SOURCE, random_kernels.TABLE, SHAPED, WIDE)
    for number in filter(memory.__contains__, loaded):
        words = rng.integers(0, 1 << 32, memory[number].shape, dtype=np.uint32)
        # zeros and ones of a sign make conditions of all lanes hold or fail together
        memory[number][...] = words >> rng.choice((0, 1, 31)) if seed % 3 else words * 0
    if PICKS in memory:
        memory[PICKS][...] = far_words(rng, memory[PICKS].shape, program.buffers[FAR].words, part)
    return memory


def attack(analysis: Analysis, seed: int, bench: Bench) -> Attack:
    """The kernel of a seed against an analysis."""
    rng = random.Random(f"attack {seed}")
    groups = rng.randint(1, MOST_WORK_GROUPS)
    machine, items = bench.machine, bench.machine.items
    words = max(1, groups * items - rng.choice((0, 0, 1, items - 1)))
    policy = rng.choice(bench.policies)
    if bench.buses:
        machine = replace(machine, scratchpad_bus=rng.choice(bench.buses))
    grid = Grid(words, 1, machine, items)
    if bench.mix.shapes:
        grid = random_grid(rng, grid)
        groups = grid.count
    kernel = random_kernels.kernel_for(seed, grid, bench.mix)
    program = assemble(kernel.text)
    case = (seed, kernel.text, policy, (grid.x, grid.y, grid.width), machine.scratchpad_bus)
    due = rng.choice((0, rng.randrange(bench.part.nREFI)))
    try:
        bound = analysis(program, grid, bench.part, policy)
    except NotCovered as error:
        return Attack(*case, (), due, 0, None, str(error))
    first = _memory(program, seed, bench.part)

    def run(decisions: tuple[int, ...]) -> int:
        memory = {number: content.copy() for number, content in first.items()}
        if random_kernels.PATHS in memory:
            memory[random_kernels.PATHS][0, :] = decisions
        return CycleModel(program, grid, memory, policy=policy, part=bench.part,
                          timeline=bench.timeline(due)).run(
            keep=False, most=_MOST_INSTRUCTIONS).cycles

    if random_kernels.PATHS not in first:
        return Attack(*case, (), due, run(()), bound)
    count = random_kernels.DECISIONS
    tried = [(0,) * count, (0xFFFF_FFFF,) * count,
             tuple(rng.choice((0, 0xFFFF_FFFF, 0x5555_5555, 0xAAAA_AAAA)) for _ in range(count)),
             tuple(rng.getrandbits(32) for _ in range(count))]
    cycles, best = max((run(attack), attack) for attack in tried)
    for _ in range(bench.flips):
        place, change = rng.randrange(count), rng.choice((1 << rng.randrange(groups), 0xFFFF_FFFF))
        flipped = (*best[:place], best[place] ^ change, *best[place + 1:])
        cycles, best = max((cycles, best), (run(flipped), flipped))
    return Attack(*case, best, due, cycles, bound)


def attacks(analysis: Analysis, seeds: Iterable[int], bench: Bench) -> Iterator[Attack]:
    """`attack` for each of many seeds."""
    for seed in seeds:
        yield attack(analysis, seed, bench)


def histogram(found: Iterable[Attack], width: float = 0.05) -> dict[float, int]:
    """The number of kernels by ratio of measured to bound, keyed by the lower edge of a class.

    Kernels that the analysis does not cover are left out.
    """
    counts: dict[float, int] = {}
    for attack in found:
        if attack.bound is not None:
            edge = round(int(attack.ratio / width) * width, 6)
            counts[edge] = counts.get(edge, 0) + 1
    return dict(sorted(counts.items()))
