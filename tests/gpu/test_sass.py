"""The grammar of listings, resource usage and latencies: what is read, and what is refused."""

import json
import random
import string

import pytest

from cyclebound.golden.gpu.control_flow import flow_of
from cyclebound.golden.gpu.instruction import (
    Constant,
    Guard,
    Memory,
    Register,
    Target,
    Targets,
    Word,
)
from cyclebound.golden.gpu.opcodes import opcode_of
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS
from cyclebound.golden.gpu.thesis_wcet import Options, estimate
from cyclebound.tools.gpu.annotate import missing_opcodes, thesis_steps
from cyclebound.tools.gpu.latency_file import LatencyFile, parse_latencies
from cyclebound.tools.gpu.layer_file import LAYER_EXAMPLE, parse_system
from cyclebound.tools.gpu.listing import SYNTAXES, Line, listing, listing_of_steps
from cyclebound.tools.gpu.resource_usage import parse_usage
from cyclebound.tools.gpu.sass import SassError, parse_sass
from cyclebound.tools.gpu.stream_file import EXAMPLES, parse_streams

pytestmark = pytest.mark.unit


def function(*texts, end="EXIT"):
    """A listing of one function that has these instructions and an end."""
    return listing({"f": [Line(text) for text in (*texts, *([end] if end else []))]})


def parsed(text):
    """The first instruction of a listing that has this one."""
    return parse_sass(function(text))[0].instructions[0]


R = Register


@pytest.mark.parametrize(("text", "name", "operands"), [
    ("MOV R1, c[0x0][0x28]", "MOV", (R("R1"), Constant(0, 0x28))),
    ("MOV R1, c[0x0] [0x28]", "MOV", (R("R1"), Constant(0, 0x28))),
    ("LDC R4, c[0x3][R4+0x10]", "LDC", (R("R4"), Constant(3, None))),
    ("LDC R4, cx[UR4][0x10]", "LDC", (R("R4"), Constant(None, 0x10))),
    ("IMAD.WIDE.U32 R2, R6.reuse, -|R7|, -c[0x0][0x160]", "IMAD.WIDE.U32",
     (R("R2"), R("R6"), R("R7"), Constant(0, 0x160))),
    ("LDG.E R2, [R2]", "LDG.E", (R("R2"), Memory(("R2",), 0))),  # sm_70
    ("LDG.E.128.CONSTANT R8, [R2.64+-0x10]", "LDG.E.128.CONSTANT",
     (R("R8"), Memory(("R2",), -16))),
    ("LDG.E R2, desc[UR4][R2.64+0x8]", "LDG.E", (R("R2"), Memory(("R2",), 8))),  # sm_90
    ("LDS.U.128 R4, [R2.X4+UR5+0x10]", "LDS.U.128", (R("R4"), Memory(("R2", "UR5"), 16))),
    ("LDS R4, [0x40]", "LDS", (R("R4"), Memory((), 64))),
    ("STG.E [R6.64], R9", "STG.E", (Memory(("R6",), 0), R("R9"))),
    ("LDGSTS.E.BYPASS.LTC128B.128 [R3+0x10], [R4.64], !P0", "LDGSTS.E.BYPASS.LTC128B.128",
     (Memory(("R3",), 16), Memory(("R4",), 0), R("P0"))),
    ("FSEL R1, R2, -INF , !P0", "FSEL", (R("R1"), R("R2"), Word("-INF"), R("P0"))),
    ("HFMA2.MMA R7, -RZ, RZ, 0, 2.384185791015625e-07", "HFMA2.MMA",
     (R("R7"), R("RZ"), R("RZ"), Word("0"), Word("2.384185791015625e-07"))),
    ("S2R R6, SR_CTAID.X", "S2R", (R("R6"), R("SR_CTAID"))),
    ("CS2R R2, SRZ", "CS2R", (R("R2"), R("SRZ"))),
    ("BRA `(.L_x_1)", "BRA", (Target(None, ".L_x_1"),)),
    ("RET.REL.NODEC R20 0x0", "RET.REL.NODEC", (R("R20"), Word("0x0"))),
    ("TEX.SCR.LL.NODEP R5, R4, R2, R0, 0x0, 0x58, 2D, 0x1", "TEX.SCR.LL.NODEP",
     (R("R5"), R("R4"), R("R2"), R("R0"), Word("0x0"), Word("0x58"), Word("2D"), Word("0x1"))),
    ("HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4], !UPT", "HGMMA.64x64x16.F32.BF16",
     (R("R24"), Word("gdesc"), R("UPT"))),
    ("MOV R4, 32@lo((_Z3foo + .L_1@srel))", "MOV",
     (R("R4"), Word("32@lo((_Z3foo + .L_1@srel))"))),
    ("BSSY B0, 0x1d0", "BSSY", (R("B0"), Word("0x1d0"))),
    ("LDC R9, c[0x0][RZ]", "LDC", (R("R9"), Constant(0, 0))),  # sm_90
    ("LDC.64 R2, c[0x0][R2+0x160]", "LDC.64", (R("R2"), Constant(0, None))),
    ("FSEL R6, R6, |c[0x0][0x180]|, !P0", "FSEL", (R("R6"), R("R6"), Constant(0, 0x180), R("P0"))),
    ("FSETP.GT.AND P1, PT, |R7|.reuse, 152, PT", "FSETP.GT.AND",
     (R("P1"), R("PT"), R("R7"), Word("152"), R("PT"))),
    ("IADD3.X R7, ~R2, RZ, RZ, P0, !PT", "IADD3.X",
     (R("R7"), R("R2"), R("RZ"), R("RZ"), R("P0"), R("PT"))),
    ("HADD2.F32 R5, -RZ, R4.H0_H0", "HADD2.F32", (R("R5"), R("RZ"), R("R4"))),
    ("HMMA.884.F16.F16.STEP0 R20, R12.reuse.ROW, R16.reuse.COL, RZ", "HMMA.884.F16.F16.STEP0",
     (R("R20"), R("R12"), R("R16"), R("RZ"))),  # sm_70
    ("HGMMA.64x128x16.F32 R120, R228, gdesc[UR8].tnspB, R120, gsb0", "HGMMA.64x128x16.F32",
     (R("R120"), R("R228"), Word("gdesc"), R("R120"), Word("gsb0"))),
    ("UTMALDG.2D [UR8], [UR16], desc[UR18]", "UTMALDG.2D",
     (Memory(("UR8",), 0), Memory(("UR16",), 0), Word("desc"))),
    ("LDGSTS.E.BYPASS.128 [R9+UR0+0x5000], desc[UR1][R92.64], P1", "LDGSTS.E.BYPASS.128",
     (Memory(("R9", "UR0"), 0x5000), Memory(("R92",), 0), R("P1"))),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R5+URZ+0x140], R4", "SYNCS.PHASECHK.TRANS64.TRYWAIT",
     (R("P0"), Memory(("R5", "URZ"), 0x140), R("R4"))),
    ("DEPBAR {5,4,0}", "DEPBAR", (Word("{5,4,0}"),)),
    ("DEPBAR.LE SB0, 0x1, {4,3}", "DEPBAR.LE", (R("SB0"), Word("0x1"), Word("{4,3}"))),
    ("BRA (.L_x_3)", "BRA", (Target(None, ".L_x_3"),)),
    ("BRA.DIV ~URZ, `(.L_9)", "BRA.DIV", (R("URZ"), Target(None, ".L_9"))),
    ('BRX R18 -0x90 (*"BRANCH_TARGETS .L_x_6,.L_x_7"*)', "BRX",
     (R("R18"), Word("-0x90"), Targets((".L_x_6", ".L_x_7")))),
    ('BRX R2 -0x110 (*"INDIRECT_CALL"*)', "BRX", (R("R2"), Word("-0x110"))),
    ("CALL.REL.NOINC `($__internal_1_$div)", "CALL.REL.NOINC",
     (Target(None, "$__internal_1_$div"),)),
    ("CALL.ABS.NOINC `(f(int, int))", "CALL.ABS.NOINC", (Target(None, "f(int, int)"),)),
    ("BMOV.32 R0, TRAP_RETURN_PC.LO", "BMOV.32", (R("R0"), Word("TRAP_RETURN_PC.LO"))),
    ("FFMA R4, R0, 1.84467440737095516160e+19, +QNAN", "FFMA",
     (R("R4"), R("R0"), Word("1.84467440737095516160e+19"), Word("+QNAN"))),
])
def test_operands(text, name, operands):
    found = parsed(text)
    assert (found.name, found.operands, found.guard) == (name, operands, None)


@pytest.mark.parametrize(("guard", "means"), [
    ("@P0", Guard("P0")), ("@!P6", Guard("P6", True)), ("@!UP1", Guard("UP1", True))])
def test_guards(guard, means):
    found = parse_sass(listing({"f": [Line("IADD3 R1, R2, R3, RZ", guard), Line("EXIT")]}))
    assert found[0].instructions[0].guard == means


def test_lines_labels_and_several_functions():
    text = listing({"first": [Line("NOP", label=".L_x_1"), Line("BRA `(.L_x_1)")],
                    "second": [Line("EXIT")]}, "sm_75")
    first, second = parse_sass(text)
    assert [instruction.line for instruction in first.instructions] == [
        number for number, line in enumerate(text.split("\n"), 1) if "/*00" in line][:2]
    assert (first.labels, first.architecture, second.name) == ({".L_x_1": 0}, "sm_75", "second")


def test_ptx_of_an_older_architecture_does_not_matter():
    ptx = "Fatbin ptx code:\n====\narch = sm_52\ncompressed\nptxasOptions = -O3\n"
    assert parse_sass(ptx + function("NOP"))[0].architecture == "sm_80"


SEVERAL = """
member libours.a:one.cu.o:

Fatbin elf code:
================
arch = sm_75
code version = [1,8]
host = linux
compile_size = 64bit

\tcode for sm_75

Fatbin elf code:
================
arch = sm_75
code version = [1,8]
host = linux
compile_size = 64bit

\tcode for sm_75
\t.target\tsm_75

\t\tFunction : scale
\t.headerflags\t@"EF_CUDA_SM75 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM75)"
        /*0000*/                   ISETP.GE.AND P0, PT, R4, c[0x0][0x170], PT ;
                                                             /* 0x0000000000000001 */
        /*0010*/               @P0 EXIT ;                    /* 0x0000000000000002 */
                                                             /* 0x0000000000000003 */
        /*0020*/                   EXIT ;                    /* 0x0000000000000004 */
                                                             /* 0x0000000000000005 */
\t\t..........


Fatbin elf code:
================
arch = sm_90a
code version = [1,8]
host = linux
compile_size = 64bit

\tcode for sm_90a
\t.target\tsm_90a

\t\tFunction : scale
\t.headerflags\t@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   EXIT ;                    /* 0x0000000000000006 */
                                                             /* 0x0000000000000007 */
\t\t.................

member libours.a:two.cu.o:

Fatbin ptx code:
================
arch = sm_90a
code version = [8,3]
host = linux
compile_size = 64bit
compressed
"""
"""Written by hand: CUDA 13's header, two architectures of one kernel, an empty part, PTX."""

DISASSEMBLED = """
\t.headerflags\t@"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM86 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
\t.elftype\t@"ET_EXEC"

//--------------------- .nv.info --------------------------
\t.section\t.nv.info,"",@"SHT_CUDA_INFO"
\t.align\t4
        /*0000*/ \t.byte\t0x04, 0x2f
        /*0002*/ \t.short\t(.L_1 - .L_0)
.L_0:
        /*0004*/ \t.word\tindex@(ratio)
.L_1:

//--------------------- .text.ratio --------------------------
\t.section\t.text.ratio,"ax",@progbits
\t.sectioninfo\t@"SHI_REGISTERS=21"
\t.align\t128
        .global         ratio
        .type           ratio,@function
        .size           ratio,(.L_x_5 - ratio)
ratio:
.text.ratio:
\t//## File "ours.cu", line 3
        /*0000*/                   MOV R10, 0x20 ;
        /*0010*/                   CALL.REL.NOINC `($ours$slow) ;
        /*0020*/                   EXIT ;
        .weak           $ours$slow
        .type           $ours$slow,@function
        .size           $ours$slow,(.L_x_5 - $ours$slow)
$ours$slow:
        /*0030*/                   MOV R4, R10 ;
        /*0040*/                   RET.REL.NODEC R4 `(ratio) ;
.L_x_4:
        /*0050*/                   BRA `(.L_x_4);
.L_x_5:

//--------------------- .text.empty --------------------------
\t.section\t.text.empty,"ax",@progbits
.text.empty:
        .weak           empty
        .size           empty,(.L_x_7 - empty)
empty:
        /*0000*/                   EXIT ;
.L_x_7:

//--------------------- .nv.constant0.ratio --------------------------
\t.section\t.nv.constant0.ratio,"a",@progbits
\t.align\t4
.nv.constant0.ratio:
\t.zero\t\t552
"""
"""Written by hand, as nvdisasm writes: labels, a function in the kernel's section, data."""


def test_several_architectures_in_one_file():
    assert [(kernel.name, kernel.architecture, len(kernel.instructions))
            for kernel in parse_sass(SEVERAL)] == [("scale", "sm_75", 3), ("scale", "sm_90a", 1)]
    with pytest.raises(SassError, match=r"^line \d+: function scale is there 2 times$"):
        parse_sass(SEVERAL.replace("sm_90a", "sm_75"))
    with pytest.raises(SassError, match=r"not sm_101; cuobjdump -arch NAME writes one of several$"):
        parse_sass(SEVERAL.replace("sm_90a", "sm_101"))


def test_nvdisasm():
    ratio, empty = parse_sass(DISASSEMBLED)
    assert (ratio.name, ratio.architecture, empty.name) == ("ratio", "sm_86", "empty")
    assert ratio.labels == {"$ours$slow": 0x30, ".L_x_4": 0x50, ".L_x_5": 0x60}
    assert sorted(flow_of(ratio).reached) == [0, 1, 2, 3, 4]
    newer = DISASSEMBLED.replace("\t.elftype", "\t.target\tsm_89\n\t.elftype")
    assert parse_sass(newer)[0].architecture == "sm_89"


def test_every_truncation_of_a_disassembly_is_seen():
    first = DISASSEMBLED.index(".text.ratio:\n") + len(".text.ratio:\n")
    last = DISASSEMBLED.index(".L_x_5:\n")
    for end in range(first, last, 7):
        with pytest.raises(SassError, match=r"^line \d+"):
            parse_sass(DISASSEMBLED[:end])
    assert len(parse_sass(DISASSEMBLED[:last + len(".L_x_5:")])) == 1


@pytest.mark.parametrize("name", [
    "CCTLT", "CGAERRBAR", "ELECT", "LDGMC", "REDAS", "REDG.E.ADD", "REDUX.OR", "SETCTAID", "STAS",
    "ULEPC", "ULOP32I.AND", "USETMAXREG.DEALLOC.CTAPOOL", "VIMNMX3", "UIADD3.64", "LDSM.16.M88.4"])
def test_opcodes_of_the_published_tables(name):
    assert opcode_of(name) is not None


def test_a_listing_without_machine_words_and_header():
    found = parse_sass("Function : f\n/*0000*/ NOP;\r\n/*0010*/ EXIT ; // end\n")
    assert [instruction.name for instruction in found[0].instructions] == ["NOP", "EXIT"]


@pytest.mark.parametrize(("text", "says"), [
    ("", "line 1: no 'Function : NAME' in it"),
    ("hello", "line 1, column 1: 'hello' where"),
    ("Function : f\n/*0000*/ MOV R1,", "line 2: the listing ends within an instruction"),
    ("Function : f\n/*0000*/ MOV R1 , , R2 ;", "line 2, column 19: ',' where"),
    ("Function : f\n/*0000*/ MOV R1, R2 \n/*0010*/ EXIT ;", "line 3, column 1: '/*0010*/' where"),
    ("Function : f\n/*0000*/ NOP ;\n/*0020*/ EXIT ;", "line 3: the address must be 0010"),
    ("Function : f\n/*0000*/ LDG R1, [R2 ;", "line 2, column 22: ';' where"),
    ("Function : f\n", "line 1: function f has no instruction"),
    ("Function :\n/*0000*/ EXIT ;", "line 1: a function must have a name"),
    ("Function : f\nL:\nL:\n/*0000*/ EXIT ;", "line 3: label L is defined twice"),
    ("code for sm_35\nFunction : f\n/*0000*/ EXIT ;", "line 1: architecture must be one of"),
    ("Function : f\n/*0000*/ EXIT ;\nFunction : f\n/*0000*/ EXIT ;",
     "line 1: function f is there 2 times"),
])
def test_what_is_no_listing(text, says):
    with pytest.raises(SassError) as caught:
        parse_sass(text)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


def test_every_truncation_is_seen():
    text = function("MOV R1, c[0x0][0x28]", "IADD3 R1, R1, R1, RZ").rstrip("\n")
    whole = text.index("..........") + 4
    for end in range(0, whole, 3):
        with pytest.raises(SassError, match=r"^line \d+"):
            parse_sass(text[:end])
    assert len(parse_sass(text[:whole])) == 1


@pytest.mark.parametrize("seed", range(4))
def test_fuzz(seed):
    """Whatever is done to a listing: kernels or one line that says what is wrong."""
    dice = random.Random(seed)
    texts = [listing_of_steps("add", THESIS_KERNELS["add"].steps, "sm_90"),
             function("@P0 BRA P1, 0x10", "TEX R1, R2, 2D", "BRX R2 -0x3a0 (*\"T .L_1\"*)",
                      "DEPBAR {1,0}", "CALL.REL.NOINC 0x10"), DISASSEMBLED]
    refused = read = 0
    for number in range(80):
        text = list(texts[number % 3])
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(text))
            text[at:at + dice.randint(0, 3)] = dice.choices(
                string.printable + "\0\u2028é[]|@;/*", k=dice.randint(0, 3))
        kernels, said = attempt(parse_sass, "".join(text))
        for kernel in kernels or ():
            missing_opcodes(kernel, LatencyFile())
            flow_of(kernel)
        assert said.count("\n") == 0
        refused += bool(said)
        read += not said
    assert refused > 20
    assert read > 2


def attempt(parse, text):
    """What a parser makes of a text, and what it says if it refuses it."""
    try:
        return parse(text), ""
    except ValueError as error:
        return None, str(error) or "nothing"


@pytest.mark.parametrize(("parse", "text"), [
    (parse_streams, EXAMPLES["figure-4.8"]), (parse_system, LAYER_EXAMPLE),
    (parse_latencies, ("[opcode.FOO]\ndelay = 3\nkind = 'data'\npipeline = 'alu'\n"
                      "[memory]\nl1 = 4"))])
def test_fuzz_of_toml(parse, text):
    """Values and names of other kinds, lines left out and twice: one line says what is wrong."""
    dice, refused, lines = random.Random(5), 0, text.split("\n")
    odd = ("-1", "0", "1.5", "true", "'x'", "[]", "{}", "nan", "99999999999999999999", "[1, [2]]",
           "1979-05-27", "''", "[[1]]")
    for _ in range(120):
        made = list(lines)
        for _ in range(dice.randint(1, 2)):
            at = dice.randrange(len(made))
            key = made[at].partition("=")[0]
            made[at:at + 1] = dice.choice(([f"{key}= {dice.choice(odd)}"], [], [made[at]] * 2,
                                           [f"x{made[at]}"], [made[at][:-2]]))
        _, said = attempt(parse, "\n".join(made))
        assert "\n" not in said
        refused += bool(said)
    assert refused > 60


@pytest.mark.parametrize(("name", "architecture"), [
    (name, syntax) for name in THESIS_KERNELS for syntax in SYNTAXES
    if name != "convolution" or syntax in ("sm_70", "sm_90")])  # it is large
def test_listings_of_our_own_give_the_recomputed_totals(name, architecture):
    kernel = THESIS_KERNELS[name]
    found, = parse_sass(listing_of_steps(name, kernel.steps, architecture))
    steps = thesis_steps(found, parse_latencies("[opcode.LOP3]\ndelay = 0"))
    warps = {"add": 64, "vectorized": 24, "matrix": 32, "convolution": 2}[name]

    def total(rule, branch):
        return estimate(steps, warps=warps, options=Options(constants=rule, branch=branch)).cycles

    assert [total(rule, branch) for rule in ("exact", "window", "line")
            for branch in ("unsaturated", "saturated")] == {
        "add": [5298, 3634, 4138, 2474, 4138, 2474],
        "vectorized": [4000, 3280, 2840, 2120, 2840, 2120],
        "matrix": [15649, 11361, 10429, 6141, 10429, 6141],
        "convolution": [27224, 24936, 15914, 13626, 16494, 14206]}[name]


def test_unknown_opcodes_are_listed_all_at_once():
    kernel, = parse_sass(function("FOO R1", "BAR.FOO R1", "QUX R1, R2", "FOO.X R2", "LOP3 R1, R2"))
    found = missing_opcodes(kernel, LatencyFile())
    assert [(item.name, item.lacks, len(item.lines)) for item in found] == [
        ("FOO", "opcode", 2), ("LOP3", "delay", 1), ("QUX", "opcode", 1)]
    own = parse_latencies("[opcode.FOO]\ndelay = 3\nkind = 'data'\npipeline = 'alu'\n"
                          "[opcode.QUX]\ndelay = 1\nkind = 'data'\n[opcode.LOP3]\ndelay = 7")
    assert missing_opcodes(kernel, own) == []
    assert [step.delay for step in thesis_steps(kernel, own)] == [3, 0, 0, 3, 7, 0]


def test_the_most_specific_name_wins():
    own = parse_latencies('[opcode.IMAD]\ndelay = 5\n[opcode."IMAD.WIDE"]\ndelay = 9')
    kernel, = parse_sass(function("IMAD R1, R2", "IMAD.WIDE.U32 R1, R2", "IMAD.U32.WIDE R1, R2"))
    assert [step.delay for step in thesis_steps(kernel, own)][:3] == [5, 9, 9]
    assert opcode_of("HFMA2.MMA.X").pipeline == "tensor"
    assert opcode_of("HFMA2").pipeline == "fp16"


def test_what_wrote_an_address_tells_it_from_others():
    """A load from registers that were written since is another address."""
    kernel, = parse_sass(function("LDG.E R8, [R2.64]", "LDG.E R9, [R2.64]",
                                  "IADD3 R3, R3, R4, RZ", "LDG.E R9, [R2.64]"))
    steps = thesis_steps(kernel, LatencyFile())
    assert estimate(steps, warps=1, options=Options(streaming=False, branch="unsaturated")
                    ).cycles == 290 + 33 + 2 + 290


@pytest.mark.parametrize(("text", "says"), [
    ("[opcode.LOP3]\n\ndelay = -1", "line 3: opcode.LOP3.delay must be a whole number of cycles"),
    ("[opcode.LOP3]\ndelay = true", "line 2: opcode.LOP3.delay must be a whole number"),
    ("[opcode.LOP3]\ndelay = 1.5", "line 2: opcode.LOP3.delay must be a whole number"),
    ("# none\n[opcode.LOP3]\n", "line 2: opcode.LOP3 must be a table with a delay"),
    ("[opcode.FOO]\ndelay = 1", "line 1: opcode.FOO must be a table with a kind"),
    ("[opcode.FOO]\ndelay = 1\nkind = 'x'", "line 1: kind of FOO must be one of data"),
    ("[opcode.FOO]\ndelay = 1\nkind = 1", "line 3: opcode.FOO.kind must be a text"),
    ("[opcode.FOO]\ndelay = 1\nspeed = 1", "line 3: opcode.FOO.speed must be one of delay"),
    ("[memory]\nglobal = 290\nl3 = 1", "line 3: memory.l3 must be one of global"),
    ("[memory]\nglobal = '290'", "line 2: memory.global must be a whole number"),
    ("memory = 4", "line 1: memory must be a table"), ("x = 4", "line 1: x must be one of the"),
    ("[", "not TOML: "), ("[opcode]\nLOP3 = 4", "line 2: opcode.LOP3 must be a table"),
])
def test_latencies_that_are_none(text, says):
    with pytest.raises(ValueError, match=r"^(line|not TOML)") as caught:
        parse_latencies(text)
    assert str(caught.value).startswith(says)


USAGE = """
Fatbin elf code:
================
arch = sm_80
code version = [1,7]
host = linux
compile_size = 64bit

Resource usage:
 Common:
  GLOBAL:64448 CONSTANT[3]:72
 Function add:
  REG:12 STACK:0 SHARED:4096 LOCAL:0 CONSTANT[0]:376 CONSTANT[2]:8 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function f(int*, int):
  REG:40 STACK:8 SHARED:0 LOCAL:0
"""


def test_resource_usage():
    found = parse_usage(USAGE)
    assert [(item.name, item.registers, item.shared, item.architecture) for item in found] == [
        ("add", 12, 4096, "sm_80"), ("f(int*, int)", 40, 0, "sm_80")]
    for end in range(0, USAGE.index("REG:40") + 3, 5):
        found, said = attempt(parse_usage, USAGE[:end])
        assert found is None or "f(int*, int)" not in [item.name for item in found]
        assert "\n" not in said
    with pytest.raises(ValueError, match=r"^line \d+: function add has no REG$"):
        parse_usage(USAGE.replace("REG:12", "RAG:12"))


def test_resource_usage_of_several_architectures():
    ptx = "\nFatbin ptx code:\n================\narch = sm_90\ncompressed\n"
    found = parse_usage(USAGE + USAGE.replace("sm_80", "sm_90").replace("REG:12", "REG:14") + ptx)
    assert [(item.name, item.architecture, item.registers) for item in found] == [
        ("add", "sm_80", 12), ("f(int*, int)", "sm_80", 40), ("add", "sm_90", 14),
        ("f(int*, int)", "sm_90", 40)]


COMPILED = """ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function 'add' for 'sm_80'
ptxas info    : Function properties for add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 4096 bytes smem, 380 bytes cmem[0]
ptxas info    : Compile time = 1.534 ms
ptxas info    : Compiling entry function '_Z3subPf' for 'sm_90a'
ptxas info    : Function properties for _Z3subPf
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers
"""
"""Written by hand, as `nvcc -res-usage` does."""


def test_resource_usage_of_the_compiler():
    assert [(usage.name, usage.architecture, usage.registers, usage.shared)
            for usage in parse_usage(COMPILED)] == [
        ("add", "sm_80", 12, 4096), ("_Z3subPf", "sm_90a", 40, 0)]
    for end in range(0, len(COMPILED), 3):
        assert "\n" not in attempt(parse_usage, COMPILED[:end])[1]


@pytest.fixture
def add(call, tmp_path):
    """A listing of the vector addition."""
    assert call("gpu", "listing", "add", "-o", "add.sass").returncode == 0
    (tmp_path / "usage.txt").write_text(USAGE)
    return "add.sass"


def test_commands(call, add, tmp_path):
    found = json.loads(call("gpu", "estimate", add, "-g", 216, "-b", 1024, "--json").stdout)
    assert (found["cycles"], found["warps"], found["saturated"]) == (5298, 64, None)
    found = json.loads(call("gpu", "estimate", add, "-g", 216, "-b", "32x32", "--res-usage",
                            "usage.txt", "--warps", "fewest-sms", "--json").stdout)
    assert found["warps"] == 64
    found = json.loads(call("gpu", "kernels", add, "--json").stdout)
    assert found[0]["kinds"]["global"] == 3
    assert "FFMA" in call("gpu", "latencies").stdout
    two = (tmp_path / add).read_text() + (tmp_path / add).read_text().replace(": add", ": sub")
    (tmp_path / "two.sass").write_text(two)
    assert call("gpu", "estimate", "two.sass", "-k", "sub", "-g", 1, "-b", 32).returncode == 0


def test_the_architecture_decides(call, add, tmp_path):
    """Which of two kernels of one name, which resources, and which limits."""
    (tmp_path / "two.sass").write_text(SEVERAL)
    (tmp_path / "two.txt").write_text(
        USAGE.replace("sm_80", "sm_75").replace("add", "scale")
        + USAGE.replace("sm_80", "sm_90").replace("add", "scale").replace("REG:12", "REG:14"))
    words = ("gpu", "bound", "two.sass", "-g", 1, "-b", 32, "--res-usage", "two.txt")
    assert "has scale for sm_75, sm_90a; name one by --capability" in call(*words).stderr
    found = json.loads(call(*words, "-c", "9.0", "--json").stdout)
    assert (found["architecture"], found["capability"]) == ("sm_90a", "9.0")
    call("gpu", "listing", "add", "-o", "old.sass", "-a", "sm_75")
    words = ("gpu", "bound", "old.sass", "-g", 216, "-b", 1024, "-r", 16, "--json")
    own, other = (json.loads(call(*words, *more).stdout) for more in ((), ("-c", "8.0")))
    assert (own["capability"], own["resident"]) == ("7.5", 1)
    assert (other["capability"], other["resident"]) == ("8.0", 2)
    assert "The listing is for sm_75; the limits are those of 8.0." in call(
        *words[:-1], "-c", "8.0").stdout


@pytest.mark.parametrize(("words", "says"), [
    (["add.sass", "-g", "1", "-b", "1", "-k", "ad"], "no kernel in add.sass 'ad'; did you mean"),
    (["none.sass", "-g", "1", "-b", "1"], "cannot read none.sass"),
    (["add.sass", "-g", "0", "-b", "1"], "grid x must be 1 to 2147483647, not 0"),
    (["add.sass", "-g", "1", "-b", "2048"], "threads per block must be 1 to 1024, not 2048"),
    (["add.sass", "-g", "1x2x3x4", "-b", "1"], "--grid takes sizes as in 8x1x2"),
    (["add.sass", "-g", "-1", "-b", "1"], "--grid takes sizes"),
    (["add.sass", "-g", "1", "-b", "1", "--constants", "sheet"], "--constants sheet is for"),
    (["add.sass", "-g", "1", "-b", "1", "--res-usage", "add.sass"], "line 9, column 2: not what"),
    (["add.sass", "-g", "1", "-b", "1", "-r", "8", "--res-usage", "usage.txt"], "take one"),
    (["usage.txt", "-g", "1", "-b", "1"], "usage.txt: line 9, column 1"),
    (["add.sass", "-g", "1", "-b", "1", "--warps", "fewest-sms"], "needs the registers"),
    (["add.sass", "-g", "1", "-b", "1", "--res-usage", "other.txt"], "has add for sm_90, not for"),
    (["add.sass", "-g", "1", "-b", "1", "--res-usage", "twice.txt"], "has add 2 times, with"),
    (["add.sass", "-g", "1", "-b", "1", "-c", "8.1"], "compute capability must be one of"),
    (["sm72.sass", "-g", "1", "-b", "1"], "take the limits of another one by --capability"),
    (["bad.sass", "-g", "1", "-b", "1"], "unknown opcodes: FOO x 2 (line 12, 14); opcodes without"),
])
def test_command_mistakes(call, add, tmp_path, words, says):
    (tmp_path / "bad.sass").write_text(function("FOO R1", "FOO R2", "DADD R1, R2, R3"))
    (tmp_path / "other.txt").write_text(USAGE.replace("sm_80", "sm_90"))
    (tmp_path / "twice.txt").write_text(USAGE + USAGE.replace("REG:12", "REG:13"))
    (tmp_path / "sm72.sass").write_text(function("NOP").replace("sm_80", "sm_72"))
    said = call("gpu", "estimate", *words)
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert says in said.stderr
