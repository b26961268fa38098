"""Longest issue delays of tiles: the paper's formulas as printed, and the project's own.

The *longest issue delay* (LID) of a request is the distance from the cycle of its first command to
the first cycle in which the next request's first command may issue (Sim-D, section 2.3), in DRAM
clocks: a difference of two cycles, so that nothing is counted twice when delays are added up.
``bursts`` are bursts that the request touches: a tile of *n* words starting at word *w* of a burst
touches ``(w + n - 1) // 16 + 1`` of them. ``write`` is 0 or 1; ``part`` is what `part_named` takes,
which raises `ValueError` for an unknown one. Indexed requests are in ``index_bounds.py``.
"""

from collections.abc import Callable
from fractions import Fraction

from cyclebound.golden.bound import NotCovered, bound, check_count
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["check_request", "eq1", "eq15", "eq15_tool", "eq16", "eq19", "most_bursts", "recovery",
           "tile_2d_issue_delay", "tile_issue_delay", "tile_limit"]


def check_request(bursts: object, write: object) -> None:
    """Raise `NotCovered` unless there is a burst at least, and ``write`` is 0 or 1."""
    check_count("bursts", bursts)
    check_count("write", write, least=0)
    if write > 1:
        raise NotCovered(f"write must be 0 or 1, not {write}")


def recovery(part: Part, write: int) -> int:
    """Clocks from a read or write to the first activate of the same bank behind its precharge."""
    held = part.nCWD + part.nBURST + part.nWR if write else part.nRTP
    return held + part.nRP


def most_bursts(*, words: int) -> int:
    """Bursts that ``words`` consecutive words touch at most, over all alignments."""
    check_count("words", words)
    return 1 + -(-(words - 1) // BURST_WORDS)


# -- as printed ------------------------------------------------------------------------------------

@bound(formula="cycles * nBURST / (nBW * nCCD_L)", source="Sim-D, Eq. 1")
def eq1(*, part: str | Part, cycles: int) -> int:
    """Clocks of useful data in ``cycles`` clocks, if every word needs a burst of its own.

    The paper prints the share of the bus's time, nBURST / (nBW * nCCD_L); here it is multiplied by
    a time and rounded down: 1 in 32 for both parts of its Table 1.
    """
    known = part_named(part)
    check_count("cycles", cycles, least=0)
    return int(cycles * Fraction(known.nBURST, BURST_WORDS * known.nCCD_L))


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
               "writes AC(b) + nCWD + nBURST + nWR + nRP", source="Sim-D, Eq. 15")
def eq15(*, part: str | Part, bursts: int, write: int) -> int:
    """LID of a 1D tile, as printed, with AC(b) by cases of b (b <= 4; 5, 6; 7, 8; odd; even).

    Exact for the part with two bank groups, but for writes of 8 bursts (127; 126 are reached).
    With four bank groups it is neither safe (writes of 8 bursts reach 116, it says 112) nor tight
    (odd b from 9: 8 more than is reached): see `eq15_tool`. Never meant for other parts.
    """
    known = part_named(part)
    check_request(bursts, write)
    return _with_floor(known, bursts, write, _printed_access(known, bursts))


@bound(formula="Eq. 15 with AC(b) = nRCD + (b - 1) * nCCD_S where nBG > 2",
       source="Sim-D, its authors' tool")
def eq15_tool(*, part: str | Part, bursts: int, write: int) -> int:
    """LID of a 1D tile as the authors' WCET tool computes it: another AC(b) for four bank groups.

    Exceeded by a write of 5 bursts that runs over the end of the banks: see `tile_issue_delay`.
    """
    known = part_named(part)
    check_request(bursts, write)
    access = (known.nRCD + (bursts - 1) * known.nCCD_S if known.bank_groups > 2
              else _printed_access(known, bursts))
    return _with_floor(known, bursts, write, access)


@bound(formula="IIAC(b, rows) + nRTP + nRP, beyond nB rows b * (nRAS + nRP); "
               "writes IIAC + nCWD + nBURST + nWR + nRP, b * (nRCD + nCWD + nBURST + nWR + nRP)",
       source="Sim-D, Eq. 16")
def eq16(*, part: str | Part, bursts: int, rows: int, write: int) -> int:
    """LID of an indexed request of one burst for each word, as printed.

    ``rows`` counts rows of single banks that the buffer covers. IIAC(b, rows) is
    nRCD + (b-1) nCCD_L for one row, nRCD + nRRD_S + (b-2) nCCD_L up to nBG rows,
    nRCD + nRRD_L + nRRD_S - 1 + (b-3) nCCD_L up to nB rows.

    Exceeded up to nB rows, for short requests above all: it knows neither that a bank stays
    active for nRAS, nor the four-activate window, and it takes for granted that a column command
    waits for no more than two activates.
    """
    known = part_named(part)
    check_request(bursts, write)
    check_count("rows", rows)
    if rows > known.banks:
        return bursts * (known.nRCD + recovery(known, 1) if write else known.nRAS + known.nRP)
    if rows == 1:
        access = (bursts - 1) * known.nCCD_L
    elif rows <= known.bank_groups:
        access = known.nRRD_S + (bursts - 2) * known.nCCD_L
    else:
        access = known.nRRD_L + known.nRRD_S - 1 + (bursts - 3) * known.nCCD_L
    return known.nRCD + access + recovery(known, write)


@bound(formula="c + ceil(c * rCK / (nREFI - nRFC)) * nRFC / rCK", source="Sim-D, Eq. 19")
def eq19(*, part: str | Part, cycles: int, compute_ps: int) -> int:
    """A time of ``cycles`` compute clocks of ``compute_ps`` picoseconds, inflated by refreshes.

    rCK is the DRAM clock over the compute clock: 1.6 for 1 GHz and DDR4-3200. The sum is rounded
    up to whole compute clocks.
    """
    known = part_named(part)
    check_count("cycles", cycles, least=0)
    check_count("compute_ps", compute_ps)
    ratio = Fraction(compute_ps, known.tck_ps)
    refreshes = -(-cycles * ratio // (known.nREFI - known.nRFC))
    return cycles + int(-(-refreshes * known.nRFC // ratio))


# -- the project's own -----------------------------------------------------------------------------

def tile_limit(part: Part) -> int:
    """Bursts of the longest 1D tile that touches no bank in two rows, at any alignment."""
    return (part.banks // 2 - 1) * 2 * part.bursts_per_row + 1


def _wide(part: Part, b: int) -> int:
    if b <= 4:
        return (b - 1) * part.nRRD_S
    if b <= 6:
        return 2 * part.nRRD_S + (b - 4) * part.nCCD_L + part.nCCD_S
    if b == 7:
        return 3 * part.nRRD_S + part.nCCD_L + part.nCCD_S
    if b % 2:
        return part.nRRD_S + 2 * part.nCCD_L + (b - 4) * part.nCCD_S
    return 2 * part.nRRD_S + part.nCCD_L + (b - 5) * part.nCCD_S


def _narrow(part: Part, b: int) -> int:
    if b <= 4:
        return (b - 1) * part.nRRD_S
    uneven = 0 if b % 2 else part.nCCD_L - part.nCCD_S
    return 2 * part.nRRD_S + part.nCCD_L + (b - 4) * part.nCCD_S + uneven


def _four(part: Part, b: int) -> int:
    starved = b > 4 and b % 2 == 0 and (b - 3) // (2 * part.bursts_per_row) % 2
    return (b - 1) * part.nCCD_S + (part.nCCD_L - part.nCCD_S if b == 5 or starved else 0)


def _one(part: Part, b: int) -> int:
    if b <= 4:
        return (b - 1) * part.nRRD_S
    if b == 6:
        return part.nRRD_S + 4 * part.nCCD_S
    return 2 * part.nRRD_S + (b - 3) * part.nCCD_S


def _regime(part: Part) -> Callable[[Part, int], int] | None:
    """The chain of column commands for a part's numbers, or None if none was derived."""
    first, short, again, row = part.nRRD_S, part.nCCD_S, part.nCCD_L, part.nRCD
    closing = recovery(part, 0)
    if short != 4 or part.nBURST != 4 or row >= 40 or row in (2 * first, 3 * first):
        return None
    if part.nRC > closing + min(row + 26, (8 if part.bank_groups == 1 else 16) * short):
        return None
    if part.bank_groups == 1:
        return _one if first == short + 1 and 8 <= row <= 32 else None
    if again > 2 * short:
        return None
    if part.bank_groups == 2:
        if again >= 7 and first == again + 1 and first < part.nRRD_L < 2 * first:
            return _wide if row > 2 * first + 1 else None
        if short < again == first <= 6 and part.nRRD_L < 2 * first:
            return _narrow if row > first + 2 else None
        return None
    return _four if first == short < again and row > 8 else None


@bound(formula="max(nRCD + CC(b) + nRTP + nRP, min(b - 1, 3) * nRRD_S + nRC), and "
               "max(nRC, nRCD + nRTP + nRP) - nCCD_S for each return to banks in use; "
               "writes: nCWD + nBURST + nWR for nRTP", source="this project")
def tile_issue_delay(*, part: str | Part, bursts: int, write: int) -> int:
    """LID of a 1D tile of b bursts: the worst of all alignments, reached up to `tile_limit`.

    **Two chains.** *Activates*: a tile's bursts lie in two banks of different groups by turns, and
    when their row ends in the next two. At most four banks are activated nRRD_S apart (a fifth is
    needed only 256 bursts later); none may be activated again within nRC. So the delay is at
    least ``min(b - 1, 3) * nRRD_S + nRC``. *Column commands*: the first may follow its activate by
    nRCD; from there to the last one it takes CC(b); then the bank recovers (nRTP, or nCWD +
    nBURST + nWR) and precharges (nRP). The delay is the longer of the two.

    **CC(b), two bank groups, nRRD_S = nCCD_L + 1** (x16 at 3200). One after the other, commands
    to alternating groups are nCCD_S apart, to the same group nCCD_L. What costs more is waiting
    for an activate, and a last command in the same group as the one before.

    - b <= 4: each burst lies in its own bank (start two bursts before the row's end) and follows
      its own activate: ``(b - 1) * nRRD_S``.
    - b = 5, 6, same start: the third bank opens at 2 nRRD_S, and before the fourth does, has its
      second burst nCCD_L later; the fourth follows nCCD_S later, with one burst or (b = 6) two of
      them, nCCD_L apart: ``2 * nRRD_S + (b - 4) * nCCD_L + nCCD_S``.
    - b = 7, same start: rule 5 lets the fuller banks of the next pair open first; bank 1 opens
      last, at 3 nRRD_S; the third bank has two bursts left: ``3 * nRRD_S + nCCD_S + nCCD_L``.
    - b odd, from 9, same start: the second bank opened has its second burst nCCD_L behind its
      first; now all alternate, nCCD_S apart; but having been ahead by one, its group is used up
      one early, and the last two commands are nCCD_L apart:
      ``nRRD_S + nCCD_L + (b - 4) * nCCD_S + nCCD_L``.
    - b even, from 8, start four before the row's end: the same from the third bank on, which
      opens at 2 nRRD_S as the fourth command: ``2 * nRRD_S + (b - 5) * nCCD_S + nCCD_L``.
      (Eq. 15 counts b = 8 with 7: one too many.)

    **Two groups, nRRD_S = nCCD_L <= 2 nCCD_S - 2** (x16 at 1866 and 2133): from b = 5 the third
    bank's second burst, nCCD_L behind its activate's first, is always there: ``2 * nRRD_S +
    nCCD_L + (b - 4) * nCCD_S``, and for even b the last two commands lie in one group.

    **Four groups, nRRD_S = nCCD_S** (x8): banks open as fast as bursts follow: ``(b - 1) *
    nCCD_S``. But a tile that runs over the end of the banks, into the next row of banks 0 and 1,
    finds those nearer (rules 2 and 5): with b = 5 the one burst of bank 0 goes second, and the
    last pair's other bank has its last two bursts in a row: nCCD_L - nCCD_S more. Likewise its
    second bank, passed over until everything behind is done, may meet its own group at the end:
    b even, ``(b - 3) // 256`` odd.

    **One group, nRRD_S = nCCD_S + 1** (DDR3): as with two groups and nCCD_L = nCCD_S:
    ``2 * nRRD_S + (b - 3) * nCCD_S``; for b = 6 the banks open in another order and one nRRD_S is
    hidden. When the fourth activate would meet a column command (3 nRRD_S = nRCD + nCCD_S) it
    comes one clock later, and so does the end of its nRC.

    **Longer than** `tile_limit`, a tile comes back to banks that it has used, once in each sweep of
    the banks. Rule 2 can pass over a burst when it leaves a pair; that bank then keeps its row, and
    when the tile returns, has to be read or written, closed and opened again. Nothing else may be
    left to do meanwhile, so a row cycle is added, in the place of one step of nCCD_S. That this
    happens no more than once in each return is searched, not proved (starts and ends around the
    banks' ends, up to four sweeps): 66 of 70 clocks were reached by reads of the x16 part in the
    first return, 80 or 81 of 84 by writes in each. Up to the limit, the bound is exact.

    **Covered**: nBURST = nCCD_S = 4; and numbers for which no activate meets a column command
    (nRCD other than 2 or 3 nRRD_S; greater than 2 nRRD_S + 1, nRRD_S + 2, 8 and 7 in the four
    cases), activates alternate freely (nRRD_L < 2 nRRD_S with two
    groups), and none that waits for its burst comes so late that its nRC outlasts the column
    commands (nRC <= nRTP + nRP + nRCD + 26, for a pair that begins with the tenth burst, and
    nRC <= nRTP + nRP + 16 nCCD_S, 8 with one group, for one that waits for room in a FIFO).
    Others: `NotCovered`, and ``worst_case.py`` simulates. Within these conditions formula and
    model were compared for all alignments: equal, for the named parts and for random ones.
    """
    known = part_named(part)
    check_request(bursts, write)
    chain = _regime(known)
    if chain is None:
        raise NotCovered(f"{known.name}: tile_issue_delay must have timing numbers of a kind that "
                         "it was derived for; worst_issue_delay simulates any")
    closing = recovery(known, write)
    returns = max(0, -(-(bursts - tile_limit(known)) // known.bursts_per_sweep))
    again = returns * (max(known.nRC, known.nRCD + closing) - known.nCCD_S)
    met = int(chain is _one and bursts > 4 and 3 * known.nRRD_S == known.nRCD + known.nCCD_S)
    return max(known.nRCD + chain(known, bursts) + closing + again,
               min(bursts - 1, 3) * known.nRRD_S + known.nRC + met)


@bound(formula="lines * LID(b) + (max(nRC, nRCD + nRTP + nRP) if lines > 1); "
               "writes: nCWD + nBURST + nWR for nRTP", source="this project, searched")
def tile_2d_issue_delay(*, part: str | Part, bursts: int, lines: int, write: int) -> int:
    """LID of a 2D tile of ``lines`` lines, each of at most ``bursts`` bursts, at any period.

    LID(b) is `tile_issue_delay` of one line; where it covers no line, neither does this.

    Lines whose rows lie in the same bank (a period near a multiple of the banks' rows, 2**14 words
    for eight banks) cannot overlap: each opens its row when the one before has been closed. One
    after the other they take ``lines * LID(b)``; with one burst each, exactly that is reached.
    It is not quite safe, for the arbiter does not work line by line: rule 2 keeps to the current
    pair, and a burst of an earlier line that was passed over holds its bank's row open until all
    of the current pair is done. It then closes after what its own line's delay allows for, once, by
    no more than a row cycle; if it cost that in each line, no two lines would have overlapped.

    Evidence: searched, not proved. Random and climbing searches over starts, periods and irregular
    lines (2 to 20 lines of 1 to 600 bursts, the four named parts) came up to 19 clocks beyond
    ``lines * LID(b)`` (x8, lines of 3 bursts), and no further with more lines; a row cycle is 74.
    """
    known = part_named(part)
    check_count("lines", lines)
    line = tile_issue_delay(part=known, bursts=bursts, write=write)
    passed_over = max(known.nRC, known.nRCD + recovery(known, write)) if lines > 1 else 0
    return lines * line + passed_over
