"""What the control stack can hold before each instruction: the rule that programs must keep.

A control stack's entry names a mask and the instruction at which to go on. Hardware pops one for
`cpop`, and whenever no lane is active. So that its depth is known, every instruction must find the
same entries whichever way it is reached; none pops more than there are; and no more than sixteen
are pushed. The assembler refuses programs that break this, and with it every program for which
hardware could overflow or pop an empty stack.

Ref: Sim-D, section 3.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cyclebound.golden.simd.isa import STACK_KINDS, Instruction
from cyclebound.golden.simd.program import STACK_DEPTH

__all__ = ["Entry", "Flaw", "stacks_of", "successors"]


@dataclass(frozen=True)
class Entry:
    """An entry: the mask that it restores (run, break, ret), and where execution goes on."""

    mask: str
    target: int


Stack = tuple[Entry, ...]


class Flaw(ValueError):
    """A program that breaks the rule, and the instruction at which it does."""

    def __init__(self, index: int, said: str) -> None:
        super().__init__(said)
        self.index = index


def successors(index: int, instruction: Instruction, stack: Stack) -> Iterator[tuple[int, Stack]]:
    """Where execution may be after an instruction, with which entries.

    Entries are popped one by one while no lane is active: each of them may be the one that goes on.
    With an empty stack and no lane active, the work-group ends.
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
        yield following, _pushed(index, stack, Entry(STACK_KINDS[instruction.sub], target))
    elif name in ("bra", "call"):
        entry = Entry("run", target) if name == "bra" else Entry("ret", following)
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


def _pushed(index: int, stack: Stack, entry: Entry) -> Stack:
    if len(stack) == STACK_DEPTH:
        raise Flaw(index, f"the control stack holds {STACK_DEPTH} entries, and this is one more")
    return (*stack, entry)


def stacks_of(instructions: Sequence[Instruction]) -> list[Stack | None]:
    """The entries that each instruction finds; None for one that is never reached.

    Raises `Flaw` for a program in which they are not the same on all ways, overflow, are popped
    from an empty stack, or which runs on after its last instruction.
    """
    found: list[Stack | None] = [None] * len(instructions)
    if not instructions:
        return found
    found[0] = ()
    waiting = [0]
    while waiting:
        index = waiting.pop()
        stack = found[index]
        assert stack is not None
        for following, after in successors(index, instructions[index], stack):
            if following >= len(instructions):
                raise Flaw(index, "execution runs on after the last instruction; end with exit")
            known = found[following]
            if known is None:
                found[following] = after
                waiting.append(following)
            elif known != after:
                raise Flaw(following, "the control stack must be the same on all ways here, not "
                           f"{_text(known)} and {_text(after)}")
    return found


def _text(stack: Stack) -> str:
    return "[" + ", ".join(f"{each.mask} to {each.target}" for each in stack) + "]"
