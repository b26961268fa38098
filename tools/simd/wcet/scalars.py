"""Known values of the scalar registers before each node, without running the kernel.

A register is known where it has the same value on every route to a node; the value may depend on
the work-group's place in the grid, and on nothing else. Known are then immediates, dimensions of
buffers and of the grid, a work-group's offsets, and what is computed from them.

Registers are not known at the start: hardware promises no zeros.
"""

from collections.abc import Mapping
from types import SimpleNamespace

from cyclebound.golden.simd.isa import SCALAR_SPECIAL, Kind, Timing
from cyclebound.golden.simd.machine import SCALARS, Grid, Place
from cyclebound.golden.simd.work_group import Code
from cyclebound.tools.simd.wcet.graph import Node, RouteGraph
from cyclebound.tools.simd.wcet.loops import Dominators

__all__ = ["Register", "Registers", "ScalarValues", "Value", "offsets_of", "written_scalars"]

Register = tuple[str, int]
"""("s", number) or ("sc", number)."""

Value = int | tuple
"""A number, or a term of them and of a work-group's offsets: (instruction, *values)."""

Registers = Mapping[Register, Value]

_SD = tuple(("sc", SCALAR_SPECIAL.index(name)) for name in ("sd_words", "sd_period",
                                                            "sd_period_cnt"))


_OFFSETS = ("wg_off_x", "wg_off_y")
_DEEPEST = 40  # of a term in a term

_FILES = {Kind.SCALAR: "s", Kind.SCALAR_SPECIAL: "sc"}


def written_scalars(graph: RouteGraph, node: Node, known: Registers) -> list[Register]:
    """The scalar registers that an instruction may write, from what is known before it."""
    instruction = graph.instruction(node)
    target = instruction.operand("D")
    slot = instruction.operation.slot("D")
    if target is None or slot is None or not slot.written:
        return []
    if target.kind is Kind.SCALAR_SPECIAL:
        return [("sc", target.value)]
    if target.kind is not Kind.SCALAR:
        return []
    words = 1
    if instruction.name == "sldg":
        count = instruction.operand("B")
        words = 1 if count is None else count.value
    elif instruction.name == "sldsp":
        said = known.get(_SD[0])
        words = min(said if isinstance(said, int) else SCALARS, SCALARS - target.value)
    return [("s", target.value + step) for step in range(words)]


class ScalarValues:
    """Known registers before each node, for one work-group or for all.

    Parameters
    ----------
    graph : RouteGraph
        The kernel.
    dominators : Dominators
        For their order.
    grid : Grid or None
        Its dimensions are known; None: they are not.
    """

    def __init__(self, graph: RouteGraph, dominators: Dominators, grid: Grid | None) -> None:
        self._graph = graph
        self._code = Code(graph.program)
        self._scalars = {"s": [0] * SCALARS, "sc": [0] * len(SCALAR_SPECIAL)}
        self._group = SimpleNamespace(**self._scalars)  # all that scalar instructions need of one
        self._shapes: dict[int, tuple[list[Register], Register | None]] = {}
        self._before: dict[Node, dict[Register, Value]] = {graph.start: self._first(grid)}
        waiting = list(dominators.order)
        while waiting:
            again: list[Node] = []
            for node in waiting:
                if node not in self._before:
                    continue
                after = self.step(node, self._before[node])
                for edge in graph.after[node]:
                    if edge.target is not None and self._joined(edge.target, after):
                        again.append(edge.target)
            waiting = sorted(set(again), key=dominators.place.__getitem__)

    @staticmethod
    def _first(grid: Grid | None) -> dict[Register, Value]:
        values: dict[str, Value] = {name: (name,) for name in _OFFSETS}
        if grid is not None:
            values |= {"dim_x": grid.x, "dim_y": grid.y, "wg_width": grid.width}
        return {**dict.fromkeys(_SD, 1), **{("sc", SCALAR_SPECIAL.index(name)): value
                                            for name, value in values.items()}}

    def _joined(self, node: Node, arriving: dict[Register, Value]) -> bool:
        held = self._before.get(node)
        if held is None:
            self._before[node] = dict(arriving)
            return True
        lost = [register for register, value in held.items() if arriving.get(register) != value]
        for register in lost:
            del held[register]
        return bool(lost)

    def before(self, node: Node) -> Registers:
        return self._before[node]

    def step(self, node: Node, known: Registers) -> dict[Register, Value]:
        """Known values after an instruction."""
        after = dict(known)
        self.carry_out(node, after)
        return after

    def carry_out(self, node: Node, known: dict[Register, Value]) -> None:
        """The same, in ``known`` itself."""
        value = self._value(node, known)
        for register in written_scalars(self._graph, node, known):
            known.pop(register, None)
            if value is not None:
                known[register] = value

    def reads(self, node: Node) -> list[Register]:
        """The scalar registers among an instruction's operands."""
        operands = (self._graph.instruction(node).operand(name) for name in "ABC")
        return [(_FILES[operand.kind], operand.value) for operand in operands
                if operand is not None and operand.kind in _FILES]

    def _value(self, node: Node, known: Registers) -> Value | None:
        """The value that a scalar instruction writes; None unless all that it reads is known."""
        shape = self._shapes.get(node.at)
        if shape is None:
            instruction = self._graph.instruction(node)
            target = instruction.operand("D")
            computed = (instruction.operation.timing in (Timing.SCALAR, Timing.DIVIDE)
                        and target is not None and target.kind in _FILES)
            shape = self._shapes[node.at] = (
                self.reads(node), (_FILES[target.kind], target.value)
                if computed and target is not None else None)
        reads, writes = shape
        if writes is None or any(register not in known for register in reads):
            return None
        values = [known[register] for register in reads]
        if not all(isinstance(value, int) for value in values):
            term = (node.at, *values)
            return term if _depth(term) <= _DEEPEST else None
        return self._result(node.at, values)

    def _result(self, index: int, values: list) -> int:
        """Execute a scalar instruction on these values; returns its result."""
        reads, writes = self._shapes[index]
        assert writes is not None
        for (name, number), value in zip(reads, values, strict=True):
            self._scalars[name][number] = value
        self._code.functions[index](self._group)  # type: ignore[arg-type]
        return self._scalars[writes[0]][writes[1]]

    def evaluated(self, value: Value, place: Place) -> int:
        """A value in one work-group, unsigned."""
        if isinstance(value, int):
            return value
        if value[0] in _OFFSETS:
            return place.x if value[0] == _OFFSETS[0] else place.y
        return self._result(value[0], [self.evaluated(part, place) for part in value[1:]])


def offsets_of(value: Value) -> frozenset[str]:
    """The work-group's offsets that a value depends on."""
    if isinstance(value, int):
        return frozenset()
    if value[0] in _OFFSETS:
        return frozenset(value)
    return frozenset().union(*map(offsets_of, value[1:]))


def _depth(value: Value) -> int:
    return 1 + max(map(_depth, value[1:]), default=0) if isinstance(value, tuple) else 0
