"""DDR3 through a DFI PHY."""

from collections.abc import Callable
from typing import Any

from amaranth.lib import wiring

from cyclebound.golden.dram import dfi_bounds as bounds
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.small_part import SMALL_DFI, on_small_part
from cyclebound.hdl.dram.dfi_adapter import DfiAdapter
from cyclebound.hdl.dram.dfi_controller import DfiController
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.controller_properties import DramDistancesProof
from cyclebound.tb.dram.dfi_adapter_properties import DfiAdapterCheck, DfiAdapterProof
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.probe import Probe

# PHYs whose write data leave with their command's delay, and whose reads take two clocks of 1:4
_800 = {"part": "ddr3-800e-x16", "wrlat": 4, "wrdata": 1, "rddata_en": 5, "rdlat": 10}
_1600 = {"part": "ddr3-1600k-x16", "wrlat": 7, "wrdata": 1, "rddata_en": 10, "rdlat": 10}
_BOARD = {**_800, "ratio": 4}
_CONFIGURATIONS = {
    "800_1to4": _BOARD,
    "800_1to2": {**_800, "ratio": 2},
    "1600_1to4": {**_1600, "ratio": 4},
    "1600_1to2": {**_1600, "ratio": 2},
}
_HURRY = {"hurry": 1000}

_ROW = " | ".join(f"(command.op == {op.value})" for op in (
    Command.ACT, Command.PRE, Command.PREA, Command.REF))
_READ = f"(command.op == {Command.RD.value}) | (command.op == {Command.RDA.value})"

_TAKEN = "request.valid & request.ready"
# a request's first command; what ends its issue delay; whether another request was taken after it
_OPENS = f"first(command.op == {Command.ACT.value}, closed)"
_NEXT = f"({_OPENS} | (command.op == {Command.REF.value}))"
_FOLLOWED = f"({_OPENS} & past(held({_TAKEN}, {_TAKEN} | {_OPENS})))"


def _commands(component: DfiController) -> DramTimingCheck:
    """The checker of the device's rules in controller clocks; refreshes begin after power-up."""
    return DramTimingCheck(part=component.seen, refreshed=False)


def powered_up(make: Callable[..., wiring.Component]) -> Callable[..., wiring.Component]:
    """``make`` of a small part, with a power-up of one cycle: a real one takes hundreds."""
    def made(**parameters: Any) -> wiring.Component:
        component = on_small_part(make)(**parameters)
        dfi = component if isinstance(component, DfiController) else component.controller
        dfi.power_up.steps = [(1, 1, 1, None)]
        return component

    return made


# What the proofs of the controllers are about: all rules of a real part in few clocks
DFI_SMALL = {"part": SMALL_DFI.name, "ratio": 2, "wrlat": 4, "wrdata": 1, "rddata_en": 4,
             "rdlat": 8}
DISTANCES = Property(
    name="distances",
    quick=0,
    says="no command leaves the controller before its time, nor before the power-up is over, "
         "whatever is asked for: the device's distances in controller clocks from an activate or "
         "precharge on, between reads and between writes, and all that a refresh waits for",
    checker=lambda target: DramDistancesProof(target, target.controller.arbiter, powers_up=True),
    instances=(DFI_SMALL,),
    depth=14,
    induction=2,
    top=powered_up(DfiController),
    any_product=True,
)

BLOCKS = (
    Block(
        name="dram.dfi_adapter",
        summary="the controller's commands and data on the phases of a DDR3 PHY (DFI)",
        component=DfiAdapter,
        configurations={name: Configuration(configuration)
                        for name, configuration in _CONFIGURATIONS.items()},
        testbenches=(Testbench("phases", "cyclebound.tb.dram.dfi_adapter",
                               quick=("800_1to4",)),),
        bounds=(
            BoundBinding("row", bounds.dfi_command, probe=Probe(
                start=_ROW, end="dfi_cs_n_p0 == 0", in_flight=16), proved_by=("rows",)),
            BoundBinding("read", bounds.dfi_read, probe=Probe(
                start=_READ, end="arrived", ends="4", in_flight=16)),
        ),
        properties=(
            Property(
                name="rows",
                quick=0,
                says="with the power-up over, each command for rows is on phase 0 in its cycle, as "
                     "the device reads it, and no other is; reads and writes are on their phase "
                     "only, and only as long as a burst lasts; other phases are idle",
                checker=DfiAdapterProof,
                declares={"row": lambda instance: {}},
                assumes={"a mode register is set": "the power-up over"},
                instances=tuple(_CONFIGURATIONS.values()),
                depth=14,
                induction=14,
            ),
        ),
        checker=DfiAdapterCheck,
        fpga=FpgaTarget("800_1to4"),
        unused_inputs=("dq_out__valid",),  # a beat is taken when it is due
        signals=("top.dut.command", "top.dut.dfi_cs_n_p0", "top.dut.dfi_cs_n_p2",
                 "top.dut.dfi_wrdata_en_p0", "top.dut.dfi_rddata_valid_w0", "top.dut.arrived"),
    ),
    Block(
        name="dram.dfi_controller",
        summary="the DRAM controller for a DDR3 device that a PHY of 1:2 or 1:4 drives (DFI)",
        component=DfiController,
        configurations={name: Configuration({**configuration, **_HURRY})
                        for name, configuration in _CONFIGURATIONS.items()} | {
            "board": Configuration(_BOARD)},  # with the waits of power-up that a device needs
        testbenches=(Testbench("words", "cyclebound.tb.dram.dfi_controller",
                               quick=()),),
        bounds=(
            BoundBinding("tile", bounds.dfi_tile_issue_delay, probe=Probe(
                start=f"past({_FOLLOWED})", end=f"{_NEXT} & past(held({_FOLLOWED}, {_NEXT}))")),
            BoundBinding("completion", bounds.dfi_completion, probe=Probe(
                start=_TAKEN, end="completion.valid", in_flight=4)),
        ),
        properties=(DISTANCES,),
        checker=_commands,
        fpga=FpgaTarget("board"),
        signals=("top.dut.request__valid", "top.dut.request__ready", "top.dut.command",
                 "top.dut.dfi_cs_n_p0", "top.dut.dfi_cs_n_p2", "top.dut.deliver__valid",
                 "top.dut.fetch__valid", "top.dut.closed", "top.dut.completion__valid"),
    ),
)
