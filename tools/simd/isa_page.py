"""The page ``docs/simd-isa.md``, made of the table of operations."""

from cyclebound.golden.simd.isa import (
    OPCODES,
    SCALAR_SPECIAL,
    TABLE,
    VECTOR_SPECIAL,
    WRITABLE_SCALAR_SPECIAL,
    WRITABLE_VECTOR_SPECIAL,
    Number,
    OperandSlot,
    Operation,
    Timing,
)

__all__ = ["page"]

_HEAD = """# Instructions of the SIMD accelerator

Generated from `golden/simd/isa.py` by `cyclebound simd isa > docs/simd-isa.md`.

An instruction has 64 bits. All have the same fields; bits that an operation does not use are 0, and
any other pattern is an illegal instruction.

| bits | field | holds |
| --- | --- | --- |
| 6:0 | opcode | position in the table below |
| 9:7 | subop | position among the operation's sub-operations |
| 15:10 | D | destination (of a store: what is stored): register, predicate, scratchpad buffer |
| 16 | Dk | kind of D, by its position in the table's column |
| 22:17 | A | first source: register, predicate or buffer |
| 28:23 | C | third source |
| 30:29 | Bk | kind of B; of an access with an offset, bit 29 is X's kind and bit 30 Y's |
| 31 | An | the optional A is not there |
| 63:32 | B | second source: a register's number or 32 bits; X in 47:32 and Y in 63:48, signed |

Kinds: `V` v0 to v63, a value in each lane; `S` s0 to s31, one for the work-group; `P` p0 to p3, a
bit in each lane; `I` an immediate; `vc`, `sc` special registers; `L` a label, encoded as the number
of its instruction. A lane is *active* if its bits of all four masks (run, break, ret, exit) are
set. Destinations in V, P and vc change in active lanes only; S and sc always.
"""


def _slot(slot: OperandSlot) -> str:
    kinds = "/".join(kind.value for kind in slot.kinds)
    meant = {Number.BUFFER: " buffer", Number.SCRATCHPAD_BUFFER: " scratchpad buffer",
             Number.OFFSET: " offset", Number.COUNT: " count"}.get(slot.number, "")
    text = f"{slot.field}: {kinds}{meant}"
    return f"[{text}]" if slot.optional else text


def _row(operation: Operation) -> str:
    subs = ", ".join(f".{subop}" if subop else "none" for subop in operation.subops) \
        if operation.subops != ("",) else ""
    slots = ", ".join(map(_slot, operation.slots))
    return (f"| {OPCODES[operation.name]} | `{operation.name}` | {subs} | {slots} | "
            f"{operation.unit.value} | {operation.timing.name.lower()} | {operation.meaning} |")


def _specials(prefix: str, names: tuple[str, ...], writable: frozenset[int]) -> list[str]:
    return [f"| {prefix}{number} | `{prefix}.{name}` | {'yes' if number in writable else ''} |"
            for number, name in enumerate(names)]


def page() -> str:
    """The page in Markdown."""
    lines = [_HEAD, "## Operations", "", ("Operands in the order in which they are written; those "
             "in brackets may be left out."), "",
             "| opcode | name | sub-operations | operands | unit | timing | does |",
             "| --- | --- | --- | --- | --- | --- | --- |", *map(_row, TABLE), "",
             "## Timing classes", "",
             ("W is the number of warps in a work-group (items / lanes), R that of passes which "
             "the reciprocal units make over a warp (lanes / units)."), "", "| class | costs |",
             "| --- | --- |", *(f"| {timing.name.lower()} | {timing.value} |" for timing in Timing),
             "",
             "## Special registers", "", "| number | name | can be written |",
             "| --- | --- | --- |",
             *_specials("vc", VECTOR_SPECIAL, WRITABLE_VECTOR_SPECIAL),
             *_specials("sc", SCALAR_SPECIAL, WRITABLE_SCALAR_SPECIAL)]
    return "\n".join(lines) + "\n"
