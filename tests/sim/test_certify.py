# amaranth: UnusedElaboratable=no
"""Certificates: what is restated is what was proved, and whatever is wrong with one is refused."""

import dataclasses
import io
import itertools
import json
import random
import subprocess
import sys
from contextlib import closing

import pytest
from amaranth.hdl import Assert, ClockDomain, Cover, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from rich.console import Console

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.native import compiled
from cyclebound.sim.build.elaborate import OutOfTimeError, leave_unused, ports_of
from cyclebound.sim.describe.block import Block, Configuration, Property
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.netlist.gates import Cycles, Netlist
from cyclebound.sim.proof import certify
from cyclebound.sim.proof.cadical import numbered
from cyclebound.sim.proof.certify import certified
from cyclebound.sim.proof.prove import Certificate, Proof, design_of, script_of
from cyclebound.sim.regression.live import line_of
from cyclebound.sim.regression.plan import Plan, ProofJob, check
from cyclebound.sim.regression.regress import prove_job
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import print_run, read
from cyclebound.sim.report.report import write_report
from cyclebound.sim.run.simulator import Group

pytestmark = pytest.mark.proof


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path_factory, monkeypatch):
    """An empty cache, but for programs."""
    programs = compiled(certify._CHECKER)
    monkeypatch.setattr(certify, "compiled", lambda source: programs)
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path_factory.mktemp("cache")))


class Steps(wiring.Component):
    """Counts the cycles in which ``go`` is set, from 0 to ``top``, and then from 0 again."""

    def __init__(self, *, top):
        self.top = top
        super().__init__({"go": In(1), "count": Out(4)})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.go):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.count == self.top):
                m.d.sync += self.count.eq(0)
        return m


class Table(wiring.Component):
    """Reads a table, whose words are all greater than 4 until something is written."""

    def __init__(self, *, written):
        self._written = written
        super().__init__({"go": In(1), "place": In(2), "count": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Memory(shape=4, depth=4, init=[5, 6, 7, 8])
        reads = words.read_port(domain="comb")
        m.d.comb += [reads.addr.eq(self.place), self.count.eq(reads.data)]
        if self._written:
            writes = words.write_port()
            m.d.comb += [writes.en.eq(self.go), writes.addr.eq(self.place), writes.data.eq(9)]
        return m


def claims(*statements):
    """A property from functions of the checker, each of which makes a statement."""
    class Check(wiring.Component):
        def __init__(self, target):
            super().__init__({"go": In(1), "count": In(4)})

        def elaborate(self, platform):
            m = Module()
            m.d.sync += [statement(self) for statement in statements]
            m.d.sync += Cover(self.count == 1, "one")
            return m

    return Property("claim", "it counts", Check, ({"top": 5},), depth=8, induction=4)


def up_to(limit):
    return lambda c: Assert(c.count <= limit, f"above {limit}")


BLOCK = Block("test.steps", "a counter", Steps, {"small": Configuration({"top": 5})}, (), ())
CLAIM = claims(up_to(5))


def proof(*, induction=2, depth=8, status="proved", **parameters):
    return Proof("test.steps", "claim", "it counts", parameters or {"top": 5}, status=status,
                 depth=depth, induction=induction)


@pytest.mark.each_commit
def test_a_proof_is_certified_and_then_cached(monkeypatch):
    first = certified(proof(), BLOCK, CLAIM)
    found = Certificate(**first.certificate)
    assert (found.status, found.cycles, found.induction) == ("certified", 2, 2)
    assert found.lines > 0 < found.variables < found.clauses
    assert found.detail.startswith("base ")
    assert "; step " in found.detail
    monkeypatch.setattr(certify, "SOLVER", (sys.executable, "-c", "raise SystemExit('none')"))
    assert certified(proof(), BLOCK, CLAIM) == first
    for other in (proof(induction=3), proof(depth=9, induction=None)):
        with pytest.raises(UserError, match=r"CaDiCaL fails: none$"):
            certified(other, BLOCK, CLAIM)


def test_a_bounded_proof_has_a_base_of_its_depth():
    bounded = certified(proof(induction=None, status="bounded"), BLOCK, CLAIM)
    assert (bounded.certificate["cycles"], bounded.certificate["induction"]) == (9, None)
    assert "step" not in bounded.certificate["detail"]


def test_a_proof_that_failed_has_none():
    assert certified(proof(status="failed"), BLOCK, CLAIM).certificate == {}


# -- what is false has none ------------------------------------------------------------------------


@pytest.mark.parametrize(("top", "shown", "words"), [
    (5, {"induction": None, "depth": 6}, "base has a counterexample: above 4 in cycle 6"),
    (5, {}, "step has a counterexample: above 4 in cycle 2"),
])
def test_a_false_property_is_refused(top, shown, words):
    with pytest.raises(UserError, match=rf"^test\.steps: property claim: its certificate is "
                                        rf"refused: {words}$"):
        certified(proof(**shown, top=top), BLOCK, claims(up_to(4)))


def test_base_ends_one_cycle_before_the_counterexample():
    shown = proof(induction=None, depth=5, status="bounded")
    assert certified(shown, BLOCK, claims(up_to(4))).certificate["status"] == "certified"


def test_a_fault_in_the_hardware_is_refused():
    block = catalogue.load().find("noc.arbiter")
    claim, = block.properties

    class Unfair(RoundRobinArbiter):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            rare = Signal(2)  # of four idle cycles in a row, the last one resets the order
            m.d.sync += rare.eq(rare + 1)
            with m.If(rare.all() & (self.requests == 3)):
                m.d.comb += self.grant.eq(1)
            return m

    shown = Proof(block.name, claim.name, claim.says, {"count": 2}, status="proved", depth=12,
                  induction=3)
    assert certified(shown, block, claim).certificate["status"] == "certified"
    broken = dataclasses.replace(block, component=Unfair)
    with pytest.raises(UserError, match=r"refused: (base|step) has a counterexample: "):
        certified(shown, broken, claim)


def test_a_depth_that_does_not_close_is_refused():
    with pytest.raises(UserError, match=r"step has a counterexample: above 5 in cycle 0$"):
        certified(proof(induction=0), BLOCK, CLAIM)


@pytest.mark.parametrize(("written", "limit", "right"), [(False, 8, True), (False, 7, False),
                                                         (True, 9, True), (True, 8, False)])
def test_memories_are_registers(written, limit, right):
    block = dataclasses.replace(BLOCK, component=Table)
    shown = proof(written=written, depth=3, induction=None, status="bounded")
    claim = claims(up_to(limit), lambda c: Assert(c.count > 4, "below 5"))
    if right:
        assert certified(shown, block, claim).certificate["status"] == "certified"
    else:
        with pytest.raises(UserError, match=f"counterexample: above {limit} in cycle "):
            certified(shown, block, claim)
    anywhere = dataclasses.replace(claim, anywhere=True)  # and its words are anything
    with pytest.raises(UserError, match=r"counterexample: (above|below)"):
        certified(shown, block, anywhere)


# -- what the restatement leaves out, or adds ------------------------------------------------------


def changed(monkeypatch, change):
    """Have ``change`` edit each netlist that is read."""
    read = Netlist.read

    def edited(path):
        net = read(path)
        change(net)
        return net

    monkeypatch.setattr(certify.Netlist, "read", edited)


def test_a_register_without_its_gates_is_refused(monkeypatch):
    def cut(net):
        bit, go = net.ports["count"][1], net.ports["go"][0]
        net.registers[bit] = go, net.registers[bit][1]

    changed(monkeypatch, cut)
    with pytest.raises(UserError, match="refused: step has a counterexample: above 5"):
        certified(proof(), BLOCK, CLAIM)


def test_an_assertion_that_is_not_among_the_gates_is_an_error(monkeypatch):
    def lose(net):
        name = next(name for name, flavor in net.flavors.items() if flavor == "assert")
        del net.flavors[name], net.checks[name]

    changed(monkeypatch, lose)
    with pytest.raises(UserError, match=r"cannot be restated: 'above 5' is not among its gates$"):
        certified(proof(), BLOCK, CLAIM)


def test_equal_assertions_are_each_restated():
    twice = claims(up_to(5), up_to(5), lambda c: Assert(c.count < 6, "above 5 too"))
    assert certified(proof(), BLOCK, twice).certificate["status"] == "certified"


def test_what_contradicts_itself_shows_nothing(monkeypatch):
    cycles = certify._Problem.cycles

    def contradiction(self, *given):
        one = self.fresh()
        self.clauses += [(one,), (-one,)]
        return cycles(self, *given)

    monkeypatch.setattr(certify._Problem, "cycles", contradiction)
    with pytest.raises(UserError, match=r"refused: base contradicts itself, and shows nothing$"):
        certified(proof(), BLOCK, CLAIM)


@pytest.mark.thorough
def test_every_clause_that_matters_is_missed(tmp_path, monkeypatch):
    """Without it the problem has a solution, and there is no certificate."""
    restated = certify._Restated("here", tmp_path, design_of(BLOCK, CLAIM, {"top": 5}),
                                 script_of(CLAIM))
    problem = restated.step(2)
    needed = 0
    for number in random.Random(1).sample(range(len(problem.clauses)), 24):
        less = restated.step(2)
        del less.clauses[number]
        if restated._solution(less, certify._clause(less.wrong), "step.cnf", 60) is not None:
            needed += 1
            with pytest.raises(UserError, match="step has a counterexample"):
                restated._shown(less, 60)
    assert needed > 4


# -- what the solver says --------------------------------------------------------------------------


def solver(monkeypatch, program):
    """Have another program in the solver's place; it gets PROBLEM and PROOF as ``sys.argv``."""
    monkeypatch.setattr(certify, "SOLVER", (sys.executable, "-c", f"import sys\n{program}"))


_LIE = """
print("s UNSATISFIABLE")
open(sys.argv[2], "w").write({proof!r})
sys.exit(20)
"""


@pytest.mark.parametrize(("text", "words"), [
    ("", r"base\.lrat: line 1: the proof ends before the empty clause"),
    ("99999 0 0\n", r"base\.lrat: line 1: the clause does not follow by its hints"),
    ("99999 0 1 2 0\n", r"base\.lrat: line 1: .*"),
    ("1 0 0\n", r"base\.lrat: line 1: a new clause must have a new number"),
])
def test_a_solver_that_lies_is_refused(monkeypatch, text, words):
    solver(monkeypatch, _LIE.format(proof=text))
    with pytest.raises(UserError, match=f"its certificate is refused: {words}$"):
        certified(proof(induction=None, status="bounded"), BLOCK, claims(up_to(4)))


@pytest.mark.parametrize(("program", "words"), [
    ("print('s SATISFIABLE'); print('v 1 -1 0'); sys.exit(10)",
     "what CaDiCaL says to solve base does not"),
    ("print('s SATISFIABLE'); print('v 1 0'); sys.exit(10)",
     "what CaDiCaL says to solve base does not"),
    ("print('s UNSATISFIABLE'); sys.exit(0)", "CaDiCaL fails: s UNSATISFIABLE"),
    ("sys.exit(20)", "CaDiCaL fails: it says nothing"),
    ("raise MemoryError", "CaDiCaL fails: MemoryError"),
])
def test_a_solver_that_fails_is_an_error(monkeypatch, program, words):
    solver(monkeypatch, program)
    with pytest.raises(UserError, match=f"^test.steps: property claim: {words}$"):
        certified(proof(), BLOCK, CLAIM)


def test_what_takes_too_long_is_open_and_not_kept(monkeypatch):
    with monkeypatch.context() as patch:
        solver(patch, "import time; time.sleep(60)")
        left = certified(proof(), BLOCK, CLAIM, seconds=0.5)
    assert str(Certificate(**left.certificate)) == (
        "not certified: CaDiCaL was stopped after 0.5 s at base")
    assert certified(proof(), BLOCK, CLAIM).certificate["status"] == "certified"


def test_what_is_too_large_is_open(monkeypatch):
    monkeypatch.setattr(certify, "_MOST", 10)
    left = certified(proof(), BLOCK, CLAIM)
    assert left.certificate["detail"] == "step has more than 10 clauses"

    def late(script, folder, seconds):
        raise OutOfTimeError(f"{seconds}")

    monkeypatch.setattr(certify, "run_yosys", late)
    left = certified(proof(), BLOCK, CLAIM)
    assert left.certificate["detail"] == "yosys was stopped after 120 s"


def test_without_the_solver_there_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(certify.importlib.util, "find_spec", lambda name: None)
    words = r"^certificates need CaDiCaL: pip install 'cyclebound\[certify\]'$"
    with pytest.raises(UserError, match=words):
        certified(proof(), BLOCK, CLAIM)
    with pytest.raises(UserError, match=words):
        check(Plan([catalogue.load().find("noc.arbiter")], tmp_path, certify=True))


# -- the checker of proofs -------------------------------------------------------------------------


def satisfiable(clauses, variables):
    return any(all(any((literal > 0) == bits[abs(literal) - 1] for literal in clause)
                   for clause in clauses)
               for bits in itertools.product((False, True), repeat=variables))


def checked(folder, clauses, lines, variables=6):
    """Status and words of the checker."""
    (folder / "p.cnf").write_text(f"p cnf {variables} {len(clauses)}\n" + "".join(
        " ".join(map(str, [*clause, 0])) + "\n" for clause in clauses))
    (folder / "p.lrat").write_text("".join(f"{line}\n" for line in lines))
    done = subprocess.run([certify.compiled(certify._CHECKER), "p.cnf", "p.lrat"], cwd=folder,
                          capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def refuted(folder, clauses, variables=6):
    """The lines of CaDiCaL's proof, or None."""
    checked(folder, clauses, [], variables)
    done = subprocess.run([*certify.SOLVER, "p.cnf", "s.lrat"], cwd=folder, capture_output=True)
    return (folder / "s.lrat").read_text().splitlines() if done.returncode == 20 else None


def clauses_of(rng, count, variables=6):
    return [[rng.choice((1, -1)) * variable
             for variable in rng.sample(range(1, variables + 1), rng.choice((1, 2, 3, 3, 3)))]
            for _ in range(count)]


SMALL = [[1, 2], [1, -2], [-1, 3], [-1, -3]]
SHOWN = ["5 1 0 1 2 0", "6 0 5 3 4 0"]


@pytest.mark.parametrize(("lines", "words"), [
    (SHOWN, "verified 2"),
    ([SHOWN[0], "5 d 1 2 0", SHOWN[1], "what comes later is not read"], "verified 3"),
    (SHOWN[:1], "p.lrat: line 2: the proof ends before the empty clause"),
    (SHOWN[1:], "p.lrat: line 1: a hint is no clause, or was deleted"),
    ([SHOWN[0], "5 d 3 0", SHOWN[1]], "p.lrat: line 3: a hint is no clause, or was deleted"),
    (["5 1 0 1 0"], "p.lrat: line 1: the clause does not follow by its hints"),
    (["5 0 1 0"], "p.lrat: line 1: a hint leaves more than one literal"),
    (["5 1 0 1 1 0"], "p.lrat: line 1: a hint says nothing new"),
    (["5 1 0 1 2 3 0"], "p.lrat: line 1: hints follow after the clause has been shown"),
    (["5 1 0 -1 2 0"], "p.lrat: line 1: a RAT step, which is not understood"),
    (["4 1 0 1 2 0"], "p.lrat: line 1: a new clause must have a new number"),
    (["5 d 9 0"], "p.lrat: line 1: what is deleted is no clause"),
    (["5 9 0 1 2 0"], "p.lrat: line 1: no variable has this number"),
    (["5 1 0 1 2"], "p.lrat: line 1: a number is missing"),
    (["5 1 0 1 2x 0"], "p.lrat: line 1: a number is cut short"),
    (["5 99999999999999999999 0"], "p.lrat: line 1: a number is too large"),
])
def test_each_line_of_a_proof_is_checked(tmp_path, lines, words):
    assert checked(tmp_path, SMALL, lines) == (not words.startswith("verified"), words)


@pytest.mark.parametrize(("text", "words"), [
    ("p cnf 2 2\n1 2 0\n", "p.cnf: line 3: a number is missing"),
    ("p cnf 2 1\n1 2 0\n0\n", "p.cnf: line 3: there are more clauses than the file says"),
    ("p cnf 1 1\n1 2 0\n", "p.cnf: line 2: no variable has this number"),
    ("1 2 0\n", "p.cnf: line 1: the file must begin with `p cnf VARIABLES CLAUSES`"),
    ("c only words", "p.cnf: line 1: the problem is missing"),
    ("p cnf 2 1\n0\n", "verified 0"),
])
def test_the_problem_is_read_as_it_is_written(tmp_path, text, words):
    (tmp_path / "p.cnf").write_text(text)
    (tmp_path / "p.lrat").write_text("")
    done = subprocess.run([certify.compiled(certify._CHECKER), "p.cnf", "p.lrat"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert (done.stdout + done.stderr).strip() == words


@pytest.mark.parametrize("seed", [
    0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 20))])
def test_proofs_are_of_what_has_no_solution(tmp_path, seed):
    """CaDiCaL's are accepted; without a clause that matters, no edit of one is."""
    rng = random.Random(seed)
    accepted = refused = 0
    for _ in range(3):
        clauses = clauses_of(rng, 26)
        lines = refuted(tmp_path, clauses)
        assert (lines is None) == satisfiable(clauses, 6)
        if lines is None:
            continue
        for clause in [*clauses]:  # until each of them matters
            if not satisfiable(less := [other for other in clauses if other is not clause], 6):
                clauses = less
        lines = refuted(tmp_path, clauses)
        assert checked(tmp_path, clauses, lines)[0] == 0
        accepted += 1
        for gone in range(min(3, len(clauses))):  # its number is kept
            less = [[1, -1] if number == gone else clause for number, clause in enumerate(clauses)]
            assert satisfiable(less, 6)
            for edit in range(4):
                edited = [*lines]
                if edit:
                    words = edited[number := rng.randrange(len(edited))].split()
                    words[rng.randrange(1, len(words))] = str(rng.randint(-30, 30))
                    edited[number] = " ".join(words)
                assert checked(tmp_path, less, edited)[0] == 1
                refused += 1
    assert accepted
    assert refused


def test_lines_that_are_gone_are_missed(tmp_path):
    clauses = [[sign * variable for sign, variable in zip(signs, (1, 2, 3, 4), strict=True)]
               for signs in itertools.product((1, -1), repeat=4)]
    lines = refuted(tmp_path, clauses)
    added = [number for number, line in enumerate(lines) if line.split()[1] != "d"]
    assert len(added) > 5
    gone = [checked(tmp_path, clauses, [*lines[:number], *lines[number + 1:]])[0]
            for number in added]
    assert sum(gone) > len(gone) // 2
    assert gone[-1] == 1


def test_clauses_are_numbered_as_in_the_problem():
    # CaDiCaL has made clause 3 before it read the third one
    assert numbered("3 7 0 2 1 0\n3 d 2 0\n5 0 3 4 0\n", 3) == "4 7 0 2 1 0\n4 d 2 0\n5 0 4 3 0\n"


# -- the gates are those of the hardware -----------------------------------------------------------


def gates_of(block, claim, folder):
    """The gates, the bits of all outputs, and the component."""
    parameters = claim.instances[0]
    restated = certify._Restated("here", folder, design_of(block, claim, parameters),
                                 script_of(claim))
    top = json.loads((folder / "netlist.json").read_text())["modules"]["top"]
    return (restated._net, top["ports"]["outputs"]["bits"],
            claim.top(**parameters) if claim.top else block.make(parameters))


def compare(net, outputs, component, cycles, seed):
    """Compare outputs of gates with those of Amaranth's simulator; the number of comparisons."""
    rng, compared, bits = random.Random(seed), 0, {}
    # Amaranth's simulator resets what a port of a memory has read, and its RTLIL does not
    resets = 0 if any(init is None for _, init in net.registers.values()) else 0.1
    ins, outs = ports_of(component, In), ports_of(component, Out)
    widths = {name: len(Value.cast(value)) for name, value in (*ins, *outs)}
    drawn = [{"rst": [rng.random() < resets], **{name: [rng.random() < 0.5 for _ in range(width)]
                                              for name, width in widths.items()}}
             for _ in range(cycles)]
    place = 0
    for name, _ in ins:
        for number in range(widths[name]):
            bits["inputs", place] = name, number
            place += 1

    def fresh(name):
        number, _, cycle = name.removeprefix("b").partition("@")
        name, place = bits.get(net.inputs.get(int(number)), ("", 0))
        return bool(name) and drawn[int(cycle)][name][place]

    run = Cycles(net, "init", lambda cycle: drawn[cycle]["rst"][0], fresh,
                 lambda one, other: one and other, lambda one: not one)
    domain = ClockDomain("sync")
    top = Module()
    top.domains += domain
    top.submodules.dut = component

    async def bench(ctx):
        nonlocal compared
        for cycle, given in enumerate(drawn):
            ctx.set(domain.rst, given["rst"][0])
            for name, value in ins:
                ctx.set(Value.cast(value), sum(bit << at for at, bit in enumerate(given[name])))
            at = 0
            for name, value in outs:
                got = [bit == "1" if isinstance(bit, str) else bool(run.value(bit, cycle))
                       for bit in outputs[at:at + widths[name]]]
                wanted = ctx.get(Value.cast(value))
                assert got == [bool(wanted >> place & 1) for place in range(len(got))], (
                    f"{name} in cycle {cycle}")
                at, compared = at + widths[name], compared + len(got)
            await ctx.tick()

    simulator = Simulator(top)
    simulator.add_clock(1e-6, domain="sync")
    simulator.add_testbench(bench)
    simulator.run()
    return compared


REAL = [(block, claim) for block in catalogue.load() for claim in block.properties
        if claim.quick and not claim.any_product and not claim.anywhere]
SOME = {"noc.arbiter", "sram.banked_memory"}


@pytest.mark.parametrize(("block", "claim"), [
    pytest.param(block, claim, id=f"{block.name}-{claim.name}",
                 marks=[] if block.name in SOME else [pytest.mark.thorough])
    for block, claim in REAL])
def test_gates_do_what_the_component_does(tmp_path, block, claim):
    net, outputs, component = gates_of(block, claim, tmp_path)
    try:
        assert compare(net, outputs, component, 40, 1) >= 40
    finally:
        leave_unused(component)


def test_gates_that_do_something_else_differ(tmp_path):
    block = catalogue.load().find("noc.arbiter")
    net, outputs, component = gates_of(block, block.properties[0], tmp_path)
    with pytest.raises(AssertionError, match=r"grant in cycle \d+"):
        compare(net, [*reversed(outputs)], component, 40, 1)


def test_a_bit_of_several_names_has_the_first_value_that_one_of_them_says(tmp_path):
    """As after two equal registers have become one."""
    wires = {name: {"bits": [2], "attributes": {"init": init}}
             for name, init in (("a", "1"), ("b", "x"))}
    cell = {"type": "$_FF_", "connections": {"D": [3], "Q": [2]}, "parameters": {}}
    (tmp_path / "n.json").write_text(json.dumps({"modules": {"top": {
        "netnames": wires, "ports": {}, "cells": {"c": cell}}}}))
    assert Netlist.read(tmp_path / "n.json").registers == {2: (3, True)}


# -- what is said of it ----------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_worker_certifies_what_it_proves():
    wanted = ProofJob("noc.arbiter", "fair", {"count": 2})
    plain, found = (prove_job(wanted, (), certify=certify) for certify in (False, True))
    assert (plain.certificate, found.status) == ({}, "proved")
    assert found.certificate["status"] == "certified"


def test_a_worker_hands_back_that_a_certificate_is_refused(monkeypatch):
    wanted = ProofJob("noc.arbiter", "fair", {"count": 2})
    monkeypatch.setattr("cyclebound.sim.regression.regress.prove",
                        lambda block, claim, parameters, identity: dataclasses.replace(
                            FAIR, parameters=parameters))
    solver(monkeypatch, _LIE.format(proof=""))
    found = prove_job(wanted, (), certify=True)
    assert (found.status, found.certificate) == ("failed", {})
    assert found.detail.startswith("noc.arbiter: property fair: its certificate is refused: base.")


FAIR = Proof("noc.arbiter", "fair", "it is fair", {"count": 2}, status="proved", depth=12,
             induction=3, claims=[("grant", {"requesters": 2}, 2)])
DONE = dataclasses.replace(FAIR, certificate=dataclasses.asdict(
    Certificate("certified", 3, 3, 1302, 3730, 1473, 0.5, "base ...; step ...")))
LATE = dataclasses.replace(FAIR, certificate=dataclasses.asdict(
    Certificate("open", detail="CaDiCaL was stopped after 120 s at step")))


@pytest.mark.parametrize(("proof", "line", "domain"), [
    (FAIR, "", "fair for count 2"),
    (DONE, ": certified: 1,302 variables, 3,730 clauses, 1,473 lines of proof, 0.5 s",
     "fair (certified) for count 2"),
    (LATE, ": not certified: CaDiCaL was stopped after 120 s at step", "fair for count 2"),
])
def test_a_row_says_whether_its_proof_is_certified(proof, line, domain):
    assert str(line_of(proof)).endswith(f"noc.arbiter property fair (count=2){line}")
    block = catalogue.load().find("noc.arbiter")
    block = dataclasses.replace(block, configurations={"two": Configuration({"count": 2})})
    seen = [("noc.arbiter/two/cycle/1", Group("grant", {"requesters": 2}, 2, 1, 0, 1, "t"))]
    row = judge(block, "two", seen, [proof])[0]
    assert (row.evidence, row.domain) == ("proved", f"{domain}, requesters 2")


def test_results_table_and_report_say_it(tmp_path):
    with closing(Results(tmp_path, create=True)) as results:
        for number, proof in enumerate((FAIR, DONE, LATE)):
            results.proof(dataclasses.replace(proof, parameters={"count": number}))
        assert results.rows("proof")[1]["certificate"] == DONE.certificate
        text = io.StringIO()
        print_run(read(tmp_path), Console(file=text, width=200))
        assert text.getvalue().splitlines()[-1] == (
            "certified: 1 of 2 proofs, with 1,473 lines that a checker has followed; not: "
            "noc.arbiter property fair (count=2)")
        assert json.loads(read(tmp_path).as_json())["proofs"][1]["certificate"]["lines"] == 1473
        page = write_report(tmp_path).read_text()
        assert page.count("certified: 1,302 variables, ") == 1
        assert page.count("not certified: CaDiCaL was stopped after 120 s at step") == 1
        results.proof(dataclasses.replace(DONE, certificate={**DONE.certificate, "lines": "many"}))
        with pytest.raises(UserError, match="lines of certificate of proof row 3 must be a whole"):
            results.rows("proof")
