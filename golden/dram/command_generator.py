"""Golden model of the command generator: bursts in, operations in the banks' FIFOs out.

An operation is what has to be done in a bank for one burst: precharge another row, activate,
read or write, precharge afterwards. When a bank has to be closed for which no burst is left, it
gets an operation that is nothing but a precharge.

Ref: Sim-D, section 3.2.2.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cyclebound.golden.dram.address import Place, place_of
from cyclebound.golden.dram.request import FIFO_DEPTH, SLOTS, Burst
from cyclebound.golden.dram.timing import Part

__all__ = [
    "BankOperation",
    "CommandGeneratorCycleModel",
    "CommandGeneratorModel",
    "Described",
    "GeneratorCycle",
]


class BankOperation(NamedTuple):
    """Work for one bank, in this order: ``conflict`` precharge, ``activate``, the read or write,
    ``close``. With ``precharge_only`` it is a single precharge."""

    row: int = 0
    column: int = 0
    write: bool = False
    conflict: bool = False
    activate: bool = False
    close: bool = False
    precharge_only: bool = False


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
        self._ahead: tuple[int, Place] | None = None  # the burst that came last as ``after``

    def steps(self, bursts: Iterable[int], *, write: bool, indexed: bool
              ) -> Iterator[list[tuple[int, BankOperation]]]:
        """For each burst of a request, in order: the banks and entries that it adds together."""
        following = iter(bursts)
        burst = next(following, None)
        while burst is not None:
            after = next(following, None)
            yield self.step(burst, after, write=write, indexed=indexed)
            burst = after

    def step(self, burst: int, after: int | None, *, write: bool, indexed: bool
             ) -> list[tuple[int, BankOperation]]:
        """One burst; ``after`` is the next one, None if it is the request's last."""
        part = self.part
        ahead, self._ahead = self._ahead, None
        place = ahead[1] if ahead and ahead[0] == burst else place_of(part, burst)
        bank, row = place.bank, place.row
        was = self.open.get(bank)
        self.open[bank] = row
        if indexed:
            close = after is None
            leave = [(bank + 1 + i) % part.banks for i in range(part.banks - 1)] if close else []
        else:
            then = None
            if after is not None:
                then = place_of(part, after)
                self._ahead = after, then
            close = then is None or then.bank | 1 != bank | 1 or then.row != row
            leave = [bank ^ 1] if close else []
        precharge_only = [other for other in leave if other in self.open]
        for other in [*precharge_only, *([bank] if close else [])]:
            del self.open[other]
        return [*((other, BankOperation(precharge_only=True)) for other in precharge_only),
                (bank, BankOperation(row, place.column, write, activate=was != row,
                             conflict=was is not None and was != row, close=close))]


@dataclass(frozen=True, slots=True)
class Described:
    """A burst that has just entered the FIFO of ``bank``; ``slot`` counts the bank's bursts."""

    burst: Burst
    bank: int
    slot: int


@dataclass(frozen=True, slots=True)
class GeneratorCycle:
    """Outputs of the generator in one cycle; the FIFOs are `CommandGeneratorCycleModel.queues`.

    ``entered`` is the burst whose entries are made in this cycle, ``described`` the one of the
    cycle before; ``blocked`` says that a burst had to wait for room in a FIFO.
    """

    ready: bool
    busy: bool
    described: Described | None
    entered: Described | None
    blocked: bool


class CommandGeneratorCycleModel:
    """The generator with its times: a line of bursts that have been taken, and the FIFOs.

    A burst that was taken in one cycle is *held* in the next, until the next one is known. It
    is *at work* in the cycle after that, until all FIFOs that it needs have room, and its
    entries are in them one cycle later. Both places hold one burst each.

    Parameters
    ----------
    part : Part
        The DRAM.

    Attributes
    ----------
    queues : list of deque of BankOperation
        What each bank has to do; the first is its head, which takes no room in the FIFO.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self._policy = CommandGeneratorModel(part)
        self.queues: list[deque[BankOperation]] = [deque() for _ in range(part.banks)]
        self._held: Burst | None = None
        self._work: tuple[Burst, list[tuple[int, BankOperation]]] | None = None
        self._described: Described | None = None
        self._slots = [0] * part.banks
        self._under_way = False  # more bursts of the request that was taken last will come

    def step(self, offer: Burst | None, pops: int = 0) -> GeneratorCycle:
        """One cycle: a burst on offer or none, and the banks whose heads are popped, as bits."""
        held, work, described = self._held, self._work, self._described
        busy = self._under_way or held is not None or work is not None
        self._described = None
        entered = None
        blocked = False
        if work is not None:
            burst, entries = work
            blocked = any(len(self.queues[bank]) > FIFO_DEPTH for bank, _ in entries)
            if not blocked:
                own = entries[-1][0]
                entered = Described(burst, own, self._slots[own])
                self._slots[own] = (self._slots[own] + 1) % SLOTS
                self._described, self._work = entered, None
        for bank, queue in enumerate(self.queues):
            if pops >> bank & 1:
                queue.popleft()
        if entered is not None and work is not None:
            for bank, operation in work[1]:
                self.queues[bank].append(operation)
        if self._work is None and held is not None and (held.last or offer is not None):
            after = None if held.last or offer is None else offer.address
            self._work = held, self._policy.step(held.address, after, write=held.write,
                                                 indexed=held.indexed)
            self._held = None
        ready = self._held is None
        if ready and offer is not None:
            self._held, self._under_way = offer, not offer.last
        return GeneratorCycle(ready, busy, described, entered, blocked)
