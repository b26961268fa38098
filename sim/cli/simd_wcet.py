"""Commands that bound a kernel's time."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import Policy, Timed
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.golden.simd.program import Program
from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.cli.base import AsJson, console
from cyclebound.sim.cli.simd_published import published
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.simd.files import load_memory, load_program
from cyclebound.sim.families.simd.options import (
    GridText,
    KernelFile,
    MachineName,
    MostWords,
    PartName,
    Sizes,
    Timing,
    Width,
    policy_named,
    sizes_of,
    timed_grid,
)
from cyclebound.sim.families.simd.run import grid_of, run_kernel
from cyclebound.sim.families.simd.trace import phase_trace
from cyclebound.tools.simd.disassembler import text_of
from cyclebound.tools.simd.kernel_cases import case, fill, fill_worst
from cyclebound.tools.simd.kernels import KERNELS
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.chains import STARTS, Chained
from cyclebound.tools.simd.wcet.followed_indexes import MOST_WORDS
from cyclebound.tools.simd.wcet.graph import How, WcetError
from cyclebound.tools.simd.wcet.timings import TIMINGS
from cyclebound.tools.simd.wcet_adversary import POLICIES

__all__ = ["tightness", "wcet"]

_BOUNDED = (*POLICIES, Policy.YIELD, Policy.PAIRWISE)
_DRAWN = 120  # phases of a chart, if nothing else is asked for
_TRACED = 1 << 16  # of a trace


def wcet(
    kernel: KernelFile,
    grid: GridText = None,
    width: Width = None,
    sizes: Sizes = None,
    policies: Annotated[list[str] | None, typer.Option(
        "--policy", "-p", metavar="POLICY", help="access (scratchpads count as DRAM), compute (as "
        "compute), yield (compute, but after a scratchpad transfer the other work-group is "
        "first), pairwise (kernels without scratchpad accesses). The default is the first two.")
        ] = None,
    machine: MachineName = "paper",
    part: PartName = "ddr4-3200aa-x16",
    timing: Timing = "rtl",
    start: Annotated[str, typer.Option(
        "--start", metavar="STATE", help="State of DRAM refreshes when the kernel starts: reset "
        "(the timer starts, too), idle (unknown, with no transfer under way and no refresh owed), "
        "busy (unknown, with eight refreshes owed, as after another kernel).")] = "idle",
    most_words: MostWords = MOST_WORDS,
    listing: Annotated[bool, typer.Option(
        "--listing", help="The route of the greatest sum, line by line, with cycles; of a compiled "
        "kernel (`simd compile`), also what each of its own lines costs.")] = False,
    source: Annotated[Path | None, typer.Option(
        "--source", metavar="FILE", help="With --listing: the file that the kernel was compiled "
        "of, whose lines are then shown.")] = None,
    chart: Annotated[Path | None, typer.Option(
        "--chart", metavar="FILE", help="Draw the worst schedule of the better policy: .svg, .png "
        "or .pdf.")] = None,
    until: Annotated[int | None, typer.Option(
        "--until", metavar="CYCLE", min=1, help="The last cycle of the chart; the default shows "
        f"{_DRAWN} phases.")] = None,
    trace: Annotated[Path | None, typer.Option(
        "--trace", metavar="FILE", help="Write that schedule for Perfetto (ui.perfetto.dev), its "
        f"first {_TRACED:,} phases: .json.")] = None,
    fail_over: Annotated[int | None, typer.Option(
        "--fail-over", metavar="CYCLES", min=0, help="Exit with status 1 if a policy's bound is "
        "greater.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bound a kernel's execution time for any content of its buffers.

        cyclebound simd wcet saxpy --listing

    Loops need a bound: a counter that follows from immediates and dimensions, or #bound
    branchcycle. What only a user knows of a kernel, #bound and #flow say; a bound that rests on
    them lists them, and a run that contradicts one ends with its line. --timing published is `simd
    published`, for Sim-D's authors' machine. Exit status 1: over --fail-over; 2: there is no bound;
    the message says why.
    """
    if source is not None and not listing:
        raise UserError("--source shows lines of a kernel's file in the --listing")
    if timing == "published":
        unused = [option for option, given in (
            ("--policy", policies), ("--size", sizes), ("--start", start != "idle"),
            ("--follow", most_words != MOST_WORDS), ("--listing", listing), ("--chart", chart),
            ("--until", until), ("--trace", trace), ("--source", source),
            ("--fail-over", fail_over is not None)) if given]
        if unused:
            raise UserError(f"--timing published has no {', '.join(unused)}: it prints both "
                            "policies as `simd published` does")
        return published(kernel, grid, width, machine, part, as_json=as_json)
    if timing not in TIMINGS:
        raise unknown("timing", timing, (*TIMINGS, "published"))
    if start not in STARTS:
        raise unknown("start", start, STARTS)
    chosen = [policy_named(name, _BOUNDED) for name in policies] if policies else POLICIES
    if chart is not None and chart.suffix not in FORMATS:
        raise UserError(f"--chart takes a file that ends in {', '.join(FORMATS)}, not {chart}")
    program = load_program(kernel)
    texts = _source_lines(program, source) if source is not None else None
    try:
        if sizes:
            program = program.with_sizes(sizes_of(sizes))
        device = part_named(part)
        items = timed_grid(grid_of(program, grid, width, machine), timing)
        analysis = Analysis(program, items, device, start, most_words)
        bounds = {policy.value: analysis.wcet(policy) for policy in chosen}
    except (WcetError, ValueError) as error:
        raise UserError(str(error)) from None
    if program.flows and (chart or trace):
        raise UserError(f"{program.name} has flow facts (#flow), which the schedule that --chart "
                        "and --trace draw does not know")
    better = min(bounds, key=lambda policy: bounds[policy].cycles)
    written = _write_pictures(analysis, Policy(better), chart, until, trace)
    if as_json:
        record = _record(analysis, bounds, better, timing, machine, part, written)
        print(json.dumps(record, indent=2))
    else:
        _say(analysis, bounds, better, written)
        if listing:
            _list(analysis)
            _list_sources(analysis, texts)
    over = [policy for policy in bounds
            if fail_over is not None and bounds[policy].cycles > fail_over]
    if over:
        print(f"cyclebound: over {fail_over:,} cycles: " + ", ".join(
            f"{policy} {bounds[policy].cycles:,}" for policy in over), file=sys.stderr)
        raise typer.Exit(1)


def _microseconds(analysis: Analysis, cycles: int) -> float:
    return cycles * analysis.grid.machine.compute_ps / 1e6


def _shares(analysis: Analysis, bound: Chained) -> dict[str, float]:
    """The share of time in which each resource, and refreshing, is busy on the worst routes;
    nothing where these may pass more than ``#flow`` allows."""
    if analysis.program.flows:
        return {}
    refreshing = bound.refreshes * analysis.part.nRFC * analysis.part.tck_ps
    cycles = {**analysis.sums, "refresh": refreshing / analysis.grid.machine.compute_ps}
    return {name: taken / bound.cycles for name, taken in cycles.items()}


def _write_pictures(analysis: Analysis, policy: Policy, chart: Path | None, until: int | None,
                    trace: Path | None) -> list[str]:
    """Write chart and trace of the worst schedule; the files that were written."""
    written = []
    if chart is not None:
        from cyclebound.sim.pictures.simd_occupation import figure  # matplotlib takes a second

        phases, end = analysis.schedule(policy, 1 << 40, until) if until else \
            analysis.schedule(policy, _DRAWN)
        write(figure(phases, min(until or end, end),
                     f"{analysis.program.name}, worst schedule, policy {policy.value}"), chart,
              "--chart")
        written.append(str(chart))
    if trace is not None:
        phases, _ = analysis.schedule(policy, _TRACED)
        try:
            trace.write_text(json.dumps(phase_trace(phases, analysis.grid.machine.compute_ps)))
        except OSError as error:
            raise UserError(f"cannot write {trace}: {error.strerror}") from None
        written.append(str(trace))
    return written


def _loops(analysis: Analysis) -> list[dict[str, object]]:
    return [{"line": analysis.program.lines[loop.header.at], "rounds": bound.most + 1,
             "inferred": bound.inferred, "exact": bound.exact}
            for loop in analysis.loops.loops for bound in [analysis.loops.bounds[loop]]]


def _branches(analysis: Analysis) -> list[dict[str, object]]:
    return [{"line": analysis.program.lines[edge.source.at], "taken": edge.how is How.TAKEN,
             "most": fact.most, "rounds": fact.rounds, "inferred": fact.inferred}
            for edge, fact in sorted(analysis.phases.facts.items(),
                                     key=lambda item: (item[0].source.at, item[1].most))]


def _record(analysis: Analysis, bounds: dict[str, Chained], better: str, timing: str, machine: str,
            part: str, written: list[str]) -> dict[str, object]:
    return {
        "kernel": analysis.program.name, "timing": timing, "machine": machine, "part": part,
        "start": analysis.start, "grid": [analysis.grid.x, analysis.grid.y],
        "width": analysis.grid.width,
        "work_groups": analysis.grid.count, "better": better,
        "policies": {policy: {
            "cycles": bound.cycles, "microseconds": _microseconds(analysis, bound.cycles),
            "refreshes": bound.refreshes, "without_refreshes": bound.bare,
            "shares": _shares(analysis, bound)} for policy, bound in bounds.items()},
        "lower": analysis.lower, "upper": analysis.upper, "load": analysis.load,
        "loops": _loops(analysis), "branches": _branches(analysis),
        "rests_on": [{"line": line, "fact": text} for line, text in analysis.promises],
        "unused": analysis.unused,
        "lines": [{"line": analysis.program.lines[index], "times": cost.times,
                   "compute": cost.compute, "access": cost.access}
                  for index, cost in sorted(_line_costs(analysis).items())],
        "sources": [{"line": line, "cycles": cycles}
                    for line, cycles in sorted(_source_costs(analysis).items())],
        "written": written}


def _line_costs(analysis: Analysis):
    """The costs of a kernel's lines in a work-group of the first kind, which is a full one."""
    return analysis.routes[next(iter(analysis.counts))].lines(analysis.edge_costs)


def _say(analysis: Analysis, bounds: dict[str, Chained], better: str, written: list[str]) -> None:
    screen = console()

    def line(text: str, *, style: str | None = None) -> None:
        screen.print(text, highlight=False, markup=False, soft_wrap=True, style=style)

    grid = analysis.grid
    line(f"{analysis.program.name}: {grid.x} x {grid.y} items in {grid.count} work-groups of "
         f"{grid.width} x {grid.height}; {analysis.part.name}")
    for policy, bound in bounds.items():
        shares = ", ".join(f"{name} {share:.0%}"
                           for name, share in _shares(analysis, bound).items())
        mark = "  (the better one)" if policy == better and len(bounds) > 1 else ""
        microseconds = _microseconds(analysis, bound.cycles)
        line(f"{policy:9} {bound.cycles:>14,} cycles  {microseconds:>12,.2f} us{mark}")
        occupied = f"occupied: {shares}; " if shares else ""
        line(f"{'':9} {occupied}{bound.refreshes} refreshes at most")
    line(f"any policy: {analysis.lower:,} to {analysis.upper:,} cycles on the route of the "
         "greatest sum")
    for loop in _loops(analysis):
        how = "inferred" if loop["inferred"] else "annotated"
        exactly = "" if loop["exact"] else "at most "
        line(f"loop at line {loop['line']}: {exactly}{loop['rounds']} rounds, {how}")
    for branch in _branches(analysis):
        how = "inferred" if branch["inferred"] else "annotated"
        line(f"branch at line {branch['line']}: {'' if branch['taken'] else 'not '}taken at most "
             f"{branch['most']} times in {branch['rounds']} rounds, {how}")
    if analysis.promises:
        facts = len(analysis.promises)
        line(f"rests on {facts} flow {'fact' if facts == 1 else 'facts'} of the source, which no "
             "analysis has shown and each run checks:")
        for number, text in analysis.promises:
            line(f"  line {number}: {text}")
    for number in analysis.unused:
        line(f"line {number}: the #bound branchcycle before this branch is not used")
    for path in written:
        line(f"written: {path}")


def _list(analysis: Analysis) -> None:
    """A line for each instruction: executions on the worst route, cycles, and its text."""
    costs = _line_costs(analysis)
    if analysis.program.flows:
        print("\nThis route may pass more than #flow allows; the bounds above do not.")
    print(f"\n{'line':>5} {'times':>9} {'compute':>10} {'access':>10}")
    for index, instruction in enumerate(analysis.program.instructions):
        cost = costs.get(index)
        numbers = (f"{cost.times:>9,} {cost.compute:>10,} {cost.access or '':>10}" if cost
                   else f"{'-':>9} {'':>10} {'':>10}")
        print(f"{analysis.program.lines[index]:>5} {numbers}  {text_of(instruction)}")


def _source_lines(program: Program, source: Path) -> list[str]:
    """The lines of the file that a kernel was compiled of. Raises `UserError` for a file that has
    no such lines."""
    try:
        texts = text_in(source).splitlines()
    except OSError as error:
        raise UserError(f"cannot read {source}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"cannot read {source}: {error}") from None
    last = max(program.sources, default=0)
    if not last:
        raise UserError(f"{program.name} does not say of which lines it was compiled")
    if last > len(texts):
        raise UserError(f"{source} has {len(texts)} lines, and {program.name} was compiled of line "
                        f"{last}")
    return texts


def _list_sources(analysis: Analysis, texts: list[str] | None) -> None:
    """A line for each line of the file that a kernel was compiled of: what its instructions
    cost."""
    costs = _source_costs(analysis)
    if costs:
        print(f"\n{'source':>6} {'cycles':>10}")
    for number, cycles in sorted(costs.items()):
        text = "  " + texts[number - 1] if texts is not None else ""
        print(f"{number:>6} {cycles:>10,}{text}".rstrip())


def _source_costs(analysis: Analysis) -> dict[int, int]:
    """By line of the file that a kernel was compiled of, its cycles on the worst route."""
    costs: dict[int, int] = {}
    for index, cost in _line_costs(analysis).items():
        if analysis.program.sources and (line := analysis.program.sources[index]):
            costs[line] = costs.get(line, 0) + cost.compute + cost.access
    return costs


def tightness(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="KERNEL", help="Installed kernels; the default is all of them.")] = None,
    machine: Annotated[str, typer.Option(
        "--machine", metavar="NAME", help="paper: at full size, which takes minutes to hours. "
        "small: a reduced case of each.")] = "paper",
    part: PartName = "ddr4-3200aa-x16",
    start: Annotated[str, typer.Option(
        "--start", metavar="STATE", help="As in `simd wcet`.")] = "idle",
    timing: Timing = "rtl",
    most_words: MostWords = MOST_WORDS,
    worst: Annotated[bool, typer.Option(
        "--worst", help="Use content that drives data-dependent kernels to their worst path.")
        ] = False,
) -> None:
    """Bounds of installed kernels, and their cycles on the cycle model with random content."""
    if machine not in MACHINES:
        raise unknown("machine", machine, MACHINES)
    for name in names or ():
        if name not in KERNELS:
            raise unknown("kernel", name, KERNELS)
    if start not in STARTS:
        raise unknown("start", start, STARTS)
    try:
        device = part_named(part)
    except ValueError as error:
        raise UserError(str(error)) from None
    print("| kernel | work-groups | policy | measured | bound | measured / bound | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names or KERNELS:
        if machine == "paper":
            program = load_program(name)
            grid = grid_of(program, None, None, machine)
            memory = load_memory(program, {})
            fill(name, memory, grid, np.random.default_rng(1))
        else:
            kernel_case = case(name, MACHINES[machine])
            program, grid, memory = kernel_case.program, kernel_case.grid, kernel_case.memory
        if worst:
            fill_worst(name, memory, grid, device, np.random.default_rng(1))
        grid = timed_grid(grid, timing)
        timed: Timed | None = None
        for policy in POLICIES:
            begun = time.process_time()
            try:
                analysis = Analysis(program, grid, device, start, most_words)
                bound = analysis.wcet(policy)
            except WcetError as error:
                raise UserError(str(error)) from None
            took = time.process_time() - begun
            if timed is None or analysis.uses_scratchpad:  # else policies do not differ
                copied = {number: words.copy() for number, words in memory.items()}
                timed = run_kernel(program, grid, copied, model="cycle", policy=policy.value,
                                   part=part, keep=False).timed
            assert timed is not None
            print(f"| `{name}` | {grid.count} | {policy.value} | {timed.cycles:,} | "
                  f"{bound.cycles:,} | {timed.cycles / bound.cycles:.3f} | {took:.2f} |",
                  flush=True)
