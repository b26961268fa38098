"""A proof that exported Verilog is the hardware that it was made from.

Both are read by yosys: the RTLIL from before expressions were put together, and the text. Each
module of the text is compared with the module of that name. What stands in it as a part, another
module or a memory, must have the same name and kind in both; the proof shows that it gets the same
inputs, and takes its outputs to be the same. (Where a memory's reads see the word just written,
yosys' own Verilog of the source stands for it.) Registers have the same names in both, so that what
remains is the logic between them, by structure where that is equal, else by a solver, and then by
induction. A register shows its initial value in any cycle that a free input calls the first, so
that initial values are compared too; those of memories, and how their ports behave, are part of
their kind.

The step before, `explicit_widths`, is proved by itself for all kinds of cells
(``tests/sim/test_verilog_cells.py``). The shell around the core only sorts wires and is not in this
proof; `compare` simulates through it, beside the source.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import package
from cyclebound.sim.build.elaborate import OutOfTimeError, run_yosys
from cyclebound.sim.export.verilog import Export
from cyclebound.sim.netlist.link import run_in
from cyclebound.sim.netlist.rtlil import Bits, Cell, Connect, Design, Item, Module, Wire
from cyclebound.sim.netlist.system_verilog import complaint
from cyclebound.sim.netlist.yosys import PACKAGE

__all__ = ["Checked", "check_equivalent"]

# A write under a condition has an address that is x otherwise: that may be any, and is taken to be
# the one that is written. With equal addresses, what writes parts of a word is one port.
_READ = """{read}
hierarchy -check -top {top}
proc
opt_expr
opt_expr -mux_undef w:$*memwr* %ci*:+[Y] t:$mux %i
opt_clean
memory_collect
memory_nordff
memory_share -nosat -nowiden
opt_mem
opt_expr
opt_clean
dffunmap
opt_clean
write_rtlil {name}.il
design -reset
"""
_COMPARE = """read_rtlil gold.il
read_rtlil gate.il
async2sync
equiv_make gold gate both
hierarchy -top both
opt_clean
{before}equiv_simple -undef both
equiv_induct -undef both
equiv_status -assert both
"""
_SOURCE = "read_rtlil source.il"
# A read that sees the word just written is part of the memory in the source, and beside it in any
# Verilog: then the source is as yosys itself writes it.
_WRITTEN = (f"{_SOURCE}\nwrite_verilog -noattr -norename written.v\ndesign -reset\n"
            "read_verilog written.v")
# Cells that look alike are taken to be, which is quick, and too much where they are not and nothing
# depends on it: then everything is left to the solver.
_BEFORE = ("equiv_struct -icells both\n", "")
_FIRST = "\\is.first.cycle"  # no name in Verilog has a dot, and a part's pin has one


@dataclass(frozen=True)
class Checked:
    """Modules of an export that are proved, and those that took more time than they had."""

    proved: tuple[str, ...]
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        whole = len(self.proved) + len(self.left)
        return (f"proved equal to its source, {whole} of {whole} modules" if not self.left else
                f"{len(self.proved)} of {whole} modules proved equal to their sources; not "
                f"{', '.join(self.left)}")


def check_equivalent(made: Export, seconds: int | None = None) -> Checked:
    """What is proved of the core's Verilog; a proof of two equal pairs of modules is made once.

    Each module has ``seconds`` of CPU, or as many as it takes. Raises `UserError` where one is not
    proved equal to what it was made from.
    """
    try:
        with tempfile.TemporaryDirectory() as name:
            return _check(made, Path(name), seconds)
    except (RuntimeError, _DifferentError) as error:
        raise UserError(f"{made.block}: the Verilog is not proved equal to its source: "
                        f"{str(error)[-300:]}") from error


class _DifferentError(Exception):
    """The two differ in a way that needs no solver."""


def _check(made: Export, folder: Path, seconds: int | None) -> Checked:
    (folder / "source.il").write_text(made.rtlil)
    (folder / "source.v").write_text(made.text)
    _read_by_another(made.core, folder)
    gold, gate = _sides(made.core, folder, gold=_SOURCE, gate="read_verilog source.v")
    written: dict[str, _Opened] | None = None
    if gold.keys() != gate.keys():
        raise _DifferentError(f"modules {sorted(gold.keys() ^ gate.keys())} are only in one")
    left = []
    for name, module in gold.items():
        try:
            try:
                _compare(name, module, gate[name], seconds)
            except _DifferentError:
                if not module.memory:
                    raise
                if written is None:
                    [written] = _sides(made.core, folder, gold=_WRITTEN)
                _compare(name, written[name], gate[name], seconds)
        except OutOfTimeError:
            left.append(name)
    return Checked(tuple(name for name in gold if name not in left), tuple(left))


def _read_by_another(top: str, folder: Path) -> None:
    """Raises `_DifferentError` where slang, which keeps to the standard, refuses the text: yosys
    takes more than Verilog is, and would prove that."""
    status, said = run_in(folder, f"read_slang --top {top} source.v")
    if status:
        raise _DifferentError(f"slang does not read it: {complaint(said)}")


def _sides(top: str, folder: Path, **reads: str) -> "list[dict[str, _Opened]]":
    """The modules of source and text, by their names."""
    run_yosys("".join(_READ.format(read=read, top=top, name=name)
                      for name, read in reads.items()), folder)
    return [_opened((folder / f"{name}.il").read_text()) for name in reads]


def _compare(name: str, gold: "_Opened", gate: "_Opened", seconds: int | None) -> None:
    """Raises `_DifferentError` where two modules are not proved equal, and `OutOfTimeError`."""
    if gold.parts != gate.parts:
        raise _DifferentError(f"the parts of {name} differ: " + ", ".join(
            f"{part}: {kind}" for part, kind in sorted(gold.parts.items() ^ gate.parts.items())))
    sides = {side: f"module \\{side}\n{opened.text}end\n"
             for side, opened in (("gold", gold), ("gate", gate))}

    def prove(folder: Path) -> None:
        for side, text in sides.items():
            (folder / f"{side}.il").write_text(text)
        for before in _BEFORE:
            try:
                run_yosys(_COMPARE.format(before=before), folder, seconds)
                break
            except RuntimeError as error:
                if before == _BEFORE[-1]:
                    said = str(error).removeprefix("yosys cannot write Verilog: ")
                    raise _DifferentError(f"module {name}: {said[-200:]}") from error
        for side in sides:
            (folder / f"{side}.il").unlink()

    # blocks are made of modules of other blocks, and configurations of those of others
    find_or_make("verilog-equal", key_of(_COMPARE, _BEFORE, sides, package(PACKAGE)), prove)


@dataclass
class _Opened:
    """A module whose parts are taken out: their inputs are outputs of it, their outputs inputs."""

    text: str
    parts: dict[str, str]
    memory: bool


def _opened(text: str) -> dict[str, _Opened]:
    """Each module by its name."""
    design = Design.read(text)
    ports = {name[1:]: {port[1:]: (wire.width, wire.direction) for port, wire
                        in module.ports.items()} for name, module in design.modules.items()}
    return {name[1:]: _opened_module(module, ports) for name, module in design.modules.items()}


def _opened_module(module: Module, ports: dict[str, dict[str, tuple[int, str]]]) -> _Opened:
    parts: dict[str, str] = {}
    pins: list[tuple[str, int, str, str]] = []
    masks: list[Item] = []  # words to be written, with zeros for bits that are not
    taken = {cell.name: cell for cell in module.cells
             if cell.kind[0] == "\\" or cell.kind == "$mem_v2"}
    for cell in taken.values():
        kind, name, signals = cell.kind[1:], cell.name, cell.ports
        if kind == "mem_v2":
            kind, widths = _memory(cell.parameters)
            if width := widths["WR_DATA"][0]:
                written = f"{name}.written"
                masks += [Wire(written, {"width": width}), Cell(f"${written[1:]}$cell", "$and", {
                    "A_SIGNED": "0", "B_SIGNED": "0",
                    **dict.fromkeys(("A_WIDTH", "B_WIDTH", "Y_WIDTH"), str(width))},
                    {"A": signals["WR_EN"], "B": signals["WR_DATA"], "Y": written})]
                signals["WR_DATA"] = written
        else:
            widths = ports[kind]
            if missing := widths.keys() ^ signals.keys():
                raise _DifferentError(f"{name[1:]} has pins {sorted(missing)} in one place only")
        parts[name] = kind
        pins += [(f"{name}.{pin}", width, direction, signals[pin])
                 for pin, (width, direction) in widths.items() if width]
    module.items = [item for item in module.items
                    if not (isinstance(item, Cell) and item.name in taken)] + masks
    edges = _show_first_cycle(module)
    parts.update({f"registers at {edge} {signal}": "" for signal, edge in edges})
    for number, (name, width, direction, signal) in enumerate(pins, len(module.ports) + 1):
        flipped = "input" if direction == "output" else "output"
        both = (signal, name) if direction == "output" else (name, signal)
        module.items += [Wire(name, {"width": width, flipped: number}), Connect(*both)]
    for item in module.items:
        item.attributes = {}
    return _Opened("".join(map(str, module.items)), parts,
                   any(cell.kind == "$mem_v2" for cell in taken.values()))


def _memory(parameters: dict[str, str]) -> tuple[str, dict[str, tuple[int, str]]]:
    """A memory's kind, all that it is but its name, and its pins.

    Read ports have no clock: a command of the script has made a register of it.
    """
    parameters.pop("MEMID")
    if "1" in parameters["RD_CLK_ENABLE"].partition("'")[2]:
        raise _DifferentError("a memory is read with a clock")
    parameters.pop("RD_CLK_POLARITY")
    kind = hashlib.sha256(repr(sorted(parameters.items())).encode()).hexdigest()[:16]
    width, address, reads, writes = (int(parameters[name]) for name in (
        "WIDTH", "ABITS", "RD_PORTS", "WR_PORTS"))
    return f"memory of {parameters['SIZE']} x {width} ({kind})", {
        "RD_ADDR": (reads * address, "input"), "RD_DATA": (reads * width, "output"),
        "WR_CLK": (writes, "input"), "WR_EN": (writes * width, "input"),
        "WR_ADDR": (writes * address, "input"), "WR_DATA": (writes * width, "input")}


def _bits(signal: Bits) -> Iterator[tuple[str, int]]:
    """The bits of a signal, the highest first: a wire's name and place, or a constant and -1."""
    for name, high, low in signal.chunks:
        if name[0] in "\\$":
            yield from ((name, place) for place in range(high, low - 1, -1))
        else:
            yield from ((bit, -1) for bit in name)


def _show_first_cycle(module: Module) -> set[tuple[str, str]]:
    """Have a module's registers show their initial values while a new input is 1; returns the edges
    at which they change."""
    wires = module.wires
    same: dict[tuple[str, int], tuple[str, int]] = {}

    def driver(bit: tuple[str, int]) -> tuple[str, int]:
        while bit in same:
            bit = same[bit]
        return bit

    for connect in (item for item in module.items if isinstance(item, Connect)):
        for left, right in zip(*(_bits(Bits.read(signal, wires)) for signal in (
                connect.target, connect.source)), strict=True):
            left, right = driver(left), driver(right)
            if left[1] >= 0 and left != right:
                same[left] = right
    initial: dict[tuple[str, int], str] = {}
    for wire in wires.values():
        value = Bits.read(wire.attributes.get("\\init", ""), wires)
        for place, (bit, _) in enumerate(reversed(list(
                _bits(value.fit(wire.width, signed=False) if value.chunks else value)))):
            where = driver((wire.name, place))
            if bit in "01" and initial.setdefault(where, bit) != bit:
                raise _DifferentError(f"{wire.name[1:]} has two initial values")

    clocks: set[tuple[str, str]] = set()
    resets: set[tuple[str, str]] = set()
    registers = [cell for cell in module.cells if cell.kind in ("$dff", "$adff")]
    for count, cell in enumerate(registers, 1):
        [clock] = _bits(Bits.read(cell.ports["CLK"], wires))
        edges = {name: "rising" if value.endswith("1") else "falling"
                 for name, value in cell.parameters.items() if name.endswith("_POLARITY")}
        clocks.add((driver(clock)[0][1:], edges["CLK_POLARITY"]))
        if "ARST" in cell.ports:  # as a synchronous one to the solver
            [reset] = _bits(Bits.read(cell.ports["ARST"], wires))
            resets.add((driver(reset)[0][1:], edges["ARST_POLARITY"]))
        target, kept = cell.ports["Q"], f"$register${count}"
        shown = list(_bits(Bits.read(target, wires)))
        starts = " ".join(
            f"1'{initial[driver(bit)]}" if driver(bit) in initial else
            f"{kept} [{len(shown) - 1 - number}]" for number, bit in enumerate(shown))
        cell.ports["Q"] = kept
        module.items.insert(0, Wire(kept, {"width": len(shown)}))  # before it is read
        module.items.append(Cell(
            f"{kept}$shown", "$mux", {"WIDTH": str(len(shown))},
            {"A": kept, "B": f"{{ {starts} }}", "S": _FIRST, "Y": target}))
    if len(clocks) > 1:  # the solver knows only one
        raise _DifferentError("a module with several clocks cannot be compared: " + ", ".join(
            f"{edge} {clock}" for clock, edge in sorted(clocks)))
    module.items.insert(0, Wire(_FIRST, {"input": len(module.ports) + 1}))
    return clocks | resets
