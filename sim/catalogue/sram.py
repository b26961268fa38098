"""Blocks of on-chip memory."""

from cyclebound.golden.sram import bounds
from cyclebound.hdl.sram.banked_memory import BankedMemory
from cyclebound.hdl.sram.banked_memory_harness import BankedMemoryHarness
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench

BLOCKS = (
    Block(
        name="sram.banked_memory",
        summary="local memory of a compute tile: banks behind round-robin arbiters",
        component=BankedMemory,
        configurations={
            "tiny": Configuration(
                {"banks": 2, "requesters": 2, "words": 4, "word_bytes": 2},
                domain={"requesters": range(1, 3), "transaction_bytes": range(1, 17)}),
            "quad": Configuration(
                {"banks": 4, "requesters": 4, "words": 512, "word_bytes": 4},
                domain={"requesters": range(1, 5), "transaction_bytes": range(1, 18)}),
            # memory-composition, Table III: 10 cores and a DMA, 8 banks, 8 bytes
            "paper": Configuration(
                {"banks": 8, "requesters": 11, "words": 1024, "word_bytes": 8},
                domain={"requesters": range(1, 12), "transaction_bytes": range(1, 26)}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.sram.banked_memory"),
            Testbench("harness", "cyclebound.tb.sram.banked_memory_harness",
                      top=BankedMemoryHarness, max_cycles=20_000_000),
        ),
        bounds=(
            Observed("transaction", bounds.eq1, exhaustive=True),
            Observed("read", bounds.read_completion, exhaustive=True),
        ),
        fpga=FpgaTarget("quad"),
        signals=("top.dut.bank_0.arbiter.requests", "top.dut.bank_0.arbiter.grant",
                 "top.dut.bank_0.access", "top.dut.bank_0.ports__0__response__valid"),
    ),
)
