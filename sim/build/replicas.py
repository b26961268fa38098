"""Modules of which a design has many instances, compiled once and called for each instance.

Verilator optimises across module boundaries, and so writes C++ for each of 128 equal lanes anew:
tens of megabytes, which the processor fetches again in every cycle. Here such a module is compiled
by itself, once. In the design, each instance becomes a call (DPI) at the rising edge of the clock,
which passes all inputs and returns all outputs. That is the same hardware if there is no
combinational path from an input to an output, and no other module is treated so; nor is one that
prints or asserts something.

Outputs of more than 64 bits are fetched, by calls of their own, where they have changed; a module
with a clock enable is called only while it is set. Inputs of more than 64 bits that all instances
have from the same signal are passed once a clock, and taken by an instance where they have changed.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cyclebound.sim.build.elaborate import run_yosys
from cyclebound.sim.netlist import verilog_text
from cyclebound.sim.netlist.verilog_text import Written

__all__ = ["Replica", "replicate"]

_MANY = 16          # of one kind, at least
_LARGE = 2_000_000  # bytes of Verilog of all of them, at least: less fits into a processor's cache
_WIDE = 32          # outputs of many bits, at most: each has a bit of the word that a call returns
_SAYS = re.compile(r"\$(?:write|display|finish|stop)\b|\bass(?:ert|ume)\b")  # stops, or prints
_OF_ALL = "make", "first", "common"  # functions that are of no instance
_EDGE = "@(posedge clk)"
# Inputs that an output depends on, past no register.
_DEPENDS = """read_rtlil part.il
hierarchy -top {name}
proc
flatten
opt_clean
tee -q -o depends.txt select -list i:* o:* %ci*:-$dff %i
"""


@dataclass(frozen=True)
class _Port:
    """A port: its name as Verilog writes it, its short one, and how a call passes it; whether all
    instances have the same signal there, and it is passed once for all of them."""

    name: str
    short: str
    is_input: bool
    bits: int
    common: bool = False

    @property
    def way(self) -> str:
        """Its direction, in Verilog."""
        return "input" if self.is_input else "output"

    @property
    def wide(self) -> bool:
        """Whether it is passed as a row of words."""
        return self.bits > 64

    @property
    def verilog(self) -> str:
        """The type that it has in a call, in Verilog."""
        if self.wide:
            return f"bit [{self.bits - 1}:0]"
        return "int unsigned" if self.bits <= 32 else "longint unsigned"

    @property
    def declared(self) -> str:
        """The parameter of a Verilog function."""
        return f"{self.way} {self.verilog} {self.short}"

    @property
    def in_c(self) -> str:
        """The parameter of the C function."""
        if self.wide:
            return f"{'const ' * self.is_input}svBitVecVal* {self.short}"
        kind = "unsigned int" if self.bits <= 32 else "unsigned long long"
        return f"{kind}{'' if self.is_input else '*'} {self.short}"

    @property
    def words(self) -> int:
        """Words of 32 bits."""
        return -(-self.bits // 32)


@dataclass(frozen=True)
class Replica:
    """A part that is compiled once.

    Attributes
    ----------
    module : str
        Its name in the design.
    name : str
        That of its own top module, in the file ``name.v``.
    """

    module: str
    name: str

    @property
    def prefix(self) -> str:
        """That of its model's C++."""
        return f"V{self.name}"


def replicate(verilog: Path, parts: Mapping[str, str],
              enabled: Collection[str] = ()) -> list[Replica]:
    """Write a design as ``calls.v``, with calls in the place of parts, if it has many of them.

    Parameters
    ----------
    verilog : Path
        The design, as `simulation_verilog` writes it. Beside it come ``calls.v``, the Verilog of
        each part that is called, and ``replicas.cpp`` with the functions for it.
    parts : mapping of str to str
        By module, the RTLIL of parts that may be called. They have one clock, ``clk``.
    enabled : collection of str
        Those in which nothing moves but while ``enable``, or the reset ``rst``, is set.
    """
    if not parts:
        return []
    modules = verilog_text.modules(verilog.read_text())
    placed = _Placed(modules)
    taken: list[tuple[Replica, list[_Port], int]] = []
    rtlil = "\n".join(parts.values())  # a part may have others inside it
    for module in parts:
        body = "".join(modules[name].text for name in placed.below(module))
        ports = _ports(modules[module])
        count = len(placed.of(module))
        if (count < _MANY or count * len(body) < _LARGE or not _callable(body, ports)
                or _depends(module, rtlil, verilog.parent)):
            continue
        replica = Replica(module, f"replica_{len(taken)}")
        # every call is an edge, so that it takes one evaluation
        (verilog.parent / f"{replica.name}.v").write_text(_shell(replica, ports) + body.replace(
            _EDGE, "@(posedge clk or negedge clk)"))
        taken.append((replica, _with_common(ports, module, placed), count))
    if not taken:
        return []
    calls = {replica.module: _call(replica, ports, replica.module in enabled)
             for replica, ports, _ in taken}
    (verilog.parent / "calls.v").write_text("".join(
        calls.get(name, written.text) for name, written in modules.items()))
    (verilog.parent / "replicas.cpp").write_text("\n".join([
        "#include <cstring>", '#include "Vtop__Dpi.h"',
        *(_functions(*part) for part in taken)]))
    return [replica for replica, *_ in taken]


class _Placed:
    """Which module is where in a design."""

    def __init__(self, modules: Mapping[str, Written]) -> None:
        self._inside = {name: [instance for instance in written.instances
                               if instance.module in modules]
                        for name, written in modules.items()}

    def below(self, module: str) -> list[str]:
        """A module and those inside it."""
        found = [module]
        for outer in found:
            names = (instance.module for instance in self._inside[outer])
            found += dict.fromkeys(name for name in names if name not in found)
        return found

    def of(self, module: str) -> list[tuple[str, dict[str, str]]]:
        """Its instances: the module around it, and what is connected to its ports."""
        return [(outer, instance.ports) for outer, inside in self._inside.items()
                for instance in inside if instance.module == module]


def _callable(body: str, ports: list[_Port]) -> bool:
    """Whether a call can do all that is in a part: nothing is said, and its clock moves all."""
    return (not _SAYS.search(body) and len(re.findall(r"\b(?:pos|neg)edge\b", body)) == body.count(
        _EDGE) and sum(port.wide and not port.is_input for port in ports) <= _WIDE
            and not any(port.name.startswith("replica_") for port in ports))


def _depends(module: str, rtlil: str, folder: Path) -> bool:
    """Whether an output of a part depends on an input within a cycle."""
    (folder / "part.il").write_text(rtlil)
    run_yosys(_DEPENDS.format(name=module), folder)
    return bool((folder / "depends.txt").read_text().strip())


def _ports(module: Written) -> list[_Port]:
    """Those of a module, without its clock."""
    return [_Port(port.name, f"{port.kind[0]}{number}", port.kind == "input", port.width)
            for number, port in enumerate(module.ports) if port.name != "clk"]


def _with_common(ports: list[_Port], module: str, placed: _Placed) -> list[_Port]:
    """The ports, of which wide inputs are common if each instance is called whenever another is,
    and has the same signal there."""
    instances = placed.of(module)
    parents = {parent for parent, _ in instances}
    # instances of a parent that there is more than once are not told apart here
    if len(parents) != 1 or sum(len(placed.of(parent)) for parent in parents) > 1:
        return ports
    same = {name for name in instances[0][1]
            if len({connected.get(name) for _, connected in instances}) == 1}
    if not {"clk", "rst", "enable"} & instances[0][1].keys() <= same:
        return ports
    return [replace(port, common=port.is_input and port.wide and port.name.strip() in same)
            for port in ports]


def _shell(replica: Replica, ports: list[_Port]) -> str:
    """The part's own top module, whose ports have short names."""
    return "\n".join([
        f"module {replica.name}(clk, {', '.join(port.short for port in ports)});",
        "  input clk;",
        *(f"  {port.way} [{port.bits - 1}:0] {port.short};"
          for port in ports),
        f"  {replica.module} part (.clk(clk)",
        *(f"    , .{port.name}({port.short})" for port in ports), "  );", "endmodule", ""])


def _passed(ports: list[_Port]) -> list[_Port]:
    """Those that each instance's call has."""
    return [port for port in ports if not port.common and (port.is_input or not port.wide)]


def _call(replica: Replica, ports: list[_Port], enabled: bool) -> str:
    """What stands in the design for the part."""
    outs = [port for port in ports if not port.is_input]
    narrow, wide = ([port for port in outs if port.wide is those] for those in (False, True))
    common = [port for port in ports if port.common]
    functions = {
        "make": ("chandle", []),
        "step": ("int unsigned", _passed(ports)),
        **({"first": ("int unsigned", []), "common": ("void", common)} if common else {}),
        "look": ("void", narrow), **{f"fetch_{port.short}": ("void", [port]) for port in wide}}
    imported = []
    for function, (returned, those) in functions.items():
        parameters = ["input chandle self"] * (function not in _OF_ALL)
        parameters += [port.declared for port in those]
        imported.append(f'  import "DPI-C" function {returned} {replica.name}_{function}('
                        f'{", ".join(parameters)});')

    def kept(port: _Port) -> str:
        return f"replica_{port.short}"

    def call(function: str) -> str:
        passed = ["replica_self"] * (function not in _OF_ALL)
        passed += [port.name if port.is_input else kept(port) for port in functions[function][1]]
        return f"{replica.name}_{function}({', '.join(passed)});"

    def shown(port: _Port, arrow: str) -> str:
        return f"{port.name} {arrow} {kept(port)}[{port.bits - 1}:0];"

    names = [port.name for port in ports]
    return "\n".join([
        f"module {replica.module}(clk, {', '.join(names)});", *imported,
        "  input clk;",
        *(f"  {port.way}{' reg' * (not port.is_input)} [{port.bits - 1}:0] {port.name};"
          for port in ports),
        "  chandle replica_self;", "  int unsigned replica_changed;",
        *(f"  {port.verilog} {kept(port)};" for port in outs),
        "  initial begin",
        f"    replica_self = {replica.name}_make();",
        *(f"    {call(function)}" for function in functions if function not in (*_OF_ALL, "step")),
        *(f"    {shown(port, '=')}" for port in outs),
        "  end",
        f"  always @(posedge clk) {'if (enable | rst) ' * enabled}begin",
        *([f"    if ({call('first')[:-1]} != 0) {call('common')}"] if common else []),
        f"    replica_changed = {call('step')}",
        *(f"    {shown(port, '<=')}" for port in narrow),
        *(f"    if (replica_changed[{bit}]) begin fetch_{port.short}; {shown(port, '<=')} end"
          for bit, port in enumerate(wide)),
        "  end",
        # by themselves: Verilator clears what a call returns wherever it is not made, too
        *(f"  task fetch_{port.short}; /*verilator no_inline_task*/ {call(f'fetch_{port.short}')} "
          "endtask" for port in wide),
        "endmodule", ""])


def _kept(port: _Port, place: str) -> str:
    """A common input, kept where it has changed."""
    size = 4 * port.words
    return "\n".join([f"    if (std::memcmp({place}.words, {port.short}, {size})) {{",
                      f"        std::memcpy({place}.words, {port.short}, {size});",
                      f"        {place}.version++;", "    }"])


def _functions(replica: Replica, ports: list[_Port], count: int) -> str:
    """The functions that are called, in C++; ``count`` instances, each once a clock or none."""
    name, model = replica.name, replica.prefix
    outs = [port for port in ports if not port.is_input]
    narrow, wide = ([port for port in outs if port.wide is those] for those in (False, True))
    common = [port for port in ports if port.common]

    def take(port: _Port, given: str) -> str:
        return (f"    std::memcpy(&model.{port.short}[0], {given}, {4 * port.words});" if port.wide
                else f"    model.{port.short} = {given};")

    given = [take(port, port.short) for port in ports if port.is_input and not port.common]
    given += [f"    if (part->version_{port.short} != {name}_common_{port.short}.version) {{\n    "
              f"{take(port, f'{name}_common_{port.short}.words')}\n"
              f"        part->version_{port.short} = {name}_common_{port.short}.version;\n    }}"
              for port in common]
    back = [f"    *{port.short} = model.{port.short};" for port in narrow]
    mine = f"    {name}* part = static_cast<{name}*>(self);\n    {model}& model = part->model;"
    stepped = ", ".join(port.in_c for port in _passed(ports))
    looked = "".join(f", {port.in_c}" for port in narrow)
    # eval() itself asks, for each part again, whether other threads have left messages or objects
    return "\n".join([
        f'#include "{model}.h"', f'#include "{model}___024root.h"',
        f"void {model}___024root___eval({model}___024root*);",
        *(f"static struct {{ svBitVecVal words[{port.words}]; unsigned version = 1; }} "
          f"{name}_common_{port.short};" for port in common),
        f"struct {name} {{", f"    {model} model;",
        *(f"    svBitVecVal {port.short}[{port.words}];" for port in wide),
        *(f"    unsigned version_{port.short} = 0;" for port in common), "};",
        f'extern "C" void* {name}_make() {{', f"    {name}* part = new {name};",
        "    part->model.clk = 0;", "    part->model.eval();", "    return part;", "}",
        *([f'extern "C" unsigned int {name}_first() {{', "    static unsigned calls = 0;",
           f"    bool first = calls == 0;\n    calls = calls == {count - 1} ? 0 : calls + 1;",
           "    return first;", "}",
           f'extern "C" void {name}_common({", ".join(port.in_c for port in common)}) {{',
           *(_kept(port, f"{name}_common_{port.short}") for port in common), "}"]
          if common else []),
        f'extern "C" void {name}_look(void* self{looked}) {{', mine, *back, "}",
        f'extern "C" unsigned int {name}_step(void* self, {stepped}) {{', mine, *given,
        "    model.clk = !model.clk;", f"    {model}___024root___eval(model.rootp);", *back,
        "    return 0", *(f"        | (std::memcmp(part->{port.short}, &model.{port.short}[0], "
                          f"{4 * port.words}) ? {1 << bit}u : 0u)"
                          for bit, port in enumerate(wide)), "    ;", "}",
        *(f'extern "C" void {name}_fetch_{port.short}(void* self, svBitVecVal* words) {{\n{mine}\n'
          f"    std::memcpy(part->{port.short}, &model.{port.short}[0], {4 * port.words});\n"
          f"    std::memcpy(words, part->{port.short}, {4 * port.words});\n}}" for port in wide),
        ""])
