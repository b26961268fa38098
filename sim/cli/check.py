"""Commands for the user's own hardware: recorded waveforms, new blocks."""

import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.base.shape import cleaned
from cyclebound.sim.cli.base import AsJson, Sarif, app, console, named_values, status

with lazily():
    from cyclebound.sim.base import print_table as printing
    from cyclebound.sim.describe import new_block as new_blocks
    from cyclebound.sim.report import sarif as findings
    from cyclebound.sim.traces import check as checks
    from cyclebound.sim.traces import files
    from cyclebound.sim.traces import trace as traces
    from cyclebound.tb import probe as probes
    from cyclebound.tb import tally as tallies
    from cyclebound.tb import time_units


@app.command()
def check(
    trace: Annotated[Path, typer.Argument(
        metavar="TRACE", help="A .vcd, .vcd.gz or .fst file of any simulator or logic analyser; or "
        "a .csv file, whose first line names the signals and each further line is a cycle.")],
    start: Annotated[str, typer.Option(
        metavar="EXPR", help="True in the first cycle of a request, e.g. 'req.valid & req.ready'.")
    ],
    end: Annotated[str, typer.Option(metavar="EXPR", help="True in the last cycle of a request.")],
    bound: Annotated[str, typer.Option(
        metavar="BOUND", help="FILE:FUNCTION (with @bound, or any function that gives cycles), "
        "module:function, a number, or a formula such as '(n - 1) * burst + 5'; in cycles, or "
        "with a unit: '120 ns'.")],
    clock: Annotated[list[str] | None, typer.Option(
        metavar="SIGNAL", help="The clock (~clk: its falling edge); the default is the outermost "
        "signal called clk or the like; every-step: each step of time is a cycle. In a .csv file "
        "the default is that each line is a cycle; 'every 10 ns' ('every 10', where times have "
        "no unit): a line lasts until the next.")
    ] = None,
    reset: Annotated[str, typer.Option(
        metavar="EXPR", help="True in cycles of reset, which end all requests under way.")] = "",
    stops: Annotated[bool, typer.Option(
        "--clock-stops", help="The clock stops on purpose: that it does is no gap of the record.")
    ] = False,
    settings: Annotated[list[str] | None, typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the bound that is the same for all "
        "requests; expressions may use it, too. May be repeated.")] = None,
    request: Annotated[list[str] | None, typer.Option(
        metavar="NAME=EXPR", help="A parameter of the bound that signals show when a request "
        "begins. May be repeated.")] = None,
    in_flight: Annotated[int, typer.Option(
        metavar="N", min=1, help="How many requests may be under way; they end in the order in "
        "which they began. With an --id, so many with each id, which end in order.")] = 1,
    identity: Annotated[str, typer.Option(
        "--id", metavar="EXPR", help="Identifier of a request, for requests that end out of order.")
    ] = "",
    end_identity: Annotated[str, typer.Option(
        "--end-id", metavar="EXPR", help="Identifier of the request that ends; the default is "
        "--id.")] = "",
    starts: Annotated[str, typer.Option(
        metavar="EXPR", help="How many starts a request has, read at the first.")] = "1",
    ends: Annotated[str, typer.Option(
        metavar="EXPR", help="How many ends a request has, read when it begins: a burst of four "
        "words ends with the fourth.")] = "1",
    over: Annotated[list[str] | None, typer.Option(
        metavar="LETTER=N", help="N probes, with LETTER from 0 to N - 1 in all expressions: "
        "--over r=4 --start 'req\\[r]'. N is a number, or a signal of N bits.")] = None,
    ticks: Annotated[str, typer.Option(
        metavar="EXPR", help="Count only the cycles in which this is true.")] = "",
    in_turn: Annotated[bool, typer.Option(
        "--in-turn", help="Requests are served one after the other; each counts from the cycle "
        "after the end of the one before, if that is later than its start.")] = False,
    ahead: Annotated[str, typer.Option(
        metavar="EXPR", help="With --in-turn: count from this many cycles earlier.")] = "0",
    midway: Annotated[bool, typer.Option(
        "--midway", help="The trace begins, or goes on after a gap, while requests are under way: "
        "ends before the first start are theirs.")] = False,
    names: Annotated[list[str] | None, typer.Option(
        "--name", metavar="NAME=SIGNAL", help="A name for a signal whose own name cannot be used "
        "in expressions. May be repeated.")] = None,
    radix: Annotated[list[str] | None, typer.Option(
        metavar="COLUMN=RADIX", help="How a .csv file's column is written: hex, dec, bin, oct or "
        "signed, perhaps with its bits (signed8). May be repeated.")] = None,
    scope: Annotated[str, typer.Option(
        metavar="PATH", help="Look for signals below this path first, e.g. top.dut.")] = "",
    picture: Annotated[Path | None, typer.Option(
        metavar="FILE", help="Draw the worst request, as .svg.")] = None,
    signals: Annotated[list[str] | None, typer.Option(
        "--signal", metavar="SIGNAL", help="Show this signal in the picture, too.")] = None,
    as_json: AsJson = False, sarif: Sarif = None,
) -> int:
    """Latencies of any recorded trace against a bound.

    A request begins in the cycle in which --start is true and ends in that in which --end is;
    both count. The value of a signal in a cycle is the one just before the rising edge that ends
    the cycle, as a flip-flop samples it.

    Expressions have signals by path (its beginning may be left out if that is unambiguous), bits
    (data[4:8] is what Verilog calls data[7:4]), whole numbers, & | ^ ~ + -, one comparison,
    past(x), any(x), count(x), first(x, y), held(x, y), nth(x, n), every(n), rose(x), fell(x) and
    any(port[p].valid for p in 4); also && || ! and 8'h1f as in Verilog.

        cyclebound check dump.fst --start 'req & ~past(req & ~ack)' \\
            --end 'req & ack' --reset rst --bound 12

    Exit status 0: the bound holds for all requests. 1: it does not, or there was no request, or
    the signals are no sequence of requests. 2: a mistake in the call, or a broken trace.
    """
    fixed = {name: _whole(name, text) for name, text in named_values("--set", settings).items()}
    several = [name for given in clock or () for name in given.split(",")]
    if len(several) > 1:
        raise UserError(f"--clock takes one clock, not {' and '.join(several)}: a request that "
                        "crosses from one to another has no latency in cycles of one; check each "
                        "side by itself, or both in cycles of the faster clock with a bound in ns")
    number, unit = time_units.unit_of(bound)
    wanted = checks.Check(
        _probe(start=start, end=end, request=named_values("--request", request), starts=starts,
               ends=ends, in_flight=in_flight, id=identity, end_id=end_identity, ticks=ticks,
               over={letter: int(many) if many.isdecimal() else many
                     for letter, many in named_values("--over", over).items()},
               in_turn=in_turn, ahead=ahead),
        checks.bound_named(number), fixed, "".join(several), reset, midway, stops, unit)
    radixes = named_values("--radix", radix, column=True)
    if picture is not None and picture.suffix != ".svg":
        raise UserError(f"--picture takes a file that ends in .svg, not {str(picture)!r}")
    with files.open_trace(trace, radixes) as opened:
        _prepare(opened, scope, names)
        with status(f"reading {trace}"):
            checked = checks.check(opened, wanted)
    draws = picture is not None and checked.finding.worst is not None
    if picture is not None and draws:
        with files.open_trace(trace, radixes) as reopened:
            _prepare(reopened, scope, names)
            _draw(picture, reopened, checked, signals or [])
    fits = None
    if checked.finding.verdict == "unclear" and checked.cycles:
        with files.open_trace(trace, radixes) as reopened:
            _prepare(reopened, scope, names)
            with status("looking for expressions that fit"):
                fits = checks.fitting(reopened, wanted)
    if sarif is not None:
        findings.write(sarif, findings.sarif(findings.of_trace(trace, checked.finding)))
    if as_json:
        _print_json(trace, checked, fits)
    else:
        _print(trace, checked, opened.said)
        if fits is not None:
            console().print("with these, all are requests; are they what you mean? --start "
                            f"{shlex.quote(fits.start)} --end {shlex.quote(fits.end)}",
                            soft_wrap=True)
        if draws:
            console().print(f"picture: {picture}", soft_wrap=True)
    return 1 if checked.finding.failed else 0


@app.command()
def new(
    name: Annotated[str, typer.Argument(
        metavar="NAME", help="The block's name: small letters, digits and _. With --verilog, the "
        "module's if it is left out.")] = "",
    output: Annotated[Path, typer.Option(
        "--output", "-o", metavar="DIR", help="Where its files go.")] = Path("."),
    verilog: Annotated[list[str] | None, typer.Option(
        metavar="FILE", help="Its hardware is this source in Verilog, SystemVerilog or VHDL, or "
        "this list of files (.f). May be repeated.")] = None,
    top: Annotated[str, typer.Option(
        metavar="MODULE", help="The module; the default is the one that no other places.")] = "",
    start: Annotated[str, typer.Option(
        metavar="EXPR", help="True in the first cycle of a request, e.g. 'in_valid & in_ready'; "
        "the default is what the ports' names say.")] = "",
    end: Annotated[str, typer.Option(metavar="EXPR", help="True in its last cycle.")] = "",
    within: Annotated[int | None, typer.Option(
        metavar="CYCLES", min=1, help="Its bound; the default is a limit of 1000 to begin with.")
    ] = None,
) -> None:
    """Write the four files of a small block that passes, as a start for a block of your own.

    NAME.py is the hardware, NAME_model.py its golden model and bound, NAME_tb.py the testbench and
    NAME_page.py the catalogue page. docs/your-own-block.md explains such files one by one. With
    --verilog the hardware is a module that there is already, and the others are made for its ports.
    """
    if verilog:
        paths = new_blocks.new_verilog(name, output, verilog, top=top, start=start, end=end,
                                       within=within)
        name = paths[0].stem.removesuffix("_model")
    elif top or start or end or within or not name:
        raise UserError("a new block has a NAME, or a source with --verilog, of which --top, "
                        "--start, --end and --within speak")
    else:
        paths = new_blocks.new_block(name, output)
    for path in paths:
        print(path)
    where = "" if output == Path(".") else f"cd {shlex.quote(str(output))}; "
    console().print(f"next: {where}cyclebound --catalogue {name}_page regress own.{name}",
                    soft_wrap=True)


def _whole(name: str, text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise UserError(f"--set {name} takes a whole number, not {text!r}") from None
    if not -1 << 62 <= value < 1 << 62:
        raise UserError(f"--set {name} takes a number of 62 bits, not {text[:40]!r}")
    return value


def _probe(**fields: Any) -> "probes.Probe":
    try:
        return probes.Probe(**fields)
    except ValueError as error:
        raise UserError(str(error)) from error


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Without infinite ratios, which JSON does not have."""
    return {**row, "ratios": [ratio if math.isfinite(ratio) else None for ratio in row["ratios"]]}


def _prepare(trace: "traces.Trace", scope: str, names: list[str] | None) -> None:
    trace.scope = scope
    for name, signal in named_values("--name", names).items():
        try:
            trace.aliases[name] = trace.find_name(signal)
        except LookupError as error:
            raise UserError(f"--name {name}: {error.args[0]}") from None


def _requests(row: "tallies.Finding") -> Iterator[tuple[str, Mapping]]:
    """The longest request and the one closest to its bound, with what to call each."""
    if row.worst is None:
        return
    longest = {name: getattr(row, name) for name in ("first", "last", "times", "parameters")}
    for said, shown in (("worst", longest), ("closest to its bound", row.tightest)):
        if said == "worst" or (shown and shown["first"] != row.first):
            what = ", ".join(f"{key} {value}" for key, value in shown["parameters"].items())
            took = f": {shown['latency']:,} of {shown['allowed']:,}" if said != "worst" else ""
            yield f"{said}{f' ({what})' if what else ''}{took}", shown


def _print(trace: Path, checked: "checks.Checked", when: Callable[[int], str]) -> None:
    row, out = checked.finding, console()
    clock = f" of {checked.clock}" if checked.clock else ""
    out.print(f"{trace}: {checked.cycles:,} cycles{clock}, {checked.changes:,} changes of the "
              f"{len(checked.signals)} signals read", soft_wrap=True)
    printing.print_table(tallies.table([row]), out)
    if checked.unit:
        out.print(f"latencies and bound are in {checked.unit}")
    for said, shown in _requests(row):
        out.print(f"{said}: cycles {shown['first']:,} to {shown['last']:,}, which end at "
                  f"{' to '.join(map(when, shown['times']))}", soft_wrap=True)
    for line in tallies.histogram_lines(row):
        out.print(f"  {line}", soft_wrap=True)
    for count, says in ((row.unfinished, "had not ended with the trace"),
                        (checked.cut_off, "ended with a reset or a gap")):
        if count:
            out.print(f"{count:,} request{'s' if count > 1 else ''} {says}", soft_wrap=True)
    if checked.many_gaps:
        out.print(f"{checked.many_gaps:,} gap{'s' * (checked.many_gaps > 1)} of the record, the "
                  f"first in {checked.gaps[0]}", soft_wrap=True)
    if row.failed:
        out.print(cleaned(f"{row.verdict}: {row.detail}"), style="bold red", soft_wrap=True)
        for line in checked.problems[1:] if row.detail in checked.problems else checked.problems:
            out.print(cleaned(line), style="red", soft_wrap=True)


def _draw(file: Path, trace: "traces.Trace", checked: "checks.Checked", signals: list[str]) -> None:
    """The worst request's picture, into ``file``."""
    svg = checks.picture(trace, checked, signals)
    try:
        file.write_text(svg)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}") from error


def _print_json(trace: Path, checked: "checks.Checked", fits: "probes.Probe | None") -> None:
    print(json.dumps({
        "fits": None if fits is None else {"start": fits.start, "end": fits.end},
        "trace": str(trace), "clock": checked.clock, "cycles": checked.cycles,
        "changes": checked.changes, "many_gaps": checked.many_gaps, "gaps": checked.gaps,
        "cut_off": checked.cut_off, "problems": checked.problems,
        "signals": checked.signals, **_finite(checked.finding.as_dict())}, indent=2))
