"""The plan of a regression: jobs and proofs of its blocks, level and shard."""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.folders import inside, job_folder
from cyclebound.sim.base.toolchain import compiler_version, verilator
from cyclebound.sim.describe.block import WALL_LIMIT, Block, Configuration, Testbench
from cyclebound.sim.describe.variant import UNCHANGED, Changes
from cyclebound.sim.run.job import Job

__all__ = [
    "LEVELS",
    "Plan",
    "ProofJob",
    "check",
    "jobs_of",
    "left_out",
    "left_to_full",
    "mutated_blocks",
    "proofs_of",
]

LEVELS = ("quick", "full")


@dataclass(frozen=True)
class Plan:
    """The scope of a regression.

    Attributes
    ----------
    blocks : list[Block]
        What runs.
    configurations, testbenches : Sequence[str]
        Those of the blocks that run; none stands for all.
    seed : int
        First seed of every testbench.
    seeds : int or None
        How many seeds each testbench runs with; None: as many as its own number.
    level : str
        ``quick``: what each block declares as such. ``full``: everything. A configuration or
        testbench that is named runs in either.
    shard : tuple[int, int]
        ``(1, 4)``: the first of four parts of the work, for as many machines; see `merge`.
    proofs, fpga : bool
        Whether properties are proved, and whether blocks are placed and routed; in the full level
        FPGA figures that are known already are taken over anyway.
    certify : bool
        Whether proofs have certificates (`cyclebound.sim.proof.certify`).
    pictures : bool or None
        Whether worst requests are drawn from waveforms, and blocks' own pictures too. None: in
        the full level; in the quick one, which would build most simulators a second time, only
        requests that violate their bound.
    fresh : bool
        Whether all is built, simulated and proved anew that is known from earlier runs.
    changes : Changes
        What the blocks have other than in the catalogue: they are `varied` by it already.
    """

    blocks: list[Block]
    folder: Path
    seed: int = 1
    seeds: int | None = None
    configurations: Sequence[str] = ()
    testbenches: Sequence[str] = ()
    level: str = "quick"
    shard: tuple[int, int] = (1, 1)
    waves: bool = False
    proofs: bool = True
    certify: bool = False
    pictures: bool | None = None
    fpga: bool = False
    fresh: bool = False
    simulator: str = "verilator"
    wall_limit: float = WALL_LIMIT
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    scheduler: str | None = None
    pages: tuple[str, ...] = ()
    changes: Changes = UNCHANGED

    @property
    def options(self) -> dict[str, object]:
        """The options that a resumed run repeats, unless the command line names others."""
        kept = ("seed", "seeds", "configurations", "testbenches", "level", "shard", "waves",
                "proofs", "certify", "pictures", "fpga", "simulator", "wall_limit", "pages")
        return {"blocks": [block.name for block in self.blocks],
                **{name: getattr(self, name) for name in kept},
                **({"changes": self.changes.as_options()} if self.changes else {})}


def check(plan: Plan) -> None:
    """Raise `UserError` for a plan that cannot run: a wrong name, no job, a missing tool."""
    for thing, names, existing in (
            ("configuration", plan.configurations,
             {c for block in plan.blocks for c in block.configurations}),
            ("testbench", plan.testbenches,
             {bench.name for block in plan.blocks for bench in block.testbenches})):
        for name in (name for name in names if name not in existing):
            owner = f" of {plan.blocks[0].name}" if len(plan.blocks) == 1 else ""
            raise unknown(thing + owner, name, existing)
    jobs_of(plan)
    if plan.certify:
        from cyclebound.sim.proof.certify import need_solver  # all else does without
        need_solver()
    if plan.scheduler is None and plan.simulator == "verilator":
        verilator()
        compiler_version()


def _selected(plan: Plan, block: Block) -> Iterator[tuple[str, Testbench]]:
    """The configurations of the block that the plan runs, each with a testbench.

    Configurations may differ in what is changed only; a testbench runs in the first of these.
    """
    ran: list[tuple[Testbench, Configuration]] = []
    for configuration, bench in _chosen(plan, block):
        what = bench, block.configurations[configuration]
        if plan.changes and what in ran:
            continue
        ran.append(what)
        yield configuration, bench


def _chosen(plan: Plan, block: Block) -> Iterator[tuple[str, Testbench]]:
    """Every configuration and testbench of the block that the plan names, or its level."""
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

    Shard I of N has every N-th configuration, with all of its testbenches: they share simulators
    and verdicts.
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
                for seed in range(plan.seed, plan.seed + (plan.seeds or bench.seeds)):
                    job = Job(block.name, configuration, bench.name, seed, "", waves=plan.waves,
                              simulator=plan.simulator, wall_limit=plan.wall_limit,
                              pages=plan.pages, changes=plan.changes)
                    jobs.append(dataclasses.replace(job, folder=str(inside(
                        plan.folder, job_folder(plan.folder, job)))))
    if not jobs and units:
        raise UserError(f"nothing to run: there are {units} configurations, fewer than the "
                        f"{parts} shards; part {part} is empty")
    larger = [block.name for block in plan.blocks if block.configurations and block.testbenches]
    if not jobs and larger and plan.level != "full" and not (
            plan.configurations or plan.testbenches):
        raise UserError("nothing to run: the quick level has no simulation of "
                        f"{', '.join(larger)}; --full has")
    if not jobs:
        raise UserError("nothing to run: no chosen block has "
                        f"configuration {' or '.join(plan.configurations) or 'any'} with "
                        f"testbench {' or '.join(plan.testbenches) or 'any'}; "
                        "see `cyclebound list`")
    return jobs


@dataclass(frozen=True)
class ProofJob:
    """A property, or an exploration, of a block for one set of parameters."""

    block: str
    name: str
    parameters: Mapping[str, object]


def proofs_of(plan: Plan) -> list[ProofJob]:
    """The properties that the plan proves, and its explorations, with each set of parameters."""
    if not plan.proofs:
        return []
    part, parts = plan.shard
    jobs = [ProofJob(block.name, shown.name, plan.changes.labelled(parameters))
            for block in plan.blocks
            for shown in block.shown
            for parameters in shown.instances[:None if plan.level == "full" else shown.quick]]
    return jobs[part - 1::parts]


def mutated_blocks(plan: Plan) -> list[Block]:
    """The blocks whose mutants the plan runs: in the full level, each shard every N-th."""
    if plan.level != "full" or plan.configurations or plan.testbenches or plan.changes or (
            plan.simulator != "verilator"):
        return []
    part, parts = plan.shard
    return [block for block in plan.blocks if block.mutants][part - 1::parts]


def left_to_full(plan: Plan) -> tuple[int, int, int]:
    """Numbers of simulations, configurations and proofs that the full level adds."""
    if plan.level == "full" or plan.testbenches or plan.configurations:
        return 0, 0, 0
    whole = dataclasses.replace(plan, level="full")
    mine, every = jobs_of(plan), jobs_of(whole)

    def places(jobs: list[Job]) -> int:
        return len({(job.block, job.configuration) for job in jobs})

    return (len(every) - len(mine), places(every) - places(mine),
            (len(proofs_of(whole)) - len(proofs_of(plan))) * plan.proofs)


def left_out(plan: Plan, block: Block, configuration: str) -> bool:
    """Whether this configuration has testbenches that the plan does not run."""
    run = {bench.name for name, bench in _selected(plan, block) if name == configuration}
    return any(bench.name not in run and (plan.testbenches or not bench.thorough)
               for bench in block.testbenches if bench.runs_on(configuration))
