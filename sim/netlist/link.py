"""Verilog sources of a design: what `Instance` names becomes modules beside Amaranth's own.

`Sources` is the platform on which designs are elaborated. A component with black boxes gives it
their sources, as it would give them to a board of Amaranth's::

    platform.add_file("fifo.v", Path(__file__).with_name("fifo.v").read_text())

yosys then reads them into the design (`link`), and simulation, proof, mutation and placement see
one netlist.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import package
from cyclebound.sim.netlist import system_verilog
from cyclebound.sim.netlist.rtlil import Design, undefined
from cyclebound.sim.netlist.source_files import VERILOG, is_name, options_in, write
from cyclebound.sim.netlist.yosys import PACKAGE, yosys_command

__all__ = ["Sources", "link", "read_sources", "run_in", "write_sources"]

_OWN = "cyclebound_own"  # the top of the design while the user's modules are read
_DEFINES = "cyclebound_defines.v"  # yosys' words for -D cannot have every sign
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


def link(rtlil: str, files: Mapping[str, str], top: str, *, lines: bool) -> str:
    """The design with the modules that ``files`` define, each instance with a module of its own.

    Their names are the paths of the instances, as with Amaranth's own modules. Raises `UserError`
    in yosys' words.
    """
    if missing := sorted(undefined(rtlil)) if not files else []:
        raise UserError(f"no source defines module {missing[0]}: give it in elaborate() with "
                        "platform.add_file(name, text), or in a block's sources")
    design, placed, tops = (system_verilog.shells(rtlil, sorted(undefined(rtlil)))
                            if system_verilog.is_system_verilog(files) else (rtlil, "", []))
    # Amaranth's own modules have the names already that `uniquify` gives. The one on top has a name
    # of its own meanwhile: a module of the user's is often called top, too.
    first, second = (f"read_rtlil {name}.il; rename {top} {_OWN}; setattr -mod -set unique 1 *; "
                     for name in ("placed", "design"))
    after = (f"hierarchy -check -top {_OWN}; uniquify; hierarchy -check -top {_OWN}; "
             f"setattr -mod -unset unique *; rename {_OWN} {top}; write_rtlil linked.il")

    def make(folder: Path) -> None:
        (folder / "design.il").write_text(rtlil)
        (folder / "placed.il").write_text(design)
        read_sources(files, placed, tops, folder, before=(first, second), after=after)

    folder, _ = find_or_make("linked", key_of(
        rtlil, dict(files), system_verilog.FLAGS, first + after, package(PACKAGE)), make)
    linked = Design.read((folder / "linked.il").read_text()).modules.values()
    own = partial(re.sub, rf"^\\{_OWN}(?=\.|$)", f"\\\\{top}")
    for module in linked:
        module.name = own(module.name)
        for cell in module.cells:
            cell.kind = own(cell.kind)
    text = "".join(map(str, sorted(linked, key=lambda module: module.name)))
    return text if lines else _SOURCE.sub("", text)


def read_sources(files: Mapping[str, str], shells: str, tops: Sequence[str], folder: Path, *,
                 after: str, before: tuple[str, str] = ("", "")) -> list[str]:
    """Run yosys in ``folder``, with these files read between two scripts.

    ``shells`` is the text of a further source, and ``tops`` are its modules. SystemVerilog is read
    by slang; yosys' own reader takes over where slang's synthesis does not know a construct. Each
    has a script of its own ``before``. Returns warnings about lines of the files, as
    ``FILE:LINE: warning: ...``. Raises `UserError` in their words.
    """
    write_sources(files, shells, folder)
    refused = ""
    if system_verilog.is_system_verilog(files):
        code, said = _read_slang(files, tops, folder, before[0], after)
        if code:
            refused = f"slang cannot read the sources: {system_verilog.complaint(said)}"
            if not system_verilog.is_beyond(said):
                raise UserError(refused)
    if refused or not system_verilog.is_system_verilog(files):
        code, said = run_in(folder, before[1] + _read_verilog(files, bool(shells)) + after)
        if code:
            lines = said.splitlines()
            errors = [line for line in lines if "ERROR" in line] or lines[-1:]
            raise UserError(refused or
                            f"yosys cannot read the sources: {(errors or [''])[0].strip()}")
    return list(dict.fromkeys(f"{place}: warning: {what}" for place, what in _WARNING.findall(said)
                              if not place.startswith(system_verilog.SHELLS)))


def _read_verilog(files: Mapping[str, str], shells: bool) -> str:
    names = [name for name in files if name.endswith(VERILOG)]
    folders = " ".join(f"-I{folder}" for folder in (".", *options_in(files).include))
    return (f"read_verilog -sv {folders} {_DEFINES} {' '.join(names)}"
            f"{f' {system_verilog.SHELLS}' * shells}; " if names else "")


def _read_slang(files: Mapping[str, str], tops: Sequence[str], folder: Path, before: str,
                after: str) -> tuple[int, str]:
    """Status 0 and what was said at the first try that succeeds, or 1 and what at the first one.

    A macro of one file may be meant for those after it, and assertions that slang's synthesis does
    not know are no hardware: such files are read again, as one text or without any assertions.
    """
    flags: list[str] = []
    first = unchecked = ""
    while True:
        code, said = run_in(folder, before + system_verilog.place(
            [*files, system_verilog.SHELLS], tops, *flags) + after)
        if not code:
            return 0, unchecked + said
        first = first or said
        if system_verilog.ASSERTION in said and "--ignore-assertions" not in flags:
            flags.append("--ignore-assertions")
            unchecked, first = system_verilog.unchecked(said), ""
        elif "--single-unit" not in flags:
            flags.append("--single-unit")
        else:
            return 1, first


def run_in(folder: Path, script: str) -> tuple[int, str]:
    """Run yosys in ``folder``; its status, and what it said."""
    done = subprocess.run([*yosys_command(), "-p", script], cwd=folder, capture_output=True,
                          text=True)  # -q silences warnings, too
    return done.returncode, done.stderr + done.stdout


def write_sources(files: Mapping[str, str], shells: str, folder: Path) -> None:
    """Write the files into ``folder``, with what the commands that read them name besides."""
    write({**files, system_verilog.SHELLS: shells, **system_verilog.options(files),
           _DEFINES: "".join(f"`define {macro} {text}\n" for macro, text
                             in options_in(files).defines.items())}, folder)
