"""A program to bound: its words, its names, and what its author says about its loops.

In assembly language, a comment in the line of a loop's head, or in its label's, says how often the
head is executed: ``# bound 8`` for each entry, ``# total 36`` in one execution of the function that
is analysed.
"""

import bisect
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cyclebound.tools.shmac.assembler import assemble, placed

__all__ = ["Code", "LoopFact", "WcetError", "assembled"]


class WcetError(ValueError):
    """A program without a bound: why, and at which address."""


@dataclass(frozen=True)
class LoopFact:
    """What is known about a loop, named by its *head*: the instruction it is entered at.

    Attributes
    ----------
    bound : int or None
        How often the head is executed at most, each time the loop is entered.
    total : int or None
        The same in one execution of the function that is analysed, all entries together.
    """

    bound: int | None = None
    total: int | None = None


@dataclass(frozen=True)
class Code:
    """Instructions by address.

    Attributes
    ----------
    words : mapping of int to int
        Addresses of words, with the words; data may be among them.
    symbols : mapping of str to int
        Names of functions and labels.
    facts : mapping of int to LoopFact
        Heads of loops, by address.
    """

    words: Mapping[int, int]
    symbols: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[int, LoopFact] = field(default_factory=dict)

    @functools.cached_property
    def _named(self) -> list[tuple[int, str]]:
        return sorted((address, name) for name, address in self.symbols.items())

    def word(self, address: int, why: str) -> int:
        """The instruction at an address. Raises `WcetError` if the program has none there."""
        if address not in self.words:
            raise WcetError(f"{why} leads to {address:#x}, where the program has no instruction")
        return self.words[address]

    def place(self, address: int) -> str:
        """An address with the name before it: ``sort+0x10 (0x110)``."""
        at = bisect.bisect_right(self._named, address, key=lambda named: named[0]) - 1
        if at < 0:
            return f"{address:#x}"
        start, name = self._named[at]
        return f"{name}{f'+{address - start:#x}' if address > start else ''} ({address:#x})"


_FACT = re.compile(r"\b(bound|total)\s+([^\s,:;]+)")
_COUNT = re.compile(r"[1-9][0-9]{0,11}")


def assembled(text: str, *, origin: int = 0, symbols: Mapping[str, int] | None = None) -> Code:
    """A program in assembly language, with what its comments say of loops.

    Raises `cyclebound.tools.shmac.assembler.AssemblyError`, and `WcetError` for such a comment that
    has no number.
    """
    words = assemble(text, origin=origin, symbols=symbols)
    where = placed(text, origin=origin, symbols=symbols)
    facts: dict[int, LoopFact] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for what, count in _FACT.findall(line.partition("#")[2]):
            if not _COUNT.fullmatch(count):
                raise WcetError(f"line {number}: {what} takes a whole number of at least 1, not "
                                f"{count!r}")
            at = where.lines[number]
            facts[at] = replace(facts.get(at, LoopFact()), **{what: int(count)})
    return Code({origin + 4 * place: word for place, word in enumerate(words)}, where.labels, facts)
