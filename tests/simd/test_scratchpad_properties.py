# amaranth: UnusedElaboratable=no
"""Checker of the scratchpad: each claim fires on what a puppet shows."""

import dataclasses

import pytest

from cyclebound.hdl.simd.scratchpad import Scratchpad
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.simd import scratchpad_properties as properties
from kit.puppet import Puppet, show

pytestmark = pytest.mark.unit

TILE = {"tile": {"words": 3, "count": 2, "period": 3}}
GO = {**TILE, "go": 1}


def line(words, *, stream="deliver", done=0, **more):
    return {**TILE, f"{stream}.valid": 1, f"{stream}.payload": {"enable": (1 << words) - 1},
            "done": done, **more}


def watch(*cycles):
    puppet = Puppet(Scratchpad(bus=4, words=16))
    show(puppet, properties.ScratchpadCheck(puppet), *cycles)


def test_nothing_fires_without_a_fault():
    watch(GO, line(4), line(2, done=1))
    watch({"tile": {"words": 0, "count": 2}, "go": 1, "done": 1})


@pytest.mark.parametrize(("cycles", "says"), [
    ([GO, line(4, done=1)], "not all words have moved, or too many"),
    ([GO, line(4), line(3, done=1)], "not all words have moved, or too many"),
    ([GO, line(4), TILE, line(2, done=1)], "a pause among words"),
    ([line(2)], "words of no transfer"),
    ([line(2, stream="ask")], "words of no transfer"),
    ([GO, line(4) | line(1, stream="ask")], "a transfer reads and writes"),
    ([{**TILE, "done": 1}], "done without a transfer"),
    ([GO, line(0)], "a line without a word")])
def test_checker_fires(only, cycles, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        watch(*cycles)


class Skipping(Scratchpad):
    """After each line of the bus a word is left out."""

    def _next(self, m, *arguments):
        line, phase, *rest = super()._next(m, *arguments)
        return line, phase + 1, *rest


@pytest.mark.proof
def test_the_proof_of_a_tiles_time_finds_words_that_are_left_out():
    block = catalogue.load().find("simd.scratchpad")
    claim = block.properties[0]
    proof = prove(dataclasses.replace(block, component=Skipping), claim, claim.instances[0])
    assert proof.status == "failed"
    assert proof.trace is not None
