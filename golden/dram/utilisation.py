"""The data bus's utilisation by transfers: at the worst alignment, and at best for any controller.

A transfer of n words touches ``ceil(n / 16)`` bursts if it begins with a burst, and one more if it
begins at the worst word. The data take nBURST clocks for each 16 words; the time is the transfer's
longest issue delay, so that a row of such transfers uses this share at least.
"""

from dataclasses import dataclass
from fractions import Fraction

from cyclebound.golden.bound import bound
from cyclebound.golden.dram.bounds import check_request, most_bursts, recovery, tile_issue_delay
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["Use", "least_issue_delay", "use_of_bus"]


@bound(formula="max(nRC, nRCD + (b - 1) * nCCD_S + nRTP + nRP); writes: nCWD + nBURST + nWR for "
               "nRTP", source="this project")
def least_issue_delay(*, part: str | Part, bursts: int, write: int) -> int:
    """Clocks of a transfer of b bursts with *any* controller that closes all banks after it.

    A lower bound, for comparison. The first column command comes nRCD after the first activate, b
    of them take nCCD_S each but for one, and the last one's bank has to recover and to precharge.
    To be faster, the next transfer's activates must come before this one's banks are closed.
    """
    device = part_named(part)
    check_request(bursts, write)
    return max(device.nRC,
               device.nRCD + (bursts - 1) * device.nCCD_S + recovery(device, write))


@dataclass(frozen=True)
class Use:
    """The data bus's utilisation by transfers of one size.

    Attributes
    ----------
    bursts : int
        That each touches.
    delay, least : int
        Its longest issue delay; what any controller takes that closes all banks.
    share, with_refresh, limit : Fraction
        Of the time in which the bus carries the transfer's words, at the longest delay; the same
        when refreshes take nRFC of each nREFI; and if each transfer took ``least``.
    """

    bursts: int
    delay: int
    least: int
    share: Fraction
    with_refresh: Fraction
    limit: Fraction


def use_of_bus(*, part: str | Part, words: int, write: int, aligned: bool) -> Use:
    """Utilisation by transfers of ``words`` words, which begin with a burst (``aligned``) or at any
    word."""
    device = part_named(part)
    most = most_bursts(words=words)
    sizes = [-(-words // BURST_WORDS)] if aligned else range(-(-words // BURST_WORDS), most + 1)
    delay, bursts = max((tile_issue_delay(part=device, bursts=size, write=write), size)
                        for size in sizes)
    least = least_issue_delay(part=device, bursts=bursts, write=write)
    moved = Fraction(device.nBURST * words, BURST_WORDS)
    return Use(bursts, delay, least, moved / delay,
               moved / delay * Fraction(device.nREFI - device.nRFC, device.nREFI), moved / least)
