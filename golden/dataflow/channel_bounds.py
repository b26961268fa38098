"""Worst-case formulas of a memory channel: lines in a DRAM, whose pages are closed after each.

Their derivation is in docs/dataflow-channel.md.
"""

from dataclasses import dataclass
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.golden.dataflow.channel_shape import SLOTS
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.part import Part
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import part_named

__all__ = ["ChannelTimes", "channel_alone", "channel_read", "channel_taken", "channel_times",
           "refreshes_in"]

Line = Annotated[int, Range(4, says="words of a line, a power of two")]
Refreshes = Annotated[int, Range(0, 1, says="1 if a refresh may be owed, under way or fall due")]

_LEAD = 10   # from the start of a request to its first command
_FRONT = 16  # from taking a request to its first command
_ANY = ("requests of lines may be offered in any cycle after a reset, and stay until they are "
        "taken; no `id` is under way twice")


@dataclass(frozen=True)
class ChannelTimes:
    """A channel's longest times, in cycles.

    Attributes
    ----------
    read, longest : int
        The longest issue delay of a line that is read, and of any.
    refresh : int
        What a refresh costs, nRFC, or 11 if that is more: the next request starts after it was
        chosen. 0 if none is counted.
    late : int
        What a request that waits comes later, where its front end takes longer than the last bank
        takes to be precharged.
    """

    read: int
    longest: int
    refresh: int
    late: int

    @property
    def turn(self) -> int:
        """From offering a request to taking it, both included."""
        return self.longest + max(_LEAD, self.refresh)

    @property
    def latency(self) -> int:
        """From taking a read to its line, both included."""
        return 1 + _LEAD + self.longest + (self.refresh or self.late) + self.read

    @property
    def written(self) -> int:
        """From taking a write to its completion, both included."""
        return _LEAD + self.longest + (self.refresh or self.late) + self.longest

    @property
    def busy(self) -> int:
        """What a request adds, at most, to the cycles in which there is one on offer or under way,
        the line's own cycle among them; without refreshes."""
        return 1 + _FRONT + 1 + self.longest + self.late


def channel_times(part: str | Part, *, line: int, refreshes: bool = True) -> ChannelTimes:
    """The times of a part and a line.

    Raises `NotCovered` if two refreshes may fall due before a request has started.
    """
    device = part_named(part)
    read, write = (tile_issue_delay.function(part=device, bursts=-(-line // BURST_WORDS),
                                             write=write) for write in (0, 1))
    longest = max(read, write)
    least = SLOTS * (_LEAD + longest) + device.nRFC
    if device.nREFI <= least:
        raise NotCovered(f"{device.name}: nREFI must be greater than {least}, or two refreshes "
                         f"delay a line of {line} words, not {device.nREFI}")
    return ChannelTimes(read, longest, max(1 + _LEAD, device.nRFC) if refreshes else 0,
                        max(0, 1 + _LEAD - device.nRP))


@bound(formula="D + max(nRFC, 11) with refreshes, else D + 10, D the longest issue delay of a line",
       source="this project, from Sim-D, section 3.2", environment=_ANY)
def channel_taken(*, part: str | Part, line: Line, refreshes: Refreshes) -> int:
    """Cycles from offering a line's request to taking it, both included.

    See docs/dataflow-channel.md. Raises `NotCovered` if two refreshes may delay a line.
    """
    return channel_times(part, line=line, refreshes=bool(refreshes)).turn


@bound(formula="11 + D + R + DR, DR the issue delay of a line that is read, R = max(nRFC, 11) "
               "with refreshes, else max(0, 11 - nRP)",
       source="this project, from Sim-D, section 3.2", environment=_ANY)
def channel_read(*, part: str | Part, line: Line, refreshes: Refreshes) -> int:
    """Cycles from taking a read to its line, both included, whatever was taken before.

    See docs/dataflow-channel.md. Raises `NotCovered` if two refreshes may delay a line.
    """
    return channel_times(part, line=line, refreshes=bool(refreshes)).latency


@bound(formula="18 + DR", source="this project, from Sim-D, section 3.2",
       environment="nothing else is under way, and no refresh is owed or falls due")
def channel_alone(*, part: str | Part, line: Line) -> int:
    """Cycles from taking a read to its line, both included.

    Derivation: `golden.dram.bounds.controller_completion`, and a cycle for the line.
    """
    return 1 + 1 + _FRONT + channel_times(part, line=line).read


def refreshes_in(part: str | Part, cycles: int, *, channels: int, line: int) -> int:
    """The most cycles by which refreshes delay a run that takes ``cycles`` without any.

    One may be owed or under way when it begins. Of several channels, all of which have it due in
    the same cycle, each does it when its request is over.
    """
    device, times = part_named(part), channel_times(part, line=line)
    each = min(channels * times.refresh, _LEAD + times.longest + times.refresh)
    count = 1
    while (fall_due := 1 + -(-(cycles + count * each) // device.nREFI)) > count:
        count = fall_due
    return count * each
