"""Gives applications their banks, windows and slots (memory-composition, section VI).

`optimum` minimises the greatest bound over deadline, with an integer program (OR-tools); `greedy`
and `at_random` are what it is compared with. Whatever they find, `execution_model_check.faults`
judges it without them.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end import PACKET_FLITS
from cyclebound.golden.noc.execution_model import (
    Allocation,
    Flow,
    Meeting,
    Place,
    System,
    Transaction,
    bound_of,
    flow_name,
    meets,
    table_of,
)
from cyclebound.golden.noc.execution_model_bounds import MOST_AT_SINK
from cyclebound.golden.noc.execution_model_check import faults, requesters

if TYPE_CHECKING:  # imported by what uses them: half a second of every command
    from ortools.sat.python import cp_model

__all__ = ["Choice", "Found", "NoTable", "at_random", "conflict", "greedy", "optimum", "settle"]

_SCALE = 1_000_000  # of ratios in the integer program
_TRIES = 50         # of a random allocation
_SMALL = 5.0        # seconds for each question of whether a few transactions have a table


class NoTable(ValueError):
    """No allocation exists; ``transactions``: a smallest set that has none."""

    def __init__(self, transactions: Iterable[str], why: str) -> None:
        super().__init__(why)
        self.transactions = tuple(transactions)


@dataclass(frozen=True)
class Choice:
    """What has to be chosen; all else follows.

    Attributes
    ----------
    local, starts : Mapping[str, int]
        By transaction: its bank of local memory, its first slot.
    dram : Mapping[str, int]
        By application: its bank of DDR3.
    packets : Mapping[Flow, int]
        Of a flow's window.
    """

    local: Mapping[str, int]
    dram: Mapping[str, int]
    packets: Mapping[Flow, int]
    starts: Mapping[str, int]


@dataclass(frozen=True)
class Found:
    """An allocation, and whether it is known that none is better.

    ``least`` is a ratio that none is below, as far as the search got.
    """

    allocation: Allocation
    optimal: bool
    least: float


def _overlap(system: System, starts: Mapping[str, int], lengths: Mapping[str, int],
             one: Transaction, other: Transaction) -> bool:
    """Whether they are under way at a time: periods are harmonic, so the shorter one decides."""
    period = min(system.slots(one), system.slots(other))
    mine, others = lengths[one.full_name], lengths[other.full_name]
    apart = (starts[other.full_name] - starts[one.full_name]) % period
    return apart < mine or apart + others > period


def settle(system: System, choice: Choice) -> Allocation:
    """The allocation that follows from a choice: least lengths and bounds that agree with it.

    Longer transactions meet more others, and take longer: from a slot each, lengths grow until
    nothing changes. It may break rules.
    """
    slot = system.hardware.slot
    places = {t.full_name: Place(choice.local[t.full_name], 0, choice.starts[t.full_name], 1, 0)
              for t in system.transactions}
    needs = {t.full_name: requesters(system, places, t) for t in system.transactions}
    lengths = dict.fromkeys(places, 1)
    bounds: dict[str, int] = {}
    while True:
        for t in system.transactions:
            meeting = meets(system, t, (
                other for other in system.transactions if other is not t
                and _overlap(system, choice.starts, lengths, t, other)))
            many = needs[t.full_name] if t.write else min(MOST_AT_SINK, needs[t.full_name])
            bounds[t.full_name] = bound_of(system, t, requesters=many, meeting=meeting,
                                           packets=choice.packets[system.flow(t)])
        before, lengths = lengths, {t.full_name: min(system.slots(t), -(-bounds[t.full_name]
                                                                        // slot))
                                    for t in system.transactions}
        if before == lengths:
            break
    addresses = _addresses(system, choice.local)
    places = {name: Place(where.bank, addresses[name], where.start, lengths[name], bounds[name])
              for name, where in places.items()}
    return Allocation(dict(choice.dram), _windows(system, choice.packets), places,
                      table_of(system, places))


def _addresses(system: System, local: Mapping[str, int]) -> dict[str, int]:
    """Addresses of all buffers in their banks: those that are given, and then the others."""
    addresses = {}
    end: dict[tuple, int] = defaultdict(int)
    for t in sorted(system.transactions, key=lambda t: t.address is None):
        bank = system.of[t.application].tile, local[t.full_name]
        addresses[t.full_name] = end[bank] if t.address is None else t.address
        end[bank] = max(end[bank], addresses[t.full_name] + t.nbytes)
    return addresses


def _windows(system: System, packets: Mapping[Flow, int]) -> dict[Flow, tdma.Slot]:
    """The network's table for windows of so many packets.

    All flows of a direction share the I/O tile's link, and nothing else is in their way: they have
    a table where the windows fit that link, one after the other.
    """
    flows = [system.network_flow(flow, packets[flow]) for flow in system.flows]
    table = tdma.solve(system.hardware.network, flows, routes={
        flow_name(flow): [system.route(flow)] for flow in system.flows})
    return {flow: table[flow_name(flow)] for flow in system.flows}


# -- what the optimum is compared with -------------------------------------------------------------


def greedy(system: System) -> Allocation | None:
    """Banks in turn, windows for whoever is worst off, and, the most urgent first, the first free
    slots. None where that leads to no allocation that keeps the rules."""
    order = sorted(system.transactions, key=lambda t: t.deadline)
    return _placed(system, _banks_in_turn(system), _fair_windows(system), order, dict.fromkeys(
        [t.full_name for t in order], 0))


def _fair_windows(system: System) -> dict[Flow, int]:
    """One packet after the other to the flow whose bound over deadline is greatest."""
    packets = dict.fromkeys(system.flows, 1)

    def ratio(flow: Flow) -> float:
        return max(bound_of(system, t, requesters=1, packets=packets[flow], meeting=Meeting())
                   / t.deadline for t in system.transactions if system.flow(t) == flow)

    for write in (True, False):
        flows = [flow for flow in system.flows if flow[1] == write]
        for _ in range(system.hardware.most_packets - len(flows) if flows else 0):
            packets[max(flows, key=ratio)] += 1
    return packets


def at_random(system: System, rng: random.Random) -> Allocation | None:
    """Banks, windows and order at random; each transaction in the first free slots from a random
    one on. The first of some tries that keeps the rules, else None."""
    for _ in range(_TRIES):
        dram = {name: application.bank if application.bank is not None
                else rng.randrange(system.hardware.dram.banks)
                for name, application in system.of.items()}
        local = {t.full_name: t.bank if t.bank is not None
                 else rng.randrange(system.hardware.banks) for t in system.transactions}
        packets = {}
        for write in (True, False):
            flows = [flow for flow in system.flows if flow[1] == write]
            left = system.hardware.most_packets - len(flows)
            for flow in rng.sample(flows, len(flows)):
                more = rng.randint(0, max(0, left))
                packets[flow], left = 1 + more, left - more
        order = rng.sample(system.transactions, len(system.transactions))
        begin = {t.full_name: rng.randrange(system.slots(t)) for t in order}
        found = _placed(system, (local, dram), packets, order, begin)
        if found is not None:
            return found
    return None


def _banks_in_turn(system: System) -> tuple[dict[str, int], dict[str, int]]:
    local, dram = {}, {}
    turn: dict = defaultdict(int)
    for number, (name, application) in enumerate(system.of.items()):
        dram[name] = (number % system.hardware.dram.banks if application.bank is None
                      else application.bank)
        for t in application.transactions:
            local[t.full_name] = (turn[application.tile] % system.hardware.banks if t.bank is None
                                  else t.bank)
            turn[application.tile] += 1
    return local, dram


def _placed(system: System, banks: tuple[dict[str, int], dict[str, int]],
            packets: Mapping[Flow, int], order: list[Transaction], begin: Mapping[str, int]
            ) -> Allocation | None:
    """Each transaction, in this order, where the table first has room, from ``begin`` on.

    How long one lasts depends on whom it meets, which is not known yet: so many are assumed, more
    and more, until what follows is no longer than that.
    """
    local, dram = banks
    places = {name: Place(bank, 0, 0, 1, 0) for name, bank in local.items()}
    needs = {t.full_name: requesters(system, places, t) for t in order}
    if any(not t.write and needs[t.full_name] > MOST_AT_SINK for t in order):
        return None
    masters = system.masters
    for met in (0, masters - 1, 2 * masters, 4 * masters, 8 * masters):
        meeting = Meeting(met, met > 0 and system.hardware.directions == "preferred")
        lengths = {t.full_name: -(-bound_of(
            system, t, requesters=needs[t.full_name], packets=packets[system.flow(t)],
            meeting=meeting) // system.hardware.slot) for t in order}
        starts = _first_fit(system, dram, lengths, order, begin)
        if starts is not None:
            found = settle(system, Choice(local, dram, packets, starts))
            if not faults(system, found):
                return found
    return None


def _first_fit(system: System, dram: Mapping[str, int], lengths: Mapping[str, int],
               order: list[Transaction], begin: Mapping[str, int]) -> dict[str, int] | None:
    starts: dict[str, int] = {}
    done: list[Transaction] = []
    used = [0] * system.hyperperiod
    for t in order:
        period = system.slots(t)
        if lengths[t.full_name] > period:
            return None
        for shift in range(period):
            starts[t.full_name] = (begin[t.full_name] + shift) % period
            taken = [slot % system.hyperperiod for first in
                     range(starts[t.full_name], system.hyperperiod, period)
                     for slot in range(first, first + lengths[t.full_name])]
            if all(used[slot] < system.hardware.masters for slot in taken) and all(
                    _may_share(system, dram, t, other)
                    or not _overlap(system, starts, lengths, t, other) for other in done):
                for slot in taken:
                    used[slot] += 1
                break
        else:
            return None
        done.append(t)
    return starts


def _may_share(system: System, dram: Mapping[str, int], one: Transaction, other: Transaction
               ) -> bool:
    return (system.together(one, other) and dram[one.application] != dram[other.application])


# -- the optimum -----------------------------------------------------------------------------------


def optimum(system: System, *, seconds: float = 50.0, seed: int = 1,
            progress: Callable[[float, float], None] = lambda ratio, least: None,
            further: bool = True) -> Found:
    """The allocation with the least greatest bound over deadline.

    It searches for so many seconds at most; `progress` is told each ratio that it finds, and which
    none can be below. An interrupt (Ctrl-C) ends the search with the best so far. With ``further``
    and time left, the one among the best is found in which the fewest pairs of both directions meet
    (VI.C); and where there is none, the smallest conflict, else all transactions are named.

    Raises
    ------
    NoTable
        There is none; the message names a smallest set of transactions that exclude each other.
    TimeoutError
        None was found in that time, and it is not known that there is none.
    """
    end = time.monotonic() + seconds
    first = greedy(system)
    try:
        program = _Program(system)
    except KeyboardInterrupt:
        if first is None:
            raise
        return Found(first, optimal=False, least=0.0)
    answer = program.solve(end - time.monotonic(), seed, first, progress)
    if answer is None:
        raise conflict(system) if further else _named(system, system.transactions)
    if not isinstance(answer, Choice):
        if first is None:
            raise TimeoutError(f"no allocation was found in {seconds:g} s, and none is known to be "
                               "impossible; --seconds gives it more")
        return Found(first, optimal=False, least=program.least)
    best, optimal, least = settle(system, answer), program.optimal, program.least
    if first is not None and first.ratio(system) < best.ratio(system):
        best = first
    left = min(_SMALL, end - time.monotonic())
    preferred = system.hardware.directions == "preferred"
    if further and left > 0.5 and optimal and preferred and not program.stopped:
        alike = program.fewer_mixed(best, left, seed)
        if alike is not None:
            other = settle(system, alike)
            if other.ratio(system) <= best.ratio(system) and not faults(system, other):
                best = other
    return Found(best, optimal, least)


def conflict(system: System) -> NoTable:
    """The error for a system without an allocation: a smallest set of transactions that has none.

    Pairs are tried first; else transactions are left out one by one, as long as there still is
    none, so that without any one of those that are left the others have one.
    """
    every = system.transactions
    for size in (1, 2):
        for some in combinations(every, size):
            if _possible(system, some) is False:
                return _named(system, some)
    left = list(every)
    for t in every:
        rest = [other for other in left if other is not t]
        if _possible(system, rest) is False:
            left = rest
    return _named(system, left)


def _possible(system: System, some: Iterable[Transaction]) -> bool | None:
    """Whether these transactions have an allocation; None: not known within `_SMALL` seconds."""
    part = _only(system, some)
    answer = _Program(part).solve(_SMALL, 1, None, lambda ratio, least: None, first=True)
    return False if answer is None else True if isinstance(answer, Choice) else None


def _only(system: System, some: Iterable[Transaction]) -> System:
    """The system with these transactions."""
    kept = set(some)
    applications = []
    for application in system.applications:
        if mine := tuple(t for t in application.transactions if t in kept):
            applications.append(replace(application, transactions=mine))
    return System(system.hardware, tuple(applications))


def _named(system: System, some: Iterable[Transaction]) -> NoTable:
    some = list(some)
    names = [t.full_name for t in some]
    hardware = system.hardware
    part = _only(system, some)
    slots = {t: -(-_shortest(part, t) // hardware.slot) for t in some}
    shortest = min(system.slots(t) for t in some)
    apart = all(not system.together(one, other) for one, other in combinations(some, 2))
    late = [t for t in some if _shortest(part, t) > t.deadline]
    if late:
        masters = f"{part.masters} master{'s' * (part.masters > 1)}"
        why = (f"with {masters} of DDR3, {late[0].full_name} takes more than its deadline of "
               f"{late[0].deadline}")
    elif apart and sum(slots[t] * shortest // min(shortest, system.slots(t)) for t in some
                       ) > shortest:
        why = (f"no two of them may be under way at a time, and they last "
               f"{', '.join(str(slots[t]) for t in some)} slots at least, of a period of "
               f"{shortest}")
    else:
        why = "no windows, banks and slots are left that keep all of their deadlines"
    return NoTable(names, f"no table exists for {', '.join(names)}: {why}")


def _shortest(system: System, t: Transaction) -> int:
    return bound_of(system, t, requesters=1, packets=system.hardware.most_packets,
                    meeting=Meeting())


class _Program:
    """The integer program."""

    def __init__(self, system: System) -> None:
        from ortools.sat.python import cp_model

        self.cp, self.system, self.model = cp_model, system, cp_model.CpModel()
        self.optimal, self.stopped, self.least = False, False, 0.0
        self._mixed_pairs: list = []
        self._windows()
        self._starts()
        self._local()
        self._dram()
        self._costs()

    # Variables are kept by the names of what they are about.

    def _windows(self) -> None:
        """Packets of each flow's window; the windows of a direction fit the I/O tile's link."""
        system, most = self.system, self.system.hardware.most_packets
        self.packets = {flow: self.model.new_int_var(
            min(most, system.least_packets(flow)), most, f"packets {flow_name(flow)}")
            for flow in system.flows}
        for write in (True, False):
            link = [packets for flow, packets in self.packets.items() if flow[1] == write]
            if len(link) > 1:
                self.model.add(PACKET_FLITS * sum(link) <= system.hardware.period)

    def _starts(self) -> None:
        """Starts and lengths in slots, and which pairs are under way at a time."""
        system, model = self.system, self.model
        slot = system.hardware.slot
        self.starts, self.lengths = {}, {}
        longest = max(system.transactions, key=system.slots)
        for t in system.transactions:
            name = t.full_name
            # a table that is shifted is as good
            last = 0 if t is longest else system.slots(t) - 1
            self.starts[name] = model.new_int_var(0, last, f"start {name}")
            self.lengths[name] = model.new_int_var(1, -(-t.deadline // slot), f"length {name}")
        self.meets: dict[tuple[str, str], cp_model.IntVar] = {}
        for one, other in combinations(system.transactions, 2):
            self._pair(one, other)
        if system.masters < len(system.flows):
            self._at_most()

    def _pair(self, one: Transaction, other: Transaction) -> None:
        system, model, (a, b) = self.system, self.model, (one.full_name, other.full_name)
        period = min(system.slots(one), system.slots(other))
        longest = max(system.slots(one), system.slots(other))
        apart = model.new_int_var(0, period - 1, f"apart {a} {b}")
        rounds = model.new_int_var(-(longest // period), longest // period, f"rounds {a} {b}")
        model.add(self.starts[b] - self.starts[a] == apart + period * rounds)
        if system.together(one, other) and system.masters > 1:
            both = self.meets[a, b] = model.new_bool_var(f"meet {a} {b}")
            model.add(apart >= self.lengths[a]).only_enforce_if(~both)
            model.add(apart + self.lengths[b] <= period).only_enforce_if(~both)
            if one.write != other.write:
                self._mixed_pairs.append(both)
        else:
            model.add(apart >= self.lengths[a])
            model.add(apart + self.lengths[b] <= period)

    def _at_most(self) -> None:
        """K masters: of all that are under way in the hyperperiod, the round before it too."""
        system, model = self.system, self.model
        spans = []
        for t in system.transactions:
            name, period = t.full_name, system.slots(t)
            end = model.new_int_var(0, 2 * period, f"end {name}")
            model.add(end == self.starts[name] + self.lengths[name])
            for number in range(-1, system.hyperperiod // period):
                spans.append(model.new_interval_var(
                    self.starts[name] + number * period, self.lengths[name],
                    end + number * period, f"{name} {number}"))
        model.add_cumulative(spans, [1] * len(spans), system.hardware.masters)

    def _local(self) -> None:
        """Banks of local memory, and the requesters of each transaction's."""
        system = self.system
        self.banks: dict[str, int | dict[int, cp_model.IntVar]] = {}
        self.needs: dict[str, cp_model.IntVar] = {}
        self.shared: set[str] = set()  # those whose bank is shared, maybe
        for tile in dict.fromkeys(application.tile for application in system.applications):
            here = [t for t in system.transactions if system.of[t.application].tile == tile]
            given = [t.bank for t in here if t.bank is not None]
            if len(here) <= system.hardware.banks and len(set(given)) == len(given):
                free = iter(bank for bank in range(system.hardware.banks) if bank not in given)
                for t in here:
                    self.banks[t.full_name] = next(free) if t.bank is None else t.bank
                    self.needs[t.full_name] = self.model.new_constant(1)
            else:
                self.shared |= {t.full_name for t in here}
                self._shared_banks(here)

    def _shared_banks(self, here: list[Transaction]) -> None:
        """More buffers than banks: some share one, and are as many requesters (`requesters`)."""
        model, hardware = self.model, self.system.hardware
        most = len({t.application for t in here}) + 2
        in_bank = {t.full_name: {bank: model.new_bool_var(f"{t.full_name} in {bank}")
                                 for bank in range(hardware.banks)} for t in here}
        for t in here:
            model.add_exactly_one(in_bank[t.full_name].values())
            if t.bank is not None:
                model.add(in_bank[t.full_name][t.bank] == 1)
            self.needs[t.full_name] = model.new_int_var(1, most, f"requesters {t.full_name}")
            self.banks[t.full_name] = in_bank[t.full_name]
        for bank in range(hardware.banks):
            ends = max((t.address + t.nbytes for t in here
                        if t.bank == bank and t.address is not None), default=0)
            model.add(sum(t.nbytes * in_bank[t.full_name][bank] for t in here if t.address is None)
                      <= hardware.bank_bytes - ends)
            many = model.new_bool_var(f"several in {bank}")
            model.add(sum(in_bank[t.full_name][bank] for t in here) <= 1).only_enforce_if(~many)
            kinds = []
            for kind in (*dict.fromkeys(t.application for t in here), True, False):
                there = model.new_bool_var(f"{kind} in {bank}")
                kinds.append(there)
                for t in here:
                    if kind in (t.application, t.write):
                        model.add_implication(in_bank[t.full_name][bank], there)
            for t in here:
                model.add(self.needs[t.full_name] >= sum(kinds)).only_enforce_if(
                    in_bank[t.full_name][bank], many)

    def _dram(self) -> None:
        """Banks of DDR3: two applications that are ever under way at a time have two."""
        system, model = self.system, self.model
        banks = system.hardware.dram.banks
        self.dram = {}
        given = {a.bank for a in system.applications if a.bank is not None}
        if len(system.applications) <= banks and not given:
            self.dram = {name: model.new_constant(bank) for bank, name in enumerate(system.of)}
            return
        for number, (name, application) in enumerate(system.of.items()):
            # banks are alike, if none is given: the first application has the first one
            most = banks - 1 if given else min(banks - 1, number)
            self.dram[name] = (model.new_constant(application.bank)
                               if application.bank is not None else
                               model.new_int_var(0, most, f"bank {name}"))
        for one, other in combinations(system.applications, 2):
            differ = model.new_bool_var(f"banks of {one.name} and {other.name} differ")
            model.add(self.dram[one.name] != self.dram[other.name]).only_enforce_if(differ)
            for mine in one.transactions:
                for others in other.transactions:
                    pair = self.meets.get((mine.full_name, others.full_name))
                    if pair is not None:
                        model.add_implication(pair, differ)
                    if system.same_bursts(mine, others):
                        model.add(differ == 1)

    def _costs(self) -> None:
        """Each transaction's bound, from a table of all cases that keep its deadline."""
        system, model = self.system, self.model
        self.worst = model.new_int_var(0, _SCALE, "greatest ratio")
        for t in system.transactions:
            name = t.full_name
            pairs = [(self.meets[key], other) for other in system.transactions for key in
                     ((name, other.full_name), (other.full_name, name)) if key in self.meets]
            mixed = model.new_bool_var(f"mixed {name}")
            for pair, other in pairs:
                if other.write != t.write:
                    model.add_implication(pair, mixed)
            most = sum(system.rows_opened(other, t) for _, other in pairs)
            cases = list(self._cases(t, most, any(other.write != t.write for _, other in pairs)))
            met = model.new_int_var(0, max([0, *(case[3] for case in cases)]), f"met {name}")
            model.add(met == sum(system.rows_opened(other, t) * pair for pair, other in pairs))
            ratio = model.new_int_var(0, _SCALE, f"ratio {name}")
            model.add_allowed_assignments(
                [self.needs[name], self.packets[system.flow(t)], mixed, met, self.lengths[name],
                 ratio], cases)
            model.add(self.worst >= ratio)

    def _cases(self, t: Transaction, most: int, mixes: bool) -> Iterator[tuple[int, ...]]:
        """(N_req, packets, mixed, met, slots, ratio) that keep the deadline."""
        system, slot = self.system, self.system.hardware.slot
        here = {other.application for other in system.transactions
                if system.of[other.application].tile == system.of[t.application].tile}
        many = (1 if t.full_name not in self.shared else
                len(here) + 2 if t.write else MOST_AT_SINK)
        for needs in range(1, many + 1):
            for packets in range(1, system.hardware.most_packets + 1):
                for mixed in range(1 + mixes):
                    for met in range(most + 1):
                        bound = bound_of(system, t, requesters=needs, packets=packets,
                                         meeting=Meeting(met, bool(mixed)))
                        if bound > t.deadline:
                            break
                        yield (needs, packets, mixed, met, -(-bound // slot),
                               -(-bound * _SCALE // t.deadline))

    def solve(self, seconds: float, seed: int, hint: Allocation | None,
              progress: Callable[[float, float], None], *, first: bool = False
              ) -> Choice | bool | None:
        """The best choice within so many seconds; None: there is none; False: not known.

        With ``first``, any choice.
        """
        if not first:
            self.model.minimize(self.worst)
        if hint is not None:
            self._hint(hint)
        solver = self._solver(seconds, seed)
        status = solver.solve(self.model, _told(progress))
        self.stopped = solver.wall_time < seconds and status == self.cp.FEASIBLE
        self.optimal = status == self.cp.OPTIMAL
        self.least = solver.best_objective_bound / _SCALE if not first else 0.0
        if status == self.cp.INFEASIBLE:
            return None
        return self._choice(solver) if status in (self.cp.OPTIMAL, self.cp.FEASIBLE) else False

    def fewer_mixed(self, best: Allocation, seconds: float, seed: int) -> Choice | None:
        """Of the choices that are as good, one in which fewer pairs of two directions meet."""
        if not self._mixed_pairs:
            return None
        self.model.add(self.worst <= -(-best.ratio(self.system) * _SCALE // 1))
        self.model.clear_hints()
        self._hint(best)
        self.model.minimize(sum(self._mixed_pairs))
        solver = self._solver(seconds, seed)
        if solver.solve(self.model) in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return self._choice(solver)
        return None

    def _solver(self, seconds: float, seed: int) -> cp_model.CpSolver:
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = max(0.1, seconds)
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = seed
        # half of the time, by trials on drawn systems
        solver.parameters.linearization_level = solver.parameters.cp_model_probing_level = 0
        return solver

    def _hint(self, known: Allocation) -> None:
        system = self.system
        starts = {name: where.start for name, where in known.places.items()}
        lengths = {name: where.length for name, where in known.places.items()}
        for name, where in known.places.items():
            self.model.add_hint(self.starts[name], where.start)
            self.model.add_hint(self.lengths[name], where.length)
            if isinstance(bank := self.banks[name], dict):
                for number, chosen in bank.items():
                    self.model.add_hint(chosen, number == where.bank)
        for flow, packets in self.packets.items():
            self.model.add_hint(packets, known.windows[flow].length // PACKET_FLITS)
        for one, other in combinations(system.transactions, 2):
            pair = self.meets.get((one.full_name, other.full_name))
            if pair is not None:
                self.model.add_hint(pair, _overlap(system, starts, lengths, one, other))
        self.model.add_hint(self.worst, int(known.ratio(system) * _SCALE) + 1)

    def _choice(self, solver: cp_model.CpSolver) -> Choice:
        local = {name: bank if isinstance(bank, int) else
                 next(number for number, chosen in bank.items() if solver.value(chosen))
                 for name, bank in self.banks.items()}
        return Choice(local, {name: solver.value(bank) for name, bank in self.dram.items()},
                      {flow: solver.value(many) for flow, many in self.packets.items()},
                      {name: solver.value(start) for name, start in self.starts.items()})


def _told(progress: Callable[[float, float], None]) -> cp_model.CpSolverSolutionCallback:
    """A callback that reports each solution."""
    from ortools.sat.python import cp_model

    class Told(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            progress(self.objective_value / _SCALE, self.best_objective_bound / _SCALE)

    return Told()
