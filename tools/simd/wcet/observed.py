"""Runs against the graph: which edges a work-group took, and how often its loops came back.

What the analysis takes from ``#bound`` is that a loop comes back so many times at most for each
entry, that a branch that leaves no loop follows its pattern, and that a register sd_* has no
greater value; from ``#flow``, that what each work-group executes adds up to no more than it says. A
run that shows something else contradicts the annotation: that is an error in the kernel's source,
and no violated bound.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from cyclebound.golden.simd.isa import SCALAR_SPECIAL, Kind
from cyclebound.golden.simd.program import Branches, Program
from cyclebound.golden.simd.work_group import INJECTED, TAKEN, Code, Function, WorkGroup
from cyclebound.tools.simd.wcet.annotations import Stays, annotations_of
from cyclebound.tools.simd.wcet.graph import Edge, How, Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.loops import Loop

__all__ = ["Annotations", "check_rounds", "checked_code", "edges_of"]


def edges_of(graph: RouteGraph, trace: Sequence[int]) -> Iterator[Edge]:
    """The edges of a work-group's whole trace, from its first instruction to its end.

    Raises `WcetError` for a step that the graph does not have: that would be an error in it.
    """
    node, place = graph.start, 1
    while True:
        taken = injected = 0
        while place < len(trace) and trace[place] < 0:
            taken += trace[place] == TAKEN
            injected += trace[place] == INJECTED
            place += 1
        target = trace[place] if place < len(trace) else None
        place += 1
        found = [edge for edge in graph.after[node]
                 if edge.injected == injected and (edge.how is How.TAKEN) == bool(taken)
                 and (edge.target.at if edge.target else None) == target]
        if len(found) != 1:
            raise WcetError(f"{graph.program.where(node.at)}: {len(found)} edges for a step to "
                            f"{target} with {injected} injected pops")
        yield found[0]
        if found[0].target is None:
            return
        node = found[0].target


def check_rounds(loops: BoundedLoops, trace: Sequence[int]) -> dict[Loop, int]:
    """The most rounds that each loop made for one entry.

    Raises `WcetError` where that is more than the loop's bound, with the annotation's line.
    """
    most: dict[Loop, int] = {}
    rounds: dict[Loop, int] = {}
    by_header: dict[object, list[Loop]] = {}
    for loop in loops.loops:
        by_header.setdefault(loop.header, []).append(loop)
    for edge in edges_of(loops.graph, trace):
        for loop in by_header.get(edge.target, ()):
            if edge.source not in loop.body:
                rounds[loop] = 0
            elif edge in loop.back:
                rounds[loop] += 1
                most[loop] = max(most.get(loop, 0), rounds[loop])
                bound = loops.bounds[loop]
                if rounds[loop] > bound.most:
                    where = loops.graph.program.where
                    raise WcetError(
                        f"{where(bound.branch.at)}: #bound branchcycle says that the loop at "
                        f"{where(loop.header.at)} comes back at most {bound.most} times, and "
                        f"it came back {rounds[loop]} times")
    return most


def checked_code(program: Program) -> Code:
    """The program's instructions, of which those after a ``#bound value`` raise `WcetError` where
    they write more than it says."""
    code = Code(program)

    def checked(index: int, most: int, number: int, run: Function) -> Function:
        def made(group: WorkGroup) -> None:
            run(group)
            if group.sc[number] > most:
                raise WcetError(f"{program.where(index)}: #bound value says at most {most}, and "
                                f"{group.sc[number]} is written to "
                                f"sc.{SCALAR_SPECIAL[number]}")
        return made

    for index, most in program.values.items():
        target = program.instructions[index].operand("D")
        if target is not None and target.kind is Kind.SCALAR_SPECIAL:
            code.functions[index] = checked(index, most, target.value, code.functions[index])
    return code


class Annotations:
    """``#bound branchcycle`` and ``#flow``, and runs that contradict them.

    Other loops of the kernel need no bound. What annotations say is `annotations_of`.

    Parameters
    ----------
    program : Program
        The kernel.

    Raises
    ------
    WcetError
        For a kernel whose routes cannot be told (`RouteGraph`), with line.
    """

    def __init__(self, program: Program) -> None:
        self._graph = graph = RouteGraph(program)
        self._steps: dict[Node, dict[tuple[int, bool, int], Edge]] = {}
        self._stays: dict[Edge, tuple[Loop, int]] = {}  # edges that stay, and how often at most
        self._entries: dict[Edge, list[Loop]] = {}
        self._patterns: dict[int, Branches] = {}  # of branches that leave no loop, by instruction
        for node, said in annotations_of(graph).items():
            if isinstance(said, Stays):
                self._stays[said.edge] = said.loop, said.most
            else:
                self._patterns[node.at] = said
        loops = {loop for loop, _ in self._stays.values()}
        for node, edges in graph.after.items():
            self._steps[node] = {(edge.target.at, edge.how is How.TAKEN, edge.injected): edge
                                 for edge in edges if edge.target is not None}
            for edge in edges:
                self._entries[edge] = [loop for loop in loops if edge.target == loop.header
                                       and node not in loop.body]

    @property
    def any(self) -> bool:
        """Whether there is something to check."""
        return bool(self._stays or self._patterns or self._graph.program.flows)

    def check(self, trace: Sequence[int]) -> None:
        """Follow a work-group's whole trace.

        Raises `WcetError` where a loop comes back more often than its annotation says, or a branch
        has another outcome, with the line of the branch that stands below the annotation; and
        where the work-group leaves a ``#flow``, with its line.
        """
        self._check_flows(trace)
        node, place, length = self._graph.start, 1, len(trace)
        stayed = dict.fromkeys(self._stays, 0)
        passed = dict.fromkeys(self._patterns, 0)
        of_loop: dict[Loop, list[Edge]] = {}
        for edge, (loop, _) in self._stays.items():
            of_loop.setdefault(loop, []).append(edge)
        while place < length:
            taken, injected = False, 0
            while place < length and trace[place] < 0:
                taken |= trace[place] == TAKEN
                injected += trace[place] == INJECTED
                place += 1
            if place == length:
                return
            edge = self._steps[node][trace[place], taken, injected]
            place += 1
            if node.at in passed:
                self._follow(node.at, passed[node.at], taken)
                passed[node.at] += 1
            assert edge.target is not None
            node = edge.target
            if edge in stayed:
                loop, most = self._stays[edge]
                stayed[edge] += 1
                if stayed[edge] > most:
                    where = self._graph.program.where
                    raise WcetError(
                        f"{where(edge.source.at)}: #bound branchcycle says that the loop at "
                        f"{where(loop.header.at)} comes back at most {most} times, and it came "
                        f"back {most + 1} times")
            for loop in self._entries[edge]:
                for each in of_loop.get(loop, ()):
                    stayed[each] = 0

    def _check_flows(self, trace: Sequence[int]) -> None:
        program = self._graph.program
        if not program.flows:
            return
        times = Counter(trace)
        if program.instructions[trace[-1]].operation.access:  # the exit after it is part of it
            times[trace[-1] + 1] += 1
        for flow in program.flows:
            total = sum(factor * times[place] for place, factor in flow.terms.items())
            if total > flow.most:
                counted = ", ".join(f"{times[place]} times at {program.where(place)}"
                                    for place in flow.terms)
                raise WcetError(f"{program.name}: line {flow.line}: {flow.text!r} does not hold: a "
                                f"work-group passes {counted.replace(program.name + ': ', '')}")

    def _follow(self, at: int, passed: int, taken: bool) -> None:
        """Compare an outcome with its pattern, ``passed`` executions after the first."""
        pattern = self._patterns[at]
        says = (pattern.start + passed) % (pattern.taken + pattern.not_taken) < pattern.taken
        if taken != says:
            outcome = {True: "taken", False: "not taken"}
            raise WcetError(
                f"{self._graph.program.where(at)}: #bound branchcycle says that the branch is "
                f"{outcome[says]} when it is executed for time {passed + 1}, and it was "
                f"{outcome[taken]}")

