"""Choices by number from a row of words.

No block: part of the SIMD accelerator's transfer unit and compute unit, whose models, testbenches
and tests cover it; by itself, tests/test_selection.py.
"""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

__all__ = ["Selection"]


class Selection(wiring.Component):
    """Several words at a time out of one row, each by its number.

    A component, so that the row is a signal: simulators put an expression for it together again in
    each of the choices.

    Latency: none.

    Parameters
    ----------
    words : int
        Words of the row, at least 2.
    width : int
        Bits of a word.
    choices : int
        Words that are chosen at a time.

    Raises `ValueError` for fewer than two words.

    Members
    -------
    row : In(words times the next power of two from ``width`` and 32)
        The words. A place in it is a number and zeros, so that nothing has to be multiplied.
    number : In(choices times ceil_log2(words))
        Numbers. That of no word chooses 0.
    chosen : Out(choices times width)
        The words with these numbers.
    """

    def __init__(self, *, words, width, choices):
        if words < 2:
            raise ValueError(f"words must be at least 2, not {words!r}")
        # a simulator's whole words: the rest of a shorter place might be in the next one
        self._stride = max(32, 1 << ceil_log2(width))
        super().__init__({
            "row": In(data.ArrayLayout(unsigned(self._stride), words)),
            "number": In(data.ArrayLayout(unsigned(ceil_log2(words)), choices)),
            "chosen": Out(data.ArrayLayout(unsigned(width), choices)),
        })

    def elaborate(self, platform):
        m = Module()
        row = self.row.as_value()
        m.d.comb += [word.eq(row.word_select(number, self._stride))
                     for number, word in zip(self.number, self.chosen, strict=True)]
        return m
