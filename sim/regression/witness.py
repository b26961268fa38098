"""The waveform of a worst request: its test is simulated again with a trace."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.folders import inside
from cyclebound.sim.base.installed import everything
from cyclebound.sim.build.sources import closure
from cyclebound.sim.describe.block import Block
from cyclebound.sim.describe.variant import UNCHANGED, Changes, varied
from cyclebound.sim.drawing.lanes import lanes_of
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.run.job import Job, run_job

__all__ = ["Witness", "signals_for", "waveform_svg"]


@dataclass(frozen=True)
class Witness:
    """A request, and all that it takes to see it again. Plain data."""

    block: str
    configuration: str
    bound: str
    what: str
    parameters: Mapping[str, object]
    testbench: str
    seed: int
    test: str
    first: int
    last: int
    folder: str
    simulator: str
    key: str
    pages: tuple[str, ...]
    changes: Changes = UNCHANGED
    part: str = ""  # where the run has the part's file that the changes name

    @classmethod
    def of(cls, row: Verdict, run: Path, simulator: str, content: str,
           pages: tuple[str, ...], changes: Changes = UNCHANGED) -> "Witness | None":
        """The witness of a verdict; None if it has no request, or its requests were counted."""
        if not row.test or row.worst is None:
            return None
        _, _, testbench, seed = row.job.split("/")
        folder = run / "witness" / row.block / row.configuration / row.bound
        return cls(row.block, row.configuration, row.bound, row.what,
                   row.tightest.get("parameters", row.parameters), testbench, int(seed),
                   row.test, row.first, row.last, str(inside(run, folder)), simulator,
                   key_of(content, row.job, row.bound, row.what, row.test, row.first, row.last,
                          "" if pages else _code(row.block)),
                   pages, changes, str(run / changes.part_name))

    @property
    def command(self) -> str:
        """The command that shows it again."""
        own = self.configuration
        if self.changes:
            names = varied(catalogue.load(self.pages).find(self.block), self.changes).names
            own = next(name for name, new in names.items() if new == own)
        return shlex.join(["cyclebound", "run", self.block, "--configuration", own,
                           *self.changes.words(Path(self.part)), "--testbench", self.testbench,
                           "--seed", str(self.seed), "--test", self.test, "--waves"])


def _code(block: str) -> str:
    """A hash of what draws: signals are named on the block's page of the catalogue."""
    return key_of(closure(__name__, catalogue.load().page_of(block)), everything())


def signals_for(witness: Witness, block: Block) -> Sequence[str]:
    """The signals to show in the request's waveform."""
    asked = witness.bound, witness.what
    binding = next((binding for binding in block.bounds
                    if (binding.bound.name, binding.what) == asked), None)
    # no bound covers it, or it leaves that to the block
    if binding is None or binding.signals is None:
        return block.signals
    configuration = block.configurations[witness.configuration]
    return binding.signals({**configuration.parameters, **witness.parameters})


def waveform_svg(witness: Witness) -> str:
    """The picture as the JSON text of `Lanes`, or a sentence that says why there is none.

    A picture of this project's own blocks is kept in the cache: its key stands for all code.
    """
    try:
        if witness.pages:  # a user's block may import from anywhere
            return _lanes_text(witness)
        folder, _ = find_or_make("picture", witness.key, lambda folder: (
            folder / "lanes.json").write_text(_lanes_text(witness)))
        return (folder / "lanes.json").read_text()
    except Exception as error:  # a run does not fail for want of a picture
        return f"No picture: {error if isinstance(error, UserError) else repr(error)}"


def _lanes_text(witness: Witness) -> str:
    job = Job(witness.block, witness.configuration, witness.testbench, witness.seed,
              witness.folder, waves=True, test=witness.test, simulator=witness.simulator,
              pages=witness.pages, changes=witness.changes)
    try:
        outcome = run_job(job)
        if outcome.waveform is None:
            raise UserError(f"no waveform was written: {outcome.reason}")
        start = outcome.starts.get(witness.test, 0)
        block = varied(catalogue.load(witness.pages).find(witness.block), witness.changes).block
        return lanes_of(Path(outcome.waveform), signals_for(witness, block),
                        start + witness.first, start + witness.last, cycles=outcome.cycles,
                        title=f"{witness.what} {witness.block}").text
    finally:
        shutil.rmtree(witness.folder, ignore_errors=True)
