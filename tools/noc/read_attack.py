"""How long a read's bursts can be made to wait among other masters of DDR3: an attack on models of
front end, reorder core and page controller, cycle by cycle.

    python -m cyclebound.tools.noc.read_attack

looks for the start, from reset on, and for what the others do, that keep the last burst waiting
longest, and prints what was found beside the bound. Kinds of others:

- *writers*: each asks in every cycle for another row of the read's bank, as `read_data` says; only
  the start is searched: where it falls among turns, departures and refreshes, and after a reset;
- *any*: of each other master also its banks and rows, directions, and how often it asks.
"""

import argparse
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from cyclebound.golden.dram.page_bounds import row_change
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, Part
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES
from cyclebound.golden.noc.end_to_end_read import read_data
from cyclebound.tools.hill_climb import Found, climb, climbed
from cyclebound.tools.noc.ddr3_attack import MINE, Master, pins_after

__all__ = ["WRITER", "Other", "ReadAttack", "System", "search"]

_ROWS = 1 << 12  # a master's rows, so that no two have the same
_PATIENCE = 5    # tries without a longer read after which the search begins anew


@dataclass(frozen=True)
class Other:
    """Another master of DDR3.

    Attributes
    ----------
    writes : tuple of bool
        Direction of each request, over and over.
    banks : int
        It asks for another row each time, of one of so many banks at random, the read's the first;
        0: for one row of a bank of its own.
    asks : float
        How often it has a request on offer.
    """

    writes: tuple[bool, ...] = (True,)
    banks: int = 1
    asks: float = 1.0


WRITER = Other()


@dataclass(frozen=True)
class System:
    """What is attacked: a read of ``reads`` bursts among ``masters`` in all; ``postpone``:
    refreshes that the page controller lets come together."""

    masters: int
    reads: int
    cap: int = 9
    part: Part = DDR3_1600_MODULE
    postpone: int = 8

    @property
    def allowed(self) -> int:
        """`read_data`."""
        return read_data(competitors=self.masters, nbytes=REQUEST_BYTES * self.reads, cap=self.cap,
                         part=self.part)

    @property
    def last(self) -> int:
        """The last start: as many refreshes have come together as may, and two have been done."""
        return (self.postpone + 2) * self.part.nREFI


@dataclass(frozen=True)
class ReadAttack:
    """A descriptor in cycle ``start`` from reset, and what the others do."""

    start: int
    others: tuple[Other, ...]

    def cycles(self, system: System) -> int:
        """From the descriptor to the last burst's last beat, both included."""
        masters = [Master(other.writes, MINE + port, asks=other.asks, row=_ROWS * port,
                          anywhere=other.banks) for port, other in enumerate(self.others, 1)]
        pins = pins_after(masters, system.reads, self.start + 1, False, random.Random(0),
                          part=system.part, cap=system.cap, idle=True, postpone=system.postpone)
        return 1 + pins + system.part.nCAS + system.part.nBURST


def fresh(system: System, rng: random.Random, *, writers: bool, late: bool) -> ReadAttack:
    """Any start: among refreshes, or right or soon after reset."""
    soon = row_change(system.part) * system.masters
    start = (rng.randrange(system.last - 3 * system.part.nREFI, system.last) if late
             else rng.choice((0, rng.randrange(soon))))
    return ReadAttack(start, tuple(WRITER if writers or rng.random() < 0.3 else _other(system, rng)
                                   for _ in range(system.masters - 1)))


def _other(system: System, rng: random.Random) -> Other:
    run = rng.choice((1, 2, 3, 8))
    writes = rng.choice((
        (True,), (False,), tuple(place // run % 2 == 0 for place in range(2 * run)),
        tuple(rng.random() < 0.5 for _ in range(12))))
    return Other(writes, rng.choice((0, 1, 1, 2, system.part.banks)),
                 rng.choice((1, 1, 0.7, 0.3, 0.05)))


def changed(attack: ReadAttack, system: System, rng: random.Random, *,
            writers: bool) -> ReadAttack:
    """Another start near or far, or another of the others."""
    if writers or rng.random() < 0.5:
        far = rng.choice((1, 4, row_change(system.part), system.part.nREFI))
        return replace(attack, start=max(0, min(system.last, attack.start
                                                + rng.randint(-far, far))))
    others = list(attack.others)
    others[rng.randrange(len(others))] = rng.choice((WRITER, _other(system, rng)))
    return replace(attack, others=tuple(others))


def search(system: System, tries: int, rng: random.Random, *, writers: bool,
           cycles: Callable[[ReadAttack], int | None] | None = None) -> Found[ReadAttack]:
    """The longest read that is found. ``cycles`` stands for the models' (`ReadAttack.cycles`)."""
    late = itertools.cycle((True, False))
    return climbed(climb(lambda: fresh(system, rng, writers=writers, late=next(late)),
                         lambda attack: changed(attack, system, rng, writers=writers),
                         tries=tries, patience=_PATIENCE),
                   cycles or (lambda attack: attack.cycles(system)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postpone", type=int, default=System.postpone, choices=range(1, 9),
                        help="refreshes that the page controller lets come together")
    parser.add_argument("--masters", type=int, nargs="+", default=list(range(2, 9)),
                        choices=range(2, 9), metavar="N_trans", help="rows of the table: 2 to 8")
    arguments = parser.parse_args()
    for masters in arguments.masters:
        for reads in (1, 8, 32):
            system, row = System(masters, reads, postpone=arguments.postpone), []
            for writers in (True, False):
                found = search(system, arguments.tries, random.Random(arguments.seed),
                               writers=writers)
                assert found.candidate is not None
                row += [found.value, found.candidate.start]
            print(masters, reads, system.allowed, *row, flush=True)


if __name__ == "__main__":
    main()
