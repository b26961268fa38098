"""How much sooner than every nCCD_L the words of an indexed request are read or written."""

from functools import lru_cache

from cyclebound.golden.dram.timing import Part

__all__ = ["least_saved"]


@lru_cache(maxsize=1 << 18)
def least_saved(part: Part, first: int, waiting: tuple[tuple[int, int, int], ...]) -> int:
    """Clocks that column commands save on nCCD_L each, at least.

    The first of them comes at ``first``, in clocks, or sooner; none of their gaps is longer than
    nCCD_L. ``waiting``: time from which a bank is open, its group, and its words, none served
    before ``first``; by time. So of n commands, the last one comes by
    ``first + (n - 1) nCCD_L - least_saved``.

    A gap is nCCD_S if, when it ends, another group than the command's has a word in an open bank:
    nothing goes before a column command, and that group's last one was two gaps ago or more
    (which must be nCCD_L: 0 for parts with 2 nCCD_S < nCCD_L). Take the words that wait by a time
    T; a command takes one of them at most. Let m lie outside the group that has most. If all
    commands came after T - nCCD_S, two groups would have words left after each of the first
    m - 1, and another group than the command's after the m-th; of two groups, which are served by
    turns then, after each of the first 2m - 1. If x came sooner, it is m - x for m; and the next
    one comes by ``first + x nCCD_L``, and by ``T - nCCD_S - 1 + nCCD_L`` if x > 0. What is saved is
    the least for any x, and the most for any T.
    """
    step, short = part.nCCD_L, part.nCCD_S
    if not short < step <= 2 * short:
        return 0
    amounts, most = [0] * part.bank_groups, 0
    for time, group, entries in waiting:
        amounts[group] += entries
        mixed = sum(amounts) - max(amounts)
        least = None
        for sooner in range(mixed + 1 if time > short else 1):
            gaps = mixed - sooner
            if part.bank_groups == 2:
                gaps = max(0, 2 * gaps - 1)
            saved = (step - short) * gaps
            if sooner:
                saved += max(0, first + sooner * step - (time - short - 1 + step))
            least = saved if least is None else min(least, saved)
        most = max(most, least or 0)
    return most
