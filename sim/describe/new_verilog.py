"""`cyclebound new --verilog`: model, testbench and page for a module that there is already.

What the module does is not known here. So the testbench drives its ports as their names say, and
checks that the module does the same again after a reset; the bound is a limit that the user states.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.netlist.source_files import VHDL
from cyclebound.sim.netlist.system_verilog import modules
from cyclebound.sim.netlist.verilog_module import VerilogModule

__all__ = ["FILES", "LIMIT", "Role", "module_in", "role_of", "words_for"]

LIMIT = 1000
"""Cycles that a request may take where nothing else is said."""

FILES: Mapping[str, str] = {
    "NAME_model.py": '''\
"""Bound of NAME; a golden model of what it computes goes here, too."""

from cyclebound.golden.bound import bound


@bound(formula="LIMIT", source="this project: STATED",
       environment="ENVIRONMENT")
def answer() -> int:
    """Cycles from a request to its answer, both included."""
    return LIMIT
''',
    "NAME_tb.py": '''\
"""Testbench of NAME: random inputs, and the same outputs for them after a reset."""

from cyclebound.tb.bench import testbench

HELD = HELD_PORTS
"""Inputs that stay set until an output has answered them, bit by bit."""
SET = SET_PORTS
"""Inputs that are always set."""
IN_TURN = IN_TURN_PORT
"""The input that is set for a cycle, and the output that has to answer before the next time."""


async def drive(bench, cycles, chance):
    """Random inputs with such a chance of a request in each cycle; returns inputs and outputs."""
    rows, values, under_way = [], dict.fromkeys(bench.inputs.fields, 0), False
    for _ in range(cycles):
        if not any(values[name] for name in HELD):  # what goes with a request stays as it is
            values = {name: bench.rng.getrandbits(field.width)
                      for name, field in bench.inputs.fields.items() if name not in HELD}
        for name in HELD:
            values[name] = values.get(name, 0) | sum(
                (bench.rng.random() < chance) << bit
                for bit in range(bench.inputs[name].width))
        values |= {name: bench.inputs[name].mask >> bench.inputs[name].offset for name in SET}
        if IN_TURN:
            values[IN_TURN[0]] = int(not under_way and bench.rng.random() < chance)
            under_way = under_way or bool(values[IN_TURN[0]])
        word = bench.inputs.pack(values)
        seen = await bench.step(word)
        rows.append((word, seen))
        for name, answered in HELD.items():
            values[name] &= ~bench.outputs[answered].of(seen)
        if IN_TURN and bench.outputs[IN_TURN[1]].of(seen):
            under_way = False
    return rows


async def repeat(bench, cycles, chance):
    rows = await drive(bench, cycles, chance)
    for compared in (False, True):  # what no reset clears is after the first time as it stays
        await bench.reset()
        again = []
        for word, _ in rows:
            again.append((word, await bench.step(word)))
            if compared:
                bench.check(again[-1][1], rows[len(again) - 1][1])
        rows = again


@testbench
async def many_requests(bench):
    await repeat(bench, 500, 1)


@testbench
async def some_requests(bench):
    await repeat(bench, 500, 0.2)
''',
    "NAME_page.py": '''\
"""Catalogue page: `cyclebound --catalogue NAME_page regress own.NAME`."""

from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, FpgaTarget, Testbench
from cyclebound.sim.netlist.verilog_module import VerilogModule
from cyclebound.tb.probe import Probe
from NAME_model import answer

BLOCKS = (
    Block(
        name="own.NAME",
        summary="TOP, as it is in SOURCE",
        component=VerilogModule(SOURCES, "TOP", clock="CLOCK", reset="RESET"),
        configurations={"as_is": Configuration(PARAMETERS)},
        testbenches=(Testbench("cycle", "NAME_tb"),),
        bounds=(BoundBinding("request", answer, probe=Probe(
            start=START,
            end=END,
            FLIGHT)),),
        fpga=FpgaTarget("as_is"),
        signals=SIGNALS,
    ),
)
''',
}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SIDES = {"i", "o"}  # of a port's name: its direction
_VALID, _READY = {"valid", "tvalid", "vld"}, {"ready", "tready", "rdy"}
_PAIRS = (("req", "gnt"), ("req", "grant"), ("request", "grant"), ("req", "ack"),
          ("request", "ack"))
_TURNS = (("start", "done"), ("go", "done"), ("start", "finish"), ("start", "finished"))


@dataclass(frozen=True)
class Role:
    """How requests pass a module's ports.

    Attributes
    ----------
    start, end : str
        Expressions of the probe.
    held : dict of str to str
        Inputs that stay set until an output answers.
    always : tuple of str
        Inputs that are always set.
    in_turn : tuple of str
        An input that is set for a cycle, and the output that answers; or empty.
    over : int
        Bits of a request, each of which is one of its own; 0: it has one.
    """

    start: str
    end: str
    held: Mapping[str, str]
    always: tuple[str, ...] = ()
    in_turn: tuple[str, ...] = ()
    over: int = 0


def module_in(files: Mapping[str, str], top: str) -> str:
    """The module that is meant: ``top``, or the one that no other places. Raises `UserError`."""
    if top:
        return top
    text = " ".join(" ".join(files.values()).split())
    placed = r"(?<!module )\b{} ?(?:#|\b\w+ ?(?:\[[^\]]*\] ?)?\()"
    if any(name.endswith(VHDL) for name in files):
        raise UserError("of VHDL, --top names the entity")
    found = sorted(modules(files))
    roots = [name for name in found
             if not re.search(placed.format(name), text)]
    if len(roots) != 1:
        raise UserError(f"--top has to name the module: {', '.join(roots or found) or 'none'}")
    return roots[0]


def role_of(inputs: Mapping[str, int], outputs: Mapping[str, int], start: str, end: str) -> Role:
    """How requests pass these ports, whose widths are given; ``start`` and ``end`` are the user's
    expressions, or empty. Raises `UserError` where the names do not say it."""
    if bool(start) != bool(end):
        raise UserError("--start and --end are given together")
    sinks, sources = (_streams(valids, readies) for valids, readies in (
        (inputs, outputs), (outputs, inputs)))
    held = {valid: ready for valid, ready in sinks if ready}
    always = tuple(ready for _, ready in sources if ready)
    if start:
        return Role(start, end, held, always)
    if len(sinks) == len(sources) == 1:
        (given, taken), (shown, accepted) = sinks[0], sources[0]
        return Role(f"{given} & {taken}" if taken else given,
                    f"{shown} & {accepted}" if accepted else shown, held, always)
    if not sinks and not sources:
        for first, second in _PAIRS:
            for asks, answers in _named(inputs, outputs, first, second):
                if inputs[asks] == outputs[answers] > 1:
                    return Role(f"{asks}[r] & ~past({asks}[r] & ~{answers}[r])",
                                f"{asks}[r] & {answers}[r]", {asks: answers}, over=inputs[asks])
                if inputs[asks] == outputs[answers]:
                    return Role(f"{asks} & ~past({asks} & ~{answers})", f"{asks} & {answers}",
                                {asks: answers})
        for first, second in _TURNS:
            for asks, answers in _named(inputs, outputs, first, second):
                if inputs[asks] == outputs[answers] == 1:
                    return Role(asks, answers, {}, in_turn=(asks, answers))
    raise UserError("the ports' names do not say where a request begins and ends: give --start and "
                    f"--end, expressions over {', '.join([*inputs, *outputs])}")


def _streams(valids: Mapping[str, int], readies: Mapping[str, int]) -> list[tuple[str, str]]:
    """Pairs of valid and ready, which is empty if there is none."""
    ready = {_key(name, _READY): name for name, width in readies.items()
             if width == 1 and _key(name, _READY) is not None}
    return [(name, ready.get(key, "")) for name, width in valids.items()
            if width == 1 and (key := _key(name, _VALID)) is not None]


def _key(name: str, words: set[str]) -> tuple[str, ...] | None:
    """What remains of a name without one of these words and its direction; None if it has none."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    if not words.intersection(parts):
        return None
    return tuple(part for part in parts if part not in words | _SIDES)


def _named(inputs: Mapping[str, int], outputs: Mapping[str, int], first: str, second: str
           ) -> list[tuple[str, str]]:
    """The pairs of ports that are called so."""
    return [(asks, answers) for asks in inputs for answers in outputs
            if (key := _key(asks, {first})) is not None and key == _key(answers, {second})]


def words_for(name: str, sources: Sequence[str], folder: Path, *, top: str = "", start: str = "",
              end: str = "", within: int | None = None) -> dict[str, str]:
    """What stands in `FILES` for their capitals. Raises `UserError`."""
    make = VerilogModule(sources, module_in(VerilogModule(sources, top or "-").files(), top))
    try:
        known, clock, reset = make.interface({})
    except ValueError as error:
        raise UserError(str(error)) from error
    ports: dict[str, dict[str, int]] = {"input": {}, "output": {}}
    for port, (direction, width, _) in known.items():
        if port not in (clock, reset.lstrip("~")):
            ports.setdefault(direction, {})[port] = width
    role = role_of(ports["input"], ports["output"], start, end)
    paths = [os.path.relpath(source, folder) if Path(source).exists() else source
             for source in sources]
    limit = LIMIT if within is None else within
    return {
        "NAME": name, "TOP": make.top, "SOURCES": repr(tuple(paths)).replace("'", '"'),
        "SOURCE": ", ".join(Path(path).name for path in paths), "LIMIT": str(limit),
        "CLOCK": clock, "RESET": reset,
        "STATED": "a limit to begin with" if within is None else "stated with --within",
        "ENVIRONMENT": "any input" + (", and each answer is taken at once" if role.always else ""),
        "HELD_PORTS": _literal(dict(role.held)), "SET_PORTS": _literal(role.always),
        "IN_TURN_PORT": _literal(role.in_turn), "PARAMETERS": "{}",
        "START": _literal(role.start), "END": _literal(role.end),
        "FLIGHT": f'over={{"r": {role.over}}}' if role.over else "in_flight=64",
        "SIGNALS": "".join(["(", *(f'\n            "top.dut.{port}",' for part in ports.values()
                                   for port in list(part)[:4]), "\n        )"])}


def _literal(value: object) -> str:
    return repr(value).replace("'", '"')
