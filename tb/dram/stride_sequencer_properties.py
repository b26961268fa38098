"""Bound checkers of the stride sequencer: they read its ports and drive none.

`StrideSequencerTiming` knows when bursts have to be there, and is what is proved: by
`StrideSequencerProof`, which looks inside the sequencer as well. `StrideSequencerCheck` watches
simulations, and adds what the bursts of a tile have in common.

Ref: Sim-D, section 3.2.1.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal

from cyclebound.golden.dram.request import BURST_BITS
from cyclebound.tb.watcher import Watcher

__all__ = ["StrideSequencerCheck", "StrideSequencerProof", "StrideSequencerTiming"]

_FIRST = 7  # cycles behind the tile's, the first burst is on offer


class StrideSequencerTiming(Watcher):
    """When a `StrideSequencer` offers bursts; in any traffic, from reset on.

    Parameters
    ----------
    target : StrideSequencer
        The sequencer, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    age : Signal
        Cycles since the tile under way was taken, 7 at most; 0 if there is none.
    """

    def __init__(self, target):
        super().__init__(target)
        self.age = Signal(range(_FIRST + 1))

    def elaborate(self, platform):
        m = Module()
        tile, bursts, age = self.tile, self.bursts, self.age

        self.ended = Signal()
        m.d.comb += self.ended.eq(bursts.valid & bursts.ready & bursts.payload.last)
        with m.If(tile.valid & tile.ready):
            m.d.sync += age.eq(1)
        with m.Elif(self.ended):
            m.d.sync += age.eq(0)
        with m.Elif((age != 0) & (age != _FIRST)):
            m.d.sync += age.eq(age + 1)

        m.d.sync += [
            Assert(tile.ready == (age == 0), "a tile is taken where none is under way"),
            Assert(self.busy == (age != 0), "busy while a tile is under way"),
            Assert(~bursts.valid | (age != 0), "burst without a tile"),
            Assert(~bursts.valid | (age == 0) | (age == _FIRST), "burst too early"),
            Assert(bursts.valid | (age != _FIRST), "burst is missing"),
        ]

        stalled, payload = Signal(), Signal.like(bursts.payload.as_value())
        m.d.sync += [stalled.eq(bursts.valid & ~bursts.ready),
                     payload.eq(bursts.payload.as_value())]
        m.d.sync += [
            Assert(~stalled | bursts.valid, "burst withdrawn"),
            Assert(~stalled | (payload == bursts.payload.as_value()), "burst changed"),
        ]
        return m


class StrideSequencerCheck(StrideSequencerTiming):
    """`StrideSequencerTiming`, and what bursts have to be; assumes that tiles are legal.

    Parameters
    ----------
    target : StrideSequencer
        The sequencer, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        offered, burst, bursts = self.tile.payload, self.bursts.payload, self.bursts

        waiting, before = Signal(), Signal.like(offered)
        m.d.sync += [waiting.eq(self.tile.valid & ~self.tile.ready), before.eq(offered)]
        m.d.sync += [
            Assume(~waiting | (self.tile.valid & (before.as_value() == offered.as_value())),
                   "tile withdrawn or changed"),
            Assume(~self.tile.valid | ((offered.words != 0) & (offered.count != 0)),
                   "tile without words"),
            Assume(~self.tile.valid | (offered.period >= offered.words), "lines overlap"),
        ]

        tile, opened = Signal.like(offered), Signal()  # under way; before its first burst
        previous, accepted = Signal(BURST_BITS), Signal()
        m.d.comb += accepted.eq(bursts.valid & bursts.ready)
        with m.If(self.tile.valid & self.tile.ready):
            m.d.sync += [tile.eq(offered), opened.eq(1)]
        with m.Elif(accepted):
            m.d.sync += [previous.eq(burst.address), opened.eq(0)]

        lowest = Signal.like(burst.mask)
        m.d.comb += lowest.eq(burst.mask & -burst.mask)
        m.d.sync += [
            Assert(~bursts.valid | (burst.mask != 0), "burst without a word"),
            Assert(~bursts.valid | ~opened | (burst.address == tile.address[4:]),
                   "first burst is another"),
            Assert(~bursts.valid | ~opened | (lowest == 1 << tile.address[:4]),
                   "first word is another"),
            Assert(~bursts.valid | opened | (burst.address > previous),
                   "addresses do not ascend"),
            Assert(~bursts.valid | ((burst.write == tile.write)
                                    & (burst.destination == tile.destination)
                                    & (burst.transform == tile.transform) & ~burst.indexed),
                   "burst of another request"),
        ]
        return m


class StrideSequencerProof(StrideSequencerTiming):
    """`StrideSequencerTiming`, with invariants about the registers between the walk and the port.

    Bursts stand one behind the other: in front of the first, and behind the last, there are none.

    Parameters
    ----------
    target : StrideSequencer
        The sequencer, with its state ``taken``, ``valids`` and ``lasts``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._taken, self._valids, self._lasts = target.taken, target.valids, target.lasts

    def elaborate(self, platform):
        m = super().elaborate(platform)
        valids = [*self._valids, self.bursts.valid]
        lasts = [*self._lasts, self.bursts.payload.last]

        m.d.sync += Assert(self._taken == (self.age == 1), "invariant: taken in the cycle before")
        for stage, valid in enumerate(valids):
            at = stage + 2  # the age at which the first burst arrives here
            m.d.sync += [
                Assert(~valid | (self.age >= at), f"invariant: register {stage} is early"),
                Assert(valid | (self.age != at), f"invariant: register {stage} is late"),
            ]
        for stage in range(1, len(valids)):
            m.d.sync += [
                Assert(~valids[stage] | lasts[stage] | valids[stage - 1],
                       f"invariant: nothing follows register {stage}"),
                Assert(~valids[stage - 1] | (self.age < stage + 2)
                       | valids[stage] & ~lasts[stage],
                       f"invariant: register {stage - 1} follows the last"),
            ]
        m.d.sync += Cover(self.ended, "a tile's last burst is taken")
        return m
