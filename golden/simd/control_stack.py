"""Contents that the control stack can have before each instruction: a rule for programs.

A control stack's entry names a mask and the instruction at which to go on. Hardware pops one for
`cpop`, and whenever no lane is active. The assembler refuses a program in which, on some path
through it, an empty stack is popped by `cpop` or more than sixteen entries are pushed. Paths are
followed without regard to values, so that a program which is accepted keeps the rule whatever its
data.

Ref: Sim-D, section 3.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cyclebound.golden.simd.isa import STACK_KINDS, Instruction
from cyclebound.golden.simd.program import STACK_DEPTH

__all__ = ["STATES", "Flaw", "StackEntry", "stacks_of", "successors"]

STATES = 200_000


@dataclass(frozen=True)
class StackEntry:
    """An entry: the mask that it restores (run, break, ret), and where execution goes on."""

    mask: str
    target: int


Stack = tuple[StackEntry, ...]


class Flaw(ValueError):
    """A program that breaks the rule, and the instruction at which it does."""

    def __init__(self, index: int, said: str) -> None:
        super().__init__(said)
        self.index = index


def successors(index: int, instruction: Instruction, stack: Stack) -> Iterator[tuple[int, Stack]]:
    """Yield the instructions at which execution may go on, each with the stack's entries then.

    Entries are popped one by one while no lane is active: each of them may be the one that goes on.
    With an empty stack and no lane active, the work-group ends.

    Raises `Flaw` for a cpop that finds the stack empty, and for an entry for which it has no room.
    """
    name, following = instruction.name, index + 1
    label = instruction.operand("B")
    target = label.value if label is not None else following
    popped = [(stack[depth].target, stack[:depth]) for depth in reversed(range(len(stack)))]
    if name == "j":
        yield target, stack
    elif name == "sicj":
        yield target, stack
        yield following, stack
    elif name == "cpush":
        yield following, _pushed(index, stack, StackEntry(STACK_KINDS[instruction.sub], target))
    elif name in ("bra", "call"):
        entry = StackEntry("run", target) if name == "bra" else StackEntry("ret", following)
        yield (following if name == "bra" else target), _pushed(index, stack, entry)
        yield entry.target, stack  # no lane is left: it is popped at once
        yield from popped
    elif name == "cpop":
        if not stack:
            raise Flaw(index, "cpop finds the control stack empty")
        yield from popped
    elif name == "exit" and instruction.operand("A") is None:
        yield from popped
    else:
        yield following, stack
        if name in ("cmask", "brk", "ret", "exit"):
            yield from popped


def _pushed(index: int, stack: Stack, entry: StackEntry) -> Stack:
    if len(stack) == STACK_DEPTH:
        raise Flaw(index, f"the control stack holds {STACK_DEPTH} entries, and this is one more")
    return (*stack, entry)


def stacks_of(instructions: Sequence[Instruction]) -> list[set[Stack]]:
    """The stacks that each instruction may find; none for one that is never reached.

    Every path through the program is followed with its own stack, so that a function may be called
    from several places. Raises `Flaw` where a stack overflows or an empty one is popped, where
    execution runs on after the last instruction, and for a program with more than `STATES` pairs
    of an instruction and a stack.
    """
    stacks: list[set[Stack]] = [set() for _ in instructions]
    waiting: list[tuple[int, Stack]] = [(0, ())] if instructions else []
    count = 0
    while waiting:
        index, stack = waiting.pop()
        if stack in stacks[index]:
            continue
        stacks[index].add(stack)
        count += 1
        if count > STATES:
            raise Flaw(index, f"more than {STATES} paths lead through the program")
        for following, after in successors(index, instructions[index], stack):
            if following >= len(instructions):
                raise Flaw(index, "execution runs on after the last instruction; end with exit")
            waiting.append((following, after))
    return stacks
