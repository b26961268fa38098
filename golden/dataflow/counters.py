"""Events of a configuration's run: what its energy is worked out from.

Source: SGMF, sections 7.1 and 7.2 (instructions per joule, of a core with its memory). What is
counted, in the golden fabric and in hardware, are the tokens that each link's end takes, and the
accesses that memory takes. All but the memory's follow from the mapped kernel as well, each unit in
use firing once for each thread: `expected_events`, which shares nothing with the run.
"""

from collections import Counter
from collections.abc import Mapping

from cyclebound.golden.dataflow.bitstream import Configuration
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.grid import PORTS, SPECIAL, Grid, Kind, Node
from cyclebound.golden.dataflow.mapped import SINK, Mapped
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["EVENTS", "INSTRUCTIONS", "UNITS", "conserved", "events_of", "expected_events"]

INSTRUCTIONS = (*(operation.name.lower() for operation in Operation), *map(str, Special), "load",
                "store")
"""Firings that are instructions: of compute, special and load/store units."""
_CONTROL = tuple(function.name.lower() for function in Control)
EVENTS: Mapping[str, str] = {
    **dict.fromkeys(INSTRUCTIONS, "a firing"),
    **dict.fromkeys(_CONTROL, "a firing of a control unit"),
    "source": "a token of a thread source",
    "sink": "a token that a thread sink takes",
    "link": "a token over a link, to a unit or a switch",
    "switch": "a token through a switch's queue",
    "buffer_write": "a token written into a unit's buffer",
    "buffer_read": "a token read from a unit's buffer",
    "cache_access": "a word's access that memory takes",
    "cache_miss": "an access that misses: a line from the memory below",
    "configuration_word": "a word of a configuration, of 32 bits",
}
UNITS = {Kind.COMPUTE: "compute", Kind.CONTROL: "control", Kind.LOAD_STORE: "load_store",
         Kind.INTEGER_DIVIDE: "integer_divide", Kind.DIVIDE: "divide", Kind.ROOT: "root",
         Kind.SOURCE: "source", Kind.SINK: "sink"}
"""What leaks, by kind of unit; and switches."""


def _firing(kind: Kind, values: Mapping[str, int]) -> str:
    """What a unit's firing is called."""
    match kind:
        case Kind.COMPUTE:
            return Operation(values.get("operation", 0)).name.lower()
        case Kind.CONTROL:
            return Control(values.get("function", 0)).name.lower()
        case Kind.LOAD_STORE:
            return "store" if values.get("store") else "load"
        case Kind.SOURCE:
            return "source"
    return SPECIAL[kind]


def events_of(grid: Grid, configuration: Configuration, taken: Mapping[tuple[Node, int], int]
              ) -> Counter[str]:
    """The events of a run, but for its memory's.

    ``taken``: by node and its port, the tokens that it has taken there. A unit has fired as often
    as its results have arrived at any of their places. Raises `ValueError` for one whose results
    leave the grid.
    """
    events: Counter[str] = Counter()
    for node, settings in configuration.units.items():
        kind = grid.kind(node)
        arrived = sum(taken.get((node, port), 0) for port in range(PORTS))
        if kind == Kind.SINK:
            events["sink"] += arrived
            continue
        port = min(settings.sends, key=lambda port: (settings.sends[port], port))
        fired = taken.get(_peer(grid, node, port), 0)
        events[_firing(kind, settings.values)] += fired
        events["buffer_write"] += arrived
        events["buffer_read"] += fired * len(settings.takes)
    events["link"] = sum(taken.values())
    events["switch"] = sum(count for (node, _), count in taken.items() if node.switch)
    return +events


def _peer(grid: Grid, node: Node, port: int) -> tuple[Node, int]:
    peer = grid.peer(node, port)
    if peer is None:
        raise ValueError(f"port {port} of {node} is at the edge")
    return peer


def expected_events(mapped: Mapped, threads: int) -> Counter[str]:
    """The same events, from what was mapped: each token once for each thread."""
    events: Counter[str] = Counter()
    configuration = mapped.configuration(threads, dict.fromkeys(mapped.arrays, (0, 1)))
    for number, place in mapped.places.items():
        if number != SINK:
            settings = configuration.units[place]
            events[_firing(mapped.grid.kind(place), settings.values)] += threads
            events["buffer_read"] += threads * len(settings.takes)
            events["buffer_write"] += threads * len(settings.takes)
    for net in mapped.nets:
        for node, port in {link for path in net.routes for link in path.links}:
            end = mapped.grid.end(node, port)
            events["link"] += threads
            events["switch"] += threads * end.switch
            events["sink"] += threads * (end == mapped.places[SINK])
    return +events


def conserved(events: Mapping[str, int]) -> list[str]:
    """Sums that do not agree, as texts: no token is lost, and none is made of nothing."""
    def total(*names: str) -> int:
        return sum(events.get(name, 0) for name in names)

    problems = []
    if total("buffer_write") != total("buffer_read"):
        problems.append(f"{total('buffer_write')} tokens were written into buffers, and "
                        f"{total('buffer_read')} read from them")
    if total("link") != total("buffer_write", "switch", "sink"):
        problems.append(f"{total('link')} tokens went over links, and "
                        f"{total('buffer_write', 'switch', 'sink')} arrived")
    if total("cache_access") > total("load", "store"):
        problems.append(f"{total('cache_access')} accesses were made, by "
                        f"{total('load', 'store')} loads and stores")
    if total("cache_miss") > total("cache_access"):
        problems.append(f"{total('cache_miss')} accesses missed, of {total('cache_access')}")
    return problems
