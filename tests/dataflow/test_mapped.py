"""What is kept, printed and drawn of kernels on the grid."""

import io
from pathlib import Path

import pytest

from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.sim.pictures.mapped import (
    DEPTHS,
    KernelCycles,
    draw_depths,
    read_depths,
    table_of_depths,
    took_in,
    write_depths,
)

pytestmark = pytest.mark.unit
DOCS = Path(__file__).parents[2] / "docs"

LOG = """\
     0.00ns INFO     top    saxpy: 1024 threads, 2384 cycles, [2384]
     0.00ns INFO     top    fan2: 1024 threads, 60 cycles, [10, 20, 30]
     0.00ns INFO     top    fan2: 24 threads, 7 cycles, [7]
"""


def test_a_log_says_what_kernels_took():
    assert took_in(LOG, 4) == [KernelCycles("saxpy", 1, 4, 2384), KernelCycles("fan2", 3, 4, 60)]


def test_what_is_written_is_read_printed_and_drawn(tmp_path):
    took = [KernelCycles("saxpy", 1, depth, 8000 // depth) for depth in (16, 2)]
    file = tmp_path / "depths.csv"
    write_depths(took, text := io.StringIO())
    file.write_text(text.getvalue())
    depths = read_depths(file)
    assert depths == {"saxpy": {2: took[1], 16: took[0]}}
    assert table_of_depths(depths).splitlines() == [
        "| kernel | parts | 2 entries | 16 | 16 over 2 |",
        "| --- | --- | --- | --- | --- |",
        "| saxpy | 1 | 4,000 | 500 | 8.00 |"]
    draw_depths(depths, tmp_path / "depths.svg")
    assert "16 entries" in (tmp_path / "depths.svg").read_text()


def test_the_page_has_what_was_measured():
    depths = read_depths(DOCS / "dataflow-depth.csv")
    assert set(depths) == set(KERNELS)
    assert all(tuple(by) == DEPTHS for by in depths.values())
    assert table_of_depths(depths) in (DOCS / "dataflow.md").read_text()
    # section 7's question: sixteen entries, of two
    assert all(by[2].cycles >= 1.5 * by[16].cycles for by in depths.values())
