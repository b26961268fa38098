"""Commands about DRAM requests: their commands, cycle by cycle, and their issue delay."""

import bisect
import functools
import itertools
import json
import random
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.golden.dram import bounds
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping, decide
from cyclebound.golden.dram.command_arbiter import Schedule, schedule
from cyclebound.golden.dram.controller import MOST_OWED
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BURST_WORDS,
    COUNT_BITS,
    WORD_BYTES,
    Refusal,
    TileRequest,
)
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.golden.dram.tile_lanes import Lines
from cyclebound.golden.dram.tile_search import effort
from cyclebound.golden.dram.tile_search import progress as tile_progress
from cyclebound.golden.dram.timing import MAXIMA, PARTS, TIMINGS, Part, part_named
from cyclebound.golden.dram.utilisation import use_of_bus
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.print_table import print_table
from cyclebound.sim.cli.base import (
    GROUPS,
    AsJson,
    Commands,
    app,
    console,
    progress_bars,
    say,
    status,
)
from cyclebound.sim.drawing.drawing import write

dram = Commands(no_args_is_help=True, help=GROUPS["dram"][1])
app.add_typer(dram, name="dram")

PartName = Annotated[str, typer.Option(
    "--part", "-p", metavar="PART", help="A part, as `dram parts` names it, or a .toml file.")]
Write = Annotated[bool, typer.Option("--write", help="A write; the default is a read.")]
Carry = Annotated[int, typer.Option(
    "--after-bank", metavar="B", help="Begin the request as Sim-D's own model does after a request "
    "that ended in this bank (docs/dram.md, errata).")]
Picture = Annotated[Path | None, typer.Option(
    "--picture", metavar="FILE", help="Draw banks and data bus over time: .svg, .png or .pdf.")]
_DEFAULT = next(iter(PARTS))
_SOON = 1 << 22  # bursts that are followed for the bound of a 2D tile: some seconds


def _part(name: str) -> Part:
    try:
        return part_named(name)
    except ValueError as error:
        raise UserError(str(error)) from error


@dram.command()
def parts(name: Annotated[str | None, typer.Argument(
        metavar="PART", help="One part, or a .toml file: its numbers and their sources.")] = None
          ) -> None:
    """The DRAM parts; or one part's timing numbers, each with unit, direction and source."""
    table = Table()
    if name is None:
        for column in ("name", "part", "clock", "banks", "bank groups"):
            table.add_column(column)
        for key, part in (jedec_parts() | PARTS).items():
            table.add_row(key, part.name, f"{part.tck_ps} ps", str(part.banks),
                          str(part.bank_groups))
    else:
        part = _part(name)
        for column in ("number", "clocks", "as printed", "direction", "source"):
            table.add_column(column)
        for timing in TIMINGS:
            number = part.numbers[timing]
            printed = [f"{number.clocks} clocks"] if number.clocks else []
            printed += [f"{number.picoseconds / 1000:g} ns"] if number.picoseconds else []
            table.add_row(timing, str(getattr(part, timing)), " or ".join(printed) or "0",
                          "at most" if timing in MAXIMA else "at least", number.source)
    print_table(table, console())


@dram.command()
def tile(part: PartName = _DEFAULT,
         address: Annotated[str, typer.Option(
             metavar="BYTES", help="Address of the first word; 0x for hexadecimal.")] = "0",
         words: Annotated[int, typer.Option(metavar="N", help="32-bit words in a line.")] = 1024,
         period: Annotated[int, typer.Option(
             metavar="N", help="Words from line to line; the default is those of a line.")] = 0,
         count: Annotated[int, typer.Option(metavar="N", help="Lines.")] = 1,
         buffer: Annotated[str | None, typer.Option(
             metavar="XxY", help="A buffer of Y lines of X words at --address. The tile is then "
             "part of this buffer, and its period is X.")] = None,
         column: Annotated[int, typer.Option(metavar="N", help="First column in the buffer.")] = 0,
         line: Annotated[int, typer.Option(metavar="N", help="First line in the buffer.")] = 0,
         write: Write = False, after_bank: Carry = 0,
         bound: Annotated[bool, typer.Option(
             "--bound", help="Print the bound of a 2D tile even if it takes more than seconds.")
             ] = False,
         picture: Picture = None, as_json: AsJson = False) -> None:
    """A tile's commands and issue delay.

        cyclebound dram tile --address 0x3f00 --words 128
    """
    device = _part(part)
    try:
        byte = int(address, 0)
    except ValueError:
        raise UserError(f"--address takes a number of bytes, not {address!r}") from None
    if byte % WORD_BYTES:
        raise UserError(f"--address must be a multiple of {WORD_BYTES}, not {address}")
    first = byte // WORD_BYTES
    if buffer is not None:
        first, period = _of_buffer(device, buffer, period, BufferRequest(
            0, x=column, y=line, words=words, count=count), first)
    elif column or line:
        raise UserError("--column and --line need a --buffer")
    try:
        request = TileRequest(address=first, words=words, period=period, count=count, write=write)
    except ValueError as error:
        raise UserError(str(error)) from error
    _inside(device, request.end)
    _refreshed(device, request.words * request.count // BURST_WORDS)
    bursts = [burst.address for burst in bursts_of(request)]
    claims: list[tuple[Bound, dict]] = []
    if count == 1 or period in (0, words):
        values = {"part": device, "bursts": len(bursts), "write": int(write)}
        claims = [(bounds.tile_issue_delay, values), (bounds.eq15, values)]
    elif bound or effort(device, Lines(words, period, count)) <= _SOON:
        claims = [(bounds.tile_2d_issue_delay, {
            "part": device, "words": words, "period": period, "count": count, "write": int(write)})]
    else:
        print("bound tile_2d_issue_delay: takes a while; --bound computes it", file=sys.stderr)
    scheduled = schedule(device, bursts, write=write, current=after_bank & ~1)
    with progress_bars() as report, tile_progress(report):
        _show(device, bursts, scheduled, claims, picture, as_json)


@dram.command()
def indexed(indexes: Annotated[list[int], typer.Argument(
                metavar="WORD", help="Word offsets in the buffer, in order.")],
            part: PartName = _DEFAULT,
            address: Annotated[str, typer.Option(
                metavar="BYTES", help="Address of the buffer.")] = "0",
            limit: Annotated[int, typer.Option(
                metavar="N", min=1, max=1 << COUNT_BITS, help="Words in the buffer.")
                ] = 1 << COUNT_BITS,
            write: Write = False, picture: Picture = None, as_json: AsJson = False) -> None:
    """Commands and issue delay of an indexed request: one burst for each word.

    The bounds are for the DRAM rows that its buffer of --limit words covers.
    """
    from cyclebound.golden.dram.index_bounds import indexed_issue_delay, rows_of
    device = _part(part)
    try:
        first = int(address, 0) // WORD_BYTES
    except ValueError:
        raise UserError(f"--address takes a number of bytes, not {address!r}") from None
    for index in indexes:
        if not 0 <= index < limit:
            raise UserError(f"an index must be from 0 to {limit - 1}, not {index}")
    _inside(device, first + max(indexes) + 1)
    bursts = [(first + index) // BURST_WORDS for index in indexes]
    values = {"part": device, "bursts": len(bursts), "write": int(write),
              "rows": rows_of(part=device, address=first, words=limit)}
    _show(device, bursts, schedule(device, bursts, write=write, indexed=True),
          [(indexed_issue_delay, values), (bounds.eq16, values)], picture, as_json)


@dram.command()
def worst(bursts: Annotated[int, typer.Argument(metavar="BURSTS", min=1)],
          part: PartName = _DEFAULT, write: Write = False,
          mean: Annotated[bool, typer.Option(
              "--mean", help="Print the mean of all alignments too, which takes longer.")] = False
          ) -> None:
    """The longest issue delay of a tile of BURSTS bursts, by simulating every alignment.

    Prints the utilisation of the data bus, too. Beyond 512 bursts all alignments are computed at
    once, and only the worst is simulated.
    """
    from cyclebound.golden.dram.worst_case import mean_issue_delay, worst_issue_delay
    device = _part(part)

    def used(delay: float) -> str:
        return f"{100 * device.nBURST * bursts / delay:.1f} % of the data bus"

    _refreshed(device, bursts)
    with progress_bars() as report:
        delay, alignment = worst_issue_delay(
            part=device, bursts=bursts, write=int(write),
            report=functools.partial(report, "alignments"))
        average = mean_issue_delay(
            part=device, bursts=bursts, write=int(write),
            report=functools.partial(report, "all alignments")) if mean else 0.0
    text = (f"{device.name}: {'write' if write else 'read'} of {bursts} bursts takes {delay} "
            f"cycles at most, first from byte {64 * alignment:#x} ({used(delay)})")
    if mean:
        text += f", {average:.2f} on average ({used(average)})"
    console().print(text, highlight=False, soft_wrap=True)


@dram.command()
def use(words: Annotated[int, typer.Argument(
            metavar="WORDS", min=1, max=1 << COUNT_BITS, help="32-bit words: 1024 are 4 KiB.")],
        part: PartName = _DEFAULT) -> None:
    """Utilisation of the data bus by transfers of WORDS words, one after the other.

    At the worst alignment of those that begin with a burst, and of all words; without refreshes and
    with them. The last column is the maximum of any controller that closes all banks between
    transfers.
    """
    device = _part(part)
    table = Table(title=f"{device.name}: {words} words", title_justify="left")
    for column in ("transfer", "begins", "bursts", "clocks", "used", "with refreshes", "at most"):
        table.add_column(column, justify="left" if column in ("transfer", "begins") else "right")
    for writes in (0, 1):
        for aligned in (True, False):
            try:
                use = use_of_bus(part=device, words=words, write=writes, aligned=aligned)
            except NotCovered as error:
                raise UserError(str(error)) from error
            table.add_row("write" if writes else "read", "with a burst" if aligned else "anywhere",
                          str(use.bursts), str(use.delay), *(
                              f"{100 * float(share):.1f} %"
                              for share in (use.share, use.with_refresh, use.limit)))
    print_table(table, console())


@dram.command()
def crossover(words: Annotated[int, typer.Option(
                  "--words", metavar="WORDS", min=1, max=1 << 16,
                  help="Words that a request moves: one for each item.")] = 1024,
              part: PartName = _DEFAULT) -> None:
    """The largest buffer that a snoopy transfer streams no slower than one index by index takes.

    The latter at its worst, a row cycle for each word; sizes by Eq. 15 and 16 as printed, and by
    this project's bounds, which the first are below for long tiles (docs/dram.md, errata).
    """
    device = _part(part)
    table = Table(title=f"{device.name}: {words} words", title_justify="left")
    for column in ("transfer", "bounds", "index by index", "bursts", "MiB"):
        table.add_column(column, justify="right" if column in ("bursts", "MiB") else "left")
    pairs = {"Eq. 15, 16": (bounds.eq15, bounds.eq16),
             "ours": (bounds.tile_issue_delay, indexed_issue_delay)}
    for writes, (name, (tile, indexed)) in itertools.product((0, 1), pairs.items()):
        limit = indexed(part=device, bursts=words, rows=device.banks + 1, write=writes)
        most = min(device.bursts, limit // device.nCCD_S)  # a burst takes nCCD_S at least
        bursts = bisect.bisect_right(
            range(1, most + 1), limit,
            key=functools.partial(_clocks, tile, device, writes))
        table.add_row("write" if writes else "read", name, f"{limit:,} clocks", f"{bursts:,}",
                      f"{bursts * BURST_WORDS * WORD_BYTES / (1 << 20):.3f}")
    print_table(table, console())


@dram.command()
def bins(bursts: Annotated[int, typer.Argument(metavar="BURSTS", min=1)]) -> None:
    """The longest issue delays of a tile of BURSTS bursts, for all speed bins of JEDEC."""
    table = Table(title=f"longest issue delay of {bursts} bursts, read / write, in clocks",
                  title_justify="left")
    table.add_column("speed bin")
    for width in ("x4", "x8", "x16"):
        table.add_column(width, justify="right")
    delays: dict[str, list[str]] = {}
    with status("following tiles") as tell:
        for part in jedec_parts().values():
            tell(part.name)
            both = [bounds.tile_issue_delay(part=part, bursts=bursts, write=write)
                    for write in (0, 1)]
            delays.setdefault(part.name.split()[0], []).append("{} / {}".format(*both))
    for name, row in delays.items():
        table.add_row(name, *row)
    print_table(table, console())


@dram.command()
def adversary(bursts: Annotated[int, typer.Argument(metavar="WORDS", min=1)],
              rows: Annotated[int, typer.Argument(metavar="ROWS", min=1)],
              part: PartName = _DEFAULT, write: Write = False,
              steps: Annotated[int, typer.Option(metavar="N", min=1)] = 2000,
              seed: Annotated[int, typer.Option(metavar="N")] = 1) -> int:
    """Search for the longest indexed request of WORDS words in a buffer of ROWS rows.

    By simulated annealing. Exit status 1 if a request takes longer than the bound.
    """
    from cyclebound.golden.dram.index_bounds import indexed_issue_delay
    from cyclebound.tools.dram.index_search import longest_order
    device = _part(part)
    try:
        bound = indexed_issue_delay(part=device, bursts=bursts, rows=rows, write=int(write))
        delay, order = longest_order(part=device, bursts=bursts, rows=rows, write=int(write),
                                     steps=steps, rng=random.Random(seed))
    except ValueError as error:
        raise UserError(str(error)) from error
    console().print(f"{device.name}: {'write' if write else 'read'} of {bursts} words over {rows} "
                    f"rows takes {delay} cycles, bound {bound}; banks "
                    f"{' '.join(map(str, order.banks))}", highlight=False, soft_wrap=True)
    if delay > bound:
        say(f"cyclebound: indexed_issue_delay is violated: {delay} cycles, bound {bound}")
        return 1
    return 0


@dram.command()
def longest(bursts: Annotated[int, typer.Argument(metavar="WORDS", min=1)],
            rows: Annotated[int, typer.Argument(metavar="ROWS", min=1)],
            part: PartName = _DEFAULT, write: Write = False,
            least: Annotated[int, typer.Option(
                "--least", metavar="CLOCKS", help="Look only for requests that take at least this "
                "long; greater values finish sooner.")] = 0) -> None:
    """The longest indexed request of WORDS words over ROWS rows, by an exhaustive search."""
    from cyclebound.tools.dram.index_exact import longest_request
    device = _part(part)
    try:
        with status("searching") as tell:
            result = longest_request(device, bursts=bursts, rows=rows, write=int(write),
                                     least=least, tell=tell)
    except ValueError as error:
        raise UserError(str(error)) from error
    what = f"{device.name}: {'write' if write else 'read'} of {bursts} words over {rows} rows"
    took = f"{result.followed} steps"
    if result.order is None:
        more = (f"; so with {result.settled} words or more, but for {device.nCCD_L} a word"
                if result.settled else "")
        console().print(f"no {what} takes {least} cycles{more} ({took})", highlight=False,
                        soft_wrap=True)
    else:
        console().print(f"{what} takes {result.delay} cycles at most; banks "
                        f"{' '.join(map(str, result.order.banks))} ({took})", highlight=False,
                        soft_wrap=True)


@dram.command("table")
def searched_table(
        part: Annotated[str | None, typer.Option(
            "--part", "-p", metavar="PART", help="Only entries of this part.")] = None,
        rows: Annotated[int | None, typer.Option(
            metavar="ROWS", help="Only entries of up to ROWS rows.")] = None,
        words: Annotated[int | None, typer.Option(
            metavar="WORDS", help="Only entries of up to WORDS words.")] = None,
        file: Annotated[Path | None, typer.Option(
            "--write", metavar="FILE", help="Write a table of the results.")] = None,
        check: Annotated[bool, typer.Option(
            "--check", help="Compare with the table (the default).")] = True) -> int:
    """Compute the table of `indexed_issue_delay` anew, by a search of all requests of each kind.

    Takes hours in all; finished entries are kept in the cache, so that the same command continues
    where it was stopped. Exit status 1 if a request takes longer than the table says, or if no
    known request takes that long.
    """
    from cyclebound.golden.dram.index_table import known_delays
    from cyclebound.sim.families.dram.table import search_all, write_table
    if part is not None and part not in PARTS:
        raise unknown("part", part, PARTS)
    chosen = [request for request in known_delays() if part in (None, request.part)
              and (rows is None or request.rows <= rows)
              and (words is None or request.bursts <= words)]
    if not chosen:
        raise UserError("the table has no such entry")
    searches, problems = {}, 0
    with status("searching") as tell:
        for number, search in enumerate(search_all(chosen, tell), 1):
            row, searches[search.row] = search.row, search
            says = search.problem or f"nothing takes {row.delay + 1} cycles"
            problems += bool(search.problem)
            print(f"[{number}/{len(chosen)}] {row.part}: "
                  f"{'write' if row.write else 'read'} of {row.bursts} words over "
                  f"{row.rows} rows: {says} ({'done before' if search.cached else ''}"
                  f"{'' if search.cached else f'{search.steps:,} steps'})", flush=True)
    if file is not None:
        try:
            write_table(file, [searches[request] for request in chosen])
        except OSError as error:
            raise UserError(f"cannot write {file}: {error.strerror}") from error
    if problems:
        say(f"cyclebound: {problems} of {len(chosen)} entries are wrong")
    return int(bool(problems))


def _clocks(tile: Bound, part: Part, write: int, bursts: int) -> int:
    return tile(part=part, bursts=bursts, write=write)


def _of_buffer(part: Part, buffer: str, period: int, request: BufferRequest,
               address: int) -> tuple[int, int]:
    """Address and period of a tile of a buffer, in words; `UserError` if it leaves the buffer."""
    sizes = re.fullmatch(r"(\d+)x(\d+)", buffer)
    if sizes is None:
        raise UserError(f"--buffer takes words and lines, as in 64x32, not {buffer!r}")
    x, y = map(int, sizes.groups())
    mapping = Mapping(0, address, x, y)
    if period not in (0, mapping.x):
        raise UserError(f"the period of a buffer's tile must be its line ({mapping.x}), "
                        f"not {period}")
    for name, value in (("--column", request.x), ("--line", request.y)):
        if value < 0:
            raise UserError(f"{name} must be at least 0, not {value}")
    _inside(part, mapping.words.stop)
    answer = decide(mapping, request)
    if answer.refusal == Refusal.WIDTH:
        raise UserError(f"the tile must end by column {mapping.x}, the end of its buffer's lines, "
                        f"not {request.x + request.words}")
    if answer.refusal == Refusal.HEIGHT:
        raise UserError(f"the tile must end by line {mapping.y}, the end of its buffer, "
                        f"not {request.y + request.count}")
    return answer.address, mapping.x


def _inside(part: Part, end: int) -> None:
    most = min(part.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
    if end > most:
        raise UserError(f"the request must end by byte {WORD_BYTES * most:#x}, the end of "
                        f"{part.name}, not {WORD_BYTES * end:#x}")


def _refreshed(part: Part, bursts: int) -> None:
    """Refuse a request that delays refreshes too long, before a simulation that may take hours."""
    if bursts * part.nBURST > MOST_OWED * part.nREFI:
        raise UserError(f"a request must take {MOST_OWED} nREFI ({MOST_OWED * part.nREFI} cycles) "
                        f"at most, or a refresh is late, and {bursts} bursts take "
                        f"{bursts * part.nBURST} at least")


def _show(part: Part, bursts: Sequence[int], planned: Schedule,
          claims: Iterable[tuple[Bound, dict]], picture: Path | None, as_json: bool) -> None:
    if planned.issue_delay > MOST_OWED * part.nREFI:
        raise UserError(f"a request must take {MOST_OWED} nREFI ({MOST_OWED * part.nREFI} cycles) "
                        f"at most, or a refresh is late, not {planned.issue_delay}")
    allowed: dict[str, int | str] = {}
    for bound, values in claims:
        try:
            allowed[bound.name] = bound.of(values)
        except NotCovered as error:
            allowed[bound.name] = str(error)
    if picture is not None:
        from cyclebound.sim.pictures.schedule import figure  # matplotlib takes a second to load
        write(figure(part, planned), picture, "--picture")
    if as_json:
        print(json.dumps({
            "part": part.name, "bursts": list(bursts), "issue_delay": planned.issue_delay,
            "bounds": allowed, "commands": [
                {"cycle": c.cycle, "command": c.op.name, "bank": c.bank,
                 "bank_group": part.bank_group(c.bank), "row": c.row, "column": c.column}
                for c in planned.commands]}, indent=2))
        return
    table = Table(title=f"{part.name}: {len(bursts)} bursts", title_justify="left")
    for column in ("cycle", "command", "bank", "group", "row", "column"):
        table.add_column(column, justify="right")
    for command in planned.commands:
        name = command.op.name
        table.add_row(str(command.cycle), name, str(command.bank),
                      str(part.bank_group(command.bank)),
                      hex(command.row) if name == "ACT" else "",
                      str(command.column) if name[:2] in ("RD", "WR") else "")
    print_table(table, console())
    console().print(f"issue delay: {planned.issue_delay} cycles", highlight=False)
    for name, value in allowed.items():
        over = isinstance(value, int) and value < planned.issue_delay
        console().print(f"bound {name}: {value}{' - exceeded' if over else ''}", highlight=False)
