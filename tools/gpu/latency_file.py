"""Delays and opcodes of a user, from a TOML file.

    [opcode.LOP3]        # or "LDG.CONSTANT": a name with modifiers is more specific
    delay = 4            # cycles of an instruction for each active warp
    pipeline = "alu"     # only for an opcode that is not known
    kind = "data"

    [memory]             # cycles of one access
    global = 290
    shared_read = 23
    shared_write = 19
    l1 = 33
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cyclebound.golden.gpu.opcodes import Opcode, opcode_of
from cyclebound.golden.gpu.thesis_wcet import MemoryDelays
from cyclebound.tools.gpu.toml_text import line_of, load_toml, shown

__all__ = ["LatencyFile", "parse_latencies"]

_MOST = 10**6
_MEMORY = {"global": "global_", "shared_read": "shared_read", "shared_write": "shared_write",
           "l1": "l1"}


@dataclass(frozen=True)
class LatencyFile:
    """Opcodes and latencies that a user gives.

    Attributes
    ----------
    delays : dict[str, int]
        By opcode, maybe with modifiers.
    opcodes : dict[str, Opcode]
        Those that are not known otherwise.
    """

    delays: dict[str, int] = field(default_factory=dict)
    opcodes: dict[str, Opcode] = field(default_factory=dict)
    memory: MemoryDelays = field(default_factory=MemoryDelays)


def parse_latencies(text: str) -> LatencyFile:
    """The contents of such a file. Raises `ValueError` with the line of what is wrong."""
    tables = load_toml(text)

    def refuse(path: Sequence[str], must: str, value: object) -> ValueError:
        return ValueError(f"line {line_of(text, path)}: {'.'.join(path)} must be {must}, not "
                          f"{shown(value)}")

    def check(good: bool, path: Sequence[str], must: str, value: object) -> None:
        if not good:
            raise refuse(path, must, value)

    def table(path: Sequence[str], value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refuse(path, "a table", value)
        return value

    def cycles(path: Sequence[str], value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise refuse(path, f"a whole number of cycles, 0 to {_MOST}", value)
        return value

    for name, value in tables.items():
        check(name in ("opcode", "memory"), [name], "one of the tables opcode and memory", name)
        table([name], value)
    delays: dict[str, int] = {}
    opcodes: dict[str, Opcode] = {}
    for name, value in table(["opcode"], tables.get("opcode", {})).items():
        path = ["opcode", name]
        entry = table(path, value)
        for key in entry:
            check(key in ("delay", "pipeline", "kind"), [*path, key],
                  "one of delay, pipeline and kind", key)
        check("delay" in entry, path, "a table with a delay", entry)
        delays[name] = cycles([*path, "delay"], entry["delay"])
        opcode = opcode_of(name)
        check(opcode is not None or "kind" in entry, path,
              "a table with a kind, as the opcode is not known", entry)
        if "kind" in entry or "pipeline" in entry:
            base = opcode or Opcode(name, None, "data")
            for key in ("kind", "pipeline"):
                check(isinstance(entry.get(key, ""), str), [*path, key], "a text", entry.get(key))
            try:
                opcodes[name] = Opcode(name, entry.get("pipeline", base.pipeline),
                                       entry.get("kind", base.kind))
            except ValueError as error:
                raise ValueError(f"line {line_of(text, path)}: {error}") from None
    memory = MemoryDelays()
    for name, value in table(["memory"], tables.get("memory", {})).items():
        check(name in _MEMORY, ["memory", name], f"one of {', '.join(_MEMORY)}", name)
        memory = replace(memory, **{_MEMORY[name]: cycles(["memory", name], value)})
    return LatencyFile(delays, opcodes, memory)
