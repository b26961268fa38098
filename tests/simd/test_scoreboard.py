"""`cyclebound simd scoreboard`: all kernels of a folder."""

import json

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
    assert ran.returncode == 0, ran.stderr
    rows = {row["kernel"]: row for row in json.loads(ran.stdout)["kernels"]}
    assert list(rows) == ["double", "looped", "lost", "wrong"]
    double = rows["double"]
    assert double["results"] == {"1": {"words": 128, "differ": 0, "error": 0.0}}
    for policy in ("access", "compute"):
        assert 0.4 < double["tightness"][policy] <= 1
        assert double["published"][policy] > 0
    assert rows["looped"]["bound"] == {}
    assert "the loop that begins here" in rows["looped"]["no_bound"]
    assert rows["looped"]["cycles"]["access"] > 0
    assert rows["lost"]["said"] == "it needs a grid (--grids)"
    assert rows["wrong"]["assembled"] is False
    assert "there is no operation 'fly'" in rows["wrong"]["said"]
    assert "cyclebound: wrong: " in ran.stderr
    shown = (tmp_path / "scoreboard" / "scoreboard.html").read_text()
    assert f"{double['cycles']['access']:,}" in shown
    assert "there is no operation &#39;fly&#39;" in shown
    assert "| double | " in call(*words).stdout


def test_a_result_that_differs_is_status_1(call, folder):
    (folder / "out.csv").write_text(",".join(str(2.5 * number) for number in range(128)) + "\n")
    ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL)
    assert ran.returncode == 1
    assert ("cyclebound: double: buffer 1: 127 of 128 words differ, by up to 0.2 of their value"
            in ran.stderr)


def test_what_was_scored_is_not_scored_again(call, folder, tmp_path, monkeypatch):
    words = ["simd", "scoreboard", str(folder), "--bounds", *SMALL, "--grids",
             str(folder / "grids.toml"), "--json"]
    first = json.loads(call(*words).stdout)["kernels"]
    kept = sorted((tmp_path / "scoreboard" / "rows").iterdir())
    assert len(kept) == 4
    planted = next(path for path in kept if json.loads(path.read_text())["kernel"] == "double")
    planted.write_text(json.dumps({**first[0], "said": "kept"}))
    assert json.loads(call(*words).stdout)["kernels"][0]["said"] == "kept"
    (folder / "double.sas").write_text(DOUBLE.replace("add v0", "mul v0"))  # another source
    assert json.loads(call(*words).stdout)["kernels"][0]["said"] == ""
    assert json.loads(call(*words, "-p", "access").stdout)["policies"] == [
        "access"]


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


@pytest.mark.parametrize(("text", "says"), [
    ("[double]\ngrid = [64]\n", r"[double] must have grid = [X, Y], and may have"),
    ("[double]\ngrid = [64, 2]\nsize = 3\n", r"[double] must have grid = [X, Y], and may have"),
    ("[doubel]\ngrid = [64, 2]\n", "has no kernel doubel"), ("[", "cannot read ")])
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
    ran = call("simd", "scoreboard", str(folder), "--grids", str(folder / "grids.toml"), *SMALL,
               "--rtl", "--json", "-p", "access")
    rows = {row["kernel"]: row for row in json.loads(ran.stdout)["kernels"]}
    assert ran.returncode == 0, ran.stderr
    assert rows["double"]["rtl"]["equal"]
    assert rows["double"]["rtl"]["cycles"] == rows["double"]["rtl"]["model"] > 0
