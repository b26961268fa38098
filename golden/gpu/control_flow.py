"""The control flow of a kernel: what can follow what, what is reached, its loops and its calls."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from cyclebound.golden.gpu.instruction import Instruction, Kernel, Register, Target, Targets, Word
from cyclebound.golden.gpu.opcodes import Opcode, opcode_of

__all__ = ["Flow", "Function", "Loop", "flow_of", "halves"]


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
class Function:
    """The code of one activation: the kernel itself, or a function that it calls.

    Attributes
    ----------
    entry : int
        Index of its first instruction.
    body : frozenset[int]
        Indices of its instructions, without those of functions that it calls.
    calls : dict[int, int]
        Entries of called functions, by the index of the call.
    loops : tuple[Loop, ...]
        Outer ones before those inside; one for each header.
    edges : frozenset of (int, int)
        Which instruction can follow which, a call apart.
    """

    entry: int
    body: frozenset[int]
    calls: dict[int, int]
    loops: tuple[Loop, ...]
    edges: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Flow:
    """The control flow of a kernel.

    Attributes
    ----------
    functions : tuple[Function, ...]
        The kernel first, each function after all that call it.
    diverges : frozenset[int]
        Indices of instructions that can be executed after a conditional branch.
    problems : tuple[str, ...]
        What the analysis cannot follow, each with its line. Not empty: nothing else may be used.
    """

    functions: tuple[Function, ...]
    diverges: frozenset[int]
    problems: tuple[str, ...]

    @property
    def reached(self) -> frozenset[int]:
        """Indices of the instructions that can be executed."""
        return frozenset().union(*(function.body for function in self.functions))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All loops of all functions, each header once; outer ones before those inside."""
        loops = {loop.line: loop for function in self.functions for loop in function.loops}
        return tuple(sorted(loops.values(), key=lambda loop: -len(loop.body)))

    def executions(self, loops: Mapping[int, int]) -> dict[int, int]:
        """How often a thread executes each instruction that is reached, at most.

        Parameters
        ----------
        loops : Mapping[int, int]
            By line of a loop's first instruction: how often that is executed at most each time
            the loop is entered.
        """
        activations = dict.fromkeys((function.entry for function in self.functions), 0)
        activations[self.functions[0].entry] = 1
        executions = dict.fromkeys(self.reached, 0)
        for function in self.functions:
            for number in function.body:
                times = activations[function.entry]
                for loop in function.loops:
                    if number in loop.body:
                        times *= loops[loop.line]
                executions[number] += times
                if number in function.calls:
                    activations[function.calls[number]] += times
        return executions


@dataclass(frozen=True)
class _Step:
    """Successors of an instruction: indices, the entry that it calls, or why they are unknown."""

    follows: frozenset[int] = frozenset()
    calls: int | None = None
    problem: str = ""


def flow_of(kernel: Kernel, opcodes: Mapping[str, Opcode] | None = None) -> Flow:
    """The control flow of a kernel.

    A call to an address of the kernel is followed, and taken to return to the instruction after
    it, if an instruction of the kernel loads that address.

    Parameters
    ----------
    opcodes : Mapping[str, Opcode], optional
        Of a user, besides those that are known.
    """
    index = {instruction.address: number for number, instruction in enumerate(kernel.instructions)}
    problems: dict[int, str] = {}
    irreducible: list[str] = []
    functions: dict[int, Function] = {}
    whole = nx.DiGraph()  # with the edges of calls and returns
    conditional: set[int] = set()
    waiting = [0]
    while waiting:
        entry = waiting.pop()
        if entry in functions:
            continue
        graph, calls = nx.DiGraph(), {}
        graph.add_node(entry)
        rest = [entry]
        seen = {entry}
        while rest:
            number = rest.pop()
            current = kernel.instructions[number]
            step = _step(kernel, number, current, opcode_of(current.name, opcodes), index,
                         called=entry != 0)
            if step.problem:
                problems[number] = f"line {current.line}: {step.problem}"
            if step.calls is not None:
                calls[number] = step.calls
            if len(step.follows) > 1:
                conditional.add(number)
            graph.add_edges_from((number, other) for other in step.follows)
            rest += step.follows - seen
            seen |= step.follows
        loops, cycles = _loops(graph, kernel, entry)
        irreducible += [cycle for cycle in cycles if cycle not in irreducible]
        functions[entry] = Function(entry, frozenset(graph), calls, loops,
                                    frozenset(graph.edges))
        whole.add_nodes_from(graph)
        whole.add_edges_from(graph.edges)
        waiting += calls.values()
    calling = nx.DiGraph()
    calling.add_nodes_from(functions)
    for function in functions.values():
        for number, call in function.calls.items():
            calling.add_edge(function.entry, call)
            whole.add_edge(number, call)
            whole.add_edges_from((last, number + 1) for last in functions[call].body
                                 if kernel.instructions[last].opcode == "RET")
    if nx.is_directed_acyclic_graph(calling):
        order = list(nx.lexicographical_topological_sort(calling))
    else:
        order = [0, *sorted(set(functions) - {0})]
        recursive = min(min(part) for part in nx.strongly_connected_components(calling)
                        if len(part) > 1 or calling.has_edge(min(part), min(part)))
        irreducible.append(f"line {kernel.instructions[recursive].line}: a function that calls "
                           "itself")
    diverges = frozenset(descendant for number in conditional for after in whole.successors(number)
                         for descendant in (after, *nx.descendants(whole, after)))
    return Flow(tuple(functions[entry] for entry in order), diverges, tuple(
        problems[number] for number in sorted(problems)) + tuple(irreducible))


def _step(kernel: Kernel, number: int, instruction: Instruction, opcode: Opcode | None,
          index: Mapping[int, int], *, called: bool) -> _Step:
    """The successors of an instruction, of the kernel or of a function that it calls."""
    following = number + 1 if number + 1 < len(kernel.instructions) else None
    kind = opcode.kind if opcode is not None else "data"
    always = instruction.unconditional and not _has_predicate(instruction)
    if instruction.guard is not None and instruction.guard.never:
        kind = "data"
    successors: set[int] = set()
    calls, problem = None, ""
    if kind == "call" and instruction.opcode == "RET":
        if not called:
            problem = f"{instruction.name}: returns, but no call of {kernel.name} leads here"
    elif kind == "call":
        calls, problem = _callee(kernel, instruction, following, index)
        always = False
    elif kind == "branch":
        successors, problem = _goals(kernel, instruction, index)
        always = always and not {"DIV", "CONV"} & set(instruction.modifiers)
    elif kind != "exit":
        if instruction.opcode == "WARPSYNC" and "COLLECTIVE" in instruction.modifiers:
            successors, problem = _goals(kernel, instruction, index)
        always = False
    if problem or not always:
        if following is None:
            problem = problem or (
                f"{kernel.name} goes on after its last instruction, {instruction.name}: the "
                "listing was cut off")
        else:
            successors = successors | {following}
    return _Step(frozenset(successors), calls, problem)


def _has_predicate(instruction: Instruction) -> bool:
    """Whether a branch or an exit has a condition among its operands."""
    return any(isinstance(operand, Register) and operand.name.lstrip("U").startswith("P")
               and operand.name.lstrip("U") != "PT" for operand in instruction.operands)


def _goals(kernel: Kernel, instruction: Instruction, index: Mapping[int, int]
           ) -> tuple[set[int], str]:
    """Indices of where a branch goes, or why that is not known."""
    noted = next((operand for operand in instruction.operands if isinstance(operand, Targets)),
                 None)
    if noted is not None:
        addresses = [kernel.labels[name] if name in kernel.labels else _number(name)
                     for name in noted.names]
    elif instruction.opcode in ("BRA", "JMP", "WARPSYNC"):
        addresses = [_target(kernel, instruction)]
    else:
        addresses = []
    if not addresses:
        return set(), f"{instruction.name}: an indirect branch has no known targets"
    for address in addresses:
        if address is None or address not in index:
            shown = "its target" if address is None else f"{address:#x}"
            return set(), f"{instruction.name}: {shown} is no instruction of {kernel.name}"
    return {index[address] for address in addresses if address is not None}, ""


def _callee(kernel: Kernel, instruction: Instruction, following: int | None,
            index: Mapping[int, int]) -> tuple[int | None, str]:
    """Index of a called function's first instruction, or why the call cannot be followed."""
    if instruction.opcode != "CALL":
        return None, f"{instruction.name}: calls and returns are not followed"
    if any(isinstance(operand, Register) and not _is_predicate(operand)
           for operand in instruction.operands):
        return None, f"{instruction.name}: an indirect call has no known target"
    address = _target(kernel, instruction)
    if address is None or address not in index:
        shown = "its function" if address is None else f"{address:#x}"
        return None, f"{instruction.name}: {shown} is not in {kernel.name}"
    if following is None or not _returns_to(kernel, following):
        return None, (f"{instruction.name}: no instruction loads the address after it, so that "
                      "where it returns to is not known")
    return index[address], ""


def _is_predicate(register: Register) -> bool:
    return register.name.lstrip("U").startswith("P")


def _returns_to(kernel: Kernel, number: int) -> bool:
    """Whether an instruction loads this one's address: as a number, as a label, or as halves."""
    address = kernel.instructions[number].address
    labels = {name for name, where in kernel.labels.items() if where == address}
    for instruction in kernel.instructions:
        words = [operand.text for operand in instruction.operands if isinstance(operand, Word)]
        if any(_number(word) == address for word in words):
            return True
        if any("@" in word and labels & set(word.replace("(", " ").replace("@", " ").split())
               for word in words):
            return True
        if instruction.opcode == "HFMA2" and len(words) == 2 and halves(words) == address:
            return True
    return False


def halves(words: list[str]) -> int | None:
    """The number whose halves are these 16-bit floats, as ``HFMA2.MMA R8, -RZ, RZ, ...`` loads."""
    try:
        low, high = (int.from_bytes(struct.pack("<e", float(word)), "little")
                     for word in reversed(words))
    except (ValueError, OverflowError):
        return None
    return high << 16 | low


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _target(kernel: Kernel, instruction: Instruction) -> int | None:
    for operand in reversed(instruction.operands):
        if isinstance(operand, Target):
            return kernel.labels.get(operand.label or "")
        if isinstance(operand, Word):
            return _number(operand.text)
    return None


def _loops(graph: nx.DiGraph, kernel: Kernel, entry: int
           ) -> tuple[tuple[Loop, ...], tuple[str, ...]]:
    """Natural loops, outermost first, and cycles that are none."""
    dominators = nx.immediate_dominators(graph, entry)

    def dominates(one: int, other: int) -> bool:
        while other != one and other != entry:
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
        rest = [source for source in sources if source != header]
        while rest:
            for before in graph.predecessors(rest.pop()):
                if before not in body:
                    body.add(before)
                    rest.append(before)
        loops.append(Loop(header, frozenset(body), kernel.instructions[header].line))
    return tuple(sorted(loops, key=lambda loop: -len(loop.body))), irreducible
