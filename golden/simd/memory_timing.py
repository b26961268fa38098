"""When accesses are done: the DRAM controller and the scratchpads, request by request.

`DramTimeline` gives the cycle in which `golden.dram.controller` would complete each of a sequence
of requests, without stepping through their cycles: a request's first command is due a fixed number
of cycles after it was taken, or as soon as the banks are closed after the request before; what lies
between a first command and closed banks is the request's issue delay (`schedule`), which depends on
its place in a row of all banks only, and is kept. Refreshes that are owed go first.

Ref: Sim-D, sections 3.2 and 3.3.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.controller import INDEX_LEAD, LOOKUP, TILE_LEAD
from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS, TileRequest
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import Crossing, Machine
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.transfers import Access

__all__ = ["SETTLED", "DramTimeline", "bus_lines_of", "indexed_delay", "load_cycles",
           "scratchpad_cycles"]

SETTLED = 40  # DRAM clocks from when a refresh fell due until it is over, besides nRFC, if idle

_INSTRUCTION_BYTES = 8
_KEPT = 2048  # delays of requests index by index, of about 8 KiB each
_INDEX_END = 5  # cycles from the start to completion, besides the lanes, if no index is legal


class DramTimeline:
    """The controller's requests, in the order in which they are taken.

    Parameters
    ----------
    part : Part
        The DRAM.
    lookup, lead : int
        Cycles from taking a request to its start, and from there to its first command if nothing
        holds it up. Those of the controller by default; Sim-D's model has 0 and 2.
    due : int or None
        The cycle in which the first refresh falls due, by default after nREFI; before 0, those that
        fell due until then are owed.

    Attributes
    ----------
    rest : int
        The cycle from which on all banks are closed.
    due : int
        When the next refresh falls due.
    refreshes : int
        How many were done.
    """

    def __init__(self, part: Part, *, lookup: int = LOOKUP - 1, lead: int = TILE_LEAD,
                 due: int | None = None) -> None:
        self.part = part
        self.rest = 0
        self.refreshes = 0
        self._lookup, self._lead = lookup, lead
        self._indexed_lead = lead - TILE_LEAD + INDEX_LEAD
        self.due = part.nREFI if due is None else due
        self._completed = -1  # the cycle in which the last request was completed
        self._delays: dict[tuple[int, int, int, int, bool], int] = {}

    def tile(self, cycle: int, access: Access, *, line_by_line: bool = False) -> int:
        """The cycle in which a tile taken in ``cycle`` is completed.

        ``line_by_line``: see `Machine`. An empty one is refused when all before it are completed.
        """
        if access.empty:
            self._completed = max(cycle + self._lookup, self._completed + 1)
            return self._completed
        if line_by_line:
            access = access.whole_lines
        if not (access.split and line_by_line):
            return self._run(cycle, self._lead, self._tile_delay(access))
        for line in range(access.count):
            done = self._run(cycle, self._lead, self._tile_delay(replace(
                access, address=access.address + line * access.period, count=1)))
        return done

    def indexed(self, cycle: int, access: Access, lanes: Sequence[int], items: int) -> int:
        """The cycle in which an indexed access of ``lanes``, taken in ``cycle``, is completed.

        One lane after the other is examined, one in each cycle from the start of the request on,
        active or not; after all ``items`` of them the end is known.
        """
        assert access.indexes is not None
        indexes = np.array(access.indexes, dtype=np.int64)
        legal = indexes < access.limit
        if not legal.any():
            return self._run(cycle, items + _INDEX_END, 0, ahead=self._indexed_lead)
        late, delay = indexed_delay(self.part, np.array(lanes)[legal], access.address
                                    + indexes[legal], items, write=access.write)
        return self._run(cycle, self._indexed_lead + late, delay, ahead=self._indexed_lead)

    def _run(self, cycle: int, lead: int, delay: int, *, ahead: int | None = None) -> int:
        """A request whose first command is due ``lead`` cycles after its start; it starts
        ``ahead`` cycles before the banks are at rest, if that is not the same."""
        ready = cycle + self._lookup
        while True:
            start = max(ready, self.rest - (lead if ahead is None else ahead))
            if self.due > start:
                break
            self.rest = max(self.due, self.rest) + self.part.nRFC
            self.due += self.part.nREFI
            self.refreshes += 1
        self.rest = self._completed = max(start + lead, self.rest) + delay
        return self.rest

    def _tile_delay(self, access: Access) -> int:
        """The issue delay of a tile, wherever its rows are."""
        sweep = self.part.bursts_per_sweep * BURST_WORDS
        key = (access.address % sweep, access.words, access.period, access.count, access.write)
        if key not in self._delays:
            tile = TileRequest(*key[:4])
            self._delays[key] = schedule(self.part, [burst.address for burst in bursts_of(tile)],
                                         write=access.write).issue_delay
        return self._delays[key]


def indexed_delay(part: Part, lanes: np.ndarray, words: np.ndarray, items: int, *, write: bool
                  ) -> tuple[int, int]:
    """Timing of an indexed request of these lanes for these words, all legal: the clocks by which
    its first command comes later than if the first three lanes took part, and its issue delay from
    there on.

    A burst may enter when two more indexes, or the end after all ``items``, have been seen.
    """
    bursts = words // BURST_WORDS
    bursts = bursts - bursts.min() // part.bursts_per_sweep * part.bursts_per_sweep
    return _indexed_delay(part, lanes.astype(np.int32).tobytes(),
                          bursts.astype(np.int32).tobytes(), items, write)


@lru_cache(maxsize=_KEPT)
def _indexed_delay(part: Part, lanes: bytes, bursts: bytes, items: int, write: bool
                   ) -> tuple[int, int]:
    """Rows have no timing of their own, so that bursts count from any row of all banks."""
    seen = [*np.frombuffer(lanes, np.int32).tolist(), items, items + 1]  # the last one cycle later
    arrivals = [cycle - seen[2] for cycle in seen[2:]]
    scheduled = schedule(part, np.frombuffer(bursts, np.int32).tolist(), write=write, indexed=True,
                         arrivals=arrivals)
    return seen[2] - 2, scheduled.issue_delay


def load_cycles(program: Program, machine: Machine, dram: DramTimeline) -> int:
    """The compute cycle in which a program has been read from DRAM, whole bursts of it, if that is
    taken in clock 0."""
    bursts = -(-_INSTRUCTION_BYTES * len(program.instructions) // BURST_BYTES)
    words = bursts * BURST_WORDS
    done = dram.tile(0, Access("dram", False, 0, words, words, 1, words, lambda: None))
    return Crossing(machine, dram.part.tck_ps).cycle(done + machine.resume_clocks)


@cache
def bus_lines_of(words: int, period: int, count: int, bus: int) -> int:
    """Lines of ``bus`` words, counted from the tile's first word, that have a word of the tile."""
    first = np.arange(count, dtype=np.int64) * period // bus
    last = (np.arange(count, dtype=np.int64) * period + words - 1) // bus
    last_before = np.concatenate([[-1], last[:-1]])
    return int((last - np.maximum(first, last_before + 1) + 1).sum())


def scratchpad_cycles(access: Access, bus: int, *, line_by_line: bool = False) -> int:
    """DRAM clocks of a transfer between scratchpad and registers: a line of the bus in each, and
    one to reach the registers.

    ``line_by_line``: see `Machine`.
    """
    if access.empty:
        return 1
    if line_by_line and access.meets(bus):
        return access.count * -(-access.words // bus) + 1
    return bus_lines_of(access.words, access.period, access.count, bus) + 1
