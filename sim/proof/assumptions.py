"""What a proof assumes: shown to speak of the block's surroundings, and never to end their time.

A property holds as far as its assumptions let the surroundings go. Reset is free in a proof, so
that an assumption such as "less than 20 cycles have gone by" contradicts nothing: the solver
resets. And one that speaks of what the block gives would hide its faults. So of every instance of a
property, for the logic that drives its assumptions (their cone of influence in the netlist):

- none depends on time. No register in the cone of one counts by itself, whatever the inputs are,
  unless it begins anew within the bounded check; and each can come back to its initial value
  without a reset, so that nothing is ruled out for good. One that keeps a value, such as a
  configuration, says so (`cyclebound.tb.assumed.fixed`);
- one that depends on what the block gives, or has given, is declared as a rule that the
  surroundings keep with it (`cyclebound.tb.assumed.owes`, or that of offers, ``stays``, which binds
  only after a cycle with an offer that was not taken, and is kept by the same inputs again);
- after any number of cycles without a reset, whatever the block gave in them, there are inputs that
  all of them allow; and where one depends on what the block makes of some inputs in the same cycle,
  there are such among the other inputs. So none can rule out what a block gives. By induction: no
  state without such inputs is reached within *k* cycles from a reset, or at the end of any *k*
  cycles that were allowed. Inputs are sought among those of the cycle before, zeros and ones, field
  by field;
- one that depends on the block forbids something that the others allow, and that comes within the
  bounded check of the block itself or its first 24 cycles; but for offers, where a block may take
  each at once. Else it would keep back nothing but what a faulty block does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3

from cyclebound.sim.build.elaborate import run_yosys
from cyclebound.sim.netlist.gates import Cycles, Netlist, Value
from cyclebound.tb.assumed import FIXED, LAW, OFFER, OWED, START, kind_of, said

__all__ = ["Assumed"]

_HORIZON = 12  # cycles of the induction over states without inputs
_SEEN = 24  # cycles in which each assumption forbids something, at least
_MOVES = 400  # ways to choose inputs that are tried in one state or another
_GATES = ("memory_nordff; memory_map -formal; opt_clean; techmap; dffunmap; aigmap; opt_clean; ")


@dataclass(frozen=True)
class Assumed:
    """The assumptions of a proof.

    Attributes
    ----------
    rtlil : str
        The component as ``dut`` with its checker.
    says : mapping
        The names of the checks that are assumptions, and their messages.
    fields : tuple
        Offset and width of each field of the bus ``inputs``.
    depth : int
        Cycles of the bounded check.
    script : str
        Yosys commands for the component.
    anywhere : bool
        It begins in any state.
    """

    rtlil: str
    says: Mapping[str, str]
    fields: tuple[tuple[int, int], ...]
    depth: int
    script: str = ""
    anywhere: bool = False

    def objection(self, folder: Path, small: "Assumed | None" = None) -> str:
        """Why they may hide faults; empty if they do not.

        ``small`` are those of an instance whose bounded check sees what happens; what needs that is
        looked for there.
        """
        seen = self if small is None else small
        says = {name: text for name, text in self.says.items() if kind_of(text) != LAW}
        if unseen := [text for text in says.values() if _alike(text) not in {
                *map(_alike, seen.says.values())}]:
            return (f"its assumption {said(unseen[0])!r} is not made in the instance in which its "
                    "covers are looked for")
        if not says:
            return ""
        without, whole = self._netlists(folder)
        seen_without, seen_whole = ((without, whole) if seen is self else
                                    seen._netlists(folder))
        says = {name: text for name, text in says.items() if name in without.checks}
        seen_says = {name: text for name, text in seen.says.items()
                     if name in seen_without.checks and kind_of(text) != LAW}
        return (_undeclared(without, says) or _no_offer(without, says)
                or _of_time(seen_without, seen_says, seen.depth)
                or _Surroundings(without, says, self.fields, _at_once(without, whole, says)
                                 ).objection()
                or _idle(seen_whole, _needed(seen_without, seen_says), seen_says,
                         max(_SEEN, seen.depth), anywhere=self.anywhere))

    def _netlists(self, folder: Path) -> tuple[Netlist, Netlist]:
        """The assumptions without the block, whose outputs are free; and with it."""
        (folder / "top.il").write_text(self.rtlil)
        # without output ports, nothing is left but what assumptions depend on
        run_yosys("read_rtlil top.il; hierarchy -top top; delete -output top/w:*; proc -norom; "
                  "async2sync */t:$check %n; delete */t:$check */r:FLAVOR=assume %d; "
                  "design -save all; blackbox top.dut; flatten; opt_clean; "
                  f"{_GATES}write_json without.json; design -load all; "
                  f"{self.script.replace(chr(10), '; ')}flatten; opt_clean; {_GATES}"
                  "write_json with.json", folder)
        return Netlist.read(folder / "without.json"), Netlist.read(folder / "with.json")


def _alike(message: str) -> str:
    """A message without numbers, such as those of ports."""
    return re.sub(r"\d+", "", message)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "an unnamed signal"


# -- structure -------------------------------------------------------------------------------------


def _is_given(net: Netlist, bit: int) -> bool:
    """Whether it is what the surroundings or the block give."""
    return bit in net.outside or net.inputs.get(bit, ("rst",))[0] not in ("rst", "clk")


def _once(net: Netlist, bit: int) -> bool:
    """Whether a register tells the first cycle after a reset from the others, and nothing more."""
    return isinstance(_cycles(net, "free").value(net.registers[bit][0], 0), bool)


def _of_time(net: Netlist, says: Mapping[str, str], depth: int) -> str:
    """An assumption that depends on how many cycles have gone by."""
    for name, text in says.items():
        cone = net.fan_in(net.checks[name], registers=True)
        alone = [bit for bit in sorted(cone & net.registers.keys())
                 if not _once(net, bit) and not any(
                     _is_given(net, source) for source in net.fan_in([bit], registers=True))]
        cycles = _cycles(net, "init")
        begins = [cycles.value(bit, 0) for bit in alone]
        if alone and not any([cycles.value(bit, cycle) for bit in alone] == begins
                             for cycle in range(1, depth + 1)):
            return (f"its assumption {said(text)!r} depends on time: no input moves "
                    f"{_quoted(net.named(alone))}, and it does not begin anew within {depth} "
                    "cycles")
    return ""


def _undeclared(net: Netlist, says: Mapping[str, str]) -> str:
    """An assumption about what the block gives that is no rule of its surroundings."""
    for name, text in says.items():
        of_block = net.fan_in(net.checks[name], registers=True) & net.outside.keys()
        if of_block and kind_of(text) not in (OWED, OFFER, FIXED, START):
            return (f"its assumption {text!r} is about what the block gives "
                    f"({_quoted(net.named(of_block))}), and not declared as a rule that its "
                    "surroundings keep")
    return ""


def _no_offer(net: Netlist, says: Mapping[str, str]) -> str:
    """An assumption that is declared to be that of offers, and is not."""
    for name, text in says.items():
        if kind_of(text) != OFFER:
            continue
        cycles, solver = _cycles(net, "free"), z3.SolverFor("QF_FD")
        solver.add([cycles.holds(other, 0) for other in says])
        cone = net.fan_in(net.checks[name], registers=True)
        inputs = {bit for bit in cone & net.inputs.keys() if _is_given(net, bit)}
        again = cycles.holds(name, 1, {bit: cycles.value(bit, 0) for bit in inputs}, {})
        broken = z3.Not(cycles.holds(name, 1))
        if solver.check(z3.Not(again)) == z3.sat:
            return (f"its assumption {said(text)!r} is declared to be about an offer, and the same "
                    "inputs again break it")
        if not (any(_excuses(cycles, solver, broken, bit, False) for bit in inputs)
                and any(_excuses(cycles, solver, broken, bit, True)
                        for bit in cone & net.outside.keys())):
            return (f"its assumption {said(text)!r} is declared to be about an offer, and binds "
                    "where none was made, or it was taken")
    return ""


def _excuses(cycles: Cycles, solver: Any, broken: Value, bit: int, value: bool) -> bool:
    """Whether nothing is forbidden after a cycle in which a bit has a value."""
    return solver.check(broken, cycles.value(bit, 0) == value) == z3.unsat


def _at_once(without: Netlist, whole: Netlist, says: Mapping[str, str]) -> dict[str, set[int]]:
    """For each assumption about what the block makes of inputs in the same cycle, the places of
    these on the bus ``inputs``."""
    at_once = {}
    for name, text in says.items():
        now = without.fan_in(without.checks[name]) & without.outside.keys()
        pins = [whole.ports[port][place] for port, place in map(without.outside.__getitem__, now)]
        places = {whole.inputs[bit][1] for bit in whole.fan_in(pins) & whole.inputs.keys()
                  if whole.inputs[bit][0] == "inputs"}
        if places and kind_of(text) != START:
            at_once[name] = places
    return at_once


# -- surroundings that always have a way to go on --------------------------------------------------


def _cycles(net: Netlist, start: str, held: Iterable[int] = ()) -> Cycles:
    """Consecutive cycles, with reset held in those of these numbers."""
    held = frozenset(held)
    return Cycles(net, start, lambda cycle: cycle in held, z3.Bool, _both, _inverse)


def _both(one: Any, other: Any) -> Any:
    """`z3.And` without its checks, which take most of the time."""
    context = one.ctx
    return z3.BoolRef(z3.Z3_mk_and(context.ref(), 2, (z3.Ast * 2)(one.ast, other.ast)), context)


def _inverse(one: Any) -> Any:
    return z3.BoolRef(z3.Z3_mk_not(one.ctx.ref(), one.ast), one.ctx)


class _Surroundings:
    """Whether there are always inputs that all assumptions allow."""

    def __init__(self, net: Netlist, says: Mapping[str, str], fields: Sequence[tuple[int, int]],
                 at_once: Mapping[str, set[int]]) -> None:
        self._net, self._says = net, {name: text for name, text in says.items()
                                      if kind_of(text) != START}
        cone = net.fan_in(bit for name in self._says for bit in net.checks[name])
        self._at_once = at_once
        self._all = self._groups = self._grouped(cone, fields)
        self._moves: list[dict[int, str]] = []

    def _grouped(self, cone: set[int], fields: Sequence[tuple[int, int]]) -> list[list[int]]:
        """The inputs that assumptions read, field by field."""
        groups: dict[object, list[int]] = {}
        for bit in sorted(cone & self._net.inputs.keys()):
            port, place = self._net.inputs[bit]
            if port in ("rst", "clk"):
                continue
            here = [(width, offset) for offset, width in fields
                    if port == "inputs" and offset <= place < offset + width]
            groups.setdefault((port, min(here, default=None)), []).append(bit)
        return list(groups.values())

    def objection(self) -> str:
        """Why there may be none; empty if there always are."""
        if ends := self._end([name for name in self._says if name not in self._at_once], []):
            return ends
        # then those that the block looks at are given, and what it makes of them may be anything
        given = {place for places in self._at_once.values() for place in places}
        self._groups = [group for group in self._all if not any(
            self._net.inputs[bit] == ("inputs", place) for bit in group for place in given)]
        if self._at_once and self._end([*self._says], [*self._says.keys() - self._at_once.keys()]):
            return (f"its assumption {said(self._says[next(iter(self._at_once))])!r} may rule out "
                    "what the block makes of the same cycle's inputs")
        return self._stays()

    def _end(self, names: Sequence[str], met: Sequence[str]) -> str:
        """Why there may be no inputs that these allow, where some met the others; or nothing."""
        self._moves = [{bit: how for group in self._groups for bit in group}
                       for how in ("before", "zero")]
        for number in range(_HORIZON):
            # reset in the cycle before the first, as registers without a reset have any value
            stuck, genuine = self._stuck(_cycles(self._net, "free", [0]), 1, number + 1, names,
                                         met)
            if genuine:
                return (f"its assumptions end every run {number} cycles after a reset: "
                        f"{self._words(genuine)}")
            if not stuck:
                stuck, _ = self._stuck(_cycles(self._net, "free"), 0, number + 1, names, met)
                if not stuck:
                    return ""
        return ("its assumptions may end every run that has no reset: nothing shows that they "
                f"allow any inputs after {stuck}")

    def _words(self, names: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(said(self._says[name]) for name in names))

    def _stays(self) -> str:
        """A register in an assumption's cone that, once it has changed, keeps its value."""
        cycles, solver = _cycles(self._net, "free"), z3.SolverFor("QF_FD")
        read_by: dict[int, str] = {}
        solver.add([cycles.holds(other, 0) for other in self._says])
        for name, text in self._says.items():
            if kind_of(text) != FIXED:
                for bit in self._net.fan_in(self._net.checks[name], registers=True):
                    read_by.setdefault(bit, text)
        comes_back = {}
        for bit in sorted(read_by.keys() & self._net.registers.keys()):
            then, init = self._net.registers[bit]
            if init is not None and not _once(self._net, bit):
                comes_back[bit] = z3.And(cycles.value(bit, 0) != z3.BoolVal(init),
                                         cycles.value(then, 0) == z3.BoolVal(init))
        while comes_back:  # as many at once as do
            solver.push()
            solver.add(z3.Or(list(comes_back.values())))
            if solver.check() == z3.unsat:
                solver.pop()
                moved = self._moved(cycles, solver, comes_back)
                return "" if moved is None else (
                    f"its assumption {said(read_by[moved])!r} rules something out for good: "
                    f"{_quoted(self._net.named([moved]))} never comes back without a reset")
            model = solver.model()
            comes_back = {bit: fact for bit, fact in comes_back.items()
                          if not z3.is_true(model.eval(fact, model_completion=True))}
            solver.pop()
        return ""

    def _moved(self, cycles: Cycles, solver: Any, bits: Iterable[int]) -> int | None:
        """The first of some registers that have not their initial values where all is allowed."""
        for bit in bits:
            if solver.check(cycles.value(bit, 0) != z3.BoolVal(self._net.registers[bit][1])
                            ) == z3.sat:
                return bit
        return None

    def _stuck(self, cycles: Cycles, first: int, last: int, names: Sequence[str],
               met: Sequence[str]) -> tuple[str, list[str]]:
        """Whether allowed cycles from ``first`` on lead to one, ``last``, without inputs.

        Returns what the state is like, and the assumptions that contradict each other in it,
        whatever the inputs; both empty if there is none.
        """
        solver, ways = z3.SolverFor("QF_FD"), None
        for cycle in range(first, last):
            solver.add([cycles.holds(name, cycle) for name in self._says])
        solver.add([cycles.holds(name, last) for name in met])
        tried = 0
        while True:
            for move in self._moves[tried:]:
                given = {bit: cycles.value(bit, last - 1) if how == "before" else how == "one"
                         for bit, how in move.items()}
                known: dict[int, Value] = {}
                solver.add(z3.Not(z3.And([z3.BoolVal(True), *(
                    cycles.holds(name, last, given, known) for name in names)])))
            tried = len(self._moves)
            if solver.check() == z3.unsat:
                return "", []
            model = solver.model()
            ways = ways or _Ways(self._net, cycles, last, names, self._groups)
            way, core = ways.on(model)
            if way is None or tried > _MOVES:
                return self._state(cycles, last, model), core
            self._moves.append(way)

    def _state(self, cycles: Cycles, last: int, model: Any) -> str:
        """The registers that are set in a state, in words."""
        cone = self._net.fan_in(bit for name in self._says for bit in self._net.checks[name])
        words: dict[str, int] = {}
        for bit in sorted(cone & self._net.registers.keys()):
            name, _, place = self._net.names.get(bit, "").partition("[")
            value = cycles.value(bit, last)
            if name and z3.is_true(model.eval(z3.BoolVal(value) if isinstance(value, bool)
                                              else value, model_completion=True)):
                words[name] = words.get(name, 0) | 1 << int(place.rstrip("]") or 0)
        return ", ".join(f"{name.removeprefix('check.')} = {value}"
                         for name, value in sorted(words.items())) or "all registers 0"


class _Ways:
    """Ways to choose the inputs of a cycle, in a state of the registers.

    Parameters
    ----------
    net, cycles : Netlist, Cycles
        The design.
    last : int
        The number of the cycle.
    names : sequence
        The assumptions that it has to meet.
    groups : sequence
        The inputs that may be chosen, field by field.
    """

    def __init__(self, net: Netlist, cycles: Cycles, last: int, names: Sequence[str],
                 groups: Sequence[Sequence[int]]) -> None:
        self._cycles, self._last, self._groups = cycles, last, groups
        self._given = {bit: z3.Bool(f"own_{bit}") for group in groups for bit in group}
        known: dict[int, Value] = {}
        facts = {name: cycles.holds(name, last, self._given, known) for name in names}
        self._solver = z3.SolverFor("QF_FD")
        self._labels = {name: z3.Bool(f"assumed_{name}") for name in names}
        self._solver.add([z3.Implies(self._labels[name], fact) for name, fact in facts.items()])
        self._state = {cycles.value(bit, last) for bit in (*net.registers, *net.outside,
                                                           *net.inputs)
                       if bit not in self._given and (bit in known or bit in cycles.made(last))}
        self._state = {value for value in self._state if not isinstance(value, bool)}
        self._how = []
        for number, group in enumerate(groups):
            how = {word: z3.Bool(f"{word}_{number}") for word in ("before", "zero", "one")}
            for bit in group:
                before = cycles.value(bit, last - 1)
                self._solver.add(z3.Implies(how["before"], self._given[bit] == before),
                                 z3.Implies(how["zero"], z3.Not(self._given[bit])),
                                 z3.Implies(how["one"], self._given[bit]))
                if not isinstance(before, bool):
                    self._state.add(before)
            self._how.append(how)

    def on(self, model: Any) -> tuple[dict[int, str] | None, list[str]]:
        """One in the state of a model: as before, but where that will not do; or the assumptions
        that leave none."""
        self._solver.push()
        self._solver.add([value == model.eval(value, model_completion=True)
                          for value in self._state])
        chosen: list[Any] = [*self._labels.values()]
        try:
            if self._solver.check(*chosen) != z3.sat:
                core = {str(word) for word in self._solver.unsat_core()}
                return None, [name for name, label in self._labels.items() if str(label) in core]
            move: dict[int, str] = {}
            for how, group in zip(self._how, self._groups, strict=True):
                for word in ("before", "zero", "one"):
                    if self._solver.check(*chosen, how[word]) == z3.sat:
                        chosen.append(how[word])
                        move |= dict.fromkeys(group, word)
                        break
                else:  # neither: each bit for itself, as it is in a solution
                    self._solver.check(*chosen)
                    found = self._solver.model()
                    for bit in group:
                        own = self._given[bit]
                        one = z3.is_true(found.eval(own, model_completion=True))
                        chosen.append(own if one else z3.Not(own))
                        move[bit] = "one" if one else "zero"
            return move, []
        finally:
            self._solver.pop()


# -- assumptions that forbid nothing ---------------------------------------------------------------


def _needed(net: Netlist, says: Mapping[str, str]) -> list[str]:
    """The assumptions about what the block gives that do not follow from the others, whatever it
    does."""
    needed = []
    cycles, solver = _cycles(net, "free"), z3.SolverFor("QF_FD")
    solver.add([cycles.holds(name, 0) for name in says])
    facts = {name: cycles.holds(name, 1) for name in says}
    for name, text in says.items():
        if not net.fan_in(net.checks[name], registers=True) & net.outside.keys():
            continue
        others = [fact for other, fact in facts.items() if other != name]
        solver.push()
        solver.add(others)
        solver.add(cycles.inverse(facts[name]))
        if kind_of(text) not in (START, OFFER) and solver.check() == z3.sat:
            needed.append(name)
        solver.pop()
    return needed


def _idle(net: Netlist, names: Iterable[str], says: Mapping[str, str], depth: int, *,
          anywhere: bool) -> str:
    """One of some assumptions that no input of the block could break within ``depth`` cycles."""
    open_ones = {name: says[name] for name in names}
    cycles = _cycles(net, "free" if anywhere else "init")
    solver = z3.SolverFor("QF_FD")
    for cycle in range(depth):
        facts = {name: cycles.holds(name, cycle) for name in says}
        for name in list(open_ones):
            solver.push()
            solver.add([fact for other, fact in facts.items() if other != name])
            solver.add(cycles.inverse(facts[name]))
            if solver.check() == z3.sat:
                del open_ones[name]
            solver.pop()
        if not open_ones:
            return ""
        solver.add(list(facts.values()))
    return (f"its assumption {said(next(iter(open_ones.values())))!r} forbids nothing in the first "
            f"{depth} cycles: it could only hide a fault")
