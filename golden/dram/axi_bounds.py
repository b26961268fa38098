"""Worst-case formulas of the DRAM controller's AXI4 face, burst by burst.

What a client waits for while bursts of others are served, its own stalls, and what the words of a
write take to arrive are not in them: one burst is under way at a time.
"""

import functools

from cyclebound.golden.bound import NotCovered, bound, check_count
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["axi_read", "axi_refresh", "axi_refused_read", "axi_refused_write", "axi_write"]


@functools.cache
def _page_delay(part: Part, bursts: int, sibling: int, write: bool) -> int:
    """Issue delay of DRAM bursts that all lie in one row of one pair of banks.

    A page of 4 KiB is 64 bursts, and a row of a pair holds a multiple of that. So it only matters
    which of the two banks has the first. The golden model of the arbiter says how long they take;
    ``bounds.tile_issue_delay``, for a tile at any place, is never less.
    """
    return schedule(part, range(sibling, sibling + bursts), write=write).issue_delay


def _page(part: Part | str, bursts: int, sibling: int) -> Part:
    known = part_named(part)
    check_count("bursts", bursts)
    check_count("sibling", sibling, least=0)
    if sibling > 1 or bursts + sibling > 64:
        raise NotCovered(f"bursts must lie within 4 KiB, not {bursts} from {sibling} on")
    return known


@bound(formula="LID(bursts) + 22 + transfers", source="this project")
def axi_read(*, part: Part | str, transfers: int, bursts: int, sibling: int) -> int:
    """Cycles from taking an AXI read's address to its last word on R, both included.

    No refresh is under way or falls due, nothing else has been accepted, and the client is ready:
    cycles in which it is not do not count. ``transfers`` as AXI counts them; ``bursts`` of DRAM, of
    which the first is in bank 0 or 1 (``sibling``) of its pair; LID is their issue delay.

    One cycle for the address, one to decode it; the controller's 17 + LID, of which the first one
    takes the request; one in which the last words are written to the buffer; then a row is looked
    up, comes out of the memory, and goes to the register of R: 2 + 17 + LID + 1 + 2 cycles until
    the first transfer, which begins the last ``transfers``.
    """
    known = _page(part, bursts, sibling)
    check_count("transfers", transfers)
    return _page_delay(known, bursts, sibling, False) + 22 + transfers


@bound(formula="LID_W(bursts) + 19, and where words are written in part, LID_R(bursts) + 17 more",
       source="this project")
def axi_write(*, part: Part | str, bursts: int, sibling: int, partial: int) -> int:
    """Cycles from taking the last word of an AXI write to its answer on B, both included.

    As for `axi_read`. One cycle for the word, the controller's 17 + LID, one for the answer. Where
    some transfer has part of a word (``partial``), the same bursts are read first, and the request
    to write them is made in the cycle after.
    """
    known = _page(part, bursts, sibling)
    check_count("partial", partial, least=0)
    read = _page_delay(known, bursts, sibling, False) + 17 if partial else 0
    return read + _page_delay(known, bursts, sibling, True) + 19


@bound(formula="nRFC - 10", source="this project")
def axi_refresh(*, part: Part | str) -> int:
    """Cycles that a refresh adds to an AXI request.

    At worst it falls due in the cycle in which the request would have entered the front end, 10
    before its first command was chosen. The refresh is chosen in that cycle, and the request enters
    such that its first command is chosen nRFC later. Only one falls due while a request lasts: even
    4 KiB, read first and then written, take far less than nREFI.
    """
    return part_named(part).nRFC - 10


@bound(formula="transfers + 4, beyond the device + 8 more", source="this project")
def axi_refused_read(*, transfers: int, beyond: int) -> int:
    """`axi_read` for a read that is refused.

    As for `axi_read`, but an illegal burst goes from decoding to R at once. One ``beyond`` the
    device is refused by the buffer table, seven cycles from the request, and passes one more.
    """
    check_count("transfers", transfers)
    check_count("beyond", beyond, least=0)
    return transfers + (12 if beyond else 4)


@bound(formula="2, beyond the device 9", source="this project")
def axi_refused_write(*, beyond: int) -> int:
    """`axi_write` for a write that is refused: answered at once, or by the buffer table."""
    check_count("beyond", beyond, least=0)
    return 9 if beyond else 2
