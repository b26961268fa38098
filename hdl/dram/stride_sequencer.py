"""Stride sequencer: the bursts of a tile, one in each cycle.

Ref: Sim-D, section 3.2.1.

There are two kinds of walk, by the period of the tile.

- *Wide*, 16 words and more: a burst has words of two lines at most. The walk follows one line, and
  at its end moves on to the burst in which the next one begins, however far that is: a line
  whose successor begins in the same burst always has words after that burst as well.
- *Narrow*, fewer than 16 words: no burst between the first and the last is without a word. The
  walk takes the tile for one long line, and a window on the pattern of words and gaps, which
  repeats with the period, says which words of a burst belong to it.

Targets need no walk of lanes: lane *i* has the target of lane 0, plus *i*, plus ``pitch - period``
for each line that begins between the two.
"""

import itertools
from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import BURST_BITS, BURST_WORDS, COUNT_BITS, TARGET_BITS
from cyclebound.hdl.dram.layouts import BurstLayout, TileLayout

__all__ = ["StrideSequencer"]

_LENGTH_BITS = COUNT_BITS + 4  # of a narrow tile, and of all words counted from a burst's first
_STAGES = 5  # registers of a burst before the port, the walk's included
_GROUP = 4  # lanes that share the adders for the lines that begin before them
_LANES, _GROUPS = range(BURST_WORDS), range(0, BURST_WORDS, _GROUP)  # groups by their first lane


def _count(bits):
    """How many of up to four bits are set; three functions of four inputs."""
    a, b, c, d = [*bits, *[Const(0, 1)] * (4 - len(bits))]
    return Cat(a ^ b ^ c ^ d, (a & b) ^ (a & c) ^ (a & d) ^ (b & c) ^ (b & d) ^ (c & d),
               a & b & c & d)[:len(bits).bit_length()]


def _times(value, triple, digit):
    """``digit * value`` for a digit of two bits, from ``value`` and its triple."""
    return Mux(digit[1], Mux(digit[0], triple, value << 1), Mux(digit[0], value, 0))


def _reaches(lane, place):
    """Whether a lane is at or after a place in its burst; the last lane always is."""
    return lane >= place[:4] if lane < BURST_WORDS - 1 else Const(1, 1)


class StrideSequencer(wiring.Component):
    """Bursts of a 1D or 2D tile, in ascending order, each that holds a word of it, and no other.

    Latency: the first burst is on offer in the seventh cycle after the one in which the tile is
    taken. Throughput: a burst in each cycle from then on, also across gaps between lines of any
    width. The next tile is taken after the last burst. Bound:
    ``golden.dram.pipeline_bounds.stride_sequencer``.

    A tile has to be legal, see `TileRequest`: at least one word and one line, a period of at
    least the words, an end within the address space. Others are for the stage before to refuse;
    here, they may make a sequence without an end.

    Members
    -------
    tile : In(stream of TileLayout)
        Taken while no tile is under way; ``indexed`` is ignored.
    bursts : Out(stream of BurstLayout)
        ``targets`` of words that are not enabled continue their neighbours', where ``pitch`` is
        ``period`` (always for the CAM); elsewhere they have no meaning. ``indexed`` is 0.
    busy : Out(1)
        From the cycle after a tile until its last burst is taken.

    Attributes
    ----------
    taken : Signal
        A tile was taken in the cycle before.
    valids, lasts, addresses, masks : list of Signal
        Of the registers before the port, from the walk on: whether they hold a burst, and the last;
        and which (the walk has no mask, but what it is made of).
    wanted : View of TileLayout
        The tile under way.
    at : SimpleNamespace
        State of the walk, see ``_walk``.
    constants : SimpleNamespace
        What is known about the tile, for proofs: from the cycle after it on, or one more.
    """

    tile: In(stream.Signature(TileLayout))
    bursts: Out(stream.Signature(BurstLayout))
    busy: Out(1)

    def __init__(self):
        super().__init__()
        self.taken = Signal()
        self.valids = [Signal(name=f"valid_{stage}") for stage in range(_STAGES)]
        self.lasts = [Signal(name=f"last_{stage}") for stage in range(_STAGES)]
        self.addresses = [Signal(BURST_BITS, name=f"address_{stage}") for stage in range(_STAGES)]
        self.masks = [None, *(Signal(BURST_WORDS, name=f"mask_{stage}")
                              for stage in range(1, _STAGES))]
        self.wanted = Signal(TileLayout)
        self.at = SimpleNamespace(
            valid=self.valids[0], last=self.lasts[0], address=self.addresses[0],
            end=Signal(_LENGTH_BITS), next=Signal(COUNT_BITS + 1), low=Signal(4), phase=Signal(4),
            left=Signal(COUNT_BITS), last_line=Signal(), wrapped=Signal(), anchor=Signal(),
            before=Signal(signed(6)))
        self.constants = SimpleNamespace(
            narrow=Signal(), short=Signal(signed(6)), count3=Signal(COUNT_BITS + 2),
            reach=Signal(COUNT_BITS + 1),
            advances=Signal(4, name="advances"), wraps=Signal(4, name="wraps"),
            pattern=Signal(31, name="pattern"))

    def elaborate(self, platform):
        m = Module()

        tile = self.wanted
        advance = Signal()         # whether the pipeline moves
        m.d.comb += [
            self.tile.ready.eq(~self.busy),
            advance.eq(~self.bursts.valid | self.bursts.ready),
        ]
        m.d.sync += self.taken.eq(self.tile.valid & self.tile.ready)
        with m.If(self.tile.ready):
            m.d.sync += [tile.eq(self.tile.payload), self.busy.eq(self.tile.valid)]
        with m.Elif(self.bursts.valid & self.bursts.ready & self.bursts.payload.last):
            m.d.sync += self.busy.eq(0)

        constants = self._constants(m, tile)
        self._walk(m, tile, constants, advance)
        self._lanes(m, tile, constants, advance)

        return m

    def _constants(self, m, tile):
        """Compute the constants of a tile that the walk and the lanes use, before they use them."""
        offered, sync = self.tile.payload, m.d.sync

        def register(name, shape, value):
            signal = Signal(shape, name=name)
            m.d.sync += signal.eq(value)
            return signal

        # Cycle 0, from the ports: they may change after it.
        kept = self.constants
        extra, narrow, short = Signal(TARGET_BITS), kept.narrow, kept.short
        count3, reach = kept.count3, kept.reach
        with m.If(self.tile.ready):
            sync += [
                extra.eq(offered.pitch - offered.period),  # what each line adds to the targets
                narrow.eq(offered.period[4:] == 0),
                count3.eq(offered.count + (offered.count << 1)),
                reach.eq(offered.words + offered.address[:4]),
                short.eq(offered.words[:4] + offered.address[:4] - offered.period[:4]),
            ]

        # Cycle 1: the walk begins at its end.
        start, words, period = tile.address[:4], tile.words[:4], tile.period[:4]
        lines = (_times(tile.count, count3, period[:2])
                 + (_times(tile.count, count3, period[2:]) << 2))
        length = Mux(narrow, lines + short, reach)  # from the burst's start to the line's end
        phase, lines_before = self._first_lane(m, start, period)
        before = Mux(narrow, lines_before, 0)
        advances, pattern, begins = self._patterns(m, words, period)
        big, small = self._lines_of_a_burst(m, narrow, period, extra)
        before_1 = register("before", 4, before)
        triple = register("triple", TARGET_BITS, extra + (extra << 1))
        burst_lines = register("burst_lines", TARGET_BITS, big + small)
        next_line = register("next_line", TARGET_BITS, extra + BURST_WORDS)

        # Later: the lanes come some cycles later.
        behind = register("behind", TARGET_BITS, _times(extra, triple, before_1[:2])
                          + (_times(extra, triple, before_1[2:]) << 2))
        ahead = [register(f"ahead_{lines}", TARGET_BITS, value - behind)
                 for lines, value in enumerate((0, extra, extra << 1, triple))]
        column = {(lane, lines): register(f"column_{lane}_{lines}", TARGET_BITS, value + lane)
                  for lane in range(1, _GROUP)
                  for lines, value in enumerate((0, extra, extra << 1, triple)[:lane + 1])}

        m.d.sync += [kept.advances.eq(advances), kept.wraps.eq(period - advances),
                     kept.pattern.eq(Mux(narrow, pattern, -1))]
        return SimpleNamespace(
            narrow=narrow, length=length, phase=phase, extra=extra, triple=triple, ahead=ahead,
            column=column, advances=kept.advances, wraps=kept.wraps, pattern=kept.pattern,
            begins=register("begins", 31, Mux(narrow, begins, 0)),
            step=register("step", TARGET_BITS, burst_lines + BURST_WORDS),
            step_wrap=register("step_wrap", TARGET_BITS, burst_lines + next_line))

    def _first_lane(self, m, start, period):
        """Looked up: the phase of lane 0, and how many lines begin before the first word."""
        first = Signal(8)
        with m.Switch(Cat(start, period)):
            for number, at in itertools.product(range(1, 16), range(16)):
                with m.Case(number << 4 | at):
                    m.d.comb += first.eq(-at % number | -(-at // number) << 4)
        return first[:4], first[4:]

    def _patterns(self, m, words, period):
        """Looked up by the period: how many phases a burst advances (modulo the period), which of
        31 places are words of the tile, and in which of them a line begins."""
        advances = Signal(4)
        columns, pattern, begins = Signal(16), Signal(31), Signal(31)
        m.d.comb += columns.eq(Cat(column < words for column in range(15)))
        with m.Switch(period):
            for number in range(1, 16):
                with m.Case(number):
                    m.d.comb += [
                        advances.eq(16 % number),
                        pattern.eq(Cat(columns[place % number] for place in range(31))),
                        begins.eq(sum(1 << place for place in range(0, 31, number))),
                    ]
        return advances, pattern, begins

    def _lines_of_a_burst(self, m, narrow, period, extra):
        """What ``16 // period`` lines add to the targets, in two parts of which it is the sum."""
        big, small = Signal(TARGET_BITS), Signal(TARGET_BITS)
        with m.If(narrow):
            with m.Switch(period):
                for number in range(1, 16):
                    with m.Case(number):
                        whole = 16 // number
                        top = 1 << whole.bit_length() - 1
                        assert whole - top in (0, 1)
                        m.d.comb += [big.eq(extra << (top.bit_length() - 1)),
                                     small.eq(extra if whole > top else 0)]
        return big, small

    def _walk(self, m, tile, constants, advance):
        """One burst in each cycle: its address, and where in its line it lies.

        ``end`` and ``next`` are the lanes, possibly far beyond the burst, in which its line ends
        and the next one begins. At a line's end, the walk advances by ``whole`` bursts; there, the
        next line begins in lane ``before``, or, if that is negative, began before the burst.
        ``left`` counts the lines after this one.
        """
        at, left = self.at, self.at.left
        more, near, whole, before = Signal(), Signal(), Signal(COUNT_BITS), Signal(signed(6))
        wraps = Signal()
        m.d.comb += [
            more.eq(at.end[4:].any() & ((at.end[:4] != 0) | at.end[5:].any())),
            near.eq(~at.next[4:].any()),
            whole.eq(Mux(near, 1, at.next[4:])),
            before.eq(Cat(at.next[:4], near, near)),
            at.last.eq(at.last_line & ~more),
            wraps.eq(at.phase >= constants.wraps),
        ]

        with m.If(self.taken):
            m.d.sync += [
                at.valid.eq(1), at.address.eq(tile.address[4:]), at.end.eq(constants.length),
                at.next.eq(tile.period + tile.address[:4]), at.low.eq(tile.address[:4]),
                at.phase.eq(constants.phase), at.wrapped.eq(0), at.anchor.eq(1),
                at.before.eq(tile.address[:4]), left.eq(tile.count - 1),
                at.last_line.eq(constants.narrow | (tile.count == 1)),
            ]
        with m.Elif(advance & at.valid):
            m.d.sync += [
                at.valid.eq(~at.last), at.address.eq(at.address + Mux(more, 1, whole)),
                at.phase.eq(Mux(wraps, at.phase - constants.wraps, at.phase + constants.advances)),
                at.wrapped.eq(wraps & constants.narrow), at.anchor.eq(~more), at.before.eq(before),
            ]
            with m.If(more):
                m.d.sync += [at.end.eq(at.end - BURST_WORDS), at.next.eq(at.next - BURST_WORDS),
                             at.low.eq(0)]
            with m.Else():
                m.d.sync += [at.end.eq(tile.words + before), at.next.eq(tile.period + before),
                             at.low.eq(Mux(near, 0, at.next[:4])), left.eq(left - 1),
                             at.last_line.eq(left == 1)]

    def _lanes(self, m, tile, constants, advance):
        """Masks and targets, after the walk: five registers in a row, the last one the port."""
        placed, begins = self._words(m, tile, constants, advance)
        first, before, inside = self._count_lines(m, placed, begins, advance)
        heads, inside = self._group_targets(m, constants, first, before, inside, advance)
        self._lane_targets(m, constants, heads, inside, advance)

        # The rest moves along.
        out = self.bursts.payload
        with m.If(advance):
            for registers, port in ((self.valids, self.bursts.valid), (self.lasts, out.last),
                                    (self.addresses, out.address), (self.masks[1:], out.mask)):
                m.d.sync += [later.eq(earlier) for earlier, later
                             in itertools.pairwise([*registers, port])]
        m.d.comb += [out.write.eq(tile.write), out.destination.eq(tile.destination),
                     out.transform.eq(tile.transform)]

    def _words(self, m, tile, constants, advance):
        """Register 1: the burst's words, the target of lane 0, and lanes in which lines begin.

        Words are those before ``end`` and not before ``low``, where the pattern has a word, and
        those of the next line. The target follows from the line's where the walk comes to a new
        one.
        """
        at, mask = self.at, self.masks[1]
        placed, line = Signal(TARGET_BITS), Signal(TARGET_BITS)
        begins = Signal(BURST_WORDS, name="begins_1")
        far_end, far_next = at.end[4:].any(), at.next[4:].any()
        words = [(far_end | ~_reaches(lane, at.end)) & _reaches(lane, at.low)
                 | ~far_next & _reaches(lane, at.next) & ~at.last_line for lane in _LANES]
        pattern, window = Signal(BURST_WORDS), Signal(BURST_WORDS)
        m.d.comb += [pattern.eq(constants.pattern >> at.phase),
                     window.eq(constants.begins >> at.phase)]
        with m.If(advance):
            m.d.sync += [
                mask.eq(Cat(words) & pattern),
                begins.eq(Mux(constants.narrow, window,
                              Cat(~far_next & (at.next[:4] == lane) for lane in _LANES))),
            ]
            with m.If(at.anchor):
                m.d.sync += [placed.eq(line - at.before)]
            with m.Else():
                m.d.sync += placed.eq(placed + Mux(at.wrapped, constants.step_wrap, constants.step))
            with m.If(at.valid & at.anchor):
                m.d.sync += line.eq(line + tile.pitch)
        with m.If(self.tile.ready):
            m.d.sync += line.eq(self.tile.payload.base)
        return placed, begins

    def _count_lines(self, m, placed, begins, advance):
        """Register 2: lines that begin before a group's first lane, and within the group.

        Returns, by group, the target of its first lane if no line began before it, and the lines
        that do; and by each other lane the lines that begin in its group up to it.
        """
        first = [Signal(TARGET_BITS, name=f"first_{lane}") for lane in _GROUPS]
        before = [Signal(4, name=f"before_{lane}") for lane in _GROUPS]
        inside = {lane: Signal(range(lane % _GROUP + 1), name=f"inside_{lane}")
                  for lane in _LANES if lane % _GROUP}
        counts = [_count(begins[lane + 1:lane + _GROUP + 1]) for lane in _GROUPS]
        with m.If(advance):
            for number, lane in enumerate(_GROUPS):
                m.d.sync += [first[number].eq(placed + lane),
                             before[number].eq(sum(counts[1:number], counts[0]) if number else 0)]
            for lane, count in inside.items():
                m.d.sync += count.eq(_count(begins[lane // _GROUP * _GROUP + 1:lane + 1]))
        return first, before, inside

    def _group_targets(self, m, constants, first, before, inside, advance):
        """Registers 3 and 4: the targets of the groups' first lanes, and ``inside``, delayed."""
        low, high = ([Signal(TARGET_BITS, name=f"{name}_{lane}") for lane in _GROUPS]
                     for name in ("low", "high"))
        digit = [Signal(2, name=f"digit_{lane}") for lane in _GROUPS]
        passed = [inside]
        for stage in (3, 4):
            passed.append({lane: Signal.like(count, name=f"inside_{lane}_{stage}")
                           for lane, count in inside.items()})
        with m.If(advance):
            for number in range(len(_GROUPS)):
                ones = before[number][:2]
                m.d.sync += [
                    low[number].eq(first[number] + Mux(
                        ones[1], Mux(ones[0], constants.ahead[3], constants.ahead[2]),
                        Mux(ones[0], constants.ahead[1], constants.ahead[0]))),
                    digit[number].eq(before[number][2:]),
                    high[number].eq(low[number] + (_times(constants.extra, constants.triple,
                                                          digit[number]) << 2)),
                ]
            for earlier, later in itertools.pairwise(passed):
                m.d.sync += [later[lane].eq(earlier[lane]) for lane in inside]
        return high, passed[-1]

    def _lane_targets(self, m, constants, heads, inside, advance):
        """Register 5, the port: the targets of all lanes."""
        out = self.bursts.payload
        with m.If(advance):
            for lane in _LANES:
                head, place = heads[lane // _GROUP], lane % _GROUP
                if not place:
                    m.d.sync += out.targets[lane].eq(head)
                    continue
                chosen = constants.column[place, 0]
                for lines in range(1, place + 1):
                    chosen = Mux(inside[lane] == lines, constants.column[place, lines], chosen)
                m.d.sync += out.targets[lane].eq(head + chosen)
