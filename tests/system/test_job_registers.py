# amaranth: UnusedElaboratable=no
"""Registers of a tile's jobs: their table, what accesses do, checker, proof, planted faults."""

import itertools

import pytest

from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.system.job_registers import JobRegistersModel
from cyclebound.golden.system.job_table import MOST_OPERANDS, Control, Status, job_table, page_rows
from cyclebound.hdl.system.job_registers import JobRegisters
from cyclebound.tb.system.job_registers_properties import JobRegistersCheck
from kit.pages import Page
from kit.planted import refuted
from kit.puppet import Puppet, show

from ..sim.mutant_tests import mutants_together
from ..sim.mutants import Mutant

unit = pytest.mark.unit
BLOCK = "system.job_registers"
MUTANTS = (
    Mutant(BLOCK, "a part of a word is enough", "~packet.strobes.all()", "~packet.strobes.any()"),
    Mutant(BLOCK, "LL and SC are served", "packet.sync | packet.interrupt", "packet.interrupt"),
    Mutant(BLOCK, "no error of a write", "answers.valid.eq(~posted | error)",
           "answers.valid.eq(~posted)"),
    Mutant(BLOCK, "an operand changes beside a job",
           "m.d.comb += refused.eq(self.busy)", "m.d.comb += refused.eq(0)"),
    Mutant(BLOCK, "a word comes beside a job", "refused.eq(self.busy | waits)",
           "refused.eq(waits)"),
    Mutant(BLOCK, "a word is overwritten", "refused.eq(self.busy | waits)",
           "refused.eq(self.busy)"),
    Mutant(BLOCK, "a job starts before its last word is taken",
           "self.busy | waits | (packet", "self.busy | (packet"),
    Mutant(BLOCK, "any write of CONTROL starts a job", "(packet.data != 1 << Control.START)",
           "(packet.data == 0)"),
    Mutant(BLOCK, "the tile is looked at in the cycle of its start",
           "looks.eq(self.busy & ~self.start)", "looks.eq(self.busy)"),
    Mutant(BLOCK, "the response is overtaken", "accesses.ready.eq(~answers.valid | answers.ready)",
           "accesses.ready.eq(1)"),
    Mutant(BLOCK, "a fault stays", "~starts & (failed |", "(failed |"),
    Mutant(BLOCK, "a refused write leaves no mark", "| (takes & packet.write & error)", ""),
    Mutant(BLOCK, "a read leaves the mark", "takes & packet.write & error))", "takes & error))"),
    Mutant(BLOCK, "cycles go on", "with m.Elif(self.busy):", "with m.Else():"),
)

test_mutants_fit, test_testbench_finds_mutants = mutants_together(MUTANTS)


@unit
@pytest.mark.parametrize(("operands", "kind", "message"), [
    (-1, ValueError, r"^Operand count must be from 0 to 64, not -1$"),
    (65, ValueError, r"^Operand count must be from 0 to 64, not 65$"),
    ("2", TypeError, r"^Operand count must be an integer, not '2'$"),
])
def test_refuses(operands, kind, message):
    with pytest.raises(kind, match=message):
        JobRegisters(operands=operands)


@unit
def test_no_table_has_so_many():
    with pytest.raises(ValueError, match=r"^Operand count must be from 0 to 64, not 65$"):
        job_table(operands=MOST_OPERANDS + 1)


@unit
def test_the_page_has_the_table():
    rows = list(page_rows(job_table(operands=2)))
    assert len(rows) == 2 + 8
    assert "\n".join(rows) in Page("system.md").text


class Tile:
    """The registers with a tile whose jobs take a stated number of cycles."""

    def __init__(self, operands=2, takes=True):
        self.model, self.takes = JobRegistersModel(operands), takes
        self.shown = []  # of each cycle: start, busy

    def cycle(self, request=None, *, idle=False, fault=False):
        """A cycle; the response in the next one, as (error, data)."""
        self.shown.append((self.model.start, self.model.busy))
        self.model.step(request, passed=True, idle=idle, fault=fault,
                        takes=self.takes and self.model.word is not None)
        response = self.model.response
        return response and (response.error, response.data)

    def write(self, address, data, **more):
        return self.cycle(RequestPacket(write=True, address=address, data=data, strobes=15), **more)

    def read(self, address, **more):
        return self.cycle(RequestPacket(address=address, strobes=15), **more)


START = 1 << Control.START
REFUSED = (True, 0)


@unit
def test_a_job():
    tile = Tile()
    assert tile.write(0x10, 77) is None
    assert tile.read(0x10) == (False, 77)
    assert tile.write(0x0C, 5) is None
    assert tile.model.word == 5
    assert tile.write(0, START) is None       # in the cycle in which the word is taken
    assert tile.model.start
    assert tile.model.word is None
    assert tile.read(4, idle=True) == (False, 0)  # of its start: the tile is not looked at
    assert tile.read(8) == (False, 1)
    assert tile.read(4, idle=True) == (False, 0)  # the cycle in which it ends
    assert tile.read(4) == (False, 1 << Status.IDLE)
    assert tile.read(8) == (False, 3)
    assert tile.shown[4:] == [(True, True), (False, True), (False, True), (False, False),
                              (False, False)]


@unit
@pytest.mark.parametrize(("address", "data"), [
    (0x00, START), (0x00, START | 2), (0x00, 2), (0x00, 0), (0x0C, 1), (0x10, 1), (0x14, 1),
    (0x08, 0), (0x18, 1), (0xFFFFFC, 1)])
def test_what_is_refused_beside_a_job(address, data):
    tile = Tile()
    tile.write(0, START)
    tile.cycle()
    assert tile.write(address, data) == REFUSED
    assert tile.read(4) == (False, 1 << Status.REFUSED)
    assert tile.write(4, 0) is None
    assert tile.read(4) == (False, 1 << Status.REFUSED)
    assert tile.write(4, 1 << Status.REFUSED) is None
    assert tile.read(4, idle=True) == (False, 0)
    assert sum(start for start, _ in tile.shown) == 1
    assert tile.model.kept == [0, 0]


@unit
@pytest.mark.parametrize("change", [
    {"address": 1}, {"address": 2}, {"address": 0x18}, {"address": 0x800004}, {"sync": True},
    {"interrupt": True}, {"strobes": 0}, {"strobes": 7}, {"strobes": 8}])
@pytest.mark.parametrize("write", [False, True])
def test_what_is_no_access_of_a_register(change, write):
    """Reads leave no mark in STATUS."""
    tile = Tile()
    request = RequestPacket(**{"write": write, "address": 4, "strobes": 15, **change})
    assert tile.cycle(request) == REFUSED
    assert tile.model.response.write == (write and not request.sync)
    assert tile.read(4) == (False, 1 | write << Status.REFUSED)


@unit
def test_a_start_in_the_cycle_of_the_end_is_refused_and_one_after_it_is_not():
    tile = Tile()
    tile.write(0, START)
    tile.cycle()
    assert tile.write(0, START, idle=True) == REFUSED
    assert tile.write(0, START, idle=True) is None
    assert [start for start, _ in tile.shown] == [False, True, False, False]
    assert tile.model.start


@unit
def test_a_start_before_the_word_is_taken():
    tile = Tile(takes=False)
    assert tile.write(0, 2) == REFUSED
    assert tile.write(0x0C, 1) is None
    assert tile.write(0x0C, 2) == REFUSED
    assert tile.write(0, START) == REFUSED
    assert tile.model.word == 1
    assert not any(itertools.chain(*tile.shown))


@unit
def test_a_fault_is_seen_until_the_next_start():
    tile = Tile()
    tile.cycle(fault=True)  # of no job
    tile.write(0, START)
    tile.cycle(fault=True)  # of its start: not looked at
    assert tile.read(4, fault=True) == (False, 0)
    assert tile.read(4, idle=True) == (False, 1 << Status.FAULT)
    assert tile.read(4) == (False, 1 | 1 << Status.FAULT)
    tile.write(0, START)
    assert tile.read(4) == (False, 0)


@unit
def test_cycles_stop_at_the_most():
    tile = Tile()
    tile.write(0, START)
    tile.model._cycles = (1 << 32) - 2
    for _ in range(4):
        tile.cycle()
    assert tile.read(8) == (False, (1 << 32) - 1)


def said(address, data, **more):
    """A write that is taken."""
    return {"accesses.valid": 1, "accesses.ready": 1, "accesses.payload.write": 1,
            "accesses.payload.address": address, "accesses.payload.data": data,
            "accesses.payload.strobes": 15, **more}


TAKES = {"accesses.ready": 1}
READ = {"accesses.valid": 1, "accesses.ready": 1, "accesses.payload.address": 4,
        "accesses.payload.strobes": 15}
ANSWER = {"answers.valid": 1, "answers.ready": 1, "answers.payload.data": 1, **TAKES}
BUSY = {"busy": 1, **TAKES}
FAULTS = {
    "a response is missing, or there is one too many": [READ, TAKES],
    "an error without a reason, or none": [READ, {**ANSWER, "answers.payload.error": 1}],
    "another one's response": [READ, {**ANSWER, "answers.payload.initiator.row": 1}],
    "not what the register has": [READ, {**ANSWER, "answers.payload.data": 0}],
    "a response is lost": [READ, {**READ, "answers.valid": 1, "answers.payload.data": 1}],
    "a request waits without a reason": [{}],
    "a start is lost, or there is one too many": [said(0, START), BUSY],
    "a job ends early, or does not end": [said(0, START), {**TAKES, "start": 1}],
    "operand 1 has changed": [said(0x10, 3), {**TAKES, "operands.0": 3, "operands.1": 3}],
    "words: offer withdrawn or changed": [said(0x0C, 3),
                                          {**TAKES, "word.valid": 1, "word.payload": 3}, TAKES],
    "a word is lost, or one too many": [said(0x0C, 3), TAKES],
    "another word": [said(0x0C, 3), {**TAKES, "word.valid": 1, "word.payload": 2}],
}


@unit
@pytest.mark.parametrize("message", FAULTS)
def test_checker_fires(message):
    puppet = Puppet(JobRegisters(operands=2), many=2)
    with pytest.raises(AssertionError, match=f"violated: {message}$"):
        show(puppet, JobRegistersCheck(puppet), *FAULTS[message])


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new"), [
    ("starts.eq(writes)", "starts.eq(takes)"),
    ("self.start.eq(starts)", "self.start.eq(starts & ~self.fault)"),
    ("m.d.comb += refused.eq(self.busy)", "m.d.comb += refused.eq(0)"),
    ("looks.eq(self.busy & ~self.start)", "looks.eq(self.busy)"),
])
def test_a_fault_has_a_counterexample(old, new):
    refuted(BLOCK, "jobs", (old, new))
