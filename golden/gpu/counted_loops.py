"""Loops of a kernel that count: how often they are executed, from their instructions alone.

Source: this project. A loop counts if in each iteration

- one addition of a number to a register is executed, and nothing else writes that register,
- one comparison of it with a number is executed, and nothing else writes its predicate,
- one branch is executed that goes on, or leaves the loop, by that predicate,

and if all that the register can hold before the loop are numbers. Other ways out of the loop only
make it shorter. What an instruction may write is taken to be more than it does wherever that is not
certain: then the loop is one of those whose executions a user must say.
"""

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import networkx as nx

from cyclebound.golden.gpu.control_flow import Flow, Function, Loop, halves
from cyclebound.golden.gpu.instruction import Instruction, Kernel, Register, Word

__all__ = ["LoopCount", "counted_loops"]

_MOST = 1 << 20  # executions; a loop of more is a user's to say
_WORD = 1 << 32
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "EQ": operator.eq,
    "NE": operator.ne}
_ADD = {"IADD", "IADD3", "VIADD", "UIADD3", "UVIADD"}
_ZERO = {"RZ", "URZ", "SRZ"}
_TRUE = {"PT", "UPT"}
# what writes no general register
_NOTHING = {"BAR", "BRA", "BSSY", "BSYNC", "DEPBAR", "DSETP", "EXIT", "FSETP", "HSETP2", "ISETP",
            "MEMBAR", "NOP", "PLOP3", "RED", "REDG", "ST", "STG", "STL", "STS", "UISETP",
            "UPLOP3", "WARPSYNC"}
# what writes the first register that it names, and the next one if it is wide
_FIRST = {*_ADD, "CS2R", "DADD", "DFMA", "DMUL", "F2I", "FADD", "FFMA", "FLO", "FMNMX", "FMUL",
          "FSEL", "HADD2", "HFMA2", "HMUL2", "I2F", "IABS", "IMAD", "IMNMX", "LEA", "LOP3", "MOV",
          "MUFU", "POPC", "PRMT", "S2R", "S2UR", "SEL", "SHF", "SHFL", "UIMAD", "ULEA", "ULOP3",
          "UMOV", "USEL", "USHF", "VIMNMX"}
_WIDE = {"WIDE", "64", "F64", "S64", "U64"}
_LOADS = {"LD", "LDC", "LDCU", "LDG", "LDL", "LDS", "ULDC"}
_PAIRS = {"CS2R", "DADD", "DFMA", "DMUL"}
_MOST_WRITTEN = 8  # registers from one on, by anything else


@dataclass(frozen=True)
class LoopCount:
    """How often a loop's first instruction is executed each time the loop is entered, at most.

    ``says`` is why, in words.
    """

    line: int
    executions: int
    says: str


def counted_loops(kernel: Kernel, flow: Flow) -> dict[int, LoopCount]:
    """The loops that count, by the line of their first instruction.

    A loop that is in several functions counts if it does in each.
    """
    if flow.problems:
        return {}
    found: dict[int, list[LoopCount | None]] = {}
    for function in flow.functions:
        for loop in function.loops:
            found.setdefault(loop.line, []).append(_Counted(kernel, function, loop).count())
    return {line: max(whole, key=lambda count: count.executions) for line, counts in found.items()
            if len(whole := [count for count in counts if count]) == len(counts)}


class _Counted:
    """One loop of one function."""

    def __init__(self, kernel: Kernel, function: Function, loop: Loop) -> None:
        self._kernel, self._function, self._loop = kernel, function, loop
        self._graph = nx.DiGraph(function.edges)
        self._dominator = nx.immediate_dominators(self._graph, function.entry)
        ends = [number for number in self._graph.predecessors(loop.header) if number in loop.body]
        inside = frozenset().union(*(other.body for other in function.loops
                                     if other.body < loop.body))
        self._each = {number for number in loop.body - inside
                      if all(self._dominates(number, end) for end in ends)}

    def _dominates(self, one: int, other: int) -> bool:
        while other not in (one, self._function.entry):
            other = self._dominator[other]
        return other == one

    def count(self) -> LoopCount | None:
        if any(number in self._function.calls for number in self._loop.body):
            return None  # what a function writes is not looked at
        counts = [count for branch in sorted(self._each)
                  if (count := self._by(branch)) is not None]
        return min(counts, key=lambda count: count.executions, default=None)

    def _by(self, branch: int) -> LoopCount | None:
        """By a branch that is executed in each iteration."""
        taken = self._taken_by(branch)
        if taken is None:
            return None
        predicate, when = taken
        goes_on = [other in self._loop.body for other in self._graph.successors(branch)
                   if other != branch + 1]
        stays = branch + 1 in self._loop.body
        if len(goes_on) != 1 or goes_on[0] == stays:
            return None
        at = self._last(branch, lambda number: self._mentions(number, predicate))
        test = None if at is None else self._test(self._kernel.instructions[at], predicate)
        if at is None or test is None:
            return None
        register, compare, limit, signed, words = test
        copied = self._last(at, functools.partial(self._may_write, register=register))
        if copied is not None and (source := _copy(self._kernel.instructions[copied], register)):
            at, register = copied, source
        writes = [number for number in self._loop.body if self._may_write(number, register)]
        if len(writes) != 1 or writes[0] not in self._each:
            return None
        step = _step(self._kernel.instructions[writes[0]], register)
        starts = self._starts(register)
        if step is None or not starts:
            return None
        first = self._dominates(writes[0], at)
        counts = [_executions(start, step, limit, compare, signed=signed, first=first,
                              goes_on=when == goes_on[0]) for start in starts]
        whole = [count for count in counts if count is not None]
        if len(whole) != len(counts):
            return None
        begins = ", ".join(map(str, sorted(starts)))
        return LoopCount(self._loop.line, max(whole), (
            f"loop at line {self._loop.line}: at most {max(whole)} executions, as {register} "
            f"begins with {begins}, changes by {step} and is compared with {limit} ({words})"))

    def _last(self, number: int, hits: Callable[[int], bool]) -> int | None:
        """The one instruction that hits, comes before that one in each iteration, and after which
        none does until then."""
        found = [other for other in self._each if other != number and hits(other)
                 and self._dominates(other, number)]
        last = next((other for other in found
                     if all(self._dominates(before, other) for before in found)), None)
        if last is None:
            return None
        within = self._graph.subgraph(self._loop.body).copy()
        within.remove_edges_from([*within.in_edges(self._loop.header)])  # this iteration
        between = nx.descendants(within, last) & {number, *nx.ancestors(within, number)}
        return None if any(hits(other) for other in between - {last, number}) else last

    def _taken_by(self, number: int) -> tuple[str, bool] | None:
        """The predicate by which a branch is taken, and the value with which it is."""
        branch = self._kernel.instructions[number]
        if branch.opcode != "BRA" or not set(branch.modifiers) <= {"U"}:
            return None
        named = [operand for operand in branch.operands if isinstance(operand, Register)]
        if branch.guard is not None and not named and not branch.modifiers:
            return branch.guard.predicate, not branch.guard.negated
        if branch.guard is None and len(named) == 1 and branch.modifiers == ("U",):
            return named[0].name, not named[0].changed
        return None

    def _mentions(self, number: int, predicate: str) -> bool:
        """Whether an instruction may write a predicate: it names it, or all of them."""
        return any(isinstance(operand, Register) and operand.name in (predicate, "PR", "UPR")
                   for operand in self._kernel.instructions[number].operands)

    def _test(self, test: Instruction, predicate: str
              ) -> tuple[str, Callable[[int, int], bool], int, bool, str] | None:
        """Register, comparison, number, whether signed, and the comparison's name."""
        words = [word for word in test.modifiers if word in _COMPARE]
        if (test.opcode not in ("ISETP", "UISETP") or test.guard is not None or len(words) != 1
                or sorted({*test.modifiers} - {words[0], "U32"}) != ["AND"]
                or len(test.operands) != 5):
            return None
        into, other, value, limit, also = test.operands
        if (not all(isinstance(operand, Register) for operand in (into, other, value, also))
                or not isinstance(limit, Word)):
            return None
        assert isinstance(into, Register)
        assert isinstance(other, Register)
        assert isinstance(value, Register)
        assert isinstance(also, Register)
        number = _number(limit)
        if (into.name != predicate or other.name not in _TRUE or also.name not in _TRUE
                or also.changed or value.changed or number is None or not _general(value.name)):
            return None
        return value.name, _COMPARE[words[0]], number, "U32" not in test.modifiers, words[0]

    def _may_write(self, number: int, register: str) -> bool:
        """Whether an instruction may write a register."""
        kind, at = _place(register)
        return any(_place(first)[0] == kind and 0 <= at - _place(first)[1] < count
                   for first, count in _written(self._kernel.instructions[number]))

    def _starts(self, register: str) -> set[int]:
        """All numbers that the register can hold when the loop is entered; empty if not known."""
        values: set[int] = set()
        rest = [number for number in self._graph.predecessors(self._loop.header)
                if number not in self._loop.body]
        seen = set(rest)
        while rest:
            number = rest.pop()
            if number in self._function.calls:
                return set()
            if self._may_write(number, register):
                value = _constant(self._kernel.instructions[number], register)
                if value is None:
                    return set()
                values.add(value)
                continue
            before = set(self._graph.predecessors(number))
            if number == self._function.entry:
                return set()  # what the caller left there
            rest += before - seen
            seen |= before
        return values


def _general(name: str) -> bool:
    return _place(name)[0] != ""


def _place(name: str) -> tuple[str, int]:
    """File and number of a general register; no file for anything else."""
    kind = name.rstrip("0123456789")
    return (kind, int(name[len(kind):])) if kind in ("R", "UR") and name != kind else ("", 0)


def _written(instruction: Instruction) -> list[tuple[str, int]]:
    """General registers that may be written: the first ones, and how many from each on."""
    named = [operand.name for operand in instruction.operands
             if isinstance(operand, Register) and _general(operand.name)]
    modifiers = {*instruction.modifiers}
    if instruction.opcode in _NOTHING:
        return []
    if instruction.opcode in _LOADS:
        sizes = [int(word) // 32 for word in modifiers & {"64", "128", "256"}]
        return [(name, max([1, *sizes])) for name in named]
    if instruction.opcode in _FIRST and not any("MMA" in word for word in modifiers - {"MMA"}):
        wide = modifiers & _WIDE or (instruction.opcode in _PAIRS and "32" not in modifiers)
        # a register that holds zero, as the result of nothing, is named too
        first = next((operand for operand in instruction.operands if isinstance(operand, Register)
                      and (_general(operand.name) or operand.name in _ZERO)), None)
        return [(first.name, 2 if wide else 1)] if first and _general(first.name) else []
    return [(name, _MOST_WRITTEN) for name in named]


def _number(operand: object) -> int | None:
    """The number that an operand is, modulo 2^32 and with a sign."""
    if isinstance(operand, Register):
        return 0 if operand.name in _ZERO else None
    try:
        return _signed(int(operand.text, 0)) if isinstance(operand, Word) else None
    except ValueError:
        return None


def _signed(value: int) -> int:
    return (value + _WORD // 2) % _WORD - _WORD // 2


def _values(instruction: Instruction, register: str) -> list | None:
    """What an instruction computes a register from; None if it may do anything else."""
    operands = [operand for operand in instruction.operands
                if not (isinstance(operand, Register) and operand.name in _TRUE)]
    if instruction.guard is not None or not operands or operands[0] != Register(register) or any(
            isinstance(operand, Register) and operand.changed and operand.name not in _ZERO
            for operand in operands[1:]):
        return None
    return operands[1:]


def _copy(instruction: Instruction, register: str) -> str | None:
    """The register that an instruction copies into another one; None if it does anything else."""
    values = _values(instruction, register)
    if instruction.name in ("MOV", "UMOV") and values and isinstance(values[0], Register):
        return values[0].name if _general(values[0].name) else None
    return None


def _step(instruction: Instruction, register: str) -> int | None:
    """What an addition adds to a register; None if it does anything else."""
    values = _values(instruction, register)
    if instruction.opcode not in _ADD or instruction.modifiers or not values:
        return None
    if values.count(Register(register)) != 1:
        return None
    numbers = [_number(value) for value in values if value != Register(register)]
    return None if None in numbers else _signed(sum(n for n in numbers if n is not None))


def _constant(instruction: Instruction, register: str) -> int | None:
    """The number that an instruction puts into a register; None if it is none."""
    values = _values(instruction, register)
    if not values:
        return None
    name = instruction.name
    if name in ("MOV", "MOV32I", "UMOV"):
        return _number(values[0])
    if name == "IMAD.MOV.U32" and [_number(value) for value in values[:2]] == [0, 0]:
        return _number(values[-1])
    if name in ("CS2R", "CS2R.32"):
        return _number(values[0])
    if name in ("HFMA2", "HFMA2.MMA") and len(values) == 4 and all(
            isinstance(value, Register) and value.name == "RZ" for value in values[:2]):
        words = [value.text for value in values[2:] if isinstance(value, Word)]
        value = halves(words) if len(words) == 2 else None
        return None if value is None else _signed(value)
    return None


def _executions(start: int, step: int, limit: int, compare: Callable[[int, int], bool], *,
                signed: bool, first: bool, goes_on: bool) -> int | None:
    """Executions of a loop that goes on while the comparison's outcome is ``goes_on``.

    ``first``: the step comes before the comparison. None for more than are counted.
    """
    seen = _signed if signed else _unsigned
    for count in range(1, _MOST + 1):
        value = _signed(start + step * (count - 1 + first))
        if compare(seen(value), seen(limit)) != goes_on:
            return count
    return None


def _unsigned(value: int) -> int:
    return value % _WORD
