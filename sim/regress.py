"""A regression: all jobs of the chosen blocks, in parallel, resumable, into one run folder."""

import concurrent.futures
import contextlib
import dataclasses
import fcntl
import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.block import Block, Testbench
from cyclebound.sim.cache import key_of
from cyclebound.sim.drawing import Drawing
from cyclebound.sim.drawing import draw as draw_picture
from cyclebound.sim.errors import UserError, unknown
from cyclebound.sim.folders import inside, job_folder
from cyclebound.sim.fpga import Figures, place_and_route
from cyclebound.sim.job import Job, Outcome, run_job
from cyclebound.sim.pool import Report, each, pool_of
from cyclebound.sim.prove import Proof, prove
from cyclebound.sim.results import Results
from cyclebound.sim.sources import sources
from cyclebound.sim.toolchain import compiler_version, verilator, versions
from cyclebound.sim.verdict import Verdict, judge
from cyclebound.sim.witness import Witness, draw

__all__ = ["LEVELS", "Claim", "Interrupted", "Plan", "Tell", "check", "drawings_of", "jobs_of",
           "judge_places", "left_to_full", "proofs_of", "prove_blocks", "regress"]

LEVELS = ("quick", "full")
Tell = Callable[[Verdict | Proof | Outcome], None]


class Interrupted(Exception):
    """Ctrl-C: everything is stopped, and what had finished is kept."""


@dataclass(frozen=True)
class Plan:
    """What a regression runs.

    Attributes
    ----------
    blocks : list[Block]
        What runs.
    configurations, testbenches : Sequence[str]
        Those of the blocks that run; none stands for all.
    seed : int
        First seed of every testbench.
    level : str
        ``quick``: what each block declares as such. ``full``: everything. A configuration or
        testbench that is named runs in either.
    shard : tuple[int, int]
        ``(1, 4)``: the first of four parts of the work, for as many machines; see `merge`.
    proofs, fpga : bool
        Whether properties are proved, and whether blocks are placed and routed; FPGA figures that
        are known already are taken over anyway.
    pictures : bool or None
        Whether worst requests are drawn from waveforms, and blocks' own pictures too. None: in
        the full level; in the quick one, which would build most simulators a second time, only
        requests that violate their bound.
    """

    blocks: list[Block]
    folder: Path
    seed: int = 1
    configurations: Sequence[str] = ()
    testbenches: Sequence[str] = ()
    level: str = "quick"
    shard: tuple[int, int] = (1, 1)
    waves: bool = False
    proofs: bool = True
    pictures: bool | None = None
    fpga: bool = False
    simulator: str = "verilator"
    wall_limit: float = 900.0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    scheduler: str | None = None
    pages: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, object]:
        """What a resumed run repeats, unless it is told otherwise."""
        kept = ("seed", "configurations", "testbenches", "level", "shard", "waves", "proofs",
                "pictures", "fpga", "simulator", "wall_limit", "pages")
        return {"blocks": [block.name for block in self.blocks],
                **{name: getattr(self, name) for name in kept}}


def check(plan: Plan) -> None:
    """Raise `UserError` for a plan that cannot run: a wrong name, no job, a missing tool."""
    for thing, names, known in (
            ("configuration", plan.configurations,
             {c for block in plan.blocks for c in block.configurations}),
            ("testbench", plan.testbenches,
             {bench.name for block in plan.blocks for bench in block.testbenches})):
        for name in (name for name in names if name not in known):
            owner = f" of {plan.blocks[0].name}" if len(plan.blocks) == 1 else ""
            raise unknown(thing + owner, name, known)
    jobs_of(plan)
    if plan.scheduler is None and plan.simulator == "verilator":
        verilator()
        compiler_version()


def _selected(plan: Plan, block: Block) -> Iterator[tuple[str, Testbench]]:
    """The configurations of the block that the plan runs, each with a testbench."""
    for configuration in block.configurations:
        if plan.configurations and configuration not in plan.configurations:
            continue
        for bench in block.testbenches:
            if not bench.runs_on(configuration):
                continue
            if plan.testbenches:
                chosen = bench.name in plan.testbenches
            elif plan.configurations:  # it is named
                chosen = plan.level == "full" or not bench.thorough
            else:
                chosen = plan.level == "full" or bench.is_quick(configuration)
            if chosen:
                yield configuration, bench


def jobs_of(plan: Plan) -> list[Job]:
    """All simulations of the plan. Raises `UserError` if there are none.

    A shard has every so many'th configuration, with all of its testbenches: they share
    simulators, and their verdicts.
    """
    part, parts = plan.shard
    jobs, units = [], 0
    for block in plan.blocks:
        by_configuration: dict[str, list[Testbench]] = {}
        for configuration, bench in _selected(plan, block):
            by_configuration.setdefault(configuration, []).append(bench)
        for configuration, benches in by_configuration.items():
            units += 1
            if units % parts != part % parts:
                continue
            for bench in benches:
                for seed in range(plan.seed, plan.seed + bench.seeds):
                    job = Job(block.name, configuration, bench.name, seed, "", waves=plan.waves,
                              simulator=plan.simulator, wall_limit=plan.wall_limit,
                              pages=plan.pages)
                    jobs.append(dataclasses.replace(job, folder=str(inside(
                        plan.folder, job_folder(plan.folder, job)))))
    if not jobs and units:
        raise UserError(f"nothing to run: there are {units} configurations, fewer than the "
                        f"{parts} shards; part {part} is empty")
    if not jobs:
        raise UserError("nothing to run: no chosen block has "
                        f"configuration {' or '.join(plan.configurations) or 'any'} with "
                        f"testbench {' or '.join(plan.testbenches) or 'any'}; "
                        "see `cyclebound list`")
    return jobs


@dataclass(frozen=True)
class Claim:
    """A property of a block for one set of parameters, to be proved."""

    block: str
    name: str
    parameters: Mapping[str, object]


def proofs_of(plan: Plan) -> list[Claim]:
    """The properties that the plan proves, with each set of parameters."""
    if not plan.proofs:
        return []
    part, parts = plan.shard
    claims = [Claim(block.name, claim.name, parameters) for block in plan.blocks
              for claim in block.properties
              for parameters in claim.instances[:None if plan.level == "full" else claim.quick]]
    return claims[part - 1::parts]


def left_to_full(plan: Plan) -> tuple[int, int, int]:
    """What the full level adds to the plan: simulations, configurations, proofs."""
    if plan.level == "full" or plan.testbenches or plan.configurations:
        return 0, 0, 0
    whole = dataclasses.replace(plan, level="full")
    mine, every = jobs_of(plan), jobs_of(whole)

    def places(jobs: list[Job]) -> int:
        return len({(job.block, job.configuration) for job in jobs})

    return (len(every) - len(mine), places(every) - places(mine),
            (len(proofs_of(whole)) - len(proofs_of(plan))) * plan.proofs)


def _prove(claim: Claim, pages: tuple[str, ...]) -> Proof:
    """For a worker: one proof; every failure is handed back."""
    block = catalogue.load(pages).find(claim.block)
    wanted = next(p for p in block.properties if p.name == claim.name)
    try:
        return prove(block, wanted, claim.parameters)
    except UserError as error:
        detail = str(error)
    except Exception:  # a worker must hand every failure back, whatever it is
        detail = traceback.format_exc(limit=8)
    return Proof(claim.block, claim.name, wanted.says, dict(claim.parameters), detail=detail)


def _figures(block: str, only_known: bool, pages: tuple[str, ...]) -> Figures | UserError | None:
    """For a worker: the FPGA figures of a block; an error is handed back."""
    found = catalogue.load(pages).find(block)
    try:
        return place_and_route(found, found.fpga.configuration, found.fpga.device,
                               only_known=only_known)
    except UserError as error:
        return error


def _content(job: Job) -> str:
    """What ran: a resumed run repeats a job when this has changed."""
    return key_of(sources(job.pages), versions(), job.simulator, job.seed)


def prove_blocks(blocks: list[Block], *, pages: tuple[str, ...] = (), workers: int | None = None,
                 report: Report) -> list[Proof]:
    """Prove all properties of these blocks, in parallel; in the catalogue's order."""
    plan = Plan(blocks, Path(), level="full")
    with pool_of(workers or os.cpu_count() or 1, None) as pool:
        futures = {pool.submit(_prove, claim, pages): None for claim in proofs_of(plan)}
        for _ in each(futures, "proofs", report):
            pass
        return [future.result() for future in futures]


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two regressions in one folder would overwrite each other's jobs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise UserError(f"another regression is running in {folder}") from None
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror or error}") from error


def regress(plan: Plan, *, command: str = "", created: str = "",
            report: Report = lambda step, done, total: None,
            tell: Tell = lambda found: None) -> list[Verdict]:
    """Run the plan; all results go to `Results` in its folder.

    Jobs that the folder already holds, passed and of the same content, are not run again; if code
    or tools have changed since, nothing in the folder counts any more.
    ``tell`` is handed each verdict when its configuration's simulations have finished (what is
    proved may be added later), each proof, and each simulation that failed.
    Raises `Interrupted` on Ctrl-C.
    """
    check(plan)
    jobs = jobs_of(plan)
    with _alone(plan.folder), contextlib.closing(Results(plan.folder, create=True)) as results:
        try:
            _prepare(plan, jobs, results, command=command, created=created)
            done = results.done()
            todo = [job for job in jobs if done.get(job.name) != _content(job)]
            awaited = Counter((job.block, job.configuration) for job in todo)
            places = [*dict.fromkeys((job.block, job.configuration) for job in jobs)]
            for place in places:
                if not awaited[place]:  # by an earlier run in this folder
                    _announce(_judge_one(plan, *place, results), tell)
            with pool_of(plan.workers, plan.scheduler) as pool:
                # proofs after simulations: many, and short, they leave no worker idle at the end
                futures = {pool.submit(run_job, job): job for job in todo}
                futures |= {pool.submit(_prove, claim, plan.pages): claim
                            for claim in proofs_of(plan)}
                placed = {pool.submit(_figures, block.name, not plan.fpga, plan.pages): None
                          for block in plan.blocks if block.fpga}
                for asked, found in each(futures, _step, report):
                    if isinstance(asked, Claim):
                        results.proof(found)
                        tell(found)
                        continue
                    results.finished(asked, found, _content(asked))
                    if not found.passed:
                        tell(found)
                    place = asked.block, asked.configuration
                    awaited[place] -= 1
                    if not awaited[place]:
                        _announce(_judge_one(plan, *place, results), tell)
                verdicts = judge_places(plan, places, results)
                problems = []
                for _, figures in each(placed, "place and route", report):
                    if isinstance(figures, UserError):
                        problems.append(figures)
                    elif figures is not None:
                        results.fpga(figures)
                _waveforms(plan, pool, verdicts, results, report)
                _pictures(plan, pool, results, report)
            for problem in problems:  # after all else has been kept
                raise problem
        except KeyboardInterrupt:
            raise Interrupted(str(plan.folder)) from None
    return verdicts


def _step(asked: Job | Claim) -> str:
    return "proofs" if isinstance(asked, Claim) else "simulations"


def _announce(verdicts: list[Verdict], tell: Tell) -> None:
    for row in verdicts:
        tell(row)


def _prepare(plan: Plan, jobs: list[Job], results: Results, **facts: str) -> None:
    """Note what is going to run, and forget what other code than this had shown."""
    meta = results.meta
    code = key_of(sources(plan.pages), versions(), plan.simulator)
    if meta.get("code") != code:
        results.forget()
        meta.pop("planned", None)
    planned = [*dict.fromkeys([*meta.get("planned", ()), *(job.name for job in jobs)])]
    results.note(**facts, seed=plan.seed, versions=versions(), simulator=plan.simulator,
                 code=code, planned=planned, jobs=len(planned), level=plan.level,
                 options=meta.get("options", plan.options))


def _left_out(plan: Plan, block: Block, configuration: str) -> bool:
    """Whether this configuration has testbenches that the plan does not run."""
    run = {bench.name for name, bench in _selected(plan, block) if name == configuration}
    return any(bench.name not in run and (plan.testbenches or not bench.thorough)
               for bench in block.testbenches if bench.runs_on(configuration))


def _judge_one(plan: Plan, name: str, configuration: str, results: Results,
               proofs: Sequence[Proof] = ()) -> list[Verdict]:
    """Judge a configuration by what the results hold now, and keep its verdicts."""
    block = next(block for block in plan.blocks if block.name == name)
    rows = judge(block, configuration, results.observations(name, configuration),
                 [proof for proof in proofs if proof.block == name])
    if _left_out(plan, block, configuration):  # they may be what sees the rest
        rows = [row for row in rows if row.verdict != "unobserved"]
    results.judged(name, configuration, rows)
    return rows


def judge_places(plan: Plan, places: Iterable[tuple[str, str]],
                 results: Results) -> list[Verdict]:
    """Judge configurations, each a block's and its own name, with all that has been proved."""
    proofs = [Proof(**row) for row in results.rows("proof")]
    return [row for place in places for row in _judge_one(plan, *place, results, proofs)]


def _waveforms(plan: Plan, pool: concurrent.futures.Executor, verdicts: list[Verdict],
               results: Results, report: Report) -> None:
    """A waveform of each bound's worst request, unless the run has it already."""
    drawn = plan.pictures
    if drawn is None:
        drawn = plan.level == "full"
        verdicts = [row for row in verdicts if drawn or row.verdict == "violated"]
    elif not drawn:
        return
    have = results.waveforms()
    content = {job.name: job.content for job in results.jobs()}
    wanted = []
    for row in verdicts:
        witness = Witness.of(row, plan.folder, plan.simulator, content.get(row.job, ""),
                             plan.pages)
        known = have.get((row.block, row.configuration, row.bound))
        if witness is not None and (known is None or known[2] != witness.key):
            wanted.append(witness)
    futures = {pool.submit(draw, witness): witness for witness in wanted}
    for witness, svg in each(futures, "waveforms", report):
        results.waveform(witness.block, witness.configuration, witness.bound, svg,
                         witness.command, witness.key)


def drawings_of(plan: Plan, results: Results) -> list[Drawing]:
    """The blocks' own pictures, as far as this run has what they show."""
    found = []
    for block in plan.blocks:
        for picture in block.pictures:
            if picture.thorough and plan.level != "full":
                continue
            if not picture.kept:
                key = key_of(sources(plan.pages), block.name, picture.name)
                found.append(Drawing(block.name, "", picture.name, picture.caption, "", key,
                                     plan.pages))
                continue
            for job in results.jobs():
                source = job_folder(plan.folder.resolve(), job) / picture.kept
                if (job.block == block.name and job.testbench in picture.testbenches
                        and job.passed and source.resolve() == source and source.is_file()):
                    found.append(Drawing(
                        block.name, job.configuration, picture.name, picture.caption,
                        str(source), key_of(job.content, job.name), plan.pages))
    return found


def _pictures(plan: Plan, pool: concurrent.futures.Executor, results: Results,
              report: Report) -> None:
    """The blocks' own pictures, unless the run has them already."""
    if not (plan.level == "full" if plan.pictures is None else plan.pictures):
        return
    have = {(row["block"], row["configuration"], row["name"], row["key"])
            for row in results.rows("picture")}
    futures = {
        pool.submit(draw_picture, drawing): drawing for drawing in drawings_of(plan, results)
        if (drawing.block, drawing.configuration, drawing.name, drawing.key) not in have}
    for _, drawn in each(futures, "pictures", report):
        results.picture(drawn)
