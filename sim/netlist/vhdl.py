"""VHDL as Verilog, by GHDL's own synthesis."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.netlist.source_files import VHDL, options_in, write

__all__ = ["from_vhdl", "generics"]

_GHDL = ("ghdl", "ghdl-mcode", "ghdl-llvm", "ghdl-gcc")
_FATAL = re.compile(r'if \(!(\w+)\)\s*\$fatal\(1, "[^"]*"\);')
_SIGNED = re.compile(r"([\w\s,]+):\s*(?:in|out|buffer)?\s*(?:(?:\w+\.)*signed|integer\s+range\s+-)",
                     re.IGNORECASE)
_PORT = re.compile(r"(input|output)( +(?:\[[^\]]*\] *)?)(\w+)")
_GENERICS = re.compile(r"\bgeneric\s*\((.*?)\)\s*;", re.DOTALL | re.IGNORECASE)
_GENERIC = re.compile(r'\s*([\w\s,]+?)\s*:[^:;=]*(?::=\s*("[^"]*"|[^;]*?)\s*)?(?:;|$)')


def from_vhdl(files: Mapping[str, str], top: str, values: Mapping[str, object], folder: Path
              ) -> str:
    """An entity with these values of its generics, as Verilog. Raises `UserError`.

    ``files`` are the sources by name; a list among them says which belong to other libraries.
    """
    ghdl = next(filter(None, map(shutil.which, _GHDL)), None)
    vhdl = {name: text for name, text in files.items() if name.endswith(VHDL)}
    if ghdl is None:
        raise UserError(f"{', '.join(vhdl)}: VHDL is read by GHDL, and there is no ghdl on PATH; "
                        "install it, e.g. `apt-get install ghdl`")
    write(files, folder)
    libraries = options_in(files).libraries
    for library in dict.fromkeys(libraries.values()):
        _run([ghdl, "-a", "--std=08", f"--work={library}",
              *(name for name in vhdl if libraries.get(name) == library)], folder)
    given = [f"-g{name}={value}" for name, value in values.items()]
    made = _run([ghdl, "synth", "--std=08", *given, "--out=verilog",
                 *(name for name in vhdl if name not in libraries), "-e", top], folder)
    # yosys knows no $fatal, and GHDL's Verilog no signs
    signed = {name.strip().lower() for names in _SIGNED.findall(_entity(vhdl, top))
              for name in names.split(",")}

    def header(match: re.Match[str]) -> str:
        return f"module {top}\n" + _PORT.sub(
            lambda port: f"{port[1]} signed{port[2]}{port[3]}" if port[3].lower() in signed
            else port[0], match[1])

    return re.sub(rf"^module {top}\n(.*?;)", header, _FATAL.sub(r"assert (\1);", made), count=1,
                  flags=re.MULTILINE | re.DOTALL | re.IGNORECASE)


def generics(files: Mapping[str, str], top: str) -> dict[str, int | str | None]:
    """The generics of an entity, with those defaults that are numbers or texts."""
    clause = _GENERICS.search(_entity(files, top))
    return {name.strip(): _default(value) for names, value in _GENERIC.findall(
        clause[1] if clause else "") for name in names.split(",")}


def _default(value: str) -> int | str | None:
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1]
    return int(value) if re.fullmatch(r"-?\d+", value) else None


def _entity(files: Mapping[str, str], top: str) -> str:
    """The declaration of an entity without comments; empty if it is not found."""
    for name, text in files.items():
        if name.endswith(VHDL):
            if found := re.search(rf"\bentity\s+{top}\s+is\b(.*?)\bend\b",
                                  re.sub(r"--[^\n]*", "", text), re.DOTALL | re.IGNORECASE):
                return found[1]
    return ""


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise UserError(f"GHDL cannot read the sources: {said[0]}")
    return done.stdout
