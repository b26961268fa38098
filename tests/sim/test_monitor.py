# amaranth: UnusedElaboratable=no
"""Bounds as checkers for other designs: hardware against a model, assertions in two readers."""

import random
import re
import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from cyclebound.golden.bound import NotCovered, bound, prediction
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.toolchain import put_verilator_on_path
from cyclebound.sim.build.elaborate import run_yosys
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration
from cyclebound.sim.export.monitor import monitor, monitors
from cyclebound.sim.export.verilog import export, warnings
from cyclebound.sim.netlist.verilog_module import VerilogModule
from cyclebound.tb.probe import Probe

pytestmark = pytest.mark.unit


class Events(wiring.Component):
    """Ports of a block that the test plays itself."""

    start: In(1)
    end: In(1)
    tick: In(1)
    id: In(2)
    end_id: In(2)
    size: In(4)

    many = 3
    lanes = 1


@bound(formula="3 + 2 size, up to 9", source="a test")
def sized(*, size: int) -> int:
    if size > 9:
        raise NotCovered("size")
    return 3 + 2 * size


@bound(formula="7", source="a test")
def seven() -> int:
    return 7


@prediction(formula="5", source="a test")
def five() -> int:
    return 5


PROBES = {
    "one at a time": (sized, {"request": {"size": "size"}}),
    "in order": (sized, {"request": {"size": "size"}, "in_flight": "many"}),
    "by name": (sized, {"request": {"size": "size"}, "id": "id", "end_id": "end_id"}),
    "in turn": (seven, {"in_flight": 3, "in_turn": True, "ahead": "1"}),
    "ticks": (seven, {"in_flight": 2, "ticks": "tick"}),
    "predicted": (five, {}),
}


class Model:
    """The requests that are under way, each with its age and bound."""

    def __init__(self, limit, how):
        self.limit, self.how = limit, how
        self.under_way, self.since_turn = [], 0
        self.count = self.worst = 0

    def step(self, start, end, tick, name, end_name, size):
        """The flags of a cycle."""
        tick = tick if "ticks" in self.how else 1
        flags = dict.fromkeys(("exceeded", "unclear", "ended", "early", "uncovered"), 0)
        names = "id" in self.how
        for one in self.under_way:
            one["age"] += tick
        self.since_turn += tick
        if start:
            try:
                limit = self.limit(size=size) if "request" in self.how else self.limit()
            except NotCovered:
                limit, flags["uncovered"] = None, 1
            self.under_way.append({"age": tick, "limit": limit, "name": name})
        mine = [one for one in self.under_way if not names or one["name"] == end_name]

        def age(one):
            return min(one["age"], self.since_turn + 1) if "in_turn" in self.how else one["age"]

        judged = self.under_way[:1] if "in_turn" in self.how else self.under_way
        flags["exceeded"] = int(any(one["limit"] is not None and age(one) > one["limit"]
                                    for one in judged))
        if end and mine:
            one = mine[0]
            if one["limit"] is not None:
                flags["ended"] = 1
                flags["early"] = int(age(one) < one["limit"])
                self.count, self.worst = self.count + 1, max(self.worst, age(one))
            self.under_way.remove(one)
            self.since_turn = 0
        return flags


@pytest.mark.parametrize("kind", PROBES)
def test_a_checker_says_what_a_model_says_in_every_cycle(kind):
    """Ends that come late, at once, and long after every counter is full."""
    claim, how = PROBES[kind]
    component = Events()
    block = Block("own.events", "events", lambda: component,
                  {"only": Configuration({})}, bounds=(BoundBinding(
                      "event", claim, probe=Probe("start", "end", **how)),))
    made = monitor(block, block.bounds[0], {}, bins=4)
    assert warnings(made.verilog, made.name) == []
    checker = made.block.make({})
    model, rng = Model(claim, how), random.Random(kind)
    room = {"many": 3}.get(how.get("in_flight"), how.get("in_flight", 1))
    seen = dict.fromkeys(("exceeded", "ended", "early", "uncovered"), 0)
    histogram = [0] * 4

    domain, resets, ended = ClockDomain("sync"), 0, 0

    async def play(ctx):
        nonlocal model, resets, ended
        for cycle in range(6_000):
            slow = cycle // 500 % 3 == 2
            name, end_name, size = rng.randrange(4), rng.randrange(4), rng.randrange(12)
            names = [one["name"] for one in model.under_way]
            free = name not in names if "id" in how else len(names) < room
            start = int(free and rng.random() < 0.3)
            can = (end_name in names or (start and name == end_name)) if "id" in how else (
                bool(names) or start)
            end = int(can and rng.random() < (0.02 if slow else 0.3))
            tick, reset = int(rng.random() < 0.6), int(rng.random() < 0.002)
            ctx.set(domain.rst, reset)
            values = {"start": start, "end": end, "tick": tick, "id": name, "end_id": end_name,
                      "size": size}
            for port, value in values.items():
                if hasattr(checker, port):
                    ctx.set(getattr(checker, port), value)
            full = (1 << checker.width) - 1
            counts = model.count, min(model.worst, full)
            assert (ctx.get(checker.request_count), ctx.get(checker.worst_latency)) == counts
            if reset:
                flags = dict.fromkeys(checker.flags, 0)
                model, resets = Model(claim, how), resets + 1
            else:
                flags = model.step(start, end, tick, name, end_name, size)
                ended += flags["ended"]
            for flag, value in flags.items():
                if hasattr(checker, flag):
                    assert ctx.get(getattr(checker, flag)) == value, (cycle, flag)
                    seen[flag] = seen.get(flag, 0) + value
            await ctx.tick()
        for number in range(4):
            ctx.set(checker.bin, number)
            histogram[number] = ctx.get(checker.bin_count)
        ctx.set(domain.rst, 0)
        ctx.set(checker.start, 0)
        ctx.set(checker.end, 1)  # what has not begun cannot end
        for _ in range(8):
            await ctx.tick()
        assert ctx.get(checker.unclear) == 1

    top = Module()
    top.domains.sync = domain
    top.submodules.checker = checker
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.run()
    assert seen["exceeded"] > 20
    assert seen["ended"] > 200
    assert resets > 3
    assert sum(histogram) == ended  # a reset does not clear it
    assert all(histogram[number] for number in (0, 3))
    assert (seen["early"] > 20) == (kind == "predicted")
    assert (seen["uncovered"] > 20) == ("request" in how)


LATE = """
module late (input clk, input rst_n, input slow, input req, output ack);
  reg [3:0] n = 0, served = 0;
  wire [3:0] takes = slow && served == 4 ? 5 : 3;
  assign ack = req && n == takes;
  always @(posedge clk)
    if (!rst_n) begin n <= 0; served <= 0; end
    else if (ack) begin n <= 0; served <= served + 1; end
    else if (req) n <= n + 1;
endmodule
"""
BENCH = """
module tb;
  reg clk = 0, rst_n = 0, req = 0, was = 0, slow;
  wire ack;
  integer cycle = 0;
  late dut (.*);
  initial slow = $test$plusargs("slow") != 0;
  always #5 clk = ~clk;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    rst_n <= cycle > 2;
    if (rst_n && req && !was) $display("begin %0t", $time);
    was <= req && !ack;
    if (!req || ack) req <= rst_n && ($random % 3 == 0);
    if (cycle == 400) $finish;
  end
endmodule
"""
# The same by counting cycles in which the request stands, without a word of probes.
REFERENCE = """
module reference (input clk, input rst, input req, input ack);
  wire exceeded, unclear, ended;
  late_access_monitor dut (.clk(clk), .rst(rst), .req(req), .ack(ack), .exceeded(exceeded),
                           .unclear(unclear), .ended(ended));
  reg [7:0] stood = 0;
  reg open = 0;
  always @(posedge clk) begin
    assume (!open || req);
    assume (!(ack && !req));
    open <= !rst && req && !ack;
    stood <= rst || !req || ack ? 0 : stood == 255 ? 255 : stood + 1;
    assert (exceeded == (!rst && req && stood >= LIMIT));
    assert (!unclear);
  end
endmodule
"""


@bound(formula="4", source="its counter", environment="a request stays until it is answered")
def four() -> int:
    return 4


@pytest.fixture
def late(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("late.v").write_text(LATE)
    Path("tb.sv").write_text(BENCH)
    module = VerilogModule(("late.v",), "late")
    return Block("own.late", "answers late", module, {"only": Configuration({})}, bounds=(
        BoundBinding("access", four, probe=Probe("req & ~past(req & ~ack)", "req & ack")),))


def written(made):
    Path("checker.v").write_text(made.verilog)
    Path("bind.sv").write_text(made.bind)


def test_the_flag_rises_just_when_the_bound_is_exceeded_which_is_proved(late, tmp_path):
    """For any number of cycles; and of another limit it is refuted."""
    written(monitor(late, late.bounds[0], {}, figures=False))
    script = ("read_slang --top reference checker.v reference.sv; prep -flatten -top reference; "
              "async2sync; chformal -lower; opt_clean; sat -tempinduct -verify -prove-asserts "
              "-set-assumes -prove dut.probe_level open -seq 1 -maxsteps 12 reference")
    Path("reference.sv").write_text(REFERENCE.replace("LIMIT", "4"))
    run_yosys(script, tmp_path)
    for wrong in ("3", "5"):
        Path("reference.sv").write_text(REFERENCE.replace("LIMIT", wrong))
        with pytest.raises(RuntimeError, match="proof did fail"):
            run_yosys(script, tmp_path)


def test_a_bind_file_is_read_with_the_users_own_module(late, tmp_path):
    """Its reset is active low; slang resolves every name, and keeps the assertions."""
    written(monitor(late, late.bounds[0], {}))
    assert ".rst(!rst_n)" in Path("bind.sv").read_text()
    run_yosys("read_slang --top late late.v checker.v bind.sv; hierarchy -check -top late; proc; "
              "flatten; async2sync; chformal -lower; write_rtlil all.il", tmp_path)
    text = Path("all.il").read_text()
    assert len(re.findall(r"cell \$assert ", text)) == 2
    assert len(re.findall(r"cell \$cover ", text)) == 2


def test_a_bind_file_is_proved_where_its_own_module_keeps_the_bound(late, tmp_path):
    written(monitor(late, late.bounds[0], {}, figures=False))
    around = """module around (input clk, input rst_n, input req, output ack);
      late dut (.clk(clk), .rst_n(rst_n), .slow(SLOW), .req(req), .ack(ack));
      reg open = 0;
      always @(posedge clk) begin open <= rst_n && req && !ack; assume (!open || req); end
    endmodule"""
    script = ("read_slang --top around around.sv late.v checker.v bind.sv; prep -flatten -top "
              "around; async2sync; chformal -lower; chformal -cover -remove; opt_clean; sat {}")
    Path("around.sv").write_text(around.replace("SLOW", "1'b0"))
    run_yosys(script.format("-tempinduct -verify -prove-asserts -set-assumes -prove "
                             "dut.late_access_monitor_bound.monitor.probe_level open -seq 1 "
                             "-maxsteps 12"), tmp_path)
    Path("around.sv").write_text(around.replace("SLOW", "1'b1"))
    with pytest.raises(RuntimeError, match="proof did fail"):
        run_yosys(script.format("-seq 30 -verify -prove-asserts -set-assumes"),
                  tmp_path)


def test_a_bind_file_is_read_with_an_exported_block(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = catalogue.load().find("dram.controller")
    parameters = block.configuration(None)[1].parameters
    [made], _ = monitors(block, parameters, "mapping", name="left")
    written(made)
    Path("block.v").write_text(export(block, parameters, "left").text)
    run_yosys("read_slang --top left block.v checker.v bind.sv; hierarchy -check -top left; "
              "write_rtlil all.il", tmp_path)
    assert "left_mapping_monitor_bound" in Path("all.il").read_text()


@pytest.mark.thorough
def test_assertions_of_a_bind_file_fail_in_the_very_cycle(late, tmp_path):
    """Verilator compiles block, checker and bind file; the slow block's fifth request is late."""
    written(monitor(late, late.bounds[0], {}))
    put_verilator_on_path()
    subprocess.run(["verilator_bin", "--binary", "--assert", "-Wno-fatal", "--top", "tb", "-CFLAGS",
                    "-O0", "-o", "sim", "tb.sv", "late.v", "checker.v", "bind.sv"], check=True,
                   capture_output=True)
    passes, fails = (subprocess.run(["obj_dir/sim", *more], capture_output=True, text=True)
                     for more in ([], ["+slow"]))
    assert passes.returncode == 0
    assert passes.stdout.count("begin") > 30
    assert "Assertion" not in passes.stdout
    assert fails.returncode != 0
    begun = [int(time) for time in re.findall(r"begin (\d+)", fails.stdout)]
    [(when, says)] = re.findall(r"\[(\d+)\] %Error: .*bound_holds: (.*)", fails.stdout)
    assert says == "own.late access: a request takes more than 4 cycles"
    assert len(begun) == 5
    assert int(when) == begun[-1] + 4 * 10  # its fifth cycle


def test_what_cannot_be_expressed_is_named():
    block = catalogue.load().find("dram.stride_sequencer")
    parameters = block.configuration(None)[1].parameters
    made, without = monitors(block, parameters)
    assert made == []
    assert "words has values of 20 bits" in without["tile"]
    fewer = {"start": (0, 1), "words": (1, 8), "gap": (0, 0), "count": (1, 4)}
    [made], _ = monitors(block, parameters, "tile", values=fewer)
    assert "bound_speaks_of_it" in made.bind
    assert "not_early" in made.bind
    arbiter = catalogue.load().find("noc.arbiter")
    with pytest.raises(UserError, match="no port shows requesters"):
        monitors(arbiter, {"count": 4}, "grant")
    [made], _ = monitors(arbiter, {"count": 4}, "grant", values={"requesters": (1, 4)})
    assert "declared_requesters" in made.verilog
    assert "`NOC_ARBITER_GRANT_MONITOR_REQUESTERS" in made.bind
    assert "`define NOC_ARBITER_GRANT_MONITOR_CLASS 1'b1" in made.bind


def test_values_that_a_bound_refuses(call, tmp_path):
    """Those values are uncovered; where all are, the bound's reason is said."""
    words = ("monitor", "noc.end_to_end", "flow", "--values", "period=300..301", "-o", tmp_path)
    done = call(*words, "--values", "window=1..4")
    assert done.returncode == 2
    assert "flow speaks of no request with these parameters: window must be at least" in done.stderr
    done = call(*words, "--values", "window=88..91")
    assert done.returncode == 0, done.stderr
    assert "declared_window" in (tmp_path / "noc_end_to_end_flow_monitor.v").read_text()


def test_commands_of_checkers(call, tmp_path):
    said = call("monitor", "noc.arbiter", "--set", "requesters=4", "--histogram", "4", "--area")
    assert said.returncode == 0, said.stderr
    assert "bound round_robin_wait of noc.arbiter grant, 4 grants" in said.stderr
    assert "% " in said.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "noc_arbiter_grant_monitor.v", "noc_arbiter_grant_monitor_bind.sv"]
    for words, message in {
            "monitor noc.arbiter nosuch": "no claim of noc.arbiter 'nosuch'; known are grant",
            "monitor noc.arbiter --values x=3":
                "--values takes NAME=LEAST..GREATEST, not 'x=3'",
            "monitor noc.arbiter --histogram 1": "--histogram takes at least 2 bins, not 1",
            }.items():
        said = call(*words.split())
        assert (said.returncode, said.stderr) == (2, f"cyclebound: {message}\n")
