"""What a regression says about blocks that go wrong, and what it does again and what not."""

import dataclasses
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block
from cyclebound.sim.drawing.drawing import Drawing
from cyclebound.sim.fpga.placement import Figures
from cyclebound.sim.judge import kept
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.regression import regress
from cyclebound.sim.regression.plan import Plan, check, jobs_of
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import read, write_junit
from cyclebound.sim.run.job import Job, Outcome, run_job

system = pytest.mark.system
cosim = pytest.mark.cosim
unit = pytest.mark.unit

QUICK = ("--no-proofs", "--no-pictures")

# the job's reason, or the verdict's; both where both fail
REASONS = {
    "silent": [r"test\.silent/d3/cycle/1: 0 requests observed"],
    "violated": [r"test\.violated d3: violated: delay with number 0 took 4, bound 3"],
    "broken_bound": [(r"test\.broken_bound d3: not covered: broken does not cover number 0: "
                     r"ZeroDivisionError\(.*\)")],
    "unchecked": [(r"test\.unchecked/d3/cycle/1: 0 comparisons: nothing that the hardware shows or "
                   r"leaves was compared with a model \(Bench\.check, Bench\.compare\)")],
    "mismatch": [r"test\.mismatch/d3/cycle/1: requests: cycle 11: done is 0, expected 1"],
    # it was cut off before its probes could count their lines
    "endless": [(r"test\.endless/d3/cycle/1: observations were lost: no count of them at the end "
                r"of a test; then_the_fault: then_the_fault still ran after 300 "
                r"cycles, the limit of this testbench")],
    "asserting": [(r"test\.asserting/d3/cycle/1: requests: it was done \(asserted by top\.check "
                  r"at 60 ns\)")],
    "dying": [(r"test\.dying/d3/cycle/1: the simulator was ended by SIGSEGV and reported no test; "
              r"see \S+/log\.txt")],
    "expecting": [(r"test\.expecting/d3/cycle/1: wrong: ended by Mismatch, which it takes "
                   r"for a pass; raw: ended by ValueError, which it takes for a pass")],
    "wordless": [r"test\.wordless/d3/cycle/1: then_the_fault: failed"],
}


@pytest.fixture(scope="session")
def a_run(command, command_environment, once):
    """``a_run(name, *words)``: the folder of a regression, and what the command said."""

    def run(name, *words):
        def make(folder):
            said = subprocess.run([*command, "--catalogue", "faults", "regress", *words, "-o",
                                   "run"], cwd=folder, env=command_environment,
                                  capture_output=True, text=True)
            # on a slow machine there are lines of progress, one a minute
            wrong = re.sub(r"(?m)^\[ *\d+:\d\d\] .*\n", "", said.stderr)
            (folder / "said.json").write_text(json.dumps([said.returncode, said.stdout, wrong]))

        folder = once(name, make)
        return folder / "run", subprocess.CompletedProcess(
            words, *json.loads((folder / "said.json").read_text()))

    return run


@pytest.fixture(scope="session")
def faulty(a_run):
    """One run of all blocks that go wrong, and what the command said."""
    return a_run("faulty", *(f"test.{name}" for name in (*REASONS, "skipping")), *QUICK, "--json")


@pytest.mark.each_commit
@system
def test_a_regression_with_faults_has_status_1(faulty):
    _, said = faulty
    assert (said.returncode, said.stderr) == (1, "")
    problems = json.loads(said.stdout)["problems"]
    assert len(problems) == sum(map(len, REASONS.values()))


@system
@pytest.mark.parametrize("name", REASONS)
def test_fault_is_said(faulty, name):
    problems = json.loads(faulty[1].stdout)["problems"]
    mine = [line for line in problems if line.startswith(f"test.{name}")]
    assert len(mine) == len(REASONS[name])
    for line, expected in zip(sorted(mine), sorted(REASONS[name]), strict=True):
        assert re.fullmatch(expected, line)


@system
def test_what_was_skipped_is_said(faulty, call):
    """It is no fault, but the rest of the testbench shows less."""
    said = json.loads(faulty[1].stdout)
    assert said["skipped"] == ["test.skipping/d3/cycle/1: skipped: left_out"]
    job, = (job for job in said["jobs"] if job["block"] == "test.skipping")
    assert (job["passed"], job["tests"]) == (True, [["requests", True]])
    assert "test.skipping/d3/cycle/1: skipped: left_out" in call("compare", faulty[0]).stdout


@system
def test_faults_in_rows_and_junit(faulty):
    folder, said = faulty
    rows = {(row["block"], row["what"]): row for row in json.loads(said.stdout)["verdicts"]}
    row = rows["test.violated", "delay"]
    assert (row["verdict"], row["worst"], row["allowed"]) == ("violated", 4, 3)
    assert (row["last"] - row["first"], row["test"]) == (3, "requests")
    # what was observed in a simulation that failed shows nothing
    row = rows["test.mismatch", "delay"]
    assert (row["verdict"], row["evidence"]) == ("void", "none")
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    failures = [case.get("name") for case in suite if case.find("failure") is not None]
    assert len(failures) == int(suite.get("failures")) == len(json.loads(said.stdout)["problems"])
    assert len(suite) == int(suite.get("tests"))
    assert "d3: delay within too_low" in failures
    assert "test.mismatch/d3/cycle/1" in failures


@system
def test_faults_in_the_table(faulty, call):
    said = call("compare", faulty[0])
    assert (said.returncode, said.stderr) == (1, "")
    _, row = said.stdout.split("\ntest.violated\n")
    assert row.replace("\n ", "").startswith(
        "  configuration: d3; claim: bound too_low (delay); requests: 5; worst: 4; allowed: 3; "
        "tightness: ██████████ 1.33 verdict: violated; ")
    assert "test.mismatch/d3/cycle/1: requests: cycle 11: done is 0, expected 1" in said.stdout


@pytest.fixture(scope="session")
def good(a_run):
    """A run in which all is well."""
    return a_run("good", "test.good", "test.better", "--pictures")


def rows_of(folder):
    with closing(Results(folder)) as results:
        return results.jobs()


@system
def test_a_regression_without_faults_has_status_0(good):
    folder, said = good
    assert (said.returncode, said.stderr) == (0, "")
    assert "exact" in said.stdout
    run = read(folder)
    assert run.problems == []
    assert {(row.block, row.configuration, row.verdict) for row in run.verdicts} == {
        ("test.good", "d3", "exact"), ("test.good", "d5", "exact"),
        ("test.better", "d3", "exact")}
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("6", "0")


@system
def test_what_has_finished_is_not_run_again(good, cyclebound, tmp_path):
    """Not with the options that the run began with, which --resume remembers."""
    folder = shutil.copytree(good[0], tmp_path / "copy")
    before = rows_of(folder)
    written = {path: path.stat().st_mtime_ns for path in folder.glob("jobs/**/*")}
    said = cyclebound("--catalogue", "faults", "regress", "--resume", folder)
    assert (said.returncode, said.stderr) == (0, "")
    assert rows_of(folder) == before
    assert {path: path.stat().st_mtime_ns for path in folder.glob("jobs/**/*")} == written
    assert len(read(folder).jobs) == 3


@system
def test_a_part_of_a_run_can_be_resumed(good, cyclebound, tmp_path):
    folder = shutil.copytree(good[0], tmp_path / "copy")
    said = cyclebound("--catalogue", "faults", "regress", "test.good", "--resume", folder)
    assert (said.returncode, said.stderr) == (0, "")
    assert "did not finish" not in said.stdout
    with closing(Results(folder)) as results:
        results.note(planned=["x/y/z/1", *results.meta["planned"]], jobs=4)
    assert read(folder).problems == [
        f"1 jobs did not finish; continue with `cyclebound regress --resume {folder}`"]


@system
def test_what_other_code_had_shown_is_forgotten(good, cyclebound, tmp_path):
    folder = shutil.copytree(good[0], tmp_path / "copy")
    with closing(Results(folder)) as results:
        results.note(code="another")
        results.verdict(Verdict("test.gone", "d3", "delay", "delay", "", "", verdict="exact"))
    said = cyclebound("--catalogue", "faults", "regress", "test.good", "--resume", folder, *QUICK)
    assert (said.returncode, said.stderr) == (0, "")
    run = read(folder)
    assert {row.block for row in run.verdicts} == {"test.good"}
    assert {job.block for job in run.jobs} == {"test.good"}
    assert all(job.cached for job in run.jobs)  # its builds are still good


@pytest.mark.thorough
@system
def test_two_regressions_at_once(good, command, command_environment, tmp_path):
    """In folders of their own both succeed, and compile nothing that is compiled already."""
    both = [subprocess.Popen([*command, "regress", "test.good", *QUICK, "-o", f"run{number}"],
                             cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env={**command_environment,
                                             "CYCLEBOUND_CATALOGUE": "faults"})
            for number in (1, 2)]
    for number, process in enumerate(both, 1):
        said, _ = process.communicate()
        assert process.returncode == 0, said
        rows = rows_of(tmp_path / f"run{number}")
        assert [row.passed for row in rows] == [True, True]
        assert [row.cached for row in rows] == [True, True]


@system
def test_what_changed_between_two_runs(good, faulty, call, tmp_path):
    same = call("compare", good[0], good[0])
    assert (same.returncode, same.stdout, same.stderr) == (0, "nothing changed\n", "")
    later = shutil.copytree(good[0], tmp_path / "later")
    with closing(Results(later)) as results:
        row, = (Verdict(**row) for row in results.rows("verdict")
                if (row["block"], row["configuration"]) == ("test.good", "d3"))
        row.worst, row.verdict = 9, "violated"
        results.judged("test.good", "d3", [row])
        wanted = Job("test.good", "d5", "cycle", 1, "")
        results.finished(wanted, Outcome(wanted.name, False, "it broke"), "")
    said = call("compare", good[0], later, "--json")
    assert (said.returncode, said.stderr) == (1, "")
    verdict, unseen, job = json.loads(said.stdout)  # all of them weaker
    assert (unseen["configuration"], unseen["now"]["kinds"]) == ("d5", [])
    assert unseen["was"]["kinds"]  # its verdict is as it was, but no request is kept
    assert (verdict["configuration"], verdict["was"]["worst"], verdict["now"]["worst"]) == (
        "d3", 4, 9)
    assert (job["bound"], job["was"]["job"], job["now"]["job"]) == (
        "job cycle 1", "passed", "failed: it broke")
    said = call("compare", good[0], later).stdout
    assert "verdict exact, worst 4" in said
    assert "verdict violated, worst 9" in said
    assert "failed: it broke" in said
    said = call("compare", good[0], faulty[0]).stdout
    assert "absent" in said


@system
def test_tables_for_a_document(good, faulty, call, tmp_path):
    said = call("compare", good[0], "--markdown")
    assert (said.returncode, said.stderr) == (0, "")
    assert ("| block | configuration | request: formula | requests | worst | claimed | claim | "
            "verdict | evidence |") in said.stdout
    row = next(line for line in said.stdout.splitlines() if "| `test.good` | d3 |" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2].startswith("delay: `")
    assert cells[4:8] == ["4", "4", "bound", "exact"]
    assert "## FPGA" not in said.stdout  # the run has none
    later = shutil.copytree(good[0], tmp_path / "later")
    with closing(Results(later)) as results:
        results.fpga(Figures("test.good", "d3", "ecp5-85k", mhz=101.26, luts=1234))
    assert "| `test.good` | d3 | 101.3 MHz | 1,234 | 0 | 0 | 0 |" in call(
        "compare", later, "--markdown").stdout
    bad = call("compare", faulty[0], "--markdown")
    assert bad.returncode == 1
    assert "violated" in bad.stdout
    # what failed stands before the tables
    assert "- test.mismatch/d3/cycle/1: requests: cycle 11: done is 0, expected 1" in \
        bad.stdout.partition("## Verdicts")[0]
    assert "| void |" in next(line for line in bad.stdout.splitlines()
                              if "| `test.mismatch` | d3 |" in line)
    assert re.match(r"Run of \S+ \S+, commit \S+, level quick, 3 simulations, 0 proofs\.\n",
                    said.stdout)


@system
def test_a_worst_request_has_a_picture(good):
    with closing(Results(good[0])) as results:
        lanes, words, _ = results.waveforms()["test.good", "d5", "delay"]
    assert words == ("cyclebound run test.good --configuration d5 --testbench cycle --seed 1 "
                     "--test requests --waves")
    shown = json.loads(lanes)
    assert shown["title"] == "delay test.good"
    assert {name for name, *_ in shown["lanes"]} >= {"done", "go", "line[4:0]"}


@system
def test_blocks_have_pictures_of_their_own(good):
    with closing(Results(good[0])) as results:
        drawn = {(row["name"], row["configuration"]): Drawing(**row)
                 for row in results.rows("picture")}
    assert sorted(drawn) == [("bars", "d3"), ("bars", "d5"), ("nothing", "")]
    assert "<svg" in drawn["bars", "d5"].svg
    assert drawn["bars", "d3"].svg != drawn["bars", "d5"].svg
    assert drawn["bars", "d5"].command == (
        "cyclebound picture test.good bars --configuration d5 -o bars.svg")
    assert drawn["nothing", ""].svg == "No picture: ZeroDivisionError('nothing to draw')"


@system
def test_a_picture_of_a_run_by_hand(cyclebound, tmp_path):
    said = cyclebound("--catalogue", "faults", "picture", "test.good", "-c", "d5", "-o", "a.svg")
    assert (said.returncode, said.stdout, said.stderr) == (0, "a.svg\n", "")
    assert "<svg" in (tmp_path / "a.svg").read_text()


@unit
def test_pictures_of_several_blocks_have_names_of_their_own(call, monkeypatch):
    written = []
    monkeypatch.setattr("cyclebound.sim.drawing.drawing.figure_of", lambda *_: "a figure")
    monkeypatch.setattr("cyclebound.sim.drawing.drawing.write",
                        lambda figure, path: written.append(path))
    pictures = [(block.name, picture.name) for block in catalogue.load(())
                for picture in block.pictures if not picture.kept]
    assert len(pictures) > 1
    for block, name in pictures:
        assert call("picture", block, name).returncode == 0
    assert written == [Path(f"{block}-{name}.svg") for block, name in pictures]


# -- plans -----------------------------------------------------------------------------------------


def plan_of(*names, pages=(), **options):
    known = catalogue.load(pages)
    return Plan([known.find(name) for name in names], Path("run"), **options)


@unit
def test_jobs_of_a_plan(pages):
    jobs = jobs_of(plan_of("test.slow", "test.good", pages=pages, seed=4))
    assert [job.name for job in jobs] == [
        *(f"test.slow/d3/cycle/{seed}" for seed in range(4, 8)),
        "test.good/d3/cycle/4", "test.good/d5/cycle/4"]
    assert len({job.folder for job in jobs}) == len(jobs)


@unit
@pytest.mark.parametrize(("names", "options", "message"), [
    (["test.good"], {"configurations": ["d4"]},
     r"^no configuration of test\.good 'd4'; did you mean d5\?$"),
    (["test.good", "test.slow"], {"configurations": ["d3", "zzz"]},
     r"^no configuration 'zzz'; known are d3, d5$"),
    (["test.good"], {"testbenches": ["cycles"]},
     r"^no testbench of test\.good 'cycles'; did you mean cycle\?$"),
    (["test.good", "test.slow"], {"testbenches": ["q"]}, r"^no testbench 'q'; known are cycle$"),
])
def test_a_plan_with_a_wrong_name(pages, names, options, message):
    with pytest.raises(UserError, match=message):
        check(plan_of(*names, pages=pages, **options))


@unit
def test_a_plan_without_jobs(pages):
    with pytest.raises(UserError, match=r"^nothing to run: no chosen block has configuration any "
                                        r"with testbench any; see `cyclebound list`$"):
        check(Plan([Block("a.b", "", dict, {}, (), ())], Path("run")))
    with pytest.raises(UserError, match=r"^nothing to run: the quick level has no simulation of "
                                        r"simd\.transfer_unit; --full has$"):
        check(Plan([catalogue.load().find("simd.transfer_unit")], Path("run")))


@unit
def test_junit_of_unprintable_text(tmp_path):
    with closing(Results(tmp_path, create=True)) as results:
        wanted = Job("a.b", "c", "cycle", 1, "")
        results.finished(wanted, Outcome(wanted.name, False, "first\n\x1b[31m<&>\x00 last"), "")
    write_junit(read(tmp_path), tmp_path / "junit.xml")
    failure = ElementTree.parse(tmp_path / "junit.xml").getroot().find("testcase/failure")
    assert failure.get("message") == "?[31m<&>? last"
    with pytest.raises(UserError, match=r"^cannot write \S+: No such file or directory$"):
        write_junit(read(tmp_path), tmp_path / "nowhere" / "junit.xml")


# -- single jobs -----------------------------------------------------------------------------------


@unit
def test_packages_are_looked_at_for_several_jobs_at_once(monkeypatch, tmp_path):
    """At first at once, then after fifty times as long as it took, and at the end."""
    now, looks, same = [0.0], [], [True]

    def unchanged(since):
        looks.append(now[0])
        now[0] += 1.0
        return same[0]

    monkeypatch.setattr(regress, "unchanged", unchanged)
    monkeypatch.setattr(regress, "settled", lambda files: True)
    monkeypatch.setattr(regress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(regress, "_content", lambda job: f"content{job.seed}")
    jobs = [Job("a.b", "c", "cycle", number, "/folder") for number in range(5)]
    with closing(Results(tmp_path / "run", create=True)) as results:
        finished = regress._Finished(results)

        def after(number, at):
            now[0] = at
            finished.add(jobs[number], Outcome(jobs[number].name, True), "")
            return sorted(name[-1] for name in results.done())

        assert after(0, 0.0) == ["0"]
        assert after(1, 2.0) == after(2, 50.0) == ["0"]
        assert looks == [0.0]
        finished.close()
        assert sorted(name[-1] for name in results.done()) == ["0", "1", "2"]
        same[0] = False  # a package has changed, perhaps before this job ran
        assert after(3, 200.0) == ["0", "1", "2"]
        same[0] = True
        assert after(4, 300.0) == ["0", "1", "2", "4"]
        assert looks == [0.0, 50.0, 200.0, 300.0]


@cosim
def test_one_test_of_a_testbench(pages, tmp_path):
    found = run_job(Job("test.endless", "d3", "cycle", 1, str(tmp_path), test="requests",
                        pages=pages))
    assert (found.passed, found.tests) == (True, [("requests", True)])


@cosim
def test_a_simulator_that_hangs(pages, tmp_path):
    """Wherever it is by then."""
    found = run_job(Job("test.hanging", "d3", "cycle", 1, str(tmp_path), wall_limit=3, pages=pages))
    assert (found.passed, found.reason) == (
        False, "the simulator still ran after 3 s, and was stopped")


@cosim
def test_a_test_that_there_is_not(pages, tmp_path):
    found = run_job(Job("test.good", "d3", "cycle", 1, str(tmp_path), test="request", pages=pages))
    assert not found.passed
    assert re.fullmatch(r"the simulator ended with status 0 and reported no test; see \S+",
                        found.reason)


@unit
def test_a_folder_that_cannot_be_written(pages, tmp_path):
    (tmp_path / "file").write_text("")
    found = run_job(Job("test.good", "d3", "cycle", 1, str(tmp_path / "file" / "job"),
                        pages=pages))
    assert (found.passed, found.reason) == (False, f"{tmp_path}/file/job: Not a directory")


@unit
def test_a_page_that_a_worker_does_not_have(tmp_path):
    found = run_job(Job("a.b", "c", "cycle", 1, str(tmp_path), pages=("no_such_page",)))
    assert found.reason == "catalogue page 'no_such_page': No module named 'no_such_page'"


@unit
@pytest.mark.parametrize(("named", "words"), [
    ((), ["exact", "unobserved"]), (("cycle",), ["exact"]),
    (("cycle", "long"), ["exact", "unobserved"])])
@pytest.mark.usefixtures("no_baseline")
def test_of_named_testbenches_no_more_is_asked_than_they_see(monkeypatch, tmp_path, named, words):
    """Unless they are all there are."""
    block = catalogue.load().find("noc.arbiter")
    bench = dataclasses.replace(block.testbenches[0], configurations=None, quick=None)
    block = dataclasses.replace(block, testbenches=(
        dataclasses.replace(bench, name="cycle"), dataclasses.replace(bench, name="long"),
        dataclasses.replace(bench, name="other", configurations=("paper",))))
    rows = [Verdict(block.name, "four", bound, "wait", "", "", verdict=word)
            for bound, word in (("seen", "exact"), ("other", "unobserved"))]
    monkeypatch.setattr(kept, "judge", lambda *_: rows)
    plan = Plan([block], tmp_path, testbenches=named)
    with closing(Results(tmp_path / "run", create=True)) as results:
        found = regress.judge_places(plan, [(block.name, "four")], results)
        assert [row["verdict"] for row in results.rows("verdict")] == words
    assert [row.verdict for row in found] == words
