# amaranth: UnusedElaboratable=no
"""Reciprocal unit: RTL against golden model, its checkers and its harness against faults."""

import dataclasses
import random

import numpy as np
import pytest
from amaranth.hdl import Mux, Signal

from cyclebound.golden.simd.arithmetic_bounds import execute_result, execute_stream
from cyclebound.golden.simd.special_functions import evaluate
from cyclebound.golden.simd.special_tables import NAN, SpecialFunction
from cyclebound.hdl.simd.execute_harness import SpecialFunctionsHarness
from cyclebound.hdl.simd.special_functions import SpecialFunctions
from cyclebound.hdl.simd.step_pipeline import registered_after
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.simd import execute
from cyclebound.tb.simd.special_functions import NAMES, SIGN, SPECIAL
from cyclebound.tb.simd.special_functions_properties import (
    SpecialFunctionsRangeCheck,
)
from kit.run_bench import run_bench

from ..sim.mutant_tests import mutant_tests
from ..sim.mutants import Mutant

unit = pytest.mark.unit
UNIT = "simd.special_functions"
MUTANTS = (
    Mutant(UNIT, "halves rounded down", "kept[1:] + kept[0])", "kept[1:])"),
    Mutant(UNIT, "a cosine begins with a sine's quarter", '+ folded + v["cosine"]', "+ folded"),
    Mutant(UNIT, "subnormal results not shifted", '"kept": kept >> back', '"kept": kept'),
    Mutant(UNIT, "a carry between words lost", "middle = v[\"part_1\"] + low[_WORD:]",
           "middle = v[\"part_1\"]"),
    Mutant(UNIT, "distance not folded", "Mux(folded, ~fraction, fraction)", "fraction"),
    Mutant(UNIT, "exponent's parity of roots", "Mux(exponent[0], 2, 1)", "Mux(exponent[0], 1, 2)"),
    Mutant(UNIT, "small angles go the long way", "Mux(circular, small, zero | infinite)",
           "Mux(circular, 0, zero | infinite)"),
    Mutant(UNIT, "a result too early", "self.done.eq(valid[-1])", "self.done.eq(valid[-2])"),
)


def operations(seed, count):
    rng = random.Random(seed)
    made = [(function, operand | sign) for function in SpecialFunction for operand in SPECIAL
            for sign in (0, SIGN)]
    return made + [(rng.randrange(4), rng.randrange(0x3900_0000, 0x7F80_0000))
                   for _ in range(count)]


@unit
def test_stages_are_checked():
    for bad in (0, -1, 12):
        with pytest.raises(ValueError, match=f"^stages must be from 1 to 11, not {bad}$"):
            SpecialFunctions(stages=bad)
    for bad in (1.5, "5", None, True):
        with pytest.raises(TypeError, match=f"^stages must be an integer, not {bad!r}$"):
            SpecialFunctions(stages=bad)


@unit
@pytest.mark.parametrize("steps", [1, 2, 11, 13])
def test_there_are_as_many_registers_as_stages(steps):
    for stages in range(1, steps + 1):
        places = [number for number in range(1, steps + 1)
                  if registered_after(number, stages=stages, steps=steps)]
        assert len(places) == stages
        assert places[-1] == steps
        gaps = [after - before for before, after in zip([0, *places], places, strict=False)]
        assert max(gaps) - min(gaps) <= 1


@unit
@pytest.mark.parametrize("stages", [1, 5, 11])
def test_rtl_is_bit_equal_to_the_golden_model(play, stages):
    steps = operations(stages, 60)
    expected = [int(evaluate(function, np.array([operand], np.uint32))[0])
                for function, operand in steps]
    assert play(SpecialFunctions(stages=stages), NAMES, steps) == expected


@unit
def test_latency_bounds():
    assert execute_result.of({"stages": 5}) == 6
    assert execute_stream.of({"stages": 5, "operations": 8}) == 13


@unit
@pytest.mark.parametrize(("says", "fault"), [
    ("a result at the wrong time", lambda m, inner, outer: m.d.comb.__iadd__(outer.done.eq(0))),
    ("an invalid operation has a result",
     lambda m, inner, outer: m.d.comb.__iadd__(outer.result.eq(
         Mux(inner.result == NAN, 0x7F80_0000, inner.result)))),
    ("NaN of a valid operation", lambda m, inner, outer: m.d.comb.__iadd__(outer.result.eq(NAN))),
    ("wrong sign", lambda m, inner, outer: m.d.comb.__iadd__(
        outer.result.eq(Mux(inner.result == NAN, NAN, inner.result[:-1])))),
    ("greater than 1", lambda m, inner, outer: m.d.comb.__iadd__(outer.result.eq(
        inner.result + (inner.result == 0x3F80_0000)))),  # of the cosine of 0
], ids=lambda value: value if isinstance(value, str) else "")
def test_checkers_fire(play, tampered, says, fault):
    dut = tampered(SpecialFunctions(stages=5), fault)
    with pytest.raises(AssertionError, match=says):
        play(dut, NAMES, operations(1, 50), SpecialFunctionsRangeCheck(dut))


@unit
def test_checkers_are_quiet(play):
    dut = SpecialFunctions(stages=5)
    assert len(play(dut, NAMES, operations(1, 50), SpecialFunctionsRangeCheck(dut))) > 200


@pytest.mark.proof
def test_a_result_that_comes_late_is_disproved(tampered, tmp_path):
    def late(m, inner, outer):
        done = Signal()
        m.d.sync += done.eq(inner.done)
        m.d.comb += outer.done.eq(done)

    block = catalogue.load().find(UNIT)
    claim = dataclasses.replace(
        block.properties[0], depth=4, induction=None,
        top=lambda stages: tampered(SpecialFunctions(stages=stages), late))
    found = prove(block, claim, {"stages": 1}, folder=tmp_path)
    assert found.status == "failed"
    assert "a result at the wrong time" in found.detail


class _Unit:
    """Stands in for bench and harness: sums of results, one of which is wrong."""

    class _Outputs:
        @staticmethod
        def unpack(word):
            return word

    class _Inputs(dict):
        @staticmethod
        def pack(values):
            return values["count"]

        def __missing__(self, name):
            return type("Field", (), {"mask": 0})

    def __init__(self, values, more):
        self.compared, self.seen = 0, []
        self.inputs, self.outputs = self._Inputs(), self._Outputs()
        self.results, self.more = values, more

    async def step(self, word):
        self.count = word

    def drive(self, word):
        pass

    async def run_until(self, name, poll):
        total, weighted = execute._sums(self.results[:self.count])
        return {"sum": total, "weighted": weighted, "results": self.count, "fault": 0,
                "minimum": 5, "maximum": 5, "cycles": self.count + 4} | self.more

    def declare(self, what, **parameters):
        self.seen.append((what, parameters))

    def undeclare(self, what):
        self.seen.append((what, None))

    def compare(self, seen, expected, what, *, count):
        assert seen == expected, what
        self.compared += count


def measured(count=1000, wrong=None, **more):
    results = evaluate(SpecialFunction.SIN, execute._progression(0, count)).astype(np.uint64)
    if wrong is not None:
        results[wrong] ^= 1
        results[wrong + 1] ^= 2
    bench = _Unit(results, more)
    with pytest.raises(StopIteration):
        execute.measure(bench, SpecialFunction.SIN, count, evaluate).send(None)
    return bench


@unit
@pytest.mark.parametrize(("count", "alone"), [(1000, True), (1001, False)])
def test_a_measurement_observes_its_operations(count, alone):
    bench = measured(count)
    assert bench.seen[:alone] == [("result", {})][:alone]
    assert bench.seen[alone:] == [
        ("stream", {"operations": count}), ("result", None), ("stream", None)]
    assert bench.compared == count


@unit
@pytest.mark.parametrize("wrong", [0, 1, 499, 998])
def test_a_measurement_finds_the_first_wrong_result(wrong):
    operand = int(execute._progression(0, 1000)[wrong])
    with pytest.raises(AssertionError, match=f"^operation 2 of {operand:#010x}: not 0x"):
        measured(wrong=wrong)


@unit
@pytest.mark.parametrize(("more", "says"), [
    ({"fault": 1}, "a result without an operation"), ({"minimum": 4}, "latencies differ"),
    ({"results": 999}, "999 results of 1000 operations")])
def test_a_measurement_that_saw_too_little_fails(more, says):
    with pytest.raises(AssertionError, match=says):
        measured(**more)


@unit
def test_harness_in_amaranths_simulator():
    harness = SpecialFunctionsHarness(stages=5)
    operands = execute._progression(0, 20)
    seen = {}

    async def bench(ctx):
        for number, count in enumerate((1, 20)):
            ctx.set(harness.select, SpecialFunction.COS)
            ctx.set(harness.count, count)
            ctx.set(harness.first[0], int(operands[0]))
            ctx.set(harness.stride[0], int(operands[1] - operands[0]))
            ctx.set(harness.start, 1)
            await ctx.tick()
            ctx.set(harness.start, 0)
            await ctx.tick().until(harness.done)
            seen[count] = {name: ctx.get(getattr(harness, name)) for name in
                           ("sum", "weighted", "results", "minimum", "maximum", "cycles", "fault")}
            assert len(seen) == number + 1
    run_bench(harness, bench)
    for count, outputs in seen.items():
        total, weighted = execute._sums(
            evaluate(SpecialFunction.COS, operands[:count]).astype(np.uint64))
        assert outputs == {"sum": total, "weighted": weighted, "results": count, "minimum": 6,
                           "maximum": 6, "cycles": count + 5, "fault": 0}


test_edit_fits_the_rtl, test_the_testbench_finds = mutant_tests(MUTANTS, quick=0)
