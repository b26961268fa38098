# amaranth: UnusedElaboratable=no
"""Figure 6's graph: parameters, and what the paper's figure comes to."""

import pytest

from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.compute_unit import ComputeUnitModel
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.control_unit import ControlUnitModel
from cyclebound.golden.dataflow.diamond import DiamondModel
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.hdl.dataflow.diamond import Diamond
from cyclebound.tb.dataflow import diamond_properties as properties
from kit.faults import edited
from kit.planted import refuted
from kit.puppet import Puppet, show

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^delay must be from 0 to 16, not 17$"):
        Diamond(depth=2, tid_width=8, delay=17)


def test_model_and_bounds():
    assert DiamondModel(1, 2, 3).product_of(10) == 11 * 15
    assert DiamondModel(1, 0, 0).product_of(2**32 - 1) == 0
    assert bounds.diamond_balanced(threads=1, stages=9) == 34
    assert bounds.diamond_unbalanced(threads=1, stages=9) == 34
    assert (bounds.diamond_unbalanced(threads=1001, stages=9)
            - bounds.diamond_unbalanced(threads=1, stages=9)) == 2000


def cycles(depth, slots, threads):
    """From the first token to the last result, by the units' models."""
    left, first, second = (ComputeUnitModel(depth=depth, operation=Operation.ADD,
                                            literals={1: value}) for value in (1, 2, 3))
    multiplier = ComputeUnitModel(depth=depth, operation=Operation.MUL)
    delay = ControlUnitModel(depth=2, function=Control.DELAY, operands=(0,), slots=slots)
    sent, served, cycle, results = 0, [False, False], 0, 0
    while True:
        x = (sent % 256, sent) if sent < threads else None
        offers = [None if already else x for already in served]
        takes = [offer is not None and unit.takes(0, offer[0])
                 for unit, offer in zip((left, first), offers, strict=True)]
        paths = [delay.token if slots else left.shown, second.shown]
        met = [token is not None and multiplier.takes(k, token[0])
               for k, token in enumerate(paths)]
        summed, shown = first.shown, left.shown
        on = summed is not None and second.takes(0, summed[0])
        results += multiplier.shown is not None
        cycle += 1
        if results == threads:
            return cycle
        multiplier.step([*paths, None], True)
        second.step([summed, None, None], met[1])
        first.step([offers[1], None, None], on)
        held = slots and shown is not None and delay.takes(0, shown[0])
        if slots:
            delay.step([shown, None, None], [met[0], True])
        left.step([offers[0], None, None], held if slots else met[0])
        served = [already or taken for already, taken in zip(served, takes, strict=True)]
        if x is not None and all(served):
            sent, served = sent + 1, [False, False]


@pytest.mark.parametrize(("depth", "slots", "took"), [
    (2, 0, 542), (2, 11, 344), (2, 12, 333), (16, 0, 333)])
def test_what_delays_and_entries_are_good_for(depth, slots, took):
    assert cycles(depth, slots, 300) == took
    assert took >= bounds.diamond_balanced(threads=300, stages=9) == 333
    assert took <= bounds.diamond_unbalanced(threads=300, stages=9) == 632


def item(port, tid, data, *, ready=1):
    return {f"{port}.valid": 1, f"{port}.ready": ready, f"{port}.payload": {"tid": tid,
                                                                          "data": data}}


def watch(*cycles):
    """With a = 1, b = 2, c = 3, the first item's number follows from its data: 0 of 128 here."""
    puppet = Puppet(Diamond(depth=2, tid_width=8))
    constants = {"a": 1, "b": 2, "c": 3}
    show(puppet, properties.DiamondCheck(puppet), *({**constants, **cycle} for cycle in cycles))


X, PRODUCT = item("x", 7, 128), item("product", 7, 129 * 133)


def test_checker_is_quiet_without_a_fault():
    watch(X, item("x", 8, 9), {}, PRODUCT, item("product", 8, 1))


@pytest.mark.parametrize(("cycles", "says"), [
    ([PRODUCT], "a product of no thread"),
    ([X, PRODUCT, PRODUCT], "a product of no thread"),
    ([X] * 128, "too many inside"),
    ([X, item("product", 6, 129 * 133)], "a thread out of order"),
    ([X, item("product", 7, 129 * 132)], "not the product"),
    ([X, item("product", 7, 129 * 133, ready=0), {}], "product: offer withdrawn or changed")])
def test_checker_fires(only, cycles, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        watch(*cycles)


def test_checker_names_constants_that_change():
    with pytest.raises(AssertionError,
                       match=r"^Assumption violated: owed: constants changed under a thread$"):
        watch(X, {"a": 2})


@pytest.mark.proof
@pytest.mark.thorough
def test_the_proof_finds_threads_that_change_places(monkeypatch):
    """Identifiers move on while a result waits."""
    faulty = edited("cyclebound.hdl.dataflow.compute_unit", (
        "            with m.If(fma.operands.ready):\n                m.d.sync += held.eq(tid)",
        "            m.d.sync += held.eq(tid)"))
    monkeypatch.setattr("cyclebound.hdl.dataflow.diamond.ComputeUnit", faulty.ComputeUnit)
    assert "product: offer withdrawn or changed" in refuted("dataflow.diamond", "order")
