"""Setup of accesses: its model against whole accesses, its testbench and checker against faults."""

import dataclasses
import itertools

import numpy as np
import pytest

from cyclebound.golden.simd.access_setup import Committed, Move, collide, moves
from cyclebound.golden.simd.isa import OPCODES, VECTOR_SPECIAL
from cyclebound.golden.simd.machine import MACHINES, Grid, Place, as_built
from cyclebound.golden.simd.transfers import Access, Fault
from cyclebound.golden.simd.work_group import Code, KernelFault, WorkGroup, memory_of
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.simd.access_setup_properties import AccessSetupCheck
from cyclebound.tools.simd.assembler import assemble
from kit.run_bench import run_bench

from ..sim.mutant_tests import mutant_tests, mutants_together
from ..sim.mutants import Mutant, component_of

unit = pytest.mark.unit
SETUP = "simd.access_setup"
MUTANTS = (
    Mutant(SETUP, "no clipping on the left", "Mux(tile.left < 0, 0, tile.left)", "tile.left"),
    Mutant(SETUP, "no clipping on the right",
           "Mux((end_x > tile.limit_x) & ~row, tile.limit_x, end_x)", "end_x"),
    Mutant(SETUP, "no clipping below", "Mux(end_y > tile.limit_y, tile.limit_y, end_y)",
           "end_y"),
    Mutant(SETUP, "as high as the work-group",
           "Mux(lines_left < height, lines_left, height)", "height"),
    Mutant(SETUP, "vectors begin at items", "(access.x + access.group_x) << access.width",
           "access.x + access.group_x"),
    Mutant(SETUP, "what was cut above is not skipped", "cut.over_y << tile.shift", "0"),
    Mutant(SETUP, "what was cut on the left is not skipped", ") + cut.over_x", ")"),
    Mutant(SETUP, "a line less than the words need", "-(-(count + 1) // across)",
           "-(-count // across)"),
    Mutant(SETUP, "a row as long as the buffer and one more", "(row_end > chip_words)",
           "(row_end > chip_words + 1)"),
    Mutant(SETUP, "one register too many", "+ access.sd_words) > SCALARS",
           "+ access.sd_words) > 33"),
    Mutant(SETUP, "lines that meet in a beat", "(gap < BEAT_WORDS - 1)", "(gap < BEAT_WORDS - 2)"),
    Mutant(SETUP, "indexes line by line", '& ~kinds["indexed"] & apart', "& apart"),
    Mutant(SETUP, "lines that meet on the bus", "(gap < self.machine.scratchpad_bus - 1)",
           "(gap < self.machine.scratchpad_bus - 2)"),
    Mutant(SETUP, "a snoopy tile's index without its lines", "(cut.top * tile.limit_x)",
           "(cut.top * 0)"),
    Mutant(SETUP, "a snoopy tile's lines at any distance",
           "(access.sd_period != tile.limit_x) & (tile.count != 1)",
           "(access.sd_period != tile.limit_x) & 0"),
    Mutant(SETUP, "a snoopy tile's lines longer than their distance",
           "(access.sd_period < tile.words)", "0"),
    Mutant(SETUP, "a snoopy tile without lines", "(tile.count == 0) |", ""),
    Mutant(SETUP, "a snoopy access to registers", "job.destination.eq(Destination.CAM)",
           "job.destination.eq(Destination.REGISTERS)"),
    Mutant(SETUP, "the tile's buffer is not where it lies", "job.base.eq(chip.address + skipped)",
           "job.base.eq(skipped)"),
    Mutant(SETUP, "a clock late", "_delayed(m, self.access.valid, 4, \"valid\")",
           "_delayed(m, self.access.valid, 5, \"valid\")"),
)
MEM_DATA = VECTOR_SPECIAL.index("mem_data")
HEAD = ".data\n0 0x0 {} {}\n.sp_data\n0 0 {} {}\n.text\n"


test_edit_fits_the_rtl, test_the_testbench_finds = mutants_together(MUTANTS)
_, test_the_testbench_finds_one = mutant_tests(MUTANTS[:1], quick=1)


WIDE = {"opcode": OPCODES["ldglin"], "x": 2}
LOCAL = {"opcode": OPCODES["ldsplin"], "scratchpad": 1, "x": 3, "y": 1}
ROW = {"opcode": OPCODES["sldsp"], "scratchpad": 1, "x": 2, "y": 2, "sd_words": 3}
SOME = {"opcode": OPCODES["ldgcidx"], "x": 1, "y": 1, "sd_words": 2, "sd_period": 3,
        "sd_period_cnt": 1}
SAYS = {
    "": ("", "", "", WIDE),
    "it leaves a line of its buffer": (
        "no clipping on the right", "", "", WIDE),
    "it leaves its buffer's lines": ("no clipping below", "", "", WIDE | {"y": 1}),
    "it leaves a line of its scratchpad buffer": ("no clipping on the right", "", "", LOCAL),
    "it leaves its scratchpad buffer's lines": ("no clipping below", "", "", LOCAL | {"y": 2}),
    "it begins elsewhere": ("", "+ cut.left)", ")", LOCAL),
    "it ends beyond its scratchpad buffer": ("", "(row_end > chip_words)", "0", ROW),
    "another index": ("a snoopy tile's index without its lines", "", "", SOME),
    "another distance of lines": ("", "job.period.eq(chip.x)", "job.period.eq(chip.y)", LOCAL),
    "a job at the wrong time": ("a clock late", "", "", WIDE),
    "a job of another access": (
        "", "_delayed(m, access.slot, 4", "_delayed(m, access.slot, 3",
        WIDE | {"slot": 1}),
    "elsewhere on the chip": (
        "", "job.destination.eq(Destination.REGISTERS)",
        "job.destination.eq(Destination.SCRATCHPAD)", WIDE),
}


@unit
@pytest.mark.parametrize("says", SAYS, ids=lambda says: says or "none")
def test_the_checker_fires(says):
    name, old, new, access = SAYS[says]
    mutant = next((mutant for mutant in MUTANTS if mutant.name == name), None)
    if old:
        mutant = Mutant(SETUP, says, old, new)
    dut = component_of(catalogue.load().find(SETUP), mutant)(
        machine="small lanes=4 items=4 special_units=1")

    async def bench(ctx):
        for name, value in {"grid": {"x": 99, "y": 99, "width": 1}, "buffer": {"x": 3, "y": 2},
                            "chip": {"address": 5, "x": 4, "y": 3}}.items():
            for field, given in value.items():
                ctx.set(getattr(dut, name)[field], given)
        for field, given in access.items():
            ctx.set(dut.access.payload[field], given)
        ctx.set(dut.access.valid, 1)
        await ctx.tick()
        ctx.set(dut.access.valid, 0)
        for field in access:
            ctx.set(dut.access.payload[field], 0)
        await ctx.tick().repeat(7)

    if says:
        with pytest.raises(AssertionError, match=says):
            run_bench(dut, bench, AccessSetupCheck(dut))
    else:
        run_bench(dut, bench, AccessSetupCheck(dut))


@pytest.mark.proof
def test_a_tile_that_is_not_cut_is_disproved(tmp_path):
    block = catalogue.load().find(SETUP)
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "no clipping on the right")
    claim = dataclasses.replace(block.properties[0], depth=6, induction=None,
                                top=component_of(block, mutant))
    found = prove(block, claim, {"machine": "small lanes=4 items=4 special_units=1"},
                  folder=tmp_path)
    assert found.status == "failed"
    assert "it leaves a line of its" in found.detail


def group_of(text, buffer, chip, grid, place):
    program = assemble(HEAD.format(*buffer, *chip) + text + "\nexit\n")
    memory = memory_of(program)
    memory[0][...] = np.arange(1, memory[0].size + 1).reshape(memory[0].shape)
    return WorkGroup(Code(program), grid, place, memory)


@unit
@pytest.mark.parametrize("name", ["ldglin", "stglin", "ldg2sptile", "ldsplin", "sldg", "sldsp"])
def test_words_are_those_of_whole_accesses(name):
    """Item by item, and as the model of work-groups has them."""
    machine = MACHINES["small"]
    for across, x, y, place in itertools.product((8, 64), (-9, -1, 0, 3), (-2, 0, 5), (0, 64)):
        grid = Grid(128, 20, machine, across)
        text = {"ldglin": f"ldglin v1, 0, {x}, {y}", "stglin": f"stglin v1, 0, {x}, {y}",
                "ldg2sptile": f"ldg2sptile 0, 0, {x}, {y}", "ldsplin": f"ldsplin v1, 0, {x}, {y}",
                "sldg": "sldg s3, 0, 7", "sldsp": f"sldsp s3, 0, {x}, {y}"}[name]
        group = group_of(text, (70, 13), (5, 6), grid, Place(0, place, 8 if across == 8 else 0))
        here = Committed(name, machine.items, across, (70, 13), (0, 5, 6), x=x, y=y,
                         group_x=place, group_y=group.place.y, grid_y=20, target=3,
                         count=7, sd_words=1)
        try:
            wanted = moves(here)
        except Fault:
            with pytest.raises(KernelFault, match=r"word of scratchpad buffer|leave buffer"):
                group.advance()
            continue
        access = group.advance()
        assert access is not None
        assert len(wanted) == access.words * access.count
        if wanted and name in ("ldglin", "ldg2sptile"):
            group.make(access)
            found = group.v[1] if name == "ldglin" else group.scratchpad[0].reshape(-1)
            for line, column, target in wanted:
                assert found[target] == group.memory[0][line, column]
            assert (found != 0).sum() == len(wanted)


@unit
@pytest.mark.parametrize("name", ["ldgbidx", "ldgcidx", "ldspbidx"])
def test_words_that_pass_are_those_of_whole_accesses(name):
    """Word by word, and as the model of work-groups has them on the machine as it is built."""
    machine, refused = as_built(MACHINES["small"]), 0
    grid = Grid(64, 1, machine)
    shapes = [(7, 7, 2), (3, 7, 4), (7, 9, 1), (3, 8, 2), (8, 8, 1), (0, 7, 1), (3, 7, 0)]
    for (words, period, count), x, y in itertools.product(shapes, (-1, 0, 4), (0, 2, 3)):
        sizes = "".join(f"smovssp sc.{register}, {value}\n" for register, value in (
            ("sd_words", words), ("sd_period", period), ("sd_period_cnt", count)))
        access = f"ldgcidx 0, {x}, {y}" if name == "ldgcidx" else f"{name} 0"
        text = f"{sizes}mov v0, vc.lid_x\nmovvsp vc.mem_idx, v0\n"
        if name == "ldspbidx":
            text += "ldg2sptile 0, 0\n"
        group = group_of(text + access, (7, 5), (7, 5), grid, Place(0, 0, 0))
        if name == "ldspbidx":
            group.make(group.advance())
        here = Committed(name, machine.items, 64, (7, 5), (0, 7, 5), x=x, y=y, grid_y=1,
                         sd_words=words, sd_period=period, sd_period_cnt=count)
        try:
            wanted = moves(here)
        except Fault:
            refused += 1
            with pytest.raises(KernelFault, match=r"are no tile|are no lines of|leave buffer"):
                group.advance()
            continue
        assert [move.target for move in wanted] == [7 * move.line + move.column for move in wanted]
        group.make(group.advance())
        assert np.flatnonzero(group.vc[MEM_DATA]).tolist() == [move.target for move in wanted]
    assert refused > 20 if name == "ldgcidx" else not refused


@unit
def test_words_that_collide():
    words = [Move(0, 0, 0), Move(0, 1, 1), Move(1, 0, 8)]
    assert collide(words, 3, 4, 8)
    assert not collide(words, 4, 4, 8)   # the second line begins beyond the beat of the first word
    assert not collide(words, 3, 3, 8)
    assert not collide(words, 3, 4, 16)


@unit
def test_words_in_a_row_from_whole_lines():
    access = Access("dram", False, 5, 7, 7, 1, 30, lambda: None, across=3)
    assert (access.whole_lines.words, access.whole_lines.count) == (3, 3)
    assert access.whole_lines.whole_lines == access.whole_lines
    assert Access("dram", False, 5, 3, 3, 1, 30, lambda: None, across=3).whole_lines.count == 1
    assert Access("", False, 0, 3, 8, 2, 30, lambda: None, pitch=8).meets(99) is False
    assert Access("", False, 0, 6, 8, 2, 30, lambda: None, pitch=16).meets(4)
    assert not Access("", False, 0, 5, 8, 2, 30, lambda: None, pitch=16).meets(4)
