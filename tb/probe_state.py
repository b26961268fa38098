"""What the registers of a probe hold in a proof in which every event has its cycle.

Where nothing stalls, a request's events come in known cycles, counted from the one in which it
begins. An induction needs these facts: it begins in any state.
"""

from collections.abc import Iterator, Mapping, Sequence

from amaranth.hdl import Value

from cyclebound.tb.probe import ProbeCounter

__all__ = ["counted"]


def counted(counter: ProbeCounter, newest: Mapping[int, Value], oldest: Mapping[int, Value],
            starts: Sequence[int], ends: Sequence[int]) -> Iterator[tuple[Value, str]]:
    """Yield facts, with names, about the registers of a probe in each cycle of a request.

    Parameters
    ----------
    counter : ProbeCounter
        The probe.
    newest, oldest : mapping of int to Value
        For each number of cycles, 0 excluded, whether the request that began last, or the first of
        those under way, began so many cycles ago.
    starts, ends : sequence of int
        In which cycles of a request, in order, the events are that the probe counts.
    """
    for cycle, here in newest.items():
        before = sum(start < cycle for start in starts)
        left = len(starts) - before if before else 0
        yield ~here | (counter.more == left), f"starts left in cycle {cycle}"
    yield _any(newest) | (counter.more == 0), "starts left without a product"
    for cycle, here in oldest.items():
        busy = starts[0] < cycle <= ends[-1]
        yield ~here | (counter.busy == int(busy)), f"whether it counts in cycle {cycle}"
        if busy:
            yield ~here | ((counter.before == cycle - starts[0])
                           & (counter.needs == len(ends))), f"its count in cycle {cycle}"
        ended = sum(end < cycle for end in ends) if busy else 0
        yield ~here | (counter.ended == ended), f"ends seen in cycle {cycle}"
    yield _any(oldest) | ((counter.ended == 0) & ~counter.busy), "what it counts of no product"


def _any(places: Mapping[int, Value]) -> Value:
    either = Value.cast(0)
    for here in places.values():
        either = either | here
    return either
