"""Requests that probes printed in a simulation, grouped by parameters and latency.

A probe prints a line where a request begins (with the parameters that ports show) and one where it
ends (with its first and last cycle and its latency). Testbenches declared, as they went, what class
the requests that begin from then on are of. Here the three meet.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cyclebound.tb.probe import MARK

__all__ = ["Seen", "grouped", "read_requests"]


@dataclass(frozen=True)
class Seen:
    """All requests that one probe saw in a simulation.

    Attributes
    ----------
    what : str
        The probe's name.
    at : dict of str to int
        Its indexes.
    names : tuple[str, ...]
        The parameters that ports show.
    began : numpy array, shape (n, 1 + len(names))
        First cycle and those parameters, in the order of beginning.
    ended : numpy array, shape (m, 3)
        First cycle, last cycle and latency, in the order of ending.
    counts_cycles : bool
        Whether latencies are all cycles from the first on, and not other ticks, or a turn's.
    in_turn : bool
        Whether they are all cycles of a turn (`cyclebound.tb.probe.Probe.in_turn`).
    """

    what: str
    at: Mapping[str, int]
    names: tuple[str, ...]
    began: np.ndarray
    ended: np.ndarray
    counts_cycles: bool = True
    in_turn: bool = False


def read_requests(path: Path, printed: Sequence[Mapping]) -> tuple[list[Seen], list[str]]:
    """The lines that probes printed to that file; and the other lines in it.

    ``printed`` describes the probes, as `cyclebound.sim.elaborate.FlatTop.printed` does.
    """
    began: dict[tuple[int, int], list[str]] = {}
    ended: dict[tuple[int, int], list[str]] = {}
    others = []
    with path.open(errors="replace") as lines:
        for line in lines:
            if not line.startswith(MARK):
                others.append(line)
                continue
            mark, number, place, rest = line.split(" ", 3)
            table = began if mark == MARK else ended
            table.setdefault((int(number), int(place)), []).append(rest)
    found = []
    for number, probe in enumerate(printed):
        names = tuple(probe["names"])
        for place, at in enumerate(probe["places"]):
            key = number, place
            found.append(Seen(probe["what"], at, names,
                              _table(began.get(key, ()), 1 + len(names)),
                              _table(ended.get(key, ()), 3), probe["counts_cycles"],
                              probe["in_turn"]))
    return found, others


def _table(rows: Sequence[str], columns: int) -> np.ndarray:
    """Lines of whole numbers as an array, without one that the simulator's end cut off."""
    whole = [row for row in rows[-1:] if not row.endswith("\n")]
    text = "".join(rows[:len(rows) - len(whole)])
    return np.array(text.split(), dtype=np.int64).reshape(-1, columns)


def grouped(seen: Sequence[Seen], meta: Mapping) -> Iterator[tuple]:
    """A test's requests: (what, parameters, latency, count, first, last) by kind and latency.

    Cycles count from the test's start. A request that is still under way when its test ends, or
    when a reset cuts it off, has a count of 0, and as its latency the cycles that it has taken so
    far, so that one that never ends is seen. Of requests in turn that is the one whose turn it is;
    where other ticks are counted than cycles, how many there were is not known, and it is left out.

    Parameters
    ----------
    meta : mapping
        What `cyclebound.tb.bench.Bench.close` wrote.
    """
    for probe in seen:
        yield from _of_probe(probe, meta)


def _of_probe(probe: Seen, meta: Mapping) -> Iterator[tuple]:
    start, end = meta["start"], meta["end"]
    began, ends = probe.began.copy(), probe.ended.copy()
    began[:, 0] -= meta["shift"]
    ends[:, :2] -= meta["shift"]
    began = began[(began[:, 0] >= start) & (began[:, 0] < end)]
    if not len(began):
        return
    ends = ends[(ends[:, 0] >= start) & (ends[:, 1] < end)]
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    place = np.searchsorted(ends[:, 0], began[:, 0])
    known = np.zeros(len(began), dtype=bool)
    inside = place < len(ends)
    known[inside] = ends[place[inside], 0] == began[inside, 0]
    # under way until the test's end, or the reset that cut it off
    stops = np.append(np.array(meta["resets"], dtype=np.int64), end)
    stop = np.minimum(stops[np.searchsorted(stops[:-1], began[:, 0], side="right")], end)
    since = _turns(began[:, 0], known, stop, ends) if probe.in_turn else began[:, 0]
    last, latency = stop - 1, stop - since  # so far
    last[known], latency[known] = ends[place[known], 1], ends[place[known], 2]
    whole = known | ((probe.counts_cycles | probe.in_turn) & (latency > 0))
    kinds = _declared(probe, meta, began[:, 0])
    table = np.column_stack([kinds[0], began[:, 1:], latency, ~known])[whole]
    cycles = np.column_stack([began[:, 0], last])[whole]
    rows, index, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
    for row, at, count in zip(rows, index, counts, strict=True):
        said = kinds[1][row[0]]
        if said is None:
            continue
        parameters = {**said, **dict(zip(probe.names, map(int, row[1:-2]), strict=True))}
        first, final = cycles[at] - start
        yield (probe.what, parameters, int(row[-2]), 0 if row[-1] else int(count), int(first),
               int(final))


def _turns(first: np.ndarray, known: np.ndarray, stop: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """For each request that has not ended, the cycle in which its turn has begun, at the latest.

    Of several that the same reset or end cut off, only the first has had its turn.
    """
    since = stop.copy()
    for at in np.unique(stop[~known], return_index=True)[1]:
        one = np.flatnonzero(~known)[at]
        before = ends[ends[:, 0] < first[one], 1]
        since[one] = max(first[one], before.max(initial=-1) + 1)
    return since


def _declared(probe: Seen, meta: Mapping, first: np.ndarray) -> tuple[np.ndarray, list]:
    """For each request a number, and by number what was declared of it; None: nothing.

    Where the bound needs nothing that has to be declared, each request is of its one class.
    """
    cycles, classes = [], []
    for what, cycle, at, parameters in meta["said"]:
        if what == probe.what and (at is None or at == probe.at):
            cycles.append(cycle)
            classes.append(parameters)
    if not cycles:
        return np.zeros(len(first), dtype=np.int64), [{}]
    distinct: list = [None]
    numbers = [0]
    for said in classes:
        if said not in distinct:
            distinct.append(said)
        numbers.append(distinct.index(said))
    return np.array([numbers[bisect_right(cycles, cycle)] for cycle in first]), distinct
