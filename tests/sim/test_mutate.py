"""Mutation of a block whose testbench has a hole, of which every fate is known beforehand."""

import json
import re
from pathlib import Path

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.elaborate import FlatTop, to_rtlil
from cyclebound.sim.equivalence import Comparison, Miter
from cyclebound.sim.errors import UserError
from cyclebound.sim.mutant_rows import FATES, Campaign, MutantRow, read_campaigns, score
from cyclebound.sim.mutants import Netlist
from cyclebound.sim.mutate import benches_of, mutate
from cyclebound.sim.report import write_report

COUNT = 16
PAGE = Path(__file__).parent / "pages" / "weak.py"
LINE = {word: f"tests/sim/pages/weak.py:{number}"
        for number, line in enumerate(PAGE.read_text().splitlines(), 1)
        for word in re.findall(r"# (dead|counted|unseen)$", line)}


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
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert len({(each.cell, each.options) for each in found}) == len(found) > 60
    assert {each.module for each in found} == {"top.dut"}
    assert {each.source for each in found} >= set(LINE.values())
    assert not any(re.search(r"port (CLK|Q)\b|clk", each.says) for each in found)
    assert netlist.mutations(10, 1) == netlist.mutations(10, 1) != netlist.mutations(10, 2)
    assert len(netlist.mutations(10, 2)) == 10


@pytest.mark.unit
def test_a_mutation_means_the_same_in_each_design(weak, tmp_path):
    tally, offer = weak.find("test.tally"), weak.find("test.offer")
    netlist = netlist_of(tally, tmp_path)
    with pytest.raises(ValueError, match=r"^the block must have the same cells in both designs$"):
        Netlist(netlist_of(offer, tmp_path).text, tmp_path, like=netlist)
    first = netlist.mutations(1, 1)[0]
    assert netlist.mutated(first) != netlist.text
    assert re.search(r"wire input \d+ \\mutant", netlist.selectable([first]))


@pytest.mark.proof
def test_equivalent_only_if_proved(weak, tmp_path):
    """Of a stream, what it shows without an offer does not count."""
    block = weak.find("test.offer")
    netlist = netlist_of(block, tmp_path)
    miter = Miter(lambda: block.make({"width": 3}), None, netlist, tmp_path)
    of = {each.options.partition(" -ctrlbit")[0]: miter.compare(each)
          for each in netlist.mutations(400, 1)
          if re.search(r"and \S+, port (B\[0\]|Y\[0\]).* is (stuck|inverted$)", each.says)}
    assert of == {
        "-mode const1 -port B -portbit 0": Comparison(True),  # the gate only hides
        "-mode const0 -port B -portbit 0": Comparison(False, 0),
        "-mode inv -port B -portbit 0": Comparison(False, 0),
        "-mode const0 -port Y -portbit 0": Comparison(False, 0),
        "-mode const1 -port Y -portbit 0": Comparison(False, 0),
        "-mode inv -port Y -portbit 0": Comparison(False, 0)}


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
    tally = campaign.tally
    assert campaign.score == 100 * tally["killed"] / (len(campaign.rows) - tally["equivalent"])
    said = (run / "said.txt").read_text()
    assert f"score {campaign.score:.1f} %" in said
    assert f"killed by: testbench cycle {tally['killed']}" in said
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
    assert [row["number"] for row in found["mutants"]] == sorted(before.rows)
    page = write_report(run, run / "page.html").read_text()
    assert f"{before.score:.1f} %" in page
    assert page.count(LINE["unseen"]) >= 1
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
    ("HEAD\nROW\n".replace("ROW", json.dumps({**vars(MutantRow(1, "", "", "fled"))})),
     "fate of line 2 must be one of killed, timeout"),
    ("HEAD\nROW\n".replace("ROW", json.dumps({**vars(MutantRow(4, "", "", "killed"))})),
     "number of line 2 must be from 1 to 3, not 4"),
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
