"""Circuits of AND gates and registers, as yosys writes them in AIGER's text format.

A *literal* is twice a node's number, plus one if it is inverted; node 0 is constant 0, so that the
literals 0 and 1 are the constants. After the constant come the inputs, the registers, and the
gates, each of which reads nodes of lower numbers only.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Circuit", "Folded", "fold", "read", "simulate"]


@dataclass(frozen=True)
class Circuit:
    """A circuit.

    Attributes
    ----------
    inputs : int
        How many inputs it has.
    initial : tuple of int
        By register, its first value.
    following : tuple of int
        By register, the literal that is its next value.
    gates : tuple of (int, int)
        The two literals of each gate.
    outputs : mapping of str to int
        Literals by name.
    registers : tuple of str
        The registers' names.
    """

    inputs: int
    initial: tuple[int, ...]
    following: tuple[int, ...]
    gates: tuple[tuple[int, int], ...]
    outputs: Mapping[str, int]
    registers: tuple[str, ...]

    def register(self, number: int) -> int:
        """The literal of a register."""
        return 2 * (1 + self.inputs + number)


def read(path: Path) -> Circuit:
    """Read a file in the format's text form. Raises `ValueError` for what it does not know."""
    lines = path.read_text().splitlines()
    head = lines[0].split()
    if head[:1] != ["aag"] or len(head) != 6:
        raise ValueError(f"circuit must begin with `aag` and five numbers, not {lines[0]!r}")
    _, inputs, registers, outputs, gates = map(int, head[1:])
    rows = iter(lines[1:])
    numbers = [[int(word) for word in next(rows).split()]
               for _ in range(inputs + registers + outputs + gates)]
    ins, regs = numbers[:inputs], numbers[inputs:inputs + registers]
    outs, ands = numbers[inputs + registers:-gates or None], numbers[len(numbers) - gates:]
    if any(len(row) > 2 and row[2] not in (0, 1) for row in regs):
        raise ValueError("every register must have a first value")
    place = {0: 0}
    for row in (*ins, *regs, *ands):
        place[row[0]] = 2 * len(place)

    def literal(said: int) -> int:
        return place[said & ~1] ^ (said & 1)

    names: dict[str, str] = {}
    for line in rows:
        if line == "c":
            break
        what, name = line.split(" ", 1)
        names[what] = name
    return Circuit(inputs, tuple(row[2] if len(row) > 2 else 0 for row in regs),
                   tuple(literal(row[1]) for row in regs),
                   tuple((literal(row[1]), literal(row[2])) for row in ands),
                   {names.get(f"o{number}", str(number)): literal(row[0])
                    for number, row in enumerate(outs)},
                   tuple(names.get(f"l{number}", str(number)) for number in range(registers)))


def _next(circuit: Circuit, state: Sequence[int], inputs: Sequence[int], full: int) -> list[int]:
    """The registers after a clock, of as many runs side by side as ``full`` has bits."""
    values = [0, *inputs, *state]
    for one, other in circuit.gates:
        left, right = values[one >> 1], values[other >> 1]
        values.append((left ^ full if one & 1 else left) & (right ^ full if other & 1 else right))
    return [values[literal >> 1] ^ full if literal & 1 else values[literal >> 1]
            for literal in circuit.following]


def simulate(circuit: Circuit, state: Sequence[int], clocks: int, *, runs: int,
             rng: random.Random, first: Sequence[int] | None = None) -> Iterable[list[int]]:
    """The registers in each of some clocks, from ``state`` on, of random runs side by side.

    Bit by bit of each number, a run. Each input of a run is often set, rarely set, or either, for
    some clocks at a time. ``first`` are the inputs of the first clock, of all runs.
    """
    full = (1 << runs) - 1
    now = [full if bit else 0 for bit in state]
    for clock in range(clocks):
        yield now
        if clock % 32 == 0:
            styles = [(rng.getrandbits(runs), rng.getrandbits(runs)) for _ in range(circuit.inputs)]
        drawn = []
        for often, rarely in styles:
            one, two, three = (rng.getrandbits(runs) for _ in range(3))
            drawn.append((one | two | three) & often | one & two & three & rarely & ~often
                         | one & ~often & ~rarely)
        if first is not None and not clock:
            drawn = [full if bit else 0 for bit in first]
        now = _next(circuit, now, drawn, full)
    yield now


@dataclass(frozen=True)
class Folded:
    """A circuit with fewer registers: the others are taken for constants, or for equal to one.

    Attributes
    ----------
    circuit : Circuit
        With one register of each class, and an output ``broken`` more: a register is about to
        differ from what it was taken for. While that has never been set, from the first clock on,
        this circuit and the whole one have the same outputs.
    kept : tuple of int
        By register, its number in the whole circuit.
    """

    circuit: Circuit
    kept: tuple[int, ...]


def fold(circuit: Circuit, same: Mapping[int, int]) -> Folded:
    """Leave out the registers of ``same``, each of which stands for the given literal: 0, 1, or one
    of a register that is kept. Gates on which nothing depends are left out too."""
    kept = tuple(number for number in range(len(circuit.initial)) if number not in same)
    gates: list[tuple[int, int]] = []
    known: dict[tuple[int, int], int] = {}
    base = 1 + circuit.inputs + len(kept)
    place = [2 * node for node in range(1 + circuit.inputs)] + [0] * len(circuit.initial)
    for position, number in enumerate(kept):
        place[1 + circuit.inputs + number] = 2 * (1 + circuit.inputs + position)
    for number, other in same.items():
        place[1 + circuit.inputs + number] = place[other >> 1] ^ (other & 1)

    def both(one: int, other: int) -> int:
        one, other = sorted((one, other))
        if one == 0 or one == other ^ 1:
            return 0
        if one in (1, other):
            return other
        if (one, other) not in known:
            known[one, other] = 2 * (base + len(gates))
            gates.append((one, other))
        return known[one, other]

    def literal(said: int) -> int:
        return place[said >> 1] ^ (said & 1)

    for one, other in circuit.gates:
        place.append(both(literal(one), literal(other)))
    broken = 0
    for number, other in same.items():
        mine = literal(circuit.following[number])
        its = other if other < 2 else literal(
            circuit.following[(other >> 1) - 1 - circuit.inputs]) ^ (other & 1)
        differ = 1 ^ both(1 ^ both(mine, 1 ^ its), 1 ^ both(1 ^ mine, its))
        broken = 1 ^ both(1 ^ broken, 1 ^ differ)
    outputs = {name: literal(said) for name, said in circuit.outputs.items()} | {"broken": broken}
    following = [literal(circuit.following[number]) for number in kept]

    needed: set[int] = set()
    pending = [said >> 1 for said in (*outputs.values(), *following)]
    while pending:
        node = pending.pop()
        if node >= base and node not in needed:
            needed.add(node)
            pending += [said >> 1 for said in gates[node - base]]
    new = {node: node for node in range(base)}
    for node in sorted(needed):
        new[node] = len(new)

    def moved(said: int) -> int:
        return 2 * new[said >> 1] + (said & 1)

    left = [gates[node - base] for node in sorted(needed)]
    return Folded(Circuit(circuit.inputs, tuple(circuit.initial[number] for number in kept),
                          tuple(map(moved, following)),
                          tuple((moved(one), moved(other)) for one, other in left),
                          {name: moved(said) for name, said in outputs.items()},
                          tuple(circuit.registers[number] for number in kept)), kept)
