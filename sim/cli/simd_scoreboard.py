"""The command that scores all kernels of a folder."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.machine import machine_named
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import AsJson, Workers, progress_bars
from cyclebound.sim.families.simd.options import DataRoot, MachineName, PartName, policy_named
from cyclebound.sim.families.simd.published import markdown
from cyclebound.sim.families.simd.scoreboard import (
    Setting,
    contradicted,
    listed,
    page,
    scoreboard,
)
from cyclebound.tools.simd.wcet_adversary import POLICIES

__all__ = ["score"]


def score(
    folder: Annotated[Path, typer.Argument(
        metavar="FOLDER", help="Kernels: all .sas files in it and below, such as src/kernels of "
        "a copy of Sim-D's sources.")],
    output: Annotated[Path, typer.Option(
        "--output", "-o", metavar="DIR", help="Where scoreboard.json and scoreboard.html go. What "
        "is there from a run that was stopped is not run again.")] = Path("scoreboard"),
    grids: Annotated[Path | None, typer.Option(
        "--grids", metavar="FILE", help="Grids and results: for kernel.sas a table \\[kernel], or, "
        "where several folders have one, [\"below/kernel.sas\"], with "
        "grid = [X, Y], width = W, expect = { BUFFER = \"FILE\" } (.npy, .csv, .txt, raw words). "
        "Kernels of Sim-D's authors, and with installed kernels' names, have theirs.")] = None,
    policies: Annotated[list[str] | None, typer.Option(
        "--policy", "-p", metavar="POLICY", help="Once for each; the default is access and "
        "compute.")] = None,
    data_root: DataRoot = None,
    machine: MachineName = "paper",
    part: PartName = "ddr4-3200aa-x16",
    measured: Annotated[bool, typer.Option(
        "--run/--bounds", help="Run the kernels; or only bound them.")] = True,
    rtl: Annotated[bool, typer.Option(
        "--rtl", help="Also on the RTL, under the first policy, beside the cycle model with the "
        "same refresh.")] = False,
    workers: Workers = None,
    scheduler: Annotated[str | None, typer.Option(
        metavar="ADDRESS", help="Score the kernels on the Dask cluster of this scheduler, which "
        "has the same files.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score all kernels of a folder: assembled, results, cycles by policy, bounds, tightness.

        cyclebound simd scoreboard Sim-D/src/kernels --bounds
        cyclebound simd scoreboard mine --grids mine/grids.toml --rtl

    Exit status 1: a bound is exceeded, a result differs, or the RTL is not as the cycle model.
    Else 2, with --run: of some kernel, cycles or results could not be had; the others are shown.
    """
    if rtl and not measured:
        raise UserError("--rtl runs the kernels, and --bounds does not")
    chosen = tuple(policy_named(name, POLICIES).value for name in policies or
                   [policy.value for policy in POLICIES])
    try:
        machine_named(machine)
        part_named(part)
    except ValueError as error:
        raise UserError(str(error)) from None
    setting = Setting(chosen, machine, part, measured, rtl, None if data_root is None
                      else str(data_root.resolve()))
    kernels = listed(folder, grids, setting)
    with progress_bars() as tell:
        rows = scoreboard(kernels, output, workers=workers or os.cpu_count() or 1,
                          scheduler=scheduler, tell=tell)
    record = {"machine": machine, "part": part, "policies": chosen, "kernels": rows}
    try:
        (output / "scoreboard.json").write_text(json.dumps(record, indent=2))
        (output / "scoreboard.html").write_text(page(rows, setting))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None
    if as_json:
        print(json.dumps(record, indent=2))
    else:
        print(markdown(
            ("kernel", *(f"{policy}: {what}" for policy in chosen
                         for what in ("cycles", "bound", "cycles / bound")), "facts", "RTL"),
            [(row["kernel"], *(cell for policy in chosen for cell in (
                row.get("cycles", {}).get(policy), row.get("bound", {}).get(policy),
                _ratio(row.get("tightness", {}).get(policy)))), row.get("rests_on"),
              row.get("rtl", {}).get("cycles")) for row in rows]))
    for row in rows:
        for said in filter(None, (row["said"], row.get("no_bound"), *contradicted(row))):
            print(f"cyclebound: {row['kernel']}: {said}", file=sys.stderr)
    if any(map(contradicted, rows)):
        raise typer.Exit(1)
    if measured and any(row["said"] for row in rows):
        raise typer.Exit(2)


def _ratio(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"
