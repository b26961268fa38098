import os
import random
import signal
import sqlite3
import time
import xml.etree.ElementTree as ElementTree
from contextlib import closing

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.results import FILE, Results
from cyclebound.sim.regression.table import read, write_junit
from cyclebound.sim.run.job import Group, Job, Outcome, run_job

unit = pytest.mark.unit


def job(number=1, configuration="c"):
    return Job("a.b", configuration, "cycle", number, f"/folder/{number}")


def outcome(number=1, groups=3, **values):
    return Outcome(job(number).name, True, groups=[
        Group("move", {"size": n, "lanes": 2}, n + 1, 10 * n, n, 2 * n, "t")
        for n in range(groups)], **values)


@pytest.fixture
def results(tmp_path):
    found = Results(tmp_path / "run", create=True)
    yield found
    found.close()


@unit
def test_a_job_is_done_when_it_is_known_what_ran(results):
    jobs = [(job(number), outcome(number, compared=7)) for number in (1, 2)]
    for one, its in jobs:
        results.finished(one, its, "")
    assert results.done() == {}
    results.identified((one, its, f"content{one.seed}") for one, its in jobs)
    assert results.done() == {"a.b/c/cycle/1": "content1", "a.b/c/cycle/2": "content2"}
    results.identified([(job(1), outcome(1, compared=8), "content1")])  # it showed something else
    assert results.done() == {"a.b/c/cycle/2": "content2"}


@unit
def test_a_job_comes_back_as_it_went(results):
    results.finished(job(), outcome(compared=7, cycles=8, build_seconds=1.5, run_seconds=2.5,
                                    cached=True, waveform="w.vcd", tests=[("t", True)]), "content")
    with closing(Results(results.folder)) as again:
        row, = again.jobs()
    assert (row.name, row.block, row.configuration, row.testbench, row.seed, row.content) == (
        "a.b/c/cycle/1", "a.b", "c", "cycle", 1, "content")
    assert (row.passed, row.reason, row.compared, row.cycles) == (True, "", 7, 8)
    assert (row.build_seconds, row.run_seconds, row.cached) == (1.5, 2.5, True)
    assert (row.folder, row.waveform, row.tests) == ("/folder/1", "w.vcd", [["t", True]])
    assert list(results.observations("a.b", "c")) == [
        ("a.b/c/cycle/1", group) for group in outcome().groups]
    assert not list(results.observations("a.b", "d"))


@unit
def test_a_job_that_runs_again_replaces_itself(results):
    results.finished(job(1), outcome(1, 5), "old")
    results.finished(job(2), outcome(2, 4), "two")
    results.finished(job(1), Outcome(job(1).name, False, "it broke"), "new")
    assert [(row.name, row.passed, row.reason) for row in results.jobs()] == [
        ("a.b/c/cycle/1", False, "it broke"), ("a.b/c/cycle/2", True, "")]
    assert results.done() == {"a.b/c/cycle/2": "two"}  # what failed is not done
    assert {name for name, _ in results.observations("a.b", "c")} == {"a.b/c/cycle/2"}


@unit
def test_verdicts_of_one_bound_for_several_things(results):
    rows = [Verdict("a.b", "c", "-", what, "-", "-", "not covered") for what in ("x", "y")]
    results.judged("a.b", "c", rows)
    results.judged("a.b", "d", rows[:1])
    assert [row["what"] for row in results.rows("verdict")] == ["x", "y", "x"]
    results.judged("a.b", "c", rows[1:])  # in place of the two
    assert [row["what"] for row in results.rows("verdict")] == ["x", "y"]
    results.forget()
    assert results.rows("verdict") == []


@unit
def test_a_transaction_that_fails_changes_nothing(results):
    results.finished(job(), outcome(), "content")
    bad = outcome()
    bad.groups.append(Group("move", {}, object(), 1, 0, 0, "t"))
    with pytest.raises(UserError, match=r"^cannot write \S+: .*; what had finished before is "
                                        r"kept$"):
        results.finished(job(), bad, "other")
    assert [row.content for row in results.jobs()] == ["content"]
    assert len(list(results.observations("a.b", "c"))) == 3


@unit
def test_facts_about_the_run(results):
    results.note(seed=3, versions={"python": "3"}, odd="ö'\"")
    results.note(seed=4)
    assert results.meta == {"seed": 4, "versions": {"python": "3"}, "odd": "ö'\""}


def _write_for_ever(folder, acknowledge, chance):
    """In a child: one job after the other, each acknowledged when it is kept."""
    results = Results(folder, create=True)
    for number in range(1_000_000):
        results.finished(job(number), outcome(number, chance.choice((1, 50, 4_000))), "content")
        os.write(acknowledge, b"%d\n" % number)


@pytest.mark.thorough
@unit
def test_killed_at_any_moment_nothing_that_finished_is_lost(tmp_path):
    chance = random.Random("kill")
    halfway = 0
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                _write_for_ever(folder, write, random.Random(attempt))
            finally:
                os._exit(1)
        os.close(write)
        said = os.read(read, 10)  # it is under way
        time.sleep(chance.random() * 0.15)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        while more := os.read(read, 1 << 16):
            said += more
        os.close(read)
        acknowledged = len(said.split(b"\n")) - 1
        halfway += (folder / f"{FILE}-journal").exists()
        results = Results(folder)
        kept = {row.name for row in results.jobs()}
        assert acknowledged <= len(kept) <= acknowledged + 1
        assert kept == {job(number).name for number in range(len(kept))}
        sizes = random.Random(attempt)
        expected = sum(sizes.choice((1, 50, 4_000)) for _ in kept)
        assert len(list(results.observations("a.b", "c"))) == expected  # whole jobs, no half ones
        results.close()
    assert halfway > 0  # some were killed in the middle of a transaction


@unit
def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"^cannot use \S+file/run/results\.sqlite: .*Not a dir"):
        Results(tmp_path / "file" / "run", create=True)


@unit
def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(UserError, match=r"^\S+ holds no run: there is no results\.sqlite in it$"):
        Results(tmp_path)


@unit
@pytest.mark.parametrize("create", [False, True])
def test_a_file_that_is_no_database(tmp_path, create):
    (tmp_path / FILE).write_text("this is not a database, " * 100)
    with pytest.raises(UserError, match=r"^cannot use \S+: file is not a database$"):
        Results(tmp_path, create=create)


@unit
def test_another_database(tmp_path):
    base = sqlite3.connect(tmp_path / FILE)
    base.execute("CREATE TABLE notes (text)")
    base.close()
    with pytest.raises(UserError, match=r"^\S+ has other tables than a run: 'cross_check, fpga,"):
        Results(tmp_path)


@unit
def test_a_damaged_database(tmp_path, results):
    for number in range(30):
        results.finished(job(number), outcome(number, 200), "content")
    results.close()
    path = results.folder / FILE
    data = bytearray(path.read_bytes())
    data[len(data) // 2:] = b"\x55" * (len(data) - len(data) // 2)
    path.write_bytes(data)

    def read_all():
        with closing(Results(results.folder)) as found:
            found.jobs()
            list(found.observations("a.b", "c"))

    with pytest.raises(UserError, match=r"^cannot (read|use) \S+: database disk image is malf"):
        read_all()


@unit
def test_a_folder_with_an_odd_name(tmp_path):
    folder = tmp_path / "100% a?b#c"
    results = Results(folder, create=True)
    results.finished(job(), outcome(), "content")
    results.close()
    with closing(Results(folder)) as again:
        assert len(again.jobs()) == 1


@pytest.mark.cosim
def test_very_many_observations(pages, tmp_path):
    """From the probe through numpy into groups, and into the results."""
    wanted = Job("test.many", "d3", "cycle", 1, str(tmp_path / "job"), pages=pages)
    found = run_job(wanted)
    assert (found.passed, found.reason) == (True, "")
    assert sum(group.count for group in found.groups) == 100_005
    assert sum(group.count for group in found.groups if "number" not in group.parameters) == 10**5
    assert len(found.groups) == 5 + 1
    results = Results(tmp_path / "run", create=True)
    results.finished(wanted, found, "content")
    assert [group for _, group in results.observations("test.many", "d3")] == found.groups
    results.close()


@unit
def test_a_proof_that_did_not_close_is_a_problem(results):
    """Unless induction was not asked for."""
    for name, status, asked, detail in (
            ("proved", "proved", True, ""),
            ("short", "bounded", False, "induction was not asked for"),
            ("open", "bounded", True, "induction does not close at depth 4: nine"),
            ("wrong", "failed", True, "")):
        results.proof(Proof("a.b", name, "so", {"n": 2}, status=status, asked=asked,
                            detail=detail))
    results.note(jobs=0)
    run = read(results.folder)
    assert run.problems == [
        "a.b: property open (n=2): induction does not close at depth 4: nine",
        "a.b: property wrong (n=2): counterexample"]
    write_junit(run, results.folder / "junit.xml")
    suite = ElementTree.parse(results.folder / "junit.xml").getroot()
    assert [case.get("name") for case in suite if case.find("failure") is not None] == [
        "open (n=2)", "wrong (n=2)"]


# -- whose results they are ------------------------------------------------------------------------


@unit
@pytest.mark.parametrize("statement", [
    "UPDATE observation SET latency = 1", "UPDATE observation SET count = count + 1",
    "DELETE FROM observation", "UPDATE job SET content = 'other'", "UPDATE job SET cycles = 1",
    "UPDATE job SET content = 'content.' || hex(randomblob(32))",
    "INSERT INTO observation SELECT * FROM observation",
    """UPDATE job SET tests = '[["t", true], ["u", true]]'"""])
def test_a_job_that_was_edited_is_not_done(results, statement):
    results.finished(job(), outcome(), "content")
    assert results.done() == {job().name: "content"}
    with results._base as base:
        base.execute(statement)
    assert results.done() == {}


@unit
def test_jobs_and_proofs_of_another_user_are_not_done(results, tmp_path, monkeypatch):
    results.finished(job(), outcome(), "content")
    for name in ("p", "q"):
        results.proof(Proof("a.b", name, "it holds", status="proved"))
    results.distrust()
    assert len([*results.rows("proof")]) == 2
    monkeypatch.setenv("CYCLEBOUND_CONFIG", str(tmp_path / "config"))
    assert results.done() == {}
    results.proof(Proof("a.b", "r", "it holds", status="proved"))  # does not make the others ours
    results.distrust()
    assert [*results.rows("proof")] == []


@unit
def test_a_proof_that_was_edited_is_dropped(results):
    results.proof(Proof("a.b", "p", "it holds", status="bounded"))
    with results._base as base:
        base.execute("""UPDATE proof SET row = replace(row, '"bounded"', '"proved"')""")
    results.distrust()
    assert [*results.rows("proof")] == []
