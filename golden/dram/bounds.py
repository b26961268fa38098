"""Longest issue delays of tiles: the paper's formulas as printed, and the project's own.

The *longest issue delay* (LID) of a request is the distance from the cycle of its first command to
the first cycle in which the next request's first command may issue (Sim-D, section 2.3), in DRAM
clocks: a difference of two cycles, so that nothing is counted twice when delays are added up.
``bursts`` are bursts that the request touches: a tile of *n* words starting at word *w* of a burst
touches ``(w + n - 1) // 16 + 1`` of them. ``write`` is 0 or 1; ``part`` is what `part_named` takes,
which raises `ValueError` for an unknown one. Indexed requests are in ``index_bounds.py``.
"""

from fractions import Fraction
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound, check_count, rate
from cyclebound.golden.dram.controller import MOST_OWED
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.tile_search import longest_lines, longest_run
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["Bursts", "Count", "Period", "Words", "Write", "check_request", "eq1", "eq15",
           "eq15_tool", "eq16", "eq19", "most_bursts", "recovery", "tile_2d_issue_delay",
           "tile_issue_delay"]

Bursts = Annotated[int, Range(1, says="bursts that the request touches")]
Write = Annotated[int, Range(0, says="0 of a read, 1 of a write")]
Words = Annotated[int, Range(1, says="words of a line")]
Period = Annotated[int, Range(1, says="words from one line's first to the next one's")]
Count = Annotated[int, Range(1, says="lines of the tile")]

_ANYWHERE = ("the tile begins at any word; requests before it were any, and the next one, or a "
             "refresh, waits")


def check_request(bursts: int, write: int) -> None:
    """Raise `NotCovered` unless there is a burst at least, and ``write`` is 0 or 1."""
    check_count("bursts", bursts)
    check_count("write", write, least=0)
    if write > 1:
        raise NotCovered(f"write must be 0 or 1, not {write}")


def recovery(part: Part, write: int) -> int:
    """Clocks from a read or write to the first activate of the same bank, after its precharge."""
    held = part.nCWD + part.nBURST + part.nWR if write else part.nRTP
    return held + part.nRP


def most_bursts(*, words: int) -> int:
    """Bursts that ``words`` consecutive words touch at most, over all alignments."""
    check_count("words", words)
    return 1 + -(-(words - 1) // BURST_WORDS)


# -- as printed ------------------------------------------------------------------------------------

@rate(formula="cycles * nBURST / (nBW * nCCD_L)", source="Sim-D, Eq. 1")
def eq1(*, part: str | Part, cycles: int) -> int:
    """Clocks of useful data in ``cycles`` clocks, if every word needs a burst of its own.

    The paper prints the share of the bus's time, nBURST / (nBW * nCCD_L); here it is multiplied by
    a time and rounded down: 1 in 32 for both parts of its Table 1.
    """
    device = part_named(part)
    check_count("cycles", cycles, least=0)
    return int(cycles * Fraction(device.nBURST, BURST_WORDS * device.nCCD_L))


def _printed_access(part: Part, bursts: int) -> int:
    """AC(b) of Eq. 15."""
    first, again = part.nRRD_S, part.nCCD_L
    if bursts <= 4:
        return (bursts - 1) * first + part.nRCD
    if bursts <= 6:
        return 2 * first + part.nRCD + (bursts - 4) * again + part.nCCD_S
    if bursts <= 8:
        return 3 * first + part.nRCD + again + part.nCCD_S
    if bursts % 2:
        return first + part.nRCD + 2 * again + (bursts - 4) * part.nCCD_S
    return 2 * first + part.nRCD + again + (bursts - 5) * part.nCCD_S


def _with_floor(part: Part, bursts: int, write: int, access: int) -> int:
    if write:
        return access + recovery(part, 1)
    return max(access + recovery(part, 0),
               min(bursts - 1, 3) * part.nRRD_S + part.nRAS + part.nRP)


@bound(formula="max(AC(b) + nRTP + nRP, min(b - 1, 3) * nRRD_S + nRAS + nRP); "
               "writes AC(b) + nCWD + nBURST + nWR + nRP", source="Sim-D, Eq. 15",
       environment=_ANYWHERE)
def eq15(*, part: str | Part, bursts: int, write: int) -> int:
    """LID of a 1D tile, as printed, with AC(b) by cases of b (b <= 4; 5, 6; 7, 8; odd; even).

    Exact for the part with two bank groups, but for writes of 8 bursts (127; 126 are reached).
    With four bank groups it is neither safe (writes of 8 bursts reach 116, it says 112) nor tight
    (odd b from 9: 8 more than is reached): see `eq15_tool`. Never meant for other parts.
    """
    device = part_named(part)
    check_request(bursts, write)
    return _with_floor(device, bursts, write, _printed_access(device, bursts))


@bound(formula="Eq. 15 with AC(b) = nRCD + (b - 1) * nCCD_S where nBG > 2",
       source="Sim-D, its authors' tool", environment=_ANYWHERE)
def eq15_tool(*, part: str | Part, bursts: int, write: int) -> int:
    """LID of a 1D tile as the authors' WCET tool computes it: another AC(b) for four bank groups.

    Exceeded by a write of 5 bursts that runs over the end of the banks: see `tile_issue_delay`.
    """
    device = part_named(part)
    check_request(bursts, write)
    access = (device.nRCD + (bursts - 1) * device.nCCD_S if device.bank_groups > 2
              else _printed_access(device, bursts))
    return _with_floor(device, bursts, write, access)


@bound(formula="IIAC(b, rows) + nRTP + nRP, beyond nB rows b * (nRAS + nRP); "
               "writes IIAC + nCWD + nBURST + nWR + nRP, b * (nRCD + nCWD + nBURST + nWR + nRP)",
       source="Sim-D, Eq. 16",
       environment="the words lie anywhere in so many rows")
def eq16(*, part: str | Part, bursts: int, rows: int, write: int) -> int:
    """LID of an indexed request of one burst for each word, as printed.

    ``rows`` counts rows of single banks that the buffer covers. IIAC(b, rows) is
    nRCD + (b-1) nCCD_L for one row, nRCD + nRRD_S + (b-2) nCCD_L up to nBG rows,
    nRCD + nRRD_L + nRRD_S - 1 + (b-3) nCCD_L up to nB rows.

    Exceeded up to nB rows, for short requests above all: it knows neither that a bank stays
    active for nRAS, nor the four-activate window, and it takes for granted that a column command
    waits for no more than two activates.
    """
    device = part_named(part)
    check_request(bursts, write)
    check_count("rows", rows)
    if rows > device.banks:
        return bursts * (device.nRCD + recovery(device, 1) if write else device.nRAS + device.nRP)
    if rows == 1:
        access = (bursts - 1) * device.nCCD_L
    elif rows <= device.bank_groups:
        access = device.nRRD_S + (bursts - 2) * device.nCCD_L
    else:
        access = device.nRRD_L + device.nRRD_S - 1 + (bursts - 3) * device.nCCD_L
    return device.nRCD + access + recovery(device, write)


@bound(formula="c + ceil(c * rCK / (nREFI - nRFC)) * nRFC / rCK", source="Sim-D, Eq. 19",
       environment="refreshes fall due in any cycle")
def eq19(*, part: str | Part, cycles: int, compute_ps: int) -> int:
    """A time of ``cycles`` compute clocks of ``compute_ps`` picoseconds, inflated by refreshes.

    rCK is the DRAM clock over the compute clock: 1.6 for 1 GHz and DDR4-3200. The sum is rounded
    up to whole compute clocks.
    """
    device = part_named(part)
    check_count("cycles", cycles, least=0)
    check_count("compute_ps", compute_ps)
    ratio = Fraction(compute_ps, device.tck_ps)
    refreshes = -(-cycles * ratio // (device.nREFI - device.nRFC))
    return cycles + int(-(-refreshes * device.nRFC // ratio))


# -- the project's own -----------------------------------------------------------------------------

def _checked(part: str | Part, write: int, counts: dict[str, int]) -> Part:
    for thing, value in counts.items():
        check_count(thing, value)
    check_request(1, write)
    return part_named(part)


@bound(formula="max over first bursts s of LID(s, b), each by the arbiter's rules; for four kinds "
               "of parts nRCD + CC(b) + nRTP + nRP or min(b - 1, 3) * nRRD_S + nRC (tile_chains)",
       source="this project", environment=_ANYWHERE)
def tile_issue_delay(*, part: str | Part, bursts: Bursts, write: Write) -> int:
    """LID of a 1D tile of b bursts: the worst of all alignments, exactly, for any part.

    What a tile of b bursts makes of the arbiter depends only on where in a row of all banks it
    begins. From each of these first bursts the rules of generator and arbiter are followed to the
    tile's end (`longest_run`), and the longest of these delays is the bound: no alignment takes
    longer, and one takes as long. That it can be done for any b rests on two facts. After a few
    bursts in a pair of banks, the arbiter is in the same state whatever came before, so that all
    first bursts share what is left to follow; and when all of them have come to the states in
    which they were a row of all banks before, they repeat from there on.

    Raises `NotCovered` for more bursts than the device has.

    `tile_chains` says where the numbers come from for parts like those of Sim-D's Table 1, by a
    derivation of its own; the two agree wherever it speaks (``tests/dram/test_tile_chains.py``).
    """
    device = _checked(part, write, {"bursts": bursts})
    longest = longest_run(device, bursts=bursts, write=bool(write))
    if longest is None:
        raise NotCovered(f"bursts must be at most {device.bursts}, those of {device.name}, "
                         f"not {bursts}")
    return longest.delay


@bound(formula="max over first words a of LID(a, words, period, count), each by the arbiter's "
               "rules", source="this project", environment=_ANYWHERE)
def tile_2d_issue_delay(*, part: str | Part, words: Words, period: Period, count: Count,
                        write: Write) -> int:
    """LID of a 2D tile of ``count`` lines, at any address: the worst of all, exactly.

    Lines overlap as far as their banks allow, and that is decided by where each lies: a line in
    the bank of the one before waits for its row, one in another pair of banks does not; and a burst
    that the arbiter passes over may keep a bank open until lines later (rule 2), which may happen
    in each line. So there is no sum over lines that is both safe and tight, and the bound follows
    the rules from each word at which the tile can begin (`longest_lines`): in a row of all banks
    there are 16,384 (eight banks of 1,024 columns) or 32,768 of them, and most are like another
    (`first_words`).

    Lines without a gap are one line, and covered however many there are. Raises `NotCovered` for
    lines that overlap, a tile longer than the device, and lines with a gap that make a refresh
    late, whatever their address: more bursts than 8 nREFI have room for.
    """
    device = _checked(part, write, {"words": words, "period": period, "count": count})
    if period < words:
        raise NotCovered(f"period must be at least the words of a line ({words}), not {period}")
    total = (count - 1) * period + words
    if period == words or count == 1:
        fewest = -(-total // BURST_WORDS)
        runs = [longest_run(device, bursts=bursts, write=bool(write))
                for bursts in range(fewest, most_bursts(words=total) + 1)]
        if total <= device.bursts * BURST_WORDS and runs[0] is not None:
            return max(run.delay for run in runs if run is not None)
    else:
        fewest = max(count * words // BURST_WORDS,
                     min(count, total // max(period, BURST_WORDS)))
        if fewest * device.nCCD_S > MOST_OWED * device.nREFI:
            raise NotCovered(f"a tile must take {MOST_OWED} nREFI ({MOST_OWED * device.nREFI} "
                             "clocks) at most, or a refresh is late, not the "
                             f"{fewest * device.nCCD_S} that {fewest} bursts take at least")
        longest = longest_lines(device, words=words, period=period, count=count, write=bool(write))
        if longest is not None:
            return longest.delay
    raise NotCovered(f"a tile must end by word {device.bursts * BURST_WORDS}, the end of "
                     f"{device.name}, not {total}")
