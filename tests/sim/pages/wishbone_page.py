"""A catalogue page with Wishbone shells that were exported into the current folder."""

import dataclasses

from cyclebound.golden.wishbone_bounds import memory_access, register_access
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Testbench
from cyclebound.tb.probe import Probe


def _access(prefix):
    """From the first cycle of an access to its answer."""
    under_way, answered = f"{prefix}_cyc_i & {prefix}_stb_i", f"({prefix}_ack_o | {prefix}_err_o)"
    return Probe(start=f"{under_way} & ~past({under_way} & ~{answered})", end=answered)


BLOCKS = (
    Block(
        name="shell.sequencer", summary="a stride sequencer's streams as registers",
        sources=("sequencer.v",), top="dram_stride_sequencer_wb",
        configurations={"only": Configuration({})},
        testbenches=(Testbench("master", "wishbone_bench", tests=("tiles",)),),
        bounds=(BoundBinding("access", register_access, probe=_access("wb")),)),
    Block(
        name="shell.memory", summary="a banked memory with a slave for each requester",
        sources=("memory.v",), top="sram_banked_memory_wb",
        configurations={"only": Configuration({})},
        testbenches=(Testbench("master", "wishbone_bench", tests=("memory",)),),
        bounds=tuple(BoundBinding(
            f"access_{number}", dataclasses.replace(memory_access, name=f"memory_access_{number}"),
            probe=_access(f"wb_ports_{number}")) for number in range(2))),
)
