"""Units of the SIMD accelerator."""

import functools

from cyclebound.golden.simd import (
    accelerator_bounds,
    arithmetic_bounds,
    host_bounds,
    pipeline_bounds,
    scheduler_bounds,
    scratchpad_bounds,
    transfer_unit_bounds,
)
from cyclebound.golden.simd.host_registers import REGISTERS, Register
from cyclebound.hdl.simd.accelerator import Accelerator
from cyclebound.hdl.simd.accelerator_harness import AcceleratorHarness
from cyclebound.hdl.simd.access_setup import AccessSetup
from cyclebound.hdl.simd.compute_unit import ComputeUnit
from cyclebound.hdl.simd.control_stack import ControlStack
from cyclebound.hdl.simd.execute_harness import LaneHarness, SpecialFunctionsHarness
from cyclebound.hdl.simd.host import HostInterface
from cyclebound.hdl.simd.hosted_accelerator import HostedAccelerator
from cyclebound.hdl.simd.lane import Lane
from cyclebound.hdl.simd.scheduler import WorkGroupScheduler
from cyclebound.hdl.simd.scoreboard import Scoreboard
from cyclebound.hdl.simd.scratchpad import Scratchpad
from cyclebound.hdl.simd.special_functions import SpecialFunctions
from cyclebound.hdl.simd.transfer_unit import TransferUnit
from cyclebound.sim.catalogue.dram import distances
from cyclebound.sim.describe.block import (
    FOLLOWED,
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.pipeline_properties import PipelineProof
from cyclebound.tb.probe import Probe
from cyclebound.tb.simd.access_setup_properties import AccessSetupCheck, AccessSetupProof
from cyclebound.tb.simd.compute_unit_properties import (
    ComputeUnitCheck,
    ComputeUnitOrder,
    ComputeUnitProof,
)
from cyclebound.tb.simd.control_stack_properties import (
    ControlStackLevelCheck,
    ControlStackProof,
)
from cyclebound.tb.simd.host_properties import HostCheck, HostProof
from cyclebound.tb.simd.lane_properties import LaneCheck
from cyclebound.tb.simd.scheduler_properties import SchedulerCheck, SchedulerProof
from cyclebound.tb.simd.scoreboard_properties import ScoreboardCheck
from cyclebound.tb.simd.scratchpad_properties import ScratchpadCheck, ScratchpadTileProof
from cyclebound.tb.simd.special_functions_properties import (
    SpecialFunctionsCheck,
    SpecialFunctionsRangeCheck,
)
from cyclebound.tb.simd.transfer_unit_properties import TransferUnitCheck, TransferUnitProof
from cyclebound.tools.simd.kernels import KERNELS

# Of a unit that takes an operation in every cycle; of long streams, single results are not printed.
_EXECUTE = (
    BoundBinding("result", arithmetic_bounds.execute_result, proved_by=("latency",),
                 probe=Probe(start="valid", end="done", in_flight="stages", classed=True)),
    BoundBinding("stream", arithmetic_bounds.execute_stream,
                 probe=Probe(start="valid", end="done", starts="declared.operations",
                             ends="declared.operations")),
)

# Of slot s: it is free, and the next work-group is its own or there is none.
_FREE = ("((events[s].ended | (events[s].over & held(events[s].final, events[s].committed)))"
         " & left)")
_GOT = "((launch.valid & (launch.payload.slot == s)) | ~left)"

_TRANSFER = Probe(start="go & (tile.words != 0) & (tile.count != 0)", end="done & ~go",
                  classed=True,
                  request={"words": "tile.words", "gap": "tile.period - tile.words",
                           "count": "tile.count", "restart": "tile.restart"})


# Shapes of tiles whose transfers are proved, on a bus of four words.
_TILES = ({"words": 3, "gap": 2, "count": 3, "restart": 0},
          {"words": 6, "gap": 3, "count": 2, "restart": 1},
          {"words": 13, "gap": 0, "count": 1, "restart": 0})


def _shape_of(shape, instance):
    return shape


def _tile_name(shape):
    return "transfer_{words}_{gap}_{count}".format(**shape) + "_restarts" * shape["restart"]


# Of an access that its requester makes alone, and says so (``declared.alone``): it is shown, in the
# first clock of its compute cycle; it is over.
_SHOWN = ("access.valid & ~past(access.valid & stall) & {}access.payload.scratchpad "
          "& declared.alone")
_OVER = "any(completion[s].valid for s in 2) & declared.alone"


def _followed_stack(machine):
    """A control stack that shows an entry to its checker."""
    return ControlStack(machine=machine, follows=True)


def _pins(component):
    """The checker of the DRAM's pins."""
    return DramTimingCheck(part=component.part)


def _unit(harness):
    return harness.unit


_SMALL = ("small",)
_SNOOPY = "small", "paper"  # whose machines have snoopy accesses
_WITHOUT_SNOOPY = tuple(name for name in KERNELS if name not in ("matrix_product", "transposition"))

# An instruction's first token commits; 0 is the number of none, so that nothing begins before a
# requester says which instructions it means.
_COMMIT = "commit.valid & commit.payload.first & ~commit.payload.injected"
_INSTRUCTION = _COMMIT + " & (commit.payload.index + 1 == declared.{})"
_FIRST, _SECOND = (_INSTRUCTION.format(name) for name in ("first", "second"))


def _interval(claim, start=_FIRST, end=_SECOND):
    """From an instruction to another."""
    return BoundBinding(claim.name, claim, Probe(start=f"past({start})", end=end))


def _access(resource):
    """From the compute cycle that shows an access of slot s to the one that shows its end."""
    mine = "(access.valid & (access.payload == s))"
    kind = {"dram": "~scratchpad", "scratchpad": "scratchpad"}[resource]
    return Probe(start=f"{mine} & {kind} & ~stall", ticks="~stall", unit="compute cycles",
                 end=f"over[s] & held({kind}, {mine}) & ~stall", over={"s": 2}, classed=True)


# for a part of an FPGA: as few lanes as a beat has words, half of the items, no snoopy accesses
_FPGA = "small lanes=4 items=32 special_units=1 snoopy=0"
_MACHINES = {
    "tiny": "small lanes=4 items=32 special_units=1",  # warps and passes as small
    "small": "small",
    # the stages in brackets in Sim-D's notes, and as few warps as there can be
    "short": "small decode_stages=1 execute_stages=3",
    "one_warp": "small items=8 special_units=8",
    "paper": "paper",
    "fpga": _FPGA,
}

_TINIEST = ("small lanes=2 items=4 special_units=1 decode_stages=1 execute_stages=1 "
            "divider_cycles=1")
TINIEST_WHOLE = _TINIEST.replace("lanes=2", "lanes=4")  # its transfer unit moves four words
_TINY_MACHINE = "small lanes=4 items=4 special_units=1"
_TINY = tuple({"machine": f"small lanes=2 items={items} special_units=1"} for items in (2, 4))
# tiny ones first; "short" has the stack of "small"
_STACKS = (*_TINY, *({"machine": _MACHINES[name]} for name in ("one_warp", "small", "paper")))

_INJECTED = "commit.valid & commit.payload.first & commit.payload.injected"
_SLOT = " & (commit.payload.slot == {})"

_INTERVALS = (*(_interval(bound) for bound in (
    pipeline_bounds.scalar, pipeline_bounds.scalar_dependent, pipeline_bounds.vector,
    pipeline_bounds.vector_dependent, pipeline_bounds.special, pipeline_bounds.special_dependent,
    pipeline_bounds.division, pipeline_bounds.division_again, pipeline_bounds.division_dependent,
    pipeline_bounds.jump_taken, pipeline_bounds.jump_not_taken, pipeline_bounds.vector_jump,
    pipeline_bounds.push_to_pop)),
    *(_interval(bound, start=_FIRST + _SLOT.format(0), end=_SECOND + _SLOT.format(1))
      for bound in (pipeline_bounds.access_turn, pipeline_bounds.end_turn)),
    _interval(pipeline_bounds.emptied,
              end=f"first({_INJECTED}, {_FIRST}) & any(declared.first)"),
    _interval(pipeline_bounds.injected, start=f"{_INJECTED} & any(declared.second)"),
)


def _latency(steps):
    """The property of a pipeline's latency, with 5 stages and with a register after each step."""
    return Property(
        name="latency",
        quick=1,
        says="each operation has its result after as many cycles as there are stages, whichever "
             "come before and after it",
        checker=PipelineProof,
        instances=tuple({"stages": stages} for stages in (5, steps)),
        declares={"result": lambda instance: {}},
        depth=steps + 3,
        induction=steps + 3,
        any_product=True,
    )

_HOSTS = ({"machine": "small"}, {"machine": "paper"})

BLOCKS = (
    Block(
        name="simd.special_functions",
        summary="reciprocal unit: 1/x, 1/sqrt(x), sine and cosine in single precision",
        component=SpecialFunctions,
        configurations={
            # Sim-D, section 3.1: a five-stage execute pipeline
            "paper": Configuration({"stages": 5}),
            # a register after every step, for the clock of an FPGA
            "deep": Configuration({"stages": SpecialFunctions.STEPS}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.special_functions", quick=("paper",)),
            Testbench("harness", "cyclebound.tb.simd.special_functions_harness",
                      top=SpecialFunctionsHarness, probed=_unit, quick=()),
            Testbench("ten_million", "cyclebound.tb.simd.special_functions_harness",
                      tests=("every_function_of_ten_million_numbers",),
                      top=SpecialFunctionsHarness, probed=_unit, thorough=True,
                      max_cycles=50_000_000),
        ),
        bounds=_EXECUTE,
        properties=(
            Property(
                name="results",
                quick=0,
                says="a result comes stages cycles after its operand, and none without one; it is "
                     "NaN where the function has no value and nowhere else; reciprocals keep the "
                     "sign, roots are positive",
                checker=SpecialFunctionsCheck,
                instances=tuple({"stages": stages} for stages in (5, SpecialFunctions.STEPS)),
                depth=SpecialFunctions.STEPS + 2,
                induction=SpecialFunctions.STEPS + 2,
                any_product=True,
            ),
            _latency(SpecialFunctions.STEPS),
        ),
        checker=SpecialFunctionsRangeCheck,
        fpga=FpgaTarget("deep"),
        signals=("top.dut.valid", "top.dut.function", "top.dut.operand", "top.dut.done",
                 "top.dut.result"),
    ),
    Block(
        name="simd.lane",
        summary="lane: floating point in single precision, integers and logic on 32-bit words",
        component=Lane,
        configurations={
            "paper": Configuration({"stages": 5}),  # Sim-D, section 3.1
            "deep": Configuration({"stages": Lane.STEPS}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.lane", quick=("paper",)),
            Testbench("harness", "cyclebound.tb.simd.lane_harness", top=LaneHarness,
                      probed=_unit, quick=()),
            Testbench("million", "cyclebound.tb.simd.lane_harness",
                      tests=("every_operation_on_a_million_words",), top=LaneHarness,
                      probed=_unit, thorough=True, max_cycles=100_000_000),
        ),
        bounds=_EXECUTE,
        properties=(
            Property(
                name="results",
                quick=0,
                says="a result comes stages cycles after its operands, and none without them; "
                     "words and integers are moved, added, compared and combined exactly; there "
                     "is one NaN",
                checker=LaneCheck,
                instances=tuple({"stages": stages} for stages in (5, Lane.STEPS)),
                depth=Lane.STEPS + 2,
                induction=Lane.STEPS + 2,
                any_product=True,
            ),
            _latency(Lane.STEPS),
        ),
        checker=LaneCheck,
        mutants=MutationTarget("paper"),
        fpga=FpgaTarget("deep"),
        signals=("top.dut.valid", "top.dut.operation", "top.dut.a", "top.dut.b", "top.dut.c",
                 "top.dut.done", "top.dut.result"),
    ),
    Block(
        name="simd.scheduler",
        summary="work-group scheduler: places of the grid, slots, pairs, turns of the memories",
        component=WorkGroupScheduler,
        configurations={
            "paper": Configuration({"machine": "paper"}, domain={"slot": range(2)}),
            "small": Configuration({"machine": "small"}, domain={"slot": range(2)}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.scheduler", quick=("small",)),
            Testbench("largest", "cyclebound.tb.simd.scheduler", tests=("the_largest_grid",),
                      quick=()),
        ),
        bounds=(
            BoundBinding("launch", scheduler_bounds.launch_after_slot, exhaustive=True,
                         exhausts="what its testbench's grids make of the other slot",
                         probe=Probe(start=_FREE, over={"s": 2}, request={"slot": "s"},
                                     classed=True,
                                     end=f"({_FREE} | past(held({_FREE} & ~{_GOT}, {_FREE} "
                                         f"| {_GOT}))) & {_GOT}")),
            BoundBinding("turn", scheduler_bounds.turn, proved_by=("rules",), probe=Probe(
                start="(events[0].over & past(waits[1])) | (events[1].over & past(waits[0]))",
                end="(begin[1] & past(waits[1])) | (begin[0] & past(waits[0]))", classed=True)),
        ),
        properties=(
            Property(
                name="rules",
                says="a work-group is launched into a free slot only, and under the policies with "
                     "pairs when all pairs before it have finished; under access one access is "
                     "under way at a time if either is of a scratchpad; the machine is idle if no "
                     "slot is taken and no work-group left",
                checker=SchedulerProof,
                assumes={
                    "a grid without items": "grids have items",
                    "two work-groups compute at once":
                        "one work-group at a time ends or commits an access",
                    "a work-group commits or ends that does not compute":
                        "one that has a slot and none under way",
                    "an access is over that did not begin":
                        "an access is over once, and only if it was allowed to begin",
                    "a last store is one to DRAM": "a last store is one to DRAM",
                },
                instances=({"machine": "small"}, {"machine": "paper"}),
                quick=1,
                declares={"turn": lambda parameters: {}},
                depth=12,
                induction=4,
            ),
        ),
        checker=SchedulerCheck,
        mutants=MutationTarget("small", 60),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.launch__valid", "top.dut.launch__payload", "top.dut.begin",
                 "top.dut.waits", "top.dut.idle"),
    ),
    Block(
        name="simd.scratchpad",
        summary="scratchpad: banked local memory with a stride sequencer that need not be aligned",
        component=Scratchpad,
        configurations={
            "small": Configuration({"bus": 4}, domain={"words": range(1, 14), "gap": range(10),
                                                       "count": range(1, 6),
                                                       "restart": range(2)}),
            # Sim-D, Table 3
            "paper": Configuration({"bus": 32}, domain={"words": range(1, 72), "gap": range(40),
                                                        "count": range(1, 5),
                                                        "restart": range(2)}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.simd.scratchpad", quick=("small",)),),
        bounds=(
            BoundBinding("transfer", scratchpad_bounds.scratchpad_transfer, exhaustive=True,
                         probe=_TRANSFER, proved_by=tuple(map(_tile_name, _TILES))),
            BoundBinding("tile", scratchpad_bounds.scratchpad_tile, probe=_TRANSFER),
        ),
        properties=tuple(Property(
            name=_tile_name(shape),
            quick=0,
            says="a tile of {words} words a line, {gap} between lines, {count} lines{} that is "
                 "prepared while nothing moves, in either direction, moves with all of its words "
                 "once, without a pause, in as many cycles as is predicted".format(
                     ", each of which begins a line of the bus," if shape["restart"] else "",
                     **shape),
            checker=functools.partial(ScratchpadTileProof, **shape),
            declares={"transfer": functools.partial(_shape_of, shape)},
            assumes={f"a tile of another {name}": "a tile of" for name in (
                "words", "period", "count", "restart")}
            | {"the tile turns round": "either direction", "it begins unprepared": "is prepared",
               "it is prepared during a transfer": "while nothing moves"},
            instances=({"bus": 4, "words": 8}, {"bus": 4, "words": 16}),
            independent={"words": "no flag or counter of a transfer depends on a word"},
            depth=8,
            induction=2,
        ) for shape in _TILES),
        checker=ScratchpadCheck,
        fpga=FpgaTarget("small"),
        signals=("top.dut.go", "top.dut.deliver__valid", "top.dut.ask__valid", "top.dut.done"),
        # targets have as many bits as an index of a register; its own words need 14
        unused_inputs=("store__payload", "fetch__payload"),
    ),
    Block(
        name="simd.access_setup",
        summary="setup of accesses: tiles cut where they leave their buffers, and their targets",
        component=AccessSetup,
        configurations={
            "tiny": Configuration({"machine": _TINY_MACHINE}),
            "small": Configuration({"machine": "small"}),
            "paper": Configuration({"machine": "paper"}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.access_setup", quick=("tiny",)),
            Testbench("buffers", "cyclebound.tb.simd.access_setup",
                      tests=("buffers_of_any_size",), quick=()),
            Testbench("shapes", "cyclebound.tb.simd.access_setup", thorough=True,
                      tests=("every_tile_of_registers", "every_tile_of_scratchpads",
                             "every_snoopy_tile"), configurations=("tiny",)),
        ),
        bounds=(
            BoundBinding("job", transfer_unit_bounds.access_setup, proved_by=("inside",),
                         probe=Probe(start="access.valid", end="job.valid", in_flight=4,
                                     classed=True)),
        ),
        properties=(
            Property(
                name="inside",
                says="an access of the resource that its instruction names has its job four clocks "
                     "later; its lines and columns are those of its buffer, or it is refused",
                quick=1,
                checker=AccessSetupProof,
                assumes={
                    "another resource": "of the resource that its instruction names",
                },
                instances=tuple({"machine": machine} for machine in (
                    _TINY_MACHINE, "small", "paper")),
                declares={"job": lambda instance: {}},
                depth=7,
                induction=7,
                any_product=True,
            ),
        ),
        checker=AccessSetupCheck,
        mutants=MutationTarget("tiny", 60),
        fpga=FpgaTarget("small"),
        unused_inputs=("grid",),  # its x: where a work-group lies in it comes with the access
        signals=("top.dut.access__valid", "top.dut.access__payload", "top.dut.job__valid",
                 "top.dut.job__payload"),
    ),
    Block(
        name="simd.transfer_unit",
        summary="transfer unit: words of accesses between registers, scratchpads and DRAM",
        component=TransferUnit,
        configurations={
            "tiny": Configuration({"machine": "small lanes=4 items=16 special_units=1",
                                   "words": 4}),
            "small": Configuration({"machine": "small", "words": 4}),
            "fpga": Configuration({"machine": _FPGA, "words": 4}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.simd.transfer_unit", quick=()),),
        bounds=(
            BoundBinding("dram", transfer_unit_bounds.to_dram, probe=Probe(
                start=_SHOWN.format("~"), classed=True,
                end="request.valid & ~past(request.valid) & declared.alone")),
            BoundBinding("scratchpad", transfer_unit_bounds.own_scratchpad, probe=Probe(
                start=_SHOWN.format(""), end=f"{_OVER} & ~past({_OVER} & stall)", classed=True)),
            BoundBinding("resume", transfer_unit_bounds.resume, probe=Probe(
                start=f"completed.valid & {_OVER}", end=f"{_OVER} & ~stall", classed=True)),
        ),
        properties=(Property(
            name="order",
            quick=0,
            says="while setup, scratchpads and controller keep the rules of their ports: words go "
                 "to registers of a slot only while it transfers, never for a store, those of DRAM "
                 "when it delivers them and to one slot; an access is completed at most once; "
                 "requests come only in their slot's turn, and none is under way when the unit is "
                 "quiet",
            checker=TransferUnitProof,
            instances=({"machine": TINIEST_WHOLE, "words": 4},),
            depth=11,
            induction=None,
            flat=True,
            free=("setup", "scratchpad_0", "scratchpad_1"),
        ),),
        checker=TransferUnitCheck,
        fpga=FpgaTarget("small"),
        # of targets, which have as many bits as an index of a register for a vector of four
        unused_inputs=("deliver__payload", "fetch__payload"),
        signals=("top.dut.access__valid", "top.dut.access__payload", "top.dut.request__valid",
                 "top.dut.completion__0__valid", "top.dut.completion__1__valid"),
    ),
    Block(
        name="simd.compute_unit",
        summary="compute unit: two work-groups take turns on a pipeline of lanes",
        component=ComputeUnit,
        configurations={
            name: Configuration({"machine": machine}) for name, machine in _MACHINES.items()
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.compute_unit", quick=(), observes=False),
            Testbench("kernels", "cyclebound.tb.simd.compute_unit", quick=(), observes=False,
                      tests=("installed_kernels", "faults_stop_a_kernel_and_the_next_one_runs")),
            Testbench("intervals", "cyclebound.tb.simd.compute_unit_intervals",
                      quick=("tiny",)),
            Testbench("random", "cyclebound.tb.simd.compute_unit", observes=False,
                      tests=("a_thousand_random_kernels",),
                      configurations=("small", "short", "one_warp"), thorough=True,
                      max_cycles=100_000_000),
        ),
        bounds=_INTERVALS,
        checker=ComputeUnitCheck,
        properties=(
            Property(
                name="lanes",
                says="in cycles of the compute clock, masked lanes write nothing; a work-group "
                     "computes or transfers, and not both; no instruction commits for a slot "
                     "without a work-group",
                quick=0,
                checker=ComputeUnitProof,
                instances=({"machine": _TINIEST},),
                depth=8,
                induction=5,
                any_product=True,
            ),
            Property(
                name="order",
                quick=0,
                says="of what is between the first decode stage and the commit, no token reads a "
                     "register that one before it is still to write",
                checker=ComputeUnitOrder,
                instances=({"machine": _TINIEST},),
                depth=8,
                induction=5,
                any_product=True,
            ),
            Property(
                name="operands",
                quick=0,
                says="no operand is read that an instruction under way is still to write, and no "
                     "instruction waits where nothing is under way",
                checker=ScoreboardCheck,
                top=Scoreboard,
                instances=tuple({"machine": name} for name in _MACHINES.values()),
                depth=12,
                induction=12,
            ),
            Property(
                name="stack_level",
                says="if a push never finds it full nor a pop empty, and they fault where it "
                     "does, the control stack has as many entries as were pushed and not "
                     "popped, at most 16",
                checker=ControlStackLevelCheck,
                top=ControlStack,
                instances=_STACKS,
                quick=1,
                depth=6,
                induction=2,
                covered=_TINY[1],
            ),
            Property(
                name="stack_entries",
                quick=0,
                says="the top entry of the control stack is the last that was pushed and not "
                     "popped",
                checker=ControlStackProof,
                top=_followed_stack,
                instances=_STACKS,
                depth=10,
                induction=2,
                covered=_TINY[1],
            ),
        ),
        signals=("top.dut.commit__valid", "top.dut.commit__payload", "top.dut.access__valid",
                 "top.dut.access__payload", "top.dut.occupied", "top.dut.fault__valid"),
    ),
    Block(
        name="simd.host",
        summary="register interface: AXI4-Lite for programs, buffers, grids and results",
        component=HostInterface,
        registers=REGISTERS,
        configurations={"small": Configuration({"machine": "small"}),
                        "paper": Configuration({"machine": "paper"})},
        testbenches=(Testbench("axi", "cyclebound.tb.simd.host", quick=("small",)),),
        bounds=(
            BoundBinding("write", host_bounds.register_write, probe=Probe(
                request={"maps": f"s_axil_awaddr == {Register.MAP.value}"},
                start="s_axil_awvalid & s_axil_wvalid & s_axil_awready",
                end="s_axil_bvalid & ~past(s_axil_bvalid & ~s_axil_bready)", classed=True,
                in_flight=2), proved_by=("answers", "answers_of_others")),
            BoundBinding("read", host_bounds.register_read, probe=Probe(
                start="s_axil_arvalid & s_axil_arready",
                end="s_axil_rvalid & ~past(s_axil_rvalid & ~s_axil_rready)", classed=True),
                proved_by=("answers",)),
        ),
        properties=(
            Property(
                name="registers",
                quick=0,
                says="each write and each read has one answer, in its cycle; a register has what "
                     "was written to it last; kernels start and buffers are mapped by writes, "
                     "with what the registers have, while no kernel runs, and STATUS has a mark "
                     "if not",
                checker=HostProof,
                instances=_HOSTS,
                depth=8,
                induction=3,
            ),
            *(Property(
                name=name,
                quick=0,
                says="the same, with a host that takes each answer at once, while no write waits "
                     f"for a mapping: {what}",
                checker=functools.partial(HostProof, maps=maps),
                declares=declares,
                assumes={"an answer waits": "the host takes each answer at once",
                         "a mapping waits": "no write waits for a mapping", **followed},
                instances=_HOSTS,
                depth=8,
                induction=3,
            ) for name, what, maps, declares, followed in (
                ("answers", "writes and reads take no longer than their bounds", 1,
                 {"write": lambda instance: {"maps": 1}, "read": lambda instance: {}}, {}),
                ("answers_of_others", "nor do writes to other registers than MAP", 0,
                 {"write": lambda instance: {"maps": 0}}, {"a mapping is followed": FOLLOWED}))),
        ),
        checker=HostCheck,
        mutants=MutationTarget("small"),
        fpga=FpgaTarget("small"),
        signals=("top.dut.start__valid", "top.dut.mapping__valid", "top.dut.chip__valid"),
        unused_inputs=("s_axil_awprot", "s_axil_arprot"),
    ),
    Block(
        name="simd.accelerator",
        summary="SIMD accelerator: kernels in DRAM in, results and measured phases out",
        component=Accelerator,
        configurations={
            "small": Configuration({"machine": "small", "part": "ddr4-3200aa-x16"}),
            # the full level alone: each of its two simulators takes ten minutes to build
            "paper": Configuration({"machine": "paper", "part": "ddr4-3200aa-x16"}),
            "fpga": Configuration({"machine": _FPGA, "part": "ddr4-3200aa-x16"}),
        },
        testbenches=(
            Testbench("kernels", "cyclebound.tb.simd.accelerator", observes=False,
                      configurations=_SMALL, thorough=True),
            Testbench("more_kernels", "cyclebound.tb.simd.accelerator_kernels", observes=False,
                      configurations=_SMALL, thorough=True),
            Testbench("snoopy", "cyclebound.tb.simd.accelerator_kernels", observes=False,
                      tests=("snoopy_accesses",), configurations=_SMALL, thorough=True,
                      seeds=5),  # policies
            Testbench("accesses", "cyclebound.tb.simd.accelerator_accesses",
                      tests=("programs", "tiles", "indexes", "scratchpads", "two_work_groups",
                             "turns"), thorough=True),
            Testbench("accesses_snooped", "cyclebound.tb.simd.accelerator_accesses",
                      configurations=_SNOOPY, thorough=True),
            Testbench("faults", "cyclebound.tb.simd.accelerator_faults", observes=False,
                      thorough=True),
            Testbench("random", "cyclebound.tb.simd.accelerator_random", observes=False,
                      configurations=_SMALL, thorough=True, seeds=4, max_cycles=20_000_000),
            Testbench("harness", "cyclebound.tb.simd.accelerator_harness", observes=False,
                      tests=_WITHOUT_SNOOPY, top=AcceleratorHarness, checker=_pins, thorough=True),
            Testbench("harness_snooped", "cyclebound.tb.simd.accelerator_harness", observes=False,
                      top=AcceleratorHarness, checker=_pins, configurations=_SNOOPY, thorough=True),
            Testbench("harness_snoopy", "cyclebound.tb.simd.accelerator_harness", observes=False,
                      tests=("snoopy_accesses",), top=AcceleratorHarness, checker=_pins,
                      configurations=_SMALL, thorough=True, seeds=5),  # policies
            Testbench("harness_random", "cyclebound.tb.simd.accelerator_harness_random",
                      observes=False, top=AcceleratorHarness, checker=_pins,
                      thorough=True, max_cycles=100_000_000),
        ),
        bounds=(
            BoundBinding("load", accelerator_bounds.program_load, probe=Probe(
                start="begins", end="first(launch.valid & ~stall, begins)", ticks="~stall",
                unit="compute cycles", classed=True)),
            BoundBinding("tile", accelerator_bounds.dram_tile, probe=_access("dram")),
            BoundBinding("indexed", accelerator_bounds.dram_indexed, probe=_access("dram")),
            BoundBinding("tile_shared", accelerator_bounds.dram_tile_shared, probe=_access("dram")),
            BoundBinding("snooped", accelerator_bounds.dram_snooped, probe=_access("dram"),
                         configurations=_SNOOPY),
            BoundBinding("scratchpad", accelerator_bounds.scratchpad_access,
                         probe=_access("scratchpad")),
            BoundBinding("scratchpad_turn", accelerator_bounds.scratchpad_after_turn,
                         probe=_access("scratchpad")),
            BoundBinding("tile_turn", accelerator_bounds.dram_tile_after_turn,
                         probe=_access("dram")),
            BoundBinding("scratchpad_snooped", accelerator_bounds.scratchpad_snooped,
                         probe=_access("scratchpad"), configurations=_SNOOPY),
        ),
        properties=(distances(Accelerator, "controller.arbiter",
                              free=("compute", "transfers"), machine=TINIEST_WHOLE),),
        checker=_pins,
        pictures=(Picture(
            "occupation", "Which slot occupies compute unit, DRAM and scratchpads when (Sim-D, "
            "Figure 4): the stencil's work-groups on the RTL, under each policy.",
            "cyclebound.sim.pictures.simd_occupation:policies", kept="occupation.json",
            testbenches=("kernels",), thorough=True,
            trace="cyclebound.sim.pictures.simd_occupation:policies_trace"), Picture(
            "worst_schedule", "The first phases of the stencil's schedule at full size if each "
            "takes its bound (docs/simd_wcet.md), policy access.",
            "cyclebound.sim.pictures.simd_occupation:worst",
            arguments={"kernel": "stencil", "policy": "access", "part": "ddr4-3200aa-x16"},
            trace="cyclebound.sim.pictures.simd_occupation:worst_trace"), Picture(
            "wcet", "How close the first 100 kernels of the adversary come to their WCET "
            "(docs/simd_wcet.md), on the cycle model that the RTL equals.",
            "cyclebound.sim.pictures.simd_attacks:tried",
            arguments={"count": 100, "part": "ddr4-3200aa-x16"}, thorough=True)),
        signals=("top.dut.launch__valid", "top.dut.access__valid", "top.dut.over",
                 "top.dut.ended__valid"),
    ),
    Block(
        name="simd.hosted_accelerator",
        summary="SIMD accelerator with its registers: AXI4-Lite to DRAM pins",
        component=HostedAccelerator,
        registers=REGISTERS,
        configurations={
            "small": Configuration({"machine": "small", "part": "ddr4-3200aa-x16"}),
        },
        testbenches=(
            Testbench("axi", "cyclebound.tb.simd.hosted_accelerator", observes=False,
                      thorough=True),
        ),
        properties=(distances(
            HostedAccelerator, "accelerator.controller.arbiter",
            free=("accelerator.compute", "accelerator.transfers"), machine=TINIEST_WHOLE),),
        checker=_pins,
        signals=("top.dut.s_axil_awvalid", "top.dut.s_axil_arvalid", "top.dut.done",
                 "top.command.op"),
        unused_inputs=("s_axil_awprot", "s_axil_arprot"),
    ),
)
