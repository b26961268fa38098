"""SystemVerilog through slang, which yosys has inside: ``read_slang``.

It elaborates whole hierarchies, from a top down, and does not know what Amaranth places. So each
kind of a user's module that a design places, with its parameters, is placed once in a shell
without ports, of which slang is told as a top. Hierarchy is kept, but for modules with interfaces,
which are dissolved where they are placed.
"""

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cyclebound.sim.netlist.rtlil import Design
from cyclebound.sim.netlist.source_files import VERILOG, options_in, quoted

__all__ = [
    "ASSERTION",
    "FLAGS",
    "INSIDE",
    "SHELLS",
    "complaint",
    "is_beyond",
    "is_system_verilog",
    "is_unknown",
    "modules",
    "options",
    "parameters",
    "place",
    "shell_of",
    "shells",
    "unchecked",
]

SHELLS = "cyclebound_shells.sv"
"""The file with the shells."""
ASSERTION = "unsupported SVA feature"
"""What slang says of an assertion that its synthesis does not know."""
INSIDE = "it"
"""What a shell calls the module in it (`inside` and `within` are keywords)."""
_SHELL = "cyclebound_shell"
_OPTIONS = "cyclebound_options.f"
# A delay and what only a simulation begins with are no hardware; numbers are given for parameters
# that are enums. Ports that a shell leaves open are all of its module's.
FLAGS = ("--best-effort-hierarchy --ignore-timing --relax-enum-conversions "
         "-Wno-unconnected-input-port -Wno-unconnected-output-port -Wno-unconnected-unnamed-port")
_ERROR = re.compile(r"^(\S+:\d+): ERROR: (.*)$", re.MULTILINE)
_PLAIN = re.compile(r"^ERROR: (.*)$", re.MULTILINE)
_MODULE = re.compile(r"^\s*module\s+(?:automatic\s+|static\s+)?(\w+)", re.MULTILINE)
_BEYOND = re.compile("unsupported|cannot be matched to any signal from the event list")
_INTERFACE = re.compile(r"(?:unconnected interface port|interface port) '(\w+)'")


def is_system_verilog(files: Mapping[str, str]) -> bool:
    """Whether any of the files is SystemVerilog; slang then reads all of them."""
    return any(name.endswith(".sv") for name in files)


def options(files: Mapping[str, str]) -> dict[str, str]:
    """The file of options that `place` names."""
    said = options_in(files)
    lines = [f"+incdir+{folder}" for folder in (".", *said.include)]
    lines += [f"-D {quoted(f'{macro}={text}' if text else macro)}"
              for macro, text in said.defines.items()]
    return {_OPTIONS: "\n".join(lines) + "\n"}


def place(files: Iterable[str], tops: Sequence[str], *flags: str) -> str:
    """The yosys command that reads the files of these names below these tops."""
    names = [name for name in files if name.endswith(VERILOG)]
    return " ".join(["read_slang", FLAGS, *flags, "-f", _OPTIONS,
                     *(f"--top {top}" for top in tops), *names]) + "; "


def shells(rtlil: str, missing: Sequence[str]) -> tuple[str, str, list[str]]:
    """The design with its cells of these modules as slang will call them; the text of the shells,
    and their names."""
    kinds: dict[tuple[str, str], str] = {}
    design = Design.read(rtlil)
    for cell in itertools.chain(*(module.cells for module in design.modules.values())):
        if cell.kind[1:] in missing:
            given = ", ".join(f".{key}({_literal(cell.flags.get(key, ''), value)})"
                              for key, value in cell.parameters.items())
            shell = kinds.setdefault((cell.kind[1:], given), f"{_SHELL}_{len(kinds)}")
            cell.kind += f"${shell}.{INSIDE}"  # as slang will call it
            cell.parameters = {}
    return str(design), "".join(shell_of(kind, given, shell) for (kind, given), shell
                                in kinds.items()), [*kinds.values()]


def shell_of(module: str, given: str, shell: str = f"{_SHELL}_0") -> str:
    """A module without ports that places this one, with its parameters as Verilog has them."""
    return f"module {shell}; {module} #({given}) {INSIDE}(); endmodule\n"


def unchecked(said: str) -> str:
    """Warnings about the assertions that are left out."""
    return "".join(f"{where}: Warning: {ASSERTION}: no assertion of these sources is checked\n"
                   for where, what in _ERROR.findall(said) if ASSERTION in what)


def _literal(flag: str, value: str) -> str:
    """A parameter's value in RTLIL as one in SystemVerilog."""
    if flag == "real ":
        return value.strip('"')
    width, quote, bits = value.partition("'")
    return f"{width}'{'s' * bool(flag)}b{bits}" if quote and not value.startswith('"') else value


def complaint(said: str) -> str:
    """What slang refused, with its file and line: the first of its errors, and how many more."""
    errors = [(where, what) for where, what in _ERROR.findall(said)]
    own = [(where, what) for where, what in errors if not where.startswith(SHELLS)]
    if not own and errors:
        where, what = errors[0]
        interface = _INTERFACE.search(what)
        return (f"port {interface[1]} of the top is an interface: write a module around it whose "
                "ports are signals") if interface else what
    if not own:
        plain = [line for line in _PLAIN.findall(said) if "see full log" not in line]
        return plain[0] if plain else (said.strip().splitlines() or ["it says nothing"])[-1]
    where, what = own[0]
    more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
    return f"{where}: {what}{more}"


def is_beyond(said: str) -> bool:
    """Whether all that slang refused is what its synthesis does not know, and no mistake."""
    errors = [what for _, what in _ERROR.findall(said)]
    return bool(errors) and all(_BEYOND.search(what) for what in errors)


def is_unknown(said: str, top: str) -> bool:
    """Whether slang said that there is no such module."""
    return f"'{top}' is not a valid top-level module" in said


def modules(files: Mapping[str, str]) -> set[str]:
    """The names of modules in the files."""
    return {name for file, text in files.items() if file.endswith(VERILOG)
            for name in _MODULE.findall(text)}


def parameters(said: str, top: str) -> dict[str, int | str]:
    """The parameters of a module with their defaults, from what ``--dump-ast`` printed; those that
    are types or no numbers and texts are left out."""
    start = said.find("{\n")
    if start < 0:
        return {}
    members: list[dict[str, Any]] = json.JSONDecoder().raw_decode(said, start)[0]["members"]
    body: dict[str, Any] = next((member["body"] for member in members
                 if member["name"] == top and "body" in member), {"members": []})
    found = {}
    for member in body["members"]:
        if member["kind"] == "Parameter" and member["isPort"] and not member["isLocal"]:
            value = _default(member)
            if value is not None:
                found[member["name"]] = value
    return found


def _default(parameter: Mapping[str, Any]) -> int | str | None:
    text, made = str(parameter.get("value", "")), parameter.get("initializer", {})
    while made.get("kind") == "Conversion":
        made = made["operand"]
    if made.get("kind") == "StringLiteral":
        return str(made["literal"])
    sized = re.fullmatch(r"(-?)(?:\d+'s?([bdho]))?(\w+)", text)
    if sized is None:
        return None
    try:
        number = int(sized[3], {"b": 2, "o": 8, "h": 16}.get(sized[2], 10))
    except ValueError:  # it has x or z
        return None
    return -number if sized[1] else number
