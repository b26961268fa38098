"""Words that move in a cycle: of a beat of DRAM, or of a line of a scratchpad's bus.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from itertools import zip_longest

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import TARGET_BITS, WORD_BITS
from cyclebound.hdl.interfaces import Strobe

__all__ = ["MovingWord", "MovingWords"]


class MovingWord(data.Struct):
    """A word, if it is ``valid``, and its target. ``value`` is 0 while the word is asked for."""

    valid: 1
    target: TARGET_BITS
    value: WORD_BITS


class MovingWords(wiring.Component):
    """Multiplexer, so that words of both take the same paths to the registers and back.

    Latency: none.

    Parameters
    ----------
    beat, line : data.StructLayout
        Of a beat and of a line: ``enable``, ``targets`` and, unless they are asked for, ``words``.

    Members
    -------
    from_scratchpad : In(1)
        The line's words move, else the beat's.
    beat, line : In(Strobe)
        Both.
    words : Out(MovingWord) times the longer one's words
        Those that move.
    """

    def __init__(self, *, beat, line):
        count = max(layout.members["targets"].length for layout in (beat, line))
        super().__init__({"from_scratchpad": In(1), "beat": In(Strobe(beat)),
                          "line": In(Strobe(line)), "words": Out(MovingWord).array(count)})

    def elaborate(self, platform):
        m = Module()
        for word, of_beat, of_line in zip_longest(self.words, _words(self.beat),
                                                  _words(self.line)):
            if of_beat is None or of_line is None:
                chosen = self.from_scratchpad if of_line is not None else ~self.from_scratchpad
                m.d.comb += word.eq(Mux(chosen, of_beat if of_line is None else of_line, 0))
            else:
                m.d.comb += word.eq(Mux(self.from_scratchpad, of_line, of_beat))
        return m


def _words(strobe):
    """Of each word whether it moves, its target, and its value if it has one."""
    payload = strobe.payload
    values = payload.words if "words" in payload.shape().members else [
        None] * len(payload.targets)
    return [Cat(strobe.valid & payload.enable[number], target, *([] if value is None else [value]))
            for number, (target, value) in enumerate(zip(payload.targets, values, strict=True))]
