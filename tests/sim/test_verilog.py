# amaranth: UnusedElaboratable=no
import gc
import re
import warnings

import pytest
from amaranth.hdl import Module, Signal, UnusedElaboratable
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.noc.arbiter import RoundRobinArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.block import Block, Configuration
from cyclebound.sim.errors import UserError
from cyclebound.sim.verilog import WAIVED, export, lint, module_name

pytestmark = pytest.mark.unit


SMALLER = {"noc.handshake_mesh": "late", "noc.pipelined_mesh": "pair"}  # than the first


@pytest.mark.parametrize(("block", "name"),
                         [(block, SMALLER.get(block.name, next(iter(block.configurations))))
                          for block in catalogue.load()],
                         ids=lambda value: getattr(value, "name", value))
def test_every_block_exports_without_a_warning(block, name):
    gc.collect()
    with warnings.catch_warnings(record=True) as unused:
        warnings.simplefilter("always", UnusedElaboratable)
        text = export(block, block.configurations[name].parameters)
        gc.collect()
    assert [str(each.message) for each in unused] == []
    assert lint(text, module_name(block), block.unread) == []


def test_a_part_that_is_left_unused_is_noticed():
    with warnings.catch_warnings(record=True) as unused:
        warnings.simplefilter("always", UnusedElaboratable)
        exec(compile("made(count=2)", "<a file without our first line>", "exec"),
             {"made": RoundRobinArbiter})
        gc.collect()
    assert any("RoundRobinArbiter" in str(each.message) for each in unused)


def test_text_is_headed_and_the_same_every_time():
    block = catalogue.load().find("noc.arbiter")
    text = export(block, {"count": 4})
    assert text == export(block, {"count": 4})
    head = text.splitlines()[:5]
    assert head[0] == f"// noc.arbiter: {block.summary}"
    assert head[1] == "// parameters: count=4"
    assert re.fullmatch(r"// made by cyclebound [\d.]+ with amaranth [\d.]+", head[2])
    assert head[4].startswith("module noc_arbiter(")
    assert "\\" not in text
    assert "(*" not in text


class Faulty(wiring.Component):
    """One fault at a time."""

    def __init__(self, *, fault):
        self.fault = fault
        super().__init__({"a": In(4), "spare": In(2), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        x, y = Signal(4), Signal(4)
        m.d.sync += self.o.eq(x)
        if self.fault == "loop":
            m.d.comb += [x.eq(y + self.a), y.eq(x ^ self.spare)]
        elif self.fault == "drivers":
            m.submodules.inner = inner = Module()
            inner.d.comb += x.eq(self.a)
            m.d.comb += x.eq(self.spare)
        elif self.fault == "unread":
            m.d.comb += x.eq(self.a)
        elif self.fault == "half read":
            m.d.comb += x.eq(self.a + self.spare[0])
        else:
            m.d.comb += x.eq(self.a + self.spare)
        return m


BLOCK = Block("test.faulty", "one fault at a time", Faulty,
              {"none": Configuration({"fault": None})}, (), ())


@pytest.mark.parametrize(("fault", "message"), [
    ("loop", r"^test\.faulty: Combinational cycle detected, path: .*$"),
    ("drivers", r"^test\.faulty: Signal .* driven .*$"),
])
def test_what_amaranth_refuses(fault, message):
    with pytest.raises(UserError, match=message):
        export(BLOCK, {"fault": fault})


def test_port_that_is_not_read_is_reported_and_nothing_else():
    assert lint(export(BLOCK, {"fault": None}), "test_faulty") == []
    [said] = lint(export(BLOCK, {"fault": "unread"}), "test_faulty")
    assert re.fullmatch(r"UNUSEDSIGNAL: test_faulty\.v:\d+:\d+: Signal is not used: 'spare'", said)
    text = export(BLOCK, {"fault": "unread"})
    [port] = re.findall(r"'(\w+)'", said)
    assert lint(text, "test_faulty", [port]) == []
    assert lint(text, "test_faulty", [port[1:]]) == [said]
    [said] = lint(export(BLOCK, {"fault": "half read"}), "test_faulty")
    assert re.fullmatch(r"UNUSEDSIGNAL: .* Bits of signal are not used: 'spare'\[1\]", said)


@pytest.mark.parametrize(("code", "body"), [
    ("LATCH", "always @* if (a) q = b;"),
    ("UNDRIVEN", "wire nothing; always @* q = nothing & a & b;"),
    ("UNOPTFLAT", "wire x = y ^ a; wire y = x ^ b; always @* q = x;"),
    ("MULTIDRIVEN", "always @(posedge a) q <= 1; always @(posedge b) q <= 0;"),
    ("ERROR", "always @* q = c;"),
])
def test_faults_in_verilog_are_reported(code, body):
    said = lint(f"module top(input a, input b, output reg q);\n{body}\nendmodule\n", "top")
    assert any(line.startswith(f"{code}: top.v:") for line in said), said


def test_every_waiver_has_a_reason():
    assert WAIVED
    assert all(re.fullmatch("[A-Z]+", code) and len(why) > 20 for code, why in WAIVED.items())
