"""The command line of the SIMD accelerator."""

import pytest

pytestmark = pytest.mark.system


def test_assembled_and_disassembled(call, tmp_path):
    said = call("simd", "asm", "vector_add", "-o", "k.bin")
    assert said.returncode == 0, said.stderr
    assert said.stdout == "k.bin: 5 instructions\n"
    assert (tmp_path / "k.bin").stat().st_size == 40
    said = call("simd", "disasm", "k.bin")
    assert said.returncode == 0
    assert "add v2, v0, v1" in said.stdout
    assert call("simd", "asm", "vector_add").stdout == said.stdout.replace("ldglin v0, 0, 0, 0",
                                                                         "ldglin v0, 0").replace(
        "ldglin v1, 1, 0, 0", "ldglin v1, 1").replace("stglin v2, 2, 0, 0", "stglin v2, 2")


def test_all_assembly_errors_and_status_2(call, tmp_path):
    (tmp_path / "k.sas").write_text(".text\nfoo\nbar\nexit\n")
    said = call("simd", "asm", "k.sas")
    assert said.returncode == 2
    assert said.stderr.splitlines() == [
        "k.sas:2:1: opcode: there is no operation 'foo'",
        "k.sas:3:1: opcode: there is no operation 'bar'",
        "cyclebound: k.sas does not assemble: 2 problems"]


@pytest.mark.parametrize(("words", "says"), [
    (("asm", "nothing.sas"), "there is no file nothing.sas"),
    (("asm", "vector_ad"), ("no kernel (or file ending in .sas) 'vector_ad'; did you mean "
     "vector_add?")),
    (("disasm", "k.bin"), "cannot read k.bin: No such file or directory"),
])
def test_what_cannot_be_read(call, words, says):
    said = call("simd", *words)
    assert said.returncode == 2
    assert said.stderr == f"cyclebound: {says}\n"


def test_patterns_that_are_no_instructions(call, tmp_path):
    (tmp_path / "k.bin").write_bytes(b"\x7f" + b"\0" * 7)
    said = call("simd", "disasm", "k.bin")
    assert said.returncode == 2
    assert "k.bin: instruction 0: opcode must be below 79, not 127" in said.stderr
    (tmp_path / "k.bin").write_bytes(b"\0" * 7)
    assert "must have 1 to 2048 instructions" in call("simd", "disasm", "k.bin").stderr
