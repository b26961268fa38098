"""Requests that probes printed in a simulation, grouped by parameters and latency.

A probe prints a line where a request begins (with the parameters that ports show) and one where it
ends (with its first and last cycle and its latency). Testbenches declared, as they went, what class
the requests that begin from then on are of. Here the three meet.

Hardware numbers the lines of each probe, and at the end of each test prints how many there were.
What a full disk has cost is noticed so, wherever it began and ended.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cyclebound.tb.probe import MARK

__all__ = ["Misdeclared", "Printed", "ProbeRecords", "RequestGroup", "grouped", "read_requests"]

RequestGroup = tuple[str, dict[str, int], int, int, int, int]
"""What, parameters, latency, count, first and last cycle; see `grouped`."""


class Misdeclared(ValueError):
    """A testbench declared of a request what ports do not show."""


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
    ended : numpy array, shape (m, 3 + len(conditions))
        First cycle, last cycle, latency and conditions, in the order of ending; with ticks, one
        column more: ticks since reset, the last cycle's included.
    ticks : str
        The name under which a test says how many ticks there were at a reset, or at its end
        (`cyclebound.sim.build.elaborate.FlatTop.ticked`); empty: latencies are in cycles.
    in_turn : bool
        Whether latencies count from a request's turn (`cyclebound.tb.probe.Probe.in_turn`).
    classed : bool
        Whether only requests that are declared are of the bound's class.
    conditions : tuple[str, ...]
        The conditions that are known in a request's last cycle (`cyclebound.tb.probe.Probe`).
    """

    what: str
    at: Mapping[str, int]
    names: tuple[str, ...]
    began: np.ndarray
    ended: np.ndarray
    ticks: str = ""
    in_turn: bool = False
    classed: bool = True
    conditions: tuple[str, ...] = ()


@dataclass
class Printed:
    """What a simulation printed.

    Attributes
    ----------
    requests : list of ProbeRecords
        One for each place of each probe.
    others : list of str
        The lines that no probe printed.
    lost : str
        Which line of a probe is not there, is there twice, or is not whole; empty: none. Then the
        requests are not what hardware saw.
    counted : set of int
        The cycles in which all probes printed how many lines there were, and were right.
    """

    requests: list[ProbeRecords] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    lost: str = ""
    counted: set[int] = field(default_factory=set)

    def lost_of(self, asked: Set[int]) -> str:
        """What was lost if tests have asked for a count of lines in these cycles."""
        if self.lost or not self.requests or asked == self.counted:
            return self.lost
        return "observations were lost: " + (
            "no count of them at the end of a test" if asked - self.counted else
            "a test that has ended left no results")


def read_requests(path: Path, printed: Sequence[Mapping]) -> Printed:
    """The lines that probes printed to that file.

    ``printed`` describes the probes, as `cyclebound.sim.build.elaborate.FlatTop.printed` does.
    """
    tables: dict[tuple[str, str, str], list[str]] = {}
    found = Printed()
    line = ""
    with path.open(errors="replace") as lines:
        for line in lines:
            if line.startswith(MARK):
                mark, of_probe, of_place, rest = [*line.split(" ", 3), "", "", ""][:4]
                tables.setdefault((mark, of_probe, of_place), []).append(rest)
            else:
                found.others.append(line)
    if line.startswith(MARK) and not line.endswith("\n"):  # that the simulator's end cut off
        mark, of_probe, of_place, _ = [*line.split(" ", 3), "", "", ""][:4]
        tables[mark, of_probe, of_place].pop()
    counts = []
    for number, probe in enumerate(printed):
        names, conditions = tuple(probe["names"]), tuple(probe.get("conditions", ()))
        for place, at in enumerate(probe["places"]):
            more = int(probe["ticks"])
            rows = [tables.pop((f"{MARK}{kind}", str(number), str(place)), [])
                    for kind in ("", ".", "=")]
            label = " ".join([probe["what"], *map("{0[0]}={0[1]}".format, at.items())])
            columns = (2 + len(names) + more, 4 + len(conditions) + more, 3)
            try:
                began, ended, counted = map(_table, rows, columns)
                counts.append(_counted(began, ended, counted))
            except ValueError as error:
                found.lost = found.lost or f"observations were lost: {label}: {error}"
                continue
            found.requests.append(ProbeRecords(
                probe["what"], at, names, began[:, 1:], ended[:, 1:],
                f"{probe['what']}.{place}" if more else "", probe["in_turn"], probe["classed"],
                conditions))
    if any(tables.values()):
        words, of_none = next(item for item in tables.items() if item[1])
        found.lost = found.lost or ("observations were lost: a line is not whole: "
                                    f"{' '.join([*words, of_none[0]]).strip()[:60]!r}")
    if found.lost:
        found.requests = []
    elif counts:
        found.counted = set.intersection(*counts)
    return found


def _table(rows: Sequence[str], columns: int) -> np.ndarray:
    """Lines of whole numbers as an array. Raises `ValueError` if one is not whole."""
    for row in rows:
        numbers = row.split()
        if len(numbers) != columns or not row.endswith("\n") or not (
                "".join(numbers).replace("-", "").isdecimal()):
            raise ValueError(f"a line is not whole: {row.strip()[:60]!r}")
    return np.array("".join(rows).split(), dtype=np.int64).reshape(-1, columns)


def _counted(began: np.ndarray, ended: np.ndarray, counted: np.ndarray) -> set[int]:
    """The cycles in which the lines were counted. Raises `ValueError` if one was lost."""
    for lines, word in ((began, "begin"), (ended, "end")):
        wrong = np.flatnonzero(lines[:, 0] != np.arange(len(lines)))
        if len(wrong):
            raise ValueError(f"where requests {word}, line {lines[wrong[0], 0]} stands in the "
                             f"place of {wrong[0]}")
    for lines, column, many in ((began, 1, counted[:, 1]), (ended, 2, counted[:, 2])):
        # of cycles before the one in which they were counted; cycles never go back
        before = np.searchsorted(lines[:, column], counted[:, 0])
        if (before != many).any():
            raise ValueError(f"{before[before != many][0]} lines instead of "
                             f"{many[before != many][0]}")
    return set(counted[:, 0].tolist())


def grouped(seen: Sequence[ProbeRecords], meta: Mapping) -> Iterator[RequestGroup]:
    """A test's requests: (what, parameters, latency, count, first, last) by kind and latency.

    Cycles count from the test's start. A request that is still under way when its test ends, or
    when a reset cuts it off, has a count of 0, and as its latency the cycles that it has taken so
    far, so that one that never ends is seen; or ticks, where these are counted. Of requests in turn
    that is the one whose turn it is.

    A kind of request that was declared and that none ended of is told last, once, with a count and
    a latency of 0. Raises `Misdeclared` for a request that was declared to be what hardware saw
    that it was not.

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
    met = np.zeros((len(began), len(probe.conditions)), dtype=np.int64)
    met[ended] = ends[place[ended], 3:3 + len(probe.conditions)]
    table = np.column_stack([kinds[0], shown, met, latency, ~ended])[whole]
    cycles = np.column_stack([began[:, 0], last])[whole]
    rows, index, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
    for row, at, count in zip(rows, index, counts, strict=True):
        said = kinds[1][row[0]]
        if said is None:
            continue
        seen = dict(zip((*probe.names, *probe.conditions), map(int, row[1:-2]), strict=True))
        if row[-1]:  # the conditions of what has not ended are not known
            seen = {name: seen[name] for name in probe.names}
        first, final = cycles[at] - start
        for name, value in seen.items():
            if said.get(name, value) != value:
                raise Misdeclared(f"the testbench declared {name} {said[name]} of a "
                                  f"{probe.what!r} request that begins in cycle {first}, and "
                                  f"hardware saw {value}")
        parameters = {**said, **seen}
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
