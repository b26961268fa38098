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

__all__ = ["ProbeRecords", "RequestGroup", "grouped", "read_requests"]

RequestGroup = tuple[str, dict[str, int], int, int, int, int]
"""What, parameters, latency, count, first and last cycle; see `grouped`."""


@dataclass(frozen=True)
class ProbeRecords:
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
        First cycle and those parameters, in the order of beginning. Where other ticks than cycles
        are counted, one column more: ticks since reset, before the first cycle.
    ended : numpy array, shape (m, 3)
        First cycle, last cycle and latency, in the order of ending; with ticks, one column more:
        ticks since reset, the last cycle's included.
    ticks : str
        The name under which a test says how many ticks there were at a reset, or at its end
        (`cyclebound.sim.elaborate.FlatTop.ticked`); empty: latencies are in cycles.
    in_turn : bool
        Whether latencies count from a request's turn (`cyclebound.tb.probe.Probe.in_turn`).
    classed : bool
        Whether only requests that are declared are of the bound's class.
    """

    what: str
    at: Mapping[str, int]
    names: tuple[str, ...]
    began: np.ndarray
    ended: np.ndarray
    ticks: str = ""
    in_turn: bool = False
    classed: bool = True


def read_requests(path: Path, printed: Sequence[Mapping]) -> tuple[list[ProbeRecords], list[str]]:
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
            mark, of_probe, of_place, rest = line.split(" ", 3)
            table = began if mark == MARK else ended
            table.setdefault((int(of_probe), int(of_place)), []).append(rest)
    requests = []
    for number, probe in enumerate(printed):
        names = tuple(probe["names"])
        for place, at in enumerate(probe["places"]):
            key = number, place
            more = int(probe["ticks"])
            requests.append(ProbeRecords(probe["what"], at, names,
                                         _table(began.get(key, ()), 1 + len(names) + more),
                                         _table(ended.get(key, ()), 3 + more),
                                         f"{probe['what']}.{place}" if more else "",
                                         probe["in_turn"], probe["classed"]))
    return requests, others


def _table(rows: Sequence[str], columns: int) -> np.ndarray:
    """Lines of whole numbers as an array, without one that the simulator's end cut off."""
    whole = [row for row in rows[-1:] if not row.endswith("\n")]
    text = "".join(rows[:len(rows) - len(whole)])
    return np.array(text.split(), dtype=np.int64).reshape(-1, columns)


def grouped(seen: Sequence[ProbeRecords], meta: Mapping) -> Iterator[RequestGroup]:
    """A test's requests: (what, parameters, latency, count, first, last) by kind and latency.

    Cycles count from the test's start. A request that is still under way when its test ends, or
    when a reset cuts it off, has a count of 0, and as its latency the cycles that it has taken so
    far, so that one that never ends is seen; or ticks, where these are counted. Of requests in turn
    that is the one whose turn it is.

    A kind of request that was declared and that none ended of is told last, once, with a count and
    a latency of 0.

    Parameters
    ----------
    meta : mapping
        What `cyclebound.tb.bench.Bench.close` wrote.
    """
    ended: dict[str, list[dict]] = {}
    for probe in seen:
        for row in _of_probe(probe, meta):
            if row[3]:
                ended.setdefault(row[0], []).append(row[1])
            yield row
    yield from _only_declared(meta, ended)


def _only_declared(meta: Mapping, ended: Mapping[str, Sequence[Mapping]]
                   ) -> Iterator[RequestGroup]:
    """The kinds that were declared and of which no request has ended, each once."""
    seen: dict[tuple, set[tuple]] = {}
    told = set()
    for what, cycle, _, parameters in meta["said"]:
        names = tuple(sorted(parameters or ()))
        kind = what, *((name, parameters[name]) for name in names)
        if not names or kind in told:
            continue
        told.add(kind)
        if (what, names) not in seen:
            seen[what, names] = {tuple(one.get(name) for name in names)
                                 for one in ended.get(what, ())}
        if tuple(parameters[name] for name in names) not in seen[what, names]:
            at = cycle - meta["start"]
            yield what, dict(parameters), 0, 0, at, at


def _of_probe(probe: ProbeRecords, meta: Mapping) -> Iterator[RequestGroup]:
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
    ended = np.zeros(len(began), dtype=bool)
    inside = place < len(ends)
    ended[inside] = ends[place[inside], 0] == began[inside, 0]
    # under way until the test's end, or the reset that cut it off
    stops = np.append(np.array(meta["resets"], dtype=np.int64), end)
    run = np.searchsorted(stops[:-1], began[:, 0], side="right")  # from one reset to the next
    last = stops[run] - 1
    if probe.ticks:
        since, upto = began[:, -1], np.array([at[probe.ticks] for at in meta["stops"]])[run]
        over = ends[:, -1]
    else:
        since, upto, over = began[:, 0], stops[run], ends[:, 1] + 1
    if probe.in_turn:
        before = np.searchsorted(stops[:-1], ends[:, 0], side="right")
        since = _turns(began[:, 0], since, ended, run, upto, ends[:, 0], before, over)
    latency = upto - since  # so far
    last[ended], latency[ended] = ends[place[ended], 1], ends[place[ended], 2]
    whole = ended | (latency > 0)
    kinds = _declared(probe, meta, began[:, 0])
    shown = began[:, 1:1 + len(probe.names)]
    table = np.column_stack([kinds[0], shown, latency, ~ended])[whole]
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


def _turns(first: np.ndarray, since: np.ndarray, has_ended: np.ndarray, run: np.ndarray,
           upto: np.ndarray, ended: np.ndarray, ended_run: np.ndarray, over: np.ndarray
           ) -> np.ndarray:
    """When the turn of each request that has not ended has begun, at the latest.

    In cycles, or in ticks of a run from one reset to the next. Of several that the same reset or
    end cut off, only the first has had its turn; that of the others begins there (``upto``).

    Parameters
    ----------
    first, since, has_ended, run : numpy array
        Of each request, its first cycle, when that was, whether it has ended, and its run.
    ended, ended_run, over : numpy array
        Of each that has ended, its first cycle, its run, and when the next one had its turn.
    """
    turns = upto.copy()
    for at in np.unique(run[~has_ended], return_index=True)[1]:
        one = np.flatnonzero(~has_ended)[at]
        before = over[(ended < first[one]) & (ended_run == run[one])]
        turns[one] = max(since[one], before.max(initial=0))
    return turns


def _declared(probe: ProbeRecords, meta: Mapping, first: np.ndarray) -> tuple[np.ndarray, list]:
    """For each request a number, and by number what was declared of it; None: nothing.

    Where the bound needs nothing that has to be declared, each request is of its one class, until
    the testbench says otherwise.
    """
    cycles, classes = [], []
    for what, cycle, at, parameters in meta["said"]:
        if what == probe.what and (at is None or at == probe.at):
            cycles.append(cycle)
            classes.append(parameters)
    if not cycles:
        return np.zeros(len(first), dtype=np.int64), [{}]
    distinct: list = [None if probe.classed else {}]
    numbers = [0]
    for said in classes:
        if said not in distinct:
            distinct.append(said)
        numbers.append(distinct.index(said))
    return np.array([numbers[bisect_right(cycles, cycle)] for cycle in first]), distinct
