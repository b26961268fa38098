"""A run's folder is data: it may have been copied from anywhere, and runs and reveals nothing."""

import dataclasses
import hashlib
import json
import os
import re
import sqlite3
from contextlib import closing

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.judge.verdict import FAILURES, VERDICTS, Verdict
from cyclebound.sim.regression import results as results_module
from cyclebound.sim.regression.plan import Plan, jobs_of
from cyclebound.sim.regression.results import FILE, ROWS, VERSION, JobRow, Results
from cyclebound.sim.regression.table import read
from cyclebound.sim.report.report import write_report
from cyclebound.sim.run.job import Group, Job, Outcome, run_job

unit = pytest.mark.unit


def made(folder, **meta):
    """A small run with a failed job, as Cyclebound writes it."""
    results = Results(folder, create=True)
    job = Job("a.b", "c", "cycle", 1, str(folder / "jobs" / "a.b" / "c" / "cycle-1"))
    results.finished(job, Outcome(job.name, False, "it failed", [
        Group("move", {"size": 1}, 2, 3, 4, 5, "t")], tests=[("t", False)]), "content")
    results.verdict(Verdict("a.b", "c", "b", "move", "f", "s", verdict="exact", histogram=[(1, 2)]))
    results.note(seed=1, jobs=1, **meta)
    results.close()
    return folder


def change(folder, statement, *values):
    with closing(sqlite3.connect(folder / FILE)) as base, base:
        base.execute(statement, values)


def read_all(folder):
    read(folder)
    write_report(folder)
    with closing(Results(folder)) as results:
        results.waveforms()
        list(results.observations("a.b", "c"))


# -- no code ---------------------------------------------------------------------------------------


@unit
def test_a_resumed_run_names_no_code(call, tmp_path, monkeypatch):
    """Not even with its page beside its results, and the current folder on the path."""
    made(tmp_path / "evilrun", options={"blocks": ["a.b"], "pages": ["evilrun.payload"]})
    (tmp_path / "evilrun" / "payload.py").write_text("open('it-ran', 'w').close()\nBLOCKS = ()\n")
    said = call("regress", "--resume", "evilrun")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == (
        "cyclebound: evilrun was run with the catalogue page evilrun.payload, whose code a run's "
        "folder cannot vouch for; name it again with --catalogue\n")
    assert not (tmp_path / "it-ran").exists()
    said = call("--catalogue", "evilrun.payload", "regress", "--resume", "evilrun")
    assert "no block 'a.b'" in said.stderr
    assert (tmp_path / "it-ran").exists()  # it was named


@pytest.mark.cosim
def test_a_module_in_a_jobs_folder_is_not_imported(pages, tmp_path):
    """cocotb looks into the current folder first, and a resumed run's may hold anything."""
    for name in ("numpy", "faults_bench", "cyclebound"):
        (tmp_path / f"{name}.py").write_text("import sys; sys.stderr.write('it ran')\n")
        (tmp_path / "cwd").mkdir(exist_ok=True)
        (tmp_path / "cwd" / f"{name}.py").write_text("1 / 0\n")
    aside = tmp_path / "aside"
    aside.write_text("kept")
    for name in ("job.json", "log.txt", "cocotb.xml"):
        (tmp_path / name).symlink_to(aside)
    found = run_job(Job("test.good", "d3", "cycle", 1, str(tmp_path), pages=pages))
    assert (found.passed, found.reason) == (True, "")
    assert "it ran" not in (tmp_path / "log.txt").read_text()
    assert aside.read_text() == "kept"


@unit
@pytest.mark.parametrize("link", ["jobs", "jobs/test.good", "jobs/test.good/d3/cycle-1"])
def test_links_lead_nowhere(pages, tmp_path, link):
    from cyclebound.sim import catalogue
    place = tmp_path / "run" / link
    place.parent.mkdir(parents=True)
    (tmp_path / "else").mkdir()
    place.symlink_to(tmp_path / "else")
    plan = Plan([catalogue.load(pages).find("test.good")], tmp_path / "run", pages=pages)
    with pytest.raises(UserError, match=r"^\S+/run/jobs/\S+ leads out of the run \S+, to \S+/else"):
        jobs_of(plan)


# -- no file from elsewhere ------------------------------------------------------------------------


@unit
def test_a_report_quotes_logs_of_its_run_only(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "log.txt").write_text("do not show\n")
    folder = made(tmp_path / "run")
    inside = folder / "jobs" / "a.b" / "c" / "cycle-1"
    inside.mkdir(parents=True)
    for path in (str(secret), "../secret", f"{folder}/../secret", "\0", "x" * 5000):
        change(folder, "UPDATE job SET folder = ?", path)
        assert "do not show" not in write_report(folder).read_text()
    (inside / "log.txt").symlink_to(secret / "log.txt")
    assert "do not show" not in write_report(folder).read_text()
    (inside / "log.txt").unlink()
    os.mkfifo(inside / "log.txt")  # that is never written
    write_report(folder)
    (inside / "log.txt").unlink()
    (inside / "log.txt").write_text("do show\n")
    assert "do show" in write_report(folder).read_text()  # wherever the run has been moved to


# -- no other version ------------------------------------------------------------------------------


@unit
def test_a_version_stands_for_all_that_is_kept():
    """If this fails, raise VERSION, say in `Results` how the version before is read, if at all,
    and then change the number here."""
    kept = [results_module._SCHEMA, *(
        [cls.__name__, *((field.name, str(field.type)) for field in dataclasses.fields(cls))]
        for cls in (JobRow, Group, *ROWS.values()))]
    known = {8: "fea9", 9: "21cd"}
    assert known[VERSION] == hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:4]


@unit
def test_every_verdict_can_be_read():
    words = results_module._WORDS["verdict"][1]
    assert set(words) == set(VERDICTS) > set(FAILURES)


@unit
def test_versions(tmp_path):
    folder = made(tmp_path / "run")
    with closing(sqlite3.connect(folder / FILE)) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (VERSION,)
    for version in (0, 1, 77):  # 0: from before versions were written
        change(folder, f"PRAGMA user_version = {version}")
        for create in (False, True):
            with pytest.raises(UserError, match=rf"^\S+ is of version {version}, and this "
                                                rf"cyclebound reads version {VERSION}; read it"):
                Results(folder, create=create)


@unit
def test_an_empty_file(call, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / FILE).write_bytes(b"")
    for words in (("compare", "run"), ("report", "run"), ("regress", "--resume", "run")):
        said = call(*words)
        assert (said.returncode, said.stdout, said.stderr) == (
            2, "", f"cyclebound: run/{FILE} is empty: no result was kept in it\n")


@unit
@pytest.mark.parametrize(("statement", "says"), [
    ("UPDATE meta SET value = '\"word\"' WHERE key = 'jobs'",
     "meta jobs must be a whole number, not 'word'"),
    ("UPDATE meta SET value = 'word' WHERE key = 'jobs'", "meta 'jobs' must be JSON, not 'word'"),
    ("UPDATE meta SET value = 'NaN' WHERE key = 'jobs'", "meta 'jobs' must be JSON, not 'NaN'"),
    ("INSERT INTO meta VALUES ('versions', '{\"python\": 3}')",
     "meta versions['python'] must be a text, not 3"),
    ("UPDATE verdict SET row = json_remove(row, '$.domain')",
     "verdict row 1 lacks the field 'domain'"),
    ("UPDATE verdict SET row = json_set(row, '$.later', 1)",
     "verdict row 1 has the unknown field 'later'"),
    ("UPDATE verdict SET row = json_set(row, '$.verdict', 'fine')",
     ("verdict of verdict row 1 must be one of exact, held, right, violated, wrong, "
      "refuted, not covered, unobserved, void, weaker, changed, not 'fine'")),
    ("UPDATE verdict SET row = json_set(row, '$.worst', '3')",
     "worst of verdict row 1 must be a whole number or nothing, not '3'"),
    ("UPDATE verdict SET row = json_set(row, '$.worst', json('1' || '" + "0" * 20 + "'))",
     "worst of verdict row 1 must be a whole number or nothing, not 100000000000000000000"),
    ("UPDATE verdict SET row = json_set(row, '$.histogram', json('[[1]]'))",
     "histogram of verdict row 1[0] must be a tuple of 2, not [1]"),
    ("UPDATE verdict SET row = '[]'", "verdict row 1 must be a mapping, not []"),
    ("UPDATE verdict SET row = printf('%.*c', 9999, '[')", "verdict row 1 must be JSON, not '[[["),
    ("UPDATE verdict SET row = NULL", "verdict row 1 must be JSON, not None"),
    ("UPDATE job SET seed = 'one'",
     "seed of job 'a.b/c/cycle/1' must be a whole number, not 'one'"),
    ("UPDATE job SET cycles = NULL",
     "cycles of job 'a.b/c/cycle/1' must be a whole number, not None"),
    ("UPDATE job SET passed = 2", "passed of job 'a.b/c/cycle/1' must be 0 or 1, not 2"),
    ("UPDATE job SET configuration = 'd'",
     "job 'a.b/c/cycle/1' must have the name 'a.b/d/cycle/1'"),
    ("UPDATE job SET tests = '[[1, 2]]'",
     "tests of job 'a.b/c/cycle/1'[0][0] must be a text, not 1"),
    ("UPDATE observation SET latency = 'x'",
     "latency of an observation of 'a.b/c/cycle/1' must be a whole number, not 'x'"),
    ("UPDATE observation SET parameters = '5'",
     "parameters of an observation of 'a.b/c/cycle/1' must be a mapping, not 5"),
    ("INSERT INTO waveform VALUES ('a', 'b', 'c', x'00', '', '')",
     "a waveform row[3] must be a text, not"),
])
def test_refuses(tmp_path, statement, says):
    folder = made(tmp_path / "run")
    change(folder, "PRAGMA foreign_keys = OFF")
    change(folder, statement)
    with pytest.raises(UserError, match=re.escape(f"is no results file of this cyclebound: {says}")
                       ) as told:
        read_all(folder)
    assert "\n" not in str(told.value)


@unit
@pytest.mark.parametrize("statement", [
    "CREATE TRIGGER t AFTER INSERT ON job BEGIN DELETE FROM verdict; END",
    "CREATE VIEW v AS SELECT * FROM job",
    "ALTER TABLE job ADD COLUMN later TEXT",
    "DROP TABLE picture",
])
def test_other_tables(tmp_path, statement):
    folder = made(tmp_path / "run")
    change(folder, statement)
    with pytest.raises(UserError, match=r"^\S+ has other tables than a run: "):
        Results(folder)


@unit
@pytest.mark.parametrize(("options", "says"), [
    ({"blocks": "noc"}, "option blocks must be a list, not 'noc'"),
    ({"later": 1}, "no option is called 'later'"),
    ({"seed": "one"}, "option seed must be a whole number, not 'one'"),
    ({"pages": [3]}, r"option pages[0] must be a text, not 3"),
    ({"wall_limit": None}, "option wall_limit must be a number, not None"),
])
def test_unknown_options(call, tmp_path, options, says):
    made(tmp_path / "run", options=options)
    said = call("regress", "--resume", "run")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == ("cyclebound: run began with options that do not exist: "
                           f"{says}\n")


# -- names as they are -----------------------------------------------------------------------------

NAMES = ["run[/a]", "v[2]x[red]y", ":x:", "[bold]", "a\x1b[31m\x07b"]


@unit
@pytest.mark.parametrize("name", NAMES)
def test_names_are_no_markup(call, tmp_path, name):
    """Folders, configurations, reasons: nothing is read as a style, and no letter is lost."""
    folder = made(tmp_path / name)
    row = Verdict("a.b", name, "b", name, "f", "s", verdict="violated", detail=name)
    with closing(Results(folder)) as results:
        results.verdict(row)
    said = call("compare", name)
    shown = re.sub("[\x00-\x1f]", "?", name)
    assert said.returncode == 1, said.stderr
    assert said.stderr == ""
    assert f"Measured against bound: {shown}" in said.stdout
    assert f"a.b {shown}: violated: {shown}" in said.stdout
    assert "\x1b" not in said.stdout
    assert call("compare", name, name).stdout == "nothing changed\n"
    assert call("report", name).returncode == 0
    said = call("regress", "--resume", f"{name}-")
    assert said.stderr == f"cyclebound: {shown}- holds no run: there is no {FILE} in it\n"
