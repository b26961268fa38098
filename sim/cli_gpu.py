"""Commands about CUDA kernels: occupancy, worst-case estimates and bounds, streams, mappings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.gpu.compute_capability import CAPABILITIES, capability
from cyclebound.golden.gpu.occupancy import (
    BlockResources,
    calculator_tables,
    check_carve_out,
    occupancy,
)
from cyclebound.sim.cli import GROUPS, AsJson, app, console
from cyclebound.sim.drawing import FORMATS, write
from cyclebound.sim.errors import UserError
from cyclebound.sim.gpu_page import Grid, Page

gpu = typer.Typer(no_args_is_help=True, help=GROUPS["gpu"][1] + """

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
CarveOut = Annotated[int | None, typer.Option(
    "--carve-out", metavar="BYTES", help="Shared memory of an SM as configured; the default is "
    "the largest. The thesis's Table 5.3 has 65536.")]


def checked(function: Callable, *arguments: object, **named: object) -> object:
    """What a model says; what it refuses is the user's mistake."""
    try:
        return function(*arguments, **named)
    except ValueError as error:
        raise UserError(str(error)) from None


def check_files(html: Path | None, picture: Path | None = None) -> None:
    """Refuse a format or a folder that is none before anything is computed."""
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
    threads: Annotated[int, typer.Option("--threads", "-t", metavar="N", help="Of a block.")],
    registers: Annotated[int, typer.Option(
        "--registers", "-r", metavar="N", help="Of a thread: REG of `cuobjdump -res-usage`.")] = 32,
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

    cyclebound gpu occupancy --threads 64 --registers 64 --carve-out 65536 --picture occupancy.svg

    The scarcest of three resources decides: places for warps and blocks, registers (allocated by
    warp, in units of 256), and shared memory (in units of 128 bytes with the runtime's 1,024).
    Exit status 1: the kernel does not launch.
    """
    check_files(html, picture)
    limits = checked(capability, cc)
    block = BlockResources(threads, registers, shared)
    carve_out = checked(check_carve_out, carve_out, limits)
    found = checked(occupancy, block, limits, carve_out=carve_out)
    rows = list(calculator_tables(block, limits, carve_out=carve_out)) if (
        tables or picture or html) else []
    page = Page(f"Occupancy, compute capability {limits.name}")
    page.grids.append(Grid("", ("resource", "blocks it allows", "limits"), [
        (name, most, "yes" if name in found.limits else "") for name, most in found.by.items()]))
    page.sentences.append(
        f"{found.blocks} block(s), {found.warps} of {limits.warps} warps ({found.share:.0%}) in an "
        f"SM with {carve_out} bytes of shared memory; limited by {' and '.join(found.limits)}."
        if found.blocks else f"The kernel does not launch: {' and '.join(found.limits)} allow(s) "
        "no block.")
    if tables or html:
        page.grids += [Grid(f"Warps over {over}", ("value", "carve-out", "warps"), [
            (row.value, row.carve_out, row.warps) for row in rows if row.over == over])
            for over in ("threads", "registers", "shared")]
    if picture or html:
        from cyclebound.sim.pictures.gpu_occupancy import figure  # matplotlib takes a second
        page.figures.append(figure(rows, block, limits, carve_out))
    deliver(page, {
        "capability": limits.name, "carve_out": carve_out, "threads": threads,
        "registers": registers, "shared": shared, "by": found.by, "blocks": found.blocks,
        "warps": found.warps, "limits": list(found.limits), "share": found.share,
        "tables": [vars(row) for row in rows] if tables else None},
        as_json=as_json, html=html, picture=picture)
    if not found.blocks:
        raise typer.Exit(1)
