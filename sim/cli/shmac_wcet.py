"""The command that bounds a program's time on SHMAC's core."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cyclebound.golden.shmac.address_map import LOCAL_BITS, VECTOR_OFFSET, tile_base
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import AsJson, console
from cyclebound.sim.families.shmac.files import load_layout, load_program, program_file
from cyclebound.sim.families.shmac.options import (
    CompilerName,
    Defines,
    Endian,
    Optimization,
    ProgramFile,
    maker,
    target_of,
    tile_named,
)
from cyclebound.sim.families.shmac.wcet_files import (
    address_of,
    code_of,
    grid_memory,
    load_facts,
    load_memory,
    memory_of,
    registers_of,
)
from cyclebound.tools.shmac.disassembler import text_of
from cyclebound.tools.shmac.program import Program
from cyclebound.tools.shmac.wcet.analysis import ASSUMPTIONS, Wcet, interrupt
from cyclebound.tools.shmac.wcet.analysis import wcet as bound_of
from cyclebound.tools.shmac.wcet.code import Code, WcetError

__all__ = ["wcet"]

_SP = 29
_ROOM = 4096  # bytes


def wcet(
    program: ProgramFile,
    function: Annotated[str | None, typer.Option(
        "--function", "-f", metavar="NAME", help="The function, also as NAME+0x10 or an address; "
        "the default is the program's first instruction.")] = None,
    memory: Annotated[Path | None, typer.Option(
        "--memory", "-m", metavar="FILE.toml", help="How long each region of memory lets the core "
        "wait at most: tables \\[\\[region]] with name, start, end, and fetch, read, write, "
        "load_linked, store_conditional, after_write in cycles.")] = None,
    waits: Annotated[str, typer.Option(
        "--waits", "-w", metavar="FETCH,READ,WRITE", help="The same for one memory at all "
        "addresses; the default is a RAM beside the core.")] = "1,1,0",
    grid: Annotated[str | None, typer.Option(
        "--grid", "-g", metavar="LAYOUT", help="The same of the RTL of a grid, for the core of "
        "--tile: a file, or rows with / between them (`cyclebound shmac run --help`).")] = None,
    others: Annotated[str, typer.Option(
        "--others", metavar="HOW", help="Of --grid, the other cores: worst, each may send to each "
        "tile in any cycle; silent, none sends; gated, each core has a TDMA gate "
        "(`cyclebound shmac gates`), and they do not matter.")] = "worst",
    period: Annotated[int | None, typer.Option(
        "--period", metavar="CYCLES", help="Of --others gated: of the gates; the default is the "
        "least that there is.")] = None,
    bypass: Annotated[bool, typer.Option(
        "--bypass/--no-bypass", help="Of --grid: cores reach their own memory past the router, or "
        "by it.")] = True,
    facts: Annotated[Path | None, typer.Option(
        "--facts", metavar="FILE.toml", help="Bounds of loops and ranges of registers: \\[loops] "
        "with lines as \"sort+0x40\" = 9 or { bound = 9, total = 36 }, \\[registers] with lines as "
        "a0 = [0, 12].")] = None,
    registers: Annotated[list[str] | None, typer.Option(
        "--register", "-r", metavar="NAME=LEAST[..GREATEST]", help="What a register holds where "
        "the function begins; may be repeated.")] = None,
    stops: Annotated[list[str] | None, typer.Option(
        "--stop", metavar="NAME", help="It also ends before this instruction; may be repeated.")
        ] = None,
    from_reset: Annotated[bool, typer.Option(
        "--from-reset", help="Count from the first cycle after reset.")] = False,
    interrupts: Annotated[int, typer.Option(
        "--interrupts", metavar="N", min=0, help="Add so many interrupts, and their handler.")] = 0,
    vector: Annotated[str | None, typer.Option(
        "--vector", metavar="NAME", help="The handler; the default is 0x80 after the beginning of "
        "the tile's memory. It ends with RFE in the slot of a JR.")] = None,
    listing: Annotated[bool, typer.Option(
        "--listing", "-l", help="The worst route, instruction by instruction, with cycles.")
        ] = False,
    fail_over: Annotated[int | None, typer.Option(
        "--fail-over", metavar="CYCLES", min=0, help="Exit with status 1 if the bound is greater.")
        ] = None,
    tile: Annotated[str, typer.Option(
        "--tile", "-t", metavar="ROW,COLUMN", help="The tile that C and assembly language are "
        "for.")] = "0,0",
    endian: Endian = "big",
    compiler: CompilerName = "",
    optimize: Optimization = "2",
    defines: Defines = None,
    as_json: AsJson = False,
) -> None:
    """Bound the execution time of a function on SHMAC's core, for any data.

        cyclebound shmac wcet sort.s --function sort --listing
        cyclebound shmac wcet fir.c -f filter --waits 27,27,5
        cyclebound shmac wcet fir.c -f filter --grid PR/PP --tile 1,1 --others worst

    Cycles count from where the function's first instruction begins to where the one after its
    return does. A loop needs a bound: one that counts by known steps to a known limit has it. For
    others, the source says in a comment how often the first instruction of the loop is executed
    each time the loop is entered, or in one call of the function in all:

        step:   divu  $t0, $t1      # bound 24
        pair:   lw    $t3, 0($t1)   # total 28

    or --facts does, which C needs. Refused by address: a loop without a bound or with two entries,
    recursion, a jump to an address that is not known, SYSCALL and BREAK.

    Exit status 1: over --fail-over; 2: there is no bound; the message says why.
    """
    source = program_file(program)
    target = target_of(tile_named(tile), 1 << LOCAL_BITS, endian)
    loaded = load_program(source, target, maker(compiler, optimize, defines))
    code = code_of(loaded, source)
    start = loaded.entry if function is None else address_of(function, code, "--function")
    ranges = _stack_of(loaded)
    if facts is not None:
        loops, held = load_facts(facts, code)
        ranges |= held
        code = replace(code, facts={**code.facts, **loops})
    ranges |= registers_of(registers or ())
    said = [name for name, given in (("--memory", memory is not None),
                                     ("--waits", waits != "1,1,0"), ("--grid", grid is not None))
            if given]
    if len(said) > 1:
        raise UserError(f"{' and '.join(said)} say the same: give one of them")
    if grid is not None:
        regions = grid_memory(load_layout(grid), tile_named(tile), others, bypass=bypass,
                              period=period)
    else:
        regions = memory_of(waits) if memory is None else load_memory(memory)
    try:
        found = bound_of(
            code, start, regions,
            stops=[address_of(stop, code, "--stop") for stop in stops or ()],
            registers=ranges, from_reset=from_reset)
        each = interrupt(code, tile_base(*loaded.tile) + VECTOR_OFFSET if vector is None else
                         address_of(vector, code, "--vector"), regions) if interrupts else 0
    except WcetError as error:
        raise UserError(str(error)) from None
    total = found.cycles + interrupts * each
    if as_json:
        print(json.dumps({**_record(found, code, start), "each_interrupt": each,
                          "cycles_with_interrupts": total}, indent=2))
    else:
        _say(found, code, start)
        if interrupts:
            console().print(f"with {interrupts:,} interrupts of at most {each:,} cycles each: at "
                            f"most {total:,} cycles", highlight=False)
        if listing:
            _list(found, code)
    if fail_over is not None and total > fail_over:
        print(f"cyclebound: over {fail_over:,} cycles: {total:,}", file=sys.stderr)
        raise typer.Exit(1)


def _stack_of(program: Program) -> dict[int, tuple[int, int]]:
    """Where the stack pointer of a C program may be, if the function is called: with room left for
    its own stack, which is taken not to reach the data."""
    top = program.symbol("__stack_top")
    if top is None or top.address - program.end < 2 * _ROOM:
        return {}
    return {_SP: (program.end + _ROOM, top.address)}


def _record(found: Wcet, code: Code, start: int) -> dict[str, Any]:
    return {
        "function": code.place(start), "cycles": found.cycles, "shares": found.shares._asdict(),
        "loops": [{"at": code.place(loop.head), **asdict(loop)} for loop in found.loops],
        "lines": [{"address": line.address, "times": line.times, **line.cost._asdict(),
                   "text": text_of(code.words[line.address], line.address)}
                  for line in found.lines],
        "may_overflow": found.overflows, "assumptions": list(ASSUMPTIONS)}


def _say(found: Wcet, code: Code, start: int) -> None:
    screen = console()

    def line(text: str) -> None:
        screen.print(text, highlight=False, markup=False, soft_wrap=True)

    shares = ", ".join(f"{what} {cycles:,} ({cycles / max(1, found.cycles):.0%})"
                       for what, cycles in zip(("core", "waits for instructions",
                                                "waits for data"), found.shares, strict=True))
    line(f"{code.place(start)}: at most {found.cycles:,} cycles")
    line(f"of these: {shares}")
    for loop in found.loops:
        called = "".join(f", called before {code.place(link)}" for link in reversed(loop.calls))
        line(f"loop at {code.place(loop.head)}: at most {loop.rounds:,} times, "
             f"{'inferred' if loop.inferred else 'stated'}{called}")
    for address in found.overflows:
        line(f"taken not to overflow: {text_of(code.words[address], address)} at "
             f"{code.place(address)}")


def _list(found: Wcet, code: Code) -> None:
    """A line for each instruction: how often the worst route executes it, cycles, and its text."""
    labels: dict[int, str] = {}
    for name, address in code.symbols.items():
        labels.setdefault(address, name)
    print(f"\n{'address':>10} {'times':>9} {'core':>9} {'fetch':>9} {'data':>9}")
    for line in found.lines:
        if line.address in labels:
            print(f"{labels[line.address]}:")
        core, fetch, data = line.cost
        numbers = (f"{line.times:>9,} {core:>9,} {fetch:>9,} {data or '':>9}" if line.times else
                   f"{'-':>9} {'':>29}")
        print(f"{line.address:#010x} {numbers}  "
              f"{text_of(code.words[line.address], line.address, labels)}")
