"""Units of the dataflow core."""

import functools
from collections.abc import Callable, Mapping

from amaranth.lib import wiring

from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.hdl.dataflow.compute_unit import ComputeUnit
from cyclebound.hdl.dataflow.control_unit import ControlUnit
from cyclebound.hdl.dataflow.load_store_unit import LoadStoreUnit
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.hdl.float_fma import FloatFma
from cyclebound.sim.describe.block import (
    FOLLOWED,
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dataflow.alone_properties import (
    ControlUnitLatency,
    TokenBufferLatency,
)
from cyclebound.tb.dataflow.compute_unit_properties import ComputeUnitFirings
from cyclebound.tb.dataflow.float_fma_properties import FloatFmaCheck
from cyclebound.tb.dataflow.token_buffer_properties import TokenBufferCheck, TokenBufferProof
from cyclebound.tb.dataflow.unit_properties import (
    ComputeUnitCheck,
    ControlUnitCheck,
    LoadStoreAccess,
    LoadStoreUnitCheck,
)
from cyclebound.tb.probe import ANY, Probe, offered, taken

_TAKEN = taken("operands[k]")
_LAST = f"declared.last & any({_TAKEN} for k in operands)"  # whose token completes a thread says so
_RESULT = offered("results[0]")
# The last operand of the first epoch after reset, whatever of younger ones came before it.
FIRST_EPOCH_TAKEN = (f"first(nth(count({_TAKEN} & (operands[k].payload.tid < depth) "
                     "for k in operands), declared.tokens), 0)")
_ANY_LAST = {"another token is declared the last": FOLLOWED}


def _alone(what: str, checker: Callable[[wiring.Component], wiring.Component],
           instances: tuple[Mapping[str, object], ...], *, cycles: int, more: str = "",
           assumes: Mapping[str, str] | None = None, **declared: int | None) -> Property:
    """That a thread takes what is predicted of one that meets no other in its unit."""
    return Property(
        name="alone",
        quick=0,
        says="where no two threads become complete in one cycle, which tokens are needed never "
             f"changes, and results are taken at once{more}, each thread takes what is predicted, "
             "whatever others have there, and no result comes without its tokens",
        checker=checker,
        declares={what: lambda instance: declared},
        assumes={"needed changed": "which tokens are needed never changes",
                 "no token is needed": "which tokens are needed",
                 "two threads become complete in one cycle":
                     "no two threads become complete in one cycle",
                 "the sink is not ready": "results are taken at once", **(assumes or {})},
        instances=instances,
        depth=cycles + 3,
        induction=3,
    )


BLOCKS = (
    Block(
        name="dataflow.token_buffer",
        summary="explicit token store, direct-mapped; a thread fires when its operands are there",
        component=TokenBuffer,
        configurations={
            "tiny": Configuration({"operands": 2, "depth": 2, "tid_width": 5, "width": 8}),
            "four": Configuration({"operands": 3, "depth": 4, "tid_width": 6, "width": 32}),
            # SGMF, section 5.1: 16 entries are a good balance
            "paper": Configuration({"operands": 3, "depth": 16, "tid_width": 10, "width": 32}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.token_buffer", quick=("tiny",)),
            Testbench("search", "cyclebound.tb.dataflow.token_buffer_search", searches=True,
                      thorough=True),
        ),
        bounds=(
            BoundBinding("match", bounds.token_match, Probe(
                start=_LAST, end=offered("fire"), in_flight=4), proved_by=("alone",)),
            # of as many tokens of a thread as it needs, the last one
            BoundBinding("turn", bounds.token_turn, Probe(
                start=f"any(needed) & nth(count({_TAKEN} & (operands[k].payload.tid == "
                      "declared.tid) for k in operands), count(needed))",
                end=f"{taken('fire')} & (fire.payload.tid == declared.tid)",
                ticks=taken("fire"), unit="firings", in_flight=2), proved_by=("tokens",)),
            BoundBinding("stream", bounds.token_stream, Probe(
                start=f"any({_TAKEN} for k in operands)", end=offered("fire"),
                starts="declared.threads",
                ends="declared.threads")),
        ),
        properties=(
            Property(
                name="tokens",
                quick=1,
                says="a thread fires with its own tokens, each of them once; none is lost, "
                     "duplicated or matched with another thread's; and a complete thread leaves "
                     "within depth + 1 firings",
                checker=TokenBufferProof,
                declares={"turn": lambda instance: {"tid": ANY}},
                assumes={
                    "operand #: offer withdrawn or changed":
                        "a token on offer stays until it is taken",
                    "needed changed": "which operands are needed never changes",
                    "another thread is declared": FOLLOWED,
                },
                instances=tuple({"operands": operands, "depth": depth, "tid_width": tid_width,
                                 "width": width}
                                for operands, depth, tid_width, width in (
                                    (2, 2, 3, 1), (3, 2, 3, 1), (2, 2, 5, 8))),
                depth=lambda instance: instance["depth"] + 5,  # as many threads, and one more
                induction=4,
            ),
            _alone("match", TokenBufferLatency, (
                {"operands": 2, "depth": 2, "tid_width": 5, "width": 8},
                {"operands": 3, "depth": 4, "tid_width": 6, "width": 32}), cycles=2,
                assumes=_ANY_LAST, last=ANY),
        ),
        checker=TokenBufferCheck,
        mutants=MutationTarget("tiny"),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.fire__valid", "top.dut.fire__ready", "top.dut.fire__payload",
                 "top.dut.complete"),
    ),
    Block(
        name="dataflow.float_fma",
        summary="fused multiply-add in single precision; adds, multiplies, converts integers",
        component=FloatFma,
        configurations={"single": Configuration({})},
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.float_fma"),
            Testbench("million", "cyclebound.tb.dataflow.float_fma",
                      tests=("a_million_hard_numbers",), thorough=True),
        ),
        bounds=(
            BoundBinding("result", bounds.pipeline_latency, Probe(
                start=taken("operands"), end=offered("result"), in_flight=16),
                proved_by=("operations",)),
            BoundBinding("stream", bounds.pipeline_stream, Probe(
                start=taken("operands"), end=offered("result"), starts="declared.threads",
                ends="declared.threads")),
        ),
        properties=(
            Property(
                name="operations",
                quick=0,
                says="with a ready sink, each operation has its result 9 cycles later, in order, "
                     "and none comes without one; where an operand is no number, zero or infinite, "
                     "or a power of two is multiplied, it is what IEEE 754 says; an integer "
                     "without factors is converted",
                checker=functools.partial(FloatFmaCheck, ready=True),
                assumes={"the sink is not ready": "a ready sink",
                         "an integer to convert with factors": "an integer without factors"},
                instances=({},),
                declares={"result": lambda instance: {"stages": PIPELINE_STAGES}},
                depth=PIPELINE_STAGES + 2,
                induction=PIPELINE_STAGES + 2,
            ),
        ),
        checker=FloatFmaCheck,
        fpga=FpgaTarget("single"),
        signals=("top.dut.operands__valid", "top.dut.operands__ready", "top.dut.operands__payload",
                 "top.dut.result__valid", "top.dut.result__payload"),
    ),
    Block(
        name="dataflow.compute_unit",
        summary="token buffer, integer ALU and single-precision FPU; one static operation",
        component=ComputeUnit,
        configurations={
            "two": Configuration({"depth": 2, "tid_width": 8}),
            "paper": Configuration({"depth": 16, "tid_width": 10}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.compute_unit", quick=("two",)),
            Testbench("million", "cyclebound.tb.dataflow.compute_unit_million",
                      configurations=("paper",), thorough=True),
        ),
        bounds=(
            BoundBinding("result", bounds.compute_result, Probe(
                start=f"any({_TAKEN} for k in operands)", end=offered("result"), in_flight=32)),
            BoundBinding("stream", bounds.compute_stream, Probe(
                start=f"any({_TAKEN} for k in operands)", end=offered("result"),
                starts="declared.threads", ends="declared.threads")),
        ),
        properties=(
            Property(
                name="firings",
                quick=0,
                says="each firing of the token buffer makes one result of its thread, 9 steps "
                     "later, a step being a cycle in which no result waits; none is lost, doubled "
                     "or overtaken, whatever the operation",
                checker=ComputeUnitFirings,
                instances=({"depth": 2, "tid_width": 3}, {"depth": 2, "tid_width": 8}),
                depth=PIPELINE_STAGES + 6,
                induction=2,
                any_product=True,
            ),
        ),
        checker=ComputeUnitCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.buffer.fire__valid", "top.dut.buffer.fire__payload",
                 "top.dut.result__valid", "top.dut.result__payload"),
    ),
    Block(
        name="dataflow.load_store_unit",
        summary="loads or stores of many threads at once, answered in any order, in epochs",
        component=LoadStoreUnit,
        configurations={
            "two": Configuration({"depth": 2, "tid_width": 6, "address_width": 10}),
            "any_order": Configuration({"depth": 4, "tid_width": 6, "address_width": 10,
                                        "epochs": False}),
            "paper": Configuration({"depth": 16, "tid_width": 10, "address_width": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.load_store_unit", quick=("two",)),
            Testbench("search", "cyclebound.tb.dataflow.load_store_unit_search", searches=True,
                      thorough=True),
        ),
        bounds=(
            BoundBinding("access", bounds.access_latency, Probe(
                start=f"any({_TAKEN} for k in operands)", end=offered("result"))),
            BoundBinding("stream", bounds.access_stream, Probe(
                start=f"any({_TAKEN} for k in operands)", end=offered("result"),
                starts="declared.threads", ends="declared.threads")),
            # the first epoch after reset, from its last token to its last result
            BoundBinding("epoch", bounds.access_epoch, Probe(
                start=FIRST_EPOCH_TAKEN, end=f"first(nth({offered('result')}, depth), 0)")),
            BoundBinding("residence", bounds.access_residence, Probe(
                start=f"nth({taken('operands[0]')}, depth)", end=f"nth({offered('result')}, depth)",
                in_flight=4), configurations=("two", "paper")),
        ),
        properties=(
            Property(
                name="accesses",
                quick=0,
                says="no access lies outside of the buffer, each is a load or a store as the "
                     "unit is, and an index that is reported is outside; a request stays until "
                     "it is taken",
                checker=LoadStoreAccess,
                instances=({"depth": 2, "tid_width": 6, "address_width": 10},
                           {"depth": 4, "tid_width": 6, "address_width": 10, "epochs": False},
                           {"depth": 16, "tid_width": 10, "address_width": 16}),
                depth=6,
                induction=3,
            ),
        ),
        checker=LoadStoreUnitCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.buffer.fire__valid", "top.dut.request__valid", "top.dut.response__valid",
                 "top.dut.busy", "top.dut.done", "top.dut.sent", "top.dut.result__valid",
                 "top.dut.enable__valid"),
    ),
    Block(
        name="dataflow.control_unit",
        summary="join, label, phi or delay, for one or two consumers",
        component=ControlUnit,
        configurations={
            "two": Configuration({"depth": 2, "tid_width": 8}),
            "paper": Configuration({"depth": 16, "tid_width": 10}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.control_unit", quick=("two",)),
            Testbench("search", "cyclebound.tb.dataflow.control_unit_search", searches=True,
                      thorough=True),
        ),
        bounds=(
            # either result is a consumer's, and both are offered in the same cycle
            BoundBinding("result", bounds.token_match, Probe(
                start=_LAST, end=_RESULT, in_flight=4), proved_by=("alone",)),
            BoundBinding("stream", bounds.token_stream, Probe(
                start=f"any({_TAKEN} for k in operands)", end=_RESULT, starts="declared.threads",
                ends="declared.threads")),
            BoundBinding("delay", bounds.delay_stream, Probe(
                start=f"any({_TAKEN} for k in operands)", end=_RESULT, starts="declared.threads",
                ends="declared.threads")),
        ),
        properties=(_alone("result", ControlUnitLatency, ({"depth": 2, "tid_width": 8},),
                           cycles=2, more=" by a unit that is no delay",
                           assumes={"a delay": "no delay", **_ANY_LAST}, last=ANY),),
        checker=ControlUnitCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.buffer.fire__valid", "top.dut.results__0__valid",
                 "top.dut.results__1__valid"),
    ),
)
