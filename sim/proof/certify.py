"""Certificates: what a proof shows, restated as plain SAT problems, and checked without its tools.

A proof (`cyclebound.sim.proof.prove`) is as right as SymbiYosys, yosys' translation to SMT, and a
solver. A certificate shows the same with none of these. yosys makes the component with its checker
into AND gates and registers, by SymbiYosys' own passes for designs without memories; these become
clauses here; CaDiCaL (`cyclebound.sim.proof.cadical`) writes a proof that they cannot be satisfied;
and each line of that proof is checked by a program of 150 lines, `lrat.cpp`, which searches
nothing. What is left to trust are Amaranth, the passes of yosys up to the gates,
`cyclebound.sim.netlist.gates`, this module, and that program; neither solver.

**What is shown.** Let a *run* be consecutive cycles, in each of which the registers have the values
that the cycle before gave them; inputs, reset among them, and what the proof leaves open (a first
value that nothing gives, products with `Property.any_product`) are free. A(t) says that all
assumptions hold in cycle t, and P(t) that all assertions do. As in the proof, what is asserted of a
cycle is read from registers in the next one, and what is assumed is read at once. Then there are

- base: no run from the registers' first values, and no t < n, with A(0), ..., A(t) and not P(t);
- step: no run from any values with A(0), ..., A(k), P(0), ..., P(k - 1) and not P(k).

For a proof by induction, n and k are the depth at which it closed, so that by induction P(t) holds
in every run from the beginning in which A(0), ..., A(t) hold, for any t. For a bounded one there is
no step, and n is its depth and one cycle more, which sees the last assertion. A choice that is made
once (`cyclebound.tb.watcher.Rigid`) is a register, as there. A memory is a register for each of its
words. There is one clock; a design with another kind of register is refused.

**Clauses.** A variable for each input, first value and AND gate of a cycle; inverters are signs.
Where x = a AND b there are the clauses (-x a), (-x b) and (x -a -b). The last clause says that
something is wrong: in base, that P(t) is broken for some t while A held until then; in step, that
one of the assertions is broken in cycle k.

**Nothing is shown by a contradiction.** So each problem is solved again with the opposite in place
of its last clause: that assumptions and assertions hold in all of its cycles. The solution is
evaluated here.
"""

import importlib.util
import json
import math
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from cyclebound.sim.base.cache import find_entry, find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import compiler_content, everything, package
from cyclebound.sim.base.native import compiled
from cyclebound.sim.base.toolchain import child_environment
from cyclebound.sim.build.elaborate import OutOfTimeError, run_yosys
from cyclebound.sim.build.identity import Identity
from cyclebound.sim.describe.block import Block, Property
from cyclebound.sim.netlist.gates import Cycles, Netlist, Value
from cyclebound.sim.netlist.yosys import PACKAGE
from cyclebound.sim.proof.prove import (
    Certificate,
    Design,
    Proof,
    design_of,
    prepared,
    run_tool,
    script_of,
)

__all__ = ["SECONDS", "certified", "need_solver"]

SECONDS = 120.0
"""Of each run of yosys, of the solver, and of the checker of its proof. What takes longer stays
open."""
_MOST = 5_000_000  # clauses of a problem; they take a gigabyte
SOLVER = (sys.executable, "-m", "cyclebound.sim.proof.cadical")
_SATISFIABLE, _UNSATISFIABLE = 10, 20  # statuses of SAT solvers
_FILE = "certificate.json"
_CHECKER = Path(__file__).with_name("lrat.cpp")
_RECIPE = [(Path(__file__).parents[1] / name).read_text() for name in (
    "proof/certify.py", "netlist/gates.py", "proof/cadical.py", "proof/lrat.cpp")]
# SymbiYosys' own passes, to its model without memories, and on to gates as it does; assertions that
# equal others are kept
_GATES = ("hierarchy -smtcheck; scc -select; simplemap; select -clear; memory_nordff; async2sync; "
          "chformal -assume -early; opt_clean; formalff -setundef -clk2ff -ff2anyinit -hierarchy; "
          "chformal -live -fair -cover -remove; opt_clean; setundef -undriven -anyseq; "
          "setattr -set keep 1 */t:$assert */t:$assume; opt -fast; hierarchy -smtcheck; "
          "delete */t:$print; formalff -assume; memory_map -formal; "
          "formalff -setundef -clk2ff -ff2anyinit; flatten; opt_clean; techmap; opt -fast; "
          "dffunmap; aigmap; opt_clean; write_json netlist.json")


class _OpenError(Exception):
    """Raised where something takes longer than it may."""


def need_solver() -> None:
    """Raise `UserError` if CaDiCaL is not installed."""
    if importlib.util.find_spec("pysolvers") is None:
        raise UserError("certificates need CaDiCaL: pip install 'cyclebound[certify]'")


def certified(proof: Proof, block: Block, prop: Property, *, seconds: float = SECONDS,
              identity: Identity | None = None, keep: Path | None = None,
              progress: Callable[[str], None] = lambda stage: None) -> Proof:
    """A proof with its certificate; one that failed, as it is.

    Parameters
    ----------
    seconds : float
        As `SECONDS`.
    identity : Identity or None
        As of `cyclebound.sim.proof.prove.prove`.
    keep : Path or None
        A folder for the problems (``.cnf``) and their proofs (``.lrat``), for other checkers.

    Raises `UserError` if the certificate is refused: a problem has a solution, a line of a proof
    does not follow, or the design cannot be restated.
    """
    if proof.status == "failed":
        return proof
    need_solver()
    where = f"{block.name}: property {prop.name}"
    tools = package(PACKAGE, "python-sat"), compiler_content()
    index = None if identity is None or keep is not None else key_of(
        _RECIPE, identity.key, proof.depth, proof.induction, tools, everything())
    place = index and find_entry("content", index)
    if place and (place := find_entry("certificate", (place / "key").read_text())):
        return _with(proof, place)
    design, script = design_of(block, prop, proof.parameters), script_of(prop)
    key = key_of(_RECIPE, design.rtlil, design.labels, script, proof.depth, proof.induction, tools)

    def made() -> Certificate:
        with tempfile.TemporaryDirectory(prefix="cyclebound-certificate-") as work:
            restated = _Restated(where, Path(work), design, script, seconds)
            certificate = restated.certificate(proof, seconds, progress)
            if keep is not None:
                _copy(Path(work), keep)
            return certificate

    try:
        if keep is not None:  # of files, the cache has none
            return replace(proof, certificate=asdict(made()))
        place, _ = find_or_make("certificate", key, lambda folder: (
            folder / _FILE).write_text(json.dumps(asdict(made()))))
    except _OpenError as error:
        return replace(proof, certificate=asdict(Certificate("open", detail=str(error))))
    if index and identity and identity.stands():
        find_or_make("content", index, lambda folder: (folder / "key").write_text(key))
    return _with(proof, place)


def _copy(work: Path, keep: Path) -> None:
    """Problems and their proofs, for another checker."""
    try:
        keep.mkdir(parents=True, exist_ok=True)
        for path in work.glob("*.*"):
            if path.stem in ("base", "step"):
                shutil.copy(path, keep)
    except OSError as error:
        raise UserError(f"cannot write {keep}: {error.strerror or error}") from error


def _with(proof: Proof, place: Path) -> Proof:
    return replace(proof, certificate=json.loads((place / _FILE).read_text()))


# -- the restatement -------------------------------------------------------------------------------


class _Problem:
    """Clauses over numbered variables, whose solutions would be a counterexample.

    Attributes
    ----------
    name : str
        ``base`` or ``step``.
    wrong : list of Value
        Of which one is true in a solution: the last clause.
    facts : list of (Value, str)
        All true instead where nothing is wrong; and what each of them is.
    """

    def __init__(self, name: str) -> None:
        self.name, self.variables = name, 0
        self.clauses: list[tuple[int, ...]] = []
        self.wrong: list[Value] = []
        self.facts: list[tuple[Value, str]] = []
        self._ands: dict[tuple[int, int], int] = {}

    def fresh(self, name: str = "") -> int:
        """A new variable."""
        self.variables += 1
        return self.variables

    def both(self, one: int, other: int) -> Value:
        """The AND of two literals."""
        if one in (other, -other):
            return one if one == other else False
        pair = min(one, other), max(one, other)
        if pair not in self._ands:
            if len(self.clauses) > _MOST:
                raise _OpenError(f"{self.name} has more than {_MOST:,} clauses")
            new = self._ands[pair] = self.fresh()
            self.clauses += [(-new, one), (-new, other), (new, -one, -other)]
        return self._ands[pair]

    def all(self, values: Iterable[Value]) -> Value:
        """The AND of any number of values."""
        result: Value = True
        for value in values:
            result = self._and(result, value)
        return result

    def _and(self, one: Value, other: Value) -> Value:
        if one is False or other is False:
            return False
        if one is True or other is True:
            return other if one is True else one
        return self.both(one, other)

    def require(self, values: Iterable[Value]) -> None:
        """Add the clause that one of these is true."""
        self.clauses += _clause(values)

    def cycles(self, net: Netlist, start: str) -> Cycles:
        """Consecutive cycles of a design, in this problem's variables."""
        return Cycles(net, start, lambda cycle: self.fresh(), self.fresh, self.both,
                      lambda literal: -literal)

    def written(self, more: Iterable[tuple[int, ...]]) -> str:
        """With further clauses, in DIMACS' format."""
        clauses = [*self.clauses, *more]
        return f"p cnf {self.variables} {len(clauses)}\n" + "".join(
            f"{' '.join(map(str, clause))} 0\n".lstrip() for clause in clauses)


def _clause(values: Iterable[Value]) -> list[tuple[int, ...]]:
    """That one of some values is true, as a clause; none if one of them always is."""
    values = list(values)
    return [] if any(value is True for value in values) else [
        tuple(dict.fromkeys(value for value in values if value is not False))]


class _Restated:
    """A design whose proof is restated.

    Parameters
    ----------
    where : str
        Block and property, for messages.
    work : Path
        A folder for files.
    design, script
        As they are proved.
    seconds : float
        As `SECONDS`.
    """

    def __init__(self, where: str, work: Path, design: Design, script: str,
                 seconds: float = SECONDS) -> None:
        self._where, self._work, self._says = where, work, design.labels
        (work / "top.il").write_text(design.rtlil)
        try:
            run_yosys(prepared(script).replace("\n", "; ") + _GATES, work, math.ceil(seconds))
            self._net = Netlist.read(work / "netlist.json")
        except OutOfTimeError:
            raise _OpenError(f"yosys was stopped after {seconds:g} s") from None
        except RuntimeError as error:
            raise UserError(f"{where}: cannot be restated: {error}") from error
        of = {flavor: [name for name, kind in self._net.flavors.items() if kind == flavor]
              for flavor in ("assume", "assert")}
        self._assumed, self._asserted = of["assume"], of["assert"]
        lost = [says for name, (kind, says) in design.labels.items()
                if kind in of and name not in of[kind]]
        if lost:
            raise UserError(f"{where}: cannot be restated: {lost[0]!r} is not among its gates")

    def base(self, cycles: int) -> _Problem:
        """Base, of so many cycles."""
        problem = _Problem("base")
        run = problem.cycles(self._net, "init")
        allowed: Value = True
        for cycle in range(cycles):
            allowed = problem.all([allowed, *self._holds(run, self._assumed, cycle)])
            good = self._holds(run, self._asserted, cycle)
            problem.wrong.append(problem.all([allowed, run.inverse(problem.all(good))]))
            problem.facts += self._said(good, cycle)
        problem.facts.append((allowed, "an assumption"))
        return problem

    def step(self, depth: int) -> _Problem:
        """Step, with so many good cycles before the last."""
        problem = _Problem("step")
        run = problem.cycles(self._net, "free")
        for cycle in range(depth + 1):
            good = self._holds(run, self._asserted, cycle)
            for fact in (*self._holds(run, self._assumed, cycle), *(good if cycle < depth else ())):
                problem.require([fact])
        problem.wrong = [run.inverse(fact) for fact in good]
        problem.facts = self._said(good, depth)
        return problem

    def _holds(self, run: Cycles, names: Sequence[str], cycle: int) -> list[Value]:
        return [run.holds(name, cycle) for name in names]

    def _said(self, facts: Sequence[Value], cycle: int) -> list[tuple[Value, str]]:
        """Assertions with their messages."""
        return [(fact, f"{self._says.get(name, ('', name))[1]} in cycle {cycle}")
                for fact, name in zip(facts, self._asserted, strict=True)]

    def certificate(self, proof: Proof, seconds: float, progress: Callable[[str], None]
                    ) -> Certificate:
        """Solve and check what a proof shows. Raises `UserError` if it is refused."""
        depth = proof.induction
        cycles = proof.depth + 1 if depth is None else depth
        total = Certificate("certified", cycles, depth)
        for problem in [self.base(cycles), *([] if depth is None else [self.step(depth)])]:
            progress(f"{self._where}: certificate, {problem.name}")
            started = time.monotonic()
            lines = self._shown(problem, seconds)
            took = time.monotonic() - started
            clauses = len(problem.clauses) + 1
            words = (f"{problem.name} {problem.variables:,} variables, {clauses:,} clauses, "
                     f"{lines:,} lines of proof")
            total = replace(total, variables=total.variables + problem.variables,
                            clauses=total.clauses + clauses, lines=total.lines + lines,
                            seconds=total.seconds + took,
                            detail=f"{total.detail}; {words}".removeprefix("; "))
        return total

    def _shown(self, problem: _Problem, seconds: float) -> int:
        """The number of lines of the proof that a problem has no solution."""
        refused = f"{self._where}: its certificate is refused"
        solution = self._solution(problem, _clause(problem.wrong), f"{problem.name}.cnf", seconds)
        if solution is not None:
            broken = next(words for fact, words in problem.facts
                          if fact is False or (fact is not True and -fact in solution))
            raise UserError(f"{refused}: {problem.name} has a counterexample: {broken}")
        status, text = self._run(
            [str(compiled(_CHECKER)), f"{problem.name}.cnf", f"{problem.name}.lrat"], seconds,
            f"the check of the proof was stopped after {{}} s at {problem.name}")
        if status or not (found := re.fullmatch(r"verified (\d+)", text.strip())):
            raise UserError(f"{refused}: {(text.splitlines() or ['its checker fails'])[-1]}")
        right = [clause for value, _ in problem.facts for clause in _clause([value])]
        if self._solution(problem, right, "right.cnf", seconds) is None:
            raise UserError(f"{refused}: {problem.name} contradicts itself, and shows nothing")
        return int(found[1])

    def _solution(self, problem: _Problem, more: list[tuple[int, ...]], file: str, seconds: float
                  ) -> set[int] | None:
        """What the solver finds with further clauses, evaluated if it is a solution."""
        (self._work / file).write_text(problem.written(more))
        status, text = self._run([*SOLVER, file, f"{Path(file).stem}.lrat"], seconds,
                                 f"CaDiCaL was stopped after {{}} s at {problem.name}")
        lines = text.splitlines()
        if status == _UNSATISFIABLE and "s UNSATISFIABLE" in lines:
            return None
        if status != _SATISFIABLE:
            raise UserError(f"{self._where}: CaDiCaL fails: {(lines or ['it says nothing'])[-1]}")
        solution = {int(word) for line in lines if line[:2] == "v " for word in line.split()[1:]}
        if any(-literal in solution for literal in solution - {0}) or not all(
                any(literal in solution for literal in clause)
                for clause in (*problem.clauses, *more)):
            raise UserError(f"{self._where}: what CaDiCaL says to solve {problem.name} does not")
        return solution

    def _run(self, command: Sequence[str], seconds: float, late: str) -> tuple[int, str]:
        """Status and words of a program."""
        status, text = run_tool([*command], self._work, child_environment(), seconds)
        if status is None:
            raise _OpenError(late.format(f"{seconds:g}"))
        return status, text
