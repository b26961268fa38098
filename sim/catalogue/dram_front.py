"""Blocks of the DRAM path: what several masters share (memory-composition, IV.C.3)."""

from cyclebound.golden.dram import front_end_bounds
from cyclebound.hdl.dram.multi_port_front_end import MultiPortFrontEnd
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Property,
    Testbench,
)
from cyclebound.tb.dram.multi_port_front_end_properties import FrontEndCheck, FrontEndProof

_EQUAL = {"priorities": [4] * 8, "limits": [0] * 8, "width": 40}
_STARVING = {"priorities": [7, 4, 4, 2, 0], "limits": [0, 6, 9, 6, 12], "width": 8}

BLOCKS = (
    Block(
        name="dram.multi_port_front_end",
        summary="forwards the requests of several masters: priorities, turns, starvation counters",
        component=MultiPortFrontEnd,
        configurations={
            "starving": Configuration(_STARVING),
            "equal": Configuration(_EQUAL),  # as the paper assumes: pure round robin
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.multi_port_front_end"),),
        bounds=(Observed("wait", front_end_bounds.front_end_wait),),
        properties=(
            Property(
                name="starvation",
                says="from the limit on, a request waits for one grant of each other port that may "
                     "starve, however the reorder core stalls; before it, equals have one turn "
                     "each, and nobody is granted before a higher priority",
                checker=FrontEndProof,
                instances=(
                    {"priorities": [7, 4, 4], "limits": [0, 2, 3], "width": 2},
                    {**_STARVING, "limits": [0, 2, 3, 2, 4], "width": 1},
                    {**_EQUAL, "width": 1},
                ),
                decides=("priorities", "limits"),
                depth=10,
                induction=3,
            ),
        ),
        checker=FrontEndCheck,
        fpga=FpgaTarget("equal"),
        signals=("top.dut.starved", "top.dut.source__valid", "top.dut.source__payload"),
    ),
)
