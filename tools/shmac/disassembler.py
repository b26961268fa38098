"""Words of SHMAC's core as assembly language that `cyclebound.tools.shmac.assembler` reads."""

import re
from collections.abc import Iterator, Mapping

from cyclebound.golden.shmac.isa import REGISTER_NAMES, encoding_of
from cyclebound.golden.shmac.machine import signed
from cyclebound.tools.shmac.program import Program

__all__ = ["listing", "text_of", "what_it_is"]

_FIELDS = {"rs": 21, "rt": 16, "rd": 11}
_UNSIGNED = ("andi", "ori", "xori", "lui")
# Later than MIPS-I, or of a coprocessor; for messages only.
_SPECIAL = {1: "movf or movt", 10: "movz", 11: "movn", 15: "sync", 48: "tge", 49: "tgeu",
            50: "tlt", 51: "tltu", 52: "teq", 54: "tne"}
_OPCODES = {20: "beql", 21: "bnel", 22: "blezl", 23: "bgtzl", 28: "MIPS32 (mul, madd, clz)",
            31: "MIPS32 release 2 (ext, ins, seb, seh)", 47: "cache", 51: "pref",
            53: "ldc1", 61: "sdc1"}


def text_of(word: int, address: int = 0, labels: Mapping[int, str] | None = None) -> str:
    """The instruction that a word at an address is; of other words, ``.word`` and its value."""
    encoding = encoding_of(word)
    if encoding is None or _unused(word):
        return f".word {word:#010x}"
    if word == 0:
        return "nop"

    def operand(field: str) -> str:
        if field in _FIELDS:
            number = word >> _FIELDS[field] & 31
            if field == "rd" and encoding.name.endswith("c0"):
                return f"${number}"
            return f"${REGISTER_NAMES[number]}"
        if field == "sa":
            return str(word >> 6 & 31)
        if field == "immediate":
            return (f"{word & 0xFFFF:#x}" if encoding.name in _UNSIGNED
                    else str(signed(word, 16)))
        if field == "immediate(rs)":
            return f"{signed(word, 16)}({operand('rs')})"
        target = (address + 4 + 4 * signed(word, 16) if field == "offset"
                  else address + 4 & 0xF000_0000 | (word & 0x3FF_FFFF) << 2) & 0xFFFF_FFFF
        return (labels or {}).get(target) or f"{target:#x}"

    operands = ", ".join(operand(field) for field in encoding.form.split())
    return f"{encoding.name} {operands}".rstrip()


def _unused(word: int) -> bool:
    """Whether a field that the instruction does not use is not 0: its text would lose that."""
    encoding = encoding_of(word)
    assert encoding is not None
    used = 0
    for field in re.findall(r"\w+", encoding.form):
        used |= (31 << _FIELDS[field] if field in _FIELDS else 31 << 6 if field == "sa"
                 else 0x3FF_FFFF if field == "target" else 0xFFFF)
    return bool(word & ~used ^ encoding.word & ~used)


def what_it_is(word: int) -> str:
    """For a message: a word that is no instruction of the core, by its name if it has one."""
    opcode = word >> 26
    if opcode == 0 and word & 63 in _SPECIAL:
        return f"{_SPECIAL[word & 63]}, which MIPS-I does not have"
    if opcode in (17, 49, 57) or opcode in (53, 61):
        return "floating point, which the core does not have"
    if opcode in (18, 19, 50, 51, 58, 59):
        return f"of coprocessor {opcode & 3}, which the core does not have"
    if opcode in _OPCODES:
        return f"{_OPCODES[opcode]}, which MIPS-I does not have"
    return "no instruction of MIPS-I"


def listing(program: Program) -> Iterator[str]:
    """A program's code: labels, addresses, words and text, a line each."""
    labels = {symbol.address: symbol.name for symbol in program.symbols
              if symbol.kind == "function"}
    for region in program.code:
        for address in region.words:
            if address in labels:
                yield f"{labels[address]}:"
            word = program.words.get(address, 0)
            yield f"{address:08x}  {word:08x}  {text_of(word, address, labels)}"
