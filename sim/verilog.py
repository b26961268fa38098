"""Verilog of a block by itself, for whoever wants to use it in a design of their own."""

import importlib.metadata
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cyclebound.sim.block import Block
from cyclebound.sim.elaborate import to_verilog
from cyclebound.sim.toolchain import child_environment, verilator

__all__ = ["WAIVED", "export", "lint", "module_name"]

WAIVED: dict[str, str] = {}


def module_name(block: Block) -> str:
    """The block's name as Verilog allows it."""
    return re.sub(r"\W", "_", block.name)


def export(block: Block, parameters: Mapping[str, object]) -> str:
    """The component with ``parameters`` as Verilog, the same text every time."""
    name = module_name(block)
    values = ", ".join(f"{key}={value!r}" for key, value in parameters.items()) or "none"
    header = (f"// {block.name}: {block.summary}\n// parameters: {values}\n"
              f"// made by cyclebound {importlib.metadata.version('cyclebound')} with amaranth "
              f"{importlib.metadata.version('amaranth')}\n\n")
    return header + _plain_names(to_verilog(block.make(parameters), name=name))


def _plain_names(text: str) -> str:
    """Names such as ``\\top.sub`` as plain ones, where that makes no two names equal."""
    plain = set(re.findall(r"\w+", text))
    for name in sorted(set(re.findall(r"\\(\S+) ", text))):
        new = re.sub(r"\W+", "_", name).strip("_")
        if new not in plain and not new[:1].isdigit():
            plain.add(new)
            text = text.replace(f"\\{name} ", f"{new} ")
    return text
