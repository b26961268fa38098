"""Worst-case formulas of the second-level cache, above memories that answer in known times.

Their derivation is in docs/dataflow-l2.md.
"""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.golden.dataflow.line_cache_bounds import taken_undisturbed

__all__ = ["l2_flush", "l2_read", "l2_served", "l2_taken"]

Ports = Annotated[int, Range(1, says="cores that may ask for a line")]
Banks = Annotated[int, Range(1, says="banks")]
Channels = Annotated[int, Range(1, says="memories below, each of which has some of the banks")]
Ways = Annotated[int, Range(1, says="lines of a set")]
Misses = Annotated[int, Range(1, says="miss registers of a bank")]
Targets = Annotated[int, Range(1, says="requests that wait for the line of one")]
Words = Annotated[int, Range(1, says="words")]
Turn = Annotated[int, Range(1, says="cycles in which a memory below takes a request, at most")]
Latency = Annotated[int, Range(1, says="cycles from taking a read to its line, at most")]
Rows = Annotated[int, Range(0, says="lines of a bank that are to be written back, at most")]
UnderWay = Annotated[int, Range(0, 1, says="1 if requests may be under way")]

_ENVIRONMENT = ("all other cores may read or write any line in any cycle; each memory below takes "
                "a request within `turn` cycles and answers each read within `latency`, in any "
                "order; a request stays until it is taken, no core uses an id that is under way, "
                "and nothing is flushed")


def _line(banks: int, channels: int, turn: int) -> int:
    """The most cycles that a bank waits for its channel: each other bank of it goes first once."""
    if channels > banks:
        raise NotCovered(f"channels must be {banks} at most, the banks, not {channels}")
    return -(-banks // channels) * turn


def _made(*, banks: int, misses: int, targets: int, more: int = 0) -> int:
    """The cycles that a bank needs at most until all that waits for its lines has been made.

    A core may have any number of writes under way, so that no id limits how many wait; ``more``:
    requests that are taken meanwhile.
    """
    return misses + more + (misses * targets + more) * banks


@bound(formula="taken(ports) + misses + ports - 1 + (misses * targets + ports - 1) * banks + "
               "ports * (banks - 1) * misses * targets",
       source="this project, from SGMF, section 5", environment=_ENVIRONMENT)
def l2_taken(*, ports: Ports, banks: Banks, channels: Channels, ways: Ways, misses: Misses,
             targets: Targets, turn: Turn, latency: Latency) -> int:
    """Cycles from offering a request to taking it, both included, whatever other cores do.

    ``taken(n)`` is that of `golden.dataflow.line_cache_bounds.line_taken`: the cycle in which the
    bank has taken n requests if it loses none to lines that come and to requests that waited for
    them; each of its requests for lines waits for the other banks of its channel. Each line that
    comes costs a cycle; so does each request that waited, and one more for each other bank, where
    one of the same core may be made first. A core's request on offer is not taken while one of its
    own that waited is made at another bank: misses * targets in each, for each of the cores.
    docs/dataflow-l2.md derives it. Raises `NotCovered` for more channels than banks.
    """
    line = _line(banks, channels, turn)
    return (taken_undisturbed(ports=ports, line=line, busy=2 * line, ways=ways, misses=misses,
                              targets=targets, latency=latency)
            + _made(banks=banks, misses=misses, targets=targets, more=ports - 1)
            + ports * (banks - 1) * misses * targets)


@bound(formula="ceil(banks / channels) * turn + latency + 2 + misses + misses * targets * "
               "banks",
       source="this project, from SGMF, section 5", environment=_ENVIRONMENT)
def l2_served(*, banks: Banks, channels: Channels, misses: Misses, targets: Targets, turn: Turn,
              latency: Latency) -> int:
    """Cycles from taking a read to its line, both included, whatever other cores do.

    Derivation: it misses; its line is asked for when each other bank of the channel has had its
    turn, and comes ``latency`` cycles later. Then nothing new is taken until all that waits for
    lines in its bank has been made: all registers may have theirs, and be served first. Its line is
    at the port two cycles later. Raises `NotCovered` for more channels than banks.
    """
    return _line(banks, channels, turn) + latency + 2 + _made(banks=banks, misses=misses,
                                                              targets=targets)


@bound(formula="l2_taken + l2_served - 1", source="this project, from SGMF, section 5",
       environment=_ENVIRONMENT)
def l2_read(*, ports: Ports, banks: Banks, channels: Channels, ways: Ways, misses: Misses,
            targets: Targets, turn: Turn, latency: Latency) -> int:
    """Cycles from offering a read to its line, both included, whatever other cores do.

    Derivation: it is taken as `l2_taken` says, and answered as `l2_served` does. Raises
    `NotCovered` for more channels than banks.
    """
    return l2_taken(ports=ports, banks=banks, channels=channels, ways=ways, misses=misses,
                    targets=targets, turn=turn, latency=latency) + l2_served(
        banks=banks, channels=channels, misses=misses, targets=targets, turn=turn,
        latency=latency) - 1


@bound(formula="1 + size / banks / line + dirty * (share * turn + 1) + under_way * (max(2 * share "
               "* turn, share * turn + latency - 1) + misses + misses * targets * banks), "
               "share = ceil(banks / channels)",
       source="this project, from SGMF, section 4.6",
       environment="each memory below takes a request within `turn` cycles and answers each read "
                   "within `latency`; cores may offer anything")
def l2_flush(*, banks: Banks, channels: Channels, size: Words, line: Words, misses: Misses,
             targets: Targets, turn: Turn, latency: Latency, dirty: Rows, under_way: UnderWay
             ) -> int:
    """Cycles from the first one of ``flush`` to ``flushed``, both included.

    Derivation: as `golden.dataflow.line_cache_bounds.line_flush`, with a channel's share of the
    banks. Raises `NotCovered` for more channels than banks.
    """
    wait = _line(banks, channels, turn)
    before = max(2 * wait, wait + latency - 1) + _made(banks=banks, misses=misses,
                                                       targets=targets)
    return 1 + size // banks // line + dirty * (wait + 1) + under_way * before
