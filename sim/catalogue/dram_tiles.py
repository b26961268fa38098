"""Blocks of the DRAM path: from tiles to bursts."""

from functools import partial

from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.hdl.dram.stride_sequencer import StrideSequencer
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.stride_sequencer_properties import (
    StrideSequencerCheck,
    StrideSequencerInside,
    StrideSequencerProof,
)
from cyclebound.tb.probe import Probe

_whole = partial(Probe, start="tile.valid & tile.ready",
                           end="bursts.valid & bursts.ready & bursts.payload.last")
_START = {"start": "tile.payload.address & 15"}
_SHAPE = {"words": "tile.payload.words", "gap": "tile.payload.period - tile.payload.words",
          "count": "tile.payload.count"}

BLOCKS = (
    Block(
        name="dram.stride_sequencer",
        summary="the bursts of a tile: one in each cycle, with masks and targets",
        component=StrideSequencer,
        configurations={
            # gap: words between two lines; from 16 on, no burst has words of both
            "paper": Configuration({}, domain={"start": range(16), "words": range(1, 21),
                                               "gap": range(20), "count": range(1, 4)}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.stride_sequencer"),
            Testbench("every", "cyclebound.tb.dram.stride_sequencer", quick=(),
                      tests=("every_small_tile", "tiles_of_all_sizes")),
        ),
        bounds=(
            BoundBinding("tile", bounds.stride_sequencer, exhaustive=True,
                         probe=_whole(request=_START | _SHAPE)),
            BoundBinding("tile_anywhere", bounds.stride_sequencer_anywhere,
                         probe=_whole(request=_SHAPE)),
        ),
        properties=(
            Property(
                name="timing",
                quick=0,
                says="the first burst is on offer in the seventh cycle after a tile's, and one in "
                     "every cycle until the last is taken; none is withdrawn or changed while it "
                     "waits",
                checker=StrideSequencerProof,
                instances=({},),
                depth=9,
                induction=4,
            ),
            *(Property(
                name=f"inside_{periods[0]}",
                quick=0,
                says="the words enabled are all the words of the tile and no others: with a line "
                     "below the lines, a column below the words of a line; for every legal tile "
                     f"with a period from {periods[0]} to {periods[-1]}",
                checker=partial(StrideSequencerInside, periods=periods),
                instances=({},),
                depth=3,
                induction=2,
            ) for periods in (*(range(period, period + 1) for period in range(1, 16)),
                              range(16, 1 << 20))),
        ),
        checker=StrideSequencerCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.tile__valid", "top.dut.tile__ready", "top.dut.tile__payload",
                 "top.dut.bursts__valid", "top.dut.bursts__ready", "top.dut.bursts__payload"),
    ),
)
