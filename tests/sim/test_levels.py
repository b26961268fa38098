"""The quick and the full level of a regression, its shards, and what it says on the way."""

import dataclasses
import io
import json
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.run import _shard
from cyclebound.sim.describe.block import Configuration, Property, Testbench
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.live import line_of, teller
from cyclebound.sim.regression.merge import merge
from cyclebound.sim.regression.plan import Plan, jobs_of, left_to_full, proofs_of
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import read
from cyclebound.sim.run.job import Group, Job, Outcome
from cyclebound.tb.noc.arbiter_properties import RoundRobinProof

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("no_baseline")]

BENCHES = (Testbench("cycle", "m", quick=("tiny",)),
           Testbench("always", "m"),
           Testbench("never", "m", quick=()),
           Testbench("sweep", "m", thorough=True, configurations=("tiny",)))


@pytest.fixture
def block():
    """A block with a testbench of each kind, and four proofs, two of them quick."""
    found = catalogue.load().find("noc.arbiter")
    claim = Property("fair", "it is fair", RoundRobinProof,
                     tuple({"count": n} for n in (2, 3, 4, 5)), quick=2)
    return dataclasses.replace(
        found, testbenches=BENCHES, properties=(claim,),
        configurations={name: Configuration({"count": 4}) for name in ("tiny", "large")})


def names(block, **options):
    return [f"{job.testbench} {job.configuration}"
            for job in jobs_of(Plan([block], Path("run"), **options))]


def test_the_quick_level_runs_what_is_declared_quick(block):
    assert names(block) == ["cycle tiny", "always tiny", "always large"]


def test_the_full_level_runs_everything(block):
    assert names(block, level="full") == [
        "cycle tiny", "always tiny", "never tiny", "sweep tiny",
        "cycle large", "always large", "never large"]


def test_what_is_named_runs_in_any_level(block):
    assert names(block, configurations=["large"]) == [
        "cycle large", "always large", "never large"]
    assert names(block, testbenches=["sweep"]) == ["sweep tiny"]
    assert names(block, configurations=["tiny"]) == ["cycle tiny", "always tiny", "never tiny"]
    assert names(block, configurations=["tiny"], level="full")[-1] == "sweep tiny"


def test_seeds_of_a_testbench(block):
    """Its own number of them, or as many as are asked for."""
    benches = (dataclasses.replace(BENCHES[0], seeds=2), BENCHES[1])
    block = dataclasses.replace(block, testbenches=benches)

    def seeds(**options):
        return [f"{job.testbench} {job.seed}" for job in
                jobs_of(Plan([block], Path("run"), configurations=["tiny"], **options))]

    assert seeds() == ["cycle 1", "cycle 2", "always 1"]
    assert seeds(seed=7, seeds=3) == [f"{name} {seed}" for name in ("cycle", "always")
                                      for seed in (7, 8, 9)]
    assert Plan([block], Path("run"), seeds=3).options["seeds"] == 3


def test_proofs_of_both_levels(block):
    plan = Plan([block], Path("run"))
    assert [claim.parameters["count"] for claim in proofs_of(plan)] == [2, 3]
    plan = dataclasses.replace(plan, level="full")
    assert [claim.parameters["count"] for claim in proofs_of(plan)] == [2, 3, 4, 5]
    assert proofs_of(dataclasses.replace(plan, proofs=False)) == []


def test_what_the_full_level_adds(block):
    plan = Plan([block], Path("run"))
    assert left_to_full(plan) == (4, 0, 2)
    assert left_to_full(dataclasses.replace(plan, proofs=False)) == (4, 0, 0)
    assert left_to_full(dataclasses.replace(plan, level="full")) == (0, 0, 0)
    assert left_to_full(dataclasses.replace(plan, testbenches=["cycle"])) == (0, 0, 0)


# Made of blocks that are quick themselves, or nearly all of them; they take long to build and run.
MACHINES = {
    "dataflow.core", "dataflow.dram_processor", "dataflow.processor", "dram.axi_dfi_controller",
    "dram.dfi_controller", "noc.end_to_end_read", "noc.handshake_mesh", "noc.many_core",
    "noc.mesh_interfaces", "shmac.grid", "simd.accelerator", "simd.hosted_accelerator",
    "simd.transfer_unit", "system.tiled", "systolic.dram_memory"}


def test_every_block_but_machines_has_something_quick():
    everything = list(catalogue.load())
    quick = {job.block for job in jobs_of(Plan(everything, Path("run")))}
    assert {block.name for block in everything} - quick == MACHINES


def test_a_level_names_configurations_that_there_are(block):
    wrong = dataclasses.replace(block, testbenches=(Testbench("cycle", "m", quick=("tini",)),))
    with pytest.raises(UserError, match=r"^noc\.arbiter: testbench cycle names the configuration "
                                        r"'tini', which does not exist$"):
        catalogue.Catalogue([wrong])


# -- shards ----------------------------------------------------------------------------------------


def _key(claim):
    return json.dumps(dataclasses.astuple(claim))


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_shards_are_a_partition(parts):
    plan = Plan(list(catalogue.load()), Path("run"), level="full")
    shards = [dataclasses.replace(plan, shard=(part, parts)) for part in range(1, parts + 1)]
    mine = [{job.name for job in jobs_of(shard)} for shard in shards]
    assert sum(map(len, mine)) == len(jobs_of(plan))
    assert set.union(*mine) == {job.name for job in jobs_of(plan)}
    assert sorted(_key(claim) for shard in shards for claim in proofs_of(shard)) == sorted(
        map(_key, proofs_of(plan)))


def test_a_configuration_is_of_one_shard():
    plan = Plan(list(catalogue.load()), Path("run"), level="full", shard=(1, 3))
    places = {(job.block, job.configuration) for job in jobs_of(plan)}
    other = dataclasses.replace(plan, shard=(2, 3))
    assert places.isdisjoint((job.block, job.configuration) for job in jobs_of(other))


def test_more_shards_than_configurations(block):
    with pytest.raises(UserError, match=r"^nothing to run: there are 2 configurations, fewer than "
                                        r"the 3 shards; part 3 is empty$"):
        names(block, shard=(3, 3))


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "a/b", "1/4/2", "-1/4", "1/0"])
def test_a_shard_that_is_none(text):
    with pytest.raises(UserError, match=r"^--shard takes I/N with I from 1 to N, such as 1/4, "):
        _shard(text)


# -- merging ---------------------------------------------------------------------------------------


def part(folder, number, parts, configuration, *, code="c", proofs=(), missing=()):
    """A shard that ran the round-robin arbiter in one configuration, and saw a wait of 4.

    It was interrupted before it had run the jobs that are ``missing``.
    """
    job = Job("noc.arbiter", configuration, "cycle", 1, str(folder / "job"))
    known = {"requesters": {"four": 4, "paper": 11}[configuration]}
    outcome = Outcome(job.name, True, groups=[Group("grant", known, 4, 10, 0, 3, "test")])
    with closing(Results(folder, create=True)) as results:
        results.finished(job, outcome, "content")
        for proof in proofs:
            results.proof(proof)
        plan = Plan([catalogue.load().find("noc.arbiter")], folder, shard=(number, parts))
        results.note(code=code, simulator="verilator", seed=1, level="quick",
                     planned=[job.name, *missing], jobs=1 + len(missing), options=plan.options)
    return folder


def test_merged_shards_are_one_run(tmp_path):
    says = catalogue.load().find("noc.arbiter").properties[0]
    proof = Proof("noc.arbiter", says.name, says.says, {"count": 4}, "proved",
                  claims=[("grant", {"requesters": 4}, 4)])
    one = part(tmp_path / "1", 1, 2, "four")
    two = part(tmp_path / "2", 2, 2, "paper", proofs=[proof])
    rows = merge([one, two], tmp_path / "all")
    # the proof is of the one shard, what it proves of the other
    assert [(row.configuration, row.verdict, row.evidence) for row in rows] == [
        ("four", "exact", "proved"), ("paper", "held", "sampled")]
    run = read(tmp_path / "all")
    assert (run.unfinished, run.problems, len(run.jobs)) == (0, [], 2)
    assert run.meta["options"]["shard"] == [1, 1]


def test_a_simulation_that_is_missing_leaves_no_verdict(tmp_path):
    """That of another configuration does."""
    proof = Proof("noc.arbiter", "fair", "", {"count": 4}, "proved",
                  claims=[("grant", {"requesters": 4}, 4)])
    one = part(tmp_path / "1", 1, 2, "four", missing=["noc.arbiter/four/cycle/2"])
    two = part(tmp_path / "2", 2, 2, "paper", proofs=[proof])
    rows = merge([one, two], tmp_path / "all")
    assert [(row.configuration, row.verdict, row.evidence) for row in rows] == [
        ("four", "void", "none"), ("paper", "held", "sampled")]
    assert rows[0].detail == ("1 of its simulations failed or are missing: "
                              "noc.arbiter/four/cycle/2")
    assert read(tmp_path / "all").problems[0].startswith("1 jobs did not finish")


@pytest.mark.parametrize(("shards", "message"), [
    ([(1, 3, "c"), (2, 3, "c")], r"^missing: shard 3/3$"),
    ([(1, 2, "c"), (1, 2, "c")], r"^shard 1/2 is given twice$"),
    ([(1, 2, "c"), (2, 3, "c")], r"^\S+ is shard 2/3, but \S+ is one of 2$"),
    ([(1, 2, "c"), (2, 2, "d")], (r"^\S+ is of another regression than \S+: its code or tools "
                                  r"differs$")),
])
def test_what_cannot_be_merged(tmp_path, shards, message):
    folders = [part(tmp_path / str(n), number, parts, ("four", "paper")[n], code=code)
               for n, (number, parts, code) in enumerate(shards)]
    with pytest.raises(UserError, match=message):
        merge(folders, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_folder_is_merged_once(tmp_path):
    one = part(tmp_path / "1", 1, 2, "four")
    (tmp_path / "link").symlink_to(one)
    for again in (one, tmp_path / "link", tmp_path / "1" / ".." / "1"):
        with pytest.raises(UserError, match=r"^\S+ is given twice$"):
            merge([one, again], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_merging_overwrites_no_run(tmp_path):
    one = part(tmp_path / "1", 1, 1, "four")
    with pytest.raises(UserError, match=r"^\S+ holds a run already; name a new folder$"):
        merge([one], one)


# On these configurations of a block its first testbench, which runs what no other of its module
# names, leaves out what the second names, which does not run there.
LEFT_OUT = {
    ("dataflow.fabric", "kernels", "kernels_1024"): {"divides_2"},
    ("dataflow.core", "cycle", "reuse"): {"tiny"},
    ("dram.reorder_core", "cycle", "literal"): {"small"},
    ("noc.handshake_mesh", "cycle", "sharing"): {"accepted", "late", "row"},
    ("simd.access_setup", "cycle", "shapes"): {"paper", "small"},
    ("simd.accelerator", "harness_snooped", "harness_snoopy"): {"paper"},
    ("simd.compute_unit", "cycle", "random"): {"fpga", "paper", "tiny"},
    ("system.tiled", "jobs", "three"): {"turns", "windows"},
    ("systolic.accelerator", "cycle", "every"): {"4", "8"},
    ("systolic.no_local_reuse", "cycle", "long"): {"2x3", "3x5", "4x4"},
}


def test_no_configuration_loses_tests_to_a_testbench_that_runs_elsewhere():
    """As two did: a testbench for another configuration named their tests."""
    found = {}
    for block in catalogue.load():
        for bench in block.testbenches:
            for other in block.testbenches:
                if not bench.tests and other.tests and bench.module == other.module:
                    mine, its = ({name for name in block.configurations if one.runs_on(name)}
                                 for one in (bench, other))
                    if mine - its:
                        found[block.name, bench.name, other.name] = mine - its
    assert found == LEFT_OUT


# -- findings on the way ---------------------------------------------------------------------------

ROW = Verdict("a.b", "c", "limit", "hop", "", "", verdict="exact", requests=1000, worst=4,
              allowed=4)


@pytest.mark.parametrize(("found", "line"), [
    (ROW, "exact      a.b c hop within limit: worst 4 of 4 in 1,000 requests"),
    (dataclasses.replace(ROW, verdict="held", kinds=9, kinds_reached=3),
     "held       a.b c hop within limit: worst 4 of 4 in 1,000 requests, 3 of 9 kinds exact"),
    (dataclasses.replace(ROW, verdict="unobserved", worst=None, detail="no 'hop' request"),
     "unobserved a.b c hop within limit: no 'hop' request"),
    (dataclasses.replace(ROW, verdict="not covered", allowed=None, detail="of no flits"),
     "not covered a.b c hop within limit: of no flits"),
    (Proof("a.b", "fair", "", {"n": 2}, "proved"), "proved     a.b property fair (n=2)"),
    (Proof("a.b", "fair", "", {"n": 2}, "failed", detail="at 3"),
     "failed     a.b property fair (n=2): at 3"),
    (Outcome("a.b/c/cycle/1", False, "no [red]\nlast line"), "FAILED     last line"),
])
def test_a_line_for_each_finding(found, line):
    assert line_of(found).plain == line


def test_names_are_no_markup():
    text = io.StringIO()
    teller(Console(file=text, width=40))(dataclasses.replace(ROW, block="v[2]x[red]y[/x]"))
    assert text.getvalue() == ("exact      v[2]x[red]y[/x] c hop within limit: worst 4 of 4 in "
                               "1,000 requests\n")
