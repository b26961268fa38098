"""The instructions of SHMAC's core: MIPS-I's integer instructions, LL and SC. A specification.

Ref: MIPS-I (of R2000 and R3000); SHMAC thesis, 2.3 and 3.2.1: MIPS-I with LL and SC of
MIPS-II. docs/shmac.md says what was decided where these are silent.

Fields that an instruction does not use are ignored, whatever they hold. All other codes of
opcode, function, REGIMM and coprocessor 0 are reserved; instructions of the coprocessors 1 to 3
find these missing.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

__all__ = ["ENCODINGS", "FORMS", "REGISTER_NAMES", "Cop0", "Cop0Register", "Encoding", "ExcCode",
           "Function", "Opcode", "RegImm", "encoding_of"]


class Opcode(IntEnum):
    """Bits 31 to 26."""

    SPECIAL, REGIMM, J, JAL, BEQ, BNE, BLEZ, BGTZ = range(0, 8)
    ADDI, ADDIU, SLTI, SLTIU, ANDI, ORI, XORI, LUI = range(8, 16)
    COP0, COP1, COP2, COP3 = range(16, 20)
    LB, LH, LWL, LW, LBU, LHU, LWR = range(32, 39)
    SB, SH, SWL, SW = range(40, 44)
    SWR = 46
    LL, LWC1, LWC2, LWC3 = range(48, 52)
    SC, SWC1, SWC2, SWC3 = range(56, 60)


class Function(IntEnum):
    """Bits 5 to 0 of SPECIAL."""

    SLL, SRL, SRA = 0, 2, 3
    SLLV, SRLV, SRAV, JR, JALR = 4, 6, 7, 8, 9
    SYSCALL, BREAK = 12, 13
    MFHI, MTHI, MFLO, MTLO = range(16, 20)
    MULT, MULTU, DIV, DIVU = range(24, 28)
    ADD, ADDU, SUB, SUBU, AND, OR, XOR, NOR = range(32, 40)
    SLT, SLTU = 42, 43


class RegImm(IntEnum):
    """Bits 20 to 16 of REGIMM."""

    BLTZ, BGEZ, BLTZAL, BGEZAL = 0, 1, 16, 17


class Cop0(IntEnum):
    """Bits 25 to 21 of COP0; RFE is `Function` 16 of those with bit 25."""

    MFC0, MTC0, RFE = 0, 4, 16


RFE_FUNCTION = 16  # bits 5 to 0


class Cop0Register(IntEnum):
    """Registers of coprocessor 0. The others read as 0, and are not written."""

    BADVADDR, STATUS, CAUSE, EPC = 8, 12, 13, 14


class ExcCode(IntEnum):
    """Bits 6 to 2 of Cause."""

    INT = 0    # interrupt
    ADEL = 4   # address error of a load or a fetch
    ADES = 5   # address error of a store
    IBE = 6    # bus error of a fetch
    DBE = 7    # bus error of a load, LL or SC
    SYS, BP = 8, 9
    RI = 10    # reserved instruction
    CPU = 11   # coprocessor missing
    OV = 12    # overflow


FORMS = ("rd rs rt", "rd rt sa", "rd rt rs", "rs", "rd rs", "", "rd", "rs rt", "rt rs immediate",
         "rt immediate", "rs rt offset", "rs offset", "rt immediate(rs)", "target", "rt rd")


@dataclass(frozen=True)
class Encoding:
    """How an instruction is written, in assembly language and in its 32 bits.

    Attributes
    ----------
    name : str
        Its mnemonic.
    form : str
        Its operands in the order of assembly language, one of `FORMS`. ``offset`` and ``target``
        are where it branches to; ``offset(rs)`` is an address.
    word : int
        Its bits, with 0 in the operands' fields.
    """

    name: str
    form: str
    word: int


def _encodings() -> dict[str, Encoding]:
    forms: dict[str, str] = {}

    def say(form: str, names: str) -> None:
        forms.update(dict.fromkeys(names.split(), form))

    say("rd rs rt", "ADD ADDU SUB SUBU AND OR XOR NOR SLT SLTU")
    say("rd rt sa", "SLL SRL SRA")
    say("rd rt rs", "SLLV SRLV SRAV")
    say("rs", "JR MTHI MTLO")
    say("rd rs", "JALR")
    say("", "SYSCALL BREAK RFE")
    say("rd", "MFHI MFLO")
    say("rs rt", "MULT MULTU DIV DIVU")
    say("rt rs immediate", "ADDI ADDIU SLTI SLTIU ANDI ORI XORI")
    say("rt immediate", "LUI")
    say("rs rt offset", "BEQ BNE")
    say("rs offset", "BLEZ BGTZ BLTZ BGEZ BLTZAL BGEZAL")
    say("rt immediate(rs)", "LB LH LWL LW LBU LHU LWR SB SH SWL SW SWR LL SC")
    say("target", "J JAL")
    say("rt rd", "MFC0 MTC0")
    found = {}
    for name, form in forms.items():
        if name in Function.__members__:
            word = Opcode.SPECIAL << 26 | Function[name]
        elif name in RegImm.__members__:
            word = Opcode.REGIMM << 26 | RegImm[name] << 16
        elif name in Cop0.__members__:
            word = Opcode.COP0 << 26 | Cop0[name] << 21 | (RFE_FUNCTION if name == "RFE" else 0)
        else:
            word = Opcode[name] << 26
        found[name.lower()] = Encoding(name.lower(), form, word)
    return found


ENCODINGS: dict[str, Encoding] = _encodings()
"""All instructions by mnemonic."""

REGISTER_NAMES = (
    "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
    "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp",
    "ra")
"""As assembly language calls the 32 general registers."""


@lru_cache(1 << 16)
def encoding_of(word: int) -> Encoding | None:
    """The instruction that a word of 32 bits is; None: reserved, or of a missing coprocessor."""
    opcode = word >> 26
    try:
        if opcode == Opcode.SPECIAL:
            name = Function(word & 63).name
        elif opcode == Opcode.REGIMM:
            name = RegImm(word >> 16 & 31).name
        elif opcode == Opcode.COP0:
            within = word >> 21 & 31
            rfe = within & Cop0.RFE and word & 63 == RFE_FUNCTION
            name = "RFE" if rfe else Cop0(within).name
            if name == "RFE" and not rfe:
                return None
        else:
            name = Opcode(opcode).name
    except ValueError:
        return None
    return ENCODINGS.get(name.lower())
