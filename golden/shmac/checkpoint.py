"""The whole state of a grid between two cycles, as plain data; and back.

Ref: SHMAC thesis, 6.2.4. What is read back may come from anywhere. Each value is compared with what
it may be before it goes into a model; nothing in it is a name of code.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.core import CoreModel, Fetch, Response
from cyclebound.golden.shmac.core_bounds import CLASSES
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.isa import REGISTER_NAMES, ExcCode
from cyclebound.golden.shmac.layout import MOST
from cyclebound.golden.shmac.machine import CoreAccess, Retired
from cyclebound.golden.shmac.network import ChannelModel
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.shmac.system import System

__all__ = ["CheckpointError", "continued", "part_names", "restore", "state_of", "tile_named",
           "whole"]

_MASK = 0xFFFF_FFFF
_CYCLES = 1 << 62
_PLACES = 2  # in each queue of a router


class CheckpointError(ValueError):
    """What is no state of this grid. Says where, the rule and the value."""


@dataclass(frozen=True)
class _Kind:
    """How a value is written as plain data, and read: with its place, for a message."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def whole(most: int, least: int = 0) -> _Kind:
    """A whole number in these limits."""
    def read(value: Any, where: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise CheckpointError(f"{where} must be a whole number, {least} to {most}, "
                                  f"not {_short(value)}")
        return value

    return _Kind(int, read)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:56]} ..."


def _one_of(*values: str) -> _Kind:
    def read(value: Any, where: str) -> str:
        if value not in values:
            raise CheckpointError(f"{where} must be one of {', '.join(map(repr, values))}, "
                                  f"not {_short(value)}")
        return value

    return _Kind(str, read)


def _read_flag(value: Any, where: str) -> bool:
    if type(value) is not bool:
        raise CheckpointError(f"{where} must be true or false, not {_short(value)}")
    return value


def _listed(value: Any, where: str, length: int | None = None) -> list:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        many = "" if length is None else f" of {length}"
        raise CheckpointError(f"{where} must be a list{many}, not {_short(value)}")
    return value


def _maybe(kind: _Kind) -> _Kind:
    return _Kind(lambda value: None if value is None else kind.write(value),
                 lambda value, where: None if value is None else kind.read(value, where))


def _many(kind: _Kind, length: int | None = None, *, most: int | None = None) -> _Kind:
    def read(value: Any, where: str) -> list:
        found = [kind.read(each, f"{where}[{number}]")
                 for number, each in enumerate(_listed(value, where, length))]
        if most is not None and len(found) > most:
            raise CheckpointError(f"{where} must have at most {most} entries, not {len(found)}")
        return found

    return _Kind(lambda value: [kind.write(each) for each in value], read)


def _record(made: Callable[..., Any], parts: Mapping[str, _Kind]) -> _Kind:
    """Something with these attributes, as a list of their values."""
    def read(value: Any, where: str) -> Any:
        _listed(value, where, len(parts))
        return made(**{name: kind.read(each, f"{where}.{name}") for (name, kind), each in zip(
            parts.items(), value, strict=True)})

    return _Kind(lambda value: [kind.write(getattr(value, name)) for name, kind in parts.items()],
                 read)


def _either(**kinds: tuple[type, _Kind]) -> _Kind:
    """One of several types, each with a name."""
    def write(value: Any) -> list:
        name, kind = next((name, kind) for name, (cls, kind) in kinds.items()
                          if isinstance(value, cls))
        return [name, kind.write(value)]

    def read(value: Any, where: str) -> Any:
        name, content = _listed(value, where, 2)
        if not isinstance(name, str) or name not in kinds:
            raise CheckpointError(f"{where} must be one of {', '.join(kinds)}, not {_short(name)}")
        return kinds[name][1].read(content, where)

    return _Kind(write, read)


_FLAG, _WORD, _SMALL = _Kind(bool, _read_flag), whole(_MASK), whole(15)
_TILE = _Kind(list, lambda value, where: tuple(_many(whole(MOST - 1), 2).read(value, where)))
_EXCEPTION = _Kind(int, lambda value, where: ExcCode(int(_one_of(*(
    str(int(code)) for code in ExcCode)).read(str(value), where))))
_REQUEST = _record(RequestPacket, {
    "write": _FLAG, "interrupt": _FLAG, "sync": _FLAG, "initiator": _TILE, "target": _TILE,
    "address": whole((1 << 24) - 1), "strobes": _SMALL, "data": _WORD})
_RESPONSE = _record(ResponsePacket, {
    "write": _FLAG, "error": _FLAG, "initiator": _TILE, "target": _TILE, "data": _WORD})
_ACCESS = _record(CoreAccess, {"address": _WORD, "strobes": _SMALL, "write": _FLAG, "sync": _FLAG,
                               "data": _WORD})
_RETIRED = _record(Retired, {"pc": _WORD, "instruction": _WORD, "register": whole(31),
                             "value": _WORD, "exception": _maybe(_EXCEPTION)})
_ANSWER = _record(Response, {"data": _WORD, "error": _FLAG})
_ASKED = _maybe(_either(fetch=(Fetch, _record(Fetch, {"address": _WORD})),
                        access=(CoreAccess, _ACCESS)))

_MACHINE = {
    "registers": _many(_WORD, len(REGISTER_NAMES)), "hi": _WORD, "lo": _WORD, "pc": _WORD,
    "next_pc": _WORD, "in_slot": _FLAG, "branch": _WORD, "linked": _FLAG,
    "status": _WORD, "cause": _WORD, "epc": _WORD, "bad_address": _WORD, "lines": whole(63)}
_CORE = {
    "request": _ASKED, "waits": _FLAG, "_asked": _ASKED,
    "_begun": _maybe(_either(retired=(Retired, _RETIRED), access=(CoreAccess, _ACCESS))),
    "_kind": _one_of("", *CLASSES), "_begins": _FLAG, "_left": whole(64), "_word": _maybe(_WORD),
    "_pc": _maybe(_WORD), "_misses": _FLAG}
_TILE_STATE = {
    "clock": _WORD, "failed": whole(65535), "status": _WORD, "raised": _FLAG, "exited": _FLAG,
    "console": _maybe(whole(255)), "_response": _maybe(_ANSWER)}
_DEVICE = {"response": _maybe(_RESPONSE), "clock": _WORD, "sent": _maybe(whole(255)),
           "received": _Kind(list, lambda value, where: deque(
               _many(whole(255)).read(value, where)))}


def _saved(model: object, parts: Mapping[str, _Kind]) -> dict:
    return {name.lstrip("_"): kind.write(getattr(model, name)) for name, kind in parts.items()}


def _put(model: object, parts: Mapping[str, _Kind], state: Any, where: str) -> None:
    part_names(state, [name.lstrip("_") for name in parts], where)
    for name, kind in parts.items():
        plain = name.lstrip("_")
        setattr(model, name, kind.read(state[plain], f"{where}.{plain}"))


def part_names(state: Any, names: list[str], where: str) -> None:
    """Raises `CheckpointError` unless ``state`` has exactly these parts."""
    if not isinstance(state, dict) or set(state) != set(names):
        has = ", ".join(sorted(map(str, state))) if isinstance(state, dict) else _short(state)
        raise CheckpointError(f"{where} must have {', '.join(names) or 'nothing'}, not {has}")


def tile_named(tile: Tile) -> str:
    """A tile as a key."""
    return "{},{}".format(*tile)


def state_of(grid: GridModel) -> dict:
    """The state of a grid between two cycles."""
    return {
        "tiles": {tile_named(tile): {
            "machine": _saved(model.core.machine, _MACHINE), "core": _saved(model.core, _CORE),
            "tile": _saved(model, _TILE_STATE)} for tile, model in grid.tiles.items()},
        "memories": {tile_named(tile): {
            "content": [[place, word] for place, word in enumerate(ram.content) if word],
            "reserved": [[list(who), word] for who, word in sorted(ram._reserved.items())],
            "response": _maybe(_RESPONSE).write(ram.response)}
            for tile, ram in grid.rams.items()},
        "devices": {tile_named(tile): _saved(device, _DEVICE)
                    for tile, device in grid.devices.items()},
        "requests": _channel_state(grid.network.requests, _REQUEST),
        "responses": _channel_state(grid.network.responses, _RESPONSE),
    }


def _channel_state(channel: ChannelModel, packet: _Kind) -> dict:
    return {"cycle": channel.cycle, "routers": {
        tile_named(tile): {
            "queues": [[packet.write(each) for each in queue] for queue in router._queues],
            "granted": [[[packet.write(each), cycle] for each, cycle in queue]
                        for queue in router._granted],
            "turns": [list(turn._queue) for turn in router._turns],
            "unroutable": router.unroutable} for tile, router in channel.routers.items()}}


def restore(grid: GridModel, state: Any) -> None:
    """Put a state into a new grid of the same parameters. Raises `CheckpointError`; then the grid
    is of no use."""
    part_names(state, ["tiles", "memories", "devices", "requests", "responses"], "the state")
    for where, models in (("tiles", grid.tiles), ("memories", grid.rams),
                          ("devices", grid.devices)):
        part_names(state[where], list(map(tile_named, models)), where)
    for tile, model in grid.tiles.items():
        where, of = f"tile {tile}", state["tiles"][tile_named(tile)]
        part_names(of, ["machine", "core", "tile"], where)
        _put(model, _TILE_STATE, of["tile"], where)
        _put(model.core.machine, _MACHINE, of["machine"], where)
        _put(model.core, _CORE, of["core"], where)
        _resume(model.core, where)
    for tile, ram in grid.rams.items():
        where, of = f"memory {tile}", state["memories"][tile_named(tile)]
        part_names(of, ["content", "reserved", "response"], where)
        place = whole(len(ram.content) - 1)
        for number, pair in enumerate(_listed(of["content"], where)):
            at = f"{where}[{number}]"
            word, value = _listed(pair, at, 2)
            ram.content[place.read(word, at)] = _WORD.read(value, at)
        ram._reserved = {}
        for pair in _listed(of["reserved"], where):
            who, word = _listed(pair, where, 2)
            ram._reserved[_TILE.read(who, where)] = place.read(word, where)
        ram.response = _maybe(_RESPONSE).read(of["response"], where)
    for tile, device in grid.devices.items():
        _put(device, _DEVICE, state["devices"][tile_named(tile)], f"device {tile}")
    _restore_channel(grid.network.requests, _REQUEST, state["requests"], "requests")
    _restore_channel(grid.network.responses, _RESPONSE, state["responses"], "responses")


def _resume(core: CoreModel, where: str) -> None:
    """The access that is under way, as the instruction makes it."""
    begun = core.access
    if isinstance(core.request, CoreAccess):
        if core.request != begun:
            raise CheckpointError(f"{where}: a request that is not the instruction's")
        core.request = begun
    if core.machine.registers[0]:
        raise CheckpointError(f"{where}.registers[0] must be 0, not {core.machine.registers[0]}")
    if begun is not None and (core._word is None or core.machine.resume(core._word) != begun):
        raise CheckpointError(f"{where}: an access that is not the instruction's")


def _restore_channel(channel: ChannelModel, packet: _Kind, state: Any, where: str) -> None:
    part_names(state, ["cycle", "routers"], where)
    part_names(state["routers"], list(map(tile_named, channel.routers)), where)
    channel.cycle = whole(_CYCLES).read(state["cycle"], f"{where}.cycle")
    channel._busy = set()
    soon = whole(channel.cycle + _PLACES)
    for tile, router in channel.routers.items():
        at, of = f"{where} {tile}", state["routers"][tile_named(tile)]
        part_names(of, ["queues", "granted", "turns", "unroutable"], at)
        ports = len(router._queues)
        queues = _many(_many(packet, most=_PLACES), ports).read(of["queues"], at)
        granted = _many(_many(_record(lambda packet, cycle: (packet, cycle), {
            "packet": packet, "cycle": soon}), most=_PLACES), ports).read(of["granted"], at)
        turns = _many(_many(whole(ports - 1), ports), ports).read(of["turns"], at)
        router._queues = [deque(queue) for queue in queues]
        router._granted = [deque(queue) for queue in granted]
        for turn, order in zip(router._turns, turns, strict=True):
            if sorted(order) != list(range(ports)):
                raise CheckpointError(f"{at}: a turn must have each port once, not {order}")
            turn._queue = order
        router.unroutable = whole(_CYCLES).read(of["unroutable"], f"{at}.unroutable")
        router.cycle = channel.cycle
        if router.inside:
            channel._busy.add(tile)


def continued(system: System, grid: GridModel) -> None:
    """Put the state of a functional model into a new grid, which goes on from there by cycles.

    Every core is between two instructions; the networks are empty, and clocks go on from the number
    of rounds. Cores that do not run may not be let run. Raises `ValueError` where the sizes of a
    memory differ.
    """
    for tile, model in grid.tiles.items():
        core = system.cores[tile]
        core.machine._decoded.clear()
        model.core.machine = core.machine
        model.core.request = None
        model.core._fetch()
        model.clock, model.failed, model.raised = system.clock & _MASK, core.failed, core.raised
        model.status, model.exited = core.status or 0, core.status is not None
    for tile, ram in grid.rams.items():
        memory = system.memories[tile]
        if len(memory) != len(ram.content):
            raise ValueError(f"memory {tile} must have {len(ram.content)} words, not {len(memory)}")
        ram.content = list(memory)
        ram._reserved = {who: at >> 2 for (there, who), at in system.reserved.items()
                         if there == tile}
    for tile, device in grid.devices.items():
        device.clock = system.clock & _MASK
        device.received = deque(system.received.get(tile, ()))
