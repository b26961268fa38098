"""Commands about kernels of the SIMD accelerator."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.isa import Instruction, decode, encode
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import INSTRUCTIONS, Program
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.work_group import Memory
from cyclebound.golden.user_files import bytes_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, Progress, app, console, progress_bars
from cyclebound.sim.cli.kernel_options import (
    ArrayFiles,
    ArrayZeros,
    KernelName,
    KernelPath,
    Settings,
    Threads,
    arrays_of,
    numbers_of,
)
from cyclebound.sim.cli.simd_published import adversary, errata, published, table_5
from cyclebound.sim.cli.simd_scoreboard import score
from cyclebound.sim.cli.simd_wcet import tightness, wcet
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.dataflow.files import load_kernel
from cyclebound.sim.families.simd.authors import FullSize, full_size
from cyclebound.sim.families.simd.compiled import compiled
from cyclebound.sim.families.simd.files import load_memory, load_program, write_results
from cyclebound.sim.families.simd.options import (
    DataRoot,
    GridText,
    KernelFile,
    KernelsFolder,
    MachineName,
    PartName,
    Sizes,
    Timing,
    Width,
    numbered,
    policy_named,
    sizes_of,
    timed_grid,
)
from cyclebound.sim.families.simd.run import SimdRun, check_covers, grid_of, run_kernel
from cyclebound.tools.simd import disassembler, isa_page
from cyclebound.tools.simd.kernel_cases import fill
from cyclebound.tools.simd.kernels import KERNELS, kernel_path

_PART = "ddr4-3200aa-x16"  # of Table 4

simd = Commands(no_args_is_help=True, help=GROUPS["simd"][1])
app.add_typer(simd, name="simd")
for _command in (wcet, tightness, published, errata, adversary):
    simd.command()(_command)
simd.command("table5")(table_5)
simd.command("scoreboard")(score)


@simd.command()
def isa() -> None:
    """The instruction set: every operation with its operands, encoding and timing, in Markdown."""
    print(isa_page.page(), end="")


@simd.command()
def asm(
    kernel: KernelFile,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the instructions, 64 bits each, the lowest "
        "byte first.")] = None,
) -> None:
    """Assemble a kernel: address, bits and text of each instruction.

    Each line in error is reported with file, line, column and rule; the exit status is then 2.
    """
    program = load_program(kernel)
    words = [encode(instruction) for instruction in program.instructions]
    if output is None:
        print(disassembler.listing(program.instructions, words), end="")
        return
    try:
        output.write_bytes(np.array(words, dtype="<u8").tobytes())
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
    print(f"{output}: {len(words)} instructions")


@simd.command("compile")
def compile_kernel(
    file: KernelPath,
    output: Annotated[Path, typer.Option(
        "--output", "-o", metavar="FILE.sas", help="The source in assembly.")],
    data: ArrayFiles = None,
    zeros: ArrayZeros = None,
    settings: Settings = None,
    threads: Threads = None,
    kernel: KernelName = None,
    machine: MachineName = "paper",
    approximate: Annotated[bool, typer.Option(
        "--approximate", help="Quotients and roots of floats by reciprocals, which are wrong in "
        "the last places; a root of infinity is no number, one below 0 negative.")] = False,
) -> None:
    """Compile a kernel in Python or C, as `dataflow run` takes it, to assembly.

        cyclebound simd compile saxpy.py --zeros x=65536 --zeros y=65536 --set a=2.5 -o saxpy.sas
        cyclebound simd wcet saxpy.sas --grid 65536 --width 1024 --listing

    Buffers have the sizes of the arrays; what these hold does not matter. What is printed at last
    bounds the kernel, with the grid and the work-groups' width that it is compiled for. Exit status
    2: something in it has no instructions; the message says what, and where.
    """
    program = load_kernel(file, kernel)
    made = compiled(program, arrays_of(program, data, zeros),
                    constants=numbers_of(program, settings), threads=threads, machine=machine,
                    approximate=approximate)
    try:
        output.write_text(made.text)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
    print(f"{output}: {len(made.program.instructions)} instructions")
    print(shlex.join(["cyclebound", "simd", "wcet", str(output), "--grid", str(made.grid.x),
                      "--width", str(made.grid.width),
                      *(("--machine", machine) if machine != "paper" else ())]))


@simd.command()
def disasm(
    file: Annotated[Path, typer.Argument(
        metavar="FILE", help="Instructions as `asm -o` writes them, or a .sas file.")],
) -> None:
    """Disassemble a binary file into instructions that the assembler reads."""
    if file.suffix == ".sas":
        print(disassembler.source(load_program(str(file))), end="")
        return
    instructions = _decoded(file)
    print(disassembler.listing(instructions, [encode(instruction) for instruction in instructions]),
          end="")


def _decoded(file: Path) -> list[Instruction]:
    """The instructions of a binary file. Raises `UserError`."""
    try:
        content = bytes_in(file)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from None
    if len(content) % 8 or not 8 <= len(content) <= 8 * INSTRUCTIONS:
        raise UserError(f"{file}: a kernel must have 1 to {INSTRUCTIONS} instructions of 8 bytes, "
                        f"not {len(content)} bytes")
    instructions = []
    for index, word in enumerate(np.frombuffer(content, dtype="<u8").tolist()):
        try:
            instructions.append(decode(word))
        except ValueError as error:
            print(f"{file}: instruction {index}: {error}", file=sys.stderr)
    if len(instructions) < len(content) // 8:
        raise UserError(f"{file}: {len(content) // 8 - len(instructions)} of {len(content) // 8} "
                        "patterns are no instructions")
    return instructions


@simd.command()
def kernels() -> None:
    """The installed kernels: name, grid of their buffers' sizes, and the file."""
    for name in KERNELS:
        reference = REFERENCES[name]
        paper = f"  (Sim-D, Table 4: {reference.paper})" if reference.paper else ""
        print(f"{name:20} {reference.x} x {reference.y}{paper}")
        print(f"{'':20} {kernel_path(name)}")


@simd.command()
def table(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="KERNEL", help="Installed kernels; the default is all of Table 4, which takes "
        "minutes.")] = None,
    policies: Annotated[list[str] | None, typer.Option(
        "--policy", "-p", metavar="POLICY", help="Once for each column; the default is "
        "unconstrained, access and compute.")] = None,
    kernels: KernelsFolder = None,
) -> None:
    """Cycles of installed kernels on the cycle model at full size, beside Sim-D's Table 4.

        cyclebound simd table --kernels Sim-D/src/kernels -p unconstrained -p pairwise -p compute

    With --kernels, the authors' kernels on the cycle model with their DRAM front end; policies are
    then compared as in Figure 7. Exit status 2: a kernel cannot be run; the message says why.
    """
    chosen = names or [name for name in KERNELS if REFERENCES[name].cycles]
    columns = [policy_named(name).value
               for name in policies or ("unconstrained", "access", "compute")]
    print(f"| kernel | items | Table 4 | {' | '.join(columns)} | ratio |")
    print("| --- | --- | --- |" + " --- |" * (len(columns) + 1))
    compared, failed = [], False
    with progress_bars() as tell:
        for name in chosen:
            try:
                kernel = full_size(name, kernels)
                counts = [_cycles(kernel, policy, tell) for policy in columns]
            except UserError as error:
                if kernels is None:
                    raise
                print(f"cyclebound: {error}", file=sys.stderr)
                failed = True
                continue
            if kernel.program.scratchpad_buffers:
                compared.append(counts)
            reference = REFERENCES[name]
            paper = f"{reference.cycles:,}" if reference.cycles else ""
            ratio = f"{counts[0] / reference.cycles:.2f}" if reference.cycles else ""
            cycles = " | ".join(f"{cycles:,}" for cycles in counts)
            print(f"| `{name}` | {kernel.grid.x} x {kernel.grid.y} | {paper} | {cycles} | "
                  f"{ratio} |", flush=True)
    if kernels and compared and columns[0] == "unconstrained":
        print(f"\nperformance lost to policies, of {len(compared)} kernels with a scratchpad:")
        for policy, *own_cycles in zip(columns, *compared, strict=True):
            lost = [100 * (1 - row[0] / own) for own, row in zip(own_cycles, compared, strict=True)]
            if policy != columns[0]:
                print(f"{policy:9} {np.mean(lost):5.1f} % on average, {min(lost):.1f} to "
                      f"{max(lost):.1f} %")
    if failed:
        raise typer.Exit(2)


def _cycles(kernel: FullSize, policy: str, tell: Progress) -> int:
    """Cycles of a kernel on the part of Table 4."""
    ran = run_kernel(kernel.program, kernel.grid, kernel.content(), model="cycle", policy=policy,
                     part=_PART, keep=False, timeline=kernel.timeline(part_named(_PART)),
                     tell=lambda step, done, total: tell(f"{kernel.name}, {policy}", done, total))
    assert ran.timed is not None
    return ran.timed.cycles


@simd.command()
def run(
    kernel: KernelFile,
    grid: GridText = None,
    width: Width = None,
    data: Annotated[list[str] | None, typer.Option(
        "--data", "-d", metavar="BUFFER=FILE", help="A buffer's content: .npy, .csv or .txt "
        "(floats), or raw 32-bit words. Once for each buffer; others have what .data names, or "
        "zeros.")] = None,
    data_root: DataRoot = None,
    sizes: Sizes = None,
    policy: Annotated[str, typer.Option(
        "--policy", "-p", metavar="POLICY", help="What may run at the same time: unconstrained, "
        "pairwise, access (scratchpads count as DRAM), compute (scratchpads count as compute), "
        "yield (compute, but after a scratchpad transfer the other work-group is first).")
        ] = "unconstrained",
    model: Annotated[str, typer.Option(
        "--model", "-m", metavar="MODEL", help="golden: the result. cycle: the result, and the "
        "cycles of each phase. rtl: the same from the hardware, simulated.")] = "golden",
    machine: MachineName = "paper",
    timing: Timing = "sim-d",
    part: PartName = "ddr4-3200aa-x16",
    due: Annotated[int | None, typer.Option(
        "--due", metavar="CLOCK", help="The DRAM clock of the kernel in which the first refresh "
        "falls due (--model cycle or rtl); on the RTL up to seven earlier: it begins where both "
        "clocks have an edge. The default: on the cycle model as after reset, on the RTL as it "
        "happens. --json has what it was.")] = None,
    seed: Annotated[int | None, typer.Option(
        "--random", metavar="SEED", help="Random buffer content, for an installed kernel.")] = None,
    check: Annotated[bool, typer.Option(
        "--check", help="Compare with the kernel's mathematics, bit by bit.")] = False,
    limit: Annotated[int, typer.Option(
        "--limit", metavar="N", min=1, help="Instructions of a work-group, at most.")] = 1 << 40,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Write every buffer that the kernel stores to, as "
        "DIR/buffer-N.npy: floats.")] = None,
    integers: Annotated[list[int] | None, typer.Option(
        "--integers", metavar="BUFFER", help="Write this buffer as integers.")] = None,
    chart: Annotated[Path | None, typer.Option(
        "--chart", metavar="FILE", help="Draw which slot occupies which resource when (--model "
        "cycle or rtl): .svg, .png or .pdf.")] = None,
    until: Annotated[int | None, typer.Option(
        "--until", metavar="CYCLE", min=1, help="The last cycle of the chart.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a kernel: its result and, on the cycle model or on the RTL, its time.

        cyclebound simd run saxpy --random 1 --check --model cycle

    With --timing rtl, the cycle model is the machine that `simd wcet` bounds and --model rtl
    simulates: with the --due that the RTL's --json has, it takes the same cycles.

    Exit status 1: it differs from its reference; 2: it cannot be run, or was stopped by a fault.
    """
    if chart is not None and chart.suffix not in FORMATS:
        raise UserError(f"--chart takes a file that ends in {', '.join(FORMATS)}, not {chart}")
    if chart is not None and model == "golden":
        raise UserError("--chart shows when each phase runs, which only --model cycle and --model "
                        "rtl know")
    program = load_program(kernel)
    source = data_root or (Path(kernel).parent if kernel.endswith(".sas") else None)
    try:
        if sizes:
            program = program.with_sizes(sizes_of(sizes))
    except ValueError as error:
        raise UserError(str(error)) from None
    items = grid_of(program, grid, width, machine)
    timed = timed_grid(items, timing)
    if check and not sizes:
        check_covers(program, items)
    files = {number: Path(text) for number, text in numbered("--data", data, "FILE").items()}
    memory = _buffers(program, files, source, items, seed)
    with progress_bars() as tell:
        ran = run_kernel(program, timed if model == "cycle" else items, memory, model=model,
                         policy=policy, part=part, due=due, most=limit, check=check, tell=tell)
    written = [] if output is None else write_results(ran.memory, ran.written, integers or (),
                                                      output)
    if chart is not None and ran.timed is not None:
        from cyclebound.sim.pictures.simd_occupation import figure  # matplotlib takes a second

        write(figure(ran.timed.phases, min(until or ran.timed.cycles, ran.timed.cycles),
                     f"{program.name}, policy {policy}"), chart, "--chart")
        written.append(str(chart))
    if as_json:
        print(json.dumps({
            "kernel": program.name, "model": model, "policy": policy, "machine": machine,
            "grid": [items.x, items.y], "work_groups": items.count, "width": items.width,
            "operations": ran.operations, "written": written, "differs": ran.differs,
            **_times(ran)}, indent=2))
    else:
        _say(ran, f"{program.name}: {items.x} x {items.y} items in {items.count} work-groups of "
             f"{items.width} x {items.height}", written)
    if ran.differs:
        raise typer.Exit(1)


def _buffers(program: Program, files: dict[int, Path], source: Path | None, items: Grid,
             seed: int | None) -> Memory:
    """The buffers before a kernel: from files or ``.data``; with a seed, the others are random."""
    memory = load_memory(program, files, source)
    if seed is not None:
        if program.name not in REFERENCES:
            raise UserError(f"--random fills the buffers of installed kernels, not of "
                            f"{program.name}")
        fill(program.name, memory, items, np.random.default_rng(seed))
        for number, words in load_memory(program, files, source).items():
            if number in files:
                memory[number] = words
    return memory


def _times(ran: SimdRun) -> dict[str, object]:
    """The times of a run for JSON; nothing on the golden model, which has none."""
    timed = ran.timed
    return {} if timed is None else {
        "cycles": timed.cycles, "load": timed.load, "busy": timed.busy,
        "refreshes": timed.refreshes, "due": timed.due, "refreshing": timed.refreshing,
        "phases": [phase._asdict() for phase in timed.phases]}


def _say(ran: SimdRun, head: str, written: list[str]) -> None:
    screen = console()

    def line(text: str, *, style: str | None = None) -> None:
        screen.print(text, highlight=False, markup=False, soft_wrap=True, style=style)

    line(head)
    if ran.operations is not None:
        line(f"{ran.operations} lane operations")
    if ran.timed is not None:
        timed = ran.timed
        shares = ", ".join(f"{name} {cycles / max(timed.cycles, 1):.0%}"
                           for name, cycles in timed.busy.items())
        line(f"{timed.cycles} compute cycles, {timed.load} of them to load the program; busy: "
             f"{shares}; {timed.refreshes} refreshes")
    for path in written:
        line(f"written: {path}")
    if ran.differs is not None:
        for number in ran.differs:
            line(f"buffer {number} is not what the kernel's mathematics make of it", style="red")
        if not ran.differs:
            line("equal to the kernel's mathematics, bit by bit")
