"""Systems drawn at random, and what each way to allocate makes of them."""

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from cyclebound.golden.noc.execution_model import (
    Allocation,
    Application,
    Hardware,
    System,
    Transaction,
    least_bound,
)
from cyclebound.golden.noc.execution_model_check import faults
from cyclebound.tools.noc.allocate import NoTable, at_random, greedy, optimum

__all__ = ["Compared", "compared", "drawn"]

_BYTES = (256, 512, 1024, 2048, 4096, 8192)
_PERIODS = (16384, 32768, 65536)
_SLACK = 3.0, 10.0  # deadlines, in bounds alone


def drawn(rng: random.Random, most: int = 16, hardware: Hardware | None = None) -> System:
    """A system of up to ``most`` applications with one or two transactions each."""
    hardware = hardware or Hardware()
    sizes = [nbytes for nbytes in _BYTES if nbytes <= hardware.bank_bytes]
    tiles = [tile for tile in hardware.mesh.tiles if tile != hardware.io]
    applications, row = [], 0
    for number in range(rng.randint(2, most)):
        name, transactions = f"a{number}", []
        for which in range(rng.choice((1, 1, 2))):
            nbytes, write, period = rng.choice(sizes), rng.random() < 0.5, rng.choice(_PERIODS)
            transactions.append(Transaction(name, f"t{which}", nbytes, write, period, period, row))
            row += 1
        applications.append(Application(name, rng.choice(tiles), tuple(transactions)))
    loose = System(hardware, tuple(applications))
    return System(hardware, tuple(replace(application, transactions=tuple(
        replace(t, deadline=min(t.period, int(least_bound(loose, t) * rng.uniform(*_SLACK))))
        for t in application.transactions)) for application in applications))


class Compared(NamedTuple):
    """The greatest bound over deadline by each way, None where it finds no allocation; ``optimal``:
    nothing is better; ``least``: nothing is below; ``seconds``: of the optimum's search."""

    applications: int
    transactions: int
    optimum: float | None
    optimal: bool
    least: float
    greedy: float | None
    random: float | None
    seconds: float
    why: str


def compared(systems: Iterable[System], *, seconds: float, seed: int) -> Iterator[Compared]:
    """Each system's allocations, all judged by the checker. Raises `AssertionError` where it finds
    a fault in one."""
    for number, system in enumerate(systems):
        begun = time.monotonic()
        found, why = None, ""
        try:
            found = optimum(system, seconds=seconds, further=False)
        except (NoTable, TimeoutError) as error:
            why = str(error)
        took = time.monotonic() - begun
        ways = (found.allocation if found else None, greedy(system),
                at_random(system, random.Random(f"{seed} {number}")))
        best, fast, chance = (_judged(system, way) for way in ways)
        yield Compared(len(system.applications), len(system.transactions), best,
                       bool(found and found.optimal), found.least if found else 0.0, fast, chance,
                       took, why)


def _judged(system: System, allocation: Allocation | None) -> float | None:
    if allocation is None:
        return None
    assert (wrong := faults(system, allocation)) == [], wrong
    return float(allocation.ratio(system))
