"""Golden model of the fabric: the units' models, and tokens that travel as a configuration says.

Source: SGMF, sections 5.2 and 5.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.dataflow.bitstream import Configuration, UnitSettings, check_depth
from cyclebound.golden.dataflow.compute_unit import ComputeUnitModel
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.control_unit import ControlUnitModel
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.grid import PORTS, SPECIAL, Grid, Kind, Node
from cyclebound.golden.dataflow.load_store_unit import LoadStoreModel, TaggedAccess
from cyclebound.golden.dataflow.operations import OPERANDS, Operation
from cyclebound.golden.dataflow.special_unit import SpecialUnitModel
from cyclebound.golden.dataflow.switch import SwitchModel
from cyclebound.golden.dataflow.thread_sink import ThreadSinkModel
from cyclebound.golden.dataflow.thread_source import ThreadSourceModel

__all__ = ["FabricModel", "FabricResult"]

Token = tuple[int, int]


def _ones(mask: int) -> tuple[int, ...]:
    return tuple(k for k in range(mask.bit_length()) if mask >> k & 1)


@dataclass(frozen=True)
class FabricResult:
    """One cycle: each load/store unit's request and report, and whether all threads have ended."""

    requests: tuple[TaggedAccess | None, ...]
    faults: tuple[Token | None, ...]
    done: bool


class _Unit:
    """A unit's model with its links; ``waits``: by channel, the ports that have not had its
    token; ``sent``: how many threads' results have left."""

    def __init__(self, kind: Kind, settings: UnitSettings, depth: int) -> None:
        self.kind, self.takes = kind, settings.takes
        self.model = _model(kind, dict(settings.values), depth)
        self.ports = [frozenset(port for port, channel in settings.sends.items()
                                if channel == number) for number in range(2)]
        self.waits = [set(ports) for ports in self.ports]
        self.operand_of = {port: operand for operand, port in settings.takes.items()}
        self.sent = 0

    def shown(self) -> tuple[Token | None, ...]:
        model = self.model
        if self.kind == Kind.LOAD_STORE:
            return model.shown
        if self.kind == Kind.CONTROL:
            return (model.token,)
        if self.kind == Kind.SOURCE:
            return (model.waiting[0] if model.waiting else None,)
        return () if self.kind == Kind.SINK else (model.shown,)

    def accepts(self, port: int, token: Token) -> bool:
        if self.kind == Kind.SINK:
            return True
        return port in self.operand_of and self.model.takes(self.operand_of[port], token[0])


def _model(kind: Kind, values: dict[str, int], depth: int):
    value = values.get
    literals = {k: value("value", 0) for k in _ones(value("literals", 0))}
    if kind == Kind.COMPUTE:
        return ComputeUnitModel(depth=depth, operation=Operation(value("operation", 0)),
                                literals=literals, epochs=True)
    if kind == Kind.CONTROL:
        return ControlUnitModel(
            depth=depth, function=Control(value("function", 0)),
            operands=_ones(value("operands", 0)), inverted=_ones(value("inverted", 0)),
            slots=value("slots", 0), epochs=True)
    if kind == Kind.LOAD_STORE:
        return LoadStoreModel(depth=depth, store=bool(value("store", 0)),
                              gated=bool(value("gated", 0)), base=value("base", 0),
                              size=value("size", 0))
    if kind == Kind.SOURCE:
        return ThreadSourceModel(threads=value("threads", 0),
                                 value=None if value("number", 0) else value("value", 0),
                                 first=value("value", 0))
    if kind == Kind.SINK:
        return ThreadSinkModel(needed=_ones(value("needed", 0)), threads=value("threads", 0))
    return SpecialUnitModel(function=Special(SPECIAL[kind]), depth=depth, literals=literals)


class FabricModel:
    """A configured fabric, from its start on. Units without a configuration are left out.

    Parameters
    ----------
    grid : Grid
        The grid.
    configuration : Configuration
        What each unit and switch does.
    depth : int
        Entries of all buffers; those that can be built, or else it is a `ValueError`.

    Attributes
    ----------
    taken : dict of (Node, int) to int
        By node and its port, the tokens that it has taken there.
    """

    def __init__(self, grid: Grid, configuration: Configuration, *, depth: int) -> None:
        check_depth(depth)
        self.grid = grid
        self.units = {node: _Unit(grid.kind(node), settings, depth)
                      for node, settings in configuration.units.items()}
        self.switches: dict[Node, SwitchModel[tuple[int, int]]] = {
            node: SwitchModel(PORTS, choices)
            for node, choices in configuration.switches.items()}
        self._peers = {(node, port): (peer, entry) for node, port, peer, entry in grid.links()}
        self.loads = grid.of_kind(Kind.LOAD_STORE)
        self._accesses = [self.units.get(node) for node in self.loads]
        self._number = {node: number for number, node in enumerate(self.loads)}
        self._sinks = [unit for unit in self.units.values() if unit.kind == Kind.SINK]
        self.started = False
        self.taken: dict[tuple[Node, int], int] = {}

    @property
    def done(self) -> bool:
        return self.started and all(sink.model.done for sink in self._sinks)

    def requests(self) -> tuple[TaggedAccess | None, ...]:
        """Requests of the load/store units in this cycle."""
        return tuple(None if unit is None else unit.model.request for unit in self._accesses)

    def step(self, *, start: bool, requests_taken: Sequence[bool],
             responses: Sequence[tuple[int, int] | None]) -> FabricResult:
        """The fabric's outputs in one cycle with these answers of memory; ends the cycle."""
        requests, done = self.requests(), self.done
        offers: dict[tuple[Node, int], Token] = {}
        taken: dict[tuple[Node, int], bool] = {}
        reached: set[Node] = set()  # that are offered a token

        def offer(node: Node, port: int, token: Token) -> bool:
            peer, entry = self._peers[node, port]
            offers[peer, entry] = token
            reached.add(peer)
            return self._accepts(peer, entry, token)

        ready_of: dict[Node, list[bool]] = {}
        for node, unit in self.units.items():
            ready = [True, True]
            for channel, token in enumerate(unit.shown()):
                if token is not None:
                    unit.waits[channel] -= {port for port in unit.waits[channel]
                                            if offer(node, port, token)}
                    ready[channel] = not unit.waits[channel]
                    if ready[channel]:
                        unit.sent += channel == 0
                        unit.waits[channel] = set(unit.ports[channel])
            ready_of[node] = ready
        for node, switch in self.switches.items():
            if not switch.empty:
                for port, token in enumerate(switch.shown):
                    if token is not None:
                        taken[node, port] = offer(node, port, token)

        faults: list[Token | None] = [None] * len(self.loads)
        for node, unit in self.units.items():
            if unit.kind == Kind.SINK:
                if node in reached:
                    unit.model.step([offers.get((node, port)) for port in range(PORTS)])
                continue
            ready = ready_of[node]
            if unit.kind == Kind.SOURCE:
                unit.model.step(start, ready[0])
                continue
            tokens: list[Token | None] = [None] * OPERANDS
            for operand, port in unit.takes.items() if node in reached else ():
                tokens[operand] = offers.get((node, port))
            if unit.kind == Kind.LOAD_STORE:
                number = self._number[node]
                faults[number] = unit.model.step(
                    tokens, result_ready=ready[0], enable_ready=ready[1],
                    request_ready=requests_taken[number], response=responses[number]).fault
            elif unit.kind == Kind.CONTROL:
                unit.model.step(tokens, [ready[0], True])
            else:
                unit.model.step(tokens, ready[0])
        for node, switch in self.switches.items():
            if not switch.empty or node in reached:
                switch.step([offers.get((node, port)) for port in range(PORTS)],
                            [taken.get((node, port), False) for port in range(PORTS)])
        self.started = self.started or start
        return FabricResult(requests, tuple(faults), done)

    def _accepts(self, peer: Node, entry: int, token: Token) -> bool:
        """Whether a switch or unit takes a token at one of its entries, which is counted then."""
        if peer.switch:
            accepted = peer in self.switches and self.switches[peer].ready[entry]
        else:
            accepted = peer in self.units and self.units[peer].accepts(entry, token)
        if accepted:
            self.taken[peer, entry] = self.taken.get((peer, entry), 0) + 1
        return accepted
