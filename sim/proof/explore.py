"""Worst cases by visiting every state: a block in an environment that may choose in every clock.

For blocks with few registers in small configurations. An environment is a component that drives the
block's inputs and has an input of its own, ``choice``: what may happen in a clock. Every choice is
made in every state that can be reached (`explorer.cpp`), and for a request that begins in any of
them the longest time until its end is found. So there is no request, in any run of that environment
from reset on, that takes longer; and there is one that takes as long.

What is visited is the netlist of the block itself, as yosys makes it for proofs and synthesis, with
the hardware of the bound's probe beside it, which follows one request at a time.

Registers that are constant, or always equal to another one, are left out of the states. Simulation
guesses which these are; the search shows it, since it ends if one is about to differ, and then
begins anew without that guess.
"""

import json
import random
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockDomain, Const, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from cyclebound.sim.base.cache import find_entry, find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import compiler_content, everything, package
from cyclebound.sim.base.native import compiled
from cyclebound.sim.build.elaborate import leave_unused, run_yosys, to_rtlil
from cyclebound.sim.build.identity import Identity
from cyclebound.sim.describe.block import Block, Exploration
from cyclebound.sim.netlist.aiger import Circuit, fold, read, simulate
from cyclebound.sim.netlist.yosys import PACKAGE
from cyclebound.sim.proof.prove import Proof
from cyclebound.tb.probe import Probe, followed_one

__all__ = ["ExploredTop", "Longest", "Reach", "explore", "longest_request", "replayed"]

_PROGRAM = Path(__file__).with_name("explorer.cpp")
_SCRIPT = ("read_rtlil top.il; prep -flatten -top top; opt -full; memory_map; opt -full; dffunmap; "
           "techmap; opt -fast; dffunmap; opt_clean; abc -g AND; opt_clean; "
           "delete -port top/clk; write_aiger -ascii -symbols top.aag")
_OUTPUTS = ("broken", "wrong", "illegal", "waiting", "closes", "ticks")  # as explorer.cpp has them
_MOST_CHOICES = 16  # bits
_RUNS, _CLOCKS = 1024, 512  # of the simulation that guesses
_RECIPE = 1  # changes whenever the same design would be visited in another way
_WORDING = 2  # and whenever a proof says something else of it


@dataclass(frozen=True)
class Reach:
    """How far a search goes.

    Attributes
    ----------
    states : int
        It gives up when it has found so many.
    seconds : float
        And after so long.
    """

    states: int = 100_000_000
    seconds: float = 1800.0


@dataclass(frozen=True)
class Longest:
    """The longest time of a request.

    Attributes
    ----------
    cycles : int or None
        Its latency, in the probe's unit; None: a request may wait for ever.
    states, transitions : int
        States that were visited, and choices that were made in them.
    way : tuple of int
        A run from reset on in which a request takes that long: the environment's choice in each
        clock. The last bit says in which clock the request that is meant begins.
    seconds : float
        What the search took when it ran.
    """

    cycles: int | None
    states: int
    transitions: int
    way: tuple[int, ...]
    seconds: float = 0.0


class ExploredTop(Elaboratable):
    """A block, its environment, and the counter of one probe, which follows one request.

    Parameters
    ----------
    component : wiring.Component
        The block.
    environment : wiring.Component
        Has an input ``choice``, an output for each input of the block, by the same name, and an
        input for each of the block's outputs that it reads. If it has an output ``illegal``, it
        does not make the choices with which that is set.
    probe, index, kind
        The probe, which of its places, and what is declared there.

    Attributes
    ----------
    choice : Signal
        The environment's choice, and, as the highest bit, whether a request that begins is
        followed.
    outputs : dict of str to Signal
        What `explorer.cpp` looks at, by name.
    """

    def __init__(self, component: wiring.Component, environment: wiring.Component, probe: Probe, *,
                 index: Mapping[str, int], kind: Mapping[str, int]) -> None:
        if not probe.follows_one:
            raise UserError("a request of several starts or ends, or one whose latency depends on "
                            "the one before, cannot be followed")
        self.component, self.environment = component, environment
        self._probe, self._index, self._kind = probe, index, kind
        self.choice = Signal(len(environment.choice) + 1)
        if len(self.choice) > _MOST_CHOICES:
            raise UserError(f"choice must have at most {_MOST_CHOICES - 1} bits, "
                            f"not {len(environment.choice)}")
        self._domain = ClockDomain("sync", reset_less=True)
        self.outputs = {name: Signal(name=name) for name in _OUTPUTS[1:]}

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = self._domain
        m.submodules.dut, m.submodules.environment = self.component, self.environment
        self._connect(m)
        out, pick = self.outputs, self.choice[-1]
        counter, here = followed_one(m, self._probe, self.component, index=self._index,
                                     kind=self._kind, pick=pick)
        m.d.comb += [
            self.environment.choice.eq(self.choice[:-1]),
            out["wrong"].eq(counter.overflow | counter.spurious),
            # of a request that is not of this kind, nothing is claimed
            out["illegal"].eq((pick & ~(counter.chosen & here))
                              | getattr(self.environment, "illegal", Const(0))),
            out["waiting"].eq(counter.waiting),
            out["closes"].eq(counter.closes),
            out["ticks"].eq(counter.tick),
        ]
        return m

    def _connect(self, m):
        driven = {path: value for path, _, value in
                  self.environment.signature.flatten(self.environment)}
        for path, member, value in self.component.signature.flatten(self.component):
            name, its = ".".join(map(str, path)), driven.pop(path, None)
            if member.flow == In:
                if its is None:
                    raise UserError(f"{type(self.environment).__name__} must drive {name}")
                m.d.comb += Value.cast(value).eq(Value.cast(its))
            elif its is not None:
                m.d.comb += Value.cast(its).eq(Value.cast(value))
        if left := driven.keys() - {("choice",), ("illegal",)}:
            raise UserError(f"{type(self.environment).__name__} has {'.'.join(map(str, min(left)))}"
                            f", which {type(self.component).__name__} has not")

    @property
    def ports(self) -> list[Signal]:
        return [self._domain.clk, self.choice, *self.outputs.values()]


def explore(block: Block, exploration: Exploration, parameters: Mapping[str, object], *,
            reach: Reach = Reach(), progress: Callable[[str], None] = lambda stage: None,
            identity: Identity | None = None) -> Proof:
    """Find the longest time of each kind of request, and hold it against the bound.

    A request that takes longer than its bound, or as long, is simulated once more on the component
    itself by Amaranth's simulator. ``identity`` is as of `cyclebound.sim.proof.prove.prove`.

    Returns a `Proof`: ``proved`` if no kind takes longer than its bound. Raises `UserError` as
    `longest_request` does.
    """
    where = f"{block.name}: exploration {exploration.name}"
    binding = next(binding for binding in block.bounds if binding.what == exploration.what)
    probe = binding.probe
    assert probe is not None  # `block_check` asks for it

    def proof(cached: bool, fields: Mapping[str, Any]) -> Proof:
        return Proof(block.name, exploration.name, exploration.says, dict(parameters),
                     method="every state visited", cached=cached, **fields)

    index = None if identity is None else key_of(_RECIPE, _WORDING, identity.key, everything(),
                                                 compiler_content())
    if index and (place := find_entry("explored", index)) is not None:
        return proof(True, json.loads((place / "proof.json").read_text()))

    def top(index: Mapping[str, int], kind: Mapping[str, int]) -> ExploredTop:
        component = block.make(parameters)
        return ExploredTop(component, exploration.environment(component), probe,
                           index=index, kind=kind)

    claims, reached, states, broken, seconds = [], 0, 0, [], 0.0
    below: list[str] = []
    looked_at = block.make(parameters)
    for index_of_place in list(probe.indexes(looked_at)):
        kind = exploration.kinds(parameters, index_of_place)
        if kind is None:
            continue
        limit = binding.bound.of({**parameters, **kind})
        found = longest_request(top(index_of_place, kind), where=where, reach=reach,
                                progress=progress)
        states, seconds = states + found.states, seconds + found.seconds
        again = replayed(top(index_of_place, kind), found.way)
        if found.cycles is not None and again != found.cycles:
            raise UserError(f"{where}: a request takes {found.cycles} in the netlist, and {again} "
                            "in Amaranth's simulator")
        claims.append((exploration.what, dict(kind), limit))
        reached += found.cycles == limit
        if found.cycles is not None and found.cycles < limit:
            below.append(f"{found.cycles} of {limit}")
        if found.cycles is None or found.cycles > limit:
            took = "for ever" if found.cycles is None else f"{found.cycles}"
            broken.append(f"{exploration.what}: a request takes {took}, more than {limit}, with "
                          f"{', '.join(f'{k} {v}' for k, v in kind.items()) or 'no parameters'}")
    leave_unused(looked_at)
    if not claims:
        raise UserError(f"{where}: it has no kind of request for these parameters")
    said = f"{states:,} states, {reached} of {len(claims)} kinds reach their bound"
    fields = {"status": "failed" if broken else "proved", "claims": claims, "seconds": seconds,
              "detail": "; ".join(broken) or ", ".join([said, *below])}
    if index and identity and identity.stands() and not broken:
        find_or_make("explored", index, lambda folder: (folder / "proof.json").write_text(
            json.dumps(fields)))
    return proof(False, fields)


def replayed(top: ExploredTop, way: Sequence[int]) -> int:
    """The latency of the followed request in a run of ``top`` on Amaranth's simulator."""
    took = 0

    async def run(ctx):
        nonlocal took
        for choice in way:
            ctx.set(top.choice, choice)
            took += ctx.get(top.outputs["waiting"]) & ctx.get(top.outputs["ticks"])
            await ctx.tick()

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(run)
    simulator.run()
    return took


def longest_request(top: ExploredTop, *, where: str, reach: Reach = Reach(),
                    progress: Callable[[str], None] = lambda stage: None) -> Longest:
    """The longest time of a request in any run of ``top`` from reset on; from the cache if known.

    Raises `UserError` if nothing of the kind can begin, if the environment breaks its rules, or if
    there are more states than ``reach`` allows.
    """
    text = to_rtlil(top, name="top", ports=top.ports)

    def make(folder: Path) -> None:
        started = time.monotonic()
        (folder / "top.il").write_text(text)
        run_yosys(_SCRIPT, folder)
        circuit = read(folder / "top.aag")
        said = _search(circuit, where, reach, progress)
        for name in ("top.il", "top.aag"):
            (folder / name).unlink()
        (folder / "longest.json").write_text(json.dumps(
            {**said, "seconds": time.monotonic() - started}))

    key = key_of(_RECIPE, text, _SCRIPT, _PROGRAM.read_text(), package(PACKAGE), compiler_content())
    place, _ = find_or_make("longest", key, make)
    fields = json.loads((place / "longest.json").read_text())
    return Longest(**{**fields, "way": tuple(fields["way"])})


def _search(circuit: Circuit, where: str, reach: Reach, progress: Callable[[str], None]
            ) -> dict[str, object]:
    """What `Longest` holds: guess, search, and take back the guesses that are wrong."""
    rng = random.Random(1)
    registers = range(len(circuit.initial))
    # each class by the number of its first register; -1 is that of constants
    classes = _refined(circuit, dict.fromkeys(registers, -1), simulate(
        circuit, circuit.initial, _CLOCKS, runs=_RUNS, rng=rng), _RUNS)
    deadline = time.monotonic() + reach.seconds
    while True:
        folded = fold(circuit, {
            register: _literal(circuit, register, leader)
            for register, leader in classes.items() if leader != register})
        progress(f"{where}: {len(folded.kept)} of {len(circuit.initial)} registers")
        what, states, transitions, cycles, way = _run(folded.circuit, reach.states,
                                                      deadline - time.monotonic(), where)
        if what == "broken":  # run the way in the whole circuit, and go on from its end
            state: list[int] = list(circuit.initial)
            for choice in way:
                bits = [choice >> place & 1 for place in range(circuit.inputs)]
                *_, state = simulate(circuit, state, 1, runs=1, rng=rng, first=bits)
            before = len(set(classes.values()))
            classes = _refined(circuit, classes, simulate(circuit, state, _CLOCKS // 8, runs=_RUNS,
                                                          rng=rng), _RUNS)
            assert len(set(classes.values())) > before, "a guess was wrong, and stays"
            continue
        if what == "full":
            raise UserError(f"{where}: more than {reach.states:,} states can be reached")
        if what == "wrong":
            raise UserError(f"{where}: after {len(way):,} clocks an end comes without a request, "
                            "or more are under way than the probe says")
        if what == "done" and not cycles:
            raise UserError(f"{where}: no such request can begin, in {states:,} states")
        return {"cycles": None if what == "endless" else cycles, "states": states,
                "transitions": transitions, "way": way}


def _refined(circuit: Circuit, classes: Mapping[int, int], seen: Iterable[list[int]], runs: int
             ) -> dict[int, int]:
    """Split classes of registers whose values, counted from their first ones, were seen to differ.

    By register, the first one of its class; -1 if it never left its first value.
    """
    full, now = (1 << runs) - 1, dict(classes)
    for values in seen:
        leaders: dict[tuple[int, int], int] = {(-1, 0): -1}
        for register, value in enumerate(values):
            moved = value ^ full if circuit.initial[register] else value
            now[register] = leaders.setdefault((now[register], moved), register)
    return now


def _literal(circuit: Circuit, register: int, leader: int) -> int:
    """What a register is taken for: its first value, or another register, perhaps inverted."""
    if leader < 0:
        return circuit.initial[register]
    return circuit.register(leader) ^ circuit.initial[register] ^ circuit.initial[leader]


def _run(circuit: Circuit, most: int, seconds: float, where: str
         ) -> tuple[str, int, int, int, list[int]]:
    """The explorer's answer."""
    numbers = [circuit.inputs, len(circuit.initial), len(circuit.gates), most, *circuit.initial,
               *(literal for gate in circuit.gates for literal in gate), *circuit.following,
               *(circuit.outputs[name] for name in _OUTPUTS)]
    try:
        done = subprocess.run([str(compiled(_PROGRAM))], input=" ".join(map(str, numbers)),
                              text=True, capture_output=True, timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        raise UserError(f"{where}: not all states were visited in the time that it has") from None
    if done.returncode:
        raise UserError(f"{where}: the explorer failed: {done.stderr.strip() or 'killed'}")
    head, *way = done.stdout.split("\n")
    what, *said = head.split()
    states, transitions, cycles = map(int, said)
    return what, states, transitions, cycles, [int(line) for line in way if line]
