"""Systolic arrays in which an operand stays, and those in floating point."""

import functools
from collections.abc import Mapping
from typing import Any

from cyclebound.golden.systolic import float_output_stationary, float_weight_stationary
from cyclebound.golden.systolic import stationary_bounds as bounds
from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.hdl.systolic.float_output_stationary import FloatOutputStationaryArray
from cyclebound.hdl.systolic.float_weight_stationary import FloatWeightStationaryArray
from cyclebound.hdl.systolic.input_stationary import InputStationaryArray
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray, WeightStationaryPE
from cyclebound.hdl.systolic.weight_stationary_harness import (
    InputStationaryHarness,
    WeightStationaryHarness,
)
from cyclebound.sim.catalogue.systolic import (
    MACS,
    TO_LAST_ROW,
    on_harness,
    product_proof,
    until,
)
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe, taken
from cyclebound.tb.streams_properties import RowForRowCheck
from cyclebound.tb.systolic.float_output_stationary_properties import (
    FloatTurnsCheck,
    FloatTurnsProof,
)
from cyclebound.tb.systolic.float_weight_stationary_properties import FloatRowsProof
from cyclebound.tb.systolic.input_stationary_properties import (
    InputStationaryBoundProof,
    InputStationaryCheck,
    InputStationaryProof,
)
from cyclebound.tb.systolic.pe_properties import WeightStationaryPECheck
from cyclebound.tb.systolic.weight_stationary_properties import (
    WeightStationaryBoundProof,
    WeightStationaryCheck,
    WeightStationaryProof,
)
from cyclebound.tb.systolic.weight_stationary_values import WeightStationaryValuesProof

_UP_TO_9 = {name: range(1, 10) for name in "mkn"}
_SHAPES = {"2x3": (2, 3), "4x4": (4, 4), "3x5": (3, 5), "8x8": (8, 8), "16x16": (16, 16),
           "8x32": (8, 32), "32x32": (32, 32)}
_SMALL = ("2x3", "4x4", "3x5")
_SMALL_ONES = tuple(name + suffix for name in _SMALL for suffix in ("", "_serial"))
_LARGE_ONES = tuple(name + suffix for name in ("4x4", "8x8", "16x16") for suffix in ("", "_serial"))
# All shapes in the figures of a public simulator, whose folds are serial; two of them take minutes.
_PUBLIC = ("4x4_serial", "8x8_serial", "16x16_serial", "8x32_serial", "32x32_serial")
_WIDE = ("8x32_serial", "32x32_serial")


def _configurations() -> dict[str, Configuration]:
    """Each shape with a double buffer, and strictly serial."""
    return {name + suffix: Configuration(
                {"rows": rows, "columns": columns, "double_buffer": double_buffer},
                domain=_UP_TO_9 if name in _SMALL else {})
            for name, (rows, columns) in _SHAPES.items()
            for suffix, double_buffer in (("", True), ("_serial", False))
            if suffix or max(rows, columns) <= 16}


def _floats() -> dict[str, Configuration]:
    """The small shapes of the arrays in floating point."""
    return {name: Configuration({"rows": _SHAPES[name][0], "columns": _SHAPES[name][1]},
                                domain=_UP_TO_9) for name in _SMALL}


def _to_last_mac(stays: str) -> Probe:
    """From the first row of the operand that stays to the last MAC."""
    return until(taken(stays), "tile_rows", "active[-1:]", "operands")


def _to_last_row(stays: str) -> Probe:
    """From the first row of the operand that stays to the last row of sums."""
    return until(taken(stays), "tile_rows", taken("results"), "operands")


_QUICK = tuple(name for name in _configurations() if name not in _WIDE)
# Of one fold and of two on 2 x 3.
_PROVED = {f"product_{m}x{k}x{n}": {"m": m, "k": k, "n": n}
           for m, k, n in ((3, 2, 3), (2, 4, 3))}
_ONE_FOLD = tuple(name for name, shape in _PROVED.items() if shape["k"] <= 2)
_ONE_FOLD_OF_INPUTS = {"m": 3, "k": 2, "n": 3}


def _length(shape: Mapping[str, int], instance: Mapping[str, Any]) -> int:
    return bounds.weight_completion(
        rows=instance["rows"], columns=instance["columns"],
        double_buffer=instance["double_buffer"], **shape)


BLOCKS = (
    Block(
        name="systolic.weight_stationary",
        summary="systolic array for matrix products; the weights stay in place",
        component=WeightStationaryArray,
        configurations=_configurations(),
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.weight_stationary", configurations=_QUICK,
                      quick=("2x3",)),
            Testbench("wide", "cyclebound.tb.systolic.weight_stationary", thorough=True,
                      configurations=_WIDE),
            on_harness("harness", WeightStationaryHarness, configurations=_SMALL_ONES,
                       quick=("2x3",)),
            on_harness("long", WeightStationaryHarness, tests=("random_shapes", "overlap_pays"),
                       configurations=(*_LARGE_ONES, *_WIDE)),
        ),
        bounds=(
            BoundBinding("fold", bounds.weight_fold, MACS, exhaustive=True,
                         proved_by=_ONE_FOLD),
            BoundBinding("steps", bounds.weight_steps, _to_last_mac("weights"), exhaustive=True,
                         proved_by=tuple(_PROVED)),
            BoundBinding("product", bounds.weight_completion, _to_last_row("weights"),
                         exhaustive=True, proved_by=tuple(_PROVED)),
        ),
        properties=(
            Property(
                name="timing",
                quick=1,
                says="weights and operands are taken in their turn, and never refused in it; "
                     "a row of sums follows each row of operands after r + c + 1 steps; none is "
                     "lost or invented",
                checker=WeightStationaryProof,
                # Nothing that the property speaks of depends on an operand: one bit of each.
                instances=tuple(
                    {"rows": rows, "columns": columns, "operand_width": 1, "accumulator_width": 2,
                     "double_buffer": double_buffer}
                    for rows, columns in ((2, 3), (4, 4), (3, 5), (8, 8), (16, 16))
                    for double_buffer in (True, False)),
                # weights, a row of operands, and its sums: r + (r + c + 1) steps, and two cycles
                depth=lambda instance: max(12, 2 * instance["rows"] + instance["columns"] + 3),
                induction=3,
            ),
            Property(
                name="values",
                quick=0,
                says="every row of sums is the row of operands times the weights of its fold",
                checker=WeightStationaryValuesProof,
                instances=tuple(
                    {"rows": 2, "columns": columns, "operand_width": 2, "accumulator_width": 6,
                     "double_buffer": double_buffer}
                    for columns in (2, 3) for double_buffer in (True, False)),
                depth=lambda instance: 2 * instance["rows"] + instance["columns"] + 3,
                induction=1,
            ),
            Property(
                name="element",
                quick=0,
                says="each operand meets the weight that is in use when it comes, and its product "
                     "is added to the sum that passes by",
                checker=WeightStationaryPECheck,
                instances=tuple({"double_buffer": double_buffer}
                                for double_buffer in (True, False)),
                depth=6,
                induction=2,
                top=WeightStationaryPE,
            ),
            *(product_proof(
                name, shape, WeightStationaryBoundProof, Dataflow.WEIGHT,
                ("steps", "product", *(["fold"] if name in _ONE_FOLD else [])),
                tuple({"rows": 2, "columns": 3, "double_buffer": double_buffer}
                      for double_buffer in (True, False)),
                functools.partial(_length, shape),
                induction=2) for name, shape in _PROVED.items()),
        ),
        checker=WeightStationaryCheck,
        fpga=FpgaTarget("8x8"),
        signals=("top.dut.weights__valid", "top.dut.weights__ready", "top.dut.left__valid",
                 "top.dut.left__ready", "top.dut.active", "top.dut.results__valid",
                 "top.dut.results__payload"),
    ),
    Block(
        name="systolic.input_stationary",
        summary="systolic array for matrix products; the inputs stay in place",
        component=InputStationaryArray,
        configurations={name: configuration for name, configuration in _configurations().items()
                        if name in (*_SMALL_ONES, "8x8", *_PUBLIC)},
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.input_stationary",
                      configurations=(*_SMALL_ONES, "8x8", "8x8_serial"), quick=("2x3",)),
            Testbench("wide", "cyclebound.tb.systolic.input_stationary", thorough=True,
                      configurations=("16x16_serial", *_WIDE)),
            on_harness("harness", InputStationaryHarness, configurations=_SMALL_ONES,
                       quick=()),
            on_harness("long", InputStationaryHarness, tests=("random_shapes",),
                       configurations=("8x8", *_PUBLIC)),
        ),
        bounds=(
            BoundBinding("fold", bounds.input_fold, MACS, exhaustive=True,
                         proved_by=("product_3x2x3",)),
            BoundBinding("steps", bounds.input_steps, _to_last_mac("inputs"), exhaustive=True,
                         proved_by=("product_3x2x3",)),
            BoundBinding("product", bounds.input_completion, _to_last_row("inputs"),
                         exhaustive=True, proved_by=("product_3x2x3",)),
        ),
        properties=(
            Property(
                name="timing",
                quick=0,
                says="inputs and columns of B are taken in their turn, and never refused in it; a "
                     "column of sums follows each column of B after r + c + 1 steps; none is lost "
                     "or invented",
                checker=InputStationaryProof,
                instances=tuple(
                    {"rows": 2, "columns": 3, "operand_width": 1, "accumulator_width": 2,
                     "double_buffer": double_buffer} for double_buffer in (True, False)),
                depth=12,
                induction=3,
            ),
            product_proof(
                "product_3x2x3", _ONE_FOLD_OF_INPUTS, InputStationaryBoundProof, Dataflow.INPUT,
                ("fold", "steps", "product"),
                tuple({"rows": 2, "columns": 3, "double_buffer": double_buffer}
                      for double_buffer in (True, False)),
                lambda instance: bounds.input_completion(
                    rows=instance["rows"], columns=instance["columns"],
                    double_buffer=instance["double_buffer"], **_ONE_FOLD_OF_INPUTS),
                induction=2),
        ),
        checker=InputStationaryCheck,
        fpga=FpgaTarget("8x8"),
        signals=("top.dut.inputs__valid", "top.dut.left__valid", "top.dut.active",
                 "top.dut.results__valid", "top.dut.results__payload"),
    ),
    Block(
        name="systolic.float_weight_stationary",
        summary="systolic array for bfloat16 with single precision sums; the weights stay in place",
        component=FloatWeightStationaryArray,
        configurations={
            "2x2": Configuration({"rows": 2, "columns": 2},
                                 domain={"m": range(1, 6), "k": range(1, 6), "n": range(1, 5)}),
            **_floats(),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.float_weight_stationary",
                      configurations=("2x2",)),
            Testbench("wide", "cyclebound.tb.systolic.float_weight_stationary", thorough=True,
                      configurations=_SMALL)),
        bounds=(
            BoundBinding("steps", float_weight_stationary.float_steps, _to_last_mac("weights"),
                         exhaustive=True),
            BoundBinding("product", float_weight_stationary.float_completion,
                         _to_last_row("weights"), exhaustive=True),
        ),
        properties=(Property(
            name="rows",
            quick=0,
            says="a row of sums for each row of A, in the queue 9 r + c cycles after it was "
                 "accepted, where it finds room: none is lost and none comes of nothing, whatever "
                 "the sink does",
            checker=FloatRowsProof,
            instances=({"rows": 1, "columns": 1}, {"rows": 1, "columns": 2}),
            depth=16,
            induction=14,
            any_product=True,
        ),),
        checker=RowForRowCheck,
        fpga=FpgaTarget("2x2"),
        signals=("top.dut.weights__valid", "top.dut.left__valid", "top.dut.left__ready",
                 "top.dut.active", "top.dut.results__valid", "top.dut.results__payload"),
    ),
    Block(
        name="systolic.float_output_stationary",
        summary="systolic array for bfloat16 with single precision sums; folds take turns",
        component=FloatOutputStationaryArray,
        configurations={
            "2x2": Configuration({"rows": 2, "columns": 2},
                                 domain={"m": range(1, 8), "k": range(1, 7), "n": range(7, 8)}),
            **_floats(),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.float_output_stationary",
                      configurations=("2x2",)),
            Testbench("wide", "cyclebound.tb.systolic.float_output_stationary", thorough=True,
                      configurations=_SMALL)),
        bounds=(
            BoundBinding("macs", float_output_stationary.turns_macs, MACS, exhaustive=True),
            BoundBinding("product", float_output_stationary.turns_completion, TO_LAST_ROW,
                         exhaustive=True),
        ),
        properties=(Property(
            name="turns",
            quick=0,
            says="operands are refused only where it is another fold's turn, or where a set of "
                 "folds would end while rows of the one before are to leave; the rows of a set "
                 "leave once, from s + r + c cycles after its last operands, and no sum is "
                 "captured while they do; the folds of a set end in turn",
            checker=FloatTurnsProof,
            instances=({"rows": 1, "columns": 1}, {"rows": 2, "columns": 2}),
            depth=24,
            induction=2,
        ),),
        checker=FloatTurnsCheck,
        fpga=FpgaTarget("2x2"),
        signals=("top.dut.left__valid", "top.dut.left__ready", "top.dut.active",
                 "top.dut.results__valid", "top.dut.results__payload"),
    ),
)
