"""A verdict that rests on less is weaker, one that rests on more is changed; both fail."""

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from rich.console import Console

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.variant import Changes
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.mutation.mutate import benches_of
from cyclebound.sim.mutation.rows import Campaign, MutantRow
from cyclebound.sim.regression import baseline as baseline_module
from cyclebound.sim.regression import regress
from cyclebound.sim.regression.baseline import (
    Baseline,
    MutantsRecord,
    checker_of,
    gone,
    guard_of,
    record_of_claim,
    record_of_job,
    record_of_mutants,
    record_of_proof,
    records_of,
    unrecorded,
    weighed,
    weighed_mutants,
    weighed_proofs,
)
from cyclebound.sim.regression.plan import Plan, mutated_blocks
from cyclebound.sim.regression.results import JobRow, Results
from cyclebound.sim.regression.table import print_run, read, write_junit
from cyclebound.sim.run.job import Group, Job, Outcome

unit = pytest.mark.unit

PLACE = "noc.arbiter", "four"
ROW = Verdict(*PLACE, "round_robin_wait", "grant", "N", "a paper", verdict="exact", found="exact",
              requests=6000, kinds=3, ratios=[1.0, 1.0, 1.0], sums=[9, 9], evidence="proved")
JOB = JobRow("noc.arbiter/four/cycle/1", *PLACE, "cycle", 1, "", True, "", 900, 3600, 1000, 0.0,
             0.0, False, "", None, [["one", True], ["two", True]], "", "", "1234abcd")
PROOF = {"block": "noc.arbiter", "property": "fair", "parameters": {"count": 4},
         "status": "proved", "depth": 12}


@pytest.fixture
def plan():
    return Plan([catalogue.load().find("noc.arbiter")], Path("run"))


@pytest.fixture
def base(tmp_path):
    """A baseline with one of each."""
    made = Baseline("quick", tmp_path)
    made.accept(["noc.arbiter"], [record_of_job(JOB), record_of_claim(ROW),
                                  record_of_proof(PROOF)])
    return Baseline("quick", tmp_path)


def judged(plan, base, rows=(ROW,), jobs=(JOB,), **options):
    return weighed(plan, *PLACE, list(rows), list(jobs), baselines=[base],
                   **{"final": True, **options})


@unit
def test_what_is_equal_keeps_its_word(plan, base):
    row, = judged(plan, base)
    assert (row.verdict, row.baseline, row.failed) == ("exact", "equal", False)
    assert not weighed_proofs(plan, [PROOF], baseline=base)
    assert not gone(plan, baseline=base)


@unit
@pytest.mark.parametrize(("values", "verdict", "says"), [
    ({"requests": 5}, "weaker", "requests 5, baseline 6,000"),
    ({"requests": 6001}, "changed", "requests 6,001, baseline 6,000"),
    ({"kinds": 2}, "weaker", "kinds 2, baseline 3"),
    ({"kinds": 4, "sums": [12, 12]}, "changed", "kinds 4, baseline 3"),
    ({"verdict": "held", "found": "held"}, "weaker", "verdict held, baseline exact"),
    ({"evidence": "sampled"}, "weaker", "evidence sampled, baseline proved"),
    ({"ratios": [0.5, 1.0, 1.0]}, "weaker", "loosest ratio 0.5, baseline 1.0"),
    ({"ratios": [1.0, 1.0, 0.9999]}, "weaker", "tightest ratio 0.9999, baseline 1.0"),
    ({"sums": [9, 1009]}, "weaker", "bounds of all kinds together 1,009, baseline 9"),
    ({"sums": [8, 9]}, "weaker", "worst of all kinds together 8, baseline 9"),
    ({"sums": [9, 8]}, "changed", "bounds of all kinds together 8, baseline 9"),
    ({"kinds": 2, "requests": 7000}, "weaker", "kinds 2, baseline 3; requests 7,000, baseline"),
], ids=str)
def test_a_claim_that_differs(plan, base, values, verdict, says):
    row, = judged(plan, base, [dataclasses.replace(ROW, **values)])
    assert (row.verdict, row.baseline, row.failed) == (verdict, verdict, True)
    assert row.detail.startswith(f"{row.found}, but {says}")
    assert verdict in row.strength or "other than" in row.strength


@unit
def test_a_bound_that_is_looser_and_holds(plan, base):
    """As one cycle more for one of many kinds, which no rounded ratio shows."""
    many = dataclasses.replace(ROW, verdict="held", found="held", kinds=1000,
                               ratios=[0.9, 0.95, 1.0], sums=[9_500_000, 10_000_000])
    base.accept(["noc.arbiter"], [record_of_job(JOB), record_of_claim(many)])
    row, = judged(plan, base, [dataclasses.replace(many, sums=[9_500_000, 10_000_001])])
    assert (row.verdict, row.detail) == ("weaker", (
        "held, but bounds of all kinds together 10,000,001, baseline 10,000,000"))


@unit
@pytest.mark.parametrize(("values", "verdict", "says"), [
    ({"compared": 0}, "weaker", "comparisons 0, baseline 900"),
    ({"bits": 900}, "weaker", "bits compared 900, baseline 3,600"),
    ({"cycles": 5}, "weaker", "cycles 5, baseline 1,000"),
    ({"cycles": 1001}, "changed", "cycles 1,001, baseline 1,000"),
    ({"tests": [["two", True]]}, "weaker", "test one no longer passes"),
    ({"tests": [[name, True] for name in ("one", "two", "six")]}, "changed", "test six is new"),
    ({"guard": "other"}, "changed",
     "parameters, domain or the testbench's arguments are others")], ids=str)
def test_a_simulation_that_differs(plan, base, values, verdict, says):
    """It has a row, and so have all claims of its configuration."""
    claim, simulation = judged(plan, base, jobs=[dataclasses.replace(JOB, **values)])
    assert (simulation.claim, simulation.what, simulation.verdict, simulation.detail) == (
        "simulation", "cycle/1", verdict, says)
    assert (claim.verdict, claim.detail) == (
        verdict, f"exact, but simulation {JOB.name} is {verdict}")


@unit
def test_what_is_gone_is_weaker(plan, base):
    claim, = judged(plan, base, rows=[])
    assert (claim.what, claim.verdict) == ("grant", "weaker")
    assert claim.detail == ("the baseline has it (exact, 6,000 requests), and it is no longer "
                            "judged")
    row, simulation = judged(plan, base, jobs=[dataclasses.replace(
        JOB, name="noc.arbiter/four/other/1", testbench="other")])[0::2]
    assert (row.verdict, simulation.verdict) == ("weaker", "changed")
    row, = weighed_proofs(plan, [], baseline=base)
    assert (row.claim, row.what, row.verdict) == ("property", "fair", "weaker")
    row, = weighed_proofs(plan, [PROOF | {"depth": 3}], baseline=base)
    assert (row.verdict, row.detail) == ("weaker", "checked to 3, baseline 12")
    row, = weighed_proofs(plan, [PROOF | {"status": "bounded"}], baseline=base)
    assert row.verdict == "weaker"


@unit
def test_a_configuration_and_a_block_that_are_gone(plan, base):
    base.accept(["noc.arbiter"], [record_of_job(JOB), dataclasses.replace(
        record_of_job(JOB), job="noc.arbiter/five/cycle/1"), dataclasses.replace(
        record_of_job(JOB), job="noc.no_more/one/cycle/1")])
    assert gone(plan, baseline=base) == [("noc.arbiter", "five"), ("noc.no_more", "one")]
    row, = weighed(plan, "noc.no_more", "one", [], [], final=True, baselines=[base])
    assert (row.verdict, row.detail) == ("weaker", "it is in the baseline, and has not run")
    assert not gone(dataclasses.replace(plan, configurations=["four"]), baseline=base)


@unit
def test_mutants_that_are_no_longer_killed(plan, tmp_path):
    """Of the full level; a layer that kills less is told, too. The score itself may vary."""
    campaign = Campaign(tmp_path, *PLACE, 1, 3, "key")
    campaign.rows = {n: MutantRow(n, "", "", "killed", "", layer) for n, layer in
                     enumerate(("comparison", "comparison", "proof"), 1)}
    base = Baseline("full", tmp_path)
    base.accept(["noc.arbiter"], [record_of_mutants(campaign)])
    full = dataclasses.replace(plan, level="full")
    assert not weighed_mutants(full, [campaign], baseline=base)
    assert not weighed_mutants(plan, [], baseline=base)
    campaign.rows[3] = MutantRow(3, "", "", "killed", "", "bound")
    row, = weighed_mutants(full, [campaign], baseline=base)
    assert (row.verdict, row.detail) == (
        "changed", "killed by comparison 2, bound 1, baseline comparison 2, proof 1")
    campaign.rows[3] = MutantRow(3, "", "", "survived")
    row, = weighed_mutants(full, [campaign], baseline=base)
    assert (row.claim, row.verdict, row.detail) == ("mutants", "weaker", "killed 2, baseline 3")
    row, = weighed_mutants(full, [], baseline=base)
    assert (row.verdict, row.detail) == (
        "weaker", "it is in the baseline, and no longer measured")


@unit
def test_a_row_has_the_score_that_is_committed(plan, base, tmp_path, monkeypatch):
    full = Baseline("full", tmp_path)
    full.accept(["noc.arbiter"], [MutantsRecord([*PLACE], 100, 98, 99.5, {"comparison": 98})])
    monkeypatch.setattr(baseline_module, "_baseline", lambda level: full)
    row, = judged(plan, base)
    assert row.strength == "99.5 % of 100 mutants; as its baseline"


@unit
def test_mutants_are_the_full_levels(plan):
    assert [block.name for block in mutated_blocks(dataclasses.replace(plan, level="full"))] == [
        "noc.arbiter"]
    assert not mutated_blocks(plan)
    assert not mutated_blocks(dataclasses.replace(plan, level="full", testbenches=["cycle"]))
    named = [block for block in catalogue.load() if block.mutants]
    assert len(named) >= 14
    for block in named:
        assert benches_of(block, block.mutants.configuration)


@unit
def test_evidence_waits_for_proofs(plan, base):
    rows = [dataclasses.replace(ROW, evidence="sampled")]
    for options, words in (({"final": False}, "equal"), ({}, "weaker")):
        assert judged(plan, base, rows, **options)[0].baseline == words
    assert judged(dataclasses.replace(plan, proofs=False), base, rows)[0].baseline == "equal"


@unit
def test_what_has_no_baseline_says_so_and_does_not_fail(plan, base, monkeypatch, tmp_path):
    row, = weighed(plan, *PLACE, [ROW], [JOB], final=True, baselines=[Baseline("full", tmp_path)])
    assert (row.verdict, row.baseline, row.strength) == ("exact", "none", "no baseline")
    other = dataclasses.replace(JOB, name="noc.arbiter/four/cycle/2", seed=2)
    row, = judged(dataclasses.replace(plan, seed=2), base, jobs=[other])
    assert (row.verdict, row.baseline) == ("exact", "none")
    row, = judged(dataclasses.replace(plan, changes=Changes.of({"count": 5})), base)
    assert row.strength == "no baseline (other parameters)"
    mine = dataclasses.replace(plan.blocks[0], name="my.arbiter")
    row, = weighed(dataclasses.replace(plan, blocks=[mine]), "my.arbiter", "four", [ROW], [JOB],
                   final=True, baselines=[base])
    assert row.strength == "no baseline (a block of your own)"


@unit
def test_some_testbenches_are_compared_by_themselves(plan, base):
    """Simulations are equal; of claims, which rest on others too, nothing is known."""
    second = dataclasses.replace(JOB, name="noc.arbiter/four/more/1", testbench="more")
    base.accept(["noc.arbiter"], [record_of_job(JOB), record_of_job(second),
                                  record_of_claim(ROW)])
    some = dataclasses.replace(plan, testbenches=["cycle"])
    row, = judged(some, base, [dataclasses.replace(ROW, requests=1)])
    assert (row.verdict, row.baseline) == ("exact", "none: not all of its simulations ran")
    rows = judged(some, base, jobs=[dataclasses.replace(JOB, compared=1)])
    assert [row.verdict for row in rows] == ["weaker", "weaker"]


@unit
def test_a_part_of_a_level_is_held_against_no_others_records(plan, base):
    """A shard of the full level before that has a baseline, beside the quick level's."""
    second = dataclasses.replace(JOB, name="noc.arbiter/four/search/1", testbench="search")
    base.accept(["noc.arbiter"], [record_of_job(JOB), record_of_claim(ROW)])
    shard = dataclasses.replace(plan, level="full", shard=(1, 40))
    row, = judged(shard, base, jobs=[JOB, second])
    assert row.verdict == "exact"
    rows = judged(shard, base, jobs=[dataclasses.replace(JOB, compared=1), second])
    assert [row.verdict for row in rows] == ["weaker", "weaker"]


@unit
def test_a_baseline_is_one_sorted_line_for_each(base, tmp_path):
    file, = tmp_path.glob("*")
    assert file.name == "noc-quick.jsonl"
    lines = file.read_text().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["proof", "claim", "job"]
    assert base.accept(["noc.arbiter"], [*base.of("noc.arbiter").values()]) == 0
    assert file.read_text().splitlines() == lines


@unit
@pytest.mark.parametrize(("line", "says"), [
    ("{", "line 1 of .* must be JSON"), ("[]", "line 1 of .* is of no job, claim, proof"),
    ('{"job": 3}', "line 1 of .* lacks the field 'guard'|job of line 1 .* must be a text"),
    (('{"claim": ["a"], "verdict": "", "evidence": "", "requests": 1, "kinds": 1, "ratios": [],'
     ' "sums": []}'), "claim of line 1 of .* must be a tuple of 4")])
def test_a_file_that_is_no_baseline(tmp_path, line, says):
    (tmp_path / "noc-quick.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=says):
        Baseline("quick", tmp_path).of("noc.arbiter")


@unit
def test_a_guard_stands_for_arguments():
    block = catalogue.load().find("noc.arbiter")
    bench = block.testbenches[0]
    guards = [guard_of(block, name, changed) for name, changed in (
        ("four", bench), ("paper", bench), ("four", dataclasses.replace(bench, max_cycles=5)),
        ("four", dataclasses.replace(bench, tests=("one",))),
        ("four", dataclasses.replace(bench, seeds=2)))]
    assert len(set(guards)) == len(guards)
    assert guard_of(block, "four", dataclasses.replace(bench, quick=())) == guards[0]
    assert checker_of(block, bench) == "RoundRobinCheck"
    assert not checker_of(block, dataclasses.replace(bench, top=dict))


@pytest.fixture
def a_run(tmp_path, plan, base, monkeypatch):
    """Results of the arbiter whose simulation made so many requests, judged."""
    monkeypatch.setattr(baseline_module, "_baseline", lambda level: base)

    def run(requests, compared=900, **options):
        folder = tmp_path / f"run-{requests}-{compared}"
        job = Job(*PLACE, "cycle", 1, "")
        with contextlib.closing(Results(folder, create=True)) as results:
            results.note(seed=1, level="quick", jobs=1, planned=[job.name],
                         options={**plan.options, "proofs": True})
            results.finished(job, Outcome(
                job.name, True, groups=[Group("grant", {"requesters": 4}, 4, requests, 0, 3, "")],
                compared=compared, bits=3600, cycles=1000, tests=[("one", True)]), "", "1234abcd")
            regress.judge_places(dataclasses.replace(plan, proofs=False, **options), [PLACE],
                                 results)
        return read(folder)

    return run


@unit
def test_taken_over_and_then_less(a_run, base, tmp_path):
    """In every form of the table, and in the exit status."""
    good = a_run(500)
    base.accept(["noc.arbiter"], records_of(good))
    assert not a_run(500).problems
    run = a_run(5, 9)
    assert [row.verdict for row in run.verdicts] == ["weaker", "weaker"]
    assert run.problems == [
        ("noc.arbiter four: weaker: exact, but requests 5, baseline 500; simulation "
         "noc.arbiter/four/cycle/1 is weaker"),
        "noc.arbiter four: weaker: comparisons 9, baseline 900"]
    console = Console(record=True, width=400)
    print_run(run, console)
    assert "weaker than its baseline" in console.export_text()
    assert {row["verdict"] for row in json.loads(run.as_json())["verdicts"]} == {"weaker"}
    write_junit(run, tmp_path / "junit.xml")
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert suite.get("failures") == "2"
    with pytest.raises(UserError, match="fails for another reason than its baseline: "):
        records_of(a_run(0))
    base.accept(["noc.arbiter"], records_of(run))
    assert not a_run(5, 9).problems


@unit
@pytest.mark.parametrize("options", [{"configurations": ["four"]}, {"seed": 2}, {"seeds": 2},
                                     {"testbenches": ["cycle"]}, {"shard": [1, 2]},
                                     {"proofs": False}, {"simulator": "icarus"}], ids=str)
def test_part_of_a_level_is_no_baseline(a_run, options):
    run = a_run(500)
    run.meta["options"] |= options
    own, = options
    with pytest.raises(UserError, match=f"^.* is no whole level: it has its own {own}$"):
        records_of(run)


@unit
def test_every_quick_simulation_and_proof_has_a_record():
    """After a change that is meant: `cyclebound regress -o run; cyclebound baseline --accept run`,
    and commit the files."""
    assert unrecorded("quick", [*catalogue.load()]) == []


@pytest.mark.cosim
@pytest.mark.parametrize("thinned", ["five cycles", "three tests"])
def test_a_thinned_testbench_is_weaker(tmp_path, command, command_environment, thinned):
    """In a copy of the project, whose bench of the arbiter does less."""
    root = tmp_path / "cyclebound"
    for name in ("golden", "hdl", "sim", "tb", "tools"):
        shutil.copytree(Path(baseline_module.__file__).parents[2] / name, root / name,
                        ignore=shutil.ignore_patterns("__pycache__"))
    bench = root / "tb/noc/arbiter.py"
    text = bench.read_text()
    if thinned == "five cycles":
        text = text.replace("for _ in range(cycles):", "for _ in range(5):")
    else:
        text = text[:text.index("@testbench\nasync def any_who_ask_at_once")]
    bench.write_text(text)
    done = subprocess.run([*command, "regress", "noc.arbiter", "--no-proofs", "--no-report", "-j",
                           "1", "-o", "run", "--json"], cwd=tmp_path, capture_output=True,
                          text=True, env={**command_environment, "PYTHONPATH": os.pathsep.join(
                              [str(tmp_path), command_environment.get("PYTHONPATH", "")])})
    said = json.loads(done.stdout)
    assert done.returncode == 1, said
    assert {row["verdict"] for row in said["verdicts"]} == {"weaker"}, said
    assert any("requests" in line and "baseline" in line for line in said["problems"])
