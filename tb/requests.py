"""Requests in sampled signals: what `cyclebound.tb.probe` counts in hardware, counted afterwards.

`SampledProbe` follows a `Probe` through chunks of cycles and says of each request in which cycle it
began and ended, its latency, and the parameters that signals showed when it began. The rules are
those of `ProbeCounter`, cycle by cycle; tests compare the two.
"""

import itertools
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cyclebound.tb.expression import ExpressionError, Step
from cyclebound.tb.probe import Probe
from cyclebound.tb.sampled import Chunk, Found, Lane, SampledExpression

__all__ = ["CLOCKS", "EndedRequests", "SampledProbe", "alternatives", "places", "requests_in"]

CLOCKS = ("clk", "clock", "clk_i", "i_clk", "aclk", "wb_clk_i", "pclk", "hclk")
"""Names by which a clock is found if none is given."""

_PLACES = 4096  # of a probe


@dataclass(frozen=True)
class EndedRequests:
    """Requests, in the order in which they ended.

    Attributes
    ----------
    first, last, latency : numpy array
        First and last cycle, and what the latency counts.
    times : numpy array, shape (n, 2)
        When the first and the last cycle end, in the trace's unit.
    parameters : numpy array, shape (n, p)
        What signals showed when each began.
    ended : bool
        False: still under way when the trace ended; the latency is what it has taken so far.
    cut_off : bool
        The same, when a reset ended it.
    """

    first: np.ndarray
    last: np.ndarray
    latency: np.ndarray
    times: np.ndarray
    parameters: np.ndarray
    ended: bool = True
    cut_off: bool = False

    def before(self, cycle: int) -> "EndedRequests":
        """Those that had ended before that cycle."""
        these = self.last < cycle
        return replace(self, first=self.first[these], last=self.last[these],
                       latency=self.latency[these], times=self.times[these],
                       parameters=self.parameters[these])


@dataclass
class _Begun:
    """A request under way."""

    cycle: int
    ticked: int
    time: int
    ends: int
    parameters: list[int]


class SampledProbe:
    """One place of a probe.

    Parameters
    ----------
    probe : Probe
        Its ``in_flight`` must be a number; with an ``id``, of requests with one id, which end in
        order.
    find, counts : callable
        As in `SampledExpression`.
    index : mapping
        Index letters with their values.
    midway : bool
        The trace begins while requests are under way: ends before the first start are theirs.
    in_time : bool
        The latency is in the unit of times, from the edge with which the first cycle begins to that
        with which the last one ends.

    Attributes
    ----------
    names : dict of str to int
        The signals that it reads, with their widths.
    began : int
        Requests that have begun.
    problems : list of str
        What is no sequence of requests, in words, each with its cycle; at most ten.
    """

    def __init__(self, probe: Probe, find: Callable[[tuple[Step, ...]], Found],
                 index: Mapping[str, int] | None = None,
                 counts: Callable[[str], int] | None = None, *, midway: bool = False,
                 in_time: bool = False) -> None:
        if not isinstance(probe.in_flight, int) or probe.in_flight < 1:
            raise ValueError(f"in_flight must be at least 1, not {probe.in_flight!r}")
        self._probe, self._midway, self.index = probe, midway, dict(index or {})
        self._in_time = in_time
        self._in_flight = probe.in_flight
        self.names: dict[str, int] = {}

        def expression(text: str, role: str) -> SampledExpression:
            try:
                sampled = SampledExpression(text, find, index, counts)
            except ExpressionError as error:
                error.role = role
                raise
            self.names |= sampled.names
            return sampled

        def optional(text: str, role: str) -> SampledExpression | None:
            return expression(text, role) if text else None

        self._start = expression(probe.start, "start")
        self._end = expression(probe.end, "end")
        self._starts = optional("" if probe.starts == "1" else probe.starts, "starts")
        self._ends = optional("" if probe.ends == "1" else probe.ends, "ends")
        self._id = optional(probe.id, "id")
        self._end_id = optional(probe.end_id or probe.id, "end-id" if probe.end_id else "id")
        self._ticks = optional(probe.ticks, "ticks")
        self._ahead = optional("" if probe.ahead == "0" else probe.ahead, "ahead")
        self._shows = [expression(text, f"request {name}")
                       for name, text in probe.request.items()]
        self.problems: list[str] = []
        self.began = self.ended = self.cut_off = 0
        self._gap = ""  # the latest gap of the record
        self._doubted: set[str] = set()  # events that have not been certain since
        self._unsure = False  # after it, nothing says of which request an event is
        self._wrong_from: int | None = None  # since then nothing says what a request is
        self._known: set[str] = set()  # expressions that have been known in a cycle
        self._last = -1, 0  # the latest cycle, and when it ended
        self._queue: deque[_Begun] = deque()
        self._slots: dict[int, deque[_Begun]] = {}  # by id, each in order
        self._ticked = self._turn = 0
        self._began_before = 0  # requests that began before the latest gap
        self._seen: set[int] = set()  # ids of requests that have begun since
        self.reset()

    def reset(self) -> EndedRequests:
        """Reset, as in hardware: no request is under way, and the past is 0.

        Returns the requests that it cuts off: one that has exceeded its bound by then has broken
        it, though it never ends.
        """
        cut_off = self._cut_off()
        for state in self._states():
            state.reset()
        self._gap, self._unsure, self._doubted, self._wrong_from = "", False, set(), None
        return cut_off

    def _states(self) -> list[SampledExpression]:
        return [state for state in (self._start, self._end, self._starts, self._ends, self._id,
                                    self._end_id, self._ticks, self._ahead, *self._shows)
                if state is not None]

    def _cut_off(self) -> EndedRequests:
        cut_off = self.under_way(*self._last, cut_off=True)
        self.cut_off += len(self._all())
        self._queue, self._slots = deque(), {}
        self._more = self._over = self._ticked = self._turn = 0
        return cut_off

    def gap(self, cycle: int, place: str) -> EndedRequests:
        """The record misses a part of this cycle, in which any number may have been.

        Requests under way are cut off, as by a reset, and what they take is not known: a problem,
        unless requests from outside the record are left out (``midway``). So is one that ends
        later and began before the gap, or in it.
        """
        cut_off = self._cut_off()
        if (many := len(cut_off.latency)) and not self._midway:
            self._note(cycle, f"{many} request{'s reach' if many > 1 else ' reaches'} into a "
                              f"gap of the record, {place}")
        for state in self._states():
            state.lose()
        self._gap, self._began_before, self._seen = place, self.began, set()
        self._doubted = {"start", "end", "ticks"}
        self._unsure = self._in_flight > 1 or self._starts is not None
        return cut_off

    def feed(self, chunk: Chunk, *, sequentially: bool = False) -> EndedRequests:
        """The requests that end in the next cycles, in which there is no reset.

        None after a problem, until a reset: what the expressions say is no sequence of requests
        there, and what it took is no violation.
        """
        length = len(chunk)
        start = self._events("start", self._start, chunk)
        end = self._events("end", self._end, chunk)
        if self._unsure and (wrong := np.flatnonzero(end)).size:
            self._unsure = False
            self._problem(chunk.first + int(wrong[0]), "nothing says of which request an end is "
                          f"(that takes a reset, or an id) after a gap of the record, {self._gap}")
        if self._in_time:
            # of the very first cycle of a trace, only the end is known
            upto = chunk.times
            before = np.concatenate((upto[:1] if chunk.began is None else [chunk.began], upto[:-1]))
        elif self._ticks is None:
            upto = self._ticked + np.arange(1, length + 1)
            before = upto - 1
        else:
            ticks = self._events("ticks", self._ticks, chunk).astype(np.int64)
            upto = self._ticked + np.cumsum(ticks)
            before = upto - ticks
        ahead = None
        if self._ahead is not None:
            ahead = (lane := self._ahead.of(chunk)).values
            if lane.unknown is not None and (wrong := np.flatnonzero(
                    end & (lane.unknown != 0))).size:
                self._problem(chunk.first + int(wrong[0]),
                              "ahead is unknown (x or z) where a request ends")
        shown = [self._shown(show, chunk, start, name)
                 for name, show in zip(self._probe.request, self._shows, strict=True)]
        ended = None
        if not (sequentially or self._starts or self._ends or self._id):
            ended = self._at_once(chunk, start, end, before, upto, shown, ahead)
        if ended is None:
            ended = self._one_by_one(chunk, start, end, before, upto, shown, ahead)
        if length:
            self._ticked = int(upto[-1])
            self._last = chunk.first + length - 1, int(chunk.times[-1])
        return ended if self._wrong_from is None else ended.before(self._wrong_from)

    def _events(self, role: str, expression: SampledExpression, chunk: Chunk) -> np.ndarray:
        """The cycles in which it is true; unknown is false, and after the first known cycle a
        problem."""
        lane = expression.of(chunk)
        doubtful = lane.doubtful
        if role in self._doubted and doubtful is not None:
            doubtful = self._since_gap(role, lane, chunk)
        if doubtful is None:
            self._known.add(role)
        else:
            known = np.flatnonzero(~doubtful)
            since = 0 if role in self._known else known[0] if len(known) else len(chunk)
            if len(known):
                self._known.add(role)
            later = np.flatnonzero(doubtful[since:])
            if len(later):
                self._problem(chunk.first + since + int(later[0]),
                              f"{role} is unknown (x or z), in {len(later):,} cycles from here on")
        return lane.events

    def _since_gap(self, role: str, lane: Lane, chunk: Chunk) -> np.ndarray:
        """The doubtful cycles after the first that is certain since a gap of the record.

        Before it, what is doubtful is so because of the gap: whether a request begins there is not
        known. That is a problem, unless requests from outside the record are left out."""
        doubtful = lane.doubtful
        assert doubtful is not None
        certain = np.flatnonzero(lane.events)
        until = certain[0] if len(certain) else len(chunk)
        if len(certain):
            self._doubted.discard(role)
        if len(wrong := np.flatnonzero(doubtful[:until])) and not self._midway:
            self._note(chunk.first + int(wrong[0]), f"whether {role} is true here is not known "
                       f"after a gap of the record, {self._gap}")
        return np.where(np.arange(len(chunk)) < until, False, doubtful)

    def _shown(self, expression: SampledExpression, chunk: Chunk, start: np.ndarray,
               name: str) -> np.ndarray:
        lane = expression.of(chunk)
        if lane.unknown is not None and (wrong := np.flatnonzero(start & (lane.unknown != 0))).size:
            self._problem(chunk.first + int(wrong[0]),
                          f"request {name} is unknown (x or z) where a request begins")
        return lane.values

    def _number(self, lane: Lane, at: int, cycle: int, role: str) -> int:
        """How many it says there are, where a request begins."""
        if lane.unknown is not None and lane.unknown[at]:
            self._problem(cycle, f"{role} is unknown (x or z) where a request begins")
        return int(lane.values[at])

    def _problem(self, cycle: int, what: str) -> None:
        """From this cycle on, until a reset, what looks like requests may be none."""
        self._wrong_from = min(cycle, cycle if self._wrong_from is None else self._wrong_from)
        self._note(cycle, what)

    def _note(self, cycle: int, what: str) -> None:
        if len(self.problems) < 10:
            self.problems.append(f"cycle {cycle}: {what}")

    def _at_once(self, chunk: Chunk, start: np.ndarray, end: np.ndarray, before: np.ndarray,
                 upto: np.ndarray, shown: list[np.ndarray], ahead: np.ndarray | None
                 ) -> EndedRequests | None:
        """All requests of the chunk with array arithmetic: the k-th end is that of the k-th start.

        None if they are no proper sequence, which is then looked at one by one.
        """
        begins, closes = np.flatnonzero(start), np.flatnonzero(end)
        waiting = len(self._queue)

        def joined(kept: list[int], new: np.ndarray) -> np.ndarray:
            return np.concatenate((np.array(kept, dtype=np.int64), new.astype(np.int64)))

        try:
            rows = [joined([request.parameters[n] for request in self._queue], values[begins])
                    for n, values in enumerate(shown)]
        except OverflowError:
            return None
        first = joined([request.cycle for request in self._queue], chunk.first + begins)
        ticked = joined([request.ticked for request in self._queue], before[begins])
        times = joined([request.time for request in self._queue], chunk.times[begins])
        last = chunk.first + closes
        many = len(closes)
        if many > len(first) or (first[:many] > last).any():
            return None
        # under way when each begins, without this cycle's end
        level = waiting + np.arange(len(begins)) - np.searchsorted(closes, begins)
        if ((level >= self._in_flight) & ~end[begins]).any():
            return None
        now = upto[closes]
        latency = now - ticked[:many]
        if self._probe.in_turn and many:
            turn = np.concatenate(([self._turn], now[:-1]))
            latency = np.minimum(latency, now - turn + (0 if ahead is None else ahead[closes]))
        if many:
            self._turn = int(now[-1])
        self.began += len(begins)
        self.ended += many
        parameters = np.column_stack(rows) if rows else np.zeros((len(first), 0), np.int64)
        self._queue = deque(
            _Begun(int(first[n]), int(ticked[n]), int(times[n]), 1, parameters[n].tolist())
            for n in range(many, len(first)))
        return EndedRequests(first[:many], last, latency,
                             np.column_stack((times[:many], chunk.times[closes])),
                             parameters[:many])

    def _one_by_one(self, chunk: Chunk, start: np.ndarray, end: np.ndarray, before: np.ndarray,
                    upto: np.ndarray, shown: list[np.ndarray], ahead: np.ndarray | None
                    ) -> EndedRequests:
        """The requests of a chunk, counted as `ProbeCounter` counts, event by event."""
        starts = None if self._starts is None else self._starts.of(chunk)
        ends = None if self._ends is None else self._ends.of(chunk)
        ids = None if self._id is None or self._end_id is None else (
            self._id.of(chunk), self._end_id.of(chunk))
        ended, parameters = [], []
        for at in np.flatnonzero(start | end).tolist():
            cycle = chunk.first + at
            begins = bool(start[at]) and self._more == 0
            fresh: _Begun | None = None
            head: _Begun | None = None
            if begins:
                fresh = _Begun(cycle, int(before[at]), int(chunk.times[at]),
                               1 if ends is None else self._number(ends, at, cycle, "ends"),
                               [int(values[at]) for values in shown])
                self.began += 1
                self._more = (0 if starts is None else
                              max(0, self._number(starts, at, cycle, "starts") - 1))
            elif start[at]:
                self._more -= 1
            begun_id = ended_id = None
            if ids is not None:
                if begins:
                    begun_id = self._id_in(ids[0], at, cycle, "id")
                if end[at]:
                    ended_id = self._id_in(ids[1], at, cycle, "end id")
                    head = (self._slots[ended_id][0] if ended_id in self._slots else
                            fresh if begun_id == ended_id else None)
            else:
                head = self._queue[0] if self._queue else fresh
            closed = self._closed(head, cycle, ended_id) if end[at] else None
            if closed is not None:
                latency = self._latency(closed, int(upto[at]),
                                        0 if ahead is None else int(ahead[at]))
                ended.append((closed.cycle, cycle, latency, closed.time, int(chunk.times[at])))
                parameters.append(closed.parameters)
            if ids is None:
                self._keep_in_turn(self._queue, cycle, fresh, closed is not None)
                continue
            if begun_id is not None:
                if self._midway or self._gap:
                    self._seen.add(begun_id)
                self._keep_in_turn(self._slots.setdefault(begun_id, deque()), cycle, fresh,
                                   closed is not None and begun_id == ended_id, begun_id)
            if closed is not None and ended_id is not None and begun_id != ended_id:
                self._slots[ended_id].popleft()
            for number in (begun_id, ended_id):
                if number is not None and not self._slots.get(number, True):
                    del self._slots[number]
        rows = np.array(ended, dtype=np.int64).reshape(-1, 5)
        wide = any(abs(value) >= 1 << 63 for row in parameters for value in row)
        return EndedRequests(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:],
                             np.array(parameters, dtype=object if wide else np.int64).reshape(
                                 len(ended), len(shown)))

    def _closed(self, head: _Begun | None, cycle: int, named: int | None) -> _Begun | None:
        """The request whose end this is, if it is the last that it has; it may be nobody's (None).
        """
        if head is None:
            outside = self.began == self._began_before or (
                named is not None and named not in self._seen)
            if not (outside and self._midway):  # it began before the trace, or in a gap
                if outside and self._gap:
                    self._note(cycle, "an end without a request, which began before the end of a "
                                      f"gap of the record, {self._gap}")
                else:
                    self._problem(cycle, "an end without a request")
            return None
        self._over += 1
        return head if self._over >= head.ends else None

    def _latency(self, head: _Begun, now: int, ahead: int) -> int:
        """Ticks of the request that ends at ``now``, where its turn may begin ``ahead`` of it."""
        latency = now - head.ticked
        if self._probe.in_turn:
            latency = min(latency, now - self._turn + ahead)
        self._over, self._turn = 0, now
        self.ended += 1
        return latency

    def _keep_in_turn(self, queue: deque[_Begun], cycle: int, fresh: _Begun | None, closes: bool,
                      number: int | None = None) -> None:
        """The queue after a cycle in which a request may begin, and the first may end."""
        if fresh is not None and len(queue) >= self._in_flight and not closes:
            named = "" if number is None else f" with id {number}"
            self._problem(cycle, f"a request{named} begins while {len(queue)} are under way"
                                 f"{named and ' with it'}, and {self._in_flight} may be")
        if fresh is not None:
            queue.append(fresh)
        if closes:
            queue.popleft()

    def _all(self) -> list[_Begun]:
        """The requests under way."""
        return [*self._queue, *itertools.chain.from_iterable(self._slots.values())]

    def _id_in(self, lane: Lane, at: int, cycle: int, role: str) -> int:
        if lane.unknown is not None and lane.unknown[at]:
            self._problem(cycle, f"the {role} is unknown (x or z)")
        return int(lane.values[at])

    def under_way(self, last: int, time: int, *, cut_off: bool = False) -> EndedRequests:
        """The requests that have not ended by the cycle ``last``, the latest that was fed.

        Of requests in turn only the first one's latency counts already.
        """
        kept = self._all() if self._wrong_from is None else []
        since = 0
        if self._probe.in_turn:
            kept, since = kept[:1], self._turn
        rows = np.array([(request.cycle, last, self._ticked - max(request.ticked, since),
                          request.time, time) for request in kept],
                        dtype=np.int64).reshape(-1, 5)
        parameters = np.array([request.parameters for request in kept], dtype=object)
        return EndedRequests(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:],
                             parameters.reshape(len(kept), len(self._shows)),
                             ended=False, cut_off=cut_off)


def alternatives(probe: Probe) -> list[Probe]:
    """The same probe with other starts and ends that people mean when these do not fit.

    Signals that stay 1 while a request waits begin it once only; an answer that is ready without a
    request ends none; an answer that stays 1 ends one request.
    """
    start, end = (text if re.fullmatch(r"[\w.\[\]]+", text) else f"({text})"
                  for text in (probe.start.strip(), probe.end.strip()))
    level = re.match(r"\s*([\w.\[\]]+)\s*&\s*~\s*past\(", probe.start)
    stays = level[1] if level else start
    offered, once = f"{start} & ~past({start} & ~{end})", f"{start} & ~past({start})"
    return [replace(probe, start=first, end=last) for first, last in (
        (offered, probe.end), (probe.start, f"{stays} & {end}"), (offered, f"{start} & {end}"),
        (once, probe.end), (probe.start, f"{end} & ~past({end})"),
        (once, f"{end} & ~past({end})"))]


def places(probe: Probe, many: Callable[[str], int]) -> Iterator[dict[str, int]]:
    """Each assignment of the probe's index letters; ``many`` knows the numbers that have names.

    Raises ValueError for more than 4,096.
    """
    counts = {letter: count if isinstance(count, int) else many(count)
              for letter, count in probe.over.items()}
    if math.prod(counts.values()) > _PLACES:
        raise ValueError(f"a probe looks at up to {_PLACES:,} places, not "
                         f"{math.prod(counts.values()):,}")
    return (dict(zip(counts, numbers, strict=True))
            for numbers in itertools.product(*map(range, counts.values())))


def requests_in(chunk: Chunk, probes: Sequence[SampledProbe], reset: SampledExpression | None
                ) -> Iterator[EndedRequests]:
    """The requests of all these probes that end in the next cycles, or are cut off there by a reset
    or by a gap of the record."""
    resets = np.zeros(len(chunk), bool) if reset is None else reset.of(chunk).events
    cuts = {0, len(chunk), *(np.flatnonzero(resets[1:] != resets[:-1]) + 1).tolist(),
            *(place + side for place in chunk.gaps for side in (0, 1))}
    for begin, stop in itertools.pairwise(sorted(cuts)):
        part = chunk.part(begin, stop)
        for probe in probes:
            if begin in chunk.gaps:  # the values in its cycle may be older than the gap
                yield probe.gap(part.first, chunk.gaps[begin])
            if resets[begin]:
                yield probe.reset()
            elif begin not in chunk.gaps:
                yield probe.feed(part)
