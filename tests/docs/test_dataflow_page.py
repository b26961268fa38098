"""The page about dataflow: the kernel of one's own does what the page says, in either way."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.dataflow.cache_bounds import cache_access
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.special_bounds import special_epoch
from cyclebound.golden.dataflow.special_timing import longest
from cyclebound.sim.cli import main as cli
from cyclebound.sim.pictures.mapped import read_depths, table_of_depths
from kit.pages import Page, numbers, results

DOCS = Path(__file__).parents[2] / "docs"
TEXT = Page("dataflow.md")
PAGE = TEXT.text
SECTION = PAGE.split("## A kernel of your own")[1].split("### What a kernel means")[0]
pytestmark = [pytest.mark.system,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the page's kernel and its data."""
    monkeypatch.chdir(tmp_path)
    Path("polynomial.py").write_text(re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)[1])
    for text, name in re.findall(r'^echo "(.*?)" > (\S+)$', SECTION, re.MULTILINE):
        Path(name).write_text(text + "\n")
    return tmp_path


@pytest.fixture
def cyclebound(monkeypatch, capsys):
    def run(arguments):
        monkeypatch.setattr(sys, "argv", ["cyclebound", *shlex.split(arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return caught.value.code, *capsys.readouterr()

    return run


COMMANDS = re.findall(r"^cyclebound (dataflow run .*)$", SECTION, re.MULTILINE)


def test_the_commands_of_the_page(folder, cyclebound):
    assert len(COMMANDS) == 2
    status, said, _ = cyclebound(COMMANDS[0])
    assert status == 0
    assert "y: 0.5 2.5 10.5 24.5 44.5\n" in said
    status, said, _ = cyclebound(COMMANDS[1])
    assert status == 0, said
    assert np.load("out/y.npy").tolist() == [0.5, 2.5, 10.5, 24.5, 44.5]
    rows = re.findall(r"^configuration \d: \d+ of 25 units, (\d+) cycles, bound (\d+)$", said,
                      re.MULTILINE)
    assert len(rows) == len(list(folder.glob("grid-*.svg"))) > 1
    assert all(int(took) <= int(most) for took, most in rows)


def test_the_function_of_the_page(folder):
    code = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[1]
    exec(compile(code, "page", "exec"), {})


BASE = "dataflow run polynomial.py --data x=x.csv --data c=c.csv --zeros y=5 --set degree=2"
WRONG = {
    "dataflow run nowhere.py": "there is no file nowhere.py",
    "dataflow run x.csv": r"x.csv is no kernel's file: its name must end in .py, .c, .cl, .cu",
    "dataflow run bad.py": "bad.py, line 1: .*",
    "dataflow run raises.py": "raises.py: ValueError: no luck",
    "dataflow run none.py": "none.py has no kernel: a function with @kernel before it",
    "dataflow run two.py": "two.py has several kernels; name one: one, two",
    "dataflow run two.py -k three": "no kernel in two.py 'three'; known are one, two",
    "dataflow run loops.py --zeros a=3": (
        "loops.py, line 6: kernel k: a loop cannot be mapped unless its condition is known when "
        r"the kernel is mapped, or the most iterations are stated: while bounded\(x > 1, 32\)"),
    "dataflow run long.py --zeros a=3": (
        "long.py, line 6: kernel k: the loop goes on after 2 iterations, its stated bound, in "
        "thread 0"),
    "dataflow run polynomial.py": ("kernel polynomial needs array x: --data x=FILE or "
                                   "--zeros x=COUNT"),
    "dataflow run polynomial.py --zeros x=1 --zeros y=1 --zeros c=1":
        "kernel polynomial needs a value for degree: --set degree=VALUE",
    "dataflow run polynomial.py --zeros x": "--zeros takes NAME=COUNT, not 'x'",
    "dataflow run polynomial.py --zeros x=-1": ("--zeros x takes a number of elements, not "
                                                "'-1'"),
    "dataflow run polynomial.py --data z=x.csv":
        "no array of kernel polynomial 'z'; known are c, x, y",
    "dataflow run polynomial.py --data x=x.csv --zeros x=3": "array x is given twice",
    "dataflow run polynomial.py --data x=nowhere.npy":
        "cannot read nowhere.npy: No such file or directory",
    "dataflow run polynomial.py --data x=polynomial.py":
        "polynomial.py must be an .npy, a .csv or a .txt file",
    "dataflow run polynomial.py --data x=words.csv":
        "words.csv, line 2: 'three' is no number",
    "dataflow run polynomial.py --data x=huge.csv":
        r"huge.csv: 1e\+39 is too large for single precision",
    "dataflow run polynomial.py --data x=junk.npy": "cannot read junk.npy: .*",
    BASE.replace("degree=2", "degree=2.5"): "--set degree takes a whole number, not '2.5'",
    f"{BASE} --set size=3": "no constant of kernel polynomial 'size'; known are degree",
    f"{BASE} --data q=x.csv": "no array of kernel polynomial 'q'; known are c, x, y",
    f"{BASE} --on fpga": "no engine 'fpga'; known are golden, interpreter, rtl",
    f"{BASE} --threads 0": ("threads must be from 1 to 2048, with identifiers of 11 bits, "
                            "not 0"),
    f"{BASE} --threads 300 --grid small --on rtl":
        "threads must be from 1 to 256, with identifiers of 8 bits, not 300",
    f"{BASE} --depth 5": "depth must be 2, 4, 8 or 16, not 5",
    f"{BASE} --tid-width 31": "tid width must be from 1 to 30, not 31",
    f"{BASE} --address-width 3 --on rtl":
        "arrays must have 8 words at most, with addresses of 3 bits, not 18",
    f"{BASE} --grid smal": "no grid 'smal'; did you mean small\\?",
    f"{BASE} --grid SL/LL/LTX": "grid must be two rows or more of one length, .*",
    f"{BASE} --miss 3": "a miss must take as long as a hit .4 cycles. or longer, not 3",
    f"{BASE} --miss-rate 2": "the share of misses must be from 0 to 1, not 2.0",
    f"{BASE} --picture grid.gif": ("--picture takes a file that ends in .svg, .png, .pdf, not "
                                   "grid.gif"),
    f"{BASE} --picture grid.svg --on interpreter": "--picture shows a mapped grid, .*",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_a_mistake_is_one_line_and_status_2(folder, cyclebound, arguments):
    head = "from cyclebound.golden.dataflow.kernel import Ints, kernel\n\n@kernel\n"
    Path("bad.py").write_text("def k(:\n")
    Path("raises.py").write_text("raise ValueError('no luck')\n")
    Path("none.py").write_text("def k(tid): pass\n")
    Path("two.py").write_text(head + "def one(tid, a: Ints): pass\n@kernel\ndef two(tid): pass\n")
    Path("loops.py").write_text(head + "def k(tid, a: Ints):\n    x = a[0]\n    while x: pass\n")
    Path("long.py").write_text(head + "def k(tid, a: Ints):\n    x = tid\n"
                               "    while bounded(x < 3, 2):\n        x += 1\n    a[tid] = x\n")
    Path("words.csv").write_text("1,2\nthree\n")
    Path("huge.csv").write_text("1,1e39\n")
    Path("junk.npy").write_text("junk")
    status, said, problem = cyclebound(arguments)
    assert status == 2
    assert not said
    assert re.fullmatch(f"cyclebound: {WRONG[arguments]}\n", problem), problem


def test_json_and_what_depends_on_the_order_of_threads(folder, cyclebound):
    Path("shift.py").write_text(
        "from cyclebound.golden.dataflow.kernel import Ints, kernel\n\n@kernel\n"
        "def shift(tid, a: Ints):\n    a[tid] = a[tid + 1]\n")
    status, said, _ = cyclebound("dataflow run shift.py --data a=x.csv --on interpreter --json")
    found = json.loads(said)
    assert status == 0
    assert found["arrays"] == {"a": [1, 2, 3, 4, 0]}
    assert found["faults"] == ["a: thread 4 at index 5"]
    assert found["shared"] == ["a[1]: threads 0 and 1"]


# Its tables and figures

@pytest.mark.unit
@pytest.mark.parametrize("name", ["dataflow.md", "papers.md"])
def test_kernels_by_the_entries_of_a_buffer(name):
    table = table_of_depths(read_depths(DOCS / "dataflow-depth.csv"))
    assert set(table.splitlines()[2:]) <= set(Page(name).text.splitlines())


@pytest.mark.unit
def test_both_grids():
    depths = read_depths(DOCS / "dataflow-depth.csv")
    rows = TEXT.rows("| kernel | 5x5 | 6x18 |")
    assert [row[:2] for row in rows] == [[name, f"{by[16].cycles:,}"]
                                         for name, by in depths.items()]
    added = {entries: f"{took.cycles:,}" for entries, took in depths["vector_add"].items()}
    gains = [by[2].cycles / by[16].cycles for by in depths.values()]
    assert TEXT.says(
        f"sixteen entries have {min(gains):.1f} to {max(gains):.1f} times the throughput of two",
        f"`euclid` sends a thread in {depths['euclid'][16].cycles / 1024:.1f} cycles with 16",
        "nothing depends on data (`... cycles KERNEL ...` runs it): "
        f"{added[2]}, {added[4]}, {added[8]} and {added[16]} for `vector_add`",
        f"{sum(by[16].parts for by in depths.values())} configurations for each depth")


@pytest.mark.unit
def test_verdicts_are_of_the_results_page():
    chain = results()["dataflow.load_chain", "figure4", "completion"]
    assert TEXT.says(f"held, {chain['worst']} of {chain['claimed']}; exhaustive")
    unbalanced = results()["dataflow.diamond", "unbalanced", "unbalanced"]
    assert TEXT.says(f"unbalanced graph needs {unbalanced['worst']} cycles for 300 threads",
                     f"{unbalanced['claimed']} would be every other cycle")
    assert results()["dataflow.cache_banks", "tiny", "access"]["claimed"] == str(
        cache_access(ports=3, miss=6)) == "8"
    assert TEXT.says("ports - 1 + miss | exact; proved for 3 ports")


@pytest.mark.unit
def test_epochs_of_a_special_unit():
    """16 entries, 8 blocks; operands in one order and in two, then a younger epoch after it."""
    def epoch(function, operands=1, younger=0):
        return special_epoch(depth=16, blocks=8, operands=operands, younger=younger,
                             block=longest(function))

    whole, floats, root = Special.IDIV, Special.FDIV, Special.FSQRT
    assert TEXT.says(
        f"{epoch(whole)} and {epoch(whole, 2)} cycles for 16 integer divisions in 8 blocks, "
        f"{epoch(floats)} and {epoch(floats, 2)} for divisions, {epoch(root)} for roots",
        f"of {epoch(whole, younger=16)}, {epoch(floats, younger=16)} and "
        f"{epoch(root, younger=16)} that are allowed")


@pytest.mark.unit
def test_the_area_of_a_fabric_adds_up():
    *parts, whole = TEXT.rows("| part | count | LUTs | flip-flops | multipliers |")
    counts = [[int(numbers(cell)[0]) for cell in row[1:]] for row in parts]
    assert [numbers(cell)[0] for cell in whole[2:]] == [
        sum(row[0] * row[place] for row in counts) for place in (1, 2, 3)]
    luts, (switches,) = numbers(whole[2])[0], (row for row in parts if row[0] == "switch")
    share = int(25 * numbers(switches[2])[0])
    assert TEXT.says(f"Switches are {100 * float(share / luts):.0f} % of it",
                     f"25 switches of {switches[2]} tables are {share:,}, "
                     f"{100 * share / 83640:.0f} % of the part")
