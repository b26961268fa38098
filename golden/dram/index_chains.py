"""What can delay an indexed request of up to nB rows: its activates, and words served before them.

The parts that `indexed_issue_delay` is put together from; its docstring has the argument.
"""

from functools import lru_cache
from typing import NamedTuple

from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part

__all__ = ["alternate", "fewest_extras", "frozen", "latest_activates"]


class _Opening(NamedTuple):
    """Activates so far: times of those that still matter, banks in the last one's group and, of
    two groups, in the other; ``tail`` if no other group has a bank that waits."""

    times: tuple[int, ...]
    own: int
    other: int
    tail: bool


def _next(part: Part, state: _Opening, same: bool, single: bool) -> tuple[int, ...]:
    """Times with that of the next activate, the latest."""
    times = state.times
    legal = times[-1] + (part.nRRD_L if same else part.nRRD_S)
    if len(times) >= 4:
        legal = max(legal, times[-4] + part.nFAW)
    if single:
        legal += legal - part.nRCD in times
    else:
        alone = part.nRCD < legal < part.nRCD + min(part.nRRD_S, part.nCCD_L)
        legal += legal >= part.nRCD and not alone  # the first bank's, with none to follow yet
    older = tuple(time for time in times[:-3] if time + part.nRCD > legal)
    return (*older, *times[-3:], legal)


@lru_cache(maxsize=1024)
def latest_activates(part: Part, *, count: int, rows: int, single: bool, sticky: int
                     ) -> tuple[int, ...]:
    """The latest times of the first ``count`` activates, of banks of ``rows`` rows.

    All ways to go through the groups are tried: the next bank is of another group than the last
    one (nRRD_S) or of the same (nRRD_L), and no group has more than ceil(rows / nBG) banks. From
    activate number ``sticky`` on, one follows its own group only if no other is left: so do then
    all others. ``single``: each of these banks but the last has been asked for one word only; else
    every activate that can meet a column command does.
    """
    in_group = -(-rows // part.bank_groups)
    states, latest = {_Opening((0,), 1, 0, False)}, [0]
    for number in range(2, count + 1):
        following = set()
        for state in states:
            mixed = _next(part, state, False, single)
            if part.bank_groups > 1 and state.own < in_group:
                waits = mixed[-1] < state.times[-1] + part.nRRD_L  # for its own group alone
                following.add(_Opening(_next(part, state, True, single), state.own + 1,
                                       state.other, state.tail or (waits and number >= sticky)))
            if not state.tail and (part.bank_groups != 2 or state.other < in_group):
                own, other = (state.other + 1, state.own) if part.bank_groups == 2 else (1, 0)
                following.add(_Opening(mixed, own, other, False))
        states = following
        latest.append(max((state.times[-1] for state in states), default=latest[-1]))
    return tuple(latest)


def fewest_extras(part: Part, *, bursts: int, opened: int, left: int) -> int:
    """Words beyond one each that ``opened`` banks have been asked for at least, all together, when
    ``left`` other banks are still closed, or have just been opened.

    Derived for two activates or more before the first column command; else 0.
    """
    if part.bank_groups == 1 or part.nRRD_L > 2 * part.nRRD_S:
        return 0
    came = 0
    if part.bank_groups == 2 and opened >= 2 and part.nRRD_S + part.nRRD_L < part.nRCD:
        came = part.nRRD_S + 1
    if opened >= 4 and part.nRRD_S + 2 * part.nRRD_L < part.nRCD:
        came = 2 * part.nRRD_S + 1
    last = int(bursts <= came)
    return max(0, -(-(min(bursts, came) - opened - left - last) // (1 + left)))


def frozen(part: Part, *, opened: int, left: int, extras: int) -> bool:
    """Whether nothing new can arrive between the fourth activate and that of the first of ``left``.
    """
    return (part.bank_groups == 2 and extras < FIFO_DEPTH
            and 3 * part.nRRD_S + 1 > opened + extras + (FIFO_DEPTH + 1) * left)


def alternate(part: Part, *, bursts: int, rows: int, left: int, extras: int) -> bool:
    """Whether the second and third activate are of another group than the ones before.

    Else all words that came by nRRD_S would lie in one group, and in the first bank: more than
    ``extras`` allow for.
    """
    came = min(bursts, part.nRRD_S + 1)
    in_group = -(-rows // 2)
    return (part.bank_groups == 2 and part.nRRD_S + part.nRRD_L < part.nRCD
            and part.nRRD_L <= 2 * part.nRRD_S
            and came - int(came == bursts) > in_group + 1 + extras * (1 + left))
