"""Jobs of a user's system on the RTL: what they make, and how long each takes of its bound."""

import contextlib
import dataclasses
import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.dataflow.interpret import interpret
from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.request import BURST_BYTES, WORD_BYTES
from cyclebound.golden.simd.functional import run as run_functional
from cyclebound.golden.simd.isa import encode
from cyclebound.golden.simd.machine import name_of
from cyclebound.golden.simd.program import Buffer, Program
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.work_group import KernelFault
from cyclebound.hdl.simd.accelerator_harness import ROWS
from cyclebound.hdl.system.tiled_harness import TiledHarness
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.identity import identity
from cyclebound.sim.describe.block import Block, Configuration, Testbench
from cyclebound.sim.families.simd.files import load_memory
from cyclebound.sim.families.simd.rtl import stopped
from cyclebound.sim.families.system.jobs import (
    Bounded,
    Planned,
    TiledFile,
    configuration_of,
    planned,
)
from cyclebound.sim.run.followed import followed
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tools.simd.kernel_cases import fill

__all__ = ["RanJob", "TiledRun", "run_tiled"]

_BLOCK = "system.tiled"
_ROW = 1 << 16    # bytes across all banks: each program begins at a row of its own
_QUEUE = 32       # commands, at least
_MOST = 1 << 24   # bytes of DRAM that a run may use

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RanJob:
    """A job as it ran: the clock in which it was started, and those that it took, of its bound."""

    bounded: Bounded
    asked: int
    clocks: int


@dataclass(frozen=True)
class TiledRun:
    """Jobs as they ran, in the order in which they ended; the clocks until a host has seen the last
    one end; and where a result is not what it has to be."""

    jobs: tuple[RanJob, ...]
    clocks: int
    wrong: tuple[str, ...]


class _Image:
    """The DRAM's content, by byte, and which of it any job has."""

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(size, np.uint8)
        self.owned = np.zeros(size, bool)

    def put(self, address: int, content: bytes) -> None:
        """Put what no earlier job has."""
        place = slice(address, address + len(content))
        self.bytes[place] = np.where(self.owned[place], self.bytes[place],
                                     np.frombuffer(content, np.uint8))
        self.owned[place] = True

    def words(self, buffer: Buffer) -> NDArray[np.uint32]:
        """A buffer's, by line and column."""
        return self.bytes[buffer.address:buffer.end].view("<u4").reshape(buffer.y, buffer.x)

    def pieces(self) -> dict[int, NDArray[np.uint8]]:
        """A copy of what jobs have, by its first byte."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], self.owned, [False])).astype(int)))
        ends = edges.reshape(-1, 2)
        return {int(first): self.bytes[first:last].copy() for first, last in ends}


def run_tiled(file: TiledFile, *, seed: int = 1, folder: Path | None = None,
              tell: Tell = lambda step, done, total: None) -> TiledRun:
    """Run the jobs of a system on `system.tiled`; its DRAM is hardware beside it.

    Parameters
    ----------
    seed : int
        Of the products' matrices, the buffers of installed kernels, and the dataflow core's arrays.
    folder : Path or None
        Where the simulation keeps its files; None: a folder that is removed.
    tell : callable
        Is told a step, how much of it is done, and how much there is.

    Raises `UserError`, also for a kernel that a fault stops, and as `planned` does.
    """
    rng = np.random.default_rng(seed)
    plan = planned(file, lambda shape: rng.integers(-128, 128, shape, dtype=np.int8))
    image, programs = _image(file, plan, rng)
    before = image.pieces()
    rows = _rows(before, file)
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ran, after = _simulated(file, plan, programs, before, rows, folder, tell)
    bounds = {one.job.name: one for one in plan.bounds}
    for job in ran["jobs"]:
        if job["fault"]:
            raise UserError(stopped(plan.kernels[job["name"]], file.kernels[job["name"]][1],
                                    job["fault"]) if job["name"] in plan.kernels else
                            f"{job['name']}: " + (
                                "a thread names a word outside of its array"
                                if "outside" in job["fault"] else
                                "DRAM refuses a tile of its buffer"))
    wrong = []
    for job in ran["jobs"]:  # one that it comes after has ended before
        wrong += _expect(job["name"], file, plan, image)
    for address, content in after.items():
        expected = image.bytes[address:address + content.size]
        for at in np.flatnonzero(content != expected)[:1]:
            wrong.append(f"byte {address + at:#x} is {content[at]}, not {expected[at]}")
    return TiledRun(tuple(RanJob(bounds[job["name"]], job["asked"] - ran["begun"], job["clocks"])
                          for job in ran["jobs"]), ran["last"] - ran["begun"], tuple(wrong))


def _image(file: TiledFile, plan: Planned, rng: np.random.Generator
           ) -> tuple[_Image, dict[str, int]]:
    """What is in DRAM before the first job, and where each kernel's program is."""
    ends = [job.stop * WORD_BYTES for one in plan.bounds for job in one.job.uses]
    first = -(-max(ends) // _ROW) * _ROW
    programs = {name: first + number * _ROW for number, name in enumerate(plan.kernels)}
    size = first + _ROW * len(programs)
    if size > _MOST:
        raise UserError(f"the jobs' words end at byte {max(ends):#x}, and their programs come "
                        f"after them: a run has the first {_MOST:#x} bytes of the DRAM only")
    image, operands = _Image(size), dict[str, range]()
    for name in file.after:
        if name in plan.products:
            address, product = file.products[name][1], plan.products[name]
            content = product.memory.astype(np.int8).tobytes()
            span = slice(address, address + len(content))
            if image.owned[span].any():
                raise UserError(f"the words of {name} are an earlier job's, too: `run` fills the "
                                "operands of all products before the first job")
            image.put(address, content)
            operands[name] = range(address, address + product.places[0].result
                                   * file.sizes["size"])
    for name, job in file.threads.items():
        span = slice(job.address, job.address + job.layout.size * WORD_BYTES)
        if image.owned[span].any():
            raise UserError(f"the words of {name} are an earlier job's, too: `run` fills its "
                            "arrays before the first job")
        image.put(job.address, np.array(job.layout.words(job.words(rng)), "<u4").tobytes())
    for name, program in plan.kernels.items():
        for number, buffer in program.buffers.items():
            for other, held in operands.items():
                if buffer.address < held.stop and held.start < buffer.end:
                    raise UserError(f"buffer {number} of {name} has words of {other}'s operands")
        grid = file.kernels[name][1]
        source = file.forms[name][0].source
        memory = load_memory(program, {}, source)
        if source is None and program.name in REFERENCES:
            fill(program.name, memory, grid, rng)
        for number, buffer in program.buffers.items():
            image.put(buffer.address, memory[number].astype("<u4").tobytes())
        image.put(programs[name], np.array([encode(instruction) for instruction
                                            in program.instructions], "<u8").tobytes())
    return image, programs


def _rows(content: Mapping[int, NDArray[np.uint8]], file: TiledFile) -> int:
    """Rows of banks that the harness' DRAM needs a place for."""
    rows = {(place.bank, place.row) for address, held in content.items() for place in (
        place_of(file.part, burst) for burst in range(
            address // BURST_BYTES, -(-(address + held.size) // BURST_BYTES)))}
    return max(ROWS, 1 << (len(rows) - 1).bit_length())


def _expect(name: str, file: TiledFile, plan: Planned, image: _Image) -> list[str]:
    """Change the image as a job has to; says what cannot be."""
    if name in plan.products:
        product, size = plan.products[name], file.sizes["size"]
        [step], at = product.steps, product.places[0].result
        beats = np.zeros(step.layer.result_words(size) * size, np.int8)
        order = step.layer.result_of(np.arange(beats.size).reshape(-1, size), size)
        beats[order] = step.expected  # what is left are columns that the array has beyond n: zeros
        start = file.products[name][1] + at * size
        image.bytes[start:start + beats.size] = beats.view(np.uint8)
        return []
    if name in file.threads:
        job = file.threads[name]
        words = image.bytes[job.address:][:job.layout.size * WORD_BYTES].view("<u4")
        arrays = job.layout.arrays(words.tolist())
        interpret(job.mapped.graph, arrays, job.threads)
        for array, (base, size) in job.layout.buffers.items():
            words[base:base + size] = arrays[array]
        return []
    program, grid = plan.kernels[name], file.kernels[name][1]
    memory = {number: image.words(buffer).copy() for number, buffer in program.buffers.items()}
    try:
        run_functional(program, grid, memory)
    except KernelFault as fault:
        return [f"{name} runs to its end, and the model says: {fault}"]
    for number, buffer in program.buffers.items():
        image.words(buffer)[...] = memory[number]
    return []


def _block(file: TiledFile, plan: Planned, rows: int) -> Block:
    """The system as the file has it, with the testbench for jobs of one's own."""
    block = catalogue.load().find(_BLOCK)
    jobs = block.testbench("jobs")
    commands = max((len(product.commands) for product in plan.products.values()), default=0)
    own = {"machine": name_of(file.machine), "part": file.part_name, **file.sizes,
           "queue_depth": max(_QUEUE, 1 << (commands - 1).bit_length()),
           **({"windows": list(file.windows)} if file.windows else {}),
           **({"fabric": file.fabric} if file.fabric else {})}
    testbench = Testbench("user", "cyclebound.tb.system.tiled_user", observes=False,
                          compares=False, max_cycles=1 << 40, checker=jobs.checker,
                          top=functools.partial(TiledHarness, rows=rows))
    return dataclasses.replace(block, configurations={"own": Configuration(own)},
                               testbenches=(testbench,))


def _simulated(file: TiledFile, plan: Planned, programs: Mapping[str, int],
               content: Mapping[int, NDArray[np.uint8]], rows: int, folder: Path, tell: Tell
               ) -> tuple[dict[str, Any], dict[int, NDArray[np.uint8]]]:
    """What the testbench says of the jobs, and the content of DRAM after them."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("ran.json", "after.npz", "progress.json"):
        (folder / old).unlink(missing_ok=True)
    jobs: list[dict[str, Any]] = []
    for name, after in file.after.items():
        job: dict[str, Any] = {"name": name, "after": after}
        if name in plan.products:
            product = plan.products[name]
            job |= {"tile": "systolic", "address": file.products[name][1],
                    "words": product.memory.size // WORD_BYTES,
                    "commands": [dict(command) for command in product.commands]}
        elif name in file.threads:
            own = file.threads[name]
            job |= {"tile": "dataflow", "address": own.address,
                    "words": own.span, "configuration": configuration_of(own, file)}
        else:
            program, grid = plan.kernels[name], file.kernels[name][1]
            job |= {"tile": "simd", "address": programs[name],
                    "words": [encode(instruction) for instruction in program.instructions],
                    "grid": [grid.x, grid.y, grid.width], **_listed(program)}
        jobs.append(job)
    (folder / "system.json").write_text(json.dumps(jobs, default=int))
    given: dict[str, Any] = {str(address): held for address, held in content.items()}
    np.savez(folder / "content.npz", **given)
    block = _block(file, plan, rows)
    parameters = block.configuration("own")[1].parameters
    block.make(parameters)  # or it says why there is no such one
    with followed(folder / "progress.json", tell, lambda done, _: ("jobs", done, len(jobs))):
        outcome = simulate(block, Job(_BLOCK, "own", "user", 1, str(folder),
                                      wall_limit=7 * 86400.0),
                           identity=identity((), _BLOCK, parameters, rows, "user"))
    if not outcome.passed:
        raise UserError(f"the simulation failed: {outcome.reason}")
    with np.load(folder / "after.npz") as kept:
        return (json.loads((folder / "ran.json").read_text()),
                {int(address): kept[address] for address in kept.files})


def _listed(program: Program) -> dict[str, dict[int, list[int]]]:
    return {name: {number: [buffer.address, buffer.x, buffer.y] for number, buffer in kept.items()}
            for name, kept in (("buffers", program.buffers),
                               ("scratchpad_buffers", program.scratchpad_buffers))}
