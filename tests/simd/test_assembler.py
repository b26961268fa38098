"""Assembler and disassembler: the grammar, all errors of a run, and there and back again."""

import contextlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.simd.isa import TABLE, Kind, Operand, encode
from cyclebound.golden.simd.program import Branches, Program
from cyclebound.tools.simd.assembler import AssemblyError, assemble, assemble_file
from cyclebound.tools.simd.disassembler import source
from cyclebound.tools.simd.kernels import KERNELS, kernel_path

pytestmark = pytest.mark.unit

HEAD = ".data\n0 0 64 4\n1 0x10000 64 4 f \"x.bin\"\n.sp_data\n0 0 32 32\n.text\n"


def one(text):
    """The one instruction before the exit that ends it."""
    return assemble(f"{HEAD}{text}\nexit\n").instructions[0]


def problems(text):
    with pytest.raises(AssemblyError) as raised:
        assemble(text, "k.sas")
    return [str(problem) for problem in raised.value.problems]


@pytest.mark.parametrize("text", [
    "mad v1, v2, 2.5f, v3", "mad v1 v2 2.5 v3", "mad  v1,v2 , 2.5f v3 // comment",
    "MAD".lower() + " v1, v2, 0x40200000, v3"])
def test_commas_suffixes_and_comments_do_not_matter(text):
    assert encode(one(text)) == encode(one("mad v1, v2, 2.5, v3"))


@pytest.mark.parametrize(("text", "bits"), [
    ("1.0f", 0x3F800000), ("-0.0", 0x80000000), (".5", 0x3F000000), ("1e-3f", 0x3A83126F),
    ("2f", 0x40000000), ("FLT_MAX", 0x7F7FFFFF), ("-FLT_MAX", 0xFF7FFFFF),
    ("FLT_MIN", 0x00800000), ("FLT_EPSILON", 0x34000000), ("M_PI_F", 0x40490FDB),
    ("M_2PI_F", 0x40C90FDB), ("-M_E_F", 0xC02DF854), ("0", 0), ("-0x1", 0xFFFFFFFF)])
def test_floats(text, bits):
    assert one(f"mul v1, v2, {text}").operand("B") == Operand(Kind.IMMEDIATE, bits)


@pytest.mark.parametrize(("text", "bits"), [
    ("-1", 0xFFFFFFFF), ("0x10", 16), ("4294967295", 0xFFFFFFFF), ("FLT_DIG", 6),
    ("-FLT_MIN_EXP", 125)])
def test_integers(text, bits):
    assert one(f"iadd v1, v2, {text}").operand("B") == Operand(Kind.IMMEDIATE, bits)


def test_special_registers_by_name_and_by_number():
    assert one("mov v1, vc.tid_y") == one("mov v1, vc5")
    assert one("smov s1, sc.wg_width") == one("smov s1, sc4")


def test_optional_operands_may_be_left_out():
    assert encode(one("ldglin v0, 0")) == encode(one("ldglin v0, 0, 0, 0"))
    assert encode(one("sldg s0, 1")) == encode(one("sldg s0, 1, 1"))
    assert one("exit p1").operand("A") == Operand(Kind.PREDICATE, 1)


def test_labels_of_hexadecimal_letters_are_labels():
    program = assemble(HEAD + "e1: nop\nfff:\nj e1\nexit")
    assert program.labels == {"e1": 0, "fff": 1}
    assert program.instructions[1].operand("B") == Operand(Kind.LABEL, 0)


def test_annotations():
    program = assemble(HEAD + "l:\n#bound branchcycle 3 1 2\n\nsicj.g l, s0\n"
                       "#bound value 64 // words\nsmovssp sc.sd_words, s1\nexit")
    assert program.branches == {0: Branches(3, 1, 2)}
    assert program.values == {1: 64}


def test_buffers():
    program = assemble(HEAD + "exit")
    assert program.buffers[1].source == "x.bin"
    assert program.buffers[1].form == "f"
    assert program.buffers[1].address == 0x10000
    assert program.scratchpad_buffers[0].words == 1024


@pytest.mark.parametrize(("text", "says"), [
    (".txt", "1:1: section: a section must be .data, .sp_data or .text, not '.txt'"),
    (".text x\nnop", "1:7: syntax: nothing may follow .text, not 'x'"),
    ("0 0 64", "1:5: buffer: a buffer needs number, address, dim_x and dim_y"),
    ("32 0 64 1", "1:1: buffer: a number from 0 to 31 is needed, not 32"),
    ("0 2 64 1", "1:3: buffer: an address must be a multiple of 4, not 0x2"),
    ("0 0 0 1", "1:5: buffer: a number from 1 to 1048575 is needed, not 0"),
    ("0 0xfffffffc 2 1", ("1:3: buffer: buffer 0 ends at byte 0x100000004, and there are "
     "0x100000000")),
    ("0 0 8 1\n0 64 8 1", "2:1: buffer: buffer 0 stands in line 1, too"),
    ("0 0 8 1\n1 28 8 1", "2:3: overlap: buffer 1 overlaps buffer 0 of line 1"),
    ("0 0 8 1 d", "1:9: buffer: content d needs a path in quotes"),
    ("0 0 8 1 x \"a\"", ("1:9: buffer: a buffer's content must be d (CSV), f (raw) or n (none), "
     "not 'x'")),
    ("0 0 8 1 d a.csv", "1:11: buffer: a path stands in quotes, not 'a.csv'"),
    (".sp_data\n0 65532 2 1", "2:3: buffer: buffer 0 ends at byte 0x10004, and there are 0x10000"),
    (".sp_data\n0 0 2 1 n", ("2:9: buffer: a scratchpad buffer has no content, and nothing may "
     "follow its dimensions, not 'n'")),
    (".text\nfoo v1\nexit", "2:1: opcode: there is no operation 'foo'"),
    (".text\nadd.pos v1, v2, v3\nexit", ("2:1: opcode: the sub-operation of add must be one of "
     "none, neg, not 'pos'")),
    (".text\nadd. v1, v2, v3\nexit", ("2:1: opcode: the sub-operation of add must be one of "
     "none, neg, not ''")),
    (".text\ntest p1, v3\nexit", ("2:1: opcode: the sub-operation of test must be one of ez, "
     "nz, g, ge, l, le, not ''")),
    (".text\nadd v1, v2\nexit", ("2:1: operands: add takes operand 3, a vector register or "
     "a scalar register or a float, which is missing")),
    (".text\nadd v1, v2, v3, v4\nexit", ("2:17: operands: add takes 3 operands at most, and "
     "'v4' is one more")),
    (".text\nadd s1, v2, v3\nexit", "2:5: operand: a vector register is needed, not 's1'"),
    (".text\nmov v1, v2\nexit", ("2:9: operand: 32 bits: an integer or a float or a vc register is "
     "needed, not 'v2'")),
    (".text\nadd v64, v2, v3\nexit", "2:5: range: registers are v0 to v63, not v64"),
    (".text\nmov v1, vc.tid\nexit", ("2:9: range: vc registers are ctrl_run, ctrl_break, ctrl_ret, "
     "ctrl_exit, tid_x, tid_y, lid_x, lid_y, zero, one, mem_idx, mem_data, not tid")),
    (".text\nmovvsp vc.zero, v1\nexit", "2:8: operand: vc.zero cannot be written"),
    (".text\niadd v1, v2, 1.5\nexit", ("2:14: number: an integer is needed, not a float; its bits "
     "may be written as 0x3fc00000")),
    (".text\nadd v1, v2, 2\nexit", ("2:13: number: a float is needed, as in 2.0; bits may be "
     "written in hexadecimal, 0x00000002")),
    (".text\niadd v1, v2, 0x100000000\nexit", ("2:14: range: an immediate has 32 bits, and "
     "0x100000000 has more")),
    (".text\nadd v1, v2, 1e39\nexit", "2:13: range: 1e39 is beyond the greatest float"),
    (".text\nldglin v0, 0\nexit", "2:1: buffer: ldglin names buffer 0, which .data does not have"),
    (".text\nj nowhere\nexit", "2:3: label: there is no label 'nowhere'"),
    (".text\na: nop\na: exit", "3:1: label: label 'a' stands in line 2, too"),
    (".text\n1a: exit", ("2:1: label: a label has letters, digits and _, and begins with no digit, "
     "not '1a'")),
    (".text\nv1: exit", ("2:1: label: a label must not be the name of a register or constant, "
     "not 'v1'")),
    (".text\nj end\nexit\nend:", "2:3: label: no instruction follows label 'end'"),
    (".text\n#bound branchcycle 1 1\nnop\nexit", ("2:1: bound: this annotation must stand before "
     "sicj, not nop")),
    (".text\nexit\n#bound value 3", ("3:1: bound: an annotation must stand before the instruction "
     "that it is about")),
    (".text\n#bound branchcycle 0 0\nexit", ("2:20: bound: branchcycle T N S needs a pattern of at "
     "least one branch, and a start in it, not 0 0")),
    (".text\n#bound loop 3\nexit", ("2:8: bound: an annotation must be #bound branchcycle T N [S] "
     "or #bound value V")),
    (".text\nnop", "2:1: stack: execution runs on after the last instruction; end with exit"),
    (".text\ncpop\nexit", "2:1: stack: cpop finds the control stack empty"),
    ("", "1:1: length: a kernel must have an instruction"),
])
def test_a_line_that_does_not_assemble(text, says):
    assert problems(text) == [f"k.sas:{says}"]


def test_all_problems_of_a_file_come_at_once_in_order():
    found = problems("0 0 8\n.text\nfoo\nl: add v1\nj m\nmul v1 v2 v99\nexit")
    assert [message.split(":")[1] for message in found] == ["1", "3", "4", "5", "6"]


def test_a_program_too_long():
    assert problems(".text\n" + "nop\n" * 2048 + "exit") == [
        "k.sas:2050:1: length: a kernel has 2048 instructions at most, not 2049"]
    assert len(assemble(".text\n" + "nop\n" * 2047 + "exit").instructions) == 2048


def nested(depth):
    return (".text\n" + "".join(f"cpush.if l{i}\n" for i in range(depth))
            + "".join(f"cpop\nl{i}:\n" for i in reversed(range(depth))) + "exit")


def test_the_control_stack_holds_sixteen():
    assemble(nested(16))
    assert problems(nested(17)) == [
        "k.sas:18:1: stack: the control stack holds 16 entries, and this is one more"]


def test_a_loop_that_pushes_is_refused():
    assert problems(".text\nl: cpush.if l\nsicj.g l, s0\nexit") == [
        "k.sas:2:4: stack: the control stack holds 16 entries, and this is one more"]
    assert problems(".text\nf: call f\nexit") == [
        "k.sas:2:4: stack: the control stack holds 16 entries, and this is one more"]


def test_a_pop_that_is_legal_on_one_way_only():
    assert problems(".text\nsicj.g l, s0\ncpush.if l\nl: cpop\nexit") == [
        "k.sas:4:4: stack: cpop finds the control stack empty"]


def test_too_many_ways_are_refused(monkeypatch):
    monkeypatch.setattr("cyclebound.golden.simd.control_stack.STATES", 10)
    assert problems(nested(16)) == [
        "k.sas:12:1: stack: more than 10 paths lead through the program"]


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_there_and_back(name):
    program = assemble_file(kernel_path(name))
    again = assemble(source(program))
    assert list(map(encode, again.instructions)) == list(map(encode, program.instructions))
    assert again.buffers == program.buffers
    assert again.scratchpad_buffers == program.scratchpad_buffers
    assert again.branches == program.branches
    assert again.values == program.values


def test_any_instructions_there_and_back(instruction):
    rng = random.Random(3)
    plain = {operation.name for operation in TABLE} - {
        "j", "sicj", "bra", "call", "cpush", "cpop", "exit", "cmask", "brk", "ret"}
    head = "".join(f"{i} {i * 4096} 16 1\n" for i in range(32))
    for _ in range(12):
        made = tuple(instruction(rng, 1, plain) for _ in range(50))
        text = source(Program("k", made))
        text = text.replace(".data\n", f".data\n{head}.sp_data\n"
                            + "".join(f"{i} {i * 64} 4 4\n" for i in range(32)))
        found = assemble(text + "exit\n")
        assert list(map(encode, found.instructions[:-1])) == list(map(encode, made))


@settings(max_examples=80, deadline=None, database=None)
@given(st.text(st.sampled_from("adv01.,: \n#-sxp\"/\t\0é"), max_size=80))
def test_any_text_assembles_or_is_refused(text):
    with contextlib.suppress(AssemblyError):
        assemble(f".text\n{text}\nexit")


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "k.sas"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(AssemblyError, match=r"1:1: text: a source must be UTF-8 text, not byte"):
        assemble_file(path)
