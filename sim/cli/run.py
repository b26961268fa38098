"""Commands that simulate, and that read what was simulated."""

import contextlib
import datetime
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.base.shape import misfit, shown
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli.base import (
    AsJson,
    BlockName,
    ConfigurationName,
    Folder,
    PartFile,
    Sarif,
    Settings,
    Workers,
    app,
    blocks_with,
    changes_of,
    console,
    progress_bars,
    the_catalogue,
)
from cyclebound.sim.describe.block import WALL_LIMIT
from cyclebound.sim.describe.named_tests import named_tests

with lazily():
    from cyclebound.sim.base import stop as stopping
    from cyclebound.sim.describe import block as blocks_of
    from cyclebound.sim.describe import variant as variants
    from cyclebound.sim.judge import verdict as verdicts
    from cyclebound.sim.regression import baseline as baselines
    from cyclebound.sim.regression import live
    from cyclebound.sim.regression import merge as merging
    from cyclebound.sim.regression import plan as plans
    from cyclebound.sim.regression import regress as regression
    from cyclebound.sim.regression import results as run_results
    from cyclebound.sim.regression import table as run_table
    from cyclebound.sim.report import markdown as markdown_tables
    from cyclebound.sim.report import sarif as findings
    from cyclebound.sim.run import job as jobs

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


def new_folder() -> Path:
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
    """The options with which a run began, for all options that are not named now.

    A run's folder is data and names no code: catalogue pages of the user's have to be named again.
    """
    with contextlib.closing(run_results.Results(folder)) as results:
        before = results.meta.get("options", {})
    changes = None
    kinds = {**get_type_hints(plans.Plan), "blocks": list[str]}
    for name, value in before.items():
        wrong = (f"no option is called {shown(name)}" if name not in kinds else
                 misfit(value, kinds[name], f"option {name}") if name != "changes" else None)
        if wrong:
            raise UserError(f"{folder} began with options that do not exist: {wrong}")
    if "changes" in before:
        try:
            changes = variants.Changes.kept(before.pop("changes"))
        except UserError as error:
            raise UserError(f"{folder} began with options that do not exist: {error}") from None
    missing = [page for page in before.get("pages", ()) if page not in cli.pages]
    if missing:
        raise UserError(f"{folder} was run with the catalogue page {missing[0]}, whose code a "
                        f"run's folder cannot vouch for; name it again with --catalogue")
    cli.pages[:] = dict.fromkeys([*before.pop("pages", ()), *cli.pages])
    if "shard" in before:
        before["shard"] = tuple(before["shard"])
    spelled = {"level": "full"}  # options whose name on the command line is another

    def named_now(name: str) -> bool:
        source = context.get_parameter_source(spelled.get(name, name))
        return source is None or source.name != "DEFAULT"

    options = {name: value for name, value in before.items() if not named_now(name)}
    if changes and not (named_now("settings") or named_now("part")):
        options["changes"] = changes
    return options


def _resuming(plan: "plans.Plan") -> str:
    """The command that continues a run; pages that are found without being named are not in it."""
    named = [word for page in plan.pages if page not in catalogue.more_pages()
             for word in ("--catalogue", page)]
    return shlex.join(["cyclebound", *named, "regress", "--resume", str(plan.folder)])


@app.command()
def regress(
    context: typer.Context,
    blocks: Annotated[list[str] | None, typer.Argument(
        metavar="BLOCK",
        help="Blocks or families, as `list` names them; the default is all.")] = None,
    workers: Workers = None,
    configurations: Annotated[list[str] | None, typer.Option(
        "--configuration", "-c", metavar="C", help="Only this configuration; may be repeated.")
    ] = None,
    testbenches: Annotated[list[str] | None, typer.Option(
        "--testbench", metavar="T", help="Only this testbench; may be repeated.")] = None,
    settings: Settings = None,
    part: PartFile = None,
    full: Annotated[bool, typer.Option(
        "--full", help="Everything: all configurations, sweeps and proofs. Hours, where the "
        "default, the quick level, takes minutes.")] = False,
    shard: Annotated[str, typer.Option(
        "--shard", metavar="I/N", help="Only part I of N, e.g. 1/4, for as many machines; "
        "`cyclebound merge` puts the parts together.")] = "1/1",
    seed: Seed = 1,
    seeds: Annotated[int | None, typer.Option(
        metavar="N", min=1, help="Every testbench with N seeds, from --seed on, instead of its own "
        "number of seeds.")] = None,
    waves: Waves = False,
    proofs: Annotated[bool, typer.Option(help="Prove the blocks' properties too.")] = True,
    certify: Annotated[bool, typer.Option(
        "--certify", help="Restate each proof as plain SAT problems, whose proofs by another "
        "solver are checked line by line; the first time seconds each.")] = False,
    pictures: Annotated[bool | None, typer.Option(
        "--pictures/--no-pictures", show_default=False,
        help="Draw worst requests' waveforms and the blocks' own pictures. The default: in the "
        "full level; in the quick one only requests that violate a bound.")] = None,
    fresh: Annotated[bool, typer.Option(
        "--fresh", help="Build, simulate and prove everything anew. The default reuses what "
        "earlier runs made of the same RTL, testbench, models, seeds, packages and tools.")
    ] = False,
    fpga: Annotated[bool, typer.Option(
        "--fpga", help="Place and route the blocks too; the first time a minute or more each.")
    ] = False,
    page: Annotated[bool, typer.Option(
        "--report/--no-report", help="Write the HTML report into the run's folder.")] = True,
    scheduler: Annotated[str | None, typer.Option(
        metavar="ADDRESS", help="Run the jobs on the Dask cluster of this scheduler.")] = None,
    resume: Annotated[Path | None, typer.Option(
        metavar="DIR", help="Continue a run: jobs that have finished there are not run again. With "
        "BLOCK, only those of these blocks; the others stay as they are.")] = None,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="The run's folder; the default is runs/<time>.")
    ] = None,
    simulator: Simulator = "verilator",
    wall_limit: WallLimit = WALL_LIMIT,
    as_json: AsJson = False, sarif: Sarif = None,
) -> int:
    """Build, simulate, check and prove; print measured against bound.

    The quick level, the default, runs blocks in their smallest significant configuration and the
    proofs that close within seconds; a few blocks that are made of many others have nothing so
    small, and run with --full. A configuration or testbench that is named always runs.
    With --set and --part, simulations and proofs use these parameters; blocks of a family that
    lack them are left out.
    Verdicts appear as soon as they are known; --resume continues an interrupted run.

    Exit status 0: all bounds held. 1: a mismatch, a violated bound, a request without a bound, or
    a failed proof. 2: a mistake in the call.
    """
    if resume is not None and output is not None:
        raise UserError("--resume names the folder already; leave out --output")
    options: dict[str, Any] = {
               "blocks": blocks, "configurations": configurations or (),
               "testbenches": testbenches or (), "level": "full" if full else "quick",
               "shard": _shard(shard), "seed": seed, "seeds": seeds,
               "waves": waves, "proofs": proofs, "certify": certify, "pictures": pictures,
               "fpga": fpga, "fresh": fresh, "simulator": simulator, "wall_limit": wall_limit}
    if resume is not None:
        options |= _as_before(context, resume)
    _simulator(options["simulator"])
    _choose(options, settings, part)
    options |= {"scheduler": scheduler, "pages": tuple(cli.pages),
                **({"workers": workers} if workers else {})}
    # a mistake shows before a folder is made
    plans.check(plans.Plan(folder=Path("."), **options))
    for block in options["blocks"]:
        if tell := getattr(block.component, "tell", None):  # a module in Verilog
            for configuration in block.configurations.values():
                tell(configuration.parameters)
    plan = plans.Plan(folder=resume or output or new_folder(), **options)
    _execute(plan, quiet=as_json)
    status = _show(plan.folder, as_json=as_json, page=page)
    if sarif is not None:
        findings.write(sarif, findings.sarif(findings.problems_of(
            run_table.read(plan.folder), _place)))
    if not as_json:
        _what_is_left(plan)
    return status


def _place(block: str, what: str) -> "findings.Place | None":
    """Where a finding about a block is shown; None if the catalogue does not have it."""
    try:
        return findings.place_of(the_catalogue().find(block), what)
    except UserError:
        return None


def _choose(options: dict[str, Any], settings: list[str] | None, part: str | None) -> None:
    """The blocks of a plan, with the parameters that are changed."""
    if settings or part:
        options["blocks"], values = blocks_with(options["blocks"], settings, part)
        options["changes"] = variants.Changes.of(values)
    else:
        options["blocks"] = the_catalogue().select(options["blocks"])
    _vary(options)


def _execute(plan: "plans.Plan", *, quiet: bool) -> None:
    """Run the plan's jobs, with progress and, unless ``quiet``, verdicts as they come."""
    with stopping.on_sigterm() as terminated:
        try:
            with progress_bars() as report:
                regression.regress(
                    plan, command=shlex.join(["cyclebound", *sys.argv[1:]]),
                    created=datetime.datetime.now().isoformat(timespec="seconds"), report=report,
                    tell=(lambda verdict: None) if quiet else live.teller(report.console))
        except regression.Interrupted:
            cli.fail(f"{'terminated' if terminated else 'interrupted'}; what had finished is kept "
                     f"(`{shlex.join(['cyclebound', 'compare', str(plan.folder)])}` shows it), "
                     "continue with "
                     f"`{_resuming(plan)}`", 143 if terminated else 130)


def _vary(options: dict[str, Any]) -> None:
    """Blocks and configurations with the changed parameters; print which ones refuse them."""
    if not options.get("changes"):
        return
    chosen = options["configurations"]
    bases = {name for block in options["blocks"] for name in block.configurations}
    changed = [variants.possible(block, options["changes"], chosen) for block in options["blocks"]]
    for line in (line for variant in changed for line in variant.refused):
        cli.say(f"cyclebound: left out: {line}")
    renamed: list[str] = []
    for name in chosen:
        new = {variant.names[name] for variant in changed if name in variant.names}
        if not new and name not in {new for variant in changed for new in variant.names.values()}:
            raise unknown("configuration", name, bases)
        renamed += new or [name]
    options["configurations"] = [*dict.fromkeys(renamed)]
    options["blocks"] = [variant.block for variant in changed]


def _show(folder: Path, *, as_json: bool, page: bool) -> int:
    """Print a finished run, write its JUnit XML and report; the exit status."""
    run = run_table.read(folder)
    run_table.write_junit(run, folder / "junit.xml")
    if as_json:
        print(run.as_json())
    else:
        run_table.print_run(run, console())
    if page:
        from cyclebound.sim.report.report import write_report  # matplotlib takes a second to load
        path = write_report(folder)
        if not as_json:
            console().print(f"report: {path}", soft_wrap=True, markup=False)
    return 1 if run.problems else 0


def _what_is_left(plan: "plans.Plan") -> None:
    """Print how much the full level would add."""
    simulations, configurations, proved = plans.left_to_full(plan)
    if simulations or proved:
        console().print(f"quick level; `cyclebound regress --full` adds {simulations} simulations "
                        f"({configurations} more configurations), {proved} proofs, and waveforms "
                        "of all worst requests", soft_wrap=True)


def _shard(text: str) -> tuple[int, int]:
    """``1/4`` as numbers. Raises `UserError`."""
    part, slash, parts = text.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise UserError(f"--shard takes I/N with I from 1 to N, such as 1/4, not {text!r}")
    return int(part), int(parts)


@app.command()
def merge(folders: Annotated[list[Path], typer.Argument(
              metavar="DIR", help="The folders of all shards of one regression.")],
          output: Annotated[Path, typer.Option(
              "--output", "-o", metavar="DIR", help="The folder of the whole run.")],
          page: Annotated[bool, typer.Option(
              "--report/--no-report", help="Write the HTML report into the run's folder.")] = True,
          as_json: AsJson = False) -> int:
    """Merge the shards of a regression: one table, one report, verdicts computed anew."""
    merging.merge(folders, output)
    return _show(output, as_json=as_json, page=page)


@app.command()
def run(block: BlockName, configuration: ConfigurationName = None,
        testbench: Annotated[str | None, typer.Option(
            metavar="T", help="The testbench; the default is the first.")] = None,
        test: Annotated[str, typer.Option(metavar="NAME", help="Only this one of its tests.")] = "",
        settings: Settings = None, part: PartFile = None, seed: Seed = 1, waves: Waves = False,
        simulator: Simulator = "verilator", wall_limit: WallLimit = WALL_LIMIT,
        output: Annotated[Path | None, typer.Option(
            "--output", "-o", metavar="DIR", help="The folder; the default is runs/<time>.")
        ] = None) -> int:
    """Simulate one configuration of a block with one testbench, with its log on the terminal.

    Then prints, for each bound, the longest request against what the bound allows. --set and --part
    override parameters of the configuration. Exit status 1: a mismatch, a violated bound, or a
    request without a bound.
    """
    the_block = the_catalogue().find(block)
    changes = changes_of(the_block, configuration, settings, part)
    own = the_block.configuration(configuration)[1].parameters
    the_block, name = variants.variant(the_block, configuration, changes)
    bench = the_block.testbench(testbench) if testbench else the_block.testbenches[0]
    if wrong := variants.refusal(bench, the_block, the_block.configurations[name].parameters, own):
        raise UserError(f"{the_block.name}: testbench {bench.name} cannot run on {name}: {wrong}")
    names = [name for name in named_tests(bench.module)
             if name in (bench.tests or [name]) and name not in the_block.left_out(bench)]
    if test and names and test.partition("/")[0] not in names:
        raise unknown(f"test of {the_block.name}'s testbench {bench.name}", test, names)
    plan = plans.Plan([the_block], Path("."), seed=seed, configurations=[name],
                testbenches=[bench.name], waves=waves,
                simulator=_simulator(simulator), wall_limit=wall_limit, pages=tuple(cli.pages))
    plans.check(plan)
    folder = output or new_folder()
    job, *_ = plans.jobs_of(plans.Plan(**{**vars(plan), "folder": folder}))
    job = type(job)(**{**vars(job), "test": test})
    in_catalogue = name in the_catalogue().find(block).configurations
    outcome = jobs.run_job(job) if in_catalogue else _simulated(the_block, job)
    log = Path(job.folder) / "log.txt"
    if log.exists():
        print(log.read_text(errors="replace"))
    print(f"{'passed' if outcome.passed else 'FAILED'}: {job.name}"
          + (f": {outcome.reason}" if outcome.reason else ""))
    print(f"{sum(g.count for g in outcome.groups):,} requests observed, "
          f"{outcome.compared:,} comparisons, {outcome.cycles:,} cycles in "
          f"{outcome.run_seconds:.2f} s; folder {job.folder}")
    if outcome.waveform:
        print(f"waveform: {outcome.waveform}")
    return 0 if _judged(the_block, name, outcome) and outcome.passed else 1


def _simulated(block: "blocks_of.Block", job: "jobs.Job") -> "jobs.Outcome":
    """The outcome of a job whose configuration was made by ``--set`` or ``--part``."""
    try:
        return jobs.simulate(block, job)
    except (TypeError, ValueError) as error:  # what is around the block refuses its parameters
        raise UserError(f"{job.name}: {error}") from error
    except OSError as error:
        raise UserError(f"{error.filename or job.folder}: {error.strerror or error}") from error


def _judged(block: "blocks_of.Block", name: str, outcome: "jobs.Outcome") -> bool:
    """Print the observed latencies against the bounds; whether no bound failed."""
    observed = [(outcome.name, group) for group in outcome.groups]
    rows = [row for row in verdicts.judge(block, name, observed) if row.requests]
    for row in rows:
        of = f"{row.what}: {row.bound}" if row.bound != "-" else row.what
        print(f"{of}: {row.verdict}, {row.detail}" if row.failed else
              f"{of}: {row.verdict}, worst {row.worst:,} of {row.allowed:,} {row.unit} in "
              f"{row.requests:,} requests{row.closer}")
    return not any(row.failed for row in rows)


@app.command()
def baseline(folder: Annotated[Path, typer.Argument(
                 metavar="RUN", help="The folder of a finished regression.")],
             accept: Annotated[bool, typer.Option(
                 "--accept", help="Take the run over: its blocks' records become the baseline of "
                 "its level.")] = False,
             as_json: AsJson = False) -> int:
    """Compare a run with the committed baseline, or make it the baseline.

    The baseline (sim/regression/baselines/, a file for each family and level) holds what each row
    of a regression rests on: comparisons, cycles and tests of each simulation; verdict, evidence,
    requests, kinds and ratios of each claim; how far each property was proved. A run that has less
    of anything fails with `weaker`, one that has more or other with `changed`. Where that is meant,
    accept it and commit the files; their difference is what a reviewer reads:

    cyclebound regress noc.arbiter -o run; cyclebound baseline --accept run

    Only a run with all of its blocks' simulations and proofs in one level can be accepted: without
    -c, --testbench, --set, --part, --seed, --seeds and --no-proofs, with its shards merged, and
    with nothing in it that fails for another reason. Blocks of your own have no baseline.

    Exit status 1 if anything differs and is not accepted.
    """
    run = run_table.read(folder)
    rows = [row for row in run.verdicts if row.baseline in ("weaker", "changed")]
    if accept:
        records = baselines.records_of(run)
        level = str(run.meta["level"])
        blocks = {record.key[0] for record in records}
        differ = baselines.Baseline(level).accept(blocks, records)
        cli.say(f"{len(records)} records of {len(blocks)} blocks are the {level} level's baseline "
                f"in {baselines.FOLDER}; {differ} of them differ from what was there")
        return 0
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return 1 if rows else 0
    for row in rows:
        console().print(f"{row.verdict}: {row.block} {row.configuration} {row.what}: {row.detail}",
                        soft_wrap=True, markup=False, highlight=False)
    if not rows:
        equal = sum(row.baseline == "equal" for row in run.verdicts)
        console().print(f"{equal} of {len(run.verdicts)} claims are as their baseline, the others "
                        "have none", soft_wrap=True)
    return 1 if rows else 0


@app.command()
def compare(folder: Folder,
            other: Annotated[Path | None, typer.Argument(
                metavar="DIR2", help="A later run, to see what changed.")] = None,
            markdown: Annotated[bool, typer.Option(
                "--markdown", help="Verdicts, proofs and FPGA figures as tables for a document, "
                "unless there are two runs.")] = False,
            as_json: AsJson = False) -> int:
    """The verdict table of a finished run; with two runs, all in which they differ.

    What the later run shows less of comes first. Exit status 1 if anything differs.
    """
    first = run_table.read(folder)
    if other is None:
        if as_json:
            print(first.as_json())
        elif markdown:
            print(markdown_tables.tables(first))
        else:
            run_table.print_run(first, console())
        return 1 if first.problems else 0
    changed = run_table.differences(first, run_table.read(other))
    if as_json:
        print(json.dumps(changed, indent=2))
    else:
        run_table.print_differences(changed, console())
    return 1 if changed else 0


@app.command()
def picture(block: BlockName,
            name: Annotated[str | None, typer.Argument(
                metavar="NAME", help="One of its pictures; the default is the first.")] = None,
            configuration: ConfigurationName = None, seed: Seed = 1,
            kept: Annotated[Path | None, typer.Option(
                "--from", metavar="FILE",
                help="Draw the data that a job of a run has kept in this file, instead of "
                "simulating.")] = None,
            output: Annotated[Path | None, typer.Option(
                "--output", "-o", metavar="FILE", help="A file that ends in .svg, .png or .pdf; "
                "the default is BLOCK-NAME.svg.")
            ] = None, wall_limit: WallLimit = WALL_LIMIT) -> None:
    """Draw a picture of a block, as in its report; a picture of a run is simulated first."""
    the_block = the_catalogue().find(block)
    wanted = the_block.picture(name)
    output = output or Path(f"{the_block.name}-{wanted.name}.svg")
    if wanted.kept and kept is None:
        plan = plans.Plan([the_block], new_folder(), seed=seed, testbenches=wanted.testbenches,
                    configurations=[configuration] if configuration else (),
                    wall_limit=wall_limit, pages=tuple(cli.pages))
        plans.check(plan)
        job = min(plans.jobs_of(plan), key=lambda job: wanted.testbenches.index(job.testbench))
        with cli.status(f"{job.name} runs"):
            outcome = jobs.run_job(job)
        if not outcome.passed:
            raise UserError(f"{job.name} failed: {outcome.reason}")
        kept = Path(job.folder) / wanted.kept
    from cyclebound.sim.drawing.drawing import figure_of, write
    write(figure_of(wanted, kept), output)
    print(output)


@app.command()
def report(folder: Folder,
           output: Annotated[Path | None, typer.Option(
               "--output", "-o", metavar="FILE", help="The default is DIR/report.html.")] = None,
           since: Annotated[Path | None, typer.Option(
               "--since", metavar="DIR", help="An earlier run: begin with what changed since then.")
           ] = None, sarif: Sarif = None,
           badge: Annotated[Path | None, typer.Option(
               "--badge", metavar="FILE", help="Draw a badge that says how many claims hold, as "
               ".svg.")] = None) -> None:
    """One self-contained HTML file about a finished run."""
    run = run_table.read(folder)
    if badge is not None:
        if badge.suffix != ".svg":
            raise UserError(f"--badge takes a file that ends in .svg, not {str(badge)!r}")
        findings.write(badge, findings.badge(run))
    if sarif is not None:
        findings.write(sarif, findings.sarif(findings.problems_of(run, _place)))
    from cyclebound.sim.report.report import write_report  # matplotlib takes a second to load

    print(write_report(folder, output, since))
