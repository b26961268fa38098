# amaranth: UnusedElaboratable=no
"""RAM of SHMAC's tiles: its parameters, its checker, its proof, and what its testbench finds."""

import dataclasses
import random

import pytest

from cyclebound.golden.shmac.machine import CoreAccess
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.ram import RamModel
from cyclebound.hdl.shmac.ram import Ram
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.shmac.ram_properties import RamCheck
from kit.puppet import Puppet, show

from ..sim.mutant_tests import mutants_together
from ..sim.mutants import Mutant, component_of

unit = pytest.mark.unit
RAM = "shmac.ram"
MASTERS = [(0, 0), (0, 1)]
MUTANTS = (
    Mutant(RAM, "an SC needs no reservation", "packet.write & packet.sync & ~reserved", "0"),
    Mutant(RAM, "an SC's address is not compared", "valid & (word == place)", "valid"),
    Mutant(RAM, "a write ends no reservation", "(writes & is_here) |", "0 |"),
    Mutant(RAM, "an SC leaves its own reservation", "| (takes & packet.sync & is_own)", ""),
    Mutant(RAM, "anybody may reserve", "packet.sync & ~own |", ""),
    Mutant(RAM, "no error of a write", "answers.valid.eq(~posted | error)",
           "answers.valid.eq(~posted)"),
    Mutant(RAM, "a failed SC writes", "& ~error & ~fails,", "& ~error,"),
    Mutant(RAM, "the response is not held", "Mux(fresh, read.data, held)", "read.data"),
    Mutant(RAM, "the response is overtaken", "(~answers.valid | answers.ready)", "1"),
)

test_mutants_fit, test_testbench_finds_mutants = mutants_together(MUTANTS)


@unit
@pytest.mark.parametrize(("parameters", "kind", "message"), [
    ({"words": 3}, ValueError, r"^Word count must be a power of two, not 3$"),
    ({"words": 1 << 19}, ValueError, r"^Word count must be from 2 to 262144, not 524288$"),
    ({"masters": [(0, 16)]}, ValueError, r"^Column of master 0 must be from 0 to 15, not 16$"),
    ({"masters": [(0, 1), [0, 1]]}, ValueError, r"^Masters must be different tiles, not \[\(0, 1"),
    ({"masters": MASTERS, "raises": True}, ValueError,
     r"^A core's own RAM must have no masters: its writes end no reservation$"),
])
def test_refuses(parameters, kind, message):
    with pytest.raises(kind, match=message):
        Ram(**{"words": 16, **parameters})


@unit
def test_reservations_are_those_of_the_machines_memory():
    """Two models written for different purposes: one word at a time, and the other by packets."""
    rng = random.Random(1)
    memory = SharedMemory(dict.fromkeys(range(0, 16, 4), 0))
    ram = RamModel(4, masters=MASTERS)
    succeeded = 0
    for _ in range(5000):
        who = rng.randrange(2)
        access = CoreAccess(4 * rng.randrange(4), 15, rng.random() < 0.5, rng.random() < 0.7,
                            rng.getrandbits(32))
        expected = memory.access(access, master=who)
        ram.step(RequestPacket(access.write, False, access.sync, MASTERS[who],
                               address=access.address, strobes=15, data=access.data), passed=True)
        if access.answered:
            assert ram.response is not None
            assert ram.response.data == expected
            succeeded += bool(access.write and expected)
        assert ram.content == list(memory.words.values())
    assert succeeded > 100


SC = {"accesses.valid": 1, "accesses.ready": 1, "accesses.payload.write": 1,
      "accesses.payload.sync": 1}
LL = {**SC, "accesses.payload.write": 0}
ANSWER = {"answers.valid": 1, "answers.ready": 1}
FAULTS = {
    "a response is missing, or there is one too many": [LL, {}],
    "an error": [LL, {**ANSWER, "answers.payload.error": 1}],
    "whose response": [LL, {**ANSWER, "answers.payload.initiator.row": 1}],
    "an SC's response is 0 or 1": [SC, {**ANSWER, "answers.payload.data": 2}],
    "an SC succeeds without its reservation, or fails with it":
        [SC, {**ANSWER, "answers.payload.data": 1}],
    "a response is lost": [LL, {**LL, "answers.valid": 1}],
}


@unit
@pytest.mark.parametrize("message", FAULTS)
def test_checker_fires(message):
    puppet = Puppet(Ram(words=4, masters=MASTERS), masters=MASTERS, words=4, raises=False)
    with pytest.raises(AssertionError, match=f"violated: {message}$"):
        show(puppet, RamCheck(puppet), *FAULTS[message])


@unit
def test_checker_is_silent_where_all_is_well():
    puppet = Puppet(Ram(words=4, masters=MASTERS), masters=MASTERS, words=4, raises=False)
    show(puppet, RamCheck(puppet), LL, {**SC, **ANSWER}, {**ANSWER, "answers.payload.data": 1})


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize("mutant", MUTANTS[1:5], ids=str)
def test_a_fault_has_a_counterexample(mutant):
    block = catalogue.load().find(RAM)
    claim = block.properties[0]
    found = prove(dataclasses.replace(block, component=component_of(block, mutant)),
                  dataclasses.replace(claim, induction=None), claim.instances[0])
    assert found.status == "failed"
