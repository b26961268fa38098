"""Does the regression find faults? Each mutant of the RTL has to fail, the RTL itself to pass.

Three ways, each alone: the golden model and the bounds, cycle by cycle; the same run watched by the
bound checker; and the bound checkers in a bounded proof, without any testbench or model.
"""

import re

import pytest
from amaranth.hdl import Const, Cover

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import Property
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.noc.arbiter_properties import RoundRobinCheck
from cyclebound.tb.sram.banked_memory_properties import BankedMemoryCheck, BankedMemoryDataCheck
from cyclebound.tb.systolic.output_stationary_properties import (
    OutputStationaryCheck,
    OutputStationaryProductCheck,
)

from .mutants import (
    ARBITER,
    ARRAY,
    DRAM,
    EQUIVALENT,
    MEMORY,
    MUTANTS,
    RESET,
    Mutant,
    component_of,
    run_mutant,
    with_fault,
)

LIMIT = 20_000  # cycles of a test: the longest that pass take a third of it
FIRED = "asserted by top.check"
MEMORY_SHAPE = {"banks": 2, "requesters": 2, "words": 2, "word_bytes": 2}
ARRAY_SHAPE = {"rows": 2, "columns": 2, "operand_width": 2, "accumulator_width": 6}
CHECKS = {  # checker, parameters, cycles of the bounded proof; invariants are left out
    ARBITER: ((RoundRobinCheck, {"count": 3}, 8),),
    MEMORY: ((BankedMemoryCheck, MEMORY_SHAPE, 6), (BankedMemoryDataCheck, MEMORY_SHAPE, 6)),
    ARRAY: ((OutputStationaryCheck, ARRAY_SHAPE, 10),
            (OutputStationaryProductCheck, ARRAY_SHAPE, 10)),
}


def covering(checker):
    """A checker that covers something: that it is reached is proved with the block's properties."""

    class Covering(checker):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            m.d.sync += Cover(Const(1), "a cycle")
            return m

    return Covering


def regression(name, mutant, folder, *, watched, limit=LIMIT):
    """The per-cycle testbench on the block's first configuration: why it fails, or nothing."""
    mutants = tuple(listed for listed in (*MUTANTS, *DRAM, *EQUIVALENT, *RESET)
                    if listed.block == name)
    block, outcome = run_mutant(name, mutants, mutant, folder, watched=watched, max_cycles=limit)
    configuration, _ = block.configuration(None)
    assert "Traceback" not in outcome.reason
    verdicts = judge(block, configuration, [(outcome.name, group) for group in outcome.groups])
    broken = [f"{row.what}: {row.verdict}" for row in verdicts
              if row.verdict in ("violated", "not covered")]
    if outcome.passed:
        assert outcome.compared > 1000
        broken += [f"{row.what}: {row.verdict}" for row in verdicts if row.failed]
    return "; ".join(filter(None, [outcome.reason, *broken]))


@pytest.mark.unit
@pytest.mark.parametrize("name", CHECKS)
def test_there_are_mutants_of_every_block(name):
    names = [mutant.name for mutant in MUTANTS if mutant.block == name]
    assert len(set(names)) == len(names) >= 5


@pytest.mark.unit
@pytest.mark.parametrize("mutant", [*MUTANTS, *DRAM, *EQUIVALENT, *RESET], ids=str)
def test_edit_fits_the_rtl(mutant):
    assert component_of(catalogue.load().find(mutant.block), mutant) is not None


@pytest.mark.unit
def test_edit_that_does_not_fit_says_so():
    for old, found in (("no such text", 0), ("with m.Else", 2)):
        message = (f"^mutant {ARBITER}: some edit: the text to edit must occur once, "
                   f"not {found} times: '{old}'$")
        with pytest.raises(ValueError, match=message):
            component_of(catalogue.load().find(ARBITER), Mutant(ARBITER, "some edit", old, "x"))


@pytest.mark.unit
def test_mutant_is_a_class_of_its_own():
    made = component_of(catalogue.load().find(ARBITER), None)
    assert made is not RoundRobinArbiter
    assert made.__name__ == RoundRobinArbiter.__name__


def some(mutants, *names):
    """Each of a kind; the others take a simulator or a proof apiece, and run on request."""
    assert set(names) <= {mutant.name for mutant in mutants}
    return pytest.mark.parametrize("mutant", [
        mutant if mutant.name in names else pytest.param(mutant, marks=pytest.mark.thorough)
        for mutant in mutants], ids=str)


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("name", CHECKS)
def test_rtl_without_a_fault_passes(tmp_path, name):
    assert regression(name, None, tmp_path, watched=True) == ""


@pytest.mark.cosim
@some(EQUIVALENT)
def test_edit_that_cannot_be_seen_passes(tmp_path, mutant):
    assert regression(mutant.block, mutant, tmp_path, watched=True) == ""


@pytest.mark.cosim
@some(MUTANTS, "pointer lost when idle")
def test_golden_model_finds(tmp_path, mutant):
    reason = regression(mutant.block, mutant, tmp_path, watched=False)
    assert re.search("expected|an end without a request", reason)  # a probe may be earlier
    assert FIRED not in reason


@pytest.mark.cosim
@some(DRAM, "an interval too long")
def test_golden_model_of_the_dram_path_finds(tmp_path, mutant):
    reason = regression(mutant.block, mutant, tmp_path, watched=False, limit=200_000)
    assert re.search(r"expected|violated|an end without a request", reason)
    assert FIRED not in reason


@pytest.mark.each_commit
@pytest.mark.cosim
@some([mutant for mutant in MUTANTS if mutant.watched],
      "grant not held")
def test_bound_checker_stops_the_regression(tmp_path, mutant):
    assert FIRED in regression(mutant.block, mutant, tmp_path, watched=True)


@pytest.mark.proof
@some([mutant for mutant in RESET if mutant.says], "complete is not reset")
def test_reset_in_mid_run_is_part_of_proofs(tmp_path, mutant):
    block = with_fault(catalogue.load().find(mutant.block), mutant, watched=True, max_cycles=LIMIT)
    claim = block.properties[0]
    found = prove(block, claim, claim.instances[0], folder=tmp_path)
    assert found.status == "failed"
    assert re.search(mutant.says, found.detail)


@pytest.mark.cosim
@some([mutant for mutant in RESET if not mutant.says], "is_open is not reset")
def test_reset_in_mid_run_is_part_of_testbenches(tmp_path, mutant):
    reason = regression(mutant.block, mutant, tmp_path, watched=True, limit=200_000)
    assert re.match(r"reset_in_mid_run: (cycle \d+: .* expected|.*asserted by)", reason), reason
    assert regression(mutant.block, None, tmp_path, watched=True, limit=200_000) == ""


@pytest.mark.proof
@some(MUTANTS, "pointer lost when idle", "pointer off by one", "response to a write",
      "a row less of results")
def test_bound_checkers_alone_find_what_breaks_a_claim(tmp_path, mutant):
    block = with_fault(catalogue.load().find(mutant.block), mutant, watched=True, max_cycles=LIMIT)
    found = []
    for checker, parameters, depth in CHECKS[mutant.block]:
        claim = Property(checker.__name__, "", covering(checker), (parameters,), depth=depth,
                         induction=None)
        found.append(prove(block, claim, parameters, folder=tmp_path))
        if found[-1].status == "failed":
            break
    if mutant.says:
        assert found[-1].status == "failed"
        assert re.search(mutant.says, found[-1].detail)
    else:
        assert [proof.status for proof in found] == ["bounded"] * len(CHECKS[mutant.block])
