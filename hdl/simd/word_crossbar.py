"""Crossbar: words to the places that they name.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Const, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.selection import Selection

__all__ = ["WordCrossbar"]


class WordCrossbar(wiring.Component):
    """At each place the word that selects it, the last one where several do.

    A place encodes its one-hot bits as a number, and indexes the words with it: simulators do that
    in one step, where a multiplexer for each bit takes as many as words.

    Latency: none.

    Parameters
    ----------
    words, places : int
        How many there are.
    fields : dict of str to int
        Fields of a word that go to its place, with their bits.

    Members
    -------
    select : In(places) times words
        One-hot, or 0 for a word that goes nowhere.
    NAME : In(bits) times words
        A field of the words.
    selected : Out(places)
        Places that a word goes to.
    placed_NAME : Out(bits) times places
        That field of the word at each place; any word's at places where none is.
    """

    def __init__(self, *, words, places, fields):
        self.words, self.places, self.fields = words, places, dict(fields)
        super().__init__({
            "select": In(places).array(words), "selected": Out(places),
            **{name: In(bits).array(words) for name, bits in fields.items()},
            **{f"placed_{name}": Out(data.ArrayLayout(unsigned(bits), places))
               for name, bits in fields.items()},
        })

    def elaborate(self, platform):
        m = Module()
        places = self.places
        taken, numbers = Const(0, places), [Const(0, places)] * ceil_log2(self.words)
        for number, select in reversed(list(enumerate(self.select))):
            wins, later = (Signal(places, name=f"{name}_{number}") for name in ("wins", "later"))
            m.d.comb += [wins.eq(select & ~taken), later.eq(select | taken)]
            taken = later
            numbers = [of | wins if number >> bit & 1 else of for bit, of in enumerate(numbers)]
        bits = [Signal(places, name=f"number_{bit}") for bit in range(len(numbers))]
        m.d.comb += [self.selected.eq(taken),
                     *(bit.eq(of) for bit, of in zip(bits, numbers, strict=True))]
        for name, width in self.fields.items():
            m.submodules[f"select_{name}"] = selection = Selection(
                words=self.words, width=width, choices=places)
            m.d.comb += [
                *(word.eq(value) for word, value in
                  zip(selection.row, getattr(self, name), strict=True)),
                *(number.eq(Cat(bit[place] for bit in bits))
                  for place, number in enumerate(selection.number)),
                getattr(self, f"placed_{name}").eq(selection.chosen),
            ]
        return m
