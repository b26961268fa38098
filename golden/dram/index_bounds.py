"""Longest issue delays of indexed requests: one burst for each word, wherever it lies.

What can be known of an indexed request is its number of words and how many *rows* its buffer
covers. A row, here and in Sim-D, is one bank's row of 128 bursts: consecutive bursts lie in two
banks by turns, so that a buffer of more than one burst covers two rows at least. Rows of a buffer
follow each other through the banks; up to nB of them, no bank holds two.
"""

from cyclebound.golden.bound import bound, check_count
from cyclebound.golden.dram.bounds import check_request, most_bursts, recovery
from cyclebound.golden.dram.index_chains import alternate, fewest_extras, frozen, latest_activates
from cyclebound.golden.dram.index_table import longest_known
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["buffer_rows", "derived_issue_delay", "indexed_issue_delay", "rows_tool"]


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


def _access(part: Part, bursts: int, rows: int) -> int:
    """From nRCD behind the first activate to the last column command; see `indexed_issue_delay`."""
    orderly = part.nRRD_S >= part.nCCD_S and part.nRRD_L >= part.nCCD_L
    most = min(bursts, rows)
    soon = max(2, -(-(bursts - 1) // part.nRRD_S) + 1)
    longest = 2 * part.nRRD_S + (bursts - 3) * part.nCCD_L if most > 2 else 0
    for k in range(1, most + 1):
        for left in range(1, most - k + 2):
            fewest = fewest_extras(part, bursts=bursts, opened=k - 1, left=left)
            for extras in sorted({fewest, max(fewest, 1), FIFO_DEPTH}):
                if extras > bursts - k:
                    continue
                sticky = soon if extras < FIFO_DEPTH else 99
                if frozen(part, opened=k - 1, left=left, extras=extras):
                    sticky = min(sticky, 4)
                    if alternate(part, bursts=bursts, rows=rows, left=left, extras=extras):
                        sticky = 2
                times = latest_activates(part, count=k, rows=rows,
                                         single=orderly and not extras, sticky=sticky)
                longest = max(longest, times[-1] + (bursts - k - extras) * part.nCCD_L)
    return longest


def _last_activate(part: Part, bursts: int, rows: int) -> int:
    """Latest time of the last activate; no bank's FIFO is full if none can have 9 words."""
    orderly = part.nRRD_S >= part.nCCD_S and part.nRRD_L >= part.nCCD_L
    soon = max(2, -(-(bursts - 1) // part.nRRD_S) + 1)
    return max(latest_activates(part, count=count, rows=rows, single=orderly and count == bursts,
                                sticky=soon if bursts - count < FIFO_DEPTH else 99)[-1]
               for count in range(1, min(bursts, rows) + 1))


def derived_issue_delay(part: Part, bursts: int, rows: int, write: int) -> int:
    """What the derivation of `indexed_issue_delay` gives for any part, without the search."""
    closing = recovery(part, write)
    if rows > part.banks:
        return bursts * max(part.nRC, part.nRCD + closing)
    served = part.nRCD + _access(part, bursts, rows) + closing
    cycled = _last_activate(part, bursts, rows) + part.nRC
    return max(served, cycled) + int(served == cycled and min(bursts, rows) > 1)


@bound(formula="max over k, e of (T(k, e) + nRCD + (b - k - e) nCCD_L) + nRTP + nRP, at least "
               "T(min(b, rows)) + nRC; beyond nB rows b * max(nRC, nRCD + nRTP + nRP); "
               "writes: nCWD + nBURST + nWR for nRTP", source="this project")
def indexed_issue_delay(*, part: str | Part, bursts: int, rows: int, write: int) -> int:
    """LID of an indexed request of b = ``bursts`` words in a buffer of ``rows`` rows.

    **More than nB rows.** All words may lie in different rows of one bank. Each costs a row cycle:
    nRC, or activate, column command and recovery, if that is longer. Reached: for any b.

    **Up to nB rows**, no bank holds two rows: no row is left before the end of the request, and
    each of the banks is activated once.

    *Column commands.* While an open bank has words, one comes every nCCD_L at least. So look back
    from the last one to the last longer pause. An activate ended it, the k-th: k - 1 banks are open
    then, and all their words that have arrived are done. Those are k - 1 + e, e *extras*; from
    that activate on it takes ``nRCD + (b - k - e) nCCD_L`` to the last column command.

    *Activates*, T(k, e): the latest time of the k-th. They are nRRD_S apart, or nRRD_L if only
    banks of the same group wait; the fifth follows the first by nFAW; one that meets a column
    command comes a clock later (rule 3). With e = 0 the column commands are nRCD behind their
    activates, so that it is known which meet; with e > 0, any may. A word arrives each cycle until
    a FIFO is full. Once all have arrived, an activate follows one of its own group only if
    no other group has a bank that waits, and so do then all others: from the i-th on, if
    b <= (i - 1) nRRD_S + 1. (With e < 8 no FIFO of an open bank has been full before. One of a bank
    that is still closed may be, but then nothing arrives until it opens.)  With two groups, the
    same is true from the fourth on whatever b, if ``frozen``: more words would have arrived than
    there is room for in open banks and u closed ones; and the first three are of different groups
    by turns, if all words that came by then cannot lie in one group (``alternate``). All ways
    through the groups are tried (``latest_activates``).

    *Extras.* Before the first column command, the fullest bank that may be activated is (rule
    5). With two groups and k > 3, a bank that is still closed could have been the second
    or the third: it is in the second's group, or of the first's, and the third came nRRD_L later.
    So it had no more words then than the one chosen, at most 1 + e; one more if it
    has the request's last (whose entry does not count). u closed banks and k - 1 open ones
    hold all words that came by nRRD_S, min(b, nRRD_S + 1) = a of them:
    ``a <= k - 1 + e + u (1 + e)``, which gives the least e (``fewest_extras``). For k = 3, a bank
    that had more opens at 2 nRRD_S. With four groups, a bank could have been the third or fourth,
    where nRRD_S + 2 nRRD_L < nRCD; then a = min(b, 2 nRRD_S + 1), from k = 5.

    *Closing*: the last column command's bank recovers; and the bank activated last may not be
    activated again within nRC. If both come at once, one of the precharges is a clock late.

    **The parts of Sim-D's Table 1**: where an exact search of all requests (``index_exact.py``)
    says less than this derivation, its result is the bound, from ``indexed_longest.csv``. What the
    derivation does not use is that a bank which is left for last must also lie in front of the
    current pair at each choice behind the first column command, and the one chosen must not.
    Table: docs/dram.md.

    **Not proved** in all detail, but searched: that arrivals which a full FIFO of an open bank held
    up make nothing longer (its 9 words take longer than what was held up needs to open).
    """
    known = part_named(part)
    check_request(bursts, write)
    check_count("rows", rows)
    derived = derived_issue_delay(known, bursts, rows, write)
    searched = longest_known(known, bursts=bursts, rows=rows, write=write)
    return derived if searched is None else min(derived, searched)
