"""Verilog sources of a design: what `Instance` names becomes modules beside Amaranth's own.

`Sources` is the platform on which designs are elaborated. A component with black boxes gives it
their sources, as it would give them to a board of Amaranth's::

    platform.add_file("fifo.v", Path(__file__).with_name("fifo.v").read_text())

yosys then reads them into the design (`link`), and simulation, proof, mutation and placement see
one netlist.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import package
from cyclebound.sim.netlist.source_files import VERILOG, is_name, options_in
from cyclebound.sim.netlist.yosys import PACKAGE, yosys_command

__all__ = ["Sources", "from_vhdl", "link", "read_command", "run_on_sources", "undefined"]

_OWN = "cyclebound_own"  # the top of the design while the user's modules are read
_DEFINES = "cyclebound_defines.v"
_CELL = re.compile(r"^\s*cell \\(\S+) ", re.MULTILINE)
_MODULE = re.compile(r"^module \\(\S+)$", re.MULTILINE)
_WHOLE = re.compile(r"(?:^attribute [^\n]*\n)*^module [^\n]*\n.*?^end\n", re.MULTILINE | re.DOTALL)
_SOURCE = re.compile(r"^\s*attribute \\src .*\n", re.MULTILINE)
_WARNING = re.compile(r"^([^\s:]+:\d+): Warning: (.*)$", re.MULTILINE)


class Sources:
    """A platform that only collects source files.

    Attributes
    ----------
    files : dict of str to str
        Their texts, by name.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def add_file(self, name: str, content: object) -> None:
        """A source for black boxes: a text, bytes, or an open file."""
        if hasattr(content, "read"):
            content = content.read()
        if isinstance(content, bytes):
            content = content.decode()
        if not isinstance(content, str):
            raise TypeError(f"Content of {name!r} must be a text, not {content!r}")
        path = Path(str(name))
        name = path.name if path.is_absolute() or ".." in path.parts else path.as_posix()
        if not is_name(name):
            raise ValueError(f"Name of a source must be letters, digits and any of _ . + - /, "
                             f"not {name!r}")
        if self.files.get(name, content) != content:
            raise ValueError(f"two sources are called {name!r} and differ")
        self.files[name] = content


def undefined(rtlil: str) -> set[str]:
    """Modules that are placed in a design and are not in it."""
    return {name for name in set(_CELL.findall(rtlil)) if not name.startswith("$")} - set(
        _MODULE.findall(rtlil))


def link(rtlil: str, files: Mapping[str, str], top: str, *, lines: bool) -> str:
    """The design with the modules that ``files`` define, each instance with a module of its own.

    Their names are the paths of the instances, as with Amaranth's own modules. Raises `UserError`
    in yosys' words.
    """
    if missing := sorted(undefined(rtlil)) if not files else []:
        raise UserError(f"no source defines module {missing[0]}: give it in elaborate() with "
                        "platform.add_file(name, text), or in a block's sources")
    # Amaranth's own modules have the names already that `uniquify` gives. The one on top has a name
    # of its own meanwhile: a module of the user's is often called top, too.
    script = (f"read_rtlil design.il; rename {top} {_OWN}; setattr -mod -set unique 1 *; "
              + read_command(files) + f"hierarchy -check -top {_OWN}; uniquify; "
              f"hierarchy -check -top {_OWN}; setattr -mod -unset unique *; rename {_OWN} {top}; "
              "write_rtlil linked.il")

    def make(folder: Path) -> None:
        (folder / "design.il").write_text(rtlil)
        run_on_sources(files, script, folder)

    folder, _ = find_or_make(
        "linked", key_of(rtlil, dict(files), script, package(PACKAGE)), make)
    text = re.sub(rf"\\{_OWN}(?=[.\s])", lambda _: f"\\{top}",
                  (folder / "linked.il").read_text())
    text = "\n".join(sorted(_WHOLE.findall(text), key=lambda module: _MODULE.findall(module)))
    return text if lines else _SOURCE.sub("", text)


def read_command(files: Mapping[str, str], *more: str) -> str:
    """The yosys command that reads the Verilog files, and more files; the others are only included
    by these. Empty if there are none."""
    names = [*(name for name in files if name.endswith(VERILOG)), *more]
    folders = " ".join(f"-I{folder}" for folder in (".", *options_in(files).include))
    return f"read_verilog -sv {folders} {_DEFINES} {' '.join(names)}; " if names else ""


def _write(files: Mapping[str, str], folder: Path) -> None:
    """The files, and one that defines the macros: yosys' words for -D cannot have every sign."""
    macros = options_in(files).defines
    for name, text in {**files, _DEFINES: "".join(
            f"`define {macro} {text}\n" for macro, text in macros.items())}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run_on_sources(files: Mapping[str, str], script: str, folder: Path) -> list[str]:
    """Run yosys in ``folder`` beside these files; returns its warnings about their lines, as
    ``FILE:LINE: warning: ...``. Raises `UserError` in its words."""
    _write(files, folder)
    done = subprocess.run([*yosys_command(), "-p", script], cwd=folder, capture_output=True,
                          text=True)  # -q silences warnings, too
    if done.returncode:
        said = (done.stderr + done.stdout).splitlines()
        errors = [line for line in said if "ERROR" in line] or said[-1:] or ["it says nothing"]
        raise UserError(f"yosys cannot read the sources: {errors[0].strip()}")
    warnings = _WARNING.findall(done.stdout + done.stderr)
    return list(dict.fromkeys(f"{place}: warning: {what}" for place, what in warnings))


def from_vhdl(files: Mapping[str, str], top: str, parameters: Mapping[str, object],
              folder: Path) -> str:
    """VHDL as Verilog, by GHDL's own synthesis. Raises `UserError`."""
    ghdl = shutil.which("ghdl")
    if ghdl is None:
        raise UserError(f"{', '.join(files)}: VHDL is read by GHDL, and there is no ghdl on PATH; "
                        "install it, e.g. `apt-get install ghdl`")
    _write(files, folder)
    generics = [f"-g{name}={value}" for name, value in parameters.items()]
    done = subprocess.run([ghdl, "synth", "--std=08", *generics, "--out=verilog", *files, "-e",
                           top], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"GHDL cannot read {', '.join(files)}: "
                        f"{(done.stderr.strip().splitlines() or ['it says nothing'])[0]}")
    return done.stdout
