"""What all tests share."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cyclebound.sim.toolchain import cache_root

PAGES = Path(__file__).parent / "sim" / "pages"


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="also what takes minutes by itself")


def pytest_collection_modifyitems(config, items):
    """Leave out tests marked ``thorough``, unless they are asked for."""
    if config.getoption("thorough"):
        return
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


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

    def run(*words, timeout=300, cwd=tmp_path, **environment):
        said = subprocess.run([*command, *map(str, words)], cwd=cwd, timeout=timeout, text=True,
                              capture_output=True, env={**command_environment, **environment})
        said.stderr = re.sub(r"^\[ *\d+:\d\d\] .*\n", "", said.stderr, flags=re.MULTILINE)
        return said

    return run


@pytest.fixture
def pages(monkeypatch):
    """The catalogue pages of the tests, importable here and in simulators."""
    monkeypatch.syspath_prepend(PAGES)
    return ("faults",)
