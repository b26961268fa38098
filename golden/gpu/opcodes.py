"""SASS opcodes of sm_70 to sm_121: pipeline and kind, and the delays that are known.

Opcodes: the instruction set tables of CUDA Binary Utilities 13 for Turing, Ampere and Ada, Hopper,
and Blackwell, and those that listings show besides. Pipelines: the
thesis, 5.3.2 and Tables 6.1 to 6.6, after Nsight Compute's documentation; NVIDIA publishes no
complete assignment, so that those the thesis does not name are assumptions. Delays of the thesis:
its tables and the published sheets; it has none for other opcodes, and none is made up here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cyclebound.golden.gpu.thesis_wcet import PIPELINES

__all__ = ["KINDS", "OPCODES", "THESIS_DELAYS", "Opcode", "most_specific", "opcode_of"]

KINDS = {
    "data": "computes on registers and constants",
    "global": "reads or writes global memory, or memory of any space by address",
    "local": "reads or writes local memory, which lies in global memory",
    "shared": "reads or writes shared memory of the block",
    "constant": "loads from a constant bank",
    "texture": "reads or writes through the texture unit",
    "copy": "belongs to asynchronous copies and products, or to a cluster of blocks",
    "branch": "goes elsewhere in the kernel",
    "call": "goes to a function, or returns from one",
    "exit": "ends the thread",
    "barrier": "waits for warps of the block",
    "fence": "waits for memory, or for results of earlier instructions",
    "converge": "gathers or parts the threads of a warp",
    "trap": "stops the kernel, or waits for time to pass",
}


@dataclass(frozen=True)
class Opcode:
    """Pipeline and kind of an opcode, without its modifiers.

    Raises `ValueError` for another pipeline or kind than those below.

    Attributes
    ----------
    pipeline : str or None
        One of `PIPELINES`; None for loads, stores and control.
    kind : str
        A key of `KINDS`.
    """

    name: str
    pipeline: str | None
    kind: str

    def __post_init__(self) -> None:
        if self.pipeline is not None and self.pipeline not in PIPELINES:
            raise ValueError(f"pipeline of {self.name} must be one of {', '.join(PIPELINES)}, "
                             f"not {self.pipeline!r}")
        if self.kind not in KINDS:
            raise ValueError(f"kind of {self.name} must be one of {', '.join(KINDS)}, "
                             f"not {self.kind!r}")


_TABLE = """
fma data: FADD FADD2 FADD32I FFMA FFMA2 FFMA32I FHADD FHFMA FMUL FMUL2 FMUL32I IMAD IMUL IMUL32I IDP
    IDP4A
alu data: BMSK BREV FCHK FMNMX FMNMX3 FSEL FSET FSETP FSWZADD IABS IADD IADD3 IADD32I ICMP IMNMX
    ISCADD ISCADD32I ISETP LEA LEPC LOP LOP3 LOP32I MOV MOV32I PLOP3 PRMT PSETP P2R R2P SEL SGXT SHF
    SHL SHR VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX VOTE VOTEU CSET CSETP
fp16 data: HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2
fp64 data: DADD DFMA DMNMX DMUL DSET DSETP
tensor data: BMMA DMMA HMMA IMMA OMMA QMMA
tensor copy: BGMMA HGMMA IGMMA QGMMA
xu data: F2F F2FP F2I F2IP FLO FRND I2F I2FP I2I I2IP MUFU POPC
special data: B2R CREDUX CS2R CS2UR GETLMEMBASE PMTRIG R2B R2UR REDUX S2R S2UR SETCTAID SETLMEMBASE
uniform data: UBMSK UBREV UCLEA UF2F UF2FP UF2I UF2IP UFADD UFFMA UFLO UFMNMX UFMUL UFRND UFSEL
    UFSET UFSETP UI2F UI2FP UI2I UI2IP UIABS UIADD3 UIMNMX UIMAD UISETP ULEA ULEPC ULOP ULOP3
    ULOP32I UMOV UP2UR UPLOP3 UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR UVIADD UVIMNMX
- data: NOP
- global: ATOM ATOMG CCTL CCTLL LD LDG MATCH QSPC RED REDG ST STG UREDGR USTGR
- local: LDL STL
- shared: ATOMS LDS LDSM MOVM SHFL STS STSM
- constant: LDC LDCU ULDC
- texture: AL2P ALD AST CCTLT FOOTPRINT IPA ISBERD ISBEWR OUT PIXLD SUATOM SULD SURED SUST TEX TLD
    TLD4 TMML TXD TXQ
- copy: ACQBULK ACQSHMINIT ARRIVES LDGDEPBAR LDGMC LDGSTS LDT LDTM PREEXIT REDAS STAS STT STTM SYNCS
    UBLKCP UBLKPF UBLKRED UCGABAR_ARV UCGABAR_WAIT UGETNEXTWORKID UMEMSETS USETMAXREG UTCATOMSWS
    UTCBAR UTCCP UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT UTMACCTL UTMACMDFLUSH UTMALDG UTMAPF
    UTMAREDG UTMASTG UVIRTCOUNT WARPGROUP WARPGROUPSET
cbu branch: BRA BRX BRXU JMP JMX JMXU
cbu call: CALL RET
cbu exit: EXIT KILL
cbu barrier: BAR
cbu converge: BMOV BREAK BSSY BSYNC ELECT ENDCOLLECTIVE WARPSYNC YIELD
- fence: CGAERRBAR DEPBAR ERRBAR FENCE MEMBAR
cbu trap: BPT IDE NANOSLEEP NANOTRAP RPCMOV RTT
"""


def _opcodes(table: str) -> dict[str, Opcode]:
    opcodes, pipeline, kind = {}, "", ""
    for word in table.split():
        if word in PIPELINES or word == "-":
            pipeline = word
        elif word.endswith(":"):
            kind = word[:-1]
        else:
            opcodes[word] = Opcode(word, None if pipeline == "-" else pipeline, kind)
    return opcodes


OPCODES = _opcodes(_TABLE)
"""By name. A name with a modifier, such as ``HFMA2.MMA``, is more specific than one without."""
OPCODES["HFMA2.MMA"] = Opcode("HFMA2.MMA", "tensor", "data")  # TC in Table 6.1

THESIS_DELAYS: dict[str, int] = {
    "IADD3": 2, "SHF": 4, "ISETP": 4, "IMAD": 4, "FMUL": 4, "FADD": 4, "FFMA": 4, "LEA": 6,
    "S2R": 10, "CS2R": 10, "HFMA2.MMA": 4,  # "8 or 4" in the matrix kernel
    "MOV": 1,  # matrix; with a constant operand it is a stand-alone load of 290 (addition)
    "NOP": 0,
}
"""Cycles of an instruction for each active warp, Tables 6.2, 6.3 and 6.5 and the sheets. All
of cbu, such as BRA and BAR, counts 0 there."""


def most_specific(name: str, table: Mapping[str, object]) -> str | None:
    """The key of a table that fits an opcode with modifiers best.

    A key fits if it has the same opcode and its modifiers are among the instruction's: the key
    ``LDG.CONSTANT`` fits ``LDG.E.128.CONSTANT``. The one with most modifiers wins.
    """
    opcode, *modifiers = name.split(".")
    fitting = [key for key in table if key.split(".")[0] == opcode
               and set(key.split(".")[1:]) <= set(modifiers)]
    return max(fitting, key=lambda key: (key.count("."), key), default=None)


def opcode_of(name: str, more: Mapping[str, Opcode] | None = None) -> Opcode | None:
    """Look up an instruction's opcode by its most specific name, ``more`` first; None if absent."""
    for table in (more or {}, OPCODES):
        key = most_specific(name, table)
        if key is not None:
            return table[key]
    return None
