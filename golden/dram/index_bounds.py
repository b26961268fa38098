"""Longest issue delays of indexed requests: one burst for each word, wherever it lies.

What can be known of an indexed request is its number of words and how many *rows* its buffer
covers. A row, here and in Sim-D, is one bank's row of 128 bursts: consecutive bursts lie in two
banks by turns, so that a buffer of more than one burst covers two rows at least. Rows of a buffer
follow each other through the banks; up to nB of them, no bank holds two.
"""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, check_count
from cyclebound.golden.dram.bounds import Bursts, Write, check_request, most_bursts
from cyclebound.golden.dram.index_general import general_issue_delay
from cyclebound.golden.dram.index_table import longest_known
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["Refused", "Rows", "Starved", "buffer_rows", "indexed_issue_delay", "indexed_origin",
           "rows_of", "rows_tool"]

Rows = Annotated[int, Range(1, says="rows of banks that the buffer covers")]
Refused = Annotated[int, Range(0, says="indexes beyond the buffer")]
Starved = Annotated[int, Range(0, says="cycles without an index on offer")]


def buffer_rows(*, part: str | Part, words: int) -> int:
    """Rows that a buffer of ``words`` words covers at most, over all alignments.

    The worst alignments begin with the last burst, or the last two, before a pair's row ends.
    """
    device = part_named(part)
    bursts = most_bursts(words=words)
    pair = 2 * device.bursts_per_row

    def covered(head: int) -> int:
        """Rows covered with ``head`` bursts before the end of the first pair's row."""
        pairs, rest = divmod(bursts - head, pair)
        return head + 2 * pairs + min(rest, 2)

    return max(covered(head) for head in (1, 2) if head <= bursts)


def rows_of(*, part: str | Part, address: int, words: int) -> int:
    """Rows that the buffer of ``words`` words from word ``address`` on covers."""
    pair = 2 * part_named(part).bursts_per_row
    first, last = address // BURST_WORDS, (address + words - 1) // BURST_WORDS
    if first // pair == last // pair:
        return min(last - first + 1, 2)
    middle = last // pair - first // pair - 1
    return min(pair - first % pair, 2) + 2 * middle + min(last % pair + 1, 2)


def rows_tool(*, words: int) -> int:
    """Rows of a buffer of ``words`` words as the authors' tool computes them: up to 1 fewer than
    `buffer_rows` within a class of Eq. 16."""
    check_count("words", words)
    if words == 1:
        return 1
    return 2 if words <= 17 else 2 + -(-(words - 17) // 2048)


def indexed_origin(*, part: str | Part, bursts: int, rows: int, write: int, refused: int = 0,
                   starved: int = 0) -> str:
    """The origin of `indexed_issue_delay`'s value: the derivation, or the search."""
    searched = _bound_of(part, bursts, rows, write, refused, starved)[1]
    return ("searched: golden/dram/indexed_longest.csv, `cyclebound dram table --check`"
            if searched else "derived: docs/dram-indexed.md")


def _bound_of(part: str | Part, bursts: int, rows: int, write: int, refused: int, starved: int
              ) -> tuple[int, bool]:
    """The bound, and whether the searched table decides it."""
    device = part_named(part)
    check_request(bursts, write)
    check_count("rows", rows)
    check_count("refused", refused, least=0)
    check_count("starved", starved, least=0)
    derived = general_issue_delay(device, bursts, rows, write, refused + starved)
    searched = None
    if not refused + starved and rows <= device.banks:
        searched = longest_known(device, bursts=bursts, rows=rows, write=write)
    if searched is None or searched >= derived:
        return derived, False
    return searched, True


@bound(formula="max(nRCD + (b - 1) nCCD_L + lag + nRTP, A + nRAS) + nRP, at least A + nRC; beyond "
               "nB rows b * max(nRC, nRCD + nRTP + nRP); writes: nCWD + nBURST + nWR for nRTP; "
               "+ gaps (docs/dram-indexed.md); Sim-D's parts: searched where that says less",
       source="this project", origin=indexed_origin,
       environment="the words lie anywhere in so many rows, in any order; requests before it were "
                   "any, and the next one, or a refresh, waits")
def indexed_issue_delay(*, part: str | Part, bursts: Bursts, rows: Rows, write: Write,
                        refused: Refused = 0, starved: Starved = 0) -> int:
    """LID of an indexed request of b = ``bursts`` words in a buffer of ``rows`` rows.

    Derived for any part in docs/dram-indexed.md; in short:

    - **More than nB rows**: a row cycle for each word, nRC, or activate, column command and
      recovery, if that is longer. Reached for any b, by different rows of one bank.
    - **Up to nB rows**, each bank is activated once. While an open bank has words, a column command
      comes every nCCD_L at least; ``lag`` is how much later the one that ends the last longer pause
      can be, and A how late the last activate. Both come from chains of activates (nRRD_S, nRRD_L,
      nFAW, and a clock for each column command that takes the pins), and from what full FIFOs of
      open banks can hold up.

    **Gaps.** ``refused`` is how many indexes beyond the buffer the request has, which are known
    before it: each takes a clock in which no word comes. ``starved`` is what its source promises:
    the clocks at most, from the first legal index to the end, in which the iterator is ready and
    no index is on offer. The issue delay counts from the request's first command to the first cycle
    of the next request's, gaps included. Each gap costs a clock at most, wherever it lies. A
    request without such a promise has no bound; those of other requests do not depend on it, since
    they count from their own first commands.

    **The parts of Sim-D's Table 1**: where an exact search of all requests without gaps
    (`tools.dram.index_exact`) says less than the derivation, its result is the bound, from
    ``indexed_longest.csv``; ``cyclebound dram table --check`` derives all of it anew.
    """
    return _bound_of(part, bursts, rows, write, refused, starved)[0]
