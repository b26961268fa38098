"""Blocks of the DRAM path that move data."""

from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.request import BEATS
from cyclebound.hdl.dram.dq_scheduler import DqScheduler
from cyclebound.hdl.dram.snoop_cam import SnoopCam
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.dq_scheduler_properties import DqSchedulerCheck, DqSchedulerProof
from cyclebound.tb.dram.snoop_cam_properties import SnoopCamCheck, SnoopCamProof
from cyclebound.tb.probe import Probe

BLOCKS = (
    Block(
        name="dram.dq_scheduler",
        summary="moves the words of each burst between the data bus and the chip, on time",
        component=DqScheduler,
        configurations={
            "x16": Configuration({"part": "ddr4-3200aa-x16", "fetch_latency": 2}),
            "x8": Configuration({"part": "ddr4-3200aa-x8", "fetch_latency": 2}),
            "slow": Configuration({"part": "ddr4-1866m-x16", "fetch_latency": 1}),
            "ddr3": Configuration({"part": "ddr3-1600-module", "fetch_latency": 3}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.dq_scheduler", quick=("x16",)),),
        bounds=(
            # a burst has four beats; what is between command and data fits into sixteen
            BoundBinding("deliver", bounds.dq_deliver,
                         probe=Probe(start="issue.valid & ~issue.payload.write",
                                     end="deliver.valid", ends=str(BEATS), in_flight=16)),
            BoundBinding("drive", bounds.dq_drive,
                         probe=Probe(start="issue.valid & issue.payload.write", end="dq_out.valid",
                                     ends=str(BEATS), in_flight=16)),
            BoundBinding("fetch", bounds.dq_fetch,
                         probe=Probe(start="fetch.valid", end="dq_out.valid", in_flight=8)),
        ),
        properties=(
            Property(
                name="beats",
                quick=0,
                says="words are on the bus nCAS or nCWD cycles after their command, and fetched "
                     "in time for that, in no other cycle, and no two bursts at once; given that "
                     "commands come no closer than the data bus allows",
                checker=DqSchedulerProof,
                instances=({"part": "ddr3-1600-module", "fetch_latency": 1},),
                depth=14,
                induction=2,
            ),
        ),
        checker=DqSchedulerCheck,
        fpga=FpgaTarget("x16"),
        signals=("top.dut.issue__valid", "top.dut.issue__payload", "top.dut.moving",
                 "top.dut.beat", "top.dut.fetch__valid", "top.dut.deliver__valid",
                 "top.dut.dq_out__valid"),
    ),
    Block(
        name="dram.snoop_cam",
        summary="lanes that take the word of their index from passing beats, or give it",
        component=SnoopCam,
        configurations={
            "tiny": Configuration({"lanes": 5, "index_width": 5, "latency": 2}),
            "slow": Configuration({"lanes": 11, "index_width": 6, "latency": 4}),
            "quarter": Configuration({"lanes": 16, "index_width": 20, "latency": 2}),
            "warp": Configuration({"lanes": 64, "index_width": 20, "latency": 2}),
            # Sim-D: a lane for each of a work-group's items
            "paper": Configuration({"lanes": 1024, "index_width": 20, "latency": 2}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.snoop_cam",
                      configurations=("tiny", "slow", "quarter", "warp"), quick=("tiny",)),
            # two minutes from Amaranth to a simulator
            Testbench("whole", "cyclebound.tb.dram.snoop_cam", configurations=("paper",),
                      thorough=True),
        ),
        bounds=(
            # nothing is to be seen of the answer to a fetch that no lane has a word for
            BoundBinding("store", bounds.snoop_store,
                         probe=Probe(start="fetch.valid & declared.known", end="any(store.enable)",
                                     in_flight="latency")),
            BoundBinding("answer", bounds.snoop_answer,
                         probe=Probe(start="read.valid", end="answer.valid", in_flight="latency")),
            # from the beat to the first answer with the word in it that a lane waits for
            BoundBinding("capture", bounds.snoop_capture,
                         probe=Probe(start="snoop.valid & declared.passes",
                                     end="answer.valid & answer.payload.hit & (answer.payload.data "
                                         "== declared.word) & declared.asked")),
        ),
        properties=(
            Property(
                name="lane",
                quick=0,
                says="a lane has what it was loaded with or captured last when it is read out, its "
                     "word is stored whenever it matches, and is its own if it is the lowest",
                checker=SnoopCamProof,
                instances=({"lanes": 5, "index_width": 5, "latency": 2},),
                depth=6,
                induction=4,
            ),
        ),
        checker=SnoopCamCheck,
        mutants=MutationTarget("tiny", 40),
        fpga=FpgaTarget("quarter"),
        signals=("top.dut.snoop__valid", "top.dut.fetch__valid", "top.dut.read__valid",
                 "top.dut.taking", "top.dut.chosen_0", "top.dut.store__enable",
                 "top.dut.answer__valid"),
    ),
)
