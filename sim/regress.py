"""A regression: all jobs of the chosen blocks, in parallel, resumable, into one run folder."""

import concurrent.futures
import contextlib
import functools
import hashlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path

import cyclebound.golden
import cyclebound.hdl
import cyclebound.sim
import cyclebound.tb
from cyclebound.sim import catalogue
from cyclebound.sim.block import Block
from cyclebound.sim.cache import key_of
from cyclebound.sim.errors import UserError
from cyclebound.sim.fpga import Figures, place_and_route
from cyclebound.sim.job import Job, die_with_parent, run_job
from cyclebound.sim.prove import Proof, prove
from cyclebound.sim.results import Results
from cyclebound.sim.toolchain import versions
from cyclebound.sim.verdict import Verdict, judge
from cyclebound.sim.witness import Witness, draw

__all__ = ["Interrupted", "Plan", "jobs_of", "pool_of", "proofs_of", "prove_blocks", "regress"]


class Interrupted(Exception):
    """Ctrl-C: everything is stopped, and what had finished is kept."""


@dataclass(frozen=True)
class Plan:
    """What a regression runs.

    Attributes
    ----------
    blocks : list[Block]
        The blocks, with every configuration unless ``configuration`` names one.
    seed : int
        First seed of every testbench.
    proofs, pictures, fpga : bool
        Whether properties are proved, whether worst requests are drawn from waveforms, and whether
        blocks are placed and routed; FPGA figures that are known already are taken over anyway.
    """

    blocks: list[Block]
    folder: Path
    seed: int = 1
    configuration: str | None = None
    testbench: str | None = None
    waves: bool = False
    proofs: bool = True
    pictures: bool = True
    fpga: bool = False
    simulator: str = "verilator"
    wall_limit: float = 900.0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    scheduler: str | None = None
    pages: tuple[str, ...] = ()


def _configurations(plan: Plan, block: Block) -> list[str]:
    if plan.configuration is None:
        return list(block.configurations)
    if len(plan.blocks) == 1:
        return [block.configuration(plan.configuration)[0]]
    return [plan.configuration] if plan.configuration in block.configurations else []


def jobs_of(plan: Plan) -> list[Job]:
    """All simulations of the plan. Raises `UserError` if there are none."""
    jobs = []
    for block in plan.blocks:
        for configuration in _configurations(plan, block):
            for bench in block.testbenches:
                if plan.testbench not in (None, bench.name) or (
                        bench.configurations and configuration not in bench.configurations):
                    continue
                for seed in range(plan.seed, plan.seed + bench.seeds):
                    folder = plan.folder / "jobs" / block.name / configuration
                    jobs.append(Job(
                        block.name, configuration, bench.name, seed,
                        str((folder / f"{bench.name}-{seed}").resolve()), waves=plan.waves,
                        simulator=plan.simulator, wall_limit=plan.wall_limit, pages=plan.pages))
    if not jobs:
        raise UserError("nothing to run: no chosen block has "
                        f"configuration {plan.configuration or 'any'} with "
                        f"testbench {plan.testbench or 'any'}; see `cyclebound list`")
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
        return Proof(block, claim, wanted.says, dict(parameters), detail=str(error))


def _figures(block: str, only_known: bool, pages: tuple[str, ...]) -> Figures | UserError | None:
    """For a worker: the FPGA figures of a block; an error is handed back."""
    found = catalogue.load(pages).find(block)
    try:
        return place_and_route(found, found.fpga.configuration, found.fpga.device,
                               only_known=only_known)
    except UserError as error:
        return error


@functools.cache
def _sources(pages: tuple[str, ...]) -> str:
    """A hash of all code that a result may depend on: this project's and the pages' folders'."""
    digest = hashlib.sha256()
    roots = [Path(package.__file__).parent for package in
             (cyclebound.golden, cyclebound.hdl, cyclebound.sim, cyclebound.tb)]
    catalogue.load(pages)
    for page in pages:
        roots.append(Path(sys.modules[page].__file__).parent)
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _content(job: Job) -> str:
    """What ran: a resumed run repeats a job when this has changed."""
    return key_of(_sources(job.pages), versions(), job.simulator, job.seed)


def _worker() -> None:
    """In each worker: leave Ctrl-C to the parent, end with it, and let cleanup run on the way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    die_with_parent()


@contextlib.contextmanager
def pool_of(workers: int, scheduler: str | None) -> Iterator[concurrent.futures.Executor]:
    """A process pool here, or the Dask cluster at ``scheduler``. Raises `UserError`."""
    if scheduler is not None:
        try:
            from dask.distributed import Client
        except ImportError:
            raise UserError("--scheduler needs Dask: pip install 'cyclebound[cluster]'") from None
        try:
            client = Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UserError(f"no Dask scheduler answers at {scheduler}: {error}") from error
        with client, client.get_executor(retries=0, pure=False) as executor:
            yield executor
        return
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=context,
                                                  initializer=_worker)
    processes = pool._processes
    try:
        yield pool
    except BaseException:
        for process in list((processes or {}).values()):
            process.terminate()  # its cleanup stops the simulator
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def prove_blocks(blocks: list[Block], *, pages: tuple[str, ...] = (), workers: int | None = None,
                 report: "Report") -> list[Proof]:
    """Prove all properties of these blocks, in parallel; in the catalogue's order."""
    with pool_of(workers or os.cpu_count() or 1, None) as pool:
        futures = {pool.submit(_prove, block.name, name, parameters, pages): None
                   for block in blocks for name, parameters in proofs_of(block)}
        for _ in _each(futures, "proofs", report):
            pass
        return [future.result() for future in futures]


Report = Callable[[str, int, int], None]


def _each(futures: dict[concurrent.futures.Future, object], step: str,
          report: Report) -> Iterator[tuple[object, object]]:
    """What was asked and what came of it, in the order of completion, reporting progress."""
    report(step, 0, len(futures))
    for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
        try:
            yield futures[future], future.result()
        except BrokenExecutor as error:
            raise UserError(f"a worker died, out of memory perhaps ({error}); what had finished is "
                            "kept, try fewer workers with -j and --resume") from error
        report(step, number, len(futures))


def regress(plan: Plan, *, command: str = "", created: str = "",
            report: Report = lambda step, done, total: None) -> list[Verdict]:
    """Run the plan; all results go to `Results` in its folder.

    Jobs that the folder already holds, passed and of the same content, are not run again.
    Raises `Interrupted` on Ctrl-C.
    """
    jobs = jobs_of(plan)
    results = Results(plan.folder, create=True)
    try:
        results.note(command=command, created=created, seed=plan.seed, versions=versions(),
                     simulator=plan.simulator, jobs=len(jobs))
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
            for job, outcome in _each(futures, "simulations", report):
                results.finished(job, outcome, _content(job))
            for _, proof in _each(claims, "proofs", report):
                results.proof(proof)
            for _, figures in _each(placed, "place and route", report):
                if isinstance(figures, UserError):
                    raise figures
                if figures is not None:
                    results.fpga(figures)
            verdicts = _judge(plan, jobs, results)
            if plan.pictures:
                _pictures(plan, pool, verdicts, results, report)
    except KeyboardInterrupt:
        raise Interrupted(str(plan.folder)) from None
    finally:
        results.close()
    return verdicts


def _judge(plan: Plan, jobs: list[Job], results: Results) -> list[Verdict]:
    proofs = [Proof(**row) for row in results.rows("proof")]
    verdicts = []
    for block in plan.blocks:
        mine = [proof for proof in proofs if proof.block == block.name]
        for configuration in dict.fromkeys(j.configuration for j in jobs
                                           if j.block == block.name):
            verdicts += judge(block, configuration,
                              results.observations(block.name, configuration), mine)
    for verdict in verdicts:
        results.verdict(verdict)
    return verdicts


def _pictures(plan: Plan, pool: concurrent.futures.Executor, verdicts: list[Verdict],
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
    for witness, svg in _each(futures, "waveforms", report):
        results.waveform(witness.block, witness.configuration, witness.bound, svg,
                         witness.command, witness.key)
