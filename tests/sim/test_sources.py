"""The hash of all code: which files are in it, and what happens to those that cannot be read."""

import os
import sys
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build import sources as hashing

pytestmark = pytest.mark.unit


@pytest.fixture
def page(tmp_path, monkeypatch):
    """``page(name)``: a user's catalogue page of that name in an empty folder."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(name):
        (tmp_path / f"{name}.py").write_text("BLOCKS = ()\n")
        return name

    yield made
    hashing.sources.cache_clear()


def hashed(name):
    hashing.sources.cache_clear()
    return hashing.sources((name,))


def test_what_python_cannot_import_is_no_code(page, tmp_path):
    """Beside a page may lie an editor's lock, a link to nowhere, and a pipe, which never ends."""
    name = page("page_with_links")
    before = hashed(name)
    (tmp_path / ".#page.py").symlink_to("somebody@somewhere.1234:5678")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "round.py").symlink_to(tmp_path / "round.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    assert hashed(name) == before
    (tmp_path / "real.py").write_text("a = 1\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "real.py")
    assert hashed(name) != before


@pytest.mark.parametrize("name", ["fifo.v", "part.svh", "core.vhd", "program.hex"])
def test_hardware_that_a_page_reads_is_code(page, tmp_path, name):
    """Else a run that is resumed, or merged, would hold verdicts of other hardware."""
    before = hashed(module := page(f"page_with_{name.replace('.', '_')}"))
    (tmp_path / name).write_text("one")
    first = hashed(module)
    (tmp_path / name).write_text("two")
    assert len({before, first, hashed(module)}) == 3


def test_sources_that_a_block_names_are_code_wherever_they_are(page, tmp_path, monkeypatch):
    (tmp_path / "pages").mkdir()
    (tmp_path / "wire.v").write_text("module wire_(input clk, input a, output b);\n"
                                     "assign b = a;\nendmodule\n")
    (tmp_path / "pages" / "page_elsewhere.py").write_text(
        "from cyclebound.sim.describe.block import Block, Configuration, Testbench\n"
        "BLOCKS = (Block('own.wire', 'a wire', sources=('wire.v',), top='wire_',\n"
        "                configurations={'a': Configuration({})},\n"
        "                testbenches=(Testbench('t', 'none'),)),)\n")
    page("page_beside")
    monkeypatch.syspath_prepend(tmp_path / "pages")
    before = hashed("page_elsewhere")
    (tmp_path / "wire.v").write_text("module wire_(input clk, input a, output b);\n"
                                     "assign b = ~a;\nendmodule\n")
    assert hashed("page_elsewhere") != before


def test_a_file_that_cannot_be_read(page, tmp_path, monkeypatch):
    name = page("page_that_is_guarded")

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(tmp_path), "read_bytes", refused)
    with pytest.raises(UserError, match=r"^cannot read \S+\.py, which lies beside catalogue pages "
                                        r"or below them: Permission denied$"):
        hashed(name)
    assert name in sys.modules


def test_every_folder_that_a_result_may_depend_on_is_hashed(page, monkeypatch):
    """`tools` too: a testbench that compiles a kernel depends on the compiler."""
    read, real = set(), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.add(path) or real(path))
    hashed(page("page_that_is_empty"))
    root = Path(hashing.__file__).parents[2]
    assert {path.relative_to(root).parts[0] for path in read if root in path.parents} == {
        "golden", "hdl", "sim", "tb", "tools"}
