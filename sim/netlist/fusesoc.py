"""FuseSoC's core files (CAPI 2) as lists of sources."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from cyclebound.sim.base.errors import UserError

__all__ = ["CORE", "read_core"]

CORE = ".core"
"""The ending of core files."""
_HARDWARE = ("verilogSource", "systemVerilogSource", "vhdlSource", "mem", "user")


def read_core(text: str, where: Path) -> tuple[str, list[str], list[str]]:
    """A core's name without its version, those of the cores that it depends on, and the words of a
    list of its target ``default``: what `cyclebound.sim.netlist.source_files` reads.

    Paths are absolute. Raises `UserError` for what is no core, and for what only FuseSoC can
    decide: conditions, and files that a generator makes.
    """
    try:
        core = yaml.safe_load(re.sub(r"\ACAPI=2:[^\n]*\n", "", text))
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{where}: it is no YAML: {' '.join(str(error).split())[:200]}") from None
    target = _in(_in(core, "targets", where), "default", where)
    filesets, parameters = _in(core, "filesets", where), core.get("parameters") or {}
    if target.get("generate"):
        raise UserError(f"{where}: target default generates files, which only FuseSoC can do")
    words: list[str] = []
    depends: list[str] = []
    for name in (*target.get("filesets", ()), *target.get("filesets_append", ())):
        fileset = _in(filesets, _plain(name, where), where)
        depends += [_vlnv(_plain(other, where)) for other in fileset.get("depend") or ()]
        words += _files(fileset, where)
    for name in target.get("parameters") or ():
        macro, _, given = _plain(name, where).partition("=")
        about = _in(parameters, macro, where)
        value = given or about.get("default")
        if about.get("paramtype") == "vlogdefine" and value is not None:
            words += ["-D", f"{macro}={int(value) if isinstance(value, bool) else value}"]
    return _vlnv(str(core.get("name", ""))), depends, words


def _files(fileset: Mapping[str, Any], where: Path) -> Iterator[str]:
    """The words for the files of a set that are hardware."""
    for entry in fileset.get("files") or ():
        name, more = next(iter(entry.items())) if isinstance(entry, dict) else (entry, {})
        path = where.parent / _plain(name, where)
        more = {**fileset, **(more or {})}
        if not str(more.get("file_type", "user")).startswith(_HARDWARE):
            continue
        if more.get("is_include_file"):
            yield from ("-I", str(where.parent / more["include_path"] if more.get("include_path")
                                  else path.parent))
        else:
            yield from ("-work", str(more.get("logical_name") or "work"), str(path))


def _in(of: object, name: str, where: Path) -> dict[str, Any]:
    """A part of a core that is a mapping."""
    part = of.get(name) if isinstance(of, dict) else None
    if not isinstance(part, dict):
        raise UserError(f"{where}: a core has {name}, a mapping, where this one has {part!r}")
    return part


def _plain(text: object, where: Path) -> str:
    """A text without a condition."""
    if not isinstance(text, str) or "?" in text:
        raise UserError(f"{where}: {text!r} is not understood: only FuseSoC knows its conditions")
    return text


def _vlnv(text: str) -> str:
    """Vendor, library and name of a core."""
    return ":".join(re.sub(r"^[<>=^~ ]+", "", text).split(":")[:3])
