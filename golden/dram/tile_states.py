"""All states that tiles can bring generator and arbiter to, burst by burst.

What the arbiter does next depends on what waits in the banks' FIFOs and on how long each kind of
command is still illegal, and on nothing else: not on the clock, nor on rows and columns. Two tiles
that have led to the same *state* go on alike for as long as their bursts do. `TileStates` follows
the golden model of the arbiter from state to state, once for each burst that can come next, and
keeps where it led and how long it took. ``tile_search.py`` takes all alignments of a tile through
it at once.

**A state** is taken just after the cycle's push of a burst, before the arbiter's choice of that
cycle. It has, for each bank, the kinds of its entries and whether it is open; when its next
commands become legal, from now; the same for each group and the rank, and the four-activate window;
the current pair; and which banks of the last burst's pair the request has open. A time that has
passed counts as 0. Times that will be set anew before they are read are left out: of a closed bank,
those of reads, writes and precharges; of an open one, that of its next activate.

**A token** is a burst as the generator passes it on: its bank; whether it begins a *visit* (a run
of bursts in the same row of the same pair of banks); and whether it ends one. It decides everything
about the entries that the burst adds (`CommandGeneratorModel.step`): the burst's bank is activated
if this visit has not touched it, and the last burst of a visit closes its bank and, with an entry
of its own, the sibling, if that was touched. As a number: ``2 * bank + ends``, and as many tokens
more as there are of these if it ``begins``.
"""

import functools
from collections import deque
from collections.abc import Iterable

import numpy as np

from cyclebound.golden.dram.command_arbiter import CommandArbiterModel
from cyclebound.golden.dram.command_generator import BankOperation
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part

__all__ = ["TileStates", "tile_states"]

_ENTRIES = {(activate, close): BankOperation(activate=activate, close=close)
            for activate in (False, True) for close in (False, True)}
_WRITES = {key: operation._replace(write=True) for key, operation in _ENTRIES.items()}
_PRECHARGE_ONLY = BankOperation(precharge_only=True)


class _Resumed(CommandArbiterModel):
    """The golden model, taken up in a state at time 0; ``touched`` are open banks of the visit."""

    def __init__(self, part: Part, state: tuple | None, entries: dict) -> None:
        super().__init__(part)
        self.touched = 0
        if state is None:
            return
        (banks, group_cas, group_activate, self._rank_cas, self._rank_activate, window,
         self._current, self.touched) = state
        for bank, (queue, step, *times) in enumerate(banks):
            self.queues[bank].extend(_PRECHARGE_ONLY if code is None else entries[code]
                                     for code in queue)
            self._step[bank] = step
            if len(times) == 1:
                self._activate[bank] = times[0]
                self.holdoff = max(self.holdoff, times[0])
            else:
                self._cas[bank], self._precharge[bank], end = times
                self._activated[bank] = end - part.nRC
        self._group_cas[:] = group_cas
        self._group_activate[:] = group_activate
        self._window = deque((time - part.nFAW for time in window), maxlen=4)
        for bank, queue in enumerate(self.queues):
            if queue:
                self.due[bank] = self._earliest(bank)

    def proceed(self, now: int) -> None:
        """Issue what is chosen at ``now``."""
        chosen = self.choose(now)
        if chosen is not None:
            self.issue(now, chosen)

    def kept(self, pair: int, now: int) -> tuple:
        """The state at ``now``, if the last burst was one of the ``pair`` of banks."""
        def left(times: Iterable[int], more: int = 0) -> tuple[int, ...]:
            return tuple(max(0, time + more - now) for time in times)

        banks = []
        for bank, queue in enumerate(self.queues):
            if queue:
                step, is_open = self._step[bank], not queue[0].activate or self._step[bank] == 0
            else:
                step, is_open = 0, bank & ~1 == pair and bool(self.touched >> (bank & 1) & 1)
            codes = tuple(None if operation.precharge_only
                          else (operation.activate, operation.close)
                          for operation in queue)
            banks.append((codes, step, *(
                (*left((self._cas[bank], self._precharge[bank])),
                 *left((self._activated[bank],), self.part.nRC)) if is_open
                else left((self._activate[bank],)))))
        return (tuple(banks), left(self._group_cas), left(self._group_activate),
                *left((self._rank_cas, self._rank_activate)), left(self._window, self.part.nFAW),
                self._current, self.touched)


class TileStates:
    """The states of one part in one direction, found as they are asked for.

    Parameters
    ----------
    part : Part
        The DRAM.
    write : bool
        From the chip to DRAM.

    Attributes
    ----------
    FIRST : int
        The state before a request's first burst.
    """

    FIRST = 0

    def __init__(self, part: Part, *, write: bool) -> None:
        self.part, self.write = part, write
        self._entries = _WRITES if write else _ENTRIES
        self._tokens = 4 * part.banks
        self._numbers: dict[tuple, int] = {}
        self._states: list[tuple | None] = [None]
        self._after = np.full((256, self._tokens), -1, dtype=np.int32)
        self._took = np.zeros((256, self._tokens), dtype=np.int32)
        self._holdoff = np.full(256, -1, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._states)

    # -- many at a time ------------------------------------------------------------------------

    def step(self, states: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The states after these ones' next bursts, and the clocks that each of them took."""
        after = self._after[states, tokens]
        if after.size and after.min() < 0:
            missing = after < 0
            keys = np.unique(states[missing].astype(np.int64) * self._tokens + tokens[missing])
            for key in keys.tolist():
                state, token = divmod(key, self._tokens)
                following, took = self._follow(state, token)
                self._after[state, token], self._took[state, token] = following, took
            after = self._after[states, tokens]
        return after, self._took[states, tokens]

    def holdoff(self, states: np.ndarray) -> np.ndarray:
        """Clocks from each state to the next request's first command, if no burst follows."""
        holdoff = self._holdoff[states]
        if holdoff.size and holdoff.min() < 0:
            for state in np.unique(states[holdoff < 0]).tolist():
                self._holdoff[state] = self._finish(state)
            holdoff = self._holdoff[states]
        return holdoff

    # -- one at a time -------------------------------------------------------------------------

    def _number(self, state: tuple) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
            if number == len(self._holdoff):
                more = len(self._holdoff)
                self._after = np.concatenate(
                    [self._after, np.full((more, self._tokens), -1, dtype=np.int32)])
                self._took = np.concatenate(
                    [self._took, np.zeros((more, self._tokens), dtype=np.int32)])
                self._holdoff = np.concatenate([self._holdoff, np.full(more, -1, dtype=np.int32)])
        return number

    def _follow(self, state: int, token: int) -> tuple[int, int]:
        """Wait until the FIFOs have room for a token's burst, and push it: state, and clocks."""
        begins, rest = divmod(token, 2 * self.part.banks)
        bank, ends = divmod(rest, 2)
        arbiter = _Resumed(self.part, self._states[state], self._entries)
        if begins:
            arbiter.touched = 0
        own, sibling = 1 << (bank & 1), 2 >> (bank & 1)
        pushes = [(bank, self._entries[not arbiter.touched & own, bool(ends)])]
        if ends and arbiter.touched & sibling:
            pushes.insert(0, (bank ^ 1, _PRECHARGE_ONLY))
        now, room = 0, state == self.FIRST
        while not room:
            room = all(len(arbiter.queues[other]) <= FIFO_DEPTH for other, _ in pushes)
            wake = arbiter.next_time()
            if wake <= now:
                arbiter.proceed(now)
            now = now + 1 if room or wake <= now else wake
        for other, operation in pushes:
            arbiter.push(other, operation)
        arbiter.touched = 0 if ends else arbiter.touched | own
        return self._number(arbiter.kept(bank & ~1, now)), now

    def _finish(self, state: int) -> int:
        """Do all that waits, in a state after the end of a visit."""
        arbiter = _Resumed(self.part, self._states[state], self._entries)
        now = 0
        while arbiter.due:
            now = max(now, arbiter.next_time())
            arbiter.proceed(now)
            now += 1
        return arbiter.holdoff


@functools.lru_cache(maxsize=16)
def tile_states(part: Part, *, write: bool) -> TileStates:
    """The states of a part in one direction, one object for all callers."""
    return TileStates(part, write=write)
