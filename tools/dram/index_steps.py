"""A cycle of generator and arbiter in an indexed request, for many requests at once.

Up to nB rows no bank holds two, so that a request is a sequence of banks. A `State` is what the
arbiter knows, with *roles* in place of banks: *the second bank of group 1*. Which bank that is, is
said by the `Worlds` that go with it (``index_worlds.py``); what any of them allows is possible.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.dram.index_worlds import AnyWorld, Names, Role, Worlds

__all__ = ["CLOSED", "Bank", "Group", "State", "Step", "Steps"]

CLOSED = -1

Bank = tuple[int, int, int]
"""Entries that wait; time until the first column command is legal, or `CLOSED`; and marks."""

Group = tuple[int, int, tuple[Bank, ...]]
"""Time until an activate is legal, and until a column command is; banks that were asked for."""

# Marks: the bank read or written last; that of a word which finds no room; that of the last word;
# the one whose FIFO was full a cycle ago; and, of a read, the one that opened last, while that can
# decide when the read is over.
_CURRENT, _HELD, _OWN, _POPPED, _NEWEST = 1, 2, 4, 8, 16


class State(NamedTuple):
    """The arbiter's state at the beginning of a cycle, from which its times count.

    ``ages``: since the last four activates; ``access``: until a column command is legal; ``since``
    the last one; ``left``: words that have not arrived. A time that no longer matters is cut.
    """

    groups: tuple[Group, ...]
    ages: tuple[int, ...]
    access: int
    since: int
    left: int

    @property
    def done(self) -> bool:
        """Whether all words have been read or written."""
        return not self.left and not any(
            entries for _, _, banks in self.groups for entries, _, _ in banks)

    def marked(self, mark: int) -> Role | None:
        """The role that has a mark."""
        for group, (_, _, banks) in enumerate(self.groups):
            for number, bank in enumerate(banks):
                if bank[2] & mark:
                    return group, number
        return None

    def outline(self) -> "State":
        """This state without the numbers of its groups, and without the banks that are done."""
        groups: Iterable[Group] = self.groups
        if not self.left:
            groups = [(activate, column, tuple(bank for bank in banks if bank[0] or bank[2]))
                      for activate, column, banks in groups]
        return self._replace(groups=tuple(sorted(groups)))


class Steps:
    """Cycles of indexed requests of ``bursts`` words, in ``worlds``."""

    def __init__(self, part: Part, worlds: Worlds | AnyWorld, bursts: int, write: int) -> None:
        self.part, self.worlds, self.bursts = part, worlds, bursts
        self.closing = recovery(part, write)
        self.cycles = 0 if write else part.nRC
        self._decides = self.cycles - self.closing + 1  # age of an activate, after the last word
        self._oldest = max(part.nFAW, part.nRC - self.closing + 1)

    def start(self) -> State:
        """The state before the first word."""
        part = self.part
        return State(((0, 0, ()),) * part.bank_groups, (self._oldest, *(part.nFAW,) * 3), 0,
                     part.nCCD_L, self.bursts)

    def delay(self, state: State) -> int:
        """Issue delay of a request that is done, from the state's cycle on.

        If two banks are to be closed at once, the one read last and the one that opened last, one
        of them is a clock late; but the bank of the last word closes by itself.
        """
        served, cycled = self.closing - state.since, self.cycles - state.ages[0]
        newest = state.marked(_NEWEST)
        late = (served == cycled and newest is not None
                and len({state.marked(_OWN), state.marked(_CURRENT), newest}) == 3)
        return max(served, cycled) + late

    # -- one cycle -----------------------------------------------------------------------------

    def arrivals(self, state: State) -> Sequence[Role | None]:
        """Roles that the next word may have."""
        if not state.left:
            return [None]
        held = state.marked(_HELD)
        return self.worlds.askable(state.groups) if held is None else [held]

    def takes(self, state: State, arrives: Role) -> bool:
        """Whether there is room for the next word, if it is of ``arrives``."""
        def fits(bank: Bank) -> bool:
            return bank[0] + bool(bank[2] & _POPPED) <= FIFO_DEPTH

        if state.left > 1:
            group, number = arrives
            banks = state.groups[group][2]
            return number == len(banks) or fits(banks[number])
        return all(fits(bank) for _, _, banks in state.groups for bank in banks)

    def follow(self, state: State, worlds: int, arrives: Role | None
               ) -> Iterator["Step"]:
        """Yield the steps that are possible in this cycle; ``arrives``: the role of a new word."""
        groups = [list(banks) for _, _, banks in state.groups]
        left = state.left
        if arrives is not None:
            group, number = arrives
            if self.takes(state, arrives):
                if number == len(groups[group]):
                    groups[group].append((0, CLOSED, 0))
                    worlds &= self.worlds.exists(arrives)
                left -= 1
                entries, opens, marks = groups[group][number]
                groups[group][number] = (entries + 1, opens,
                                         marks & ~_HELD | (0 if left else _OWN))
            elif number < len(groups[group]):
                entries, opens, marks = groups[group][number]
                groups[group][number] = entries, opens, marks | _HELD
        for choice, activates, chosen in self._choices(state, groups, left, worlds):
            if chosen:
                yield self._after(state, groups, left, choice, activates, chosen)

    def _choices(self, state: State, groups: list[list[Bank]], left: int, worlds: int
                 ) -> Iterator[tuple[Role | None, bool, int]]:
        part = self.part
        current = state.marked(_CURRENT)
        ready = [] if state.access else [
            (group, number) for group, banks in enumerate(groups) if not state.groups[group][1]
            for number, (entries, opens, _) in enumerate(banks) if entries and not opens]
        if ready:
            for role in ready:
                yield role, False, worlds & self.worlds.nearest(role, tuple(ready), current)
            return
        if state.ages[0] >= part.nRRD_S and state.ages[3] >= part.nFAW:
            ready = [(group, number) for group, banks in enumerate(groups)
                     if not state.groups[group][0]
                     for number, (entries, opens, _) in enumerate(banks)
                     if entries and opens == CLOSED]
        if not ready:
            yield None, False, worlds
            return
        words = {role: self._waiting(groups[role[0]][role[1]], left) for role in ready}
        for role, most in words.items():
            yield role, True, worlds & self.worlds.fullest(
                role, tuple((other, (waits > most) - (waits < most))
                            for other, waits in words.items() if other != role), current)

    @staticmethod
    def _waiting(bank: Bank, left: int) -> int:
        """Entries that count for rule 5; with the last word, the other banks are told to close."""
        entries, _, marks = bank
        if left or marks & _OWN:
            return max(entries - 1, int(not left))
        return entries

    def _after(self, state: State, groups: list[list[Bank]], left: int, choice: Role | None,
               activates: bool, worlds: int) -> "Step":
        part = self.part
        ages = (0, *state.ages[:3]) if activates else state.ages
        access, since = state.access, state.since
        following: list[tuple[int, int, list[Bank]]] = []
        fades = _POPPED
        if choice is not None:
            fades |= _NEWEST if activates else _CURRENT
        for group, (activate, column, _) in enumerate(state.groups):
            banks = [(entries, opens, marks & ~fades) for entries, opens, marks in groups[group]]
            if choice is not None and choice[0] == group:
                entries, _, marks = banks[choice[1]]
                if activates:
                    activate, opens = part.nRRD_L, part.nRCD
                    marks |= _NEWEST if self.cycles else 0
                else:
                    column, opens = part.nCCD_L, 0
                    marks |= _CURRENT | (_POPPED if left and entries > FIFO_DEPTH else 0)
                    entries -= 1
                banks[choice[1]] = entries, opens, marks
            following.append((activate, column, banks))
        if choice is not None and not activates:
            access, since = part.nCCD_S, 0
        return self._aged(following, ages, access, since, left, worlds)

    def _next(self, groups: list[tuple[int, int, list[Bank]]], ages: tuple[int, ...],
              access: int) -> int:
        """Cycles until a command is legal, if no further word comes; 0 if there is none."""
        activate = max(self.part.nRRD_S - ages[0], self.part.nFAW - ages[3])
        return min((max(activate, own) if opens == CLOSED else max(opens, access, column)
                    for own, column, banks in groups
                    for entries, opens, _ in banks if entries), default=0)

    def _aged(self, groups: list[tuple[int, int, list[Bank]]], ages: tuple[int, ...], access: int,
              since: int, left: int, worlds: int) -> "Step":
        """A state (`State`) a cycle later, or when next a command is legal; with the roles in
        order."""
        cycles = 1 if left else max(1, self._next(groups, ages, access))
        newest = ages[0] + cycles
        fades = _NEWEST if newest > self._decides else 0
        later, names = [], []
        for activate, column, banks in groups:
            aged = [(entries, opens if opens == CLOSED else max(0, opens - cycles), marks & ~fades)
                    for entries, opens, marks in banks]
            order = sorted(range(len(aged)), key=aged.__getitem__)
            if not left:  # what of its times can still matter
                if not any(opens == CLOSED for _, opens, _ in aged):
                    activate = 0
                if not any(entries for entries, _, _ in aged):
                    column = 0
            names.append(tuple(order))
            later.append((max(0, activate - cycles), max(0, column - cycles),
                          tuple(aged[number] for number in order)))
        after = State(tuple(later), (min(self._oldest, newest),
                                     *self._window(newest, *(age + cycles for age in ages[1:]))),
                      max(0, access - cycles), min(self.part.nCCD_L, since + cycles), left)
        return Step(cycles, after, worlds, tuple(names))

    def _window(self, newest: int, *ages: int) -> list[int]:
        """The ages of the activates before the newest one, nFAW where they keep nothing."""
        part = self.part
        legal, kept = max(0, part.nRRD_S - newest), []
        for age in reversed(ages):
            kept.append(age if part.nFAW - age > legal else part.nFAW)
            legal = max(legal, part.nFAW - age) + part.nRRD_S
        return kept[::-1]


class Step(NamedTuple):
    """A state, so many cycles later; what its roles were called before, and worlds by those names.
    """

    cycles: int
    state: State
    worlds: int
    names: Names
