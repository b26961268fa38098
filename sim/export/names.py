"""Names for exported Verilog: plain ones for all, and telling ones for what has none.

Amaranth numbers the results of expressions and yosys those of its own cells. What is left of them
in the Verilog, since an expression is used more than once, is called by what it is:
``held_is_3``, ``any_requests``. Names that are a keyword of SystemVerilog get an underscore.
"""

import re

from cyclebound.sim.netlist.rtlil import Cell, Design, Module

__all__ = ["KEYWORDS", "plain_name", "plain_names"]

# [IEEE 1800-2017, table B.1]
KEYWORDS = frozenset("""
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before
begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class
clocking cmos config const constraint context continue cover covergroup coverpoint cross deassign
default defparam design disable dist do edge else end endcase endchecker endclass endclocking
endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram
endproperty endsequence endspecify endtable endtask enum event eventually expect export extends
extern final first_match for force foreach forever fork forkjoin function generate genvar global
highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include
initial inout input inside instance int integer interconnect interface intersect join join_any
join_none large let liblist library local localparam logic longint macromodule matches medium
modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or
output package packed parameter pmos posedge primitive priority program property protected pull0
pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence
rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct
super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order
wand weak weak0 weak1 while wildcard wire with within wor xnor xor
""".split())

_LONGEST = 32  # of a name made from those of operands
_WORDS = {  # what a result is called by its cell, from the names of its operands
    "$not": "not_{A}", "$logic_not": "no_{A}", "$neg": "minus_{A}",
    "$reduce_or": "any_{A}", "$reduce_bool": "any_{A}", "$reduce_and": "all_{A}",
    "$reduce_xor": "parity_{A}", "$eq": "{A}_is_{B}", "$ne": "{A}_is_not_{B}",
    "$lt": "{A}_below_{B}", "$le": "{A}_up_to_{B}", "$gt": "{A}_above_{B}",
    "$ge": "{A}_from_{B}", "$add": "{A}_plus_{B}", "$sub": "{A}_minus_{B}",
    "$mul": "{A}_times_{B}", "$and": "{A}_and_{B}", "$or": "{A}_or_{B}", "$xor": "{A}_xor_{B}",
    "$shl": "{A}_left_{B}", "$shr": "{A}_right_{B}", "$sshr": "{A}_right_{B}",
    "$mux": "{S}_then_{B}",
}


def plain_name(name: str) -> str:
    """A name's letters and digits, and underscores for the rest."""
    new = re.sub(r"\W+", "_", name).strip("_") or "signal"
    return f"{new}_" if new in KEYWORDS else f"n{new}" if new[0].isdigit() else new


def plain_names(design: Design) -> frozenset[str]:
    """Give everything in a design a plain name; returns those of them that are made here.

    Names that stand for what has none begin with nothing special; the result holds them, so that
    they may be replaced by the expressions that they stand for.
    """
    public: dict[str, str] = {}
    taken: set[str] = set(KEYWORDS)
    declared = {name[1:] for module in design.modules.values() for name in (
        module.name, *module.names, *(cell.kind for cell in module.cells)) if name[0] == "\\"}
    for name in sorted(declared, key=lambda name: (plain_name(name) != name, name)):
        new = _free(plain_name(name), taken)
        taken.add(new)
        public[f"\\{name}"] = f"\\{new}"
    made: set[str] = set()
    for module in design.modules.values():
        module.rename(public)
        made |= _name_private(module, taken)
    design.modules = {module.name: module for module in design.modules.values()}
    return frozenset(made)


def _free(name: str, taken: set[str]) -> str:
    """This name, or this one with the first number that no other has."""
    if name not in taken:
        return name
    return next(new for number in range(2, 1_000_000)
                if (new := f"{name}_{number}") not in taken)


def _name_private(module: Module, public: set[str]) -> set[str]:
    """Give what Amaranth and yosys have numbered in a module names; returns those of its wires."""
    drivers = {cell.ports["Y"]: cell for cell in module.cells if "Y" in cell.ports}
    wires = [name for name in module.wires if name[0] == "$"]
    names: dict[str, str] = {}
    used: set[str] = set()
    count: dict[str, int] = {}

    def of(signal: str, depth: int) -> str:
        """The part of a name that an operand makes."""
        first = signal.strip("{ ").split(" ")
        if "'" in first[0]:
            bits = first[0].partition("'")[2]
            return str(int(bits, 2)) if set(bits) <= {"0", "1"} and len(bits) < 17 else "value"
        name = first[0]
        word = name[1:] if name[0] == "\\" else made(name, depth) if name[0] == "$" else "value"
        index = re.match(r"\[(\d+)(?::(\d+))?\]", first[1]) if len(first) > 1 else None
        return f"{word}_{'_'.join(filter(None, index.groups()))}" if index else word

    def made(wire: str, depth: int) -> str:
        if wire in names:
            return names[wire]
        cell = drivers.get(wire, Cell("", ""))
        words = "value"
        if cell.kind in _WORDS and depth:
            words = _WORDS[cell.kind].format(**{port: of(signal, depth - 1)
                                                for port, signal in cell.ports.items()})
        return words if len(words) <= _LONGEST else words[:_LONGEST].rstrip("_")

    for wire in wires:
        stem = plain_name(made(wire, 2))
        number = count.get(stem, 0) + 1
        while (new := stem if number == 1 else f"{stem}_{number}") in public or new in used:
            number += 1
        count[stem] = number
        names[wire] = new
        used.add(new)
    private = [cell for cell in module.cells if cell.name[0] == "$"]
    given = {name: f"\\{new}" for name, new in names.items()}
    for number, cell in enumerate(private):
        word = "table" if cell.kind == "$mem_v2" else "cell"  # yosys' choice of constants
        new = _free(f"{word}_{number}", public | used)
        used.add(new)
        given[cell.name] = f"\\{new}"
        if cell.kind == "$mem_v2" and cell.parameters["MEMID"].startswith('"$'):
            cell.parameters["MEMID"] = f'"\\\\{new}"'  # its Verilog has this name
    module.rename(given)
    return set(names.values())
