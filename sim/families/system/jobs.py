"""Systems of tiles from a user's file: jobs, their bounds, and when all have ended.

    part = "ddr4-3200aa-x16"
    machine = "small"           # of the SIMD accelerator
    size = 4                    # rows and columns of the systolic array
    windows = [740, 740]        # TDMA: of SIMD and systolic accelerator; left out: turns
                                # with a dataflow core, a third one

    [[job]]
    name = "product"
    product = [48, 24, 16]      # m, k, n: on the systolic accelerator
    address = 0x80000           # bytes; its operands and result follow each other from there

    [[job]]
    name = "sums"
    kernel = "sums.sas"         # on the SIMD accelerator; beside the file, or installed
    grid = [192]
    buffers = {0 = "product"}   # buffer 0 is that job's result; of threads, "add.z" is array z
    after = ["product"]

    [[job]]
    name = "add"
    dataflow = "vector_add"     # on the dataflow core: installed, or a file beside this one
    threads = 64
    address = 0x100000          # bytes; its arrays follow each other from there
    arrays = {x = "x.npy"}      # a file, or a number of elements; left out: one for each thread
    constants = {}
    deadline = 20_000           # clocks from the start, of any job
    or = [{kernel = "vector_add", grid = [64]}]  # other forms, for `cyclebound system map`
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.dataflow.grid import Grid as DataflowGrid
from cyclebound.golden.dataflow.kernel import Floats, Kernel
from cyclebound.golden.dataflow.kernels import KERNELS as INSTALLED
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.memory import kernel_arrays
from cyclebound.golden.dataflow.run import Layout, check_run
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.client_bounds import least_window
from cyclebound.golden.dram.request import ADDRESS_BITS, BURST_BYTES, BURST_WORDS, WORD_BYTES
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.machine import Grid, Machine, as_built, machine_named
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.system.fabric import FABRIC, fabric_job, fabric_times, longest_line
from cyclebound.golden.system.tiled import (
    Job,
    array_cycles,
    array_device,
    array_memory,
    check_product,
    composed,
    kernel_start,
    product_program,
    request_wait,
)
from cyclebound.golden.systolic.accelerator_network import Program as ArrayProgram
from cyclebound.golden.systolic.layers import Product
from cyclebound.hdl.dataflow.core import Core
from cyclebound.hdl.systolic.dram_memory import DramMemory
from cyclebound.sim.families.dataflow.files import load_kernel, read_array
from cyclebound.sim.families.simd.files import load_program
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.gpu.toml_text import Reader, load_toml
from cyclebound.tools.simd.wcet.analysis import Analysis

__all__ = ["SYSTEM_EXAMPLE", "Bounded", "Form", "Planned", "Planner", "Threads", "TiledFile",
           "configuration_of", "longest_request", "parse_tiled", "planned"]

TILES = "simd", "systolic", "dataflow"
_KINDS = (("product", "address"), ("kernel", "grid", "buffers"),
          ("dataflow", "threads", "address", "arrays", "constants"))  # of jobs, with their names
_ANY = "name", "after", "deadline", "or"  # what any job may have
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
class Threads:
    """A kernel on the dataflow core: its graph on the grid, how many threads run it, its arrays
    (None: as many random elements), and the byte from which on these lie."""

    kernel: Kernel
    mapped: Mapped
    threads: int
    arrays: Mapping[str, NDArray | int]
    address: int

    @property
    def layout(self) -> Layout:
        """Of the arrays, from the first one's word on."""
        return Layout.of({name: np.empty(array) if isinstance(array, int) else array
                          for name, array in self.arrays.items()})

    @property
    def span(self) -> int:
        """Words of the lines that the arrays lie in; one line at least."""
        return max(1, -(-self.layout.size // BURST_WORDS)) * BURST_WORDS

    def words(self, rng: np.random.Generator) -> dict[str, NDArray[np.uint32]]:
        """The arrays; random integers name elements of an array with one for each thread."""
        made = {}
        for name, array in self.arrays.items():
            if isinstance(array, int):
                array = (rng.standard_normal(array).astype(np.float32)
                         if self.kernel.parameters[name] is Floats
                         else rng.integers(0, self.threads, array))
            made[name] = array
        return kernel_arrays(self.kernel, made)


@dataclass(frozen=True)
class Form:
    """A job as one kind of tile runs it.

    Attributes
    ----------
    product : tuple of Product and int, or None
        On the systolic accelerator; the byte from which on its words lie.
    kernel : tuple of Program and Grid, or None
        On the SIMD accelerator.
    results : mapping
        Of a kernel: buffers that are a product's result.
    source : Path or None
        Of a kernel: its file's folder; None: it is installed.
    threads : Threads or None
        On the dataflow core.
    """

    product: tuple[Product, int] | None = None
    kernel: tuple[Program, Grid] | None = None
    results: Mapping[int, str] = field(default_factory=dict)
    source: Path | None = None
    threads: Threads | None = None

    @property
    def tile(self) -> str:
        return "simd" if self.kernel else "systolic" if self.product else "dataflow"


@dataclass(frozen=True)
class TiledFile:
    """A system and its jobs, as a file has them.

    Attributes
    ----------
    fabric : mapping or None
        Parameters of the dataflow core, if there is one.
    forms : mapping
        Of every job, in their order, the forms that it may have. It has the first one unless
        another is chosen (`chosen`).
    after, deadlines : mapping
        Jobs that have ended before each one; clocks from the start, of those that have any.
    """

    part: Part
    part_name: str
    machine: Machine
    sizes: Mapping[str, int]
    windows: tuple[int, ...] | None
    fabric: Mapping[str, Any] | None
    forms: Mapping[str, tuple[Form, ...]]
    after: Mapping[str, tuple[str, ...]]
    deadlines: Mapping[str, int]

    @property
    def period(self) -> int:
        return sum(self.windows or ())

    @property
    def tiles(self) -> tuple[str, ...]:
        return TILES if self.fabric else TILES[:2]

    @functools.cached_property
    def products(self) -> dict[str, tuple[Product, int]]:
        return {name: form.product for name, (form, *_) in self.forms.items() if form.product}

    @functools.cached_property
    def kernels(self) -> dict[str, tuple[Program, Grid]]:
        return {name: form.kernel for name, (form, *_) in self.forms.items() if form.kernel}

    @functools.cached_property
    def threads(self) -> dict[str, Threads]:
        return {name: form.threads for name, (form, *_) in self.forms.items() if form.threads}

    def chosen(self, forms: Mapping[str, int], after: Mapping[str, tuple[str, ...]]) -> "TiledFile":
        """The system whose jobs have these of their forms, in the order of ``after``."""
        return replace(self, forms={name: (self.forms[name][forms[name]],) for name in after},
                       after=after)


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
    reader.table([], tables, ("part", "machine", "windows", "job", "fabric", *_SIZES))
    part_name = reader.text(["part"], tables, default=_PART)
    part = reader.at(["part"], part_named, part_name)
    machine = reader.at(["machine"], machine_named,
                        reader.text(["machine"], tables, default="small"))
    sizes = {name: reader.number([name], tables, default) for name, default in _SIZES.items()}
    reader.at(["size"], array_device, **{name: sizes[name] for name in _DEVICE})
    reader.at(["size"], DramMemory, **{name: sizes[name] for name in _MEMORY})
    listed = reader.tables(["job"], tables.get("job"))
    fabric = _fabric(reader, tables, any(map(_has_threads, listed)))
    tiles = TILES if fabric else TILES[:2]
    windows = tables.get("windows")
    if windows is not None and not (isinstance(windows, list) and len(windows) == len(tiles)
                                    and all(type(window) is int for window in windows)):
        raise reader.refuse(["windows"], f"{len(tiles)} whole numbers, of {', '.join(tiles)}",
                            windows)
    forms: dict[str, tuple[Form, ...]] = {}
    after: dict[str, tuple[str, ...]] = {}
    deadlines: dict[str, int] = {}
    for number, entry in enumerate(listed):
        path = ["job", number]
        table = reader.table(path, entry, (*_ANY, *(name for kind in _KINDS for name in kind)))
        name = reader.text([*path, "name"], table)
        if name in after:
            raise reader.refuse([*path, "name"], "a name of its own", name)
        if "." in name:  # as in a.x, array x of job a
            raise reader.refuse([*path, "name"], "a name without a point", name)
        after[name] = tuple(_texts(reader, [*path, "after"], table))
        if "deadline" in table:
            deadlines[name] = reader.number([*path, "deadline"], table)
            if deadlines[name] < 1:
                raise reader.refuse([*path, "deadline"], "at least 1", deadlines[name])
        one = functools.partial(_form, reader, name=name, machine=machine,
                                fabric=fabric or FABRIC, folder=folder)
        others = (reader.tables([*path, "or"], table["or"]) if "or" in table else [])
        forms[name] = (one(path, table, also=_ANY), *(
            one([*path, "or", other], form) for other, form in enumerate(others)))
    for number, ways in enumerate(forms.values()):
        for way, form in enumerate(ways):
            for buffer, source in form.results.items():
                if len(forms.get(source.partition(".")[0], ())) > 1:
                    raise reader.refuse(
                        ["job", number, *(["or", way - 1] if way else []), "buffers", str(buffer)],
                        "the result of a job of one form, since others have theirs in several "
                        "places", source)
    return TiledFile(part, part_name, machine, sizes, None if windows is None else tuple(windows),
                     fabric, forms, after, deadlines)


def _form(reader: Reader, path: list, entry: object, *, name: str, machine: Machine,
          fabric: Mapping[str, Any], folder: Path, also: tuple[str, ...] = ()) -> Form:
    """A form of a job; its table may have these names, too."""
    table = reader.table(path, entry, (*also, *(name for kind in _KINDS for name in kind)))
    kinds = [kind for kind in _KINDS if kind[0] in table]
    if len(kinds) != 1:
        raise reader.refuse(path, "a table with one of product, kernel and dataflow", table)
    reader.table(path, entry, (*also, *kinds[0]))
    if "product" in table:
        extents = _numbers(reader, [*path, "product"], table, (3,))
        return Form(product=(reader.at([*path, "product"], _product, name, extents),
                             _address(reader, path, table)))
    if "dataflow" in table:
        return Form(threads=_threads(reader, path, table, fabric, folder))
    file = reader.text([*path, "kernel"], table)
    own = file.endswith(".sas")
    program = load_program(str(folder / file) if own else file)
    extents = _numbers(reader, [*path, "grid"], table, (1, 2))
    return Form(kernel=(program, reader.at([*path, "grid"], _grid, extents, machine)),
                results=_results(reader, [*path, "buffers"], table, program),
                source=(folder / file).parent if own else None)


def _has_threads(entry: object) -> bool:
    """Whether a job may run on the dataflow core."""
    if not isinstance(entry, dict):
        return False
    others = entry.get("or")
    return "dataflow" in entry or (isinstance(others, list) and any(map(_has_threads, others)))


def _fabric(reader: Reader, tables: Mapping, needed: bool) -> Mapping[str, Any] | None:
    """Parameters of the dataflow core; None: the file has none."""
    if not needed and "fabric" not in tables:
        return None
    table = reader.table(["fabric"], tables.get("fabric", {}), tuple(FABRIC))
    fabric = {**FABRIC, **table}
    for name, kept in FABRIC.items():
        kind = str if name == "rows" else type(kept)
        if name in table and type(table[name]) is not kind:
            raise reader.refuse(["fabric", name], "a whole number" if kind is int else
                                "a text, like SLLL/SCKL/LLLT" if name == "rows" else "a text",
                                table[name])
    if "rows" in table:
        fabric["rows"] = tuple(table["rows"].split("/"))
    reader.at(["fabric"], Core, line=BURST_WORDS, **fabric)
    return fabric


def _address(reader: Reader, path: list, table: Mapping) -> int:
    """A job's first byte."""
    address = reader.number([*path, "address"], table)
    if address < 0 or address % BURST_BYTES:
        raise reader.refuse([*path, "address"], f"a multiple of {BURST_BYTES}", address)
    return address


def _threads(reader: Reader, path: list, table: Mapping, fabric: Mapping[str, Any], folder: Path
             ) -> Threads:
    """A kernel for the dataflow core."""
    file = reader.text([*path, "dataflow"], table)
    if Path(file).suffix:
        kernel = load_kernel(folder / file)
    elif file in INSTALLED:
        kernel = INSTALLED[file]
    else:
        raise reader.refuse([*path, "dataflow"], f"a file, or one of {', '.join(INSTALLED)}", file)
    count = reader.number([*path, "threads"], table)
    runs = functools.partial(check_run, threads=count, **{
        name: fabric[name] for name in ("depth", "tid_width", "address_width")})
    reader.at([*path, "threads"], runs)
    constants = table.get("constants", {})
    if not isinstance(constants, dict):
        raise reader.refuse([*path, "constants"], "a table", constants)
    given = reader.table([*path, "arrays"], table.get("arrays", {}), tuple(kernel.arrays))
    arrays: dict[str, NDArray | int] = {}
    for name in kernel.arrays:
        value = given.get(name, count)
        if isinstance(value, str):
            arrays[name] = read_array(folder / value, floats=kernel.parameters[name] is Floats)
        elif type(value) is int and value >= 0:
            arrays[name] = value
        else:
            raise reader.refuse([*path, "arrays", name], "a file, or a number of elements", value)
    mapped = reader.at([*path, "dataflow"], _mapped, kernel, constants, fabric)
    job = Threads(kernel, mapped, count, arrays, _address(reader, path, table))
    reader.at([*path, "threads"], runs, words=job.layout.size)
    reader.at([*path, "arrays"], job.words, np.random.default_rng(1))  # or it says what is wrong
    return job


def _mapped(kernel: Kernel, constants: Mapping[str, float], fabric: Mapping[str, Any]) -> Mapped:
    return map_graph(compile_kernel(kernel, **constants), DataflowGrid(fabric["rows"]))


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
    """Each job with its bound beside any job of the other tiles, in their order.

    ``operands`` makes a matrix of a shape; None: zeros, which are planned like any other. Raises
    `ValueError` for jobs that cannot be composed (`golden.system.tiled.composed`), and for windows
    that are too short; `NotCovered` and `WcetError` for a job without a bound.
    """
    longest = dict.fromkeys(TILES, 0)
    for form, *_ in file.forms.values():
        longest[form.tile] = max(longest[form.tile], longest_request(form, file))
    plan = Planner(file, longest, operands)
    ordered = [plan.job(name, form) for name, (form, *_) in file.forms.items()]
    ends = composed(ordered)
    return Planned(tuple(Bounded(job, longest[job.tile], plan.wait[job.tile], ends[job.name])
                         for job in ordered), plan.products, plan.kernels)


def longest_request(form: Form, file: TiledFile) -> int:
    """The longest request that a job makes, in clocks.

    A kernel's is of its accesses, and its program. Raises as `planned` does.
    """
    part = file.part
    if form.product:
        return max(tile_issue_delay(part=part, bursts=file.sizes["bursts"], write=write)
                   for write in (0, 1))
    if form.threads:
        return longest_line(part)
    assert form.kernel is not None
    program, grid = form.kernel
    delays = [cost.delay for cost in Analysis(program, _built(grid), part).costs.values()
              if cost.resource == "dram"]
    load = -(-len(program.instructions) * 8 // BURST_BYTES)
    return max(tile_issue_delay(part=part, bursts=load, write=0), *delays)


class Planner:
    """Bounds of jobs where the longest request of each tile is known.

    Parameters
    ----------
    longest : mapping
        Of each tile, in clocks; 0: it has no jobs.
    operands : callable or None
        As for `planned`.

    Attributes
    ----------
    wait : mapping
        How long a request of each tile waits at most, in clocks.
    products, kernels : mapping
        What `Planned` has of the jobs that were planned.

    Raises `ValueError` for a window that is too short.
    """

    def __init__(self, file: TiledFile, longest: Mapping[str, int],
                 operands: Callable[[tuple[int, int]], NDArray[np.int8]] | None = None) -> None:
        for tile, window in zip(file.tiles, file.windows or (), strict=False):
            least = least_window(part=file.part, longest=max(1, longest[tile]))
            if window < least:
                raise ValueError(f"the window of {tile} must be at least {least} clocks for a "
                                 f"request of {longest[tile]} and a refresh, not {window}")
        self._file, self._longest = file, longest
        others = {tile: tuple(longest[other] for other in file.tiles if other != tile)
                  for tile in file.tiles}
        self.wait = {tile: request_wait(file.part, others=others[tile], period=file.period)
                     for tile in file.tiles}
        self._memory = array_memory(
            file.part, **{name: file.sizes[name] for name in ("size", "bursts", "slots")},
            others=others["systolic"], period=file.period)
        self._device = array_device(**{name: file.sizes[name] for name in _DEVICE})
        self._start = kernel_start(compute_ps=file.machine.compute_ps, part=file.part,
                                   others=len(file.tiles) - 1, period=file.period)
        self._operands = operands or (lambda shape: np.zeros(shape, np.int8))
        self.products: dict[str, ArrayProgram] = {}
        self.kernels: dict[str, Program] = {}

    def job(self, name: str, form: Form) -> Job:
        """A job with its bound. Raises `ValueError` for words beyond the DRAM, and for a buffer
        that is no result of a job before; `NotCovered` and `WcetError` where there is no bound."""
        job = (self._product(name, *form.product) if form.product else
               self._threads(name, form.threads) if form.threads else
               self._kernel(name, form))
        words = min(self._file.part.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
        end = max((used.stop for used in job.uses), default=0)
        if end > words:
            raise ValueError(f"what {name} uses must end within the DRAM's "
                             f"{words * WORD_BYTES:,} bytes, not at {end * WORD_BYTES:,}")
        return job

    def _program(self, product: Product) -> ArrayProgram:
        """A product's commands, made once: its operands may be random."""
        if product.name not in self.products:
            check_product(product.m, product.k, product.n, self._device)
            self.products[product.name] = product_program(
                product.name, self._operands((product.m, product.k)),
                self._operands((product.k, product.n)), device=self._device, memory=self._memory)
        return self.products[product.name]

    def _product(self, name: str, product: Product, address: int) -> Job:
        plan = self._program(product)
        first = address // WORD_BYTES
        return Job(name, "systolic", array_cycles(plan.commands, self._device, self._memory),
                   self._file.after[name], (range(first, first + plan.memory.size // WORD_BYTES),))

    def _threads(self, name: str, job: Threads) -> Job:
        """From the configuration's first word, one in each clock."""
        file, longest = self._file, self._longest
        assert file.fabric is not None
        other, array = longest["simd"], longest["systolic"]
        known = fabric_times(job.mapped, job.layout, threads=job.threads, part=file.part,
                             others=(other, array), period=file.period, **file.fabric)
        clocks = fabric_job(part=file.part, **known, other=other, array=array, period=file.period,
                            before=0)
        first = job.address // WORD_BYTES
        return Job(name, "dataflow", len(configuration_of(job, file)) + clocks, file.after[name],
                   (range(first, first + job.span),))

    def _kernel(self, name: str, form: Form) -> Job:
        assert form.kernel is not None
        file, (program, grid) = self._file, form.kernel
        for buffer, source in form.results.items():
            place = self._place(source)
            if place is None:
                raise ValueError(f"buffer {buffer} of {name} must be the result of a job "
                                 f"({', '.join(self._sources()) or 'there is none'}), not of "
                                 f"{source}")
            maker = source if source in file.after else source.rpartition(".")[0]
            if maker not in file.after[name]:
                raise ValueError(f"buffer {buffer} of {name} is the result of {maker}: its after "
                                 f"must name {maker}")
            program = replace(program, buffers={**program.buffers, buffer: replace(
                program.buffers[buffer], address=place)})
        self.kernels[name] = program
        cycles = Analysis(program, _built(grid), file.part, wait=self.wait["simd"]).wcet(
            Policy.ACCESS).cycles
        clocks = self._start + -(-cycles * file.machine.compute_ps // file.part.tck_ps)
        return Job(name, "simd", clocks, file.after[name], tuple(
            range(buffer.address // WORD_BYTES, buffer.end // WORD_BYTES)
            for buffer in program.buffers.values()))

    def _sources(self) -> list[str]:
        """What a kernel's buffer may be."""
        return [*self._file.products, *(f"{name}.{array}" for name, job in
                                        self._file.threads.items() for array in job.arrays)]

    def _place(self, source: str) -> int | None:
        """The byte where a result begins; None: it is none."""
        if source in self._file.products:
            product, address = self._file.products[source]
            return (address + self._program(product).places[0].result
                    * self._file.sizes["size"])
        name, _, array = source.partition(".")
        if name in self._file.threads and array in self._file.threads[name].arrays:
            job = self._file.threads[name]
            return job.address + job.layout.buffers[array][0] * WORD_BYTES
        return None


def configuration_of(job: Threads, file: TiledFile) -> list[int]:
    """The words that the dataflow core takes."""
    assert file.fabric is not None
    return job.mapped.words(job.threads, job.layout.buffers, **{
        name: file.fabric[name] for name in ("tid_width", "address_width")})


def _built(grid: Grid) -> Grid:
    return replace(grid, machine=as_built(grid.machine))
