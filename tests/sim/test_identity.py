"""What a design is made from: sources, their tables, and whatever else they read."""

import os
from pathlib import Path

import pytest

import cyclebound.sim
from cyclebound.sim import catalogue
from cyclebound.sim.base import audit, installed
from cyclebound.sim.base.installed import READ_BESIDE
from cyclebound.sim.build import identity, sources
from cyclebound.sim.build.elaborate import leave_unused, to_rtlil
from cyclebound.sim.build.identity import Identity, stands_for
from cyclebound.sim.proof.prove import design_of, prove
from cyclebound.sim.run.job import Job, design, identity_of
from cyclebound.tb.reads import PROGRAM

unit = pytest.mark.unit
ROOT = Path(cyclebound.sim.__file__).parents[1]
NOC = Identity("", ("cyclebound.sim.catalogue.noc",))
DRAM = Identity("", ("cyclebound.sim.catalogue.dram",))


@pytest.fixture(autouse=True)
def _reads(monkeypatch):
    monkeypatch.setattr(audit, "_reads", set())


def run(text, name, **values):
    exec(compile(text, str(ROOT / name), "exec"), values)


@unit
def test_a_file_that_hardware_reads_is_noticed(tmp_path):
    file = tmp_path / "table.txt"
    file.write_text("1")
    (ROOT / "hdl/arbiter.py").read_bytes()  # by this test, which is no hardware
    assert NOC.beside() == DRAM.beside() == []
    run("open(file).close()", "hdl/arbiter.py", file=file)
    assert (NOC.beside(), DRAM.beside()) == ([str(file)], [])
    assert Identity("").beside() == [str(file)]
    assert not NOC.stands()


@unit
@pytest.mark.parametrize("text", [
    "import os; os.close(os.open(file, os.O_RDONLY))",
    "__import__('pathlib').Path(file).read_text()",
    "__import__('io').open(file, 'rb').close()", "open(file, 'r+').close()",
    "__import__('numpy').loadtxt(file)", "__import__('numpy').fromfile(file)"])
def test_in_whatever_way(tmp_path, text):
    file = tmp_path / "table.txt"
    file.write_text("1")
    run(text, "golden/arbiter.py", file=str(file))
    assert Identity("", ("cyclebound.golden.arbiter",)).beside() == [str(file)]


@unit
def test_an_entry_of_the_path_that_is_no_file_is_looked_for_alone(tmp_path, monkeypatch):
    """importlib.metadata opens each entry as an archive; an editable installation has a name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path, "a.finder.__path_hook__"])
    look = "try: open(file)\nexcept OSError: pass"
    run(look, "hdl/arbiter.py", file="a.finder.__path_hook__")
    assert NOC.beside() == []
    run(look, "hdl/arbiter.py", file="another")
    assert NOC.beside() == [str(tmp_path / "another")]
    (tmp_path / "a.finder.__path_hook__").write_text("1")
    assert str(tmp_path / "a.finder.__path_hook__") in NOC.beside()


@unit
def test_another_program(tmp_path):
    run("import subprocess; subprocess.run(['true'])", "sim/catalogue/noc.py")
    assert NOC.beside() == [PROGRAM]


@unit
def test_what_a_model_reads_for_others(tmp_path):
    """The reader of a table is no part of whoever uses the same reader."""
    file = tmp_path / "table.txt"
    file.write_text("1")
    inner = compile("def read(path):\n    return open(path).close()\n",
                    str(ROOT / "golden/csv_rows.py"), "exec")
    values = {}
    exec(inner, values)
    run("read(file)", "hdl/dram/controller.py", read=values["read"], file=file)
    reader, hardware = "cyclebound.golden.csv_rows", "cyclebound.hdl.dram.controller"
    assert Identity("", (reader,)).beside() == []
    assert Identity("", (hardware, reader)).beside() == [str(file)]


@unit
def test_tables_beside_hardware_and_models_are_in_the_key():
    tables = [path for path in sources.files_of("cyclebound.golden.dram.jedec")
              if path.suffix == ".csv"]
    assert tables
    run("open(file).close()", "golden/dram/jedec.py", file=tables[0])
    assert Identity("", ("cyclebound.golden.dram.jedec",)).beside() == []


@unit
def test_a_compiled_file_stands_for_its_source(tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "roots", lambda: {"cyclebound.tb": tmp_path})
    source, folder = tmp_path / "a.py", tmp_path / "__pycache__"
    compiled = folder / "a.cpython-311-pytest-9.2.0.pyc"
    folder.mkdir()
    source.write_text("x = 1\n")
    files = frozenset({source})

    def made(of=0, later=1):
        stat = source.stat()
        compiled.write_bytes(bytes(8) + int(stat.st_mtime + of).to_bytes(4, "little")
                             + stat.st_size.to_bytes(4, "little"))
        os.utime(compiled, ns=(0, stat.st_ctime_ns + later))
        return stands_for(compiled, files, folder)

    assert stands_for(compiled, files, folder)  # it was looked for, and is not there
    assert made()
    assert not stands_for(compiled, frozenset(), folder)
    assert not made(later=-1)      # of this text or another one of the same size and second
    assert made(of=5, later=-1)    # Python compiles the source again
    (folder / "a.txt").touch()
    assert stands_for(tmp_path / "b.py", files, folder) is False
    assert stands_for(Path("/etc/hostname"), files, folder) is False


def quick():
    for block in catalogue.load():
        yield pytest.param(block.name, id=block.name,
                           marks=[] if block.name == "noc.arbiter" else pytest.mark.thorough)


@pytest.mark.proof
@pytest.mark.parametrize("name", [*quick()])
def test_nothing_else_is_read_for_our_blocks(name):
    """So that each of them, and each of its proofs, is known under its key."""
    block = catalogue.load().find(name)
    configuration, bench = next(iter(block.configurations)), block.testbenches[0]
    job = Job(name, configuration, bench.name, 1, "")
    _, top = design(block, job)
    to_rtlil(top, name="top", ports=top.ports)
    leave_unused(top)
    assert identity_of(job).beside() == []
    for claim in block.properties:
        design_of(block, claim, claim.instances[0])
    made_from = identity.identity((catalogue.load().page_of(name), prove.__module__))
    assert made_from.beside() == []


def test_what_packages_look_at_beside_their_files_is_in_every_key(monkeypatch, tmp_path):
    """`importlib.metadata` opens the archive that Python imports from first, and OR-tools a time
    zone: simulations whose models import them were never kept."""
    other, place = tmp_path / "python.zip", tmp_path / "job"
    for path in READ_BESIDE:
        assert stands_for(path, frozenset(), place)
    assert not stands_for(READ_BESIDE[1].with_name("GMT"), frozenset(), place)
    monkeypatch.setattr(installed, "READ_BESIDE", (other,))
    keys = []
    for text in (None, "one", "another"):
        if text is not None:
            other.write_text(text)
        installed.program.cache_clear()
        keys.append(installed.everything.__wrapped__())
    assert len(set(keys)) == 3
    installed.program.cache_clear()
