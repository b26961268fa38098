"""The exception of a testbench that does not import is the reason of its job."""

import sys

import pytest

from cyclebound.sim.run.simulator import _raised

LOG = """     0.00ns INFO  cocotb.regression  starts
Traceback (most recent call last):
  File "/somewhere/cocotb/regression.py", line 150, in discover
    importlib.import_module(name)
  File "/somewhere/bad_tb.py", line 7, in <module>
    import nothing_there
ModuleNotFoundError: No module named 'nothing_there'
- :0: Verilog $finish
"""


@pytest.mark.unit
def test_the_last_exception_and_its_line():
    assert _raised(LOG) == ("the testbench does not import: bad_tb.py:7: ModuleNotFoundError: "
                            "No module named 'nothing_there'")
    assert _raised(LOG.replace("Traceback", "Trace")) == ""
    assert _raised("") == ""


@pytest.mark.cosim
def test_a_testbench_that_does_not_import(tmp_path, monkeypatch):
    from cyclebound.sim.run.job import Job, run_job
    (tmp_path / "broken_testbench.py").write_text("import nothing_there\n")
    (tmp_path / "broken_page.py").write_text(
        "import dataclasses\nfrom cyclebound.sim import catalogue\n"
        "block = catalogue.load().find('noc.arbiter')\n"
        "bench = dataclasses.replace(block.testbenches[0], module='broken_testbench')\n"
        "BLOCKS = (dataclasses.replace(block, name='test.broken', testbenches=(bench,)),)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = run_job(Job("test.broken", "four", "cycle", 1, str(tmp_path), pages=("broken_page",)))
    assert not found.passed
    assert found.reason.startswith("the testbench does not import: broken_testbench.py:1: "
                                   "ModuleNotFoundError: No module named 'nothing_there'; see ")
    sys.modules.pop("broken_page", None)
