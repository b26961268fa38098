"""Longest issue delays of indexed requests: one burst for each word, wherever it lies.

What can be known of an indexed request is its number of words and how many *rows* its buffer
covers. A row, here and in Sim-D, is one bank's row of 128 bursts: consecutive bursts lie in two
banks by turns, so that a buffer of more than one burst covers two rows at least. Rows of a buffer
follow each other through the banks; up to nB of them, no bank holds two.
"""

from cyclebound.golden.bound import bound, check_count
from cyclebound.golden.dram.bounds import check_request, most_bursts, recovery
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["activate_times", "buffer_rows", "indexed_issue_delay", "rows_tool"]


def buffer_rows(*, part: str | Part, words: int) -> int:
    """Rows that a buffer of ``words`` words covers at most, over all alignments.

    The worst alignments begin with the last burst, or the last two, before a pair's row ends.
    """
    known = part_named(part)
    bursts = most_bursts(words=words)
    pair = 2 * known.bursts_per_row

    def behind(head: int) -> int:
        pairs, rest = divmod(bursts - head, pair)
        return head + 2 * pairs + min(rest, 2)

    return max(behind(head) for head in (1, 2) if head <= bursts)


def rows_tool(*, words: int) -> int:
    """The same as the authors' tool computes it: up to 1 fewer within a class of Eq. 16."""
    check_count("words", words)
    if words == 1:
        return 1
    return 2 if words <= 17 else 2 + -(-(words - 17) // 2048)


def _same_group(part: Part, *, bursts: int, rows: int, count: int) -> int:
    """How many of ``count`` activates, the last ones, may follow one of their own group."""
    in_group = -(-rows // part.bank_groups)  # banks that the buffer has in a group, at most
    if in_group == 1:
        return 0
    if bursts > part.nRRD_S + 1:
        return count - 1
    following = 0
    while following + 1 < count:
        others = count - following - 2  # before those, if there were one more
        used = others // 2 if part.bank_groups == 2 else 0
        if following + 2 + used > in_group:
            break
        following += 1
    return following


def activate_times(part: Part, *, bursts: int, rows: int) -> list[int]:
    """The latest times of the first, second, ... activate of a request of up to nB rows.

    See `indexed_issue_delay`.
    """
    times = [0]
    for count in range(2, min(bursts, rows) + 1):
        same = _same_group(part, bursts=bursts, rows=rows, count=count)
        chain = [0]
        for i in range(1, count):
            legal = chain[-1] + (part.nRRD_L if i >= count - same else part.nRRD_S)
            if i >= 4:
                legal = max(legal, chain[-4] + part.nFAW)
            chain.append(legal + (legal >= part.nRCD))
        times.append(max(chain[-1], times[-1]))
    return times


@bound(formula="max over k of (T(k) + nRCD + (b - k) nCCD_L) + nRTP + nRP, at least "
               "T(min(b, rows)) + nRC; beyond nB rows b * max(nRC, nRCD + nRTP + nRP); "
               "writes: nCWD + nBURST + nWR for nRTP", source="this project")
def indexed_issue_delay(*, part: str | Part, bursts: int, rows: int, write: int) -> int:
    """LID of an indexed request of b = ``bursts`` words in a buffer of ``rows`` rows.

    **More than nB rows.** All words may lie in different rows of one bank. Each costs a row cycle:
    nRC, or activate, column command and recovery, if that is longer. Reached: for any b.

    **Up to nB rows**, no bank holds two rows: no row is left before the end of the request, and
    each of the banks is activated once.

    *Activates.* Let T(k) be the latest time of the k-th. They are nRRD_S apart, or nRRD_L if only
    banks of the same group wait; the fifth follows the first by nFAW; and an activate that meets a
    column command comes one clock later (rule 3), which can happen from nRCD on. With up to nBG
    rows, all lie in different groups. If all bursts have arrived before the second activate is due
    (b <= nRRD_S + 1), an activate follows one of the same group only if no other group is left: so
    do the last ones only, and no more than a group has banks. Otherwise any may.

    *Column commands.* Look back from the last one: each comes no more than nCCD_L behind another
    which held it up, until one was held up by its activate, the k-th. That one came at T(k) + nRCD
    at the latest, and since the k - 1 banks before had each had its first by then, no more than
    b - k followed it. *Closing*: the last column command's bank recovers; and the bank activated
    last may not be activated again within nRC.

    With four groups, activates may come faster than column commands, and k - 1 banks may not all
    have been served when the k-th opens; but then b commands from the first bank on (k = 1) take
    as long. That part of the argument, and that no activate comes late because a full FIFO held up
    its burst, are not proved but searched: exhaustively for short requests, by hill climbing for up
    to 64 words, and at random for up to 1,024. Nothing came beyond.

    Exact over more than nB rows, over one and two rows, and with four groups up to four. Else it
    exceeds the worst that was found: for b <= rows by 5 clocks at most (two groups; 21 with four),
    for longer requests by up to 26 (15), whatever b, for rule 5 opens the fuller banks first, and
    the words in these are read before the bank that opens last: with two groups at 3200, from
    b = 16 on, nothing came beyond nRCD + nRRD_L + (b - 2) nCCD_L + nRTP + nRP. The longest that are
    known: ``index_witnesses.py``, a table in docs/dram.md.
    """
    known = part_named(part)
    check_request(bursts, write)
    check_count("rows", rows)
    closing = recovery(known, write)
    if rows > known.banks:
        return bursts * max(known.nRC, known.nRCD + closing)
    times = activate_times(known, bursts=bursts, rows=rows)
    access = max(time + (bursts - k) * known.nCCD_L for k, time in enumerate(times, 1))
    return max(known.nRCD + access + closing, times[-1] + known.nRC)
