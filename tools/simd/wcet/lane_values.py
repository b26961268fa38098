"""Known state of the lanes before each node, without running the kernel: which are active, and
vector registers whose values follow from a work-item's place, immediates and known scalars.

As `scalars`, for lanes. A register is known where the same instructions give it its value on every
route. A lane that is off keeps what it had, so that all of this holds for active lanes, and only as
long as no lane comes back: nothing is known any more from the first instruction on that pushes to
or pops from the control stack, or clears another mask than that of ended lanes. Most kernels
compute their indexes before that.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from cyclebound.golden.simd.isa import SCALAR_SPECIAL, VECTOR_SPECIAL, Instruction, Kind, Unit
from cyclebound.golden.simd.machine import SCALARS, VECTORS, Grid, Place
from cyclebound.golden.simd.work_group import Code
from cyclebound.tools.simd.wcet.graph import Node, RouteGraph
from cyclebound.tools.simd.wcet.scalars import ScalarValues, offsets_of

__all__ = ["MEM_IDX", "LaneValues", "Lanes"]

VectorRegister = tuple[str, int]
"""("v", number), ("p", number) or ("vc", number)."""

Term = tuple
"""("place", number of a vc register), ("scalar", value), ("number", bits), or ("made", instruction,
*terms)."""

MEM_IDX: VectorRegister = ("vc", VECTOR_SPECIAL.index("mem_idx"))
_MEM_DATA: VectorRegister = ("vc", VECTOR_SPECIAL.index("mem_data"))
_SNOOPY_LOADS = ("ldgbidx", "ldgcidx", "ldspbidx")  # write mem_data, which is no operand of theirs

_FILES = {Kind.VECTOR: "v", Kind.PREDICATE: "p", Kind.VECTOR_SPECIAL: "vc"}
_SCALAR_FILES = {Kind.SCALAR: "s", Kind.SCALAR_SPECIAL: "sc"}
_PLACES = tuple(VECTOR_SPECIAL.index(name) for name in ("tid_x", "tid_y", "lid_x", "lid_y", "zero",
                                                        "one"))
_OFFSETS = {"tid_x": frozenset({"wg_off_x"}), "tid_y": frozenset({"wg_off_y"})}
_CONTROLS = ("cpush", "cpop", "bra", "call", "cmask", "brk", "ret")
_LARGEST = 64  # instructions of a term


class Lanes(NamedTuple):
    """Before a node: known registers, and the predicates by which lanes have ended; ``fewer``:
    others may have ended besides, by data or on some routes."""

    known: dict[VectorRegister, Term]
    ended: tuple[Term, ...] = ()
    fewer: bool = False


class LaneValues:
    """Known lanes before each node.

    Parameters
    ----------
    graph : RouteGraph
        The kernel.
    scalars : ScalarValues
        What is known of scalar registers.
    grid : Grid
        The kernel's.
    """

    def __init__(self, graph: RouteGraph, scalars: ScalarValues, grid: Grid) -> None:
        self._graph, self._scalars, self._grid = graph, scalars, grid
        self._code = Code(graph.program)
        items = grid.machine.items
        self._group = SimpleNamespace(  # all that instructions of the lanes need of a work-group
            v=np.zeros((VECTORS, items), np.uint32), p=np.zeros((4, items), bool),
            vc=[np.zeros(items, np.uint32) for _ in VECTOR_SPECIAL], s=[0] * SCALARS,
            sc=[0] * len(SCALAR_SPECIAL), masks={},
            write=_write)
        self._place: Place | None = None
        self._made: dict[Term, np.ndarray] = {}
        self._before: dict[Node, Lanes | None] = {graph.start: Lanes({})}
        waiting = [graph.start]
        while waiting:
            node = waiting.pop()
            after = self._step(node, self._before[node])
            for edge in graph.after[node]:
                if edge.target is not None and self._joined(edge.target, after):
                    waiting.append(edge.target)

    def before(self, node: Node) -> Lanes | None:
        """The known state before a node; None if not even the active lanes are known."""
        return self._before[node]

    def _joined(self, node: Node, arriving: Lanes | None) -> bool:
        if node not in self._before:
            self._before[node] = arriving
            return True
        held = self._before[node]
        found = None
        if held is not None and arriving is not None:
            ended = tuple(term for term in held.ended if term in arriving.ended)
            found = Lanes({register: term for register, term in held.known.items()
                           if arriving.known.get(register) == term}, ended,
                          held.fewer or arriving.fewer
                          or not len(ended) == len(held.ended) == len(arriving.ended))
        self._before[node] = found
        return found != held

    # -- one instruction ---------------------------------------------------------------------------

    def _step(self, node: Node, lanes: Lanes | None) -> Lanes | None:
        instruction = self._graph.instruction(node)
        if lanes is None or instruction.name in _CONTROLS:
            return None
        if instruction.name == "exit":
            operand = instruction.operand("A")
            ends = None if operand is None else lanes.known.get(("p", operand.value))
            if ends is None:
                return lanes._replace(fewer=True)
            return lanes if ends in lanes.ended else lanes._replace(ended=(*lanes.ended, ends))
        if instruction.name in _SNOOPY_LOADS:
            return lanes._replace(known={register: term for register, term in lanes.known.items()
                                         if register != _MEM_DATA})
        target = instruction.operand("D")
        slot = instruction.operation.slot("D")
        if target is None or slot is None or not slot.written or target.kind not in _FILES:
            return lanes
        term = self._term(node, instruction, lanes)
        known = dict(lanes.known)
        for number in range(target.value, target.value + instruction.width):
            known.pop((_FILES[target.kind], number), None)
        if term is not None:
            known[_FILES[target.kind], target.value] = term
        return lanes._replace(known=known)

    def _term(self, node: Node, instruction: Instruction, lanes: Lanes) -> Term | None:
        """The term that an instruction of the lanes writes; None if any operand is unknown."""
        if instruction.operation.access or instruction.operation.unit is Unit.CONTROL:
            return None
        terms: list[Term] = []
        for name in "ABC":
            operand = instruction.operand(name)
            if operand is None:
                continue
            term: Term | None
            if operand.kind is Kind.IMMEDIATE:
                term = ("number", operand.value)
            elif operand.kind in _SCALAR_FILES:
                value = self._scalars.before(node).get(
                    (_SCALAR_FILES[operand.kind], operand.value))
                term = None if value is None else ("scalar", value)
            elif operand.kind is Kind.VECTOR_SPECIAL and operand.value in _PLACES:
                term = ("place", operand.value)
            else:
                term = lanes.known.get((_FILES.get(operand.kind, ""), operand.value))
            if term is None:
                return None
            terms.append(term)
        made = ("made", node.at, *terms)
        return made if _size(made) <= _LARGEST else None

    # -- in one work-group -------------------------------------------------------------------------

    def active(self, lanes: Lanes, place: Place) -> np.ndarray:
        """Which lanes are active before a node, or may be if there are ``fewer``: bool of shape
        (items,)."""
        tid_x, tid_y = (self._value(("place", VECTOR_SPECIAL.index(name)), place)
                        for name in ("tid_x", "tid_y"))
        found = (tid_x < self._grid.x) & (tid_y < self._grid.y)
        for term in lanes.ended:
            found = found & ~self._value(term, place)
        return found

    def offsets(self, terms: tuple[Term, ...]) -> frozenset[str]:
        """The offsets of a work-group that terms depend on."""
        found = frozenset[str]()
        for term in terms:
            if term[0] == "place":
                found |= _OFFSETS.get(VECTOR_SPECIAL[term[1]], frozenset())
            elif term[0] == "scalar":
                found |= offsets_of(term[1])
            elif term[0] == "made":
                found |= self.offsets(term[2:])
        return found

    def value(self, term: Term, place: Place) -> np.ndarray:
        """A known register in one work-group: uint32 or, of a predicate, bool, of shape (items,).
        """
        return self._value(term, place)

    def _value(self, term: Term, place: Place) -> np.ndarray:
        if place != self._place:
            self._place, self._made = place, {}
        if term in self._made:
            return self._made[term]
        if term[0] == "place":
            found = self._placed(VECTOR_SPECIAL[term[1]], place)
        else:
            found = self._carried_out(term[1], term[2:], place)
        self._made[term] = found
        return found

    def _placed(self, name: str, place: Place) -> np.ndarray:
        lane = np.arange(self._grid.machine.items, dtype=np.uint32)
        if name in ("zero", "one"):
            return np.full_like(lane, name == "one")
        across = np.uint32(self._grid.width)
        inside = lane % across if name.endswith("_x") else lane // across
        first = place.x if name.endswith("_x") else place.y
        return inside + np.uint32(first) if name.startswith("tid") else inside

    def _carried_out(self, index: int, terms: tuple[Term, ...], place: Place) -> np.ndarray:
        """Execute an instruction on operands of these terms; returns the register written."""
        instruction, group = self._graph.program.instructions[index], self._group
        values = [self._value(term, place) if term[0] in ("made", "place") else None
                  for term in terms]
        operands = [operand for name in "ABC"
                    if (operand := instruction.operand(name)) is not None]
        for operand, term, value in zip(operands, terms, values, strict=True):
            if term[0] == "scalar":
                getattr(group, _SCALAR_FILES[operand.kind])[operand.value] = \
                    self._scalars.evaluated(term[1], place)
            elif value is not None:
                getattr(group, _FILES[operand.kind])[operand.value][...] = value
        with np.errstate(all="ignore"):
            self._code.functions[index](group)  # type: ignore[arg-type]
        target = instruction.operand("D")
        assert target is not None
        made: np.ndarray = getattr(group, _FILES[target.kind])[target.value]
        return made.copy()


def _write(target: np.ndarray, value: np.ndarray) -> None:
    """All lanes: those that are off do not count."""
    target[...] = value


def _size(term: Term, most: int = _LARGEST) -> int:
    """Instructions of a term, counted up to a little more than ``most``."""
    if term[0] != "made":
        return 0
    found = 1
    for part in term[2:]:
        if found > most:
            break
        found += _size(part, most - found)
    return found
