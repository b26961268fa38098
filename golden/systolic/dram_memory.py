"""The accelerator's memory in a DRAM: how its transfers are cut, and when their beats move.

A transfer is cut into tiles of ``bursts`` bursts, where these end in the buffer; the first and
last tile may be shorter. A tile is asked for as soon as one of ``slots`` slots is free. Beats of a
load move when their tile is complete; a tile of a store is asked for when all of its beats have
moved, and the last beat is taken when it is in DRAM.

**One tile.** A request is on offer in the cycle after the transfer's; it is granted ``wait``
cycles later (`client_grant`), and completed 16 cycles and an issue delay D after that. Two more
cycles bring the first beat of a load from its slot.

**Tiles in a row.** The next grant of a client whose request waits is a turn after the last one
(`client_turn`), or a period, where clients have windows. So a tile more takes a turn more, whatever
it has of words: a transfer that begins with the last beat of a tile, or a store that ends with the
first of one, waits a whole tile for one beat.

**Slots.** A tile whose slot is not free is asked for later than its turn: when the last beat of the
tile has moved that was there before. That costs nothing if the slots' other tiles take as long to
move as a tile takes to come, refreshes included.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, NamedTuple

from cyclebound.golden.bound import NotCovered, Range, bound, check_count
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.client_bounds import FRONT, START, client_grant, client_turn
from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.systolic.accelerator import Beats, Memory
from cyclebound.golden.systolic.accelerator_layout import Operation

__all__ = ["DramTile", "DramTransfers", "Sharing", "behind_dram", "dram_transfer",
           "dram_transfer_refreshed", "tiles_of"]

Bytes = Annotated[int, Range(1, BURST_BYTES, says="bytes of a beat, a divisor of 64")]
Bursts = Annotated[int, Range(1, says="bursts of a tile")]
Slots = Annotated[int, Range(2, says="tiles that are kept")]
First = Annotated[int, Range(0, says="beats of the first tile before the transfer's first one")]
Write = Annotated[int, Range(0, 1, says="0 of a load, 1 of a store")]
OtherBursts = Annotated[int, Range(0, says="bursts of the other client's longest tile; 0: silent")]

_READ = 2  # cycles from a tile's completion to its first beat
_DONE = 1  # from a completion until it is seen


class DramTile(NamedTuple):
    """A tile of a transfer: its first beat's number in the buffer, its beats, and the bursts that
    they lie in."""

    beat: int
    beats: int
    bursts: int


def tiles_of(*, beat: int, count: int, beat_bytes: int, bursts: int = 16) -> Iterator[DramTile]:
    """The tiles of a transfer of ``count`` beats from ``beat`` on, in order.

    Raises `NotCovered` unless ``beat_bytes`` divide a burst's, and all others are counts.
    """
    for thing, value in (("beat bytes", beat_bytes), ("bursts", bursts), ("count", count)):
        check_count(thing, value)
    check_count("beat", beat, least=0)
    if BURST_BYTES % beat_bytes:
        raise NotCovered(f"beat bytes must divide {BURST_BYTES}, not {beat_bytes}")
    burst = BURST_BYTES // beat_bytes
    end = beat + count
    while beat < end:
        last = min(end, (beat // (bursts * burst) + 1) * bursts * burst)
        yield DramTile(beat, last - beat, (last - 1) // burst - beat // burst + 1)
        beat = last


@dataclass(frozen=True)
class Sharing:
    """How the accelerator's requests share a controller.

    Attributes
    ----------
    part : Part
        The DRAM.
    others : tuple of int or None
        The longest request of each other client, as of `client_grant`.
    period : int or None
        Cycles of all clients' windows; None: turns.
    mappings : bool
        Whether buffers may be mapped meanwhile.
    before : int
        The longest request of other clients before; a refresh may have been put off for it.
    """

    part: Part
    others: tuple[int | None, ...] = ()
    period: int | None = None
    mappings: bool = False
    before: int = 0

    @property
    def wait(self) -> int:
        """Clocks from taking a request to 16 before its first command, without the first: in
        windows, with the refresh that has room in one. Raises as `client_grant` does."""
        if self.period is not None:
            check_count("period", self.period)
            return self.period + max(FRONT, START + self.part.nRFC) - FRONT
        return client_grant(part=self.part, others=self.others, refreshes=False,
                            mappings=self.mappings)

    def turn(self, own: int) -> int:
        """Clocks from a grant to the next one, as of `client_turn`, which says what it raises."""
        if self.period is not None:
            return self.period
        return client_turn(part=self.part, others=self.others, own=own, mappings=self.mappings)

    def refreshed(self, cycles: int, window: int) -> int:
        """``cycles`` with the refreshes that may fall due in a window, which they make longer.

        The window of a job: its own cycles, and the longest request before it; why no more, see
        `golden.system.fabric`.
        """
        if self.period is not None:
            return cycles
        left = self.part.nREFI - self.part.nRFC
        return cycles + -(-window // left) * self.part.nRFC


def _cycles(sharing: Sharing, tiles: Sequence[DramTile], write: int, slots: int, *,
            refreshes: bool) -> int:
    """Cycles from a request to its last beat, both included."""
    delays = {tile.bursts: tile_issue_delay.function(part=sharing.part, bursts=tile.bursts,
                                                     write=write) for tile in tiles}
    wait = sharing.wait
    grants: list[int] = []
    over: list[int] = []   # in which cycles they are completed
    moved: list[int] = []  # in which cycles their last beats have moved to or from their slots
    for number, tile in enumerate(tiles):
        before = number - slots
        start = moved[-1] + 1 if moved else 1
        if write:
            moved.append(max(start, over[before] + _DONE if before >= 0 else 0) + tile.beats - 1)
            offered = moved[-1] + 1
        else:
            offered = moved[before] + 1 if before >= 0 else 1
        turn = grants[-1] + sharing.turn(delays[tiles[number - 1].bursts]) if grants else 0
        grants.append(max(offered + wait, turn))
        over.append(grants[-1] + FRONT + delays[tile.bursts])
        if not write:
            moved.append(max(start, over[-1] + _DONE) + tile.beats - 1)
    cycles = 1 + (over[-1] + _DONE if write else moved[-1] + _READ - _DONE)
    return sharing.refreshed(cycles, max(delays.values()) + grants[-1] - 1 + START
                             ) if refreshes else cycles


def _transfer(part: str | Part, count: int, first: int, write: int, size: int, bursts: int,
              slots: int, other_bursts: int, other_write: int, *, refreshes: bool) -> int:
    device = part_named(part)
    tiles = list(tiles_of(beat=first, count=count, beat_bytes=size, bursts=bursts))
    check_count("slots", slots, least=2)
    check_count("bursts of the other client", other_bursts, least=0)
    sharing = Sharing(device, (tile_issue_delay.function(
        part=device, bursts=other_bursts, write=other_write),) if other_bursts else ())
    cycles = _cycles(sharing, tiles, write, slots, refreshes=refreshes)
    if not refreshes:
        return cycles
    memory = _promised(device, size, bursts, slots, sharing.others)
    return min(cycles, memory.delay + (count - 1) * memory.interval + 1)


@functools.cache
def _promised(device: Part, size: int, bursts: int, slots: int, others: tuple[int | None, ...]
              ) -> Memory:
    return behind_dram(device, beat_bytes=size, clocks=1, bursts=bursts, slots=slots, others=others)


@dataclass(frozen=True)
class DramTransfers:
    """Each transfer of a list by its own tiles, without refreshes: they count once for a list.

    Attributes
    ----------
    sharing : Sharing
        How its requests share a controller.
    beat_bytes, bursts, slots : int
        As of `behind_dram`.
    """

    sharing: Sharing
    beat_bytes: int
    bursts: int = 16
    slots: int = 8

    def transfer(self, command: Mapping[str, int]) -> int:
        """Cycles of the transfer of a command, as `transfer_cycles` counts, at most."""
        write = int(command["operation"] == Operation.STORE)
        tiles = list(tiles_of(beat=command["memory"], count=command["count"],
                              beat_bytes=self.beat_bytes, bursts=self.bursts))
        return 1 + _cycles(self.sharing, tiles, write, self.slots, refreshes=False)

    def with_refreshes(self, cycles: int) -> int:
        """The cycles of a list with all refreshes.

        Each delays the list by nRFC at most. They fall due from the grant before its first request,
        a longest request earlier, to its end.
        """
        sharing = self.sharing
        own = (tile_issue_delay(part=sharing.part, bursts=self.bursts, write=write)
               for write in (0, 1))
        longest = max([*own, *filter(None, sharing.others), sharing.before])
        return self.sharing.refreshed(cycles, longest + cycles)


_SHARED = ("one other client may have a tile of at most its longest in any cycle; both buffers "
           "begin at a burst, and nothing is mapped; the accelerator takes and offers a beat in "
           "each cycle")


@bound(formula="the tiles' grants, each a turn after the last or a wait after its offer, and their "
               "beats, in order", source="this project",
       environment=_SHARED + "; no refresh is owed, under way or falls due meanwhile")
def dram_transfer(*, part: str | Part, count: Beats, first: First, write: Write, size: Bytes,
                  bursts: Bursts, slots: Slots, other_bursts: OtherBursts = 0,
                  other_write: Write = 0) -> int:
    """Cycles from the request of a load or a store to its last beat, both included.

    See the module's docstring. ``size`` are bytes of a beat, ``bursts`` and
    ``slots`` those of the accelerator's memory.
    """
    return _transfer(part, count, first, write, size, bursts, slots, other_bursts,
                     other_write, refreshes=False)


@bound(formula="dram_transfer + ceil((D + last grant + 6) / (nREFI - nRFC)) * nRFC, or what "
               "behind_dram promises, if that is less",
       source="this project", environment=_SHARED + "; refreshes fall due in any cycle")
def dram_transfer_refreshed(*, part: str | Part, count: Beats, first: First, write: Write,
                            size: Bytes, bursts: Bursts, slots: Slots,
                            other_bursts: OtherBursts = 0, other_write: Write = 0) -> int:
    """`dram_transfer` with refreshes. They delay it that fall due after the grant before its first
    tile's, a longest tile earlier, and not after the last one's start, as in `client_grant`. Where
    beats take longer than tiles, most of them delay none: see `behind_dram`."""
    return _transfer(part, count, first, write, size, bursts, slots, other_bursts,
                     other_write, refreshes=True)


def behind_dram(part: Part | str, *, beat_bytes: int, clocks: int, bursts: int = 16, slots: int = 8,
                others: Sequence[int | None] = (), period: int | None = None,
                mappings: bool = False) -> Memory:
    """A `Memory` that is never faster than a DRAM in its worst case.

    Parameters
    ----------
    part : Part or str
        The DRAM.
    beat_bytes : int
        Of the accelerator's beats, a divisor of 64.
    clocks : int
        DRAM clocks in a cycle of the accelerator.
    bursts, slots : int
        Of a tile, and the tiles that are kept.
    others : sequence of int or None
        The longest request of each other client, as of `client_grant`.
    period : int or None
        Cycles of all clients' windows; None: turns.
    mappings : bool
        Whether buffers may be mapped meanwhile.

    Raises
    ------
    NotCovered
        For ``beat_bytes`` that do not divide 64, and for a client without a longest request.
    ValueError
        For an unknown part.

    Notes
    -----
    In clocks, with i the interval, b the beats of a tile, D its longest issue delay, T its turn:
    the beats of a tile take i b at least, so that tiles keep up if ``i b >= x T``, where x =
    nREFI / (nREFI - nRFC) has room for refreshes. What a tile that is short of beats takes longer
    than these do is E, at most: of one with q bursts, its turn less ``i`` for each beat that it has
    more than one. So ``delay = 18 + wait + D + max(clocks, E) + R``, where R has the refreshes of
    a time in which there is one tile more. Slots cost nothing if ``delay <= (slots - 1) i b``. The
    interval is the least that satisfies both. In windows, a turn is a period, x is 1, and the
    refresh that a window has room for is in the wait.
    """
    sharing = Sharing(part_named(part), tuple(others), period, mappings)
    for thing, value, least in (("clocks", clocks, 1), ("slots", slots, 2)):
        check_count(thing, value, least=least)
    tile = next(tiles_of(beat=0, count=bursts * BURST_BYTES, beat_bytes=beat_bytes, bursts=bursts))
    turns: list[int] = []  # by bursts of a tile
    longest = 0
    for touched in range(1, bursts + 1):
        delay = max(tile_issue_delay(part=sharing.part, bursts=touched, write=write)
                    for write in (0, 1))
        longest = max(longest, delay)
        turns.append(sharing.turn(delay))
    turn, wait = max(turns), sharing.wait
    keeps_up, refreshes = Fraction(turn), Fraction(0)
    if period is None:
        left = sharing.part.nREFI - sharing.part.nRFC
        keeps_up = Fraction(sharing.part.nREFI, left) * turn
        refreshes = sharing.part.nRFC * (1 + Fraction(longest + wait + turn + START, left))
    interval = 0
    while True:
        interval += 1
        beat = interval * clocks
        short = max(taken - more * (tile.beats // bursts) * beat
                    for more, taken in enumerate(turns))  # than a burst
        most = FRONT + _READ + wait + longest + max(clocks, short) + refreshes
        if tile.beats * beat >= keeps_up and (slots - 1) * tile.beats * beat >= most:
            return Memory(ceil(most / clocks), interval)
