"""The part of the thorough tests and of the full level that a commit runs."""

import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROTATE = runpy.run_path(str(Path(__file__).with_name("rotate.py")))
PARTS, ages, main, part_of, run, steps = (
    ROTATE[name] for name in ("PARTS", "ages", "main", "part_of", "run", "steps"))

pytestmark = pytest.mark.unit


def test_a_hundred_commits_in_a_row_run_each_part_once():
    for first in (0, 1, 99, 1407):
        assert sorted(part_of(first + n) for n in range(PARTS)) == [*range(1, PARTS + 1)]


def test_an_age_is_the_distance_to_the_commit_of_that_part():
    for commits in (100, 101, 1407):
        found = ages(commits)
        assert sorted(found.values()) == [*range(PARTS)]
        assert [*found.values()] == sorted(found.values(), reverse=True)
        assert all(part_of(commits - ago) == part for part, ago in found.items())


def test_the_steps_are_that_part_of_both():
    some, tests, level = steps(37).values()
    assert some[1:] == ["-n", "auto", "--dist", "worksteal", "--thorough", "--below", "10",
                        "--shard", "7/10"]
    assert steps(100).keys() >= {"tests of some seconds 10/10"}
    assert tests[1:] == ["-n", "auto", "--dist", "worksteal", "-m", "thorough", "--thorough",
                         "--shard", "37/100"]
    assert level[1:] == ["regress", "--full", "--shard", "37/100", "--certify", "--no-report",
                         "--no-pictures"]


def _steps_that(*programs):
    return lambda part: {f"step {number}": [sys.executable, "-c", program]
                         for number, program in enumerate(programs)}


@pytest.mark.parametrize(("programs", "status", "says"), [
    (("", ""), 0, ["step 0: passed", "step 1: passed"]),
    (("", "raise SystemExit(3)"), 1, ["step 0: passed", "step 1: FAILED with status 3"]),
    (("raise SystemExit(1)", ""), 1, ["step 0: FAILED with status 1", "step 1: passed"]),
    (("import time; time.sleep(60)", ""), 0, ["step 0: not finished in 2 s", "step 1: passed"]),
])
def test_a_part_that_fails_is_a_failure(programs, status, says, monkeypatch, capfd):
    git = {"rev-parse": "false", "rev-list": "1407", "log": "\n".join(["abc of today"] * PARTS)}
    monkeypatch.setitem(main.__globals__, "steps", _steps_that(*programs))
    monkeypatch.setitem(main.__globals__, "_git", lambda word, *_: git[word])
    monkeypatch.setitem(main.__globals__, "_GRACE", 1.0)
    monkeypatch.setitem(main.__globals__, "_TESTS", 0.2)  # and much for the last, on a busy machine
    assert main(["--seconds", "10"]) == status
    said = capfd.readouterr().out
    assert "Part 8 of 100, by the number of commits, 1407." in said
    assert "    9/100: abc of today, 99 commits ago" in said
    assert all(line in said for line in says)
    assert ("Not all of part 8 has been seen: step 0\n" in said) == ("not finished" in said)


def test_a_clone_without_its_commits_has_a_part_by_its_hash(monkeypatch, capfd):
    monkeypatch.setitem(main.__globals__, "_git", lambda *words: (
        "true" if "--is-shallow-repository" in words else "ff"))
    assert main(["--list"]) == 0
    assert f"Part {255 % PARTS + 1} of {PARTS}, by HEAD's hash" in capfd.readouterr().out


def test_what_does_not_end_is_killed_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setitem(run.__globals__, "_GRACE", 0.5)
    program = ("import signal, subprocess, sys, time; signal.signal(signal.SIGINT, signal.SIG_IGN);"
               f"subprocess.Popen(['sh', '-c', 'sleep 4; touch {tmp_path}/alive']); time.sleep(60)")
    assert run([sys.executable, "-c", program], 1.5) is None
    time.sleep(4)
    assert not (tmp_path / "alive").exists()


def test_all_has_ended_in_time_when_nothing_can_be_interrupted(monkeypatch, capfd):
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    monkeypatch.setitem(main.__globals__, "steps", _steps_that(deaf, deaf, deaf))
    monkeypatch.setitem(main.__globals__, "_git", lambda *words: (
        "true" if "--is-shallow-repository" in words else "ff"))
    monkeypatch.setitem(main.__globals__, "_GRACE", 2.5)
    began = time.monotonic()
    assert main(["--seconds", "6.5"]) == 0
    assert time.monotonic() - began < 7.5
    said = capfd.readouterr().out
    assert "step 0: not finished in 2 s, and interrupted" in said
    assert "step 1: not begun, no time was left" in said
    assert "step 2: not begun, no time was left" in said
    assert said.endswith("has been seen: step 0, step 1, step 2\n")


@pytest.mark.parametrize(("passed", "seconds"), [(0, 1200), (865, 335), (1079, 121), (1080, 120),
                                                 (1500, 120)])
def test_ci_runs_it_in_what_is_left_of_20_minutes(passed, seconds):
    text = (Path(__file__).parents[1] / ".ci" / "run").read_text()
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
    last = text[text.index("\nleft="):]
    ran = subprocess.run(["bash", "-euc", f'step() {{ echo "${{@:2}}"; }}; SECONDS={passed}{last}'],
                         capture_output=True, text=True, check=True).stdout
    assert ran.split() == [".venv/bin/python", "tests/rotate.py", "--seconds", str(seconds)]
