"""Which tests wait for their turn because of what they cost."""

import re
from pathlib import Path

import pytest

from kit import costs

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]


def test_what_is_listed_exists():
    for test in costs.read(costs.TABLE):
        path, *_, name = re.split("::", test.partition("[")[0])
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text()), test
        assert not re.search(r"\[(/|.*-/)\w+/", test), f"{test} is called after a machine's path"


def test_a_table_keeps_what_is_dear_and_was_not_measured_now(tmp_path):
    table = tmp_path / "costs.csv"
    costs.write(table, {"a": 1.1, "b": 0.5, "c": 9.0}, {"b": 3.0, "d": 4.0})
    assert costs.read(table) == {"a": 1.1, "c": 9.0, "d": 4.0}


def test_another_file_is_refused(tmp_path):
    (tmp_path / "costs.csv").write_text("seconds\n3\n")
    with pytest.raises(ValueError, match="the first line must be test,cpu_seconds"):
        costs.read(tmp_path / "costs.csv")


@pytest.fixture
def session(pytester, monkeypatch):
    """A session with a table that has ``test_long`` and ``test_kept``."""
    table = pytester.path / "costs.csv"
    costs.write(table, {"test_it.py::test_long": 5.0, "test_it.py::test_kept": 6.0}, {})
    monkeypatch.setattr(costs, "TABLE", table)
    monkeypatch.setattr(costs, "DEAR", 0.05)
    pytester.makeini("[pytest]\nmarkers =\n  thorough\n  each_commit\n")
    pytester.makepyfile(test_it="""
        import time, pytest

        def burn():
            began = time.process_time()
            while time.process_time() - began < 0.1:
                pass

        def test_long(): pass
        @pytest.mark.each_commit
        def test_kept(): pass
        def test_new(): burn()
        def test_short(): pass
    """)
    return pytester


def test_the_dear_are_thorough_unless_they_are_for_each_commit(session):
    assert session.inline_run("-p", "kit.costs", "-m", "thorough").countoutcomes() == [1, 0, 0]
    assert session.inline_run("-p", "kit.costs", "-m", "not thorough").countoutcomes() == [3, 0, 0]


def test_those_that_wait_and_take_less(session):
    for below, outcomes in (("10", [1, 0, 0]), ("5", [0, 0, 0])):
        assert session.inline_run("-p", "kit.costs", "--below", below).countoutcomes() == outcomes


def test_what_tests_cost_is_measured(session):
    session.inline_run("-p", "kit.costs", "--costs", "costs.csv")
    assert set(costs.read(costs.TABLE)) == {"test_it.py::test_new"}
