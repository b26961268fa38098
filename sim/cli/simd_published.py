"""Commands about the published WCET analysis of the SIMD accelerator, and the adversary."""

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.cli.base import AsJson, progress_bars
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.simd.attacks import KeptAttacks
from cyclebound.sim.families.simd.files import load_program
from cyclebound.sim.families.simd.options import (
    GridText,
    KernelFile,
    KernelsFolder,
    MachineName,
    PartName,
    Timing,
    Width,
    policy_named,
)
from cyclebound.sim.families.simd.published import ANALYSES, compared, markdown
from cyclebound.sim.families.simd.run import grid_of
from cyclebound.tools.simd.kernels import KERNELS
from cyclebound.tools.simd.published import witnesses
from cyclebound.tools.simd.published.analysis import OutsideScope, published_wcet
from cyclebound.tools.simd.random_kernels import Mix
from cyclebound.tools.simd.wcet.timings import TIMINGS
from cyclebound.tools.simd.wcet_adversary import BUSES, POLICIES, Bench, attack, histogram

__all__ = ["adversary", "errata", "published", "table_5"]


def published(
    kernel: KernelFile,
    grid: GridText = None,
    width: Width = None,
    machine: MachineName = "paper",
    part: PartName = "ddr4-3200aa-x16",
    unchecked: Annotated[bool, typer.Option(
        "--unchecked", help="Print what the authors' tool would print for a kernel outside the "
        "paper's scope. That is no bound.")] = False,
    as_json: AsJson = False,
) -> None:
    """The WCET of a kernel by Sim-D's published analysis, for its authors' machine.

        cyclebound simd published compute_phi_mag

    Refuses kernels outside the paper's scope, with line and reason (exit status 1), which the
    authors' tool does not. docs/simd_wcet_published.md lists what is unsafe even in scope.
    """
    program = load_program(kernel)
    items = grid_of(program, grid, width, machine)
    try:
        result = published_wcet(program, items, part_named(part), unchecked=unchecked)
    except OutsideScope as outside:
        for reason in outside.reasons:
            print(f"outside the published scope: {reason}")
        raise typer.Exit(1) from None
    except (NotCovered, ValueError) as error:
        raise UserError(str(error)) from None
    if as_json:
        print(json.dumps(asdict(result), indent=2))
        return
    for reason in result.outside:
        print(f"no bound: {reason}")
    print(markdown(("lower bound", "upper bound", "WCET, access", "WCET, compute", "load"),
                   [(result.lower, result.upper, result.access, result.compute, result.load)]))
    print()
    lines = program.lines
    print(markdown(("phase", "resource", "cycles", "line"), (
        (number, phase.resource, phase.cycles,
         None if phase.instruction is None else lines[phase.instruction])
        for number, phase in enumerate(result.phases["access"], 1))))


def errata(as_json: AsJson = False) -> None:
    """Errata of Sim-D's published WCET analysis, each with its smallest kernel, run anew.

    Exit status 1: a witness no longer exceeds the analysis, or a claim listed as safe fails.
    """
    witnessed = [witnesses.find(point) for point in witnesses.WITNESSES]
    with progress_bars() as tell:
        safe = []
        for number, point in enumerate(witnesses.SAFE):
            tell("points that hold", number, len(witnesses.SAFE))
            safe.append((point, *point.check()))
    if as_json:
        print(json.dumps({
            "witnesses": [{**asdict(witness.witness), "policy": witness.witness.policy.value,
                           "measured": witness.measured, "published": witness.published,
                           "refused": witness.refused} for witness in witnessed],
            "yields": [{"name": point.name, "published": point.published().compute,
                        **{policy.value: point.run(policy).cycles
                           for policy in (Policy.COMPUTE, Policy.YIELD)}}
                       for point in witnesses.YIELDS],
            "safe": [{"name": point.name, "place": point.place, "says": point.says, "cases": cases,
                      "left": left} for point, cases, left in safe]}, indent=2))
    else:
        print(markdown(("witness", "Sim-D", "work-groups", "measured", "published", "ratio",
                        "in scope"), (
            (f"`{witness.witness.name}`", witness.witness.place, witness.witness.work_groups,
             witness.measured, witness.published, f"{witness.measured / witness.published:.3f}",
             "yes" if witness.witness.in_scope else "no: refused") for witness in witnessed)))
        print()
        for erratum in witnesses.WITNESSES:
            print(f"* `{erratum.name}`: {erratum.says}\n  *Instead:* {erratum.corrected}")
        print()
        print(markdown(("point that holds", "Sim-D", "cases", "left in the closest"), (
            (f"`{point.name}`", point.place, cases, left) for point, cases, left in safe)))
        print()
        for point in witnesses.SAFE:
            print(f"* `{point.name}`: {point.says}")
        print()
        print(markdown(("kernel", "work-groups", "published, compute", "measured, compute",
                        "measured, yield", "yield over published"), (
            (f"`{finding.witness.name}`", finding.witness.work_groups, finding.published,
             finding.witness.run(Policy.COMPUTE).cycles, finding.measured,
             f"{finding.measured / finding.published:.3f}")
            for finding in map(witnesses.find, witnesses.YIELDS))))
    if not all(witness.exceeded for witness in witnessed) or any(left < 0 for _, _, left in safe):
        raise typer.Exit(1)


def table_5(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="KERNEL", help="Installed kernels; the default is all of Table 4.")] = None,
    part: PartName = "ddr4-3200aa-x16",
    measure: Annotated[bool, typer.Option(
        "--measure", help="Run them on the cycle model, too, which takes minutes.")] = False,
    kernels: KernelsFolder = None,
    chart: Annotated[Path | None, typer.Option(
        "--chart", metavar="FILE", help="Draw Figure 8: .svg, .png or .pdf.")] = None,
) -> None:
    """Sim-D's Table 5 and Figure 8: the paper's numbers, its formula recomputed, and our bounds.

        cyclebound simd table5 --chart figure8.svg

    With --kernels, the authors' kernels; --measure runs them with their DRAM front end. Exit status
    2: a kernel cannot be read; the message says why.
    """
    if chart is not None and chart.suffix not in FORMATS:
        raise UserError(f"--chart takes a file that ends in {', '.join(FORMATS)}, not {chart}")
    for name in names or ():
        if name not in KERNELS:
            raise unknown("kernel", name, KERNELS)
    chosen = names or [name for name in KERNELS if REFERENCES[name].cycles]
    rows, failed = [], False
    with progress_bars() as tell:
        for name in chosen:
            try:
                rows.append(compared(name, part, measure=measure, tell=tell, kernels=kernels))
            except UserError as error:
                if kernels is None:
                    raise
                print(f"cyclebound: {error}", file=sys.stderr)
                failed = True
    access, compute = POLICIES
    heads = ["kernel", "paper: lower", "paper: upper", "paper: access", "paper: compute",
             "formula: lower", "formula: upper", "formula: access", "formula: compute",
             "ours: access", "ours: compute"]
    heads += ["measured: access", "measured: compute"] * measure
    print(markdown(heads, (
        (f"`{row.kernel}`{' (*)' if row.outside else ''}",
         *((row.printed.lower, row.printed.upper, row.printed.access, row.printed.compute)
           if row.printed else (None,) * 4),
         row.published.lower, row.published.upper, row.published.access,
         row.published.compute, row.own[access], row.own[compute],
         *((row.measured[access], row.measured[compute]) if measure else ()))
        for row in rows)))
    if any(row.outside for row in rows):
        print("\n(*) outside the published scope: what its formula says is no bound")
    if chart is not None:
        from cyclebound.sim.pictures.simd_wcet import figure  # matplotlib takes a second

        write(figure(rows), chart, "--chart")
    if failed:
        raise typer.Exit(2)


def adversary(
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Random kernels.")] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first one.")] = 0,
    analysis: Annotated[str, typer.Option(
        "--analysis", metavar="NAME", help="own: this project's; published: Sim-D's, only in its "
        "scope.")] = "own",
    policies: Annotated[list[str] | None, typer.Option(
        "--policy", "-p", metavar="POLICY", help="access, compute or yield, of which each kernel "
        "has one; the default is the first two. Once for each.")] = None,
    machine: MachineName = "small",
    part: PartName = "ddr4-3200aa-x16",
    timing: Timing = "rtl",
    kept: Annotated[Path | None, typer.Option(
        "--keep", metavar="FILE", help="Append a line of JSON for each kernel, and count those "
        "that the file has from the same sources as done.")] = None,
    chart: Annotated[Path | None, typer.Option(
        "--chart", metavar="FILE", help="Draw the histogram: .svg, .png or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Random kernels against a WCET analysis, with data that drives each to its worst path.

        cyclebound simd adversary --count 10000 --keep kernels.jsonl

    Exit status 1: a kernel, which is printed, takes longer on the cycle model than its bound.
    """
    if chart is not None and chart.suffix not in FORMATS:
        raise UserError(f"--chart takes a file that ends in {', '.join(FORMATS)}, not {chart}")
    chosen = ([policy_named(name, (*POLICIES, Policy.YIELD)) for name in policies] if policies
              else POLICIES)
    if analysis not in ANALYSES:
        raise unknown("analysis", analysis, ANALYSES)
    if machine not in MACHINES:
        raise unknown("machine", machine, MACHINES)
    try:
        device = part_named(part)
    except ValueError as error:
        raise UserError(str(error)) from None
    own = analysis != "published"
    if timing not in TIMINGS:
        raise unknown("timing", timing, TIMINGS)
    used = TIMINGS[timing if own else "sim-d"].machine(MACHINES[machine])
    bench = Bench(used, device, Mix(True, own, own, own, rows=own),
                  policies=chosen,
                  **({"buses": BUSES} if own else {"lookup": 0, "lead": witnesses.AUTHORS_LEAD}))
    store = KeptAttacks(kept, {"analysis": analysis, "machine": machine, "part": part,
                               "timing": timing,
                               "policies": ", ".join(policy.value for policy in chosen)})
    attacks = []
    with progress_bars() as tell:
        for number in range(seed, seed + count):
            tell("kernels", number - seed, count)
            attacks.append(store.get(number) or store.add(
                attack(ANALYSES[analysis], number, bench)))
    worst = [attacked for attacked in attacks if attacked.violated]
    left = Counter(attacked.said for attacked in attacks if attacked.bound is None)
    classes = histogram(attacks)
    if chart is not None:
        from cyclebound.sim.pictures.simd_attacks import figure  # matplotlib takes a second

        write(figure(attacks), chart, "--chart")
    if as_json:
        print(json.dumps({
            "analysis": analysis, "part": part, "machine": machine, "kernels": count,
            "histogram": classes, "left_out": left,
            "violations": [attacked.record for attacked in worst]}, indent=2))
    else:
        most = max(classes.values(), default=1)
        for edge, number in classes.items():
            print(f"{edge:5.2f}  {number:6,}  {'#' * -(-60 * number // most)}")
        print(f"{sum(classes.values()):,} kernels with a bound, {sum(left.values()):,} without; "
              f"closest {max((attacked.ratio for attacked in attacks), default=0):.4f}; "
              f"{len(worst)} violations")
        for attacked in worst:
            print(f"\n{attacked}\n{attacked.text}")
    if worst:
        raise typer.Exit(1)
    if not classes:
        raise UserError("no kernel had a bound: nothing was tried")
