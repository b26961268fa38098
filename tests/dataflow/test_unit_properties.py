# amaranth: UnusedElaboratable=no
"""Checkers of units that follow a thread: each claim fires on a fault, and only there."""

import itertools

import pytest

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.hdl.dataflow.compute_unit import ComputeUnit
from cyclebound.hdl.dataflow.control_unit import ControlUnit
from cyclebound.hdl.dataflow.load_store_unit import LoadStoreUnit
from cyclebound.hdl.dataflow.special_unit import SpecialUnit
from cyclebound.tb.dataflow import unit_properties as properties
from kit.faults import Tampered, override
from kit.random_streams import play_streams

pytestmark = pytest.mark.unit


def threads():
    """Tokens of threads in order, their numbers again and again, the same for each operand."""
    counts = [itertools.count() for _ in range(3)]

    def token(rng, number):
        return {"tid": next(counts[number]) % 8, "data": rng.choice([0, 0, 1, 2, 3, 5])}

    return token


def make(name, **more):
    """A unit, its checker, and its configuration."""
    size = {"depth": 2, "tid_width": 3}
    if name == "compute_unit":
        return ComputeUnit(**size), properties.ComputeUnitCheck, {
            "operation": Operation.SUB, "literals": 0b100} | more
    if name == "special_unit":
        return SpecialUnit(function="idiv", blocks=2, **size), properties.SpecialUnitCheck, {
            "literals": 0b10, "value": 3} | more
    if name == "control_unit":
        return ControlUnit(width=4, **size), properties.ControlUnitCheck, {
            "function": Control.JOIN, "operands": 0b011, "inverted": 1, "slots": 4,
            "split": 1} | more
    return LoadStoreUnit(address_width=4, width=4, **size), properties.LoadStoreUnitCheck, {
        "store": 0, "gated": 1, "base": 3, "size": 4} | more


UNITS = {name: ({"compute_unit": "result", "special_unit": "result", "control_unit": "result 0",
                 "load_store_unit": "enable"}[name]) for name in (
    "compute_unit", "special_unit", "control_unit", "load_store_unit")}


def play(name, fault=None, *, cycles=120, changes=False, lies=False, **more):
    """Threads in order; memory answers each request."""
    dut, check, configuration = make(name, **more)
    if fault:
        dut = Tampered(dut, override(fault))
    owed = []

    def each(ctx, rng):
        ctx.set(dut.configuration, configuration if not changes or rng.random() < 0.8 else {
            **configuration, "literals" if "literals" in configuration else "operands": 1})
        if name != "load_store_unit":
            return
        ctx.set(dut.response.valid, 0)
        if lies or (owed and rng.random() < 0.2):
            tag = owed.pop(0) if owed else 0
            ctx.set(dut.response.payload, {"tag": tag, "data": rng.randrange(16)})
            ctx.set(dut.response.valid, 1)
        if ctx.get(dut.request.valid) and ctx.get(dut.request.ready):
            owed.append(ctx.get(dut.request.payload.tag))

    play_streams(dut, check(dut), cycles=cycles, payloads={"operands": threads()}, each=each)


@pytest.mark.parametrize(("name", "more"), [
    *((name, {}) for name in UNITS), ("compute_unit", {"operation": Operation.MAX}),
    *(("control_unit", {"function": function}) for function in Control),
    ("control_unit", {"function": Control.PHI, "operands": 0b111, "split": 0}),
    ("compute_unit", {"operation": Operation.SELECT, "literals": 0}),
    ("load_store_unit", {"store": 1})])
def test_nothing_fires_without_a_fault(name, more):
    play(name, **more)


def result(ports, name):
    return {"result 0": lambda: ports.results[0], "enable": lambda: ports.enable,
            "result": lambda: ports.result}[name]()


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(("change", "says"), [
    (lambda own, inside, cycle: own.payload.data.eq(inside.payload.data ^ 2),
     "not what the tokens make"),
    (lambda own, inside, cycle: own.valid.eq(inside.valid & cycle[0]),
     "offer withdrawn or changed"),
    (lambda own, inside, cycle: own.payload.tid.eq(0),
     "a result without its tokens")])
def test_checker_fires(only, name, change, says):
    stream = UNITS[name]
    only(f"{stream}: {says}", properties)

    def fault(inner, outer, cycle):
        return change(result(outer, stream), result(inner, stream), cycle)

    with pytest.raises(AssertionError, match=f"^Assertion violated: {stream}: {says}$"):
        play(name, fault)


@pytest.mark.parametrize(("name", "fault", "says"), [
    ("special_unit", lambda inner, outer, cycle: outer.operands[0].ready.eq(1),
     "result: more of a thread than there is room for"),
    ("special_unit", lambda inner, outer, cycle: outer.operands[1].ready.eq(1),
     "operand 1: taken and not needed"),
    ("control_unit", lambda inner, outer, cycle: outer.results[1].valid.eq(
        inner.results[0].valid), "result 1: an unrequested result"),
    ("load_store_unit", lambda inner, outer, cycle: outer.request.payload.address.eq(
        inner.request.payload.address + 4), "an access outside of the buffer"),
    ("load_store_unit", lambda inner, outer, cycle: outer.request.payload.write.eq(1),
     "an access of another kind"),
    ("load_store_unit", lambda inner, outer, cycle: outer.request.valid.eq(
        inner.request.valid & cycle[0]), "request: offer withdrawn or changed"),
    ("load_store_unit", lambda inner, outer, cycle: outer.fault.payload.data.eq(2),
     "a report of an index inside"),
    ("load_store_unit", lambda inner, outer, cycle: outer.request.payload.tag.eq(0),
     "an entry makes a second request")])
def test_checker_fires_on_faults_of_one_unit(only, name, fault, says):
    only(says, properties)
    more = {"control_unit": {"split": 0}, "load_store_unit": {"gated": 0}}.get(name, {})
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(name, fault, **more)


@pytest.mark.parametrize(("name", "more", "says"), [
    ("control_unit", {"changes": True}, "owed: configuration changed under a thread"),
    ("load_store_unit", {"lies": True}, "owed: memory answers without a request")])
def test_checker_names_the_neighbour_that_breaks_the_rules(name, more, says):
    with pytest.raises(AssertionError, match=f"^Assumption violated: {says}$"):
        play(name, **more)
