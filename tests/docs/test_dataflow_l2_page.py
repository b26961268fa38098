"""The page about the second-level cache: its figures are those of the formulas and of the search.
"""

import re

import numpy as np
import pytest

from cyclebound.golden.dataflow import l2_bounds as bounds
from cyclebound.golden.dataflow.fabric_bounds import processor_completion
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.line_cache_bounds import line_miss
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.processor import run_processor
from cyclebound.golden.dataflow.run import Layout
from cyclebound.sim.catalogue import load
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.dataflow.core import KERNELS, arrays_of
from cyclebound.tb.dataflow.l2_search import MEMORIES
from cyclebound.tb.dataflow.processor import model_of, times_of
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from kit.pages import Page

PAGE = Page("dataflow-l2.md")
CONFIGURATIONS = load().find("dataflow.l2").configurations
TURN, LATENCY = MEMORIES[-1]
ROWS = {row[0].strip("`"): row[1:] for row in PAGE.rows("| configuration | cores, banks, channels")}


def known(name):
    return {**CONFIGURATIONS[name].parameters, "turn": TURN, "latency": LATENCY}


@pytest.mark.unit
def test_bounds_of_the_table():
    assert PAGE.says(f"above memories of `turn` {TURN} and `latency` {LATENCY}")
    assert len(ROWS) == 3
    for name, (sizes, slowest, allowed) in ROWS.items():
        p = known(name)
        assert sizes == f"{p['ports']}, {p['banks']}, {p['channels']}"
        assert int(allowed) == bounds.l2_read.of(p)
        assert int(slowest) <= int(allowed)


@pytest.mark.unit
def test_the_example():
    assert PAGE.says("a miss with nothing else under way 3 + 9 + 4 = "
                     f"{line_miss(turn=TURN, latency=LATENCY)}",
                     f"it is {bounds.l2_read.of(known('tiny'))} at most")


@pytest.mark.unit
@pytest.mark.parametrize("row", PAGE.rows("| kernel | cores | cycles"), ids=" ".join)
def test_kernels_on_several_cores(row):
    name, cores, cycles, allowed = row
    p = load().find("dataflow.processor").configurations["four"].parameters | {"cores": int(cores)}
    threads, known = 20 * p["cores"], {"turn": 2, "latency": 9}
    mapped = map_graph(compile_kernel(KERNELS[name]), Grid(tuple(p["rows"])))
    arrays = arrays_of(name, threads, np.random.default_rng(threads))
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    memories = [LineMemoryModel(words, line=p["line"], **known) for _ in range(p["channels"])]
    ran = run_processor(model_of(p), memories, mapped, layout, threads=threads, share=20)
    times = times_of(p, mapped, layout, threads=threads, share=20, **known)
    assert (cycles, allowed) == (f"{ran:,}", f"{processor_completion.of(times | p):,}")


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("name", ROWS)
def test_what_the_search_finds(tmp_path, name):
    outcome = run_job(Job("dataflow.l2", name, "search", 1, str(tmp_path), wall_limit=3600))
    assert outcome.passed, outcome.reason
    found = re.findall(r"turn (\d+), latency (\d+): a read took (\d+) cycles",
                       (tmp_path / "log.txt").read_text())
    assert [(int(turn), int(latency)) for turn, latency, _ in found] == [*MEMORIES]
    assert found[-1][2] == ROWS[name][1]
