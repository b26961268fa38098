"""Measures where the processor seconds of a cold regression go, by step and by job.

    python -m cyclebound.tools.maintenance.level_costs [--block BLOCK] [--dearest 25] [--json FILE]

Simulations and proofs of the quick level run one after the other with an empty cache, so that what
a step takes is what this process and the tools that it has waited for took meanwhile. Judging and
the report are not in it.
"""

import argparse
import contextlib
import functools
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.base import bytecode
from cyclebound.sim.build import verilator
from cyclebound.sim.build.sources import begun
from cyclebound.sim.proof import prove
from cyclebound.sim.regression.plan import Plan, ProofJob, jobs_of, proofs_of
from cyclebound.sim.regression.regress import prove_job
from cyclebound.sim.run import job as jobs
from cyclebound.sim.run.job import Job
from cyclebound.sim.run.outcomes import outcome_of_job

__all__ = ["STEPS", "Clock", "measured", "stepped", "tables"]

STEPS: dict[str, list[tuple[object, str]]] = {
    "Verilator's runtime": [(verilator, "_runtime")],
    "elaboration": [(jobs, "design"), (verilator, "to_rtlil"), (prove, "design_of")],
    "yosys": [(verilator, "simulation_verilog")],
    "Verilator": [(verilator, "_translate")],
    "C++ compiler": [(verilator, "_compile")],
    "simulation": [(jobs, "run")],
    "bounded check": [(prove._Solver, "bounded")],
    "what must be reachable": [(prove._Solver, "covers")],
    "what is assumed": [(prove._Solver, "assumptions")],
    "induction": [(prove._Solver, "induction")]}
"""The functions of each step: where they are looked up, and their names."""
_REST = "all else"  # hashes of what is installed and of sources, files of the cache, imports


def _used() -> float:
    """Processor seconds of this process, and of those that it has waited for."""
    return sum(used.ru_utime + used.ru_stime for used in (
        resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


class Clock:
    """Gives what passes to the innermost step that runs."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._running, self._since = [_REST], _used()

    def _turn(self) -> None:
        now = _used()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Meanwhile, what passes is this step's."""
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def taken(self) -> dict[str, float]:
        """What has passed since this was asked last."""
        self._turn()
        seconds, self.seconds = dict(self.seconds), defaultdict(float)
        return seconds


@contextlib.contextmanager
def stepped(clock: Clock) -> Iterator[None]:
    """Meanwhile, the functions of `STEPS` tell the clock when they run."""
    def told(function: Callable, name: str) -> Callable:
        @functools.wraps(function)
        def inner(*arguments: object, **named: object) -> object:
            with clock.step(name):
                return function(*arguments, **named)
        return inner

    places = [(name, owner, attribute, getattr(owner, attribute))
              for name, functions in STEPS.items() for owner, attribute in functions]
    try:
        for name, owner, attribute, function in places:
            setattr(owner, attribute, told(function, name))
        yield
    finally:
        for _, owner, attribute, function in places:
            setattr(owner, attribute, function)


def measured(blocks: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Each simulation and proof of the quick level of these blocks (none: all), and what its steps
    took. The cache has to be empty."""
    begun(time.time_ns())
    with bytecode.kept(), tempfile.TemporaryDirectory(prefix="cyclebound-costs-") as folder:
        plan = Plan([block for block in catalogue.load() if not blocks or block.name in blocks],
                    Path(folder))
        clock = Clock()
        with stepped(clock):
            todo: list[Job | ProofJob] = [*jobs_of(plan), *proofs_of(plan)]
            clock.taken()
            for one in todo:
                if isinstance(one, Job):
                    done = outcome_of_job(one)
                    name, passed, why = one.name, done.passed, done.reason
                else:
                    proof = prove_job(one, ())
                    name = (f"proof {one.block} {one.name} " + ", ".join(
                        f"{key} {value}" for key, value in one.parameters.items()
                        if isinstance(value, int | str)))
                    passed, why = proof.status in ("proved", "bounded", "explored"), proof.detail
                if not passed:
                    raise SystemExit(f"level_costs: {name} failed: {why}")
                yield name, clock.taken()


def tables(rows: list[tuple[str, dict[str, float]]], dearest: int) -> str:
    """Two tables: all by step, and the dearest jobs by step."""
    steps = [*STEPS, _REST]
    total: Counter[str] = Counter()
    for _, taken in rows:
        total.update(taken)
    lines = ["| step | CPU-s | jobs |", "| --- | ---: | ---: |"]
    for step in sorted(steps, key=lambda step: -total[step]):
        lines.append(f"| {step} | {total[step]:.0f} | "
                     f"{sum(taken.get(step, 0) >= 0.05 for _, taken in rows)} |")
    lines += [f"| together | {total.total():.0f} | {len(rows)} |", "",
              f"| job | CPU-s | {' | '.join(steps)} |", f"| --- |{' ---: |' * (len(steps) + 1)}"]
    for name, taken in sorted(rows, key=lambda row: -sum(row[1].values()))[:dearest]:
        cells = [f"{taken[step]:.1f}" if taken.get(step, 0) >= 0.05 else "" for step in steps]
        lines.append(f"| {name} | {sum(taken.values()):.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m cyclebound.tools.maintenance.level_costs",
        description="Measure where the processor seconds of a cold quick level go.")
    parser.add_argument("--block", action="append", default=[], metavar="BLOCK",
                        help="only this block; may be repeated")
    parser.add_argument("--dearest", type=int, default=25, metavar="N",
                        help="jobs in the second table (default: 25)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep each job's figures, too")
    options = parser.parse_args(arguments)
    known = [block.name for block in catalogue.load()]
    for name in options.block:
        if name not in known:
            parser.error(f"no block {name!r}; there are {', '.join(known)}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="cyclebound-cache-") as cache:
        os.environ["CYCLEBOUND_CACHE"] = cache
        for name, taken in measured(options.block):
            rows.append((name, taken))
            print(f"level_costs: {name}: {sum(taken.values()):.1f} CPU-s", file=sys.stderr,
                  flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(tables(rows, options.dearest))


if __name__ == "__main__":
    main()
