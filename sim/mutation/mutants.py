"""Mutants of a block's netlist, made by yosys' ``mutate`` pass: all that are chosen in one design.

Only the block is mutated: the packed buses around it and its bound checker (`FlatTop`) are not. A
mutation names a cell by its place among the cells of its module, because the block is part of
several designs (a simulation, a proof, a check of equivalence), and names differ from one to
another. That the cells are the same in each, of the same lines of the RTL, is checked.
"""

import itertools
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import amaranth

import cyclebound.sim
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.netlist import verilog_module
from cyclebound.sim.netlist.rtlil import Design
from cyclebound.sim.netlist.yosys import yosys_command
from cyclebound.sim.proof.prove import run_tool, yosys_environment

__all__ = ["SELECT", "Mutation", "Netlist", "run_yosys"]

SELECT = "mutant"
"""The input of a mutated design's top that selects a mutant; 0 is the block as it is."""
_CLOCKS = {"clk", "CLK", "RD_CLK", "WR_CLK"}
_CONSTANT = {"meminit", "meminit_v2"}  # what a memory begins with cannot depend on an input
# Amaranth's memories have none, and yosys refuses those that are not constant where a read is
# asynchronous; such a read is always enabled
_READ_RESETS = {"ARST", "SRST"}
# yosys keeps a register's first value with the signal at its output, and a mutation there would
# part the two; the register's input and reset, and whatever reads it, are mutated
_REGISTERS = {"dff", "dffe", "sdff", "sdffe", "sdffce", "adff", "adffe", "aldff", "aldffe",
              "dffsr", "dffsre"}
_MODES = {"inv": "is inverted", "const0": "is stuck at 0", "const1": "is stuck at 1",
          "cnot0": "is inverted while {} is 0", "cnot1": "is inverted while {} is 1"}
_NAMED = {"MEMID"}  # parameters that are names
# A port that Amaranth makes where modules share a signal that none of them names: it is numbered
# anew in each design. What is mutated is the signal's driver and its readers inside.
_NUMBERED = "port$"
_LIMIT = 1800.0  # seconds for one run of yosys
_BLOCK = "top.dut"  # the block in every top; modules inside it begin with this and a dot
_GLUE = f"{verilog_module.__file__}:"
_ROOTS = (Path(amaranth.__file__).parents[1], Path(cyclebound.sim.__file__).parents[1])


_Cell = tuple[str, str, tuple[str, ...]]  # name, kind, and what tells it from others


@dataclass(frozen=True)
class Mutation:
    """One change of a netlist.

    Attributes
    ----------
    number : int
        From 1: the value of `SELECT` that brings it about.
    module : str
        The module's name in RTLIL.
    cell : int
        The cell's place among those of its module.
    options : str
        Mode, port and bits, as yosys' ``mutate`` takes them.
    says : str
        What it does, in words.
    source : str
        The file and line of the RTL that its cell comes from; empty if there is none.
    """

    number: int
    module: str
    cell: int
    options: str
    says: str
    source: str


def run_yosys(script: str, folder: Path) -> str:
    """Run a script in ``folder``; returns what it printed. Raises `UserError`."""
    (folder / "script.ys").write_text(script)
    status, text = run_tool([*yosys_command(), "script.ys"], folder, yosys_environment(), _LIMIT)
    if status is None:
        raise UserError(f"yosys was stopped after {_LIMIT:g} s")
    if status != 0:
        errors = [line for line in text.splitlines() if "ERROR" in line] or text.splitlines()
        raise UserError(f"yosys failed: {' '.join(errors[-1:]).strip()}")
    return text


class Netlist:
    """A design with a block in it, as cells and registers.

    Parameters
    ----------
    rtlil : str
        The design, with module ``top`` and the block in it as ``dut``. Cells have their lines.
    folder : Path
        For what yosys reads and writes.
    like : Netlist or None
        Another design with the same block, whose mutations are to be made here.

    Attributes
    ----------
    text : str
        The netlist, as RTLIL.
    """

    def __init__(self, rtlil: str, folder: Path, *, like: "Netlist | None" = None) -> None:
        self._folder = folder
        (folder / "design.il").write_text(rtlil)
        run_yosys("read_rtlil design.il\nhierarchy -check -top top\nproc\nopt_clean\n"
                  "write_rtlil netlist.il\n", folder)
        self.text = (folder / "netlist.il").read_text()
        self._design = Design.read(self.text)
        self._cells = _cells(self._design)
        if like is not None and {module: [cell[1:] for cell in cells] for module, cells
                                 in self._cells.items()} != {
                module: [cell[1:] for cell in cells] for module, cells in like._cells.items()}:
            raise ValueError("the block must have the same cells in both designs")

    def mutations(self, count: int, seed: int) -> list[Mutation]:
        """Up to ``count`` mutations, evenly spread over lines, cells and bits of their ports.

        Clocks, and constants that no hardware has instead, are not mutated, nor is what connects a
        user's module in Verilog to Amaranth. There are fewer where the netlist has fewer. Of one
        seed, those of a smaller count are the first of those of a greater one.
        """
        lines, cells = (_evenly(self._all(), levels, random.Random(seed)) for levels in (
            (lambda mutant: mutant.source, *_WHERE), _WHERE))
        # cells without a line would count as one; lines with many cells would count for many
        chosen = dict.fromkeys(itertools.chain.from_iterable(zip(lines, cells, strict=True)))
        return [replace(mutant, number=number) for number, mutant in enumerate(
            itertools.islice(chosen, count), 1)]

    def _all(self) -> list[Mutation]:
        """All possible mutations, in the netlist's order, without numbers.

        yosys would choose as well, and takes hours to choose half of some ten thousand.
        """
        (self._folder / "netlist.il").write_text(self.text)
        # those of clocks, registers' outputs and memories' contents are listed and left out
        run_yosys("read_rtlil netlist.il\nselect -none\n"
                  + "".join(f"select -add {module}\n" for module in self._cells)
                  + "mutate -list 0 -o list.txt\n", self._folder)
        places = {(module, cell[0]): (place, cell) for module, cells in self._cells.items()
                  for place, cell in enumerate(cells)}
        clocks = _clocks(self._design)
        glue = {module for module, cells in self._cells.items()
                if any(_GLUE in source for _, _, (source, *_) in cells)}
        mutations: list[Mutation] = []
        for line in dict.fromkeys((self._folder / "list.txt").read_text().splitlines()):
            options, _, source = line.removeprefix("mutate ").partition(" -src ")
            options, _, wire = options.partition(" -wire ")
            fields = dict(re.findall(r"-(\w+) (\S+)", options))
            module = fields["module"]
            place, cell = places[module, fields["cell"]]
            clocked = (wire.split(" ")[0] in clocks.get(module, _CLOCKS)
                       or fields["port"] in clocks.get(cell[1], ()))
            if module in glue or clocked or _is_fixed(cell, fields["port"]):
                continue
            other = f"bit {fields['ctrlbit']} of it" if "ctrlbit" in fields else ""
            signal = f", signal {wire.replace(' -wirebit ', '[')}]" if wire else ""
            says = (f"{module.removeprefix('top.')}: {cell[1]} {fields['cell']}, port "
                    f"{fields['port']}[{fields['portbit']}]{signal} "
                    f"{_MODES[fields['mode']].format(other)}")
            mutations.append(Mutation(0, module, place, " ".join(
                f"-{name} {fields[name]}" for name in ("mode", "port", "portbit", "ctrlbit")
                if name in fields), says, _line(source)))
        return mutations

    def command(self, mutation: Mutation) -> str:
        """The words that have yosys make the mutation here."""
        name = self._cells[mutation.module][mutation.cell][0]
        return f"{mutation.options} -module {mutation.module} -cell {name}"

    def selectable(self, mutations: Iterable[Mutation]) -> str:
        """The RTLIL with each mutation in it.

        The one whose number is on the top's new input `SELECT` is in force.
        """
        mutations = list(mutations)
        width = max((mutation.number for mutation in mutations), default=1).bit_length()
        return self._made("".join(
            f"mutate -ctrl {SELECT} {width} {mutation.number} {self.command(mutation)}\n"
            for mutation in mutations))

    def mutated(self, mutation: Mutation) -> str:
        """The RTLIL with one mutation in it."""
        return self._made(f"mutate {self.command(mutation)}\n")

    def _made(self, commands: str) -> str:
        (self._folder / "netlist.il").write_text(self.text)
        run_yosys(f"read_rtlil netlist.il\n{commands}write_rtlil made.il\n", self._folder)
        return (self._folder / "made.il").read_text()


def _is_fixed(cell: _Cell, port: str) -> bool:
    """Whether no mutation of the design can be at this port of a cell."""
    _, kind, parameters = cell
    if kind == "memrd_v2" and port in _READ_RESETS | {"EN"}:
        asynchronous = parameters[parameters.index("CLK_ENABLE") + 1] == "0"
        return port in _READ_RESETS or asynchronous
    return (port in _CLOCKS or port.startswith(_NUMBERED) or kind in _CONSTANT
            or (port == "Q" and kind in _REGISTERS))


_Level = Callable[[Mutation], object]
_WHERE: tuple[_Level, ...] = (  # the cell, the bit of its port, and how that is changed
    lambda mutant: (mutant.module, mutant.cell),
    lambda mutant: tuple(mutant.options.split()[3:6:2]), lambda mutant: mutant.options.split()[1])


def _evenly(items: Sequence[Mutation], levels: Sequence[_Level], rng: random.Random
            ) -> list[Mutation]:
    """All items, in an order whose every beginning has about as many of each group.

    ``levels`` give an item's group, its group inside that, and so on.
    """
    groups: dict[object, list[Mutation]] = {}
    for item in items:
        groups.setdefault(levels[0](item) if levels else item, []).append(item)
    ordered = [_evenly(group, levels[1:], rng) if levels else group for group in groups.values()]
    rng.shuffle(ordered)
    return [item for turn in itertools.zip_longest(*ordered) for item in turn if item is not None]


def _cells(design: Design) -> dict[str, list[_Cell]]:
    """The cells of each of the block's modules."""
    return {name[1:]: [(cell.name.removeprefix("\\"), cell.kind.lstrip("$\\"), (
        cell.attributes.get("\\src", ""), *itertools.chain(*(
            item for item in cell.parameters.items() if item[0] not in _NAMED))))
        for cell in module.cells] for name, module in design.modules.items()
        if name[1:] == _BLOCK or name[1:].startswith(f"{_BLOCK}.")}


def _clocks(design: Design) -> dict[str, set[str]]:
    """The signals of each module that clock registers, in it or in a module inside it."""
    clocks = {name[1:]: {*_CLOCKS} for name in design.modules}
    placed: list[tuple[str, str, str, str]] = []  # module, module inside it, its port, signal
    for name, module in design.modules.items():
        for cell in module.cells:
            for port, signal in cell.ports.items():
                if cell.kind[0] == "\\":
                    placed.append((name[1:], cell.kind[1:], port, signal.removeprefix("\\")))
                elif port in _CLOCKS:
                    clocks[name[1:]].add(signal.removeprefix("\\"))
    before = -1
    while before != (before := sum(map(len, clocks.values()))):
        for outer, inside, port, signal in placed:
            if port in clocks.get(inside, ()):
                clocks[outer].add(signal)
    return clocks


def _line(source: str) -> str:
    """A file and line without the folders in front of it that are this machine's."""
    source = source.partition(" -src ")[0].partition("|")[0].strip()
    path, _, number = source.rpartition(":")
    for root in _ROOTS:
        if path and Path(path).is_relative_to(root):
            return f"{Path(path).relative_to(root)}:{number}"
    return f"{Path(path).name}:{number}" if path else ""
