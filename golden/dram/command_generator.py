"""Golden model of the command generator: bursts in, entries of the banks' FIFOs out.

An entry is what has to be done in a bank for one burst: precharge another row, activate, read or
write, precharge afterwards. When a bank has to be closed for which no burst is left, it gets an
entry that is nothing but a precharge.

Ref: Sim-D, section 3.2.2.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.timing import Part

__all__ = ["CommandGeneratorModel", "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Work for one bank, in this order: ``conflict`` precharge, ``activate``, the read or write,
    ``close``. An entry that is ``alone`` is a single precharge."""

    row: int = 0
    column: int = 0
    write: bool = False
    conflict: bool = False
    activate: bool = False
    close: bool = False
    alone: bool = False


class CommandGeneratorModel:
    """Address mapping and precharge policy; keeps the open row of each bank.

    Tiles close a pair of banks as soon as the next burst lies in another pair or another row, so
    that precharging overlaps with what follows. Indexed requests, whose bursts may come back to a
    row, leave rows open until another row of the bank is needed. Either way all is closed at the
    end of a request.

    Parameters
    ----------
    part : Part
        The DRAM.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.open: dict[int, int] = {}  # bank: row

    def steps(self, bursts: Iterable[int], *, write: bool, indexed: bool
              ) -> Iterator[list[tuple[int, Entry]]]:
        """For each burst of a request, in order: the banks and entries that it adds together."""
        following = iter(bursts)
        burst = next(following, None)
        while burst is not None:
            after = next(following, None)
            yield self.step(burst, after, write=write, indexed=indexed)
            burst = after

    def step(self, burst: int, after: int | None, *, write: bool, indexed: bool
             ) -> list[tuple[int, Entry]]:
        """One burst; ``after`` is the one behind it, None if it is the request's last."""
        part, place = self.part, place_of(self.part, burst)
        bank, row = place.bank, place.row
        was = self.open.get(bank)
        self.open[bank] = row
        if indexed:
            close = after is None
            leave = [(bank + 1 + i) % part.banks for i in range(part.banks - 1)] if close else []
        else:
            then = None if after is None else place_of(part, after)
            close = then is None or then.bank | 1 != bank | 1 or then.row != row
            leave = [bank ^ 1] if close else []
        alone = [other for other in leave if other in self.open]
        for other in [*alone, *([bank] if close else [])]:
            del self.open[other]
        return [*((other, Entry(alone=True)) for other in alone),
                (bank, Entry(row, place.column, write, activate=was != row,
                             conflict=was is not None and was != row, close=close))]
