"""What all tests share."""

import fcntl
import functools
import gc
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from cyclebound.sim.base import audit
from cyclebound.sim.base.toolchain import cache_root

pytest_plugins = ["pytester", "kit.browser", "kit.costs"]

PAGES = Path(__file__).parent / "sim" / "pages"

# Containers often forbid bytecode files; each worker and each of about a hundred processes that
# tests start would then compile all sources again, which is half of what a short command costs.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="also what takes minutes by itself")
    parser.addoption("--shard", type=_shard, default=(1, 1), metavar="K/N",
                     help="only part K of N: a test's part follows from its name alone, so that "
                          "N machines with --shard 1/N to N/N run every test once")


def _shard(text):
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise ValueError(text)  # argparse says which option, and what it was given
    return part, parts


def pytest_collection_modifyitems(config, items):
    """Leave out tests marked ``thorough``, unless they are asked for, and other parts' tests."""
    part, parts = config.getoption("shard")
    left_out = {item for item in items
                if (item.get_closest_marker("thorough") and not config.getoption("thorough"))
                or int(sha256(item.nodeid.encode()).hexdigest(), 16) % parts != part - 1}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish():
    """Spare the garbage collector what lives to the session's end: modules, tests, parameters.

    Designs are made of many small objects in cycles. With Python's own thresholds a sixth of an
    elaboration's time went into looking through all objects again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(autouse=True)
def _reads_of_one_test():
    """What one test lets models read is not in the way of another that keeps what it makes."""
    before = set(audit._reads)
    yield
    audit._reads.intersection_update(before)


@pytest.fixture
def no_baseline(monkeypatch, tmp_path):
    """Nothing is committed: for results of this project's blocks that a test makes up."""
    from cyclebound.sim.regression import baseline

    monkeypatch.setattr(baseline, "_baseline",
                        lambda level: baseline.Baseline(level, tmp_path / "no baseline"))


@pytest.fixture(scope="session")
def cache():
    """The folder of builds, the same for all tests, their subprocesses, and the next session."""
    return cache_root()


@pytest.fixture(scope="session")
def command_environment(cache):
    """The environment of a user who has the pages of the tests."""
    names = ("CXX", "CYCLEBOUND_CATALOGUE", "COLUMNS", "FORCE_COLOR")
    return {**{name: value for name, value in os.environ.items() if name not in names},
            "CYCLEBOUND_CACHE": str(cache.resolve()), "PYTHONPATH": str(PAGES),
            "PYTHONWARNINGS": "default", "TERM": "dumb"}


@pytest.fixture(scope="session")
def command():
    """The words that start the command line."""
    return [str(Path(sys.executable).with_name("cyclebound"))]


@pytest.fixture
def cyclebound(command, command_environment, tmp_path):
    """``cyclebound(*words, **environment)``: run the command in an empty folder.

    What it says of its progress on a machine so slow that it takes minutes is left out.
    """

    def run(*words, cwd=tmp_path, **environment):
        said = subprocess.run([*command, *map(str, words)], cwd=cwd, text=True,
                              capture_output=True, env={**command_environment, **environment})
        said.stderr = re.sub(r"^\[ *\d+:\d\d\] .*\n", "", said.stderr, flags=re.MULTILINE)
        return said

    return run


@pytest.fixture
def call(monkeypatch, capfd, tmp_path):
    """``call(*words)``: what ``cyclebound`` does, without a process: it costs two seconds less.

    No exception leaves the command.
    """
    from cyclebound.sim.cli import main as cli  # here: tests of models need no command line

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["cyclebound", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capfd.readouterr()
        return subprocess.CompletedProcess(words, ended.value.code, said.out, said.err)

    return run


@pytest.fixture
def only(monkeypatch):
    """``only(says, *modules)``: leave one assertion in force; see `kit.faults.leave_one`."""
    from kit.faults import leave_one  # here: tests of models need no Amaranth

    return functools.partial(leave_one, monkeypatch)


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """``once(name, make)``: a folder that ``make(folder)`` fills once for all pytest's workers.

    Tests read it, or copy it.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # of all workers of this session

    def made(name, make):
        folder, done = root / f"once-{name}", root / f"once-{name}.done"
        with (root / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return made


@pytest.fixture
def pages(monkeypatch):
    """The catalogue pages of the tests, importable here and in simulators."""
    monkeypatch.syspath_prepend(PAGES)
    return ("faults",)

