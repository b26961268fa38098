"""Systems of tiles from a user's file: jobs, their bounds, and when all have ended.

    part = "ddr4-3200aa-x16"
    machine = "small"           # of the SIMD accelerator
    size = 4                    # rows and columns of the systolic array
    windows = [740, 740]        # TDMA: of SIMD and systolic accelerator; left out: turns

    [[job]]
    name = "product"
    product = [48, 24, 16]      # m, k, n: on the systolic accelerator
    address = 0x80000           # bytes; its operands and result follow each other from there

    [[job]]
    name = "sums"
    kernel = "sums.sas"         # on the SIMD accelerator; beside the file, or installed
    grid = [192]
    buffers = {0 = "product"}   # buffer 0 is that job's result
    after = ["product"]
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.client_bounds import least_window
from cyclebound.golden.dram.request import BURST_BYTES, WORD_BYTES
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.machine import Grid, Machine, as_built, machine_named
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.system.tiled import (
    Job,
    array_cycles,
    array_device,
    array_memory,
    composed,
    kernel_start,
    product_program,
    request_wait,
)
from cyclebound.golden.systolic.accelerator_network import Program as ArrayProgram
from cyclebound.golden.systolic.layers import Product
from cyclebound.hdl.systolic.dram_memory import DramMemory
from cyclebound.sim.families.simd.files import load_program
from cyclebound.tools.gpu.toml_text import Reader, load_toml
from cyclebound.tools.simd.wcet.analysis import Analysis

__all__ = ["SYSTEM_EXAMPLE", "Bounded", "Planned", "TiledFile", "parse_tiled", "planned"]

TILES = "simd", "systolic"
_PART = "ddr4-3200aa-x16"
_DEVICE = "size", "depth", "memory_width"
_MEMORY = "size", "bursts", "slots", "memory_width"
_SIZES = {"size": 4, "depth": 256, "bursts": 16, "slots": 8, "memory_width": 16}

SYSTEM_EXAMPLE = """# A product on the systolic array; beside it, a kernel on the SIMD accelerator
part = "ddr4-3200aa-x16"
machine = "small"
size = 4

[[job]]
name = "product"
product = [48, 24, 16]
address = 0x100000

[[job]]
name = "add"
kernel = "vector_add"
grid = [640]

[[job]]
name = "second"
product = [32, 16, 32]
address = 0x180000
after = ["add"]
"""


@dataclass(frozen=True)
class TiledFile:
    """A system and its jobs, as a file has them."""

    part: Part
    part_name: str
    machine: Machine
    sizes: Mapping[str, int]
    windows: tuple[int, int] | None
    products: Mapping[str, tuple[Product, int]]  # and the byte from which on its words lie
    kernels: Mapping[str, tuple[Program, Grid]]
    after: Mapping[str, tuple[str, ...]]         # of every job, in their order
    results: Mapping[str, Mapping[int, str]]     # of kernels: buffers that are a product's result
    sources: Mapping[str, Path | None]           # of kernels: the file's folder; None: installed

    @property
    def period(self) -> int:
        return sum(self.windows or ())


@dataclass(frozen=True)
class Bounded:
    """A job's bound, its tile's longest request and how long each of its own waits, in clocks."""

    job: Job
    longest: int
    wait: int
    ends: int


@dataclass(frozen=True)
class Planned:
    """The jobs of a system, with their bounds, in their order.

    Attributes
    ----------
    products : mapping
        By name, a product's commands, with its operands and result in the systolic accelerator's
        buffer, which begins at the file's address.
    kernels : mapping
        By name, a kernel's program, its buffers where they are in DRAM.
    """

    bounds: tuple[Bounded, ...]
    products: Mapping[str, ArrayProgram]
    kernels: Mapping[str, Program]


def parse_tiled(text: str, folder: Path) -> TiledFile:
    """A system from TOML; kernels are files in ``folder``, or installed ones.

    Raises `ValueError` with the line of what is wrong, and `UserError` for a kernel that cannot be
    read.
    """
    tables, reader = load_toml(text), Reader(text)
    reader.table([], tables, ("part", "machine", "windows", "job", *_SIZES))
    part_name = reader.text(["part"], tables, default=_PART)
    part = reader.at(["part"], part_named, part_name)
    machine = reader.at(["machine"], machine_named,
                        reader.text(["machine"], tables, default="small"))
    sizes = {name: reader.number([name], tables, default) for name, default in _SIZES.items()}
    reader.at(["size"], array_device, **{name: sizes[name] for name in _DEVICE})
    reader.at(["size"], DramMemory, **{name: sizes[name] for name in _MEMORY})
    windows = tables.get("windows")
    if windows is not None and not (isinstance(windows, list) and len(windows) == len(TILES)
                                    and all(type(window) is int for window in windows)):
        raise reader.refuse(["windows"], f"two whole numbers, of {' and '.join(TILES)}", windows)
    products: dict[str, tuple[Product, int]] = {}
    kernels: dict[str, tuple[Program, Grid]] = {}
    after: dict[str, tuple[str, ...]] = {}
    results: dict[str, dict[int, str]] = {}
    sources: dict[str, Path | None] = {}
    for number, entry in enumerate(reader.tables(["job"], tables.get("job"))):
        path = ["job", number]
        table = reader.table(path, entry, ("name", "product", "address", "kernel", "grid",
                                           "buffers", "after"))
        name = reader.text([*path, "name"], table)
        if name in after:
            raise reader.refuse([*path, "name"], "a name of its own", name)
        if ("product" in table) is ("kernel" in table):
            raise reader.refuse(path, "a table with either product or kernel", table)
        after[name] = tuple(_texts(reader, [*path, "after"], table))
        if "product" in table:
            extents = _numbers(reader, [*path, "product"], table, (3,))
            address = reader.number([*path, "address"], table)
            if address < 0 or address % BURST_BYTES:
                raise reader.refuse([*path, "address"], f"a multiple of {BURST_BYTES}", address)
            products[name] = reader.at([*path, "product"], _product, name, extents), address
        else:
            file = reader.text([*path, "kernel"], table)
            own = file.endswith(".sas")
            program = load_program(str(folder / file) if own else file)
            sources[name] = (folder / file).parent if own else None
            extents = _numbers(reader, [*path, "grid"], table, (1, 2))
            kernels[name] = program, reader.at([*path, "grid"], _grid, extents, machine)
            results[name] = _results(reader, [*path, "buffers"], table, program)
    return TiledFile(part, part_name, machine, sizes, None if windows is None else tuple(windows),
                     products, kernels, after, results, sources)


def _grid(extents: Sequence[int], machine: Machine) -> Grid:
    return Grid(extents[0], extents[1] if len(extents) > 1 else 1, machine)


def _product(name: str, extents: Sequence[int]) -> Product:
    return Product(name, *extents)


def _texts(reader: Reader, path: list, table: Mapping) -> list[str]:
    """Texts under the path's last name, or none."""
    value = table.get(path[-1], [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise reader.refuse(path, "a list of names", value)
    return value


def _numbers(reader: Reader, path: list, table: Mapping, counts: tuple[int, ...]) -> list[int]:
    value = table.get(path[-1])
    if not isinstance(value, list) or len(value) not in counts or not all(
            type(one) is int for one in value):
        raise reader.refuse(path if path[-1] in table else path[:-1], f"a table whose {path[-1]} "
                            f"has {' or '.join(map(str, counts))} whole numbers", value)
    return value


def _results(reader: Reader, path: list, table: Mapping, program: Program) -> dict[int, str]:
    """Which buffers are results of products."""
    value = table.get("buffers", {})
    if not isinstance(value, dict):
        raise reader.refuse(path, "a table", value)
    for buffer, name in value.items():
        if not buffer.isdecimal() or int(buffer) not in program.buffers:
            raise reader.refuse([*path, buffer], "one of " + ", ".join(map(str, program.buffers)),
                                buffer)
        if not isinstance(name, str):
            raise reader.refuse([*path, buffer], "the name of a product", name)
    return {int(buffer): name for buffer, name in value.items()}


def planned(file: TiledFile, operands: Callable[[tuple[int, int]], NDArray[np.int8]] | None = None
            ) -> Planned:
    """Each job with its bound beside any job of the other tile, in their order.

    ``operands`` makes a matrix of a shape; None: zeros, which are planned like any other. Raises
    `ValueError` for jobs that cannot be composed (`golden.system.tiled.composed`), and for windows
    that are too short; `NotCovered` and `WcetError` for a job without a bound.
    """
    period, sizes, part = file.period, file.sizes, file.part
    longest = {"simd": max(map(_longest, file.kernels.values(), repeat(part)), default=0),
               "systolic": max(tile_issue_delay(part=part, bursts=sizes["bursts"], write=write)
                               for write in (0, 1)) if file.products else 0}
    for tile, window in zip(TILES, file.windows or (), strict=False):
        least = least_window(part=part, longest=max(1, longest[tile]))
        if window < least:
            raise ValueError(f"the window of {tile} must be at least {least} clocks for a request "
                             f"of {longest[tile]} and a refresh, not {window}")
    wait = {tile: request_wait(part, others=[longest[other]], period=period)
            for tile, other in zip(TILES, reversed(TILES), strict=True)}
    memory = array_memory(part, **{name: sizes[name] for name in ("size", "bursts", "slots")},
                          others=[longest["simd"]], period=period)
    device = array_device(**{name: sizes[name] for name in _DEVICE})
    made = operands or (lambda shape: np.zeros(shape, np.int8))
    places: dict[str, int] = {}
    jobs: dict[str, Job] = {}
    products: dict[str, ArrayProgram] = {}
    kernels: dict[str, Program] = {}
    for name, (product, address) in file.products.items():
        products[name] = plan = product_program(
            name, made((product.m, product.k)), made((product.k, product.n)), device=device,
            memory=memory)
        words = address // WORD_BYTES
        places[name] = address + plan.places[0].result * device.size
        jobs[name] = Job(name, "systolic", array_cycles(plan.commands, device, memory),
                         file.after[name], (range(words, words + plan.memory.size
                                                  // WORD_BYTES),))
    start = kernel_start(compute_ps=file.machine.compute_ps, part=part, period=period)
    for name, (program, grid) in file.kernels.items():
        for buffer, source in file.results[name].items():
            if source not in places:
                raise ValueError(f"buffer {buffer} of {name} must be the result of a product "
                                 f"({', '.join(places) or 'there is none'}), not of {source}")
            if source not in file.after[name]:
                raise ValueError(f"buffer {buffer} of {name} is the result of {source}: its after "
                                 f"must name {source}")
            program = replace(program, buffers={**program.buffers, buffer: replace(
                program.buffers[buffer], address=places[source])})
        kernels[name] = program
        cycles = Analysis(program, _built(grid), part, wait=wait["simd"]).wcet(
            Policy.ACCESS).cycles
        clocks = start + -(-cycles * file.machine.compute_ps // part.tck_ps)
        jobs[name] = Job(name, "simd", clocks, file.after[name], tuple(
            range(buffer.address // WORD_BYTES, buffer.end // WORD_BYTES)
            for buffer in program.buffers.values()))
    ordered = [jobs[name] for name in file.after]
    ends = composed(ordered)
    return Planned(tuple(Bounded(job, longest[job.tile], wait[job.tile], ends[job.name])
                         for job in ordered), products, kernels)


def _built(grid: Grid) -> Grid:
    return replace(grid, machine=as_built(grid.machine))


def _longest(kernel: tuple[Program, Grid], part: Part) -> int:
    """A kernel's longest request: of its accesses, and its program."""
    program, grid = kernel
    delays = [cost.delay for cost in Analysis(program, _built(grid), part).costs.values()
              if cost.resource == "dram"]
    load = -(-len(program.instructions) * 8 // BURST_BYTES)
    return max(tile_issue_delay(part=part, bursts=load, write=0), *delays)
