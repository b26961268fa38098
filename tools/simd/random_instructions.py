"""Kernels of random instructions: every operation with every kind of operand, close together.

Few registers, so that most instructions wait for another. The kernels of `random_kernels` have a
tree to be checked against; these have none, and reach what a programmer would not write: divisions
that wait for divisions, jumps over jumps, empty masks.
"""

import random
from dataclasses import dataclass

from cyclebound.golden.simd.isa import (
    OPCODES,
    SCALAR_SPECIAL,
    TABLE,
    VECTOR_SPECIAL,
    Kind,
    OperandSlot,
    Operation,
    Unit,
)
from cyclebound.golden.simd.machine import Machine

__all__ = ["Surroundings", "random_instructions"]

_VECTORS = "v0", "v1", "v2", "v3"  # and the machine's last
_REGISTERS = {Kind.SCALAR: ("s0", "s1", "s2", "s31"),
              Kind.PREDICATE: ("p0", "p1", "p2", "p3"),
              Kind.VECTOR_SPECIAL: tuple(f"vc.{name}" for name in VECTOR_SPECIAL),
              Kind.SCALAR_SPECIAL: tuple(f"sc.{name}" for name in SCALAR_SPECIAL)}
_WRITABLE = {Kind.VECTOR_SPECIAL: ("vc.mem_idx", "vc.mem_data"),
             Kind.SCALAR_SPECIAL: ("sc.sd_words", "sc.sd_period", "sc.sd_period_cnt")}
_WORDS = (0, 1, 2, 31, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x3F80_0000, 0xC040_0000)
_BUFFERS = 2  # in DRAM; one in the scratchpad
_PLAIN = tuple(operation for operation in TABLE
               if operation.unit not in (Unit.CONTROL, Unit.DRAM, Unit.SCRATCHPAD))
_DIVIDERS = tuple(operation for operation in TABLE if operation.unit is Unit.DIVIDER)
_SAVES = {"if": "cmask", "brk": "brk", "jc": "ret"}
_FACTOR = 0x9E37_79B1  # odd: no difference of a register is lost in the sum
_SCALARS = 16          # registers that accesses may load, and s31


class _Writer:
    def __init__(self, rng: random.Random, machine: Machine) -> None:
        self._rng, self._machine = rng, machine
        self.lines: list[str] = []
        self.functions: list[str] = []
        self._labels = 0
        self._last = f"v{machine.vectors - 1}"
        self.registers = {**_REGISTERS, Kind.VECTOR: (*_VECTORS, self._last)}

    def label(self) -> str:
        self._labels += 1
        return f"l{self._labels}"

    def _word(self) -> str:
        return f"{self._rng.choice((*_WORDS, self._rng.getrandbits(32))):#x}"

    def _operand(self, slot: OperandSlot) -> str:
        kind = self._rng.choice(slot.kinds)
        if kind is Kind.IMMEDIATE:
            return str(self._rng.randrange(_BUFFERS)) if slot.number.name == "BUFFER" \
                else self._word()
        names = self.registers[kind]
        if slot.written and kind in _WRITABLE:
            names = _WRITABLE[kind]
        return self._rng.choice(names)

    def _named(self, operation: Operation) -> str:
        sub = self._rng.choice(operation.subops)
        return f"{operation.name}.{sub}" if sub else operation.name

    def plain(self) -> None:
        """An instruction that computes."""
        operation = self._rng.choice(_DIVIDERS if self._rng.random() < 0.08 else _PLAIN)
        operands = [self._operand(slot) for slot in operation.slots
                    if operation.name != "printtrace"]
        self.lines.append(f"{self._named(operation)} {', '.join(operands)}")

    def _offsets(self) -> str:
        return ", ".join(self._rng.choice(("0", "-3", "7", "s0", "s31")) for _ in range(2))

    def access(self) -> None:
        """An access, and what it needs to be legal."""
        rng, items = self._rng, self._machine.items
        vector, offsets = rng.choice(_VECTORS), self._offsets()
        wide = rng.choice(("", "", ".vec2", ".vec4"))
        buffer = rng.randrange(_BUFFERS)
        index = f"movvsp vc.mem_idx, {rng.randrange(items)}"
        size = ("smovssp sc.sd_words, 3", "smovssp sc.sd_period, 9",
                "smovssp sc.sd_period_cnt, 2")
        self.lines += rng.choice(self._there((
            (f"ldglin{wide} {vector}, {buffer}, {offsets}",),
            (f"stglin{wide} {vector}, {buffer}, {offsets}",),
            (f"ldglin vc.mem_data, {buffer}, {offsets}",),
            (f"stglin vc.mem_data, {buffer}, {offsets}",),
            (f"ldsplin {vector}, 0, {offsets}",), (f"stsplin {vector}, 0, {offsets}",),
            (f"ldsplin vc.mem_data, 0, {offsets}",),
            (f"ldg2sptile 0, {buffer}, {offsets}",), (f"stg2sptile 0, {buffer}, {offsets}",),
            (index, f"ldgbidx {buffer}"), (index, f"stgbidx {buffer}"), (index, "ldspbidx 0"),
            (index, "stspbidx 0"), (index, f"ldgidxit {vector}, {buffer}"),
            (index, f"stgidxit {vector}, {buffer}"),
            (index, *size, f"ldgcidx {buffer}, 1, 0"), (*size, f"stgcidx {buffer}, 2, 0"),
            (size[0], "sldsp s1, 0, 2, 0"),
            (f"sldg s{rng.choice((0, 5))}, {buffer}, {rng.choice((1, 3, 10))}",),
        )))

    def _there(self, choices: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        """Without what the machine does not have: snoopy accesses."""
        return choices if self._machine.snoopy else tuple(
            lines for lines in choices if not any(
                TABLE[OPCODES.get(line.split()[0], 0)].snoopy for line in lines))

    def begin(self) -> None:
        """Append the instructions that come first."""

    def end(self) -> None:
        """Append those that come last, before ``exit``."""
        self.lines.append(f"stglin v0, {self._rng.randrange(_BUFFERS)}")

    def buffers(self) -> list[str]:
        """Lines that declare them."""
        items, size = self._machine.items, 1 << 16
        return [".data", *(f"{number} {number * size:#x} {2 * items} 3"
                           for number in range(_BUFFERS)), ".sp_data", f"0 0 {items} 2"]

    def block(self, depth: int) -> None:
        """A few instructions, perhaps with a mask around them, or a jump over them."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.5 or depth == 3:
            for _ in range(rng.randint(1, 5)):
                self.plain()
        elif kind < 0.62:
            self.access()
        elif kind < 0.72:
            end = self.label()
            self.lines.append(f"sicj.{rng.choice(('ez', 'nz', 'g', 'ge', 'l', 'le'))} {end}, "
                              f"{rng.choice(_REGISTERS[Kind.SCALAR])}"
                              if rng.random() < 0.8 else f"j {end}")
            self.block(depth + 1)
            self.lines.append(f"{end}:")
        elif kind < 0.9:
            self._masked(depth)
        elif depth == 0 and kind < 0.96:
            name = self.label()
            self.functions.append(name)
            self.lines.append(f"call {name}{rng.choice(('', ', p1'))}")
        elif kind > 0.98:
            self.lines.append(f"exit {rng.choice(_REGISTERS[Kind.PREDICATE])}")
        else:
            self.plain()

    def _masked(self, depth: int) -> None:
        rng, end = self._rng, self.label()
        predicate = rng.choice(_REGISTERS[Kind.PREDICATE])
        sub = rng.choice(tuple(_SAVES))
        if rng.random() < 0.3:  # a branch
            other = self.label()
            self.lines += [f"cpush.if {end}", f"bra {other}, {predicate}"]
            self.block(depth + 1)
            self.lines += ["cpop", f"{other}:"]
        else:
            self.lines.append(f"cpush.{sub} {end}{rng.choice(('', f', {predicate}'))}")
            if rng.random() < 0.8:
                self.lines.append(f"{_SAVES[sub]} {predicate}")
        if rng.random() < 0.8:
            self.block(depth + 1)
        self.lines += ["cpop", f"{end}:"]


@dataclass(frozen=True)
class Surroundings:
    """Buffers of a kernel whose result is a sum of all registers.

    Attributes
    ----------
    dram : tuple of (int, int, int)
        Words from a multiple of 64 KiB to the first, words in a line, lines; two buffers at least.
    scratchpad : tuple of (int, int)
        Words in a line, lines.
    result : tuple of (int, int)
        Words in a line and lines of the grid.
    """

    dram: tuple[tuple[int, int, int], ...]
    scratchpad: tuple[tuple[int, int], ...]
    result: tuple[int, int]


class _Whole(_Writer):
    """A kernel for the whole machine: all its state is defined, and becomes part of its result.

    Two more buffers of DRAM: what fills the scratchpads, and the result.
    """

    def __init__(self, rng: random.Random, machine: Machine, around: Surroundings) -> None:
        super().__init__(rng, machine)
        self._around = around
        self._fills, self._result = len(around.dram), len(around.dram) + 1

    def begin(self) -> None:
        self.lines += [f"ldg2sptile {chip}, {self._fills}"
                       for chip in range(len(self._around.scratchpad))]
        self.lines += [f"smov s{number}, {self._rng.getrandbits(32):#x}"
                       for number in range(3, _SCALARS)]

    def access(self) -> None:
        rng, around = self._rng, self._around
        vector, offsets = rng.choice(_VECTORS), self._offsets()
        wide = rng.choice(("", "", ".vec2", ".vec4"))
        buffer, chip = rng.randrange(len(around.dram)), rng.randrange(len(around.scratchpad))
        _, wide_x, wide_y = around.dram[buffer]
        words = wide_x * wide_y
        across, lines = around.scratchpad[chip]
        legal = (1 << words.bit_length() - 1) - 1  # so many indexes, and one
        index = (f"and v8, {rng.choice(self.registers[Kind.VECTOR])}, {legal:#x}",
                 "movvsp vc.mem_idx, v8")
        x, y = rng.randrange(across), rng.randrange(lines)
        few = rng.randint(1, min(_SCALARS, words))
        part_x, part_y = rng.randint(1, wide_x), rng.randint(1, wide_y)  # of the buffer
        part = (f"smovssp sc.sd_words, {part_x}", f"smovssp sc.sd_period, {wide_x}",
                f"smovssp sc.sd_period_cnt, {part_y}")
        corner = f"{rng.randint(0, wide_x - part_x)}, {rng.randint(0, wide_y - part_y)}"
        row = rng.randint(1, min(_SCALARS, across * lines - y * across - x))
        tiles = (
            (f"ldglin{wide} {vector}, {buffer}, {offsets}",),
            (f"stglin{wide} {vector}, {buffer}, {offsets}",),
            (f"ldglin vc.mem_data, {buffer}, {offsets}",),
            (f"stglin vc.mem_data, {buffer}, {offsets}",),
        )
        on_chip = (
            (f"ldsplin {vector}, {chip}, {offsets}",), (f"stsplin {vector}, {chip}, {offsets}",),
            (f"ldsplin vc.mem_data, {chip}, {offsets}",),
            (f"ldg2sptile {chip}, {buffer}, {offsets}",),
            (f"stg2sptile {chip}, {buffer}, {offsets}",),
        )
        by_index = (
            (*index, f"ldgidxit {vector}, {buffer}"), (*index, f"stgidxit {vector}, {buffer}"))
        snoopy = (
            (*index, f"ldgbidx {buffer}"), (*index, f"stgbidx {buffer}"),
            (*index, f"ldspbidx {chip}"), (*index, f"stspbidx {chip}"),
            (*index, *part, f"ldgcidx {buffer}, {corner}"),
            (*index, *part, f"stgcidx {buffer}, {corner}"),
        )
        rows = (
            (f"smovssp sc.sd_words, {row}",
             f"sldsp s{rng.randint(0, _SCALARS - row)}, {chip}, {x}, {y}"),
            (f"sldg s{rng.randint(0, _SCALARS - few)}, {buffer}, {few}",),
        )
        self.lines += rng.choice(rng.choice(tuple(filter(None, map(
            self._there, (tiles, on_chip, by_index, snoopy, rows))))))

    def end(self) -> None:
        """All registers, multiplied and added, in each lane; those of the work-group to each."""
        def more(*lines: str) -> None:
            self.lines.extend((*lines, f"imad v0, v0, {_FACTOR:#x}, v8"))

        for name in ("v1", "v2", "v3", "v4", "v5", "v6", self._last):
            more(f"iadd v8, {name}, 0")
        for name in _WRITABLE[Kind.VECTOR_SPECIAL]:
            more(f"mov v8, {name}")
        for name in _REGISTERS[Kind.PREDICATE]:
            end = self.label()
            more("mov v8, 1", f"cpush.if {end}", f"cmask {name}", "mov v8, 0", "cpop", f"{end}:")
        for name in (*(f"s{number}" for number in range(1, _SCALARS)), "s31"):
            self.lines.append(f"simad s0, s0, {_FACTOR:#x}, {name}")
        for name in _WRITABLE[Kind.SCALAR_SPECIAL]:
            self.lines += [f"smov s1, {name}", f"simad s0, s0, {_FACTOR:#x}, s1"]
        self.lines += ["iadd v0, v0, s0", f"stglin v0, {self._result}"]

    def buffers(self) -> list[str]:
        around, size = self._around, 1 << 16
        filling = tuple(max(chip[axis] for chip in around.scratchpad) for axis in (0, 1))
        lines, at = [".data"], 0
        for number, (offset, x, y) in enumerate((*around.dram, (0, *filling),
                                                 (0, *around.result))):
            lines.append(f"{number} {number * size + 4 * offset:#x} {x} {y}")
        lines.append(".sp_data")
        for number, (x, y) in enumerate(around.scratchpad):
            lines.append(f"{number} {4 * at:#x} {x} {y}")
            at += x * y
        return lines


def random_instructions(seed: int, machine: Machine, blocks: int = 20,
                        around: Surroundings | None = None) -> str:
    """The source of such a kernel; the same for the same seed.

    For any grid; or, with ``around``, for the grid that it names.
    """
    rng = random.Random(seed)
    writer = _Whole(rng, machine, around) if around else _Writer(rng, machine)
    for number, register in enumerate(writer.registers[Kind.VECTOR]):
        special = ("lid_x", "tid_x", "lid_y", "one")[number % 4]
        writer.lines.append(f"mov {register}, vc.{special}")
    for number in range(4, 8):
        writer.lines.append(f"mov v{number}, {rng.choice(_WORDS):#x}")
    # mem_data, and what accesses of four registers reach
    writer.lines += ["movvsp vc.mem_idx, v0", "movvsp vc.mem_data, v1"]
    writer.lines += [f"smov {register}, {rng.choice(_WORDS):#x}"
                     for register in _REGISTERS[Kind.SCALAR]]
    writer.lines += [f"itest.{rng.choice(('ez', 'g', 'le'))} p{number}, v{number}"
                     for number in range(4)]
    writer.begin()
    for _ in range(blocks):
        writer.block(0)
    writer.end()
    writer.lines.append("exit")
    for name in writer.functions:
        writer.lines.append(f"{name}:")
        writer.block(2)
        if rng.random() < 0.5:
            writer.lines.append("ret p2")
        writer.block(2)
        writer.lines.append("cpop")
    return "\n".join([*writer.buffers(), ".text", *writer.lines, ""])
