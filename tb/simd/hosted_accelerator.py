"""Testbench of the accelerator with its registers: a client of cocotbext-axi runs kernels.

The client knows nothing but registers; between it and the DRAM's pins lies all of the machine.
Compute cycles that the registers tell are the cycle model's.
"""

import logging

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from cyclebound.golden.dram.rules import Command
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.hosted_accelerator import KernelOutcome, kernel_outcome, start_writes
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.work_group import Memory
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.pins import Pins
from cyclebound.tb.simd.accelerator_faults import (
    FIRST,
    STOPPED,
    check_stores,
    faulty,
    filled,
    words_of,
)
from cyclebound.tb.simd.accelerator_tester import DeviceSide
from cyclebound.tools.simd.kernel_cases import case, expected

_FIRST = 17  # DRAM clocks from a kernel's first to the first command for its program, on the pins

_PAUSE = 100  # clocks between two looks at STATUS


class HostedAcceleratorTester(DeviceSide):
    """A host on one side, a DRAM on the other; both work by themselves."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.pins = Pins(bench)
        logging.getLogger(f"cocotb.{bench.name}").setLevel(logging.WARNING)
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(self.pins, "s_axil"), bench.dut.clk)
        self._opened = -1  # the DRAM clock of the first command since the last start
        self._task = cocotb.start_soon(self._forever())

    async def step(self, word: int, dq: int) -> int:
        seen, _ = await self.pins.step(dq_in=dq)
        return seen

    async def _forever(self) -> None:
        while True:
            seen = await self.cycle()
            if self._opened < 0 and self._op.of(seen) == Command.ACT.value:
                self._opened = self.now - 1

    async def write(self, register: Register, value: int) -> None:
        await self.master.write_dword(register, value)

    async def read(self, register: Register) -> int:
        return await self.master.read_dword(register)

    async def run(self, program: Program, grid: Grid, memory: Memory, policy: Policy
                  ) -> tuple[KernelOutcome, int]:
        """Run a kernel; return what the registers tell of it, and its first DRAM clock."""
        address = self.put_kernel(program, memory)
        *before, start = start_writes(program, grid, policy, address)
        for register, value in before:
            await self.write(register, value)
        while not 1000 < self.now % self.part.nREFI < self.part.nREFI - 2000:
            await RisingEdge(self.bench.dut.clk)  # so that no refresh comes before the program
        self._opened = -1
        await self.write(*start)
        assert not await self.read(Register.STATUS) & (Status.IDLE | Status.REFUSED)
        while not await self.read(Register.STATUS) & Status.IDLE:
            await ClockCycles(self.bench.dut.clk, _PAUSE)
        values = {register: await self.read(register) for register in Register}
        self.get_buffers(program, memory)
        return kernel_outcome(values.__getitem__), self._opened - _FIRST

    async def compare(self, name: str, policy: Policy) -> None:
        """An installed kernel: its results, and its compute cycles as the cycle model has them."""
        instance = case(name, self.machine)
        wanted = expected(name, instance)
        copied = {number: words.copy() for number, words in instance.memory.items()}
        ran, begin = await self.run(instance.program, instance.grid, instance.memory, policy)
        timed = self.timed(instance.program, instance.grid, copied, policy, begin).run(keep=False)
        self.bench.compare(ran, KernelOutcome(timed.cycles), f"the outcome of {name}")
        for number, words in wanted.items():
            self.bench.compare(instance.memory[number], words, f"{name}: buffer {number}",
                               count=words.size)


@testbench
async def kernels(bench: Bench) -> None:
    """Kernels of all kinds under each policy, one after the other."""
    tester = HostedAcceleratorTester(bench)
    for name, policy in zip(("vector_add", "stencil", "saxpy", "srad_reduce", "stencil"), Policy,
                            strict=True):
        await tester.compare(name, policy)


@testbench
async def a_kernel_that_is_stopped(bench: Bench) -> None:
    """Registers tell what stopped it, and the next kernel runs; a start without one is refused."""
    tester = HostedAcceleratorTester(bench)
    items = tester.machine.items
    program = faulty(f"mov v0, vc.lid_x\niadd v0, v0, {words_of(items) - 5}\n"
                     "movvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n", items)
    for policy in (Policy.UNCONSTRAINED, Policy.YIELD):
        memory = filled(program, bench)
        before = {number: words.copy() for number, words in memory.items()}
        ran, _ = await tester.run(program, Grid(5 * items, 1, tester.machine), memory, policy)
        bench.compare((ran.cause, ran.index, ran.number), (Cause.ACCESS, FIRST + 3, STOPPED),
                      "cause, index and number")
        check_stores(memory, before)
        await tester.compare("vector_add", Policy.UNCONSTRAINED)
    await tester.write(Register.INSTRUCTIONS, 0)
    await tester.write(Register.CONTROL, 1)
    assert await tester.read(Register.STATUS) == Status.IDLE | Status.LOADED | Status.REFUSED
