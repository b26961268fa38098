"""TDMA tables for the network: routes and windows such that no two flows share a link in a cycle.

A flow may inject for ``length`` cycles of every ``period``, beginning at ``offset``. A flit passes
its *n*-th channel ``n * hop_cycles`` after the first, so a window travels along its route, and
two flows are apart if their windows are apart on every channel that they share. (The paper keeps a
whole path for the length of a window, so that the crossing of the path is lost in each.)

`solve` finds a table, with an integer program (`place`, which knows resources where `solve` knows
channels); `conflicts` knows nothing of how a table was found,
and goes through every channel and cycle of a period: that is a proof.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from cyclebound.golden.noc.routes import (
    Channel,
    Mesh,
    Route,
    Tile,
    channels,
    check_route,
    routes_between,
)
from cyclebound.golden.parameters import check_integer

__all__ = ["Conflict", "Flow", "Infeasible", "Network", "Slot", "Use", "check_table",
           "conflicts", "place", "solve"]

Use = tuple[Hashable, int, int]
"""A resource that a window uses, so many cycles after the window's beginning, for how many."""


@dataclass(frozen=True)
class Network:
    """The network that a table is for, and its packets.

    ``hop_cycles`` from one channel to the next, delta_R + 1 of the paper's formulas; ``period`` in
    cycles; ``payload_flits`` and ``header_flits`` of a packet; ``flit_bytes`` and ``mhz`` for
    bandwidths.
    """

    mesh: Mesh
    period: int
    hop_cycles: int
    payload_flits: int = 64
    header_flits: int = 2
    flit_bytes: int = 4
    mhz: int = 600

    def __post_init__(self) -> None:
        for name in ("period", "hop_cycles", "payload_flits", "flit_bytes", "mhz"):
            check_integer(name.replace("_", " "), getattr(self, name), 1)


@dataclass(frozen=True)
class Flow:
    """Data from one tile to another, ``bandwidth`` in MB of payload per second.

    Raises `TypeError` unless that is an integer or a Fraction, `ValueError` unless it is above 0.
    """

    name: str
    source: Tile
    destination: Tile
    bandwidth: int | Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.bandwidth, int | Fraction) or isinstance(self.bandwidth, bool):
            raise TypeError(f"bandwidth of flow {self.name} must be an integer or a Fraction, not "
                            f"{self.bandwidth!r}")
        if self.bandwidth <= 0:
            raise ValueError(f"bandwidth of flow {self.name} must be above 0 MB/s, not "
                             f"{self.bandwidth}")

    def window(self, network: Network) -> int:
        """Cycles of injection in each period: its payload and the headers of its packets.

        Raises `Infeasible` if they are more than the period has.
        """
        payload = -(-Fraction(self.bandwidth) * network.period
                    // (network.flit_bytes * network.mhz))
        packets = -(-payload // network.payload_flits)
        length = int(payload + packets * network.header_flits)
        if length > network.period:
            raise Infeasible([self.name], f"flow {self.name} needs a window of {length} cycles, "
                                          f"more than the period of {network.period}")
        return length


@dataclass(frozen=True)
class Slot:
    """A flow's place in the table."""

    route: Route
    offset: int
    length: int


@dataclass(frozen=True)
class Conflict:
    """Flows that use one channel in one cycle of the period."""

    channel: Channel
    cycle: int
    flows: tuple[str, ...]

    def __str__(self) -> str:
        return f"flows {' and '.join(self.flows)} share the {self.channel} in cycle {self.cycle}"


class Infeasible(ValueError):
    """No table exists. ``flows``: a smallest set of flows that have none."""

    def __init__(self, flows: Iterable[str], why: str) -> None:
        super().__init__(why)
        self.flows = tuple(flows)


def check_table(network: Network, flows: Iterable[Flow], table: Mapping[str, Slot]) -> None:
    """Raise `ValueError` unless every flow has a slot that is one, and long enough."""
    for flow in flows:
        if flow.name not in table:
            raise ValueError(f"flow {flow.name} must have a slot in the table")
        slot, needed = table[flow.name], flow.window(network)
        check_route(network.mesh, slot.route, source=flow.source, destination=flow.destination)
        if slot.length > network.period:
            raise ValueError(f"window of flow {flow.name} must be at most the period of "
                             f"{network.period} cycles, not {slot.length}")
        if slot.length < needed:
            raise ValueError(f"window of flow {flow.name} must be at least {needed} cycles, not "
                             f"{slot.length}")


def conflicts(network: Network, flows: Iterable[Flow],
              table: Mapping[str, Slot]) -> list[Conflict]:
    """Every channel and cycle of a period in which two flows meet; none: the table is proved.

    Raises `ValueError` for a table that is none (see `check_table`).
    """
    flows = list(flows)
    check_table(network, flows, table)
    users: dict[tuple[Channel, int], list[str]] = defaultdict(list)
    for flow in flows:
        slot = table[flow.name]
        for hop, channel in enumerate(channels(slot.route)):
            begin = slot.offset + hop * network.hop_cycles
            for cycle in range(begin, begin + slot.length):
                users[channel, cycle % network.period].append(flow.name)
    return [Conflict(channel, cycle, tuple(names))
            for (channel, cycle), names in sorted(users.items()) if len(names) > 1]


def solve(network: Network, flows: Iterable[Flow], *, detour: int = 0,
          routes: Mapping[str, Iterable[Route]] | None = None) -> dict[str, Slot]:
    """A table without conflicts.

    ``detour``: how many links more than needed a route may have. ``routes``: for some flows, the
    routes to choose from instead.

    Raises
    ------
    Infeasible
        There is no table; the message says which flows exclude each other: leave out any one
        of them, and the rest has one.
    ValueError
        For two flows of one name, or a route that is none.
    """
    flows = list(flows)
    names = [flow.name for flow in flows]
    if len(set(names)) < len(names):
        raise ValueError(f"names of flows must differ, not be {', '.join(names)}")
    choice = {}
    for flow in flows:
        given = (routes or {}).get(flow.name)
        choice[flow.name] = ([check_route(network.mesh, route, source=flow.source,
                                          destination=flow.destination) for route in given]
                             if given is not None else
                             list(routes_between(network.mesh, flow.source, flow.destination,
                                                 detour=detour)))
    table = _solve(network, flows, choice)
    return table if table is not None else _explain(network, flows, choice)


def _solve(network: Network, flows: list[Flow],
           choice: Mapping[str, list[Route]]) -> dict[str, Slot] | None:
    """The integer program, of routes as they use their channels."""
    length = {flow.name: flow.window(network) for flow in flows}
    found = place(network.period, {flow.name: [
        [(channel, hop * network.hop_cycles, length[flow.name])
         for hop, channel in enumerate(channels(route))]
        for route in choice[flow.name]] for flow in flows})
    return None if found is None else {
        name: Slot(choice[name][number], offset, length[name])
        for name, (number, offset) in found.items()}


def place(period: int, ways: Mapping[str, Sequence[Sequence[Use]]]
          ) -> dict[str, tuple[int, int]] | None:
    """Which of its ways each window takes, and where in the period it begins; None: there is none.

    Two windows are apart, modulo the period, on each resource that their ways share. That one
    window fits into the period, and does not meet itself, is not looked at.
    """
    from ortools.sat.python import cp_model  # half a second of every command that has no need

    model = cp_model.CpModel()
    offset = {name: model.new_int_var(0, period - 1 if number else 0, f"offset {name}")
              for number, name in enumerate(ways)}  # tables that are turned are as good
    taken = {name: [model.new_bool_var(f"{name} {number}") for number in range(len(choice))]
             for name, choice in ways.items()}
    for chosen in taken.values():
        model.add_exactly_one(chosen)
    for a, b in combinations(ways, 2):
        for way_a, taken_a in zip(ways[a], taken[a], strict=True):
            uses: dict[Hashable, list[tuple[int, int]]] = {}
            for resource, lag, length in way_a:
                uses.setdefault(resource, []).append((lag, length))
            for way_b, taken_b in zip(ways[b], taken[b], strict=True):
                meets = {((lag_b - lag_a) % period, length_a, length_b)
                         for resource, lag_b, length_b in way_b
                         for lag_a, length_a in uses.get(resource, ())}
                meeting = [[again - lag - length_b + 1, again - lag + length_a - 1]
                           for lag, length_a, length_b in sorted(meets)
                           for again in range(-period, 3 * period, period)]
                model.add_linear_expression_in_domain(
                    offset[b] - offset[a], cp_model.Domain.from_intervals(meeting).complement()
                ).only_enforce_if(taken_a, taken_b)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return {name: (next(number for number, chosen in enumerate(taken[name])
                        if solver.value(chosen)), solver.value(offset[name])) for name in ways}


def _explain(network: Network, flows: list[Flow],
             choice: Mapping[str, list[Route]]) -> dict[str, Slot]:
    """Take flows away while there still is no table; raise about those that are left."""
    left = list(flows)
    for flow in flows:
        rest = [other for other in left if other is not flow]
        if _solve(network, rest, choice) is None:
            left = rest
    names = [flow.name for flow in left]
    needed = {flow.name: flow.window(network) for flow in left}
    shared = [channel for channel in sorted({channel for flow in left for route in
                                             choice[flow.name] for channel in channels(route)})
              if all(any(channel in channels(route) for route in choice[name])
                     for name in names)]
    forced = [channel for channel in shared
              if all(channel in channels(route) for name in names for route in choice[name])]
    total = sum(needed.values())
    if forced and total > network.period:
        why = (f"all their routes use the {forced[0]}, for {total} cycles of a period of "
               f"{network.period}")
    else:
        why = (f"windows of {', '.join(str(window) for window in needed.values())} cycles fit no "
               f"choice of their routes in a period of {network.period}")
    raise Infeasible(names, f"no table exists for flows {', '.join(names)}: {why}")
