"""The kernels of Table 2 on the SIMT machine beside a core: programs, commands, the page."""

from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.tools.dataflow import simt
from cyclebound.tools.dataflow.simt import (
    ITEMS,
    compare,
    main,
    program_of,
    read_compared,
    run,
    table_of,
    write_compared,
)
from cyclebound.tools.dataflow.workloads import workload

pytestmark = pytest.mark.unit
DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", KERNELS)
def test_a_program_is_the_interpreters_kernel(name, monkeypatch):
    """All arrays afterwards; with work-groups that are full, that are not, and with several."""
    for items, threads in ((256, 448), (1024, 64)):
        ran = run(name, items, threads=threads)
        assert 0 < ran.compute < ran.cycles
        assert 0 < ran.dram < ran.cycles
    broken = simt._TEXTS[name].replace("stg", "ldg", 1)  # one array keeps what it has
    monkeypatch.setitem(simt._TEXTS, name, broken)
    with pytest.raises(ValueError, match=rf"^{name}, 256 items: \w+ is not the interpreter's$"):
        run(name, 256, threads=448)


@pytest.mark.parametrize("name", KERNELS)
def test_all_threads_have_work(name):
    """Each thread of a workload stores: in a kernel's longest array, as many words change."""
    work = workload(name)
    before = {array: words.copy() for array, words in work.arrays.items()}
    after, faults = simt.interpret_all(
        simt.compile_segments(work.kernel, **work.constants), work.arrays, work.threads)
    changed = max(int(np.count_nonzero(after[array] != words))
                  for array, words in before.items())
    if name == "bfs_kernel2":  # those that are new in this level
        assert changed >= work.threads // 3
    else:
        assert changed >= 0.99 * work.threads
    assert not faults


def test_bad_workloads():
    with pytest.raises(ValueError, match=r"^fan2 must have from 1 to 4032 threads, not 4033$"):
        workload("fan2", 4033)
    with pytest.raises(ValueError, match=r"^saxpy must have from 1 to 1048576 threads, not 0$"):
        workload("saxpy", 0)
    with pytest.raises(ValueError, match=r"^fan2 must have a multiple of 64 threads, not 65$"):
        program_of("fan2", workload("fan2", 65), 256)


def test_a_kernel_on_both(tmp_path):
    both = compare("saxpy", threads=64)
    assert both.read == 4
    assert both.written == 2
    assert both.cycles == min(run("saxpy", items, threads=64).cycles for items in ITEMS)
    write_compared(tmp_path / "f.csv", [both])
    assert read_compared(tmp_path / "f.csv") == [both]
    assert f"| saxpy | {both.items:,} | {both.cycles:,} |" in table_of([both])
    assert 0 < both.below < 1


def test_bad_calls(tmp_path, capsys):
    assert main([]) == main(["f.csv", "nothing"]) == 2
    assert "no kernel 'nothing'; known are vector_add" in capsys.readouterr().err


def test_the_page_has_the_table():
    table = table_of(read_compared(DOCS / "dataflow-simt.csv"))
    assert table in (DOCS / "dataflow-simt.md").read_text()


@pytest.mark.parametrize("ran", read_compared(DOCS / "dataflow-simt.csv"),
                         ids=lambda ran: ran.kernel)
def test_the_baselines_side_of_the_file(ran):
    best = min((run(ran.kernel, items) for items in ITEMS), key=lambda one: one.cycles)
    assert (best.items, best.cycles, best.compute, best.dram) == (
        ran.items, ran.cycles, ran.compute, ran.dram)


@pytest.mark.thorough
def test_a_row_of_the_file():
    row = next(ran for ran in read_compared(DOCS / "dataflow-simt.csv") if ran.kernel == "saxpy")
    assert compare("saxpy") == row
