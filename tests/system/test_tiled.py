# amaranth: UnusedElaboratable=no
"""Jobs on tiles that share a DRAM: what is composed, what is refused."""

import dataclasses
import inspect
import json
import re
from pathlib import Path

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import DDR4_3200AA_X16 as PART
from cyclebound.golden.system.tiled import Job, composed, product_cycles, request_wait
from cyclebound.hdl.dram.client_arbiter import SharedController
from cyclebound.hdl.system import tiled
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.system import run as system_run
from cyclebound.sim.families.system.jobs import SYSTEM_EXAMPLE, parse_tiled, planned
from cyclebound.sim.run.job import Job as SimulationJob
from cyclebound.sim.run.job import simulate
from cyclebound.tb.system.tiled import SUMS
from cyclebound.tools.gpu.toml_text import Reader
from kit.pages import Page

pytestmark = pytest.mark.unit
SHAPE = {"part": PART, "size": 4, "depth": 256, "memory_width": 16, "bursts": 16, "slots": 8,
         "m": 16, "k": 16, "n": 16}


def test_sums_along_a_chain_and_maxima_over_what_runs_beside_each_other():
    jobs = [Job("conv", "systolic", 100), Job("other", "simd", 250),
            Job("relu", "simd", 30, after=("conv",)), Job("last", "systolic", 5, after=("relu",))]
    assert composed(jobs) == {"conv": 100, "other": 250, "relu": 280, "last": 285}


def test_a_tile_runs_its_jobs_in_order():
    assert composed([Job("a", "simd", 10), Job("b", "simd", 20)]) == {"a": 10, "b": 30}


def test_what_runs_after_may_use_the_same_words():
    jobs = [Job("conv", "systolic", 100, uses=(range(0, 64),)),
            Job("sums", "simd", 50, after=("conv",), uses=(range(32, 96),))]
    assert composed(jobs)["sums"] == 150


@pytest.mark.parametrize(("jobs", "says"), [
    ([Job("a", "simd", 1), Job("a", "systolic", 1)], "two jobs have the name a"),
    ([Job("a", "simd", 1, after=("b",))], "a comes after b, which is no job; there are a"),
    ([Job("a", "simd", 1, after=("b",)), Job("b", "systolic", 1, after=("a",))],
     "these jobs wait for each other in a circle: a, b"),
    ([Job("a", "simd", 1, after=("a",))], "these jobs wait for each other in a circle: a"),
    # a tile runs b after a, which waits for b
    ([Job("a", "simd", 1, after=("b",)), Job("b", "simd", 1)],
     "these jobs wait for each other in a circle: a, b"),
    ([Job("a", "simd", 1, uses=(range(0, 64),)), Job("b", "systolic", 1, uses=(range(63, 70),))],
     (r"a \(on simd\) and b \(on systolic\) may run beside each other, and both map words 63 to "
      "63: let one come after the other, or place their buffers apart")),
])
def test_what_cannot_be_composed(jobs, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        composed(jobs)


def test_a_wait_is_the_others_longest_request_and_its_mappings():
    assert request_wait(PART, others=[0]) == 1 + 6
    assert request_wait(PART, others=[158]) == 158 + 6 + 6
    assert request_wait(PART, others=[158, 88]) == (158 + 6) + (88 + 6) + 6


def test_in_windows_a_request_waits_for_its_own_and_a_refresh():
    assert request_wait(PART, others=[158], period=1480) == 1480 + 6 + PART.nRFC - 16


def test_a_product_takes_longer_beside_another_client():
    def cycles(other, line=0, period=0):
        return product_cycles(**SHAPE, other=other, line=line, period=period,
                              before=0)

    assert cycles(0) < cycles(158) < cycles(158, line=88)
    assert cycles(158) < cycles(158, period=1480)


def test_the_bounds_of_a_system_ask_for_all_other_clients_and_for_windows():
    """None of them has a default: a client that is forgotten would make a bound too low."""
    block = catalogue.load().find("system.tiled")
    for binding in block.bounds:
        parameters = inspect.signature(binding.bound.function).parameters.values()
        assert all(each.default is each.empty for each in parameters), binding.what
        assert not {each.name for each in parameters} & {"fabric", "windows"}, binding.what


def test_a_client_without_a_longest_request_has_no_bound():
    with pytest.raises(NotCovered, match="longest request of the other client"):
        request_wait(PART, others=[-1])


# RTL

@pytest.mark.cosim
@pytest.mark.thorough
def test_turns_in_place_of_windows_are_found(tmp_path, monkeypatch):
    """What is composable in windows only: the testbench demands the same clocks."""
    monkeypatch.setattr(tiled, "SharedController", lambda windows, **parameters:
                        SharedController(**parameters))
    block = catalogue.load().find("system.tiled")
    bench = dataclasses.replace(block.testbench("jobs"), tests=("beside",))
    block = dataclasses.replace(block, testbenches=(bench,))
    outcome = simulate(block, SimulationJob(block.name, "windows", "jobs", 1, str(tmp_path),
                                            wall_limit=1200))
    assert not outcome.passed
    assert "beside each other and alone" in outcome.reason


# The command

def test_the_example_is_bounded(call):
    said = call("system", "wcet", "example", "--json")
    assert said.returncode == 0
    record = json.loads(said.stdout)
    assert [job["name"] for job in record["jobs"]] == ["product", "add", "second"]
    assert record["clocks"] == max(job["ends"] for job in record["jobs"])
    page = Page("system.md").text
    for job in record["jobs"]:
        assert f"{job['wait']} │ {job['clocks']:,} │ {job['ends']:>12,} │" in page
    assert f"All have ended after {record['clocks']:,} clocks" in page


@pytest.mark.parametrize(("change", "says"), [
    (("size = 4", "size = 5"), "line 4: size must be a power of two, not 5"),
    (("size = 4", "windows = [740]"),
     "line 4: windows must be 2 whole numbers, of simd, systolic, not .*"),
    (("size = 4", "windows = [740, 700]"),
     "the window of systolic must be at least 734 clocks .*, not 700"),
    (("[48, 24, 16]", "[48, 24]"), "line 8: job.1.product must be a table whose product has 3 .*"),
    (("0x100000", "0x100004"), "line 9: job.1.address must be a multiple of 64, not 1048580"),
    (('grid = [640]', 'grid = [640]\nbuffers = {0 = "second"}'),
     "buffer 0 of add is the result of second: its after must name second"),
    (('grid = [640]', 'grid = [640]\nbuffers = {0 = "none"}'),
     r"buffer 0 of add must be the result of a job \(product, second\), not of none"),
    (("size = 4", "size = 4\nbursts = 3"), "line 4: bursts must be a power of two.*, not 3"),
    (("0x100000", "0x40"),
     r"product \(on systolic\) and add \(on simd\) may run beside each other, and both map .*"),
    (('after = ["add"]', 'after = ["ad"]'),
     "second comes after ad, which is no job; there are product, add, second"),
    (("0x100000", "0x4000000000"),
     "what product uses must end within the DRAM's [0-9,]+ bytes, not at 274,877,9.*"),
    (("[48, 24, 16]", "[48, 24, 1048576]"),
     "matrices of 48 x 24 and 24 x 1048576 and their product must have 262,144 bytes at most, .*"),
    (('name = "second"', 'name = "add.z"'),
     "line .*: job.3.name must be a name without a point, .*"),
    (('"vector_add"', '"vector_ad"'), ".*vector_ad.*"),
    (('name = "second"', 'name = "add"'), "line .*: job.3.name must be a name of its own, .*"),
])
def test_what_a_file_must_be(call, tmp_path, change, says):
    file = tmp_path / "mine.toml"
    assert change[0] in SYSTEM_EXAMPLE
    file.write_text(SYSTEM_EXAMPLE.replace(*change))
    said = call("system", "wcet", str(file))
    assert (said.returncode, said.stdout) == (2, "")
    assert re.fullmatch(f"cyclebound: ({re.escape(str(file))}: )?({says})\n", said.stderr)


SMALL = """
size = 4
[[job]]
name = "product"
product = [5, 3, 6]
address = 0x100000
[[job]]
name = "twice"
kernel = "vector_add"
grid = [64]
after = ["product"]
"""


def ran(monkeypatch, *, spoil=lambda after: None, late=0, fault=None, text=SMALL):
    """A run whose simulation does what the models say, but for what is spoilt, late or a fault."""
    file = parse_tiled(text, Path())

    def simulated(file, plan, programs, content, rows, folder, tell):
        image = system_run._Image(system_run._MOST)
        for address, held in content.items():
            image.put(address, held.tobytes())
        for name in file.after:
            assert system_run._expect(name, file, plan, image) == []
        after = {address: image.bytes[address:address + held.size].copy()
                 for address, held in content.items()}
        spoil(after)
        return {"begun": 100, "last": 9_100, "jobs": [
            {"name": one.job.name, "asked": 200, "clocks": one.job.clocks + late, "fault": fault}
            for one in plan.bounds]}, after

    monkeypatch.setattr(system_run, "_simulated", simulated)
    return system_run.run_tiled(file)


def test_a_run_that_is_right(monkeypatch):
    run = ran(monkeypatch)
    assert (run.wrong, run.clocks) == ((), 9_000)
    assert [(job.bounded.job.name, job.asked) for job in run.jobs] == [
        ("product", 100), ("twice", 100)]
    assert all(job.clocks == job.bounded.job.clocks for job in run.jobs)


def test_a_byte_that_differs_is_named(monkeypatch):
    def spoil(after):
        after[0x100000][-1] ^= 1

    [said] = ran(monkeypatch, spoil=spoil).wrong
    assert re.fullmatch(r"byte 0x10\w+ is \d+, not \d+", said)


def test_a_job_above_its_bound_is_status_1(monkeypatch, capsys):
    from cyclebound.sim.cli import system as command

    monkeypatch.setattr(command, "run_tiled", lambda *_, **__: ran(monkeypatch, late=1))
    with pytest.raises(command.typer.Exit) as stopped:
        command.run("example", output=None)
    assert stopped.value.exit_code == 1
    assert "product took longer than its bound" in capsys.readouterr().out


THREADS = """
[[job]]
name = "adds"
dataflow = "vector_add"
threads = 33
address = 0x140000
"""


def test_threads_on_a_dataflow_core_are_bounded(monkeypatch):
    """And they are in the way of the others: each bound is longer than without them."""
    alone, beside = (ran(monkeypatch, text=text) for text in (SMALL, SMALL + THREADS))
    assert beside.wrong == ()
    assert [job.bounded.job.tile for job in beside.jobs] == ["systolic", "simd", "dataflow"]
    for before, after in zip(alone.jobs, beside.jobs, strict=False):
        assert after.bounded.job.clocks > before.bounded.job.clocks


def test_a_wrong_word_of_threads_is_found(monkeypatch):
    def spoil(after):
        after[0x140000][-1] ^= 1

    [said] = ran(monkeypatch, spoil=spoil, text=SMALL + THREADS).wrong
    assert re.fullmatch(r"byte 0x14018b is \d+, not \d+", said)


def test_a_word_outside_of_its_array_ends_a_run(monkeypatch):
    with pytest.raises(UserError, match=r"^adds: a thread names a word outside of its array$"):
        ran(monkeypatch, fault={"outside": 1}, text=THREADS)


@pytest.mark.parametrize(("change", "says"), [
    (("threads = 33", "threads = 0"), "line 5: threads must be from 1 to 256, .*, not 0"),
    (("threads = 33", "threads = -3"), "line 5: threads must be from 1 to 256, .*, not -3"),
    (("threads = 33", "threads = 33\narrays = {q = 5}"),
     "line 6: job.1.arrays.q must be one of x, y, z, not 'q'"),
    (("threads = 33", "threads = 33\narrays = {x = -1}"),
     "line 6: job.1.arrays.x must be a file, or a number of elements, not -1"),
    (("threads = 33", "threads = 33\ngrid = [1]"), "line 6: job.1.grid must be one of .*"),
    (("threads = 33", "threads = 2000"), "line 5: threads must be from 1 to 256, .*, not 2000"),
    (("threads = 33", "threads = 33\nconstants = {a = 1}"),
     "line 4: kernel vector_add has no constant a"),
    (('"vector_add"', '"vector"'), "line 4: job.1.dataflow must be a file, or one of .*"),
    (('"vector_add"', '"fan2"'), "line 4: .*"),
    (("0x140000", "0x140004"), "line 6: job.1.address must be a multiple of 64, not 1310724"),
    (("\n[[job]]", "windows = [740, 740]\n[[job]]"),
     "line 1: windows must be 3 whole numbers, of simd, systolic, dataflow, not .*"),
    (("\n[[job]]", "windows = [740, 740, 640]\n[[job]]"),
     "the window of dataflow must be at least 664 clocks for a request of 88 .*, not 640"),
    (("\n[[job]]", "fabric = {depth = 5}\n[[job]]"), "line 1: depth must be a power of two, not 5"),
    (("\n[[job]]", "fabric = {banks = true}\n[[job]]"),
     "line 1: fabric.banks must be a whole number, not True"),
])
def test_what_threads_must_be(tmp_path, change, says):
    assert change[0] in THREADS
    with pytest.raises((ValueError, UserError), match=f"^{says}$"):
        planned(parse_tiled(THREADS.replace(*change), tmp_path))


def test_a_table_that_has_no_names():
    """As the arrays of a kernel without any."""
    with pytest.raises(ValueError, match=r"^line 1: a must be a table without entries, not {'x': "
                                         r"1}$"):
        Reader("a = {x = 1}").table(["a"], {"x": 1}, ())


def test_a_fault_ends_a_run(monkeypatch):
    with pytest.raises(UserError, match=r"^product: DRAM refuses a tile of its buffer$"):
        ran(monkeypatch, fault={"refusal": 1})


AGAIN = """[[job]]
name = "again"
product = [4, 4, 4]
address = 0x100000
[[job]]
name = "twice\"
"""


@pytest.mark.parametrize(("change", "says"), [
    (("0x100000", "0x2000000"), "the jobs' words end at byte 0x2000.*: a run has the first "),
    (("0x100000", "0x0"), "buffer 0 of twice has words of product's operands"),
    (('[[job]]\nname = "twice"\n', AGAIN), "the words of again are an earlier job's, too: .*"),
])
def test_what_cannot_be_run(monkeypatch, change, says):
    assert change[0] in SMALL
    with pytest.raises(UserError, match=f"^{says}"):
        ran(monkeypatch, text=SMALL.replace(*change))


@pytest.mark.cosim
@pytest.mark.thorough
def test_three_tiles_of_a_file_on_rtl(call, tmp_path):
    """A kernel over what a dataflow core has gathered; a product, and threads after it."""
    (tmp_path / "gather.py").write_text("""
from cyclebound.golden.dataflow.kernel import Ints, kernel


@kernel
def gather(tid, x: Ints, index: Ints, z: Ints):
    z[tid] = x[index[tid]]
""")
    (tmp_path / "sums.sas").write_text(SUMS.format(words=77))
    file = tmp_path / "mine.toml"
    file.write_text(SYSTEM_EXAMPLE + """
[[job]]
name = "gather"
dataflow = "gather.py"
threads = 77
address = 0x1c0000

[[job]]
name = "sums"
kernel = "sums.sas"
grid = [77]
buffers = {0 = "gather.z"}
after = ["gather"]
""" + THREADS.replace("0x140000", "0x1d0000") + 'after = ["product"]')
    said = call("system", "run", str(file), "--json")
    record = json.loads(said.stdout)
    assert (said.returncode, record["wrong"], record["above"]) == (0, [], [])
    jobs = {job["name"]: job for job in record["jobs"]}
    assert jobs.keys() == {"product", "add", "second", "gather", "sums", "adds"}
    for job in jobs.values():
        assert 0 < job["clocks"] <= job["bound"]
    assert jobs["sums"]["started"] >= jobs["gather"]["started"] + jobs["gather"]["clocks"]


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("windows", ["", "windows = [740, 740]\n"])
def test_jobs_of_a_file_on_rtl(call, tmp_path, windows):
    """Sizes that fill no array, a kernel over a product's result, and jobs after each other."""
    (tmp_path / "sums.sas").write_text(SUMS.format(words=20))
    file = tmp_path / "mine.toml"
    file.write_text(windows + SYSTEM_EXAMPLE.replace("[32, 16, 32]", "[13, 7, 10]") + """
[[job]]
name = "odd"
product = [5, 3, 13]
address = 0x1a0000

[[job]]
name = "sums"
kernel = "sums.sas"
grid = [20]
buffers = {0 = "odd"}
after = ["odd"]
""")
    said = call("system", "run", str(file), "--json")
    record = json.loads(said.stdout)
    assert (said.returncode, record["wrong"], record["above"]) == (0, [], [])
    jobs = {job["name"]: job for job in record["jobs"]}
    assert [*jobs] == ["product", "add", "second", "odd", "sums"]
    for job in jobs.values():
        assert 0 < job["clocks"] <= job["bound"]
    assert jobs["second"]["started"] >= jobs["add"]["started"] + jobs["add"]["clocks"]
    assert jobs["sums"]["started"] >= jobs["odd"]["started"] + jobs["odd"]["clocks"]
