"""The measurements behind docs/performance.md: what they compare, and how they print it."""

import argparse
import json

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import leave_unused
from cyclebound.tools.maintenance import performance
from cyclebound.tools.maintenance.performance import main, markdown

pytestmark = pytest.mark.system
BLOCKS = {block.name: block for block in catalogue.load()}


def test_blocks_with_both_testbenches_are_compared():
    """The two largest configurations of each, the DRAM controller among them."""
    found = [(block.name, configuration) for block, configuration in performance._pairs([])]
    assert {("dram.controller", "2bg"), ("dram.controller", "4bg"),
            ("systolic.output_stationary", "16x16")} <= set(found)
    for name, _ in found:
        assert {"cycle", "harness"} <= {bench.name for bench in BLOCKS[name].testbenches}
    only = list(performance._pairs(["sram.banked_memory"]))
    assert [configuration for _, configuration in only] == ["quad", "paper"]


@pytest.fixture
def runs(monkeypatch):
    """Runs of given cost instead of simulations: in turns, what they take goes down."""
    seen = []

    def run(block, configuration, testbench, folder):
        seen.append((block.name, configuration, testbench))
        cycles, seconds = {"cycle": (1_000, 0.1), "harness": (90_000, 0.3)}[testbench]
        seconds *= 4 - seen.count(seen[-1])
        return {"cycles": cycles, "cpu": 2 * seconds, "seconds": seconds}

    def prepare(block, configuration, testbench):
        seen.append((block.name, configuration, testbench, "built"))

    monkeypatch.setattr(performance, "_run", run)
    monkeypatch.setattr(performance, "_prepare", prepare)
    return seen


def test_rates_are_those_of_the_best_run(runs):
    """Everything is built before anything runs."""
    options = argparse.Namespace(block=["sram.banked_memory"], repeat=3)
    rows = performance.blocks(options)
    assert [row["configuration"] for row in rows] == ["quad", "paper"]
    both = ("cycle", "harness")
    assert runs == [("sram.banked_memory", configuration, *variant)
                    for configuration in ("quad", "paper")
                    for variant in [*((name, "built") for name in both),
                                 *((name,) for _ in range(3) for name in both)]]
    for row in rows:
        # the third run takes once, the second twice what `run` says
        assert row["runs"] == 3
        assert row["cycle: cycles/s"] == pytest.approx(10_000)
        assert row["harness: cycles/s"] == pytest.approx(300_000)
        assert row["ratio"] == pytest.approx(30)
        assert row["cycle: whole job, cycles/CPU-s"] == pytest.approx(5_000)
        assert row["at least 10x"]


def test_long_runs_are_not_repeated_for_ever(runs, monkeypatch):
    """The first two runs of both take 3 and 2 times 0.4 s, together 2 s."""
    monkeypatch.setattr(performance, "_ENOUGH", 1.9)
    rows = performance.blocks(argparse.Namespace(block=["sram.banked_memory"], repeat=9))
    assert [row["runs"] for row in rows] == [2, 2]
    assert rows[0]["harness: cycles/s"] == pytest.approx(150_000)


def test_a_harness_that_is_hardly_faster_misses_the_bar(monkeypatch):
    monkeypatch.setattr(performance, "_run", lambda *_: {"cycles": 1, "cpu": 1.0, "seconds": 1.0})
    monkeypatch.setattr(performance, "_prepare", lambda *_: None)
    rows = performance.blocks(argparse.Namespace(block=["sram.banked_memory"], repeat=1))
    assert [row["at least 10x"] for row in rows] == [False, False]
    assert "| NO |" in markdown(rows)


def test_a_run_is_measured(tmp_path, monkeypatch):
    block = BLOCKS["noc.arbiter"]
    configuration = next(iter(block.configurations))
    performance._prepare(block, configuration, "cycle")
    monkeypatch.setattr("cyclebound.sim.build.elaborate.FlatTop.elaborate", None)  # built once
    row = performance._run(block, configuration, "cycle", tmp_path)
    assert row["cycles"] > 100
    assert row["seconds"] > 0
    assert row["cpu"] > 0


def test_a_failed_run_is_no_measurement(monkeypatch, tmp_path):
    outcome = argparse.Namespace(passed=False, reason="a mismatch")
    monkeypatch.setattr(performance, "simulate", lambda block, job, identity: outcome)
    with pytest.raises(SystemExit, match=r"^performance: noc\.arbiter.* failed: a mismatch$"):
        performance._run(BLOCKS["noc.arbiter"], "paper", "cycle", tmp_path)


def test_command_prints_what_it_measured(runs, capsys):
    main(["blocks", "--block", "dram.controller", "--repeat", "1"])
    out = capsys.readouterr().out
    first, _, title, _, *table = out.splitlines()
    assert first == performance.machine()
    assert title == "Cycles per second of the per-cycle testbench and of the harness."
    assert len(table) == 4
    assert table[2].startswith(
        "| dram.controller | 2bg | 1 | 1,000 | 3,333 | 90,000 | 100,000 | 30 |")
    runs.clear()
    main(["blocks", "--block", "dram.controller", "--repeat", "1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"machine", "blocks"}
    assert [row["configuration"] for row in found["blocks"]] == ["2bg", "4bg"]


def test_fabrics_are_built_and_run(monkeypatch):
    """Of given cost: cycles for each second of the best run, nanoseconds for each of the units."""
    costs = iter((5.0, 5.0, 2.0, 1.0, 9.0, 9.0, 9.0, 9.0))

    def built(top, *, ports, stages):
        leave_unused(top)
        stages["compiler"] = 3.5
        return argparse.Namespace(cached=False)

    monkeypatch.setattr(performance, "build_verilator", built)
    monkeypatch.setattr(performance, "_run", lambda *_: {"cycles": 1_000, "cpu": next(costs)})
    (row,) = performance.fabrics(argparse.Namespace(repeat=2, fabric=["divides"]))
    assert row["fabric"] == "divides"
    rows = performance.fabrics(argparse.Namespace(repeat=2, fabric=[]))
    assert [(row["fabric"], row["units"]) for row in rows] == [
        ("small", 12), ("five_by_five", 25), ("paper", 108)]
    assert rows[0]["cycles/CPU-s"] == pytest.approx(1_000)
    assert rows[0]["ns for each unit"] == pytest.approx(1e6 / 12)
    assert rows[0]["compiler, s"] == pytest.approx(3.5)


def test_table_has_a_column_for_each_name():
    rows = [{"design": "a", "seconds": 0.123456, "count": 12345}, {"design": "b", "met": True},
            {"design": "c", "seconds": 1234.5, "met": False}]
    assert markdown(rows).splitlines() == [
        "| design | seconds | count | met |", "| --- | --- | --- | --- |",
        "| a | 0.123 | 12,345 |  |", "| b |  |  | yes |", "| c | 1,234 |  | NO |"]


@pytest.mark.parametrize(("arguments", "message"), [
    (["speed"],
     "no section 'speed'; there are build, signals, blocks, meshes, fabrics, simd, regress"),
    (["blocks", "--repeat", "0"], "--repeat must be at least 1, not 0"),
    (["blocks", "--block", "dram"], "no block 'dram'; there are "),
])
def test_refuses_what_it_cannot_measure(arguments, message, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments)
    assert f"error: {message}" in capsys.readouterr().err


@pytest.fixture
def release(monkeypatch, tmp_path):
    """A benchmark of a release, and a section that measures a ratio of 10 and one of 3."""
    file = tmp_path / "benchmark.json"
    monkeypatch.setattr(performance, "BENCHMARK", file)
    monkeypatch.setitem(performance.SECTIONS, "blocks", lambda options: [
        {"block": "noc.a", "configuration": "c", "ratio": 10.0},
        {"block": "noc.b", "configuration": "c", "ratio": 3.0}])
    performance.SECTIONS["blocks"].__doc__ = "Ways."

    def write(**ratios):
        file.write_text(json.dumps({"machine": "", "ratios": ratios}))
        return file

    return write


A, B = (f"blocks: noc.{name} c: harness / cycle" for name in "ab")


def test_a_ratio_that_fell_is_named(release):
    release(**{A: 12.4, B: 3.8})
    with pytest.raises(SystemExit, match=rf"{B}: 3, 79% of the 3\.8 of the release"):
        main(["blocks", "--benchmark"])
    release(**{A: 12.4})
    with pytest.raises(SystemExit, match=f"{B}: 3, not in the benchmark"):
        main(["blocks", "--benchmark"])


def test_ratios_that_are_kept_pass_and_are_taken_over(release):
    file = release(**{A: 12.4, B: 3.7, "simd: x": 9})
    main(["blocks", "--benchmark", "--accept"])
    assert json.loads(file.read_text())["ratios"] == {A: 10, B: 3, "simd: x": 9}


def test_a_benchmark_of_nothing_is_an_error(monkeypatch):
    monkeypatch.setitem(performance.SECTIONS, "build", lambda options: [])
    with pytest.raises(SystemExit, match="none of these sections has a ratio"):
        main(["build", "--benchmark"])
