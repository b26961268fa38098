"""Regressions of blocks with other parameters: ``regress BLOCK --set`` and ``--part``."""

import dataclasses
import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.catalogue import load
from cyclebound.sim.describe.block import Configuration, Testbench
from cyclebound.sim.describe.variant import Changes, possible, varied
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.merge import merge
from cyclebound.sim.regression.plan import Plan, jobs_of, proofs_of
from cyclebound.sim.regression.regress import _content, judge_places
from cyclebound.sim.regression.results import FILE, Results
from cyclebound.sim.regression.witness import Witness
from cyclebound.sim.run.job import Group, Job, Outcome, identity_of, run_job

unit = pytest.mark.unit
system = pytest.mark.system

FILE_TEXT = (Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml").read_text()
THREE = Changes((("count", 3),))


@pytest.fixture
def own_part(tmp_path, monkeypatch):
    """A part's file in the current folder, named as a user would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    Path("my.toml").write_text(FILE_TEXT)
    return "my.toml"


# -- blocks ----------------------------------------------------------------------------------------


@unit
def test_all_of_a_block_is_changed():
    block = load().find("noc.arbiter")
    found = varied(block, THREE)
    assert found.names == {"four": "four+count=3", "paper": "paper+count=3"}
    assert {name: configuration.parameters
            for name, configuration in found.block.configurations.items()} == {
        "four+count=3": {"count": 3}, "paper+count=3": {"count": 3}}
    assert found.block.testbenches[0].quick == ("four+count=3",)
    assert found.block.fpga.configuration == "paper+count=3"
    assert [claim.instances for claim in found.block.properties] == [({"count": 3},)]


@unit
def test_a_plan_runs_and_proves_the_changed_block():
    block = possible(load().find("noc.arbiter"), THREE).block
    plan = Plan([block], Path("run"), changes=THREE)
    assert [job.name for job in jobs_of(plan)] == ["noc.arbiter/four+count=3/cycle/1"]
    assert [claim.parameters for claim in proofs_of(plan)] == [{"count": 3}]
    assert jobs_of(plan)[0].changes == THREE
    # the full level has both configurations, which are now the same one
    assert len(jobs_of(dataclasses.replace(plan, level="full"))) == 1
    assert len(jobs_of(dataclasses.replace(plan, configurations=["paper+count=3"]))) == 1


@unit
def test_a_property_that_depends_on_nothing_changed_is_kept():
    block = load().find("noc.arbiter")
    claim = dataclasses.replace(block.properties[0], instances=({},),
                                independent={"count": "it counts nothing"})
    small = dataclasses.replace(claim, name="small", independent={})
    found = varied(dataclasses.replace(block, properties=(claim, small)), THREE).block
    assert [claim.instances for claim in found.properties] == [({},), ()]


@unit
def test_shards_of_a_changed_block():
    block = dataclasses.replace(load().find("noc.arbiter"), configurations={
        "four": Configuration({"count": 4}), "three": Configuration({"count": 3}, {"a": range(2)})})
    block = possible(dataclasses.replace(block, fpga=None), THREE).block
    plan = Plan([block], Path("run"), changes=THREE, level="full")
    parts = [[job.name for job in jobs_of(dataclasses.replace(plan, shard=(part, 2)))]
             for part in (1, 2)]
    assert parts == [["noc.arbiter/four+count=3/cycle/1"], ["noc.arbiter/three/cycle/1"]]


def refusing(count):
    raise ValueError(f"of {count}")


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"least": {"count": 4}}, "it needs count to be at least 4, not 3"),
    ({"fixed": ("count",)}, "its models know count 4 only, not 3")])
def test_a_testbench_says_what_it_takes(wrong, says):
    block = load().find("noc.arbiter")
    bench = Testbench("around", "m", configurations=("four",), **wrong)
    found = possible(dataclasses.replace(block, testbenches=(*block.testbenches, bench)), THREE)
    assert found.refused == (f"noc.arbiter: testbench around cannot run on four+count=3: {says}",)


@unit
def test_a_testbench_that_cannot_run_is_left_out():
    block = load().find("noc.arbiter")
    bench = Testbench("around", "m", top=refusing)
    found = possible(dataclasses.replace(block, testbenches=(*block.testbenches, bench)), THREE)
    assert found.refused[0] == ("noc.arbiter: testbench around cannot run on four+count=3: of 3")
    assert [job.testbench for job in jobs_of(Plan([found.block], Path("run"), changes=THREE))] \
        == ["cycle"]


@unit
def test_a_configuration_that_cannot_be():
    with pytest.raises(UserError, match=r"^noc\.mesh: configuration \S+ cannot have rows 0, "
                                        r"columns 1: [^\n]+$"):
        possible(load().find("noc.mesh"), Changes((("rows", 0), ("columns", 1))))
    with pytest.raises(UserError, match=r"^noc\.arbiter: configuration paper cannot have count 0: "
                                        r"Requester count must be at least 1, not 0$"):
        possible(load().find("noc.arbiter"), Changes((("count", 0),)), ["paper"])


@unit
def test_a_block_that_refuses_while_it_is_built(tmp_path, own_part):
    """Its queue of requests knows parts without bank groups only, and says so in one line."""
    changes = Changes.of({"part": own_part})
    found = run_job(Job("noc.end_to_end", "paper+part=my", "cycle", 1, str(tmp_path / "job"),
                        changes=changes))
    assert found.reason == "cannot be: DDR4-2400R x16 (2 bank groups): bank groups must be 1, not 2"


# -- a part's file ---------------------------------------------------------------------------------


@unit
def test_a_parts_content_is_kept_and_not_its_path(own_part):
    changes = Changes.of({"part": own_part})
    Path(own_part).unlink()
    assert Changes.kept(json.loads(json.dumps(changes.as_options()))) == changes
    path = Path(changes.values["part"])
    assert (path.name, path.read_text()) == ("my.toml", FILE_TEXT)
    assert changes.local(changes.labelled(changes.values)) == changes.values
    assert str(path) not in changes.without_paths(f"queues for part {path}")


@unit
def test_a_changed_file_is_another_job(own_part):
    first = Changes.of({"part": own_part})
    Path(own_part).write_text(FILE_TEXT.replace("rows = 65536", "rows = 32768"))
    second = Changes.of({"part": own_part})
    jobs = [Job("dram.command_generator", "x16+part=my", "cycle", 1, "f", changes=changes)
            for changes in (first, second)]
    assert jobs[0].name == jobs[1].name
    assert len({identity_of(job) for job in jobs}) == len({_content(job) for job in jobs}) == 2


@unit
@pytest.mark.parametrize(("value", "message"), [
    (3, r"^changes must be a mapping, not 3$"),
    ({"settings": [["count", 3]]}, r"^changes lacks the field 'part_file'$"),
    ({"settings": [["count", None]], "part_file": ""}, r"^settings of changes\[0\]\[1\] must be "),
    ({"settings": [["part", "../x.toml"]], "part_file": "a"},
     r"^the part file in changes must be in no folder, not '\.\./x\.toml'$"),
    ({"settings": [["part", "x.toml"]], "part_file": ""},
     r"^changes have a part file's name and its text, or neither$"),
])
def test_changes_of_a_run_that_are_none(value, message):
    with pytest.raises(UserError, match=message):
        Changes.kept(value)


@unit
def test_a_proof_on_another_machine_covers_a_part(own_part, tmp_path, monkeypatch):
    """It is kept under the file's name and content, and not under a path."""
    changes = Changes.of({"part": own_part})

    def proved():
        """The block with a bound that one property proves, in the quick level."""
        block = varied(load().find("dram.command_generator"), changes).block
        return dataclasses.replace(
            block, bounds=(dataclasses.replace(block.bounds[0], proved_by=("queues",)),),
            properties=tuple(dataclasses.replace(claim, quick=1) for claim in block.properties
                             if claim.name == "queues"))

    claim = proofs_of(Plan([proved()], tmp_path, changes=changes))[0]
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "elsewhere"))
    block = proved()
    plan = Plan([block], tmp_path, changes=changes)
    job = Job(block.name, "x16+part=my", "cycle", 1, str(tmp_path / "job"))
    with closing(Results(tmp_path / "run", create=True)) as results:
        results.finished(job, Outcome(job.name, True, groups=[
            Group("burst", {"late": 3}, 7, 1, 0, 6, "t")]), "content")
        results.proof(Proof(block.name, "queues", "", dict(claim.parameters), "proved",
                            claims=[("burst", {"late": 3}, 7)]))
        row, = judge_places(plan, [(block.name, "x16+part=my")], results)
    assert (row.verdict, row.evidence) == ("exact", "proved")
    assert row.domain.startswith("queues for part my.toml (")
    found = Witness.of(row, tmp_path, "verilator", "", (), changes)
    assert found.command == (
        f"cyclebound run dram.command_generator --configuration x16 --part {tmp_path}/my.toml "
        "--testbench cycle --seed 1 --test t --waves")


# -- runs ------------------------------------------------------------------------------------------


_ZERO = ("noc.arbiter: configuration four cannot have count 0: "
         "Requester count must be at least 1, not 0")


@unit
@pytest.mark.parametrize(("words", "message"), [
    (("--set", "count=3"), "--set and --part take blocks or a family, named before them"),
    (("noc.arbiter", "--set", "count=x"), "--set count takes a whole number, not 'x'"),
    (("noc.arbiter", "--set", "cunt=3"), "no parameter of noc.arbiter 'cunt'; did you mean count?"),
    (("noc.arbiter", "dram.refresh_timer", "--set", "count=3"),
     "no parameter of dram.refresh_timer 'count'; known are interval, most"),
    (("noc.arbiter", "--part", "x.toml"), "no parameter of noc.arbiter 'part'; known are count"),
    (("dram.controller", "--part", "x.toml"),
     "{tmp}/x.toml: cannot be read: No such file or directory"),
    (("noc.arbiter", "--set", "count=3", "-c", "fore"),
     "no configuration 'fore'; did you mean four?"),
    (("noc.arbiter", "--set", "count=0"), _ZERO),
])
def test_mistakes(call, tmp_path, words, message):
    said = call("regress", *words)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == f"cyclebound: {message.format(tmp=tmp_path)}\n"
    assert not (tmp_path / "runs").exists()


@pytest.mark.thorough
@system
def test_a_changed_block_has_verdicts_and_is_resumed(cyclebound, tmp_path):
    said = cyclebound("regress", "noc.arbiter", "--set", "count=3", "-o", "run", "--no-report")
    assert (said.returncode, said.stderr) == (0, "")
    assert "proved     noc.arbiter property fair (count=3)" in said.stdout
    line = next(line for line in said.stdout.splitlines() if "│ four+count=3" in line)
    words = [word.strip() for word in line.split("│")][1:-1]
    assert words[4:6] == ["3", "3"]
    assert (words[7], words[8].partition(",")[0]) == ("exact", "proved: fair for count 3")
    jobs = json.loads(cyclebound("compare", "run", "--json").stdout)["jobs"]
    said = cyclebound("regress", "--resume", "run", "--no-report")
    assert (said.returncode, said.stderr) == (0, "")
    assert json.loads(cyclebound("compare", "run", "--json").stdout)["jobs"] == jobs
    # another value is another configuration of the same run
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    rows = merge([tmp_path / "copy"], tmp_path / "all")
    assert [(row.configuration, row.evidence) for row in rows] == [("four+count=3", "proved")]


@system
@pytest.mark.thorough
def test_a_users_part_has_verdicts_and_is_resumed(cyclebound, tmp_path):
    (tmp_path / "my.toml").write_text(FILE_TEXT)
    words = "--no-report", "--no-pictures"
    said = cyclebound("regress", "dram.command_generator", "--part", "my.toml", "-o", "run", *words)
    assert (said.returncode, said.stderr) == (0, "")
    assert "exact      dram.command_generator x16+part=my burst within" in said.stdout
    (tmp_path / "my.toml").unlink()
    before = (tmp_path / "run" / "jobs").stat().st_mtime_ns
    said = cyclebound("regress", "--resume", "run", *words)
    assert (said.returncode, said.stderr) == (0, "")
    assert (tmp_path / "run" / "jobs").stat().st_mtime_ns == before


@unit
def test_shards_of_other_changes_are_not_merged(tmp_path):
    folders = []
    for number, count in ((1, 3), (2, 5)):
        changes = Changes((("count", count),))
        plan = Plan([varied(load().find("noc.arbiter"), changes).block], tmp_path,
                    shard=(number, 2), changes=changes)
        folders.append(tmp_path / str(number))
        with closing(Results(folders[-1], create=True)) as results:
            results.note(code="c", simulator="verilator", seed=1, level="quick", planned=[],
                         jobs=0, options=plan.options)
    with pytest.raises(UserError, match=r"^\S+ is of another regression than \S+: its part or "
                                        r"another parameter that was set differs$"):
        merge(folders, tmp_path / "all")
    assert not (tmp_path / "all" / FILE).exists()
