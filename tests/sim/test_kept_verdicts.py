"""Verdicts that are kept by content: what makes a configuration be judged again, and what is never
kept."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

import cyclebound.sim
from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import find_entry
from cyclebound.sim.build import sources
from cyclebound.sim.judge import kept
from cyclebound.sim.judge.kept import KeptVerdicts
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.run.job import Group

pytestmark = pytest.mark.unit

ROOT = Path(cyclebound.sim.__file__).parents[1]
SEEN = ("noc.arbiter/four/cycle/1", Group("grant", {"requesters": 4}, 4, 7, 1, 4, "test"))
PROOF = Proof("noc.arbiter", "fair", "it is", {"count": 4}, "proved", 8, 3,
              claims=[["grant", {"requesters": 4}, 4]])


@pytest.fixture
def block(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_begun", [time.time_ns() + 10**9])
    monkeypatch.setattr(kept, "unchanged", lambda began: True)  # which takes a third of a second
    return catalogue.load().find("noc.arbiter")


@pytest.fixture
def judged(monkeypatch):
    """How often bounds were evaluated."""
    calls = []
    really = kept.judge
    monkeypatch.setattr(kept, "judge", lambda *all_: calls.append(all_) or really(*all_))
    return calls


def rows(block, observed=(SEEN,), proofs=(), failed=(), *, name="four", pages=(), since=0.0):
    """The verdicts, by a run of their own."""
    verdicts = KeptVerdicts(pages, since)
    found = verdicts.judge(block, name, list(observed), list(proofs), list(failed))
    verdicts.close()
    return found


def test_what_was_judged_is_not_judged_again(block, judged):
    first = rows(block, proofs=[PROOF])
    assert [row.bound for row in first if row.requests]
    assert len(judged) == 1
    assert rows(block, proofs=[PROOF]) == first
    assert rows(block, proofs=[replace(PROOF, seconds=9.0, cached=True)]) == first
    assert len(judged) == 1


def test_nothing_is_kept_before_the_end(block, judged):
    KeptVerdicts(()).judge(block, "four", [SEEN], [], [])
    rows(block)
    assert len(judged) == 2


@pytest.mark.parametrize("other", [
    {"observed": [("noc.arbiter/four/cycle/2", SEEN[1])]},
    {"observed": [(SEEN[0], replace(SEEN[1], latency=3))]},
    {"observed": [(SEEN[0], replace(SEEN[1], count=8))]},
    {"observed": [(SEEN[0], replace(SEEN[1], parameters={"requesters": 3}))]},
    {"observed": [SEEN, SEEN]}, {"observed": []},
    {"proofs": [PROOF]}, {"proofs": [replace(PROOF, status="failed")]},
    {"proofs": [replace(PROOF, trace="wave.vcd")]}, {"failed": ["noc.arbiter/four/cycle/3"]},
    {"name": "paper"}])
def test_anything_else_is_judged(block, judged, other):
    rows(block)
    rows(block, **other)
    assert len(judged) == 2


@pytest.mark.parametrize(("file", "again"), [
    ("golden/noc/bounds.py", True), ("golden/bound.py", True), ("sim/catalogue/noc.py", True),
    ("hdl/arbiter.py", True), ("tb/noc/arbiter_properties.py", True),
    ("sim/judge/verdict.py", True), ("sim/judge/kept.py", True),
    ("hdl/dram/controller.py", False), ("sim/report/report.py", False)])
def test_a_changed_file_has_judged_what_depends_on_it(block, judged, monkeypatch, file, again):
    rows(block)
    content = sources._content
    monkeypatch.setattr(sources, "_content", lambda path: (
        "other" if path == ROOT / file else content(path)))
    rows(block)
    assert len(judged) == 1 + again


def test_other_packages_have_it_judged(block, judged, monkeypatch):
    rows(block)
    monkeypatch.setattr(kept, "everything", lambda: "another")
    rows(block)
    assert len(judged) == 2


def test_a_fresh_run_judges(block, judged):
    first = rows(block)
    assert rows(block, since=time.time() + 1) == first
    assert len(judged) == 2


@pytest.mark.parametrize("changed", ["source", "package"])
def test_nothing_is_kept_while_what_it_depends_on_changes(block, judged, monkeypatch, changed):
    if changed == "source":
        monkeypatch.setattr(sources, "_begun", [1])
    else:
        monkeypatch.setattr(kept, "unchanged", lambda began: False)
    rows(block)
    rows(block)
    assert len(judged) == 2


def test_nothing_is_kept_of_a_users_block(block, judged):
    for _ in range(2):
        rows(replace(block, bounds=()))  # by the same name
        rows(block, pages=("mine",))
    assert len(judged) == 4


def test_an_edited_entry_is_judged_anew(block, judged, monkeypatch):
    asked = []
    monkeypatch.setattr(kept, "find_entry",
                        lambda kind, key: asked.append((kind, key)) or find_entry(kind, key))
    first = rows(block)
    entry = find_entry(*asked[0])
    text = (entry / "verdicts.json").read_text()
    assert "exact" in text
    (entry / "verdicts.json").write_text(text.replace("exact", "held"))
    assert rows(block) == first
    assert len(judged) == 2
