"""All states that a small component can reach: its netlist, for thousands of states at once.

Where a run may last for any time (a memory that answers when it likes), a bounded check does not
end, and an induction would want invariants. If there are few states, they can be listed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from amaranth.lib import wiring

from cyclebound.sim.build.elaborate import to_rtlil
from cyclebound.sim.netlist.yosys import yosys_command
from cyclebound.sim.proof.prove import run_tool, yosys_environment

__all__ = ["Netlist", "Reached", "reach"]

_SCRIPT = ("read_rtlil top.il; hierarchy -auto-top; flatten; proc; memory_map; async2sync; "
           "opt -full; techmap; opt; dffunmap; setundef -zero -init; aigmap; opt_clean; "
           "write_aiger -ascii -symbols -zinit top.aag")


@dataclass
class Netlist:
    """And-gates and registers (AIGER); states and ports are arrays of bool, a row for each case.

    Attributes
    ----------
    inputs, outputs : dict of str to int
        By name (``port`` or ``port[bit]``, levels parted by two underscores): the literal.
    registers : ndarray of int
        For each register the literal of what it holds, and of what it will hold; all are 0 after
        reset.
    gates : ndarray of int
        By gate: literals of its output and its two inputs.
    """

    inputs: dict[str, int]
    outputs: dict[str, int]
    registers: np.ndarray
    gates: np.ndarray

    @classmethod
    def of(cls, component: wiring.Component, folder: Path, *, timeout: float = 300) -> "Netlist":
        """A component's netlist; yosys works in ``folder``. Raises `RuntimeError` if it fails."""
        (folder / "top.il").write_text(to_rtlil(component, name="top"))
        status, said = run_tool([*yosys_command(), "-q", "-p", _SCRIPT], folder,
                                yosys_environment(), timeout)
        if status != 0:
            raise RuntimeError(f"yosys cannot write a netlist: {said[-2000:]}")
        return cls.read((folder / "top.aag").read_text())

    @classmethod
    def read(cls, text: str) -> "Netlist":
        """Read AIGER's ASCII format."""
        lines = text.splitlines()
        _, inputs, registers, outputs, gates = map(int, lines[0].split()[1:])
        numbers = [[int(word) for word in line.split()]
                   for line in lines[1:1 + inputs + registers + outputs + gates]]
        ends = np.cumsum([inputs, registers, outputs, gates])
        ports: dict[str, dict[str, int]] = {"i": {}, "o": {}}
        begins = {"i": 0, "o": ends[1]}
        for line in lines[1 + ends[3]:]:
            kind, _, name = line.partition(" ")
            if kind == "c":
                break
            if kind[0] in ports:
                ports[kind[0]][name] = numbers[begins[kind[0]] + int(kind[1:])][0]
        return cls(ports["i"], ports["o"], np.array(numbers[inputs:ends[1]])[:, :2],
                   np.array(numbers[ends[2]:ends[3]]))

    def step(self, states: np.ndarray, values: dict[str, int]) -> tuple[np.ndarray, dict]:
        """One cycle from each state, with these inputs (0 where there is no value).

        Returns the states after it, and the outputs in it: by name, an array.
        """
        nets = np.zeros((len(self.inputs) + len(self.registers) + len(self.gates) + 1,
                         len(states)), bool)
        nets[self.registers[:, 0] // 2] = states.T
        for name, value in values.items():
            nets[self.inputs[name] // 2] = bool(value)
        for output, one, two in self.gates:
            nets[output // 2] = (nets[one // 2] ^ bool(one & 1)) & (nets[two // 2] ^ bool(two & 1))

        def read(literal: int) -> np.ndarray:
            return nets[literal // 2] ^ bool(literal & 1)

        after = np.stack([read(literal) for literal in self.registers[:, 1]], axis=1)
        return after, {name: read(literal) for name, literal in self.outputs.items()}


@dataclass
class Reached:
    """The states that there are, and the steps between them.

    Attributes
    ----------
    states : ndarray of bool
        A row for each state.
    steps : set of (int, int)
        Numbers of states.
    """

    states: np.ndarray
    steps: set[tuple[int, int]] = field(default_factory=set)


Move = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def reach(first: np.ndarray, moves: Iterable[Move]) -> Reached:
    """All states that can be reached from ``first``, a row of bool, breadth first.

    A move takes some states, and returns for which of them it is possible (an array of bool), and
    the states after those.
    """
    numbers = {np.packbits(first).tobytes(): 0}
    rows, steps, fresh = [first], set(), [0]
    while fresh:
        states, old, fresh = np.array([rows[number] for number in fresh]), np.array(fresh), []
        for move in moves:
            possible, after = move(states)
            for number, row, key in zip(old[possible], after, np.packbits(after, axis=1),
                                        strict=True):
                there = numbers.setdefault(key.tobytes(), len(rows))
                if there == len(rows):
                    rows.append(row)
                    fresh.append(there)
                steps.add((int(number), there))
    return Reached(np.array(rows), steps)
