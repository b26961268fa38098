"""`cyclebound simd scoreboard`: all kernels of a folder."""

import errno
import json
import re
from pathlib import Path

import numpy as np
import pytest

from cyclebound.sim.families.simd import scoreboard
from cyclebound.sim.families.simd.scoreboard import contradicted

pytestmark = pytest.mark.system

DOUBLE = """.data
0 0 64 2 d "in.csv"
1 0x10000 64 2
.text
ldglin v0, 0
add v0, v0, v0
stglin v0, 1
exit
"""
LOOPED = ".data\n0 0 64 2\n.text\nsldg s0, 0\nx:\nsisub s0, s0, 1\nsicj.g x, s0\nexit\n"
SMALL = ("--machine", "small", "-j", "1")


def rows_of(ran):
    return {row["kernel"]: row for row in json.loads(ran.stdout)["kernels"]}


def kept_rows(folder):
    return sorted((folder / "scoreboard" / "rows").glob("*.json"))


def plant(folder, kernel, text):
    """Another text in the kept row of a kernel."""
    next(path for path in kept_rows(folder)
         if json.loads(path.read_text())["kernel"] == kernel).write_text(text)


@pytest.fixture
def folder(tmp_path):
    """Three kernels: one with a given result, one without a bound, one that does not assemble."""
    kernels = tmp_path / "kernels"
    (kernels / "more").mkdir(parents=True)
    (kernels / "double.sas").write_text(DOUBLE)
    (kernels / "in.csv").write_text(",".join(map(str, range(128))) + "\n")
    (kernels / "out.csv").write_text(",".join(str(2 * number) for number in range(128)) + "\n")
    (kernels / "looped.sas").write_text(LOOPED)
    (kernels / "more" / "wrong.sas").write_text(".text\nfly v0\n")
    (kernels / "more" / "lost.sas").write_text(DOUBLE)
    (kernels / "grids.toml").write_text(
        '[double]\ngrid = [64, 2]\nexpect = { 1 = "out.csv" }\n[looped]\ngrid = [64, 1]\n')
    return kernels


def test_a_folder_is_scored(call, folder, tmp_path):
    words = ["simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL]
    ran = call(*words, "--json")
    assert ran.returncode == 2, ran.stderr  # of two kernels that could not be run
    rows = rows_of(ran)
    assert list(rows) == ["double.sas", "looped.sas", "more/lost.sas", "more/wrong.sas"]
    double = rows["double.sas"]
    assert double["results"] == {"1": {"words": 128, "differ": 0, "error": 0.0}}
    for policy in ("access", "compute"):
        assert 0.4 < double["tightness"][policy] <= 1
        assert double["published"][policy] > 0
    assert rows["looped.sas"]["bound"] == {}
    assert "the loop that begins here" in rows["looped.sas"]["no_bound"]
    assert rows["looped.sas"]["cycles"]["access"] > 0
    assert rows["more/lost.sas"]["said"] == "it needs a grid (--grids)"
    assert rows["more/wrong.sas"]["assembled"] is False
    assert "there is no operation 'fly'" in rows["more/wrong.sas"]["said"]
    assert "cyclebound: more/wrong.sas: " in ran.stderr
    shown = (tmp_path / "scoreboard" / "scoreboard.html").read_text()
    assert f"{double['cycles']['access']:,}" in shown
    assert "there is no operation &#39;fly&#39;" in shown
    assert "| double.sas | " in call(*words).stdout


def test_a_result_that_differs_is_status_1(call, folder):
    (folder / "out.csv").write_text(",".join(str(2.5 * number) for number in range(128)) + "\n")
    ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL)
    assert ran.returncode == 1
    assert ("cyclebound: double.sas: buffer 1: 127 of 128 words differ, by up to 0.2 of their value"
            in ran.stderr)


def test_what_was_scored_is_not_scored_again(call, folder, tmp_path, monkeypatch):
    words = ["simd", "scoreboard", str(folder), "--bounds", *SMALL, "--grids",
             str(folder / "grids.toml"), "--json"]
    first = rows_of(call(*words))["double.sas"]
    kept = [json.loads(path.read_text())["kernel"] for path in kept_rows(tmp_path)]
    assert sorted(kept) == ["double.sas", "looped.sas"]  # what could not be scored is tried again
    plant(tmp_path, "double.sas", json.dumps({**first, "rests_on": 99}))
    assert rows_of(call(*words))["double.sas"]["rests_on"] == 99
    (folder / "double.sas").write_text(DOUBLE.replace("add v0", "mul v0"))  # another source
    assert rows_of(call(*words))["double.sas"]["rests_on"] == 0
    assert json.loads(call(*words, "-p", "access").stdout)["policies"] == [
        "access"]


def test_data_of_another_folder(call, folder, tmp_path):
    words = ["simd", "scoreboard", str(folder), *SMALL, "--grids", str(folder / "grids.toml"),
             "--json", "-p", "access"]
    before = rows_of(call(*words))["double.sas"]["results"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/in.csv").write_text("1,\n" * 128)
    after = rows_of(call(*words, "--data-root", "other"))["double.sas"]["results"]
    assert before != after
    (folder / "in.csv").unlink()
    assert rows_of(call(*words, "--data-root", "other"))["double.sas"]["results"] == after


def test_a_row_that_was_cut_short_is_made_again(call, folder, tmp_path):
    words = ["simd", "scoreboard", str(folder), "--bounds", *SMALL, "--grids",
             str(folder / "grids.toml"), "--json"]
    first = rows_of(call(*words))
    plant(tmp_path, "double.sas", '{"kernel": "double.sas", "sa')
    ran = call(*words)
    assert ran.returncode == 0, ran.stderr
    assert rows_of(ran) == first
    assert {json.loads(path.read_text())["kernel"] for path in kept_rows(tmp_path)} == {
        "double.sas", "looped.sas"}


@pytest.mark.parametrize("text", [b"", b"[]", b'{"kernel": "x"}', b'{"kernel": "a.sas"}', b"\xff"])
def test_what_is_no_row_is_not_taken(tmp_path, text):
    (tmp_path / "row.json").write_bytes(b'{"kernel": "a.sas", "said": ""}')
    assert scoreboard._kept(tmp_path / "row.json", "a.sas") == {"kernel": "a.sas", "said": ""}
    (tmp_path / "row.json").write_bytes(text)
    assert scoreboard._kept(tmp_path / "row.json", "a.sas") is None


def test_a_row_that_cannot_be_kept(call, folder, tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    ran = call("simd", "scoreboard", str(folder), "--bounds", *SMALL, "--grids",
               str(folder / "grids.toml"))
    assert ran.returncode == 2
    assert re.search(r"cannot write .*: No space left on device", ran.stderr)


def test_kernels_of_equal_text_are_two(call, folder, tmp_path):
    """A row is of a name, of a place, and of the buffers that are looked at."""
    one = tmp_path / "one"
    one.mkdir()
    (one / "a.sas").write_text(LOOPED)
    (one / "grids.toml").write_text("[a]\ngrid = [64, 1]\n")
    words = ["simd", "scoreboard", str(one), "--bounds", *SMALL, "--json", "--grids",
             str(one / "grids.toml")]
    assert list(rows_of(call(*words))) == ["a.sas"]
    (one / "b.sas").write_text(LOOPED)
    (one / "grids.toml").write_text("[a]\ngrid = [64, 1]\n[b]\ngrid = [64, 1]\n")
    for _ in range(2):
        assert list(rows_of(call(*words))) == ["a.sas", "b.sas"]
    two = tmp_path / "two"
    one.rename(two)
    (two / "b.sas").unlink()
    (two / "grids.toml").write_text("[a]\ngrid = [64, 1]\n")
    rows = rows_of(call("simd", "scoreboard", str(two), *words[3:-1], str(two / "grids.toml")))
    assert list(rows) == ["a.sas"]
    assert len(kept_rows(tmp_path)) == 3


def test_another_buffer_is_another_row(call, folder, tmp_path):
    """The same file, expected in a buffer that the kernel does not have, or in its input."""
    words = ["simd", "scoreboard", str(folder), *SMALL, "--json", "-p", "access", "--grids",
             str(folder / "grids.toml")]
    for name in ("looped.sas", "more/lost.sas", "more/wrong.sas"):
        (folder / name).unlink()
    for buffer, status, says in ((1, 0, ""), (9, 2, "the kernel has no buffer 9"),
                                 (0, 1, "buffer 0: 127 of 128 words differ"), (1, 0, "")):
        (folder / "grids.toml").write_text(
            f'[double]\ngrid = [64, 2]\nexpect = {{ {buffer} = "out.csv" }}\n')
        ran = call(*words)
        assert (ran.returncode, says in ran.stderr) == (status, True), ran.stderr


FAULTY = ".data\n0 0 64 2\n.text\nmov v0, 65536\nmovvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n"


def unchecked(folder, case):
    """Spoil the kernel or its table; what is then said of it."""
    table = '[double]\ngrid = [64, 2]\nexpect = { 1 = "out.csv" }\n'
    if case == "no file":
        (folder / "out.csv").unlink()
        says = r"cannot read .*out\.csv: No such file"
    elif case == "empty text":
        (folder / "out.csv").write_text("")
        says = r"out\.csv has no words, with which nothing is compared"
    elif case == "empty array":
        np.save(folder / "out.npy", np.zeros(0, np.float32))
        table, says = table.replace(".csv", ".npy"), r"out\.npy has no words"
    elif case == "empty words":
        (folder / "out.raw").write_bytes(b"")
        table, says = table.replace(".csv", ".raw"), r"out\.raw has no words"
    elif case == "no buffer":
        table, says = table.replace("1 =", "9 ="), "the kernel has no buffer 9"
    elif case == "too long":
        (folder / "out.csv").write_text("1,\n" * 129)
        says = "has 129 words, and buffer 1 128"
    elif case == "no grid":
        table, says = "", r"it needs a grid \(--grids\)"
    elif case == "no data":
        (folder / "in.csv").unlink()
        says = r"cannot read .*in\.csv"
    elif case == "not assembled":
        (folder / "double.sas").write_text(".text\nfly v0\n")
        says = "there is no operation 'fly'"
    elif case == "grid":
        table, says = table.replace("[64, 2]", "[-1, 0]"), "a grid's x must be from 1 to"
    elif case == "width":
        table, says = table + "width = 5\n", "a work-group's width must be one of"
    elif case == "fault":
        (folder / "double.sas").write_text(FAULTY)
        table, says = "[double]\ngrid = [64, 2]\n", "leaves buffer 0"
    else:
        (folder / "double.sas").write_text(LOOPED.replace("x:", "#flow x <= 0\nx:"))
        table, says = "[double]\ngrid = [64, 2]\n", "'#flow x <= 0' does not hold"
    (folder / "grids.toml").write_text(table + "[looped]\ngrid = [64, 1]\n")
    return says


@pytest.mark.parametrize("case", [
    "no file", "empty text", "empty array", "empty words", "no buffer", "too long", "no grid",
    "no data", "not assembled", "grid", "width", "fault", "promise"])
def test_what_was_not_checked_is_status_2(call, folder, case):
    """The other kernels are scored and shown all the same."""
    for name in ("more/lost.sas", "more/wrong.sas"):
        (folder / name).unlink()
    says = unchecked(folder, case)
    ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL,
               "-p", "access", "--json")
    assert ran.returncode == 2, ran.stderr
    assert re.search(rf"(?m)^cyclebound: double\.sas: .*{says}", ran.stderr)
    assert "Traceback" not in ran.stderr
    assert rows_of(ran)["looped.sas"]["cycles"]["access"] > 0


def test_a_difference_outranks_what_was_not_checked(call, folder):
    """Also where one kernel has both, whichever comes first."""
    (folder / "wrong.csv").write_text("1,\n" * 128)
    for expect in ('9 = "out.csv", 1 = "wrong.csv"', '1 = "wrong.csv", 9 = "out.csv"'):
        (folder / "grids.toml").write_text(
            f"[double]\ngrid = [64, 2]\nexpect = {{ {expect} }}\n")
        ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"),
                   *SMALL, "-p", "access")
        assert ran.returncode == 1
        assert "double.sas: out.csv: the kernel has no buffer 9" in ran.stderr.replace(
            f"{folder}/", "")
        assert "double.sas: buffer 1: 128 of 128 words differ" in ran.stderr


def test_kernels_of_one_name_in_several_folders(call, folder, tmp_path):
    for name in ("looped.sas", "more/lost.sas", "more/wrong.sas"):
        (folder / name).unlink()
    (folder / "more" / "double.sas").write_text(DOUBLE)
    words = ["simd", "scoreboard", str(folder), "--bounds", *SMALL, "--json", "--grids",
             str(folder / "grids.toml")]
    ran = call(*words)
    assert ran.returncode == 2
    assert ('[double] may be of double.sas or of more/double.sas: name the file, as ["double.sas"]'
            in ran.stderr)
    (folder / "grids.toml").write_text(
        '["double.sas"]\ngrid = [64, 2]\n["more/double"]\ngrid = [64, 1]\n')
    rows = rows_of(call(*words))
    assert {name: row["grid"] for name, row in rows.items()} == {
        "double.sas": [64, 2, 0], "more/double.sas": [64, 1, 0]}
    (folder / "grids.toml").write_text(
        '["more/double.sas"]\ngrid = [64, 2]\n["more/double"]\ngrid = [64, 1]\n')
    ran = call(*words)
    assert ran.returncode == 2
    assert "more/double.sas has two tables: [more/double.sas] and [more/double]" in ran.stderr


def test_each_contradiction_is_named():
    """A bound that is exceeded, and an RTL that is not its model."""
    row = {"cycles": {"access": 1200}, "tightness": {"access": 1.2}, "rtl": {"equal": False}}
    assert contradicted(row) == ["access: 1,200 cycles, over the bound",
                                 "the RTL is not as the cycle model"]
    assert contradicted({"tightness": {"access": 1.0}, "rtl": {"equal": True}}) == []


def test_results_are_compared_as_words(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 2, 4], np.float32))
    memory = {0: np.array([[1, 2, 5, 7]], np.float32).view(np.uint32)}
    assert scoreboard._compared(memory, 0, tmp_path / "a.npy") == {
        "words": 3, "differ": 1, "error": 0.25}


@pytest.mark.parametrize(("had", "wanted"), [(np.nan, 1), (1, np.nan), (np.inf, 1), (1, np.inf)])
def test_a_difference_that_is_no_number_is_none_in_json(tmp_path, had, wanted):
    np.save(tmp_path / "a.npy", np.array([2, wanted], np.float32))
    memory = {0: np.array([[2, had]], np.float32).view(np.uint32)}
    found = scoreboard._compared(memory, 0, tmp_path / "a.npy")
    assert json.loads(json.dumps(found, allow_nan=False)) == {
        "words": 2, "differ": 1, "error": None}
    assert contradicted({"results": {"0": found}}) == [
        "buffer 0: 1 of 2 words differ, some of them no finite floats"]


@pytest.mark.parametrize(("text", "says"), [
    ("[double]\ngrid = [64]\n", r"[double] must have grid = [X, Y], and may have"),
    ("[double]\ngrid = [64, 2]\nsize = 3\n", r"[double] must have grid = [X, Y], and may have"),
    ("[doubel]\ngrid = [64, 2]\n", "has no kernel doubel"), ("[", "cannot read "),
    ('[double]\ngrid = [64, 2]\nexpect = { 1 = "a", 01 = "b" }\n',
     "[double] expects two files of buffer 1")])
def test_grids_that_cannot_be_read(call, folder, text, says):
    (folder / "grids.toml").write_text(text)
    ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL)
    assert ran.returncode == 2
    assert says in ran.stderr


@pytest.mark.parametrize(("words", "says"), [
    (["nowhere"], "there is no folder nowhere"), (["."], ". has no .sas file"),
    ([".", "--rtl", "--bounds"], "--rtl runs the kernels, and --bounds does not"),
    ([".", "-p", "pairwise"], "no policy 'pairwise'"), ([".", "--machine", "large"], "large"),
    ([".", "--part", "ddr9"], "ddr9")])
def test_what_cannot_be_scored(call, words, says):
    ran = call("simd", "scoreboard", *words)
    assert ran.returncode == 2
    assert says in ran.stderr


@pytest.mark.thorough
def test_a_folder_on_the_rtl(call, folder):
    for name in ("more/lost.sas", "more/wrong.sas"):
        (folder / name).unlink()
    ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL,
               "--rtl", "--json", "-p", "access")
    assert ran.returncode == 0, ran.stderr
    double = rows_of(ran)["double.sas"]
    assert double["rtl"]["equal"]
    assert double["rtl"]["cycles"] == double["rtl"]["model"] > 0
