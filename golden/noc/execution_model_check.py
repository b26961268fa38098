"""Whether an allocation keeps the rules of memory-composition, section VI.

Nothing here knows how an allocation was found: the table is walked slot by slot over the whole
hyperperiod, windows cycle by cycle (`tdma.conflicts`), and each bound is computed anew from what
the walk has seen.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from cyclebound.golden.noc import tdma
from cyclebound.golden.noc.end_to_end import PACKET_FLITS
from cyclebound.golden.noc.execution_model import (
    Allocation,
    System,
    Transaction,
    bound_of,
    flow_name,
    meets,
)
from cyclebound.golden.noc.execution_model_bounds import MOST_AT_SINK

__all__ = ["faults", "requesters"]


def requesters(system: System, places: Mapping, transaction: Transaction) -> int:
    """N_req of the transaction's local bank, by ``bank`` of ``places``.

    1 if it has the bank for itself: first the core uses it and then the DMA, never both. Else the
    core of each application with a buffer there may ask at any time, and the DMA's half for each
    direction.
    """
    tile, bank = system.of[transaction.application].tile, places[transaction.full_name].bank
    sharing = [t for t in system.transactions if system.of[t.application].tile == tile
               and places[t.full_name].bank == bank]
    if len(sharing) == 1:
        return 1
    return len({t.application for t in sharing}) + len({t.write for t in sharing})


def faults(system: System, allocation: Allocation) -> list[str]:
    """Every rule that the allocation breaks, a sentence each; none: it keeps all of them."""
    wrong = [*_missing(system, allocation)]
    if wrong:
        return wrong
    wrong += [*_local(system, allocation), *_dram(system, allocation),
              *_windows(system, allocation), *_occupied(system, allocation),
              *_slots(system, allocation)]
    return wrong or [*_bounds(system, allocation)]


def _missing(system: System, allocation: Allocation) -> Iterator[str]:
    for t in system.transactions:
        if t.full_name not in allocation.places:
            yield f"{t.full_name} has no place"
    for name in system.of:
        if name not in allocation.banks:
            yield f"application {name} has no bank of DDR3"
    for flow in system.flows:
        if flow not in allocation.windows:
            yield f"flow {flow_name(flow)} has no window"
    if len(allocation.table) != system.hyperperiod:
        yield (f"the table has {len(allocation.table)} slots, and the hyperperiod "
               f"{system.hyperperiod}")


def _local(system: System, allocation: Allocation) -> Iterator[str]:
    hardware = system.hardware
    for t in system.transactions:
        where = allocation.places[t.full_name]
        if not 0 <= where.bank < hardware.banks:
            yield f"{t.full_name} has bank {where.bank} of local memory, which has no such bank"
        if where.address < 0 or where.address + t.nbytes > hardware.bank_bytes:
            yield f"the buffer of {t.full_name} goes over the end of its bank of local memory"
        if (t.bank not in (None, where.bank)) or (t.address not in (None, where.address)):
            yield f"{t.full_name} is not in the bank, or at the address, that it asks for"
        if not t.write and (many := requesters(system, allocation.places, t)) > MOST_AT_SINK:
            yield (f"the bank that {t.full_name} arrives at has {many} requesters, more than "
                   f"{MOST_AT_SINK}")
    for one, other in combinations(system.transactions, 2):
        mine, others = allocation.places[one.full_name], allocation.places[other.full_name]
        if (system.of[one.application].tile == system.of[other.application].tile
                and mine.bank == others.bank and mine.address < others.address + other.nbytes
                and others.address < mine.address + one.nbytes):
            yield f"the buffers of {one.full_name} and {other.full_name} overlap in local memory"


def _dram(system: System, allocation: Allocation) -> Iterator[str]:
    for name, application in system.of.items():
        bank = allocation.banks[name]
        if not 0 <= bank < system.hardware.dram.banks:
            yield f"application {name} has bank {bank} of DDR3, which has no such bank"
        if application.bank not in (None, bank):
            yield f"application {name} has bank {bank} of DDR3, and asks for {application.bank}"
    for one, other in combinations(system.transactions, 2):
        if (one.application != other.application and system.same_bursts(one, other)
                and allocation.banks[one.application] == allocation.banks[other.application]):
            yield f"{one.full_name} and {other.full_name} have the same bursts of DDR3"


def _windows(system: System, allocation: Allocation) -> Iterator[str]:
    flows, table = [], {}
    for flow in system.flows:
        slot = allocation.windows[flow]
        if slot.length < PACKET_FLITS or slot.length % PACKET_FLITS:
            yield (f"the window of flow {flow_name(flow)} has {slot.length} cycles, no multiple of "
                   f"a packet's {PACKET_FLITS}")
            return
        if tuple(slot.route) != system.route(flow):
            yield f"flow {flow_name(flow)} does not go along its row first"
        flows.append(system.network_flow(flow, slot.length // PACKET_FLITS))
        table[flow_name(flow)] = slot
    try:
        yield from map(str, tdma.conflicts(system.hardware.network, flows, table)[:1])
    except ValueError as error:
        yield str(error)


def _occupied(system: System, allocation: Allocation) -> Iterator[str]:
    """Whether each transaction has each of its slots in the table, and no others."""
    has = defaultdict(set)
    for slot, names in enumerate(allocation.table):
        for name in names:
            has[name].add(slot)
    for t in system.transactions:
        where, period = allocation.places[t.full_name], system.slots(t)
        if not 0 <= where.start < period:
            yield (f"{t.full_name} begins in slot {where.start} of its period, which has "
                   f"{period}")
        if not 0 < where.length <= period:
            yield f"{t.full_name} has {where.length} slots of its period of {period}"
        due = {(first + slot) % system.hyperperiod for first in
               range(where.start, where.start + system.hyperperiod, max(1, period))
               for slot in range(where.length)}
        if gap := sorted(due - has[t.full_name]):
            yield f"the table has a gap: {t.full_name} is not under way in slot {gap[0]}"
        if more := sorted(has[t.full_name] - due):
            yield f"{t.full_name} is under way in slot {more[0]}, where it has no place"
    for name in has.keys() - {t.full_name for t in system.transactions}:
        yield f"the table has {name}, which is no transaction"


def _slots(system: System, allocation: Allocation) -> Iterator[str]:
    """The rules for those under way at a time; of a kind, the first slot that breaks it."""
    by_name = {t.full_name: t for t in system.transactions}
    seen = set()
    for slot, names in enumerate(allocation.table):
        under_way = [by_name[name] for name in names if name in by_name]
        for said in _one_slot(system, allocation, under_way):
            if said not in seen:
                seen.add(said)
                yield f"slot {slot}: {said}"


def _one_slot(system: System, allocation: Allocation, under_way: list[Transaction]
              ) -> Iterator[str]:
    hardware = system.hardware
    if len(under_way) > hardware.masters:
        yield f"{len(under_way)} masters are under way, more than {hardware.masters}"
    for one, other in combinations(under_way, 2):
        both = f"{one.full_name} and {other.full_name} are under way"
        if allocation.banks[one.application] == allocation.banks[other.application]:
            yield f"{both} in bank {allocation.banks[one.application]} of DDR3"
        if system.flow(one) == system.flow(other):
            yield f"{both} in one flow, {flow_name(system.flow(one))}"
        if one.write != other.write and hardware.directions == "required":
            yield f"{both} in two directions"


def _bounds(system: System, allocation: Allocation) -> Iterator[str]:
    """Each transaction's bound, from whom it meets in the table."""
    by_name = {t.full_name: t for t in system.transactions}
    met: dict[str, set[str]] = defaultdict(set)
    for names in allocation.table:
        for name in names:
            met[name].update(names)
    for t in system.transactions:
        where = allocation.places[t.full_name]
        meeting = meets(system, t, (by_name[name] for name in met[t.full_name] - {t.full_name}))
        bound = bound_of(
            system, t, requesters=requesters(system, allocation.places, t),
            packets=allocation.windows[system.flow(t)].length // PACKET_FLITS, meeting=meeting)
        if where.bound != bound:
            yield f"the bound of {t.full_name} is {bound} cycles, not {where.bound}"
        if bound > t.deadline:
            yield f"the bound of {t.full_name}, {bound} cycles, exceeds its deadline {t.deadline}"
        if bound > where.length * system.hardware.slot:
            yield (f"{t.full_name} takes up to {bound} cycles, and has "
                   f"{where.length * system.hardware.slot} in the table")
