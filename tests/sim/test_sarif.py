"""Findings for code hosts, of runs and traces; and the badge."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from pydantic import BaseModel
from sarif_pydantic import Sarif

from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import FAILURES, Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import read
from cyclebound.sim.report.sarif import RULES, badge, place_of, problems_of, sarif
from cyclebound.sim.run.job import Job, Outcome

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[2]
EVIL = '<script>"&'


def misnamed(model):
    """Properties of a log that SARIF does not know, wherever they are but in ``properties``."""
    found = [*(model.model_extra or {})]
    for name in type(model).model_fields:
        value = getattr(model, name)
        for part in value if isinstance(value, list) else [value]:
            found += misnamed(part) if isinstance(part, BaseModel) else []
    return found


def checked(text):
    """A log's results, after a second reader has read it."""
    log = Sarif.model_validate_json(text)
    assert misnamed(log) == []
    [run] = log.runs
    known = {rule.id for rule in run.tool.driver.rules}
    assert all(result.rule_id in known and result.message.text for result in run.results)
    return json.loads(text)["runs"][0]["results"]


def run_in(folder, *verdicts, passed=True, proof="proved"):
    folder.mkdir()
    results = Results(folder, create=True)
    results.note(command="c", created="2031-02-03T04:05:06", seed=1, versions={}, jobs=1)
    job = Job("noc.arbiter", "four", "cycle", 1, str(folder / "jobs" / "a"))
    (folder / "jobs" / "a").mkdir(parents=True)
    results.finished(job, Outcome(job.name, passed, "" if passed else f"cycle 3: {EVIL}"), "c")
    for verdict in verdicts:
        results.verdict(Verdict(
            "noc.arbiter", verdict, "round_robin_wait", "grant", "N", "paper", verdict=verdict,
            worst=5, allowed=4, parameters={"requesters": 4}, detail=f"5, {EVIL}"))
    results.proof(Proof("noc.arbiter", "fair", "fair", {"count": 4}, status=proof, asked=True))
    results.close()
    return read(folder)


def test_every_failing_verdict_has_a_rule():
    assert {*FAILURES, "unclear"} <= RULES.keys()


def test_what_is_wrong_with_a_run_is_said_once_with_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = catalogue.load()
    run = run_in(tmp_path / "run", "violated", "held", passed=False, proof="failed")
    results = checked(sarif(problems_of(run, lambda block, what: place_of(blocks.find(block),
                                                                          what))))
    assert [result["ruleId"] for result in results] == ["failed-simulation", "violated", "unproved"]
    violated = results[1]
    assert EVIL in violated["message"]["text"]
    assert violated["properties"]["worst"] == 5
    [place] = violated["locations"]
    physical = place["physicalLocation"]
    lines = (ROOT / physical["artifactLocation"]["uri"]).read_text().splitlines()
    around = lines[physical["region"]["startLine"] - 1:][:8]
    assert any("def round_robin_wait" in line for line in around)
    assert len({result["partialFingerprints"]["claim/v1"] for result in results}) == 3


def test_a_good_run_has_no_findings_and_a_green_badge(tmp_path):
    run = run_in(tmp_path / "good", "exact", "held")
    assert checked(sarif(problems_of(run, lambda *_: None))) == []
    drawn = ElementTree.fromstring(badge(run))
    assert drawn.get("aria-label") == "bounds: 2 of 2 hold, passing"
    run = run_in(tmp_path / "bad", "exact", "violated")
    drawn = ElementTree.fromstring(badge(run))
    assert drawn.get("aria-label") == "bounds: 1 of 2 hold, failing"
    assert "#2e7d32" not in badge(run)
    wide = float(drawn.get("width"))
    assert all(float(rect.get("x", 0)) + float(rect.get("width")) <= wide
               for rect in drawn.iter() if rect.tag.endswith("rect"))


def test_at_the_command_line(call, tmp_path):
    run_in(tmp_path / "run", "violated")
    said = call("report", "run", "--sarif", "f.sarif", "--badge", "b.svg")
    assert said.returncode == 0, said.stderr
    assert [result["ruleId"] for result in checked((tmp_path / "f.sarif").read_text())] == [
        "violated"]
    ElementTree.parse(tmp_path / "b.svg")
    (tmp_path / "t.csv").write_text("req,ack\n0,0\n1,0\n1,0\n1,1\n0,0\n")
    words = ["check", "t.csv", "--start", "req & ~past(req & ~ack)", "--end", "req & ack",
             "--sarif", "t.sarif", "--bound"]
    assert call(*words, "2").returncode == 1
    [result] = checked((tmp_path / "t.sarif").read_text())
    assert result["ruleId"] == "violated"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "t.csv"
    assert call(*words, "3").returncode == 0
    assert checked((tmp_path / "t.sarif").read_text()) == []
    said = call("report", "run", "--badge", "b.png")
    assert (said.returncode, said.stderr) == (
        2, "cyclebound: --badge takes a file that ends in .svg, not 'b.png'\n")
    said = call("report", "run", "--sarif", "no/f.sarif")
    assert (said.returncode, said.stderr) == (
        2, "cyclebound: cannot write no/f.sarif: No such file or directory\n")
