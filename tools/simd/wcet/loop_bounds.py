"""How often each loop comes back to its header, for each time that it is entered.

A loop ends by a ``sicj`` that every round passes and of which one outcome leaves the loop. Its
bound is

- *inferred*, where the register that it tests follows from known values (`scalars`) by scalar
  instructions that run once in each round: these are carried out until the loop is left. If nothing
  else leaves the loop, the number is exact, and the same in all work-groups;
- or *annotated*, by ``#bound branchcycle T N``: no more stays in a row than the pattern has. A run
  that shows more is an error in the annotation (`observed`). One of a branch that leaves another
  loop on the whole graph is not used (`annotations`).

Ref: Sim-D, section 5.4.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cyclebound.golden.simd import arithmetic
from cyclebound.golden.simd.isa import Kind, Timing
from cyclebound.golden.simd.machine import Grid
from cyclebound.tools.simd.wcet.annotations import Stays, annotations_of
from cyclebound.tools.simd.wcet.graph import How, Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.loops import Dominators, Loop, loops_of, nested, parts_of
from cyclebound.tools.simd.wcet.scalars import Register, ScalarValues, Value, written_scalars

__all__ = ["BoundedLoops", "LoopBound"]

_MOST = 1 << 16  # rounds that are carried out to infer a bound
_OPPOSITE = {"ez": "nz", "nz": "ez", "g": "le", "le": "g", "l": "ge", "ge": "l"}
_LEAVING = {"ez": (0, 0), "g": (1, (1 << 31) - 1), "ge": (0, (1 << 31) - 1),
            "l": (-1 << 31, -1), "le": (-1 << 31, 0)}  # values for which a condition holds
_COMPUTED = (Timing.SCALAR, Timing.DIVIDE)


@dataclass(frozen=True)
class LoopBound:
    """``most`` returns to the header for each entry; ``exact``: never fewer.

    ``branch`` is the ``sicj`` that leaves, ``inferred`` how the bound was found.
    """

    most: int
    exact: bool
    inferred: bool
    branch: Node


def _stays(first: int, step: int, condition: str, leaves_taken: bool) -> int | None:
    """How many of the values first, first + step, ... come before one that leaves the loop, without
    following them one by one. None: the values go beyond 32 bits before that."""
    def signed(value: int) -> int:
        return (value & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000

    first, step = signed(first), signed(step)
    if not leaves_taken:
        condition = _OPPOSITE[condition]
    if condition == "nz":
        return 0 if first else None if not step else 1
    low, high = _LEAVING[condition]
    if low <= first <= high:
        return 0
    if step > 0 and first < low:
        stays = -(-(low - first) // step)
    elif step < 0 and first > high:
        stays = -(-(first - high) // -step)
    else:
        return None
    return stays if low <= first + step * stays <= high else None


class BoundedLoops:
    """The loops of a graph, each with its bound.

    Parameters
    ----------
    graph : RouteGraph
        The kernel.
    grid : Grid or None
        For bounds that depend on its dimensions.

    Attributes
    ----------
    loops : list of Loop
        The innermost first.
    bounds : dict
        `LoopBound` of each loop.

    Raises
    ------
    WcetError
        For a loop without a bound, with its line and what would give it one, and for an
        annotation that the kernel contradicts.
    """

    def __init__(self, graph: RouteGraph, grid: Grid | None = None) -> None:
        self.graph = graph
        self.dominators = Dominators(graph)
        self.values = ScalarValues(graph, self.dominators, grid)
        self.bounds: dict[Loop, LoopBound] = {}
        self.loops = loops_of(graph, self.dominators)
        self._innermost = self._owners(self.loops)
        for loop in list(self.loops):
            bound = self._bound(loop)
            if bound is not None:
                self.bounds[loop] = bound
                continue
            parts = self._split(loop)
            self.loops = nested([inner for inner in self.loops if inner is not loop] + parts)
            self._innermost = self._owners(self.loops)
            for part in parts:
                self.bounds[part] = self._part_bound(part)

    @staticmethod
    def _owners(loops: list[Loop]) -> dict[Node, Loop]:
        owners: dict[Node, Loop] = {}
        for loop in loops:  # the innermost first
            for node in loop.body:
                owners.setdefault(node, loop)
        return owners

    def innermost(self, node: Node) -> Loop | None:
        """The smallest loop around a node."""
        return self._innermost.get(node)

    # -- one loop ------------------------------------------------------------------------------

    def _bound(self, loop: Loop) -> LoopBound | None:
        """The least of the bounds that a branch of the loop gives it."""
        found = []
        for node in loop.body:
            if self.graph.instruction(node).name != "sicj" or not self.once(loop, node):
                continue
            leaving = [edge for edge in self.graph.after[node] if loop.leaves(edge)]
            if len(leaving) == 1:
                bound = self._of_branch(loop, node, leaving[0].how is How.TAKEN)
                if bound is not None:
                    found.append(bound)
        return min(found, key=lambda bound: (bound.most, not bound.exact), default=None)

    def once(self, loop: Loop, node: Node) -> bool:
        """Every round passes the node once."""
        return self._innermost.get(node) in (None, loop) and all(
            self.dominators.on_every_route(node, edge.source) for edge in loop.back)

    def _of_branch(self, loop: Loop, node: Node, leaves_taken: bool) -> LoopBound | None:
        program = self.graph.program
        inferred = self._inferred(loop, node, leaves_taken)
        said = annotations_of(self.graph).get(node)
        annotated = said.most if isinstance(said, Stays) and said.bounds(loop) else None
        only = not any(loop.leaves(edge) for member in loop.body if member != node
                       for edge in self.graph.after[member])
        if inferred is not None and annotated is not None and only and inferred > annotated:
            raise WcetError(f"{program.where(node.at)}: #bound branchcycle says that the loop "
                            f"at {program.where(loop.header.at)} comes back at most "
                            f"{annotated} times, and it does {inferred} times")
        if inferred is not None:
            if annotated is not None and annotated < inferred:
                return LoopBound(annotated, False, False, node)
            return LoopBound(inferred, only, True, node)
        return None if annotated is None else LoopBound(annotated, False, False, node)

    def _inferred(self, loop: Loop, branch: Node, leaves_taken: bool) -> int | None:
        """Stays before the branch leaves, from known values; None: they are not."""
        counter, order, lost, known = self._counting(loop, branch)
        first = known.get(counter)
        if len(order) == 2 and isinstance(first, int) and not any(counter in gone for gone in lost):
            writer = next(node for node in order if node != branch)
            step = self._growth(writer, counter)
            if step is not None and self.graph.instruction(writer).name in ("siadd", "sisub"):
                stays = _stays(first + step * (order[0] == writer), step,
                               self.graph.instruction(branch).sub, leaves_taken)
                if stays is not None:
                    return stays
        for stays, taken in zip(range(_MOST), self.outcomes(loop, branch), strict=False):
            if taken == leaves_taken:
                return stays
        return None

    def outcomes(self, loop: Loop, branch: Node) -> Iterator[bool]:
        """Whether a `sicj` that each round passes once is taken in the first, second, ... of them,
        from known values; as far as these are known."""
        counter, order, lost, known = self._counting(loop, branch)
        compare = arithmetic.CONDITIONS[self.graph.instruction(branch).sub]
        while True:
            for node, gone in zip(order, lost, strict=True):
                for register in gone:
                    known.pop(register, None)
                if node == branch:
                    tested = known.get(counter)
                    if not isinstance(tested, int):
                        return
                    yield compare(tested ^ 0x8000_0000, 0x8000_0000)
                else:
                    self.values.carry_out(node, known)

    def _counting(self, loop: Loop, branch: Node) -> tuple[
            Register, list[Node], list[set[Register]], dict[Register, Value]]:
        """What a `sicj` tests; the instructions of a round that it follows from, itself among
        them; what is lost before each; and what is known when the loop is entered."""
        tested = self.graph.instruction(branch).operand("A")
        assert tested is not None
        counter: Register = ("s", tested.value)
        writers = self._writers(loop)
        needed, inputs, steps = [counter], set[Register](), {branch}
        while needed:
            register = needed.pop()
            if register not in inputs:
                inputs.add(register)
                found = {node for node in writers.get(register, ()) if self.once(loop, node)
                         and self.graph.instruction(node).operation.timing in _COMPUTED}
                steps |= found
                needed += [read for node in found for read in self.values.reads(node)]
        order = sorted(steps, key=self.dominators.place.__getitem__)
        # What else may be written between two of these steps, whichever route is taken.
        lost = [self._lost(loop, before, order)
                for before in [None, *order[:-1]]]
        lost[0] |= self._lost(loop, order[-1], order)
        known: dict[Register, Value] = {
            register: value for register, value in self.at_entry(loop, inputs).items()
            if isinstance(value, int)}
        return counter, order, lost, known

    def _writers(self, loop: Loop) -> dict[Register, list[Node]]:
        writers: dict[Register, list[Node]] = {}
        for node in loop.body:
            for register in self._writes(node):
                writers.setdefault(register, []).append(node)
        return writers

    def _writes(self, node: Node) -> list[Register]:
        return written_scalars(self.graph, node, self.values.before(node))

    def _lost(self, loop: Loop, after: Node | None, steps: list[Node]) -> set[Register]:
        """Registers written between ``after`` (None: the header) and the next of ``steps``."""
        waiting = [loop.header] if after is None else \
            [edge.target for edge in self.graph.after[after] if edge.target is not None]
        seen: set[Node] = set()
        while waiting:
            node = waiting.pop()
            if node in seen or node in steps or node not in loop.body \
                    or (after is not None and node == loop.header):
                continue
            seen.add(node)
            waiting += [edge.target for edge in self.graph.after[node] if edge.target is not None]
        return {register for node in seen for register in self._writes(node)}

    def steps_of(self, node: Node, register: Register) -> tuple[Value, int, range] | None:
        """A register that a loop counts with: its value when the loop is entered, by how much it
        grows, and how often it may have grown before ``node``. None: it is something else."""
        loop = self.innermost(node)
        while loop is not None:
            writers = self._writers(loop).get(register, [])
            if not writers:
                loop = loop.parent
                continue
            if len(writers) > 1 or not self.once(loop, writers[0]):
                return None
            (writer,) = writers
            instruction = self.graph.instruction(writer)
            step = self._growth(writer, register)
            first = self.at_entry(loop, {register}).get(register)
            if instruction.name not in ("siadd", "sisub") or step is None or first is None:
                return None
            # A node that every round passes on its way to the writer comes before it in each.
            early = self.dominators.on_every_route(node, writer)
            late = self.dominators.on_every_route(writer, node)
            return first, step, range(int(late), self.bounds[loop].most + 2 - int(early))
        return None

    def _growth(self, node: Node, register: Register) -> int | None:
        instruction = self.graph.instruction(node)
        a, b = instruction.operand("A"), instruction.operand("B")
        if a is None or b is None or ("s", a.value) != register:
            return None
        value: Value | None = b.value
        if b.kind is Kind.SCALAR:
            value = self.values.before(node).get(("s", b.value))
        if not isinstance(value, int):
            return None
        return value if instruction.name == "siadd" else -value

    def at_entry(self, loop: Loop, inputs: set[Register]) -> dict[Register, Value]:
        """The values of these registers that are the same at every entry into the loop."""
        arriving = [self.values.step(edge.source, self.values.before(edge.source))
                    for edge in self.graph.before[loop.header] if edge.source not in loop.body]
        if loop.header == self.graph.start:
            arriving.append(dict(self.values.before(loop.header)) if not arriving else {})
        return {register: arriving[0][register] for register in inputs
                if all(register in value for value in arriving)
                and len({value[register] for value in arriving}) == 1}

    # -- several back edges to one header --------------------------------------------------------

    def _split(self, loop: Loop) -> list[Loop]:
        """The loop's back edges as loops of their own, one within the other."""
        parts = parts_of(self.graph, loop)
        if not parts:
            raise self._unbounded(loop)
        return parts

    def _part_bound(self, part: Loop) -> LoopBound:
        bound = self._bound(part)
        if bound is None:
            raise self._unbounded(part)
        return bound

    def _unbounded(self, loop: Loop) -> WcetError:
        program = self.graph.program
        ends = ", ".join(program.where(index).partition(": ")[2]
                         for index in sorted({edge.source.at for edge in loop.back}))
        branches = sorted({node.at for node in loop.body
                           if self.graph.instruction(node).name == "sicj"
                           and any(map(loop.leaves, self.graph.after[node]))})
        if branches:
            places = " or ".join(program.where(index).partition(": ")[2] for index in branches)
            said = f"put #bound branchcycle T N before the sicj at {places}"
            if any(index in program.branches for index in branches):
                said = (f"the annotated sicj at {places} is not passed in every round, never "
                        "leaves, or leaves another loop first")
        else:
            said = "no sicj leaves it"
        return WcetError(f"{program.where(loop.header.at)}: the loop that begins here, and "
                         f"comes back from {ends}, has no bound: {said}")
