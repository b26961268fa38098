"""A kernel as hardware gets it: instructions, and the buffers that they name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cyclebound.golden.dram.request import BURST_BYTES, WORD_BYTES
from cyclebound.golden.simd.isa import Instruction
from cyclebound.golden.simd.machine import SCRATCHPAD_WORDS, Machine

__all__ = ["BUFFERS", "INSTRUCTIONS", "SCRATCHPAD_BYTES", "STACK_DEPTH", "Branches", "Buffer",
           "Flow", "Program"]

INSTRUCTIONS = 2048       # of a program at most [Sim-D's model]
BUFFERS = 32              # of DRAM, and of a scratchpad
STACK_DEPTH = 16          # entries of the control stack
SCRATCHPAD_BYTES = WORD_BYTES * SCRATCHPAD_WORDS
_APART = 1024 * BURST_BYTES  # a row across all banks of the smaller part


@dataclass(frozen=True)
class Buffer:
    """A mapped buffer: ``y`` lines of ``x`` words from byte ``address`` on.

    ``source`` is the file with its content and ``form`` its kind: ``d`` numbers in CSV, ``f`` raw
    words, ``n`` none.
    """

    number: int
    address: int
    x: int
    y: int
    form: str = "n"
    source: str = ""

    @property
    def words(self) -> int:
        return self.x * self.y

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.address + WORD_BYTES * self.words


@dataclass(frozen=True)
class Branches:
    """``#bound branchcycle``: ``taken`` times taken, then ``not_taken`` times not, and again.

    The first execution is at ``start`` in this pattern.
    """

    taken: int
    not_taken: int
    start: int = 0


@dataclass(frozen=True)
class Flow:
    """``#flow``: in the whole run of each work-group, ``terms`` add up to ``most`` at most.

    ``terms``: by instruction, what each of its executions counts; those of the annotation's right
    side are negative. ``text`` is the annotation, in ``line`` of the source.
    """

    terms: Mapping[int, int]
    most: int
    text: str
    line: int


@dataclass(frozen=True)
class Program:
    """An assembled kernel.

    Attributes
    ----------
    name : str
        Of its file.
    instructions : tuple of Instruction
        From address 0 on.
    lines : tuple of int
        The source line of each.
    labels : mapping
        Label to instruction.
    buffers, scratchpad_buffers : mapping
        By number.
    branches : mapping
        ``#bound branchcycle`` by the instruction that it stands before.
    values : mapping
        ``#bound value`` likewise.
    flows : tuple of Flow
        ``#flow``.
    sources : tuple of int
        The line of the kernel that a compiler made each instruction of (``#line``), 0 before the
        first such line; empty for a program that has none.
    """

    name: str
    instructions: tuple[Instruction, ...]
    lines: tuple[int, ...] = ()
    labels: Mapping[str, int] = field(default_factory=dict)
    buffers: Mapping[int, Buffer] = field(default_factory=dict)
    scratchpad_buffers: Mapping[int, Buffer] = field(default_factory=dict)
    branches: Mapping[int, Branches] = field(default_factory=dict)
    values: Mapping[int, int] = field(default_factory=dict)
    flows: tuple[Flow, ...] = ()
    sources: tuple[int, ...] = ()

    def where(self, index: int) -> str:
        """An instruction's place, for a message."""
        line = f"line {self.lines[index]}, " if index < len(self.lines) else ""
        return f"{self.name}: {line}instruction {index}"

    def check(self, machine: Machine) -> None:
        """Raise `ValueError` for what the machine does not have: a vector register that an
        instruction names, snoopy accesses, or words of its scratchpads."""
        for index, instruction in enumerate(self.instructions):
            if instruction.operation.snoopy and not machine.snoopy:
                raise ValueError(f"{self.where(index)} ({instruction.name}) is a snoopy access, "
                                 "and the machine has none (snoopy=0); ldgidxit and stgidxit move "
                                 "words index by index")
            if (last := instruction.last_vector) >= machine.vectors:
                raise ValueError(f"{self.where(index)} ({instruction.name}) has register v{last}, "
                                 f"and the machine v0 to v{machine.vectors - 1}")
        for number, buffer in self.scratchpad_buffers.items():
            if buffer.end > WORD_BYTES * machine.scratchpad_words:
                raise ValueError(f"{self.name}: scratchpad buffer {number} ends at byte "
                                 f"{buffer.end}, and the machine's scratchpads at byte "
                                 f"{WORD_BYTES * machine.scratchpad_words}")

    def with_sizes(self, sizes: Mapping[int, tuple[int, int]]) -> "Program":
        """This kernel with buffers of other sizes (x, y), laid out anew one after the other.

        Raises `ValueError` for a buffer that the kernel does not have, or a size below 1.
        """
        placed, address = {}, 0
        for number in sizes:
            if number not in self.buffers:
                raise ValueError(f"{self.name} has no buffer {number}; it has "
                                 f"{', '.join(map(str, self.buffers)) or 'none'}")
        for number, buffer in sorted(self.buffers.items()):
            x, y = sizes.get(number, (buffer.x, buffer.y))
            if x < 1 or y < 1:
                raise ValueError(f"buffer {number} must have at least 1 x 1 words, not {x} x {y}")
            placed[number] = replace(buffer, address=address, x=x, y=y)
            address = -(-placed[number].end // _APART) * _APART
        return replace(self, buffers=placed)
