"""Evidence packages: what a statement says, who has signed it, and what a verifier finds."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression import attest as attesting
from cyclebound.sim.regression.attest import attest, verify
from cyclebound.sim.regression.results import FILE, Results
from cyclebound.sim.run.job import Group, Job, Outcome

pytestmark = [pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")]
unit = pytest.mark.unit


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    """Where the key is; the cache keeps the secret that it has."""
    monkeypatch.setattr(attesting, "config_root", lambda: tmp_path / "config")
    return tmp_path / "config"


@pytest.fixture
def run(tmp_path):
    """A small run: a job that passed, its verdict, a proof, and a log."""
    folder = tmp_path / "run"
    results = Results(folder, create=True)
    job = Job("noc.arbiter", "four", "cycle", 1, str(folder / "jobs"))
    results.finished(job, Outcome(job.name, True, "", [
        Group("grant", {"requesters": 4}, 4, 7, 1, 4, "t")], 12, 34, tests=[("t", True)]), "code")
    results.verdict(Verdict("noc.arbiter", "four", "b", "grant", "f", "s", verdict="exact"))
    results.proof(Proof("noc.arbiter", "fair", "it is", {"count": 4}, "proved", seconds=1.5))
    results.note(seed=1, jobs=1, simulator="verilator")
    results.close()
    (folder / "jobs").mkdir()
    (folder / "jobs" / "log.txt").write_text("passed\n")
    return folder


@pytest.fixture
def statement(run):
    attest(run, run / "statement.json")
    return run / "statement.json"


@unit
def test_a_statement_and_its_check(statement, run, config):
    told = json.loads(statement.read_text())
    assert told["jobs"][0]["name"] == "noc.arbiter/four/cycle/1"
    assert told["verdicts"][0]["verdict"] == "exact"
    assert (told["proofs"][0]["status"], "seconds" in told["proofs"][0]) == ("proved", False)
    assert {"golden/arbiter.py", "hdl/arbiter.py"} <= told["sources"].keys()
    assert {"amaranth", "cocotb", "numpy"} <= told["packages"].keys()
    assert [*told["files"]] == ["jobs/log.txt"]
    check = verify(statement, run)
    assert (check.wrong, check.differs, check.ran) == ([], [], [])
    assert "ED25519" in check.signer
    assert (config / "attest_ed25519").stat().st_mode & 0o777 == 0o600


@unit
@pytest.mark.parametrize(("sql", "says"), [
    ("UPDATE observation SET latency = 3",
     "jobs: noc.arbiter/four/cycle/1 noc.arbiter four differs"),
    ("UPDATE job SET cycles = 35", "jobs: noc.arbiter/four/cycle/1 noc.arbiter four differs"),
    ("UPDATE verdict SET row = replace(row, 'exact', 'held')",
     "verdicts: noc.arbiter four b grant differs"),
    ("UPDATE proof SET row = replace(row, 'proved', 'bounded')",
     "proofs: noc.arbiter fair {'count': 4} differs"),
    ("DELETE FROM proof", "proofs: noc.arbiter fair {'count': 4} is not there")])
def test_a_run_that_was_edited(statement, run, sql, says):
    with closing(sqlite3.connect(run / FILE)) as base, base:
        base.execute(sql)
    assert verify(statement, run).wrong == [says]
    assert verify(statement).wrong == []  # without the run, nothing is known of it


@unit
def test_files_of_a_run(statement, run):
    (run / "jobs" / "log.txt").write_text("other\n")
    (run / "jobs" / "new.txt").write_text("other\n")
    assert verify(statement, run).wrong == [
        "files: jobs/log.txt differs", "files: jobs/new.txt is new"]


@unit
def test_another_machine(statement, run, monkeypatch):
    machine = attesting._machine()
    machine["sources"] = {**machine["sources"], "hdl/arbiter.py": "other"}
    del machine["packages"]["amaranth"]
    monkeypatch.setattr(attesting, "_machine", lambda: {**machine, "compiler": "another"})
    assert verify(statement, run).differs == [
        "sources: hdl/arbiter.py differs", "packages: amaranth is not there",
        "compiler is another"]


@unit
def test_signatures(statement, tmp_path):
    def key(name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name],
                       check=True)
        return tmp_path / name

    mine, other = key("mine"), key("other")
    attest(statement.parent, statement, mine)
    allowed = tmp_path / "allowed"
    allowed.write_text("someone@example.org " + (tmp_path / "mine.pub").read_text())
    assert "someone@example.org" in verify(statement, signers=allowed).signer
    assert verify(statement, signers=allowed, signer="someone@example.org").signer
    with pytest.raises(UserError, match=r"^ssh-keygen: "):
        verify(statement, signers=allowed, signer="other@example.org")
    attest(statement.parent, statement, other)
    with pytest.raises(UserError, match=r"^ssh-keygen: "):
        verify(statement, signers=allowed)
    signature = statement.with_name("statement.json.sig")
    signature.unlink()
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", mine, "-n", "file", statement],
                   check=True, capture_output=True)
    with pytest.raises(UserError, match=r"^ssh-keygen: "):  # signed for another use
        verify(statement)
    signature.unlink()
    with pytest.raises(UserError, match=r"is not signed: there is no statement\.json\.sig beside"):
        verify(statement)


@unit
@pytest.mark.parametrize(("old", "new"), [
    ('"exact"', '"held"'), ('"proved"', '"bounded"'), ('"seed": 1', '"seed": 2'),
    ('"passed": true', '"passed": false'), ("\n", "\n ")])
def test_a_statement_that_was_edited(statement, old, new):
    text = statement.read_text()
    assert old in text
    statement.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError, match=r"^ssh-keygen: "):
        verify(statement)


@unit
@pytest.mark.parametrize("text", [
    "", "{", "[]", "3", "{}", '{"version": 2}', "\xff", "[" * 100_000, '{"jobs": [{}]}'])
def test_what_is_no_statement(statement, text):
    statement.write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match="is no statement of a run"):
        verify(statement)


@unit
def test_rows_that_are_not_whole(statement):
    told = json.loads(statement.read_text())
    del told["jobs"][0]["requests"]
    statement.write_text(json.dumps(told))
    with pytest.raises(UserError, match="a row of jobs is not whole"):
        verify(statement)


@unit
def test_what_cannot_be_attested(tmp_path, call):
    Results(tmp_path / "empty", create=True).close()
    with pytest.raises(UserError, match="has no finished job to attest"):
        attest(tmp_path / "empty", tmp_path / "statement.json")
    for words, says in ((("attest",), "name a run"), (("attest", "--verify", "none"), "none"),
                        (("attest", str(tmp_path / "nowhere")), "holds no run"),
                        (("attest", str(tmp_path / "empty"), "--sample", "2"), "--verify")):
        said = call(*words)
        assert (said.returncode, said.stdout) == (2, "")
        assert says in said.stderr
        assert said.stderr.count("\n") == 1


@unit
def test_the_sample_is_the_verifiers(statement, monkeypatch):
    """Which jobs and proofs run again follows from a seed that is chosen after the statement."""
    told = json.loads(statement.read_text())
    told["jobs"] = [{**told["jobs"][0], "name": f"job {number}"} for number in range(20)]
    statement.write_text(json.dumps(told))
    statement.with_name("statement.json.sig").unlink()
    attesting._keygen(["-Y", "sign", "-f", str(attesting._own_key()), "-n", "cyclebound",
                       str(statement)])
    monkeypatch.setattr(attesting, "_job_again", lambda *_: [])
    monkeypatch.setattr(attesting, "_proof_again", lambda *_: [])
    drawn = [verify(statement, sample=5, seed=seed).ran for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(verify(statement, sample=99).ran) == 21


@pytest.mark.cosim
@pytest.mark.thorough
def test_a_sample_that_is_run_again(cyclebound, tmp_path):
    """An honest statement holds; one that claims another latency is found, though it is signed."""
    run = tmp_path / "arbiter"
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    said = cyclebound("regress", "noc.arbiter", "-c", "four", "--no-report", "-o", run)
    assert said.returncode == 0, said.stdout + said.stderr
    said = cyclebound("attest", run, "--key", key)
    assert (said.returncode, said.stderr) == (0, "")
    statement = run / "statement.json"
    said = cyclebound("attest", "--verify", statement, "--sample", "9", "--seed", "3")
    assert (said.returncode, said.stderr) == (0, ""), said.stdout
    assert "noc.arbiter/four/cycle/1" in said.stdout
    told = json.loads(statement.read_text())
    for job in told["jobs"]:
        job["requests"] = "0" * 64
    statement.write_text(json.dumps(told))
    statement.with_name("statement.json.sig").unlink()
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "cyclebound", "-f", key, statement],
                   check=True, capture_output=True)
    said = cyclebound("attest", "--verify", statement, "--sample", "9")
    assert said.returncode == 1
    assert "noc.arbiter/four/cycle/1: requests are not the same" in said.stdout
    assert Path(statement).exists()
