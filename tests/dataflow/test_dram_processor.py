# amaranth: UnusedElaboratable=no
"""Cores above DRAM on the model: what the DRAMs have is numpy's, within the composed bound."""

import dataclasses

import numpy as np
import pytest

from cyclebound.golden.dataflow import dram_processor as golden
from cyclebound.golden.dataflow.channel import ChannelModel
from cyclebound.golden.dataflow.channel_bounds import channel_times
from cyclebound.golden.dataflow.channel_shape import ChannelShape
from cyclebound.golden.dataflow.dram_processor import run_on_dram, words_of_lines
from cyclebound.golden.dataflow.fabric_bounds import processor_completion
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dataflow.dram_processor import DramProcessor
from cyclebound.sim import catalogue
from cyclebound.sim.catalogue import load
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.dataflow.core import KERNELS, arrays_of, wanted
from cyclebound.tb.dataflow.dram_processor import dram_times_of
from cyclebound.tb.dataflow.processor import model_of, shapes_of
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from kit.faults import edited
from kit.processors import drawn_processor, pick

unit, thorough = pytest.mark.unit, pytest.mark.thorough
BLOCK = "dataflow.dram_processor"
SMALL = load().find(BLOCK).configurations["small"].parameters


def ran(p, name, threads, share, *, before=20, **options):
    """Cycles, the bound, and whether the DRAMs have what numpy has; ``before`` the start so many
    cycles pass."""
    mapped = map_graph(compile_kernel(KERNELS[name]), Grid(tuple(p["rows"])))
    arrays = arrays_of(name, threads, np.random.default_rng(threads))
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    shape = ChannelShape(line=p["line"], address_width=p["address_width"])
    channels = [ChannelModel(part_named(p["part"]), shape=shape) for _ in range(p["channels"])]
    for channel in channels:
        channel.load(words)
        for _ in range(before):
            channel.takes(None)
            channel.step(False)
    cycles = run_on_dram(model_of(p), channels, mapped, layout, threads=threads, share=share,
                         **options)
    found = np.array(words_of_lines(channels, len(words), shapes_of(p)[1]), np.uint32)
    known = dram_times_of(p, mapped, layout, threads=threads, share=share)
    return (cycles, processor_completion.of(known | p),
            np.array_equal(layout.arrays(found)["z"], wanted(name, arrays)))


@unit
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("changes", "threads", "share"), [
    ({"part": "ddr3-1600-module"}, 20, 10),
    *(pytest.param(*case, marks=thorough) for case in (
        ({}, 60, 30), ({"cores": 4}, 53, 14), ({"channels": 1, "part": "ddr3-1600-module"}, 40, 20),
        ({"l2_size": 192, "l2_ways": 1}, 90, 45), ({"policy": "write-through"}, 20, 20)))])
def test_a_kernel_is_numpys_within_its_bound(name, changes, threads, share):
    """From any time before a refresh on."""
    p = SMALL | changes
    for before in (20, part_named(p["part"]).nREFI - 150):
        cycles, allowed, right = ran(p, name, threads, share, before=before)
        assert right
        assert cycles <= allowed


@thorough
@unit
@pytest.mark.parametrize("seed", range(12))
def test_no_drawn_run_exceeds_its_bound(seed):
    rng = np.random.default_rng(seed)
    changes, threads, share = drawn_processor(rng, (4, 8, 16))
    part = pick(rng, "ddr3-1600-module", "ddr4-3200aa-x8")
    before = int(rng.integers(20, part_named(part).nREFI + 300))
    cycles, allowed, right = ran(SMALL | changes | {"part": part}, pick(rng, *KERNELS), threads,
                                 share, before=before)
    assert right
    assert cycles <= allowed


@unit
def test_what_is_forgotten_shows(monkeypatch):
    """A line that costs nothing, and no refresh: the run takes longer than that."""
    def nothing(part, *, line, refreshes=True):
        return dataclasses.replace(channel_times(part, line=line, refreshes=False), read=0,
                                   longest=0)
    monkeypatch.setattr(golden, "channel_times", nothing)
    monkeypatch.setattr(golden, "refreshes_in", lambda *known, **more: 0)
    near = part_named(SMALL["part"]).nREFI - 150
    cycles, allowed, _ = ran(SMALL, "vector_add", 20, 10, before=near)
    assert cycles > allowed


@unit
def test_an_endless_run_is_an_error():
    with pytest.raises(RuntimeError, match=r"^threads were still under way after 20 cycles$"):
        ran(SMALL, "shifted", 1, 1, limit=20)


@unit
@pytest.mark.parametrize(("bad", "message"), [
    ({"line": 2}, "line length must be a power of two of at least 4, not 2"),
    ({"part": "ddr9"}, r"part must be one of ddr4-3200aa-x16, .*'ddr9'"),
    ({"cores": 0}, "core count must be at least 1, not 0")])
def test_refuses(bad, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        DramProcessor(**SMALL | bad)


@pytest.mark.cosim
@thorough
def test_the_testbench_finds_a_done_that_is_too_soon(tmp_path):
    """Before the DRAMs have all words."""
    made = edited("cyclebound.hdl.dataflow.dram_processor",
                  ("& Cat(channel.idle for channel in self.channels).all()", ""))
    block = dataclasses.replace(catalogue.load().find(BLOCK), component=made.DramProcessor,
                                bounds=())
    outcome = simulate(block, Job(BLOCK, "tiny", "kernels", 1, str(tmp_path), wall_limit=1200))
    assert not outcome.passed
