# amaranth: UnusedElaboratable=no
"""Generator and arbiter together, for a small part: every request is done within its bound."""

import dataclasses
import functools
import itertools

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.small_part import SMALL
from cyclebound.golden.dram.timing import DDR4_3200AA_X16
from cyclebound.golden.dram.worst_case import longest_issue_delays, worst_issue_delay
from cyclebound.hdl.dram import command_arbiter, command_generator
from cyclebound.hdl.dram.command_path import CommandPath
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.dram.command_path_properties import CommandPathProof, CommandPathRequest
from kit.faults import edited

unit = pytest.mark.unit
proof, thorough = pytest.mark.proof, pytest.mark.thorough
MOST = 2  # bursts of a request in this file; the catalogue has 4


def claim(*, component=CommandPath, less=0, checker=CommandPathRequest, most=MOST):
    """The arbiter's block, and its property of a request, for fewer bursts."""
    block = catalogue.load().find("dram.command_arbiter")
    found = next(prop for prop in block.properties if prop.name == "request")
    return block, dataclasses.replace(
        found, checker=lambda target: checker(target, most=most, less=less), depth=15,
        top=lambda part: component(part=SMALL))


# The bound

@unit
def test_columns_do_not_matter_to_the_longest_delays():
    wide = dataclasses.replace(SMALL, columns=16)
    limits = longest_issue_delays(SMALL, 3)
    assert limits == longest_issue_delays(wide, 3)
    for (count, write, indexed), limit in limits.items():
        assert limit == max(
            schedule(wide, bursts, write=bool(write), indexed=bool(indexed)).issue_delay
            for bursts in itertools.product(range(wide.bursts), repeat=count))


@unit
@pytest.mark.parametrize("bursts", [1, 2, 3, 4])
@pytest.mark.parametrize("write", [0, 1])
def test_a_tile_of_one_line_is_among_them(bursts, write):
    limit, _ = worst_issue_delay(part=SMALL, bursts=bursts, write=write)
    assert limit <= longest_issue_delays(SMALL, bursts)[bursts, write, 0]


@unit
def test_the_property_is_deep_enough():
    block = catalogue.load().find("dram.command_arbiter")
    depth = {claim.name: claim.depth for claim in block.properties}
    for name, most in (("request", 4), ("requests", 2)):
        assert depth[name] > max(longest_issue_delays(SMALL, most).values())


@unit
def test_a_four_activate_window_is_not_covered():
    message = r"^DDR4-3200AA x16 \(2 bank groups\): nFAW must be 0, not 48$"
    with pytest.raises(ValueError, match=message):
        CommandPathProof(CommandPath(part=DDR4_3200AA_X16), most=1)


@unit
def test_converts_alone_and_again():
    path = CommandPath(part=SMALL)
    text = rtlil.convert(path)
    assert "attribute \\top 1" in text
    assert rtlil.convert(path) == text


# The proof, and faults that it finds

@thorough
@proof
def test_every_request_keeps_its_bound():
    found = prove(*claim(), {"part": "small"})
    assert (found.status, found.detail) == ("bounded", "induction was not asked for")


@thorough
@proof
def test_after_reset_a_request_may_begin_and_so_on():
    """With one burst in each: there, induction needs no help from `anywhere`."""
    block, request = claim(checker=CommandPathProof, most=1)
    from_reset = dataclasses.replace(request, anywhere=False, depth=12, induction=9)
    assert prove(block, from_reset, {"part": "small"}).status == "proved"


@pytest.mark.thorough
@proof
def test_a_cycle_less_has_a_counterexample(tmp_path):
    found = prove(*claim(less=1), {"part": "small"}, folder=tmp_path)
    assert found.status == "failed"
    assert found.detail.startswith("a request is not done within its bound in cycle ")


FAULTS = {
    "a rule's counter is one too slow": (
        "arbiter", '"rcd": part.nRCD', '"rcd": part.nRCD + 1'),
    "a precharge is never legal after a write": (
        "arbiter", 'allows(f"wr_{i}", do_cas[i] & writes[i], did_write[i])',
        'allows(f"wr_{i}", do_cas[i] & writes[i], did_write[i]) & ~writes[i]'),
    "a burst is lost where its bank is open": (
        "generator", "queue.push.eq(enter & (mine[number] | others[number]))",
        "queue.push.eq(enter & (mine[number] & ~(was_open & was_hit) | others[number]))"),
    "the last burst does not close its bank": (
        "generator", "queue.operation.close.eq(leaves)",
        "queue.operation.close.eq(leaves & ~work.last)"),
    "a bank counts as open for ever": (
        "generator", "is_open[number].eq(~leaves)", "is_open[number].eq(1)"),
}


@pytest.mark.thorough
@proof
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_a_counterexample(tmp_path, name):
    where, old, new = FAULTS[name]
    part_of = {"arbiter": lambda: edited(command_arbiter, (old, new)).CommandArbiter,
               "generator": lambda: edited(command_generator, (old, new)).CommandGenerator}
    found = prove(*claim(component=functools.partial(CommandPath, **{where: part_of[where]()})),
                  {"part": "small"}, folder=tmp_path)
    assert found.status == "failed"
