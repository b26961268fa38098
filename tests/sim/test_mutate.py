"""Mutation of a block whose testbench has a hole, of which every fate is known beforehand."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib.memory import Memory

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import FAST_SCRIPT, FlatTop, simulation_verilog, to_rtlil
from cyclebound.sim.describe.block import Property
from cyclebound.sim.mutation import equivalence
from cyclebound.sim.mutation.equivalence import Comparison, Miter, _Circuit
from cyclebound.sim.mutation.mutants import Netlist
from cyclebound.sim.mutation.mutate import _Work, benches_of, mutate
from cyclebound.sim.mutation.rows import (
    FATES,
    Campaign,
    Judge,
    MutantRow,
    read_campaigns,
    score,
)
from cyclebound.sim.netlist.verilog_module import VerilogModule
from cyclebound.sim.report.report import write_report
from cyclebound.tb.watcher import Watcher

COUNT = 16
PAGE = Path(__file__).parent / "pages" / "weak.py"
LINE = {word: f"tests/sim/pages/weak.py:{number}"
        for number, line in enumerate(PAGE.read_text().splitlines(), 1)
        for word in re.findall(r"# (dead|counted|unseen|shadow)$", line)}


@pytest.fixture
def weak(pages):
    return catalogue.load(("weak",))


def netlist_of(block, folder, name="three"):
    top = FlatTop(block.make(block.configurations[name].parameters))
    return Netlist(to_rtlil(top, name="top", ports=top.ports, lines=True), folder)


@pytest.fixture
def run(once, weak, call):
    """A run with mutants of the counter."""
    def make(folder):
        said = call("--catalogue", "weak", "mutate", "test.tally", "-n", str(COUNT),
                    "-o", str(folder))
        assert said.returncode == 0, said.stderr
        (folder / "said.txt").write_text(said.stdout)
    return once("mutants", make)


@pytest.mark.unit
def test_the_block_is_mutated_and_nothing_else(weak, tmp_path):
    block = weak.find("test.tally")
    netlist = netlist_of(block, tmp_path)
    found = netlist.mutations(400, 1)
    assert [mutation.number for mutation in found] == list(range(1, len(found) + 1))
    assert len({(mutation.cell, mutation.options) for mutation in found}) == len(found) > 60
    assert {mutation.module for mutation in found} == {"top.dut"}
    assert {mutation.source for mutation in found} >= {
        LINE[word] for word in ("dead", "counted", "unseen")}
    assert not any(re.search(r"port (CLK|Q)\b|clk", mutation.says) for mutation in found)
    assert netlist.mutations(10, 1) == netlist.mutations(10, 1) != netlist.mutations(10, 2)
    assert len(netlist.mutations(10, 2)) == 10


LINES = """module part(input tick, d, output reg q);
always @(posedge tick) q <= ~d;
endmodule
module whole(input aclk, aresetn, d, output reg q); wire n;
part one(.tick(aclk), .d(d), .q(n));
always @(posedge aclk or negedge aresetn) if (!aresetn) q <= 0; else q <= n;
endmodule
"""


@pytest.mark.unit
@pytest.mark.parametrize("ending", ["v", "sv"])
def test_of_a_user_s_module_only_its_own_lines_are_mutated(tmp_path, monkeypatch, ending):
    """And no clock, whatever it is called."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"whole.{ending}").write_text(LINES)
    top = FlatTop(VerilogModule((f"whole.{ending}",), "whole")())
    found = Netlist(to_rtlil(top, name="top", ports=top.ports, lines=True), tmp_path).mutations(
        500, 1)
    assert {mutation.source.partition(":")[0] for mutation in found} == {f"whole.{ending}"}
    assert {mutation.module for mutation in found} == {"top.dut.whole", "top.dut.whole.one"}
    assert not [mutation.says for mutation in found
                if re.search(r"port (CLK|tick|aclk)\b|signal aclk", mutation.says)]
    assert any("port d[0]" in mutation.says for mutation in found)


@pytest.mark.unit
def test_mutations_are_spread_over_lines_cells_and_bits(weak, tmp_path):
    netlist = netlist_of(weak.find("test.tally"), tmp_path)
    every = netlist.mutations(100_000, 3)
    assert netlist.mutations(20, 3) == every[:20]  # a greater count goes on with the same ones
    cells = {(mutation.module, mutation.cell) for mutation in every}
    first = every[:2 * len(cells)]
    assert {(mutation.module, mutation.cell) for mutation in first} == cells
    assert {mutation.source for mutation in first} == {mutation.source for mutation in every}
    assert len({mutation.options.split()[1] for mutation in first}) > 2  # modes


@pytest.mark.unit
def test_a_mutation_means_the_same_in_each_design(weak, tmp_path):
    tally, offer = weak.find("test.tally"), weak.find("test.offer")
    netlist = netlist_of(tally, tmp_path)
    with pytest.raises(ValueError, match=r"^the block must have the same cells in both designs$"):
        Netlist(netlist_of(offer, tmp_path).text, tmp_path, like=netlist)
    first = netlist.mutations(1, 1)[0]
    assert netlist.mutated(first) != netlist.text
    assert re.search(r"wire input \d+ \\mutant", netlist.selectable([first]))


@pytest.mark.unit
def test_ports_that_are_numbered_by_the_design_are_not_mutated(tmp_path):
    """An input that two modules share has another name in each design around them."""
    def design(*around):
        first, second, answer, between = (Signal(4, name=name) for name in "abyt")
        shared = Signal(4, name="")
        top, dut, adds, masks = Module(), Module(), Module(), Module()
        dut.d.comb += shared.eq(first & second)
        adds.d.sync += between.eq(shared + second)
        masks.d.sync += answer.eq(between ^ shared)
        dut.submodules.adds, dut.submodules.masks = adds, masks
        for word in around:
            top.d.comb += first.eq(word + 1)
        top.submodules.dut = dut
        return to_rtlil(top, name="top", lines=True, ports=[*(around or [first]), second, answer])

    alone = Netlist(design(), tmp_path)
    beside = Netlist(design(Signal(4, name="other")), tmp_path, like=alone)
    found = alone.mutations(10_000, 1)
    assert {mutation.module for mutation in found} == {"top.dut", "top.dut.adds", "top.dut.masks"}
    numbered = [set(re.findall(r"port\$\d+\$\d+", netlist.text)) for netlist in (alone, beside)]
    assert all(numbered)
    assert numbered[0] != numbered[1]
    assert not any("port$" in mutation.options for mutation in found)
    assert "\\mutant" in beside.selectable(found)


@pytest.mark.proof
def test_equivalent_only_if_proved(weak, tmp_path):
    """Of a stream, what it shows without an offer does not count."""
    block = weak.find("test.offer")
    netlist = netlist_of(block, tmp_path)
    miter = Miter(lambda: block.make({"width": 3}), None, netlist, tmp_path)
    of = {mutation.options.partition(" -ctrlbit")[0]: miter.compare(mutation)
          for mutation in netlist.mutations(400, 1)
          if re.search(r"and \S+, port (B\[0\]|Y\[0\]).* is (stuck|inverted$)", mutation.says)}
    assert of == {
        "-mode const1 -port B -portbit 0": Comparison(True),  # the gate only hides
        "-mode const0 -port B -portbit 0": Comparison(False, 0),
        "-mode inv -port B -portbit 0": Comparison(False, 0),
        "-mode const0 -port Y -portbit 0": Comparison(False, 0),
        "-mode const1 -port Y -portbit 0": Comparison(False, 0),
        "-mode inv -port Y -portbit 0": Comparison(False, 0)}


class Even(Watcher):
    """Assumes that what is offered is even."""

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Assume(~(self.go & self.word[0]), "an odd offer")
        return m


@pytest.mark.proof
def test_what_only_differs_for_inputs_that_are_ruled_out_is_equivalent(weak, tmp_path):
    """Also in the very cycle of these: assumptions are decided at its end."""
    block = weak.find("test.offer")
    netlist = netlist_of(block, tmp_path)
    mutation = next(mutation for mutation in netlist.mutations(400, 1) if re.search(
        r"and \S+, port A\[0\].* is stuck at 0$", mutation.says))
    for checker, found in ((None, Comparison(False, 0)), (Even, Comparison(True))):
        miter = Miter(lambda: block.make({"width": 3}), checker, netlist, tmp_path)
        assert miter.compare(mutation) == found


@pytest.mark.proof
def test_what_a_memory_shows_at_first_is_the_same_for_a_mutant(weak, tmp_path):
    """It has no value there: as a free input, each mutant would differ from the block by it."""
    block = weak.find("test.kept")
    netlist = netlist_of(block, tmp_path)
    miter = Miter(lambda: block.make({"width": 3}), None, netlist, tmp_path)
    of = {mutation.options: miter.compare(mutation).equivalent
          for mutation in netlist.mutations(400, 1) if mutation.source == LINE["shadow"]
          and re.search(r": and \S+, port Y.* stuck", mutation.says)}
    assert of == {"-mode const0 -port Y -portbit 0": True,  # which it always is
                  "-mode const1 -port Y -portbit 0": False}


@pytest.mark.unit
def test_a_memory_with_all_mutations_of_its_reads_can_be_simulated(tmp_path):
    """Its asynchronous reads have no reset and are always enabled; yosys stops at others."""
    memory, inside = Module(), Memory(shape=2, depth=2, init=[])
    top = Module()
    top.submodules.dut = memory
    memory.submodules.memory = inside
    ports = []
    for port in (inside.write_port(), inside.read_port(), inside.read_port(domain="comb")):
        ports += [getattr(port, name) for name in port.signature.members]
    netlist = Netlist(to_rtlil(top, name="top", lines=True, ports=[
        port for port in ports if isinstance(port, Signal)]), tmp_path)
    mutations = [mutation for mutation in netlist.mutations(10_000, 1)
                 if "memrd" in mutation.says]
    assert {"-mode inv -port EN -portbit 0", "-mode inv -port ADDR -portbit 0"} <= {
        mutation.options for mutation in mutations}
    simulation_verilog(netlist.selectable(mutations), tmp_path, FAST_SCRIPT)


@pytest.mark.proof
def test_a_block_that_differs_from_itself_is_an_error(weak, tmp_path, monkeypatch):
    monkeypatch.setattr(equivalence, "_AIGER",
                        equivalence._AIGER.replace("setundef -init -zero\n", ""))
    block = weak.find("test.kept")
    netlist = netlist_of(block, tmp_path)
    miter = Miter(lambda: block.make({"width": 3}), None, netlist, tmp_path)
    reads = next(mutation for mutation in netlist.mutations(400, 1)
                 if mutation.source == LINE["shadow"])
    with pytest.raises(UserError, match=r"^the block differs from itself in cycle 0: "):
        miter.compare(reads)


def tally_of(campaign, fate):
    return sum(row.fate == fate for row in campaign.rows.values())


@pytest.mark.each_commit
@pytest.mark.cosim
def test_every_fate(run):
    campaign, = read_campaigns(run)
    lines = {fate: {row.source for row in campaign.rows.values() if row.fate == fate}
             for fate in FATES}
    assert len(campaign.rows) == COUNT
    assert LINE["counted"] in lines["killed"]
    assert not {LINE["dead"], LINE["unseen"]} & lines["killed"]
    assert LINE["unseen"] in lines["survived"]
    assert LINE["dead"] in lines["equivalent"]
    assert LINE["counted"] not in lines["survived"] | lines["unknown"]
    for row in campaign.rows.values():
        assert (row.by == "testbench cycle") == (row.fate in ("killed", "timeout"))
        assert (row.layer in ("comparison", "hang")) == (row.by == "testbench cycle")
        assert row.layer == "" or row.by
    assert campaign.layers["comparison"] == tally_of(campaign, "killed")
    assert campaign.judged == ["testbench cycle", "bound on turns"]
    assert campaign.left_out == [Judge("testbench around", "it simulates a top of its own")]
    tally = campaign.tally
    assert campaign.score == 100 * tally["killed"] / (len(campaign.rows) - tally["equivalent"])
    said = (run / "said.txt").read_text()
    assert f"score {campaign.score:.1f} %" in said
    assert f"killed by: testbench cycle {tally['killed']}" in said
    assert f"by layer: comparison {tally['killed']}" in said
    assert "judged by: testbench cycle, bound on turns\n" in said
    assert "not by: testbench around\n" in said
    assert LINE["unseen"] in said


@pytest.mark.cosim
def test_what_is_settled_is_not_run_again(run, weak, call):
    block = weak.find("test.tally")
    before, = read_campaigns(run)
    path = run / "mutants" / "test.tally-three.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + '\n{"number": 3')  # its writer was killed there
    told = []
    after = mutate(block, "three", run=run, count=COUNT, seed=1, pages=("weak",), tell=told.append)
    assert [row.number for row in told] == [json.loads(lines[-1])["number"]]
    assert {n: row.fate for n, row in after.rows.items()} == {
        n: row.fate for n, row in before.rows.items()}
    said = call("--catalogue", "weak", "mutate", "test.tally", "-n", str(COUNT), "-o", str(run),
                "--at-least", "99", "--json")
    assert said.returncode == 1
    found = json.loads(said.stdout)
    assert found["score"] == before.score
    assert found["judged_by"] == ["testbench cycle", "bound on turns"]
    assert found["left_out"] == {"testbench around": "it simulates a top of its own"}
    assert [row["number"] for row in found["mutants"]] == sorted(before.rows)
    page = write_report(run, run / "page.html").read_text()
    assert f"{before.score:.1f} %" in page
    assert page.count(LINE["unseen"]) >= 1
    assert ("judged by testbench cycle, bound on turns; "
            "not by testbench around (it simulates a top of its own)") in page
    assert "nothing was judged" not in page


@pytest.mark.unit
@pytest.mark.parametrize(("words", "says"), [
    (["test.tally", "-n", 0], "Input should be greater than or equal to 1"),
    (["test.tally", "--at-least", 101], "should be less than or equal to 100"),
    (["test.tally", "-c", "four"], "no configuration of test.tally 'four'; known are three"),
    (["test.tally", "--testbench", "around"],
     "testbench around of test.tally simulates a top of its own"),
    (["test.apart"], "no testbench of test.apart simulates configuration three of the block"),
    (["test.apart", "--testbench", "cycle"],
     "testbench cycle of test.apart does not run on configuration three"),
])
def test_bad_arguments(weak, call, tmp_path, words, says):
    said = call("--catalogue", "weak", "mutate", *words)
    assert said.returncode == 2
    assert says in said.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.cosim
def test_a_block_that_fails_has_no_mutants(pages, tmp_path):
    block = catalogue.load(("faults",)).find("test.mismatch")
    with pytest.raises(UserError, match=r"^test\.mismatch itself fails testbench cycle, so its "
                                        r"mutants would show nothing: requests: cycle"):
        mutate(block, "d3", run=tmp_path, count=2, seed=1, pages=("faults",))
    assert [bench.name for bench in benches_of(block, "d3")] == ["cycle"]


class CountsNothing(Watcher):
    """A bound checker that the block breaks at once."""

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Assert(self.count == 0, "it has counted")
        return m


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_block_that_breaks_a_property_has_no_mutants(weak, tmp_path):
    """Else the property would kill each mutant that the testbenches do not."""
    claim = Property("nothing", "it counts nothing", CountsNothing, ({"width": 3},), depth=4)
    block = dataclasses.replace(weak.find("test.tally"), properties=(claim,))
    with pytest.raises(UserError, match=r"^test\.tally itself breaks property nothing, so its "
                                        r"mutants would show nothing: it has counted in cycle"):
        mutate(block, "three", run=tmp_path, count=COUNT, seed=1, pages=("weak",))


@pytest.mark.unit
def test_a_property_that_takes_too_long_is_named(weak, tmp_path, monkeypatch):
    """And so is one that has no verdict of a single mutant, or no instance of the configuration."""
    def check(block, claim, parameters, *, timeout, edit):
        assert timeout == 7
        if claim.name == "long" or edit("") == "mutant":
            raise UserError(f"{block.name}: property {claim.name}: yices was stopped after 7 s; no "
                            "counterexample in the first 2 of 4 cycles")
        return ""

    monkeypatch.setattr("cyclebound.sim.mutation.mutate.counterexample", check)
    monkeypatch.setattr(_Work, "_edited", lambda self, mutation, rtlil: "mutant")
    block = dataclasses.replace(weak.find("test.tally"), properties=tuple(
        Property(name, "it counts", CountsNothing, ({"width": width},))
        for name, width in (("long", 3), ("short", 3), ("other", 4))))
    work = _Work(block, "three", tmp_path, benches_of(block, "three"), 1, 1, 1, 7)
    said = []
    work.judged_by = lambda name, left_out="": said.append((name, left_out))
    assert work._refuted(work.mutations[0]) == ("", "", ["short"])
    assert said == [("property long", (
        "no verdict even of the block itself: yices was stopped after 7 s; "
        "no counterexample in the first 2 of 4 cycles")), ("property short", "")]
    assert [work._not_of(claim) for claim in block.properties] == [
        "", "", "it has no instance of this configuration"]


@pytest.mark.unit
@pytest.mark.parametrize("values", [{}, {0: 1}, {1: 0}, {0: 1, 2: 1}, {0: 0, 1: 0, 2: 0}])
def test_inputs_of_a_circuit_become_constants(values):
    """Three inputs a, b, c and a register that keeps a & ~b; the output is that with c."""
    def number(value):
        return bytes([value])

    # variables 1 to 3 inputs, 4 the register, 5 = a & ~b, 6 = ~c & register
    gates = [(10, 5, 2), (12, 8, 7)]
    text = (b"aig 6 3 1 1 2\n10\n12\n" + b"".join(
        number(out - high) + number(high - low) for out, high, low in gates) + b"i0 a\n")
    circuit = _Circuit(text)
    head, after, out, rest = circuit.given(values).split(b"\n", 3)
    assert (head, after, out) == (b"aig 6 3 1 1 2", b"10", b"12")
    constant = {literal: value ^ (literal & 1) for place, value in values.items()
                for literal in (2 * place + 2, 2 * place + 3)}
    found = [(made, made - rest[2 * place], made - rest[2 * place] - rest[2 * place + 1])
             for place, (made, *_) in enumerate(gates)]
    assert found == [(made, *sorted((constant.get(net, net) for net in reads), reverse=True))
                     for made, *reads in gates]
    assert len(rest) == 2 * len(gates)


@pytest.mark.unit
def test_a_busy_machine_kills_no_mutant(tmp_path):
    """A run that waits for longer than its seconds has not hung; one that computes has."""
    for name in ("waits", "computes"):
        (tmp_path / name).mkdir()
    code = ("import os, sys, time; from cyclebound.tb.mutant_runs import serve\n"
            "said = os.open('said', os.O_WRONLY | os.O_CREAT)\n"
            "if serve(['waits', 'computes'], 2, 1.0, said):\n"
            "    waits = 'waits' in os.environ['CYCLEBOUND_JOB']\n"
            "    end = time.monotonic() + (2.5 if waits else 600)\n"
            "    while time.monotonic() < end:\n"
            "        waits and time.sleep(0.1)\n")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    found = [json.loads(line) for line in (tmp_path / "said").read_text().splitlines()]
    assert {report["folder"]: report["status"] for report in found} == {
        "waits": 0, "computes": None}


@pytest.mark.unit
def test_a_score_is_of_those_not_proved_equivalent():
    fates = ["killed"] * 5 + ["timeout"] * 2 + ["survived"] * 2 + ["unknown"] + ["equivalent"] * 9
    assert score(MutantRow(1, "", "", fate) for fate in fates) == 70
    assert score([]) is None


@pytest.mark.unit
@pytest.mark.parametrize(("text", "says"), [
    ("", "it is empty"),
    ("[]\n{}\n", "line 1 must be a mapping"),
    ("{}\n", "line 1 lacks the field 'block'"),
    ("HEAD\n{\n{}\n", "line 2 must be JSON"),
    ("HEAD\n{}\n", "line 2 lacks the field 'number'"),
    ('HEAD\n{"judge": 3, "left_out": ""}\n', "judge of line 2 must be a text, not 3"),
    ("HEAD\nROW\n".replace("ROW", json.dumps({**vars(MutantRow(1, "", "", "fled"))})),
     "fate of line 2 must be one of killed, timeout"),
    ("HEAD\nROW\n".replace("ROW", json.dumps({**vars(MutantRow(4, "", "", "killed"))})),
     "number of line 2 must be from 1 to 3, not 4"),
    ("HEAD\nROW\n".replace("ROW", json.dumps({**vars(MutantRow(1, "", "", "killed", "", "luck"))})),
     "layer of line 2 must be one of comparison, assertion"),
])
def test_refuses_other_files(tmp_path, text, says):
    Campaign(tmp_path, "a.b", "c", 1, 3, "key").begin()
    path = tmp_path / "mutants" / "a.b-c.jsonl"
    assert read_campaigns(tmp_path)[0].block == "a.b"
    path.write_text(text.replace("HEAD", path.read_text().strip()))
    with pytest.raises(UserError, match=re.escape(says)):
        read_campaigns(tmp_path)
    path.unlink()
    assert read_campaigns(tmp_path) == []
