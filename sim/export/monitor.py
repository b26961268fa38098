"""A bound as hardware of its own: a checker in Verilog, and its place in another design.

The checker is the probe's hardware with the bound beside it. It sees the block's ports, drives none
of them, and says in each cycle whether a request under way has exceeded its bound. Where the bound
depends on the request, its values are a table, computed from the formula.
"""

import functools
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, ResetSignal, Shape, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.build.elaborate import leave_unused, watch
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration
from cyclebound.sim.export.names import plain_name
from cyclebound.sim.export.ports import Port, ports_of_fields, width_range
from cyclebound.sim.export.verilog import export, module_name
from cyclebound.sim.netlist.verilog_module import VerilogComponent
from cyclebound.tb.expression import ExpressionError, parse
from cyclebound.tb.probe import Probe, counters_of, reader

__all__ = ["BoundChecker", "Chosen", "Monitor", "monitor", "monitors"]

_TABLE_BITS = 12  # of what chooses a bound's value
_COUNT_BITS = 32
_CLASS = "declared_class"


@dataclass(frozen=True)
class Chosen:
    """A parameter of the bound of which each request has a value of its own."""

    name: str
    low: int
    high: int

    @property
    def bits(self) -> int:
        """Of its number among these values."""
        return (self.high - self.low).bit_length()


class BoundChecker(wiring.Component):
    """Raises a flag while a request at a block's ports has exceeded its bound.

    Latency: none; the flags are combinational.

    Parameters
    ----------
    component : wiring.Component
        The block, of which ports and attributes are read; it is not elaborated.
    probe : Probe
        Where a request begins and ends.
    limits : sequence of (int or None)
        The bound of each combination of ``chosen``; None: it does not speak of it.
    fixed : mapping
        Parameters that are the same for all requests.
    chosen : sequence
        Those that the bound depends on besides, the first one's bits lowest.
    declares : mapping
        Names and shapes of what requesters declare; each is an input ``declared_NAME``, read as
        the probe's expressions say, and of ``chosen`` in the first cycle of a request.
    observer : wiring.Component or None
        The probe's, if ``chosen`` reads it.
    exactly : bool
        A prediction: what ends earlier is ``early``.
    classed : bool
        Only requests that begin while ``declared_class`` is set are of the bound's class.
    bins : int
        Of the histogram; 0: there is none.
    figures : bool
        Count requests and keep the longest; else there are flags only.

    Attributes
    ----------
    greatest : int
        Of the bounds.
    constant : bool
        All are equal.
    width : int
        Bits of ages.
    seen : list of Port
        Those of the block that it looks at.
    flags, counts : tuple, dict
        Names of its flags; of its figures, with their widths.

    Members
    -------
    exceeded : Out(1)
        A request that is under way, or ends in this cycle, has exceeded its bound.
    early : Out(1)
        A request ends in this cycle, before it was predicted to. Only of a prediction.
    uncovered : Out(1)
        A request begins in this cycle of which the bound does not speak; it is not judged. Only
        where there may be such requests.
    unclear : Out(1)
        In this cycle a request ends that has not begun, or one begins that is too many: the signals
        are no sequence of requests.
    ended : Out(1)
        A request of the bound's class ends in this cycle.
    request_count : Out(32)
        How many have ended since reset, modulo 2**32.
    worst_latency : Out(n)
        The longest of these; stays at its greatest value, more than the bound.
    bin : In(n)
        Chooses a bin of the histogram.
    bin_count : Out(32)
        Requests in that bin since the beginning; the last bin has those that exceeded the bound.
    """

    def __init__(self, component, probe, limits, *, fixed, chosen=(), declares=None, observer=None,
                 exactly=False, classed=False, bins=0, figures=True):
        self._component, self._probe, self._limits, self._fixed = component, probe, limits, fixed
        self._chosen, self._observer, self._classed, self.bins = chosen, observer, classed, bins
        self.greatest = max(value for value in limits if value is not None)
        self.constant = len(set(limits)) == 1
        self.width = bits_for(self.greatest + 1) + figures
        self._most = (1 << self.width) - 1 if figures else self.greatest + 1
        paths, _ = _read(component, probe, [*_events(probe), *(
            probe.request[one.name] for one in chosen if one.name in probe.request)], observer)
        if observer is not None:
            paths += [path for path, _, _ in observer.signature.flatten(observer)
                      if path != ("begins",)]
        self.seen = [port for port in ports_of_fields(component)
                     if any(_leads(path, port.path.split(".")) for path in paths)]
        self.declares = {f"declared_{name}": In(shape) for name, shape in (declares or {}).items()}
        if classed:
            self.declares[_CLASS] = In(1)
        self.counts = ({"request_count": _COUNT_BITS, "worst_latency": self.width} if figures
                       else {})
        self.flags = ("exceeded", "unclear", "ended", *["early"] * exactly,
                      *["uncovered"] * bool(chosen))
        members = {_port(port): In(signed(port.width) if port.signed else port.width)
                   for port in self.seen}
        own = {**self.declares, **dict.fromkeys(self.flags, Out(1)),
               **{name: Out(width) for name, width in self.counts.items()}}
        if bins:
            own |= {"bin": In(range(bins)), "bin_count": Out(_COUNT_BITS)}
        if both := sorted(members.keys() & own.keys()):
            raise UserError(f"port {both[0]} of the block is called as one of its checker's")
        super().__init__({**members, **own})

    @property
    def scale(self) -> int:
        """A bin of the histogram has ``2**scale`` latencies."""
        return max(0, math.ceil(math.log2((self.greatest + 1) / max(1, self.bins - 1))))

    def elaborate(self, platform):
        m = Module()
        self._connect(m)

        def declared(name, place):
            return (Const(self._fixed[name]) if name in self._fixed
                    else getattr(self, f"declared_{name}"))

        counters = counters_of(m, self._probe, self._component, name="probe", declared=declared,
                               width=1)
        observer = self._observer
        if observer is not None:
            watch(m, self._component, observer, name="observer", more={
                ("begins",): Cat(counter.begins for counter in counters)}
                if "begins" in observer.signature.members else {})
        places = [
            self._place(m, counter, place, reader(
                m, self._probe, self._component, place, index, declared, "request",
                observer=observer))
            for place, (index, counter) in enumerate(zip(
                self._probe.indexes(self._component), counters, strict=True))]
        m.d.comb += [getattr(self, name).eq(
            ~ResetSignal() & Cat(place[name] for place in places).any()) for name in self.flags]
        self._figures(m, places)
        return m

    def _connect(self, m):
        """Drive the ports of the block, for the probe's expressions, with what is seen of them."""
        values = {".".join(map(str, path)): Value.cast(value) for path, _, value
                  in self._component.signature.flatten(self._component)}
        for port in self.seen:
            member = next(name for name in sorted(values, key=len, reverse=True)
                          if f"{port.path}.".startswith(f"{name}."))
            m.d.comb += values[member][port.offset:port.offset + port.width].eq(
                getattr(self, _port(port)))

    def _limit_of(self, m, value, place):
        """The bound of a request that begins in this cycle, and whether there is one."""
        within, index = Const(1), []
        for one in self._chosen:
            text = self._probe.request.get(one.name)
            number = value(text) if text else getattr(self, f"declared_{one.name}")
            within &= (number >= one.low) & (number <= one.high)
            index.append((number - one.low)[:one.bits])
        if self.constant:
            return Const(self.greatest), within
        shape = data.StructLayout({"limit": bits_for(self.greatest), "covered": 1})
        table = Memory(shape=shape, depth=len(self._limits), init=[
            {"limit": limit or 0, "covered": limit is not None} for limit in self._limits])
        m.submodules[f"table_{place}"] = table
        read = table.read_port(domain="comb")
        m.d.comb += read.addr.eq(Cat(index))
        return read.data.limit, within & read.data.covered

    def _place(self, m, counter, place, value):
        """What there is to say of the requests at one of the probe's places, by name."""
        limit, covered = self._limit_of(m, value, place)
        ours = getattr(self, _CLASS) if self._classed else Const(1)
        judged = covered & ours if self._chosen else ours

        def signal(name, *shape, slot=None):
            return Signal(*shape, name="_".join(str(word) for word in (name, place, slot)
                                                if word is not None))

        def counted(before):  # stays where it cannot count further
            return Mux((before == self._most) | ~counter.tick, before, before + 1)

        begun = {"age": Value.cast(counter.tick).as_unsigned() + Const(0, self.width),
                 "limit": limit, "judged": judged}
        first, last = counter.ids or (counter.put, counter.get)
        alone = counter.closes & ~counter.busy  # it begins and ends in one cycle
        kept, late = [], []
        for slot in range(counter.slots):
            active = signal("active", slot=slot) if counter.slots > 1 else counter.busy
            before, age = (signal(name, self.width, slot=slot) for name in ("before", "age"))
            its = {"age": age, "limit": limit, "judged": judged}
            m.d.comb += age.eq(counted(before))
            for name in ("limit", "judged"):
                if not isinstance(begun[name], Const):
                    its[name] = signal(name, len(begun[name]), slot=slot)
            with m.If(active):
                m.d.sync += before.eq(age)
            begins = counter.begins & ~alone
            if counter.slots > 1:
                begins &= first == slot
                m.d.sync += active.eq(begins | active & ~(
                    counter.closes & counter.busy & (last == slot)))
            with m.If(begins):
                m.d.sync += [before.eq(begun["age"]), *(
                    its[name].eq(begun[name]) for name in ("limit", "judged")
                    if its[name] is not begun[name])]
            kept.append(its)
            late.append(active & its["judged"] & (age > its["limit"]))
        # that which ends next: of those under way, or the one that begins
        head = {name: Mux(counter.busy, Array(its[name] for its in kept)[last]
                          if counter.slots > 1 else kept[0][name], begun[name])
                for name in begun}
        if self._probe.in_turn:  # no other one's time has come
            turn = signal("turn", self.width)
            m.d.sync += turn.eq(Mux(counter.closes, 0, counted(turn)))
            since = counted(turn) + value(self._probe.ahead)
            head["age"] = Mux(since < head["age"], since, head["age"])
            late = [counter.waiting & head["judged"] & (head["age"] > head["limit"])]
        else:
            late.append(counter.begins & judged & (begun["age"] > limit))
        age, ended = signal("ending_age", self.width), signal("ended")
        m.d.comb += [age.eq(head["age"]), ended.eq(counter.closes & head["judged"])]
        return {"exceeded": Cat(late).any(), "age": age, "ended": ended,
                "unclear": counter.overflow | counter.spurious,
                "over": age > head["limit"], "early": ended & (age < head["limit"]),
                "uncovered": counter.begins & ours & ~covered}

    def _figures(self, m, places):
        """Count requests, keep the longest, and fill the histogram."""
        full = Const((1 << _COUNT_BITS) - 1)
        if self.counts:
            m.d.sync += self.request_count.eq(self.request_count + sum(
                (place["ended"] for place in places[1:]), places[0]["ended"]))
            worst = self.worst_latency
            for number, place in enumerate(places):
                longest = Signal(self.width, name=f"longest_{number}")
                m.d.comb += longest.eq(Mux(place["ended"] & (place["age"] > worst), place["age"],
                                           worst))
                worst = longest
            m.d.sync += self.worst_latency.eq(worst)
        if not self.bins:
            return
        counts = []
        for number, place in enumerate(places):
            memory = Memory(shape=_COUNT_BITS, depth=self.bins, init=[])
            m.submodules[f"histogram_{number}"] = memory
            write, was, shown = (memory.write_port(), memory.read_port(domain="comb"),
                                 memory.read_port(domain="comb"))
            where = place["age"] >> self.scale
            m.d.comb += [
                write.addr.eq(Mux(place["over"] | (where >= self.bins), self.bins - 1, where)),
                was.addr.eq(write.addr), write.en.eq(place["ended"] & ~ResetSignal()),
                write.data.eq(Mux(was.data == full, full, was.data + 1)), shown.addr.eq(self.bin)]
            counts.append(shown.data)
        m.d.comb += self.bin_count.eq(sum(counts[1:], counts[0]))


def _port(port: Port) -> str:
    """What the checker calls a port of the block: as its Verilog does."""
    return port.path.replace(".", "__")


def _events(probe: Probe) -> list[str]:
    """The expressions that say where requests begin and end."""
    return [text for text in (probe.start, probe.end, probe.starts, probe.ends, probe.id,
                              probe.end_id, probe.ticks, probe.ahead) if text]


def _read(component: wiring.Component, probe: Probe, texts: Iterable[str],
          observer: wiring.Component | None = None) -> tuple[list[tuple], list[Value]]:
    """Paths of the ports that expressions read, and their values at each of the probe's places."""
    paths: list[tuple] = []
    values = []
    m = Module()
    leave_unused(m)
    for place, index in enumerate(probe.indexes(component)):
        value = reader(m, probe, component, place, index, lambda *_: Signal(), "read",
                       observer=observer, paths=paths)
        values += [value(text) for text in texts]
    return paths, values


def _leads(path: Sequence, steps: Sequence[str]) -> bool:
    """Whether an expression that reads ``path`` reads the port at ``steps``, or a part of it."""
    for wanted, step in zip(path, steps, strict=False):
        if isinstance(wanted, slice):
            if not step.isdigit():
                return True  # bits of it
        elif str(wanted) != step:
            return isinstance(wanted, int) and not step.isdigit()
    return True


def _table(limit: Callable[..., int], chosen: Sequence[Chosen]) -> tuple[list[int | None], str]:
    """The bound of each combination, the first parameter's bits lowest; None where the bound speaks
    of none or refuses these values, and the first reason for that."""
    table: list[int | None] = []
    reason = ""
    for number in range(1 << sum(one.bits for one in chosen)):
        values = {}
        for one in chosen:
            values[one.name] = one.low + (number & ((1 << one.bits) - 1))
            number >>= one.bits
        try:
            table.append(max(0, limit(**values)) if all(
                values[one.name] <= one.high for one in chosen) else None)
        except (NotCovered, ValueError) as error:
            table.append(None)
            reason = reason or str(error)
    return table, reason


@dataclass(frozen=True)
class Monitor:
    """A bound as a checker for other designs.

    Attributes
    ----------
    name : str
        The checker's module.
    says : str
        The claim, with its value if that is a constant.
    verilog, bind : str
        The text of the checker, and of the file that binds it to the block, with assertions.
    block : Block
        The checker by itself, as a block without claims.
    """

    name: str
    says: str
    verilog: str
    bind: str
    block: Block


def monitors(block: Block, parameters: Mapping[str, object], what: str | None = None,
             **how: Any) -> tuple[list[Monitor], dict[str, str]]:
    """A checker for each claim, or the one on the requests ``what``; and why others have none.

    ``how`` is as of `monitor`, whose `UserError` is raised if ``what`` is named.
    """
    bindings = [one for one in block.bounds if what in (None, one.what)]
    if what is not None and not bindings:
        raise unknown(f"claim of {block.name}", what, [one.what for one in block.bounds])
    made, without = [], {}
    for binding in bindings:
        try:
            made.append(monitor(block, binding, parameters, **how))
        except UserError as error:
            if what is not None:
                raise
            without[binding.what] = str(error)
    return made, without


def monitor(block: Block, binding: BoundBinding, parameters: Mapping[str, object], *,
            fixed: Mapping[str, int] | None = None,
            values: Mapping[str, tuple[int, int]] | None = None, bins: int = 0,
            figures: bool = True, name: str | None = None) -> Monitor:
    """The checker of one claim.

    Parameters
    ----------
    parameters : mapping
        The block's.
    fixed : mapping
        Parameters of all requests.
    values : mapping
        The least and the greatest value of parameters that requests have values of their own of.
    bins : int
        Of the histogram, 0 or at least 2.
    figures : bool
        As of `BoundChecker`.
    name : str
        The module of the block; None: as `export` calls it.

    Raises `UserError` for what it cannot express, by its name.
    """
    where, probe, bound = f"{block.name} {binding.what}", binding.probe, binding.bound
    if bound.kind == "rate" or probe is None:
        raise UserError(f"{where}: {bound.name} is a {bound.kind} without requests that could be "
                        "watched")
    component = block.make(parameters)
    leave_unused(component)
    given = {**parameters, **(fixed or {})}
    try:
        made = _checker(component, probe, bound, given, dict(values or {}), bins=bins,
                        figures=figures)
    except (UserError, NotCovered, ExpressionError) as error:
        raise UserError(f"{where}: {error}") from error
    top, ports = _target(block, component, name)
    module = f"{top}_{re.sub(r'[^A-Za-z0-9_]', '_', binding.what)}_monitor"
    alone = Block(name=f"monitor.{module}", summary=f"checker of {bound.name}, for {binding.what}",
                  component=functools.partial(_again, made),
                  configurations={"only": Configuration({})})
    text = f"{_says(block, binding)}//\n{export(alone, {}, module, flat=True).text}"
    value = f", {made.greatest:,} {probe.counts}" if made.constant else ""
    return Monitor(module, f"{bound.kind} {bound.name} of {where}{value}", text,
                   _bind(block, binding, made, module, top, ports), alone)


def _again(checker: BoundChecker) -> BoundChecker:
    """The same component; that it is not elaborated is no mistake."""
    leave_unused(checker)
    return checker


def _target(block: Block, component: wiring.Component, name: str | None
            ) -> tuple[str, dict[str, str]]:
    """The module to which a checker is bound, and what is its clock and its reset.

    Of a block in Verilog, it is the user's own module. Raises `UserError` if it has no clock.
    """
    if not isinstance(component, VerilogComponent):
        return name or module_name(block), {"clk": "clk", "rst": "rst"}
    top, clock, reset = component.module_and_clocks
    if not clock:
        raise UserError(f"{block.name} has no clock")
    return top, {"clk": clock, "rst": (
        f"!{reset[1:]}" if reset.startswith("~") else reset or "1'b0")}


def _says(block: Block, binding: BoundBinding) -> str:
    """The claim as a comment."""
    bound = binding.bound
    says = [f"{bound.kind} {bound.name} of {block.name}, {binding.what}: {bound.formula}",
            f"[{bound.source}]"]
    if bound.environment:
        says.append(f"environment: {bound.environment}")
    return "".join(f"// {line}\n" for text in says for line in textwrap.wrap(text, 97))


def _bind(block: Block, binding: BoundBinding, checker: BoundChecker, module: str, top: str,
          clocks: Mapping[str, str]) -> str:
    """The file that places a checker in each instance of the block, with assertions."""
    bound = binding.bound
    assert binding.probe is not None
    most = (f"{checker.greatest} {binding.probe.counts}" if checker.constant
            else f"its bound, {bound.formula}")
    macros = {name: f"{module.upper()}_{name.removeprefix('declared_').upper()}"
              for name in checker.declares}
    pins = {**clocks, **{name: name for name in (plain_name(_port(port)) for port in checker.seen)},
            **{name: f"(`{macro})" for name, macro in macros.items()}}
    wide = {plain_name(_port(port)): port.width for port in checker.seen} | {
        name: Shape.cast(member.shape).width for name, member in checker.declares.items()}
    lines = [_says(block, binding)]
    for name, macro in macros.items():
        if name == _CLASS:
            lines += ["// true in the first cycle of requests that the bound speaks of",
                      f"`ifndef {macro}", f"`define {macro} 1'b1", "`endif"]
        else:
            lines.append(f"// define {macro}: {name.removeprefix('declared_')} of the request that "
                         f"begins, an expression in the scope of {top}")
    lines.append(f"module {module}_sva (")
    lines.append(",\n".join(f"  input wire {width_range(wide.get(pin, 1))}{pin}" for pin in pins))
    lines.append(");")
    lines += [f"  wire {name};" for name in checker.flags]
    lines += [f"  wire [{width - 1}:0] {name};" for name, width in checker.counts.items()]
    inner = {**{pin: pin for pin in pins}, **{name: name for name in (*checker.flags,
                                                                       *checker.counts)}}
    if checker.bins:
        lines.append("  wire [31:0] bin_count;")
        inner |= {"bin": "'0", "bin_count": "bin_count"}
    lines += [f"  {module} monitor (", ",\n".join(
        f"    .{pin}({value})" for pin, value in inner.items()), "  );"]
    for label, flag, words in (
            ("bound_holds", "exceeded", f"a request takes more than {most}"),
            ("not_early", "early", f"a request takes less than {most}"),
            ("requests_are_clear", "unclear", "an end without a request, or a request too many"),
            ("bound_speaks_of_it", "uncovered", f"{bound.name} does not speak of this request")):
        if flag in checker.flags:
            lines += [f"  {label}: assert property (@(posedge clk) disable iff (rst) !{flag})",
                      f'    else $error("{block.name} {binding.what}: {words}");']
    lines.append("  a_request_ends: cover property (@(posedge clk) disable iff (rst) ended);")
    if checker.constant and checker.counts:
        lines.append("  bound_is_reached: cover property (@(posedge clk) disable iff (rst) "
                     f"worst_latency == {checker.width}'d{checker.greatest});")
    lines += ["endmodule", "", f"bind {top} {module}_sva {module}_bound (", ",\n".join(
        f"  .{pin}({value})" for pin, value in pins.items()), ");", ""]
    return "\n".join(lines)


def _checker(component: wiring.Component, probe: Probe, bound: Bound, given: Mapping[str, object],
             values: dict[str, tuple[int, int]], **how: Any) -> BoundChecker:
    needs = [name for name in bound.parameters if name not in given and (
        name in probe.request or name in values or name in bound.required())]
    observer = None
    if probe.observer is not None and any(parse(probe.request[name]).fields_of("observer")
                                          for name in needs if name in probe.request):
        observer = probe.observer(component)
    chosen, declares = [], {}
    missing: list[str] = []
    for name in needs:
        within = bound.ranges.get(name)
        lows, highs = ([limit] if limit is not None else [] for limit in (
            (within.least, within.most) if within else (None, None)))
        if name in values:
            lows.append(values[name][0])
            highs.append(values[name][1])
        if name in probe.request:
            _, shown = _read(component, probe, [probe.request[name]], observer)
            ranges = [value.shape() for value in shown]
            lows.append(min(-(1 << one.width - 1) if one.signed else 0 for one in ranges))
            highs.append(max((1 << one.width - one.signed) - 1 for one in ranges))
        if not lows or not highs:
            missing.append(name)
            continue
        chosen.append(Chosen(name, max(lows), min(highs)))
        if chosen[-1].high < chosen[-1].low:
            raise UserError(f"{bound.name} has no values of {name} that are allowed")
        if name not in probe.request:
            declares[name] = _shape(chosen[-1].low, chosen[-1].high)
    for name in dict.fromkeys(name for text in _events(probe)
                              for name in parse(text).fields_of("declared")):
        if name in values:
            declares.setdefault(name, _shape(*values[name]))
        elif name not in given and name not in declares:
            missing.append(name)
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        raise UserError(f"no port shows {names}, which {bound.name} needs: give each with --set "
                        "NAME=VALUE, or its values with --values NAME=LEAST..GREATEST, for which "
                        "the checker gets an input declared_NAME")
    if (bits := sum(one.bits for one in chosen)) > _TABLE_BITS:
        most = max(chosen, key=lambda one: one.bits)
        raise UserError(f"{bound.name} has 2^{bits} values, and the checker has a table of at most "
                        f"2^{_TABLE_BITS}: {most.name} has values of {most.bits} bits; give fewer "
                        f"with --values {most.name}=LEAST..GREATEST, or one with --set")
    limits, reason = _table(lambda **own: bound.of({**given, **own}), chosen)
    if not any(limit is not None for limit in limits):
        raise UserError(f"{bound.name} speaks of no request with these parameters: {reason}")
    classed = bool(probe.classed or probe.declared()
                   or bound.required() - {*given, *probe.request})
    return BoundChecker(component, probe, limits, fixed=given, chosen=chosen, declares=declares,
                        observer=observer, exactly=bound.kind == "prediction", classed=classed,
                        **how)


def _shape(low: int, high: int) -> Shape:
    return Shape.cast(range(min(0, low), max(0, high) + 1))
