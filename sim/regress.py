"""A regression: all jobs of the chosen blocks, in parallel, resumable, into one run folder."""

import concurrent.futures
import contextlib
import fcntl
import os
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.block import Block
from cyclebound.sim.cache import key_of
from cyclebound.sim.drawing import Drawing
from cyclebound.sim.drawing import draw as draw_picture
from cyclebound.sim.errors import UserError, unknown
from cyclebound.sim.folders import inside, job_folder
from cyclebound.sim.fpga import Figures, place_and_route
from cyclebound.sim.job import Job, run_job
from cyclebound.sim.pool import Report, each, pool_of
from cyclebound.sim.prove import Proof, prove
from cyclebound.sim.results import Results
from cyclebound.sim.sources import sources
from cyclebound.sim.toolchain import compiler_version, verilator, versions
from cyclebound.sim.verdict import Verdict, judge
from cyclebound.sim.witness import Witness, draw

__all__ = ["Interrupted", "Plan", "check", "drawings_of", "jobs_of", "proofs_of", "prove_blocks",
           "regress"]


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
    thorough : bool
        Whether testbenches run that take minutes; one that is named runs anyway.
    proofs, pictures, fpga : bool
        Whether properties are proved, whether worst requests are drawn from waveforms and blocks'
        own pictures are, and whether blocks are placed and routed; FPGA figures that are known
        already are taken over anyway.
    """

    blocks: list[Block]
    folder: Path
    seed: int = 1
    configurations: Sequence[str] = ()
    testbenches: Sequence[str] = ()
    thorough: bool = False
    waves: bool = False
    proofs: bool = True
    pictures: bool = True
    fpga: bool = False
    simulator: str = "verilator"
    wall_limit: float = 900.0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    scheduler: str | None = None
    pages: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, object]:
        """What a resumed run repeats, unless it is told otherwise."""
        kept = ("seed", "configurations", "testbenches", "thorough", "waves", "proofs", "pictures",
                "fpga", "simulator", "wall_limit", "pages")
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


def _configurations(plan: Plan, block: Block) -> list[str]:
    return [name for name in block.configurations
            if not plan.configurations or name in plan.configurations]


def jobs_of(plan: Plan) -> list[Job]:
    """All simulations of the plan. Raises `UserError` if there are none."""
    jobs = []
    for block in plan.blocks:
        for configuration in _configurations(plan, block):
            for bench in block.testbenches:
                named = bench.name in plan.testbenches
                if (plan.testbenches or (bench.thorough and not plan.thorough)) and not named:
                    continue
                if bench.configurations and configuration not in bench.configurations:
                    continue
                for seed in range(plan.seed, plan.seed + bench.seeds):
                    job = Job(block.name, configuration, bench.name, seed, "", waves=plan.waves,
                              simulator=plan.simulator, wall_limit=plan.wall_limit,
                              pages=plan.pages)
                    jobs.append(replace(job, folder=str(inside(
                        plan.folder, job_folder(plan.folder, job)))))
    if not jobs:
        raise UserError("nothing to run: no chosen block has "
                        f"configuration {' or '.join(plan.configurations) or 'any'} with "
                        f"testbench {' or '.join(plan.testbenches) or 'any'}; "
                        "see `cyclebound list`")
    return jobs


def proofs_of(block: Block) -> list[tuple[str, Mapping[str, object]]]:
    """Every property of a block with each set of parameters."""
    return [(claim.name, parameters) for claim in block.properties
            for parameters in claim.instances]


def _prove(block: str, claim: str, parameters: Mapping[str, object],
           pages: tuple[str, ...]) -> Proof:
    """For a worker: one proof; every failure is handed back."""
    found = catalogue.load(pages).find(block)
    wanted = next(p for p in found.properties if p.name == claim)
    try:
        return prove(found, wanted, parameters)
    except UserError as error:
        detail = str(error)
    except Exception:  # a worker must hand every failure back, whatever it is
        detail = traceback.format_exc(limit=8)
    return Proof(block, claim, wanted.says, dict(parameters), detail=detail)


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
    with pool_of(workers or os.cpu_count() or 1, None) as pool:
        futures = {pool.submit(_prove, block.name, name, parameters, pages): None
                   for block in blocks for name, parameters in proofs_of(block)}
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
            report: Report = lambda step, done, total: None) -> list[Verdict]:
    """Run the plan; all results go to `Results` in its folder.

    Jobs that the folder already holds, passed and of the same content, are not run again; if code
    or tools have changed since, nothing in the folder counts any more.
    Raises `Interrupted` on Ctrl-C.
    """
    check(plan)
    jobs = jobs_of(plan)
    with _alone(plan.folder), contextlib.closing(Results(plan.folder, create=True)) as results:
        try:
            _prepare(plan, jobs, results, command=command, created=created)
            done = results.done()
            todo = [job for job in jobs if done.get(job.name) != _content(job)]
            with pool_of(plan.workers, plan.scheduler) as pool:
                # long jobs first, so that the last one does not run alone
                futures = {pool.submit(run_job, job): job for job in todo}
                claims = {}
                if plan.proofs:
                    claims = {pool.submit(_prove, block.name, name, parameters, plan.pages): None
                              for block in plan.blocks for name, parameters in proofs_of(block)}
                placed = {pool.submit(_figures, block.name, not plan.fpga, plan.pages): None
                          for block in plan.blocks if block.fpga}
                for job, outcome in each(futures, "simulations", report):
                    results.finished(job, outcome, _content(job))
                for _, proof in each(claims, "proofs", report):
                    results.proof(proof)
                verdicts = _judge(plan, jobs, results)
                problems = []
                for _, figures in each(placed, "place and route", report):
                    if isinstance(figures, UserError):
                        problems.append(figures)
                    elif figures is not None:
                        results.fpga(figures)
                if plan.pictures:
                    _waveforms(plan, pool, verdicts, results, report)
                    _pictures(plan, pool, results, report)
            for problem in problems:  # after all else has been kept
                raise problem
        except KeyboardInterrupt:
            raise Interrupted(str(plan.folder)) from None
    return verdicts


def _prepare(plan: Plan, jobs: list[Job], results: Results, **facts: str) -> None:
    """Note what is going to run, and forget what other code than this had shown."""
    meta = results.meta
    code = key_of(sources(plan.pages), versions(), plan.simulator)
    if meta.get("code") != code:
        results.forget()
        meta.pop("planned", None)
    planned = [*dict.fromkeys([*meta.get("planned", ()), *(job.name for job in jobs)])]
    results.note(**facts, seed=plan.seed, versions=versions(), simulator=plan.simulator,
                 code=code, planned=planned, jobs=len(planned),
                 options=meta.get("options", plan.options))


def _left_out(plan: Plan, block: Block, configuration: str) -> bool:
    """Whether testbenches were named, and not all that this configuration has."""
    return bool(plan.testbenches) and any(
        bench.name not in plan.testbenches for bench in block.testbenches
        if configuration in (bench.configurations or (configuration,)))


def _judge(plan: Plan, jobs: list[Job], results: Results) -> list[Verdict]:
    proofs = [Proof(**row) for row in results.rows("proof")]
    verdicts = []
    for block in plan.blocks:
        mine = [proof for proof in proofs if proof.block == block.name]
        for configuration in dict.fromkeys(j.configuration for j in jobs
                                           if j.block == block.name):
            rows = judge(block, configuration,
                         results.observations(block.name, configuration), mine)
            if _left_out(plan, block, configuration):  # they may be what sees the rest
                rows = [row for row in rows if row.verdict != "unobserved"]
            results.judged(block.name, configuration, rows)
            verdicts += rows
    return verdicts


def _waveforms(plan: Plan, pool: concurrent.futures.Executor, verdicts: list[Verdict],
               results: Results, report: Report) -> None:
    """A waveform of each bound's worst request, unless the run has it already."""
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
            if picture.thorough and not plan.thorough:
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
    have = {(row["block"], row["configuration"], row["name"], row["key"])
            for row in results.rows("picture")}
    futures = {
        pool.submit(draw_picture, drawing): drawing for drawing in drawings_of(plan, results)
        if (drawing.block, drawing.configuration, drawing.name, drawing.key) not in have}
    for _, drawn in each(futures, "pictures", report):
        results.picture(drawn)
