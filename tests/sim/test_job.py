"""A job: what a failed test said, in a line, and what an earlier run of it left."""

import contextlib
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.dram.refresh_timer import RefreshTimer
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import leave_unused
from cyclebound.sim.describe.block import Testbench
from cyclebound.sim.run import job
from cyclebound.sim.run.job import Job, job_environment, outcome_of, reason_of, simulate

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("probed", "why"), [
    (lambda top: top, ""), (lambda top: RoundRobinArbiter(count=3), "count 3, not 4"),
    (lambda top: RefreshTimer(interval=4), "a RefreshTimer, not a RoundRobinArbiter")])
def test_only_the_block_itself_is_probed(probed, why):
    """Else what other hardware takes would count for the block's bounds."""
    block = catalogue.load().find("noc.arbiter")
    bench = Testbench("around", "m", top=block.component, probed=probed)
    block = dataclasses.replace(block, testbenches=(bench,))
    with pytest.raises(UserError, match=rf"other hardware than the block's: {why}$") if why else \
            contextlib.nullcontext():
        leave_unused(job.design(block, Job("noc.arbiter", "four", "around", 1, ""))[1])


@pytest.mark.parametrize(("said", "line"), [
    ("", "failed"),
    ("out: cycle 3: done is 0, expected 1", "out: cycle 3: done is 0, expected 1"),
    ("Traceback ...\n  File ...\nKeyError: 'x'", "KeyError: 'x'"),
    ("lane 3: (1, 0)\nassert (1, 0) == (1, 1)\n  At index 1 diff", "lane 3: (1, 0)"),
    ("assert 3 == 4\n +  where 3 = f()", "assert 3 == 4"),
])
def test_reason_of_a_failure(said, line):
    assert reason_of(said) == line


def test_what_an_earlier_run_left_is_not_taken_for_this_ones(monkeypatch, tmp_path):
    def design(*_):
        raise UserError("no further")

    monkeypatch.setattr(job, "design", design)
    left = [tmp_path / name for name in ("observed-0.json", "stages.json")]
    for file in left:
        file.write_text("[]")
    with pytest.raises(UserError, match="no further"):
        simulate(catalogue.load().find("noc.end_to_end"),
                 Job("noc.end_to_end", "paper", "cycle", 1, str(tmp_path)))
    assert not any(file.exists() for file in left)


def outcome_told(tmp_path, *, compared=5, test="", cases="<testcase name='t'/>", raised="",
                 began=(), again=None, counted=9, keep_log=False, **asked):
    """The outcome of a simulator that ran a test ``t``, which compared so many cycles."""
    printed = [{"what": "move", "places": [{}], "names": [], "ticks": False, "in_turn": False,
                "classed": False}]
    (tmp_path / "job.json").write_text(json.dumps({"printed": printed, "compares": True, **asked}))
    if not keep_log:
        (tmp_path / "log.txt").write_text("")
    (tmp_path / "probes.txt").write_text("".join(
        f"@probe 0 0 {n} {first}\n@probe. 0 0 {n} {first} {first} 1\n"
        for n, first in enumerate(began)) + f"@probe= 0 0 9 {len(began)} {len(began)}\n")
    (tmp_path / "cocotb.xml").write_text(f"<s>{cases}</s>")
    (tmp_path / "observed-t.json").write_text(json.dumps({
        "test": "t", "start": 0, "end": 9, "shift": 0, "resets": [], "said": [], "counted": counted,
        "raised": raised, "again": again, "compared": compared, "bits": 8 * compared, "cycles": 9}))
    return outcome_of(Job("noc.arbiter", "four", "cycle", 1, str(tmp_path), test=test), tmp_path, 0)


_NOTHING = ("0 comparisons: nothing that the hardware shows or leaves was compared with a model "
            "(Bench.check, Bench.compare)")


@pytest.mark.parametrize(("observes", "compared", "began", "reason"), [
    (True, 5, (), "0 requests observed"), (True, 0, (), "0 requests observed"),
    (True, 5, (1,), ""), (True, 0, (1,), _NOTHING),
    (False, 5, (), ""), (False, 0, (), _NOTHING), (False, 0, (1,), _NOTHING)])
def test_a_run_that_saw_nothing_has_failed(tmp_path, observes, compared, began, reason):
    """Every testbench has to have compared something, whatever it measures."""
    found = outcome_told(tmp_path, observes=observes, compared=compared, began=began)
    assert (found.passed, found.reason) == (not reason, reason)
    assert (found.compared, found.bits) == (compared, 8 * compared)


def test_what_a_command_compares_itself_needs_no_comparison(tmp_path):
    assert outcome_told(tmp_path, observes=False, compares=False, compared=0).passed


def test_a_single_test_may_only_compare(tmp_path):
    """As of a deadlock, in which no request ends."""
    for compared, reason in ((5, ""), (0, _NOTHING)):
        found = outcome_told(tmp_path, observes=True, compared=compared, test="t")
        assert (found.passed, found.reason) == (not reason, reason)
    assert outcome_told(tmp_path, observes=True, compared=0, test="t", began=(1,)).passed


@pytest.mark.parametrize(("values", "layer"), [
    ({"raised": "Mismatch"}, "comparison"), ({"raised": "AssertionError"}, "testbench"),
    ({"compared": 0}, "testbench"), ({}, ""),
    ({"cases": "<testcase name='t'><failure message='t still ran after 9 cycles'/></testcase>",
      "raised": "a limit"}, "hang")], ids=str)
def test_which_layer_of_checks_noticed(tmp_path, values, layer):
    found = outcome_told(tmp_path, observes=False, **values)
    assert (found.layer, found.passed) == (layer, not layer)


def test_an_assertion_is_a_layer_of_its_own(tmp_path):
    (tmp_path / "log.txt").write_text(
        "it was done[60000] %Error: x.v:3: Assertion failed in top.c\n")
    found = outcome_told(tmp_path, observes=False, raised="Mismatch", keep_log=True)
    assert found.layer == "assertion"


@pytest.mark.parametrize(("only", "test", "reason"), [
    ([], "", ""), (["t"], "", ""), (["t", "u"], "t", ""),
    (["t", "u"], "", "the testbench has no test called u")])
def test_all_tests_that_a_testbench_names_have_to_run(tmp_path, only, test, reason):
    found = outcome_told(tmp_path, observes=False, test=test,
                         tests={"only": only, "without": []})
    assert (found.passed, found.reason) == (not reason, reason)


_SKIPPED = "<testcase name='u'><skipped message='Test was skipped'/></testcase>"


@pytest.mark.parametrize(("cases", "only", "passed", "reason"), [
    ("<testcase name='t'/>" + _SKIPPED, [], True, "skipped: u"),
    ("<testcase name='t'/>" + _SKIPPED, ["t", "u"], False,
     "tests that have to run were skipped: u"),
    (_SKIPPED, [], False, "no test ran; skipped: u"),
    ("", [], False, "the simulator ended with status 0 and reported no test; see .*")],
    ids=["one", "named", "all", "none"])
def test_tests_that_were_skipped_have_not_passed(tmp_path, cases, only, passed, reason):
    found = outcome_told(tmp_path, observes=False, cases=cases,
                         tests={"only": only, "without": []})
    assert found.passed == passed
    assert re.fullmatch(reason, found.reason)
    assert "u" not in dict(found.tests)


@pytest.mark.parametrize(("began", "again", "reason"), [
    ((1,), None, ""), ((1, 6), 4, ""), ((1,), 4, "nothing measured after the last reset: t")])
def test_nothing_measured_after_a_reset_is_said(tmp_path, began, again, reason):
    found = outcome_told(tmp_path, observes=True, began=began, again=again)
    assert (found.passed, found.reason) == (True, reason)
    assert not outcome_told(tmp_path, observes=False, began=began, again=again).reason


def test_a_failure_that_cocotb_was_told_to_expect_is_one(tmp_path):
    found = outcome_told(tmp_path, observes=False, raised="AssertionError")
    assert (found.passed, found.tests) == (False, [("t", False)])
    assert found.reason == "t: ended by AssertionError, which it takes for a pass"


def test_no_variable_of_the_users_leaves_out_tests(tmp_path, monkeypatch):
    for name in ("COCOTB_TEST_FILTER", "COCOTB_TESTCASE"):
        monkeypatch.setenv(name, "one")
    one = Job("noc.arbiter", "four", "cycle", 1, str(tmp_path))
    environment = job_environment(one, tmp_path, "some.module")
    assert not {"COCOTB_TEST_FILTER", "COCOTB_TESTCASE"} & {*environment}


def test_what_assertions_compared_is_said_without_pytest_s_plugins(tmp_path):
    """cocotb has pytest rewrite assertions, and so read the project's own options."""
    one = Job("noc.arbiter", "four", "cycle", 1, str(tmp_path))
    script = """
import sys
from cocotb.regression import RegressionManager
RegressionManager.setup_pytest_assertion_rewriting()
print(sorted({"amaranth", "hypothesis", "xdist"} & {*sys.modules}))
"""
    found = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent,
                           env=job_environment(one, tmp_path, "some.module"),
                           capture_output=True, text=True, check=False)
    assert found.stdout == "[]\n", found.stderr


@pytest.mark.parametrize(("test", "tests", "runs"), [
    ("", None, ["quick", "slow", "slower"]),
    ("", {"only": ["slow"], "without": []}, ["slow"]),
    ("", {"only": ["quick", "slow"], "without": []}, ["quick", "slow"]),
    ("", {"only": [], "without": ["slow"]}, ["quick", "slower"]),
    ("slower", {"only": ["slow", "slower"], "without": []}, ["slower"])])
def test_tests_that_cocotb_runs(tmp_path, test, tests, runs):
    one = Job("noc.arbiter", "four", "cycle", 1, str(tmp_path), test=test)
    environment = job_environment(one, tmp_path, "some.module", tests)
    pattern = environment.get("COCOTB_TEST_FILTER", "")
    assert [name for name in ("quick", "slow", "slower")
            if re.search(pattern, f"some.module.{name}")] == runs


def test_tests_that_another_testbench_names_are_left_to_it():
    block = catalogue.load().find("dataflow.float_fma")
    cycle, million = (block.testbench(name) for name in ("cycle", "million"))
    assert block.left_out(cycle) == million.tests == ("a_million_hard_numbers",)
    assert block.left_out(million) == ()
