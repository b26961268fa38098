"""How long the DRAM controller's AXI4 port takes for a burst.

What a client waits for while bursts of others are served, its own stalls, and what the words of a
write take to arrive are not in it: one burst is under way at a time. `axi_read` and `axi_write`
are bounds on any burst of this length, whatever refreshes do; `axi_read_alone` and the others
say what exactly this burst takes if no refresh is under way or falls due.
"""

import functools
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, check_count, prediction
from cyclebound.golden.dram.axi_port import DATA_BYTES, MOST_TRANSFERS, PAGE_BYTES
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["First", "axi_read", "axi_read_alone", "axi_refresh", "axi_refused_read",
           "axi_refused_write", "axi_write", "axi_write_alone", "first_of",
           "longest_axi_read", "longest_axi_write", "most_dram_bursts"]

_ANYTHING = ("refreshes fall due in any cycle; other bursts wait, or have been served before; the "
             "burst lies anywhere, and is legal or not")

Transfers = Annotated[int, Range(1, MOST_TRANSFERS, says="transfers of the burst")]
Size = Annotated[int, Range(0, 7, says="AxSIZE: log2 of a transfer's bytes")]
Partial = Annotated[int, Range(0, 1, says="whether some transfer has part of a word")]
Beyond = Annotated[int, Range(0, 1, says="whether it is legal, but beyond the device")]
First = Annotated[int, Range(0, says="the first burst of DRAM, see `first_of`: which bank of its "
                             "pair, 0 or 1, where a row of a pair holds 4 KiB")]

_PAGE_BURSTS = PAGE_BYTES // BURST_BYTES


def _places(part: Part) -> int:
    """How many places of a first burst make a difference: see `first_of`."""
    return 2 if 2 * part.bursts_per_row % _PAGE_BURSTS == 0 else part.bursts_per_sweep


def first_of(part: Part, burst: int) -> int:
    """What matters of the place of an AXI burst whose first DRAM burst has this number.

    No burst leaves its 4 KiB, which are 64 bursts of DRAM. Where a row of a pair of banks holds a
    multiple of them, it only matters which of the two banks has the first: 0 or 1. In shorter rows
    other banks, or rows, follow on: its number in a row of all banks.
    """
    return burst % _places(part)


@functools.cache
def _page_delay(part: Part, bursts: int, first: int, write: bool) -> int:
    """Issue delay of so many bursts from ``first`` on, which lie within 4 KiB.

    The golden model of the arbiter says how long they take; ``bounds.tile_issue_delay``, for a tile
    at any place, is never less.
    """
    return schedule(part, range(first, first + bursts), write=write).issue_delay


def _page(part: Part | str, bursts: int, first: int) -> Part:
    device = part_named(part)
    check_count("bursts", bursts)
    check_count("first", first, least=0)
    if first >= _places(device):
        raise NotCovered(f"first must be less than {_places(device)} for {device.name}, "
                         f"not {first}")
    if bursts + first % _PAGE_BURSTS > _PAGE_BURSTS:
        raise NotCovered(f"bursts must lie within 4 KiB, not {bursts} from {first} on")
    return device


@prediction(formula="LID(bursts) + 22 + transfers", source="this project")
def axi_read_alone(*, part: Part | str, transfers: Transfers, bursts: int, first: First) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    No refresh is under way or falls due, nothing else has been accepted, and the client is ready:
    cycles in which it is not do not count. ``transfers`` as AXI counts them; ``bursts`` of DRAM
    from ``first`` on (`first_of`); LID is their issue delay. Raises `NotCovered` for a ``first``
    that `first_of` does not give, and for bursts that leave their 4 KiB.

    One cycle for the address, one to decode it; the controller's 17 + LID, of which the first one
    takes the request; one in which the last words are written to the buffer; then a row is looked
    up, comes out of the memory, and goes to the register of R: 2 + 17 + LID + 1 + 2 cycles until
    the first transfer, which begins the last ``transfers``.
    """
    page = _page(part, bursts, first)
    return _page_delay(page, bursts, first, False) + 22 + transfers


@prediction(formula="LID_W(bursts) + 19, and where words are written in part, "
                    "LID_R(bursts) + 17 more", source="this project")
def axi_write_alone(*, part: Part | str, bursts: int, first: First, partial: Partial) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    As for `axi_read_alone`; raises `NotCovered` as it does. One cycle for the word, the
    controller's 17 + LID, one for the answer. Where some transfer has part of a word
    (``partial``), the same bursts are read first, and the request to write them is made in the
    cycle after.
    """
    page = _page(part, bursts, first)
    read = _page_delay(page, bursts, first, False) + 17 if partial else 0
    return read + _page_delay(page, bursts, first, True) + 19


def axi_refresh(part: Part | str) -> int:
    """Cycles that a refresh adds to an AXI request at most: nRFC - 10, and 1 at least.

    At worst it falls due in the cycle in which the request would have entered the front end, 10
    before its first command was chosen. The refresh is chosen in that cycle, and the request enters
    such that its first command is chosen nRFC later; but not in the same cycle, however soon the
    refresh is over. Only one refresh does so: where two may, `axi_read` raises `NotCovered`.
    """
    return max(part_named(part).nRFC - 10, 1)


def most_dram_bursts(transfers: int, size: int) -> int:
    """Bursts of DRAM that ``transfers`` transfers touch at most, wherever they lie.

    Incrementing ones cover the most, from a place that is a multiple of a transfer on (the first
    may have less than a transfer's bytes): at worst the first transfer is the last of a burst of
    DRAM. Transfers of more bytes than the bus has are refused. None leaves 4 KiB.
    """
    width = min(1 << size, DATA_BYTES)
    rest = (transfers - 1) * width  # bytes after the first transfer
    return min(1 + -(-rest // BURST_BYTES), _PAGE_BURSTS)


@functools.cache
def _longest(part: Part, bursts: int, write: bool) -> int:
    """The longest issue delay of up to ``bursts`` bursts in a page, whichever it is."""
    pages = range(0, max(part.bursts_per_sweep, _PAGE_BURSTS), _PAGE_BURSTS)
    places = {first_of(part, page + shift) for page in pages
              for shift in range(_PAGE_BURSTS - bursts + 1)}
    fewer = _longest(part, bursts - 1, write) if bursts > 1 else 0
    return max(fewer, *(_page_delay(part, bursts, first, write) for first in places))


def _check_refreshes(part: Part, cycles: int, read: int = 0) -> None:
    """Raise `NotCovered` where two refreshes may add to a request that takes ``cycles`` with one.

    The second falls due nREFI after the first, or later. If the first fell due when nothing was
    under way, or by this request, the second must fall due within ``cycles`` and the nRFC that the
    first may have begun before. If it fell due while the request before was under way, which has
    4 KiB at most, it was done when that one's banks were closed. It adds something only if this
    request waits nRFC from then on at most; and the second does only if it falls due before this
    one starts, or starts to write what it took ``read`` cycles to read.
    """
    before = max(_longest(part, _PAGE_BURSTS, write) for write in (False, True))
    within = max(cycles, before + read)
    if within + part.nRFC > part.nREFI:
        raise NotCovered(f"two refreshes may fall due within {within} clocks")


def longest_axi_read(part: Part, transfers: int, size: int, *, held: int = 0) -> int:
    """`axi_read`, where completions are held back for ``held`` clocks; raises `NotCovered` as it
    does.
    """
    cycles = (_longest(part, most_dram_bursts(transfers, size), False) + 22 + held + transfers
              + axi_refresh(part))
    _check_refreshes(part, cycles)
    return cycles


def longest_axi_write(part: Part, transfers: int, size: int, partial: int, *, held: int = 0
                      ) -> int:
    """`axi_write`, where completions are held back for ``held`` clocks; raises `NotCovered` as
    `axi_read` does.
    """
    bursts = most_dram_bursts(transfers, size)
    read = _longest(part, bursts, False) + 17 + held if partial else 0
    cycles = read + _longest(part, bursts, True) + 19 + held + axi_refresh(part)
    _check_refreshes(part, cycles, read)
    return cycles


@bound(formula="max over b up to 1 + ceil((transfers - 1) * 2^size / 64) of LID(b) + 22 "
               "+ transfers + max(nRFC - 10, 1)", source="this project", environment=_ANYTHING)
def axi_read(*, part: Part | str, transfers: Transfers, size: Size) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    Cycles in which the client is not ready do not count. No burst of this length touches
    more than `most_dram_bursts`, so this is the longest `axi_read_alone` of all, and what a refresh
    adds at most (`axi_refresh`). A read that is refused takes less. Raises `NotCovered` where two
    refreshes may fall due meanwhile.
    """
    return longest_axi_read(part_named(part), transfers, size)


@bound(formula="max over b up to 1 + ceil((transfers - 1) * 2^size / 64) of LID_W(b) + 19 + "
               "max(nRFC - 10, 1), and where words are written in part, LID_R(b) + 17 more",
       source="this project", environment=_ANYTHING)
def axi_write(*, part: Part | str, transfers: Transfers, size: Size, partial: Partial) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    As `axi_read`, from `axi_write_alone`. The request to write what was read is only made when the
    banks of the read are closed, so that a refresh in between adds no more than elsewhere. Raises
    `NotCovered` where two refreshes may fall due meanwhile.
    """
    return longest_axi_write(part_named(part), transfers, size, partial)


@prediction(formula="transfers + 4, beyond the device + 8 more", source="this project")
def axi_refused_read(*, transfers: Transfers, beyond: Beyond) -> int:
    """`axi_read_alone` for a read that is refused.

    As for `axi_read_alone`, but an illegal burst goes from decoding to R at once. One ``beyond``
    the device is refused by the buffer table, seven cycles from the request, and passes one more.
    """
    return transfers + (12 if beyond else 4)


@prediction(formula="2, beyond the device 9", source="this project")
def axi_refused_write(*, beyond: Beyond) -> int:
    """`axi_write_alone` for a write that is refused: answered at once, or by the buffer table."""
    return 9 if beyond else 2
