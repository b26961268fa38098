"""Bounds of the accelerator: program load and accesses, in compute cycles.

A DRAM clock has T_d picoseconds (the part's), a compute cycle T_c (the machine's). There is one
clock, the DRAM's: compute cycle *n* begins with DRAM clock ``b(n) = ceil(n T_c / T_d)``, and what
happens in DRAM clock *m* is seen in the first compute cycle that does not begin before it,
``s(m) = floor((m - 1) T_d / T_c) + 1``.

**The crossing.** An access is shown in compute cycle *n*. If its memory is done *k* DRAM clocks
after the first clock of that cycle, its end is seen in cycle ``s(b(n) + k)``, so that it takes
``s(b(n) + k) - n + 1`` compute cycles, both ends included. The clocks' edges repeat after
``T_d / gcd(T_c, T_d)`` compute cycles (5, at 5:8), and ``cross(k)`` is the greatest over these *n*.

What *k* is made of: 5 DRAM clocks in which the accelerator works out what the access moves
(`setup`); from there what the memory takes, by its own bounds; and 1 in which a completion of DRAM
is kept for the compute clock (`resume`).

Ref: Sim-D, sections 3.2, 3.3 and 4.
"""

from math import gcd
from typing import Annotated

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.dram.bounds import tile_2d_issue_delay, tile_issue_delay
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.machine import Machine, machine_named
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.golden.simd.scratchpad_bounds import Restart, scratchpad_transfer

__all__ = ["crossed", "dram_indexed", "dram_snooped", "dram_tile", "dram_tile_after_turn",
           "dram_tile_shared", "program_load", "scratchpad_access", "scratchpad_after_turn",
           "scratchpad_snooped"]

AnyMachine = str | Machine
AnyPart = str | Part
Words = Annotated[int, Range(1, says="words of a line")]
Gap = Annotated[int, Range(0, says="words between two lines")]
Lines = Annotated[int, Range(1, says="lines of the tile")]
Write = Annotated[int, Range(0, 1, says="1 of a store, 0 of a load")]
Indexes = Annotated[int, Range(1, says="active items")]
Rows = Annotated[int, Range(1, says="rows of single banks that the buffer covers")]
Before = Annotated[int, Range(1, says="compute cycles of the other work-group's access by itself")]
Length = Annotated[int, Range(1, INSTRUCTIONS, says="instructions of the program")]

_SETUP = 5          # DRAM clocks from an access's first to its being with its memory
_RESUME = 1         # from a completion of DRAM to the clock in which the compute clock may see it
_TILE = 16          # from taking a tile to its first command [controller_completion]
_INDEXED = 13       # the same of an indexed request, whose indexes come without a pause
_INSTRUCTION_BYTES = 8

_SOURCE = "this project, from Sim-D, Eqs. 15 to 18"
_ALONE = ("no other access is under way, no refresh is owed or falls due meanwhile; the words lie "
          "anywhere")


def _begins(cycle: int, compute_ps: int, dram_ps: int) -> int:
    """The DRAM clock with which a compute cycle begins."""
    return -(-cycle * compute_ps // dram_ps)


def _seen(clock: int, compute_ps: int, dram_ps: int) -> int:
    """The first compute cycle that begins no earlier than a DRAM clock."""
    return (clock - 1) * dram_ps // compute_ps + 1


def crossed(machine: AnyMachine, part: AnyPart, clocks: int) -> int:
    """Compute cycles of an access that is done ``clocks`` DRAM clocks after its first: cross(k).

    Both ends are included; the most over all places of the first in the pattern of both clocks.
    """
    compute, dram = machine_named(machine).compute_ps, part_named(part).tck_ps
    return max(_seen(_begins(cycle, compute, dram) + clocks, compute, dram) - cycle + 1
               for cycle in range(dram // gcd(compute, dram)))


@bound(formula="s(16 + tile_issue_delay(ceil(n / 8)) + 1) + 1", source=_SOURCE,
       environment="no refresh is owed or falls due before the program is read; it begins with any "
                   "burst")
def program_load(*, machine: AnyMachine, part: AnyPart, instructions: Length) -> int:
    """Compute cycles from a kernel's first to the launch of its first work-group, both included.

    Both clocks begin together with a kernel, and its program, a tile of whole bursts, is requested
    in their first cycle: there is one place in the pattern. A work-group is launched in the cycle
    in which the completion is seen.
    """
    bursts = -(-_INSTRUCTION_BYTES * instructions // BURST_BYTES)
    done = _TILE + tile_issue_delay.function(part=part, bursts=bursts, write=0)
    return _seen(done + _RESUME, machine_named(machine).compute_ps, part_named(part).tck_ps) + 1


def _tile_delay(part: AnyPart, words: int, gap: int, count: int, write: int) -> int:
    return tile_2d_issue_delay.function(part=part, words=words, period=words + gap, count=count,
                                        write=write)


@bound(formula="cross(5 + 16 + tile_2d_issue_delay + 1)", source=_SOURCE, environment=_ALONE)
def dram_tile(*, machine: AnyMachine, part: AnyPart, words: Words, gap: Gap, count: Lines,
              write: Write) -> int:
    """Compute cycles of an access to a tile in DRAM, from the first that shows it on.

    To and including the first cycle in which its work-group may issue. The tile is what is left of
    it in its buffer, and goes as one request: its lines follow each other on the chip, or lie three
    words apart at least. ``controller_completion`` has the 16 clocks before its first command.
    """
    return crossed(machine, part, _SETUP + _TILE + _tile_delay(part, words, gap, count, write)
                   + _RESUME)


@bound(formula="cross(5 + 16 + tile_2d_issue_delay + 1)", source=_SOURCE, environment=_ALONE)
def dram_snooped(*, machine: AnyMachine, part: AnyPart, words: Words, gap: Gap, count: Lines,
                 write: Write) -> int:
    """Compute cycles of a snoopy access, as `dram_tile` counts them; a whole buffer is one line.

    Indexes are compared with all words of a beat while it passes, and lanes take their words in
    that clock, or have given them when DRAM wants them; so nothing is added to the tile's time,
    whatever the indexes are and whichever lanes are active (Sim-D, section 3.2.3).
    """
    return crossed(machine, part, _SETUP + _TILE + _tile_delay(part, words, gap, count, write)
                   + _RESUME)


@bound(formula="cross(5 + 13 + (items - b) + indexed_issue_delay(b, rows) + 1)", source=_SOURCE,
       environment=_ALONE)
def dram_indexed(*, machine: AnyMachine, part: AnyPart, indexes: Indexes, rows: Rows, write: Write
                 ) -> int:
    """Compute cycles of an access index by index, as `dram_tile` counts them.

    b = ``indexes`` is the number of active items.
    Items are examined one in a DRAM clock, active or not. Each that is not is a gap, which costs a
    clock at most (`controller_completion_indexed`). All indexes lie in their buffer.
    """
    gaps = machine_named(machine).items - indexes
    return crossed(machine, part, _SETUP + _INDEXED + gaps + indexed_issue_delay.function(
        part=part, bursts=indexes, rows=rows, write=write) + _RESUME)


@bound(formula="cross(5 + max(16, 2 + other's tile_2d_issue_delay) + nRFC + tile_2d_issue_delay "
               "+ 1)", source=_SOURCE,
       environment="the other work-group may have a tile of its kind under way in any cycle, under "
                   "any policy; refreshes fall due in any cycle, at most one in three tiles' time")
def dram_tile_shared(*, machine: AnyMachine, part: AnyPart, words: Words, gap: Gap, count: Lines,
                     write: Write, other_words: Words, other_gap: Gap, other_count: Lines,
                     other_write: Write) -> int:
    """`dram_tile` if a second work-group has accesses of its own.

    At most one access is before this one: each work-group has one, and DRAM serves them in the
    order of their commits. This work-group issued nothing before the cycle in which the other's
    access was shown, nor before that in which its own last one was over, and its access is shown
    D + 1 cycles (decode and execute stages, and one) after it issued. So the other's request was
    taken, and what that one may have waited for was completed, ``floor((D + 1) T_c / T_d)`` DRAM
    clocks before this one is taken, or earlier: 14, with D = 8 at 5:8. The other one is then
    completed 16 - 14 clocks and its issue delay after this one is taken, at the latest. This one's
    first command is chosen 16 clocks after it is taken, or then. One refresh may go before either.
    """
    unit, device = machine_named(machine), part_named(part)
    earlier = (unit.decode_stages + unit.execute_stages + 1) * unit.compute_ps // device.tck_ps
    other = _tile_delay(part, other_words, other_gap, other_count, other_write)
    before = max(_TILE, _TILE - earlier + other) + device.nRFC
    return crossed(machine, part, _SETUP + before + _tile_delay(part, words, gap, count, write)
                   + _RESUME)


@bound(formula="cross(5 + scratchpad_transfer)", source=_SOURCE,
       environment="any policy but access: the other work-group has a scratchpad of its own, and "
                   "may do anything")
def scratchpad_access(*, machine: AnyMachine, part: AnyPart, words: Words, gap: Gap, count: Lines,
                      restart: Restart) -> int:
    """Compute cycles of a transfer between scratchpad and registers, as `dram_tile` counts them.

    `scratchpad_transfer` has the clocks of the transfer.
    """
    return crossed(machine, part, _SETUP + scratchpad_transfer.function(
        words=words, gap=gap, count=count, restart=restart,
        bus=machine_named(machine).scratchpad_bus))


def _after_turn(machine: AnyMachine, part: AnyPart, before: int, clocks: int) -> int:
    """Compute cycles of an access that is done ``clocks`` DRAM clocks after its turn has come and
    it is set up; the most over all places in the pattern of both clocks.

    Before it goes one access of the other work-group at most, by ``before`` compute cycles from
    its own turn on. This work-group issued nothing before the cycle in which the other's access was
    shown, nor before that in which its own last one was over, which may have been the other's turn;
    and its access is shown D + 1 cycles after it issued. So if it is shown in cycle n, the other's
    turn was in n - (D + 1) or earlier, and the other is over in ``n + before - D - 2``.
    """
    unit, device = machine_named(machine), part_named(part)
    compute, dram = unit.compute_ps, device.tck_ps
    wait = before - (unit.decode_stages + unit.execute_stages) - 2
    return max(_seen(max(_begins(cycle, compute, dram) + _SETUP,
                         _begins(cycle + wait, compute, dram)) + clocks, compute, dram) - cycle + 1
               for cycle in range(dram // gcd(compute, dram)))


@bound(formula="max over n of s(max(b(n) + 5, b(n + before - D - 2)) + scratchpad_transfer) - n "
               "+ 1", source=_SOURCE,
       environment="policy access; the other work-group's accesses take before compute cycles at "
                   "most, from the cycle that shows them or, if that is later, from their turn to "
                   "the cycle that shows their end, both included")
def scratchpad_after_turn(*, machine: AnyMachine, part: AnyPart, words: Words, gap: Gap,
                          count: Lines, restart: Restart, before: Before) -> int:
    """`scratchpad_access` under policy access, where scratchpads and DRAM take turns.

    The other's access, of either kind, was shown D + 1 cycles (decode and execute stages, and one)
    before this one or earlier, and so was its turn, if it had to wait for this work-group's last
    one. ``before`` is `scratchpad_access` for a transfer of its scratchpad; for a tile in DRAM
    `dram_tile_shared` with no clock for another tile, so ``cross(5 + 16 + nRFC +
    tile_2d_issue_delay + 1)``, as a refresh may go before it.
    """
    return _after_turn(machine, part, before, scratchpad_transfer.function(
        words=words, gap=gap, count=count, restart=restart,
        bus=machine_named(machine).scratchpad_bus))


@bound(formula="max over n of s(max(b(n) + 5, b(n + before - D - 2)) + 16 + nRFC "
               "+ tile_2d_issue_delay + 1) - n + 1", source=_SOURCE,
       environment="policy access; the other work-group has transfers of its scratchpad only, "
                   "which take before compute cycles at most, as scratchpad_access has them; "
                   "refreshes fall due in any cycle, at most one in a tile's time")
def dram_tile_after_turn(*, machine: AnyMachine, part: AnyPart, words: Words, gap: Gap,
                         count: Lines, write: Write, before: Before) -> int:
    """`dram_tile` under policy access, if the other work-group's scratchpad may go before it.

    It is with DRAM's controller in the first clock of the cycle in which the other's access is
    over, if it is set up by then. `scratchpad_after_turn` says when that is.
    """
    return _after_turn(machine, part, before, _TILE + part_named(part).nRFC
                       + _tile_delay(part, words, gap, count, write) + _RESUME)


@bound(formula="cross(5 + ceil(words / bus) + 1)", source=_SOURCE,
       environment="any policy but access, as of scratchpad_access")
def scratchpad_snooped(*, machine: AnyMachine, part: AnyPart, words: Words) -> int:
    """Compute cycles of a snoopy access to all ``words`` of a scratchpad buffer, as `dram_tile`
    counts them.

    The buffer passes as one line, and indexes are compared as in `dram_snooped`.
    """
    return crossed(machine, part, _SETUP + scratchpad_transfer.function(
        words=words, gap=0, count=1, restart=0, bus=machine_named(machine).scratchpad_bus))
