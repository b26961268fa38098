"""The transfer unit: its model, and its testbench and checker against faults."""

import numpy as np
import pytest

from cyclebound.golden.simd import transfer_unit_bounds
from cyclebound.golden.simd.access_setup import Committed
from cyclebound.golden.simd.isa import OPCODES
from cyclebound.golden.simd.machine import MACHINES, as_built
from cyclebound.golden.simd.transfer_unit import MEM_DATA, MEM_IDX, SlotState, perform
from cyclebound.golden.simd.transfers import Fault
from cyclebound.hdl.simd.transfer_unit import TransferUnit
from cyclebound.tb.simd.transfer_unit_properties import TransferUnitCheck
from kit.faults import Stub
from kit.run_bench import run_bench

from ..sim.mutant_tests import mutants_together
from ..sim.mutants import Mutant

unit = pytest.mark.unit
UNIT = "simd.transfer_unit"
MUTANTS = tuple(Mutant(UNIT, name, old, new, part=f"simd.{part}") for part, name, old, new in (
    ("dram_requester", "the younger one's request first",
     "self.begin & ~overtaking", "self.begin"),
    ("dram_requester", "lines that meet go together", "last = ~job.split | (", "last = 1 | ("),
    ("dram_requester", "words for the slot that asked last", "self.owner.eq(owners[head])",
     "self.owner.eq(self.latest)"),
    ("dram_requester", "an index beyond its bits", "self.done & self.out_of_range", "0"),
    ("dram_requester", "out of its turn", "candidates & self.begin &", "candidates &"),
    ("vector_load", "masked items written", "(moves & item_bit(self.active, item)) << place",
     "moves << place"),
    ("vector_load", "words that pass go to registers, too",
     "word.valid & ~job.cam & ~job.scalars", "word.valid & ~job.scalars"),
    ("register_address", "registers of the next row in this one",
     "(bank < job.register[:_BANK_BITS])", "0"),
    ("scalar_load", "scalars as if the first word of a beat were wanted",
     "(word.target - number)[:len(rotation)]", "word.target[:len(rotation)]"),
    ("scalar_load", "scalars of the next row in this one",
     "rotation[low:] + (bank < rotation[:low])", "rotation[low:]"),
    ("scalar_load", "scalars not turned", "Mux(rotation[stage], ", "Mux(0, "),
    ("scalar_load", "scalars beyond the last", "(word.target[:_TARGET_BITS] < job.end)",
     "(word.target[:_TARGET_BITS] <= job.end)"),
    ("slot_transfer", "items take words that DRAM wants", "snoop.load.eq(deliver.valid)",
     "snoop.load.eq(deliver.valid | fetch.valid)"),
    ("slot_transfer", "registers' words instead of items'",
     "self.answered.eq(port.held)", "self.answered.words.eq(port.held.words)"),
    ("slot_transfer", "registers' values instead of items'",
     "self.answered.eq(port.held)", "self.answered.enable.eq(port.held.enable)"),
    ("slot_transfer", "the last word's index instead of the first's",
     "Mux(line.valid, line.payload.targets[0]", "Mux(line.valid, line.payload.targets[1]"),
    ("transfer_unit", "a completion without a request", "held.eq(completion.valid & self.stall)",
     "held.eq(0)"),
    ("transfer_unit", "an access twice", "first.eq(~self.stall)", "first.eq(1)"),
    ("transfer_unit", "lines do not restart", '"base", "pitch", "restart", "write")',
     '"base", "pitch", "write")'),
))


test_edit_fits_the_rtl, test_the_testbench_finds = mutants_together(MUTANTS)


@unit
@pytest.mark.parametrize(("words", "machine", "message"), [
    (2, "small", "words must be a power of two from 4 to 8, not 2"),
    (6, "small", "words must be a power of two from 4 to 8, not 6"),
    (16, "small", "words must be a power of two from 4 to 8, not 16"),
    (4, "small scratchpad_bus=8", "words must be a power of two from 8 to 8, not 4"),
    ("x", "small", "words must be an integer, not 'x'"),
    *((words, f"small lanes=2 scratchpad_bus={bus}",
       f"lanes must be at least {max(4, bus)}, as many as words move in a clock, not 2")
      for words in (2, 4, "x") for bus in (4, 8)),
])
def test_words_of_a_clock_have_places(words, machine, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        TransferUnit(machine=machine, words=words)


@unit
def test_the_cycle_model_knows_what_the_setup_takes():
    """From the access to the request, without the clock of the access itself."""
    assert as_built(MACHINES["small"]).setup_clocks == transfer_unit_bounds.to_dram() - 1


@unit
def test_bounds():
    shape = {"words": 5, "gap": 2, "count": 3, "bus": 4}
    assert transfer_unit_bounds.own_scratchpad(**shape, restart=0) == 5 + 5 + 1
    assert transfer_unit_bounds.own_scratchpad(**shape, restart=1) == 5 + 6 + 1
    assert transfer_unit_bounds.resume(clocks=2) == 2


# -- the model -------------------------------------------------------------------------------------

@unit
def test_words_move_between_all_places():
    state = SlotState(MACHINES["small"])
    state.active[5] = False
    buffer = np.arange(100, 100 + 48, dtype=np.uint32).reshape(6, 8)
    here = {"items": 64, "across": 8, "buffer": (8, 6), "chip": (10, 8, 6), "grid_y": 99}
    perform(Committed("ldglin", **here, target=3, x=1), state, buffer)
    assert state.v[3, :8].tolist() == [101, 102, 103, 104, 105, 0, 107, 0]
    perform(Committed("ldg2sptile", **here, y=1), state, buffer)
    assert state.pad[10] == 108
    assert state.pad[10 + 5 * 8] == 0  # beyond the buffer
    perform(Committed("stsplin", **here, target=3), state, None)
    assert state.pad[10:18].tolist() == [101, 102, 103, 104, 105, 113, 107, 0]
    perform(Committed("sldsp", **here, target=2, x=6, sd_words=3), state, None)
    assert state.s[2:6].tolist() == [107, 0, 109, 0]
    perform(Committed("sldg", **here, target=30, count=2), state, buffer)
    assert state.s[30:].tolist() == [100, 101]
    perform(Committed("stg2sptile", **here), state, buffer)
    assert buffer[0].tolist() == state.pad[10:18].tolist()


@unit
def test_words_move_index_by_index():
    state = SlotState(MACHINES["small"])
    buffer = np.zeros((2, 4), np.uint32)
    state.v[1], state.v[MEM_IDX] = np.arange(64), np.arange(64) % 8
    here = {"items": 64, "across": 64, "buffer": (4, 2)}
    perform(Committed("stgidxit", **here, target=1), state, buffer)
    assert buffer.reshape(-1).tolist() == list(range(56, 64))  # the highest item's
    state.v[MEM_IDX, 7] = 8
    with pytest.raises(Fault, match="leaves its buffer"):
        perform(Committed("ldgidxit", **here, target=2), state, buffer)
    assert state.v[2, :9].tolist() == [*range(56, 63), 0, 56]


@unit
def test_words_pass_items_that_have_their_indexes():
    state = SlotState(MACHINES["small"])
    state.v[MEM_IDX], state.v[MEM_DATA] = np.arange(64) // 2 + 8, np.arange(64)
    state.active[20] = False
    buffer = np.arange(100, 100 + 48, dtype=np.uint32).reshape(6, 8)
    here = {"items": 64, "across": 8, "buffer": (8, 6), "chip": (10, 8, 2), "grid_y": 1}
    perform(Committed("stgcidx", **here, x=1, y=1, sd_words=3, sd_period=8, sd_period_cnt=2),
            state, buffer)
    assert buffer[1].tolist() == [108, 2, 4, 6, 112, 113, 114, 115]  # the lowest item's
    assert buffer[2].tolist() == [116, 18, 21, 22, 120, 121, 122, 123]  # 20 is off
    perform(Committed("ldgbidx", **here), state, buffer)
    assert state.v[MEM_DATA, :4].tolist() == [108, 108, 2, 2]
    assert state.v[MEM_DATA, 18:24].tolist() == [18, 18, 20, 21, 22, 22]
    perform(Committed("stspbidx", **here), state, None)
    assert state.pad[18:26].tolist() == [108, 2, 4, 6, 112, 113, 114, 115]
    with pytest.raises(Fault, match="words apart, and the buffer's are 8"):
        perform(Committed("ldgcidx", **here, sd_period=7, sd_period_cnt=2), state, buffer)


# -- the checker -----------------------------------------------------------------------------------

LOAD = {"access.valid": 1, "access.payload.opcode": OPCODES["ldglin"], "begin": 3}
STORE = LOAD | {"access.payload.store": 1}
CHIP = LOAD | {"access.payload.scratchpad": 1}
QUIET = {"access.valid": 0}
WORD = {"deliver.valid": 1, "transfer.0.write.0.0.enable": 1}
ASKED = {"fetch.valid": 1, "transfer.0.snoop.enable": 2}
SIZE = {"buffer_write.valid": 1, "buffer_write.payload.number": 2,
        "buffer_write.payload.size.x": 5, "buffer_write.payload.size.y": 3}
ASK = {"request.valid": 1, "request.payload.buffer": 2, "request.payload.x": 1,
       "request.payload.words": 4, "request.payload.y": 1, "request.payload.count": 2}
OTHER = LOAD | {"access.payload.slot": 1}
CASES = {
    "": [SIZE, {"buffer_write.valid": 0}, LOAD, QUIET | ASK, {"request.valid": 0}, WORD,
         {"deliver.valid": 0, "transfer.0.write.0.0.enable": 0, "completion.0.valid": 1},
         {"completion.0.valid": 0}],
    "a completion of no access": [{"completion.1.valid": 1}],
    "a completion goes before it was taken": [
        LOAD, QUIET, {"completion.0.valid": 1, "stall": 1}, {"completion.0.valid": 0}],
    "words for registers of a slot that does not transfer": [WORD],
    "a store writes registers": [STORE, QUIET | WORD],
    "words of DRAM that it has not delivered": [LOAD, QUIET | WORD | {"deliver.valid": 0}],
    "one word of DRAM for both slots": [
        LOAD, OTHER, QUIET | WORD | {"transfer.1.scalars.3.enable": 1}],
    "items are asked for words, and it is no store": [LOAD, QUIET | ASKED],
    "DRAM has not asked for words of items": [STORE, QUIET | ASKED | {"fetch.valid": 0}],
    "a request out of its turn": [LOAD, QUIET | ASK | {"begin": 2}],
    "it leaves a line of its buffer": [SIZE, LOAD, QUIET | ASK | {"request.payload.x": 2}],
    "it leaves its buffer's lines": [SIZE, LOAD, QUIET | ASK | {"request.payload.count": 3}],
    "quiet, and not": [LOAD, QUIET | {"quiet": 0}, {"quiet": 1}],
}


@unit
@pytest.mark.parametrize("says", CASES, ids=lambda says: says or "none")
def test_the_checker(says):
    dut = Stub(TransferUnit(machine="small lanes=4 items=16 special_units=1", words=4),
               lambda outer: [])

    async def bench(ctx):
        for values in CASES[says]:
            for name, value in values.items():
                place = dut
                for step in name.split("."):
                    if step.isdecimal():
                        place = place[int(step)]
                    else:
                        place = getattr(place, step) if hasattr(place, step) else place[step]
                ctx.set(place, value)
            await ctx.tick()
        await ctx.tick()

    if says:
        with pytest.raises(AssertionError, match=says):
            run_bench(dut, bench, TransferUnitCheck(dut))
    else:
        run_bench(dut, bench, TransferUnitCheck(dut))
