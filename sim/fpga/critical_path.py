"""The longest path of a placed block in terms of its sources: signals, with their file and line.

What yosys makes of a block's logic has no lines any more, but each cell and net is named after a
signal near it: ``block.input_2.kept.lost_LUT4_A_Z`` is a lookup table at the signal ``lost`` of
``block.input_2.kept``. So a step is told by the longest beginning of its name that is a signal of
the block, and the signal by the line that makes it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cyclebound.sim.netlist.rtlil import Design, Wire

__all__ = ["Step", "critical_path", "places", "signals"]

_OF_OTHERS = "/amaranth/"  # the line of the module is nearer than one of its library


@dataclass(frozen=True)
class Step:
    """A piece of a path.

    Attributes
    ----------
    signal : str
        The signal that its logic is at, or the name of its cell where no signal is known.
    line : str
        File and line, the file relative to the current folder if it is inside that.
    logic_ns, routing_ns : float
        Through cells, and from each of them to the next.
    cells : int
        How many cells it goes through.
    """

    signal: str
    line: str
    logic_ns: float
    routing_ns: float
    cells: int


def signals(rtlil: str, top: str = "top") -> dict[str, str]:
    """The file and line of each signal and memory of ``top``, by its name through all modules.

    ``rtlil`` as `cyclebound.sim.build.elaborate.to_rtlil` writes it with ``lines``.
    """
    own: dict[str, dict[str, str]] = {}
    inner: dict[str, list[tuple[str, str]]] = {}
    for name, module in Design.read(rtlil).modules.items():
        of_module = _source(module.attributes)
        own[name] = {}
        inner[name] = [(cell.kind, cell.name[1:]) for cell in module.cells]
        for item in module.items:
            if isinstance(item, Wire) and item.name[0] == "\\":
                line = _source(item.attributes)
                own[name][item.name[1:]] = line if line and _OF_OTHERS not in line else of_module

    def below(module: str, path: str) -> Iterator[tuple[str, str]]:
        yield from ((path + name, line) for name, line in own[module].items())
        for kind, name in inner[module]:
            if kind in own:
                yield from below(kind, f"{path}{name}.")

    return dict(below(f"\\{top}", ""))


def _source(attributes: Mapping[str, str]) -> str:
    return attributes.get("\\src", "").strip('"')


def critical_path(report: Mapping, known: Mapping[str, str]) -> list[Step]:
    """The slowest path between registers in nextpnr's report, told by the ``known`` signals.

    Steps at the same signal that follow each other are one. Empty if the report has no path.
    """
    steps: list[Step] = []
    for piece in _slowest(report):
        cell, delay = piece["from"]["cell"], piece["delay"]
        last = steps[-1] if steps else None
        if last and piece["type"] == "routing":
            steps[-1] = replace(last, routing_ns=last.routing_ns + delay)
            continue
        signal = _signal(cell, known) or cell
        if last and last.signal == signal:
            steps[-1] = replace(last, logic_ns=last.logic_ns + delay, cells=last.cells + 1)
        else:
            steps.append(Step(signal, _short(known.get(signal, "")), delay, 0.0, 1))
    return steps


def places(report: Mapping) -> list[tuple[int, int]]:
    """Where the cells of the same path lie, in its order: column and row."""
    return [tuple(piece["to"]["loc"]) for piece in _slowest(report)]


def _slowest(report: Mapping) -> list[Mapping]:
    """The pieces of the slowest path between registers; none if the report has no such path."""
    return max((path["path"] for path in report.get("critical_paths", ())
                if "<async>" not in (path["from"], path["to"])),
               key=lambda pieces: sum(piece["delay"] for piece in pieces), default=[])


def _signal(name: str, known: Mapping[str, str]) -> str:
    """The longest beginning of ``name`` that is the name of a signal; empty if none is."""
    while name and name not in known:
        name = name[:max(map(name.rfind, "_.[$"))] if re.search(r"[_.\[$]", name) else ""
    return name


def _short(line: str) -> str:
    """A file and line, without its columns, relative to the current folder."""
    file, _, rest = line.partition(":")
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}:{rest.partition('.')[0]}" if line else ""
