"""The command line of the SIMD accelerator."""

import json
import subprocess
import sys

import numpy as np
import pytest

from cyclebound.tools.simd.kernels import kernel_path

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


def test_a_kernel_of_ones_own_from_source_to_result(call, tmp_path):
    (tmp_path / "k.sas").write_text("""
        .data
        0 0x0   10 2 d "in.csv"
        1 0x100 10 2
        2 0x200 2 1
        .text
        sldg s0, 2, 2
        ldglin v0, 0
        mul v0, v0, s1
        stglin v0, 1
        exit
        """)
    (tmp_path / "in.csv").write_text("1,2,3\n4.5\n")
    np.save(tmp_path / "two.npy", np.array([7.0, 2.0]))
    said = call("simd", "run", "k.sas", "--grid", "10,2", "--data", "2=two.npy", "-o", "out",
                "--machine", "small", "--model", "cycle", "--policy", "access")
    assert said.returncode == 0, said.stderr
    assert "k: 10 x 2 items in 1 work-groups of 8 x 8" not in said.stdout
    assert "k: 10 x 2 items in 2 work-groups of 8 x 8" in said.stdout
    assert "compute cycles" in said.stdout
    found = np.load(tmp_path / "out" / "buffer-1.npy")
    assert found.dtype == np.float32
    assert found.ravel()[:5].tolist() == [2, 4, 6, 9, 0]


def test_kernels_and_data_in_two_folders_of_a_project(call, tmp_path):
    """As in the authors' sources: names count from the project's folder, CSV ends in commas."""
    kernels, data = tmp_path / "project/src/kernels", tmp_path / "project/data/k"
    kernels.mkdir(parents=True)
    data.mkdir(parents=True)
    (kernels / "k.sas").write_text("""
        .data
        0 0x0   8 1 d "data/k/in.txt"
        1 0x100 8 1 d "data/k/empty.txt"
        2 0x200 8 1 f "/dev/null"
        3 0x300 8 3
        .text
        ldglin v0, 0
        ldglin v1, 1
        ldglin v2, 2
        stglin v0, 3
        stglin v1, 3, 0, 1
        stglin v2, 3, 0, 2
        exit
        """)
    (data / "in.txt").write_text("1, -2.5, 3,\n4, ")
    (data / "empty.txt").write_text("")
    said = call("simd", "run", "project/src/kernels/k.sas", "--grid", "8", "--machine", "small",
                "-o", "out")
    assert said.returncode == 0, said.stderr
    found = np.load(tmp_path / "out" / "buffer-3.npy")
    assert found.tolist() == [[1, -2.5, 3, 4, 0, 0, 0, 0], [0] * 8, [0] * 8]
    (data / "in.txt").write_text("1,2,3,4,5,6,7,8,9,")
    said = call("simd", "run", "project/src/kernels/k.sas", "--grid", "8", "--machine", "small")
    assert said.returncode == 0
    assert said.stderr.endswith("in.txt has 9 words, of which buffer 0 has the first 8\n")
    (data / "in.txt").write_text("1,,2\nthree")
    said = call("simd", "run", "project/src/kernels/k.sas", "--grid", "8", "--machine", "small")
    assert said.returncode == 2
    assert said.stderr.endswith("in.txt, line 2: 'three' is no number\n")
    (data / "in.txt").unlink()
    said = call("simd", "run", "project/src/kernels/k.sas", "--grid", "8", "--machine", "small")
    assert said.returncode == 2
    assert "cannot read project/src/kernels/data/k/in.txt: No such file" in said.stderr


def test_data_below_another_folder_in_files_of_any_name(call, tmp_path):
    """As Sim-D's simulator reads them: a field without a number is none, blanks part numbers."""
    (tmp_path / "k.sas").write_text(
        '.data\n0 0x0 8 1 d "deep/in.dat"\n1 0x100 8 1\n.text\nldglin v0, 0\nstglin v0, 1\nexit\n')
    (tmp_path / "mine/deep").mkdir(parents=True)
    words = ["simd", "run", "k.sas", "--grid", "8", "--machine", "small", "-o", "out"]
    (tmp_path / "mine/deep/in.dat").write_text(" 1 -2, ,3\n\n,4,,\t5")
    said = call(*words, "--data-root", "mine")
    assert said.returncode == 0, said.stderr
    assert said.stderr.endswith("deep/in.dat, line 1: fields without a number are left out\n")
    assert np.load(tmp_path / "out/buffer-1.npy").tolist() == [[1, -2, 3, 4, 5, 0, 0, 0]]
    (tmp_path / "mine/deep/in.dat").write_text("1,2,\n3, ")
    assert not call(*words, "--data-root", "mine").stderr
    assert call(*words).returncode == 2
    said = call(*words, "--data-root", "theirs")
    assert said.returncode == 2
    assert "theirs" in said.stderr


def test_a_sub_operation_that_there_is_not_is_refused_by_line(call, tmp_path):
    """A kernel of the authors' has it, and their assembler drops the line."""
    (tmp_path / "k.sas").write_text(".sp_data\n0 0 64 1\n.text\nldsplin.vec2 v1, 0\nexit\n")
    said = call("simd", "asm", "k.sas")
    assert said.returncode == 2
    assert said.stderr.startswith("k.sas:4:1: opcode: the sub-operation of ldsplin must be one of "
                                  "none, not 'vec2'\n")


def test_an_installed_kernel_checked_on_both_models(call):
    for model in ("golden", "cycle"):
        said = call("simd", "run", "saxpy", "--random", "3", "--check", "--model", model, "--json")
        assert said.returncode == 0, said.stderr
        found = json.loads(said.stdout)
        assert found["differs"] == []
        assert found["operations"] == 65536
        assert (found.get("cycles", 0) > 30000) == (model == "cycle")


def test_a_result_that_differs_is_status_1(call, monkeypatch):
    from cyclebound.golden.simd import references
    from cyclebound.sim.families.simd import run as simd_run

    wrong = references.Reference(lambda memory, grid: {1: memory[0]}, 64, 1)
    monkeypatch.setitem(simd_run.REFERENCES, "saxpy", wrong)
    said = call("simd", "run", "saxpy", "--random", "3", "--check")
    assert said.returncode == 1
    assert "buffer 1 is not what the kernel's mathematics make of it" in said.stdout


def test_the_machine_as_built(call):
    """The cycle model with the constants of `simd wcet`'s default: not below Sim-D's."""
    words = "simd", "run", "saxpy", "--random", "3", "--model", "cycle", "--json", "--timing"
    cycles = {timing: json.loads(call(*words, timing).stdout)["cycles"]
              for timing in ("rtl", "sim-d")}
    assert cycles["rtl"] > cycles["sim-d"]
    assert "known are rtl, sim-d" in call(*words, "published").stderr
    slow = call(*words, "rtl", "--part", "ddr4-1866m-x16")
    assert slow.returncode == 2
    assert "a compute clock of 1000 ps is faster than DRAM's of 1071 ps" in slow.stderr


def test_the_commands_load_no_hardware():
    """It takes half a second."""
    code = "import sys, cyclebound.sim.cli.simd; sys.exit('amaranth.hdl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_integers_in_raw_words(call, tmp_path):
    np.arange(128, dtype="<u4").tofile(tmp_path / "x.bin")
    said = call("simd", "run", "prefix_sum", "--size", "0=128,1", "--size", "1=128", "--grid",
                "128", "--machine", "small", "--data", "0=x.bin", "-o", ".", "--integers", "1")
    assert said.returncode == 0, said.stderr
    found = np.load(tmp_path / "buffer-1.npy")
    assert found.dtype == np.int32
    assert found[0, :64].tolist() == np.cumsum(np.arange(64)).tolist()


@pytest.mark.parametrize(("words", "says"), [
    (("--grid", "a"), "--grid takes X or X,Y, whole numbers, not 'a'"),
    (("--grid", "0"), "a grid's x must be from 1 to 1048575, not 0"),
    (("--width", "3"), ("a work-group's width must be one of 32, 64, 128, 256, 512, 1024, not 3")),
    (("--machine", "big"), "no machine 'big'; known are paper, small"),
    (("--policy", "acces"), "no policy 'acces'; did you mean access?"),
    (("--model", "gold"), "no model 'gold'; did you mean golden?"),
    (("--part", "x"), "part must be one of"),
    (("--data", "7=x.bin"), "saxpy has no buffer 7; it has 0, 1, 2"),
    (("--data", "x.bin"), "--data takes BUFFER=FILE, not 'x.bin'"),
    (("--data", "0=a", "--data", "0=b"), "--data names buffer 0 twice"),
    (("--data", "0=none.bin"), "cannot read none.bin: No such file or directory"),
    (("--data", "0=odd.bin"), "odd.bin must hold words of 4 bytes, not 3 bytes"),
    (("--data", "2=long.npy"), ("long.npy has 2 words, and buffer 2 only 1 x 1; another size is "
                               "--size 2=X,Y")),
    (("--data", "2=text.npy"), "text.npy must hold floats or integers, not <U1"),
    (("--data", "2=wide.npy"), "wide.npy: 4294967296 has more than 32 bits"),
    (("--data", "2=huge.npy"), "huge.npy has a number that is too large for single precision"),
    (("--size", "0=0,1"), "buffer 0 must have at least 1 x 1 words, not 0 x 1"),
    (("--machine", "small vectors=5"), "vectors must be a power of two from 4 to 64, not 5"),
    (("--machine", "small lanes=2", "--model", "rtl"),
     "simd.accelerator: lanes must be at least 4, as many as words move in a clock, not 2"),
    (("--machine", "small scratchpad_bus=2", "--model", "rtl"),
     "simd.accelerator: bus must be a power of two from 4 to 64, not 2"),
    (("--machine", "small compute_ps=100", "--model", "rtl"),
     "simd.accelerator: the compute clock must not be faster than DRAM's"),
    (("--machine", "small setup_clocks=3"), "a change to a machine must be one of its sizes and a"),
    (("--machine", "small height=5"), "a change to a machine must be one of its sizes and a"),
    (("--size", "9=1,1"), "saxpy has no buffer 9; it has 0, 1, 2"),
    (("--size", "0=x"), "--size takes BUFFER=X,Y, whole numbers, not 'x'"),
    (("--limit", "3"), ("saxpy: line 10, instruction 3 (mad), work-group 0 at (0, 0): it has run 3 "
                       "instructions, and has not ended")),
])
def test_what_cannot_be_run(call, tmp_path, words, says):
    (tmp_path / "odd.bin").write_bytes(b"abc")
    for name, values in (("long", [1.0, 2.0]), ("text", ["a"]), ("wide", [1 << 32]),
                         ("huge", [1e300])):
        np.save(tmp_path / f"{name}.npy", np.array(values))
    said = call("simd", "run", "saxpy", *words)
    assert said.returncode == 2
    assert said.stderr.startswith(f"cyclebound: {says}"), said.stderr


def test_a_machine_without_room_for_a_kernel(call):
    said = call("simd", "run", "track", "--machine", "small vectors=16")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == ("cyclebound: track: line 23, instruction 11 (mov) has register v40, and "
                           "the machine v0 to v15\n")


@pytest.mark.parametrize("command", [("run",), ("run", "--model", "rtl"), ("wcet",)])
def test_a_machine_without_snoopy_accesses(call, command):
    said = call("simd", command[0], "transposition", *command[1:], "--machine", "small snoopy=0")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == (
        "cyclebound: transposition: line 19, instruction 10 (ldspbidx) is a snoopy access, and the "
        "machine has none (snoopy=0); ldgidxit and stgidxit move words index by index\n")


def test_what_needs_an_installed_kernel(call, tmp_path):
    (tmp_path / "k.sas").write_text(".text\nexit\n")
    assert "k needs a grid" in call("simd", "run", "k.sas").stderr
    assert "--random fills" in call("simd", "run", "k.sas", "-g", "9", "--random", "1").stderr
    assert "--check compares" in call("simd", "run", "k.sas", "-g", "9", "--check").stderr
    smaller = call("simd", "run", "saxpy", "-g", "7,3", "--check").stderr
    assert "--check compares whole buffers" in smaller
    assert "not of 7,3" in smaller


def test_installed_kernels_are_listed(call):
    said = call("simd", "kernels").stdout
    assert "compute_phi_mag      2048 x 1  (Sim-D, Table 4: MRI-Q computePhiMag)" in said


def test_a_chart_of_phases(call, tmp_path):
    bars = []
    for until in ("200", "5000"):  # one access has begun, of six; all
        said = call("simd", "run", "compute_phi_mag", "--model", "cycle", "--chart", "c.svg",
                    "--until", until)
        assert said.returncode == 0, said.stderr
        bars.append((tmp_path / "c.svg").read_text().count('id="patch_'))
    assert bars[1] - bars[0] >= 8
    assert "--chart shows when" in call("simd", "run", "saxpy", "--chart", "c.svg").stderr
    assert "--chart takes a file" in call("simd", "run", "saxpy", "--chart", "c.txt").stderr


def test_cycles_beside_the_paper(call):
    said = call("simd", "table", "compute_phi_mag", "--policy", "access", "--policy", "compute")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[2].startswith("| `compute_phi_mag` | 2048 x 1 | 1,291 | 1,3")
    assert call("simd", "table", "compute_phi").returncode == 2


def test_kernels_of_the_authors(call, tmp_path):
    """A user's copy of their sources: here one file of that name, and one that does not assemble.
    """
    (tmp_path / "mriq_computePhiMag.sas").write_text(kernel_path("compute_phi_mag").read_text())
    (tmp_path / "srad_reduce.sas").write_text(".text\nldsplin.vec2 v1, 0\nexit\n")
    said = call("simd", "table", "compute_phi_mag", "srad_reduce", "--kernels", ".")
    assert said.returncode == 2
    assert said.stdout.splitlines()[2:] == [
        "| `compute_phi_mag` | 2048 x 1 | 1,291 | 1,285 | 1,285 | 1,285 | 1.00 |"]
    assert "srad_reduce.sas:2:1: opcode: the sub-operation of ldsplin" in said.stderr
    said = call("simd", "table5", "compute_phi_mag", "fft", "--kernels", ".", "--measure")
    assert said.returncode == 2
    assert said.stdout.splitlines()[2:] == [
        ("| `compute_phi_mag` | 1,669 | 1,777 | 1,687 | 1,687 | 1,669 | 1,777 | 1,687 | 1,687 | "
         "1,657 | 1,657 | 1,285 | 1,285 |")]
    assert "there is no file fft_ldsp_stsp.sas" in said.stderr
    for folder, name, says in (("none", "fft", "there is no folder none"),
                               (".", "saxpy", "no kernel of Table 4 'saxpy'")):
        said = call("simd", "table", name, "--kernels", folder)
        assert (said.returncode, says in said.stderr) == (2, True)


def test_what_policies_cost_the_authors_kernels(call, tmp_path):
    """As Figure 7 has it, of kernels with a scratchpad."""
    (tmp_path / "fft_ldsp_stsp.sas").write_text(
        ".data\n0 0 512 1024\n.sp_data\n0 0 1024 1\n.text\nstsplin v0, 0\nrcp v0, v1\n"
        "stglin v0, 0\nexit\n")
    said = call("simd", "table", "fft", "--kernels", ".", "-p", "unconstrained", "-p", "pairwise",
                "-p", "access")
    row = said.stdout.splitlines()[2].split("|")
    base, *others = (int(cell.replace(",", "")) for cell in row[4:7])
    assert said.stdout.splitlines()[4:] == [
        "performance lost to policies, of 1 kernels with a scratchpad:", *(
            f"{policy:9} {lost:5.1f} % on average, {lost:.1f} to {lost:.1f} %"
            for policy, own in zip(("pairwise", "access"), others, strict=True)
            for lost in [100 * (1 - base / own)])]


def test_published_analysis_and_its_scope(call):
    said = call("simd", "published", "compute_phi_mag")
    assert "| 1,669 | 1,777 | 1,687 | 1,687 | 49 |" in said.stdout
    said = call("simd", "published", "stencil")
    assert said.returncode == 1
    assert said.stdout == ("outside the published scope: stencil: line 27, instruction 16: either "
                           "ldglin in line 30 or stglin in line 63 may come next, by data\n")
    found = json.loads(call("simd", "published", "stencil", "--unchecked", "--json").stdout)
    assert found["outside"]
    assert found["compute"] == 825407


def test_table_5(call, tmp_path):
    said = call("simd", "table5", "compute_phi_mag", "--chart", "figure.svg")
    assert "| 1,669 | 1,777 | 1,687 | 1,687 | 1,669 | 1,777 | 1,687 | 1,687 |" in said.stdout
    assert "this project, access" in (tmp_path / "figure.svg").read_text()
    said = call("simd", "table5", "nothing")
    assert said.returncode == 2


@pytest.mark.parametrize("words", [("own",), ("own", "--policy", "yield"), ("published",)])
def test_adversary(call, words):
    said = call("simd", "adversary", "--count", "3", "--analysis", *words)
    assert said.returncode == 0, said.stdout
    assert "3 kernels with a bound, 0 without" in said.stdout
    assert "0 violations" in said.stdout


def test_adversary_of_no_analysis(call):
    said = call("simd", "adversary", "--analysis", "mine")
    assert said.returncode == 2
    assert "known are own, published" in said.stderr
    said = call("simd", "adversary", "--count", "1", "--policy", "pairwise")
    assert (said.returncode, "known are access, compute, yield" in said.stderr) == (2, True)


@pytest.mark.parametrize("words", [
    ("run", "saxpy", "--model", "cycle"), ("table", "saxpy"), ("wcet", "saxpy"), ("adversary",)])
def test_the_former_name_of_a_policy(call, words):
    said = call("simd", *words, "--policy", "hold")
    assert (said.returncode, said.stderr) == (2, (
        "cyclebound: policy hold is now named compute, as Sim-D's paper names it; what was named "
        "compute before is yield\n"))


@pytest.mark.thorough
def test_kernels_on_rtl_of_other_sizes(call):
    """Fewer registers, and scratchpads that the kernel just fits; its work-groups are square."""
    for machine in ("small lanes=4 items=16 special_units=1 vectors=4 scratchpad_words=1024",
                    "small lanes=16 items=64 vectors=8 scratchpad_words=1024"):
        said = call("simd", "run", "transposition", "--size", "0=64,32", "--size", "1=32,64",
                    "--grid", "64,32", "--random", "3", "--check", "--machine", machine,
                    "--model", "rtl", "--json")
        assert said.returncode == 0, said.stderr
        assert json.loads(said.stdout)["differs"] == []


@pytest.mark.thorough
def test_a_kernel_on_the_rtl(call, tmp_path):
    """Results, cycles, phases and a chart from the hardware; and a fault in the models' words."""
    said = call("simd", "run", "vector_add", "--size", "0=150,1", "--size", "1=150,1", "--size",
                "2=150,1", "--grid", "150", "--random", "3", "--check", "--machine", "small",
                "--model", "rtl", "--policy", "access", "--chart", "c.svg", "-o", "out", "--json")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["differs"] == []
    assert found["operations"] is None
    assert found["cycles"] == max(phase["end"] for phase in found["phases"])
    assert len({phase["work_group"] for phase in found["phases"]}) == found["work_groups"] == 3
    assert np.load(tmp_path / "out" / "buffer-2.npy").shape == (1, 150)
    (tmp_path / "k.sas").write_text(".data\n0 0 40 1\n.text\nmov v0, vc.tid_x\n"
                                    "movvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n")
    words = "simd", "run", "k.sas", "--grid", "64", "--machine", "small", "--model"
    model, rtl = (call(*words, kind) for kind in ("cycle", "rtl"))
    assert (model.returncode, rtl.returncode) == (2, 2)
    place = "k: line 6, instruction 2 (ldgidxit), work-group 0 at (0, 0): "
    assert place in model.stderr
    assert place in rtl.stderr


_FFT = ["simd", "run", "fft", "--machine", "small", "--size", "0=64,8", "--size", "1=64,8",
        "--grid", "64,8", "--policy", "access", "--json"]


@pytest.mark.thorough
@pytest.mark.parametrize("due", ["97", "1000"])
def test_the_rtl_takes_the_models_cycles_with_its_refresh(call, due):
    """Refreshes in the middle of a kernel and in its first clocks; the cycles differ."""
    shown = json.loads(call(*_FFT, "--model", "rtl", "--due", due).stdout)
    assert (shown["due"], shown["refreshing"]) == (int(due) // 8 * 8, 0)
    again = json.loads(call(*_FFT, "--model", "cycle", "--timing", "rtl",
                            "--due", str(shown["due"])).stdout)

    def sorted_phases(ran):
        return sorted(ran["phases"], key=lambda phase: (phase["start"], phase["resource"]))

    assert (shown["cycles"], shown["load"], shown["refreshes"]) == (
        again["cycles"], again["load"], again["refreshes"])
    assert sorted_phases(shown) == sorted_phases(again)
    later = json.loads(call(*_FFT, "--model", "cycle", "--timing", "rtl").stdout)
    assert later["due"] == 12480
    assert later["cycles"] < shown["cycles"]


@pytest.mark.parametrize(("words", "says"), [
    (["--due", "5"], "--due is of a DRAM's refreshes, which only --model cycle and --model rtl"),
    (["--model", "cycle", "--due", "0"], "--due must be from 1 to 12480, not 0: DDR4-3200AA x16"),
    (["--model", "cycle", "--due", "12481"], "--due must be from 1 to 12480, not 12481"),
    (["--model", "rtl", "--due", "12000"],
     "has a refresh every 12480 clocks, and the one before has to be over")])
def test_refreshes_that_cannot_fall_due_then(call, words, says):
    ran = call(*_FFT[:-1], *words)
    assert ran.returncode == 2
    assert says in ran.stderr
