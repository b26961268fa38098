"""Prediction and bound of scratchpad transfers, in DRAM clocks."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction
from cyclebound.golden.simd.memory_timing import bus_lines_of

__all__ = ["scratchpad_tile", "scratchpad_transfer"]

Words = Annotated[int, Range(1, says="words of a line")]
Lines = Annotated[int, Range(1, says="lines of the tile")]
Gap = Annotated[int, Range(0, says="words between two lines")]
Restart = Annotated[int, Range(0, 1, says="a line of the bus has words of one line only")]
Bus = Annotated[int, Range(1, says="words that move in a clock")]


@prediction(formula="lines of the bus with a word of the tile + 1; count * ceil(words / bus) + 1 "
                    "with restarts", source="Sim-D, section 3.3")
def scratchpad_transfer(*, words: Words, gap: Gap, count: Lines, restart: Restart, bus: Bus) -> int:
    """DRAM clocks from a transfer's first to its last, both included.

    In each clock the scratchpad serves a line of ``bus`` words. Lines are counted from the tile's
    first word, which need not be aligned; those without a word of the tile are skipped and take no
    clock. A word reaches the registers, or is written, in the clock after its line was served.
    With restarts, each line of the tile begins a line of the bus.
    """
    if restart:
        return count * -(-words // bus) + 1
    return bus_lines_of(words, words + gap, count, bus) + 1


@bound(formula="count * (1 + ceil(words / bus)) + 1, or ceil(all / bus) + 1 if that is less and "
               "lines do not restart", source="this project",
       environment="the tile is in the scratchpad")
def scratchpad_tile(*, words: Words, gap: Gap, count: Lines, restart: Restart, bus: Bus) -> int:
    """DRAM clocks of `scratchpad_transfer`, bounded without a walk over the tile.

    Derivation: each line of the tile touches at most one line of the bus more than it fills, and
    all of them no more than lie between the tile's first word and its last, unless each line
    begins a line of the bus.
    """
    if restart:
        return count * -(-words // bus) + 1
    whole = -(-((count - 1) * (words + gap) + words) // bus)
    return min(count * (1 + -(-words // bus)), whole) + 1
