"""Outcomes that are kept by content: what makes a job run again, and what is never kept."""

import ast
import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import cyclebound.sim
from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import find_entry, made_since
from cyclebound.sim.build import sources
from cyclebound.sim.build.sources import closure, files_of
from cyclebound.sim.build.verilator import Build
from cyclebound.sim.regression.results import Results
from cyclebound.sim.run import outcomes
from cyclebound.sim.run.job import Job
from cyclebound.sim.run.outcomes import _Places, outcome_of_job
from cyclebound.sim.run.simulator import Group, Outcome
from cyclebound.tb import reads

ROOT = Path(cyclebound.sim.__file__).parents[1]
MODULES = ("cyclebound.tb.noc.arbiter", *outcomes._RUNS)

unit = pytest.mark.unit


# -- what code an outcome depends on ---------------------------------------------------------------


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """``tree(name, text)``: a file of a small project; all others are forgotten."""
    folders = {f"cyclebound.{name}": tmp_path / name for name in ("golden", "tb")}
    for folder in folders.values():
        folder.mkdir()
        (folder / "__init__.py").touch()

    def forget():
        for cached in (sources._file_of, sources._tables, sources._content, sources._imports):
            cached.cache_clear()

    def written(name, text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        forget()

    monkeypatch.setattr(sources, "roots", lambda: folders)
    forget()
    yield written
    forget()


def reached(tmp_path, *modules):
    return {str(path.relative_to(tmp_path)) for path in files_of(*modules)}


@unit
def test_what_a_module_imports_wherever_and_however(tree, tmp_path):
    tree("golden/a.py", "from cyclebound.golden.b import f\nimport cyclebound.golden.c\n")
    tree("golden/b.py", "def f():\n    from cyclebound.golden import d\n    return d\n")
    tree("golden/c.py", "from .e import x\nfrom cyclebound.golden.p.q import y\n")
    tree("golden/d.py", "import numpy\nOTHER = 'cyclebound.golden.z'\n")
    tree("golden/e.py", "from cyclebound.golden import nothing\n")
    tree("golden/z.py", "")
    tree("golden/p/__init__.py", "import cyclebound.golden.r\n")
    tree("golden/p/q.py", "")
    tree("golden/r.py", "")
    assert reached(tmp_path, "cyclebound.golden.a") == {
        "golden/__init__.py", *(f"golden/{name}.py" for name in "abcder"),
        "golden/p/__init__.py", "golden/p/q.py"}


@unit
def test_a_models_tables_belong_to_it(tree, tmp_path):
    tree("golden/a.py", "")
    tree("golden/bins.csv", "1,2\n")
    tree("golden/p/other.csv", "1,2\n")
    assert reached(tmp_path, "cyclebound.golden.a") == {
        "golden/__init__.py", "golden/a.py", "golden/bins.csv"}
    before = closure("cyclebound.golden.a")
    tree("golden/p/other.csv", "1,3\n")
    assert closure("cyclebound.golden.a") == before
    tree("golden/bins.csv", "1,3\n")
    assert closure("cyclebound.golden.a") != before


@unit
def test_the_hash_is_of_content(tree):
    tree("golden/a.py", "from cyclebound.golden import b\n")
    tree("golden/b.py", "x = 1\n")
    tree("golden/c.py", "x = 1\n")
    before = closure("cyclebound.golden.a")
    tree("golden/c.py", "x = 2\n")
    assert closure("cyclebound.golden.a") == before
    tree("golden/b.py", "x = 2\n")
    assert closure("cyclebound.golden.a") != before
    tree("golden/b.py", "x = 1\n")
    assert closure("cyclebound.golden.a") == before


@unit
def test_a_file_that_changed_since_this_process_began_is_not_settled(tree, monkeypatch):
    tree("golden/a.py", "")
    monkeypatch.setattr(sources, "_begun", [time.time_ns() + 10**9])
    assert sources.settled("cyclebound.golden.a")
    sources.begun(1)
    assert not sources.settled("cyclebound.golden.a")


@unit
def test_models_and_testbenches_read_no_variables():
    """They would not be in the key. Its job's folder is told to a testbench in one."""
    read = set()
    for folder in ("golden", "hdl", "tb"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name == "mutant_runs.py":  # runs where nothing is kept
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                name = getattr(node, "attr", getattr(node, "id", ""))
                assert name not in ("getenv", "environb"), path
                if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                    read.add(node.slice.value)
                elif isinstance(node, ast.Attribute) and ast.unparse(node) == "os.environ":
                    assert re.search(r'os\.environ\[|"CYCLEBOUND_JOB" in os\.environ',
                                     path.read_text()), path
    assert read == {"CYCLEBOUND_JOB"}


# -- the key ---------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job in an empty cache."""
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_begun", [time.time_ns() + 10**9])
    return Job("noc.arbiter", "four", "cycle", 1, str(tmp_path / "job"))


def keys(job):
    """The key of the job's outcome, and the one under which its design is known."""
    places = _Places(job)
    return places._key("build", {}), places._index


@pytest.mark.parametrize(("file", "outcome", "design"), [
    ("golden/arbiter.py", True, False), ("golden/noc/bounds.py", False, True),
    ("tb/noc/arbiter.py", True, False), ("tb/bench.py", True, False), ("tb/probe.py", True, True),
    ("tb/reads.py", True, True), ("sim/run/simulator.py", True, True),
    ("sim/run/observations.py", True, True), ("hdl/arbiter.py", False, True),
    ("sim/build/elaborate.py", False, True), ("sim/catalogue/noc.py", False, True),
    ("tb/noc/arbiter_properties.py", False, True), ("sim/report/report.py", False, False),
    ("tb/sram/banked_memory.py", False, False), ("hdl/dram/controller.py", False, False)])
@unit
def test_a_changed_file_changes_the_key_of_what_depends_on_it(
        job, monkeypatch, file, outcome, design):
    """What changes the design alone is in the outcome's key through the simulator's."""
    before = keys(job)
    content = sources._content
    monkeypatch.setattr(sources, "_content", lambda path: (
        "other" if path == ROOT / file else content(path)))
    changed = [new != old for new, old in zip(keys(job), before, strict=True)]
    assert changed == [outcome, design]


@unit
def test_everything_else_that_an_outcome_depends_on(job, monkeypatch):
    from dataclasses import replace
    before = keys(job)[0]
    found = {before, keys(replace(job, seed=2))[0],
             _Places(job)._key("other", {}), _Places(job)._key("build", {"seed": 2})}
    for name, value in (("PYTHONOPTIMIZE", "1"), ("COCOTB_RANDOM", "1"), ("PYTHONHASHSEED", "0")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            found.add(keys(job)[0])
    for what in ("everything", "compiler_content"):
        with monkeypatch.context() as patch:
            patch.setattr(outcomes, what, lambda: "another")
            assert keys(job)[1] not in found | {keys(job)[0]}
            found.add(keys(job)[0])
    assert len(found) == 9
    monkeypatch.setenv("TERM", "other")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert keys(job)[0] == before


# -- what is kept ----------------------------------------------------------------------------------


def _built(key, index=""):
    return Build(Path("sim"), False, 1.0, None, key, index)


class Simulation:
    """Stands for a simulator: leaves files, and counts how often it ran."""

    def __init__(self, job, *, passed=True, read=()):
        self.job, self.passed, self.ran = job, passed, 0
        self.read = [str(ROOT / "tb/noc/arbiter.py"), str(Path(sys.prefix, "lib", "x.py")), *read]

    def __call__(self):
        self.ran += 1
        folder = Path(self.job.folder)
        folder.mkdir(exist_ok=True)
        (folder / "log.txt").write_text(f"run {self.ran}\n")
        (folder / "probes.txt").write_text("@probe\n" * 1000)
        (folder / "cwd").mkdir(exist_ok=True)
        if self.read is not None:
            (folder / reads.FILE).write_text("\n".join(self.read) + "\n")
        return Outcome(self.job.name, self.passed, "" if self.passed else "wrong",
                       [Group("grant", {"requesters": 4}, 4, 7, 1, 4, "test")], 12, 34, 1.0,
                       2.0 + self.ran, False, None, [("test", self.passed)], {"test": 3})

    def outcome(self, since=0.0):
        """The job's, as a regression gets it."""
        with made_since(since):
            places = _Places(self.job)
            if (found := places.stored()) is not None:
                return found
            return places.kept(_built("build"), {"seed": 1}, self)


@unit
def test_what_passed_is_kept_with_its_files(job):
    simulation = Simulation(job)
    first = simulation.outcome()
    assert (first.ran, first.passed) == ("", True)
    shutil.rmtree(job.folder)
    Path(job.folder).mkdir()
    Path(job.folder, "of_another_run.json").touch()
    again = simulation.outcome()
    assert simulation.ran == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", again.ran)
    assert {**vars(again), "ran": "", "cached": False, "build_seconds": 1.0} == vars(first)
    assert {path.name for path in Path(job.folder).iterdir()} == {
        "log.txt", "probes.txt", "job.json"}
    assert Path(job.folder, "log.txt").read_text() == "run 1\n"
    assert json.loads(Path(job.folder, "job.json").read_text()) == {
        "seed": 1, "folder": str(Path(job.folder).resolve())}


@unit
def test_an_outcome_is_known_without_the_design(job):
    """If the sources of the design have changed, it is elaborated; the outcome may be the same."""
    simulation = Simulation(job)
    simulation.outcome()
    places = _Places(job)
    places._index = "another"
    assert places.stored() is None
    assert places.kept(_built("build"), {"seed": 1}, simulation).ran
    assert not places.kept(_built("another build"), {"seed": 1}, simulation).ran
    assert not places.kept(_built("build"), {"seed": 2}, simulation).ran
    assert simulation.ran == 3


@pytest.mark.parametrize("same", [True, False])
@unit
def test_one_look_at_packages_keeps_outcome_and_build(job, monkeypatch, same):
    looks = []
    monkeypatch.setattr(outcomes, "unchanged", lambda since: looks.append(since) or same)
    places = _Places(job)
    places.kept(_built("build", f"index {same}"), {"seed": 1}, Simulation(job))
    assert len(looks) == 1
    kept = find_entry("content", f"index {same}")
    assert (kept and (kept / "key").read_text()) == ("build" if same else None)


@unit
def test_a_failed_job_runs_again(job):
    simulation = Simulation(job, passed=False)
    assert [simulation.outcome().passed for _ in range(3)] == [False] * 3
    assert simulation.ran == 3


@pytest.mark.parametrize("read", [
    str(ROOT / "golden/dram/timing.py"), str(ROOT / "golden/noc/no_such_file.csv"), reads.PROGRAM,
    "/data/table.csv", "relative.txt"],
    ids=["ours", "ours that is not there", "a program", "a user's", "relative"])
@unit
def test_a_job_that_read_what_is_not_in_its_key_runs_again(job, read):
    simulation = Simulation(job, read=[read])
    assert [simulation.outcome().ran for _ in range(2)] == ["", ""]
    assert simulation.ran == 2


@unit
def test_nothing_is_kept_where_it_is_not_known_what_was_read(job):
    simulation = Simulation(job)
    simulation.read = None
    assert [simulation.outcome().ran for _ in range(2)] == ["", ""]


@unit
def test_nothing_is_kept_while_sources_change(job, monkeypatch):
    monkeypatch.setattr(sources, "_begun", [1])
    simulation = Simulation(job)
    assert [simulation.outcome().ran for _ in range(2)] == ["", ""]


@unit
def test_a_fresh_run_replaces_what_is_kept(job):
    simulation = Simulation(job)
    simulation.outcome()
    now = time.time() + 1e-3
    time.sleep(0.01)
    assert (simulation.outcome(now).ran, simulation.ran) == ("", 2)
    assert simulation.outcome(now).ran  # of another job of the same run
    assert simulation.outcome().run_seconds == 4.0
    simulation.passed = False  # now and then it fails: then it is not known to pass
    assert not simulation.outcome(time.time() + 1).passed
    assert not simulation.outcome().passed
    assert simulation.ran == 4


def flipped(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def emptied(file):
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [flipped, emptied, Path.unlink])
@pytest.mark.parametrize("name", ["outcome.json", "files.zip", "manifest.json"])
@unit
def test_a_damaged_outcome_is_refused(job, name, damage):
    simulation = Simulation(job)
    key = simulation.outcome().content
    damage(find_entry("outcome", key) / name)
    assert (simulation.outcome().ran, simulation.ran) == ("", 2)
    assert simulation.outcome().ran


@pytest.mark.parametrize("damage", [flipped, emptied, Path.unlink])
@unit
def test_a_damaged_index_is_refused(job, damage):
    simulation = Simulation(job)
    simulation.outcome()
    damage(find_entry("job", _Places(job)._index) / "job.json")
    assert _Places(job).stored() is None


@unit
def test_a_folder_that_cannot_be_written_is_no_fault_of_the_cache(job):
    def simulated():
        raise OSError(28, "No space left on device", job.folder)

    with pytest.raises(OSError, match="No space left"):
        _Places(job).kept(_built("build"), {}, simulated)


@pytest.mark.parametrize("changed", [
    {"pages": ("page",)}, {"waves": True}, {"test": "one"}, {"simulator": "icarus"}])
@unit
def test_jobs_that_are_always_run(job, monkeypatch, changed):
    from dataclasses import replace
    monkeypatch.setattr(outcomes, "run_job", lambda job, keep=None: keep)
    assert outcome_of_job(replace(job, **changed)) is None
    assert outcome_of_job(job) is not None


@unit
def test_every_testbench_can_be_known():
    """Its module is of this project, so that its files are known."""
    for block in catalogue.load():
        assert catalogue.load().page_of(block.name)
        for bench in block.testbenches:
            path = ROOT.joinpath(*bench.module.split(".")[1:]).with_suffix(".py")
            assert path in files_of(bench.module), bench.module


# -- a regression ----------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path, command_environment):
    """``project(*words)``: a regression of one block, by a copy of this project."""
    for name in ("golden", "hdl", "sim", "tb", "tools"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / "cyclebound" / name,
                        ignore=shutil.ignore_patterns("__pycache__"))
    number = iter(range(100))

    def run(*words):
        """Exit status, verdict table, and for each job whether it was kept."""
        folder = tmp_path / f"run{next(number)}"
        said = subprocess.run(
            [sys.executable, "-c", "from cyclebound.sim.cli.main import main; main()", "regress",
             "sram.banked_memory", "-c", "tiny", "--no-proofs", "--no-report", "-o", folder,
             *words],
            cwd=tmp_path, text=True, capture_output=True, env={
                **command_environment, "COLUMNS": "250", "COCOTB_OWN": str(tmp_path),
                "PYTHONPATH": str(tmp_path / "copy")})
        assert not said.stderr, said.stderr
        with closing(Results(folder)) as results:
            kept = {job.testbench: bool(job.ran) for job in results.jobs()}
        table = re.findall(r"^│.*?│(.*)│[^│]*│[^│]*│$", said.stdout, re.MULTILINE)
        return said.returncode, table, kept, said.stdout

    return run


@pytest.mark.cosim
@pytest.mark.thorough
def test_a_planted_change_runs_just_the_jobs_that_depend_on_it(project, tmp_path):
    def changed(file, old, new):
        path = tmp_path / "copy" / "cyclebound" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return lambda: path.write_text(text)

    first = project()
    assert first[0] == 0
    assert len(first[2]) > 1
    assert set(first[2].values()) == {False}  # COCOTB_OWN is in the key
    again = project()
    assert set(again[2].values()) == {True}
    assert (again[0], again[1]) == (0, first[1])
    assert re.search(rf"^{len(first[2])} of {len(first[2])} simulations are kept from earlier "
                     r"runs, of \d{4}-.*; `--fresh` runs them again$", again[3], re.MULTILINE)
    fresh = project("--fresh")
    assert set(fresh[2].values()) == {False}
    assert fresh[1] == first[1]

    # a wrong line of RTL: what is known is of another simulator
    back = changed("hdl/arbiter.py", " & ~lower.any() & ~higher.any()", " & ~lower.any()")
    for _ in range(2):  # and what failed is not kept
        status, _, kept, _ = project()
        assert (status, set(kept.values())) == (1, {False})
    back()

    # another line, of hardware for more requesters: the same simulator
    back = changed("hdl/arbiter.py", "grant.eq(pool & -pool)", "grant.eq(pool)")
    assert set(project()[2].values()) == {True}
    back()

    # a wrong model: the testbench that compares with it
    back = changed("golden/sram/banked_memory.py", "accept=True", "accept=False")
    status, _, kept, _ = project()
    assert (status, kept) == (1, {"cycle": False, "harness": True})
    back()

    # one testbench
    back = changed("tb/sram/banked_memory_harness.py", '"""', '"""Changed. ')
    status, _, kept, _ = project()
    assert (status, kept) == (0, {"cycle": True, "harness": False})
    back()

    # what another block is made of
    changed("hdl/dram/controller.py", '"""', '"""Changed. ')
    changed("tb/noc/mesh.py", '"""', '"""Changed. ')
    assert set(project()[2].values()) == {True}

    # what says how a probe counts
    changed("tb/probe.py", "MARK = ", "OTHER = 1\nMARK = ")
    assert set(project()[2].values()) == {False}


@pytest.mark.cosim
@pytest.mark.thorough
def test_a_testbench_that_imports_at_run_time_is_not_kept(project, tmp_path):
    path = tmp_path / "copy" / "cyclebound" / "tb" / "sram" / "banked_memory.py"
    path.write_text(path.read_text() + "\n__import__('cyclebound.golden.dram.timing')\n")
    assert project()[2] == {"cycle": False, "harness": False}
    assert project()[2] == {"cycle": False, "harness": True}


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("where", ["elaborated", "imported"])
def test_hardware_that_reads_a_text_is_elaborated_again(project, tmp_path, where):
    """What it reads is in no key; a table beside it would be."""
    text, path = tmp_path / "text.txt", tmp_path / "copy/cyclebound/hdl/arbiter.py"
    text.write_text("grant.eq(pool & -pool)")
    reads = f"open({str(text)!r}).read()"
    source = path.read_text()
    assert "grant.eq(pool & -pool)" in source
    old, new = "grant.eq(pool & -pool)", "eval(TEXT)" if where == "imported" else f"eval({reads})"
    path.write_text(f"{source.replace(old, new)}\n\nTEXT = {reads}\n" if where == "imported"
                    else source.replace(old, new))
    assert project()[0] == 0
    text.write_text("grant.eq(0)")
    status, _, kept, _ = project()
    assert (status, kept["cycle"]) == (1, False)
