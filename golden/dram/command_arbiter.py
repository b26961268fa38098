"""Golden model of the command arbiter: which command goes to DRAM, and when.

It works with points in time (when is this command legal at the earliest?), and jumps from one
command to the next; hardware counts down.

Ref: Sim-D, section 3.2.2, rules 1 to 6; their tie-breaks as in its authors' model.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cyclebound.golden.dram.command_generator import BankOperation, CommandGeneratorModel
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import Part

__all__ = ["CommandArbiterModel", "Issued", "Schedule", "schedule"]

_NEVER = 1 << 62
_LONG_AGO = -(1 << 30)


class Issued(NamedTuple):
    """A command on the pins; ``row`` of an activate, ``column`` of a read or write."""

    cycle: int
    op: Command
    bank: int = 0
    row: int = 0
    column: int = 0


class CommandArbiterModel:
    """The heads of all banks' FIFOs, and the clock times at which commands become legal.

    Parameters
    ----------
    part : Part
        The DRAM.
    current : int
        Lower bank of the pair that counts as active before the first read or write. Its authors'
        model starts with 0 and then carries over the last request's; here every request starts
        with 0, so that its delay depends on nothing but itself (docs/dram.md, errata).

    Attributes
    ----------
    queues : list of deque of BankOperation
        What each bank has to do.
    due : dict
        Of each bank that has something to do, the first cycle in which the next of it is legal. A
        command moves the times of its own kind alone, and those of its bank.
    holdoff : int
        The first cycle in which a refresh, and so the next request's first command, is legal.
    """

    def __init__(self, part: Part, current: int = 0) -> None:
        self.part = part
        banks = range(part.banks)
        self.queues: list[deque[BankOperation]] = [deque() for _ in banks]
        self.due: dict[int, int] = {}
        self._step = [0] * part.banks  # of the head: what it does next
        self._activated = [_LONG_AGO] * part.banks
        self._precharge = [0] * part.banks  # earliest times, by bank
        self._activate = [0] * part.banks
        self._cas = [0] * part.banks
        self._group_cas = [0] * part.bank_groups
        self._group_activate = [0] * part.bank_groups
        self._rank_cas = self._rank_activate = 0
        self._window = deque([_LONG_AGO] * 4, maxlen=4)  # cycles of the last four activates
        self._current = current
        self.holdoff = 0

    # -- heads ---------------------------------------------------------------------------------

    def push(self, bank: int, operation: BankOperation) -> None:
        """Append to a bank's FIFO; the caller respects its depth."""
        queue = self.queues[bank]
        queue.append(operation)
        if len(queue) == 1:
            self._step[bank] = self._first_step(operation)
            self.due[bank] = self._earliest(bank)

    @staticmethod
    def _first_step(operation: BankOperation) -> int:
        return (_PRECHARGE_ONLY if operation.precharge_only else _CONFLICT if operation.conflict
                else _ACTIVATE if operation.activate else _CAS)

    def _earliest(self, bank: int) -> int:
        """The first cycle in which what the head of ``bank`` does next is legal."""
        step = self._step[bank]
        if step == _CAS:
            return max(self._cas[bank], self._group_cas[self.part.bank_group(bank)],
                       self._rank_cas)
        if step == _ACTIVATE:
            return max(self._activate[bank], self._rank_activate,
                       self._group_activate[self.part.bank_group(bank)],
                       self._window[0] + self.part.nFAW)
        return self._precharge[bank]

    def next_time(self) -> int:
        """The first cycle in which any head is legal; far away if all are empty."""
        return min(self.due.values(), default=_NEVER)

    # -- the choice ----------------------------------------------------------------------------

    def choose(self, cycle: int) -> int | None:
        """The bank whose head has its turn in ``cycle``."""
        ready = [bank for bank, due in self.due.items() if due <= cycle]
        if len(ready) < 2:
            return ready[0] if ready else None
        first = min(self._step[bank] for bank in ready)
        ready = [bank for bank in ready if self._step[bank] == first]
        if first == _ACTIVATE:
            return self._choose_activate(sorted(ready))
        return min(ready, key=self._distance)

    def _distance(self, bank: int) -> int:
        return (bank - self._current) % self.part.banks

    def _choose_activate(self, ready: list[int]) -> int:
        """Rule 5 as its authors' model runs it: a later bank replaces the choice so far if it
        has more entries waiting, or if it is nearer. (The paper has nearness as a tie-break.)"""
        chosen = ready[0]
        for bank in ready[1:]:
            if (self._waiting(bank) > self._waiting(chosen)
                    or self._distance(bank) < self._distance(chosen)):
                chosen = bank
        return chosen

    def _waiting(self, bank: int) -> int:
        queue = self.queues[bank]
        return 1 if queue[0].close else len(queue) - 1

    # -- the effect ----------------------------------------------------------------------------

    def issue(self, cycle: int, bank: int) -> Issued:
        """Do the next step of the head of ``bank``."""
        operation, step = self.queues[bank][0], self._step[bank]
        if step == _CAS:
            issued = self._access(cycle, bank, operation)
        elif step == _ACTIVATE:
            issued = self._activates(cycle, bank, operation)
        else:
            self._closed(bank, cycle)
            if step == _CONFLICT:
                self._step[bank] = _ACTIVATE
            else:
                self._pop(bank)
            issued = Issued(cycle, Command.PRE, bank)
        due = self.due
        for other in due:
            if other == bank or (self._step[other] == step and step <= _ACTIVATE):
                due[other] = self._earliest(other)
        return issued

    def _activates(self, cycle: int, bank: int, operation: BankOperation) -> Issued:
        part = self.part
        self._step[bank] = _CAS
        self._activated[bank] = cycle
        self._window.append(cycle)
        self._cas[bank] = cycle + part.nRCD
        self._precharge[bank] = cycle + part.nRAS
        self._activate[bank] = cycle + part.nRC
        self._rank_activate = cycle + part.nRRD_S
        self._group_activate[part.bank_group(bank)] = cycle + part.nRRD_L
        return Issued(cycle, Command.ACT, bank, operation.row)

    def _access(self, cycle: int, bank: int, operation: BankOperation) -> Issued:
        part = self.part
        self._current = bank & ~1
        self._rank_cas = cycle + part.nCCD_S
        self._group_cas[part.bank_group(bank)] = cycle + part.nCCD_L
        recovered = cycle + (part.nCWD + part.nBURST + part.nWR if operation.write else part.nRTP)
        if operation.close:
            self._closed(bank, recovered)
        else:
            self._precharge[bank] = max(self._precharge[bank], recovered)
        self._pop(bank)
        op = ((Command.WRA if operation.close else Command.WR) if operation.write
              else (Command.RDA if operation.close else Command.RD))
        return Issued(cycle, op, bank, 0, operation.column)

    def _closed(self, bank: int, precharged: int) -> None:
        """``bank`` is precharged in cycle ``precharged``, by a command or by itself.

        A read or write with auto-precharge may come before nRAS is over: nRC then decides.
        """
        legal = max(precharged + self.part.nRP, self._activated[bank] + self.part.nRC)
        self._activate[bank] = legal
        self.holdoff = max(self.holdoff, legal)

    def _pop(self, bank: int) -> None:
        queue = self.queues[bank]
        queue.popleft()
        if queue:
            self._step[bank] = self._first_step(queue[0])
        else:
            del self.due[bank]


_CAS, _CONFLICT, _ACTIVATE, _PRECHARGE_ONLY = range(4)  # by priority


@dataclass(frozen=True)
class Schedule:
    """The commands of one request; cycles count from its first command.

    Attributes
    ----------
    commands : tuple of Issued
        In order.
    issue_delay : int
        From the first command to the first cycle in which the next request's may issue (the
        LID of Sim-D, section 2.3).
    """

    commands: tuple[Issued, ...]
    issue_delay: int


def schedule(part: Part, bursts: Sequence[int], *, write: bool = False, indexed: bool = False,
             current: int = 0, arrivals: Sequence[int] = ()) -> Schedule:
    """Run one request through generator and arbiter: a burst enters per cycle, if there is room.

    ``bursts`` are burst numbers; ``current`` is for the errata, see `CommandArbiterModel`.
    ``arrivals``: the first cycle in which each burst can enter, from that of the first one, where
    indexes are refused or late. Raises `ValueError` if there are no bursts.
    """
    if not bursts:
        raise ValueError("a request must have at least one burst")
    arbiter = CommandArbiterModel(part, current)
    # The first burst is at its head in cycle 0, and nothing keeps its activate: all counts from it.
    issued = tuple(_run(arbiter, CommandGeneratorModel(part).steps(
        bursts, write=write, indexed=indexed), arrivals))
    return Schedule(issued, arbiter.holdoff)


def _run(arbiter: CommandArbiterModel, steps: Iterator[list[tuple[int, BankOperation]]],
         arrivals: Sequence[int]) -> Iterator[Issued]:
    queues = arbiter.queues
    coming = next(steps, None)
    cycles = iter(arrivals)
    comes = next(cycles, 0)
    room = True  # a FIFO that is full in one cycle takes nothing in the next
    cycle, wake = 0, _NEVER
    while coming is not None or wake < _NEVER:
        if room and coming is not None and comes <= cycle:
            for bank, operation in coming:
                arbiter.push(bank, operation)
                wake = min(wake, arbiter.due[bank])
            coming = next(steps, None)
            comes = next(cycles, 0)
        room = coming is not None and not any(len(queues[bank]) > FIFO_DEPTH for bank, _ in coming)
        again = room
        if wake <= cycle:
            chosen = arbiter.choose(cycle)
            if chosen is not None:
                yield arbiter.issue(cycle, chosen)
                again = coming is not None  # it may have made room
            wake = arbiter.next_time()
        following = max(cycle + 1, comes if room else 0) if again else _NEVER
        cycle = max(cycle + 1, min(following, wake))
