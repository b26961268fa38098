"""Tiles of several kinds on one DRAM, and how a core starts their jobs."""

from cyclebound.golden.shmac.tile_bounds import ram_access
from cyclebound.golden.system.core_host import program_of_jobs
from cyclebound.golden.system.fabric import FABRIC, fabric_job, line_transfer
from cyclebound.golden.system.job_registers import job_end, job_start, register_access
from cyclebound.golden.system.tiled import kernel_job, product_cycles
from cyclebound.hdl.system.job_registers import JobRegisters
from cyclebound.hdl.system.tiled import TiledSystem
from cyclebound.hdl.system.tiled_harness import TiledHarness
from cyclebound.sim.catalogue.dram import pins
from cyclebound.sim.catalogue.simd import TINIEST_WHOLE
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe, offered, taken
from cyclebound.tb.system.job_registers_properties import JobRegistersCheck, JobRegistersProof
from cyclebound.tb.system.tiled_properties import TiledIsolation

_SMALL = {"machine": "small", "part": "ddr4-3200aa-x16", "size": 4, "depth": 256, "bursts": 16,
          "slots": 8, "memory_width": 16, "queue_depth": 32}

_THREE = "three", "three_windows"
_CORES = *_THREE, "hosted"

# of the registers of jobs: a request that has a response, and a START that is not refused
_ANSWERED = f"{taken('accesses')} & (~accesses.payload.write | accesses.payload.sync)"
_STARTS = (f"{taken('accesses')} & accesses.payload.write & ~accesses.payload.sync & "
           "~accesses.payload.interrupt & (accesses.payload.strobes == 15) & "
           "(accesses.payload.address == 0) & (accesses.payload.data == 1) & ~busy & "
           "(~word.valid | word.ready)")

BLOCKS = (
    Block(
        name="system.job_registers",
        summary="registers by which a core starts a tile's jobs, at a port of SHMAC's network",
        component=JobRegisters,
        configurations={
            "small": Configuration({"operands": 2}),
            "none": Configuration({"operands": 0}),
            "many": Configuration({"operands": 7}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.system.job_registers", quick=("small",)),),
        bounds=(
            BoundBinding("access", register_access, Probe(
                start=_ANSWERED, end=f"{offered('answers')} & ~answers.payload.write",
                in_flight=2, classed=True), proved_by=("jobs",)),
            BoundBinding("taken", ram_access, Probe(
                start=offered("accesses"), end=taken("accesses"), classed=True)),
            BoundBinding("start", job_start, Probe(start=_STARTS, end="start", classed=True),
                         proved_by=("jobs",)),
            BoundBinding("end", job_end, Probe(
                start="busy & ~start & idle", end="past(busy) & ~busy", classed=True),
                proved_by=("jobs",)),
        ),
        checker=JobRegistersCheck,
        properties=(Property(
            name="jobs",
            says="each read has one response, in the next cycle, and so has each write that is "
                 "refused, in order; each START that is not refused starts the tile once, in the "
                 "next cycle, and nothing else does; operands stay while a job is under way",
            checker=JobRegistersProof,
            instances=({"operands": 2}, {"operands": 0}),
            declares={name: lambda instance: {} for name in ("access", "start", "end")},
            depth=6,
            induction=2,
            quick=0,
        ),),
        mutants=MutationTarget("small", 200),
        fpga=FpgaTarget("small"),
        signals=("top.dut.start", "top.dut.busy", "top.dut.accesses__*", "top.dut.answers__*"),
    ),
    Block(
        name="system.tiled",
        summary="a SIMD and a systolic accelerator, and a dataflow core, on one DRAM controller, "
                "each with its bound",
        component=TiledSystem,
        configurations={
            "turns": Configuration(_SMALL),
            # room for tiles of 16 bursts and a refresh
            "windows": Configuration({**_SMALL, "windows": [740, 740]}),
            "three": Configuration({**_SMALL, "fabric": FABRIC}),
            "three_windows": Configuration({**_SMALL, "fabric": FABRIC,
                                            "windows": [740, 740, 680]}),
            "hosted": Configuration({**_SMALL, "fabric": FABRIC, "host_words": 2048}),
        },
        testbenches=(
            Testbench("jobs", "cyclebound.tb.system.tiled", top=TiledHarness, checker=pins,
                      probed=lambda harness: harness.system, thorough=True,
                      configurations=("turns", "windows")),
            Testbench("three", "cyclebound.tb.system.tiled", top=TiledHarness, checker=pins,
                      probed=lambda harness: harness.system, thorough=True, tests=("three",),
                      configurations=_THREE),
            Testbench("hosted", "cyclebound.tb.system.tiled_host", top=TiledHarness, checker=pins,
                      probed=lambda harness: harness.system, thorough=True,
                      configurations=("hosted",)),
        ),
        bounds=(
            BoundBinding("product", product_cycles, Probe(
                start="~systolic_idle & past(systolic_idle)",
                end="systolic_idle & past(~systolic_idle)")),
            BoundBinding("kernel", kernel_job, Probe(
                start="~idle & past(idle)", end="idle & past(~idle)"), configurations=("hosted",)),
            BoundBinding("job", fabric_job, Probe(
                start="past(dataflow_start)", end="dataflow_idle & past(~dataflow_idle)"),
                configurations=_CORES),
            BoundBinding("line", line_transfer, Probe(
                start="dataflow_taken", end="dataflow_over"), configurations=_CORES),
            BoundBinding("program", program_of_jobs, Probe(
                start="host_run & ~past(host_run)", end="host_exited & ~past(host_exited)"),
                configurations=("hosted",)),
        ),
        properties=(Property(
            name="isolation",
            quick=0,
            says="whatever tiles do, and a controller that keeps its rules: each request of a tile "
                 "reaches the controller at most once, as it was made, with a buffer of that "
                 "tile's; its start, completion and words go to that tile and to no other",
            checker=TiledIsolation,
            instances=({**_SMALL, "machine": TINIEST_WHOLE, "depth": 16, "bursts": 2, "slots": 4,
                        "memory_width": 8, "queue_depth": 2,
                        "fabric": {**FABRIC, "rows": ("SL", "LT")}},),
            depth=8,
            induction=2,
            free=("simd", "systolic", "memory", "core", "lines", "shared.controller"),
        ),),
        signals=("top.system.systolic_idle", "top.system.idle", "top.system.grants"),
    ),
)
