"""Commands about memory behind a network: who is given which bank, window and slot."""

import random
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.noc.execution_model import Allocation, System, flow_name
from cyclebound.golden.noc.execution_model_check import faults, requesters
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, app, console, progress_bars, status
from cyclebound.sim.families.gpu.files import reading
from cyclebound.sim.families.gpu.page import Grid, Page
from cyclebound.tools.noc.allocate import NoTable, optimum
from cyclebound.tools.noc.drawn_systems import compared, drawn
from cyclebound.tools.noc.system_file import (
    SYSTEM_EXAMPLE,
    allocation_data,
    allocation_text,
    parse_allocation,
    parse_system,
)

noc = Commands(no_args_is_help=True, help=GROUPS["noc"][1] + """

Start with `cyclebound noc allocate example`.""")
app.add_typer(noc, name="noc")

Seconds = Annotated[float, typer.Option(
    "--seconds", metavar="S", min=0.1, max=86_400, help="Time for a search.")]


@noc.command("allocate")
def allocate(
    file: Annotated[str, typer.Argument(
        metavar="SYSTEM", help="Applications in TOML, or `example`.")],
    show: Annotated[bool, typer.Option(
        "--show", help="Print the example, as a start for your own.")] = False,
    seconds: Seconds = 50.0,
    seed: Annotated[int, typer.Option(
        metavar="N", min=0, max=2**31 - 1, help="Seed of the search.")] = 1,
    check: Annotated[Path | None, typer.Option(
        "--check", metavar="FILE", help="Check this allocation instead, however it was made: "
        ".toml, as --output writes it.")] = None,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the allocation: .toml.")] = None,
    picture: Annotated[Path | None, typer.Option(
        "--picture", metavar="FILE", help="Draw the table and the windows: .svg, .png or .pdf.")]
    = None,
    html: Annotated[Path | None, typer.Option(
        "--html", metavar="FILE", help="Write tables and picture as one HTML page.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give applications banks, windows and slots so that the greatest bound over deadline is least.

        cyclebound noc allocate example --show > mine.toml
        cyclebound noc allocate mine.toml -o table.toml \\
            --picture gantt.svg
        cyclebound noc allocate mine.toml --check table.toml

    Applications write from local memory over a network with TDMA windows to DDR3, or read from
    there. Chosen are: each buffer's bank of local memory, each application's bank of DDR3, each
    flow's window, and a static table of transactions in which no two that are under way share a
    bank of DDR3 and at most K are at all. A checker that knows no search walks the table slot by
    slot and computes every bound anew. Ctrl-C ends the search with the best so far. Exit status 1:
    there is no such allocation (a smallest set of transactions that has none is named), none was
    found in time, or the one to check breaks a rule.
    """
    from cyclebound.sim.cli.gpu import check_files, deliver

    check_files(html, picture)
    for path, option, ends in ((output, "--output", (".toml",)), (check, "--check", (".toml",))):
        if path is not None and path.suffix not in ends:
            raise UserError(f"{option} takes a file that ends in .toml, not {path}")
    if show:
        print(SYSTEM_EXAMPLE, end="")
        return
    system = (parse_system(SYSTEM_EXAMPLE) if file == "example"
              else reading(Path(file), parse_system))
    if check is not None:
        allocation = reading(check, lambda text: parse_allocation(text, system))
        said = f"Allocation of {check.name}"
        least = None
    else:
        allocation, said, least = _found(system, seconds, seed)
    wrong = faults(system, allocation)
    page = Page(said)
    if wrong:
        page.sentences += ["It breaks these rules:", *wrong]
    else:
        counts = system.hyperperiod, len(system.transactions), len(system.flows)
        page.sentences += [said, "Checked: {} slots, {} bounds, {} windows.".format(*counts)]
        page.grids += _grids(system, allocation)
    if output is not None:
        try:
            output.write_text(allocation_text(system, allocation), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {output}: {error.strerror}") from None
    if (picture is not None or html is not None) and not wrong:
        from cyclebound.sim.pictures.allocation import figure  # matplotlib takes a second
        page.figures.append(figure(system, allocation))
    deliver(page, {**allocation_data(system, allocation), "least": least, "faults": wrong},
            as_json=as_json, html=html, picture=None if wrong else picture)
    if wrong:
        raise typer.Exit(1)


def _found(system: System, seconds: float, seed: int) -> tuple[Allocation, str, float]:
    """The optimum, what is known of it, and the ratio that none is below."""
    with status("searching") as stage:
        try:
            found = optimum(system, seconds=seconds, seed=seed, progress=lambda ratio, least: stage(
                f"greatest bound over deadline {ratio:.4f}, none is below {least:.4f}"))
        except (NoTable, TimeoutError) as error:
            console(stderr=True).print(f"cyclebound: {error}", soft_wrap=True, highlight=False)
            raise typer.Exit(1) from None
    ratio = float(found.allocation.ratio(system))
    said = (f"Greatest bound over deadline: {ratio:.4f}; " + (
        "none is less." if found.optimal else
        f"the best so far, and none is below {found.least:.4f}."))
    return found.allocation, said, found.least


def _grids(system: System, allocation: Allocation) -> list[Grid]:
    slot = system.hardware.slot
    return [
        Grid("Transactions; times in cycles of the network", (
            "transaction", "tile", "direction", "bytes", "local bank", "N_req", "DDR3 bank",
            "row", "from", "until", "every", "bound", "deadline", "of it"), [
            (t.full_name, str(list(system.of[t.application].tile)), "write" if t.write else "read",
             t.nbytes, where.bank, requesters(system, allocation.places, t),
             allocation.banks[t.application], t.row, where.start * slot,
             (where.start + where.length) * slot, t.period, where.bound, t.deadline,
             f"{where.bound / t.deadline:.1%}")
            for t in system.transactions for where in [allocation.places[t.full_name]]]),
        Grid(f"Windows, of every {system.hardware.period} cycles", (
            "flow", "routers", "offset", "L", "packets", "packets for B_app"), [
            (flow_name(flow), len(one.route), one.offset, one.length, one.length // 66,
             system.least_packets(flow)) for flow, one in allocation.windows.items()])]


@noc.command("run")
def run_on_rtl(
    file: Annotated[str, typer.Argument(
        metavar="SYSTEM", help="Applications in TOML, or `example`.")],
    table: Annotated[Path | None, typer.Option(
        "--table", metavar="FILE", help="Their allocation, as `noc allocate -o` writes it; "
        "without, one is searched first.")] = None,
    hyperperiods: Annotated[int, typer.Option(
        "--hyperperiods", metavar="N", min=1, max=10_000, help="For how long.")] = 1,
    seconds: Seconds = 50.0,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Keep the simulation's files here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run applications with their table on the RTL, and compare each transaction with its bound.

        cyclebound noc allocate mine.toml -o table.toml
        cyclebound noc run mine.toml --table table.toml

    Compute tiles, network, I/O tile and DDR3 controller as the system's [hardware] says; in local
    banks that several share, all that may ask do so in every cycle. What is written to DDR3 and
    read from there is compared. The first run of a hardware builds its simulator, which takes
    minutes. Exit status 1: a transaction took longer than its bound.
    """
    from cyclebound.sim.cli.gpu import deliver
    from cyclebound.sim.families.noc.run import run_allocation

    system = (parse_system(SYSTEM_EXAMPLE) if file == "example"
              else reading(Path(file), parse_system))
    allocation = (_found(system, seconds, 1)[0] if table is None
                  else reading(table, lambda text: parse_allocation(text, system)))
    with progress_bars() as tell:
        ran = run_allocation(system, allocation, hyperperiods=hyperperiods, folder=output,
                             tell=tell)
    page, over = Page("On the RTL"), [one for one in ran if one.longest > one.bound]
    page.grids.append(Grid("Transactions; times in cycles of DDR3", (
        "transaction", "times", "longest", "bound", "of it"), [
        (one.name, one.times, one.longest, one.bound, f"{one.longest / one.bound:.1%}")
        for one in ran]))
    page.sentences.append(
        f"{sum(one.times for one in ran)} transactions, all data as they should be; " + (
            "exceeded: " + ", ".join(one.name for one in over) if over else "all bounds held."))
    deliver(page, [one.__dict__ for one in ran], as_json=as_json, html=None)
    if over:
        raise typer.Exit(1)


@noc.command("compare")
def compare_ways(
    systems: Annotated[int, typer.Option(
        "-n", metavar="N", min=1, max=10_000, help="Systems to draw.")] = 10,
    most: Annotated[int, typer.Option(
        "--applications", metavar="N", min=2, max=16, help="Applications of a system, at most.")]
    = 16,
    seconds: Seconds = 50.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the drawings.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Optimum, greedy and random allocations of systems drawn at random, all judged by the checker.

        cyclebound noc compare -n 100

    Each number is a greatest bound over deadline; an empty cell: no allocation was found.
    """
    from cyclebound.sim.cli.gpu import deliver

    rng = random.Random(seed)
    rows = []
    with status("drawing") as stage:
        for row in compared((drawn(rng, most) for _ in range(systems)), seconds=seconds, seed=seed):
            rows.append(row)
            stage(f"{len(rows)} of {systems} systems")
    page = Page("Allocations compared")
    page.grids.append(Grid("Greatest bound over deadline", (
        "no.", "applications", "transactions", "optimum", "proved", "greedy", "random", "seconds"),
        [(number, row.applications, row.transactions, *(
            [row.optimum, "yes" if row.optimal else "no"] if row.optimum is not None else
            [None, "none exists" if row.why.startswith("no table") else "not found"]),
          row.greedy, row.random, round(row.seconds, 1)) for number, row in enumerate(rows, 1)]))
    page.sentences += _sums(rows)
    deliver(page, [row._asdict() for row in rows], as_json=as_json, html=None)


def _sums(rows: list) -> list[str]:
    """What the rows say together."""
    some = [row for row in rows if row.optimum is not None]
    proved, longest = sum(row.optimal for row in some), max(row.seconds for row in rows)
    said = [(f"{len(rows)} systems: {len(some)} have an allocation, of {proved} it is proved that "
             f"none is better; {longest:.1f} s at most for one.")]
    for way in ("greedy", "random"):
        more = [getattr(row, way) / row.optimum for row in some if getattr(row, way) is not None]
        mean = (f"; its greatest ratio is {sum(more) / len(more):.2f} times the optimum's, in the "
                "mean") if more else ""
        said.append(f"{way}: an allocation for {len(more)} of {len(some)}{mean}.")
    return said
