"""Tracked packets: which ones a user wants, their flows as numbers, and a trace of each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.noc.routes import Port, Tile
from cyclebound.golden.shmac.tracking import ENTRY, TYPES, Choice, Leg, Track
from cyclebound.sim.base.errors import UserError, unknown

__all__ = ["Flow", "choice_of", "flows", "packet_trace", "spans", "title"]

_TILE = re.compile(r"(\d{1,2}),(\d{1,2})")
_NUMBER = r"0[xX][0-9a-fA-F]{1,8}|\d{1,10}"
_ADDRESSES = re.compile(rf"({_NUMBER})(?:\.\.({_NUMBER}))?")
_KEYS = ("from", "to", "address", "type")


def choice_of(text: str) -> Choice:
    """The packets that ``--track`` names: ``all``, or terms with spaces between them, all of which
    hold. Raises `UserError`."""
    given: dict[str, str] = {}
    for term in text.split():
        key, equals, value = term.partition("=")
        if term == "all" and text.split() == ["all"]:
            return Choice()
        if not equals:
            raise UserError(f"--track takes all, or terms as from=0,0 to=0,1 "
                            f"address=0x1000000..0x10000ff type=read,ll, not {term!r}")
        if key not in _KEYS:
            raise unknown("term of --track", key, _KEYS)
        if key in given:
            raise UserError(f"--track must say {key} once, not {given[key]!r} and {value!r}")
        given[key] = value
    if not given:
        raise UserError("--track takes all, or terms as from=0,0, not nothing")
    return Choice(source=_tile("from", given), target=_tile("to", given),
                  addresses=_addresses(given.get("address")),
                  types=frozenset(_types(given["type"])) if "type" in given else frozenset())


def _tile(key: str, given: dict[str, str]) -> Tile | None:
    if key not in given:
        return None
    found = _TILE.fullmatch(given[key])
    if found is None or max(map(int, found.groups())) > 15:
        raise UserError(f"--track {key} takes ROW,COLUMN, each 0 to 15, not {given[key]!r}")
    return int(found[1]), int(found[2])


def _addresses(value: str | None) -> range | None:
    if value is None:
        return None
    found = _ADDRESSES.fullmatch(value)
    first, last = (int(end, 0) if end.lower().startswith("0x") else int(end)
                   for end in (found[1], found[2] or found[1])) if found else (1, 0)
    if not 0 <= first <= last < 1 << 32:
        raise UserError("--track address takes a number of 32 bits, or FIRST..LAST in this order, "
                        f"as 0x1000000..0x10000ff, not {value!r}")
    return range(first & ~3, last + 1)  # a word is known by its first byte's


def _types(value: str) -> list[str]:
    types = value.split(",")
    for each in types:
        if each not in TYPES:
            raise unknown("type of packets", each, TYPES)
    return types


@dataclass(frozen=True)
class Flow:
    """Packets of one type from one tile to another.

    Attributes
    ----------
    source, target : (row, column)
    type : str
    packets : int
        Which have ended; the latencies are theirs.
    least, mean, most : int, float, int
        Latency in cycles, the first and the last included.
    waited : float
        How many of the mean's cycles they waited for others.
    under_way : int
        That had not ended when the run did.
    """

    source: Tile
    target: Tile
    type: str
    packets: int
    least: int
    mean: float
    most: int
    waited: float
    under_way: int


def flows(tracks: Sequence[Track]) -> list[Flow]:
    """The flows of these packets, by source, target and type."""
    by_flow: dict[tuple[Tile, Tile, str], list[Track]] = {}
    for track in tracks:
        by_flow.setdefault((track.request.initiator, track.request.target, track.type),
                           []).append(track)
    found = []
    for (source, target, kind), packets in sorted(by_flow.items()):
        ended = [track for track in packets if track.ended]
        latencies = [track.latency for track in ended] or [0]
        found.append(Flow(
            source, target, kind, len(ended), min(latencies), sum(latencies) / len(latencies),
            max(latencies), sum(track.waited for track in ended) / max(len(ended), 1),
            len(packets) - len(ended)))
    return found


def spans(track: Track) -> list[tuple[str, str, int, int]]:
    """What a packet did, as name, kind, first cycle and the one after the last. A slave answers in
    the cycle after it has taken a request.

    Kinds: ``enter`` (on offer to the first router), ``router``, ``offer`` (on offer at a router's
    output, up to the cycle in which it is taken).
    """
    return _spans(track.there, "request") + (
        _spans(track.back, "response") if track.back is not None else [])


def _spans(leg: Leg, name: str) -> list[tuple[str, str, int, int]]:
    found: list[tuple[str, str, int, int]] = []
    before = 0
    for station in leg.stations:
        where = "{},{}".format(*station.tile)
        if station.place == ENTRY:
            found.append((f"{name} on offer to router {where}", "enter", station.offered,
                          station.taken + 1))
        else:
            found.append((f"{name} in router {where}", "router", before, station.offered))
            port = Port(station.place).name.lower()
            found.append((f"{name} on offer at the {port} of router {where}", "offer",
                          station.offered, station.taken + 1))
        before = station.taken + 1
    return found


def title(track: Track) -> str:
    """A packet in a few words."""
    return "{}: {},{} to {},{} at {:#010x}".format(
        track.type, *track.request.initiator, *track.request.target, track.address)


def packet_trace(tracks: Sequence[Track]) -> dict[str, object]:
    """A trace that Perfetto and Chrome open (trace event format): a process for each tile that
    sends, its packets with their stations below; a cycle is shown as a microsecond."""
    events: list[dict[str, object]] = []
    lanes: dict[Tile, list[int]] = {}  # of each tile's processes: until when they are taken
    for track in tracks:
        found, tile = spans(track), track.request.initiator
        pid, free = 1 + 16 * tile[0] + tile[1], lanes.setdefault(tile, [])
        begun, end = found[0][2], found[-1][3]
        lane = next((at for at, until in enumerate(free) if until <= begun), len(free))
        free[lane:lane + 1] = [end]
        common = {"ph": "X", "pid": pid, "tid": lane}
        events.append({**common, "name": title(track), "cat": track.type, "ts": begun,
                       "dur": end - begun, "args": {
                           "ended": track.ended, "waited": track.waited,
                           "strobes": track.request.strobes, "data": track.request.data,
                           "response": None if track.response is None else track.response.data,
                           "error": track.response is not None and track.response.error}})
        events += [{**common, "name": name, "cat": kind, "ts": first, "dur": last - first}
                   for name, kind, first, last in found]
    names: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": 1 + 16 * tile[0] + tile[1], "tid": 0,
         "args": {"name": "tile ({}, {})".format(*tile)}} for tile in sorted(lanes)]
    return {"traceEvents": names + events, "displayTimeUnit": "ms"}
