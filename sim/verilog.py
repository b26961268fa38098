"""Verilog of a block by itself, for whoever wants to use it in a design of their own."""

import importlib.metadata
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from amaranth.hdl import CombinationalCycle, DriverConflict

from cyclebound.sim.block import Block
from cyclebound.sim.elaborate import EXPORT_SCRIPT, SharedModules, simulation_verilog, to_rtlil
from cyclebound.sim.errors import UserError
from cyclebound.sim.toolchain import verilator

__all__ = ["WAIVED", "export", "lint", "module_name"]

# What Verilator says about any Verilog that yosys writes, and why it is no fault of the block.
# Not waived, among others: LATCH, UNDRIVEN, MULTIDRIVEN, UNOPTFLAT (a loop without a register),
# BLKSEQ, CASEINCOMPLETE, SYNCASYNCNET.
WAIVED: Mapping[str, str] = {
    "CASEOVERLAP": "yosys turns a switch over a state into a choice by one-hot comparisons, whose "
                   "patterns leave out that the others are 0",
    "DECLFILENAME": "the file holds all modules of the block, and only one can give it its name",
    "PROCASSINIT": "registers have both an initial value and a reset to it: FPGAs start with the "
                   "one, and the other is for later",
    "VARHIDDEN": "yosys writes a choice among many as a function, whose arguments it calls a, b "
                 "and s, as signals may be called",
    "UNUSEDSIGNAL": "yosys names each intermediate result, its carry bits and the fields of each "
                    "struct, read or not; still reported for ports of the top module",
    "WIDTHTRUNC": "yosys tests vectors with `!`; Amaranth has worked out each width itself",
    "WIDTHEXPAND": "yosys leaves the extension of narrower operands to Verilog's rules, which "
                   "are those by which Amaranth has worked out the widths",
}


def module_name(block: Block) -> str:
    """The block's name as Verilog allows it."""
    return re.sub(r"\W", "_", block.name)


def export(block: Block, parameters: Mapping[str, object]) -> str:
    """The component with ``parameters`` as Verilog, the same text every time.

    Raises `UserError` for what Amaranth finds wrong: a loop without a register, or a signal with
    two drivers.
    """
    name = module_name(block)
    values = ", ".join(f"{key}={value!r}" for key, value in parameters.items()) or "none"
    header = (f"// {block.name}: {block.summary}\n// parameters: {values}\n"
              f"// made by cyclebound {importlib.metadata.version('cyclebound')} with amaranth "
              f"{importlib.metadata.version('amaranth')}\n\n")
    try:
        rtlil = to_rtlil(block.make(parameters), name=name, shares=SharedModules(name))
    except (CombinationalCycle, DriverConflict) as error:
        raise UserError(f"{block.name}: {' '.join(str(error).split())}") from error
    with tempfile.TemporaryDirectory() as folder:
        text = simulation_verilog(rtlil, Path(folder), EXPORT_SCRIPT).read_text()
    return header + _plain_names(re.sub(r"\A/\*.*?\*/\s*", "", text))


def _plain_names(text: str) -> str:
    """Names such as ``\\top.sub`` and ``\\$1`` as plain ones, where no two names become equal."""
    taken = set(re.findall(r"\w+", text))
    plain: dict[str, str] = {}
    for name in sorted(set(re.findall(r"\\(\S+) ", text))):
        new = re.sub(r"\W+", "_", name).strip("_")
        new = f"n{new}" if new[:1].isdigit() else new
        if new and new not in taken:
            taken.add(new)
            plain[name] = new
    return re.sub(r"\\(\S+) ", lambda found: plain.get(found[1], f"\\{found[1]} "), text)


def lint(text: str, top: str, unread: Iterable[str] = ()) -> list[str]:
    """What Verilator has to say against this Verilog, other than `WAIVED`; one line each.

    ``unread``: ports of the top module that are known not to be read.
    """
    known = [f"'{port}'" for port in unread]
    tool = verilator()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{top}.v").write_text(text)
        done = subprocess.run(
            [str(tool.binary), "--lint-only", "-Wall", "--top-module", top, f"{top}.v"],
            cwd=folder, env={**os.environ, "VERILATOR_ROOT": str(tool.root)},
            capture_output=True, text=True)
    found = re.findall(r"^%(?:Warning|Error)(?:-(\w+))?: (.*)", done.stderr, re.MULTILINE)
    said = [f"{code or 'ERROR'}: {words}" for code, words in found
            if not words.startswith("Exiting due to") and
            (code not in WAIVED or (code == "UNUSEDSIGNAL" and _of_port(words, text, top)
                                     and not any(port in words for port in known)))]
    return said or ([done.stderr.strip()] if done.returncode and not found else [])


def _of_port(words: str, text: str, top: str) -> bool:
    """Whether a warning is about a port of the top module."""
    body = re.search(rf"^module {re.escape(top)}\b.*?^endmodule", text, re.DOTALL | re.MULTILINE)
    ports = re.findall(r"^\s*(?:input|output)\b.*?(\w+)\s*;", body[0] if body else "", re.MULTILINE)
    line = re.match(r"[^:]+:(\d+):", words)
    inside = body and line and (
        text.count("\n", 0, body.start()) < int(line[1]) <= 1 + text.count("\n", 0, body.end()))
    return bool(inside) and any(f"'{port}'" in words for port in ports)
