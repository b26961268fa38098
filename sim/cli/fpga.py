"""The command that places a block on an FPGA: clock rate, area, bounds in nanoseconds."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli.base import (
    AsJson,
    BlockName,
    ConfigurationName,
    Settings,
    app,
    console,
    request_parameters,
    the_catalogue,
)
from cyclebound.sim.cli.listing import declared_kinds

with lazily():
    from cyclebound.sim.base import print_table as printing
    from cyclebound.sim.describe import block as blocks
    from cyclebound.sim.describe import variant as variants
    from cyclebound.sim.drawing import drawing
    from cyclebound.sim.fpga import board as boards
    from cyclebound.sim.fpga import floor_plan
    from cyclebound.sim.fpga import placement as fpgas
    from cyclebound.sim.judge import verdict as verdicts


@app.command()
def fpga(block: BlockName, configuration: ConfigurationName = None,
         target: Annotated[str | None, typer.Option(
             "--target", "--device", metavar="T", help="ecp5-12k, -25k, -45k, -85k, ice40-hx8k, "
             "ice40-up5k, gowin-gw1n-9c, gowin-gw2a-18c or nexus-lifcl-40; the default is the "
             "block's own.")
         ] = None,
         settings: Settings = None, seed: Annotated[int, typer.Option(
             "--seed", metavar="S", min=0, help="Seed of the placement; of several, the first.")
         ] = 1,
         seeds: Annotated[int, typer.Option(
             "--seeds", metavar="N", min=1, help="Place with so many seeds: the fastest, and "
             "how far they lie apart.")] = 1,
         workers: Annotated[int, typer.Option(
             "-j", metavar="N", min=1, help="Seeds at a time; each takes a core and some GB.")
         ] = 1,
         mhz: Annotated[float | None, typer.Option(
             "--mhz", metavar="RATE", min=0.001, help="The clock rate that it has to reach, else "
             "exit status 1.")] = None,
         area: Annotated[bool, typer.Option(
             "--area", help="Synthesis only; equal parts are synthesized once.")] = False,
         compact: Annotated[bool, typer.Option(
             "--compact", help="No lookup tables of more than four inputs: fewer in all, and often "
             "a slower clock.")] = False,
         vendors: Annotated[bool, typer.Option(
             "--vendors", help="With --area: what yosys makes of it for Xilinx 7 series and Intel "
             "Cyclone V, too.")] = False,
         drawn: Annotated[Path | None, typer.Option(
             "--picture", metavar="FILE", help="Draw where the block lies, its slowest path, and "
             "how crowded the wires are: .svg, .png or .pdf.")] = None,
         board: Annotated[str | None, typer.Option(
             "--board", metavar="B", help="Make a bitstream of the block's hardware harness, which "
             "sends what it measures on the board's serial port: ulx3s-12f, -25f, -45f, -85f, "
             "orangecrab-25f, -85f, ecpix5-45f, -85f.")] = None,
         output: Annotated[Path | None, typer.Option(
             "--output", "-o", metavar="FILE.bit", help="With --board: where it goes, its "
             "constraints beside it as FILE.lpf.")] = None,
         divide: Annotated[int, typer.Option(
             "--divide", metavar="N", help="With --board: the block's clock is the board's by N, "
             "a power of two.")] = 1,
         tx: Annotated[str | None, typer.Option(
             "--tx", metavar="PIN", help="With --board: the package's pin that sends; the default "
             "is that of the board's USB socket.")] = None,
         log: Annotated[Path | None, typer.Option(
             "--received", metavar="FILE", help="Judge what a board has sent: a round of "
             "measurements beside their bounds.")] = None,
         as_json: AsJson = False) -> int:
    """Synthesis, place and route: clock rate, area, slowest path; with the clock rate, bounds in
    ns.

    The block stands between registers, so that its own paths decide. The slowest one is told by
    signals, with the lines that make them. --set gives parameters of the block other values, and of
    a request the values that its bounds need. Takes a minute or more; longer the first time.

      cyclebound fpga noc.arbiter                        one seed, on the block's own device
      cyclebound fpga noc.arbiter --seeds 4 --mhz 150    the best of four: is it fast enough?
      cyclebound fpga noc.arbiter --picture floor.svg    floor plan and congestion
      cyclebound fpga noc.mesh --area                    what takes how much, placing nothing
      cyclebound fpga noc.mesh --area --vendors          beside it: Xilinx 7 series, Cyclone V

    Seeds change the clock rate by some per cent: compare designs by several. Where a block does not
    fit, it is said by how much, and which parameter would help.

    With --board, the block's harness measures every case of its script on a board, by itself:

      cyclebound fpga sram.banked_memory --board ulx3s-85f -o memory.bit
      openFPGALoader -b ulx3s memory.bit
      stty -F /dev/ttyUSB0 115200 raw; timeout 60 cat /dev/ttyUSB0 > log.txt
      cyclebound fpga sram.banked_memory --received log.txt

    Exit status 1 if --mhz is missed, or if what was received exceeds a bound.
    """
    the_block = the_catalogue().find(block)
    own = the_block.fpga
    configuration, _ = the_block.configuration(
        configuration or (own.configuration if own else None))
    values = request_parameters(the_block, configuration, settings)
    the_block, configuration = variants.variant(the_block, configuration, {
        name: values[name] for name in the_block.configurations[configuration].parameters})
    if board is None and (output or tx or divide != 1):
        raise UserError("--output, --divide and --tx belong to --board")
    if log:
        return _judge(the_block, configuration, log, as_json)
    if board:
        _bitstream(the_block, configuration, board, output, divide=divide, seed=seed, tx=tx)
        return 0
    if area:
        if mhz or drawn or seeds > 1:
            raise UserError("--area places nothing: leave out --mhz, --picture and --seeds")
        _parts(the_block, configuration, as_json, compact=compact, vendors=vendors)
        return 0
    if vendors:
        raise UserError("--vendors belongs to --area: nothing open places for those")
    if drawn and drawn.suffix not in drawing.FORMATS:
        raise UserError(f"--picture takes a file that ends in {', '.join(drawing.FORMATS)}, not "
                        f"{drawn}")
    decided = _of_hardware(the_block, configuration, settings)
    with cli.status(f"{the_block.name}") as tell:
        placed = fpgas.place_seeds(the_block, configuration,
                                   target or (own.device if own else "ecp5-85k"),
                                   seeds=range(seed, seed + seeds), compact=compact,
                                   picture=drawn is not None, workers=workers, progress=tell)
    best, figures = placed[0], placed[0].figures
    bounds = _bounds_in_ns(the_block, figures, settings, decided)
    if drawn:
        drawing.write(floor_plan.figure(
            best.floor, f"{figures.block} on {figures.target}, seed {best.seed}", best.places),
            drawn, "--picture")
    if as_json:
        print(json.dumps({
            **asdict(figures), "bounds": bounds,
            "seeds": [{"seed": one.seed, "mhz": one.figures.mhz} for one in placed],
            "path": [asdict(step) for step in best.path]}, indent=2))
    else:
        _print(placed, bounds)
    if mhz and figures.mhz < mhz:
        cli.say(f"{figures.block}: {figures.mhz:.2f} MHz, {mhz - figures.mhz:.2f} less than the "
                f"{mhz:g} asked for")
        return 1
    return 0


def _print(placed: Sequence["fpgas.Placement"], bounds: Sequence[Mapping]) -> None:
    """Figures and bounds, and the slowest path, as tables; the first placement is the fastest."""
    best, figures = placed[0], placed[0].figures
    table = Table(title=f"{figures.block} {figures.configuration} on {figures.target}",
                  title_justify="left", show_header=False)
    rates = [one.figures.mhz for one in placed]
    spread = (f"; {len(rates)} seeds: {min(rates):.1f} to {max(rates):.1f}, median "
              f"{statistics.median(rates):.1f}" if len(rates) > 1 else "")
    for name, value in (("clock rate", f"{figures.mhz:.1f} MHz{spread}"),
                        ("LUTs", f"{figures.luts:,}"),
                        ("flip-flops", f"{figures.flip_flops:,}"),
                        ("block RAMs", str(figures.block_rams)),
                        ("multipliers", str(figures.multipliers)), ("tools", figures.detail),
                        *((f"{row['bound']} ({row['what']})", row["words"]) for row in bounds)):
        table.add_row(name, value)
    printing.print_table(table, console())
    if not best.path:
        return
    logic, routing = (sum(getattr(step, what) for step in best.path)
                      for what in ("logic_ns", "routing_ns"))
    path = Table("at", "file:line", "cells", "logic, ns", "then wires, ns",
                 title=f"Slowest path: {logic + routing:.2f} ns, {logic:.2f} of them in cells",
                 title_justify="left")
    for step in best.path:
        path.add_row(step.signal, step.line, str(step.cells), f"{step.logic_ns:.2f}",
                     f"{step.routing_ns:.2f}")
    printing.print_table(path, console())


def _bitstream(block: "blocks.Block", configuration: str, board: str, output: Path | None, *,
               divide: int, seed: int, tx: str | None) -> None:
    """Make the bitstream, and say what to do with it."""
    if output is None or output.suffix != ".bit":
        raise UserError("--board needs --output FILE.bit")
    with cli.status(f"{block.name} on {board}") as tell:
        made = boards.make_bitstream(block, configuration, board, output, divide=divide, seed=seed,
                                     tx=tx, tell=tell)
    print(f"{output}: {block.name} ({configuration}) on {boards.BOARDS[board].says}; pin "
          f"{made.pin}, {boards.BAUD} baud, 8N1; clock {made.clock_mhz:g} MHz of "
          f"{made.mhz:.1f} MHz reached; constraints in {made.files[1]}")


def _judge(block: "blocks.Block", configuration: str, log: Path, as_json: bool) -> int:
    """Print what a board has sent, beside the bounds; 1 if one was exceeded."""
    make, script = boards.harness_of(block, configuration)
    try:
        text = text_in(log, errors="replace")  # a line that was opened late
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {log}: {error}") from error
    try:
        measured = boards.received(text, make(), script)
    except UserError as error:
        raise UserError(f"{log}: {error}") from error
    if as_json:
        print(json.dumps([{**asdict(one), "verdict": one.verdict} for one in measured], indent=2))
    else:
        table = Table("measurement", "requests", "cycles", "bound", "verdict")
        for one in measured:
            cycles = f"{min(one.bins)} to {max(one.bins)}" if one.bins else "-"
            table.add_row(", ".join(f"{name}={value}" for name, value in one.settings.items()
                                    if name != "limit"),
                          f"{sum(one.bins.values()):,}", cycles,
                          f"{one.settings.get('limit', 0) or '-'}", one.verdict)
        printing.print_table(table, console())
    return int(any(one.verdict in ("violated", "failed") for one in measured))


_FIGURES = {"luts": "LUTs", "flip_flops": "flip-flops", "block_rams": "block RAMs",
            "multipliers": "multipliers"}


def _parts(block: "blocks.Block", configuration: str | None, as_json: bool, *, compact: bool,
           vendors: bool) -> None:
    """Print the areas of a block's parts, and their sum; with ``vendors`` that of each family."""
    parts: dict[str, list[fpgas.Part]] = {}
    failed: dict[str, str] = {}
    with cli.status(block.name) as tell:
        for family in fpgas.VENDORS if vendors else ("ecp5",):
            try:
                parts[family] = fpgas.area_of_parts(block, configuration, family=family,
                                                    compact=compact and family == "ecp5",
                                                    progress=tell)
            except UserError as error:  # yosys knows some families better than others
                if family == "ecp5":
                    raise
                failed[family] = str(error)
    if as_json:
        rows = {family: [asdict(part) for part in of] for family, of in parts.items()}
        print(json.dumps(rows if vendors else rows["ecp5"], indent=2))
        return

    def sums(of: Sequence["fpgas.Part"]) -> list[str]:
        return [f"{sum(part.count * getattr(part, kind) for part in of):,}" for kind in _FIGURES]

    table = Table("part", "count", *_FIGURES.values())
    for part in parts["ecp5"]:
        table.add_row(part.name, str(part.count),
                      *(f"{getattr(part, kind):,}" for kind in _FIGURES))
    table.add_row("all", "", *sums(parts["ecp5"]))
    printing.print_table(table, console())
    if vendors:
        table = Table("family", *_FIGURES.values())
        for family, of in parts.items():
            table.add_row(fpgas.VENDORS[family], *sums(of))
        printing.print_table(table, console())
    for says in failed.values():
        cli.say(says)


def _of_hardware(block: "blocks.Block", configuration: str, settings: list[str] | None
                 ) -> dict[str, dict[str, object]]:
    """For each bound, parameters that the hardware's own decide, as its proofs declare them.

    Raises `UserError` for another value: that bound would be of other hardware than is placed.
    """
    hardware, values = (block.configurations[configuration].parameters,
                        request_parameters(block, configuration, settings))
    found: dict[str, dict[str, object]] = {}
    for what in (observed.what for observed in block.bounds):
        found[what] = {}
        for name, value in (pair for kind in declared_kinds(block, hardware, what)
                            for pair in kind.items() if pair[0] not in hardware):
            decides = [own for own, size in hardware.items() if isinstance(size, int) and all(
                kind.get(name) != value
                for kind in declared_kinds(block, {**hardware, own: size + 1}, what))]
            if not decides:
                continue
            if values.get(name, value) != value:
                raise UserError(f"--set {name}={values[name]}: it is {value} in this hardware, as "
                                f"{', '.join(f'{own}={hardware[own]}' for own in decides)} says")
            found[what][name] = value
    return found


def _bounds_in_ns(block: "blocks.Block", figures: "fpgas.Figures", settings: list[str] | None,
                  decided: Mapping[str, Mapping[str, object]]) -> list[dict]:
    """Every bound at the clock rate reached, in ns; or which parameters of a request it lacks."""
    given = request_parameters(block, figures.configuration, settings)
    rows = []
    for observed in block.bounds:
        parameters = {**given, **decided[observed.what]}
        row: dict[str, Any] = {
               "bound": observed.bound.name, "what": observed.what, "cycles": None, "ns": None,
               "unit": observed.probe.counts if observed.probe else "cycles"}
        try:
            row["cycles"] = verdicts.cycles_of(observed.bound, parameters)
            row["words"] = f"{row['cycles']:,} {row['unit']}"
            if row["unit"] == "cycles":  # nothing else has a time
                row["ns"] = round(row["cycles"] * 1000 / figures.mhz, 1)
                row["words"] += f", {row['ns']:,} ns"
        except NotCovered as error:
            row["words"] = f"{error}; give it with --set"
        except UserError:  # what it needs cannot be imported
            raise
        except Exception as error:  # a mistake in the formula, which may be the user's own
            raise UserError(f"bound {observed.bound.name} of {block.name}: "
                            f"{type(error).__name__}: {error}") from error
        rows.append(row)
    return rows
