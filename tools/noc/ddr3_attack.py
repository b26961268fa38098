"""What other masters of DDR3 can do to a transaction whose bank is its own: an attack on models of
front end, reorder core and page controller, cycle by cycle.

    python -m cyclebound.tools.noc.ddr3_attack

looks for the alternation of reads and writes that keeps a transaction waiting longest, with the
reorder core's rule 4 and without it, and prints a table.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cyclebound.golden.dram.multi_port_front_end import MultiPortFrontEndModel
from cyclebound.golden.dram.page_controller import PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.reorder_core import ReorderCoreModel, Rules
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, Part
from cyclebound.golden.noc.end_to_end import GRANTED, LOOKS, REGISTERS
from cyclebound.golden.noc.execution_model_bounds import QUEUE, hits

__all__ = ["MINE", "Attack", "Master", "WithoutRule4", "allowed", "longest", "pins_after"]

MINE = 0  # port, and bank
_UNREFRESHED = replace(DDR3_1600_MODULE, nREFI=1 << 20)
_START = 400   # cycle in which the transaction asks: by then, the queue is full
_PATTERN = 24  # requests after which a master's directions are the same again


class WithoutRule4(Rules):
    """The rules without the last one: directions do not matter."""

    def key(self, request: QueuedRequest, *, recent: bool = False) -> tuple:
        """The less, the sooner: rules 1 to 3."""
        return super().key(request, recent=recent)[:-1]


@dataclass
class Master:
    """A master at the front end.

    Attributes
    ----------
    writes : sequence of bool
        Direction of each request, over and over.
    bank : int
        Its bank.
    asks : float
        How often it has a request on offer.
    rows : list of int
        Cycles in which it goes on to another row of its bank: another transaction begins.
    anywhere : int
        If not 0, each of its requests is to another row, of one of so many banks.
    """

    writes: Sequence[bool]
    bank: int
    asks: float = 1.0
    rows: list[int] = field(default_factory=list)
    row: int = 1
    anywhere: int = 0
    asked: int = 0


def pins_after(masters: Sequence[Master], requests: int, start: int, write: bool,
               rng: random.Random, *, part: Part, cap: int, opens: bool = True,
               spread: int = 1, rules: type[Rules] = Rules, idle: bool = False,
               postpone: int = 1) -> int:
    """DDR cycles from ``requests`` requests of port 0 on offer in cycle ``start``, to rows of
    ``spread`` banks in turn, until the last one is on the pins; its rows are not open if it
    ``opens`` them. ``idle``: port 0 has asked for nothing before, so that ``start`` may be any from
    1 on. ``postpone``: refreshes that may be owed."""
    ports = 1 + len(masters)
    front = MultiPortFrontEndModel(priorities=[4] * ports, limits=[0] * ports)
    reorder = ReorderCoreModel(entries=QUEUE, cap=cap, cycle=part.nRC)
    reorder.rules = rules()
    pages = PageControllerModel(part, close=False, postpone=postpone)
    offers: dict[int, QueuedRequest] = {}
    left, done, now = 0, 0, 0
    # have opened rows of the banks
    before = [QueuedRequest(4, True, MINE + bank, 7 if opens else 0, 1, MINE)
              for bank in range(0 if idle else spread)]
    while done < requests:
        shown = reorder._shown
        taken, _, closed, _, _ = pages.step(shown)
        done += taken and shown is not None and shown.tag == MINE and shown.column == 0
        come, space = front._register, len(reorder.queue) < QUEUE
        reorder.step(come.data if come else None, taken, closed)
        granted, _ = front.step(offers, space)
        if granted is not None:
            left -= granted == MINE and offers[MINE].column == 0
            del offers[granted]
        now += 1
        for port, master in enumerate(masters, 1):
            master.row += now in master.rows
            if port not in offers and (master.asks == 1 or rng.random() < master.asks):
                way = master.writes[master.asked % len(master.writes)]
                master.row += master.anywhere > 0
                bank = rng.randrange(master.anywhere) if master.anywhere else master.bank
                offers[port] = QueuedRequest(4, way, bank, master.row, 0, port)
                master.asked += 1
        if start // 2 <= now and before and MINE not in offers:
            offers[MINE] = before.pop()
        if now == start:
            left = requests
        if now >= start and left:
            bank = MINE + (requests - left) % spread
            offers[MINE] = QueuedRequest(4, write, bank, 0, 0, MINE)
    return now - start  # taken a cycle before it is on the pins, and counted one later


@dataclass(frozen=True)
class Attack:
    """Directions of all masters' requests.

    Attributes
    ----------
    write : bool
        The transaction's.
    writes : tuple of tuples of bool
        Each other master's, over and over.
    """

    write: bool
    writes: tuple[tuple[bool, ...], ...]

    def cycles(self, requests: int, cap: int, rules: type[Rules] = Rules) -> int:
        """What ``requests`` requests of a row that is open take, without a refresh."""
        masters = [Master(way, bank) for bank, way in enumerate(self.writes, 1)]
        return pins_after(masters, requests, _START, self.write, random.Random(0),
                          part=_UNREFRESHED, cap=cap, opens=False, rules=rules)

    def changed(self, rng: random.Random) -> "Attack":
        """With another direction somewhere, or a whole master's others."""
        writes = [list(way) for way in self.writes]
        way = rng.choice(writes)
        if rng.random() < 0.2:
            way[:] = _pattern(rng)
        for _ in range(rng.choice((1, 1, 2, 4))):
            place = rng.randrange(len(way))
            way[place] = not way[place]
        return Attack(self.write ^ (rng.random() < 0.05), tuple(map(tuple, writes)))


def _pattern(rng: random.Random) -> tuple[bool, ...]:
    """Directions drawn at random, or in turn, some of each."""
    if rng.random() < 0.5:
        return tuple(rng.random() < 0.5 for _ in range(_PATTERN))
    run, phase = rng.choice((1, 2, 3, 4, 6, 12, 24)), rng.randrange(_PATTERN)
    return tuple((place + phase) // run % 2 == 0 for place in range(_PATTERN))


def longest(masters: int, requests: int, cap: int, tries: int, rng: random.Random,
            rules: type[Rules] = Rules) -> tuple[int, Attack]:
    """The longest that ``masters`` masters, the transaction among them, were found to make its
    requests take, and how: by turns read and write, then half of the ``tries`` at random, then
    changes of the worst."""
    how = Attack(True, tuple((bank % 2 == 0,) * _PATTERN for bank in range(1, masters)))
    worst = how.cycles(requests, cap, rules)
    for number in range(tries):
        attack = (Attack(rng.random() < 0.5, tuple(_pattern(rng) for _ in range(masters - 1)))
                  if number < tries // 2 else how.changed(rng))
        if (cycles := attack.cycles(requests, cap, rules)) >= worst:
            worst, how = cycles, attack
    return worst, how


def allowed(masters: int, requests: int, cap: int, *, mixed: int) -> int:
    """`decided` without a refresh and without a row to open."""
    count = requests * masters + cap + QUEUE + 1
    return hits(count, mixed=mixed, part=_UNREFRESHED) + REGISTERS + LOOKS - GRANTED


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for masters in (2, 4, 8):
        for requests in (1, 8, 32):
            row = [allowed(masters, requests, 9, mixed=1), allowed(masters, requests, 9, mixed=0)]
            for rules in (Rules, WithoutRule4):
                cycles, _ = longest(masters, requests, 9, arguments.tries,
                                    random.Random(arguments.seed), rules)
                row.append(cycles)
            row.append(max(Attack(way, ((way,),) * (masters - 1)).cycles(requests, 9)
                           for way in (False, True)))
            print(masters, requests, *row, flush=True)


if __name__ == "__main__":
    main()
