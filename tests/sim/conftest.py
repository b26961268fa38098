"""What the tests of the command line and of what it reads share."""

import gc
import subprocess
import sys

import pytest

from cyclebound.sim import cli


@pytest.fixture
def call(monkeypatch, capfd, tmp_path):
    """``call(*words)``: the command in this process, in an empty folder; no exception leaves it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["cyclebound", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capfd.readouterr()
        return subprocess.CompletedProcess(words, ended.value.code, said.out, said.err)

    yield run
    gc.collect()  # Amaranth warns where a component that was only made is collected
