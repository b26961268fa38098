"""Commands that simulate, and that read what was simulated."""

import datetime
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.sim import cli
from cyclebound.sim.block import Block
from cyclebound.sim.cli import (
    AsJson,
    BlockName,
    ConfigurationName,
    Folder,
    PartFile,
    Settings,
    Workers,
    app,
    changes_of,
    console,
    progress_bars,
    the_catalogue,
)
from cyclebound.sim.errors import UserError
from cyclebound.sim.job import Job, Outcome, run_job, simulate
from cyclebound.sim.markdown import tables
from cyclebound.sim.regress import Interrupted, Plan, check, jobs_of
from cyclebound.sim.regress import regress as regress_plan
from cyclebound.sim.results import Results
from cyclebound.sim.table import differences, print_differences, print_run, read, write_junit
from cyclebound.sim.variant import variant
from cyclebound.sim.verdict import judge

Simulator = Annotated[str, typer.Option(
    "--simulator", metavar="NAME", help="verilator, or icarus as a second opinion.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help="First seed of every testbench.")]
Waves = Annotated[bool, typer.Option("--waves", help="Write the waveform of every job.")]
WallLimit = Annotated[float, typer.Option(
    "--wall-limit", metavar="SECONDS", min=1, help="Stop a simulator after this time.")]


def _simulator(name: str) -> str:
    if name not in ("verilator", "icarus"):
        raise UserError(f"--simulator is verilator or icarus, not {name!r}")
    return name


def _new_folder() -> Path:
    """A folder for a new run, named by the time."""
    stem = datetime.datetime.now().strftime("%Y-%m-%d_%H%M%S")
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        folder = Path("runs") / f"{stem}{suffix}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"cannot make a folder for the run below {Path('runs').resolve()}: "
                            f"{error.strerror}; name another with --output") from error
        return folder
    raise UserError("a hundred runs began in this second; name a folder with --output")


def _as_before(context: typer.Context, folder: Path) -> dict[str, object]:
    """What a run began with, for all options that are not named now; its pages join ours."""
    results = Results(folder)
    before = results.meta.get("options", {})
    results.close()
    cli.pages[:] = dict.fromkeys([*cli.pages, *before.pop("pages", ())])
    return {name: value for name, value in before.items()
            if context.get_parameter_source(name).name == "DEFAULT"}


@app.command()
def regress(
    context: typer.Context,
    blocks: Annotated[list[str] | None, typer.Argument(
        metavar="[BLOCK]...",
        help="Blocks or families, as `list` names them; the default is all.")] = None,
    workers: Workers = None,
    configurations: Annotated[list[str] | None, typer.Option(
        "--configuration", "-c", metavar="C", help="Only this configuration; may be repeated.")
    ] = None,
    testbenches: Annotated[list[str] | None, typer.Option(
        "--testbench", metavar="T", help="Only this testbench; may be repeated.")] = None,
    thorough: Annotated[bool, typer.Option(
        "--thorough", help="Run the exhaustive sweeps too, which take minutes each.")] = False,
    seed: Seed = 1,
    waves: Waves = False,
    proofs: Annotated[bool, typer.Option(help="Prove the blocks' properties too.")] = True,
    pictures: Annotated[bool, typer.Option(help="Draw the worst requests' waveforms.")] = True,
    fpga: Annotated[bool, typer.Option(
        "--fpga", help="Place and route the blocks too; a minute or more each, the first time.")
    ] = False,
    page: Annotated[bool, typer.Option(
        "--report/--no-report", help="Write the HTML report into the run's folder.")] = True,
    scheduler: Annotated[str | None, typer.Option(
        metavar="ADDRESS", help="Run the jobs on the Dask cluster of this scheduler.")] = None,
    resume: Annotated[Path | None, typer.Option(
        metavar="DIR", help="Continue a run: what has finished there is not run again.")] = None,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="The run's folder; the default is runs/<time>.")
    ] = None,
    simulator: Simulator = "verilator",
    wall_limit: WallLimit = 900,
    as_json: AsJson = False,
) -> int:
    """Build, simulate, check and prove; print measured against bound.

    Exit status 0: all bounds held. 1: a mismatch, a violated bound, a request without a bound, or
    a failed proof. 2: a mistake in the call.
    """
    if resume is not None and output is not None:
        raise UserError("--resume names the folder already; leave out --output")
    options = {"blocks": blocks, "configurations": configurations or (),
               "testbenches": testbenches or (), "thorough": thorough, "seed": seed,
               "waves": waves, "proofs": proofs, "pictures": pictures, "fpga": fpga,
               "simulator": simulator, "wall_limit": wall_limit}
    if resume is not None:
        options |= _as_before(context, resume)
    _simulator(options["simulator"])
    options["blocks"] = the_catalogue().select(options["blocks"])
    options |= {"scheduler": scheduler, "pages": tuple(cli.pages),
                **({"workers": workers} if workers else {})}
    check(Plan(folder=Path("."), **options))  # a mistake shows before a folder is made
    plan = Plan(folder=resume or output or _new_folder(), **options)
    try:
        with progress_bars() as report:
            regress_plan(plan, command=shlex.join(["cyclebound", *sys.argv[1:]]),
                         created=datetime.datetime.now().isoformat(timespec="seconds"),
                         report=report)
    except Interrupted:
        cli.fail(f"interrupted; what had finished is kept, continue with "
                 f"`cyclebound regress --resume {plan.folder}`", 130)
    run = read(plan.folder)
    write_junit(run, plan.folder / "junit.xml")
    if as_json:
        print(run.as_json())
    else:
        print_run(run, console())
        if page:
            from cyclebound.sim.report import write_report  # matplotlib takes a second to load
            console().print(f"report: {write_report(plan.folder)}", soft_wrap=True)
    return 1 if run.problems else 0


@app.command()
def run(block: BlockName, configuration: ConfigurationName = None,
        testbench: Annotated[str | None, typer.Option(
            metavar="T", help="The testbench; the default is the first.")] = None,
        test: Annotated[str, typer.Option(metavar="NAME", help="Only this test of it.")] = "",
        settings: Settings = None, part: PartFile = None, seed: Seed = 1, waves: Waves = False,
        simulator: Simulator = "verilator", wall_limit: WallLimit = 900,
        output: Annotated[Path | None, typer.Option(
            "--output", "-o", metavar="DIR", help="The folder; the default is runs/<time>.")
        ] = None) -> int:
    """One block, one configuration, one testbench, with its log on the terminal.

    Behind it, for each bound, the longest request against what the bound allows. --set and --part
    take other parameters than the configuration's. Exit status 1: a mismatch, a violated bound, or
    a request without a bound.
    """
    found = the_catalogue().find(block)
    found, name = variant(found, configuration, changes_of(found, configuration, settings, part))
    bench = found.testbench(testbench) if testbench else found.testbenches[0]
    plan = Plan([found], Path("."), seed=seed, configurations=[name],
                testbenches=[bench.name], waves=waves,
                simulator=_simulator(simulator), wall_limit=wall_limit, pages=tuple(cli.pages))
    check(plan)
    folder = output or _new_folder()
    job, *_ = jobs_of(Plan(**{**vars(plan), "folder": folder}))
    job = type(job)(**{**vars(job), "test": test})
    known = name in the_catalogue().find(block).configurations
    outcome = run_job(job) if known else _simulated(found, job)
    log = Path(job.folder) / "log.txt"
    if log.exists():
        print(log.read_text(errors="replace"))
    print(f"{'passed' if outcome.passed else 'FAILED'}: {job.name}"
          + ("" if outcome.passed else f": {outcome.reason}"))
    print(f"{sum(g.count for g in outcome.groups):,} requests observed, "
          f"{outcome.compared:,} cycles compared, {outcome.cycles:,} cycles in "
          f"{outcome.run_seconds:.2f} s; folder {job.folder}")
    if outcome.waveform:
        print(f"waveform: {outcome.waveform}")
    return 0 if _judged(found, name, outcome) and outcome.passed else 1


def _simulated(block: Block, job: Job) -> Outcome:
    """What becomes of a job whose configuration no catalogue knows."""
    try:
        return simulate(block, job)
    except (TypeError, ValueError) as error:  # what is around the block refuses its parameters
        raise UserError(f"{job.name}: {error}") from error
    except OSError as error:
        raise UserError(f"{error.filename or job.folder}: {error.strerror or error}") from error


def _judged(block: Block, name: str, outcome: Outcome) -> bool:
    """Print what was observed against the bounds; whether each request has kept one."""
    rows = [row for row in judge(block, name, [(outcome.name, each) for each in outcome.groups])
            if row.requests]
    for row in rows:
        of = f"{row.what}: {row.bound}" if row.bound != "-" else row.what
        print(f"{of}: {row.verdict}, {row.detail}" if row.failed else
              f"{of}: {row.verdict}, closest {row.worst} of {row.allowed} cycles in "
              f"{row.requests:,} requests")
    return not any(row.failed for row in rows)


@app.command()
def compare(folder: Folder,
            other: Annotated[Path | None, typer.Argument(
                metavar="DIR2", help="A later run, to see what changed.")] = None,
            markdown: Annotated[bool, typer.Option(
                "--markdown", help="Verdicts, proofs and FPGA figures as tables for a document, "
                "unless there are two runs.")] = False,
            as_json: AsJson = False) -> int:
    """The verdict table of a finished run; of two runs, what changed."""
    first = read(folder)
    if other is None:
        if as_json:
            print(first.as_json())
        elif markdown:
            print(tables(first))
        else:
            print_run(first, console())
        return 1 if first.problems else 0
    changed = differences(first, read(other))
    if as_json:
        import json
        print(json.dumps(changed, indent=2))
    else:
        print_differences(changed, console())
    return 1 if changed else 0


@app.command()
def picture(block: BlockName,
            name: Annotated[str | None, typer.Argument(
                metavar="[NAME]", help="One of its pictures; the default is the first.")] = None,
            configuration: ConfigurationName = None, seed: Seed = 1,
            kept: Annotated[Path | None, typer.Option(
                "--from", metavar="FILE",
                help="Draw what a run's job kept in this file, instead of simulating.")] = None,
            output: Annotated[Path, typer.Option(
                "--output", "-o", metavar="FILE", help="A file that ends in .svg, .png or .pdf.")
            ] = Path("picture.svg"), wall_limit: WallLimit = 900) -> None:
    """Draw a picture of a block, as its report has it; where it shows a run, simulate first."""
    found = the_catalogue().find(block)
    wanted = found.picture(name)
    if wanted.kept and kept is None:
        plan = Plan([found], _new_folder(), seed=seed, testbenches=wanted.testbenches,
                    configurations=[configuration] if configuration else (),
                    wall_limit=wall_limit, pages=tuple(cli.pages))
        check(plan)
        job = min(jobs_of(plan), key=lambda job: wanted.testbenches.index(job.testbench))
        with cli.status(f"{job.name} runs"):
            outcome = run_job(job)
        if not outcome.passed:
            raise UserError(f"{job.name} failed: {outcome.reason}")
        kept = Path(job.folder) / wanted.kept
    from cyclebound.sim.drawing import figure_of, write
    write(figure_of(wanted, kept), output)
    print(output)


@app.command()
def report(folder: Folder,
           output: Annotated[Path | None, typer.Option(
               "--output", "-o", metavar="FILE", help="The default is DIR/report.html.")] = None,
           ) -> None:
    """One self-contained HTML file about a finished run."""
    from cyclebound.sim.report import write_report  # matplotlib takes a second to load

    print(write_report(folder, output))
