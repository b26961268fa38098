"""A regression: all jobs of the chosen blocks, in parallel, resumable, into one run folder."""

import concurrent.futures
import contextlib
import fcntl
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType

from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import key_of, made_since
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.folders import job_folder
from cyclebound.sim.base.installed import compiler_content, everything, unchanged
from cyclebound.sim.base.toolchain import versions
from cyclebound.sim.build.identity import identity
from cyclebound.sim.build.sources import all_files, began, commit, settled, sources
from cyclebound.sim.describe.block import Block, Property
from cyclebound.sim.describe.variant import UNCHANGED, Changes, varied
from cyclebound.sim.drawing.drawing import Drawing, with_picture
from cyclebound.sim.fpga.placement import Figures, place_and_route
from cyclebound.sim.judge.cross_check import CrossChecked, cross_check, cross_checks_of
from cyclebound.sim.judge.kept import KeptVerdicts
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.mutation.rows import read_campaign, read_campaigns
from cyclebound.sim.proof.certify import certified
from cyclebound.sim.proof.explore import explore
from cyclebound.sim.proof.prove import Proof, prove
from cyclebound.sim.regression.baseline import (
    checker_of,
    gone,
    guard_of,
    weighed,
    weighed_mutants,
    weighed_proofs,
)
from cyclebound.sim.regression.plan import (
    Plan,
    ProofJob,
    check,
    jobs_of,
    left_out,
    mutated_blocks,
    proofs_of,
)
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.witness import Witness, waveform_svg
from cyclebound.sim.run.job import Job, Outcome
from cyclebound.sim.run.outcomes import outcome_of_job
from cyclebound.sim.run.pool import Report, completed, pool_of

__all__ = ["Interrupted", "Tell", "drawings_of", "judge_places", "prove_blocks", "prove_job",
           "regress"]

Tell = Callable[[Verdict | Proof | Outcome | CrossChecked], None]


class Interrupted(Exception):
    """Ctrl-C: everything is stopped, and what had finished is kept."""


def prove_job(job: ProofJob, pages: tuple[str, ...], changes: Changes = UNCHANGED,
                since: float = 0.0, certify: bool = False, keep: Path | None = None) -> Proof:
    """For a worker: one proof; every failure is handed back.

    Nothing counts that was proved before the moment ``since``. With ``certify``, a property's proof
    has its certificate; ``keep`` is as of `cyclebound.sim.proof.certify.certified`.
    """
    with made_since(since):
        return _proof_of(job, pages, changes, certify, keep)


def _proof_of(job: ProofJob, pages: tuple[str, ...], changes: Changes, certify: bool,
              keep: Path | None) -> Proof:
    block = catalogue.load(pages).find(job.block)
    wanted = next(p for p in block.shown if p.name == job.name)
    made_from, parameters = None, changes.local(job.parameters)
    if not pages:
        by = prove if isinstance(wanted, Property) else explore
        made_from = identity((catalogue.load().page_of(block.name), by.__module__),
                             asdict(job), asdict(changes))
    try:
        if not isinstance(wanted, Property):
            proof = explore(block, wanted, parameters, identity=made_from)
        else:
            proof = prove(block, wanted, parameters, identity=made_from)
            if certify:
                proof = certified(proof, block, wanted, identity=made_from, keep=keep)
        return replace(proof, parameters=dict(job.parameters))
    except UserError as error:
        detail = str(error)
    except Exception:  # a worker must hand every failure back, whatever it is
        detail = traceback.format_exc(limit=8)
    return Proof(job.block, job.name, wanted.says, dict(job.parameters), detail=detail)


def _figures(block: str, only_cached: bool, pages: tuple[str, ...], changes: Changes,
             since: float) -> Figures | UserError | None:
    """For a worker: the FPGA figures of a block; an error is handed back."""
    with made_since(since):
        return _figures_of(block, only_cached, pages, changes)


def _figures_of(block: str, only_cached: bool, pages: tuple[str, ...], changes: Changes
                ) -> Figures | UserError | None:
    the_block = varied(catalogue.load(pages).find(block), changes).block
    assert the_block.fpga is not None
    try:
        return place_and_route(the_block, the_block.fpga.configuration, the_block.fpga.device,
                               only_cached=only_cached)
    except UserError as error:
        return error


def _mutated(block: str, folder: Path, pages: tuple[str, ...]) -> UserError | None:
    """For a worker: the mutants of a block, whose fates the run's folder keeps; an error is handed
    back."""
    from cyclebound.sim.mutation.mutate import mutate  # yosys' netlists are of no use to other runs

    the_block = catalogue.load(pages).find(block)
    assert the_block.mutants is not None
    try:
        mutate(the_block, the_block.mutants.configuration, run=folder, seed=1,
               count=the_block.mutants.count, pages=pages)
    except UserError as error:
        return error
    return None


def _content(job: Job) -> str:
    """Key of all that a job's result depends on: a resumed run repeats jobs whose key changed."""
    return key_of(sources(job.pages), everything(), compiler_content(), job.simulator, job.seed,
                  *([asdict(job.changes)] if job.changes else []))


class _Finished:
    """Jobs that have finished, and of which it is not yet known what ran: of what has changed since
    this process read it, nothing is. To look at all packages takes a third of a second, so that
    this is done for several jobs at once, in a small share of the time.

    A run that is killed in between runs these jobs again.
    """

    _SHARE = 0.02

    def __init__(self, results: Results) -> None:
        self._results = results
        self._jobs: list[tuple[Job, Outcome]] = []
        self._next = 0.0

    def add(self, job: Job, outcome: Outcome, guard: str) -> None:
        self._results.finished(job, outcome, "", guard)
        self._jobs.append((job, outcome))
        if time.monotonic() >= self._next:
            self.close()

    def close(self) -> None:
        """Look now."""
        began_looking = time.monotonic()
        if self._jobs and settled(files=all_files()) and unchanged(began()):
            self._results.identified((job, outcome, _content(job)) for job, outcome in self._jobs)
        self._jobs.clear()
        now = time.monotonic()
        self._next = now + (now - began_looking) / self._SHARE


def prove_blocks(blocks: list[Block], *, pages: tuple[str, ...] = (), workers: int | None = None,
                 report: Report, certify: bool = False, keep: Path | None = None) -> list[Proof]:
    """Prove all properties of these blocks, in parallel; in the catalogue's order.

    ``certify`` and ``keep`` are as of `prove_job`; each proof has a folder in ``keep``.
    """
    plan = Plan(blocks, Path(), level="full")
    with pool_of(workers or os.cpu_count() or 1, None) as pool:
        futures = {pool.submit(
            prove_job, job, pages, UNCHANGED, 0.0, certify,
            keep and keep / f"{job.block}.{job.name}.{number}"): None
            for number, job in enumerate(proofs_of(plan), 1)}
        for _ in completed(futures, "proofs", report):
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
            tell: Tell = lambda result: None) -> list[Verdict]:
    """Run the plan; all results go to `Results` in its folder.

    Jobs that the folder already holds, passed and of the same content, are not run again; if code
    or tools have changed since, nothing in the folder counts any more.
    ``tell`` is handed each verdict when its configuration's simulations have finished (what is
    proved may be added later), each proof, and each simulation that failed.
    Raises `Interrupted` on Ctrl-C.
    """
    check(plan)
    jobs = jobs_of(plan)
    since = time.time() if plan.fresh else 0.0
    with _alone(plan.folder), contextlib.closing(Results(plan.folder, create=True)) as results:
        try:
            _prepare(plan, jobs, results, command=command, created=created)
            done = results.done()
            todo = [job for job in jobs if done.get(job.name) != _content(job)]
            awaited = Counter((job.block, job.configuration) for job in todo)
            places = [*dict.fromkeys((job.block, job.configuration) for job in jobs)]
            judged: dict[tuple[str, str], list[Verdict]] = {}
            kept = KeptVerdicts(plan.pages, since)

            def announce(place: tuple[str, str]) -> None:
                judged[place] = _judge_one(plan, *place, results, kept)
                for row in _weighed(plan, *place, judged[place], results, final=False):
                    tell(row)

            for place in places:
                if not awaited[place]:  # by an earlier run in this folder
                    announce(place)
            with pool_of(plan.workers, plan.scheduler) as pool:
                # proofs after simulations: many, and short, they leave no worker idle at the end
                futures: dict[concurrent.futures.Future[Outcome | Proof], Job | ProofJob] = {
                    pool.submit(outcome_of_job, job, since): job for job in todo}
                futures |= {pool.submit(prove_job, job, plan.pages, plan.changes, since,
                                        plan.certify): job for job in proofs_of(plan)}
                mutated = {pool.submit(_mutated, block.name, plan.folder.resolve(), plan.pages):
                           None for block in mutated_blocks(plan)}
                tables = {pool.submit(cross_check, name): None
                          for name in cross_checks_of(plan.blocks)}
                # to find figures that are known already, a block is elaborated
                placed = {pool.submit(_figures, block.name, not plan.fpga, plan.pages,
                                      plan.changes, since): None
                          for block in plan.blocks
                          if block.fpga and (plan.fpga or plan.level == "full")}
                with contextlib.closing(_Finished(results)) as finished:
                    for asked, result in completed(futures, _step, report):
                        if isinstance(result, Proof):
                            results.proof(result)
                            tell(result)
                            continue
                        assert isinstance(asked, Job)
                        finished.add(asked, result, _guard(plan, asked))
                        if not result.passed:
                            tell(result)
                        place = asked.block, asked.configuration
                        awaited[place] -= 1
                        if not awaited[place]:
                            announce(place)
                problems = [error for _, error in completed(mutated, "mutants", report) if error]
                for _, table in completed(tables, "cross-checks", report):
                    results.cross_check(table)
                    if not table.passed:
                        tell(table)
                verdicts = judge_places(plan, places, results, judged, kept)
                for _, figures in completed(placed, "place and route", report):
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


def _guard(plan: Plan, job: Job) -> str:
    block = next(block for block in plan.blocks if block.name == job.block)
    return guard_of(block, job.configuration, block.testbench(job.testbench))


def _step(asked: Job | ProofJob) -> str:
    return "proofs" if isinstance(asked, ProofJob) else "simulations"


def _prepare(plan: Plan, jobs: list[Job], results: Results, **facts: str) -> None:
    """Note what is going to run, and forget what other code than this had shown."""
    meta = results.meta
    code = key_of(sources(plan.pages), everything(), compiler_content(), plan.simulator)
    if meta.get("code") != code:
        results.forget()
        meta.pop("planned", None)
    results.distrust()
    if plan.changes.part_file:  # for a command that runs one of its requests again
        (plan.folder / plan.changes.part_name).write_text(plan.changes.part_file)
    planned = [*dict.fromkeys([*meta.get("planned", ()), *(job.name for job in jobs)])]
    results.note(**facts, seed=plan.seed, versions=versions(), simulator=plan.simulator,
                 code=code, planned=planned, jobs=len(planned), level=plan.level,
                 commit=commit(),
                 options=meta.get("options", plan.options))


def _judge_one(plan: Plan, name: str, configuration: str, results: Results, kept: KeptVerdicts,
               proofs: Sequence[Proof] = ()) -> list[Verdict]:
    """Judge a configuration by what the results hold now."""
    block = next(block for block in plan.blocks if block.name == name)
    rows = kept.judge(block, configuration, [*results.observations(name, configuration)],
                      [replace(proof, parameters=plan.changes.local(proof.parameters))
                       for proof in proofs if proof.block == name],
                      _without_result(results, name, configuration))
    for row in rows:
        row.domain, row.detail = map(plan.changes.without_paths, (row.domain, row.detail))
    if left_out(plan, block, configuration):  # they may be what sees the rest
        rows = [row for row in rows if row.verdict != "unobserved"]
    jobs = results.jobs(name, configuration)
    checkers = dict.fromkeys(filter(None, (
        checker_of(block, block.testbench(job.testbench)) for job in jobs)))
    campaign = read_campaign(results.folder, name, configuration)
    for row in rows:
        if campaign is not None and campaign.score is not None:
            row.mutation = {"score": round(campaign.score, 2), "mutants": len(campaign.rows)}
        row.compared, row.checker = sum(job.compared for job in jobs), ", ".join(checkers)
    return rows


def _weighed(plan: Plan, block: str, configuration: str, rows: Sequence[Verdict],
             results: Results, *, final: bool) -> list[Verdict]:
    """Compare a configuration's verdicts with the baseline, and keep them."""
    compared = weighed(plan, block, configuration, rows, results.jobs(block, configuration),
                       final=final)
    results.judged(block, configuration, compared)
    return compared


def _without_result(results: Results, block: str, configuration: str) -> list[str]:
    """Simulations of a configuration that failed, or were planned and have not finished."""
    jobs = {job.name: job.passed for job in results.jobs(block, configuration)}
    planned = [job for job in results.meta.get("planned", ())
               if job.startswith(f"{block}/{configuration}/")]
    return [job for job in dict.fromkeys([*jobs, *planned]) if not jobs.get(job)]


def judge_places(plan: Plan, places: Iterable[tuple[str, str]], results: Results,
                 judged: Mapping[tuple[str, str], list[Verdict]] = MappingProxyType({}),
                 kept: KeptVerdicts | None = None) -> list[Verdict]:
    """Judge configurations, each a block's and its own name, with all that has been proved, and
    compare them with the baseline.

    ``judged`` holds what is known without proofs: those of blocks of which none claims a bound.
    Verdicts are ``kept``, with what that holds already.
    """
    kept = kept or KeptVerdicts(plan.pages)
    proved = results.rows("proof")
    proofs = [Proof(**row) for row in proved]
    claimed = {proof.block for proof in proofs if proof.claims}
    claimed |= {campaign.block for campaign in read_campaigns(results.folder)}
    rows = [row for place in places for row in _weighed(
        plan, *place, judged[place] if place in judged and place[0] not in claimed
        else _judge_one(plan, *place, results, kept, proofs), results, final=True)]
    kept.close()
    blocks = {block.name: block for block in plan.blocks}
    for old in results.rows("verdict"):  # of an earlier run in this folder, with another baseline
        block = blocks.get(old["block"])
        if block and (old["claim"] in ("property", "mutants")
                      or old["configuration"] not in block.configurations):
            results.judged(old["block"], old["configuration"], [])
    for place in gone(plan):
        rows += _weighed(plan, *place, [], results, final=True)
    for row in [*weighed_proofs(plan, proved),
                *weighed_mutants(plan, read_campaigns(results.folder))]:
        results.verdict(row)
        rows.append(row)
    return rows


def _waveforms(plan: Plan, pool: concurrent.futures.Executor, verdicts: list[Verdict],
               results: Results, report: Report) -> None:
    """A waveform of each bound's worst request, unless the run has it already."""
    pictures = plan.pictures
    if pictures is None:
        pictures = plan.level == "full"
        verdicts = [row for row in verdicts if pictures or row.verdict == "violated"]
    elif not pictures:
        return
    have = results.waveforms()
    content = {job.name: job.outcome or job.content for job in results.jobs()}
    wanted = []
    for row in verdicts:
        witness = Witness.of(row, plan.folder, plan.simulator, content.get(row.job, ""),
                             plan.pages, plan.changes)
        kept = have.get((row.block, row.configuration, row.bound))
        if witness is not None and (kept is None or kept[2] != witness.key):
            wanted.append(witness)
    futures = {pool.submit(waveform_svg, witness): witness for witness in wanted}
    for shown, lanes in completed(futures, "waveforms", report):
        results.waveform(shown.block, shown.configuration, shown.bound, lanes, shown.command,
                         shown.key)


def drawings_of(plan: Plan, results: Results) -> list[Drawing]:
    """The blocks' own pictures, as far as this run has what they show."""
    drawings = []
    for block in plan.blocks:
        for picture in block.pictures:
            if picture.thorough and plan.level != "full":
                continue
            if not picture.kept:
                key = key_of(sources(plan.pages), everything(), block.name, picture.name)
                drawings.append(Drawing(block.name, "", picture.name, picture.caption, "", key,
                                        plan.pages))
                continue
            for job in results.jobs():
                source = job_folder(plan.folder.resolve(), job) / picture.kept
                if (job.block == block.name and job.testbench in picture.testbenches
                        and job.passed and source.resolve() == source and source.is_file()):
                    drawings.append(Drawing(
                        block.name, job.configuration, picture.name, picture.caption,
                        str(source), key_of(job.content, job.name), plan.pages))
    return drawings


def _pictures(plan: Plan, pool: concurrent.futures.Executor, results: Results,
              report: Report) -> None:
    """The blocks' own pictures, unless the run has them already."""
    if not (plan.level == "full" if plan.pictures is None else plan.pictures):
        return
    have = {(row["block"], row["configuration"], row["name"], row["key"])
            for row in results.rows("picture")}
    futures = {
        pool.submit(with_picture, drawing): drawing for drawing in drawings_of(plan, results)
        if (drawing.block, drawing.configuration, drawing.name, drawing.key) not in have}
    for _, finished in completed(futures, "pictures", report):
        results.picture(finished)
