"""Do a block's testbenches and proofs find faults? Its mutants, each until something fails.

In this order: the block's testbenches, watched by its bound checker, each mutant until the first
failure; its bounds, on what was observed; a check of equivalence; and, of what can be told from the
block, its properties, where one is proved for this configuration. One simulator holds all mutants
(`cyclebound.sim.mutation.mutants`), and starts once for many of them (`cyclebound.tb.mutant_runs`).
"""

import contextlib
import dataclasses
import functools
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.cache import key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.folders import fresh
from cyclebound.sim.base.installed import compiler_content, everything
from cyclebound.sim.build.elaborate import FlatTop, to_rtlil
from cyclebound.sim.build.sources import sources
from cyclebound.sim.build.verilator import Build, build_verilator
from cyclebound.sim.describe.block import Block, Property, Testbench
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.mutation.equivalence import Miter
from cyclebound.sim.mutation.mutants import SELECT, Mutation, Netlist
from cyclebound.sim.mutation.rows import Campaign, Judge, MutantRow
from cyclebound.sim.proof.prove import counterexample
from cyclebound.sim.run.job import (
    Group,
    Job,
    Outcome,
    asked_of,
    design,
    die_with_parent,
    job_environment,
    outcome_of,
    write_job,
)
from cyclebound.sim.run.simulator import HANGS
from cyclebound.tb.mutant_runs import VARIABLE

__all__ = ["PATIENCE", "benches_of", "mutate"]

_BATCH = 64          # mutants with one start of the simulator
_LONGER = 10         # a mutant's run may take so many times the cycles of the block's own,
_MORE = 10_000       # and so many cycles more
_PATIENCE = 20, 10.0  # and so many times its seconds of processor time, and seconds more
PATIENCE = 300       # seconds for a bounded check, for a machine that is busy


def benches_of(block: Block, configuration: str) -> list[Testbench]:
    """The testbenches that simulate the block itself within seconds. Raises `UserError`."""
    benches = [bench for bench in block.testbenches
               if bench.runs_on(configuration) and bench.top is None and not bench.thorough]
    if not benches:
        raise UserError(f"no testbench of {block.name} simulates configuration {configuration} of "
                        "the block itself within seconds, so nothing could kill a mutant")
    return benches


def mutate(block: Block, configuration: str, *, run: Path, count: int, seed: int,
           testbenches: Sequence[Testbench] = (), workers: int = 1, patience: float = PATIENCE,
           pages: tuple[str, ...] = (),
           report: Callable[[str, int, int], None] = lambda step, done, total: None,
           tell: Callable[[MutantRow | Judge], None] = lambda row: None) -> Campaign:
    """Settle the fate of up to ``count`` mutants of the block.

    Parameters
    ----------
    run : Path
        The run's folder; what it holds of the same mutants is not done again.
    testbenches : sequence of Testbench
        Those that run; none stands for `benches_of`.
    patience : float
        Seconds for the bounded check of a property; one that takes longer is left out.
    report : callable
        Is told of progress: what is done, how many are, of how many.
    tell : callable
        Is told of each mutant that is settled, and of each testbench, bound and property: whether
        it judges them.

    Raises `UserError` if the block itself fails what its mutants are to fail.
    """
    benches = list(testbenches) or benches_of(block, configuration)
    with tempfile.TemporaryDirectory(prefix="cyclebound-mutants-") as folder:
        work = _Work(block, configuration, Path(folder), benches, seed, count, workers, patience)
        campaign = Campaign(run, block.name, configuration, seed, count, key_of(
            sources(pages), everything(), compiler_content(), work.netlist.text,
            [bench.name for bench in benches]))
        campaign.begin()

        def judged_by(name: str, left_out: str = "") -> None:
            before = campaign.judges.get(name)
            campaign.judged_by(judge := Judge(name, _first(left_out)))
            if judge != before:
                tell(judge)

        work.judged_by = judged_by
        pending = [mutation for mutation in work.mutations if mutation.number not in campaign.rows]

        def tell_progress() -> None:
            report(f"mutants of {block.name}", len(campaign.rows), len(work.mutations))

        tell_progress()
        if pending:
            work.baseline()
        for start in range(0, len(pending), _BATCH):
            for row in work.settled(pending[start:start + _BATCH]):
                campaign.settle(row)
                tell(row)
                tell_progress()
    return campaign


@dataclass
class _SeededBench:
    """One seed of a testbench, and what the block itself takes."""

    bench: Testbench
    seed: int
    cycles: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return f"testbench {self.bench.name}" + f", seed {self.seed}" * (self.bench.seeds > 1)


class _Work:
    """Data shared by all mutants of a campaign."""

    def __init__(self, block: Block, configuration: str, folder: Path,
                 benches: Sequence[Testbench], seed: int, count: int, workers: int,
                 patience: float = PATIENCE) -> None:
        self._block, self._configuration, self._folder = block, configuration, folder
        self._workers, self._patience = workers, patience
        self._parameters = dict(block.configuration(configuration)[1].parameters)
        self._runs = [_SeededBench(bench, run_seed) for bench in benches
                      for run_seed in range(1, 1 + bench.seeds)]
        top = FlatTop(self._make())
        self.netlist = Netlist(to_rtlil(top, name="top", ports=top.ports, lines=True), folder)
        self.mutations = self.netlist.mutations(count, seed)
        if not self.mutations:
            raise UserError(f"{block.name}: there is nothing to mutate in configuration "
                            f"{configuration}")
        self._failing: set[str] = set()
        self.judged_by: Callable[..., None] = lambda name, left_out="": None
        self._builds: dict[str, tuple[Build, FlatTop]] = {}

    def _make(self):
        return self._block.make(self._parameters)

    def _job(self, run: _SeededBench, seconds: float) -> Job:
        return Job(self._block.name, self._configuration, run.bench.name, run.seed,
                   str(self._folder), wall_limit=seconds)

    def _build(self, run: _SeededBench) -> tuple[Build, FlatTop]:
        """The simulator with all mutants, watched by this testbench's checker and probes."""
        key = run.bench.name
        if key not in self._builds:
            _, top = design(self._block, self._job(run, 0.0))
            netlist = Netlist(to_rtlil(top, name="top", ports=top.ports, lines=True),
                              self._folder, like=self.netlist)
            self._builds[key] = build_verilator(
                netlist.selectable(self.mutations), ports=[*top.ports, SELECT]), top
        return self._builds[key]

    # -- simulation ------------------------------------------------------------------------------

    def baseline(self) -> None:
        """Run the block itself. Raises `UserError` if it fails."""
        groups = []
        for run in self._runs:
            (_, outcome), = self._simulated(run, [0], run.bench.max_cycles, 900.0)
            if not outcome.passed:
                raise UserError(f"{self._block.name} itself fails {run.name}, so its mutants "
                                f"would show nothing: {outcome.reason}")
            run.cycles, run.seconds = outcome.cycles, outcome.run_seconds
            groups += [(outcome.name, group) for group in outcome.groups]
        broken = self._broken(groups)
        self._failing = set(broken)
        run_here = {run.bench.name for run in self._runs}
        for bench in self._block.testbenches:
            if bench.runs_on(self._configuration):
                self.judged_by(f"testbench {bench.name}", "" if bench.name in run_here else
                               "it simulates a top of its own" if bench.top else
                               "it takes minutes" if bench.thorough else "others were named")
        for what in dict.fromkeys(group.what for _, group in groups):
            self.judged_by(f"bound on {what}", broken.get(what, ""))
        for claim in self._block.properties:
            if why := self._not_of(claim):
                self.judged_by(f"property {claim.name}", why)

    def _broken(self, groups: list[tuple[str, Group]]) -> dict[str, str]:
        """The bounds that are not kept by what was observed, and how."""
        rows = judge(self._block, self._configuration, groups)
        return {row.what: f"{row.verdict}: {row.detail}" for row in rows if row.failed}

    def settled(self, mutations: list[Mutation]) -> Iterator[MutantRow]:
        """The fate of each; killed ones first."""
        left = {mutation.number: mutation for mutation in mutations}
        groups: dict[int, list[tuple[str, Group]]] = {number: [] for number in left}
        seconds = dict.fromkeys(left, 0.0)

        def row(number: int, fate: str, by: str = "", layer: str = "", detail: str = ""
                ) -> MutantRow:
            mutation = left.pop(number)
            return MutantRow(number, mutation.says, mutation.source, fate, by, layer,
                             _first(detail), round(seconds[number], 3))

        for run in self._runs:
            cycles = min(_LONGER * run.cycles + _MORE, run.bench.max_cycles)
            wall = _PATIENCE[0] * run.seconds + _PATIENCE[1]
            for number, outcome in self._simulated(run, list(left), cycles, wall):
                seconds[number] += outcome.run_seconds
                groups[number] += [(outcome.name, group) for group in outcome.groups]
                if not outcome.passed:
                    yield row(number, "timeout" if HANGS in outcome.reason else "killed",
                              run.name, outcome.layer, outcome.reason)
        for number in list(left):
            broken = {what: how for what, how in self._broken(groups[number]).items()
                      if what not in self._failing}
            if broken:
                what, how = next(iter(broken.items()))
                yield row(number, "killed", f"bound on {what}", "bound", how)
        if left:
            self._miter.prepare(list(left.values()))
        for number, mutation in list(left.items()):
            begun = time.monotonic()
            compared = self._miter.compare(mutation)
            by, detail = "", ""
            silent: list[str] = []
            if not compared.equivalent:  # no proof of ports can refute what is equivalent there
                by, detail, silent = self._refuted(mutation)
            fate = "killed"
            if not by:
                fate = {True: "equivalent", False: "survived", None: "unknown"}[compared.equivalent]
                detail = (compared.detail if compared.cycles is None else
                          f"can be told from the block in cycle {compared.cycles} after reset")
                if silent:
                    detail += f"{', ' * bool(detail)}no verdict of property {', '.join(silent)}"
            seconds[number] += time.monotonic() - begun
            yield row(number, fate, by, "proof" if by else "", detail)

    def _simulated(self, run: _SeededBench, numbers: list[int], cycles: int, seconds: float
                   ) -> Iterator[tuple[int, Outcome]]:
        """Run a testbench on mutants, as they end; number 0 is the block itself."""
        if not numbers:
            return
        build, top = self._build(run)
        job = self._job(run, seconds)
        bench = dataclasses.replace(run.bench, max_cycles=cycles)
        runs = fresh(self._folder / "runs")
        folders = {}
        asked = asked_of(self._block, job, bench, top.component, top)
        for number in numbers:
            folder = runs / str(number)
            folder.mkdir()
            folders[str(folder)] = number
            write_job(folder, {**asked, "mutant": number})
        said, saying = os.pipe()
        plan = {"module": bench.module, "folders": list(folders), "workers": self._workers,
                "seconds": seconds, "pipe": saying}
        (runs / "plan.json").write_text(json.dumps(plan))
        environment = {**job_environment(job, runs, bench.module, asked["tests"]),
                       VARIABLE: str(runs / "plan.json"),
                       "COCOTB_MAX_FAILURES": "1",  # the first failure settles it
                       "COCOTB_TEST_MODULES": f"cyclebound.tb.mutant_runs,{bench.module}"}
        with (runs / "log.txt").open("w") as log:
            process = subprocess.Popen(
                build.command(None), cwd=fresh(runs / "cwd"), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env=environment, start_new_session=True,
                pass_fds=[saying],
                preexec_fn=functools.partial(die_with_parent, os.getpid()))
        os.close(saying)
        ended = set()
        try:
            with os.fdopen(said) as lines:
                for line in lines:
                    told = json.loads(line)
                    number = folders[told["folder"]]
                    outcome = outcome_of(job, Path(told["folder"]), told["status"])
                    outcome.run_seconds = told["seconds"]
                    ended.add(number)
                    yield number, outcome
            process.wait()
        finally:  # also on Ctrl-C
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if ended != set(numbers):
            tail = (runs / "log.txt").read_text(errors="replace").strip().splitlines()[-1:]
            raise UserError(f"{self._block.name}: the simulator of mutants stopped: "
                            f"{' '.join(tail)}")

    # -- proofs ----------------------------------------------------------------------------------

    def _refuted(self, mutation: Mutation) -> tuple[str, str, list[str]]:
        """The property that a bounded check refutes, and what it says; or nothing.

        And the names of those that give no verdict of this mutant.
        """
        silent = []
        for claim in self._claims:
            try:
                said = counterexample(self._block, claim, self._parameters, timeout=self._patience,
                                      edit=functools.partial(self._edited, mutation))
            except (UserError, ValueError):  # its time is up, or it has cells that only a proof has
                silent.append(claim.name)
                continue
            if said:
                return f"property {claim.name}", said, silent
        return "", "", silent

    def _not_of(self, claim: Property) -> str:
        """Say why a property is not about exactly this configuration; empty if it is."""
        if claim.top:
            return "it is about a part of the block, or something around it"
        return "" if self._parameters in map(dict, claim.instances) else (
            "it has no instance of this configuration")

    @functools.cached_property
    def _claims(self) -> list[Property]:
        """The properties of this configuration. Raises `UserError` if the block breaks one."""
        claims = []
        for claim in self._block.properties:
            if self._not_of(claim):
                continue
            try:
                said = counterexample(self._block, claim, self._parameters, timeout=self._patience,
                                      edit=lambda rtlil: rtlil)
            except UserError as error:  # it takes longer than a mutant is given
                self.judged_by(f"property {claim.name}", "no verdict even of the block itself: "
                               + str(error).rpartition(": ")[2])
                continue
            if said:
                raise UserError(f"{self._block.name} itself breaks property {claim.name}, so its "
                                f"mutants would show nothing: {said}")
            self.judged_by(f"property {claim.name}")
            claims.append(claim)
        return claims

    def _edited(self, mutation: Mutation, rtlil: str) -> str:
        return Netlist(rtlil, self._folder, like=self.netlist).mutated(mutation)

    @functools.cached_property
    def _miter(self) -> Miter:
        return Miter(self._make, self._block.checker, self.netlist, self._folder)


def _first(text: str) -> str:
    """The first of what was said, in at most 200 characters."""
    line = next(iter(text.strip().splitlines()), "").partition("; ")[0]
    return line if len(line) <= 200 else f"{line[:197]}..."
