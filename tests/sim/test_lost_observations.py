"""Observations that are lost, doubled, moved or cut give no verdict."""

import random
import resource
import signal

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run import simulator
from cyclebound.sim.run.job import Job, outcome_of, run_job
from cyclebound.sim.run.observations import read_requests

unit = pytest.mark.unit
PRINTED = [{"what": "move", "places": [{"r": 0}, {"r": 1}], "names": ["size"], "ticks": False,
            "in_turn": False, "classed": False}]
LINES = ("@probe 0 1 0 12 3", "@probe. 0 1 0 12 15 4", "@probe 0 0 0 20 1", "@probe 0 0 1 21 1",
         "@probe. 0 0 0 20 22 3", "@probe 0 1 1 30 2", "@probe= 0 0 32 2 1", "@probe= 0 1 32 2 1")


def lost(folder, lines, counted=frozenset({32})):
    (folder / "probes.txt").write_text("".join(f"{line}\n" for line in lines))
    return read_requests(folder / "probes.txt", PRINTED).lost_of(counted)


@unit
def test_whole_observations(tmp_path):
    assert lost(tmp_path, LINES) == ""
    found = read_requests(tmp_path / "probes.txt", PRINTED)
    assert [(one.at["r"], one.began.tolist(), one.ended.tolist()) for one in found.requests] == [
        (0, [[20, 1], [21, 1]], [[20, 22, 3]]), (1, [[12, 3], [30, 2]], [[12, 15, 4]])]


@unit
@pytest.mark.parametrize("number", range(len(LINES)))
def test_each_line_is_missed(tmp_path, number):
    said = lost(tmp_path, [*LINES[:number], *LINES[number + 1:]])
    assert said.startswith("observations were lost: ")


@unit
@pytest.mark.parametrize(("edit", "says"), [
    (lambda lines: [*lines[:1], *lines],
     "move r=1: where requests begin, line 0 stands in the place of 1"),
    (lambda lines: [lines[5], *lines[:5], *lines[6:]], "line 1 stands in the place of 0"),
    (lambda lines: [lines[0][:-2] + lines[1], *lines[2:]], "a line is not whole: '0 12@probe."),
    (lambda lines: [lines[0][:-2], *lines[1:]], "a line is not whole: '0 12'"),
    (lambda lines: ["@probe 0", *lines], "a line is not whole: '@probe 0'"),
    (lambda lines: ["@probe 0 7 0 1 1", *lines], "a line is not whole: '@probe 0 7 0 1 1'"),
    (lambda lines: ["@probe 0 1 x 12 3", *lines[1:]], "a line is not whole: 'x 12 3'"),
    (lambda lines: lines[:-1], "no count of them at the end of a test"),
    (lambda lines: [], "no count of them at the end of a test"),
    (lambda lines: [*lines, "@probe= 0 0 40 2 1", "@probe= 0 1 40 2 1"],
     "a test that has ended left no results"),
    (lambda lines: [*lines[:-1], "@probe= 0 1 32 3 1"], "move r=1: 2 lines instead of 3")])
def test_what_is_wrong_is_said(tmp_path, edit, says):
    said = lost(tmp_path, edit(list(LINES)))
    assert said.startswith("observations were lost: ")
    assert says in said
    assert read_requests(tmp_path / "probes.txt", PRINTED).requests == [] or "test" in said


def damaged(text, rng):
    """A file of observations as a disk that is full for a moment, or a bad copy, leaves it."""
    lines = text.splitlines(keepends=True)
    first = rng.randrange(len(lines))
    last = min(len(lines), first + rng.choice((1, 2, 17, 400)))
    kind = rng.randrange(5)
    if kind == 0:    # nothing was written for a while
        return "".join([*lines[:first], *lines[last:]])
    if kind == 1:    # and of the first of these lines only the beginning
        cut = lines[first][:rng.randrange(len(lines[first]))]
        return "".join([*lines[:first], cut, *lines[last:]])
    if kind == 2:
        return "".join([*lines[:last], *lines[first:]])
    if kind == 3:
        other = rng.randrange(len(lines))
        lines[first], lines[other] = lines[other], lines[first]
        return "".join(lines)
    return "".join(lines)[:rng.randrange(len(text))]


def same(text, other):
    """Whether the lines of each probe are the same, in whatever order the probes come."""
    def by_probe(lines):
        tables = {}
        for line in lines.splitlines(keepends=True):
            tables.setdefault(tuple(line.split()[:3]), []).append(line)
        return tables
    return by_probe(text) == by_probe(other)


@pytest.mark.cosim
@pytest.mark.parametrize("rounds", [6, pytest.param(60, marks=pytest.mark.thorough)])
def test_no_damage_goes_unnoticed(tmp_path, rounds):
    """Of a real job's observations; what is lost is no verdict either way."""
    job = Job("dram.refresh_timer", "small", "cycle", 1, str(tmp_path))
    outcome = run_job(job)
    assert outcome.passed, outcome.reason
    text = (tmp_path / "probes.txt").read_text()
    rng, compared = random.Random(1), 0
    for _ in range(rounds):
        worse = damaged(text, rng)
        (tmp_path / "probes.txt").write_text(worse)
        if same(text, worse):
            continue
        compared += 1
        found = outcome_of(job, tmp_path, 0)
        assert not found.passed
        assert found.reason.startswith("observations were lost: ")
        assert found.groups == []
    assert compared > rounds / 2
    (tmp_path / "probes.txt").write_text(text)
    assert outcome_of(job, tmp_path, 0).passed
    (tmp_path / "observed-random_service.json").unlink()
    assert outcome_of(job, tmp_path, 0).reason == (
        "observations were lost: a test that has ended left no results")
    (tmp_path / "observed-the_last_moment.json").write_text("{")
    with pytest.raises(UserError, match="not what a test has left"):
        outcome_of(job, tmp_path, 0)


@unit
def test_a_claim_of_which_observations_were_lost_is_void():
    """Nothing of that job is known; whatever else was observed holds no verdict by itself."""
    block = catalogue.load().find("dram.refresh_timer")
    found = judge(block, "small", [], failed=["dram.refresh_timer/small/cycle/1"])
    assert {verdict.verdict for verdict in found} == {"void"}


@pytest.mark.cosim
@pytest.mark.parametrize("what", ["observations", "log", "results"])
def test_a_simulator_that_cannot_write_ends_at_once(tmp_path, pages, what):
    """For a moment, or until its end: a limit on files' sizes stands for the disk."""
    outcome = run_job(Job("test.full", what, "cycle", 1, str(tmp_path), pages=("full_disk",)))
    assert outcome.reason == (
        f"the simulator could not write to {tmp_path}: the disk is full, or a limit on files was "
        "reached; what it had observed is lost")
    assert not outcome.passed
    assert outcome.groups == []


@pytest.mark.cosim
def test_and_is_no_worse_where_it_can(tmp_path, pages):
    outcome = run_job(Job("test.full", "never", "cycle", 1, str(tmp_path), pages=("full_disk",)))
    assert outcome.passed, outcome.reason
    assert sum(group.count for group in outcome.groups) == 43


@pytest.mark.cosim
def test_a_waveform_that_does_not_fit_ends_the_simulator(tmp_path, pages, monkeypatch):
    """Verilator's runtime would wait for ever, for a lock that it holds itself."""
    monkeypatch.setattr(simulator, "die_with_parent", small_files)
    job = Job("test.full", "never", "cycle", 1, str(tmp_path), pages=("full_disk",), waves=True,
              wall_limit=60)
    assert run_job(job).reason.startswith(f"the simulator could not write to {tmp_path}: ")


def small_files(parent):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
