"""An adversary against the bound on indexed requests: which banks, in which order, take longest?

Simulated annealing over the banks of a request's words, on the golden model of generator and
arbiter. Which columns the words lie in does not matter, nor do the rows, as long as no bank has
two: `indexed_issue_delay` is exact where they have.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cyclebound.golden.dram.address import burst_at
from cyclebound.golden.dram.bounds import check_request, part_named
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.timing import Part

__all__ = ["Order", "bursts_in", "check_rows", "longest_order"]


@dataclass(frozen=True)
class Order:
    """The banks of an indexed request's words, in order.

    ``first`` is the bank of the first row that the buffer covers; its rows follow each other
    through the banks, and on from bank 0 in the next row.
    """

    first: int
    banks: tuple[int, ...]

    def delay(self, part: Part, *, write: int) -> int:
        """Issue delay, in clocks."""
        return schedule(part, bursts_in(part, self), write=bool(write), indexed=True).issue_delay


def bursts_in(part: Part, order: Order) -> list[int]:
    """A burst for each word, in a buffer that covers none but the rows of these banks.

    A buffer that begins in an odd bank begins with that bank's last burst; of all other rows the
    first burst is in it.
    """
    last = 8 * (part.bursts_per_row - 1)
    return [burst_at(part, bank=bank, row=int(bank < order.first),
                     column=last if bank == order.first and bank % 2 else 0)
            for bank in order.banks]


def check_rows(part: Part, rows: int) -> None:
    """Raise `ValueError` unless no bank has to hold two of ``rows`` rows."""
    if not 1 <= rows <= part.banks:
        raise ValueError(f"rows must be from 1 to {part.banks}, not {rows}")


def _moved(rng: random.Random, banks: Sequence[int], places: Sequence[int]) -> list[int]:
    """Another order: one word elsewhere, a few of them, two exchanged, one or a stretch moved."""
    moved, kind = list(banks), rng.randrange(5)
    a, b = rng.randrange(len(moved)), rng.randrange(len(moved))
    if kind == 0:
        moved[a] = rng.choice(places)
    elif kind == 1:
        for at in range(a, min(len(moved), a + rng.randint(2, 6))):
            moved[at] = rng.choice(places)
    elif kind == 2:
        moved[a], moved[b] = moved[b], moved[a]
    elif kind == 3:
        moved.insert(b, moved.pop(a))
    else:
        low, high = sorted((a, b))
        moved[low:] = [rng.choice(places)] * (high - low + 1) + moved[high + 1:]
    return moved


def _other_head(rng: random.Random, banks: Sequence[int], places: Sequence[int]) -> list[int]:
    """Orders of words in front of a tail, of at most one bank fewer than there are: two
    exchanged, one moved, one elsewhere, or one more."""
    moved, kind = list(banks), rng.randrange(4)
    a, b = rng.randrange(len(moved)), rng.randrange(len(moved))
    if kind == 0:
        moved[a], moved[b] = moved[b], moved[a]
    elif kind == 1:
        moved.insert(b, moved.pop(a))
    elif kind == 2:
        moved[a] = rng.choice(places)
    else:
        moved.insert(a, moved[b])
        if len(moved) > len(places) + _REPEATS:
            moved.pop(rng.randrange(len(moved)))
    return moved if len(set(moved)) >= len(places) - 1 else list(banks)


_REPEATS = 5
_TURNS = 8  # one step of so many tries the same order in a buffer that begins elsewhere


def longest_order(*, part: str | Part, bursts: int, rows: int, write: int, rng: random.Random,
                  steps: int, start: Order | None = None) -> tuple[int, Order]:
    """The longest issue delay found in ``steps`` steps, and an order that takes so long.

    ``bursts`` words over ``rows`` rows, at most nB; ``start`` is where the search begins, if not
    at random: one that is too short goes on in its last bank. Without, half of the steps try orders
    of any kind, the others such as go through the banks once, with a few words twice, and on in the
    last bank to the end: the longest requests are like that (docs/dram.md). Raises `NotCovered`
    for what is no request, and `ValueError` for more rows than banks, or no step.
    """
    device = part_named(part)
    check_request(bursts, write)
    check_rows(device, rows)
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    first = rng.choice((0, 0, 1, rng.randrange(device.banks))) if rows < device.banks else 0
    if start is not None:
        first = start.first
    places = [(first + row) % device.banks for row in range(rows)]
    turns = device.banks if rows < device.banks else 1

    def order(banks: Sequence[int], turn: int) -> Order:
        """The banks in a buffer that begins so many later."""
        last = list(banks[-1:])
        filled = [*banks, *last * bursts][:bursts]
        return Order((first + turn) % device.banks,
                     tuple((bank + turn) % device.banks for bank in filled))

    def longest(banks: Sequence[int], moved: Callable, steps: int) -> tuple[int, Order]:
        now, turn, best = banks, 0, order(banks, 0)
        delay = most = best.delay(device, write=write)
        for step in range(steps):
            other, turned = now, turn
            if turns > 1 and not rng.randrange(_TURNS):
                turned = rng.randrange(turns)
            else:
                other = moved(rng, now, places)
            taken = order(other, turned).delay(device, write=write)
            heat = 5 * (1 - step / steps) + 0.01
            if taken >= delay or rng.random() < math.exp((taken - delay) / heat):
                now, turn, delay = other, turned, taken
            if taken > most:
                best, most = order(other, turned), taken
        return most, best

    if start is not None:
        return longest(order(start.banks, 0).banks, _moved, steps)
    head = rng.sample(places, rows)
    return max(longest(rng.choices(places, k=bursts), _moved, steps - steps // 2),
               longest(head, _other_head, steps // 2), key=lambda result: result[0])
