"""Golden model of the DQ scheduler: a diary of the data bus, written when a command is issued.

Ref: Sim-D, section 3.2.2, DQ scheduler.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.dram.request import BEAT_WORDS, BURST_WORDS
from cyclebound.golden.dram.timing import Part

__all__ = ["BurstDescriptor", "DataBeat", "DqResult", "DqSchedulerModel", "Issue"]


@dataclass(frozen=True)
class BurstDescriptor:
    """Targets on the chip of one burst's words, stored under a bank and a slot."""

    bank: int
    slot: int
    mask: int
    targets: tuple[int, ...]
    destination: int = 0
    transform: int = 0


@dataclass(frozen=True)
class Issue:
    """A read or write command on the pins."""

    write: bool
    bank: int
    slot: int


@dataclass(frozen=True)
class DataBeat:
    """A DRAM clock's words; ``enable`` has a bit for each. ``words`` is empty in a fetch."""

    enable: int
    targets: tuple[int, ...]
    destination: int
    transform: int
    words: tuple[int, ...] = ()


@dataclass(frozen=True)
class DqResult:
    """Outputs of one cycle, None where not valid. ``drive``: (words, mask) on the pins."""

    fetch: DataBeat | None
    deliver: DataBeat | None
    drive: tuple[tuple[int, ...], int] | None


class DqSchedulerModel:
    """All that will happen on the bus stands in a diary from the command's cycle on.

    Parameters
    ----------
    part : Part
        nCAS and nCWD say when data are on the pins.
    fetch_latency : int
        Cycles from a fetch to the chip's answer.
    """

    def __init__(self, part: Part, fetch_latency: int = 2) -> None:
        self._part, self._latency = part, fetch_latency
        self._cycle = 0
        self._kept: dict[tuple[int, int], BurstDescriptor] = {}
        self._bus: dict[int, tuple[Issue, DataBeat]] = {}  # by the cycle on the pins
        self._fetches: dict[int, DataBeat] = {}
        self._deliveries: dict[int, DataBeat] = {}
        self._drives: dict[int, tuple[tuple[int, ...], int]] = {}

    def free(self, write: bool) -> bool:
        """Whether a command issued in the coming cycle finds the bus free for its data."""
        start = self._cycle + (self._part.nCWD if write else self._part.nCAS)
        return all(start + beat not in self._bus for beat in range(self._part.nBURST))

    def _issue(self, issue: Issue) -> None:
        start = self._cycle + (self._part.nCWD if issue.write else self._part.nCAS)
        descriptor = self._kept.get((issue.bank, issue.slot))
        if descriptor is None:
            raise ValueError(f"cycle {self._cycle}: slot {issue.slot} of bank {issue.bank} "
                             "holds no descriptor")
        if not self.free(issue.write):
            raise ValueError(f"cycle {self._cycle}: bursts overlap on the data bus")
        for first in range(0, BURST_WORDS, BEAT_WORDS):
            now = start + first // BEAT_WORDS
            words = range(first, first + BEAT_WORDS)
            beat = DataBeat(sum(1 << word - first for word in words if descriptor.mask >> word & 1),
                            tuple(descriptor.targets[word] for word in words),
                            descriptor.destination, descriptor.transform)
            self._bus[now] = issue, beat
            if issue.write:  # the answer to a fetch is on the pins one cycle later
                self._fetches[now - 1 - self._latency] = beat

    def step(self, *, describe: BurstDescriptor | None = None, issue: Issue | None = None,
             dq_in: Sequence[int] = (0, 0, 0, 0),
             store: tuple[Sequence[int], int] = ((0, 0, 0, 0), 0)) -> DqResult:
        """One cycle: ``dq_in`` from the device, ``store`` (words, enable) from the chip.

        Raises `ValueError` for a command of a slot without a descriptor, and for one whose data
        find the bus taken.
        """
        now = self._cycle
        if issue is not None:
            self._issue(issue)
        if describe is not None:
            self._kept[describe.bank, describe.slot] = describe
        result = DqResult(self._fetches.pop(now, None), self._deliveries.pop(now, None),
                          self._drives.pop(now, None))
        moving = self._bus.pop(now, None)
        if moving is not None and not moving[0].write:
            beat = moving[1]
            self._deliveries[now + 1] = DataBeat(beat.enable, beat.targets, beat.destination,
                                                 beat.transform, tuple(dq_in))
        leaving = self._bus.get(now + 1)
        if leaving is not None and leaving[0].write:
            self._drives[now + 1] = tuple(store[0]), leaving[1].enable & store[1]
        self._cycle += 1
        return result
