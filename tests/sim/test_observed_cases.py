"""What a testbench says of its requests, and what hardware sees: planted faults in testbenches."""

import importlib
import inspect
import sys

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, run_job
from kit.faults import replace_once

pytestmark = pytest.mark.cosim


def outcome(folder, monkeypatch, block, configuration, test, edit):
    """A job of a testbench with an edit in its source; by any other name, as a user's would be."""
    bench = catalogue.load().find(block).testbenches[0]
    source = inspect.getsource(importlib.import_module(bench.module))
    (folder / "edited_testbench.py").write_text(replace_once(source, *edit))
    page = "edited_" + block.replace(".", "_")  # a page that is loaded stays
    (folder / f"{page}.py").write_text(
        "import dataclasses\nfrom cyclebound.sim import catalogue\n"
        f"block = catalogue.load().find({block!r})\n"
        "bench = dataclasses.replace(block.testbenches[0], module='edited_testbench')\n"
        "BLOCKS = (dataclasses.replace(block, name='test.edited', testbenches=(bench,)),)\n")
    monkeypatch.syspath_prepend(str(folder))
    try:
        return run_job(Job("test.edited", configuration, bench.name, 1, str(folder), test=test,
                           pages=(page,)))
    finally:
        sys.modules.pop(page, None)


@pytest.mark.parametrize(("edit", "missing"), [
    # nobody is served before: the arbiter is as the transaction before has left it
    (("alone = [tester.transaction(bank, tester.word_bytes, write=True)]", "alone = []"), True),
    # rivals that do not come back
    (("tester.place(rival, bank, lambda: tester.transaction(bank, tester.word_bytes))",
      "tester.place(rival, bank, lambda o=[1]: tester.transaction(bank, o.pop()) if o else None)"),
     True),
    (("from collections.abc", "from  collections.abc"), False)], ids=("state", "rivals", "none"))
def test_a_state_or_condition_that_never_was_is_no_case(tmp_path, monkeypatch, edit, missing):
    """Though all kinds of requests are there, and each takes what its bound allows or less."""
    found = outcome(tmp_path, monkeypatch, "sram.banked_memory", "tiny",
                    "every_size_and_state_under_the_adversary", edit)
    assert found.passed, found.reason
    block = catalogue.load().find("sram.banked_memory")
    row = next(row for row in judge(block, "tiny", [(found.name, group) for group in found.groups])
               if row.what == "transaction")
    assert row.kinds == 32
    assert (row.evidence != "exhaustive") == missing
    assert row.detail.startswith("not exhaustive: " if missing else "")


def test_what_is_declared_wrongly_is_an_error(tmp_path, monkeypatch):
    """Even if the prediction would come out."""
    found = outcome(tmp_path, monkeypatch, "systolic.max_pooling", "2", "every_shape",
                    ("bench.declare(\"image\", height=height, width=width,",
                     "bench.declare(\"image\", height=width, width=height,"))
    assert not found.passed
    assert found.reason.startswith("every_shape: the testbench declared height 2 of a 'image' "
                                   "request that begins in cycle ")
    assert found.reason.endswith(", and hardware saw 1")
