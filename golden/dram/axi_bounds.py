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

__all__ = ["axi_read", "axi_read_alone", "axi_refresh", "axi_refused_read", "axi_refused_write",
           "axi_write", "axi_write_alone", "most_dram_bursts"]

_ANYTHING = ("refreshes fall due in any cycle; other bursts wait, or have been served before; the "
             "burst lies anywhere, and is legal or not")

Transfers = Annotated[int, Range(1, MOST_TRANSFERS, says="transfers of the burst")]
Size = Annotated[int, Range(0, 7, says="AxSIZE: log2 of a transfer's bytes")]
Partial = Annotated[int, Range(0, 1, says="whether some transfer has part of a word")]
Beyond = Annotated[int, Range(0, 1, says="whether it is legal, but beyond the device")]


@functools.cache
def _page_delay(part: Part, bursts: int, sibling: int, write: bool) -> int:
    """Issue delay of DRAM bursts that all lie in one row of one pair of banks.

    A page of 4 KiB is 64 bursts, and a row of a pair holds a multiple of that. So it only matters
    which of the two banks has the first. The golden model of the arbiter says how long they take;
    ``bounds.tile_issue_delay``, for a tile at any place, is never less.
    """
    return schedule(part, range(sibling, sibling + bursts), write=write).issue_delay


def _page(part: Part | str, bursts: int, sibling: int) -> Part:
    device = part_named(part)
    check_count("bursts", bursts)
    check_count("sibling", sibling, least=0)
    if sibling > 1 or bursts + sibling > 64:
        raise NotCovered(f"bursts must lie within 4 KiB, not {bursts} from {sibling} on")
    return device


@prediction(formula="LID(bursts) + 22 + transfers", source="this project")
def axi_read_alone(*, part: Part | str, transfers: Transfers, bursts: int, sibling: int) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    No refresh is under way or falls due, nothing else has been accepted, and the client is ready:
    cycles in which it is not do not count. ``transfers`` as AXI counts them; ``bursts`` of DRAM, of
    which the first is in bank 0 or 1 (``sibling``) of its pair; LID is their issue delay.

    One cycle for the address, one to decode it; the controller's 17 + LID, of which the first one
    takes the request; one in which the last words are written to the buffer; then a row is looked
    up, comes out of the memory, and goes to the register of R: 2 + 17 + LID + 1 + 2 cycles until
    the first transfer, which begins the last ``transfers``.
    """
    page = _page(part, bursts, sibling)
    return _page_delay(page, bursts, sibling, False) + 22 + transfers


@prediction(formula="LID_W(bursts) + 19, and where words are written in part, "
                    "LID_R(bursts) + 17 more", source="this project")
def axi_write_alone(*, part: Part | str, bursts: int, sibling: int, partial: Partial) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    As for `axi_read_alone`. One cycle for the word, the controller's 17 + LID, one for the answer.
    Where some transfer has part of a word (``partial``), the same bursts are read first, and the
    request to write them is made in the cycle after.
    """
    page = _page(part, bursts, sibling)
    read = _page_delay(page, bursts, sibling, False) + 17 if partial else 0
    return read + _page_delay(page, bursts, sibling, True) + 19


def axi_refresh(part: Part | str) -> int:
    """Cycles that a refresh adds to an AXI request at most: nRFC - 10.

    At worst it falls due in the cycle in which the request would have entered the front end, 10
    before its first command was chosen. The refresh is chosen in that cycle, and the request enters
    such that its first command is chosen nRFC later. Only one falls due while a request lasts: even
    4 KiB, read first and then written, take far less than nREFI.
    """
    return part_named(part).nRFC - 10


def most_dram_bursts(transfers: int, size: int) -> int:
    """Bursts of DRAM that ``transfers`` transfers touch at most, wherever they lie.

    Incrementing ones cover the most, from a place that is a multiple of a transfer on (the first
    may have less than a transfer's bytes): at worst the first transfer is the last of a burst of
    DRAM. Transfers of more bytes than the bus has are refused. None leaves 4 KiB.
    """
    width = min(1 << size, DATA_BYTES)
    rest = (transfers - 1) * width  # bytes after the first transfer
    return min(1 + -(-rest // BURST_BYTES), PAGE_BYTES // BURST_BYTES)


@functools.cache
def _longest(part: Part, bursts: int, write: bool) -> int:
    """The longest issue delay of up to ``bursts`` bursts in a page."""
    most = PAGE_BYTES // BURST_BYTES
    return max(_page_delay(part, count, sibling, write) for count in range(1, bursts + 1)
               for sibling in (0, 1) if count + sibling <= most)


@bound(formula="max over b up to 1 + ceil((transfers - 1) * 2^size / 64) of LID(b) + nRFC + 12 "
               "+ transfers", source="this project", environment=_ANYTHING)
def axi_read(*, part: Part | str, transfers: Transfers, size: Size) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    Cycles in which the client is not ready do not count. No burst of this length touches
    more than `most_dram_bursts`, so this is the longest `axi_read_alone` of all, and what a refresh
    adds at most (`axi_refresh`). A read that is refused takes less.
    """
    device = part_named(part)
    return (_longest(device, most_dram_bursts(transfers, size), False) + 22 + transfers
            + axi_refresh(device))


@bound(formula="max over b up to 1 + ceil((transfers - 1) * 2^size / 64) of LID_W(b) + nRFC + 9, "
               "and where words are written in part, LID_R(b) + 17 more", source="this project",
       environment=_ANYTHING)
def axi_write(*, part: Part | str, transfers: Transfers, size: Size, partial: Partial) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    As `axi_read`, from `axi_write_alone`. The request to write what was read is only made when the
    banks of the read are closed, so that a refresh in between adds no more than elsewhere.
    """
    device, bursts = part_named(part), most_dram_bursts(transfers, size)
    read = _longest(device, bursts, False) + 17 if partial else 0
    return read + _longest(device, bursts, True) + 19 + axi_refresh(device)


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
