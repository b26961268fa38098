"""`BoundMonitor` with bounds in time and on the falling edge, under Icarus."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from kit.icarus import needs_icarus

pytestmark = [pytest.mark.system, needs_icarus]

DESIGN = """`timescale 10ps/10ps
module wires (input clk, input req, input ack, input [7:0] size);
endmodule
"""
TEST = """
import random
import cocotb
from cocotb.triggers import Timer
from cyclebound.tb.monitor import BoundMonitor

@cocotb.test()
async def in_time(dut):
    # steps of 10 ps; the period varies from request to request, and is what `size` shows
    dut.clk.value = dut.req.value = dut.ack.value = dut.size.value = 0
    await Timer(7, "step")
    own = {"start": "req & ~past(req & ~ack)", "end": "req & ack", "request": {"size": "size"}}
    whole = BoundMonitor(dut, bound="size * 30 ps", name="whole", **own)
    late = BoundMonitor(dut, bound="size * 30 ps", name="late", start="rose(req)", end="req & ack",
                        request={"size": "size"})
    cycles = BoundMonitor(dut, bound=3, name="cycles", start=own["start"], end=own["end"])
    fast = BoundMonitor(dut, bound="0.299 ns", name="fast", start=own["start"], end=own["end"])
    for attribute, words in (("ticks", {"ticks": "req"}), ("n", {"fixed": {"n": 1}})):
        try:
            BoundMonitor(dut, bound="9 ns", start="req", end="ack", **words)
        except ValueError as error:
            assert attribute in str(error), error
        else:
            raise AssertionError(attribute)
    rng = random.Random(1)

    async def cycle(period, req=0, ack=0):
        # from one rising edge to the next, after which a flip-flop's outputs change
        await Timer(1, "step")
        dut.size.value, dut.req.value, dut.ack.value = period, req, ack
        await Timer(period // 2, "step")
        dut.clk.value = 0
        await Timer(period - 1 - period // 2, "step")
        dut.clk.value = 1

    await cycle(10)
    periods = [10, *rng.sample(range(4, 90), 30)]
    for period in periods:
        for ack in (0, 0, 1):
            await cycle(period, 1, ack)
        await cycle(10)
    await cycle(10)
    finding = whole.check()
    # each took three periods, and `size` counts in steps of 10 ps
    assert (finding.verdict, finding.requests) == ("exact", 31), finding
    assert finding.worst == 3 * max(periods), finding
    assert late.check().histogram == finding.histogram
    assert cycles.check().verdict == "exact"
    try:
        fast.check()
    except AssertionError as error:
        assert "10 ps, bound 29: " in str(error), error
    else:
        raise AssertionError("a bound in time that is broken was not noticed")

@cocotb.test()
async def falling(dut):
    # `ack` is 1 around rising edges only, `req` around falling ones
    dut.clk.value = dut.req.value = dut.ack.value = dut.size.value = 0
    await Timer(1, "ns")
    monitors = {name: BoundMonitor(dut, start=name, end=name, bound=1, name=name, clock=clock)
                for name, clock in (("ack", "clk"), ("req", "~clk"))}
    none = BoundMonitor(dut, start="ack", end="ack", bound=1, clock="!clk")
    for _ in range(20):
        dut.ack.value, dut.req.value = 1, 0
        await Timer(2, "ns")
        dut.clk.value = 1
        await Timer(2, "ns")
        dut.ack.value, dut.req.value = 0, 1
        await Timer(2, "ns")
        dut.clk.value = 0
        await Timer(2, "ns")
    for monitor in monitors.values():
        finding = monitor.check()
        assert (finding.verdict, finding.requests) == ("exact", 20), finding
    try:
        none.check()
    except AssertionError as error:
        assert "unobserved" in str(error), error
    else:
        raise AssertionError("ack is never 1 at a falling edge")
"""
RUN = """
import sys
from cocotb_tools.runner import get_runner
runner = get_runner("icarus")
runner.build(sources=["wires.v"], hdl_toplevel="wires", build_dir="build")
runner.test(hdl_toplevel="wires", test_module="watched", build_dir="build", test_dir=".",
            results_xml=sys.argv[1])
"""


def test_bounds_in_time_and_falling_edges(tmp_path):
    for name, text in (("wires.v", DESIGN), ("watched.py", TEST), ("run.py", RUN)):
        (tmp_path / name).write_text(text)
    results = tmp_path / "results.xml"
    done = subprocess.run([sys.executable, "run.py", results], cwd=tmp_path, text=True,
                          capture_output=True,
                          env={**os.environ, "COCOTB_ANSI_OUTPUT": "0"})
    assert results.is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    cases = list(ElementTree.parse(results).iter("testcase"))
    assert [case.get("name") for case in cases] == ["in_time", "falling"]
    failed = [case.get("name") for case in cases for kind in ("failure", "error")
              if case.find(kind) is not None]
    assert not failed, done.stdout[-4000:]
