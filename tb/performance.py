"""Testbenches that measure the simulator, and not a block, for `tools.maintenance.performance`.

Each writes what it measured beside its job, as JSON: seconds and cycles by name.
"""

import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer

PERIOD_NS = 10
_job = json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())
_done: dict[str, dict[str, float]] = {}


async def _measure(name: str, cycles: int, run: Callable[[int], Awaitable[None]]) -> None:
    """CPU seconds and cycles of ``run(cycles)``, the best of several."""
    best = float("inf")
    for _ in range(_job["repeat"]):
        started = time.process_time()
        await run(cycles)
        best = min(best, time.process_time() - started)
    _done[name] = {"cycles": cycles, "seconds": best}
    (Path(_job["folder"]) / "measured.json").write_text(json.dumps(_done))


async def _start(dut) -> None:
    Clock(dut.clk, PERIOD_NS, unit="ns", impl="gpi").start()
    dut.inputs.value = 0
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 3)


async def _free(cycles: int) -> None:
    await Timer(cycles * PERIOD_NS, "ns")


@cocotb.test()
async def free_running(dut) -> None:
    """Nothing watches: with inputs at 0, and with those that keep all of the design at work."""
    await _start(dut)
    await _measure("idle", _job["cycles"], _free)
    dut.inputs.value = int(_job["busy"], 16)
    await _measure("busy", _job["cycles"], _free)
    assert int(dut.outputs.value) & int(_job["watch"], 16) == int(_job["watch"], 16), "not busy"


@cocotb.test()
async def styles(dut) -> None:
    """Measure the cost of each style of signal access, on a design that costs next to nothing."""
    await _start(dut)
    edge = RisingEdge(dut.clk)
    plain_in = [getattr(dut, f"in_{n}") for n in range(_job["signals"])]
    plain_out = [getattr(dut, f"out_{n}") for n in range(_job["signals"])]
    packed_in, packed_out = dut.inputs, dut.outputs
    ones = (1 << 32 * _job["signals"]) - 1

    async def clock_cycles(cycles: int) -> None:
        await ClockCycles(dut.clk, cycles)

    async def edges(cycles: int) -> None:
        for _ in range(cycles):
            await edge

    async def packed(cycles: int) -> None:
        word = 0
        for _ in range(cycles):
            packed_in.value = word
            await edge
            word = int(packed_out.value) ^ ones

    async def write_plain(cycles: int) -> None:
        for number in range(cycles):
            for signal in plain_in:
                signal.value = number
            await edge

    async def both_plain(cycles: int) -> None:
        words = [0] * len(plain_in)
        for _ in range(cycles):
            for signal, word in zip(plain_in, words, strict=True):
                signal.value = word
            await edge
            words = [int(signal.value) ^ 0xFFFF_FFFF for signal in plain_out]

    await _measure("free run, one Timer", 40 * _job["cycles"], _free)
    await _measure("ClockCycles", 10 * _job["cycles"], clock_cycles)
    await _measure("a loop over RisingEdge", 10 * _job["cycles"], edges)
    await _measure("packed: one bus written and one read per cycle", 4 * _job["cycles"], packed)
    await _measure("plain: the same bits as 100 signals, written", _job["cycles"], write_plain)
    await _measure("plain: written and read", _job["cycles"], both_plain)
