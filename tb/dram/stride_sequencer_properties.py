"""Bound checkers of the stride sequencer: they read its ports and drive none.

`StrideSequencerTiming` knows when bursts have to be there, and is what is proved: by
`StrideSequencerProof`, which looks inside the sequencer as well. `StrideSequencerInside` adds where
words may lie, and is the other half of memory protection: the table of buffers lets no tile out
that leaves its buffer. `StrideSequencerCheck` watches simulations, and adds what the bursts of a
tile have in common.

Ref: Sim-D, section 3.2.1.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, signed

from cyclebound.golden.dram.request import BURST_BITS, BURST_WORDS, COUNT_BITS
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["StrideSequencerCheck", "StrideSequencerInside", "StrideSequencerProof",
           "StrideSequencerTiming"]

_FIRST = 7  # cycles after the tile's, the first burst is on offer


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
            owes(~waiting | (self.tile.valid & (before.as_value() == offered.as_value())),
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

    Bursts follow each other: before the first, and after the last, there are none.

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
        self._covers(m)
        return m

    def _covers(self, m):
        m.d.sync += Cover(self.ended, "a tile's last burst is taken")


class _Place:
    """Position of a burst in its tile, kept by the proof beside it: the line that it is in.

    Line ``number`` begins in ``lane``, counted from lane 0 of burst ``address``, be it far beyond
    the burst or in front of it. The ghost begins with line 0, in the tile's first word. A step to
    another burst adds to ``address``, and takes 16 times as much from ``lane``; a step to
    the next line adds 1 to ``number`` and the period to ``lane``. So word ``n`` of the burst has
    column ``n - lane`` in that line, whatever the steps are. ``column`` is that of lane 0, and
    matters for periods below 16 only, where a burst has words of many lines: ``number`` is 0 there,
    ``lane`` the tile's first word, and lines are told apart by their columns.
    """

    def __init__(self, stage):
        self.address = Signal(BURST_BITS, name=f"line_address_{stage}")
        self.number = Signal(COUNT_BITS, name=f"line_number_{stage}")
        self.lane = Signal(signed(COUNT_BITS + 6), name=f"line_lane_{stage}")
        self.column = Signal(4, name=f"line_column_{stage}")

    def follows(self, other):
        """The assignments that copy the place of another stage."""
        return [getattr(self, name).eq(getattr(other, name))
                for name in ("address", "number", "lane", "column")]


class StrideSequencerInside(StrideSequencerProof):
    """`StrideSequencerProof`, and: the words enabled are the words of the tile, all and no others.

    That is, those with a line below ``count`` and a column below ``words``. The bursts are those of
    the ghost, which goes on to the next burst in which its line has words, or else to the one in
    which the next line begins; and the last is the one in which the last line ends. It is claimed
    of the first register after the walk, and of the others, and of the port, that they hold the
    same bursts later. Addresses are taken modulo the address space, so that nothing needs to be
    said about the tile's end. Assumes that tiles are legal otherwise.

    Parameters
    ----------
    target : StrideSequencer
        The sequencer itself.
    periods : range
        Assume that periods lie in here, all of them below 16 or none: each is a proof of its own.
    """

    def __init__(self, target, *, periods):
        super().__init__(target)
        self._target, self._periods = target, periods

    def _covered(self, tile):
        return (tile.period >= self._periods[0]) & (tile.period <= self._periods[-1])

    def elaborate(self, platform):
        m = super().elaborate(platform)
        offered = self.tile.payload
        m.d.sync += [
            Assume(~self.tile.valid | ((offered.words != 0) & (offered.count != 0)),
                   "tile without words"),
            Assume(~self.tile.valid | (offered.period >= offered.words), "lines overlap"),
            Assume(~self.tile.valid | self._covered(offered), "another period"),
        ]

        narrow, length, advances, pattern = self._use_period(m)
        walk, here = _Place("walk"), _Place("mask")
        advance = ~self.bursts.valid | self.bursts.ready
        self._move_ghost(m, walk, advance)
        with m.If(advance):
            m.d.sync += here.follows(walk)
        self._claim_words(m, here, advance, narrow, length, pattern)
        self._explain_walk(m, walk, narrow, length, advances, pattern)
        return m

    def _use_period(self, m):
        """Derive from the tile's period: whether it is below 16; the tile's length; the columns
        that lanes advance from burst to burst; and which lanes have words, by the column of lane 0
        and the number of the lane."""
        tile = self._target.wanted
        narrow, length = Signal(), Signal(COUNT_BITS + 4)
        pattern, advances = Signal(31), Signal(4)
        columns = Cat(column < tile.words[:4] for column in range(15))
        once, twice, thrice = tile.count, tile.count << 1, tile.count + (tile.count << 1)
        lines = sum(Mux(high, Mux(low, thrice, twice), Mux(low, once, 0)) << place  # * period
                    for place, (low, high) in ((0, tile.period[:2]), (2, tile.period[2:4])))
        m.d.comb += [
            narrow.eq(self._periods[-1] < BURST_WORDS),
            length.eq(Mux(narrow, lines - tile.period[:4] + tile.words, tile.words)),
        ]
        with m.Switch(tile.period[:4]):
            for period in range(1, 16):
                with m.Case(period):
                    m.d.comb += [advances.eq(16 % period),
                                 pattern.eq(Cat(columns[j % period] for j in range(31)))]
        return narrow, length, advances, pattern

    def _move_ghost(self, m, walk, advance):
        """The ghost goes with its burst."""
        target = self._target
        tile, at = target.wanted, target.at
        lane, more = tile.address[:4], at.end > BURST_WORDS  # lane of the first word
        first, next_column = Signal(4), Signal(4)  # columns of lane 0: now, and in the next burst
        with m.Switch(tile.period[:4]):
            for period in range(1, 16):
                with m.Case(period):
                    with m.Switch(lane):
                        for number in range(16):
                            with m.Case(number):
                                m.d.comb += first.eq(-number % period)
                    with m.Switch(walk.column):
                        for number in range(16):
                            with m.Case(number):
                                m.d.comb += next_column.eq((number + 16) % period)
        with m.If(target.taken):
            m.d.sync += [walk.address.eq(tile.address[4:]), walk.number.eq(0),
                         walk.lane.eq(lane), walk.column.eq(first)]
        with m.Elif(advance & at.valid & more):
            m.d.sync += [walk.address.eq(walk.address + 1), walk.lane.eq(walk.lane - BURST_WORDS),
                         walk.column.eq(next_column)]
        with m.Elif(advance & at.valid):
            # to the burst in which the next line begins, or to the next one, if that is this one
            begins, steps = Signal.like(walk.lane), Signal(COUNT_BITS)
            m.d.comb += [begins.eq(walk.lane + tile.period),
                         steps.eq(Mux(begins < BURST_WORDS, 1, begins >> 4))]
            m.d.sync += [walk.address.eq(walk.address + steps), walk.number.eq(walk.number + 1),
                         walk.lane.eq(begins - (steps << 4))]

    def _claim_words(self, m, here, advance, narrow, length, pattern):
        """Assert address, mask and end of the burst in the first register that has a mask, and that
        later registers and the port repeat it."""
        target = self._target
        tile = target.wanted
        valids = [*self._valids[1:], self.bursts.valid]
        burst = self.bursts.payload
        bursts = [*zip(target.addresses[1:], target.masks[1:], target.lasts[1:], strict=True),
                  (burst.address, burst.mask, burst.last)]
        last = (here.lane + length <= BURST_WORDS) & (narrow | (here.number + 1 == tile.count))
        m.d.sync += [
            Assert(~valids[0] | (here.address == bursts[0][0]), "burst is another"),
            Assert(~valids[0] | (here.number < tile.count), "line after the last"),
            Assert(~valids[0] | (bursts[0][1] == self._words(here, length, narrow, pattern)),
                   "words enabled are not those of the tile"),
            Assert(~valids[0] | (bursts[0][2] == last), "last burst is another"),
        ]
        kept = Cat(bursts[0])
        for stage, (valid, burst) in enumerate(zip(valids[1:], bursts[1:], strict=True)):
            before, kept = kept, Signal(len(kept), name=f"kept_{stage}")
            with m.If(advance):
                m.d.sync += kept.eq(before)
            m.d.sync += Assert(~valid | (Cat(burst) == kept), "burst changes on its way")

    def _explain_walk(self, m, walk, narrow, length, advances, pattern):
        """Why: the walk. `end` and `next` are where its line ends and the next one begins."""
        target = self._target
        tile, at, constants = target.wanted, target.at, target.constants
        lane = tile.address[:4]
        since = self.age >= 2
        facts = {
            "period": self._covered(tile),
            "words": (tile.words != 0) & (tile.count != 0) & (tile.period >= tile.words),
            "narrow": constants.narrow == narrow,
            "reach": constants.reach == tile.words + lane,
            "three lines": constants.count3 == tile.count + (tile.count << 1),
            "short": constants.short == (tile.words[:4] + lane - tile.period[:4]),
        }
        settled = {
            "advances": ~narrow | (constants.advances == advances),
            "wraps": ~narrow | (constants.wraps == tile.period[:4] - advances),
            "pattern": constants.pattern == Mux(narrow, pattern, (1 << 31) - 1),
        }
        walking = {
            "burst": walk.address == at.address,
            "end": at.end == walk.lane + length,
            "something is left": at.end != 0,
            "words before the line": at.low == Mux(walk.lane < 0, 0, walk.lane),
            "next": narrow | (at.next == walk.lane + tile.period),
            "column": ~narrow | ((at.phase == walk.column) & (walk.column < tile.period)),
            "lines left": narrow | (walk.number + at.left == tile.count - 1),
            "last line": at.last_line == (narrow | (at.left == 0)),
            "one long line": ~narrow | (walk.number == 0),
        }
        for condition, group in ((self.age != 0, facts), (since, settled), (at.valid, walking)):
            m.d.sync += [Assert(~condition | fact, f"invariant: {name}")
                         for name, fact in group.items()]

    def _covers(self, m):
        m.d.sync += Cover(self._valids[0] & (self._target.wanted.count > 1),
                          "a tile of several lines is under way")

    def _words(self, place, length, narrow, pattern):
        """The words of the tile in a burst, as a mask."""
        tile = self._target.wanted
        allowed, more = pattern >> place.column, place.number + 1 < tile.count
        end, begins = place.lane + length, place.lane + tile.period
        words = []
        for number in range(BURST_WORDS):
            here = (number >= place.lane) & (number < end) & (~narrow | allowed[number])
            there = ~narrow & (number >= begins) & (number < begins + tile.words) & more
            words.append(here | there)
        return Cat(words)
