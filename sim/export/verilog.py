"""Verilog of a block by itself, to be used in another design.

From Amaranth's RTLIL to readable text, in steps that each have their file: yosys turns processes
into multiplexers and registers with resets and enables, `names` names, `cells`
makes widths explicit, `outputs` takes bits of ports apart, yosys writes Verilog,
`text` puts expressions together, and `ports` gives each field of a struct a port.
`check` proves what of this it can.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import CombinationalCycle, DriverConflict
from amaranth.lib import wiring

from cyclebound.golden.bound import NotCovered
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.toolchain import verilator
from cyclebound.sim.build.elaborate import SharedModules, run_yosys, to_rtlil
from cyclebound.sim.describe.block import Block
from cyclebound.sim.export.cells import explicit_widths
from cyclebound.sim.export.names import plain_name, plain_names
from cyclebound.sim.export.outputs import split_outputs
from cyclebound.sim.export.ports import Port, described, instance, ports_of_fields, shell
from cyclebound.sim.export.text import readable
from cyclebound.sim.judge.verdict import cycles_of
from cyclebound.sim.netlist.rtlil import Design, Wire
from cyclebound.sim.netlist.verilog_text import lines_of_head, modules, without_banner

__all__ = ["PRAGMAS", "Export", "export", "lint", "module_name", "warnings"]

PRAGMAS: Mapping[str, str] = {
    "DECLFILENAME": "all modules of the block are in one file, and only one can give it its name",
    "UNUSEDSIGNAL": "a struct goes to a module as a whole, also where it reads some of its fields",
}
"""Warnings that the text disables in Verilator, each with the reason. No others are disabled."""

# Registers get resets and enables, as a person would write them. `splitnets` is for tools that see
# vectors: bits of a struct of which one depends on another look like a loop to them. `-fine` drops
# comparisons with 0 that are always true or never.
_SCRIPT = ("read_rtlil top.il; {flat}proc; memory_collect; opt_clean -purge; opt_expr; opt_merge; "
           "opt_dff; pmuxtree; opt_clean -purge; opt_expr; opt_expr -fine t:$lt t:$ge t:$gt t:$le; "
           "opt_expr; splitnets -driver; opt_clean -purge; write_rtlil plain.il")
_CLOCKS = {"clk": "clock", "rst": "synchronous reset"}
_WIDTH = 97    # of a comment's text
_LONGEST = 200  # of a condition that tells a reader something


@dataclass(frozen=True)
class Export:
    """A block as Verilog, and what a tool has to know to place it.

    Attributes
    ----------
    name, core : str
        The module with a port for each field; the one with a port for each struct, which is the
        same module where the block has no structs.
    text : str
        The Verilog.
    rtlil : str
        What it was made from: the core as yosys reads it.
    ports : list of Port
    clocks : tuple of str
        ``clk`` and ``rst``, or neither.
    claims : list of dict
        What is claimed of its latencies, with ``cycles`` where that needs no more parameters.
    block, summary, parameters : str, str, mapping
        What it is.
    """

    name: str
    core: str
    text: str
    rtlil: str
    ports: list[Port]
    clocks: tuple[str, ...]
    claims: list[dict]
    block: str
    summary: str
    parameters: Mapping[str, object]

    @property
    def port_map(self) -> str:
        """All of this but the text, as JSON."""
        return json.dumps({
            "block": self.block, "module": self.name, "core": self.core,
            "parameters": {name: value if isinstance(value, int | str | None) else repr(value)
                           for name, value in self.parameters.items()},
            "clocks": list(self.clocks), "ports": [asdict(port) for port in self.ports],
            "claims": self.claims, "instance": instance(self.name, self.ports, self.clocks)},
            indent=2) + "\n"

    def fusesoc(self, verilog: str) -> str:
        """A core file (CAPI 2) for the Verilog in the file of that name, beside the core file."""
        family, _, block = self.block.partition(".")
        version = importlib.metadata.version("cyclebound")
        return (f"CAPI=2:\n\nname: cyclebound:{family}:{block}:{version}\n"
                f"description: {json.dumps(self.summary)}\n\n"
                f"filesets:\n  rtl:\n    files: [{json.dumps(verilog)}]\n"
                "    file_type: verilogSource\n\n"
                f"targets:\n  default: &default\n    filesets: [rtl]\n    toplevel: {self.name}\n"
                "  lint:\n    <<: *default\n    default_tool: verilator\n    tools:\n"
                "      verilator: {mode: lint-only, verilator_options: [-Wall]}\n"
                "  synth:\n    <<: *default\n    default_tool: yosys\n    tools:\n"
                "      yosys: {arch: ecp5}\n")


def module_name(block: Block) -> str:
    """The block's name as Verilog allows it."""
    return re.sub(r"\W", "_", block.name)


def export(block: Block, parameters: Mapping[str, object], name: str | None = None, *,
           flat: bool = False) -> Export:
    """The component with ``parameters`` as Verilog, the same text every time.

    ``flat``: one module, with all parts in it.

    All modules have names that begin with ``name``, the block's by default; so two configurations
    of a block, of different names, fit into one design. Raises `UserError` for a name that Verilog
    does not allow, and for what Amaranth finds wrong: a loop without a register, or a signal with
    two drivers.
    """
    if name is None:
        name = module_name(block)
    elif not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or plain_name(name) != name:
        raise UserError(f"a module's name must be a word of letters, digits and _ that begins with "
                        f"a letter and ends with none of _, and no keyword, not {name!r}")
    component = block.make(parameters)
    ports = ports_of_fields(component)
    _check_names(block, name, component, ports)
    says = described(component)
    core = name if all(port.name == port.member for port in ports) else f"{name}_core"
    try:
        rtlil = to_rtlil(component, name=core, shares=SharedModules(core))
    except (CombinationalCycle, DriverConflict) as error:
        raise UserError(f"{block.name}: {' '.join(str(error).split())}") from error
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "top.il").write_text(rtlil)
        run_yosys(_SCRIPT.format(flat="flatten; " * flat), Path(folder))
        design = Design.read((Path(folder) / "plain.il").read_text())
        made = plain_names(design)
        _without_empty(design)
        places = [*_CLOCKS, *dict.fromkeys(port.member for port in ports)]
        for port in design.modules[f"\\{core}"].ports.values():
            port.options[port.direction] = places.index(port.name[1:]) + 1
        explicit_widths(design)
        explicit = str(design)
        split_outputs(design)
        (Path(folder) / "explicit.il").write_text(str(design))
        run_yosys("read_rtlil explicit.il; write_verilog -noattr -norename top.v", Path(folder))
        text = (Path(folder) / "top.v").read_text()
    written = modules(readable(without_banner(text), made))
    top = written.pop(core)
    clocks = {clock: what for clock, what in _CLOCKS.items() if clock in top.inputs}
    outside = shell(name, core, ports, clocks, says) if core != name else ""
    claims = _claims(block, parameters)
    off = {code: f"/* verilator lint_off {code} */  // {why}\n" for code, why in PRAGMAS.items()}
    on = "".join(f"/* verilator lint_on {code} */\n" for code in PRAGMAS)
    text = "\n".join([_header(block, parameters, claims, name, core, ports, clocks),
                      off["DECLFILENAME"] + outside, off["UNUSEDSIGNAL"] + "\n".join(
                          module.text for module in (top, *written.values())) + on])
    return Export(name, core, text, explicit, ports, tuple(clocks), claims, block.name,
                  block.summary, parameters)


def _without_empty(design: Design) -> None:
    """Take out wires of no bits, which Verilog has not, and the pins of parts that are such."""
    for module in design.modules.values():
        module.items = [item for item in module.items
                        if not (isinstance(item, Wire) and item.width == 0)]
    ports = {name: {port[1:] for port in module.ports} for name, module in design.modules.items()}
    for module in design.modules.values():
        for cell in module.cells:
            if cell.kind in ports:
                cell.ports = {pin: signal for pin, signal in cell.ports.items()
                              if pin in ports[cell.kind]}


def _check_names(block: Block, module: str, component: wiring.Component,
                 ports: list[Port]) -> None:
    """Raises `UserError` for two ports that would have one name in Verilog."""
    fields = [(port.name, port.path) for port in ports]
    members = [(plain_name("__".join(map(str, path))), ".".join(map(str, path)))
               for path, _, _ in component.signature.flatten(component)]
    for named in (fields, members):
        taken = {module: "the module", **{clock: f"the {what}" for clock, what in _CLOCKS.items()}}
        for name, path in named:
            if name in taken:
                raise UserError(f"{block.name}: {taken[name]} and port {path} would both be called "
                                f"{name} in Verilog; name the port otherwise")
            taken[name] = f"port {path}"


def _claims(block: Block, parameters: Mapping[str, object]) -> list[dict]:
    """The claims, in cycles or with the parameters that they need."""
    rows = []
    for observed in block.bounds:
        row: dict[str, Any] = {
            "claim": observed.bound.kind, "name": observed.bound.name, "of": observed.what,
            "formula": observed.bound.formula, "source": observed.bound.source,
            "environment": observed.bound.environment, "value": None, "needs": None,
            "unit": observed.probe.counts if observed.probe else "cycles",
            "first": observed.probe.start if observed.probe else None,
            "last": observed.probe.end if observed.probe else None}
        try:
            row["value"] = cycles_of(observed.bound, parameters)
        except NotCovered as error:
            row["needs"] = str(error).removeprefix(f"bound {observed.bound.name} ")
        except UserError:  # what it needs cannot be imported
            raise
        except Exception as error:  # a mistake in the formula, which may be the user's own
            row["needs"] = f"{type(error).__name__}: {error}"
        rows.append(row)
    return rows


def _comment(text: str, indent: str = "") -> str:
    return "\n".join(f"// {line}" for line in textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  "))


def _header(block: Block, parameters: Mapping[str, object], claims: list[dict], name: str,
            core: str, ports: list[Port], clocks: Iterable[str]) -> str:
    """The comment at the head of the file."""
    values = ", ".join(f"{key}={value!r}" for key, value in parameters.items()) or "none"
    lines = [_comment(f"{block.name}: {block.summary}"), _comment(f"parameters: {values}"),
             (f"// made by cyclebound {importlib.metadata.version('cyclebound')} with amaranth "
              f"{importlib.metadata.version('amaranth')}"), "//"]
    for row in claims:
        value = (f"{row['value']:,} {row['unit']}" if row["value"] is not None and
                 row["claim"] != "rate" else str(row["value"]) if row["value"] is not None else
                 row["needs"])
        lines.append(_comment(f"{row['claim']} {row['name']} ({row['of']}): {value}"))
        lines.append(_comment(f"{row['formula']} [{row['source']}]", "  "))
        if row["first"] and len(row["first"] + row["last"]) < _LONGEST:
            lines.append(_comment(f"from {row['first']} to {row['last']}, both included", "  "))
        if row["environment"]:
            lines.append(_comment(f"environment: {row['environment']}", "  "))
    if core != name:
        lines += ["//", _comment(f"{name} has a port for each field of a struct; {core} has one "
                                 "for each struct, first field lowest.")]
    lines += ["//", *(f"// {line}" for line in instance(name, ports, clocks).splitlines()), ""]
    return "\n".join(lines)


def lint(made: Export, unused_inputs: Iterable[str] = ()) -> list[str]:
    """Verilator's warnings about this Verilog, one line each.

    Everything that it says of the text as it stands; and input ports of the block that nothing
    reads, of which the text tells it to be silent.

    ``unused_inputs``: ports that are known not to be read.
    """
    quoted = [f"'{port}'" for port in unused_inputs]
    said = warnings(made.text, made.name)
    every = re.sub(r"/\* verilator lint_o\w+ UNUSEDSIGNAL \*/", "", made.text)
    said += [line for line in warnings(every, made.name)
             if line.startswith("UNUSEDSIGNAL") and _of_port(line, every, made.core)
             and not any(port in line for port in quoted)]
    return list(dict.fromkeys(said))


def warnings(text: str, top: str) -> list[str]:
    """All that ``verilator --lint-only -Wall`` prints."""
    tool = verilator()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{top}.v").write_text(text)
        done = subprocess.run(
            [str(tool.binary), "--lint-only", "-Wall", "--top-module", top, f"{top}.v"],
            cwd=folder, env={**os.environ, "VERILATOR_ROOT": str(tool.root)},
            capture_output=True, text=True)
    matches = re.findall(r"^%(?:Warning|Error)(?:-(\w+))?: (.*)", done.stderr, re.MULTILINE)
    said = [f"{code or 'ERROR'}: {words}" for code, words in matches
            if not words.startswith("Exiting due to")]
    return said or ([done.stderr.strip()] if done.returncode else [])


def _of_port(said: str, text: str, module: str) -> bool:
    """Whether a warning is about a port of this module."""
    line = re.match(r"\w+: [^:]+:(\d+):", said)
    return line is not None and int(line[1]) in lines_of_head(text, module)
