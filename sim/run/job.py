"""One job: a block, a configuration, a testbench and a seed, in a folder of its own.

`run_job` is all that a worker does, in a process pool or on a cluster: it builds (or finds the
build), simulates, and returns plain data.
"""

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amaranth.lib import wiring

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import FlatTop, fields_json, leave_unused
from cyclebound.sim.build.identity import Identity, identity
from cyclebound.sim.build.verilator import Build, BuildError, build_verilator, trace_format
from cyclebound.sim.describe.block import WALL_LIMIT, Block, Testbench
from cyclebound.sim.describe.variant import UNCHANGED, Changes, varied
from cyclebound.sim.run.simulator import (
    Group,
    Outcome,
    die_with_parent,
    job_environment,
    outcome_of,
    reason_of,
    run,
)
from cyclebound.tb.expression import ExpressionError
from cyclebound.tb.probe import PRINTED, Probe

if TYPE_CHECKING:
    from cyclebound.sim.build.icarus import IcarusBuild

__all__ = ["PRINTED", "Group", "Job", "Keep", "Outcome", "asked_of", "design",
           "die_with_parent", "job_environment", "made_from", "outcome_of", "reason_of", "run_job",
           "simulate", "write_job"]

Keep = Callable[[Build, Mapping[str, object], Callable[[], Outcome]], Outcome]


@dataclass(frozen=True)
class Job:
    """A simulation to run. Plain data: it travels to other processes and machines.

    Attributes
    ----------
    test : str
        Run only this test of the testbench; empty: all.
    wall_limit : float
        Seconds after which the simulator is taken to hang, and stopped.
    pages : tuple[str, ...]
        Catalogue pages besides this project's own, as module names.
    changes : Changes
        Parameters with other values than the catalogue's; ``configuration`` is one of `varied`.
    """

    block: str
    configuration: str
    testbench: str
    seed: int
    folder: str
    waves: bool = False
    test: str = ""
    simulator: str = "verilator"
    wall_limit: float = WALL_LIMIT
    pages: tuple[str, ...] = ()
    changes: Changes = UNCHANGED

    @property
    def name(self) -> str:
        return f"{self.block}/{self.configuration}/{self.testbench}/{self.seed}"


def run_job(job: Job, keep: Keep | None = None) -> Outcome:
    """Build and simulate. Never raises for what the block or its testbench did wrong."""
    try:
        block = varied(catalogue.load(job.pages).find(job.block), job.changes).block
        # All sources of this project's blocks are known; a user's may import from anywhere.
        return simulate(block, job, identity=None if job.pages else identity_of(job), keep=keep)
    except (UserError, ExpressionError) as error:
        return Outcome(job.name, False, str(error))
    except OSError as error:
        return Outcome(job.name, False, f"{error.filename or job.folder}: "
                                        f"{error.strerror or error}")
    except Exception as error:  # a worker must hand every failure back, whatever it is
        if job.changes and isinstance(error, TypeError | ValueError):  # of what is inside the block
            return Outcome(job.name, False, job.changes.without_paths(f"cannot be: {error}"))
        return Outcome(job.name, False, traceback.format_exc(limit=8))


def identity_of(job: Job) -> Identity:
    """The identity of what a job of this project's own blocks simulates."""
    return identity(made_from(job), job.block, job.configuration, job.testbench,
                    *([asdict(job.changes)] if job.changes else []))


def made_from(job: Job) -> tuple[str, ...]:
    """The modules that, with all that they import, make what a job simulates."""
    return catalogue.load().page_of(job.block), __name__


def design(block: Block, job: Job) -> tuple[wiring.Component, FlatTop]:
    """The simulated design: the component, and its top with the checker."""
    testbench = block.testbench(job.testbench)
    parameters = dict(block.configuration(job.configuration)[1].parameters)
    component = (testbench.top or block.maker)(**parameters)
    watches = testbench.checker or (None if testbench.top else block.checker)
    probed = testbench.probed(component) if testbench.probed else (
        None if testbench.top else component)
    if testbench.top and probed is not None:
        _require_same(block, testbench, probed, parameters)
    return component, FlatTop(component, watches(component) if watches else None,
                              probes=(probes_of(block, job.configuration)
                                      if probed is not None else None),
                              probed=probed, classed=_classed(block, parameters))


def _require_same(block: Block, testbench: Testbench, probed: wiring.Component,
                  parameters: Mapping[str, object]) -> None:
    """Raise `UserError` unless what the testbench probes is the block with these parameters.

    What other hardware takes shows nothing of the block's bounds.
    """
    own = block.make(parameters)
    leave_unused(own)
    wrong = [] if type(probed) is type(own) else [
        f"a {type(probed).__name__}, not a {type(own).__name__}"]
    have, want = ({name: value for name, value in vars(one).items()
                   if not name.startswith("_") and isinstance(value, int | float | str)}
                  for one in (probed, own))
    wrong += [f"{name} {have.get(name)!r}, not {want.get(name)!r}" for name in {**want, **have}
              if have.get(name) != want.get(name)]
    if wrong:
        raise UserError(f"{block.name}: testbench {testbench.name} probes other hardware than the "
                        f"block's: {wrong[0]}")


def _classed(block: Block, parameters: Mapping[str, object]) -> Iterator[str]:
    """Probes whose bounds ask for what neither the configuration says nor ports show."""
    for binding in block.bounds:
        if binding.probe is not None:
            values = {*parameters, *binding.probe.request}
            if (binding.probe.classed or binding.probe.declared()
                    or binding.bound.required() - values):
                yield binding.what


def probes_of(block: Block, configuration: str) -> dict[str, Probe]:
    """The probes of the bounds on what this configuration does, by what they see."""
    return {binding.what: binding.probe for binding in block.bounds if binding.probe is not None
            and (not binding.configurations or configuration in binding.configurations)}


def simulate(block: Block, job: Job, *, identity: Identity | None = None,
             keep: Keep | None = None) -> Outcome:
    """Build ``block`` as the job says, and run its testbench.

    Parameters
    ----------
    identity : Identity or None
        Stands for all that the block is made from; see `build_verilator`.
    keep : callable or None
        Gives the outcome, from the simulator, what the job is asked, and what simulates it; it also
        keeps the simulator's key (`know`).
    """
    testbench = block.testbench(job.testbench)
    folder = Path(job.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("observed-*"):
        old.unlink()
    for picture in block.pictures:  # a test may add to what another one left
        if picture.kept:
            (folder / picture.kept).unlink(missing_ok=True)
    component, top = design(block, job)
    asked = asked_of(block, job, testbench, component, top)
    write_job(folder, asked)
    build: Build | IcarusBuild
    try:
        if job.simulator == "icarus":
            from cyclebound.sim.build.icarus import build_icarus
            build = build_icarus(top, ports=top.ports, waves=job.waves)
        else:
            build = build_verilator(top, ports=top.ports,
                                    trace=trace_format() if job.waves else None,
                                    identity=identity, looks=keep is None)
    except BuildError as error:
        return Outcome(job.name, False, str(error))
    leave_unused(top)  # a known build is not elaborated
    waveform = folder / f"wave.{build.trace}" if build.trace else None

    def simulated() -> Outcome:
        return run(job, build.command(waveform), folder, testbench.module)

    outcome = simulated() if keep is None else keep(build, asked, simulated)
    outcome.cached, outcome.build_seconds = build.cached, build.seconds
    if waveform and waveform.exists():
        outcome.waveform = str(waveform)
    return outcome


def asked_of(block: Block, job: Job, testbench: Testbench, component: wiring.Component,
             top: FlatTop) -> dict[str, Any]:
    """The settings of a job for `cyclebound.tb.bench.Bench` and `cyclebound.sim.run.simulator`.

    With the simulator and the testbench's code, all that decides what comes out.
    """
    configuration = block.configuration(job.configuration)[1]
    return {
        "block": block.name, "parameters": dict(configuration.parameters), "seed": job.seed,
        "tests": {"only": list(testbench.tests or ()), "without": list(block.left_out(testbench))},
        "max_cycles": testbench.max_cycles,
        "domain": {name: (min(values), max(values))
                   for name, values in configuration.values.items()},
        "fields": json.loads(fields_json(component)),
        "probes": {name: [*top.places(name)] for name in top.probes}, "printed": top.printed(),
        "declared": top.declared_fields(), "ticked": top.ticked_fields(),
        "observes": testbench.observes, "compares": testbench.compares}


def write_job(folder: Path, asked: Mapping[str, object]) -> None:
    """Write what the simulator of a job reads into its folder."""
    (folder / "job.json").unlink(missing_ok=True)  # a link would be written through
    (folder / "job.json").write_text(json.dumps({**asked, "folder": str(folder.resolve())}))


