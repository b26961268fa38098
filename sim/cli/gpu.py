"""Commands about CUDA kernels: occupancy, worst-case estimates and bounds, streams, mappings."""

import functools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.gpu.compute_capability import CAPABILITIES, ComputeCapability, capability
from cyclebound.golden.gpu.heterogeneous import Cell, best_mapping, table_of
from cyclebound.golden.gpu.instruction import Kernel
from cyclebound.golden.gpu.occupancy import (
    BlockResources,
    calculator_tables,
    check_carve_out,
    occupancy,
)
from cyclebound.golden.gpu.opcodes import KINDS, OPCODES, THESIS_DELAYS, opcode_of
from cyclebound.golden.gpu.safe_bound import Machine, NotSafe, kernel_bound, machine_of
from cyclebound.golden.gpu.stream_bounds import stream_bounds
from cyclebound.golden.gpu.streams import simulate
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS, strict
from cyclebound.golden.gpu.thesis_wcet import (
    CONSTANT_RULES,
    PIPELINES,
    READ_ONLY,
    SATURATED_MEMORY,
    WARP_RULES,
    MemoryDelays,
    Options,
    active_warps,
    estimate,
)
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.shape import shown
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, app, console, named_values
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.gpu.estimate import (
    differences,
    plain,
    ranges,
    thesis_bound,
    thesis_estimate,
    thesis_kernel,
)
from cyclebound.sim.families.gpu.files import (
    check_opcodes,
    read_kernel,
    read_kernels,
    read_latencies,
    read_launch,
    read_usage,
    reading,
)
from cyclebound.sim.families.gpu.nvcc import SOURCE, compiled
from cyclebound.sim.families.gpu.page import Grid, Page
from cyclebound.sim.families.gpu.trace import trace_of
from cyclebound.tools.gpu.annotate import missing_opcodes, thesis_steps
from cyclebound.tools.gpu.layer_file import LAYER_EXAMPLE, parse_system
from cyclebound.tools.gpu.listing import SYNTAXES, listing_of_steps
from cyclebound.tools.gpu.stream_file import EXAMPLES, parse_streams
from cyclebound.tools.gpu.stream_search import search

gpu = Commands(no_args_is_help=True, help=GROUPS["gpu"][1] + """

Start with `cyclebound gpu occupancy --threads 256`, then `cyclebound gpu thesis`.
Everything here is computed from models: nothing was measured on a GPU by this project.""")
app.add_typer(gpu, name="gpu")

Html = Annotated[Path | None, typer.Option(
    "--html", metavar="FILE", help="Write tables and pictures as one HTML page.")]
PictureFile = Annotated[Path | None, typer.Option(
    "--picture", metavar="FILE", help="Draw it: .svg, .png or .pdf.")]
Capability = Annotated[str, typer.Option(
    "--capability", "-c", metavar="CC", help=f"Compute capability: {', '.join(CAPABILITIES)}; "
    "sm_80 is understood too.")]
KernelCapability = Annotated[str | None, typer.Option(
    "--capability", "-c", metavar="CC", help=f"Compute capability: {', '.join(CAPABILITIES)}, or "
    "as in sm_80; the default is the listing's, or 8.0 where it names none.")]
CarveOut = Annotated[int | None, typer.Option(
    "--carve-out", metavar="BYTES", help="Shared memory of an SM as configured; the default is "
    "the largest. The thesis's Table 5.3 has 65536.")]
Listing = Annotated[Path, typer.Argument(
    metavar="FILE", help="The output of `cuobjdump -sass` or `nvdisasm`, sm_70 to sm_121; or CUDA "
    "C++ (.cu), compiled for --capability where nvcc is installed (extra `cuda`).")]
KernelName = Annotated[str | None, typer.Option(
    "--kernel", "-k", metavar="NAME", help="The function, if the listing has several.")]
GridSize = Annotated[str, typer.Option(
    "--grid", "-g", metavar="XxYxZ", help="Blocks of the grid, as 216 or 8x1x2.")]
BlockSize = Annotated[str, typer.Option(
    "--block", "-b", metavar="XxYxZ", help="Threads of a block, as 128 or 8x8.")]
Sms = Annotated[int, typer.Option("--sms", metavar="N", help="SMs of the device: 108 in an A100.")]
UsageFile = Annotated[Path | None, typer.Option(
    "--res-usage", metavar="FILE", help="The output of `cuobjdump -res-usage` or `nvcc "
    "-res-usage`: registers and shared memory.")]
Registers = Annotated[int | None, typer.Option(
    "--registers", "-r", metavar="N", help="Registers of a thread, without such a file.")]
DynamicShared = Annotated[int, typer.Option(
    "--shared", "-s", metavar="BYTES", help="Shared memory of a block, besides what --res-usage "
    "says: the launch's dynamic part.")]
Latencies = Annotated[Path | None, typer.Option(
    "--latencies", "-l", metavar="FILE", help="Delays and opcodes of your own, in TOML: see "
    "`cyclebound gpu latencies --help`.")]
ConstantRule = Annotated[str | None, typer.Option(
    "--constants", metavar="RULE", help="When a constant is new: " + "; ".join(
        f"{name}: {says}" for name, says in CONSTANT_RULES.items()) + ".")]
Alpha = Annotated[str | None, typer.Option(
    metavar="A", help="A pipeline saturates with more than A times the average instructions, "
    "as 2 or 13/6.")]
Warps = Annotated[str | None, typer.Option(
    "--warps", metavar="W", help="Active warps: a number, or a rule. " + "; ".join(
        f"{name}: {says}" for name, says in WARP_RULES.items()) + ".")]
SaturatedMemory = Annotated[str | None, typer.Option(
    "--saturated-memory", metavar="RULE", help="What counts if a pipeline saturates: " + "; ".join(
        f"{name}: {says}" for name, says in SATURATED_MEMORY.items()) + ".")]
CountedPipelines = Annotated[str | None, typer.Option(
    "--pipelines", metavar="P,P", help="Pipelines that are counted for the average, of "
    f"{', '.join(PIPELINES)}; the empty ones are left out.")]
ReadOnly = Annotated[str | None, typer.Option(
    "--read-only", metavar="RULE", help="A load through the read-only path takes: " + "; ".join(
        f"{name}: {says}" for name, says in READ_ONLY.items()) + ".")]
P = ParamSpec("P")
T = TypeVar("T")

Branch = Annotated[str | None, typer.Option(
    "--branch", metavar="B", help="Take the `saturated` or `unsaturated` branch without the test.")]


def _fraction(option: str, text: str) -> Fraction:
    """A number or a fraction; no exponents, whose numbers could exceed all memory."""
    try:
        if len(text) > 20 or "e" in text.lower():
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UserError(f"{option} takes a number or a fraction, not {shown(text)}") from None


def options_of(base: Options, *, constants: str | None, alpha: str | None, warps: str | None,
               saturated_memory: str | None, pipelines: str | None, read_only: str | None,
               branch: str | None, streaming: bool | None = None) -> Options:
    """``base`` with what the command line names. Raises `UserError`."""
    changes: dict[str, object] = {name: value for name, value in (
        ("constants", constants), ("saturated_memory", saturated_memory), ("branch", branch),
        ("read_only", read_only), ("streaming", streaming)) if value is not None}
    if pipelines is not None:
        changes["pipelines"] = tuple(name for name in pipelines.split(",") if name)
    if alpha is not None:
        changes["alpha"] = _fraction("--alpha", alpha)
    if warps is not None:
        changes["warps"] = int(warps) if warps.isdecimal() and len(warps) < 12 else warps
    return checked(replace, base, **changes)


def checked(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """The result of a model; its `ValueError` becomes a `UserError`."""
    try:
        return function(*arguments, **named)
    except NotSafe:
        raise
    except ValueError as error:
        raise UserError(str(error)) from None


def check_files(html: Path | None, picture: Path | None = None) -> None:
    """Refuse a wrong format or a missing folder before anything is computed."""
    if picture is not None and picture.suffix not in FORMATS:
        raise UserError(f"--picture takes a file that ends in {', '.join(FORMATS)}, not {picture}")
    for path in (html, picture):
        if path is not None and not path.parent.is_dir():
            raise UserError(f"cannot write {path}: no folder {path.parent}")


def deliver(page: Page, data: object, *, as_json: bool, html: Path | None,
            picture: Path | None = None) -> None:
    """Print a page or its data, and write the files that were asked for."""
    if picture is not None:
        write(page.figures[0], picture, "--picture")
    if html is not None:
        page.write(html)
    if as_json:
        print(json.dumps(data, indent=2))
    else:
        page.show(console())


@gpu.command("occupancy")
def show_occupancy(
    threads: Annotated[int, typer.Option(
        "--threads", "-t", metavar="N", help="Threads of a block.")],
    registers: Annotated[int, typer.Option(
        "--registers", "-r", metavar="N", help="Registers of a thread: REG of `cuobjdump "
        "-res-usage`.")] = 32,
    shared: Annotated[int, typer.Option(
        "--shared", "-s", metavar="BYTES", help="Shared memory of a block, static and dynamic; "
        "what the runtime adds is added here.")] = 0,
    cc: Capability = "8.0",
    carve_out: CarveOut = None,
    tables: Annotated[bool, typer.Option(
        "--tables", help="All values over block size, registers and shared memory.")] = False,
    picture: PictureFile = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """How many blocks and warps of a kernel one SM holds, and which resource limits them.

        cyclebound gpu occupancy --threads 64 --registers 64 \\
            --carve-out 65536 --picture occupancy.svg

    The scarcest of three resources decides: places for warps and blocks, registers (allocated by
    warp, in units of 256), and shared memory (in units of 128 bytes with the runtime's 1,024).
    Exit status 1: the kernel does not launch.
    """
    check_files(html, picture)
    limits = checked(capability, cc)
    block = BlockResources(threads, registers, shared)
    carve_out = checked(check_carve_out, carve_out, limits)
    resident = checked(occupancy, block, limits, carve_out=carve_out)
    rows = list(calculator_tables(block, limits, carve_out=carve_out)) if (
        tables or picture or html) else []
    page = Page(f"Occupancy, compute capability {limits.name}")
    page.grids.append(Grid("", ("resource", "blocks it allows", "limits"), [
        (name, most, "yes" if name in resident.limits else "")
        for name, most in resident.by.items()]))
    page.sentences.append(
        f"{resident.blocks} block(s), {resident.warps} of {limits.warps} warps "
        f"({resident.share:.0%}) in an SM with {carve_out} bytes of shared memory; limited by "
        f"{' and '.join(resident.limits)}."
        if resident.blocks else
        f"The kernel does not launch: {' and '.join(resident.limits)} allow(s) no block.")
    if tables or html:
        page.grids += [Grid(f"Warps over {over}", ("value", "carve-out", "warps"), [
            (row.value, row.carve_out, row.warps) for row in rows if row.over == over])
            for over in ("threads", "registers", "shared")]
    if picture or html:
        from cyclebound.sim.pictures.gpu_occupancy import figure  # matplotlib takes a second
        page.figures.append(figure(rows, block, limits, carve_out))
    deliver(page, {
        "capability": limits.name, "carve_out": carve_out, "threads": threads,
        "registers": registers, "shared": shared, "by": resident.by, "blocks": resident.blocks,
        "warps": resident.warps, "limits": list(resident.limits), "share": resident.share,
        "tables": [vars(row) for row in rows] if tables else None},
        as_json=as_json, html=html, picture=picture)
    if not resident.blocks:
        raise typer.Exit(1)


@gpu.command()
def thesis(
    kernel: Annotated[str | None, typer.Argument(
        metavar="KERNEL", help=f"One of {', '.join(THESIS_KERNELS)}; the default is all, a line "
        "each.")] = None,
    constants: ConstantRule = None, alpha: Alpha = None, warps: Warps = None,
    saturated_memory: SaturatedMemory = None, pipelines: CountedPipelines = None,
    read_only: ReadOnly = None, branch: Branch = None,
    html: Html = None, as_json: AsJson = False,
) -> None:
    """Table 6.7 of the thesis: the published numbers, and what its Algorithms 1 and 2 say.

        cyclebound gpu thesis matrix --constants window

    With no kernel: each one by the preset that reproduces its published number, and strictly by the
    algorithms as printed. With one: the preset beside the strict reading, or the one that the
    options name, instruction by instruction. Of the matrix product and the convolution the thesis
    prints only part of the counts; docs/gpu.md says which were derived.
    """
    check_files(html)
    with_options = functools.partial(
        options_of, constants=constants, alpha=alpha, warps=warps,
        saturated_memory=saturated_memory, pipelines=pipelines, read_only=read_only, branch=branch)
    rows: list[tuple] = []
    data: list[dict[str, Any]] = []
    for named in [thesis_kernel(kernel)] if kernel else THESIS_KERNELS.values():
        other = with_options(strict(named))
        first = thesis_estimate(named, named.preset)
        second = checked(thesis_estimate, named, other)
        rows.append((named.name, named.published, plain(first.cycles), plain(second.cycles),
                     second.saturated or "none", float(second.ratio), plain(second.warps),
                     named.measured, "below measured" if second.cycles < named.measured else "",
                     thesis_bound(named).cycles))
        data.append({
            "kernel": named.name, "published": named.published, "preset": plain(first.cycles),
            "other": plain(second.cycles), "saturated": second.saturated,
            "ratio": float(second.ratio), "warps": plain(second.warps), "sizes": second.sizes,
            "measured": named.measured, "safe_bound": rows[-1][-1], "options": {
                name: str(value) if isinstance(value, Fraction) else value
                for name, value in vars(other).items()},
            "differences": [{
                "instructions": row.numbers, "name": row.name, "pipeline": row.pipeline,
                "preset": plain(row.first), "other": plain(row.second), "cycles": plain(row.cycles)}
                for row in differences(first.charges, second.charges)]})
    changed = any(value is not None for value in with_options.keywords.values())
    label = "with the options" if changed else "as printed"
    page = Page("The thesis's estimates (Table 6.7)", [
        "preset: what reproduces the published number. " + (
            "with the options: the algorithms as printed, but for what the options change"
            if changed else "as printed: Algorithms 1 and 2 to the letter, with the preset's W")
        + ". measured: the thesis's, on its A100. An estimate below it is marked."
         " safe bound: `cyclebound gpu bound` on a listing of ours "
        "with the same counts."],
        [Grid("", ("kernel", "published", "preset", label, "saturated", "ratio", "W", "measured",
                   "", "safe bound"), rows)])
    if kernel in ("matrix", "convolution"):
        page.sentences.append("The thesis counts this kernel's instructions without listing them "
                              "all: numbers of those that it does not list are ours.")
    if kernel:
        shown = data[0]["differences"]
        page.grids.append(Grid("Distance by instruction, in cycles", (
            "instructions", "opcode", "pipeline", "how many", "preset", label, "difference"), [
            (ranges(row["instructions"]), row["name"], row["pipeline"] or "", len(
                row["instructions"]), row["preset"], row["other"], row["cycles"])
            for row in shown] + [("all", "", "", sum(len(row["instructions"]) for row in shown),
                                  rows[0][2], rows[0][3], plain(second.cycles - first.cycles))]))
    deliver(page, data, as_json=as_json, html=html)


def _read_kernel(listing: Path, name: str | None, cc: str | None
                 ) -> tuple[Kernel, ComputeCapability]:
    """A kernel of a listing, and the capability: the one that is named, or the listing's."""
    limits = checked(capability, cc) if cc is not None else None
    kernel = read_kernel(listing, name, limits.architecture if limits is not None else None)
    if limits is None:
        try:
            limits = capability(kernel.architecture or "8.0")
        except ValueError as error:
            raise UserError(f"{listing} is for {kernel.architecture}: {error}; take the limits of "
                            "another one by --capability") from None
    return kernel, limits


def _resources(usage_file: Path | None, listing: Path, kernel: Kernel, registers: int | None,
               shared: int) -> tuple[int | None, int]:
    """Registers of a thread, if known, and shared memory of a block."""
    usage = read_usage(usage_file, listing, kernel.name, kernel.architecture)
    if usage is None:
        return registers, shared
    if registers is not None and usage_file is None:
        raise UserError(f"--registers: the compiler gives {kernel.name} of {listing} "
                        f"{usage.registers}, which is what it runs with; leave it out")
    if registers is not None:
        raise UserError("--registers and --res-usage both give the registers; take one")
    return usage.registers, usage.shared + shared


@gpu.command()
def kernels(listing: Listing, cc: KernelCapability = None, latencies: Latencies = None,
            html: Html = None, as_json: AsJson = False) -> None:
    """The kernels of a SASS listing: instructions by kind, and unknown ones.

        cuobjdump -sass program > program.sass
        cyclebound gpu kernels program.sass
    """
    check_files(html)
    own = read_latencies(latencies)
    rows, data = [], []
    of = checked(capability, cc).architecture if cc is not None else None
    for kernel in read_kernels(listing, of):
        missing = missing_opcodes(kernel, own)
        kinds = Counter(opcode.kind if (opcode := opcode_of(instruction.name, own.opcodes))
                        else "unknown"
                        for instruction in kernel.instructions)
        data.append({"kernel": kernel.name, "architecture": kernel.architecture,
                     "instructions": len(kernel.instructions), "kinds": kinds,
                     "missing": [vars(lack) for lack in missing]})
        rows.append((kernel.name, kernel.architecture, len(kernel.instructions),
                     ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()),
                     ", ".join(f"{lack.name} x {len(lack.lines)} ({lack.lacks})"
                               for lack in missing)))
    page = Page(f"Kernels of {listing.name}", grids=[Grid("", (
        "kernel", "architecture", "instructions", "by kind", "not known"), rows)])
    deliver(page, data, as_json=as_json, html=html)


@gpu.command("estimate")
def show_estimate(
    listing: Listing, grid: GridSize, block: BlockSize, name: KernelName = None, sms: Sms = 108,
    usage: UsageFile = None, registers: Registers = None, shared: DynamicShared = 0,
    cc: KernelCapability = None, latencies: Latencies = None,
    constants: ConstantRule = None, alpha: Alpha = None, warps: Warps = None,
    saturated_memory: SaturatedMemory = None, pipelines: CountedPipelines = None,
    read_only: ReadOnly = None, branch: Branch = None,
    streaming: Annotated[bool, typer.Option(
        "--streaming/--cached", help="Algorithm 2, line 5: whether a global address that was "
        "loaded before is in L1 (--cached).")] = True,
    html: Html = None, as_json: AsJson = False,
) -> None:
    """The thesis's estimate (Algorithms 1 and 2) of a kernel in a SASS listing.

        cyclebound gpu listing add -o add.sass
        cyclebound gpu estimate add.sass --grid 216 --block 1024

    An estimate is no bound: each instruction counts once, whatever loops there are, and memory is
    charged once for all warps. `cyclebound gpu bound` gives a bound, under stated assumptions.
    """
    check_files(html)
    (kernel, limits), own = _read_kernel(listing, name, cc), read_latencies(latencies)
    check_opcodes(kernel, own, delays=True)
    launch = read_launch(grid, block, sms)
    taken, shared = _resources(usage, listing, kernel, registers, shared)
    options = options_of(Options(), constants=constants, alpha=alpha, warps=warps,
                         saturated_memory=saturated_memory, pipelines=pipelines,
                         read_only=read_only, branch=branch, streaming=streaming)
    if options.constants == "sheet":
        raise UserError("--constants sheet is for the thesis's own kernels; take exact, window or "
                        "line")
    if options.warps == "fewest-sms" and taken is None:
        raise UserError("--warps fewest-sms needs the registers: --res-usage or --registers")
    count = checked(active_warps, launch, options.warps, registers=taken or 32, shared=shared,
                    limits=limits)
    estimated = checked(estimate, checked(thesis_steps, kernel, own), warps=count, options=options,
                        delays=own.memory)
    page = Page(f"Estimate of {kernel.name}", [
        f"{plain(estimated.cycles)} cycles with W = {plain(estimated.warps)}; largest pipeline "
        f"{float(estimated.ratio):.3f} times the average, alpha {float(options.alpha):.3g}: "
        + (f"{estimated.saturated} saturates." if estimated.saturated else "none saturates."),
        "An estimate, no bound: see docs/gpu.md."])
    page.grids.append(Grid(f"Algorithm 1 on {kernel.name} ({kernel.architecture or 'unknown'})", (
        "no.", "line", "instruction", "pipeline", "x W", "memory", "cycles"), [
        (charge.step.number, kernel.instructions[charge.step.number - 1].line, charge.step.name,
         charge.step.pipeline or "", plain(charge.pipeline_cycles), charge.memory_cycles,
         plain(charge.cycles)) for charge in estimated.charges]))
    deliver(page, {
        "kernel": kernel.name, "cycles": plain(estimated.cycles), "warps": plain(estimated.warps),
        "saturated": estimated.saturated, "ratio": float(estimated.ratio), "sizes": estimated.sizes,
        "instructions": [{
            "line": kernel.instructions[charge.step.number - 1].line, "name": charge.step.name,
            "pipeline": charge.step.pipeline, "pipeline_cycles": plain(charge.pipeline_cycles),
            "memory_cycles": charge.memory_cycles} for charge in estimated.charges]},
        as_json=as_json, html=html)


@gpu.command("listing")
def make_listing(
    kernel: Annotated[str, typer.Argument(
        metavar="KERNEL", help=f"One of {', '.join(THESIS_KERNELS)}; or a file of CUDA C++ (.cu), "
        "which nvcc compiles where it is installed.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The listing.")],
    architecture: Annotated[str, typer.Option(
        "--architecture", "-a", metavar="A", help=f"Its syntax: {', '.join(SYNTAXES)}; of CUDA C++ "
        "any that nvcc has.")] = "sm_80",
    as_json: AsJson = False,
) -> None:
    """Write a SASS listing: of CUDA C++, or with the counts of one of the thesis's kernels.

    Of those, opcodes, pipelines, memory accesses and the number of new constants by each rule are
    the thesis's, so that `cyclebound gpu estimate` reproduces its totals; registers are arbitrary.
    """
    if Path(kernel).suffix == SOURCE:
        text = compiled(Path(kernel), architecture).listing
        count = sum(len(one.instructions) for one in read_kernels(Path(kernel), architecture))
    else:
        of_thesis = thesis_kernel(kernel)
        text = checked(listing_of_steps, kernel, of_thesis.steps, architecture)
        count = len(of_thesis.steps)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
    said = {"kernel": kernel, "file": str(output), "instructions": count}
    if as_json:
        print(json.dumps(said, indent=2))
    else:
        console().print(f"{output}: {count} instructions"
                        + " and an EXIT" * (Path(kernel).suffix != SOURCE), highlight=False)


@gpu.command("latencies")
def show_latencies(latencies: Latencies = None, as_json: AsJson = False,
                   html: Html = None) -> None:
    """The known opcodes with pipeline, kind, and the thesis's delay if it has one.

    A file for --latencies has tables such as [opcode.LOP3] with delay = 4, and for an unknown
    opcode kind and pipeline too; [memory] has global, shared_read, shared_write and l1, in
    cycles. "LDG.CONSTANT" is more specific than "LDG".
    """
    check_files(html)
    own = read_latencies(latencies)
    names = sorted({*OPCODES, *own.opcodes, *THESIS_DELAYS, *own.delays})
    data = []
    for name in names:
        opcode = opcode_of(name, own.opcodes)
        assert opcode is not None  # `parse_latencies` refuses others
        yours = name in own.delays
        data.append({"opcode": name, "pipeline": opcode.pipeline, "kind": opcode.kind,
                     "delay": own.delays.get(name, THESIS_DELAYS.get(name)),
                     "source": "yours" if yours else "thesis" if name in THESIS_DELAYS else None})
    memory = [(name.rstrip("_"), value, "thesis" if value == getattr(MemoryDelays(), name)
               else "yours") for name, value in vars(own.memory).items()]
    page = Page("Opcodes and delays", ["Kinds: " + "; ".join(
        f"{name}: {says}" for name, says in KINDS.items()) + "."], [
        Grid("Opcodes", ("opcode", "pipeline", "kind", "delay", "source"), [
            (row["opcode"], row["pipeline"] or "", row["kind"], row["delay"], row["source"] or "")
            for row in data]),
        Grid("Memory, cycles of one access", ("access", "cycles", "source"), memory)])
    deliver(page, {"opcodes": data, "memory": {name: cycles for name, cycles, _ in memory}},
            as_json=as_json, html=html)


def _loops(given: list[str] | None) -> dict[int, int]:
    executions: dict[int, int] = {}
    for option in given or ():
        line, equals, count = option.partition("=")
        if not (equals and line.isdecimal() and count.isdecimal() and len(option) < 30):
            raise UserError(f"--loop takes LINE=N, not {option!r}")
        if int(line) in executions:
            raise UserError(f"--loop gives line {line} twice")
        executions[int(line)] = int(count)
    return executions


_MACHINE = [name for name, value in vars(Machine()).items() if isinstance(value, int | Fraction)]
_TENSOR = "tensor_cycles"  # that a matrix product of a warp occupies its pipeline


def _machine(given: list[str] | None, limits: ComputeCapability) -> Machine:
    changes: dict[str, Any] = {}
    numbers = [*_MACHINE, _TENSOR]
    for name, text in named_values("--set", given).items():
        if name not in numbers:
            raise unknown("number of the machine", name, numbers)
        try:
            changes[name] = (_fraction(f"--set {name}", text) if name == "sectors_per_cycle"
                             else int(text))
        except ValueError:
            raise UserError(f"--set {name} takes a number, not {shown(text)}") from None
    base = checked(machine_of, limits, changes.pop(_TENSOR, None))
    return checked(replace, base, **changes)


@gpu.command("bound")
def show_bound(
    listing: Listing, grid: GridSize, block: BlockSize, name: KernelName = None, sms: Sms = 108,
    usage: UsageFile = None, registers: Registers = None, shared: DynamicShared = 0,
    cc: KernelCapability = None, carve_out: Annotated[int | None, typer.Option(
        "--carve-out", metavar="BYTES", help="Shared memory of an SM as configured; by default the "
        "worst of all, as the driver chooses.")] = None,
    loops: Annotated[list[str] | None, typer.Option(
        "--loop", metavar="LINE=N", help="The loop that begins at this line of the listing: its "
        "first instruction is executed N times at most, each time the loop is entered.")] = None,
    coalesced: Annotated[bool, typer.Option(
        "--coalesced", help="Each access of a warp lies in consecutive bytes.")] = False,
    diverged: Annotated[bool, typer.Option(
        "--diverged", help="The threads of a warp never come together again after a branch.")]
    = False,
    balanced: Annotated[bool, typer.Option(
        "--balanced", help="No SM runs more blocks than its share of the waves.")] = False,
    spread: Annotated[bool, typer.Option(
        "--spread", help="The warps of an SM are spread evenly over its schedulers; else one may "
        "have them all.")] = False,
    latencies: Latencies = None,
    settings: Annotated[list[str] | None, typer.Option(
        "--set", metavar="NAME=VALUE", help="A number of the machine: "
        + ", ".join([*_MACHINE, _TENSOR]) + ".")] = None,
    html: Html = None, as_json: AsJson = False,
) -> None:
    """A bound on a kernel's cycles that holds for any warp scheduler, with all its assumptions.

        cyclebound gpu listing add -o add.sass
        cyclebound gpu bound add.sass --grid 216 --block 1024 --registers 16 --coalesced

    Loops are found in the control flow; one that does not count by itself needs a greatest number
    of executions (--loop). Every access is assumed to miss every cache. If no safe bound exists,
    all reasons are listed instead, and the exit status is 1.
    """
    check_files(html)
    (kernel, limits), own = _read_kernel(listing, name, cc), read_latencies(latencies)
    launch = read_launch(grid, block, sms)
    taken, shared = _resources(usage, listing, kernel, registers, shared)
    if taken is None:
        raise UserError("the registers decide how many blocks an SM holds: --res-usage or "
                        "--registers")
    machine = _machine(settings, limits)
    try:
        result = checked(
            kernel_bound, kernel, launch, BlockResources(launch.threads, taken, shared),
            limits, machine=machine, loops=_loops(loops), coalesced=coalesced,
            reconverges=not diverged, balanced=balanced, spread=spread, carve_out=carve_out,
            reserved_counted=usage is not None or listing.suffix == SOURCE, opcodes=own.opcodes,
            delays=own.delays)
    except NotSafe as error:
        page = Page(f"No safe bound for {kernel.name}", [
            "No safe bound can be given:", *error.reasons,
            *([("(Lines are those of `cyclebound gpu listing "
               f"{listing} -a {kernel.architecture} -o FILE`.)")]
              if listing.suffix == SOURCE else [])])
        deliver(page, {"kernel": kernel.name, "cycles": None, "reasons": error.reasons},
                as_json=as_json, html=html)
        raise typer.Exit(1) from None
    other = kernel.architecture .rstrip("af") not in ("", limits.architecture)
    parts = ("overhead", "chain", "issue", "unit", "memory")
    sizes = [machine.overhead, result.chain, result.issue, result.unit, result.memory]
    page = Page(f"Bound of {kernel.name}", [
        f"{result.cycles} cycles at most, if all of this holds:",
        *(f"{number}. {says}" for number, says in enumerate(result.assumptions, 1)),
        *(f"Counted by its instructions: {says}." for says in result.counted)])
    if other:
        page.sentences.append(f"The listing is for {kernel.architecture}; the limits are those of "
                              f"{limits.name}.")
    page.grids += [
        Grid("One warp's work, by instruction", (
            "no.", "line", "instruction", "executions", "latency", "issue or pipeline",
            "load/store", "sectors"),
             [(instruction.number, instruction.line, instruction.name, instruction.executions,
               instruction.chain, instruction.issue, instruction.unit, instruction.sectors)
              for instruction in result.work]),
        Grid("The bound", ("part", "cycles", "is"), list(zip(parts, sizes, (
            "launch and end", f"latencies of {result.waves} block(s), one after the other",
            "issue slots and pipelines that serve other warps",
            "the load/store unit of one SM", "all sectors of the grid"), strict=True)))]
    deliver(page, {
        "kernel": kernel.name, "architecture": kernel.architecture, "capability": limits.name,
        "cycles": result.cycles, "parts": dict(zip(parts, sizes, strict=True)),
        "waves": result.waves, "resident": result.resident, "carve_out": result.carve_out,
        "assumptions": result.assumptions, "counted": result.counted,
        "instructions": [vars(instruction) for instruction in result.work]},
        as_json=as_json, html=html)


@gpu.command("streams")
def show_streams(
    file: Annotated[str, typer.Argument(
        metavar="FILE", help=f"Streams in TOML, or an example: {', '.join(EXAMPLES)}.")],
    show: Annotated[bool, typer.Option(
        "--show", help="Print an example's file, as a start for your own.")] = False,
    tries: Annotated[int, typer.Option(
        "--search", metavar="N", min=0, max=1_000_000, help="Try N scenarios of launches, "
        "durations and places for one that exceeds a bound.")] = 0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the search.")] = 0,
    trace: Annotated[Path | None, typer.Option(
        "--trace", metavar="FILE", help="Write the run for Perfetto (ui.perfetto.dev): .json.")]
    = None,
    picture: PictureFile = None, html: Html = None, as_json: AsJson = False,
) -> None:
    """Streams of kernels and copies: their dispatch block by block, and response-time bounds.

        cyclebound gpu streams figure-4.8 --picture gantt.svg \\
            --trace trace.json --search 300

    The file's own launches are run and drawn. The bounds hold for any launches: once each, or a
    period apart. Exit status 1: a response exceeds its bound, or there is no bound.
    """
    check_files(html, picture)
    if show:
        if file not in EXAMPLES:
            raise unknown("example", file, EXAMPLES)
        print(EXAMPLES[file])
        return
    device, streams = (parse_streams(EXAMPLES[file]) if file in EXAMPLES
                       else reading(Path(file), parse_streams))
    run, bounds = checked(simulate, device, streams), stream_bounds(device, streams)
    limit: dict[tuple[str, str], int] = {}
    for operation in bounds.operations:
        key = operation.stream, operation.operation
        limit[key] = max(operation.response, limit.get(key, 0))
    page = Page(f"Streams of {Path(file).name}")
    rows = [(ran.stream.name, ran.operation.name, ran.launched, ran.queued, ran.start,
             ran.end, ran.response, limit.get((ran.stream.name, ran.operation.name)))
            for ran in run.operations]
    page.grids.append(Grid("", ("stream", "operation", "launched", "queued", "first start", "end",
                                "response", "bound"), rows))
    page.sentences.append(bounds.problem or {
        "queues": "Bounds for any launches: one operation of each other stream may be ahead.",
        "priorities": "Bounds for any launches, with what higher priorities may add.",
        "busy period": "With a null stream every other operation may be ahead: the bound of all is "
                       "the longest busy period."}[bounds.rule])
    data: dict[str, Any] = {
            "operations": [dict(zip(("stream", "operation", "launched", "queued", "start", "end",
                                     "response", "bound"), row, strict=True)) for row in rows],
            "rule": bounds.rule, "problem": bounds.problem, "search": None}
    exceeded = any(row[-1] is not None and row[-2] > row[-1] for row in rows)
    if tries and bounds.operations:
        worst = checked(search, device, streams, bounds, tries=tries, seed=seed)
        exceeded = exceeded or worst.ratio > 1
        page.sentences.append(
            f"The worst of {worst.tried} scenarios: {worst.operation} of {worst.stream} took "
            f"{worst.response}, {worst.ratio:.0%} of its bound of {worst.bound}.")
        data["search"] = {
            "ratio": worst.ratio, "stream": worst.stream, "operation": worst.operation,
            "response": worst.response, "bound": worst.bound, "tried": worst.tried,
            "releases": worst.attack.releases, "placement_seed": worst.attack.seed,
            "shorter": [[*name, time] for name, time in worst.attack.shorter.items()]}
    if trace is not None:
        try:
            trace.write_text(json.dumps(trace_of(run)), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {trace}: {error.strerror}") from None
    if picture is not None or html is not None:
        from cyclebound.sim.pictures.gpu_streams import figure  # matplotlib takes a second
        page.figures.append(figure(device, run))
    deliver(page, data, as_json=as_json, html=html, picture=picture)
    if exceeded or bounds.problem:
        raise typer.Exit(1)


def _cell(cell: Cell, chosen: bool) -> str:
    if cell.cycles is None or cell.time_ps is None:
        return "none"
    return f"{'* ' if chosen else ''}{cell.time_ps / 1e6:,.2f} ({cell.cycles:,})"


@gpu.command("mapping")
def show_mapping(
    file: Annotated[str, typer.Argument(
        metavar="FILE", help="Layers and resources in TOML, or `example`.")],
    show: Annotated[bool, typer.Option("--show", help="Print the example, as a start.")] = False,
    html: Html = None, as_json: AsJson = False,
) -> None:
    """One bound for layers across systolic array, GPU, CPU tile and others, and the best mapping.

        cyclebound gpu mapping example --show > mine.toml
        cyclebound gpu mapping mine.toml

    Layers run one after the other. A layer on another resource than its predecessor gets its input
    through DRAM. The table says which bounds this project's hardware keeps (RTL), which come from a
    model alone (model), and which the file gives (given). Exit status 1: a layer has no bound on
    any resource.
    """
    check_files(html)
    if show:
        print(LAYER_EXAMPLE)
        return
    system = parse_system(LAYER_EXAMPLE) if file == "example" else reading(Path(file), parse_system)
    rows = table_of(system.layers, system.resources)
    sizes = [layer.convolution.height * layer.convolution.width * layer.convolution.channels
             for layer in system.layers]
    moves = [system.transfer.time_ps(size) for size in sizes]
    try:
        best, problem = best_mapping(rows, moves), None
    except NotCovered as error:
        best, problem = None, str(error)
    page = Page("Layers across resources")
    page.grids.append(Grid("Bounds in microseconds (cycles); * is the best mapping", (
        "layer", *(f"{resource.name} [{resource.kind}]" for resource in system.resources),
        "input by DRAM"), [
        (row[0].layer, *(
            _cell(cell, best is not None and best.resources[place] == number)
            for number, cell in enumerate(row)),
         f"{moves[place] / 1e6:,.2f}" if place else "")
        for place, row in enumerate(rows)]))
    page.grids.append(Grid("What the numbers rest on", ("resource", "kind", "clock", "is"), [
        (resource.name, resource.kind, f"{resource.clock_ps} ps", resource.evidence)
        for resource in system.resources]
        + [("DRAM", "RTL", f"{system.transfer.part.tck_ps} ps", system.transfer.evidence)]))
    left = dict.fromkeys(f"{cell.resource}: {cell.problem}" for row in rows for cell in row
                         if cell.problem)
    page.sentences += [
        f"Best mapping: {best.time_ps / 1e6:,.2f} us, of which {sum(best.transfers_ps) / 1e6:,.2f} "
        "us in DRAM between resources." if best else f"No mapping: {problem}.",
        ("RTL: this project's hardware keeps the formula, though it did not run these layers here; "
        "model: a model alone."), *left]
    deliver(page, {
        "layers": [{
            "layer": row[0].layer, "input_bytes": size, "transfer_ps": move if place else None,
            "bounds": [{"resource": cell.resource, "kind": cell.kind, "cycles": cell.cycles,
                        "time_ps": cell.time_ps, "problem": cell.problem} for cell in row]}
            for place, (row, size, move) in enumerate(zip(rows, sizes, moves, strict=True))],
        "evidence": {resource.name: resource.evidence for resource in system.resources},
        "best": None if best is None else {
            "time_ps": best.time_ps, "transfers_ps": best.transfers_ps,
            "resources": [system.resources[number].name for number in best.resources]},
        "problem": problem}, as_json=as_json, html=html)
    if best is None:
        raise typer.Exit(1)
