"""Where the processor seconds of a level go: what belongs to which step."""

import types

import pytest

from cyclebound.tools.maintenance import level_costs
from cyclebound.tools.maintenance.level_costs import STEPS, Clock, main, stepped, tables

pytestmark = pytest.mark.unit


@pytest.fixture
def spend(monkeypatch):
    """``spend(seconds)`` of processor time."""
    used = [100.0]
    monkeypatch.setattr(level_costs, "_used", lambda: used[0])
    return lambda seconds: used.__setitem__(0, used[0] + seconds)


def test_what_passes_is_the_innermost_step_s(spend):
    clock = Clock()
    spend(1)
    with clock.step("outer"):
        spend(2)
        with clock.step("inner"):
            spend(4)
        spend(8)
    spend(16)
    assert clock.taken() == {"all else": 17, "outer": 10, "inner": 4}
    spend(32)
    assert clock.taken() == {"all else": 32}


def test_functions_tell_the_clock_and_are_themselves_again(spend, monkeypatch):
    def build(seconds):
        spend(seconds)
        if seconds > 9:
            raise RuntimeError("a tool failed")
        return -seconds

    place = types.SimpleNamespace(build=build)
    monkeypatch.setattr(level_costs, "STEPS", {"C++ compiler": [(place, "build")]})
    clock = Clock()
    with stepped(clock):
        assert place.build(seconds=3) == -3
        with pytest.raises(RuntimeError, match="a tool failed"):
            place.build(10)
    assert place.build is build
    place.build(5)
    assert clock.taken() == {"C++ compiler": 13, "all else": 5}


def test_each_step_is_a_function_that_there_is():
    assert all(callable(getattr(owner, name)) for step in STEPS.values() for owner, name in step)


def test_the_tables_have_all_and_the_dearest_first():
    rows = [("a/b/c/1", {"simulation": 3.0, "all else": 0.04}), ("proof", {"induction": 20.5}),
            ("d/e/f/1", {"simulation": 4.25})]
    lines = tables(rows, 2).splitlines()
    assert lines[2:5] == ["| induction | 20 | 1 |", "| simulation | 7 | 2 |",
                          "| all else | 0 | 0 |"]
    assert "| together | 28 | 3 |" in lines
    assert [line.split(" | ")[:2] for line in lines[-2:]] == [["| proof", "20.5"],
                                                              ["| d/e/f/1", "4.2"]]


def test_a_wrong_block_is_named(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--block", "noc.none"])
    assert "no block 'noc.none'; there are dataflow.token_buffer" in capsys.readouterr().err
