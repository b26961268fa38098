"""From an Amaranth component to Verilog: alone for FPGA tools, or in a top for a testbench.

A testbench pays for every signal it touches (docs/performance.md), so the top of a simulation has
two ports besides clock and reset: `inputs` holds all inputs of the component side by side, and
`outputs` all its outputs. A table of fields says what lies where.
"""

import contextlib
import gc
import json
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from cyclebound.hdl.shared import Enabled
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.netlist.link import Sources, link
from cyclebound.sim.netlist.rtlil import undefined
from cyclebound.sim.netlist.yosys import yosys_command
from cyclebound.tb.bus import Field
from cyclebound.tb.probe import (
    ANY,
    MARK,
    Probe,
    ProbeCounter,
    claim_bound,
    counters_of,
    prints,
)

__all__ = [
    "FAST_SCRIPT",
    "PART_SELECTS",
    "SCRIPT",
    "Field",
    "FlatTop",
    "KindClaim",
    "ProofTop",
    "SharedModules",
    "fields_json",
    "leave_unused",
    "port_fields",
    "ports_of",
    "run_yosys",
    "simulation_verilog",
    "to_rtlil",
    "watch",
]


_SCRIPT = "read_rtlil top.il; proc; {}write_verilog -noattr -norename top.v"

SCRIPT = _SCRIPT.format("memory_collect; opt_clean; ")
"""Yosys commands for Verilog as it is, for Icarus.

Processes become multiplexers, because Icarus cannot simulate the processes that yosys writes: its
``always @*`` blocks stay X at the start. Verilator takes a fraction of the time for it too.
"""

# opt_expr makes a number and zeros of a number times a power of two; opt_dff sees resets and
# enables only without the aliases that opt_clean removes.
FAST_SCRIPT = _SCRIPT.format("opt_expr; techmap -map parts.v; opt_clean; opt_dff; "
                             "pmux2shiftx -min_density 50 -min_choices 3; opt_clean; "
                             "memory_collect; opt_clean; ")
"""The same for Verilator, which runs twice as fast with it (docs/performance.md).

Multiplexers in front of registers become resets and enables, so that a register that keeps its
value costs nothing. A choice by a number becomes one access to a place in a row of bits: as
comparisons with each of its numbers, all of them were made in every cycle; and as a shift of the
row, all of it was moved. Icarus, a second opinion, is left without these steps, and thereby checks
them.
"""

# A part-select (`A[B +: width]`) instead of a right shift of the whole vector. Zero-extended, the
# vector covers the largest index, so that no select is out of range, where Verilog says x and a
# shift 0. Vectors of up to 64 bits are one machine word, whose shift is as cheap.
PART_SELECTS = """(* techmap_celltype = "$shift" *)
module part_of_row (A, B, Y);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  parameter _TECHMAP_CONSTMSK_B_ = 0;
  parameter _TECHMAP_CONSTVAL_B_ = 0;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  localparam [31:0] MOST =
    (~_TECHMAP_CONSTMSK_B_ | _TECHMAP_CONSTVAL_B_) & ((64'd1 << B_WIDTH) - 64'd1);
  localparam WIDTH = MOST + Y_WIDTH > A_WIDTH ? MOST + Y_WIDTH : A_WIDTH;
  wire _TECHMAP_FAIL_ =
    A_SIGNED || B_SIGNED || B_WIDTH > 24 || A_WIDTH <= 64 || WIDTH > 2 * A_WIDTH;
  wire [WIDTH-1:0] row = A;
  \\$shiftx #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
    _TECHMAP_REPLACE_ (.A(row), .B(B), .Y(Y));
endmodule
"""
"""Verilog that `FAST_SCRIPT` maps shifts with, as ``parts.v``."""


_CYCLE_BITS = 48
_DECLARED_BITS = 32
_STDERR = "32'h8000_0002"  # of Verilog's files [IEEE 1800-2017, 21.3.1]


def ports_of(component: wiring.Component, flow: wiring.Flow) -> list[tuple[str, Any]]:
    """All leaf ports of one direction, as ``(dotted path, value)``, in the signature's order."""
    return [(".".join(map(str, path)), value)
            for path, member, value in component.signature.flatten(component)
            if member.flow == flow]


def _parts(name: str, shape: object, offset: int) -> Iterator[Field]:
    """The field of a port, and those of the fields and elements inside it."""
    plain = Shape.cast(shape)
    yield Field(name, offset, plain.width, plain.signed)
    if isinstance(shape, type) and issubclass(shape, data.Struct | data.Union):
        shape = data.Layout.cast(shape)
    if isinstance(shape, data.Layout):
        for key, field in shape:
            yield from _parts(f"{name}.{key}", field.shape, offset + field.offset)


def port_fields(component: wiring.Component, flow: wiring.Flow) -> list[Field]:
    """Position of each port on the packed bus of its direction; structs with their fields."""
    fields: list[Field] = []
    offset = 0
    for path, value in ports_of(component, flow):
        shape = value.shape()
        fields.extend(_parts(path, shape, offset))
        offset += Shape.cast(shape).width
    return fields


def fields_json(component: wiring.Component) -> str:
    """Both tables of fields, for `cyclebound.tb.bus`."""
    return json.dumps({"inputs": [asdict(f) for f in port_fields(component, In)],
                       "outputs": [asdict(f) for f in port_fields(component, Out)]})


class FlatTop(Elaboratable):
    """The component as `dut` between two packed buses, with its bound checker and probes beside it.

    Parameters
    ----------
    component : wiring.Component
        The component.
    checker : wiring.Component or None
        Its bound checker.
    probes : mapping
        Names, and what is probed under them; they print the requests that they see.
    probed : wiring.Component or None
        What they look at: the component, or something inside it.
    classed : iterable of str
        Those probes that print what was declared to be of a class, and nothing else.

    Attributes
    ----------
    probes : dict
        As given; a printed request has its probe's number in this order.
    inputs, outputs : Signal
        All inputs and all outputs of the component; at least one bit wide.
    now : Signal
        With probes, a further output: the number of the cycle, which they print.
    count : Signal
        With probes, a further input: print how many lines there were.
    declared : Signal
        What probes read of what requesters declare, a further input: a struct with a field of 32
        bits for each probe, name and number of a place, ``transaction.words.3``.
    ticked : Signal
        A further output, where probes count other ticks than cycles: how many there were since
        reset, this cycle's included; a field for each probe and number of a place, ``wait.3``.
    """

    def __init__(self, component: wiring.Component, checker: wiring.Component | None = None, *,
                 probes: Mapping[str, Probe] | None = None,
                 probed: wiring.Component | None = None, classed: Iterable[str] = ()):
        self.component, self.checker = component, checker
        self.probes, self._probed = dict(probes or {}), probed or component
        self.classed = frozenset(classed)
        self.declared = Signal(data.StructLayout({
            f"{what}.{name}.{place}": 1 if name in ("on", "follow") else _DECLARED_BITS
            for what, probe in self.probes.items()
            for name in (*probe.declared(), *(("on", "follow") if what in self.classed else ()))
            for place in range(len(self.places(what)))}))
        self.now = Signal(_CYCLE_BITS, reset_less=True)
        self.count = Signal()
        self.ticked = Signal(data.StructLayout({
            f"{what}.{place}": _CYCLE_BITS for what, probe in self.probes.items() if probe.ticks
            for place in range(len(self.places(what)))}))
        self._ins = [Value.cast(value) for _, value in ports_of(component, In)]
        self._outs = [Value.cast(value) for _, value in ports_of(component, Out)]
        self.inputs = Signal(max(1, sum(map(len, self._ins))))
        self.outputs = Signal(max(1, sum(map(len, self._outs))))

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = self.component
        offset = 0
        for port in self._ins:
            m.d.comb += port.eq(self.inputs[offset : offset + len(port)])
            offset += len(port)
        m.d.comb += self.outputs.eq(Cat(*self._outs))
        if self.checker is not None:
            watch(m, self.component, self.checker)
        if self.probes:
            m.d.sync += self.now.eq(self.now + 1)
        for number, (what, probe) in enumerate(self.probes.items()):
            def declared(name, place, what=what):
                return self.declared[f"{what}.{name}.{place}"]

            counters = counters_of(m, probe, self._probed, name=f"probe_{what}", now=self.now,
                                   declared=declared, classed=what in self.classed)
            prints(m, number, probe, self._probed, counters, name=f"probe_{what}",
                   declared=declared, count=self.count,
                   observer=self._observer(m, what, counters))
            if probe.ticks:
                m.d.comb += [self.ticked[f"{what}.{place}"].eq(counter.upto)
                             for place, counter in enumerate(counters)]
        return m

    def _observer(self, m: Module, what: str, counters: Sequence[ProbeCounter]
                  ) -> wiring.Component | None:
        """The observer of a probe, placed beside the block; None if it has none."""
        make = self.probes[what].observer
        if make is None:
            return None
        observer = make(self._probed)
        begins = Cat(counter.begins for counter in counters)
        watch(m, self._probed, observer, name=f"observer_{what}",
              more={("begins",): begins} if "begins" in observer.signature.members else {})
        return observer

    @property
    def ports(self) -> list[Signal]:
        return [self.inputs, self.outputs,
                *([self.now, self.count, Value.cast(self.declared)] if self.probes else ()),
                *([Value.cast(self.ticked)] if len(Value.cast(self.ticked)) else ())]

    def ticked_fields(self) -> list[dict[str, object]]:
        """Where each field of `ticked` lies, for `cyclebound.tb.bench`."""
        return [asdict(field) for field in _parts("", self.ticked.shape(), 0)][1:]

    def declared_fields(self) -> list[dict[str, object]]:
        """Name, offset and width of each field of `declared`, for `cyclebound.tb.bus`."""
        return [asdict(field) for field in _parts("", self.declared.shape(), 0)][1:]

    def printed(self) -> list[dict[str, object]]:
        """How to read each probe's printed lines, for `cyclebound.sim.run.observations`."""
        return [{"what": what, "places": self.places(what), "names": [*probe.request],
                 "conditions": [*probe.conditions], "ticks": bool(probe.ticks),
                 "in_turn": probe.in_turn, "classed": what in self.classed}
                for what, probe in self.probes.items()]

    def places(self, name: str) -> list[dict[str, int]]:
        """The indexes of each of the probes of that name, in the order of their numbers."""
        return list(self.probes[name].indexes(self._probed))


@dataclass(frozen=True)
class KindClaim:
    """A claim of a block, bound or prediction, for one kind of request, as a proof asserts it.

    Attributes
    ----------
    what : str
        What the requests are called.
    probe : Probe
        Where they begin and end.
    declared : mapping
        The kind: what their requesters declare, or `ANY`.
    limit : int
        What the bound says of it.
    exactly : bool
        It is a prediction: nothing else than the limit is right.
    at : mapping
        Of which of the probe's places the requests are; empty: of all.
    """

    what: str
    probe: Probe
    declared: Mapping[str, int | None]
    limit: int
    exactly: bool = False
    at: Mapping[str, int] = field(default_factory=dict)

    def places(self, target: wiring.Component) -> list[int]:
        """The numbers of the probe's places that it is about."""
        return [place for place, index in enumerate(self.probe.indexes(target))
                if index.items() >= self.at.items()]


class ProofTop(FlatTop):
    """A `FlatTop` for a model checker: every input is free in every cycle, and so is reset.

    A proof begins in the reset values of all registers. Reset may come back in any cycle, to the
    component, its checker and its probes; what a reset leaves alone (memories, registers without
    reset) is then as it was.

    Parameters
    ----------
    claims : sequence of KindClaim
        Bounds: what their probes count is asserted not to exceed them, and of a prediction, to be
        just that where a request ends. A checker with a method
        ``explain(m, probes)`` may say more of those `ProbeCounter`s, by what they count.
    """

    def __init__(self, component: wiring.Component, checker: wiring.Component | None,
                 claims: Sequence[KindClaim] = ()):
        super().__init__(component, checker)
        self._domain = ClockDomain("sync")
        self._claims = tuple(claims)
        # of each claim's probes, whether they follow the request that begins
        self._picks = [Signal(len(claim.places(component)), name=f"picks_{number}")
                       for number, claim in enumerate(self._claims)]
        self._any = {(claim.what, name): Signal(_DECLARED_BITS, name=f"any_{claim.what}_{name}")
                     for claim in self._claims for name, value in claim.declared.items()
                     if value is ANY}

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.domains.sync = self._domain
        counters: dict[str, list] = {}
        for claim, picks in zip(self._claims, self._picks, strict=True):
            # an age of more than the limit, at least by one, is told from a small one
            its = counters_of(
                m, claim.probe, self.component, name=f"probe_{claim.what}",
                declared=lambda name, place, claim=claim: self._any.get(
                    (claim.what, name), Const(claim.declared[name] or 0)),
                width=bits_for(claim.limit + 1) + 1, picks=picks,
                places=claim.places(self.component))
            counters.setdefault(claim.what, []).extend(its)
            claim_bound(m, claim.what, its, claim.limit, exactly=claim.exactly)
        explain = getattr(self.checker, "explain", None)
        if counters and explain:
            explain(m, counters)
        return m

    @property
    def ports(self) -> list[Signal]:
        return [self._domain.clk, self._domain.rst, *super().ports, *self._picks,
                *self._any.values(), *getattr(self.checker, "rigid", ())]


def watch(m: Module, component: wiring.Component, checker: wiring.Component, *,
          name: str = "check", more: Mapping[tuple[str, ...], Value] | None = None) -> None:
    """Place ``checker`` under that name; each of its inputs sees the component's port of that path,
    or one of ``more``.
    """
    m.submodules[name] = checker
    seen = {path: value for path, _, value in component.signature.flatten(component)}
    seen.update(more or {})
    for path, member, value in checker.signature.flatten(checker):
        if member.flow != In:
            raise TypeError(f"Checker port {'.'.join(map(str, path))} must be an input")
        m.d.comb += Value.cast(value).eq(Value.cast(seen[path]))


def _words(alike: object) -> list[str]:
    """Names and numbers among what components have in common."""
    if isinstance(alike, tuple):
        return [word for part in alike for word in _words(part)]
    return [str(alike)] if isinstance(alike, str | int) else []


class SharedModules(Sources):
    """A platform on which equal components share one module (`cyclebound.hdl.shared`).

    Attributes
    ----------
    modules : dict of str to str
        By name, the RTLIL of a shared module with all that is inside it.
    says : dict of str to str
        By name, what it is.
    enabled : set of str
        Names of those that move only while their port ``enable`` is set.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix
        self._names: dict[tuple[type, object], str] = {}
        self.modules: dict[str, str] = {}
        self.says: dict[str, str] = {}
        self.enabled: set[str] = set()

    def share(self, component: wiring.Component, alike: object) -> str:
        """The name of the module that all components of this class and these parameters are."""
        key = type(component), alike
        if key not in self._names:
            self._names[key] = name = f"{self._prefix}_part_{len(self._names)}"
            kind = type(getattr(component, "component", component)).__name__
            self.says[name] = " ".join((kind, *_words(alike)))
            if isinstance(component, Enabled):
                self.enabled.add(name)
            self.modules[name] = rtlil.convert(component, name=name, platform=self, emit_src=False)
        leave_unused(component)
        return self._names[key]


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector: a design is millions of small objects, which it would look
    through again and again, a quarter of the time, and none of which is garbage before the end."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def to_rtlil(top: Elaboratable, *, name: str, ports: list | None = None,
             shares: SharedModules | None = None, lines: bool = False) -> str:
    """RTLIL, for yosys: simulation, proofs and synthesis; equal hardware is equal text.

    With ``shares``, equal components are one module, and that is where their names are kept. With
    ``lines``, each cell has the file and line that it comes from, as attribute ``src``. Black boxes
    are read from their sources (`cyclebound.sim.netlist.link`). Raises `UserError` where Amaranth
    has not the memory, or the numbers, for what a user's parameters ask for.
    """
    sources = Sources() if shares is None else shares
    try:
        with _uncollected():
            text = rtlil.convert(top, name=name, ports=ports, platform=sources, emit_src=lines)
    except (MemoryError, OverflowError) as error:
        raise UserError(f"{type(getattr(top, 'component', top)).__name__}: too large to be "
                        f"elaborated: {str(error) or 'out of memory'}") from error
    text = "\n".join([text, *(shares.modules.values() if shares else ())])
    return (link(text, sources.files, name, lines=lines) if sources.files or undefined(text)
            else text)


def simulation_verilog(text: str, folder: Path, script: str = SCRIPT) -> Path:
    """Verilog for a simulator from RTLIL, as ``top.v`` in ``folder``."""
    (folder / "top.il").write_text(text)
    (folder / "parts.v").write_text(PART_SELECTS)
    run_yosys(script, folder)
    # What probes print goes to a file of its own, the standard error, so that nothing else that is
    # printed can fall into one of its lines.
    verilog = (folder / "top.v").read_text()
    (folder / "top.v").write_text(verilog.replace(f'$write("{MARK}', f'$fwrite({_STDERR}, "{MARK}'))
    return folder / "top.v"


class OutOfTimeError(Exception):
    """A program has had all the CPU time that it was given."""


def run_yosys(script: str, folder: Path, seconds: int | None = None) -> None:
    """Run yosys commands in ``folder``. Raises `RuntimeError` in its words, and `OutOfTimeError`
    after so many seconds of CPU."""
    command = [*yosys_command(), "-q", "-p", script]
    if seconds is not None:
        command = ["/bin/sh", "-c", f'ulimit -t {seconds}; exec "$@"', "yosys", *command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if seconds is not None and done.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        raise OutOfTimeError(f"not within {seconds} s of CPU")
    if done.returncode:
        raise RuntimeError(f"yosys cannot write Verilog: {done.stderr.strip()[-2000:]}")


def leave_unused(top: Elaboratable) -> None:
    """Tell Amaranth that ``top``, and all that it holds, is not elaborated on purpose.

    Amaranth warns of every component that is made and never used, and has no public way to say
    that a cached result of it was used instead.
    """
    seen: set[int] = set()
    pending: list[object] = [top]
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Elaboratable):
            item._MustUse__used = True
            pending += vars(item).values()
        elif isinstance(item, list | tuple):
            pending += item
        elif isinstance(item, dict):
            pending += item.values()
