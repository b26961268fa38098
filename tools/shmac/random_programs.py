"""Random programs for SHMAC's core, which end by themselves.

A program is made of units, each a few instructions with a branch's delay slot or a jump's address
among them; branches lead forward, to the beginning of a unit, and loops count. So every program
reaches its end, where it stores all registers and then branches to itself.

At the address of exceptions there is a handler: it writes down coprocessor 0's registers, and goes
on after the instruction that made the exception; after an interrupt, at it.
"""

import random
from dataclasses import dataclass

from cyclebound.tools.shmac.assembler import assemble, encode

__all__ = ["DATA", "HANDLER", "MISSING", "START", "RandomProgram", "random_program"]

HANDLER, START, DATA = 0x80, 0x100, 0x7000
"""Addresses of the handler, of the first unit, and of the data."""
MISSING = 0xDEAD_0000
"""From here on nothing answers."""
_DATA_BYTES = 256
_LOG, _DUMP = 0x400, 0x200  # behind the data
_LINK, _COUNT, _JUMP, _K0, _K1, _BASE, _BACK = 23, 25, 24, 26, 27, 28, 30

_HANDLER = f"""
        mfc0 $k0, $13           # Cause
        mtc0 $0, $13            # no software interrupt any more
        sw   $k0, {_LOG}($28)
        mfc0 $k1, $8            # BadVAddr
        sw   $k1, {_LOG + 4}($28)
        mfc0 $k1, $12           # Status
        sw   $k1, {_LOG + 8}($28)
        mfc0 $k1, $14           # EPC
        sw   $k1, {_LOG + 12}($28)
        andi $k0, $k0, 0x7c
        beq  $k0, $0, back      # an interrupt
        addiu $k0, $k0, -24     # a bus error of a fetch
        beq  $k0, $0, away
        andi $k0, $k1, 3        # an address that nothing can be fetched from
        bne  $k0, $0, away
        nop
        addiu $k1, $k1, 4
back:   jr   $k1
        rfe
away:   jr   $30
        rfe
"""


@dataclass(frozen=True)
class RandomProgram:
    """A program.

    Attributes
    ----------
    words : list of int
        Its memory, from its first address on: a jump to the units, both there and where the
        bootstrap of tile (0, 0) leads to; handler, units, end. The data begin at `DATA`.
    end : int
        Address of the branch to itself.
    """

    words: list[int]
    end: int


def random_program(rng: random.Random, *, units: int, exceptions: bool = False,
                   odd: bool = False, origin: int = 0, data: int | None = None
                   ) -> RandomProgram:
    """A random program; it starts at `START`.

    Parameters
    ----------
    exceptions : bool
        Also instructions that make exceptions, and changes of coprocessor 0.
    odd : bool
        Also what the architecture leaves open: branches in delay slots, division by 0, fields that
        are not used and hold anything.
    origin : int
        Its first address, a multiple of 64 KiB, which is added to all of the above.
    data : int or None
        Where its loads and stores go: `DATA`, or as many bytes of another memory.
    """
    return _Builder(rng, exceptions=exceptions, odd=odd, origin=origin,
                    data=origin + DATA if data is None else data).build(units)


class _Builder:
    def __init__(self, rng: random.Random, *, exceptions: bool, odd: bool, origin: int,
                 data: int) -> None:
        self.rng, self.exceptions, self.odd = rng, exceptions, odd
        self.origin, self.data = origin, data
        self.words: list[int] = []
        self.fixups: list[tuple[int, str, int]] = []  # place, how, unit
        self.starts: list[int] = []
        self.unit = self.units = 0

    @property
    def here(self) -> int:
        return self.origin + START + 4 * len(self.words)

    def put(self, *words: int) -> None:
        self.words += words

    def any(self) -> int:
        """A register to read."""
        return self.rng.choice((self.rng.randrange(32), self.rng.randrange(1, 8)))

    def dest(self) -> int:
        """A register to write that has no other use."""
        return self.rng.choice((0, *range(1, _LINK), *range(1, 8)))

    def word(self) -> int:
        return self.rng.choice((self.rng.getrandbits(32), self.rng.getrandbits(8),
                                -self.rng.getrandbits(8) & 0xFFFF_FFFF, 0x8000_0000, 0x7FFF_FFFF,
                                1 << self.rng.randrange(32)))

    def build(self, units: int) -> RandomProgram:
        self.units = units
        for register in range(1, 32):
            self.set(register, self.data if register == _BASE else self.word())
        if self.exceptions:
            self.set(1, self.rng.getrandbits(32))
            self.put(encode("mtc0", rt=1, rd=12))
        for name in ("mthi", "mtlo"):
            self.put(encode(name, rs=self.any()))
        kinds = [self.alu] * 8 + [self.memory] * 6 + [self.branch] * 4 + [
            self.jump, self.far, self.product, self.product, self.loop, self.pair, self.sums]
        if self.exceptions:
            kinds += [self.trap, self.trap, self.trap, self.coprocessor, self.wild]
        for self.unit in range(units):
            self.starts.append(len(self.words))
            self.rng.choice(kinds)()
        self.starts.append(len(self.words))
        if self.exceptions:  # nothing is to be lost of what comes now
            self.put(encode("mtc0", rt=0, rd=12))
        for register in range(1, 32):
            self.put(encode("sw", rt=register, rs=_BASE, immediate=_DUMP + 4 * register))
        for name in ("mfhi", "mflo"):
            self.put(encode(name, rd=1), encode("sw", rt=1, rs=_BASE, immediate=_DUMP))
        end = self.here
        self.put(encode("beq", offset=-1), 0)
        for place, how, unit in self.fixups:
            target = self.starts[min(unit, units)]
            if how == "offset":
                self.words[place] |= target - (place + 1) & 0xFFFF
            elif how == "target":
                self.words[place] |= (self.origin + START) // 4 + target & 0x3FF_FFFF
            else:
                self.words[place] |= START + 4 * target & 0xFFFF
        handler = assemble(_HANDLER, origin=self.origin + HANDLER)
        assert HANDLER + 4 * len(handler) <= START
        assert end < self.origin + DATA, "too many units"
        low = [0] * (HANDLER // 4) + handler
        begins = [encode("j", target=self.origin + START), 0]
        low[0:6] = [encode("lui", rt=31), *begins, 0, *begins]
        low += [0] * (START // 4 - len(low))
        data = [self.word() for _ in range(_DATA_BYTES // 4)]
        words = low + self.words
        return RandomProgram(words + [0] * (DATA // 4 - len(words)) + data, end)

    def set(self, register: int, value: int) -> None:
        self.put(encode("lui", rt=register, immediate=value >> 16),
                 encode("ori", rt=register, rs=register, immediate=value & 0xFFFF))

    def high(self, register: int) -> None:
        """The upper half of an address in the program, unless it is 0."""
        if self.origin:
            self.put(encode("lui", rt=register, immediate=self.origin >> 16))

    def low(self, register: int) -> int:
        """The instruction that adds the lower half, which is missing in it."""
        return encode("ori", rt=register, rs=register if self.origin else 0)

    # Units. Of a branch, `one` fills the slot: it is a single instruction.

    def one(self) -> int:
        return self.rng.choice((self.an_alu, self.an_alu, self.an_access))()

    def alu(self) -> None:
        self.put(self.an_alu())

    def memory(self) -> None:
        self.put(self.an_access())

    def an_alu(self) -> int:
        kind = self.rng.randrange(5)
        rd, rs, rt = self.dest(), self.any(), self.any()
        if kind == 0:
            name = self.rng.choice(("sll", "srl", "sra"))
            return encode(name, rd=rd, rt=rt, sa=self.rng.randrange(32)) | self.noise(21, 5, name)
        if kind == 1:
            name = self.rng.choice(("sllv", "srlv", "srav"))
            return encode(name, rd=rd, rs=rs, rt=rt) | self.noise(6, 5, name)
        if kind == 2:
            name = self.rng.choice(("addiu", "slti", "sltiu", "andi", "ori", "xori", "lui"))
            word = encode(name, rt=rd, immediate=self.word() & 0xFFFF)
            return word | (rs << 21 if name != "lui" else self.noise(21, 5, name))
        if kind == 3 and self.rng.random() < 0.5:
            name = self.rng.choice(("mfhi", "mflo"))
            return encode(name, rd=rd) | self.noise(6, 5, name) | self.noise(16, 10, name)
        name = self.rng.choice(("addu", "subu", "and", "or", "xor", "nor", "slt", "sltu"))
        return encode(name, rd=rd, rs=rs, rt=rt) | self.noise(6, 5, name)

    def noise(self, at: int, bits: int, name: str) -> int:
        """What a field holds that is not used."""
        return self.rng.getrandbits(bits) << at if self.odd and self.rng.random() < 0.5 else 0

    def an_access(self) -> int:
        name, size = self.rng.choice((
            ("lb", 1), ("lbu", 1), ("lh", 2), ("lhu", 2), ("lw", 4), ("lwl", 1), ("lwr", 1),
            ("sb", 1), ("sh", 2), ("sw", 4), ("swl", 1), ("swr", 1)))
        at = self.rng.randrange(_DATA_BYTES) // size * size
        if self.exceptions and self.rng.random() < 0.1:
            at = self.rng.randrange(_DATA_BYTES)
        rt = self.dest() if name.startswith("l") else self.any()
        return encode(name, rt=rt, rs=_BASE, immediate=at)

    def branch(self) -> None:
        name = self.rng.choice(("beq", "bne", "blez", "bgtz", "bltz", "bgez", "bltzal", "bgezal"))
        word = encode(name, rs=self.any())
        if name in ("beq", "bne"):
            word |= self.any() << 16
        elif name in ("blez", "bgtz"):
            word |= self.noise(16, 5, name)
        self.ahead("offset")
        self.put(word, self.slot())

    def slot(self) -> int:
        if self.odd and self.rng.random() < 0.2:  # what is fetched next is that slot's own slot
            return encode("beq", rs=self.any(), rt=self.any(), offset=self.rng.randrange(3))
        if self.exceptions and self.rng.random() < 0.2:
            return self.a_trap()
        return self.one()

    def ahead(self, how: str) -> None:
        """The next word leads to one of the next units."""
        self.fixups.append((len(self.words), how, self.unit + self.rng.randrange(1, 5)))

    def jump(self) -> None:
        self.ahead("target")
        self.put(encode(self.rng.choice(("j", "jal"))), self.slot())

    def far(self) -> None:
        """By a register; into which JALR may write its link."""
        self.high(_JUMP)
        self.ahead("low")
        self.put(self.low(_JUMP))
        if self.rng.random() < 0.5:
            self.put(encode("jr", rs=_JUMP) | self.noise(6, 15, "jr"))
        else:
            link = self.rng.choice((_LINK, 31, 0, *((_JUMP,) if self.odd else ())))
            self.put(encode("jalr", rs=_JUMP, rd=link) | self.noise(16, 5, "jalr"))
        self.put(self.slot())

    def product(self) -> None:
        name = self.rng.choice(("mult", "multu", "div", "divu"))
        rs, rt = self.any(), self.any()
        if name.startswith("div") and not self.odd:  # no division by 0
            rt = self.rng.randrange(1, _LINK)
            self.put(encode("ori", rt=rt, rs=rt, immediate=1 << self.rng.randrange(16)))
        self.put(encode(name, rs=rs, rt=rt) | self.noise(6, 10, name))
        for _ in range(self.rng.randrange(3)):
            self.put(encode(self.rng.choice(("mfhi", "mflo")), rd=self.dest()))
        if self.rng.random() < 0.3:
            self.put(encode(self.rng.choice(("mthi", "mtlo")), rs=self.any()))

    def loop(self) -> None:
        self.put(encode("addiu", rt=_COUNT, rs=0, immediate=self.rng.randrange(1, 5)))
        body = self.rng.randrange(1, 5)
        for _ in range(body):
            self.put(self.one())
        self.put(encode("addiu", rt=_COUNT, rs=_COUNT, immediate=-1),
                 encode("bgtz", rs=_COUNT, offset=-body - 2), self.one())

    def pair(self) -> None:
        """LL and SC, of one word or of two. With ``odd`` also SC again, and one without the other
        and so with anything between them: the architecture leaves open whether that succeeds.
        """
        at, other = (self.rng.randrange(_DATA_BYTES) // 4 * 4 for _ in range(2))
        if not self.odd or self.rng.random() < 0.8:
            self.put(encode("ll", rt=self.dest(), rs=_BASE, immediate=at))
        if self.rng.random() < 0.3:
            self.put(self.an_alu())
        if self.rng.random() < 0.2:
            at = other
        for _ in range(self.rng.choice((0, 1, 1, 1, 1 + self.odd))):
            rt = self.dest()
            self.put(encode("addiu", rt=rt, rs=rt, immediate=1),
                     encode("sc", rt=rt, rs=_BASE, immediate=at))

    def sums(self) -> None:
        """With overflow only where an exception may come."""
        a, b = self.rng.randrange(1, 8), self.rng.randrange(8, 16)
        if not self.exceptions:
            self.put(encode("sra", rd=a, rt=self.any(), sa=1),
                     encode("sra", rd=b, rt=self.any(), sa=1))
        if self.rng.random() < 0.3:
            number = self.rng.choice((self.word() & 0xFFFF, 0x8000, 0x7FFF, 1, 0xFFFF))
            self.put(encode("addi", rt=self.dest(), rs=a, immediate=number))
        else:
            self.put(encode(self.rng.choice(("add", "sub")), rd=self.dest(), rs=a, rt=b))

    # What makes exceptions.

    def trap(self) -> None:
        self.put(self.a_trap())

    def a_trap(self) -> int:
        kind = self.rng.randrange(6)
        if kind == 0:
            return encode(self.rng.choice(("syscall", "break"))) | self.rng.getrandbits(20) << 6
        if kind == 1:  # reserved, most of the time; or a missing coprocessor
            opcode = self.rng.choice((*range(17, 32), 39, 44, 45, 47, *range(49, 56),
                                      *range(57, 64)))
            return opcode << 26 | self.rng.getrandbits(26)
        if kind == 2:
            function = self.rng.choice((1, 5, 10, 11, 14, 15, *range(20, 24), *range(28, 32),
                                        40, 41, *range(44, 64)))
            return self.rng.getrandbits(20) << 6 | function
        if kind == 3:
            return 1 << 26 | self.rng.choice((2, 3, *range(4, 16), *range(18, 32))) << 16
        if kind == 4:  # an address at which nothing is, or an unaligned one
            name = self.rng.choice(("lw", "lh", "lwl", "sw", "sh", "ll", "sc", "lb"))
            word = encode(name, rt=self.dest(), rs=_BASE)
            return word | self.rng.randrange(_DATA_BYTES)
        return encode("add", rd=self.dest(), rs=self.any(), rt=self.any())

    def coprocessor(self) -> None:
        kind = self.rng.randrange(4)
        if kind == 0:
            self.put(encode("mfc0", rt=self.dest(), rd=self.rng.choice((8, 12, 13, 14, 15))))
        elif kind == 1:
            self.put(encode("rfe") | self.noise(21, 4, "rfe"))
        elif kind == 2:
            self.put(16 << 26 | self.rng.choice((1, 2, 3, 5, 6, 8, 17)) << 21)
        else:
            register = self.rng.choice((12, 12, 13, 14, 8, 3))
            self.set(_K1, self.rng.getrandbits(32) | (register == 12))
            self.put(encode("mtc0", rt=_K1, rd=register))

    def wild(self) -> None:
        """A jump to where nothing can be fetched, or a load from where nothing is."""
        if self.rng.random() < 0.5:
            self.put(encode("lui", rt=_JUMP, immediate=MISSING >> 16),
                     encode(self.rng.choice(("lw", "lbu", "ll", "lwr", "sw")), rt=self.dest(),
                            rs=_JUMP, immediate=4 * self.rng.randrange(8)))
            return
        self.high(_BACK)
        self.fixups.append((len(self.words), "low", self.unit + 1))
        self.put(self.low(_BACK))
        if self.rng.random() < 0.5:
            self.put(encode("lui", rt=_JUMP, immediate=MISSING >> 16))
        else:
            self.high(_JUMP)
            self.put(self.low(_JUMP) | START + self.rng.randrange(1, 4))
        self.put(encode("jr", rs=_JUMP), self.one())

