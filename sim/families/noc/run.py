"""Applications with their table on the RTL of the many-core's memory path.

    from cyclebound.sim.families.noc.run import run_allocation
    for ran in run_allocation(system, allocation):
        ran.name, ran.times, ran.longest, ran.bound

The command ``cyclebound noc run`` does the same.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cyclebound.golden.noc.execution_model import Allocation, System
from cyclebound.golden.noc.execution_model_check import faults
from cyclebound.golden.noc.many_core import Asked, asked, bound, hardware_of, misfits
from cyclebound.hdl.noc.many_core import ManyCore
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.identity import identity
from cyclebound.sim.describe.block import Block, Configuration, Testbench
from cyclebound.sim.run.followed import followed
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tools.noc.system_file import allocation_text, system_text

__all__ = ["Ran", "run_allocation"]

_BLOCK = "noc.many_core"
_LEAST = 3  # requesters of a bank: the core and both halves of the DMA
# What a system does not say: room for two packets at a sink; and what a table rests on.
_FIXED = {"packets": 2, "interleaved": 0, "io_core": 0}
Tell = Callable[[str, int, int], None]  # a step, how much of it is done, and all of it


@dataclass(frozen=True)
class Ran:
    """A transaction as it was seen: how often, and DDR cycles of the longest and of its bound."""

    name: str
    times: int
    longest: int
    bound: int


def run_allocation(system: System, allocation: Allocation, *, hyperperiods: int = 1,
                   folder: Path | None = None, tell: Tell = lambda *_: None) -> list[Ran]:
    """Each transaction as often as it is due within so many hyperperiods, on the RTL.

    What is written and read is compared with what it should be. Raises `UserError` for an
    allocation that breaks a rule, a system that the hardware does not have, and a simulation that
    fails.
    """
    for wrong in (*faults(system, allocation), *misfits(system)):
        raise UserError(wrong)
    transactions = asked(system, allocation)
    most = max(one.claim["requesters"] for one in transactions)
    parameters = {**hardware_of(system), **_FIXED, "requesters": max(_LEAST, most + 1),
                  "slots": _room(transactions)}
    try:
        ManyCore(**parameters)
    except ValueError as error:
        raise UserError(str(error)) from None
    block = _block(parameters)
    cycles = hyperperiods * system.hyperperiod * system.hardware.slot
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        for old in ("ran.json", "progress.json"):
            (folder / old).unlink(missing_ok=True)
        (folder / "work.json").write_text(json.dumps({
            "system": system_text(system), "table": allocation_text(system, allocation),
            "cycles": cycles}))
        with followed(folder / "progress.json", tell,
                      lambda done, total: ("cycles of the network", done, total)):
            outcome = simulate(block, Job(_BLOCK, "own", "user", 1, str(folder),
                                          wall_limit=7 * 86400.0),
                               identity=identity((), _BLOCK, json.dumps(parameters), "user"))
        if not outcome.passed:
            raise UserError(f"the simulation failed: {outcome.reason}")
        ran = json.loads((folder / "ran.json").read_text())
    return [Ran(one.name, ran["times"][one.name], ran["longest"][one.name],
                bound(one, system.hardware)) for one in transactions]


def _room(transactions: Iterable[Asked]) -> int:
    """Bursts of the longest transaction, or as many more as make a power of two."""
    return 1 << max(1, (max(one.bursts for one in transactions) - 1).bit_length())


def _block(parameters: dict) -> Block:
    """The hardware of a system as a block of which there is one configuration."""
    named = catalogue.load().find(_BLOCK)
    return Block(name=_BLOCK, summary=named.summary, component=ManyCore,
                 configurations={"own": Configuration(parameters)},
                 testbenches=(Testbench("user", "cyclebound.tb.noc.many_core_user",
                                        max_cycles=1_000_000_000),),
                 bounds=tuple(replace(binding, configurations=()) for binding in named.bounds),
                 checker=named.checker, fpga=None, signals=())
