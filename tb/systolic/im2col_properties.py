"""Bound checker of the address generator for convolutions: it reads its ports and drives none.

Where the generator adds from word to word, the checker numbers the loops and multiplies: it says of
each word directly where it is.

Ref: thesis on AI accelerators, chapter 4.2; golden/systolic/im2col_layout.py.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal, signed

from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["Im2colCheck", "Im2colOrderProof"]

_LOOPS = ("across", "down", "tile", "kernel", "planes", "strips")  # the innermost first


class Im2colCheck(Watcher):
    """Each word of a command comes once, in order, two cycles after it the first one, and where and
    what it is follows from its number in each loop.

    Assumes commands whose counts are at least 1.

    Parameters
    ----------
    target : Im2col
        The generator, or a component with the same members.
    places : bool
        Where a word is, and which of its elements exist, is looked at, too.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    now : View
        The command that is walked.
    walking : Signal
        Words are to enter the output.
    number : dict of str to Signal
        By loop, the number of the next one of them.
    """

    def __init__(self, target, *, places=True):
        super().__init__(target)
        self.size, self._places = target.size, places
        self.now, self.walking = Signal.like(self.command.payload), Signal()
        self.number = {name: Signal(16, name=f"number_{name}") for name in _LOOPS}

    def elaborate(self, platform):
        m = Module()
        command, words, number = self.command, self.words, self.number
        now, offered = self.now, Signal()
        move, begins = Signal(), Signal()
        m.d.comb += [move.eq(~words.valid | words.ready),
                     begins.eq(command.valid & command.ready)]
        ends = {name: number[name] == now[name] - 1 for name in _LOOPS if name != "tile"}
        ends["tile"] = (number["tile"] + 1) * self.size >= now.run
        with m.If(begins):
            m.d.sync += [now.eq(command.payload), self.walking.eq(1),
                         *(each.eq(0) for each in number.values())]
        with m.Elif(self.walking & move):
            inner = 1
            for name in _LOOPS:
                with m.If(inner):
                    m.d.sync += number[name].eq(number[name] + 1)
                    with m.If(ends[name]):
                        m.d.sync += number[name].eq(0)
                inner &= ends[name]
            with m.If(inner):
                m.d.sync += self.walking.eq(0)

        expected = Signal.like(words.payload)
        with m.If(move):
            m.d.sync += offered.eq(self.walking)
            self._place(m, now, ends, expected)
        claim_kept(m, "word", words, Assert)
        payload, given = words.payload, command.payload
        m.d.sync += [
            Assume(~command.valid | Cat(given[name] != 0 for name in (
                "across", "down", "kernel", "planes", "strips", "run")).all(), "a count is 0"),
            Assert(command.ready == ~self.walking,
                   "a command is refused without a reason, or taken before its time"),
            Assert(words.valid == offered, "a word is missing, or one too many"),
            Assert(~offered | ((payload.last == expected.last)
                               & (payload.final == expected.final)), "last, final"),
            Cover(offered & payload.final & ~payload.lanes.all(), "the last word of a command"),
        ]
        if self._places:
            m.d.sync += [
                Assert(~offered | ((payload.address == expected.address)
                                   & (payload.offset == expected.offset)), "a word is misplaced"),
                Assert(~offered | (payload.lanes == expected.lanes),
                       "not the elements that exist"),
            ]
        return m

    def _place(self, m, now, ends, expected):
        """Where the next word is."""
        number, digits = self.number, (self.size - 1).bit_length()
        column, row = Signal(signed(34)), Signal(signed(34))
        run = number["tile"] * self.size
        m.d.comb += [column.eq(now.start + run + number["across"] * now.step),
                     row.eq(now.top + number["kernel"] + number["down"] * now.stride)]
        line = (now.origin + number["planes"] * now.plane_step + number["kernel"] * now.pitch
                + number["down"] * now.jump)
        inside = (row >= 0) & (row < now.height)
        lanes = [inside & (column + i >= 0) & (column + i < now.elements) & (run + i < now.run)
                 for i in range(self.size)]
        tile = ends["across"] & ends["down"]
        m.d.sync += [
            expected.address.eq(line + (column >> digits)), expected.offset.eq(column[:digits]),
            expected.lanes.eq(Cat(*lanes)), expected.last.eq(tile),
            expected.final.eq(Cat(*ends.values()).all()),
        ]


class Im2colOrderProof(Im2colCheck):
    """`Im2colCheck` without places, and what holds inside: each loop's counter says how many are
    left, of the number that the checker has counted.

    Parameters
    ----------
    target : Im2col
        The generator itself.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target, places=False)
        self._loops = target.loops

    def elaborate(self, platform):
        m = super().elaborate(platform)
        loops, now, number = self._loops, self.now, self.number
        m.d.sync += Assert(loops.busy == self.walking, "invariant: it walks")
        facts = [(loops.current == now, "the command")]
        for name, _ in loops.remaining.shape():
            left = loops.remaining[name]
            facts.append(((left != 0) & (number[name] + left == now[name]), name))
        run = loops.run_left
        facts.append(((run != 0) & (number["tile"] * self.size + run == now.run), "the run"))
        m.d.sync += [Assert(~self.walking | fact, f"invariant: {says}") for fact, says in facts]
        return m
