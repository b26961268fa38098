# amaranth: UnusedElaboratable=no
"""Checkers of pipelines between two streams: each claim fires on a fault, and only there."""

import struct

import pytest
from amaranth.hdl import Value

from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.hdl.float_fma import FloatFma
from cyclebound.hdl.systolic.no_local_reuse import NoLocalReuseArray
from cyclebound.hdl.systolic.post_processing import PostProcessing
from cyclebound.tb import elastic_properties
from cyclebound.tb.dataflow.float_fma_properties import FloatFmaCheck
from cyclebound.tb.systolic import no_local_reuse_properties
from cyclebound.tb.systolic.no_local_reuse_properties import NoLocalReuseCheck
from cyclebound.tb.systolic.post_processing_properties import PostProcessingCheck
from kit.faults import Tampered, override
from kit.random_streams import play_streams

pytestmark = pytest.mark.unit


def bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


EDGES = [0, 1, FLOAT_NAN, *(bits(sign * number) for sign in (1, -1) for number in
                            (0.0, 1.0, 2.0, 0.5, 3.7, 1e30, float("inf"), float("nan")))]


def operands(rng, _):
    return {"a": rng.choice(EDGES), "b": rng.choice([*EDGES, rng.getrandbits(32)]),
            "c": rng.choice([*EDGES[3:5], rng.choice(EDGES)]), "convert": 0}


BLOCKS = {
    "float_fma": (FloatFma, {}, FloatFmaCheck, "operands", "result",
                  {"payloads": {"operands": operands}}),
    "no_local_reuse": (NoLocalReuseArray, {"rows": 3, "columns": 2}, NoLocalReuseCheck,
                       "operands", "results", {}),
    "post_processing": (PostProcessing, {"columns": 2, "accumulator_width": 5, "result_width": 4,
                                         "multiplier_width": 3},
                        PostProcessingCheck, "sums", "results",
                        {"fixed": {"multiplier": 5, "shift": 3, "low": -6, "high": 7}}),
    "own_scales": (PostProcessing, {"columns": 2, "accumulator_width": 5, "result_width": 4,
                                    "multiplier_width": 3, "own_scales": True},
                   PostProcessingCheck, "sums", "results", {"fixed": {"low": -6, "high": 7}}),
}
SAYS = {
    "dropped": "a result is missing, or of no item",
    "invented": "a result is missing, or of no item",
    "refuses": "an item is refused without a reason, or taken while a result waits",
    "wrong": "not the result of its item",
    "changes": "result: offer withdrawn or changed",
}


def fault(kind, source, sink):
    def statements(inner, outer, cycle):
        put, get = getattr(outer, source), getattr(outer, sink)
        inside = getattr(inner, sink)
        return {
            "dropped": lambda: get.valid.eq(inside.valid & ((cycle < 40) | (cycle > 45))),
            "invented": lambda: get.valid.eq(inside.valid | (cycle == 3)),
            "refuses": lambda: put.ready.eq(getattr(inner, source).ready & (cycle < 9)),
            "wrong": lambda: Value.cast(get.payload).eq(
                Value.cast(inside.payload) ^ (cycle > 30)),
            "changes": lambda: Value.cast(get.payload).eq(Value.cast(inside.payload) ^ cycle[0]),
        }[kind]()

    return override(statements)


def play(name, *, kind=None, **more):
    make, parameters, check, source, sink, traffic = BLOCKS[name]
    dut = make(**parameters)
    if kind:
        dut = Tampered(dut, fault(kind, source, sink))
    play_streams(dut, check(dut), **{**traffic, **more})


@pytest.mark.parametrize("name", BLOCKS)
def test_nothing_fires_without_a_fault(name):
    play(name, cycles=300)


@pytest.mark.parametrize("kind", SAYS)
@pytest.mark.parametrize("name", BLOCKS)
def test_checker_fires(only, name, kind):
    only(SAYS[kind], elastic_properties, no_local_reuse_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {SAYS[kind]}$"):
        play(name, kind=kind)


def test_active_elements(only):
    says = "PEs are active without operands, or idle with them"
    only(says, elastic_properties, no_local_reuse_properties)
    dut = Tampered(NoLocalReuseArray(rows=2, columns=2), override(
        lambda inner, outer, cycle: outer.active.eq(inner.active & (cycle != 20).replicate(4))))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play_streams(dut, NoLocalReuseCheck(dut), busy=1)


@pytest.mark.parametrize(("name", "more", "says"), [
    ("float_fma", {"payloads": {"operands": lambda rng, _: {"a": 1, "b": 1, "c": 5, "convert": 1}}},
     "an integer to convert with factors"),
    ("post_processing", {"fixed": {"low": 3, "high": 2}}, "limits out of order")])
def test_checker_names_the_neighbour_that_breaks_the_rules(name, more, says):
    with pytest.raises(AssertionError, match=f"^Assumption violated: {says}$"):
        play(name, **more)


def test_settings_stay_while_a_row_is_under_way():
    dut = PostProcessing(columns=2, accumulator_width=5, result_width=4, multiplier_width=3)
    with pytest.raises(AssertionError,
                       match=r"^Assumption violated: owed: settings changed under a row$"):
        play_streams(dut, PostProcessingCheck(dut), fixed={"high": 7},
                     each=lambda ctx, rng: ctx.set(dut.shift, rng.getrandbits(2)))
