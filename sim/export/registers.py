"""A register table as SystemRDL, IP-XACT, a C header and a driver in Python.

The templates lie beside this file.

Ref: SystemRDL; IP-XACT.
"""

import importlib.metadata
import json
import re
from collections.abc import Mapping
from pathlib import Path

import jinja2

from cyclebound.golden.register_table import RegisterField, RegisterRow, RegisterTable
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.export.verilog import Export

__all__ = ["FILES", "register_files"]

FILES: Mapping[str, str] = {".rdl": "registers.rdl.j2", ".xml": "registers.xml.j2",
                            "_registers.h": "registers.h.j2", "_driver.py": "registers.py.j2"}
"""How the files' names end, after the module's name, and the template of each."""
_AXI = re.compile(r"(\w+_axil)_((?:aw|ar|w|b|r)\w+)")


def register_files(made: Export, table: RegisterTable, verilog: str) -> dict[str, str]:
    """The files' texts, by name. ``verilog``: the exported file, as seen from theirs.

    Raises `UserError` if the block has no AXI4-Lite ports.
    """
    axi = {port.name: match for port in made.ports if (match := _AXI.fullmatch(port.name))}
    if not axi:
        raise UserError(f"registers need AXI4-Lite ports (s_axil_awaddr); {made.block} has none")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
        autoescape=lambda name: name is not None and name.endswith(".xml.j2"))
    environment.filters |= {"camel": _camel, "quoted": lambda text: json.dumps(
        text, ensure_ascii=False), "argument": _argument}
    return {f"{made.name}{suffix}": environment.get_template(template).render(
        made=made, table=table, verilog=verilog, numbers=_numbers(table),
        version=importlib.metadata.version("cyclebound"), upper=made.name.upper(),
        bus=next(iter(axi.values()))[1], logical={name: match[2].upper()
                                                  for name, match in axi.items()},
        space=1 << next(port.width for port in made.ports if port.name.endswith("_axil_awaddr")),
        enums=[(row, one) for row in table.rows for one in row.fields if one.values])
        for suffix, template in FILES.items()}


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.removesuffix("_VALUE").split("_"))


def _argument(pair: tuple[RegisterRow, RegisterField]) -> str:
    """What a field is called where a command takes it."""
    row, one = pair
    return (row if len(row.fields) == 1 else one).name.lower()


def _numbers(table: RegisterTable) -> dict[str, RegisterRow]:
    """Numbers of two registers, by their name in small letters, with the lower register."""
    names = {row.name for row in table.rows}
    return {row.name.removesuffix("_LOW").lower(): row for row in table.rows
            if row.name.endswith("_LOW") and f"{row.name.removesuffix('_LOW')}_HIGH" in names}
