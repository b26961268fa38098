"""The page about the cache: its figures are those of the formulas and of the searches."""

import re

import numpy as np
import pytest

from cyclebound.golden.dataflow import line_cache_bounds as bounds
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.core import CoreModel, core_times, run_core
from cyclebound.golden.dataflow.fabric_bounds import core_completion
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.kernels import KERNELS as TABLE_2
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.run import Layout
from cyclebound.sim.catalogue import load
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.dataflow.cache_search import MEMORIES
from cyclebound.tb.dataflow.core import KERNELS, arrays_of
from cyclebound.tools.dataflow import cached_kernels
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from kit.pages import Page

PAGE = Page("dataflow-cache.md")
CONFIGURATIONS = load().find("dataflow.cache").configurations
TURN, LATENCY = MEMORIES[-1]
THREADS = 40
ROWS = {row[0].strip("`"): list(map(int, row[2:]))
        for row in PAGE.rows("| configuration | ports, banks |")}


def known(name):
    return {**CONFIGURATIONS[name].parameters, "turn": TURN, "latency": LATENCY}


@pytest.mark.unit
def test_bounds_of_the_table():
    assert PAGE.says(f"Above a memory of `turn` {TURN} and `latency` {LATENCY}")
    assert len(ROWS) == 4
    for name, (slowest, access, waited, taken) in ROWS.items():
        assert (access, taken) == (bounds.line_access.of(known(name)),
                                   bounds.line_taken.of(known(name)))
        assert slowest <= access
        assert waited <= taken


@pytest.mark.unit
def test_the_example():
    assert PAGE.says("a miss with nothing else under way 3 + 9 + 4 = "
                     f"{bounds.line_miss(turn=TURN, latency=LATENCY)}",
                     f"it is {bounds.line_access.of(known('tiny'))} at most")


@pytest.mark.unit
@pytest.mark.parametrize("row", PAGE.rows("| kernel | `turn`, `latency` |"), ids=" ".join)
def test_kernels_under_a_fabric(row):
    name, memory, cycles, allowed = row
    turn, latency = map(int, memory.split(", "))
    p = load().find("dataflow.core").configurations["small"].parameters
    grid = Grid(tuple(p["rows"]))
    shape = CacheShape(**{key: p[key] for key in CacheShape.__dataclass_fields__})
    mapped = map_graph(compile_kernel(KERNELS[name]), grid)
    arrays = arrays_of(name, THREADS, np.random.default_rng(THREADS))
    layout = Layout.of(arrays)
    ran = run_core(CoreModel(grid, depth=p["depth"], shape=shape), LineMemoryModel(
        layout.words(arrays), line=shape.line, turn=turn, latency=latency), mapped, layout,
        threads=THREADS)
    known = core_times(mapped, layout, threads=THREADS, depth=p["depth"], shape=shape, turn=turn,
                       latency=latency)
    assert (cycles, allowed) == (f"{ran.cycles:,}", f"{core_completion.of(known | p):,}")


@pytest.mark.unit
@pytest.mark.thorough
@pytest.mark.parametrize("name", TABLE_2)
def test_kernels_with_table_1s_cache(name):
    cells, = (row for row in PAGE.rows("| kernel | cycles | bound | ratio |") if row[0] == name)
    assert f"| {' | '.join(cells)} |" == cached_kernels.row(name)


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("name", ROWS)
def test_what_the_search_finds(tmp_path, name):
    outcome = run_job(Job("dataflow.cache", name, "search", 1, str(tmp_path), wall_limit=3600))
    assert outcome.passed, outcome.reason
    found = re.findall(r"turn (\d+), latency (\d+): an access took (\d+) cycles",
                       (tmp_path / "log.txt").read_text())
    assert [(int(turn), int(latency)) for turn, latency, _ in found] == [*MEMORIES]
    assert int(found[-1][2]) == ROWS[name][0]
