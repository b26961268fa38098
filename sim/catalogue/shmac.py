"""SHMAC's core."""

from cyclebound.golden.shmac import core_bounds
from cyclebound.hdl.shmac.core import Core
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Testbench,
)
from cyclebound.tb.probe import Probe

# A response is to come: to what has been taken in this cycle, or before.
_AWAITED = ("held(request.valid & request.ready & (~request.payload.write | request.payload.sync) "
            "& ~response.valid, (request.valid & request.ready) | response.valid)")
# Counted a cycle later, as intervals are: from an instruction's beginning to before the next's.
_CORE_CYCLE = f"past(~((request.valid & ~request.ready) | {_AWAITED}))"

# An instruction, where it begins. Only there do those without an access and without a product end.
_BEGINS = "trace.begins & ~trace.exception"
_SIMPLE = f"{_BEGINS} & trace.ends"
_OPCODE, _FUNCTION = "trace.instruction[26:32]", "trace.instruction[0:6]"
_CHECKED = " | ".join([
    f"({_OPCODE} == 16)", f"({_OPCODE} == 8)", f"({_OPCODE} == 56)",
    f"(({_OPCODE} == 0) & (({_FUNCTION} == 32) | ({_FUNCTION} == 34)))"])
_STORES = "(trace.instruction[29:32] == 5)"
_CLASSES = {
    "plain": f"{_SIMPLE} & ~({_CHECKED})",
    "checked": f"{_SIMPLE} & ({_CHECKED})",
    "multiply": f"{_BEGINS} & ({_OPCODE} == 0) & (trace.instruction[1:6] == 12)",
    "divide": f"{_BEGINS} & ({_OPCODE} == 0) & (trace.instruction[1:6] == 13)",
    "load": f"{_BEGINS} & ~trace.ends & (trace.instruction[31] == 1) & ~{_STORES}",
    "store": f"{_BEGINS} & {_STORES}",
    "trap": "trace.begins & trace.exception",
}



def _interval(begins):
    """From the cycle after one of these instructions begins to the next one's beginning."""
    return {"start": f"past({begins})",
            "end": f"trace.begins & past(held({begins}, trace.begins))"}


BLOCKS = (
    Block(
        name="shmac.core",
        summary="MIPS-I core with LL and SC: two stages, one outstanding request",
        component=Core,
        configurations={
            "big": Configuration({"endian": "big"}),  # the thesis' toolchain, A.1.1
            "little": Configuration({"endian": "little", "reset_address": 0x100}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.shmac.core", quick=("big",)),
            Testbench("long", "cyclebound.tb.shmac.core", tests=("long_programs",), thorough=True),
        ),
        bounds=(
            *(BoundBinding(name, claim, Probe(
                **_interval(_CLASSES[name]), ticks=_CORE_CYCLE, unit="core cycles"))
              for name, claim in core_bounds.CLASSES.items()),
            BoundBinding("instruction", core_bounds.instruction,
                         Probe(**_interval("trace.begins"), classed=True)),
        ),
        mutants=MutationTarget("big", 200),
        fpga=FpgaTarget("big"),
        signals=("top.dut.trace", "top.dut.request__valid", "top.dut.request__ready",
                 "top.dut.request__payload", "top.dut.response__valid",
                 "top.dut.response__payload"),
    ),
)
