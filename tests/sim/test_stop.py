"""Regressions that are stopped, killed, or short of room: nothing is left running, or lost."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.regression.results import FILE, Results

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

QUICK = ("--no-proofs", "--no-pictures")
FOREVER = 3600  # seconds that a compiler takes which must be stopped


def inside(folder: Path) -> list[int]:
    """Processes that work in ``folder`` or below: simulators of a run."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if Path(os.readlink(link)).is_relative_to(folder) and _alive(link.parent):
                found.append(int(link.parent.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def of_session(session: int) -> list[int]:
    """Processes of a session: a command that leads one, and its workers."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")
            if _alive(folder) and _fields(folder)[3] == str(session)]


def _fields(folder: Path) -> list[str]:
    """State, parent, group, session and so on; nothing if it has ended."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "", "", ""]


def _alive(folder: Path) -> bool:
    return _fields(folder)[0] not in "XZ"


def until(condition) -> bool:
    """Wait until ``condition()`` is true, for less time than what must not be waited for."""
    end = time.monotonic() + FOREVER / 2
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


@pytest.fixture
def begin(command, command_environment, tmp_path):
    """``begin(*words, **environment)``: a command in a session of its own, ended by the test."""
    begun = []

    def start(*words, **environment):
        process = subprocess.Popen(
            [*command, *map(str, words)], cwd=tmp_path, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            # a signal may come between the call that opens a folder and its `with`
            env={**command_environment, "PYTHONWARNINGS": "default,ignore::ResourceWarning",
                 "CYCLEBOUND_CATALOGUE": "faults", **environment})
        begun.append(process)
        return process

    # Tests in the background of a shell have SIGINT ignored, and would hand that down.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield start
    signal.signal(signal.SIGINT, before)
    for process in begun:
        for pid in of_session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def finished(folder):
    if not (folder / FILE).is_file():
        return []
    with closing(Results(folder)) as results:
        return results.jobs()


def halfway(folder):
    """A regression of ``test.slow`` with a finished job and a running simulator."""

    def reached():
        try:
            return finished(folder) and inside(folder)
        except UserError:  # the file is just being made
            return False

    return until(reached)


def nothing_runs(process, folder):
    assert until(lambda: not inside(folder)), "a simulator survived"
    assert until(lambda: not of_session(process.pid)), "a worker survived"
    return True


def resumes(begin, folder, before):
    """What had finished is as it was, and the rest runs."""
    process = begin("regress", "--resume", folder)
    said, wrong = process.communicate()
    assert (process.returncode, wrong) == (0, ""), said
    after = {row.name: row for row in finished(folder)}
    assert set(after) == {f"test.slow/d3/cycle/{seed}" for seed in range(1, 5)}
    assert all(row.passed for row in after.values())
    assert [after[row.name] for row in before] == before
    assert before
    assert len(before) < 4


@pytest.mark.thorough
def test_kill(begin, tmp_path):
    process = begin("regress", "test.slow", *QUICK, "-j", 2, "-o", "run")
    assert halfway(tmp_path / "run")
    process.kill()
    assert nothing_runs(process, tmp_path / "run")
    resumes(begin, tmp_path / "run", finished(tmp_path / "run"))


@pytest.mark.thorough
@pytest.mark.parametrize("whole_group", [False, True])
def test_ctrl_c(begin, tmp_path, whole_group):
    process = begin("regress", "test.slow", *QUICK, "-j", 2, "-o", "run")
    assert halfway(tmp_path / "run")
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    said, wrong = process.communicate()
    assert (process.returncode, said) == (130, "")
    assert wrong == ("cyclebound: interrupted; what had finished is kept (`cyclebound compare "
                     "run` shows it), continue with `cyclebound regress --resume run`\n")
    assert nothing_runs(process, tmp_path / "run")
    if whole_group:
        resumes(begin, tmp_path / "run", finished(tmp_path / "run"))


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [0, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_while_a_worker_starts(begin, tmp_path, seconds):
    process = begin("regress", "test.slow", *QUICK, "-j", 2, "-o", "run")
    assert until(lambda: len(of_session(process.pid)) > 1)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    said, wrong = process.communicate()
    assert (process.returncode, said) == (130, "")
    assert wrong.startswith("cyclebound: interrupted")
    assert wrong.count("\n") == 1
    assert nothing_runs(process, tmp_path / "run")


def compiling(begin, folder):
    """A regression whose compiler takes an hour, in a process that it starts; and its cache."""
    compiler, begun, cache = folder / "slow++", folder / "begun", folder / "cache"
    compiler.write_text('#!/bin/sh\ncase "$1" in --version|-print-*) echo slow;; *) '
                        f'touch "$TEST_BEGUN"; sleep {FOREVER} & wait;; esac\n')
    compiler.chmod(0o755)
    process = begin("regress", "test.slow", *QUICK, "-j", 1, "-o", "run", CXX=str(compiler),
                    TEST_BEGUN=str(begun), CYCLEBOUND_CACHE=str(cache))
    assert until(begun.exists)
    assert half_made(cache)
    assert inside(cache)
    return process, cache


def half_made(cache):
    return [path for path in cache.glob("*/*.*") if path.is_dir()]


@pytest.mark.thorough
def test_ctrl_c_while_it_compiles(begin, tmp_path):
    process, cache = compiling(begin, tmp_path)
    process.send_signal(signal.SIGINT)
    _, wrong = process.communicate(timeout=FOREVER / 2)
    assert process.returncode == 130
    assert wrong.startswith("cyclebound: interrupted")
    assert nothing_runs(process, cache)


@pytest.mark.thorough
def test_sigterm(begin, tmp_path):
    """How a batch system stops a run: as with Ctrl-C, and with the page that was named."""
    process = begin("--catalogue", "faults", "regress", "test.slow", *QUICK, "-j", 2, "-o",
                    "my run", CYCLEBOUND_CATALOGUE="")
    assert halfway(tmp_path / "my run")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    said, wrong = process.communicate()
    assert (process.returncode, said) == (143, "")
    assert wrong == ("cyclebound: terminated; what had finished is kept (`cyclebound compare "
                     "'my run'` shows it), continue with "
                     "`cyclebound --catalogue faults regress --resume 'my run'`\n")
    assert nothing_runs(process, tmp_path / "my run")


@pytest.mark.thorough
def test_killed_while_it_compiles(begin, tmp_path):
    """Compilers start others, and none is left to stop them or to remove what they write."""
    process, cache = compiling(begin, tmp_path)
    process.kill()
    assert nothing_runs(process, cache)
    assert until(lambda: not half_made(cache))


@pytest.mark.thorough
def test_a_worker_that_is_killed(begin, tmp_path):
    process = begin("regress", "test.murderous", *QUICK, "-j", 1, "-o", "run",
                    CYCLEBOUND_TEST_MARK=str(tmp_path / "mark"))
    said, wrong = process.communicate()
    assert (process.returncode, said) == (2, "")
    assert wrong == ("cyclebound: a worker was killed, out of memory perhaps; what had finished is "
                     "kept, continue with --resume and fewer workers (-j)\n")
    assert nothing_runs(process, tmp_path / "run")
    process = begin("regress", "--resume", "run", CYCLEBOUND_TEST_MARK=str(tmp_path / "mark"))
    said, wrong = process.communicate()
    assert (process.returncode, wrong) == (0, ""), said
    assert len(finished(tmp_path / "run")) == 2


@pytest.mark.thorough
def test_a_second_regression_in_the_same_folder(begin, cyclebound, tmp_path):
    process = begin("regress", "test.slow", *QUICK, "-j", 2, "-o", "run")
    assert halfway(tmp_path / "run")
    process.send_signal(signal.SIGSTOP)  # it may be over before the other has begun to look
    try:
        said = cyclebound("regress", "--resume", "run")
    finally:
        process.send_signal(signal.SIGCONT)
    assert (said.returncode, said.stdout, said.stderr) == (
        2, "", "cyclebound: another regression is running in run\n")
    _, wrong = process.communicate()
    assert (process.returncode, wrong) == (0, "")


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 200 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder],
                          capture_output=True)
    if done.returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize("taken", [90, 196])
def test_a_full_disk(cyclebound, small_disk, taken):
    """Before the first job, or after some: one line, and a status that says it went wrong."""
    (small_disk / "ballast").write_bytes(bytes(taken << 10))
    said = cyclebound("--catalogue", "faults", "regress", "test.good", *QUICK, "-o",
                      small_disk / "run")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("cyclebound: cannot ")
    assert "is full" in said.stderr or "No space left" in said.stderr
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [
    ("regress", "test.good"), ("run", "test.good")])
def test_an_output_that_cannot_be(cyclebound, tmp_path, words):
    (tmp_path / "file").write_text("")
    said = cyclebound("--catalogue", "faults", *words, "-o", "file/run")
    assert said.returncode in (1, 2)
    assert "Not a directory" in said.stderr + said.stdout
    assert "Traceback" not in said.stderr + said.stdout
    (tmp_path / "runs").write_text("")
    said = cyclebound("--catalogue", "faults", *words)
    assert said.returncode == 2
    assert said.stderr.startswith("cyclebound: cannot make a folder for the run below ")
    assert said.stderr.count("\n") == 1


# -- Dask ------------------------------------------------------------------------------------------

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                      host="127.0.0.1") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def cluster(command_environment, tmp_path):
    """The address of a cluster of two workers."""
    pytest.importorskip("distributed")
    (tmp_path / "cluster.py").write_text(CLUSTER)
    process = subprocess.Popen([sys.executable, "cluster.py"], cwd=tmp_path, text=True,
                               env={**command_environment, "CYCLEBOUND_CATALOGUE": "faults"},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    address = process.stdout.readline().strip()
    assert address.startswith("tcp://127.0.0.1:")
    yield address
    process.communicate("")


@pytest.mark.thorough
def test_a_dask_cluster_gives_the_same_verdicts(cyclebound, cluster, tmp_path):
    words = ("regress", "noc.arbiter", "-c", "four", "-c", "paper", *QUICK, "--json")
    there = cyclebound(*words, "--scheduler", cluster, "-o", "there")
    here = cyclebound(*words, "-o", "here")
    assert (there.returncode, there.stderr) == (here.returncode, here.stderr) == (0, "")
    drop = ("cycles_per_second",)
    there, here = ([{name: value for name, value in row.items() if name not in drop}
                    for row in json.loads(said.stdout)["verdicts"]] for said in (there, here))
    assert there == here
    assert len(here) > 1
    assert Path(tmp_path / "there" / "jobs").is_dir()


@pytest.mark.thorough
def test_ctrl_c_on_a_cluster(begin, cluster, tmp_path):
    """What had finished is kept; what had not begun is withdrawn; what runs ends by itself."""
    process = begin("regress", "test.slow", *QUICK, "--scheduler", cluster, "-o", "run")
    assert halfway(tmp_path / "run")
    process.send_signal(signal.SIGINT)
    _, wrong = process.communicate()
    assert process.returncode == 130
    assert "interrupted; what had finished is kept" in wrong
    before = finished(tmp_path / "run")
    assert until(lambda: not inside(tmp_path / "run"))
    resumes(begin, tmp_path / "run", before)


@pytest.mark.parametrize(("address", "message"), [
    pytest.param("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1: ",
                 marks=pytest.mark.thorough),  # it waits
    ("nonsense://x", "no Dask scheduler answers at nonsense://x: ")])
def test_a_dask_scheduler_that_does_not_answer(cyclebound, address, message):
    pytest.importorskip("distributed")
    said = cyclebound("regress", "noc.arbiter", *QUICK, "--scheduler", address, "-o", "run")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith(f"cyclebound: {message}")
    assert said.stderr.count("\n") == 1
