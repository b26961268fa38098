"""Tiling for systolic arrays."""

from cyclebound.golden.systolic.matmul import matmul_cycles
from cyclebound.golden.systolic.tile_sequencer import walk_cycles
from cyclebound.hdl.systolic.matmul import Matmul
from cyclebound.hdl.systolic.tile_sequencer import TileSequencer
from cyclebound.sim.catalogue.systolic import until
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe, taken
from cyclebound.tb.streams_properties import ProductRowsCheck
from cyclebound.tb.systolic.matmul_properties import MatmulProof
from cyclebound.tb.systolic.tile_sequencer_properties import TileSequencerCheck, TileSequencerProof

_DIMENSIONS = "down", "across"


def _sizes(parameters):
    """All that the command can say."""
    return {name: range(1, 1 << parameters["dimension_width"]) for name in _DIMENSIONS}


BLOCKS = (
    Block(
        name="systolic.tile_sequencer",
        summary="walks a matrix in tiles of an array",
        component=TileSequencer,
        configurations={
            "2x3": Configuration({"rows": 2, "columns": 3, "dimension_width": 4}, domain=_sizes),
            "4x4": Configuration({"rows": 4, "columns": 4, "dimension_width": 4}, domain=_sizes),
            "16x16": Configuration({"rows": 16, "columns": 16}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.systolic.tile_sequencer", quick=("2x3",)),),
        bounds=(BoundBinding("walk", walk_cycles, Probe(
            start=taken("command"), end=f"{taken('tiles')} & tiles.payload.final", classed=True,
            request={name: f"command.payload.{name}" for name in _DIMENSIONS}), exhaustive=True),),
        properties=(
            Property(
                name="once",
                quick=1,
                says="each tile is visited once, in order, one in each cycle in which the sink is "
                     "ready, from the cycle after the command on",
                checker=TileSequencerProof,
                instances=({"rows": 2, "columns": 3, "dimension_width": 4},
                           {"rows": 4, "columns": 4, "dimension_width": 4}),
                depth=10,
                induction=2,
            ),
        ),
        checker=TileSequencerCheck,
        mutants=MutationTarget("2x3"),
        fpga=FpgaTarget("16x16"),
        signals=("top.dut.command__valid", "top.dut.tiles__valid", "top.dut.tiles__ready",
                 "top.dut.tiles__payload"),
    ),
    Block(
        name="systolic.matmul",
        summary="whole matrix products: memories, weight-stationary array, sums over k",
        component=Matmul,
        configurations={
            f"{rows}x{columns}{suffix}": Configuration(
                {"rows": rows, "columns": columns, "double_buffer": double_buffer},
                domain={name: range(1, 10) for name in "mkn"} if rows < 8 else {})
            for rows, columns in ((2, 3), (4, 4), (3, 5), (8, 8))
            for suffix, double_buffer in (("", True), ("_serial", False))},
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.matmul", quick=("2x3",)),
            Testbench("layers", "cyclebound.tb.systolic.matmul_layers", thorough=True,
                      configurations=("8x8", "8x8_serial")),
        ),
        bounds=(BoundBinding("matmul", matmul_cycles, until(
            taken("command"), "commands", taken("results"), "rows_of_c",
            request={name: f"command.payload.{name}" for name in "mkn"}), exhaustive=True),),
        properties=(Property(
            name="products",
            quick=0,
            says="the rows that leave are those of the product, in order, as many as it has, "
                 "whenever they are taken; the next command is taken when all have left",
            checker=MatmulProof,
            instances=({"rows": 1, "columns": 1, "operand_width": 1, "accumulator_width": 2,
                        "a_depth": 4, "b_depth": 4, "sums_depth": 2},),
            depth=26,  # one of 2x2x2, and the next begins
            induction=None,
            flat=True,
        ),),
        checker=ProductRowsCheck,
        fpga=FpgaTarget("8x8"),
        signals=("top.dut.command__valid", "top.dut.array.weights__valid",
                 "top.dut.array.left__valid", "top.dut.active", "top.dut.results__valid"),
    ),
)
