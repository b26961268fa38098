"""A kernel of one's own, from a file to its result: interpreter, golden fabric, or RTL.

    from cyclebound.sim.families.dataflow.run import load_kernel, run_kernel
    ran = run_kernel(load_kernel("saxpy.py"), {"x": x, "y": y}, constants={"a": 2.5}, on="rtl")
    ran.arrays["y"], ran.cycles, ran.bound

The command ``cyclebound dataflow run`` does the same.
"""

import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow.bitstream import check_depth
from cyclebound.golden.dataflow.counters import events_of
from cyclebound.golden.dataflow.grid import Grid, Node
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Kernel, KernelError
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.memory import kernel_arrays, typed_arrays, with_spills
from cyclebound.golden.dataflow.run import Layout, check_run, run_mapped
from cyclebound.golden.dataflow.wcet import Estimate, estimate
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.dataflow.fabric_counters import CountedFabric
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.build.identity import identity
from cyclebound.sim.describe.block import Block, Configuration, Testbench
from cyclebound.sim.families.dataflow.files import load_kernel, read_array
from cyclebound.sim.run.followed import followed
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tools.dataflow.run import map_graphs
from cyclebound.tools.dataflow.segments import compile_segments

__all__ = ["ENGINES", "Hardware", "KernelRun", "Timing", "hardware", "load_kernel", "read_array",
           "run_kernel"]

ENGINES = ("interpreter", "golden", "rtl")
_BLOCK = "dataflow.fabric"
Tell = Callable[[str, int, int], None]  # a step, how much of it is done, and all of it


@dataclass(frozen=True)
class Hardware:
    """A fabric: `hdl.dataflow.fabric.Fabric`'s parameters."""

    rows: tuple[str, ...]
    depth: int
    tid_width: int
    address_width: int

    @property
    def grid(self) -> Grid:
        return Grid(self.rows)


@dataclass(frozen=True)
class Timing:
    """The memory of a fabric.

    Attributes
    ----------
    hit, miss : int
        Cycles of an access.
    miss_rate : float
        The share of accesses that miss.
    banks : int
        Each takes one access in a cycle; 0: every load/store unit has a path of its own.
    """

    hit: int = 4
    miss: int = 40
    miss_rate: float = 0.1
    banks: int = 32

    def __post_init__(self) -> None:
        if self.hit < 2:
            raise ValueError(f"a hit must take at least 2 cycles, not {self.hit}")
        if self.miss < self.hit:
            raise ValueError(f"a miss must take as long as a hit ({self.hit} cycles) or longer, "
                             f"not {self.miss}")
        if not 0 <= self.miss_rate <= 1:
            raise ValueError(f"the share of misses must be from 0 to 1, not {self.miss_rate}")
        if self.banks < 0:
            raise ValueError(f"banks must be 0 or more, not {self.banks}")

    @property
    def settings(self) -> dict[str, float]:
        return {"hit": self.hit, "miss": self.miss, "miss_rate": self.miss_rate,
                "banks": self.banks}

    def bound(self, mapped: Mapped, *, threads: int, depth: int) -> Estimate:
        """A kernel's bound before it runs: each access waits for one of each other unit in use,
        then takes as long as a miss."""
        others = max(sum(map(bool, mapped.accesses())) - 1, 0) if self.banks else 0
        return estimate(mapped, threads=threads, depth=depth, stall=others, memory=others + (
            self.miss if round(256 * self.miss_rate) else self.hit))


@dataclass
class KernelRun:
    """The result of a kernel's run on the fabric.

    Attributes
    ----------
    arrays : dict of str to numpy.ndarray
        Its arrays afterwards, of int32 and float32.
    cycles : list of int
        Of each configuration, from start to done; none of the interpreter.
    bounds : list of int
        Of each configuration, the most cycles that it may take; known before it runs.
    problem : str
        Why there is no bound, if there is none.
    loading : int
        Words of a configuration; loading one takes as many cycles, which are not counted.
    parts : list of Mapped
        The configurations.
    busy : list of dict of Node to int
        For each configuration: by unit, the results that it sent; empty where none were watched.
    events : list of dict of str to int
        For each configuration: how often each of `golden.dataflow.counters.EVENTS` was; of the
        golden fabric and of the RTL.
    faults : list of str
        Accesses outside of their arrays, which were not made.
    shared : list of str
        Elements that two threads access, one of which stores.
    differs : list of str
        Arrays that are not those of the interpreter.
    """

    arrays: dict[str, np.ndarray]
    cycles: list[int] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)
    problem: str = ""
    loading: int = 0
    parts: list[Mapped] = field(default_factory=list)
    busy: list[dict[Node, int]] = field(default_factory=list)
    events: list[dict[str, int]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """A line for each of the first eight words whose value order decides."""
        return [f"shared, and stored: {shared}; what becomes of it may depend on which is first"
                for shared in self.shared[:8]]

    @property
    def bound(self) -> int | None:
        """The bound on all configurations together; None where there is none."""
        return sum(self.bounds) if self.parts and not self.problem else None

    @property
    def exceeded(self) -> bool:
        return not self.problem and any(took > most for took, most in
                                        zip(self.cycles, self.bounds, strict=False))


def hardware(grid: str = "five_by_five", *, depth: int | None = None, tid_width: int | None = None,
             address_width: int | None = None) -> Hardware:
    """A fabric by the name of one of the catalogue's configurations, or by its rows, as in
    ``SLLL/SCKL/LLLT``; with other numbers where they are given. Raises `UserError`."""
    grids = catalogue.load().find(_BLOCK).configurations
    if grid in grids:
        values: dict[str, Any] = dict(grids[grid].parameters)
    elif "/" in grid:
        values = {**grids["five_by_five"].parameters, "rows": tuple(grid.split("/"))}
    else:
        raise unknown("grid", grid, [*grids, "rows like SLLL/SCKL/LLLT"])
    given = {"depth": depth, "tid_width": tid_width, "address_width": address_width}
    values |= {name: value for name, value in given.items() if value is not None}
    try:
        made = Hardware(**{**values, "rows": tuple(values["rows"])})
        check_depth(made.depth)
        Fabric(rows=made.rows, depth=made.depth, tid_width=made.tid_width,
               address_width=made.address_width)
    except ValueError as error:
        raise UserError(str(error)) from None
    return made


def run_kernel(kernel: Kernel, arrays: Mapping[str, object], *,
               constants: Mapping[str, float] | None = None, threads: int | None = None,
               on: str = "golden", fabric: Hardware | str = "five_by_five",
               timing: Timing | None = None, seed: int = 1, tell: Tell | None = None,
               folder: Path | None = None, count: bool = False) -> KernelRun:
    """Run a kernel.

    Parameters
    ----------
    kernel : Kernel
        As `load_kernel` finds it in a file, or ``@kernel`` makes it.
    arrays : mapping of str to array
        All of the kernel's arrays, of one dimension: integers of 32 bits, or numbers that single
        precision has. They are not changed.
    constants : mapping of str to number
        A value for each `Int` and `Float` of the kernel.
    threads : int
        How many there are; None: as many as its first array has elements.
    on : str
        ``interpreter`` (what the kernel does, at once), ``golden`` (the fabric's model, cycle by
        cycle) or ``rtl`` (Verilator).
    fabric : Hardware or str
        What it runs on; a name is that of a configuration of the catalogue.
    timing : Timing
        The memory.
    seed : int
        Of the mapper.
    tell : callable
        Is told a step, how much of it is done, and how much there is.
    folder : Path
        Where a simulation keeps its files; None: a folder that is removed.
    count : bool
        Whether the RTL's events are counted, which takes a simulator of its own.

    Raises `UserError` for whatever cannot be run, and says what. Memory is compared with the
    interpreter's: see `KernelRun.differs`.
    """
    if on not in ENGINES:
        raise unknown("engine", on, ENGINES)
    fabric = hardware(fabric) if isinstance(fabric, str) else fabric
    timing = timing or Timing()
    tell = tell or (lambda step, done, total: None)
    try:
        words = kernel_arrays(kernel, arrays)
        if not words and threads is None:
            raise ValueError(f"kernel {kernel.name} has no array; say how many threads there are")
        threads = len(next(iter(words.values()))) if threads is None else threads
        check_run(threads=threads, depth=fabric.depth, tid_width=fabric.tid_width)
        graphs = compile_segments(kernel, **(constants or {}))
        shared: list[tuple[str, int, int, int]] = []
        after, outside = interpret_all(graphs, words, threads, shared)
        kernel.check_loops(outside)
        run = KernelRun(typed_arrays(kernel, after))
        run.faults = [f"{name}: thread {thread} at index {index}"
                      for name, thread, index in outside]
        run.shared = list(dict.fromkeys(
            f"{name}[{element}]: threads {one} and {other}"
            for name, element, one, other in shared if not name.startswith("$")))
        if on == "interpreter":
            return run
        run.parts = map_graphs(graphs, fabric.grid, depth=fabric.depth, seed=seed,
                               tell=lambda done, total: tell("mapping", done, total))
        memory = with_spills([name for part in run.parts for name in part.arrays], words, threads)
        layout = Layout.of(memory)
        check_run(threads=threads, depth=fabric.depth, words=layout.size,
                  tid_width=fabric.tid_width, address_width=fabric.address_width)
    except (KernelError, ValueError, TypeError) as error:
        raise UserError(str(error)) from None
    estimates = []
    try:
        estimates = [timing.bound(part, threads=threads, depth=fabric.depth) for part in run.parts]
    except NotCovered as error:
        run.problem = str(error)
    run.bounds = [estimate_.cycles for estimate_ in estimates]
    run.loading = len(run.parts[0].words(threads, layout.buffers, tid_width=fabric.tid_width,
                                         address_width=fabric.address_width))
    run.faults = []
    contents = layout.words(memory)
    if on == "golden":
        _golden(run, contents, layout, threads, fabric, timing, tell)
    else:
        with contextlib.ExitStack() as stack:
            if folder is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            contents = _rtl(run, contents, layout, threads, fabric, timing, estimates, tell, folder,
                            count)
    ran = layout.arrays(contents)
    run.differs = [name for name in words if ran[name].tolist() != after[name].tolist()]
    run.arrays = typed_arrays(kernel, ran)
    return run


def _golden(run: KernelRun, words: list[int], layout: Layout, threads: int, fabric: Hardware,
            timing: Timing, tell: Tell) -> None:
    def teller(step: str) -> Callable[[int], None]:
        return lambda ended: tell(step, ended, threads)

    for number, part in enumerate(run.parts):
        step = f"configuration {number + 1} of {len(run.parts)}, threads"
        result = run_mapped(part, words, layout, threads=threads, depth=fabric.depth,
                            tid_width=fabric.tid_width, address_width=fabric.address_width,
                            limit=1_000_000_000, **timing.settings,
                            tell=teller(step))
        run.cycles.append(result.cycles)
        run.busy.append(result.busy)
        run.events.append({**result.events, "configuration_word": run.loading})
        run.faults += map(str, result.faults)


def _block(fabric: Hardware, count: bool) -> tuple[Block, dict[str, object]]:
    """The fabric as a block of which there is one configuration."""
    parameters = {"rows": fabric.rows, "depth": fabric.depth, "tid_width": fabric.tid_width,
                  "address_width": fabric.address_width}
    named = catalogue.load().find(_BLOCK)
    completion = next(binding for binding in named.bounds if binding.what == "completion")
    return Block(name=_BLOCK, summary=named.summary, component=CountedFabric if count else Fabric,
                 configurations={"own": Configuration(parameters)},
                 testbenches=(Testbench("user", "cyclebound.tb.dataflow.fabric_user",
                                        compares=False, max_cycles=1_000_000_000),),
                 bounds=(completion,), fpga=None,
                 signals=()), parameters


def _rtl(run: KernelRun, words: list[int], layout: Layout, threads: int, fabric: Hardware,
         timing: Timing, bounds: list[Estimate], tell: Tell, folder: Path,
         count: bool) -> list[int]:
    """Simulate the fabric's RTL; returns the words of memory afterwards.

    Sets the run's ``cycles`` and ``faults``, and with ``count`` its ``events``. Raises `UserError`
    if the simulation fails.
    """
    block, parameters = _block(fabric, count)
    estimates: list[Estimate | None] = [*bounds] or [None] * len(run.parts)
    parts = [{"words": part.words(threads, layout.buffers, tid_width=fabric.tid_width,
                                  address_width=fabric.address_width),
              "bound": {"threads": threads} | (estimate.parameters if estimate else {})}
             for part, estimate in zip(run.parts, estimates, strict=True)]
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("ran.json", "progress.json"):
        (folder / old).unlink(missing_ok=True)
    (folder / "kernel.json").write_text(json.dumps({"parts": parts, "words": words,
                                                    "memory": timing.settings, "counted": count}))
    made_from = identity((), _BLOCK, json.dumps(parameters), "counted" if count else "user")

    def step(number: int, cycle: int) -> tuple[str, int, int]:
        return (f"configuration {number + 1} of {len(run.parts)}, cycles of its bound", cycle,
                run.bounds[number] if run.bounds else max(cycle, 1))

    with followed(folder / "progress.json", tell, step):
        outcome = simulate(block, Job(_BLOCK, "own", "user", 1, str(folder),
                                      wall_limit=7 * 86400.0), identity=made_from)
    if not outcome.passed:
        raise UserError(f"the simulation failed: {outcome.reason}")
    ran = json.loads((folder / "ran.json").read_text())
    run.cycles = ran["cycles"]
    run.faults = [f"{run.parts[number].accesses()[unit]}: thread {thread} at index {index}"
                  for number, unit, thread, index in ran["faults"]]
    ends = [(peer, entry) for *_, peer, entry in fabric.grid.links()]
    for part, taken, events in zip(run.parts, ran["taken"], ran["events"], strict=True):
        if count:
            found = events_of(fabric.grid, part.configuration(threads, layout.buffers),
                              dict(zip(ends, taken, strict=True)))
            run.events.append({**found + Counter(events), "configuration_word": run.loading})
    return ran["words"]
