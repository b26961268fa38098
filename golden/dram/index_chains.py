"""How late the activates of an indexed request of up to nB rows can be, if none waits for a word.

A part of what `indexed_issue_delay` is put together from; docs/dram-indexed.md has the argument.
"""

from functools import lru_cache
from typing import NamedTuple

from cyclebound.golden.dram.timing import Part

__all__ = ["latest_activates"]


_MOST = 1000  # states


class _Opening(NamedTuple):
    """Activates so far: times of those that still matter, banks in the last one's group and, of
    two groups, in the other; ``tail`` if no other group has a bank that waits."""

    times: tuple[int, ...]
    own: int
    other: int
    tail: bool


def _next(part: Part, state: _Opening, gap: int, single: bool) -> tuple[int, ...]:
    """Times with that of the next activate, at least ``gap`` after the latest one."""
    times = state.times
    legal = times[-1] + gap
    if len(times) >= 4:
        legal = max(legal, times[-4] + part.nFAW)
    if single:
        legal += legal - part.nRCD in times
        return (*(time for time in times[:-3] if time + part.nRCD > legal), *times[-3:], legal)
    alone = part.nRCD < legal < part.nRCD + min(part.nRRD_S, part.nCCD_L)
    legal += legal >= part.nRCD and not alone  # the first bank's, with none to follow yet
    return (*times[-3:], legal)


@lru_cache(maxsize=1024)
def latest_activates(part: Part, *, count: int, rows: int, single: bool, sticky: int
                     ) -> tuple[int, ...]:
    """The latest times of the first ``count`` activates, of banks of ``rows`` rows.

    All ways to go through the groups are tried: the next bank is of the last one's group (nRRD_L)
    or of another, and no group has more than ceil(rows / nBG) banks. One of another group waits for
    nRRD_S, and nRRD_L after its own group's; as long as words come, its own may come later, if
    until then a bank of the last one's group waits. From activate number ``sticky`` on, all words
    have come: one follows its own group only if no other is left, and so do then all others.
    ``single``: each of these banks but the last has been asked for one word only, so that column
    commands follow activates by nRCD; else every activate that can meet a column command does,
    and so it is taken to be where there would be too many ways.
    """
    in_group = -(-rows // part.bank_groups)
    states, latest = {_Opening((0,), 1, 0, False)}, [0]
    for number in range(2, count + 1):
        following = set()
        soonest = max(part.nRRD_S, part.nRRD_L - part.nRRD_S)
        for state in states:
            gaps = range(soonest, soonest + 1)
            if part.bank_groups > 1 and state.own < in_group:
                if number < sticky:
                    gaps = range(part.nRRD_S if single else part.nRRD_L, part.nRRD_L + 1)
                waits = _next(part, state, soonest, single)[-1] < state.times[-1] + part.nRRD_L
                following.add(_Opening(_next(part, state, part.nRRD_L, single), state.own + 1,
                                       state.other, state.tail or (waits and number >= sticky)))
            if not state.tail and (part.bank_groups != 2 or state.other < in_group):
                own, other = (state.other + 1, state.own) if part.bank_groups == 2 else (1, 0)
                following.update(_Opening(_next(part, state, gap, single), own, other, False)
                                 for gap in gaps)
        if single and len(following) > _MOST:
            coarse = latest_activates(part, count=count, rows=rows, single=False, sticky=sticky)
            return (*latest, *coarse[number - 1:])
        states = following
        latest.append(max((state.times[-1] for state in states), default=latest[-1]))
    return tuple(latest)
