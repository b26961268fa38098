"""Systolic arrays."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cyclebound.golden.systolic import bounds, no_local_reuse, overlapped_output, row_stationary
from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.hdl.systolic.no_local_reuse import NoLocalReuseArray
from cyclebound.hdl.systolic.output_stationary import OutputStationaryArray, OutputStationaryPE
from cyclebound.hdl.systolic.output_stationary_harness import (
    OutputStationaryHarness,
    OverlappedOutputHarness,
)
from cyclebound.hdl.systolic.overlapped_output import OverlappedOutputArray
from cyclebound.hdl.systolic.row_stationary import RowStationaryArray
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Make,
    MutationTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe, taken
from cyclebound.tb.systolic.no_local_reuse_properties import NoLocalReuseCheck
from cyclebound.tb.systolic.output_stationary_properties import (
    OutputStationaryBoundProof,
    OutputStationaryCheck,
    OutputStationaryProof,
)
from cyclebound.tb.systolic.overlapped_output_properties import (
    OverlappedOutputCheck,
    OverlappedOutputProof,
)
from cyclebound.tb.systolic.pe_properties import OutputStationaryPECheck
from cyclebound.tb.systolic.product_timing import kind_of
from cyclebound.tb.systolic.row_stationary_properties import (
    RowStationaryCheck,
    RowStationaryProof,
)


def _square(low: int, high: int) -> dict[str, range]:
    return {name: range(low, high + 1) for name in "mkn"}


_SMALL = {"2x3": (2, 3), "4x4": (4, 4), "3x5": (3, 5)}
_QUICK = ("2x3", "3x3", "4x4", "3x5", "8x8", "16x16")

_ON_HARNESS = ("every_shape", "products_back_to_back", "stalls_and_backpressure")
_LONG = 50_000_000  # cycles of the tests of a long run, at most


def until(begins: str, starts: str, ends_with: str, ends: str, **more: Any) -> Probe:
    """From the first of a product's declared number of events to the last of others.

    Nothing is counted while no product is declared.
    """
    return Probe(start=f"{begins} & (declared.{starts} > 0)", starts=f"declared.{starts}",
                 end=f"{ends_with} & (declared.{ends} > 0)", ends=f"declared.{ends}", **more)


def on_harness(name: str, harness: Make, *, tests: tuple[str, ...] = _ON_HARNESS,
               **more: Any) -> Testbench:
    """A testbench in which hardware makes and measures the products.

    With other ``tests`` than the usual ones it takes minutes.
    """
    if tests != _ON_HARNESS:
        more = {"thorough": True, "max_cycles": _LONG, **more}
    return Testbench(name, "cyclebound.tb.systolic.array_harness", tests=tests, top=harness,
                     probed=lambda top: top.array, **more)


def _length(shape: Mapping[str, int], instance: Mapping[str, Any]) -> int:
    return bounds.completion(rows=instance["rows"], columns=instance["columns"], **shape)


# From the first MAC to the last: PE (0, 0) begins, and the PE farthest from it ends.
MACS = until("active[0]", "operands", "active[-1:]", "operands")
# The sink is always ready, so that a row is taken in the cycle in which it is offered. The next
# product may begin while the last rows leave.
TO_LAST_ROW = until(taken("left"), "operands", taken("results"), "tile_rows", in_flight=4)

# Of one fold on 2 x 3.
_PROVED = {f"product_{m}x{k}x{n}": {"m": m, "k": k, "n": n}
          for m, k, n in ((2, 1, 3),)}
_ONE_FOLD = tuple(name for name, shape in _PROVED.items() if shape["m"] <= 2 and shape["n"] <= 3)


_OPERANDS = {  # what is assumed of them
    Dataflow.OUTPUT: ("operands are late", *(f"{name}: offer withdrawn or changed"
                                             for name in ("left", "top"))),
    **dict.fromkeys((Dataflow.WEIGHT, Dataflow.INPUT), (
        "rows of A are late", "weights are late, or of the next product",
        *(f"{name}: offer withdrawn or changed" for name in ("left", "weights"))))}


def product_proof(name: str, shape: Mapping[str, int], checker: Make, dataflow: Dataflow,
                  whats: tuple[str, ...], instances: Iterable[Mapping[str, Any]],
                  length: Callable[[Mapping[str, Any]], int], induction: int) -> Property:
    """That products of one shape take no longer than their bounds, by what the probes count.

    ``length`` says of an instance how many cycles a product has.
    """
    def kind(instance: Mapping[str, Any]) -> dict[str, int]:
        size: dict[str, int] = {name: instance[name] for name in ("rows", "columns")}
        return kind_of(map_product(dataflow, **size, **shape), size["rows"], **shape)

    return Property(
        name=name,
        quick=0,
        says=f"with operands always on offer and a ready sink, products of {shape['m']} x "
             f"{shape['k']} x {shape['n']} take what is predicted, by the count of each probe",
        checker=functools.partial(checker, **shape),
        declares=dict.fromkeys(whats, kind),
        assumes={"the sink is not ready": "a ready sink",
                 "a fold of another length": "products of",
                 **dict.fromkeys(_OPERANDS[dataflow], "operands always on offer")},
        instances=tuple({**instance, "operand_width": width, "accumulator_width": 2 * width}
                        for instance in instances for width in (1, 2)),
        independent=dict.fromkeys(("operand_width", "accumulator_width"),
                                  "no flag or counter of the array depends on an operand"),
        depth=lambda instance: length(instance) + 1,
        induction=induction,
    )


BLOCKS = (
    Block(
        name="systolic.output_stationary",
        summary="systolic array for matrix products; the sums stay in place",
        component=OutputStationaryArray,
        configurations={
            "2x3": Configuration({"rows": 2, "columns": 3}, domain=_square(1, 9)),
            # the thesis' example, Table 5.1
            "3x3": Configuration({"rows": 3, "columns": 3}, domain=_square(1, 4)),
            "4x4": Configuration({"rows": 4, "columns": 4}, domain=_square(1, 9)),
            "3x5": Configuration({"rows": 3, "columns": 5}, domain=_square(1, 9)),
            "8x8": Configuration({"rows": 8, "columns": 8}, domain=_square(1, 9)),
            "16x16": Configuration({"rows": 16, "columns": 16}),
            **{f"{rows}x32": Configuration({"rows": rows, "columns": 32}) for rows in (8, 32)},
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.output_stationary", configurations=_QUICK,
                      quick=("2x3",)),
            on_harness("harness", OutputStationaryHarness, configurations=_QUICK, quick=("2x3",)),
            on_harness("wide", OutputStationaryHarness, thorough=True,
                       configurations=("8x32", "32x32")),
            on_harness("long", OutputStationaryHarness, tests=("random_shapes",),
                       configurations=("4x4", "8x8", "16x16", "8x32", "32x32")),
        ),
        bounds=(
            BoundBinding("fold", bounds.eq5_5, MACS, exhaustive=True, proved_by=_ONE_FOLD),
            BoundBinding("macs", bounds.eq5_6, MACS, exhaustive=True, proved_by=tuple(_PROVED)),
            BoundBinding("product", bounds.completion, TO_LAST_ROW, exhaustive=True,
                         proved_by=tuple(_PROVED)),
        ),
        properties=(
            Property(
                name="timing",
                quick=1,
                says="operands are consumed together; a fold takes r + c + k - 2 steps, and the "
                     "array waits for its neighbours only; r rows leave for each fold",
                checker=OutputStationaryProof,
                instances=({"rows": 2, "columns": 3, "operand_width": 2, "accumulator_width": 8},
                           {"rows": 3, "columns": 3, "operand_width": 2, "accumulator_width": 8},
                           {"rows": 4, "columns": 4, "operand_width": 2, "accumulator_width": 8}),
                # a fold of one operand, its flush and three more, then its rows
                depth=lambda instance: max(12, 2 * instance["rows"] + instance["columns"] + 3),
                induction=4,
            ),
            Property(
                name="values",
                quick=0,
                says="every row of results is the product of the operands accepted for its fold",
                checker=functools.partial(OutputStationaryProof, values=True),
                instances=({"rows": 2, "columns": 2, "operand_width": 2, "accumulator_width": 6},),
                # products of two bits take a solver minutes to the first row that leaves
                depth=lambda instance: 9 if instance["operand_width"] == 1 else 6,
                induction=4,
                covered={"rows": 2, "columns": 2, "operand_width": 1, "accumulator_width": 4},
            ),
            Property(
                name="element",
                quick=0,
                says="each pair of operands is multiplied and added once, and no sum of up to "
                     "2 ** 17 - 1 products of int8 overflows 32 bits",
                checker=OutputStationaryPECheck,
                instances=({"operand_width": 8, "accumulator_width": 32},),
                depth=4,
                induction=2,
                top=OutputStationaryPE,
            ),
            *(product_proof(
                name, shape, OutputStationaryBoundProof, Dataflow.OUTPUT,
                ("macs", "product", *(["fold"] if name in _ONE_FOLD else [])),
                ({"rows": 2, "columns": 3},),
                functools.partial(_length, shape),
                # the next product begins so many cycles before this one's last row leaves
                induction=6) for name, shape in _PROVED.items()),
        ),
        checker=OutputStationaryCheck,
        mutants=MutationTarget("2x3"),
        fpga=FpgaTarget("8x8"),
        pictures=(Picture(
            "steps", "A product of 3 x 3 x 3, step by step, by output-, weight- and "
            "input-stationary dataflow: which elements meet in each PE.",
            "cyclebound.sim.pictures.steps:figure"),),
        signals=("top.dut.left__valid", "top.dut.left__ready", "top.dut.left__payload.last",
                 "top.dut.active", "top.dut.results__valid", "top.dut.results__payload"),
    ),
    Block(
        name="systolic.overlapped_output",
        summary="output-stationary array whose folds overlap: one in max(k, r) cycles",
        component=OverlappedOutputArray,
        configurations={
            **{name: Configuration({"rows": rows, "columns": columns}, domain=_square(1, 9))
               for name, (rows, columns) in _SMALL.items()},
            "8x8": Configuration({"rows": 8, "columns": 8}),
            "16x16": Configuration({"rows": 16, "columns": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.overlapped_output", quick=("2x3",)),
            on_harness("harness", OverlappedOutputHarness, configurations=("2x3", "4x4", "3x5"),
                       quick=()),
            on_harness("long", OverlappedOutputHarness, tests=("random_shapes", "overlap_pays"),
                       configurations=("8x8", "16x16")),
        ),
        bounds=(
            BoundBinding("fold", bounds.eq5_5, MACS, exhaustive=True),
            BoundBinding("macs", overlapped_output.overlapped_macs, MACS, exhaustive=True),
            BoundBinding("product", overlapped_output.overlapped_completion, TO_LAST_ROW,
                         exhaustive=True),
        ),
        properties=(Property(
            name="rows",
            quick=0,
            says="operands are refused only while a row waits, or where a fold would end less than "
                 "r cycles after the one before; each PE executes them in its cycle; row i of a "
                 "fold is on offer r + c + 2 + i steps after its last operands were taken, once, "
                 "and stays until it is taken",
            checker=OverlappedOutputProof,
            instances=tuple({"rows": rows, "columns": columns, "operand_width": 1,
                             "accumulator_width": 2} for rows, columns in ((1, 2), (2, 3), (3, 2))),
            depth=14,
            induction=2,
        ),),
        checker=OverlappedOutputCheck,
        fpga=FpgaTarget("8x8"),
        signals=("top.dut.left__valid", "top.dut.left__ready", "top.dut.left__payload.last",
                 "top.dut.active", "top.dut.results__valid", "top.dut.results__payload"),
    ),
    Block(
        name="systolic.row_stationary",
        summary="convolution with a row of the filter in each PE; rows of the image on diagonals",
        component=RowStationaryArray,
        configurations={
            f"{rows}x{columns}x{taps}": Configuration(
                {"rows": rows, "columns": columns, "taps": taps},
                domain=lambda parameters: {"width": range(parameters["taps"], 16),
                                           "passes": range(1, 4)})
            for rows, columns, taps in ((1, 1, 1), (2, 3, 2), (3, 4, 3), (4, 4, 3), (3, 5, 3),
                                        (5, 7, 5))},
        testbenches=(Testbench("cycle", "cyclebound.tb.systolic.row_stationary",
                               quick=("2x3x2",)),),
        bounds=(
            BoundBinding("pass", row_stationary.row_completion, until(
                taken("weights"), "weights", taken("results"), "windows"), exhaustive=True),
            # the last row of PEs begins, and the first ends
            BoundBinding("macs", row_stationary.row_macs, until(
                "active[-1:]", "steps", "active[0]", "steps"), exhaustive=True),
        ),
        properties=(Property(
            name="columns",
            quick=0,
            says="a pass takes its weights, then columns of the image, each as soon as the PEs are "
                 "done with the one before; each column but the first taps - 1 makes one column of "
                 "the result, rows + taps + 1 steps later, which stays until it is taken, and "
                 "nothing else does; each PE executes in its steps",
            checker=RowStationaryProof,
            instances=tuple({"rows": rows, "columns": columns, "taps": taps, "operand_width": 1,
                             "accumulator_width": 2}
                            for rows, columns, taps in ((1, 1, 1), (2, 3, 2), (3, 2, 3))),
            depth=14,
            induction=2,
        ),),
        checker=RowStationaryCheck,
        fpga=FpgaTarget("3x4x3"),
        signals=("top.dut.weights__valid", "top.dut.left__valid", "top.dut.left__ready",
                 "top.dut.active", "top.dut.results__valid", "top.dut.results__payload"),
    ),
    Block(
        name="systolic.no_local_reuse",
        summary="matrix products with every operand from outside in every cycle",
        component=NoLocalReuseArray,
        configurations={
            **{name: Configuration({"rows": rows, "columns": columns}, domain=_square(1, 9))
               for name, (rows, columns) in _SMALL.items()},
            "8x8": Configuration({"rows": 8, "columns": 8}),
            "16x16": Configuration({"rows": 16, "columns": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.no_local_reuse",
                      configurations=(*_SMALL, "8x8"), quick=("2x3",)),
            Testbench("long", "cyclebound.tb.systolic.no_local_reuse",
                      tests=("random_shapes",), thorough=True, configurations=("8x8", "16x16")),
        ),
        bounds=(BoundBinding("product", no_local_reuse.reuse_free_cycles, until(
            taken("operands"), "operands", taken("results"), "operands"), exhaustive=True),),
        properties=(
            Property(
                name="sums",
                quick=0,
                says="with a ready sink, each vector has its row of sums 2 + ceil(log2(rows)) "
                     "cycles later, in order, and none comes without one; each sum is what came "
                     "with the vector plus the products of its column",
                checker=functools.partial(NoLocalReuseCheck, ready=True),
                assumes={"the sink is not ready": "a ready sink"},
                instances=tuple({"rows": rows, "columns": columns, "operand_width": 2,
                                 "accumulator_width": 6}
                                for rows, columns in ((2, 3), (3, 2), (4, 4), (1, 1))),
                depth=8,
                induction=6,
            ),
        ),
        checker=NoLocalReuseCheck,
        fpga=FpgaTarget("8x8"),
        signals=("top.dut.operands__valid", "top.dut.active", "top.dut.results__valid",
                 "top.dut.results__payload"),
    ),
)
