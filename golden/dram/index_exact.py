"""The longest indexed request of up to nB rows, exactly: every order of banks, cycle by cycle.

No bank holds two rows, so that a request is a sequence of banks. All of them are followed at once:
a state is what the arbiter knows in a cycle, with *roles* in place of banks (``index_worlds.py``),
and with it goes the set of worlds in which some request leads to it. Requests that lead to the same
state are one from then on. Where a choice depends on the numbers of banks, the set is divided.

States that cannot lead to what is asked for are left: see `_Search.latest`.
"""

from typing import NamedTuple

from cyclebound.golden.dram.bounds import check_request, recovery
from cyclebound.golden.dram.index_gaps import least_saved
from cyclebound.golden.dram.index_openings import (
    Openings,
    check_search,
    latest_openings,
    latest_unforced,
)
from cyclebound.golden.dram.index_search import Order, check_rows
from cyclebound.golden.dram.index_worlds import Names, Role, Worlds
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part

__all__ = ["Longest", "longest_request"]

_CLOSED = -1


class Longest(NamedTuple):
    """What was found: ``delay`` and ``order``, or None if nothing takes so long.

    ``settled``: nothing does, and the number of words did not matter, but that there were so many
    at least: with any such number, nothing takes as long but for nCCD_L a word. ``followed``: steps
    of the search.
    """

    delay: int | None
    order: Order | None
    settled: int | None
    followed: int


class _State(NamedTuple):
    """What the arbiter knows at the beginning of a cycle; times count from it.

    ``banks``: of each group, entries that wait and time until the first column command is legal
    (closed: -1), of all banks that have been asked for. ``held``: the bank of a word that finds
    no room; ``own``: of the last word; ``popped``: a bank whose FIFO was full a cycle ago;
    ``newest``: of a read, the bank that opened last, while that can decide when it is over.
    """

    banks: tuple[tuple[tuple[int, int], ...], ...]
    ages: tuple[int, ...]
    group_activate: tuple[int, ...]
    group_access: tuple[int, ...]
    access: int
    since: int
    left: int
    current: Role | None = None
    held: Role | None = None
    own: Role | None = None
    popped: Role | None = None
    newest: Role | None = None

    @property
    def done(self) -> bool:
        """Whether all words have been read or written."""
        return not self.left and not any(entries for each in self.banks for entries, _ in each)


class _Search:
    def __init__(self, part: Part, worlds: Worlds, bursts: int, least: int, write: int) -> None:
        self.part, self.worlds, self.bursts = part, worlds, bursts
        self.closing = recovery(part, write)
        self.cycles = 0 if write else part.nRC
        self.oldest = max(part.nFAW, part.nRC - self.closing + 1)
        self.least = least
        self.count = 0
        self.spare = bursts  # words without which the search would have been the same

    # -- how long can it take? -----------------------------------------------------------------

    def latest(self, state: _State, cycle: int) -> int:
        """No request of this state takes longer (the cycle is the state's).

        Behind the last pause of more than nCCD_L, column commands are nCCD_L apart at most, and
        some are nearer (`least_saved`); without one, the next comes nCCD_L behind the last. What
        ends it is the first one of a bank that has just opened, nRCD behind its activate: an open
        bank with a word makes no pause, and a word that arrives later in one makes a shorter one.
        All words that banks opened earlier have now are done by then, and one at least of each bank
        that opens before. So for each bank that may be the one, in the order in which they open,
        the closed ones with the fewest words first. How late they open: `latest_openings`. Should
        none wait in a clock in which one could open, a word came to an open bank: a clock is lost,
        and nCCD_L gained. What comes after that may go in any order (`latest_unforced`). Should a
        FIFO of an open bank have been full: `check_search`.
        """
        part, step = self.part, self.part.nCCD_L
        left, ready, soonest = state.left, [], step
        pending, closed, groups = [], [], []
        for group, banks in enumerate(state.banks):
            waits = unused = 0
            for entries, opens in banks:
                left += entries
                if opens == _CLOSED:
                    closed.append(entries)
                    waits += 1
                elif opens:
                    pending.append((opens, group, entries))
                elif entries:
                    ready.append((0, group, entries))
                    soonest = min(soonest, max(state.access, state.group_access[group]))
            unused = self.worlds.roles - len(banks) if state.left else 0
            closed += [0] * unused
            groups.append((state.group_activate[group], waits, unused)
                          if waits or unused else (0, 0, 0))
        activate = -state.ages[0]
        if not left:
            return self.delay(state) + cycle
        pending.sort()
        before = sum(entries for _, _, entries in ready)
        if not ready:  # the next command may come without a longer pause all the same
            soonest = max(0, step - state.since)
        access = -state.since
        if ready or not pending or pending[0][0] <= soonest:  # before the next longer pause
            access = soonest + step * (left - 1) - least_saved(part, soonest, (*ready, *pending))
        for number, (opens, _, entries) in enumerate(pending):
            if left > before:
                access = max(access, opens + step * (left - before - 1) - least_saved(
                    part, opens, tuple(pending[number:])))
            before += entries
        rest = left - before
        self.spare = min(self.spare, rest - 1)
        if rest > 0 and closed:
            openings = Openings(state.ages, max(0, part.nRCD - cycle), tuple(sorted(groups)))
            forced, free = latest_openings(part, openings), latest_unforced(part, openings)
            # a clock in which none waits brings a word to an open bank
            times = [max(each, other - step + 1) for each, other in zip(forced, free, strict=True)]
            closed.sort()
            words = rest
            for opens, entries in zip(times, closed, strict=True):
                self.spare = min(self.spare, words - 1)
                if words <= 0:
                    break
                access = max(access, opens + part.nRCD + step * (words - 1))
                words -= max(1, entries)
            if self.cycles:
                arrive = state.left - 1
                if arrive > max(0, part.nRRD_S - state.ages[0], part.nFAW - state.ages[3]):
                    forced = latest_unforced(part, openings, arrive)
                activate = max(activate, *forced[:rest])
        served, cycled = access + self.closing, activate + self.cycles
        if self.cycles and min(served, cycled) + 1 > max(served, cycled):
            served += 1
        return cycle + max(served, cycled)

    def delay(self, state: _State) -> int:
        """Issue delay of a request that is done, from the state's cycle on.

        If two banks are to be closed at once, the one read last and the one that opened last, one
        of them is a clock late; but the bank of the last word closes by itself.
        """
        served, cycled = self.closing - state.since, self.cycles - state.ages[0]
        late = (served == cycled and state.newest is not None
                and len({state.own, state.current, state.newest}) == 3)
        return max(served, cycled) + late

    def settled(self) -> int | None:
        """The least number of words with which the search would have been the same.

        Of reads, only if no activate can be late enough to matter, with as few words.
        """
        if self.spare < 0:
            return None
        part, bursts, least = self.part, self.bursts, self.least
        if self.cycles:
            long_ago, group = (part.nFAW,) * 4, (0, 0, part.banks // part.bank_groups)
            activate = latest_unforced(part, Openings(long_ago, part.nRCD,
                                                      (group,) * part.bank_groups))[-1]
            # in a request of b words it is b - 1 later at most
            while (bursts > self.bursts - self.spare and activate + bursts - 2 + self.cycles
                   < least - part.nCCD_L - 1):
                bursts, least = bursts - 1, least - part.nCCD_L
            return bursts if activate + bursts - 1 + self.cycles < least - 1 else None
        return bursts - self.spare

    # -- one cycle -----------------------------------------------------------------------------

    def arrivals(self, state: _State) -> list[Role | None]:
        """Roles that the next word may have."""
        if not state.left:
            return [None]
        if state.held is not None:
            return [state.held]
        roles = []
        for group, banks in enumerate(state.banks):
            roles += [(group, number) for number in range(len(banks))]
            if len(banks) < self.worlds.roles:
                roles.append((group, len(banks)))
        return roles

    def follow(self, state: _State, worlds: int, arrives: Role | None):
        """The states of the next cycle, each with its worlds, and the old names of its roles."""
        banks = [list(each) for each in state.banks]
        left, held, own = state.left, state.held, state.own
        if arrives is not None:
            if self._room(state, arrives):
                group, number = arrives
                if number == len(banks[group]):
                    banks[group].append((0, _CLOSED))
                    worlds &= self.worlds.exists(arrives)
                entries, opens = banks[group][number]
                banks[group][number] = entries + 1, opens
                left, held = left - 1, None
                own = own if left else arrives
                self.spare = min(self.spare, left - 1)
            else:
                held = arrives
        state = state._replace(left=left, held=held, own=own, popped=None)
        for choice, kind, chosen in self._choices(state, banks, worlds):
            if chosen:
                yield self._after(state, banks, choice, kind), chosen

    def _room(self, state: _State, arrives: Role) -> bool:
        def entries(role: Role) -> int:
            group, number = role
            queue = state.banks[group][number][0] if number < len(state.banks[group]) else 0
            return queue + (role == state.popped)

        if state.left > 1:
            return entries(arrives) <= FIFO_DEPTH
        return all(entries((group, number)) <= FIFO_DEPTH for group, each in enumerate(state.banks)
                   for number in range(len(each)))

    def _choices(self, state: _State, banks: list, worlds: int):
        ready = [(group, number) for group, each in enumerate(banks)
                 if not state.access and not state.group_access[group]
                 for number, (entries, opens) in enumerate(each) if entries and not opens]
        if ready:
            for role in ready:
                chosen = self.worlds.nearest(role, tuple(ready), state.current)
                yield role, "access", worlds & chosen
            return
        ready = []
        if state.ages[0] >= self.part.nRRD_S and state.ages[3] >= self.part.nFAW:
            ready = [(group, number) for group, each in enumerate(banks)
                     if not state.group_activate[group]
                     for number, (entries, opens) in enumerate(each)
                     if entries and opens == _CLOSED]
        if not ready:
            yield None, "none", worlds
        for role in ready:
            yield role, "activate", self._fullest(state, banks, worlds, role, ready)

    def _fullest(self, state: _State, banks: list, worlds: int, role: Role, ready: list) -> int:
        """Worlds in which rule 5 chooses ``role``: those in front go first, then the fullest."""
        def waiting(each: Role) -> int:
            entries = banks[each[0]][each[1]][0]
            return entries if state.own not in (None, each) else max(
                entries - 1, int(state.own is not None))

        most = waiting(role)
        return worlds & self.worlds.fullest(
            role, tuple((other, (waiting(other) > most) - (waiting(other) < most))
                        for other in ready if other != role), state.current)

    def _after(self, state: _State, banks: list, choice: Role | None, kind: str) -> _State:
        part = self.part
        banks = [list(each) for each in banks]
        ages, access, since, current = state.ages, state.access, state.since, state.current
        activate, accesses = list(state.group_activate), list(state.group_access)
        popped, newest = None, state.newest
        if choice is not None:
            group, number = choice
            entries, opens = banks[group][number]
            if kind == "access":
                banks[group][number] = entries - 1, opens
                popped = choice if entries > FIFO_DEPTH else None
                current, access, since = choice, part.nCCD_S, 0
                accesses[group] = part.nCCD_L
            else:
                banks[group][number] = entries, part.nRCD
                ages = (0, *ages[:3])
                activate[group], newest = part.nRRD_L, choice if self.cycles else None
        return _State(
            tuple(tuple((entries, opens - (opens > 0)) for entries, opens in each)
                  for each in banks),
            (min(self.oldest, ages[0] + 1), *(min(part.nFAW, age + 1) for age in ages[1:])),
            tuple(max(0, each - 1) for each in activate),
            tuple(max(0, each - 1) for each in accesses), max(0, access - 1),
            min(part.nCCD_L, since + 1) if any(e for g in banks for e, _ in g) or state.left
            else since + 1,
            state.left, current, state.held, state.own, popped,
            newest if ages[0] <= self.cycles - self.closing else None)

    def renamed(self, state: _State) -> tuple[_State, Names]:
        """The same state with its roles in order, and their old names."""
        names, banks, new = [], [], {}
        for group, each in enumerate(state.banks):
            marks = [(*bank, (group, number) == state.current, (group, number) == state.held,
                      (group, number) == state.own, (group, number) == state.popped,
                      (group, number) == state.newest)
                     for number, bank in enumerate(each)]
            order = sorted(range(len(each)), key=marks.__getitem__)
            names.append(tuple(order))
            banks.append(tuple(each[number] for number in order))
            for number, old in enumerate(order):
                new[group, old] = group, number
        return state._replace(
            banks=tuple(banks), **{field: new.get(getattr(state, field)) for field in (
                "current", "held", "own", "popped", "newest")}), tuple(names)

    def run(self):
        """The longest request that takes ``least`` clocks at least: issue delay and order, or None.
        """
        part = self.part
        long_ago = part.nFAW
        start = _State(((),) * part.bank_groups, (self.oldest, *(long_ago,) * 3),
                       (0,) * part.bank_groups, (0,) * part.bank_groups, 0, part.nCCD_L,
                       self.bursts)
        keep, kept = self.worlds.keep, self.worlds.kept
        now, history, cycle = {start: keep(self.worlds.all)}, [], 0
        found = None
        while now:
            following, trace = {}, {}
            for state, packed in now.items():
                worlds = kept(packed)
                for arrives in self.arrivals(state):
                    for after, chosen in self.follow(state, worlds, arrives):
                        self.count += 1
                        if self.latest(after, cycle + 1) < self.least:
                            continue
                        after, names = self.renamed(after)
                        chosen = self.worlds.renamed(chosen, names)
                        known = kept(following.get(after, 0))
                        if chosen & ~known:
                            following[after] = keep(known | chosen)
                            trace.setdefault(after, []).append(
                                (state, arrives, names, keep(chosen & ~known)))
            cycle += 1
            history.append(trace)
            now = {}
            for state, worlds in following.items():
                if not state.done:
                    now[state] = worlds
                    continue
                delay = cycle + self.delay(state)
                if delay >= self.least:
                    found = delay, self._order(history, state, self.worlds.one_of(kept(worlds)))
                    self.least = delay + 1
        return found

    def _order(self, history: list, state: _State, world: int) -> Order:
        first, banks = self.worlds.first(world), []
        for trace in reversed(history):
            for before, arrives, names, worlds in trace[state]:
                if self.worlds.kept(worlds) >> world & 1:
                    world = self.worlds.before(world, names)
                    if arrives is not None and self._room(before, arrives):
                        banks.append(self.worlds.bank(world, arrives))
                    state = before
                    break
        return Order(first, tuple(reversed(banks)))


def longest_request(part: Part, *, bursts: int, rows: int, write: int, least: int = 0) -> Longest:
    """The longest issue delay of ``bursts`` words over ``rows`` rows, if it is ``least`` at least.

    The nearer ``least`` is to it, the sooner it is found. Raises `NotCovered` for no request or a
    part that `check_search` refuses, and `ValueError` for more rows than banks.
    """
    check_request(bursts, write)
    check_rows(part, rows)
    check_search(part, write)
    search = _Search(part, Worlds(part, rows), bursts, least, write)
    found = search.run()
    return Longest(*(found or (None, None)), None if found else search.settled(), search.count)
