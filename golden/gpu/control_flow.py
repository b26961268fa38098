"""The control flow of a kernel: what can follow what, what is reached, and its loops."""

from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from cyclebound.golden.gpu.instruction import Instruction, Kernel, Register, Target, Word
from cyclebound.golden.gpu.opcodes import Opcode, opcode_of

__all__ = ["Flow", "Loop", "flow_of"]


@dataclass(frozen=True)
class Loop:
    """A natural loop.

    Attributes
    ----------
    header : int
        Index of the instruction through which every iteration comes.
    body : frozenset[int]
        Indices of all its instructions.
    line : int
        Of the header in the listing.
    """

    header: int
    body: frozenset[int]
    line: int


@dataclass(frozen=True)
class Flow:
    """What the control flow allows.

    Attributes
    ----------
    reached : frozenset[int]
        Indices of the instructions that can be executed.
    loops : tuple[Loop, ...]
        Outer ones before those inside; one for each header.
    diverges : frozenset[int]
        Those that can be executed after a conditional branch.
    problems : tuple[str, ...]
        What the analysis cannot follow, each with its line. Not empty: nothing else may be used.
    """

    reached: frozenset[int]
    loops: tuple[Loop, ...]
    diverges: frozenset[int]
    problems: tuple[str, ...]


def flow_of(kernel: Kernel, opcodes: Mapping[str, Opcode] | None = None) -> Flow:
    """The control flow of a kernel.

    Parameters
    ----------
    opcodes : Mapping[str, Opcode], optional
        Of a user, besides those that are known.
    """
    index = {each.address: number for number, each in enumerate(kernel.instructions)}
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(kernel.instructions)))
    problems: dict[int, str] = {}
    conditional = []
    for number, each in enumerate(kernel.instructions):
        follows = _successors(kernel, number, each, opcode_of(each.name, opcodes), index)
        if isinstance(follows, str):
            problems[number] = f"line {each.line}: {follows}"
            follows = {number + 1} & set(graph)
        graph.add_edges_from((number, other) for other in follows)
        if len(follows) > 1:
            conditional.append(number)
    reached = frozenset({0} | nx.descendants(graph, 0))
    graph = graph.subgraph(reached).copy()
    loops, irreducible = _loops(graph, kernel)
    diverges = frozenset(each for number in conditional if number in reached
                         for after in graph.successors(number)
                         for each in (after, *nx.descendants(graph, after)))
    return Flow(reached, loops, diverges, tuple(
        problems[number] for number in sorted(problems) if number in reached) + irreducible)


def _successors(kernel: Kernel, number: int, instruction: Instruction, opcode: Opcode | None,
                index: Mapping[int, int]) -> set[int] | str:
    """Indices of what can come next, or why that is not known."""
    following = number + 1 if number + 1 < len(kernel.instructions) else None
    kind = opcode.kind if opcode is not None else "data"
    always = instruction.unconditional and not _has_predicate(instruction)
    if instruction.guard is not None and instruction.guard.never:
        kind = "data"
    if kind == "call":
        return f"{instruction.name}: calls and returns are not followed"
    if kind == "exit":
        found: set[int] = set()
    elif kind == "branch":
        if instruction.opcode not in ("BRA", "JMP"):
            return f"{instruction.name}: an indirect branch has no known targets"
        address = _target(kernel, instruction)
        if address is None or address not in index:
            shown = "its target" if address is None else f"{address:#x}"
            return f"{instruction.name}: {shown} is no instruction of {kernel.name}"
        found = {index[address]}
        always = always and not {"DIV", "CONV"} & set(instruction.modifiers)
    else:
        found, always = set(), False
    if not always:
        if following is None:
            return (f"{kernel.name} goes on after its last instruction, {instruction.name}: the "
                    "listing was cut off")
        found.add(following)
    return found


def _has_predicate(instruction: Instruction) -> bool:
    """Whether a branch or an exit has a condition among its operands."""
    return any(isinstance(each, Register) and each.name.lstrip("U").startswith("P")
               and each.name.lstrip("U") != "PT" for each in instruction.operands)


def _target(kernel: Kernel, instruction: Instruction) -> int | None:
    for operand in reversed(instruction.operands):
        if isinstance(operand, Target):
            return kernel.labels.get(operand.label)
        if isinstance(operand, Word):
            try:
                return int(operand.text, 0)
            except ValueError:
                return None
    return None


def _loops(graph: nx.DiGraph, kernel: Kernel) -> tuple[tuple[Loop, ...], tuple[str, ...]]:
    """Natural loops, outermost first, and cycles that are none."""
    dominators = nx.immediate_dominators(graph, 0)

    def dominates(one: int, other: int) -> bool:
        while other != one and other != 0:
            other = dominators[other]
        return other == one

    back: dict[int, list[int]] = {}
    for source, target in list(graph.edges):
        if dominates(target, source):
            back.setdefault(target, []).append(source)
    forward = graph.copy()
    forward.remove_edges_from((source, target) for target, sources in back.items()
                              for source in sources)
    cycles = [] if nx.is_directed_acyclic_graph(forward) else [
        min(part) for part in nx.strongly_connected_components(forward) if len(part) > 1]
    irreducible = tuple(
        f"line {kernel.instructions[number].line}: a loop with more than one entry"
        for number in sorted(cycles))
    loops = []
    for header, sources in back.items():
        body = {header, *sources}
        rest = [each for each in sources if each != header]
        while rest:
            for before in graph.predecessors(rest.pop()):
                if before not in body:
                    body.add(before)
                    rest.append(before)
        loops.append(Loop(header, frozenset(body), kernel.instructions[header].line))
    return tuple(sorted(loops, key=lambda loop: -len(loop.body))), irreducible
