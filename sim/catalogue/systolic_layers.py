"""The blocks that let a systolic array compute whole layers."""

import functools

from cyclebound.golden.systolic.accelerator import compute_cycles, transfer_cycles
from cyclebound.golden.systolic.accelerator_layout import Operation
from cyclebound.golden.systolic.accelerator_plan import layer_cycles
from cyclebound.golden.systolic.dram_memory import dram_transfer, dram_transfer_refreshed
from cyclebound.golden.systolic.im2col import im2col_cycles
from cyclebound.golden.systolic.max_pooling import pool_cycles
from cyclebound.golden.systolic.post_processing import post_process
from cyclebound.hdl.systolic.accelerator import Accelerator
from cyclebound.hdl.systolic.dram_memory import DramMemory, SharedDramMemory
from cyclebound.hdl.systolic.dram_memory_harness import DramMemoryHarness
from cyclebound.hdl.systolic.im2col import Im2col
from cyclebound.hdl.systolic.max_pooling import MaxPooling
from cyclebound.hdl.systolic.post_processing import PostProcessing
from cyclebound.sim.catalogue.dram import pins
from cyclebound.sim.catalogue.systolic import until
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe, taken
from cyclebound.tb.systolic.accelerator_properties import (
    AcceleratorTransfers,
    AcceleratorTransfersProof,
)
from cyclebound.tb.systolic.dram_memory_properties import DramMemoryProof
from cyclebound.tb.systolic.im2col_properties import Im2colCheck, Im2colOrderProof
from cyclebound.tb.systolic.max_pooling_properties import MaxPoolingCheck
from cyclebound.tb.systolic.post_processing_properties import PostProcessingCheck

# The first command of a list. It leaves the queue in the next cycle.
_ACCEPTED = f"{taken('command')} & idle"
_COMPUTES = f"(command.payload.operation == {Operation.COMPUTE.value})"
# The cycle after the last one with something to do: what ends there begins a cycle late, too.
_IDLES = "idle & past(~idle)"

_PART = "ddr4-3200aa-x16"  # Sim-D, Table 1
# A transfer with its memory: from its request to its last beat.
_MOVES = Probe(start=taken("requests"), end=f"{taken('read')} | {taken('write')}",
               ends="requests.payload.count",
               request={"count": "requests.payload.count", "write": "requests.payload.write"})


def _every_sum(parameters):
    """All scales, each with all sums and biases; none where that would take minutes."""
    scales = 2 ** parameters["multiplier_width"]
    rows = -(-4 ** parameters["accumulator_width"] // parameters["columns"])
    if rows * scales > 1 << 13:
        return {}
    return {"multiplier": range(scales), "shift": range(10), "rows": range(rows, rows + 1)}


BLOCKS = (
    Block(
        name="systolic.post_processing",
        summary="bias, scale, rounding and activation: sums become operands",
        component=PostProcessing,
        configurations={
            "tiny": Configuration(
                {"columns": 4, "accumulator_width": 5, "multiplier_width": 3, "result_width": 4},
                domain=_every_sum),
            "8": Configuration({"columns": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.systolic.post_processing",
                               quick=("tiny",)),),
        bounds=(BoundBinding("rows", post_process, until(
            taken("sums"), "rows", taken("results"), "rows",
            request={"multiplier": "multiplier", "shift": "shift"}), exhaustive=True),),
        properties=(
            Property(
                name="results",
                quick=0,
                says="with a ready sink, each row of sums has its row of results 6 cycles later, "
                     "in order, and none comes without one; each result is the sum with its bias, "
                     "scaled and rounded once, with its shortcut, within the limits",
                checker=functools.partial(PostProcessingCheck, ready=True),
                instances=tuple({"columns": 2, "accumulator_width": 4, "multiplier_width": 2,
                                 "result_width": 3, "own_scales": own_scales}
                                for own_scales in (False, True)),
                depth=8,
                induction=8,
            ),
        ),
        checker=PostProcessingCheck,
        fpga=FpgaTarget("8"),
        signals=("top.dut.sums__valid", "top.dut.sums__ready", "top.dut.results__valid",
                 "top.dut.results__ready", "top.dut.results__payload"),
    ),
    Block(
        name="systolic.im2col",
        summary="addresses of a convolution's operands: windows of an image as rows of a matrix",
        component=Im2col,
        configurations={
            "2": Configuration(
                {"size": 2, "address_width": 6},
                domain={"height": range(1, 5), "width": range(1, 5), "channels": range(1, 4),
                        "kernel": range(1, 4), "stride": range(1, 3), "padding": range(2)}),
            "8": Configuration({"size": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.systolic.im2col", quick=("2",)),),
        # the next command is accepted before the last word has left
        bounds=(BoundBinding("words", im2col_cycles, Probe(
            start=taken("command"), end=f"{taken('words')} & words.payload.final", in_flight=2,
            request={name: f"command.payload.{name}"
                     for name in ("height", "kernel", "stride", "planes", "strips")}
            | {"padding": "0 - command.payload.top"}), exhaustive=True),),
        properties=(Property(
            name="order",
            quick=0,
            says="a command is taken when the one before is finished, and each of its words comes "
                 "once, in order, the first one two cycles later, another in each cycle in which "
                 "the one before was taken, with the ends of tiles and of the command marked; "
                 "no count of a command is 0",
            checker=Im2colOrderProof,
            instances=({"size": 2, "address_width": 6}, {"size": 8}),
            depth=6,
            induction=2,
        ),),
        checker=Im2colCheck,
        fpga=FpgaTarget("8"),
        signals=("top.dut.command__valid", "top.dut.words__valid", "top.dut.words__ready",
                 "top.dut.words__payload"),
    ),
    Block(
        name="systolic.max_pooling",
        summary="the greatest of each window, from a stream of pixels",
        component=MaxPooling,
        configurations={
            "2": Configuration({"columns": 2, "width": 3, "most": 8},
                               domain={"height": range(1, 8), "width": range(1, 8),
                                       "window": range(1, 5)}),
            "8": Configuration({"columns": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.systolic.max_pooling", quick=("2",)),),
        bounds=(BoundBinding("image", pool_cycles, until(
            taken("pixels"), "pixels", taken("results"), "windows",
            request={"height": "image_height", "width": "image_width", "window": "window"}),
            exhaustive=True),),
        properties=(
            Property(
                name="windows",
                quick=0,
                says="with a ready sink, in the first 11 cycles after a reset, each window makes "
                     "a result 3 cycles after its last pixel, in order, and nothing else does; of "
                     "any window and channel it is the greatest element",
                checker=functools.partial(MaxPoolingCheck, ready=True),
                instances=({"columns": 1, "width": 2, "most": 2},),
                depth=11,
                induction=None,
            ),
        ),
        checker=MaxPoolingCheck,
        fpga=FpgaTarget("8"),
        signals=("top.dut.pixels__valid", "top.dut.pixels__ready", "top.dut.results__valid",
                 "top.dut.results__payload"),
    ),
    Block(
        name="systolic.accelerator",
        summary="whole layers by a list of commands: scratchpads, transfers, array, pooling",
        component=Accelerator,
        configurations={
            "2": Configuration(
                {"size": 2, "a_depth": 32, "b_depth": 32, "bias_depth": 8, "c_depth": 32,
                 "sums_depth": 16},
                domain={"height": range(1, 4), "width": range(1, 4), "channels": range(1, 4),
                        "filters": range(1, 4), "kernel": range(1, 3), "stride": range(1, 3),
                        "padding": range(2), "window": range(1, 3)}),
            "4": Configuration({"size": 4, "a_depth": 128, "b_depth": 512, "c_depth": 128,
                                "sums_depth": 64}),
            "8": Configuration({"size": 8}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.accelerator", quick=("2",)),
            Testbench("every", "cyclebound.tb.systolic.accelerator", tests=("every_layer",),
                      configurations=("2",), quick=()),
            Testbench("slow", "cyclebound.tb.systolic.accelerator", tests=("slow_memory",),
                      quick=()),
            Testbench("networks", "cyclebound.tb.systolic.accelerator_networks", thorough=True,
                      configurations=("8",)),
            Testbench("full_size", "cyclebound.tb.systolic.accelerator_networks",
                      tests=("mobilenet_at_full_size",), thorough=True, configurations=("8",)),
        ),
        bounds=(
            BoundBinding("layer", layer_cycles, Probe(
                start=f"past({_ACCEPTED})", end=_IDLES), exhaustive=True,
                exhausts="a memory that moves each beat as late as it may"),
            # of one command by itself
            BoundBinding("compute", compute_cycles, Probe(
                start=f"past(past({_ACCEPTED} & {_COMPUTES})) & (declared.commands > 0)",
                end=f"{_IDLES} & (declared.commands > 0)",
                request={name: f"past(past(command.payload.{name}))"
                         for name in ("pixels", "tiles", "strips")})),
            BoundBinding("transfer", transfer_cycles, Probe(
                start=f"past({_ACCEPTED} & ~{_COMPUTES}) & (declared.commands > 0)",
                end=f"({taken('read')} | {taken('write')}) & (declared.commands > 0)",
                ends="past(command.payload.count)",
                request={"count": "past(command.payload.count)"})),
        ),
        properties=(Property(
            name="transfers",
            quick=0,
            says="transfers come one after the other, each with as many beats as its request says "
                 "(65,536 where it says 0), in its direction, and no beat moves without one; idle "
                 "only when none is under way; what is offered stays; whatever the commands are",
            checker=AcceleratorTransfersProof,
            instances=({"size": 2, "a_depth": 32, "b_depth": 32, "bias_depth": 8, "c_depth": 32,
                        "sums_depth": 16},),
            depth=7,
            induction=3,
            any_product=True,
        ),),
        checker=AcceleratorTransfers,
        fpga=FpgaTarget("8"),
        pictures=(Picture(
            "roofline", "Each layer as planned, with fast and with slow memory: below the slope, "
            "memory bounds it; below the flat roof, the array.",
            "cyclebound.sim.pictures.roofline:figure"),),
        signals=("top.dut.command__valid", "top.dut.requests__valid", "top.dut.read__valid",
                 "top.dut.write__valid", "top.dut.active", "top.dut.idle"),
    ),
    Block(
        name="systolic.dram_memory",
        summary="the accelerator's memory in a DRAM: its transfers as tiles of a client",
        component=SharedDramMemory,
        configurations={
            "4": Configuration({"size": 4, "part": _PART, "bursts": 4, "slots": 4}),
            # whose tiles come as fast as the accelerator takes a beat in each cycle
            "8": Configuration({"size": 8, "part": _PART, "bursts": 32, "slots": 8}),
            "16": Configuration({"size": 16, "part": _PART, "bursts": 16, "slots": 2}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.systolic.dram_memory", top=DramMemoryHarness,
                      checker=pins, probed=lambda harness: harness.inner, quick=()),
        ),
        bounds=(
            BoundBinding("transfer", dram_transfer, _MOVES),
            BoundBinding("refreshed", dram_transfer_refreshed, _MOVES),
        ),
        properties=(Property(
            name="words",
            says="tiles follow each other from a transfer's first word to its last, and each beat "
                 "is the word that DRAM has, or gets it, whenever the controller moves words",
            checker=DramMemoryProof,
            top=lambda *, part, **sizes: DramMemory(**sizes),
            instances=({"size": 16, "part": _PART, "bursts": 1, "slots": 2, "memory_width": 4},),
            depth=9,
            induction=None,
            quick=0,
        ),),
        signals=("top.dut.requests__valid", "top.dut.read__valid", "top.dut.write__ready",
                 "top.dut.idle", "top.dut.fault", "top.command.op"),
    ),
)
