"""The command that takes a bound along: a checker in Verilog, and its assertions."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli.base import (
    BlockName,
    ConfigurationName,
    PartFile,
    Settings,
    app,
    console,
    request_parameters,
    the_catalogue,
    with_part,
)

with lazily():
    from cyclebound.sim.base import print_table as printing
    from cyclebound.sim.describe import block as blocks
    from cyclebound.sim.describe import variant as variants
    from cyclebound.sim.export import monitor as monitoring
    from cyclebound.sim.fpga import placement as fpgas


@app.command()
def monitor(block: BlockName, claim: Annotated[str | None, typer.Argument(
                metavar="CLAIM", help="The requests that it is about, as `cyclebound bound` "
                "calls them; the default is each claim that can be expressed.", show_default=False)
            ] = None,
            output: Annotated[Path, typer.Option(
                "--output", "-o", metavar="DIR", help="Where the files go.")] = Path(),
            configuration: ConfigurationName = None, settings: Settings = None,
            part: PartFile = None,
            values: Annotated[list[str] | None, typer.Option(
                "--values", metavar="NAME=LEAST..GREATEST", help="Values of a parameter that each "
                "request has its own of: the checker gets an input for it, unless ports show it. "
                "Repeatable.")] = None,
            histogram: Annotated[int, typer.Option(
                "--histogram", metavar="BINS", help="Count latencies in so many bins, at least 2, "
                "to be read by index.")] = 0,
            flags_only: Annotated[bool, typer.Option(
                "--flags-only", help="Without the number of requests and their longest latency: "
                "less area.")] = False,
            name: Annotated[str | None, typer.Option(
                "--name", metavar="NAME", help="The block's module, as `cyclebound verilog --name`."
            )] = None,
            area: Annotated[bool, typer.Option(
                "--area", help="Synthesize block and checkers, and print both areas.")] = False
            ) -> int:
    """A bound as a synthesizable checker in Verilog, and as a bind file with assertions (SVA).

    For simulators and FPGAs without Cyclebound. --set gives parameters of the block other values,
    and of all requests the values that a bound needs. Claims that cannot be expressed are named;
    exit status 1 if there is no other.
    """
    the_block = the_catalogue().find(block)
    configuration, _ = the_block.configuration(configuration)
    settings = with_part(settings, part)
    given = request_parameters(the_block, configuration, settings)
    hardware = {name: given[name] for name in the_block.configurations[configuration].parameters}
    variant, configuration = variants.variant(the_block, configuration, hardware)
    own = {name: value for name, value in given.items() if name not in hardware}
    if histogram < 0 or histogram == 1:
        raise UserError(f"--histogram takes at least 2 bins, not {histogram}")
    made, without = monitoring.monitors(
        variant, hardware, claim, name=name, bins=histogram, values=_ranges(values),
        fixed=own, figures=not flags_only)
    for one in made:
        for suffix, text in ((".v", one.verilog), ("_bind.sv", one.bind)):
            try:
                output.mkdir(parents=True, exist_ok=True)
                (output / f"{one.name}{suffix}").write_text(text)
            except OSError as error:
                raise UserError(f"cannot write {output}: {error.strerror}") from error
        cli.say(f"{one.says}: {output / one.name}.v, {one.name}_bind.sv")
    for why in without.values():
        cli.say(f"left out: {why}")
    if area:
        _areas(variant, configuration, made)
    return 0 if made else 1


def _ranges(options: list[str] | None) -> dict[str, tuple[int, int]]:
    """``--values``. Raises `UserError`."""
    found = {}
    for option in options or ():
        match = re.fullmatch(r"(\w+)=(-?\w+)\.\.(-?\w+)", option, re.ASCII)
        try:
            low, high = (int(number, 0) for number in match.groups()[1:]) if match else (1, 0)
        except ValueError:
            low, high = 1, 0
        if not match or high < low:
            raise UserError(f"--values takes NAME=LEAST..GREATEST, not {option!r}")
        found[match[1]] = low, high
    return found


def _areas(block: "blocks.Block", configuration: str, made: "list[monitoring.Monitor]") -> None:
    """Print the area of the block and of its checkers."""
    table = Table("part", "LUTs", "flip-flops", "block RAMs", "of the block's LUTs", "flip-flops")
    whole: dict[str, int] = {}
    for name, one, where in ((block.name, block, configuration),
                             *((one.name, one.block, None) for one in made)):
        with cli.status(name) as tell:
            parts = fpgas.area_of_parts(one, where, progress=tell)
        its = {kind: sum(part.count * getattr(part, kind) for part in parts)
               for kind in ("luts", "flip_flops", "block_rams")}
        whole = whole or its
        table.add_row(name, *(f"{number:,}" for number in its.values()),
                      *(f"{100 * its[kind] / max(1, whole[kind]):.1f} %"
                        for kind in ("luts", "flip_flops")))
    printing.print_table(table, console())
